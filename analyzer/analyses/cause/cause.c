/* Who holds the others up, and why: see cause.h. Each kind of cause has its finder, in one table. */
#include "cause_find.h"
#include "analyses/step.h"
#include "analyses/without_gradients.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *key, *text;
} names[] = {
#define CAUSE_ITEM(name, key, text) {key, text},
	CAUSE_LIST(CAUSE_ITEM)
#undef CAUSE_ITEM
};

const char *cause_key(enum cause_kind kind)
{
	return names[kind].key;
}

const char *cause_text(enum cause_kind kind)
{
	return names[kind].text;
}

bool cause_matters(const struct cause_search *search, double cost_ns)
{
	double others = (double)(search->analysis->worker_count - 1);

	return cost_ns >= FINDING_LEAST * search->iteration_ns &&
	       cost_ns >= CAUSE_EXPLAINS * search->wait_caused_ns / others;
}

void cause_add(struct cause_search *search, struct cause cause)
{
	if (isfinite(cause.cost_ns) && !cause_matters(search, cause.cost_ns))
		return;
	cause.worker = search->worker;
	if (cause.kind != CAUSE_LINK)
		cause.other = search->worker;
	if (!cause.layer)
		cause.layer = "";
	cause.wait_caused_ns = search->wait_caused_ns;
	cause.share = search->share;
	if (isfinite(cause.cost_ns))
		search->explained_ns += cause.cost_ns;
	*MEM_PUSH(search->list->items, search->list->count, search->list->room) = cause;
}

/* The phase that takes the worker longest beyond its peer, in words; "": none takes much longer. */
static const char *longer_phase(struct cause_search *search)
{
	struct arena *arena = &search->list->arena;
	double most_ns = FINDING_LEAST * search->iteration_ns, own_ns = 0, peer_ns = 0;
	int most = -1;

	for (int phase = 0; search->peer && phase < PHASE_COUNT; phase++) {
		double own =
			analysis_phase(search->own->worker, 1, (enum phase)phase, ANALYSIS_EXCLUSIVE).mean;
		double peer =
			analysis_phase(search->peer->worker, 1, (enum phase)phase, ANALYSIS_EXCLUSIVE).mean;

		if (phase != PHASE_COMMUNICATION && own - peer > most_ns) {
			most = phase;
			most_ns = own - peer;
			own_ns = own;
			peer_ns = peer;
		}
	}
	if (most < 0)
		return "";
	return arena_format(arena, "; what it has more of is \"%s\", %s vs %s", phase_titles[most],
		print_time(arena, own_ns), print_time(arena, peer_ns));
}

/* Forward work without gradients that no other rank has: an evaluation on one rank alone. */
static void find_evaluation(struct cause_search *search)
{
	const struct analysis *analysis = search->analysis;
	struct arena *arena = &search->list->arena;
	double own_ns = without_gradients_of(analysis, &analysis->workers[search->worker]).without_ns;
	double others_ns = INFINITY;

	for (size_t w = 0; w < analysis->worker_count && own_ns > 0; w++)
		if (w != search->worker)
			others_ns = fmin(
				others_ns, without_gradients_of(analysis, &analysis->workers[w]).without_ns);
	if (!(own_ns > others_ns) || !cause_matters(search, own_ns - others_ns))
		return;
	cause_add(search,
		(struct cause){.kind = CAUSE_WORK,
			.text = "an evaluation, or other forward work without gradients, on it alone",
			.advice = "evaluate on all ranks, each a part of the samples, or beside training",
			.cost_ns = own_ns - others_ns,
			.factor = NAN,
			.evidence = arena_format(arena,
				"forward work without gradients takes %s %s, on other ranks %s",
				print_time(arena, own_ns), step_each(analysis->is_whole),
				print_time(arena, others_ns))});
}

static void find_unknown(struct cause_search *search)
{
	const struct balance_rank *rank = &search->balance->ranks[search->worker];
	const struct analysis_worker *worker = &search->analysis->workers[search->worker];
	double others = (double)(search->analysis->worker_count - 1);
	size_t count = 0;

	if (search->explained_ns > 0 || cause_is_stage(search))
		return;
	for (size_t i = 0; i < worker->used_count; i++)
		count += rank->each_ns[i] > CAUSE_WAITING * others * search->iteration_ns;
	if ((double)count < CAUSE_RECURS * (double)worker->used_count)
		return;
	cause_add(
		search, (struct cause){.kind = CAUSE_UNKNOWN,
				.cost_ns = NAN,
				.factor = NAN,
				.evidence = arena_format(&search->list->arena,
					"it arrives late in %zu of %zu iterations, but its layers, input and "
					"launches take no longer than on other ranks%s",
					count, worker->used_count, longer_phase(search))});
}

static void (*const finders[])(struct cause_search *search) = {
	cause_find_slower,
	cause_find_layer,
	cause_find_work,
	cause_find_call,
	cause_find_pause,
	cause_find_input,
	cause_find_host,
	cause_find_stage,
	find_evaluation,
	find_unknown, /* after all that may explain the waiting */
	cause_find_link,
};

/* ---- The search ---- */

bool cause_is_stage(const struct cause_search *search)
{
	return search->analysis->stage_count > 1;
}

struct cause_place {
	uint32_t stage;
	double path_ns;
	size_t worker;
};

static int compare_places(const void *left, const void *right)
{
	const struct cause_place *a = left, *b = right;

	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a->path_ns != b->path_ns)
		return a->path_ns < b->path_ns ? -1 : 1;
	return a->worker < b->worker ? -1 : a->worker > b->worker;
}

/* Puts the workers in order of stage and path, and finds each stage's first. */
static void order_workers(struct cause_search *search)
{
	const size_t count = search->analysis->worker_count;

	search->order = mem_alloc(count, sizeof(*search->order));
	search->places = mem_alloc(count, sizeof(*search->places));
	for (size_t i = 0; i < count; i++) {
		double path_ns = cause_path_ns(&search->measures[i]);

		search->order[i] = (struct cause_place){
			search->measures[i].worker->stage, isnan(path_ns) ? (double)INFINITY : path_ns, i};
	}
	qsort(search->order, count, sizeof(*search->order), compare_places);
	for (size_t i = 0; i < count; i++)
		search->places[search->order[i].worker] = i;
}

/* Of the other workers with the same layers, the one that a quarter of them are faster than. */
static const struct cause_measure *peer_of(const struct cause_search *search)
{
	const struct cause_stage *stage = &search->stages[search->own->worker->stage];
	size_t at;

	if (stage->count < 2)
		return NULL;
	at = stage->first + (stage->count - 2) / 4;
	if (search->places[search->worker] <= at)
		at++; /* it is not one of the others */
	return &search->measures[search->order[at].worker];
}

/* Is the worker to be looked into: do the others wait for it, or, where nothing tells, does it take longer?
 */
static bool is_waited_for(struct cause_search *search)
{
	size_t others = search->analysis->worker_count - 1;

	search->wait_caused_ns = search->balance->ranks[search->worker].wait_caused_ns;
	/* both are means: waiting is never more than all of their time */
	search->share = search->wait_caused_ns / ((double)others * search->mean_ns);
	if (search->balance->collective_count > 0)
		return search->wait_caused_ns >= CAUSE_WAITING * (double)others * search->iteration_ns;
	return search->peer && cause_excess(search) >= CAUSE_WAITING * search->iteration_ns;
}

static void look_at_host(struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;

	search->first_launch_ns = 0;
	search->lead_ns = own->lead.median - peer->lead.median - cause_slow_copying(search);
	search->late_ns = own->host.median - peer->host.median;
	search->own_calls = search->calls ? &search->calls[search->worker] : NULL;
	search->peer_calls = search->calls ? &search->calls[peer - search->measures] : NULL;
	if (!search->calls || !(own->h2d.median > 0))
		return;
	/* After the batch has been copied the first computation waits for its launch. */
	search->first_launch_ns = fmax(
		0, search->own_calls->outside.lead_launch_ns - search->peer_calls->outside.lead_launch_ns);
	search->lead_ns -= search->first_launch_ns;
	search->late_ns += search->first_launch_ns;
}

static void search_worker(struct cause_search *search)
{
	bool waited_for;

	search->own = &search->measures[search->worker];
	search->peer = peer_of(search);
	search->explained_ns = 0;
	waited_for = is_waited_for(search);
	if (search->peer) {
		cause_compare(search->own, search->peer, &search->list->arena, &search->comparison);
		look_at_host(search);
	}
	for (size_t i = 0; i < sizeof(finders) / sizeof(*finders); i++)
		if (waited_for || finders[i] == cause_find_stage || finders[i] == cause_find_link)
			finders[i](search);
}

static int compare_causes(const void *left, const void *right)
{
	const struct cause *a = left, *b = right;

	if (a->wait_caused_ns != b->wait_caused_ns)
		return a->wait_caused_ns > b->wait_caused_ns ? -1 : 1;
	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	if (a->cost_ns != b->cost_ns)
		return a->cost_ns > b->cost_ns ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

void cause_sort(struct cause_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_causes);
}

void cause_find(const struct analysis *analysis, const struct balance *balance,
	const struct host_calls *calls, struct cause_list *list)
{
	struct cause_search search = {.analysis = analysis, .balance = balance, .calls = calls, .list = list};
	struct cause_measure *measures;

	memset(list, 0, sizeof(*list));
	if (analysis->worker_count < 2)
		return;
	measures = mem_alloc(analysis->worker_count, sizeof(*measures));
	for (size_t i = 0; i < analysis->worker_count; i++)
		cause_measure(analysis, &analysis->workers[i], &list->arena, &measures[i]);
	search.measures = measures;
	search.iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).median;
	search.mean_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean;
	order_workers(&search);
	cause_measure_stages(&search);
	exchange_match(analysis, &search.exchanges);
	for (search.worker = 0; search.worker < analysis->worker_count; search.worker++)
		search_worker(&search);
	cause_sort(list);
	for (size_t i = 0; i < analysis->worker_count; i++)
		cause_measure_free(&measures[i]);
	free(measures);
	free(search.order);
	free(search.places);
	free(search.stages);
	exchange_free(&search.exchanges);
}

void cause_free(struct cause_list *list)
{
	free(list->items);
	arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}
