/* The conclusion: which rank holds the others, and what it is at. */
#include "hang_private.h"
#include "timeline/thresholds.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- ranks that others wait for ---- */

/* The longest pause between two collectives that is known of the ranks of a group, or of all. */
double hang_longest_pause(const struct hang *hang, const struct hang_group *only)
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

	return !hang->over &&
	       (rank->process == HANG_RUNS || rank->process == HANG_HELD || rank->process == HANG_UNKNOWN) &&
	       (waited < (double)patience_ns ||
		       waited < HANG_USUAL_TIMES * hang_longest_pause(hang, wait->group));
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

enum hang_class hang_class_of(const struct hang *hang, const struct hang_rank *rank)
{
	struct standing_work work;

	switch (rank->process) {
	case HANG_ENDED:
		return HANG_IS_EXITED;
	case HANG_STOPPED:
		return HANG_IS_STOPPED;
	case HANG_HELD:
		return HANG_IS_HELD;
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

bool hang_is_definite(enum hang_class class)
{
	return class == HANG_IS_EXITED || class == HANG_IS_STOPPED || class == HANG_IS_KILLED;
}

/* To follow a rank's name; in the past of a job that is over. */
const char *hang_class_words(enum hang_class class, bool past)
{
	switch (class) {
	case HANG_IS_EXITED:
		return past ? "had ended" : "has ended";
	case HANG_IS_KILLED:
		return "is gone without an end of its trace: killed, or ended by a fault";
	case HANG_IS_STOPPED:
		return "is stopped by a signal";
	case HANG_IS_HELD:
		return "is held by a debugger";
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

const char *hang_culprit_sentence(
	struct hang *hang, size_t number, enum hang_class class, const struct hang_wait *wait)
{
	struct hang_rank *rank = hang->ranks[number];
	const char *text = arena_format(&hang->arena, "%s %s",
		hang_capital(hang, hang_ranks(&hang->arena, hang, &number, 1)), hang_state(hang, rank));
	struct standing_work work;
	const char *where;

	if (class == HANG_IS_OUTSIDE && (where = hang_where(hang, rank)) != NULL)
		text = arena_format(&hang->arena, "%s. It %s", text, where);
	if (class == HANG_IS_DEVICE && endless_work(rank, &work))
		text = arena_format(&hang->arena, "%s; its device has not finished %s%s", text,
			hang_call(hang, &rank->trace, work.op), hang_place(hang, &rank->trace, work.op));
	if (wait)
		text = arena_format(&hang->arena, "%s. It has not %s", text, hang_missing(hang, wait));
	if (class == HANG_IS_OUTSIDE && !hang->over)
		text = arena_format(&hang->arena, "%s. %s", text, hang_look_further(hang, rank));
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
				hang_culprit_sentence(hang, roots[i], class, waits->first_for[roots[i]]));
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

const char *hang_after_the_end(const struct hang *hang)
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
		if (hang_is_definite(hang_class_of(hang, hang->ranks[roots[i]])))
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
		hang_place(hang, &hang->ranks[wait->from]->trace, wait->op), hang_after_the_end(hang));
	return true;
}

bool hang_any_works(const struct hang *hang)
{
	for (size_t i = 0; i < hang->culprit_count; i++)
		if (hang->ranks[hang->culprits[i].rank]->progress.works)
			return true;
	return false;
}

/* What the culprits do, after their sentences. */
void hang_add_progress(struct hang *hang)
{
	for (size_t i = 0; i < hang->culprit_count; i++) {
		struct hang_culprit *culprit = &hang->culprits[i];
		const struct hang_progress *progress = &hang->ranks[culprit->rank]->progress;

		if (progress->works)
			culprit->sentence = arena_format(&hang->arena, "%s It %s.", culprit->sentence,
				hang_progress_words(hang, progress));
	}
}

/* By a tool that looks at it, which lets it go on. */
static bool is_stopped_just_now(const struct hang *hang, const struct hang_rank *rank, int64_t patience_ns)
{
	return rank->process == HANG_STOPPED &&
	       hang->now_ns - hang_real_ns(rank, rank->standing.last_ns) < patience_ns;
}

/* By root. Who works may be late for longer: those that would be more than late are looked at. */
static enum hang_class *classify(struct hang *hang, const struct hang_waits *waits, const size_t *roots,
	size_t count, int64_t patience_ns)
{
	enum hang_class *classes = arena_alloc(&hang->arena, count, sizeof(*classes));
	size_t *overdue = arena_alloc(&hang->arena, count, sizeof(*overdue)), overdue_count = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hang_rank *rank = hang->ranks[roots[i]];

		classes[i] = hang_class_of(hang, rank);
		if (is_stopped_just_now(hang, rank, patience_ns))
			classes[i] = HANG_IS_LATE;
		if (hang_is_definite(classes[i]) || classes[i] == HANG_IS_LATE)
			continue;
		if (is_late_only(hang, waits->first_for[roots[i]], rank, patience_ns))
			classes[i] = HANG_IS_LATE;
		else
			overdue[overdue_count++] = roots[i];
	}
	hang_find_calls(hang, overdue, overdue_count, patience_ns);
	hang_look_at(hang, overdue, overdue_count);
	for (size_t i = 0; i < count; i++) {
		const struct hang_rank *rank = hang->ranks[roots[i]];

		if (rank->progress.works &&
			is_late_only(hang, waits->first_for[roots[i]], rank, HANG_WORK_TIMES * patience_ns))
			classes[i] = HANG_IS_LATE;
	}
	return classes;
}

static void find_roots(struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count,
	int64_t patience_ns)
{
	enum hang_class class = HANG_IS_NONE;
	const enum hang_class *classes;
	const struct hang_wait *wait;
	const char *waiting_ranks;
	size_t waiting;

	if (find_one_more(hang, waits, roots, count) || find_one_ahead(hang, waits, roots, count))
		return;
	classes = classify(hang, waits, roots, count, patience_ns);
	for (size_t i = 0; i < count; i++)
		/* What is certain of one rank explains the others. */
		if (class == HANG_IS_NONE || (hang_is_definite(classes[i]) && !hang_is_definite(class)) ||
			(class == HANG_IS_LATE && classes[i] != HANG_IS_LATE))
			class = classes[i];
	name_roots(hang, waits, roots, count, classes, class);
	hang_add_progress(hang);
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
				hang_duration(hang, hang_longest_pause(hang, wait->group))));
		return;
	}
	hang_conclude(hang, class,
		hang_is_definite(class)              ? HANG_CERTAIN
		: hang->over || hang_any_works(hang) ? HANG_OPEN
						     : HANG_LIKELY,
		arena_format(&hang->arena, "%s %s: %s%s%s.", hang_capital(hang, hang_culprits(hang)),
			hang->over ? hang->culprit_count > 1 ? "were what the others waited for"
							     : "was what the others waited for"
			: hang->culprit_count > 1 ? "are what the others wait for"
						  : "is what the others wait for",
			hang->culprit_count > 1 ? "each " : "it ", hang_class_words(class, hang->over),
			hang_any_works(hang) ? ", and works" : ""));
	if (hang->over && !hang_is_definite(class))
		hang->basis = arena_format(&hang->arena, "%s %s", hang->basis, hang_after_the_end(hang));
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
	else if (!hang_waits_for_absent(hang, patience_ns))
		hang_find_alone(hang, patience_ns);
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

		if (entry && hang_real_ns(hang->ranks[member->rank], entry->begin_ns) >
				     hang->read_ns - HANG_FRESH_NS)
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

/* Every rank that has not ended is in a call, and has been for that long. */
static bool all_stand_in_calls(const struct hang *hang, int64_t patience_ns)
{
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		if (rank->process != HANG_ENDED &&
			(!rank->thread || !rank->thread->inside ||
				hang->now_ns - hang_real_ns(rank, rank->thread->begin_ns) < patience_ns))
			return false;
	}
	return true;
}

/* A launcher that sees a rank end ends the others, and starts all of them again: some time is left to it. */
static bool is_launchers_turn(const struct hang *hang)
{
	int64_t last_ns = 0;

	if (!hang->launcher || hang->class == HANG_IS_STOPPED)
		return false;
	for (size_t i = 0; i < hang->culprit_count; i++) {
		const struct hang_rank *rank = hang->ranks[hang->culprits[i].rank];
		const int64_t at_ns = hang_real_ns(rank, rank->standing.last_ns);

		last_ns = at_ns > last_ns ? at_ns : last_ns;
	}
	return hang->now_ns - last_ns < HANG_LAUNCHER_NS;
}

static bool cannot_go_on(const struct hang *hang, int64_t patience_ns)
{
	if (hang->over)
		return false;
	if (hang_is_definite(hang->class))
		return hang->strength == HANG_CERTAIN && !is_launchers_turn(hang);
	return (hang->class == HANG_IS_DIFFERENT || hang->class == HANG_IS_ORDER ||
		       hang->class == HANG_IS_UNMATCHED) &&
	       all_stand_in_calls(hang, patience_ns);
}

static void find(struct hang *hang, int64_t patience_ns)
{
	struct hang_difference difference;
	const char *reason = incomparable(hang);

	if (hang_find_suspended(hang))
		return;
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

static void add_to_basis(struct hang *hang, const char *sentence)
{
	if (sentence)
		hang->basis =
			hang->basis ? arena_format(&hang->arena, "%s %s", hang->basis, sentence) : sentence;
}

/* All processes of an attempt are gone, and the next has not begun. */
static void find_between(struct hang *hang)
{
	hang_conclude(hang, HANG_IS_NONE, HANG_LIKELY,
		arena_format(&hang->arena,
			"No hang: all processes of %s have ended; the job may be started again.",
			hang_attempt_words(hang)));
	hang->basis = arena_format(&hang->arena, "Its launcher, process %u, runs.", hang->launcher);
}

void hang_find(struct hang *hang, int64_t patience_ns)
{
	if (hang_is_between_attempts(hang)) {
		find_between(hang);
	} else {
		find(hang, patience_ns);
		if (hang->restart >= 0 && (hang->restart > 0 || hang->restarts > 0))
			add_to_basis(
				hang, arena_format(&hang->arena, "This is %s.", hang_attempt_words(hang)));
	}
	hang->final = cannot_go_on(hang, patience_ns);
	for (size_t i = 0; i < hang->culprit_count && i < HANG_NAMED; i++)
		hang_read_stacks(hang, hang->ranks[hang->culprits[i].rank]);
	add_to_basis(hang, hang_earlier_words(hang));
}

bool hang_is_final(const struct hang *hang)
{
	return hang->final;
}

bool hang_is_found(const struct hang *hang)
{
	return hang->class != HANG_IS_NONE && hang->class != HANG_IS_LATE && hang->class != HANG_IS_UNKNOWN;
}
