/*
 * Directions by the flow of data alone, in the computation that is run: the loss is a number among the
 * results that takes no argument's place. What it needs is the forward pass. Arguments that it does not need
 * are the optimizer's state; what follows from these is update, and so is what makes new weights of weights.
 * The rest is the backward pass.
 *
 * XLA fuses what has nothing to do with each other, as the loss's last step and updates of small weights. So
 * where names tell a backward pass, what follows from that is not forward, and what the loss needs through it
 * is only what follows from the forward pass by name.
 */
#include "hlo_program.h"

#include <stdlib.h>

#define CALLS_MOST 8 /* one in another, or exchanges one after another */

static const struct hlo_instruction *root_of(const struct hlo_module *module)
{
	const struct hlo_computation *entry = &module->computations[module->entry];

	for (uint32_t i = 0; i < entry->count; i++)
		if (module->instructions[entry->first + i].is_root)
			return &module->instructions[entry->first + i];
	return NULL;
}

static bool is_number(const struct hlo_instruction *i)
{
	return i->element_count == 1 && (i->type == PM_TYPE_F32 || i->type == PM_TYPE_F64 ||
						i->type == PM_TYPE_BF16 || i->type == PM_TYPE_F16);
}

struct walk {
	const struct hlo_module *module;
	const bool *is_late;   /* by instruction: named backward, or what follows from that */
	const bool *is_passed; /* likewise, named forward */
	bool *seen;
	uint32_t *todo;
	size_t todo_count;
};

static void hlo_flow_add(struct walk *walk, uint32_t number)
{
	if (number == HLO_NO_INSTRUCTION || walk->seen[number])
		return;
	walk->seen[number] = true;
	walk->todo[walk->todo_count++] = number;
}

static bool is_collective(const char *opcode)
{
	return strncmp(opcode, "all-", 4) == 0 || strncmp(opcode, "reduce-scatter", 14) == 0 ||
	       strncmp(opcode, "collective-", 11) == 0;
}

/* XLA fuses what has nothing to do with one another, a loss with an update, and cuts the results out of one
 * array: a number among them is made of the numbers. False: there are none. */
static bool add_number(struct walk *walk, uint32_t fusion)
{
	const struct hlo_instruction *i = &walk->module->instructions[fusion];
	bool any = false;

	for (uint32_t k = 0; k < i->operand_count; k++)
		if (i->operands[k] != HLO_NO_INSTRUCTION &&
			is_number(&walk->module->instructions[i->operands[k]])) {
			hlo_flow_add(walk, i->operands[k]);
			any = true;
		}
	walk->seen[fusion] |= any;
	return any;
}

/* Of a collective that combines several arrays only the one that is asked for is needed. */
static bool add_element(struct walk *walk, const struct hlo_instruction *element)
{
	const struct hlo_instruction *all;
	uint32_t number = element->operand_count ? element->operands[0] : HLO_NO_INSTRUCTION;

	if (number == HLO_NO_INSTRUCTION)
		return false;
	all = &walk->module->instructions[number];
	/* a tuple that is an element of what a call gives: it leads to what made it */
	if (strcmp(all->opcode, "get-tuple-element") == 0 && all->type == PM_TYPE_NONE &&
		all->operand_count && all->operands[0] != HLO_NO_INSTRUCTION) {
		number = all->operands[0];
		all = &walk->module->instructions[number];
	}
	if (is_number(element) && strcmp(all->opcode, "fusion") == 0 && strstr(all->name, "slice_fusion"))
		return add_number(walk, number);
	if (!is_collective(all->opcode))
		return false;
	if (strstr(all->opcode, "-done") && all->operand_count && all->operands[0] != HLO_NO_INSTRUCTION) {
		walk->seen[number] = true;
		number = all->operands[0];
		all = &walk->module->instructions[number];
	}
	if (element->index >= all->operand_count || all->operand_count < 2)
		return false;
	walk->seen[number] = true;
	hlo_flow_add(walk, all->operands[element->index]);
	return true;
}

static void follow_back(struct walk *walk)
{
	while (walk->todo_count) {
		const uint32_t number = walk->todo[--walk->todo_count];
		const struct hlo_instruction *i = &walk->module->instructions[number];

		if (strcmp(i->opcode, "get-tuple-element") == 0 && add_element(walk, i))
			continue;
		for (uint32_t k = 0; k < i->operand_count; k++)
			if (i->operands[k] != HLO_NO_INSTRUCTION &&
				(!walk->is_late[number] || walk->is_late[i->operands[k]] ||
					walk->is_passed[i->operands[k]]))
				hlo_flow_add(walk, i->operands[k]);
	}
}

/* A collective, or one that XLA starts and ends as what is asynchronous. */
static bool is_exchange(const char *opcode)
{
	return is_collective(opcode) || strncmp(opcode, "async-", 6) == 0;
}

/* The number that was brought together with other data to be exchanged at once, of which a number is cut out
 * again; NULL: it is none, or there are several. */
static const struct hlo_instruction *number_exchanged(
	const struct hlo_module *module, const struct hlo_instruction *cut)
{
	const struct hlo_instruction *from = cut, *found = NULL;

	if (!is_number(cut) || !strstr(cut->name, "slice"))
		return NULL;
	for (unsigned step = 0;
		step < CALLS_MOST && (from == cut || is_exchange(from->opcode) || hlo_is_passing(from));
		step++) {
		if (from->operand_count != 1 || from->operands[0] == HLO_NO_INSTRUCTION)
			return NULL;
		from = &module->instructions[from->operands[0]];
	}
	if (!strstr(from->name, "concatenate"))
		return NULL;
	for (uint32_t k = 0; k < from->operand_count; k++) {
		const uint32_t part = from->operands[k];

		if (part == HLO_NO_INSTRUCTION || !is_number(&module->instructions[part]))
			continue;
		if (found)
			return NULL;
		found = &module->instructions[part];
	}
	return found;
}

static void follow_on(struct walk *walk)
{
	const struct hlo_module *module = walk->module;

	while (walk->todo_count) {
		const struct hlo_instruction *i = &module->instructions[walk->todo[--walk->todo_count]];

		for (uint32_t k = 0; k < i->user_count; k++)
			if (!number_exchanged(module, &module->instructions[i->users[k]]))
				hlo_flow_add(walk, i->users[k]);
	}
}

/* A number that was exchanged together with gradients, as the loss, follows from that number alone. */
static void follow(struct walk *walk)
{
	const struct hlo_module *module = walk->module;

	for (unsigned round = 0; round < CALLS_MOST && walk->todo_count; round++) {
		follow_on(walk);
		for (uint32_t n = 0; n < module->instruction_count; n++) {
			const struct hlo_instruction *number =
				number_exchanged(module, &module->instructions[n]);

			if (number && walk->seen[number - module->instructions])
				hlo_flow_add(walk, n);
		}
	}
	follow_on(walk);
}

/* What has this direction by a name, and what follows from it. The caller frees it. */
static bool *following(const struct hlo_module *module, bool is_backward, uint32_t *todo)
{
	struct walk walk = {.module = module,
		.seen = mem_alloc(module->instruction_count + 1u, sizeof(bool)),
		.todo = todo};

	for (uint32_t n = 0; n < module->instruction_count; n++) {
		const enum hlo_direction direction = module->instructions[n].direction;

		if (is_backward ? direction == HLO_BACKWARD || direction == HLO_RECOMPUTED
				: direction == HLO_FORWARD)
			hlo_flow_add(&walk, n);
	}
	follow(&walk);
	return walk.seen;
}

/* Adds the losses to those that are needed. False: none was found. */
static bool add_losses(struct walk *walk, const struct hlo_instruction *root)
{
	const struct hlo_module *module = walk->module;
	bool any = false;

	if (strcmp(root->opcode, "tuple") != 0)
		return false;
	for (uint32_t k = 0; k < root->operand_count; k++) {
		const bool is_aliased = k < module->alias_count && module->is_aliased[k];

		if (root->operands[k] == HLO_NO_INSTRUCTION || is_aliased ||
			!is_number(&module->instructions[root->operands[k]]))
			continue;
		hlo_flow_add(walk, root->operands[k]);
		any = true;
	}
	return any;
}

/* The operand that an element of the result was made by, after what only hands it on. */
static uint32_t maker_of(const struct hlo_module *module, uint32_t number)
{
	for (unsigned step = 0; step < 8 && number != HLO_NO_INSTRUCTION; step++) {
		const struct hlo_instruction *i = &module->instructions[number];

		if ((!hlo_is_passing(i) && strcmp(i->opcode, "get-tuple-element") != 0) || !i->operand_count)
			return number;
		number = i->operands[0];
	}
	return number;
}

static bool reads_parameter_of_size(
	const struct hlo_module *module, const struct hlo_instruction *i, uint64_t count)
{
	for (uint32_t k = 0; k < i->operand_count; k++) {
		const struct hlo_instruction *from =
			i->operands[k] == HLO_NO_INSTRUCTION ? NULL : &module->instructions[i->operands[k]];

		for (unsigned step = 0; step < CALLS_MOST && from && strcmp(from->opcode, "parameter") == 0 &&
					from->operand_count && from->operands[0] != HLO_NO_INSTRUCTION;
			step++)
			from = &module->instructions[from->operands[0]];
		if (from && strcmp(from->opcode, "parameter") == 0 && from->element_count == count)
			return true;
	}
	return false;
}

/* An optimizer without state: what makes a result of an argument of its size, and of something else. */
static bool mark_makers(
	const struct hlo_module *module, const struct hlo_instruction *root, struct hlo_flow *flow)
{
	bool any = false;

	for (uint32_t k = 0; k < root->operand_count; k++) {
		const uint32_t maker = root->operands[k] == HLO_NO_INSTRUCTION
					       ? HLO_NO_INSTRUCTION
					       : maker_of(module, root->operands[k]);
		const struct hlo_instruction *i;

		if (maker == HLO_NO_INSTRUCTION || flow->is_loss[maker])
			continue;
		i = &module->instructions[maker];
		if (!i->has_product && reads_parameter_of_size(module, i,
					       module->instructions[root->operands[k]].element_count))
			flow->is_update[maker] = any = true;
	}
	return any;
}

static bool mark_state(const struct hlo_module *module, struct hlo_flow *flow)
{
	const struct hlo_computation *entry = &module->computations[module->entry];
	struct walk walk = {.module = module,
		.seen = flow->is_update,
		.todo = mem_alloc(module->instruction_count + 1u, sizeof(uint32_t))};
	bool any;

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++)
		if (strcmp(module->instructions[n].opcode, "parameter") == 0 && !flow->is_loss[n])
			hlo_flow_add(&walk, n);
	any = walk.todo_count > 0;
	follow(&walk);
	free(walk.todo);
	return any;
}

/* Whether a result other than the loss has the size and type of an argument that the loss needs: a weight,
 * made anew. */
static bool makes_weights(
	const struct hlo_module *module, const struct hlo_instruction *root, const struct hlo_flow *flow)
{
	const struct hlo_computation *entry = &module->computations[module->entry];

	for (uint32_t n = entry->first; n < entry->first + entry->count; n++) {
		const struct hlo_instruction *i = &module->instructions[n];

		if (strcmp(i->opcode, "parameter") != 0 || !flow->is_loss[n] || i->element_count < 2)
			continue;
		for (uint32_t k = 0; k < root->operand_count; k++)
			if (root->operands[k] != HLO_NO_INSTRUCTION &&
				module->instructions[root->operands[k]].element_count == i->element_count &&
				module->instructions[root->operands[k]].type == i->type)
				return true;
	}
	return false;
}

struct hlo_flow hlo_flow_find(struct arena *arena, const struct hlo_module *module)
{
	const struct hlo_instruction *root = root_of(module);
	struct hlo_flow flow = {arena_alloc(arena, module->instruction_count + 1u, sizeof(bool)),
		arena_alloc(arena, module->instruction_count + 1u, sizeof(bool)), false};
	uint32_t *todo;
	bool *is_late, *is_passed;

	if (!root)
		return flow;
	todo = mem_alloc(module->instruction_count + 1u, sizeof(uint32_t));
	is_late = following(module, true, todo);
	is_passed = following(module, false, todo);
	if (add_losses(&(struct walk){module, is_late, is_passed, flow.is_loss, todo, 0}, root)) {
		struct walk walk = {module, is_late, is_passed, flow.is_loss, todo, 0};

		for (uint32_t n = 0; n < module->instruction_count; n++)
			if (flow.is_loss[n])
				todo[walk.todo_count++] = n;
		follow_back(&walk);
		for (uint32_t n = 0; n < module->instruction_count; n++)
			flow.is_loss[n] &= !is_late[n];
		flow.is_known = mark_state(module, &flow);
		flow.is_known |= mark_makers(module, root, &flow);
		flow.is_known &= makes_weights(module, root, &flow);
	}
	free(is_late);
	free(is_passed);
	free(todo);
	return flow;
}
