/*
 * What the stand-in libraries share: libcudart.so.13 owns devices, streams and their worker threads and
 * exports these calls, under the version node SOFTGPU_PRIVATE, to the stand-in cuDNN, cuBLAS and NCCL.
 *
 * The one idea: a stream is a queue of closures. A library call checks its arguments at once, on the
 * caller's thread, and returns the vendor's error code; the work itself is submitted and runs later, in
 * stream order, on the stream's worker thread.
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

/* Threads that one operation may use for computing (SOFTGPU_THREADS, 1 unless told). */
int sg_threads(void);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sg_now_ns(void);

/*
 * A place in a stream's order: all that was submitted before sg_mark(). For work that must follow other work
 * on another stream without an event of the application's. The fields are libcudart's own.
 */
struct sg_mark {
	void *stream;
	uint64_t position;
	uint64_t capture; /* not 0: a place in that capture's graph, not in a stream */
};
cudaError_t sg_mark(cudaStream_t stream, struct sg_mark *mark);

/* What is submitted to the stream from now on runs after the mark; marks of another or an ended capture are
 * ignored. */
cudaError_t sg_wait_mark(cudaStream_t stream, const struct sg_mark *mark);

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

/* Device memory, as cudaMalloc and cudaFree give it, without those calls being seen by anybody who intercepts
 * them. */
cudaError_t sg_memory_alloc(void **pointer, size_t size_bytes);
cudaError_t sg_memory_free(void *pointer);

#endif
