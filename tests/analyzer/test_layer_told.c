/*
 * Iterations in which a second optimizer steps too, as an actor's beside a critic's, and an average follows:
 * passes, layers and updates of these are by the framework's word of them, also where it was asked of another
 * that is like them.
 */
#include "check.h"
#include "reconstruct/analysis.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <string.h>

#define STEPS 10
#define EVERY 3         /* steps the actor's */
#define NONE UINT32_MAX /* sequence */

enum thread { MAIN = 1, ENGINE = 2 };

/* A range in which one launch is. */
struct row {
	enum thread thread;
	enum pm_range_scope scope;
	const char *name, *module, *line;
	uint32_t sequence; /* in its step */
};

#define ROWS 6
#define MODEL(module, line) \
	{ \
		{MAIN, PM_RANGE_OPERATOR, "aten::linear", module, NULL, 1}, \
			{MAIN, PM_RANGE_OPERATOR, "aten::mean", NULL, NULL, 2}, \
			{MAIN, PM_RANGE_OPERATOR, "aten::detach", NULL, NULL, 3}, \
			{ENGINE, PM_RANGE_NODE, "MeanBackward0", NULL, NULL, 2}, \
			{ENGINE, PM_RANGE_NODE, "AddmmBackward0", NULL, NULL, 1}, \
			{MAIN, PM_RANGE_USER, "Optimizer.step#SGD.step", NULL, line, NONE}, \
	}

static const struct row models[2][ROWS] = {
	MODEL("critic.0", "train (train.py:9)"), MODEL("actor.0", "train (train.py:12)")};

/* Follows the actor's step alone: an average of its weights. */
static const struct row average = {MAIN, PM_RANGE_OPERATOR, "aten::_foreach_lerp_", NULL, NULL, NONE};

struct program {
	struct builder builder;
	bool asked;
	uint32_t queue, launches[3]; /* by model, and the average's */
	uint64_t now;
};

static void add_row(struct program *p, const struct row *row, uint32_t operation, uint32_t first_sequence)
{
	const bool has_range = p->asked || row->line;

	if (has_range)
		builder_in_range(&p->builder, row->thread, p->now += 10,
			builder_range(&p->builder, row->scope, row->name, row->module, row->line),
			row->sequence == NONE ? PM_RANGE_NO_SEQUENCE : first_sequence + row->sequence, 1);
	p->now += 10;
	builder_call(&p->builder, row->thread, p->now, p->now + 5, operation, p->queue, 0, p->now + 20,
		p->now + 30);
	p->now += 40;
	if (has_range)
		builder_in_range(&p->builder, row->thread, p->now += 10, 0, 0, 0);
}

static void add_model(struct program *p, uint32_t model, uint32_t step)
{
	for (uint32_t i = 0; i < ROWS; i++)
		add_row(p, &models[model][i],
			builder_operation(
				&p->builder, p->launches[model], 0, (const uint64_t[]){model * 100 + i}),
			step * 100 + model * 10);
}

/* How many calls of an iteration are so; layer "": of any or none. */
static uint32_t count_calls(
	const struct analysis *analysis, size_t iteration, enum phase phase, const char *layer)
{
	const struct layer_list *layers = &analysis->workers[0].layers;
	struct analysis_walk at = analysis_walk(analysis, &analysis->workers[0], iteration);
	uint32_t count = 0;

	while (analysis_next(&at))
		count +=
			at.role->phase == phase &&
			(!*layer ||
				(at.role->part_count == 1 &&
					strcmp(layers->items[layers->parts[at.role->first_part].layer].module,
						layer) == 0));
	return count;
}

static void check_iteration(const struct analysis *analysis, size_t iteration, uint32_t actor)
{
	CHECK(count_calls(analysis, iteration, PHASE_FORWARD, "critic.0") == 3, "iteration %zu: critic",
		iteration);
	CHECK(count_calls(analysis, iteration, PHASE_BACKWARD, "critic.0") == 2, "iteration %zu: critic",
		iteration);
	CHECK(count_calls(analysis, iteration, PHASE_FORWARD, "actor.0") == 3 * actor, "iteration %zu: actor",
		iteration);
	CHECK(count_calls(analysis, iteration, PHASE_BACKWARD, "actor.0") == 2 * actor,
		"iteration %zu: actor", iteration);
	CHECK(count_calls(analysis, iteration, PHASE_UPDATE, "") == 1 + 2 * actor, "iteration %zu: updates",
		iteration);
}

/* partly: the framework is not asked of the last iterations. */
static void check(bool partly)
{
	struct program p = {.now = 100000, .asked = true};
	struct timeline timeline;
	struct analysis analysis;

	builder_init(&p.builder);
	p.builder.header.version = PM_VERSION_WHOLE;
	p.launches[0] = builder_function(&p.builder, "cudart LAUNCH cudaLaunchKernel int:x");
	p.launches[1] = builder_function(&p.builder, "cudart LAUNCH cudaLaunchCooperativeKernel int:x");
	p.launches[2] = builder_function(&p.builder, "cudart LAUNCH cudaLaunchKernelExC int:x");
	p.queue = builder_queue(&p.builder, 0, 0);
	builder_range_window(&p.builder, true, p.now);
	for (uint32_t step = 0; step < STEPS; step++) {
		if (step == STEPS - 2)
			builder_range_window(&p.builder, p.asked = !partly, p.now);
		add_model(&p, 0, step);
		if (step % EVERY != 1)
			continue;
		add_model(&p, 1, step);
		add_row(&p, &average,
			builder_operation(&p.builder, p.launches[2], 0, (const uint64_t[]){200}), 0);
	}
	builder_timeline(&p.builder, &timeline);
	analysis_init(&analysis, &timeline, 1);
	CHECK(analysis.worker_count == 1 && analysis.workers[0].iterations.count == STEPS, "iterations");
	for (uint32_t i = 0; analysis.worker_count == 1 && i < analysis.workers[0].iterations.count; i++)
		check_iteration(&analysis, i, i % EVERY == 1);
	analysis_free(&analysis);
}

int main(void)
{
	check(false);
	check(true);
	return check_end();
}
