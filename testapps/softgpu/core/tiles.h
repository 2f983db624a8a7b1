/*
 * The time of matrix products and convolutions, as the kernels of a library that they are.
 *
 * The one idea: a convolution is a matrix product over pixels, filters and taps, and a product is cut into
 * tiles of the output, which a device's multiprocessors compute in waves. A library tries tiles, and cuts the
 * sum over K too where there are fewer tiles than multiprocessors; so does the model, and takes the fastest.
 * Around it are the kernels that change layouts, add up what was cut, and set counters. What is left to
 * measurements is a curve of twelve constants for each kind of work and type, which `softgpu_fit` fits to a
 * table of measured operations, and the neighbours: by how much single operations of that table differ from
 * their curve.
 */
#ifndef SG_TILES_H
#define SG_TILES_H

#include "sg.h"

/* One kind of work in one type. Times are in ns, shares are of the device's peak rates. */
struct sg_curve {
	double efficiency; /* of the arithmetic, in whole waves of large tiles */
	double tile_half;  /* a tile of sides a, b reaches 1 / (1 + tile_half (1/a + 1/b)) of that */
	double tile_ns;    /* before and after the sum over K, a tile */
	double step_ns;    /* 32 terms of the sum take at least that, however small the tile */
	double floor_ns;   /* of the kernel */
	double memory;     /* share of the memory's rate */
	double split_ns;   /* of the kernel that adds up a sum that was cut */
	double unaligned;  /* as `efficiency`, where rows begin at any element; by the alignment between */
	double unaligned_step_ns; /* as `step_ns`, where rows are not aligned to 16 bytes */
	double unaligned_ns;      /* more than `floor_ns`, where rows are not aligned to 16 bytes */
	double padded;            /* as `efficiency`, where a change of layout pads unaligned channels */
	double direct;       /* as `efficiency`, of 1x1 convolutions in NCHW without a change of layout */
	double narrow;       /* the most that a convolution with fewer than 16 channels reaches */
	double channel_step; /* the sum over a tap's channels is rounded up to a multiple of that */
};
#define SG_CURVE_VALUES (sizeof(struct sg_curve) / sizeof(double))

/* Of SG_COST_F32, SG_COST_TF32, SG_COST_F16: what others are computed in has no curve. */
#define SG_CURVE_TYPES 3

/* By how much one measured operation differs from its curve. */
struct sg_neighbour {
	double at[SG_PLACES]; /* see sg_place */
	double log_ratio;     /* of the measured time to the curve's */
};

struct sg_curves {
	struct sg_curve of[SG_WORKS][SG_CURVE_TYPES]; /* efficiency 0: there is none */
	struct {
		struct sg_neighbour *rows; /* malloc'ed; as long as the process lives */
		size_t count;
	} near[SG_WORKS][SG_CURVE_TYPES];
};

/* The folder of the profiles that come with softgpu. */
void sg_profiles_folder(char *folder, size_t room);
/*
 * Reads a table of curves or of neighbours into what is there: a path if there is a '/' in it, else the name
 * of one in the folder `profiles` beside this library, with its ending. 0, or -1 with one sentence in error.
 */
int sg_curves_read(struct sg_curves *curves, const char *name, char *error, size_t error_bytes);
/* The columns of a table of curves, in the order of struct sg_curve; the names of works and types, NULL ends.
 */
extern const char *const sg_curve_columns[SG_CURVE_VALUES + 1];
extern const char *const sg_work_names[SG_WORKS + 1];
extern const char *const sg_curve_types[SG_CURVE_TYPES + 1];

/* A device, as far as this needs it; rates are per ns. */
struct sg_tile_device {
	double multiprocessors, peak, memory_rate;
	int is_scalar; /* the peak is not the matrix unit's */
};

/* A kernel of a call, or a set of a few bytes. */
struct sg_part {
	const char *name; /* static; NULL: the kernel that computes */
	int is_set;
	double ns;
};
#define SG_PARTS 8

static inline double sg_parts_ns(const struct sg_part *parts, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += parts[i].ns;
	return sum;
}

/* The kernels of a call in the order in which they are launched; answers how many. Without neighbours. */
int sg_tile_parts(const struct sg_curve *curve, const struct sg_tile_device *device,
	const struct sg_geometry *geometry, struct sg_part parts[SG_PARTS]);
/* Where an operation lies among others of its kind: logarithms of its sizes, weighted; for neighbours. */
void sg_place(const struct sg_geometry *geometry, double at[SG_PLACES]);
/* The factor on the time of an operation that its neighbours say. */
double sg_neighbour_factor(const struct sg_neighbour *rows, size_t count, const double at[SG_PLACES]);

#endif
