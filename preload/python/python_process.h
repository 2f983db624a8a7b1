/*
 * What the process's Python interpreter, if it has one, says of the calling thread: the nn.Module and the
 * callers that it is in. Python's lock is not taken. Any thread.
 */
#ifndef PYTHON_PROCESS_H
#define PYTHON_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "python.h"

/* Finds the process's Python interpreter. Takes the loader's lock, so no lock of ours may be held. */
void pmh_python_init(void);

/* After the settings were read and the trace is open: notes what was found. */
void pmh_python_begin(void);

/* Each is "" where there is none, or not for certain. */
struct pmh_python_names {
	char callers[512]; /* the innermost in Python, "Net.forward (net.py:12) < train (train.py:40)" */
	char module[512];  /* the path of the nn.Module that the thread is in, "net.layer1.0.conv1" */
	enum pmh_python_frames {
		PMH_PYTHON_UNKNOWN,
		PMH_PYTHON_NO_FRAME, /* the thread is not in Python: a thread of C++'s own, autograd's */
		PMH_PYTHON_FRAMES,
	} frames;
	char outer[512];             /* the outermost, "<module> (train.py:90) > main (train.py:57)" */
	struct pmh_python_line line; /* the innermost */
};

/* Of the calling thread, in one look. is_work: all of it, else the callers alone. Python's lock is not taken.
 */
void pmh_python_names(bool is_work, struct pmh_python_names *names);

/* The innermost frame of the calling thread, in a look of its own; false: none, or not for certain. */
bool pmh_python_look_line(struct pmh_python_line *line);

/*
 * Of the calling thread, in one look: the object whose module the thread is in, and the module's path ("":
 * not for certain), unless is_known says that it is wanted no more. False: it is in none, or (is_unknown)
 * that is not known.
 */
struct pmh_python_here {
	struct pmh_python_self self;
	uint64_t known_self; /* the word "self"; 0: not met yet */
	bool is_unknown;
	bool is_class_named; /* the module's path begins with the name of a class */
	char module[512];
};
bool pmh_python_look_self(struct pmh_python_here *here,
	bool (*is_known)(const struct pmh_python_self *self, void *data), void *data);

/* The program's innermost frame likewise, and the code of those before it. */
struct pmh_python_program {
	struct pmh_python_line line;
	uint64_t passed[PMH_PYTHON_PASSED];
	unsigned passed_count;
};
bool pmh_python_look_program(struct pmh_python_program *program);

/* How the interpreter's words are read without a look; false: it is not known. */
struct pmh_python_reading {
	const struct pmh_python_offsets *at;
	uint64_t code_type, cell_type, tuple_type;
	void *(*thread_state)(void);
	uint64_t stack_end; /* of the process's first thread; 0: not known */
	/* the code of functions that run a program from the interpreter's begin to its end */
	struct pmh_python_code {
		uint64_t start, end; /* equal: not found */
	} mains[3];
};
bool pmh_python_reading(struct pmh_python_reading *reading);

/* Whether the calling thread runs Python's code, or may: false says that a look finds nothing. */
bool pmh_python_is_running(void);
void pmh_python_forget(void);

#endif
