/* Versions, error texts, registered buffers and memory: the calls that need no other rank. */
#include <stdlib.h>

#include "nccl_private.h"

#define VERSION 22800

static __thread const char *last_sentence = "";

ncclResult_t nccl_fail(ncclResult_t result, const char *sentence)
{
	last_sentence = sentence;
	return result;
}

ncclResult_t ncclGetVersion(int *version)
{
	NCCL_ENTER(ncclInvalidArgument);
	if (version == NULL)
		return nccl_fail(ncclInvalidArgument, "version is NULL");
	*version = VERSION;
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
	static const char *const texts[] = {
		"no error",
		"unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
		"unhandled system error (run with NCCL_DEBUG=INFO for details)",
		"internal error - please report this issue to the NCCL developers",
		"invalid argument (run with NCCL_DEBUG=WARN for details)",
		"invalid usage (run with NCCL_DEBUG=WARN for details)",
		"remote process exited or there was a network error",
		"NCCL operation in progress",
	};

	sg_fault(__func__);
	return (unsigned)result < sizeof(texts) / sizeof(texts[0]) ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	sg_fault(__func__);
	return last_sentence;
}

/* A registered buffer; shared memory needs none of it, so it is only remembered. */
struct registration {
	struct sg_slot slot;
	struct ncclComm *comm;
	void *buffer;
	size_t size_bytes;
};
static struct sg_pool registrations = SG_POOL_INIT(struct registration, 1 << 18, 64);

ncclResult_t ncclCommRegister(const ncclComm_t handle, void *buff, size_t size, void **out)
{
	struct ncclComm *comm = nccl_comm_of(handle);
	struct registration *registration;

	NCCL_ENTER(ncclSystemError);
	if (comm == NULL || buff == NULL || size == 0 || out == NULL)
		return nccl_fail(ncclInvalidArgument, "ncclCommRegister: invalid argument");
	registration = sg_pool_get(&registrations);
	if (registration == NULL)
		return nccl_fail(ncclSystemError, "too many registered buffers");
	registration->comm = comm;
	registration->buffer = buff;
	registration->size_bytes = size;
	atomic_store(&registration->slot.live, SG_SLOT_LIVE);
	*out = registration;
	return ncclSuccess;
}

ncclResult_t ncclCommDeregister(const ncclComm_t handle, void *registered)
{
	struct ncclComm *comm = nccl_comm_of(handle);
	struct registration *registration = sg_pool_check(&registrations, registered);

	NCCL_ENTER(ncclSystemError);
	if (comm == NULL || registration == NULL || registration->comm != comm)
		return nccl_fail(
			ncclInvalidArgument, "ncclCommDeregister: not registered with this communicator");
	sg_pool_put(&registrations, registration);
	return ncclSuccess;
}

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
	NCCL_ENTER(ncclUnhandledCudaError);
	if (ptr == NULL || size == 0)
		return nccl_fail(ncclInvalidArgument, "ncclMemAlloc: invalid argument");
	if (sg_memory_alloc(ptr, size) != cudaSuccess)
		return nccl_fail(ncclUnhandledCudaError, "out of memory");
	return ncclSuccess;
}

ncclResult_t ncclMemFree(void *ptr)
{
	NCCL_ENTER(ncclUnhandledCudaError);
	if (sg_memory_free(ptr) != cudaSuccess)
		return nccl_fail(ncclUnhandledCudaError, "ncclMemFree: no such memory");
	return ncclSuccess;
}
