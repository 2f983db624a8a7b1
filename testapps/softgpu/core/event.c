/*
 * Events: the last record is a place in a stream, and the worker writes down when it was reached.
 *
 * The one idea: an event is complete when its stream has completed that place; a record that is overtaken by
 * a newer one, or by the event's destruction, is known by its generation and leaves no time.
 */
#include "model.h"

struct sg_pool sg_events = SG_POOL_INIT(struct sg_event, 1 << 18, 1024);

struct record_arg {
	struct sg_event *event;
	uint64_t generation;
	struct sg_shared_event *shared;
	uint64_t shared_record;
};

/* Of the event's records in all processes; it is reached wherever the event itself goes meanwhile. */
static void begin_shared(struct record_arg *record)
{
	record->shared = record->event->shared;
	if (SG_UNLIKELY(record->shared != NULL))
		record->shared_record = sg_shared_event_record(record->shared);
}

static void record_work(void *arg)
{
	struct record_arg *record = arg;
	struct sg_event *event = record->event;
	uint64_t now_ns = sg_now_ns();

	pthread_mutex_lock(&event->lock);
	if (event->generation == record->generation) {
		event->time_generation = record->generation;
		event->time_ns = now_ns;
	}
	pthread_mutex_unlock(&event->lock);
	if (SG_UNLIKELY(record->shared != NULL))
		sg_shared_event_reach(record->shared, record->shared_record, now_ns);
}

/* The same by the model clock, which may run it on the submitting thread; so that does not hold the lock. */
struct timed_record_arg {
	struct record_arg record;
	struct sg_stream *stream;
	uint64_t submit_ns;
};

static void timed_record_work(void *arg)
{
	struct timed_record_arg *timed = arg;
	struct sg_event *event = timed->record.event;
	uint64_t time_ns = sg_timed_record(timed->stream, timed->submit_ns);

	pthread_mutex_lock(&event->lock);
	if (event->generation == timed->record.generation) {
		event->time_generation = timed->record.generation;
		event->time_ns = time_ns;
	}
	pthread_mutex_unlock(&event->lock);
	if (SG_UNLIKELY(timed->record.shared != NULL))
		sg_shared_event_reach(timed->record.shared, timed->record.shared_record, time_ns);
}

static cudaError_t record_timed(struct sg_event *event, struct sg_stream *stream)
{
	struct timed_record_arg timed = {{event, 0, NULL, 0}, stream, sg_now_ns()};
	uint64_t position;
	cudaError_t error;

	pthread_mutex_lock(&event->lock);
	timed.record.generation = ++event->generation;
	begin_shared(&timed.record);
	pthread_mutex_unlock(&event->lock);
	error = sg_queue_now(stream, &sg_quick, timed_record_work, &timed, sizeof(timed), &position);
	if (error != cudaSuccess) {
		if (timed.record.shared != NULL)
			sg_shared_event_reach(timed.record.shared, timed.record.shared_record, 0);
		return error;
	}
	pthread_mutex_lock(&event->lock);
	/* Recorded or destroyed by another thread meanwhile: that counts. */
	if (event->generation == timed.record.generation) {
		event->stream = stream;
		event->position = position;
		event->capture = 0;
	}
	pthread_mutex_unlock(&event->lock);
	return error;
}

cudaError_t sg_event_record(struct sg_event *event, struct sg_stream *stream)
{
	struct record_arg record = {event, 0, NULL, 0};
	cudaError_t error;

	if (SG_UNLIKELY(stream->ends != NULL))
		return record_timed(event, stream);
	pthread_mutex_lock(&event->lock);
	record.generation = ++event->generation;
	begin_shared(&record);
	error = sg_queue_now(stream, NULL, record_work, &record, sizeof(record), &event->position);
	if (error == cudaSuccess) {
		event->stream = stream;
		event->capture = 0;
	} else if (record.shared != NULL) {
		sg_shared_event_reach(record.shared, record.shared_record, 0);
	}
	pthread_mutex_unlock(&event->lock);
	return error;
}

/* The event's lock is held. */
void sg_event_close(struct sg_event *event)
{
	event->generation++;
	if (event->shared != NULL)
		sg_shared_event_let_go(event->shared);
	event->shared = NULL;
}

void sg_device_close_events(int device, const struct sg_context *context)
{
	uint32_t used = atomic_load(&sg_events.used);

	for (uint32_t i = 0; i < used; i++) {
		struct sg_event *event = sg_pool_at(&sg_events, i);

		if (atomic_load(&event->slot.live) != SG_SLOT_LIVE || event->device != device ||
			(context != NULL && event->context != context))
			continue;
		pthread_mutex_lock(&event->lock);
		sg_event_close(event);
		pthread_mutex_unlock(&event->lock);
		sg_pool_put(&sg_events, event);
	}
}

struct sg_event_place sg_event_last(struct sg_event *event)
{
	struct sg_event_place place;

	pthread_mutex_lock(&event->lock);
	place.stream = event->stream;
	place.position = event->position;
	place.capture = event->capture;
	place.node = event->node;
	place.shared = event->shared;
	place.time_ns = event->time_generation == event->generation ? event->time_ns : 0;
	pthread_mutex_unlock(&event->lock);
	return place;
}
