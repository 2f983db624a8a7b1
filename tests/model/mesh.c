/*
 * One rank of a job on a mesh of two rows, for slow_link.sh: each step multiplies forward, sums activations in its pair of
 * the row and in its pair of the column (the same bytes), multiplies backward, sums gradients among all, and updates. RANK
 * and WORLD_SIZE are as torchrun sets them; MESH_ID is a file for NCCL's id.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <err.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../called.h"

#define STEPS 14
#define SIDE 1024 /* of weights and activations: 4 MB */

struct rank {
	int rank, world;
	ncclComm_t all, row, column;
	cublasHandle_t blas;
	cudaStream_t stream;
	float *weights, *input, *output, *gradient, *back;
};

static ncclUniqueId meet(int rank)
{
	const char *path = getenv("MESH_ID");
	char made[4096];
	ncclUniqueId id;
	FILE *file;

	if (!path)
		errx(2, "MESH_ID is not set");
	if (rank == 0) {
		CHECK(ncclGetUniqueId(&id));
		snprintf(made, sizeof(made), "%s.made", path);
		file = fopen(made, "we");
		if (!file || fwrite(&id, sizeof(id), 1, file) != 1 || fclose(file) || rename(made, path))
			err(1, "%s", path);
		return id;
	}
	while (!(file = fopen(path, "re")))
		usleep(1000);
	if (fread(&id, sizeof(id), 1, file) != 1)
		errx(1, "%s: too short", path);
	fclose(file);
	return id;
}

static void multiply(struct rank *at, cublasOperation_t how, const float *left, const float *right, float *result)
{
	const float one = 1, zero = 0;

	CHECK(cublasSgemm(at->blas, how, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, left, SIDE, right, SIDE, &zero, result, SIDE));
}

static void sum(struct rank *at, float *values, ncclComm_t among)
{
	CHECK(ncclAllReduce(values, values, (size_t)SIDE * SIDE, ncclFloat32, ncclSum, among, at->stream));
}

static void step(struct rank *at, const float *batch)
{
	const size_t bytes = (size_t)SIDE * SIDE * sizeof(float);
	const float rate = -0.01f;

	CHECK(cudaMemcpyAsync(at->input, batch, bytes, cudaMemcpyHostToDevice, at->stream));
	multiply(at, CUBLAS_OP_N, at->weights, at->input, at->output);
	sum(at, at->output, at->row);
	sum(at, at->output, at->column);
	multiply(at, CUBLAS_OP_T, at->weights, at->output, at->back);
	multiply(at, CUBLAS_OP_T, at->output, at->input, at->gradient);
	sum(at, at->gradient, at->all);
	CHECK(cublasSaxpy(at->blas, SIDE * SIDE, &rate, at->gradient, 1, at->weights, 1));
	CHECK(cudaStreamSynchronize(at->stream));
}

static int number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoi(text) : 0;
}

int main(void)
{
	struct rank at = {.rank = number("RANK"), .world = number("WORLD_SIZE")};
	const size_t bytes = (size_t)SIDE * SIDE * sizeof(float);
	float **all[] = {&at.weights, &at.input, &at.output, &at.gradient, &at.back};
	float *batch;

	CHECK(cudaSetDevice(0));
	CHECK(cudaStreamCreate(&at.stream));
	CHECK(cublasCreate_v2(&at.blas));
	CHECK(cublasSetStream_v2(at.blas, at.stream));
	CHECK(cudaMallocHost((void **)&batch, bytes));
	for (int i = 0; i < 5; i++)
		CHECK(cudaMalloc((void **)all[i], bytes));
	CHECK(ncclCommInitRank(&at.all, at.world, meet(at.rank), at.rank));
	CHECK(ncclCommSplit(at.all, at.rank / 2, at.rank, &at.row, NULL));
	CHECK(ncclCommSplit(at.all, at.rank % 2, at.rank, &at.column, NULL));
	for (int i = 0; i < STEPS; i++)
		step(&at, batch);
	CHECK(ncclCommDestroy(at.column));
	CHECK(ncclCommDestroy(at.row));
	CHECK(ncclCommDestroy(at.all));
	return 0;
}
