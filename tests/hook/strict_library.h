/*
 * What the hook asks of CUDA and NCCL for itself, answered by strict_library.c: it keeps a current device and a capture mode for
 * each thread, and counts what CUDA would refuse.
 */
#ifndef STRICT_LIBRARY_H
#define STRICT_LIBRARY_H

#include <stddef.h>

#pragma GCC visibility push(default)
extern _Thread_local int strict_device, strict_mode; /* enum cudaStreamCaptureMode */
extern int strict_error;                             /* what cudaGetLastError would say */
extern unsigned strict_refused;                      /* calls that CUDA would refuse; each is told on standard error */
extern unsigned strict_events;                       /* recorded */

/* To be answered: a communicator's size and rank; the stream under capture, the capture's number, its graph and that graph's nodes. */
extern int strict_comm_size, strict_comm_rank;
extern const void *strict_captured, *strict_graph;
extern unsigned long long strict_capture;
extern size_t strict_nodes;
#pragma GCC visibility pop

/* Streams here are numbers: the device, and an ordinal. */
#define STRICT_STREAM(device, ordinal) ((cudaStream_t)(uintptr_t)(0x10000 + 0x100 * (device) + (ordinal)))
#define STRICT_DEVICE_OF(stream) ((int)(((uintptr_t)(stream) - 0x10000) / 0x100))

#endif
