/* Figures of a run for Prometheus: see metrics.h. */
#include "metrics.h"
#include "prometheus.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* One family of metrics at a time: the format wants their lines together. */
struct writer {
	FILE *out;
	const struct recent *recent;
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
static const char *rank_of(const struct writer *w, const struct recent_process *process)
{
	return process->rank >= 0 ? arena_format(w->recent->arena, "%d", process->rank)
				  : arena_format(w->recent->arena, "pid %u", process->pid);
}

/* more: further labels, with a comma before them, or "". */
static void of_worker(const struct writer *w, const char *name, const struct recent_worker *worker,
	const char *more, double value)
{
	if (isnan(value))
		return;
	fprintf(w->out, "pmhook_%s{run=\"%s\",rank=\"%s\"", name, w->name, rank_of(w, worker->process));
	if (worker->device >= 0)
		fprintf(w->out, ",device=\"%" PRId64 "\"", worker->device);
	fprintf(w->out, "%s} %.9g\n", more, value);
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
#define PHASE_ITEM(name, key, symbol, title, text, does, term, colour) ",phase=\"" key "\"",
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

static void of_process(
	const struct writer *w, const char *name, const struct recent_process *process, double value)
{
	if (!isnan(value))
		fprintf(w->out, "pmhook_%s{run=\"%s\",rank=\"%s\"} %.0f\n", name, w->name,
			rank_of(w, process), value);
}

static void recording(const struct writer *w)
{
	const struct recent *recent = w->recent;

	family(w, "calls", "Calls that were recorded.");
	for (size_t i = 0; i < recent->process_count; i++)
		of_process(w, "calls", &recent->processes[i], recent->processes[i].calls);
	family(w, "lost_records", "Records that are missing in the trace.");
	for (size_t i = 0; i < recent->process_count; i++)
		of_process(
			w, "lost_records", &recent->processes[i], (double)recent->processes[i].lost_records);
	family(w, "ended", "1: the process has ended in an orderly way.");
	for (size_t i = 0; i < recent->process_count; i++)
		of_process(w, "ended", &recent->processes[i], recent->processes[i].ended);
}

void metrics_write(const struct recent *recent, FILE *out)
{
	const struct writer w = {out, recent, prometheus_value(recent->arena, recent->label)};

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
