/* What a change can gain at most: see whatif.h. All from the exclusive accounting, where each instant has one
 * owner. */
#include "whatif.h"

#include <math.h>

static double exclusive(const struct analysis_worker *worker, enum phase phase)
{
	return analysis_phase(worker, 1, phase, ANALYSIS_EXCLUSIVE).mean;
}

static double idle(const struct analysis_worker *worker)
{
	double ns = 0;

	for (int phase = PHASE_WORK_COUNT; phase < PHASE_COUNT; phase++)
		ns += exclusive(worker, (enum phase)phase);
	return ns;
}

/* Waiting for other ranks that shows: no more than communication that nothing hides. */
static double waiting(const struct analysis_worker *worker)
{
	return fmin(analysis_wait(worker, 1).mean, exclusive(worker, PHASE_COMMUNICATION));
}

static double input(const struct analysis_worker *worker)
{
	return exclusive(worker, PHASE_IO) + exclusive(worker, PHASE_MD) + exclusive(worker, PHASE_H2D);
}

static double exposed(const struct analysis_worker *worker)
{
	return exclusive(worker, PHASE_COMMUNICATION);
}

static double idle_or_waiting(const struct analysis_worker *worker)
{
	return idle(worker) + waiting(worker);
}

static double idle_or_input(const struct analysis_worker *worker)
{
	return idle_or_waiting(worker) + input(worker);
}

static double least(const struct analysis *analysis, double (*of)(const struct analysis_worker *worker))
{
	double ns = INFINITY;

	for (size_t w = 0; w < analysis->worker_count; w++)
		ns = fmin(ns, of(&analysis->workers[w]));
	return ns;
}

static double greatest(const struct analysis *analysis, double (*of)(const struct analysis_worker *worker))
{
	double ns = 0;

	for (size_t w = 0; w < analysis->worker_count; w++)
		ns = fmax(ns, of(&analysis->workers[w]));
	return ns;
}

double whatif_bound(
	const struct analysis *analysis, const struct balance *balance, const struct whatif_change *change)
{
	switch (change->kind) {
	case WHATIF_HOST:
		return least(analysis, idle_or_waiting);
	case WHATIF_INPUT:
		return fmin(greatest(analysis, input), least(analysis, idle_or_input));
	case WHATIF_OVERLAP:
		return greatest(analysis, exposed);
	case WHATIF_COMMUNICATION:
		return change->factor > 1 ? greatest(analysis, exposed) : INFINITY;
	case WHATIF_RANK:
		if (analysis->stage_count > 1 || balance->collective_count == 0)
			return INFINITY;
		return balance->ranks[change->worker].wait_caused_ns / (double)(analysis->worker_count - 1);
	default:
		return INFINITY;
	}
}
