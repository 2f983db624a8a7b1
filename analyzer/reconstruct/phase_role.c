/* The role of a call, by its place in the iteration: see phase.h. */
#include "phase.h"
#include "rule_driver.h"

static bool is_pass(enum phase phase)
{
	return phase == PHASE_FORWARD || phase == PHASE_BACKWARD;
}

/* Memory that is set, or copied within the device, between two computations with these roles; its own phase,
 * as far as it has one. */
struct besides {
	const struct layer_role *before, *behind;
	enum phase phase;
	enum pm_kind kind;
	enum rule rule; /* at work */
};

RULE_SEARCH(beside, const struct layer_role *, NULL, struct besides, context->rule)

/*
 * Addresses change from one iteration to the next, so that an operation may be new, or was something else in
 * the usual iteration. Between passes memory may be set for something else; what is copied before the update
 * are gradients. What is set is for the computation after it. NULL: its place does not tell more.
 */
static const struct layer_role *role_by_place(struct besides *at)
{
	if (at->phase != PHASE_OTHER && !is_pass(at->phase))
		return NULL;
	if (at->kind == PM_KIND_SET && is_pass(at->behind->phase) && at->before->phase == at->behind->phase)
		return at->behind;
	if (at->before->phase == at->behind->phase && at->phase != at->behind->phase &&
		(at->phase == PHASE_OTHER || is_pass(at->behind->phase)))
		return at->behind;
	return at->phase == PHASE_OTHER && at->kind == PM_KIND_COPY && at->before->phase == PHASE_BACKWARD &&
			       at->behind->phase == PHASE_UPDATE
		       ? at->before
		       : NULL;
}

static const struct beside_rule by_place = {RULE_CALL_BESIDE, role_by_place};

/* Of a computation of an iteration what that is in the usual one, or NULL. */
static const struct layer_role *like_role(const struct layer_list *layers, size_t iteration, size_t core)
{
	const struct layer_places *places = &layers->places[iteration];

	if (core >= places->count)
		return NULL;
	if (!places->cores)
		return &layers->core_roles[core];
	return places->cores[core] == UINT32_MAX ? NULL : &layers->core_roles[places->cores[core]];
}

/* Of a computation of an iteration, or NULL: what the framework says of that itself, unless it leaves the
 * layers open. */
static const struct layer_role *core_role(const struct layer_list *layers, size_t iteration, size_t core)
{
	const struct layer_places *places = &layers->places[iteration];
	const struct layer_role *like = like_role(layers, iteration, core), *told;

	if (core >= places->told_count)
		return like;
	told = &places->told[core];
	return !told->known || (like && like->phase == told->phase && told->part_count == 0) ? like : told;
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
	struct besides at = {.kind = model->flows[operation].kind, .rule = RULE_NONE};

	if (placed && placed->phase != PHASE_OTHER)
		return placed;
	/* of no pass by itself: the computations around it tell more */
	role = placed ? placed : role;
	at.before = gap->core > 0 ? core_role(layers, iteration, gap->core - 1) : NULL;
	at.behind = core_role(layers, iteration, gap->core);
	at.phase = role->phase;
	placed = at.before && at.behind ? beside_apply(&by_place, &at) : NULL;
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
