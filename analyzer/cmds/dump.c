/* pmanalyze dump: a trace as it is in the file, for whoever debugs a writer or wants to know what was seen.
 */
#include "cmd.h"
#include "trace/dump.h"
#include "trace/trace.h"

#include <err.h>
#include <getopt.h>
#include <stdio.h>

static int run(int argument_count, char **arguments)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'},
		{"csv", no_argument, NULL, 'c'},
		{"ops", no_argument, NULL, 'o'},
		{"records", no_argument, NULL, 'r'},
		{"limit", required_argument, NULL, 'l'},
		{0},
	};
	struct dump_options how = {.limit = -1};
	int option, status = 0;

	while ((option = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			how.form = DUMP_JSON;
			break;
		case 'c':
			how.form = DUMP_CSV;
			break;
		case 'o':
			how.operations = true;
			break;
		case 'r':
			how.records = true;
			break;
		case 'l':
			how.limit = cmd_number(&cmd_dump, "--limit", optarg, 0);
			break;
		default:
			cmd_wrong_option(&cmd_dump, options, arguments);
		}
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_dump, "no trace given");
	if (how.form == DUMP_CSV && how.operations == how.records)
		cmd_usage(&cmd_dump, "--csv needs one of --ops and --records");
	for (int i = optind; i < argument_count; i++) {
		struct trace trace;

		if (trace_open(&trace, arguments[i]) == 0) {
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

const struct command cmd_dump = {
	.name = "dump",
	.summary = "raw contents of a trace: header, dictionary, records",
	.run = run,
	.help = COMMAND_HELP(
		"pmanalyze dump - raw contents of a trace\n"
		"\n"
		"usage: pmanalyze dump [OPTION]... FILE...\n"
		"\n"
		"Prints the header, the notes and the counts of each FILE, then the dictionary\n"
		"(functions with the number of their calls, queues, communicators, start and end\n"
		"of recording, captured graphs with their operations), and the calls that\n"
		"threads have entered and not left.\n"
		"A file without footer belongs to a process that was killed: it is shown up to\n"
		"its end.\n"
		"\n"
		"  --ops        the distinct operations with their values, the number of their\n"
		"               calls and device intervals, the program's name for the layer\n"
		"               and the call site\n"
		"  --records    the records, chunk by chunk in the order of the file: thread,\n"
		"               call or device, start in ns of CLOCK_MONOTONIC, duration in ns,\n"
		"               queue, correlation, result, seq (of a collective on its\n"
		"               communicator, of a node in its graph), group, operation\n"
		"  --limit N    at most N operations, N of each graph, N records (default: all)\n"
		"  --json       everything as one JSON object per file (records with --records)\n"
		"  --csv        the operations (--ops) or the records (--records) as CSV\n"
		"\n"
		"JSON and CSV of records have start_ns also under its old name, begin_ns, until\n"
		"the next version.\n"
		"\n"
		"Flags of a record: g inside a communication group, c captured into a graph, a an\n"
		"activity: one kernel, copy or set of its call, l left without returning (by an\n"
		"exception, longjmp or the end of its thread): its duration is unknown.\n"
		"Exit status: 0 success, 1 a file is unreadable, 2 usage error.\n"),
};
