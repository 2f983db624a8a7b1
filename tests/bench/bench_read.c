/*
 * What reading native traces costs, step by step: each step of pmanalyze report on its own, so that anyone
 * sees which of them meets a rate and which does not.
 *
 *     bench_read [--times N] [--records N] FILE...
 *
 * All files are one run. A line per step: name, seconds of wall time, seconds of all processors together;
 * medians of N runs (5), each on memory that is new to it. `records` comes first: how many there are, calls
 * and device intervals. --records: of so many the report is (0: all).
 */
#include "reconstruct/analysis.h"
#include "base/statistics.h"
#include "output/report.h"
#include "timeline/timeline_read.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum step { STEP_OPEN, STEP_WALK, STEP_TIMELINE, STEP_SETTLE, STEP_ANALYSIS, STEP_REPORT, STEP_COUNT };

static const char *const names[] = {
	[STEP_OPEN] = "open",         /* tables, and records counted */
	[STEP_WALK] = "walk",         /* every record unfolded and checked */
	[STEP_TIMELINE] = "timeline", /* files to calls with their intervals, opening included */
	[STEP_SETTLE] = "settle",     /* clocks, groups */
	[STEP_ANALYSIS] = "analysis", /* workers, iterations, layers, phases */
	[STEP_REPORT] = "report",     /* figures, and the text */
};

/* Wall time, and what the processors worked. */
struct spent {
	double wall, work;
};

static struct spent now(void)
{
	struct timespec wall, work;

	clock_gettime(CLOCK_MONOTONIC, &wall);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &work);
	return (struct spent){(double)wall.tv_sec + (double)wall.tv_nsec * 1e-9,
		(double)work.tv_sec + (double)work.tv_nsec * 1e-9};
}

static void add(struct spent *sum, struct spent from, struct spent to)
{
	sum->wall += to.wall - from.wall;
	sum->work += to.work - from.work;
}

/* Opens and walks the files one after the other; answers the number of records. */
static uint64_t walk(char **files, size_t count, struct spent seconds[STEP_COUNT])
{
	uint64_t records = 0, walked = 0;

	for (size_t i = 0; i < count; i++) {
		struct spent begin = now(), middle;
		struct trace trace;

		if (trace_open(&trace, files[i]) < 0)
			errx(1, "%s", trace.error);
		middle = now();
		records += trace.call_count + trace.device_count;
		for (size_t c = 0; c < trace.chunk_count; c++) {
			struct trace_cursor cursor;
			struct trace_record record;
			enum trace_step step;

			trace_walk(&cursor, &trace, &trace.chunks[c]);
			while ((step = trace_next(&cursor, &record)) != TRACE_END)
				walked += step == TRACE_RECORD;
		}
		add(&seconds[STEP_OPEN], begin, middle);
		add(&seconds[STEP_WALK], middle, now());
		trace_close(&trace);
	}
	if (walked != records)
		warnx("%llu of %llu records can be used", (unsigned long long)walked,
			(unsigned long long)records);
	return records;
}

static struct timeline_sample sample;

static void report(char **files, size_t count, struct spent seconds[STEP_COUNT])
{
	struct timeline timeline;
	struct run run = {.label = "bench"};
	const char *error, **unread;
	FILE *out = fopen("/dev/null", "w");
	struct spent times[5];

	if (!out)
		err(1, "/dev/null");
	times[0] = now();
	timeline_init(&timeline);
	if (timeline_read(&timeline, (const char *const *)files, count, &sample, &error, &unread) < 0)
		errx(1, "%s", error);
	times[1] = now();
	timeline_settle(&timeline);
	times[2] = now();
	analysis_init(&run.analysis, &timeline, ANALYSIS_SKIP);
	times[3] = now();
	run.unread = unread;
	report_run(&run, false, out);
	times[4] = now();
	for (int i = 0; i < 4; i++)
		add(&seconds[STEP_TIMELINE + i], times[i], times[i + 1]);
	run_close(&run);
	fclose(out);
}

int main(int argument_count, char **arguments)
{
	int first = 1;
	size_t times = 5;
	double *wall[STEP_COUNT], *work[STEP_COUNT];
	uint64_t records = 0;

	for (; argument_count > first + 1 && strncmp(arguments[first], "--", 2) == 0; first += 2)
		if (strcmp(arguments[first], "--times") == 0)
			times = strtoul(arguments[first + 1], NULL, 10);
		else if (strcmp(arguments[first], "--records") == 0)
			sample.records = strtoul(arguments[first + 1], NULL, 10);
		else
			times = 0;
	if (times == 0 || first >= argument_count)
		errx(2, "usage: bench_read [--times N] [--records N] FILE...");
	for (int s = 0; s < STEP_COUNT; s++) {
		wall[s] = mem_alloc(times, sizeof(**wall));
		work[s] = mem_alloc(times, sizeof(**work));
	}
	for (size_t i = 0; i < times; i++) {
		struct spent once[STEP_COUNT] = {0};

		records = walk(arguments + first, (size_t)(argument_count - first), once);
		report(arguments + first, (size_t)(argument_count - first), once);
		for (int s = 0; s < STEP_COUNT; s++) {
			wall[s][i] = once[s].wall;
			work[s][i] = once[s].work;
		}
	}
	printf("records %llu\n", (unsigned long long)records);
	for (int s = 0; s < STEP_COUNT; s++) {
		printf("%s %.4f %.4f\n", names[s], statistics_median(wall[s], times),
			statistics_median(work[s], times));
		free(wall[s]);
		free(work[s]);
	}
	return 0;
}
