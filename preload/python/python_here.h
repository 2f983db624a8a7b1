/*
 * Where in the program the calling thread is, asked often: at operators of PyTorch's. Numbers of strings, 0:
 * none, or not known. ticks: now (guest/clock.h). Errno stays.
 */
#ifndef PYTHON_HERE_H
#define PYTHON_HERE_H

#include <stdint.h>

/* The path of the innermost nn.Module that it is in, as pmh_python_names has it. */
uint32_t pmh_python_here_module(uint64_t ticks);

/* The program's innermost frame, "train (train.py:57)": none of PyTorch's own. */
uint32_t pmh_python_here_line(uint64_t ticks);

/* In a child after fork. */
void pmh_python_here_forget(void);

#endif
