/*
 * Programs that XLA compiled, as the dictionary has them. An entry whose counts do not fit into it is damage,
 * and passed over.
 */
#include "trace_dictionary.h"

#include <inttypes.h>

static void parse_instruction(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct trace_hlo_instruction item = {.ids = body + sizeof(item.fixed)};
	uint64_t id_bytes;

	memcpy(&item.fixed, body, sizeof(item.fixed));
	id_bytes = sizeof(uint64_t) * ((uint64_t)item.fixed.operand_count + item.fixed.called_count);
	size -= sizeof(item.fixed);
	if (id_bytes >= size || !memchr(item.ids + id_bytes, 0, (size_t)(size - id_bytes))) {
		trace_trouble(trace, offset,
			"%u ids and a name, but their entry has %" PRIu64 " bytes for them",
			item.fixed.operand_count + item.fixed.called_count, size);
		return;
	}
	item.name = (const char *)(item.ids + id_bytes);
	*MEM_PUSH(trace->hlo_instructions, trace->hlo_instruction_count, trace->hlo_instruction_room) = item;
}

static void parse_schedule(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct trace_hlo_schedule item = {.instructions = body + sizeof(item.fixed)};

	memcpy(&item.fixed, body, sizeof(item.fixed));
	if (item.fixed.instruction_count > (size - sizeof(item.fixed)) / sizeof(uint64_t)) {
		trace_trouble(trace, offset, "a schedule of %u instructions in an entry of %" PRIu64 " bytes",
			item.fixed.instruction_count, size);
		return;
	}
	*MEM_PUSH(trace->hlo_schedules, trace->hlo_schedule_count, trace->hlo_schedule_room) = item;
}

static void parse_module(struct trace *trace, uint64_t offset, const unsigned char *body, uint64_t size)
{
	struct trace_hlo_module item = {.aliases = body + sizeof(item.fixed)};

	memcpy(&item.fixed, body, sizeof(item.fixed));
	if (item.fixed.alias_count > (size - sizeof(item.fixed)) / sizeof(uint32_t)) {
		trace_trouble(trace, offset, "%u aliases in an entry of %" PRIu64 " bytes",
			item.fixed.alias_count, size);
		return;
	}
	*MEM_PUSH(trace->hlo_modules, trace->hlo_module_count, trace->hlo_module_room) = item;
}

void trace_parse_hlo(
	struct trace *trace, uint64_t offset, unsigned type, const unsigned char *body, uint64_t size)
{
	if (type == PM_ENTRY_HLO_INSTRUCTION)
		parse_instruction(trace, offset, body, size);
	else if (type == PM_ENTRY_HLO_SCHEDULE)
		parse_schedule(trace, offset, body, size);
	else
		parse_module(trace, offset, body, size);
}

/* ---- all of them ---- */

struct trace_hlo trace_hlo(const struct trace *trace)
{
	return (struct trace_hlo){.modules = trace->hlo_modules,
		.instructions = trace->hlo_instructions,
		.schedules = trace->hlo_schedules,
		.module_count = trace->hlo_module_count,
		.instruction_count = trace->hlo_instruction_count,
		.schedule_count = trace->hlo_schedule_count,
		.strings = trace->strings,
		.string_count = trace->string_count};
}

static const void *copy(struct arena *arena, const void *from, size_t bytes)
{
	void *to = arena_alloc(arena, bytes + 1, 1);

	if (bytes)
		memcpy(to, from, bytes);
	return to;
}

static const struct trace_hlo_instruction *copy_instructions(struct arena *arena, const struct trace_hlo *from)
{
	struct trace_hlo_instruction *items = arena_alloc(arena, from->instruction_count + 1, sizeof(*items));

	for (size_t i = 0; i < from->instruction_count; i++) {
		const struct trace_hlo_instruction *item = &from->instructions[i];
		const size_t ids = (size_t)item->fixed.operand_count + item->fixed.called_count;

		items[i] = *item;
		items[i].ids = copy(arena, item->ids, ids * sizeof(uint64_t));
		items[i].name = arena_text(arena, item->name, strlen(item->name));
	}
	return items;
}

static const struct trace_hlo_schedule *copy_schedules(struct arena *arena, const struct trace_hlo *from)
{
	struct trace_hlo_schedule *items = arena_alloc(arena, from->schedule_count + 1, sizeof(*items));

	for (size_t i = 0; i < from->schedule_count; i++) {
		items[i] = from->schedules[i];
		items[i].instructions =
			copy(arena, items[i].instructions, items[i].fixed.instruction_count * sizeof(uint64_t));
	}
	return items;
}

static const struct trace_hlo_module *copy_modules(struct arena *arena, const struct trace_hlo *from)
{
	struct trace_hlo_module *items = arena_alloc(arena, from->module_count + 1, sizeof(*items));

	for (size_t i = 0; i < from->module_count; i++) {
		items[i] = from->modules[i];
		items[i].aliases = copy(arena, items[i].aliases, items[i].fixed.alias_count * sizeof(uint32_t));
	}
	return items;
}

static const char *const *copy_strings(struct arena *arena, const struct trace_hlo *from)
{
	const char **items = arena_alloc(arena, from->string_count + 1, sizeof(*items));

	for (size_t i = 0; i < from->string_count; i++)
		items[i] = from->strings[i] ? arena_text(arena, from->strings[i], strlen(from->strings[i])) : NULL;
	return items;
}

struct trace_hlo trace_hlo_copy(struct arena *arena, const struct trace_hlo *from)
{
	struct trace_hlo to = *from;

	to.instructions = copy_instructions(arena, from);
	to.schedules = copy_schedules(arena, from);
	to.modules = copy_modules(arena, from);
	to.strings = copy_strings(arena, from);
	return to;
}
