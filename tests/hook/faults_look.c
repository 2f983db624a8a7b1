/*
 * What a trace of faults_host has, and what it says that it has not, in one line:
 *
 *     calls N lost N of N unknown N times N lost_times N footer yes|no
 *
 * calls: records of calls; lost: as the header says; of: all calls, as the footer says, else `-`; unknown:
 * calls whose operation is not in the dictionary; times: device times.
 *
 *     faults_look TRACE
 */
#include <err.h>
#include <stdio.h>

#include "peek.h"

static struct peek trace;
static unsigned calls, times, unknown;
static bool is_known[1 << 20];

static void see_operation(const void *body, size_t size, void *data)
{
	const struct pm_entry_operation *op = body;

	(void)size, (void)data;
	if (op->number < sizeof is_known)
		is_known[op->number] = true;
}

static void see_record(const struct peek_record *r, uint32_t thread, void *data)
{
	(void)thread, (void)data;
	if (r->kind == PM_RECORD_CALL)
		calls++;
	else
		times++;
	unknown += r->kind == PM_RECORD_CALL && (r->op >= sizeof is_known || !is_known[r->op]);
}

int main(int argc, char **argv)
{
	const struct pm_footer *f;

	if (argc != 2)
		errx(2, "usage: faults_look TRACE");
	trace = peek_open(argv[1]);
	peek_entries(&trace, PM_ENTRY_OPERATION, see_operation, NULL);
	peek_records(&trace, see_record, NULL);
	f = peek_footer(&trace);
	printf("calls %u lost %llu of %lld unknown %u times %u lost_times %lld footer %s\n", calls,
		(unsigned long long)trace.header->lost_records, f ? (long long)f->calls : -1, unknown, times,
		f ? (long long)f->lost_device_times : -1, f ? "yes" : "no");
	peek_close(&trace);
	return 0;
}
