/* The model of synchronous SGD: see ssgd.h. Aggregation is a chain of exchanges, each of which begins when
 * the one before has ended and the last rank has its gradients. */
#include "ssgd.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAME 1e-6 /* predictions that differ by less, relatively, are one */

#define SSGD_ITEM(name, key, equation, title, text) [SSGD_##name] = key,
const char *const ssgd_keys[SSGD_COUNT] = {SSGD_LIST(SSGD_ITEM)};
#undef SSGD_ITEM
#define SSGD_ITEM(name, key, equation, title, text) [SSGD_##name] = equation,
const char *const ssgd_equations[SSGD_COUNT] = {SSGD_LIST(SSGD_ITEM)};
#undef SSGD_ITEM
#define SSGD_ITEM(name, key, equation, title, text) [SSGD_##name] = title,
const char *const ssgd_titles[SSGD_COUNT] = {SSGD_LIST(SSGD_ITEM)};
#undef SSGD_ITEM
#define SSGD_ITEM(name, key, equation, title, text) [SSGD_##name] = text,
const char *const ssgd_texts[SSGD_COUNT] = {SSGD_LIST(SSGD_ITEM)};
#undef SSGD_ITEM

/* Means and maxima over ranks of what the published equations are made of. */
struct sums {
	double io, input, md;       /* means; input: t_io + t_h2d */
	double passes, passes_most; /* t_f + t_b + t_c */
	double update;
	double all_most;     /* t_f + t_b + t_c + t_u */
	double compute_most; /* t_f + t_b + t_u */
	double input_most;   /* with t_md */
	double rest;
};

static struct sums sums_of(const struct ssgd_shape *shape, const struct ssgd_step *step)
{
	struct sums sums = {0};
	double count = (double)shape->rank_count;

	for (size_t i = 0; i < shape->rank_count; i++) {
		const struct ssgd_rank *rank = &step->ranks[i];
		double compute = rank->forward + rank->backward;
		double passes = compute + rank->communication;

		sums.io += rank->io / count;
		sums.input += (rank->io + rank->h2d) / count;
		sums.md += rank->md / count;
		sums.passes += passes / count;
		sums.update += rank->update / count;
		sums.rest += rank->rest / count;
		sums.passes_most = fmax(sums.passes_most, passes);
		sums.all_most = fmax(sums.all_most, passes + rank->update);
		sums.compute_most = fmax(sums.compute_most, compute + rank->update);
		sums.input_most = fmax(sums.input_most, rank->io + rank->h2d + rank->md);
	}
	return sums;
}

/* What the assumption is about aggregation and input. */
struct manner {
	enum { MANNER_AFTER, MANNER_LAYERS, MANNER_BUCKETS } aggregation;
	enum { MANNER_IN_SERIES, MANNER_FILES_BESIDE, MANNER_INPUT_BESIDE } input;
	bool with_rest;
};

/* What of the input is beside the rest. */
static double beside(const struct ssgd_rank *rank, struct manner manner)
{
	return manner.input == MANNER_IN_SERIES      ? 0
	       : manner.input == MANNER_FILES_BESIDE ? rank->io
						     : rank->io + rank->h2d + rank->md;
}

static double rest_of(const struct ssgd_rank *rank, struct manner manner)
{
	return manner.with_rest ? rank->rest : 0;
}

/* When the forward pass begins. */
static double begin_of(const struct ssgd_rank *rank, struct manner manner)
{
	return rank->io + rank->h2d + rank->md - beside(rank, manner) + rest_of(rank, manner);
}

/* For each layer, when the last rank has its gradients and those of all after it; the caller frees it. For
 * aggregation after the backward pass only that of layer 0, the last of them, is needed. */
static double *find_ready(const struct ssgd_shape *shape, const struct ssgd_step *step, struct manner manner)
{
	double *ready_ns = mem_alloc(shape->layer_count + 1, sizeof(*ready_ns));

	for (size_t i = 0; i < shape->rank_count; i++) {
		const struct ssgd_rank *rank = &step->ranks[i];
		double end = begin_of(rank, manner) + rank->forward + rank->backward;

		ready_ns[0] = fmax(ready_ns[0], end);
		for (size_t l = 1; l < shape->layer_count && manner.aggregation != MANNER_AFTER; l++) {
			end -= rank->layers_ns[l - 1];
			ready_ns[l] = fmax(ready_ns[l], end);
		}
	}
	return ready_ns;
}

/* When the last exchange has ended, in the order of the program's calls. */
static double aggregate(
	const struct ssgd_shape *shape, const struct ssgd_step *step, const double *ready_ns, bool buckets)
{
	double now = 0;

	for (size_t e = 0; e < shape->exchange_count; e++) {
		const struct ssgd_exchange *exchange = &shape->exchanges[e];
		uint32_t last =
			exchange->part_count && buckets ? exchange->parts[exchange->part_count - 1].layer : 0;

		now = fmax(now, ready_ns[last]) + step->exchange_ns[e];
	}
	return now;
}

/* The same, as if each layer had an exchange of its own, with its share of the time, in order of the backward
 * pass. */
static double aggregate_layers(
	const struct ssgd_shape *shape, const struct ssgd_step *step, const double *ready_ns)
{
	double *layers_ns = mem_alloc(shape->layer_count + 1, sizeof(*layers_ns)), now = 0;

	for (size_t e = 0; e < shape->exchange_count; e++) {
		const struct ssgd_exchange *exchange = &shape->exchanges[e];

		for (uint32_t p = 0; p < exchange->part_count; p++)
			layers_ns[exchange->parts[p].layer] +=
				step->exchange_ns[e] * exchange->parts[p].share;
		if (exchange->part_count == 0)
			layers_ns[0] += step->exchange_ns[e];
	}
	for (size_t l = shape->layer_count; l-- > 0;)
		if (layers_ns[l] > 0)
			now = fmax(now, ready_ns[l]) + layers_ns[l];
	free(layers_ns);
	return now;
}

static double together(const struct ssgd_shape *shape, const struct ssgd_step *step, struct manner manner)
{
	double *ready_ns, last = 0, exchanged;

	for (size_t i = 0; i < shape->rank_count && manner.aggregation != MANNER_AFTER; i++)
		if (!step->ranks[i].layers_ns)
			return NAN;
	ready_ns = find_ready(shape, step, manner);
	exchanged = manner.aggregation == MANNER_LAYERS
			    ? aggregate_layers(shape, step, ready_ns)
			    : aggregate(shape, step, ready_ns, manner.aggregation == MANNER_BUCKETS);
	free(ready_ns);
	for (size_t i = 0; i < shape->rank_count; i++) {
		const struct ssgd_rank *rank = &step->ranks[i];
		double computed = begin_of(rank, manner) + rank->forward + rank->backward;

		last = fmax(last, fmax(exchanged, computed) + rank->update);
		last = fmax(last, beside(rank, manner) + rest_of(rank, manner));
	}
	return last;
}

/* The manner of a model of three, of which `first` is the first. */
static struct manner manner_of(enum ssgd_model model, enum ssgd_model first, unsigned input, bool with_rest)
{
	return (struct manner){(unsigned)(model - first), input, with_rest};
}

double ssgd_predict(
	const struct ssgd_shape *shape, const struct ssgd_step *step, enum ssgd_model model, bool with_rest)
{
	struct sums sums = sums_of(shape, step);
	double rest = with_rest ? sums.rest : 0, exchanged = 0;

	switch (model) {
	case SSGD_SERIES:
		return rest + sums.input + sums.passes + sums.update;
	case SSGD_IMBALANCE:
		return rest + sums.input + sums.md + sums.passes_most + sums.update;
	case SSGD_INPUT:
		return rest + fmax(sums.all_most, sums.input + sums.md);
	case SSGD_FILES:
		return rest + fmax(sums.input - sums.io + sums.md + sums.all_most, sums.io);
	case SSGD_AFTER:
	case SSGD_LAYERS:
	case SSGD_BUCKETS:
		return together(shape, step, manner_of(model, SSGD_AFTER, MANNER_IN_SERIES, with_rest));
	case SSGD_AFTER_FILES:
	case SSGD_LAYERS_FILES:
	case SSGD_BUCKETS_FILES:
		return together(
			shape, step, manner_of(model, SSGD_AFTER_FILES, MANNER_FILES_BESIDE, with_rest));
	case SSGD_AFTER_INPUT:
	case SSGD_LAYERS_INPUT:
	case SSGD_BUCKETS_INPUT:
		return together(
			shape, step, manner_of(model, SSGD_AFTER_INPUT, MANNER_INPUT_BESIDE, with_rest));
	case SSGD_BOUND:
		for (size_t e = 0; e < shape->exchange_count; e++)
			exchanged += step->exchange_ns[e];
		return rest + fmax(fmax(sums.compute_most, sums.input_most), exchanged);
	default:
		return NAN;
	}
}

/* All ranks get the mean of each time. */
static void level_ranks(const struct ssgd_shape *shape, const struct ssgd_step *step, struct ssgd_rank *ranks,
	double *layers_ns)
{
	double count = (double)shape->rank_count;
	struct ssgd_rank mean = {.layers_ns = layers_ns};

	for (size_t i = 0; i < shape->rank_count; i++) {
		const struct ssgd_rank *rank = &step->ranks[i];

		mean.io += rank->io / count;
		mean.h2d += rank->h2d / count;
		mean.md += rank->md / count;
		mean.forward += rank->forward / count;
		mean.backward += rank->backward / count;
		mean.communication += rank->communication / count;
		mean.update += rank->update / count;
		mean.rest += rank->rest / count;
		mean.compute += rank->compute / count;
		if (!rank->layers_ns)
			mean.layers_ns = NULL;
		for (size_t l = 0; l < shape->layer_count && mean.layers_ns; l++)
			layers_ns[l] += rank->layers_ns[l] / count;
	}
	for (size_t i = 0; i < shape->rank_count; i++)
		ranks[i] = mean;
}

double ssgd_slowdown(const struct ssgd_shape *shape, const struct ssgd_step *step, enum ssgd_model model)
{
	struct ssgd_rank *ranks = mem_alloc(shape->rank_count, sizeof(*ranks));
	double *layers_ns = mem_alloc(shape->layer_count, sizeof(*layers_ns));
	struct ssgd_step level = {.ranks = ranks, .exchange_ns = step->exchange_ns};
	double result;

	level_ranks(shape, step, ranks, layers_ns);
	result = ssgd_predict(shape, step, model, true) / ssgd_predict(shape, &level, model, true);
	free(ranks);
	free(layers_ns);
	return result;
}

static bool reads_ahead(enum ssgd_model model)
{
	return model == SSGD_FILES || (model >= SSGD_AFTER_FILES && model <= SSGD_BUCKETS_FILES);
}

bool ssgd_is_behaviour(const struct ssgd *ssgd, enum ssgd_model model)
{
	bool layers = model == SSGD_LAYERS || model == SSGD_LAYERS_FILES || model == SSGD_LAYERS_INPUT;
	bool buckets = model == SSGD_BUCKETS || model == SSGD_BUCKETS_FILES || model == SSGD_BUCKETS_INPUT;
	bool files = reads_ahead(model), input = model == SSGD_INPUT || model >= SSGD_AFTER_INPUT;

	bool after = model == SSGD_AFTER || model == SSGD_AFTER_FILES || model == SSGD_AFTER_INPUT;
	bool series = !files && !input && model != SSGD_BOUND;

	if ((series && ssgd->files_hidden > SSGD_MOSTLY) ||
		(after && ssgd->communication_hidden > SSGD_MOSTLY))
		return false;
	if (ssgd->parted || (layers && ssgd->bucketed) || (files && ssgd->files_hidden < SSGD_HIDDEN) ||
		(input && ssgd->copies_hidden < SSGD_HIDDEN) ||
		((layers || buckets || model == SSGD_BOUND) && ssgd->communication_hidden < SSGD_HIDDEN))
		return false;
	if (ssgd->shape.exchange_count == 0)
		return model == SSGD_IMBALANCE || model == SSGD_INPUT || model == SSGD_FILES;
	return model >= SSGD_AFTER;
}

/* Is it another's prediction in every iteration? */
static bool is_same(const struct ssgd *ssgd, enum ssgd_model model, enum ssgd_model other)
{
	for (size_t k = 0; k < ssgd->step_count; k++) {
		double a = ssgd_predict(&ssgd->shape, &ssgd->steps[k], model, true);
		double b = ssgd_predict(&ssgd->shape, &ssgd->steps[k], other, true);

		if (!(fabs(a - b) <= SAME * b))
			return false;
	}
	return true;
}

static bool is_predicted(const struct ssgd *ssgd, enum ssgd_model model)
{
	if (model >= SSGD_AFTER && (ssgd->parted || ssgd->shape.exchange_count == 0))
		return false;
	if (reads_ahead(model) && ssgd->files_hidden < SSGD_HIDDEN)
		return false;
	switch (model) {
	case SSGD_LAYERS:
	case SSGD_LAYERS_FILES:
	case SSGD_LAYERS_INPUT:
		return !ssgd->unpredicted;
	case SSGD_BUCKETS:
	case SSGD_BUCKETS_FILES:
	case SSGD_BUCKETS_INPUT:
		return !ssgd->unpredicted && ssgd->bucketed &&
		       !is_same(ssgd, model, (enum ssgd_model)(model - 2)); /* all in one: after */
	default:
		return true;
	}
}

static void find_figure(struct ssgd *ssgd, enum ssgd_model model, double *values)
{
	struct ssgd_figure *figure = &ssgd->figures[model];

	figure->predicted = is_predicted(ssgd, model);
	if (!figure->predicted)
		return;
	for (size_t k = 0; k < ssgd->step_count; k++)
		values[k] = ssgd_predict(&ssgd->shape, &ssgd->steps[k], model, false);
	figure->plain = analysis_statistics(values, ssgd->step_count);
	for (size_t k = 0; k < ssgd->step_count; k++)
		values[k] = ssgd_predict(&ssgd->shape, &ssgd->steps[k], model, true);
	figure->full = analysis_statistics(values, ssgd->step_count);
	for (size_t k = 0; k < ssgd->step_count; k++)
		values[k] = fabs(ssgd_predict(&ssgd->shape, &ssgd->steps[k], model, true) /
					 ssgd->steps[k].measured_ns -
				 1);
	figure->off = analysis_statistics(values, ssgd->step_count).median;
	figure->error = figure->plain.mean / ssgd->measured.mean - 1;
	figure->full_error = figure->full.mean / ssgd->measured.mean - 1;
}

static double hidden(double all, double exposed)
{
	return all > 0 ? fmax(1 - exposed / all, 0) : 0;
}

/* How much of the input and of the communication is beside other work. */
static void find_hidden(struct ssgd *ssgd)
{
	struct ssgd_rank sum = {0};

	for (size_t k = 0; k < ssgd->step_count; k++)
		for (size_t i = 0; i < ssgd->shape.rank_count; i++) {
			const struct ssgd_rank *rank = &ssgd->steps[k].ranks[i];

			sum.io += rank->io;
			sum.io_exposed += rank->io_exposed;
			sum.h2d += rank->h2d + rank->md;
			sum.copies_exposed += rank->copies_exposed;
			sum.communication += rank->communication;
			sum.communication_exposed += rank->communication_exposed;
		}
	ssgd->files_hidden = hidden(sum.io, sum.io_exposed);
	ssgd->copies_hidden = hidden(sum.h2d, sum.copies_exposed);
	ssgd->communication_hidden = hidden(sum.communication, sum.communication_exposed);
}

static void find_best(struct ssgd *ssgd)
{
	double least = INFINITY;

	ssgd->best = SSGD_COUNT;
	for (int m = 0; m < SSGD_COUNT; m++) {
		const struct ssgd_figure *figure = &ssgd->figures[m];

		if (!figure->predicted || !ssgd_is_behaviour(ssgd, (enum ssgd_model)m) ||
			!(figure->off < least - (ssgd->best == SSGD_COUNT ? 0 : SSGD_ALIKE)))
			continue;
		least = figure->off;
		ssgd->best = (enum ssgd_model)m;
	}
}

bool ssgd_is_alike(const struct ssgd *ssgd, enum ssgd_model model)
{
	return model != ssgd->best && ssgd->figures[model].predicted && ssgd_is_behaviour(ssgd, model) &&
	       ssgd->figures[model].off < ssgd->figures[ssgd->best].off + SSGD_ALIKE;
}

void ssgd_find(const struct analysis *analysis, struct ssgd *ssgd)
{
	double *values;

	memset(ssgd, 0, sizeof(*ssgd));
	ssgd_gather(analysis, ssgd);
	values = mem_alloc(ssgd->step_count, sizeof(*values));
	for (size_t k = 0; k < ssgd->step_count; k++)
		values[k] = ssgd->steps[k].measured_ns;
	ssgd->measured = analysis_statistics(values, ssgd->step_count);
	for (size_t k = 0; k < ssgd->step_count; k++)
		values[k] = sums_of(&ssgd->shape, &ssgd->steps[k]).rest;
	ssgd->rest = analysis_statistics(values, ssgd->step_count);
	find_hidden(ssgd);
	for (int m = 0; m < SSGD_COUNT; m++)
		find_figure(ssgd, (enum ssgd_model)m, values);
	find_best(ssgd);
	ssgd->slowdown = NAN;
	if (ssgd->shape.rank_count > 1 && ssgd->best < SSGD_COUNT) {
		for (size_t k = 0; k < ssgd->step_count; k++)
			values[k] = ssgd_slowdown(&ssgd->shape, &ssgd->steps[k], ssgd->best);
		ssgd->slowdown = analysis_statistics(values, ssgd->step_count).mean;
	}
	free(values);
}

void ssgd_free(struct ssgd *ssgd)
{
	arena_free(&ssgd->arena);
	memset(ssgd, 0, sizeof(*ssgd));
}

struct ssgd_speedup ssgd_speedup(const struct ssgd *single, const struct ssgd *several, double work)
{
	double before = 0, after = 0;

	for (size_t k = 0; k < single->step_count; k++) {
		struct sums sums = sums_of(&single->shape, &single->steps[k]);

		before += fmax(sums.input, sums.compute_most) / (double)single->step_count;
	}
	for (size_t k = 0; k < several->step_count; k++) {
		struct sums sums = sums_of(&several->shape, &several->steps[k]);

		after += fmax(sums.input + sums.md, sums.passes_most) / (double)several->step_count;
	}
	return (struct ssgd_speedup){
		work * single->measured.mean / several->measured.mean,
		work * single->figures[SSGD_SERIES].plain.mean / several->figures[SSGD_IMBALANCE].plain.mean,
		work * before / after,
	};
}
