/* pmanalyze whatif: what changing one thing would save. */
#include "cmd_common.h"
#include "whatif_show.h"
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
	struct whatif_change *changes; /* of the items, once a run has their names */
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

static void ask_standard(
	const struct analysis *analysis, size_t most, double factor, struct whatif_list *list)
{
	struct replay_job job;

	replay_build(analysis, most, &job);
	whatif_standard(&job, factor, list);
	replay_job_free(&job);
}

static void ask(struct run *run, struct questions *questions, struct whatif_list *list)
{
	const struct analysis *analysis = &run->analysis;
	size_t most = questions->most ? questions->most : whatif_most(analysis);

	free(questions->changes);
	questions->changes = mem_alloc(questions->count, sizeof(*questions->changes));
	for (size_t i = 0; i < questions->count; i++) {
		if (questions->items[i].name)
			find_name(run, &questions->items[i]);
		questions->changes[i] = questions->items[i].change;
	}
	if (questions->count)
		whatif_together(analysis, most, questions->changes, questions->count, list);
	else
		ask_standard(analysis, most, questions->factor, list);
}

static void print_head(
	struct finding_list *findings, struct run *run, enum print_form form, cJSON *object, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;

	if (form == PRINT_TEXT) {
		print_heading(arena_format(arena, "%s: %zu GPU%s", print_clean(arena, run->label),
				      analysis->worker_count, analysis->worker_count == 1 ? "" : "s"),
			out);
		run_print_device(run, out);
		findings_print_first(findings, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		run_device_json(run, object);
		findings_json(findings, object);
	}
}

/* -1: nothing could be replayed. */
static int print_run(
	struct run *run, struct questions *questions, enum print_form form, cJSON *runs, FILE *out)
{
	cJSON *object = runs ? cJSON_CreateObject() : NULL;
	struct finding_list findings;
	struct whatif_list list = {0};
	bool replayed = false;

	/* Before anything is printed: it may end the program. */
	if (!imported_timeline_is_labels(&run->analysis.timeline))
		ask(run, questions, &list);
	if (object)
		cJSON_AddItemToArray(runs, object);
	findings_find(&run->analysis, &findings);
	print_head(&findings, run, form, object, out);
	if (!cmd_labels_alone(run, object, form == PRINT_TEXT ? out : stderr)) {
		whatif_show(&(struct whatif_show){&findings, &list, questions->changes, questions->count,
				    questions->top},
			form, object, out);
		replayed = list.iteration_count > 0;
		whatif_list_free(&list);
	}
	findings_free(&findings);
	return replayed ? 0 : -1;
}

static int run_whatif(int argument_count, char **arguments)
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
	free(questions.changes);
	return status;
}

static const struct option_row rows[] = {
	{"factor", OPTION_FACTOR, "K",
		"speed-up of layers and communication (default: 2; below 1 is slower, at least "
		"0.001)"},
	{"sample", OPTION_SAMPLE, "N",
		"replay at most N iterations, from the middle of the run (default: up to 500,000 "
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
		 "A finding bounds what curing one cause gains; a change may remove more, and then a "
		 "sentence below the table says why. In JSON and CSV: findings, the numbers of those "
		 "about the change as pmanalyze report lists them; found_ns, what they gain together; "
		 "why_more, where the change gains over 1% of a step more.\n"
		 "\n"
		 "Exit status: 0 success, 1 no trace or no iterations, 2 usage error or no such "
		 "layer or rank.\n",
	.run = run_whatif,
};
