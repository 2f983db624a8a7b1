/*
 * Reader of a trace file (pm_format.h). The file is mapped and walked once from end to end; every size and
 * number in it is checked before it is used, and what is read afterwards goes through the tables built then.
 * Nothing is believed: a number out of range, a text without end or a chunk beyond the file is a sentence,
 * not a crash.
 *
 * A file that breaks off or is damaged after its header is used as far as it goes; `trouble` says where it
 * stopped.
 *
 * Records stay in the file, and are unfolded one by one as a cursor comes by: those of version 1 are as they
 * are, of version 2 their slots are put together.
 */
#ifndef TRACE_TRACE_H
#define TRACE_TRACE_H

#include "base/memory.h"
#include "hook_facts.h"
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
	struct hook_facts facts;
	uint32_t label_count;
	const struct trace_label *labels;
};

/* Whether a function waits for work, and does not only ask how far it is, as a library's watchdog does all
 * the time. */
bool trace_waits(enum pm_kind kind, enum pm_role role);

struct trace_operation {
	uint32_t function; /* 0: no entry has this number; else a number of a function that is there */
	uint32_t base; /* a number that is there: the same without addresses, for most it is their own */
	uint32_t site;     /* number of a string that is there, or 0 */
	uint32_t module;   /* likewise: what the program calls the layer */
	uint32_t innermost, outermost; /* likewise: frames of Python (struct pm_entry_python) */
	enum trace_python {
		TRACE_PYTHON_UNKNOWN,
		TRACE_PYTHON_NONE,  /* it was first called by a thread that was not in Python */
		TRACE_PYTHON_FIRST, /* the frames are those of its first call */
		TRACE_PYTHON_OWN,   /* the innermost one is that of all its calls */
	} python;
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

/* A captured graph: its operations in order. Numbers of operations may be of any value. */
struct trace_graph {
	bool known;
	uint32_t node_count;
	const struct pm_graph_node *nodes;
};

/* Recording began (open) or ended. */
struct trace_window {
	bool open;
	uint32_t iteration; /* counted by the hook, 0: not counted */
	uint64_t ticks;
};

/* A distinct range (struct pm_entry_range). Numbers of strings may be of none. */
struct trace_range_name {
	bool known;
	enum pm_range_scope scope;
	uint32_t name, domain, module, line;
	uint32_t color;
};

/* Operators and nodes began to be recorded, or ended (struct pm_entry_range_window). */
struct trace_range_window {
	bool recorded;
	uint64_t ticks;
};

/* Device times began to be taken, or ended (struct pm_entry_device_window). */
struct trace_device_window {
	bool taken;
	uint32_t share; /* percent of the time */
	uint64_t ticks;
};

/* A stretch of the run with recording or without (struct pm_entry_turn). */
struct trace_turn {
	bool is_recorded;
	uint32_t calls;
	uint64_t ns;
};

/* What a device is; 0 and "": not said. */
struct trace_device {
	int32_t device; /* as the process numbers it */
	int32_t capability_major, capability_minor;
	int32_t multiprocessors;
	int32_t clock_khz, memory_clock_khz, memory_bus_bits;
	uint64_t memory_bytes;
	const char *name;
};

/* A list of addresses that several launches have, packed; in the file. */
struct trace_list {
	const unsigned char *bytes;
	uint32_t byte_count;
};

/* An address whose module is known: their numbers, which may be of none. */
struct trace_place {
	uint32_t address, module; /* of `addresses`; a string */
};

/* Records of one chunk, still in the file: `slot_count` slots, `header.record_bytes` apart. */
struct trace_chunk {
	uint64_t offset; /* of the first slot in the file */
	uint64_t slot_count;
	uint64_t base[2]; /* times are counted from: ticks, device ns */
	uint64_t sequence;
	uint32_t thread;
	uint32_t tid;
	uint64_t lost_records;     /* of the thread, when the chunk was opened */
	uint64_t counted_slots;    /* of a ring: the first so many are in its statistics too */
	/* when its first call begins; without any, and in version 1, when it was opened */
	uint64_t first_ticks;
	/* of all its records; least > greatest: none has any. Version 1: not looked for, all there can be */
	uint32_t least_correlation, greatest_correlation;
	struct pm_entered entered; /* the call that the thread is in; flags 0: not said */
};

/* A call or a device interval, of whatever version, with all that the file says of it. */
struct trace_record {
	uint64_t begin, end; /* of a call: ticks; of a device interval: ns */
	uint32_t op;
	uint32_t correlation;
	int32_t result;
	uint32_t sequence;
	uint16_t queue;
	uint8_t kind, flags, group;
	uint32_t touch_slots;         /* of a launch, and only with PM_FLAG_TOUCHES: for trace_touches */
	const unsigned char *touches; /* the first of them */
};

/* An instruction of a program that XLA compiled (struct pm_entry_hlo_instruction). Texts are in the file; numbers of
 * strings, modules and ids may be of none. */
struct trace_hlo_instruction {
	struct pm_entry_hlo_instruction fixed; /* counts are of ids that are there */
	const unsigned char *ids;              /* unaligned: of operands, then of computations */
	const char *name;
};

struct trace_hlo_schedule {
	struct pm_entry_hlo_schedule fixed;
	const unsigned char *instructions; /* unaligned: fixed.instruction_count ids */
};

struct trace_hlo_module {
	struct pm_entry_hlo_module fixed;
	const unsigned char *aliases; /* unaligned: fixed.alias_count numbers of 32 bits */
};

/* All programs of a trace, in order of the file. Who makes it says how long it lasts. */
struct trace_hlo {
	const struct trace_hlo_module *modules;
	const struct trace_hlo_instruction *instructions;
	const struct trace_hlo_schedule *schedules;
	size_t module_count, instruction_count, schedule_count;
	const char *const *strings; /* by number; NULL: there is none */
	size_t string_count;
};

/* A device address among a launch's arguments, and the word of 8 bytes in which it stands. */
struct trace_touch {
	uint64_t address;
	uint16_t word;
};

enum trace_step {
	TRACE_END,
	TRACE_RECORD,
	TRACE_REFUSED, /* its operation, queue or kind is not in the tables: nothing can be read of it */
};

/* A begin or an end of a range (struct pm_range), with its time whole. */
struct trace_range {
	uint64_t ticks;
	uint32_t range; /* a number that is there, or 0: an end */
	uint32_t sequence;
	uint16_t thread;
	uint8_t flags;
};

/* Where a reader is in a chunk. */
struct trace_cursor {
	const struct trace *trace;
	const unsigned char *slot;
	uint64_t left; /* slots */
	uint64_t base[2];
};

struct trace_pair {
	uint64_t ticks;
	uint64_t monotonic_ns;
	double slope; /* ns a tick, from here to the next pair; of the last: of all */
};

/* Statistics of some operations, unaligned in the file: of each two struct pm_statistics. */
struct trace_statistics_chunk {
	const unsigned char *data;
	uint64_t first; /* operation */
};

/* Of a trace of constant size (struct pm_ring): what is not there any more. trace/tally.h has what it
 * was. */
struct trace_ring {
	struct pm_ring state;
	const unsigned char *sketch; /* state.sketch_count struct pm_sketch */
	struct trace_statistics_chunk *statistics;
	size_t statistics_count, statistics_room;
	uint64_t
		whole_ticks; /* calls before it are there with their device intervals; <= state.first_ticks */
	bool unsketched;     /* quantiles are not known */
	bool moving;         /* read while it was written, too fast for the counts to be exact */
};

/* Tables are indexed by the number in the file; item 0 is empty, `*_count` is one more than the greatest
 * number. */
struct trace {
	const char *path;
	const unsigned char *data;
	uint64_t size_bytes;
	bool mapped;
	unsigned char *copy;     /* `data`, where that is no mapping */
	struct pm_header header; /* names are terminated */
	struct pm_footer footer;
	bool ended;                        /* there is a footer */
	uint64_t call_count, device_count; /* records of each kind */
	uint64_t record_count;             /* those, and those of no known kind */
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
	struct trace_graph *graphs;
	size_t graph_count;
	struct trace_window *windows; /* in order of the file */
	size_t window_count, window_room;
	struct trace_turn *turns; /* likewise */
	size_t turn_count, turn_room;
	struct trace_device_window *device_windows; /* likewise */
	size_t device_window_count, device_window_room;
	struct trace_range_name *range_names;
	size_t range_name_count;
	struct trace_range_window *range_windows; /* in order of the file */
	size_t range_window_count, range_window_room;
	uint64_t range_count; /* slots of ranges: begins and ends */
	uint64_t *addresses; /* device addresses among arguments */
	size_t address_count, address_room;
	struct trace_list *lists;
	size_t list_count;
	struct trace_place *places; /* in order of the file */
	size_t place_count, place_room;
	struct trace_device *devices; /* in order of the file */
	size_t device_entry_count, device_entry_room;
	struct trace_hlo_module *hlo_modules; /* here and below: in order of the file */
	size_t hlo_module_count, hlo_module_room;
	struct trace_hlo_instruction *hlo_instructions;
	size_t hlo_instruction_count, hlo_instruction_room;
	struct trace_hlo_schedule *hlo_schedules;
	size_t hlo_schedule_count, hlo_schedule_room;
	const char **notes;
	size_t note_count, note_room;
	struct trace_ring *ring; /* NULL: all of the records are there */
	struct trace_chunk *chunks;
	size_t chunk_count;
	struct trace_pair *pairs; /* by rising ticks, and rising time */
	size_t pair_count;
	/* NULL, or why reading stopped before the end of the file, or what was passed over */
	const char *trouble;
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

/*
 * The chunk's records are not needed for now: their pages leave memory, and come back from the file when they
 * are read again. So a walk over a file of any size takes the memory of a few chunks. Of no effect on bytes
 * that the caller keeps (trace_parse). Any thread, any number of times.
 */
void trace_release(const struct trace *trace, const struct trace_chunk *chunk);

/* To the chunk's first record; then record by record. What was opened must stay open. */
void trace_walk(struct trace_cursor *cursor, const struct trace *trace, const struct trace_chunk *chunk);
enum trace_step trace_next(struct trace_cursor *cursor, struct trace_record *record);

/*
 * The same for one of PM_RECORD_CALL and PM_RECORD_DEVICE: records of the other are passed over, which is
 * quicker than to look at them. Those of no known kind are refused with the calls.
 */
enum trace_step trace_next_of(
	struct trace_cursor *cursor, enum pm_record_kind kind, struct trace_record *record);

/* To the next begin or end of a range, records passed over. False: there is none. A begin with an unknown number is of
 * item 0, which is not `known`: it has to be opened all the same, as its end comes. *is_end tells them apart. */
bool trace_next_range(struct trace_cursor *cursor, struct trace_range *range, bool *is_end);

/* To the next call of one operation, with any addresses, of which begin and queue alone are given; never
 * TRACE_REFUSED. The operation is its own base. */
enum trace_step trace_next_call_of(
	struct trace_cursor *cursor, uint32_t operation, struct trace_record *record);

/*
 * Adds the calls of a chunk to `counts`, by operation, and those that are refused to *refused; quicker than to
 * walk. Returns how many were added.
 */
uint64_t trace_count_calls(
	const struct trace *trace, const struct trace_chunk *chunk, uint64_t *counts, uint64_t *refused);

/*
 * The device addresses among the arguments of a launch, in order of their words; touches has room for
 * PM_TOUCH_WORDS. Returns how many: what cannot be true ends the list. *whole: there are no more than these.
 */
size_t trace_touches(const struct trace *trace, const struct trace_record *record,
	struct trace_touch *touches, bool *whole);

/* Whether the record that the cursor gave last is in a ring's statistics as well: of a program killed while
 * it dropped the chunk. */
static inline bool trace_is_counted(const struct trace_cursor *cursor, const struct trace_chunk *chunk)
{
	return cursor->left >= chunk->slot_count - chunk->counted_slots;
}

/* Whether a call began while calls were dropped from a ring, or device intervals of calls: others of that
 * time are missing. */
bool trace_in_gap(const struct trace *trace, const struct trace_record *call);

#define TRACE_GREATEST_NS (INT64_MAX / 16) /* so that sums of a few times never overflow */

/* Ticks of a call as ns of CLOCK_MONOTONIC, in [0, TRACE_GREATEST_NS]. */
int64_t trace_ns(const struct trace *trace, uint64_t ticks);

/* The same, beginning at the clock pair that was used last, for times that are near each other: *near is 0 at
 * first. */
int64_t trace_ns_near(const struct trace *trace, uint64_t ticks, size_t *near);

/* The string with this number, or NULL. */
const char *trace_string(const struct trace *trace, uint64_t number);

/* The programs, as long as the trace is open (trace_hlo.c); a copy of them, as long as the arena is. */
struct trace_hlo trace_hlo(const struct trace *trace);
struct trace_hlo trace_hlo_copy(struct arena *arena, const struct trace_hlo *from);

const char *trace_kind_name(enum pm_kind kind);
const char *trace_value_name(enum pm_value value);
const char *trace_descriptor_name(enum pm_descriptor_kind kind);
const char *trace_direction_name(uint64_t direction); /* "H2D"; "?" for a number that is none */
const char *trace_type_name(uint64_t type); /* "f32"; "?" for a number that is no type */
uint64_t trace_type_bytes(uint64_t type);   /* 0: not known */

#endif
