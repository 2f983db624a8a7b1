/*
 * What a device can do at most: operations a second by type of arithmetic, and bytes a second of its memory.
 *
 * The one idea: known devices are a table of what their makers' data sheets say; of others, what the driver
 * tells (multiprocessors, clocks, bus) gives the vector units' and the memory's rate.
 */
#ifndef ANALYSES_ROOFLINE_DEVICE_PEAK_H
#define ANALYSES_ROOFLINE_DEVICE_PEAK_H

#include "timeline/timeline.h"
#include "work.h"

struct device_peak {
	const char *source;            /* where the figures are from, for people; NULL: nothing is known */
	double flops[WORK_TYPE_COUNT]; /* per second; of a type the device has no unit for, as it does it
					  otherwise */
	double bandwidth;              /* bytes per second */
};

/* Of a device of the timeline, NULL allowed. Without a source all rates are 0. */
struct device_peak device_peak(const struct timeline_device *device);

/* Of a device with this name, whatever stands around it: "NVIDIA A100-SXM4-80GB". */
struct device_peak device_peak_named(const char *name);

/*
 * A rate as people write it: a number and k, M, G, T or P, with "FLOP/s" or "B/s" after it or not. Answers
 * the rate, or a negative number where it is none.
 */
double device_peak_rate(const char *text);

/* The rate at which work of this type is bound: replaces all types' peak, or the bandwidth, where above 0. */
void device_peak_override(struct device_peak *peak, double flops, double bandwidth);

#endif
