/* Inside layer_*.c: the work of assigning the calls of one iteration to layers. */
#ifndef LAYER_ASSIGN_H
#define LAYER_ASSIGN_H

#include "graph.h"
#include "layer.h"

enum layer_pass { LAYER_UNKNOWN, LAYER_FORWARD, LAYER_BACKWARD, LAYER_AFTER };

/* Layers that no parameter and no function tells. */
enum layer_special {
	LAYER_IS_PLAIN,
	LAYER_IS_LOSS, /* compares with a target */
	LAYER_IS_SUM,  /* of two branches */
	LAYER_IS_ATTENTION,
	LAYER_IS_SCALE, /* by a learned factor */
};

struct layer_assign {
	const struct timeline *timeline;
	const struct worker_model *model;
	const struct worker *worker;
	struct graph graph;
	struct layer_list *list;
	enum layer_pass *passes;      /* by step */
	bool *anchors;                /* by step: its pass follows from the call itself */
	uint32_t *layers;             /* by step: LAYER_NONE, or the layer */
	bool *again;                  /* by step: forward work done again for the backward pass */
	uint32_t *owners;             /* by place in graph.parameters: layer that reads it */
	enum layer_special *specials; /* by layer */
	size_t special_room;
};

/* Which steps are forward, which backward (layer_pass.c). */
void layer_passes(struct layer_assign *assign);

/* The layers, and which steps belong to them (layer_steps.c). */
void layer_steps(struct layer_assign *assign);

/* Which forward steps are recomputation; after layer_steps (layer_again.c). */
void layer_again(struct layer_assign *assign);

/* The program's names of the layers, where the calls of a layer agree; after layer_steps. */
void layer_modules(struct layer_assign *assign);

/* Name, sizes, activation (layer_name.c). */
void layer_describe(struct layer_assign *assign, uint32_t layer, uint32_t step);
void layer_add_activation(struct layer_assign *assign, uint32_t layer, uint32_t step);
const char *layer_kind(
	const struct layer_assign *assign, uint32_t step); /* "conv", "fc", ...; NULL: none of its own */

/* The forward step that made what `step` reads through this access, or GRAPH_NONE (layer_join.c). */
uint32_t layer_producer(const struct layer_assign *assign, uint32_t step, uint32_t access);

/* The same through its first operand that is no parameter. */
uint32_t layer_data_producer(const struct layer_assign *assign, uint32_t step);

/* Of a forward step that reads no parameter: what it is; *layer: the layer it belongs to, if that is there.
 */
enum layer_special layer_special(const struct layer_assign *assign, uint32_t step, uint32_t *layer);

/* The layer of an earlier step that did the same to another micro-batch, or to the same one before. */
uint32_t layer_earlier(const struct layer_assign *assign, uint32_t step);

/* Do both steps do the same but for addresses? */
bool layer_same_description(const struct layer_assign *assign, uint32_t a, uint32_t b);

/* Does it multiply element by element? */
bool layer_multiplies(const struct layer_assign *assign, uint32_t step);

void layer_add_part(struct layer_list *list, struct layer_role *role, uint32_t layer, double share);

/* Sends to one rank and receives from one (layer_message.c). */
bool layer_is_message(const struct layer_assign *assign, uint32_t operation);
/* `step` GRAPH_NONE: of another iteration than the graph's. */
struct layer_role layer_message_role(
	const struct layer_assign *assign, const struct flow *flow, uint32_t step);
/* Of an operation that the graph does not show, when the roles of its operations are known. */
struct layer_role layer_other_message_role(const struct layer_assign *assign, uint32_t number);

const struct timeline_function *layer_function(const struct layer_assign *assign, uint32_t step);

/* Was what the access reads copied from the host, in any iteration? */
bool layer_is_input(const struct layer_assign *assign, const struct flow_access *access);

#endif
