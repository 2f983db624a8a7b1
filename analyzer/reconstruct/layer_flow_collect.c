/*
 * The steps of an iteration, what each touches, and the addresses of it all.
 */
#include "layer_flow.h"

#include <stdlib.h>

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

typedef void visit(
	void *context, uint64_t address, uint64_t bytes, const struct flow_access *access, uint16_t word);

/* How a launch accesses the address at `number` of its arguments; NULL: it may read and write it. */
static const struct flow_access *launch_access(enum flow_order order, size_t number)
{
	static const struct flow_access result = {.mode = FLOW_WRITE}, source = {.mode = FLOW_READ};

	if (order == FLOW_ANY_ORDER)
		return NULL;
	return (number == 0) == (order == FLOW_RESULT_FIRST) ? &result : &source;
}

/* Calls f for each address that a call of the worker touches. */
static void each_address(const struct layer_assign *assign, struct flow_samples *samples, uint32_t call,
	visit *f, void *context)
{
	const uint32_t operation = timeline_call(assign->timeline, call).operation;
	const struct flow *flow = &assign->model->flows[operation];
	const struct timeline_touch *touches;
	size_t count;

	for (uint32_t i = 0; i < flow->access_count && flow->kind != PM_KIND_LAUNCH; i++)
		f(context, flow->accesses[i].address, flow->accesses[i].bytes, &flow->accesses[i], 0);
	if (flow->kind != PM_KIND_LAUNCH)
		return; /* a copy's are a table, which says what another call touches */
	touches = flow_arguments(samples, call, &count);
	for (size_t i = 0; i < count; i++)
		f(context, touches[i].address, 0, launch_access(flow_order(samples, operation), i),
			touches[i].word);
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

static void collect_places(struct flow_work *work, struct flow_samples *samples)
{
	struct places places = {0};

	for (uint32_t i = 0; i < work->step_count; i++)
		each_address(work->assign, samples, work->assign->graph.steps[i].call, add_place, &places);
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

size_t layer_flow_iteration(const struct layer_assign *assign, const struct iteration_list *iterations)
{
	const struct iteration *items = iterations->items;

	if (iterations->count < 2 || flow_is_known(assign, &items[iterations->model]))
		return iterations->model;
	for (size_t i = 1; i < iterations->count; i++)
		if (items[i].usual && flow_is_known(assign, &items[i]) &&
			flow_is_known(assign, &items[i - 1]))
			return i;
	return iterations->model;
}

/* Notes which places another iteration touches. */
static void find_persistent(struct flow_work *work, const struct iteration_list *iterations)
{
	const struct layer_assign *assign = work->assign;
	const size_t other = assign->iteration ? assign->iteration - 1 : 1;
	struct flow_samples *samples = flow_samples(assign, iterations, other);

	for (size_t i = iterations->items[other].first_call; i < iterations->items[other].call_end; i++)
		each_address(assign, samples, assign->worker->calls[i], mark_persistent, work);
	flow_samples_free(samples);
}

/* Does a library's function do what programs have kernels of their own for, as axpy that updates a parameter:
 * change numbers in place, by as many others or by none? */
static bool changes_in_place(const struct flow *flow)
{
	bool changes = false, same = flow->shape == FLOW_ELEMENTWISE && flow->access_count <= 2;

	for (uint32_t i = 0; i < flow->access_count && same; i++) {
		changes |= flow->accesses[i].mode == FLOW_KEEP;
		same = flow->accesses[i].bytes == flow->accesses[0].bytes;
	}
	return changes && same;
}

RULE_SEQUENCE(gathers, struct flow_work, context->assign->rule)

static const struct gathers_rule gathers_rules[] = {{RULE_SHARDS, flow_gather}};

bool flow_collect(struct flow_work *work, const struct iteration_list *iterations)
{
	const struct layer_assign *assign = work->assign;
	struct flow_samples *samples;

	work->step_count = assign->graph.step_count;
	if (iterations->count < 2 || !flow_is_known(assign, &iterations->items[assign->iteration]))
		return false;
	samples = flow_samples(assign, iterations, assign->iteration);
	collect_places(work, samples);
	work->steps = mem_alloc(work->step_count, sizeof(*work->steps));
	for (uint32_t i = 0; i < work->step_count; i++) {
		const struct flow *flow = graph_flow(&assign->graph, i);
		const bool in_place = changes_in_place(flow);

		work->steps[i].first = (uint32_t)work->touch_count;
		work->steps[i].computes = is_computation(flow->kind) && !in_place;
		work->steps[i].launch = flow->kind == PM_KIND_LAUNCH || in_place;
		each_address(assign, samples, assign->graph.steps[i].call, add_touch, work);
		work->steps[i].count = (uint32_t)work->touch_count - work->steps[i].first;
		for (uint32_t t = work->steps[i].first; t < work->touch_count; t++)
			work->places[work->touches[t].place].library_writes |=
				work->steps[i].computes && work->touches[t].written;
	}
	flow_samples_free(samples);
	find_persistent(work, iterations);
	gathers_each(RULE_TABLE(gathers_rules), work);
	return true;
}

uint64_t flow_kernel(const struct flow_work *work, uint32_t step)
{
	const struct timeline *timeline = work->assign->timeline;
	uint64_t kernel = 0;

	timeline_value(timeline, &timeline->operations[work->assign->graph.steps[step].operation], "kernel",
		&kernel);
	return kernel;
}
