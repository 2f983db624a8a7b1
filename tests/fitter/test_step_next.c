/*
 * What to measure next, by measuring it: in closed-form examples with noise the configurations that are named
 * are measured, and the interval of the answer is then narrower than after three that are drawn, in most
 * draws and on average; nothing is named that was measured already.
 */
#include "../analyzer/check.h"
#include "base/random.h"
#include "step/step_next.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM 40
#define DRAWS 20

/* A network of its own on each example; m samples on each of k GPUs on n nodes. */
static double measure(size_t example, const struct form_point *p, struct random *random)
{
	static const double overlap[] = {1, 2, 1, 4}, among[] = {12, 20, 6, 30};
	double g = overlap[example], compute = 5 + 0.4 * p->batch, exchange = 0;

	if (p->gpus > 1)
		exchange = p->nodes > 1 ? among[example] + 3 * log2(p->gpus) : 4 + log2(p->gpus);
	return pow(pow(compute, g) + pow(exchange, g), 1 / g) * exp(0.02 * random_normal(random));
}

static size_t measured(size_t example, struct committee_row *rows, struct random *random)
{
	static const struct form_point points[] = {{8, 1, 1}, {16, 1, 1}, {32, 1, 1}, {8, 2, 1}, {16, 2, 1},
		{8, 4, 1}, {16, 4, 1}, {16, 4, 2}, {8, 8, 2}, {32, 2, 1}};

	for (size_t k = 0; k < 10; k++)
		rows[k] = (struct committee_row){points[k], measure(example, &points[k], random), NAN};
	return 10;
}

/* The ratio of high to low end after these three are measured. */
static double ratio_after(size_t example, const struct step_next *next, const struct form_point three[3],
	const struct committee_row *rows, size_t count, uint64_t seed)
{
	struct committee_row all[16];
	struct committee committee;
	struct step_next then = *next;
	struct random random;
	double ratio;

	random_init(&random, seed, 1);
	memcpy(all, rows, count * sizeof(*rows));
	for (size_t k = 0; k < 3; k++)
		all[count + k] = (struct committee_row){three[k], measure(example, &three[k], &random), NAN};
	CHECK(!committee_fit(&committee, all, count + 3), "no model");
	then.committee = &committee;
	ratio = step_next_now(&then);
	committee_free(&committee);
	return ratio;
}

/* In how many draws the named ones are narrower. */
static size_t test_example(size_t example, double *gained)
{
	static const struct form_point question = {64, 16, 4};
	struct form_point candidates[ROOM], named[3];
	struct step_next_choice choices[3];
	struct committee_row rows[16];
	struct committee committee;
	struct random random;
	struct step_next next = {&committee, &question, candidates, 1, 0, 0.95};
	size_t count, better = 0;
	double ratio, others = 0, now;

	random_init(&random, 5 + example, 0);
	count = measured(example, rows, &random);
	CHECK(!committee_fit(&committee, rows, count), "no model");
	next.candidate_count = step_next_candidates(&committee, 8, candidates, ROOM);
	now = step_next_now(&next);
	CHECK(next.candidate_count > 10, "%zu candidates", next.candidate_count);
	CHECK(step_next_choose(&next, choices, 3) == 3, "fewer than three");
	for (size_t k = 0; k < 3; k++) {
		named[k] = choices[k].point;
		CHECK(named[k].gpus <= 8 && choices[k].time > 0 && choices[k].ratio > 1,
			"%g on %g GPUs: %g, %g", named[k].batch, named[k].gpus, choices[k].time,
			choices[k].ratio);
		for (size_t j = 0; j < count; j++)
			CHECK(rows[j].point.batch != named[k].batch || rows[j].point.gpus != named[k].gpus ||
					rows[j].point.nodes != named[k].nodes,
				"named though measured: %g on %g GPUs", named[k].batch, named[k].gpus);
	}
	ratio = log(ratio_after(example, &next, named, rows, count, 100));
	for (size_t draw = 0; draw < DRAWS; draw++) {
		struct form_point three[3];
		size_t order[ROOM];
		double other;

		for (size_t k = 0; k < next.candidate_count; k++)
			order[k] = k;
		random_shuffle(&random, order, next.candidate_count);
		for (size_t k = 0; k < 3; k++)
			three[k] = candidates[order[k]];
		other = log(ratio_after(example, &next, three, rows, count, 200 + draw));
		others += other / DRAWS;
		better += ratio < other;
	}
	printf("example %zu: high over low %.2f, with the named %.2f, with random ones %.2f on average; narrower than %zu of %d\n",
		example, now, exp(ratio), exp(others), better, DRAWS);
	for (size_t k = 0; k < 3; k++)
		printf("    %g on %g GPUs, %g nodes: expected %.2f\n", named[k].batch, named[k].gpus,
			named[k].nodes, choices[k].ratio);
	CHECK(ratio < others, "example %zu: no narrower than random ones", example);
	*gained += others - ratio;
	committee_free(&committee);
	return better;
}

int main(void)
{
	size_t better = 0;
	double gained = 0;

	for (size_t example = 0; example < 4; example++)
		better += test_example(example, &gained);
	CHECK(better > 4 * DRAWS * 3 / 4, "narrower than %zu of %d draws", better, 4 * DRAWS);
	return check_end();
}
