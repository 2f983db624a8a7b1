/* Reading small texts: settings, and files that people write. Needs nothing else of softgpu. */
#ifndef SG_TEXT_H
#define SG_TEXT_H

#include <stddef.h>

/*
 * A file's text, at most 256 KiB, to be freed. NULL with one sentence in error, which says that `expected`
 * was: where it cannot be read, is larger, or has bytes that no text has.
 */
char *sg_text_read(const char *path, const char *expected, char *error, size_t error_bytes);

/* strtod with a point whatever language the program has chosen. */
double sg_text_number(const char *text, char **end);

/* SOFTGPU_TIME_SCALE, 1 where it is not set; 0 where it is not a number from 0.001 to 1000000. */
double sg_text_time_scale(void);

#endif
