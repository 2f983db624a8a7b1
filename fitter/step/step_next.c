/* What to measure next: see step_next.h. */
#include "step_next.h"
#include "base/memory.h"
#include "base/parallel.h"

#include <math.h>
#include <stdlib.h>

#define UNANSWERED 20 /* logarithm that stands for the width of no answer: any answer is narrower */

/* The committee's rows and after them what is supposed to be measured. */
struct trial {
	const struct step_next *next;
	struct committee_row *rows;
	size_t count;
	double *widths; /* of each candidate */
};

static double width_of(const struct step_next *next, const struct committee *committee)
{
	double sum = 0;

	for (size_t q = 0; q < next->question_count; q++) {
		struct committee_answer answer;
		double width;

		committee_predict(committee, &next->questions[q], next->confidence, &answer);
		width = log(answer.high / answer.low);
		sum += isfinite(width) ? width : UNANSWERED;
	}
	return sum / (double)next->question_count;
}

static double ratio_of(const struct step_next *next, double width)
{
	return width < UNANSWERED / (double)next->question_count ? exp(width) : NAN;
}

double step_next_now(const struct step_next *next)
{
	return ratio_of(next, width_of(next, next->committee));
}

/* What a configuration is supposed to take: the prediction, or where there is none the time of the nearest.
 */
static double supposed(const struct committee *c, const struct form_point *point, double predicted)
{
	size_t nearest = 0;

	if (isfinite(predicted))
		return predicted;
	for (size_t k = 1; k < c->count; k++)
		if (form_apart(&c->points[k], point) < form_apart(&c->points[nearest], point))
			nearest = k;
	return c->times[nearest];
}

static double predicted(const struct step_next *next, const struct form_point *point)
{
	struct committee_answer answer;

	committee_predict(next->committee, point, next->confidence, &answer);
	return answer.time;
}

static struct committee_row row_of(const struct step_next *next, const struct form_point *point)
{
	return (struct committee_row){*point, supposed(next->committee, point, predicted(next, point)), NAN};
}

static bool is_among(const struct committee_row *rows, size_t count, const struct form_point *point)
{
	for (size_t k = 0; k < count; k++)
		if (form_is_one_of(&rows[k].point, 1, point))
			return true;
	return false;
}

static void try_one(void *context, size_t candidate)
{
	struct trial *trial = context;
	const struct step_next *next = trial->next;
	const struct form_point *point = &next->candidates[candidate];
	struct committee_row *rows = mem_alloc(trial->count + 1, sizeof(*rows));
	struct committee with;

	trial->widths[candidate] = HUGE_VAL;
	memcpy(rows, trial->rows, trial->count * sizeof(*rows));
	if (!is_among(rows, trial->count, point)) {
		rows[trial->count] = row_of(next, point);
		if (!committee_fit(&with, rows, trial->count + 1))
			trial->widths[candidate] = width_of(next, &with);
		committee_free(&with);
	}
	free(rows);
}

size_t step_next_choose(const struct step_next *next, struct step_next_choice *choices, size_t most)
{
	const struct committee *c = next->committee;
	struct trial trial = {.next = next, .count = c->count};
	size_t chosen = 0;

	trial.rows = mem_alloc(c->count + most, sizeof(*trial.rows));
	trial.widths = mem_alloc(next->candidate_count + 1, sizeof(*trial.widths));
	for (size_t k = 0; k < c->count; k++)
		trial.rows[k] = (struct committee_row){c->points[k], c->times[k], c->compute[k]};
	for (; chosen < most && next->candidate_count; chosen++) {
		const struct form_point *point;
		size_t best = 0;

		parallel_each(next->candidate_count, 0, try_one, &trial);
		for (size_t i = 1; i < next->candidate_count; i++)
			if (trial.widths[i] < trial.widths[best])
				best = i;
		if (!isfinite(trial.widths[best]))
			break;
		point = &next->candidates[best];
		trial.rows[trial.count++] = row_of(next, point);
		choices[chosen] = (struct step_next_choice){
			*point, predicted(next, point), ratio_of(next, trial.widths[best])};
	}
	free(trial.rows);
	free(trial.widths);
	return chosen;
}

/* ---- candidates ---- */

struct pool {
	const struct committee *committee;
	struct form_point *points;
	size_t count, room;
};

static bool is_new(const struct pool *pool, const struct form_point *point)
{
	return !form_is_one_of(pool->committee->points, pool->committee->count, point) &&
	       !form_is_one_of(pool->points, pool->count, point);
}

static void step_next_add(struct pool *pool, double batch, double gpus, double nodes, double most_gpus)
{
	struct form_point point = {batch, gpus, nodes};

	if (batch >= 1 && gpus >= 1 && gpus <= most_gpus && nodes >= 1 && nodes <= gpus &&
		gpus == floor(gpus) && batch == floor(batch) && is_new(pool, &point))
		*MEM_PUSH(pool->points, pool->count, pool->room) = point;
}

size_t step_next_candidates(
	const struct committee *committee, double most_gpus, struct form_point *candidates, size_t room)
{
	static const double factors[] = {1, 2, 0.5};
	struct pool pool = {.committee = committee};
	size_t kept;

	for (size_t i = 0; i < committee->count; i++)
		for (size_t j = 0; j < committee->count; j++)
			for (size_t f = 0; f < 9; f++) {
				const struct form_point *place = &committee->points[j];
				double more = factors[f / 3];

				step_next_add(&pool, committee->points[i].batch * factors[f % 3],
					place->gpus * more,
					place->nodes > 1 ? fmax(1, floor(place->nodes * more)) : 1,
					most_gpus);
			}
	kept = pool.count < room ? pool.count : room;
	for (size_t k = 0; k < kept; k++)
		candidates[k] = pool.points[k * pool.count / kept];
	free(pool.points);
	return kept;
}
