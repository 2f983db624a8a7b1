/* The collective and point-to-point calls: arguments are checked here, at once; the work is in
 * collective_run.c and p2p.c. */
#include <string.h>

#include "nccl_private.h"

/* What each kind of call needs of its buffers on this rank. */
static int needs_send(const struct ncclComm *comm, const struct nccl_task *task)
{
	switch (task->kind) {
	case NCCL_BROADCAST:
	case NCCL_SCATTER:
		return task->peer == comm->rank;
	case NCCL_RECV:
		return 0;
	default:
		return 1;
	}
}

static int needs_recv(const struct ncclComm *comm, const struct nccl_task *task)
{
	switch (task->kind) {
	case NCCL_REDUCE:
	case NCCL_GATHER:
		return task->peer == comm->rank;
	case NCCL_SEND:
		return 0;
	default:
		return 1;
	}
}

static int reduces(enum nccl_kind kind)
{
	return kind == NCCL_ALL_REDUCE || kind == NCCL_REDUCE || kind == NCCL_REDUCE_SCATTER;
}

static ncclResult_t check(struct ncclComm *comm, struct nccl_task *task)
{
	int device = sg_stream_device(task->stream);

	if (comm == NULL)
		return nccl_fail(ncclInvalidArgument, "no such communicator");
	if (comm->finalized)
		return nccl_fail(ncclInvalidUsage, "the communicator is finalized");
	if (nccl_comm_advance(comm) == ncclInProgress)
		return nccl_fail(ncclInvalidUsage, "the communicator is not ready");
	if (atomic_load(&comm->result) != ncclSuccess)
		return nccl_fail((ncclResult_t)atomic_load(&comm->result), "the communicator has failed");
	if (nccl_type_bytes(task->type) == 0)
		return nccl_fail(ncclInvalidArgument, "unknown data type");
	if (task->peer < 0 || task->peer >= comm->rank_count)
		return nccl_fail(ncclInvalidArgument, "root or peer is not a rank of the communicator");
	if (task->count > 0 && ((needs_send(comm, task) && task->send == NULL) ||
				       (needs_recv(comm, task) && task->recv == NULL)))
		return nccl_fail(ncclInvalidArgument, "a buffer is NULL");
	if (device < 0)
		return nccl_fail(ncclUnhandledCudaError, "no such stream");
	if (task->stream > (cudaStream_t)0x2 && device != comm->device)
		return nccl_fail(ncclInvalidUsage, "the stream is not on the communicator's device");
	if (!reduces(task->kind))
		return ncclSuccess;
	if ((int)task->op < 0)
		return nccl_fail(ncclInvalidArgument, "unknown reduction");
	if (task->op > ncclAvg) {
		unsigned index = (unsigned)task->op - 5;

		if (index >= NCCL_USER_OPS || !comm->user_ops[index].used)
			return nccl_fail(ncclInvalidArgument, "unknown reduction");
		if (comm->user_ops[index].type != task->type)
			return nccl_fail(ncclInvalidArgument, "reduction was made for another data type");
		task->user = comm->user_ops[index];
	}
	return ncclSuccess;
}

static ncclResult_t take(ncclComm_t handle, struct nccl_task *task)
{
	struct ncclComm *comm = nccl_comm_of(handle);
	ncclResult_t result = check(comm, task);

	task->comm = comm;
	if (result == ncclSuccess && task->kind < NCCL_SEND && task->count > 0 && nccl_moves(task))
		result = nccl_segment_reserve_slots(&comm->segment);
	if (result != ncclSuccess)
		return nccl_group_error(result);
	/* Nothing to move is nothing to do, on every rank; only messages have a place even when empty. */
	if (task->count == 0 && task->kind < NCCL_SEND)
		return ncclSuccess;
	return nccl_group_add(task);
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_ALL_REDUCE,
		.send = sendbuff,
		.recv = recvbuff,
		.count = count,
		.type = datatype,
		.op = op};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_REDUCE,
		.peer = root,
		.send = sendbuff,
		.recv = recvbuff,
		.count = count,
		.type = datatype,
		.op = op};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	int root, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_BROADCAST,
		.peer = root,
		.send = sendbuff,
		.recv = recvbuff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclBcast(
	void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_BROADCAST,
		.peer = root,
		.send = buff,
		.recv = buff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
	ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_ALL_GATHER,
		.send = sendbuff,
		.recv = recvbuff,
		.count = sendcount,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
	ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_REDUCE_SCATTER,
		.send = sendbuff,
		.recv = recvbuff,
		.count = recvcount,
		.type = datatype,
		.op = op};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_ALL_TO_ALL,
		.send = sendbuff,
		.recv = recvbuff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_GATHER,
		.peer = root,
		.send = sendbuff,
		.recv = recvbuff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	int root, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_SCATTER,
		.peer = root,
		.send = sendbuff,
		.recv = recvbuff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_SEND,
		.peer = peer,
		.send = sendbuff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclRecv(
	void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream)
{
	struct nccl_task task = {.stream = stream,
		.kind = NCCL_RECV,
		.peer = peer,
		.recv = recvbuff,
		.count = count,
		.type = datatype};

	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, &task);
}

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t *op, void *scalar, ncclDataType_t datatype,
	ncclScalarResidence_t residence, ncclComm_t handle)
{
	struct ncclComm *comm = nccl_comm_of(handle);
	size_t bytes = nccl_type_bytes(datatype);
	unsigned index = 0;

	NCCL_ENTER(ncclSystemError);
	if (op == NULL || scalar == NULL || comm == NULL || bytes == 0 ||
		(residence != ncclScalarDevice && residence != ncclScalarHostImmediate))
		return nccl_fail(ncclInvalidArgument, "ncclRedOpCreatePreMulSum: invalid argument");
	while (index < NCCL_USER_OPS && comm->user_ops[index].used)
		index++;
	if (index == NCCL_USER_OPS)
		return nccl_fail(ncclInternalError, "too many user-defined reductions");
	comm->user_ops[index] = (struct nccl_user_op){.used = 1, .type = datatype};
	comm->user_ops[index].on_device = residence == ncclScalarDevice;
	comm->user_ops[index].device_scalar = scalar;
	if (residence == ncclScalarHostImmediate)
		memcpy(comm->user_ops[index].scalar, scalar, bytes);
	*op = (ncclRedOp_t)(5 + index);
	return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t handle)
{
	struct ncclComm *comm = nccl_comm_of(handle);
	unsigned index = (unsigned)op - 5;

	NCCL_ENTER(ncclInvalidArgument);
	if (comm == NULL || (int)op < 5 || index >= NCCL_USER_OPS || !comm->user_ops[index].used)
		return nccl_fail(ncclInvalidArgument, "no such user-defined reduction");
	comm->user_ops[index].used = 0;
	return ncclSuccess;
}
