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
		"copy_fusion", "transpose_copy"};

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

/* An argument that is part of a tree, and not data. */
static bool is_named(const struct hlo_instruction *i)
{
	return strcmp(i->opcode, "parameter") == 0 && !i->operand_count && strchr(i->op_name, '[') &&
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
static const char *weight_read(const struct hlo_module *module, const struct hlo_instruction *product)
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
	return largest ? largest->op_name : "";
}

/* Of the arguments that an update reads beside a gradient: the weight, else what is kept of it. */
static const char *updated_by(const struct hlo_module *module, const struct hlo_flow *flow,
	const struct hlo_instruction *update, uint64_t element_count)
{
	const char *kept = "";

	for (uint32_t k = 0; k < update->operand_count; k++) {
		const uint32_t number = update->operands[k];
		const struct hlo_instruction *i =
			number == HLO_NO_INSTRUCTION ? NULL : &module->instructions[number];

		if (!i || !is_named(i) || i->element_count != element_count)
			continue;
		if (flow->is_loss[number])
			return i->op_name;
		kept = i->op_name;
	}
	return kept;
}

static const char *weight_made(const struct hlo_module *module, const struct hlo_flow *flow,
	const struct hlo_instruction *from, uint64_t element_count, unsigned steps)
{
	for (uint32_t k = 0; k < from->user_count && k < USERS_MOST; k++) {
		const struct hlo_instruction *user = &module->instructions[from->users[k]];
		const char *name = updated_by(module, flow, user, element_count);

		if (!name[0] && steps > 0 && !user->has_product)
			name = weight_made(module, flow, user, element_count, steps - 1);
		if (name[0])
			return name;
	}
	return "";
}

/* The weight that has the same keys in its tree as this state has at its end: p['w1'] of s[0].mu['w1']. */
static const char *weight_of_state(
	const struct hlo_module *module, const struct hlo_flow *flow, const char *state)
{
	const char *keys = strchr(state, '\'') ? strchr(state, '\'') - 1 : state;
	const struct hlo_computation *entry = &module->computations[module->entry];

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];
		const size_t length = strlen(i->op_name);

		if (is_named(i) && flow->is_loss[n] && length > strlen(keys) &&
			strcmp(i->op_name + length - strlen(keys), keys) == 0)
			return i->op_name;
	}
	return state;
}

const char *hlo_weight_name(
	const struct hlo_module *module, const struct hlo_flow *flow, uint32_t instruction)
{
	const struct hlo_instruction *i = &module->instructions[instruction];
	uint64_t element_count = i->element_count;
	const char *name = "";

	if (!flow->is_loss[instruction]) {
		/* a library's product has its workspace beside the result */
		for (uint32_t k = 0; !element_count && k < i->user_count; k++)
			if (module->instructions[i->users[k]].index == 0)
				element_count = module->instructions[i->users[k]].element_count;
		name = weight_made(module, flow, i, element_count, STEPS_MOST / 2);
	}
	if (!name[0])
		name = weight_read(module, i);
	return name[0] ? weight_of_state(module, flow, name) : name;
}
