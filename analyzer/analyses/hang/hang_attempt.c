/*
 * The attempt that a job is at, and the ranks that have not begun.
 *
 * A launcher that starts a job again (torchrun, a scheduler) leaves the traces of the attempt before in the
 * folder. Most say to each process which attempt it is of. Where none does, or the number is the same since
 * the launcher has changed how many ranks there are, an attempt begins where a rank has a trace whose process
 * of before has ended: what began earlier and has ended is of an attempt before.
 */
#include "hang_private.h"
#include "timeline/thresholds.h"

#include <stdlib.h>

static bool is_over(const struct hang_rank *rank)
{
	return rank->process == HANG_GONE || rank->process == HANG_ENDED;
}

static uint64_t began(const struct hang_rank *rank)
{
	return rank->trace.header.real_ns;
}

static int by_begin(const void *left, const void *right)
{
	const struct hang_rank *a = *(struct hang_rank *const *)left, *b = *(struct hang_rank *const *)right;

	return began(a) < began(b) ? -1 : began(a) > began(b);
}

/* A place in the list of those sorted by when they began. */
struct place {
	int32_t rank;
	size_t at;
};

static int by_rank(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Of each its rank's trace of before; SIZE_MAX: there is none. The caller frees them. */
static size_t *list_before(struct hang_rank *const *sorted, size_t count)
{
	struct place *places = mem_alloc(count, sizeof(*places));
	size_t *before = mem_alloc(count, sizeof(*before));

	for (size_t i = 0; i < count; i++)
		places[i] = (struct place){sorted[i]->trace.header.rank, i};
	qsort(places, count, sizeof(*places), by_rank);
	for (size_t i = 0; i < count; i++)
		before[places[i].at] = i && places[i].rank >= 0 && places[i - 1].rank == places[i].rank
					       ? places[i - 1].at
					       : SIZE_MAX;
	free(places);
	return before;
}

/* CLOCK_REALTIME at which the last attempt began; 0: there is one alone. sorted: by when they began. */
static uint64_t last_attempt(struct hang_rank *const *sorted, size_t count)
{
	size_t *before = list_before(sorted, count);
	uint64_t since = 0;

	for (size_t i = 0; i < count; i++) {
		const struct hang_rank *other = before[i] < count ? sorted[before[i]] : NULL;

		if (other && began(other) >= since && is_over(other) &&
			hang_real_ns(other, other->standing.last_ns) <= (int64_t)began(sorted[i]))
			since = began(sorted[i]);
	}
	free(before);
	return since;
}

static int32_t latest_restart(const struct hang *hang)
{
	int32_t latest = hang->ranks[0]->attempt.restart;

	for (size_t r = 1; r < hang->rank_count; r++)
		if (hang->ranks[r]->attempt.restart > latest)
			latest = hang->ranks[r]->attempt.restart;
	return latest;
}

/* Did the launcher of this rank's job say to another process that it is of a later attempt? latest: of all.
 */
static bool is_superseded(const struct hang *hang, const struct hang_rank *rank, int32_t latest)
{
	for (size_t r = 0; r < hang->rank_count && rank->attempt.restart < latest; r++) {
		const struct hang_rank *other = hang->ranks[r];

		if (other->attempt.restart > rank->attempt.restart &&
			trace_attempt_same_job(&rank->attempt, rank->trace.header.host, &other->attempt,
				other->trace.header.host))
			return true;
	}
	return false;
}

static void leave_out(struct hang *hang, uint64_t since)
{
	bool *leave = arena_alloc(&hang->arena, hang->rank_count, sizeof(*leave));
	const int32_t latest = latest_restart(hang);
	size_t kept = 0;

	for (size_t r = 0; r < hang->rank_count; r++)
		leave[r] = (is_over(hang->ranks[r]) && began(hang->ranks[r]) < since) ||
			   is_superseded(hang, hang->ranks[r], latest);
	for (size_t r = 0; r < hang->rank_count; r++) {
		if (!leave[r]) {
			hang->ranks[kept++] = hang->ranks[r];
			continue;
		}
		if (!is_over(hang->ranks[r]) && hang->ranks[r]->process != HANG_UNKNOWN)
			hang->earlier_runs = hang->ranks[r]->trace.header.pid;
		hang_free_rank(hang->ranks[r]);
		hang->earlier++;
	}
	hang->rank_count = kept;
}

/* Of the ranks that are left. */
static void describe(struct hang *hang)
{
	hang->restart = hang->restarts = -1;
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		if (!rank->attempt.known)
			continue;
		hang->restart = rank->attempt.restart;
		hang->restarts = rank->attempt.restarts;
		if (!hang->launcher && hang_launcher_runs(&rank->trace, rank->attempt.launcher))
			hang->launcher = rank->attempt.launcher;
	}
}

void hang_attempts(struct hang *hang)
{
	struct hang_rank **sorted = mem_alloc(hang->rank_count, sizeof(struct hang_rank *));
	uint64_t since;

	memcpy(sorted, hang->ranks, hang->rank_count * sizeof(*sorted));
	qsort(sorted, hang->rank_count, sizeof(struct hang_rank *), by_begin);
	since = last_attempt(sorted, hang->rank_count);
	free(sorted);
	leave_out(hang, since);
	describe(hang);
}

bool hang_is_between_attempts(const struct hang *hang)
{
	if (!hang->over || !hang->launcher || (hang->restarts >= 0 && hang->restart >= hang->restarts))
		return false;
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->process == HANG_GONE)
			return true;
	return false;
}

const char *hang_attempt_words(struct hang *hang)
{
	return hang->restarts >= 0 ? arena_format(&hang->arena, "attempt %d of at most %d", hang->restart + 1,
					     hang->restarts + 1)
				   : arena_format(&hang->arena, "attempt %d", hang->restart + 1);
}

const char *hang_earlier_words(struct hang *hang)
{
	const bool one = hang->earlier == 1;
	const char *text;

	if (hang->earlier == 0)
		return NULL;
	text = arena_format(&hang->arena, "%zu process%s of earlier attempts %s left out", hang->earlier,
		one ? "" : "es", one ? "is" : "are");
	return hang->earlier_runs ? arena_format(&hang->arena, "%s; process %u of them still runs.", text,
					    hang->earlier_runs)
				  : arena_format(&hang->arena, "%s.", text);
}

static bool has_trace(const struct hang *hang, int rank)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->trace.header.rank == rank)
			return true;
	return false;
}

/* Whoever was met in a communicator has begun, and its trace is elsewhere. */
void hang_find_absent(struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->trace.header.world > hang->world)
			hang->world = hang->ranks[r]->trace.header.world;
	for (size_t g = 0; g < hang->group_count; g++)
		if ((size_t)hang->groups[g].size > hang->groups[g].member_count)
			return;
	for (int rank = 0; rank < hang->world && (size_t)hang->world > hang->rank_count; rank++)
		if (!has_trace(hang, rank))
			*MEM_PUSH(hang->absent, hang->absent_count, hang->absent_room) = rank;
}

const char *hang_absent_words(struct hang *hang)
{
	const char *text = hang->absent_count == 1 ? "rank" : "ranks";

	for (size_t i = 0, end; i < hang->absent_count; i = end) {
		for (end = i + 1; end < hang->absent_count && hang->absent[end] == hang->absent[end - 1] + 1;)
			end++;
		text = arena_format(&hang->arena, "%s%s%d", text,
			i == 0                      ? " "
			: end == hang->absent_count ? " and "
						    : ", ",
			hang->absent[i]);
		if (end - i > 1)
			text = arena_format(&hang->arena, "%s-%d", text, hang->absent[end - 1]);
	}
	return text;
}

static bool is_joining(const struct hang_rank *rank)
{
	return rank->thread && rank->thread->inside && rank->thread->op &&
	       standing_joins(&rank->trace, rank->thread->op);
}

/*
 * Before the first communicator is made, all that the others do may be waiting for those that have not begun:
 * in a call that makes it, or outside of calls, for what the first rank is to tell them.
 */
bool hang_waits_for_absent(struct hang *hang, int64_t patience_ns)
{
	const bool one = hang->absent_count == 1;
	int64_t since_ns = INT64_MIN;
	size_t joining = 0;
	const char *who;
	bool is_late;

	if (hang->absent_count == 0 || hang->group_count > 0 || hang->over)
		return false;
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		joining += is_joining(rank);
		if (hang_real_ns(rank, rank->standing.last_ns) > since_ns)
			since_ns = hang_real_ns(rank, rank->standing.last_ns);
	}
	who = hang_absent_words(hang);
	is_late = hang->now_ns - since_ns < HANG_ABSENT_TIMES * patience_ns;
	hang->basis = arena_format(&hang->arena,
		"Of the others %zu %s in a call that makes a communicator; the last call was %s ago. A process without a trace may "
		"run, and import or load: look at its host.",
		joining, joining == 1 ? "is" : "are", hang_age(hang, since_ns));
	hang_conclude(hang, is_late ? HANG_IS_LATE : HANG_IS_ABSENT,
		is_late || joining == 0 ? HANG_OPEN : HANG_LIKELY,
		arena_format(&hang->arena, "%s%s of %d %s not begun: there is no trace of %s.",
			is_late ? "No hang so far: " : "", is_late ? who : hang_capital(hang, who),
			hang->world, one ? "has" : "have", one ? "it" : "them"));
	return true;
}
