/* The conclusion where nobody waits for another: no rank, one alone, or all of them make no call. */
#include "hang_private.h"
#include "timeline/thresholds.h"

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
		if (hang->ranks[r]->process != HANG_ENDED && hang_class_of(hang, hang->ranks[r]) == class)
			hang_add_culprit(hang, r, hang_culprit_sentence(hang, r, class, NULL));
	return hang->culprit_count;
}

/* Several ranks that have not communicated yet load, import and compile, each as long as it takes; unless one
 * of them cannot. */
static bool is_starting(const struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->standing.recent.count > 0 ||
			hang_is_definite(hang_class_of(hang, hang->ranks[r])))
			return false;
	return hang->rank_count > 1;
}

bool hang_find_suspended(struct hang *hang)
{
	size_t stopped = 0;

	for (size_t r = 0; r < hang->rank_count; r++) {
		if (hang->ranks[r]->process != HANG_STOPPED && hang->ranks[r]->process != HANG_ENDED)
			return false;
		stopped += hang->ranks[r]->process == HANG_STOPPED;
	}
	if (stopped == 0)
		return false;
	hang_conclude(hang, HANG_IS_STOPPED, HANG_LIKELY,
		"The job is suspended: all of its processes are stopped by a signal.");
	for (size_t r = 0; r < hang->rank_count; r++)
		if (hang->ranks[r]->process == HANG_STOPPED)
			hang_add_culprit(hang, r, hang_culprit_sentence(hang, r, HANG_IS_STOPPED, NULL));
	hang->basis = "A scheduler or Ctrl-Z does that; SIGCONT has them go on.";
	return true;
}

/* A rank is stopped, and the others go on without it. */
static bool find_stopped(struct hang *hang, int64_t patience_ns)
{
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		if (rank->process == HANG_STOPPED &&
			hang->now_ns - hang_real_ns(rank, rank->standing.last_ns) >= patience_ns)
			hang_add_culprit(hang, r, hang_culprit_sentence(hang, r, HANG_IS_STOPPED, NULL));
	}
	if (hang->culprit_count == 0)
		return false;
	hang_conclude(hang, HANG_IS_STOPPED, HANG_CERTAIN,
		arena_format(&hang->arena, "%s %s stopped by a signal; no other rank waits for %s so far.",
			hang_capital(hang, hang_culprits(hang)), hang->culprit_count > 1 ? "are" : "is",
			hang->culprit_count > 1 ? "them" : "it"));
	return true;
}

/* Nobody waits for the ranks of this class, which have made no call for some time: they may yet go on. */
static void conclude_alone(
	struct hang *hang, enum hang_class class, int64_t last_ns, double quiet, int64_t patience_ns)
{
	size_t *ranks = arena_alloc(&hang->arena, hang->culprit_count, sizeof(*ranks));
	const bool one_of_all = hang->culprit_count < hang->rank_count || hang->rank_count == 1;

	for (size_t i = 0; i < hang->culprit_count; i++)
		ranks[i] = hang->culprits[i].rank;
	hang_look_at(hang, ranks, hang->culprit_count);
	hang_add_progress(hang);
	if (hang_any_works(hang) && quiet < (double)(HANG_WORK_TIMES * patience_ns)) {
		hang_conclude(hang, HANG_IS_NONE, HANG_LIKELY,
			arena_format(&hang->arena, "No sign of a hang: the last call was %s ago, and %s.",
				hang_age(hang, last_ns),
				hang->culprit_count > 1 ? "ranks work" : "the rank works"));
		return;
	}
	hang_conclude(hang, class, one_of_all && !hang_any_works(hang) ? HANG_LIKELY : HANG_OPEN,
		arena_format(&hang->arena, "Nothing has gone on for %s: %s%s %s%s.", hang_age(hang, last_ns),
			hang_culprits(hang), hang->culprit_count > 1 ? ": each" : "",
			hang_class_words(class, false), hang_any_works(hang) ? ", and works" : ""));
}

void hang_find_alone(struct hang *hang, int64_t patience_ns)
{
	static const enum hang_class order[] = {HANG_IS_STOPPED, HANG_IS_KILLED, HANG_IS_HELD, HANG_IS_DEVICE,
		HANG_IS_OUTSIDE, HANG_IS_IN_CALL};
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
		if (hang->absent_count > 0)
			hang->basis = arena_format(&hang->arena, "%s There is no trace of %s of %d.",
				hang->basis, hang_absent_words(hang), hang->world);
		hang_conclude(hang, HANG_IS_UNKNOWN, HANG_OPEN,
			"No rank waited for another, as far as the traces say.");
		hang->basis = arena_format(&hang->arena, "%s %s", hang->basis, hang_after_the_end(hang));
		return;
	}
	if (find_stopped(hang, patience_ns))
		return;
	if (starts)
		hang->basis = arena_format(&hang->arena,
			"%s The job has not communicated so far: it may take long.", hang->basis);
	if (quiet < (double)patience_ns * (starts ? HANG_START_TIMES : 1) ||
		quiet < HANG_USUAL_TIMES * hang_longest_pause(hang, NULL)) {
		hang_conclude(hang, HANG_IS_NONE, HANG_LIKELY,
			arena_format(&hang->arena, "No sign of a hang: the last call was %s ago.",
				hang_age(hang, last_ns)));
		return;
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (name_ranks(hang, order[i])) {
			conclude_alone(hang, order[i], last_ns, quiet, patience_ns);
			return;
		}
	hang_conclude(
		hang, HANG_IS_UNKNOWN, HANG_OPEN, "No progress for some time; the cause is unknown.");
}
