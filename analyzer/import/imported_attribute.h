/*
 * Which phase and layer the device events of another profiler's trace belong to.
 *
 * The data themselves tell, by more or less: what the program or its framework says (annotations, labelled
 * phases); which operator of the framework launched the work, and that an operator of the backward pass
 * shares a number with its forward one; where between the passes it was launched; what the kernel is called.
 * The strongest that says anything decides (imported_attribute.c). What nothing explains stays unknown.
 */
#ifndef IMPORT_IMPORTED_ATTRIBUTE_H
#define IMPORT_IMPORTED_ATTRIBUTE_H

#include "imported.h"
#include "imported_range.h"
#include "timeline/timeline.h"

/*
 * By event of the file. phase: enum phase + 1, or 0: not known. part: enum phase_layer_column + 1, or 0: as
 * the phase says. layer: a string of imported->strings, or 0: none is known. The text of a layer has up to
 * five fields with tabs between: its name ("conv2"; the same in each iteration and different for each
 * layer), its sizes ("3x3x64->64"), the shape of its input ("32x64x56x56"), what the program calls it, and
 * how many parameters it has.
 */
struct imported_attribution {
	uint8_t *phase, *part;
	bool *no_gradients; /* forward work while the framework, which does otherwise, records no gradients */
	uint32_t *collective; /* of communication, by event: what the program's range around its launch calls
				 it; 0: none */
	uint32_t *layer;
	struct imported_ranges ranges;                       /* of the file */
	size_t count;                                        /* of entries */
	int64_t (*attributed_ns)[TIMELINE_ATTRIBUTED_COUNT]; /* by worker: device time by what attributed its
							      * phase
							      */
};

/*
 * Fills the entries of the worker's events; those of others stay as they are, so it can be called for one
 * worker after the other. `attribution` is zero at the first call. May add strings. It wants a file read with
 * IMPORTED_WANT_LABELS, IMPORTED_WANT_OPERATORS and IMPORTED_WANT_MODULES, and takes what is there.
 */
void imported_attribute(struct imported *imported, uint32_t worker, struct imported_attribution *attribution);
void imported_attribution_free(struct imported_attribution *attribution);

#endif
