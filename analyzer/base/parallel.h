/* Independent pieces of work on several processors. */
#ifndef BASE_PARALLEL_H
#define BASE_PARALLEL_H

#include <stddef.h>

/*
 * Calls `each` once for every index below `count`, on up to `thread_count` threads (0: one for each
 * processor) of which the caller's is one; returns when all are done. Indices are taken in order, but may end
 * in any: the result of a piece must not depend on which thread computes it, or when. Without threads or
 * memory for them it takes longer, no more.
 */
void parallel_each(
	size_t count, size_t thread_count, void (*each)(void *context, size_t index), void *context);

/* How many threads that is: the processors there are. */
size_t parallel_processors(void);

#endif
