/* Ranks that wait for each other in a cycle. */
#include "hang_private.h"

/* A cycle of waits: from any rank that is waited for along the waits, until one comes again. */
static size_t find_cycle(struct hang *hang, const struct hang_waits *waits, const struct hang_wait **cycle)
{
	size_t *seen = arena_alloc(&hang->arena, hang->rank_count, sizeof(*seen)), at = 0, count = 0;

	while (!waits->first_of[at])
		at++;
	while (!seen[at]) {
		seen[at] = ++count;
		cycle[count - 1] = waits->first_of[at];
		at = waits->first_of[at]->to;
	}
	memmove(cycle, cycle + seen[at] - 1, (count - seen[at] + 1) * sizeof(const struct hang_wait *));
	return count - seen[at] + 1;
}

/* Those that have communicated. */
static bool find_odd(struct hang *hang, bool *odd)
{
	bool *among = arena_alloc(&hang->arena, hang->rank_count, sizeof(*among));

	for (size_t r = 0; r < hang->rank_count; r++)
		among[r] = hang->ranks[r]->standing.recent.count > 0;
	return hang_find_odd(hang, among, odd);
}

static const char *wait_sentence(struct hang *hang, const struct hang_wait *wait)
{
	const struct hang_rank *rank = hang->ranks[wait->from];

	return arena_format(&hang->arena, "%s waits in %s%s, since %s has not %s.",
		hang_capital(hang, hang_ranks(&hang->arena, hang, &wait->from, 1)),
		hang_call(hang, &rank->trace, wait->op), hang_place(hang, &rank->trace, wait->op),
		hang_ranks(&hang->arena, hang, &wait->to, 1), hang_missing(hang, wait));
}

/* Traces that are read one after the other while the ranks go on may show a cycle that there never was. */
static bool is_young(
	const struct hang *hang, const struct hang_wait **cycle, size_t count, int64_t patience_ns)
{
	for (size_t i = 0; i < count && !hang->over; i++)
		if ((double)hang->now_ns - (double)cycle[i]->since_ns < (double)patience_ns)
			return true;
	return false;
}

static bool is_transfer(const struct hang_wait *wait)
{
	return wait->kind == HANG_WAIT_SEND || wait->kind == HANG_WAIT_RECEIVE;
}

/* The first send or receive without a counterpart that a rank owes; all of them become pairs. */
static const struct hang_wait *owed(struct hang *hang, const struct hang_waits *waits, size_t rank)
{
	const struct hang_wait *first = NULL;

	for (size_t i = 0; i < waits->count; i++) {
		const struct hang_wait *wait = &waits->items[i];

		if (wait->to != rank || !is_transfer(wait))
			continue;
		if (!first || wait->since_ns < first->since_ns)
			first = wait;
		*MEM_PUSH(hang->pairs, hang->pair_count, hang->pair_room) = (struct hang_pair){.rank = rank,
			.peer = wait->from,
			.receive = wait->kind == HANG_WAIT_SEND,
			.ordinal = wait->ordinal,
			.group = wait->group};
	}
	return first;
}

/* A rank that left the order of its calls, and what it left out. */
static void add_odd(struct hang *hang, const struct hang_waits *waits, size_t rank)
{
	const size_t before = hang->pair_count;
	const struct hang_wait *wait = owed(hang, waits, rank);
	const char *state = arena_format(&hang->arena, "%s %s.",
		hang_capital(hang, hang_ranks(&hang->arena, hang, &rank, 1)),
		hang_state(hang, hang->ranks[rank]));

	if (wait && hang->pair_count - before > 1)
		state = arena_format(&hang->arena, "%s %s So it is with %zu more.", state,
			wait_sentence(hang, wait), hang->pair_count - before - 1);
	else if (wait)
		state = arena_format(&hang->arena, "%s %s", state, wait_sentence(hang, wait));
	hang_add_culprit(hang, rank, state);
}

static const char *pair_headline(struct hang *hang, const struct hang_pair *pair)
{
	return arena_format(&hang->arena, "%s %s %s, which does not %s.",
		hang_capital(hang, hang_ranks(&hang->arena, hang, &pair->peer, 1)),
		pair->receive ? "sends to" : "receives from", hang_ranks(&hang->arena, hang, &pair->rank, 1),
		pair->receive ? "receive" : "send");
}

static const struct hang_wait *any_transfer(const struct hang_waits *waits)
{
	for (size_t i = 0; i < waits->count; i++)
		if (is_transfer(&waits->items[i]))
			return &waits->items[i];
	return NULL;
}

/* Two of the waits; not one that a culprit's sentence has. */
static const char *cycle_sentences(struct hang *hang, const struct hang_wait **cycle, size_t count)
{
	const char *text = "";
	size_t shown = 0;

	for (size_t i = 0; i < count && shown < 2; i++)
		if (!hang->pair_count || !is_transfer(cycle[i])) {
			text = arena_format(&hang->arena, "%s%s%s", text, shown ? " " : "",
				wait_sentence(hang, cycle[i]));
			shown++;
		}
	return shown ? text : wait_sentence(hang, cycle[0]);
}

void hang_find_order(struct hang *hang, const struct hang_waits *waits, int64_t patience_ns)
{
	const struct hang_wait **cycle =
		arena_alloc(&hang->arena, hang->rank_count + 1, sizeof(const struct hang_wait *));
	const size_t count = find_cycle(hang, waits, cycle);
	const struct hang_wait *transfer = any_transfer(waits);
	bool *odd = arena_alloc(&hang->arena, hang->rank_count, sizeof(*odd)), known;

	if (is_young(hang, cycle, count, patience_ns)) {
		hang_conclude(hang, HANG_IS_LATE, HANG_OPEN,
			"No hang so far: ranks wait for each other, but have done so for a short time only.");
		hang->basis = wait_sentence(hang, cycle[0]);
		return;
	}
	known = find_odd(hang, odd);
	for (size_t r = 0; known && r < hang->rank_count; r++)
		if (odd[r])
			add_odd(hang, waits, r);
	for (size_t i = 0; !known && i < count; i++)
		hang_add_culprit(hang, cycle[i]->from, wait_sentence(hang, cycle[i]));
	hang->basis = cycle_sentences(hang, cycle, count);
	if (known)
		hang->basis = arena_format(&hang->arena,
			"%s Only %s left the order of calls of the iterations before.", hang->basis,
			hang_culprits(hang));
	if (transfer && hang->pair_count == 1) {
		hang_conclude(hang, HANG_IS_UNMATCHED, HANG_LIKELY, pair_headline(hang, hang->pairs));
		return;
	}
	hang_conclude(hang, transfer ? HANG_IS_UNMATCHED : HANG_IS_ORDER, known ? HANG_LIKELY : HANG_OPEN,
		arena_format(&hang->arena, "%s: %s%s.",
			transfer
				? "Ranks wait for each other, with sends or receives that have no counterpart"
				: "Ranks wait for each other on communicators entered in different order",
			hang_culprits(hang),
			known                      ? ""
			: hang->culprit_count == 1 ? ""
						   : ", or one of them"));
}
