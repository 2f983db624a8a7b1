/* What search and auto say of a formula that was found: how it did where the largest value of a column was
 * left out. */
#ifndef FORMULA_WORDS_H
#define FORMULA_WORDS_H

#include "expression/expression_search.h"
#include "output/sentences.h"

/* A column whose largest value was left out: the error there, relative, and how many times the next value it
 * is. */
struct formula_beyond {
	const char *name;
	double error, tried;
};

/* Of the result's numbers those that could be tried; `beyond` has room for EXPRESSION_COLUMNS. How many. */
size_t formula_beyond(const struct expression_result *result, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, struct formula_beyond *beyond);

/* The same as a sentence; nothing could be tried: that is said. */
void formula_say_beyond(struct sentences *said, const struct formula_beyond *beyond, size_t count);

#endif
