/*
 * Streams: a queue of closures each, and one worker thread that runs them in order (worker.c).
 *
 * The one idea: two counters per stream, `submitted` and `completed`, say everything. A place in a stream is
 * a number; to depend on it (event, legacy stream, graph) is to wait until `completed` has reached it. A
 * closure can depend only on what was submitted before it, so waiting workers can never form a cycle.
 */
#include "capture.h"
#include "model.h"
#include "queue.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((size_t)64 << 10)
#define INLINE_BYTES ((size_t)8 << 10) /* larger arguments get memory of their own */

const struct sg_activity sg_quick = {.run = SG_RUN_ANYWHERE};

/* ---- the queue; the stream's lock is held ---- */

struct big_arg {
	sg_work *fn;
	void *arg;
};

static void big_work(void *arg)
{
	struct big_arg *big = arg;

	big->fn(big->arg);
	free(big->arg);
}

static cudaError_t push(struct sg_stream *stream, sg_work *fn, const void *arg, size_t size)
{
	size_t room = (size + 15) & ~(size_t)15;
	struct big_arg big;
	struct sg_item *item;

	if (size > INLINE_BYTES) {
		cudaError_t error;

		big.fn = fn;
		big.arg = malloc(size);
		if (big.arg == NULL)
			return cudaErrorMemoryAllocation;
		memcpy(big.arg, arg, size);
		error = push(stream, big_work, &big, sizeof(big));
		if (error != cudaSuccess)
			free(big.arg);
		return error;
	}
	/* Room for one more empty item always remains, for the jump to the next chunk. */
	if (stream->tail == NULL || stream->tail_used + room + 2 * sizeof(*item) > CHUNK_BYTES) {
		struct sg_chunk *chunk = atomic_exchange(&stream->spare, NULL);

		if (chunk == NULL)
			chunk = malloc(sizeof(*chunk) + CHUNK_BYTES);
		if (chunk == NULL)
			return cudaErrorMemoryAllocation;
		if (stream->tail != NULL) {
			item = (struct sg_item *)(void *)(stream->tail->bytes + stream->tail_used);
			item->fn = NULL;
			stream->tail->next = chunk;
		} else {
			atomic_store(&stream->head, chunk);
		}
		stream->tail = chunk;
		stream->tail_used = 0;
	}
	if (!stream->started && sg_worker_start(stream) != 0)
		return cudaErrorMemoryAllocation;
	item = (struct sg_item *)(void *)(stream->tail->bytes + stream->tail_used);
	item->fn = fn;
	item->size = room;
	if (size > 0)
		memcpy(item->arg, arg, size);
	stream->tail_used += sizeof(*item) + room;
	atomic_store_explicit(&stream->submitted,
		atomic_load_explicit(&stream->submitted, memory_order_relaxed) + 1, memory_order_release);
	atomic_store(&stream->queued, atomic_load_explicit(&stream->queued, memory_order_relaxed) + 1);
	return cudaSuccess;
}

static void wake_worker(struct sg_stream *stream)
{
	if (atomic_load(&stream->sleeping) != 0 && atomic_exchange(&stream->sleeping, 0) != 0)
		sg_futex_wake(&stream->sleeping, 0);
}

struct wait_arg {
	struct sg_stream *stream;
	uint64_t position;
};

static void wait_work(void *arg)
{
	struct wait_arg *wait = arg;

	if (!sg_stream_done(wait->stream, wait->position)) {
		sg_wait_begin();
		sg_stream_wait(wait->stream, wait->position);
		sg_wait_end();
	}
	if (SG_UNLIKELY(sg_self.worker->ends != NULL))
		sg_timed_after(sg_self.worker, wait->stream, wait->position);
}

/* Nothing is queued: the submitting thread, under the lock, may process what cannot block. */
static int is_idle(struct sg_stream *stream)
{
	return atomic_load_explicit(&stream->completed, memory_order_acquire) ==
	       atomic_load_explicit(&stream->submitted, memory_order_relaxed);
}

static void complete_here(struct sg_stream *stream)
{
	atomic_store_explicit(&stream->submitted,
		atomic_load_explicit(&stream->submitted, memory_order_relaxed) + 1, memory_order_release);
	sg_queue_complete(stream);
}

static cudaError_t push_wait(struct sg_stream *stream, struct sg_stream *other, uint64_t position)
{
	struct wait_arg wait = {other, position};

	if (other == stream || (!sg_modelled() && sg_stream_done(other, position)))
		return cudaSuccess;
	/* Done, but perhaps not over; and it has a place, so that who waits for it waits for the other too.
	 */
	if (sg_modelled() && is_idle(stream) && sg_stream_done(other, position)) {
		sg_timed_after(stream, other, position);
		complete_here(stream);
		return cudaSuccess;
	}
	return push(stream, wait_work, &wait, sizeof(wait));
}

/* The implicit order of the legacy stream: it waits for all blocking streams, and they for it. */
static cudaError_t push_implicit_waits(struct sg_stream *stream)
{
	cudaError_t error;

	if (stream->kind == SG_LEGACY) {
		uint32_t used = atomic_load_explicit(&sg_streams.used, memory_order_acquire);

		for (uint32_t i = (uint32_t)sg_device_count(); i < used; i++) {
			struct sg_stream *other = sg_pool_at(&sg_streams, i);
			uint64_t position;

			if (!sg_stream_joins_legacy(other, stream->device))
				continue;
			position = sg_stream_submitted(other);
			if (position <= other->seen_by_legacy)
				continue;
			error = push_wait(stream, other, position);
			if (error != cudaSuccess)
				return error;
			other->seen_by_legacy = position;
		}
	} else if (!(stream->flags & cudaStreamNonBlocking)) {
		struct sg_stream *legacy = sg_stream_legacy(stream->device);
		uint64_t position = sg_stream_submitted(legacy);

		if (position <= stream->legacy_seen)
			return cudaSuccess;
		error = push_wait(stream, legacy, position);
		if (error != cudaSuccess)
			return error;
		stream->legacy_seen = position;
	}
	return cudaSuccess;
}

/* ---- what the other files call ---- */

static cudaError_t queue_now(
	struct sg_stream *stream, sg_work *fn, const void *arg, size_t size, uint64_t *position)
{
	cudaError_t error = cudaErrorInvalidResourceHandle;

	pthread_mutex_lock(&stream->lock);
	if (SG_LIKELY(atomic_load_explicit(&stream->slot.live, memory_order_relaxed) == SG_SLOT_LIVE))
		error = push_implicit_waits(stream);
	if (SG_LIKELY(error == cudaSuccess))
		error = push(stream, fn, arg, size);
	if (position != NULL)
		*position = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
	pthread_mutex_unlock(&stream->lock);
	wake_worker(stream);
	return error;
}

/* The head is the queue's, the argument is still the caller's. */
static cudaError_t push_timed(
	struct sg_stream *stream, const struct sg_timed *head, const void *arg, size_t size)
{
	struct sg_timed *timed = malloc(sizeof(*timed) + size);
	cudaError_t error;

	if (timed == NULL)
		return cudaErrorMemoryAllocation;
	memcpy(timed, head, sizeof(*timed));
	if (size > 0)
		memcpy(timed->arg, arg, size);
	error = push(stream, sg_timed_work, timed, sizeof(*timed) + size);
	free(timed);
	return error;
}

static cudaError_t queue_timed(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position)
{
	cudaError_t error = cudaErrorInvalidResourceHandle;
	struct sg_timed head;
	int here = 0;

	sg_timed_init(&head, what, stream, fn, size);
	pthread_mutex_lock(&stream->lock);
	if (SG_LIKELY(atomic_load_explicit(&stream->slot.live, memory_order_relaxed) == SG_SLOT_LIVE))
		error = push_implicit_waits(stream);
	if (error == cudaSuccess && head.what.run != SG_RUN_WORKER && is_idle(stream) &&
		!sg_timed_is_ahead(stream)) {
		sg_timed_run(&head, stream, (void *)(uintptr_t)arg);
		complete_here(stream);
		here = 1;
	} else if (error == cudaSuccess) {
		error = push_timed(stream, &head, arg, size);
	}
	if (position != NULL)
		*position = atomic_load_explicit(&stream->submitted, memory_order_relaxed);
	pthread_mutex_unlock(&stream->lock);
	if (here)
		sg_timed_report(&head);
	else
		wake_worker(stream);
	return error;
}

static cudaError_t queue_watched(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position)
{
	struct sg_watched *watched = sg_watched_new(what, stream, fn, arg, size, &size);
	cudaError_t error;

	if (watched == NULL)
		return cudaErrorMemoryAllocation;
	error = queue_now(stream, sg_watched_work, watched, size, position);
	free(watched);
	return error;
}

cudaError_t sg_queue_now(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position)
{
	if (SG_UNLIKELY(stream->ends != NULL))
		return queue_timed(stream, what, fn, arg, size, position);
	if (SG_UNLIKELY(atomic_load_explicit(&sg_watcher, memory_order_relaxed) != NULL) && what != NULL &&
		what->kind != SG_ACTIVITY_NONE)
		return queue_watched(stream, what, fn, arg, size, position);
	return queue_now(stream, fn, arg, size, position);
}

static cudaError_t queue_as(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position)
{
	if (SG_UNLIKELY(atomic_load_explicit(&sg_capture_count, memory_order_acquire) != 0)) {
		if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL) {
			if (position != NULL)
				*position = 0;
			return sg_capture_work(stream, what, fn, arg, size);
		}
		if (stream->kind == SG_LEGACY) {
			cudaError_t error = sg_capture_refuse_legacy(stream->device);

			if (error != cudaSuccess)
				return error;
		}
	}
	return sg_queue_now(stream, what, fn, arg, size, position);
}

cudaError_t sg_queue_as(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position)
{
	struct sg_activity labelled;
	cudaError_t error;

	if (SG_UNLIKELY(sg_named) && what != NULL && what->kind != SG_ACTIVITY_NONE) {
		labelled = *what;
		sg_truth_label(&labelled);
		what = &labelled;
	}
	error = queue_as(stream, what, fn, arg, size, position);
	if (SG_UNLIKELY(stream->ends != NULL) && what != NULL && error == cudaSuccess) {
		if (SG_UNLIKELY(sg_disturbs_launches))
			sg_disturb_launch(what, stream->device);
		sg_timed_throttle(stream);
	}
	return error;
}

cudaError_t sg_queue(struct sg_stream *stream, sg_work *fn, const void *arg, size_t size, uint64_t *position)
{
	return sg_queue_as(stream, NULL, fn, arg, size, position);
}

static cudaError_t queue_timed_wait(struct sg_stream *stream, struct sg_stream *other, uint64_t position)
{
	cudaError_t error = cudaErrorInvalidResourceHandle;

	pthread_mutex_lock(&stream->lock);
	if (atomic_load_explicit(&stream->slot.live, memory_order_relaxed) == SG_SLOT_LIVE)
		error = push_implicit_waits(stream);
	if (error == cudaSuccess)
		error = push_wait(stream, other, position);
	pthread_mutex_unlock(&stream->lock);
	wake_worker(stream);
	return error;
}

cudaError_t sg_queue_wait(struct sg_stream *stream, struct sg_stream *other, uint64_t position)
{
	struct wait_arg wait = {other, position};

	if (SG_UNLIKELY(stream->ends != NULL))
		return queue_timed_wait(stream, other, position);
	if (other == stream || sg_stream_done(other, position))
		return cudaSuccess;
	return queue_now(stream, wait_work, &wait, sizeof(wait), NULL);
}

cudaError_t sg_queue_close(struct sg_stream *stream)
{
	cudaError_t error = cudaSuccess;
	int started;

	pthread_mutex_lock(&stream->lock);
	started = stream->started;
	atomic_store(&stream->slot.live, SG_SLOT_CLOSING);
	if (started)
		error = push(stream, sg_worker_close, NULL, 0);
	pthread_mutex_unlock(&stream->lock);
	if (started) {
		wake_worker(stream);
		return error;
	}
	if (sg_modelled())
		sg_timed_close(stream);
	sg_pool_put(&sg_streams, stream);
	return error;
}
