/* Inside layer_flow_assign.c and the files that help it: the layers of an iteration's steps while they are
 * found. */
#ifndef RECONSTRUCT_LAYER_FLOW_ASSIGN_H
#define RECONSTRUCT_LAYER_FLOW_ASSIGN_H

#include "layer_flow.h"

struct flow_assigning {
	struct flow_work *work;
	const struct flow_pass *pass; /* the one that is worked on */
	uint32_t *groups;             /* by step: place that stands for its layer, or FLOW_NOWHERE */
	bool *fixed;                  /* by step: settled, no later rule of the pass places it anew */
	bool *reads_parameter;        /* by backward step */
	uint32_t *layers;             /* by place that stands for a layer: its number */
};

/* Notes why a step has its layer: by a parameter's place, or another step; FLOW_NOWHERE where there is none.
 */
static inline void flow_by(
	struct flow_assigning *a, uint32_t step, enum layer_why why, uint32_t parameter, uint32_t other)
{
	layer_by(a->work->assign, step, why, other,
		parameter != FLOW_NOWHERE ? a->work->places[parameter].address : 0);
}

/* The layers of the steps of a pass, by the rules in their order (layer_flow_assign.c). */
void flow_place_pass(struct flow_assigning *a);

/* Which steps of updates serve a parameter: its place, and its number in the graph (layer_flow_service.c). */
void flow_add_services(struct flow_work *work, uint32_t place, uint32_t number);

/* Of updates within the backward pass: the last steps before each that touch what it works on made the
 * gradients of its parameters. */
void flow_place_updated(struct flow_assigning *a);

/*
 * Copies of data are made for a product in another type, or of its result (layer_flow_copy.c): forward, and
 * where that is done again, they belong to the product that reads them, backward to the one that made what
 * they read. [begin, end): a half of the pass.
 */
void flow_place_copies(struct flow_assigning *a, uint32_t begin, uint32_t end);

/*
 * Forward, what a module does with state of its own before it touches its parameters, and what is done
 * between the two, belongs to the module (layer_flow_state.c): a batch normalization counts batches, and
 * makes statistics of its input, over all ranks perhaps.
 */
void flow_place_states(struct flow_assigning *a);

/* What lies after the last step with a parameter, or in the backward half (which ends at `end`) before the
 * first, counts to the last layer (layer_flow_loss.c). */
void flow_place_loss(struct flow_assigning *a, uint32_t end);

#endif
