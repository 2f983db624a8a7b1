/*
 * Processes, GPUs and NCCL: who is there, who computes what, and sums over all or over a group.
 *
 * A run has `world` processes (as torchrun sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT)
 * with `gpus` GPUs each. Every GPU has a replica of the network; replica number = rank * gpus + place in its
 * process. A process drives all its GPUs from one thread, with NCCL's group calls. Sums run on a stream of
 * their own on each GPU, so that they can overlap with computing.
 */
#ifndef DIST_H
#define DIST_H

#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>
#include <nccl.h>

enum { DIST_MAX_GPUS = 64 };

struct dist {
	int rank, world; /* processes */
	int gpus;        /* of this process */
	int replicas;    /* of all processes; 1: no communication at all */
	int device[DIST_MAX_GPUS];
	ncclComm_t comm[DIST_MAX_GPUS];  /* of all replicas */
	ncclComm_t group[DIST_MAX_GPUS]; /* of those whose gradients are summed: comm, or dist_group's */
	int sharers;                     /* replicas in the group; 1: nothing to sum */
	int place;                       /* of this process's first GPU in the group */
	cudaStream_t stream[DIST_MAX_GPUS];
	cudaEvent_t ready[DIST_MAX_GPUS], done[DIST_MAX_GPUS];
	double *sums[DIST_MAX_GPUS]; /* on the GPU, for dist_sum_values */
	/* The caller's, between dist_init and dist_open: a hash of the settings that all processes must have
	 * alike. */
	uint64_t settings_hash;
};

/* Reads the environment, so that rank, world and replicas are known. Exits with 2 when it makes no sense. */
void dist_init(struct dist *d, int gpus);

/*
 * Chooses devices (LOCAL_RANK * gpus + place, modulo the devices there are), and meets the other processes;
 * exits with 2 if their settings differ, since they would wait for each other for ever.
 */
void dist_open(struct dist *d);
void dist_close(struct dist *d);

/*
 * From now on gradients are summed only over the processes of the same `color`, in which this one has `place`
 * of `sharers`. All processes call it. For processes with one GPU.
 */
void dist_group(struct dist *d, int color, int place, int sharers);

/* The samples first ... first+count-1 of a batch that are a replica's: as equal as can be. */
void dist_share(const struct dist *d, int batch, int replica, int *first, int *count);

/* Makes this GPU's sums wait for what `stream` has been given so far, and the other way round. */
void dist_wait_for_gradients(struct dist *d, int gpu, cudaStream_t stream);
void dist_wait_for_sums(struct dist *d, int gpu, cudaStream_t stream);

/*
 * Sums the `count` floats of each replica of the group in place; values[gpu] are this process's, on its GPUs.
 * Only queues.
 */
void dist_sum_gradients(struct dist *d, float *const *values, size_t count);

/* Sums two host numbers over the group's processes, and waits for the result. */
void dist_sum_values(struct dist *d, double values[2]);

/* The group's first replica gives `count` floats of its GPU to all others, which wait for them. */
void dist_first_floats(struct dist *d, float *const *values, size_t count);

/*
 * The group's first process gives `size` bytes of host memory to the group's others. All processes of the run
 * call it, whatever their group, at a point to which they come without each other's help.
 */
void dist_from_first(struct dist *d, void *values, size_t size);

#endif
