/* A link from the exchanges that were measured on it: see strategy.h. */
#include "strategy.h"

#include <errno.h>
#include <math.h>

/* Sums of weighted moments of the line time = latency + bytes / bandwidth of one step of a ring. */
struct moments {
	double w, x, y, xx, xy;
};

static struct moments moments_of(const struct strategy_transfer *transfers, size_t count, double workers)
{
	struct moments m = {0};

	for (size_t i = 0; i < count; i++) {
		const struct strategy_transfer *t = &transfers[i];
		double x = t->bytes / workers, y = t->time / (2 * (workers - 1));
		double weight = t->count * t->time / (y * y);

		if (!(x > 0) || !(y > 0) || !(t->count > 0))
			continue;
		m.w += weight;
		m.x += weight * x;
		m.y += weight * y;
		m.xx += weight * x * x;
		m.xy += weight * x * y;
	}
	return m;
}

int strategy_link_fit(
	const struct strategy_transfer *transfers, size_t count, size_t workers, struct strategy_link *link)
{
	struct moments m;
	double spread, slope, latency;

	if (workers < 2)
		return -EINVAL;
	m = moments_of(transfers, count, (double)workers);
	if (!(m.w > 0))
		return -EINVAL;
	spread = m.w * m.xx - m.x * m.x;
	slope = (m.w * m.xy - m.x * m.y) / spread;
	latency = (m.y - slope * m.x) / m.w;
	if (!(spread > 1e-6 * m.w * m.xx) || !(slope > 0) || latency < 0) {
		latency = link->latency;
		slope = (m.xy - latency * m.x) / m.xx;
	}
	if (!(slope > 0)) { /* the latency alone takes longer */
		latency = 0;
		slope = m.xy / m.xx;
	}
	*link = (struct strategy_link){latency, 1 / slope};
	return 0;
}
