/* What ran on the devices, by name: see kernels.h. */
#include "kernels.h"
#include "base/lookup.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

/* The last component of a name like _ZN2at6native3fooILi4EEEvv; false: it is not of that form. */
static bool mangled(const char *name, const char **begin, size_t *length)
{
	const char *at = name + 2;
	bool nested, found = false;

	if (strncmp(name, "_Z", 2) != 0)
		return false;
	nested = *at == 'N';
	at += nested;
	while (*at == 'K' || *at == 'L')
		at++;
	while (isdigit((unsigned char)*at)) {
		size_t count = 0;

		for (; isdigit((unsigned char)*at) && count < 100000; at++)
			count = count * 10 + (size_t)(*at - '0');
		if (count == 0 || strnlen(at, count) < count)
			return false;
		/* Of a name without one: _GLOBAL__N_1. */
		if (strncmp(at, "_GLOBAL__N", 10) != 0) {
			*begin = at;
			*length = count;
			found = true;
		}
		at += count;
		if (!nested)
			break;
	}
	return found;
}

/* From where the name's last component begins to where its arguments do. */
static void readable(const char *name, const char **begin, size_t *length)
{
	size_t depth = 0, end = 0;
	const char *start = name;

	for (const char *at = name; *at; at++) {
		/* "operator<", "(anonymous namespace)::": not arguments. */
		if (strncmp(at, "(anonymous namespace)", 21) == 0) {
			at += 20;
			continue;
		}
		if (*at == '<')
			depth++;
		else if (*at == '>' && depth)
			depth--;
		else if (depth == 0 && *at == '(')
			break;
		else if (depth == 0 && (*at == ' ' || (at[0] == ':' && at[1] == ':')))
			start = at[0] == ' ' ? at + 1 : at + 2;
		if (depth == 0 && (isalnum((unsigned char)*at) || *at == '_'))
			end = (size_t)(at - name) + 1;
	}
	*begin = start;
	*length = end > (size_t)(start - name) ? end - (size_t)(start - name) : strlen(start);
}

const char *kernel_title(struct arena *arena, const char *name)
{
	const char *begin = name;
	size_t length = strlen(name), inner;

	/* Copies are "Memcpy HtoD (Pageable -> Device)": all of it is the name. */
	if (strstr(name, "->") && !strstr(name, "::"))
		return arena_text(arena, name, length);
	if (!mangled(name, &begin, &length))
		readable(name, &begin, &length);
	inner = strcspn(begin, "<(");
	inner = inner < length ? inner : length;
	/* "cutlass::Kernel<cutlass_80_...>": the argument says more. */
	if (begin[inner] == '<' && (inner == 6 || inner == 7) && strncasecmp(begin, "kernel", 6) == 0 &&
		strcspn(begin + inner + 1, "<>,( ") > 2) {
		begin += inner + 1;
		inner = strcspn(begin, "<>,( ");
	}
	return arena_text(arena, begin, inner ? inner : length);
}

/* ---- Rows ---- */

struct gatherer {
	const struct analysis *analysis;
	struct kernels *kernels;
	struct lookup lookup;
	size_t worker;
	double weight; /* of one of the worker's iterations in the mean */
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mem_hash(hash, (unsigned char)*text);
	return hash;
}

const char *kernel_name(const struct timeline *timeline, uint32_t number)
{
	const struct timeline_operation *operation = &timeline->operations[number];
	const struct timeline_function *function = &timeline->functions[operation->function];

	for (uint32_t v = 0; v < operation->value_count && v < function->label_count; v++)
		if (function->labels[v].type == PM_VALUE_STRING &&
			operation->values[v] < timeline->string_count &&
			(strcmp(function->labels[v].name, "name") == 0 ||
				strcmp(function->labels[v].name, "kernel") == 0))
			return timeline->strings[operation->values[v]];
	return function->name;
}

static size_t row_of(struct gatherer *gatherer, const char *name, enum phase phase)
{
	struct kernels *kernels = gatherer->kernels;
	uint64_t hash = mem_hash(hash_text(MEM_HASH_START, name), phase);
	size_t at = 0;
	uint32_t i;

	while ((i = lookup_next(&gatherer->lookup, hash, &at)) != LOOKUP_NONE)
		if (kernels->rows[i].phase == phase && strcmp(kernels->rows[i].name, name) == 0)
			return i;
	i = (uint32_t)kernels->row_count;
	*MEM_PUSH(kernels->rows, kernels->row_count, kernels->row_room) = (struct kernel_row){.name = name,
		.title = kernel_title(&kernels->arena, name),
		.phase = phase,
		.layer = "",
		.workers_ns = arena_alloc(&kernels->arena, gatherer->analysis->worker_count, sizeof(double))};
	lookup_add(&gatherer->lookup, hash, i);
	return i;
}

static void add_layer(struct kernel_row *row, const struct layer_list *layers, const struct layer_role *role)
{
	/* Others than the first are counted as one more, whatever they are. */
	for (uint32_t i = 0; i < role->part_count && row->layer_count < 2; i++) {
		const char *title = layer_title(&layers->items[layers->parts[role->first_part + i].layer]);

		if (strcmp(row->layer, title) == 0)
			continue;
		if (!*row->layer)
			row->layer = title;
		row->layer_count++;
	}
}

/* A unit that ended: its kernels are known by now. */
static void end_graph(struct gatherer *gatherer, const char *call, size_t kernels_in, double ns)
{
	struct kernels *kernels = gatherer->kernels;
	double weight = gatherer->weight / (double)gatherer->analysis->worker_count;
	size_t i = 0;

	if (kernels_in == 0)
		return;
	while (i < kernels->graph_count &&
		(kernels->graphs[i].kernels != kernels_in || strcmp(kernels->graphs[i].call, call) != 0))
		i++;
	if (i == kernels->graph_count)
		*MEM_PUSH(kernels->graphs, kernels->graph_count, kernels->graph_room) =
			(struct kernel_graph){.call = call, .kernels = kernels_in};
	kernels->graphs[i].count += weight;
	kernels->graphs[i].time_ns += ns * weight;
}

/* Does the call launch a graph, whether its kernels are calls of their own or its intervals? */
static bool is_graph(const struct analysis *analysis, const struct timeline_call *call)
{
	return (call->flags & TIMELINE_FLAG_DIVIDED) ||
	       (analysis->model.flows[call->operation].kind == PM_KIND_GRAPH && call->interval_count > 0 &&
		       !(call->flags & TIMELINE_FLAG_REPLAYED));
}

static double add_call(struct gatherer *gatherer, const struct timeline_call *call,
	const struct layer_role *role, const struct layer_list *layers)
{
	const struct timeline *timeline = &gatherer->analysis->timeline;
	double weight = gatherer->weight / (double)gatherer->analysis->worker_count, sum_ns = 0;
	bool in_graph = is_graph(gatherer->analysis, call) || (call->flags & TIMELINE_FLAG_REPLAYED);

	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval *interval = TIMELINE_INTERVAL(timeline, call->interval + i);
		double ns = (double)(interval->end_ns - interval->begin_ns);
		size_t place = row_of(gatherer, kernel_name(timeline, interval->operation), role->phase);
		struct kernel_row *row = &gatherer->kernels->rows[place];

		row->count += weight;
		row->time_ns += ns * weight;
		row->graph_share += in_graph ? ns * weight : 0;
		row->workers_ns[gatherer->worker] += ns * gatherer->weight;
		add_layer(row, layers, role);
		sum_ns += ns;
	}
	return sum_ns;
}

static void add_iteration(struct gatherer *gatherer, const struct analysis_worker *worker, size_t iteration)
{
	const struct analysis *analysis = gatherer->analysis;
	struct analysis_walk at = analysis_walk(analysis, worker, iteration);
	const char *graph = NULL;
	size_t kernels_in = 0;
	double graph_ns = 0;

	while (analysis_next(&at)) {
		const struct timeline_call *call = &at.call;

		if (!(call->flags & TIMELINE_FLAG_REPLAYED)) {
			if (graph)
				end_graph(gatherer, graph, kernels_in, graph_ns);
			graph = is_graph(analysis, call) ? timeline_function(&analysis->timeline, call)->name
							 : NULL;
			kernels_in = 0;
			graph_ns = 0;
		}
		if (at.is_shared)
			continue;
		graph_ns += add_call(gatherer, call, at.role, &worker->layers);
		kernels_in += call->interval_count;
	}
	if (graph)
		end_graph(gatherer, graph, kernels_in, graph_ns);
}

static int compare_rows(const void *left, const void *right)
{
	const struct kernel_row *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

static int compare_graphs(const void *left, const void *right)
{
	const struct kernel_graph *a = left, *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return a->kernels > b->kernels ? -1 : a->kernels < b->kernels;
}

static void settle_row(const struct kernels *kernels, struct kernel_row *row, size_t workers)
{
	row->share = kernels->time_ns > 0 ? row->time_ns / kernels->time_ns : 0;
	row->graph_share = row->time_ns > 0 ? row->graph_share / row->time_ns : 0;
	row->least_ns = row->greatest_ns = row->workers_ns[0];
	for (size_t w = 1; w < workers; w++) {
		if (row->workers_ns[w] < row->least_ns)
			row->least_ns = row->workers_ns[w];
		if (row->workers_ns[w] > row->greatest_ns) {
			row->greatest_ns = row->workers_ns[w];
			row->greatest = w;
		}
	}
}

static bool is_assumed(const struct timeline *timeline, const char *name)
{
	for (size_t p = 0; p < timeline->process_count; p++)
		for (size_t i = 0; i < timeline->processes[p].assumed_count; i++)
			if (strcmp(timeline->processes[p].assumed[i], name) == 0)
				return true;
	return false;
}

/* A kernel has a row for each phase that it is in. The rows are sorted. */
static void add_up_assumed(const struct timeline *timeline, struct kernels *kernels)
{
	double most_ns = 0;

	for (size_t i = 0; i < kernels->row_count; i++) {
		struct kernel_row *row = &kernels->rows[i];
		double sum_ns = 0;
		bool is_first = true;

		row->assumed = is_assumed(timeline, row->name);
		if (!row->assumed)
			continue;
		for (size_t k = 0; k < kernels->row_count; k++) {
			if (strcmp(kernels->rows[k].name, row->name) != 0)
				continue;
			is_first = is_first && k >= i;
			sum_ns += kernels->rows[k].time_ns;
		}
		kernels->assumed.names += is_first;
		kernels->assumed.share += row->share;
		if (sum_ns > most_ns) {
			most_ns = sum_ns;
			kernels->assumed.most = row->title;
			kernels->assumed.most_share = sum_ns / kernels->time_ns;
		}
	}
}

const char *kernels_assumed_text(struct arena *arena, const struct kernels *kernels)
{
	if (kernels->assumed.names == 0)
		return NULL;
	return arena_format(arena,
		"Modelled durations: %.1f%% of the device time is an assumption, of %zu kernel%s without a "
		"rule; most of it: %s (%.1f%%)",
		100 * kernels->assumed.share, kernels->assumed.names, pm_text_plural(kernels->assumed.names),
		print_clean(arena, kernels->assumed.most), 100 * kernels->assumed.most_share);
}

void kernels_find(const struct analysis *analysis, struct kernels *kernels)
{
	struct gatherer gatherer = {.analysis = analysis, .kernels = kernels};

	memset(kernels, 0, sizeof(*kernels));
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		gatherer.worker = w;
		gatherer.weight = 1 / (double)worker->used_count;
		for (size_t i = 0; i < worker->used_count; i++)
			add_iteration(&gatherer, worker, worker->used[i]);
	}
	for (size_t i = 0; i < kernels->row_count; i++)
		kernels->time_ns += kernels->rows[i].time_ns;
	for (size_t i = 0; i < kernels->row_count; i++)
		settle_row(kernels, &kernels->rows[i], analysis->worker_count);
	if (kernels->row_count)
		qsort(kernels->rows, kernels->row_count, sizeof(*kernels->rows), compare_rows);
	add_up_assumed(&analysis->timeline, kernels);
	if (kernels->graph_count)
		qsort(kernels->graphs, kernels->graph_count, sizeof(*kernels->graphs), compare_graphs);
	lookup_free(&gatherer.lookup);
}

void kernels_free(struct kernels *kernels)
{
	free(kernels->rows);
	free(kernels->graphs);
	arena_free(&kernels->arena);
	memset(kernels, 0, sizeof(*kernels));
}
