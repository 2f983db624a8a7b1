/* A counter that threads take their next piece from: see parallel.h. */
#include "parallel.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct pool {
	atomic_size_t next;
	size_t count;
	void (*each)(void *context, size_t index);
	void *context;
};

static void *work(void *argument)
{
	struct pool *pool = argument;
	size_t index;

	while ((index = atomic_fetch_add(&pool->next, 1)) < pool->count)
		pool->each(pool->context, index);
	return NULL;
}

size_t parallel_processors(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);

	return count > 0 ? (size_t)count : 1;
}

void parallel_each(
	size_t count, size_t thread_count, void (*each)(void *context, size_t index), void *context)
{
	struct pool pool = {.count = count, .each = each, .context = context};
	pthread_t *threads;
	size_t started = 0;

	if (thread_count == 0)
		thread_count = parallel_processors();
	thread_count = thread_count < count ? thread_count : count;
	threads = calloc(thread_count + 1, sizeof(*threads));
	/* this thread is one of them */
	while (threads && started + 1 < thread_count &&
		pthread_create(&threads[started], NULL, work, &pool) == 0)
		started++;
	work(&pool);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}
