/* pmanalyze top: live view of a run, in the terminal that is drawn again as it goes on, or once as text. */
#include "base/plot_text.h"
#include "base/screen.h"
#include "cmd_common.h"
#include "top_live.h"

#include <err.h>
#include <stdlib.h>

enum { OPTION_EVERY = OPTION_FIRST, OPTION_ONCE, OPTION_SORT, OPTION_FROM };

static int print_once(struct snapshot_source *source, enum top_order order, enum print_form form)
{
	struct snapshot *snapshot = snapshot_read(source);
	const struct plot_text room = plot_text_for(stdout, false);
	cJSON *object = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	struct print_table table;
	size_t *workers;

	if (snapshot->error)
		errx(1, "%s", snapshot->error);
	workers = mem_alloc(snapshot->recent.worker_count, sizeof(*workers));
	top_sort(&snapshot->recent, order, workers);
	if (form == PRINT_TEXT)
		top_print_run(&snapshot->recent,
			&(struct top_paper){.width = room.width, .plain = room.plain}, stdout);
	if (object)
		top_json(&snapshot->recent, object);
	print_init(&table, snapshot->recent.arena);
	top_ranks(&snapshot->recent, workers, &table);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, "ranks", "Ranks, medians of the last iterations",
			form == PRINT_TEXT, stdout);
	print_free(&table);
	if (object)
		print_json_end(object, stdout);
	free(workers);
	snapshot_free(snapshot);
	return 0;
}

static int run_top(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	enum top_order order = TOP_BY_RANK;
	double every_s = 1;
	bool once = false;
	static struct snapshot_source source = {.concludes = true}; /* a reading may outlive this function */

	for (int key; (key = command_option(&cmd_top, argument_count, arguments)) != -1;)
		switch (key) {
		case OPTION_ONCE:
			once = true;
			break;
		case OPTION_EVERY:
			every_s = command_number(&cmd_top, key, optarg, 0.1, 86400);
			break;
		case OPTION_SORT:
			order = (enum top_order)command_word(&cmd_top, key, optarg, top_orders);
			break;
		case OPTION_FROM:
			source.from = snapshot_from(&cmd_top, key, optarg);
			break;
		default:
			if (!cmd_common_option(&cmd_top, &how, key, optarg))
				command_unhandled(&cmd_top, key);
		}
	if (optind >= argument_count)
		cmd_usage(&cmd_top, "no run given");
	snapshot_source_init(&source, &how, arguments + optind, (size_t)(argument_count - optind));
	cmd_keep_rule(source.paths[0]);
	if (once || how.form != PRINT_TEXT || !screen_can())
		return print_once(&source, order, how.form);
	return top_live(&source, order, every_s);
}

static const struct option_row rows[] = {
	{"once", OPTION_ONCE, NULL,
		"print the view once as text and exit; the default where standard input or output is not a terminal"},
	{"every", OPTION_EVERY, "SECONDS",
		"time from one reading to the next, which is longer where a reading takes over a fifth of it "
		"(default: 1)"},
	{"sort", OPTION_SORT, "COLUMN",
		"rank, or the greatest first by iteration, compute, wait, exposed or lost (default: rank)"},
	SNAPSHOT_ROW(OPTION_FROM),
	{"json", CMD_JSON, NULL,
		"once, as JSON: run, source (traces, pages, summaries), ended, quiet_ns since the last record, iterations, per_second, "
		"iteration_ns and before_ns of the 20 before, samples, compute_imbalance, slowest (the straggler of the findings), "
		"slowest_layer, step and findings as report has them, lost, device_bytes, hook_share of ended processes, phases_ns; ranks with the table's columns; null: not known"},
	{"csv", CMD_CSV, NULL, "once, the table of ranks as CSV"},
	{0},
};

const struct command cmd_top = {
	.name = "top",
	.summary = "live view of a run, in the terminal",
	.usage = "[OPTION]... RUN...",
	.about =
		"Shows a live run on the terminal, drawn again each second: iterations and their rate, their times as a sparkline and compared with the 20 before, the straggler and the first finding, as "
		"report states them, device memory where allocations tell it, what the hook took of the "
		"processes that have ended, phases as bars, and of each rank the iterations done, the medians of its last "
		"20, and the records lost. \"exposed\" is communication that nothing hides, \"wait\" the part of "
		"communication in which a rank waits for the last one, \"idle\" time without any work. \"-\" is unknown.\n"
		"\n"
		"Keys: q ends, s sorts by the next column, m marks the iteration, with which later ones are "
		"compared (again: removes the mark), arrows and PgUp, PgDn, Home, End move, Enter opens a "
		"rank with its phases and layers, Left goes back.\n"
		"\n"
		"The run's files are read, the program is not touched; so it works from any host that sees the "
		"folder. Each time the whole trace is read, at a low priority; \"read in\" says how long that "
		"took. A run that has ended is read once. Of more than 64 ranks that run one page of each trace is read, in which the "
		"hook keeps figures of its own: no phases, layers and findings; 10,000 ranks take less than a second. Summaries of "
		"pmanalyze reduce are read, too.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 the run cannot be read, 2 usage error.\n",
	.run = run_top,
};
