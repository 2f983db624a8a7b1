/* Communication by NCCL Inspector's logs: see comm_inspector.h. */
#include "comm_inspector.h"
#include "base/memory.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_texts(const char *left, const char *right)
{
	return left == right ? 0 : strcmp(left, right);
}

static int compare_calls(const void *left, const void *right)
{
	const struct inspector_call *a = left, *b = right;
	int order = compare_texts(a->communicator, b->communicator);

	order = order ? order : compare_texts(a->name, b->name);
	if (order)
		return order;
	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->sequence != b->sequence)
		return a->sequence < b->sequence ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool same_row(const struct inspector_call *a, const struct inspector_call *b)
{
	return a->communicator == b->communicator && a->name == b->name && a->size == b->size &&
	       a->bytes == b->bytes;
}

/* A row's sums, over the calls of all its ranks. */
struct sums {
	struct comm *comm;
	struct comm_row *row;
	size_t first_rank, rank_count; /* the communicator's, in comm->ranks */
	double calls, time_ns, wait_ns, transfer_ns;
	size_t matched;
	size_t *last_counts;
};

static struct comm_rank *rank_of(const struct sums *sums, int32_t rank)
{
	struct comm_rank *ranks = sums->comm->ranks + sums->first_rank;
	size_t low = 0, high = sums->rank_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (ranks[middle].rank < rank)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sums->rank_count && ranks[low].rank == rank ? &ranks[low] : NULL;
}

/* A collective on its ranks; of each once, else two jobs are in the logs. */
static void add_unit(struct sums *sums, const struct inspector_call *calls, size_t count)
{
	bool matched = calls->sequence >= 0 && count > 1 && (int32_t)count == calls->size;
	double least_ns = INFINITY, most_ns = 0, waits_ns = 0;
	size_t last = 0;

	for (size_t i = 0; i < count; i++) {
		matched = matched && calls[i].rank == (int32_t)i;
		if (calls[i].time_ns < least_ns) {
			least_ns = calls[i].time_ns;
			last = i;
		}
		most_ns = fmax(most_ns, calls[i].time_ns);
	}
	for (size_t i = 0; i < count; i++) {
		double wait_ns = matched ? calls[i].time_ns - least_ns : 0;

		sums->calls++;
		sums->time_ns += calls[i].time_ns;
		sums->wait_ns += wait_ns;
		sums->transfer_ns += calls[i].time_ns - wait_ns;
		waits_ns += wait_ns;
		if (matched && rank_of(sums, calls[i].rank)) {
			rank_of(sums, calls[i].rank)->wait_ns += wait_ns;
			rank_of(sums, calls[i].rank)->count++;
		}
	}
	sums->row->count++;
	sums->matched += matched;
	if (!matched || most_ns - least_ns < BALANCE_WAITED * most_ns)
		return;
	sums->row->waited_count++;
	sums->last_counts[last]++;
	if (rank_of(sums, calls[last].rank)) {
		rank_of(sums, calls[last].rank)->last_count++;
		rank_of(sums, calls[last].rank)->wait_caused_ns += waits_ns;
	}
}

/* After the calls of the unit that begins at `first`. */
static size_t unit_end(const struct inspector_call *calls, size_t first, size_t end)
{
	size_t next = first + 1;

	while (next < end && calls[first].sequence >= 0 && calls[next].sequence == calls[first].sequence)
		next++;
	return next;
}

static void add_row(struct sums *sums, const struct inspector_call *calls, size_t count, size_t skip)
{
	struct comm_row *row = sums->row;
	char function[64];
	size_t units = 0;

	for (size_t i = 0; i < count; i = unit_end(calls, i, count))
		units++;
	sums->last_counts = mem_alloc((size_t)calls->size, sizeof(*sums->last_counts));
	for (size_t i = 0, number = 0, next; i < count; i = next, number++) {
		next = unit_end(calls, i, count);
		if (number >= skip || number + 1 == units)
			add_unit(sums, calls + i, next - i);
	}
	row->time_ns = sums->time_ns / sums->calls;
	row->wait_ns = sums->matched ? sums->wait_ns / sums->calls : NAN;
	row->transfer_ns = sums->transfer_ns / sums->calls;
	row->algorithm_rate = row->transfer_ns > 0 ? row->bytes / row->transfer_ns : NAN;
	snprintf(function, sizeof(function), "nccl%s", row->name);
	row->bus_rate = row->algorithm_rate * comm_factor(hook_facts_of(function).role, row->size);
	for (int32_t i = 0; i < row->size; i++)
		if (sums->last_counts[i] > row->last_count) {
			row->last_count = sums->last_counts[i];
			row->last_rank = i;
		}
	free(sums->last_counts);
}

/* The ranks of the communicator whose calls begin at `first`, as far as they are in the logs. */
static void add_ranks(struct sums *sums, const struct inspector_log *log, size_t first, uint64_t hash)
{
	struct comm *comm = sums->comm;
	bool *seen = mem_alloc((size_t)log->calls[first].size, sizeof(*seen));

	sums->first_rank = comm->rank_count;
	for (size_t i = first; i < log->count && log->calls[i].communicator == log->calls[first].communicator;
		i++)
		if (log->calls[i].rank < log->calls[first].size)
			seen[log->calls[i].rank] = true;
	for (int32_t rank = 0; rank < log->calls[first].size; rank++)
		if (seen[rank])
			*MEM_PUSH(comm->ranks, comm->rank_count, comm->rank_room) =
				(struct comm_rank){.hash = hash, .rank = rank};
	sums->rank_count = comm->rank_count - sums->first_rank;
	free(seen);
}

/* Communicators are numbered in order of their first line. */
static uint32_t number_of(const struct inspector_log *log, size_t first)
{
	const char *own = log->calls[first].communicator, *last = NULL;
	int64_t first_us = INT64_MAX;
	uint32_t number = 1;

	for (size_t i = 0; i < log->count; i++)
		if (log->calls[i].communicator == own && log->calls[i].dumped_us < first_us)
			first_us = log->calls[i].dumped_us;
	for (size_t i = 0; i < log->count; i++) {
		if (log->calls[i].communicator == own || log->calls[i].communicator == last ||
			log->calls[i].dumped_us >= first_us)
			continue;
		last = log->calls[i].communicator;
		number++;
	}
	return number;
}

static int compare_rows(const void *left, const void *right)
{
	const struct comm_row *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (strcmp(a->name, b->name) != 0)
		return strcmp(a->name, b->name);
	return (a->bytes < b->bytes) - (a->bytes > b->bytes);
}

/* Means of what was summed; ranks that have nothing to compare are left out. */
static void settle_ranks(struct comm *comm)
{
	size_t kept = 0;

	for (size_t i = 0; i < comm->rank_count; i++) {
		struct comm_rank rank = comm->ranks[i];

		if (rank.count == 0)
			continue;
		rank.wait_ns /= (double)rank.count;
		rank.wait_caused_ns /= (double)rank.count;
		comm->ranks[kept++] = rank;
	}
	comm->rank_count = kept;
}

void comm_inspector_find(struct inspector_log *log, size_t skip, struct comm *comm)
{
	struct sums ranks = {.comm = comm};
	uint32_t number = 0;

	memset(comm, 0, sizeof(*comm));
	if (log->count)
		qsort(log->calls, log->count, sizeof(*log->calls), compare_calls);
	for (size_t first = 0, end; first < log->count; first = end) {
		const struct inspector_call *calls = &log->calls[first];
		const uint64_t hash = strtoull(calls->communicator, NULL, 16);
		const size_t row = comm->row_count;
		struct sums sums;

		for (end = first + 1; end < log->count && same_row(&log->calls[end], calls);)
			end++;
		if (first == 0 || calls[-1].communicator != calls->communicator) {
			number = number_of(log, first);
			add_ranks(&ranks, log, first, hash);
			for (size_t i = 0; i < ranks.rank_count; i++)
				comm->ranks[ranks.first_rank + i].number = number;
		}
		*MEM_PUSH(comm->rows, comm->row_count, comm->row_room) = (struct comm_row){.hash = hash,
			.number = number,
			.size = calls->size,
			.name = arena_text(&comm->arena, calls->name, strlen(calls->name)),
			.call_count = 1,
			.bytes = calls->bytes * calls->parts,
			.last_rank = -1};
		sums = ranks;
		sums.row = &comm->rows[row];
		add_row(&sums, calls, end - first, skip);
	}
	if (comm->row_count)
		qsort(comm->rows, comm->row_count, sizeof(*comm->rows), compare_rows);
	settle_ranks(comm);
}
