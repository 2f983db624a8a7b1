/* Means of runs over commits: see baseline.h. */
#include "baseline.h"
#include "base/text_file.h"
#include "compare_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BASELINE_LEAST = 3 };
#define FORMAT_KEY "pmhook_baseline"
#define FORMAT_VERSION 1

/* ---- the file ---- */

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && isfinite(item->valuedouble) && item->valuedouble >= 0
		       ? item->valuedouble
		       : NAN;
}

static const char *read_run(struct baseline *baseline, const cJSON *item, const char *path, size_t number)
{
	struct baseline_run run = {.name = text_file_word(item, "name"),
		.date = text_file_word(item, "date"),
		.program = text_file_word(item, "program"),
		.device = text_file_word(item, "device"),
		.host = text_file_word(item, "host"),
		.gpus = number_of(item, "gpus"),
		.iterations = number_of(item, "iterations"),
		.step_ns = number_of(item, "step_ns"),
		.device_ns = number_of(item, "device_ns"),
		.processor_wait = number_of(item, "processor_wait")};

	if (!(run.step_ns > 0))
		return arena_format(&baseline->arena,
			"%s: run %zu has no step_ns: not a line of `pmanalyze baseline add`; remove it", path,
			number);
	baseline_add(baseline, &run);
	return NULL;
}

const char *baseline_read(struct baseline *baseline, const char *path)
{
	const cJSON *list, *item, *version;
	size_t number = 0;
	cJSON *root;
	const char *wrong = text_file_json(path, &root);

	if (wrong)
		return wrong;
	list = cJSON_GetObjectItemCaseSensitive(root, "runs");
	version = cJSON_GetObjectItemCaseSensitive(root, FORMAT_KEY);
	if (!cJSON_IsArray(list) || !cJSON_IsNumber(version) || version->valuedouble != FORMAT_VERSION)
		wrong = arena_format(&baseline->arena,
			"%s: not a baseline of this version: expected \"" FORMAT_KEY "\": %d and \"runs\"",
			path, FORMAT_VERSION);
	else
		cJSON_ArrayForEach (item, list)
			if (!wrong)
				wrong = read_run(baseline, item, path, ++number);
	cJSON_Delete(root);
	return wrong;
}

void baseline_free(struct baseline *baseline)
{
	free(baseline->runs);
	arena_free(&baseline->arena);
}

cJSON *baseline_json(const struct baseline *baseline)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddNumberToObject(root, FORMAT_KEY, FORMAT_VERSION);
	list = cJSON_AddArrayToObject(root, "runs");
	for (size_t i = 0; i < baseline->count; i++) {
		const struct baseline_run *run = &baseline->runs[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "name", run->name);
		cJSON_AddStringToObject(item, "date", run->date);
		cJSON_AddStringToObject(item, "program", run->program);
		cJSON_AddStringToObject(item, "device", run->device);
		cJSON_AddStringToObject(item, "host", run->host);
		print_json_number(item, "gpus", run->gpus);
		print_json_number(item, "iterations", run->iterations);
		print_json_number(item, "step_ns", run->step_ns);
		print_json_number(item, "device_ns", run->device_ns);
		print_json_number(item, "processor_wait", run->processor_wait);
		cJSON_AddItemToArray(list, item);
	}
	return root;
}

/* ---- runs ---- */

static const char *device_name(const struct timeline_process *process)
{
	if (process->modelled)
		return process->modelled;
	return process->device_count > 0 && process->devices[0].name ? process->devices[0].name : "";
}

struct baseline_run baseline_run_of(const struct run *run)
{
	const struct analysis *analysis = &run->analysis;
	const struct timeline_process *process = &analysis->timeline.processes[0];
	const double device_ns =
		compare_has_device_times(run) ? compare_run_mean(run, &compare_device_time) : NAN;

	return (struct baseline_run){.name = "",
		.date = "",
		.program = process->program,
		.device = device_name(process),
		.host = process->host,
		.gpus = (double)analysis->worker_count,
		.iterations = (double)analysis->workers[0].used_count,
		.step_ns = compare_run_mean(run, &compare_step_time),
		.device_ns = device_ns > 0 ? device_ns : NAN,
		.processor_wait = compare_processor_wait(run)};
}

static const char *keep(struct baseline *baseline, const char *text)
{
	return arena_text(&baseline->arena, text, strlen(text));
}

void baseline_add(struct baseline *baseline, const struct baseline_run *run)
{
	struct baseline_run *to = MEM_PUSH(baseline->runs, baseline->count, baseline->room);

	*to = *run;
	to->name = keep(baseline, run->name);
	to->date = keep(baseline, run->date);
	to->program = keep(baseline, run->program);
	to->device = keep(baseline, run->device);
	to->host = keep(baseline, run->host);
}

bool baseline_matches(const struct baseline_run *a, const struct baseline_run *b)
{
	return a->gpus == b->gpus && strcmp(a->program, b->program) == 0 && strcmp(a->device, b->device) == 0;
}

/* ---- the spread ---- */

typedef double (*time_of)(const struct baseline_run *run);

static double step_of(const struct baseline_run *run)
{
	return run->step_ns;
}

static double device_of(const struct baseline_run *run)
{
	return run->device_ns;
}

/* A variance, with its degrees of freedom; of shares, so that commits of other speed count alike. */
struct spread {
	double variance, freedom;
};

static double mean_of(struct baseline_run *const *runs, size_t count, time_of time)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += time(runs[i]);
	return sum / (double)count;
}

/* Of runs with the same name that stand one after the other. */
static struct spread within_names(struct baseline_run *const *runs, size_t count, time_of time)
{
	struct spread spread = {0};

	for (size_t first = 0, end; first < count; first = end) {
		double mean;

		for (end = first + 1; end < count && strcmp(runs[end]->name, runs[first]->name) == 0;)
			end++;
		mean = mean_of(runs + first, end - first, time);
		for (size_t i = first; i < end; i++)
			spread.variance += pow(time(runs[i]) / mean - 1, 2);
		spread.freedom += (double)(end - first) - 1;
	}
	spread.variance /= spread.freedom;
	return spread;
}

static struct spread successive(struct baseline_run *const *runs, size_t count, time_of time)
{
	struct spread spread = {.freedom = 2.0 / 3 * ((double)count - 1)};

	for (size_t i = 1; i < count; i++)
		spread.variance +=
			pow(2 * (time(runs[i]) - time(runs[i - 1])) / (time(runs[i]) + time(runs[i - 1])), 2);
	spread.variance /= 2 * ((double)count - 1);
	return spread;
}

static double judge_time(struct baseline_run *const *runs, size_t count, const struct baseline_run *new_runs,
	size_t new_count, time_of time, struct baseline_against *against, double allowed,
	struct slower *slower)
{
	const struct spread named = within_names(runs, count, time);
	const struct spread spread = named.freedom >= 2 ? named : successive(runs, count, time);
	const size_t used = against->used;
	struct slower_means means = {.base = mean_of(runs + count - used, used, time),
		.base_count = used,
		.other_count = new_count,
		.freedom = spread.freedom};

	for (size_t i = 0; i < new_count; i++)
		means.other += time(&new_runs[i]) / (double)new_count;
	means.deviation = sqrt(spread.variance) * means.base;
	against->by_name = named.freedom >= 2;
	if (count >= BASELINE_LEAST)
		slower_by_means(&means, allowed, slower);
	return count >= BASELINE_LEAST ? sqrt(spread.variance) : NAN;
}

void baseline_judge(const struct baseline *baseline, const struct baseline_run *runs, size_t count,
	size_t last, double allowed, enum compare_gate_time time, struct compare_gate *gate,
	struct baseline_against *against)
{
	const struct slower unknown = {
		.answer = SLOWER_UNKNOWN, .margin = allowed, .change = NAN, .low = NAN, .high = NAN};
	struct baseline_run **matching = mem_alloc(baseline->count, sizeof(*matching));

	*against = (struct baseline_against){.step_spread = NAN, .device_spread = NAN};
	*gate = (struct compare_gate){.step = unknown, .device = unknown, .processor_wait = NAN};
	for (size_t i = 0; i < baseline->count; i++)
		if (baseline_matches(&baseline->runs[i], &runs[0]))
			matching[against->runs++] = &baseline->runs[i];
	against->used = against->runs < last ? against->runs : last;
	for (size_t i = 0; i < count; i++)
		gate->processor_wait = fmax(gate->processor_wait, runs[i].processor_wait);
	for (size_t i = against->runs - against->used; i < against->runs; i++)
		gate->processor_wait = fmax(gate->processor_wait, matching[i]->processor_wait);
	if (against->runs > 0) {
		against->first = matching[against->runs - against->used]->name;
		against->last = matching[against->runs - 1]->name;
		against->step_spread = judge_time(
			matching, against->runs, runs, count, step_of, against, allowed, &gate->step);
		against->device_spread = judge_time(
			matching, against->runs, runs, count, device_of, against, allowed, &gate->device);
	}
	compare_gate_settle(gate, time);
	free(matching);
}
