/*
 * Where work goes: which device a stream belongs to, which stream a handle was given.
 */
#include "place.h"

#include "cupti_session.h"
#include "describe/object.h"
#include "guest/resolve.h"
#include "trace/intern.h"

/* The default streams: NULL, cudaStreamLegacy (1), cudaStreamPerThread (2). They are the current device's. */
static bool is_default(cudaStream_t stream)
{
	return (uintptr_t)stream <= 2;
}

/* How often the handle has meant another stream before. */
static unsigned generation_of(cudaStream_t stream)
{
	const struct object *o = is_default(stream) ? NULL : object_of(stream, false);

	return o ? atomic_load_explicit(&o->generation, memory_order_relaxed) : 0;
}

static struct pmh_place place_of(struct object *o, cudaStream_t stream)
{
	uint16_t queue = atomic_load_explicit(&o->queue, memory_order_relaxed);

	if (__builtin_expect(queue == 0, 0)) {
		queue = pmh_queue_number(o->device, stream, generation_of(stream));
		atomic_store_explicit(&o->queue, queue, memory_order_relaxed);
	}
	return (struct pmh_place){
		.stream = stream, .device = o->device, .queue = queue, .device_pointers = o->device_pointers};
}

_Atomic unsigned pmh_place_epoch;

static struct pmh_place remember(const void *asked, unsigned epoch, struct pmh_place place)
{
	pmh_self.last_asked = asked;
	pmh_self.last_epoch = epoch;
	pmh_self.last_place = place;
	return place;
}

/* A stream or handle; one whose making was not seen is taken for the current device's. */
static struct object *used(const void *address)
{
	struct object *o = object_of(address, false);

	if (!o && (o = object_of(address, true)))
		o->device = pmh_self.device;
	return o;
}

struct pmh_place pmh_find_stream(cudaStream_t stream)
{
	const unsigned epoch = atomic_load_explicit(&pmh_place_epoch, memory_order_acquire);
	const int device = pmh_self.device;
	struct object *o = is_default(stream) ? NULL : used(stream);

	if (o)
		return remember(stream, epoch, place_of(o, stream));
	return remember(stream, epoch,
		(struct pmh_place){
			.stream = stream, .device = device, .queue = pmh_queue_number(device, stream, 0)});
}

struct pmh_place pmh_find_handle(const void *handle)
{
	const unsigned epoch = atomic_load_explicit(&pmh_place_epoch, memory_order_acquire);
	struct object *o = used(handle);

	return remember(handle, epoch, o ? place_of(o, o->stream) : pmh_find_stream(NULL));
}

static void set_place(struct object *o, cudaStream_t stream, int device)
{
	/* programs set the same stream again and again */
	if (o->stream == stream && o->device == device &&
		atomic_load_explicit(&o->queue, memory_order_relaxed))
		return;
	o->stream = stream;
	o->device = device;
	atomic_store_explicit(&o->queue, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&pmh_place_epoch, 1, memory_order_release);
}

void pmh_stream_created(cudaStream_t stream)
{
	struct object *o = object_of(stream, true);

	if (o)
		set_place(o, stream, pmh_self.device);
	pmh_cupti_stream_created();
}

static void stream_gone(struct object *o)
{
	atomic_fetch_add_explicit(&o->generation, 1, memory_order_relaxed);
	atomic_store_explicit(&o->queue, 0, memory_order_relaxed);
}

void pmh_stream_gone(cudaStream_t stream)
{
	struct object *o = is_default(stream) ? NULL : object_of(stream, false);

	if (!o)
		return;
	stream_gone(o);
	atomic_fetch_add_explicit(&pmh_place_epoch, 1, memory_order_release);
}

/* Handles of libraries are among them: they are asked for their stream again. */
void pmh_streams_gone(int device)
{
	for (unsigned i = 0; i < OBJECTS; i++)
		if (atomic_load_explicit(&pmh_objects[i].address, memory_order_acquire) > OBJECT_GONE &&
			pmh_objects[i].device == device)
			stream_gone(&pmh_objects[i]);
	atomic_fetch_add_explicit(&pmh_place_epoch, 1, memory_order_release);
	pmh_cupti_stream_created();
}

void pmh_device_set(int device)
{
	if (pmh_self.device == device)
		return;
	pmh_self.device = device;
	pmh_self.last_asked = NULL;
}

void pmh_handle_created(const void *handle)
{
	struct object *o = object_of(handle, true);

	if (!o)
		return;
	set_place(o, NULL, pmh_self.device);
	o->device_pointers = false;
}

void pmh_handle_stream(const void *handle, cudaStream_t stream)
{
	struct object *o = object_of(handle, true);

	/* a default stream is the device's that the handle was made on */
	if (o)
		set_place(o, stream, is_default(stream) ? o->device : pmh_find_stream(stream).device);
}

void pmh_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode)
{
	struct object *o = object_of(handle, true);

	if (!o || o->device_pointers == (mode == CUBLAS_POINTER_MODE_DEVICE))
		return;
	o->device_pointers = mode == CUBLAS_POINTER_MODE_DEVICE;
	atomic_fetch_add_explicit(&pmh_place_epoch, 1, memory_order_release);
}

/* ---- the driver's contexts: each is of one device ---- */

void pmh_context_made(const void *context, int device)
{
	struct object *o = object_of(context, true);

	if (o)
		o->device = device;
}

void pmh_context_current(const void *context)
{
	const struct object *o = object_of(context, false);

	if (o)
		pmh_device_set(o->device);
}

void pmh_context_created(const void *context, int device)
{
	pmh_context_made(context, device);
	pmh_device_set(device);
}

/* Which context is current now, only the driver knows. */
void pmh_context_popped(void)
{
	CUresult (*ask)(int *) = (CUresult(*)(int *))pmh_real_driver("cuCtxGetDevice");
	int device;

	if (ask && ask(&device) == CUDA_SUCCESS)
		pmh_device_set(device);
}

int pmh_context_device(const void *context)
{
	const struct object *o = object_of(context, false);

	return o ? o->device : pmh_self.device;
}

bool pmh_primary_context_active(int device)
{
	CUresult (*ask)(CUdevice, unsigned *, int *) =
		(CUresult(*)(CUdevice, unsigned *, int *))pmh_real_driver("cuDevicePrimaryCtxGetState");
	unsigned flags;
	int active = 0;

	return ask && ask(device, &flags, &active) == CUDA_SUCCESS && active;
}

void pmh_place_forget(void)
{
	atomic_fetch_add(&pmh_place_epoch, 1);
}
