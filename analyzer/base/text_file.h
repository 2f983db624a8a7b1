/* Text files as a whole, within the limits of readers (limit.h). */
#ifndef BASE_TEXT_FILE_H
#define BASE_TEXT_FILE_H

#include <cjson/cJSON.h>
#include <stddef.h>

/*
 * Each that reads answers NULL, or what is wrong: one sentence that begins with the path and is valid until
 * the thread's next call. The path "-" is standard input.
 */

/* All of it, with a zero after, which the caller frees. */
const char *text_file_read(const char *path, char **text, size_t *size);

/* A JSON value, which the caller deletes. */
const char *text_file_json(const char *path, cJSON **root);

/* The same of a text that is in memory, while the thread reads the file that it is of (limit.h). */
const char *text_file_parse(const char *path, const char *text, cJSON **root);

/* A member that is text; "" where there is none. It lives as long as the object. */
const char *text_file_word(const cJSON *object, const char *key);

/* Gives each line to `take`, which answers NULL or what is wrong with it; it may change the line. */
const char *text_file_lines(const char *path, const char *(*take)(void *context, char *line), void *context);

#endif
