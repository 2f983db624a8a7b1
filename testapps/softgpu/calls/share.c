/* Device memory of another process, by a handle: see calls.h. */
#include "calls.h"

#include <string.h>
#include <unistd.h>

#define MARK 0x7367736861726564u
#define LAZY_PEER_ACCESS 1
#define PAGE_BYTES ((size_t)2 << 20)

/* What a handle holds. */
struct shared {
	uint64_t mark, size_bytes;
	int32_t process, device;
};
_Static_assert(sizeof(struct shared) <= sizeof(cudaIpcMemHandle_t), "fits in a handle");

cudaError_t sg_share(cudaIpcMemHandle_t *handle, void *pointer)
{
	struct sg_block block;
	struct shared shared = {.mark = MARK, .process = (int32_t)getpid()};

	if (handle == NULL || !sg_block_find(pointer, &block) || block.kind != SG_DEVICE || block.reserved)
		return cudaErrorInvalidValue;
	shared.size_bytes = block.size_bytes;
	shared.device = block.device;
	memset(handle, 0, sizeof(*handle));
	memcpy(handle, &shared, sizeof(shared));
	return cudaSuccess;
}

cudaError_t sg_share_open(void **pointer, const cudaIpcMemHandle_t *handle, unsigned flags)
{
	struct shared shared;

	memcpy(&shared, handle, sizeof(shared));
	if (pointer == NULL || flags != LAZY_PEER_ACCESS)
		return cudaErrorInvalidValue;
	if (shared.mark != MARK || shared.process == (int32_t)getpid())
		return cudaErrorInvalidResourceHandle;
	if (sg_numerics())
		return cudaErrorNotSupported;
	return sg_block_reserve(pointer, shared.size_bytes, PAGE_BYTES, sg_self.device);
}

cudaError_t sg_share_close(void *pointer)
{
	struct sg_block block;

	if (!sg_block_find(pointer, &block) || block.base != pointer || !block.reserved ||
		!sg_block_take(pointer, &block))
		return cudaErrorInvalidValue;
	sg_block_release(&block);
	return cudaSuccess;
}
