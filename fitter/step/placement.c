/* Placements: see placement.h. */
#include "placement.h"

#include <ctype.h>
#include <string.h>

#define SEPARATORS "-+:/ "

static int add_node(double here, double *gpus, double *nodes)
{
	*gpus += here;
	*nodes += 1;
	return here > 0 && *gpus <= PLACEMENT_MOST ? 0 : -1;
}

int placement_read(const char *text, int by_digit, double *gpus, double *nodes)
{
	int separated = strpbrk(text, SEPARATORS) != NULL;
	double here = 0;

	*gpus = *nodes = 0;
	for (; *text; text++)
		if (isdigit((unsigned char)*text)) {
			here = 10 * here + (*text - '0');
			if (by_digit && !separated) {
				if (add_node(here, gpus, nodes) < 0)
					return -1;
				here = 0;
			}
		} else if (!strchr(SEPARATORS, *text) || add_node(here, gpus, nodes) < 0) {
			return -1;
		} else {
			here = 0;
		}
	if (by_digit && !separated)
		return *nodes > 0 ? 0 : -1;
	return add_node(here, gpus, nodes);
}
