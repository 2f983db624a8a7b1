/* The time by which ranks are compared: over a second at least, so that a pause of the machine makes no
 * equals uneven. */
#include "analyses/fleet/recent.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

enum { MOST = 10000 };

/* Computing of a rank of `count` iterations of `iteration_ns`, of which the last `slow_count` compute for
 * `slow_ns`, the others for 100 us. */
static double even(size_t count, int64_t iteration_ns, size_t slow_count, int64_t slow_ns)
{
	static struct phase_times times[MOST];
	static uint32_t used[MOST];
	const struct analysis_worker worker = {.phases.times = times, .used = used, .used_count = count};

	for (size_t i = 0; i < count; i++) {
		used[i] = (uint32_t)i;
		times[i] = (struct phase_times){.iteration_ns = iteration_ns,
			.compute_ns = i >= count - slow_count ? slow_ns : 100000};
	}
	return recent_even(&worker, count);
}

int main(void)
{
	double ns = even(MOST, 200000, RECENT_LAST, 125000);

	CHECK(ns == 100000, "20 steps of 0.2 ms in a pause decide: %g ns", ns);
	ns = even(MOST, 200000, 3000, 125000);
	CHECK(ns == 125000, "what lasts for most of a second is not seen: %g ns", ns);
	ns = even(MOST, 100000000, RECENT_LAST, 125000);
	CHECK(ns == 125000, "of long steps the last 20 count: %g ns", ns);
	ns = even(5, 200000, 3, 125000);
	CHECK(ns == 125000, "of fewer all: %g ns", ns);
	ns = even(0, 200000, 0, 0);
	CHECK(isnan(ns), "of none: %g ns", ns);
	return check_end();
}
