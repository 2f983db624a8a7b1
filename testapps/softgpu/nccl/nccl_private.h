/*
 * libnccl's own header: communicators, their shared memory, and what a collective is.
 *
 * The one idea: a communicator is a shared memory segment that every rank maps, whether the ranks are
 * processes or threads. A call checks its arguments and submits a closure; the closure meets those of the
 * other ranks in the segment.
 */
#ifndef NCCL_PRIVATE_H
#define NCCL_PRIVATE_H

#include <nccl.h>
#include <pthread.h>

#include "core/sg.h"
#include "core/pool.h"
#include "core/wait.h"

#define NCCL_RANK_LIMIT 512
#define NCCL_CHANNEL_BYTES ((size_t)128 << 10)
#define NCCL_NAME_BYTES 64

/* What an ncclUniqueId holds; the name of the segment follows from it. */
struct nccl_token {
	char magic[8];
	int64_t pid; /* of the process that made the unique id; negative: the name is derived from that one's
		      */
	uint64_t random[2];
};

/* ---- the shared segment ---- */

/* First page of the segment; all zero when it is made. */
struct nccl_header {
	_Atomic uint32_t rank_count; /* as the first rank said it */
	_Atomic uint32_t joined;
	_Atomic uint32_t failed; /* an ncclResult_t that ends all waiting, on every rank */
	_Atomic uint32_t bell;   /* changes with joined, failed and the split numbers */
	_Alignas(64) _Atomic uint32_t arrived;
	_Alignas(64) _Atomic uint32_t generation; /* of the barrier */
	_Atomic uint32_t sleepers;
	uint64_t end_ns; /* model clock: of what the ranks met for last; 0: they run different operations */
};

/* Who a rank is in the job; see place.c. */
struct nccl_place {
	int32_t process_rank, device;
	int32_t job_rank; /* -1: follows from the others of its first communicator */
};

struct nccl_rank {
	_Alignas(64) _Atomic uint32_t taken;
	_Atomic int32_t pid;
	_Atomic uint32_t bell; /* point-to-point: something moved in a channel of this rank */
	_Atomic uint32_t sleeping;
	_Atomic uint32_t split_number; /* of the last split this rank has published */
	int32_t split_color[2], split_key[2];
	uint64_t operation[2];   /* what the rank runs, by parity of the round: must be equal on all */
	uint64_t ready_ns;       /* model clock: when its part could begin */
	struct nccl_place place; /* from joining on */
};

/* One end of a channel under the model clock: how many messages it has announced, and the last two. */
struct nccl_side {
	_Atomic uint64_t count;
	struct nccl_announcement {
		uint64_t ready_ns, bytes;
	} last[2];
};

/* Bytes from one rank to another, as a ring; a cache line for what each of them writes. */
struct nccl_channel {
	_Alignas(64) _Atomic uint64_t written;
	_Atomic uint32_t ready; /* the memory is really there */
	struct nccl_side sender;
	_Alignas(64) _Atomic uint64_t read;
	struct nccl_side receiver;
};

struct nccl_segment {
	int fd;
	int rank_count;
	size_t bytes;
	char *base;
	struct nccl_header *header;
	struct nccl_rank *ranks;
	struct nccl_channel *channels; /* [from][to] */
	char *channel_data;
	char *slots; /* [parity][rank][slot_bytes] */
	size_t slot_bytes;
	int slots_ready;
};

/* Makes the name of a token's segment. */
void nccl_segment_name(const struct nccl_token *token, char name[NCCL_NAME_BYTES]);
/* Makes the empty segment that ranks then join; it goes away with the process if they never do. */
ncclResult_t nccl_segment_make(const struct nccl_token *token);
/*
 * Joins as one rank of rank_count; make: the segment may not be there yet. Does not wait for the others. The
 * last one to join removes the name. On failure everybody else fails too.
 */
ncclResult_t nccl_segment_join(struct nccl_segment *segment, const struct nccl_token *token, int rank_count,
	int rank, const struct nccl_place *place, int make);
/* A rank that will not come: fails those who wait for it. */
void nccl_segment_spoil(const struct nccl_token *token, ncclResult_t result);
void nccl_segment_leave(struct nccl_segment *segment);
/* ncclSuccess when all have joined, ncclInProgress before, or what failed. */
ncclResult_t nccl_segment_state(struct nccl_segment *segment);
/* Ends all waiting in the segment. */
void nccl_segment_fail(struct nccl_segment *segment, ncclResult_t result);
/* Fails the segment if a rank's process has died; for those who have waited long. */
void nccl_segment_look_for_dead(struct nccl_segment *segment);
/* The same of this one alone: who waits for its message is not held up by others, which may have left. */
void nccl_segment_look_for_peer(struct nccl_segment *segment, const struct nccl_rank *peer);
/* Reserves the slots, or a channel: without it a full /dev/shm would be a SIGBUS. */
/* What an operation gives whose ranks do not agree what it is: ncclInvalidUsage, or what the segment failed
 * with. With SOFTGPU_NCCL_FAULTS=wait not before that: NCCL does not notice, and waits. */
ncclResult_t nccl_segment_refuse(struct nccl_segment *segment);
ncclResult_t nccl_segment_reserve_slots(struct nccl_segment *segment);
ncclResult_t nccl_segment_reserve_channel(struct nccl_segment *segment, int from, int to);
/* Waits until all ranks are here; not ncclSuccess when the segment has failed. Whoever comes last calls
 * `last` (if not NULL) before the others go on. */
ncclResult_t nccl_barrier(struct nccl_segment *segment, void (*last)(void *arg), void *arg);

static inline char *nccl_slot(const struct nccl_segment *segment, unsigned parity, int rank)
{
	return segment->slots + (parity * (size_t)segment->rank_count + (size_t)rank) * segment->slot_bytes;
}

/* ---- communicators ---- */

/* How far a communicator is on the way to being usable. */
enum nccl_phase { NCCL_JOIN, NCCL_WAIT, NCCL_SPLIT_WAIT, NCCL_READY };

#define NCCL_USER_OPS 64
struct nccl_user_op {
	int used;
	ncclDataType_t type;
	int on_device;
	const void *device_scalar;
	char scalar[8];
};

struct ncclComm {
	struct sg_slot slot;
	int rank, rank_count, device;
	int blocking;
	struct nccl_token token;
	struct nccl_segment segment;
	_Atomic uint32_t result; /* asynchronous state: an ncclResult_t */

	/* Start. */
	enum nccl_phase phase;
	int make; /* this rank may make the segment itself */
	struct ncclComm *parent;
	int color, key;
	uint32_t split_number; /* of the parent's splits, the one this communicator comes from */
	unsigned waited_ms;
	uint32_t split_count; /* splits of this communicator so far */
	uint32_t shrink_count;

	/* Work. */
	pthread_mutex_t submit_lock, run_lock;
	cudaStream_t last_stream;
	struct sg_position last;
	int has_last;
	_Atomic uint32_t pending;  /* closures not finished */
	_Atomic uint32_t captured; /* a graph refers to this communicator */
	_Atomic uint32_t closed;
	int finalized;
	unsigned round;           /* of exchanges through the slots; equal on all ranks */
	struct nccl_model *model; /* made when the model clock first needs it, under run_lock */
	struct nccl_user_op user_ops[NCCL_USER_OPS];
};

extern struct sg_pool nccl_comms;

/* The communicator a handle names, or NULL. */
static inline struct ncclComm *nccl_comm_of(ncclComm_t handle)
{
	return sg_pool_check(&nccl_comms, handle);
}

/* Goes on with a communicator's start as far as possible without waiting: ncclSuccess, ncclInProgress or the
 * failure. */
ncclResult_t nccl_comm_advance(struct ncclComm *comm);
/* Waits until it could go further, at most timeout_ms. */
void nccl_comm_await(struct ncclComm *comm, int timeout_ms);
void nccl_comm_release(struct ncclComm *comm);
/* Waits until no closure of the communicator is left. */
void nccl_comm_drain(struct ncclComm *comm);

/* ---- errors ---- */

/* Remembers the sentence for ncclGetLastError and hands the result on. */
ncclResult_t nccl_fail(ncclResult_t result, const char *sentence);

/* First line of every exported function; the second form is for what a group may hold, and then fails with.
 */
#define NCCL_ENTER(fault) \
	do { \
		if (sg_fault(__func__)) \
			return nccl_fail(fault, "injected failure"); \
	} while (0)
#define NCCL_ENTER_GROUPED(fault) \
	do { \
		if (sg_fault(__func__)) \
			return nccl_group_error(nccl_fail(fault, "injected failure")); \
	} while (0)

/* The vendor's header declares these without saying that they take nothing. */
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);

/* ---- operations ---- */

enum nccl_kind {
	NCCL_ALL_REDUCE,
	NCCL_REDUCE,
	NCCL_BROADCAST,
	NCCL_ALL_GATHER,
	NCCL_REDUCE_SCATTER,
	NCCL_ALL_TO_ALL,
	NCCL_GATHER,
	NCCL_SCATTER,
	NCCL_SEND,
	NCCL_RECV,
};

/* The call's name, for as long as the process lives (group.c). */
const char *nccl_kind_name(enum nccl_kind kind);

/* One call, as it waits in a group and travels through a stream. */
struct nccl_task {
	struct ncclComm *comm;
	cudaStream_t stream;
	enum nccl_kind kind;
	int peer; /* root, or the other side */
	const void *send;
	void *recv;
	size_t count; /* elements, per rank where the call counts so */
	ncclDataType_t type;
	ncclRedOp_t op;
	struct nccl_user_op user; /* of a user-made op: the scalar */
	int captured;
};

/* Bytes of an element; 0: not a type that softgpu computes with. */
size_t nccl_type_bytes(ncclDataType_t type);

/* 1: the task's bytes move; 0: without numerics nothing of it but its time is there. Equal on all ranks. */
int nccl_moves(const struct nccl_task *task);

/* Runs one collective, on a stream's worker (collective_run.c). */
ncclResult_t nccl_run(struct ncclComm *comm, const struct nccl_task *task);
/* Runs point-to-point tasks of one communicator together (p2p.c). */
ncclResult_t nccl_run_p2p(struct ncclComm *comm, struct nccl_task *tasks, size_t count);

/* Takes a checked task: now, or at the end of the group (group.c). */
ncclResult_t nccl_group_add(const struct nccl_task *task);
/* Takes a communicator that starts; its start happens now, or at the end of the group. */
ncclResult_t nccl_group_start_comm(struct ncclComm *comm, ncclComm_t *out);
/* What ncclGroupStart and ncclGroupEnd do. */
void nccl_group_begin(void);
ncclResult_t nccl_group_end(void);
/* An error inside a group is the group's result too. */
ncclResult_t nccl_group_error(ncclResult_t result);

/* ---- the model clock ---- */

/* What this rank tells the others when it joins; device: the communicator's. */
struct nccl_place nccl_place_here(int device);
/* All have joined: this process's device keeps the number that it has in this communicator, if it has none.
 */
void nccl_place_keep(const struct nccl_segment *segment, int rank);
/* The numbers in the job of a communicator's ranks. Equal on all of them. */
void nccl_place_all(const struct nccl_segment *segment, int *job_ranks);

/* A communicator's links, as the formulas need them (model.c). NULL: out of memory. free() ends it. */
struct nccl_model *nccl_model_new(const struct nccl_segment *segment);
/* How long a collective lasts once all are there. bytes: of what the call counts, per rank where it does so.
 */
uint64_t nccl_model_collective(struct nccl_model *model, enum nccl_kind kind, int root, double bytes);
/* The link from one rank of the communicator to another. */
struct sg_link nccl_model_link(const struct nccl_model *model, int from, int to);
/* How long a device needs to copy bytes of its own memory. */
uint64_t nccl_model_copy(int device, size_t bytes);
/* The communicator's, made now if need be. The caller holds run_lock. */
struct nccl_model *nccl_model_of(struct ncclComm *comm);

/* ---- arithmetic (reduce.c) ---- */

/*
 * to[i] = from_0[i] op from_1[i] op ... in this order, where from_k is from + k * stride_bytes. ncclAvg
 * divides the sum by rank_count. to may be one of the sources.
 */
void nccl_reduce(void *to, const char *from, size_t stride_bytes, int rank_count, size_t count,
	ncclDataType_t type, ncclRedOp_t op);
/* to[i] = from[i] * scalar (8 bytes, of the type). */
void nccl_scale(void *to, const void *from, size_t count, ncclDataType_t type, const void *scalar);

#endif
