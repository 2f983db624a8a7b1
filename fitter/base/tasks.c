/* Work on threads: see tasks.h. */
#include "tasks.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct tasks {
	atomic_size_t next;
	size_t count;
	void (*work)(void *context, size_t index);
	void *context;
};

static void *work_on(void *argument)
{
	struct tasks *tasks = argument;
	size_t index;

	while ((index = atomic_fetch_add(&tasks->next, 1)) < tasks->count)
		tasks->work(tasks->context, index);
	return NULL;
}

void tasks_run(size_t count, size_t thread_count, void (*work)(void *context, size_t index), void *context)
{
	struct tasks tasks = {.count = count, .work = work, .context = context};
	pthread_t *threads;
	size_t started = 0;

	if (thread_count == 0) {
		long processors = sysconf(_SC_NPROCESSORS_ONLN);

		thread_count = processors > 0 ? (size_t)processors : 1;
	}
	thread_count = thread_count < count ? thread_count : count;
	threads = calloc(thread_count + 1, sizeof(*threads));
	/* this thread is one of them */
	while (threads && started + 1 < thread_count &&
		pthread_create(&threads[started], NULL, work_on, &tasks) == 0)
		started++;
	work_on(&tasks);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}
