/*
 * Timed closures: the place in time of each piece of work, worked out when the stream is processed.
 *
 * The one idea: work begins when what was before it in its stream has ended (model_ns), when what the stream
 * waits for has ended, and not before the device can know of it; then its engine says when it is free. The
 * end is the stream's new model_ns. Workers do not wait for these times; hosts do.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* As many launches as a device's queue takes before the host has to wait for it: about 1000 on real devices.
 */
#define LAUNCH_DEPTH 1024
/* A host within so many launches of that will soon have to wait again. */
#define LAUNCH_SLACK 64

static __thread struct sg_timed *current;
static struct sg_stream *_Atomic held[SG_DEVICE_LIMIT]; /* whose submitter had to wait last; NULL: none */
static _Atomic uint64_t closed_end_ns[SG_DEVICE_LIMIT];

uint64_t sg_work_begin(void)
{
	return current != NULL ? current->ready_ns : sg_now_ns();
}

void sg_work_end(uint64_t end_ns)
{
	if (current != NULL && end_ns > current->end_ns)
		current->end_ns = end_ns;
}

void sg_timed_init(struct sg_timed *timed, const struct sg_activity *what, struct sg_stream *stream,
	sg_work *fn, size_t size)
{
	if (what != NULL)
		timed->what = *what;
	else
		memset(&timed->what, 0, sizeof(timed->what));
	timed->fn = fn;
	timed->size = size;
	timed->submit_ns = sg_now_ns();
	timed->ready_ns = timed->begin_ns = timed->end_ns = 0;
	timed->basis = SG_BY_RULE;
	if (timed->what.kind == SG_ACTIVITY_NONE)
		return;
	timed->what.device = stream->device;
	timed->what.stream = stream->number;
	if (SG_UNLIKELY(atomic_load_explicit(&sg_watcher, memory_order_relaxed) != NULL))
		sg_activity_call(&timed->what);
}

/* SG_ENGINES: none, as no device has a part in a copy from host memory to host memory. */
static enum sg_engine engine_of(const struct sg_activity *what)
{
	if (what->kind == SG_ACTIVITY_COPY && !what->copy_from_device && !what->copy_to_device)
		return SG_ENGINES;
	if (what->kind != SG_ACTIVITY_COPY || what->copy_from_device == what->copy_to_device)
		return SG_ENGINE_COMPUTE;
	return what->copy_to_device ? SG_ENGINE_TO_DEVICE : SG_ENGINE_TO_HOST;
}

/* Undisturbed: what was measured, else what the profile gives. */
static double time_of(const struct sg_activity *what, enum sg_basis *basis)
{
	double measured_ns = SG_UNLIKELY(sg_times_on) ? sg_times_find(what) : -1;

	*basis = measured_ns >= 0 ? SG_MEASURED : what->by_default ? SG_BY_DEFAULT : SG_BY_RULE;
	if (what->share > 0)
		return measured_ns >= 0 ? measured_ns * what->share : what->part_ns;
	return measured_ns >= 0 ? measured_ns : sg_profile_time(&sg_profile, what);
}

int sg_timed_is_ahead(struct sg_stream *stream)
{
	struct sg_stream *other = atomic_load(&held[stream->device]);
	uint64_t position;

	if (SG_LIKELY(other == NULL || other == stream))
		return 0;
	position = sg_stream_submitted(other);
	return position > LAUNCH_DEPTH - LAUNCH_SLACK &&
	       !sg_stream_reached(other, position - (LAUNCH_DEPTH - LAUNCH_SLACK));
}

/*
 * When an engine is asked. Usually at once, long before the time comes: what is queued by then takes turns
 * by it. A host that is held up submits one launch when one ends, but far behind the device's place: what
 * would be in the device's queue by then is not there yet, so that this work waits until it is.
 */
static void await(const struct sg_timed *timed, struct sg_stream *stream)
{
	if (sg_self.worker == NULL || !sg_timed_is_ahead(stream))
		return;
	sg_wait_begin();
	sg_sleep_until(timed->ready_ns);
	sg_wait_end();
}

/* Other ranks decide when a communication ends. */
static void place(struct sg_timed *timed, struct sg_stream *stream)
{
	const struct sg_activity *what = &timed->what;
	enum sg_engine engine = engine_of(what);
	uint64_t duration_ns, ordinal = stream->timed_count++;

	timed->ready_ns = timed->submit_ns + (uint64_t)sg_profile.launch_latency_ns;
	if (timed->ready_ns < stream->model_ns)
		timed->ready_ns = stream->model_ns;
	if (what->cost.kind == SG_COST_LINK) {
		timed->ready_ns += sg_whole_ns(sg_disturb_added(what));
		timed->begin_ns = timed->end_ns = timed->ready_ns;
		return;
	}
	if (engine == SG_ENGINE_COMPUTE)
		await(timed, stream);
	duration_ns = sg_whole_ns(sg_disturb_time(what, ordinal, time_of(what, &timed->basis)));
	timed->begin_ns = engine == SG_ENGINES
				  ? timed->ready_ns
				  : sg_engine_take(stream->device, engine, timed->ready_ns, duration_ns);
	timed->end_ns = timed->begin_ns + duration_ns;
	sg_tally_add(what, timed->basis, duration_ns);
}

void sg_timed_run(struct sg_timed *timed, struct sg_stream *stream, void *arg)
{
	struct sg_timed *outer = current;

	if (timed->what.kind == SG_ACTIVITY_NONE) {
		timed->fn(arg);
		return;
	}
	place(timed, stream);
	if (timed->what.run != SG_RUN_NEVER) {
		current = timed;
		timed->fn(arg);
		current = outer;
	} else if (arg != NULL) {
		sg_memory_forget_all_in(arg, timed->size);
	}
	stream->model_ns = timed->end_ns;
}

void sg_timed_report(struct sg_timed *timed)
{
	if (timed->what.kind == SG_ACTIVITY_NONE)
		return;
	sg_tally_note_device();
	if (timed->basis == SG_BY_DEFAULT)
		sg_tally_note(&timed->what);
	if (SG_UNLIKELY(atomic_load_explicit(&sg_watcher, memory_order_relaxed) != NULL))
		sg_activity_report(&timed->what, timed->begin_ns, timed->end_ns);
	if (SG_UNLIKELY(sg_truth_on))
		sg_truth_write(timed);
}

void sg_timed_work(void *arg)
{
	struct sg_timed *timed = arg;

	sg_timed_run(timed, sg_self.worker, timed->size > 0 ? timed->arg : NULL);
	sg_timed_report(timed);
}

/* A position that is older than the ring ended before the oldest one in it. */
uint64_t sg_position_end(struct sg_stream *stream, uint64_t position)
{
	uint64_t end_ns = atomic_load_explicit(&stream->ends[position % SG_ENDS], memory_order_acquire);
	uint64_t last = atomic_load(&stream->completed);

	if (position == 0)
		return 0;
	if (last - position < SG_ENDS - 1)
		return end_ns;
	return atomic_load_explicit(&stream->ends[(last + 2) % SG_ENDS], memory_order_acquire);
}

void sg_timed_after(struct sg_stream *stream, struct sg_stream *other, uint64_t position)
{
	uint64_t end_ns = sg_position_end(other, position);

	if (stream->model_ns < end_ns)
		stream->model_ns = end_ns;
}

uint64_t sg_closed_end(int device)
{
	return atomic_load(&closed_end_ns[device]);
}

void sg_timed_close(struct sg_stream *stream)
{
	uint64_t before = atomic_load(&closed_end_ns[stream->device]);

	while (before < stream->model_ns &&
		!atomic_compare_exchange_weak(&closed_end_ns[stream->device], &before, stream->model_ns))
		;
}

void sg_timed_throttle(struct sg_stream *stream)
{
	uint64_t position = sg_stream_submitted(stream), end_ns;

	if (position <= LAUNCH_DEPTH || sg_self.worker != NULL ||
		!sg_stream_done(stream, position - LAUNCH_DEPTH))
		return;
	end_ns = sg_position_end(stream, position - LAUNCH_DEPTH);
	if (end_ns <= sg_now_ns())
		return;
	atomic_store(&held[stream->device], stream);
	sg_sleep_until(end_ns);
}

uint64_t sg_timed_record(struct sg_stream *stream, uint64_t submit_ns)
{
	uint64_t reached_ns = submit_ns + (uint64_t)sg_profile.launch_latency_ns;

	if (stream->model_ns < reached_ns)
		stream->model_ns = reached_ns;
	return stream->model_ns;
}

void sg_timed_host_begin(struct sg_stream *stream)
{
	sg_sleep_until(stream->model_ns);
}

void sg_timed_host_end(struct sg_stream *stream)
{
	uint64_t now_ns = sg_now_ns();

	if (stream->model_ns < now_ns)
		stream->model_ns = now_ns;
}
