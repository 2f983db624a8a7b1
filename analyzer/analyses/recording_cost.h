/*
 * What the recording itself cost: of a step, not of the run with its set-up.
 *
 * The hook times itself on every 64th call, and times each description of a new operation: so much of a step
 * is an estimate, which leaves out what CUPTI takes and what emptied caches cost the program. Where the run
 * was told to measure it (PMHOOK_COST=measure), stretches with recording and without took turns in it, and
 * the time per call of the program with recording over that without says it all.
 */
#ifndef ANALYSES_RECORDING_COST_H
#define ANALYSES_RECORDING_COST_H

#include "reconstruct/analysis.h"

struct recording_cost {
	double own_ns, new_ns; /* all processes together: in wrappers; beside that, describing operations */
	double run_ns;         /* likewise */
	double processes;      /* that say so; 0: none, and nothing else is known */
	double call_ns;        /* of a call; NaN: not known */
	bool elapsed;          /* new_ns is time that went by, not a processor's, of one of them or more */
	double calls;          /* of a step of the first worker's process; NaN: not known */
	double step_ns;        /* median, of the job; likewise */
	double share;          /* of a step's time: calls times call_ns; NaN: not known */
	size_t pairs;          /* of stretches, where it was measured; 0: it was not */
	double measured, measured_low, measured_high; /* share of a step's time; quartiles over the pairs */
};

void recording_cost_find(const struct analysis *analysis, struct recording_cost *cost);

#endif
