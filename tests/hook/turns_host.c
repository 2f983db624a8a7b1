/*
 * A loop of calls of a library that does nothing, for so many seconds; prints how many calls it made.
 *
 *     turns_host SECONDS
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pm_abi.h"

cudaError_t cudaMemcpyAsync(
	void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream);
cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb,
	int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb,
	const float *beta, float *c, int ldc);

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The work of the program itself, some microseconds. */
static unsigned work(unsigned seed)
{
	for (int i = 0; i < 50000; i++)
		seed = seed * 1664525u + 1013904223u;
	return seed;
}

int main(int argc, char **argv)
{
	const double end = seconds() + (argc > 1 ? atof(argv[1]) : 1);
	const float one = 1;
	static float input[64], memory[8][64];
	unsigned seed = 1;
	long calls = 0;

	for (; seconds() < end; calls += 8) {
		cudaMemcpyAsync(memory[0], input, sizeof input, cudaMemcpyHostToDevice, NULL);
		for (int layer = 1; layer < 8; layer++)
			cublasSgemm_v2(NULL, CUBLAS_OP_N, CUBLAS_OP_N, layer, 8, layer, &one, memory[layer],
				layer, memory[layer - 1], layer, &one, memory[layer], layer);
		seed = work(seed);
	}
	printf("calls %ld\n", calls);
	return seed == 0;
}
