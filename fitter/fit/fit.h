/* What others need of how pm_fit works. */
#ifndef FIT_H
#define FIT_H

#include "model/space.h"

/* How many evaluations a run may make. */
size_t fit_limit(const struct pm_fit_parameter *parameter, const struct space *space);

#endif
