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

/* The rank that most of the outliers' waiting is for, if they wait for that long: SIZE_MAX: none. */
static size_t waited_for(const struct finding_list *list, double each_ns)
{
	const double others = (double)list->analysis->worker_count - 1;
	double most_ns = 0;
	size_t most = SIZE_MAX;

	for (size_t w = 0; others > 0 && w < list->analysis->worker_count; w++) {
		double ns = 0;

		for (size_t i = 0; i < list->step.used; i++)
			if (list->step.outlier[i])
				ns += list->balance.ranks[w].each_ns[i];
		if (ns > most_ns) {
			most_ns = ns;
			most = w;
		}
	}
	return most_ns / others / (double)list->step.outlier_count >= each_ns / 2 ? most : SIZE_MAX;
}

/* `each_ns`: how much longer an outlier takes, mean. */
static const char *late_text(struct finding_list *list, double each_ns, const char **advice)
{
	size_t worker = waited_for(list, each_ns);
	struct finding_late late;

	if (worker == SIZE_MAX)
		return NULL;
	late = finding_late(list, worker, true, each_ns);
	*advice = late.advice ? late.advice : *advice;
	return arena_format(&list->arena, "in %s the other ranks wait for %s%s%s",
		list->step.outlier_count == 1 ? "it" : "them",
		analysis_worker_name(list->analysis, &list->analysis->workers[worker]),
		late.text ? ": " : ", for no reason that its own time shows", late.text ? late.text : "");
}

/* `each_ns`: how much longer an outlier takes, mean. */
static const char *difference_text(struct finding_list *list, double each_ns)
{
	struct arena *arena = &list->arena;
	const struct host_call *call = NULL;
	double most_ns = 0, call_ns = 0;
	int most = PHASE_IDLE_UNKNOWN;
	const char *in = list->step.outlier_count == 1 ? "it" : "them";
	const char *each = list->step.outlier_count == 1 ? "" : " each";

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
		return arena_format(arena, "in %s the GPU is idle for %s more%s while the host is in %s", in,
			print_time(arena, call_ns), each, print_clean(arena, call->name));
	return arena_format(arena, "in %s \"%s\" takes %s more%s", in, phase_titles[most],
		print_time(arena, most_ns), each);
}

void finding_outliers(struct finding_list *list)
{
	const struct step *step = &list->step;
	struct arena *arena = &list->arena;
	const char *advice = "look at one of them: pmanalyze export, and its timeline", *late = NULL;
	double all_ns = 0, time_ns = 0, greatest_ns = 0, gain_ns, each_ns;
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
	each_ns = (time_ns - (double)count * step->typical_ns) / (double)count;
	if (!list->job)
		late = late_text(list, each_ns, &advice);
	finding_add(list,
		(struct finding){.kind = FINDING_OUTLIERS,
			.strength = count < 3 ? FINDING_LIKELY : finding_measured(list),
			.subject = "outliers",
			.title = arena_format(arena, "%zu of %zu iterations take%s over %.1f× the median",
				count, step->used, count == 1 ? "s" : "", STEP_OUTLIER),
			.text = arena_format(arena,
				"%s %.0f%% of the time of all; the longest takes %.1f× the median; %s",
				count == 1 ? "It has" : "They have", 100 * time_ns / all_ns,
				greatest_ns / step->median_ns, late ? late : difference_text(list, each_ns)),
			.advice = advice,
			.worker = SIZE_MAX,
			.gain_ns = gain_ns,
			.lost_ns = gain_ns});
}
