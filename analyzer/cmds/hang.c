/* pmanalyze hang: why a job does not go on, and where its ranks stand. */
#include "cmd.h"
#include "analyses/hang/hang.h"
#include "analyses/hang/hang_flight.h"
#include "base/table.h"
#include "cmd_summaries.h"
#include "hang_flight.h"
#include "trace/dump.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#define PATIENCE_S 10
#define HUNG 3 /* exit status, and with --fail-by-strength the first of three */

/* What a row of the threads' table says, once for the ranks that have it in common. */
struct stand {
	size_t *ranks;
	size_t rank_count;
	const struct standing_thread *thread; /* of the first of them */
	const char *call, *site;
	double for_ns; /* the longest */
};

static bool is_shown(const struct standing_thread *t)
{
	return t->inside || t->op; /* else it has device times alone */
}

static double for_ns(const struct hang *hang, const struct hang_rank *rank, const struct standing_thread *t)
{
	return (double)hang->now_ns - (double)hang_real_ns(rank, t->inside ? t->begin_ns : t->end_ns);
}

static struct stand *stand_of(
	struct hang *hang, struct stand *stands, size_t *count, size_t r, const struct standing_thread *t)
{
	const struct hang_rank *rank = hang->ranks[r];
	const char *call = t->op ? print_clean(&hang->arena,
					   rank->trace.functions[rank->trace.operations[t->op].function].name)
				 : "";
	const char *site = t->op ? hang_site(&hang->arena, &rank->trace, t->op) : "";
	struct stand *stand = stands;

	for (; stand < stands + *count; stand++)
		if (hang->ranks[stand->ranks[0]]->process == rank->process &&
			stand->thread->inside == t->inside && strcmp(stand->call, call) == 0 &&
			strcmp(stand->site, site) == 0)
			return stand;
	*stand = (struct stand){.thread = t, .call = call, .site = site};
	stand->ranks = arena_alloc(&hang->arena, hang->rank_count, sizeof(*stand->ranks));
	++*count;
	return stand;
}

/* For people: what ranks have in common is one row. */
static void stands_table(struct hang *hang, struct print_table *table)
{
	size_t name = print_column(table, "ranks", "ranks", PRINT_WORD);
	size_t state = print_column(table, "process", "process", PRINT_WORD);
	size_t inside = print_column(table, "is", "is", PRINT_WORD);
	size_t call = print_column(table, "function", "call", PRINT_WORD);
	size_t age = print_column(table, "for", hang->over ? NULL : "for", PRINT_TIME);
	size_t site = print_column(table, "site", "first called from", PRINT_WORD);
	size_t thread_count = 0, count = 0;
	struct stand *stands;

	for (size_t r = 0; r < hang->rank_count; r++)
		thread_count += hang->ranks[r]->standing.thread_count;
	stands = arena_alloc(&hang->arena, thread_count, sizeof(*stands));
	for (size_t r = 0; r < hang->rank_count; r++)
		for (size_t i = 0; i < hang->ranks[r]->standing.thread_count; i++) {
			const struct standing_thread *t = &hang->ranks[r]->standing.threads[i];
			struct stand *stand;

			if (!is_shown(t))
				continue;
			stand = stand_of(hang, stands, &count, r, t);
			if (stand->rank_count == 0 || stand->ranks[stand->rank_count - 1] != r)
				stand->ranks[stand->rank_count++] = r;
			if (for_ns(hang, hang->ranks[r], t) > stand->for_ns)
				stand->for_ns = for_ns(hang, hang->ranks[r], t);
		}
	for (size_t i = 0; i < count; i++) {
		const char *ranks = hang_ranks(&hang->arena, hang, stands[i].ranks, stands[i].rank_count);

		print_row(table);
		print_word(table, name, strchr(ranks, ' ') + 1);
		print_word(table, state, hang_process_word(hang->ranks[stands[i].ranks[0]]->process));
		print_word(table, inside, stands[i].thread->inside ? "in" : "after");
		print_word(table, call, stands[i].call);
		print_word(table, site, stands[i].site);
		if (!hang->over)
			print_number(table, age, stands[i].for_ns);
	}
}

/* For programs: a row for each thread of each rank. */
static void threads_table(struct hang *hang, struct print_table *table)
{
	size_t name = print_column(table, "rank", "rank", PRINT_WORD);
	size_t state = print_column(table, "process", "process", PRINT_WORD);
	size_t thread = print_column(table, "thread", "thread", PRINT_COUNT);
	size_t tid = print_column(table, "tid", "tid", PRINT_COUNT);
	size_t inside = print_column(table, "is", "is", PRINT_WORD);
	size_t function = print_column(table, "function", "call", PRINT_WORD);
	size_t at = print_column(table, "at", "since start", PRINT_TIME);
	size_t site = print_column(table, "site", "first called from", PRINT_WORD);

	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct trace *trace = &hang->ranks[r]->trace;
		const struct standing *standing = &hang->ranks[r]->standing;

		for (size_t i = 0; i < standing->thread_count; i++) {
			const struct standing_thread *t = &standing->threads[i];

			if (!is_shown(t))
				continue;
			print_row(table);
			print_word(table, name, hang->ranks[r]->name);
			print_word(table, state, hang_process_word(hang->ranks[r]->process));
			print_number(table, thread, t->thread);
			print_number(table, tid, t->tid);
			print_word(table, inside, t->inside ? "in" : "after");
			if (t->begin_ns)
				print_number(
					table, at, (double)t->begin_ns - (double)trace->header.monotonic_ns);
			if (!t->op)
				continue;
			print_word(table, function,
				print_clean(&hang->arena,
					trace->functions[trace->operations[t->op].function].name));
			print_word(table, site, hang_site(&hang->arena, trace, t->op));
		}
	}
}

static void comms_table(struct hang *hang, struct print_table *table)
{
	size_t hash = print_column(table, "communicator", "communicator", PRINT_WORD);
	size_t size = print_column(table, "size", "of", PRINT_COUNT);
	size_t name = print_column(table, "rank", "rank", PRINT_WORD);
	size_t count = print_column(table, "collectives", "collectives", PRINT_COUNT);
	size_t last = print_column(table, "function", "the last", PRINT_WORD);
	size_t values = print_column(table, "values", NULL, PRINT_WORD);

	for (size_t g = 0; g < hang->group_count; g++) {
		const struct hang_group *group = &hang->groups[g];

		for (size_t m = 0; m < group->member_count; m++) {
			const struct hang_member *member = &group->members[m];
			const struct trace *trace = &hang->ranks[member->rank]->trace;
			const struct standing_recent *recent = member->comm ? &member->comm->recent : NULL;

			if (!recent)
				continue;
			print_row(table);
			print_word(table, hash, arena_format(&hang->arena, "%016" PRIx64, group->hash));
			print_number(table, size, group->size);
			print_word(table, name, hang->ranks[member->rank]->name);
			print_number(table, count, (double)member->count);
			print_word(table, last,
				hang_operation(&hang->arena, trace, recent->entries[recent->count - 1].op));
			print_word(table, values,
				dump_values(&hang->arena, trace,
					&trace->operations[recent->entries[recent->count - 1].op]));
		}
	}
}

/* Of the culprits, as far as they were looked into. */
static void stacks_table(struct hang *hang, struct print_table *table)
{
	size_t name = print_column(table, "rank", "rank", PRINT_WORD);
	size_t tid = print_column(table, "tid", "tid", PRINT_COUNT);
	size_t text = print_column(table, "stack", "innermost < caller", PRINT_WORD);

	for (size_t i = 0; i < hang->culprit_count; i++) {
		const struct hang_rank *rank = hang->ranks[hang->culprits[i].rank];

		for (size_t s = 0; s < rank->stack_count; s++) {
			if (!strchr(rank->stacks[s].text, '('))
				continue; /* a thread of a library's own */
			print_row(table);
			print_word(table, name, rank->name);
			print_number(table, tid, rank->stacks[s].tid);
			print_word(table, text, rank->stacks[s].text);
		}
	}
}

/* Members with the same count and the same last collective are one row. */
static void counts_table(struct hang *hang, struct print_table *table)
{
	size_t hash = print_column(table, "communicator", "communicator", PRINT_WORD);
	size_t size = print_column(table, "size", "of", PRINT_COUNT);
	size_t name = print_column(table, "ranks", "ranks", PRINT_WORD);
	size_t count = print_column(table, "collectives", "collectives", PRINT_COUNT);
	size_t last = print_column(table, "function", "the last", PRINT_WORD);

	for (size_t g = 0; g < hang->group_count; g++) {
		const struct hang_group *group = &hang->groups[g];
		const char **texts = arena_alloc(&hang->arena, group->member_count, sizeof(*texts));
		bool *shown = arena_alloc(&hang->arena, group->member_count, sizeof(*shown));
		size_t *ranks = arena_alloc(&hang->arena, group->member_count, sizeof(*ranks));

		for (size_t m = 0; m < group->member_count; m++) {
			const struct hang_member *member = &group->members[m];
			const struct standing_recent *recent = member->comm ? &member->comm->recent : NULL;

			texts[m] = recent ? hang_operation(&hang->arena, &hang->ranks[member->rank]->trace,
						    recent->entries[recent->count - 1].op)
					  : "-";
		}
		for (size_t m = 0; m < group->member_count; m++) {
			size_t rank_count = 0;

			for (size_t o = m; o < group->member_count; o++)
				if (!shown[o] && group->members[o].count == group->members[m].count &&
					strcmp(texts[o], texts[m]) == 0) {
					shown[o] = true;
					ranks[rank_count++] = group->members[o].rank;
				}
			if (rank_count == 0)
				continue;
			print_row(table);
			print_word(table, hash, arena_format(&hang->arena, "%016" PRIx64, group->hash));
			print_number(table, size, group->size);
			print_word(table, name,
				strchr(hang_ranks(&hang->arena, hang, ranks, rank_count), ' ') + 1);
			print_number(table, count, (double)group->members[m].count);
			print_word(table, last, texts[m]);
		}
	}
}

static void print_tables(struct hang *hang, enum print_form form, cJSON *object, FILE *out)
{
	struct print_table table;

	print_init(&table, &hang->arena);
	if (form == PRINT_TEXT)
		stands_table(hang, &table);
	else
		threads_table(hang, &table);
	if (form == PRINT_TEXT && table.row_count == 0)
		print_paragraph("No call was recorded.", 2, out);
	else
		print_part(
			&table, form, object, "threads", "Where the threads stand", form == PRINT_TEXT, out);
	print_free(&table);
	print_init(&table, &hang->arena);
	stacks_table(hang, &table);
	if (form == PRINT_JSON || (form == PRINT_TEXT && table.row_count > 0))
		print_part(&table, form, object, "stacks", "In Python", true, out);
	print_free(&table);
	print_init(&table, &hang->arena);
	if (form == PRINT_TEXT)
		counts_table(hang, &table);
	else
		comms_table(hang, &table);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, "communicators", "Collectives entered so far", true, out);
	print_free(&table);
}

static void print_verdict(const struct hang *hang, FILE *out)
{
	print_heading(hang->headline, out);
	for (size_t i = 0; i < hang->culprit_count && i < HANG_NAMED; i++)
		print_paragraph(hang->culprits[i].sentence, 2, out);
	if (hang->culprit_count > HANG_NAMED)
		fprintf(out, "and %zu more\n", hang->culprit_count - HANG_NAMED);
	if (hang->basis)
		print_paragraph(arena_format((struct arena *)&hang->arena, "Basis (%s): %s",
					hang_strength_word(hang->strength), hang->basis),
			2, out);
}

static void print_json_verdict(const struct hang *hang, cJSON *object)
{
	cJSON *list;

	cJSON_AddStringToObject(object, "class", hang_class_key(hang->class));
	cJSON_AddStringToObject(object, "strength", hang_strength_word(hang->strength));
	cJSON_AddBoolToObject(object, "final", hang_is_final(hang));
	if (hang->restart >= 0)
		cJSON_AddNumberToObject(object, "attempt", hang->restart + 1);
	else
		cJSON_AddNullToObject(object, "attempt");
	cJSON_AddStringToObject(object, "headline", hang->headline);
	cJSON_AddStringToObject(object, "basis", hang->basis ? hang->basis : "");
	list = cJSON_AddArrayToObject(object, "culprits");
	for (size_t i = 0; i < hang->culprit_count; i++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "rank", hang->ranks[hang->culprits[i].rank]->name);
		cJSON_AddStringToObject(item, "sentence", hang->culprits[i].sentence);
		cJSON_AddItemToArray(list, item);
	}
	list = cJSON_AddArrayToObject(object, "pairs");
	for (size_t i = 0; i < hang->pair_count; i++) {
		const struct hang_pair *pair = &hang->pairs[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "rank", hang->ranks[pair->rank]->name);
		cJSON_AddStringToObject(item, "peer", hang->ranks[pair->peer]->name);
		cJSON_AddStringToObject(item, "missing", pair->receive ? "receive" : "send");
		cJSON_AddNumberToObject(item, "ordinal", (double)pair->ordinal);
		cJSON_AddItemToArray(list, item);
	}
}

/* With what dumps of Flight Recorder beside the traces tell. Answers the exit status. */
static int print_job(struct hang *hang, char **dumps, size_t dump_count, enum print_form form, FILE *out)
{
	cJSON *object = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	int status = 0;

	if (form == PRINT_TEXT)
		print_verdict(hang, out);
	if (object)
		print_json_verdict(hang, object);
	print_tables(hang, form, object, out);
	if (dump_count)
		status = hang_flight_beside(dumps, dump_count, form, object);
	if (object)
		print_json_end(object, out);
	return status;
}

enum { OPTION_AFTER = OPTION_FIRST, OPTION_FAIL_IF_HUNG, OPTION_FAIL_BY_STRENGTH };

static int status_by_strength(const struct hang *hang)
{
	return hang_is_final(hang) ? HUNG : hang->strength == HANG_OPEN ? HUNG + 2 : HUNG + 1;
}

static int run_hang(int argument_count, char **arguments)
{
	enum print_form form = PRINT_TEXT;
	long patience_s = PATIENCE_S;
	bool fails = false, by_strength = false, found;
	struct hang hang;
	size_t path_count, dump_count;
	int option, status;

	while ((option = command_option(&cmd_hang, argument_count, arguments)) != -1)
		if (option == OPTION_FAIL_IF_HUNG)
			fails = true;
		else if (option == OPTION_FAIL_BY_STRENGTH)
			by_strength = true;
		else if (option == OPTION_AFTER)
			patience_s = (long)command_count(&cmd_hang, option, optarg, 0, LONG_MAX / 1000000000);
		else if (!cmd_form_option(&form, option))
			command_unhandled(&cmd_hang, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_hang, "no run given");
	arguments += optind;
	path_count = (size_t)(argument_count - optind);
	dump_count = hang_flight_divide(arguments, path_count);
	if (dump_count == path_count) {
		status = hang_flight_run(arguments, path_count, form, &found);
		return (fails || by_strength) && found && status == 0 ? HUNG + by_strength : status;
	}
	if (cmd_are_summaries(arguments, path_count))
		return cmd_summaries_hang(arguments, path_count, form);
	hang_read(&hang, arguments + dump_count, path_count - dump_count);
	status = hang.rank_count == 0 || hang.unread > 0;
	if (hang.rank_count > 0) {
		hang_find(&hang, patience_s * 1000000000);
		status |= print_job(&hang, arguments, dump_count, form, stdout);
		if ((fails || by_strength) && hang_is_found(&hang))
			status = by_strength ? status_by_strength(&hang) : HUNG;
	}
	hang_free(&hang);
	return status;
}

static const struct option_row rows[] = {
	{"after", OPTION_AFTER, "SECONDS",
		"a rank that is behind for less, or for less than three times the longest pause "
		"before, is late and not a hang; default 10"},
	{"fail-if-hung", OPTION_FAIL_IF_HUNG, NULL,
		"exit with status 3 if a hang is found: not if ranks are merely late, or nothing "
		"is known"},
	{"fail-by-strength", OPTION_FAIL_BY_STRENGTH, NULL,
		"the same, but exit with status 3 only if the job cannot go on by itself (a rank that is "
		"waited for has ended, is gone or stopped, or ranks stand in calls that cannot meet), "
		"with 4 if a hang is likely or certain otherwise, 5 if it is open"},
	{"json", CMD_JSON, NULL,
		"JSON output: class, culprits, strength, final (it cannot go on by itself), attempt (of a job that its launcher may start again, from 1), basis; pairs of ranks with a send or "
		"receive that one of them has not made; all threads; stacks of the culprits' threads in Python; the last collectives "
		"with their values; times in ns"},
	{"csv", CMD_CSV, NULL,
		"the two tables as CSV, a row for each thread and for each rank of a "
		"communicator, an empty line between them"},
	{0},
};

const struct command cmd_hang = {
	.name = "hang",
	.summary = "why a job does not go on, while it hangs or after it was killed",
	.usage = "[OPTION]... RUN...",
	.about =
		"Reads the traces of a job that runs, hangs or was killed, from the files alone, "
		"and names the rank that the others wait for and what it is doing: not begun, ended, killed, "
		"stopped, held by a debugger, in a call, outside of calls (in the program, its interpreter, or "
		"input), waiting for its device, in another collective than the others or with "
		"other arguments, with communicators in another order, with a send or receive "
		"that has no counterpart; or merely late. A rank that entered a collective waits "
		"for those that have not. The strength of the conclusion is printed with it: "
		"certain (it follows from the traces and the state of processes), likely (by "
		"time, majority, or the order of earlier iterations), open. Of a rank that makes no "
		"call and computes, reads or writes it says so, and waits three times as long. Of a job "
		"that was started again the last attempt is looked at.\n"
		"\n"
		"RUN... may be dumps of PyTorch's Flight Recorder, too (nccl_trace_rank_N, pickles "
		"or JSON), or folders of such, instead of traces or beside them: of each process group it says which rank has not "
		"entered what the others wait in, and where ranks have entered different collectives.\n"
		"\n"
		"Then the call that each thread is in (\"in\") or else its last one (\"after\"), and "
		"how many collectives each rank has entered on each communicator; ranks that "
		"agree are one row. A process is \"gone\" if it left no end of its trace; of "
		"processes of other hosts it is not known whether they run (\"no end\"): run the "
		"command on their host, if it shares the folder.\n"
		"\n"
		"Of summaries of pmanalyze reduce (*.pmsum) it says which processes had no end.\n",
	.options = OPTION_TABLES(rows),
	.after = "Exit status: 0 success, 1 a trace is unreadable, 2 usage error, 3 a hang and "
		 "--fail-if-hung (3 to 5 with --fail-by-strength).\n",
	.run = run_hang,
};
