/* Modules and libraries of kernels: handles with their image, of which no code is run. See kernel.h. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

/* One that was asked for, on one device. */
struct variable {
	struct variable *next;
	int device;
	char *address;
	size_t size_bytes;
	char name[];
};

struct sg_module {
	struct sg_slot slot;
	struct sg_image *image;
	struct variable *variables; /* under the lock */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct sg_pool modules = SG_POOL_INIT(struct sg_module, 1 << 18, 64);

struct sg_module *sg_module_open(struct sg_image *image)
{
	struct sg_module *module = sg_pool_get(&modules);

	if (module == NULL) {
		sg_image_close(image);
		return NULL;
	}
	module->image = image;
	module->variables = NULL;
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

static cudaError_t make_variable(struct sg_module *module, const char *name)
{
	struct variable *variable;
	const void *content;
	size_t size_bytes;
	void *address;

	if (module->image == NULL || !sg_image_variable(module->image, name, &content, &size_bytes))
		return cudaErrorSymbolNotFound;
	variable = malloc(sizeof(*variable) + strlen(name) + 1);
	if (variable == NULL ||
		sg_block_alloc(&address, size_bytes, SG_DEVICE, sg_self.device) != cudaSuccess) {
		free(variable);
		return cudaErrorMemoryAllocation;
	}
	if (content != NULL)
		memcpy(address, content, size_bytes);
	variable->address = address;
	variable->size_bytes = size_bytes;
	variable->device = sg_self.device;
	strcpy(variable->name, name);
	variable->next = module->variables;
	module->variables = variable;
	return cudaSuccess;
}

static struct variable *find_variable(const struct sg_module *module, const char *name)
{
	struct variable *variable = module->variables;

	while (variable != NULL && (variable->device != sg_self.device || strcmp(variable->name, name) != 0))
		variable = variable->next;
	return variable;
}

cudaError_t sg_module_variable(struct sg_module *module, const char *name, char **address, size_t *size_bytes)
{
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&lock);
	if (find_variable(module, name) == NULL)
		error = make_variable(module, name);
	if (error == cudaSuccess) {
		*address = find_variable(module, name)->address;
		*size_bytes = find_variable(module, name)->size_bytes;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static void free_variables(struct sg_module *module)
{
	pthread_mutex_lock(&lock);
	while (module->variables != NULL) {
		struct variable *variable = module->variables;
		struct sg_block block;

		module->variables = variable->next;
		sg_device_drain(variable->device);
		if (sg_block_take(variable->address, &block))
			sg_block_release(&block);
		free(variable);
	}
	pthread_mutex_unlock(&lock);
}

void sg_module_close(struct sg_module *module)
{
	free_variables(module);
	sg_image_close(module->image);
	sg_pool_put(&modules, module);
}
