/*
 * Layers of a worker's model, and for each call which phase and layer it belongs to.
 *
 * Forward and backward calls that share a parameter are one layer; a gradient belongs to its parameter by the
 * flow of data through the update; an exchange belongs to the layers whose gradients lie in what it sends.
 * Calls without parameters belong to the layer before them, or are one of their own (pooling, dropout,
 * softmax).
 */
#ifndef RECONSTRUCT_LAYER_H
#define RECONSTRUCT_LAYER_H

#include "iteration.h"
#include "layer_why.h"
#include "timeline/phase_name.h"

#define LAYER_NONE UINT32_MAX

struct layer {
	const char *name;       /* "conv2", different for each layer */
	const char *module;     /* what the program calls it, "net.layer1.0.conv1", or "" */
	const char *text;       /* "5x5x6->16 s1 p0" */
	const char *input;      /* shape of what goes in, "64x6x14x14" */
	const char *activation; /* or "" */
	const char *site;       /* call stack of its first forward call, or "" */
	uint64_t parameter_count;
	uint64_t parameter_bytes;
	bool told_size;    /* the framework names its parameters, and how many elements they have */
	bool partly_sized; /* it has more parameters, of which the sizes are not known */
};

/* What people are shown: the program's own name where there is one. */
static inline const char *layer_title(const struct layer *layer)
{
	return layer->module[0] ? layer->module : layer->name;
}

/* A share of a call's time; the shares of a call add up to 1, or there are none. */
struct layer_part {
	uint32_t layer;
	double share;
};

struct layer_role {
	enum phase phase;
	bool known;     /* else the function's kind has decided */
	bool exchanges; /* a graph's: there is communication in it */
	bool again;     /* forward work done again for the backward pass, which it is counted with */
	uint8_t column; /* enum phase_layer_column + 1: of the layers' times, as the data say; 0: as the phase
			 */
	uint32_t first_part, part_count;
	struct layer_reason reason;
};

/* What is in doubt of layers and passes, by what the program's own kernels work on. */
enum layer_doubt {
	LAYER_NO_DOUBT,      /* none, or nothing is known of what they work on */
	LAYER_WEIGHTS_ALONE, /* the optimizer works on a copy of the parameters: only weights that a library
				reads are known */
	LAYER_NOT_FOLLOWED,  /* no parameters, or no turn from forward to backward: both are by the calls'
				order */
};

/* Which of the roles by computation those of an iteration have. */
struct layer_places {
	uint32_t *cores; /* by computation: the role's number, or UINT32_MAX: goes by its operation; NULL: as
			    they are numbered */
	size_t count;    /* computations; 0: it is not like the iteration of the roles */
	struct layer_role *told; /* by computation, what the framework says of the iteration itself, where
				    known; before what it is like */
	size_t told_count;
};

#define LAYER_ANY UINT32_MAX /* of the calls by an operation within a gap: whichever it is */

/* What the framework says of memory that is set, or copied within the device: one operation may be so in
 * several phases and layers, and is distinguished by the gap between two computations that it is in, and by its
 * order there. */
struct layer_beside {
	uint32_t gap; /* computations of the iteration before it */
	uint32_t operation;
	uint32_t order; /* among the calls by the operation within the gap, from 0 on; LAYER_ANY */
	struct layer_role role;
};

#define LAYER_GAP_OPERATIONS 16

/* Where a walk over an iteration's calls is: between which computations, and which sets and copies were
 * there. */
struct layer_gap {
	size_t core;    /* computations before it */
	uint32_t count; /* of `seen` */
	struct {
		uint32_t operation, calls;
	} seen[LAYER_GAP_OPERATIONS];
};

struct layer_list {
	struct layer *items;
	size_t count, room;
	struct layer_role *core_roles; /* by computation of a usual iteration */
	size_t core_count;
	struct layer_beside *besides; /* of a usual iteration, in order of gap, operation and order */
	size_t beside_count, beside_room;
	struct layer_places *places; /* by iteration; NULL: there are no roles by computation */
	size_t iteration;            /* that all of it was found in: of the worker's list */
	uint32_t updates;            /* in it, with computations of a library between them; 0: not known */
	struct layer_role *operation_roles; /* by operation of the timeline */
	size_t followed_gathers;            /* all-gathers of that iteration whose parameters are followed */
	enum layer_doubt doubt;
	double told;  /* share of its computing time of which the framework says phase and layer; 0: of none */
	double followed; /* of which they follow from the flow of data in what the framework compiled */
	bool is_step; /* by what its calls work on the iteration goes forward, back, and then updates; once */
	bool given_again; /* the data say of some work that it is done again */
	struct layer_part *parts;
	size_t part_count, part_room;
	struct arena arena;
};

/* Of all parameters the sizes are known, by which communication and updates of several layers are divided. */
static inline bool layer_list_is_sized(const struct layer_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].partly_sized)
			return false;
	return true;
}

/*
 * From a usual iteration of the worker; without one there are no layers. Where the data themselves tell
 * phases and layers (timeline_operation.given_phase and the next) nothing is worked out but taken from there.
 */
void layer_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list);
void layer_free(struct layer_list *list);

/* Steps on over a computation, and over a set or copy: which this is of its operation's within the gap;
 * LAYER_ANY: there are too many others to tell. */
void layer_gap_pass(struct layer_gap *gap);
uint32_t layer_gap_order(struct layer_gap *gap, uint32_t operation);

/* The role of an operation's call within that gap, or NULL: nothing is said. Of another order than those of
 * the usual iteration it is of a layer only if all of these are of that. */
const struct layer_role *layer_beside_role(
	const struct layer_list *list, uint32_t gap, uint32_t operation, uint32_t order);
bool layer_is_beside_role(const struct layer_list *list, const struct layer_role *role);

#endif
