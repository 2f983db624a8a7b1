/* A counter that threads take their next piece from: see parallel.h. */
#include "parallel.h"
#include "memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
	size_t count, next;
	void (*each)(void *context, size_t index);
	void *context;
};

static void *work(void *argument)
{
	struct pool *pool = argument;

	for (;;) {
		size_t index = __atomic_fetch_add(&pool->next, 1, __ATOMIC_RELAXED);

		if (index >= pool->count)
			return NULL;
		pool->each(pool->context, index);
	}
}

unsigned parallel_processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (unsigned)count : 1;
}

void parallel_each(size_t count, unsigned threads, void (*each)(void *context, size_t index), void *context)
{
	struct pool pool = {count, 0, each, context};
	pthread_t *others;
	unsigned started = 0;

	if (threads == 0)
		threads = parallel_processors();
	if (threads > count)
		threads = (unsigned)count;
	others = mem_alloc(threads, sizeof(*others));
	while (started + 1 < threads && pthread_create(&others[started], NULL, work, &pool) == 0)
		started++;
	work(&pool);
	while (started > 0)
		pthread_join(others[--started], NULL);
	free(others);
}
