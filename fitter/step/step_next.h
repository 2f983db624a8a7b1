/*
 * What to measure next: of configurations that could be measured, those after which the answer to some
 * questions would be narrowest. Each is supposed to take what the model predicts; with that row the committee
 * is fitted again, and what counts is how wide its intervals of the questions are then. The first is the best
 * by itself, each further one the best beside those before it.
 */
#ifndef STEP_NEXT_H
#define STEP_NEXT_H

#include "committee.h"

#include <stdint.h>

struct step_next_choice {
	struct form_point point;
	double time;  /* predicted; NAN: no row tells of it */
	double ratio; /* of an interval's high to its low end, geometric mean over the questions, with this
			 and all before it measured; NAN: one has no answer then */
};

struct step_next {
	const struct committee *committee;
	const struct form_point *questions, *candidates;
	size_t question_count, candidate_count;
	double confidence;
};

/* The ratio as it is. */
double step_next_now(const struct step_next *next);

/* Chooses up to `most`, in their order; how many. None of the candidates may be measured already. Fits the
 * committee candidate_count times for each choice, in parallel. */
size_t step_next_choose(const struct step_next *next, struct step_next_choice *choices, size_t most);

/* Candidates where nobody names them: measured batches, GPUs and placements in all combinations that were not
 * measured, and twice and half these batches and GPUs up to `most_gpus`, at equal steps where there are more
 * than `room`. How many. */
size_t step_next_candidates(
	const struct committee *committee, double most_gpus, struct form_point *candidates, size_t room);

#endif
