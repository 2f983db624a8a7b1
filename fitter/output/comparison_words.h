/* The sentences of a comparison: see comparison_print.h. */
#ifndef COMPARISON_WORDS_H
#define COMPARISON_WORDS_H

#include "compare/comparison.h"
#include "sentences.h"

/* Which samples, seeds and penalty the shown fit rests on. */
void comparison_words_set(const struct comparison_set *set, struct sentences *said);
/* What its powers over extrinsic columns and its constant mean. */
void comparison_words_scaling(const struct comparison_set *set, struct sentences *said);
/* What the penalty changes; of a set that was fitted. */
void comparison_words_lambda(const struct comparison_set *set, struct sentences *said);
/* Which parameters differ, pair by pair. */
void comparison_words_differences(const struct comparison *comparison, struct sentences *said);

/* "L2 0.001 (powers 0.2)": the penalty of the bound fits, with `between` after its name. */
const char *comparison_words_penalty(
	struct arena *arena, const struct pm_fit_parameter *parameter, const char *between);

#endif
