/* pmanalyze dump: a trace as it is in the file, for whoever debugs a writer or wants to know what was seen.
 */
#include "cmd.h"
#include "output/hlo_table.h"
#include "trace/dump.h"
#include "trace/trace.h"

#include <err.h>
#include <limits.h>
#include <stdio.h>

enum { OPTION_OPS = OPTION_FIRST, OPTION_RECORDS, OPTION_STATISTICS, OPTION_HLO, OPTION_LIMIT };

/* What XLA compiled, instead of the rest. */
static void print_hlo(const struct trace *trace, const struct dump_options *how)
{
	struct print_table table;
	struct arena arena = {NULL};
	const struct trace_hlo programs = trace_hlo(trace);
	struct hlo hlo;

	hlo_init(&hlo, &programs);
	print_init(&table, &arena);
	hlo_table(&hlo, how->limit, &table);
	if (how->form == PRINT_CSV)
		print_csv(&table, stdout);
	else if (how->form == PRINT_JSON)
		print_json_end(print_json(&table), stdout);
	else
		print_text(&table, "Instructions of XLA's programs", stdout);
	print_free(&table);
	arena_free(&arena);
	hlo_free(&hlo);
}

static int run_dump(int argument_count, char **arguments)
{
	struct dump_options how = {.limit = -1};
	int option, status = 0;
	bool hlo = false;

	while ((option = command_option(&cmd_dump, argument_count, arguments)) != -1) {
		switch (option) {
		case OPTION_OPS:
			how.operations = true;
			break;
		case OPTION_RECORDS:
			how.records = true;
			break;
		case OPTION_STATISTICS:
			how.statistics = true;
			break;
		case OPTION_HLO:
			hlo = true;
			break;
		case OPTION_LIMIT:
			how.limit = (long)command_count(&cmd_dump, option, optarg, 0, LONG_MAX);
			break;
		default:
			if (!cmd_form_option(&how.form, option))
				command_unhandled(&cmd_dump, option);
		}
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_dump, "no trace given");
	if (how.form == PRINT_CSV && how.operations + how.records + how.statistics + hlo != 1)
		cmd_usage(&cmd_dump, "--csv needs one of --ops, --records, --statistics and --hlo");
	for (int i = optind; i < argument_count; i++) {
		struct trace trace;

		if (trace_open(&trace, arguments[i]) == 0) {
			if (hlo)
				print_hlo(&trace, &how);
			else
				dump_print(&trace, &how, stdout);
			if (trace.trouble)
				warnx("%s", trace.trouble);
		} else {
			warnx("%s", trace.error);
			status = 1;
		}
		trace_close(&trace);
	}
	return status;
}

static const struct option_row rows[] = {
	{"ops", OPTION_OPS, NULL,
		"the distinct operations with their values, the number of their calls and device "
		"intervals, the program's name for the layer and the call site"},
	{"records", OPTION_RECORDS, NULL,
		"the records, chunk by chunk in the order of the file: thread, call or device, "
		"start in ns of CLOCK_MONOTONIC, duration in ns, queue, correlation, result, seq "
		"(of a collective on its communicator, of a node in its graph), group, operation"},
	{"statistics", OPTION_STATISTICS, NULL,
		"of each operation's calls and device intervals over the whole run, also of those that a trace "
		"of constant size (PMHOOK_MODE=ring) has dropped: count, total and mean time, standard "
		"deviation, least, quantiles, greatest"},
	{"hlo", OPTION_HLO, NULL,
		"instead of all that, the instructions of programs that XLA compiled (JAX), by their schedule, with the direction "
		"and layer that each is of, and what that follows from"},
	{"limit", OPTION_LIMIT, "N",
		"at most N operations, N of each graph, N records, N statistics (default: all)"},
	{"json", CMD_JSON, NULL, "everything as one JSON object per file (records with --records)"},
	{"csv", CMD_CSV, NULL,
		"the operations (--ops), the records (--records), the statistics (--statistics) or the instructions (--hlo) as CSV"},
	{0},
};

const struct command cmd_dump = {
	.name = "dump",
	.summary = "raw contents of a trace: header, dictionary, records",
	.usage = "[OPTION]... FILE...",
	.about =
		"Prints the header, the notes and the counts of each FILE, then the dictionary "
		"(functions with the number of their calls, queues, communicators, start and end "
		"of recording and of device times, captured graphs with their operations), and the calls that threads "
		"have entered and not left. A file without footer belongs to a process that was "
		"killed: it is shown up to its end.\n",
	.options = OPTION_TABLES(rows),
	.after = "Flags of a record: g inside a communication group, c captured into a graph, a an "
		 "activity: one kernel, copy or set of its call, l left without returning (by an "
		 "exception, longjmp or the end of its thread): its duration is unknown.\n"
		 "\n"
		 "Exit status: 0 success, 1 a file is unreadable, 2 usage error.\n",
	.run = run_dump,
};
