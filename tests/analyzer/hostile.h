/* Everything pmanalyze does with a trace, on bytes that may be anything. Used by test_hostile.c and
 * fuzz_trace.c. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdbool.h>
#include <stddef.h>

/* True: the bytes were analyzed and reported on; false: they were refused with a sentence. Ends the program
 * if the sentence is missing. */
bool hostile_run(const void *data, size_t size);

#endif
