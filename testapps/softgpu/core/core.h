/*
 * The core's header: threads, devices, contexts, streams, events and memory blocks, as its files
 * and those of the runtime and the driver API share them.
 *
 * The one idea: the core and the calls above it (calls/) are a library of their own, libsoftgpu.so; libcudart
 * and libcuda export thin shells around its functions and never call an exported function, so whoever
 * intercepts those sees the application's calls and nothing else.
 */
#ifndef SG_CORE_H
#define SG_CORE_H

#include "sg.h"
#include "pool.h"
#include "wait.h"

#define SG_LIKELY(x) __builtin_expect(!!(x), 1)
#define SG_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SG_DEVICE_LIMIT 64
#define SG_CONTEXT_DEPTH 64

struct sg_context;
struct sg_memory_pool;
struct sg_stream;
struct sg_capture;
struct sg_graph;

/* ---- what each thread has (device.c) ---- */

/* Not 0 in sg_thread.unusual: no context is current, the application's code runs on a stream's worker. */
enum { SG_UNBOUND = 1, SG_IN_HOST_FUNCTION = 2 };

struct sg_thread {
	int device; /* that of the current context; while there is none, the one the runtime would use */
	unsigned unusual;
	cudaError_t last_error;
	int null_is_per_thread;                        /* inside a call of the _ptsz and _ptds kind */
	struct sg_context *contexts[SG_CONTEXT_DEPTH]; /* the last of them is current */
	unsigned context_count;
	enum cudaStreamCaptureMode capture_mode;
	struct sg_stream *worker;      /* the stream this thread serves, or NULL */
	struct sg_stream **per_thread; /* cudaStreamPerThread of each device, NULL before the first use */
	/* While somebody watches: the exported call under way, and that of a stand-in library. */
	struct sg_call_seen call;
	int call_told;
	const struct sg_watcher *call_watcher; /* whose it is */
	const char *library_call;
};
extern __thread struct sg_thread sg_self;

/* ---- entering and leaving an exported function (device.c) ---- */

/* Not 0 when a call must look closer: not initialised yet, forked, faults asked for, a device has failed, a
 * context has gone. */
extern _Atomic unsigned sg_attention;
enum {
	SG_NOT_READY = 1,
	SG_FORKED = 2,
	SG_FAULTS = 4,
	SG_FAILED = 8,
	SG_EXITING = 16,
	SG_DESTROYED = 32,
	SG_WATCHED = 64,
	SG_NAMED = 128 /* calls' names are asked for */
};

/* How much a call looks at: SG_CALL answers the device's asynchronous error, SG_CALL_HOST does not. */
enum sg_call { SG_CALL, SG_CALL_HOST };
cudaError_t sg_enter_slow(const char *name, cudaError_t fault, enum sg_call call);

static inline cudaError_t sg_enter(const char *name, cudaError_t fault, enum sg_call call)
{
	if (SG_LIKELY(atomic_load_explicit(&sg_attention, memory_order_relaxed) == 0 && sg_self.unusual == 0))
		return cudaSuccess;
	return sg_enter_slow(name, fault, call);
}

/* Remembers an error for cudaGetLastError and hands it on; "not ready" counts as one, as it does with the
 * vendor. */
static inline cudaError_t sg_result(cudaError_t error)
{
	if (SG_UNLIKELY(error != cudaSuccess))
		sg_self.last_error = error;
	return error;
}

/* First line of every exported function; `fault` is what an injected failure answers. */
#define SG_ENTER_AS(fault, call) \
	do { \
		cudaError_t enter_error_ = sg_enter(__func__, fault, call); \
		if (SG_UNLIKELY(enter_error_ != cudaSuccess)) \
			return sg_result(enter_error_); \
	} while (0)
#define SG_ENTER(fault) SG_ENTER_AS(fault, SG_CALL)

/* Devices that the process sees, 0 to SG_DEVICE_LIMIT; and which of the machine's one of them is
 * (CUDA_VISIBLE_DEVICES). */
int sg_device_count(void);
int sg_device_place(int device);
int sg_machine_device_count(void);
static inline int sg_device_exists(int device)
{
	return device >= 0 && device < sg_device_count();
}
/* The failure that work on the device met, cudaSuccess if none. */
cudaError_t sg_device_error(int device);
void sg_device_clear_error(int device);
/* Starts the process's state; 0, or -1 in a forked child. Called by sg_enter and sg_submit. */
int sg_ready(void);
/* Waits for the device's work, then destroys its streams, events and memory and forgets its failure. */
void sg_device_reset(int device);
/* Runs the application's code as a part of a stream's work. */
void sg_host_begin(void);
void sg_host_end(void);

/* ---- contexts (context.c) ---- */

struct sg_context {
	struct sg_slot slot;
	int device;
	int primary;
	unsigned flags;
	unsigned api_version;
	uint64_t id;                 /* never used again */
	_Atomic int active;          /* a primary context: it is in use */
	_Atomic unsigned references; /* of a primary context, those of the driver's callers */
	_Atomic int runtime_uses;    /* the runtime refers to the primary context too */
};

/* The first slots, 0 to sg_device_count() - 1, are the primary contexts. */
extern struct sg_pool sg_contexts;

struct sg_context *sg_context_open(int device, unsigned flags, int primary);
static inline struct sg_context *sg_context_primary(int device)
{
	return sg_pool_at(&sg_contexts, (uint32_t)device);
}
/* The calling thread's current context, or NULL. */
static inline struct sg_context *sg_context_current(void)
{
	return sg_self.context_count > 0 ? sg_self.contexts[sg_self.context_count - 1] : NULL;
}
/* Whether the context may be used: not destroyed, and the primary context is active. */
int sg_context_usable(const struct sg_context *context);
/* Makes the context current in place of the one that is (NULL: only takes that one away). */
void sg_context_set(struct sg_context *context);
/* cudaErrorIllegalState when the stack is full. */
cudaError_t sg_context_push(struct sg_context *context);
/* NULL when there is none. */
struct sg_context *sg_context_pop(void);
/* Makes the device's primary context current, as the runtime's calls do when none is. */
void sg_context_bind(int device);
/* One more use of the primary context. */
void sg_context_retain(struct sg_context *primary);
/* One use less; without any the device is reset. cudaErrorDeviceUninitialized when it was not in use. */
cudaError_t sg_context_release(struct sg_context *primary);
/* The primary context and all on its device are gone, until it is used again. */
void sg_context_reset(struct sg_context *primary);
/* Destroys a context that the application made, with its streams and memory. */
void sg_context_close(struct sg_context *context);

/* ---- streams (stream.c) and their queues (queue.c) ---- */

enum sg_stream_kind { SG_LEGACY, SG_PER_THREAD, SG_CREATED };

/* What a worker does: sg_stream.busy. */
enum { SG_BETWEEN, SG_COMPUTING, SG_WAITING };

struct sg_chunk;

/* Positions of a stream whose ends the model clock remembers. */
#define SG_ENDS 16384

struct sg_stream {
	struct sg_slot slot;
	/* Atomic because those who look through all slots may meet one that is being opened again. */
	_Atomic int device;
	_Atomic unsigned flags; /* cudaStreamNonBlocking or 0 */
	_Atomic int kind;       /* enum sg_stream_kind */
	_Atomic(struct sg_context *) context;
	int priority;
	uint32_t number; /* sg_stream_number */

	/* Producers, under lock; made once, as a closer may still be leaving it when the slot is opened
	 * again. */
	pthread_mutex_t lock;
	int has_lock;
	struct sg_chunk *tail;
	size_t tail_used;
	int started;             /* the worker exists */
	uint64_t legacy_seen;    /* this stream already waits for the legacy stream up to here */
	uint64_t seen_by_legacy; /* and the legacy stream for this one; under the legacy stream's lock */
	_Atomic uint64_t submitted;
	_Atomic uint64_t queued; /* of these, how many went to the worker: all of them by the compute clock */

	/* The model clock; of whoever processes: the worker, or under the lock when all that was submitted is
	 * completed. */
	uint64_t model_ns;      /* when what has been processed ends */
	uint64_t timed_count;   /* operations that took time */
	_Atomic uint64_t *ends; /* of each position, a ring; NULL: by the compute clock */

	/* The worker. */
	_Atomic(struct sg_chunk *) head; /* where it begins to read */
	_Atomic(struct sg_chunk *) spare;
	_Atomic uint32_t sleeping;
	_Atomic uint32_t busy; /* whether it computes, which process exit should wait for */
	int closing;           /* the worker's own: it has met the end */
	uint64_t taken;        /* what workers of this slot have taken from the queue, as they end */
	_Atomic uint64_t completed;
	_Atomic uint32_t waiters, done_word;
	_Atomic uint64_t soonest; /* ~ the lowest position that anybody waits for; 0: nobody has said */

	/* Capture, under sg_capture_lock; `capture` is also read without it. */
	_Atomic(struct sg_capture *) capture;
	uint32_t branch;
	uint32_t frontier; /* 1 + index of the last node, 0: none yet */
};

/* The first slots, 0 to sg_device_count() - 1, are the legacy streams. */
extern struct sg_pool sg_streams;

cudaError_t sg_stream_open(
	struct sg_stream **stream, int device, unsigned flags, int priority, enum sg_stream_kind kind);
/* Returns at once; what is queued still runs, then the worker and the slot go. */
cudaError_t sg_stream_close(struct sg_stream *stream);

/* The stream a handle means for the calling thread, or NULL. */
struct sg_stream *sg_stream_of(cudaStream_t handle);

static inline struct sg_stream *sg_stream_legacy(int device)
{
	return sg_pool_at(&sg_streams, (uint32_t)device);
}
/* Whether the legacy stream of the device and this stream wait for each other. */
int sg_stream_joins_legacy(struct sg_stream *stream, int device);

/* Queues work (see sg_submit); *position, if not NULL, is its place, 0 when it went into a graph. */
cudaError_t sg_queue(struct sg_stream *stream, sg_work *fn, const void *arg, size_t size, uint64_t *position);
/* The same, saying what the work is (NULL: nothing to see). */
cudaError_t sg_queue_as(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position);
/* The same past capture: for the replay of a graph. */
cudaError_t sg_queue_now(struct sg_stream *stream, const struct sg_activity *what, sg_work *fn,
	const void *arg, size_t size, uint64_t *position);
/* Makes what follows in `stream` wait until `other` has done its work up to position. */
cudaError_t sg_queue_wait(struct sg_stream *stream, struct sg_stream *other, uint64_t position);
/* What a closure is that takes no time and cannot block. */
extern const struct sg_activity sg_quick;

/* Lets the worker end after what is queued, and gives the slot back then. */
cudaError_t sg_queue_close(struct sg_stream *stream);

/* Blocks the calling thread until the stream has completed position; hosts until it is over by the model
 * clock too. */
void sg_stream_wait(struct sg_stream *stream, uint64_t position);
static inline uint64_t sg_stream_submitted(struct sg_stream *stream)
{
	return atomic_load_explicit(&stream->submitted, memory_order_acquire);
}
static inline int sg_stream_done(struct sg_stream *stream, uint64_t position)
{
	return atomic_load_explicit(&stream->completed, memory_order_acquire) >= position;
}
/* Whether a host may see that the position is done: by the model clock not before its time. */
int sg_stream_reached(struct sg_stream *stream, uint64_t position);

/* cudaStreamSynchronize and cudaStreamQuery, without their checks; the legacy stream includes the blocking
 * ones. */
void sg_stream_drain(struct sg_stream *stream);
int sg_stream_idle(struct sg_stream *stream);
/* Waits for everything submitted so far to the device's streams, destroyed ones included. */
void sg_device_drain(int device);
/* Closes all streams of the device that the application made, or only those of one context (NULL: all). */
void sg_device_close_streams(int device, struct sg_context *context);
/* ---- process exit (exit.c) ---- */

/*
 * Lets what is queued finish for a while; if that is not enough, no worker begins another closure and the
 * calls answer cudaErrorCudartUnloading.
 */
void sg_streams_stop(void);
/* Called by a worker after each closure: see there. */
void sg_exit_renew(void);

/* ---- what is seen of the work (activity.c) ---- */

extern const struct sg_watcher *_Atomic sg_watcher;

/* The thread has entered an exported call. */
void sg_call_begin(const char *name);
/* A closure in one that is timed, to be queued and freed by the caller; NULL: out of memory. */
struct sg_watched *sg_watched_new(const struct sg_activity *what, struct sg_stream *stream, sg_work *fn,
	const void *arg, size_t size, size_t *watched_size);
void sg_watched_work(void *watched);

/* ---- events (event.c) ---- */

struct sg_event {
	struct sg_slot slot;
	int device;
	struct sg_context *context; /* of which it is: streams of others do not take it */
	unsigned flags;
	pthread_mutex_t lock;
	uint64_t generation;      /* grows by one per record and per destruction, for ever */
	struct sg_stream *stream; /* of the last record, NULL: never recorded */
	uint64_t position;
	uint64_t capture; /* the last record was in this capture, 0: it was not in any */
	uint32_t node;    /* 1 + index there, 0: before the first */
	uint64_t time_generation;
	uint64_t time_ns; /* when the record of time_generation was reached */
	struct sg_shared_event
		*shared; /* of one that other processes may have: what counts then; else NULL */
};
extern struct sg_pool sg_events;

/* Before the slot of an event goes back; its lock is held. */
void sg_event_close(struct sg_event *event);
/* Destroys all events of the device, or only those of one context (NULL: all). */
void sg_device_close_events(int device, const struct sg_context *context);

/* Records into a stream that is not being captured. */
cudaError_t sg_event_record(struct sg_event *event, struct sg_stream *stream);

/* What the last record says, taken together. */
struct sg_event_place {
	struct sg_stream *stream;
	uint64_t position;
	uint64_t capture;
	uint32_t node;
	uint64_t time_ns; /* 0: not reached yet, or not timed */
	struct sg_shared_event *shared;
};
struct sg_event_place sg_event_last(struct sg_event *event);

/* ---- what several processes have (interprocess.c) ---- */

/* A file without a name, which another process of the user opens with what `shared` says of it. */
struct sg_shared_file {
	uint64_t bytes, inode;
	int32_t process, fd;
};
/* Makes a file of so many bytes, in whole pages, all zeros. Its descriptor stays open until the caller closes
 * it, and so long can others open it. 0, or -1. */
int sg_shared_file_make(struct sg_shared_file *file, size_t bytes);
/* The same of one that this process has open. */
int sg_shared_file_again(struct sg_shared_file *file, int fd, size_t bytes);
/* Opens that of another process: a descriptor, or -1: it is not there any more. */
int sg_shared_file_open(const struct sg_shared_file *file);

/*
 * An event that several processes have: how often it was recorded, and how far that was reached, by any of
 * them. A closure that was queued with one has a reference to it.
 */
struct sg_shared_event *sg_shared_event_make(void);
struct sg_shared_event *sg_shared_event_open(const struct sg_shared_file *file, int number);
/* Where it is: its file, and its number there; NULL: it is another process's. */
const struct sg_shared_file *sg_shared_event_file(const struct sg_shared_event *event, int *number);
void sg_shared_event_let_go(struct sg_shared_event *event);
/* One more record; its number, to be reached on the worker, with a reference that goes then. */
uint64_t sg_shared_event_record(struct sg_shared_event *event);
void sg_shared_event_reach(struct sg_shared_event *event, uint64_t record, uint64_t time_ns);
/* 1: all records so far are over; waiting for that, on a host, and in a stream. Who recorded may have died:
 * then it is over. */
int sg_shared_event_is_over(struct sg_shared_event *event);
void sg_shared_event_wait(struct sg_shared_event *event);
cudaError_t sg_shared_event_queue(struct sg_shared_event *event, struct sg_stream *stream);

/* ---- memory (memory.c) ---- */

enum sg_block_kind { SG_DEVICE, SG_MANAGED, SG_PINNED, SG_REGISTERED };

struct sg_block {
	char *base;
	size_t size_bytes;
	enum sg_block_kind kind;
	int device;
	int freeing;                 /* cudaFreeAsync is queued */
	int reserved;                /* only addresses: what is mapped there is counted (calls/virtual.c) */
	struct sg_context *context;  /* NULL: of the device's primary one */
	struct sg_memory_pool *pool; /* it was allocated from, or NULL */
	unsigned char *marks;        /* device memory: what of it is known (known.c), or NULL */
	int shared_fd; /* 1 + the descriptor of the file that it is in, 0: of this process alone */
};

/* Allocates size_bytes > 0 of a kind for a device; 256-byte aligned. */
cudaError_t sg_block_alloc(void **pointer, size_t size_bytes, enum sg_block_kind kind, int device);
/* A block of device memory that counts as none; and says whose memory lies there. */
cudaError_t sg_block_reserve(void **pointer, size_t size_bytes, size_t alignment, int device);
void sg_block_set_device(const void *address, int device);
/* Moves a block of device memory, found by its base, to a file that other processes can map; once. */
cudaError_t sg_block_share(void *pointer, struct sg_shared_file *file);
/* A block that is another process's memory. */
cudaError_t sg_block_open(void **pointer, const struct sg_shared_file *file, int device);
/* Counts memory of a device that has no block; 0: there is not so much left. */
int sg_memory_count(int device, size_t size_bytes);
void sg_memory_uncount(int device, size_t size_bytes);
/* Makes memory of the application's known; cudaErrorHostMemoryAlreadyRegistered if any of it is. */
cudaError_t sg_block_register(void *pointer, size_t size_bytes, int device);
/* Takes the block that begins at the pointer out of the table and copies it to *block; 0: no such block. */
int sg_block_take(const void *pointer, struct sg_block *block);
/* Marks the block as about to be freed; 0: no such device block, or marked already. */
int sg_block_mark(const void *pointer);
/* Releases a block that was taken. */
void sg_block_release(const struct sg_block *block);
/* The block that contains the address; 0: none. */
int sg_block_find(const void *address, struct sg_block *block);
/* Frees all blocks of a device (cudaDeviceReset), or only those of one context (NULL: all). */
void sg_block_free_device(int device, const struct sg_context *context);
size_t sg_memory_limit(void);
size_t sg_memory_used(int device);
size_t sg_memory_most(int device); /* that was in use at once, since the process began */
/* Says that the block that begins at the pointer came from a pool. */
void sg_block_set_pool(const void *pointer, struct sg_memory_pool *pool);

/* What one side of a copy is; *error when the range leaves its block. */
enum sg_side { SG_SIDE_PAGEABLE, SG_SIDE_PINNED, SG_SIDE_DEVICE };
enum sg_side sg_block_side(const void *address, size_t size_bytes, cudaError_t *error);

/* What is known of a block in the table, whose lock is held (known.c): marks for it, and writing and
 * forgetting from an address in it. */
void sg_known_init(struct sg_block *block);
void sg_known_free(struct sg_block *block);
void sg_known_write(struct sg_block *block, const char *address, size_t size_bytes);
int sg_known_covers(const struct sg_block *block, const char *address, size_t size_bytes);
void sg_known_forget(struct sg_block *block, char *address);
void sg_known_forget_range(struct sg_block *block, char *address, size_t size_bytes);

/* ---- memory pools: only names under which allocations are counted (memory_pool.c) ---- */

struct sg_memory_pool *sg_memory_pool_of(const void *handle);
struct sg_memory_pool *sg_memory_pool_default(int device);
struct sg_memory_pool *sg_memory_pool_current(int device);
cudaError_t sg_memory_pool_make_current(int device, struct sg_memory_pool *pool);
cudaError_t sg_memory_pool_create(struct sg_memory_pool **pool, int device);
cudaError_t sg_memory_pool_destroy(struct sg_memory_pool *pool);
/* Attributes by number, with values of int (1 to 3) and uint64_t (4 to 8). */
cudaError_t sg_memory_pool_set(struct sg_memory_pool *pool, int attribute, const void *value);
cudaError_t sg_memory_pool_get(struct sg_memory_pool *pool, int attribute, void *value);
/* Counts what is allocated from a pool, and what has been freed. */
void sg_memory_pool_count(struct sg_memory_pool *pool, size_t size_bytes);
void sg_memory_pool_uncount(struct sg_memory_pool *pool, size_t size_bytes);

#endif
