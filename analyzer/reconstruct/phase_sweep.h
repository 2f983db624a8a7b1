/* Stretches of time with levels, and who has each instant. */
#ifndef RECONSTRUCT_PHASE_SWEEP_H
#define RECONSTRUCT_PHASE_SWEEP_H

#include <stddef.h>
#include <stdint.h>

/* A stretch of time with a level; low levels come first. */
struct phase_span {
	int64_t begin_ns, end_ns;
	uint32_t level;
};

struct phase_spans {
	struct phase_span *items; /* whoever has the spans frees them */
	size_t count, room;
};

/* Nothing is added for a stretch without length. */
void phase_add_span(struct phase_spans *spans, int64_t begin_ns, int64_t end_ns, uint32_t level);

/* Leaves out what has ended by then; the order of the others stays. */
void phase_drop_spans(struct phase_spans *spans, int64_t ns);

#define PHASE_LEVELS 16

/*
 * For each of the windows (in order, not overlapping) how long each level was the lowest one present; level
 * PHASE_LEVELS stands for none. result[window * (PHASE_LEVELS + 1) + level]. Spans are sorted in place.
 */
void phase_sweep(struct phase_span *spans, size_t span_count, const struct phase_span *windows,
	size_t window_count, int64_t *result);

/* The window cut into stretches, as long as possible and in order of time, each with the lowest level present
 * or PHASE_LEVELS. They take the place of what was in `stretches`. */
void phase_cut(struct phase_span *spans, size_t span_count, const struct phase_span *window,
	struct phase_spans *stretches);

/* Length of the union of the spans, which are sorted in place. */
int64_t phase_union(struct phase_span *spans, size_t count);

#endif
