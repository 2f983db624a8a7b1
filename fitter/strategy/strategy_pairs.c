/* A transformer's products in pairs: see strategy_pairs.h. */
#include "strategy_pairs.h"
#include "base/text_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Products of width by width that follow each other: a pair; queries, keys, values and the one after. */
enum { ALONE = 1, PAIR = 2, ATTENTION = 4 };
enum { NONE = -1, NUMBER_BYTES = 4 };

/* ---- layers ---- */

static bool is_same(double x, double y)
{
	return fabs(x - y) < 0.5;
}

static bool is_square(const struct strategy_layer *layer, double width)
{
	return is_same(layer->input_bytes, width) && is_same(layer->output_bytes, width);
}

/* The next product of rows of the same unit after the layer; the number of layers: none. */
static size_t next_product(const struct strategy_net *net, size_t layer)
{
	const size_t unit = net->layers[layer].unit;

	while (++layer < net->layer_count && net->layers[layer].unit == unit)
		if (net->layers[layer].is_rows)
			return layer;
	return net->layer_count;
}

/* Products of width by width from this one on. */
static size_t square_run(const struct strategy_net *net, size_t layer, double width)
{
	size_t count = 0;

	for (; layer < net->layer_count && is_square(&net->layers[layer], width); count++)
		layer = next_product(net, layer);
	return count;
}

/* The products by columns that wait for theirs by rows. */
struct columns {
	size_t count, squares;   /* squares: how many of width by width are still to come */
	double outputs, largest; /* bytes of all; of the largest */
};

/* Does the product take what they give: one of them, or together queries, keys and values? */
static bool takes(const struct strategy_layer *layer, const struct columns *columns)
{
	return is_same(layer->input_bytes, columns->largest) ||
	       is_same(layer->input_bytes, columns->outputs) ||
	       is_same(3 * layer->input_bytes, columns->outputs);
}

static void add_column(struct strategy_layer *layer, struct columns *columns)
{
	layer->divide = STRATEGY_COLUMNS;
	layer->between = 0;
	columns->count++;
	columns->outputs += layer->output_bytes;
	columns->largest = fmax(columns->largest, layer->output_bytes);
}

/* Divides a product of a block; whether that could be told. */
static bool divide(struct strategy_net *net, size_t i, double width, struct columns *columns)
{
	struct strategy_layer *layer = &net->layers[i];
	const bool gives_width = is_same(layer->output_bytes, width);

	if (columns->count == 0 && is_square(layer, width)) {
		const size_t run = square_run(net, i, width);

		if (run != ALONE && run != PAIR && run != ATTENTION)
			return false;
		columns->squares = run - 1; /* the last is by rows */
		add_column(layer, columns);
	} else if (is_same(layer->input_bytes, width) && (!gives_width || columns->squares > 1)) {
		columns->squares -= columns->squares > 1;
		add_column(layer, columns);
	} else if (gives_width && takes(layer, columns)) {
		layer->divide = STRATEGY_ROWS;
		/* attention's result and its copy, or an activation and what it is multiplied by */
		layer->between = columns->count > 1 || columns->outputs > 2.5 * layer->input_bytes ? 2 : 1;
		*columns = (struct columns){0};
	} else {
		return false;
	}
	return true;
}

static const char *divide_unit(struct strategy_net *net, size_t first)
{
	const double width = net->layers[first].input_bytes;
	struct columns columns = {0};

	for (size_t i = first; i < net->layer_count; i = next_product(net, i))
		if (width <= 0 || !divide(net, i, width, &columns))
			return "the sizes of a block's products do not tell which of them follow each other";
	return columns.count ? "a block ends with a product whose output is not of the block's width" : NULL;
}

const char *strategy_pairs_find(struct strategy_net *net)
{
	size_t unit = STRATEGY_ROOT;

	for (size_t i = 0; i < net->layer_count; i++)
		net->layers[i].divide = STRATEGY_UNDIVIDED;
	for (size_t i = 0; i < net->layer_count; i++) {
		const struct strategy_layer *layer = &net->layers[i];
		const char *why;

		if (layer->unit == STRATEGY_ROOT || layer->unit == unit)
			continue;
		if (!layer->is_rows && layer->backward_kernels >= 2)
			return "blocks have convolutions";
		if (!layer->is_rows)
			continue;
		unit = layer->unit;
		why = divide_unit(net, i);
		if (why)
			return why;
	}
	if (unit == STRATEGY_ROOT)
		return "no list of modules has products of rows";
	if (net->layers[net->layer_count - 1].unit == STRATEGY_ROOT &&
		net->layers[net->layer_count - 1].is_rows)
		net->layers[net->layer_count - 1].divide = STRATEGY_GATHERED;
	return NULL;
}

/* Of in x out weights and sizes in proportion to in and out: out. */
static double width_of(const struct strategy_layer *layer)
{
	return sqrt(layer->tensor_bytes[0] / NUMBER_BYTES * layer->output_bytes / layer->input_bytes);
}

bool strategy_pairs_divide(const struct strategy_net *net, size_t workers)
{
	for (size_t i = 0; i < net->layer_count; i++)
		if (net->layers[i].divide == STRATEGY_COLUMNS &&
			fmod(round(width_of(&net->layers[i])), (double)workers) > 0)
			return false;
	return true;
}

void strategy_pairs_cut(struct strategy_net *net)
{
	for (size_t i = 1; i < net->layer_count && net->has_pairs; i++) {
		struct strategy_layer *layer = &net->layers[i];
		const size_t product = layer->is_rows ? i : next_product(net, i);

		if (layer->unit == STRATEGY_ROOT || layer->unit == layer[-1].unit ||
			product == net->layer_count)
			continue;
		layer->input_bytes = net->layers[product].input_bytes;
		layer->may_cut = true;
	}
}

/* ---- calls ---- */

enum rule { OTHER_RULE, PARAMETER, SIBLING, GRADIENT, PLACE };

struct call {
	ptrdiff_t layer; /* NONE */
	int pass;        /* of enum strategy_time; NONE */
	enum rule rule;
	bool is_product; /* of its layer: set by find_products */
	double time;
	enum strategy_share share;
};

struct iteration {
	struct strategy_net *net;
	struct call *calls;
	size_t count;
};

static int place_of(const char *text, const char *const *words)
{
	for (int i = 0; words[i]; i++)
		if (strcmp(text, words[i]) == 0)
			return i;
	return NONE;
}

static struct call call_of(const struct strategy_net *net, const cJSON *item)
{
	static const char *const passes[] = {"forward", "backward", "update", NULL};
	static const char *const rules[] = {"", "parameter", "sibling", "gradient", "place", NULL};
	const cJSON *time = cJSON_GetObjectItemCaseSensitive(item, "time_ns");
	struct call call = {.layer = NONE, .pass = place_of(text_file_word(item, "phase"), passes)};
	int rule;

	rule = place_of(text_file_word(item, "layer_by"), rules);
	call.rule = rule == NONE ? OTHER_RULE : (enum rule)rule;
	call.time = cJSON_IsNumber(time) ? time->valuedouble : 0;
	for (size_t i = 0; i < net->layer_count && call.layer == NONE; i++)
		if (strcmp(text_file_word(item, "layer"), net->layers[i].name) == 0)
			call.layer = (ptrdiff_t)i;
	return call;
}

/*
 * Which calls a product is: the first forward that touches its parameters; the first two backward, for the
 * gradients of its input and of its weights. Biases may be added by one more, and their gradient is one more,
 * which may only be known to read what those two read. With fewer or more of them it is not known.
 */
static bool find_products(struct iteration *it, size_t layer, int pass)
{
	const bool is_back = pass == STRATEGY_BACKWARD;
	const size_t products = is_back ? 2 : 1, biases = it->net->layers[layer].tensor_bytes[1] > 0;
	size_t count = 0, touching = 0;

	for (size_t i = 0; i < it->count; i++) {
		struct call *call = &it->calls[i];
		const bool touches = call->rule == PARAMETER || (call->rule == SIBLING && is_back);

		if (call->layer != (ptrdiff_t)layer || call->pass != pass ||
			!(touches || (call->rule == GRADIENT && is_back && count > 0)))
			continue;
		touching += touches;
		call->is_product = ++count <= products;
		if (!call->is_product && is_back)
			call->rule = GRADIENT;
	}
	return count >= products + (is_back ? biases : 0) && touching <= products + biases;
}

/* The first and the last call of a product in a pass. */
static void product_of(const struct iteration *it, size_t layer, int pass, size_t *first, size_t *last)
{
	*first = it->count;
	*last = 0;
	for (size_t i = 0; i < it->count; i++)
		if (it->calls[i].is_product && it->calls[i].pass == pass &&
			it->calls[i].layer == (ptrdiff_t)layer) {
			*first = *first == it->count ? i : *first;
			*last = i;
		}
}

/* A layer's gradient of biases, and what is set for it before. */
static bool is_gradient(const struct iteration *it, size_t i, size_t layer)
{
	const struct call *call = &it->calls[i];

	return call->layer == (ptrdiff_t)layer &&
	       (call->rule == GRADIENT ||
		       (call->rule == PLACE && i + 1 < it->count && it->calls[i + 1].layer == call->layer &&
			       it->calls[i + 1].rule == GRADIENT));
}

static bool is_column(const struct strategy_net *net, size_t from, size_t to, ptrdiff_t layer)
{
	return layer >= (ptrdiff_t)from && layer < (ptrdiff_t)to &&
	       net->layers[layer].divide == STRATEGY_COLUMNS;
}

/* Calls of a product by columns: the product, its gradient of biases. */
static bool is_of_column(const struct iteration *it, size_t i, size_t from, size_t to)
{
	const struct call *call = &it->calls[i];

	return is_column(it->net, from, to, call->layer) &&
	       (call->is_product || is_gradient(it, i, (size_t)call->layer));
}

/*
 * A pair: products by columns in from ... row - 1, and `row` by rows. Forward all is divided from the first
 * to the last. Backward from the products of `row` on, but for its biases, to the last of a column's; between
 * columns as forward has it there: with no call, those of backward add up gradients of their input.
 */
static bool mark_pair(struct iteration *it, size_t from, size_t row)
{
	size_t first = it->count, last = 0, begin, end, row_begin, row_end, back = it->count, back_end = 0;
	bool between = false;

	for (size_t i = from; i < row; i++) {
		if (!is_column(it->net, from, row, (ptrdiff_t)i))
			continue;
		product_of(it, i, STRATEGY_FORWARD, &begin, &end);
		first = begin < first ? begin : first;
		last = begin > last ? begin : last;
		product_of(it, i, STRATEGY_BACKWARD, &begin, &end);
		back = begin < back ? begin : back;
		back_end = end > back_end ? end : back_end;
	}
	product_of(it, row, STRATEGY_FORWARD, &begin, &row_end);
	product_of(it, row, STRATEGY_BACKWARD, &row_begin, &end);
	if (begin < last || end > back)
		return false;
	for (size_t i = first; i <= row_end; i++) {
		it->calls[i].share = STRATEGY_CALLS_DIVIDED;
		between |= i < last && !is_of_column(it, i, from, row);
	}
	for (size_t i = row_begin; i < it->count; i++)
		if (is_of_column(it, i, from, row) ||
			(!is_gradient(it, i, row) && (i < back || (between && i < back_end))))
			it->calls[i].share = STRATEGY_CALLS_DIVIDED;
	return true;
}

static const char *mark(struct iteration *it)
{
	const struct strategy_net *net = it->net;
	size_t from = 0;

	for (size_t i = 0; i < net->layer_count; i++)
		for (int pass = 0; pass < 2 && net->layers[i].divide != STRATEGY_UNDIVIDED; pass++)
			if (!find_products(it, i, pass))
				return "a product that would be divided is not called once forward and twice backward";
	for (size_t i = 0; i < net->layer_count; i++) {
		if (net->layers[i].divide != STRATEGY_ROWS)
			continue;
		if (!mark_pair(it, from, i))
			return "the products of a block are not called one after the other";
		from = i + 1;
	}
	for (size_t i = 0; i < it->count; i++) {
		struct call *call = &it->calls[i];

		if (call->layer != NONE && net->layers[call->layer].divide == STRATEGY_GATHERED &&
			(call->is_product || is_gradient(it, i, (size_t)call->layer)) &&
			call->share == STRATEGY_CALLS_WHOLE)
			call->share = STRATEGY_CALLS_GATHERED;
	}
	return NULL;
}

static void add_up(struct iteration *it)
{
	struct strategy_net *net = it->net;
	double times[2] = {0, 0};

	memset(net->calls, 0, sizeof(net->calls));
	for (size_t i = 0; i < net->layer_count; i++)
		memset(net->layers[i].call_count, 0, sizeof(net->layers[i].call_count));
	net->shortest_call = INFINITY;
	net->update_calls = 0;
	for (size_t i = 0; i < it->count; i++) {
		const struct call *call = &it->calls[i];

		if (call->time > 0 && call->pass != NONE)
			net->shortest_call = fmin(net->shortest_call, call->time);
		net->update_calls += call->pass == STRATEGY_UPDATE;
		if (call->pass != STRATEGY_FORWARD && call->pass != STRATEGY_BACKWARD)
			continue;
		if (call->layer != NONE)
			net->layers[call->layer].call_count[call->pass]++;
		net->calls[call->pass][call->share].count++;
		net->calls[call->pass][call->share].share += call->time;
		times[call->pass] += call->time;
	}
	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < STRATEGY_SHARES; k++)
			net->calls[pass][k].share /= times[pass] > 0 ? times[pass] : 1;
}

/* The file's first worker: the run is one on one GPU. */
static int take_calls(struct iteration *it, const cJSON *root)
{
	const cJSON *workers = cJSON_GetObjectItemCaseSensitive(root, "workers");
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(workers, 0), "calls"), *item;

	it->calls = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof(*it->calls));
	if (!it->calls)
		return -ENOMEM;
	cJSON_ArrayForEach (item, list)
		it->calls[it->count++] = call_of(it->net, item);
	return 0;
}

int strategy_pairs_read(struct strategy_net *net, const char *path)
{
	struct iteration it = {.net = net};
	cJSON *root = NULL;
	const char *bad = text_file_json(path, &root);

	if (bad) {
		snprintf(net->error, sizeof(net->error), "%s", bad);
		return -EINVAL;
	}
	if (take_calls(&it, root) < 0) {
		snprintf(net->error, sizeof(net->error), "%.200s: out of memory", path);
		cJSON_Delete(root);
		return -ENOMEM;
	}
	net->no_pairs = it.count ? strategy_pairs_find(net) : "the calls of an iteration are not known";
	if (!net->no_pairs)
		net->no_pairs = mark(&it);
	net->has_pairs = !net->no_pairs;
	add_up(&it);
	free(it.calls);
	cJSON_Delete(root);
	return 0;
}
