/*
 * The canonical model of a run: what every reader fills and every analysis reads. Nothing here tells where
 * the data came from.
 *
 * All times are ns on one axis for the whole run. Tables are indexed by numbers that are valid for the whole
 * run; item 0 of operations, descriptors, strings, queues, communicators and graphs is empty and stands for
 * "none".
 * What a function does and what its values mean is said in the vocabulary of pm_format.h.
 */
#ifndef TIMELINE_TIMELINE_H
#define TIMELINE_TIMELINE_H

#include "base/memory.h"
#include "pm_format.h"
#include "trace/hook_facts.h"
#include "trace/trace_attempt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct timeline_label {
	enum pm_value type;
	const char *name;
};

/* What attributed the phase of device work, where the data themselves do (given_phase). */
enum timeline_attribution {
	TIMELINE_ATTRIBUTED_BY_NOTHING,
	TIMELINE_ATTRIBUTED_BY_LABEL,    /* an annotation, or the work is a labelled phase */
	TIMELINE_ATTRIBUTED_BY_OPERATOR, /* the operator that launched it */
	TIMELINE_ATTRIBUTED_BY_ORDER,    /* what was launched before and after it */
	TIMELINE_ATTRIBUTED_BY_NAME,     /* its own name */
	TIMELINE_ATTRIBUTED_COUNT,
};

struct timeline_function {
	const char *library;
	const char *name;
	enum pm_kind kind;
	struct hook_facts facts;
	uint32_t label_count;
	const struct timeline_label *labels;
	bool is_range; /* no function: ranges of the program's in which it waits for input (timeline_load.c)
			*/
	bool is_awaited; /* such a range whose batch each device waits for, in whichever thread it is */
};

/* A function with the values that describe the work. Numbers among the values are those of this timeline. */
struct timeline_operation {
	uint32_t function;
	uint32_t process;
	uint32_t base; /* the same without addresses (struct pm_entry_placed); 0: itself */
	const char *site;                  /* the call's stack, or NULL */
	const char *module;                /* what the program calls the layer, or NULL */
	const char *innermost, *outermost; /* frames of Python (struct pm_entry_python), or NULL */
	uint8_t python;                    /* enum trace_python: what is known of them */
	uint8_t given_phase; /* where the data themselves tell phase and layer: enum phase + 1; 0: they do not
			      */
	uint8_t given_part; /* enum phase_layer_column + 1: which of a layer's times it is; 0: by the phase */
	bool given_no_gradients; /* forward work while the framework records no gradients, as it does
				    elsewhere */
	uint32_t given_layer; /* string: name of the layer; 0: none */
	uint32_t value_count;
	const uint64_t *values;
};

struct timeline_descriptor {
	enum pm_descriptor_kind kind;
	uint32_t value_count;
	const int64_t *values;
};

struct timeline_queue {
	uint32_t process;
	int32_t device;
	uint64_t stream;
};

struct timeline_communicator {
	int32_t rank;
	int32_t size;
	int32_t device;
	uint64_t hash;
};

/* A captured graph: its operations that put work on a device, in order of capture. */
struct timeline_graph {
	uint32_t operation_count;
	const uint32_t *operations;
};

/*
 * A call on the host. `interval` is the first of its device intervals, which lie together in order of begin;
 * calls of one group share theirs. Kept small: there may be hundreds of millions.
 */
struct timeline_call {
	int64_t begin_ns;
	int64_t end_ns;
	uint32_t operation;
	uint32_t queue;
	uint32_t interval;
	uint32_t interval_count; /* 0: no device time is known */
	int32_t result;
	uint16_t thread; /* ordinal in its process */
	uint8_t flags;   /* PM_FLAG_*, TIMELINE_FLAG_* */
};

/*
 * The call stands for an operation of a captured graph: its times are those of the launch, which is the last
 * call before it without this flag. Without intervals it took no known time.
 */
#define TIMELINE_FLAG_REPLAYED 128

/* A launch whose work is known by the calls that stand for its operations: what intervals it has is the rest.
 */
#define TIMELINE_FLAG_DIVIDED 64

/* Work that began where device times were not taken (struct timeline_timed). Where it has no intervals it took no known
 * time. */
#define TIMELINE_FLAG_UNTIMED 32

/* Of a call without intervals: the host's time does not stand in for the device's. */
#define TIMELINE_FLAGS_NOT_HOST (TIMELINE_FLAG_REPLAYED | TIMELINE_FLAG_DIVIDED | TIMELINE_FLAG_UNTIMED)

struct timeline_interval {
	int64_t begin_ns;
	int64_t end_ns;
	uint32_t operation; /* of the activity (a kernel, a copy), or the call's */
	uint32_t queue;
};

/* What is known of few calls, in order of `call`. */
struct timeline_more {
	uint32_t call;
	uint32_t sequence; /* of its function on its communicator, from 1; 0: not known */
	uint8_t group;     /* ordinal of its group in the thread, 0: none, or not known */
};

/* A device address among the arguments of a launch, and the word of 8 bytes in which it stands. In order of
 * `call` and of `word`. */
struct timeline_touch {
	uint64_t address;
	uint32_t call;
	uint16_t word;
};

/* An address of a device, and what the program calls the layer that works with what lies there. */
struct timeline_place {
	uint64_t address;
	const char *module;
	size_t number; /* in the order in which they were named: the last of an address counts */
};

/* What a device is, as its driver says; 0: not known. */
struct timeline_device {
	int32_t device;   /* as the process numbers it */
	const char *name; /* "" where not known; in timeline_set_device NULL too */
	int32_t capability_major, capability_minor;
	int64_t multiprocessors;
	int64_t clock_khz;
	int64_t memory_clock_khz;
	int64_t memory_bus_bits;
	int64_t memory_bytes;
};

/* A part of the run that was recorded. */
struct timeline_window {
	int64_t begin_ns, end_ns;          /* end: INT64_MAX where the data ends with the window open */
	uint32_t iteration, iteration_end; /* counted by the hook, 0: not counted */
};

/* A part of the run in which device times were taken: calls that begin in it have them. */
struct timeline_timed {
	int64_t begin_ns, end_ns; /* INT64_MIN, INT64_MAX: from the start of the data, to its end */
};

/* A stretch of the run with recording or without, where they took turns: how long, and with how many calls. */
struct timeline_turn {
	bool is_recorded;
	double ns, calls;
};

/* A step as a marker of the program or its profiler gives it. */
struct timeline_step {
	int64_t begin_ns, end_ns;
	int64_t number; /* as the program counts; -1: unknown */
};

/* What a thread of the host was in, where another profiler recorded it: an operator of the framework, a
 * Python function, an annotation. Those of a thread lie one in another. */
struct timeline_frame {
	int64_t begin_ns, end_ns;
	uint32_t name;   /* string */
	uint16_t thread; /* ordinal in its process */
};

/*
 * What is missing between the first calls and the last: a trace of constant size has dropped it, or of a long
 * one it was not read (timeline_sample.h); then it is in several pieces, between the windows.
 */
struct timeline_gap {
	struct timeline_piece {
		int64_t end_ns;  /* the calls after it begin then, or later */
		uint64_t *calls; /* that are missing, as below */
	} *pieces;               /* in order of time, where it was not read; else NULL */
	size_t piece_count;
	uint64_t call_count; /* that are missing in the timeline */
	uint64_t *calls;     /* of them, by operation of the process, from 0; NULL: nothing is missing */
	int64_t begin_ns, end_ns; /* they began between these; 0: nothing is missing */
	bool moving;              /* read while it was written: some more may be missing */
	bool unread;              /* it is in the file */
};

/* One process. Its calls are contiguous in timeline.calls, and in order of begin. */
struct timeline_process {
	const char *path;
	const char *host;
	const char *program;  /* what it runs, of an interpreter the script: "train.py"; "": not known */
	const char *command;  /* "python3.11 train.py", with arguments where they are recorded; NULL: not known */
	const char *versions; /* "Python 3.12, CUPTI 13.0.1", of what is known; NULL: of another profiler */
	const char *recorder; /* NULL: our own hook. Another's device times are on the host's clock already */
	uint32_t pid;
	int32_t rank;
	int32_t world;
	int32_t given_rank; /* as the trace says; -1: it does not. `rank` is settled over all traces */
	enum pm_device_source device_source;
	bool hostless;         /* only work is known, not the calls: nor what the host did meanwhile */
	bool ended;            /* in an orderly way, as far as the data says */
	const char *trouble;   /* NULL, or a sentence */
	const char **warnings; /* what the recorder itself says of its settings and the like */
	size_t warning_count;
	const char *
		*assumed; /* names of kernels whose durations are assumptions of the device's, not times */
	size_t assumed_count;
	const char
		*modelled; /* the GPU whose times were calculated; NULL: a device's own, as far as is known */
	double time_scale; /* modelled times are time_scale times that GPU's own */
	struct trace_attempt attempt;  /* which start of its job it is of */
	double processor_wait; /* share of its threads' time, ready but without a processor; NaN: unknown */
	uint64_t lost_records;         /* known to be missing */
	uint64_t losses[PM_LOSS_ROOM]; /* what is, by enum pm_loss; all 0: the cause is not known */
	uint64_t refused_records;      /* without description */
	uint64_t unjoined_intervals;
	uint64_t lost_device_times;
	uint64_t lost_operations; /* calls of which less is known than should be */
	uint64_t unseen_calls;    /* functions that could not be watched */
	bool graphs_left;         /* captured graphs were too many to be divided into their operations */
	uint64_t own_ns, new_ns;  /* cost of the recording itself; 0: not known */
	bool new_on_processor;    /* of new_ns: while threads had a processor; else time that went by */
	uint64_t own_calls;       /* calls that it was spent on */
	int64_t run_ns;           /* from the start of recording to the end; 0: not known */
	struct {
		uint64_t count, reads, bytes, ns;
	} input;                                          /* of worker processes that only read */
	int64_t attributed_ns[TIMELINE_ATTRIBUTED_COUNT]; /* device time by what attributed its phase; all 0:
							     worked out */
	int64_t real_offset_ns;                           /* wall clock minus its monotonic clock */
	int64_t moved_ns; /* its times minus what its clock showed: timeline_move */
	size_t first_call, call_count;
	size_t first_interval, interval_count;
	uint32_t first_operation, operation_count; /* its operations are contiguous too */
	uint32_t first_queue, queue_count;
	uint32_t thread_count;
	const struct timeline_place *places; /* in order of `address`, each once */
	size_t place_count;
	uint32_t first_window, window_count; /* none: all of it was recorded */
	struct timeline_gap gap;             /* what is missing */
	struct timeline_timed *timed;        /* in order of time */
	size_t timed_count;                  /* 0: device times were taken in all of the run */
	int64_t pair_ns;                     /* what a pair of events takes by itself, subtracted from its interval */
	uint32_t timed_share;                /* percent of the time, after the first of them */
	const struct timeline_turn *turns;   /* in order of time */
	size_t turn_count;
	struct trace *trace; /* open as long as the timeline is, where not all of it was read; else NULL */
	struct timeline_device *devices;     /* those that the data tell something of */
	uint32_t device_count;
	size_t first_range;              /* timeline_range.h */
	uint32_t range_count;
	const struct trace_hlo *hlo;     /* programs that XLA compiled, NULL: none; with the timeline */
	struct timeline_timed *operators; /* when operators and nodes were recorded, in order of time */
	size_t operators_count;
	size_t first_frame, frame_count; /* of the threads that make calls, in order of begin */
	uint32_t first_step, step_count; /* in order of time, apart; none: nothing marks them */
};

struct timeline_range;
struct timeline_range_name;

struct timeline {
	struct timeline_process *processes;
	size_t process_count, process_room;
	struct timeline_function *functions;
	size_t function_count, function_room;
	struct timeline_operation *operations;
	size_t operation_count, operation_room;
	struct timeline_descriptor *descriptors;
	size_t descriptor_count, descriptor_room;
	const char **strings;
	size_t string_count, string_room;
	struct timeline_queue *queues;
	size_t queue_count, queue_room;
	struct timeline_communicator *communicators;
	size_t communicator_count, communicator_room;
	struct timeline_graph *graphs;
	size_t graph_count, graph_room;
	struct timeline_window *windows;
	size_t window_count, window_room;
	struct timeline_step *steps;
	size_t step_count, step_room;
	struct timeline_frame *frames;
	size_t frame_count, frame_room;
	struct timeline_range *ranges; /* timeline_range.h */
	size_t range_count, range_room;
	struct timeline_range_name *range_names;
	size_t range_name_count, range_name_room;
	struct timeline_more *more;
	size_t more_count, more_room;
	struct timeline_touch *touches; /* of calls with PM_FLAG_TOUCHES */
	size_t touch_count, touch_room;
	struct timeline_call *calls;
	size_t call_count, call_room;
	struct timeline_interval *intervals;
	size_t interval_count, interval_room;
	uint32_t host_count;
	size_t attempt_count; /* of the job, with the one that is here, which is the last; 0: not known */
	bool cut; /* a file breaks off that has its events in no order of time: they may be missing anywhere
		   */
	int64_t residual_ns; /* how far the hosts' clocks still disagree about a collective; 0 on one host */
	struct arena arena;
};

void timeline_init(struct timeline *timeline);
void timeline_free(struct timeline *timeline);

/*
 * To be called when all processes have been read: orders processes by rank, gives calls of one group their
 * common interval, and settles the clocks (devices against their host by causality, hosts among each other).
 */
void timeline_settle(struct timeline *timeline);

/* The call and the device interval with this number. */
static inline struct timeline_call timeline_call(const struct timeline *timeline, size_t number)
{
	return timeline->calls[number];
}

static inline struct timeline_interval timeline_interval(const struct timeline *timeline, size_t number)
{
	return timeline->intervals[number];
}

/* The same where a pointer is wanted: valid to the end of the block. */
#define TIMELINE_CALL(timeline, number) ((const struct timeline_call[]){timeline_call((timeline), (number))})
#define TIMELINE_INTERVAL(timeline, number) \
	((const struct timeline_interval[]){timeline_interval((timeline), (number))})

static inline const struct timeline_function *timeline_function(
	const struct timeline *timeline, const struct timeline_call *call)
{
	return &timeline->functions[timeline->operations[call->operation].function];
}

/* The operation without addresses: the same for all calls that do the same. */
static inline uint32_t timeline_base(const struct timeline *timeline, uint32_t operation)
{
	const uint32_t base = timeline->operations[operation].base;

	return base ? base : operation;
}

/* The value of an operation under a label; false if it has none. */
bool timeline_value(const struct timeline *timeline, const struct timeline_operation *operation,
	const char *label, uint64_t *value);

/* Of a copy; PM_DIRECTION_COUNT where the operation's values do not say. */
enum pm_direction timeline_direction(
	const struct timeline *timeline, const struct timeline_operation *operation);

/* Does a copy stay within the memory of one device? */
bool timeline_copies_within(const struct timeline *timeline, const struct timeline_operation *operation);

/* The graph that a launch refers to, or NULL. */
const struct timeline_graph *timeline_graph(
	const struct timeline *timeline, const struct timeline_operation *operation);

/*
 * Says what a device of a process is, for readers; the name is copied. What was said of it before is
 * replaced. And what is known of one: NULL, or valid until the next is set.
 */
void timeline_set_device(
	struct timeline *timeline, struct timeline_process *process, const struct timeline_device *device);
const struct timeline_device *timeline_device(const struct timeline_process *process, int32_t device);

/* What else is known of the call with this number; NULL: nothing. */
const struct timeline_more *timeline_more(const struct timeline *timeline, uint32_t call);

/* The device addresses among the arguments of the call with this number, or in the table that a copy brings;
 * none is known of a call without PM_FLAG_TOUCHES. */
const struct timeline_touch *timeline_touches(const struct timeline *timeline, uint32_t call, size_t *count);

/*
 * The layers that work with what lies at addresses of a process; `places` is put in order, each address once,
 * and stays with the timeline. And what the program calls the layer of one address, or NULL.
 */
void timeline_set_places(struct timeline_process *process, struct timeline_place *places, size_t count);
const char *timeline_module_at(const struct timeline_process *process, uint64_t address);

/* How long devices worked on the call: the sum over its intervals; 0 where none is known. */
static inline double timeline_device_ns(const struct timeline *timeline, const struct timeline_call *call)
{
	double sum_ns = 0;

	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval interval = timeline_interval(timeline, call->interval + i);

		sum_ns += (double)(interval.end_ns - interval.begin_ns);
	}
	return sum_ns;
}

/* When the last of the call's device work ended; the call itself where that is not known. */
int64_t timeline_call_end(const struct timeline *timeline, const struct timeline_call *call);

/* Index of the first call of the process that begins at or after `ns`, relative to the process's first call.
 */
size_t timeline_find(const struct timeline *timeline, const struct timeline_process *process, int64_t ns);

/*
 * When all calls of an operation began that a process has made on this device or with no queue, also those that
 * were not read: ns in rising order, which the caller frees; *count of them. Of a process that was read as a
 * whole none are given.
 */
int64_t *timeline_begins(
	const struct timeline_process *process, uint32_t operation, int32_t device, size_t *count);

/* How much of a stretch of time was recorded, in the process's windows. */
int64_t timeline_recorded(const struct timeline *timeline, const struct timeline_process *process,
	int64_t begin_ns, int64_t end_ns);

/* Whether the call has no device times because they were not taken. */
static inline bool timeline_is_untimed(const struct timeline_call *call)
{
	return call->interval_count == 0 && (call->flags & TIMELINE_FLAG_UNTIMED);
}

/* Does the function launch a captured graph? Others of its kind capture and prepare. */
bool timeline_is_launch(const struct timeline_function *function);

/* Does the call put work on a device? */
bool timeline_is_device_kind(enum pm_kind kind);

#endif
