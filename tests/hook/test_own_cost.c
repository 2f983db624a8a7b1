/* The hook's statement of its own cost: near the mean of usual samples, whatever a few of them say; of descriptions,
 * without the time that a thread waits for a processor. */
#include <stdio.h>
#include <unistd.h>

#include "guest/own_cost.h"

static int bad;

static void expect(const char *what, const struct pmh_cost *cost, double ticks)
{
	double said = pmh_cost_ticks(cost), wanted = ticks * PMH_COST_EVERY;

	if (said >= 0.9 * wanted && said <= 1.1 * wanted)
		return;
	printf("not ok %s: %.0f ticks, expected %.0f\n", what, said, wanted);
	bad = 1;
}

static void add(struct pmh_cost *cost, unsigned count, uint64_t ticks)
{
	while (count-- > 0)
		pmh_cost_sample(cost, ticks);
}

/* A thread that sleeps is one without a processor. */
static void describe(void)
{
	const unsigned slept_us = 50000;
	struct pmh_new_cost cost = {0};
	const struct pmh_moment begin = pmh_moment();

	usleep(slept_us);
	for (volatile unsigned i = 0; i < 1000000; i++)
		;
	pmh_new_cost_since(&cost, begin);
	if (cost.ticks < slept_us * 1000 || cost.processor_ns == 0 ||
		cost.processor_ns > cost.ticks - slept_us * 1000) {
		printf("not ok: of %llu ns with %u us of sleep the processor had %llu\n",
			(unsigned long long)cost.ticks, slept_us, (unsigned long long)cost.processor_ns);
		bad = 1;
	}
}

int main(void)
{
	static struct pmh_cost none, one, even, preempted, two_kinds, sum, wide;

	expect("nothing", &none, 0);
	add(&one, 1, 100);
	expect("one sample", &one, 100);
	add(&even, 1000, 37);
	expect("all the same", &even, 37000);
	add(&preempted, 1000, 100);
	add(&preempted, 20, 100000000);
	expect("some that lost their processor", &preempted, 102000);
	add(&two_kinds, 700, 50);
	add(&two_kinds, 300, 2000);
	expect("two kinds of calls", &two_kinds, 700 * 50 + 300 * 2000);
	pmh_cost_add(&sum, &even);
	pmh_cost_add(&sum, &two_kinds);
	expect("of two threads", &sum, 37000 + 635000);
	add(&wide, 100, UINT64_MAX);
	if (pmh_cost_ticks(&wide) < 1e9) {
		puts("not ok: samples beyond all buckets count as the longest");
		bad = 1;
	}
	describe();
	return bad;
}
