/* The arrivals of ranks at collectives: see arrivals.h. */
#include "arrivals_settle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel that begins so soon after its launch was not held up by the device. */
#define LAUNCH_NS 50000
/* How far sequences of different counts are tried against each other, and by how many of their kernels. */
#define SHIFTS 1024
#define COMPARED 256

/* A kernel, for sorting by what it belongs to. */
struct item {
	const char *key;
	uint32_t rank;
	uint32_t kernel;
};

static int compare_items(const void *a, const void *b)
{
	const struct item *one = a, *other = b;
	int order = strcmp(one->key, other->key);

	if (order)
		return order;
	if (one->rank != other->rank)
		return one->rank < other->rank ? -1 : 1;
	return one->kernel < other->kernel ? -1 : one->kernel > other->kernel;
}

static const struct arrivals_kernel *kernel_of(const struct arrivals *arrivals, const struct item *item)
{
	return &arrivals->ranks[item->rank].kernels[item->kernel];
}

/* The kernels of one rank under one key. */
struct sequence {
	const struct item *items;
	size_t count;
	int64_t shift; /* its item i is at place i + shift */
};

/*
 * How badly ends of the two agree at a shift: the median distance, as the clocks are and (`free`) as they
 * would be if they were set to agree best. INT64_MAX: too few are at the same place. `room` is for COMPARED
 * numbers.
 */
static int64_t disagreement(const struct arrivals *arrivals, const struct sequence *one,
	const struct sequence *other, int64_t shift, bool free_clocks, int64_t *room)
{
	size_t compared = other->count < COMPARED ? other->count : COMPARED, count = 0;
	int64_t middle_ns;

	for (size_t i = 0; i < compared; i++) {
		int64_t place = (int64_t)i + shift;

		if (place >= 0 && place < (int64_t)one->count)
			room[count++] = kernel_of(arrivals, &other->items[i])->end_ns -
					kernel_of(arrivals, &one->items[place])->end_ns;
	}
	if (count * 2 < compared)
		return INT64_MAX;
	middle_ns = free_clocks ? arrivals_median(room, count) : 0;
	for (size_t i = 0; i < count; i++)
		room[i] = llabs(room[i] - middle_ns);
	return arrivals_median(room, count);
}

/* The shift at which the sequence agrees best with the longest; the nearest of equals. */
static int64_t best_shift(const struct arrivals *arrivals, const struct sequence *longest,
	const struct sequence *sequence, bool free_clocks, int64_t *least)
{
	int64_t room[COMPARED], missing = (int64_t)(longest->count - sequence->count), best = 0;

	*least = INT64_MAX;
	for (int64_t i = 0; i <= missing * 4 && i <= SHIFTS * 2; i++) {
		int64_t shift = i % 2 ? -(i + 1) / 2 : i / 2;
		int64_t found = disagreement(arrivals, longest, sequence, shift, free_clocks, room);

		if (found < *least) {
			*least = found;
			best = shift;
		}
	}
	return best;
}

/* Where a sequence lies beside the longest. Of equal counts the i-th belong together. */
static void align(const struct arrivals *arrivals, const struct sequence *longest, struct sequence *sequence)
{
	int64_t least;

	if (sequence->count == longest->count)
		return;
	sequence->shift = best_shift(arrivals, longest, sequence, false, &least);
	if (least > ARRIVALS_TOLERANCE_NS)
		sequence->shift = best_shift(arrivals, longest, sequence, true, &least);
}

static void add_collective(
	struct arrivals *arrivals, const struct sequence *sequences, size_t sequence_count, int64_t place)
{
	struct arrivals_collective collective = {.first = arrivals->arrival_count};

	for (size_t i = 0; i < sequence_count; i++) {
		int64_t index = place - sequences[i].shift;
		const struct arrivals_kernel *kernel;

		if (index < 0 || index >= (int64_t)sequences[i].count)
			continue;
		kernel = kernel_of(arrivals, &sequences[i].items[index]);
		collective.name = kernel->name;
		*MEM_PUSH(arrivals->arrivals, arrivals->arrival_count, arrivals->arrival_room) =
			(struct arrivals_arrival){
				sequences[i].items[index].rank, kernel->begin_ns, kernel->end_ns};
	}
	collective.count = arrivals->arrival_count - collective.first;
	if (collective.count < 2) {
		for (; arrivals->arrival_count > collective.first; arrivals->arrival_count--)
			arrivals->ranks[arrivals->arrivals[collective.first].rank].unmatched++;
		return;
	}
	*MEM_PUSH(arrivals->collectives, arrivals->collective_count, arrivals->collective_room) = collective;
}

#define AS_MANY 0.9 /* of the longest: recordings begin and end at other moments */

/* Messages whose kernel says neither sender nor receiver, as those of a batch: ranks have other numbers of
 * them, which an exchange of all with all has not. */
static bool are_messages(const char *key, const struct sequence *sequences, size_t count, size_t longest)
{
	if (!strcasestr(key, "sendrecv"))
		return false;
	for (size_t i = 0; i < count; i++)
		if ((double)sequences[i].count < AS_MANY * (double)sequences[longest].count)
			return true;
	return false;
}

/* The items all have the same key. */
static void match_key(struct arrivals *arrivals, const struct item *items, size_t count)
{
	struct sequence *sequences = mem_alloc(arrivals->rank_count, sizeof(*sequences));
	size_t sequence_count = 0, longest = 0;
	int64_t first = 0, behind = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || items[i].rank != items[i - 1].rank)
			sequences[sequence_count++].items = &items[i];
		sequences[sequence_count - 1].count++;
		if (sequences[sequence_count - 1].count > sequences[longest].count)
			longest = sequence_count - 1;
	}
	if (are_messages(items[0].key, sequences, sequence_count, longest)) {
		for (size_t i = 0; i < count; i++)
			arrivals->ranks[items[i].rank].pairwise++;
		free(sequences);
		return;
	}
	for (size_t i = 0; i < sequence_count; i++) {
		int64_t end;

		align(arrivals, &sequences[longest], &sequences[i]);
		end = sequences[i].shift + (int64_t)sequences[i].count;
		first = sequences[i].shift < first ? sequences[i].shift : first;
		behind = end > behind ? end : behind;
	}
	for (int64_t place = first; place < behind; place++)
		add_collective(arrivals, sequences, sequence_count, place);
	free(sequences);
}

static void match(struct arrivals *arrivals)
{
	struct item *items;
	size_t count = 0, begin = 0;

	for (size_t i = 0; i < arrivals->rank_count; i++)
		count += arrivals->ranks[i].kernel_count;
	items = mem_alloc(count, sizeof(*items));
	count = 0;
	for (uint32_t i = 0; i < arrivals->rank_count; i++)
		for (uint32_t j = 0; j < arrivals->ranks[i].kernel_count; j++)
			items[count++] = (struct item){arrivals->ranks[i].kernels[j].key, i, j};
	qsort(items, count, sizeof(*items), compare_items);
	for (size_t i = 1; i <= count; i++)
		if (i == count || strcmp(items[i].key, items[begin].key) != 0) {
			match_key(arrivals, items + begin, i - begin);
			begin = i;
		}
	free(items);
}

static void measure(struct arrivals *arrivals, struct arrivals_collective *collective)
{
	const struct arrivals_arrival *list = &arrivals->arrivals[collective->first];
	int64_t first_end_ns = list[0].end_ns, last_end_ns = list[0].end_ns;

	collective->begin_ns = collective->last_ns = list[0].begin_ns;
	collective->last = list[0].rank;
	for (size_t i = 1; i < collective->count; i++) {
		if (list[i].begin_ns < collective->begin_ns)
			collective->begin_ns = list[i].begin_ns;
		if (list[i].begin_ns > collective->last_ns) {
			collective->last_ns = list[i].begin_ns;
			collective->last = list[i].rank;
		}
		first_end_ns = list[i].end_ns < first_end_ns ? list[i].end_ns : first_end_ns;
		last_end_ns = list[i].end_ns > last_end_ns ? list[i].end_ns : last_end_ns;
	}
	for (size_t i = 0; i < collective->count; i++) {
		collective->wait_ns += collective->last_ns - list[i].begin_ns;
		arrivals->ranks[list[i].rank].wait_ns += collective->last_ns - list[i].begin_ns;
	}
	collective->transfer_ns = last_end_ns - collective->last_ns;
	collective->spread_ns = last_end_ns - first_end_ns;
	arrivals->ranks[collective->last].wait_caused_ns += collective->wait_ns;
	arrivals->ranks[collective->last].last_count++;
	arrivals->wait_ns += collective->wait_ns;
	if (collective->spread_ns > arrivals->residual_ns)
		arrivals->residual_ns = collective->spread_ns;
}

/* Was the last rank's kernel launched only just before it began? */
static void blame(struct arrivals *arrivals, const struct arrivals_collective *collective)
{
	struct arrivals_rank *rank = &arrivals->ranks[collective->last];
	size_t low = 0, high = rank->kernel_count;
	int64_t begin_ns = collective->last_ns + rank->clock_ns;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (rank->kernels[middle].begin_ns < begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < rank->kernel_count && rank->kernels[low].begin_ns == begin_ns &&
		rank->kernels[low].launch_ns != INT64_MIN &&
		begin_ns - rank->kernels[low].launch_ns < LAUNCH_NS)
		rank->launch_count++;
}

static int compare_collectives(const void *a, const void *b)
{
	const struct arrivals_collective *one = a, *other = b;

	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	return one->first < other->first ? -1 : one->first > other->first;
}

void arrivals_find(struct arrivals *arrivals, struct arrivals_rank *ranks, size_t rank_count)
{
	memset(arrivals, 0, sizeof(*arrivals));
	arrivals->ranks = ranks;
	arrivals->rank_count = rank_count;
	match(arrivals);
	arrivals_settle(arrivals);
	for (size_t i = 0; i < arrivals->collective_count; i++) {
		measure(arrivals, &arrivals->collectives[i]);
		blame(arrivals, &arrivals->collectives[i]);
	}
	if (arrivals->collective_count)
		qsort(arrivals->collectives, arrivals->collective_count, sizeof(*arrivals->collectives),
			compare_collectives);
}

void arrivals_free(struct arrivals *arrivals)
{
	free(arrivals->collectives);
	free(arrivals->arrivals);
	memset(arrivals, 0, sizeof(*arrivals));
}

double arrivals_matched(const struct arrivals *arrivals)
{
	size_t unmatched = 0, kernels = 0;

	for (size_t i = 0; i < arrivals->rank_count; i++) {
		unmatched += arrivals->ranks[i].unmatched;
		kernels += arrivals->ranks[i].kernel_count;
	}
	return kernels ? 1 - (double)unmatched / (double)kernels : 0;
}

/* Probability that something of probability `p` happens `least` times or more in `count`. */
static double at_least(size_t least, size_t count, double p)
{
	double sum = 0, n = (double)count;

	for (size_t i = least; i <= count; i++) {
		double k = (double)i;

		sum += exp(
			lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) + (n - k) * log1p(-p));
	}
	return sum;
}

int arrivals_straggler(const struct arrivals *arrivals)
{
	size_t worst = 0;
	double chance;

	if (arrivals->rank_count < 2 || arrivals->wait_ns == 0 || arrivals_matched(arrivals) <= 0.5)
		return -1;
	for (size_t i = 1; i < arrivals->rank_count; i++)
		if (arrivals->ranks[i].wait_caused_ns > arrivals->ranks[worst].wait_caused_ns)
			worst = i;
	if (arrivals->ranks[worst].wait_caused_ns * 2 <= arrivals->wait_ns)
		return -1;
	chance = at_least(arrivals->ranks[worst].last_count, arrivals->collective_count,
			 1.0 / (double)arrivals->rank_count) *
		 (double)arrivals->rank_count;
	return chance < 0.05 ? (int)worst : -1;
}
