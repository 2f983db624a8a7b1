/*
 * Passes and layers of one usual iteration: see layer.h. Facts come first, each from who knows it: what
 * libraries' calls read and write (iteration_flow.h), what the program's own kernels touch (layer_touches, by
 * its capture where a graph is replayed), what the framework says (framework/framework.h), labels of the
 * trace. Then rules propose passes and layers, stage by stage (rule_driver.h), and from these each call has
 * its role (layer_role.c).
 */
#include "layer_assign.h"
#include "layer_framework.h"

#include <stdlib.h>
#include <string.h>

RULE_SEARCH(source, bool, false, struct layer_assign, context->rule)
RULE_SEQUENCE(stage, struct layer_assign, context->rule)

/* By operation of the process: is it called in an iteration, or after one? The caller frees it. */
static bool *recurring(
	const struct timeline *timeline, const struct worker *worker, const struct iteration_list *iterations)
{
	const struct timeline_process *process = &timeline->processes[worker->process];
	bool *recur = mem_alloc(process->operation_count, sizeof(*recur));

	for (uint64_t i = worker->calls[iterations->items[0].first_call];
		i < process->first_call + process->call_count; i++)
		recur[timeline_call(timeline, i).operation - process->first_operation] = true;
	return recur;
}

/* Does each call of the update serve a parameter? */
static bool all_serve(const struct graph *graph)
{
	bool *serve = mem_alloc(graph->step_count, sizeof(*serve)), all = true;

	for (size_t i = 0; i < graph->service_count; i++)
		serve[graph->services[i].step] = true;
	for (uint32_t i = 0; i < graph->step_count; i++)
		all &= serve[i] || !graph->steps[i].update;
	free(serve);
	return all;
}

/* Is the update of each parameter followed back to the call that made its gradient, all by what libraries'
 * calls work on? */
static bool libraries_update(const struct graph *graph)
{
	for (uint32_t p = 0; p < graph->parameter_count; p++)
		if (!graph->parameters[p].gradient)
			return false;
	return graph->parameter_count > 0 && all_serve(graph);
}

/* ---- who knows what calls work on ---- */

static bool by_labels(struct layer_assign *assign)
{
	return layer_given(assign->model, assign->worker, assign->iterations, assign->list);
}

static const struct stage_rule library_rules[] = {
	{RULE_RECOMPUTED, layer_again},
};

static void by_library_calls(struct layer_assign *assign)
{
	layer_passes(assign);
	layer_steps(assign);
	stage_each(RULE_TABLE(library_rules), assign);
}

/* What libraries' calls read and write tells more than what memory they touch, where it tells all. */
static bool by_libraries(struct layer_assign *assign)
{
	if (!libraries_update(&assign->graph))
		return false;
	by_library_calls(assign);
	return true;
}

static bool by_memory(struct layer_assign *assign)
{
	return layer_flow(assign, assign->iterations);
}

static const struct source_rule source_rules[] = {
	{RULE_LIBRARIES, by_libraries},
	{RULE_FLOW, by_memory},
};

/* ---- names and words, over what has been found ---- */

static const struct stage_rule word_rules[] = {
	{RULE_MODULE_NAMES, layer_modules},
	{RULE_FRAMEWORK, layer_framework},
};

static void place_others(struct layer_assign *assign)
{
	layer_place_cores(assign->model, assign->worker, assign->iterations, assign->list);
}

static const struct stage_rule place_rules[] = {
	{RULE_OTHERS_TOLD, layer_tell_others},
	{RULE_ALIGNED, place_others},
};

static void find_in_iteration(struct layer_assign *assign)
{
	if (!source_first(RULE_TABLE(source_rules), assign))
		by_library_calls(assign);
	stage_each(RULE_TABLE(word_rules), assign);
	layer_count_elements(assign);
	layer_set_roles(assign);
	layer_note_said(assign);
	stage_each(RULE_TABLE(place_rules), assign);
}

void layer_assign_init(struct layer_assign *assign, size_t iteration)
{
	uint32_t steps;

	assign->iteration = iteration;
	graph_init(&assign->graph, assign->model, assign->worker, &assign->iterations->items[iteration]);
	steps = assign->graph.step_count;
	assign->passes = mem_alloc(steps, sizeof(*assign->passes));
	assign->anchors = mem_alloc(steps, sizeof(*assign->anchors));
	assign->layers = mem_alloc(steps, sizeof(*assign->layers));
	assign->tables = mem_alloc(steps, sizeof(*assign->tables));
	assign->again = mem_alloc(steps, sizeof(*assign->again));
	assign->reasons = mem_alloc(steps, sizeof(*assign->reasons));
	assign->copies = mem_alloc(steps, sizeof(*assign->copies));
	assign->owners = mem_alloc(assign->graph.parameter_count, sizeof(*assign->owners));
	for (size_t i = 0; i < assign->graph.parameter_count; i++)
		assign->owners[i] = LAYER_NONE;
}

static void find_usual(struct layer_assign *assign)
{
	const struct iteration_list *iterations = assign->iterations;

	layer_find_replays(assign);
	assign->list->iteration =
		layer_told_iteration(assign, iterations, layer_flow_iteration(assign, iterations));
	layer_assign_init(assign, assign->list->iteration);
	assign->recurs = recurring(assign->timeline, assign->worker, iterations);
}

void layer_assign_free(struct layer_assign *assign)
{
	free(assign->recurs);
	free(assign->passes);
	free(assign->anchors);
	free(assign->layers);
	free(assign->tables);
	free(assign->again);
	free(assign->reasons);
	free(assign->copies);
	free(assign->owners);
	free(assign->said);
	free(assign->specials);
	graph_free(&assign->graph);
}

void layer_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, struct layer_list *list)
{
	static const struct source_rule labels = {RULE_GIVEN, by_labels};
	struct layer_assign assign = {.timeline = model->timeline,
		.model = model,
		.worker = worker,
		.iterations = iterations,
		.list = list,
		.framework = iterations->framework,
		.rule = RULE_NONE};

	memset(list, 0, sizeof(*list));
	list->iteration = iterations->model;
	layer_set_plain_roles(&assign);
	if (source_apply(&labels, &assign) || iterations->count == 0)
		return;
	find_usual(&assign);
	find_in_iteration(&assign);
	layer_free_replays(&assign);
	layer_assign_free(&assign);
}

void layer_free(struct layer_list *list)
{
	free(list->items);
	free(list->parts);
	free(list->besides);
	arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}
