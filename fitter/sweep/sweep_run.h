/*
 * Running a plan: some trials at a time, each a process in a group of its own, whose output goes to a file.
 * One thread waits for their ends, for their time limits and for the signals that end a sweep.
 */
#ifndef SWEEP_RUN_H
#define SWEEP_RUN_H

#include "sweep_table.h"
#include "sweep_time.h"

enum sweep_keep { SWEEP_KEEP_NOTHING, SWEEP_KEEP_FAILED, SWEEP_KEEP_ALL };

struct sweep_run {
	const struct sweep_plan *plan;
	struct sweep_table *table;
	const struct sweep_time *time;
	char *const *command; /* with placeholders, ended by NULL */
	const char *folder;   /* of outputs and traces; made, and removed if it is empty in the end */
	enum sweep_keep keep;
	size_t jobs, retries;
	double timeout; /* seconds of an attempt; 0: none */
	size_t give_up; /* so many failures in a row end the sweep; 0: never */
	/* called when trials have ended and now and then; may be NULL */
	void (*progress)(void *context, const struct sweep_run *run);
	void *context;

	/* what has been, for progress and afterwards */
	double seconds;
	size_t finished;  /* by this run, of any status */
	size_t differing; /* of them, those whose trace has another number than was asked for */
	size_t left;      /* trials still to be made, as far as is known */
	bool interrupted; /* by SIGINT, SIGTERM or SIGHUP */
	char error[1200]; /* a sentence, where it did not come to the end */
};

/* NULL, or what is wrong with the command: an unknown placeholder, a column without one. */
const char *sweep_run_check(const struct sweep_run *run);

/* The command of a trial, ended by NULL, for sweep_run_free_arguments to free; NULL without memory. */
char **sweep_run_arguments(const struct sweep_run *run, size_t trial, char *const *values);
void sweep_run_free_arguments(char **words);

/* Runs what the table does not have yet. 0, or negative with run->error or run->interrupted set. */
int sweep_run(struct sweep_run *run);

#endif
