/*
 * Streams as others see them: handles, opening and closing, waiting for what was submitted. Their queues are
 * in queue.c.
 *
 * The one idea: the first slots of the pool are the legacy streams, and whoever needs all streams of a device
 * walks through the slots; nothing else lists them.
 */
#include "capture.h"
#include "model.h"

#include <stdlib.h>

struct sg_pool sg_streams = SG_POOL_INIT(struct sg_stream, 16384, 16);

static _Atomic uint32_t last_number;

int sg_stream_joins_legacy(struct sg_stream *stream, int device)
{
	return atomic_load_explicit(&stream->slot.live, memory_order_acquire) != SG_SLOT_FREE &&
	       stream->device == device && stream->kind != SG_LEGACY &&
	       !(stream->flags & cudaStreamNonBlocking);
}

/* what: the rest of what the work is. */
static cudaError_t submit(
	cudaStream_t handle, struct sg_activity *what, sg_work *fn, const void *arg, size_t size)
{
	struct sg_stream *stream;

	if (SG_UNLIKELY(atomic_load_explicit(&sg_attention, memory_order_relaxed) != 0)) {
		if (sg_ready() != 0)
			return cudaErrorInitializationError;
		if (sg_stopped())
			return cudaErrorCudartUnloading;
		if (sg_device_error(sg_self.device) != cudaSuccess)
			return sg_device_error(sg_self.device);
	}
	stream = sg_stream_of(handle);
	if (SG_UNLIKELY(stream == NULL))
		return cudaErrorInvalidResourceHandle;
	/* To a profiler it is as if the library had launched a kernel. */
	if (what->kind == SG_ACTIVITY_NONE)
		what->kind = SG_ACTIVITY_KERNEL;
	what->of_library = 1;
	what->name = sg_self.library_call;
	sg_call_begin(what->kind == SG_ACTIVITY_SET ? "cudaMemsetAsync" : "cudaLaunchKernel");
	return sg_queue_as(stream, what, fn, arg, size, NULL);
}

cudaError_t sg_submit(cudaStream_t handle, sg_work *fn, const void *arg, size_t size)
{
	struct sg_activity what = {.run = SG_RUN_WORKER};

	return submit(handle, &what, fn, arg, size);
}

/* The kernels that the library launches for it: all but the one that computes only take time. */
static cudaError_t submit_parts(cudaStream_t handle, const struct sg_activity *whole,
	const struct sg_part *parts, int count, sg_work *fn, const void *arg, size_t size)
{
	const double whole_ns = sg_parts_ns(parts, count);
	cudaError_t error = cudaSuccess;

	for (int i = 0; i < count && error == cudaSuccess; i++) {
		struct sg_activity what = *whole;
		int computes = parts[i].name == NULL;

		what.part_ns = parts[i].ns;
		what.share = parts[i].ns / whole_ns;
		what.part = parts[i].name;
		if (!computes)
			what.run = SG_RUN_NEVER;
		what.kind = parts[i].is_set ? SG_ACTIVITY_SET : SG_ACTIVITY_KERNEL;
		what.bytes = parts[i].is_set ? sizeof(int) : 0;
		error = submit(handle, &what, fn, computes ? arg : NULL, computes ? size : 0);
	}
	return error;
}

cudaError_t sg_submit_op(cudaStream_t handle, const char *op, const struct sg_cost *cost, sg_work *fn,
	const void *arg, size_t size)
{
	struct sg_activity what = {.cost = *cost, .op = op};

	if (!sg_numerics() && cost->kind != SG_COST_LINK)
		what.run = SG_RUN_NEVER;
	if (cost->geometry.is_known && sg_modelled() && sg_ready() == 0) {
		struct sg_part parts[SG_PARTS];
		int count = sg_profile_parts(cost, parts);

		if (count > 0)
			return submit_parts(handle, &what, parts, count, fn, arg, size);
	}
	return submit(handle, &what, fn, arg, size);
}

cudaError_t sg_submit_cost(
	cudaStream_t handle, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size)
{
	return sg_submit_op(handle, NULL, cost, fn, arg, size);
}

cudaError_t sg_position(cudaStream_t handle, struct sg_position *place)
{
	struct sg_stream *stream = sg_ready() == 0 ? sg_stream_of(handle) : NULL;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_capture_position(stream, place);
	place->stream = stream;
	place->position = sg_stream_submitted(stream);
	place->capture = 0;
	return cudaSuccess;
}

cudaError_t sg_wait_position(cudaStream_t handle, const struct sg_position *place)
{
	struct sg_stream *stream = sg_ready() == 0 ? sg_stream_of(handle) : NULL;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_capture_wait_position(stream, place);
	if (place->capture != 0 || place->stream == NULL)
		return cudaSuccess;
	return sg_queue_wait(stream, place->stream, place->position);
}

static void wait_processed(struct sg_stream *stream, uint64_t position)
{
	uint64_t begin_ns;
	unsigned turn = 0;

	if (sg_stream_done(stream, position) || sg_stopped())
		return;
	begin_ns = sg_now_ns();
	while (!sg_spin_over(begin_ns, &turn)) {
		if (sg_stream_done(stream, position))
			return;
	}
	atomic_fetch_add(&stream->waiters, 1);
	for (;;) {
		uint32_t word = atomic_load(&stream->done_word);
		uint64_t soonest = atomic_load(&stream->soonest);

		while (soonest < ~position &&
			!atomic_compare_exchange_weak(&stream->soonest, &soonest, ~position))
			;
		if (atomic_load(&stream->completed) >= position)
			break;
		sg_futex_wait(&stream->done_word, word, NULL, 0);
	}
	atomic_fetch_sub(&stream->waiters, 1);
}

void sg_stream_wait(struct sg_stream *stream, uint64_t position)
{
	wait_processed(stream, position);
	if (SG_UNLIKELY(stream->ends != NULL) && sg_self.worker == NULL && !sg_stopped())
		sg_sleep_until(sg_position_end(stream, position));
}

int sg_stream_reached(struct sg_stream *stream, uint64_t position)
{
	return sg_stream_done(stream, position) &&
	       (SG_LIKELY(stream->ends == NULL) || sg_position_end(stream, position) <= sg_now_ns());
}

void sg_stream_drain(struct sg_stream *stream)
{
	uint32_t used = atomic_load_explicit(&sg_streams.used, memory_order_acquire);

	for (uint32_t i = (uint32_t)sg_device_count(); stream->kind == SG_LEGACY && i < used; i++) {
		struct sg_stream *other = sg_pool_at(&sg_streams, i);

		if (sg_stream_joins_legacy(other, stream->device))
			sg_stream_wait(other, sg_stream_submitted(other));
	}
	sg_stream_wait(stream, sg_stream_submitted(stream));
}

int sg_stream_idle(struct sg_stream *stream)
{
	uint32_t used = atomic_load_explicit(&sg_streams.used, memory_order_acquire);

	for (uint32_t i = (uint32_t)sg_device_count(); stream->kind == SG_LEGACY && i < used; i++) {
		struct sg_stream *other = sg_pool_at(&sg_streams, i);

		if (sg_stream_joins_legacy(other, stream->device) &&
			!sg_stream_reached(other, sg_stream_submitted(other)))
			return 0;
	}
	return sg_stream_reached(stream, sg_stream_submitted(stream));
}

void sg_device_drain(int device)
{
	uint32_t used = atomic_load_explicit(&sg_streams.used, memory_order_acquire);

	for (uint32_t i = 0; i < used; i++) {
		struct sg_stream *stream = sg_pool_at(&sg_streams, i);

		if (atomic_load_explicit(&stream->slot.live, memory_order_acquire) != SG_SLOT_FREE &&
			stream->device == device)
			sg_stream_wait(stream, sg_stream_submitted(stream));
	}
	if (sg_modelled() && sg_self.worker == NULL && !sg_stopped())
		sg_sleep_until(sg_closed_end(device));
}

cudaError_t sg_stream_open(
	struct sg_stream **out, int device, unsigned flags, int priority, enum sg_stream_kind kind)
{
	struct sg_stream *stream = sg_pool_get(&sg_streams);

	if (stream == NULL)
		return cudaErrorMemoryAllocation;
	if (sg_modelled() && stream->ends == NULL)
		stream->ends = calloc(SG_ENDS, sizeof(*stream->ends));
	if (sg_modelled() && stream->ends == NULL) {
		sg_pool_put(&sg_streams, stream);
		return cudaErrorMemoryAllocation;
	}
	stream->model_ns = stream->timed_count = 0;
	stream->device = device;
	stream->flags = flags;
	stream->priority = priority;
	stream->number = atomic_fetch_add(&last_number, 1) + 1;
	stream->kind = kind;
	stream->context = sg_context_current() != NULL && device == sg_self.device
				  ? sg_context_current()
				  : sg_context_primary(device);
	stream->closing = 0;
	if (!stream->has_lock)
		pthread_mutex_init(&stream->lock, NULL);
	stream->has_lock = 1;
	atomic_store_explicit(&stream->slot.live, SG_SLOT_LIVE, memory_order_release);
	*out = stream;
	return cudaSuccess;
}

cudaError_t sg_stream_close(struct sg_stream *stream)
{
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		sg_capture_abandon(stream);
	return sg_queue_close(stream);
}

void sg_device_close_streams(int device, struct sg_context *context)
{
	uint32_t used = atomic_load_explicit(&sg_streams.used, memory_order_acquire);

	for (uint32_t i = (uint32_t)sg_device_count(); i < used; i++) {
		struct sg_stream *stream = sg_pool_at(&sg_streams, i);

		if (atomic_load(&stream->slot.live) == SG_SLOT_LIVE && stream->device == device &&
			stream->kind == SG_CREATED && (context == NULL || stream->context == context))
			sg_stream_close(stream);
	}
}

/* ---- handles ---- */

static pthread_key_t per_thread_key;
static pthread_once_t per_thread_once = PTHREAD_ONCE_INIT;

static void close_per_thread(void *streams)
{
	struct sg_stream **stream = streams;

	for (int i = 0; i < sg_device_count(); i++) {
		if (stream[i] != NULL)
			sg_stream_close(stream[i]);
	}
	free(stream);
	sg_self.per_thread = NULL;
}

static void make_per_thread_key(void)
{
	pthread_key_create(&per_thread_key, close_per_thread);
}

static struct sg_stream *per_thread_stream(void)
{
	struct sg_stream **streams = sg_self.per_thread;

	if (streams == NULL) {
		pthread_once(&per_thread_once, make_per_thread_key);
		streams = calloc((size_t)sg_device_count(), sizeof(struct sg_stream *));
		if (streams == NULL)
			return NULL;
		pthread_setspecific(per_thread_key, streams);
		sg_self.per_thread = streams;
	}
	if (streams[sg_self.device] == NULL &&
		sg_stream_open(&streams[sg_self.device], sg_self.device, 0, 0, SG_PER_THREAD) != cudaSuccess)
		return NULL;
	return streams[sg_self.device];
}

struct sg_stream *sg_stream_of(cudaStream_t handle)
{
	if (handle == cudaStreamPerThread || (handle == NULL && sg_self.null_is_per_thread))
		return per_thread_stream();
	if (handle == NULL || handle == cudaStreamLegacy)
		return sg_stream_legacy(sg_self.device);
	return sg_pool_check(&sg_streams, handle);
}

int sg_stream_device(cudaStream_t handle)
{
	struct sg_stream *stream;

	if (handle == NULL || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
		return sg_self.device;
	stream = sg_pool_check(&sg_streams, handle);
	return stream != NULL ? stream->device : -1;
}

int sg_capturing(cudaStream_t handle)
{
	struct sg_stream *stream;

	if (atomic_load_explicit(&sg_capture_count, memory_order_acquire) == 0)
		return 0;
	stream = sg_stream_of(handle);
	return stream != NULL && atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL;
}

uint32_t sg_stream_number(cudaStream_t handle)
{
	struct sg_stream *stream = sg_ready() == 0 ? sg_stream_of(handle) : NULL;

	return stream != NULL ? stream->number : 0;
}
