/*
 * Clusters of blocks: what a launch asks for, and what a device has room for.
 *
 * The one idea: clusters come with compute capability 9.0; a smaller device refuses them, and a larger one
 * those that do not fit the grid or are larger than the kernel allows.
 */
#include "kernel.h"

#define CAPABILITY_OF_CLUSTERS 90
#define INVALID_CLUSTER_SIZE ((cudaError_t)912)
#define MULTIPROCESSORS 16 /* the attribute's number */
#define SHARED_BYTES_MOST 232448
#define ATTRIBUTE_CLUSTER 4

/* What both APIs have in a list of attributes. */
struct launch_attribute {
	int id;
	char pad[4];
	union {
		unsigned cluster[3];
		char room[64];
	} value;
};

void sg_launch_attributes(struct sg_launch *launch, const void *attributes, unsigned count)
{
	const struct launch_attribute *attribute = attributes;

	for (unsigned i = 0; i < count; i++) {
		const unsigned *size = attribute[i].value.cluster;

		if (attribute[i].id == ATTRIBUTE_CLUSTER)
			launch->cluster = (dim3){size[0], size[1], size[2]};
	}
}

static int attribute_of(const struct sg_kernel *kernel, int attribute)
{
	return kernel->attribute[attribute - SG_KERNEL_SHARED_BYTES];
}

cudaError_t sg_kernel_set(struct sg_kernel *kernel, int attribute, int value)
{
	int is_known = attribute >= SG_KERNEL_SHARED_BYTES && attribute < SG_KERNEL_ATTRIBUTE_LIMIT;

	/* The preferred part of shared memory is in percent; -1: default. */
	if (!is_known || (attribute == SG_KERNEL_CARVEOUT ? value < -1 || value > 100 : value < 0) ||
		(attribute == SG_KERNEL_SHARED_BYTES && value > SHARED_BYTES_MOST))
		return cudaErrorInvalidValue;
	if (attribute >= SG_KERNEL_CLUSTER_WIDTH && value > 0 && sg_capability() < CAPABILITY_OF_CLUSTERS)
		return cudaErrorNotSupported;
	kernel->attribute[attribute - SG_KERNEL_SHARED_BYTES] = value;
	return cudaSuccess;
}

/* x 0: none, of neither the launch nor the kernel. */
static dim3 cluster_of(const struct sg_kernel *kernel, const struct sg_launch *launch)
{
	int width = attribute_of(kernel, SG_KERNEL_CLUSTER_WIDTH);
	int height = attribute_of(kernel, SG_KERNEL_CLUSTER_HEIGHT);
	int depth = attribute_of(kernel, SG_KERNEL_CLUSTER_DEPTH);

	if (launch->cluster.x != 0 || launch->cluster.y != 0 || launch->cluster.z != 0 || width == 0)
		return launch->cluster;
	return (dim3){(unsigned)width, height > 0 ? (unsigned)height : 1, depth > 0 ? (unsigned)depth : 1};
}

cudaError_t sg_kernel_check_cluster(const struct sg_kernel *kernel, const struct sg_launch *launch)
{
	dim3 cluster = cluster_of(kernel, launch), grid = launch->grid;
	int may_be_large = attribute_of(kernel, SG_KERNEL_LARGE_CLUSTERS) != 0;
	uint64_t blocks = (uint64_t)cluster.x * cluster.y * cluster.z;

	if (cluster.x == 0 && cluster.y == 0 && cluster.z == 0)
		return attribute_of(kernel, SG_KERNEL_MUST_HAVE_CLUSTER) != 0 ? INVALID_CLUSTER_SIZE
									      : cudaSuccess;
	if (sg_capability() < CAPABILITY_OF_CLUSTERS)
		return cudaErrorNotSupported;
	if (blocks == 0 || blocks > (may_be_large ? SG_CLUSTER_MOST : SG_CLUSTER_PORTABLE) ||
		grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
		return INVALID_CLUSTER_SIZE;
	return cudaSuccess;
}

cudaError_t sg_kernel_clusters(int *clusters, const struct sg_kernel *kernel, const struct sg_launch *launch)
{
	dim3 cluster = cluster_of(kernel, launch), block = launch->block;
	int blocks, multiprocessors;
	cudaError_t error;

	if (clusters == NULL)
		return cudaErrorInvalidValue;
	error = sg_kernel_check_cluster(kernel, launch);
	if (error == cudaSuccess)
		error = sg_kernel_occupancy(
			&blocks, (int)(block.x * block.y * block.z), launch->shared_bytes);
	if (error == cudaSuccess)
		error = sg_device_attribute(
			&multiprocessors, (enum cudaDeviceAttr)MULTIPROCESSORS, sg_self.device);
	if (error != cudaSuccess)
		return error;
	*clusters = blocks * multiprocessors / (cluster.x > 0 ? (int)(cluster.x * cluster.y * cluster.z) : 1);
	return cudaSuccess;
}

cudaError_t sg_kernel_largest_cluster(
	int *blocks, const struct sg_kernel *kernel, const struct sg_launch *launch)
{
	int may_be_large = attribute_of(kernel, SG_KERNEL_LARGE_CLUSTERS) != 0;

	(void)launch;
	if (blocks == NULL)
		return cudaErrorInvalidValue;
	if (sg_capability() < CAPABILITY_OF_CLUSTERS)
		return cudaErrorNotSupported;
	*blocks = may_be_large ? SG_CLUSTER_MOST : SG_CLUSTER_PORTABLE;
	return cudaSuccess;
}
