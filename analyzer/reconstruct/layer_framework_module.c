/* Layers and modules, where the framework says which module runs: one module is one layer, in the order in which passes
 * come to them (layer_framework.c). */
#include "layer_framework.h"

#include <stdlib.h>
#include <string.h>

/* The path below the outermost module, whose name is that of a variable, and may be another at another time; NULL: there is
 * none. */
static const char *below_root(const char *module)
{
	const char *dot = strchr(module, '.');

	return dot ? dot + 1 : NULL;
}

bool layer_is_class_name(const char *module)
{
	return *module >= 'A' && *module <= 'Z';
}

/* The only layer with this path where the outermost module has the name of its class, here or there; else LAYER_NONE. */
static uint32_t layer_below_root(const struct layer_list *list, const char *module)
{
	const char *below = below_root(module);
	uint32_t found = LAYER_NONE;

	for (uint32_t layer = 0; below && layer < list->count; layer++) {
		const char *other = below_root(list->items[layer].module);

		if (!other || layer_is_class_name(module) == layer_is_class_name(list->items[layer].module) ||
			!layer_same_module(other, below))
			continue;
		if (found != LAYER_NONE)
			return LAYER_NONE;
		found = layer;
	}
	return found;
}

/* The layer of a module that has parameters. What data flow took for a layer without a name gets this one. */
uint32_t layer_of_module(struct layer_assign *assign, uint32_t step, const char *module)
{
	struct layer_list *list = assign->list;
	const uint32_t found = assign->layers[step];
	uint32_t layer;

	if (found != LAYER_NONE && layer_same_module(list->items[found].module, module))
		return found;
	for (layer = 0; layer < list->count; layer++)
		if (layer_same_module(list->items[layer].module, module))
			return layer;
	layer = assign->roots_apart ? LAYER_NONE : layer_below_root(list, module);
	if (layer != LAYER_NONE) {
		if (!layer_is_class_name(module))
			list->items[layer].module = arena_text(&list->arena, module, strlen(module));
		return layer;
	}
	if (found != LAYER_NONE && !*list->items[found].module) {
		layer = found;
	} else {
		layer = layer_new(assign, step);
		list->items[layer].partly_sized = true;
	}
	list->items[layer].module = arena_text(&list->arena, module, strlen(module));
	return layer;
}

static bool goes_back(const struct layer_assign *assign, uint32_t layer)
{
	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (assign->layers[i] == layer && assign->passes[i] == LAYER_BACKWARD)
			return true;
	return false;
}

/* The other layer's work is this one's, and its parameters, unless they are buffers, to which nothing goes back. */
static void join_layers(struct layer_assign *assign, uint32_t layer, uint32_t other)
{
	const uint32_t owner = goes_back(assign, other) ? layer : LAYER_NONE;

	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (assign->layers[i] == other)
			assign->layers[i] = layer;
	for (size_t p = 0; p < assign->graph.parameter_count; p++)
		if (assign->owners[p] == other)
			assign->owners[p] = owner;
	if (owner == layer) {
		assign->list->items[layer].parameter_bytes += assign->list->items[other].parameter_bytes;
		assign->list->items[layer].partly_sized |= assign->list->items[other].partly_sized;
	}
	assign->list->items[other].parameter_bytes = 0;
	assign->list->items[other].module = "";
	assign->list->items[other].name = NULL; /* goes with the next sorting */
}

/* What data flow took for several layers of one module is one. */
void layer_join_modules(struct layer_assign *assign)
{
	struct layer *items = assign->list->items;

	for (uint32_t l = 0; l < assign->list->count; l++)
		for (uint32_t o = l + 1; o < assign->list->count && *items[l].module; o++) {
			const bool larger = items[o].parameter_bytes > items[l].parameter_bytes;

			if (!layer_same_module(items[l].module, items[o].module))
				continue;
			join_layers(assign, larger ? o : l, larger ? l : o);
		}
}

/* The length of the name of the outermost module. */
static size_t root_length(const char *module)
{
	return strcspn(module, ".");
}

bool layer_same_root(const char *module, const char *other)
{
	return module && other && !layer_is_class_name(module) && root_length(module) == root_length(other) &&
	       strncmp(module, other, root_length(module)) == 0;
}

/* Where all layers but those with a class's name have the same outermost module, it is theirs too. */
void layer_name_roots(struct layer_list *list)
{
	const char *root = NULL;

	for (uint32_t l = 0; l < list->count; l++) {
		const char *module = list->items[l].module;

		if (!*module || layer_is_class_name(module))
			continue;
		if (root && !layer_same_root(root, module))
			return;
		root = module;
	}
	for (uint32_t l = 0; l < list->count && root; l++) {
		const char *below = layer_is_class_name(list->items[l].module) ? below_root(list->items[l].module) : NULL;

		if (below)
			list->items[l].module =
				arena_format(&list->arena, "%.*s.%s", (int)root_length(root), root, below);
	}
}

/* ---- the order of layers: that in which passes come to them ---- */

struct order {
	uint32_t layer, first; /* step */
};

static int compare_orders(const void *left, const void *right)
{
	const struct order *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->layer < b->layer ? -1 : a->layer > b->layer;
}

static void renumber(uint32_t *layers, size_t count, const uint32_t *now)
{
	for (size_t i = 0; i < count; i++)
		if (layers[i] != LAYER_NONE)
			layers[i] = now[layers[i]];
}

/* Has the role of the step the layer that data flow or the framework has found? As layer_set_roles has it: of
 * an evaluation none, of an update those that the framework says. */
static bool counts_to_layer(const struct layer_assign *assign, uint32_t step)
{
	return assign->passes[step] == LAYER_FORWARD || assign->passes[step] == LAYER_BACKWARD ||
	       (assign->passes[step] == LAYER_AFTER && assign->reasons[step].layer == LAYER_WHY_ASKED);
}

/* A layer that data flow or a function's kind has made, and of which the framework has said that all of its
 * calls are another's, or of no pass, is none; nor has it a name. */
static void unname_empty(struct layer_assign *assign)
{
	bool *is_used = mem_alloc(assign->list->count, sizeof(*is_used));

	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		if (assign->layers[i] != LAYER_NONE && counts_to_layer(assign, i))
			is_used[assign->layers[i]] = true;
	for (size_t i = 0; i < assign->graph.parameter_count; i++)
		if (assign->owners[i] != LAYER_NONE)
			is_used[assign->owners[i]] = true;
	for (size_t l = 0; l < assign->list->count; l++)
		if (!is_used[l])
			assign->list->items[l].name = NULL;
	free(is_used);
}

void layer_sort(struct layer_assign *assign)
{
	struct layer_list *list = assign->list;
	struct order *orders = mem_alloc(list->count, sizeof(*orders));
	struct layer *items = mem_alloc(list->count, sizeof(*items));
	uint32_t *now = mem_alloc(list->count, sizeof(*now));
	size_t kept = 0;

	memset(now, 0xff, list->count * sizeof(*now)); /* LAYER_NONE */
	unname_empty(assign);
	for (uint32_t l = 0; l < list->count; l++)
		orders[l] = (struct order){l, UINT32_MAX};
	for (uint32_t i = assign->graph.step_count; i-- > 0;)
		if (assign->layers[i] != LAYER_NONE && assign->passes[i] == LAYER_FORWARD)
			orders[assign->layers[i]].first = i;
	for (uint32_t l = 1; l < list->count; l++) /* one without forward work stays after its neighbour */
		if (orders[l].first == UINT32_MAX)
			orders[l].first = orders[l - 1].first;
	qsort(orders, list->count, sizeof(*orders), compare_orders);
	memcpy(items, list->items, list->count * sizeof(*items));
	for (uint32_t l = 0; l < list->count; l++) {
		if (!items[orders[l].layer].name)
			continue;
		now[orders[l].layer] = (uint32_t)kept;
		list->items[kept++] = items[orders[l].layer];
	}
	list->count = kept;
	renumber(assign->layers, assign->graph.step_count, now);
	renumber(assign->owners, assign->graph.parameter_count, now);
	free(orders);
	free(items);
	free(now);
}
