/* The order of communication: the same on all ranks of a communicator, and mostly the same in each iteration.
 */
#include "base/lookup.h"
#include "hang_private.h"

#include <stdlib.h>

#define CONTEXT_MOST 4
#define CONTEXT_LEAST 2
#define RANGE_FIRST 16 /* of the last calls are looked at, then twice as many and so on */

uint64_t hang_signature(const struct trace *trace, uint32_t op)
{
	const struct trace_operation *operation = &trace->operations[op];
	const struct trace_function *function = &trace->functions[operation->function];
	uint64_t hash = mem_hash_text(MEM_HASH_START, function->name);

	for (uint32_t i = 0; i < operation->value_count; i++)
		switch (function->labels[i].type) {
		case PM_VALUE_INT:
		case PM_VALUE_BYTES:
		case PM_VALUE_TYPE:
			hash = mem_hash(hash, operation->values[i]);
			break;
		default:
			break;
		}
	return hash ? hash : 1;
}

const struct standing_entry *hang_collective(const struct hang_member *member, uint64_t ordinal)
{
	const struct standing_recent *recent = member->comm ? &member->comm->recent : NULL;

	if (!recent || ordinal > member->count || member->count - ordinal >= recent->count)
		return NULL;
	return &recent->entries[recent->count - 1 - (member->count - ordinal)];
}

/* The signature that more than half of the known ones are, or 0. */
static uint64_t most_of(const uint64_t *signatures, size_t count)
{
	uint64_t candidate = 0;
	size_t balance = 0, known = 0, same = 0;

	for (size_t i = 0; i < count; i++) {
		if (!signatures[i])
			continue;
		known++;
		if (balance == 0)
			candidate = signatures[i];
		balance = signatures[i] == candidate ? balance + 1 : balance - 1;
	}
	for (size_t i = 0; i < count; i++)
		same += signatures[i] == candidate;
	return 2 * same > known ? candidate : 0;
}

/* The places that are kept of some member. */
static void kept(const struct hang_group *group, uint64_t *first, uint64_t *last)
{
	*first = UINT64_MAX;
	*last = 0;
	for (size_t m = 0; m < group->member_count; m++) {
		const struct hang_member *member = &group->members[m];

		if (!member->comm)
			continue;
		if (member->count - member->comm->recent.count + 1 < *first)
			*first = member->count - member->comm->recent.count + 1;
		if (member->count > *last)
			*last = member->count;
	}
}

bool hang_differ(struct hang *hang, const struct hang_group *group, struct hang_difference *difference)
{
	uint64_t *signatures = arena_alloc(&hang->arena, group->member_count, sizeof(*signatures));
	uint64_t first, last;

	kept(group, &first, &last);
	for (uint64_t ordinal = first; ordinal <= last; ordinal++) {
		bool differs = false;
		uint64_t any = 0;

		for (size_t m = 0; m < group->member_count; m++) {
			const struct hang_member *member = &group->members[m];
			const struct standing_entry *entry = hang_collective(member, ordinal);

			signatures[m] =
				entry ? hang_signature(&hang->ranks[member->rank]->trace, entry->op) : 0;
			differs |= any && signatures[m] && signatures[m] != any;
			any = signatures[m] ? signatures[m] : any;
		}
		if (!differs)
			continue;
		*difference = (struct hang_difference){
			group, ordinal, most_of(signatures, group->member_count), signatures};
		return true;
	}
	return false;
}

/* A call of the rank's communication, with the communicator, as one number. */
static uint64_t call_of(const struct trace *trace, uint32_t op)
{
	const struct trace_operation *operation = &trace->operations[op];
	const struct trace_function *function = &trace->functions[operation->function];
	uint64_t hash = hang_signature(trace, op);

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_COMMUNICATOR)
			hash = mem_hash(hash, operation->values[i]);
	return hash;
}

/* How many calls before `left` and `right` are the same, up to the most that count. */
static size_t alike(const uint64_t *calls, size_t left, size_t right)
{
	size_t length = 0;

	while (length < CONTEXT_MOST && length < left && length < right &&
		calls[left - 1 - length] == calls[right - 1 - length])
		length++;
	return length;
}

/* Places of calls by those before them, and by these with the call itself; each once. */
struct contexts {
	const uint64_t *calls;
	struct lookup seen;
};

/* Were the calls before this place, so many of them, and if asked the call itself, at an earlier place too?
 * If not they are from now on. */
static bool was_seen(struct contexts *contexts, size_t at, size_t length, bool with_call)
{
	const uint64_t *calls = contexts->calls;
	uint64_t hash = mem_hash(MEM_HASH_START, 2 * length + with_call);
	uint32_t place;

	for (size_t i = at - length; i < at + with_call; i++)
		hash = mem_hash(hash, calls[i]);
	for (size_t slot = 0; (place = lookup_next(&contexts->seen, hash, &slot)) != LOOKUP_NONE;)
		if (alike(calls, place, at) >= length && (!with_call || calls[place] == calls[at]))
			return true;
	lookup_add(&contexts->seen, hash, (uint32_t)at);
	return false;
}

/* Did the same calls come before, and never this one after them? With as many of them as agree anywhere, up
 * to the most that count. Places are asked for in order. */
static bool is_unusual(struct contexts *contexts, size_t at)
{
	bool unusual = false, decided = false;

	for (size_t length = CONTEXT_MOST; length >= CONTEXT_LEAST; length--) {
		const bool before = length <= at && was_seen(contexts, at, length, false);
		const bool usual = length <= at && was_seen(contexts, at, length, true);

		if (before && !decided)
			unusual = !usual;
		decided |= before;
	}
	return unusual;
}

/* How many calls ago the last unusual one was, 1: it is the last; SIZE_MAX: none is. */
static size_t unusual_ago(const struct hang_rank *rank)
{
	const struct standing_recent *recent = &rank->standing.recent;
	uint64_t *calls = mem_alloc(recent->count, sizeof(*calls));
	struct contexts contexts = {.calls = calls};
	size_t ago = SIZE_MAX;

	for (size_t i = 0; i < recent->count; i++)
		calls[i] = call_of(&rank->trace, recent->entries[i].op);
	for (size_t i = 0; i < recent->count; i++)
		if (is_unusual(&contexts, i))
			ago = recent->count - i;
	lookup_free(&contexts.seen);
	free(calls);
	return ago;
}

bool hang_find_odd(struct hang *hang, const bool *among, bool *odd)
{
	size_t *ago = arena_alloc(&hang->arena, hang->rank_count, sizeof(*ago));

	for (size_t r = 0; r < hang->rank_count; r++)
		ago[r] = among[r] ? unusual_ago(hang->ranks[r]) : SIZE_MAX;
	for (size_t range = RANGE_FIRST; range <= STANDING_HISTORY; range *= 2) {
		size_t among_count = 0, odd_count = 0, near_count = 0;

		for (size_t r = 0; r < hang->rank_count; r++) {
			odd[r] = ago[r] <= range;
			among_count += among[r];
			odd_count += odd[r];
			near_count += ago[r] <= 2 * range;
		}
		/* Who did it shortly before may have done the same; and what most did is what the program
		 * does. */
		if (odd_count > 0)
			return 2 * odd_count <= among_count && near_count == odd_count;
	}
	return false;
}
