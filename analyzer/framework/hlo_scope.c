/*
 * Which scope an argument's layer has. Flax calls both by the same path, but for the root module: "GPT/fc1"
 * has p['params']['fc1']['kernel']. Haiku calls a weight after the module that made it, and the scope after
 * what calls it, too: "net/sequential/linear" has p['net/linear']['w']. So where no scope is an argument's
 * path, its scope is the nearest one that has all of the path in it, and its end at its end.
 */
#include "hlo_program.h"

#include <stdlib.h>

/* How many components a layer has that the path lacks; UINT32_MAX: it is not in it. */
static uint32_t count_more(const char *layer, const char *path)
{
	uint32_t more = 0;

	for (;;) {
		const size_t n = strcspn(layer, "/"), m = strcspn(path, "/");
		const bool is_same = n == m && memcmp(layer, path, n) == 0;

		/* the last of the one is the last of the other */
		if (!layer[n] || !path[m]) {
			if (!layer[n])
				return is_same && !path[m] ? more : UINT32_MAX;
			more++;
			layer += n + 1;
			continue;
		}
		more += !is_same;
		layer += n + 1;
		path += is_same ? m + 1 : 0;
	}
}

size_t hlo_scope_fit(const char *layer, const char *path)
{
	const size_t length = strlen(layer), n = strlen(path);
	const char *tail = length >= n ? layer + length - n : NULL;

	if (n == 0 || !tail || strcmp(tail, path) != 0)
		return 0;
	if (tail > layer && (tail[-1] != '/' || memchr(layer, '/', (size_t)(tail - 1 - layer))))
		return 0;
	return n;
}

static bool is_path_of(const struct hlo_module *module, const char *layer)
{
	for (uint32_t n = 0; n < module->argument_count; n++)
		if (hlo_scope_fit(layer, module->arguments[n].path))
			return true;
	return false;
}

static bool is_scope(const struct hlo_module *module, const char *path)
{
	for (uint32_t n = 0; n < module->layer_count; n++)
		if (hlo_scope_fit(module->layers[n].name, path))
			return true;
	return false;
}

/* The nearest layer that has the path in it, of those that are no argument's path; NULL: none, or several. */
static const char *nearest(const struct hlo_module *module, const char *path)
{
	uint32_t least = UINT32_MAX;
	const char *found = NULL;

	for (uint32_t n = 0; n < module->layer_count; n++) {
		const char *layer = module->layers[n].name;
		const uint32_t more = count_more(layer, path);

		if (more > least || more == UINT32_MAX || is_path_of(module, layer))
			continue;
		found = more < least ? layer : NULL;
		least = more;
	}
	return found;
}

/* Whether an argument with another path, no shorter, has found the same layer. */
static bool is_outdone(const struct hlo_module *module, const char *const *found, uint32_t argument)
{
	const char *path = module->arguments[argument].path;

	for (uint32_t n = 0; found[argument] && n < module->argument_count; n++)
		if (found[n] && strcmp(found[n], found[argument]) == 0 &&
			strlen(module->arguments[n].path) >= strlen(path) &&
			strcmp(module->arguments[n].path, path) != 0)
			return true;
	return false;
}

void hlo_find_scopes(struct hlo_module *module)
{
	const char **found = mem_alloc(module->argument_count + 1u, sizeof(*found));

	for (uint32_t n = 0; n < module->argument_count; n++) {
		const struct hlo_argument *a = &module->arguments[n];

		if (n > 0 && strcmp(a[-1].path, a->path) == 0)
			found[n] = found[n - 1];
		else if (a->path[0] && !is_scope(module, a->path))
			found[n] = nearest(module, a->path);
	}
	for (uint32_t n = 0; n < module->argument_count; n++)
		if (!is_outdone(module, found, n))
			module->arguments[n].scope = found[n];
	free(found);
}
