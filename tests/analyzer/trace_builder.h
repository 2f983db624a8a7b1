/*
 * Traces made by tests: the writer's side of pm_format.h, in memory, with every value chosen by the test.
 * Entries and records are given in any order; builder_finish lays them out as one dictionary, chunks of
 * records by thread, a footer. Version 2, unless the test wants the first (header.version = 1).
 */
#ifndef TRACE_BUILDER_H
#define TRACE_BUILDER_H

#include "pm_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUILDER_THREADS 8

struct builder_bytes {
	unsigned char *data;
	size_t size, room;
};

/* A record of either version, before it is laid out. */
struct builder_record {
	uint64_t begin, end; /* absolute */
	uint32_t op, correlation;
	int32_t result;
	uint16_t queue;
	uint8_t kind, flags;
	uint32_t sequence;
	uint8_t group;
	uint8_t packed_count; /* bytes before it, in slots of struct pm_touch */
	uint8_t packed[40];
};

struct builder {
	struct pm_header header; /* changed freely before builder_finish; sizes are set there */
	const struct pm_live *live; /* the page of figures; NULL: none, as in an older file */
	struct pm_footer footer; /* likewise; its times and counts */
	struct builder_bytes dictionary;
	struct builder_bytes records[BUILDER_THREADS + 1]; /* by thread, from 1: struct builder_record */
	struct builder_bytes file;                         /* after builder_finish */
	uint32_t counts[32];                               /* numbers given so far, by enum pm_entry_type */
	uint32_t function_values[256];                     /* how many values, by function */
	uint32_t correlation;
	uint32_t records_per_chunk; /* 0: as many as the hook puts into one */
	bool closed;                /* records are left out: no window is open */
	bool untimed;               /* calls get no correlation, and device intervals are left out */
	bool killed;                /* no footer, and zeros after the last record */
};

void builder_init(struct builder *builder);
void builder_free(struct builder *builder);

/* Any entry: its fixed part, and what follows. */
void builder_entry(struct builder *builder, enum pm_entry_type type, const void *body, size_t size, const void *more,
	size_t more_size);

/* Each answers the number that the entry got. */
uint32_t builder_function(struct builder *builder, const char *text);
uint32_t builder_string(struct builder *builder, const char *text);
uint32_t builder_descriptor(
	struct builder *builder, enum pm_descriptor_kind kind, unsigned count, ...); /* int64_t */
uint32_t builder_queue(struct builder *builder, int32_t device, uint64_t stream);
uint32_t builder_communicator(
	struct builder *builder, int32_t rank, int32_t size, int32_t device, uint64_t hash);
uint32_t builder_operation(struct builder *builder, uint32_t function, uint32_t site, const uint64_t *values);
void builder_note(struct builder *builder, const char *text);
uint32_t builder_graph(struct builder *builder, const struct pm_graph_node *nodes, uint32_t count);
void builder_window(struct builder *builder, bool open, uint32_t iteration, uint64_t ticks);
/* Device times are taken from here on, or not any more: then `untimed` is set. */
void builder_device_window(struct builder *builder, bool taken, uint32_t share, uint64_t ticks);
void builder_device(struct builder *builder, const struct pm_entry_device *device, const char *name);
/* The addresses' numbers follow those given before. */
void builder_addresses(struct builder *builder, const uint64_t *addresses, uint32_t count);
/* A packed list of them that launches may name. */
uint32_t builder_touches(struct builder *builder, const uint8_t *bytes, uint32_t byte_count);
/* address: its number. */
void builder_address_module(struct builder *builder, uint32_t address, const char *name);
void builder_module(struct builder *builder, uint32_t operation, const char *name);
/* The operation is `base` with addresses. */
void builder_placed(struct builder *builder, uint32_t operation, uint32_t base);
/* Where in Python it was called (struct pm_entry_python); NULL: not known. */
void builder_python(struct builder *builder, uint32_t operation, uint32_t flags, const char *innermost,
	const char *outermost);

/* A distinct range; NULL: of no module, or line. */
uint32_t builder_range(struct builder *builder, enum pm_range_scope scope, const char *name, const char *module,
	const char *line);
/* One of NVTX, of a domain; color: ARGB, 0: none. */
uint32_t builder_nvtx(struct builder *builder, const char *domain, const char *name, uint32_t color);
/* The thread enters it (range 0: leaves the innermost). Version 3 alone has them. */
void builder_in_range(struct builder *builder, uint32_t thread, uint64_t ticks, uint32_t range, uint32_t sequence,
	uint16_t framework_thread);
/* Operators and nodes are recorded from here on, or no more. */
void builder_range_window(struct builder *builder, bool recorded, uint64_t ticks);

/* A call on a thread; with a device interval where device_end_ns is not 0. Its correlation is then
 * builder.correlation. */
void builder_call(struct builder *builder, uint32_t thread, uint64_t begin_ns, uint64_t end_ns,
	uint32_t operation, uint32_t queue, int32_t result, uint64_t device_begin_ns, uint64_t device_end_ns);
void builder_record(struct builder *builder, uint32_t thread, const struct builder_record *record);

void builder_finish(struct builder *builder);
void builder_save(struct builder *builder, const char *path); /* after builder_finish */

struct timeline;
/* Finishes the trace, which must have no trouble, makes a timeline of it that is settled, and frees the builder. */
void builder_timeline(struct builder *builder, struct timeline *timeline);

#endif
