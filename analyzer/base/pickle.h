/*
 * Python's pickles as data: dictionaries, lists, tuples, numbers and texts, as a JSON value. Nothing that a
 * pickle asks to be called is called: what would be made by a call is what the call would get.
 *
 * Protocols 2 to 5, as PyTorch and Python write them. What stands twice in a pickle is in the value once, and
 * the other places refer to it.
 */
#ifndef BASE_PICKLE_H
#define BASE_PICKLE_H

#include <cjson/cJSON.h>
#include <stddef.h>

struct pickle {
	cJSON *root;  /* tuples and sets are arrays; keys that are numbers are texts */
	cJSON *spare; /* what only others refer to */
};

/* NULL, or what is wrong: one sentence that begins with the path and is valid until the thread's next call.
 * The caller frees in any case. The time and memory are those of the thread's limits (limit.h). */
const char *pickle_read(struct pickle *pickle, const char *path, const void *bytes, size_t count);
void pickle_free(struct pickle *pickle);

#endif
