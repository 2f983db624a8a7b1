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

#include "pm_abi.h"
#include "pm_format.h"
#include "pm_hooks.h"
#include "settings.h"

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

/* A thread. Lives in its own thread-local storage; other threads read it only through the list, under its
 * lock. */
struct pmh_thread {
	int depth;                    /* of hooked calls; inside one, calls are let through */
	uint32_t number;              /* ordinal in the process, from 1; 0: not seen yet */
	int device;                   /* current, as cudaSetDevice said */
	struct pm_record *next, *end; /* room in the chunk */
	struct pm_chunk *chunk;
	uint64_t chunk_count;
	uint64_t lost_count;
	_Atomic uint64_t record_count; /* written by the thread alone */
	_Atomic uint64_t call_count;   /* in mode `count` */
	unsigned timed_count;
	struct pmh_ring *rings[PMH_DEVICES];
	const void *last_asked; /* stream or handle that last_place is the place of, while last_epoch holds */
	struct pmh_place last_place;
	unsigned last_epoch;
	int group_depth;
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

/* A lock for the rare paths. It spins, then yields: what it guards is short, a few system calls at most, and
 * never the host's code. */
typedef atomic_flag pmh_lock;
void pmh_wait_for(pmh_lock *lock);
static inline void pmh_acquire(pmh_lock *lock)
{
	if (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		pmh_wait_for(lock);
}
static inline void pmh_release(pmh_lock *lock)
{
	atomic_flag_clear_explicit(lock, memory_order_release);
}

/* ---- resolve.c: the functions behind the wrappers ---- */

/* The real function behind a wrapper, or NULL where its library is not loaded. Async-signal-safe once found.
 */
extern _Atomic(void *) pmh_functions[PM_CALL_COUNT];
void *pmh_find_real(enum pm_call call);
static inline void *pmh_real(enum pm_call call)
{
	void *f = atomic_load_explicit(&pmh_functions[call], memory_order_relaxed);

	return __builtin_expect(f != NULL, 1) ? f : pmh_find_real(call);
}

/* Functions that the hook calls and does not hook, like cudaGetLastError; NULL where there is none. */
void *pmh_real_cudart(const char *name);
void *pmh_real_nccl(const char *name);

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

/* Room for one record more in the thread's chunk; false: lost (and counted). */
bool pmh_trace_room(struct pmh_thread *self);

/* Gives up the thread's chunk, when the thread ends. */
void pmh_trace_leave(struct pmh_thread *self);

/* Appends an entry with the given body parts to the dictionary. Guarded by the caller's lock (intern.c). */
void pmh_trace_entry(
	enum pm_entry_type type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes);

/* Says who we are: written to the header at once. world < 0 keeps what is there. */
void pmh_trace_rank(int rank, int world);
void pmh_trace_device_source(enum pm_device_source source);

/* Records lost so far. */
uint64_t pmh_trace_lost(void);

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
extern const uint64_t pmh_hash_keys[PMH_HASH_KEYS];

static inline uint64_t pmh_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

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
uint16_t pmh_queue_number(int device, const void *stream);
uint32_t pmh_communicator_number(int rank, int size, int device, uint64_t hash);
void pmh_note(const char *text);
void pmh_intern_forget(void);
uint64_t pmh_lost_operations(void);
uint64_t pmh_hash(uint64_t seed, const void *words, size_t byte_count);

/* ---- call_site.c ---- */

/* Loads the unwinder. Takes the loader's lock, so no lock of ours may be held. */
void pmh_call_site_init(void);

/* The stack of the hooked call as text, "symbol < caller < ...", innermost first; "" where it cannot be had.
 */
void pmh_call_site(char *text, size_t text_bytes);
void pmh_call_site_forget(void);

/* ---- device_time.c: pairs of events around a call ---- */

/* Whether device times are taken at all. */
extern bool pmh_device_timed;

/* Finds the CUDA functions that are needed. Takes the loader's lock, so no lock of ours may be held. */
void pmh_device_prepare(void);
void pmh_device_init(void);
void pmh_device_forget(void);
struct pmh_interval pmh_device_begin(struct pmh_thread *self, int device, cudaStream_t stream);
void pmh_device_end(struct pmh_interval interval, cudaStream_t stream, uint32_t op, uint32_t correlation,
	uint16_t queue, uint8_t flags);

/* Collects what is ready, of all threads. Never waits for the device. all: at the end, so wait for our own
 * lock. */
void pmh_device_collect(struct pmh_thread *self, bool all);
void pmh_device_leave(struct pmh_thread *self);
uint64_t pmh_lost_device_times(void);
uint64_t pmh_device_times(void); /* written as records */

/* True while the stream is being captured: then nothing may be recorded on it. */
bool pmh_capturing(cudaStream_t stream);
void pmh_capture_begun(void);
void pmh_capture_ended(void);

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
void pmh_stream_created(cudaStream_t stream);
void pmh_device_set(int device);
void pmh_handle_created(const void *handle);
void pmh_handle_stream(const void *handle, cudaStream_t stream);
void pmh_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode);

uint32_t pmh_descriptor(const void *descriptor); /* number of its present content, 0: not known */
uint64_t pmh_type_of_cudnn(cudnnDataType_t type);
uint64_t pmh_cuda_type(cudaDataType_t type);
uint64_t pmh_compute_type(cublasComputeType_t type);
uint64_t pmh_nccl_type(ncclDataType_t type);
size_t pmh_type_bytes(uint64_t type);
uint64_t pmh_scale(const void *beta);
uint64_t pmh_scale_of(cublasHandle_t handle, const void *beta, uint64_t type);

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

uint32_t pmh_comm(ncclComm_t comm); /* number, 0: not known */
void pmh_comm_init(ncclComm_t *comm, int size, const ncclUniqueId *ids, int id_count, int rank);
void pmh_comm_init_all(ncclComm_t *comms, int count, const int *devices);
void pmh_comm_split(ncclComm_t parent, int colour, ncclComm_t *comm);
void pmh_comm_shrink(ncclComm_t parent, const int *excluded, int excluded_count, ncclComm_t *comm);
void pmh_group_begin(void);

/* Kernels by the address that the application launches them with; the name must stay where it is. */
void pmh_kernel_named(const void *function, const char *name);
uint32_t pmh_kernel_name(const void *function); /* number of a string, 0: not known */

/* Values of rows whose parameters lie behind a pointer; 0 for a NULL. */
uint64_t pmh_extent_bytes(const struct cudaMemcpy3DParms *p);
uint64_t pmh_peer_extent_bytes(const struct cudaMemcpy3DPeerParms *p);
uint64_t pmh_3d_kind(const struct cudaMemcpy3DParms *p);
uint64_t pmh_sum(const size_t *sizes, size_t count);
const cudaLaunchConfig_t *pmh_config(const cudaLaunchConfig_t *config); /* never NULL */

/* ---- hook_file.c ---- */

/* Forgets the paths behind descriptors: their numbers belong to another trace. */
void pmh_files_forget(void);

/* ---- hook.c: around each call ---- */

struct pmh_frame {
	uint64_t begin, end;
	uint32_t op, correlation;
	uint8_t flags;
	struct pmh_place place;
	struct pmh_interval interval;
};

/* Whether the wrapper should record: true at depth 0 while recording. Decides the state at the first call. */
bool pmh_wanted_slowly(void);
static inline bool pmh_wanted(void)
{
	if (__builtin_expect(pmh_self.depth == 0 &&
				     atomic_load_explicit(&pmh_state, memory_order_relaxed) == PMH_RECORDING,
		    1))
		return true;
	return pmh_wanted_slowly();
}

PMH_INLINE void pmh_append(struct pmh_thread *self, uint64_t begin, uint64_t end, uint32_t op,
	uint32_t correlation, int32_t result, uint16_t queue, uint8_t kind, uint8_t flags)
{
	struct pm_record *slot;
	/* the last word as it lies in memory, built in a register: `kind` must come with it, and last */
	uint64_t last =
		(uint32_t)result | (uint64_t)queue << 32 | (uint64_t)kind << 48 | (uint64_t)flags << 56;

	if (__builtin_expect(self->next == self->end, 0) && !pmh_trace_room(self))
		return;
	slot = self->next++;
	__atomic_store_n(&slot->begin, begin, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->end, end, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->op, op, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->correlation, correlation, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)(void *)&slot->result, last, __ATOMIC_RELEASE);
	atomic_store_explicit(&self->record_count,
		atomic_load_explicit(&self->record_count, memory_order_relaxed) + 1, memory_order_relaxed);
}

#endif
