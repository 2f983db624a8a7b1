/*
 * A job whose operations are labelled: scheduled here (1F1B, without waiting that the slowdown's formula does
 * not have), and written as events in several spellings.
 */
#ifndef LABELLED_JOB_H
#define LABELLED_JOB_H

#include <stdbool.h>
#include <stdio.h>

#define LABELLED_STAGES 4
#define LABELLED_DATA 4
#define LABELLED_BATCHES 8
#define LABELLED_STEPS 4

enum labelled_style {
	COMPLETE,  /* "X", names of threads say the place */
	PAIRS,     /* "B" and "E", arguments say the place, other spellings, in an object */
	COMPUTING, /* without messages */
	RANKS,     /* processes are ranks, no more is said */
	STEPLESS,  /* steps are not numbered */
	RECEIVES,  /* receives without sends */
	TENSOR,    /* what is data ranks else is pairs of tensor ranks */
	STYLES,
};

struct labelled_job {
	int stages, data, batches, steps;
	double forward, backward, message, reduce, update;                                  /* us */
	double factor[LABELLED_STEPS][LABELLED_STAGES][LABELLED_DATA][LABELLED_BATCHES][2]; /* of computing */
	double link[LABELLED_STAGES][LABELLED_DATA]; /* of messages from this stage to the next */
	double collection[LABELLED_STEPS][LABELLED_STAGES][LABELLED_DATA]; /* us */
	double late; /* us that data rank 1 begins late */
	enum labelled_style style;
	FILE *out;
	double now; /* begin of the step */
	bool comma;
};

/* All factors are 1, each computing takes 100 us forward and 200 us backward, nothing else takes time. */
void labelled_job_init(struct labelled_job *job, int stages, int data, int batches);

/* To job->out: an event of one operation, times in us after job->now; the names of threads; all of a step, at
 * the end of which job->now is (after computing: garbage collection, the reduction of a stage's data ranks,
 * the optimizer). */
void labelled_job_put(struct labelled_job *job, const char *name, int step, int stage, int data, int batch,
	int chunk, double begin, double end);
void labelled_job_put_names(struct labelled_job *job);
void labelled_job_put_step(struct labelled_job *job, int step);

#endif
