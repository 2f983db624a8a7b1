/* GPU time by module, operator and kernel: see operators.h. */
#include "operators.h"
#include "base/lookup.h"
#include "framework/framework.h"
#include "kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
	const struct analysis *analysis;
	struct operators *operators;
	struct framework *framework; /* of the worker's process, or NULL */
	struct lookup nodes, rows;
	const char **titles; /* kernels', by operation; NULL: not asked for yet */
	const struct analysis_worker *worker;
	bool asked;    /* only iterations count in which operators were recorded */
	double weight; /* of one of the worker's iterations in the mean */
};

static uint32_t child_of(struct search *search, uint32_t parent, const char *name, size_t bytes)
{
	struct operators *operators = search->operators;
	uint64_t hash = mem_hash(MEM_HASH_START, parent);
	uint32_t i;

	for (size_t b = 0; b < bytes; b++)
		hash = mem_hash(hash, (unsigned char)name[b]);
	for (size_t at = 0; (i = lookup_next(&search->nodes, hash, &at)) != LOOKUP_NONE;)
		if (operators->nodes[i].parent == parent &&
			strncmp(operators->nodes[i].name, name, bytes) == 0 &&
			operators->nodes[i].name[bytes] == '\0')
			return i;
	i = (uint32_t)operators->node_count;
	*MEM_PUSH(operators->nodes, operators->node_count, operators->node_room) =
		(struct operators_node){.name = arena_text(&operators->arena, name, bytes), .parent = parent};
	lookup_add(&search->nodes, hash, i);
	return i;
}

/* "net.block.conv" is a node in another for each of its names. */
static uint32_t module_node(struct search *search, const char *path)
{
	uint32_t node = 0;

	for (const char *at = path;; at++) {
		const size_t bytes = strcspn(at, ".");

		if (bytes)
			node = child_of(search, node, at, bytes);
		at += bytes;
		if (!*at)
			return node;
	}
}

static struct operators_row *row_of(struct search *search, const char *name, enum phase phase)
{
	struct operators *operators = search->operators;
	const uint64_t hash = mem_hash(mem_hash_text(MEM_HASH_START, name), phase);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&search->rows, hash, &at)) != LOOKUP_NONE;)
		if (operators->rows[i].phase == phase && strcmp(operators->rows[i].name, name) == 0)
			return &operators->rows[i];
	lookup_add(&search->rows, hash, (uint32_t)operators->row_count);
	*MEM_PUSH(operators->rows, operators->row_count, operators->row_room) =
		(struct operators_row){.name = name, .phase = phase, .last_range = TIMELINE_NO_RANGE};
	return &operators->rows[operators->row_count - 1];
}

/* Adds time to a node and all around it. */
static void add_time(struct operators *operators, uint32_t node, enum phase phase, double ns)
{
	for (; node != OPERATORS_NONE; node = operators->nodes[node].parent) {
		operators->nodes[node].time_ns += ns;
		operators->nodes[node].phases_ns[phase] += ns;
	}
}

static void add_row(struct search *search, const struct timeline_call *call, const char *name,
	enum phase phase, uint32_t kernels, double ns)
{
	const struct timeline *timeline = &search->analysis->timeline;
	const struct timeline_process *process = &timeline->processes[search->worker->worker->process];
	const uint32_t range = timeline_range_at(timeline, process, call->thread, call->begin_ns);
	struct operators_row *row = row_of(search, name, phase);

	if (range == TIMELINE_NO_RANGE || range != row->last_range)
		row->count += search->weight;
	row->last_range = range;
	row->kernels += search->weight * kernels;
	row->time_ns += ns;
}

/* Is the call a collective of several layers' gradients, one piece of work that belongs to none of them? */
static bool is_bucket(const struct layer_role *role)
{
	return role->phase == PHASE_COMMUNICATION && role->part_count > 1;
}

/* "communication", and in it "fc3 to conv1, 5 layers". */
static uint32_t bucket_node(struct search *search, const struct layer_role *role)
{
	const struct layer_list *layers = &search->worker->layers;
	const struct layer_part *parts = &layers->parts[role->first_part];
	const char *name = arena_format(&search->operators->arena, "%s to %s, %u layers",
		layer_title(&layers->items[parts[0].layer]),
		layer_title(&layers->items[parts[role->part_count - 1].layer]), role->part_count);
	const char *phase = phase_titles[role->phase];

	return child_of(search, child_of(search, 0, phase, strlen(phase)), name, strlen(name));
}

/* A part of a call's work: in a layer, or else in its phase, and there in its operator. */
struct part {
	uint32_t node;
	double share;
	enum phase phase;
};

static struct part part_of(
	struct search *search, const struct layer_role *role, uint32_t number, const char *operator)
{
	const struct layer_list *layers = &search->worker->layers;
	struct part part = {.share = 1, .phase = role->phase};

	if (is_bucket(role)) {
		part.node = bucket_node(search, role);
	} else if (role->part_count) {
		const struct layer_part *own = &layers->parts[role->first_part + number];

		part.node = module_node(search, layer_title(&layers->items[own->layer]));
		part.share = own->share;
	} else {
		part.node = child_of(search, 0, phase_titles[role->phase], strlen(phase_titles[role->phase]));
	}
	if (operator)
		part.node = child_of(search, part.node, operator, strlen(operator));
	return part;
}

static void add_work(struct search *search, const struct part *part, const char *name, double ns)
{
	add_time(search->operators, child_of(search, part->node, name, strlen(name)), part->phase,
		search->weight * part->share * ns);
}

static const char *title_of(struct search *search, uint32_t operation)
{
	if (!search->titles[operation])
		search->titles[operation] = kernel_title(
			&search->operators->arena, kernel_name(&search->analysis->timeline, operation));
	return search->titles[operation];
}

/* The start of a collective, in which its rank waits for the last one, is apart. */
static void add_part(
	struct search *search, const struct timeline_call *call, double wait_ns, const struct part *part)
{
	const struct timeline *timeline = &search->analysis->timeline;

	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval *work = TIMELINE_INTERVAL(timeline, call->interval + i);
		const double ns = (double)(work->end_ns - work->begin_ns);
		const double waits = i == 0 && part->phase == PHASE_COMMUNICATION ? fmin(wait_ns, ns) : 0;

		if (waits > 0)
			add_work(search, part, "waiting for the last rank", waits);
		if (ns > waits)
			add_work(search, part, title_of(search, work->operation), ns - waits);
	}
}

static void add_call(struct search *search, uint32_t number, const struct layer_role *role)
{
	const struct timeline *timeline = &search->analysis->timeline;
	const struct timeline_call *call = TIMELINE_CALL(timeline, number);
	const char *operator= search->framework && search->asked
		? framework_word(search->framework, number).says
		: NULL;

	for (uint32_t p = 0; p == 0 || (p < role->part_count && !is_bucket(role)); p++) {
		const struct part part = part_of(search, role, p, operator);

		add_part(search, call, (double)search->analysis->wait_ns[number], &part);
	}
	if (operator)
		add_row(search, call, operator, role->phase, call->interval_count,
			search->weight * timeline_device_ns(timeline, call));
}

/* Calls of a group share their interval, which counts once. */
static void add_iteration(struct search *search, size_t iteration)
{
	struct analysis_walk at = analysis_walk(search->analysis, search->worker, iteration);

	while (analysis_next(&at))
		if (at.call.interval_count > 0 && !at.is_shared && at.role->phase < PHASE_WORK_COUNT)
			add_call(search, at.number, at.role);
}

/* Whether operators were recorded while the host made all calls of the iteration. */
static bool was_asked(const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration)
{
	const struct iteration *item = &worker->iterations.items[iteration];
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];

	if (item->first_call == item->call_end || process->range_count == 0)
		return false;
	return timeline_operators_recorded(process,
		timeline_call(&analysis->timeline, worker->worker->calls[item->first_call]).begin_ns,
		timeline_call(&analysis->timeline, worker->worker->calls[item->call_end - 1]).end_ns);
}

static size_t count_iterations(const struct search *search, const struct analysis_worker *worker)
{
	size_t count = 0;

	for (size_t i = 0; i < worker->used_count; i++)
		count += !search->asked || was_asked(search->analysis, worker, worker->used[i]);
	return count;
}

static void add_worker(struct search *search, size_t workers)
{
	const size_t count = count_iterations(search, search->worker);

	if (count == 0)
		return;
	search->weight = 1 / (double)count / (double)workers;
	search->operators->iterations += count;
	if (search->asked)
		search->framework = framework_read(&search->analysis->timeline,
			&search->analysis->timeline.processes[search->worker->worker->process]);
	for (size_t i = 0; i < search->worker->used_count; i++)
		if (!search->asked || was_asked(search->analysis, search->worker, search->worker->used[i]))
			add_iteration(search, search->worker->used[i]);
	framework_free(search->framework);
	search->framework = NULL;
}

/* The workers that have iterations with operators; none: all have the same right. */
static size_t count_workers(struct search *search)
{
	const struct analysis *analysis = search->analysis;
	size_t asked = 0;

	search->asked = true;
	for (size_t w = 0; w < analysis->worker_count; w++)
		asked += count_iterations(search, &analysis->workers[w]) > 0;
	search->asked = asked > 0;
	return asked ? asked : analysis->worker_count;
}

static int compare_rows(const void *left, const void *right)
{
	const struct operators_row *a = left, *b = right;

	return a->time_ns != b->time_ns ? (a->time_ns < b->time_ns) - (a->time_ns > b->time_ns)
					: strcmp(a->name, b->name);
}

void operators_find(const struct analysis *analysis, struct operators *operators)
{
	struct search search = {.analysis = analysis,
		.operators = operators,
		.titles = mem_alloc(analysis->timeline.operation_count, sizeof(*search.titles))};
	size_t workers;

	*operators = (struct operators){0};
	*MEM_PUSH(operators->nodes, operators->node_count, operators->node_room) =
		(struct operators_node){.name = "GPU time", .parent = OPERATORS_NONE};
	workers = count_workers(&search);
	for (size_t w = 0; w < analysis->worker_count; w++) {
		search.worker = &analysis->workers[w];
		add_worker(&search, workers);
	}
	for (size_t i = 0; i < operators->row_count; i++) {
		operators->rows[i].share = operators->rows[i].time_ns / operators->nodes[0].time_ns;
		operators->known += operators->rows[i].share;
	}
	if (operators->row_count)
		qsort(operators->rows, operators->row_count, sizeof(*operators->rows), compare_rows);
	if (!(operators->nodes[0].time_ns > 0))
		operators->node_count = 0;
	lookup_free(&search.nodes);
	lookup_free(&search.rows);
	free(search.titles);
}

void operators_free(struct operators *operators)
{
	free(operators->nodes);
	free(operators->rows);
	arena_free(&operators->arena);
	*operators = (struct operators){0};
}

void operators_table(struct print_table *table, const struct operators *operators, size_t most)
{
	enum { NAME, PHASE, CALLS, KERNELS, TIME, SHARE, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("operator", "operator", PRINT_WORD),
		PRINT_COLUMN("phase", "phase", PRINT_WORD),
		PRINT_COLUMN("calls", "calls/step", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("kernels", "kernels/step", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("time", "GPU time/step", PRINT_TIME, .bar = "plain"),
		PRINT_COLUMN("share", "share", PRINT_SHARE),
	};

	print_columns(table, columns, COLUMNS);
	for (size_t i = 0; i < operators->row_count && i < most; i++) {
		const struct operators_row *row = &operators->rows[i];

		print_row(table);
		print_word(table, NAME, row->name);
		print_word(table, PHASE, phase_titles[row->phase]);
		print_number(table, CALLS, row->count);
		print_number(table, KERNELS, row->kernels);
		print_number(table, TIME, row->time_ns);
		print_colour(table, TIME, phase_keys[row->phase]);
		print_number(table, SHARE, row->share);
	}
}
