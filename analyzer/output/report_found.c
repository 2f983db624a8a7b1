/* What a report says of how the iterations were found, and of whose recording it is. */
#include "report.h"
#include "analyses/comm_table.h"
#include "base/text.h"
#include "import/imported_timeline.h"

#include <string.h>

const char *report_source_text(enum iteration_source source)
{
	static const char *const texts[] = {[ITERATION_BY_NOTHING] = "nothing",
		[ITERATION_BY_UPDATES] = "the model's updates",
		[ITERATION_BY_PERIOD] = "the period of the calls",
		[ITERATION_BY_WINDOW] = "the whole recording",
		[ITERATION_BY_STEPS] = "the program's step markers",
		[ITERATION_BY_NAMES] = "the names of updates",
		[ITERATION_BY_OPTIMIZER] = "the optimizer's steps",
		[ITERATION_BY_RANGES] = "a range of the program",
		[ITERATION_BY_USER] = "the given pattern"};

	return texts[source];
}

const char *report_source_key(enum iteration_source source)
{
	static const char *const keys[] = {[ITERATION_BY_NOTHING] = "nothing",
		[ITERATION_BY_UPDATES] = "updates",
		[ITERATION_BY_PERIOD] = "period",
		[ITERATION_BY_WINDOW] = "window",
		[ITERATION_BY_STEPS] = "steps",
		[ITERATION_BY_NAMES] = "names",
		[ITERATION_BY_OPTIMIZER] = "optimizer",
		[ITERATION_BY_RANGES] = "range",
		[ITERATION_BY_USER] = "user"};

	return keys[source];
}

/* The worker whose calls agree least with its marks. */
static const struct iteration_list *least_agreeing(const struct analysis *analysis)
{
	const struct iteration_list *least = NULL;

	for (size_t i = 0; i < analysis->worker_count; i++) {
		const struct iteration_list *list = &analysis->workers[i].iterations;

		if (list->source == ITERATION_BY_STEPS && (!least || list->agreement < least->agreement))
			least = list;
	}
	return least;
}

void report_markers(struct analysis *analysis, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;
	const struct iteration_list *least = least_agreeing(analysis);
	const char *where = analysis->worker_count > 1 ? " (the lowest of all ranks)" : "";

	if (!least)
		return;
	if (least->sequence == ITERATION_BY_NOTHING)
		print_paragraph("Without the markers no iterations can be found from the calls.", 2, out);
	else
		print_paragraph(
			arena_format(arena,
				"Without the markers: %zu iteration%s by %s; %.0f%% of the computations "
				"are in the same iteration%s: the markers %s.",
				least->sequence_count, pm_text_plural(least->sequence_count),
				least->sequence == ITERATION_BY_WINDOW ? "the whole recording"
								       : report_source_text(least->sequence),
				least->agreement * 100, where,
				least->agreement >= 0.95 && least->sequence_count == least->count ? "agree"
												  : "differ"),
			2, out);
}

/* "29", or "28 to 29" where ranks differ. */
static const char *range(struct arena *arena, size_t least, size_t most)
{
	return least == most ? arena_format(arena, "%zu", most)
			     : arena_format(arena, "%zu to %zu", least, most);
}

/* "the range 'step' of the library 'x'". */
static const char *source_text(const struct iteration_list *list, struct arena *arena)
{
	if (list->source != ITERATION_BY_RANGES)
		return report_source_text(list->source);
	return arena_format(arena, "the range '%s'%s%s%s%s", print_clean(arena, list->range),
		list->range_domain ? " of '" : "",
		list->range_domain ? print_clean(arena, list->range_domain) : "",
		list->range_domain ? "'" : "",
		list->range_agrees ? ", as by the calls alone" : ", which the calls alone do not tell");
}

/* How a recording without iterations is shown. */
static const char *whole_text(const struct analysis *analysis, struct arena *arena)
{
	const struct analysis_rejected *rejected = &analysis->rejected;
	const size_t parts = analysis->workers[0].used_count;
	const char *how = parts == 1 ? "the recording is shown as one"
				     : arena_format(arena, "each of its %zu recorded parts is shown as one", parts);

	if (rejected->count == 0)
		return arena_format(arena, "Iterations: none found, as nothing repeats: %s.", how);
	return arena_format(arena,
		"Iterations: unknown (%zu by %s would be right with a probability of %.0f%%), so %s. Candidates: %s. "
		"--iteration-at and --iteration-every say where they are.",
		rejected->count, report_source_text(rejected->source), rejected->confidence * 100, how,
		iteration_candidates_text(&rejected->candidates, arena));
}

const char *report_iterations_text(const struct analysis *analysis, struct arena *arena)
{
	size_t least = SIZE_MAX, most = 0, fewest = SIZE_MAX, found = 0;

	if (analysis->is_whole)
		return whole_text(analysis, arena);
	for (size_t i = 0; i < analysis->worker_count; i++) {
		const struct analysis_worker *worker = &analysis->workers[i];

		least = worker->used_count < least ? worker->used_count : least;
		most = worker->used_count > most ? worker->used_count : most;
		fewest = worker->iterations.count < fewest ? worker->iterations.count : fewest;
		found = worker->iterations.count > found ? worker->iterations.count : found;
	}
	return arena_format(arena, "Iterations: %s of %s used%s, found by %s%s%s, confidence %.0f%%.",
		range(arena, least, most), range(arena, fewest, found),
		analysis->worker_count > 1 ? " on each rank" : "",
		source_text(&analysis->workers[0].iterations, arena),
		analysis_least_sure(analysis)->confirmed ? " and by what they work on" : "",
		analysis->workers[0].iterations.varies ? ", sizes vary" : "",
		analysis_least_sure(analysis)->confidence * 100);
}

const char *report_direction_text(const struct analysis *analysis)
{
	if (analysis_is_communication(analysis))
		return "Communication only: no computation and no update: a benchmark of collectives, or a part of a program. There are no training iterations.";
	return analysis_is_forward_only(analysis)
		       ? "Forward only: no backward pass and no update: inference, or a part of training."
		       : "";
}

bool report_exchanges(struct analysis *analysis, FILE *out)
{
	struct print_table table;
	struct comm comm;

	if (!analysis_is_communication(analysis))
		return false;
	print_paragraph(report_direction_text(analysis), 2, out);
	fputc('\n', out);
	comm_find(&analysis->timeline, &analysis->collectives, analysis->wait_ns, 0, &comm);
	print_init(&table, &comm.arena);
	comm_call_table(&table, &comm);
	print_text(&table, "Calls: bandwidths in GB/s, mean times per call or group", out);
	print_free(&table);
	comm_free(&comm);
	return true;
}

static void candidates_json(const struct iteration_candidates *candidates, cJSON *object)
{
	cJSON *item = cJSON_AddObjectToObject(object, "iteration_candidates");

	cJSON_AddNumberToObject(item, "updates", (double)candidates->updates);
	cJSON_AddNumberToObject(item, "copies_from_host", (double)candidates->inputs);
	cJSON_AddNumberToObject(item, "copies_to_host", (double)candidates->results);
	cJSON_AddNumberToObject(item, "repetitions", (double)candidates->passes);
}

void report_candidates_json(const struct analysis *analysis, cJSON *object)
{
	const struct iteration_list *least = analysis_least_sure(analysis);
	const struct analysis_rejected *rejected = &analysis->rejected;

	if (rejected->count) {
		cJSON *item = cJSON_AddObjectToObject(object, "iterations_rejected");

		cJSON_AddStringToObject(item, "found_by", report_source_key(rejected->source));
		cJSON_AddNumberToObject(item, "iterations", (double)rejected->count);
		cJSON_AddNumberToObject(item, "confidence", rejected->confidence);
		candidates_json(&rejected->candidates, object);
	} else if (least && iteration_is_searched(least)) {
		candidates_json(&least->candidates, object);
	}
}

/* Of the rank with the minimum; NULL: there is none. */
static const struct layer_list *least_told(const struct analysis *analysis)
{
	const struct layer_list *least = NULL;

	for (size_t i = 0; i < analysis->worker_count; i++)
		if (!least || analysis->workers[i].layers.told < least->told)
			least = &analysis->workers[i].layers;
	return least;
}

/* What there is to say of the rest. */
static const char *rest_text(const struct layer_list *list, struct arena *arena)
{
	const double known = list->told + list->followed;
	const char *followed =
		list->followed < 0.0005
			? ""
			: arena_format(arena, ", and by the flow of data in what it compiled for %.1f%%",
				  list->followed * 100);

	return known < 0.9 ? arena_format(arena, "%s; the rest is inferred, and may be wrong", followed)
			   : followed;
}

const char *report_told_text(const struct analysis *analysis, struct arena *arena)
{
	const struct layer_list *list = least_told(analysis);

	return list && list->told + list->followed > 0
		       ? arena_format(arena,
				 "Phases and layers: reported by the framework for %.1f%% of the computing time%s%s.",
				 list->told * 100,
				 analysis->worker_count > 1 ? " (the lowest of all ranks)" : "",
				 rest_text(list, arena))
		       : "";
}

void report_found_json(const struct analysis *analysis, cJSON *object)
{
	const struct iteration_list *least = least_agreeing(analysis);
	const struct layer_list *told;

	cJSON_AddStringToObject(
		object, "found_by", report_source_key(analysis->workers[0].iterations.source));
	if (analysis->workers[0].iterations.range) {
		cJSON_AddStringToObject(object, "iteration_range", analysis->workers[0].iterations.range);
		cJSON_AddBoolToObject(
			object, "iteration_range_agrees", analysis->workers[0].iterations.range_agrees);
	}
	if (analysis->is_whole)
		cJSON_AddNullToObject(object, "confidence");
	else
		cJSON_AddNumberToObject(object, "confidence", analysis_least_sure(analysis)->confidence);
	told = least_told(analysis);
	if (told && told->told + told->followed > 0) {
		cJSON_AddNumberToObject(object, "told_by_framework", told->told);
		cJSON_AddNumberToObject(object, "told_by_compiled_flow", told->followed);
	} else {
		cJSON_AddNullToObject(object, "told_by_framework");
		cJSON_AddNullToObject(object, "told_by_compiled_flow");
	}
	if (!least)
		return;
	cJSON_AddStringToObject(object, "sequence_found_by", report_source_key(least->sequence));
	cJSON_AddNumberToObject(object, "sequence_iterations", (double)least->sequence_count);
	cJSON_AddNumberToObject(object, "markers_agreement", least->agreement);
}

const char *report_origin(struct analysis *analysis)
{
	struct arena *arena = &analysis->timeline.arena;
	const struct timeline_process *first = &analysis->timeline.processes[0];
	const char *host = analysis->timeline.host_count > 1
				   ? arena_format(arena, "%u hosts", analysis->timeline.host_count)
				   : print_clean(arena, first->host);

	if (*first->program || !first->recorder)
		return arena_format(arena, "%s on %s", print_clean(arena, first->program), host);
	return arena_format(arena, "recorded by %s", first->recorder);
}

/* Who recorded all of the run; NULL: our own hook, or several. */
static const char *recorder_of(const struct timeline *timeline)
{
	const char *recorder = timeline->processes[0].recorder;

	for (size_t i = 1; i < timeline->process_count; i++)
		if (timeline->processes[i].recorder != recorder)
			recorder = NULL;
	return recorder;
}

const char *report_device_times(struct analysis *analysis, const char *own)
{
	const char *recorder = recorder_of(&analysis->timeline);

	if (!recorder)
		return own;
	return imported_timeline_is_labels(&analysis->timeline)
		       ? "none: labelled phases are used instead"
		       : arena_format(&analysis->timeline.arena, "of each kernel, copy and set, from %s",
				 recorder);
}

const char *report_device_times_key(const struct analysis *analysis, const char *own)
{
	const char *recorder = recorder_of(&analysis->timeline);

	if (!recorder)
		return own;
	if (imported_timeline_is_labels(&analysis->timeline))
		return "labels";
	return strcmp(recorder, "Kineto") == 0 ? "kineto" : "nsight_systems";
}
