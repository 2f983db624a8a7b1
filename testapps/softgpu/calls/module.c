/* Modules and libraries of kernels: handles with their image, of which no code is run. See kernel.h. */
#include "kernel.h"

struct sg_module {
	struct sg_slot slot;
	struct sg_image *image;
};

static struct sg_pool modules = SG_POOL_INIT(struct sg_module, 1 << 18, 64);

struct sg_module *sg_module_open(struct sg_image *image)
{
	struct sg_module *module = sg_pool_get(&modules);

	if (module == NULL) {
		sg_image_close(image);
		return NULL;
	}
	module->image = image;
	atomic_store_explicit(&module->slot.live, SG_SLOT_LIVE, memory_order_release);
	return module;
}

struct sg_image *sg_module_image(const struct sg_module *module)
{
	return module->image;
}

struct sg_module *sg_module_of(const void *handle)
{
	return sg_pool_check(&modules, handle);
}

void sg_module_close(struct sg_module *module)
{
	sg_image_close(module->image);
	sg_pool_put(&modules, module);
}
