/*
 * Inside imported_*.c: where spans and the calls that launched work lie, one in the other (imported_place.c),
 * and which layer that is (imported_layer.c).
 */
#ifndef IMPORT_IMPORTED_PLACE_H
#define IMPORT_IMPORTED_PLACE_H

#include "imported_keyword.h"
#include "imported_range.h"

#define IMPORTED_PLACE_BACKWARD \
	1u                      /* in an operator of the backward pass, or in a thread that does only that */
#define IMPORTED_PLACE_AGAIN 2u /* in forward work that is done again for the backward pass */
#define IMPORTED_PLACE_BUSY 4u  /* something of the worker was launched in it */
#define IMPORTED_PLACE_LINKED \
	16u /* it or what is in it has a gradient: an operator of the backward pass has its number */
#define IMPORTED_PLACE_SUM 8u /* adds two branches: its gradient goes to both */

/* A span, and what encloses it on its thread; IMPORTED_NONE where nothing does. All are numbers of spans, and
 * may be the span's own. */
struct imported_place {
	uint32_t parent;
	uint32_t top;    /* the outermost operator */
	uint32_t anchor; /* the outermost operator that is a layer of its own */
	uint32_t back;   /* the innermost operator of the backward pass that has a sequence number */
	uint32_t module; /* the innermost module */
	uint32_t label;  /* the innermost stretch whose name says a phase */
	uint8_t flags;
};

/* Work given to the device. */
struct imported_launch {
	uint32_t event;
	uint32_t span;            /* innermost that encloses the call; IMPORTED_NONE */
	uint32_t thread;          /* IMPORTED_NONE: the call is not known */
	int64_t begin_ns, end_ns; /* of the call */
};

struct imported_places {
	struct imported *imported;
	uint32_t worker;
	struct imported_keyword *words;   /* by string */
	struct imported_place *places;    /* by span */
	struct imported_launch *launches; /* of the worker, in order of begin */
	size_t launch_count;
	bool *engine;     /* by thread: does only backward work */
	uint32_t *layers; /* by span of an operator: string of the layer, or 0 */
	uint32_t *paths;  /* by span of a module: string of its path */
	struct imported_ranges ranges;
	struct framework *framework; /* what they say, or NULL */
};

void imported_places_init(struct imported_places *places, struct imported *imported, uint32_t worker);
void imported_places_free(struct imported_places *places);

/* The word of a span's name. */
static inline const struct imported_keyword *imported_place_word(
	const struct imported_places *places, uint32_t span)
{
	return &places->words[places->imported->spans.name[span]];
}

/*
 * Does its name say what it is for? Modules and Python functions are called anything, and labels stretched
 * over what they launched are not on the host's time.
 */
static inline bool imported_place_speaks(const struct imported_places *places, uint32_t span)
{
	uint8_t kind = places->imported->spans.kind[span];

	return kind == IMPORTED_ANNOTATION || kind == IMPORTED_OPERATOR || kind == IMPORTED_PHASE;
}

/* Is the span an operator of the framework? */
static inline bool imported_place_operates(const struct imported_places *places, uint32_t span)
{
	return places->imported->spans.kind[span] == IMPORTED_OPERATOR &&
	       (imported_place_word(places, span)->flags & IMPORTED_KEYWORD_PLAIN);
}

/* The place that a launch was made in, or NULL. */
static inline const struct imported_place *imported_place_of(
	const struct imported_places *places, const struct imported_launch *launch)
{
	return launch->span == IMPORTED_NONE ? NULL : &places->places[launch->span];
}

/* The operator that made the node of the backward pass which the span is, or is in; IMPORTED_NONE: it is not
 * known. */
uint32_t imported_place_origin(const struct imported_places *places, uint32_t span);

/* Fills `layers`: imported_layer.c. */
void imported_layers_find(struct imported_places *places);

/* The text of a layer that the operator is: see imported_attribute.h. */
uint32_t imported_layer_text(
	struct imported *imported, uint32_t span, const char *kind, uint32_t ordinal, uint32_t module);

#endif
