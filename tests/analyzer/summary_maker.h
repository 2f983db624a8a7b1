/*
 * Summaries of a job that never ran: ranks on hosts whose clocks are wrong, iterations of exchanges that the
 * slowest rank holds up. Who that is and what it costs is known by the maker's own sums.
 */
#ifndef SUMMARY_MAKER_H
#define SUMMARY_MAKER_H

#include "analyses/summary/summary.h"

enum maker_cause {
	MAKER_NONE,
	MAKER_SLOWER,
	MAKER_LAYER,
	MAKER_WORK,
	MAKER_INPUT,
	MAKER_HOST,
	MAKER_UNKNOWN
};

struct maker_options {
	int32_t ranks, per_host;
	int32_t straggler;
	enum maker_cause cause;
	double extra;      /* part of an iteration that it takes longer */
	int64_t clock_ns;  /* wall clocks of hosts are wrong by up to that, either way */
	int64_t jitter_ns; /* ranks arrive within that */
	unsigned layers, exchanges, sampled;
	bool coming_and_going; /* the extra time is another rank's in each iteration */
	bool chain; /* a host has exchanges with the next one and with the one before, by turns, with no other
		     */
	bool thin;  /* about one exchange in two is kept */
};

struct maker_truth {
	double wait_caused_ns; /* waiting of the others for the straggler in an iteration, summed */
	double wait_ns;        /* of all ranks in an iteration, mean */
	double cost_ns;
};

extern const struct maker_options maker_usual;

/*
 * Makes the summary of a rank; truth adds up over the ranks of a job, which are to be made in order from 0.
 * Texts are in `names`, the rest is freed by summary_free.
 */
void maker_make(const struct maker_options *options, int32_t rank, struct summary_names *names,
	struct summary *summary);
struct maker_truth maker_truth(const struct maker_options *options);

/* How much the wall clock of a rank's host is wrong. */
int64_t maker_error_ns(const struct maker_options *options, int32_t rank);

#endif
