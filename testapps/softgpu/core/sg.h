/*
 * What the stand-in libraries share: libsoftgpu.so owns devices, streams and their worker threads and exports
 * these calls, under the version node SOFTGPU_PRIVATE, to the stand-in runtime, driver, cuDNN, cuBLAS and
 * NCCL.
 *
 * The one idea: a stream is a queue of closures. A library call checks its arguments at once, on the
 * caller's thread, and returns the vendor's error code; the work itself is submitted and runs later, in
 * stream order, on the stream's worker thread.
 *
 * All settings are environment variables:
 *
 *	SOFTGPU_DEVICES      devices in a process (8)
 *	CUDA_VISIBLE_DEVICES which of them it sees, as with the vendor
 *	SOFTGPU_MEMORY       bytes of memory of a device (8 GiB, or what the profile says)
 *	SOFTGPU_ADDRESSES    fresh: no device address is ever used twice (memory.c)
 *	SOFTGPU_THREADS      threads that one operation computes with (1)
 *	SOFTGPU_ABSENT       off: functions that are not there do not say so (absent.c)
 *	SOFTGPU_FAIL         name:k, ...: the k-th call of that function fails (fault.c)
 *	SOFTGPU_PROFILE      the model clock: a device's name or a profile's path (profile.c)
 *	SOFTGPU_NUMERICS     on: compute under the model clock too (off)
 *	SOFTGPU_TIME_SCALE   0.001 to 1000000: all modelled times are so many times as long (1)
 *	SOFTGPU_DISTURB      rules, or @FILE: what is slower, where and by how much (rules.c); input= is
 *	                     libslowinput's, everything else needs a profile
 *	SOFTGPU_TIMES        a file of measured times, which take the place of the profile's (times.c)
 *	SOFTGPU_TRUTH        a file's name with %r, rank, and %p, process: what really happened (truth.c)
 *	SOFTGPU_CUPTI, SOFTGPU_CUPTI_VERSION
 *	                     trouble with CUPTI, for tests (cupti/cupti.c)
 *
 * and RANK, OMPI_COMM_WORLD_RANK or SLURM_PROCID say which rank a process is.
 */
#ifndef SG_H
#define SG_H

#include <stddef.h>
#include <stdint.h>
#include <cuda_runtime_api.h>

/* Work for a stream. arg is the queue's copy of what was submitted; it is freed after the call. */
typedef void sg_work(void *arg);

/*
 * Queues fn on a stream (NULL, cudaStreamLegacy and cudaStreamPerThread are understood) of the calling
 * thread's current device, or of the device the stream was made on. `size` bytes at `arg` are copied now
 * (size 0: fn gets NULL). Never blocks on the work. While the stream is being captured, the closure goes into
 * the graph instead and is replayed by each cudaGraphLaunch, so fn must not free or change anything that a
 * second run would miss. Any thread. Returns cudaErrorInvalidResourceHandle for an unknown stream.
 */
cudaError_t sg_submit(cudaStream_t stream, sg_work *fn, const void *arg, size_t size);

/*
 * The model clock (clock.c). With SOFTGPU_PROFILE a closure takes the time that the device's profile gives
 * its cost, and not the time that computing takes: it begins when what it waits for has ended, or a launch
 * latency after it was submitted, and ends its duration later. These times are computed, never measured, in
 * nanoseconds of CLOCK_MONOTONIC; workers run ahead of them, hosts that synchronise sleep until them.
 *
 * Cost is what the mathematics needs at least: an algorithm's extra work is in the profile's efficiency.
 * `flops` counts multiplications and additions (2mnk for a matrix product), `bytes` what is read and written
 * of device memory if each operand is touched once.
 */
enum sg_cost_kind {
	SG_COST_NONE,        /* nothing known: the least time a kernel takes */
	SG_COST_CONVOLUTION, /* ordinary, transposed and filter-gradient */
	SG_COST_DEPTHWISE,   /* convolution with as many groups as input channels: bound by memory in practice
			      */
	SG_COST_PRODUCT,     /* matrix products, attention, recurrent cells */
	SG_COST_VECTOR,      /* element by element, pooling, normalisation, softmax, reductions: by memory */
	SG_COST_COPY,        /* of a copy engine; the core's own */
	SG_COST_LINK,        /* the closure says itself when it ends: sg_work_end */
	SG_COST_KINDS
};
/* What the arithmetic is done in; a matrix unit where the profile has one for it. */
enum sg_cost_type { SG_COST_F32, SG_COST_TF32, SG_COST_F16, SG_COST_F64, SG_COST_F8, SG_COST_TYPES };

/*
 * How a kernel bound by memory differs from one that reads and writes element by element, each thread some
 * numbers in a row; all are factors of what the profile gives for that. NULL stands for all 1, and no
 * latency.
 */
struct sg_pace {
	double floor;     /* of the least time */
	double memory;    /* of the rate of the memory, and of the cache before it */
	double thread;    /* of what a thread gets if it has a multiprocessor to itself */
	double latency;   /* of a block beside what it moves, as a part of the least time */
	double registers; /* of a thread; 0: few, so that as many threads are resident as there can be */
	double flops;     /* of the rate of arithmetic; 0: 1 */
	double step;      /* of one of the cost's steps, as a part of the least time */
};
/* What a matrix product or a convolution is, for profiles that know how these run (tiles.h). */
enum sg_work_kind {
	SG_PRODUCT,
	SG_FORWARD,
	SG_BACKWARD_DATA,
	SG_BACKWARD_FILTER,
	SG_ATTENTION, /* of queries m and keys n, k wide, count sequences of heads; flops as the cost has them
		       */
	SG_ATTENTION_BACKWARD,
	SG_WORKS
};
struct sg_geometry {
	int is_known; /* 0: the rest says nothing */
	enum sg_work_kind work;
	int element_bytes;
	int alignment;  /* bytes that each row's start is a multiple of, 16 at most */
	double count;   /* products of a batch; groups of a convolution */
	double m, n, k; /* of one product */
	double flops;   /* of attention: masks leave out a part */
	/* of one group of a convolution: images, channels and pixels of x, filters (y's channels) and pixels
	 * of y, taps of a filter, steps of the filter per output over all dimensions */
	double images, channels, pixels, filters, out_pixels, taps, stride;
	int is_channels_last;
};
/* Bytes, 16 at most, that a row of `a` and of `b` elements of that size is a multiple of. */
static inline int sg_alignment(int element_bytes, double a, double b)
{
	int bytes = 16;

	while (bytes > element_bytes &&
		((int64_t)(a * element_bytes) % bytes != 0 || (int64_t)(b * element_bytes) % bytes != 0))
		bytes /= 2;
	return bytes;
}
#define SG_PLACES 8

struct sg_cost {
	enum sg_cost_kind kind;
	enum sg_cost_type type;
	double flops, bytes;
	/* SG_COST_VECTOR: equal blocks that the bytes are divided among; 0: enough for the whole device */
	double blocks, block_threads;
	double steps;               /* of one block, after all else */
	const struct sg_pace *pace; /* static */
	struct sg_geometry geometry;
};
/* An initialiser of a cost that is these four. */
#define SG_COST(kind_, type_, flops_, bytes_) \
	{ \
		.kind = (kind_), .type = (type_), .flops = (flops_), .bytes = (bytes_) \
	}

/* sg_submit of work with a cost. While the model clock runs without numerics, fn is not called, unless the
 * kind is SG_COST_LINK. */
cudaError_t sg_submit_cost(
	cudaStream_t stream, const struct sg_cost *cost, sg_work *fn, const void *arg, size_t size);
/*
 * The same for work that the truth log and rules by op= are to know under another name than that of the call
 * which submits it: NCCL's at the end of a group. The name must live as long as the process.
 */
cudaError_t sg_submit_op(cudaStream_t stream, const char *op, const struct sg_cost *cost, sg_work *fn,
	const void *arg, size_t size);

/*
 * For a library whose calls nobody intercepts: its kernels are then seen as those of a program are, by
 * cudaLaunchKernel. The calling thread's next launch has this cost and is this work on `size` bytes at its
 * first argument.
 */
void sg_launch_as(const struct sg_cost *cost, sg_work *fn, size_t size);

/* 1 while durations come from a profile. Constant in a process. */
int sg_modelled(void);
/* The devices' compute capability, ten times the major number and the minor one; constant. */
int sg_capability(void);
/* 0: nobody looks at results; closures need not compute, and memory need not hold anything. Constant. */
int sg_numerics(void);
/* How long work of that cost takes on a device when nothing is in its way; for cudnnFind and the like. */
uint64_t sg_cost_ns(int device, const struct sg_cost *cost);

/*
 * What a modelled duration rests on: what the library or a rule knows of the work; a kernel's number of
 * threads, as nothing is known of it; a measured run (SOFTGPU_TIMES); a measured collective of another size.
 */
enum sg_basis { SG_BY_RULE, SG_BY_DEFAULT, SG_MEASURED, SG_SCALED, SG_BASES };
/* How long a collective took in the measured run, in ns of the scaled clock, and what that rests on;
 * negative: it is not there. `bytes` as the call counts them. Any thread. */
double sg_times_collective(const char *name, double bytes, int ranks, enum sg_basis *basis);
/* Counts the duration of a communication, without its waiting. Any thread. */
void sg_tally_link(enum sg_basis basis, uint64_t duration_ns);

/* So many rows had no largest numbers, and a twin chose their classes in turn (kernels/draw.c): said at exit,
 * and in the trace. Any thread. */
void sg_tally_choices(uint64_t rows);

/*
 * For SG_COST_LINK closures, on their worker: when the work could begin, and telling when it ends (>= that).
 * A closure that does not tell takes no time.
 */
uint64_t sg_work_begin(void);
void sg_work_end(uint64_t end_ns);

/*
 * What the calling thread submits from now on is, for the truth log (truth.c) and for rules that disturb
 * by layer or phase; NULL: nothing. Names must live as long as the process. A change ends the thread's span
 * of a phase that the host does (io, md, decode...). The next iteration ends the one before; -1 ends the
 * last. A program may look for these by dlsym; without SOFTGPU_TRUTH and such rules both return at once.
 */
void softgpu_truth(const char *phase, const char *layer);
void softgpu_truth_iteration(int iteration);

/*
 * The link between two ranks of a job, latency in nanoseconds (of the scaled clock) and bandwidth in bytes
 * per such nanosecond, disturbances included. Ranks are numbered over the job; with several GPUs in a process
 * rank = process's rank * GPUs + place. Peers of one node have the profile's device link, others its network.
 */
struct sg_link {
	double latency_ns, bytes_per_ns;
};
struct sg_link sg_link_between(int rank, int other);

/* The device a stream belongs to (the current device for the default streams), or -1 for an unknown stream.
 */
int sg_stream_device(cudaStream_t stream);

/* The calling thread's current device, and making another one current. */
int sg_device(void);
cudaError_t sg_set_device(int device);

/* Reports a failure of work that ran on a stream, as a kernel's does: the device's calls answer it from now
 * on. */
void sg_async_error(int device, cudaError_t error);

/*
 * Fault injection: SOFTGPU_FAIL=name:k makes the k-th call (1, 2, ...) of `name` in this process fail. Every
 * exported function asks once, first of all, with its own name, and answers its library's own error if the
 * result is not 0. Costs one predictable branch when the variable is not set.
 */
int sg_fault(const char *name);

/* Threads that one operation may use for computing (SOFTGPU_THREADS, 1 by default). */
int sg_threads(void);

/*
 * Loads a library that computes by its name, else from where it was found when this was built; and finds a
 * call in it, to be written where `call`, a function pointer's address, points. NULL and -1 with a sentence
 * on stderr.
 */
void *sg_library_open(const char *name, const char *path);
int sg_library_find(void *library, const char *name, void *call);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sg_now_ns(void);

/* A duration in whole nanoseconds; eleven days at most, so that times never overflow whatever the settings.
 */
static inline uint64_t sg_whole_ns(double duration_ns)
{
	return duration_ns < 1e15 ? (uint64_t)(duration_ns + 0.5) : (uint64_t)1e15;
}

/* For a struct whose field is written by other calls than this, which only reads. */
static inline void *sg_unconst(const void *data)
{
	return (void *)(uintptr_t)data;
}

/*
 * A place in a stream's order: all that was submitted before sg_position(). For work that must follow other
 * work on another stream without an event of the application's. The fields are libsoftgpu's own.
 */
struct sg_position {
	void *stream;
	uint64_t position;
	uint64_t capture; /* not 0: a place in that capture's graph, not in a stream */
};
cudaError_t sg_position(cudaStream_t stream, struct sg_position *place);

/* What is submitted to the stream from now on runs after the place; places of another or an ended capture are
 * ignored. */
cudaError_t sg_wait_position(cudaStream_t stream, const struct sg_position *place);

/* 1 while what is submitted to the stream goes into a graph, else 0. */
int sg_capturing(cudaStream_t stream);

/*
 * Around a part of a closure that may wait for ever (another process, the application's own code): process
 * exit lets a computing closure finish before the libraries below it are torn down, but not one between these
 * two calls.
 */
void sg_wait_begin(void);
void sg_wait_end(void);

/* 1 once process exit has stopped the workers: queued work will not be done, so nobody may wait for it. */
int sg_stopped(void);

/*
 * What a piece of work is to a profiler. A closure that was queued with one of these is timed on its worker
 * while somebody watches; all others (waits, events, host functions) are not seen.
 */
enum sg_activity_kind { SG_ACTIVITY_NONE, SG_ACTIVITY_KERNEL, SG_ACTIVITY_COPY, SG_ACTIVITY_SET };
/* How the model clock runs a closure: on the worker, as it may block or take long; on any thread, as it is
 * short; or not at all. The compute clock runs all of them on the worker. */
enum sg_run { SG_RUN_WORKER, SG_RUN_ANYWHERE, SG_RUN_NEVER };
struct sg_activity {
	enum sg_activity_kind kind;
	int of_library;   /* a kernel of a stand-in library: `name` is the library's call */
	const char *name; /* a kernel's; static */
	uint32_t grid[3], block[3], shared_bytes;
	uint64_t bytes;
	int copy_from_device, copy_to_device;
	int peer;     /* a copy from one device to another */
	int pageable; /* a copy from or to memory that is not pinned */
	struct sg_cost cost;
	int by_default; /* a kernel that nothing is known of: its cost follows from its threads */
	/* a kernel of a call whose kernels the profile knows, each with the call's cost: its time
	 * undisturbed, its share of the call's, 0: it is none of these; its name, NULL: the one that computes
	 */
	double part_ns, share;
	const char *part;
	const char *rule; /* of a program's kernel: what its cost follows from; static */
	enum sg_run run;
	/* filled in when it is submitted, if somebody asks: the call, and the thread's labels (softgpu_truth)
	 */
	const char *op, *phase, *layer;
	int iteration;
	/* filled in when it is queued */
	int device;
	const char *call;                    /* the exported call that queued it */
	uint32_t stream, correlation, graph; /* graph 0: not of a graph launch */
	uint64_t graph_node;
	/* and when it has run, by the watcher's clock and in its units */
	uint64_t begin_ns, end_ns;
};

/* A call of the runtime or the driver. */
struct sg_call_seen {
	const char *name;
	uint32_t correlation; /* of its work, unique in the process */
	uint64_t begin_ns, end_ns;
};

/* Who watches: the stand-in CUPTI. Calls come on the calling thread just before their work is queued,
 * activities on the stream's worker. The others may be NULL: `enter` comes as a call begins, on its thread,
 * and `idle` of a call that put no work on a stream, when the thread's next one begins. */
struct sg_watcher {
	uint64_t (*now_ns)(void);
	void (*call)(const struct sg_call_seen *);
	void (*activity)(const struct sg_activity *);
	void (*enter)(const struct sg_call_seen *);
	void (*idle)(const struct sg_call_seen *);
};

/* From now on `watcher` gets calls and work; NULL: nobody. It must stay where it is, as a worker may still
 * call it.
 */
void sg_watch(const struct sg_watcher *watcher);

/* The watcher's now_ns is another clock from now on, maybe one that does not count nanoseconds. */
void sg_watch_clock(void);

/* Numbers that tell streams, graphs (instantiated or not) and their nodes apart; 0 for what is none. */
uint32_t sg_stream_number(cudaStream_t stream);
uint32_t sg_graph_number(const void *graph);
uint64_t sg_graph_node_number(cudaGraphNode_t node);

/* The calling thread's current context, as the driver's handle, NULL: it has none; and the device of one, -1: it is none. */
void *sg_context_of_thread(void);
int sg_context_device(const void *context);

/*
 * What is known of device memory (known.c). Who writes into it on a worker says so; who would have written
 * but does not compute forgets what its arguments point to: that reads as zeros from then on. Under the model
 * clock without numerics, copies, fills and collectives move up to SG_MOVED_BYTES, reductions among ranks are
 * computed up to SG_REDUCED_BYTES, and what is larger is forgotten at its destination. Objects that programs
 * exchange (pickled, as bytes) may be larger: up to SG_OBJECT_BYTES copies from pageable memory move, copies
 * from device memory where all of it is known, and exchanges of ncclUint8. Addresses may be any.
 */
#define SG_MOVED_BYTES ((size_t)64 << 10)
#define SG_OBJECT_BYTES ((size_t)4 << 20)
#define SG_REDUCED_BYTES ((size_t)4096)
void sg_memory_written(const void *address, size_t size_bytes);
/* 1: something was written into each granule of these since it was last forgotten. */
int sg_memory_is_known(const void *address, size_t size_bytes);
void sg_memory_forget(void *address);
void sg_memory_forget_range(void *address, size_t size_bytes);
/* The same for whatever the data, arguments of a kernel or a closure, point to. */
void sg_memory_forget_all_in(const void *data, size_t size_bytes);

/* Device memory, as cudaMalloc and cudaFree give it, without those calls being seen by anybody who intercepts
 * them. */
cudaError_t sg_memory_alloc(void **pointer, size_t size_bytes);
cudaError_t sg_memory_free(void *pointer);

#endif
