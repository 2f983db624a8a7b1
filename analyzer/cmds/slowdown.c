/* pmanalyze slowdown: how much slower a job of labelled phases runs than it would if its work were even, and
 * why. */
#include "cmd.h"
#include "analyses/slowdown/slowdown_table.h"
#include "base/limit.h"
#include "base/progress.h"
#include "import/imported.h"

#include <err.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WORTHWHILE 1.01 /* speed-up: of less, even stages are not spoken of */

/* The run as a graph may differ from the measurement by this share. */
#define TRUSTED 0.05

/* Longer tables are for programs. */
#define TEXT_ROWS 64

#define MOST_RANKS 1000000

struct options {
	enum print_form form;
	int32_t stages, tensors;
	double least;
	bool table;                        /* of steps, in text too */
	bool whole;                        /* with warm-up */
	int32_t first_number, last_number; /* of the steps to keep; last < first: all */
};

static int compare_numbers(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return one < other ? -1 : one > other;
}

static const char *spread_words(struct slowdown *slowdown)
{
	double *values = mem_alloc(slowdown->step_count, sizeof(*values));
	size_t last = slowdown->step_count - 1;
	const char *text;

	for (size_t i = 0; i <= last; i++)
		values[i] = slowdown->steps[i].replayed_ns / slowdown->steps[i].ideal_ns;
	qsort(values, last + 1, sizeof(*values), compare_numbers);
	text = arena_format(&slowdown->arena, "S of the steps: min %.3f, median %.3f, P90 %.3f, max %.3f.",
		values[0], (values[last / 2] + values[(last + 1) / 2]) / 2, values[last * 9 / 10],
		values[last]);
	free(values);
	return text;
}

static const char *share_words(struct slowdown *slowdown, double share)
{
	return isfinite(share) ? arena_format(&slowdown->arena, "%.1f%%", 100 * share) : "-";
}

static void print_summary(struct slowdown *slowdown, FILE *out)
{
	const struct labelled *job = slowdown->job;
	struct arena *arena = &slowdown->arena;

	print_heading(arena_format(arena, "Slowdown S = %.4f", slowdown->slowdown), out);
	print_paragraph(
		arena_format(arena,
			"%zu worker%s (%d data x %d pipeline x %d tensor), %zu step%s; a mean step takes "
			"%s as measured, %s (T) without the time outside labels, %s (T ideal) with "
			"balanced durations.",
			job->worker_count, job->worker_count == 1 ? "" : "s", job->data_count,
			job->stage_count, job->tensor_count, job->step_count, job->step_count == 1 ? "" : "s",
			print_time(arena, slowdown->measured_ns), print_time(arena, slowdown->replayed_ns),
			print_time(arena, slowdown->ideal_ns)),
		0, out);
	print_paragraph(spread_words(slowdown), 0, out);
	print_paragraph(
		arena_format(arena,
			"M_W %s: explained by the worst %zu of %zu workers (first %s). M_S %s: explained "
			"by the last stage.",
			share_words(slowdown, slowdown->worst_explained), slowdown->worst_count,
			job->worker_count, slowdown->workers[slowdown->worst].name,
			share_words(slowdown, slowdown->last_explained)),
		0, out);
	fputc('\n', out);
	print_heading("Cause", out);
	print_paragraph(slowdown->cause_words, 0, out);
	print_paragraph(arena_format(arena, "Recurring straggler: %s.",
				slowdown->recurring ? slowdown->recurring : "none"),
		0, out);
	if (slowdown->stage_count > 1 &&
		slowdown->replayed_ns >= WORTHWHILE * slowdown->effect_ns[SLOWDOWN_STAGES])
		print_paragraph(
			arena_format(arena,
				"With forward and backward partitioned evenly over the stages: %s per "
				"step, speed-up %.3f×.",
				print_time(arena, slowdown->effect_ns[SLOWDOWN_STAGES]),
				slowdown->replayed_ns / slowdown->effect_ns[SLOWDOWN_STAGES]),
			0, out);
}

/* S of each worker: stages to the right, data (and tensor) ranks below. */
static void print_map(struct slowdown *slowdown, FILE *out)
{
	static const char shades[] = " .:-=+*#%@";
	const struct labelled *job = slowdown->job;
	double least = INFINITY, greatest = -INFINITY;
	size_t next;

	if (job->worker_count < 2 || job->stage_count > 16 || job->lane_count > 64)
		return;
	for (size_t i = 0; i < job->worker_count; i++) {
		if (!isfinite(slowdown->workers[i].slowdown))
			return;
		least = fmin(least, slowdown->workers[i].slowdown);
		greatest = fmax(greatest, slowdown->workers[i].slowdown);
	}
	fputc('\n', out);
	print_heading("S of each worker: stages to the right, data ranks below", out);
	fputs("      ", out);
	for (int32_t stage = 0; stage < job->stage_count; stage++)
		fprintf(out, " pp%-6d", stage);
	for (int32_t lane = 0; lane < job->lane_count; lane++) {
		fprintf(out, "\ndp%-4d", lane / job->tensor_count);
		for (int32_t stage = 0; stage < job->stage_count; stage++) {
			for (next = 0; next < job->worker_count; next++)
				if (job->workers[next].stage == stage && job->workers[next].lane == lane)
					break;
			if (next == job->worker_count) {
				fputs("   -     ", out);
				continue;
			}
			double part = greatest - least > 0.005 ? (slowdown->workers[next].slowdown - least) /
									 (greatest - least)
							       : 0;

			fprintf(out, " %c %.3f ", shades[(int)(part * 9)], slowdown->workers[next].slowdown);
		}
	}
	fputc('\n', out);
}

/* In text the stages and data ranks only where there are several, and what is long only if asked for. */
static bool shows(const struct slowdown *slowdown, const struct options *options, unsigned which)
{
	switch (which) {
	case SLOWDOWN_TABLE_STAGES:
		return slowdown->stage_count > 1;
	case SLOWDOWN_TABLE_DATA:
		return slowdown->data_count > 1 && slowdown->data_count <= TEXT_ROWS;
	case SLOWDOWN_TABLE_WORKERS:
		return slowdown->worker_count <= TEXT_ROWS;
	case SLOWDOWN_TABLE_STEPS:
		return options->table;
	default:
		return true;
	}
}

static void print_tables(struct slowdown *slowdown, const struct options *options, cJSON *object, FILE *out)
{
	for (unsigned which = 0; which < SLOWDOWN_TABLES; which++) {
		struct print_table table;

		if (options->form == PRINT_TEXT && !shows(slowdown, options, which))
			continue;
		print_init(&table, &slowdown->arena);
		slowdown_table(&table, slowdown, which, options->form);
		print_part(&table, options->form, object, slowdown_table_key(which),
			slowdown_table_title(which), which > 0 || options->form == PRINT_TEXT, out);
		print_free(&table);
	}
	if (options->form == PRINT_TEXT) {
		fputc('\n', out);
		print_paragraph(
			"S below 1 and a negative share: the part takes less than the mean of its kind, and "
			"makes up for some of what others take more; balancing it alone gains nothing.",
			0, out);
	}
}

static void add_number(cJSON *object, const char *key, double number)
{
	if (isfinite(number))
		cJSON_AddNumberToObject(object, key, number);
	else
		cJSON_AddNullToObject(object, key);
}

static cJSON *summary(const struct slowdown *slowdown, const struct labelled *job)
{
	cJSON *object = cJSON_CreateObject(), *list;

	add_number(object, "slowdown", slowdown->slowdown);
	add_number(object, "launch_slowdown", slowdown->launch_slowdown);
	add_number(object, "measured_ns", slowdown->measured_ns);
	add_number(object, "replayed_ns", slowdown->replayed_ns);
	add_number(object, "ideal_ns", slowdown->ideal_ns);
	add_number(object, "worst_workers_explained", slowdown->worst_explained);
	add_number(object, "worst_workers", (double)slowdown->worst_count);
	cJSON_AddStringToObject(object, "worst_worker", slowdown->workers[slowdown->worst].name);
	add_number(object, "last_stage_explained", slowdown->last_explained);
	cJSON_AddStringToObject(object, "cause", slowdown_effect_key(slowdown->cause));
	cJSON_AddStringToObject(object, "cause_words", slowdown->cause_words);
	if (slowdown->recurring)
		cJSON_AddStringToObject(object, "recurring_straggler", slowdown->recurring);
	else
		cJSON_AddNullToObject(object, "recurring_straggler");
	add_number(object, "even_partition_ns",
		slowdown->stage_count > 1 ? slowdown->effect_ns[SLOWDOWN_STAGES] : (double)NAN);
	add_number(object, "data_parallel", job->data_count);
	add_number(object, "pipeline_parallel", job->stage_count);
	add_number(object, "tensor_parallel", job->tensor_count);
	list = cJSON_AddArrayToObject(object, "warnings");
	for (size_t i = 0; i < job->warning_count; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(job->warnings[i]));
	return object;
}

static void read_all(struct labelled *job, const struct options *options, char **paths, size_t path_count)
{
	const char **files, *error = NULL;
	struct progress progress;
	size_t file_count, failed = 0;

	if (!imported_files(&job->arena, paths, path_count, &files, &file_count, &error))
		errx(1, "%s", error);
	progress_begin(&progress, "reading");
	progress_expect(&progress, file_count);
	for (size_t i = 0; i < file_count; i++) {
		if (labelled_read(job, files[i], &error) < 0) {
			failed++;
			labelled_warn(job, "%s", error);
		}
		progress_step(&progress);
	}
	progress_end(&progress);
	/* A profiler's trace has a few names that look like labels, and thousands of others. */
	if (failed < file_count && job->passed > 4 * (uint64_t)job->operation_count)
		errx(1,
			"%s: %" PRIu64 " of %" PRIu64 " events have unknown labels, such as \"%s\": not a "
			"trace of labelled phases; pmanalyze report reads profiler traces",
			paths[0], job->passed, job->passed + (uint64_t)job->operation_count,
			print_clean(&job->arena, job->passed_name));
	if (failed < file_count && labelled_jobs(job, &error))
		errx(1, "%s", error);
	job->choose = options->last_number >= options->first_number;
	job->first_number = options->first_number;
	job->last_number = options->last_number;
	job->keep_warmup = options->whole;
	if (failed < file_count && labelled_settle(job, options->stages, options->tensors, &error) == 0)
		return;
	for (size_t i = 0; i < job->warning_count; i++)
		warnx("%s", job->warnings[i]);
	if (failed < file_count)
		errx(1, "%s: %s", file_count == 1 ? files[0] : paths[0], error);
	exit(1);
}

static void warn_of_graph(struct labelled *job, const struct labelled_graph *graph)
{
	if (job->refused)
		labelled_warn(job, "%" PRIu64 " events lack a time, their start or end and were skipped",
			job->refused);
	if (job->passed)
		labelled_warn(job, "%" PRIu64 " events have unknown labels, such as \"%s\"", job->passed,
			print_clean(&job->arena, job->passed_name));
	if (graph->unmatched)
		labelled_warn(job, "%zu sends or receives have no counterpart", graph->unmatched);
	if (graph->contradicted)
		labelled_warn(job, "%zu contradictory dependencies were left out", graph->contradicted);
}

/* Far from what was measured, the graph is not the job's. */
static void warn_of_times(struct labelled *job, const struct slowdown *slowdown)
{
	if (slowdown->launch_slowdown < 1 - TRUSTED)
		labelled_warn(job,
			"the replayed steps take %.2f× the measured time: workers are missing, or the job "
			"waits in a different order; these figures are not reliable",
			1 / slowdown->launch_slowdown);
	else if (slowdown->launch_slowdown > 1 + 2 * TRUSTED)
		labelled_warn(job, "the labels cover only %.1f%% of the step time",
			100 / slowdown->launch_slowdown);
}

/* "all", a number, or "A-B". */
static void take_steps(struct options *options, const char *text)
{
	char *end;
	long first, last;

	if (strcmp(text, "all") == 0) {
		options->whole = true;
		return;
	}
	first = last = strtol(text, &end, 10);
	if (end != text && *end == '-')
		last = strtol(end + 1, &end, 10);
	if (end == text || *end || first < 0 || last < first || last > INT32_MAX)
		cmd_usage(&cmd_slowdown, "--steps %s: expected all, a number, or A-B", text);
	options->first_number = (int32_t)first;
	options->last_number = (int32_t)last;
}

enum { OPTION_PIPELINE = OPTION_FIRST, OPTION_TENSOR, OPTION_LEAST, OPTION_STEPS, OPTION_TABLE };

static struct options take_options(int argument_count, char **arguments)
{
	struct options options = {.least = SLOWDOWN_LEAST, .last_number = -1};
	int option;

	while ((option = command_option(&cmd_slowdown, argument_count, arguments)) != -1) {
		if (option == OPTION_PIPELINE)
			options.stages = (int32_t)command_count(&cmd_slowdown, option, optarg, 1, MOST_RANKS);
		else if (option == OPTION_TENSOR)
			options.tensors =
				(int32_t)command_count(&cmd_slowdown, option, optarg, 1, MOST_RANKS);
		else if (option == OPTION_LEAST)
			options.least = command_number(&cmd_slowdown, option, optarg, 1, DBL_MAX);
		else if (option == OPTION_STEPS)
			take_steps(&options, optarg);
		else if (option == OPTION_TABLE)
			options.table = true;
		else if (!cmd_form_option(&options.form, option))
			command_unhandled(&cmd_slowdown, option);
	}
	if (options.tensors && !options.stages)
		cmd_usage(&cmd_slowdown, "--tensor needs --pipeline");
	if (optind >= argument_count)
		cmd_usage(&cmd_slowdown, "no trace given");
	return options;
}

static int run_slowdown(int argument_count, char **arguments)
{
	struct options options = take_options(argument_count, arguments);
	struct labelled job = {0};
	struct labelled_graph graph;
	struct slowdown slowdown;
	cJSON *object = NULL;

	read_all(&job, &options, arguments + optind, (size_t)(argument_count - optind));
	pm_limit_begin(job.files[0], 0, "operation");
	labelled_graph_make(&graph, &job);
	pm_limit_end();
	warn_of_graph(&job, &graph);
	slowdown_find(&slowdown, &job, &graph, options.least);
	warn_of_times(&job, &slowdown);
	if (options.form == PRINT_JSON)
		object = summary(&slowdown, &job);
	if (options.form == PRINT_TEXT)
		print_summary(&slowdown, stdout);
	print_tables(&slowdown, &options, object, stdout);
	if (options.form == PRINT_TEXT)
		print_map(&slowdown, stdout);
	if (object) {
		print_json_end(object, stdout);
	} else {
		fflush(stdout);
		for (size_t i = 0; i < job.warning_count; i++)
			warnx("%s", job.warnings[i]);
	}
	slowdown_free(&slowdown);
	labelled_graph_free(&graph);
	labelled_free(&job);
	return 0;
}

static const struct option_row rows[] = {
	{"least", OPTION_LEAST, "S", "minimum slowdown for which a cause is reported (default: 1.03)"},
	{"pipeline", OPTION_PIPELINE, "N",
		"ranks form N stages, in Megatron's order (tensor ranks adjacent, then data "
		"ranks, then stages); needed where the trace has rank numbers only (default: from "
		"the trace)"},
	{"tensor", OPTION_TENSOR, "N", "number of tensor ranks, with --pipeline (default: 1)"},
	{"steps", OPTION_STEPS, "A-B",
		"only the steps with these numbers; all: also steps at the start that take over "
		"1.5 times the median, which are left out as warm-up otherwise"},
	{"table", OPTION_TABLE, NULL, "the table of steps, in text too"},
	{"json", CMD_JSON, NULL, "everything as JSON; times in ns"},
	{"csv", CMD_CSV, NULL, "the six tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_slowdown = {
	.name = "slowdown",
	.summary = "traces of labelled phases: slowdown by imbalance, and its cause",
	.usage = "[OPTION]... TRACE...",
	.about =
		"A TRACE is a Chrome-trace JSON file (also *.gz) whose events label phases of a "
		"job, as Megatron-like frameworks write them, or a folder of such files, one per "
		"worker. Known labels are forward-compute, backward-compute, forward-send, "
		"forward-recv, backward-send, backward-recv (also both ways in one, as "
		"send-forward-recv-backward, and Megatron's spellings), params-all-gather, "
		"grads-reduce-scatter, allreduce, separate-grads-all-reduce, "
		"layernorm-grads-all-reduce, embedding-grads-all-reduce, "
		"optimizer-clip-main-grad, optimizer, gc. Others are skipped. Arguments of events "
		"may give step (or iteration), model_chunk, mb_id and the worker's place "
		"(dp_rank, pp_rank, tp_rank), as may names of threads and processes (\"PP rank 3\", "
		"\"DP0-PP1-TP0\") and names of files (data-0-pipeline-1-tensor-0). A folder of pipeline data as AMD's "
		"Primus dumps it (config.json, pp_rank_N.json) is a TRACE too.\n"
		"\n"
		"The job is replayed as a graph: computing waits for preceding computing and "
		"messages, data move once all participants have arrived.\n"
		"\n"
		"  T\tmean step time of that replay, with the measured durations; time outside "
		"labels is zero\n"
		"  T ideal\tthe same with each duration replaced by that of its type: the mean for "
		"computing and optimizer, the median for moving data\n"
		"  S\tT / T ideal; for a part (an operation, stage, data rank or worker): with its "
		"durations as measured and all others ideal\n"
		"  explains\t(T - T without) / (T - T ideal): T without has only the part's "
		"durations ideal. More than 100% where the part also raises the mean that others "
		"are compared with\n"
		"  M_W, M_S\texplained by the worst 3% of the workers, and by the last stage\n"
		"  computing\tforward and backward of a worker in a step; \"to mean\": relative to "
		"the mean of all; \"slowest\": share of the steps in which it alone is the longest\n"
		"\n"
		"The definitions are those of arXiv 2505.05713. The cause is the effect that "
		"explains most when it alone is removed, and at least 30%:\n"
		"\n"
		"  stage imbalance\tstages compute longer than others: repartition\n"
		"  slow worker\tworkers compute longer than others of their stage\n"
		"  operations vary\toperations of one worker take different times: micro-batches "
		"of different work, pauses\n"
		"  communication\tmoving data takes longer than the median of its type\n"
		"  garbage collection\twhere it is labelled\n"
		"  optimizer\n"
		"\n"
		"A recurring straggler is a stage, data rank or worker that computes longest in 3 "
		"of 4 steps, and 5% longer than the mean.\n",
	.options = OPTION_TABLES(rows),
	.after = "Text omits tables of more than 64 workers or data ranks; JSON and CSV do not. "
		 "With more than 128 workers, S of a worker is the minimum of its stage's and its "
		 "data rank's; with more than 128 data ranks, S is computed for those that compute "
		 "longest.\n"
		 "\n"
		 "Tensor ranks are treated as separate pipelines: waiting for each other inside "
		 "forward and backward counts as computing.\n"
		 "\n"
		 "Exit status: 0 success, 1 no readable trace or none with such labels, 2 usage "
		 "error.\n",
	.run = run_slowdown,
};
