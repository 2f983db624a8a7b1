/*
 * The second form of the functions that take a stream or use the default one: name_ptsz and name_ptds, which
 * programs built with per-thread default streams call.
 *
 * The one idea: a flag of the thread says what NULL means as a stream (sg_stream_of), so the second form is
 * the first one called with the flag set.
 */
#ifndef SG_PER_THREAD_H
#define SG_PER_THREAD_H

#include "pm_hooks.h"
#include "core/core.h"

/* The form of `name` with the suffix; its parameters as pairs (type, name, ...). */
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
