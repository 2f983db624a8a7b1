/*
 * Copies from the host that are no input: weights or optimizer state that are kept in the host's memory and
 * copied in each step. A batch goes to the device and does not come back, in few copies, most of them before
 * a step computes; and it is no gigabyte, the same in each step, in many copies.
 */
#ifndef ANALYSES_OFFLOAD_H
#define ANALYSES_OFFLOAD_H

#include "reconstruct/analysis.h"

/* Of a worker's used iterations, each, mean: device time of copies, as not every trace has their bytes. */
struct offload {
	double to_ns, from_ns;      /* to the device, from it */
	double late_ns, late_count; /* of to_ns, copies after the first computation of an iteration */
	bool returns;               /* as much comes back as of input does not */
	double count, bytes;        /* of the copies to the device; bytes 0: not known */
	bool spread;                /* most is copied while the step computes, in many copies */
	bool large;                 /* gigabytes, as many in each iteration, in many copies */
};

/* Does the worker copy something to its device that is not input? The figures are filled in in any case. */
bool offload_find(
	const struct analysis *analysis, const struct analysis_worker *worker, struct offload *offload);

#endif
