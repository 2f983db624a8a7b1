/* What a report says of the steps of the whole run, whichever part of it was read. */
#include "report.h"

/* "step 17 (2.300 s), step 4 (1.100 s)" */
static const char *longest_text(struct arena *arena, const struct pace_steps *steps)
{
	const char *text = "";

	for (size_t i = 0; i < sizeof(steps->longest) / sizeof(*steps->longest) && i < steps->slow; i++)
		text = arena_format(arena, "%s%sstep %zu (%s)", text, i ? ", " : "", steps->longest[i],
			print_time(arena, steps->longest_ns[i]));
	return text;
}

static const char *slow_text(struct arena *arena, const struct pace_steps *steps, bool sampled)
{
	if (steps->slow == SIZE_MAX)
		return "Many take over 1.5 times that, as with an evaluation in between.";
	if (steps->slow == 0)
		return "None takes over 1.5 times that.";
	return arena_format(arena, "%zu take%s over 1.5 times that, which adds %.1f%% to the time: %s%s.%s",
		steps->slow, steps->slow == 1 ? "s" : "", steps->slow_share * 100,
		steps->slow > 1 ? "the longest are " : "", longest_text(arena, steps),
		sampled ? " --steps N reads them." : "");
}

/* The first worker's; those of others are as a rule the same. */
void report_pace(struct analysis *analysis, FILE *out)
{
	const struct analysis_worker *worker = &analysis->workers[0];
	struct arena *arena = &analysis->timeline.arena;
	struct pace_steps steps;

	if (analysis->worker_count == 0 ||
		!pace_steps(&worker->pace, &analysis->timeline.processes[worker->worker->process], &steps))
		return;
	print_paragraph(
		arena_format(arena,
			"Whole run%s: %.0f steps, from one call of %s to the next: median %s, 99%% within %s. %s",
			analysis->worker_count > 1
				? arena_format(arena, " of %s", analysis_worker_name(analysis, worker))
				: "",
			analysis_iterations(analysis, worker),
			analysis->timeline
				.functions[analysis->timeline.operations[worker->pace.operation].function]
				.name,
			print_time(arena, steps.median_ns), print_time(arena, steps.most_ns),
			slow_text(arena, &steps,
				analysis->timeline.processes[worker->worker->process].trace != NULL)),
		2, out);
}

void report_pace_json(const struct analysis *analysis, cJSON *object)
{
	const struct analysis_worker *worker = &analysis->workers[0];
	struct pace_steps steps;
	cJSON *item, *list;

	if (analysis->worker_count == 0 ||
		!pace_steps(&worker->pace, &analysis->timeline.processes[worker->worker->process], &steps))
		return;
	item = cJSON_AddObjectToObject(object, "whole_run");
	cJSON_AddNumberToObject(item, "steps", analysis_iterations(analysis, worker));
	cJSON_AddNumberToObject(item, "median_ns", steps.median_ns);
	cJSON_AddNumberToObject(item, "p99_ns", steps.most_ns);
	if (steps.slow == SIZE_MAX)
		return;
	cJSON_AddNumberToObject(item, "slow", (double)steps.slow);
	cJSON_AddNumberToObject(item, "slow_share", steps.slow_share);
	list = cJSON_AddArrayToObject(item, "longest");
	for (size_t i = 0; i < sizeof(steps.longest) / sizeof(*steps.longest) && i < steps.slow; i++) {
		cJSON *one = cJSON_CreateObject();

		cJSON_AddNumberToObject(one, "step", (double)steps.longest[i]);
		cJSON_AddNumberToObject(one, "ns", steps.longest_ns[i]);
		cJSON_AddItemToArray(list, one);
	}
}
