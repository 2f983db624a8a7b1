/*
 * Groups: what is called between ncclGroupStart and ncclGroupEnd happens at the end, together.
 *
 * The one idea: a call outside any group is a group of one. Communicators that start are advanced in turns
 * until all are ready, so one thread can start several ranks; collectives are submitted in the order of the
 * calls; all sends and receives of a communicator become one closure.
 */
#include <stdlib.h>
#include <string.h>

#include "nccl_private.h"

struct starting {
	struct ncclComm *comm;
	ncclComm_t *out;
};

static __thread struct {
	int depth;
	ncclResult_t error;
	struct nccl_task *tasks;
	size_t task_count, task_room;
	struct starting *starts;
	size_t start_count, start_room;
} group;

/* ---- closures ---- */

/* Followed by `count` tasks. */
struct closure {
	struct ncclComm *comm;
	size_t count;
	int captured;
	struct nccl_task tasks[];
};

static void run_closure(void *arg)
{
	struct closure *closure = arg;
	struct ncclComm *comm = closure->comm;
	ncclResult_t result = ncclSuccess;

	sg_wait_begin();
	pthread_mutex_lock(&comm->run_lock);
	if (!atomic_load(&comm->closed) && atomic_load(&comm->result) == ncclSuccess) {
		if (closure->tasks[0].kind >= NCCL_SEND)
			result = nccl_run_p2p(comm, closure->tasks, closure->count);
		else
			result = nccl_run(comm, closure->tasks);
		if (result != ncclSuccess) {
			uint32_t none = ncclSuccess;

			atomic_compare_exchange_strong(&comm->result, &none, (uint32_t)result);
			/* What all ranks did together is wrong on all; another failure is, for them, another
			 * rank's. */
			nccl_segment_fail(&comm->segment,
				result == ncclInvalidUsage ? ncclInvalidUsage : ncclRemoteError);
		}
	}
	pthread_mutex_unlock(&comm->run_lock);
	sg_wait_end();
	if (!closure->captured && atomic_fetch_sub(&comm->pending, 1) == 1)
		sg_futex_wake(&comm->pending, 0);
}

/* What the calls count, in bytes. */
static double bytes_of(const struct nccl_task *tasks, size_t count)
{
	double bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += (double)tasks[i].count * (double)nccl_type_bytes(tasks[i].type);
	return bytes;
}

const char *nccl_kind_name(enum nccl_kind kind)
{
	static const char *const names[] = {
		[NCCL_ALL_REDUCE] = "ncclAllReduce",
		[NCCL_REDUCE] = "ncclReduce",
		[NCCL_BROADCAST] = "ncclBroadcast",
		[NCCL_ALL_GATHER] = "ncclAllGather",
		[NCCL_REDUCE_SCATTER] = "ncclReduceScatter",
		[NCCL_ALL_TO_ALL] = "ncclAlltoAll",
		[NCCL_GATHER] = "ncclGather",
		[NCCL_SCATTER] = "ncclScatter",
		[NCCL_SEND] = "ncclSend",
		[NCCL_RECV] = "ncclRecv",
	};

	return names[kind];
}

/* What the truth log and rules call them, also in a group: by the calls, and not by its end. */
static const char *name_of(const struct nccl_task *tasks, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (tasks[i].kind != tasks[0].kind)
			return "ncclSend+ncclRecv";
	}
	return nccl_kind_name(tasks[0].kind);
}

/* Submits tasks of one communicator as one closure on the first one's stream, in order with the other
 * streams. */
static ncclResult_t submit(struct ncclComm *comm, const struct nccl_task *tasks, size_t count)
{
	size_t bytes = sizeof(struct closure) + count * sizeof(*tasks);
	struct closure *closure = malloc(bytes);
	cudaStream_t stream = tasks[0].stream;
	const struct sg_cost cost = {.kind = SG_COST_LINK, .bytes = bytes_of(tasks, count)};
	int device = sg_device();
	cudaError_t error = cudaSuccess;

	if (closure == NULL)
		return nccl_fail(ncclSystemError, "out of memory");
	closure->comm = comm;
	closure->count = count;
	memcpy(closure->tasks, tasks, count * sizeof(*tasks));
	sg_set_device(comm->device);
	pthread_mutex_lock(&comm->submit_lock);
	closure->captured = sg_capturing(stream);
	if (closure->captured)
		atomic_store(&comm->captured, 1);
	else
		atomic_fetch_add(&comm->pending, 1);
	/* Operations of a communicator run in the order of the calls, whatever streams they are on. */
	if (comm->has_last && comm->last_stream != stream)
		error = sg_wait_position(stream, &comm->last);
	for (size_t i = 1; i < count && error == cudaSuccess; i++) {
		struct sg_position place;

		if (tasks[i].stream == stream)
			continue;
		error = sg_position(tasks[i].stream, &place);
		if (error == cudaSuccess)
			error = sg_wait_position(stream, &place);
	}
	if (error == cudaSuccess)
		error = sg_submit_op(stream, name_of(tasks, count), &cost, run_closure, closure, bytes);
	if (error != cudaSuccess && !closure->captured)
		atomic_fetch_sub(&comm->pending, 1);
	if (error == cudaSuccess) {
		comm->last_stream = stream;
		comm->has_last = sg_position(stream, &comm->last) == cudaSuccess;
	}
	for (size_t i = 1; i < count && error == cudaSuccess; i++) {
		if (tasks[i].stream != stream)
			error = sg_wait_position(tasks[i].stream, &comm->last);
	}
	pthread_mutex_unlock(&comm->submit_lock);
	sg_set_device(device);
	free(closure);
	return error == cudaSuccess ? ncclSuccess
				    : nccl_fail(ncclUnhandledCudaError, "the stream refused the work");
}

/* ---- the end of a group ---- */

static ncclResult_t start_all(void)
{
	ncclResult_t first_error = ncclSuccess;
	size_t left = 0;

	do {
		size_t waiting = 0;

		left = 0;
		for (size_t i = 0; i < group.start_count; i++) {
			struct ncclComm *comm = group.starts[i].comm;
			ncclResult_t result = nccl_comm_advance(comm);

			if (result == ncclInProgress && comm->blocking) {
				left++;
				waiting = i;
			} else if (result != ncclSuccess && result != ncclInProgress &&
				   first_error == ncclSuccess) {
				first_error = result;
			}
		}
		if (left > 0)
			nccl_comm_await(group.starts[waiting].comm, left == 1 ? 1000 : 1);
	} while (left > 0);
	for (size_t i = 0; i < group.start_count; i++) {
		struct ncclComm *comm = group.starts[i].comm;
		ncclResult_t result = nccl_comm_advance(comm);

		/* A rank without colour, or one that failed, has no communicator. */
		if ((result != ncclSuccess && result != ncclInProgress) || comm->rank < 0) {
			*group.starts[i].out = NULL;
			nccl_comm_release(comm);
		} else if (result == ncclInProgress && first_error == ncclSuccess) {
			first_error = ncclInProgress;
		}
	}
	group.start_count = group.start_room = 0;
	free(group.starts);
	group.starts = NULL;
	return first_error;
}

static ncclResult_t submit_all(void)
{
	struct nccl_task *together = malloc((group.task_count + 1) * sizeof(*together));
	ncclResult_t result = ncclSuccess;

	if (together == NULL)
		return nccl_fail(ncclSystemError, "out of memory");
	for (size_t i = 0; i < group.task_count && result == ncclSuccess; i++) {
		if (group.tasks[i].kind < NCCL_SEND)
			result = submit(group.tasks[i].comm, &group.tasks[i], 1);
	}
	for (size_t i = 0; i < group.task_count && result == ncclSuccess; i++) {
		struct ncclComm *comm = group.tasks[i].comm;
		size_t count = 0;

		if (group.tasks[i].kind < NCCL_SEND || comm == NULL)
			continue;
		for (size_t k = i; k < group.task_count; k++) {
			if (group.tasks[k].kind < NCCL_SEND || group.tasks[k].comm != comm)
				continue;
			together[count++] = group.tasks[k];
			group.tasks[k].comm = NULL;
		}
		result = submit(comm, together, count);
	}
	free(together);
	return result;
}

static ncclResult_t finish(void)
{
	ncclResult_t result = group.error, started;

	group.error = ncclSuccess;
	started = start_all();
	if (result == ncclSuccess)
		result = started;
	if (result == ncclSuccess || result == ncclInProgress) {
		ncclResult_t submitted = submit_all();

		if (submitted != ncclSuccess)
			result = submitted;
	}
	group.task_count = group.task_room = 0;
	free(group.tasks);
	group.tasks = NULL;
	return result;
}

ncclResult_t nccl_group_add(const struct nccl_task *task)
{
	if (group.depth == 0)
		return submit(task->comm, task, 1);
	if (group.task_count == group.task_room) {
		size_t room = group.task_room == 0 ? 64 : 2 * group.task_room;
		struct nccl_task *more = realloc(group.tasks, room * sizeof(*more));

		if (more == NULL)
			return nccl_group_error(nccl_fail(ncclSystemError, "out of memory"));
		group.tasks = more;
		group.task_room = room;
	}
	group.tasks[group.task_count++] = *task;
	return ncclSuccess;
}

ncclResult_t nccl_group_start_comm(struct ncclComm *comm, ncclComm_t *out)
{
	if (group.start_count == group.start_room) {
		size_t room = group.start_room == 0 ? 16 : 2 * group.start_room;
		struct starting *more = realloc(group.starts, room * sizeof(*more));

		if (more == NULL) {
			nccl_comm_release(comm);
			return nccl_group_error(nccl_fail(ncclSystemError, "out of memory"));
		}
		group.starts = more;
		group.start_room = room;
	}
	*out = comm;
	group.starts[group.start_count].comm = comm;
	group.starts[group.start_count++].out = out;
	return group.depth == 0 ? start_all() : ncclSuccess;
}

ncclResult_t nccl_group_error(ncclResult_t result)
{
	if (group.depth > 0 && group.error == ncclSuccess)
		group.error = result;
	return result;
}

void nccl_group_begin(void)
{
	group.depth++;
}

ncclResult_t nccl_group_end(void)
{
	return --group.depth > 0 ? ncclSuccess : finish();
}

ncclResult_t ncclGroupStart(void)
{
	NCCL_ENTER(ncclInternalError);
	nccl_group_begin();
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
	if (group.depth == 0)
		return nccl_fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
	if (sg_fault(__func__))
		nccl_group_error(nccl_fail(ncclInternalError, "injected failure"));
	return nccl_group_end();
}

/* The head of ncclSimInfo_t, in the vendor's layout. */
struct simulation {
	size_t size;
	unsigned magic, version;
	float estimated_time;
};

/* Bytes per microsecond that the estimate assumes; nothing is measured. */
#define ESTIMATE_BYTES_PER_US 1000.0f

ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *simInfo)
{
	struct simulation *simulation = (struct simulation *)(void *)simInfo;
	float bytes = 0;
	ncclResult_t result;

	if (group.depth == 0)
		return nccl_fail(ncclInvalidUsage, "ncclGroupSimulateEnd without ncclGroupStart");
	if (simulation != NULL && simulation->magic != 0x74685283)
		return nccl_group_error(nccl_fail(ncclInvalidArgument, "simInfo is not initialised"));
	if (sg_fault(__func__))
		nccl_group_error(nccl_fail(ncclInternalError, "injected failure"));
	if (--group.depth > 0)
		return ncclSuccess;
	for (size_t i = 0; i < group.task_count; i++)
		bytes += (float)(group.tasks[i].count * nccl_type_bytes(group.tasks[i].type));
	group.task_count = 0;
	result = finish();
	if (simulation != NULL && result == ncclSuccess)
		simulation->estimated_time = bytes / ESTIMATE_BYTES_PER_US;
	return result;
}
