/*
 * The straggler, from summaries: the rules of cause.h and cause_peer.c, as far as summaries carry
 * what they ask for. What is compared are medians of layers, not of single operations: more work shows by a
 * larger batch alone, and recurrence by the lower quartile.
 */
#include "summaries.h"
#include "base/statistics.h"
#include "base/table.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
	struct summaries *job;
	struct cause_list *list;
	size_t *order; /* workers, by stage and then by path: the faster first */
	double iteration_ns, others;
	size_t worker, peer;
	const struct summary_worker *own, *than; /* the worker's and the peer's figures */
	double wait_caused_ns, share, explained_ns;
	double more;   /* so many times the peer's batch */
	double factor; /* so many times slower throughout; 1: not so */
};

static double median(const struct summary_spread *spread)
{
	return (double)spread->quantiles[SUMMARY_MEDIAN];
}

static double path_ns(const struct summary_worker *figures)
{
	return median(&figures->compute) + median(&figures->lead) + median(&figures->host);
}

static double excess(const struct search *search)
{
	return path_ns(search->own) - path_ns(search->than);
}

static const char *time_text(const struct search *search, double ns)
{
	return print_time(&search->list->arena, ns);
}

static void summaries_cause_add(struct search *search, struct cause cause)
{
	if (isfinite(cause.cost_ns) &&
		(cause.cost_ns < FINDING_LEAST * search->iteration_ns ||
			cause.cost_ns < CAUSE_EXPLAINS * search->wait_caused_ns / search->others))
		return;
	cause.worker = cause.other = search->worker;
	if (!cause.layer)
		cause.layer = "";
	cause.wait_caused_ns = search->wait_caused_ns;
	cause.share = search->share;
	if (isfinite(cause.cost_ns))
		search->explained_ns += cause.cost_ns;
	*MEM_PUSH(search->list->items, search->list->count, search->list->room) = cause;
}

/* ---- Layers of the worker against those of the peer ---- */

struct pair {
	const struct summary_name *name;
	const struct summary_layer *own, *than;
	double own_ns, than_ns;
	double quarter_ns; /* the worker's: three iterations in four take longer */
};

static double sum3(const float values[4])
{
	return (double)values[PHASE_LAYER_FORWARD] + (double)values[PHASE_LAYER_BACKWARD] +
	       (double)values[PHASE_LAYER_UPDATE];
}

/* Layers that both have and that matter; the caller frees them. */
static struct pair *list_pairs(const struct search *search, size_t *count)
{
	const struct summary_model *model = search->own->model;
	struct pair *pairs = mem_alloc(model->count, sizeof(*pairs));

	*count = 0;
	for (size_t i = 0; i < model->count; i++) {
		size_t at = summaries_layer(search->than->model, model->names[i].name, i);
		struct pair pair = {.name = &model->names[i], .own = &search->own->layers[i]};

		if (at == SIZE_MAX)
			continue;
		pair.than = &search->than->layers[at];
		pair.own_ns = sum3(pair.own->median);
		pair.quarter_ns = sum3(pair.own->quarter);
		pair.than_ns = sum3(pair.than->median);
		if (pair.than_ns > 0 && pair.own_ns >= CAUSE_LAYER_MATTERS * median(&search->own->compute))
			pairs[(*count)++] = pair;
	}
	return pairs;
}

/* How much later the worker's first computation begins because it copies its input as slowly as it computes.
 */
static double slow_copying_ns(const struct search *search)
{
	double later_ns = median(&search->own->lead) - median(&search->than->lead);
	double than_ns = median(&search->than->busy[PHASE_H2D]) + median(&search->than->busy[PHASE_MD]);
	double more_ns =
		median(&search->own->busy[PHASE_H2D]) + median(&search->own->busy[PHASE_MD]) - than_ns;

	if (search->factor <= 1)
		return 0;
	return fmax(0, fmin(later_ns, fmin(more_ns, than_ns * (search->factor - 1))));
}

static void find_slower(struct search *search, const struct pair *pairs, size_t count)
{
	double *factors = mem_alloc(count, sizeof(*factors)), ns = 0;
	size_t slower = 0;

	for (size_t i = 0; i < count; i++)
		factors[i] = pairs[i].own_ns / pairs[i].than_ns / search->more;
	if (count)
		statistics_sort(factors, count);
	search->factor = count ? factors[count / 2] : 1;
	for (size_t i = 0; i < count; i++) {
		slower += factors[i] >= 1 + (search->factor - 1) / 2;
		ns += pairs[i].own_ns / search->more * (1 - 1 / search->factor);
	}
	if (search->factor < CAUSE_FACTOR_COUNTS || slower * 3 < count * 2)
		search->factor = 1;
	else
		summaries_cause_add(search,
			(struct cause){.kind = CAUSE_SLOWER,
				.cost_ns = ns + slow_copying_ns(search),
				.factor = search->factor,
				.evidence = arena_format(&search->list->arena,
					"its layers take %.2f× the time, nearly all of them (interquartile "
					"range over %zu layers: %.2f× to %.2f×)",
					search->factor, count, factors[count / 4],
					factors[count - 1 - count / 4])});
	free(factors);
}

static void find_layer(struct search *search, const struct pair *pairs, size_t count)
{
	double small_ns = 0, small_own_ns = 0;
	size_t small = 0;

	for (size_t i = 0; i < count; i++) {
		const struct pair *pair = &pairs[i];
		double expected_ns = pair->than_ns * search->more * search->factor;
		double residue_ns = pair->own_ns - expected_ns;

		if (pair->own_ns < 1.05 * expected_ns || pair->quarter_ns <= expected_ns)
			continue;
		if (residue_ns < CAUSE_RESIDUE * excess(search)) {
			small_ns += residue_ns;
			small_own_ns += pair->own_ns;
			small++;
			continue;
		}
		summaries_cause_add(search,
			(struct cause){.kind = CAUSE_LAYER,
				.layer = summaries_title(
					search->job, search->job->workers[search->worker].stage, pair->name),
				.cost_ns = residue_ns,
				.factor = pair->own_ns / pair->than_ns / search->more,
				.evidence = arena_format(&search->list->arena,
					"it takes %.2f× the time, other layers %.2f× (forward %s vs %s, "
					"backward %s vs %s)",
					pair->own_ns / pair->than_ns / search->more, search->factor,
					time_text(search, (double)pair->own->median[PHASE_LAYER_FORWARD]),
					time_text(search, (double)pair->than->median[PHASE_LAYER_FORWARD]),
					time_text(search, (double)pair->own->median[PHASE_LAYER_BACKWARD]),
					time_text(
						search, (double)pair->than->median[PHASE_LAYER_BACKWARD]))});
	}
	if (small < 2 || small_ns < CAUSE_RESIDUE * excess(search))
		return;
	summaries_cause_add(search,
		(struct cause){.kind = CAUSE_LAYERS,
			.cost_ns = small_ns,
			.factor = small_own_ns / (small_own_ns - small_ns),
			.evidence = arena_format(&search->list->arena,
				"%zu layers that together take %.2f× the time, none of them a large part "
				"of it",
				small, small_own_ns / (small_own_ns - small_ns))});
}

/* ---- Other causes ---- */

static const char *input_of(const struct summary_worker *figures)
{
	return figures->model->count ? figures->model->names[0].input : "";
}

static void find_work(struct search *search, const struct pair *pairs, size_t count)
{
	double ns = 0;

	search->more = 1;
	if (!(search->own->samples > 0) || !(search->than->samples > 0))
		return;
	search->more = search->own->samples / search->than->samples;
	for (size_t i = 0; i < count; i++)
		ns += pairs[i].own_ns * (1 - 1 / search->more);
	/* Not everything grows with the batch. */
	ns = fmin(ns, median(&search->own->compute) - median(&search->than->compute));
	if (search->more > 1)
		summaries_cause_add(search,
			(struct cause){.kind = CAUSE_WORK,
				.cost_ns = ns,
				.factor = search->more,
				.evidence = arena_format(&search->list->arena,
					"%.2f× the batch; its input is %s, on other ranks %s", search->more,
					input_of(search->own), input_of(search->than))});
}

static bool figure_counts(const struct search *search, const struct summary_spread *own,
	const struct summary_spread *than, double cost_ns)
{
	return cost_ns >= CAUSE_RESIDUE * excess(search) &&
	       (double)own->quantiles[SUMMARY_25] > median(than) + cost_ns / 4;
}

static void find_input(struct search *search)
{
	const struct summary_worker *own = search->own, *than = search->than;
	double cost_ns = median(&own->lead) - median(&than->lead) - slow_copying_ns(search);

	if (!figure_counts(search, &own->lead, &than->lead, cost_ns))
		return;
	summaries_cause_add(search,
		(struct cause){.kind = CAUSE_INPUT,
			.cost_ns = cost_ns,
			.factor = median(&than->lead) > 0 ? median(&own->lead) / median(&than->lead) : NAN,
			.evidence = arena_format(&search->list->arena,
				"its first computation starts %s after the start of the iteration, on "
				"other ranks %s (reading %s vs %s, preparing %s vs %s, copying %s vs %s)",
				time_text(search, median(&own->lead)), time_text(search, median(&than->lead)),
				time_text(search, median(&own->busy[PHASE_IO])),
				time_text(search, median(&than->busy[PHASE_IO])),
				time_text(search, median(&own->busy[PHASE_MD])),
				time_text(search, median(&than->busy[PHASE_MD])),
				time_text(search, median(&own->busy[PHASE_H2D])),
				time_text(search, median(&than->busy[PHASE_H2D])))});
}

static void find_host(struct search *search)
{
	const struct summary_worker *own = search->own, *than = search->than;
	double cost_ns = median(&own->host) - median(&than->host);

	if (!figure_counts(search, &own->host, &than->host, cost_ns))
		return;
	summaries_cause_add(search,
		(struct cause){.kind = CAUSE_HOST,
			.cost_ns = cost_ns,
			.factor = median(&than->host) > 0 ? median(&own->host) / median(&than->host) : NAN,
			.evidence = arena_format(&search->list->arena,
				"its device waits %s an iteration for launches, other devices %s",
				time_text(search, median(&own->host)),
				time_text(search, median(&than->host)))});
}

static void find_unknown(struct search *search)
{
	const struct summaries_worker *worker = &search->job->workers[search->worker];

	if (search->explained_ns > 0 || worker->sample_count == 0 ||
		(double)worker->late_count < CAUSE_RECURS * (double)worker->sample_count)
		return;
	summaries_cause_add(search,
		(struct cause){.kind = CAUSE_UNKNOWN,
			.advice = "pmanalyze report of the traces may identify the cause",
			.cost_ns = NAN,
			.factor = NAN,
			.evidence = arena_format(&search->list->arena,
				"it arrives late in %zu of %zu sampled iterations, but %s; what calls or "
				"slow links do is not in summaries",
				worker->late_count, worker->sample_count,
				search->than ? "its layers, input and launches take no longer than on "
					       "other ranks"
					     : "no other rank has the same layers to compare with")});
}

/* ---- The search ---- */

static int compare_paths(const void *left, const void *right, void *context)
{
	const struct summaries *job = context;
	const struct summaries_worker *a = &job->workers[*(const size_t *)left];
	const struct summaries_worker *b = &job->workers[*(const size_t *)right];
	double a_ns = path_ns(a->figures), b_ns = path_ns(b->figures);

	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a_ns != b_ns)
		return a_ns < b_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Of the other workers with the same layers, the one that a quarter of them are faster than; SIZE_MAX: none.
 */
static size_t peer_of(const struct search *search)
{
	const struct summaries *job = search->job;
	uint32_t stage = job->workers[search->worker].stage;
	size_t first = 0, count = 0, place;

	while (job->workers[search->order[first]].stage != stage)
		first++;
	while (first + count < job->worker_count && job->workers[search->order[first + count]].stage == stage)
		count++;
	if (count < 2)
		return SIZE_MAX;
	place = (count - 2) / 4;
	for (size_t i = first; i < first + count; i++)
		if (search->order[i] != search->worker && place-- == 0)
			return search->order[i];
	return SIZE_MAX;
}

static void search_worker(struct search *search)
{
	const struct summaries_worker *worker = &search->job->workers[search->worker];
	struct pair *pairs;
	size_t count;

	search->own = worker->figures;
	search->wait_caused_ns = isfinite(worker->wait_caused_ns) ? worker->wait_caused_ns : 0;
	search->share = search->wait_caused_ns / (search->others * search->iteration_ns);
	if (search->job->meeting_count > 0 && search->share < CAUSE_WAITING)
		return;
	search->peer = peer_of(search);
	search->than = search->peer == SIZE_MAX ? NULL : search->job->workers[search->peer].figures;
	search->explained_ns = 0;
	if (search->job->meeting_count == 0 &&
		(!search->than || excess(search) < CAUSE_WAITING * search->iteration_ns))
		return;
	if (search->than) {
		pairs = list_pairs(search, &count);
		find_work(search, pairs, count);
		find_slower(search, pairs, count);
		find_layer(search, pairs, count);
		find_input(search);
		find_host(search);
		free(pairs);
	}
	find_unknown(search);
}

void summaries_causes(struct summaries *job, struct cause_list *list)
{
	struct search search = {.job = job, .list = list, .others = (double)job->worker_count - 1};

	memset(list, 0, sizeof(*list));
	if (job->worker_count < 2)
		return;
	search.iteration_ns =
		summaries_pool(job->workers, job->worker_count, offsetof(struct summary_worker, iteration))
			.median;
	if (!(search.iteration_ns > 0))
		return;
	search.order = mem_alloc(job->worker_count, sizeof(*search.order));
	for (size_t i = 0; i < job->worker_count; i++)
		search.order[i] = i;
	qsort_r(search.order, job->worker_count, sizeof(*search.order), compare_paths, job);
	for (search.worker = 0; search.worker < job->worker_count; search.worker++)
		search_worker(&search);
	cause_sort(list);
	free(search.order);
}
