/*
 * A rank that left out a step long before it shows: it trains on, each of its steps meeting the one before of
 * the others, until something that is not in every step comes, and that is where all stand. The calls between
 * collectives tell: what a step has now and then (a copy of the loss every fifth, an evaluation) comes one
 * step earlier on that rank from then on.
 *
 * Two ranks' sequences of what they did before each collective are laid beside each other, and again with one
 * of them some steps on from each place; where that explains what differs, the place is where the step is
 * missing.
 */
#include "hang_private.h"
#include "timeline/thresholds.h"

#include <inttypes.h>

#define STEPS_MOST 4 /* missing ones that are looked for */

/* What a rank did before each of the collectives that are kept, the last of them with the number `last`. */
struct deeds {
	uint64_t *before;     /* by collective: a sum over calls, in no order */
	uint64_t *signatures; /* of the collectives */
	uint64_t first, last; /* ordinals */
};

/* A call's function, kernel and values that are the same on all ranks. */
static uint64_t deed_of(const struct trace *trace, uint32_t op)
{
	const struct trace_operation *operation = &trace->operations[op];
	const struct trace_function *function = &trace->functions[operation->function];
	uint64_t hash = hang_signature(trace, op);

	for (uint32_t i = 0; i < operation->value_count; i++)
		if (function->labels[i].type == PM_VALUE_STRING && operation->values[i] <= UINT32_MAX) {
			const char *text = trace_string(trace, (uint32_t)operation->values[i]);

			hash = text ? mem_hash_text(hash, text) : hash;
		}
	return hash;
}

/* Work of the device's: what is asked of it between, and how often, is the host's affair. */
static bool counts(enum pm_kind kind)
{
	return kind == PM_KIND_COPY || kind == PM_KIND_SET || kind == PM_KIND_FORWARD ||
	       kind == PM_KIND_BACKWARD || kind == PM_KIND_COMPUTE || kind == PM_KIND_LAUNCH;
}

/* The index of the first kept collective that began at this time or later; `count`: none. */
static size_t next_collective(const struct standing_recent *recent, int64_t at_ns)
{
	size_t low = 0, high = recent->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (recent->entries[middle].begin_ns < at_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void add_calls(struct deeds *deeds, const struct trace *trace, const struct standing_recent *recent)
{
	struct trace_cursor cursor;
	struct trace_record record;
	enum trace_step step;

	for (size_t c = 0; c < trace->chunk_count; c++) {
		size_t near = 0;

		trace_walk(&cursor, trace, &trace->chunks[c]);
		while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &record)) != TRACE_END) {
			size_t at;

			if (step == TRACE_REFUSED ||
				!counts(trace->functions[trace->operations[record.op].function].kind))
				continue;
			at = next_collective(recent, trace_ns_near(trace, record.begin, &near));
			if (at < recent->count)
				deeds->before[at] += deed_of(trace, record.op);
		}
	}
}

static struct deeds find_deeds(struct hang *hang, const struct hang_member *member, uint64_t last)
{
	const struct trace *trace = &hang->ranks[member->rank]->trace;
	const struct standing_recent *recent = &member->comm->recent;
	struct deeds deeds = {.first = member->count - recent->count + 1, .last = last};

	deeds.before = arena_alloc(&hang->arena, recent->count, sizeof(*deeds.before));
	deeds.signatures = arena_alloc(&hang->arena, recent->count, sizeof(*deeds.signatures));
	for (size_t i = 0; i < recent->count; i++)
		deeds.signatures[i] = hang_signature(trace, recent->entries[i].op);
	add_calls(&deeds, trace, recent);
	return deeds;
}

static bool same_before(const struct deeds *a, uint64_t at, const struct deeds *b, uint64_t other)
{
	return a->before[at - a->first] == b->before[other - b->first];
}

/* How many collectives a step has: the least distance at which the last of them repeat; 0: none. */
static uint64_t step_length(const struct deeds *d)
{
	for (uint64_t length = 1; length * (HANG_SHIFT_PERIODS + 1) <= d->last - d->first + 1; length++) {
		uint64_t same = 0;

		while (same < length * HANG_SHIFT_PERIODS &&
			d->signatures[d->last - same - d->first] ==
				d->signatures[d->last - same - length - d->first])
			same++;
		if (same == length * HANG_SHIFT_PERIODS)
			return length;
	}
	return 0;
}

static uint64_t count_signature(const struct deeds *d, uint64_t signature, uint64_t from, uint64_t to)
{
	uint64_t count = 0;

	for (uint64_t k = from; k <= to; k++)
		count += d->signatures[k - d->first] == signature;
	return count;
}

/* Which step the collective is of, from 1, by how often the last one of them has come: the first steps may
 * have others besides. 0: not known, as the first of them are not kept. */
static uint64_t step_of(const struct deeds *d, uint64_t length, uint64_t at)
{
	const uint64_t signature = d->signatures[d->last - d->first];
	const uint64_t each = count_signature(d, signature, d->last - length + 1, d->last);

	if (d->first > 1)
		return 0;
	return (count_signature(d, signature, d->first, at) + each - 1) / each;
}

/* A way to lay the two beside each other: from `from` up to `to` on, a rank's are the other's `lag` further
 * on. */
struct fit {
	uint64_t from, to; /* places that differ in nothing else */
	size_t different;
};

/* Of the places the one at which the rank did what the other did at neither: part of the step that is
 * missing. */
static void narrow(
	struct fit *fit, const struct deeds *fewer, const struct deeds *other, uint64_t lag, uint64_t last)
{
	uint64_t found = 0;
	size_t count = 0;

	for (uint64_t k = fit->from; k <= fit->to && k <= last; k++)
		if (!same_before(fewer, k, other, k) && !same_before(fewer, k, other, k + lag)) {
			found = k;
			count++;
		}
	if (count == 1)
		fit->from = fit->to = found;
}

static struct fit find_fit(const struct deeds *fewer, const struct deeds *other, uint64_t first, uint64_t lag)
{
	const uint64_t last = fewer->last < other->last - lag ? fewer->last : other->last - lag;
	struct fit best = {0, 0, SIZE_MAX};
	size_t behind = 0, before = 0;

	for (uint64_t k = first; k <= last; k++)
		behind += !same_before(fewer, k, other, k + lag);
	for (uint64_t k = first; k <= last; k++) {
		if (before + behind < best.different)
			best = (struct fit){k, k, before + behind};
		else if (before + behind == best.different)
			best.to = k;
		behind -= !same_before(fewer, k, other, k + lag);
		before += !same_before(fewer, k, other, k);
	}
	narrow(&best, fewer, other, lag, last);
	return best;
}

static size_t count_different(const struct deeds *a, const struct deeds *b, uint64_t first)
{
	size_t different = 0;

	for (uint64_t k = first; k <= a->last && k <= b->last; k++)
		different += !same_before(a, k, b, k);
	return different;
}

/* Fills in how many steps `fewer` lacks. False: that explains nothing. */
static bool explain(const struct deeds *fewer, const struct deeds *other, struct hang_shift *shift)
{
	const uint64_t length = step_length(other);
	const uint64_t first = fewer->first > other->first ? fewer->first : other->first;
	size_t plain;

	if (length == 0 || fewer->last < first || other->last < first)
		return false;
	plain = count_different(fewer, other, first);
	for (unsigned steps = 1; steps <= STEPS_MOST && length * steps < other->last - first; steps++) {
		const struct fit fit = find_fit(fewer, other, first, length * steps);

		if (fit.different > plain / 2 || plain - fit.different < HANG_SHIFT_EXPLAINS)
			continue;
		*shift = (struct hang_shift){.steps = steps,
			.from = fit.from,
			.to = fit.to,
			.from_step = step_of(other, length, fit.from),
			.to_step = step_of(other, length, fit.to)};
		return true;
	}
	return false;
}

bool hang_find_shift(struct hang *hang, const struct hang_member *one, const struct hang_member *other,
	uint64_t last, struct hang_shift *shift)
{
	struct deeds a, b;

	if (!one->comm || !other->comm || last == 0)
		return false;
	a = find_deeds(hang, one, one->count < last ? one->count : last);
	b = find_deeds(hang, other, other->count < last ? other->count : last);
	if (explain(&a, &b, shift)) {
		shift->rank = one->rank;
		shift->other = other->rank;
		return true;
	}
	if (explain(&b, &a, shift)) {
		shift->rank = other->rank;
		shift->other = one->rank;
		return true;
	}
	return false;
}

uint64_t hang_common_steps(
	struct hang *hang, const struct hang_member *one, const struct hang_member *other, uint64_t ordinal)
{
	struct deeds a, b;
	uint64_t length;

	if (!one->comm || !other->comm || ordinal < 2 || one->count < ordinal || other->count < ordinal)
		return 0;
	a = find_deeds(hang, one, ordinal - 1);
	b = find_deeds(hang, other, ordinal);
	length = step_length(&b);
	if (length == 0 || a.last < a.first || a.first > b.first || count_different(&a, &b, b.first) > 0)
		return 0;
	return b.first > 1 ? 0 : step_of(&b, length, ordinal) - 1;
}

const char *hang_shift_words(struct hang *hang, const struct hang_shift *shift)
{
	const char *where;

	if (!shift->from_step)
		where = shift->from == shift->to
				? arena_format(&hang->arena, "collective %" PRIu64, shift->from)
				: arena_format(&hang->arena, "one of collectives %" PRIu64 " to %" PRIu64,
					  shift->from, shift->to);
	else
		where = shift->from_step == shift->to_step
				? arena_format(&hang->arena, "step %" PRIu64, shift->from_step)
				: arena_format(&hang->arena, "one of steps %" PRIu64 " to %" PRIu64,
					  shift->from_step, shift->to_step);
	return arena_format(&hang->arena, "%u step%s fewer than %s since %s", shift->steps,
		shift->steps == 1 ? "" : "s", hang_ranks(&hang->arena, hang, &shift->other, 1), where);
}
