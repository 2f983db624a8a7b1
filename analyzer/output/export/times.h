/* Between the two sources of measured times: our own traces (times.c) and other profilers'
 * (times_imported.c). */
#ifndef EXPORT_TIMES_H
#define EXPORT_TIMES_H

#include "base/lookup.h"
#include "base/memory.h"
#include "timeline/timeline.h"

struct times_row {
	const char *text; /* kind, name and shape, a tab between them */
	double *durations;
	size_t count, room;
};

struct times_rows {
	const struct timeline *timeline;
	struct times_row *items;
	size_t count, room;
	struct lookup lookup;
	struct arena arena;
};

/* Is a copy one that a device makes? The host makes those of its own memory. */
static inline bool times_has_device(enum pm_direction direction)
{
	return direction == PM_DIRECTION_H2D || direction == PM_DIRECTION_D2H ||
	       direction == PM_DIRECTION_D2D;
}

/* One more duration of the operation that the text stands for; it is copied. */
void times_add(struct times_rows *rows, const char *text, double duration_ns);

/*
 * Kernels, copies and sets of the traces that the paths name, and matrix products by their operators' sizes.
 * What cannot be read again adds nothing. Texts are made in `arena`.
 */
void times_add_imported(struct times_rows *rows, char **paths, size_t path_count, struct arena *arena);

#endif
