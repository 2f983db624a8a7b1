/* Which part of a long run holds the steps that are asked for: see run_job.h. */
#include "run_job.h"
#include "timeline/constants.h"

bool run_is_sampled(const struct run *run)
{
	const struct timeline *timeline = &run->analysis.timeline;

	for (size_t i = 0; i < timeline->process_count; i++)
		if (timeline->processes[i].gap.unread)
			return true;
	return false;
}

/* From the run's axis to the wall clock of the process. */
static int64_t wall_ns(const struct timeline_process *process, int64_t ns)
{
	return ns - process->moved_ns + process->real_offset_ns;
}

/* From some steps before the first to some after the last, as this worker makes them; with open ends. */
static struct timeline_stretch stretch_of(
	const struct analysis *analysis, const struct analysis_worker *worker, int64_t first, int64_t last)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	const struct pace *pace = &worker->pace;
	const int64_t from = first - (int64_t)pace->before - PART_AROUND,
		      to = last - (int64_t)pace->before + 1 + PART_AROUND;

	return (struct timeline_stretch){from < 0 ? INT64_MIN : wall_ns(process, pace->begin_ns[from]),
		to >= (int64_t)pace->count ? INT64_MAX : wall_ns(process, pace->begin_ns[to])};
}

bool run_ends_before(const struct run *run, int64_t step)
{
	const struct analysis *analysis = &run->analysis;

	for (size_t i = 0; i < analysis->worker_count; i++)
		if (analysis->workers[i].pace.count &&
			step >= (int64_t)(analysis->workers[i].pace.before + analysis->workers[i].pace.count))
			return true;
	return false;
}

bool run_stretches(
	const struct run *run, int64_t first_step, int64_t last_step, struct timeline_stretches *stretches)
{
	const struct analysis *analysis = &run->analysis;
	struct timeline_stretch beginning = {INT64_MIN, INT64_MIN}, wanted = {INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < analysis->worker_count; i++) {
		const struct analysis_worker *worker = &analysis->workers[i];
		const struct timeline_process *process =
			&analysis->timeline.processes[worker->worker->process];
		struct timeline_stretch own;
		int64_t first_ns;

		if (worker->pace.count == 0 || process->window_count == 0)
			return false;
		own = stretch_of(analysis, worker, first_step, last_step);
		first_ns = wall_ns(process, analysis->timeline.windows[process->first_window].end_ns);
		if (own.begin_ns < wanted.begin_ns)
			wanted.begin_ns = own.begin_ns;
		if (own.end_ns > wanted.end_ns)
			wanted.end_ns = own.end_ns;
		if (first_ns > beginning.end_ns)
			beginning.end_ns = first_ns;
	}
	*stretches = (struct timeline_stretches){.count = 0};
	if (wanted.begin_ns > beginning.end_ns) {
		stretches->items[stretches->count++] = beginning;
	} else {
		wanted.begin_ns = INT64_MIN;
		if (wanted.end_ns < beginning.end_ns)
			wanted.end_ns = beginning.end_ns;
	}
	stretches->items[stretches->count++] = wanted;
	return analysis->worker_count > 0;
}
