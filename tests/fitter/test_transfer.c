/*
 * Layers on another GPU: rates and tables are read or refused with a reason, a correction is that of a dense
 * solution, the same layer's efficiency is the ratio of rooflines, GPUs of a known law are predicted, five
 * rows find a GPU's factor or its late launches, and nothing depends on threads.
 */
#include "../analyzer/check.h"
#include "base/random.h"
#include "step/cholesky.h"
#include "transfer/correction.h"
#include "transfer/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool near(double a, double b, double share)
{
	return fabs(a - b) <= share * fabs(b);
}

static void test_rates(void)
{
	static const char *const wrong[] = {"", "T", "fast", "-3T", "0", "3X", "1e999", "3T FLOP", "nan"};

	CHECK(near(transfer_rate("15.7T"), 15.7e12, 1e-12), "15.7T");
	CHECK(near(transfer_rate("900 GB/s"), 900e9, 1e-12), "900 GB/s");
	CHECK(near(transfer_rate("9.3 TFLOP/s"), 9.3e12, 1e-12), "9.3 TFLOP/s");
	CHECK(near(transfer_rate("1.57e13"), 1.57e13, 1e-12), "1.57e13");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(transfer_rate(wrong[i]) < 0, "'%s' is taken for a rate", wrong[i]);
}

/* The correction's terms at a prediction, in these tests' scale. */
static const struct correction_scale scale = {11, 9.5};

static void terms_at(double predicted, double z[CORRECTION_TERMS])
{
	z[0] = 1;
	z[1] = (predicted - 11) / 2;
	z[2] = predicted < 9.5 ? 1 : exp(9.5 - predicted);
}

/* v I + Z P Z', P of the variances p. */
static void fill_covariance(
	double *matrix, const double *predicted, size_t count, const double p[CORRECTION_TERMS], double v)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++) {
			double a[CORRECTION_TERMS], b[CORRECTION_TERMS];

			terms_at(predicted[i], a);
			terms_at(predicted[j], b);
			matrix[i * count + j] = i == j ? v : 0;
			for (size_t k = 0; k < CORRECTION_TERMS; k++)
				matrix[i * count + j] += a[k] * p[k] * b[k];
		}
}

/* Rows with covariance v I + Z P Z' and the errors e: by its Cholesky factor, without Woodbury's identity. */
static void test_correction(void)
{
	enum { N = 5, T = CORRECTION_TERMS };
	const double predicted[N] = {10, 11, 12.5, 14, 9}, off[N] = {0.31, 0.22, 0.4, 0.55, 0.2};
	const struct correction_residual left[2] = {{{0.5, 0.3, 0.6}, 0.04}, {{-0.7, 0.1, 0.2}, 0.02}};
	struct correction prior = correction_prior(&scale, left, 2), after;
	const double p[T] = {(0.25 + 0.49) / 2, (0.09 + 0.01) / 2, (0.36 + 0.04) / 2};
	double measured[N], matrix[N * N], solved[N], z[T], surprise = 0, variance, said, expected = 13;

	CHECK(near(prior.covariance[0], p[0], 1e-12) && near(prior.covariance[4], p[1], 1e-12) &&
			near(prior.covariance[8], p[2], 1e-12) && near(prior.variance, 0.03, 1e-12),
		"the prior is not the mean of what others lacked");
	for (int pass = 0; pass < 2; pass++) { /* the second with the noise that the first gives */
		double noise = 0.03, terms[T] = {0};

		if (pass == 1)
			noise *= fmax((5 + surprise) / (5.0 + N), 0.7);
		for (size_t i = 0; i < N; i++) {
			measured[i] = predicted[i] + off[i];
			solved[i] = off[i];
		}
		fill_covariance(matrix, predicted, N, p, noise);
		CHECK(cholesky_factor(matrix, N), "the covariance is not positive definite");
		cholesky_solve(matrix, N, solved);
		for (size_t i = 0; i < N; i++) {
			surprise += pass == 0 ? off[i] * solved[i] : 0;
			terms_at(predicted[i], z);
			for (size_t k = 0; k < T; k++)
				terms[k] += p[k] * z[k] * solved[i];
		}
		if (pass == 0)
			continue;
		after = correction_after(&prior, predicted, measured, N);
		CHECK(near(after.variance, noise, 1e-9), "noise %g, not %g", after.variance, noise);
		for (size_t k = 0; k < T; k++)
			CHECK(near(after.terms[k], terms[k], 1e-9), "term %zu: %g, not %g", k, after.terms[k],
				terms[k]);
	}
	terms_at(13, z);
	for (size_t k = 0; k < T; k++)
		expected += after.terms[k] * z[k];
	said = correction_apply(&after, 13, &variance);
	CHECK(near(said, expected, 1e-12), "a correction is not applied: %g, not %g", said, expected);
	CHECK(variance > after.variance && variance < prior.variance + p[0] + p[1] + p[2], "variance %g",
		variance);
	after = correction_after(&prior, predicted, measured, 0);
	CHECK(after.terms[0] == 0 && after.variance == prior.variance, "no rows correct something");
}

/* Residuals that are terms: they are found, and no variance. One row: mostly a factor. */
static void test_measure(void)
{
	const double terms[CORRECTION_TERMS] = {0.3, 0.2, -0.4};
	double predicted[20], measured[20];
	struct correction_residual r;

	for (size_t i = 0; i < 20; i++) {
		double z[CORRECTION_TERMS];

		predicted[i] = measured[i] = 9 + 0.25 * (double)i;
		terms_at(predicted[i], z);
		for (size_t k = 0; k < CORRECTION_TERMS; k++)
			measured[i] += terms[k] * z[k];
	}
	r = correction_measure(&scale, predicted, measured, 20);
	for (size_t k = 0; k < CORRECTION_TERMS; k++)
		CHECK(near(r.terms[k], terms[k], 0.03), "term %zu: %g, not %g", k, r.terms[k], terms[k]);
	CHECK(r.variance < 1e-5, "variance %g", r.variance);
	r = correction_measure(&scale, &(double){11}, &(double){11.1}, 1);
	CHECK(r.terms[0] > 0.08 && r.terms[0] < 0.1 && fabs(r.terms[1]) < 0.01 && r.terms[2] < 0.02,
		"one row: %g %g %g", r.terms[0], r.terms[1], r.terms[2]);
}

/* GPU d: its rates, and what share of them it reaches. */
static const struct {
	const char *name;
	double flops, bandwidth, compute, memory;
} gpus[] = {
	{"a", 4e12, 300e9, 0.5, 0.7}, {"b", 10e12, 500e9, 0.5, 0.7}, {"c", 15e12, 900e9, 0.5, 0.7},
	{"d", 8e12, 700e9, 0.5, 0.7}, {"slow", 12e12, 800e9, 0.25, 0.35}, /* half of what the others reach */
};

enum { GPUS = sizeof(gpus) / sizeof(*gpus), SLOW = GPUS - 1, EACH = 120 };

static double law(size_t gpu, double flops, double bytes)
{
	return 1e9 * (flops / (gpus[gpu].flops * gpus[gpu].compute) +
			     bytes / (gpus[gpu].bandwidth * gpus[gpu].memory)) +
	       5000;
}

/* EACH layers of each of the first `count` GPUs, and of the slow one `measured` with a time and 60 without:
 * `truth` is theirs. */
static void make(struct transfer_table *t, size_t count, size_t measured, bool same, double *truth)
{
	struct random random;

	*t = (struct transfer_table){.descriptor_count = 1};
	for (size_t d = 0; d < GPUS; d++)
		*MEM_PUSH(t->devices, t->device_count, t->device_room) =
			(struct transfer_device){gpus[d].name, gpus[d].flops, gpus[d].bandwidth};
	random_init(&random, 7, 0);
	for (size_t d = 0; d < GPUS; d++) {
		size_t rows = d == SLOW ? measured + 60 : d < count ? EACH : 0;

		if (same)
			random_init(&random, 7, 0);
		for (size_t i = 0; i < rows; i++) {
			double flops = exp(20 + 5 * random_unit(&random)),
			       bytes = exp(14 + 4 * random_unit(&random));
			double noise = same ? 1 : exp(0.05 * random_normal(&random));
			struct transfer_layer *layer = MEM_PUSH(t->layers, t->count, t->room);

			*layer = (struct transfer_layer){"", d, flops, bytes, noise * law(d, flops, bytes),
				arena_alloc(&t->arena, 1, sizeof(double)), "made", i};
			layer->descriptors[0] = log(flops);
			if (d == SLOW && i >= measured) {
				truth[i - measured] = layer->time;
				layer->time = NAN;
			}
		}
	}
}

static double error_of(const struct transfer *transfer, const double *truth, double *held)
{
	double sum = 0;

	*held = 0;
	for (size_t i = 0; i < transfer->answer_count; i++) {
		const struct transfer_answer *a = &transfer->answers[i];

		sum += fabs(a->time / truth[i] - 1);
		*held += truth[i] >= a->low && truth[i] <= a->high;
	}
	*held /= (double)transfer->answer_count;
	return sum / (double)transfer->answer_count;
}

static void test_known_law(void)
{
	const struct transfer_how how = {.learn = {.seed = 1, .threads = 1}, .confidence = 0.95};
	struct transfer_how threads = how;
	struct transfer_table t;
	struct transfer none, five, again;
	double truth[60], held, sum = 0;

	make(&t, 4, 0, false, truth);
	CHECK(!transfer_predict(&none, &t, SLOW, &how), "no answer");
	CHECK(error_of(&none, truth, &held) > 0.3, "a GPU of which nothing is known is known");
	CHECK(none.trial_count == 4 && none.known_count == 4, "%zu trials", none.trial_count);
	for (size_t i = 0; i < none.trial_count; i++)
		CHECK(none.trials[i].error < 0.15 && none.trials[i].coverage > 0.9,
			"GPU %zu left out: %g, %g held", i, none.trials[i].error, none.trials[i].coverage);
	transfer_table_free(&t);

	make(&t, 4, 5, false, truth);
	CHECK(!transfer_predict(&five, &t, SLOW, &how), "no answer");
	CHECK(error_of(&five, truth, &held) < 0.15, "with five rows: %g", error_of(&five, truth, &held));
	CHECK(held > 0.9, "held %g", held);
	CHECK(near(five.factor, 2, 0.2), "factor %g, not 2", five.factor);
	CHECK(five.sum_high / five.sum_low < none.sum_high / none.sum_low, "rows make nothing surer");
	for (size_t i = 0; i < 60; i++)
		sum += truth[i];
	CHECK(sum > five.sum_low && sum < five.sum_high, "the sum %g is not in %g to %g", sum, five.sum_low,
		five.sum_high);
	threads.learn.threads = 2;
	CHECK(!transfer_predict(&again, &t, SLOW, &threads), "no answer");
	for (size_t i = 0; i < 60; i++)
		CHECK(again.answers[i].time == five.answers[i].time &&
				again.answers[i].low == five.answers[i].low,
			"threads change layer %zu", i);
	transfer_free(&again);
	transfer_free(&none);
	transfer_free(&five);
	transfer_table_free(&t);
}

/* A GPU as quick as the others whose every layer takes 0.5 ms more, up to three times the time of short ones:
 * its five rows say so, and long layers are left alone. */
static void test_late_launches(void)
{
	const struct transfer_how how = {.learn = {.seed = 1, .threads = 1}, .confidence = 0.95};
	struct transfer_table t;
	struct transfer transfer;
	double truth[60], held, error;

	make(&t, 4, 5, false, truth);
	for (size_t k = 0; k < t.count; k++)
		if (t.layers[k].device == SLOW)
			t.layers[k].time = t.layers[k].time / 2 + 5e5;
	for (size_t i = 0; i < 60; i++)
		truth[i] = truth[i] / 2 + 5e5;
	CHECK(!transfer_predict(&transfer, &t, SLOW, &how), "no answer");
	error = error_of(&transfer, truth, &held);
	CHECK(error < 0.15, "launches of 0.5 ms: %g", error);
	CHECK(held > 0.85, "held %g", held);
	transfer_free(&transfer);
	transfer_table_free(&t);
}

/* The slow one is known, another is asked for: left out, it is as far off as it is unlike the others. */
static void test_left_out(void)
{
	const struct transfer_how how = {.learn = {.seed = 1, .threads = 1}, .confidence = 0.95};
	struct transfer_table t;
	struct transfer transfer;
	double truth[60];

	make(&t, 4, 60, false, truth);
	for (size_t k = 0; k < t.count; k++)
		if (t.layers[k].device == 3)
			t.layers[k].time = NAN;
		else if (isnan(t.layers[k].time))
			t.layers[k].time = truth[k - (t.count - 60)];
	CHECK(!transfer_predict(&transfer, &t, 3, &how), "no answer");
	CHECK(transfer.trial_count == 4 && transfer.trials[3].device == SLOW, "%zu trials",
		transfer.trial_count);
	CHECK(transfer.trials[3].unmeasured > 0.35, "the slow GPU took part in its own prediction: %g",
		transfer.trials[3].unmeasured);
	transfer_free(&transfer);
	transfer_table_free(&t);
}

/* One known GPU with the very layers: its times by the ratio of the rooflines, and no interval. */
static void test_same_layer(void)
{
	const struct transfer_how how = {.learn = {.seed = 1, .threads = 1}, .confidence = 0.95};
	struct transfer_table t;
	struct transfer transfer;
	double truth[60], least = INFINITY;

	make(&t, 1, 0, true, truth);
	for (size_t k = 0; k < EACH; k++)
		least = fmin(least, fmin(t.layers[k].time, 1e5));
	CHECK(!transfer_predict(&transfer, &t, SLOW, &how), "no answer");
	CHECK(transfer.known_count == 1 && transfer.trial_count == 0, "a GPU was left out of one");
	for (size_t i = 0; i < transfer.answer_count; i++) {
		const struct transfer_layer *layer = &t.layers[i];
		const double there = transfer_flops_ns(&t, layer, SLOW) + transfer_bytes_ns(&t, layer, SLOW);
		const double here = transfer_flops_ns(&t, layer, 0) + transfer_bytes_ns(&t, layer, 0);

		CHECK(near(transfer.answers[i].time, layer->time * (there + least / 2) / (here + least / 2),
			      1e-9),
			"layer %zu: %g", i, transfer.answers[i].time);
		CHECK(isnan(transfer.answers[i].low) && isnan(transfer.answers[i].high),
			"an interval from one GPU");
		CHECK(transfer.answers[i].basis == TRANSFER_SAME && transfer.answers[i].same_on == 1,
			"basis");
	}
	transfer_free(&transfer);
	transfer_table_free(&t);
}

static void test_no_answer(void)
{
	const struct transfer_how how = {.learn = {.seed = 1, .threads = 1}, .confidence = 0.95};
	struct transfer_table t;
	struct transfer transfer;
	double truth[60];

	make(&t, 0, 5, false, truth);
	CHECK(transfer_predict(&transfer, &t, SLOW, &how), "an answer without any other GPU");
	transfer_free(&transfer);
	transfer_table_free(&t);
}

int main(void)
{
	test_rates();
	test_correction();
	test_measure();
	test_known_law();
	test_late_launches();
	test_left_out();
	test_same_layer();
	test_no_answer();
	return check_end();
}
