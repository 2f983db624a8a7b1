/* Who holds the others up, and why: see cause.h. Each kind of cause has its finder, in one table. */
#include "cause_find.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RESIDUE 0.15 /* of what a worker takes longer: layers below it are not named */

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

	return cost_ns >= CAUSE_COST * search->iteration_ns &&
	       cost_ns >= CAUSE_EXPLAINS * search->inflicted_ns / others;
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
	cause.inflicted_ns = search->inflicted_ns;
	cause.share = search->share;
	if (isfinite(cause.cost_ns))
		search->explained_ns += cause.cost_ns;
	*MEM_PUSH(search->list->items, search->list->count, search->list->room) = cause;
}

static const char *time_text(struct cause_search *search, double ns)
{
	return print_time(&search->list->arena, ns);
}

static const char *layer_text(const struct cause_search *search, uint32_t layer)
{
	return layer == LAYER_NONE ? "work of no layer"
				   : layer_title(&search->own->worker->layers.items[layer]);
}

/* ---- Finders ---- */

static void find_slower(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;
	double ns = 0;

	if (!search->peer || !c->slower)
		return;
	for (size_t i = 0; i < c->layer_count; i++)
		if (c->layers[i].own_ns > 0)
			ns += (c->layers[i].own_ns - fmax(c->layers[i].work_ns, 0)) * (1 - 1 / c->factor);
	cause_add(search, (struct cause){.kind = CAUSE_SLOWER,
				  .cost_ns = ns,
				  .factor = c->factor,
				  .evidence = arena_format(&search->list->arena,
					  "the same operations take %.2f times as long, in all layers "
					  "(middle half of %zu layers: %.2f to %.2f)",
					  c->factor, c->counted, c->low, c->high)});
}

/* How much longer the layer takes than work and general speed explain. */
static double layer_residue(const struct cause_search *search, const struct cause_layer *layer)
{
	const struct cause_comparison *c = &search->comparison;
	double expected_ns = (layer->own_ns - layer->speed_ns) * (c->slower ? c->factor - 1 : 0);

	return layer->speed_ns - expected_ns;
}

/* In most samples, is the layer's time above that of the peer? */
static bool layer_recurs(const struct cause_search *search, const struct cause_layer *layer)
{
	const struct cause_measure *own = search->own;
	size_t count = 0;

	for (size_t s = 0; s < own->sample_count; s++) {
		double ns = 0;

		for (size_t i = 0; i < own->cell_count; i++)
			if (own->cells[i].layer == layer->layer)
				ns += own->cells[i].sums[s];
		count += ns > layer->other_ns;
	}
	return (double)count >= CAUSE_RECURS * (double)own->sample_count;
}

static double own_excess(const struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;

	return own->compute.median + own->lead.median + own->host.median - peer->compute.median -
	       peer->lead.median - peer->host.median;
}

/* Each costs little, all of them enough: one kind of operation may be slow. */
static void add_small_layers(struct cause_search *search, double ns, double own_ns, size_t count)
{
	double factor = own_ns > ns ? own_ns / (own_ns - ns) : 1;

	if (count < 2 || ns < RESIDUE * own_excess(search))
		return;
	cause_add(search,
		(struct cause){.kind = CAUSE_LAYERS,
			.cost_ns = ns,
			.factor = factor,
			.evidence = arena_format(&search->list->arena,
				"%zu layers that take %.2f times as long together, each no great part "
				"of it",
				count, factor)});
}

static void find_layer(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;
	double small_ns = 0, small_own_ns = 0;
	size_t small_count = 0;

	for (size_t i = 0; search->peer && i < c->layer_count; i++) {
		const struct cause_layer *layer = &c->layers[i];
		double residue = layer_residue(search, layer);

		if (layer->factor < 1.05 * (c->slower ? c->factor : 1) || !layer_recurs(search, layer))
			continue;
		if (residue < RESIDUE * own_excess(search)) {
			small_ns += residue;
			small_own_ns += layer->own_ns;
			small_count++;
			continue;
		}
		cause_add(search,
			(struct cause){.kind = CAUSE_LAYER,
				.layer = layer_text(search, layer->layer),
				.cost_ns = residue,
				.factor = layer->factor,
				.evidence = arena_format(&search->list->arena,
					"its operations take %.2f times as long, those of the other layers "
					"%.2f times (forward %s against %s, backward %s against %s)",
					layer->factor, c->slower ? c->factor : 1.0,
					time_text(search, layer->phase_own_ns[0]),
					time_text(search, layer->phase_other_ns[0]),
					time_text(search, layer->phase_own_ns[1]),
					time_text(search, layer->phase_other_ns[1]))});
	}
	add_small_layers(search, small_ns, small_own_ns, small_count);
}

static const char *input_of(const struct cause_measure *measure, size_t layer)
{
	return layer < measure->worker->layers.count ? measure->worker->layers.items[layer].input : "";
}

/* Most layers are larger: a greater share of the batch. */
static void add_more_everywhere(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;
	double ns = 0;

	for (size_t i = 0; i < c->layer_count; i++)
		ns += c->layers[i].work_ns;
	cause_add(search,
		(struct cause){.kind = CAUSE_WORK,
			.cost_ns = ns,
			.factor = c->more_factor,
			.evidence = arena_format(&search->list->arena,
				"%.2f times the work in most layers; its input is %s, that of the others %s",
				c->more_factor, input_of(search->own, 0), input_of(search->peer, 0))});
}

static void add_more_in(struct cause_search *search, const struct cause_layer *layer)
{
	const struct timeline *timeline = &search->analysis->timeline;
	struct arena *arena = &search->list->arena;
	const char *evidence;
	double factor = layer->other_work > 0 ? layer->own_work / layer->other_work : NAN;

	if (layer->own_count > layer->other_count + 0.5)
		evidence = arena_format(arena, "%.3g operations more in an iteration than the others%s%s",
			layer->own_count - layer->other_count, layer->added ? ", among them " : "",
			layer->added ? timeline->functions[timeline->operations[layer->added].function].name
				     : "");
	else
		evidence = arena_format(arena, "operations %.2f times as large (input %s)", factor,
			input_of(search->own, layer->layer));
	cause_add(search,
		(struct cause){.kind = CAUSE_WORK,
			.layer = layer_text(search, layer->layer),
			.cost_ns = layer->work_ns,
			.factor = factor,
			.evidence = arena_format(arena, "%s (%s against %s)", evidence,
				time_text(search, layer->own_ns), time_text(search, layer->other_ns))});
}

static void find_work(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;

	if (!search->peer)
		return;
	if (c->more) {
		add_more_everywhere(search);
		return;
	}
	for (size_t i = 0; i < c->layer_count; i++)
		if (c->layers[i].work_ns >= RESIDUE * own_excess(search) &&
			layer_recurs(search, &c->layers[i]))
			add_more_in(search, &c->layers[i]);
}

static double input_ns(const struct cause_measure *measure)
{
	return measure->io.median + measure->md.median + measure->h2d.median;
}

static void find_input(struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	double cost_ns;

	if (!peer)
		return;
	cost_ns = own->lead.median - peer->lead.median;
	/* A stage's first work may wait for other stages in many ways: only what is seen counts. */
	if (cause_is_stage(search) && input_ns(own) - input_ns(peer) < cost_ns)
		cost_ns = input_ns(own) - input_ns(peer);
	if (cost_ns < RESIDUE * own_excess(search) ||
		cause_recurs(own, &own->lead, peer->lead.median + cost_ns / 4) < CAUSE_RECURS)
		return;
	cause_add(search,
		(struct cause){.kind = CAUSE_INPUT,
			.cost_ns = cost_ns,
			.factor = peer->lead.median > 0 ? own->lead.median / peer->lead.median : NAN,
			.evidence = arena_format(&search->list->arena,
				"its first computation begins %s after the iteration's begin, that of the "
				"others %s (reading %s against %s, preparing %s against %s, copying %s "
				"against %s)",
				time_text(search, own->lead.median), time_text(search, peer->lead.median),
				time_text(search, own->io.median), time_text(search, peer->io.median),
				time_text(search, own->md.median), time_text(search, peer->md.median),
				time_text(search, own->h2d.median), time_text(search, peer->h2d.median))});
}

static void find_host(struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	double cost_ns;

	if (!peer)
		return;
	cost_ns = own->host.median - peer->host.median;
	if (cost_ns < RESIDUE * own_excess(search) ||
		cause_recurs(own, &own->host, peer->host.median + cost_ns / 4) < CAUSE_RECURS)
		return;
	cause_add(search,
		(struct cause){.kind = CAUSE_HOST,
			.cost_ns = cost_ns,
			.factor = peer->host.median > 0 ? own->host.median / peer->host.median : NAN,
			.evidence = arena_format(&search->list->arena,
				"its device idles %s in an iteration because the next call has not been "
				"made, that of the others %s (%.0f calls came late, %.0f at the others)",
				time_text(search, own->host.median), time_text(search, peer->host.median),
				(double)own->late_count / (double)own->sample_count,
				(double)peer->late_count / (double)peer->sample_count)});
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
	cause_add(search,
		(struct cause){.kind = CAUSE_UNKNOWN,
			.cost_ns = NAN,
			.factor = NAN,
			.evidence = arena_format(&search->list->arena,
				"in %zu of %zu iterations it comes late, and its layers, input and launches "
				"take no longer than those of the others (other work %s against %s)",
				count, worker->used_count,
				time_text(
					search, analysis_phase(worker, 1, PHASE_OTHER, ANALYSIS_BUSY).median),
				time_text(search, analysis_phase(search->peer ? search->peer->worker : worker,
							  1, PHASE_OTHER, ANALYSIS_BUSY)
							  .median))});
}

static void (*const finders[])(struct cause_search *search) = {
	find_slower,
	find_layer,
	find_work,
	find_input,
	find_host,
	cause_find_stage,
	find_unknown, /* behind all that may explain the waiting */
	cause_find_link,
};

/* ---- The search ---- */

bool cause_is_stage(const struct cause_search *search)
{
	return search->analysis->stage_count > 1;
}

static double path_ns(const struct cause_measure *measure)
{
	return measure->compute.median + measure->lead.median + measure->host.median;
}

/* Of the other workers with the same layers, the one that a quarter of them are faster than. */
static const struct cause_measure *peer_of(const struct cause_search *search)
{
	size_t count = search->analysis->worker_count, peers = 0;

	for (size_t i = 0; i < count; i++)
		peers += i != search->worker &&
			 search->measures[i].worker->stage == search->own->worker->stage;
	for (size_t i = 0; i < count && peers; i++) {
		const struct cause_measure *candidate = &search->measures[i];
		size_t faster = 0;

		if (i == search->worker || candidate->worker->stage != search->own->worker->stage)
			continue;
		for (size_t j = 0; j < count; j++)
			faster += j != search->worker && j != i &&
				  search->measures[j].worker->stage == search->own->worker->stage &&
				  (path_ns(&search->measures[j]) < path_ns(candidate) ||
					  (path_ns(&search->measures[j]) == path_ns(candidate) && j < i));
		if (faster == (peers - 1) / 4)
			return candidate;
	}
	return NULL;
}

/* Is the worker to be looked into: do the others wait for it, or, where nothing tells, does it take longer?
 */
static bool is_waited_for(struct cause_search *search)
{
	size_t others = search->analysis->worker_count - 1;

	search->inflicted_ns = search->balance->ranks[search->worker].inflicted_ns;
	search->share = search->inflicted_ns / ((double)others * search->iteration_ns);
	if (search->balance->collective_count > 0)
		return search->share >= CAUSE_WAITING;
	return search->peer && own_excess(search) >= CAUSE_WAITING * search->iteration_ns;
}

static void search_worker(struct cause_search *search)
{
	bool waited_for;

	search->own = &search->measures[search->worker];
	search->peer = peer_of(search);
	search->explained_ns = 0;
	waited_for = is_waited_for(search);
	if (search->peer)
		cause_compare(search->own, search->peer, &search->list->arena, &search->comparison);
	for (size_t i = 0; i < sizeof(finders) / sizeof(*finders); i++)
		if (waited_for || finders[i] == cause_find_stage || finders[i] == cause_find_link)
			finders[i](search);
}

static int compare_causes(const void *left, const void *right)
{
	const struct cause *a = left, *b = right;

	if (a->inflicted_ns != b->inflicted_ns)
		return a->inflicted_ns > b->inflicted_ns ? -1 : 1;
	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	if (a->cost_ns != b->cost_ns)
		return a->cost_ns > b->cost_ns ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

void cause_find(const struct analysis *analysis, const struct balance *balance, struct cause_list *list)
{
	struct cause_search search = {.analysis = analysis, .balance = balance, .list = list};
	struct cause_measure *measures;

	memset(list, 0, sizeof(*list));
	if (analysis->worker_count < 2)
		return;
	measures = mem_alloc(analysis->worker_count, sizeof(*measures));
	for (size_t i = 0; i < analysis->worker_count; i++)
		cause_measure(analysis, &analysis->workers[i], &list->arena, &measures[i]);
	search.measures = measures;
	search.iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).median;
	exchange_match(analysis, &search.exchanges);
	for (search.worker = 0; search.worker < analysis->worker_count; search.worker++)
		search_worker(&search);
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_causes);
	for (size_t i = 0; i < analysis->worker_count; i++)
		cause_measure_free(&measures[i]);
	free(measures);
	exchange_free(&search.exchanges);
}

void cause_free(struct cause_list *list)
{
	free(list->items);
	arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}
