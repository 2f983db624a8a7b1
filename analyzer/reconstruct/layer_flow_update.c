/*
 * Where the update is: of the stretches without computations of a library the one that touches most
 * parameters, or parameters and the optimizer's state together.
 */
#include "layer_flow.h"
#include "sequence.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

/* Gradients are clipped by the kernels that optimizers use, and right before the update; but on no parameter.
 */
static bool clips(const struct timeline_operation *operation)
{
	return operation->innermost && strstr(operation->innermost, "(clip_grad.py");
}

bool flow_is_update(const struct flow_work *work, uint32_t step)
{
	const struct timeline *timeline = work->assign->timeline;
	const struct timeline_operation *operation =
		&timeline->operations[work->assign->graph.steps[step].operation];

	return work->steps[step].launch && (sequence_label(timeline, operation) & SEQUENCE_UPDATE);
}

bool flow_changes_parameters(const struct flow_work *work, uint32_t step)
{
	return flow_is_update(work, step) &&
	       !clips(&work->assign->timeline->operations[work->assign->graph.steps[step].operation]);
}

bool flow_is_of_model(const struct flow_work *work, uint32_t step)
{
	const struct timeline *timeline = work->assign->timeline;

	return work->steps[step].computes &&
	       !(sequence_label(timeline, &timeline->operations[work->assign->graph.steps[step].operation]) &
		       SEQUENCE_UPDATE);
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

/* Is the step's kernel launched by a step of [begin, end)? */
static bool is_kernel_of(const struct flow_work *work, uint32_t step, uint32_t begin, uint32_t end)
{
	const uint64_t kernel = flow_kernel(work, step);

	for (uint32_t i = begin; i < end && kernel; i++)
		if (work->steps[i].launch && flow_kernel(work, i) == kernel)
			return true;
	return false;
}

/* The window has most parameters: the launches of its kernels beside it that touch others belong to it too.
 */
static void widen(struct flow_work *work, uint32_t begin, uint32_t end)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks));
	uint32_t first = work->update_end, behind = work->update_begin;

	for (uint32_t i = begin; i < end; i++)
		if (flow_count_parameters(work, i, marks, i + 1) > 0 &&
			is_kernel_of(work, i, work->update_begin, work->update_end)) {
			first = i < first ? i : first;
			behind = i + 1;
		}
	if (first < behind) {
		work->update_begin = first < work->update_begin ? first : work->update_begin;
		work->update_end = behind > work->update_end ? behind : work->update_end;
	}
	free(marks);
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
		if (i >= work->update_end && i - work->update_end < NEAR_CALLS &&
			count_state(work, outside, i) > 0)
			work->update_end = i + 1;
	for (uint32_t i = end; i-- > begin;) {
		const uint32_t state = count_state(work, outside, i);
		const uint32_t parameters = flow_count_parameters(work, i, marks, i + 1);
		const uint32_t most = state > parameters ? state : parameters;

		if (i < work->update_begin && work->update_begin - i <= NEAR_CALLS &&
			((state > 0 && is_kernel_of(work, i, work->update_begin, work->update_end)) ||
				(work->steps[i].launch && most > 1 && 3 * most >= work->parameter_count)))
			work->update_begin = i;
	}
	free(marks);
	free(outside);
}

/* Of parameters in one block the update touches the start alone: it works on a parameter and on state at
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

/* The place of what a computation has as `label`, if it is a parameter so far; or FLOW_NOWHERE. */
static uint32_t operand(const struct flow_work *work, uint32_t step, const char *label)
{
	const struct flow_access *access = layer_labelled(graph_flow(&work->assign->graph, step), label);
	const struct flow_place *place = access ? flow_place_at(work, access->address) : NULL;

	return place && place->parameter ? (uint32_t)(place - work->places) : FLOW_NOWHERE;
}

/*
 * By place: is it data that stays where it is, as a batch that is copied once and used in each iteration?
 * What is multiplied by a parameter that is updated, and what goes into a convolution or a norm. The caller
 * frees it.
 */
static bool *find_data(const struct flow_work *work, const uint32_t *updated)
{
	static const char *const pairs[][2] = {
		{"a_ptr", "b_ptr"}, {"b_ptr", "a_ptr"}, {"a_ptr", "x_ptr"}, {"x_ptr", "a_ptr"}};
	bool *data = mem_alloc(work->place_count, sizeof(*data));

	for (uint32_t i = 0; i < work->step_count; i++) {
		const bool product = graph_flow(&work->assign->graph, i)->shape == FLOW_PRODUCT;
		const uint32_t x = operand(work, i, "x_ptr");

		if (!work->steps[i].computes)
			continue;
		if (x != FLOW_NOWHERE && !product)
			data[x] = true;
		for (size_t k = 0; k < sizeof(pairs) / sizeof(*pairs) && product; k++) {
			const uint32_t one = operand(work, i, pairs[k][0]),
				       other = operand(work, i, pairs[k][1]);

			if (one != FLOW_NOWHERE && other != FLOW_NOWHERE && !updated[one] && updated[other])
				data[one] = true;
		}
	}
	return data;
}

void flow_keep_in(struct flow_work *work, const struct flow_range *ranges, size_t count, const bool *others)
{
	uint32_t *touched = mem_alloc(work->place_count, sizeof(*touched));
	bool *data;

	for (size_t r = 0; r < count; r++)
		for (uint32_t i = ranges[r].begin; i < ranges[r].end; i++)
			flow_count_parameters(work, i, touched, 1);
	data = others ? find_data(work, touched) : NULL;
	for (uint32_t p = 0; p < work->place_count; p++)
		if (work->places[p].parameter && !touched[p] && !(others && others[p] && !data[p])) {
			work->places[p].parameter = false;
			work->parameter_count--;
		}
	free(data);
	free(touched);
}

void flow_keep_touched(struct flow_work *work, uint32_t begin, uint32_t end)
{
	flow_keep_in(work, &(struct flow_range){begin, end}, 1, NULL);
}

/* Leaves what the update touches, and weights, which may be frozen. Anything else that it does not touch is a
 * constant: a mask, a table. */
static void keep_updated(struct flow_work *work, uint32_t begin, uint32_t end)
{
	bool *weights = flow_find_weights(work);

	flow_keep_in(work, &(struct flow_range){begin, end}, 1, weights);
	free(weights);
}

/* Is what the update touches the start of a block that others are in? That the update does not touch those
 * says nothing of them. */
static bool updates_block(const struct flow_work *work)
{
	for (uint32_t i = work->update_begin; i < work->update_end; i++)
		for (uint32_t t = 0; t < work->steps[i].count; t++) {
			const uint32_t p = flow_touch_of(work, i, t)->place;
			const struct flow_place *place = &work->places[p];

			if (place->parameter && p + 1 < work->place_count &&
				place[1].address - place->address < place->bytes)
				return true;
		}
	return false;
}

/* From the first to after the last step of [begin, end) that updates by its kernel's name. False: there is
 * none, or, if they must touch parameters, they touch none. */
static bool find_named(struct flow_work *work, uint32_t begin, uint32_t end, bool touching)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), parameters = 0, first = end,
		 last = begin;

	for (uint32_t i = begin; i < end; i++)
		if (flow_is_update(work, i)) {
			parameters += flow_count_parameters(work, i, marks, 1);
			first = i < first ? i : first;
			last = i + 1;
		}
	free(marks);
	if (first == end || (touching && parameters == 0))
		return false;
	work->update_begin = first;
	work->update_end = last;
	return true;
}

/* Clipping by that name, in front of an update that has none, is part of it. */
static void begin_named(struct flow_work *work, uint32_t begin)
{
	for (uint32_t i = begin; i < work->update_begin; i++)
		if (flow_is_update(work, i))
			work->update_begin = i;
}

/* Is there an update in [begin, end): a kernel of that name on parameters and their state, or on most
 * parameters? */
static bool has_update(const struct flow_work *work, uint32_t begin, uint32_t end, uint32_t *marks)
{
	bool *outside = touched_outside(work, begin, end), found = false;

	for (uint32_t i = begin; i < end && !found; i++) {
		const uint32_t parameters =
			flow_is_update(work, i) ? flow_count_parameters(work, i, marks, i + 1) : 0;

		found = parameters > 0 &&
			(count_state(work, outside, i) > 0 || 2 * parameters > work->parameter_count);
	}
	free(outside);
	return found;
}

uint32_t flow_count_updates(const struct flow_work *work)
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

bool flow_find_named_update(struct flow_work *work)
{
	uint32_t begin = work->step_count;

	while (begin > 0 && !work->steps[begin - 1].computes)
		begin--;
	return find_named(work, begin, work->step_count, false);
}

bool flow_find_update(struct flow_work *work)
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
		if (!find_named(work, best_begin, best_end, true)) {
			shorten(work, best_begin, best_end, best - best / 10);
			widen(work, best_begin, best_end);
			begin_named(work, best_begin);
		}
		grow(work, best_begin, best_end);
		keep_updated(work, best_begin, best_end);
		/* what it alone touches is state, in memory that an earlier copy was made to */
		flow_keep_touched(work, 0, best_begin);
		return true;
	}
	for (uint32_t end = work->step_count, from = end; end > 0; end = from > 0 ? from - 1 : 0) {
		for (from = end; from > 0 && !work->steps[from - 1].computes;)
			from--;
		if (!find_state(work, from, end))
			continue;
		if (!updates_block(work))
			keep_updated(work, work->update_begin, work->update_end);
		return true;
	}
	return false;
}

/* How many parameters launches of [begin, end) touch that are called updates. */
static uint32_t count_named(const struct flow_work *work, uint32_t begin, uint32_t end)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), count = 0;

	for (uint32_t i = begin; i < end; i++)
		if (flow_is_update(work, i))
			count += flow_count_parameters(work, i, marks, 1);
	free(marks);
	return count;
}

/* Sets the update to launches of the kernel of step `first` in [first, end), from the first to the last. How
 * many parameters they touch. */
static uint32_t take_kernel(struct flow_work *work, uint32_t first, uint32_t end)
{
	uint32_t *marks = mem_alloc(work->place_count, sizeof(*marks)), count = 0;

	for (uint32_t i = first; i < end; i++)
		if (work->steps[i].launch && flow_kernel(work, i) == flow_kernel(work, first)) {
			count += flow_count_parameters(work, i, marks, 1);
			work->update_end = i + 1;
		}
	work->update_begin = first;
	free(marks);
	return count;
}

/* Launches of one kernel that touches most parameters in [begin, end), whatever it is called. False: there is
 * none. */
static bool find_unnamed(struct flow_work *work, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++)
		if (work->steps[i].launch && !is_kernel_of(work, i, begin, i) &&
			2 * take_kernel(work, i, end) > work->parameter_count)
			return true;
	return false;
}

bool flow_find_update_in(struct flow_work *work, uint32_t begin, uint32_t end)
{
	if (count_named(work, begin, end) < 2)
		return find_unnamed(work, begin, end);
	find_named(work, begin, end, true);
	grow(work, begin, end);
	return true;
}
