/*
 * Evaluation between iterations: forward work without an update. No step has it, so it gains none; but a run
 * can spend much of its time there, which the time of a step does not show. And within them, as where a full
 * batch is trained and evaluated in each: there the step has it as other work.
 */
#include "finding_make.h"
#include "analyses/why.h"
#include "analyses/without_gradients.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

struct evaluation {
	size_t count;     /* stretches of it */
	int64_t time_ns;  /* in all */
	int64_t whole_ns; /* what was recorded, and read, from the first iteration to the end of the last, or
			     of the evaluation after it; of chosen steps: from the first to the last */
};

static struct evaluation evaluation_of(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct iteration_list *list = &worker->iterations;
	const bool is_chosen = analysis->is_chosen && worker->used_count > 0;
	struct evaluation evaluation = {0};
	int64_t begin_ns, end_ns;

	if (list->count == 0)
		return evaluation;
	begin_ns = list->items[is_chosen ? worker->used[0] : 0].begin_ns;
	end_ns = list->items[is_chosen ? worker->used[worker->used_count - 1] : list->count - 1].end_ns;
	for (size_t i = 0; i < list->gap_count; i++) {
		const struct iteration_gap *gap = &list->gaps[i];

		if (gap->kind != ITERATION_EVALUATION || gap->begin_ns < begin_ns ||
			(is_chosen && gap->begin_ns >= end_ns))
			continue;
		evaluation.count++;
		evaluation.time_ns += gap->end_ns - gap->begin_ns;
		end_ns = gap->end_ns > end_ns ? gap->end_ns : end_ns;
	}
	evaluation.whole_ns = timeline_recorded(&analysis->timeline,
		&analysis->timeline.processes[worker->worker->process], begin_ns, end_ns);
	return evaluation;
}

static enum finding_strength strength_of(const struct finding_list *list)
{
	return list->step.confidence < RUN_SURE ? FINDING_WEAK : FINDING_LIKELY;
}

/* What a step has that goes forward and nothing goes back through, by who says what it is. */
static const struct within {
	enum layer_why rule;
	const char *subject, *title, *text, *advice;
} withins[] = {
	{LAYER_WHY_EVALUATION, "a step's evaluation", "Evaluation",
		"The model runs forward and no backward pass follows",
		"evaluate less often, and without gradients"},
	{LAYER_WHY_FROZEN, "a step's frozen forward",
		"Forward work without gradients, of modules that are not trained,",
		"PyTorch records no gradients there, and these modules are not trained: a teacher, or a frozen part",
		"compute its results once and cache them where its inputs repeat; use lower precision, as it needs no gradients"},
	{LAYER_WHY_NO_GRADIENTS, "a step's forward without gradients",
		"Forward work without gradients, of modules that are trained too,",
		"PyTorch records no gradients there, but does elsewhere in the step: an evaluation or a rollout",
		"if it is an evaluation: less often; if it is a rollout: larger batches, lower precision"},
};

/* How long the device of a worker works in a step for it. */
static double within_step(
	const struct analysis *analysis, const struct analysis_worker *worker, enum layer_why rule)
{
	struct why why;
	double time_ns = 0;

	if (worker->used_count == 0 || worker->layers.iteration >= worker->iterations.count)
		return 0;
	why_find(analysis, worker, &why);
	for (size_t i = 0; i < why.phases.count; i++)
		if (why.phases.items[i].says == rule)
			time_ns += why.phases.items[i].time_ns;
	why_free(&why);
	return time_ns;
}

/* Of the rank that has least of it. */
static void find_within(struct finding_list *list, const struct within *within)
{
	struct arena *arena = &list->arena;
	const struct analysis *analysis = list->analysis;
	double least_ns = INFINITY, forward_ns;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		least_ns = fmin(
			least_ns, within_step(list->analysis, &list->analysis->workers[w], within->rule));
	if (!isfinite(least_ns) || least_ns < FINDING_LEAST * list->step.mean_ns)
		return;
	forward_ns =
		least_ns +
		analysis_phase(analysis->workers, analysis->worker_count, PHASE_FORWARD, ANALYSIS_BUSY).mean;
	finding_add(list,
		(struct finding){.kind = FINDING_EVALUATION,
			.strength = strength_of(list),
			.subject = within->subject,
			.title = arena_format(arena,
				"%s takes %s of the devices' time in each step (%.0f%% of it)", within->title,
				print_time(arena, least_ns), 100 * least_ns / list->step.mean_ns),
			.text = arena_format(arena,
				"%s; of forward work in all it is %.0f%%, and it is counted as \"other\"",
				within->text, 100 * least_ns / forward_ns),
			.advice = within->advice,
			.worker = SIZE_MAX,
			.gain_ns = NAN,
			.lost_ns = NAN});
}

/* ---- Of other profilers' traces, where the operators say it ---- */

/* Of the rank that has least of it. */
static void find_given(struct finding_list *list)
{
	struct arena *arena = &list->arena;
	struct without_gradients least = {0, INFINITY};

	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		const struct without_gradients own =
			without_gradients_of(list->analysis, &list->analysis->workers[w]);

		if (own.without_ns < least.without_ns)
			least = own;
	}
	if (!isfinite(least.without_ns) || least.without_ns < FINDING_LEAST * list->step.mean_ns)
		return;
	finding_add(list,
		(struct finding){.kind = FINDING_EVALUATION,
			.strength = strength_of(list),
			.subject = "a step's forward without gradients",
			.title = arena_format(arena,
				"Forward work without gradients takes %.0f%% of the forward work",
				100 * least.without_ns / least.forward_ns),
			.text = arena_format(arena,
				"%s of %s a step (%.0f%% of the step) are in operators without a sequence number, which "
				"PyTorch gives where it records gradients: a teacher, a frozen part, an evaluation or a "
				"rollout; it counts to forward, and nothing goes back through it",
				print_time(arena, least.without_ns), print_time(arena, least.forward_ns),
				100 * least.without_ns / list->step.mean_ns),
			.advice =
				"compute a teacher's results once and keep them, where its inputs come again; lower precision, as "
				"nothing goes back through it; evaluate less often",
			.worker = SIZE_MAX,
			.gain_ns = NAN,
			.lost_ns = NAN});
}

/* What forward work between iterations is for, by the names that the program has around it. */
static const struct purpose {
	const char *words[4];
	const char *subject, *title, *advice;
} purposes[] = {
	{{"eval", "valid"}, "evaluation", "Evaluation takes %.0f%% of the time, outside of steps",
		"evaluate less often or on fewer samples, without gradients and with larger batches"},
	{{"rollout", "generate", "explore", "collect_"}, "rollout",
		"Rollouts take %.0f%% of the time, outside of steps",
		"generate more samples at once, in lower precision or with CUDA graphs; a rollout cannot be made less often"},
	{{NULL}, "forward without an update",
		"Forward work without an update takes %.0f%% of the time, outside of steps",
		"if it is an evaluation: less often or on fewer samples; if it is a rollout: more samples at once and lower precision; either without gradients"},
};

#define PURPOSES (sizeof(purposes) / sizeof(*purposes))

/* At the start of a word: a retrieval is no "eval". */
static bool has_word(const char *text, const char *word)
{
	for (const char *at = text; (at = strcasestr(at, word)); at++)
		if (at == text || !isalpha((unsigned char)at[-1]))
			return true;
	return false;
}

static void count_words(const char *text, size_t *counts)
{
	for (size_t p = 0; text && p + 1 < PURPOSES; p++)
		for (size_t w = 0; w < 4 && purposes[p].words[w]; w++)
			if (has_word(text, purposes[p].words[w])) {
				counts[p]++;
				break;
			}
}

/* Calls of the gap by what the functions around them are called; frames of others' profilers count, too. */
static void count_gap(const struct analysis *analysis, const struct analysis_worker *worker,
	const struct iteration_gap *gap, size_t *counts)
{
	const struct timeline *timeline = &analysis->timeline;
	const struct timeline_process *process = &timeline->processes[worker->worker->process];
	size_t first =
		worker_find(timeline, worker->worker->calls, worker->worker->call_count, gap->begin_ns);

	for (size_t i = first; i < first + gap->call_count && i < worker->worker->call_count; i++) {
		const struct timeline_operation *operation =
			&timeline->operations[TIMELINE_CALL(timeline, worker->worker->calls[i])->operation];

		count_words(operation->outermost ? operation->outermost : operation->site, counts);
	}
	for (size_t i = 0; i < process->frame_count; i++) {
		const struct timeline_frame *frame = &timeline->frames[process->first_frame + i];

		if (frame->begin_ns < gap->end_ns && frame->end_ns > gap->begin_ns)
			count_words(timeline->strings[frame->name], counts);
	}
}

static const struct purpose *purpose_of(const struct analysis *analysis, const struct analysis_worker *worker)
{
	size_t counts[PURPOSES] = {0};

	for (size_t i = 0; i < worker->iterations.gap_count; i++)
		if (worker->iterations.gaps[i].kind == ITERATION_EVALUATION)
			count_gap(analysis, worker, &worker->iterations.gaps[i], counts);
	return counts[0] > counts[1]   ? &purposes[0]
	       : counts[1] > counts[0] ? &purposes[1]
				       : &purposes[PURPOSES - 1];
}

/* Of the rank that evaluates least: that long all of them do. */
static void find_between(struct finding_list *list)
{
	struct arena *arena = &list->arena;
	struct evaluation least = {.time_ns = INT64_MAX};
	const struct purpose *purpose;
	double share;

	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		struct evaluation own = evaluation_of(list->analysis, &list->analysis->workers[w]);

		if (own.time_ns < least.time_ns)
			least = own;
	}
	if (least.count == 0 || least.whole_ns <= 0)
		return;
	share = (double)least.time_ns / (double)least.whole_ns;
	if (share < FINDING_LEAST)
		return;
	purpose = purpose_of(list->analysis, &list->analysis->workers[0]);
	finding_add(
		list, (struct finding){.kind = FINDING_EVALUATION,
			      .strength = strength_of(list),
			      .subject = purpose->subject,
			      .title = arena_format(arena, purpose->title, 100 * share),
			      .text = arena_format(arena,
				      "%zu stretch%s of forward work without an update take%s %s of %s %s",
				      least.count, least.count == 1 ? "" : "es", least.count == 1 ? "s" : "",
				      print_time(arena, (double)least.time_ns),
				      print_time(arena, (double)least.whole_ns),
				      list->analysis->is_chosen ? "from the first of these steps to the last"
								: "from the first iteration on"),
			      .basis = arena_format(arena, "%zu stretch%s, %s", least.count,
				      least.count == 1 ? "" : "es", finding_ranks(list)),
			      .advice = purpose->advice,
			      .worker = SIZE_MAX,
			      .gain_ns = NAN,
			      .lost_ns = NAN});
}

void finding_evaluation(struct finding_list *list)
{
	for (size_t i = 0; i < sizeof(withins) / sizeof(*withins); i++)
		find_within(list, &withins[i]);
	find_given(list);
	find_between(list);
}
