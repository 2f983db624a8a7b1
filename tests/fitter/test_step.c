/*
 * The model of a training step: forms with known terms are found again, questions beyond the data are
 * answered near the truth or refused, intervals hold what they say and widen away from the data, and a file
 * gives the same answers.
 */
#include "../analyzer/check.h"
#include "base/random.h"
#include "step/cholesky.h"
#include "step/nnls.h"
#include "step/placement.h"
#include "step/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool near(double a, double b, double share)
{
	return fabs(a - b) <= share * fabs(b);
}

/* A 3 x 3 matrix by hand: L = {{2}, {1, 3}, {-1, 2, 1}}. */
static void test_cholesky(void)
{
	double matrix[9] = {4, 0, 0, 2, 10, 0, -2, 5, 6}, right[3] = {4, 12, 3};
	double indefinite[4] = {1, 0, 2, 1};

	CHECK(cholesky_factor(matrix, 3), "a positive definite matrix is refused");
	CHECK(near(matrix[3], 1, 1e-12) && near(matrix[7], 2, 1e-12) && near(matrix[8], 1, 1e-12),
		"wrong factor");
	CHECK(near(cholesky_log_determinant(matrix, 3), log(36), 1e-12), "wrong determinant");
	cholesky_solve(matrix, 3, right);
	CHECK(near(4 * right[0] + 2 * right[1] - 2 * right[2], 4, 1e-9) &&
			near(-2 * right[0] + 5 * right[1] + 6 * right[2], 3, 1e-9),
		"wrong solution");
	CHECK(!cholesky_factor(indefinite, 2), "an indefinite matrix has a factor");
}

/* Against all subsets of columns: the best feasible one is the minimum. */
static void test_nnls(void)
{
	struct random random;

	random_init(&random, 3, 0);
	for (size_t trial = 0; trial < 200; trial++) {
		double gram[16] = {0}, right[4] = {0}, x[4], slope, value = 0;

		for (size_t row = 0; row < 9; row++) {
			double a[4], b = random_normal(&random);

			for (size_t j = 0; j < 4; j++)
				a[j] = random_normal(&random);
			for (size_t j = 0; j < 4; j++) {
				right[j] += a[j] * b;
				for (size_t i = 0; i < 4; i++)
					gram[4 * i + j] += a[i] * a[j];
			}
		}
		nnls_solve(gram, right, 4, x);
		for (size_t j = 0; j < 4; j++) {
			slope = right[j];
			for (size_t i = 0; i < 4; i++)
				slope -= gram[4 * j + i] * x[i];
			value = fmax(value, x[j] > 0 ? fabs(slope) : slope);
			CHECK(x[j] >= 0, "a coefficient is %g", x[j]);
		}
		CHECK(value < 1e-8, "trial %zu: no minimum, a slope of %g is left", trial, value);
	}
}

static void test_placement(void)
{
	double gpus, nodes;

	CHECK(placement_read("4-4-2", 0, &gpus, &nodes) == 0 && gpus == 10 && nodes == 3, "4-4-2");
	CHECK(placement_read("442", 1, &gpus, &nodes) == 0 && gpus == 10 && nodes == 3, "442 by digit");
	CHECK(placement_read("16", 0, &gpus, &nodes) == 0 && gpus == 16 && nodes == 1, "16");
	CHECK(placement_read("16:16", 1, &gpus, &nodes) == 0 && gpus == 32 && nodes == 2, "16:16");
	CHECK(placement_read("", 1, &gpus, &nodes) < 0 && placement_read("4-0", 0, &gpus, &nodes) < 0 &&
			placement_read("4-", 0, &gpus, &nodes) < 0 &&
			placement_read("4x", 0, &gpus, &nodes) < 0 &&
			placement_read("99999999", 0, &gpus, &nodes) < 0 &&
			placement_read("40", 1, &gpus, &nodes) < 0,
		"an impossible placement is read");
}

/* A step as the form has it: 5 ms and 1 ms a sample, exchange of 20 ms on a node, 60 and more among them. */
static const struct form truth = {FORM_TWO_LEVELS, 2, {5, 1, 0.05, 20, 4, 60, 15, 9}, 0};

/* All of these batches on up to `gpus` GPUs, on one to four nodes, with noise. */
static size_t make_rows(struct committee_row *rows, const double *batches, size_t batch_count, double gpus,
	double noise, uint64_t seed, bool parts)
{
	struct random random;
	size_t count = 0;

	random_init(&random, seed, 0);
	for (size_t b = 0; b < batch_count; b++)
		for (double n = 1; n <= 8; n *= 2)
			for (double k = n; k <= gpus; k *= 2) {
				struct form_point point = {batches[b], k, n};
				double factor = exp(noise * random_normal(&random));

				if (k / n > 8)
					continue;
				rows[count++] =
					(struct committee_row){point, factor * form_time(&truth, &point),
						parts ? factor * form_compute(&truth, &point) : NAN};
			}
	return count;
}

static const double batches[] = {8, 16, 32, 64, 128};

/* Without noise the form that made the rows gives its terms back. */
static void test_form(void)
{
	struct committee_row rows[200];
	struct form_point points[200];
	double times[200];
	size_t count = make_rows(rows, batches, 5, 64, 0, 1, false);
	struct form form = {truth.exchange, truth.overlap, {0}, 0};

	for (size_t k = 0; k < count; k++) {
		points[k] = rows[k].point;
		times[k] = rows[k].time;
	}
	form_fit(&form, &(struct form_rows){count, points, times, NULL});
	for (size_t j = 0; j < FORM_TERMS; j++)
		CHECK(near(form.terms[j], truth.terms[j], 0.1), "term %s: %g, truth %g", form_term_name(j),
			form.terms[j], truth.terms[j]);
	for (size_t k = 0; k < count; k++)
		CHECK(near(form_time(&form, &points[k]), times[k], 0.005), "%g GPUs: %g, truth %g",
			points[k].gpus, form_time(&form, &points[k]), times[k]);
}

/* Where all steps hide their compute behind the exchange among nodes, only the measured part tells what a
 * sample takes. */
static void test_parts(void)
{
	struct committee_row rows[200], hidden[200];
	struct committee committee;
	const struct form *shown;
	size_t count = make_rows(rows, batches, 3, 64, 0.02, 2, true), kept = 0;

	for (size_t k = 0; k < count; k++)
		if (rows[k].point.nodes > 1)
			hidden[kept++] = rows[k];
	CHECK(!committee_fit(&committee, hidden, kept), "no committee");
	CHECK(committee.candidate_count == 10, "the compute column is not used");
	shown = &committee.candidates[committee.best].forms[committee.best_form];
	CHECK(near(shown->terms[1], truth.terms[1], 0.03), "a sample takes %g, truth %g", shown->terms[1],
		truth.terms[1]);
	CHECK(shown->overlap == 2, "overlap %g, truth 2", shown->overlap);
	committee_free(&committee);
}

/* A jump at the most GPUs, which no candidate foresees when they are left out: more GPUs get wider intervals.
 */
static void test_jump(void)
{
	const struct form_point more = {32, 64, 8};
	struct committee_row rows[200];
	struct committee smooth, jump;
	struct committee_answer one, other;
	size_t count = make_rows(rows, batches, 5, 32, 0.02, 6, false);

	CHECK(!committee_fit(&smooth, rows, count), "no committee");
	for (size_t k = 0; k < count; k++)
		if (rows[k].point.gpus > 16)
			rows[k].time *= 1.8;
	CHECK(!committee_fit(&jump, rows, count), "no committee");
	CHECK(jump.widen[COMMITTEE_GPUS] > 1.5 * smooth.widen[COMMITTEE_GPUS],
		"widened by %.2f, without a jump %.2f", jump.widen[COMMITTEE_GPUS],
		smooth.widen[COMMITTEE_GPUS]);
	jump.widen[COMMITTEE_NODES] = 1;
	committee_predict(&jump, &more, 0.95, &one);
	jump.widen[COMMITTEE_GPUS] = 1;
	committee_predict(&jump, &more, 0.95, &other);
	CHECK(log(one.high / one.low) > 1.3 * log(other.high / other.low),
		"intervals are not widened: %.2f, %.2f", log(one.high / one.low),
		log(other.high / other.low));
	committee_free(&smooth);
	committee_free(&jump);
}

/* Share of noisy truths that intervals hold, mean relative error of predictions, mean width of intervals. */
static void ask(const struct committee *c, const struct committee_row *rows, size_t count, double *covered,
	double *error, double *width)
{
	struct committee_answer answer;

	*covered = *error = *width = 0;
	for (size_t k = 0; k < count; k++) {
		committee_predict(c, &rows[k].point, 0.95, &answer);
		*covered += (rows[k].time >= answer.low && rows[k].time <= answer.high) / (double)count;
		*error += fabs(answer.time / rows[k].time - 1) / (double)count;
		*width += log(answer.high / answer.low) / (double)count;
	}
}

static void test_intervals(void)
{
	static const double more[] = {256, 512};
	struct committee_row rows[400], fresh[400], beyond[400];
	struct committee committee;
	double covered, error, inside, width;
	size_t count = 0, asked;

	for (uint64_t seed = 10; seed < 13; seed++)
		count += make_rows(rows + count, batches, 5, 16, 0.05, seed, false);
	CHECK(!committee_fit(&committee, rows, count), "no committee");
	asked = make_rows(fresh, batches, 5, 16, 0.05, 99, false);
	ask(&committee, fresh, asked, &covered, &error, &inside);
	CHECK(covered >= 0.9 && covered <= 1, "inside: %.3f of 0.95 covered", covered);
	CHECK(error < 0.055, "inside: %.3f error at 5%% noise", error);
	CHECK(inside < 0.35, "inside: intervals of %.2f, 0.2 is the noise", inside);
	asked = make_rows(beyond, more, 2, 16, 0.05, 98, false);
	ask(&committee, beyond, asked, &covered, &error, &width);
	CHECK(covered >= 0.9, "larger batches: %.3f covered", covered);
	CHECK(error < 0.1, "larger batches: %.3f error", error);
	CHECK(width > 1.3 * inside, "larger batches: intervals of %.2f, inside %.2f", width, inside);
	/* Never narrower than the doubt by distance, though folds met all that they left out. */
	CHECK(width > 0.5 && width < 0.7, "larger batches: intervals of %.2f, 0.2 is the noise", width);
	asked = make_rows(beyond, batches, 5, 64, 0.05, 97, false);
	ask(&committee, beyond, asked, &covered, &error, &width);
	CHECK(covered >= 0.9, "more GPUs: %.3f covered", covered);
	CHECK(error < 0.1, "more GPUs: %.3f error", error);
	committee_free(&committee);
}

/* 20 runs of each configuration with 20% of noise: intervals of a run hold runs, at those measured and
 * between; those of their mean are near what 1.96 * 20% / sqrt(20) makes them, or wider, and hold the truth.
 */
static void test_repeats(void)
{
	static const double between[] = {12, 24, 48, 96};
	struct committee_row rows[4000], fresh[400];
	struct committee committee;
	struct committee_answer answer;
	double covered, error, width, mean_width = 0, mean_covered = 0;
	size_t count = 0, asked;

	for (uint64_t seed = 20; seed < 40; seed++)
		count += make_rows(rows + count, batches, 5, 16, 0.2, seed, false);
	CHECK(!committee_fit(&committee, rows, count), "no committee");
	CHECK(near(sqrt(committee.noise[0]), 0.2, 0.5), "noise %g", sqrt(committee.noise[0]));
	for (size_t i = 0; i < 2; i++) {
		asked = make_rows(fresh, i ? between : batches, i ? 4 : 5, 16, 0.2, 98, false);
		ask(&committee, fresh, asked, &covered, &error, &width);
		CHECK(covered >= 0.9, "%s: %.3f of runs covered", i ? "between" : "measured", covered);
		CHECK(width > 0.7 && width < 1, "intervals of %.2f, 0.78 is the noise", width);
	}
	for (size_t k = 0; k < asked; k++) {
		double is = form_time(&truth, &fresh[k].point);

		committee_predict(&committee, &fresh[k].point, 0.95, &answer);
		mean_width += log(answer.mean_high / answer.mean_low) / (double)asked;
		mean_covered += (is >= answer.mean_low && is <= answer.mean_high) / (double)asked;
	}
	CHECK(mean_covered >= 0.9, "%.3f of means covered", mean_covered);
	CHECK(mean_width > 0.1 && mean_width < 0.5, "means: intervals of %.2f", mean_width);
	CHECK(committee.tries[COMMITTEE_INSIDE].tries[0].error > 0.12,
		"runs with 20%% noise are missed by %.3f", committee.tries[COMMITTEE_INSIDE].tries[0].error);
	committee_free(&committee);
}

/* Runs of one placement are from one series, off together by 15%: so many tell less than independent ones. */
static void test_series(void)
{
	double widened = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct committee_row rows[200];
		struct committee committee;
		struct random random;
		size_t count = make_rows(rows, batches, 5, 16, 0.01, seed, false);

		for (size_t r = 0; r < count; r++) {
			random_init(&random, seed, (uint64_t)(64 * rows[r].point.gpus + rows[r].point.nodes));
			rows[r].time *= exp(0.15 * random_normal(&random));
		}
		CHECK(!committee_fit(&committee, rows, count), "no committee");
		widened += committee.widen[COMMITTEE_INSIDE] / 20;
		committee_free(&committee);
	}
	CHECK(widened > 1.15, "widened by %.2f, as by independent rows", widened);
}

/* Through two batches every law passes: that a third is met then is no try, and farther is not validated. */
static void test_untried(void)
{
	static const double more[] = {256, 512};
	struct committee_row rows[400];
	struct committee committee;
	struct committee_answer answer;

	for (size_t count = 3; count <= 4; count++) {
		size_t made = make_rows(rows, batches, count, 16, 0.02, 5, false);

		CHECK(!committee_fit(&committee, rows, made), "no committee");
		CHECK((committee_tried(&committee, COMMITTEE_BATCH, HUGE_VAL) != NULL) == (count > 3),
			"%zu batches: a try of two", count);
		for (size_t b = 0; b < 2; b++) {
			committee_predict(&committee,
				&(struct form_point){more[b] * batches[count - 1] / 128, 4, 1}, 0.95,
				&answer);
			CHECK((answer.untried == 0) == (count > 3 && b == 0), "%zu batches, %g: untried %u",
				count, more[b], answer.untried);
		}
		committee_free(&committee);
	}
}

/* Amdahl's law, a whole batch that is the same, from 1 to 16 GPUs with 2% of noise: five rows answer for 32,
 * in intervals that hold it and are wide; three rows answer between. */
static void test_few(void)
{
	double held = 0, width = 0;
	struct committee committee;
	struct committee_answer answer;
	struct random random;

	random_init(&random, 8, 0);
	for (size_t trial = 0; trial < 40; trial++) {
		struct committee_row rows[5];

		for (size_t i = 0; i < 5; i++) {
			double k = (double)(1 << i);

			rows[i] = (struct committee_row){
				{1 / k, k, 1}, (0.01 + 0.1 / k) * exp(0.02 * random_normal(&random)), NAN};
		}
		CHECK(!committee_fit(&committee, rows, 5), "five rows: no committee");
		committee_predict(&committee, &(struct form_point){1.0 / 32, 32, 1}, 0.95, &answer);
		held += (answer.low < 0.013125 && answer.high > 0.013125) / 40.0;
		width += log(answer.high / answer.low) / 40;
		committee_free(&committee);
		CHECK(!committee_fit(&committee, rows, 3), "three rows: no committee");
		committee_predict(&committee, &(struct form_point){0.5, 2, 1}, 0.95, &answer);
		CHECK(near(answer.time, 0.06, 0.15) && answer.high > 1.1 * answer.low,
			"three rows: %g, %g to %g", answer.time, answer.low, answer.high);
		committee_free(&committee);
	}
	CHECK(held >= 0.95, "32 GPUs: held %.2f", held);
	CHECK(width > 0.5, "32 GPUs: intervals of %.2f from five rows", width);
}

/* What nothing measured tells of has no answer. */
static void test_refusals(void)
{
	static const struct {
		struct form_point point;
		const char *why;
	} asked[] = {
		{{16, 8, 2}, "several nodes"}, {{16, 1, 2}, "more nodes than GPUs"}, {{0, 1, 1}, "below 1"}};
	struct committee_row rows[64];
	struct committee committee;
	struct committee_answer answer;
	size_t count = 0;

	for (size_t b = 0; b < 5; b++)
		for (double k = 1; k <= 4; k *= 2) {
			struct form_point point = {batches[b], k, 1};

			rows[count++] = (struct committee_row){point, form_time(&truth, &point), NAN};
		}
	CHECK(committee_fit(&committee, rows, 2) != NULL, "two rows suffice");
	committee_free(&committee);
	CHECK(!committee_fit(&committee, rows, count), "no committee");
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		committee_predict(&committee, &asked[i].point, 0.95, &answer);
		CHECK(answer.why && strstr(answer.why, asked[i].why) && isnan(answer.time), "answered %g: %s",
			answer.time, answer.why ? answer.why : "");
	}
	committee_predict(&committee, &(struct form_point){16, 8, 1}, 0.95, &answer);
	CHECK(answer.outside == 1U << COMMITTEE_GPUS &&
			near(answer.time, form_time(&truth, &(struct form_point){16, 8, 1}), 0.15),
		"8 GPUs on a node: %g", answer.time);
	committee_free(&committee);
}

/* Two levels, one of them too small; the file answers as the model does; a changed file is refused. */
static void test_file(void)
{
	struct committee_row rows[200];
	struct step_row *table_rows;
	struct step_columns columns = {.batch = STEP_BATCH_LOCAL, .unit = (char *)"ms"};
	struct step_table table = {0};
	struct step_model model, again;
	struct step_row question = {{{24, 12, 3}, NAN, NAN}, (char *)"fast", 1};
	struct committee_answer one, other;
	size_t count = make_rows(rows, batches, 5, 16, 0.03, 5, true);
	cJSON *root;

	table_rows = calloc(count, sizeof(*table_rows));
	for (size_t k = 0; k < count; k++)
		table_rows[k] = (struct step_row){rows[k], (char *)(k < 2 ? "slow" : "fast"), k};
	table.rows = table_rows;
	table.count = count;
	CHECK(!step_model_fit(&model, &columns, &table), "no model");
	CHECK(model.level_count == 2 && model.levels[0].why && !model.levels[1].why, "wrong levels");
	root = step_model_json(&model);
	CHECK(!step_model_parse(&again, root), "the file is refused");
	step_model_predict(&model, &question, 0.9, &one);
	step_model_predict(&again, &question, 0.9, &other);
	CHECK(one.time == other.time && one.low == other.low && one.high == other.high &&
			one.compute == other.compute,
		"model %g (%g), file %g (%g)", one.time, one.low, other.time, other.low);
	question.level = (char *)"slow";
	step_model_predict(&again, &question, 0.9, &other);
	CHECK(other.why && strstr(other.why, "fewer"), "a level of two rows answers");
	question.level = (char *)"unheard";
	step_model_predict(&again, &question, 0.9, &other);
	CHECK(other.why && strstr(other.why, "not measured"), "an unknown level answers");
	step_model_free(&again);
	cJSON_ReplaceItemInObject(root, "version", cJSON_CreateNumber(99));
	CHECK(step_model_parse(&again, root) != NULL, "a file of version 99 is read");
	step_model_free(&again);
	cJSON_Delete(root);
	step_model_free(&model);
	free(table_rows);
}

int main(void)
{
	test_cholesky();
	test_nnls();
	test_placement();
	test_form();
	test_parts();
	test_jump();
	test_intervals();
	test_repeats();
	test_untried();
	test_series();
	test_few();
	test_refusals();
	test_file();
	return check_end();
}
