/* Dumps that PyTorch writes as a pickle or as JSON, packed by gzip or not, as one value. */
#ifndef IMPORT_DUMP_FILE_H
#define IMPORT_DUMP_FILE_H

#include "base/pickle.h"
#include "importer.h"

/* Does the file begin as a pickle of protocols 2 to 5? */
bool dump_is_pickle(const struct importer_head *head);

/* `dump->root` is the value. NULL, or what is wrong, one sentence that is valid until the thread's next. The
 * caller frees it with pickle_free in any case. */
const char *dump_read(struct pickle *dump, const char *path);

/* The innermost of a list of frames that is the program's, neither PyTorch's nor Python's own: "train.py:31
 * in step";
 * "" where there is none. In the arena. */
const char *dump_place(struct arena *arena, const cJSON *frames);

/* A whole number of 0 or more, else `otherwise`. */
int64_t dump_number(const cJSON *object, const char *key, int64_t otherwise);

#endif
