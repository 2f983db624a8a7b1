/*
 * Workers and their parameters: see worker.h.
 *
 * Whether an address is state is decided by counting: writes that keep the old value speak for it, writes
 * that make it anew speak against it, unless they are the copies of the set-up. Everything is done per
 * operation, of which there are few; the calls are walked once.
 */
#include "worker.h"
#include "parameter_version.h"
#include "worker_list.h"

#include <stdlib.h>
#include <string.h>

/* An address somebody writes or reads, with what was seen of it. */
struct point {
	uint32_t process;
	bool candidate; /* read as forward work reads parameters */
	bool state;
	uint64_t address;
	uint64_t keeps;
	uint64_t news_later;    /* made anew after it had been kept once */
	uint64_t news_computed; /* made anew by a computation */
};

struct points {
	struct point *items;
	size_t count, room;
};

/* Writes of an operation: points [first, first + count) of `written`. */
struct write_list {
	uint32_t first, count;
};

struct search {
	const struct timeline *timeline;
	const struct flow *flows;
	struct points points;
	struct write_list *lists; /* by operation */
	uint32_t *written;        /* 2 * point + (1 if kept) */
	size_t written_count, written_room;
};

static int compare_points(const void *left, const void *right)
{
	const struct point *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->candidate > b->candidate ? -1 : a->candidate < b->candidate;
}

static size_t find_point(const struct points *points, uint32_t process, uint64_t address)
{
	size_t low = 0, high = points->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct point *point = &points->items[middle];

		if (point->process < process || (point->process == process && point->address < address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* May forward work read a parameter through this access? */
static bool may_read_parameter(const struct flow *flow, const struct flow_access *access)
{
	if (access->mode != FLOW_READ)
		return false;
	if (access->type == PM_VALUE_WEIGHT)
		return true;
	if (access->type != PM_VALUE_READS)
		return false;
	if (flow->kind == PM_KIND_FORWARD)
		return strcmp(access->label, "bias_ptr") == 0;
	if (flow->shape != FLOW_PRODUCT && flow->shape != FLOW_SPREAD)
		return false;
	/* The vector of a product is data, or ones that sum up a matrix. */
	return flow->shape == FLOW_SPREAD || strstr(access->label, "bias") ||
	       flow_is_matrix(access->label, 'a') || flow_is_matrix(access->label, 'b');
}

static void list_points(struct search *search)
{
	struct points *points = &search->points;
	size_t kept = 0;

	for (size_t i = 0; i < search->timeline->operation_count; i++) {
		const struct flow *flow = &search->flows[i];

		for (uint32_t j = 0; j < flow->access_count; j++) {
			const struct flow_access *access = &flow->accesses[j];
			bool candidate = may_read_parameter(flow, access);

			if (!candidate && !(flow_writes(access) && flow->kind == PM_KIND_COMPUTE))
				continue;
			*MEM_PUSH(points->items, points->count, points->room) =
				(struct point){.process = search->timeline->operations[i].process,
					.address = access->address,
					.candidate = candidate};
		}
	}
	if (points->count)
		qsort(points->items, points->count, sizeof(*points->items), compare_points);
	for (size_t i = 0; i < points->count; i++)
		if (i == 0 || points->items[i].process != points->items[kept - 1].process ||
			points->items[i].address != points->items[kept - 1].address)
			points->items[kept++] = points->items[i];
	points->count = kept;
}

#define MOST_WRITTEN ((size_t)1 << 22)

static void list_writes(struct search *search)
{
	const struct points *points = &search->points;

	search->lists = mem_alloc(search->timeline->operation_count, sizeof(*search->lists));
	for (size_t i = 0; i < search->timeline->operation_count; i++) {
		const struct flow *flow = &search->flows[i];
		uint32_t process = search->timeline->operations[i].process;

		search->lists[i].first = (uint32_t)search->written_count;
		for (uint32_t j = 0; j < flow->access_count; j++) {
			const struct flow_access *access = &flow->accesses[j];

			if (!flow_writes(access))
				continue;
			for (size_t p = find_point(points, process, access->address);
				p < points->count && points->items[p].process == process &&
				points->items[p].address < access->address + access->bytes &&
				search->written_count < MOST_WRITTEN;
				p++)
				*MEM_PUSH(search->written, search->written_count, search->written_room) =
					(uint32_t)(2 * p + (access->mode == FLOW_KEEP));
		}
		search->lists[i].count = (uint32_t)search->written_count - search->lists[i].first;
	}
}

static void count_writes(struct search *search)
{
	const struct timeline *timeline = search->timeline;

	for (size_t i = 0; i < timeline->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, i);
		const struct write_list *list = &search->lists[call->operation];
		const struct flow *flow = &search->flows[call->operation];

		for (uint32_t j = 0; j < list->count; j++) {
			uint32_t written = search->written[list->first + j];
			struct point *point = &search->points.items[written / 2];

			if (written & 1) {
				/* An all-reduce in place keeps its operand, but says nothing about what that
				 * is. */
				point->keeps += flow->kind == PM_KIND_COMPUTE || flow->kind == PM_KIND_LAUNCH;
				continue;
			}
			point->news_later += point->keeps > 0;
			point->news_computed += flow->kind == PM_KIND_FORWARD ||
						flow->kind == PM_KIND_BACKWARD || flow->shape == FLOW_PRODUCT;
		}
	}
	for (size_t i = 0; i < search->points.count; i++) {
		struct point *point = &search->points.items[i];

		/* A checkpoint read back, or weights handed out once more, is no reason to doubt. */
		point->state = point->keeps > 0 && point->news_later * 50 <= point->keeps &&
			       point->news_computed * 50 <= point->keeps;
	}
}

static bool reads_state(const struct search *search, size_t operation, const struct flow_access *access)
{
	const struct points *points = &search->points;
	uint32_t process = search->timeline->operations[operation].process;
	size_t p = find_point(points, process, access->address);

	return access->mode == FLOW_READ && p < points->count && points->items[p].process == process &&
	       points->items[p].address < access->address + access->bytes && points->items[p].state;
}

/*
 * Copies of state are state: where one device keeps the model and hands it to the others, their parameters
 * are made anew in every iteration, from state.
 */
static void follow_copies(struct search *search)
{
	const struct timeline *timeline = search->timeline;
	struct points *points = &search->points;
	size_t *given = mem_alloc(points->count, sizeof(*given));
	bool *from_state = mem_alloc(timeline->operation_count, sizeof(*from_state)), any = false;

	for (size_t i = 0; i < timeline->operation_count; i++) {
		const struct flow *flow = &search->flows[i];

		if (flow->kind != PM_KIND_COPY || flow->access_count != 2 || search->lists[i].count == 0)
			continue;
		for (uint32_t j = 0; j < 2; j++)
			from_state[i] |= reads_state(search, i, &flow->accesses[j]);
		any |= from_state[i];
	}
	for (size_t i = 0; i < timeline->call_count && any; i++) {
		uint32_t operation = timeline_call(timeline, i).operation;
		const struct write_list *list = &search->lists[operation];

		for (uint32_t j = 0; j < list->count && from_state[operation]; j++)
			given[search->written[list->first + j] / 2]++;
	}
	for (size_t i = 0; i < points->count; i++) {
		struct point *point = &points->items[i];

		/* Twice and more: once is the set-up. */
		if (!point->state && given[i] > 2 && point->news_computed == 0 && point->keeps == 0)
			point->state = true;
	}
	free(from_state);
	free(given);
}

/* Where no update is recognised: what products read and nothing ever writes but the set-up. */
static void settle_opaque(struct search *search)
{
	const struct timeline *timeline = search->timeline;
	uint32_t *writes = mem_alloc(search->points.count, sizeof(*writes));

	for (size_t i = 0; i < timeline->call_count; i++) {
		const struct write_list *list = &search->lists[timeline_call(timeline, i).operation];

		for (uint32_t j = 0; j < list->count; j++)
			writes[search->written[list->first + j] / 2]++;
	}
	for (size_t i = 0; i < search->points.count; i++) {
		struct point *point = &search->points.items[i];

		point->state = point->candidate && writes[i] <= 2;
	}
	free(writes);
}

/* Work on state, not its first values: computation, or a copy of state from another device. */
static bool writes_state(const struct search *search, size_t operation)
{
	const struct flow *flow = &search->flows[operation];
	const struct write_list *list = &search->lists[operation];
	bool state = false, from_state = flow->kind == PM_KIND_COMPUTE;

	for (uint32_t i = 0; i < list->count; i++)
		state |= search->points.items[search->written[list->first + i] / 2].state;
	for (uint32_t i = 0; i < flow->access_count && flow->kind == PM_KIND_COPY; i++)
		from_state |= reads_state(search, operation, &flow->accesses[i]);
	return state && from_state;
}

/* From the device's memory to the same device's. */
static bool is_copy_within(const struct timeline *timeline, const struct flow *flow, size_t operation)
{
	return flow->kind == PM_KIND_COPY &&
	       timeline_copies_within(timeline, &timeline->operations[operation]);
}

static void set_roles(struct worker_model *model, struct search *search)
{
	const struct timeline *timeline = search->timeline;
	uint32_t *numbers = mem_alloc(search->points.count, sizeof(*numbers));
	size_t count = 0, touched_count = 0, touched_room = 0;
	uint32_t *touched = NULL;

	/* First which operations write state; only what does not may read parameters. */
	model->roles = arena_alloc(&model->arena, timeline->operation_count, sizeof(*model->roles));
	for (size_t i = 0; i < timeline->operation_count; i++) {
		const struct flow *flow = &search->flows[i];
		struct worker_role *role = &model->roles[i];

		if (worker_is_core(flow->kind) ||
			timeline_is_launch(&timeline->functions[timeline->operations[i].function]))
			role->flags |= WORKER_CORE;
		if (flow->kind == PM_KIND_BACKWARD)
			role->flags |= WORKER_BACKWARD;
		if (flow->kind == PM_KIND_SET || is_copy_within(timeline, flow, i))
			role->flags |= WORKER_BESIDE;
		if (!model->opaque && writes_state(search, i))
			role->flags |= WORKER_STATE;
	}
	model->parameters = arena_alloc(&model->arena, search->points.count, sizeof(*model->parameters));
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < timeline->operation_count; i++) {
			const struct flow *flow = &search->flows[i];
			struct worker_role *role = &model->roles[i];
			uint32_t process = timeline->operations[i].process;

			if (pass == 1)
				role->first_parameter = (uint32_t)touched_count;
			for (uint32_t j = 0; j < flow->access_count && !(role->flags & WORKER_STATE); j++) {
				const struct flow_access *access = &flow->accesses[j];
				size_t p = find_point(&search->points, process, access->address);

				if (!may_read_parameter(flow, access) || p >= search->points.count ||
					search->points.items[p].process != process ||
					search->points.items[p].address != access->address ||
					!search->points.items[p].state)
					continue;
				if (pass == 0) {
					if (!numbers[p]) {
						model->parameters[count] =
							(struct worker_parameter){process, access->address};
						numbers[p] = (uint32_t)++count;
					}
					role->flags |= WORKER_READS;
					continue;
				}
				*MEM_PUSH(touched, touched_count, touched_room) = numbers[p] - 1;
				role->parameter_count++;
			}
			for (uint32_t j = 0; j < search->lists[i].count && pass == 1; j++) {
				uint32_t p = search->written[search->lists[i].first + j] / 2;

				if (!(role->flags & WORKER_STATE) || !numbers[p])
					continue;
				role->flags |= WORKER_UPDATES;
				*MEM_PUSH(touched, touched_count, touched_room) = numbers[p] - 1;
				role->written_count++;
			}
		}
	model->parameter_count = count;
	model->touched = arena_alloc(&model->arena, touched_count, sizeof(*touched));
	if (touched_count)
		memcpy(model->touched, touched, touched_count * sizeof(*touched));
	free(touched);
	free(numbers);
}

static void count_all(struct search *search)
{
	list_points(search);
	list_writes(search);
	count_writes(search);
}

static void free_search(struct search *search)
{
	free(search->points.items);
	free(search->lists);
	free(search->written);
	search->points = (struct points){0};
	search->lists = NULL;
	search->written = NULL;
	search->written_count = search->written_room = 0;
}

/* Is there state in the stretch that is updated in place, and nothing that is computed anew? */
static bool is_updated(const void *context, uint32_t process, uint64_t address, uint64_t bytes)
{
	const struct points *points = &((const struct search *)context)->points;
	bool keeps = false;

	for (size_t p = find_point(points, process, address);
		p < points->count && points->items[p].process == process &&
		points->items[p].address < address + bytes;
		p++) {
		if (points->items[p].news_computed)
			return false;
		keeps |= points->items[p].keeps > 0;
	}
	return keeps;
}

static void find_parameters(struct worker_model *model)
{
	struct search search = {.timeline = model->timeline, .flows = model->flows};
	bool any = false;

	count_all(&search);
	/* Of parameters that are kept in several versions, all are the same. */
	if (version_merge(model->timeline, model->flows, is_updated, &search)) {
		free_search(&search);
		count_all(&search);
	}
	follow_copies(&search);
	for (size_t i = 0; i < search.points.count; i++)
		any |= search.points.items[i].state && search.points.items[i].candidate;
	if (!any)
		settle_opaque(&search);
	model->opaque = !any;
	set_roles(model, &search);
	free_search(&search);
}

void worker_init(struct worker_model *model, const struct timeline *timeline)
{
	memset(model, 0, sizeof(*model));
	model->timeline = timeline;
	model->flows = flow_list(timeline, &model->arena);
	find_parameters(model);
	worker_list(model);
}

void worker_free(struct worker_model *model)
{
	for (size_t i = 0; i < model->worker_count; i++) {
		free(model->workers[i].calls);
		free(model->workers[i].reads);
	}
	free(model->workers);
	arena_free(&model->arena);
	memset(model, 0, sizeof(*model));
}

size_t worker_find(const struct timeline *timeline, const uint32_t *calls, size_t count, int64_t ns)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (timeline_call(timeline, calls[middle]).begin_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
