/* Forward work while no gradients are recorded: see without_gradients.h. */
#include "without_gradients.h"

struct without_gradients without_gradients_in(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration)
{
	const struct timeline *timeline = &analysis->timeline;
	const struct iteration *item = &worker->iterations.items[iteration];
	struct without_gradients sums = {0};

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, worker->worker->calls[i]);
		const struct timeline_operation *operation = &timeline->operations[call->operation];

		const double ns = timeline_device_ns(timeline, call);

		if (operation->given_phase != PHASE_FORWARD + 1)
			continue;
		sums.forward_ns += ns;
		sums.without_ns += operation->given_no_gradients ? ns : 0;
	}
	return sums;
}

struct without_gradients without_gradients_of(
	const struct analysis *analysis, const struct analysis_worker *worker)
{
	struct without_gradients mean = {0};

	for (size_t i = 0; i < worker->used_count; i++) {
		const struct without_gradients one = without_gradients_in(analysis, worker, worker->used[i]);

		mean.forward_ns += one.forward_ns / (double)worker->used_count;
		mean.without_ns += one.without_ns / (double)worker->used_count;
	}
	return mean;
}

double without_gradients_before(
	const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration)
{
	const struct iteration_list *list = &worker->iterations;
	double ns = 0;

	if (iteration == 0)
		return 0;
	ns = without_gradients_in(analysis, worker, iteration - 1).without_ns;
	for (size_t i = 0; i < list->gap_count; i++)
		if (list->gaps[i].kind == ITERATION_EVALUATION &&
			list->gaps[i].begin_ns >= list->items[iteration - 1].begin_ns &&
			list->gaps[i].end_ns <= list->items[iteration].end_ns)
			ns += (double)(list->gaps[i].end_ns - list->gaps[i].begin_ns);
	return ns;
}
