/*
 * A program whose first hooked call comes before any of CUDA is loaded: NCCL's, then it opens the runtime and
 * works.
 *
 *     late_host RUNTIME
 */
#include <dlfcn.h>
#include <err.h>
#include <stddef.h>

#include "pm_abi.h"

ncclResult_t ncclGetUniqueId(ncclUniqueId *id);

int main(int argc, char **argv)
{
	cudaError_t (*set)(void *, int, size_t, cudaStream_t), (*synchronize)(void);
	ncclUniqueId id;
	static char memory[64];
	void *runtime;

	if (argc != 2 || ncclGetUniqueId(&id) != ncclSuccess ||
		!(runtime = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)))
		errx(1, "usage: late_host RUNTIME");
	*(void **)&set = dlsym(runtime, "cudaMemsetAsync");
	*(void **)&synchronize = dlsym(runtime, "cudaDeviceSynchronize");
	for (int i = 0; set && i < 20; i++)
		if (set(memory, i, sizeof memory, NULL) != cudaSuccess)
			errx(1, "memset");
	return !set || !synchronize || synchronize() != cudaSuccess;
}
