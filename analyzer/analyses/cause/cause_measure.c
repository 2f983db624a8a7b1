/* What a worker spends its iterations on: see cause_measure.h. */
#include "cause_measure.h"
#include "base/lookup.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES 50 /* iterations, evenly over the run: medians need no more */

static uint64_t hash_value(const struct timeline *timeline, enum pm_value type, uint64_t value, uint64_t hash)
{
	const struct timeline_descriptor *descriptor;

	switch (type) {
	case PM_VALUE_DESCRIPTOR:
		descriptor = &timeline->descriptors[value];
		hash = mem_hash(hash, descriptor->kind);
		for (uint32_t i = 0; i < descriptor->value_count; i++)
			hash = mem_hash(hash, (uint64_t)descriptor->values[i]);
		return hash;
	case PM_VALUE_INT:
	case PM_VALUE_BYTES:
	case PM_VALUE_TYPE:
	case PM_VALUE_SCALE:
		return mem_hash(hash, value);
	default:
		return hash;
	}
}

/* What a call does, without addresses: equal on all processes. */
static uint64_t key_of(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_operation *operation = &timeline->operations[number];
	const struct timeline_function *function = &timeline->functions[operation->function];
	uint64_t hash = mem_hash_text(MEM_HASH_START, function->name);

	for (uint32_t i = 0; i < operation->value_count; i++)
		hash = hash_value(timeline, function->labels[i].type, operation->values[i], hash);
	return hash;
}

static double elements_of(const struct timeline *timeline, uint64_t descriptor)
{
	int64_t dimensions[16];
	uint32_t count = flow_dimensions(timeline, descriptor, dimensions, 16);
	double elements = count > 0;

	for (uint32_t i = 0; i < count; i++)
		elements *= dimensions[i] > 0 ? (double)dimensions[i] : 1;
	return elements;
}

/* Sizes multiplied: products m n k; filters by the tensors they go over; else the largest tensor. */
static double work_of(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_operation *operation = &timeline->operations[number];
	const struct timeline_function *function = &timeline->functions[operation->function];
	double filter = 1, largest = 0;
	struct flow_product product;
	uint64_t value;

	if (flow_product(timeline, operation, &product)) {
		double batch = timeline_value(timeline, operation, "batch", &value) ? (double)value : 1;

		return (double)product.m * (double)product.n * (double)product.k * batch;
	}
	for (uint32_t i = 0; i < operation->value_count; i++) {
		double elements = function->labels[i].type == PM_VALUE_DESCRIPTOR
					  ? elements_of(timeline, operation->values[i])
					  : 0;

		if (elements > 0 && timeline->descriptors[operation->values[i]].kind == PM_DESCRIPTOR_FILTER)
			filter = elements;
		else if (elements > largest)
			largest = elements;
	}
	if (largest > 0)
		return filter * largest;
	if (timeline_value(timeline, operation, "grid_x", &value))
		return (double)value;
	if (timeline_value(timeline, operation, "n", &value) ||
		timeline_value(timeline, operation, "bytes", &value))
		return (double)value;
	return 1;
}

static int compare_cells(const void *left, const void *right)
{
	const struct cause_cell *a = left, *b = right;

	if (a->layer != b->layer)
		return a->layer < b->layer ? -1 : 1;
	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static double call_ns(const struct timeline *timeline, const struct timeline_call *call)
{
	if (call->interval_count == 0 && !(call->flags & TIMELINE_FLAGS_NOT_HOST))
		return (double)(call->end_ns - call->begin_ns);
	return timeline_device_ns(timeline, call);
}

struct making {
	const struct analysis *analysis;
	struct cause_measure *measure;
	struct arena *arena;
	struct lookup lookup; /* of the measure's cells */
};

/* The cell of a part of a role of an operation, perhaps a new one. */
static struct cause_cell *cell_of(struct making *making, uint32_t layer, enum phase phase, uint32_t operation)
{
	struct cause_measure *measure = making->measure;
	uint64_t hash = mem_hash(mem_hash(mem_hash(MEM_HASH_START, layer), operation), phase);
	struct cause_cell *cell;
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&making->lookup, hash, &at)) != LOOKUP_NONE;) {
		cell = &measure->cells[i];
		if (cell->layer == layer && cell->operation == operation && cell->phase == phase)
			return cell;
	}
	lookup_add(&making->lookup, hash, (uint32_t)measure->cell_count);
	cell = MEM_PUSH(measure->cells, measure->cell_count, measure->cell_room);
	*cell = (struct cause_cell){.layer = layer,
		.phase = phase,
		.key = key_of(&making->analysis->timeline, operation),
		.operation = operation,
		.work = work_of(&making->analysis->timeline, operation),
		.sums = arena_alloc(making->arena, measure->sample_count, sizeof(double))};
	return cell;
}

static void add_role(
	struct making *making, const struct layer_role *role, uint32_t operation, double ns, size_t sample)
{
	const struct layer_list *layers = &making->measure->worker->layers;
	static const struct layer_part none = {LAYER_NONE, 1};

	if (role->phase != PHASE_FORWARD && role->phase != PHASE_BACKWARD && role->phase != PHASE_UPDATE)
		return;
	for (uint32_t i = 0; i < role->part_count || i == 0; i++) {
		const struct layer_part *part =
			role->part_count ? &layers->parts[role->first_part + i] : &none;
		struct cause_cell *cell = cell_of(making, part->layer, role->phase, operation);

		cell->sums[sample] += ns * part->share;
		cell->count += part->share / (double)making->measure->sample_count;
	}
}

/* Before an iteration so many may not be done when it begins: what copies and logs. */
#define LEFT_OVER_CALLS 16

/* Part of [begin, end) that lies in spans, which are in order of their begins. */
static double time_within(const struct phase_spans *spans, int64_t begin_ns, int64_t end_ns)
{
	double sum_ns = 0;

	for (size_t i = 0; i < spans->count; i++) {
		int64_t from_ns = spans->items[i].begin_ns, to_ns = spans->items[i].end_ns;

		if (from_ns < begin_ns)
			from_ns = begin_ns;
		if (to_ns > end_ns)
			to_ns = end_ns;
		if (to_ns > from_ns) {
			sum_ns += (double)(to_ns - from_ns);
			begin_ns = to_ns; /* what overlaps counts once */
		}
	}
	return sum_ns;
}

/* Time in which the device had nothing to do, and the next call had not been made. */
struct idleness {
	int64_t busy_until_ns, first_ns; /* first: computation, after the input */
	int64_t input_ns;                /* when the framework's operations have it; INT64_MIN: not known */
	double late_ns;
	size_t late_count;
	struct phase_spans elsewhere; /* communication, and what is left of the iteration before */
};

static void follow_call(struct idleness *idle, const struct timeline *timeline,
	const struct timeline_call *call, enum phase phase)
{
	const bool computes = phase_facts[phase].does == PHASE_DOES_COMPUTING;
	int64_t begin_ns, end_ns = timeline_call_end(timeline, call);

	if (call->interval_count == 0 && (call->flags & (TIMELINE_FLAG_REPLAYED | TIMELINE_FLAG_UNTIMED)))
		return;
	begin_ns =
		call->interval_count ? timeline_interval(timeline, call->interval).begin_ns : call->begin_ns;
	if (phase == PHASE_COMMUNICATION)
		phase_add_span(&idle->elsewhere, begin_ns, end_ns, 0);
	if (computes && idle->first_ns == INT64_MAX && begin_ns >= idle->input_ns) {
		idle->first_ns = begin_ns;
	} else if (idle->first_ns != INT64_MAX && call->begin_ns > idle->busy_until_ns) {
		idle->late_ns += (double)(begin_ns - idle->busy_until_ns);
		idle->late_count++;
	}
	if (end_ns > idle->busy_until_ns)
		idle->busy_until_ns = end_ns;
}

/* TensorFlow computes what needs no input before it is there. */
static int64_t input_end(
	const struct timeline *timeline, const struct worker *worker, const struct iteration *item)
{
	for (size_t i = item->first_read; i < item->read_end; i++) {
		const struct timeline_call *read = TIMELINE_CALL(timeline, worker->reads[i]);

		if (timeline_function(timeline, read)->is_awaited)
			return read->end_ns;
	}
	return INT64_MIN;
}

/* What the device still does of the iteration before, as a copy to the host that began after its
 * computations. */
static void add_left_over(struct idleness *idle, const struct timeline *timeline, const struct worker *worker,
	const struct iteration *item)
{
	for (size_t i = item->first_call; i-- > 0 && item->first_call - i <= LEFT_OVER_CALLS;) {
		const struct timeline_call call = timeline_call(timeline, worker->calls[i]);
		const int64_t end_ns = call.interval_count ? timeline_call_end(timeline, &call) : 0;

		if (end_ns > item->begin_ns)
			phase_add_span(&idle->elsewhere, item->begin_ns, end_ns, 0);
	}
}

static void sample_iteration(struct making *making, size_t sample)
{
	struct cause_measure *measure = making->measure;
	const struct analysis_worker *worker = measure->worker;
	const struct analysis *analysis = making->analysis;
	const struct iteration *item = &worker->iterations.items[measure->samples[sample]];
	const struct phase_times *times = &worker->phases.times[measure->samples[sample]];
	struct idleness idle = {.busy_until_ns = item->begin_ns,
		.first_ns = INT64_MAX,
		.input_ns = input_end(&analysis->timeline, worker->worker, item)};
	struct analysis_walk at = analysis_walk(analysis, worker, measure->samples[sample]);

	add_left_over(&idle, &analysis->timeline, worker->worker, item);
	while (analysis_next(&at)) {
		add_role(making, at.role, at.call.operation, call_ns(&analysis->timeline, &at.call), sample);
		follow_call(&idle, &analysis->timeline, &at.call, at.role->phase);
	}
	if (idle.first_ns == INT64_MAX || idle.first_ns < item->begin_ns)
		idle.first_ns = item->begin_ns;
	/* After its last work a stage waits for the other stages. */
	if (item->end_ns > idle.busy_until_ns && analysis->stage_count == 1)
		idle.late_ns += (double)(item->end_ns - idle.busy_until_ns);
	measure->late_count += idle.late_count;
	measure->iteration.values[sample] = (double)times->iteration_ns;
	measure->compute.values[sample] = (double)times->compute_ns;
	measure->io.values[sample] = (double)times->busy_ns[PHASE_IO];
	measure->md.values[sample] = (double)times->busy_ns[PHASE_MD];
	measure->h2d.values[sample] = (double)times->busy_ns[PHASE_H2D];
	measure->host.values[sample] = idle.late_ns;
	measure->lead.values[sample] = (double)(idle.first_ns - item->begin_ns) -
				       time_within(&idle.elsewhere, item->begin_ns, idle.first_ns);
	free(idle.elsewhere.items);
}

static double median_of(struct arena *arena, const double *values, size_t count)
{
	double *copy = arena_alloc(arena, count, sizeof(*copy));

	memcpy(copy, values, count * sizeof(*copy));
	return analysis_statistics(copy, count).median;
}

/* Cells that are alike but for addresses become one. */
static void merge_cells(struct making *making)
{
	struct cause_measure *measure = making->measure;
	size_t kept = 0;

	if (measure->cell_count)
		qsort(measure->cells, measure->cell_count, sizeof(*measure->cells), compare_cells);
	for (size_t i = 0; i < measure->cell_count; i++) {
		struct cause_cell *cell = &measure->cells[i];

		if (kept == 0 || compare_cells(&measure->cells[kept - 1], cell) != 0) {
			measure->cells[kept++] = *cell;
			continue;
		}
		measure->cells[kept - 1].count += cell->count;
		for (size_t j = 0; j < measure->sample_count; j++)
			measure->cells[kept - 1].sums[j] += cell->sums[j];
	}
	measure->cell_count = kept;
	for (size_t i = 0; i < kept; i++)
		measure->cells[i].time_ns =
			median_of(making->arena, measure->cells[i].sums, measure->sample_count);
}

void cause_measure(const struct analysis *analysis, const struct analysis_worker *worker, struct arena *arena,
	struct cause_measure *measure)
{
	struct making making = {.analysis = analysis, .measure = measure, .arena = arena};
	size_t count = worker->used_count < MOST_SAMPLES ? worker->used_count : MOST_SAMPLES;

	memset(measure, 0, sizeof(*measure));
	measure->worker = worker;
	measure->sample_count = count;
	measure->samples = arena_alloc(arena, count, sizeof(*measure->samples));
	for (size_t i = 0; i < count; i++)
		measure->samples[i] = worker->used[i * worker->used_count / count];
#define ROOM(name) measure->name.values = arena_alloc(arena, count, sizeof(double));
	CAUSE_FIGURES(ROOM)
#undef ROOM
	for (size_t i = 0; i < count; i++)
		sample_iteration(&making, i);
#define MEDIAN(name) measure->name.median = median_of(arena, measure->name.values, count);
	CAUSE_FIGURES(MEDIAN)
#undef MEDIAN
	merge_cells(&making);
	lookup_free(&making.lookup);
}

void cause_measure_free(struct cause_measure *measure)
{
	free(measure->cells);
}

double cause_recurs(const struct cause_measure *measure, const struct cause_figure *figure, double ns)
{
	size_t count = 0;

	for (size_t i = 0; i < measure->sample_count; i++)
		count += figure->values[i] > ns;
	return (double)count / (double)measure->sample_count;
}
