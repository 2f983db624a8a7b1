/*
 * A pipeline's bubble: the time that a step's stages neither compute nor move data, because what they work on
 * has not come. Beside it the share that a schedule of p stages with m micro-batches cannot avoid where all
 * stages take equally long: (p - 1) / (m + p - 1) (GPipe, and one forward, one backward).
 */
#ifndef ANALYSES_PIPELINE_H
#define ANALYSES_PIPELINE_H

#include "reconstruct/analysis.h"

struct pipeline {
	size_t stages;  /* workers that messages lead through, one after the other; 0: no such chain */
	size_t batches; /* messages of a step from one stage to the next */
	double bubble;  /* share of a step, mean of the workers; NaN: not known */
	double formula; /* NaN likewise */
};

void pipeline_find(const struct analysis *analysis, struct pipeline *pipeline);

/* A sentence, in the arena; "": no pipeline. */
const char *pipeline_text(const struct pipeline *pipeline, struct arena *arena);

#endif
