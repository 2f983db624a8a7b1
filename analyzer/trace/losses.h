/*
 * What a trace says was not recorded, by cause (PM_FORMAT_LOSSES). A trace from before causes were counted,
 * or from another recorder, has none: all numbers are 0.
 */
#ifndef TRACE_LOSSES_H
#define TRACE_LOSSES_H

#include "base/memory.h"
#include "pm_format.h"

#include <cjson/cJSON.h>
#include <stdint.h>

uint64_t losses_of(const uint64_t losses[PM_LOSS_ROOM], enum pm_loss_class loss_class);

/* What is missing: "device times". */
const char *losses_class(enum pm_loss_class loss_class);

/* Of causes that this reader does not know. */
uint64_t losses_unknown(const uint64_t losses[PM_LOSS_ROOM]);

/* " (4 device reset, 2 ...)", most first; "" where no cause is known. */
const char *losses_causes(
	const uint64_t losses[PM_LOSS_ROOM], enum pm_loss_class loss_class, struct arena *arena);

/* Adds a list `losses` of what, cause and count; nothing when nothing was lost. */
void losses_json(const uint64_t losses[PM_LOSS_ROOM], cJSON *object);

#endif
