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

/* op: ncclSum where nothing is reduced; peer: root or the other side, 0 where there is none. */
static ncclResult_t take(ncclComm_t handle, cudaStream_t stream, enum nccl_kind kind, const void *send,
	void *recv, size_t count, ncclDataType_t type, ncclRedOp_t op, int peer)
{
	struct nccl_task task = {nccl_comm_of(handle), stream, kind, peer, send, recv, count, type, op};
	ncclResult_t result = check(task.comm, &task);

	if (result == ncclSuccess && kind < NCCL_SEND && count > 0 && nccl_moves(&task))
		result = nccl_segment_reserve_slots(&task.comm->segment);
	if (result != ncclSuccess)
		return nccl_group_error(result);
	/* Nothing to move is nothing to do, on every rank; only messages have a place even when empty. */
	if (count == 0 && kind < NCCL_SEND)
		return ncclSuccess;
	return nccl_group_add(&task);
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_ALL_REDUCE, sendbuff, recvbuff, count, datatype, op, 0);
}

ncclResult_t ncclReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_REDUCE, sendbuff, recvbuff, count, datatype, op, root);
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	int root, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_BROADCAST, sendbuff, recvbuff, count, datatype, ncclSum, root);
}

ncclResult_t ncclBcast(
	void *buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_BROADCAST, buff, buff, count, datatype, ncclSum, root);
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff, size_t sendcount, ncclDataType_t datatype,
	ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_ALL_GATHER, sendbuff, recvbuff, sendcount, datatype, ncclSum, 0);
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff, size_t recvcount,
	ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_REDUCE_SCATTER, sendbuff, recvbuff, recvcount, datatype, op, 0);
}

ncclResult_t ncclAlltoAll(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_ALL_TO_ALL, sendbuff, recvbuff, count, datatype, ncclSum, 0);
}

ncclResult_t ncclGather(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, int root,
	ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_GATHER, sendbuff, recvbuff, count, datatype, ncclSum, root);
}

ncclResult_t ncclScatter(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype,
	int root, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_SCATTER, sendbuff, recvbuff, count, datatype, ncclSum, root);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_SEND, sendbuff, NULL, count, datatype, ncclSum, peer);
}

ncclResult_t ncclRecv(
	void *recvbuff, size_t count, ncclDataType_t datatype, int peer, ncclComm_t comm, cudaStream_t stream)
{
	NCCL_ENTER_GROUPED(ncclInternalError);
	return take(comm, stream, NCCL_RECV, NULL, recvbuff, count, datatype, ncclSum, peer);
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
