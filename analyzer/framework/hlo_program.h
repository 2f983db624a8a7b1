/*
 * Programs that XLA compiled (JAX): which direction and layer each instruction is of. A launch belongs to the
 * instruction that XLA's own range around it names (`hlo_op`), of the program that the range outside names
 * (`program_id`).
 *
 * JAX says in an instruction's op_name what the program wrote, and through which derivative it came:
 * "jit(step)/transpose(jvp(CNN))/Conv_0/conv_general_dilated". XLA fuses instructions of several directions
 * and layers into one, so of a fusion this order holds: the product or convolution in it, its own op_name,
 * what is inside most, its neighbours. What no name tells the flow of data does (hlo_flow.c).
 *
 * Texts belong to the trace or to the arena; all is as long there as both.
 */
#ifndef FRAMEWORK_HLO_PROGRAM_H
#define FRAMEWORK_HLO_PROGRAM_H

#include "base/lookup.h"
#include "base/memory.h"
#include "trace/trace.h"

enum hlo_direction {
	HLO_NONE, /* not known; in a program without derivatives nothing has one */
	HLO_FORWARD,
	HLO_BACKWARD,
	HLO_RECOMPUTED, /* of the forward pass, again in the backward pass */
	HLO_UPDATE,
	HLO_COMMUNICATION,
};
const char *hlo_direction_name(enum hlo_direction direction); /* "-" for HLO_NONE */

/* What a direction follows from. */
enum hlo_source {
	HLO_BY_NOTHING,
	HLO_BY_PRODUCT,   /* the op_name of the product or convolution in it */
	HLO_BY_NAME,      /* its own */
	HLO_BY_INSIDE,    /* those of most that was fused */
	HLO_BY_NEIGHBOUR, /* those of what uses it, else of what it uses */
	HLO_BY_FLOW,      /* of data */
	HLO_BY_OPCODE,
};
const char *hlo_source_name(enum hlo_source source);

#define HLO_NO_INSTRUCTION UINT32_MAX

/* One that is run by itself, not inside of a fusion. */
struct hlo_instruction {
	const char *name, *opcode, *op_name, *target; /* "": none */
	uint64_t element_count;
	uint32_t type;        /* enum pm_type; PM_TYPE_NONE: a tuple */
	uint32_t index;       /* of a parameter, or of get-tuple-element */
	uint32_t computation; /* number in the module */
	uint32_t order;       /* in its computation's schedule, from 1 on; 0: not in it */
	bool is_root;
	uint32_t operand_count, user_count, called_count;
	/*
	 * Instructions of the module, HLO_NO_INSTRUCTION: it is not there. Through a call, which XLA makes
	 * around what becomes a command buffer, they lead straight: from the call's results to what made
	 * them, from parameters to what is given.
	 */
	uint32_t *operands, *users;
	uint32_t *called; /* computations of the module, likewise */
	bool owns;        /* its own layer, by its name, has weights */
	bool has_product; /* a product or a convolution, or one inside */
	enum hlo_direction direction;
	enum hlo_source source;
	const char *layer;   /* the path of modules, or the weight's name; "": not known, or of several */
	const char **layers; /* of communication: of each operand's, without repetition */
	uint32_t layer_count;
};

/* What is inside of a fusion, or called for each element. */
struct hlo_part {
	const char *opcode, *op_name;
};

/* Of an argument with the name p['params']['Dense_0']['kernel'], and of what is as large, as the optimizer's
 * state. */
struct hlo_argument {
	const char *path; /* "Dense_0" */
	const char *leaf; /* "kernel" */
	const char *scope; /* the layer that has it, under a longer name; NULL: the path's, or none */
	uint64_t element_count;
};

struct hlo_layer {
	const char *name;
	uint64_t element_count; /* of its weights; 0: not known */
	bool owns;              /* it has weights, or is taken to have some */
};

struct hlo_computation {
	uint64_t id;
	uint32_t first, count;           /* instructions of the module */
	uint32_t first_part, part_count; /* parts of the module */
	uint32_t caller;  /* the instruction that calls it, the last of several; HLO_NO_INSTRUCTION: none */
	bool is_straight; /* it runs once: the entry, and what is called from there alone by `call` */
};

struct hlo_module {
	const char *name;
	uint64_t program; /* what XLA's ranges call program_id */
	bool is_partial;  /* instructions are missing */
	bool trains;      /* it has derivatives, or makes weights by a loss of them */
	bool steps;       /* it trains, and updates weights by it */
	bool names_all;   /* of JAX 0.7 and newer: what has no derivative in its name is none */
	uint32_t entry;   /* computation */
	struct hlo_computation *computations;
	struct hlo_instruction *instructions; /* by computation, in order of the schedule */
	struct hlo_part *parts;
	uint32_t computation_count, instruction_count, part_count;
	const bool *is_aliased;         /* by element of the result: it takes an argument's place */
	uint32_t alias_count;           /* of those elements */
	struct hlo_argument *arguments; /* those with a path, each once, in order of it */
	uint32_t argument_count;
	bool names_arguments;     /* a layer has some */
	struct hlo_layer *layers; /* of all instructions, each once, in order of its name */
	uint32_t layer_count;
	struct lookup by_name;
};

struct hlo {
	struct hlo_module *modules;
	size_t module_count;
	struct arena arena;
};

/* Reads and labels all programs, which stay. */
void hlo_init(struct hlo *hlo, const struct trace_hlo *programs);
void hlo_free(struct hlo *hlo);

/* The module, the last of those with this number, and in it an instruction; NULL: there is none. */
const struct hlo_module *hlo_find_module(const struct hlo *hlo, uint64_t program);
const struct hlo_instruction *hlo_find(const struct hlo_module *module, const char *name, size_t length);

/*
 * Whether a layer has weights, by the names of the program's arguments: "GPT/block0/qkv" those that the
 * program calls p['params']['block0']['qkv']['kernel'] and so on. *elements: of them all; 0: not known. In a
 * program whose arguments are not called so, layers are where weights are in the program's own trees, as far
 * as the flow of data finds any; else what has no other layer in it is taken to have some.
 */
bool hlo_owns(const struct hlo_module *module, const char *layer, uint64_t *elements);

/*
 * From XLA's ranges (PM_RANGE_NVTX) to an instruction: "XlaModule:#hlo_module=jit_step,program_id=13#" is
 * around each run of a program, and in it "Thunk:#name=...,hlo_op=cudnn-conv.2#" around each launch. Both
 * answer false for other texts, and for what XLA launches while it compiles, which has no program_id.
 */
bool hlo_range_program(const char *text, uint64_t *program);
bool hlo_range_instruction(const char *text, const char **name, size_t *length);

/*
 * The instructions of the nodes of a graph (a command buffer), of which XLA says nothing in a range of their
 * own: in the order of the schedule. names: of each node the kernel's, NULL for a copy or set, of which bytes
 * has how much (0: not known). around: the innermost instruction that the launch's ranges name, outwards from
 * the launch (a command buffer's own name may be no instruction's), or NULL: where it is a call or a loop,
 * the nodes are in what it calls, else in the module's entry; there after one instruction and before another,
 * where it is known which were launched before and after the graph (NULL: it is not). A kernel has the name
 * of the first of equal instructions, so that numbers at the end of names count for little. found[i] is an
 * instruction, or NULL. Takes time with names times instructions: more than some ten million are left alone.
 */
void hlo_align(const struct hlo_module *module, const struct hlo_instruction *around,
	const struct hlo_instruction *after, const struct hlo_instruction *before, const char *const *names,
	const uint64_t *bytes, size_t count, const struct hlo_instruction **found);

/* ---- for hlo*.c and tests ---- */

/* Of an op_name: FORWARD, BACKWARD or RECOMPUTED where it has a derivative, else NONE. */
enum hlo_direction hlo_name_direction(const char *op_name);

/* Whether it is a place in the program, and not an argument's name, which may have a slash, too. */
bool hlo_name_is_place(const char *op_name);

/* The path of modules in it, without derivatives, calls, loops and the primitive at its end: "CNN/Conv_0";
 * "": none. */
const char *hlo_name_layer(struct arena *arena, const char *op_name);

/* What the flow of data says of an instruction of the computation that is run. */
struct hlo_flow {
	bool *is_loss;   /* by instruction: the loss needs it */
	bool *is_update; /* it needs what the loss does not: the optimizer's state; or makes weights of
			    weights */
	bool is_known;   /* there is a loss, and state or weights that are updated */
};
struct hlo_flow hlo_flow_find(struct arena *arena, const struct hlo_module *module);

/* The weight that a product reads, or whose gradient it makes, by the program's name of the argument; "":
 * none. */
const char *hlo_weight_name(
	const struct hlo_module *module, const struct hlo_flow *flow, uint32_t instruction);

/* The weight that an argument is, or that it is kept of, as an optimizer's state; "": none. */
const char *hlo_weight_of(
	const struct hlo_module *module, const struct hlo_flow *flow, const struct hlo_instruction *argument);

/* The argument, a weight or state of it, that an update takes together with the gradient that an instruction
 * hands it; NULL: none. */
const struct hlo_instruction *hlo_weight_updated(
	const struct hlo_module *module, const struct hlo_flow *flow, const struct hlo_instruction *gradient);

/* Of an argument's name (hlo_tree.c): is it an array in a tree? Where in it, without the array's own key:
 * "p['fc1']" of "p['fc1']['w']", but all of "p['w1']". Has a state the same way in its tree as a weight,
 * "s[0].mu['w1']" as "p['w1']"? */
bool hlo_tree_names(const char *name);
const char *hlo_tree_layer(struct arena *arena, const char *name);
bool hlo_tree_is_state_of(const char *state, const char *weight);

/* Whether it does nothing but hand on its operand: a copy, a bitcast, a conversion. */
bool hlo_is_passing(const struct hlo_instruction *instruction);

/* What an operand is, through what hands it on; NULL: it is not there, or the way is too long. */
const struct hlo_instruction *hlo_source(const struct hlo_module *module, uint32_t operand);

/* How well an argument's path is a layer's: it may have one component in front, the root's. 0: it is not. */
size_t hlo_scope_fit(const char *layer, const char *path);

/* The layers of arguments whose path is none (hlo_scope.c), once layers and arguments are listed. */
void hlo_find_scopes(struct hlo_module *module);

/* In this order (hlo_label.c, hlo_argument.c). */
struct hlo_flow hlo_label(struct arena *arena, struct hlo_module *module);
void hlo_label_communication(
	struct arena *arena, struct hlo_module *module); /* again, where layers have changed */
void hlo_list_arguments(struct arena *arena, struct hlo_module *module, const struct hlo_flow *flow);

#endif
