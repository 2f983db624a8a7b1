/* Where the functions of a library of an older CUDA jump to: see forward.h. */
#include "older/forward.h"

#include <dlfcn.h>
#include <stddef.h>

__attribute__((constructor)) static void find_targets(void)
{
	void *library = dlopen(sg_target_library, RTLD_LAZY | RTLD_NOLOAD);

	for (size_t i = 0; library != NULL && sg_target_names[i] != NULL; i++)
		sg_targets[i] = dlsym(library, sg_target_names[i]);
}
