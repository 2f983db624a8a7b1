/* Copies: see copy.h. */
#include "copy.h"
#include "core/capture.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_STAGE 4096 /* staged bytes that travel inside the queue */

size_t sg_box_span(size_t pitch, size_t slice, size_t width, size_t height, size_t depth)
{
	size_t layers, rows, span;

	if (__builtin_mul_overflow(depth - 1, slice, &layers) ||
		__builtin_mul_overflow(height - 1, pitch, &rows) ||
		__builtin_add_overflow(layers, rows, &span) || __builtin_add_overflow(span, width, &span))
		return SIZE_MAX;
	return span;
}

/* A box of rows is one stretch. */
static void say_written(const struct sg_box *box)
{
	size_t span = sg_box_span(box->to_pitch, box->to_slice, box->width, box->height, box->depth);

	sg_memory_written(box->to, span);
}

static void move_box(const struct sg_box *box)
{
	if (box->height == 1 && box->depth == 1) {
		memmove(box->to, box->from, box->width);
		return;
	}
	for (size_t z = 0; z < box->depth; z++) {
		for (size_t y = 0; y < box->height; y++)
			memmove(box->to + z * box->to_slice + y * box->to_pitch,
				box->from + z * box->from_slice + y * box->from_pitch, box->width);
	}
}

static void copy_box(const struct sg_box *box)
{
	move_box(box);
	say_written(box);
}

static void copy_work(void *arg)
{
	copy_box(arg);
}

static void copy_staged_work(void *arg)
{
	struct sg_box *box = arg;
	union {
		const char *in;
		char *out;
	} stage = {box->from};

	copy_box(box);
	free(stage.out);
}

struct inline_copy {
	struct sg_box box;
	char bytes[INLINE_STAGE];
};

static void copy_inline_work(void *arg)
{
	struct inline_copy *copy = arg;

	copy->box.from = copy->bytes;
	copy_box(&copy->box);
}

enum sg_extent sg_copy_extent(uint64_t bytes, enum sg_side to, enum sg_side from)
{
	if (bytes <= SG_MOVED_BYTES || sg_numerics())
		return SG_ALL;
	if (bytes <= SG_OBJECT_BYTES && from == SG_SIDE_PAGEABLE)
		return SG_ALL;
	if (bytes <= SG_OBJECT_BYTES && from == SG_SIDE_DEVICE && to != SG_SIDE_PAGEABLE)
		return SG_KNOWN;
	if (to == SG_SIDE_DEVICE)
		return SG_FORGETS;
	return to == SG_SIDE_PINNED && from == SG_SIDE_DEVICE ? SG_NOTHING : SG_ALL;
}

/* What is short the submitting thread does itself. */
enum sg_run sg_copy_run(uint64_t bytes, enum sg_extent extent)
{
	return bytes <= SG_MOVED_BYTES || extent != SG_ALL ? SG_RUN_ANYWHERE : SG_RUN_WORKER;
}

void sg_nothing_work(void *arg)
{
	(void)arg;
}

void sg_forget_box_work(void *arg)
{
	const struct sg_box *box = arg;

	sg_memory_forget_range(
		box->to, sg_box_span(box->to_pitch, box->to_slice, box->width, box->height, box->depth));
}

/* Of one row, as objects are; its destination may be pinned memory, of which nothing is known anyway. */
static void copy_known_work(void *arg)
{
	struct sg_box *box = arg;

	if (box->height == 1 && box->depth == 1 && sg_memory_is_known(box->from, box->width))
		copy_box(box);
	else
		sg_forget_box_work(box);
}

/* Both sides are device memory: of one device, or of two. */
static int between_devices(const struct sg_box *box)
{
	struct sg_block to, from;

	return sg_block_find(box->to, &to) && sg_block_find(box->from, &from) && to.device != from.device;
}

/* Reads the source now, so that the application may write there again, and queues the rest. */
static cudaError_t queue_staged(
	const struct sg_box *box, struct sg_stream *stream, const struct sg_activity *what)
{
	size_t size = box->width * box->height * box->depth;
	struct sg_box in = *box, out = *box;
	cudaError_t error;

	in.to_pitch = out.from_pitch = box->width;
	in.to_slice = out.from_slice = box->width * box->height;
	if (size <= INLINE_STAGE) {
		struct inline_copy copy;

		in.to = copy.bytes;
		move_box(&in);
		copy.box = out;
		return sg_queue_as(stream, what, copy_inline_work, &copy,
			offsetof(struct inline_copy, bytes) + size, NULL);
	}
	in.to = malloc(size);
	if (in.to == NULL)
		return cudaErrorMemoryAllocation;
	move_box(&in);
	out.from = in.to;
	error = sg_queue_as(stream, what, copy_staged_work, &out, sizeof(out), NULL);
	if (error != cudaSuccess)
		free(in.to);
	return error;
}

/* Whether the sides can be what the direction says they are. */
static cudaError_t check_kind(enum cudaMemcpyKind kind, enum sg_side to, enum sg_side from)
{
	switch (kind) {
	case cudaMemcpyHostToHost:
		return to == SG_SIDE_DEVICE || from == SG_SIDE_DEVICE ? cudaErrorInvalidValue : cudaSuccess;
	case cudaMemcpyHostToDevice:
		return to == SG_SIDE_PAGEABLE || from == SG_SIDE_DEVICE ? cudaErrorInvalidValue : cudaSuccess;
	case cudaMemcpyDeviceToHost:
		return to == SG_SIDE_DEVICE || from == SG_SIDE_PAGEABLE ? cudaErrorInvalidValue : cudaSuccess;
	case cudaMemcpyDeviceToDevice:
		return to == SG_SIDE_PAGEABLE || from == SG_SIDE_PAGEABLE ? cudaErrorInvalidValue
									  : cudaSuccess;
	case cudaMemcpyDefault:
		return cudaSuccess;
	}
	return cudaErrorInvalidMemcpyDirection;
}

cudaError_t sg_copy(const struct sg_box *box, enum cudaMemcpyKind kind, enum sg_given given,
	cudaStream_t handle, enum sg_wait wait)
{
	struct sg_stream *stream = sg_stream_of(handle);
	struct sg_activity what = {.kind = SG_ACTIVITY_COPY, .bytes = box->width * box->height * box->depth};
	enum sg_side to = SG_SIDE_DEVICE, from = SG_SIDE_DEVICE;
	cudaError_t error = cudaSuccess;
	static sg_work *const works[] = {[SG_ALL] = copy_work,
		[SG_FORGETS] = sg_forget_box_work,
		[SG_NOTHING] = sg_nothing_work,
		[SG_KNOWN] = copy_known_work};
	enum sg_extent extent;
	uint64_t position;

	if (stream == NULL)
		return cudaErrorInvalidResourceHandle;
	if ((int)kind < 0 || kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (box->width == 0 || box->height == 0 || box->depth == 0)
		return cudaSuccess;
	if (box->to == NULL || box->from == NULL)
		return cudaErrorInvalidValue;
	if (given != SG_TO_IS_DEVICE)
		to = sg_block_side(box->to,
			sg_box_span(box->to_pitch, box->to_slice, box->width, box->height, box->depth),
			&error);
	if (given != SG_FROM_IS_DEVICE)
		from = sg_block_side(box->from,
			sg_box_span(box->from_pitch, box->from_slice, box->width, box->height, box->depth),
			&error);
	if (error == cudaSuccess)
		error = check_kind(kind, to, from);
	if (error == cudaSuccess && wait == SG_SYNC)
		error = sg_capture_unsafe();
	if (error != cudaSuccess)
		return error;
	what.copy_from_device = from == SG_SIDE_DEVICE;
	what.copy_to_device = to == SG_SIDE_DEVICE;
	what.pageable = to == SG_SIDE_PAGEABLE || from == SG_SIDE_PAGEABLE;
	what.cost = (struct sg_cost)SG_COST(SG_COST_COPY, SG_COST_F32, 0, (double)what.bytes);
	extent = sg_copy_extent(what.bytes, to, from);
	what.run = sg_copy_run(what.bytes, extent);
	if (sg_modelled() && what.copy_from_device && what.copy_to_device)
		what.peer = between_devices(box);
	if (atomic_load_explicit(&stream->capture, memory_order_acquire) != NULL)
		return sg_queue_as(stream, &what, works[extent], box, sizeof(*box), NULL);
	if (wait == SG_ASYNC && from == SG_SIDE_PAGEABLE && to != SG_SIDE_PAGEABLE && extent == SG_ALL)
		return queue_staged(box, stream, &what);
	error = sg_queue_as(stream, &what, works[extent], box, sizeof(*box), &position);
	if (error != cudaSuccess)
		return error;
	if (to == SG_SIDE_PAGEABLE ||
		(wait == SG_SYNC && !(to == SG_SIDE_DEVICE && from == SG_SIDE_DEVICE))) {
		sg_stream_wait(stream, position);
		error = sg_device_error(stream->device);
	}
	return error;
}
