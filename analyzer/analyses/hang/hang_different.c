/* Ranks whose collectives differ at one place of a communicator. */
#include "hang_private.h"

#include <inttypes.h>

static bool differs_from_usual(const struct hang_difference *d, size_t member)
{
	return d->signatures[member] && d->signatures[member] != d->usual;
}

/* Those of a tie that took another way than before, if others did not. */
static bool find_odd(struct hang *hang, const struct hang_difference *d, bool *odd)
{
	bool *among = arena_alloc(&hang->arena, hang->rank_count, sizeof(*among));

	for (size_t m = 0; m < d->group->member_count; m++)
		among[d->group->members[m].rank] = d->signatures[m] != 0;
	return hang_find_odd(hang, among, odd);
}

/* The first member whose collective there has this signature (0: any), or has not. NULL: none. */
static const struct hang_member *member_of(
	const struct hang_difference *d, uint64_t signature, bool has, const struct hang_member *but)
{
	for (size_t m = 0; m < d->group->member_count; m++)
		if (d->signatures[m] && &d->group->members[m] != but &&
			(signature == 0 || (d->signatures[m] == signature) == has))
			return &d->group->members[m];
	return NULL;
}

/* What is known of a rank that entered something else than what it had in each step before. "": nothing. */
static const char *steps_words(struct hang *hang, const struct hang_difference *d)
{
	const struct hang_member *other, *one = NULL;
	uint64_t steps;

	for (size_t m = 0; m < d->group->member_count && hang->culprit_count == 1; m++)
		if (d->group->members[m].rank == hang->culprits[0].rank)
			one = &d->group->members[m];
	other = one ? member_of(d, d->usual, true, one) : NULL;
	steps = other ? hang_common_steps(hang, one, other, d->ordinal) : 0;
	if (!steps)
		return "";
	return arena_format(&hang->arena,
		" Before, it made %" PRIu64
		" step%s, with the same calls as %s, which goes on with step %" PRIu64
		": it had fewer batches, left its loop, or made a call there that the others do not make.",
		steps, steps == 1 ? "" : "s", hang_ranks(&hang->arena, hang, &other->rank, 1), steps + 1);
}

/* Does one of them lack a step? Of two sides without a majority it is one from each. */
static bool lacks_step(struct hang *hang, const struct hang_difference *d, struct hang_shift *shift)
{
	const struct hang_member *one = member_of(d, d->usual, false, NULL);
	const struct hang_member *other = one ? member_of(d, d->usual, true, one) : NULL;

	return one && other && hang_find_shift(hang, one, other, d->ordinal, shift);
}

static const char *entered_sentence(struct hang *hang, const struct hang_difference *d,
	const struct hang_member *member, const char *entered)
{
	return arena_format(&hang->arena, "%s entered %s as collective %" PRIu64 " on %s.",
		hang_capital(hang, hang_ranks(&hang->arena, hang, &member->rank, 1)), entered, d->ordinal,
		hang_communicator(hang, d->group));
}

/* The rank that lacks a step is named, whatever it stands in now. */
static void conclude_shift(struct hang *hang, const struct hang_difference *d, const struct hang_shift *shift,
	const char *others)
{
	const char *rank = hang_ranks(&hang->arena, hang, &shift->rank, 1);

	for (size_t m = 0; m < d->group->member_count; m++) {
		const struct hang_member *member = &d->group->members[m];
		const struct standing_entry *entry = hang_collective(member, d->ordinal);

		if (member->rank != shift->rank || !entry)
			continue;
		hang->culprit_count = 0;
		hang_add_culprit(hang, shift->rank,
			entered_sentence(hang, d, member,
				hang_call(hang, &hang->ranks[shift->rank]->trace, entry->op)));
	}
	hang_conclude(hang, HANG_IS_DIFFERENT, HANG_LIKELY,
		arena_format(&hang->arena, "%s has made %s.", hang_capital(hang, rank),
			hang_shift_words(hang, shift)));
	hang->basis = arena_format(&hang->arena,
		"Since then its calls between collectives are those of %s one step later: a step was left out there, by a "
		"condition, an exception that was caught, or a loader; or %s has made one more. It shows where the order "
		"differs for the first time: %s entered %s.",
		hang_ranks(&hang->arena, hang, &shift->other, 1),
		hang_ranks(&hang->arena, hang, &shift->other, 1), "the others",
		others ? others : "another one");
}

void hang_find_different(struct hang *hang, const struct hang_difference *d)
{
	const struct hang_group *group = d->group;
	bool *took_another = arena_alloc(&hang->arena, hang->rank_count, sizeof(*took_another));
	const bool decided = d->usual || find_odd(hang, d, took_another);
	const char *others = NULL;
	struct hang_shift shift;

	for (size_t m = 0; m < group->member_count; m++) {
		const struct hang_rank *rank = hang->ranks[group->members[m].rank];
		const struct standing_entry *entry = hang_collective(&group->members[m], d->ordinal);
		const char *entered;
		bool odd;

		if (!entry)
			continue;
		entered = arena_format(&hang->arena, "%s%s", hang_call(hang, &rank->trace, entry->op),
			hang_place(hang, &rank->trace, entry->op));
		odd = d->usual ? differs_from_usual(d, m) : took_another[group->members[m].rank];
		if (odd || !decided)
			hang_add_culprit(hang, group->members[m].rank,
				entered_sentence(hang, d, &group->members[m], entered));
		else if (!others)
			others = entered;
	}
	if (lacks_step(hang, d, &shift)) {
		conclude_shift(hang, d, &shift, others);
		return;
	}
	if (!decided) {
		hang_conclude(hang, HANG_IS_DIFFERENT, HANG_OPEN,
			arena_format(&hang->arena,
				"%s entered different collectives; which of them is wrong is open.",
				hang_capital(hang, hang_culprits(hang))));
		hang->basis = "No side is a majority, and none left the order of its calls before.";
		return;
	}
	hang_conclude(hang, HANG_IS_DIFFERENT, d->usual ? HANG_CERTAIN : HANG_LIKELY,
		arena_format(&hang->arena, "%s entered another collective than the other ranks.",
			hang_capital(hang, hang_culprits(hang))));
	hang->basis = arena_format(&hang->arena, "The others entered %s; %s.%s", others ? others : "-",
		d->usual ? "they are the majority"
			 : "without a majority it is the side that left the order of its calls before",
		steps_words(hang, d));
}
