#include "metrics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* One family of metrics at a time: the format wants their lines together. */
struct writer {
	FILE *out;
	struct run *run;
	const char *job; /* fit for a label */
};

/* Of a label: backslash, quote and line feed are escaped. */
static const char *label(struct arena *arena, const char *text)
{
	char *escaped = arena_alloc(arena, 2 * strlen(text) + 1, 1), *end = escaped;

	for (; *text; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			*end++ = '\\';
		*end++ = *text == '\n' ? 'n' : *text;
	}
	return escaped;
}

static void family(const struct writer *w, const char *name, const char *help)
{
	fprintf(w->out, "# HELP pmhook_%s %s\n# TYPE pmhook_%s gauge\n", name, help, name);
}

static void of_run(const struct writer *w, const char *name, const char *help, double value)
{
	if (isnan(value))
		return;
	family(w, name, help);
	fprintf(w->out, "pmhook_%s{job=\"%s\"} %.9g\n", name, w->job, value);
}

/* A rank, or the process where it is not known. */
static const char *rank_of(const struct writer *w, const struct timeline_process *process)
{
	return process->rank >= 0 ? arena_format(&w->run->analysis.timeline.arena, "%d", process->rank)
				  : arena_format(&w->run->analysis.timeline.arena, "pid %u", process->pid);
}

/* more: further labels, with a comma before them, or "". */
static void of_worker(const struct writer *w, const char *name, const struct analysis_worker *worker,
	const char *more, double value)
{
	const struct timeline *timeline = &w->run->analysis.timeline;

	if (!isnan(value))
		fprintf(w->out, "pmhook_%s{job=\"%s\",rank=\"%d\",device=\"%d\"%s} %.9g\n", name, w->job,
			timeline->processes[worker->worker->process].rank, worker->worker->device, more,
			value);
}

/* What is measured of an iteration, in ns. */
typedef double measure(const struct phase_times *times, unsigned which);

static double iteration_time(const struct phase_times *times, unsigned which)
{
	(void)which;
	return (double)times->iteration_ns;
}

static double compute_time(const struct phase_times *times, unsigned which)
{
	(void)which;
	return (double)times->compute_ns;
}

static double wait_time(const struct phase_times *times, unsigned which)
{
	(void)which;
	return (double)times->wait_ns;
}

static double phase_time(const struct phase_times *times, unsigned which)
{
	return (double)times->exclusive_ns[which];
}

/* The median over the last used iterations, in seconds; NaN: there are none, or they are guessed. */
static double recent(const struct analysis_worker *worker, measure *get, unsigned which)
{
	double values[METRICS_LAST];
	size_t count = 0;

	if (worker->iterations.confidence < METRICS_SURE)
		return NAN;
	for (size_t i = worker->used_count; i > 0 && count < METRICS_LAST; i--)
		values[count++] = get(&worker->phases.times[worker->used[i - 1]], which);
	return analysis_statistics(values, count).median / 1e9;
}

static void times_of(const struct writer *w, const char *name, const char *help, measure *get)
{
	const struct analysis *analysis = &w->run->analysis;

	family(w, name, help);
	for (size_t i = 0; i < analysis->worker_count; i++)
		of_worker(w, name, &analysis->workers[i], "", recent(&analysis->workers[i], get, 0));
}

static void phases(const struct writer *w)
{
	static const char *const more[PHASE_COUNT] = {
#define PHASE_ITEM(name, key, symbol, title, text) ",phase=\"" key "\"",
		PHASE_LIST(PHASE_ITEM)
#undef PHASE_ITEM
	};
	const struct analysis *analysis = &w->run->analysis;

	family(w, "phase_seconds",
		"Exclusive time of a phase in an iteration, median of the last iterations.");
	for (size_t i = 0; i < analysis->worker_count; i++)
		for (unsigned p = 0; p < PHASE_COUNT; p++)
			of_worker(w, "phase_seconds", &analysis->workers[i], more[p],
				recent(&analysis->workers[i], phase_time, p));
}

static void iterations(const struct writer *w)
{
	const struct analysis *analysis = &w->run->analysis;

	family(w, "iterations", "Iterations of training that are complete in the trace.");
	for (size_t i = 0; i < analysis->worker_count; i++)
		of_worker(w, "iterations", &analysis->workers[i], "",
			(double)analysis->workers[i].iterations.count);
	family(w, "iteration_confidence", "Probability that the iterations were found right.");
	for (size_t i = 0; i < analysis->worker_count; i++)
		of_worker(w, "iteration_confidence", &analysis->workers[i], "",
			analysis->workers[i].iterations.confidence);
}

static void recording(const struct writer *w)
{
	const struct timeline *timeline = &w->run->analysis.timeline;

	family(w, "calls", "Calls in the trace.");
	for (size_t i = 0; i < timeline->process_count; i++)
		fprintf(w->out, "pmhook_calls{job=\"%s\",rank=\"%s\"} %zu\n", w->job,
			rank_of(w, &timeline->processes[i]), timeline->processes[i].call_count);
	family(w, "lost_records", "Records that are missing in the trace.");
	for (size_t i = 0; i < timeline->process_count; i++)
		fprintf(w->out, "pmhook_lost_records{job=\"%s\",rank=\"%s\"} %" PRIu64 "\n", w->job,
			rank_of(w, &timeline->processes[i]), timeline->processes[i].lost_records);
	family(w, "ended", "1: the process has ended in an orderly way.");
	for (size_t i = 0; i < timeline->process_count; i++)
		fprintf(w->out, "pmhook_ended{job=\"%s\",rank=\"%s\"} %d\n", w->job,
			rank_of(w, &timeline->processes[i]), timeline->processes[i].ended);
}

void metrics_write(struct run *run, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	const struct writer w = {out, run, label(&analysis->timeline.arena, run->label)};

	of_run(&w, "compute_imbalance", "Computing time of the slowest rank over the mean of all ranks.",
		analysis->worker_count ? analysis_compute_imbalance(analysis) : NAN);
	of_run(&w, "iteration_samples", "Samples of an iteration over all ranks.",
		analysis_samples(analysis) > 0 ? analysis_samples(analysis) : NAN);
	iterations(&w);
	times_of(&w, "iteration_seconds", "Time of an iteration, median of the last iterations.",
		iteration_time);
	times_of(&w, "compute_seconds", "Time of an iteration in which the device computes.", compute_time);
	times_of(&w, "wait_seconds", "Time of an iteration in communication, waiting for the last rank.",
		wait_time);
	phases(&w);
	recording(&w);
	fputs("# EOF\n", out);
}
