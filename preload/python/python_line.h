/*
 * The line of Python that the calling thread is in, at each call: a number that goes into the operation's
 * identity. Errno stays.
 */
#ifndef PYTHON_LINE_H
#define PYTHON_LINE_H

#include "guest/attribute.h"
#include "guest/thread.h"

/* The number of the string "Net.forward (net.py:12)", 0: none, or not known. Of a thread that is read alone.
 */
uint32_t pmh_python_read_line(void);
PMH_INLINE uint32_t pmh_python_line(void)
{
	return __builtin_expect(pmh_self.reads_python, 0) ? pmh_python_read_line() : 0;
}

/*
 * A hash of the frames that the calling thread is in: their code, where in it they are, and the objects that
 * their methods are called on. Two stacks with one hash have the same names, as long as the program does not
 * put other objects where those were. 0: the thread is not one that is read, or has too many frames. No
 * system call.
 */
uint64_t pmh_python_stack(void);

/* Begins to read the calling thread's, if it is the one of which that is safe. Inside pmh_run_on_own_stack.
 */
void pmh_python_begin_lines(void);

/* No more new lines: there are many operations. */
void pmh_python_end_lines(void);

/* In a child after fork. */
void pmh_python_forget_lines(void);

#endif
