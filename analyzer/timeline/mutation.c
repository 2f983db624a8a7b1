/* In builds with PM_MUTATION alone: see mutation.h. */
#include "mutation.h"
#include "constants.h"
#include "thresholds.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONSTANT_DEFINITION(type, name, value, unit, decides, source) type name = value;
CONSTANT_LIST(CONSTANT_DEFINITION)
THRESHOLD_LIST(CONSTANT_DEFINITION)

static char off[64];

bool mutation_is_off(const char *rule)
{
	return strcmp(rule, off) == 0;
}

/* Counts are whole numbers: half of 3 is 2, half of 1 is none. */
static double moved(double value, double factor, bool whole)
{
	return whole ? floor(value * factor + (factor < 1 && value > 1 ? 0.5 : 0)) : value * factor;
}

#define IS_WHOLE(type) ((type)0.5 == 0)

/* False: none is of that name. */
static bool move_constant(const char *constant, double factor)
{
#define CONSTANT_MOVE(type, name, value, unit, decides, source) \
	if (strcmp(constant, #name) == 0) { \
		name = (type)moved(value, factor, IS_WHOLE(type)); \
		return true; \
	}
	CONSTANT_LIST(CONSTANT_MOVE)
	THRESHOLD_LIST(CONSTANT_MOVE)
	return false;
}

__attribute__((constructor)) static void mutation_read(void)
{
	const char *mutation = getenv("PM_MUTATE");
	char constant[64];
	double factor;

	if (!mutation || sscanf(mutation, "rule %63s", off) == 1)
		return;
	if (sscanf(mutation, "constant %63s %lf", constant, &factor) != 2 || !move_constant(constant, factor))
		errx(2, "PM_MUTATE=%s: not \"rule KEY\" or \"constant NAME FACTOR\"", mutation);
}
