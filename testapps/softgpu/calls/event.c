/* What the calls about events do, and waiting for them in streams. See calls.h. */
#include "calls.h"

#define KNOWN_FLAGS (unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)

/* The default streams are those of the current context. */
static struct sg_context *context_now(void)
{
	return sg_context_current() != NULL ? sg_context_current() : sg_context_primary(sg_self.device);
}

static const struct sg_context *context_of(const struct sg_stream *stream)
{
	return stream->kind == SG_CREATED ? stream->context : context_now();
}

/* Takes the reference to what is shared. */
static cudaError_t create(cudaEvent_t *out, unsigned flags, struct sg_shared_event *shared)
{
	struct sg_event *event = sg_pool_get(&sg_events);

	if (event == NULL) {
		if (shared != NULL)
			sg_shared_event_let_go(shared);
		return cudaErrorMemoryAllocation;
	}
	if (event->generation == 0)
		pthread_mutex_init(&event->lock, NULL);
	pthread_mutex_lock(&event->lock);
	event->generation++;
	event->device = sg_self.device;
	event->context = context_now();
	event->flags = flags;
	event->stream = NULL;
	event->capture = 0;
	event->shared = shared;
	pthread_mutex_unlock(&event->lock);
	atomic_store_explicit(&event->slot.live, SG_SLOT_LIVE, memory_order_release);
	*out = (cudaEvent_t)(void *)event;
	return cudaSuccess;
}

cudaError_t sg_event_create(cudaEvent_t *out, unsigned flags)
{
	struct sg_shared_event *shared = NULL;

	if (out == NULL || (flags & ~KNOWN_FLAGS) != 0 ||
		((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)))
		return cudaErrorInvalidValue;
	if (flags & cudaEventInterprocess) {
		shared = sg_shared_event_make();
		if (shared == NULL)
			return cudaErrorMemoryAllocation;
	}
	return create(out, flags, shared);
}

cudaError_t sg_event_destroy(cudaEvent_t handle)
{
	struct sg_event *event = sg_pool_check(&sg_events, handle);

	if (event == NULL)
		return cudaErrorInvalidResourceHandle;
	pthread_mutex_lock(&event->lock);
	sg_event_close(event);
	pthread_mutex_unlock(&event->lock);
	sg_pool_put(&sg_events, event);
	return cudaSuccess;
}

cudaError_t sg_event_share(cudaIpcEventHandle_t *handle, cudaEvent_t shared)
{
	struct sg_event *event = sg_pool_check(&sg_events, shared);
	const struct sg_shared_file *file;
	int number;

	if (handle == NULL || event == NULL)
		return event == NULL ? cudaErrorInvalidResourceHandle : cudaErrorInvalidValue;
	file = event->shared != NULL ? sg_shared_event_file(event->shared, &number) : NULL;
	if (file == NULL)
		return cudaErrorInvalidValue;
	sg_handle_fill(handle, sizeof(*handle), SG_HANDLE_EVENT, file, number);
	return cudaSuccess;
}

cudaError_t sg_event_open(cudaEvent_t *out, const cudaIpcEventHandle_t *handle)
{
	struct sg_shared_file file;
	struct sg_shared_event *shared;
	int number;

	if (out == NULL)
		return cudaErrorInvalidValue;
	if (sg_handle_read(handle, SG_HANDLE_EVENT, &file, &number) != 0)
		return cudaErrorInvalidResourceHandle;
	shared = sg_shared_event_open(&file, number);
	if (shared == NULL)
		return cudaErrorInvalidResourceHandle;
	return create(out, cudaEventDisableTiming | cudaEventInterprocess, shared);
}

cudaError_t sg_event_record_on(cudaEvent_t handle, cudaStream_t on, unsigned flags)
{
	struct sg_event *event = sg_pool_check(&sg_events, handle);
	struct sg_stream *stream = sg_stream_of(on);

	if (event == NULL || stream == NULL || event->device != stream->device ||
		event->context != context_of(stream))
		return cudaErrorInvalidResourceHandle;
	if ((flags & ~(unsigned)cudaEventRecordExternal) != 0)
		return cudaErrorInvalidValue;
	if (SG_UNLIKELY(atomic_load_explicit(&sg_capture_count, memory_order_acquire) != 0)) {
		if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
			return sg_capture_record(event, stream, (flags & cudaEventRecordExternal) != 0);
		if (stream->kind == SG_LEGACY) {
			cudaError_t error = sg_capture_refuse_legacy(stream->device);

			if (error != cudaSuccess)
				return error;
		}
	}
	return sg_event_record(event, stream);
}

/* What query and synchronise share: *last is where the event was recorded. */
static cudaError_t look(cudaEvent_t handle, struct sg_event_place *last)
{
	struct sg_event *event = sg_pool_check(&sg_events, handle);
	cudaError_t error;

	if (event == NULL)
		return cudaErrorInvalidResourceHandle;
	error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return error;
	*last = sg_event_last(event);
	return last->capture != 0 ? cudaErrorCapturedEvent : cudaSuccess;
}

cudaError_t sg_event_query(cudaEvent_t event)
{
	struct sg_event_place last;
	cudaError_t error = look(event, &last);

	if (error != cudaSuccess)
		return error;
	if (last.shared != NULL)
		return sg_shared_event_is_over(last.shared) ? cudaSuccess : cudaErrorNotReady;
	if (last.stream != NULL && !sg_stream_reached(last.stream, last.position))
		return cudaErrorNotReady;
	return cudaSuccess;
}

cudaError_t sg_event_synchronize(cudaEvent_t event)
{
	struct sg_event_place last;
	cudaError_t error = look(event, &last);

	if (error != cudaSuccess)
		return error;
	if (last.shared != NULL)
		sg_shared_event_wait(last.shared);
	if (last.stream == NULL)
		return error;
	sg_stream_wait(last.stream, last.position);
	return sg_device_error(last.stream->device);
}

cudaError_t sg_event_elapsed(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	struct sg_event *events[2];
	struct sg_event_place last[2];

	events[0] = sg_pool_check(&sg_events, start);
	events[1] = sg_pool_check(&sg_events, end);
	if (ms == NULL)
		return cudaErrorInvalidValue;
	if (events[0] == NULL || events[1] == NULL || events[0]->context != events[1]->context)
		return cudaErrorInvalidResourceHandle;
	for (int i = 0; i < 2; i++) {
		last[i] = sg_event_last(events[i]);
		if (last[i].stream == NULL || (events[i]->flags & cudaEventDisableTiming))
			return cudaErrorInvalidResourceHandle;
		if (last[i].capture != 0)
			return cudaErrorCapturedEvent;
	}
	for (int i = 0; i < 2; i++) {
		if (!sg_stream_reached(last[i].stream, last[i].position))
			return cudaErrorNotReady;
	}
	*ms = (float)((double)(int64_t)(last[1].time_ns - last[0].time_ns) * 1e-6);
	return cudaSuccess;
}

cudaError_t sg_stream_wait_event(cudaStream_t handle, cudaEvent_t on, unsigned flags)
{
	struct sg_stream *stream = sg_stream_of(handle);
	struct sg_event *event = sg_pool_check(&sg_events, on);
	struct sg_event_place last;

	if (stream == NULL || event == NULL)
		return cudaErrorInvalidResourceHandle;
	if ((flags & ~(unsigned)cudaEventWaitExternal) != 0)
		return cudaErrorInvalidValue;
	last = sg_event_last(event);
	if (SG_UNLIKELY(last.capture != 0 ||
			atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL))
		return sg_capture_wait(stream, event, (flags & cudaEventWaitExternal) != 0);
	if (last.stream == NULL && last.shared == NULL)
		return cudaSuccess;
	if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0) {
		cudaError_t error = sg_capture_refuse_legacy(stream->device);

		if (error != cudaSuccess)
			return error;
	}
	if (last.shared != NULL)
		return sg_shared_event_queue(last.shared, stream);
	return sg_queue_wait(stream, last.stream, last.position);
}
