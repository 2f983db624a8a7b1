/* Causes that show in comparison with a worker that has the same layers and is faster. */
#include "cause_find.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *time_text(struct cause_search *search, double ns)
{
	return print_time(&search->list->arena, ns);
}

static const char *layer_text(const struct cause_search *search, uint32_t layer)
{
	return layer == LAYER_NONE ? "work outside layers"
				   : layer_title(&search->own->worker->layers.items[layer]);
}

double cause_slow_copying(const struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	double later_ns = own->lead.median - peer->lead.median;
	double more_ns = own->h2d.median + own->md.median - peer->h2d.median - peer->md.median;
	double expected_ns = (peer->h2d.median + peer->md.median) * (search->comparison.factor - 1);

	if (!search->comparison.slower)
		return 0;
	return fmax(0, fmin(later_ns, fmin(more_ns, expected_ns)));
}

/* "64x512": 32768; 0: not known. */
static double elements_of(const char *input)
{
	double elements = *input ? 1 : 0;
	char *end;

	for (; *input; input = *end ? end + 1 : end) {
		elements *= strtod(input, &end);
		if (end == input)
			return 0;
	}
	return elements;
}

static const struct layer *layer_named(const struct layer_list *layers, const char *name)
{
	for (size_t i = 0; i < layers->count; i++)
		if (strcmp(layers->items[i].name, name) == 0)
			return &layers->items[i];
	return NULL;
}

bool cause_is_without_sizes(const struct cause_search *search)
{
	const struct cause_measure *own = search->own;

	for (size_t i = 0; i < own->cell_count; i++)
		if (own->cells[i].phase == PHASE_FORWARD && own->cells[i].work > 1)
			return false;
	return true;
}

/* How many times as large a layer's input is as that of the peer's layer; 0: not known. */
static double input_ratio(
	const struct cause_search *search, const struct layer *layer, const struct layer **peers)
{
	double others;

	*peers = layer_named(&search->peer->worker->layers, layer->name);
	others = *peers ? elements_of((*peers)->input) : 0;
	return others > 0 ? elements_of(layer->input) / others : 0;
}

/* Median over the layers; NaN: not known. */
static double usual_input_ratio(const struct cause_search *search)
{
	const struct layer_list *layers = &search->own->worker->layers;
	double *ratios = arena_alloc(&search->list->arena, layers->count + 1, sizeof(*ratios));
	const struct layer *peers;
	size_t count = 0;

	for (size_t i = 0; i < layers->count; i++) {
		ratios[count] = input_ratio(search, &layers->items[i], &peers);
		count += ratios[count] > 0;
	}
	return analysis_statistics(ratios, count).median;
}

/* "that of fc1 is 96x512, on other ranks 64x512": the first layer that has the ratio. */
static const char *input_words(const struct cause_search *search, double ratio)
{
	const struct layer_list *layers = &search->own->worker->layers;
	struct arena *arena = &search->list->arena;
	const struct layer *peers;

	for (size_t i = 0; i < layers->count; i++)
		if (input_ratio(search, &layers->items[i], &peers) >= ratio)
			return arena_format(arena, ": that of %s is %s, on other ranks %s",
				print_clean(arena, layer_title(&layers->items[i])), layers->items[i].input,
				peers->input);
	return "";
}

/* Operations that take longer, on larger inputs: false where the inputs are not known to explain it. */
static bool add_larger_input(struct cause_search *search, double ns)
{
	const struct cause_comparison *c = &search->comparison;
	double ratio = cause_is_without_sizes(search) ? usual_input_ratio(search) : NAN;

	if (!(ratio - 1 >= MOSTLY * (c->factor - 1)))
		return false;
	cause_add(search,
		(struct cause){.kind = CAUSE_WORK,
			.inferred = true,
			.cost_ns = ns,
			.factor = ratio,
			.evidence = arena_format(&search->list->arena,
				"its layers take %.2f× the time, and their input is %.2f× as large%s, where the "
				"trace shows it first",
				c->factor, ratio, input_words(search, ratio))});
	return true;
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
	ns += cause_slow_copying(search);
	if (add_larger_input(search, ns))
		return;
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

bool cause_figure_counts(const struct cause_search *search, const struct cause_figure *figure,
	const struct cause_figure *peers, double cost_ns)
{
	return cost_ns >= CAUSE_RESIDUE * cause_excess(search) &&
	       cause_recurs(search->own, figure, peers->median + cost_ns / 4) >= CAUSE_RECURS;
}

/* Each costs little, all of them enough: one kind of operation may be slow. */
static void add_small_layers(struct cause_search *search, double ns, double own_ns, size_t count)
{
	double factor = own_ns > ns ? own_ns / (own_ns - ns) : 1;

	if (count < 2 || ns < CAUSE_RESIDUE * cause_excess(search))
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
		if (residue < CAUSE_RESIDUE * cause_excess(search)) {
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
		evidence = arena_format(arena, "%s more operations per iteration than other ranks%s%s",
			print_figure(arena, layer->own_count - layer->other_count, 3), layer->added ? ", including " : "",
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
		if (c->layers[i].work_ns >= CAUSE_RESIDUE * cause_excess(search) &&
			layer_recurs(search, &c->layers[i]))
			add_more_in(search, &c->layers[i]);
}
