/*
 * Inside foreign_*.c: where spans and the calls that launched work lie, one in the other (foreign_place.c),
 * and which layer that is (foreign_layer.c).
 */
#ifndef IMPORT_IMPORTED_PLACE_H
#define IMPORT_IMPORTED_PLACE_H

#include "imported_word.h"

#define FOREIGN_PLACE_BACKWARD \
	1u                     /* in an operator of the backward pass, or in a thread that does only that */
#define FOREIGN_PLACE_AGAIN 2u /* in forward work that is done again for the backward pass */
#define FOREIGN_PLACE_BUSY 4u  /* something of the worker was launched in it */
#define FOREIGN_PLACE_LINKED \
	16u /* it or what is in it has a gradient: an operator of the backward pass has its number */
#define FOREIGN_PLACE_SUM 8u /* adds two branches: its gradient goes to both */

/* A span, and what encloses it on its thread; FOREIGN_NONE where nothing does. All are numbers of spans, and
 * may be the span's own. */
struct foreign_place {
	uint32_t parent;
	uint32_t top;    /* the outermost operator */
	uint32_t anchor; /* the outermost operator that is a layer of its own */
	uint32_t back;   /* the innermost operator of the backward pass that has a sequence number */
	uint32_t outer;  /* the outermost such one */
	uint32_t module; /* the innermost module */
	uint32_t label;  /* the innermost stretch whose name says a phase */
	uint8_t flags;
};

/* Work given to the device. */
struct foreign_launch {
	uint32_t event;
	uint32_t span;            /* innermost that encloses the call; FOREIGN_NONE */
	uint32_t thread;          /* FOREIGN_NONE: the call is not known */
	int64_t begin_ns, end_ns; /* of the call */
};

struct foreign_places {
	struct foreign *foreign;
	uint32_t worker;
	struct foreign_word *words;      /* by string */
	struct foreign_place *places;    /* by span */
	struct foreign_launch *launches; /* of the worker, in order of begin */
	size_t launch_count;
	bool *engine;     /* by thread: does only backward work */
	uint32_t *layers; /* by span of an operator: string of the layer, or 0 */
};

void foreign_places_init(struct foreign_places *places, struct foreign *foreign, uint32_t worker);
void foreign_places_free(struct foreign_places *places);

/* The word of a span's name. */
static inline const struct foreign_word *foreign_place_word(
	const struct foreign_places *places, uint32_t span)
{
	return &places->words[places->foreign->spans.name[span]];
}

/*
 * Does its name say what it is for? Modules and Python functions are called anything, and labels stretched
 * over what they launched are not on the host's time.
 */
static inline bool foreign_place_speaks(const struct foreign_places *places, uint32_t span)
{
	uint8_t kind = places->foreign->spans.kind[span];

	return kind == FOREIGN_ANNOTATION || kind == FOREIGN_OPERATOR || kind == FOREIGN_PHASE;
}

/* Is the span an operator of the framework? */
static inline bool foreign_place_operates(const struct foreign_places *places, uint32_t span)
{
	return places->foreign->spans.kind[span] == FOREIGN_OPERATOR &&
	       (foreign_place_word(places, span)->flags & FOREIGN_WORD_PLAIN);
}

/* The place that a launch was made in, or NULL. */
static inline const struct foreign_place *foreign_place_of(
	const struct foreign_places *places, const struct foreign_launch *launch)
{
	return launch->span == FOREIGN_NONE ? NULL : &places->places[launch->span];
}

/* Fills `layers`: foreign_layer.c. */
void foreign_layers_find(struct foreign_places *places);

/* The text of a layer that the operator is: name, sizes, shape of its input, module, with tabs between. */
uint32_t foreign_layer_text(
	struct foreign *foreign, uint32_t span, const char *kind, uint32_t ordinal, uint32_t module);

#endif
