/*
 * The ranges of a trace as text: nvtx_look TRACE. A line for each begin ("<name"), end (">") and call, indented by the
 * ranges around it, thread by thread; times must not decrease among the begins and ends of a thread.
 */
#include "peek.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct peek trace;
static unsigned depth;
static uint32_t last_thread;
static uint64_t last_ticks;

static const char *name_of(uint32_t number)
{
	static char text[512];
	const struct pm_entry_range *range = peek_numbered(&trace, PM_ENTRY_RANGE, number);
	int n;

	if (!range || range->scope != PM_RANGE_NVTX)
		return "?";
	n = snprintf(text, sizeof text, "%s%s%s", range->domain ? peek_string(&trace, range->domain) : "",
		range->domain ? ": " : "", peek_string(&trace, range->name));
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
	peek_records_and_ranges(&trace, show_call, show_range, NULL);
	return 0;
}
