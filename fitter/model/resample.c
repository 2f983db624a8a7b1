/* Some of the samples: see resample.h. */
#include "resample.h"

#include <errno.h>
#include <stdlib.h>

int resample_init(
	struct resample *resample, const struct pm_fit_problem *problem, const size_t *samples, size_t count)
{
	double *next;

	*resample = (struct resample){0};
	resample->columns = calloc(problem->column_count + 1, sizeof(*resample->columns));
	resample->numbers = next = malloc((problem->column_count + 1) * (count + 1) * sizeof(*next));
	if (!resample->columns || !next)
		return -ENOMEM;
	resample->problem = *problem;
	resample->problem.sample_count = count;
	resample->problem.columns = resample->columns;
	for (size_t i = 0; i < problem->column_count; i++) {
		resample->columns[i] = problem->columns[i];
		if (problem->columns[i].role == PM_FIT_IGNORED || !problem->columns[i].values)
			continue;
		resample->columns[i].values = next;
		for (size_t k = 0; k < count; k++)
			*next++ = problem->columns[i].values[samples[k]];
	}
	if (!problem->time)
		return 0;
	resample->problem.time = next;
	for (size_t k = 0; k < count; k++)
		*next++ = problem->time[samples[k]];
	return 0;
}

void resample_free(struct resample *resample)
{
	free(resample->columns);
	free(resample->numbers);
	*resample = (struct resample){0};
}
