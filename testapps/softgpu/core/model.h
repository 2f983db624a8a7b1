/*
 * The model clock's own header: device profiles, disturbances, engines, timed closures and the truth log.
 *
 * The one idea: all times are nanoseconds of CLOCK_MONOTONIC that follow from a profile, from the rules that
 * disturb it and from when the host submitted; whoever processes a stream (its worker, or the submitting
 * thread while nothing is queued) writes each position's end into the stream's ring, and never waits for it.
 */
#ifndef SG_MODEL_H
#define SG_MODEL_H

#include "core.h"
#include "tiles.h"

/* ---- profiles (profile.c) ---- */

/* Time of w units of work at a peak rate: w / (rate * efficiency * w / (w + half)) (Hockney's n-half). */
struct sg_efficiency {
	double flops, half_flop;
	double bytes, half_bytes;
};

/* Rates are per nanosecond; all times and rates are scaled by SOFTGPU_TIME_SCALE already. */
struct sg_profile {
	char name[128];
	double memory_bytes;
	double multiprocessors, capability_major, capability_minor;
	double memory_bus_bits;
	double peak[SG_COST_TYPES]; /* operations per ns */
	double memory_rate;         /* bytes per ns, as all rates below */
	double to_device_rate, to_host_rate;
	double pageable_to_device, pageable_to_host; /* shares of these, of memory that is not pinned */
	double pageable_latency_ns;
	double copy_latency_ns, launch_latency_ns, kernel_floor_ns;
	/* of work that is bound by memory: the least time, the cache in front of the memory, what a thread
	 * gets (0: never too little), and how many threads a multiprocessor holds */
	double vector_floor_ns, cache_bytes, cache_rate, thread_rate, resident_threads;
	double bytes_per_thread; /* of kernels that nothing is known about */
	double gpus_per_node;
	struct sg_link device_link, network;
	struct sg_efficiency kinds[SG_COST_KINDS];
	struct sg_curves curves; /* of products and convolutions whose geometry is known; in unscaled time */
	double scale;            /* of all times */
};

extern struct sg_profile sg_profile;

/*
 * Reads a profile: a path if there is a '/' in it, else the name of one in the folder `profiles` beside this
 * library. Returns 0, or -1 with one sentence in error.
 */
int sg_profile_read(struct sg_profile *profile, const char *name, char *error, size_t error_bytes);
/* Makes all its times `scale` times as long. */
void sg_profile_scale(struct sg_profile *profile, double scale);
/* How long work takes that nothing disturbs, in ns (duration.c). */
double sg_profile_time(const struct sg_profile *profile, const struct sg_activity *what);
/*
 * The kernels of a call of a library, in ns of the scaled clock; 0: the profile does not know, and it is one.
 * Of the loaded profile only, as results are kept; any thread.
 */
int sg_profile_parts(const struct sg_cost *cost, struct sg_part parts[SG_PARTS]);

/* ---- settings, and waiting for a time (clock.c) ---- */

/* Somebody asks for calls' names and labels: the truth log, or a rule. Constant after the start, but looked
 * at before it too. */
extern _Atomic int sg_named;
/* The scale of all modelled times. */
extern double sg_time_scale;

/* Reads the profile, the rules and the truth log's name; a mistake in them ends the program with a sentence.
 */
void sg_model_start(void);
/* Sleeps until a time of CLOCK_MONOTONIC; never spins. */
void sg_sleep_until(uint64_t time_ns);

/* ---- engines: what a device has one of (engine.c) ---- */

enum sg_engine { SG_ENGINE_COMPUTE, SG_ENGINE_TO_DEVICE, SG_ENGINE_TO_HOST, SG_ENGINES };

/* Takes the engine for a duration at or after ready_ns; returns when that begins. Any thread. */
uint64_t sg_engine_take(int device, enum sg_engine engine, uint64_t ready_ns, uint64_t duration_ns);

/* ---- timed closures (timed.c) ---- */

struct sg_timed {
	struct sg_activity what;
	sg_work *fn;
	size_t size;
	uint64_t submit_ns;
	uint64_t ready_ns, begin_ns, end_ns;
	enum sg_basis basis;     /* of the duration; not of communication */
	_Alignas(16) char arg[]; /* when it is queued */
};

/* Fills in all but the argument, on the submitting thread. what NULL: a closure that takes no time. */
void sg_timed_init(struct sg_timed *timed, const struct sg_activity *what, struct sg_stream *stream,
	sg_work *fn, size_t size);
/* Gives the closure its place in time, and runs it if it is to be run. */
void sg_timed_run(struct sg_timed *timed, struct sg_stream *stream, void *arg);
/* Tells who wants to know of it; without locks held, as a profiler may do what it likes. */
void sg_timed_report(struct sg_timed *timed);
/* Both as a closure, on the worker. */
void sg_timed_work(void *timed);

/* Writes down that the stream's next position ends at its model_ns; before `completed` says so. */
static inline void sg_timed_mark(struct sg_stream *stream, uint64_t position)
{
	atomic_store_explicit(&stream->ends[position % SG_ENDS], stream->model_ns, memory_order_release);
}
/* The stream goes on when another one's processed position has ended. */
void sg_timed_after(struct sg_stream *stream, struct sg_stream *other, uint64_t position);
/* When a processed position ends. */
uint64_t sg_position_end(struct sg_stream *stream, uint64_t position);
/* When the last of the device's closed streams ends, and telling that one was closed. */
uint64_t sg_closed_end(int device);
void sg_timed_close(struct sg_stream *stream);
/* 1: a host is held back on another stream of the device, or nearly so: what the device will have queued when
 * this stream's work is ready is not all there yet, and its worker waits for it. */
int sg_timed_is_ahead(struct sg_stream *stream);
/* Holds a host back that has submitted far more than the device has done. */
void sg_timed_throttle(struct sg_stream *stream);
/* The time of an event's record that was submitted at submit_ns; the stream goes on from there. */
uint64_t sg_timed_record(struct sg_stream *stream, uint64_t submit_ns);
/* Around a host function on the stream's worker. */
void sg_timed_host_begin(struct sg_stream *stream);
void sg_timed_host_end(struct sg_stream *stream);

/* ---- disturbances (disturb.c) ---- */

/* Reads SOFTGPU_DISTURB; 0, or -1 with one sentence in error. */
int sg_disturb_start(char *error, size_t error_bytes);
/* An operation's duration as the rules change it; `ordinal` counts those of its stream. */
double sg_disturb_time(const struct sg_activity *what, uint64_t ordinal, double duration_ns);
/* By how much other ranks wait longer for this one's part in a communication. */
double sg_disturb_added(const struct sg_activity *what);
/* The host's time for a submitting call: sleeps it off now and then. */
void sg_disturb_launch(const struct sg_activity *what, int device);
/* 1: some rule is about launches. */
extern int sg_disturbs_launches;
struct sg_link sg_disturb_link(struct sg_link link, int rank, int other);

/* ---- what durations rest on (tally.c) ---- */

/* Counts an operation's duration; any thread. At exit a line says how much of them is by default, if it is
 * much. */
void sg_tally_add(const struct sg_activity *what, enum sg_basis basis, uint64_t duration_ns);
void sg_tally_start(void);
/* Has the hook, if there is one, write down that this kernel's duration is by default; once for each name.
 * Without locks held. */
void sg_tally_note(const struct sg_activity *what);
/* Has it write down, once, which device's times these are and how they are scaled. Without locks held. */
void sg_tally_note_device(void);

/* ---- measured times (times.c) ---- */

/* Reads SOFTGPU_TIMES; 0, or -1 with one sentence in error. */
int sg_times_start(char *error, size_t error_bytes);
extern int sg_times_on;
/* How long the operation took in the measured run, in ns of the scaled clock; negative: it is not there. */
double sg_times_find(const struct sg_activity *what);

/* The name of a kernel without C++'s mangling, where the C++ library is there to tell; else the name. By the
 * name's address, which must stand for it as long as the process lives (demangle.c). */
const char *sg_readable_name(const char *name);

/* ---- what a profiler gets (activity.c) ---- */

/* Notes the call that submits the work, and tells the watcher of it. */
void sg_activity_call(struct sg_activity *what);
/* Tells the watcher of work with its times in CLOCK_MONOTONIC. */
void sg_activity_report(struct sg_activity *what, uint64_t begin_ns, uint64_t end_ns);

/* ---- truth (truth.c) ---- */

extern int sg_truth_on;
/* What the calling thread is in the middle of: the call, and its labels. */
void sg_truth_label(struct sg_activity *what);
/* Only the iteration: a graph's operations keep the other labels of their capture. */
int sg_truth_iteration(void);
void sg_truth_start(void);
void sg_truth_write(const struct sg_timed *timed);

#endif
