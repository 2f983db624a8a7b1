/*
 * Which layers have weights: JAX names each argument of a program after the place in the program's own trees,
 * "p['params']['block0']['qkv']['kernel']", and the optimizer's state of it by the same keys. Where no scope
 * of the program is such a place, and products of several places have one scope, as with Equinox, whose
 * scopes are classes, or none, layers are the places of the weights that products are found to work with.
 */
#include "hlo_program.h"

#include <stdlib.h>

#define WAY_MOST 32 /* instructions looked at for the layer before */

/* Keys of an argument's name, from the first in quotes on, without flax's collection. Returns how many
 * characters of `out`, as long as the name, the path has; *leaf: the last key. 0 with *leaf NULL: there are
 * none. */
static size_t read_keys(const char *name, char *out, char **leaf)
{
	size_t n = 0, last = 0;
	unsigned count = 0;

	*leaf = NULL;
	for (const char *p = name; (p = strstr(p, "['")) != NULL;) {
		const char *end = strstr(p += 2, "']");

		if (!end)
			break;
		if (count++ == 0 && (size_t)(end - p) == strlen("params") &&
			strncmp(p, "params", strlen("params")) == 0)
			continue;
		last = n;
		if (n)
			out[n++] = '/';
		memcpy(out + n, p, (size_t)(end - p));
		n += (size_t)(end - p);
		p = end;
	}
	out[n] = 0;
	if (n == 0)
		return 0;
	*leaf = out + last + (last > 0);
	return last;
}

static int compare_arguments(const void *left, const void *right)
{
	const struct hlo_argument *a = left, *b = right;
	const int order = strcmp(a->path, b->path);

	return order ? order : strcmp(a->leaf, b->leaf);
}

static void list(struct arena *arena, struct hlo_module *module)
{
	const struct hlo_computation *entry = &module->computations[module->entry];

	module->arguments = arena_alloc(arena, entry->count + 1u, sizeof(*module->arguments));
	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];
		char *text, *leaf;
		size_t length;

		if (strcmp(i->opcode, "parameter") != 0 || !strstr(i->op_name, "['"))
			continue;
		text = arena_alloc(arena, strlen(i->op_name) + 1, 1);
		length = read_keys(i->op_name, text, &leaf);
		if (leaf)
			module->arguments[module->argument_count++] =
				(struct hlo_argument){.path = arena_text(arena, text, length),
					.leaf = leaf,
					.element_count = i->element_count};
	}
}

/* Of the weights that a layer by the place of weights has. */
static uint64_t elements_at(
	struct arena *arena, const struct hlo_module *module, const struct hlo_flow *flow, const char *layer)
{
	const struct hlo_computation *entry = &module->computations[module->entry];
	uint64_t elements = 0;

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];

		if (strcmp(i->opcode, "parameter") == 0 && flow->is_loss[n] &&
			strncmp(i->op_name, layer, strlen(layer)) == 0 && hlo_weight_of(module, flow, i)[0] &&
			strcmp(hlo_tree_layer(arena, i->op_name), layer) == 0)
			elements += i->element_count;
	}
	return elements;
}

static uint64_t sum(const struct hlo_module *module, const char *layer)
{
	uint64_t elements = 0;
	size_t best = 0;

	for (uint32_t i = 0; i < module->argument_count; i++) {
		const struct hlo_argument *a = &module->arguments[i];
		const size_t fits = a->scope && strcmp(a->scope, layer) == 0 ? strlen(a->path)
									     : hlo_scope_fit(layer, a->path);

		if (fits > best)
			elements = 0;
		if (fits && fits >= best) {
			elements += a->element_count;
			best = fits;
		}
	}
	return elements;
}

/* ---- the module's layers ---- */

static int compare_layers(const void *left, const void *right)
{
	return strcmp(((const struct hlo_layer *)left)->name, ((const struct hlo_layer *)right)->name);
}

static struct hlo_layer *layer_at(const struct hlo_module *module, const char *name)
{
	const struct hlo_layer key = {.name = name};

	return module->layer_count
		       ? bsearch(&key, module->layers, module->layer_count, sizeof(key), compare_layers)
		       : NULL;
}

/* Each once; what is in another one comes after it. */
static void list_layers(struct arena *arena, struct hlo_module *module)
{
	uint32_t count = 0, kept = 0;

	module->layers = arena_alloc(arena, module->instruction_count + 1u, sizeof(*module->layers));
	for (uint32_t n = 0; n < module->instruction_count; n++)
		if (module->instructions[n].layer[0])
			module->layers[count++].name = module->instructions[n].layer;
	if (count)
		qsort(module->layers, count, sizeof(*module->layers), compare_layers);
	for (uint32_t n = 0; n < count; n++)
		if (kept == 0 || compare_layers(&module->layers[kept - 1], &module->layers[n]) != 0)
			module->layers[kept++] = module->layers[n];
	module->layer_count = kept;
}

/* ---- what belongs to a layer with weights ---- */

struct giving {
	struct arena *arena;
	struct hlo_module *module;
	const struct hlo_flow *flow;
	const char **of_argument; /* by instruction: the layer whose weight, or whose state, an argument is;
				     NULL: none */
	bool by_weights;          /* layers are places of weights */
};

/* The layer that a scope names, of an argument; NULL: none. */
static const char *named_layer(const struct giving *g, const char *argument)
{
	const struct hlo_module *module = g->module;
	char *text = arena_alloc(g->arena, strlen(argument) + 1, 1), *leaf;

	text[read_keys(argument, text, &leaf)] = 0;
	for (uint32_t n = 0; *text && n < module->layer_count; n++)
		if (hlo_scope_fit(module->layers[n].name, text))
			return module->layers[n].name;
	for (uint32_t n = 0; *text && n < module->argument_count; n++)
		if (strcmp(module->arguments[n].path, text) == 0)
			return module->arguments[n].scope;
	return NULL;
}

static void find_layers_of_arguments(struct giving *g)
{
	const struct hlo_computation *entry = &g->module->computations[g->module->entry];

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *i = &g->module->instructions[n];
		const char *weight;

		if (strcmp(i->opcode, "parameter") != 0 || !hlo_tree_names(i->op_name))
			continue;
		weight = g->by_weights ? hlo_weight_of(g->module, g->flow, i) : "";
		g->of_argument[n] = !g->by_weights ? named_layer(g, i->op_name)
				    : weight[0]    ? hlo_tree_layer(g->arena, weight)
						   : NULL;
	}
}

/* The layer whose weight an instruction reads, or whose state, by the first of its operands that is one;
 * NULL: none. all: of several none. */
static const char *layer_read(const struct giving *g, const struct hlo_instruction *i, bool all)
{
	const char *found = NULL;

	for (uint32_t k = 0; k < i->operand_count; k++) {
		const struct hlo_instruction *from = hlo_source(g->module, i->operands[k]);
		const char *layer = from ? g->of_argument[from - g->module->instructions] : NULL;

		if (!layer)
			continue;
		if (!all || (found && strcmp(found, layer) != 0))
			return all ? NULL : layer;
		found = layer;
	}
	return found;
}

/* The layer whose gradient an instruction hands to an update; NULL: none. */
static const char *layer_updated(const struct giving *g, const struct hlo_instruction *i)
{
	const struct hlo_instruction *argument = hlo_weight_updated(g->module, g->flow, i);

	return argument ? g->of_argument[argument - g->module->instructions] : NULL;
}

static bool is_of_pass(const struct hlo_instruction *i)
{
	return i->direction == HLO_FORWARD || i->direction == HLO_BACKWARD || i->direction == HLO_RECOMPUTED;
}

/* Those to look at, in order of their distance. */
struct way {
	const struct hlo_instruction *steps[WAY_MOST];
	unsigned count;
};

static void add_step(struct way *way, const struct hlo_instruction *i)
{
	for (unsigned k = 0; k < way->count; k++)
		if (way->steps[k] == i)
			return;
	if (way->count < WAY_MOST)
		way->steps[way->count++] = i;
}

/* The nearest layer with weights that comes before it in the forward pass: forward by what it is made of,
 * backward by what is made of it. */
static const char *layer_before(const struct hlo_module *module, const struct hlo_instruction *i)
{
	const enum hlo_direction direction = i->direction;
	struct way way = {{i}, 1};

	for (unsigned step = 0; step < way.count; step++) {
		const struct hlo_instruction *at = way.steps[step];
		const uint32_t *next = direction == HLO_BACKWARD ? at->users : at->operands;
		const uint32_t count = direction == HLO_BACKWARD ? at->user_count : at->operand_count;

		for (uint32_t k = 0; k < count; k++) {
			const struct hlo_instruction *other =
				next[k] == HLO_NO_INSTRUCTION ? NULL : &module->instructions[next[k]];

			if (other && other->direction == direction && other->owns)
				return other->layer;
			if (other && (other->direction == direction || hlo_is_passing(other)))
				add_step(&way, other);
		}
	}
	return NULL;
}

/* Products are of the place of the weight that they work with. */
static void give_weights(struct giving *g)
{
	for (uint32_t n = 0; n < g->module->instruction_count; n++) {
		struct hlo_instruction *i = &g->module->instructions[n];
		const char *weight = "";

		if (!is_of_pass(i) || strcmp(i->opcode, "parameter") == 0)
			continue;
		if (i->has_product)
			weight = hlo_weight_name(g->module, g->flow, n);
		i->layer = hlo_tree_layer(g->arena, weight);
		i->owns = weight[0];
	}
}

/* Are scopes no layers? Products have none, or one has products that work with weights of several places, as
 * the class of a module has. */
static bool are_scopes_vague(struct giving *g)
{
	const struct hlo_module *module = g->module;
	const char **places =
		mem_alloc(module->layer_count + 1u, sizeof(*places)); /* by layer, of the last product */
	bool vague = false;

	for (uint32_t n = 0; module->trains && !vague && n < module->instruction_count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];
		const struct hlo_layer *layer = layer_at(module, i->layer);
		const char *place;

		if (!layer || !i->has_product || !is_of_pass(i))
			continue;
		place = hlo_tree_layer(g->arena, hlo_weight_name(module, g->flow, n));
		if (!place[0])
			continue;
		vague = strcmp(place, i->layer) == 0 ||
			(places[layer - module->layers] &&
				strcmp(places[layer - module->layers], place) != 0);
		places[layer - module->layers] = place;
	}
	free(places);
	return vague;
}

/*
 * What has no weights of its own, as an activation, has the path of the module around it: it is of the layer
 * before it, in either pass. Where it is fused with that one's bias or scale it reads it, as what copies a
 * weight does.
 */
static const char *layer_of(const struct giving *g, const struct hlo_instruction *i)
{
	const char *layer = NULL;

	if (i->direction == HLO_BACKWARD)
		layer = layer_updated(g, i);
	if (!layer && (strcmp(i->opcode, "fusion") == 0 || hlo_is_passing(i)))
		layer = layer_read(g, i, false);
	return layer ? layer : layer_before(g->module, i);
}

/* Of what only passes a weight on the weight's layer, where its own name says none, or one that has it in it:
 * a module's recomputation has the name of what is around it. */
static const char *layer_handed(const struct giving *g, const struct hlo_instruction *i)
{
	const char *layer = layer_read(g, i, false);
	const size_t length = strlen(i->layer);

	if (!layer || !hlo_name_is_place(i->op_name))
		return layer;
	return strncmp(layer, i->layer, length) == 0 && layer[length] == '/' ? layer : NULL;
}

static void give_layers(struct giving *g)
{
	struct hlo_module *module = g->module;
	const char **layers = mem_alloc(module->instruction_count + 1u, sizeof(*layers));

	for (uint32_t n = 0; n < module->instruction_count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];

		if (i->direction == HLO_UPDATE)
			layers[n] = layer_read(g, i, true);
		else if (is_of_pass(i) && !i->owns && strcmp(i->opcode, "parameter") != 0)
			layers[n] = layer_of(g, i);
		else if (is_of_pass(i) && hlo_is_passing(i))
			layers[n] = layer_handed(g, i);
	}
	for (uint32_t n = 0; n < module->instruction_count; n++)
		if (layers[n])
			module->instructions[n].layer = layers[n];
	free(layers);
}

/* ---- all ---- */

static bool has_another_within(const struct hlo_module *module, const struct hlo_layer *layer)
{
	const size_t length = strlen(layer->name);

	for (const struct hlo_layer *next = layer + 1;
		next < module->layers + module->layer_count && strncmp(next->name, layer->name, length) == 0;
		next++)
		if (next->name[length] == '/')
			return true;
	return false;
}

static void size_layers(const struct giving *g)
{
	for (uint32_t n = 0; n < g->module->layer_count; n++) {
		struct hlo_layer *layer = &g->module->layers[n];

		layer->element_count = g->by_weights ? elements_at(g->arena, g->module, g->flow, layer->name)
						     : sum(g->module, layer->name);
		layer->owns = layer->element_count > 0 || (!g->by_weights && !g->module->names_arguments &&
								  !has_another_within(g->module, layer));
	}
}

bool hlo_owns(const struct hlo_module *module, const char *layer, uint64_t *elements)
{
	const struct hlo_layer *found = layer_at(module, layer);

	*elements = found ? found->element_count : 0;
	return found && found->owns;
}

static void sort_arguments(struct hlo_module *module)
{
	uint32_t kept = 0;

	if (module->argument_count)
		qsort(module->arguments, module->argument_count, sizeof(*module->arguments),
			compare_arguments);
	for (uint32_t i = 0; i < module->argument_count; i++)
		if (kept == 0 || compare_arguments(&module->arguments[kept - 1], &module->arguments[i]) != 0)
			module->arguments[kept++] = module->arguments[i];
	module->argument_count = kept;
}

void hlo_list_arguments(struct arena *arena, struct hlo_module *module, const struct hlo_flow *flow)
{
	struct giving g = {arena, module, flow, NULL, false};

	list(arena, module);
	sort_arguments(module);
	list_layers(arena, module);
	hlo_find_scopes(module);
	for (uint32_t n = 0; n < module->layer_count && !module->names_arguments; n++)
		module->names_arguments = sum(module, module->layers[n].name) > 0;
	g.by_weights = !module->names_arguments && are_scopes_vague(&g);
	g.of_argument = mem_alloc(module->instruction_count + 1u, sizeof(*g.of_argument));
	size_layers(&g);
	find_layers_of_arguments(&g);
	if (g.by_weights)
		give_weights(&g);
	else
		for (uint32_t n = 0; n < module->instruction_count; n++)
			if (module->instructions[n].layer[0])
				module->instructions[n].owns =
					layer_at(module, module->instructions[n].layer)->element_count > 0;
	give_layers(&g);
	hlo_label_communication(arena, module);
	list_layers(arena, module);
	size_layers(&g);
	free(g.of_argument);
}
