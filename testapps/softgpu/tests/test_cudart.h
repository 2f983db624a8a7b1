/* Between the files of the test of the stand-in CUDA runtime. */
#ifndef TEST_CUDART_H
#define TEST_CUDART_H

/* Host addresses of the kernels that the test registers: fill(int *to, int value), one without a twin, one
 * not registered. */
extern const char kernel_fill, kernel_unknown, kernel_unregistered;

/* A device variable. */
extern int device_table[4];

/* Memory and copies (test_cudart_memory.c). */
void test_memory(void);

/* Stream capture and graphs (test_cudart_capture.c). */
void test_capture(void);

/* Graphs by hand, and what is asked of them (test_cudart_graph.c). */
void test_graphs(void);

#endif
