/*
 * Work and times of a run's layers against the roof: see roofline.h. Each iteration of each GPU is gone
 * through once; what a call is goes to the cells of its layers and directions, and to that of its kind.
 */
#include "roofline.h"
#include "operator_find.h"
#include "reconstruct/run.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const roofline_direction_keys[ROOFLINE_DIRECTION_COUNT] = {
#define ROOFLINE_ITEM(name, key, text) key,
	ROOFLINE_DIRECTIONS(ROOFLINE_ITEM)
#undef ROOFLINE_ITEM
};

const char *const roofline_direction_titles[ROOFLINE_DIRECTION_COUNT] = {
#define ROOFLINE_ITEM(name, key, text) text,
	ROOFLINE_DIRECTIONS(ROOFLINE_ITEM)
#undef ROOFLINE_ITEM
};

const char *const roofline_bound_keys[] = {"", "compute", "memory", "latency"};

/* Sums over the iterations, and the time of each. */
struct cell {
	double calls, kernels, flops, bytes, flops_ns, bytes_ns, roof_ns, unknown_ns;
	double kind_weight[WORK_KIND_COUNT], type_flops[WORK_TYPE_COUNT];
	double now_ns; /* of the iteration that is being added up */
	bool untimed;  /* of some call the device's time is not known */
	double *times;
	size_t time_count, time_room;
};

struct gather {
	const struct analysis *analysis;
	const struct roofline_options *options;
	struct operator_finder *operators; /* of traces that have no calls of libraries; NULL */
	struct work *works; /* by operation; those not asked for yet have no entry in `found` */
	bool *found;
	const struct layer **layers; /* of all workers, each once; cells[l * DIRECTIONS + direction] */
	size_t layer_count, layer_room;
	struct cell *cells;
	struct cell kinds[WORK_KIND_COUNT];
	bool kind_links[WORK_KIND_COUNT];
	bool no_peak; /* of some GPU */
	double shortest_ns;
	/* sums over iterations of all workers */
	double model_flops, model_ns, performed_flops, roof_ns;
	size_t iteration_count;
};

/* ---- names ---- */

static size_t layer_place(struct gather *gather, const struct layer *layer)
{
	size_t place = 0;

	while (place < gather->layer_count && strcmp(gather->layers[place]->name, layer->name) != 0)
		place++;
	if (place == gather->layer_count)
		*MEM_PUSH(gather->layers, gather->layer_count, gather->layer_room) = layer;
	return place;
}

/* For each worker the places of its layers; the caller frees both. */
static size_t **find_layers(struct gather *gather)
{
	size_t **places = mem_alloc(gather->analysis->worker_count, sizeof(*places));

	for (size_t w = 0; w < gather->analysis->worker_count; w++) {
		const struct layer_list *layers = &gather->analysis->workers[w].layers;

		places[w] = mem_alloc(layers->count, sizeof(**places));
		for (size_t l = 0; l < layers->count; l++)
			places[w][l] = layer_place(gather, &layers->items[l]);
	}
	return places;
}

/* ---- one call ---- */

static const struct work *work_at(struct gather *gather, uint32_t operation)
{
	if (!gather->found[operation]) {
		gather->works[operation] = work_of(&gather->analysis->timeline, operation);
		gather->found[operation] = true;
	}
	return &gather->works[operation];
}

/* The device's time of a call, with its kernels; negative: not known. */
static double call_time(const struct timeline *timeline, const struct timeline_call *call)
{
	return call->interval_count ? timeline_device_ns(timeline, call) : -1;
}

/* A call's share of work with the time of that share; time < 0: not known. */
static void roofline_add(struct cell *cell, const struct work *work, const struct device_peak *peak,
	double share, double time_ns, uint32_t kernels)
{
	double flops_ns = peak->source ? share * work->flops / peak->flops[work->type] * 1e9 : 0;
	double bytes_ns = peak->source && !work->link ? share * work->bytes / peak->bandwidth * 1e9 : 0;

	cell->calls += share;
	if (time_ns < 0)
		cell->untimed = true;
	if (!work->known) {
		cell->unknown_ns += time_ns > 0 ? share * time_ns : 0;
		return;
	}
	cell->kernels += share * kernels;
	cell->now_ns += time_ns > 0 ? share * time_ns : 0;
	cell->flops += share * work->flops;
	cell->bytes += share * work->bytes;
	cell->flops_ns += flops_ns;
	cell->bytes_ns += bytes_ns;
	cell->roof_ns += flops_ns > bytes_ns ? flops_ns : bytes_ns;
	cell->kind_weight[work->kind] += share * (work->bytes + work->flops);
	cell->type_flops[work->type] += share * work->flops;
}

static enum roofline_direction direction_of(struct gather *gather, const struct layer_role *role,
	const struct layer *layer, const struct work *work, uint32_t operation)
{
	if (role->phase == PHASE_UPDATE)
		return ROOFLINE_UPDATE;
	if (role->phase == PHASE_FORWARD)
		return ROOFLINE_FORWARD;
	if (role->again)
		return ROOFLINE_AGAIN;
	if (work->gradient == WORK_GRADIENT_WEIGHT)
		return ROOFLINE_WEIGHT;
	/* a product with a parameter gives the data's gradient, another that of a parameter, where there is
	 * one */
	if ((work->kind == WORK_PRODUCT && work->gradient == WORK_GRADIENT_UNKNOWN) ||
		work->kind == WORK_REDUCTION)
		return gather->analysis->model.roles[operation].parameter_count > 0 ||
				       layer->parameter_bytes == 0
			       ? ROOFLINE_DATA
			       : ROOFLINE_WEIGHT;
	return ROOFLINE_DATA;
}

static void add_call(struct gather *gather, const struct analysis_worker *worker, const size_t *places,
	const struct device_peak *peak, const struct timeline_call *call, const struct layer_role *role)
{
	const struct timeline *timeline = &gather->analysis->timeline;
	const struct timeline_process *process = &timeline->processes[worker->worker->process];
	const struct work *work = work_at(gather, call->operation);
	struct operator_found found;
	bool counts =
		role->phase == PHASE_FORWARD || role->phase == PHASE_BACKWARD || role->phase == PHASE_UPDATE;
	double time_ns = call_time(timeline, call);

	if (work->kind == WORK_OTHER && work->known)
		return;
	if (!work->known && call->interval_count && operator_find(gather->operators, process, call, &found))
		work = &found.work;
	roofline_add(&gather->kinds[work->kind], work, peak, 1, time_ns, call->interval_count);
	gather->kind_links[work->kind] |= work->link;
	if (!counts)
		return;
	for (uint32_t i = 0;
		i < call->interval_count && timeline_function(timeline, call)->kind != PM_KIND_COMM; i++) {
		const struct timeline_interval *interval = TIMELINE_INTERVAL(timeline, call->interval + i);
		double ns = (double)(interval->end_ns - interval->begin_ns);

		if (ns > 0 && ns < gather->shortest_ns)
			gather->shortest_ns = ns;
	}
	gather->performed_flops += work->flops;
	if (role->phase != PHASE_UPDATE && !role->again) {
		gather->model_flops += work->flops;
		gather->model_ns += peak->source ? work->flops / peak->flops[work->type] * 1e9 : 0;
	}
	if (peak->source)
		gather->roof_ns +=
			fmax(work->flops / peak->flops[work->type], work->bytes / peak->bandwidth) * 1e9;
	for (uint32_t i = 0; i < role->part_count; i++) {
		const struct layer_part *part = &worker->layers.parts[role->first_part + i];
		size_t direction =
			direction_of(gather, role, &worker->layers.items[part->layer], work, call->operation);

		roofline_add(&gather->cells[places[part->layer] * ROOFLINE_DIRECTION_COUNT + direction], work,
			peak, part->share, time_ns, call->interval_count);
	}
}

/* ---- iterations ---- */

static void close_cell(struct cell *cell)
{
	*MEM_PUSH(cell->times, cell->time_count, cell->time_room) = cell->now_ns;
	cell->now_ns = 0;
}

static void add_iteration(struct gather *gather, const struct analysis_worker *worker, const size_t *places,
	const struct device_peak *peak, size_t iteration)
{
	struct analysis_walk at = analysis_walk(gather->analysis, worker, iteration);

	while (analysis_next(&at))
		add_call(gather, worker, places, peak, &at.call, at.role);
	for (size_t l = 0; l < worker->layers.count; l++)
		for (size_t d = 0; d < ROOFLINE_DIRECTION_COUNT; d++)
			close_cell(&gather->cells[places[l] * ROOFLINE_DIRECTION_COUNT + d]);
	for (int kind = 0; kind < WORK_KIND_COUNT; kind++)
		close_cell(&gather->kinds[kind]);
	gather->iteration_count++;
}

struct device_peak roofline_peak(
	const struct timeline *timeline, const struct worker *worker, const struct roofline_options *options)
{
	const struct timeline_process *process = &timeline->processes[worker->process];
	struct device_peak peak = {0};

	/* scaled times have nothing to do with the GPU's rates; given rates may be scaled too */
	if (!process->modelled || process->time_scale == 1)
		peak = device_peak(timeline_device(process, worker->device));
	device_peak_override(&peak, options->flops, options->bandwidth);
	return peak;
}

/* ---- results ---- */

bool roofline_is_short(double share, double kernel_ns, double shortest_ns)
{
	return share < ROOFLINE_SHORT_SHARE && shortest_ns <= ROOFLINE_SHORT_NS &&
	       kernel_ns <= ROOFLINE_SHORT_TIMES * shortest_ns;
}

static struct roofline_amount amount_of(struct cell *cell, const struct gather *gather)
{
	double count = cell->time_count ? (double)cell->time_count : 1;
	struct roofline_amount amount = {
		.calls = cell->calls / count,
		.flops = cell->flops / count,
		.bytes = cell->bytes / count,
		.unknown_ns = cell->unknown_ns / count,
		.flops_ns = gather->no_peak ? NAN : cell->flops_ns / count,
		.bytes_ns = gather->no_peak ? NAN : cell->bytes_ns / count,
		.roof_ns = gather->no_peak ? NAN : cell->roof_ns / count,
		.time_ns = NAN,
	};

	if (!cell->untimed && cell->time_count)
		amount.time_ns = analysis_statistics(cell->times, cell->time_count).median;
	if (!(amount.time_ns > 0) || !(amount.roof_ns > 0))
		return amount;
	amount.bound = amount.flops_ns >= amount.bytes_ns ? ROOFLINE_COMPUTE : ROOFLINE_MEMORY;
	if (roofline_is_short(
		    roofline_share(&amount), amount.time_ns * count / cell->kernels, gather->shortest_ns))
		amount.bound = ROOFLINE_LATENCY;
	return amount;
}

static int greatest(const double *values, int count)
{
	int place = 0;

	for (int i = 1; i < count; i++)
		if (values[i] > values[place])
			place = i;
	return place;
}

static void take_items(struct gather *gather, struct roofline *roofline)
{
	for (size_t i = 0; i < gather->layer_count * ROOFLINE_DIRECTION_COUNT; i++) {
		struct cell *cell = &gather->cells[i];
		const struct layer *layer = gather->layers[i / ROOFLINE_DIRECTION_COUNT];
		const char *title = layer_title(layer);

		if (cell->calls > 0)
			*MEM_PUSH(roofline->items, roofline->item_count,
				roofline->item_room) = (struct roofline_item){
				.layer = arena_text(&roofline->arena, title, strlen(title)),
				.name = arena_text(&roofline->arena, layer->name, strlen(layer->name)),
				.direction = i % ROOFLINE_DIRECTION_COUNT,
				.kind = (enum work_kind)greatest(cell->kind_weight, WORK_KIND_COUNT),
				.type = (enum work_type)greatest(cell->type_flops, WORK_TYPE_COUNT),
				.amount = amount_of(cell, gather),
			};
		free(cell->times);
	}
	for (int kind = 0; kind < WORK_KIND_COUNT; kind++) {
		roofline->kinds[kind] = amount_of(&gather->kinds[kind], gather);
		roofline->kind_links[kind] = gather->kind_links[kind];
		free(gather->kinds[kind].times);
	}
}

static void take_whole(struct gather *gather, struct roofline *roofline)
{
	const struct analysis *analysis = gather->analysis;
	double count = (double)gather->iteration_count;

	roofline->shortest_ns = isfinite(gather->shortest_ns) ? gather->shortest_ns : 0;
	if (!gather->iteration_count)
		return;
	roofline->iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean;
	roofline->model_flops = gather->model_flops / count;
	roofline->performed_flops = gather->performed_flops / count;
	roofline->flops_rate = roofline->performed_flops / roofline->iteration_ns * 1e9;
	roofline->roof_ns = gather->no_peak ? NAN : gather->roof_ns / count;
	roofline->utilization = gather->no_peak || roofline->time_scale != 1
					? NAN
					: gather->model_ns / count / roofline->iteration_ns;
}

static void note_device(struct gather *gather, struct roofline *roofline, size_t w)
{
	const struct worker *worker = gather->analysis->workers[w].worker;
	const struct timeline_device *device =
		timeline_device(&gather->analysis->timeline.processes[worker->process], worker->device);
	const char *name = device && device->name[0] ? device->name : NULL;

	if (w == 0) {
		roofline->device = name ? arena_text(&roofline->arena, name, strlen(name)) : NULL;
		roofline->peak = roofline_peak(&gather->analysis->timeline, worker, gather->options);
	} else if (!name != !roofline->device || (name && strcmp(name, roofline->device) != 0)) {
		roofline->mixed = true;
	}
}

void roofline_find(
	const struct analysis *analysis, const struct roofline_options *options, struct roofline *roofline)
{
	struct gather gather = {.analysis = analysis, .options = options, .shortest_ns = INFINITY};
	size_t **places = find_layers(&gather);

	*roofline = (struct roofline){
		.utilization = NAN, .roof_ns = NAN, .time_scale = run_time_scale(&analysis->timeline)};
	gather.works = mem_alloc(analysis->timeline.operation_count, sizeof(*gather.works));
	gather.found = mem_alloc(analysis->timeline.operation_count, sizeof(*gather.found));
	gather.cells = mem_alloc(gather.layer_count * ROOFLINE_DIRECTION_COUNT, sizeof(*gather.cells));
	gather.operators = operator_finder_make(&analysis->timeline);
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		struct device_peak peak = roofline_peak(&analysis->timeline, worker->worker, options);

		note_device(&gather, roofline, w);
		gather.no_peak |= !peak.source;
		for (size_t i = 0; i < worker->used_count; i++)
			add_iteration(&gather, worker, places[w], &peak, worker->used[i]);
		free(places[w]);
	}
	take_items(&gather, roofline);
	take_whole(&gather, roofline);
	operator_finder_free(gather.operators);
	free(places);
	free(gather.cells);
	free(gather.layers);
	free(gather.found);
	free(gather.works);
}

void roofline_free(struct roofline *roofline)
{
	free(roofline->items);
	arena_free(&roofline->arena);
	memset(roofline, 0, sizeof(*roofline));
}

/* ---- figures ---- */

double roofline_flops_rate(const struct roofline_amount *amount)
{
	return amount->time_ns > 0 ? amount->flops / amount->time_ns * 1e9 : NAN;
}

double roofline_bytes_rate(const struct roofline_amount *amount)
{
	return amount->time_ns > 0 ? amount->bytes / amount->time_ns * 1e9 : NAN;
}

double roofline_share(const struct roofline_amount *amount)
{
	return amount->time_ns > 0 ? amount->roof_ns / amount->time_ns : NAN;
}

double roofline_intensity(const struct roofline_amount *amount)
{
	return amount->bytes > 0 ? amount->flops / amount->bytes : NAN;
}

double roofline_layer_flops(const struct roofline *roofline, const char *name)
{
	double flops = NAN;

	for (size_t i = 0; i < roofline->item_count; i++) {
		const struct roofline_item *item = &roofline->items[i];

		if (item->direction != ROOFLINE_UPDATE && item->amount.bytes > 0 &&
			strcmp(item->name, name) == 0)
			flops = (isnan(flops) ? 0 : flops) + item->amount.flops;
	}
	return flops;
}

double roofline_roof(const struct device_peak *peak, enum work_type type, double intensity)
{
	return fmin(peak->flops[type], peak->bandwidth * intensity);
}

bool roofline_has_type(const struct roofline *roofline, enum work_type type)
{
	for (size_t i = 0; i < roofline->item_count; i++)
		if (roofline->items[i].type == type && roofline->items[i].amount.flops > 0)
			return true;
	return false;
}
