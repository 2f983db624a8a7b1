/*
 * The collectives, as they run on a stream's worker.
 *
 * The one idea: every collective is rounds of "write my part into my slot, meet the others, read what I
 * need". Slots exist twice and rounds alternate, so one meeting a round is enough: who writes into a slot
 * again has met everybody who read it two rounds ago. Only a large reduction for all needs a second meeting,
 * after each rank has reduced its share. Under the model clock one meeting before all that decides when the
 * operation ends: the first of a small one, which moves its bytes even without numerics; of a large one it is
 * all there is then, and what is received is forgotten (core/known.c).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "nccl_private.h"

#define SMALL_BYTES 4096 /* up to here each rank reduces everything by itself */

struct run {
	struct ncclComm *comm;
	const struct nccl_task *task;
	size_t element; /* bytes */
	int n;
	const char *send;
	char *recv;
	const void *scalar; /* of a pre-multiplied sum */
};

/* All ranks must run the same operation: what it is, as one number. */
static uint64_t operation_of(const struct nccl_task *task)
{
	uint64_t op = task->op > ncclAvg ? 5 : (uint64_t)task->op;

	return (uint64_t)task->count << 20 ^
	       ((uint64_t)task->kind << 16 | (uint64_t)task->type << 12 | op << 8) ^
	       (uint64_t)(unsigned)task->peer << 48 ^ (uint64_t)1 << 63;
}

static void publish(const struct run *run, char *slot, const char *from, size_t count)
{
	if (run->scalar != NULL)
		nccl_scale(slot, from, count, run->task->type, run->scalar);
	else
		memcpy(slot, from, count * run->element);
}

static ncclResult_t meet_in_time(const struct run *run);

static ncclResult_t meet(const struct run *run, int first)
{
	struct nccl_segment *segment = &run->comm->segment;
	unsigned parity = run->comm->round & 1;
	ncclResult_t result;

	if (first && sg_modelled())
		return meet_in_time(run);
	if (first)
		segment->ranks[run->comm->rank].operation[parity] = operation_of(run->task);
	result = nccl_barrier(segment, NULL, NULL);
	for (int i = 0; first && result == ncclSuccess && i < run->n; i++) {
		/* Everybody sees the same difference and stops here. */
		if (segment->ranks[i].operation[parity] != operation_of(run->task))
			result = nccl_segment_refuse(segment);
	}
	return result;
}

static ncclRedOp_t plain_op(const struct nccl_task *task)
{
	return task->op > ncclAvg ? ncclSum : task->op;
}

static ncclResult_t run_reduce(const struct run *run)
{
	struct ncclComm *comm = run->comm;
	const struct nccl_task *task = run->task;
	size_t stride = comm->segment.slot_bytes, most = stride / run->element;
	int wants = task->kind == NCCL_ALL_REDUCE || task->peer == comm->rank;
	ncclResult_t result = ncclSuccess;

	for (size_t first = 0; first < task->count && result == ncclSuccess; first += most) {
		size_t count = task->count - first < most ? task->count - first : most;
		unsigned parity = comm->round & 1;
		char *base = nccl_slot(&comm->segment, parity, 0);
		size_t share = (count + (size_t)run->n - 1) / (size_t)run->n;
		size_t mine = share * (size_t)comm->rank;

		publish(run, nccl_slot(&comm->segment, parity, comm->rank), run->send + first * run->element,
			count);
		result = meet(run, first == 0);
		if (result != ncclSuccess)
			break;
		comm->round++;
		if (count * run->element <= SMALL_BYTES) {
			if (wants)
				nccl_reduce(run->recv + first * run->element, base, stride, run->n, count,
					task->type, plain_op(task));
			continue;
		}
		if (mine < count) {
			size_t length = count - mine < share ? count - mine : share;

			nccl_reduce(nccl_slot(&comm->segment, parity, comm->rank) + mine * run->element,
				base + mine * run->element, stride, run->n, length, task->type,
				plain_op(task));
		}
		result = nccl_barrier(&comm->segment, NULL, NULL);
		for (int i = 0; wants && result == ncclSuccess && i < run->n; i++) {
			size_t start = share * (size_t)i, length;

			if (start >= count)
				break;
			length = count - start < share ? count - start : share;
			memcpy(run->recv + (first + start) * run->element,
				nccl_slot(&comm->segment, parity, i) + start * run->element,
				length * run->element);
		}
	}
	return result;
}

/* One rank's data to all, or every rank's data to one or all. */
static ncclResult_t run_gather(const struct run *run)
{
	struct ncclComm *comm = run->comm;
	const struct nccl_task *task = run->task;
	int broadcast = task->kind == NCCL_BROADCAST;
	/* A broadcast has the slots of all ranks for itself. */
	size_t most = comm->segment.slot_bytes / run->element * (broadcast ? (size_t)run->n : 1);
	int reads = task->kind == NCCL_ALL_GATHER || (broadcast == (task->peer != comm->rank));
	ncclResult_t result = ncclSuccess;

	for (size_t first = 0; first < task->count && result == ncclSuccess; first += most) {
		size_t count = task->count - first < most ? task->count - first : most;
		unsigned parity = comm->round & 1;

		if (!broadcast)
			publish(run, nccl_slot(&comm->segment, parity, comm->rank),
				run->send + first * run->element, count);
		else if (task->peer == comm->rank)
			publish(run, nccl_slot(&comm->segment, parity, 0), run->send + first * run->element,
				count);
		result = meet(run, first == 0);
		if (result != ncclSuccess)
			break;
		comm->round++;
		if (broadcast) {
			const char *from = reads ? nccl_slot(&comm->segment, parity, 0)
						 : run->send + first * run->element;

			memmove(run->recv + first * run->element, from, count * run->element);
			continue;
		}
		for (int i = 0; reads && i < run->n; i++)
			memcpy(run->recv + ((size_t)i * task->count + first) * run->element,
				nccl_slot(&comm->segment, parity, i), count * run->element);
	}
	return result;
}

/* Every rank, or one, has a piece for each rank. */
static ncclResult_t run_scatter(const struct run *run)
{
	struct ncclComm *comm = run->comm;
	const struct nccl_task *task = run->task;
	size_t stride = comm->segment.slot_bytes;
	int from_one = task->kind == NCCL_SCATTER;
	size_t most = from_one ? stride / run->element : stride / (run->element * (size_t)run->n);
	ncclResult_t result = ncclSuccess;

	for (size_t first = 0; first < task->count && result == ncclSuccess; first += most) {
		size_t count = task->count - first < most ? task->count - first : most;
		unsigned parity = comm->round & 1;
		size_t piece = most * run->element, mine = (size_t)comm->rank * piece;

		for (int i = 0; i < run->n && (!from_one || task->peer == comm->rank); i++) {
			char *to =
				from_one ? nccl_slot(&comm->segment, parity, i)
					 : nccl_slot(&comm->segment, parity, comm->rank) + (size_t)i * piece;

			publish(run, to, run->send + ((size_t)i * task->count + first) * run->element, count);
		}
		result = meet(run, first == 0);
		if (result != ncclSuccess)
			break;
		comm->round++;
		if (task->kind == NCCL_REDUCE_SCATTER)
			nccl_reduce(run->recv + first * run->element,
				nccl_slot(&comm->segment, parity, 0) + mine, stride, run->n, count,
				task->type, plain_op(task));
		else if (from_one)
			memcpy(run->recv + first * run->element,
				nccl_slot(&comm->segment, parity, comm->rank), count * run->element);
		for (int i = 0; task->kind == NCCL_ALL_TO_ALL && i < run->n; i++)
			memcpy(run->recv + ((size_t)i * task->count + first) * run->element,
				nccl_slot(&comm->segment, parity, i) + mine, count * run->element);
	}
	return result;
}

/* ---- the model clock ---- */

/* How long the collective takes once all are there: as measured, else by the links. */
static uint64_t collective_ns(const struct run *run, enum sg_basis *basis)
{
	double bytes = (double)run->task->count * (double)run->element;
	double measured_ns = sg_times_collective(nccl_kind_name(run->task->kind), bytes, run->n, basis);

	return measured_ns >= 0
		       ? sg_whole_ns(measured_ns)
		       : nccl_model_collective(run->comm->model, run->task->kind, run->task->peer, bytes);
}

/* By whoever comes last to a meeting: when the operation ends, for all. */
static void settle(void *arg)
{
	const struct run *run = arg;
	struct nccl_segment *segment = &run->comm->segment;
	const struct nccl_rank *ranks = segment->ranks;
	unsigned parity = run->comm->round & 1;
	enum sg_basis basis;
	uint64_t ready_ns = 0;

	segment->header->end_ns = 0;
	for (int i = 0; i < run->n; i++) {
		if (ranks[i].operation[parity] != operation_of(run->task))
			return;
		if (ranks[i].ready_ns > ready_ns)
			ready_ns = ranks[i].ready_ns;
	}
	segment->header->end_ns = ready_ns + collective_ns(run, &basis);
}

/* The ranks tell each other when they were ready and part with the time of the end. */
static ncclResult_t meet_in_time(const struct run *run)
{
	struct ncclComm *comm = run->comm;
	struct nccl_rank *self = &comm->segment.ranks[comm->rank];
	uint64_t begin_ns = sg_work_begin(), duration_ns;
	enum sg_basis basis;
	ncclResult_t result;

	if (run->n == 1) {
		/* In place there is nothing to do; else it is a copy. */
		if (run->recv != run->send || run->scalar != NULL)
			begin_ns += nccl_model_copy(comm->device, run->task->count * run->element);
		sg_work_end(begin_ns);
		return ncclSuccess;
	}
	if (nccl_model_of(comm) == NULL)
		return ncclSystemError;
	self->operation[comm->round & 1] = operation_of(run->task);
	self->ready_ns = begin_ns;
	result = nccl_barrier(&comm->segment, settle, (void *)(uintptr_t)run);
	if (result != ncclSuccess)
		return result;
	/* Nobody writes it again before this rank comes to the next meeting. */
	if (comm->segment.header->end_ns == 0)
		return nccl_segment_refuse(&comm->segment);
	sg_work_end(comm->segment.header->end_ns);
	duration_ns = collective_ns(run, &basis);
	sg_tally_link(basis, duration_ns);
	return ncclSuccess;
}

/* A program that unpickles what it received would only see zeros. */
static void say_too_large(size_t bytes)
{
	static _Atomic int is_said;

	if (atomic_exchange(&is_said, 1))
		return;
	fprintf(stderr,
		"softgpu: an exchange of %zu bytes of type ncclUint8 takes its time, but what is received reads as "
		"zeros: without SOFTGPU_NUMERICS=on they move up to %zu bytes\n",
		bytes, SG_OBJECT_BYTES);
}

int nccl_moves(const struct nccl_task *task)
{
	size_t bytes = task->count * nccl_type_bytes(task->type);
	int reduces = task->kind == NCCL_ALL_REDUCE || task->kind == NCCL_REDUCE ||
		      task->kind == NCCL_REDUCE_SCATTER;

	if (sg_numerics() || bytes <= (reduces ? SG_REDUCED_BYTES : SG_MOVED_BYTES))
		return 1;
	if (task->type != ncclUint8 || reduces)
		return 0;
	if (bytes > SG_OBJECT_BYTES)
		say_too_large(bytes);
	return bytes <= SG_OBJECT_BYTES;
}

/* Bytes that arrive at this rank. */
static size_t received(const struct run *run)
{
	const struct nccl_task *task = run->task;
	size_t bytes = task->count * run->element;

	switch (task->kind) {
	case NCCL_ALL_GATHER:
	case NCCL_ALL_TO_ALL:
		return bytes * (size_t)run->n;
	case NCCL_GATHER:
		return task->peer == run->comm->rank ? bytes * (size_t)run->n : 0;
	case NCCL_REDUCE:
		return task->peer == run->comm->rank ? bytes : 0;
	default:
		return bytes;
	}
}

/* Alone, every collective hands its input on. */
static ncclResult_t run_alone(const struct run *run)
{
	const struct nccl_task *task = run->task;

	if (run->scalar != NULL)
		nccl_scale(run->recv, run->send, task->count, task->type, run->scalar);
	else if (run->recv != run->send)
		memmove(run->recv, run->send, task->count * run->element);
	return ncclSuccess;
}

static ncclResult_t run_moving(const struct run *run)
{
	if (run->n == 1)
		return run_alone(run);
	switch (run->task->kind) {
	case NCCL_ALL_REDUCE:
	case NCCL_REDUCE:
		return run_reduce(run);
	case NCCL_BROADCAST:
	case NCCL_ALL_GATHER:
	case NCCL_GATHER:
		return run_gather(run);
	default:
		return run_scatter(run);
	}
}

ncclResult_t nccl_run(struct ncclComm *comm, const struct nccl_task *task)
{
	struct run run = {
		comm, task, nccl_type_bytes(task->type), comm->rank_count, task->send, task->recv, NULL};
	ncclResult_t result = ncclSuccess;

	if (task->op > ncclAvg)
		run.scalar = task->user.on_device ? task->user.device_scalar : task->user.scalar;
	if (sg_modelled() && (run.n == 1 || !nccl_moves(task)))
		result = meet_in_time(&run);
	if (result != ncclSuccess)
		return result;
	if (nccl_moves(task)) {
		result = run_moving(&run);
		if (result == ncclSuccess)
			sg_memory_written(run.recv, received(&run));
	} else if (run.recv != run.send || run.n > 1) {
		sg_memory_forget_range(run.recv, received(&run));
	}
	return result;
}
