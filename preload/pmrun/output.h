/* The lines of the ranks with their ranks before them (--prefix), and a status line that is never mixed with
 * them. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>

/* Around the fork of each rank: before it; in the child, whose output then goes into the pipes; in the
 * parent. They exit with 125 on failure. */
void pmrun_output_prepare(int rank);
void pmrun_output_become(void);
void pmrun_output_started(void);

/* When all have started: a thread hands their lines on to stdout and stderr. The caller's blocked signals are
 * the thread's. */
void pmrun_output_start(void);
/* When all have ended: returns when what they wrote has been handed on. Nothing without a start. */
void pmrun_output_finish(void);

/* Shows a line on the terminal that stderr is, below the ranks' lines; "" takes it away. Only with --prefix:
 * else the ranks write to the terminal themselves. */
void pmrun_status(const char *text);

#endif
