/*
 * How long work takes on a device with a profile: a floor plus the longer of what the arithmetic and what the
 * memory takes; small work reaches less of the peak, as Hockney's n-half says: half of it at `half`. What the
 * work is, its operations and bytes, is said by the libraries' cost.c.
 */
#include "model.h"

#include <math.h>
#include <string.h>

/* What a multiprocessor has of them. */
#define REGISTERS 65536.0

/*
 * Blocks go over the multiprocessors in waves, and a block gets no more than its threads can ask for: few or
 * small ones do not reach the memory's rate.
 */
static double blocks_time(
	const struct sg_profile *profile, const struct sg_cost *cost, const struct sg_pace *pace)
{
	double resident = profile->resident_threads;

	if (cost->blocks <= 0 || cost->block_threads <= 0 || profile->thread_rate <= 0 || resident <= 0)
		return 0;
	if (pace->registers > 0 && pace->registers * resident > REGISTERS)
		resident = REGISTERS / pace->registers;
	resident = floor(resident / cost->block_threads);
	return ceil(cost->blocks / (profile->multiprocessors * (resident > 1 ? resident : 1))) *
	       (pace->latency * profile->vector_floor_ns +
		       cost->bytes / cost->blocks /
			       (cost->block_threads * profile->thread_rate * pace->thread));
}

/* As much as the cache holds comes from there. */
static double memory_time(
	const struct sg_profile *profile, const struct sg_cost *cost, const struct sg_pace *pace)
{
	const struct sg_efficiency *kind = &profile->kinds[SG_COST_VECTOR];
	double cached = cost->bytes < profile->cache_bytes ? cost->bytes : profile->cache_bytes;
	double time = (cost->bytes - cached + kind->half_bytes) / (profile->memory_rate * kind->bytes);

	return (time + (cached > 0 ? cached / profile->cache_rate : 0)) / pace->memory;
}

static double vector_time(const struct sg_profile *profile, const struct sg_cost *cost)
{
	static const struct sg_pace plain = {1, 1, 1, 0, 0};
	const struct sg_pace *pace = cost->pace != NULL ? cost->pace : &plain;
	const struct sg_efficiency *kind = &profile->kinds[SG_COST_VECTOR];
	double time = 0;

	if (cost->flops > 0)
		time = (cost->flops + kind->half_flop) / (profile->peak[cost->type] * kind->flops) /
		       (pace->flops > 0 ? pace->flops : 1);
	/* a block is computed by one multiprocessor */
	if (profile->resident_threads > 0 && cost->blocks > 0 && cost->blocks < profile->multiprocessors)
		time *= profile->multiprocessors / cost->blocks;
	if (cost->bytes > 0)
		time = fmax(time, fmax(memory_time(profile, cost, pace), blocks_time(profile, cost, pace)));
	return (pace->floor + cost->steps * pace->step) * profile->vector_floor_ns + time;
}

static double kernel_time(const struct sg_profile *profile, const struct sg_cost *cost)
{
	const struct sg_efficiency *kind = &profile->kinds[cost->kind];
	double arithmetic = 0, memory = 0;

	if (cost->kind == SG_COST_VECTOR)
		return vector_time(profile, cost);
	if (cost->kind == SG_COST_NONE)
		return profile->kernel_floor_ns;
	if (cost->flops > 0)
		arithmetic = (cost->flops + kind->half_flop) / (profile->peak[cost->type] * kind->flops);
	if (cost->bytes > 0)
		memory = (cost->bytes + kind->half_bytes) / (profile->memory_rate * kind->bytes);
	if (cost->pace != NULL) {
		arithmetic /= cost->pace->flops;
		memory /= cost->pace->memory;
	}
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
	if (!what->pageable)
		return profile->copy_latency_ns + bytes / rate;
	rate *= what->copy_from_device ? profile->pageable_to_host : profile->pageable_to_device;
	return profile->pageable_latency_ns + bytes / rate;
}

static int is_same(const struct sg_geometry *a, const struct sg_geometry *b)
{
	return a->work == b->work && a->element_bytes == b->element_bytes && a->alignment == b->alignment &&
	       a->count == b->count && a->m == b->m && a->n == b->n && a->k == b->k && a->flops == b->flops &&
	       a->images == b->images && a->channels == b->channels && a->pixels == b->pixels &&
	       a->filters == b->filters && a->out_pixels == b->out_pixels && a->taps == b->taps &&
	       a->stride == b->stride && a->is_channels_last == b->is_channels_last;
}

static size_t hash_of(const struct sg_geometry *g)
{
	const double sizes[] = {g->count, g->m, g->n, g->k, g->images, g->channels, g->pixels, g->filters,
		g->out_pixels, g->taps, g->stride, g->flops, (double)g->work};
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		hash = (hash ^ (uint64_t)sizes[i]) * 1099511628211u;
	return (size_t)(hash >> 32);
}

/* The search over tiles takes some microseconds, a step asks for the same few hundred each time. */
static struct kept {
	struct sg_geometry geometry;
	enum sg_cost_type type;
	int count;
	struct sg_part parts[SG_PARTS];
} kept[1024];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

static int has_tf32(void)
{
	return sg_profile.peak[SG_COST_TF32] > sg_profile.peak[SG_COST_F32];
}

/* A device whose matrix unit has no TF32 computes as in FP32, in a library's kernels for that; products of
 * 8-bit numbers are as those of 16 bits, at their rate. */
static enum sg_cost_type curve_type(enum sg_cost_type type)
{
	if (type == SG_COST_F8)
		return SG_COST_F16;
	return type == SG_COST_TF32 && !has_tf32() ? SG_COST_F32 : type;
}

/* Where there is TF32, the library's kernels for FP32 gradients reach a third of what those of the forward
 * pass do; where FP32 is all that there is, they are as good as these. */
static const struct sg_curve *find_curve(const struct sg_geometry *g, enum sg_cost_type type)
{
	int is_gradient = g->work == SG_BACKWARD_DATA || g->work == SG_BACKWARD_FILTER;

	return &sg_profile.curves
			.of[is_gradient && type == SG_COST_F32 && !has_tf32() ? SG_FORWARD : g->work][type];
}

static void work_out(struct kept *entry)
{
	const struct sg_profile *p = &sg_profile;
	const struct sg_geometry *g = &entry->geometry;
	enum sg_cost_type type = curve_type(entry->type);
	const struct sg_tile_device device = {p->multiprocessors, p->peak[entry->type] * p->scale,
		p->memory_rate * p->scale, type == SG_COST_F32};
	double at[SG_PLACES], factor;

	entry->count = sg_tile_parts(find_curve(g, type), &device, g, entry->parts);
	sg_place(g, at);
	factor = p->scale * sg_neighbour_factor(p->curves.near[g->work][type].rows,
				    p->curves.near[g->work][type].count, at);
	for (int i = 0; i < entry->count; i++)
		entry->parts[i].ns *= factor;
}

int sg_profile_parts(const struct sg_cost *cost, struct sg_part parts[SG_PARTS])
{
	enum sg_cost_type type = curve_type(cost->type);
	struct sg_geometry g = cost->geometry;
	struct kept *entry;
	int count;

	if (!g.is_known || type >= SG_CURVE_TYPES || find_curve(&g, type)->efficiency <= 0)
		return 0;
	g.flops = g.work >= SG_ATTENTION ? cost->flops : 0;
	pthread_mutex_lock(&kept_lock);
	entry = &kept[(hash_of(&g) + cost->type) % (sizeof(kept) / sizeof(kept[0]))];
	if (entry->count == 0 || entry->type != cost->type || !is_same(&entry->geometry, &g)) {
		entry->geometry = g;
		entry->type = cost->type;
		work_out(entry);
	}
	count = entry->count;
	memcpy(parts, entry->parts, sizeof(entry->parts));
	pthread_mutex_unlock(&kept_lock);
	return count;
}

/* Negative: the profile has no curve for it. */
static double parts_time(const struct sg_cost *cost)
{
	struct sg_part parts[SG_PARTS];
	int count = sg_profile_parts(cost, parts);

	return count > 0 ? sg_parts_ns(parts, count) : -1;
}

double sg_profile_time(const struct sg_profile *profile, const struct sg_activity *what)
{
	double parts_ns;

	switch (what->cost.kind) {
	case SG_COST_COPY:
		return copy_time(profile, what);
	case SG_COST_LINK:
	case SG_COST_KINDS:
		return 0;
	default:
		parts_ns = what->cost.geometry.is_known ? parts_time(&what->cost) : -1;
		return parts_ns >= 0 ? parts_ns : kernel_time(profile, &what->cost);
	}
}
