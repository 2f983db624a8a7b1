/* A row for each instruction that is run by itself, in the order of its computation's schedule. */
#include "hlo_table.h"

struct columns {
	size_t program, module, computation, order, name, opcode, direction, source, layer, type, elements,
		index, root, op_name, operands, called;
};

static struct columns add_columns(struct print_table *table)
{
	struct columns c;

	c.program = print_column(table, "program", "program", PRINT_COUNT);
	c.module = print_column(table, "module", "module", PRINT_WORD);
	c.computation = print_column(table, "computation", NULL, PRINT_COUNT);
	c.order = print_column(table, "order", "order", PRINT_COUNT);
	c.name = print_column(table, "instruction", "instruction", PRINT_WORD);
	c.opcode = print_column(table, "opcode", "opcode", PRINT_WORD);
	c.direction = print_column(table, "direction", "direction", PRINT_WORD);
	c.source = print_column(table, "by", "by", PRINT_WORD);
	c.layer = print_column(table, "layer", "layer", PRINT_WORD);
	c.type = print_column(table, "type", NULL, PRINT_WORD);
	c.elements = print_column(table, "elements", NULL, PRINT_COUNT);
	c.index = print_column(table, "index", NULL, PRINT_COUNT);
	c.root = print_column(table, "root", NULL, PRINT_FLAG);
	c.op_name = print_column(table, "op_name", NULL, PRINT_WORD);
	c.operands = print_column(table, "operands", NULL, PRINT_LIST);
	c.called = print_column(table, "calls", NULL, PRINT_LIST);
	return c;
}

static const char *layer_of(struct arena *arena, const struct hlo_instruction *i)
{
	const char *text = i->layer;

	for (uint32_t k = 0; i->layer_count > 1 && k < i->layer_count; k++)
		text = arena_format(arena, "%s%s%s", text, k ? ", " : "", i->layers[k]);
	return text;
}

static const char *const *operands_of(
	struct arena *arena, const struct hlo_module *module, const struct hlo_instruction *i)
{
	const char **names = arena_alloc(arena, i->operand_count + 1u, sizeof(*names));

	for (uint32_t k = 0; k < i->operand_count; k++)
		names[k] = i->operands[k] == HLO_NO_INSTRUCTION ? "?"
								: module->instructions[i->operands[k]].name;
	return names;
}

static const char *const *called_of(struct arena *arena, const struct hlo_instruction *i)
{
	const char **names = arena_alloc(arena, i->called_count + 1u, sizeof(*names));

	for (uint32_t k = 0; k < i->called_count; k++)
		names[k] = i->called[k] == HLO_NO_INSTRUCTION ? "?" : arena_format(arena, "%u", i->called[k]);
	return names;
}

static void add_row(struct print_table *table, const struct columns *c, const struct hlo_module *module,
	const struct hlo_instruction *i)
{
	print_row(table);
	print_number(table, c->program, (double)module->program);
	print_word(table, c->module, module->name);
	print_number(table, c->computation, i->computation);
	print_number(table, c->order, i->order);
	print_word(table, c->name, i->name);
	print_word(table, c->opcode, i->opcode);
	print_word(table, c->direction, hlo_direction_name(i->direction));
	print_word(table, c->source, hlo_source_name(i->source));
	print_word(table, c->layer, layer_of(table->arena, i));
	print_word(table, c->type, trace_type_name(i->type));
	print_number(table, c->elements, (double)i->element_count);
	print_number(table, c->index, i->index);
	print_number(table, c->root, i->is_root);
	print_word(table, c->op_name, i->op_name);
	print_list(table, c->operands, operands_of(table->arena, module, i), i->operand_count);
	print_list(table, c->called, called_of(table->arena, i), i->called_count);
}

void hlo_table(const struct hlo *hlo, long limit, struct print_table *table)
{
	const struct columns columns = add_columns(table);
	long rows = 0;

	for (size_t m = 0; m < hlo->module_count; m++)
		for (uint32_t n = 0; n < hlo->modules[m].instruction_count; n++)
			if (limit < 0 || rows++ < limit)
				add_row(table, &columns, &hlo->modules[m], &hlo->modules[m].instructions[n]);
}
