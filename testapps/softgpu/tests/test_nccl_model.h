/*
 * Between the files of the test of the stand-in NCCL under the model clock.
 *
 * The one idea: the program exports the calls that NCCL asks the clock with, so they come here
 * (test_nccl_model_clock.c). A rank's time stands still but for what the test makes pass and what NCCL says.
 */
#ifndef TEST_NCCL_MODEL_H
#define TEST_NCCL_MODEL_H

#include <stdint.h>

#include "core/sg.h"
#include "test_common.h"
#include "test_nccl.h"

/* The vendor's header does not say that these take nothing. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/* Late enough that a double would not hold sums to the nanosecond. */
#define START_NS ((uint64_t)1 << 61)

/* Latency and bandwidth where nothing else is said: round numbers. */
#define LATENCY_NS 1500
#define BYTES_PER_NS 4

/* What sg_numerics and sg_link_between answer; set before the ranks begin. */
extern int test_numerics;
extern struct sg_link (*test_link)(int from, int to);
struct sg_link test_flat(int from, int to);
/* Nodes of four, and a network five times slower in latency, eight times in bandwidth. */
struct sg_link test_nodes(int from, int to);
/* From 2 to 3 something is broken. */
struct sg_link test_broken(int from, int to);
/* Latency 1000 * from + to, so that it tells which ranks they are. */
struct sg_link test_tagged(int from, int to);

/* A stream whose work is that of a rank, at START_NS, and what it makes pass. */
cudaStream_t test_rank_stream(int rank);
void test_pass(cudaStream_t stream, uint64_t ns);
/* Waits for the stream; the rank's time then. */
uint64_t test_time(cudaStream_t stream, int rank);
/* How often NCCL has told the rank of an end. */
int test_told(int rank);

/* `size` bytes, of which nobody may touch more than what is small, SG_MOVED_BYTES of each rank. */
void *test_untouchable(size_t size);

ncclComm_t test_comm(int rank, int rank_count, ncclUniqueId id);

/* 1 if the two differ by at most a nanosecond. */
int test_near(uint64_t time_ns, double wanted_ns);

/* Sends and receives (test_nccl_model_p2p.c), and which rank of the job is whose (test_nccl_model_place.c).
 */
void test_messages(void);
void test_places(void);

#endif
