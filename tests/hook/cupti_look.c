/*
 * Prints what a trace says of device time, for cupti.sh, one fact a line:
 *
 *     source N                                 of the header
 *     note TEXT
 *     footer LOST_DEVICE_TIMES CALLS           0 0 when there is no footer
 *     activity KIND NAME COUNT                 of activities; NAME is the kernel's, or "-"
 *     call OPERATION FUNCTION COUNT TIMED NS   calls of an operation, those with device intervals, and the
 *                                              lower quartile of the time from a call's first begin to its
 * last end node ORDINAL NAME COUNT                  activities of graph launches stray COUNT device intervals
 * that belong to no call's correlation astray COUNT                             device intervals on another
 * queue than their call late COUNT                               device intervals that end after the trace
 *     early COUNT                              activities that begin before their call does
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peek.h"

#define OPERATIONS 100000u
#define CORRELATIONS (1u << 18)

static struct call {
	uint32_t op;
	uint16_t queue;
	uint64_t begin_ns, first_ns, last_ns;
} * calls; /* by correlation */

static struct operation {
	unsigned calls, timed;
	unsigned activities, nodes[16];
} operations[OPERATIONS];

static struct peek trace;
static const struct pm_footer *footer;
static unsigned strays, early, astray, late;
static double ns_per_tick;

static uint64_t tick_ns(uint64_t ticks)
{
	return trace.header->monotonic_ns +
	       (uint64_t)(int64_t)((double)(int64_t)(ticks - trace.header->ticks) * ns_per_tick);
}

static void see_call(const struct peek_record *r, uint32_t thread, void *data)
{
	(void)thread, (void)data;
	if (r->kind != PM_RECORD_CALL || r->op >= OPERATIONS)
		return;
	operations[r->op].calls++;
	if (r->correlation && r->correlation < CORRELATIONS)
		calls[r->correlation] =
			(struct call){.op = r->op, .queue = r->queue, .begin_ns = tick_ns(r->begin)};
}

static void see_device(const struct peek_record *r, uint32_t thread, void *data)
{
	struct call *c = &calls[r->correlation % CORRELATIONS];

	(void)thread, (void)data;
	if (r->kind != PM_RECORD_DEVICE || r->op >= OPERATIONS)
		return;
	if (r->flags & PM_FLAG_ACTIVITY) {
		operations[r->op].activities++;
		if (r->sequence)
			operations[r->op].nodes[r->sequence % 16]++;
	}
	if (!r->correlation || !c->op) {
		strays++;
		return;
	}
	astray += r->queue != c->queue;
	late += footer && r->end > footer->monotonic_ns;
	early += r->flags & PM_FLAG_ACTIVITY && ns_per_tick > 0 && r->begin + 100000 < c->begin_ns;
	if (!c->first_ns || r->begin < c->first_ns)
		c->first_ns = r->begin;
	if (r->end > c->last_ns)
		c->last_ns = r->end;
}

static void print_note(const void *body, size_t size, void *data)
{
	(void)data;
	printf("note %.*s\n", (int)size, (const char *)body);
}

/* "library KIND name values..." */
static void words(uint32_t number, char *kind, char *name, const struct pm_entry_operation **op)
{
	*op = peek_operation(&trace, number);
	sscanf(peek_function(&trace, *op ? (*op)->function : 0), "%*s %63s %63s", kind, name);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t quartile_ns(uint32_t op, unsigned count)
{
	uint64_t *ns = calloc(count + 1, sizeof *ns), quartile;
	unsigned n = 0;

	for (uint32_t c = 0; c < CORRELATIONS; c++)
		if (calls[c].op == op && calls[c].first_ns)
			ns[n++] = calls[c].last_ns - calls[c].first_ns;
	qsort(ns, n, sizeof *ns, compare);
	quartile = ns[n / 4];
	free(ns);
	return quartile;
}

static void print_operation(uint32_t number)
{
	struct operation *o = &operations[number];
	const struct pm_entry_operation *op;
	char kind[64] = "", name[64] = "";
	const char *kernel = "-";

	if (!o->calls && !o->activities)
		return;
	words(number, kind, name, &op);
	if (o->calls)
		printf("call %u %s %u %u %llu\n", number, name, o->calls, o->timed,
			(unsigned long long)quartile_ns(number, o->timed));
	if (!o->activities)
		return;
	if (strcmp(kind, "LAUNCH") == 0)
		kernel = peek_string(&trace, (uint32_t)op->values[0]);
	printf("activity %s %s %u\n", kind, kernel, o->activities);
	for (unsigned i = 0; i < 16; i++)
		if (o->nodes[i])
			printf("node %u %s %u\n", i, kernel, o->nodes[i]);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	calls = calloc(CORRELATIONS, sizeof *calls);
	trace = peek_open(argv[1]);
	footer = peek_footer(&trace);
	if (footer && footer->ticks > trace.header->ticks)
		ns_per_tick = (double)(footer->monotonic_ns - trace.header->monotonic_ns) /
			      (double)(footer->ticks - trace.header->ticks);
	peek_records(&trace, see_call, NULL);
	peek_records(&trace, see_device, NULL);
	for (uint32_t c = 0; c < CORRELATIONS; c++)
		operations[calls[c].op].timed += calls[c].first_ns != 0;
	printf("source %u\n", trace.header->device_source);
	peek_entries(&trace, PM_ENTRY_NOTE, print_note, NULL);
	printf("footer %llu %llu\n", footer ? (unsigned long long)footer->lost_device_times : 0,
		footer ? (unsigned long long)footer->calls : 0);
	for (uint32_t i = 1; i < OPERATIONS; i++)
		print_operation(i);
	printf("stray %u\nastray %u\nlate %u\nearly %u\n", strays, astray, late, early);
	free(calls);
	peek_close(&trace);
	return 0;
}
