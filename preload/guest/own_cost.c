/*
 * What the hook itself costs the host, estimated from samples.
 *
 * A thread that loses its processor inside the hook makes one sample a million times as long as the others,
 * and times the calls that it stands for it could exceed the run. So samples are counted in buckets, and of
 * all threads' together the longest twentieth is taken for as long as the sample next to it: a mean of what
 * is usual, because a plain median would leave out the calls that take device times, which cost more and may
 * be less than half of all.
 */
#include "own_cost.h"

#include "clock.h"

/* Eight buckets to a power of two, each its own below 16: a sample is known to 6%. */
static unsigned bucket_of(uint64_t ticks)
{
	unsigned power, bucket;

	if (ticks < 16)
		return (unsigned)ticks;
	power = 63 - (unsigned)__builtin_clzll(ticks);
	bucket = 8 * (power - 2) + (unsigned)(ticks >> (power - 3) & 7);
	return bucket < PMH_COST_BUCKETS ? bucket : PMH_COST_BUCKETS - 1;
}

/* The middle of a bucket. */
static double ticks_of(unsigned bucket)
{
	unsigned power = bucket / 8 + 2;

	if (bucket < 16)
		return bucket;
	return (8 + bucket % 8 + 0.5) * (double)(1ull << (power - 3));
}

void pmh_cost_sample(struct pmh_cost *cost, uint64_t ticks)
{
	_Atomic uint32_t *count = &cost->buckets[bucket_of(ticks)];

	atomic_store_explicit(
		count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_relaxed);
}

void pmh_cost_add(struct pmh_cost *sum, const struct pmh_cost *cost)
{
	for (unsigned i = 0; i < PMH_COST_BUCKETS; i++)
		sum->buckets[i] += atomic_load_explicit(&cost->buckets[i], memory_order_relaxed);
}

double pmh_cost_ticks(const struct pmh_cost *cost)
{
	uint64_t samples = 0, taken = 0, usual;
	double sum = 0;

	for (unsigned i = 0; i < PMH_COST_BUCKETS; i++)
		samples += cost->buckets[i];
	usual = samples > 1 ? samples - (samples + 19) / 20 : samples;
	for (unsigned i = 0; i < PMH_COST_BUCKETS && taken < samples; i++) {
		uint64_t count = cost->buckets[i];

		/* the last usual sample is in this bucket: it stands for all longer ones */
		if (taken + count >= usual)
			count = samples - taken;
		taken += count;
		sum += (double)count * ticks_of(i);
	}
	return sum * PMH_COST_EVERY;
}

struct pmh_moment pmh_moment(void)
{
	return (struct pmh_moment){pmh_ticks(), pmh_processor_ns()};
}

static void own_cost_add(_Atomic uint64_t *sum, uint64_t more)
{
	atomic_store_explicit(
		sum, atomic_load_explicit(sum, memory_order_relaxed) + more, memory_order_relaxed);
}

void pmh_new_cost_since(struct pmh_new_cost *cost, struct pmh_moment begin)
{
	own_cost_add(&cost->ticks, pmh_ticks() - begin.ticks);
	own_cost_add(&cost->processor_ns, pmh_processor_ns() - begin.processor_ns);
}
