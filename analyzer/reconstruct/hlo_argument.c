/*
 * Which layers have weights: JAX names each argument of a program after the place in the program's own trees,
 * "p['params']['block0']['qkv']['kernel']", and the optimizer's state of it by the same keys.
 */
#include "hlo.h"

#include <stdlib.h>

/* Keys of an argument's name, from the first in quotes on, without flax's collection. Returns how many characters of `out`,
 * as long as the name, the path has; *leaf: the last key. 0 with *leaf NULL: there are none. */
static size_t read_keys(const char *name, char *out, char **leaf)
{
	size_t n = 0, last = 0;
	unsigned count = 0;

	*leaf = NULL;
	for (const char *p = name; (p = strstr(p, "['")) != NULL;) {
		const char *end = strstr(p += 2, "']");

		if (!end)
			break;
		if (count++ == 0 && (size_t)(end - p) == strlen("params") && strncmp(p, "params", strlen("params")) == 0)
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

/* How well an argument's path is the layer's: the layer may have one component in front, the root's. 0: it is not. */
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
		if (strncmp(module->instructions[n].layer, layer, length) == 0 && module->instructions[n].layer[length] == '/')
			return true;
	return false;
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
		qsort(module->arguments, module->argument_count, sizeof(*module->arguments), compare_arguments);
	for (uint32_t i = 0; i < module->argument_count; i++)
		if (kept == 0 || compare_arguments(&module->arguments[kept - 1], &module->arguments[i]) != 0)
			module->arguments[kept++] = module->arguments[i];
	module->argument_count = kept;
	for (uint32_t n = 0; n < module->instruction_count && !module->names_arguments; n++)
		module->names_arguments = sum(module, module->instructions[n].layer) > 0;
}
