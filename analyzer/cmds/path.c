/* pmanalyze path: the critical path of an iteration over all ranks. */
#include "cmd_common.h"
#include "analyses/replay/critical.h"
#include "analyses/replay/whatif.h"
#include "output/report.h"

#include <math.h>
#include <stdint.h>

struct path_options {
	struct cmd_options common;
	size_t most; /* iterations; 0: not given */
	size_t top;  /* segments in text */
};

/* What the tables are made of. */
struct shown {
	struct analysis *analysis;
	const struct replay_job *job;
	const struct critical *critical;
	size_t top;
};

static void phase_table(struct print_table *table, const struct shown *shown)
{
	const struct critical_path *mean = &shown->critical->mean;
	size_t name = print_column(table, "phase", "phase", PRINT_WORD);
	size_t time = print_column(table, "path", "path", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);

	for (enum phase phase = 0; phase < PHASE_COUNT; phase++) {
		if (!(mean->phases_ns[phase] > 0))
			continue;
		print_row(table);
		print_term(table, name, phase_keys[phase], phase_titles[phase]);
		print_number(table, time, mean->phases_ns[phase]);
		print_number(table, share, mean->phases_ns[phase] / mean->length_ns);
	}
	table->rule = true;
	print_row(table);
	print_word(table, name, "path");
	print_number(table, time, mean->length_ns);
	print_number(table, share, 1);
}

static void rank_table(struct print_table *table, const struct shown *shown)
{
	const struct critical *critical = shown->critical;
	size_t name = print_column(table, "worker", "rank", PRINT_WORD);
	size_t time = print_column(table, "path", "path", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t ends = print_column(table, "ends", "ends on it", PRINT_SHARE);

	for (size_t w = 0; w < shown->analysis->worker_count; w++) {
		size_t count = 0;

		for (size_t i = 0; i < critical->iteration_count; i++)
			count += critical->iterations[i].last == w;
		print_row(table);
		print_word(table, name, analysis_worker_name(shown->analysis, &shown->analysis->workers[w]));
		print_number(table, time, critical->mean.workers_ns[w]);
		print_number(table, share, critical->mean.workers_ns[w] / critical->mean.length_ns);
		print_number(table, ends, (double)count / (double)critical->iteration_count);
	}
}

/* A layer has no time of its own where that is part of a graph's, and no communication where it has no
 * parameters; infinite slack is left empty. */
static void layer_table(struct print_table *table, const struct shown *shown)
{
	const struct critical *critical = shown->critical;
	struct arena *arena = table->arena;
	size_t name = print_column(table, "layer", "layer", PRINT_WORD);
	size_t compute = print_column(table, "computing", "computing", PRINT_TIME);
	size_t messages = print_column(table, "communication", "t_c", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t slack = print_column(table, "computing_slack", "slack", PRINT_TIME);
	size_t message_slack = print_column(table, "communication_slack", "slack of t_c", PRINT_TIME);

	for (size_t l = 0; l < critical->layer_count; l++) {
		const struct critical_layer *layer = &critical->layers[l];
		double on_path_ns = critical->mean.layers_ns[l] + critical->mean.messages_ns[l];

		print_row(table);
		print_word(table, name, print_clean(arena, layer_title(shown->job->layers[l].layer)));
		if (!isnan(layer->compute_slack_ns))
			print_number(table, compute, critical->mean.layers_ns[l]);
		if (!isnan(layer->message_slack_ns))
			print_number(table, messages, critical->mean.messages_ns[l]);
		print_number(table, share, on_path_ns / critical->mean.length_ns);
		if (isfinite(layer->compute_slack_ns))
			print_number(table, slack, layer->compute_slack_ns);
		if (isfinite(layer->message_slack_ns))
			print_number(table, message_slack, layer->message_slack_ns);
	}
}

static void segment_table(struct print_table *table, const struct shown *shown)
{
	const struct critical *critical = shown->critical;
	size_t worker = print_column(table, "worker", "rank", PRINT_WORD);
	size_t layer = print_column(table, "layer", "layer", PRINT_WORD);
	size_t phase = print_column(table, "phase", "phase", PRINT_WORD);
	size_t time = print_column(table, "path", "path", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t count = print_column(table, "count", "stretches", PRINT_REAL);

	for (size_t i = 0; i < critical->segment_count && i < shown->top; i++) {
		const struct critical_segment *segment = &critical->segments[i];

		print_row(table);
		print_word(table, worker,
			analysis_worker_name(shown->analysis, &shown->analysis->workers[segment->worker]));
		if (segment->layer != REPLAY_NONE)
			print_word(table, layer,
				print_clean(
					table->arena, layer_title(shown->job->layers[segment->layer].layer)));
		print_term(table, phase, phase_keys[segment->phase], phase_titles[segment->phase]);
		print_number(table, time, segment->ns);
		print_number(table, share, segment->ns / critical->mean.length_ns);
		print_number(table, count, segment->count);
	}
}

static void iteration_table(struct print_table *table, const struct shown *shown)
{
	const struct critical *critical = shown->critical;
	size_t number = print_column(table, "iteration", "iteration", PRINT_COUNT);
	size_t worker = print_column(table, "worker", "ends on", PRINT_WORD);
	size_t length = print_column(table, "path", "path", PRINT_TIME);
	size_t crossings = print_column(table, "crossings", NULL, PRINT_COUNT);
	size_t phases[PHASE_COUNT];
	size_t busy = print_column(table, "communication_busy", "t_c busy", PRINT_TIME);
	size_t exposed = print_column(table, "communication_exposed", "exposed", PRINT_TIME);
	size_t hidden = print_column(table, "communication_hidden", "hidden", PRINT_SHARE);

	for (int p = 0; p < PHASE_COUNT; p++)
		phases[p] = print_column(table, phase_keys[p],
			p == PHASE_FORWARD || p == PHASE_BACKWARD || p == PHASE_COMMUNICATION
				? phase_symbols[p]
				: NULL,
			PRINT_TIME);
	for (size_t i = 0; i < critical->iteration_count; i++) {
		const struct critical_path *path = &critical->iterations[i];

		print_row(table);
		print_number(table, number,
			(double)analysis_number(shown->analysis, &shown->analysis->workers[0],
				shown->analysis->workers[0].used[shown->job->first_used + i]));
		print_word(table, worker,
			analysis_worker_name(shown->analysis, &shown->analysis->workers[path->last]));
		print_number(table, length, path->length_ns);
		print_number(table, crossings, (double)path->crossings);
		for (int p = 0; p < PHASE_COUNT; p++)
			print_number(table, phases[p], path->phases_ns[p]);
		print_number(table, busy, path->busy_ns);
		print_number(table, exposed, path->exposed_ns);
		if (path->busy_ns > 0)
			print_number(table, hidden, 1 - path->exposed_ns / path->busy_ns);
	}
}

static void print_tables(
	const struct shown *shown, const struct path_options *options, cJSON *object, FILE *out)
{
	static const struct {
		const char *key, *title;
		void (*make)(struct print_table *table, const struct shown *shown);
	} tables[] = {
		{"phases", "The critical path by phase, mean of an iteration", phase_table},
		{"ranks", "By rank", rank_table},
		{"layers", "By layer", layer_table},
		{"segments", "Longest segments", segment_table},
		{"iterations", "Iterations", iteration_table},
	};
	size_t count = sizeof(tables) / sizeof(*tables);

	if (!options->common.iterations && options->common.form != PRINT_JSON)
		count--;
	for (size_t i = 0; i < count; i++) {
		struct print_table table;

		print_init(&table, &shown->analysis->timeline.arena);
		tables[i].make(&table, shown);
		if (options->common.form != PRINT_TEXT || table.row_count > 0)
			print_part(&table, options->common.form, object, tables[i].key, tables[i].title,
				i > 0 || options->common.form == PRINT_TEXT, out);
		print_free(&table);
	}
}

static void print_about(const struct shown *shown, FILE *out)
{
	const struct critical *critical = shown->critical;
	const struct replay_job *job = shown->job;
	struct arena *arena = &shown->analysis->timeline.arena;
	const struct critical_path *mean = &critical->mean;

	fputc('\n', out);
	if (mean->busy_ns > 0)
		print_paragraph(arena_format(arena,
					"Communication: %s of an iteration, mean over ranks; %s (%.0f%%) is "
					"exposed, %s hidden by computation.",
					print_time(arena, mean->busy_ns), print_time(arena, mean->exposed_ns),
					mean->exposed_ns / mean->busy_ns * 100,
					print_time(arena, mean->busy_ns - mean->exposed_ns)),
			2, out);
	if (mean->length_ns < 0.98 * critical->measured_ns)
		print_paragraph(
			"The path is shorter than an iteration: it begins with the iteration of the rank "
			"that it begins on, and those of other ranks had begun before.",
			2, out);
	print_paragraph(
		arena_format(arena,
			"Iteration: %s measured, %s replayed (%+.2f%%), over %zu of %zu iterations; "
			"measured times contradict %zu of %zu dependencies, %zu left out.",
			print_time(arena, critical->measured_ns), print_time(arena, critical->replayed_ns),
			(critical->replayed_ns / critical->measured_ns - 1) * 100, critical->iteration_count,
			replay_iterations(shown->analysis), job->negative_count, job->replay.edge_count,
			job->cycle_count),
		2, out);
}

static void add_facts(cJSON *object, const struct shown *shown)
{
	const struct critical *critical = shown->critical;

	cJSON_AddNumberToObject(object, "path_ns", critical->mean.length_ns);
	cJSON_AddNumberToObject(object, "measured_ns", critical->measured_ns);
	cJSON_AddNumberToObject(object, "replayed_ns", critical->replayed_ns);
	cJSON_AddNumberToObject(object, "replay_error", critical->replayed_ns / critical->measured_ns - 1);
	cJSON_AddNumberToObject(object, "communication_busy_ns", critical->mean.busy_ns);
	cJSON_AddNumberToObject(object, "communication_exposed_ns", critical->mean.exposed_ns);
	cJSON_AddNumberToObject(object, "dependencies", (double)shown->job->replay.edge_count);
	cJSON_AddNumberToObject(object, "contradicted", (double)shown->job->negative_count);
	cJSON_AddNumberToObject(object, "left_out", (double)shown->job->cycle_count);
}

/* -1: there is no path. */
static int print_run(struct run *run, const struct path_options *options, cJSON *list, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	enum print_form form = options->common.form;
	cJSON *object = list ? cJSON_CreateObject() : NULL;
	struct replay_job job;
	struct critical critical;
	struct shown shown = {analysis, &job, &critical, form == PRINT_TEXT ? options->top : SIZE_MAX};
	int status;

	if (form == PRINT_TEXT) {
		print_heading(arena_format(arena, "%s: %zu GPU%s", print_clean(arena, run->label),
				      analysis->worker_count, analysis->worker_count == 1 ? "" : "s"),
			out);
		run_print_device(run, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		run_device_json(run, object);
		cJSON_AddItemToArray(list, object);
	}
	cmd_findings(run, form, object, out);
	if (cmd_labels_alone(run, object, form == PRINT_TEXT ? out : stderr))
		return -1;
	replay_build(analysis, options->most ? options->most : whatif_most(analysis), &job);
	critical_find(&job, true, &critical);
	if (critical.iteration_count > 0) {
		if (object)
			add_facts(object, &shown);
		print_tables(&shown, options, object, out);
		if (form == PRINT_TEXT)
			print_about(&shown, out);
	}
	status = critical.iteration_count > 0 ? 0 : -1;
	critical_free(&critical);
	replay_job_free(&job);
	return status;
}

enum { OPTION_ITERATIONS = OPTION_FIRST, OPTION_SAMPLE, OPTION_TOP };

static int run_path(int argument_count, char **arguments)
{
	struct path_options how = {.common.skip = ANALYSIS_SKIP, .top = 10};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option, status = 0;

	while ((option = command_option(&cmd_path, argument_count, arguments)) != -1) {
		if (option == OPTION_ITERATIONS)
			how.common.iterations = true;
		else if (option == OPTION_SAMPLE)
			how.most = command_count(&cmd_path, option, optarg, 1, SIZE_MAX);
		else if (option == OPTION_TOP)
			how.top = command_count(&cmd_path, option, optarg, 1, SIZE_MAX);
		else if (!cmd_common_option(&cmd_path, &how.common, option, optarg))
			command_unhandled(&cmd_path, option);
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_path, "no run given");
	runs = cmd_read_runs(&how.common, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.common.form == PRINT_JSON) {
		object = cJSON_CreateObject();
		list = cJSON_AddArrayToObject(object, "runs");
	}
	for (size_t i = 0; i < run_count; i++) {
		if (i > 0 && how.common.form != PRINT_JSON)
			fputc('\n', stdout);
		if (print_run(&runs[i], &how, list, stdout))
			status = 1;
	}
	cmd_end_runs(object, runs, run_count);
	return status;
}

static const struct option_row rows[] = {
	{"iterations", OPTION_ITERATIONS, NULL,
		"also a row per iteration: the rank at its end, its path, communication busy, "
		"exposed, and the share that is hidden (JSON always has them, with all phases)"},
	{"sample", OPTION_SAMPLE, "N",
		"at most N iterations, from the middle of the run (default: up to 500,000 "
		"tasks, at least 8 iterations)"},
	{"top", OPTION_TOP, "N", "segments in text (default: 10)"},
	{"json", CMD_JSON, NULL, "the same as JSON; times in ns"},
	{"csv", CMD_CSV, NULL, "the tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_path = {
	.name = "path",
	.summary = "the critical path of an iteration over all ranks",
	.usage = "[OPTION]... RUN...",
	.about = "Starts at the end of the last iteration, on the last rank to finish, and goes "
		 "back through what each piece of work waited for: the preceding work in its queue "
		 "or in another, the call that enqueued it, the last rank of a collective, the "
		 "other end of a message; split where iterations start. Each instant belongs to "
		 "one rank and one phase; work that the next iteration does not wait for is not on "
		 "the path. Prints its composition, as the mean of an iteration:\n"
		 "\n"
		 "  by phase\tof idle time: \"host\", the host makes its calls, or has yet to; "
		 "\"queue\", from the launch or the preceding work to the start; \"sync\", the host "
		 "resumes after waiting for the device\n"
		 "  by rank\tand the share of iterations that end on it\n"
		 "  by layer\tcomputing and communication (t_c) on the path; slack is how much "
		 "longer the layer could take on all ranks, or its communication, before the mean "
		 "iteration grows by 0.1%; empty where 64× changes nothing\n"
		 "  by segment\trank, layer and phase, the longest first\n"
		 "\n"
		 "Communication is exposed where no forward, backward or update work of the same "
		 "rank overlaps it.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n",
	.run = run_path,
};
