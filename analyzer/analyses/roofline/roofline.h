/*
 * The roofline (Williams, Waterman and Patterson: "Roofline: an insightful visual performance model for
 * multicore architectures", CACM 52(4), 2009): what each layer's work is, how fast it was done, and how fast
 * the device could have done it.
 *
 * A call cannot take less than its operations at the device's peak, nor less than its bytes at the memory's
 * bandwidth; the greater of the two is its time at the roof. Times are those of calls on the device, added up
 * in an iteration; the median is over the used iterations of all GPUs. Work is that of work.h.
 */
#ifndef ANALYSES_ROOFLINE_ROOFLINE_H
#define ANALYSES_ROOFLINE_ROOFLINE_H

#include "device_peak.h"
#include "reconstruct/analysis.h"
#include "work.h"

#include <stdio.h>

/* Key (JSON, CSV) and words for people. */
#define ROOFLINE_DIRECTIONS(X) \
	X(FORWARD, "forward", "forward") \
	X(DATA, "dgrad", "data gradient") \
	X(WEIGHT, "wgrad", "parameter gradient") \
	X(AGAIN, "recompute", "recomputed forward work") \
	X(UPDATE, "update", "update")

enum roofline_direction {
#define ROOFLINE_ITEM(name, key, text) ROOFLINE_##name,
	ROOFLINE_DIRECTIONS(ROOFLINE_ITEM)
#undef ROOFLINE_ITEM
		ROOFLINE_DIRECTION_COUNT,
};

enum roofline_bound {
	ROOFLINE_UNKNOWN, /* no roof, no time or no work is known */
	ROOFLINE_COMPUTE, /* its operations take longer than its bytes */
	ROOFLINE_MEMORY,  /* the other way round */
	ROOFLINE_LATENCY, /* too short: kernels hardly longer than the shortest, and below half of the roof */
};

/* Work of one sort in an iteration of one GPU: means, but for the times. */
struct roofline_amount {
	double calls;
	double flops, bytes; /* of the calls of which they are known */
	double time_ns;      /* their median time; NaN: device times are not known */
	double unknown_ns;   /* mean time of the calls of which they are not */
	double flops_ns;     /* the operations at peak; NaN: no peak is known */
	double bytes_ns;     /* the bytes at the memory's bandwidth */
	double roof_ns;      /* the sum over the calls of the greater of the two */
	enum roofline_bound bound;
};

struct roofline_item {
	const char *layer; /* its title */
	const char *name;  /* different for each layer */
	enum roofline_direction direction;
	enum work_kind kind; /* of most of the work at the roof, or of most bytes */
	enum work_type type; /* of most operations */
	struct roofline_amount amount;
};

struct roofline {
	struct roofline_item
		*items; /* in order of layers, then of directions; what has no calls is not there */
	size_t item_count, item_room;
	struct roofline_amount kinds[WORK_KIND_COUNT]; /* of all work on the devices */
	bool kind_links[WORK_KIND_COUNT];              /* through a bus or network: there is no roof */
	/* A GPU's mean over all. */
	double iteration_ns;
	double model_flops;     /* forward and backward, without what is done again */
	double performed_flops; /* with that, and the update */
	double flops_rate;      /* performed, per second of iteration */
	double utilization; /* MFU: time that model_flops take at peak, as a share of the iteration; NaN: no
			       peak, or scaled times */
	double roof_ns;     /* of all forward, backward and update work at the roof; NaN: no peak */
	double shortest_ns; /* of all kernels */
	double time_scale;  /* of modelled times; other than 1, the GPU has no peak for them */
	/* Of the first GPU. */
	const char *device; /* its name, or NULL */
	struct device_peak peak;
	bool mixed; /* GPUs of several sorts: each has its own roof, the picture has the first one's */
	struct arena arena;
};

struct roofline_options {
	double flops, bandwidth; /* per second, in place of what is known of the devices; 0: as known */
};

/* Of a worker's GPU; without a source where nothing is known, or its times are scaled. */
struct device_peak roofline_peak(
	const struct timeline *timeline, const struct worker *worker, const struct roofline_options *options);

/* The caller frees it. Works on any run, without iterations everything is 0. */
void roofline_find(
	const struct analysis *analysis, const struct roofline_options *options, struct roofline *roofline);
void roofline_free(struct roofline *roofline);

/* Of an amount: per second, and the share of the roof; NaN where not known. */
double roofline_flops_rate(const struct roofline_amount *amount);
double roofline_bytes_rate(const struct roofline_amount *amount);
double roofline_share(const struct roofline_amount *amount);
double roofline_intensity(const struct roofline_amount *amount); /* operations a byte */

/* Is work bound by latency? What share of the roof it reaches, what a kernel of it takes, and the shortest
 * kernel of the run. */
bool roofline_is_short(double share, double kernel_ns, double shortest_ns);

extern const char *const roofline_direction_keys[ROOFLINE_DIRECTION_COUNT];
extern const char *const roofline_direction_titles[ROOFLINE_DIRECTION_COUNT];
extern const char *const roofline_bound_keys[4];

/* Sum of the known operations of a layer in all directions but the update; NaN where it has none (for other
 * commands' tables). */
double roofline_layer_flops(const struct roofline *roofline, const char *name);

/* Tables (roofline_table.c), for programs or for people: in text, there also with the letters of the picture,
 * or on a page, where there is room for what the layers could gain. */
enum roofline_reader { ROOFLINE_PROGRAM, ROOFLINE_TEXT, ROOFLINE_PLOT, ROOFLINE_PAGE };
struct print_table;
void roofline_layer_table(
	const struct roofline *roofline, struct print_table *table, enum roofline_reader reader);
void roofline_kind_table(
	const struct roofline *roofline, struct print_table *table, enum roofline_reader reader);

/* What it takes beyond the roof, ns; without a roof, all of it. */
double roofline_gain_ns(const struct roofline_item *item);

/* "12.3 T" with the unit that suits it; in the arena. */
const char *roofline_rate_text(struct arena *arena, double rate);

/* The picture (roofline_plot.c): intensity to the right, rate upwards, both logarithmic; a point for each
 * item, its area the time, and a line for the roof of each type of arithmetic. False: no item has both
 * operations and a time. The caller frees the plot, with plot_free, in both cases. */
struct plot;
bool roofline_plot(const struct roofline *roofline, struct plot *plot);
/* The letter of an item in it: a to z, A to Z, then '*'. */
char roofline_letter(size_t item);

/* The roof at an intensity, with a peak. */
double roofline_roof(const struct device_peak *peak, enum work_type type, double intensity);

/* Is there any work of this type of arithmetic among the items? */
bool roofline_has_type(const struct roofline *roofline, enum work_type type);

#endif
