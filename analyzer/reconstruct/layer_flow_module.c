/*
 * What the program calls the layers of gathered parameters. Of an address only the module that was first
 * there is known, and the memory serves one unit after another: of "net.blocks.1.norm" at least "norm" holds
 * for the same parameter of all units that are built alike ("net.blocks.7"), by which most of their places
 * are named so.
 */
#include "layer_flow.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A unit's path, which is that of the module that runs when its shards are read, or NULL. */
static const char *path_of(const struct flow_work *work, const struct flow_version *version)
{
	const struct layer_assign *assign = work->assign;

	return timeline_module_at(
		&assign->timeline->processes[assign->worker->process], work->places[version->unit].address);
}

/* The length of the beginning of `path` that is `unit` but for numbers and ends with a component; 0: it has
 * none. */
static size_t match(const char *unit, const char *path)
{
	const char *p = path;

	while (*unit) {
		if (isdigit((unsigned char)*unit) && isdigit((unsigned char)*p)) {
			while (isdigit((unsigned char)*unit))
				unit++;
			while (isdigit((unsigned char)*p))
				p++;
		} else if (*unit++ != *p++) {
			return 0;
		}
	}
	return *p == 0 || *p == '.' ? (size_t)(p - path) : 0;
}

/* Is there a unit to whose module the path leads, and which is deeper in it? */
static bool is_of_inner_unit(const struct flow_work *work, const char *path, size_t length)
{
	for (size_t i = 0; i < work->version_count; i++) {
		const char *unit = path_of(work, &work->versions[i]);

		if (unit && match(unit, path) > length)
			return true;
	}
	return false;
}

/* What a version's address is called within its unit, ".norm" (or "", the unit itself), or NULL. */
static const char *name_within(const struct flow_work *work, const struct flow_version *version)
{
	const struct layer_assign *assign = work->assign;
	const char *unit = path_of(work, version);
	const char *path =
		timeline_module_at(&assign->timeline->processes[assign->worker->process], version->address);
	const size_t length = unit && path ? match(unit, path) : 0;

	return length && strncmp(unit, path, length) == 0 && !is_of_inner_unit(work, path, length)
		       ? path + length
		       : NULL;
}

static bool are_alike(
	const struct flow_work *work, const struct flow_version *a, const struct flow_version *b)
{
	const char *one = path_of(work, a), *other = path_of(work, b);

	return a->number == b->number && a->count == b->count && one && other &&
	       match(one, other) == strlen(other);
}

/* The name that most versions of the parameter have, in this unit and those like it; NULL: none has more than
 * half. The unit's own name is none: kernels that gather are the unit's too. `names`: by version, NULL where
 * it has none. */
static const char *most_frequent(
	const struct flow_work *work, const struct flow_version *version, const char **names)
{
	const char *best = NULL;
	size_t most = 0, all = 0;

	for (size_t i = 0; i < work->version_count; i++) {
		size_t count = 0;

		if (!names[i] || !*names[i] || !are_alike(work, version, &work->versions[i]))
			continue;
		all++;
		for (size_t j = i; j < work->version_count; j++)
			count += names[j] && strcmp(names[i], names[j]) == 0 &&
				 are_alike(work, version, &work->versions[j]);
		if (count > most) {
			most = count;
			best = names[i];
		}
	}
	return 2 * most > all ? best : NULL;
}

/* Of a parameter's versions that of the forward pass: those that come back for the backward pass are where
 * the first iteration, in which addresses get their names, has had others. */
static bool is_first(const struct flow_work *work, size_t version)
{
	for (size_t i = 0; i < version; i++)
		if (work->versions[i].shard == work->versions[version].shard)
			return false;
	return true;
}

void flow_name_shards(struct flow_work *work)
{
	struct arena *arena = &work->assign->list->arena;
	const char **names = mem_alloc(work->version_count, sizeof(*names));

	for (size_t i = 0; i < work->version_count; i++)
		if (is_first(work, i))
			names[i] = name_within(work, &work->versions[i]);
	for (size_t i = 0; i < work->version_count; i++) {
		const struct flow_version *version = &work->versions[i];
		struct flow_place *shard = &work->places[version->shard];
		const char *unit = path_of(work, version), *name;

		if (shard->module)
			continue;
		name = unit ? most_frequent(work, version, names) : NULL;
		shard->module = name ? arena_format(arena, "%s%s", unit, name) : "";
	}
	free(names);
}
