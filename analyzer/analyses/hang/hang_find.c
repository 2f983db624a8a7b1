/* The conclusion: which rank holds the others, and what it is at. */
#include "hang_private.h"

#include <inttypes.h>
#include <stdlib.h>

#define FRESH_NS 500000000 /* before a trace is read: what was entered since may be seen in part */
#define START_TIMES 30     /* times the patience, before a job's first communication */
#define USUAL_TIMES 3      /* who is behind for less than so many times the longest pause before is late */

/* ---- ranks that others wait for ---- */

/* The longest pause between two collectives that is known of the ranks of a group, or of all. */
static double longest_pause(const struct hang *hang, const struct hang_group *only)
{
	double longest = 0;

	for (size_t g = 0; g < hang->group_count; g++)
		for (size_t m = 0; m < hang->groups[g].member_count; m++) {
			const struct standing_comm *comm = hang->groups[g].members[m].comm;

			if ((!only || only == &hang->groups[g]) && comm && (double)comm->longest_ns > longest)
				longest = (double)comm->longest_ns;
		}
	return longest;
}

static bool is_late_only(const struct hang *hang, const struct hang_wait *wait, const struct hang_rank *rank,
	int64_t patience_ns)
{
	const double waited = (double)hang->now_ns - (double)wait->since_ns;

	return !hang->over && (rank->process == HANG_RUNS || rank->process == HANG_UNKNOWN) &&
	       (waited < (double)patience_ns || waited < USUAL_TIMES * longest_pause(hang, wait->group));
}

/* A rank's own device work, not communication, that does not end. */
static uint32_t endless_work(const struct hang_rank *rank, struct standing_work *work)
{
	standing_unfinished(&rank->trace, work);
	if (!work->op ||
		rank->trace.functions[rank->trace.operations[work->op].function].kind == PM_KIND_COMM)
		return 0;
	return work->op;
}

static enum hang_class class_of(const struct hang *hang, const struct hang_rank *rank)
{
	struct standing_work work;

	switch (rank->process) {
	case HANG_ENDED:
		return HANG_IS_EXITED;
	case HANG_STOPPED:
		return HANG_IS_STOPPED;
	case HANG_GONE:
		if (!hang->over)
			return HANG_IS_KILLED;
		break;
	default:
		break;
	}
	if (!rank->thread || !rank->thread->inside)
		return HANG_IS_OUTSIDE;
	return endless_work(rank, &work) ? HANG_IS_DEVICE : HANG_IS_IN_CALL;
}

static bool is_definite(enum hang_class class)
{
	return class == HANG_IS_EXITED || class == HANG_IS_STOPPED || class == HANG_IS_KILLED;
}

/* To follow a rank's name; in the past of a job that is over. */
static const char *class_words(enum hang_class class, bool past)
{
	switch (class) {
	case HANG_IS_EXITED:
		return past ? "had ended" : "has ended";
	case HANG_IS_KILLED:
		return "is gone without an end of its trace: killed, or ended by a fault";
	case HANG_IS_STOPPED:
		return "is stopped, by a signal or a debugger";
	case HANG_IS_DEVICE:
		return past ? "waited for its device, whose work had not ended"
			    : "waits for its device, whose work does not end";
	case HANG_IS_IN_CALL:
		return past ? "was in a call" : "is in a call that does not return";
	default:
		return past ? "was outside of all recorded calls: in the program, its interpreter, or reading input"
			    : "is outside of all recorded calls: in the program, its interpreter, or reading input";
	}
}

static const char *culprit_sentence(
	struct hang *hang, size_t number, enum hang_class class, const struct hang_wait *wait)
{
	const struct hang_rank *rank = hang->ranks[number];
	const char *text = arena_format(&hang->arena, "%s %s",
		hang_capital(hang, hang_ranks(&hang->arena, hang, &number, 1)), hang_state(hang, rank));
	struct standing_work work;

	if (class == HANG_IS_DEVICE && endless_work(rank, &work))
		text = arena_format(&hang->arena, "%s; its device has not finished %s%s", text,
			hang_call(hang, &rank->trace, work.op), hang_place(hang, &rank->trace, work.op));
	if (wait)
		text = arena_format(&hang->arena, "%s. It has not %s", text, hang_missing(hang, wait));
	return arena_format(&hang->arena, "%s.", text);
}

static const char *waiters(struct hang *hang, const struct hang_waits *waits, size_t *count)
{
	size_t *list = arena_alloc(&hang->arena, hang->rank_count, sizeof(*list));

	*count = 0;
	for (size_t r = 0; r < hang->rank_count; r++)
		if (waits->first_of[r])
			list[(*count)++] = r;
	return hang_ranks(&hang->arena, hang, list, *count);
}

/* The ranks of the list that have one class; how they are waited for. */
static void name_roots(struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count,
	const enum hang_class *classes, enum hang_class class)
{
	for (size_t i = 0; i < count; i++)
		if (classes[i] == class)
			hang_add_culprit(hang, roots[i],
				culprit_sentence(hang, roots[i], class, waits->first_for[roots[i]]));
}

/* More ranks have ended than wait: what waits has entered more than the program has. */
static bool find_one_more(
	struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count)
{
	size_t waiting;

	for (size_t i = 0; i < count; i++)
		if (hang->ranks[roots[i]]->process != HANG_ENDED)
			return false;
	(void)waiters(hang, waits, &waiting);
	if (waiting >= count)
		return false;
	for (size_t r = 0; r < hang->rank_count; r++)
		if (waits->first_of[r])
			hang_add_state(hang, r);
	hang_conclude(hang, HANG_IS_DIFFERENT, HANG_LIKELY,
		arena_format(&hang->arena,
			"%s waits in communication that the others, who have ended, did not enter.",
			hang_capital(hang, hang_culprits(hang))));
	hang->basis = "More ranks have ended than wait.";
	return true;
}

static const char *after_the_end(const struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->process == HANG_UNKNOWN)
			return "Whether its processes, on other hosts, still run is not known here.";
	return "All processes are gone: whether it hung, and which ended first, is not known.";
}

/* The job is over, and a few had gone further than most: those were on their way when all were ended. */
static bool find_one_ahead(
	struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count)
{
	const struct hang_wait *wait = waits->first_for[roots[0]];
	const char *ahead;
	size_t waiting;

	for (size_t i = 0; i < count; i++)
		if (is_definite(class_of(hang, hang->ranks[roots[i]])))
			return false;
	ahead = waiters(hang, waits, &waiting);
	if (!hang->over || waiting >= count)
		return false;
	hang_conclude(hang, HANG_IS_UNKNOWN, HANG_OPEN,
		arena_format(&hang->arena,
			"%s %s ahead of %zu others when the job ended; why it ended is not known.",
			hang_capital(hang, ahead), waiting == 1 ? "was" : "were", count));
	hang->basis = arena_format(&hang->arena, "The first that the others had not entered: %s%s. %s",
		hang_call(hang, &hang->ranks[wait->from]->trace, wait->op),
		hang_place(hang, &hang->ranks[wait->from]->trace, wait->op), after_the_end(hang));
	return true;
}

static void find_roots(struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count,
	int64_t patience_ns)
{
	enum hang_class *classes = arena_alloc(&hang->arena, count, sizeof(*classes));
	enum hang_class class = HANG_IS_NONE;
	const struct hang_wait *wait;
	const char *waiting_ranks;
	size_t waiting;

	if (find_one_more(hang, waits, roots, count) || find_one_ahead(hang, waits, roots, count))
		return;
	for (size_t i = 0; i < count; i++) {
		const struct hang_rank *rank = hang->ranks[roots[i]];

		classes[i] = class_of(hang, rank);
		if (!is_definite(classes[i]) &&
			is_late_only(hang, waits->first_for[roots[i]], rank, patience_ns))
			classes[i] = HANG_IS_LATE;
		/* What is certain of one rank explains the others. */
		if (class == HANG_IS_NONE || (is_definite(classes[i]) && !is_definite(class)) ||
			(class == HANG_IS_LATE && classes[i] != HANG_IS_LATE))
			class = classes[i];
	}
	name_roots(hang, waits, roots, count, classes, class);
	wait = waits->first_for[hang->culprits[0].rank];
	waiting_ranks = waiters(hang, waits, &waiting);
	hang->basis = arena_format(&hang->arena,
		"%s %s for %s, %s: %s%s. No other rank is waited for that does not wait itself.",
		hang_capital(hang, waiting_ranks), waiting == 1 ? "waits" : "wait", hang_culprits(hang),
		hang->over
			? "the first in"
			: arena_format(&hang->arena, "the first for %s, in", hang_age(hang, wait->since_ns)),
		hang_call(hang, &hang->ranks[wait->from]->trace, wait->op),
		hang_place(hang, &hang->ranks[wait->from]->trace, wait->op));
	if (class == HANG_IS_LATE) {
		hang_conclude(hang, class, HANG_OPEN,
			arena_format(&hang->arena,
				"No hang so far: %s %s behind by %s; the longest pause before was %s.",
				hang_culprits(hang), hang->culprit_count == 1 ? "is" : "are",
				hang_age(hang, wait->since_ns),
				hang_duration(hang, longest_pause(hang, wait->group))));
		return;
	}
	hang_conclude(hang, class,
		is_definite(class) ? HANG_CERTAIN
		: hang->over       ? HANG_OPEN
				   : HANG_LIKELY,
		arena_format(&hang->arena, "%s %s: %s%s.", hang_capital(hang, hang_culprits(hang)),
			hang->over ? hang->culprit_count > 1 ? "were what the others waited for"
							     : "was what the others waited for"
			: hang->culprit_count > 1 ? "are what the others wait for"
						  : "is what the others wait for",
			hang->culprit_count > 1 ? "each " : "it ", class_words(class, hang->over)));
	if (hang->over && !is_definite(class))
		hang->basis = arena_format(&hang->arena, "%s %s", hang->basis, after_the_end(hang));
}

/* ---- nobody waits for another ---- */

static bool all_ended(const struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->process != HANG_ENDED)
			return false;
	return true;
}

static int absent_ranks(const struct hang *hang)
{
	int absent = 0;

	for (size_t g = 0; g < hang->group_count; g++)
		if (hang->groups[g].size - (int)hang->groups[g].member_count > absent)
			absent = hang->groups[g].size - (int)hang->groups[g].member_count;
	return absent;
}

/* Processes of one class among those that have not ended. */
static size_t name_ranks(struct hang *hang, enum hang_class class)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->process != HANG_ENDED && class_of(hang, hang->ranks[r]) == class)
			hang_add_culprit(hang, r, culprit_sentence(hang, r, class, NULL));
	return hang->culprit_count;
}

/* Several ranks that have not communicated yet load, import and compile, each as long as it takes; unless one
 * of them cannot. */
static bool is_starting(const struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->standing.recent.count > 0 || is_definite(class_of(hang, hang->ranks[r])))
			return false;
	return hang->rank_count > 1;
}

/* A rank is stopped, and the others go on without it. */
static bool find_stopped(struct hang *hang, int64_t patience_ns)
{
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		if (rank->process == HANG_STOPPED &&
			hang->now_ns - hang_real_ns(rank, rank->standing.last_ns) >= patience_ns)
			hang_add_culprit(hang, r, culprit_sentence(hang, r, HANG_IS_STOPPED, NULL));
	}
	if (hang->culprit_count == 0)
		return false;
	hang_conclude(hang, HANG_IS_STOPPED, HANG_CERTAIN,
		arena_format(&hang->arena,
			"%s %s stopped, by a signal or a debugger; no other rank waits for %s so far.",
			hang_capital(hang, hang_culprits(hang)), hang->culprit_count > 1 ? "are" : "is",
			hang->culprit_count > 1 ? "them" : "it"));
	return true;
}

static void find_alone(struct hang *hang, int64_t patience_ns)
{
	static const enum hang_class order[] = {
		HANG_IS_STOPPED, HANG_IS_KILLED, HANG_IS_DEVICE, HANG_IS_OUTSIDE, HANG_IS_IN_CALL};
	const int absent = absent_ranks(hang);
	const bool starts = is_starting(hang);
	int64_t last_ns = 0;
	double quiet;

	for (size_t r = 0; r < hang->rank_count; r++) {
		const int64_t at_ns = hang_real_ns(hang->ranks[r], hang->ranks[r]->standing.last_ns);

		if (hang->ranks[r]->process != HANG_ENDED && at_ns > last_ns)
			last_ns = at_ns;
	}
	quiet = (double)hang->now_ns - (double)last_ns;
	hang->basis = "No rank has entered communication that another has not.";
	if (absent)
		hang->basis = arena_format(&hang->arena, "%s Of %d rank%s there is no trace here.",
			hang->basis, absent, absent == 1 ? "" : "s");
	if (all_ended(hang)) {
		hang_conclude(hang, HANG_IS_NONE, HANG_CERTAIN, "No hang: all processes ended in order.");
		return;
	}
	if (hang->over) {
		hang_conclude(hang, HANG_IS_UNKNOWN, HANG_OPEN,
			"No rank waited for another, as far as the traces say.");
		hang->basis = arena_format(&hang->arena, "%s %s", hang->basis, after_the_end(hang));
		return;
	}
	if (find_stopped(hang, patience_ns))
		return;
	if (starts)
		hang->basis = arena_format(&hang->arena,
			"%s The job has not communicated so far: it may take long.", hang->basis);
	if (quiet < (double)patience_ns * (starts ? START_TIMES : 1) ||
		quiet < USUAL_TIMES * longest_pause(hang, NULL)) {
		hang_conclude(hang, HANG_IS_NONE, HANG_LIKELY,
			arena_format(&hang->arena, "No sign of a hang: the last call was %s ago.",
				hang_age(hang, last_ns)));
		return;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (name_ranks(hang, order[i])) {
			hang_conclude(hang, order[i],
				is_definite(order[i]) && hang->culprit_count < hang->rank_count ? HANG_CERTAIN
				: hang->culprit_count < hang->rank_count || hang->rank_count == 1
					? HANG_LIKELY
					: HANG_OPEN,
				arena_format(&hang->arena, "Nothing has gone on for %s: %s%s %s.",
					hang_age(hang, last_ns), hang_culprits(hang),
					hang->culprit_count > 1 ? ": each" : "",
					class_words(order[i], false)));
			return;
		}
	hang_conclude(
		hang, HANG_IS_UNKNOWN, HANG_OPEN, "Nothing has gone on for some time; why is not known.");
}

/* ---- all of it ---- */

/* Counts of calls compare only if none is missing. */
static const char *incomparable(struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct trace *trace = &hang->ranks[r]->trace;

		if (trace->header.lost_records || trace->window_count)
			return arena_format(&hang->arena,
				"%s's trace leaves calls out (%s), so that collectives cannot be counted.",
				hang_capital(hang, hang_ranks(&hang->arena, hang, &r, 1)),
				trace->window_count ? "a window was recorded" : "records were lost");
	}
	return NULL;
}

static void find_by_waits(struct hang *hang, const struct hang_waits *waits, const size_t *roots,
	size_t root_count, int64_t patience_ns)
{
	if (root_count)
		find_roots(hang, waits, roots, root_count, patience_ns);
	else if (waits->count)
		hang_find_order(hang, waits, patience_ns);
	else
		find_alone(hang, patience_ns);
}

static void find_waiting(struct hang *hang, int64_t patience_ns)
{
	size_t *roots = arena_alloc(&hang->arena, hang->rank_count, sizeof(*roots)), root_count = 0;
	struct hang_waits waits;

	hang_waits_find(hang, &waits);
	for (size_t r = 0; r < hang->rank_count; r++)
		if (waits.first_for[r] && !waits.first_of[r])
			roots[root_count++] = r;
	if (!hang->over || !hang_find_first(hang, &waits, roots, root_count))
		find_by_waits(hang, &waits, roots, root_count, patience_ns);
	hang_waits_free(&waits);
}

/* Did a rank enter what differs just before it was read? It may have returned from a call meanwhile, and that
 * call is counted twice, or not. */
static bool is_fresh(const struct hang *hang, const struct hang_difference *difference)
{
	for (size_t m = 0; m < difference->group->member_count && !hang->over; m++) {
		const struct hang_member *member = &difference->group->members[m];
		const struct standing_entry *entry = hang_collective(member, difference->ordinal);

		if (entry &&
			hang_real_ns(hang->ranks[member->rank], entry->begin_ns) > hang->read_ns - FRESH_NS)
			return true;
	}
	return false;
}

static void find_fresh(struct hang *hang, const struct hang_difference *difference)
{
	hang_conclude(hang, HANG_IS_LATE, HANG_OPEN,
		"No hang so far: ranks seem to have entered different collectives, but only just now.");
	hang->basis = arena_format(&hang->arena,
		"Collective %" PRIu64 " on %s was entered while the traces were read: ask again.",
		difference->ordinal, hang_communicator(hang, difference->group));
}

void hang_find(struct hang *hang, int64_t patience_ns)
{
	struct hang_difference difference;
	const char *reason = incomparable(hang);

	if (reason) {
		hang_conclude(hang, HANG_IS_UNKNOWN, HANG_OPEN, "Who waits for whom is not known.");
		hang->basis = reason;
		return;
	}
	for (size_t g = 0; g < hang->group_count; g++)
		if (hang_differ(hang, &hang->groups[g], &difference)) {
			if (is_fresh(hang, &difference))
				find_fresh(hang, &difference);
			else
				hang_find_different(hang, &difference);
			return;
		}
	find_waiting(hang, patience_ns);
}

bool hang_is_found(const struct hang *hang)
{
	return hang->class != HANG_IS_NONE && hang->class != HANG_IS_LATE && hang->class != HANG_IS_UNKNOWN;
}
