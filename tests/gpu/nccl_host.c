/*
 * NCCL with one rank: collectives by themselves and in a group, out of place so that there is work for the
 * GPU. Prints numbers that are exact.
 *
 * Usage: nccl_host ROUNDS   makes, each round, an all-reduce, a broadcast, and a group of two all-reduces
 */
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#include "../called.h"

enum { COUNT = 1 << 20 };

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 20;
	const size_t bytes = COUNT * sizeof(float);
	float *host, *from, *to, *other;
	cudaStream_t stream;
	ncclUniqueId id;
	ncclComm_t comm;
	double sum = 0;

	CHECK(cudaMallocHost((void **)&host, bytes));
	CHECK(cudaMalloc((void **)&from, bytes));
	CHECK(cudaMalloc((void **)&to, bytes));
	CHECK(cudaMalloc((void **)&other, bytes));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	CHECK(ncclGetUniqueId(&id));
	CHECK(ncclCommInitRank(&comm, 1, id, 0));
	for (int i = 0; i < COUNT; i++)
		host[i] = (float)(i % 7);
	CHECK(cudaMemcpyAsync(from, host, bytes, cudaMemcpyHostToDevice, stream));
	for (int i = 0; i < rounds; i++) {
		CHECK(ncclAllReduce(from, to, COUNT, ncclFloat32, ncclSum, comm, stream));
		CHECK(ncclBroadcast(to, other, COUNT, ncclFloat32, 0, comm, stream));
		CHECK(ncclGroupStart());
		CHECK(ncclAllReduce(other, to, COUNT / 2, ncclFloat32, ncclSum, comm, stream));
		CHECK(ncclAllReduce(
			other + COUNT / 2, to + COUNT / 2, COUNT / 2, ncclFloat32, ncclSum, comm, stream));
		CHECK(ncclGroupEnd());
	}
	CHECK(cudaMemcpyAsync(host, to, bytes, cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	for (int i = 0; i < COUNT; i++)
		sum += host[i];
	printf("sum after %d rounds: %.1f\n", rounds, sum);
	CHECK(ncclCommDestroy(comm));
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(from));
	CHECK(cudaFree(to));
	CHECK(cudaFree(other));
	CHECK(cudaFreeHost(host));
	return 0;
}
