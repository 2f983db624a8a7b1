/* From a made-up training program to its analysis, without files. */
#ifndef MODEL_READ_H
#define MODEL_READ_H

#include "reconstruct/analysis.h"
#include "model.h"

/* Ends the program if a trace cannot be read. */
void model_read(const struct model *model, size_t skip, struct analysis *analysis);

#endif
