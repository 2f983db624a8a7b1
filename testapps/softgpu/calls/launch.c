/* Kernel launches: a kernel's C twin runs in stream order with a copy of its arguments. */
#include "kernel.h"
#include "core/model.h"

#include <stdlib.h>
#include <string.h>

#define ARG_LIMIT 256

/* Followed by the arguments, each aligned to 16 bytes. */
struct launch {
	struct sg_kernel *kernel;
	dim3 grid, block;
	int arg_count;
};

static size_t padded(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

/* A kernel whose name says what it does is computed when it is small, under both clocks; a twin of the
 * program's with numerics. What is not computed is forgotten. */
static void launch_work(void *arg)
{
	struct launch *launch = arg;
	const struct sg_kernel *kernel = launch->kernel;
	char *first = (char *)launch + padded(sizeof(*launch)), *value = first;
	void *args[ARG_LIMIT];

	for (int i = 0; i < launch->arg_count; i++) {
		args[i] = value;
		value += padded(kernel->sizes[i]);
	}
	if (kernel->twin != NULL && sg_numerics())
		kernel->twin(launch->grid, launch->block, launch->arg_count > 0 ? args : NULL);
	else if (kernel->twin != NULL || launch->arg_count == 0 ||
		 sg_known_run(&kernel->known, launch->grid, args) < 0)
		sg_memory_forget_all_in(first, (size_t)(value - first));
}

/* The next argument: from the array, or from the packed ones at its natural alignment. */
static const void *argument(const struct sg_launch *from, int number, size_t size_bytes, size_t *offset)
{
	size_t alignment = size_bytes & (~size_bytes + 1);
	const char *value;

	if (from->packed == NULL)
		return from->args[number];
	if (alignment > 16)
		alignment = 16;
	*offset = (*offset + alignment - 1) & ~(alignment - 1);
	value = from->packed + *offset;
	*offset += size_bytes;
	return *offset <= from->packed_bytes ? value : NULL;
}

/* Of a kernel that no rule knows nothing is known but how many threads it has: *by_default. */
static struct sg_cost cost_of(const struct sg_kernel *kernel, const struct sg_launch *launch, int *by_default)
{
	void *const *args = launch->packed == NULL ? launch->args : NULL;
	double bytes = sg_known_bytes(&kernel->known, launch->grid, args);
	enum sg_cost_type type = SG_COST_F32;
	double flops = sg_known_flops(&kernel->known, launch->grid, args, &type);
	double each = (double)launch->block.x * launch->block.y * launch->block.z;
	double threads = (double)launch->grid.x * launch->grid.y * launch->grid.z * each;

	*by_default = bytes < 0;
	if (flops > 0 && type != SG_COST_F32)
		return (struct sg_cost)SG_COST(SG_COST_PRODUCT, type, flops, bytes);
	return (struct sg_cost){.kind = SG_COST_VECTOR,
		.type = SG_COST_F32,
		.flops = flops,
		.bytes = bytes >= 0 ? bytes : threads * sg_profile.bytes_per_thread,
		.blocks = sg_known_blocks(&kernel->known, launch->grid, args),
		.block_threads = each,
		.steps = sg_known_steps(&kernel->known, args),
		.pace = sg_known_pace(&kernel->known, args)};
}

/* What the thread's next launch is; fn NULL: what its kernel's name says. */
static __thread struct {
	struct sg_cost cost;
	sg_work *fn;
	size_t size;
} given;

void sg_launch_as(const struct sg_cost *cost, sg_work *fn, size_t size)
{
	given.cost = *cost;
	given.fn = fn;
	given.size = size;
}

static cudaError_t queue_given(
	const struct sg_launch *from, struct sg_activity *what, struct sg_stream *stream)
{
	sg_work *fn = given.fn;

	given.fn = NULL;
	if (from->args == NULL)
		return cudaErrorInvalidValue;
	what->cost = given.cost;
	what->rule = "library";
	what->run = sg_numerics() ? SG_RUN_WORKER : SG_RUN_NEVER;
	return sg_queue_as(stream, what, fn, from->args[0], given.size, NULL);
}

static enum sg_run how_to_run(const struct sg_kernel *kernel)
{
	return kernel->twin != NULL && sg_numerics() ? SG_RUN_WORKER : SG_RUN_ANYWHERE;
}

static cudaError_t queue_launch(
	struct sg_kernel *kernel, const struct sg_launch *from, struct sg_stream *stream)
{
	struct launch launch = {kernel, from->grid, from->block, 0};
	struct sg_activity what = {.kind = SG_ACTIVITY_KERNEL,
		.name = kernel->name,
		.grid = {from->grid.x, from->grid.y, from->grid.z},
		.block = {from->block.x, from->block.y, from->block.z},
		.shared_bytes = (uint32_t)from->shared_bytes,
		.rule = kernel->known.source,
		.run = how_to_run(kernel)};
	const size_t *sizes = kernel->sizes;
	size_t size = padded(sizeof(launch)), offset = 0;
	char small[1024], *data = small, *value;
	cudaError_t error = cudaSuccess;

	if (given.fn != NULL)
		return queue_given(from, &what, stream);
	what.cost = cost_of(kernel, from, &what.by_default);
	if (what.by_default)
		what.rule = SG_BY_THREADS;
	if (from->args != NULL || from->packed != NULL) {
		while (launch.arg_count < ARG_LIMIT && sizes[launch.arg_count] != 0)
			size += padded(sizes[launch.arg_count++]);
	}
	if (size > sizeof(small))
		data = malloc(size);
	if (data == NULL)
		return cudaErrorMemoryAllocation;
	memcpy(data, &launch, sizeof(launch));
	value = data + padded(sizeof(launch));
	for (int i = 0; i < launch.arg_count && error == cudaSuccess; i++) {
		const void *in = argument(from, i, sizes[i], &offset);

		if (in != NULL)
			memcpy(value, in, sizes[i]);
		else
			error = cudaErrorInvalidValue;
		value += padded(sizes[i]);
	}
	if (error == cudaSuccess)
		error = sg_queue_as(stream, &what, launch_work, data, size, NULL);
	if (data != small)
		free(data);
	return error;
}

/* XLA's kernel that sets the condition of a loop of known length: set_for_condition(handle, counter, length).
 */
static void note_condition(const struct sg_kernel *kernel, const struct sg_launch *launch)
{
	if (launch->args != NULL && strcmp(kernel->name, "set_for_condition") == 0)
		sg_condition_counts(*(const uint64_t *)launch->args[0], *(const uint32_t *)launch->args[2]);
}

cudaError_t sg_kernel_launch(struct sg_kernel *kernel, const struct sg_launch *launch, cudaStream_t handle)
{
	struct sg_stream *stream = sg_stream_of(handle);
	dim3 grid = launch->grid, block = launch->block;
	cudaError_t error;

	if (kernel == NULL)
		return cudaErrorInvalidDeviceFunction;
	if (stream == NULL || stream->device != sg_self.device)
		return cudaErrorInvalidResourceHandle;
	if (grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0 ||
		(uint64_t)block.x * block.y * block.z > SG_BLOCK_THREADS || grid.y > 65535 || grid.z > 65535)
		return cudaErrorInvalidConfiguration;
	error = sg_kernel_check_cluster(kernel, launch);
	if (error != cudaSuccess)
		return error;
	note_condition(kernel, launch);
	return queue_launch(kernel, launch, stream);
}

cudaError_t sg_kernel_occupancy(int *blocks, int block_threads, size_t shared_bytes)
{
	if (blocks == NULL || block_threads <= 0 || block_threads > SG_BLOCK_THREADS)
		return cudaErrorInvalidValue;
	*blocks = 2048 / block_threads < 32 ? 2048 / block_threads : 32;
	if (shared_bytes > 0 && 233472 / shared_bytes < (size_t)*blocks)
		*blocks = (int)(233472 / shared_bytes);
	return cudaSuccess;
}
