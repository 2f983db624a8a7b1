/* Inside layer_*.c: the work of assigning the calls of one iteration to layers. */
#ifndef LAYER_ASSIGN_H
#define LAYER_ASSIGN_H

#include "graph.h"
#include "layer.h"

enum layer_pass { LAYER_UNKNOWN, LAYER_FORWARD, LAYER_BACKWARD, LAYER_AFTER };

struct layer_assign {
	const struct timeline *timeline;
	const struct worker_model *model;
	const struct worker *worker;
	struct graph graph;
	struct layer_list *list;
	enum layer_pass *passes; /* by step */
	bool *anchors;           /* by step: its pass follows from the call itself */
	uint32_t *layers;        /* by step: LAYER_NONE, or the layer */
	uint32_t *owners;        /* by place in graph.parameters: layer that reads it */
	bool *losses;            /* by layer: compares with a target */
	size_t loss_room;
};

/* Which steps are forward, which backward (layer_pass.c). */
void layer_passes(struct layer_assign *assign);

/* The layers, and which steps belong to them (layer_steps.c). */
void layer_steps(struct layer_assign *assign);

/* The program's names of the layers, where the calls of a layer agree; after layer_steps. */
void layer_modules(struct layer_assign *assign);

/* Name, sizes, activation (layer_name.c). */
void layer_describe(struct layer_assign *assign, uint32_t layer, uint32_t step);
void layer_add_activation(struct layer_assign *assign, uint32_t layer, uint32_t step);
const char *layer_kind(
	const struct layer_assign *assign, uint32_t step); /* "conv", "fc", ...; NULL: none of its own */

const struct timeline_function *layer_function(const struct layer_assign *assign, uint32_t step);

/* Was what the access reads copied from the host, in any iteration? */
bool layer_is_input(const struct layer_assign *assign, const struct flow_access *access);

#endif
