/*
 * What the process's Python interpreter, if it has one, says of the calling thread: the nn.Module and the
 * callers that it is in. Python's lock is not taken. Any thread.
 */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

/* Finds the process's Python interpreter. Takes the loader's lock, so no lock of ours may be held. */
void pmh_python_init(void);

/* After the settings were read and the trace is open: notes what was found. */
void pmh_python_begin(void);

/* The path of the nn.Module that the calling thread is in, "net.layer1.0.conv1". False: none, or not for
 * certain; then text is "". Python's lock is not taken. */
bool pmh_python_module(char *text, size_t text_bytes);

/* The innermost callers in Python, "Net.forward (net.py:12) < train (train.py:40)". False: none. */
bool pmh_python_callers(char *text, size_t text_bytes);
void pmh_python_forget(void);

#endif
