/*
 * Names of arguments as JAX gives them: a variable of the program and the way to the array in its tree,
 * "p['fc1']['w']", "p.blocks[0].norm.weight", "s[0].mu['fc1']['w']".
 */
#include "hlo_program.h"

/* The way: all after the variable; NULL: the variable is the array itself. */
static const char *way_of(const char *name)
{
	const char *way = name + strcspn(name, ".[");

	return *way && way > name ? way : NULL;
}

bool hlo_tree_names(const char *name)
{
	return way_of(name) != NULL;
}

/* The end of a key that begins with a bracket or a point. */
static const char *end_of_key(const char *key)
{
	const char *end;

	if (*key == '.')
		return key + 1 + strcspn(key + 1, ".[");
	end = strncmp(key, "['", 2) == 0 ? strstr(key + 2, "']") : strchr(key, ']');
	return !end ? key + strlen(key) : end + (*end == '\'') + 1;
}

/* Flax's nnx has each array within a variable of its own. */
static bool is_holder(const char *key)
{
	return strcmp(key, ".value") == 0 || strcmp(key, ".raw_value") == 0;
}

const char *hlo_tree_layer(struct arena *arena, const char *name)
{
	const char *way = way_of(name), *last = way;

	for (const char *key = way; key && *key && !is_holder(key); key = end_of_key(key))
		last = key;
	return last && last > way ? arena_text(arena, name, (size_t)(last - name)) : name;
}

bool hlo_tree_is_state_of(const char *state, const char *weight)
{
	const char *way = way_of(weight);
	const size_t length = strlen(state), n = way ? strlen(way) : 0;

	return n > 0 && length > n && strcmp(state + length - n, way) == 0;
}
