/*
 * The ranges of a trace as text: nvtx_look TRACE. A line for each begin ("<name"), end (">") and call,
 * indented by the ranges around it, thread by thread; times must not decrease among the starts and ends of a
 * thread.
 */
#include "peek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct peek trace;
static unsigned depth;
static uint32_t last_thread;
static uint64_t last_ticks;

/* Entries by number, as there may be thousands. */
static const void *ranges[1 << 17], *strings[1 << 17];

static void keep(const void *body, size_t body_bytes, void *data)
{
	const uint32_t *number = body;

	(void)body_bytes;
	((const void **)data)[*number] = body;
}

static const char *string_of(uint32_t number)
{
	const struct pm_entry_string *string = strings[number];

	return string ? string->text : "";
}

static const char *name_of(uint32_t number)
{
	static char text[512];
	const struct pm_entry_range *range = ranges[number];
	int n;

	if (!range || range->scope != PM_RANGE_NVTX)
		return "?";
	n = snprintf(text, sizeof text, "%s%s%s", range->domain ? string_of(range->domain) : "",
		range->domain ? ": " : "", string_of(range->name));
	if (range->color)
		snprintf(text + n, sizeof text - (size_t)n, " %08x", range->color);
	return text;
}

static void of_thread(uint32_t thread)
{
	if (thread == last_thread)
		return;
	last_thread = thread;
	last_ticks = depth = 0;
	printf("thread %u\n", thread);
}

static void indent(void)
{
	for (unsigned i = 0; i < depth; i++)
		printf("  ");
}

static void show_range(const struct pm_range *range, uint64_t ticks, uint32_t thread, void *data)
{
	(void)data;
	of_thread(thread);
	if (ticks < last_ticks)
		printf("earlier than the one before\n");
	last_ticks = ticks;
	if (range->flags & PM_RANGE_LOOSE) {
		indent();
		printf("%s %u\n", range->range ? name_of(range->range) : "end of", range->sequence);
		return;
	}
	depth -= !range->range && depth;
	indent();
	printf("%s%s\n", range->range ? "<" : ">", range->range ? name_of(range->range) : "");
	depth += range->range != 0;
}

static void show_call(const struct peek_record *record, uint32_t thread, void *data)
{
	const struct pm_entry_operation *operation = peek_operation(&trace, record->op);
	const char *name = operation ? peek_function(&trace, operation->function) : "?";

	(void)data;
	if (!strstr(name, "Memset"))
		return;
	of_thread(thread);
	indent();
	printf("work\n");
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	trace = peek_open(argv[1]);
	peek_entries(&trace, PM_ENTRY_RANGE, keep, ranges);
	peek_entries(&trace, PM_ENTRY_STRING, keep, strings);
	peek_records_and_ranges(&trace, show_call, show_range, NULL);
	return 0;
}
