/*
 * Which sampled call a call is the same as: see timeline_address.h.
 *
 * The sampled stretches of all threads are one list, the script. A thread's calls follow it as long as they
 * agree. Where they do not, or a stretch ends, the place in the script is sought by the longest context: the
 * last calls of the thread, up to and with this one, as hashes of their operations without addresses. A long
 * context tells the layers of a deep net apart, which have the same calls; a short one finds the place after
 * what a loop does only now and then.
 */
#include "timeline_address.h"
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

#define LENGTHS 13u              /* of contexts */
#define LENGTH_OF(i) (4u << (i)) /* calls: doubled, so that one is more than half of what was seen before */
#define RING LENGTH_OF(LENGTHS)  /* more than the longest */
#define FACTOR 0x9e3779b97f4a7c15u

struct sampled {
	uint32_t base; /* 0: a stretch ends */
	uint32_t operation;
};

struct follower {
	const struct timeline *timeline;
	const struct timeline_process *process;
	struct timeline_call *calls;
	bool *varies; /* by operation of the process: it is the base of others */
	struct sampled *script;
	size_t count, room;
	struct lookup contexts[LENGTHS]; /* places in the script */
	uint64_t powers[LENGTHS];        /* of FACTOR */
	uint64_t *hashes;                /* of all calls of the thread up to each of the last */
	uint64_t seen;                   /* calls of the thread */
};

static uint32_t base_of(const struct follower *follower, uint32_t operation)
{
	return timeline_base(follower->timeline, operation);
}

static bool is_placed(const struct follower *follower, uint32_t operation)
{
	return base_of(follower, operation) != operation;
}

/* Has sampled calls with addresses, but none of its own. */
static bool is_open(const struct follower *follower, uint32_t operation)
{
	return follower->varies[operation - follower->process->first_operation];
}

static bool takes_part(const struct timeline_call *call)
{
	return !(call->flags & TIMELINE_FLAG_REPLAYED);
}

/* ---- contexts ---- */

static void see(struct follower *follower, uint32_t base)
{
	const uint64_t before = follower->hashes[follower->seen % RING];

	follower->hashes[++follower->seen % RING] = before * FACTOR + mem_hash(MEM_HASH_START, base);
}

/* Of the last calls; what a thread begins with comes after as many of none. */
static uint64_t context(const struct follower *follower, unsigned length)
{
	const uint64_t before = follower->seen > LENGTH_OF(length)
					? follower->hashes[(follower->seen - LENGTH_OF(length)) % RING]
					: 0;

	return follower->hashes[follower->seen % RING] - before * follower->powers[length];
}

static void remember(struct follower *follower, uint32_t place)
{
	for (unsigned i = 0; i < LENGTHS; i++) {
		const uint64_t hash = context(follower, i);
		size_t at = 0;

		if (lookup_next(&follower->contexts[i], hash, &at) != LOOKUP_NONE)
			lookup_replace(&follower->contexts[i], at, place);
		else
			lookup_add(&follower->contexts[i], hash, place);
	}
}

/* The place in the script that the last calls lead to; SIZE_MAX: none. */
static size_t seek(const struct follower *follower, uint32_t base)
{
	for (unsigned i = LENGTHS; i-- > 0;) {
		size_t at = 0;
		const uint32_t place = lookup_next(&follower->contexts[i], context(follower, i), &at);

		if (place != LOOKUP_NONE && follower->script[place].base == base)
			return place;
	}
	return SIZE_MAX;
}

/* ---- following ---- */

static void write_script(struct follower *follower, uint32_t base, uint32_t operation)
{
	*MEM_PUSH(follower->script, follower->count, follower->room) = (struct sampled){base, operation};
}

/* Where the script goes on with this call, from a place in it; SIZE_MAX: it does not. */
static size_t follow(const struct follower *follower, size_t place, uint32_t base)
{
	return place != SIZE_MAX && place + 1 < follower->count && follower->script[place + 1].base == base
		       ? place + 1
		       : SIZE_MAX;
}

static void place_thread(struct follower *follower, const uint32_t *numbers, size_t count)
{
	size_t place = SIZE_MAX;
	bool sampled = false;

	follower->seen = 0;
	follower->hashes[0] = 0;
	for (size_t i = 0; i < count; i++) {
		struct timeline_call *call = &follower->calls[numbers[i]];
		const uint32_t base = base_of(follower, call->operation);

		see(follower, base);
		if (is_placed(follower, call->operation)) {
			sampled = true;
			place = SIZE_MAX;
			remember(follower, (uint32_t)follower->count);
		} else if (is_open(follower, call->operation)) {
			if (sampled)
				write_script(follower, 0, 0);
			sampled = false;
			place = follow(follower, place, base);
			if (place == SIZE_MAX || !is_placed(follower, follower->script[place].operation))
				place = seek(follower, base);
			if (place != SIZE_MAX)
				call->operation = follower->script[place].operation;
		} else if (!sampled) {
			place = follow(follower, place, base);
		}
		if (sampled)
			write_script(follower, base, call->operation);
	}
	if (sampled)
		write_script(follower, 0, 0);
}

/* ---- threads ---- */

/* The calls of each thread, one thread after the other; *ends: where each ends. The caller frees both. */
static uint32_t *by_thread(const struct follower *follower, size_t **ends)
{
	const struct timeline_process *process = follower->process;
	uint32_t *numbers = mem_alloc(process->call_count, sizeof(*numbers));
	size_t *at = mem_alloc(UINT16_MAX + 2, sizeof(*at));

	for (size_t i = 0; i < process->call_count; i++)
		at[follower->calls[i].thread + 1] += takes_part(&follower->calls[i]);
	for (size_t t = 0; t <= UINT16_MAX; t++)
		at[t + 1] += at[t];
	for (size_t i = 0; i < process->call_count; i++)
		if (takes_part(&follower->calls[i]))
			numbers[at[follower->calls[i].thread]++] = (uint32_t)i;
	*ends = at;
	return numbers;
}

static bool find_varying(struct follower *follower)
{
	const struct timeline_process *process = follower->process;
	bool any = false;

	for (uint32_t i = 0; i < process->operation_count; i++) {
		const uint32_t operation = process->first_operation + i;

		if (is_placed(follower, operation))
			follower->varies[base_of(follower, operation) - process->first_operation] = true;
	}
	for (size_t i = 0; i < process->call_count && !any; i++)
		any = takes_part(&follower->calls[i]) && is_open(follower, follower->calls[i].operation);
	return any;
}

static void place_threads(struct follower *follower)
{
	size_t *ends, first = 0;
	uint32_t *numbers = by_thread(follower, &ends);

	follower->hashes = mem_alloc(RING, sizeof(*follower->hashes));
	for (unsigned i = 0; i < LENGTHS; i++) {
		follower->powers[i] = 1;
		for (uint32_t j = 0; j < LENGTH_OF(i); j++)
			follower->powers[i] *= FACTOR;
	}
	for (size_t t = 0; t <= UINT16_MAX; first = ends[t++])
		if (ends[t] > first)
			place_thread(follower, numbers + first, ends[t] - first);
	for (unsigned i = 0; i < LENGTHS; i++)
		lookup_free(&follower->contexts[i]);
	free(follower->hashes);
	free(follower->script);
	free(numbers);
	free(ends);
}

void timeline_give_addresses(
	const struct timeline *timeline, const struct timeline_process *process, struct timeline_call *calls)
{
	struct follower follower = {.timeline = timeline, .process = process, .calls = calls};

	follower.varies = mem_alloc(process->operation_count, sizeof(*follower.varies));
	if (find_varying(&follower))
		place_threads(&follower);
	free(follower.varies);
}
