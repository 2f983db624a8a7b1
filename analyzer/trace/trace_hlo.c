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
