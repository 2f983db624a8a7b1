/*
 * From what calls touch to parameters and the update.
 *
 * Parameters: what was copied to the device before the first iteration, or where nothing of that is updated,
 * what stands beside weights in the arguments of updates; and is never written by a library's computation.
 * The update: of the stretches without computations of a library the one that touches most of them, or
 * parameters and the optimizer's state together.
 */
#include "layer_flow.h"
#include "sequence.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BETWEEN 4 /* steps of the update that touch no state */

/* A copy in one of two directions: where to, and how much. */
static bool is_copied(const struct flow_work *work, uint32_t call, uint64_t one, uint64_t other,
	uint64_t *address, uint64_t *bytes)
{
	const struct timeline *timeline = work->assign->timeline;
	const uint32_t operation = timeline->calls[call].operation;
	const struct flow *flow = &work->assign->model->flows[operation];
	uint64_t direction = 0;

	if (flow->kind != PM_KIND_COPY ||
		!timeline_value(timeline, &timeline->operations[operation], "dir", &direction) ||
		(direction != one && direction != other))
		return false;
	for (uint32_t i = 0; i < flow->access_count; i++)
		if (flow_writes(&flow->accesses[i])) {
			*address = flow->accesses[i].address;
			*bytes = flow->accesses[i].bytes;
			return true;
		}
	return false;
}

/* A copy to the device. */
static bool is_upload(const struct flow_work *work, uint32_t call, uint64_t *address, uint64_t *bytes)
{
	return is_copied(work, call, 1, 4, address, bytes);
}

/* A copy to the device, or on it: parameters are put together in one block that way. */
static bool is_set_up(const struct flow_work *work, uint32_t call, uint64_t *address, uint64_t *bytes)
{
	return is_upload(work, call, address, bytes) || is_copied(work, call, 3, 3, address, bytes);
}

static bool may_be_parameter(const struct flow_place *place)
{
	return place->persistent && !place->library_writes && !place->input;
}

/* Marks what lies in a copied range, or only what begins one. How many are new. */
static uint32_t mark_copied(struct flow_work *work, size_t end, bool inside)
{
	uint32_t count = 0;

	for (size_t i = 0; i < end; i++) {
		uint64_t address, bytes;

		if (!(inside ? is_upload : is_set_up)(work, work->assign->worker->calls[i], &address, &bytes))
			continue;
		for (uint32_t p = 0; p < work->place_count; p++) {
			struct flow_place *place = &work->places[p];

			if (place->address < address || place->address >= address + bytes ||
				(inside && place->parameter) || (!inside && place->address != address) ||
				!may_be_parameter(place))
				continue;
			count += !place->parameter;
			place->parameter = true;
			place->bytes = inside ? 0 : bytes; /* of the last copy: memory is used again */
		}
	}
	return count;
}

/* ---- parameters that were made on the device: nothing was copied ---- */

/* Does the name of the kernel say that it updates parameters? */
static bool is_update(const struct flow_work *work, uint32_t step)
{
	const struct timeline *timeline = work->assign->timeline;

	return work->steps[step].launch &&
	       (sequence_label(timeline, &timeline->operations[work->assign->graph.steps[step].operation]) &
		       SEQUENCE_UPDATE);
}

/* Is a parameter among the arguments of such a kernel? True also where there is no such kernel. */
static bool are_updated(const struct flow_work *work)
{
	bool any = false;

	for (uint32_t i = 0; i < work->step_count; i++) {
		if (!is_update(work, i))
			continue;
		any = true;
		for (uint32_t t = 0; t < work->steps[i].count; t++)
			if (work->places[flow_touch_of(work, i, t)->place].parameter)
				return true;
	}
	return !any;
}

/* By place: is it a weight? A library reads it, and nothing touches it before in the iteration. The caller
 * frees it. */
static bool *find_weights(const struct flow_work *work)
{
	bool *weights = mem_alloc(work->place_count, sizeof(*weights));
	bool *touched = mem_alloc(work->place_count, sizeof(*touched));

	for (uint32_t i = 0; i < work->step_count; i++)
		for (uint32_t t = 0; t < work->steps[i].count; t++) {
			const struct flow_touch *touch = flow_touch_of(work, i, t);

			if (!touched[touch->place])
				weights[touch->place] =
					work->steps[i].computes && touch->read && !touch->written;
			touched[touch->place] = true;
		}
	free(touched);
	return weights;
}

/* The sizes of parameters, as far as libraries that read them say so. */
static void note_bytes(struct flow_work *work)
{
	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);

		for (uint32_t j = 0; j < flow->access_count && work->steps[i].computes; j++) {
			struct flow_place *place = flow_place_at(work, flow->accesses[j].address);

			if (place && place->parameter && flow->accesses[j].mode == FLOW_READ &&
				flow->accesses[j].bytes > place->bytes)
				place->bytes = flow->accesses[j].bytes;
		}
	}
}

/*
 * A list of tensors in a kernel's arguments is a row of words. Where the row ends that begins with touch
 * `first` of a step: where words are left out, or a library writes (lists may stand without room between
 * them).
 */
static uint32_t row_end(const struct flow_work *work, uint32_t step, uint32_t first)
{
	uint32_t end = first;

	while (end < work->steps[step].count &&
		may_be_parameter(&work->places[flow_touch_of(work, step, end)->place]) &&
		(end == first ||
			flow_touch_of(work, step, end)->word == flow_touch_of(work, step, end - 1)->word + 1))
		end++;
	return end;
}

/* What stands in one row with a weight is a parameter. How many are new. */
static uint32_t mark_row(
	struct flow_work *work, uint32_t step, uint32_t first, uint32_t end, const bool *weights)
{
	bool has_weight = false;
	uint32_t count = 0;

	for (uint32_t t = first; t < end; t++)
		has_weight |= weights[flow_touch_of(work, step, t)->place];
	for (uint32_t t = first; t < end && has_weight; t++) {
		struct flow_place *place = &work->places[flow_touch_of(work, step, t)->place];

		count += !place->parameter;
		place->parameter = true;
	}
	return count;
}

/* Of what is gathered from shards, the shards are the parameters; how many there are. */
static uint32_t mark_shards(struct flow_work *work)
{
	for (uint32_t p = 0; p < work->place_count; p++)
		work->places[p].parameter = work->places[p].shard;
	return work->shard_count;
}

/* Parameters by the arguments of updates; how many there are. */
static uint32_t mark_updated(struct flow_work *work)
{
	bool *weights = find_weights(work);
	uint32_t count = 0;

	for (uint32_t p = 0; p < work->place_count; p++)
		work->places[p].parameter = false;
	for (uint32_t i = 0; i < work->step_count; i++)
		for (uint32_t t = 0, end; is_update(work, i) && t < work->steps[i].count; t = end) {
			end = row_end(work, i, t);
			count += mark_row(work, i, t, end, weights);
			end += end == t; /* none begins here */
		}
	free(weights);
	note_bytes(work);
	return count;
}

void flow_divide_blocks(struct flow_work *work, size_t end)
{
	for (size_t i = 0; i < end; i++) {
		const struct flow_place *first;
		uint64_t address, bytes, limit;

		if (!is_upload(work, work->assign->worker->calls[i], &address, &bytes))
			continue;
		first = flow_place_at(work, address);
		if (first && first->parameter && first->bytes > bytes)
			continue; /* a larger copy came there later */
		limit = address + bytes;
		for (uint32_t p = work->place_count; p-- > 0;) {
			struct flow_place *place = &work->places[p];

			if (!place->parameter || place->address < address || place->address >= limit)
				continue;
			if (place->bytes == 0 || place->bytes > limit - place->address)
				place->bytes = limit - place->address;
			limit = place->address;
		}
	}
}

uint32_t flow_count_parameters(const struct flow_work *work, uint32_t step, uint32_t *marks, uint32_t mark)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < work->steps[step].count; t++) {
		const uint32_t place = work->touches[work->steps[step].first + t].place;

		if (!work->places[place].parameter || marks[place] == mark)
			continue;
		marks[place] = mark;
		count++;
	}
	return count;
}

/* The shortest window of [begin, end) whose steps touch so many parameters. */
static void shorten(struct flow_work *work, uint32_t begin, uint32_t end, uint32_t wanted)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), mark = 0;

	work->update_begin = begin;
	work->update_end = end;
	for (uint32_t from = begin; from < end; from++) {
		uint32_t covered = 0;

		mark++;
		for (uint32_t i = from; i < end && i - from < work->update_end - work->update_begin; i++) {
			covered += flow_count_parameters(work, i, marks, mark);
			if (covered < wanted)
				continue;
			work->update_begin = from;
			work->update_end = i + 1;
			break;
		}
	}
	free(marks);
}

/* By place: does a step outside [begin, end) touch it? The caller frees it. */
static bool *touched_outside(const struct flow_work *work, uint32_t begin, uint32_t end)
{
	bool *outside = mem_alloc(work->place_count, sizeof(*outside));

	for (uint32_t i = 0; i < work->step_count; i++)
		for (uint32_t t = 0; (i < begin || i >= end) && t < work->steps[i].count; t++)
			outside[work->touches[work->steps[i].first + t].place] = true;
	return outside;
}

/* How many addresses of state a kernel works on: they live on, and nothing outside touches them. */
static uint32_t count_state(const struct flow_work *work, const bool *outside, uint32_t step)
{
	uint32_t count = 0;

	for (uint32_t t = 0; work->steps[step].launch && t < work->steps[step].count; t++) {
		const uint32_t p = work->touches[work->steps[step].first + t].place;

		count += !outside[p] && work->places[p].persistent && !work->places[p].parameter;
	}
	return count;
}

static uint64_t kernel_of(const struct flow_work *work, uint32_t step)
{
	const struct timeline *timeline = work->assign->timeline;
	uint64_t kernel = 0;

	timeline_value(timeline, &timeline->operations[work->assign->graph.steps[step].operation], "kernel",
		&kernel);
	return kernel;
}

/* Is the step's kernel launched by a step of [begin, end)? */
static bool is_kernel_of(const struct flow_work *work, uint32_t step, uint32_t begin, uint32_t end)
{
	const uint64_t kernel = kernel_of(work, step);

	for (uint32_t i = begin; i < end && kernel; i++)
		if (work->steps[i].launch && kernel_of(work, i) == kernel)
			return true;
	return false;
}

/*
 * The window grows over steps of its stretch that work on the optimizer's state. Before it gradients are such
 * state as well: there the kernel must be one of the window's, or work on the state of many parameters, or on
 * many parameters themselves, as weight decay does.
 */
static void grow(struct flow_work *work, uint32_t begin, uint32_t end)
{
	bool *outside = touched_outside(work, begin, end);
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks));

	for (uint32_t i = begin; i < end; i++)
		if (i >= work->update_end && i - work->update_end < MOST_BETWEEN &&
			count_state(work, outside, i) > 0)
			work->update_end = i + 1;
	for (uint32_t i = end; i-- > begin;) {
		const uint32_t state = count_state(work, outside, i);
		const uint32_t parameters = flow_count_parameters(work, i, marks, i + 1);
		const uint32_t most = state > parameters ? state : parameters;

		if (i < work->update_begin && work->update_begin - i <= MOST_BETWEEN &&
			((state > 0 && is_kernel_of(work, i, work->update_begin, work->update_end)) ||
				(work->steps[i].launch && most > 1 && 3 * most >= work->parameter_count)))
			work->update_begin = i;
	}
	free(marks);
	free(outside);
}

/* Of parameters in one block the update touches the begin alone: it works on a parameter and on state at
 * once. */
static bool find_state(struct flow_work *work, uint32_t begin, uint32_t end)
{
	bool *outside = touched_outside(work, begin, end);
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), found = 0;

	for (uint32_t i = begin; i < end; i++) {
		if (count_state(work, outside, i) == 0 || flow_count_parameters(work, i, marks, i + 1) == 0 ||
			is_kernel_of(work, i, 0, begin) || is_kernel_of(work, i, end, work->step_count))
			continue;
		if (!found++)
			work->update_begin = i;
		work->update_end = i + 1;
	}
	free(outside);
	free(marks);
	return found > 0;
}

static void keep(struct flow_work *work, uint32_t begin, uint32_t end, const bool *others)
{
	uint32_t *touched = mem_alloc(work->place_count, sizeof(*touched));

	for (uint32_t i = begin; i < end; i++)
		flow_count_parameters(work, i, touched, 1);
	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].parameter && !touched[p] && !(others && others[p])) {
			work->places[p].parameter = false;
			work->parameter_count--;
		}
	free(touched);
}

void flow_keep_touched(struct flow_work *work, uint32_t begin, uint32_t end)
{
	keep(work, begin, end, NULL);
}

/* Leaves what the update touches, and weights, which may be frozen. Anything else that it does not touch is a
 * constant: a mask, a table. */
static void keep_updated(struct flow_work *work, uint32_t begin, uint32_t end)
{
	bool *weights = find_weights(work);

	keep(work, begin, end, weights);
	free(weights);
}

/* From the first to behind the last step of [begin, end) that updates by its kernel's name. False: there is
 * none, or they touch no parameter. */
static bool find_named(struct flow_work *work, uint32_t begin, uint32_t end)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), parameters = 0, first = end,
		 last = begin;

	for (uint32_t i = begin; i < end; i++)
		if (is_update(work, i)) {
			parameters += flow_count_parameters(work, i, marks, 1);
			first = i < first ? i : first;
			last = i + 1;
		}
	free(marks);
	if (parameters == 0)
		return false;
	work->update_begin = first;
	work->update_end = last;
	return true;
}

/* Is there an update in [begin, end): a kernel of that name on parameters and their state, or on most
 * parameters? */
static bool has_update(const struct flow_work *work, uint32_t begin, uint32_t end, uint32_t *marks)
{
	bool *outside = touched_outside(work, begin, end), found = false;

	for (uint32_t i = begin; i < end && !found; i++) {
		const uint32_t parameters =
			is_update(work, i) ? flow_count_parameters(work, i, marks, i + 1) : 0;

		found = parameters > 0 &&
			(count_state(work, outside, i) > 0 || 2 * parameters > work->parameter_count);
	}
	free(outside);
	return found;
}

/* How many stretches without a library's computations have one. */
static uint32_t count_updates(const struct flow_work *work)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), count = 0, begin = 0;

	for (uint32_t i = 0; i <= work->step_count; i++)
		if (i == work->step_count || work->steps[i].computes) {
			count += i > begin && has_update(work, begin, i, marks);
			begin = i + 1;
		}
	free(marks);
	return count;
}

static bool find_update(struct flow_work *work)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), mark = 0;
	uint32_t best = 0, best_begin = 0, best_end = 0, begin = 0;

	for (uint32_t i = 0; i <= work->step_count; i++) {
		uint32_t covered = 0;

		if (i < work->step_count && !work->steps[i].computes)
			continue;
		mark++;
		for (uint32_t j = begin; j < i; j++)
			covered += flow_count_parameters(work, j, marks, mark);
		/* of two that touch the same the later: the first one clears gradients, or casts */
		if (covered > 0 && covered >= best) {
			best = covered;
			best_begin = begin;
			best_end = i;
		}
		begin = i + 1;
	}
	free(marks);
	if (3 * best >= work->parameter_count) {
		if (!find_named(work, best_begin, best_end))
			shorten(work, best_begin, best_end, best - best / 10);
		grow(work, best_begin, best_end);
		keep_updated(work, best_begin, best_end);
		/* what it alone touches is state, in memory that an earlier copy was made to */
		flow_keep_touched(work, 0, best_begin);
		return true;
	}
	for (uint32_t end = work->step_count, from = end; end > 0; end = from > 0 ? from - 1 : 0) {
		for (from = end; from > 0 && !work->steps[from - 1].computes;)
			from--;
		if (find_state(work, from, end))
			return true;
	}
	return false;
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

/* Where a library reads a block of parameters as one, its step touches all of them. */
static void touch_blocks(struct flow_work *work)
{
	struct flow_touch *touches = NULL;
	size_t count = 0, room = 0;

	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&work->assign->graph, i);
		const size_t first = count;

		for (uint32_t t = 0; t < work->steps[i].count; t++)
			*MEM_PUSH(touches, count, room) = *flow_touch_of(work, i, t);
		for (uint32_t j = 0; j < flow->access_count && work->steps[i].computes; j++)
			for (uint32_t p = 0; p < work->place_count && flow->accesses[j].mode == FLOW_READ;
				p++)
				if (work->places[p].parameter &&
					work->places[p].address > flow->accesses[j].address &&
					flow_holds(&flow->accesses[j], work->places[p].address))
					*MEM_PUSH(touches, count, room) =
						(struct flow_touch){p, 0, .read = true};
		work->steps[i].first = (uint32_t)first;
		work->steps[i].count = (uint32_t)(count - first);
	}
	free(work->touches);
	work->touches = touches;
	work->touch_count = count;
	work->touch_room = room;
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

bool flow_parameters(struct flow_work *work, const struct iteration_list *iterations)
{
	const size_t end = set_up_end(work, iterations->items[0].first_call);

	mark_input(work, iterations);
	if (work->shard_count) {
		work->parameter_count = mark_shards(work);
	} else {
		work->parameter_count = mark_copied(work, end, false);
		if (work->parameter_count < 8)
			work->parameter_count += mark_copied(work, end, true);
		if (!are_updated(work))
			work->parameter_count = mark_updated(work);
	}
	work->assign->list->updates = count_updates(work);
	if (work->parameter_count == 0 || !find_update(work))
		return false;
	touch_blocks(work);
	return work->parameter_count > 0;
}
