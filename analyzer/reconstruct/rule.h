/*
 * The rules of the reconstruction, one row each: name, key, stage, evidence, strength, what it needs, what it
 * proposes, and the test that fails without it ("flow CASE": a case of tests/analyzer/flow_host.c). In a
 * stage they are applied in the order of the rows: what one has settled the later are not asked about.
 * What a call is said to do, by which a rule has decided, is layer_why.h.
 *
 * rule_driver.h goes through the rules of a stage; tests/mutation switches each off and expects its test to
 * fail.
 */
#ifndef RECONSTRUCT_RULE_H
#define RECONSTRUCT_RULE_H

#include "timeline/mutation.h"

/* What is found by a rule, in this order. */
#define RULE_STAGE_LIST(X) \
	X(ITERATIONS, "iterations") \
	X(PARAMETERS, "parameters") \
	X(UPDATES, "updates") \
	X(PASSES, "passes") \
	X(LAYERS, "layers")

/* What it is found by, the strongest first. */
#define RULE_EVIDENCE_LIST(X) \
	X(USER, "user")           /* a rule of the user's */ \
	X(LABELS, "labels")       /* of the trace */ \
	X(FRAMEWORK, "framework") /* its word */ \
	X(NAMES, "names")         /* that the program gives */ \
	X(DATA_FLOW, "data flow") \
	X(ROLE, "function") /* what a library's function does */ \
	X(ORDER, "order")

/* How sure it is, where it applies. */
#define RULE_STRENGTH_LIST(X) \
	X(SURE, "sure") \
	X(LIKELY, "likely") \
	X(WEAK, "weak")

/* clang-format off */
#define RULE_LIST(X) \
	/* iterations */ \
	X(ITERATION_USER, "iteration_user", ITERATIONS, USER, SURE, \
		"the user's rule", "iterations where it matches", "test_rules") \
	X(ITERATION_MARKERS, "iteration_markers", ITERATIONS, NAMES, SURE, \
		"the program's own markers", "an iteration a marker", "test_marker") \
	X(ITERATION_OPTIMIZER, "iteration_optimizer", ITERATIONS, FRAMEWORK, SURE, \
		"steps of an optimizer", "an iteration up to each step", "test_rules") \
	X(ITERATION_VARIABLES, "iteration_variables", ITERATIONS, FRAMEWORK, SURE, \
		"operations of a graph that update variables", "an iteration up to each update", "test_rules") \
	X(ITERATION_PROGRAMS, "iteration_programs", ITERATIONS, FRAMEWORK, SURE, \
		"runs of a compiled program", "an iteration a run", "test_framework") \
	X(ITERATION_UPDATES, "iteration_updates", ITERATIONS, DATA_FLOW, SURE, \
		"calls that write parameters", "an iteration up to each update", "test_iteration") \
	X(ITERATION_SEARCH, "iteration_search", ITERATIONS, NAMES, LIKELY, \
		"names of kernels and functions", "an iteration up to each update by name", "test_iteration") \
	X(ITERATION_SIZES, "iteration_sizes", ITERATIONS, ORDER, LIKELY, \
		"a search without sizes that is unsure", "the same search with sizes", "flow images") \
	X(ITERATION_RANGES, "iteration_ranges", ITERATIONS, NAMES, LIKELY, \
		"a range of the program that agrees with the calls, or these tell less", "an iteration an instance", "test_marker") \
	/* what the trace says itself */ \
	X(GIVEN, "given", LAYERS, LABELS, SURE, \
		"labels of another profiler, or of the program's log", "their phases and layers", "test_given") \
	/* passes by what libraries' calls work on */ \
	X(LIBRARIES, "libraries", PASSES, DATA_FLOW, SURE, \
		"libraries' calls that tell the gradient of each parameter", "all by these, as up to the next part", "test_rules") \
	X(PASS_FUNCTION, "pass_function", PASSES, ROLE, SURE, \
		"a function of one pass alone", "its pass", "test_layer") \
	X(PASS_GRADIENT, "pass_gradient", PASSES, DATA_FLOW, SURE, \
		"a call that writes a parameter's gradient", "backward", "test_layer") \
	X(PASS_MANNER, "pass_manner", PASSES, DATA_FLOW, LIKELY, \
		"a call that reads a parameter", "forward where it reads it as the first one did", "test_layer") \
	X(PASS_THREADS, "pass_threads", PASSES, ORDER, LIKELY, \
		"a thread that Python does not call in", "backward in that thread", "test_threads") \
	X(PASS_USED, "pass_used", PASSES, DATA_FLOW, LIKELY, \
		"a call between forward and backward", "backward where that uses its result", "test_layer") \
	X(PASS_END, "pass_end", PASSES, ORDER, WEAK, \
		"a call after the last one that makes a gradient", "backward up to the last product, then update", "test_layer") \
	X(PASS_BETWEEN, "pass_between", PASSES, ORDER, WEAK, \
		"a call between two of one pass", "that pass", "test_layer") \
	/* layers by what libraries' calls work on */ \
	X(FORWARD_PARAMETER, "forward_parameter", LAYERS, DATA_FLOW, SURE, \
		"a forward call that reads a parameter", "the parameter's layer, or a new one", "test_layer") \
	X(FORWARD_REPEATED, "forward_repeated", LAYERS, ROLE, SURE, \
		"dropout done again with the mask of the first time", "the layer of the first", "test_layer") \
	X(FORWARD_SPECIAL, "forward_special", LAYERS, DATA_FLOW, LIKELY, \
		"a sum of two branches, a product of two results", "a layer of its own, or the attention's", "test_layer") \
	X(FORWARD_KIND, "forward_kind", LAYERS, ROLE, LIKELY, \
		"a function that is a layer: pooling, dropout, softmax", "a layer of its own", "test_layer") \
	X(FORWARD_TARGET, "forward_target", LAYERS, DATA_FLOW, LIKELY, \
		"a call that compares a result with what came from the host", "a loss", "test_layer") \
	X(FORWARD_EARLIER, "forward_earlier", LAYERS, ORDER, LIKELY, \
		"a call that did the same to another micro-batch", "the layer of that", "test_layer") \
	X(FORWARD_SOURCE, "forward_source", LAYERS, DATA_FLOW, LIKELY, \
		"a forward call that works on another's result", "the layer of that", "test_rules") \
	X(FORWARD_MODULE, "forward_module", LAYERS, NAMES, LIKELY, \
		"a launch of the module whose parameters come next", "that module's layer", "test_rules") \
	X(FORWARD_PREVIOUS, "forward_previous", LAYERS, ORDER, WEAK, \
		"a forward call that nothing tells", "the layer of the call before", "test_layer") \
	X(FORWARD_FIRST, "forward_first", LAYERS, ORDER, WEAK, \
		"calls before any layer", "the first layer", "test_rules") \
	X(BACKWARD_PARAMETER, "backward_parameter", LAYERS, DATA_FLOW, SURE, \
		"a backward call that reads a parameter or writes its gradient", "the parameter's layer", "test_layer") \
	X(BACKWARD_PARTNER, "backward_partner", LAYERS, DATA_FLOW, SURE, \
		"the forward call of the family with the same tensors", "its layer", "test_layer") \
	X(BACKWARD_CHAIN, "backward_chain", LAYERS, DATA_FLOW, SURE, \
		"the gradient of what a forward call made", "its layer", "test_layer") \
	X(BACKWARD_LOSS, "backward_loss", LAYERS, DATA_FLOW, LIKELY, \
		"a call that works on a forward result", "the layer of that", "test_layer") \
	X(BACKWARD_UNMATCHED, "backward_unmatched", LAYERS, ORDER, WEAK, \
		"the last forward call of the family without a partner", "its layer", "test_rules") \
	X(BACKWARD_PREVIOUS, "backward_previous", LAYERS, ORDER, WEAK, \
		"a backward call that nothing tells", "the layer of the call before", "test_rules") \
	X(BACKWARD_ADDEND, "backward_addend", LAYERS, DATA_FLOW, LIKELY, \
		"a call that adds two gradients", "the layer of the later call that made one", "test_layer") \
	X(RECOMPUTED, "recomputed", LAYERS, DATA_FLOW, SURE, \
		"layers that go forward more often than backward", "work on the same data is done again", "test_layer") \
	X(MODULE_NAMES, "module_names", LAYERS, NAMES, SURE, \
		"modules at calls or at parameters", "the layers' names", "test_layer") \
	X(SENDS_GRADIENTS, "sends_gradients", LAYERS, DATA_FLOW, SURE, \
		"a collective that holds gradients or parameters", "their layers", "test_layer") \
	X(SENDS_PACKED, "sends_packed", LAYERS, DATA_FLOW, SURE, \
		"gradients copied to what is sent", "their layers", "test_layer") \
	X(SENDS_WRITTEN, "sends_written", LAYERS, DATA_FLOW, LIKELY, \
		"what backward calls wrote is sent", "their layers", "test_layer") \
	X(SENDS_LITTLE, "sends_little", LAYERS, DATA_FLOW, LIKELY, \
		"a few numbers that no computation depends on", "no phase: a message", "test_layer") \
	/* parameters by the memory that calls touch */ \
	X(FLOW, "flow", PARAMETERS, DATA_FLOW, LIKELY, \
		"what the program's own kernels touch", "all that follows here", "flow each") \
	X(SHARDS, "shards", PARAMETERS, DATA_FLOW, SURE, \
		"collectives that gather parameters", "the shard is what they are touched as", "flow zero") \
	X(COPIED, "copied", PARAMETERS, DATA_FLOW, SURE, \
		"copies to the device before the first iteration", "parameters at their starts", "test_rules") \
	X(OVERWRITTEN, "overwritten", PARAMETERS, DATA_FLOW, LIKELY, \
		"something else written over all that was copied", "what stands in a row with a weight, as below", "test_rules") \
	X(COPIED_INSIDE, "copied_inside", PARAMETERS, DATA_FLOW, LIKELY, \
		"few copies to the device", "parameters anywhere in them", "flow block") \
	X(UPDATED_ROWS, "updated_rows", PARAMETERS, DATA_FLOW, LIKELY, \
		"an update of nothing that was copied", "what stands in a row with a weight in its arguments", "test_rules") \
	X(READ_WEIGHTS, "read_weights", PARAMETERS, DATA_FLOW, WEAK, \
		"an optimizer that works on a copy", "what libraries read and nothing writes", "flow zero") \
	X(GATHERED_BLOCK, "gathered_block", PARAMETERS, DATA_FLOW, LIKELY, \
		"a block that all ranks gather with most weights", "all in it", "flow zero") \
	X(BLOCK_TOUCHES, "block_touches", PARAMETERS, DATA_FLOW, LIKELY, \
		"a library that reads a block of parameters", "a touch of each", "test_rules") \
	X(SET_SIZES, "set_sizes", PARAMETERS, DATA_FLOW, SURE, \
		"a set that is the last to write a parameter in the set-up", "its size, where none is known", "test_rules") \
	X(STATE_SIZES, "state_sizes", PARAMETERS, DATA_FLOW, LIKELY, \
		"sets of the optimizer's state as large as all known parameters beside it", "the other parameters' sizes", "test_rules") \
	/* updates by the memory that calls touch */ \
	X(UPDATES_SEVERAL, "updates_several", UPDATES, DATA_FLOW, LIKELY, \
		"stretches without the model's work that update", "a part of the iteration each", "flow twice") \
	X(UPDATES_CALLER, "updates_caller", UPDATES, NAMES, LIKELY, \
		"launches by the function that updates", "the update begins with them", "test_rules") \
	X(UPDATES_LAST_PASSES, "updates_last_passes", UPDATES, ORDER, LIKELY, \
		"model's work after the last update", "a part without an update", "test_rules") \
	X(UPDATES_SPREAD, "updates_spread", UPDATES, NAMES, LIKELY, \
		"updates within the backward pass", "they are set apart, and tell whose gradients there are", "flow soon") \
	X(UPDATES_ONE, "updates_one", UPDATES, DATA_FLOW, LIKELY, \
		"launches that touch most parameters, or are named so", "one update", "flow each") \
	X(UPDATES_NORMS, "updates_norms", UPDATES, DATA_FLOW, LIKELY, \
		"launches on gradients and new memory before the update", "the update begins with them", "flow norms") \
	/* the turn from forward to backward */ \
	X(TURN_BATCHES, "turn_batches", PASSES, ORDER, LIKELY, \
		"the first step with a parameter comes again", "a pass each", "flow batches") \
	X(TURN_STRETCHES, "turn_stretches", PASSES, ORDER, LIKELY, \
		"passes begun before others went back", "a pass a pair of stretches", "flow turns") \
	X(TURN_ORDER, "turn_order", PASSES, ORDER, LIKELY, \
		"parameters that come again in the opposite order", "the turn", "flow each") \
	X(TURN_THREAD, "turn_thread", PASSES, ORDER, LIKELY, \
		"two threads, one after the other", "the turn where the second begins", "test_rules") \
	X(TURN_LONE, "turn_lone", PASSES, ORDER, WEAK, \
		"one layer and one fill", "the turn at the fill", "test_rules") \
	X(START_THREAD, "start_thread", PASSES, ORDER, SURE, \
		"a fill before another thread goes back", "backward from the fill on", "test_rules") \
	X(START_SEED, "start_seed", PASSES, DATA_FLOW, SURE, \
		"a fill of one new address", "backward from it on", "test_rules") \
	X(START_COMMON_FILLS, "start_common_fills", PASSES, DATA_FLOW, LIKELY, \
		"fills like the seed in the forward pass", "the seed is the one after the loss", "flow images") \
	X(START_RECEIVED, "start_received", PASSES, DATA_FLOW, SURE, \
		"a message from another rank", "backward from it on", "test_rules") \
	X(START_RETURNED, "start_returned", PASSES, DATA_FLOW, LIKELY, \
		"results fetched, then data sent", "backward after them", "test_rules") \
	X(START_MADE, "start_made", PASSES, DATA_FLOW, LIKELY, \
		"one new address that a launch makes without a fill", "backward from it on", "test_rules") \
	X(START_COMPARED, "start_compared", PASSES, DATA_FLOW, WEAK, \
		"launches that work on the input", "backward from the second on", "test_rules") \
	X(EVALUATIONS, "evaluations", PASSES, DATA_FLOW, LIKELY, \
		"times through the model of which nothing goes back", "evaluations", "test_rules") \
	/* gradients and layers by the memory that calls touch */ \
	X(GRADIENT_BESIDE, "gradient_beside", LAYERS, DATA_FLOW, SURE, \
		"the update's arguments", "what stands at one distance of the parameters", "flow images") \
	X(GRADIENT_STATE, "gradient_state", LAYERS, DATA_FLOW, LIKELY, \
		"updates of parameters and of gradients apart", "gradients by the state both stand with", "test_rules") \
	X(GRADIENT_BLOCKS, "gradient_blocks", LAYERS, DATA_FLOW, LIKELY, \
		"parameters in one block", "gradients in the same order in another", "flow block") \
	X(GROUP_MODULES, "group_modules", LAYERS, NAMES, SURE, \
		"few parameters copied in one module", "one layer", "test_rules") \
	X(TOUCH_PARAMETER, "touch_parameter", LAYERS, DATA_FLOW, SURE, \
		"a step that touches a parameter or its copy", "the parameter's layer", "flow each") \
	X(TOUCH_BIAS, "touch_bias", LAYERS, DATA_FLOW, LIKELY, \
		"a kernel that adds a parameter to a product in place", "one layer with the product", "flow each") \
	X(TOUCH_SOURCE, "touch_source", LAYERS, DATA_FLOW, LIKELY, \
		"a forward step that reads what another touched last", "the layer of that", "flow each") \
	X(TOUCH_SIBLING, "touch_sibling", LAYERS, DATA_FLOW, LIKELY, \
		"a backward product that reads what a near one with the weights reads", "the layer of that", "flow each") \
	X(TOUCH_GRADIENT, "touch_gradient", LAYERS, DATA_FLOW, SURE, \
		"the last step that touches a gradient", "the parameter's layer", "flow each") \
	X(TOUCH_UPDATED, "touch_updated", LAYERS, DATA_FLOW, LIKELY, \
		"a spread update", "what touched its arguments last is of its parameters", "flow soon") \
	X(TOUCH_REDUCTION, "touch_reduction", LAYERS, DATA_FLOW, LIKELY, \
		"a sum of what a near product reads", "the layer of that", "test_rules") \
	X(TOUCH_PARTNER, "touch_partner", LAYERS, DATA_FLOW, LIKELY, \
		"a backward product that reads what one layer's products read forward", "that layer", "test_rules") \
	X(TOUCH_COPY, "touch_copy", LAYERS, DATA_FLOW, LIKELY, \
		"a copy beside a product", "the product's layer", "test_rules") \
	X(TOUCH_STATE, "touch_state", LAYERS, NAMES, LIKELY, \
		"launches on a module's own state before its parameters", "the module's layer", "test_rules") \
	X(TOUCH_NEXT, "touch_next", LAYERS, ORDER, WEAK, \
		"a forward step that nothing tells", "the layer of the next", "test_rules") \
	X(TOUCH_SINK, "touch_sink", LAYERS, DATA_FLOW, LIKELY, \
		"a backward step whose result another takes", "the layer of that", "flow each") \
	X(TOUCH_PREVIOUS, "touch_previous", LAYERS, ORDER, WEAK, \
		"a backward step that nothing tells", "the layer of the step before", "test_rules") \
	X(TOUCH_LOSS, "touch_loss", LAYERS, ORDER, LIKELY, \
		"steps after the last layer, or before it goes back", "the last layer", "flow middle") \
	X(TOUCH_UNITS, "touch_units", LAYERS, DATA_FLOW, LIKELY, \
		"what gathers or scatters parameters of several layers", "the first of them", "test_rules") \
	X(OUTSIDE_EXCHANGES, "outside_exchanges", LAYERS, DATA_FLOW, LIKELY, \
		"exchanges before anything computes", "no pass", "test_rules") \
	X(OUTSIDE_CLEARS, "outside_clears", LAYERS, DATA_FLOW, LIKELY, \
		"steps that touch gradients alone, before a pass", "no pass", "flow copies") \
	/* what the framework says, over all of these */ \
	X(FRAMEWORK, "framework", LAYERS, FRAMEWORK, SURE, \
		"operators, autograd nodes, optimizer steps, modules", "their passes and layers", "test_layer_framework") \
	X(FRAMEWORK_TRAINER, "framework_trainer", PASSES, FRAMEWORK, SURE, \
		"the module whose own code starts a backward pass", "what that code does without gradients is in no module's pass", \
		"test_layer_framework") \
	X(FRAMEWORK_EVALUATIONS, "framework_evaluations", PASSES, FRAMEWORK, SURE, \
		"passes without gradients", "frozen, or an evaluation", "test_layer_framework") \
	X(FRAMEWORK_KINDS, "framework_kinds", LAYERS, FRAMEWORK, SURE, \
		"operators of modules with weights", "the kinds of their layers", "test_layer_framework") \
	X(FRAMEWORK_ROOTS, "framework_roots", LAYERS, NAMES, SURE, \
		"names of modules with one root", "the names without it", "test_layer_framework") \
	/* from passes and layers to all calls */ \
	X(CALL_GRAPH, "call_graph", LAYERS, ROLE, SURE, \
		"the launch of a captured graph", "the phase of all its operations, where that is one", "test_layer") \
	X(CALL_FUNCTION, "call_function", LAYERS, ROLE, SURE, \
		"a function that communicates, reads input, or goes one way through a layer", "its phase", "test_layer") \
	X(CALL_WRITES, "call_writes", LAYERS, DATA_FLOW, SURE, \
		"a call that writes a parameter, or its state", "update, and the parameter's layer", "test_layer") \
	X(CALL_DIRECTION, "call_direction", LAYERS, ROLE, SURE, \
		"a copy between host and device, or of a batch's part", "that phase", "test_layer") \
	X(CALL_BESIDE, "call_beside", LAYERS, ORDER, LIKELY, \
		"a set or copy between two calls of one phase", "that phase, and their layer", "flow copies") \
	/* other iterations */ \
	X(OTHERS_TOLD, "others_told", LAYERS, FRAMEWORK, SURE, \
		"an iteration of other calls that the framework was asked of", "its own passes and layers", \
		"test_layer_told") \
	X(MOVED, "moved", LAYERS, ORDER, LIKELY, \
		"calls without a partner there, of one operation", "the role of the usual one's, in order", "test_rules") \
	X(INSERTED, "inserted", LAYERS, ORDER, WEAK, \
		"calls without a partner there, between two of one phase", "that phase, and the layer of the one before", \
		"test_layer") \
	X(ALIGNED, "aligned", LAYERS, ORDER, LIKELY, \
		"an iteration of other calls", "roles by alignment with the usual one", "test_layer")
/* clang-format on */

enum rule {
#define RULE_ITEM(name, key, stage, evidence, strength, needs, proposes, test) RULE_##name,
	RULE_LIST(RULE_ITEM)
#undef RULE_ITEM
		RULE_COUNT,
	RULE_NONE = RULE_COUNT, /* no rule: what the call itself is */
};

#define RULE_STAGE_ITEM(name, key) RULE_FINDS_##name,
#define RULE_EVIDENCE_ITEM(name, key) RULE_BY_##name,
#define RULE_STRENGTH_ITEM(name, key) RULE_IS_##name,
enum rule_stage { RULE_STAGE_LIST(RULE_STAGE_ITEM) };
enum rule_evidence { RULE_EVIDENCE_LIST(RULE_EVIDENCE_ITEM) };
enum rule_strength { RULE_STRENGTH_LIST(RULE_STRENGTH_ITEM) };
#undef RULE_STAGE_ITEM
#undef RULE_EVIDENCE_ITEM
#undef RULE_STRENGTH_ITEM

/* A row of the list. */
struct rule_row {
	const char *key;
	enum rule_stage stage;
	enum rule_evidence evidence;
	enum rule_strength strength;
};

extern const struct rule_row rule_rows[RULE_COUNT];
extern const char *const rule_evidence_keys[];
extern const char *const rule_strength_keys[];

#ifdef PM_MUTATION
bool rule_is_on(enum rule rule);
#else
static inline bool rule_is_on(enum rule rule)
{
	(void)rule;
	return true;
}
#endif

#endif
