/* What nvcc-built programs register before main: kernels and device variables, found again by host address.
 */
#ifndef CUDART_REGISTER_H
#define CUDART_REGISTER_H

#include "sg_rt.h"

/* A kernel's C twin: runs the whole grid; args as cudaLaunchKernel gets them, or NULL without known sizes. */
typedef void sg_twin(dim3 grid, dim3 block, void **args);

struct sg_kernel {
	const void *host;
	const char *name;
	_Atomic int resolved;
	sg_twin *twin;           /* NULL: the kernel does nothing */
	const size_t *arg_bytes; /* 0-terminated, or NULL */
};

/* The kernel registered for a host function, its twin looked up; NULL: there is none. */
struct sg_kernel *sg_kernel_find(const void *host);

#endif
