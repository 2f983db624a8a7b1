#include "metrics.h"
#include "prometheus.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* One family of metrics at a time: the format wants their lines together. */
struct writer {
	FILE *out;
	const struct recent *recent;
	struct run *run;  /* of which they are */
	const char *name; /* the run's, fit for a label */
};

static void family(const struct writer *w, const char *name, const char *help)
{
	prometheus_family(w->out, name, "gauge", help);
}

static void of_run(const struct writer *w, const char *name, const char *help, double value)
{
	if (isnan(value))
		return;
	family(w, name, help);
	fprintf(w->out, "pmhook_%s{run=\"%s\"} %.9g\n", name, w->name, value);
}

/* A rank, or the process where it is not known. */
static const char *rank_of(const struct writer *w, const struct timeline_process *process)
{
	return process->rank >= 0 ? arena_format(&w->run->analysis.timeline.arena, "%d", process->rank)
				  : arena_format(&w->run->analysis.timeline.arena, "pid %u", process->pid);
}

/* more: further labels, with a comma before them, or "". */
static void of_worker(const struct writer *w, const char *name, const struct recent_worker *worker,
	const char *more, double value)
{
	if (!isnan(value))
		fprintf(w->out, "pmhook_%s{run=\"%s\",rank=\"%d\",device=\"%d\"%s} %.9g\n", name, w->name,
			worker->process->rank, worker->worker->worker->device, more, value);
}

/* A time of each worker, as kept in struct recent_worker at `offset`. */
static void times_of(const struct writer *w, const char *name, const char *help, size_t offset)
{
	family(w, name, help);
	for (size_t i = 0; i < w->recent->worker_count; i++) {
		const struct recent_worker *worker = &w->recent->workers[i];

		of_worker(w, name, worker, "", *(const double *)((const char *)worker + offset) / 1e9);
	}
}

static void phases(const struct writer *w)
{
	static const char *const more[PHASE_COUNT] = {
#define PHASE_ITEM(name, key, symbol, title, text) ",phase=\"" key "\"",
		PHASE_LIST(PHASE_ITEM)
#undef PHASE_ITEM
	};

	family(w, "phase_seconds",
		"Exclusive time of a phase in an iteration, median of the last iterations.");
	for (size_t i = 0; i < w->recent->worker_count; i++)
		for (unsigned p = 0; p < PHASE_COUNT; p++)
			of_worker(w, "phase_seconds", &w->recent->workers[i], more[p],
				w->recent->workers[i].phase_ns[p] / 1e9);
}

static void iterations(const struct writer *w)
{
	const struct recent *recent = w->recent;

	family(w, "iterations", "Iterations of training that are complete.");
	for (size_t i = 0; i < recent->worker_count; i++)
		of_worker(w, "iterations", &recent->workers[i], "", recent->workers[i].count);
	family(w, "iteration_confidence", "Probability that the iterations were found right.");
	for (size_t i = 0; i < recent->worker_count; i++)
		of_worker(w, "iteration_confidence", &recent->workers[i], "", recent->workers[i].confidence);
}

static void recording(const struct writer *w)
{
	const struct timeline *timeline = &w->run->analysis.timeline;

	family(w, "calls", "Calls that were recorded.");
	for (size_t i = 0; i < timeline->process_count; i++)
		fprintf(w->out, "pmhook_calls{run=\"%s\",rank=\"%s\"} %" PRIu64 "\n", w->name,
			rank_of(w, &timeline->processes[i]),
			timeline->processes[i].call_count + timeline->processes[i].gap.call_count);
	family(w, "lost_records", "Records that are missing in the trace.");
	for (size_t i = 0; i < timeline->process_count; i++)
		fprintf(w->out, "pmhook_lost_records{run=\"%s\",rank=\"%s\"} %" PRIu64 "\n", w->name,
			rank_of(w, &timeline->processes[i]), timeline->processes[i].lost_records);
	family(w, "ended", "1: the process has ended in an orderly way.");
	for (size_t i = 0; i < timeline->process_count; i++)
		fprintf(w->out, "pmhook_ended{run=\"%s\",rank=\"%s\"} %d\n", w->name,
			rank_of(w, &timeline->processes[i]), timeline->processes[i].ended);
}

void metrics_write(const struct recent *recent, FILE *out)
{
	struct run *run = recent->run;
	const struct writer w = {out, recent, run, prometheus_value(&run->analysis.timeline.arena, run->label)};

	of_run(&w, "compute_imbalance", "Computing time of the slowest rank over the mean of all ranks.",
		recent->imbalance);
	of_run(&w, "iteration_samples", "Samples of an iteration over all ranks.", recent->samples);
	iterations(&w);
	times_of(&w, "iteration_seconds", "Time of an iteration, median of the last iterations.",
		offsetof(struct recent_worker, iteration_ns));
	times_of(&w, "compute_seconds", "Time of an iteration in which the device computes.",
		offsetof(struct recent_worker, compute_ns));
	times_of(&w, "wait_seconds", "Time of an iteration in communication, waiting for the last rank.",
		offsetof(struct recent_worker, wait_ns));
	phases(&w);
	recording(&w);
	fputs("# EOF\n", out);
}
