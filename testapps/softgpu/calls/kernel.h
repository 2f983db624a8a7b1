/* Kernels and device variables: registered before main by nvcc-built programs and found again by host
 * address, or asked for by name. */
#ifndef SG_KERNEL_H
#define SG_KERNEL_H

#include "calls.h"
#include "image.h"
#include "kernels/kernels.h"

/* A kernel's C twin: runs the whole grid; args as cudaLaunchKernel gets them, or NULL without known sizes. */
typedef void sg_twin(dim3 grid, dim3 block, void **args);

/* Of the runtime and the driver alike; those before the first can only be asked for. */
enum {
	SG_KERNEL_SHARED_BYTES = 8, /* the first that can be set */
	SG_KERNEL_CARVEOUT,
	SG_KERNEL_MUST_HAVE_CLUSTER,
	SG_KERNEL_CLUSTER_WIDTH,
	SG_KERNEL_CLUSTER_HEIGHT,
	SG_KERNEL_CLUSTER_DEPTH,
	SG_KERNEL_LARGE_CLUSTERS, /* of more than SG_CLUSTER_PORTABLE blocks */
	SG_KERNEL_CLUSTER_POLICY,
	SG_KERNEL_ATTRIBUTE_LIMIT
};
#define SG_KERNEL_ATTRIBUTES (SG_KERNEL_ATTRIBUTE_LIMIT - SG_KERNEL_SHARED_BYTES)

/* Blocks of a cluster that any device with clusters has room for, and that one has at most. */
#define SG_CLUSTER_PORTABLE 8
#define SG_CLUSTER_MOST 16

struct sg_kernel {
	struct sg_slot slot;
	struct sg_kernel *next;
	const void *host;       /* NULL: known by its name alone */
	const char *name;       /* for as long as the process lives */
	struct sg_image *image; /* that it is in, or NULL */
	_Atomic int resolved;
	sg_twin *twin;           /* NULL: the kernel does nothing */
	const size_t *arg_bytes; /* 0-terminated, or NULL */
	struct sg_known known;   /* by its name; looked at where it has no twin of the program's */
	const size_t *sizes;     /* 0-terminated: of the arguments to look at, whatever says them */
	_Atomic int attribute[SG_KERNEL_ATTRIBUTES]; /* that can be set: by number, from the first on */
};

/* Registers a kernel, and a device variable; the names must stay. The image may be NULL. */
void sg_kernel_register(const void *host, const char *name, struct sg_image *image);
void sg_symbol_register(const void *host, char *address, size_t size_bytes, const char *name);

#define SG_BLOCK_THREADS 1024 /* the most a block may have */

/* The kernel registered for a host function, its twin looked up; NULL: there is none. */
struct sg_kernel *sg_kernel_find(const void *host);

/* The kernel of that name in an image or in none (NULL), whether or not it is registered; the same one each
 * time. NULL: out of memory. */
struct sg_kernel *sg_kernel_named(const char *name, struct sg_image *image);

/* The kernel that a cudaKernel_t, CUfunction or CUkernel means, or NULL. */
struct sg_kernel *sg_kernel_of(const void *handle);

/*
 * The place of a parameter in a kernel's arguments: what its image says, else its twin's sizes at their
 * natural alignment. cudaErrorInvalidValue: it has no such parameter, or nothing says which it has.
 */
cudaError_t sg_kernel_param(
	const struct sg_kernel *kernel, size_t number, size_t *offset, size_t *size_bytes);
cudaError_t sg_kernel_param_count(const struct sg_kernel *kernel, size_t *count);

/*
 * Runs the kernel's twin in stream order with a copy of the arguments. args is an array of pointers, or NULL;
 * packed, if not NULL, holds the arguments themselves at their natural alignment instead, packed_bytes of
 * them.
 */
struct sg_launch {
	dim3 grid, block;
	void **args;
	const char *packed;
	size_t packed_bytes;
	size_t shared_bytes; /* dynamic shared memory */
	dim3 cluster;        /* blocks; x 0: as the kernel has it */
};
/* What the device and the kernel say to the launch's cluster. */
cudaError_t sg_kernel_check_cluster(const struct sg_kernel *kernel, const struct sg_launch *launch);
/* Takes what is launched with other attributes than the size from their list, as either API has it. */
void sg_launch_attributes(struct sg_launch *launch, const void *attributes, unsigned count);
cudaError_t sg_kernel_launch(struct sg_kernel *kernel, const struct sg_launch *launch, cudaStream_t stream);

/* cudaErrorInvalidValue: it is none that can be set, or cannot be that. */
cudaError_t sg_kernel_set(struct sg_kernel *kernel, int attribute, int value);

cudaError_t sg_kernel_occupancy(int *blocks, int block_threads, size_t shared_bytes);
/* Clusters of the launch that the device has room for at a time, and the largest that one may be. */
cudaError_t sg_kernel_clusters(int *clusters, const struct sg_kernel *kernel, const struct sg_launch *launch);
cudaError_t sg_kernel_largest_cluster(
	int *blocks, const struct sg_kernel *kernel, const struct sg_launch *launch);

/*
 * Modules of the driver API and libraries of both: any image is taken (NULL: one that cannot be read), and
 * names are looked up among everything the program registered or exports.
 */
struct sg_module *sg_module_open(struct sg_image *image);
struct sg_image *sg_module_image(const struct sg_module *module);
struct sg_module *sg_module_of(const void *handle);
/* A variable of the module's image, on the current device, as the image has it: cudaErrorSymbolNotFound. */
cudaError_t sg_module_variable(
	struct sg_module *module, const char *name, char **address, size_t *size_bytes);
void sg_module_close(struct sg_module *module);

/* The device variable registered under a name: cudaErrorSymbolNotFound. */
cudaError_t sg_symbol_named(const char *name, char **address, size_t *size_bytes);

#endif
