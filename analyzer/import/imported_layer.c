/*
 * The layers of a trace with operators. The k-th operator of a kind in a forward pass is that kind's k-th
 * layer, in each pass; where modules are known, the k-th in its module. An operator that is no layer belongs
 * to the one before it, and one of the backward pass to that of the forward operator whose number it has.
 */
#include "imported_place.h"

#include <stdlib.h>
#include <string.h>

/* A trace that shows no end of a pass would have layers without end. */
#define MOST_LAYERS 4000

struct known_layer {
	uint32_t module; /* span's path as a string; 0: none */
	uint32_t text;
	uint32_t pass; /* the last that it was seen in */
};

/* The layers of a kind, in the order they were first seen. */
struct kind {
	const char *name;
	struct known_layer *items;
	size_t count, room;
	size_t next; /* where the next is looked for first */
	size_t seen; /* how many this pass has had */
};

struct finder {
	struct imported_places *places;
	struct kind *kinds;
	size_t kind_count, kind_room, layer_count;
	uint32_t pass;
	bool over;        /* the pass: what comes next is another */
	uint32_t current; /* layer of the last operator that is one */
	uint32_t *behind; /* by thread: layer of the last backward operator with a number */
	uint32_t
		again_back; /* the backward operator in which work is done again, and how many layers of it */
	uint32_t again_count;
};

/* The operator that made a node: the one with its number, which all of a profiler's are there to have. */
static uint32_t owner_of(const struct imported_places *places, uint32_t back)
{
	const int64_t *sequence = places->imported->spans.sequence;
	const uint32_t owner = imported_place_origin(places, back);

	return owner != IMPORTED_NONE && sequence[owner] == sequence[back] ? owner : IMPORTED_NONE;
}

/* Does the operator add a number, as far as its shapes say? */
static bool adds_number(const struct imported *imported, uint32_t span)
{
	const char *shapes = imported->strings.items[imported->spans.shapes[span]];
	const char *second = strstr(shapes, "], ");

	return second && strncmp(second + 3, "[]", 2) == 0;
}

/* A sum whose gradient goes to both sides is a layer; a counter that is counted up has no gradient. */
static void mark_sum(struct imported_places *places, uint32_t owner)
{
	struct imported_place *place = &places->places[owner];

	if (place->anchor != IMPORTED_NONE || place->top != owner || adds_number(places->imported, owner) ||
		!(imported_place_word(places, owner)->flags & IMPORTED_KEYWORD_SUM))
		return;
	place->anchor = owner;
	place->flags |= IMPORTED_PLACE_SUM;
}

/* What the backward pass tells of forward operators. */
static void mark_owners(struct imported_places *places)
{
	const struct imported *imported = places->imported;

	for (uint32_t i = 0; i < imported->spans.count; i++) {
		uint32_t owner = places->places[i].back == i ? owner_of(places, i) : IMPORTED_NONE;

		if (owner == IMPORTED_NONE)
			continue;
		places->places[places->places[owner].top].flags |= IMPORTED_PLACE_LINKED;
		if (strstr(imported->strings.items[imported->spans.name[i]], "AddBackward"))
			mark_sum(places, owner);
	}
}

static struct kind *kind_of(struct finder *finder, const char *name)
{
	for (size_t i = 0; i < finder->kind_count; i++)
		if (strcmp(finder->kinds[i].name, name) == 0)
			return &finder->kinds[i];
	*MEM_PUSH(finder->kinds, finder->kind_count, finder->kind_room) = (struct kind){.name = name};
	return &finder->kinds[finder->kind_count - 1];
}

static void begin_pass(struct finder *finder)
{
	finder->pass++;
	finder->over = false;
	for (size_t i = 0; i < finder->kind_count; i++)
		finder->kinds[i].next = finder->kinds[i].seen = 0;
}

/* The layer that an operator is: the first of its kind and module that this pass has not had yet. */
static uint32_t layer_at(struct finder *finder, uint32_t span)
{
	struct imported_places *places = finder->places;
	const char *name = places->places[span].flags & IMPORTED_PLACE_SUM
				   ? "add"
				   : imported_place_word(places, span)->kind;
	struct kind *kind = kind_of(finder, name);
	uint32_t module = places->places[span].module, text;

	module = module == IMPORTED_NONE ? 0 : places->paths[module];

	for (size_t i = 0; i < kind->count && kind->seen < kind->count; i++) {
		size_t place = (kind->next + i) % kind->count;
		struct known_layer *item = &kind->items[place];

		if (item->module != module || item->pass == finder->pass)
			continue;
		item->pass = finder->pass;
		kind->seen++;
		kind->next = place + 1;
		return item->text;
	}
	if (finder->layer_count == MOST_LAYERS)
		return 0;
	finder->layer_count++;
	text = imported_layer_text(places->imported, span, name, (uint32_t)kind->count + 1, module);
	*MEM_PUSH(kind->items, kind->count, kind->room) = (struct known_layer){module, text, finder->pass};
	kind->next = kind->count;
	kind->seen++;
	return text;
}

/* The layer of an operator that is done again: of the forward operator that did it first, the one in the same
 * place. */
static uint32_t layer_again(struct finder *finder, uint32_t span)
{
	const struct imported_places *places = finder->places;
	const struct imported_spans *spans = &places->imported->spans;
	uint32_t back = places->places[places->places[span].parent].back, owner, count;

	if (back != finder->again_back) {
		finder->again_back = back;
		finder->again_count = 0;
	}
	count = finder->again_count++;
	owner = owner_of(places, back);
	if (owner == IMPORTED_NONE)
		return 0;
	for (uint32_t i = owner + 1; i < spans->count && spans->begin_ns[i] <= spans->end_ns[owner]; i++)
		if (spans->thread[i] == spans->thread[owner] && places->places[i].anchor == i &&
			(places->places[i].flags & IMPORTED_PLACE_BUSY) && count-- == 0)
			return places->layers[i];
	return 0;
}

static uint32_t backward_layer(struct finder *finder, uint32_t span)
{
	struct imported_places *places = finder->places;
	const struct imported_place *place = &places->places[span];
	uint32_t thread = places->imported->spans.thread[span], owner;

	if (place->flags & IMPORTED_PLACE_AGAIN) {
		if (place->anchor == span && (place->flags & IMPORTED_PLACE_BUSY))
			return layer_again(finder, span);
		return place->anchor == IMPORTED_NONE ? 0 : places->layers[place->anchor];
	}
	if (place->back == span) {
		owner = owner_of(places, span);
		finder->behind[thread] = owner == IMPORTED_NONE ? 0 : places->layers[owner];
	}
	return place->back != IMPORTED_NONE && place->back != span ? places->layers[place->back]
								   : finder->behind[thread];
}

static uint32_t forward_layer(struct finder *finder, uint32_t span)
{
	struct imported_places *places = finder->places;
	struct imported_place *place = &places->places[span];

	/* What is in a sum, which was found out late. */
	if (place->anchor == IMPORTED_NONE && place->parent != IMPORTED_NONE)
		place->anchor = places->places[place->parent].anchor;
	if (place->anchor == span && (place->flags & IMPORTED_PLACE_BUSY)) {
		if (finder->over)
			begin_pass(finder);
		finder->current = layer_at(finder, span);
		return finder->current;
	}
	if (place->anchor != IMPORTED_NONE && place->anchor != span)
		return places->layers[place->anchor];
	return finder->current;
}

static void take_span(struct finder *finder, uint32_t span)
{
	struct imported_places *places = finder->places;
	const struct imported_place *place = &places->places[span];

	if (!imported_place_speaks(places, span))
		return;
	if (imported_place_word(places, span)->flags & (IMPORTED_KEYWORD_STEP | IMPORTED_KEYWORD_LOADER)) {
		finder->over = true;
		finder->current = 0;
	} else if (!imported_place_operates(places, span)) {
		return;
	} else if (place->flags & IMPORTED_PLACE_BACKWARD) {
		if (place->flags & IMPORTED_PLACE_BUSY) {
			finder->over = true;
			finder->current = 0;
		}
		places->layers[span] = backward_layer(finder, span);
	} else {
		places->layers[span] = forward_layer(finder, span);
	}
}

void imported_layers_find(struct imported_places *places)
{
	const struct imported *imported = places->imported;
	struct finder finder = {.places = places, .pass = 1, .again_back = IMPORTED_NONE};

	finder.behind = mem_alloc(imported->thread_count, sizeof(*finder.behind));
	mark_owners(places);
	for (uint32_t i = 0; i < imported->spans.count; i++)
		take_span(&finder, i);
	for (size_t i = 0; i < finder.kind_count; i++)
		free(finder.kinds[i].items);
	free(finder.kinds);
	free(finder.behind);
}
