/*
 * A run's iterations as tasks that wait for each other (replay.h), over all workers.
 *
 * What waits for what: work of a queue for the work before it, and for the call that gave it to the device; a
 * queue for what it must wait for (cudaStreamWaitEvent), and for the work of another queue at whose
 * end it begins where nothing else tells why it began then; a call for the call before it in its thread; a
 * host that synchronises, or copies in the blocking way, for the device; a collective for all its ranks, a
 * message for its other end; the first copy of an iteration for its input. Threads that give work to the same
 * device take turns.
 *
 * A host's time from one call to the next belongs to the next one: it is what the program computes to make
 * it. So all that takes time is a task, and only latencies are left to the lags.
 */
#ifndef ANALYSES_REPLAY_REPLAY_BUILD_H
#define ANALYSES_REPLAY_REPLAY_BUILD_H

#include "reconstruct/analysis.h"
#include "replay.h"

enum replay_kind {
	REPLAY_HOST,     /* a call and what its thread did since the call before */
	REPLAY_READ,     /* file input */
	REPLAY_RESUME,   /* the host goes on after waiting for a device; takes no time */
	REPLAY_DEVICE,   /* work on a device, or of a call whose device time is not known */
	REPLAY_ARRIVAL,  /* communication has begun on its queue; takes no time */
	REPLAY_MEETING,  /* all its ranks have; takes no time, and belongs to no worker */
	REPLAY_TRANSFER, /* what communication takes from then on */
	REPLAY_MARK,     /* an iteration begins or ends; takes no time */
};

/* A share of a task in a layer; the shares of a task add up to 1, or there are none. */
struct replay_part {
	uint32_t layer; /* in replay_job.layers */
	double share;
	uint32_t next; /* place in the parts, or REPLAY_NONE */
};

/* What a task is. */
struct replay_work {
	enum replay_kind kind;
	enum phase phase; /* of the host's time: PHASE_IDLE_LAUNCH, but PHASE_MD where it divides the batch */
	uint32_t worker;  /* REPLAY_NONE: a host that serves none, a meeting */
	uint32_t iteration; /* place among the job's iterations, or REPLAY_NONE */
	uint32_t call;      /* of the timeline, or REPLAY_NONE */
	uint32_t part;      /* the first, or REPLAY_NONE */
};

/* A layer of a stage. */
struct replay_layer {
	const struct layer *layer;
	uint32_t stage;
};

struct replay_job {
	const struct analysis *analysis; /* must stay */
	struct replay replay;            /* explained: it replays what was measured */
	struct replay_work *works;       /* by task */
	size_t work_room;
	struct replay_part *parts;
	size_t part_count, part_room;
	struct replay_layer *layers;
	size_t layer_count;
	size_t first_used; /* the job's iterations are these among each worker's used ones */
	size_t iteration_count;
	uint32_t *marks;       /* [worker][iteration][2]: tasks at its start and end */
	size_t meeting_count;  /* collectives and messages of two ranks or more */
	size_t recorded_waits; /* of queues for each other, that the program asked for */
	size_t inferred_waits; /* inferred from the times */
	size_t negative_count; /* edges that the times contradict */
	size_t cycle_count;    /* left out, because they would close a cycle */
};

/*
 * How many of the workers' used iterations at most, from the middle of the run; they are taken one after the
 * other, with what lies between. Time and memory are linear in calls.
 */
void replay_build(const struct analysis *analysis, size_t most, struct replay_job *job);
void replay_job_free(struct replay_job *job);

/* Another job of the same tasks, to be changed apart; freed with replay_job_free. */
void replay_job_copy(const struct replay_job *job, struct replay_job *copy);

/* The layers alone, of a job of which only `analysis` is set; replay_build does it too. */
void replay_layers(struct replay_job *job);

/* How many used iterations every worker has. */
size_t replay_iterations(const struct analysis *analysis);

/* The layer with this name or title; REPLAY_NONE: none. Of several with that title the first. */
uint32_t replay_find_layer(const struct replay_job *job, const char *name);

/* Part of the task's time that is the layer's. */
double replay_share(const struct replay_job *job, uint32_t task, uint32_t layer);

/* The task that begins or ends a worker's iteration. */
static inline uint32_t replay_boundary(
	const struct replay_job *job, size_t worker, size_t iteration, bool end)
{
	return job->marks[(worker * job->iteration_count + iteration) * 2 + end];
}

/*
 * Mean time of an iteration over all workers and iterations, by the tasks' ends; NaN without iterations.
 * `settled`: of four or more the first is left out, since what is changed has not had its full effect there.
 */
double replay_mean(const struct replay_job *job, const int64_t *end_ns, bool settled);

#endif
