/* Inside replay_*.c: what is known while the tasks of a run are made. */
#ifndef ANALYSES_REPLAY_REPLAY_MAKE_H
#define ANALYSES_REPLAY_REPLAY_MAKE_H

#include "base/lookup.h"
#include "replay_build.h"

/* Tasks, in the order in which they were made. */
struct make_list {
	uint32_t *items;
	size_t count, room;
};

struct make_queue {
	uint32_t last;            /* task, or REPLAY_NONE */
	struct make_list history; /* of tasks, those that ended later than all before */
	struct make_list waits;   /* what the next task waits for */
};

struct make_thread {
	uint32_t last; /* task, or REPLAY_NONE */
	int64_t end_ns;
	bool read;          /* the last was file input */
	int64_t polling_ns; /* since when it asks whether the device is done; INT64_MAX: it does not */
};

struct make_event {
	uint64_t address;
	uint32_t task;
};

/* How far the calls of a worker have been followed. */
struct make_worker {
	const struct analysis_worker *worker;
	uint32_t number;
	size_t call, read;    /* positions */
	size_t next;          /* its used iteration that begins next, counted in the job */
	size_t shape;         /* place in its iterations, used or not */
	struct layer_gap gap; /* where in that the next call is */
	uint32_t iteration;   /* the job's that it is in, or REPLAY_NONE */
	uint32_t last_device; /* task of that iteration that ends last */
	uint32_t last_host;   /* task that gave it work */
	uint32_t last_thread;
	uint32_t last_read; /* task of that iteration */
	bool copied;        /* that iteration has had its first copy */
	uint32_t *layers;   /* by layer of the worker: the job's */
};

struct make {
	struct replay_job *job;
	const struct timeline *timeline;
	const struct timeline_process *process;
	struct replay_link *links;
	size_t link_count, link_room;
	uint32_t *by_interval; /* of the timeline: task + 1 that has it */
	uint32_t *by_call;     /* of the timeline: task + 1 that is its work */
	uint32_t *arrivals;    /* of the timeline, by interval: task + 1 */
	struct make_worker *workers;
	size_t worker_count; /* of the process, of which there may be several */
	struct make_queue *queues;
	struct make_thread *threads;
	struct make_event *events;
	size_t event_count, event_room;
	struct lookup event_lookup;
	bool recorded; /* some queue must wait for another (cudaStreamWaitEvent) */
};

/* For a worker, the job's number of each of its layers; the caller frees them. */
uint32_t *replay_layers_of(const struct replay_job *job, const struct analysis_worker *worker);

/* replay_order of a job, with all that goes by tasks; answers the same. */
size_t replay_put_in_order(struct replay_job *job, const struct replay_link *links, size_t link_count);

/* Makes the parts of each task add up to 1. */
void replay_end_parts(struct replay_job *job);

/* A new task; `worker` may be NULL. */
uint32_t make_task(struct make *make, enum replay_kind kind, enum phase phase,
	const struct make_worker *worker, uint32_t call, int64_t begin_ns, int64_t end_ns);

/* The task waits for the other, unless that is REPLAY_NONE or itself. */
void make_link(struct make *make, uint32_t task, uint32_t before);

/* The call's work on a device, given by the host's task; its queue goes on after it. */
void make_device(struct make *make, struct make_worker *worker, uint32_t call, const struct layer_role *role,
	uint32_t host);

/* Adds the role's layers to the task, `weight` of them. */
void make_parts(struct make *make, const struct make_worker *worker, const struct layer_role *role,
	uint32_t task, double weight);

/* A call that records an event, or lets a queue wait for one. */
void make_order(struct make *make, const struct timeline_call *call, enum pm_role role);

/* The host goes on at the call's end, after what it waits for; answers the task. */
uint32_t make_resume(struct make *make, const struct make_worker *worker, uint32_t call, uint32_t before);

/* After all processes: ranks that communicate wait for each other. */
void make_meetings(struct make *make);

#endif
