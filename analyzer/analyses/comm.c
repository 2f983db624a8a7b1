/* Communication by communicator and function: see comm.h. */
#include "comm.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_MATCHED SIZE_MAX

/* A unit on one rank. */
struct unit {
	uint64_t hash;
	uint32_t communicator; /* of the timeline */
	size_t occurrence;     /* of its first call, among the collectives */
	int64_t begin_ns, end_ns;
	int32_t rank;
	uint32_t call_count;
	uint32_t function; /* of its first call */
	uint64_t name_key; /* equal for the same functions in the same order */
	double bytes, bus_bytes;
	double sent, received; /* of them point to point */
	double partner_wait_ns; /* of a send or receive by itself: until its partner has begun */
	bool mixed;            /* of several functions */
	int size_class;        /* of its bytes, a power of two; 0: not known, or not the same on all ranks */
	size_t call;           /* the first */
};

struct units {
	struct unit *items;
	size_t count, room;
};

static const char *short_name(const char *name)
{
	return strncmp(name, "nccl", 4) == 0 ? name + 4 : name;
}

/* Does a call's size name one rank's part of what is exchanged? */
static bool is_of_parts(enum pm_role role)
{
	switch (role) {
	case PM_ROLE_ALL_GATHER:
	case PM_ROLE_REDUCE_SCATTER:
	case PM_ROLE_ALL_TO_ALL:
	case PM_ROLE_GATHER:
	case PM_ROLE_SCATTER:
		return true;
	default:
		return false;
	}
}

double comm_factor(enum pm_role role, int32_t n)
{
	if (n < 1)
		return 1;
	if (role == PM_ROLE_ALL_REDUCE)
		return 2.0 * (n - 1) / n;
	return is_of_parts(role) ? (double)(n - 1) / n : 1;
}

/* The size that the formulas take: of all ranks' parts, where a call names one part. */
static double algorithm_bytes(enum pm_role role, double bytes, int32_t n)
{
	return is_of_parts(role) && n > 0 ? bytes * n : bytes;
}

/* ---- Units ---- */

static void add_call(const struct timeline *timeline, struct unit *unit, const struct timeline_call *call)
{
	const struct timeline_operation *operation = &timeline->operations[call->operation];
	const struct timeline_function *function = &timeline->functions[operation->function];
	int32_t n = timeline->communicators[unit->communicator].size;
	uint64_t value = 0, peer;
	double bytes;

	timeline_value(timeline, operation, "bytes", &value);
	bytes = algorithm_bytes(function->facts.role, (double)(value < (uint64_t)1 << 46 ? value : 0), n);
	if (!timeline_value(timeline, operation, "peer", &peer)) {
		unit->bytes += bytes;
		unit->bus_bytes += bytes * comm_factor(function->facts.role, n);
	} else if (function->facts.role == PM_ROLE_RECEIVE) {
		unit->received += bytes;
	} else {
		unit->sent += bytes;
	}
	unit->mixed |= strcmp(function->name, timeline->functions[unit->function].name) != 0;
	for (const char *letter = function->name; *letter; letter++)
		unit->name_key = mem_hash(unit->name_key, (unsigned char)*letter);
	unit->call_count++;
}

/* The communicator of a call that took time, or 0. */
static uint32_t communicator_of(const struct timeline *timeline, const struct timeline_call *call)
{
	const struct timeline_operation *operation = &timeline->operations[call->operation];
	uint64_t number = 0;

	if (timeline->functions[operation->function].kind != PM_KIND_COMM || call->result != 0 ||
		(call->flags & PM_FLAG_CAPTURED) ||
		((call->flags & TIMELINE_FLAG_REPLAYED) && call->interval_count == 0) ||
		!timeline_value(timeline, operation, "comm", &number) ||
		number >= timeline->communicator_count)
		return 0;
	return (uint32_t)number;
}

static struct unit *open_unit(const struct timeline *timeline, struct units *units, const size_t *occurrences,
	size_t place, uint32_t communicator)
{
	const struct timeline_call *call = TIMELINE_CALL(timeline, place);
	struct unit *unit = MEM_PUSH(units->items, units->count, units->room);

	*unit = (struct unit){.hash = timeline->communicators[communicator].hash,
		.communicator = communicator,
		.occurrence = occurrences[place],
		.begin_ns = call->begin_ns,
		.end_ns = timeline_call_end(timeline, call),
		.rank = timeline->communicators[communicator].rank,
		.function = timeline->operations[call->operation].function,
		.name_key = MEM_HASH_START,
		.call = place};
	if (call->interval_count)
		unit->begin_ns = timeline_interval(timeline, call->interval).begin_ns;
	return unit;
}

/* A thread's group that is not closed yet. */
struct open_group {
	size_t *units;
	size_t count, room;
	uint8_t ordinal;
};

static struct unit *find_open(
	const struct units *units, const struct open_group *group, uint32_t communicator)
{
	for (size_t i = 0; i < group->count; i++)
		if (units->items[group->units[i]].communicator == communicator)
			return &units->items[group->units[i]];
	return NULL;
}

static void add_to_group(const struct timeline *timeline, const size_t *occurrences, size_t place,
	uint32_t communicator, struct open_group *group, struct units *units)
{
	const struct timeline_call *call = TIMELINE_CALL(timeline, place);
	const struct timeline_more *more = timeline_more(timeline, (uint32_t)place);
	uint8_t ordinal = more ? more->group : 0;
	struct unit *unit;

	if (!(call->flags & PM_FLAG_GROUP) || ordinal != group->ordinal)
		group->count = 0;
	unit = find_open(units, group, communicator);
	if (!unit) {
		unit = open_unit(timeline, units, occurrences, place, communicator);
		if (call->flags & PM_FLAG_GROUP)
			*MEM_PUSH(group->units, group->count, group->room) = units->count - 1;
		group->ordinal = ordinal;
	} else if (timeline_call_end(timeline, call) > unit->end_ns) {
		unit->end_ns = timeline_call_end(timeline, call);
	}
	add_call(timeline, unit, call);
}

/* Those of sends and receives by themselves. */
static void add_partner_waits(struct units *units, const int64_t *wait_ns)
{
	for (size_t i = 0; i < units->count && wait_ns; i++)
		if (units->items[i].call_count == 1 && units->items[i].bytes == 0)
			units->items[i].partner_wait_ns = (double)wait_ns[units->items[i].call];
}

static void list_units(const struct timeline *timeline, const struct timeline_process *process,
	const size_t *occurrences, struct units *units)
{
	struct open_group *groups = mem_alloc(process->thread_count, sizeof(*groups));

	for (size_t i = process->first_call; i < process->first_call + process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, i);
		uint32_t communicator = timeline_is_untimed(call) ? 0 : communicator_of(timeline, call);

		if (communicator)
			add_to_group(timeline, occurrences, i, communicator, &groups[call->thread], units);
		else
			groups[call->thread].count = 0;
	}
	for (uint32_t i = 0; i < process->thread_count; i++)
		free(groups[i].units);
	free(groups);
}

/* ---- Rows ---- */

/* Ranks give other sizes to an exchange of all with all and to messages; all give the same to those listed
 * here. */
static int size_class_of(const struct timeline *timeline, const struct unit *unit)
{
	static const bool is_same[PM_ROLE_COUNT] = {[PM_ROLE_ALL_REDUCE] = true,
		[PM_ROLE_BROADCAST] = true,
		[PM_ROLE_REDUCE] = true,
		[PM_ROLE_ALL_GATHER] = true,
		[PM_ROLE_REDUCE_SCATTER] = true};
	int class = 0;

	if (unit->mixed || !is_same[timeline->functions[unit->function].facts.role])
		return 0;
	frexp(unit->bytes, &class);
	return unit->bytes > 0 ? class : 0;
}

/* By row, and in it by occurrence; what was not matched comes last, each a unit of its own. */
static int compare(const void *left, const void *right)
{
	const struct unit *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	if (a->call_count != b->call_count)
		return a->call_count < b->call_count ? -1 : 1;
	if (a->name_key != b->name_key)
		return a->name_key < b->name_key ? -1 : 1;
	if (a->size_class != b->size_class)
		return a->size_class < b->size_class ? -1 : 1;
	if (a->occurrence != b->occurrence)
		return a->occurrence < b->occurrence ? -1 : 1;
	return a->call < b->call ? -1 : a->call > b->call;
}

static bool same_row(const struct unit *a, const struct unit *b)
{
	return a->hash == b->hash && a->call_count == b->call_count && a->name_key == b->name_key &&
	       a->size_class == b->size_class;
}

#define MOST_RANKS 65536 /* more is damage */

/* The ranks of the communicator that comes now; all of them, for as long as its units are added. */
static struct comm_rank *add_ranks(struct comm *comm, uint64_t hash, int32_t size)
{
	size_t first = comm->rank_count;

	for (int32_t i = 0; i < size && size < MOST_RANKS; i++)
		*MEM_PUSH(comm->ranks, comm->rank_count, comm->rank_room) =
			(struct comm_rank){.hash = hash, .rank = i};
	return comm->ranks + first;
}

/* Of a row, while its units are added. */
struct sums {
	double bytes, bus_bytes, time_ns, wait_ns, transfer_ns;
	size_t parts, matched; /* of units: on how many ranks; of those matched */
	size_t *last_counts;   /* by rank */
	double *transfers;     /* by unit, mean of its ranks */
};

/* Of a communicator. */
struct ranks {
	struct comm_rank *items; /* by rank */
	size_t count;
};

/* One unit with its members on the ranks that were seen. */
static void add_unit(struct ranks *ranks, struct comm_row *row, struct sums *sums, const struct unit *members,
	size_t count)
{
	double wait_caused_ns = 0;
	double *transfer_ns = &sums->transfers[row->count++];
	size_t last = 0;

	for (size_t i = 1; i < count; i++)
		if (members[i].begin_ns > members[last].begin_ns)
			last = i;
	for (size_t i = 0; i < count; i++) {
		const struct unit *unit = &members[i];
		double moved = unit->sent > unit->received ? unit->sent : unit->received;
		int64_t until_ns =
			members[last].begin_ns < unit->end_ns ? members[last].begin_ns : unit->end_ns;
		double wait_ns = count > 1 ? (double)(until_ns - unit->begin_ns) : unit->partner_wait_ns;
		double time_ns = (double)(unit->end_ns - unit->begin_ns);

		sums->parts++;
		sums->bytes += unit->bytes + moved;
		sums->bus_bytes += unit->bus_bytes + moved;
		sums->time_ns += time_ns;
		sums->wait_ns += wait_ns;
		sums->transfer_ns += time_ns - wait_ns;
		*transfer_ns += (time_ns - wait_ns) / (double)count;
		wait_caused_ns += wait_ns;
		sums->matched += count > 1 || unit->partner_wait_ns > 0;
		if (count > 1 && unit->rank >= 0 && (size_t)unit->rank < ranks->count) {
			ranks->items[unit->rank].count++;
			ranks->items[unit->rank].wait_ns += wait_ns;
		}
	}
	if (wait_caused_ns > 0 && members[last].rank >= 0 && (size_t)members[last].rank < ranks->count) {
		struct comm_rank *rank = &ranks->items[members[last].rank];

		rank->last_count++;
		rank->wait_caused_ns += wait_caused_ns;
		sums->last_counts[members[last].rank]++;
	}
	row->waited_count += wait_caused_ns > 0;
}

static size_t members_from(const struct unit *units, size_t first, size_t end)
{
	size_t next = first + 1;

	while (next < end && units[first].occurrence != NOT_MATCHED &&
		units[next].occurrence == units[first].occurrence)
		next++;
	return next;
}

static const char *row_name(struct arena *arena, const struct timeline *timeline, const struct unit *unit)
{
	const char *name = short_name(timeline->functions[unit->function].name);

	if (unit->call_count == 1)
		return arena_text(arena, name, strlen(name));
	return arena_format(arena, "%u %s", unit->call_count, unit->mixed ? "calls" : name);
}

static void add_row(struct comm *comm, struct ranks *ranks, const struct timeline *timeline,
	const struct unit *units, size_t first, size_t end, size_t skip)
{
	struct comm_row *row = MEM_PUSH(comm->rows, comm->row_count, comm->row_room);
	struct sums sums = {0};
	size_t count = 0;

	*row = (struct comm_row){.hash = units[first].hash,
		.size = timeline->communicators[units[first].communicator].size,
		.name = row_name(&comm->arena, timeline, &units[first]),
		.call_count = units[first].call_count,
		.wait_ns = NAN,
		.last_rank = -1};
	sums.last_counts = mem_alloc(ranks->count, sizeof(*sums.last_counts));
	for (size_t i = first; i < end; i = members_from(units, i, end))
		count++;
	sums.transfers = mem_alloc(count, sizeof(*sums.transfers));
	if (skip >= count)
		skip = count - 1;
	for (size_t i = first, next; i < end; i = next) {
		next = members_from(units, i, end);
		if (skip > 0)
			skip--;
		else
			add_unit(ranks, row, &sums, units + i, next - i);
	}
	row->bytes = sums.bytes / (double)sums.parts;
	row->time_ns = sums.time_ns / (double)sums.parts;
	if (sums.matched)
		row->wait_ns = sums.wait_ns / (double)sums.parts;
	row->transfer_ns = sums.transfer_ns / (double)sums.parts;
	row->typical_ns = statistics_median(sums.transfers, row->count);
	/* Not every recorder tells sizes. */
	if (sums.bytes == 0)
		row->bytes = NAN;
	row->algorithm_rate = sums.transfer_ns > 0 && sums.bytes > 0 ? sums.bytes / sums.transfer_ns : NAN;
	row->bus_rate = sums.transfer_ns > 0 && sums.bytes > 0 ? sums.bus_bytes / sums.transfer_ns : NAN;
	for (size_t i = 0; i < ranks->count; i++)
		if (sums.last_counts[i] > row->last_count) {
			row->last_count = sums.last_counts[i];
			row->last_rank = (int32_t)i;
		}
	free(sums.last_counts);
	free(sums.transfers);
}

/* ---- Order ---- */

struct first_use {
	uint64_t hash;
	int64_t begin_ns;
};

static int compare_uses(const void *left, const void *right)
{
	const struct first_use *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->hash < b->hash ? -1 : a->hash > b->hash;
}

static int compare_rows(const void *left, const void *right)
{
	const struct comm_row *a = left, *b = right;
	int names = strcmp(a->name, b->name);

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	if (names != 0)
		return names;
	/* The sizes of a function, as of a sweep; those that are not known are one row. */
	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->time_ns > b->time_ns ? -1 : a->time_ns < b->time_ns;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct comm_rank *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Numbers the communicators in order of their first unit; units are sorted by hash. */
static void number_communicators(struct comm *comm, const struct unit *units, size_t count)
{
	struct first_use *uses = NULL;
	size_t use_count = 0, room = 0;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || units[i].hash != units[i - 1].hash)
			*MEM_PUSH(uses, use_count, room) =
				(struct first_use){units[i].hash, units[i].begin_ns};
		if (units[i].begin_ns < uses[use_count - 1].begin_ns)
			uses[use_count - 1].begin_ns = units[i].begin_ns;
	}
	if (use_count)
		qsort(uses, use_count, sizeof(*uses), compare_uses);
	for (size_t u = 0; u < use_count; u++) {
		for (size_t i = 0; i < comm->row_count; i++)
			if (comm->rows[i].hash == uses[u].hash)
				comm->rows[i].number = (uint32_t)u + 1;
		for (size_t i = 0; i < comm->rank_count; i++)
			if (comm->ranks[i].hash == uses[u].hash)
				comm->ranks[i].number = (uint32_t)u + 1;
	}
	free(uses);
}

void comm_find(const struct timeline *timeline, const struct collective_list *collectives,
	const int64_t *wait_ns, size_t skip, struct comm *comm)
{
	size_t *occurrences = mem_alloc(timeline->call_count, sizeof(*occurrences)), kept = 0;
	struct units units = {0};
	struct ranks ranks = {0};

	memset(comm, 0, sizeof(*comm));
	for (size_t i = 0; i < timeline->call_count; i++)
		occurrences[i] = NOT_MATCHED;
	for (size_t i = 0; i < collectives->count; i += collectives->items[i].member_count)
		for (size_t j = i; j < i + collectives->items[i].member_count; j++)
			occurrences[collectives->items[j].call] = i;
	for (size_t p = 0; p < timeline->process_count; p++)
		list_units(timeline, &timeline->processes[p], occurrences, &units);
	free(occurrences);
	add_partner_waits(&units, wait_ns);
	for (size_t i = 0; i < units.count; i++)
		units.items[i].size_class = size_class_of(timeline, &units.items[i]);
	if (units.count)
		qsort(units.items, units.count, sizeof(*units.items), compare);
	for (size_t first = 0, end; first < units.count; first = end) {
		for (end = first + 1; end < units.count && same_row(&units.items[end], &units.items[first]);)
			end++;
		if (first == 0 || units.items[first].hash != units.items[first - 1].hash) {
			ranks.items = add_ranks(comm, units.items[first].hash,
				timeline->communicators[units.items[first].communicator].size);
			ranks.count = (size_t)(comm->ranks + comm->rank_count - ranks.items);
		}
		add_row(comm, &ranks, timeline, units.items, first, end, skip);
	}
	for (size_t i = 0; i < comm->rank_count; i++)
		if (comm->ranks[i].count)
			comm->ranks[kept++] = comm->ranks[i];
	comm->rank_count = kept;
	number_communicators(comm, units.items, units.count);
	for (size_t i = 0; i < comm->rank_count; i++) {
		comm->ranks[i].wait_ns /= (double)comm->ranks[i].count;
		comm->ranks[i].wait_caused_ns /= (double)comm->ranks[i].count;
	}
	if (comm->row_count)
		qsort(comm->rows, comm->row_count, sizeof(*comm->rows), compare_rows);
	if (comm->rank_count)
		qsort(comm->ranks, comm->rank_count, sizeof(*comm->ranks), compare_ranks);
	free(units.items);
}

void comm_free(struct comm *comm)
{
	free(comm->rows);
	free(comm->ranks);
	arena_free(&comm->arena);
	memset(comm, 0, sizeof(*comm));
}
