/* What follows from a column's role. */
#ifndef ROLE_H
#define ROLE_H

#include "pm_fit.h"

#include <stdbool.h>

/* Its values are the numbers of levels. */
static inline bool role_has_levels(enum pm_fit_role role)
{
	return role == PM_FIT_CATEGORICAL || role == PM_FIT_FACTOR;
}

#endif
