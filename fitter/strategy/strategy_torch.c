/* A PyTorch program's memory, replayed: see strategy_torch.h. */
#include "strategy_torch.h"
#include "caching_allocator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INDICES 2 /* bytes of an index over those of a number */

enum { STEPS = 4, MAIN = 0, GATHER, SCATTER };

const char strategy_torch_sentence[] =
	"A PyTorch program: data is DistributedDataParallel, zero-1 that with ZeroRedundancyOptimizer, zero-2 and zero-3 "
	"are fully_shard of each block, with reshard_after_forward=False and as it is by default.";

/* Tensors that are given back together. */
struct bag {
	size_t *blocks, count, room;
};

struct replay {
	struct caching_allocator memory;
	const struct strategy_net *net;
	const struct strategy_how *how;
	double batch, workers;
	enum strategy_torch way;
	struct bag parameters, gradients, optimizer, input;
	struct bag *kept;                 /* by layer */
	struct bag *gathered, *unsharded; /* by unit */
	struct bag *coming;               /* by unit: gathered, and not yet copied out */
	struct bag scattered;             /* the input of the last scatter */
	size_t before;                    /* forward: the unit gathered before this one */
};

static void strategy_torch_take(struct replay *r, struct bag *bag, double bytes, int stream)
{
	if (bytes <= 0)
		return;
	if (bag->count == bag->room) {
		size_t room = bag->room ? 2 * bag->room : 8;
		size_t *blocks = realloc(bag->blocks, room * sizeof(*blocks));

		if (!blocks) {
			r->memory.failed = true;
			return;
		}
		bag->blocks = blocks;
		bag->room = room;
	}
	bag->blocks[bag->count++] = caching_allocate(&r->memory, bytes, stream);
}

static void give_back(struct replay *r, struct bag *bag)
{
	for (size_t i = 0; i < bag->count; i++)
		caching_free(&r->memory, bag->blocks[i]);
	bag->count = 0;
}

static bool is_sharded(const struct replay *r)
{
	return r->way == TORCH_ZERO_2 || r->way == TORCH_ZERO_3;
}

static bool is_tensor(const struct replay *r)
{
	return r->way == TORCH_TENSOR || r->way == TORCH_TENSOR_GATHERED;
}

/* How the layer is divided among the workers, if it is. */
static enum strategy_divide divide_of(const struct replay *r, size_t layer)
{
	const enum strategy_divide divide = r->net->layers[layer].divide;

	return is_tensor(r) && r->workers > 1 &&
			       (divide != STRATEGY_GATHERED || r->way == TORCH_TENSOR_GATHERED)
		       ? divide
		       : STRATEGY_UNDIVIDED;
}

/* Of a tensor of a layer's parameters, what this worker has of the whole of it: of products by rows all have
 * the biases. */
static double own_bytes(const struct replay *r, size_t layer, int k)
{
	const double bytes = r->net->layers[layer].tensor_bytes[k];
	const enum strategy_divide divide = divide_of(r, layer);

	return divide == STRATEGY_UNDIVIDED || (divide == STRATEGY_ROWS && k > 0) ? bytes
										  : ceil(bytes / r->workers);
}

/* Each tensor of a layer's parameters, or each worker's part of it. */
static void take_layer(struct replay *r, struct bag *bag, size_t layer, bool whole)
{
	for (int k = 0; k < STRATEGY_TENSORS; k++)
		strategy_torch_take(r, bag, ceil(own_bytes(r, layer, k) / (whole ? 1 : r->workers)), MAIN);
}

static void take_layers(struct replay *r, struct bag *bag, bool whole)
{
	for (size_t i = 0; i < r->net->layer_count; i++)
		take_layer(r, bag, i, whole);
}

static double unit_bytes(const struct replay *r, size_t unit)
{
	double sum = 0;

	for (size_t i = 0; i < r->net->layer_count; i++)
		sum += r->net->layers[i].unit == unit ? r->net->layers[i].parameter_bytes : 0;
	return sum;
}

/* fully_shard goes from unit to unit, the root last, and from tensor to tensor: the part is made, and the
 * whole freed. */
static void shard(struct replay *r, struct bag *whole, size_t unit)
{
	const size_t count = STRATEGY_TENSORS * r->net->layer_count;

	for (size_t i = 0; i < count; i++) {
		const struct strategy_layer *layer = &r->net->layers[i / STRATEGY_TENSORS];

		if (layer->unit != unit)
			continue;
		strategy_torch_take(r, &r->parameters,
			ceil(layer->tensor_bytes[i % STRATEGY_TENSORS] / r->workers), MAIN);
		give_back(r, &whole[i]);
	}
}

/* parallelize_module goes from product to product: the part is made, and the whole freed. */
static void divide_parameters(struct replay *r, struct bag *whole)
{
	for (size_t i = 0; i < STRATEGY_TENSORS * r->net->layer_count; i++) {
		const size_t layer = i / STRATEGY_TENSORS, k = i % STRATEGY_TENSORS;
		const double own = own_bytes(r, layer, (int)k);

		if (own < r->net->layers[layer].tensor_bytes[k]) {
			strategy_torch_take(r, &r->parameters, own, MAIN);
			give_back(r, &whole[i]);
		}
	}
}

static void make_parameters(struct replay *r)
{
	const double all = strategy_parameter_bytes(r->net, 0, r->net->layer_count);
	const size_t count = STRATEGY_TENSORS * r->net->layer_count;
	struct bag *whole = calloc(count, sizeof(*whole));

	r->memory.failed |= !whole;
	for (size_t i = 0; whole && i < count; i++)
		strategy_torch_take(r, &whole[i],
			r->net->layers[i / STRATEGY_TENSORS].tensor_bytes[i % STRATEGY_TENSORS], MAIN);
	for (size_t unit = 1; whole && is_sharded(r) && unit <= r->net->layer_count; unit++)
		shard(r, whole, unit);
	if (whole && is_sharded(r))
		shard(r, whole, STRATEGY_ROOT);
	if (whole && is_tensor(r))
		divide_parameters(r, whole);
	if (r->way == TORCH_DDP || r->way == TORCH_ZERO_1)
		strategy_torch_take(r, &r->parameters, all, MAIN);
	for (double rank = 0; r->way == TORCH_ZERO_1 && rank < r->workers; rank++)
		strategy_torch_take(r, &r->parameters, ceil(all / r->workers), MAIN);
	for (size_t i = 0; whole && i < count; i++) {
		if (r->way == TORCH_ZERO_1)
			give_back(r, &whole[i]);
		free(whole[i].blocks);
	}
	free(whole);
}

/* ---- FSDP2's units ---- */

static void gather(struct replay *r, size_t unit)
{
	if (!r->coming[unit].count && !r->gathered[unit].count)
		strategy_torch_take(r, &r->coming[unit], unit_bytes(r, unit), GATHER);
}

static void copy_out(struct replay *r, size_t unit)
{
	if (r->gathered[unit].count)
		return;
	for (size_t i = 0; i < r->net->layer_count; i++)
		if (r->net->layers[i].unit == unit)
			take_layer(r, &r->gathered[unit], i, true);
}

/* Its gathered tensor is freed when the next unit has been copied out. */
static void enter_forward(struct replay *r, size_t unit)
{
	if (!is_sharded(r) || r->gathered[unit].count)
		return;
	gather(r, unit);
	copy_out(r, unit);
	if (r->before != unit)
		give_back(r, &r->coming[r->before]);
	r->before = unit;
}

/* The unit that backward comes to after this layer's; its own number: there is none. */
static size_t next_back(const struct replay *r, size_t layer)
{
	const size_t unit = r->net->layers[layer].unit;

	while (layer-- > 0)
		if (r->net->layers[layer].unit != unit && r->net->layers[layer].unit != STRATEGY_ROOT)
			return r->net->layers[layer].unit;
	return unit;
}

static void enter_backward(struct replay *r, size_t layer)
{
	const size_t unit = r->net->layers[layer].unit;

	if (r->way != TORCH_ZERO_3 || r->gathered[unit].count)
		return;
	gather(r, unit);
	copy_out(r, unit);
	give_back(r, &r->coming[unit]);
	gather(r, next_back(r, layer));
}

static void scatter(struct replay *r, size_t unit)
{
	const double bytes = unit_bytes(r, unit);

	give_back(r, &r->scattered);
	give_back(r, &r->gathered[unit]);
	strategy_torch_take(r, &r->scattered, bytes, MAIN);
	give_back(r, &r->unsharded[unit]);
	strategy_torch_take(r, &r->gradients, ceil(bytes / r->workers), SCATTER);
}

/* ---- a step ---- */

/* Of a sample; a layer whose input is not known has that in front of it. */
static double input_bytes(const struct replay *r, size_t layer)
{
	double bytes = r->net->layers[layer].input_bytes;

	while (bytes <= 0 && layer-- > 0)
		bytes = r->net->layers[layer].output_bytes;
	for (size_t i = 0; bytes <= 0 && i < r->net->layer_count; i++)
		bytes = r->net->layers[i].input_bytes;
	return bytes;
}

static double output_bytes(const struct replay *r, size_t layer)
{
	const double bytes = r->net->layers[layer].output_bytes;

	return bytes > 0 ? bytes : input_bytes(r, layer);
}

/* Is the layer's input of a size that was not there before? */
static bool is_new(const struct replay *r, size_t layer)
{
	const double bytes = input_bytes(r, layer);

	if (fabs(input_bytes(r, 0) - bytes) < 0.5)
		return false;
	for (size_t i = 0; i < layer; i++)
		if (fabs(output_bytes(r, i) - bytes) < 0.5)
			return false;
	return true;
}

/* Of an input or output, the part that this worker has. */
static double input_part(const struct replay *r, size_t layer)
{
	return r->batch * input_bytes(r, layer) / (divide_of(r, layer) == STRATEGY_ROWS ? r->workers : 1);
}

static double output_part(const struct replay *r, size_t layer)
{
	return r->batch * output_bytes(r, layer) / (divide_of(r, layer) == STRATEGY_COLUMNS ? r->workers : 1);
}

/* What a batch that grows with the workers does not leave out. */
static bool has_logits(const struct replay *r, size_t layer)
{
	return is_tensor(r) && r->net->layers[layer].divide == STRATEGY_GATHERED;
}

/* The product after all blocks has logits, and a part of them where it is divided; their logarithms are left
 * for backward. */
static void take_logits(struct replay *r, size_t layer)
{
	const double bytes = r->batch * output_bytes(r, layer);
	struct bag logits = {0};

	if (divide_of(r, layer) == STRATEGY_GATHERED)
		strategy_torch_take(r, &logits, bytes / r->workers, MAIN);
	strategy_torch_take(r, &logits, bytes, MAIN);
	strategy_torch_take(r, &r->kept[layer], bytes, MAIN);
	give_back(r, &logits);
	free(logits.blocks);
}

static void forward(struct replay *r, size_t layer)
{
	const struct strategy_layer *l = &r->net->layers[layer];
	const double input = input_part(r, layer), output = output_part(r, layer);
	struct bag part = {0};

	enter_forward(r, l->unit);
	for (size_t i = 0; i < l->between; i++)
		strategy_torch_take(r, &r->kept[layer], input, MAIN);
	if (is_new(r, layer)) {
		strategy_torch_take(r, &r->kept[layer], input, MAIN);
		strategy_torch_take(r, &r->kept[layer], INDICES * input, MAIN);
	}
	if (has_logits(r, layer)) {
		take_logits(r, layer);
		return;
	}
	if (divide_of(r, layer) == STRATEGY_ROWS)
		strategy_torch_take(r, &part, output, MAIN);
	strategy_torch_take(r, &r->kept[layer], output, MAIN);
	give_back(r, &part);
	free(part.blocks);
	if (l->output_bytes > 0 && l->kept_bytes > 1.5 * l->output_bytes)
		strategy_torch_take(r, &r->kept[layer], output, MAIN);
	if (r->way == TORCH_ZERO_3 && l->unit != STRATEGY_ROOT &&
		(layer + 1 == r->net->layer_count || r->net->layers[layer + 1].unit != l->unit))
		give_back(r, &r->gathered[l->unit]);
}

/* *gradient is that of its output, and becomes that of its input. */
static void backward(struct replay *r, size_t layer, struct bag *gradient)
{
	const size_t unit = r->net->layers[layer].unit;
	struct bag input = {0}, part = {0};

	enter_backward(r, layer);
	if (divide_of(r, layer) == STRATEGY_COLUMNS || divide_of(r, layer) == STRATEGY_GATHERED)
		strategy_torch_take(r, &part, r->batch * input_bytes(r, layer), MAIN);
	strategy_torch_take(r, &input, input_part(r, layer), MAIN);
	give_back(r, &part);
	free(part.blocks);
	take_layer(r, is_sharded(r) ? &r->unsharded[unit] : &r->gradients, layer, true);
	give_back(r, gradient);
	give_back(r, &r->kept[layer]);
	free(gradient->blocks);
	*gradient = input;
	if (is_sharded(r) && unit != STRATEGY_ROOT && (layer == 0 || r->net->layers[layer - 1].unit != unit))
		scatter(r, unit);
}

/* Of the last layer's output; of logits first that of their logarithms, and it is cut where it is gathered.
 */
static void begin_backward(struct replay *r, struct bag *gradient)
{
	const size_t last = r->net->layer_count - 1;
	const double bytes = r->batch * output_bytes(r, last);
	struct bag logarithms = {0};

	if (has_logits(r, last))
		strategy_torch_take(r, &logarithms, bytes, MAIN);
	strategy_torch_take(r, gradient, bytes, MAIN);
	give_back(r, &logarithms);
	if (divide_of(r, last) == STRATEGY_GATHERED) {
		give_back(r, &r->kept[last]);
		strategy_torch_take(r, &logarithms, bytes / r->workers, MAIN);
		give_back(r, gradient);
		free(gradient->blocks);
		*gradient = logarithms;
	} else {
		free(logarithms.blocks);
	}
}

/* The tensors whose numbers the first worker has. */
static void take_own(struct replay *r, struct bag *bag, double copies)
{
	const size_t count = STRATEGY_TENSORS * r->net->layer_count;
	size_t *worker = strategy_torch_assign(r->net, (size_t)r->workers);

	r->memory.failed |= !worker;
	for (size_t i = 0; worker && i < count; i++)
		for (double k = 0; worker[i] == 0 && k < copies; k++)
			strategy_torch_take(r, bag,
				r->net->layers[i / STRATEGY_TENSORS].tensor_bytes[i % STRATEGY_TENSORS],
				MAIN);
	free(worker);
}

static void update(struct replay *r, bool is_first)
{
	struct bag copy = {0};

	if (r->how->optimizer_copies <= 0)
		return;
	if (r->way == TORCH_ZERO_1) {
		if (is_first)
			take_own(r, &r->optimizer, r->how->optimizer_copies);
		take_own(r, &copy, 1);
	} else {
		for (size_t i = 0; is_first && i < r->net->layer_count; i++)
			for (double k = 0; k < r->how->optimizer_copies; k++)
				take_layer(r, &r->optimizer, i, !is_sharded(r));
		take_layers(r, &copy, !is_sharded(r));
	}
	give_back(r, &copy);
	free(copy.blocks);
}

static void step(struct replay *r, bool is_first)
{
	const size_t count = r->net->layer_count;
	struct bag gradient = {0}, input = {0};

	strategy_torch_take(r, &input, r->batch * input_bytes(r, 0), MAIN);
	give_back(r, &r->input);
	free(r->input.blocks);
	r->input = input;
	give_back(r, &r->gradients);
	enter_forward(r, STRATEGY_ROOT);
	for (size_t i = 0; i < count; i++)
		forward(r, i);
	give_back(r, &r->coming[r->before]);
	begin_backward(r, &gradient);
	for (size_t i = count; i-- > 0;)
		backward(r, i, &gradient);
	give_back(r, &gradient);
	free(gradient.blocks);
	if (is_sharded(r)) {
		scatter(r, STRATEGY_ROOT);
		give_back(r, &r->scattered);
		for (size_t unit = 0; unit <= count; unit++) {
			give_back(r, &r->gathered[unit]);
			give_back(r, &r->coming[unit]);
		}
	}
	update(r, is_first);
}

static void release(struct replay *r, struct bag *bags, size_t count)
{
	struct bag *const others[] = {&r->parameters, &r->gradients, &r->optimizer, &r->input, &r->scattered};

	for (size_t i = 0; i < count; i++)
		free(bags[i].blocks);
	free(bags);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		free(others[i]->blocks);
	caching_release(&r->memory);
}

double strategy_torch_bytes(const struct strategy_net *net, const struct strategy_how *how, double batch,
	size_t workers, enum strategy_torch way)
{
	const size_t each = net->layer_count + 1; /* units are numbered from 0, the root, to the layers */
	struct bag *bags = calloc(4 * each, sizeof(*bags));
	struct replay r = {.net = net,
		.how = how,
		.batch = batch,
		.workers = (double)workers,
		.way = way};
	double bytes = NAN;

	if (!bags)
		return NAN;
	r.kept = bags;
	r.gathered = bags + each;
	r.unsharded = bags + 2 * each;
	r.coming = bags + 3 * each;
	make_parameters(&r);
	for (int i = 0; i < STEPS; i++)
		step(&r, i == 0);
	if (!r.memory.failed)
		bytes = (double)r.memory.reserved;
	release(&r, bags, 4 * each);
	return bytes;
}
