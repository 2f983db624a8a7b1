/*
 * Captures a set, a copy and a matrix product into a graph, launches it many times and checks what it
 * computed. A program like those that the profiler is for: it knows nothing of it. Prints numbers that are
 * exact.
 *
 * Usage: graph_host LAUNCHES
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "../called.h"

enum { N = 256 };

static float *a, *b, *c;

/* b = a, c = 0, c += a b: with ones in a, each element of c is N. */
static void step(cublasHandle_t handle, cudaStream_t stream)
{
	static const float one = 1;
	const size_t bytes = N * N * sizeof(float);

	CHECK(cudaMemsetAsync(c, 0, bytes, stream));
	CHECK(cudaMemcpyAsync(b, a, bytes, cudaMemcpyDeviceToDevice, stream));
	CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, b, N, &one, c, N));
}

static void print_sum(const char *when, float *host, cudaStream_t stream)
{
	double sum = 0;

	CHECK(cudaMemcpyAsync(host, c, N * N * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < N * N; i++)
		sum += host[i];
	printf("%s: %.1f\n", when, sum);
}

static cudaGraphExec_t capture(cublasHandle_t handle, cudaStream_t stream)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	step(handle, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

int main(int argc, char **argv)
{
	const int launches = argc > 1 ? atoi(argv[1]) : 50;
	const size_t bytes = N * N * sizeof(float);
	cublasHandle_t handle;
	cudaStream_t stream;
	cudaGraphExec_t exec;
	float *host;

	CHECK(cudaMallocHost((void **)&host, bytes));
	CHECK(cudaMalloc((void **)&a, bytes));
	CHECK(cudaMalloc((void **)&b, bytes));
	CHECK(cudaMalloc((void **)&c, bytes));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(cublasCreate(&handle));
	CHECK(cublasSetStream(handle, stream));
	for (int i = 0; i < N * N; i++)
		host[i] = 1;
	CHECK(cudaMemcpyAsync(a, host, bytes, cudaMemcpyHostToDevice, stream));
	CHECK(cudaStreamSynchronize(stream));
	/* the library takes its memory at the first product, which a capture would not allow */
	step(handle, stream);
	print_sum("plain", host, stream);
	exec = capture(handle, stream);
	for (int i = 0; i < launches; i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		if (i % 10 == 9)
			print_sum("graph", host, stream);
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cublasDestroy(handle));
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(a));
	CHECK(cudaFree(b));
	CHECK(cudaFree(c));
	CHECK(cudaFreeHost(host));
	return 0;
}
