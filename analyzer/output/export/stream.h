/*
 * A file that an export is written to, in a stream: whatever its length, it takes a fixed buffer. Gzip where
 * the name ends in .gz. The first error is kept and ends all writing; export_close tells it.
 */
#ifndef OUTPUT_EXPORT_STREAM_H
#define OUTPUT_EXPORT_STREAM_H

#include "base/output.h"

#include <stddef.h>

struct export_out {
	bool plain; /* standard output, not a file */
	struct pm_output output;
	int file;
	struct gzFile_s *gzip; /* NULL: plain */
	int error;             /* 0, or errno of what went wrong first */
	size_t used;
	char *buffer;
};

/* 0 or -errno. export_close follows only after 0. */
int export_open(struct export_out *out, const char *path);

/* 0 or -errno. After an error the file that was there stays: half an export looks like a whole one. */
int export_close(struct export_out *out);

void export_bytes(struct export_out *out, const char *bytes, size_t count);
__attribute__((format(printf, 2, 3))) void export_format(struct export_out *out, const char *format, ...);

/* The text as a JSON string, or as a part of one without quotes. What is not UTF-8 becomes U+FFFD. */
void export_string(struct export_out *out, const char *text);
void export_text(struct export_out *out, const char *text);

#endif
