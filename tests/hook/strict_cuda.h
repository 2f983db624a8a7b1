/* The CUDA of strict_cuda.c. */
#ifndef STRICT_CUDA_H
#define STRICT_CUDA_H

#include <stdint.h>

#include "pm_abi.h"
#include "pm_hooks.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#define PM_NOT_HOOKED(library, result, name, pairs) result name PM_PARAMETERS pairs;
#include "pm_hooks.def"

#define STRICT_DEVICES 128

/* Nothing that was submitted is done. */
extern int strict_hold;

/* The device that was current at the last work. */
extern int strict_worked_on;

/* What a call that is not allowed does to a capture. */
void strict_break_capture(cudaStream_t stream);

#endif
