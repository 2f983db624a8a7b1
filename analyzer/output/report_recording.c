/* What a report says of the recording itself: which part of the run, what it cost, and what went on
 * elsewhere. */
#include "report.h"
#include "analyses/kernels.h"
#include "analyses/recording_cost.h"
#include "analyses/step.h"
#include "base/text.h"
#include "trace/losses.h"

#include <inttypes.h>
#include <math.h>

#define ASSUMED_FROM \
	0.1 /* of the device time; less is not worth a line, and softgpu says nothing of it either */

/* The windows of the first process, as far as its calls go; the others' are as a rule the same. */
struct recorded {
	int64_t recorded_ns, all_ns;
	uint32_t first, last; /* iterations as the hook counts, 0: not counted */
};

static struct recorded count_recorded(const struct timeline *timeline)
{
	const struct timeline_process *process = &timeline->processes[0];
	const struct timeline_window *windows = MEM_AT(timeline->windows, process->first_window);
	int64_t begin_ns = windows[0].begin_ns ? windows[0].begin_ns : INT64_MAX,
		end_ns = windows[0].begin_ns;
	struct recorded recorded = {
		.first = windows[0].iteration, .last = windows[process->window_count - 1].iteration_end};

	for (size_t i = process->first_call; i < process->first_call + process->call_count; i++) {
		if (timeline_call(timeline, i).begin_ns < begin_ns)
			begin_ns = timeline_call(timeline, i).begin_ns;
		if (timeline_call(timeline, i).end_ns > end_ns)
			end_ns = timeline_call(timeline, i).end_ns;
	}
	recorded.recorded_ns = timeline_recorded(timeline, process, begin_ns, end_ns);
	recorded.all_ns = end_ns - begin_ns;
	return recorded;
}

void report_windows(struct analysis *analysis, FILE *out)
{
	const struct timeline_process *process = &analysis->timeline.processes[0];
	struct arena *arena = &analysis->timeline.arena;
	struct recorded recorded;

	if (process->window_count == 0)
		return;
	recorded = count_recorded(&analysis->timeline);
	if (process->gap.unread) {
		print_paragraph(
			arena_format(arena,
				"Read: %u stretch%s of the run, %s of %s; %" PRIu64 " of %" PRIu64
				" calls%s (--records).",
				process->window_count, process->window_count == 1 ? "" : "es",
				print_time(arena, (double)recorded.recorded_ns),
				print_time(arena, (double)recorded.all_ns), (uint64_t)process->call_count,
				process->call_count + process->gap.call_count,
				analysis->timeline.process_count > 1 ? " of the first process" : ""),
			2, out);
		return;
	}
	if (process->gap.end_ns) {
		print_paragraph(
			arena_format(arena,
				"Recorded: the beginning and the end of the run, %s of %s; %" PRIu64
				" of %" PRIu64 " calls%s (PMHOOK_MODE=ring).",
				print_time(arena, (double)recorded.recorded_ns),
				print_time(arena, (double)recorded.all_ns), (uint64_t)process->call_count,
				process->call_count + process->gap.call_count,
				analysis->timeline.process_count > 1 ? " of the first process" : ""),
			2, out);
		return;
	}
	print_paragraph(arena_format(arena, "Recorded: %u window%s, %s%s%s.", process->window_count,
				pm_text_plural(process->window_count),
				print_time(arena, (double)recorded.recorded_ns),
				process->window_count == 1
					? ""
					: arena_format(arena, " of the %s from the first to the last",
						  print_time(arena, (double)recorded.all_ns)),
				recorded.first && recorded.last
					? arena_format(arena, ", iterations %u to %u of the run",
						  recorded.first, recorded.last)
				: recorded.first ? arena_format(arena, ", from iteration %u of the run on",
							   recorded.first)
						 : ""),
		2, out);
}

/* What of a class is missing in all processes, with its causes; "": nothing. */
static const char *loss_text(struct arena *arena, const struct timeline *timeline,
	enum pm_loss_class loss_class, uint64_t count, const char *what)
{
	uint64_t losses[PM_LOSS_ROOM] = {0};

	for (size_t i = 0; i < timeline->process_count; i++)
		for (int k = 0; k < PM_LOSS_ROOM; k++)
			losses[k] += timeline->processes[i].losses[k];
	return count ? arena_format(arena, "%" PRIu64 " %s%s", count, what,
			       losses_causes(losses, loss_class, arena))
		     : "";
}

/* First of all: what comes after the end of a trace is in no figure. */
void report_end(struct analysis *analysis, FILE *out)
{
	const struct timeline *timeline = &analysis->timeline;
	size_t open = 0;

	for (size_t i = 0; i < timeline->process_count; i++)
		open += !timeline->processes[i].ended;
	if (open)
		print_paragraph(
			arena_format(&analysis->timeline.arena,
				"Incomplete: the end is missing of %zu of %zu trace%s: killed, ended by _exit or exec, or "
				"still running.",
				open, timeline->process_count, pm_text_plural(timeline->process_count)),
			2, out);
}

void report_losses(struct analysis *analysis, FILE *out)
{
	const struct timeline *timeline = &analysis->timeline;
	struct arena *arena = &analysis->timeline.arena;
	uint64_t records = 0, times = 0, details = 0, functions = 0;
	const char *parts[4], *text = "";
	size_t touched = 0;

	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];

		records += process->lost_records;
		times += process->lost_device_times;
		details += process->lost_operations;
		functions += process->unseen_calls;
		touched += process->lost_records || process->lost_device_times || process->lost_operations ||
			   process->unseen_calls;
	}
	parts[0] = loss_text(arena, timeline, PM_LOSS_OF_RECORDS, records, "records");
	parts[1] = loss_text(arena, timeline, PM_LOSS_OF_TIMES, times, "device times");
	parts[2] = loss_text(arena, timeline, PM_LOSS_OF_DETAILS, details, "calls' details");
	parts[3] = loss_text(arena, timeline, PM_LOSS_OF_FUNCTIONS, functions, "functions not intercepted");
	for (size_t i = 0; i < 4; i++)
		if (*parts[i])
			text = arena_format(arena, "%s%s%s", text, *text ? ", " : "", parts[i]);
	if (*text)
		print_paragraph(
			arena_format(arena, "Lost%s: %s. Figures and findings below do not include them.",
				timeline->process_count > 1 ? arena_format(arena, " in %zu of %zu processes",
								      touched, timeline->process_count)
							    : "",
				text),
			2, out);
}

/* Over all processes that say so. */
struct totals {
	double workers, reads, bytes, read_ns;
};

static struct totals add_up(const struct timeline *timeline)
{
	struct totals totals = {0};

	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];

		totals.workers += (double)process->input.count;
		totals.reads += (double)process->input.reads;
		totals.bytes += (double)process->input.bytes;
		totals.read_ns += (double)process->input.ns;
	}
	return totals;
}

/* Of an iteration, by those of the first worker; the reading goes on beside them. */
static double input_of_iteration(const struct analysis *analysis, const struct totals *totals)
{
	size_t count = analysis->worker_count ? analysis->workers[0].iterations.count : 0;

	return count ? totals->read_ns / (double)count : 0;
}

/* Device time over all processes by what attributed its phase; false: it was inferred. */
static bool add_attribution(
	const struct timeline *timeline, double attributed_ns[TIMELINE_ATTRIBUTED_COUNT], double *sum_ns)
{
	*sum_ns = 0;
	for (int attributed = 0; attributed < TIMELINE_ATTRIBUTED_COUNT; attributed++) {
		attributed_ns[attributed] = 0;
		for (size_t i = 0; i < timeline->process_count; i++)
			attributed_ns[attributed] += (double)timeline->processes[i].attributed_ns[attributed];
		*sum_ns += attributed_ns[attributed];
	}
	return *sum_ns > 0;
}

static void report_attribution(struct analysis *analysis, FILE *out)
{
	static const char *const sources[] = {[TIMELINE_ATTRIBUTED_BY_LABEL] = "the program's labels",
		[TIMELINE_ATTRIBUTED_BY_OPERATOR] = "the launching operators",
		[TIMELINE_ATTRIBUTED_BY_ORDER] = "launch order",
		[TIMELINE_ATTRIBUTED_BY_NAME] = "kernel and copy names"};
	struct arena *arena = &analysis->timeline.arena;
	double attributed_ns[TIMELINE_ATTRIBUTED_COUNT], sum_ns;
	const char *text = "", *between = "";

	if (!add_attribution(&analysis->timeline, attributed_ns, &sum_ns))
		return;
	for (int attributed = TIMELINE_ATTRIBUTED_BY_LABEL; attributed < TIMELINE_ATTRIBUTED_COUNT;
		attributed++)
		if (attributed_ns[attributed] > 0) {
			text = arena_format(arena, "%s%s%.1f%% by %s", text, between,
				100 * attributed_ns[attributed] / sum_ns, sources[attributed]);
			between = ", ";
		}
	print_paragraph(
		arena_format(arena, "Phases: %.1f%% of the device time attributed%s%s%s.",
			100 * (1 - attributed_ns[TIMELINE_ATTRIBUTED_BY_NOTHING] / sum_ns), *text ? ": " : "",
			text, attributed_ns[TIMELINE_ATTRIBUTED_BY_NOTHING] > 0 ? "; the rest is other" : ""),
		2, out);
}

/* Durations that are the device's assumptions; false: there are none, and `kernels` is not to be freed. */
static bool find_assumed(const struct analysis *analysis, struct kernels *kernels)
{
	size_t names = 0;

	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		names += analysis->timeline.processes[i].assumed_count;
	if (names == 0)
		return false;
	kernels_find(analysis, kernels);
	return true;
}

void report_assumed(struct analysis *analysis, FILE *out)
{
	struct kernels kernels;

	if (!find_assumed(analysis, &kernels))
		return;
	if (kernels.assumed.share >= ASSUMED_FROM)
		print_paragraph(arena_format(&analysis->timeline.arena, "%s. More: pmanalyze kernels.",
					kernels_assumed_text(&analysis->timeline.arena, &kernels)),
			2, out);
	kernels_free(&kernels);
}

static void add_assumed_json(const struct analysis *analysis, cJSON *object)
{
	struct kernels kernels;
	cJSON *item;

	if (!find_assumed(analysis, &kernels))
		return;
	if (kernels.assumed.names) {
		item = cJSON_AddObjectToObject(object, "assumed_durations");
		cJSON_AddNumberToObject(item, "share", kernels.assumed.share);
		cJSON_AddNumberToObject(item, "kernels", (double)kernels.assumed.names);
		cJSON_AddStringToObject(item, "most", kernels.assumed.most);
		cJSON_AddNumberToObject(item, "most_share", kernels.assumed.most_share);
	}
	kernels_free(&kernels);
}

static const char *cost_of_run(struct arena *arena, const struct recording_cost *cost)
{
	return arena_format(arena, "%.2f%% of the run, with %s of %s to describe new operations",
		(cost->own_ns + cost->new_ns) / cost->run_ns * 100,
		print_time(arena, cost->new_ns / cost->processes),
		cost->elapsed ? "elapsed time" : "processor time");
}

/* The step is longer than the GPU's own, what recording costs is not. */
static const char *scaled_text(struct arena *arena, const struct analysis *analysis)
{
	const double scale = run_time_scale(&analysis->timeline);

	return scale == 1
		       ? ""
		       : arena_format(arena, " Device times are scaled by %g: on the GPU itself, the share of a step is larger.", scale);
}

static const char *cost_of_step(struct arena *arena, const struct recording_cost *cost, bool whole)
{
	return arena_format(arena, "%s of %s of %s (%.2f%%): %.0f calls at %.0f ns",
		print_time(arena, cost->share * cost->step_ns), step_unit(whole), print_time(arena, cost->step_ns),
		cost->share * 100, cost->calls, cost->call_ns);
}

static void report_cost(const struct analysis *analysis, FILE *out)
{
	struct arena *arena = (struct arena *)&analysis->timeline.arena;
	struct recording_cost cost;

	recording_cost_find(analysis, &cost);
	if (cost.processes == 0)
		return;
	if (cost.pairs > 0)
		print_paragraph(
			arena_format(arena,
				"Recording overhead: %.1f%% of a step (quartiles %.1f%% and %.1f%%), measured "
				"in this run: stretches with recording and without took turns %zu times. %s.%s",
				cost.measured * 100, cost.measured_low * 100, cost.measured_high * 100,
				cost.pairs, cost_of_run(arena, &cost), scaled_text(arena, analysis)),
			2, out);
	else
		print_paragraph(
			arena_format(arena,
				"Recording overhead: about %s; %s. Estimated from a sample of calls, excluding "
				"CUPTI's own time and cache misses that it causes in the program (PMHOOK_COST=measure "
				"measures all of it).%s",
				isnan(cost.share) ? "- of a step" : cost_of_step(arena, &cost, analysis->is_whole),
				cost_of_run(arena, &cost), scaled_text(arena, analysis)),
			2, out);
}

void report_recording(struct analysis *analysis, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;
	struct totals totals = add_up(&analysis->timeline);

	report_attribution(analysis, out);
	if (totals.reads > 0)
		print_paragraph(
			arena_format(arena,
				"Input: besides t_io, %.0f worker process%s read %.3f MB in %.0f reads "
				"taking %s in total, %s per iteration.",
				totals.workers, totals.workers == 1 ? "" : "es", totals.bytes / 1e6,
				totals.reads, print_time(arena, totals.read_ns),
				print_time(arena, input_of_iteration(analysis, &totals))),
			2, out);
	report_cost(analysis, out);
}

static void add_windows(cJSON *object, const struct timeline *timeline)
{
	const struct timeline_process *process = &timeline->processes[0];
	cJSON *list = process->window_count ? cJSON_AddArrayToObject(object, "windows") : NULL;

	for (uint32_t i = 0; i < process->window_count; i++) {
		const struct timeline_window *window = &timeline->windows[process->first_window + i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddNumberToObject(item, "start_ns", (double)window->begin_ns);
		if (window->end_ns != INT64_MAX)
			cJSON_AddNumberToObject(item, "end_ns", (double)window->end_ns);
		if (window->iteration)
			cJSON_AddNumberToObject(item, "first_iteration", window->iteration);
		if (window->iteration_end)
			cJSON_AddNumberToObject(item, "last_iteration", window->iteration_end);
		cJSON_AddItemToArray(list, item);
	}
}

static void add_attribution_json(cJSON *object, const struct timeline *timeline)
{
	static const char *const keys[] = {"nothing_ns", "label_ns", "operator_ns", "order_ns", "name_ns"};
	double attributed_ns[TIMELINE_ATTRIBUTED_COUNT], sum_ns;
	cJSON *item;

	if (!add_attribution(timeline, attributed_ns, &sum_ns))
		return;
	item = cJSON_AddObjectToObject(object, "phases_attributed_by");
	for (int attributed = 0; attributed < TIMELINE_ATTRIBUTED_COUNT; attributed++)
		cJSON_AddNumberToObject(item, keys[attributed], attributed_ns[attributed]);
}

/* Of all processes together. */
static void add_losses(cJSON *object, const struct timeline *timeline)
{
	uint64_t losses[PM_LOSS_ROOM] = {0};

	for (size_t i = 0; i < timeline->process_count; i++)
		for (int k = 0; k < PM_LOSS_ROOM; k++)
			losses[k] += timeline->processes[i].losses[k];
	losses_json(losses, object);
}

static void add_cost(const struct analysis *analysis, cJSON *object)
{
	struct recording_cost cost;
	cJSON *item;

	recording_cost_find(analysis, &cost);
	if (cost.processes == 0)
		return;
	item = cJSON_AddObjectToObject(object, "recording");
	cJSON_AddNumberToObject(item, "own_ns", cost.own_ns);
	cJSON_AddNumberToObject(item, "new_ns", cost.new_ns);
	cJSON_AddNumberToObject(item, "share", (cost.own_ns + cost.new_ns) / cost.run_ns);
	if (!isnan(cost.call_ns))
		cJSON_AddNumberToObject(item, "call_ns", cost.call_ns);
	if (!isnan(cost.share)) {
		cJSON_AddNumberToObject(item, "step_calls", cost.calls);
		cJSON_AddNumberToObject(item, "step_share", cost.share);
	}
	if (cost.pairs > 0) {
		cJSON_AddNumberToObject(item, "measured_step_share", cost.measured);
		cJSON_AddNumberToObject(item, "measured_low", cost.measured_low);
		cJSON_AddNumberToObject(item, "measured_high", cost.measured_high);
		cJSON_AddNumberToObject(item, "measured_pairs", (double)cost.pairs);
	}
}

void report_recording_json(const struct analysis *analysis, cJSON *object)
{
	struct totals totals = add_up(&analysis->timeline);

	add_windows(object, &analysis->timeline);
	report_pace_json(analysis, object);
	add_losses(object, &analysis->timeline);
	add_attribution_json(object, &analysis->timeline);
	add_assumed_json(analysis, object);
	if (totals.reads > 0) {
		cJSON *input = cJSON_AddObjectToObject(object, "worker_input");

		cJSON_AddNumberToObject(input, "processes", totals.workers);
		cJSON_AddNumberToObject(input, "reads", totals.reads);
		cJSON_AddNumberToObject(input, "bytes", totals.bytes);
		cJSON_AddNumberToObject(input, "read_ns", totals.read_ns);
		cJSON_AddNumberToObject(input, "iteration_ns", input_of_iteration(analysis, &totals));
	}
	add_cost(analysis, object);
}
