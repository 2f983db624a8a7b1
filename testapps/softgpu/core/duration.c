/*
 * How long work takes on a device with a profile: a floor plus the longer of what the arithmetic and what the
 * memory takes; small work reaches less of the peak, as Hockney's n-half says: half of it at `half`. What the
 * work is, its operations and bytes, is said by the libraries' cost.c.
 */
#include "model.h"

static double kernel_time(const struct sg_profile *profile, const struct sg_cost *cost)
{
	const struct sg_efficiency *kind = &profile->kinds[cost->kind];
	double arithmetic = 0, memory = 0;

	if (cost->kind == SG_COST_NONE)
		return profile->kernel_floor_ns;
	if (cost->flops > 0)
		arithmetic = (cost->flops + kind->half_flop) / (profile->peak[cost->type] * kind->flops);
	if (cost->bytes > 0)
		memory = (cost->bytes + kind->half_bytes) / (profile->memory_rate * kind->bytes);
	return profile->kernel_floor_ns + (arithmetic > memory ? arithmetic : memory);
}

/* A copy within the device reads and writes its memory. */
static double copy_time(const struct sg_profile *profile, const struct sg_activity *what)
{
	double bytes = what->cost.bytes, rate = profile->to_device_rate;

	if (what->peer)
		return profile->device_link.latency_ns + bytes / profile->device_link.bytes_per_ns;
	if (what->copy_from_device && what->copy_to_device)
		return profile->copy_latency_ns +
		       2 * bytes / (profile->memory_rate * profile->kinds[SG_COST_VECTOR].bytes);
	if (what->copy_from_device)
		rate = profile->to_host_rate;
	if (what->pageable)
		rate *= profile->pageable_efficiency;
	return profile->copy_latency_ns + bytes / rate;
}

double sg_profile_time(const struct sg_profile *profile, const struct sg_activity *what)
{
	switch (what->cost.kind) {
	case SG_COST_COPY:
		return copy_time(profile, what);
	case SG_COST_LINK:
	case SG_COST_KINDS:
		return 0;
	default:
		return kernel_time(profile, &what->cost);
	}
}
