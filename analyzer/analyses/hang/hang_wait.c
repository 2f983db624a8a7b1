/* Who waits for whom. */
#include "hang_private.h"

#include <stdlib.h>

static void hang_wait_add(struct hang_waits *waits, struct hang_wait wait)
{
	if (wait.from != wait.to)
		*MEM_PUSH(waits->items, waits->count, waits->room) = wait;
}

/* Those that entered a collective wait for those that have entered least. */
static void collectives(const struct hang *hang, const struct hang_group *group, struct hang_waits *waits)
{
	uint64_t least = UINT64_MAX;

	for (size_t m = 0; m < group->member_count; m++)
		if (group->members[m].count < least)
			least = group->members[m].count;
	for (size_t m = 0; m < group->member_count; m++) {
		const struct hang_member *member = &group->members[m];
		const struct standing_entry *entry = hang_collective(member, least + 1);
		struct hang_wait wait = {.from = member->rank, .group = group, .ordinal = least + 1};

		if (member->count == least)
			continue;
		/* Not kept: the waiting is older than what is. */
		if (!entry)
			entry = &member->comm->recent.entries[0];
		wait.op = entry->op;
		wait.since_ns = hang_real_ns(hang->ranks[member->rank], entry->begin_ns);
		for (size_t o = 0; o < group->member_count; o++) {
			wait.to = group->members[o].rank;
			if (group->members[o].count == least)
				hang_wait_add(waits, wait);
		}
	}
}

static int compare_place(const void *key, const void *member)
{
	const int place = *(const int *)key, other = ((const struct hang_member *)member)->place;

	return (place > other) - (place < other);
}

static const struct hang_member *member_at(const struct hang_group *group, int place)
{
	return bsearch(&place, group->members, group->member_count, sizeof(*group->members), compare_place);
}

/* Sends without a receive, and receives without a send. */
static void transfers(const struct hang *hang, const struct hang_group *group, struct hang_waits *waits)
{
	for (size_t m = 0; m < group->member_count; m++) {
		const struct hang_member *member = &group->members[m];
		const struct hang_rank *rank = hang->ranks[member->rank];

		for (size_t i = 0; i < rank->standing.peer_count; i++) {
			const struct standing_peer *peer = &rank->standing.peers[i], *back;
			const struct hang_member *other;
			struct hang_wait wait = {.from = member->rank, .group = group};

			if (peer->number != member->number || !(other = member_at(group, peer->peer)))
				continue;
			wait.to = other->rank;
			back = standing_find_peer(
				&hang->ranks[other->rank]->standing, other->number, member->place);
			if (peer->sends > (back ? back->receives : 0)) {
				wait.kind = HANG_WAIT_SEND;
				wait.ordinal = (back ? back->receives : 0) + 1;
				wait.op = peer->last_send.op;
				wait.since_ns = hang_real_ns(rank, peer->last_send.begin_ns);
				hang_wait_add(waits, wait);
			}
			if (peer->receives > (back ? back->sends : 0)) {
				wait.kind = HANG_WAIT_RECEIVE;
				wait.ordinal = (back ? back->sends : 0) + 1;
				wait.op = peer->last_receive.op;
				wait.since_ns = hang_real_ns(rank, peer->last_receive.begin_ns);
				hang_wait_add(waits, wait);
			}
		}
	}
}

static bool is_joining(const struct hang_rank *rank)
{
	return rank->thread && rank->thread->inside && rank->thread->op &&
	       standing_joins(&rank->trace, rank->thread->op);
}

/* Those that are in a call which makes a communicator wait for those that have made fewer of them. Which
 * ranks belong to it is not known before it is there. */
static void joins(const struct hang *hang, struct hang_waits *waits)
{
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		if (!is_joining(rank))
			continue;
		for (size_t o = 0; o < hang->rank_count; o++)
			if (!is_joining(hang->ranks[o]) &&
				hang->ranks[o]->standing.joins < rank->standing.joins)
				hang_wait_add(waits,
					(struct hang_wait){.from = r,
						.to = o,
						.kind = HANG_WAIT_JOIN,
						.ordinal = rank->standing.joins,
						.op = rank->thread->op,
						.since_ns = hang_real_ns(rank, rank->thread->begin_ns)});
	}
}

static void keep_older(const struct hang_wait **kept, const struct hang_wait *wait)
{
	if (!*kept || wait->since_ns < (*kept)->since_ns)
		*kept = wait;
}

void hang_waits_find(const struct hang *hang, struct hang_waits *waits)
{
	memset(waits, 0, sizeof(*waits));
	for (size_t g = 0; g < hang->group_count; g++) {
		collectives(hang, &hang->groups[g], waits);
		transfers(hang, &hang->groups[g], waits);
	}
	joins(hang, waits);
	waits->first_of = mem_alloc(hang->rank_count, sizeof(const struct hang_wait *));
	waits->first_for = mem_alloc(hang->rank_count, sizeof(const struct hang_wait *));
	for (size_t i = 0; i < waits->count; i++) {
		keep_older(&waits->first_of[waits->items[i].from], &waits->items[i]);
		keep_older(&waits->first_for[waits->items[i].to], &waits->items[i]);
	}
}

void hang_waits_free(struct hang_waits *waits)
{
	free(waits->items);
	free(waits->first_of);
	free(waits->first_for);
}
