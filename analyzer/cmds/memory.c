/* pmanalyze memory: what the most memory was allocated for, by PyTorch's snapshots. */
#include "base/text.h"
#include "cmd.h"
#include "import/memory_snapshot.h"

#include <err.h>
#include <stdlib.h>

static const char *bytes_text(struct arena *arena, double bytes)
{
	const char *prefix = pm_text_prefix(&bytes, 3);

	return arena_format(arena, "%.3g %sB", bytes, prefix);
}

static void place_table(const struct memory_peak *peak, struct print_table *table, size_t most, bool people)
{
	const size_t bytes =
		print_column(table, "bytes", people ? " bytes" : "bytes", people ? PRINT_WORD : PRINT_COUNT);
	const size_t share = print_column(table, "share", "share", PRINT_SHARE);
	const size_t blocks = print_column(table, "blocks", "blocks", PRINT_COUNT);
	const size_t line = print_column(table, "line", "line", PRINT_WORD);
	const size_t module = print_column(table, "module", "torch.nn", PRINT_WORD);

	for (size_t i = 0; i < peak->place_count && i < most; i++) {
		const struct memory_place *place = &peak->places[i];

		print_row(table);
		if (people)
			print_word(table, bytes,
				arena_format(table->arena, "%9s", bytes_text(table->arena, place->bytes)));
		else
			print_number(table, bytes, place->bytes);
		if (peak->bytes > 0)
			print_number(table, share, place->bytes / peak->bytes);
		print_number(table, blocks, (double)place->blocks);
		print_word(table, line, *place->line ? print_clean(table->arena, place->line) : "-");
		print_word(table, module, print_clean(table->arena, place->module));
	}
}

static void print_peak(const struct memory_peak *peak, struct arena *arena)
{
	const char *when = "";

	if (!peak->has_history)
		when = " when the snapshot was taken; no history was recorded (torch.cuda.memory._record_memory_history), so "
		       "it may have been more before";
	else if (peak->at_us >= 0)
		when = arena_format(arena, " at the peak, %s after the first of %zu events in %s",
			print_time(arena, 1e3 * (double)peak->at_us), peak->events,
			print_time(arena, 1e3 * (double)peak->span_us));
	else
		when = arena_format(arena, " at the peak of %zu events", peak->events);
	print_paragraph(
		arena_format(arena, "Allocated: %s%s.", bytes_text(arena, peak->bytes), when), 2, stdout);
	if (peak->reserved >= peak->bytes && peak->reserved > 0)
		print_paragraph(
			arena_format(arena, "Reserved then: %s; %.1f%% of it is not allocated%s.",
				bytes_text(arena, peak->reserved), 100 * (1 - peak->bytes / peak->reserved),
				peak->bytes < 0.8 * peak->reserved
					? " (fragments, or what earlier peaks left: expandable_segments:True)"
					: ""),
			2, stdout);
	if (peak->before > 0 && peak->has_history)
		print_paragraph(arena_format(arena, "Before the history: %s; after it: %s.",
					bytes_text(arena, peak->before), bytes_text(arena, peak->end)),
			2, stdout);
	if (peak->failures)
		print_paragraph(
			arena_format(arena, "Out of memory: %zu time%s, the last for %s.", peak->failures,
				pm_text_plural(peak->failures), bytes_text(arena, peak->failed_bytes)),
			2, stdout);
}

static void add_facts(cJSON *object, const char *path, const struct memory_peak *peak)
{
	cJSON_AddStringToObject(object, "file", path);
	cJSON_AddNumberToObject(object, "device", (double)peak->device);
	cJSON_AddBoolToObject(object, "history", peak->has_history);
	cJSON_AddNumberToObject(object, "allocated_bytes", peak->bytes);
	if (peak->reserved >= 0)
		cJSON_AddNumberToObject(object, "reserved_bytes", peak->reserved);
	else
		cJSON_AddNullToObject(object, "reserved_bytes");
	cJSON_AddNumberToObject(object, "before_bytes", peak->before);
	cJSON_AddNumberToObject(object, "end_bytes", peak->end);
	cJSON_AddNumberToObject(object, "events", (double)peak->events);
	if (peak->at_us >= 0)
		cJSON_AddNumberToObject(object, "at_ns", 1e3 * (double)peak->at_us);
	else
		cJSON_AddNullToObject(object, "at_ns");
	cJSON_AddNumberToObject(object, "out_of_memory", (double)peak->failures);
}

static void print_device(const char *path, const struct memory_peak *peak, enum print_form form, size_t top,
	cJSON *list, struct arena *arena)
{
	const bool text = form == PRINT_TEXT;
	cJSON *object = list ? cJSON_CreateObject() : NULL;
	struct print_table table;

	if (object) {
		add_facts(object, print_clean(arena, path), peak);
		cJSON_AddItemToArray(list, object);
	} else if (text) {
		print_heading(arena_format(arena, "%s: device %lld", print_clean(arena, path),
				      (long long)peak->device),
			stdout);
		print_peak(peak, arena);
	}
	print_init(&table, arena);
	place_table(peak, &table, text ? top : SIZE_MAX, text);
	if (!text || table.row_count)
		print_part(&table, form, object, "places", "By line, and module of torch.nn", text, stdout);
	if (text && peak->place_count > top)
		print_paragraph(arena_format(arena, "%zu more with less (--top).", peak->place_count - top),
			2, stdout);
	print_free(&table);
}

enum { OPTION_TOP = OPTION_FIRST };

static int run_memory(int argument_count, char **arguments)
{
	enum print_form form = PRINT_TEXT;
	cJSON *object = NULL, *list = NULL;
	size_t top = 30;
	int option, status = 0;

	while ((option = command_option(&cmd_memory, argument_count, arguments)) != -1)
		if (option == OPTION_TOP)
			top = command_count(&cmd_memory, option, optarg, 1, SIZE_MAX);
		else if (!cmd_form_option(&form, option))
			command_unhandled(&cmd_memory, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_memory, "no snapshot given");
	if (form == PRINT_JSON) {
		object = cJSON_CreateObject();
		list = cJSON_AddArrayToObject(object, "devices");
	}
	for (int i = optind; i < argument_count; i++) {
		struct memory_snapshot snapshot;
		const char *wrong = memory_snapshot_read(&snapshot, arguments[i]);

		if (wrong)
			warnx("%s", wrong);
		else if (snapshot.device_count == 0)
			warnx("%s: no device has memory, and no history was recorded", arguments[i]);
		status |= wrong || snapshot.device_count == 0;
		for (size_t d = 0; d < snapshot.device_count; d++)
			print_device(arguments[i], &snapshot.devices[d], form, top, list, &snapshot.arena);
		memory_snapshot_free(&snapshot);
	}
	if (object)
		print_json_end(object, stdout);
	return status;
}

static const struct option_row rows[] = {
	{"top", OPTION_TOP, "N", "lines in text (default: 30)"},
	{"json", CMD_JSON, NULL, "the same as JSON, in bytes and ns"},
	{"csv", CMD_CSV, NULL, "the places as CSV"},
	{0},
};

const struct command cmd_memory = {
	.name = "memory",
	.summary = "what took the most memory, by PyTorch's memory snapshots",
	.usage = "[OPTION]... SNAPSHOT...",
	.about =
		"Reads snapshots of PyTorch's allocator, pickles or JSON, as torch.cuda.memory._dump_snapshot(FILE) "
		"writes them. Of each device: the most that was allocated at a time, what the allocator had "
		"reserved from the driver then, and what was allocated then by the line of the program that asked "
		"for it and by the innermost module of torch.nn around it.\n"
		"\n"
		"With a history (torch.cuda.memory._record_memory_history(), before the program starts) the peak is "
		"that of the history; what was allocated before it is a line of its own unless the snapshot still "
		"holds it. Without one it is what the snapshot holds. A pickle is read as data: nothing in it is "
		"called.\n",
	.options = OPTION_TABLES(rows),
	.after = "Exit status: 0 success, 1 a file is no snapshot or is empty, 2 usage error.\n",
	.run = run_memory,
};
