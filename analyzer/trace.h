/*
 * Reader of a trace file (pm_format.h). The file is mapped and walked once from end to end; every size and
 * number in it is checked before it is used, and what is read afterwards goes through the tables built then.
 * Nothing is believed: a number out of range, a text without end or a chunk beyond the file is a sentence,
 * not a crash.
 *
 * A file that breaks off or is damaged behind its header is used as far as it goes; `trouble` says where it
 * stopped.
 */
#ifndef TRACE_H
#define TRACE_H

#include "mem.h"
#include "pm_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_label {
	enum pm_value type; /* PM_VALUE_NONE: a type this reader does not know */
	const char *name;
};

struct trace_function {
	const char *library; /* NULL: no entry has this number */
	const char *name;
	enum pm_kind kind;
	uint32_t label_count;
	const struct trace_label *labels;
};

struct trace_operation {
	uint32_t function; /* 0: no entry has this number; else a number of a function that is there */
	uint32_t site;     /* number of a string that is there, or 0 */
	uint32_t value_count;
	const uint64_t *values;
};

struct trace_descriptor {
	enum pm_descriptor_kind kind;
	bool known;
	uint16_t value_count;
	const int64_t *values;
};

struct trace_queue {
	bool known;
	int32_t device;
	uint64_t stream;
};

struct trace_communicator {
	bool known;
	int32_t rank;
	int32_t size;
	int32_t device;
	uint64_t hash;
};

/* Records of one chunk, still in the file: `record_count` of them, `trace.record_bytes` apart. */
struct trace_chunk {
	uint64_t offset; /* of the first record in the file */
	uint64_t record_count;
	uint64_t sequence;
	uint32_t thread;
	uint32_t tid;
	uint64_t lost_records; /* of the thread, when the chunk was opened */
};

struct trace_pair {
	uint64_t ticks;
	uint64_t monotonic_ns;
};

/* Tables are indexed by the number in the file; item 0 is empty, `*_count` is one more than the greatest
 * number. */
struct trace {
	const char *path;
	const unsigned char *data;
	uint64_t size_bytes;
	bool mapped;
	struct pm_header header; /* names are terminated */
	struct pm_footer footer;
	bool ended; /* there is a footer */
	uint64_t record_count;
	struct trace_function *functions;
	size_t function_count;
	struct trace_operation *operations;
	size_t operation_count;
	struct trace_descriptor *descriptors;
	size_t descriptor_count;
	const char **strings;
	size_t string_count;
	struct trace_queue *queues;
	size_t queue_count;
	struct trace_communicator *communicators;
	size_t communicator_count;
	const char **notes;
	size_t note_count;
	struct trace_chunk *chunks;
	size_t chunk_count;
	struct trace_pair *pairs; /* by rising ticks, and rising time */
	size_t pair_count;
	const char *
		trouble; /* NULL, or why reading stopped before the end of the file or what was passed over */
	char error[512]; /* after a failure: the sentence */
	struct arena arena;
};

/*
 * Reads the tables of a trace. 0, or -1 with a sentence in `error`. A trace that was opened, also one that
 * could not be, is closed with trace_close. trace_parse takes the bytes from the caller, who keeps them until
 * then.
 */
int trace_open(struct trace *trace, const char *path);
int trace_parse(struct trace *trace, const char *path, const void *data, size_t size_bytes);
void trace_close(struct trace *trace);

/* The record with this index in the chunk. False: its operation, queue or kind is not in the tables: pass
 * over it. */
bool trace_record(
	const struct trace *trace, const struct trace_chunk *chunk, uint64_t index, struct pm_record *record);

/* Ticks of a call as ns of CLOCK_MONOTONIC, in [0, INT64_MAX/16]. */
int64_t trace_ns(const struct trace *trace, uint64_t ticks);

/* The string with this number, or NULL. */
const char *trace_string(const struct trace *trace, uint64_t number);

const char *trace_kind_name(enum pm_kind kind);
const char *trace_value_name(enum pm_value value);
const char *trace_descriptor_name(enum pm_descriptor_kind kind);
const char *trace_type_name(uint64_t type); /* "f32"; "?" for a number that is no type */
uint64_t trace_type_bytes(uint64_t type);   /* 0: not known */

#endif
