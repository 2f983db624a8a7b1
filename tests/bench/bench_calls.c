/*
 * Prints how long a call of each kind takes, in ns, on a library whose functions return at once. hook_cost
 * runs it with and without a hook. Each number is the median over rounds of the mean of a round.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_clock.h"
#include "pm_abi.h"
#include "pm_hooks.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define ROUNDS 61
#define CALLS 20000
#define LAYERS 16 /* distinct operations that a round goes through, as a network does */

static float memory[LAYERS][4];
static char descriptors[LAYERS][4][64]; /* their addresses are the handles */
static const float zero;

static void wait_event(int i)
{
	cudaStreamWaitEvent((cudaStream_t)0x1000, (cudaEvent_t)(uintptr_t)(0x2000 + 64 * (i % LAYERS)), 0);
}

static void copy(int i)
{
	cudaMemcpyAsync(memory[i % LAYERS], memory[(i + 1) % LAYERS], 4096, cudaMemcpyHostToDevice,
		(cudaStream_t)0x1000);
}

static void gemm(int i)
{
	float *m = memory[i % LAYERS];

	cublasSgemm_v2((cublasHandle_t)0x3000, CUBLAS_OP_N, CUBLAS_OP_T, 64, 64, 64, &zero, m, 64, m + 1, 64,
		&zero, m + 2, 64);
}

static void convolution(int i)
{
	char(*d)[64] = descriptors[i % LAYERS];
	float *m = memory[i % LAYERS];

	cudnnConvolutionForward((cudnnHandle_t)0x4000, &zero, (cudnnTensorDescriptor_t)(void *)d[0], m,
		(cudnnFilterDescriptor_t)(void *)d[1], m + 1, (cudnnConvolutionDescriptor_t)(void *)d[2],
		CUDNN_CONVOLUTION_FWD_ALGO_GEMM, NULL, 0, &zero, (cudnnTensorDescriptor_t)(void *)d[3],
		m + 2);
}

static void set_up(void)
{
	for (int i = 0; i < LAYERS; i++) {
		cudnnSetTensor4dDescriptor((cudnnTensorDescriptor_t)(void *)descriptors[i][0],
			CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 64, i + 1, 28, 28);
		cudnnSetFilter4dDescriptor((cudnnFilterDescriptor_t)(void *)descriptors[i][1],
			CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 16, i + 1, 5, 5);
		cudnnSetConvolution2dDescriptor((cudnnConvolutionDescriptor_t)(void *)descriptors[i][2], 0, 0,
			1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
		cudnnSetTensor4dDescriptor((cudnnTensorDescriptor_t)(void *)descriptors[i][3],
			CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 64, 16, 24, 24);
	}
}

static double measure(void (*call)(int))
{
	double means[ROUNDS];

	for (int i = 0; i < CALLS; i++)
		call(i);
	for (int round = 0; round < ROUNDS; round++) {
		double begin = now_ns();

		for (int i = 0; i < CALLS; i++)
			call(i);
		means[round] = (now_ns() - begin) / CALLS;
	}
	qsort(means, ROUNDS, sizeof means[0], by_value);
	return means[ROUNDS / 2];
}

int main(void)
{
	set_up();
	printf("%.2f %.2f %.2f %.2f\n", measure(wait_event), measure(copy), measure(gemm),
		measure(convolution));
	return 0;
}
