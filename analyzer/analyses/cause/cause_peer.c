/* Causes that show in comparison with a worker that has the same layers and is faster. */
#include "cause_find.h"
#include "analyses/input_file.h"

#include <math.h>

#define FACTOR_SPREAD 1.1 /* copies of a device that is slower by a factor are so by up to so much more */
#define RESIDUE 0.15      /* of what a worker takes longer: layers below it are not named */

static const char *time_text(struct cause_search *search, double ns)
{
	return print_time(&search->list->arena, ns);
}

static const char *layer_text(const struct cause_search *search, uint32_t layer)
{
	return layer == LAYER_NONE ? "work outside layers"
				   : layer_title(&search->own->worker->layers.items[layer]);
}

/* Of a worker that is slower throughout: how much later it begins because it copies its input so slowly too.
 */
static double slow_copying_ns(const struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	double later_ns = own->lead.median - peer->lead.median;
	double more_ns = own->h2d.median + own->md.median - peer->h2d.median - peer->md.median;
	double expected_ns =
		(peer->h2d.median + peer->md.median) * (search->comparison.factor - 1) * FACTOR_SPREAD;

	if (!search->comparison.slower)
		return 0;
	return fmax(0, fmin(later_ns, fmin(more_ns, expected_ns)));
}

void cause_find_slower(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;
	double ns = 0;

	if (!search->peer || !c->slower)
		return;
	for (size_t i = 0; i < c->layer_count; i++)
		if (c->layers[i].own_ns > 0)
			ns += (c->layers[i].own_ns - fmax(c->layers[i].work_ns, 0)) * (1 - 1 / c->factor);
	ns += slow_copying_ns(search);
	cause_add(search, (struct cause){.kind = CAUSE_SLOWER,
				  .cost_ns = ns,
				  .factor = c->factor,
				  .evidence = arena_format(&search->list->arena,
					  "the same operations take %.2f× the time, in all layers "
					  "(interquartile range over %zu layers: %.2f× to %.2f×)",
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

double cause_path_ns(const struct cause_measure *measure)
{
	return measure->compute.median + measure->lead.median + measure->host.median;
}

double cause_excess(const struct cause_search *search)
{
	return cause_path_ns(search->own) - cause_path_ns(search->peer);
}

/* Does a figure that costs so much more than the peer's make a great part of the excess, and recur? */
static bool figure_counts(const struct cause_search *search, const struct cause_figure *figure,
	const struct cause_figure *peers, double cost_ns)
{
	return cost_ns >= RESIDUE * cause_excess(search) &&
	       cause_recurs(search->own, figure, peers->median + cost_ns / 4) >= CAUSE_RECURS;
}

/* Each costs little, all of them enough: one kind of operation may be slow. */
static void add_small_layers(struct cause_search *search, double ns, double own_ns, size_t count)
{
	double factor = own_ns > ns ? own_ns / (own_ns - ns) : 1;

	if (count < 2 || ns < RESIDUE * cause_excess(search))
		return;
	cause_add(search,
		(struct cause){.kind = CAUSE_LAYERS,
			.cost_ns = ns,
			.factor = factor,
			.evidence = arena_format(&search->list->arena,
				"%zu layers that together take %.2f× the time, none of them a large part "
				"of it",
				count, factor)});
}

void cause_find_layer(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;
	double small_ns = 0, small_own_ns = 0;
	size_t small_count = 0;

	for (size_t i = 0; search->peer && i < c->layer_count; i++) {
		const struct cause_layer *layer = &c->layers[i];
		double residue = layer_residue(search, layer);

		if (layer->factor < 1.05 * (c->slower ? c->factor : 1) || !layer_recurs(search, layer))
			continue;
		if (residue < RESIDUE * cause_excess(search)) {
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
					"its operations take %.2f× the time, those of other layers %.2f× "
					"(forward %s vs %s, backward %s vs %s)",
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
				"%.2f× the work in most layers; its input is %s, on other ranks %s",
				c->more_factor, input_of(search->own, 0), input_of(search->peer, 0))});
}

static void add_more_in(struct cause_search *search, const struct cause_layer *layer)
{
	const struct timeline *timeline = &search->analysis->timeline;
	struct arena *arena = &search->list->arena;
	const char *evidence;
	double factor = layer->other_work > 0 ? layer->own_work / layer->other_work : NAN;

	if (layer->own_count > layer->other_count + 0.5)
		evidence = arena_format(arena, "%.3g more operations per iteration than other ranks%s%s",
			layer->own_count - layer->other_count, layer->added ? ", including " : "",
			layer->added ? timeline->functions[timeline->operations[layer->added].function].name
				     : "");
	else
		evidence = arena_format(arena, "operations are %.2f× as large (input %s)", factor,
			input_of(search->own, layer->layer));
	cause_add(search,
		(struct cause){.kind = CAUSE_WORK,
			.layer = layer_text(search, layer->layer),
			.cost_ns = layer->work_ns,
			.factor = factor,
			.evidence = arena_format(arena, "%s (%s vs %s)", evidence,
				time_text(search, layer->own_ns), time_text(search, layer->other_ns))});
}

void cause_find_work(struct cause_search *search)
{
	const struct cause_comparison *c = &search->comparison;

	if (!search->peer)
		return;
	if (c->more) {
		add_more_everywhere(search);
		return;
	}
	for (size_t i = 0; i < c->layer_count; i++)
		if (c->layers[i].work_ns >= RESIDUE * cause_excess(search) &&
			layer_recurs(search, &c->layers[i]))
			add_more_in(search, &c->layers[i]);
}

static double input_ns(const struct cause_measure *measure)
{
	return measure->io.median + measure->md.median + measure->h2d.median;
}

void cause_find_input(struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	const char *from = "";
	struct input_file source;
	double cost_ns;

	if (!peer)
		return;
	cost_ns = own->lead.median - peer->lead.median - slow_copying_ns(search);
	/* A stage's first work may wait for other stages in many ways: only what is seen counts. */
	if (cause_is_stage(search) && input_ns(own) - input_ns(peer) < cost_ns)
		cost_ns = input_ns(own) - input_ns(peer);
	if (!figure_counts(search, &own->lead, &peer->lead, cost_ns))
		return;
	if (own->io.median - peer->io.median > cost_ns / 2 &&
		input_file_find(search->analysis, own->worker, &search->list->arena, &source))
		from = arena_format(&search->list->arena, "; %.0f%% of the reading is from %s",
			100 * source.share, source.name);
	cause_add(search,
		(struct cause){.kind = CAUSE_INPUT,
			.cost_ns = cost_ns,
			.factor = peer->lead.median > 0 ? own->lead.median / peer->lead.median : NAN,
			.evidence = arena_format(&search->list->arena,
				"its first computation starts %s after the start of the iteration, on "
				"other ranks %s (reading %s vs %s, preparing %s vs %s, copying %s vs %s)%s",
				time_text(search, own->lead.median), time_text(search, peer->lead.median),
				time_text(search, own->io.median), time_text(search, peer->io.median),
				time_text(search, own->md.median), time_text(search, peer->md.median),
				time_text(search, own->h2d.median), time_text(search, peer->h2d.median),
				from)});
}

void cause_find_host(struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	double cost_ns;

	if (!peer)
		return;
	cost_ns = own->host.median - peer->host.median;
	if (!figure_counts(search, &own->host, &peer->host, cost_ns))
		return;
	cause_add(search,
		(struct cause){.kind = CAUSE_HOST,
			.cost_ns = cost_ns,
			.factor = peer->host.median > 0 ? own->host.median / peer->host.median : NAN,
			.evidence = arena_format(&search->list->arena,
				"its device waits %s an iteration for launches, other devices %s "
				"(%.0f late launches vs %.0f)",
				time_text(search, own->host.median), time_text(search, peer->host.median),
				(double)own->late_count / (double)own->sample_count,
				(double)peer->late_count / (double)peer->sample_count)});
}
