/* What the tests of networks on the device share: copies, random numbers, a forward pass, and a way to
 * complain. */
#ifndef TEST_DEVICE_H
#define TEST_DEVICE_H

#include <stdarg.h>

#include "check.h"
#include "nn.h"
#include "random.h"

enum { MAX_FAILURES = 20 };

static int failures;

__attribute__((format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	if (++failures == MAX_FAILURES)
		exit(1);
}

/* Waits for the device; the caller frees what it gets. */
static inline float *to_host(const float *device, size_t count)
{
	float *host = xcalloc(count, sizeof(float));

	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(host, device, count * sizeof(float), cudaMemcpyDeviceToHost));
	return host;
}

/* Random numbers up to `scale` from `middle`, alike for the same seed. */
static inline void fill(float *device, size_t count, uint64_t seed, double middle, double scale)
{
	float *host = xcalloc(count, sizeof(float));

	for (size_t i = 0; i < count; i++)
		host[i] = (float)(middle + scale * (2 * random_uniform(&seed) - 1));
	CHECK(cudaMemcpy(device, host, count * sizeof(float), cudaMemcpyHostToDevice));
	free(host);
}

static inline void forward(struct nn *nn, int slot, enum nn_training training)
{
	nn->training = training;
	for (int i = nn->first; i < nn->end; i++)
		nn_forward(nn, i, slot);
	nn->training = NN_TRAIN;
}

#endif
