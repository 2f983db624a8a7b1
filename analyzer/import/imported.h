/*
 * Traces of other profilers, in one model: what the readers of Kineto's JSON, of other Chrome-trace JSON and
 * of Nsight Systems' SQLite exports fill, and what analyses of such traces read without knowing which it was.
 *
 * All times are ns. A file's times are on one axis; files of one machine are too, others may be apart by
 * what their clocks disagree (arrivals.h). Tables are arrays of columns, since an analysis reads few columns
 * of many events. IMPORTED_NONE stands for "not known" in columns of indices. String 0 is "".
 *
 * How it relates to struct timeline (timeline.h), the model of our own recordings: a worker is a process's
 * GPU there; `events` are its intervals; `calls` are its calls, joined to events by correlation as
 * timeline_join does; a queue is a queue. What timeline has and no imported trace carries: descriptors,
 * values and pointers of operations, so operations could be made only from names (and, with Kineto, shapes
 * and sequence numbers of operators). To feed timeline from here: one timeline_function per distinct call
 * name with a kind from imported_kind, one operation per (call name, event name), a call per `calls` row, its
 * intervals the events that name it; events without a call need a call of their own at the event's start.
 * Iterations then work (they need only the order of operations); layers need the spans instead of weight
 * pointers.
 */
#ifndef IMPORT_IMPORTED_H
#define IMPORT_IMPORTED_H

#include "base/intern.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMPORTED_NONE UINT32_MAX

/* What was read, and what a report says of who recorded it. */
#define IMPORTED_FORMAT_LIST(X) \
	X(KINETO, "Kineto") \
	X(CHROME, "labels of phases") \
	X(NSYS, "Nsight Systems") \
	X(JAX, "JAX's profiler") \
	X(ASCEND, "Ascend's profiler") \
	X(ROCPROF, "rocprofv3")

enum imported_format {
#define IMPORTED_FORMAT_ITEM(name, recorder) IMPORTED_##name,
	IMPORTED_FORMAT_LIST(IMPORTED_FORMAT_ITEM)
#undef IMPORTED_FORMAT_ITEM
};

/* What a device event does, by its name (imported_kind.h). */
enum imported_kind { IMPORTED_COMPUTE, IMPORTED_COMMUNICATION, IMPORTED_MEMORY, IMPORTED_OTHER };
#define IMPORTED_KINDS 4

/*
 * What a device event is, as the profiler recorded it. Of a trace without device events the labelled phases
 * stand for them.
 */
enum imported_activity { IMPORTED_KERNEL, IMPORTED_COPY, IMPORTED_SET, IMPORTED_LABELLED };

enum imported_span_kind {
	IMPORTED_ANNOTATION,        /* the program's own, on the host */
	IMPORTED_DEVICE_ANNOTATION, /* the same, stretched over what it launched */
	IMPORTED_OPERATOR,          /* of the framework: aten::conv2d */
	IMPORTED_PYTHON,            /* a Python function */
	IMPORTED_MODULE,            /* a call of a module: nn.Module: Conv2d_0 */
	IMPORTED_PHASE,             /* a labelled phase of a trace that has no device events */
};

/* A rank: what of a file belongs to one GPU as one process uses it. */
struct imported_worker {
	int32_t rank;      /* as the data says, -1: it does not; imported_number settles it */
	int64_t process;   /* its number */
	int32_t device;    /* -1: not one */
	const char *label; /* what the file calls it, or NULL */
};

struct imported_queue {
	uint32_t worker;
	int32_t device;
	int64_t stream;
};

struct imported_thread {
	int64_t process, thread;            /* numbers; of names a hash */
	uint32_t process_name, thread_name; /* strings */
	uint32_t worker;
};

/* Work on devices, in order of begin (after imported_finish). */
struct imported_events {
	size_t count, room;
	int64_t *begin_ns, *end_ns;
	uint32_t *name;
	uint32_t *queue;
	uint32_t *call;        /* that launched it */
	uint32_t *collective;  /* what is known of the communication */
	uint64_t *correlation; /* 0: none */
	uint64_t *external;    /* number of the operator that launched it; 0: unknown */
	uint32_t *shape; /* with IMPORTED_WANT_SHAPES: of a kernel "grid and block" as six numbers; always: of
			    copies and sets the bytes; strings, "": not known */
	uint32_t *phase, *layer; /* what the writer says it is of, as pmanalyze export does; strings, or "" */
	uint8_t *kind, *activity;
};

/* Calls of the runtime or driver on the host, in no order. */
struct imported_calls {
	size_t count, room;
	int64_t *begin_ns, *end_ns;
	uint32_t *name;
	uint32_t *thread;
	uint64_t *correlation; /* 0: none */
};

/* Labelled stretches, in order of begin. */
struct imported_spans {
	size_t count, room;
	int64_t *begin_ns, *end_ns;
	uint32_t *name;
	uint32_t *thread;
	int32_t *step;      /* that it is of, as the data says; -1 */
	int64_t *sequence;  /* number that an operator's backward half shares with its forward one; -1 */
	int64_t *forward;   /* of a backward half: the framework's number for the thread of the forward one; 0: none */
	uint64_t *external; /* an operator's own number; 0: none */
	uint32_t *
		shapes; /* of an operator (imported_keyword_shaped): "[[32, 3, 8, 8], [6, 3, 5, 5]]", or "" */
	uint32_t *inputs; /* of an operator: what timeline_range.inputs has, or "" */
	uint8_t *kind;    /* enum imported_span_kind */
};

struct imported_collective {
	uint32_t name;               /* "allreduce" */
	uint32_t group;              /* the process group */
	uint32_t type;               /* of elements */
	int64_t in_count, out_count; /* elements; -1: not known */
	int32_t size;                /* ranks; 0: not known */
	int64_t sequence;            /* in its group; -1: not known */
	int32_t from, to; /* of a send or receive: ranks of the job; -1: not known */
};

/* What a device is, as far as the file says; 0, NULL: not. */
struct imported_device {
	int32_t device;
	const char *name;
	int32_t capability_major, capability_minor;
	int64_t multiprocessors, memory_bytes;
};

struct imported {
	const char *path;
	enum imported_format format;
	const char *trouble; /* a sentence: why not all of it could be read, or NULL */
	bool cut;            /* the file ends before its data do; not a failure */
	int32_t rank, world; /* as the file says; -1 */
	int64_t base_ns;     /* added to all times already */
	int64_t first_ns;    /* begin of the first event in the file, for window_options.hta_launches */
	uint64_t refused;    /* events without what they need, passed over */
	uint64_t untimed;    /* device events whose times are 0: passed over */
	uint64_t backward;   /* events that end before they begin: taken as if they took no time */
	uint64_t unlaunched; /* device events whose call is not in the file */
	struct imported_worker *workers;
	size_t worker_count, worker_room;
	struct imported_queue *queues;
	size_t queue_count, queue_room;
	struct lookup queue_lookup, thread_lookup;
	struct imported_thread *threads;
	size_t thread_count, thread_room;
	struct imported_events events;
	struct imported_calls calls;
	struct imported_spans spans;
	struct imported_collective *collectives;
	size_t collective_count, collective_room;
	struct imported_device *devices;
	size_t device_count, device_room;
	struct intern strings;
};

/* What to keep of what a file has, beside device events and their calls. */
enum imported_wanted {
	IMPORTED_WANT_STEPS = 1,     /* annotations of steps (ProfilerStep) */
	IMPORTED_WANT_LABELS = 2,    /* all annotations, and phases */
	IMPORTED_WANT_OPERATORS = 4, /* operators */
	IMPORTED_WANT_PYTHON = 8,    /* Python functions and modules */
	IMPORTED_WANT_CALLS = 16,    /* calls that launched nothing, too */
	IMPORTED_WANT_MODULES = 32,  /* of Python functions the modules */
	IMPORTED_WANT_SHAPES =
		64, /* grids and bytes of device events, sizes of matrix products; of Kineto's traces */
};

/*
 * Reads one file, whatever of the formats it is. 0, or -1 where it is none or cannot be opened: then
 * `trouble` says why. A file that breaks off is read as far as it goes (0, with `cut` and `trouble`). The
 * caller frees it in any case. `path` is the caller's and must live as long.
 */
int imported_read(struct imported *imported, const char *path, unsigned wanted);
void imported_free(struct imported *imported);

/*
 * Reads many files at once on `threads` threads (0: one for each processor) and gives each to `done`, in the
 * thread that read it, in no order; status is imported_read's. What `done` does not take (by copying the
 * struct and zeroing what it is given) is freed after it.
 */
void imported_read_all(const char *const *paths, size_t path_count, unsigned wanted, unsigned threads,
	void (*done)(void *context, size_t index, struct imported *imported, int status), void *context);

/*
 * The files that the paths name: of a folder those whose names end as the formats' do, sorted. The caller
 * frees the arena. False: a path cannot be opened, or a folder has none; `error` says so.
 */
bool imported_files(struct arena *arena, char **paths, size_t path_count, const char ***files,
	size_t *file_count, const char **error);

/* Is it a trace of another profiler (importer.h): a file by its bytes, or by its name; a folder by its files'
 * names? */
bool imported_looks(const char *path);

/* The rank that a file's name tells, as worker3_step_12 or rank-7 or trace_0; -1: none. `sure`: by a word. */
int32_t imported_name_rank(const char *path, bool *sure);

/*
 * Settles ranks over many workers: as the data says, and the file's name where it does not; else as all the
 * files' names say; else in order. Each is taken only if it tells all of them apart. `said` are ranks or -1,
 * `paths` their files; both of `count`. False: what the data says could not be used.
 */
bool imported_number(const int32_t *given, const char *const *paths, size_t count, int32_t *ranks);

/* What readers use. */
uint32_t imported_add_event(struct imported *imported);
uint32_t imported_add_call(struct imported *imported);
uint32_t imported_add_span(struct imported *imported);
uint32_t imported_find_queue(struct imported *imported, uint32_t worker, int32_t device, int64_t stream);
uint32_t imported_look_up_thread(const struct imported *imported, int64_t process, int64_t thread);
uint32_t imported_find_thread(struct imported *imported, int64_t process, int64_t thread);

/* Drops device events that begin and end at 0 where all others are far from there: they have no time. */
void imported_drop_untimed(struct imported *imported);

/* Adds base_ns to all times. */
void imported_add_base(struct imported *imported);

/* Orders the events and spans, joins events to calls, and drops other calls unless wanted. Kinds come from
 * names. */
void imported_finish(struct imported *imported, unsigned wanted);

int imported_read_json(struct imported *imported, unsigned wanted); /* kineto.c */
int imported_read_nsys(struct imported *imported, unsigned wanted); /* nsys.c */
int xplane_read(struct imported *imported, unsigned wanted);        /* xplane.c */
int rocpd_read(struct imported *imported, unsigned wanted);         /* rocpd.c */
int rocprof_json_read(struct imported *imported, unsigned wanted);  /* rocprof_json.c */
int imported_read_pipeline(struct imported *imported, unsigned wanted); /* imported_pipeline.c */

/* Sets `trouble`. Answers -1. */
int imported_trouble(struct imported *imported, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
