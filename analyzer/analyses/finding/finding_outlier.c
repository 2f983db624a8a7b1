/* Iterations that take far longer than the typical one: how many, what they cost, and what is different in
 * them. */
#include "base/statistics.h"
#include "base/text.h"
#include "finding_make.h"

#include <math.h>
#include <stdlib.h>

#define OUTLIER 1.5    /* times the median */
#define LEAST_USED 5   /* iterations: of fewer none is typical */
#define MOST_SHARE 0.3 /* of the iterations: more are no outliers */

struct outliers {
	struct finding_list *list;
	double *step_ns; /* by used iteration, mean over ranks */
	size_t count;
	double excess_ns, time_ns, all_ns, greatest_ns;
	size_t worst;
};

static void list_outliers(struct outliers *outliers)
{
	const struct finding_list *list = outliers->list;
	const struct analysis *analysis = list->analysis;

	for (size_t i = 0; i < list->step.used; i++) {
		double *ns = &outliers->step_ns[i];

		for (size_t w = 0; w < analysis->worker_count; w++) {
			const struct analysis_worker *worker = &analysis->workers[w];

			*ns += (double)worker->phases.times[worker->used[i]].iteration_ns /
			       (double)analysis->worker_count;
		}
		outliers->all_ns += *ns;
		if (*ns < OUTLIER * list->step.median_ns)
			continue;
		outliers->count++;
		outliers->time_ns += *ns;
		outliers->excess_ns += *ns - list->step.median_ns;
		if (*ns > outliers->greatest_ns) {
			outliers->greatest_ns = *ns;
			outliers->worst = i;
		}
	}
}

/* How much more than typical of the phase there is in the outliers, each, mean over ranks. */
static double more_of(const struct outliers *outliers, enum phase phase)
{
	const struct finding_list *list = outliers->list;
	const struct analysis *analysis = list->analysis;
	double more_ns = 0;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		double typical_ns = finding_phase(list, w, phase);

		for (size_t i = 0; i < list->step.used; i++)
			if (outliers->step_ns[i] >= OUTLIER * list->step.median_ns)
				more_ns += (double)worker->phases.times[worker->used[i]].exclusive_ns[phase] -
					   typical_ns;
	}
	return more_ns / (double)(outliers->count * analysis->worker_count);
}

/* The call in which most of the outliers' additional idle time passes, on the first rank; NULL: in none. */
static const struct host_call *call_of(const struct outliers *outliers, double *most_ns)
{
	const struct finding_list *list = outliers->list;
	const struct host_call *best = NULL;

	*most_ns = 0;
	for (size_t c = 0; c < list->calls[0].count; c++) {
		const struct host_call *call = &list->calls[0].items[c];
		double more_ns = 0;

		for (size_t i = 0; i < list->step.used; i++)
			if (outliers->step_ns[i] >= OUTLIER * list->step.median_ns)
				more_ns += (call->each_ns[i] - call->typical_ns) / (double)outliers->count;
		if (more_ns > *most_ns) {
			*most_ns = more_ns;
			best = call;
		}
	}
	return best;
}

static const char *difference_text(const struct outliers *outliers)
{
	struct arena *arena = &outliers->list->arena;
	double each_ns = outliers->excess_ns / (double)outliers->count, most_ns = 0, call_ns;
	const struct host_call *call;
	int most = PHASE_IDLE_UNKNOWN;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (more_of(outliers, (enum phase)phase) > most_ns) {
			most_ns = more_of(outliers, (enum phase)phase);
			most = phase;
		}
	if (most_ns < each_ns / 2)
		return "no single phase makes most of the difference";
	call = most >= PHASE_WORK_COUNT ? call_of(outliers, &call_ns) : NULL;
	if (call && call_ns > each_ns / 3)
		return arena_format(arena, "in them the GPU is idle for %s more each while the host is in %s",
			print_time(arena, call_ns), print_clean(arena, call->name));
	return arena_format(arena, "in them %s takes %s more each",
		most >= PHASE_OTHER ? phase_symbols[most] : phase_keys[most], print_time(arena, most_ns));
}

void finding_outliers(struct finding_list *list)
{
	struct outliers outliers = {.list = list};
	struct arena *arena = &list->arena;
	double gain_ns;

	if (list->step.used < LEAST_USED)
		return;
	outliers.step_ns = mem_alloc(list->step.used, sizeof(*outliers.step_ns));
	list_outliers(&outliers);
	gain_ns = outliers.excess_ns / (double)list->step.used;
	if (outliers.count && (double)outliers.count <= MOST_SHARE * (double)list->step.used)
		finding_add(list,
			(struct finding){.kind = FINDING_OUTLIERS,
				.strength = outliers.count < 3 ? FINDING_LIKELY : finding_measured(list),
				.subject = "outliers",
				.title = arena_format(arena,
					"%zu of %zu iterations take%s over %.1f× the median", outliers.count,
					list->step.used, outliers.count == 1 ? "s" : "", OUTLIER),
				.text = arena_format(arena,
					"They have %.0f%% of the time; the longest takes %.1f× the median; %s",
					100 * outliers.time_ns / outliers.all_ns,
					outliers.greatest_ns / list->step.median_ns,
					difference_text(&outliers)),
				.advice = "look at one of them: pmanalyze export, and its timeline",
				.worker = SIZE_MAX,
				.gain_ns = gain_ns,
				.lost_ns = gain_ns});
	free(outliers.step_ns);
}
