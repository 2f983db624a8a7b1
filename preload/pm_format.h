/*
 * The trace file: what libpmhook.so writes and pmanalyze reads. The only header the two share.
 *
 *     file        = header, chunk, chunk, ...           one file per process
 *     header      = struct pm_header, zeros up to header_bytes; at PM_LIVE_OFFSET struct pm_live
 *     chunk       = struct pm_chunk, payload            chunk_bytes in all; chunks lie end to end
 *     dictionary  = entry, entry, ...                   payload of a PM_CHUNK_DICTIONARY
 *     entry       = struct pm_entry, body, zeros        entry_bytes in all, a multiple of 8
 *     records     = slot, slot, ...                     payload of a PM_CHUNK_RECORDS, one thread's, in order of end
 *     slot        = struct pm_record, pm_more, pm_base, pm_touch, pm_range
 *                                                       16 bytes each, told apart by their `kind`
 *     footer      = struct pm_footer                    payload of a PM_CHUNK_FOOTER, the last chunk
 *     ring        = struct pm_ring, pm_sketch, ...      payload of a PM_CHUNK_RING, of a file of constant size
 *     statistics  = struct pm_statistics, ...           payload of a PM_CHUNK_STATISTICS, likewise
 *
 * The trace brings its own vocabulary: an entry names each hooked function, each distinct operation (a
 * function with the values that describe the work; addresses only in samples, see struct pm_entry_placed), each
 * descriptor, queue, communicator, graph and string, once, before the first record that uses its number. A call
 * is then one small record. So a reader needs no table that matches the writer's version. Numbers begin at 1; 0
 * means none.
 *
 * All is little-endian with natural alignment and no padding. A reader steps by the sizes in the file:
 * fields may be added at the end of a struct without a new version. The version grows only when a meaning changes:
 *
 *     1   first: records of 32 bytes (struct pm_record_1), one per call or device interval
 *     2   records of 16 bytes, what few of them need in a slot before (pm_more), time told from a base (pm_base)
 *     3   before launches of kernels, now and then, the device addresses among their arguments (pm_touch)
 *     4   a ring: chunks of records are used again, and statistics tell what they held (pm_ring). Files that are no
 *         ring are of version 3
 *
 * Of the same versions some have ranges (pm_range), which say what calls were made in, beside the records.
 *
 * The file is written through shared mappings, which begin and end at multiples of 64 KiB whatever the machine's pages
 * are; chunks need not, so a file is the same on each. It is valid at every instant. A process that was killed
 * leaves no footer; then in each dictionary `used_bytes` tells how far entries are complete, in each records
 * chunk the first slot of kind 0 is the end, and a chunk magic of 0 is the end of the file. In the slot that is the
 * end stands the call that its thread has entered and not left, if PM_FLAG_ENTERED says so (pm_entered).
 */
#ifndef PM_FORMAT_H
#define PM_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define PM_MAGIC "pmtrace" /* with its terminating zero: 8 bytes */
#define PM_VERSION 4      /* of a ring */
#define PM_VERSION_WHOLE 3 /* of a file that keeps all its records */
#define PM_BYTE_ORDER 0x01020304u
#define PM_CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */

/* What `ticks` are, in records and clock pairs. */
enum pm_clock {
	PM_CLOCK_MONOTONIC = 1, /* nanoseconds of CLOCK_MONOTONIC */
	PM_CLOCK_TSC = 2,       /* the processor's invariant time-stamp counter: linear between clock pairs */
};

#define PM_LOSS_ROOM 48 /* causes of loss that a header has room for */

struct pm_header {
	char magic[8];
	uint32_t byte_order; /* PM_BYTE_ORDER as the writer stores it */
	uint16_t version;
	uint16_t record_bytes; /* of each record in this file */
	uint32_t header_bytes; /* the first chunk begins here */
	uint32_t chunk_header_bytes;
	uint32_t clock; /* enum pm_clock */
	uint32_t pid;
	int32_t rank;           /* -1: not known. From NCCL's init, else from the launcher's variables */
	int32_t world;          /* number of ranks, -1: not known */
	int32_t local_rank;     /* on this host, -1: not known */
	uint32_t device_source; /* enum pm_device_source */
	uint64_t ticks;         /* the first clock pair, three readings taken together */
	uint64_t monotonic_ns;
	uint64_t real_ns;
	uint64_t lost_records; /* so far, all threads; kept current */
	char host[64];         /* names are cut, and always terminated */
	char program[64];
	/* since version 2: file input of worker processes that make no device call and so leave no trace;
	 * kept current */
	uint64_t worker_count; /* processes that read */
	uint64_t worker_reads;
	uint64_t worker_bytes;
	uint64_t worker_ns; /* in reads, summed over the workers */
	/* since then: what was not recorded, by enum pm_loss; kept current */
	uint64_t losses[PM_LOSS_ROOM];
};

/*
 * What the process does now, in the header's page: whoever watches many processes reads one page of each. The hook finds
 * steps by an operation that repeats once in each period of the calls of the thread that launched work first; readers of
 * the whole trace know better, and say so. Without the magic there is none: an older file.
 */
#define PM_LIVE_OFFSET 2048
#define PM_LIVE_MAGIC 0x316576696c6d7000u
#define PM_LIVE_STEPS 32
struct pm_live {
	uint64_t magic;
	uint64_t seen_ns;  /* CLOCK_MONOTONIC: not later than PMH_COST_EVERY calls of each thread ago; 0: no call yet */
	uint64_t calls;    /* of all threads, but for fewer than PMH_COST_EVERY of each */
	uint64_t communications; /* calls of the kind COMM that have returned */
	uint64_t ended_ns; /* CLOCK_MONOTONIC: the trace was closed; 0: it goes on, or was killed */
	uint64_t device_ns[3]; /* sums of the intervals that have come in: of kernels, of communication, of copies */
	/* of the steps; odd `changes`: they are being written. `steps` are those seen since the period was found, in all */
	uint64_t changes;
	uint64_t steps;
	uint64_t timed_steps;  /* of these, those in all of which device times were taken */
	uint64_t last_step_ns; /* CLOCK_MONOTONIC: when the last one ended; 0: none has */
	uint64_t step_ns[PM_LIVE_STEPS]; /* how long they took: number n at n % PM_LIVE_STEPS, from 0; of steps of less than some tens
					    of microseconds the mean of several */
};

enum pm_device_source {
	PM_DEVICE_NONE = 0,   /* host times only */
	PM_DEVICE_EVENTS = 1, /* pairs of CUDA events around each call */
	PM_DEVICE_CUPTI = 2,  /* CUPTI activity records: each kernel, copy and set by itself */
};

enum pm_chunk_kind {
	PM_CHUNK_DICTIONARY = 1,
	PM_CHUNK_RECORDS = 2,
	PM_CHUNK_FOOTER = 3,
	PM_CHUNK_RING = 4, /* the first chunk of a ring's file */
	PM_CHUNK_STATISTICS = 5,
	PM_CHUNK_FREE = 6, /* of a ring: for records, and holds none now */
};

struct pm_chunk {
	uint32_t magic;
	uint32_t chunk_bytes; /* with this header: the next chunk begins so far on. Becomes less when the thread has ended and
				 another thread's chunk begins in what it left empty */
	uint32_t used_bytes;  /* of a dictionary's payload or the footer's; 0 in records */
	uint16_t kind;        /* enum pm_chunk_kind */
	uint16_t reserved;
	uint32_t thread;       /* ordinal of the thread in the process, from 1 */
	uint32_t tid;          /* the kernel's number of it */
	uint64_t sequence;     /* of this chunk among its thread's, from 0 */
	uint64_t lost_records; /* of this thread, in all, when the chunk was opened */
	uint64_t ticks;        /* a clock pair, taken when the chunk was opened */
	uint64_t monotonic_ns;
	uint64_t real_ns;
};

/*
 * A record. A call's start and end are ticks on the calling thread. A device interval's are nanoseconds of
 * the device's clock, moved by a constant per device so that they lie near CLOCK_MONOTONIC. Causality bounds
 * what is left of the offset, and readers may use it: an interval begins after the thread's previous call has
 * ended (its first event is recorded just before the call's start is read), and no synchronisation ends
 * before the work it waits for. The work itself does not begin before its call.
 *
 * Both count from a base, one for ticks and one for device nanoseconds: the chunk's `ticks` and
 * `monotonic_ns` at first, then what the last pm_base slot of that clock says.
 */
#define PM_FORMAT_RECORD(X) \
	X(uint32_t, begin)    /* since the base */ \
	X(uint32_t, duration) /* with pm_more.duration_high above it */ \
	X(uint32_t, op)       /* number of the operation */ \
	X(uint16_t, queue)    /* number of the queue, 0: none */ \
	X(uint8_t, kind)      /* enum pm_record_kind, written last */ \
	X(uint8_t, flags)     /* PM_FLAG_* */

/* What few records need: stands before the record it belongs to. Without it all of it is 0. */
#define PM_FORMAT_MORE(X) \
	X(uint32_t, correlation) /* joins a call to its device intervals, unique in the process; 0: none */ \
	X(int32_t, result)       /* the call's status; READ: bytes (INT32_MAX: or more), -1 failed */ \
	X(uint32_t, \
		sequence) /* COMM: ordinal of the call among those of its function and communicator, from 1; \
			     a device interval of a graph launch: ordinal of the graph's node, from 1 */ \
	X(uint16_t, duration_high) /* bits 32 to 47 of the duration */ \
	X(uint8_t, kind)           /* PM_RECORD_MORE */ \
	X(uint8_t, group) /* COMM in an NCCL group: ordinal of the group in the thread, modulo 255, from 1 \
			   */

#define PM_FORMAT_BASE(X) \
	X(uint64_t, base) \
	X(uint32_t, clock) /* 0: ticks, 1: device nanoseconds */ \
	X(uint16_t, reserved) \
	X(uint8_t, kind) /* PM_RECORD_BASE */ \
	X(uint8_t, reserved_2)

/*
 * Of the device addresses among a launch's arguments, some bytes; all that stand before its record, end to end, are a
 * list of varints (7 bits a byte, low bits first, the high bit: more follows). By the two lowest bits of one, with n above
 * them:
 *
 *     0   an address: n is the difference of its number from that of the address before it, 0 before the first,
 *         folded (0, -1, 1, -2, ...). It stands in the next word of the arguments
 *     1   n addresses more, each with the difference of the last one, in the words that follow
 *     2   n words are passed over
 *     3   n = 0: the list ends here though there is more, as it was too long. Else this is all of it, and stands for the
 *         bytes of PM_ENTRY_TOUCHES n, in which no other entry is named: kernels over many tensors are launched with the
 *         same list again and again
 *
 * The words are the arguments as the kernel sees them, by 8 bytes; the addresses are those of PM_ENTRY_ADDRESSES. They
 * belong to no operation, so that a kernel which works on other memory is the same operation.
 */
#define PM_FORMAT_TOUCH(X) \
	X(uint64_t, bytes_0) \
	X(uint32_t, bytes_8) \
	X(uint16_t, bytes_12) \
	X(uint8_t, kind) /* PM_RECORD_TOUCH */ \
	X(uint8_t, used) /* bytes, up to PM_TOUCH_BYTES */

/*
 * A range of what the framework, a library or the program says that its thread is in (PM_ENTRY_RANGE): it begins, or
 * ends, between the records before and after this slot. Those of a thread lie one in another: a begin opens one in the
 * innermost that is open, an end closes that one, and an end without a begin closes nothing. Of ranges that overlap
 * (PM_RANGE_LOOSE) begin and end have the same `sequence`, and say nothing of where the thread is.
 */
#define PM_FORMAT_RANGE(X) \
	X(uint32_t, ticks)    /* since the base of ticks */ \
	X(uint32_t, range)    /* number of a PM_ENTRY_RANGE; 0: an end */ \
	X(uint32_t, sequence) /* low 32 bits of autograd's number, of a node, and of an operator that of the next node \
				 its thread makes; PM_RANGE_NO_SEQUENCE: none, gradients are not recorded */ \
	X(uint16_t, thread)   /* low 16 bits of PyTorch's number of the thread: of a node that in which its operator \
				 ran, else this one; 0: not known */ \
	X(uint8_t, kind)      /* PM_RECORD_RANGE */ \
	X(uint8_t, flags)     /* PM_RANGE_* */
#define PM_RANGE_NO_SEQUENCE UINT32_MAX
#define PM_RANGE_LOOSE 1

/*
 * A call that its thread is in: the slot after the last record, where the call's record will stand when it has
 * returned; then nothing is left of it. Readers of records end there, as the kind is 0. Without it, nothing is known of
 * the thread: the file has no such slots, or the thread is in no hooked call, in one that has none (file input), or
 * could not be given room. Whoever reads while the program runs may find the words of two states.
 */
#define PM_FORMAT_ENTERED(X) \
	X(uint64_t, begin) /* ticks, counted from no base */ \
	X(uint32_t, op) \
	X(uint16_t, queue) \
	X(uint8_t, kind)  /* 0 */ \
	X(uint8_t, flags) /* PM_FLAG_ENTERED, with those of the call */

#define PM_FIELD(type, name) type name;
struct pm_record {
	PM_FORMAT_RECORD(PM_FIELD)
};
struct pm_more {
	PM_FORMAT_MORE(PM_FIELD)
};
struct pm_base {
	PM_FORMAT_BASE(PM_FIELD)
};
struct pm_touch {
	PM_FORMAT_TOUCH(PM_FIELD)
};
struct pm_range {
	PM_FORMAT_RANGE(PM_FIELD)
};
struct pm_entered {
	PM_FORMAT_ENTERED(PM_FIELD)
};
#define PM_TOUCH_BYTES 14
#define PM_TOUCH_WORDS 4096 /* of 8 bytes: no kernel has more arguments */
#undef PM_FIELD

enum pm_record_kind {
	PM_RECORD_CALL = 1,
	PM_RECORD_DEVICE = 2,
	PM_RECORD_MORE = 3,
	PM_RECORD_BASE = 4,
	PM_RECORD_TOUCH = 5,
	PM_RECORD_RANGE = 6,
};

/* A record of version 1. */
struct pm_record_1 {
	uint64_t begin, end; /* absolute */
	uint32_t op, correlation;
	int32_t result;
	uint16_t queue;
	uint8_t kind, flags; /* PM_RECORD_CALL or PM_RECORD_DEVICE */
};

#define PM_FLAG_GROUP 1    /* inside ncclGroupStart/End; its device interval is the group's on that queue */
#define PM_FLAG_CAPTURED 2 /* went into a graph that was being captured: no device time */
/*
 * A device interval of one activity (CUPTI): its operation is that of the activity (a function of the library
 * "cupti" with the kernel's name or the copy's size), not of the call, which the correlation tells. A call
 * has any number of them. Without the flag there is at most one, and its operation is the call's.
 */
#define PM_FLAG_ACTIVITY 4
/*
 * A call that did not return: it was left by an exception, by longjmp, or with the end of its thread. Its end
 * is not known, and stands as its start; its result is not known either; the work that it submitted has no
 * device time.
 */
#define PM_FLAG_LEFT 8
#define PM_RESULT_LEFT INT32_MIN
/*
 * A launch whose arguments were looked at: the slots before it say which device addresses are among them, and no
 * slot that none is. Without the flag that is not known. Of a copy to the device the same says which device addresses
 * are in what it copies: kernels that work on many tensors are given such a table.
 */
#define PM_FLAG_TOUCHES 16
#define PM_FLAG_ENTERED 32 /* of a slot of kind 0 alone */

enum pm_entry_type {
	PM_ENTRY_FUNCTION = 1,
	PM_ENTRY_OPERATION = 2,
	PM_ENTRY_DESCRIPTOR = 3,
	PM_ENTRY_STRING = 4,
	PM_ENTRY_QUEUE = 5,
	PM_ENTRY_COMMUNICATOR = 6,
	PM_ENTRY_NOTE = 7,
	PM_ENTRY_GRAPH = 8,
	PM_ENTRY_WINDOW = 9,
	PM_ENTRY_MODULE = 10,
	PM_ENTRY_DEVICE = 11,
	PM_ENTRY_ADDRESSES = 12,
	PM_ENTRY_ADDRESS_MODULE = 13,
	PM_ENTRY_TOUCHES = 14,
	PM_ENTRY_PYTHON = 15,
	PM_ENTRY_PLACED = 16,
	PM_ENTRY_TURN = 17,
	PM_ENTRY_DEVICE_WINDOW = 18,
	PM_ENTRY_RANGE = 19,
	PM_ENTRY_RANGE_WINDOW = 20,
	PM_ENTRY_HLO_MODULE = 21,
	PM_ENTRY_HLO_INSTRUCTION = 22,
	PM_ENTRY_HLO_SCHEDULE = 23,
};

struct pm_entry {
	uint32_t entry_bytes;
	uint16_t type; /* enum pm_entry_type; readers step over types they do not know */
	uint16_t reserved;
};

/*
 * A hooked function, named when first used. The text has four words and more, separated by blanks, and ends
 * with zero: library, kind (a name of PM_FORMAT_KINDS), name, and for each value of its operations
 * `type:label` (type a name of PM_FORMAT_VALUES). For example: "cudnn FORWARD cudnnConvolutionForward
 * tensor:x reads:x_ptr ... int:algo".
 *
 * After it a second text, which ends with zero too, says what the function does: `role:NAME` (PM_FORMAT_ROLES), then
 * `access:NAME` (PM_FORMAT_ACCESSES) for each that applies and `shape:LABEL` where there is one. Readers step over words
 * that they do not know. Older traces have no second text: it is empty, or beyond the entry.
 */
struct pm_entry_function {
	uint32_t number;
	char text[];
};

/* A distinct operation. values[i] belongs to the i-th label of its function. */
struct pm_entry_operation {
	uint32_t number;
	uint32_t function;
	uint32_t site; /* number of a string: the call's stack, "symbol < caller < ...", innermost first */
	uint32_t value_count;
	uint64_t values[];
};

/*
 * Addresses (values of the types reads, writes, weight, grad and address) are no part of an operation: they are 0, or a
 * program whose allocator never gives an address twice would have a new operation with each call. In samples of the run
 * (trace/sample.h) the record of a call has an operation with its addresses instead, and this entry says what `base` is:
 * the operation that the same call has beyond the samples. Without the entry an operation is its own base.
 */
struct pm_entry_placed {
	uint32_t operation;
	uint32_t base;
};

/* A descriptor's content, a list of integers whose meaning goes by `kind` (PM_FORMAT_DESCRIPTORS). */
struct pm_entry_descriptor {
	uint32_t number;
	uint16_t kind;
	uint16_t value_count;
	int64_t values[];
};

struct pm_entry_string {
	uint32_t number;
	char text[];
};

/* A queue: a stream of a device. stream is the handle, 0 for the default stream. */
struct pm_entry_queue {
	uint32_t number;
	int32_t device;
	uint64_t stream;
};

/*
 * A communicator. hash is the same on all its ranks and differs between communicators: of the unique id's
 * bytes, of the parent's hash, the count of splits and the colour for a split.
 */
struct pm_entry_communicator {
	uint32_t number;
	int32_t rank;
	int32_t size;
	int32_t device;
	uint64_t hash;
};

/*
 * A captured graph, named when it is instantiated: its operations in the order of capture. Their calls have
 * records with PM_FLAG_CAPTURED; a launch refers to the graph by a value of type `graph`.
 */
struct pm_entry_graph {
	uint32_t number;
	uint32_t node_count; /* pairs that follow */
	struct pm_graph_node {
		uint32_t op;
		uint32_t nodes; /* kernels, copies and sets that the operation added to the graph; 0: not
				   known */
	} nodes[];
};

/* Recording was off before, or is off from here on: a window of the settings began or ended. */
struct pm_entry_window {
	uint32_t open;      /* 1: records follow from `ticks` on, 0: they stop there */
	uint32_t iteration; /* counted by the hook, 0: not counted */
	uint64_t ticks;
};

/* What the program itself calls the layer that an operation belongs to, as a Python module's path: "net.layer1.0.conv1". */
struct pm_entry_module {
	uint32_t operation;
	uint32_t name; /* number of a string */
};

/* Where in Python an operation was called for the first time. Without this entry that is not known. */
struct pm_entry_python {
	uint32_t operation;
	uint32_t flags;     /* PM_PYTHON_* */
	uint32_t innermost; /* number of a string: of all frames, "linear (functional.py:125)"; 0: none, or not known */
	uint32_t outermost; /* likewise: of the program's, the outermost first, "<module> (train.py:90) > main (train.py:57)" */
};
#define PM_PYTHON_NONE 1 /* the thread was not in Python at all: as that of PyTorch's backward pass */
#define PM_PYTHON_OWN 2  /* the innermost frame is that of each call: other frames make other operations */

/*
 * What a device is, by its driver; 0: it does not say. Written once for each device that work goes to, as soon
 * as the driver answers. Its rates follow from the clocks: memory moves data twice in a memory clock.
 */
struct pm_entry_device {
	int32_t device; /* as the runtime numbers it in this process */
	int32_t capability_major, capability_minor;
	int32_t multiprocessors;
	int32_t clock_khz;
	int32_t memory_clock_khz;
	int32_t memory_bus_bits;
	uint32_t reserved;
	uint64_t memory_bytes;
	char name[];
};

/* Device addresses that arguments of launches have, numbered one by one from `first` on: the numbers of one entry
 * follow those of the entry before it. */
struct pm_entry_addresses {
	uint32_t first;
	uint32_t count;
	uint64_t addresses[];
};

/* The layer, as in pm_entry_module, that the program was in when a launch had this address among its arguments for the
 * first times: of a parameter, the module that works with it. The last entry of an address counts: one with a list of addresses,
 * which may be of several layers, comes before one with few. */
struct pm_entry_address_module {
	uint32_t address; /* a number of PM_ENTRY_ADDRESSES */
	uint32_t name;    /* number of a string */
};

/* A list of device addresses, packed as in the slots of struct pm_touch, that several launches may have. */
struct pm_entry_touches {
	uint32_t number;
	uint32_t byte_count;
	unsigned char bytes[];
};

/*
 * A stretch of the run with recording or without, of those that took turns (PMHOOK_COST=measure), in their order: how
 * long it was, and how many hooked calls one thread made in it, the same thread in all of them. While nothing is recorded
 * a window is closed (struct pm_entry_window).
 */
struct pm_entry_turn {
	uint32_t is_recorded;
	uint32_t calls;
	uint64_t ns;
};

/*
 * Device times are not taken from here on, or are again (PMHOOK_DEVICE_SHARE); at the start of a trace they are. All
 * calls are recorded meanwhile; those that begin between have no correlation.
 */
struct pm_entry_device_window {
	uint32_t taken; /* 1: calls that begin from `ticks` on have device times, 0: none from there on */
	uint32_t share; /* percent of the time, as the setting says */
	uint64_t ticks;
};

/* Who says what a thread is in. */
enum pm_range_scope {
	PM_RANGE_OPERATOR = 1, /* PyTorch's, one that is in no other: "aten::linear" */
	PM_RANGE_NODE = 2,     /* of autograd's graph: "AddmmBackward0" */
	PM_RANGE_USER = 3,     /* record_function, the program's or PyTorch's own: "Optimizer.step#AdamW.step" */
	PM_RANGE_NVTX = 4,
};

/* A distinct range. Counters in texts that programs make are cut off. */
struct pm_entry_range {
	uint32_t number;
	uint16_t scope; /* enum pm_range_scope */
	uint16_t reserved;
	uint32_t name;   /* here and below: number of a string, 0: none, or not known */
	uint32_t domain; /* of NVTX: who pushes it */
	uint32_t module; /* the nn.Module that the thread is in, as in pm_entry_module */
	uint32_t line;   /* of PM_RANGE_USER: the program's innermost frame, "train (train.py:57)" */
	uint32_t color;  /* of NVTX: ARGB; 0: none */
};

/* Operators and nodes are recorded from here on, or no longer. At the start of a trace they are not; other ranges always
 * are. */
struct pm_entry_range_window {
	uint32_t recorded;
	uint32_t reserved;
	uint64_t ticks;
};

/*
 * An instruction of a program that XLA has compiled, as its optimized HLO has it. Of a computation with a schedule all are
 * there. Of what is fused, and of what is called for each element, those that compute something, without operands and
 * without a name: they say only what the instruction that calls them is made of. Ids are XLA's, and distinct in a module.
 * The instruction's name, which ranges of XLA (PM_RANGE_NVTX) call `hlo_op`, follows after the ids, ends with zero, and
 * may be empty.
 */
struct pm_entry_hlo_instruction {
	uint32_t module; /* number of a PM_ENTRY_HLO_MODULE, which comes later */
	uint32_t flags;  /* PM_HLO_* */
	uint64_t computation;
	uint64_t id;
	uint64_t element_count; /* of the result; of a tuple 0 */
	uint32_t type;          /* enum pm_type of the result; PM_TYPE_NONE: a tuple, or what has no value */
	uint32_t index;         /* of a parameter its number, of get-tuple-element the element's */
	uint32_t opcode;        /* here and below: number of a string; 0: none, or not known */
	uint32_t op_name;       /* of what the program wrote: "jit(step)/jvp(CNN)/Conv_0/conv_general_dilated" */
	uint32_t target;        /* of a custom call: the function, "__cublas$gemm" */
	uint32_t file;          /* of the program's source */
	uint32_t line;          /* 0: not known */
	uint16_t operand_count; /* ids of instructions that follow */
	uint16_t called_count;  /* ids of computations that follow those: of 64 bits, as the others */
};
#define PM_HLO_ROOT 1 /* its computation's result */

/* The order in which a computation's instructions run, by their ids. */
struct pm_entry_hlo_schedule {
	uint32_t module;
	uint32_t instruction_count; /* ids that follow, of 64 bits */
	uint64_t computation;
};

/* An HLO module, whose entries are all there: it comes after its instructions. */
struct pm_entry_hlo_module {
	uint32_t number;
	uint32_t name;    /* number of a string: "jit_step" */
	uint64_t program; /* XLA's number of it, which ranges of XLA call `program_id` */
	uint64_t entry;   /* the computation that is run */
	uint32_t flags;   /* PM_HLO_* */
	uint32_t alias_count; /* elements of its result that take the place of an argument, which follow: numbers of 32 bits */
};
#define PM_HLO_PARTIAL 1 /* instructions are missing: there were too many, or they could not be read */

/*
 * Something said about the run, "key: sentence", by the hook or by whoever calls pmhook_note (pm_note.h). The keys that
 * readers look at:
 *
 *     command   the program and its script; the arguments if asked for
 *     attempt   which start of its job the process belongs to, of a launcher that may start it again: "restart=1 restarts=3
 *               launcher=4711 job=17". From 0 on; the most there will be, the launcher's process on this host, and the
 *               job's name, each where it is known
 *     python    the interpreter, as far as its frames are read
 *     nvtx      why NVTX ranges are not recorded
 *     pytorch   whether its operators are recorded, and if not, why
 *     device    where device times come from, and what went wrong with that
 *     warning   what a user should know of the recording
 *     assumed   a kernel's name, as its activity has it: its duration is an assumption of the device's, not a time. Once
 *               for each such kernel
 *     modelled  "NVIDIA H200, times x 50": no such device is there, its times were calculated, and are 50 times as long as
 *               its own; without a factor they are its own
 *     processors  "waited 1200 us, ran 45000 us": what the process's threads, as many as there were at its end, spent
 *               waiting for a processor and on one, since it began
 *     balanced  that a modelled device, which computes nothing, chose classes in turn (which experts a row goes to)
 */
struct pm_entry_note {
	char text[1];
};

/*
 * A ring: the file of a run of any length has a constant size. Its first records stay; of the later ones the complete
 * chunk that tells of the earliest times is dropped where a new one is needed, and its place used again. What is dropped
 * goes into statistics, so that those and the records that are there make up the whole run, each record once.
 *
 * All calls that began before `first_ticks` or after `last_ticks` are there, those between in part. Device intervals come
 * later than their calls: of those before `first_ticks` all that begin before `first_device_ns` are there, of those after
 * `last_ticks` all.
 *
 * The bytes change while a program runs. `changes` is odd while a chunk is dropped; who finds it equal and even before
 * and after has read the statistics and the kinds of all chunks of one moment. Of a chunk of records, what is before its
 * first empty slot stays as it is for as long as the chunk's header does. A process that was killed while it dropped a
 * chunk leaves `changes` odd: then that chunk, at `dropping` in the file, has its first `dropped_slots` slots in the
 * statistics already (the record of the slot after them perhaps in part).
 */
struct pm_ring {
	uint64_t changes;
	uint64_t dropping; /* 0: no chunk */
	uint64_t dropped_slots;
	uint64_t record_bytes; /* chunks of records together have at most so many */
	uint64_t kept_bytes;   /* the first of them stay */
	uint64_t dropped_chunks;
	uint64_t dropped_calls;
	uint64_t dropped_devices; /* device intervals */
	uint64_t first_ticks;     /* 0: nothing is dropped yet */
	uint64_t last_ticks;
	uint64_t first_device_ns; /* 0: no device interval is dropped */
	uint64_t uncounted; /* dropped records that found no room in the statistics */
	uint32_t statistics_operations; /* of each PM_CHUNK_STATISTICS */
	uint32_t sketch_count;          /* of struct pm_sketch after this struct */
	uint64_t reserved[3];
};

/*
 * Of the dropped records of one operation: two for each, [0] of its calls, whose times are ticks, [1] of its device
 * intervals, in nanoseconds. The operations of a PM_CHUNK_STATISTICS begin with the number that its `sequence` tells,
 * times `statistics_operations`.
 */
struct pm_statistics {
	uint64_t count;
	uint64_t untimed; /* of these: calls that did not return, with no duration */
	uint64_t sum;     /* of the durations, here and below */
	double square_sum;
	uint64_t minimum, maximum; /* where count > untimed */
	uint64_t unsketched; /* durations that found no room in the sketch: its quantiles are not known */
	uint64_t reserved;
};

/* How many of the dropped records of an operation took about so long: in a table with open addressing. */
struct pm_sketch {
	uint64_t key; /* operation << 16 | device interval << 15 | PM_SKETCH_BUCKET; 0: free */
	uint64_t count;
};

/*
 * The bucket of a duration: below 64 the number itself, else its highest bit and the six bits after that, so that no
 * duration is further than 0.8% from the middle of its bucket.
 */
#define PM_SKETCH_BITS 6
#define PM_SKETCH_SHIFT(duration) \
	((duration) >> PM_SKETCH_BITS ? 63u - PM_SKETCH_BITS - (unsigned)__builtin_clzll(duration) : 0u)
#define PM_SKETCH_BUCKET(duration) \
	(((uint64_t)PM_SKETCH_SHIFT(duration) << PM_SKETCH_BITS) + ((duration) >> PM_SKETCH_SHIFT(duration)))

/* Counts of the whole process, written at an orderly end. Losses are those of the header, added up. */
struct pm_footer {
	uint64_t calls;             /* recorded or not, while recording was on, nested calls aside */
	uint64_t records;           /* written */
	uint64_t lost_records;      /* of the class RECORDS */
	uint64_t lost_device_times; /* of the class TIMES */
	uint64_t lost_operations;   /* of the class DETAILS */
	uint64_t threads;
	uint64_t ticks; /* the last clock pair */
	uint64_t monotonic_ns;
	uint64_t real_ns;
	/* since version 2: what the hook itself took; both together no more than the run */
	uint64_t own_ns;       /* in wrappers, over all threads: about, from a sample */
	uint64_t new_ns;       /* beside that, describing operations that were new: time that went by */
	uint64_t unseen_calls; /* functions that were looked up and could not be intercepted: another copy is
				  in use */
	uint64_t new_processor_ns; /* of new_ns, over all threads: while they had a processor, so that threads
				      that wait for one do not add up; 0: not known */
};

/*
 * What is not recorded, by cause: name, class, words in brackets after the number. The class says what is missing:
 * RECORDS calls and device intervals, TIMES the device times of calls, DETAILS what a call worked on, FUNCTIONS the
 * calls of functions that are not watched. Causes are only ever added, at the end.
 */
#define PM_FORMAT_LOSSES(X) \
	X(NO_ROOM, RECORDS, "disk full, or the file was removed") \
	X(SIZE_LIMIT, RECORDS, "the trace reached PMHOOK_MAX_MB") \
	X(AFTER_END, RECORDS, "called after the trace was closed at exit") \
	X(FILES, RECORDS, "file input with unknown path, or of descriptors beyond the first 4096") \
	X(IN_FLIGHT, TIMES, "too much work in flight") \
	X(DEVICES, TIMES, "on devices beyond the first 64") \
	X(MEMORY, TIMES, "out of memory") \
	X(EVENTS, TIMES, "CUDA refused an event") \
	X(PENDING_ERROR, TIMES, "an error of the program was pending") \
	X(NO_SOURCE, TIMES, "CUDA timing functions not found") \
	X(GROUPS, TIMES, "in groups with more than 64 streams") \
	X(BESIDE_CAPTURE, TIMES, "on the default stream during a capture") \
	X(THREAD_END, TIMES, "incomplete when their thread ended") \
	X(RESET, TIMES, "their device was reset, or their context destroyed") \
	X(EXIT, TIMES, "not collected when the process ended") \
	X(CUPTI_DROPPED, TIMES, "dropped by CUPTI") \
	X(CUPTI_UNTIMED, TIMES, "reported by CUPTI without times") \
	X(CUPTI_SILENT, TIMES, "not returned by CUPTI, which did not respond") \
	X(OPERATIONS, DETAILS, "the table of operations is full") \
	X(NAMES, DETAILS, "the table of names and descriptors is full") \
	X(DICTIONARY, DETAILS, "no space left in the file for descriptions") \
	X(OBJECTS, DETAILS, "more streams, handles and descriptors than the table holds") \
	X(STREAMS, DETAILS, "more streams than have numbers") \
	X(KERNELS, DETAILS, "more kernels than the name table holds") \
	X(COMMUNICATORS, DETAILS, "on communicators whose creation was not recorded") \
	X(GRAPHS, DETAILS, "launches of graphs whose creation was not recorded") \
	X(GRAPH_SIZE, DETAILS, "captured beyond the first 32768 operations of a graph") \
	X(GRAPH_NODES, DETAILS, "graph nodes beyond the number that can be distinguished") \
	X(OTHER_COPIES, FUNCTIONS, "another copy of their library is in use") \
	X(LEFT, TIMES, "of calls that did not return") \
	X(THREADS, RECORDS, "of threads for which there was no memory") \
	X(RING, RECORDS, "more threads at once than PMHOOK_RING_MB has room for") \
	X(BUDGET, DETAILS, "call site and layer of new operations, which had taken their share of the run (PMHOOK_NEW_SHARE)") \
	X(HANDLERS, RECORDS, "called by a signal handler that interrupted the hook") \
	X(FILE_LIMIT, RECORDS, "the process may write no larger files (RLIMIT_FSIZE, ulimit -f)") \
	X(MAPPING, RECORDS, "the process may map no more memory, or there is none") \
	X(UNREACHABLE, RECORDS, "the process can open its trace no more: its user or its root folder changed") \
	X(RANGES, DETAILS, "ranges without room: more distinct ones than the table holds, too deep, or disk full")

/* Name, and what the class is called. */
#define PM_FORMAT_LOSS_CLASSES(X) \
	X(RECORDS, "records") \
	X(TIMES, "device times") \
	X(DETAILS, "details") \
	X(FUNCTIONS, "functions")

/* What a hooked function is to the analyzer: kind, and what it stands for. */
#define PM_FORMAT_KINDS(X) \
	X(SETUP, "handles, descriptors, registration, queries: no work") \
	X(ALLOC, "memory allocated or freed") \
	X(COPY, "memory copied; its value `direction` says from where to where") \
	X(SET, "memory set") \
	X(FORWARD, "computation that only a forward pass needs") \
	X(BACKWARD, "computation that only a backward pass needs") \
	X(COMPUTE, "computation of either pass, or of the update") \
	X(LAUNCH, "an application kernel") \
	X(SEARCH, "algorithm selection, possibly by benchmarking") \
	X(COMM, "communication between ranks") \
	X(GROUP, "start or end of a group of communication calls") \
	X(SYNC, "the host waits for the device") \
	X(EVENT, "order and time between queues") \
	X(STREAM, "queues created and destroyed, callbacks") \
	X(GRAPH, "captured work: capture, launch") \
	X(READ, "file input") \
	X(OPEN, "files opened, mapped and closed") \
	X(PROFILE, "the application's profiler start and stop")

/*
 * What a function does beside its kind: the column ROLE of pm_hooks.def. A forward function and the backward ones of the same
 * operator have the same role, and the kind and the values tell them apart.
 */
#define PM_FORMAT_ROLES(X) \
	/* memory, order and waiting */ \
	X(HOST_MEMORY, "memory of the host: allocated, registered, freed") \
	X(FREES_MEMORY, "memory of a device is freed") \
	X(BLOCKS, "the host goes on when the copy is done") \
	X(QUERIES_STREAM, "asks whether a stream's work is done, as a program does again and again that waits") \
	X(QUERIES_EVENT, "likewise of the work before an event") \
	X(WAITS_FOR_STREAM, "the host waits for a stream's work") \
	X(WAITS_FOR_EVENT, "the host waits for the work before an event") \
	X(WAITS_FOR_DEVICE, "the host waits for all work of a device") \
	X(RECORDS_EVENT, "an event stands for what the stream was given so far") \
	X(STREAM_WAITS, "a stream waits for an event") \
	X(DESTROYS_STREAM, "its first value") \
	X(LAUNCHES_GRAPH, "runs an instantiated graph") \
	X(BEGINS_CAPTURE, "what a stream is given is recorded as a graph") \
	X(ENDS_CAPTURE, "the graph is complete") \
	X(RESETS_DEVICE, "all of the process on the current device is destroyed") \
	X(DESTROYS_CONTEXT, "its first value") \
	X(RELEASES_PRIMARY, "the primary context of the device that is its first value") \
	X(RESETS_PRIMARY, "likewise, whoever else uses it") \
	X(MAPS_FILE, "a file becomes memory") \
	/* computations */ \
	X(CONVOLUTION, "a convolution, or a gradient of one") \
	X(POOLING, "the largest or mean of windows") \
	X(ACTIVATION, "a function of each element") \
	X(SOFTMAX, "softmax over channels or places") \
	X(NORMALIZATION, "by mean and deviation, of a batch or otherwise") \
	X(LOCAL_RESPONSE, "normalization by neighbouring channels") \
	X(DIVISIVE_NORMALIZATION, "normalization by a neighbourhood") \
	X(DROPOUT, "elements left out by chance") \
	X(RECURRENT, "a recurrent network; its weights are one block") \
	X(ATTENTION, "attention, with its projections or without") \
	X(GRID, "the grid of a spatial transformer") \
	X(SAMPLER, "samples at a grid's places") \
	X(LOSS, "a loss, with its gradient") \
	X(ADDITION, "adds a tensor, which is spread where it is smaller") \
	X(ELEMENTWISE, "an operation on elements of the same place") \
	X(SCALING, "a tensor or vector times a number") \
	X(FILL, "each element set to a number") \
	X(TRANSFORM, "the same elements in another layout") \
	X(PATCHES, "a convolution's windows as columns of a matrix") \
	X(REDUCTION, "sums, or the like, of dimensions") \
	X(PRODUCT, "matrix by matrix: m, n, k") \
	X(MATRIX_VECTOR, "matrix by vector: m, n") \
	X(OUTER_PRODUCT, "vector by vector, added to a matrix: m, n") \
	X(RANK_K_UPDATE, "matrix by its transpose, half of the result: n, k") \
	X(SYMMETRIC_PRODUCT, "symmetric matrix by matrix: m, n, side") \
	X(TRIANGULAR_PRODUCT, "triangular matrix by matrix: m, n, side") \
	X(TRIANGULAR_SOLVE, "equations with a triangular matrix: m, n, side") \
	X(MATRIX_SUM, "sum of two matrices: m, n") \
	X(DIAGONAL_PRODUCT, "diagonal matrix by matrix: m, n") \
	X(AXPY, "a vector's multiple added to another: n") \
	X(VECTOR_COPY, "a vector copied: n") \
	X(VECTOR_SWAP, "two vectors exchanged: n") \
	X(DOT, "product of two vectors: n") \
	X(VECTOR_NORM, "root of the sum of squares: n") \
	X(VECTOR_SUM, "sum of absolute values: n") \
	X(EXTREME, "place of the largest or smallest absolute value: n") \
	X(GRAPH_OF_OPERATORS, "operators fused to one that has no other role") \
	/* between ranks */ \
	X(JOINS, "makes a communicator with other processes") \
	X(ENDS_GROUP, "starts what a group of calls asked for") \
	X(ALL_REDUCE, "every rank has the sum of all") \
	X(REDUCE, "one rank has the sum of all") \
	X(BROADCAST, "all ranks have what one had") \
	X(ALL_GATHER, "every rank has all ranks' parts") \
	X(REDUCE_SCATTER, "every rank has its part of the sum") \
	X(ALL_TO_ALL, "each rank has a part for each other") \
	X(GATHER, "one rank has all ranks' parts") \
	X(SCATTER, "each rank has its part of what one had") \
	X(SEND, "to one rank") \
	X(RECEIVE, "from one rank") \
	X(SEND_RECEIVE, "both at once; in traces of other profilers")

/* How a function treats its operands, where the values alone do not tell: the column ACCESS of pm_hooks.def. */
#define PM_FORMAT_ACCESSES(X) \
	X(IN_PLACE, "what is written is read before: no new value without the old one") \
	X(MODE_ADDS, "the same where `mode` is 0, cuDNN's way to add to a gradient") \
	X(GATHERS, "what is written is `bytes` of each rank") \
	X(SCATTERS, "what is read is `bytes` for each rank")

/*
 * What a value of an operation means. The pointers tell the flow of data: an address that a forward call
 * takes as `weight` and a late call `writes` is a parameter; `grad` is its gradient.
 */
#define PM_FORMAT_VALUES(X) \
	X(INT, "int", "a signed number") \
	X(BYTES, "bytes", "a size in bytes") \
	X(TYPE, "type", "an element type, enum pm_type") \
	X(DIRECTION, "direction", "of a copy, enum pm_direction") \
	X(SCALE, "scale", "factor of the result: 0 zero, 1 one, 2 another number, 3 unknown") \
	X(READS, "reads", "address of data read") \
	X(WRITES, "writes", "address of data written") \
	X(WEIGHT, "weight", "address of parameters read") \
	X(GRAD, "grad", "address of a parameter's gradient, written") \
	X(ADDRESS, "address", "another address or handle") \
	X(DESCRIPTOR, "descriptor", "number of a descriptor") \
	X(COMMUNICATOR, "communicator", "number of a communicator") \
	X(STRING, "string", "number of a string: a path, a kernel's name") \
	X(GRAPH, "graph", "number of a graph") \
	X(HANDLE, "handle", "an object of the program's: an event, a kernel's function, an executable graph")

/* Directions of a copy, as the runtime's cudaMemcpyKind has them. */
#define PM_FORMAT_DIRECTIONS(X) \
	X(H2H, "H2H", "host to host") \
	X(H2D, "H2D", "host to device") \
	X(D2H, "D2H", "device to host") \
	X(D2D, "D2D", "device to device") \
	X(DEFAULT, "default", "according to the addresses")

/*
 * Descriptors. n is the number of dimensions that follow; `type` is an enum pm_type; modes and formats are
 * the vendor's enumerators. Coefficients are in millionths.
 */
#define PM_FORMAT_DESCRIPTORS(X) \
	X(TENSOR, "type n dims[n] strides[n]") \
	X(FILTER, "type format n dims[n]") \
	X(CONVOLUTION, "n pads[n] strides[n] dilations[n] mode type groups math") \
	X(POOLING, "mode n windows[n] pads[n] strides[n]") \
	X(ACTIVATION, "mode coefficient") \
	X(DROPOUT, "probability seed") \
	X(OP_TENSOR, "op type") \
	X(REDUCE, "op type indices") \
	X(LRN, "n alpha beta k") \
	X(RNN, "cell bias direction input_mode type math input_size hidden_size projection_size layers") \
	X(ATTENTION, \
		"heads q_size k_size v_size q_projection k_projection v_projection o_projection q_length kv_length batch beam") \
	X(NORMALIZATION, "mode phase epsilon") \
	X(POINTWISE, "mode type axis")

enum pm_loss {
#define PM_FIELD(name, class, words) PM_LOSS_##name,
	PM_FORMAT_LOSSES(PM_FIELD)
#undef PM_FIELD
	PM_LOSS_COUNT
};

enum pm_loss_class {
#define PM_FIELD(name, words) PM_LOSS_OF_##name,
	PM_FORMAT_LOSS_CLASSES(PM_FIELD)
#undef PM_FIELD
	PM_LOSS_CLASS_COUNT
};

enum pm_kind {
	PM_KIND_NONE,
#define PM_FIELD(name, text) PM_KIND_##name,
	PM_FORMAT_KINDS(PM_FIELD)
#undef PM_FIELD
};

enum pm_role {
	PM_ROLE_NONE,
#define PM_FIELD(name, text) PM_ROLE_##name,
	PM_FORMAT_ROLES(PM_FIELD)
#undef PM_FIELD
	PM_ROLE_COUNT
};

enum pm_access_bit {
#define PM_FIELD(name, text) PM_ACCESS_BIT_##name,
	PM_FORMAT_ACCESSES(PM_FIELD)
#undef PM_FIELD
	PM_ACCESS_COUNT
};

/* A function's accesses together. */
enum pm_access {
	PM_ACCESS_NONE,
#define PM_FIELD(name, text) PM_ACCESS_##name = 1 << PM_ACCESS_BIT_##name,
	PM_FORMAT_ACCESSES(PM_FIELD)
#undef PM_FIELD
};

enum pm_value {
	PM_VALUE_NONE,
#define PM_FIELD(name, word, text) PM_VALUE_##name,
	PM_FORMAT_VALUES(PM_FIELD)
#undef PM_FIELD
};

enum pm_direction {
#define PM_FIELD(name, word, text) PM_DIRECTION_##name,
	PM_FORMAT_DIRECTIONS(PM_FIELD)
#undef PM_FIELD
	PM_DIRECTION_COUNT
};

enum pm_descriptor_kind {
	PM_DESCRIPTOR_NONE,
#define PM_FIELD(name, text) PM_DESCRIPTOR_##name,
	PM_FORMAT_DESCRIPTORS(PM_FIELD)
#undef PM_FIELD
};

/* Element types, whatever the library calls them: name, bytes. */
#define PM_FORMAT_TYPES(X) \
	X(F32, 4) \
	X(F64, 8) X(F16, 2) X(BF16, 2) X(I8, 1) X(U8, 1) X(I32, 4) X(U32, 4) X(I64, 8) X(U64, 8) X(OTHER, 0)

enum pm_type {
	PM_TYPE_NONE,
#define PM_FIELD(name, bytes) PM_TYPE_##name,
	PM_FORMAT_TYPES(PM_FIELD)
#undef PM_FIELD
};

_Static_assert(sizeof(struct pm_header) == 80 + 128 + 32 + 8 * PM_LOSS_ROOM, "no padding");
_Static_assert(sizeof(struct pm_live) == 12 * 8 + 8 * PM_LIVE_STEPS, "no padding");
_Static_assert(sizeof(struct pm_header) <= PM_LIVE_OFFSET, "each has its place");
_Static_assert(PM_LOSS_COUNT <= PM_LOSS_ROOM, "each cause of loss has its place");
_Static_assert(sizeof(struct pm_chunk) == 64, "no padding");
_Static_assert(sizeof(struct pm_record) == 16, "no padding");
_Static_assert(sizeof(struct pm_more) == 16 && sizeof(struct pm_base) == 16, "slots are of one size");
_Static_assert(offsetof(struct pm_more, kind) == offsetof(struct pm_record, kind), "slots are distinct");
_Static_assert(offsetof(struct pm_base, kind) == offsetof(struct pm_record, kind), "slots are distinct");
_Static_assert(sizeof(struct pm_touch) == 16, "slots are of one size");
_Static_assert(offsetof(struct pm_touch, kind) == offsetof(struct pm_record, kind), "slots are distinct");
_Static_assert(sizeof(struct pm_record_1) == 32, "no padding");
_Static_assert(sizeof(struct pm_footer) == 104, "no padding");
_Static_assert(sizeof(struct pm_ring) == 128, "no padding");
_Static_assert(sizeof(struct pm_statistics) == 64, "no padding");
_Static_assert(sizeof(struct pm_sketch) == 16, "no padding");

#endif
