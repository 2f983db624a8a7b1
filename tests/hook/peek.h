/*
 * A small reader of traces for the hook's own tests: it trusts the file, and shares nothing with the
 * analyzer.
 */
#ifndef PEEK_H
#define PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pm_format.h"

struct peek {
	const unsigned char *bytes;
	size_t size;
	const struct pm_header *header;
};

/* Maps a trace. Exits with a message when it is none. */
struct peek peek_open(const char *path);
void peek_close(struct peek *trace);

/* The only trace in a folder, "" when there is none; exits when there are several. */
const char *peek_only(const char *folder);

/* A record with what stands before it. Times are absolute: ticks of a call, nanoseconds of a device interval.
 */
struct peek_record {
	uint64_t begin, end;
	uint32_t op, correlation, sequence;
	int32_t result;
	uint16_t queue;
	uint8_t kind, flags, group;
};

/* Goes over all records; thread is the chunk's. */
void peek_records(const struct peek *trace,
	void (*f)(const struct peek_record *record, uint32_t thread, void *data), void *data);

/* The same with the starts and ends of ranges between them, at their time in ticks. */
void peek_records_and_ranges(const struct peek *trace,
	void (*f)(const struct peek_record *record, uint32_t thread, void *data),
	void (*ranges)(const struct pm_range *range, uint64_t ticks, uint32_t thread, void *data), void *data);

/* Goes over all dictionary entries of a type; body is what follows struct pm_entry. */
void peek_entries(const struct peek *trace, enum pm_entry_type type,
	void (*f)(const void *body, size_t body_bytes, void *data), void *data);

/* The entry of a type that begins with a number, or NULL: queues, descriptors, communicators, graphs. */
const void *peek_numbered(const struct peek *trace, enum pm_entry_type type, uint32_t number);

/* The operation with a number, or NULL; the name of its function; its string value, or "". */
const struct pm_entry_operation *peek_operation(const struct peek *trace, uint32_t number);
const char *peek_function(const struct peek *trace, uint32_t number);
const char *peek_string(const struct peek *trace, uint32_t number);

/* The footer, or NULL. */
const struct pm_footer *peek_footer(const struct peek *trace);

/* Records of calls of a function whose text contains ` name`, and the sum of their results. */
unsigned peek_calls(const struct peek *trace, const char *name, int64_t *result_sum);

#endif
