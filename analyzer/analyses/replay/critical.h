/*
 * The critical path of a run over all ranks: from the end of its last iteration on the rank that ends it
 * last, back through what each piece of work waited for. It is cut where the iterations of the rank that it
 * is on begin. Each instant belongs to one rank and one phase, so that it tells what iterations are made of
 * where nothing else could have been faster without it: work that the next iteration does not wait for is not
 * on it.
 */
#ifndef ANALYSES_REPLAY_CRITICAL_H
#define ANALYSES_REPLAY_CRITICAL_H

#include "replay_build.h"

/* What an iteration's path is made of, in ns. */
struct critical_path {
	double length_ns; /* sum of the phases, and of the workers */
	double phases_ns[PHASE_COUNT];
	double *layers_ns;   /* by layer of the job: forward, backward, update */
	double *messages_ns; /* by layer: communication */
	double *workers_ns;
	size_t last;       /* worker that it is on at the iteration's end */
	size_t crossings;  /* how often it goes from one worker to another */
	double busy_ns;    /* communication, mean over workers */
	double exposed_ns; /* part of it that nothing hides */
};

/* A kind of work on the path. */
struct critical_segment {
	uint32_t worker;
	uint32_t layer; /* REPLAY_NONE: none */
	enum phase phase;
	double ns;    /* of an iteration, mean */
	double count; /* stretches in an iteration, mean */
};

/* A piece of the path in time, as the replay has it, which is as it was measured. */
struct critical_stretch {
	int64_t begin_ns, end_ns;
	uint32_t iteration; /* place among the job's iterations */
	uint32_t worker;
	uint32_t task; /* of the job; REPLAY_NONE: latency */
	enum phase phase;
};

struct critical_layer {
	double compute_slack_ns; /* of an iteration: how much longer it could take on all ranks */
	double message_slack_ns; /* the same of its communication; NaN: it has none */
};

struct critical {
	struct critical_path *iterations;
	size_t iteration_count;
	struct critical_path mean;
	struct critical_segment *segments; /* the longest first */
	size_t segment_count;
	struct critical_stretch *stretches; /* of all iterations, from the end to the start */
	size_t stretch_count, stretch_room;
	struct critical_layer *layers;
	size_t layer_count;
	double measured_ns, replayed_ns;
	struct arena arena;
};

/*
 * A slack is found by replays with slower work: the most that a layer can be slowed down (up to
 * CRITICAL_SLOWEST times) without making the mean iteration longer by CRITICAL_TOLERANCE; infinite where even
 * that changes nothing. `slack` false: none are looked for, which takes a dozen replays for each layer that
 * is not on the path.
 */
#define CRITICAL_SLOWEST 64
#define CRITICAL_TOLERANCE 0.001

void critical_find(struct replay_job *job, bool slack, struct critical *critical);
void critical_free(struct critical *critical);

#endif
