/* pmanalyze comm: communication by communicator and function, its bandwidths, and the last to arrive. */
#include "cmd_common.h"
#include "analyses/comm_inspector.h"
#include "analyses/comm_table.h"

#include <err.h>
#include <inttypes.h>
#include <string.h>

static void rank_table(struct print_table *table, const struct comm *comm)
{
	size_t number = print_column(table, "comm", "comm", PRINT_COUNT);
	size_t hash = print_column(table, "hash", NULL, PRINT_WORD);
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t count = print_column(table, "count", "count", PRINT_COUNT);
	size_t wait = print_column(table, "waiting", "waiting", PRINT_TIME);
	size_t caused = print_column(table, "wait_caused", "wait caused", PRINT_TIME);
	size_t last_count = print_column(table, "last_count", "last", PRINT_COUNT);
	size_t last = print_column(table, "last", "share", PRINT_SHARE);

	for (size_t i = 0; i < comm->rank_count; i++) {
		const struct comm_rank *item = &comm->ranks[i];

		table->rule = i > 0 && item->number != item[-1].number;
		print_row(table);
		print_number(table, number, item->number);
		print_word(table, hash, arena_format(table->arena, "%016" PRIx64, item->hash));
		print_number(table, rank, item->rank);
		print_number(table, count, (double)item->count);
		print_number(table, wait, item->wait_ns);
		print_number(table, caused, item->wait_caused_ns);
		print_number(table, last_count, (double)item->last_count);
		print_number(table, last, (double)item->last_count / (double)item->count);
	}
}

/* Of a run of which no iteration can be left out either, its only one, all units count. */
static size_t skip_of(const struct run *run, const struct cmd_options *options)
{
	const struct analysis *analysis = &run->analysis;

	for (size_t i = 0; i < analysis->worker_count; i++)
		if (analysis->workers[i].iterations.count != 1)
			return options->skip;
	return analysis->worker_count ? 0 : options->skip;
}

static void print_tables(struct comm *comm, enum print_form form, cJSON *object, FILE *out)
{
	static const char *const keys[] = {"calls", "ranks"};
	static const char *const titles[] = {
		"Calls: bandwidths in GB/s, mean times per call or group", "Ranks: mean times per call or group"};

	if (form == PRINT_TEXT && comm->row_count == 0)
		fputs("No communication.\n", out);
	for (int i = 0; i < 2; i++) {
		struct print_table table;

		print_init(&table, &comm->arena);
		if (i == 0)
			comm_call_table(&table, comm);
		else
			rank_table(&table, comm);
		if (form != PRINT_TEXT || table.row_count > 0)
			print_part(&table, form, object, keys[i], titles[i], i > 0 || form == PRINT_TEXT, out);
		print_free(&table);
	}
}

static void print_run(struct run *run, const struct cmd_options *options, cJSON *list, FILE *out)
{
	const struct timeline *timeline = &run->analysis.timeline;
	struct arena *arena = &run->analysis.timeline.arena;
	cJSON *object = list ? cJSON_CreateObject() : NULL;
	struct comm comm;

	comm_find(timeline, &run->analysis.collectives, run->analysis.wait_ns, skip_of(run, options), &comm);
	if (options->form == PRINT_TEXT) {
		print_heading(arena_format(arena, "%s: %zu process%s", print_clean(arena, run->label),
				      timeline->process_count, timeline->process_count == 1 ? "" : "es"),
			out);
		run_print_device(run, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		run_device_json(run, object);
	}
	print_tables(&comm, options->form, object, out);
	if (object)
		cJSON_AddItemToArray(list, object);
	comm_free(&comm);
}

/* Logs of NCCL Inspector; false: one of the paths is none. */
static bool are_logs(char **paths, size_t path_count)
{
	for (size_t i = 0; i < path_count; i++)
		if (!inspector_is(paths[i]))
			return false;
	return true;
}

static int run_logs(char **paths, size_t path_count, const struct cmd_options *options)
{
	cJSON *object = options->form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	cJSON *job = object ? cJSON_CreateObject() : NULL;
	struct inspector_log log = {0};
	struct comm comm;
	int status = 0;

	for (size_t i = 0; i < path_count; i++) {
		const char *wrong = inspector_read(&log, paths[i]);

		if (wrong)
			warnx("%s", wrong);
		status |= wrong != NULL;
	}
	comm_inspector_find(&log, options->skip, &comm);
	if (options->form == PRINT_TEXT) {
		print_heading(arena_format(&comm.arena, "%s: %zu collectives of NCCL Inspector's logs",
				      print_clean(&comm.arena, paths[0]), log.count),
			stdout);
		print_paragraph("The logs have no clock that ranks share: what a rank takes longer than the quickest is "
				"waiting for that one, which came last.",
			2, stdout);
	}
	if (job) {
		cJSON_AddStringToObject(job, "run", print_clean(&comm.arena, paths[0]));
		cJSON_AddItemToArray(cJSON_AddArrayToObject(object, "runs"), job);
	}
	print_tables(&comm, options->form, job, stdout);
	if (object)
		print_json_end(object, stdout);
	fflush(stdout);
	if (log.odd)
		warnx("%zu line%s of the logs %s no collective, or break%s off", log.odd, log.odd == 1 ? "" : "s",
			log.odd == 1 ? "is" : "are", log.odd == 1 ? "s" : "");
	comm_free(&comm);
	status |= log.count == 0;
	inspector_free(&log);
	return status;
}

static int run_comm(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option;

	while ((option = command_option(&cmd_comm, argument_count, arguments)) != -1)
		if (!cmd_common_option(&cmd_comm, &how, option, optarg))
			command_unhandled(&cmd_comm, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_comm, "no run given");
	if (are_logs(arguments + optind, (size_t)(argument_count - optind)))
		return run_logs(arguments + optind, (size_t)(argument_count - optind), &how);
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.form == PRINT_JSON) {
		object = cJSON_CreateObject();
		list = cJSON_AddArrayToObject(object, "runs");
	}
	for (size_t i = 0; i < run_count; i++) {
		if (i > 0 && how.form != PRINT_JSON)
			fputc('\n', stdout);
		print_run(&runs[i], &how, list, stdout);
	}
	cmd_end_runs(object, runs, run_count);
	return 0;
}

static const struct option_row rows[] = {
	{"skip", CMD_OPTION_SKIP, "N",
		"leave out the first N units of each row (default: 1; none where the run has a "
		"single iteration)"},
	{"json", CMD_JSON, NULL, "the same as JSON; times in ns, bandwidths in GB/s"},
	{"csv", CMD_CSV, NULL, "the two tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_comm = {
	.name = "comm",
	.summary = "communication: bytes, waiting, bandwidths, last to arrive",
	.usage = "[OPTION]... RUN...",
	.about = "Prints for each run one row per communicator, function and size, in powers of "
		 "two where all ranks give the same size; the largest first. A unit is a call, or "
		 "the calls of a group on the communicator, which run as one (\"5 AllReduce\"). "
		 "Another profiler's kernels are called as the program's range around their launch "
		 "calls them (nccl:all_to_all), which the kernel's name need not say. Collectives "
		 "are matched over ranks by communicator, function and sequence number.\n"
		 "Logs of NCCL Inspector (files, or a folder of them) are read too: they have no times that "
		 "ranks share, so what a rank takes longer than the quickest is waiting for that one.\n"
		 "\n"
		 "  comm, n\tcommunicator, in order of first use, and its ranks\n"
		 "  count\tunits, counted once for all ranks\n"
		 "  bytes\tsize S of a unit: of a call's buffer; for AllGather, ReduceScatter, "
		 "AlltoAll, Gather and Scatter n times one part; of a group the sum, of Send and "
		 "Recv in it the greater sum\n"
		 "  time\tper unit on a rank: wait + move\n"
		 "  wait\tuntil its last rank has started: no data moves before; - where ranks "
		 "could not be matched\n"
		 "  move\tfrom then on: the transfer\n"
		 "  algbw\tS / move\n"
		 "  busbw\talgbw times a factor, comparable with the link bandwidth for any n: "
		 "AllReduce 2(n-1)/n; AllGather, ReduceScatter, AlltoAll, Gather, Scatter (n-1)/n; "
		 "Broadcast, Reduce, Send, Recv 1\n"
		 "  last\tthe rank (of the communicator) most often last to arrive, and its share "
		 "of the units\n"
		 "\n"
		 "Then for each rank the time it waits, the time the others, summed, wait for it "
		 "(wait caused), and the number of units in which it is last to arrive.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 no trace, 2 usage error.\n",
	.run = run_comm,
};
