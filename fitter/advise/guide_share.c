/* Shares of a batch: see guide_share.h. */
#include "guide_share.h"

void guide_share(const double *speeds, size_t count, size_t batch, size_t *shares)
{
	double sum = 0;
	size_t given = 0;

	for (size_t i = 0; i < count; i++)
		sum += speeds[i];
	for (size_t i = 0; i < count; i++) {
		shares[i] = (size_t)((double)batch * (speeds[i] / sum));
		given += shares[i];
	}
	while (given < batch) {
		size_t best = 0;

		for (size_t i = 1; i < count; i++)
			if ((double)(shares[i] + 1) / speeds[i] < (double)(shares[best] + 1) / speeds[best])
				best = i;
		shares[best]++;
		given++;
	}
}

void guide_share_evenly(size_t count, size_t batch, size_t *shares)
{
	for (size_t i = 0; i < count; i++)
		shares[i] = batch / count + (i < batch % count);
}

double guide_share_time(const double *speeds, const size_t *shares, size_t count)
{
	double last = 0;

	for (size_t i = 0; i < count; i++)
		if ((double)shares[i] / speeds[i] > last)
			last = (double)shares[i] / speeds[i];
	return last;
}
