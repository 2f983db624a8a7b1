/*
 * Plain loads from the interpreter's memory, by the one thread of which that is safe (python_line.c says why,
 * and which it is: pmh_self.reads_python).
 */
#ifndef PYTHON_LOADS_H
#define PYTHON_LOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "python_process.h"

extern struct pmh_python_reading pmh_python_loads; /* set before reads_python is */

static inline uint64_t pmh_load(uint64_t from)
{
	return *(const volatile uint64_t *)(uintptr_t)from;
}

static inline uint64_t pmh_load_half(uint64_t from)
{
	return *(const volatile uint32_t *)(uintptr_t)from;
}

static inline uint8_t pmh_load_byte(uint64_t from)
{
	return *(const volatile uint8_t *)(uintptr_t)from;
}

/* A frame without code of its own: where C calls the interpreter (python_frames.c). */
#define PMH_OWNED_BY_C 3
static inline bool pmh_is_shim(const struct pmh_python_offsets *at, uint64_t frame)
{
	return at->frame_owner && pmh_load_byte(frame + at->frame_owner) >= PMH_OWNED_BY_C;
}

/* 0: there is none. */
static inline uint64_t pmh_innermost_frame(void)
{
	const struct pmh_python_offsets *at = pmh_python_loads.at;
	const uint64_t thread = (uint64_t)(uintptr_t)pmh_python_loads.thread_state();
	uint64_t frame;

	if (!thread)
		return 0;
	frame = pmh_load(thread + at->thread_frame);
	if (at->thread_frame_link && frame)
		frame = pmh_load(frame + at->link_frame);
	return frame;
}

/* The first frame from `frame` outwards that runs code; 0: there is none so near. */
static inline uint64_t pmh_next_code(
	const struct pmh_python_offsets *at, uint64_t frame, unsigned *frames_left, uint64_t *code)
{
	for (; frame && *frames_left; frame = pmh_load(frame + at->frame_previous)) {
		--*frames_left;
		if (pmh_is_shim(at, frame))
			continue;
		*code = pmh_load(frame + at->frame_code) & ~(uint64_t)at->frame_tags;
		if (*code && pmh_load(*code + 8) == pmh_python_loads.code_type)
			return frame;
	}
	return 0;
}

#endif
