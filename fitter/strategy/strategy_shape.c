/* How large a layer's output is, from what a file of layers says of it: see strategy.h. */
#include "strategy.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SIDES = 3 };

/* "3x5x5": up to `most` numbers; returns how many, and where the text goes on. */
static size_t numbers_of(const char *text, double *numbers, size_t most, const char **end)
{
	size_t count = 0;
	char *after;

	*end = text;
	while (count < most && *text >= '0' && *text <= '9') {
		numbers[count++] = strtod(text, &after);
		*end = after;
		if (*after != 'x')
			break;
		text = after + 1;
	}
	return count;
}

/* " s2" or " s2x1": the numbers after the letter for each of the sides; `missing` without. */
static void setting_of(const char *text, char letter, double missing, double *values, size_t sides)
{
	const char key[] = {' ', letter, 0}, *at = strstr(text, key), *end;
	size_t count = at ? numbers_of(at + 2, values, sides, &end) : 0;

	for (size_t i = count; i < sides; i++)
		values[i] = count ? values[0] : missing;
}

/* The places that a window has along all sides, as libraries count them: rounded down. */
static double places(const double *input, const double *window, const char *settings, size_t sides)
{
	double stride[MOST_SIDES], pad[MOST_SIDES], dilation[MOST_SIDES], product = 1;

	setting_of(settings, 's', 1, stride, sides);
	setting_of(settings, 'p', 0, pad, sides);
	setting_of(settings, 'd', 1, dilation, sides);
	for (size_t i = 0; i < sides; i++) {
		double room = input[i] + 2 * pad[i] - dilation[i] * (window[i] - 1) - 1;

		if (room < 0 || stride[i] < 1)
			return 0;
		product *= (double)(long)(room / stride[i]) + 1;
	}
	return product;
}

static bool is_kind(const char *kind, const char *word)
{
	return strncmp(kind, word, strlen(word)) == 0;
}

double strategy_output_numbers(const char *kind, const char *sizes, const char *input)
{
	double in[2 + MOST_SIDES], window[2 + MOST_SIDES], all = 1;
	const char *rest, *arrow = strstr(sizes, "->");
	size_t dimensions = numbers_of(input, in, 2 + MOST_SIDES, &rest), sides, count;

	if (dimensions < 2 || *rest)
		return 0;
	for (size_t i = 1; i < dimensions; i++)
		all *= in[i];
	sides = dimensions - 2;
	if (is_kind(kind, "conv") && arrow) {
		count = numbers_of(sizes, window, 2 + MOST_SIDES, &rest);
		return count == sides + 1 ? strtod(arrow + 2, NULL) * places(in + 2, window, arrow, sides)
					  : 0;
	}
	if (is_kind(kind, "pool")) {
		sizes += strcspn(sizes, "0123456789");
		count = numbers_of(sizes, window, 2 + MOST_SIDES, &rest);
		for (size_t i = count; count == 1 && i < sides; i++)
			window[i] = window[0];
		return count == sides || count == 1 ? in[1] * places(in + 2, window, rest, sides) : 0;
	}
	return is_kind(kind, "fc") && arrow ? strtod(arrow + 2, NULL) : all;
}
