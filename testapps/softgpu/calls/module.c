/* Modules and libraries of kernels: handles, no more, as no image is read. See kernel.h. */
#include "kernel.h"

struct sg_module {
	struct sg_slot slot;
};

static struct sg_pool modules = SG_POOL_INIT(struct sg_module, 1 << 18, 64);

struct sg_module *sg_module_open(void)
{
	struct sg_module *module = sg_pool_get(&modules);

	if (module != NULL)
		atomic_store_explicit(&module->slot.live, SG_SLOT_LIVE, memory_order_release);
	return module;
}

struct sg_module *sg_module_of(const void *handle)
{
	return sg_pool_check(&modules, handle);
}

void sg_module_close(struct sg_module *module)
{
	sg_pool_put(&modules, module);
}
