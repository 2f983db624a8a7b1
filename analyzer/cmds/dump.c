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
			cmd_usage(&cmd_dump, "the command line is wrong");
		}
	}
	if (optind >= argument_count)
		cmd_usage(&cmd_dump, "no trace named");
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
	.summary = "a trace as it is in the file: header, dictionary, records",
	.run = run,
	.help = "pmanalyze dump - a trace as it is in the file\n"
		"\n"
		"usage: pmanalyze dump [OPTION]... FILE...\n"
		"\n"
		"Prints the header, the notes and the counts of each FILE, then the dictionary\n"
		"(functions with the number of their calls, queues, communicators, when recording\n"
		"began and ended, captured graphs with their operations).\n"
		"A file without footer is that of a process that was killed: it is shown as far\n"
		"as it goes.\n"
		"\n"
		"  --ops        the distinct operations with their values, the number of their\n"
		"               calls and device intervals, the program's name of the layer and\n"
		"               the call site\n"
		"  --records    the records, chunk by chunk in the order of the file: thread,\n"
		"               call or device, begin in ns of CLOCK_MONOTONIC, duration in ns,\n"
		"               queue, correlation, result, seq (of a collective on its\n"
		"               communicator, of a node in its graph), group, operation\n"
		"  --limit N    at most N operations, N of each graph, N records (default: all)\n"
		"  --json       all of it as one JSON object per file (records with --records)\n"
		"  --csv        the operations (--ops) or the records (--records) as CSV\n"
		"\n"
		"Flags of a record: g inside a communication group, c captured into a graph, a an\n"
		"activity: one kernel, copy or set of its call, l left without a return (by an\n"
		"exception, longjmp or the end of its thread): its duration is not known.\n"
		"Exit status: 0 done, 1 a file could not be read, 2 wrong usage.\n",
};
