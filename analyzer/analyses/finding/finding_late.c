/*
 * What a rank that the others wait for now and then does meanwhile: what of its time there is more of than on
 * the other ranks, or than in its typical iterations.
 */
#include "finding_make.h"
#include "analyses/host_habit.h"
#include "analyses/without_gradients.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <string.h>

/* Idle time of a rank's device in a call, in no call, or work of a phase. */
struct more {
	double ns;
	const struct host_call *call; /* NULL: in none */
	bool outside;
	enum phase phase; /* of neither */
};

static void finding_late_take(struct more *most, struct more more)
{
	if (more.ns > most->ns)
		*most = more;
}

/* In the outliers, as far as typical iterations do not have it. */
static struct more more_in_outliers(const struct finding_list *list, size_t worker)
{
	const struct host_calls *calls = &list->calls[worker];
	const struct analysis_worker *from = &list->analysis->workers[worker];
	struct more most = {0};

	for (size_t i = 0; i < calls->count; i++)
		finding_late_take(
			&most, (struct more){calls->items[i].outlier_ns - calls->items[i].typical_ns,
				       &calls->items[i], false, PHASE_OTHER});
	finding_late_take(&most, (struct more){calls->outside.outlier_ns - calls->outside.typical_ns, NULL,
					 true, PHASE_OTHER});
	for (int phase = 0; phase < PHASE_WORK_COUNT; phase++) {
		double ns = 0;

		for (size_t i = 0; i < list->step.used; i++)
			if (list->step.outlier[i])
				ns += (double)from->phases.times[from->used[i]].exclusive_ns[phase];
		if (phase != PHASE_COMMUNICATION)
			finding_late_take(
				&most, (struct more){ns / (double)list->step.outlier_count -
							     finding_phase(list, worker, (enum phase)phase),
					       NULL, false, (enum phase)phase});
	}
	return most;
}

static double idle_of(const struct host_calls *calls, const char *name)
{
	for (size_t i = 0; i < calls->count; i++)
		if (strcmp(calls->items[i].name, name) == 0)
			return calls->items[i].idle_ns;
	return 0;
}

static double phase_mean(const struct finding_list *list, size_t worker, int phase)
{
	double ns = analysis_phase(&list->analysis->workers[worker], 1, (enum phase)phase, ANALYSIS_EXCLUSIVE)
			    .mean;

	return isfinite(ns) ? ns : 0;
}

/* Mean over the other workers. */
static double of_others(const struct finding_list *list, size_t worker, const char *call, int phase)
{
	double sum_ns = 0;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		if (w != worker)
			sum_ns += call                   ? idle_of(&list->calls[w], call)
				  : phase == PHASE_COUNT ? list->calls[w].outside_ns
							 : phase_mean(list, w, phase);
	return sum_ns / (double)(list->analysis->worker_count - 1);
}

/* Over all iterations, as far as the other ranks do not have it. */
static struct more more_than_others(const struct finding_list *list, size_t worker)
{
	const struct host_calls *calls = &list->calls[worker];
	struct more most = {0};

	for (size_t i = 0; i < calls->count; i++) {
		const struct host_call *call = &calls->items[i];

		finding_late_take(&most, (struct more){call->idle_ns - of_others(list, worker, call->name, 0),
						 call, false, PHASE_OTHER});
	}
	finding_late_take(&most, (struct more){calls->outside_ns - of_others(list, worker, NULL, PHASE_COUNT),
					 NULL, true, PHASE_OTHER});
	for (int phase = 0; phase < PHASE_WORK_COUNT; phase++)
		if (phase != PHASE_COMMUNICATION)
			finding_late_take(&most, (struct more){phase_mean(list, worker, phase) -
								       of_others(list, worker, NULL, phase),
							 NULL, false, (enum phase)phase});
	return most;
}

static const char *place_text(
	struct finding_list *list, const struct host_calls *calls, const char *place, double share)
{
	if (!place || calls->by_sites || share < MOSTLY)
		return "";
	return arena_format(
		&list->arena, ", %.0f%% of it in %s", 100 * share, print_clean(&list->arena, place));
}

static struct finding_late say(struct finding_list *list, size_t worker, const struct more *more)
{
	const struct host_calls *calls = &list->calls[worker];
	const char *time = print_time(&list->arena, more->ns);
	struct arena *arena = &list->arena;
	const struct host_habit *habit;

	if (more->call)
		return (struct finding_late){more->ns,
			arena_format(arena,
				"its device has no work for %s more each while the host is in %s%s", time,
				print_clean(arena, more->call->name),
				place_text(list, calls, more->call->place, more->call->place_share)),
			host_call_advice(more->call->name)};
	if (!more->outside)
		return (struct finding_late){more->ns,
			arena_format(arena, "it has %s more of \"%s\" each", time, phase_titles[more->phase]),
			NULL};
	habit = calls->by_sites || calls->outside_share < MOSTLY ? NULL : host_habit_of(calls->outside_place);
	return (struct finding_late){more->ns,
		arena_format(arena,
			"its device has no work for %s more each while the host is in no call%s%s", time,
			place_text(list, calls, calls->outside_place, calls->outside_share),
			habit ? arena_format(arena, " (%s)", habit->title) : ""),
		habit ? habit->advice : NULL};
}

/* What the others wait for in an outlier may be in the step before it, which is no usual one of this rank. */
static struct finding_late late_by_evaluation(struct finding_list *list, size_t worker, double least_ns)
{
	const struct analysis_worker *of = &list->analysis->workers[worker];
	double ns = 0;

	for (size_t i = 0; i < list->step.used; i++)
		if (list->step.outlier[i])
			ns += without_gradients_before(list->analysis, of, of->used[i]) /
			      (double)list->step.outlier_count;
	if (!(ns > 0 && ns >= MOSTLY * least_ns))
		return (struct finding_late){0};
	return (struct finding_late){ns,
		arena_format(&list->arena,
			"before them it has %s of forward work without gradients each, as an evaluation, which it makes alone",
			print_time(&list->arena, ns)),
		"evaluate on all ranks, each a part of the samples, or beside training"};
}

struct finding_late finding_late(struct finding_list *list, size_t worker, bool in_outliers, double least_ns)
{
	struct more more = in_outliers ? more_in_outliers(list, worker) : more_than_others(list, worker);

	if (more.ns > 0 && more.ns >= MOSTLY * least_ns)
		return say(list, worker, &more);
	return in_outliers ? late_by_evaluation(list, worker, least_ns) : (struct finding_late){0};
}

/* The rank that causes most of the waiting in an iteration, as far as any does. */
static size_t last_in(const struct finding_list *list, size_t iteration)
{
	size_t most = 0;

	for (size_t w = 1; w < list->analysis->worker_count; w++)
		if (list->balance.ranks[w].each_ns[iteration] > list->balance.ranks[most].each_ns[iteration])
			most = w;
	return most;
}

static double outside_of(const struct finding_list *list, size_t worker, size_t iteration)
{
	const double *each_ns = list->calls[worker].outside_each_ns;

	return each_ns ? each_ns[iteration] : 0;
}

/* How much longer its host is in no call, in the iteration, than the host that is so for least. */
static double outside_more(const struct finding_list *list, size_t worker, size_t iteration)
{
	double least_ns = INFINITY;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		least_ns = fmin(least_ns, outside_of(list, w, iteration));
	return outside_of(list, worker, iteration) - least_ns;
}

struct finding_late finding_late_in_turn(struct finding_list *list)
{
	const double others = (double)(list->analysis->worker_count - 1);
	double waited_ns = 0, more_ns = 0, most_ns = 0;
	const struct host_calls *calls;
	const struct host_habit *habit;
	struct finding_late late = {0};
	size_t most = 0;

	for (size_t i = 0; i < list->step.used; i++) {
		size_t last = last_in(list, i);

		waited_ns += list->balance.ranks[last].each_ns[i] / others;
		more_ns += outside_more(list, last, i);
		if (outside_more(list, last, i) > most_ns) {
			most_ns = outside_more(list, last, i);
			most = last;
		}
	}
	if (!(waited_ns > 0) || more_ns < MOSTLY * waited_ns)
		return late;
	calls = &list->calls[most];
	habit = calls->by_sites || calls->outside_share < MOSTLY ? NULL : host_habit_of(calls->outside_place);
	late.more_ns = more_ns / (double)list->step.used;
	late.text = arena_format(&list->arena,
		"the rank that is late in a step has its host in no call for %s longer, on average%s%s",
		print_time(&list->arena, late.more_ns),
		place_text(list, calls, calls->outside_place, calls->outside_share),
		habit ? arena_format(&list->arena, " (%s)", habit->title) : "");
	late.advice = habit ? habit->advice : NULL;
	return late;
}
