/*
 * Contexts: what the driver API calls current where the runtime speaks of devices.
 *
 * The one idea: a thread has a stack of contexts, and its device is that of the context on top. The runtime
 * uses a device's primary context; a context that the application makes is a name for the same device, which
 * owns the streams and the memory made while it was current.
 */
#include "core.h"

struct sg_pool sg_contexts = SG_POOL_INIT(struct sg_context, 4096, 64);

struct sg_context *sg_context_open(int device, unsigned flags, int primary)
{
	static _Atomic uint64_t last_id;
	struct sg_context *context = sg_pool_get(&sg_contexts);

	if (context == NULL)
		return NULL;
	context->device = device;
	context->primary = primary;
	context->flags = flags;
	context->api_version = 3020;
	context->id = 1 + atomic_fetch_add(&last_id, 1);
	atomic_store(&context->active, 0);
	atomic_store(&context->references, 0);
	atomic_store(&context->runtime_uses, 0);
	atomic_store_explicit(&context->slot.live, SG_SLOT_LIVE, memory_order_release);
	return context;
}

int sg_context_usable(const struct sg_context *context)
{
	return atomic_load_explicit(&context->slot.live, memory_order_acquire) == SG_SLOT_LIVE &&
	       (!context->primary || atomic_load_explicit(&context->active, memory_order_acquire));
}

/* The stack has changed: the device and whether anything is current follow from it. */
static void look_at_top(void)
{
	const struct sg_context *context = sg_context_current();

	if (context == NULL) {
		sg_self.unusual |= SG_UNBOUND;
		return;
	}
	sg_self.unusual &= ~(unsigned)SG_UNBOUND;
	sg_self.device = context->device;
}

void sg_context_set(struct sg_context *context)
{
	if (sg_self.context_count > 0)
		sg_self.context_count--;
	if (context != NULL)
		sg_self.contexts[sg_self.context_count++] = context;
	look_at_top();
}

cudaError_t sg_context_push(struct sg_context *context)
{
	if (sg_self.context_count == SG_CONTEXT_DEPTH)
		return cudaErrorIllegalState;
	sg_self.contexts[sg_self.context_count++] = context;
	look_at_top();
	return cudaSuccess;
}

struct sg_context *sg_context_pop(void)
{
	struct sg_context *context = sg_context_current();

	if (context == NULL)
		return NULL;
	sg_self.context_count--;
	look_at_top();
	return context;
}

void sg_context_bind(int device)
{
	struct sg_context *primary = sg_context_primary(device);

	if (!atomic_load(&primary->runtime_uses))
		atomic_store(&primary->runtime_uses, 1);
	if (!atomic_load(&primary->active))
		atomic_store(&primary->active, 1);
	sg_context_set(primary);
}

void sg_context_retain(struct sg_context *primary)
{
	atomic_fetch_add(&primary->references, 1);
	atomic_store(&primary->active, 1);
}

cudaError_t sg_context_release(struct sg_context *primary)
{
	unsigned references = atomic_load(&primary->references);

	do {
		if (references == 0)
			return cudaErrorDeviceUninitialized;
	} while (!atomic_compare_exchange_weak(&primary->references, &references, references - 1));
	if (references == 1 && !atomic_load(&primary->runtime_uses))
		sg_context_reset(primary);
	return cudaSuccess;
}

void sg_context_reset(struct sg_context *primary)
{
	sg_device_reset(primary->device);
	atomic_store(&primary->references, 0);
	atomic_store(&primary->runtime_uses, 0);
	atomic_store(&primary->active, 0);
	atomic_fetch_or(&sg_attention, SG_DESTROYED);
}

void sg_context_close(struct sg_context *context)
{
	int device = context->device;

	sg_device_drain(device);
	sg_device_close_streams(device, context);
	sg_device_close_events(device, context);
	sg_device_drain(device);
	sg_block_free_device(device, context);
	atomic_fetch_or(&sg_attention, SG_DESTROYED);
	if (sg_context_current() == context)
		sg_context_pop();
	sg_pool_put(&sg_contexts, context);
}

void *sg_context_of_thread(void)
{
	return sg_context_current();
}

int sg_context_device(const void *context)
{
	const struct sg_context *found = sg_pool_check(&sg_contexts, context);

	return found != NULL ? found->device : -1;
}
