/*
 * For the tests of the stand-in cuBLAS: arrays on both sides in four types, comparison, scalars, and a gate.
 *
 * The one idea: the host keeps every array as doubles, gaps included. The gate holds the stream back while
 * calls are made and their host scalars overwritten, so that work which still reads them is found out.
 */
#ifndef TEST_BLAS_H
#define TEST_BLAS_H

#include <math.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cuda_runtime_api.h>
#include <cublas_v2.h>

static int failures;
static const char *case_name = "";
static cublasHandle_t handle;
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
#define OK(call) EXPECT((call) == CUBLAS_STATUS_SUCCESS)
#define CUDA(call) EXPECT((call) == cudaSuccess)

#define N CUBLAS_OP_N
#define T CUBLAS_OP_T
#define C CUBLAS_OP_C

static inline void wait_at_gate(void *unused)
{
	(void)unused;
	sem_wait(&gate);
}

/* Work submitted in between runs only at open_gate(): by then the caller's scalars have been overwritten. */
static inline void close_gate(void)
{
	CUDA(cudaLaunchHostFunc(stream, wait_at_gate, NULL));
}

static inline void open_gate(void)
{
	sem_post(&gate);
	CUDA(cudaStreamSynchronize(stream));
}

static inline double next_random(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double)(state >> 11) * 0x1p-52 - 1;
}

/* ---- numbers of the four types ---- */

static inline size_t bytes_of(cudaDataType type)
{
	return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

/* Spacing of the type's numbers near 1. */
static inline double spacing_of(cudaDataType type)
{
	return type == CUDA_R_64F   ? 0x1p-52
	       : type == CUDA_R_32F ? 0x1p-23
	       : type == CUDA_R_16F ? 0x1p-10
				    : 0x1p-7;
}

/* 16-bit types by search for the nearest, not by the library's arithmetic. */
static inline double value_of_bits(cudaDataType type, uint16_t bits)
{
	int fraction_bits = type == CUDA_R_16F ? 10 : 7;
	int bias = type == CUDA_R_16F ? 15 : 127;
	int exponent = (bits & 0x7fff) >> fraction_bits;
	int fraction = bits & ((1 << fraction_bits) - 1);
	double size = exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
				    : ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);

	return bits & 0x8000 ? -size : size;
}

static inline uint16_t bits_of_value(cudaDataType type, double value)
{
	int low = 0, high = (type == CUDA_R_16F ? 31 << 10 : 255 << 7) - 1;
	double size = fabs(value);

	while (low < high) {
		int middle = (low + high + 1) / 2;

		if (value_of_bits(type, (uint16_t)middle) <= size)
			low = middle;
		else
			high = middle - 1;
	}
	if (low + 1 < (type == CUDA_R_16F ? 31 << 10 : 255 << 7)) {
		double below = size - value_of_bits(type, (uint16_t)low);
		double above = value_of_bits(type, (uint16_t)(low + 1)) - size;

		if (above < below || (above == below && low % 2 == 1))
			low++;
	}
	return (uint16_t)(value < 0 ? low | 0x8000 : low);
}

static inline void put(void *base, cudaDataType type, size_t i, double value)
{
	if (type == CUDA_R_64F)
		((double *)base)[i] = value;
	else if (type == CUDA_R_32F)
		((float *)base)[i] = (float)value;
	else
		((uint16_t *)base)[i] = bits_of_value(type, value);
}

static inline double get(const void *base, cudaDataType type, size_t i)
{
	if (type == CUDA_R_64F)
		return ((const double *)base)[i];
	if (type == CUDA_R_32F)
		return (double)((const float *)base)[i];
	return value_of_bits(type, ((const uint16_t *)base)[i]);
}

/* An array on both sides. */
struct array {
	cudaDataType type;
	size_t count;
	double *value;
	void *device;
};

static inline void upload(const struct array *a)
{
	void *copy = malloc(a->count * bytes_of(a->type));

	if (copy == NULL)
		abort();
	for (size_t i = 0; i < a->count; i++)
		put(copy, a->type, i, a->value[i]);
	CUDA(cudaMemcpy(a->device, copy, a->count * bytes_of(a->type), cudaMemcpyHostToDevice));
	free(copy);
}

static inline struct array make_array(cudaDataType type, size_t count)
{
	struct array a = {type, count, malloc(count * sizeof(double)), NULL};
	uint64_t one;

	if (a.value == NULL)
		abort();
	for (size_t i = 0; i < count; i++) {
		put(&one, type, 0, next_random());
		a.value[i] = get(&one, type, 0);
	}
	CUDA(cudaMalloc(&a.device, count * bytes_of(type)));
	upload(&a);
	return a;
}

static inline void drop_array(struct array *a)
{
	CUDA(cudaFree(a->device));
	free(a->value);
}

static inline void compare_at(const char *file, int line, const struct array *a, double tolerance)
{
	void *copy = malloc(a->count * bytes_of(a->type));
	size_t wrong = 0, first = 0;

	if (copy == NULL)
		abort();
	CUDA(cudaMemcpy(copy, a->device, a->count * bytes_of(a->type), cudaMemcpyDeviceToHost));
	for (size_t i = 0; i < a->count; i++) {
		if (!(fabs(get(copy, a->type, i) - a->value[i]) <= tolerance * (1 + fabs(a->value[i])))) {
			first = wrong == 0 ? i : first;
			wrong++;
		}
	}
	if (wrong > 0) {
		failures++;
		printf("%s:%d: %s: %zu of %zu values differ; at %zu: %.9g, expected %.9g\n", file, line,
			case_name, wrong, a->count, first, get(copy, a->type, first), a->value[first]);
	}
	free(copy);
}
#define COMPARE(a, tolerance) compare_at(__FILE__, __LINE__, a, tolerance)

/*
 * A scalar where the pointer mode wants it. One in device memory is not a number until arrive() has been
 * reached in the stream, after the gate: reading it at the call would be found out.
 */
struct scalar {
	unsigned char host[8];
	void *device;
	void *coming; /* device memory with the value */
	bool on_device;
};

static inline struct scalar make_scalar(cudaDataType type, double value, bool on_device)
{
	struct scalar scalar = {.on_device = on_device};

	put(scalar.host, type, 0, value);
	if (on_device) {
		CUDA(cudaMalloc(&scalar.device, sizeof(scalar.host)));
		CUDA(cudaMalloc(&scalar.coming, sizeof(scalar.host)));
		CUDA(cudaMemset(scalar.device, 0xff, sizeof(scalar.host)));
		CUDA(cudaMemcpy(scalar.coming, scalar.host, sizeof(scalar.host), cudaMemcpyHostToDevice));
	}
	return scalar;
}

static inline void arrive(const struct scalar *scalar)
{
	if (scalar->on_device)
		CUDA(cudaMemcpyAsync(scalar->device, scalar->coming, sizeof(scalar->host),
			cudaMemcpyDeviceToDevice, stream));
}

static inline void *address_of(struct scalar *scalar)
{
	return scalar->on_device ? scalar->device : scalar->host;
}

static inline void drop_scalar(struct scalar *scalar)
{
	if (scalar->on_device) {
		CUDA(cudaFree(scalar->device));
		CUDA(cudaFree(scalar->coming));
	}
}

static inline void begin_tests(void)
{
	sem_init(&gate, 0, 0);
	CUDA(cudaStreamCreate(&stream));
	OK(cublasCreate(&handle));
	OK(cublasSetStream(handle, stream));
}

static inline int end_tests(void)
{
	OK(cublasDestroy(handle));
	CUDA(cudaStreamDestroy(stream));
	sem_destroy(&gate);
	if (failures > 0)
		printf("%d failures\n", failures);
	return failures > 0;
}

#endif
