/*
 * Data parallelism: who computes what, and sums over all.
 *
 * A run has `world` processes (as torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT)
 * with `gpus` GPUs each. Every GPU has a replica of the network; replica number = rank * gpus + place in its
 * process. A process drives all its GPUs from one thread, with NCCL's group calls. Sums run on a stream of
 * their own on each GPU, so that they can overlap with computing.
 */
#ifndef DIST_H
#define DIST_H

#include <stddef.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

enum { DIST_MAX_GPUS = 64 };

struct dist {
	int rank, world; /* processes */
	int gpus;        /* of this process */
	int replicas;    /* of all processes; 1: no communication at all */
	int device[DIST_MAX_GPUS];
	ncclComm_t comm[DIST_MAX_GPUS];
	cudaStream_t stream[DIST_MAX_GPUS];
	cudaEvent_t ready[DIST_MAX_GPUS], done[DIST_MAX_GPUS];
	double *sums[DIST_MAX_GPUS]; /* on the GPU, for dist_sum_values */
};

/* Reads the environment, so that rank, world and replicas are known. Exits with 2 when it makes no sense. */
void dist_init(struct dist *d, int gpus);

/*
 * Chooses devices (LOCAL_RANK * gpus + place, modulo the devices there are), and meets the other processes.
 */
void dist_open(struct dist *d);
void dist_close(struct dist *d);

/* The samples first ... first+count-1 of a batch that are a replica's: as equal as can be. */
void dist_share(const struct dist *d, int batch, int replica, int *first, int *count);

/* Makes this GPU's sums wait for what `stream` has been given so far, and the other way round. */
void dist_wait_for_gradients(struct dist *d, int gpu, cudaStream_t stream);
void dist_wait_for_sums(struct dist *d, int gpu, cudaStream_t stream);

/* Sums each replica's `count` floats in place; values[gpu] are this process's, on its GPUs. Only queues. */
void dist_sum_gradients(struct dist *d, float *const *values, size_t count);

/* Sums two host numbers over all processes, and waits for the result. */
void dist_sum_values(struct dist *d, double values[2]);

#endif
