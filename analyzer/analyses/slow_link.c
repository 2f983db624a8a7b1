/* Links that are slower than others of their kind: see slow_link.h. */
#include "slow_link.h"
#include "base/statistics.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A communicator with the workers that are its ranks. */
struct group {
	uint64_t hash;
	bool *members; /* by worker */
	size_t count, hosts;
	uint64_t distances; /* a hash of those between its ranks: other dimensions of a mesh have other ones */
	bool compared, slow;
};

struct groups {
	const struct analysis *analysis;
	const struct comm *comm;
	struct group *items;
	size_t count, room;
	struct group **of_rows; /* by row of the communication; NULL: what it takes is not known */
};

/* By process its first worker, and by worker the next one of its process; the count of workers: none. */
struct places {
	size_t *first, *next;
};

static struct places places_of(const struct analysis *analysis)
{
	struct places places = {mem_alloc(analysis->timeline.process_count, sizeof(*places.first)),
		mem_alloc(analysis->worker_count, sizeof(*places.next))};

	for (size_t p = 0; p < analysis->timeline.process_count; p++)
		places.first[p] = analysis->worker_count;
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const uint32_t process = analysis->workers[w].worker->process;

		places.next[w] = places.first[process];
		places.first[process] = w;
	}
	return places;
}

static size_t worker_of(const struct analysis *analysis, const struct places *places, const struct collective *part)
{
	size_t w = places->first[part->process];

	while (w < analysis->worker_count && analysis->workers[w].worker->device != part->device)
		w = places->next[w];
	return w;
}

static const char *host_of(const struct analysis *analysis, size_t worker)
{
	return analysis->timeline.processes[analysis->workers[worker].worker->process].host;
}

static struct group *group_of(const struct groups *groups, uint64_t hash)
{
	for (size_t i = 0; i < groups->count; i++)
		if (groups->items[i].hash == hash)
			return &groups->items[i];
	return NULL;
}

static void list_groups(struct groups *groups)
{
	const struct analysis *analysis = groups->analysis;
	struct places places = places_of(analysis);
	struct group *group = NULL;

	/* They are in order of the communicators. */
	for (size_t i = 0; i < analysis->collectives.count; i++) {
		const struct collective *part = &analysis->collectives.items[i];
		const size_t worker = worker_of(analysis, &places, part);

		if (!group || group->hash != part->hash) {
			group = MEM_PUSH(groups->items, groups->count, groups->room);
			*group = (struct group){
				.hash = part->hash, .members = mem_alloc(analysis->worker_count, sizeof(bool))};
		}
		if (worker < analysis->worker_count && !group->members[worker]) {
			group->members[worker] = true;
			group->count++;
		}
	}
	free(places.first);
	free(places.next);
}

static void count_hosts(const struct groups *groups, struct group *group)
{
	const size_t workers = groups->analysis->worker_count;

	for (size_t w = 0; w < workers; w++) {
		bool seen = !group->members[w] || !*host_of(groups->analysis, w);

		for (size_t v = 0; v < w && !seen; v++)
			seen = group->members[v] && strcmp(host_of(groups->analysis, v), host_of(groups->analysis, w)) == 0;
		group->hosts += !seen;
	}
}

static int32_t rank_of(const struct analysis *analysis, size_t worker)
{
	return analysis->timeline.processes[analysis->workers[worker].worker->process].rank;
}

static void hash_distances(const struct groups *groups, struct group *group)
{
	size_t last = SIZE_MAX;

	group->distances = MEM_HASH_START;
	for (size_t w = 0; w < groups->analysis->worker_count; w++) {
		if (!group->members[w])
			continue;
		if (last != SIZE_MAX)
			group->distances = mem_hash(group->distances,
				(uint64_t)(rank_of(groups->analysis, w) - rank_of(groups->analysis, last)));
		last = w;
	}
}

static void place_rows(struct groups *groups)
{
	groups->of_rows = mem_alloc(groups->comm->row_count, sizeof(struct group *));
	for (size_t i = 0; i < groups->comm->row_count; i++) {
		const struct comm_row *row = &groups->comm->rows[i];
		struct group *group = group_of(groups, row->hash);

		if (group && group->count == (size_t)row->size && row->size > 1 &&
			row->count >= SLOW_LINK_LEAST && row->bytes > 0 && row->typical_ns > 0 &&
			isfinite(row->wait_ns))
			groups->of_rows[i] = group;
	}
}

static bool is_same_kind(const struct groups *groups, size_t one, size_t other)
{
	const struct comm_row *a = &groups->comm->rows[one], *b = &groups->comm->rows[other];

	return a->hash != b->hash && a->size == b->size && a->call_count == b->call_count &&
	       fabs(a->bytes - b->bytes) <= SLOW_LINK_SAME_BYTES * a->bytes &&
	       strcmp(a->name, b->name) == 0 && groups->of_rows[other] &&
	       groups->of_rows[one]->hosts == groups->of_rows[other]->hosts &&
	       groups->of_rows[one]->distances == groups->of_rows[other]->distances;
}

/* The median of the others of the row's kind; NaN: there are none. */
static double usual_ns(const struct groups *groups, size_t row, size_t *others)
{
	double *values = mem_alloc(groups->comm->row_count, sizeof(*values)), median = NAN;

	*others = 0;
	for (size_t i = 0; i < groups->comm->row_count; i++)
		if (is_same_kind(groups, row, i))
			values[(*others)++] = groups->comm->rows[i].typical_ns;
	if (*others)
		median = statistics_median(values, *others);
	free(values);
	return median;
}

/* How often an iteration has the row's unit: all of the run's iterations make it. */
static double in_iteration(const struct analysis *analysis, const struct comm_row *row)
{
	const size_t count = analysis->workers[0].iterations.count;

	return (double)row->count / (double)(count > 1 ? count - 1 : 1); /* comm_find left one out */
}

static void add_row(const struct groups *groups, struct slow_links *links, size_t number)
{
	const struct comm_row *row = &groups->comm->rows[number];
	struct slow_link link = {.hash = row->hash, .row = row}, *last;

	link.usual_ns = usual_ns(groups, number, &link.others);
	if (link.others == 0)
		return;
	groups->of_rows[number]->compared = true;
	link.lost_ns = (row->typical_ns - link.usual_ns) * in_iteration(groups->analysis, row);
	if (!(row->typical_ns > SLOW_LINK_TIMES * link.usual_ns))
		return;
	/* Rows are in order of the communicators. */
	last = links->count ? &links->items[links->count - 1] : NULL;
	if (!last || last->hash != row->hash) {
		*MEM_PUSH(links->items, links->count, links->room) = link;
		return;
	}
	link.lost_ns += last->lost_ns;
	if (link.lost_ns < 2 * last->lost_ns) { /* what it had loses more than this one */
		last->lost_ns = link.lost_ns;
		return;
	}
	*last = link;
}

static int compare_links(const void *left, const void *right)
{
	const struct slow_link *a = left, *b = right;

	if (a->lost_ns != b->lost_ns)
		return a->lost_ns > b->lost_ns ? -1 : 1;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static void keep_costly(const struct groups *groups, double least_ns, struct slow_links *links)
{
	size_t kept = 0;

	for (size_t i = 0; i < links->count; i++) {
		struct group *group = group_of(groups, links->items[i].hash);

		group->slow = links->items[i].lost_ns >= least_ns;
		if (!group->slow)
			continue;
		for (size_t w = 0; w < groups->analysis->worker_count; w++)
			links->lost_ns[w] += group->members[w] ? links->items[i].lost_ns : 0;
		links->items[kept++] = links->items[i];
	}
	links->count = kept;
	if (kept)
		qsort(links->items, kept, sizeof(*links->items), compare_links);
}

/* ---- What they share ---- */

/* Are both in each slow communicator, and in no other one that was compared? */
static bool is_of_slow_ones(const struct groups *groups, size_t one, size_t other)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->items[i];

		if (group->compared && group->slow != (group->members[one] && group->members[other]))
			return false;
	}
	return true;
}

/* All of the host's workers that are compared at all are members of slow ones, and of no other. */
static bool is_of_host(const struct groups *groups, const char *host)
{
	const struct analysis *analysis = groups->analysis;
	bool elsewhere = false;

	for (size_t i = 0; i < groups->count; i++) {
		const struct group *group = &groups->items[i];
		bool here = false;

		for (size_t w = 0; w < analysis->worker_count; w++) {
			const bool on_host = strcmp(host_of(analysis, w), host) == 0;

			here |= group->members[w] && on_host;
			elsewhere |= group->members[w] && group->compared && !on_host;
		}
		if (group->compared && here != group->slow)
			return false;
	}
	return elsewhere && *host;
}

static bool take_host(const struct groups *groups, struct slow_links *links)
{
	for (size_t w = 0; w < groups->analysis->worker_count; w++)
		if (is_of_host(groups, host_of(groups->analysis, w))) {
			links->place = SLOW_LINK_HOST;
			links->workers[0] = w;
			return true;
		}
	return false;
}

/* A rank if it is the only one, else a pair if it is; of one slow pair either end may be it. */
static void find_place(const struct groups *groups, struct slow_links *links)
{
	const size_t count = groups->analysis->worker_count;
	size_t ranks = 0, pairs = 0, rank = 0, pair[2] = {0, 0};

	for (size_t i = 0; i < count; i++) {
		if (is_of_slow_ones(groups, i, i)) {
			ranks++;
			rank = i;
		}
		for (size_t j = i + 1; j < count; j++)
			if (is_of_slow_ones(groups, i, j)) {
				pairs++;
				pair[0] = i;
				pair[1] = j;
			}
	}
	if (ranks == 1) {
		links->place = SLOW_LINK_RANK;
		links->workers[0] = rank;
	} else if (take_host(groups, links)) {
		return;
	} else if (pairs == 1) {
		links->place = SLOW_LINK_PAIR;
		memcpy(links->workers, pair, sizeof(pair));
	}
}

static bool are_several(const struct collective_list *collectives)
{
	return collectives->count && collectives->items[0].hash != collectives->items[collectives->count - 1].hash;
}

void slow_links_find(const struct analysis *analysis, double least_ns, struct slow_links *links)
{
	struct groups groups = {.analysis = analysis, .comm = &links->comm};

	*links = (struct slow_links){.lost_ns = mem_alloc(analysis->worker_count, sizeof(*links->lost_ns))};
	if (!are_several(&analysis->collectives))
		return;
	comm_find(&analysis->timeline, &analysis->collectives, analysis->wait_ns, analysis->is_whole ? 0 : 1,
		&links->comm);
	list_groups(&groups);
	for (size_t i = 0; i < groups.count; i++) {
		count_hosts(&groups, &groups.items[i]);
		hash_distances(&groups, &groups.items[i]);
	}
	place_rows(&groups);
	for (size_t i = 0; i < links->comm.row_count; i++)
		if (groups.of_rows[i])
			add_row(&groups, links, i);
	keep_costly(&groups, least_ns, links);
	if (links->count) {
		links->hosts = group_of(&groups, links->items[0].hash)->hosts;
		find_place(&groups, links);
	}
	for (size_t i = 0; i < groups.count; i++)
		free(groups.items[i].members);
	free(groups.items);
	free(groups.of_rows);
}

void slow_links_free(struct slow_links *links)
{
	free(links->items);
	free(links->lost_ns);
	comm_free(&links->comm);
}
