/*
 * What a GPU did in the window that a profiler recorded, as HolisticTraceAnalysis counts it, so that its
 * figures can be compared with: definitions are those of its version 0.6.1, times are exact.
 *
 * Of a rank's device events those are kept that its profiled steps launched; the window is from the first
 * begin to the last end of them.
 */
#ifndef IMPORT_WINDOW_H
#define IMPORT_WINDOW_H

#include "imported.h"

struct window_options {
	bool last_step;   /* keep what the last step launched */
	int64_t delay_ns; /* a gap shorter than this is a kernel's wait for the device */
	/*
	 * Of an event whose call is not in the file (it was made before the profiler began) take the start of
	 * the first event of the file for the call, as HTA happens to do; else it never waited for the host.
	 */
	bool hta_launches;
};

/* HTA's consecutive_kernel_delay */
#define WINDOW_DELAY_NS 30000

enum window_idle { WINDOW_HOST_WAIT, WINDOW_KERNEL_WAIT, WINDOW_OTHER };
#define WINDOW_IDLES 3

/* The gaps between events that follow each other on a stream; a gap is negative where they overlap. */
struct window_stream {
	int32_t device;
	int64_t stream;
	int64_t idle_ns[WINDOW_IDLES];
	size_t gaps[WINDOW_IDLES];
};

struct window_kernel {
	const char *name;
	enum imported_kind kind;
	size_t count;
	int64_t sum_ns, least_ns, greatest_ns;
};

/* Sets of kinds are bits, 1 << enum imported_kind. */
#define WINDOW_SETS (1 << IMPORTED_KINDS)

struct window {
	int32_t rank, given_rank; /* said: by the data, -1: not */
	const char *path, *label; /* label: NULL if there is none */
	bool labelled;            /* made of labelled phases, not of device events */
	size_t event_count, used_count;
	size_t step_count;
	int64_t begin_ns, end_ns;
	int64_t idle_ns, compute_ns, non_compute_ns; /* add up to the window */
	int64_t communication_ns, memory_ns, overlap_ns;
	int64_t together_ns[WINDOW_SETS]; /* while just these kinds run */
	struct window_stream *streams;
	size_t stream_count, stream_room;
	struct window_kernel *kernels; /* by falling sum */
	size_t kernel_count;
	struct arena arena;
};

void window_find(const struct imported *imported, uint32_t worker, const struct window_options *options,
	struct window *window);
void window_free(struct window *window);

/* The kernels of all windows, each name once, by falling sum; names are the windows'. The caller frees them.
 */
struct window_kernel *window_all_kernels(const struct window *windows, size_t window_count, size_t *count);

/* Share of communication that computation runs beside; NAN without communication. */
double window_overlap(const struct window *window);

const char *window_idle_name(enum window_idle idle);

/* "COMPUTATION overlapping COMMUNICATION": a set of kinds, as HTA names it. OTHER is left out; NULL: nothing
 * is left. */
const char *window_set_name(struct arena *arena, unsigned set);

#endif
