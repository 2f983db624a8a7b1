/*
 * A function of the runtime or the driver as a row: its name, its parameters as pairs (type, name, ...), what
 * an injected failure answers, and the call in libsoftgpu that does the work. Most of them are no more than
 * that.
 *
 * A function that takes a stream or uses the default one has a twin, NAME_ptsz or NAME_ptds, which programs
 * built with per-thread default streams call. A flag of the thread says what NULL means as a stream
 * (sg_stream_of), so the twin is the function called with the flag set.
 */
#ifndef SG_SHELL_H
#define SG_SHELL_H

#include "pm_hooks.h"
#include "core/core.h"

/* enter: SG_ENTER or SG_DRIVER; answer: an expression of the parameters. */
#define SG_SHELL(result, name, pairs, enter, answer) \
	result name PM_PARAMETERS pairs \
	{ \
		enter; \
		return answer; \
	}

/* The twin of `name` with the suffix. */
#define SG_PER_THREAD(result, name, suffix, pairs) \
	__typeof__(name) name##suffix; \
	result name##suffix PM_PARAMETERS pairs \
	{ \
		const int sg_before = sg_self.null_is_per_thread; \
		result sg_answer; \
\
		sg_self.null_is_per_thread = 1; \
		sg_answer = name PM_ARGUMENTS pairs; \
		sg_self.null_is_per_thread = sg_before; \
		return sg_answer; \
	}

#endif
