/* pmanalyze hang: where the ranks of a job stand that runs or was killed. */
#include "cmd.h"
#include "base/table.h"
#include "trace/dump.h"
#include "trace/standing.h"

#include <dirent.h>
#include <err.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

struct rank {
	struct trace trace;
	struct standing standing;
	const char *name;
};

struct job {
	struct rank **ranks;
	size_t rank_count, rank_room;
	size_t unread;
	struct arena arena;
};

static void add_file(struct job *job, const char *path)
{
	struct rank *rank = mem_alloc(1, sizeof(*rank));

	if (trace_open(&rank->trace, path) < 0) {
		warnx("%s", rank->trace.error);
		trace_close(&rank->trace);
		free(rank);
		job->unread++;
		return;
	}
	if (rank->trace.trouble)
		warnx("%s", rank->trace.trouble);
	standing_find(&rank->trace, &rank->standing);
	rank->name = rank->trace.header.rank >= 0
			     ? arena_format(&job->arena, "%d", rank->trace.header.rank)
			     : arena_format(&job->arena, "pid %u", rank->trace.header.pid);
	*MEM_PUSH(job->ranks, job->rank_count, job->rank_room) = rank;
}

static int is_trace(const struct dirent *entry)
{
	const size_t length = strlen(entry->d_name);

	return length > 8 && strcmp(entry->d_name + length - 8, ".pmtrace") == 0;
}

static void add(struct job *job, const char *path)
{
	struct dirent **entries;
	struct stat status;
	int count;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
		add_file(job, path);
		return;
	}
	count = scandir(path, &entries, is_trace, versionsort);
	if (count <= 0) {
		warnx("%s: no *.pmtrace file in this folder", path);
		job->unread++;
		return;
	}
	for (int i = 0; i < count; i++) {
		add_file(job, arena_format(&job->arena, "%s/%s", path, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
}

static int by_rank(const void *left, const void *right)
{
	const struct rank *a = *(struct rank *const *)left, *b = *(struct rank *const *)right;

	return a->trace.header.rank < b->trace.header.rank ? -1 : a->trace.header.rank > b->trace.header.rank;
}

static const char *function_name(struct job *job, const struct trace *trace, uint32_t op)
{
	return print_clean(&job->arena, trace->functions[trace->operations[op].function].name);
}

static void threads_table(struct job *job, struct print_table *table)
{
	size_t name = print_column(table, "rank", "rank", PRINT_WORD);
	size_t state = print_column(table, "process", "process", PRINT_WORD);
	size_t thread = print_column(table, "thread", "thread", PRINT_COUNT);
	size_t tid = print_column(table, "tid", "tid", PRINT_COUNT);
	size_t inside = print_column(table, "is", "is", PRINT_WORD);
	size_t function = print_column(table, "function", "call", PRINT_WORD);
	size_t at = print_column(table, "at", "since start", PRINT_TIME);
	size_t site = print_column(table, "site", "called from", PRINT_WORD);

	for (size_t r = 0; r < job->rank_count; r++) {
		const struct trace *trace = &job->ranks[r]->trace;
		const struct standing *standing = &job->ranks[r]->standing;

		for (size_t i = 0; i < standing->thread_count; i++) {
			const struct standing_thread *t = &standing->threads[i];
			const char *text;

			if (!t->inside && !t->op) /* device times alone */
				continue;
			print_row(table);
			print_word(table, name, job->ranks[r]->name);
			print_word(table, state, trace->ended ? "ended" : "no end");
			print_number(table, thread, t->thread);
			print_number(table, tid, t->tid);
			print_word(table, inside, t->inside ? "in" : "after");
			if (t->begin_ns)
				print_number(
					table, at, (double)t->begin_ns - (double)trace->header.monotonic_ns);
			if (!t->op)
				continue;
			print_word(table, function, function_name(job, trace, t->op));
			text = trace_string(trace, trace->operations[t->op].site);
			if (text)
				print_word(table, site, print_clean(&job->arena, text));
		}
	}
}

static void comms_table(struct job *job, struct print_table *table)
{
	size_t hash = print_column(table, "communicator", "communicator", PRINT_WORD);
	size_t size = print_column(table, "size", "of", PRINT_COUNT);
	size_t name = print_column(table, "rank", "rank", PRINT_WORD);
	size_t count = print_column(table, "collectives", "collectives", PRINT_COUNT);
	size_t last = print_column(table, "function", "the last", PRINT_WORD);
	size_t values = print_column(table, "values", NULL, PRINT_WORD);

	for (size_t r = 0; r < job->rank_count; r++) {
		const struct trace *trace = &job->ranks[r]->trace;
		const struct standing *standing = &job->ranks[r]->standing;

		for (size_t i = 0; i < standing->comm_count; i++) {
			const struct standing_comm *c = &standing->comms[i];
			const uint32_t op = c->recent.entries[c->recent.count - 1].op;
			const struct trace_communicator *communicator = &trace->communicators[c->number];

			print_row(table);
			print_word(table, hash, arena_format(&job->arena, "%016" PRIx64, communicator->hash));
			print_number(table, size, communicator->size);
			print_word(table, name, job->ranks[r]->name);
			print_number(table, count, (double)c->count);
			print_word(table, last, function_name(job, trace, op));
			print_word(table, values, dump_values(&job->arena, trace, &trace->operations[op]));
		}
	}
}

static void print_job(struct job *job, enum print_form form, FILE *out)
{
	cJSON *object = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	struct print_table table;

	print_init(&table, &job->arena);
	threads_table(job, &table);
	if (form == PRINT_TEXT && table.row_count == 0)
		print_paragraph("No call was recorded.", 2, out);
	else
		print_part(&table, form, object, "threads", "Where each thread stands", false, out);
	print_free(&table);
	print_init(&table, &job->arena);
	comms_table(job, &table);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, "communicators", "Collectives entered so far", true, out);
	print_free(&table);
	if (object)
		print_json_end(object, out);
}

static int run(int argument_count, char **arguments)
{
	static const struct option options[] = {
		{"json", no_argument, NULL, 'j'}, {"csv", no_argument, NULL, 'c'}, {0}};
	enum print_form form = PRINT_TEXT;
	struct job job = {0};
	int option, status;

	while ((option = getopt_long(argument_count, arguments, "", options, NULL)) != -1)
		if (option == 'j')
			form = PRINT_JSON;
		else if (option == 'c')
			form = PRINT_CSV;
		else
			cmd_wrong_option(&cmd_hang, options, arguments);
	if (optind >= argument_count)
		cmd_usage(&cmd_hang, "no run given");
	for (int i = optind; i < argument_count; i++)
		add(&job, arguments[i]);
	status = job.rank_count == 0 || job.unread > 0;
	if (job.rank_count > 0) {
		qsort(job.ranks, job.rank_count, sizeof(struct rank *), by_rank);
		print_job(&job, form, stdout);
	}
	for (size_t r = 0; r < job.rank_count; r++) {
		standing_free(&job.ranks[r]->standing);
		trace_close(&job.ranks[r]->trace);
		free(job.ranks[r]);
	}
	free(job.ranks);
	arena_free(&job.arena);
	return status;
}

const struct command cmd_hang = {
	.name = "hang",
	.summary = "where each rank stands, of a job that runs, hangs or was killed",
	.run = run,
	.help = COMMAND_HELP(
		"pmanalyze hang - where each rank of a job stands\n"
		"\n"
		"usage: pmanalyze hang [OPTION]... RUN...\n"
		"\n"
		"Reads the traces of a job that runs, hangs or was killed, from the files alone,\n"
		"and prints for each thread the call that it is in (\"in\") or else the last one\n"
		"that was recorded of it (\"after\"), when that began, counted from the start of\n"
		"the trace, and where it was called from. A process whose trace has no end runs,\n"
		"or was killed: the file does not say which.\n"
		"\n"
		"Then, for each communicator and rank, how many collectives were entered, and\n"
		"the last of them. A rank with fewer than the others is what they wait for, or\n"
		"is merely late, if nothing was left out of its trace; the report draws no such\n"
		"conclusion. Whether work that was launched has finished on the device is not\n"
		"known here. Sends and receives are not counted.\n"
		"\n"
		"  --json        the same as JSON: threads, communicators; with the values of the\n"
		"                last collective; times in ns\n"
		"  --csv         the two tables as CSV, an empty line between them\n"
		"\n"
		"Exit status: 0 success, 1 a trace is unreadable, 2 usage error.\n"),
};
