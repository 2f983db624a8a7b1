/*
 * Which layers have weights: JAX names each argument of a program after the place in the program's own trees,
 * "p['params']['block0']['qkv']['kernel']", and the optimizer's state of it by the same keys.
 */
#include "hlo_program.h"

#include <stdlib.h>

#define DEPTH_MOST 4 /* of copies and the like */
#define WAY_MOST 12  /* to the layer before */

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
			module->arguments[module->argument_count++] = (struct hlo_argument){
				arena_text(arena, text, length), leaf, i->element_count};
	}
}

/* How well an argument's path is the layer's: the layer may have one component in front, the root's. 0: it is
 * not. */
static size_t fit(const char *layer, const char *path)
{
	const size_t length = strlen(layer), n = strlen(path);
	const char *behind = length >= n ? layer + length - n : NULL;

	if (n == 0 || !behind || strcmp(behind, path) != 0)
		return 0;
	if (behind > layer && (behind[-1] != '/' || memchr(layer, '/', (size_t)(behind - 1 - layer))))
		return 0;
	return n;
}

/* A weight by its own name, as layers of plain JAX are called. */
static uint64_t elements_of(const struct hlo_module *module, const char *name)
{
	const struct hlo_computation *entry = &module->computations[module->entry];

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++)
		if (strcmp(module->instructions[n].opcode, "parameter") == 0 &&
			strcmp(module->instructions[n].op_name, name) == 0)
			return module->instructions[n].element_count;
	return 0;
}

static uint64_t sum(const struct hlo_module *module, const char *layer)
{
	uint64_t elements = 0;
	size_t best = 0;

	for (uint32_t i = 0; i < module->argument_count; i++) {
		const size_t fits = fit(layer, module->arguments[i].path);

		if (fits > best)
			elements = 0;
		if (fits && fits >= best) {
			elements += module->arguments[i].element_count;
			best = fits;
		}
	}
	return elements;
}

static bool has_another_within(const struct hlo_module *module, const char *layer)
{
	const size_t length = strlen(layer);

	for (uint32_t n = 0; n < module->instruction_count; n++)
		if (strncmp(module->instructions[n].layer, layer, length) == 0 &&
			module->instructions[n].layer[length] == '/')
			return true;
	return false;
}

/* ---- what belongs to a layer with weights ---- */

/* What an operand is, through what hands it on. */
static const struct hlo_instruction *source_of(const struct hlo_module *module, uint32_t operand)
{
	for (unsigned depth = 0; depth < DEPTH_MOST && operand != HLO_NO_INSTRUCTION; depth++) {
		const struct hlo_instruction *i = &module->instructions[operand];

		if (!hlo_is_passing(i) || i->operand_count == 0)
			return i;
		operand = i->operands[0];
	}
	return NULL;
}

/* The layer whose weight an instruction reads, or whose state, by the first of its operands that is one;
 * NULL: none. all: of several none. */
static const char *layer_read(
	struct arena *arena, const struct hlo_module *module, const struct hlo_instruction *i, bool all)
{
	const char *found = NULL;
	char *text, *leaf;

	for (uint32_t k = 0; k < i->operand_count; k++) {
		const struct hlo_instruction *from = source_of(module, i->operands[k]);

		if (!from || strcmp(from->opcode, "parameter") != 0 || !strstr(from->op_name, "['"))
			continue;
		text = arena_alloc(arena, strlen(from->op_name) + 1, 1);
		text[read_keys(from->op_name, text, &leaf)] = 0;
		for (uint32_t n = 0; *text && n < module->instruction_count; n++) {
			const char *layer = module->instructions[n].layer;

			if (!fit(layer, text))
				continue;
			if (!all || (found && strcmp(found, layer) != 0))
				return all ? NULL : layer;
			found = layer;
			break;
		}
	}
	return found;
}

static bool is_of_pass(const struct hlo_instruction *i)
{
	return i->direction == HLO_FORWARD || i->direction == HLO_BACKWARD || i->direction == HLO_RECOMPUTED;
}

/* The nearest layer with weights that comes before it in the forward pass: forward by what it is made of,
 * backward by what is made of it. */
static const char *layer_before(const struct hlo_module *module, const struct hlo_instruction *i)
{
	const enum hlo_direction direction = i->direction;

	for (unsigned depth = 0; depth < WAY_MOST; depth++) {
		const uint32_t *next = direction == HLO_BACKWARD ? i->users : i->operands;
		const uint32_t count = direction == HLO_BACKWARD ? i->user_count : i->operand_count;
		const struct hlo_instruction *on = NULL;

		for (uint32_t k = 0; k < count; k++) {
			const struct hlo_instruction *other =
				next[k] == HLO_NO_INSTRUCTION ? NULL : &module->instructions[next[k]];

			if (!other || (other->direction != direction && !hlo_is_passing(other)))
				continue;
			if (other->direction == direction && other->owns)
				return other->layer;
			on = on ? on : other;
		}
		if (!on)
			return NULL;
		i = on;
	}
	return NULL;
}

/*
 * What has no weights of its own, as an activation, has the path of the module around it: it is of the layer
 * before it, in either pass. Where it is fused with that one's bias or scale it reads it.
 */
static void give_layers(struct arena *arena, struct hlo_module *module)
{
	const char **layers = mem_alloc(module->instruction_count + 1u, sizeof(*layers));

	for (uint32_t n = 0; n < module->instruction_count; n++)
		module->instructions[n].owns =
			module->names_arguments ? sum(module, module->instructions[n].layer) > 0
						: elements_of(module, module->instructions[n].layer) > 0;
	for (uint32_t n = 0; n < module->instruction_count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];

		if (i->direction == HLO_UPDATE)
			layers[n] = layer_read(arena, module, i, true);
		if (!is_of_pass(i) || i->owns || strcmp(i->opcode, "parameter") == 0)
			continue;
		layers[n] = strcmp(i->opcode, "fusion") == 0 && module->names_arguments
				    ? layer_read(arena, module, i, false)
				    : NULL;
		layers[n] = layers[n] ? layers[n] : layer_before(module, i);
	}
	for (uint32_t n = 0; n < module->instruction_count; n++)
		if (layers[n])
			module->instructions[n].layer = layers[n];
	free(layers);
}

bool hlo_owns(const struct hlo_module *module, const char *layer, uint64_t *elements)
{
	*elements = elements_of(module, layer);
	if (*elements == 0)
		*elements = sum(module, layer);
	return *elements > 0 || (!module->names_arguments && !has_another_within(module, layer));
}

void hlo_list_arguments(struct arena *arena, struct hlo_module *module)
{
	uint32_t kept = 0;

	list(arena, module);
	if (module->argument_count)
		qsort(module->arguments, module->argument_count, sizeof(*module->arguments),
			compare_arguments);
	for (uint32_t i = 0; i < module->argument_count; i++)
		if (kept == 0 || compare_arguments(&module->arguments[kept - 1], &module->arguments[i]) != 0)
			module->arguments[kept++] = module->arguments[i];
	module->argument_count = kept;
	for (uint32_t n = 0; n < module->instruction_count && !module->names_arguments; n++)
		module->names_arguments = sum(module, module->instructions[n].layer) > 0;
	give_layers(arena, module);
}
