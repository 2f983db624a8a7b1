/* pmanalyze whatif: what changing one thing would save. */
#include "cmd_common.h"
#include "analyses/replay/whatif.h"
#include "import/imported_timeline.h"

#include <err.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What the command line asks for; layers and ranks by name until a run is there. */
struct question {
	struct whatif_change change;
	const char *name; /* of the layer or rank */
	size_t name_length;
};

struct questions {
	double factor;
	size_t most; /* iterations; 0: not given */
	size_t top;  /* rows in text */
	struct question *items;
	size_t count, room;
};

#define LEAST_FACTOR 0.001

enum {
	OPTION_FACTOR = OPTION_FIRST,
	OPTION_LAYER,
	OPTION_COMMUNICATION,
	OPTION_OVERLAP,
	OPTION_HOST,
	OPTION_INPUT,
	OPTION_BALANCE,
	OPTION_STAGES,
	OPTION_RANK,
	OPTION_SAMPLE,
	OPTION_TOP
};

static double parse_factor(int key, const char *text)
{
	return command_number(&cmd_whatif, key, text, LEAST_FACTOR, DBL_MAX);
}

static struct question *add_question(struct questions *questions, enum whatif_kind kind)
{
	struct question *question = MEM_PUSH(questions->items, questions->count, questions->room);

	*question = (struct question){.change = {.kind = kind, .factor = 1}};
	return question;
}

/* NAME=VALUE, of which the value is the last. */
static const char *split(
	const char *option, const char *argument, const char *value, struct question *question)
{
	const char *equals = strrchr(argument, '=');

	if (!equals || equals == argument)
		cmd_usage(&cmd_whatif, "--%s: expected %s, not \"%s\"", option, value, argument);
	question->name = argument;
	question->name_length = (size_t)(equals - argument);
	return equals + 1;
}

static bool take_option(struct questions *questions, int option, const char *argument)
{
	struct question *question;
	const char *value;

	switch (option) {
	case OPTION_FACTOR:
		questions->factor = parse_factor(option, argument);
		return true;
	case OPTION_LAYER:
		question = add_question(questions, WHATIF_LAYER);
		value = split("layer", argument, "NAME=K", question);
		question->change.factor = parse_factor(option, value);
		return true;
	case OPTION_COMMUNICATION:
		add_question(questions, WHATIF_COMMUNICATION)->change.factor = parse_factor(option, argument);
		return true;
	case OPTION_OVERLAP:
		add_question(questions, WHATIF_OVERLAP);
		return true;
	case OPTION_HOST:
		add_question(questions, WHATIF_HOST);
		return true;
	case OPTION_INPUT:
		add_question(questions, WHATIF_INPUT);
		return true;
	case OPTION_BALANCE:
		add_question(questions, WHATIF_BALANCE);
		return true;
	case OPTION_STAGES:
		add_question(questions, WHATIF_STAGES);
		return true;
	case OPTION_RANK:
		question = add_question(questions, WHATIF_RANK);
		value = split("rank", argument, "R=others", question);
		if (strcmp(value, "others") != 0)
			cmd_usage(&cmd_whatif, "--rank: expected R=others, not \"%s\"", argument);
		return true;
	case OPTION_SAMPLE:
		questions->most = command_count(&cmd_whatif, option, argument, 1, SIZE_MAX);
		return true;
	case OPTION_TOP:
		questions->top = command_count(&cmd_whatif, option, argument, 1, SIZE_MAX);
		return true;
	default:
		return false;
	}
}

/* "2", or "2.1" for its second GPU. */
static bool is_worker(const struct analysis *analysis, size_t number, const struct question *question)
{
	const struct worker *worker = analysis->workers[number].worker;
	int rank = analysis->timeline.processes[worker->process].rank;
	char name[16], name_gpu[32];

	snprintf(name, sizeof(name), "%d", rank < 0 ? 0 : rank);
	snprintf(name_gpu, sizeof(name_gpu), "%s.%d", name, worker->device);
	return (strlen(name) == question->name_length &&
		       strncmp(name, question->name, question->name_length) == 0) ||
	       (strlen(name_gpu) == question->name_length &&
		       strncmp(name_gpu, question->name, question->name_length) == 0);
}

/* The layer or worker that the question names; ends the program if the run has none. */
static void find_name(const struct run *run, struct question *question)
{
	const struct analysis *analysis = &run->analysis;
	struct arena arena = {0};
	const char *name = arena_text(&arena, question->name, question->name_length);
	struct replay_job job = {.analysis = analysis};
	bool found = false;

	if (question->change.kind == WHATIF_LAYER) {
		replay_layers(&job);
		question->change.layer = replay_find_layer(&job, name);
		found = question->change.layer != REPLAY_NONE;
		replay_job_free(&job);
		if (!found)
			errx(2, "%s: --layer: no layer \"%s\"; pmanalyze layers lists the names", run->label,
				print_clean(&arena, name));
	} else {
		for (uint32_t w = 0; w < analysis->worker_count && !found; w++)
			if (is_worker(analysis, w, question)) {
				question->change.worker = w;
				found = true;
			}
		if (!found)
			errx(2, "%s: --rank: no rank %s with iterations", run->label,
				print_clean(&arena, name));
		if (!whatif_has_peers(analysis, question->change.worker))
			errx(2, "%s: --rank %s=others: no other rank has the same layers", run->label,
				print_clean(&arena, name));
	}
	arena_free(&arena);
}

static const char *const kind_keys[] = {[WHATIF_LAYER] = "layer",
	[WHATIF_COMMUNICATION] = "communication",
	[WHATIF_OVERLAP] = "overlap",
	[WHATIF_HOST] = "host",
	[WHATIF_INPUT] = "input",
	[WHATIF_BALANCE] = "balance",
	[WHATIF_STAGES] = "stages",
	[WHATIF_RANK] = "rank"};

static const char *change_words(
	struct analysis *analysis, const struct replay_job *job, const struct whatif_change *change)
{
	struct arena *arena = &analysis->timeline.arena;

	switch (change->kind) {
	case WHATIF_LAYER:
		return arena_format(arena, "%s %g× as fast",
			print_clean(arena, layer_title(job->layers[change->layer].layer)), change->factor);
	case WHATIF_COMMUNICATION:
		return arena_format(arena, "communication %g× as fast", change->factor);
	case WHATIF_OVERLAP:
		return "communication hidden";
	case WHATIF_HOST:
		return "zero launch time";
	case WHATIF_INPUT:
		return "zero wait for the batch";
	case WHATIF_BALANCE:
		return "all ranks balanced";
	case WHATIF_STAGES:
		return "all stages and ranks balanced";
	default:
		return arena_format(arena, "%s like other ranks",
			analysis_worker_name(analysis, &analysis->workers[change->worker]));
	}
}

/* All that is asked for, in words. */
static const char *asked_words(
	struct analysis *analysis, const struct replay_job *job, const struct questions *questions)
{
	const char *words = "";

	for (size_t i = 0; i < questions->count; i++)
		words = arena_format(&analysis->timeline.arena, "%s%s%s", words, i ? ", " : "",
			change_words(analysis, job, &questions->items[i].change));
	return words;
}

/* `asked`: what several changes together are called. */
static void result_table(struct print_table *table, struct analysis *analysis, const struct replay_job *job,
	const struct whatif_list *list, const struct questions *questions, const char *asked, size_t rows)
{
	size_t what = print_column(table, "what", "if", PRINT_WORD);
	size_t kind = print_column(table, "kind", NULL, PRINT_WORD);
	size_t layer = print_column(table, "layer", NULL, PRINT_WORD);
	size_t worker = print_column(table, "worker", NULL, PRINT_WORD);
	size_t factor = print_column(table, "factor", NULL, PRINT_REAL);
	size_t predicted = print_column(table, "predicted", "iteration", PRINT_TIME);
	size_t gain = print_column(table, "gain", "gain", PRINT_TIME);
	size_t share = print_column(table, "gain_share", "gain, %", PRINT_SHARE);
	size_t speedup = print_column(table, "speedup", "speed-up", PRINT_REAL);

	for (size_t i = 0; i < list->count && i < rows; i++) {
		const struct whatif_result *item = &list->items[i];
		const char *words = questions->count > 1 ? asked : change_words(analysis, job, &item->change);

		print_row(table);
		print_word(table, what, words);
		print_word(table, kind, questions->count > 1 ? "several" : kind_keys[item->change.kind]);
		if (questions->count <= 1 && item->change.kind == WHATIF_LAYER)
			print_word(table, layer, layer_title(job->layers[item->change.layer].layer));
		if (questions->count <= 1 && item->change.kind == WHATIF_RANK)
			print_word(table, worker,
				analysis_worker_name(analysis, &analysis->workers[item->change.worker]));
		if (questions->count <= 1 && item->change.factor > 0 &&
			(item->change.kind == WHATIF_LAYER || item->change.kind == WHATIF_COMMUNICATION))
			print_number(table, factor, item->change.factor);
		print_number(table, predicted, item->predicted_ns);
		print_number(table, gain, item->gain_ns);
		print_number(table, share, item->gain_ns / list->replayed_ns);
		print_number(table, speedup, item->speedup);
	}
}

static void print_about(struct analysis *analysis, const struct whatif_list *list, size_t left, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;

	if (left > 0)
		print_paragraph(arena_format(arena, "%zu more with smaller gains (--top).", left), 2, out);
	print_paragraph(arena_format(arena,
				"Iteration: %s measured, %s replayed unchanged (%+.2f%%), over %zu of %zu "
				"iterations.",
				print_time(arena, list->measured_ns), print_time(arena, list->replayed_ns),
				(list->replayed_ns / list->measured_ns - 1) * 100, list->iteration_count,
				list->used_count),
		2, out);
	print_paragraph(arena_format(arena,
				"Replay: %zu rendezvous between ranks and %zu waits between queues%s; "
				"measured times contradict %zu dependencies, %zu are left out.",
				list->meeting_count, list->recorded_waits + list->inferred_waits,
				list->inferred_waits ? list->recorded_waits ? " (some inferred from timing)"
									    : " (inferred from timing)"
						     : "",
				list->negative_count, list->circle_count),
		2, out);
	if (analysis->worker_count > 1)
		print_paragraph(
			arena_format(arena, "Slowdown S = t / t_ideal: %.3f with all ranks balanced%s%s.",
				list->slowdown,
				analysis->stage_count > 1
					? arena_format(arena, ", %.3f with stages balanced too",
						  list->slowdown_stages)
					: "",
				list->slowdown < 1 ? ": balancing their times gains nothing" : ""),
			2, out);
}

static void add_facts(cJSON *object, const struct whatif_list *list)
{
	cJSON_AddNumberToObject(object, "measured_ns", list->measured_ns);
	cJSON_AddNumberToObject(object, "replayed_ns", list->replayed_ns);
	cJSON_AddNumberToObject(object, "replay_error", list->replayed_ns / list->measured_ns - 1);
	cJSON_AddNumberToObject(object, "iterations", (double)list->iteration_count);
	cJSON_AddNumberToObject(object, "used_iterations", (double)list->used_count);
	cJSON_AddNumberToObject(object, "meetings", (double)list->meeting_count);
	cJSON_AddNumberToObject(object, "recorded_waits", (double)list->recorded_waits);
	cJSON_AddNumberToObject(object, "inferred_waits", (double)list->inferred_waits);
	cJSON_AddNumberToObject(object, "contradicted", (double)list->negative_count);
	cJSON_AddNumberToObject(object, "left_out", (double)list->circle_count);
	if (isfinite(list->slowdown)) {
		cJSON_AddNumberToObject(object, "slowdown", list->slowdown);
		cJSON_AddNumberToObject(object, "slowdown_stages", list->slowdown_stages);
	}
}

static void ask(struct run *run, struct questions *questions, struct whatif_list *list)
{
	const struct analysis *analysis = &run->analysis;
	size_t most = questions->most ? questions->most : whatif_most(analysis);
	struct whatif_change *changes = mem_alloc(questions->count, sizeof(*changes));

	for (size_t i = 0; i < questions->count; i++) {
		if (questions->items[i].name)
			find_name(run, &questions->items[i]);
		changes[i] = questions->items[i].change;
	}
	if (questions->count)
		whatif_together(analysis, most, changes, questions->count, list);
	else
		whatif_standard(analysis, most, questions->factor, list);
	free(changes);
}

/* -1: nothing could be replayed. */
static int print_run(
	struct run *run, struct questions *questions, enum print_form form, cJSON *runs, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	cJSON *object = runs ? cJSON_CreateObject() : NULL;
	struct replay_job job = {.analysis = analysis};
	struct whatif_list list;
	struct print_table table;
	const char *asked;
	size_t rows;

	/* Before anything is printed: it may end the program. */
	if (!imported_timeline_is_labels(&analysis->timeline))
		ask(run, questions, &list);
	if (form == PRINT_TEXT) {
		print_heading(arena_format(arena, "%s: %zu GPU%s", print_clean(arena, run->label),
				      analysis->worker_count, analysis->worker_count == 1 ? "" : "s"),
			out);
		run_print_device(run, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		run_device_json(run, object);
		cJSON_AddItemToArray(runs, object);
	}
	cmd_findings(run, form, object, out);
	if (cmd_labels_alone(run, object, form == PRINT_TEXT ? out : stderr))
		return -1;
	replay_layers(&job);
	rows = form == PRINT_TEXT && list.count > questions->top ? questions->top : list.count;
	if (object)
		add_facts(object, &list);
	if (list.iteration_count > 0 || form == PRINT_JSON) {
		print_init(&table, arena);
		asked = asked_words(analysis, &job, questions);
		if (questions->count > 1 && form == PRINT_TEXT) {
			print_paragraph(arena_format(arena, "What if: %s.", asked), 2, out);
			asked = "all combined";
		}
		result_table(&table, analysis, &job, &list, questions, asked, rows);
		print_part(&table, form, object, "changes", "Iteration, mean", form == PRINT_TEXT, out);
		print_free(&table);
	}
	if (form == PRINT_TEXT && list.iteration_count > 0) {
		fputc('\n', out);
		print_about(analysis, &list, list.count - rows, out);
	}
	rows = list.iteration_count;
	whatif_list_free(&list);
	replay_job_free(&job);
	return rows > 0 ? 0 : -1;
}

static int run(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct questions questions = {.factor = 2, .top = 25};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option, status = 0;

	while ((option = command_option(&cmd_whatif, argument_count, arguments)) != -1)
		if (!take_option(&questions, option, optarg) &&
			!cmd_common_option(&cmd_whatif, &how, option, optarg))
			command_unhandled(&cmd_whatif, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_whatif, "no run given");
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.form == PRINT_JSON) {
		object = cJSON_CreateObject();
		list = cJSON_AddArrayToObject(object, "runs");
	}
	for (size_t i = 0; i < run_count; i++) {
		if (i > 0 && how.form != PRINT_JSON)
			fputc('\n', stdout);
		if (print_run(&runs[i], &questions, how.form, list, stdout))
			status = 1;
	}
	cmd_end_runs(object, runs, run_count);
	free(questions.items);
	return status;
}

static const struct option_row rows[] = {
	{"factor", OPTION_FACTOR, "K",
		"speed-up of layers and communication (default: 2; below 1 is slower, at least "
		"0.001)"},
	{"sample", OPTION_SAMPLE, "N",
		"replay at most N iterations, from the middle of the run (default: up to 1.5 million "
		"tasks, at least 8 iterations)"},
	{"top", OPTION_TOP, "N", "rows in text (default: 25)"},
	{"json", CMD_JSON, NULL, "the same as JSON; times in ns"},
	{"csv", CMD_CSV, NULL, "the table as CSV"},
	{0},
};

static const struct option_row query_rows[] = {
	{NULL, 0, NULL, "Queries; several are combined into one change:\n\n"},
	{"layer", OPTION_LAYER, "NAME=K", "this layer K× as fast (names: pmanalyze layers)"},
	{"communication", OPTION_COMMUNICATION, "K", "data move K× as fast, once all ranks have arrived"},
	{"overlap", OPTION_OVERLAP, NULL, "communication hidden where data dependencies allow"},
	{"host", OPTION_HOST, NULL, "zero launch time"},
	{"input", OPTION_INPUT, NULL, "zero time for reading, splitting and copying the batch"},
	{"balance", OPTION_BALANCE, NULL, "all ranks of a stage take the mean of their times"},
	{"stages", OPTION_STAGES, NULL, "all stages and ranks do"},
	{"rank", OPTION_RANK, "R=others", "rank R takes the others' median (R.G: GPU G of rank R)"},
	{0},
};

const struct command cmd_whatif = {
	.name = "whatif",
	.summary = "predicted gain of single changes",
	.usage = "[OPTION]... RUN...",
	.about = "Replays each run's iterations over all ranks with modified durations: device "
		 "work in the order of its queues, no earlier than its launch and the events its "
		 "queue waits for; hosts call by call, after the device where they wait for it; a "
		 "collective when its last rank has arrived, a message when both ends have. "
		 "Latencies are kept. Waits between queues that are not recorded are inferred from "
		 "work that starts when other work ends. Prints the resulting mean iteration, and "
		 "the error of the unchanged replay.\n"
		 "\n"
		 "Without a query, each of these changes alone, the largest gain first: each layer "
		 "(forward, backward, update) and communication K× as fast; communication hidden "
		 "behind all work that does not need its data; zero launch time; zero wait for the batch; "
		 "each rank like the median of the others with the same layers, and all at their "
		 "mean, per layer and phase of each iteration. With pipelines also: forward, "
		 "backward and update balanced over all stages.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows, query_rows),
	.after = "Slowdown is S = t / t_ideal, t_ideal the iteration with all ranks balanced "
		 "(arXiv 2505.05713). The load imbalance factor compares computing times alone; S "
		 "is the cost of the imbalance after communication and overlap.\n"
		 "\n"
		 "Changes of the program's behaviour are not modelled: a different algorithm, a "
		 "different order of calls. Messages sent in groups do not wait for their other "
		 "end.\n"
		 "\n"
		 "Exit status: 0 success, 1 no trace or no iterations, 2 usage error or no such "
		 "layer or rank.\n",
	.run = run,
};
