/* Entries of the dictionary that have no number of their own: each is written, whatever was before. See
 * intern.h. */
#include "intern.h"

#include <stdio.h>
#include <string.h>

#include "guest/clock.h"
#include "pm_note.h"

void pmh_window_entry(bool open, uint32_t iteration)
{
	const struct pm_entry_window fixed = {.open = open, .iteration = iteration, .ticks = pmh_ticks()};

	pmh_write_entry(PM_ENTRY_WINDOW, &fixed, sizeof fixed, NULL, 0);
}

void pmh_turn_entry(bool is_recorded, uint64_t ns, uint32_t calls)
{
	const struct pm_entry_turn fixed = {.is_recorded = is_recorded, .calls = calls, .ns = ns};

	pmh_write_entry(PM_ENTRY_TURN, &fixed, sizeof fixed, NULL, 0);
}

void pmh_device_window_entry(bool taken, uint32_t share, uint64_t ticks)
{
	const struct pm_entry_device_window fixed = {.taken = taken, .share = share, .ticks = ticks};

	pmh_write_entry(PM_ENTRY_DEVICE_WINDOW, &fixed, sizeof fixed, NULL, 0);
}

void pmh_range_window_entry(bool recorded)
{
	const struct pm_entry_range_window fixed = {.recorded = recorded, .ticks = pmh_ticks()};

	pmh_write_entry(PM_ENTRY_RANGE_WINDOW, &fixed, sizeof fixed, NULL, 0);
}

void pmh_note(const char *text)
{
	pmh_write_entry(PM_ENTRY_NOTE, NULL, 0, text, strlen(text) + 1);
}

void pmh_note_of(const char *key, const char *text)
{
	char start[PM_NOTE_KEY_BYTES + 2];
	const int n = snprintf(start, sizeof start, "%s: ", key);

	pmh_write_entry(PM_ENTRY_NOTE, start, (size_t)n, text, strlen(text) + 1);
}

void pmh_device_entry(const struct pm_entry_device *device, const char *name)
{
	pmh_write_entry(PM_ENTRY_DEVICE, device, sizeof *device, name, strlen(name) + 1);
}

void pmh_placed_entry(uint32_t operation, uint32_t base)
{
	const struct pm_entry_placed entry = {operation, base};

	pmh_write_entry(PM_ENTRY_PLACED, &entry, sizeof entry, NULL, 0);
}

void pmh_module_entry(uint32_t operation, const char *path)
{
	struct pm_entry_module entry = {.operation = operation, .name = pmh_string(path)};

	if (entry.name)
		pmh_write_entry(PM_ENTRY_MODULE, &entry, sizeof entry, NULL, 0);
}

void pmh_python_entry(
	uint32_t operation, uint32_t flags, uint32_t line, const char *innermost, const char *outermost)
{
	const struct pm_entry_python entry = {
		.operation = operation,
		.flags = flags | (line ? PM_PYTHON_OWN : 0),
		.innermost = line           ? line
			     : innermost[0] ? pmh_string(innermost)
					    : 0,
		.outermost = outermost[0] ? pmh_string(outermost) : 0,
	};

	pmh_write_entry(PM_ENTRY_PYTHON, &entry, sizeof entry, NULL, 0);
}

void pmh_hlo_instruction_entry(
	const struct pm_entry_hlo_instruction *instruction, const void *tail, size_t tail_bytes)
{
	pmh_write_entry(PM_ENTRY_HLO_INSTRUCTION, instruction, sizeof *instruction, tail, tail_bytes);
}

void pmh_hlo_schedule_entry(const struct pm_entry_hlo_schedule *schedule, const uint64_t *instructions)
{
	pmh_write_entry(PM_ENTRY_HLO_SCHEDULE, schedule, sizeof *schedule, instructions,
		schedule->instruction_count * sizeof instructions[0]);
}

void pmh_hlo_module_entry(const struct pm_entry_hlo_module *module, const uint32_t *aliases)
{
	pmh_write_entry(PM_ENTRY_HLO_MODULE, module, sizeof *module, aliases,
		module->alias_count * sizeof aliases[0]);
}
