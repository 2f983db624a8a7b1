/*
 * For the tests of the stand-in cuDNN and cuBLAS: tensors on both sides, comparison, differences, and a gate.
 *
 * The one idea: the host keeps every tensor as doubles at the same offsets as in device memory, gaps
 * included, so one comparison checks results and that nothing else was written. The gate holds the stream
 * back while a call is made and its descriptors are destroyed, so that work which still needs them afterwards
 * is found out.
 */
#ifndef TEST_COMPUTE_H
#define TEST_COMPUTE_H

#include <math.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#define DIMS_MAX 8

/* Pooling modes that the project's own header leaves out. */
#define AVERAGE_WITH_PADDING ((cudnnPoolingMode_t)1)
#define AVERAGE_WITHOUT_PADDING ((cudnnPoolingMode_t)2)

static int failures;
static const char *case_name = "";
static cudnnHandle_t handle;
static cudaStream_t stream;
static sem_t gate;

#define EXPECT(condition) \
	do { \
		if (!(condition)) { \
			failures++; \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, case_name, #condition); \
		} \
	} while (0)
#define EXPECT_STATUS(expected, call) EXPECT((call) == (expected))
#define OK(call) EXPECT((call) == CUDNN_STATUS_SUCCESS)
#define CUDA(call) EXPECT((call) == cudaSuccess)

static inline void wait_at_gate(void *unused)
{
	(void)unused;
	sem_wait(&gate);
}

static inline void begin_tests(void)
{
	sem_init(&gate, 0, 0);
	CUDA(cudaStreamCreate(&stream));
	OK(cudnnCreate(&handle));
	OK(cudnnSetStream(handle, stream));
}

static inline int end_tests(void)
{
	OK(cudnnDestroy(handle));
	CUDA(cudaStreamDestroy(stream));
	sem_destroy(&gate);
	if (failures > 0)
		printf("%d failures\n", failures);
	return failures > 0;
}

static inline void close_gate(void)
{
	CUDA(cudaLaunchHostFunc(stream, wait_at_gate, NULL));
}

static inline void open_gate(void)
{
	sem_post(&gate);
	CUDA(cudaStreamSynchronize(stream));
}

/* A repeatable number in [-1, 1). */
static inline double next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-52 - 1;
}

enum layout { PACKED, CHANNELS_LAST, GAPS };

struct tensor {
	cudnnDataType_t type;
	int ndims;
	int dim[DIMS_MAX];
	int stride[DIMS_MAX];
	size_t span;   /* elements, gaps included */
	double *value; /* on the host */
	void *device;
};

static inline size_t type_bytes(const struct tensor *t)
{
	return t->type == CUDNN_DATA_DOUBLE ? sizeof(double) : sizeof(float);
}

static inline int64_t count_of(const struct tensor *t)
{
	int64_t count = 1;

	for (int d = 0; d < t->ndims; d++)
		count *= t->dim[d];
	return count;
}

/* The offset of element i (in the order of t's dims); with `dims` of a larger tensor, of what is broadcast
 * there. */
static inline size_t offset_in(const struct tensor *t, const struct tensor *dims, int64_t i)
{
	size_t offset = 0;

	for (int d = dims->ndims - 1; d >= 0; d--) {
		int64_t at = i % dims->dim[d];

		i /= dims->dim[d];
		offset += (size_t)(t->dim[d] == 1 ? 0 : at * t->stride[d]);
	}
	return offset;
}

static inline double *element(const struct tensor *t, int64_t i)
{
	return &t->value[offset_in(t, t, i)];
}

static inline void upload(const struct tensor *t)
{
	size_t bytes = t->span * type_bytes(t);
	void *copy = malloc(bytes);

	if (copy == NULL)
		abort();
	for (size_t i = 0; i < t->span; i++) {
		if (t->type == CUDNN_DATA_DOUBLE)
			((double *)copy)[i] = t->value[i];
		else
			((float *)copy)[i] = (float)t->value[i];
	}
	CUDA(cudaMemcpy(t->device, copy, bytes, cudaMemcpyHostToDevice));
	free(copy);
}

/* What the device has, as doubles, to be freed. */
static inline double *download(const struct tensor *t)
{
	size_t bytes = t->span * type_bytes(t);
	void *copy = malloc(bytes);
	double *value = malloc(t->span * sizeof(*value));

	if (copy == NULL || value == NULL)
		abort();
	CUDA(cudaMemcpy(copy, t->device, bytes, cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < t->span; i++)
		value[i] = t->type == CUDNN_DATA_DOUBLE ? ((double *)copy)[i] : (double)((float *)copy)[i];
	free(copy);
	return value;
}

static inline struct tensor make_tensor(cudnnDataType_t type, enum layout layout, int ndims, const int *dim)
{
	struct tensor t = {.type = type, .ndims = ndims, .span = 1};
	int stride = 1;

	memcpy(t.dim, dim, (size_t)ndims * sizeof(*dim));
	if (layout == CHANNELS_LAST) {
		t.stride[1] = 1;
		stride = dim[1];
	}
	for (int d = ndims - 1; d >= 0; d--) {
		if (d == 1 && layout == CHANNELS_LAST)
			continue;
		t.stride[d] = stride * (layout == GAPS ? 2 : 1);
		stride = t.stride[d] * dim[d] + (layout == GAPS ? 1 : 0);
	}
	for (int d = 0; d < ndims; d++)
		t.span += (size_t)((dim[d] - 1) * t.stride[d]);
	t.value = malloc(t.span * sizeof(*t.value));
	if (t.value == NULL)
		abort();
	CUDA(cudaMalloc(&t.device, t.span * type_bytes(&t)));
	for (size_t i = 0; i < t.span; i++)
		t.value[i] = type == CUDNN_DATA_DOUBLE ? next_random() : (double)(float)next_random();
	upload(&t);
	return t;
}

static inline struct tensor make_4d(cudnnDataType_t type, enum layout layout, int n, int c, int h, int w)
{
	return make_tensor(type, layout, 4, (const int[]){n, c, h, w});
}

static inline void drop_tensor(struct tensor *t)
{
	CUDA(cudaFree(t->device));
	free(t->value);
}

static inline cudnnTensorDescriptor_t describe(const struct tensor *t)
{
	cudnnTensorDescriptor_t descriptor = NULL;

	OK(cudnnCreateTensorDescriptor(&descriptor));
	OK(cudnnSetTensorNdDescriptor(descriptor, t->type, t->ndims, t->dim, t->stride));
	return descriptor;
}

/* Overwrites a descriptor before destroying it, so that it cannot be of use to anybody any more. */
static inline void spoil(cudnnTensorDescriptor_t descriptor)
{
	OK(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 1, 1, 1));
	OK(cudnnDestroyTensorDescriptor(descriptor));
}

/* The device's values must be t->value, gaps included, within the tolerance. */
static inline void compare_at(const char *file, int line, const struct tensor *t, double tolerance)
{
	double *got = download(t);
	size_t wrong = 0, first = 0;

	for (size_t i = 0; i < t->span; i++) {
		if (!(fabs(got[i] - t->value[i]) <= tolerance * (1 + fabs(t->value[i])))) {
			first = wrong == 0 ? i : first;
			wrong++;
		}
	}
	if (wrong > 0) {
		failures++;
		printf("%s:%d: %s: %zu of %zu values differ; at %zu: %.9g, expected %.9g\n", file, line,
			case_name, wrong, t->span, first, got[first], t->value[first]);
	}
	free(got);
}
#define COMPARE(t, tolerance) compare_at(__FILE__, __LINE__, t, tolerance)

/*
 * The gradient of sum(dy * y) with respect to some elements of x by differences, against dx, which the device
 * holds. run() computes y from x on the device. step: how far x is moved.
 */
static inline void check_differences(const char *file, int line, struct tensor *x, const struct tensor *y,
	const struct tensor *dy, const struct tensor *dx, void (*run)(void *), void *context, double step,
	double tolerance)
{
	double *gradient = download(dx);
	int64_t count = count_of(x);

	for (int pick = 0; pick < 12; pick++) {
		int64_t i = (int64_t)((next_random() + 1) / 2 * (double)count);
		double *moved = element(x, i);
		double before = *moved;
		double sum[2] = {0, 0};
		double slope;

		for (int side = 0; side < 2; side++) {
			double *value;

			*moved = side == 0 ? before - step : before + step;
			upload(x);
			run(context);
			value = download(y);
			for (int64_t k = 0; k < count_of(y); k++)
				sum[side] += *element(dy, k) * value[offset_in(y, y, k)];
			free(value);
		}
		*moved = before;
		slope = (sum[1] - sum[0]) / (2 * step);
		if (!(fabs(slope - gradient[offset_in(dx, dx, i)]) <= tolerance * (1 + fabs(slope)))) {
			failures++;
			printf("%s:%d: %s: slope %.9g by differences, %.9g by the library\n", file, line,
				case_name, slope, gradient[offset_in(dx, dx, i)]);
		}
	}
	upload(x);
	free(gradient);
}

#endif
