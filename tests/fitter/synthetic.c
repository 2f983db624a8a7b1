/* Problems whose truth is known: see synthetic.h. */
#include "synthetic.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

static const char *const kinds[] = {"plain", "fancy", "odd"};
static const char *const modes[] = {"same", "valid"};

void synthetic_init(struct synthetic *data, size_t n, double noise, int fine, unsigned seed)
{
	static const double xs[] = {4, 8, 16, 32, 64}, ys[] = {0.1, 0.01, 0.001}, batches[] = {8, 16, 32, 64};
	static const double of_kind[] = {0, 1.5, 4}, of_mode[] = {0.5, 2};
	struct random random;
	double *v[SYNTHETIC_COLUMNS + 2];

	data->numbers = calloc((SYNTHETIC_COLUMNS + 2) * n, sizeof(double));
	if (!data->numbers)
		abort();
	for (size_t i = 0; i < SYNTHETIC_COLUMNS + 2; i++)
		v[i] = data->numbers + i * n;
	random_init(&random, seed, 5);
	for (size_t k = 0; k < n; k++) {
		double sum;

		v[0][k] = fine ? 4 + 60 * random_unit(&random) : xs[random_below(&random, 5)];
		v[1][k] = ys[random_below(&random, 3)];
		v[2][k] = (double)random_below(&random, 3);
		v[3][k] = (double)random_below(&random, 2);
		v[4][k] = batches[random_below(&random, 4)];
		v[5][k] = (double)(1 + random_below(&random, 3));
		sum = 3 * pow(v[0][k], 0.7) + 2 * pow(v[1][k], -0.5) + of_kind[(int)v[2][k]] +
		      of_mode[(int)v[3][k]];
		v[6][k] = sum * pow(v[4][k], -0.8) * pow(v[5][k], -0.95) + 0.6;
		v[7][k] = v[6][k] * exp(noise * random_normal(&random));
	}
	data->columns[0] = (struct pm_fit_column){"x", PM_FIT_INTRINSIC, v[0], 0, NULL};
	data->columns[1] = (struct pm_fit_column){"y", PM_FIT_INTRINSIC, v[1], 0, NULL};
	data->columns[2] = (struct pm_fit_column){"kind", PM_FIT_CATEGORICAL, v[2], 3, kinds};
	data->columns[3] = (struct pm_fit_column){"mode", PM_FIT_CATEGORICAL, v[3], 2, modes};
	data->columns[4] = (struct pm_fit_column){"batch", PM_FIT_EXTRINSIC, v[4], 0, NULL};
	data->columns[5] = (struct pm_fit_column){"gpus", PM_FIT_EXTRINSIC, v[5], 0, NULL};
	data->truth = v[6];
	data->problem = (struct pm_fit_problem){n, SYNTHETIC_COLUMNS, data->columns, v[7], "ms"};
}

void synthetic_free(struct synthetic *data)
{
	free(data->numbers);
}
