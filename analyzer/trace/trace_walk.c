/* Records of a trace, one by one as a cursor comes by, and their times. What they refer to was read by
 * trace.c. */
#include "trace.h"

#include <string.h>

void trace_walk(struct trace_cursor *cursor, const struct trace *trace, const struct trace_chunk *chunk)
{
	*cursor = (struct trace_cursor){.trace = trace,
		.slot = trace->data + chunk->offset,
		.left = chunk->slot_count,
		.base = {chunk->base[0], chunk->base[1]}};
}

static const void *take_slot(struct trace_cursor *cursor)
{
	const void *slot = cursor->slot;

	cursor->slot += cursor->trace->header.record_bytes;
	cursor->left--;
	return slot;
}

static void move_base(struct trace_cursor *cursor, const void *slot)
{
	struct pm_base base;

	memcpy(&base, slot, sizeof(base));
	cursor->base[base.clock == 1] = base.base;
}

/* Are the tables' entries there that the record refers to? */
static enum trace_step check(const struct trace *trace, const struct trace_record *record)
{
	if (record->kind != PM_RECORD_CALL && record->kind != PM_RECORD_DEVICE)
		return TRACE_REFUSED;
	if (record->op >= trace->operation_count || !trace->operations[record->op].function)
		return TRACE_REFUSED;
	if (record->queue && (record->queue >= trace->queue_count || !trace->queues[record->queue].known))
		return TRACE_REFUSED;
	return TRACE_RECORD;
}

/* Is a record of one kind asked for, and this is of the other? */
static bool is_other(unsigned kind, enum pm_record_kind wanted)
{
	return wanted && kind != wanted && (kind == PM_RECORD_DEVICE || wanted == PM_RECORD_DEVICE);
}

static enum trace_step next_of_version_1(
	struct trace_cursor *cursor, enum pm_record_kind wanted, struct trace_record *record)
{
	struct pm_record_1 slot;

	do {
		if (cursor->left == 0)
			return TRACE_END;
		memcpy(&slot, take_slot(cursor), sizeof(slot));
	} while (is_other(slot.kind, wanted));
	*record = (struct trace_record){.begin = slot.begin,
		.end = slot.end,
		.op = slot.op,
		.correlation = slot.correlation,
		.result = slot.result,
		.queue = slot.queue,
		.kind = slot.kind,
		.flags = slot.flags};
	return check(cursor->trace, record);
}

/* wanted: 0 for all kinds */
static inline enum trace_step next(
	struct trace_cursor *cursor, enum pm_record_kind wanted, struct trace_record *record)
{
	static const struct pm_more nothing;
	struct pm_more more;
	const void *more_slot = &nothing;
	const unsigned char *touches = NULL;
	uint32_t touch_slots = 0;
	uint64_t duration;
	struct pm_record slot;

	if (cursor->trace->header.version == 1)
		return next_of_version_1(cursor, wanted, record);
	for (;;) {
		const unsigned char *taken;
		uint8_t kind;

		/* A process that was killed may leave a slot whose record never came: that is the end. */
		if (cursor->left == 0)
			return TRACE_END;
		taken = take_slot(cursor);
		kind = taken[offsetof(struct pm_record, kind)];
		if (kind == PM_RECORD_MORE) {
			more_slot = taken;
		} else if (kind == PM_RECORD_BASE) {
			move_base(cursor, taken);
		} else if (kind == PM_RECORD_TOUCH && cursor->trace->header.version >= 3) {
			/* they lie end to end */
			if (!touches ||
				touches + (size_t)touch_slots * cursor->trace->header.record_bytes != taken) {
				touches = taken;
				touch_slots = 0;
			}
			touch_slots++;
		} else if (kind == PM_RECORD_RANGE && cursor->trace->header.version >= 3) {
			continue;
		} else if (is_other(kind, wanted)) {
			more_slot = &nothing;
			touches = NULL;
		} else {
			memcpy(&slot, taken, sizeof(slot));
			break;
		}
	}
	memcpy(&more, more_slot, sizeof(more));
	duration = (uint64_t)more.duration_high << 32 | slot.duration;
	*record = (struct trace_record){
		.begin = cursor->base[slot.kind == PM_RECORD_DEVICE] + slot.begin,
		.op = slot.op,
		.correlation = more.correlation,
		.result = more.result,
		.sequence = more.sequence,
		.queue = slot.queue,
		.kind = slot.kind,
		.flags = slot.flags,
		.group = more.group};
	if (touches && slot.flags & PM_FLAG_TOUCHES) {
		record->touches = touches;
		record->touch_slots = touch_slots;
	}
	if (__builtin_add_overflow(record->begin, duration, &record->end))
		record->end = UINT64_MAX;
	return check(cursor->trace, record);
}

enum trace_step trace_next(struct trace_cursor *cursor, struct trace_record *record)
{
	return next(cursor, 0, record);
}

enum trace_step trace_next_of(
	struct trace_cursor *cursor, enum pm_record_kind kind, struct trace_record *record)
{
	return next(cursor, kind, record);
}

bool trace_next_range(struct trace_cursor *cursor, struct trace_range *range, bool *is_end)
{
	while (cursor->trace->header.version >= 3 && cursor->left > 0) {
		const unsigned char *slot = take_slot(cursor);
		struct pm_range found;

		switch (slot[offsetof(struct pm_record, kind)]) {
		case PM_RECORD_BASE:
			move_base(cursor, slot);
			break;
		case PM_RECORD_RANGE:
			memcpy(&found, slot, sizeof(found));
			*is_end = found.range == 0;
			*range = (struct trace_range){.ticks = cursor->base[0] + found.ticks,
				.range = found.range < cursor->trace->range_name_count ? found.range : 0,
				.sequence = found.sequence,
				.thread = found.thread,
				.flags = found.flags};
			return true;
		default:
			break;
		}
	}
	return false;
}

static uint32_t base_of(const struct trace *trace, uint32_t operation)
{
	return operation < trace->operation_count ? trace->operations[operation].base : 0;
}

enum trace_step trace_next_call_of(
	struct trace_cursor *cursor, uint32_t operation, struct trace_record *record)
{
	enum trace_step step;

	if (cursor->trace->header.version == 1) {
		while ((step = next_of_version_1(cursor, PM_RECORD_CALL, record)) != TRACE_END)
			if (step == TRACE_RECORD && base_of(cursor->trace, record->op) == operation)
				return step;
		return TRACE_END;
	}
	while (cursor->left > 0) {
		const unsigned char *slot = take_slot(cursor);
		struct pm_record call;

		switch (slot[offsetof(struct pm_record, kind)]) {
		case PM_RECORD_BASE:
			move_base(cursor, slot);
			break;
		case PM_RECORD_CALL:
			memcpy(&call, slot, sizeof(call));
			if (base_of(cursor->trace, call.op) != operation)
				break;
			*record = (struct trace_record){.begin = cursor->base[0] + call.begin,
				.op = call.op,
				.queue = call.queue,
				.kind = call.kind,
				.flags = call.flags};
			if (check(cursor->trace, record) == TRACE_RECORD)
				return TRACE_RECORD;
			break;
		default:
			break;
		}
	}
	return TRACE_END;
}

static uint64_t count_by_walking(
	const struct trace *trace, const struct trace_chunk *chunk, uint64_t *counts, uint64_t *refused)
{
	struct trace_cursor cursor;
	struct trace_record record;
	enum trace_step step;
	uint64_t count = 0;

	trace_walk(&cursor, trace, chunk);
	while ((step = trace_next_of(&cursor, PM_RECORD_CALL, &record)) != TRACE_END)
		if (step == TRACE_RECORD) {
			counts[record.op]++;
			count++;
		} else {
			++*refused;
		}
	return count;
}

uint64_t trace_count_calls(
	const struct trace *trace, const struct trace_chunk *chunk, uint64_t *counts, uint64_t *refused)
{
	const unsigned char *slot = trace->data + chunk->offset;
	uint64_t count = 0;

	if (trace->header.version == 1)
		return count_by_walking(trace, chunk, counts, refused);
	for (uint64_t i = 0; i < chunk->slot_count; i++, slot += trace->header.record_bytes) {
		struct pm_record record;

		if (slot[offsetof(struct pm_record, kind)] != PM_RECORD_CALL)
			continue;
		memcpy(&record, slot, sizeof(record));
		if (record.op >= trace->operation_count || !trace->operations[record.op].function) {
			++*refused;
			continue;
		}
		counts[record.op]++;
		count++;
	}
	return count;
}

static int64_t clamp_ns(double ns)
{
	if (!(ns > 0))
		return 0;
	return ns < (double)TRACE_GREATEST_NS ? (int64_t)ns : TRACE_GREATEST_NS;
}

/* The last pair at or before `ticks`, or the first. */
static size_t find_pair(const struct trace *trace, uint64_t ticks)
{
	size_t low = 0, high = trace->pair_count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (trace->pairs[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int64_t trace_ns_near(const struct trace *trace, uint64_t ticks, size_t *near)
{
	const struct trace_pair *pairs = trace->pairs, *from;
	int64_t base_ns, distance_ns;

	if (trace->header.clock == PM_CLOCK_MONOTONIC || trace->pair_count < 2)
		return ticks < (uint64_t)TRACE_GREATEST_NS ? (int64_t)ticks : TRACE_GREATEST_NS;
	if (pairs[*near].ticks > ticks || (*near + 1 < trace->pair_count && pairs[*near + 1].ticks <= ticks))
		*near = find_pair(trace, ticks);
	from = &pairs[*near];
	base_ns = (int64_t)from->monotonic_ns;
	if (ticks < from->ticks)
		return clamp_ns(
			(double)base_ns - (double)(from->ticks - ticks) * pairs[trace->pair_count - 1].slope);
	/* The distance alone goes through floating point: it is small, and exact to the nanosecond. */
	distance_ns = clamp_ns((double)(ticks - from->ticks) * from->slope);
	return base_ns + distance_ns > TRACE_GREATEST_NS ? TRACE_GREATEST_NS : base_ns + distance_ns;
}

int64_t trace_ns(const struct trace *trace, uint64_t ticks)
{
	size_t near = 0;

	return trace_ns_near(trace, ticks, &near);
}
