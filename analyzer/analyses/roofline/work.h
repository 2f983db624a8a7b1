/*
 * How much work an operation is: its floating-point operations and its bytes, from its function and its
 * values alone. No time, no device.
 *
 * Operations are those that the mathematics asks for, whatever the algorithm: a multiplication and an
 * addition are two. So a convolution by Winograd's method or by a Fourier transform can go beyond a device's
 * peak. Bytes are compulsory traffic: each operand once, a result that is also read (beta not 0) twice,
 * scratch memory not at all. Sizes are those of the tensors, without the padding of their strides.
 */
#ifndef ANALYSES_ROOFLINE_WORK_H
#define ANALYSES_ROOFLINE_WORK_H

#include "timeline/timeline.h"

/* Key (JSON, CSV) and words. */
#define WORK_KINDS(X) \
	X(OTHER, "other", "other") \
	X(CONVOLUTION, "convolution", "convolution") \
	X(PRODUCT, "product", "matrix product") \
	X(ATTENTION, "attention", "attention") \
	X(RECURRENT, "recurrent", "recurrent network") \
	X(NORMALIZATION, "normalization", "normalisation") \
	X(POOLING, "pooling", "pooling") \
	X(ACTIVATION, "activation", "activation") \
	X(SOFTMAX, "softmax", "softmax") \
	X(DROPOUT, "dropout", "dropout") \
	X(ELEMENTWISE, "elementwise", "element by element") \
	X(REDUCTION, "reduction", "reduction") \
	X(KERNEL, "kernel", "custom kernel or fused graph") \
	X(COPY, "copy", "copy, set") \
	X(COLLECTIVE, "collective", "communication")

enum work_kind {
#define WORK_ITEM(name, key, text) WORK_##name,
	WORK_KINDS(WORK_ITEM)
#undef WORK_ITEM
		WORK_KIND_COUNT,
};

/* What the arithmetic is done in, as the libraries choose by default. TF32: floats on a matrix unit, where
 * the device has one for them and nothing forbids it. */
enum work_type { WORK_F32, WORK_TF32, WORK_F16, WORK_BF16, WORK_F64, WORK_I8, WORK_TYPE_COUNT };

/* Which gradient a backward operation computes, as far as its function says. */
enum work_gradient { WORK_GRADIENT_UNKNOWN, WORK_GRADIENT_DATA, WORK_GRADIENT_WEIGHT };

struct work {
	enum work_kind kind;
	enum work_type type;
	enum work_gradient gradient;
	bool known; /* else flops and bytes are 0: a kernel of the application's own, a graph of many kinds */
	bool link;  /* the bytes do not go through the device's memory alone: copies from and to hosts,
		       messages */
	double flops, bytes;
};

/* Of an operation of the timeline; for calls that are no work at all, `known` with nothing in it. Any thread.
 */
struct work work_of(const struct timeline *timeline, uint32_t number);

extern const char *const work_kind_keys[WORK_KIND_COUNT];
extern const char *const work_kind_titles[WORK_KIND_COUNT];
extern const char *const work_type_names[WORK_TYPE_COUNT];

#endif
