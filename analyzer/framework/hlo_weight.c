/*
 * Of a program without modules a product's layer is its weight: the argument that it reads, or that its
 * result, the gradient, goes into. Arguments have the names that the program's tree of parameters gives them:
 * "p['w1']", "s[0].mu['w1']".
 */
#include "hlo_program.h"

#define STEPS_MOST 6 /* from a product to its weight */
#define USERS_MOST 16

bool hlo_is_passing(const struct hlo_instruction *instruction)
{
	static const char *const opcodes[] = {"bitcast", "copy", "convert", "transpose", "reshape",
		"copy-start", "copy-done", "bitcast-convert", "get-tuple-element"};
	static const char *const fusions[] = {"wrapped_transpose", "wrapped_convert", "wrapped_copy",
		"wrapped_reshape", "loop_transpose", "input_transpose", "loop_convert", "loop_copy",
		"copy_fusion", "transpose_copy", "loop_pad_fusion"};

	if (strcmp(instruction->opcode, "parameter") == 0)
		return instruction->operand_count == 1;
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		if (strcmp(instruction->opcode, opcodes[i]) == 0)
			return true;
	for (size_t i = 0; instruction->operand_count == 1 && !instruction->has_product &&
			   i < sizeof(fusions) / sizeof(*fusions);
		i++)
		if (strncmp(instruction->name, fusions[i], strlen(fusions[i])) == 0)
			return true;
	return false;
}

/* What a loop's body, or what it calls, was given from outside for one of its parameters, or for an element
 * of one; HLO_NO_INSTRUCTION: it is none. What the loop does not change is the same in each repetition. */
static uint32_t given_from_outside(const struct hlo_module *module, const struct hlo_instruction *i)
{
	const bool is_element = strcmp(i->opcode, "get-tuple-element") == 0 && i->operand_count &&
				i->operands[0] != HLO_NO_INSTRUCTION;
	const struct hlo_instruction *parameter = is_element ? &module->instructions[i->operands[0]] : i,
				     *from;
	const uint32_t caller = module->computations[i->computation].caller;

	if (strcmp(parameter->opcode, "parameter") != 0 || parameter->operand_count ||
		caller == HLO_NO_INSTRUCTION)
		return HLO_NO_INSTRUCTION;
	from = &module->instructions[caller];
	if (is_element && strcmp(from->opcode, "while") == 0 && from->operand_count &&
		from->operands[0] != HLO_NO_INSTRUCTION)
		from = &module->instructions[from->operands[0]];
	else if (is_element || strcmp(from->opcode, "call") != 0)
		return HLO_NO_INSTRUCTION;
	if (is_element && strcmp(from->opcode, "tuple") != 0)
		return HLO_NO_INSTRUCTION;
	return i->index < from->operand_count ? from->operands[i->index] : HLO_NO_INSTRUCTION;
}

const struct hlo_instruction *hlo_source(const struct hlo_module *module, uint32_t operand)
{
	for (unsigned step = 0; step < STEPS_MOST && operand != HLO_NO_INSTRUCTION; step++) {
		const struct hlo_instruction *i = &module->instructions[operand];
		const uint32_t outside = given_from_outside(module, i);

		if (outside == HLO_NO_INSTRUCTION && (!hlo_is_passing(i) || i->operand_count == 0))
			return i;
		operand = outside == HLO_NO_INSTRUCTION ? i->operands[0] : outside;
	}
	return NULL;
}

/* An argument that is part of a tree, and not data. */
static bool is_named(const struct hlo_instruction *i)
{
	return strcmp(i->opcode, "parameter") == 0 && !i->operand_count && hlo_tree_names(i->op_name) &&
	       i->element_count > 1;
}

/* Whether a result of the entry has an argument's size and type: data have none. */
static bool is_updated(const struct hlo_module *module, const struct hlo_instruction *parameter)
{
	const struct hlo_computation *entry = &module->computations[module->entry];

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *root = &module->instructions[n];

		for (uint32_t k = 0; root->is_root && k < root->operand_count; k++) {
			const struct hlo_instruction *result =
				root->operands[k] == HLO_NO_INSTRUCTION
					? NULL
					: &module->instructions[root->operands[k]];

			if (result && result->element_count == parameter->element_count &&
				result->type == parameter->type)
				return true;
		}
	}
	return false;
}

/* The largest: a bias may be fused with the product. */
static const struct hlo_instruction *weight_read(
	const struct hlo_module *module, const struct hlo_instruction *product)
{
	const struct hlo_instruction *largest = NULL;

	for (uint32_t k = 0; k < product->operand_count; k++) {
		uint32_t number = product->operands[k];

		for (unsigned step = 0; step < STEPS_MOST && number != HLO_NO_INSTRUCTION; step++) {
			const struct hlo_instruction *i = &module->instructions[number];

			if (is_named(i) && is_updated(module, i) &&
				(!largest || i->element_count > largest->element_count))
				largest = i;
			if (!hlo_is_passing(i) || !i->operand_count)
				break;
			number = i->operands[0];
		}
	}
	return largest;
}

/* Of the arguments that an update reads beside a gradient: the weight, else what is kept of it. */
static const struct hlo_instruction *updated_by(const struct hlo_module *module, const struct hlo_flow *flow,
	const struct hlo_instruction *update, uint64_t element_count)
{
	const struct hlo_instruction *kept = NULL;

	for (uint32_t k = 0; k < update->operand_count; k++) {
		const struct hlo_instruction *i = hlo_source(module, update->operands[k]);

		if (!i || !is_named(i) || i->element_count != element_count)
			continue;
		if (flow->is_loss[i - module->instructions])
			return i;
		kept = i;
	}
	return kept;
}

static const struct hlo_instruction *weight_made(const struct hlo_module *module, const struct hlo_flow *flow,
	const struct hlo_instruction *from, uint64_t element_count, unsigned steps)
{
	for (uint32_t k = 0; k < from->user_count && k < USERS_MOST; k++) {
		const struct hlo_instruction *user = &module->instructions[from->users[k]];
		const struct hlo_instruction *weight = updated_by(module, flow, user, element_count);

		if (!weight && steps > 0 && !user->has_product)
			weight = weight_made(module, flow, user, element_count, steps - 1);
		if (weight)
			return weight;
	}
	return NULL;
}

/* Of several the one with the longest way: p['mu']['w1'] and p['w1'] may both be weights. */
static const char *weight_of_state(const struct hlo_module *module, const struct hlo_flow *flow,
	const char *state, uint64_t element_count)
{
	const struct hlo_computation *entry = &module->computations[module->entry];
	const char *best = "";

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];

		if (is_named(i) && flow->is_loss[n] && i->element_count == element_count &&
			strlen(i->op_name) > strlen(best) && hlo_tree_is_state_of(state, i->op_name))
			best = i->op_name;
	}
	return best;
}

const char *hlo_weight_of(
	const struct hlo_module *module, const struct hlo_flow *flow, const struct hlo_instruction *argument)
{
	if (!is_named(argument) || !is_updated(module, argument))
		return "";
	if (flow->is_loss[argument - module->instructions])
		return argument->op_name;
	return weight_of_state(module, flow, argument->op_name, argument->element_count);
}

/* The weight of an update that reads no other one, nor another one's state; NULL: it reads several. What it
 * takes from the pass is that one's gradient, of whatever size: XLA fuses the sum of a product's parts with
 * the update, or repeats a gradient that is the same in a dimension. */
static const struct hlo_instruction *only_weight(
	const struct hlo_module *module, const struct hlo_flow *flow, const struct hlo_instruction *update)
{
	const struct hlo_instruction *found = NULL;
	const char *name = "";

	for (uint32_t k = 0; k < update->operand_count; k++) {
		const struct hlo_instruction *i = hlo_source(module, update->operands[k]);
		const char *weight = i && is_named(i) ? hlo_weight_of(module, flow, i) : "";

		if (!weight[0])
			continue;
		if (found && strcmp(name, weight) != 0)
			return NULL;
		if (!found || flow->is_loss[i - module->instructions])
			found = i;
		name = weight;
	}
	return found;
}

const struct hlo_instruction *hlo_weight_updated(
	const struct hlo_module *module, const struct hlo_flow *flow, const struct hlo_instruction *gradient)
{
	const struct hlo_instruction *weight = NULL;

	for (uint32_t k = 0; !weight && k < gradient->user_count && k < USERS_MOST; k++) {
		const struct hlo_instruction *user = &module->instructions[gradient->users[k]];

		if (hlo_is_passing(user) && user->user_count == 1)
			user = &module->instructions[user->users[0]];
		if (user->direction != HLO_UPDATE)
			continue;
		weight = updated_by(module, flow, user, gradient->element_count);
		if (!weight && gradient->element_count > 1)
			weight = only_weight(module, flow, user);
	}
	return weight;
}

/* The weight that a product in parts is the gradient of: their sum, or the update that adds them up, is all
 * that reads it. NULL: it is none. */
static const struct hlo_instruction *weight_of_parts(
	const struct hlo_module *module, const struct hlo_flow *flow, const struct hlo_instruction *product)
{
	const struct hlo_instruction *user;

	if (product->direction != HLO_BACKWARD || product->user_count != 1)
		return NULL;
	user = &module->instructions[product->users[0]];
	if (user->operand_count == 1 && !user->has_product && user->direction == HLO_BACKWARD)
		product = user;
	return hlo_weight_updated(module, flow, product);
}

const char *hlo_weight_name(
	const struct hlo_module *module, const struct hlo_flow *flow, uint32_t instruction)
{
	const struct hlo_instruction *i = &module->instructions[instruction], *weight = NULL, *parts;
	uint64_t element_count = i->element_count;
	const char *name;

	if (!flow->is_loss[instruction]) {
		/* a library's product has its workspace beside the result */
		for (uint32_t k = 0; !element_count && k < i->user_count; k++)
			if (module->instructions[i->users[k]].index == 0)
				element_count = module->instructions[i->users[k]].element_count;
		weight = weight_made(module, flow, i, element_count, STEPS_MOST / 2);
	}
	if (!weight) {
		/* what it reads beside activations may be no more than the bias of the layer before */
		weight = weight_read(module, i);
		parts = weight_of_parts(module, flow, i);
		if (parts && (!weight || parts->element_count > weight->element_count))
			weight = parts;
	}
	if (!weight)
		return "";
	name = hlo_weight_of(module, flow, weight);
	return name[0] ? name : weight->op_name;
}
