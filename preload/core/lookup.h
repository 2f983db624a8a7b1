/*
 * Look-ups of functions: dlsym, and the driver's own.
 */
#ifndef LOOKUP_H
#define LOOKUP_H

#include <stdint.h>

/* The library holds its version after this text, for programs that read the file without loading it. */
#define PMH_VERSION_TEXT "libpmhook version "

/* Functions that a look-up found in another copy of their library than the wrappers know: left alone. */
uint64_t pmh_unseen_calls(void);
void pmh_look_up_forget(void);

#endif
