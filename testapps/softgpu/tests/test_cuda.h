/* Between the files of the test of the stand-in CUDA driver. */
#ifndef TEST_CUDA_H
#define TEST_CUDA_H

/* Every version of a function by its exported name. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

/* The context that the tests run in: the primary one of device 0, current. */
extern CUcontext test_context;

/* A kernel of the test's own module: `fill`(int *to, int value) has a twin, any other name has none. */
CUfunction test_kernel(const char *name);

/* Functions by name and version (test_cuda_entry.c). */
void test_entries(void);

/* Streams, events, capture and graphs (test_cuda_stream.c). */
void test_streams(void);

/* Addresses and memory apart (test_cuda_virtual.c). */
void test_virtual_memory(void);

/* Tensors for Hopper's kernels (test_cuda_tensor_map.c). */
void test_tensor_maps(void);

/* Graphs node by node (test_cuda_graph.c). */
void test_graph_nodes(void);

/* What is computed of PyTorch's kernels (test_cuda_select.c). */
void test_select(void);

#endif
