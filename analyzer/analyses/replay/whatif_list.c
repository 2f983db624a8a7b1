/* The changes that are worth asking for, and what each would bring. See whatif.h. */
#include "whatif.h"
#include "base/table.h"
#include "import/imported_timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TASKS 500000 /* replayed by default: half a second for each hundred questions */

bool whatif_has_peers(const struct analysis *analysis, size_t worker)
{
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (w != worker && analysis->workers[w].stage == analysis->workers[worker].stage)
			return true;
	return false;
}

size_t whatif_most(const struct analysis *analysis)
{
	double calls = 0;
	size_t count = replay_iterations(analysis);

	for (size_t w = 0; w < analysis->worker_count && count > 0; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		const struct iteration *items = worker->iterations.items;

		for (size_t i = 0; i < count; i++)
			calls += (double)(items[worker->used[i]].call_end -
					  items[worker->used[i]].first_call) /
				 (double)count;
	}
	/* A call is two tasks, or three with communication. */
	return calls > 0 && MOST_TASKS / (2.5 * calls) > 8 ? (size_t)(MOST_TASKS / (2.5 * calls)) : 8;
}

static int compare_results(const void *left, const void *right)
{
	const struct whatif_result *a = left, *b = right;

	if (a->gain_ns != b->gain_ns)
		return a->gain_ns > b->gain_ns ? -1 : 1;
	if (a->change.kind != b->change.kind)
		return a->change.kind < b->change.kind ? -1 : 1;
	return a->change.layer < b->change.layer ? -1 : a->change.layer > b->change.layer;
}

static void add_result(
	struct whatif_list *list, const struct whatif_change *change, double bound_ns, double replayed_ns)
{
	double gain_ns = fmin(list->settled_ns - replayed_ns, bound_ns);
	double predicted_ns = list->replayed_ns - gain_ns;

	*MEM_PUSH(list->items, list->count, list->room) =
		(struct whatif_result){*change, predicted_ns, gain_ns, list->replayed_ns / predicted_ns};
}

static void ask(struct whatif *whatif, const struct balance *balance, const struct whatif_change *change,
	struct whatif_list *list)
{
	whatif_reset(whatif);
	whatif_apply(whatif, change);
	add_result(list, change, whatif_bound(whatif->job->analysis, balance, change), whatif_run(whatif));
}

/* What was measured, and the replay of the same. */
static void begin_list(const struct analysis *analysis, const struct replay_job *job, struct whatif *whatif,
	struct whatif_list *list)
{
	int64_t *ends_ns = mem_alloc(job->replay.task_count, sizeof(*ends_ns));

	for (size_t i = 0; i < job->replay.task_count; i++)
		ends_ns[i] = job->replay.tasks[i].end_ns;
	list->measured_ns = replay_mean(job, ends_ns, false);
	free(ends_ns);
	list->settled_ns = whatif_run(whatif);
	list->replayed_ns = replay_mean(job, whatif->end_ns, false);
	list->iteration_count = job->iteration_count;
	list->used_count = replay_iterations(analysis);
	list->meeting_count = job->meeting_count;
	list->recorded_waits = job->recorded_waits;
	list->inferred_waits = job->inferred_waits;
	list->negative_count = job->negative_count;
	list->cycle_count = job->cycle_count;
}

static double balanced(struct whatif *whatif, enum whatif_kind kind)
{
	whatif_reset(whatif);
	whatif_apply(whatif, &(struct whatif_change){.kind = kind});
	return whatif_run(whatif);
}

static void find_slowdown(struct whatif *whatif, struct whatif_list *list)
{
	list->slowdown = list->settled_ns / balanced(whatif, WHATIF_BALANCE);
	list->slowdown_stages = whatif->job->analysis->stage_count > 1
					? list->settled_ns / balanced(whatif, WHATIF_STAGES)
					: list->slowdown;
}

/* Of another job, since its tasks wait for others than this one's. */
static void ask_overlap(
	const struct replay_job *as_it_is, const struct balance *balance, struct whatif_list *list)
{
	const struct whatif_change change = {.kind = WHATIF_OVERLAP};
	struct replay_job job;
	struct whatif whatif;

	replay_job_copy(as_it_is, &job);
	whatif_overlap(&job);
	whatif_init(&whatif, &job);
	add_result(list, &change, whatif_bound(job.analysis, balance, &change), whatif_run(&whatif));
	whatif_free(&whatif);
	replay_job_free(&job);
}

/* Layers of which computing times are known: not those inside a graph that is timed as a whole. */
static bool *list_timed(const struct replay_job *job)
{
	bool *timed = mem_alloc(job->layer_count, sizeof(*timed));

	for (size_t i = 0; i < job->replay.task_count; i++) {
		if (job->works[i].kind != REPLAY_DEVICE || job->works[i].phase == PHASE_COMMUNICATION)
			continue;
		for (uint32_t p = job->works[i].part; p != REPLAY_NONE; p = job->parts[p].next)
			timed[job->parts[p].layer] = true;
	}
	return timed;
}

static bool has_work(const struct replay_job *job, enum phase phase)
{
	for (size_t w = 0; w < job->analysis->worker_count; w++)
		if (analysis_phase(&job->analysis->workers[w], 1, phase, ANALYSIS_BUSY).mean > 0)
			return true;
	return false;
}

void whatif_standard(struct replay_job *job, double factor, struct whatif_list *list)
{
	const struct analysis *analysis = job->analysis;
	struct balance balance;
	struct whatif whatif;
	bool *timed;

	*list = (struct whatif_list){.slowdown = NAN, .slowdown_stages = NAN};
	if (job->iteration_count == 0)
		return;
	balance_find(analysis, &balance);
	whatif_init(&whatif, job);
	begin_list(analysis, job, &whatif, list);
	timed = list_timed(job);
	for (uint32_t l = 0; l < job->layer_count; l++)
		if (timed[l])
			ask(&whatif, &balance,
				&(struct whatif_change){.kind = WHATIF_LAYER, .layer = l, .factor = factor},
				list);
	free(timed);
	ask(&whatif, &balance, &(struct whatif_change){.kind = WHATIF_HOST}, list);
	if (has_work(job, PHASE_IO) || has_work(job, PHASE_H2D) || has_work(job, PHASE_MD))
		ask(&whatif, &balance, &(struct whatif_change){.kind = WHATIF_INPUT}, list);
	if (has_work(job, PHASE_COMMUNICATION))
		ask(&whatif, &balance,
			&(struct whatif_change){.kind = WHATIF_COMMUNICATION, .factor = factor}, list);
	for (uint32_t w = 0; w < analysis->worker_count; w++)
		if (whatif_has_peers(analysis, w))
			ask(&whatif, &balance, &(struct whatif_change){.kind = WHATIF_RANK, .worker = w},
				list);
	find_slowdown(&whatif, list);
	if (analysis->worker_count > analysis->stage_count)
		ask(&whatif, &balance, &(struct whatif_change){.kind = WHATIF_BALANCE}, list);
	if (analysis->stage_count > 1)
		ask(&whatif, &balance, &(struct whatif_change){.kind = WHATIF_STAGES}, list);
	whatif_reset(&whatif);
	whatif_free(&whatif);
	if (has_work(job, PHASE_COMMUNICATION))
		ask_overlap(job, &balance, list);
	qsort(list->items, list->count, sizeof(*list->items), compare_results);
	balance_free(&balance);
}

void whatif_together(const struct analysis *analysis, size_t most, const struct whatif_change *changes,
	size_t count, struct whatif_list *list)
{
	struct replay_job job;
	struct balance balance;
	struct whatif whatif;
	bool overlap = false;

	*list = (struct whatif_list){.slowdown = NAN, .slowdown_stages = NAN};
	replay_build(analysis, most, &job);
	if (job.iteration_count > 0) {
		whatif_init(&whatif, &job);
		begin_list(analysis, &job, &whatif, list);
		find_slowdown(&whatif, list);
		whatif_free(&whatif);
		whatif_reset(&(struct whatif){.job = &job});
		balance_find(analysis, &balance);
		for (size_t i = 0; i < count; i++)
			overlap |= changes[i].kind == WHATIF_OVERLAP;
		if (overlap)
			whatif_overlap(&job);
		whatif_init(&whatif, &job);
		for (size_t i = 0; i < count; i++)
			if (changes[i].kind != WHATIF_OVERLAP)
				whatif_apply(&whatif, &changes[i]);
		add_result(list, &changes[0],
			count == 1 ? whatif_bound(analysis, &balance, &changes[0]) : INFINITY,
			whatif_run(&whatif));
		balance_free(&balance);
		whatif_free(&whatif);
	}
	replay_job_free(&job);
}

void whatif_list_free(struct whatif_list *list)
{
	free(list->items);
	memset(list, 0, sizeof(*list));
}

double whatif_slowdown(const struct analysis *analysis, double *stages)
{
	struct whatif_list list = {.slowdown = NAN, .slowdown_stages = NAN};
	struct replay_job job;
	struct whatif whatif;

	if (stages)
		*stages = NAN;
	if (imported_timeline_is_labels(&analysis->timeline))
		return NAN;
	replay_build(analysis, whatif_most(analysis), &job);
	if (job.iteration_count > 0) {
		whatif_init(&whatif, &job);
		list.settled_ns = whatif_run(&whatif);
		find_slowdown(&whatif, &list);
		whatif_free(&whatif);
	}
	replay_job_free(&job);
	if (stages)
		*stages = list.slowdown_stages;
	return list.slowdown;
}

const char *whatif_words(
	struct analysis *analysis, const struct replay_job *job, const struct whatif_change *change)
{
	struct arena *arena = &analysis->timeline.arena;

	switch (change->kind) {
	case WHATIF_LAYER:
		return arena_format(arena, "%s %g× as fast",
			print_clean(arena, layer_title(job->layers[change->layer].layer)), change->factor);
	case WHATIF_COMMUNICATION:
		return arena_format(arena, "communication %g× as fast", change->factor);
	case WHATIF_OVERLAP:
		return "communication hidden";
	case WHATIF_HOST:
		return "zero launch time";
	case WHATIF_INPUT:
		return "zero wait for the batch";
	case WHATIF_BALANCE:
		return "all ranks balanced";
	case WHATIF_STAGES:
		return "all stages and ranks balanced";
	default:
		return arena_format(arena, "%s like other ranks",
			analysis_worker_name(analysis, &analysis->workers[change->worker]));
	}
}
