/*
 * What a rule says of a call whose phase or layer it decides, as `layers --why` shows it beside the rule's
 * evidence and strength (rule.h). It is noted where the decision is made, never found out again. One list:
 * for programs, and in words after "because the call".
 */
#ifndef RECONSTRUCT_LAYER_WHY_H
#define RECONSTRUCT_LAYER_WHY_H

#include <stdint.h>

#define LAYER_WHY_LIST(X) \
	X(NONE, "none", "says nothing of it") \
	X(GIVEN, "given", "is labelled so in the trace") \
	/* phases */ \
	X(FUNCTION, "function", "is of a function that does that and nothing else") \
	X(DIRECTION, "direction", "copies in that direction, for what is computed") \
	X(MANNER, "manner", "reads a parameter as the forward pass does (first), or in another way") \
	X(BETWEEN, "between", "lies between calls of that pass") \
	X(USED, "used", "lies between the passes: by who uses its result") \
	X(TURN, "turn", "lies on that side of the turning point, where the order of parameters reverses") \
	X(THREAD, "thread", "is called in Python, or by the thread of the backward pass, which is not") \
	X(UPDATES, "updates", "writes parameters, or works for what does") \
	X(WINDOW, "window", "is among the launches that work on parameters and their state") \
	X(AFTER_GRADIENTS, "after_gradients", "follows the last call that makes a gradient") \
	X(EVALUATION, "evaluation", "goes through the model, and no backward call depends on it") \
	X(FROZEN, "frozen", \
		"goes forward without gradients, through modules that get none in the iteration: a teacher, or a frozen part") \
	X(NO_GRADIENTS, "no_gradients", \
		"goes forward without gradients, through modules that get some in the iteration: an evaluation or a rollout") \
	X(RECOMPUTE, "recompute", "repeats a forward call for the backward pass (checkpointing)") \
	X(GRAPH, "graph", "launches a captured graph that holds such work") \
	X(OPERATOR, "operator", "was launched in that phase, as the framework says") \
	X(NODE, "node", "was launched for the backward pass, as the framework says") \
	X(STEP, "step", "was launched in an optimizer's step, or between the passes and it") \
	X(PLACE, "place", "sets or copies memory between two calls of that phase") \
	/* layers */ \
	X(PARAMETER, "parameter", "touches a parameter of the layer") \
	X(CAST, "cast", "reads a copy of a parameter of the layer") \
	X(GRADIENT, "gradient", "writes a gradient of the layer, or is the last to touch it") \
	X(GATHERS, "gathers", \
		"gathers parameters of the layer and of others, or puts their gradients together") \
	X(SIBLING, "sibling", "reads the gradient that the layer's product reads") \
	X(COPY, "copy", "copies what a product of the layer reads, or what it made") \
	X(OPENS, "opens", "is a layer of its own by what it does") \
	X(SAME, "same", "does what a call of the layer did before") \
	X(SOURCE, "source", "works on what a call of the layer made or touched last") \
	X(SINK, "sink", "makes what a call of the layer takes next") \
	X(PARTNER, "partner", "has the tensors of a forward call of the layer") \
	X(CHAIN, "chain", "works on the gradient of what a call of the layer made") \
	X(ADDEND, "addend", "adds the gradient that a call of the layer made") \
	X(ASKED, "asked", "was launched for the layer's module, as the framework says") \
	X(MODULE, "module", "comes from the layer's module, before it uses its parameters") \
	X(NEXT, "next", "comes before one of the layer, and nothing else tells") \
	X(PREVIOUS, "previous", "follows one of the layer, and nothing else tells") \
	X(LOSS, "loss", "follows the last layer, or goes back before it does, as a loss") \
	X(FIRST, "first", "comes before every layer") \
	X(SERVES, "serves", "updates parameters of the layer") \
	X(SENDS, "sends", "sends gradients or parameters of the layer") \
	X(PACKED, "packed", "sends what gradients of the layer were copied into") \
	X(WRITTEN, "written", "sends what backward calls of the layer wrote") \
	X(CUT, "cut", "sends or brings what a call of the layer made or takes")

enum layer_why {
#define LAYER_WHY_ITEM(name, key, text) LAYER_WHY_##name,
	LAYER_WHY_LIST(LAYER_WHY_ITEM)
#undef LAYER_WHY_ITEM
		LAYER_WHY_COUNT,
};

/* "parameter", "touches a parameter of the layer". */
extern const char *const layer_why_keys[LAYER_WHY_COUNT];
extern const char *const layer_why_texts[LAYER_WHY_COUNT];

/* Why a call has its phase and its layer. */
struct layer_reason {
	uint64_t address;      /* of the parameter that told the layer; 0: none did */
	uint32_t call;         /* the timeline's call that told it, + 1; 0: none did */
	uint8_t phase;         /* enum layer_why */
	uint8_t layer;         /* enum layer_why; NONE where the call is of no layer */
	uint8_t phase_decided; /* by which enum rule, + 1; 0: by none, but by what the call is */
	uint8_t layer_decided;
};

#endif
