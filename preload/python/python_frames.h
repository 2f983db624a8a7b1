/*
 * The frames of the interpreter that a thread is in, innermost first: what the files that look at frames
 * share.
 */
#ifndef PYTHON_FRAMES_H
#define PYTHON_FRAMES_H

#include "python.h"

#define PMH_PYTHON_NAME 128 /* bytes of a function's or a variable's name */

struct pmh_python_frame {
	uint64_t address, code;
	uint64_t name; /* of the function: a string */
	uint64_t local_count;
	uint64_t slot_count; /* local variables, then those in cells: shared with inner functions, with outer
				ones */
};

/*
 * The first frame that runs Python's code, and the next one outwards. False: there is none, or, with
 * look->failed, it is not known. *passed is theirs.
 */
bool pmh_python_first_frame(
	struct pmh_python_look *look, uint64_t thread, unsigned *passed, struct pmh_python_frame *frame);
bool pmh_python_next_frame(struct pmh_python_look *look, unsigned *passed, struct pmh_python_frame *frame);

/* The name of the file that the frame's code is from. */
bool pmh_python_file(
	struct pmh_python_look *look, const struct pmh_python_frame *frame, char name[PMH_PYTHON_PATH]);

/* PyTorch's own code says nothing of the program. A program may well lie below a folder called torch. */
bool pmh_python_is_pytorch(struct pmh_python_look *look, const struct pmh_python_frame *frame);

#endif
