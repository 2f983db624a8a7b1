/* What a committee answers: see committee.h. */
#include "committee_private.h"
#include "base/memory.h"
#include "base/statistics.h"
#include "base/student.h"

#include <math.h>
#include <stdlib.h>

#define FEW_BATCHES 3      /* from which a line cannot be distinguished from a bend */
#define LEAST_ERROR 0.005  /* candidates better than this are equally good */
#define NORMAL_DEGREES 1e6 /* at which Student's t is the normal distribution */

const struct committee_constants committee_constants = {
	.doubt = {0, 0.10, 0.06, 0.06}, .chance = 0.03, .near = 1, .prior_rows = 8, .untried = 3, .most = 6};

/* Powers of the weights. Folds tell least about more GPUs, where the step may gain parts that no fold had:
 * there the candidates are nearer to equal. */
static const double powers[COMMITTEE_REGIONS] = {4, 4, 2, 4};

size_t candidate_forms(const struct candidate *candidate)
{
	return candidate->is_constant ? 0 : candidate->is_linear || candidate->is_short ? 1 : FORM_EXCHANGES;
}

double candidate_log(const struct candidate *candidate, const struct form_point *point, double *spread)
{
	size_t count = candidate_forms(candidate);
	double logs[FORM_EXCHANGES], mean = 0, sum = 0;

	*spread = 0;
	if (candidate->is_constant)
		return candidate->level;
	for (size_t v = 0; v < count; v++) {
		logs[v] = log(fmax(form_time(&candidate->forms[v], point), 1e-300));
		mean += logs[v] / (double)count;
	}
	for (size_t v = 0; v < count; v++)
		sum += (logs[v] - mean) * (logs[v] - mean);
	*spread = sqrt(sum / (double)count);
	return statistics_median(logs, count);
}

double candidate_answer(
	const struct candidate *candidate, const struct form_point *point, double *spread, double *variance)
{
	double form = candidate_log(candidate, point, spread);

	return form + residual_at(&candidate->residual, point, variance);
}

void candidate_residual(
	struct candidate *candidate, const struct form_point *points, const double *times, size_t count)
{
	double *logs = mem_alloc(count + 1, sizeof(*logs)), spread;

	for (size_t k = 0; k < count; k++)
		logs[k] = log(times[k]) - candidate_log(candidate, &points[k], &spread);
	residual_fit(&candidate->residual, &candidate->shape, points, logs, count);
	free(logs);
}

unsigned committee_outside(
	const struct form_point *point, const struct form_point *least, const struct form_point *greatest)
{
	const double at[] = {point->batch, point->gpus, point->nodes};
	const double low[] = {least->batch, least->gpus, least->nodes};
	const double high[] = {greatest->batch, greatest->gpus, greatest->nodes};
	unsigned outside = 0;

	for (size_t j = 0; j < 3; j++)
		if (at[j] < low[j] * (1 - 1e-9) || at[j] > high[j] * (1 + 1e-9))
			outside |= 1U << (COMMITTEE_BATCH + j);
	return outside;
}

/*
 * How much a candidate has to say on a question: by its mean error over the regions in which it lies outside,
 * or inside. A constant has no reason to grow with the batch: it is asked only where few batches leave no
 * other. An exchange linear in GPUs is right for few more and absurd for many: from two doublings on it falls
 * silent.
 */
static double weight_of(const struct committee *committee, const struct candidate *candidate,
	const struct committee_place *place)
{
	double sum = 0, power = powers[COMMITTEE_INSIDE], trust = 1;
	unsigned outside = place->outside;
	size_t count = 0;

	if (candidate->is_constant && outside >> COMMITTEE_BATCH & 1 && committee->batches > FEW_BATCHES)
		return 0;
	if (candidate->is_linear)
		trust = 1 / (1 + pow(place->more_gpus / COMMITTEE_LINEAR_REACH, 4));
	for (size_t r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		if (outside >> r & 1 && isfinite(candidate->error[r])) {
			sum += candidate->error[r];
			power = count++ ? fmin(power, powers[r]) : powers[r];
		}
	return trust *
	       pow(fmax(count ? sum / (double)count : candidate->error[COMMITTEE_INSIDE], LEAST_ERROR),
		       -power);
}

void committee_weights(
	const struct committee *committee, unsigned outside, double weights[COMMITTEE_CANDIDATES])
{
	for (size_t c = 0; c < committee->candidate_count; c++)
		weights[c] = weight_of(
			committee, &committee->candidates[c], &(struct committee_place){outside, 0});
}

double committee_combine(const struct committee *committee, const struct committee_votes *votes,
	const struct committee_place *place, double *variance)
{
	double weights[COMMITTEE_CANDIDATES], total = 0, mean = 0;

	for (size_t c = 0; c < committee->candidate_count; c++) {
		weights[c] = weight_of(committee, &committee->candidates[c], place);
		total += weights[c];
	}
	for (size_t c = 0; c < committee->candidate_count; c++)
		mean += (weights[c] /= total) * votes->logs[c];
	*variance = 0;
	for (size_t c = 0; c < committee->candidate_count; c++) {
		double apart = votes->logs[c] - mean;

		*variance += weights[c] * (votes->variance[c] + apart * apart);
		if (place->outside)
			*variance += weights[c] * votes->spread[c] * votes->spread[c];
	}
	return mean;
}

double committee_scale(const struct committee *committee, const struct form_point *point, size_t without)
{
	const struct committee_constants *constants = committee->constants;
	double sum = constants->prior_rows * committee->common, rows = constants->prior_rows;

	for (size_t k = 0; k < committee->count; k++) {
		const struct form_point *p = &committee->points[k];
		double distance = form_apart(p, point);
		double weight = k == without || !isfinite(committee->deviation[k])
					? 0
					: committee->rows[k] * exp(-distance / constants->near);

		rows += weight;
		if (weight > 0)
			sum += weight * committee->deviation[k] * committee->deviation[k];
	}
	/* Few that are met by chance tell nothing of the next. */
	return committee->count < COMMITTEE_FEW ? fmax(sum / rows, 1) : sum / rows;
}

double committee_chance(const struct committee *committee)
{
	return committee->count < COMMITTEE_FEW ? pow(committee->constants->chance, 2) : 0;
}

double committee_noise(const struct committee *committee, const struct form_point *point)
{
	const double prior_rows = committee->constants->prior_rows;
	double sum = 0, freedom = 0, near = 0, near_freedom = 0;

	for (size_t k = 0; k < committee->count; k++) {
		double degrees = committee->rows[k] - 1, weight;

		if (!(degrees > 0))
			continue;
		weight =
			exp(-form_apart(&committee->points[k], point) / committee->constants->near) * degrees;
		sum += degrees * committee->noise[k];
		freedom += degrees;
		near += weight * committee->noise[k];
		near_freedom += weight;
	}
	return freedom > 0 ? (near + prior_rows * sum / freedom) / (near_freedom + prior_rows) : 0;
}

/* By how many doublings a number lies beyond a range. */
static double beyond(double at, double low, double high)
{
	return at > high ? log2(at / high) : at < low ? log2(low / at) : 0;
}

double committee_coordinate(const struct form_point *point, enum committee_region region)
{
	return region == COMMITTEE_BATCH  ? point->batch
	       : region == COMMITTEE_GPUS ? point->gpus
					  : point->nodes;
}

double committee_reach(
	const struct form_point *point, const struct form_point *greatest, enum committee_region region)
{
	return region == COMMITTEE_INSIDE ? 0
					  : beyond(committee_coordinate(point, region), 0,
						    committee_coordinate(greatest, region));
}

void committee_away(const struct form_point *point, const struct form_point *least,
	const struct form_point *greatest, double away[COMMITTEE_REGIONS])
{
	away[COMMITTEE_INSIDE] = 0;
	for (enum committee_region r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		away[r] = beyond(committee_coordinate(point, r), committee_coordinate(least, r),
			committee_coordinate(greatest, r));
}

double committee_doubt(const struct committee *committee, const double away[COMMITTEE_REGIONS])
{
	double variance = 0;

	for (size_t r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		variance += pow(committee->constants->doubt[r] * away[r], 2);
	return variance;
}

/* Of the configuration's time: what the candidates say, widened. */
static double widened(
	const struct committee *c, const struct form_point *p, unsigned outside, double variance)
{
	double factor = 0;

	if (!outside)
		return variance * c->widen[COMMITTEE_INSIDE] * c->widen[COMMITTEE_INSIDE] *
		       committee_scale(c, p, c->count);
	for (size_t r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++)
		if (outside >> r & 1)
			factor = fmax(factor, c->widen[r]);
	return factor * factor * variance;
}

/* NULL, or why nothing that was measured tells of such a configuration. */
static const char *no_basis(const struct committee *c, const struct form_point *p, unsigned outside)
{
	if (!(p->batch > 0) || !(p->gpus >= 1) || !(p->nodes >= 1))
		return "a batch, GPUs or nodes below 1";
	if (p->nodes > p->gpus)
		return "more nodes than GPUs";
	if (p->nodes > 1 && !c->has_regime[2])
		return "no measured row has several nodes";
	if (p->gpus > 1 && p->nodes <= 1 && !c->has_regime[1])
		return "no measured row has several GPUs on one node";
	if (outside >> COMMITTEE_BATCH & 1 && c->batches < 2)
		return "all measured rows have one batch";
	return NULL;
}

/* Regions beyond which a point lies where no fold was: below the data, or farther above; inside, where too
 * few were left out to tell. */
static unsigned untried_of(const struct committee *c, const struct form_point *point, unsigned outside)
{
	unsigned untried = outside || c->count >= COMMITTEE_TELLING ? 0 : 1U << COMMITTEE_INSIDE;

	for (enum committee_region r = COMMITTEE_BATCH; r < COMMITTEE_REGIONS; r++) {
		const struct committee_try *farthest = committee_tried(c, r, HUGE_VAL);
		double reach = committee_reach(point, &c->greatest, r);

		if (outside >> r & 1 && (!farthest || reach <= 0 || reach > farthest->reach + 1e-9))
			untried |= 1U << r;
	}
	return untried;
}

/* There the candidates follow the measured rows, noise and all, and say that little is left. */
static bool is_measured(const struct committee *c, const struct form_point *point)
{
	return form_is_one_of(c->points, c->count, point);
}

void committee_vote(
	const struct committee *committee, const struct form_point *point, struct committee_votes *votes)
{
	for (size_t c = 0; c < committee->candidate_count; c++)
		votes->logs[c] = candidate_answer(
			&committee->candidates[c], point, &votes->spread[c], &votes->variance[c]);
}

/* Where a point lies, and why there is no answer, if there is none. */
static bool place_answer(
	const struct committee *committee, const struct form_point *point, struct committee_answer *answer)
{
	*answer = (struct committee_answer){NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, 0, NULL};
	answer->outside = committee_outside(point, &committee->least, &committee->greatest);
	answer->untried = untried_of(committee, point, answer->outside);
	answer->why = no_basis(committee, point, answer->outside);
	return !answer->why;
}

void committee_judge(const struct committee *committee, const struct form_point *point,
	const struct committee_votes *votes, double confidence, struct committee_answer *answer)
{
	const struct form *form = &committee->candidates[committee->best].forms[committee->best_form];
	struct committee_place place;
	double mean, variance, noise, quantile, margin, away[COMMITTEE_REGIONS];

	if (!place_answer(committee, point, answer))
		return;
	place.outside = answer->outside;
	place.more_gpus = beyond(point->gpus, 0, committee->greatest.gpus);
	mean = committee_combine(committee, votes, &place, &variance);
	committee_away(point, &committee->least, &committee->greatest, away);
	variance += committee_chance(committee) + committee_doubt(committee, away);
	noise = committee_noise(committee, point) * (is_measured(committee, point) ? 1 : committee->repeated);
	quantile = student_quantile(confidence, NORMAL_DEGREES);
	margin = quantile * sqrt(widened(committee, point, answer->outside, variance + noise));
	answer->time = exp(mean);
	answer->low = exp(mean - margin);
	answer->high = exp(mean + margin);
	if (noise > 0) {
		margin = quantile * sqrt(widened(committee, point, answer->outside, variance));
		answer->mean_low = exp(mean - margin);
		answer->mean_high = exp(mean + margin);
	}
	answer->compute = form_compute(form, point);
	answer->exchange = form_exchange(form, point);
}

void committee_predict(const struct committee *committee, const struct form_point *point, double confidence,
	struct committee_answer *answer)
{
	struct committee_votes votes;

	if (!place_answer(committee, point, answer))
		return;
	committee_vote(committee, point, &votes);
	committee_judge(committee, point, &votes, confidence, answer);
}

const struct committee_try *committee_tried(
	const struct committee *committee, enum committee_region region, double most)
{
	const struct committee_tries *tries = &committee->tries[region];
	size_t count = 0;

	while (count < tries->count && tries->tries[count].error < most)
		count++;
	return count ? &tries->tries[count - 1] : NULL;
}

void committee_restore(struct committee *committee)
{
	for (size_t c = 0; c < committee->candidate_count; c++)
		candidate_residual(
			&committee->candidates[c], committee->points, committee->times, committee->count);
}

/* "1 to 8 GPUs", "1 node". */
static const char *range_of(struct arena *arena, double least, double greatest, const char *noun)
{
	if (least == greatest)
		return arena_format(arena, "%g %s%s", least, noun, least == 1 ? "" : "s");
	return arena_format(arena, "%g to %g %ss", least, greatest, noun);
}

const char *committee_extent(const struct committee *committee, struct arena *arena)
{
	const struct form_point *least = &committee->least, *greatest = &committee->greatest;

	return arena_format(arena, "%s on %s, %s on each",
		range_of(arena, least->gpus, greatest->gpus, "GPU"),
		range_of(arena, least->nodes, greatest->nodes, "node"),
		range_of(arena, least->batch, greatest->batch, "sample"));
}

void committee_free(struct committee *committee)
{
	for (size_t c = 0; c < committee->candidate_count; c++)
		residual_free(&committee->candidates[c].residual);
	free(committee->points);
	free(committee->times);
	free(committee->compute);
	free(committee->rows);
	free(committee->noise);
	free(committee->deviation);
	*committee = (struct committee){0};
}
