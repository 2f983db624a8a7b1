/*
 * The direction and layer of each instruction of a module: first what names say, of itself and of what is
 * inside; then neighbours, and where JAX is too old to name all derivatives, the flow of data.
 */
#include "hlo_program.h"

#define DEPTH_MOST 4  /* computations within a fusion's */
#define ROUNDS_MOST 6 /* of neighbours */
#define CANDIDATES_MOST 16

static bool is_product(const char *opcode)
{
	return strcmp(opcode, "dot") == 0 || strcmp(opcode, "convolution") == 0 ||
	       strcmp(opcode, "custom-call") == 0 || strcmp(opcode, "scaled-dot") == 0 ||
	       strcmp(opcode, "ragged-dot") == 0;
}

static bool is_communication(const struct hlo_instruction *i)
{
	static const char *const words[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
		"collective-", "ragged-all-to-all", "send", "recv"};

	for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
		if (strncmp(i->opcode, words[k], strlen(words[k])) == 0)
			return true;
	/* an asynchronous one is named after what it calls */
	if (strncmp(i->opcode, "async-", 6) == 0)
		for (size_t k = 0; k < 5; k++)
			if (strncmp(i->name, words[k], strlen(words[k])) == 0)
				return true;
	return false;
}

/* ---- names ---- */

struct candidate {
	const char *op_name;
	unsigned count;
	bool is_product;
};

struct candidates {
	struct candidate items[CANDIDATES_MOST];
	unsigned count;
};

static void add_candidate(struct candidates *c, const char *op_name, bool product)
{
	for (unsigned i = 0; i < c->count; i++)
		if (strcmp(c->items[i].op_name, op_name) == 0) {
			c->items[i].count++;
			c->items[i].is_product |= product;
			return;
		}
	if (c->count < CANDIDATES_MOST)
		c->items[c->count++] = (struct candidate){op_name, 1, product};
}

bool hlo_name_is_place(const char *op_name)
{
	return op_name[strcspn(op_name, "/[")] == '/';
}

static void look_inside(
	const struct hlo_module *module, const struct hlo_computation *inside, struct candidates *c)
{
	for (uint32_t k = 0; k < inside->part_count; k++) {
		const struct hlo_part *part = &module->parts[inside->first_part + k];

		if (hlo_name_is_place(part->op_name))
			add_candidate(c, part->op_name, is_product(part->opcode));
	}
}

static const struct candidate *best_of(const struct candidates *c)
{
	const struct candidate *best = NULL;

	for (unsigned i = 0; i < c->count; i++)
		if (!best || c->items[i].is_product > best->is_product ||
			(c->items[i].is_product == best->is_product && c->items[i].count > best->count))
			best = &c->items[i];
	return best;
}

static void label_by(
	struct arena *arena, struct hlo_instruction *i, const char *op_name, enum hlo_source source)
{
	i->direction = hlo_name_direction(op_name);
	i->layer = hlo_name_layer(arena, op_name);
	i->source = source;
}

static void label_by_names(struct arena *arena, const struct hlo_module *module, struct hlo_instruction *i)
{
	struct candidates inside = {.count = 0};
	const struct candidate *best;

	for (uint32_t k = 0; k < i->called_count; k++)
		if (i->called[k] != HLO_NO_INSTRUCTION && strcmp(i->opcode, "fusion") == 0)
			look_inside(module, &module->computations[i->called[k]], &inside);
	best = best_of(&inside);
	i->has_product = is_product(i->opcode) || (best && best->is_product);
	if (is_product(i->opcode) && hlo_name_is_place(i->op_name))
		label_by(arena, i, i->op_name, HLO_BY_PRODUCT);
	else if (best && best->is_product)
		label_by(arena, i, best->op_name, HLO_BY_PRODUCT);
	else if (hlo_name_is_place(i->op_name))
		label_by(arena, i, i->op_name, HLO_BY_NAME);
	else if (best)
		label_by(arena, i, best->op_name, HLO_BY_INSIDE);
}

/* ---- what only moves data ---- */

static bool is_move(const char *opcode, size_t length)
{
	static const char *const opcodes[] = {"parameter", "tuple", "get-tuple-element", "bitcast", "slice",
		"concatenate", "reshape", "copy", "transpose", "dynamic-slice", "constant"};

	for (size_t k = 0; k < sizeof(opcodes) / sizeof(*opcodes); k++)
		if (strlen(opcodes[k]) == length && memcmp(opcode, opcodes[k], length) == 0)
			return true;
	return false;
}

static bool only_moves(const struct hlo_module *module, const struct hlo_instruction *i)
{
	static const char single[] = "wrapped_"; /* the one instruction in it, of which no more is known */
	const struct hlo_computation *inside;

	if (strcmp(i->opcode, "fusion") != 0)
		return i->operand_count && is_move(i->opcode, strlen(i->opcode));
	if (strncmp(i->name, single, sizeof single - 1) == 0)
		return is_move(i->name + sizeof single - 1, strcspn(i->name + sizeof single - 1, "."));
	if (i->called_count != 1 || i->called[0] == HLO_NO_INSTRUCTION)
		return false;
	inside = &module->computations[i->called[0]];
	for (uint32_t k = 0; k < inside->part_count; k++)
		if (!is_move(module->parts[inside->first_part + k].opcode,
			    strlen(module->parts[inside->first_part + k].opcode)))
			return false;
	return inside->part_count > 0;
}

/* What is made of what a backward pass has made, by moving it or by exchanging it. */
static bool carries_gradients(const struct hlo_module *module, const struct hlo_instruction *i)
{
	for (uint32_t k = 0; k < i->operand_count; k++) {
		const struct hlo_instruction *from =
			i->operands[k] == HLO_NO_INSTRUCTION ? NULL : &module->instructions[i->operands[k]];

		if (from && from->direction == HLO_BACKWARD)
			return true;
	}
	return false;
}

/*
 * Gradients that XLA brings together to exchange them at once, and takes apart again, are of the pass that
 * has made them. Of exchanges it is noted here too, for what comes after them.
 */
static bool label_moves(struct hlo_module *module)
{
	bool any = false;

	for (uint32_t n = 0; n < module->instruction_count; n++) {
		struct hlo_instruction *i = &module->instructions[n];

		if (i->direction != HLO_NONE || i->element_count == 1 ||
			(!only_moves(module, i) && !is_communication(i)) || !carries_gradients(module, i))
			continue;
		i->direction = HLO_BACKWARD;
		i->source = HLO_BY_NEIGHBOUR;
		any = true;
	}
	return any;
}

/* A copy of a weight that both passes read is named after the recomputation that it was made for. What the
 * forward pass reads is forward. */
static void correct_names(struct hlo_module *module)
{
	for (uint32_t n = 0; n < module->instruction_count; n++) {
		struct hlo_instruction *i = &module->instructions[n];

		if (!hlo_is_passing(i) || (i->direction != HLO_BACKWARD && i->direction != HLO_RECOMPUTED))
			continue;
		for (uint32_t k = 0; k < i->user_count; k++)
			if (i->users[k] != HLO_NO_INSTRUCTION &&
				module->instructions[i->users[k]].direction == HLO_FORWARD) {
				i->direction = HLO_FORWARD;
				i->source = HLO_BY_NEIGHBOUR;
				break;
			}
	}
}

/* ---- derivatives ---- */

static void find_derivatives(struct hlo_module *module)
{
	bool has_main = false;

	for (uint32_t n = 0; n < module->instruction_count + module->part_count; n++) {
		const char *op_name = n < module->instruction_count
					      ? module->instructions[n].op_name
					      : module->parts[n - module->instruction_count].op_name;

		module->trains |= strstr(op_name, "transpose(jvp(") != NULL ||
				  hlo_name_direction(op_name) == HLO_BACKWARD;
		has_main |= strstr(op_name, "/jit(main)/") != NULL; /* which JAX wrote up to 0.6 */
	}
	module->names_all = module->trains && !has_main;
}

/* In a computation that another calls: what its caller is. */
static enum hlo_direction direction_of_caller(
	const struct hlo_module *module, const struct hlo_instruction *i)
{
	for (unsigned depth = 0; depth < DEPTH_MOST; depth++) {
		const uint32_t caller = module->computations[i->computation].caller;

		if (caller == HLO_NO_INSTRUCTION)
			return HLO_NONE;
		i = &module->instructions[caller];
		if (i->direction != HLO_NONE)
			return i->direction;
	}
	return HLO_NONE;
}

/* Of what has a place in the program and no derivative. */
static void label_plain(
	struct hlo_module *module, const struct hlo_flow *flow, uint32_t number, struct hlo_instruction *i)
{
	if (!module->computations[i->computation].is_straight) {
		const enum hlo_direction outside = direction_of_caller(module, i);

		i->direction = outside != HLO_NONE ? outside : module->names_all ? HLO_UPDATE : HLO_NONE;
		i->source = HLO_BY_NEIGHBOUR;
	} else if (flow->is_known) {
		const bool is_late = module->names_all || flow->is_update[number];

		i->direction = flow->is_loss[number] ? HLO_FORWARD : is_late ? HLO_UPDATE : HLO_BACKWARD;
		i->source = i->direction == HLO_UPDATE && module->names_all ? HLO_BY_NAME : HLO_BY_FLOW;
	} else if (module->names_all) {
		i->direction = HLO_UPDATE;
	}
	if (i->direction == HLO_UPDATE)
		i->layer = "";
}

static bool is_launched(const struct hlo_instruction *i)
{
	static const char *const other[] = {"parameter", "tuple", "constant", "bitcast", "get-tuple-element"};

	for (size_t k = 0; k < sizeof(other) / sizeof(*other); k++)
		if (strcmp(i->opcode, other[k]) == 0)
			return false;
	return true;
}

/* ---- neighbours ---- */

static const struct hlo_instruction *labelled(
	const struct hlo_module *module, const uint32_t *numbers, uint32_t count)
{
	for (uint32_t k = 0; k < count; k++) {
		const struct hlo_instruction *i =
			numbers[k] == HLO_NO_INSTRUCTION ? NULL : &module->instructions[numbers[k]];

		if (i && i->source != HLO_BY_NOTHING && i->direction != HLO_COMMUNICATION)
			return i;
	}
	return NULL;
}

static bool label_by_neighbours(struct hlo_module *module)
{
	bool any = false;

	for (uint32_t n = 0; n < module->instruction_count; n++) {
		struct hlo_instruction *i = &module->instructions[n];
		const struct hlo_instruction *next;

		if (i->source != HLO_BY_NOTHING || strcmp(i->opcode, "parameter") == 0 ||
			strcmp(i->opcode, "tuple") == 0)
			continue;
		next = labelled(module, i->users, i->user_count);
		if (!next)
			next = labelled(module, i->operands, i->operand_count);
		if (!next)
			continue;
		i->direction = next->direction;
		i->layer = next->layer;
		i->source = HLO_BY_NEIGHBOUR;
		any = true;
	}
	return any;
}

/* Neighbours are often of both passes: what the loss does not need is not forward, and the other way round.
 */
static void correct_guesses(struct hlo_module *module, const struct hlo_flow *flow)
{
	for (uint32_t n = 0; flow->is_known && n < module->instruction_count; n++) {
		struct hlo_instruction *i = &module->instructions[n];

		if ((i->source != HLO_BY_NEIGHBOUR && i->source != HLO_BY_INSIDE) ||
			i->direction == HLO_NONE || !module->computations[i->computation].is_straight ||
			(i->direction == HLO_FORWARD) == flow->is_loss[n])
			continue;
		i->direction = flow->is_loss[n]     ? HLO_FORWARD
			       : flow->is_update[n] ? HLO_UPDATE
						    : HLO_BACKWARD;
		i->source = HLO_BY_FLOW;
	}
}

/* ---- communication ---- */

static void add_layer(struct hlo_instruction *i, const char *layer)
{
	if (!layer[0])
		return;
	for (uint32_t k = 0; k < i->layer_count; k++)
		if (strcmp(i->layers[k], layer) == 0)
			return;
	i->layers[i->layer_count++] = layer;
}

/* What is exchanged was made by its operands, of which XLA combines several. */
static void label_communication(
	struct arena *arena, const struct hlo_module *module, struct hlo_instruction *i)
{
	i->direction = HLO_COMMUNICATION;
	i->source = HLO_BY_OPCODE;
	i->layer_count = 0;
	i->layers = arena_alloc(arena, i->operand_count + 1, sizeof(*i->layers));
	for (uint32_t k = 0; k < i->operand_count; k++) {
		const struct hlo_instruction *from =
			i->operands[k] == HLO_NO_INSTRUCTION ? NULL : &module->instructions[i->operands[k]];

		for (unsigned step = 0;
			from && hlo_is_passing(from) && from->operand_count && step < DEPTH_MOST &&
			from->operands[0] != HLO_NO_INSTRUCTION && !from->layer[0];
			step++)
			from = &module->instructions[from->operands[0]];
		if (from && from->direction == HLO_COMMUNICATION)
			for (uint32_t l = 0; l < from->layer_count && i->operand_count == 1; l++) {
				i->layers = from->layers;
				i->layer_count = from->layer_count;
			}
		else if (from)
			add_layer(i, from->layer);
	}
	i->layer = i->layer_count == 1 ? i->layers[0] : "";
}

void hlo_label_communication(struct arena *arena, struct hlo_module *module)
{
	for (uint32_t n = 0; n < module->instruction_count; n++)
		if (is_communication(&module->instructions[n]))
			label_communication(arena, module, &module->instructions[n]);
}

/* ---- all ---- */

static void label_weights(struct arena *arena, const struct hlo_module *module, const struct hlo_flow *flow)
{
	for (uint32_t n = 0; n < module->instruction_count; n++) {
		struct hlo_instruction *i = &module->instructions[n];

		if (module->computations[i->computation].is_straight && i->has_product && !i->layer[0] &&
			i->direction != HLO_UPDATE)
			i->layer = hlo_tree_layer(arena, hlo_weight_name(module, flow, n));
	}
}

static bool has_products(const struct hlo_module *module)
{
	for (uint32_t n = 0; n < module->instruction_count; n++)
		if (module->instructions[n].has_product)
			return true;
	return false;
}

struct hlo_flow hlo_label(struct arena *arena, struct hlo_module *module)
{
	struct hlo_flow flow;

	find_derivatives(module);
	for (uint32_t n = 0; n < module->instruction_count; n++)
		label_by_names(arena, module, &module->instructions[n]);
	correct_names(module);
	for (unsigned round = 0; round < ROUNDS_MOST && label_moves(module); round++)
		;
	flow = hlo_flow_find(arena, module);
	module->trains |= flow.is_known && has_products(module);
	for (unsigned round = 0; round < ROUNDS_MOST && label_by_neighbours(module); round++)
		;
	correct_guesses(module, &flow);
	for (uint32_t n = 0; module->trains && n < module->instruction_count; n++) {
		struct hlo_instruction *i = &module->instructions[n];

		if (i->direction == HLO_NONE && is_launched(i))
			label_plain(module, &flow, n, i);
	}
	if (module->trains)
		label_weights(arena, module, &flow);
	hlo_label_communication(arena, module);
	for (uint32_t n = 0; n < module->instruction_count; n++)
		module->steps |= module->trains && module->instructions[n].direction == HLO_UPDATE;
	return flow;
}
