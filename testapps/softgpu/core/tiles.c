/* The time of matrix products and convolutions: see tiles.h. */
#include "tiles.h"

#include <math.h>

/* Terms of the sum over K that a tile takes in one step. */
#define STEP 32
#define ROW_BYTES 16
#define NARROW_CHANNELS 16
/* Between rows that begin at any element and aligned ones the rate grows by that power of the alignment. */
#define ALIGNMENT_POWER 0.4
/* What a layout's change moves at once: so many channels by so many pixels. A multiprocessor takes so long
 * for one however empty; together they reach that share of the memory's rate. Of the H200's traces. */
#define PATCH 32
#define PATCH_NS 185.0
#define PATCH_MEMORY 0.75
#define PATCH_FLOOR_NS 1500.0
/* Kernels that set up counters for those which compute. */
#define SET_NS 800.0
#define INIT_NS 2500.0

static const double tiles[][2] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64},
	{64, 128}, {64, 64}, {128, 32}, {256, 32}, {32, 128}, {64, 32}, {32, 64}, {32, 32}};
static const double splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* A product of matrices, with what the curve says of it. */
struct product {
	double m, n, k, count, bytes;
	double efficiency, step_ns, floor_ns;
	int may_split;
};

struct cut {
	double compute_ns, reduce_ns;
};

static double up(double value, double unit)
{
	return ceil(value / unit) * unit;
}

/* One choice of tile and split. */
static struct cut cut_by(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct product *product, const double tile[2], double split)
{
	double rate = device->peak / device->multiprocessors * product->efficiency /
		      (1 + curve->tile_half * (1 / tile[0] + 1 / tile[1]));
	double blocks = ceil(product->m / tile[0]) * ceil(product->n / tile[1]) * product->count * split;
	double waves = ceil(blocks / device->multiprocessors);
	double steps = ceil(product->k / STEP / split);
	double memory_rate = device->memory_rate * curve->memory;
	struct cut cut;

	cut.compute_ns = steps * fmax(waves * 2 * tile[0] * tile[1] * STEP / rate, product->step_ns) +
			 waves * curve->tile_ns;
	cut.compute_ns = fmax(cut.compute_ns, product->bytes / memory_rate);
	cut.reduce_ns = split > 1 ? curve->split_ns + (split + 1) * product->m * product->n * product->count *
							      sizeof(float) / memory_rate
				  : 0;
	return cut;
}

/* The fastest. */
static struct cut cut_product(
	const struct sg_curve *curve, const struct sg_tile_device *device, const struct product *product)
{
	struct cut best = {INFINITY, 0};

	for (size_t t = 0; t < COUNT(tiles); t++) {
		for (size_t s = 0; s < (product->may_split ? COUNT(splits) : 1); s++) {
			struct cut cut = cut_by(curve, device, product, tiles[t], splits[s]);

			if (cut.compute_ns + cut.reduce_ns < best.compute_ns + best.reduce_ns)
				best = cut;
		}
	}
	best.compute_ns += product->floor_ns;
	return best;
}

static double unaligned_efficiency(const struct sg_curve *curve, const struct sg_geometry *geometry)
{
	double rate = curve->unaligned *
		      pow((double)geometry->alignment / geometry->element_bytes, ALIGNMENT_POWER);

	return fmin(rate, curve->efficiency);
}

static int add(struct sg_part *parts, int count, const char *name, double ns)
{
	if (ns <= 0)
		return count;
	parts[count] = (struct sg_part){name, 0, ns};
	return count + 1;
}

static int add_set(struct sg_part *parts, int count)
{
	parts[count] = (struct sg_part){"memset", 1, SET_NS};
	return count + 1;
}

static int product_parts(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct sg_geometry *geometry, struct sg_part *parts)
{
	const struct sg_geometry *g = geometry;
	int is_aligned = g->alignment >= ROW_BYTES;
	const struct product product = {g->m, g->n, g->k, g->count,
		g->element_bytes * g->count * (g->m * g->k + g->k * g->n + g->m * g->n),
		is_aligned ? curve->efficiency : unaligned_efficiency(curve, g),
		is_aligned ? curve->step_ns : curve->unaligned_step_ns,
		curve->floor_ns + (is_aligned ? 0 : curve->unaligned_ns), g->count == 1};
	struct cut cut = cut_product(curve, device, &product);
	int count = add(parts, 0, NULL, cut.compute_ns);

	return add(parts, count, "splitKreduce_kernel", cut.reduce_ns);
}

/* Turns `images` pictures from one layout to the other. */
static double transpose_ns(const struct sg_tile_device *device, const struct sg_geometry *geometry,
	double images, double channels, double pixels)
{
	double patches = images * geometry->count * ceil(channels / PATCH) * ceil(pixels / PATCH);
	double bytes = 2 * images * geometry->count * channels * pixels * geometry->element_bytes;

	return PATCH_FLOOR_NS + fmax(patches * PATCH_NS / device->multiprocessors,
					bytes / (device->memory_rate * PATCH_MEMORY));
}

/* Fills up channels to where rows are aligned; 0: they are. */
static double pad_ns(const struct sg_tile_device *device, const struct sg_geometry *geometry, double channels,
	double pixels)
{
	double padded = up(channels, (double)ROW_BYTES / geometry->element_bytes);

	if (padded == channels)
		return 0;
	return PATCH_FLOOR_NS + geometry->element_bytes * geometry->images * pixels * (channels + padded) /
					(device->memory_rate * PATCH_MEMORY);
}

static double round_channels(const struct sg_curve *curve, double channels)
{
	double step = curve->channel_step;

	return step > 0 && channels >= step / 2 ? up(channels, step) : channels;
}

/* The product that the convolution is, channels filled up to where rows are aligned. */
static struct product unfold(const struct sg_curve *curve, const struct sg_geometry *geometry)
{
	const struct sg_geometry *g = geometry;
	double unit = (double)ROW_BYTES / g->element_bytes;
	double channels = up(g->channels, unit), filters = up(g->filters, unit);
	double summed = g->work == SG_BACKWARD_DATA ? filters : channels;
	int is_aligned = channels == g->channels && filters == g->filters;
	struct product p = {.count = g->count, .may_split = 1};

	switch (g->work) {
	case SG_FORWARD:
		p.m = g->images * g->out_pixels, p.n = filters;
		p.k = round_channels(curve, channels) * g->taps;
		p.may_split = is_aligned || g->alignment >= ROW_BYTES / 2;
		break;
	case SG_BACKWARD_DATA:
		p.m = g->images * g->pixels, p.n = channels;
		p.k = round_channels(curve, filters) * g->taps / g->stride;
		break;
	default:
		p.m = filters, p.n = channels * g->taps, p.k = g->images * g->out_pixels;
	}
	p.bytes = g->element_bytes * g->count *
		  (g->images * (g->channels * g->pixels + g->filters * g->out_pixels) +
			  g->channels * g->filters * g->taps);
	p.efficiency = is_aligned            ? curve->efficiency
		       : g->is_channels_last ? unaligned_efficiency(curve, g)
					     : curve->padded;
	if (summed < NARROW_CHANNELS)
		p.efficiency = fmin(p.efficiency, curve->narrow);
	p.step_ns = is_aligned ? curve->step_ns : curve->unaligned_step_ns;
	p.floor_ns = curve->floor_ns + (is_aligned ? 0 : curve->unaligned_ns);
	return p;
}

/* The change of layout of one of a convolution's tensors, or its filling up; 0: none. */
static double arrange_ns(const struct sg_tile_device *device, const struct sg_geometry *geometry, char tensor)
{
	const struct sg_geometry *g = geometry;

	if (tensor == 'w')
		return g->is_channels_last ? 0 : transpose_ns(device, g, g->filters, g->channels, g->taps);
	if (tensor == 'x')
		return g->is_channels_last ? pad_ns(device, g, g->channels, g->pixels)
					   : transpose_ns(device, g, g->images, g->channels, g->pixels);
	return g->is_channels_last ? pad_ns(device, g, g->filters, g->out_pixels)
				   : transpose_ns(device, g, g->images, g->filters, g->out_pixels);
}

static int arranged_parts(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct sg_geometry *geometry, struct sg_part *parts)
{
	/* what is read, read and written */
	static const char order[][4] = {
		[SG_FORWARD] = "xwy", [SG_BACKWARD_DATA] = "ywx", [SG_BACKWARD_FILTER] = "xyw"};
	const char *tensor = order[geometry->work];
	int is_last = geometry->is_channels_last;
	const char *in = is_last ? "nhwcAddPaddingKernel" : "nchwToNhwcKernel";
	const struct product product = unfold(curve, geometry);
	struct cut cut = cut_product(curve, device, &product);
	int count = add(parts, 0, in, arrange_ns(device, geometry, tensor[0]));

	count = add(parts, count, in, arrange_ns(device, geometry, tensor[1]));
	count = geometry->work == SG_BACKWARD_FILTER
			? add(parts, count, "init_device_workspace_kernel", INIT_NS)
			: add_set(parts, count);
	count = add(parts, count, NULL, cut.compute_ns);
	count = add(parts, count, "split_k_kernel", cut.reduce_ns);
	return add(parts, count, is_last ? "nhwcAddPaddingKernel" : "nhwcToNchwKernel",
		arrange_ns(device, geometry, tensor[2]));
}

/* A 1x1 convolution over channels first is a product of each image with the filter as it is; kernels that do
 * not use the matrix unit take channels first with any filter. */
static int direct_parts(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct sg_geometry *geometry, struct sg_part *parts)
{
	struct product product = unfold(curve, geometry);
	struct cut cut;
	int is_aligned = fmod(geometry->pixels * geometry->element_bytes, ROW_BYTES) == 0;

	product.efficiency = curve->direct * (is_aligned ? 1 : curve->padded / curve->efficiency);
	cut = cut_product(curve, device, &product);
	return add(parts, add(parts, 0, NULL, cut.compute_ns), "splitKreduce_kernel", cut.reduce_ns);
}

/* A block takes so many queries, and the keys one tile after another; around it, backward, are kernels that
 * sum up products of rows and round the gradient of q, which many blocks add to. Shares of the memory's rate.
 */
#define ATTENTION_ROWS 128
#define ROWS_MEMORY 0.36
#define ROUNDING_MEMORY 0.68

static int attention_parts(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct sg_geometry *geometry, struct sg_part *parts)
{
	const struct sg_geometry *g = geometry;
	double blocks = g->count * ceil((g->work == SG_ATTENTION ? g->m : g->n) / ATTENTION_ROWS);
	double bytes = g->count * g->m * g->k * g->element_bytes;
	int is_backward = g->work == SG_ATTENTION_BACKWARD;
	int count = add_set(parts, 0);

	if (is_backward)
		count = add(
			parts, count, "compute_dot_do_o", 2 * bytes / (device->memory_rate * ROWS_MEMORY));
	count = add(parts, count, NULL,
		curve->floor_ns + fmax(blocks / device->multiprocessors, 1) * curve->tile_ns +
			g->flops / (device->peak * curve->efficiency));
	if (is_backward)
		count = add(parts, count, "convert_dq_to_16bits",
			3 * bytes / (device->memory_rate * ROUNDING_MEMORY));
	return count;
}

int sg_tile_parts(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct sg_geometry *geometry, struct sg_part parts[SG_PARTS])
{
	struct sg_part arranged[SG_PARTS];
	int count, arranged_count;

	if (geometry->work == SG_PRODUCT)
		return product_parts(curve, device, geometry, parts);
	if (geometry->work >= SG_ATTENTION)
		return attention_parts(curve, device, geometry, parts);
	if (geometry->is_channels_last ||
		(!device->is_scalar && (geometry->taps > 1 || geometry->stride > 1)))
		return arranged_parts(curve, device, geometry, parts);
	count = direct_parts(curve, device, geometry, parts);
	arranged_count = arranged_parts(curve, device, geometry, arranged);
	if (sg_parts_ns(parts, count) <= sg_parts_ns(arranged, arranged_count))
		return count;
	for (int i = 0; i < arranged_count; i++)
		parts[i] = arranged[i];
	return arranged_count;
}

/* ---- neighbours ---- */

/* What a whole neighbour weighs against none at all, and how far it reaches, in doublings of a size. */
#define NOBODY 0.25
#define REACH 1.5

void sg_place(const struct sg_geometry *geometry, double at[SG_PLACES])
{
	const struct sg_geometry *g = geometry;
	int is_aligned = g->alignment >= ROW_BYTES;

	for (int i = 0; i < SG_PLACES; i++)
		at[i] = 0;
	if (g->work == SG_PRODUCT || g->work >= SG_ATTENTION) {
		const double sizes[] = {g->m, g->n, g->k, g->count};

		for (int i = 0; i < 4; i++)
			at[i] = log2(fmax(sizes[i], 1));
		at[4] = log2(ROW_BYTES / (double)g->alignment);
		return;
	}
	at[0] = 0.7 * log2(fmax(g->images, 1));
	at[1] = log2(fmax(g->channels, 1));
	at[2] = 0.5 * log2(fmax(g->pixels, 1));
	at[3] = log2(fmax(g->filters, 1));
	at[4] = 0.75 * log2(fmax(g->taps, 1));
	at[5] = 0.75 * log2(fmax(g->stride, 1));
	at[6] = g->is_channels_last ? 3 : 0;
	at[7] = is_aligned ? 0 : 2;
}

double sg_neighbour_factor(const struct sg_neighbour *rows, size_t count, const double at[SG_PLACES])
{
	double weights = NOBODY, sum = 0;

	for (size_t i = 0; i < count; i++) {
		double square = 0, weight;

		for (int d = 0; d < SG_PLACES; d++)
			square += (rows[i].at[d] - at[d]) * (rows[i].at[d] - at[d]);
		if (square > 9 * REACH * REACH)
			continue;
		weight = exp(-square / (REACH * REACH));
		weights += weight;
		sum += weight * rows[i].log_ratio;
	}
	return exp(sum / weights);
}
