/*
 * The worker of a stream: a thread that runs what is queued, in order.
 *
 * The one idea: it reads chunks in the order in which they were linked and counts what it has taken; a chunk
 * that it has read to its end is kept for the submitting side. Whether it computes, waits or is between two
 * closures is one word, so that process exit knows whom to wait for.
 */
#include "model.h"
#include "queue.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void park(void)
{
	for (;;)
		pause();
}

/* Says that this thread computes; process exit looks at it after it has set `exiting`, and we the other way
 * round. */
static void set_busy(struct sg_stream *stream)
{
	atomic_store(&stream->busy, SG_COMPUTING);
	if (SG_UNLIKELY(sg_stopped())) {
		atomic_store(&stream->busy, SG_BETWEEN);
		park();
	}
}

void sg_wait_begin(void)
{
	if (sg_self.worker != NULL)
		atomic_store(&sg_self.worker->busy, SG_WAITING);
}

void sg_wait_end(void)
{
	if (sg_self.worker != NULL)
		set_busy(sg_self.worker);
}

static void sleep_until_work(struct sg_stream *stream, uint64_t taken)
{
	uint64_t begin_ns = sg_now_ns();
	unsigned turn = 0;

	do {
		if (atomic_load_explicit(&stream->queued, memory_order_acquire) != taken)
			return;
	} while (!sg_spin_over(begin_ns, &turn));
	for (;;) {
		atomic_store(&stream->sleeping, 1);
		if (atomic_load(&stream->queued) != taken)
			break;
		sg_futex_wait(&stream->sleeping, 1, NULL, 0);
	}
	atomic_store(&stream->sleeping, 0);
}

static void recycle(struct sg_stream *stream, struct sg_chunk *chunk)
{
	free(atomic_exchange(&stream->spare, chunk));
}

void sg_worker_close(void *nothing)
{
	(void)nothing;
	sg_self.worker->closing = 1;
	if (sg_modelled())
		sg_timed_close(sg_self.worker);
}

void sg_queue_complete(struct sg_stream *stream)
{
	uint64_t position = atomic_load_explicit(&stream->completed, memory_order_relaxed) + 1;

	if (SG_UNLIKELY(stream->ends != NULL))
		sg_timed_mark(stream, position);
	atomic_store(&stream->completed, position);
	/* Who waits for a later position sleeps on. A wish that this forgets was made before the word
	 * changed, so it is made again. */
	if (atomic_load(&stream->waiters) != 0 && position >= ~atomic_load(&stream->soonest)) {
		atomic_store(&stream->soonest, 0);
		atomic_fetch_add(&stream->done_word, 1);
		sg_futex_wake(&stream->done_word, 0);
	}
}

static void *work_loop(void *arg)
{
	struct sg_stream *stream = arg;
	struct sg_chunk *chunk = NULL;
	size_t used = 0;
	uint64_t taken = stream->taken;

	sg_self.worker = stream;
	sg_self.device = stream->device;
	while (!stream->closing) {
		struct sg_item *item;

		if (atomic_load_explicit(&stream->queued, memory_order_acquire) == taken)
			sleep_until_work(stream, taken);
		if (chunk == NULL)
			chunk = atomic_load(&stream->head);
		item = (struct sg_item *)(void *)(chunk->bytes + used);
		if (item->fn == NULL) {
			struct sg_chunk *empty = chunk;

			chunk = chunk->next;
			recycle(stream, empty);
			used = 0;
			item = (struct sg_item *)(void *)chunk->bytes;
		}
		used += sizeof(*item) + item->size;
		set_busy(stream);
		item->fn(item->size > 0 ? item->arg : NULL);
		atomic_store(&stream->busy, SG_BETWEEN);
		sg_exit_renew();
		taken++;
		sg_queue_complete(stream);
	}
	stream->taken = taken;
	free(chunk);
	recycle(stream, NULL);
	stream->tail = NULL;
	stream->started = 0;
	sg_pool_put(&sg_streams, stream);
	return NULL;
}

/* Signals stay with the application's threads. */
int sg_worker_start(struct sg_stream *stream)
{
	static _Atomic unsigned count;
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, before;
	int failed;

	sigfillset(&all);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&thread, &attributes, work_loop, stream);
	if (!failed) {
		char name[16];

		snprintf(name, sizeof(name), "softgpu%d.%u", stream->device,
			atomic_fetch_add(&count, 1) % 1000);
		pthread_setname_np(thread, name);
		stream->started = 1;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return failed;
}
