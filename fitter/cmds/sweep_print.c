/* What pmfit sweep prints: the plan, and what came of it. */
#include "sweep.h"
#include "base/statistics.h"
#include "base/table.h"
#include "output/sentences.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void print_quoted(char *const *words)
{
	for (; *words; words++) {
		bool plain = **words &&
			     strspn(*words, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
					    "-_=./,:+@%") == strlen(*words);

		if (!plain)
			putchar('\'');
		for (const char *at = *words; *at; at++)
			if (*at == '\'')
				fputs("'\\''", stdout);
			else
				putchar(*at);
		if (!plain)
			putchar('\'');
		putchar(words[1] ? ' ' : '\n');
	}
}

/* A trial and its values, as a row of its own table: there may be more of them than memory has room for. */
static void tabulate_trial(
	const struct sweep_request *request, size_t k, char *const *values, struct print_table *table)
{
	print_column(table, "trial", NULL, PRINT_COUNT);
	for (size_t c = 0; c < request->space.column_count; c++) {
		const char *name = request->space.columns[c].name;

		print_columns(table,
			(const struct print_column[]){
				PRINT_COLUMN(name, NULL, PRINT_WORD, .object = "values")},
			1);
	}
	print_row(table);
	print_number(table, 0, (double)(k + 1));
	for (size_t c = 0; c < request->space.column_count; c++)
		print_word(table, c + 1, values[c]);
}

static cJSON *trial_json(const struct print_table *table, char *const *words)
{
	cJSON *object = print_json_row(table, 0), *command = cJSON_AddArrayToObject(object, "command");

	for (; *words; words++)
		cJSON_AddItemToArray(command, cJSON_CreateString(*words));
	return object;
}

/* `root`: the array of JSON, or NULL. */
static void print_trial(
	const struct sweep_request *request, size_t k, char *const *values, char *const *words, cJSON *root)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	tabulate_trial(request, k, values, &table);
	if (root)
		cJSON_AddItemToArray(root, trial_json(&table, words));
	else if (!request->csv)
		print_quoted(words);
	else if (k == 0)
		print_csv(&table, stdout);
	else
		print_csv_rows(&table, stdout);
	print_free(&table);
	arena_free(&arena);
}

void sweep_print_plan(const struct sweep_request *request)
{
	const struct sweep_plan *plan = &request->plan;
	char *values[request->space.column_count];
	cJSON *root = request->json ? cJSON_CreateArray() : NULL;

	for (size_t k = 0; k < plan->count; k++) {
		const char *bad = sweep_plan_trial(plan, k, values);
		char **words = bad ? NULL : sweep_run_arguments(&request->run, k, values);

		if (bad || !words)
			errx(1, "%s", bad ? bad : "out of memory");
		print_trial(request, k, values, words, root);
		sweep_run_free_arguments(words);
		sweep_plan_free_values(plan, values);
	}
	if (root)
		print_json_end(root, stdout);
	if (plan->moved && !request->quiet)
		warnx("%zu of %zu trials of the Latin hypercube violate a rule and are replaced by random "
		      "trials",
			plan->moved, plan->count);
}

/* What was done, and what is known of the times, which are sorted. */
static void say_summary(const struct sweep_request *request, struct sentences *sentences)
{
	const struct sweep_table *table = &request->table;
	const char *unit = request->space.description.unit ? request->space.description.unit : "";
	size_t done = table->counts[SWEEP_DONE], impossible = table->counts[SWEEP_IMPOSSIBLE];

	sentences_add(sentences, "%s: %zu trials done, %zu failed%s; %zu in this run, in %.1f s", table->path,
		done, table->counts[SWEEP_FAILED],
		impossible ? arena_format(sentences->arena, ", %zu impossible", impossible) : "",
		request->run.finished, request->run.seconds);
	if (done)
		sentences_add(sentences, "%s: %.4g to %.4g%s%s, median %.4g", request->space.description.time,
			table->times[0], table->times[done - 1], *unit ? " " : "", unit,
			table->times[done / 2]);
	if (table->counts[SWEEP_FAILED])
		sentences_add(sentences,
			"See column note of %s for the reasons of the failed trials; --again reruns them.",
			table->path);
	if (request->run.differing)
		sentences_add(sentences,
			"In %zu trials a number in the trace differs from the requested one (column note): "
			"check that each placeholder is at the right option.",
			request->run.differing);
}

static void add_times(const struct sweep_table *table, cJSON *root)
{
	const size_t done = table->counts[SWEEP_DONE];
	cJSON *time = done ? cJSON_AddObjectToObject(root, "time") : cJSON_AddNullToObject(root, "time");

	if (!done)
		return;
	cJSON_AddNumberToObject(time, "least", table->times[0]);
	cJSON_AddNumberToObject(time, "median", table->times[done / 2]);
	cJSON_AddNumberToObject(time, "greatest", table->times[done - 1]);
}

static void summary_json(
	const struct sweep_request *request, const struct sentences *sentences, const char *next)
{
	cJSON *root = cJSON_CreateObject();
	char hash[20];

	snprintf(hash, sizeof(hash), "%016" PRIx64, request->plan.hash);
	cJSON_AddStringToObject(root, "table", request->table.path);
	cJSON_AddStringToObject(root, "plan", hash);
	for (size_t s = 0; s < SWEEP_STATUS_COUNT; s++)
		cJSON_AddNumberToObject(root, sweep_status_names[s], (double)request->table.counts[s]);
	cJSON_AddNumberToObject(root, "left", (double)request->run.left);
	cJSON_AddNumberToObject(root, "this_run", (double)request->run.finished);
	cJSON_AddNumberToObject(root, "differing", (double)request->run.differing);
	cJSON_AddNumberToObject(root, "seconds", request->run.seconds);
	cJSON_AddBoolToObject(root, "interrupted", request->run.interrupted);
	add_times(&request->table, root);
	sentences_json(sentences, root, "sentences");
	if (next)
		cJSON_AddStringToObject(root, "next", next);
	print_json_end(root, stdout);
}

void sweep_print_summary(const struct sweep_request *request)
{
	const struct sweep_table *table = &request->table;
	size_t done = table->counts[SWEEP_DONE];
	struct arena arena = {0};
	struct sentences sentences = {.arena = &arena};
	const char *next = NULL;

	if (done)
		statistics_sort(table->times, done);
	say_summary(request, &sentences);
	if (done && !request->run.left)
		next = arena_format(&arena, "pmfit fit -d %s --share 0.667 %s%s", request->name,
			request->space.description.skip_bad ? "" : "--skip-bad ", table->path);
	if (request->json) {
		summary_json(request, &sentences, next);
	} else {
		sentences_text(&sentences, 0, 2, stdout);
		if (next)
			printf("now run: %s\n", next);
	}
	arena_free(&arena);
}
