/* Independent pieces of work on some threads. What a piece answers must not depend on which thread does
 * it, or when. */
#ifndef TASKS_H
#define TASKS_H

#include <stddef.h>

/* Calls work(context, 0 .. count - 1), each once; thread_count 0: one per processor. Fewer threads than
 * asked for, down to the caller's own, are no failure. */
void tasks_run(size_t count, size_t thread_count, void (*work)(void *context, size_t index), void *context);

#endif
