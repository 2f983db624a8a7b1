/*
 * What the framework says of a process's calls: the ranges that it and its libraries have told the hook, or
 * another profiler (timeline_range.h), understood.
 *
 * PyTorch's operators carry the number that autograd gives to the next node of their thread, a node of the
 * backward pass its own: the operator that made a node is the last of its thread whose number is not greater.
 * The module of an operator is the one whose Python was running. So a kernel of the backward pass has the
 * module of the operator that made the node in which it was launched, in whatever thread.
 *
 * Of JAX's programs XLA says for each launch which instruction it is of, and the instruction where it comes
 * from (framework_xla.h).
 */
#ifndef FRAMEWORK_FRAMEWORK_H
#define FRAMEWORK_FRAMEWORK_H

#include "timeline/timeline_range.h"

enum framework_place {
	FRAMEWORK_SILENT,   /* nothing is said: operators were not recorded, or the call is in none */
	FRAMEWORK_FORWARD,  /* in an operator through which gradients go back, or that works with a module's
			       weights */
	FRAMEWORK_PREPARES, /* in another operator, while gradients are recorded: of input, of positions, of a
			       mask */
	FRAMEWORK_NO_GRADIENTS, /* in an operator while gradients are not recorded */
	FRAMEWORK_BACKWARD,     /* in a node, or in what the engine does for it */
	FRAMEWORK_AGAIN,        /* in an operator that runs again within a node: recomputation */
	FRAMEWORK_UPDATE,       /* in an optimizer's step */
	FRAMEWORK_ZEROES,       /* in an optimizer's zero_grad */
	FRAMEWORK_LOADS,        /* in a data loader */
};

/* For what FSDP moves parameters and gradients, by its own ranges. */
enum framework_shard { FRAMEWORK_NO_SHARD, FRAMEWORK_FOR_FORWARD, FRAMEWORK_FOR_BACKWARD };

struct framework_word {
	enum framework_place place;
	const char *module; /* NULL: none, or not known */
	const char *says;   /* name of the operator or the node, or NULL */
	uint32_t origin;    /* the operator that it belongs to, by number of the range: of a node the one that
			       made it;    TIMELINE_NO_RANGE: not known */
	bool owns;          /* the module has parameters of its own, as far as is known */
	bool weighs;        /* the operator is one that passes are made of, as a product or a norm */
	const char *kind;   /* of the layer that such an operator is (framework_kind.h), or NULL */
	bool creates;  /* the operator makes a tensor of none (aten::arange): it never records gradients */
	bool moves;    /* the operator only moves data, as DDP's broadcasts of buffers need it
			  (aten::flatten_dense_tensors) */
	bool in_place; /* the operator changes what it is given (aten::_foreach_lerp_) */
	enum framework_shard shard;
	bool settled; /* the place is that of the call itself, whatever is around it: as XLA has compiled it
		       */
	uint64_t parameter_count; /* elements of the module's own parameters, where settled; 0: not known */
	bool followed; /* settled by the flow of data in what was compiled, or by neighbours there, and not by
			  names */
	bool compiled;            /* in a compiled region: operators and modules are of the whole */
};

struct framework;

/* Of one process; NULL: its framework said nothing. The timeline must stay. framework_free frees it; NULL is
 * fine. */
struct framework *framework_read(const struct timeline *timeline, const struct timeline_process *process);
void framework_free(struct framework *framework);

/* Of what is called in a range of that process, and in no inner one; TIMELINE_NO_RANGE: in none. */
struct framework_word framework_word_in(const struct framework *framework, uint32_t range);

/* Of a call of that process. Not by two threads at once. */
struct framework_word framework_word(struct framework *framework, uint32_t call);

/* What a range says by itself: that autograd goes back in it; in which part of a step PyTorch's own ranges
 * have the thread (UPDATE, ZEROES, LOADS; else SILENT); that a pass begins at the latest with it. */
bool framework_goes_back(const struct timeline_range_name *name);
enum framework_place framework_place_of(const struct timeline_range_name *name);
bool framework_begins_pass(const struct timeline_range_name *name);

/* Whether the framework was asked all the time between two moments. */
bool framework_was_asked(const struct framework *framework, int64_t begin_ns, int64_t end_ns);

/* Is a module another one or within it? By their paths; NULL is within none. */
bool framework_is_within(const char *module, const char *outer);

#endif
