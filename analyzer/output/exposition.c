/* Series for Prometheus: see exposition.h. Lines of one family stand together, as the format wants it. */
#include "exposition.h"
#include "prometheus.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	const struct exposition *of;
	struct arena arena;
	const char *base; /* the labels that all series of the job have */
	FILE *out;
};

static void family(const struct writer *w, const char *name, const char *type, const char *help)
{
	prometheus_family(w->out, name, type, help);
}

/* more: further labels with a comma before them, or "". */
static void line(struct writer *w, const char *name, const char *more, double value)
{
	if (!isnan(value))
		fprintf(w->out, "pmhook_%s{%s%s} %.9g\n", name, w->base, more, value);
}

static void single(struct writer *w, const char *name, const char *help, double value)
{
	if (isnan(value))
		return;
	family(w, name, "gauge", help);
	line(w, name, "", value);
}

/* ---- by host ---- */

enum sum_kind { SUM_ALL, SUM_LEAST };

static int by_host(const void *left, const void *right)
{
	const struct fleet_rank *a = *(struct fleet_rank *const *)left,
				*b = *(struct fleet_rank *const *)right;
	const int order = strcmp(a->host, b->host);

	return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* A figure of the ranks at `offset`, for each host. */
static void hosts(struct writer *w, struct fleet_rank *const *ranks, const char *name, const char *more,
	size_t offset, enum sum_kind kind)
{
	const size_t count = w->of->fleet->count;

	for (size_t first = 0, end; first < count; first = end) {
		double value = kind == SUM_LEAST ? INFINITY : 0;

		for (end = first; end < count && strcmp(ranks[end]->host, ranks[first]->host) == 0; end++) {
			const double figure = ranks[end]->known
						      ? *(const double *)((const char *)ranks[end] + offset)
						      : NAN;

			value = kind == SUM_ALL ? value + figure : isnan(figure) ? NAN : fmin(value, figure);
		}
		line(w, name,
			arena_format(&w->arena, ",host=\"%s\"%s",
				prometheus_value(&w->arena, ranks[first]->host), more),
			value);
	}
}

#define RANK(figure) offsetof(struct fleet_rank, figure)

static void host_figures(struct writer *w)
{
	static const char *const classes[] = {
		",class=\"kernel\"", ",class=\"communication\"", ",class=\"copy\""};
	const struct fleet *fleet = w->of->fleet;
	struct fleet_rank **ranks = mem_alloc(fleet->count, sizeof(struct fleet_rank *));

	memcpy(ranks, fleet->ranks, fleet->count * sizeof(struct fleet_rank *));
	qsort(ranks, fleet->count, sizeof(struct fleet_rank *), by_host);
	family(w, "steps_total", "counter", "Steps that have ended, of the host's rank with the fewest.");
	hosts(w, ranks, "steps_total", "", RANK(steps), SUM_LEAST);
	family(w, "calls_total", "counter", "Calls that were recorded, of the host's ranks together.");
	hosts(w, ranks, "calls_total", "", RANK(calls), SUM_ALL);
	family(w, "communication_calls_total", "counter",
		"Calls of communication that have returned, of the host's ranks together.");
	hosts(w, ranks, "communication_calls_total", "", RANK(communications), SUM_ALL);
	family(w, "lost_records_total", "counter", "Records that are missing in the traces.");
	hosts(w, ranks, "lost_records_total", "", RANK(lost), SUM_ALL);
	family(w, "device_seconds_total", "counter",
		"Time of the devices in kernels, communication and copies, where it was taken, summed over the host's ranks.");
	for (size_t i = 0; i < 3; i++)
		hosts(w, ranks, "device_seconds_total", classes[i], RANK(device_s) + i * sizeof(double),
			SUM_ALL);
	family(w, "timed_steps_total", "counter",
		"Steps in which device times were taken, of the host's rank with the fewest.");
	hosts(w, ranks, "timed_steps_total", "", RANK(timed_steps), SUM_LEAST);
	free(ranks);
}

/* ---- by rank ---- */

static const char *rank_label(struct writer *w, const struct fleet_rank *rank)
{
	const char *host = prometheus_value(&w->arena, rank->host);

	if (rank->rank < 0)
		return arena_format(&w->arena, ",host=\"%s\",rank=\"pid %" PRIu32 "\"", host, rank->pid);
	return arena_format(&w->arena, ",host=\"%s\",rank=\"%d\"", host, rank->rank);
}

static void ranks_of(struct writer *w, const char *name, const char *type, const char *help, size_t offset)
{
	const struct fleet *fleet = w->of->fleet;

	family(w, name, type, help);
	for (size_t i = 0; i < fleet->count; i++)
		if (fleet->ranks[i]->known)
			line(w, name, rank_label(w, fleet->ranks[i]),
				*(const double *)((const char *)fleet->ranks[i] + offset));
}

static void rank_figures(struct writer *w)
{
	ranks_of(w, "rank_steps_total", "counter", "Steps of the rank that have ended.", RANK(steps));
	ranks_of(w, "rank_step_seconds", "gauge", "Time of a step of the rank, median of the last 20.",
		RANK(step_s));
	ranks_of(w, "rank_compute_seconds", "gauge", "Time of the rank's device in kernels in a step.",
		RANK(compute_s));
}

/* ---- the job ---- */

static void states(struct writer *w)
{
	const struct fleet *fleet = w->of->fleet;

	family(w, "ranks", "gauge",
		"Ranks by state: running, ended in order, gone without an end, absent: without a trace.");
	line(w, "ranks", ",state=\"running\"", (double)fleet->running);
	line(w, "ranks", ",state=\"ended\"", (double)fleet->ended);
	line(w, "ranks", ",state=\"gone\"", (double)fleet->gone);
	line(w, "ranks", ",state=\"absent\"", (double)fleet->absent);
}

static void straggler(struct writer *w)
{
	const struct fleet *fleet = w->of->fleet;

	single(w, "job_compute_imbalance", "Kernel time of a step, of the slowest rank over the mean of all.",
		fleet->imbalance);
	if (isnan(fleet->imbalance) || fleet->imbalance < w->of->straggler)
		return;
	family(w, "straggler", "gauge",
		"The rank whose kernels take longest, over the mean, where that is much.");
	line(w, "straggler", rank_label(w, fleet->ranks[fleet->slowest]), fleet->imbalance);
}

static void hang(struct writer *w)
{
	const struct exposition_hang *found = w->of->hang;

	family(w, "hang", "gauge",
		"1: no rank moves, and why; by class and strength, a series for each culprit.");
	if (!found || !found->class_key) {
		line(w, "hang", "", 0);
		return;
	}
	for (size_t i = 0; i < found->rank_count; i++)
		line(w, "hang",
			arena_format(&w->arena, ",class=\"%s\",strength=\"%s\",rank=\"%s\",host=\"%s\"",
				found->class_key, found->strength,
				prometheus_value(&w->arena, found->ranks[i]),
				prometheus_value(&w->arena, found->hosts[i])),
			1);
	if (found->rank_count == 0)
		line(w, "hang",
			arena_format(&w->arena, ",class=\"%s\",strength=\"%s\"", found->class_key,
				found->strength),
			1);
}

static void job(struct writer *w)
{
	const struct fleet *fleet = w->of->fleet;

	w->base = arena_format(&w->arena, "%s%sjob=\"%s\",attempt=\"%u\"", w->of->labels,
		*w->of->labels ? "," : "", prometheus_value(&w->arena, w->of->job), fleet->attempt);
	states(w);
	single(w, "step_seconds", "Time of a step: median over ranks of the medians of their last 20.",
		fleet->step_s);
	single(w, "step_compute_seconds", "Time of the devices in kernels in a step, mean over ranks.",
		fleet->compute_s);
	single(w, "still_seconds", "Since any rank that runs was last seen to make calls or end a step.",
		fleet->still_s);
	straggler(w);
	hang(w);
	host_figures(w);
	if (w->of->ranks)
		rank_figures(w);
}

void exposition_write(const struct exposition *exposition, FILE *out)
{
	struct writer w = {.of = exposition, .base = exposition->labels, .out = out};

	family(&w, "agent_looks_total", "counter", "Looks that the agent has taken.");
	line(&w, "agent_looks_total", "", exposition->looks);
	family(&w, "agent_look_seconds", "gauge", "How long its last look took.");
	line(&w, "agent_look_seconds", "", exposition->look_s);
	if (exposition->fleet)
		job(&w);
	arena_free(&w.arena);
}
