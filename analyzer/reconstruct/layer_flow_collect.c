/*
 * The steps of an iteration, what each touches, and the addresses of it all.
 *
 * A launch's arguments may have words that no argument fills: there lies what an earlier call left, which is
 * an address now and then. The iterations that were sampled make the same launches, so a word is taken for an
 * argument where it is an address in all of them.
 */
#include "layer_flow.h"

#include <stdlib.h>

#define SAMPLES 8 /* iterations that are compared */

/* Iterations of which it is known what they touch, of the same calls one by one: where they begin among the
 * worker's calls. */
struct samples {
	const struct flow_work *work;
	size_t first_calls[SAMPLES], count;
	size_t call_count; /* of each */
};

static int by_address(const void *left, const void *right)
{
	const struct flow_place *a = left, *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

struct flow_place *flow_place_at(const struct flow_work *work, uint64_t address)
{
	const struct flow_place key = {.address = address};

	return work->place_count ? bsearch(&key, work->places, work->place_count, sizeof(key), by_address)
				 : NULL;
}

/* Is that word of a launch's arguments an address? */
static bool is_touched(const struct timeline *timeline, uint32_t call, uint16_t word)
{
	size_t count;
	const struct timeline_touch *touches = timeline_touches(timeline, call, &count);

	for (size_t i = 0; i < count; i++)
		if (touches[i].word == word)
			return true;
	return false;
}

/* Is it in every sample? `number`: the call's in its iteration. */
static bool is_argument(const struct samples *samples, size_t number, uint32_t operation, uint16_t word)
{
	const struct layer_assign *assign = samples->work->assign;

	for (size_t i = 0; i < samples->count && number < samples->call_count; i++) {
		const uint32_t call = assign->worker->calls[samples->first_calls[i] + number];

		if (assign->timeline->calls[call].operation == operation &&
			!is_touched(assign->timeline, call, word))
			return false;
	}
	return true;
}

typedef void visit(
	void *context, uint64_t address, uint64_t bytes, const struct flow_access *access, uint16_t word);

/* Calls f for each address that a call of the worker touches; `number`: the call's in its iteration. */
static void each_address(const struct samples *samples, uint32_t call, size_t number, visit *f, void *context)
{
	const struct layer_assign *assign = samples->work->assign;
	const uint32_t operation = assign->timeline->calls[call].operation;
	const struct flow *flow = &assign->model->flows[operation];
	size_t count;
	const struct timeline_touch *touches = timeline_touches(assign->timeline, call, &count);

	for (uint32_t i = 0; i < flow->access_count && flow->kind != PM_KIND_LAUNCH; i++)
		f(context, flow->accesses[i].address, flow->accesses[i].bytes, &flow->accesses[i], 0);
	for (size_t i = 0; i < count; i++)
		if (is_argument(samples, number, operation, touches[i].word))
			f(context, touches[i].address, 0, NULL, touches[i].word);
}

struct places {
	struct flow_place *items;
	size_t count, room;
};

static void add_place(
	void *context, uint64_t address, uint64_t bytes, const struct flow_access *access, uint16_t word)
{
	struct places *places = context;

	(void)bytes, (void)access, (void)word;
	*MEM_PUSH(places->items, places->count, places->room) = (struct flow_place){.address = address};
}

static void add_touch(
	void *context, uint64_t address, uint64_t bytes, const struct flow_access *access, uint16_t word)
{
	struct flow_work *work = context;
	struct flow_place *place = flow_place_at(work, address);

	(void)bytes;
	*MEM_PUSH(work->touches, work->touch_count, work->touch_room) =
		(struct flow_touch){(uint32_t)(place - work->places), word,
			!access || access->mode != FLOW_WRITE, !access || flow_writes(access)};
}

static bool is_computation(enum pm_kind kind)
{
	return kind == PM_KIND_FORWARD || kind == PM_KIND_BACKWARD || kind == PM_KIND_COMPUTE;
}

static void collect_places(struct flow_work *work, const struct samples *samples, const size_t *numbers)
{
	struct places places = {0};

	for (uint32_t i = 0; i < work->step_count; i++)
		each_address(samples, work->assign->graph.steps[i].call, numbers[i], add_place, &places);
	if (places.count)
		qsort(places.items, places.count, sizeof(*places.items), by_address);
	for (size_t i = 0; i < places.count; i++)
		if (i == 0 || places.items[i].address != places.items[work->place_count - 1].address) {
			places.items[work->place_count] = places.items[i];
			places.items[work->place_count].cast = FLOW_NOWHERE;
			places.items[work->place_count].gradient_of = FLOW_NOWHERE;
			places.items[work->place_count].group = work->place_count;
			work->place_count++;
		}
	work->places = places.items;
}

static void mark_persistent(
	void *context, uint64_t address, uint64_t bytes, const struct flow_access *access, uint16_t word)
{
	struct flow_place *place = flow_place_at(context, address);

	(void)bytes, (void)access, (void)word;
	if (place)
		place->persistent = true;
}

/* Is known of the program's own kernels in an iteration what they touch? */
static bool is_known(const struct layer_assign *assign, const struct iteration *iteration)
{
	const struct timeline *timeline = assign->timeline;
	size_t launches = 0, known = 0;

	for (size_t i = iteration->first_call; i < iteration->call_end; i++) {
		const struct timeline_call *call = &timeline->calls[assign->worker->calls[i]];

		if (assign->model->flows[call->operation].kind != PM_KIND_LAUNCH)
			continue;
		launches++;
		known += (call->flags & PM_FLAG_TOUCHES) != 0;
	}
	return launches > 0 && known * 20 >= launches * 19;
}

size_t layer_flow_iteration(const struct layer_assign *assign, const struct iteration_list *iterations)
{
	const struct iteration *items = iterations->items;

	if (iterations->count < 2 || is_known(assign, &items[iterations->model]))
		return iterations->model;
	for (size_t i = 1; i < iterations->count; i++)
		if (items[i].usual && is_known(assign, &items[i]) && is_known(assign, &items[i - 1]))
			return i;
	return iterations->model;
}

static void find_samples(struct samples *samples, const struct iteration_list *iterations)
{
	const struct layer_assign *assign = samples->work->assign;
	const struct iteration *of = &iterations->items[assign->iteration];

	samples->call_count = of->call_end - of->first_call;
	for (size_t i = 0; i < iterations->count && samples->count < SAMPLES; i++) {
		const struct iteration *item = &iterations->items[i];

		if (item->shape == of->shape && item->call_end - item->first_call == samples->call_count &&
			is_known(assign, item))
			samples->first_calls[samples->count++] = item->first_call;
	}
}

/* By step: its number among the iteration's calls. The caller frees it. */
static size_t *numbers_of(const struct layer_assign *assign, const struct iteration *iteration)
{
	size_t *numbers = mem_alloc(assign->graph.step_count, sizeof(*numbers)), at = iteration->first_call;

	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		while (at < iteration->call_end && assign->worker->calls[at] != assign->graph.steps[i].call)
			at++;
		numbers[i] = at - iteration->first_call;
	}
	return numbers;
}

bool flow_collect(struct flow_work *work, const struct iteration_list *iterations)
{
	const struct layer_assign *assign = work->assign;
	const struct iteration *other;
	struct samples samples = {.work = work};
	size_t *numbers;

	work->step_count = assign->graph.step_count;
	if (iterations->count < 2 || !is_known(assign, &iterations->items[assign->iteration]))
		return false;
	find_samples(&samples, iterations);
	numbers = numbers_of(assign, &iterations->items[assign->iteration]);
	collect_places(work, &samples, numbers);
	work->steps = mem_alloc(work->step_count, sizeof(*work->steps));
	for (uint32_t i = 0; i < work->step_count; i++) {
		const enum pm_kind kind = graph_flow(&assign->graph, i)->kind;

		work->steps[i].first = (uint32_t)work->touch_count;
		work->steps[i].computes = is_computation(kind);
		work->steps[i].launch = kind == PM_KIND_LAUNCH;
		each_address(&samples, assign->graph.steps[i].call, numbers[i], add_touch, work);
		work->steps[i].count = (uint32_t)work->touch_count - work->steps[i].first;
		for (uint32_t t = work->steps[i].first; t < work->touch_count; t++)
			work->places[work->touches[t].place].library_writes |=
				work->steps[i].computes && work->touches[t].written;
	}
	free(numbers);
	other = &iterations->items[assign->iteration ? assign->iteration - 1 : 1];
	for (size_t i = other->first_call; i < other->call_end; i++)
		each_address(
			&samples, assign->worker->calls[i], i - other->first_call, mark_persistent, work);
	return true;
}
