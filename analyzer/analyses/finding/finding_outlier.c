/* Iterations that take far longer than the others: how many, what they cost, and what is different in them.
 */
#include "base/text.h"
#include "finding_make.h"

/* How much more than typical of the phase there is in the outliers, each, mean over ranks. */
static double more_of(const struct finding_list *list, enum phase phase)
{
	const struct analysis *analysis = list->analysis;
	double more_ns = 0;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		double typical_ns = finding_phase(list, w, phase);

		for (size_t i = 0; i < list->step.used; i++)
			if (list->step.outlier[i])
				more_ns += (double)worker->phases.times[worker->used[i]].exclusive_ns[phase] -
					   typical_ns;
	}
	return more_ns / (double)(list->step.outlier_count * analysis->worker_count);
}

/* The call in which most of the outliers' additional idle time passes, on the first rank; NULL: in none. */
static const struct host_call *call_of(const struct finding_list *list, double *most_ns)
{
	const struct host_call *best = NULL;

	*most_ns = 0;
	for (size_t c = 0; c < list->calls[0].count; c++) {
		const struct host_call *call = &list->calls[0].items[c];
		double more_ns = call->outlier_ns - call->typical_ns;

		if (more_ns > *most_ns) {
			*most_ns = more_ns;
			best = call;
		}
	}
	return best;
}

/* `each_ns`: how much longer an outlier takes, mean. */
static const char *difference_text(struct finding_list *list, double each_ns)
{
	struct arena *arena = &list->arena;
	const struct host_call *call = NULL;
	double most_ns = 0, call_ns = 0;
	int most = PHASE_IDLE_UNKNOWN;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (more_of(list, (enum phase)phase) > most_ns) {
			most_ns = more_of(list, (enum phase)phase);
			most = phase;
		}
	if (most_ns < each_ns / 2)
		return "no single phase makes most of the difference";
	if (most >= PHASE_WORK_COUNT)
		call = call_of(list, &call_ns);
	if (call && call_ns > each_ns / 3)
		return arena_format(arena, "in them the GPU is idle for %s more each while the host is in %s",
			print_time(arena, call_ns), print_clean(arena, call->name));
	return arena_format(
		arena, "in them \"%s\" takes %s more each", phase_titles[most], print_time(arena, most_ns));
}

void finding_outliers(struct finding_list *list)
{
	const struct step *step = &list->step;
	struct arena *arena = &list->arena;
	double all_ns = 0, time_ns = 0, greatest_ns = 0, gain_ns;
	size_t count = step->outlier_count;

	if (count == 0)
		return;
	for (size_t i = 0; i < step->used; i++) {
		all_ns += step->each_ns[i];
		if (!step->outlier[i])
			continue;
		time_ns += step->each_ns[i];
		greatest_ns = step->each_ns[i] > greatest_ns ? step->each_ns[i] : greatest_ns;
	}
	gain_ns = (time_ns - (double)count * step->typical_ns) / (double)step->used;
	finding_add(list,
		(struct finding){.kind = FINDING_OUTLIERS,
			.strength = count < 3 ? FINDING_LIKELY : finding_measured(list),
			.subject = "outliers",
			.title = arena_format(arena, "%zu of %zu iterations take%s over %.1f× the median",
				count, step->used, count == 1 ? "s" : "", STEP_OUTLIER),
			.text = arena_format(arena,
				"%s %.0f%% of the time; the longest takes %.1f× the median; %s",
				count == 1 ? "It has" : "They have", 100 * time_ns / all_ns,
				greatest_ns / step->median_ns,
				difference_text(
					list, (time_ns - (double)count * step->typical_ns) / (double)count)),
			.advice = "look at one of them: pmanalyze export, and its timeline",
			.worker = SIZE_MAX,
			.gain_ns = gain_ns,
			.lost_ns = gain_ns});
}
