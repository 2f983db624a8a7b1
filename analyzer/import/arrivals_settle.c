/* Which of the collectives that order suggests can be, with which clocks: see arrivals_settle.h. */
#include "arrivals_settle.h"

#include <stdlib.h>

/* Ends of a collective's kernels are nearer than this, where groups of ranks are distinguished by them. */
#define GROUP_NS 50000

static int compare_numbers(const void *a, const void *b)
{
	const int64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

int64_t arrivals_median(int64_t *numbers, size_t count)
{
	if (count == 0)
		return 0;
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
	return numbers[count / 2];
}

/* By how much a rank began after another had ended; more than nothing cannot be. */
static int64_t impossible(const struct arrivals_arrival *list, size_t count)
{
	int64_t last_ns = INT64_MIN, first_end_ns = INT64_MAX;

	for (size_t i = 0; i < count; i++) {
		if (list[i].begin_ns > last_ns)
			last_ns = list[i].begin_ns;
		if (list[i].end_ns < first_end_ns)
			first_end_ns = list[i].end_ns;
	}
	return last_ns - first_end_ns;
}

static bool is_possible(const struct arrivals *arrivals, const struct arrivals_collective *collective)
{
	return impossible(&arrivals->arrivals[collective->first], collective->count) <= ARRIVALS_TOLERANCE_NS;
}

static size_t count_wrong(const struct arrivals *arrivals)
{
	size_t wrong = 0;

	for (size_t i = 0; i < arrivals->collective_count; i++)
		wrong += !is_possible(arrivals, &arrivals->collectives[i]);
	return wrong;
}

/* Those whose ends are farther apart than kernels' are. */
static size_t count_apart(const struct arrivals *arrivals)
{
	size_t apart = 0;

	for (size_t i = 0; i < arrivals->collective_count; i++) {
		const struct arrivals_collective *collective = &arrivals->collectives[i];
		int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;

		for (size_t j = 0; j < collective->count; j++) {
			int64_t end_ns = arrivals->arrivals[collective->first + j].end_ns;

			first_ns = end_ns < first_ns ? end_ns : first_ns;
			last_ns = end_ns > last_ns ? end_ns : last_ns;
		}
		apart += last_ns - first_ns > GROUP_NS;
	}
	return apart;
}

/* Are other ranks in the rank's file? Then its clock is theirs. */
static bool shares_file(const struct arrivals *arrivals, size_t rank)
{
	for (size_t i = 0; i < arrivals->rank_count; i++)
		if (i != rank && arrivals->ranks[i].path == arrivals->ranks[rank].path)
			return true;
	return false;
}

/* The median of how far the rank's ends are from the middle of the collective's. Both rooms hold as many. */
static int64_t clock_of(const struct arrivals *arrivals, uint32_t rank, int64_t *ends_ns, int64_t *offsets_ns)
{
	size_t found = 0;

	for (size_t i = 0; i < arrivals->collective_count; i++) {
		const struct arrivals_collective *collective = &arrivals->collectives[i];
		int64_t own_ns = INT64_MIN;

		for (size_t j = 0; j < collective->count; j++) {
			ends_ns[j] = arrivals->arrivals[collective->first + j].end_ns;
			if (arrivals->arrivals[collective->first + j].rank == rank)
				own_ns = ends_ns[j];
		}
		if (own_ns != INT64_MIN)
			offsets_ns[found++] = own_ns - arrivals_median(ends_ns, collective->count);
	}
	return arrivals_median(offsets_ns, found);
}

/* Adds the clocks to the arrivals' times, or subtracts them. */
static void move_clocks(struct arrivals *arrivals, int64_t sign)
{
	for (size_t i = 0; i < arrivals->arrival_count; i++) {
		struct arrivals_arrival *arrival = &arrivals->arrivals[i];

		arrival->begin_ns += sign * arrivals->ranks[arrival->rank].clock_ns;
		arrival->end_ns += sign * arrivals->ranks[arrival->rank].clock_ns;
	}
}

/* Tries whether other clocks let most of the collectives end together; else leaves them as they are. */
static void correct_clocks(struct arrivals *arrivals)
{
	size_t apart = count_apart(arrivals);
	int64_t *ends_ns = mem_alloc(arrivals->rank_count, sizeof(*ends_ns));
	int64_t *offsets_ns = mem_alloc(arrivals->collective_count, sizeof(*offsets_ns));

	for (uint32_t i = 0; i < arrivals->rank_count; i++) {
		struct arrivals_rank *rank = &arrivals->ranks[i];

		rank->clock_ns = shares_file(arrivals, i) ? 0 : clock_of(arrivals, i, ends_ns, offsets_ns);
		/* Within what kernels' ends differ there is nothing to correct. */
		if (llabs(rank->clock_ns) <= ARRIVALS_TOLERANCE_NS)
			rank->clock_ns = 0;
		arrivals->clocks_corrected = arrivals->clocks_corrected || rank->clock_ns != 0;
	}
	free(ends_ns);
	free(offsets_ns);
	move_clocks(arrivals, -1);
	if (!arrivals->clocks_corrected || count_apart(arrivals) * 2 <= apart)
		return;
	move_clocks(arrivals, 1);
	for (size_t i = 0; i < arrivals->rank_count; i++)
		arrivals->ranks[i].clock_ns = 0;
	arrivals->clocks_corrected = false;
}

static int compare_ends(const void *a, const void *b)
{
	const struct arrivals_arrival *one = a, *other = b;

	if (one->end_ns != other->end_ns)
		return one->end_ns < other->end_ns ? -1 : 1;
	return one->rank < other->rank ? -1 : one->rank > other->rank;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct arrivals_arrival *one = a, *other = b;

	return one->rank < other->rank ? -1 : one->rank > other->rank;
}

/*
 * The i-th of a function on each rank, but at different times: of several groups of ranks, each of which ends
 * together. Adds those to `into`, of which there are `count`, and answers how many there are then.
 */
static size_t split(struct arrivals *arrivals, const struct arrivals_collective *collective,
	struct arrivals_collective **into, size_t count, size_t *room)
{
	struct arrivals_arrival *list = &arrivals->arrivals[collective->first];
	size_t begin = 0, before = count;

	qsort(list, collective->count, sizeof(*list), compare_ends);
	for (size_t i = 1; i <= collective->count; i++) {
		struct arrivals_collective part = {
			.name = collective->name, .first = collective->first + begin, .count = i - begin};

		if (i < collective->count && list[i].end_ns - list[i - 1].end_ns <= GROUP_NS)
			continue;
		if (part.count > 1 && is_possible(arrivals, &part)) {
			qsort(list + begin, part.count, sizeof(*list), compare_ranks);
			*MEM_PUSH(*into, count, *room) = part;
		} else {
			for (size_t j = begin; j < i; j++)
				arrivals->ranks[list[j].rank].unmatched++;
		}
		begin = i;
	}
	arrivals->refused += count == before;
	return count;
}

void arrivals_settle(struct arrivals *arrivals)
{
	struct arrivals_collective *kept = NULL;
	size_t count = 0, room = 0;

	if (count_wrong(arrivals) > 0)
		correct_clocks(arrivals);
	for (size_t i = 0; i < arrivals->collective_count; i++) {
		if (is_possible(arrivals, &arrivals->collectives[i]))
			*MEM_PUSH(kept, count, room) = arrivals->collectives[i];
		else
			count = split(arrivals, &arrivals->collectives[i], &kept, count, &room);
	}
	free(arrivals->collectives);
	arrivals->collectives = kept;
	arrivals->collective_count = count;
	arrivals->collective_room = room;
}
