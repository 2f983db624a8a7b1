/*
 * The walk over strided tensors and the scratch memory of worker threads.
 *
 * The one idea: sort and merge the dimensions once, so that whatever the layouts are, the inner loop is a
 * row as long as it can be and the row functions know nothing of dimensions.
 */
#include "cudnn_private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

SG_VECTORIZE_LOOPS

/* Whether dimension a should be outside b: by the last operand's strides, then by the others'. */
static bool goes_outside(const struct sg_loop *loop, int a, int b)
{
	for (int i = loop->noperands - 1; i >= 0; i--) {
		if (loop->step[i][a] != loop->step[i][b])
			return loop->step[i][a] > loop->step[i][b];
	}
	return a < b;
}

static void swap_dims(struct sg_loop *loop, int a, int b)
{
	int64_t dim = loop->dim[a];

	loop->dim[a] = loop->dim[b];
	loop->dim[b] = dim;
	for (int i = 0; i < loop->noperands; i++) {
		int64_t step = loop->step[i][a];

		loop->step[i][a] = loop->step[i][b];
		loop->step[i][b] = step;
	}
}

static bool can_merge(const struct sg_loop *loop, int outer, int inner)
{
	for (int i = 0; i < loop->noperands; i++) {
		if (loop->step[i][outer] != loop->step[i][inner] * loop->dim[inner])
			return false;
	}
	return true;
}

void sg_loop_init(struct sg_loop *loop, const struct sg_shape *dims, int noperands,
	const struct sg_shape *const *shapes)
{
	int n = 0;
	int merged = 0;

	memset(loop, 0, sizeof(*loop));
	loop->noperands = noperands;
	for (int i = 0; i < noperands; i++)
		loop->element_bytes[i] = sg_type_bytes(shapes[i]->type);
	for (int d = 0; d < dims->ndims; d++) {
		if (dims->dim[d] == 1)
			continue;
		loop->dim[n] = dims->dim[d];
		for (int i = 0; i < noperands; i++)
			loop->step[i][n] = shapes[i]->dim[d] == 1 ? 0 : shapes[i]->stride[d];
		n++;
	}
	for (int a = 1; a < n; a++) {
		for (int b = a; b > 0 && goes_outside(loop, b, b - 1); b--)
			swap_dims(loop, b, b - 1);
	}
	for (int d = 1; d < n; d++) {
		if (can_merge(loop, merged, d)) {
			loop->dim[merged] *= loop->dim[d];
		} else {
			merged++;
			loop->dim[merged] = loop->dim[d];
		}
		for (int i = 0; i < noperands; i++)
			loop->step[i][merged] = loop->step[i][d];
	}
	if (n == 0)
		loop->dim[0] = 1;
	loop->ndims = merged + 1;
}

void sg_loop_run(const struct sg_loop *loop, void *const *base, sg_row *row, const void *context)
{
	int64_t index[SG_DIMS_MAX] = {0};
	int64_t row_step[SG_OPERANDS_MAX];
	void *at[SG_OPERANDS_MAX];
	int last = loop->ndims - 1;

	for (int i = 0; i < loop->noperands; i++) {
		at[i] = base[i];
		row_step[i] = loop->step[i][last];
	}
	for (;;) {
		int d = last - 1;

		row(loop->dim[last], at, row_step, context);
		for (; d >= 0; d--) {
			bool wraps = ++index[d] == loop->dim[d];
			int64_t moves = wraps ? 1 - loop->dim[d] : 1;

			for (int i = 0; i < loop->noperands; i++) {
				int64_t bytes = moves * loop->step[i][d] * (int64_t)loop->element_bytes[i];

				at[i] = (char *)at[i] + bytes;
			}
			if (!wraps)
				break;
			index[d] = 0;
		}
		if (d < 0)
			return;
	}
}

#define REAL float
#define REAL_NAME(name) name##_f32
#include "loop.inc"
#undef REAL
#undef REAL_NAME
#define REAL double
#define REAL_NAME(name) name##_f64
#include "loop.inc"

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static bool scratch_has_key;

/* The block begins with its size; 64 bytes keep what follows aligned. */
#define SCRATCH_HEADER_BYTES 64

static void make_scratch_key(void)
{
	scratch_has_key = pthread_key_create(&scratch_key, free) == 0;
}

void *sg_scratch(size_t bytes)
{
	size_t *block;
	size_t rounded = (bytes + 4095) & ~(size_t)4095;

	pthread_once(&scratch_once, make_scratch_key);
	if (!scratch_has_key)
		return NULL;
	block = pthread_getspecific(scratch_key);
	if (block == NULL || *block < bytes) {
		free(block);
		block = aligned_alloc(SCRATCH_HEADER_BYTES, rounded + SCRATCH_HEADER_BYTES);
		pthread_setspecific(scratch_key, block);
		if (block == NULL)
			return NULL;
		*block = rounded;
	}
	return (char *)block + SCRATCH_HEADER_BYTES;
}
