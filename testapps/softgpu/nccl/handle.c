/*
 * Communicators once they have been started: their end, and what programs ask of them.
 *
 * The one idea: an end waits for the operations that are on their way; an abort makes them fail first.
 */
#include "nccl_private.h"

/* ---- ending ---- */

ncclResult_t ncclCommFinalize(ncclComm_t handle)
{
	struct ncclComm *comm = nccl_comm_of(handle);

	NCCL_ENTER(ncclSystemError);
	if (comm == NULL)
		return nccl_fail(ncclInvalidArgument, "no such communicator");
	if (comm->finalized)
		return nccl_fail(ncclInvalidUsage, "the communicator is finalized already");
	comm->finalized = 1;
	nccl_comm_drain(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t handle)
{
	struct ncclComm *comm = nccl_comm_of(handle);

	NCCL_ENTER(ncclSystemError);
	if (handle == NULL)
		return ncclSuccess;
	if (comm == NULL)
		return nccl_fail(ncclInvalidArgument, "no such communicator");
	nccl_comm_drain(comm);
	nccl_comm_release(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t handle)
{
	struct ncclComm *comm = nccl_comm_of(handle);

	NCCL_ENTER(ncclSystemError);
	if (handle == NULL)
		return ncclSuccess;
	if (comm == NULL)
		return nccl_fail(ncclInvalidArgument, "no such communicator");
	if (comm->segment.header != NULL)
		nccl_segment_fail(&comm->segment, ncclRemoteError);
	nccl_comm_drain(comm);
	nccl_comm_release(comm);
	return ncclSuccess;
}

/* ---- questions ---- */

#define ASKED(name, field) \
	ncclResult_t name(const ncclComm_t handle, int *value) \
	{ \
		struct ncclComm *comm = nccl_comm_of(handle); \
\
		NCCL_ENTER(ncclInvalidArgument); \
		if (comm == NULL || value == NULL) \
			return nccl_fail(ncclInvalidArgument, #name ": an argument is NULL"); \
		*value = comm->field; \
		return ncclSuccess; \
	}
ASKED(ncclCommCount, rank_count)
ASKED(ncclCommCuDevice, device)
ASKED(ncclCommUserRank, rank)

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t *asyncError)
{
	struct ncclComm *comm = nccl_comm_of(handle);

	NCCL_ENTER(ncclInvalidArgument);
	if (comm == NULL || asyncError == NULL)
		return nccl_fail(ncclInvalidArgument, "ncclCommGetAsyncError: an argument is NULL");
	*asyncError = nccl_comm_advance(comm);
	/* A failure of another rank shows here even before an operation of this one meets it. */
	if (*asyncError == ncclSuccess && comm->segment.header != NULL)
		*asyncError = (ncclResult_t)atomic_load(&comm->segment.header->failed);
	return ncclSuccess;
}
