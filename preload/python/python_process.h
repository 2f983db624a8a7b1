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

/* Each is "" where there is none, or not for certain. */
struct pmh_python_names {
	char callers[512]; /* the innermost in Python, "Net.forward (net.py:12) < train (train.py:40)" */
	char module[512];  /* the path of the nn.Module that the thread is in, "net.layer1.0.conv1" */
};

/* Of the calling thread, in one look. is_work: the module is asked for too. Python's lock is not taken. */
void pmh_python_names(bool is_work, struct pmh_python_names *names);
/* Whether the calling thread runs Python's code, or may: false says that a look finds nothing. */
bool pmh_python_is_running(void);
void pmh_python_forget(void);

#endif
