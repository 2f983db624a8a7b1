/* Inside layer_*.c: the work of assigning the calls of one iteration to layers. */
#ifndef RECONSTRUCT_LAYER_ASSIGN_H
#define RECONSTRUCT_LAYER_ASSIGN_H

#include "iteration_flow.h"
#include "layer.h"
#include "rule_driver.h"

struct framework;

enum layer_pass { LAYER_UNKNOWN, LAYER_FORWARD, LAYER_BACKWARD, LAYER_AFTER, LAYER_EVALUATION };

/* Who says pass and layer of a step. */
enum layer_said {
	LAYER_NOT_SAID,
	LAYER_FOLLOWED, /* the flow of data in what the framework has compiled */
	LAYER_SAID,     /* the framework */
};

/* Layers that no parameter and no function tells. */
enum layer_special {
	LAYER_IS_PLAIN,
	LAYER_IS_LOSS, /* compares with a target */
	LAYER_IS_SUM,  /* of two branches */
	LAYER_IS_ATTENTION,
	LAYER_IS_SCALE, /* by a learned factor */
};

/* At this address lies the gradient of what a forward step wrote. */
struct layer_gradient {
	uint64_t address;
	uint32_t step;
};

/* What is known of gradients when a backward step is reached. */
struct layer_gradients {
	struct layer_gradient *items; /* in order of time: the newest of an address counts */
	size_t count, room;
	bool *matched; /* by step: a forward step whose backward step has been found */
};

struct layer_assign {
	const struct timeline *timeline;
	const struct worker_model *model;
	const struct worker *worker;
	const struct iteration_list *iterations;
	struct graph graph;
	struct layer_list *list;
	size_t iteration;             /* the one that the graph is of */
	bool *recurs;                 /* by operation of the process: called since iterations began */
	enum layer_pass *passes;      /* by step */
	bool *anchors;                /* by step: its pass follows from the call itself */
	uint32_t *layers;             /* by step: LAYER_NONE, or the layer */
	bool *tables;                 /* by step: a copy that is of the kernel it is made for */
	bool *again;                  /* by step: forward work done again for the backward pass */
	struct layer_reason *reasons; /* by step; `call` is a step + 1 here */
	enum rule rule;               /* at work: what is proposed is by it (rule_driver.h) */
	struct framework *framework;  /* already read, or NULL */
	enum layer_said *said;        /* by step; NULL: the framework says nothing */
	bool lost;                    /* what kernels work on is known, and could not be followed */
	bool followed;                /* passes and layers are by what kernels work on */
	uint64_t *copies; /* by step: address of a parameter that it reads, or of its copy; 0: none known */
	uint32_t *owners; /* by place in graph.parameters: layer that reads it */
	enum layer_special *specials; /* by layer */
	bool roots_apart; /* modules of an outermost one with its class's name, as that of a list, are not
			     those of a variable */
	size_t special_room;
	uint32_t **captured; /* by graph of the timeline, the captured call of each of its operations; NULL:
				not known */
};

/* The captured call of a replayed one; the call itself where that is not known, or it is none
 * (layer_replay.c). */
uint32_t layer_captured_call(const struct layer_assign *assign, uint32_t number);

/*
 * The device addresses among the arguments of a call of the worker, as timeline_touches has them; of one that
 * a graph replays those of its capture. And are they known? layer_find_replays comes first;
 * layer_free_replays frees what it has made (layer_replay.c).
 */
const struct timeline_touch *layer_touches(const struct layer_assign *assign, uint32_t call, size_t *count);
bool layer_knows_touches(const struct layer_assign *assign, uint32_t call);
void layer_find_replays(struct layer_assign *assign);
void layer_free_replays(struct layer_assign *assign);

/*
 * Takes roles and layers from what the data say of the operations (layer_given.c); operation_roles have the
 * phases by kind already, which stay where nothing is said. False: they say nothing.
 */
bool layer_given(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list);

/*
 * All of it by the memory that the steps touch, where that is known of the program's own kernels too
 * (layer_flow.c). False: it is not, or it gives no clear picture; then nothing has changed.
 */
bool layer_flow(struct layer_assign *assign, const struct iteration_list *iterations);

/* The rule at work, as reasons have it. */
static inline uint8_t layer_decided(enum rule rule)
{
	return rule == RULE_NONE ? 0 : (uint8_t)(rule + 1);
}

/* Notes why a step has its pass: by the rule at work. */
static inline void layer_pass_by(struct layer_assign *assign, uint32_t step, enum layer_why why)
{
	assign->reasons[step].phase = (uint8_t)why;
	assign->reasons[step].phase_decided = layer_decided(assign->rule);
}

/* Notes why a step has its layer, by the rule at work: by another step (GRAPH_NONE: by none), or by the
 * parameter at an address (0: by none). */
static inline void layer_by(
	struct layer_assign *assign, uint32_t step, enum layer_why why, uint32_t other, uint64_t address)
{
	assign->reasons[step].layer = (uint8_t)why;
	assign->reasons[step].layer_decided = layer_decided(assign->rule);
	assign->reasons[step].call = other + 1; /* GRAPH_NONE: 0 */
	assign->reasons[step].address = address;
}

/* The role of each operation by its function alone; of each call by its pass and layer, when these are known
 * (layer_role.c). */
void layer_set_plain_roles(struct layer_assign *assign);
void layer_set_roles(struct layer_assign *assign);
/* Of an iteration of other calls, the roles of its computations of which the framework says the pass. */
void layer_tell_roles(struct layer_assign *assign, struct layer_places *to);

/* The arrays of one iteration's steps, and its graph; layer_assign_free frees them (layer.c). */
void layer_assign_init(struct layer_assign *assign, size_t iteration);
void layer_assign_free(struct layer_assign *assign);

/* Roles of iterations of other calls, as the framework says them (layer_told.c). */
void layer_tell_others(struct layer_assign *assign);
/* Passes and layers of one, in the layers that are there and new ones; false: the framework does not say most
 * of them (layer_framework.c). */
bool layer_framework_other(struct layer_assign *assign);

/* A new layer, described by a step of it. */
uint32_t layer_new(struct layer_assign *assign, uint32_t step);

/*
 * An iteration with the usual calls of which it is known what its kernels touch, and of another beside it:
 * samples of the run have that. Else iterations->model.
 */
size_t layer_flow_iteration(const struct layer_assign *assign, const struct iteration_list *iterations);

/* Which steps are forward, which backward (layer_direction.c). */
void layer_passes(struct layer_assign *assign);

/* Elements of the layers' parameters, as far as the framework has not said them (layer_size.c). */
void layer_count_elements(struct layer_assign *assign);

/* The passes of all steps by the threads that call them; false: threads do not tell (layer_thread.c). */
bool layer_thread_passes(const struct layer_assign *assign, enum layer_pass *passes);

/* The layers, and which steps belong to them (layer_steps.c). */
void layer_steps(struct layer_assign *assign);

/*
 * The layer of a backward step (layer_backward.c). `current`: the layer of the step before it, answered where
 * nothing else is known.
 */
uint32_t layer_backward(
	struct layer_assign *assign, struct layer_gradients *gradients, uint32_t step, uint32_t current);

/* Of a message received: what came is the gradient of what was sent to the same rank before, if any was. */
void layer_receive_gradient(
	const struct layer_assign *assign, struct layer_gradients *gradients, uint32_t step);

/* The layer of a parameter that the step reads; *parameter: its address, 0 where it reads none. */
uint32_t layer_owner(const struct layer_assign *assign, uint32_t step, uint64_t *parameter);

/* Which forward steps are recomputation; after layer_steps (layer_again.c). */
void layer_again(struct layer_assign *assign);

/* The program's names of the layers, where the calls of a layer agree (layer_module.c); after layer_steps. */
void layer_modules(struct layer_assign *assign);

/* Do two paths name one module? What wraps a model puts components of its own between. (layer_module.c) */
bool layer_same_module(const char *a, const char *b);

/* The iteration, or where the framework was not asked in it, a usual one in which it was, if there is any
 * (layer_framework.c). */
size_t layer_told_iteration(
	const struct layer_assign *assign, const struct iteration_list *iterations, size_t iteration);

/* Passes and layers by what the framework says of the calls, where it does; after layer_modules
 * (layer_framework.c). */
void layer_framework(struct layer_assign *assign);

/* What an operation is in any iteration, as the search for these tells operations apart, and by kernel.
 * *known: the key as it was asked for before; 0: not yet (layer_place.c). */
uint64_t layer_place_key(const struct worker_model *model, uint32_t number, uint64_t *known);

/* Sets places, when all roles are known. */
void layer_place_cores(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list);

/* Name, sizes, activation (layer_name.c). */
void layer_describe(struct layer_assign *assign, uint32_t layer, uint32_t step);
/* That a layer is of a kind, as `step` of it shows: unless its name says so already it gets a new one, and
 * sizes. */
void layer_set_kind(struct layer_assign *assign, uint32_t layer, uint32_t step, const char *kind);
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

/*
 * Of a backward function at forward work: dropout is done again so, with the mask of the first time, from the
 * same place to the same place. The forward step that it repeats, or GRAPH_NONE.
 */
uint32_t layer_repeated(const struct layer_assign *assign, uint32_t step);

/* Are they one function's forward and backward, or the same? */
bool layer_same_family(const struct layer_assign *assign, uint32_t a, uint32_t b);

/* The access with this label, or NULL. */
const struct flow_access *layer_labelled(const struct flow *flow, const char *label);

/* Do both steps do the same but for addresses? */
bool layer_same_description(const struct layer_assign *assign, uint32_t a, uint32_t b);

/* Does it multiply element by element? */
bool layer_multiplies(const struct layer_assign *assign, uint32_t step);

/* Shares by the bytes of the parameters marked in `wanted`, by place in graph.parameters. */
void layer_add_parameter_parts(
	const struct layer_assign *assign, struct layer_role *role, const bool *wanted);

/* Does anything that is computed read or write what the flow does? */
bool layer_meets_computation(const struct layer_assign *assign, const struct flow *flow);

/*
 * An exchange belongs to the layers whose gradients it sends, or whose parameters
 * (layer_gradient_exchange.c). `step`: in the graph; its number of steps for an operation that it does not
 * show.
 */
struct layer_role layer_exchange_role(
	const struct layer_assign *assign, const struct flow *flow, uint32_t step);

/* Are two roles of the same layer, or both of none? */
bool layer_are_of_one(
	const struct layer_list *list, const struct layer_role *one, const struct layer_role *other);

/* What memory that is set or copied in a gap between two computations is of; sorted when all are noted. */
void layer_note_beside(struct layer_list *list, const struct layer_beside *beside);
void layer_sort_besides(struct layer_list *list);

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
