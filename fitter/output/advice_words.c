/* An advice in words: see advice_table.h. */
#include "advice_table.h"
#include "base/text.h"
#include "strategy_table.h"
#include "strategy/strategy_fixed.h"
#include "strategy/strategy_torch.h"

#include <math.h>

/* Of the price: what is as cheap is not named. */
#define AS_CHEAP 0.98
#define GIB (1024.0 * 1024 * 1024)

static const char *how_many(const struct advice_print *p, struct arena *arena)
{
	const struct advice *a = p->advice;
	const char *text = arena_format(arena,
		a->pays == &a->rows[0] && a->count > 1
			? "%zu: the marginal efficiency of more is below %.0f%% (efficiency %.0f%%)."
			: "%zu: marginal efficiency stays at or above %.0f%% up to that many (efficiency "
			  "%.0f%%).",
		a->pays->gpus, 100 * a->worth, 100 * a->pays->efficiency);

	if (a->quickest != a->pays)
		text = arena_format(arena,
			"%s Faster, but not worth the cost: %zu (%s) %.6g samples/s, limited by %s.",
			text, a->quickest->gpus, strategy_names[a->quickest->best->name],
			a->quickest->best->rate, advice_limits[a->quickest->best->limit]);
	if (a->pays->efficiency < AS_CHEAP * a->cheapest->efficiency)
		text = arena_format(arena, "%s Cheapest a sample: %zu, %.0f%% of the price at %zu.", text,
			a->cheapest->gpus, 100 * a->pays->efficiency / a->cheapest->efficiency,
			a->pays->gpus);
	return text;
}

const char *advice_first(const struct advice_print *p, struct arena *arena)
{
	const struct advice_check *check = p->advice->delayed;

	if (!check)
		return NULL;
	return arena_format(arena,
		"%s: at most %s of the %s that %zu GPUs take (%.1f%%). Fix that before adding GPUs: without it a step takes as "
		"little as %s. All that follows is without it; \"delayed\" is a step with it. More: pmanalyze report %s.",
		check->straggler ? check->straggler : "Stragglers", print_time_like(arena, check->delay, check->iteration),
		print_time(arena, check->iteration), check->gpus, 100 * check->delay / check->iteration,
		print_time_like(arena, check->iteration - check->delay, check->iteration), check->run);
}

/* "or gpipe: ..." of all that tie with the best; NULL: none does. */
static const char *tie(const struct advice_row *row, struct arena *arena)
{
	const char *names = NULL;
	double farthest = 0, missed = 0;

	for (size_t i = 0; i < STRATEGY_NAME_COUNT; i++) {
		const struct advice_way *way = &row->ways[i];
		const double its = advice_tie(row, way);

		if (!(its > 0))
			continue;
		names = names ? arena_format(arena, "%s or %s", names, strategy_names[way->name])
			      : strategy_names[way->name];
		farthest = fmax(farthest, fabs(way->time / row->best->time - 1));
		missed = fmax(missed, its);
	}
	if (!names)
		return NULL;
	return arena_format(arena,
		"%s; a tie with %s: predicted within %.1f%% of each other; such predictions show which is faster only above a difference of %.1f%%.",
		strategy_names[row->best->name], names, 100 * farthest, 100 * missed);
}

static const char *which(const struct advice_print *p, struct arena *arena)
{
	const struct advice_row *row = p->advice->pays;
	const char *workers =
		strategy_table_workers(arena, row->best->name, &row->best->choice, p->advice->cluster);
	const char *name = strategy_names[row->best->name], *tied;

	if (*workers)
		name = arena_format(arena, "%s (%s)", name, workers);
	if (!row->second && row->gpus > 1 && advice_is_outside(p->advice))
		return arena_format(arena,
			"%s; pipelines are not considered: %.0f%% of the iteration is neither in layers nor input, and how a pipeline would divide it is unknown.",
			name, 100 * (p->advice->run.other - p->advice->run.input) / p->advice->run.iteration);
	if (!row->second)
		return arena_format(arena, "%s%s.", name,
			row->gpus > 1 ? "; no other that learns from current weights is possible and fits"
				      : "");
	tied = tie(row, arena);
	if (tied)
		return tied;
	if (advice_is_close(row))
		return arena_format(arena,
			"%s; %s, predicted %.2f× its time, may be as fast: the ranges overlap.", name,
			strategy_names[row->second->name], row->second->time / row->best->time);
	return arena_format(arena, "%s; the next, %s, takes %.2f× its time.", name,
		strategy_names[row->second->name], row->second->time / row->best->time);
}

static const char *duration(struct arena *arena, double seconds)
{
	return seconds < 1      ? print_time(arena, seconds * 1e9)
	       : seconds < 120  ? arena_format(arena, "%.3g s", seconds)
	       : seconds < 7200 ? arena_format(arena, "%.3g min", seconds / 60)
				: arena_format(arena, "%.3g h", seconds / 3600);
}

static const char *how_long(const struct advice_print *p, struct arena *arena)
{
	const struct advice *a = p->advice;
	const struct advice_row *row = a->pays;
	const struct advice_way *way = row->best;
	double batch = advice_batch(a, row->gpus), iterations = ceil(p->samples / batch * (1 - 1e-12));
	const char *text = arena_format(arena, "%g samples in %s (%s to %s): %.6g samples/s, %.3g× one GPU.",
		batch, print_time(arena, way->time), print_time_like(arena, way->low, way->time),
		print_time_like(arena, way->high, way->time), way->rate, row->efficiency * (double)row->gpus);

	if (p->samples > 0)
		text = arena_format(arena, "%s %.6g sample%s %s (%s to %s), %.6g iteration%s.", text,
			p->samples, p->samples == 1 ? " takes" : "s take",
			duration(arena, iterations * way->time / 1e9),
			duration(arena, iterations * way->low / 1e9),
			duration(arena, iterations * way->high / 1e9), iterations,
			iterations == 1 ? "" : "s");
	return text;
}

static const char *what_limits(const struct advice_print *p, struct arena *arena)
{
	const struct advice_way *way = p->advice->pays->best;

	return arena_format(
		arena, "%s, %.0f%% of the iteration.", advice_limits[way->limit], 100 * way->share);
}

/* How far off the prediction was where it was measured. */
static const char *missed(const struct advice *a, struct arena *arena)
{
	const struct advice_check *worst = NULL;

	for (size_t i = 0; i < a->check_count; i++) {
		const struct advice_check *check = &a->checks[i];

		if (!worst || fabs(log(advice_missed(check))) > fabs(log(advice_missed(worst))))
			worst = check;
	}
	if (!worst)
		return "no run on several GPUs is among them: one would check it";
	return arena_format(arena, "%zu GPUs took %.1f%% %s than predicted%s", worst->gpus,
		100 * fabs(advice_missed(worst) - 1), advice_missed(worst) < 1 ? "less" : "more",
		worst->delay > 0 ? ", without their stragglers" : "");
}

static const char *how_sure(const struct advice_print *p, struct arena *arena)
{
	const struct advice *a = p->advice;
	const struct advice_way *way = a->pays->best;

	if (way->strength == ADVICE_MEASURED)
		return arena_format(
			arena, "measured on %zu GPU%s.", a->pays->gpus, a->pays->gpus > 1 ? "s" : "");
	return arena_format(arena,
		"%s: the range is %.0f%% wide, from layers measured on %s; %s. The interval assumes "
		"the link speeds of %s.",
		advice_strengths[way->strength], 100 * (way->high / way->low - 1),
		a->run.gpus > 1 ? arena_format(arena, "%zu GPUs", a->run.gpus) : "one GPU", missed(a, arena),
		p->cluster);
}

/* Of all that was tried, what needs least of a GPU, and the most micro-batches of a pipeline. */
static const struct advice_way *nearest_to_fit(const struct advice *a, size_t *gpus, size_t *micro_batches)
{
	const struct advice_way *nearest = NULL;

	*micro_batches = 0;
	for (size_t i = 0; i < a->count * STRATEGY_NAME_COUNT; i++) {
		const struct advice_row *row = &a->rows[i / STRATEGY_NAME_COUNT];
		const struct advice_way *way = &row->ways[i % STRATEGY_NAME_COUNT];

		if (!way->choice.possible || way->choice.fits)
			continue;
		*micro_batches = way->choice.tried > *micro_batches ? way->choice.tried : *micro_batches;
		if (nearest && nearest->choice.memory <= way->choice.memory)
			continue;
		nearest = way;
		*gpus = row->gpus;
	}
	return nearest;
}

/* Strategies that fit, and that were not validated against a run: "zero-3 on 4 GPUs"; NULL: none. */
static const char *untried_that_fit(const struct advice *a, struct arena *arena)
{
	const char *text = NULL;

	for (size_t s = 0; s < STRATEGY_NAME_COUNT; s++)
		for (size_t r = 0; r < a->count; r++) {
			const struct advice_way *way = &a->rows[r].ways[s];

			if (isnan(way->time))
				continue;
			text = arena_format(arena, "%s%s%s on %zu GPU%s", text ? text : "", text ? ", " : "",
				strategy_names[s], a->rows[r].gpus, pm_text_plural(a->rows[r].gpus));
			break;
		}
	return text;
}

/* Why there is no recommendation: what was tried, what is nearest, what may help. */
static const char *nothing_fits(const struct advice_print *p, struct arena *arena)
{
	const struct advice *a = p->advice;
	const char *untried = untried_that_fit(a, arena), *text;
	size_t gpus = 0, micro_batches;
	const struct advice_way *nearest = nearest_to_fit(a, &gpus, &micro_batches);

	text = arena_format(arena,
		"not known: no strategy that may be recommended fits into a GPU's %.3g GiB.",
		a->cluster->memory / GIB);
	if (untried)
		text = arena_format(arena,
			"%s What fits is not recommended, as it was not validated against a run: %s.", text,
			untried);
	if (nearest)
		text = arena_format(arena, "%s Nearest: %s on %zu GPU%s needs %.3g GiB.", text,
			strategy_names[nearest->name], gpus, pm_text_plural(gpus),
			nearest->choice.memory / GIB);
	text = arena_format(arena, "%s Tried: %s%zu GPU%s, all strategies", text,
		a->count > 1 ? "up to " : "", a->counts[a->count - 1],
		pm_text_plural(a->counts[a->count - 1]));
	if (micro_batches)
		text = arena_format(arena, "%s, pipelines with up to %zu micro-batch%s%s", text,
			micro_batches, micro_batches == 1 ? "" : "es",
			a->net.is_torch ? "" : " and recomputation");
	return arena_format(arena,
		"%s. More GPUs (--gpus), or a run with a smaller batch, may fit; a --cluster with memory_gib has GPUs of another size.",
		text);
}

void advice_answers(const struct advice_print *p, struct arena *arena, struct advice_answer *answers)
{
	static const char *const questions[ADVICE_QUESTIONS] = {
		"How many GPUs", "Which strategy", "How long", "What limits it", "How sure"};
	static const char *(*const ask[ADVICE_QUESTIONS])(const struct advice_print *, struct arena *) = {
		how_many, which, how_long, what_limits, how_sure};

	for (size_t i = 0; i < ADVICE_QUESTIONS; i++) {
		answers[i].question = questions[i];
		answers[i].answer = p->advice->pays ? ask[i](p, arena)
				    : i             ? "not known, as nothing that may be recommended fits."
						    : nothing_fits(p, arena);
	}
}

const char *advice_base(const struct advice_print *p, struct arena *arena)
{
	const struct advice_run *run = &p->advice->run;

	return arena_format(arena, "%g samples in %s on one GPU%s, %s of it outside of the layers",
		run->batch, print_time(arena, run->iteration),
		run->gpus > 1 ? arena_format(arena, ", by a run on %zu without its exchange%s", run->gpus,
					p->advice->delayed == &p->advice->checks[0] ? " and stragglers" : "")
			      : "",
		print_time(arena, run->other));
}

static const char *links(const struct advice_print *p, struct arena *arena)
{
	const struct strategy_cluster *c = p->advice->cluster;
	const char *basis = p->is_assumed
				    ? arena_format(arena, "%s, assumed as GPUs are %s; --cluster has others",
					      p->cluster, p->advice->net.device.name)
				    : arena_format(arena, "%s, not checked", p->cluster);
	const char *text = arena_format(arena, "Links (%s): %.4g GB/s and %.4g us", basis,
		c->inside.bandwidth, c->inside.latency / 1e3);

	if (c->workers_per_node && c->workers_per_node < p->advice->counts[p->advice->count - 1])
		text = arena_format(arena,
			"%s among %zu GPUs of a node, %s%.4g GB/s and %.4g us between nodes", text,
			c->workers_per_node,
			c->network_links > 1 ? arena_format(arena, "%g times ", c->network_links) : "",
			c->between.bandwidth, c->between.latency / 1e3);
	return arena_format(arena, "%s.%s", text,
		c->measured ? arena_format(arena, " Those %s are from what %zu GPUs exchanged.",
				      c->is_measured_between ? "between nodes" : "of a node", c->measured)
			    : "");
}

/* What these predictions were compared with. */
static const char *held(const struct advice *a, struct arena *arena)
{
	const struct advice_way *best = a->pays ? a->pays->best : NULL;
	const double miss = best ? strategy_miss(best->name) : NAN;

	if (a->whole_batch > 0)
		return "Validation: runs on modelled GPUs with this batch on each; with other shares of the batch four runs of one "
		       "network, off by up to 10%, within their ranges. None on real GPUs.";
	return arena_format(arena,
		"Validation: runs on %s modelled GPUs with known links%s. None on real GPUs.",
		a->net.is_torch ? "2 and 4" : "2 to 64",
		isnan(miss) ? ""
			    : arena_format(arena, " (19 of 20 predictions of %s within %g%%)",
				      strategy_names[best->name], 100 * miss));
}

static const char *layers(const struct advice *a, struct arena *arena)
{
	const struct strategy_net *net = &a->net;
	const char *text = arena_format(arena, "%zu layers, measured with batch", net->layer_count);
	size_t known;

	for (size_t i = 0; i < net->batch_count; i++)
		text = arena_format(arena, "%s %g", text, net->batches[i]);
	if (net->batch_count > 1)
		return arena_format(arena, "%s: micro-batches lie between them or beyond.", text);
	if (net->is_opaque && !net->has_pairs) /* nothing but the batch is divided */
		return arena_format(arena, "%s.", text);
	known = strategy_fixed_count(net);
	return arena_format(arena,
		"%s only: with smaller micro-batches, part of each layer's time is assumed not to shrink (%s). A run on one GPU "
		"with a small batch would tell how much.",
		text,
		known ? arena_format(arena,
				"for %zu layers what their kind has in common, for the others at most the shortest layer's "
				"time",
				known)
		      : "at most the shortest layer's time");
}

/* Which products the plan divides, by the first block's. */
static const char *pairs(const struct advice *a, struct arena *arena)
{
	const struct strategy_net *net = &a->net;
	const char *names = "", *gpus = "", *last = net->layers[net->layer_count - 1].name;
	size_t unit = STRATEGY_ROOT, divided = 0;

	for (size_t i = 0; i < net->layer_count; i++) {
		const struct strategy_layer *layer = &net->layers[i];

		if (layer->divide != STRATEGY_COLUMNS && layer->divide != STRATEGY_ROWS)
			continue;
		unit = unit == STRATEGY_ROOT ? layer->unit : unit;
		if (layer->unit == unit)
			names = arena_format(arena, "%s%s%s by %s", names, divided++ ? ", " : "", layer->name,
				layer->divide == STRATEGY_ROWS ? "rows" : "columns");
	}
	names = arena_format(arena,
		"gpipe and 1f1b are ScheduleGPipe and Schedule1F1B, cut between blocks; what they keep in memory is not known. tensor is parallelize_module of each block: %s, and so on; the workers are taken to divide attention's heads.",
		names);
	if (net->layers[net->layer_count - 1].divide != STRATEGY_GATHERED)
		return names;
	for (size_t i = 0; i < a->count; i++) {
		const struct advice_way *way = &a->rows[i].ways[STRATEGY_NAME_TENSOR];

		if (way->choice.possible && way->choice.divides_last)
			gpus = arena_format(arena, "%s%s%zu", gpus, *gpus ? ", " : "", a->rows[i].gpus);
	}
	return *gpus ? arena_format(arena, "%s On %s GPUs with %s by columns, too, and its output gathered.",
			       names, gpus, last)
		     : names;
}

static const char *check_text(
	const struct advice_print *p, const struct advice_check *check, struct arena *arena)
{
	const char *text = arena_format(arena, "%s: %zu GPUs, measured %s%s, predicted %s for data", check->run,
		check->gpus, print_time(arena, check->iteration),
		check->delay > 0 ? arena_format(arena, ", %s without its stragglers",
					   print_time_like(arena, check->iteration - check->delay, check->iteration))
				 : "",
		print_time_like(arena, check->predicted, check->iteration));

	text = arena_format(arena, "%s; data on other numbers of GPUs is assumed to be off by as much (%.3f×)", text,
		advice_missed(check));
	if (!advice_is_far_off(advice_missed(check)))
		return arena_format(arena, "%s.", text);
	return arena_format(arena, "%s. Actual link speed or overlap probably differs from %s.", text, p->cluster);
}

void advice_assumptions(const struct advice_print *p, struct arena *arena, const char **sentences)
{
	const struct advice *a = p->advice;
	size_t count = 0;

	sentences[count++] = links(p, arena);
	sentences[count++] =
		a->cluster->memory > 0
			? arena_format(arena, "Memory: %.3g GiB a GPU%s. %s", a->cluster->memory / GIB,
				  a->cluster->memory_is_devices ? ", as the run's has" : "",
				  strategy_basis_sentences[a->memory])
			: arena_format(arena, "Memory: not checked, neither %s nor the run has a GPU's.",
				  p->cluster);
	if (a->whole_batch > 0)
		sentences[count++] = arena_format(arena,
			"Batch: %g samples on all GPUs together, so that each has fewer with more of them (strong scaling); a part of "
			"a layer's time does not shrink with them.",
			a->whole_batch);
	else
		sentences[count++] = arena_format(
			arena, "Batch: %g samples on each GPU, so that the whole batch grows.", a->run.batch);
	sentences[count++] =
		arena_format(arena, "Per-GPU overhead outside layers: %s of an iteration (%.1f%%).",
			print_time(arena, a->run.other), 100 * a->run.other / a->run.iteration);
	sentences[count++] = layers(a, arena);
	sentences[count++] = held(a, arena);
	if (a->net.is_torch)
		sentences[count++] = strategy_torch_sentence;
	if (a->net.has_pairs)
		sentences[count++] = pairs(a, arena);
	for (size_t i = 0; i < a->check_count && count + 1 < ADVICE_ASSUMPTIONS; i++)
		sentences[count++] = check_text(p, &a->checks[i], arena);
	sentences[count] = NULL;
}
