/* What is said of a formula beyond its data: see formula_words.h. */
#include "formula_words.h"

#include <math.h>

/* The largest value over the next. */
static double last_ratio(const double *values, size_t count)
{
	double largest = -HUGE_VAL, next = -HUGE_VAL;

	for (size_t k = 0; k < count; k++)
		largest = fmax(largest, values[k]);
	for (size_t k = 0; k < count; k++)
		if (values[k] < largest)
			next = fmax(next, values[k]);
	return next > 0 ? largest / next : NAN;
}

size_t formula_beyond(const struct expression_result *result, const struct expression_terms *terms,
	const struct pm_fit_problem *problem, struct formula_beyond *beyond)
{
	size_t count = 0;

	for (size_t i = 0; i < terms->number_count; i++)
		if (isfinite(result->beyond[i]))
			beyond[count++] = (struct formula_beyond){terms->numbers[i].name, result->beyond[i],
				last_ratio(problem->columns[terms->numbers[i].column].values,
					problem->sample_count)};
	return count;
}

void formula_say_beyond(struct sentences *said, const struct formula_beyond *beyond, size_t count)
{
	const char *text = "";

	for (size_t i = 0; i < count; i++)
		text = arena_format(said->arena, "%s%s%s %.1f%% (%.2g× the next)", text, i ? ", " : "",
			beyond[i].name, 100 * beyond[i].error, beyond[i].tried);
	if (count)
		sentences_add(said,
			"Beyond the measured ranges: mean error on a column's largest value when it is held out: %s. Farther out is "
			"unvalidated; growth is capped, and intervals widen.",
			text);
	else
		sentences_add(said,
			"Beyond the measured ranges: extrapolation is unvalidated, as no column has enough values to hold out the "
			"largest; growth is capped, and intervals widen.");
}
