/*
 * What the host did while a device was idle: for each function how long its calls took, how many there were,
 * and how much idle time of the device passed in them.
 *
 * An idle stretch (the idle phases of phase.h) belongs to the thread that gave the device the work which ends
 * the stretch: to the call that the thread was in; for what is left to a call of another thread of the
 * process, and for the rest to no call (the program, its framework or its interpreter between calls). Each
 * instant is counted once, so that what the calls cause and the rest add up to the idle time.
 */
#ifndef ANALYSES_HOST_CALLS_H
#define ANALYSES_HOST_CALLS_H

#include "step.h"

#define HOST_CALLS_IDLE (PHASE_COUNT - PHASE_WORK_COUNT)

struct host_call {
	const char *name;
	enum pm_kind kind;
	double count;      /* calls in an iteration, mean */
	double time_ns;    /* in them, of a typical iteration; over threads, so it can exceed the iteration */
	double longest_ns; /* the longest call */
	double idle_ns;    /* of the device in them, of an iteration, mean */
	double typical_ns; /* the same without PHASE_IDLE_QUEUE, of a typical iteration */
	double lead_ns;    /* of typical_ns, what is before the iteration's first computation */
	double outlier_ns; /* the same of an outlier (step.h), mean; 0: there is none */
	const char *place; /* host_place.h: where the host was in most of idle_ns; NULL: unknown */
	double place_share;                /* of idle_ns */
	double phases_ns[HOST_CALLS_IDLE]; /* idle_ns by idle phase: enum phase - PHASE_WORK_COUNT */
};

/* A device's idle time in no call of its host, of a typical iteration, without PHASE_IDLE_QUEUE. */
struct host_idle {
	double typical_ns;
	double lead_ns;        /* before the iteration's first computation */
	double lead_launch_ns; /* of that, ended by another call than a copy of input: nothing is waited for
				  but launches */
	double copy_ns;        /* after it, and ended by a copy of input: the host had no batch to copy */
	double outlier_ns;     /* typical_ns of an outlier (step.h), mean; 0: there is none */
};

/* Of one worker. Without calls where the recording has none. */
struct host_calls {
	struct host_call *items; /* the most idle time first, then the most time */
	size_t count, room;
	double idle_ns, outside_ns; /* of an iteration, mean: in all, and in no call */
	const char
		*outside_place; /* of outside_ns; by sites, that of the call which ended it; NULL: unknown */
	double outside_share;
	struct host_idle outside; /* of outside_ns */
	double *outside_each_ns;  /* by used iteration */
	bool by_sites; /* places are those of calls, for want of frames: outside_place is that of the call
			  after it */
	struct arena arena;
};

/* `number` is a worker's, below worker_count. The caller frees the list. */
void host_calls_find(
	const struct analysis *analysis, const struct step *step, size_t number, struct host_calls *list);
void host_calls_free(struct host_calls *list);

/*
 * Is the host blocked in the call, or does it wait there: for memory, for the device, or longer than giving
 * work takes? Time in other calls is that of launching.
 */
bool host_call_blocks(const struct host_call *call);

/* The same of a single call, by its kind and how long it took. */
bool host_call_waits(enum pm_kind kind, double ns);

#endif
