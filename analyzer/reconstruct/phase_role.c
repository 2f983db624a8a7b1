/* The role of a call, by its place in the iteration: see phase.h. */
#include "phase.h"

static bool is_pass(enum phase phase)
{
	return phase == PHASE_FORWARD || phase == PHASE_BACKWARD;
}

/*
 * Memory that is set, or copied within the device, between two computations: addresses change from one
 * iteration to the next, so that an operation may be new, or was something else in the usual iteration. NULL:
 * its place does not tell more. Between passes memory may be set for something else; what is copied before
 * the update are gradients. What is set is for the computation after it.
 */
static const struct layer_role *role_by_place(
	const struct layer_role *before, const struct layer_role *behind, enum phase phase, enum pm_kind kind)
{
	if (phase != PHASE_OTHER && !is_pass(phase))
		return NULL;
	if (kind == PM_KIND_SET && is_pass(behind->phase) && before->phase == behind->phase)
		return behind;
	if (before->phase == behind->phase && phase != behind->phase &&
		(phase == PHASE_OTHER || is_pass(behind->phase)))
		return behind;
	return phase == PHASE_OTHER && kind == PM_KIND_COPY && before->phase == PHASE_BACKWARD &&
			       behind->phase == PHASE_UPDATE
		       ? before
		       : NULL;
}

/* Of a computation of an iteration, or NULL. */
static const struct layer_role *core_role(const struct layer_list *layers, size_t iteration, size_t core)
{
	const struct layer_places *places = &layers->places[iteration];

	if (core >= places->count)
		return NULL;
	if (!places->cores)
		return &layers->core_roles[core];
	return places->cores[core] == UINT32_MAX ? NULL : &layers->core_roles[places->cores[core]];
}

/* The gap of the usual iteration that is before a computation of this one, or UINT32_MAX. */
static uint32_t gap_before(const struct layer_list *layers, size_t iteration, size_t core)
{
	const struct layer_places *places = &layers->places[iteration];

	if (core > places->count)
		return UINT32_MAX;
	if (!places->cores || core == 0)
		return (uint32_t)core;
	return places->cores[core - 1] == UINT32_MAX ? UINT32_MAX : places->cores[core - 1] + 1;
}

/* Of memory that is set or copied: by what is said of it, else by the computations around it. */
static const struct layer_role *beside_role(const struct worker_model *model, const struct layer_list *layers,
	size_t iteration, struct layer_gap *gap, uint32_t operation, const struct layer_role *role)
{
	const struct layer_role *placed = layer_beside_role(
		layers, gap_before(layers, iteration, gap->core), operation, layer_gap_order(gap, operation));
	const struct layer_role *before, *behind;

	if (placed && placed->phase != PHASE_OTHER)
		return placed;
	/* of no pass by itself: the computations around it tell more */
	role = placed ? placed : role;
	before = gap->core > 0 ? core_role(layers, iteration, gap->core - 1) : NULL;
	behind = core_role(layers, iteration, gap->core);
	placed = before && behind ? role_by_place(before, behind, role->phase, model->flows[operation].kind)
				  : NULL;
	return placed ? placed : role;
}

const struct layer_role *phase_role(const struct worker_model *model, const struct worker *worker,
	const struct layer_list *layers, size_t iteration, struct layer_gap *gap, uint32_t operation)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];
	const uint32_t flags = model->roles[operation].flags;
	const struct layer_role *role = &layers->operation_roles[operation - process->first_operation],
				*placed;

	if (iteration == PHASE_NO_ITERATION || !layers->places)
		return role;
	if (flags & WORKER_CORE) {
		placed = core_role(layers, iteration, gap->core);
		layer_gap_pass(gap);
		return placed ? placed : role;
	}
	return flags & WORKER_BESIDE ? beside_role(model, layers, iteration, gap, operation, role) : role;
}
