/*
 * What is copied to the device before the first step, and in it: parameters, and blocks of them. What each
 * step copies is its input.
 */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <stdlib.h>

static const struct flow *flow_of(const struct flow_work *work, uint32_t call)
{
	return &work->assign->model->flows[timeline_call(work->assign->timeline, call).operation];
}

/* The first that a call writes: where, and how much. */
static bool is_written(const struct flow *flow, uint64_t *address, uint64_t *bytes)
{
	for (uint32_t i = 0; i < flow->access_count; i++)
		if (flow_writes(&flow->accesses[i])) {
			*address = flow->accesses[i].address;
			*bytes = flow->accesses[i].bytes;
			return true;
		}
	return false;
}

/* A copy in that direction: where to, and how much. */
static bool is_copied(const struct flow_work *work, uint32_t call, enum pm_direction direction,
	uint64_t *address, uint64_t *bytes)
{
	const struct timeline *timeline = work->assign->timeline;

	return flow_of(work, call)->kind == PM_KIND_COPY &&
	       timeline_direction(timeline, &timeline->operations[timeline_call(timeline, call).operation]) ==
		       direction &&
	       is_written(flow_of(work, call), address, bytes);
}

/* What another rank sends: its part of a parameter that is divided over them. */
static bool is_received(const struct flow_work *work, uint32_t call, uint64_t *address, uint64_t *bytes)
{
	return flow_of(work, call)->kind == PM_KIND_COMM && is_written(flow_of(work, call), address, bytes);
}

/* A copy to the device. */
static bool is_upload(const struct flow_work *work, uint32_t call, uint64_t *address, uint64_t *bytes)
{
	return is_copied(work, call, PM_DIRECTION_H2D, address, bytes) ||
	       is_copied(work, call, PM_DIRECTION_DEFAULT, address, bytes);
}

/* A copy to the device, or on it: parameters are put together in one block that way; or from another rank. */
static bool is_set_up(const struct flow_work *work, uint32_t call, uint64_t *address, uint64_t *bytes)
{
	return is_upload(work, call, address, bytes) ||
	       is_copied(work, call, PM_DIRECTION_D2D, address, bytes) ||
	       is_received(work, call, address, bytes);
}

/* The module that the program is in when a call is made, or NULL. */
static const char *module_of(const struct flow_work *work, uint32_t call)
{
	const struct timeline *timeline = work->assign->timeline;

	return timeline->operations[timeline_call(timeline, call).operation].module;
}

/* Does the iteration copy as many bytes to the device? */
static bool is_as_a_batch(const struct flow_work *work, uint64_t size)
{
	uint64_t address, bytes;

	for (uint32_t i = 0; i < work->step_count; i++)
		if (is_upload(work, work->assign->graph.steps[i].call, &address, &bytes) && bytes == size)
			return true;
	return false;
}

/* Does the call at `i` of the worker set up parameters? In the first step the host may bring them to the
 * device when they are needed. */
static bool brings_parameters(
	const struct flow_work *work, size_t i, bool inside, uint64_t *address, uint64_t *bytes)
{
	const uint32_t call = work->assign->worker->calls[i];

	if (i >= work->before_first)
		return is_upload(work, call, address, bytes) && !is_as_a_batch(work, *bytes);
	return (inside ? is_upload : is_set_up)(work, call, address, bytes);
}

uint32_t flow_mark_copied(struct flow_work *work, bool inside)
{
	uint32_t count = 0;

	for (size_t i = 0; i < work->set_up_end; i++) {
		uint64_t address, bytes;

		if (!brings_parameters(work, i, inside, &address, &bytes))
			continue;
		for (uint32_t p = 0; p < work->place_count; p++) {
			struct flow_place *place = &work->places[p];

			if (place->address < address || place->address >= address + bytes ||
				(inside && place->parameter) || (!inside && place->address != address) ||
				!flow_may_be_parameter(place))
				continue;
			count += !place->parameter;
			place->parameter = true;
			place->bytes = inside ? 0 : bytes; /* of the last copy: memory is used again */
			place->copied_in = inside ? NULL : module_of(work, work->assign->worker->calls[i]);
		}
	}
	return count;
}

/* Where a call begins to write, as far as it is known: a launch's result stands first. */
static struct flow_place *begun_by(const struct flow_work *work, uint32_t call, uint64_t *bytes)
{
	const struct flow *flow = flow_of(work, call);
	const struct timeline_touch *touches;
	uint64_t address;
	size_t count;

	*bytes = 0;
	if (flow->kind != PM_KIND_LAUNCH)
		return is_written(flow, &address, bytes) ? flow_place_at(work, address) : NULL;
	if (!layer_knows_touches(work->assign, call))
		return NULL;
	touches = layer_touches(work->assign, call, &count);
	return count ? flow_place_at(work, touches[0].address) : NULL;
}

bool *flow_overwritten(const struct flow_work *work)
{
	bool *over = mem_alloc(work->place_count, sizeof(*over));

	for (size_t i = 0; i < work->before_first; i++) {
		uint64_t bytes;
		const struct flow_place *place = begun_by(work, work->assign->worker->calls[i], &bytes);

		if (place && place->parameter)
			over[place - work->places] = bytes != place->bytes;
	}
	return over;
}

/* The end of a block whose first piece the call at `call` of the worker has copied there. */
static uint64_t block_end(
	const struct flow_work *work, size_t call, size_t end, uint64_t address, uint64_t bytes)
{
	uint64_t piece = bytes, limit = address + bytes, next, next_bytes;

	for (size_t i = call + 1; i < end && piece == bytes && bytes % SET_UP_PIECE == 0; i++) {
		if (!is_upload(work, work->assign->worker->calls[i], &next, &next_bytes))
			continue;
		if (next != limit || next_bytes > bytes)
			break;
		limit += next_bytes;
		piece = next_bytes;
	}
	return limit;
}

void flow_divide_blocks(struct flow_work *work)
{
	const size_t end = work->set_up_end;

	for (size_t i = 0; i < end; i++) {
		const struct flow_place *first;
		uint64_t address, bytes, limit;
		bool pieces;

		if (!is_upload(work, work->assign->worker->calls[i], &address, &bytes))
			continue;
		first = flow_place_at(work, address);
		if (first && first->parameter && first->bytes > bytes)
			continue; /* a larger copy came there later, or this is a piece of one */
		limit = block_end(work, i, end, address, bytes);
		pieces = limit > address + bytes;
		for (uint32_t p = work->place_count; p-- > 0;) {
			struct flow_place *place = &work->places[p];

			if (!place->parameter || place->made || place->address < address ||
				place->address >= limit)
				continue;
			if (pieces || place->bytes == 0 || place->bytes > limit - place->address)
				place->bytes = limit - place->address;
			limit = place->address;
			if (first && first->parameter && !place->block)
				place->block = (uint32_t)(first - work->places) + 1;
		}
	}
}

/* The end of what is set up: the first batch may be copied before the first iteration, as it is copied in
 * every other. */
static size_t set_up_end(const struct flow_work *work, size_t end)
{
	uint64_t address, bytes, first_bytes;
	size_t batch = end;

	for (uint32_t i = work->step_count; i-- > 0;) {
		if (!is_upload(work, work->assign->graph.steps[i].call, &address, &bytes))
			continue;
		do
			if (batch-- == 0)
				return end;
		while (!is_upload(work, work->assign->worker->calls[batch], &address, &first_bytes));
		if (first_bytes != bytes)
			return end;
	}
	return batch;
}

/* What is copied in the iteration, or for it in the one before. */
static void mark_input(struct flow_work *work, const struct iteration_list *iterations)
{
	const struct layer_assign *assign = work->assign;
	const size_t before = assign->iteration ? assign->iteration - 1 : 0;
	uint64_t address, bytes;

	for (size_t i = iterations->items[before].first_call;
		i < iterations->items[assign->iteration].call_end; i++)
		if (is_upload(work, assign->worker->calls[i], &address, &bytes))
			for (uint32_t p = 0; p < work->place_count; p++)
				work->places[p].input |= work->places[p].address >= address &&
							 work->places[p].address < address + bytes;
}

void flow_note_set_up(struct flow_work *work, const struct iteration_list *iterations)
{
	const struct iteration *first = &iterations->items[0];

	work->before_first = set_up_end(work, first->first_call);
	work->set_up_end = work->assign->iteration > 1 ? first->call_end : work->before_first;
	mark_input(work, iterations);
}
