/* Layers on another GPU: see transfer.h. */
#include "transfer.h"
#include "base/random.h"
#include "base/statistics.h"
#include "base/student.h"
#include "correction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 1000  /* of a GPU, that take part in learning and in trials: more change little */
#define DRAWS 20   /* of measured rows, of a GPU that is left out */
#define BRIEF 0.05 /* quantile of known times: so short a layer is launches alone */
#define MOST_WIDENED 3

/* A GPU that is left out: its rows, and what is said of them without it. */
struct left_out {
	size_t device, count;
	size_t *rows;                         /* of the table */
	double *predicted, *plain, *measured; /* logarithms */
	struct correction_residual residual;
	double *surprise; /* |error| over its deviation, of the rows that were not drawn, over all draws */
	size_t surprise_count;
	double error, unmeasured;
};

struct work {
	const struct transfer_table *table;
	const struct transfer_how *how;
	size_t target, known_count;
	size_t **rows;    /* of each device: measured layers, in random order */
	size_t *counts;   /* of each device */
	bool prefer_same; /* the same layer's efficiency is nearer than the learned one */
	struct correction_scale scale;
	struct left_out *left; /* by known device */
};

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void collect(struct work *w)
{
	const struct transfer_table *t = w->table;

	w->rows = mem_alloc(t->device_count, sizeof(*w->rows));
	w->counts = mem_alloc(t->device_count, sizeof(*w->counts));
	for (size_t d = 0; d < t->device_count; d++) {
		struct random random;

		w->rows[d] = mem_alloc(t->count + 1, sizeof(**w->rows));
		for (size_t k = 0; k < t->count; k++)
			if (t->layers[k].device == d && isfinite(t->layers[k].time))
				w->rows[d][w->counts[d]++] = k;
		random_init(&random, w->how->learn.seed, d);
		random_shuffle(&random, w->rows[d], w->counts[d]);
		w->known_count += d != w->target && w->counts[d];
	}
}

/* Rows of all known devices but one: at most `most` of each. The caller frees them. */
static size_t *train_rows(const struct work *w, size_t without, size_t most, size_t *count)
{
	size_t *rows = mem_alloc(w->table->count + 1, sizeof(*rows));

	*count = 0;
	for (size_t d = 0; d < w->table->device_count; d++)
		for (size_t i = 0; d != w->target && d != without && i < least(w->counts[d], most); i++)
			rows[(*count)++] = w->rows[d][i];
	return rows;
}

/* What is said of layers without the target and `without`. */
struct base {
	double *learned, *same, *plain;
	size_t *same_on;
};

static void base_init(struct base *base, const struct work *w, size_t without, const size_t *asked,
	size_t count, size_t device)
{
	size_t drawn_count, all_count;
	size_t *drawn = train_rows(w, without, ROWS, &drawn_count);
	size_t *all = train_rows(w, without, SIZE_MAX, &all_count);

	*base = (struct base){mem_alloc(count + 1, sizeof(double)), mem_alloc(count + 1, sizeof(double)),
		mem_alloc(count + 1, sizeof(double)), mem_alloc(count + 1, sizeof(size_t))};
	efficiency_learn(w->table, drawn, drawn_count, asked, count, device, &w->how->learn, base->learned);
	efficiency_same(w->table, all, all_count, asked, count, device, base->same, base->same_on);
	efficiency_plain(w->table, all, all_count, asked, count, device, base->plain);
	free(drawn);
	free(all);
}

static void base_free(struct base *base)
{
	free(base->learned);
	free(base->same);
	free(base->plain);
	free(base->same_on);
}

static double choose(const struct work *w, const struct base *base, size_t i)
{
	return w->prefer_same && base->same_on[i] ? base->same[i] : base->learned[i];
}

/* Leaves each known device out, and decides for one of the two efficiencies. */
static void leave_out(struct work *w)
{
	struct base *bases = mem_alloc(w->known_count, sizeof(*bases));
	double learned = 0, same = 0;
	size_t n = 0;

	for (size_t d = 0; d < w->table->device_count; d++) {
		struct left_out *left = &w->left[n];

		if (d == w->target || !w->counts[d])
			continue;
		if (w->how->progress)
			w->how->progress(w->table->devices[d].name);
		*left = (struct left_out){
			.device = d, .count = least(w->counts[d], ROWS), .rows = w->rows[d]};
		left->measured = mem_alloc(left->count, sizeof(double));
		base_init(&bases[n], w, d, left->rows, left->count, d);
		for (size_t i = 0; i < left->count; i++) {
			left->measured[i] = log(w->table->layers[left->rows[i]].time);
			if (!bases[n].same_on[i])
				continue;
			learned += fabs(bases[n].learned[i] - left->measured[i]);
			same += fabs(bases[n].same[i] - left->measured[i]);
		}
		n++;
	}
	w->prefer_same = same < learned;
	for (size_t k = 0; k < n; k++) {
		struct left_out *left = &w->left[k];

		left->plain = bases[k].plain;
		left->predicted = mem_alloc(left->count, sizeof(double));
		for (size_t i = 0; i < left->count; i++)
			left->predicted[i] = choose(w, &bases[k], i);
		bases[k].plain = NULL;
		base_free(&bases[k]);
	}
	free(bases);
}

/* Of the log times of known devices' rows, by which the correction's terms are. */
static struct correction_scale scale_of(const struct work *w)
{
	size_t count;
	size_t *rows = train_rows(w, SIZE_MAX, SIZE_MAX, &count);
	double *logs = mem_alloc(count + 1, sizeof(*logs));
	struct correction_scale scale = {0};

	for (size_t i = 0; i < count; i++) {
		logs[i] = log(w->table->layers[rows[i]].time);
		scale.centre += logs[i] / (double)count;
	}
	statistics_sort(logs, count);
	scale.brief = statistics_quantile_sorted(logs, count, BRIEF);
	free(logs);
	free(rows);
	return scale;
}

/* From the devices that were left out, but this one. */
static struct correction prior_without(const struct work *w, size_t without)
{
	struct correction_residual *residuals = mem_alloc(w->known_count + 1, sizeof(*residuals));
	struct correction prior;
	size_t count = 0;

	for (size_t k = 0; k < w->known_count && w->known_count > 1; k++)
		if (k != without)
			residuals[count++] = w->left[k].residual;
	prior = correction_prior(&w->scale, residuals, count);
	free(residuals);
	return prior;
}

static double error_of(const double *predicted, const double *measured, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += fabs(exp(predicted[i] - measured[i]) - 1);
	return sum / (double)count;
}

/* As if `drawn` of its rows were measured: how far the others are off, many times. */
static void try_left_out(struct work *w, size_t k, size_t drawn)
{
	struct left_out *left = &w->left[k];
	const struct correction prior = prior_without(w, k);
	double *predicted = mem_alloc(left->count, sizeof(double)),
	       *measured = mem_alloc(left->count, sizeof(double));
	size_t *order = mem_alloc(left->count, sizeof(*order)), tried = 0;
	const size_t draws = drawn ? DRAWS : 1;
	struct random random;

	left->unmeasured = error_of(left->predicted, left->measured, left->count);
	left->error = NAN;
	left->surprise = mem_alloc(draws * left->count + 1, sizeof(double));
	random_init(&random, w->how->learn.seed, 100 + k);
	for (size_t i = 0; i < left->count; i++)
		order[i] = i;
	for (size_t draw = 0; draw < draws && drawn < left->count; draw++) {
		struct correction c;

		random_shuffle(&random, order, left->count);
		for (size_t i = 0; i < drawn; i++) {
			predicted[i] = left->predicted[order[i]];
			measured[i] = left->measured[order[i]];
		}
		c = correction_after(&prior, predicted, measured, drawn);
		for (size_t i = drawn; i < left->count; i++, tried++) {
			double variance, said = correction_apply(&c, left->predicted[order[i]], &variance);
			double off = left->measured[order[i]] - said;

			left->surprise[left->surprise_count++] = fabs(off) / sqrt(variance);
			left->error = (tried ? left->error : 0) + fabs(expm1(-off));
		}
	}
	left->error /= (double)tried;
	free(predicted);
	free(measured);
	free(order);
}

/* Of a normal distribution: the t of very many degrees. */
static double normal_quantile(double confidence)
{
	return student_quantile(confidence, 1e9);
}

/* A row of a device that was left out, with its share of all rows of that device. */
struct surprise {
	double size, share;
};

static int by_size(const void *left, const void *right)
{
	const struct surprise *a = left, *b = right;

	return (a->size > b->size) - (a->size < b->size);
}

/* The factor with which intervals would have held as often as they say over all devices, each of which counts
 * alike; NAN: nothing was tried. */
static double widened_of(const struct work *w)
{
	const double usual = normal_quantile(w->how->confidence);
	struct surprise *all;
	double held = 0, factor = NAN;
	size_t count = 0, room = 0, devices = 0;

	for (size_t k = 0; k < w->known_count; k++)
		room += w->left[k].surprise_count;
	all = mem_alloc(room + 1, sizeof(*all));
	for (size_t k = 0; k < w->known_count; k++) {
		const struct left_out *left = &w->left[k];

		for (size_t i = 0; i < left->surprise_count; i++)
			all[count++] = (struct surprise){left->surprise[i], 1 / (double)left->surprise_count};
		devices += left->surprise_count > 0;
	}
	qsort(all, count, sizeof(*all), by_size);
	for (size_t i = 0; i < count && held < w->how->confidence * (double)devices; i++) {
		held += all[i].share;
		factor = fmin(fmax(all[i].size / usual, 1), MOST_WIDENED);
	}
	free(all);
	return factor;
}

static void report_trials(const struct work *w, struct transfer *transfer)
{
	const double most = transfer->widened * normal_quantile(w->how->confidence);

	transfer->trials = mem_alloc(w->known_count + 1, sizeof(*transfer->trials));
	for (size_t k = 0; k < w->known_count && w->known_count > 1; k++) {
		const struct left_out *left = &w->left[k];
		struct transfer_trial *trial = &transfer->trials[transfer->trial_count++];
		double held = 0;

		for (size_t i = 0; i < left->surprise_count; i++)
			held += left->surprise[i] <= most;
		*trial = (struct transfer_trial){left->device, left->count,
			error_of(left->plain, left->measured, left->count), left->unmeasured, left->error,
			left->surprise_count ? held / (double)left->surprise_count : NAN};
	}
}

static void answer_all(const struct work *w, struct transfer *transfer, const struct correction *correction,
	const struct base *base, const size_t *asked)
{
	const double most = transfer->widened * normal_quantile(w->how->confidence);
	double *predicted = mem_alloc(transfer->answer_count + 1, sizeof(double));
	double *times = mem_alloc(transfer->answer_count + 1, sizeof(double)), margin;

	transfer->answers = mem_alloc(transfer->answer_count + 1, sizeof(*transfer->answers));
	for (size_t i = 0; i < transfer->answer_count; i++) {
		double variance, said;

		predicted[i] = choose(w, base, i);
		said = correction_apply(correction, predicted[i], &variance);
		times[i] = exp(said);
		margin = most * sqrt(variance);
		transfer->answers[i] = (struct transfer_answer){asked[i], times[i], exp(said - margin),
			exp(said + margin), exp(base->plain[i]),
			w->prefer_same && base->same_on[i] ? TRANSFER_SAME : TRANSFER_LEARNED,
			base->same_on[i]};
		transfer->sum += times[i];
	}
	margin = most * sqrt(correction_sum_variance(correction, predicted, times, transfer->answer_count));
	transfer->sum_low = transfer->sum * exp(-margin);
	transfer->sum_high = transfer->sum * exp(margin);
	free(predicted);
	free(times);
}

/* The measured rows of the target, then those that are asked. */
static void predict(struct work *w, struct transfer *transfer)
{
	const struct transfer_table *t = w->table;
	const size_t drawn = w->counts[w->target];
	size_t *asked = mem_alloc(t->count + 1, sizeof(*asked)), count = drawn;
	double *predicted = mem_alloc(drawn + 1, sizeof(double)),
	       *measured = mem_alloc(drawn + 1, sizeof(double)), variance;
	struct base base, shifted;
	struct correction correction;

	memcpy(asked, w->rows[w->target], drawn * sizeof(*asked));
	for (size_t k = 0; k < t->count; k++)
		if (t->layers[k].device == w->target && !isfinite(t->layers[k].time))
			asked[count++] = k;
	transfer->answer_count = count - drawn;
	base_init(&base, w, w->target, asked, count, w->target);
	for (size_t i = 0; i < drawn; i++) {
		predicted[i] = choose(w, &base, i);
		measured[i] = log(t->layers[asked[i]].time);
	}
	correction = prior_without(w, SIZE_MAX);
	correction = correction_after(&correction, predicted, measured, drawn);
	transfer->factor = exp(correction_apply(&correction, w->scale.centre, &variance) - w->scale.centre);
	shifted = (struct base){
		base.learned + drawn, base.same + drawn, base.plain + drawn, base.same_on + drawn};
	answer_all(w, transfer, &correction, &shifted, asked + drawn);
	base_free(&base);
	free(asked);
	free(predicted);
	free(measured);
}

const char *transfer_predict(struct transfer *transfer, const struct transfer_table *table, size_t target,
	const struct transfer_how *how)
{
	struct work w = {.table = table, .how = how, .target = target};
	const char *bad = NULL;

	*transfer = (struct transfer){.target = target};
	collect(&w);
	transfer->known_count = w.known_count;
	transfer->measured_count = w.counts[target];
	w.left = mem_alloc(w.known_count + 1, sizeof(*w.left));
	if (!w.known_count) {
		bad = "no layer was measured on another GPU";
	} else {
		w.scale = scale_of(&w);
		w.prefer_same = true;
		if (w.known_count > 1)
			leave_out(&w);
		for (size_t k = 0; k < w.known_count && w.known_count > 1; k++)
			w.left[k].residual = correction_measure(
				&w.scale, w.left[k].predicted, w.left[k].measured, w.left[k].count);
		for (size_t k = 0; k < w.known_count && w.known_count > 1; k++)
			try_left_out(&w, k, w.counts[target]);
		transfer->widened = widened_of(&w);
		report_trials(&w, transfer);
		predict(&w, transfer);
		if (!transfer->answer_count)
			bad = "no layer without a time is asked for";
	}
	for (size_t k = 0; k < w.known_count; k++) {
		free(w.left[k].predicted);
		free(w.left[k].plain);
		free(w.left[k].measured);
		free(w.left[k].surprise);
	}
	for (size_t d = 0; d < table->device_count; d++)
		free(w.rows[d]);
	free(w.rows);
	free(w.counts);
	free(w.left);
	return bad;
}

void transfer_free(struct transfer *transfer)
{
	free(transfer->answers);
	free(transfer->trials);
	*transfer = (struct transfer){0};
}
