/*
 * What a hooked function does, by its row of the hook's table: the columns ROLE, ACCESS and SHAPE. A trace's
 * dictionary has them. For older traces, and for what other profilers recorded, they are looked up by the
 * function's name, here and nowhere else: the analyses ask for the fact.
 */
#ifndef TRACE_HOOK_FACTS_H
#define TRACE_HOOK_FACTS_H

#include "pm_format.h"

#include <stdint.h>

struct hook_facts {
	enum pm_role role;
	uint8_t access; /* enum pm_access, together */
	char shape[6];  /* the label of the tensor whose elements the work goes by; "": by none alone */
};

/* Those of a name as the hook writes it; of an unknown one role PM_ROLE_NONE. */
struct hook_facts hook_facts_of(const char *name);

/*
 * Those of a name as another profiler writes it: with another version at its end ("cudaMemcpy_v3020"), or
 * HIP's, whose functions have CUDA's names but for their first letters.
 */
struct hook_facts hook_facts_of_foreign(const char *name);

/* Those that a dictionary's words tell, "role:PRODUCT access:IN_PLACE shape:y"; words not known are left out.
 */
struct hook_facts hook_facts_read(const char *words);

const char *hook_role_name(enum pm_role role); /* as in the dictionary */

#endif
