/*
 * What the sources of libpmhook.so share.
 *
 * The library is a guest in somebody's program. It never exits, prints, or changes a result or errno; after
 * its first steps it does not allocate; what may change errno (all that is not on the common path of a call)
 * sets it back; locks are taken only where something is seen for the first time, a chunk is full or device
 * times are collected, never around a call. Its own calls to functions that it hooks itself come back to the
 * wrappers, which let them through because the thread's depth is not 0.
 *
 * Functions here may be called from any thread, at depth 1, unless they say otherwise.
 */
#ifndef HOOK_H
#define HOOK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "guest.h"
#include "pm_abi.h"
#include "pm_format.h"
#include "pm_hooks.h"
#include "settings.h"
#include "map.h"

#define PMH_EXPORT __attribute__((visibility("default")))
#define PMH_INLINE static inline __attribute__((always_inline))
#define PMH_DEVICES 64 /* devices a process may have */
#define PMH_GROUP 64   /* calls of one NCCL group that get device times */

/* ---- process.c: the state of the process, its threads and its end ---- */

enum pmh_state {
	PMH_UNDECIDED, /* no call to a hooked library yet; also after fork, in the child */
	PMH_RECORDING,
	PMH_COUNTING,
	PMH_OFF,
};

extern _Atomic int pmh_state;
extern struct pmh_settings pmh_settings;

struct pmh_ring; /* device_time.c: a thread's pending device times on one device */

/* Where work goes. queue 0: nowhere. */
struct pmh_place {
	cudaStream_t stream;
	int device;
	uint16_t queue;
	bool device_pointers; /* of a cuBLAS handle: its scalars lie on the device */
};

/* An interval of device time that was begun; ring NULL: none. */
struct pmh_interval {
	struct pmh_ring *ring;
	unsigned slot;
};

/* A call of an open NCCL group: its work begins when the group ends. */
struct pmh_grouped {
	cudaStream_t stream;
	int device;
	uint32_t op, correlation;
	uint16_t queue;
	struct pmh_interval interval;
};

/*
 * The outermost hooked call of a thread. It lies in the thread's record, not on its stack, so that what is
 * known of a call that never returns is not lost with it.
 */
struct pmh_frame {
	/* a word on the stack of the wrapper, which holds PMH_MARK while the wrapper is there */
	const uint64_t *mark;
	uint64_t entry;      /* not 0: what the hook takes of this call is measured */
	uint64_t new_before; /* then, the thread's new_ticks */
	uint64_t begin, end;
	uint32_t op, correlation;
	uint32_t path; /* of file input, in place of op */
	uint16_t call; /* enum pm_call while the real function has it, else 0 */
	uint8_t flags;
	bool told; /* to CUPTI, whose records carry the correlation */
	struct pmh_place place;
	struct pmh_interval interval;
};
#define PMH_MARK 0x6b72616d20686d70u /* nobody's address */

/* own_cost.c: samples of what the hook takes of a call, counted by their length. One in so many calls is
 * measured. */
#define PMH_COST_EVERY 64u
#define PMH_COST_BUCKETS 256u
struct pmh_cost {
	_Atomic uint32_t buckets[PMH_COST_BUCKETS];
};
void pmh_cost_sample(struct pmh_cost *cost, uint64_t ticks); /* by the thread whose it is */
void pmh_cost_add(struct pmh_cost *sum, const struct pmh_cost *cost);
double pmh_cost_ticks(const struct pmh_cost *cost); /* of all calls that the samples stand for */

/* A thread. Lives in its own thread-local storage; other threads read it only through the list, under its
 * lock. */
struct pmh_thread {
	int depth;        /* of hooked calls; inside one, calls are let through */
	unsigned quiet;   /* guest.h: pmh_quiet_begin, nested */
	bool forks;       /* between the handlers of a fork */
	uint64_t signals; /* held back before it became quiet */
	const struct pmh_context *came_from;
	uint64_t stack_start, stack_end; /* the mapping of the stack that it was last unwound on */
	struct pmh_frame frame;
	struct {
		const uint64_t *outer, *mark;
		const void *caller;
	} trusted;                    /* the last call inside of another of which it was looked for */
	bool ours;                    /* a thread of the hook's own: its stack says nothing of the program */
	bool unlisted;                /* its end would not be seen, so its records are lost, and counted */
	uint32_t number;              /* ordinal in the process, from 1; 0: not seen yet */
	int device;                   /* current, as cudaSetDevice said */
	struct pm_record *next, *end; /* room in the chunk */
	uint64_t base[2]; /* of ticks and of device nanoseconds in the chunk, as pm_base counts them */
	struct pmh_map chunk;
	uint64_t chunk_count;
	uint64_t chunk_first; /* record_count when the chunk was opened */
	uint64_t lost_count;
	enum pm_loss why_lost; /* why the last chunk could not be made */
	_Atomic uint64_t record_count; /* written by the thread alone */
	_Atomic uint64_t call_count;   /* without a record: in mode `count`, and repeated questions */
	unsigned timed_count;
	struct pmh_ring *rings[PMH_DEVICES];
	const void *last_asked; /* stream or handle that last_place is the place of, while last_epoch holds */
	struct pmh_place last_place;
	unsigned last_epoch;
	uint32_t communicator;    /* of the communication call under way */
	struct pm_record *polled; /* the last record, if it was a question answered "not ready" */
	unsigned sample_count;
	struct pmh_cost own;        /* what the hook itself takes */
	_Atomic uint64_t new_ticks; /* beside that, describing new operations: time that goes by */
	int group_depth;
	unsigned group_count;        /* ended so far */
	cudaStream_t group_captured; /* a stream of the group under way that is being captured, or NULL */
	unsigned grouped_count;
	struct pmh_grouped grouped[PMH_GROUP];
	struct pmh_thread *following; /* in the list of threads */
};

/* initial-exec: the general model may allocate on first use, in a host we know nothing about */
extern _Thread_local struct pmh_thread pmh_self __attribute__((tls_model("initial-exec")));

/* First hooked call of the process, or of the child after fork: reads the settings, opens the trace. At
 * depth 1. */
void pmh_activate(void);

/* Makes the calling thread known (number, list, exit handler). Once a thread. */
void pmh_thread_begin(void);

/* Calls f for each known thread, under the list's lock. */
void pmh_each_thread(void (*f)(struct pmh_thread *));

/* Runs pmh_finish at exit before the libraries that are in use by now take themselves down. */
void pmh_finish_at_exit(void);

/* Trouble of our own: aborts in strict mode, else does nothing. */
void pmh_trouble(void);

/* ---- settings_hook.c ---- */

/* Reads the settings; afterwards, with the trace open or not to be had, says what is wrong with them: in the
 * trace, and in the first process of a job on standard error. */
void pmh_settings_begin(void);
void pmh_settings_tell(void);

/* ---- resolve.c: the functions behind the wrappers ---- */

/* The real function behind a wrapper, or NULL where its library is not loaded. Async-signal-safe once found.
 */
extern _Atomic(void *) pmh_functions[PM_CALL_COUNT];
void *pmh_find_real(enum pm_call call);
static inline void *pmh_real(enum pm_call call)
{
	void *f = atomic_load_explicit(&pmh_functions[call], memory_order_acquire);

	return __builtin_expect(f != NULL, 1) ? f : pmh_find_real(call);
}

/* Functions that the hook calls and does not hook, like cudaGetLastError; NULL where there is none. */
void *pmh_real_cudart(const char *name);
void *pmh_real_driver(const char *name);
void *pmh_real_nccl(const char *name);

/* The wrapper of each row, NULL for rows that have none and for libc's. */
extern void *const pmh_wrappers[PM_CALL_COUNT];

/* Whether a file's name (without folders) is that of a library of the table, or of any of the vendor's. */
bool pmh_is_library(const char *library, const char *file);
bool pmh_is_vendors(const char *file);

/* Whether an address lies in this library. */
bool pmh_is_ours(const void *address);

/* Keeps the library that a function lies in loaded for ever; false: it cannot be. */
bool pmh_keep(const void *function);

/* ---- lookup.c: dlsym and the driver's own look-up ---- */

/* libc's dlsym, whoever else intercepts it: RTLD_NEXT means what comes behind this library. */
void *pmh_libc_dlsym(void *handle, const char *name);

/* Look-ups whose answer was another copy of a library than the wrappers know, and so was left alone. */
uint64_t pmh_unseen_calls(void);
void pmh_look_up_forget(void);

/* A function's row. labels[0] is empty; labels[i] belongs to values[i] of its operations. */
struct pmh_label {
	uint8_t value; /* enum pm_value */
	const char *label;
};
struct pmh_row {
	const char *name, *library;
	uint8_t kind; /* enum pm_kind */
	uint8_t label_count;
	const struct pmh_label *labels;
};
extern const struct pmh_row pmh_rows[PM_CALL_COUNT];

/* ---- clock.c ---- */

/* Chooses the clock; before any pmh_ticks. */
void pmh_clock_init(void);
extern uint32_t pmh_clock; /* enum pm_clock */
uint64_t pmh_monotonic_ns(void);
/* Both at one moment: of some readings the one that least came between, so that a thread that loses its
 * processor there does not shift a chunk's times. */
void pmh_clock_pair(uint64_t *ticks, uint64_t *monotonic_ns);

static inline uint64_t pmh_ticks(void)
{
#ifdef __x86_64__
	if (pmh_clock == PM_CLOCK_TSC)
		return __builtin_ia32_rdtsc();
#endif
	return pmh_monotonic_ns();
}

/* ---- trace_write.c: the file ---- */

/* Creates the trace. 0, or -errno; then nothing is recorded. */
int pmh_trace_open(void);

/* Writes the footer and cuts the file's unused end. Later records are lost, and counted. */
void pmh_trace_close(const struct pm_footer *footer);

/* Forgets the parent's trace, in a child after fork. */
void pmh_trace_forget(void);

/* A record to be written: times absolute, in ticks or device nanoseconds. */
struct pmh_record {
	uint64_t begin, end;
	uint32_t op;
	uint16_t queue;
	uint8_t kind, flags;
};

/*
 * Appends a record with what is rare: a new chunk, a new base, a long duration, and `more` (NULL: none; its
 * duration_high and kind are filled in). A record that finds no room is lost, and counted.
 */
void pmh_append_slowly(struct pmh_thread *self, const struct pmh_record *r, const struct pm_more *more);

/* Gives up the thread's chunk, when the thread ends. */
void pmh_trace_leave(struct pmh_thread *self);

/* Appends an entry with the given body parts to the dictionary. Guarded by the caller's lock (intern.c). */
void pmh_trace_entry(
	enum pm_entry_type type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes);

/* The rank that the launcher's variables say, -1: none. */
int pmh_trace_launched_rank(void);

/* Says who we are: written to the header at once. world < 0 keeps what is there. */
void pmh_trace_rank(int rank, int world);
void pmh_trace_device_source(enum pm_device_source source);

/* The header's clock pair; false: there is no trace. */
bool pmh_trace_begin(uint64_t *ticks, uint64_t *monotonic_ns);

/* Counts what is not recorded, where it is seen at once, under its cause. Nothing without a trace. From any
 * thread. */
void pmh_lose(enum pm_loss cause, uint64_t count);

/* What is lost so far, of a class and under a cause. */
uint64_t pmh_lost_of(enum pm_loss_class loss_class);
uint64_t pmh_lost(enum pm_loss cause);

/* Of a thread, counted records that are not in the file, because its chunk was taken away. */
uint64_t pmh_trace_unwritten(const struct pmh_thread *t);

/* The trace's path, "" if there is none. */
const char *pmh_trace_path(void);

/* ---- intern.c: numbers for what is seen for the first time ---- */

/* One table for all kinds of things. A slot is filled once: the hash last. */
#define PMH_SLOTS (1u << 17)
#define PMH_HASH_KEYS 32
struct pmh_slot {
	_Atomic uint64_t hash; /* 0: free */
	uint32_t number;
};
extern struct pmh_slot pmh_slots[PMH_SLOTS];

static inline uint64_t pmh_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Random odd numbers. In each wrapper they become constants of its code. */
static const uint64_t pmh_hash_keys[PMH_HASH_KEYS] = {
	0x2cb0f69f4abea221u,
	0x9417034723148989u,
	0xdd555950609dfe03u,
	0xdbafb150deb12801u,
	0x7e789b2e6c442cb7u,
	0xf41e5636c7e4f8c5u,
	0x0959d150f8fba7e5u,
	0xa97316f13cdb9eebu,
	0x74cd8258f9520069u,
	0x55c74a62e116868bu,
	0xd2f4c799a2023cbdu,
	0xdf98cb79a37b51b9u,
	0x396f5885524f3905u,
	0xaf1d56386ca3b277u,
	0xa9ffbe6b5104e85bu,
	0x6bd0c51b9fd533b3u,
	0x980ce91c50ab4b57u,
	0x28ac395780fe62c5u,
	0x768912e3a6bcedc7u,
	0x50b3e8c9332c7c89u,
	0xce3bbfe520bd47dbu,
	0xcba6c8e8e0bb7c4fu,
	0xbf194db8434a346du,
	0x7d8f2a7b60416d7fu,
	0x0849d1f6e0e10a5fu,
	0x7654b590d064e22fu,
	0x16d1da9507df3af3u,
	0xf63aef1089ea30e5u,
	0x9ade6673cc6c522bu,
	0x4c75bc274e37087du,
	0xd35e12b49f51f27bu,
	0x22ddf2ffcee481ebu,
};

/*
 * Of up to PMH_HASH_KEYS words: pairs of words, each with a key added, are multiplied and summed, so that the
 * processor works on all of them at once (NH of Black et al., UMAC, CRYPTO 1999). Never 0.
 */
PMH_INLINE uint64_t pmh_hash_words(uint64_t seed, const uint64_t *words, unsigned word_count)
{
	uint64_t low = seed + word_count, high = 0;

#pragma GCC unroll 16
	for (unsigned i = 0; i < word_count; i += 2) {
		uint64_t second = i + 1 < word_count ? words[i + 1] : 0;
		unsigned __int128 product =
			(unsigned __int128)(words[i] + pmh_hash_keys[i]) * (second + pmh_hash_keys[i + 1]);

		low += (uint64_t)product;
		high ^= (uint64_t)(product >> 64);
	}
	return pmh_mix(low ^ 0x9e3779b97f4a7c15u, high ^ 0xd6e8feb86659fd93u) | 1;
}

/* The number behind a hash, or 0. */
static inline uint32_t pmh_found(uint64_t hash)
{
	for (unsigned i = (unsigned)(hash >> 40) % PMH_SLOTS;; i = (i + 1) % PMH_SLOTS) {
		uint64_t there = atomic_load_explicit(&pmh_slots[i].hash, memory_order_acquire);

		if (there == hash)
			return pmh_slots[i].number;
		if (there == 0)
			return 0;
	}
}

/*
 * The number of the operation with these values; values[0] is the function (enum pm_call). A new one is
 * written to the trace, with its call site. When the table is full, addresses are left out, then all values;
 * that is counted.
 */
uint32_t pmh_new_operation(uint64_t hash, const uint64_t *values, unsigned value_count);
PMH_INLINE uint32_t pmh_operation(const uint64_t *values, unsigned value_count)
{
	uint64_t hash = pmh_hash_words(PM_ENTRY_OPERATION, values, value_count);
	uint32_t number = pmh_found(hash);

	return __builtin_expect(number != 0, 1) ? number : pmh_new_operation(hash, values, value_count);
}

uint32_t pmh_string(const char *text);
uint32_t pmh_descriptor_number(enum pm_descriptor_kind kind, const int64_t *values, unsigned value_count);
uint16_t pmh_queue_number(int device, const void *stream, unsigned generation);
uint32_t pmh_communicator_number(int rank, int size, int device, uint64_t hash);
uint32_t pmh_graph_number(const struct pm_graph_node *nodes, unsigned node_count);
void pmh_note(const char *text);
void pmh_window_entry(bool open, uint32_t iteration);
void pmh_device_entry(const struct pm_entry_device *device, const char *name);

/* A hash of an operation without any address; 0 where it was not kept, which is only while iterations are
 * counted. */
uint64_t pmh_coarse_hash(uint32_t op);
static inline bool pmh_coarse_is_input(uint64_t coarse_hash) /* a copy from the host */
{
	return coarse_hash & 2;
}
void pmh_intern_forget(void);
uint64_t pmh_hash(uint64_t seed, const void *words, size_t byte_count);

/* ---- device_describe.c ---- */

/* Writes down what the device is, once, when the driver answers. Takes the loader's lock, so no lock of ours
 * may be held. May change errno. */
void pmh_device_describe(int ordinal);
void pmh_device_describe_forget(void);

/* ---- call_site.c ---- */

/* Loads the unwinder. Takes the loader's lock, so no lock of ours may be held. */
void pmh_call_site_init(void);

/* The stack of the hooked call as text, "symbol < caller < ...", innermost first; "" where it cannot be had.
 */
void pmh_call_site(char *text, size_t text_bytes);
void pmh_call_site_forget(void);

/* ---- python_process.c ---- */

/* Finds the process's Python interpreter. Takes the loader's lock, so no lock of ours may be held. */
void pmh_python_init(void);

/* After the settings were read and the trace is open: notes what was found. */
void pmh_python_begin(void);

/* The path of the nn.Module that the calling thread is in, "net.layer1.0.conv1". False: none, or not for
 * certain; then text is "". Python's lock is not taken. */
bool pmh_python_module(char *text, size_t text_bytes);

/* The innermost callers in Python, "Net.forward (net.py:12) < train (train.py:40)". False: none. */
bool pmh_python_callers(char *text, size_t text_bytes);
void pmh_python_forget(void);

/* ---- device_time.c: pairs of events around a call ---- */

/* Whether device times are wanted. CUDA's functions for them may be found later. */
extern bool pmh_device_timed;

/* Finds the CUDA functions that are needed, if they are there. Takes the loader's lock, so no lock of ours
 * may be held.
 */
void pmh_device_prepare(void);
void pmh_device_init(void);
void pmh_device_found(void); /* they are: says so in the trace */
void pmh_device_forget(void);
struct pmh_interval pmh_device_begin(struct pmh_thread *self, int device, cudaStream_t stream);
void pmh_device_end(struct pmh_interval interval, cudaStream_t stream, uint32_t op, uint32_t correlation,
	uint16_t queue, uint8_t flags);

/* Collects what is ready, of all threads. Never waits for the device. all: at the end, so wait for our own
 * lock. */
void pmh_device_collect(struct pmh_thread *self, bool all);
void pmh_device_leave(struct pmh_thread *self);

/* At exit: collects what is ready, counts the rest as lost. */
void pmh_device_finish(struct pmh_thread *self);

/* Around a call that may take a device's context away, and with it all events: between the two none is
 * touched. */
void pmh_device_going(struct pmh_thread *self, int device);
void pmh_device_went(int device, bool gone);
uint64_t pmh_device_times(void); /* written as records */

/* Whether a call goes into a graph. Beside a capture the default stream does its work, but takes no events.
 */
enum pmh_captured_as {
	PMH_NOT_CAPTURED,
	PMH_IS_CAPTURED,
	PMH_BESIDE_CAPTURE,
};
enum pmh_captured_as pmh_capturing(cudaStream_t stream);

/* An error that a call of ours left in the runtime; the host must not find it. */
void pmh_device_clear_error(void);

/* ---- graph.c: capture ---- */

/* Finds the functions that are needed. Takes the loader's lock, so no lock of ours may be held. */
void pmh_graph_prepare(void);
void pmh_graph_forget(void);
bool pmh_capture_under_way(void); /* any, in the process */

/* A capture has begun on the stream; a call that ends it is over, and may have failed. */
void pmh_capture_begun(cudaStream_t stream, int device);
void pmh_capture_ended(cudaStream_t stream);

/* Captures end with their stream, too, which must not be asked about then, and with their device; those of the
 * per-thread default stream with the calling thread. The first says whether there was one. */
bool pmh_capture_forgotten(cudaStream_t stream);
void pmh_capture_device_gone(int device);
void pmh_capture_thread_gone(void);

/* Notes a call that went into the graph which is being captured on the stream. After the call. */
void pmh_captured(cudaStream_t stream, uint32_t op);

/* The end of an NCCL group adds the nodes of the calls in it: they are given to the last. */
void pmh_captured_late(cudaStream_t stream);

/* An executable graph was made, or brought up to date, from a graph. */
void pmh_graph_instantiated(cudaGraphExec_t exec, cudaGraph_t graph);
void pmh_graph_destroyed(cudaGraph_t graph); /* its address may come again */
uint32_t pmh_graph(cudaGraphExec_t exec);    /* number of a graph in the trace, 0: its making was not seen */

/* ---- device_cupti.c: activity records of CUPTI ---- */

enum pmh_cupti_state {
	PMH_CUPTI_UNTRIED, /* begins with the first work for a device */
	PMH_CUPTI_STARTING,
	PMH_CUPTI_ON,
	PMH_CUPTI_ENDING, /* another tool comes */
	PMH_CUPTI_OFF,    /* not to be had, not wanted, or left to another tool: events are used */
};
extern _Atomic int pmh_cupti_state;

/* Says whether CUPTI may be used, from the settings. */
void pmh_cupti_init(void);
void pmh_cupti_forget(void);

/* Tells CUPTI that the work which the calling thread submits from now on belongs to a call. False: CUPTI is
 * not in use, so events are. Begins its use at the first call; takes the loader's lock then, so no lock of
 * ours may be held. */
bool pmh_cupti_begin_slowly(struct pmh_place place, uint32_t correlation, uint8_t flags);
static inline bool pmh_cupti_begin(struct pmh_place place, uint32_t correlation, uint8_t flags)
{
	return atomic_load_explicit(&pmh_cupti_state, memory_order_relaxed) <= PMH_CUPTI_ON &&
	       pmh_cupti_begin_slowly(place, correlation, flags);
}
void pmh_cupti_end(void);

/* The same for the end of an NCCL group: the work of all its calls begins now. */
bool pmh_cupti_group_begin(const struct pmh_grouped *calls, unsigned call_count);

/* A handle may mean a new stream from now on. */
void pmh_cupti_stream_created(void);

/* A context is about to be destroyed: has CUPTI hand over what it knows of it. */
void pmh_cupti_context_going(void);

/* At exit: collects what is complete, for at most two seconds. */
void pmh_cupti_finish(void);
uint64_t pmh_cupti_times(void); /* written as records */

/* ---- place.c, descriptor.c, communicator.c, value.c: what rows need to know of handles and descriptors ----
 */

void pmh_describe_forget(void);

struct pmh_place pmh_find_stream(cudaStream_t stream);
struct pmh_place pmh_find_handle(const void *handle);

/* Grows when a stream or handle comes to mean another place. */
extern _Atomic unsigned pmh_place_epoch;

/* A thread mostly asks for the same place again. Streams and handles are addresses, so they can share one
 * memory. */
PMH_INLINE bool pmh_same_place(const void *asked)
{
	return pmh_self.last_asked == asked &&
	       pmh_self.last_epoch == atomic_load_explicit(&pmh_place_epoch, memory_order_acquire);
}
PMH_INLINE struct pmh_place pmh_place_of_stream(cudaStream_t stream)
{
	return stream && pmh_same_place(stream) ? pmh_self.last_place : pmh_find_stream(stream);
}
PMH_INLINE struct pmh_place pmh_place_of_handle(const void *handle)
{
	return handle && pmh_same_place(handle) ? pmh_self.last_place : pmh_find_handle(handle);
}
/* The same for the twins of functions, in which 0 is the thread's own default stream. */
#define PMH_PER_THREAD_STREAM ((cudaStream_t)2) /* cudaStreamPerThread, CU_STREAM_PER_THREAD */
PMH_INLINE struct pmh_place pmh_place_of_per_thread_stream(cudaStream_t stream)
{
	return pmh_place_of_stream(stream ? stream : PMH_PER_THREAD_STREAM);
}
void pmh_stream_created(cudaStream_t stream);
void pmh_stream_gone(cudaStream_t stream); /* its handle may come again, and is another queue then */
void pmh_streams_gone(int device);         /* all of a device */
void pmh_device_set(int device);
void pmh_context_made(const void *context, int device);
void pmh_context_created(const void *context, int device); /* and made current */
void pmh_context_current(const void *context);
void pmh_context_popped(void);
int pmh_context_device(const void *context); /* the current one where it is not known */
bool pmh_primary_context_active(int device);
void pmh_handle_created(const void *handle);
void pmh_handle_stream(const void *handle, cudaStream_t stream);
void pmh_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode);

uint32_t pmh_descriptor(const void *descriptor); /* number of its present content, 0: not known */
uint64_t pmh_type_of_cudnn(cudnnDataType_t type);
uint64_t pmh_cuda_type(cudaDataType_t type);
uint64_t pmh_compute_type(cublasComputeType_t type);
uint64_t pmh_nccl_type(ncclDataType_t type);
size_t pmh_type_bytes(uint64_t type);

/* The scale that a scalar of cuDNN's is: on the host, double where the result's tensor or filter is, else float. */
uint64_t pmh_scale(const void *beta, const void *result);

/* What a scalar multiplies with (PM_VALUE_SCALE). In a wrapper the type is a constant, and little is left of
 * this. */
PMH_INLINE uint64_t pmh_scale_typed(const void *beta, uint64_t type)
{
	uint64_t wide = 0, one = 0x3f800000u;
	uint32_t narrow = 0;
	uint16_t half = 0;

	if (!beta)
		return 3;
	if (type == PM_TYPE_F64) {
		memcpy(&wide, beta, sizeof wide);
		one = 0x3ff0000000000000u;
	} else if (type == PM_TYPE_F16) {
		memcpy(&half, beta, sizeof half);
		wide = half;
		one = 0x3c00u;
	} else {
		memcpy(&narrow, beta, sizeof narrow);
		wide = narrow;
		one = type == PM_TYPE_I32 ? 1 : one;
	}
	return wide == 0 ? 0 : wide == one ? 1 : 2;
}
static inline uint64_t pmh_scale_of(cublasHandle_t handle, const void *beta, uint64_t type)
{
	return pmh_place_of_handle(handle).device_pointers ? 3 : pmh_scale_typed(beta, type);
}

void pmh_set_tensor_4d(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n,
	int c, int h, int w);
void pmh_set_tensor_4d_strided(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, const int *dims, const int *strides);
void pmh_set_tensor_nd(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, const int *dims, const int *strides);
void pmh_set_tensor_packed(
	cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n, const int *dims);
void pmh_set_filter(
	cudnnFilterDescriptor_t d, cudnnDataType_t type, cudnnTensorFormat_t format, int n, const int *dims);
void pmh_set_convolution(cudnnConvolutionDescriptor_t d, int n, const int *pads, const int *strides,
	const int *dilations, cudnnConvolutionMode_t mode, cudnnDataType_t type);
void pmh_set_convolution_groups(cudnnConvolutionDescriptor_t d, int groups);
void pmh_set_convolution_math(cudnnConvolutionDescriptor_t d, cudnnMathType_t math);
void pmh_set_pooling(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode, int n, const int *windows,
	const int *pads, const int *strides);
void pmh_set_activation(cudnnActivationDescriptor_t d, cudnnActivationMode_t mode, double coefficient);
void pmh_set_dropout(cudnnDropoutDescriptor_t d, float probability, unsigned long long seed);
void pmh_set_op_tensor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op, cudnnDataType_t type);
void pmh_set_reduce(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t op, cudnnDataType_t type,
	cudnnReduceTensorIndices_t indices);
void pmh_set_lrn(cudnnLRNDescriptor_t d, unsigned n, double alpha, double beta, double k);
void pmh_set_rnn(cudnnRNNDescriptor_t d, cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
	cudnnDirectionMode_t direction, cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnMathType_t math,
	int input_size, int hidden_size, int projection_size, int layers);
void pmh_set_rnn_data(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, int length, int batch, int vector);
void pmh_set_attention(cudnnAttnDescriptor_t d, const int sizes[12]);
void pmh_set_sequence(cudnnSeqDataDescriptor_t d, cudnnDataType_t type, int n, const int *dims);

uint32_t pmh_comm(ncclComm_t comm); /* number, 0: not known */
void pmh_comm_init(ncclComm_t *comm, int size, const ncclUniqueId *ids, int id_count, int rank);
void pmh_comm_init_all(ncclComm_t *comms, int count, const int *devices);
void pmh_comm_split(ncclComm_t parent, int colour, ncclComm_t *comm);
void pmh_comm_shrink(ncclComm_t parent, const int *excluded, int excluded_count, ncclComm_t *comm);
void pmh_group_begin(void);

/* Ordinal of a call among those of its function on the communicator, from 1; the same on all ranks. */
uint32_t pmh_comm_sequence(uint32_t communicator, enum pm_call call);
void pmh_comm_forget(void);

/* matmul.c: cublasLt. Addresses are 0 where the epilogue has none. */
struct pmh_matmul {
	int64_t transa, transb, m, n, k, batch, epilogue;
	uint64_t type, beta, bias, dbias, aux;
};
struct pmh_matmul pmh_matmul(const void *matmul, const void *a, const void *d, const void *beta);
void pmh_matmul_made(const void *matmul, cublasComputeType_t type);
void pmh_matmul_set(
	const void *matmul, cublasLtMatmulDescAttributes_t name, const void *value, size_t value_bytes);
void pmh_layout_made(const void *layout, cudaDataType_t type, uint64_t rows, uint64_t columns, int64_t ld);
void pmh_layout_set(
	const void *layout, cublasLtMatrixLayoutAttribute_t name, const void *value, size_t value_bytes);

/* backend_descriptor.c: cuDNN's graph API */
void pmh_backend_made(const void *descriptor, cudnnBackendDescriptorType_t type);
void pmh_backend_set(const void *descriptor, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t count, const void *elements);
void pmh_backend_got(
	const void *descriptor, cudnnBackendAttributeName_t name, int64_t count, const void *elements);
void pmh_backend_finalized(const void *descriptor);
void pmh_backend_gone(const void *descriptor);
void pmh_backend_forget(void);

/* Kernels by the address that the application launches them with; the name must stay where it is. */
void pmh_kernel_named(const void *function, const char *name);
uint32_t pmh_kernel_name(const void *function); /* number of a string, 0: not known */

/* The same for handles of functions: the name need not stay; a second handle may mean the same function. */
void pmh_function_named(const void *function, const char *name);
void pmh_function_same(const void *function, const void *as);
void pmh_kernel_forget(void);

/* An object is about to be destroyed. */
void pmh_object_gone(const void *address);

/* Values of rows whose parameters lie behind a pointer; 0 for a NULL. */
uint64_t pmh_extent_bytes(const struct cudaMemcpy3DParms *p);
uint64_t pmh_peer_extent_bytes(const struct cudaMemcpy3DPeerParms *p);
uint64_t pmh_3d_kind(const struct cudaMemcpy3DParms *p);
uint64_t pmh_sum(const size_t *sizes, size_t count);
const cudaLaunchConfig_t *pmh_config(const cudaLaunchConfig_t *config); /* never NULL */
const CUlaunchConfig *pmh_driver_config(const CUlaunchConfig *config);  /* never NULL */
uint64_t pmh_driver_2d_bytes(const CUDA_MEMCPY2D *p);
uint64_t pmh_driver_2d_direction(const CUDA_MEMCPY2D *p);
uint64_t pmh_driver_3d_bytes(const CUDA_MEMCPY3D *p);
uint64_t pmh_driver_3d_direction(const CUDA_MEMCPY3D *p);
uint64_t pmh_driver_3d_peer_bytes(const CUDA_MEMCPY3D_PEER *p);

/* ---- window.c: when recording is on ---- */

/* Whether records are written. Outside a window calls are looked at, but leave none. */
extern _Atomic bool pmh_window_open;
void pmh_window_init(void);

/* Whether pmh_window_count wants to see each operation of the device, to count iterations. */
extern bool pmh_window_counts;
void pmh_window_count(struct pmh_thread *self, uint32_t op);
void pmh_window_leave(const struct pmh_thread *self); /* the thread ends */

/* At exit: says so if the window never came. */
void pmh_window_finish(void);

/* The application's profiler start and stop. */
void pmh_profiler(bool on);

/* ---- worker.c: file input of processes that make no device call ---- */

/* A child after fork works for the parent, whose header this is; NULL: for whom the parent works. */
void pmh_worker_forked(struct pm_header *header);

/* Whether there is a process that we read for. */
bool pmh_is_worker(void);
void pmh_worker_read(uint64_t ns, int64_t bytes);

/* ---- hook_file.c ---- */

/* Forgets the paths behind descriptors: their numbers belong to another trace. */
void pmh_files_forget(void);

/* ---- hook.c: around each call ---- */

/*
 * Whether the wrapper should record: true at depth 0 while recording. Decides the state at the first call; the
 * settings, the clock and whatever else was decided come with the state.
 * `mark` is a word of the wrapper's stack frame that holds PMH_MARK: a call at a greater depth is let through
 * while the wrapper of the outer one is there; if that was left by an exception, by longjmp or the like, the
 * thread begins anew with this call (left.c).
 */
bool pmh_wanted_slowly(const uint64_t *mark, const void *caller);
PMH_INLINE bool pmh_wanted(const uint64_t *mark)
{
	if (__builtin_expect(pmh_self.depth == 0 &&
				     atomic_load_explicit(&pmh_state, memory_order_acquire) == PMH_RECORDING,
		    1))
		return true;
	return pmh_wanted_slowly(mark, __builtin_return_address(0));
}

/* Whether the wrapper that the mark belongs to still has the thread's frame; false: it was taken for left. */
PMH_INLINE bool pmh_has_frame(const uint64_t *mark)
{
	return __builtin_expect(pmh_self.frame.mark == mark, 1);
}

/* The thread comes into a wrapper. Until the frame has a call, nothing is known of it. */
PMH_INLINE void pmh_frame_begin(const uint64_t *mark)
{
	pmh_self.depth = 1;
	pmh_self.frame.mark = mark;
	pmh_self.frame.call = PM_CALL_NONE;
}

/* ---- left.c: calls that do not return ---- */

/* Whether the thread is in a hooked call. False also if it was, and has left it without a return: then that
 * is recorded, and the thread's depth is 0. At depth 1 or more. */
bool pmh_is_inside(const uint64_t *mark, const void *caller);

/* The thread's call, if it is in one, does not return: records it so. */
void pmh_frame_left(struct pmh_thread *self);

void pmh_left_forget(void);

/* What is not recorded, because the call did not return: gives back the pair of events. */
void pmh_device_left(struct pmh_interval interval);

/* Around the real call in a wrapper written by hand, after pmh_frame_begin; values[0] is the function that it
 * is recorded as. */
void pmh_call_begin(struct pmh_place place, const uint64_t *values, unsigned value_count);
void pmh_call_end(const uint64_t *mark, enum pm_call call, int result);

/* Appends a call's record, of the common kind: it succeeded and nothing more is to be said. */
PMH_INLINE void pmh_append_call(
	struct pmh_thread *self, uint64_t begin, uint64_t end, uint32_t op, uint16_t queue, uint8_t flags)
{
	uint64_t since = begin - self->base[0], duration = end - begin;
	uint64_t *slot;

	if (__builtin_expect(self->next == self->end || (since | duration) >> 32, 0)) {
		pmh_append_slowly(self,
			&(struct pmh_record){.begin = begin,
				.end = end,
				.op = op,
				.queue = queue,
				.kind = PM_RECORD_CALL,
				.flags = flags},
			NULL);
		return;
	}
	slot = (uint64_t *)(void *)self->next++;
	__atomic_store_n(slot, since | duration << 32, __ATOMIC_RELAXED);
	/* the word as it lies in memory, built in a register: `kind` must come with it, and last */
	__atomic_store_n(slot + 1,
		op | (uint64_t)queue << 32 | (uint64_t)PM_RECORD_CALL << 48 | (uint64_t)flags << 56,
		__ATOMIC_RELEASE);
	atomic_store_explicit(&self->record_count,
		atomic_load_explicit(&self->record_count, memory_order_relaxed) + 1, memory_order_relaxed);
}

#endif
