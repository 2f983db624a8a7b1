/* Terms of the regression: see ssgd_terms.h. */
#include "ssgd_terms.h"
#include "analyses/load_imbalance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SSGD_TERM_ITEM(name, key, text) [SSGD_TERM_##name] = key,
const char *const ssgd_term_keys[SSGD_TERM_COUNT] = {SSGD_TERM_LIST(SSGD_TERM_ITEM)};
#undef SSGD_TERM_ITEM

static enum ssgd_term find_term(const char *text, size_t length)
{
	int term = 0;

	while (term < SSGD_TERM_COUNT &&
		(strlen(ssgd_term_keys[term]) != length || strncmp(ssgd_term_keys[term], text, length) != 0))
		term++;
	return (enum ssgd_term)term;
}

size_t ssgd_terms_parse(const char *text, enum ssgd_term *terms, char sentence[200])
{
	size_t count = 0;

	for (;; text++) {
		int length = (int)strcspn(text, ",");
		enum ssgd_term term = find_term(text, (size_t)length);

		if (term == SSGD_TERM_COUNT) {
			int at = snprintf(sentence, 200, "unknown term '%.*s', known terms are",
				length > 40 ? 40 : length, text);

			for (int i = 0; i < SSGD_TERM_COUNT && at < 190; i++)
				at += snprintf(sentence + at, 200 - (size_t)at, "%s %s", i ? "," : "",
					ssgd_term_keys[i]);
			return 0;
		}
		for (size_t i = 0; i < count; i++)
			if (terms[i] == term) {
				snprintf(sentence, 200, "the term '%s' is given twice", ssgd_term_keys[term]);
				return 0;
			}
		terms[count++] = term;
		text += length;
		if (!*text)
			return count;
	}
}

static double parameters_of(const struct analysis *analysis)
{
	double sum = 0;

	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++)
			sum += (double)layers->items[l].parameter_count;
	}
	return sum > 0 ? sum : NAN;
}

/* A factor as it is printed. What differs by less is balanced as well, and no coefficient follows from it: a
 * unit of the factor is a thousand times as much. */
static double to_three_decimals(double factor)
{
	return round(factor * 1000) / 1000;
}

double ssgd_term_of_run(const struct analysis *analysis, const struct ssgd *ssgd, enum ssgd_term term)
{
	double gpus = (double)analysis->worker_count, samples = analysis_samples(analysis);

	switch (term) {
	case SSGD_TERM_GPUS:
		return gpus;
	case SSGD_TERM_INVERSE_GPUS:
		return 1 / gpus;
	case SSGD_TERM_LIF:
		return to_three_decimals(load_imbalance_computing(analysis));
	case SSGD_TERM_SLOWDOWN:
		return gpus > 1 ? ssgd->slowdown : 1;
	case SSGD_TERM_BATCH:
		return samples > 0 ? samples : NAN;
	case SSGD_TERM_GPU_BATCH:
		return samples > 0 ? samples / gpus : NAN;
	case SSGD_TERM_HOSTS:
		return analysis->timeline.host_count;
	case SSGD_TERM_PARAMETERS:
		return parameters_of(analysis);
	default:
		return NAN;
	}
}

double ssgd_term_of_step(
	const struct analysis *analysis, const struct ssgd *ssgd, size_t step, enum ssgd_term term)
{
	size_t count = ssgd->shape.rank_count;
	double *values, result;

	if (term == SSGD_TERM_SLOWDOWN && count > 1)
		return ssgd->best < SSGD_COUNT ? ssgd_slowdown(&ssgd->shape, &ssgd->steps[step], ssgd->best)
					       : NAN;
	if (term != SSGD_TERM_LIF)
		return ssgd_term_of_run(analysis, ssgd, term);
	values = mem_alloc(count, sizeof(*values));
	for (size_t i = 0; i < count; i++)
		values[i] = ssgd->steps[step].ranks[i].compute;
	result = to_three_decimals(load_imbalance(values, count));
	free(values);
	return result;
}
