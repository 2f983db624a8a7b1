/* pmanalyze arrivals: who keeps whom waiting at collectives, from traces of other profilers. */
#include "import/arrivals.h"
#include "cmd_imported.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct job {
	struct arrivals arrivals;
	size_t rows;
};

static void cmd_arrivals_take(
	struct cmd_imported *how, const struct imported *imported, uint32_t worker, void *row)
{
	(void)how;
	arrivals_take(imported, worker, row);
}

static void warn_of_matches(struct cmd_imported *how, const struct arrivals *arrivals)
{
	size_t unmatched = 0, pairwise = 0;

	for (size_t i = 0; i < arrivals->rank_count; i++) {
		unmatched += arrivals->ranks[i].unmatched;
		pairwise += arrivals->ranks[i].pairwise;
	}
	if (pairwise)
		cmd_imported_warn(how,
			arena_format(&how->arena,
				"%zu sends and receives between two ranks were skipped: the trace does not "
				"pair them",
				pairwise));
	if (arrivals->collective_count == 0)
		cmd_imported_warn(how, "no matching communication kernels on different ranks");
	if (unmatched)
		cmd_imported_warn(how,
			arena_format(&how->arena,
				"%zu communication kernel%s skipped: no counterpart on other ranks at the "
				"same time",
				unmatched, unmatched == 1 ? " was" : "s were"));
	if (arrivals->clocks_corrected)
		cmd_imported_warn(
			how, arena_format(&how->arena,
				     "the ranks' clocks disagree and were aligned by the ends of their "
				     "collectives; residual %s",
				     print_time(&how->arena, (double)arrivals->residual_ns)));
}

static void rank_table(struct print_table *table, const struct arrivals *arrivals)
{
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t kernels = print_column(table, "kernels", NULL, PRINT_COUNT);
	size_t wait = print_column(table, "waiting", "waiting", PRINT_TIME);
	size_t caused = print_column(table, "wait_caused", "wait caused", PRINT_TIME);
	size_t last = print_column(table, "last", "last to arrive", PRINT_COUNT);
	size_t part = print_column(table, "last_share", "", PRINT_SHARE);
	size_t launch = print_column(table, "launched_late", "launched late", PRINT_COUNT);
	size_t clock = print_column(table, "clock", arrivals->clocks_corrected ? "clock" : NULL, PRINT_TIME);

	for (size_t i = 0; i < arrivals->rank_count; i++) {
		const struct arrivals_rank *row = &arrivals->ranks[i];

		print_row(table);
		print_number(table, rank, row->rank);
		print_number(table, kernels, (double)row->kernel_count);
		print_number(table, wait, (double)row->wait_ns);
		print_number(table, caused, (double)row->wait_caused_ns);
		print_number(table, last, (double)row->last_count);
		if (arrivals->collective_count)
			print_number(
				table, part, (double)row->last_count / (double)arrivals->collective_count);
		print_number(table, launch, (double)row->launch_count);
		print_number(table, clock, (double)row->clock_ns);
	}
}

static int compare_waits(const void *a, const void *b)
{
	const struct arrivals_collective *one = *(const struct arrivals_collective *const *)a;
	const struct arrivals_collective *other = *(const struct arrivals_collective *const *)b;

	if (one->wait_ns != other->wait_ns)
		return one->wait_ns > other->wait_ns ? -1 : 1;
	return one < other ? -1 : one > other;
}

/* In text those that were waited for longest, else all in order. */
static void collective_table(
	struct print_table *table, const struct arrivals *arrivals, enum print_form form, size_t rows)
{
	size_t index = print_column(table, "index", "#", PRINT_COUNT);
	size_t name = print_column(table, "kernel", "kernel", PRINT_WORD);
	size_t ranks = print_column(table, "ranks", "ranks", PRINT_COUNT);
	size_t start = print_column(table, "start", "start", PRINT_TIME);
	size_t last = print_column(table, "last_rank", "last rank", PRINT_COUNT);
	size_t wait = print_column(table, "waiting", "waiting", PRINT_TIME);
	size_t transfer = print_column(table, "transfer", "transfer", PRINT_TIME);
	size_t spread = print_column(table, "end_spread", NULL, PRINT_TIME);
	size_t count = arrivals->collective_count;
	const struct arrivals_collective **list = mem_alloc(count, sizeof(*list));

	for (size_t i = 0; i < count; i++)
		list[i] = &arrivals->collectives[i];
	if (form == PRINT_TEXT && count > 0) {
		qsort(list, count, sizeof(*list), compare_waits);
		count = count < rows ? count : rows;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = list[i]->name;

		print_row(table);
		print_number(table, index, (double)(list[i] - arrivals->collectives));
		print_word(table, name,
			form == PRINT_TEXT && strlen(text) > 26 ? arena_format(table->arena, "%.23s...", text)
								: text);
		print_number(table, ranks, (double)list[i]->count);
		print_number(table, start, (double)(list[i]->begin_ns - arrivals->collectives[0].begin_ns));
		print_number(table, last, arrivals->ranks[list[i]->last].rank);
		print_number(table, wait, (double)list[i]->wait_ns);
		print_number(table, transfer, (double)list[i]->transfer_ns);
		print_number(table, spread, (double)list[i]->spread_ns);
	}
	free(list);
}

/* Each rank at each collective. */
static void arrival_table(struct print_table *table, const struct arrivals *arrivals)
{
	size_t index = print_column(table, "index", "#", PRINT_COUNT);
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t start = print_column(table, "start", "start", PRINT_TIME);
	size_t end = print_column(table, "end", "end", PRINT_TIME);
	size_t wait = print_column(table, "waiting", "waiting", PRINT_TIME);

	for (size_t i = 0; i < arrivals->collective_count; i++)
		for (size_t j = 0; j < arrivals->collectives[i].count; j++) {
			const struct arrivals_collective *collective = &arrivals->collectives[i];
			const struct arrivals_arrival *row = &arrivals->arrivals[collective->first + j];
			int64_t origin_ns = arrivals->collectives[0].begin_ns;

			print_row(table);
			print_number(table, index, (double)i);
			print_number(table, rank, arrivals->ranks[row->rank].rank);
			print_number(table, start, (double)(row->begin_ns - origin_ns));
			print_number(table, end, (double)(row->end_ns - origin_ns));
			print_number(table, wait, (double)(collective->last_ns - row->begin_ns));
		}
}

static const char *conclusion(struct arena *arena, const struct arrivals *arrivals)
{
	int straggler = arrivals_straggler(arrivals);
	const struct arrivals_rank *rank;

	if (arrivals->collective_count == 0)
		return NULL;
	if (arrivals_matched(arrivals) <= 0.5)
		return arena_format(arena,
			"Only %.0f%% of the communication kernels have counterparts at the same time: "
			"stragglers cannot be determined.",
			100 * arrivals_matched(arrivals));
	if (straggler < 0)
		return arena_format(arena,
			"No persistent straggler: the ranks wait %s in total, and no rank causes most of "
			"it more often than expected by chance.",
			print_time(arena, (double)arrivals->wait_ns));
	rank = &arrivals->ranks[straggler];
	return arena_format(arena,
		"Rank %" PRId32 " is a persistent straggler: last to arrive at %zu of %zu collectives, "
		"wait caused %s (sum over the other ranks) of %s in total. %s",
		rank->rank, rank->last_count, arrivals->collective_count,
		print_time(arena, (double)rank->wait_caused_ns), print_time(arena, (double)arrivals->wait_ns),
		rank->launch_count * 2 > rank->last_count
			? "Mostly its kernel was launched just before it started: launch-bound, the host "
			  "enqueues late."
			: "Mostly its kernel was launched in time: the preceding work on its device took "
			  "longer.");
}

static void print_all(struct cmd_imported *how, const struct job *job, FILE *out)
{
	static const char *const keys[] = {"ranks", "collectives", "arrivals"};
	static const char *const titles[] = {"Ranks", "Collectives with the longest waiting", NULL};
	const struct arrivals *arrivals = &job->arrivals;
	cJSON *object = how->form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	const char *text = conclusion(&how->arena, arrivals);
	int straggler = arrivals_straggler(arrivals);

	if (how->form == PRINT_TEXT)
		print_heading(arena_format(&how->arena,
				      "%zu rank%s, %zu collective%s, %s of waiting (sum over ranks)",
				      arrivals->rank_count, arrivals->rank_count == 1 ? "" : "s",
				      arrivals->collective_count, arrivals->collective_count == 1 ? "" : "s",
				      print_time(&how->arena, (double)arrivals->wait_ns)),
			out);
	for (int i = 0; i < (how->form == PRINT_TEXT ? 2 : 3); i++) {
		struct print_table table;

		print_init(&table, &how->arena);
		if (i == 0)
			rank_table(&table, arrivals);
		else if (i == 1)
			collective_table(&table, arrivals, how->form, job->rows);
		else
			arrival_table(&table, arrivals);
		if (how->form != PRINT_TEXT || table.row_count > 0)
			print_part(&table, how->form, object, keys[i], titles[i],
				i > 0 || how->form == PRINT_TEXT, out);
		print_free(&table);
	}
	if (how->form == PRINT_TEXT && text) {
		fputc('\n', out);
		print_paragraph(text, 0, out);
	}
	if (!object)
		return;
	cJSON_AddNumberToObject(object, "waiting_ns", (double)arrivals->wait_ns);
	cJSON_AddItemToObject(object, "straggler",
		straggler < 0 ? cJSON_CreateNull() : cJSON_CreateNumber(arrivals->ranks[straggler].rank));
	cJSON_AddStringToObject(object, "conclusion", text ? text : "");
	cJSON_AddItemToObject(object, "warnings", cmd_imported_json_warnings(how));
	print_json_end(object, out);
}

enum { OPTION_COLLECTIVES = OPTION_FIRST };

static int run_arrivals(int argument_count, char **arguments)
{
	struct job job = {.rows = 10};
	struct cmd_imported how = {.command = &cmd_arrivals,
		.row_bytes = sizeof(struct arrivals_rank),
		.rank_at = offsetof(struct arrivals_rank, rank),
		.given_rank_at = offsetof(struct arrivals_rank, given_rank),
		.take = cmd_arrivals_take};
	struct arrivals_rank *ranks;
	int option, status;

	while ((option = command_option(&cmd_arrivals, argument_count, arguments)) != -1) {
		if (option == OPTION_COLLECTIVES)
			job.rows = command_count(&cmd_arrivals, option, optarg, 0, SIZE_MAX);
		else if (!cmd_imported_option(&how, option, optarg))
			command_unhandled(&cmd_arrivals, option);
	}
	cmd_imported_read(&how, arguments + optind, (size_t)(argument_count - optind), 0);
	ranks = how.rows;
	arrivals_find(&job.arrivals, ranks, how.row_count);
	warn_of_matches(&how, &job.arrivals);
	print_all(&how, &job, stdout);
	if (how.form != PRINT_JSON) {
		fflush(stdout);
		cmd_imported_print_warnings(&how);
	}
	status = job.arrivals.collective_count == 0;
	arrivals_free(&job.arrivals);
	for (size_t i = 0; i < how.row_count; i++)
		arrivals_rank_free(&ranks[i]);
	cmd_imported_free(&how);
	return status;
}

static const struct option_row rows[] = {
	{"collectives", OPTION_COLLECTIVES, "N", "collectives listed, longest waiting first (default: 10)"},
	{"json", CMD_JSON, NULL, "the same as JSON, and each rank's arrival at each collective; times in ns"},
	{"csv", CMD_CSV, NULL, "the three tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_arrivals = {
	.name = "arrivals",
	.summary = "traces of other profilers: stragglers at collectives",
	.usage = "[OPTION]... TRACE...",
	.about = "Takes the traces of several ranks, as pmanalyze window does. No collective moves "
		 "data before its last rank arrives: the others wait for it.\n"
		 "\n"
		 "Kernels of a collective are found by their order: the i-th of a function (and "
		 "process group, where the trace names it) on each rank. Where they did not run at "
		 "the same time, ranks whose kernels end together (within 50 us) are a group, and "
		 "the others are skipped with a warning, as are sends and receives between two "
		 "ranks. Where the files' clocks disagree they are aligned by the ends of the "
		 "collectives, with a warning that gives the residual.\n"
		 "\n"
		 "Per rank, summed over the collectives:\n"
		 "\n"
		 "  waiting\ttime it waits for other ranks\n"
		 "  wait caused\ttime the other ranks, summed, wait for it\n"
		 "  last to arrive\tnumber of collectives\n"
		 "  launched late\tof these, those whose kernel started within 50 us of its launch: "
		 "the host was late, else the device was busy\n"
		 "\n"
		 "Per collective: the last rank to arrive, the waiting (sum over ranks), and the "
		 "transfer, from the last start to the last end. A rank is reported as a "
		 "persistent straggler if it causes most of the waiting and is last to arrive more "
		 "often than expected by chance (p < 0.05).\n",
	.options = OPTION_TABLES(rows, cmd_imported_rows),
	.after = "Exit status: 0 success, 1 no readable file or no matching collectives, 2 usage "
		 "error.\n",
	.run = run_arrivals,
};
