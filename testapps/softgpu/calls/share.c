/*
 * Device memory and events of another process, by a handle: see calls.h.
 *
 * The one idea: a handle names a file without a name that its process has open, so that nothing is left when
 * both have ended. Handles are copied by value between processes of one user on one machine.
 */
#include "calls.h"

#include <string.h>
#include <unistd.h>

#define MARK 0x73676873u
#define LAZY_PEER_ACCESS 1

/* What a handle holds. */
struct handle {
	uint32_t mark, kind;
	struct sg_shared_file file;
	int32_t number; /* of the device, or of the event in its file */
};
_Static_assert(sizeof(struct handle) <= sizeof(cudaIpcMemHandle_t), "fits in a handle");

void sg_handle_fill(void *handle, size_t room, uint32_t kind, const struct sg_shared_file *file, int number)
{
	struct handle filled = {.mark = MARK, .kind = kind, .file = *file, .number = number};

	memset(handle, 0, room);
	memcpy(handle, &filled, sizeof(filled));
}

int sg_handle_read(const void *handle, uint32_t kind, struct sg_shared_file *file, int *number)
{
	struct handle read;

	memcpy(&read, handle, sizeof(read));
	if (read.mark != MARK || read.kind != kind || read.file.process == (int32_t)getpid())
		return -1;
	*file = read.file;
	*number = read.number;
	return 0;
}

cudaError_t sg_share(cudaIpcMemHandle_t *handle, void *pointer)
{
	struct sg_shared_file file;
	struct sg_block block;
	cudaError_t error;

	if (handle == NULL || !sg_block_find(pointer, &block))
		return cudaErrorInvalidValue;
	/* Work under way may write to where the memory is now. */
	if (block.shared_fd == 0)
		sg_device_drain(block.device);
	error = sg_block_share(block.base, &file);
	if (error == cudaSuccess)
		sg_handle_fill(handle, sizeof(*handle), SG_HANDLE_MEMORY, &file, block.device);
	return error;
}

cudaError_t sg_share_open(void **pointer, const cudaIpcMemHandle_t *handle, unsigned flags)
{
	struct sg_shared_file file;
	int device;

	if (pointer == NULL || flags != LAZY_PEER_ACCESS)
		return cudaErrorInvalidValue;
	if (sg_handle_read(handle, SG_HANDLE_MEMORY, &file, &device) != 0)
		return cudaErrorInvalidResourceHandle;
	return sg_block_open(pointer, &file, sg_self.device);
}

cudaError_t sg_share_close(void *pointer)
{
	struct sg_block block;

	if (!sg_block_find(pointer, &block) || block.base != pointer || !block.reserved ||
		block.shared_fd == 0)
		return cudaErrorInvalidValue;
	sg_device_drain(block.device);
	if (!sg_block_take(pointer, &block))
		return cudaErrorInvalidValue;
	sg_block_release(&block);
	return cudaSuccess;
}
