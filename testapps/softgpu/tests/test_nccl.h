/* Between the files of the test of the stand-in NCCL: ranks as processes, and the check of all collectives.
 */
#ifndef TEST_NCCL_H
#define TEST_NCCL_H

#include <cuda_runtime_api.h>
#include <nccl.h>

/* One rank's part of a case; `shared` is memory that all ranks of the case see, zero at first. */
typedef void rank_body(int rank, int rank_count, ncclUniqueId id, int *shared);

#define TEST_RANKS 64

/* Runs the body in rank_count processes; each must exit with 0, or with `wanted[rank]` (-9: killed by signal
 * 9). */
void run_ranks(rank_body *body, int rank_count, const int *wanted);

/* Checks every collective, type, operator and several lengths against plain loops (test_nccl_collectives.c).
 */
void check_collectives(ncclComm_t comm, int rank, int rank_count, cudaStream_t stream, int thorough);

#endif
