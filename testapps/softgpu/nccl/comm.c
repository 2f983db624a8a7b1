/*
 * Communicators: unique ids, starting, splitting, shrinking. What comes after that is in handle.c.
 *
 * The one idea: a communicator starts in steps that never wait (nccl_comm_advance), so that one thread can
 * take several ranks through their start in turns, and a non-blocking start is the same start, advanced when
 * it is asked about.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "nccl_private.h"

#define MAGIC "softgpu"

struct sg_pool nccl_comms = SG_POOL_INIT(struct ncclComm, 16384, 16);

/* The head of ncclConfig_t, in the vendor's layout. */
struct config {
	size_t size;
	unsigned magic, version;
	int blocking;
};

static ncclResult_t check_config(const ncclConfig_t *given, int *blocking)
{
	const struct config *config = (const struct config *)(const void *)given;

	if (config == NULL)
		return ncclSuccess;
	if (config->magic != 0xcafebeef)
		return nccl_fail(ncclInvalidArgument, "the configuration is not initialised");
	if (config->blocking == 0 || config->blocking == 1)
		*blocking = config->blocking;
	else if (config->blocking != INT_MIN)
		return nccl_fail(ncclInvalidArgument, "configuration: blocking is neither 0 nor 1");
	return ncclSuccess;
}

static struct ncclComm *open_comm(int blocking)
{
	struct ncclComm *comm = sg_pool_get(&nccl_comms);

	if (comm == NULL)
		return NULL;
	memset((char *)comm + sizeof(comm->slot), 0, sizeof(*comm) - sizeof(comm->slot));
	pthread_mutex_init(&comm->submit_lock, NULL);
	pthread_mutex_init(&comm->run_lock, NULL);
	comm->segment.fd = -1;
	comm->device = sg_device();
	comm->blocking = blocking;
	atomic_store_explicit(&comm->slot.live, SG_SLOT_LIVE, memory_order_release);
	return comm;
}

void nccl_comm_release(struct ncclComm *comm)
{
	/* The process ends, with a worker in the middle of an operation: everything stays as it is. */
	if (sg_stopped())
		return;
	pthread_mutex_lock(&comm->run_lock);
	atomic_store(&comm->closed, 1);
	nccl_segment_leave(&comm->segment);
	free(comm->model);
	comm->model = NULL;
	pthread_mutex_unlock(&comm->run_lock);
	/* A graph may still name it: then the slot is never used again. */
	if (atomic_load(&comm->captured))
		atomic_store(&comm->slot.live, SG_SLOT_CLOSING);
	else
		sg_pool_put(&nccl_comms, comm);
}

void nccl_comm_drain(struct ncclComm *comm)
{
	uint32_t pending;

	while ((pending = atomic_load(&comm->pending)) != 0 && !sg_stopped())
		sg_futex_wait(&comm->pending, pending, NULL, 0);
}

/* ---- names derived from other names ---- */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Every member computes the same name for the new communicator, so nobody has to tell it. */
static void derive_token(
	const struct nccl_token *from, uint64_t purpose, uint64_t detail, struct nccl_token *token)
{
	*token = *from;
	token->pid = from->pid < 0 ? from->pid : -from->pid;
	token->random[0] = mix(from->random[0] ^ mix(purpose) ^ mix(mix(detail)));
	token->random[1] = mix(from->random[1] ^ mix(token->random[0]));
}

/* ---- starting ---- */

/* Everybody's colour and key are there: find the members of this rank's colour. */
static void choose_members(struct ncclComm *comm)
{
	struct ncclComm *parent = comm->parent;
	unsigned parity = comm->split_number & 1;

	comm->phase = NCCL_JOIN;
	comm->make = 1;
	comm->rank = comm->rank_count = 0;
	for (int i = 0; i < parent->rank_count; i++) {
		const struct nccl_rank *other = &parent->segment.ranks[i];

		if (other->split_color[parity] != comm->color)
			continue;
		comm->rank_count++;
		if (other->split_key[parity] < comm->key ||
			(other->split_key[parity] == comm->key && i < parent->rank))
			comm->rank++;
	}
	derive_token(&parent->token, (uint64_t)comm->split_number << 1, (uint64_t)(uint32_t)comm->color,
		&comm->token);
	if (comm->color < 0) {
		comm->rank = -1;
		comm->phase = NCCL_READY;
	}
}

static ncclResult_t split_state(struct ncclComm *comm)
{
	struct nccl_segment *segment = &comm->parent->segment;

	if (atomic_load(&segment->header->failed) != ncclSuccess)
		return (ncclResult_t)atomic_load(&segment->header->failed);
	for (int i = 0; i < segment->rank_count; i++) {
		if ((int32_t)(atomic_load(&segment->ranks[i].split_number) - comm->split_number) < 0)
			return ncclInProgress;
	}
	return ncclSuccess;
}

ncclResult_t nccl_comm_advance(struct ncclComm *comm)
{
	ncclResult_t result = (ncclResult_t)atomic_load(&comm->result);

	if (comm->phase == NCCL_READY || result != ncclSuccess)
		return result;
	if (comm->phase == NCCL_SPLIT_WAIT) {
		result = split_state(comm);
		if (result == ncclSuccess)
			choose_members(comm);
	}
	if (result == ncclSuccess && comm->phase == NCCL_JOIN) {
		struct nccl_place place = nccl_place_here(comm->device);

		result = nccl_segment_join(
			&comm->segment, &comm->token, comm->rank_count, comm->rank, &place, comm->make);
		comm->phase = NCCL_WAIT;
	}
	if (result == ncclSuccess && comm->phase == NCCL_WAIT) {
		result = nccl_segment_state(&comm->segment);
		if (result == ncclSuccess) {
			nccl_place_keep(&comm->segment, comm->rank);
			comm->phase = NCCL_READY;
		}
	}
	if (result != ncclSuccess && result != ncclInProgress)
		atomic_store(&comm->result, (uint32_t)result);
	return result;
}

void nccl_comm_await(struct ncclComm *comm, int timeout_ms)
{
	struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};
	struct nccl_segment *segment =
		comm->phase == NCCL_SPLIT_WAIT ? &comm->parent->segment : &comm->segment;
	uint32_t bell;

	if (segment->header == NULL)
		return;
	bell = atomic_load(&segment->header->bell);
	if (nccl_comm_advance(comm) != ncclInProgress)
		return;
	sg_futex_wait(&segment->header->bell, bell, &timeout, 1);
	if (atomic_load(&segment->header->bell) != bell)
		return;
	comm->waited_ms += (unsigned)timeout_ms;
	if (comm->waited_ms >= 1000) {
		comm->waited_ms = 0;
		nccl_segment_look_for_dead(segment);
	}
}

static const struct nccl_token *token_of(const ncclUniqueId *id, struct nccl_token *token)
{
	memcpy(token, id, sizeof(*token));
	return memcmp(token->magic, MAGIC, sizeof(token->magic)) == 0 ? token : NULL;
}

static ncclResult_t make_token(struct nccl_token *token)
{
	memcpy(token->magic, MAGIC, sizeof(token->magic));
	token->pid = (int64_t)getpid();
	if (getrandom(token->random, sizeof(token->random), 0) != (ssize_t)sizeof(token->random))
		return nccl_fail(ncclSystemError, "getrandom failed");
	return nccl_segment_make(token);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
	struct nccl_token token;
	ncclResult_t result;

	NCCL_ENTER(ncclSystemError);
	if (uniqueId == NULL)
		return nccl_fail(ncclInvalidArgument, "uniqueId is NULL");
	result = make_token(&token);
	if (result != ncclSuccess)
		return result;
	memset(uniqueId, 0, sizeof(*uniqueId));
	memcpy(uniqueId, &token, sizeof(token));
	return ncclSuccess;
}

static ncclResult_t init_rank(const char *name, ncclComm_t *out, int rank_count, const ncclUniqueId *id,
	int rank, ncclConfig_t *config)
{
	struct nccl_token token;
	struct ncclComm *comm;
	int blocking = 1;
	ncclResult_t result;

	if (out == NULL || token_of(id, &token) == NULL)
		return nccl_group_error(
			nccl_fail(ncclInvalidArgument, "comm is NULL or the unique id is invalid"));
	*out = NULL;
	result = check_config(config, &blocking);
	if (result == ncclSuccess &&
		(rank_count < 1 || rank_count > NCCL_RANK_LIMIT || rank < 0 || rank >= rank_count))
		result = nccl_fail(ncclInvalidArgument, "rank or the number of ranks is out of range");
	if (result == ncclSuccess && sg_fault(name))
		result = nccl_fail(ncclSystemError, "injected failure");
	comm = result == ncclSuccess ? open_comm(blocking) : NULL;
	if (result == ncclSuccess && comm == NULL)
		result = nccl_fail(ncclSystemError, "too many communicators");
	if (result != ncclSuccess) {
		/* The others need not wait for this rank. */
		nccl_segment_spoil(&token, ncclInvalidUsage);
		return nccl_group_error(result);
	}
	comm->token = token;
	comm->rank = rank;
	comm->rank_count = rank_count;
	comm->phase = NCCL_JOIN;
	return nccl_group_start_comm(comm, out);
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank)
{
	return init_rank(__func__, comm, nranks, &commId, rank, NULL);
}

ncclResult_t ncclCommInitRankConfig(
	ncclComm_t *comm, int nranks, ncclUniqueId commId, int rank, ncclConfig_t *config)
{
	return init_rank(__func__, comm, nranks, &commId, rank, config);
}

/* Several ids share the work of the start among several roots; here the first is enough. */
ncclResult_t ncclCommInitRankScalable(
	ncclComm_t *newcomm, int nranks, int myrank, int nId, ncclUniqueId *commIds, ncclConfig_t *config)
{
	if (nId < 1 || nId > nranks || commIds == NULL)
		return nccl_group_error(
			nccl_fail(ncclInvalidArgument, "the number of unique ids is out of range"));
	return init_rank(__func__, newcomm, nranks, &commIds[0], myrank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int ndev, const int *devlist)
{
	struct nccl_token token;
	int device = sg_device();
	ncclResult_t result;

	NCCL_ENTER_GROUPED(ncclSystemError);
	if (comms == NULL || ndev < 1 || ndev > NCCL_RANK_LIMIT)
		return nccl_group_error(
			nccl_fail(ncclInvalidArgument, "comm is NULL or ndev is out of range"));
	for (int i = 0; i < ndev; i++) {
		if (sg_set_device(devlist != NULL ? devlist[i] : i) != cudaSuccess) {
			sg_set_device(device);
			return nccl_group_error(nccl_fail(ncclUnhandledCudaError, "no such device"));
		}
		for (int k = 0; devlist != NULL && k < i; k++) {
			if (devlist[k] != devlist[i])
				continue;
			sg_set_device(device);
			return nccl_group_error(nccl_fail(ncclInvalidUsage, "a device appears twice"));
		}
	}
	result = make_token(&token);
	nccl_group_begin();
	for (int i = 0; i < ndev && result == ncclSuccess; i++) {
		struct ncclComm *comm;

		sg_set_device(devlist != NULL ? devlist[i] : i);
		comm = open_comm(1);
		if (comm == NULL) {
			result = nccl_fail(ncclSystemError, "too many communicators");
			break;
		}
		comm->token = token;
		comm->rank = i;
		comm->rank_count = ndev;
		comm->phase = NCCL_JOIN;
		result = nccl_group_start_comm(comm, &comms[i]);
	}
	sg_set_device(device);
	if (result != ncclSuccess) {
		nccl_segment_spoil(&token, ncclSystemError);
		nccl_group_error(result);
	}
	return nccl_group_end();
}

/* ---- from one communicator to another ---- */

ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t *newcomm, ncclConfig_t *config)
{
	struct ncclComm *parent = nccl_comm_of(handle), *comm;
	struct nccl_rank *self;
	int blocking;
	ncclResult_t result;

	NCCL_ENTER_GROUPED(ncclSystemError);
	if (parent == NULL || newcomm == NULL || (color < 0 && color != -1))
		return nccl_group_error(nccl_fail(ncclInvalidArgument, "ncclCommSplit: invalid argument"));
	*newcomm = NULL;
	blocking = parent->blocking;
	result = check_config(config, &blocking);
	if (result == ncclSuccess)
		result = nccl_comm_advance(parent);
	if (result != ncclSuccess)
		return nccl_group_error(result == ncclInProgress
						? nccl_fail(ncclInvalidUsage, "the communicator is not ready")
						: result);
	/* Without a colour there is no communicator to ask again later: this rank sees it through. */
	comm = open_comm(color < 0 ? 1 : blocking);
	if (comm == NULL)
		return nccl_group_error(nccl_fail(ncclSystemError, "too many communicators"));
	comm->device = parent->device;
	comm->parent = parent;
	comm->color = color;
	comm->key = key;
	comm->split_number = ++parent->split_count;
	comm->phase = NCCL_SPLIT_WAIT;
	self = &parent->segment.ranks[parent->rank];
	self->split_color[comm->split_number & 1] = color;
	self->split_key[comm->split_number & 1] = key;
	atomic_store(&self->split_number, comm->split_number);
	/* Nobody waits for less than all: of many ranks, only the last wakes the others. */
	if (split_state(comm) != ncclInProgress) {
		atomic_fetch_add(&parent->segment.header->bell, 1);
		sg_futex_wake(&parent->segment.header->bell, 1);
	}
	return nccl_group_start_comm(comm, newcomm);
}

ncclResult_t ncclCommShrink(ncclComm_t handle, int *excludeRanksList, int excludeRanksCount,
	ncclComm_t *newcomm, ncclConfig_t *config, int shrinkFlags)
{
	struct ncclComm *parent = nccl_comm_of(handle), *comm;
	int blocking, rank = 0, rank_count = 0;
	uint64_t excluded = 0;
	ncclResult_t result;

	NCCL_ENTER_GROUPED(ncclSystemError);
	if (parent == NULL || newcomm == NULL || excludeRanksList == NULL || excludeRanksCount < 1 ||
		excludeRanksCount >= parent->rank_count || (shrinkFlags != 0 && shrinkFlags != 1))
		return nccl_group_error(nccl_fail(ncclInvalidArgument, "ncclCommShrink: invalid argument"));
	*newcomm = NULL;
	blocking = parent->blocking;
	result = check_config(config, &blocking);
	for (int i = 0; i < excludeRanksCount && result == ncclSuccess; i++) {
		if (excludeRanksList[i] < 0 || excludeRanksList[i] >= parent->rank_count ||
			excludeRanksList[i] == parent->rank)
			result = nccl_fail(ncclInvalidArgument, "ncclCommShrink: invalid excluded rank");
	}
	if (result == ncclSuccess && shrinkFlags == 0 && nccl_comm_advance(parent) != ncclSuccess)
		result = nccl_fail(ncclInvalidUsage, "the communicator is not ready or has failed");
	if (result != ncclSuccess)
		return nccl_group_error(result);
	for (int i = 0; i < parent->rank_count; i++) {
		int stays = 1;

		for (int k = 0; k < excludeRanksCount; k++)
			stays &= excludeRanksList[k] != i;
		rank_count += stays;
		rank += stays && i < parent->rank;
		if (!stays)
			excluded = mix(excluded ^ (uint64_t)(unsigned)i);
	}
	if (shrinkFlags == 1) {
		nccl_segment_fail(&parent->segment, ncclRemoteError);
		nccl_comm_drain(parent);
	}
	comm = open_comm(blocking);
	if (comm == NULL)
		return nccl_group_error(nccl_fail(ncclSystemError, "too many communicators"));
	comm->device = parent->device;
	comm->rank = rank;
	comm->rank_count = rank_count;
	comm->make = 1;
	derive_token(&parent->token, (uint64_t)parent->shrink_count++ << 1 | 1, excluded, &comm->token);
	comm->phase = NCCL_JOIN;
	return nccl_group_start_comm(comm, newcomm);
}
