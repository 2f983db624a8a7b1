/*
 * Prints what traces say, one fact a line, for scripts that compare it with what the program says of itself:
 *
 *     traces N
 *     call NAME COUNT          by the function's name; file input is left out
 *     device NAME COUNT        device intervals, by the name of their operation's function
 *     graph NUMBER OPERATIONS NODES
 *     launch NUMBER COUNT      calls that launched the graph, 0: one that is not known
 *     window OPEN ITERATION
 *     outside COUNT            calls that ended outside the windows, if there are any
 *     note TEXT
 *     worker COUNT READS BYTES
 *     footer CALLS LOST LOST_TIMES UNSEEN THREADS, or: no footer
 *     lost COUNT               of the header
 *     loss CAUSE COUNT         of the header, if there is any
 *     used_queues COUNT        queues that records name
 *     rank RANK WORLD
 *     source N
 *
 *     trace_look FILE...
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peek.h"

#define FUNCTIONS 4096u
#define OPERATIONS (1u << 18)
#define WINDOWS 256

static const char *const loss_names[] = {
#define PM_FIELD(name, class, words) #name,
	PM_FORMAT_LOSSES(PM_FIELD)
#undef PM_FIELD
};

static struct peek trace;
static struct {
	char name[80];
	unsigned calls, intervals;
} functions[FUNCTIONS];
static unsigned function_count;
static uint16_t function_of[OPERATIONS]; /* 1 + place in `functions` */
static uint16_t own_of[FUNCTIONS];       /* the same, by the trace's number */
static uint64_t graph_of[OPERATIONS];    /* of a launch: 1 + number */
static unsigned launches[1 << 16];
static uint8_t graph_value[FUNCTIONS]; /* 1 + place of the value that is a graph */
static struct pm_entry_window windows[WINDOWS];
static unsigned window_count, outside;
static bool queue_used[UINT16_MAX + 1];

static uint16_t place_of(const char *name)
{
	for (unsigned i = 0; i < function_count; i++)
		if (strcmp(functions[i].name, name) == 0)
			return (uint16_t)(i + 1);
	if (function_count == FUNCTIONS)
		errx(1, "too many functions");
	snprintf(functions[function_count].name, sizeof functions[0].name, "%s", name);
	return (uint16_t)++function_count;
}

/* "library KIND name value:label ..." */
static void see_function(const void *body, size_t size, void *data)
{
	const struct pm_entry_function *f = body;
	char text[2048], *word, *rest = text;

	(void)size, (void)data;
	snprintf(text, sizeof text, "%s", f->text);
	word = strtok_r(text, " ", &rest);
	if (!word || f->number >= FUNCTIONS || strcmp(word, "libc") == 0)
		return;
	strtok_r(NULL, " ", &rest);
	word = strtok_r(NULL, " ", &rest);
	own_of[f->number] = place_of(word ? word : "?");
	for (uint8_t i = 1; (word = strtok_r(NULL, " ", &rest)); i++)
		if (strncmp(word, "graph:", 6) == 0 || strstr(word, ":graph"))
			graph_value[f->number] = i;
}

static void see_operation(const void *body, size_t size, void *data)
{
	const struct pm_entry_operation *op = body;

	(void)size, (void)data;
	if (op->number >= OPERATIONS || op->function >= FUNCTIONS)
		errx(1, "operation %u", op->number);
	function_of[op->number] = own_of[op->function];
	graph_of[op->number] = graph_value[op->function] ? 1 + op->values[graph_value[op->function] - 1] : 0;
}

static void see_window(const void *body, size_t size, void *data)
{
	const struct pm_entry_window *w = body;

	(void)size, (void)data;
	printf("window %u %u\n", w->open, w->iteration);
	if (window_count < WINDOWS)
		windows[window_count++] = *w;
}

static bool is_inside(uint64_t ticks)
{
	/* before the first one: the opposite of it */
	bool open = window_count == 0 || !windows[0].open;

	for (unsigned i = 0; i < window_count && windows[i].ticks <= ticks; i++)
		open = windows[i].open;
	return open;
}

static void see_record(const struct peek_record *r, uint32_t thread, void *data)
{
	(void)thread, (void)data;
	queue_used[r->queue] = true;
	if (!function_of[r->op])
		return;
	if (r->kind == PM_RECORD_DEVICE) {
		functions[function_of[r->op] - 1].intervals++;
		return;
	}
	functions[function_of[r->op] - 1].calls++;
	outside += !is_inside(r->end);
	if (graph_of[r->op])
		launches[(graph_of[r->op] - 1) % (sizeof launches / sizeof launches[0])]++;
}

static void see_graph(const void *body, size_t size, void *data)
{
	const struct pm_entry_graph *g = body;
	unsigned nodes = 0;

	(void)size, (void)data;
	for (unsigned i = 0; i < g->node_count; i++)
		nodes += g->nodes[i].nodes;
	printf("graph %u %u %u\n", g->number, g->node_count, nodes);
}

static void see_note(const void *body, size_t size, void *data)
{
	(void)data;
	printf("note %.*s\n", (int)size, (const char *)body);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void look(const char *path)
{
	const struct pm_footer *footer;
	unsigned queues = 0;

	trace = peek_open(path);
	memset(own_of, 0, sizeof own_of);
	memset(function_of, 0, sizeof function_of);
	memset(graph_value, 0, sizeof graph_value);
	memset(graph_of, 0, sizeof graph_of);
	window_count = 0;
	peek_entries(&trace, PM_ENTRY_FUNCTION, see_function, NULL);
	peek_entries(&trace, PM_ENTRY_OPERATION, see_operation, NULL);
	peek_entries(&trace, PM_ENTRY_WINDOW, see_window, NULL);
	peek_entries(&trace, PM_ENTRY_GRAPH, see_graph, NULL);
	peek_entries(&trace, PM_ENTRY_NOTE, see_note, NULL);
	memset(queue_used, 0, sizeof queue_used);
	peek_records(&trace, see_record, NULL);
	for (unsigned i = 1; i < sizeof queue_used; i++)
		queues += queue_used[i];
	printf("used_queues %u\n", queues);
	printf("worker %llu %llu %llu\n", (unsigned long long)trace.header->worker_count,
		(unsigned long long)trace.header->worker_reads,
		(unsigned long long)trace.header->worker_bytes);
	footer = peek_footer(&trace);
	if (footer)
		printf("footer %llu %llu %llu %llu %llu\n", (unsigned long long)footer->calls,
			(unsigned long long)footer->lost_records,
			(unsigned long long)footer->lost_device_times,
			(unsigned long long)footer->unseen_calls, (unsigned long long)footer->threads);
	else
		puts("no footer");
	printf("lost %llu\n", (unsigned long long)trace.header->lost_records);
	for (unsigned i = 0; i < PM_LOSS_COUNT; i++)
		if (trace.header->losses[i])
			printf("loss %s %llu\n", loss_names[i], (unsigned long long)trace.header->losses[i]);
	printf("rank %d %d\n", trace.header->rank, trace.header->world);
	printf("source %u\n", trace.header->device_source);
	peek_close(&trace);
}

int main(int argc, char **argv)
{
	printf("traces %d\n", argc - 1);
	for (int i = 1; i < argc; i++)
		look(argv[i]);
	qsort(functions, function_count, sizeof functions[0], by_name);
	for (unsigned i = 0; i < function_count; i++) {
		if (functions[i].calls)
			printf("call %s %u\n", functions[i].name, functions[i].calls);
		if (functions[i].intervals)
			printf("device %s %u\n", functions[i].name, functions[i].intervals);
	}
	for (unsigned i = 0; i < sizeof launches / sizeof launches[0]; i++)
		if (launches[i])
			printf("launch %u %u\n", i, launches[i]);
	if (outside)
		printf("outside %u\n", outside);
	return 0;
}
