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

void hang_find_different(struct hang *hang, const struct hang_difference *d)
{
	const struct hang_group *group = d->group;
	bool *took_another = arena_alloc(&hang->arena, hang->rank_count, sizeof(*took_another));
	const bool decided = d->usual || find_odd(hang, d, took_another);
	const char *others = NULL;

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
				arena_format(&hang->arena, "%s entered %s as collective %" PRIu64 " on %s.",
					hang_capital(hang,
						hang_ranks(&hang->arena, hang, &group->members[m].rank, 1)),
					entered, d->ordinal, hang_communicator(hang, group)));
		else if (!others)
			others = entered;
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
	hang->basis = arena_format(&hang->arena, "The others entered %s; %s.", others ? others : "-",
		d->usual ? "they are the majority"
			 : "without a majority it is the side that left the order of its calls before");
}
