/*
 * Passes by threads: where Python trains, autograd goes back in a thread of its own, which is not in Python,
 * while another that is has called the forward pass and calls the update.
 *
 * A thread is the backward pass's if less of its work was called in Python than outside of it, and more is
 * backward by its function or its kernel's name than forward by its function. Threads that load or prepare
 * data have no such work.
 */
#include "layer_assign.h"
#include "sequence.h"
#include "trace/trace.h"

#include <stdlib.h>

struct thread_work {
	uint32_t in_python, outside, backward, forward;
};

static uint16_t thread_of(const struct layer_assign *assign, uint32_t step)
{
	return timeline_call(assign->timeline, layer_captured_call(assign, assign->graph.steps[step].call))
		.thread;
}

static void add_step(const struct layer_assign *assign, uint32_t step, struct thread_work *work)
{
	const struct timeline_operation *operation =
		&assign->timeline->operations[assign->graph.steps[step].operation];
	const enum pm_kind kind = assign->timeline->functions[operation->function].kind;

	if (kind != PM_KIND_LAUNCH && kind != PM_KIND_COMPUTE && kind != PM_KIND_FORWARD &&
		kind != PM_KIND_BACKWARD)
		return;
	work->outside += operation->python == TRACE_PYTHON_NONE;
	work->in_python += operation->python == TRACE_PYTHON_FIRST || operation->python == TRACE_PYTHON_OWN;
	work->forward += kind == PM_KIND_FORWARD;
	work->backward += (sequence_label(assign->timeline, operation) & SEQUENCE_BACKWARD) != 0;
}

/* By thread of the process; NULL: no thread is for certain. */
static bool *backward_threads(const struct layer_assign *assign)
{
	const struct timeline_process *process = &assign->timeline->processes[assign->worker->process];
	struct thread_work *works = mem_alloc(process->thread_count, sizeof(*works));
	bool *backward = mem_alloc(process->thread_count, sizeof(*backward)), any = false, python = false;

	for (uint32_t i = 0; i < assign->graph.step_count; i++)
		add_step(assign, i, &works[thread_of(assign, i)]);
	for (uint32_t i = 0; i < process->thread_count; i++) {
		const struct thread_work *work = &works[i];

		backward[i] = work->outside > work->in_python && work->backward > work->forward;
		any |= backward[i];
		python |= work->in_python > work->outside;
	}
	free(works);
	if (any && python)
		return backward;
	free(backward);
	return NULL;
}

static const struct timeline_operation *operation_of(const struct layer_assign *assign, uint32_t step)
{
	return &assign->timeline->operations[assign->graph.steps[step].operation];
}

static bool has_module(const struct layer_assign *assign, uint32_t step)
{
	const char *module = operation_of(assign, step)->module;

	return module && *module;
}

/* Is most of what is launched and computed before the first backward pass called by modules? Then what none
 * calls after a backward pass is no forward work. */
static bool modules_tell(const struct layer_assign *assign, const bool *backward)
{
	uint32_t work = 0, named = 0;

	for (uint32_t i = 0; i < assign->graph.step_count && !backward[thread_of(assign, i)]; i++) {
		const enum pm_kind kind = graph_flow(&assign->graph, i)->kind;

		if (kind != PM_KIND_LAUNCH && kind != PM_KIND_COMPUTE && kind != PM_KIND_FORWARD)
			continue;
		work++;
		named += has_module(assign, i);
	}
	return 2 * named > work;
}

static uint32_t last_backward(const struct layer_assign *assign, const bool *backward)
{
	for (uint32_t i = assign->graph.step_count; i-- > 0;)
		if (backward[thread_of(assign, i)])
			return i;
	return 0;
}

bool layer_thread_passes(const struct layer_assign *assign, enum layer_pass *passes)
{
	bool *backward = backward_threads(assign), behind = false, modules;
	uint32_t last;

	if (!backward)
		return false;
	last = last_backward(assign, backward);
	modules = modules_tell(assign, backward);
	for (uint32_t i = 0; i < assign->graph.step_count; i++) {
		const bool here = backward[thread_of(assign, i)];

		behind = modules && (here || (behind && !has_module(assign, i)));
		passes[i] = here ? LAYER_BACKWARD
			    : behind || i > last ||
					    (sequence_label(assign->timeline, operation_of(assign, i)) &
						    SEQUENCE_UPDATE)
				    ? LAYER_AFTER
				    : LAYER_FORWARD;
	}
	free(backward);
	return true;
}
