/* Ranks, devices and NCCL: see dist.h. */
#include "dist.h"

#include <string.h>

#include "check.h"
#include "meet.h"

enum {
	START_TIMEOUT_S = 60,
	STEP_TIMEOUT_S = 3600
}; /* the latter: ranks may be as far apart as an iteration */

/* A whole number from the environment; `missing` when it is not set. */
static int environment(const char *name, int missing, int max)
{
	const char *text = getenv(name);
	char *end = NULL;
	long value = 0;

	if (!text)
		return missing;
	value = strtol(text, &end, 10);
	if (end == text || *end || value < 0 || value > max)
		errx(2, "%s=%s: expected an integer from 0 to %d", name, text, max);
	return (int)value;
}

void dist_init(struct dist *d, int gpus)
{
	memset(d, 0, sizeof(*d));
	d->gpus = gpus;
	d->world = environment("WORLD_SIZE", 1, 1 << 16);
	d->rank = environment("RANK", 0, 1 << 16);
	d->replicas = d->sharers = d->world * gpus;
	d->place = d->rank * gpus;
	if (d->rank >= d->world)
		errx(2, "RANK=%d is out of range for WORLD_SIZE=%d", d->rank, d->world);
	if (d->world > 1 && (!getenv("MASTER_ADDR") || !getenv("MASTER_PORT")))
		errx(2, "WORLD_SIZE=%d requires MASTER_ADDR and MASTER_PORT", d->world);
}

/* What each rank has, in the order of the ranks; the caller frees it. All of them must call this. */
static void *gather(const struct dist *d, const void *mine, size_t size, int timeout_s)
{
	void *all = xcalloc((size_t)d->world, size);

	if (d->world > 1)
		meet(d->rank, d->world, getenv("MASTER_ADDR"), getenv("MASTER_PORT"), mine, all, size,
			timeout_s);
	else
		memcpy(all, mine, size);
	return all;
}

/* Answers NCCL's id, which rank 0 has made. */
static ncclUniqueId meet_all(const struct dist *d)
{
	struct greeting {
		uint64_t settings_hash;
		ncclUniqueId id;
	} mine = {.settings_hash = d->settings_hash}, *all = NULL;

	if (d->rank == 0)
		CHECK(ncclGetUniqueId(&mine.id));
	all = gather(d, &mine, sizeof(mine), START_TIMEOUT_S);
	for (int rank = 1; rank < d->world; rank++)
		if (all[rank].settings_hash != all[0].settings_hash)
			errx(2, "options or data of rank %d differ from those of rank 0", rank);
	mine.id = all[0].id;
	free(all);
	return mine.id;
}

void dist_open(struct dist *d)
{
	int local_rank = environment("LOCAL_RANK", d->rank, 1 << 16);
	ncclUniqueId id;
	int devices = 0;

	CHECK(cudaGetDeviceCount(&devices));
	if (d->gpus > devices)
		errx(2, "--gpus %d: only %d available", d->gpus, devices);
	for (int g = 0; g < d->gpus; g++)
		d->device[g] = (local_rank * d->gpus + g) % devices;
	if (d->replicas == 1)
		return;
	id = meet_all(d);
	CHECK(ncclGroupStart());
	for (int g = 0; g < d->gpus; g++) {
		CHECK(cudaSetDevice(d->device[g]));
		CHECK(ncclCommInitRank(&d->comm[g], d->replicas, id, d->rank * d->gpus + g));
	}
	CHECK(ncclGroupEnd());
	for (int g = 0; g < d->gpus; g++) {
		void *sums = NULL;

		d->group[g] = d->comm[g];
		CHECK(cudaSetDevice(d->device[g]));
		CHECK(cudaStreamCreateWithFlags(&d->stream[g], cudaStreamNonBlocking));
		CHECK(cudaEventCreateWithFlags(&d->ready[g], cudaEventDisableTiming));
		CHECK(cudaEventCreateWithFlags(&d->done[g], cudaEventDisableTiming));
		CHECK(cudaMalloc(&sums, 2 * sizeof(double)));
		d->sums[g] = sums;
	}
}

void dist_close(struct dist *d)
{
	for (int g = 0; g < d->gpus && d->replicas > 1; g++) {
		CHECK(cudaSetDevice(d->device[g]));
		CHECK(cudaStreamSynchronize(d->stream[g]));
		if (d->group[g] != d->comm[g])
			CHECK(ncclCommDestroy(d->group[g]));
		CHECK(ncclCommDestroy(d->comm[g]));
		CHECK(cudaFree(d->sums[g]));
		CHECK(cudaEventDestroy(d->ready[g]));
		CHECK(cudaEventDestroy(d->done[g]));
		CHECK(cudaStreamDestroy(d->stream[g]));
	}
}

void dist_group(struct dist *d, int color, int place, int sharers)
{
	d->sharers = sharers;
	d->place = place;
	if (d->replicas > 1)
		CHECK(ncclCommSplit(d->comm[0], color, place, &d->group[0], NULL));
}

void dist_share(const struct dist *d, int batch, int replica, int *first, int *count)
{
	int small = batch / d->replicas, larger = batch % d->replicas;

	*first = replica * small + (replica < larger ? replica : larger);
	*count = small + (replica < larger ? 1 : 0);
}

void dist_wait_for_gradients(struct dist *d, int gpu, cudaStream_t stream)
{
	CHECK(cudaSetDevice(d->device[gpu]));
	CHECK(cudaEventRecord(d->ready[gpu], stream));
	CHECK(cudaStreamWaitEvent(d->stream[gpu], d->ready[gpu], 0));
}

void dist_wait_for_sums(struct dist *d, int gpu, cudaStream_t stream)
{
	CHECK(cudaSetDevice(d->device[gpu]));
	CHECK(cudaEventRecord(d->done[gpu], d->stream[gpu]));
	CHECK(cudaStreamWaitEvent(stream, d->done[gpu], 0));
}

void dist_sum_gradients(struct dist *d, float *const *values, size_t count)
{
	CHECK(ncclGroupStart());
	for (int g = 0; g < d->gpus; g++)
		CHECK(ncclAllReduce(
			values[g], values[g], count, ncclFloat32, ncclSum, d->group[g], d->stream[g]));
	CHECK(ncclGroupEnd());
}

void dist_sum_values(struct dist *d, double values[2])
{
	static const double nothing[2];
	size_t size = 2 * sizeof(double);

	if (d->sharers == d->gpus)
		return;
	for (int g = 0; g < d->gpus; g++) {
		CHECK(cudaSetDevice(d->device[g]));
		CHECK(cudaMemcpyAsync(
			d->sums[g], g ? nothing : values, size, cudaMemcpyHostToDevice, d->stream[g]));
	}
	CHECK(ncclGroupStart());
	for (int g = 0; g < d->gpus; g++)
		CHECK(ncclAllReduce(
			d->sums[g], d->sums[g], 2, ncclFloat64, ncclSum, d->group[g], d->stream[g]));
	CHECK(ncclGroupEnd());
	CHECK(cudaSetDevice(d->device[0]));
	CHECK(cudaMemcpyAsync(values, d->sums[0], size, cudaMemcpyDeviceToHost, d->stream[0]));
	for (int g = 0; g < d->gpus; g++) {
		CHECK(cudaSetDevice(d->device[g]));
		CHECK(cudaStreamSynchronize(d->stream[g]));
	}
}

void dist_first_floats(struct dist *d, float *const *values, size_t count)
{
	CHECK(ncclGroupStart());
	for (int g = 0; g < d->gpus; g++)
		CHECK(ncclBroadcast(values[g], values[g], count, ncclFloat32, 0, d->group[g], d->stream[g]));
	CHECK(ncclGroupEnd());
	for (int g = 0; g < d->gpus; g++) {
		CHECK(cudaSetDevice(d->device[g]));
		CHECK(cudaStreamSynchronize(d->stream[g]));
	}
}

void dist_from_first(struct dist *d, void *values, size_t size)
{
	char *all = gather(d, values, size, STEP_TIMEOUT_S);
	int first = d->rank - d->place / d->gpus;

	memcpy(values, all + (size_t)first * size, size);
	free(all);
}
