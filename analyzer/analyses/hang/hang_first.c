/*
 * Of a job that is over: the rank that ended first. A launcher that sees a rank die ends the others a moment
 * later: until then they go on, some of them further behind than the one that died. Where nobody tells which
 * rank that was, the ends of the traces do.
 */
#include "hang_private.h"
#include "timeline/thresholds.h"

static bool is_in_call(const struct hang_rank *rank)
{
	for (size_t t = 0; t < rank->standing.thread_count; t++)
		if (rank->standing.threads[t].inside)
			return true;
	return false;
}

bool hang_find_first(struct hang *hang, const struct hang_waits *waits, const size_t *roots, size_t count)
{
	int64_t first_ns = INT64_MAX, second_ns = INT64_MAX, last_ns = INT64_MIN;
	size_t first = 0, others = 0;
	double gap, spread;

	for (size_t r = 0; r < hang->rank_count; r++) {
		const int64_t end_ns = hang_real_ns(hang->ranks[r], hang->ranks[r]->standing.last_ns);

		if (hang->ranks[r]->process == HANG_ENDED)
			continue;
		others++;
		last_ns = end_ns > last_ns ? end_ns : last_ns;
		if (end_ns < first_ns) {
			second_ns = first_ns;
			first_ns = end_ns;
			first = r;
		} else if (end_ns < second_ns)
			second_ns = end_ns;
	}
	if (others-- < HANG_FIRST_OTHERS + 1 || is_in_call(hang->ranks[first]) ||
		(count == 1 && roots[0] == first))
		return false;
	gap = (double)(second_ns - first_ns);
	spread = (double)(last_ns - second_ns);
	if (gap < HANG_FIRST_NS || gap < spread)
		return false;
	hang_add_state(hang, first);
	hang_conclude(hang, HANG_IS_OUTSIDE, HANG_LIKELY,
		arena_format(&hang->arena,
			"%s's last call was %s before those of the others: it ended first, or stood still outside of "
			"all recorded calls.",
			hang_capital(hang, hang_culprits(hang)), hang_duration(hang, gap)));
	hang->basis = arena_format(&hang->arena,
		"The last calls of the %zu others lie within %s; no process is known to run any more.",
		others, hang_duration(hang, spread));
	for (size_t i = 0; i < count; i++)
		if (roots[i] != first)
			hang->basis = arena_format(&hang->arena, "%s %s had not %s.", hang->basis,
				hang_capital(hang, hang_ranks(&hang->arena, hang, &roots[i], 1)),
				hang_missing(hang, waits->first_for[roots[i]]));
	return true;
}
