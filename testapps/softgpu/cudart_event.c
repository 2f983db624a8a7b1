/* cudaEvent* and cudaStreamWaitEvent. */
#include "sg_rt.h"

#define KNOWN_FLAGS (unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)

static cudaError_t create(cudaEvent_t *out, unsigned flags)
{
	struct sg_event *event;

	if (out == NULL || (flags & ~KNOWN_FLAGS) != 0 ||
		((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming)))
		return cudaErrorInvalidValue;
	event = sg_pool_get(&sg_events);
	if (event == NULL)
		return cudaErrorMemoryAllocation;
	if (event->generation == 0)
		pthread_mutex_init(&event->lock, NULL);
	pthread_mutex_lock(&event->lock);
	event->generation++;
	event->device = sg_self.device;
	event->flags = flags;
	event->stream = NULL;
	event->capture = 0;
	pthread_mutex_unlock(&event->lock);
	atomic_store_explicit(&event->slot.live, SG_SLOT_LIVE, memory_order_release);
	*out = (cudaEvent_t)(void *)event;
	return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(create(event, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	SG_ENTER(cudaErrorMemoryAllocation);
	return sg_result(create(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t handle)
{
	struct sg_event *event;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	event = sg_pool_check(&sg_events, handle);
	if (event == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	pthread_mutex_lock(&event->lock);
	event->generation++;
	pthread_mutex_unlock(&event->lock);
	sg_pool_put(&sg_events, event);
	return cudaSuccess;
}

static cudaError_t record(cudaEvent_t handle, cudaStream_t on, unsigned flags)
{
	struct sg_event *event = sg_pool_check(&sg_events, handle);
	struct sg_stream *stream = sg_stream_of(on);

	if (event == NULL || stream == NULL || event->device != stream->device)
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

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	SG_ENTER(cudaErrorInvalidResourceHandle);
	return sg_result(record(event, stream, cudaEventRecordDefault));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	SG_ENTER(cudaErrorInvalidResourceHandle);
	return sg_result(record(event, stream, flags));
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

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	struct sg_event_place last;
	cudaError_t error;

	SG_ENTER(cudaErrorLaunchFailure);
	error = look(event, &last);
	if (error != cudaSuccess)
		return sg_result(error);
	if (last.stream != NULL && !sg_stream_done(last.stream, last.position))
		return sg_result(cudaErrorNotReady);
	return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	struct sg_event_place last;
	cudaError_t error;

	SG_ENTER(cudaErrorLaunchFailure);
	error = look(event, &last);
	if (error != cudaSuccess || last.stream == NULL)
		return sg_result(error);
	sg_stream_wait(last.stream, last.position);
	return sg_result(sg_device_error(last.stream->device));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	struct sg_event *events[2];
	struct sg_event_place last[2];

	SG_ENTER(cudaErrorUnknown);
	events[0] = sg_pool_check(&sg_events, start);
	events[1] = sg_pool_check(&sg_events, end);
	if (ms == NULL)
		return sg_result(cudaErrorInvalidValue);
	if (events[0] == NULL || events[1] == NULL || events[0]->device != events[1]->device)
		return sg_result(cudaErrorInvalidResourceHandle);
	for (int i = 0; i < 2; i++) {
		last[i] = sg_event_last(events[i]);
		if (last[i].stream == NULL || (events[i]->flags & cudaEventDisableTiming))
			return sg_result(cudaErrorInvalidResourceHandle);
		if (last[i].capture != 0)
			return sg_result(cudaErrorCapturedEvent);
	}
	for (int i = 0; i < 2; i++) {
		if (!sg_stream_done(last[i].stream, last[i].position))
			return sg_result(cudaErrorNotReady);
	}
	*ms = (float)((double)(int64_t)(last[1].time_ns - last[0].time_ns) * 1e-6);
	return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t on, unsigned int flags)
{
	struct sg_stream *stream;
	struct sg_event *event;
	struct sg_event_place last;

	SG_ENTER(cudaErrorInvalidResourceHandle);
	stream = sg_stream_of(handle);
	event = sg_pool_check(&sg_events, on);
	if (stream == NULL || event == NULL)
		return sg_result(cudaErrorInvalidResourceHandle);
	if ((flags & ~(unsigned)cudaEventWaitExternal) != 0)
		return sg_result(cudaErrorInvalidValue);
	last = sg_event_last(event);
	if (SG_UNLIKELY(last.capture != 0 ||
			atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL))
		return sg_result(sg_capture_wait(stream, event, (flags & cudaEventWaitExternal) != 0));
	if (last.stream == NULL)
		return cudaSuccess;
	if (stream->kind == SG_LEGACY && atomic_load(&sg_capture_count) != 0) {
		cudaError_t error = sg_capture_refuse_legacy(stream->device);

		if (error != cudaSuccess)
			return sg_result(error);
	}
	return sg_result(sg_queue_wait(stream, last.stream, last.position));
}
