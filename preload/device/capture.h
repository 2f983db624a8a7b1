/*
 * Stream capture and executable graphs: which calls become a graph's nodes. Any thread.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "pm_abi.h"

struct pmh_thread;

/* Finds the functions that are needed. Takes the loader's lock, so no lock of ours may be held. */
void pmh_graph_prepare(void);
void pmh_graph_forget(void);
bool pmh_capture_under_way(void); /* any, in the process */

/* A capture has begun on the stream; a call that ends it is over, and may have failed. */
void pmh_capture_begun(cudaStream_t stream, int device);
void pmh_capture_ended(cudaStream_t stream);

/* Captures end with their stream, too, which must not be asked about then, and with their device; those of
 * the per-thread default stream with their thread. The first says whether there was one. */
bool pmh_capture_forgotten(cudaStream_t stream);
void pmh_capture_device_gone(int device);
void pmh_capture_thread_gone(const struct pmh_thread *thread);

/* Notes a call that went into the graph which is being captured on the stream. After the call. */
void pmh_captured(cudaStream_t stream, uint32_t op);

/* The end of an NCCL group adds the nodes of the calls in it: they are given to the last. */
void pmh_captured_late(cudaStream_t stream);

/* An executable graph was made, or brought up to date, from a graph. */
void pmh_graph_instantiated(cudaGraphExec_t exec, cudaGraph_t graph);
void pmh_graph_destroyed(cudaGraph_t graph); /* its address may come again */
uint32_t pmh_graph(cudaGraphExec_t exec);    /* number of a graph in the trace, 0: its making was not seen */

#endif
