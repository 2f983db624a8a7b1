/* Sentences of the conclusion, and how it is put down. */
#include "hang_private.h"

#include <inttypes.h>

const char *hang_duration(struct hang *hang, double ns)
{
	const double seconds = ns / 1e9;

	if (seconds < 1)
		return arena_format(&hang->arena, "%.3f s", seconds);
	if (seconds < 120)
		return arena_format(&hang->arena, "%.1f s", seconds);
	return arena_format(&hang->arena, "%.0f min", seconds / 60);
}

const char *hang_age(struct hang *hang, int64_t real_ns)
{
	const double ns = (double)hang->now_ns - (double)real_ns;

	return hang_duration(hang, ns > 0 ? ns : 0);
}

/* " (first called from net.fc1, train.py:12)", or nothing: the operation is known by its first call. */
const char *hang_place(struct hang *hang, const struct trace *trace, uint32_t op)
{
	const char *site = op ? hang_site(&hang->arena, trace, op) : "";

	return *site ? arena_format(&hang->arena, " (first called from %s)", site) : "";
}

const char *hang_call(struct hang *hang, const struct trace *trace, uint32_t op)
{
	return op ? hang_operation(&hang->arena, trace, op) : "a call that is not known";
}

/* What the rank's thread is at, to follow the rank's name. Times of a job that is over are of no use. */
const char *hang_state(struct hang *hang, const struct hang_rank *rank)
{
	const struct standing_thread *t = rank->thread;
	const int64_t since_ns = t ? hang_real_ns(rank, t->inside ? t->begin_ns : t->end_ns) : 0;
	const char *call;

	if (!t)
		return "has made no call";
	call = arena_format(&hang->arena, "%s%s", hang_call(hang, &rank->trace, t->op),
		t->op ? hang_place(hang, &rank->trace, t->op) : "");
	if (t->inside)
		return hang->over ? arena_format(&hang->arena, "was in %s", call)
				  : arena_format(&hang->arena, "has been in %s for %s", call,
					    hang_age(hang, since_ns));
	if (rank->process == HANG_ENDED || hang->over)
		return arena_format(&hang->arena, "made its last call: %s", call);
	return arena_format(
		&hang->arena, "has made no call for %s; the last was %s", hang_age(hang, since_ns), call);
}

const char *hang_communicator(struct hang *hang, const struct hang_group *group)
{
	return arena_format(
		&hang->arena, "communicator %016" PRIx64 " of %d ranks", group->hash, group->size);
}

/* What the other has not done, to follow "has not ". */
const char *hang_missing(struct hang *hang, const struct hang_wait *wait)
{
	switch (wait->kind) {
	case HANG_WAIT_SEND:
		return arena_format(&hang->arena, "made receive %" PRIu64 " from %s on %s", wait->ordinal,
			hang_ranks(&hang->arena, hang, &wait->from, 1), hang_communicator(hang, wait->group));
	case HANG_WAIT_RECEIVE:
		return arena_format(&hang->arena, "made send %" PRIu64 " to %s on %s", wait->ordinal,
			hang_ranks(&hang->arena, hang, &wait->from, 1), hang_communicator(hang, wait->group));
	case HANG_WAIT_JOIN:
		return "joined a communicator that is being made";
	case HANG_WAIT_COLLECTIVE:
		break;
	}
	return arena_format(&hang->arena, "entered collective %" PRIu64 " on %s", wait->ordinal,
		hang_communicator(hang, wait->group));
}

const char *hang_capital(struct hang *hang, const char *text)
{
	return arena_format(
		&hang->arena, "%c%s", *text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text, text + 1);
}

void hang_add_culprit(struct hang *hang, size_t rank, const char *sentence)
{
	*MEM_PUSH(hang->culprits, hang->culprit_count, hang->culprit_room) =
		(struct hang_culprit){rank, sentence};
}

void hang_add_state(struct hang *hang, size_t rank)
{
	hang_add_culprit(hang, rank,
		arena_format(&hang->arena, "%s %s.",
			hang_capital(hang, hang_ranks(&hang->arena, hang, &rank, 1)),
			hang_state(hang, hang->ranks[rank])));
}

const char *hang_culprits(struct hang *hang)
{
	size_t *list = arena_alloc(&hang->arena, hang->culprit_count, sizeof(*list));

	for (size_t i = 0; i < hang->culprit_count; i++)
		list[i] = hang->culprits[i].rank;
	return hang_ranks(&hang->arena, hang, list, hang->culprit_count);
}

void hang_conclude(
	struct hang *hang, enum hang_class class, enum hang_strength strength, const char *headline)
{
	hang->class = class;
	hang->strength = strength;
	hang->headline = headline;
}
