/* Between framework.c and framework_maker.c. */
#ifndef FRAMEWORK_FRAMEWORK_PRIVATE_H
#define FRAMEWORK_FRAMEWORK_PRIVATE_H

#include "framework.h"

#include <string.h>

/* An operator that a node may have been made in. */
struct maker {
	uint32_t range;
	uint32_t sequence;
	uint16_t thread; /* as the framework numbers it */
	uint32_t least;  /* of a compiled region: the number that its node has at least */
	bool makes;      /* the next operator of the thread has a greater number: there is a node of it */
};

struct framework {
	const struct timeline *timeline;
	const struct timeline_process *process;
	const struct timeline_range *ranges;
	struct maker *makers; /* by thread, number, and order of begin */
	size_t maker_count, maker_room;
	uint32_t *numbered;  /* by range: the last node with a number in its thread, up to it;
				TIMELINE_NO_RANGE: none */
	const char **owners; /* modules that have parameters, in order of texts */
	size_t owner_count, owner_room;
	struct xla *xla;               /* NULL: it says nothing */
	struct tensorflow *tensorflow; /* NULL: so does it */
	bool *makes; /* by range: the next operator of the thread has a greater number, so there is a node of
			it */
};

static inline const struct timeline_range_name *name_of(const struct framework *f, uint32_t range)
{
	return &f->timeline->range_names[f->ranges[range].name];
}

static inline bool begins_with(const char *text, const char *word)
{
	return text && strncmp(text, word, strlen(word)) == 0;
}

/* words: ends with NULL. */
static inline bool begins_with_any(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (begins_with(text, *words))
			return true;
	return false;
}

static inline bool is_compiled(const char *name)
{
	static const char *const words[] = {
		"CompiledFunction", "Torch-Compiled Region", "## Call CompiledFxGraph", NULL};

	return begins_with_any(name, words);
}

static inline bool is_node(const struct framework *f, uint32_t range)
{
	return name_of(f, range)->scope == PM_RANGE_NODE;
}

/* Which operators made which nodes: fills in makers, makes and numbered, which the caller frees. */
void framework_find_makers(struct framework *framework);

/* The operator that a node's work belongs to, or NULL. */
const struct maker *framework_origin(const struct framework *framework, uint32_t node);

#endif
