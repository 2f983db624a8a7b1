/*
 * Phases and layers by PyTorch's word: steps of made-up programs whose ranges say what each launch is of, and
 * nothing else does. Each row has what is to be found of its launch, and the rule that is to tell it. Of the
 * GPU time each operator has that of its launches, which take 10 ns each.
 */
#include "analyses/operators.h"
#include "check.h"
#include "reconstruct/analysis.h"
#include "reconstruct/layer_assign.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX /* sequence */
#define STEPS 5
#define MOST_ROWS 64
#define MADE_BY_ENGINE 80 /* sequences from here on are of the engine's thread */

enum thread { MAIN = 1, ENGINE = 2 };
enum what {
	RUNS,   /* a range in which one launch is */
	BEGINS, /* a range that the rows up to END are in */
	END,
	LAUNCHES, /* in the range that is open */
	COPIES,   /* from the host */
	MOVES,    /* within the device, all by one operation */
	POOLS,    /* by a library's function, which is a layer by itself */
};

struct row {
	enum thread thread;
	enum what what;
	enum pm_range_scope scope;
	const char *name, *module;
	uint32_t sequence; /* in its step */
	enum phase phase;
	const char *layer; /* NULL: not checked; "": of none */
	enum layer_why rule;
};

#define OPERATOR(name, module, sequence, ...) \
	{ \
		MAIN, RUNS, PM_RANGE_OPERATOR, name, module, sequence, __VA_ARGS__ \
	}
#define NODE(name, sequence, ...) \
	{ \
		ENGINE, RUNS, PM_RANGE_NODE, name, NULL, sequence, __VA_ARGS__ \
	}
#define USER(name) \
	{ \
		MAIN, BEGINS, PM_RANGE_USER, name, NULL, NONE, PHASE_OTHER, NULL, LAYER_WHY_NONE \
	}
#define FORWARD(layer) PHASE_FORWARD, layer, LAYER_WHY_OPERATOR
#define BACKWARD(layer) PHASE_BACKWARD, layer, LAYER_WHY_NODE
#define UPDATE PHASE_UPDATE, NULL, LAYER_WHY_STEP
#define OTHER PHASE_OTHER, NULL, LAYER_WHY_OPERATOR
#define NO_GRADIENTS PHASE_OTHER, NULL, LAYER_WHY_NO_GRADIENTS
#define FROZEN PHASE_OTHER, NULL, LAYER_WHY_FROZEN

static const struct row step_rows[] = {
	USER("Optimizer.step#SGD.step"),
	{MAIN, LAUNCHES, 0, NULL, NULL, NONE, UPDATE},
	OPERATOR("aten::_foreach_add_", NULL, NONE, UPDATE),
	{MAIN, END, 0, NULL, NULL, NONE, UPDATE},
};

/* Two layers, an activation, a layer that is computed again, a loss; clipping, an average, an evaluation. */
static const struct row eager_rows[] = {
	USER("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
	{MAIN, LAUNCHES, 0, NULL, NULL, NONE, OTHER},
	{MAIN, END, 0, NULL, NULL, NONE, OTHER},
	OPERATOR("aten::to", NULL, 1, OTHER),                        /* prepares, outside of the model */
	OPERATOR("aten::mul", "scale", 1, OTHER),                    /* likewise, in another one */
	OPERATOR("aten::flatten_dense_tensors", "net", NONE, OTHER), /* DDP's buffers */
	OPERATOR("aten::arange", "net", NONE, FORWARD("net.0")),
	OPERATOR("aten::mul", "net", 1, FORWARD("net.0")), /* prepares, in the model */
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	OPERATOR("aten::relu", "net.1", 2, FORWARD("net.0")),
	OPERATOR("aten::zeros_like", "net", NONE, FORWARD("net.0")), /* between what goes back */
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::expand", "net.1", 3, FORWARD(NULL)}, /* launches nothing */
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	OPERATOR("aten::argmax", "net.1", NONE, FORWARD("net.0")),
	OPERATOR("aten::argmax", "net.2", NONE, FORWARD("net.3")), /* before what is in it */
	OPERATOR("CheckpointFunction", "net.2", 4, FORWARD("net.0")),
	OPERATOR("aten::layer_norm", "net.3", 5, FORWARD("net.3")),
	OPERATOR("aten::mse_loss", NULL, 6, FORWARD("net.3")),
	OPERATOR("aten::detach", NULL, 7, FORWARD("net.3")),
	OPERATOR("aten::ones_like", NULL, NONE, PHASE_BACKWARD, "net.3", LAYER_WHY_OPERATOR),
	NODE("MseLossBackward0", 6, BACKWARD("net.3")),
	NODE("NativeLayerNormBackward0", 5, BACKWARD("net.3")),
	NODE("torch::autograd::AccumulateGrad", NONE, BACKWARD("net.3")),
	{ENGINE, BEGINS, PM_RANGE_NODE, "CheckpointFunctionBackward", NULL, 4, BACKWARD(NULL)},
	{ENGINE, RUNS, PM_RANGE_OPERATOR, "aten::linear", "Net.2.0", 90, PHASE_BACKWARD, "net.2.0",
		LAYER_WHY_RECOMPUTE}, /* there the variable is not known, and the root has its class's name
				       */
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
	NODE("ExpandBackward0", 3, BACKWARD("net.0")),
	NODE("ReluBackward0", 2, BACKWARD("net.0")),
	NODE("AddmmBackward0", 1, BACKWARD("net.0")),
	OPERATOR("aten::_foreach_norm", NULL, NONE, UPDATE),
	OPERATOR("aten::div", NULL, 8, UPDATE), /* gradients are recorded, and of none there is a node */
	USER("Optimizer.step#SGD.step"),
	OPERATOR("aten::_foreach_add_", NULL, NONE, UPDATE),
	{MAIN, END, 0, NULL, NULL, NONE, UPDATE},
	OPERATOR("aten::_foreach_lerp_", NULL, NONE, UPDATE),
	USER("Optimizer.zero_grad#SGD.zero_grad"),
	{MAIN, LAUNCHES, 0, NULL, NULL, NONE, OTHER},
	{MAIN, END, 0, NULL, NULL, NONE, OTHER},
	OPERATOR("aten::linear", "net.0", NONE, NO_GRADIENTS),
	OPERATOR("aten::relu_", "net.1", NONE, NO_GRADIENTS),
};

/* Figures without gradients are in modules' own forward: of the input, in the place of the average of the
 * weights that the module has changed after the step before; between two operators of a module. */
static const struct row figure_rows[] = {
	OPERATOR("aten::amax", "net", NONE, FORWARD("net.0")),
	OPERATOR("aten::mul", "net.scale", 1, FORWARD("net.0")), /* prepares, in a module without weights */
	OPERATOR("aten::amax", "net.scale", NONE, FORWARD("net.0")),
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	OPERATOR("aten::mm", "net.1", NONE, NO_GRADIENTS), /* the module may begin after it */
	OPERATOR("aten::relu", "net.1", 2, FORWARD("net.0")),
	OPERATOR("aten::mm", "net.1", NONE, FORWARD("net.0")), /* of what it is given, and no evaluation */
	OPERATOR("aten::amax", "net.1", NONE, FORWARD("net.0")),
	OPERATOR("aten::mul", "net.1", 3, FORWARD("net.0")),
	OPERATOR("aten::mm", "net.1", NONE, NO_GRADIENTS), /* prepares what the teacher is given */
	OPERATOR("aten::mm", "net.1.teacher", NONE, NO_GRADIENTS),
	OPERATOR("aten::mul", "net.1", 4, FORWARD("net.0")),
	OPERATOR("aten::mm", "net.1", NONE, NO_GRADIENTS), /* the module may end before it */
	OPERATOR("aten::linear", "net.2", 5, FORWARD("net.2")),
	OPERATOR("aten::mse_loss", NULL, 6, FORWARD("net.2")),
	OPERATOR("aten::detach", NULL, 7, FORWARD("net.2")),
	NODE("MseLossBackward0", 6, BACKWARD("net.2")),
	NODE("AddmmBackward0", 5, BACKWARD("net.2")),
	NODE("MulBackward0", 4, BACKWARD("net.0")),
	NODE("MulBackward0", 3, BACKWARD("net.0")),
	NODE("ReluBackward0", 2, BACKWARD("net.0")),
	NODE("AddmmBackward0", 1, BACKWARD("net.0")),
	USER("Optimizer.step#SGD.step"),
	{MAIN, LAUNCHES, 0, NULL, NULL, NONE, UPDATE},
	{MAIN, END, 0, NULL, NULL, NONE, UPDATE},
	OPERATOR("aten::lerp_", "net", NONE, UPDATE),
};

/* A layer runs three times, without gradients in between, and so it does between two backward passes. */
static const struct row target_rows[] = {
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	OPERATOR("aten::linear", "net.0", NONE, NO_GRADIENTS),
	OPERATOR("aten::linear", "net.0", 2, FORWARD("net.0")),
	OPERATOR("aten::relu", "net.1", 3, FORWARD("net.0")),
	OPERATOR("aten::detach", NULL, 4, FORWARD("net.0")),
	NODE("ReluBackward0", 3, BACKWARD("net.0")),
	OPERATOR("aten::mm", "net.1", NONE, NO_GRADIENTS),
	OPERATOR("aten::relu", "net.1", 5, FORWARD("net.0")),
	OPERATOR("aten::detach", NULL, 6, FORWARD("net.0")),
	NODE("ReluBackward0", 5, BACKWARD("net.0")),
	NODE("AddmmBackward0", 2, BACKWARD("net.0")),
};

/* A layer whose parameters are gathered before it, with a table from the host; gradients that are sent. */
static const struct row sharded_rows[] = {
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	OPERATOR("aten::relu", "net", 2, FORWARD("net.0")),
	USER("FSDP::pre_forward (1)"),
	OPERATOR("fsdp::split_with_sizes_copy", "net", NONE, FORWARD("net.1.up")), /* brought ahead */
	OPERATOR("fsdp::split_with_sizes_copy", "net.1", NONE, FORWARD("net.1.up")),
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "fsdp::split_with_sizes_copy", "net.1", NONE, FORWARD(NULL)},
	{MAIN, COPIES, 0, NULL, NULL, NONE, FORWARD("net.1.up")},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	OPERATOR("aten::linear", "net.1.up", 3, FORWARD("net.1.up")),
	OPERATOR("aten::mse_loss", NULL, 4, FORWARD("net.1.up")),
	OPERATOR("aten::detach", NULL, 5, FORWARD("net.1.up")),
	NODE("MseLossBackward0", 4, BACKWARD("net.1.up")),
	NODE("AddmmBackward0", 3, BACKWARD("net.1.up")),
	NODE("ReluBackward0", 2, BACKWARD("net.0")),
	{ENGINE, BEGINS, PM_RANGE_NODE, "AddmmBackward0", NULL, 1, BACKWARD(NULL)},
	{ENGINE, COPIES, 0, NULL, NULL, NONE, BACKWARD("net.0")},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
	{ENGINE, BEGINS, PM_RANGE_USER, "FSDP::post_backward_reduce", NULL, NONE, BACKWARD(NULL)},
	{ENGINE, RUNS, PM_RANGE_OPERATOR, "fsdp::chunk_cat", NULL, NONE, PHASE_BACKWARD, "net.0",
		LAYER_WHY_OPERATOR},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
};

/* A head out of a list has the name of its class, and the same path in it as another model's layer. */
static const struct row head_rows[] = {
	OPERATOR("aten::linear", "body.0", 1, FORWARD("body.0")),
	OPERATOR("aten::linear", "Sequential.0", 2, FORWARD("Sequential.0")),
	OPERATOR("aten::mse_loss", NULL, 3, FORWARD("Sequential.0")),
	OPERATOR("aten::detach", NULL, 4, FORWARD("Sequential.0")),
	NODE("MseLossBackward0", 3, BACKWARD("Sequential.0")),
	NODE("AddmmBackward0", 2, BACKWARD("Sequential.0")),
	NODE("AddmmBackward0", 1, BACKWARD("body.0")),
};

/* What runs again has the name of its class where nothing else is known, and is the same layer. */
static const struct row again_rows[] = {
	OPERATOR("CheckpointFunction", "net", 1, FORWARD(NULL)),
	OPERATOR("aten::linear", "net.0", 2, FORWARD("net.0")),
	OPERATOR("aten::mse_loss", NULL, 3, FORWARD("net.0")),
	OPERATOR("aten::detach", NULL, 4, FORWARD("net.0")),
	NODE("MseLossBackward0", 3, BACKWARD("net.0")),
	NODE("AddmmBackward0", 2, BACKWARD("net.0")),
	{ENGINE, BEGINS, PM_RANGE_NODE, "CheckpointFunctionBackward", NULL, 1, BACKWARD(NULL)},
	{ENGINE, RUNS, PM_RANGE_OPERATOR, "aten::linear", "Sequential.0", 90, PHASE_BACKWARD, "net.0",
		LAYER_WHY_RECOMPUTE},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
};

/* Copies by one operation: those between the same computations are distinguished by their order. */
static const struct row move_rows[] = {
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::clone", "net.0", 2, FORWARD(NULL)},
	{MAIN, MOVES, 0, NULL, NULL, NONE, FORWARD("net.0")},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	OPERATOR("aten::linear", "net.1", 3, FORWARD("net.1")),
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::clone", "net.1", 4, FORWARD(NULL)},
	{MAIN, MOVES, 0, NULL, NULL, NONE, FORWARD("net.1")},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	OPERATOR("aten::linear", "net.2", 5, FORWARD("net.2")),
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::clone", "net.2", 6, FORWARD(NULL)},
	{MAIN, MOVES, 0, NULL, NULL, NONE, FORWARD("net.2")},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::clone", "net.1", 7, FORWARD(NULL)},
	{MAIN, MOVES, 0, NULL, NULL, NONE, FORWARD("net.1")},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	OPERATOR("aten::mse_loss", NULL, 8, FORWARD(NULL)),
	OPERATOR("aten::detach", NULL, 9, FORWARD(NULL)),
	NODE("MseLossBackward0", 8, BACKWARD(NULL)),
	NODE("AddmmBackward0", 5, BACKWARD("net.2")),
	{ENGINE, BEGINS, PM_RANGE_NODE, "CloneBackward0", NULL, 4, BACKWARD(NULL)},
	{ENGINE, MOVES, 0, NULL, NULL, NONE, BACKWARD("net.1")},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
	NODE("AddmmBackward0", 3, BACKWARD("net.1")),
	NODE("AddmmBackward0", 1, BACKWARD("net.0")),
};

/* Three compiled regions, the first and the last without gradients; the loss is not compiled. Layers are for
 * flow to tell, which here says nothing. */
static const struct row compiled_rows[] = {
	OPERATOR("Torch-Compiled Region: 1/0", "teacher", NONE, PHASE_OTHER, NULL, LAYER_WHY_OPERATOR),
	OPERATOR("Torch-Compiled Region: 0/0", "net", NONE, PHASE_FORWARD, NULL, LAYER_WHY_OPERATOR),
	OPERATOR("aten::mse_loss", NULL, 2, PHASE_FORWARD, NULL, LAYER_WHY_OPERATOR),
	OPERATOR("aten::detach", NULL, 3, PHASE_FORWARD, NULL, LAYER_WHY_OPERATOR),
	OPERATOR("Torch-Compiled Region: 2/0", "judge", NONE, PHASE_OTHER, NULL, LAYER_WHY_OPERATOR),
	NODE("MseLossBackward0", 2, PHASE_BACKWARD, NULL, LAYER_WHY_NODE),
	NODE("CompiledFunctionBackward", 1, PHASE_BACKWARD, NULL, LAYER_WHY_NODE),
	NODE("torch::autograd::AccumulateGrad", NONE, PHASE_BACKWARD, NULL, LAYER_WHY_NODE),
};

/* A part of the model has an optimizer each, of which a loop makes the steps in one line, after the pass. */
static const struct row together_rows[] = {
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	OPERATOR("aten::linear", "net.1", 2, FORWARD("net.1")),
	OPERATOR("aten::mse_loss", NULL, 3, FORWARD("net.1")),
	OPERATOR("aten::detach", NULL, 4, FORWARD("net.1")),
	NODE("MseLossBackward0", 3, BACKWARD("net.1")),
	NODE("AddmmBackward0", 2, BACKWARD("net.1")),
	NODE("AddmmBackward0", 1, BACKWARD("net.0")),
	USER("Optimizer.step#SGD.step"),
	{MAIN, LAUNCHES, 0, NULL, NULL, NONE, UPDATE},
	{MAIN, END, 0, NULL, NULL, NONE, UPDATE},
	OPERATOR("aten::_foreach_norm", NULL, NONE, UPDATE),
};

/* The model trains itself, and changes weights before an optimizer does: its own module is around the step,
 * and in no pass. */
static const struct row trainer_rows[] = {
	OPERATOR("aten::linear", "model.0", 1, FORWARD("model.0")),
	OPERATOR("aten::relu", "model.1", 2, FORWARD("model.0")),
	OPERATOR("aten::linear", "model.2", 3, FORWARD("model.2")),
	OPERATOR("aten::mse_loss", "model", 4, FORWARD("model.2")),
	OPERATOR("aten::ones_like", "model", NONE, PHASE_BACKWARD, "model.2", LAYER_WHY_OPERATOR),
	NODE("MseLossBackward0", 4, BACKWARD("model.2")),
	NODE("AddmmBackward0", 3, BACKWARD("model.2")),
	NODE("ReluBackward0", 2, BACKWARD("model.0")),
	NODE("AddmmBackward0", 1, BACKWARD("model.0")),
	OPERATOR("aten::_foreach_mul_", "model", NONE, UPDATE),
	OPERATOR("aten::neg", "model", NONE, UPDATE),
	OPERATOR("aten::_foreach_add_", "model", NONE, UPDATE),
};

/* What a teacher's library calls do is of no phase, and so of no layer. */
static const struct row teacher_rows[] = {
	OPERATOR("aten::linear", "teacher.0", NONE, FROZEN),
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::max_pool2d", "teacher.1", NONE, FROZEN},
	{MAIN, POOLS, 0, NULL, NULL, NONE, FROZEN},
	{MAIN, END, 0, NULL, NULL, NONE, FROZEN},
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	{MAIN, BEGINS, PM_RANGE_OPERATOR, "aten::max_pool2d", "net.1", 2, FORWARD(NULL)},
	{MAIN, POOLS, 0, NULL, NULL, NONE, FORWARD("net.0")},
	{MAIN, END, 0, NULL, NULL, NONE, FORWARD(NULL)},
	OPERATOR("aten::mse_loss", NULL, 3, FORWARD("net.0")),
	OPERATOR("aten::detach", NULL, 4, FORWARD("net.0")),
	NODE("MseLossBackward0", 3, BACKWARD("net.0")),
	NODE("MaxPoolBackward0", 2, BACKWARD("net.0")),
	NODE("AddmmBackward0", 1, BACKWARD("net.0")),
};

/* Gradients of gradients, as a meta-learner's: what a node runs has numbers of the engine's thread, and nodes
 * of its own, which go back to the layer of the first. */
static const struct row second_order_rows[] = {
	OPERATOR("aten::linear", "net.0", 1, FORWARD("net.0")),
	OPERATOR("aten::linear", "net.1", 2, FORWARD("net.1")),
	OPERATOR("aten::mse_loss", NULL, 3, FORWARD("net.1")),
	OPERATOR("aten::detach", NULL, 4, FORWARD("net.1")),
	{ENGINE, BEGINS, PM_RANGE_NODE, "LinearBackward0", NULL, 2, BACKWARD(NULL)},
	{ENGINE, RUNS, PM_RANGE_OPERATOR, "aten::mm", NULL, MADE_BY_ENGINE, BACKWARD("net.1")},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
	{ENGINE, BEGINS, PM_RANGE_NODE, "LinearBackward0", NULL, 1, BACKWARD(NULL)},
	{ENGINE, RUNS, PM_RANGE_OPERATOR, "aten::mm", NULL, MADE_BY_ENGINE + 1, BACKWARD("net.0")},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
	{ENGINE, BEGINS, PM_RANGE_NODE, "BmmBackward0", NULL, MADE_BY_ENGINE,
		BACKWARD(NULL)}, /* the third's */
	{ENGINE, RUNS, PM_RANGE_OPERATOR, "aten::mm", NULL, MADE_BY_ENGINE + 2, BACKWARD("net.1")},
	{ENGINE, END, 0, NULL, NULL, NONE, BACKWARD(NULL)},
	NODE("MmBackward0", MADE_BY_ENGINE + 1, BACKWARD("net.0")),
	NODE("MmBackward0", MADE_BY_ENGINE + 2, BACKWARD("net.1")),
	NODE("AddmmBackward0", 1, BACKWARD("net.0")),
};

struct program {
	struct builder builder;
	bool unasked; /* ranges are the optimizer's steps alone */
	uint32_t queue, operations[MOST_ROWS];
	uint64_t now;
};

static bool is_made_by_engine(const struct row *row)
{
	return row->thread == ENGINE && row->sequence != NONE &&
	       (row->scope == PM_RANGE_OPERATOR || row->sequence >= MADE_BY_ENGINE);
}

static void add_row(struct program *p, const struct row *row, uint32_t operation, uint32_t step)
{
	const char *line = row->scope == PM_RANGE_USER ? "train (train.py:9)" : NULL;
	const bool has_range = !p->unasked || line || row->what == END;

	if (has_range && (row->what == RUNS || row->what == BEGINS))
		builder_in_range(&p->builder, row->thread, p->now += 10,
			builder_range(&p->builder, row->scope, row->name, row->module, line),
			row->sequence == NONE ? PM_RANGE_NO_SEQUENCE : step * 100 + row->sequence,
			is_made_by_engine(row) ? 7 : 1);
	if (row->what != BEGINS && row->what != END) {
		p->now += 10;
		builder_call(&p->builder, row->thread, p->now, p->now + 5, operation, p->queue, 0,
			p->now + 20, p->now + 30);
		p->now += 40;
	}
	if (has_range && (row->what == RUNS || row->what == END))
		builder_in_range(&p->builder, row->thread, p->now += 10, 0, 0, 0);
}

static void read_analysis(struct program *p, struct analysis *analysis)
{
	struct timeline timeline;

	builder_timeline(&p->builder, &timeline);
	analysis_init(analysis, &timeline, 1);
}

/* Of a call within the first iteration. */
static const struct layer_role *role_of(const struct analysis *analysis, uint32_t call)
{
	struct analysis_walk at = analysis_walk(analysis, &analysis->workers[0], 0);

	while (analysis_next(&at))
		if (at.number == call)
			return at.role;
	CHECK(false, "call %u is in no iteration", call);
	return &analysis->workers[0].layers.operation_roles[0];
}

/* `call`: its number among the launches; the data loader's range is a call as well. */
static void check_row(const struct analysis *analysis, const char *what, const struct row *row,
	uint32_t number, uint32_t call)
{
	const struct layer_list *layers = &analysis->workers[0].layers;
	const uint32_t place = analysis->workers[0].worker->calls[call];
	const uint32_t operation = timeline_call(&analysis->timeline, place).operation;
	const struct layer_role *role =
		row->what == MOVES
			? role_of(analysis, place)
			: &layers->operation_roles[operation -
						   analysis->timeline.processes[0].first_operation];
	const char *layer =
		role->part_count ? layers->items[layers->parts[role->first_part].layer].module : "";

	CHECK(role->phase == row->phase, "%s, row %u (%s): phase %d, expected %d", what, number,
		row->name ? row->name : "-", (int)role->phase, (int)row->phase);
	CHECK(role->reason.phase == row->rule, "%s, row %u (%s): phase by %s, expected %s", what, number,
		row->name ? row->name : "-", layer_why_keys[role->reason.phase], layer_why_keys[row->rule]);
	CHECK(!row->layer || strcmp(layer, row->layer) == 0, "%s, row %u (%s): layer %s, expected %s", what,
		number, row->name ? row->name : "-", layer, row->layer);
}

static bool is_launch(const struct row *row)
{
	return row->what != BEGINS && row->what != END;
}

/* The innermost range that a launch is in; NULL: not one around it alone. */
static const char *name_of(const struct row *rows, uint32_t number)
{
	if (rows[number].what == RUNS)
		return rows[number].name;
	return number && rows[number - 1].what == BEGINS ? rows[number - 1].name : NULL;
}

/* The name of a node and of those around it, "net/0/aten::linear/cudaLaunchKernel". */
static bool is_at(const struct operators *operators, uint32_t node, const char *path)
{
	const char *end = path + strlen(path);

	for (; operators->nodes[node].parent != OPERATORS_NONE; node = operators->nodes[node].parent) {
		const char *name = operators->nodes[node].name;

		if ((size_t)(end - path) < strlen(name) ||
			strncmp(end - strlen(name), name, strlen(name)) != 0)
			return false;
		end -= strlen(name);
		end -= end > path && end[-1] == '/';
	}
	return end == path;
}

static double time_at(const struct operators *operators, const char *path)
{
	for (uint32_t i = 1; i < operators->node_count; i++)
		if (is_at(operators, i, path))
			return operators->nodes[i].time_ns;
	return 0;
}

/* By the operators of their modules: the launches say nothing of it. */
static void check_kinds(const struct analysis *analysis)
{
	static const char *const names[][2] = {{"net.0", "fc1"}, {"net.2.0", "fc2"}};
	const struct layer_list *layers = &analysis->workers[0].layers;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		for (size_t l = 0; l < layers->count; l++)
			if (strcmp(layers->items[l].module, names[i][0]) == 0)
				CHECK(strcmp(layers->items[l].name, names[i][1]) == 0,
					"%s is called %s, expected %s", names[i][0], layers->items[l].name,
					names[i][1]);
}

static void check_operators(
	const struct analysis *analysis, const char *what, const struct row *rows, uint32_t count)
{
	struct operators operators;
	double launches = 0, sum_ns = 0;

	operators_find(analysis, &operators);
	for (uint32_t i = 0; i < count; i++)
		launches += is_launch(&rows[i]);
	CHECK(operators.node_count && fabs(operators.nodes[0].time_ns - 10 * launches) < 1e-6,
		"%s: GPU time %g ns, expected %g", what,
		operators.node_count ? operators.nodes[0].time_ns : 0, 10 * launches);
	for (size_t r = 0; r < operators.row_count; r++) {
		const struct operators_row *row = &operators.rows[r];
		double expected = 0;

		for (uint32_t i = 0; i < count; i++)
			expected += is_launch(&rows[i]) && rows[i].phase == row->phase && name_of(rows, i) &&
				    strcmp(name_of(rows, i), row->name) == 0;
		sum_ns += row->time_ns;
		CHECK(expected == 0 || (fabs(row->time_ns - 10 * expected) < 1e-6 &&
					       fabs(row->count - expected) < 1e-6),
			"%s: %s has %g ns of %g calls, expected %g", what, row->name, row->time_ns,
			row->count, expected);
	}
	CHECK(fabs(sum_ns - operators.known * operators.nodes[0].time_ns) < 1e-6, "%s: %g ns in operators",
		what, sum_ns);
	if (strcmp(what, "eager") == 0) {
		check_kinds(analysis);
		CHECK(fabs(time_at(&operators, "net/0/aten::linear/cudaLaunchKernel") - 10) < 1e-6,
			"eager: net.0");
		CHECK(fabs(time_at(&operators, "net/2/0/aten::linear") - 10) < 1e-6, "eager: net.2.0");
		CHECK(fabs(time_at(&operators, "net/3/MseLossBackward0") - 10) < 1e-6, "eager: the loss");
	}
	operators_free(&operators);
}

/* Some steps of a program, read and compared; partly: the framework is not asked of the last two; told: the
 * share of launches, which take as long each, whose phase and layer the framework says. */
static void check_program(const char *what, const struct row *rows, uint32_t count, bool partly, double told)
{
	struct program p = {.now = 100000};
	struct analysis analysis;
	uint32_t launch, copy, move, pool, calls = 0;

	builder_init(&p.builder);
	p.builder.header.version = PM_VERSION_WHOLE;
	launch = builder_function(&p.builder, "cudart LAUNCH cudaLaunchKernel int:x");
	copy = builder_function(&p.builder, "cudart COPY cudaMemcpyAsync bytes:bytes direction:dir");
	move = builder_operation(&p.builder, copy, 0, (const uint64_t[]){4096, 3});
	pool = builder_function(&p.builder, "cudnn FORWARD cudnnPoolingForward reads:x_ptr writes:y_ptr");
	for (uint32_t i = 0; i < count; i++)
		p.operations[i] =
			rows[i].what == MOVES   ? move
			: rows[i].what == POOLS ? builder_operation(&p.builder, pool, 0,
							  (const uint64_t[]){0x10000, 0x20000 + i})
			: rows[i].what == COPIES
				? builder_operation(&p.builder, copy, 0, (const uint64_t[]){64 + i, 1})
				: builder_operation(&p.builder, launch, 0, (const uint64_t[]){i});
	p.queue = builder_queue(&p.builder, 0, 0);
	builder_range_window(&p.builder, true, p.now);
	for (uint32_t step = 0; step < STEPS; step++) {
		if (step == STEPS - 2)
			builder_range_window(&p.builder, !(p.unasked = partly), p.now);
		for (uint32_t i = 0; i < count; i++)
			add_row(&p, &rows[i], p.operations[i], step);
	}
	read_analysis(&p, &analysis);
	CHECK(analysis.worker_count == 1 && analysis.workers[0].iterations.count >= STEPS - 1 &&
			analysis.workers[0].iterations.count <= STEPS,
		"%s: %zu iterations", what, analysis.worker_count ? analysis.workers[0].iterations.count : 0);
	CHECK(analysis.worker_count && fabs(analysis.workers[0].layers.told - told) < 0.001,
		"%s: told %f, expected %f", what, analysis.workers[0].layers.told, told);
	for (size_t l = 0; analysis.worker_count && l < analysis.workers[0].layers.count; l++)
		CHECK(*analysis.workers[0].layers.items[l].module, "%s: layer %zu of no module", what, l);
	for (uint32_t i = 0; i < count && analysis.worker_count; i++)
		if (rows[i].what != BEGINS && rows[i].what != END)
			check_row(&analysis, what, &rows[i], i, calls++);
	check_operators(&analysis, what, rows, count);
	analysis_free(&analysis);
}

static void check_with_step(
	const char *what, const struct row *rows, uint32_t count, bool partly, double told)
{
	const uint32_t more = sizeof(step_rows) / sizeof(*step_rows);
	struct row all[MOST_ROWS];

	memcpy(all, rows, count * sizeof(*rows));
	memcpy(all + count, step_rows, sizeof(step_rows));
	check_program(what, all, count + more, partly, told);
}

/* The layer of a copy by an operation in a gap, in that order; -1: none, -2: nothing is said. */
static int layer_beside(const struct layer_list *list, uint32_t gap, uint32_t operation, uint32_t order)
{
	const struct layer_role *role = layer_beside_role(list, gap, operation, order);

	return !role ? -2 : role->part_count ? (int)list->parts[role->first_part].layer : -1;
}

/* Of a call that the usual iteration does not have only what all of the gap have in common is known. */
static void check_besides(void)
{
	static const struct {
		uint32_t gap, operation, order, layer;
		enum phase phase;
	} rows[] = {{1, 5, 0, 0, PHASE_FORWARD}, {1, 5, 1, 1, PHASE_FORWARD}, {1, 6, 0, 1, PHASE_FORWARD},
		{2, 5, 0, 1, PHASE_FORWARD}, {2, 5, 1, 1, PHASE_FORWARD}, {3, 5, 0, 0, PHASE_FORWARD},
		{3, 5, 1, 0, PHASE_BACKWARD}, {4, 5, LAYER_ANY, 0, PHASE_FORWARD},
		{4, 5, LAYER_ANY, 1, PHASE_FORWARD}};
	struct layer_list list = {.items = NULL};
	struct layer_gap gap = {.core = 0};

	for (uint32_t i = sizeof(rows) / sizeof(*rows); i-- > 0;) {
		struct layer_beside beside = {rows[i].gap, rows[i].operation, rows[i].order,
			{.phase = rows[i].phase, .known = true}};

		layer_add_part(&list, &beside.role, rows[i].layer, 1);
		layer_note_beside(&list, &beside);
	}
	layer_sort_besides(&list);
	CHECK(layer_beside(&list, 1, 5, 0) == 0 && layer_beside(&list, 1, 5, 1) == 1, "by order");
	CHECK(layer_beside(&list, 1, 5, 2) == -1 && layer_beside(&list, 2, 5, 2) == 1, "one more");
	CHECK(layer_beside(&list, 3, 5, 1) == 0 && layer_beside(&list, 3, 5, 2) == -2, "of two phases");
	CHECK(layer_beside(&list, 4, 5, LAYER_ANY) == -1, "of no known order");
	CHECK(layer_beside(&list, 2, 6, 0) == -2, "of another gap");
	CHECK(layer_gap_order(&gap, 7) == 0 && layer_gap_order(&gap, 8) == 0 && layer_gap_order(&gap, 7) == 1,
		"order by operation");
	for (uint32_t i = 2; i < LAYER_GAP_OPERATIONS; i++)
		layer_gap_order(&gap, 100 + i);
	CHECK(layer_gap_order(&gap, 9) == LAYER_ANY && layer_gap_order(&gap, 8) == 1, "too many others");
	layer_gap_pass(&gap);
	CHECK(gap.core == 1 && layer_gap_order(&gap, 7) == 0, "after a computation");
	free(list.besides);
	free(list.parts);
}

int main(void)
{
	check_program("eager", eager_rows, sizeof(eager_rows) / sizeof(*eager_rows), false, 1);
	check_program("figure", figure_rows, sizeof(figure_rows) / sizeof(*figure_rows), false, 1);
	check_with_step("target", target_rows, sizeof(target_rows) / sizeof(*target_rows), false, 1);
	check_with_step("sharded", sharded_rows, sizeof(sharded_rows) / sizeof(*sharded_rows), false, 1);
	check_with_step("head", head_rows, sizeof(head_rows) / sizeof(*head_rows), false, 1);
	check_with_step("again", again_rows, sizeof(again_rows) / sizeof(*again_rows), false, 1);
	check_with_step("together", together_rows, sizeof(together_rows) / sizeof(*together_rows), false, 1);
	check_with_step("partly", together_rows, sizeof(together_rows) / sizeof(*together_rows), true, 1);
	check_with_step("moves", move_rows, sizeof(move_rows) / sizeof(*move_rows), false, 1);
	check_with_step(
		"compiled", compiled_rows, sizeof(compiled_rows) / sizeof(*compiled_rows), false, 0.5);
	check_with_step("teacher", teacher_rows, sizeof(teacher_rows) / sizeof(*teacher_rows), false, 1);
	check_with_step("second order", second_order_rows,
		sizeof(second_order_rows) / sizeof(*second_order_rows), false, 1);
	check_besides();
	check_with_step("trainer", trainer_rows, sizeof(trainer_rows) / sizeof(*trainer_rows), false, 1);
	return check_end();
}
