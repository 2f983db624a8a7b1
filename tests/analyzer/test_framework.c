/*
 * What PyTorch and XLA say of calls, from ranges and programs alone: which operator made a node, whose
 * parameter's gradient one puts down, what the engine does after a node, recomputation, the optimizer's
 * step, what records no gradients; and ranges that break off.
 */
#include "check.h"
#include "framework/framework.h"
#include "reconstruct/analysis.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <string.h>

#define MAIN 1 /* threads */
#define ENGINE 2
#define NONE PM_RANGE_NO_SEQUENCE

struct program {
	struct builder builder;
	uint32_t launch, queue, call_count;
	uint64_t now;
};

static uint32_t operator(struct program *p, const char *name, const char *module)
{
	return builder_range(&p->builder, PM_RANGE_OPERATOR, name, module, NULL);
}

static uint32_t node(struct program *p, const char *name)
{
	return builder_range(&p->builder, PM_RANGE_NODE, name, NULL, NULL);
}

static void enter(
	struct program *p, uint32_t thread, uint32_t range, uint32_t sequence, uint16_t framework_thread)
{
	builder_in_range(&p->builder, thread, p->now += 10, range, sequence, framework_thread);
}

static void leave(struct program *p, uint32_t thread)
{
	builder_in_range(&p->builder, thread, p->now += 10, 0, 0, 0);
}

/* Answers the number of the call, in order of time. */
static uint32_t launch(struct program *p, uint32_t thread)
{
	p->now += 10;
	builder_call(
		&p->builder, thread, p->now, p->now + 5, p->launch, p->queue, 0, p->now + 20, p->now + 30);
	p->now += 40;
	return p->call_count++;
}

/* An operator that launches once. */
static uint32_t run(
	struct program *p, uint32_t thread, uint32_t range, uint32_t sequence, uint16_t framework_thread)
{
	uint32_t call;

	enter(p, thread, range, sequence, framework_thread);
	call = launch(p, thread);
	leave(p, thread);
	return call;
}

/* The engine evaluates a node: one launch in it, and one after it, which is the call after the one that is
 * answered. */
static uint32_t evaluate(struct program *p, uint32_t outer, uint32_t inner, uint32_t sequence)
{
	uint32_t call;

	enter(p, ENGINE, outer, NONE, 7);
	call = run(p, ENGINE, inner, sequence, 1);
	launch(p, ENGINE);
	leave(p, ENGINE);
	return call;
}

static void begin(struct program *p)
{
	memset(p, 0, sizeof(*p));
	builder_init(&p->builder);
	p->builder.header.version = PM_VERSION_WHOLE;
	p->now = 100000;
	p->launch = builder_operation(&p->builder,
		builder_function(&p->builder, "cudart LAUNCH cudaLaunchKernel int:x"), 0,
		(const uint64_t[]){1});
	p->queue = builder_queue(&p->builder, 0, 0);
	builder_range_window(&p->builder, true, p->now);
}

static void check_word(struct framework *framework, uint32_t call, enum framework_place place,
	const char *module, const char *what)
{
	const struct framework_word word = framework_word(framework, call);

	CHECK(word.place == place, "%s: place %d, expected %d", what, (int)word.place, (int)place);
	CHECK(module ? word.module && strcmp(word.module, module) == 0 : !word.module,
		"%s: of module %s, expected %s", what, word.module ? word.module : "none",
		module ? module : "none");
}

/* One step of two layers with an activation between. */
static void check_step(void)
{
	struct program p;
	struct timeline timeline;
	struct framework *framework;
	uint32_t linear_0, relu, linear_2, arange, loss, ones, back_2, gradient, back_1, clip, step, engine,
		outside;

	begin(&p);
	engine = operator(&p, "autograd::engine::evaluate_function: AddmmBackward0", NULL);
	arange = run(&p, MAIN, operator(&p, "aten::arange", "net"), NONE, 1);
	linear_0 = run(&p, MAIN, operator(&p, "aten::linear", "net.0"), 5, 1);
	relu = run(&p, MAIN, operator(&p, "aten::relu", "net.1"), 6, 1);
	linear_2 = run(&p, MAIN, operator(&p, "aten::linear", "net.2"), 7, 1);
	loss = run(&p, MAIN, operator(&p, "aten::mse_loss", NULL), 9, 1);
	run(&p, MAIN, operator(&p, "aten::detach", NULL), 10, 1);
	ones = run(&p, MAIN, operator(&p, "aten::ones_like", NULL), NONE, 1);
	back_2 = evaluate(&p, engine, node(&p, "AddmmBackward0"), 8);
	gradient = evaluate(&p, engine, node(&p, "torch::autograd::AccumulateGrad"), NONE);
	back_1 = evaluate(&p, engine, node(&p, "ReluBackward0"), 6);
	clip = run(&p, MAIN, operator(&p, "aten::_foreach_norm", NULL), NONE, 1);
	enter(&p, MAIN,
		builder_range(
			&p.builder, PM_RANGE_USER, "Optimizer.step#SGD.step", NULL, "train (train.py:9)"),
		NONE, 1);
	step = run(&p, MAIN, operator(&p, "aten::_foreach_add_", NULL), NONE, 1);
	leave(&p, MAIN);
	outside = launch(&p, MAIN);
	builder_timeline(&p.builder, &timeline);
	framework = framework_read(&timeline, &timeline.processes[0]);
	CHECK(framework, "nothing is said");
	check_word(framework, arange, FRAMEWORK_NO_GRADIENTS, "net", "positions");
	check_word(framework, linear_0, FRAMEWORK_FORWARD, "net.0", "first layer");
	check_word(framework, relu, FRAMEWORK_FORWARD, "net.1", "activation");
	check_word(framework, linear_2, FRAMEWORK_FORWARD, "net.2", "last layer");
	check_word(framework, loss, FRAMEWORK_FORWARD, NULL, "loss");
	check_word(framework, ones, FRAMEWORK_NO_GRADIENTS, NULL, "first gradient");
	check_word(framework, back_2, FRAMEWORK_BACKWARD, "net.2", "second node of an operator");
	check_word(framework, back_2 + 1, FRAMEWORK_BACKWARD, "net.2", "what the engine adds after a node");
	check_word(framework, gradient, FRAMEWORK_BACKWARD, "net.2", "a parameter's gradient");
	check_word(framework, back_1, FRAMEWORK_BACKWARD, "net.1", "node of an activation");
	check_word(framework, clip, FRAMEWORK_NO_GRADIENTS, NULL, "clipping");
	check_word(framework, step, FRAMEWORK_UPDATE, NULL, "step");
	check_word(framework, outside, FRAMEWORK_SILENT, NULL, "outside");
	CHECK(framework_word(framework, linear_2).owns && !framework_word(framework, relu).owns,
		"which modules own parameters");
	CHECK(framework_word(framework, arange).creates && framework_word(framework, step).in_place,
		"kinds of operators");
	CHECK(framework_was_asked(framework, 100000, 200000) && !framework_was_asked(framework, 0, 200000),
		"when asked");
	framework_free(framework);
	timeline_free(&timeline);
}

/* Without gradients anywhere, a product's weights are the module's own. */
static void check_inference(void)
{
	struct program p;
	struct timeline timeline;
	struct framework *framework;
	uint32_t product;

	begin(&p);
	product = run(&p, MAIN, operator(&p, "aten::mm", "net.0"), NONE, 1);
	builder_timeline(&p.builder, &timeline);
	framework = framework_read(&timeline, &timeline.processes[0]);
	check_word(framework, product, FRAMEWORK_NO_GRADIENTS, "net.0", "inference");
	CHECK(framework_word(framework, product).owns, "inference: the module has no parameters");
	framework_free(framework);
	timeline_free(&timeline);
}

/* A checkpoint: the node runs its operators again, on the engine's thread, whose numbers are its own. */
static void check_again(void)
{
	struct program p;
	struct timeline timeline;
	struct framework *framework;
	uint32_t again, inner, engine, checkpoint, linear, other;

	begin(&p);
	engine = operator(&p, "autograd::engine::evaluate_function: CheckpointFunctionBackward", NULL);
	linear = operator(&p, "aten::linear", "net.3");
	run(&p, MAIN, operator(&p, "CheckpointFunction", "net"), 5, 1);
	run(&p, MAIN, operator(&p, "aten::linear", "head"), 6, 1);
	checkpoint = node(&p, "CheckpointFunctionBackward");
	enter(&p, ENGINE, engine, NONE, 7);
	enter(&p, ENGINE, checkpoint, 5, 1);
	again = run(&p, ENGINE, linear, 0, 7);
	enter(&p, ENGINE, engine, NONE, 7);
	inner = run(&p, ENGINE, node(&p, "AddmmBackward0"), 0, 7);
	leave(&p, ENGINE);
	other = launch(&p, ENGINE);
	leave(&p, ENGINE);
	leave(&p, ENGINE);
	builder_timeline(&p.builder, &timeline);
	framework = framework_read(&timeline, &timeline.processes[0]);
	check_word(framework, again, FRAMEWORK_AGAIN, "net.3", "operator that runs again");
	check_word(framework, inner, FRAMEWORK_BACKWARD, "net.3", "node within");
	check_word(framework, other, FRAMEWORK_BACKWARD, "net", "the checkpoint's own");
	framework_free(framework);
	timeline_free(&timeline);
}

/* An end without a begin closes nothing; a begin without an end is open to the end of the data, and no call
 * before it is in it. */
static void check_broken(void)
{
	struct program p;
	struct timeline timeline;
	uint32_t before, within, range;
	const struct timeline_process *process;

	begin(&p);
	range = operator(&p, "aten::linear", "net");
	leave(&p, MAIN);
	before = launch(&p, MAIN);
	enter(&p, MAIN, range, 1, 1);
	within = launch(&p, MAIN);
	builder_timeline(&p.builder, &timeline);
	process = &timeline.processes[0];
	CHECK(process->range_count == 1, "%u ranges", process->range_count);
	CHECK(timeline_range_at(&timeline, process, MAIN, timeline_call(&timeline, before).begin_ns) ==
			TIMELINE_NO_RANGE,
		"in a range before it begins");
	CHECK(timeline_range_at(&timeline, process, MAIN, timeline_call(&timeline, within).begin_ns) == 0,
		"not in it");
	CHECK(timeline_range_at(&timeline, process, ENGINE, timeline_call(&timeline, within).begin_ns) ==
			TIMELINE_NO_RANGE,
		"in another thread's");
	timeline_free(&timeline);
}

/* ---- what XLA says ---- */

struct instruction {
	const char *name, *opcode, *op_name;
	uint32_t index;
	uint64_t operands[3]; /* ids, which are places in the list from 1 on; 0: no more */
};

static void add_instruction(
	struct program *p, uint32_t module, uint64_t id, const struct instruction *i, bool is_root)
{
	struct pm_entry_hlo_instruction fixed = {.module = module,
		.flags = is_root ? PM_HLO_ROOT : 0,
		.computation = 1,
		.id = id,
		.element_count = strcmp(i->opcode, "reduce") == 0 ? 1 : 64,
		.type = PM_TYPE_F32,
		.index = i->index,
		.opcode = builder_string(&p->builder, i->opcode),
		.op_name = builder_string(&p->builder, i->op_name)};
	unsigned char tail[3 * sizeof(uint64_t) + 32] = {0};

	while (fixed.operand_count < 3 && i->operands[fixed.operand_count])
		fixed.operand_count++;
	memcpy(tail, i->operands, fixed.operand_count * sizeof(uint64_t));
	strncpy((char *)tail + fixed.operand_count * sizeof(uint64_t), i->name, 31);
	builder_entry(&p->builder, PM_ENTRY_HLO_INSTRUCTION, &fixed, sizeof(fixed), tail,
		fixed.operand_count * sizeof(uint64_t) + strlen(i->name) + 1);
}

static const struct instruction step[] = {
	{"p", "parameter", "p['params']['fc1']['kernel']", 0, {0}},
	{"x", "parameter", "x", 1, {0}},
	{"dot.1", "custom-call", "jit(step)/jvp(Net)/fc1/dot_general", 0, {2, 1}},
	{"loss.1", "reduce", "jit(step)/jvp()/reduce_sum", 0, {3}},
	{"dot.2", "custom-call", "jit(step)/transpose(jvp(Net))/fc1/dot_general", 0, {3, 2}},
	{"sgd.1", "fusion", "jit(step)/sub", 0, {5, 1}},
	{"root", "tuple", "", 0, {6, 4}},
};
#define STEP_COUNT (sizeof(step) / sizeof(*step))

/* A program of one computation. */
static void add_program(
	struct program *p, uint32_t number, uint64_t program, const struct instruction *rows, uint32_t count)
{
	struct pm_entry_hlo_module module = {
		.number = number, .program = program, .entry = 1, .alias_count = 1};
	struct pm_entry_hlo_schedule schedule = {
		.module = number, .computation = 1, .instruction_count = count};
	uint64_t order[STEP_COUNT];
	const uint32_t alias = 0;

	for (uint64_t i = 0; i < count; i++) {
		order[i] = i + 1;
		add_instruction(p, number, i + 1, &rows[i], i == count - 1);
	}
	builder_entry(&p->builder, PM_ENTRY_HLO_SCHEDULE, &schedule, sizeof(schedule), order,
		count * sizeof(*order));
	module.name = builder_string(&p->builder, "jit_step");
	builder_entry(&p->builder, PM_ENTRY_HLO_MODULE, &module, sizeof(module), &alias, sizeof(alias));
}

static uint32_t nvtx(struct program *p, const char *text)
{
	return builder_range(&p->builder, PM_RANGE_NVTX, text, NULL, NULL);
}

/* A launch is of the instruction around it, within a run of its program alone; what has no instruction is
 * silent. */
static void check_xla(void)
{
	struct program p;
	struct timeline timeline;
	struct framework *framework;
	uint32_t forward, backward, update, unknown, other, outside;

	begin(&p);
	add_program(&p, 1, 3, step, STEP_COUNT);
	enter(&p, MAIN, nvtx(&p, "XlaModule:#hlo_module=jit_step,program_id=3#"), NONE, 0);
	forward = run(&p, MAIN, nvtx(&p, "Thunk:#hlo_op=dot.1#"), NONE, 0);
	backward = run(&p, MAIN, nvtx(&p, "Thunk:#hlo_op=dot.2#"), NONE, 0);
	update = run(&p, MAIN, nvtx(&p, "Thunk:#hlo_op=sgd.1#"), NONE, 0);
	unknown = run(&p, MAIN, nvtx(&p, "Thunk:#hlo_op=dot.3#"), NONE, 0);
	leave(&p, MAIN);
	enter(&p, MAIN, nvtx(&p, "XlaModule:#hlo_module=gemm#"), NONE, 0);
	other = run(&p, MAIN, nvtx(&p, "Thunk:#hlo_op=dot.1#"), NONE, 0);
	leave(&p, MAIN);
	outside = launch(&p, MAIN);
	builder_timeline(&p.builder, &timeline);
	framework = framework_read(&timeline, &timeline.processes[0]);
	CHECK(framework != NULL, "nothing is said");
	check_word(framework, forward, FRAMEWORK_FORWARD, "Net/fc1", "a forward product");
	check_word(framework, backward, FRAMEWORK_BACKWARD, "Net/fc1", "a backward one");
	check_word(framework, update, FRAMEWORK_UPDATE, "Net/fc1", "the update");
	check_word(framework, unknown, FRAMEWORK_SILENT, NULL, "an instruction that is not in the program");
	check_word(framework, other, FRAMEWORK_SILENT, NULL, "in a run of no program that is known");
	check_word(framework, outside, FRAMEWORK_SILENT, NULL, "in no run");
	CHECK(framework_word(framework, forward).settled, "what is around it may decide");
	CHECK(framework_word(framework, forward).parameter_count == 64, "of another size");
	framework_free(framework);
	timeline_free(&timeline);
}

/* A loss alone, and no update. */
static const struct instruction evaluation[] = {
	{"p", "parameter", "p['params']['fc1']['kernel']", 0, {0}},
	{"x", "parameter", "x", 1, {0}},
	{"dot.1", "custom-call", "jit(eval)/Net/fc1/dot_general", 0, {2, 1}},
	{"loss.1", "reduce", "jit(eval)/reduce_sum", 0, {3}},
	{"root", "tuple", "", 0, {4, 4}},
};

static void run_program(struct program *p, char program)
{
	static const char *const instructions[] = {
		"Thunk:#hlo_op=dot.1#", "Thunk:#hlo_op=dot.2#", "Thunk:#hlo_op=sgd.1#"};
	const bool steps = program != 'e';
	const uint32_t launch_of_d = p->launch;

	p->launch += program == 'g'; /* another network's */

	enter(p, MAIN,
		nvtx(p, program == 'd'   ? "XlaModule:#hlo_module=jit_step,program_id=3#"
			: program == 'g' ? "XlaModule:#hlo_module=jit_step,program_id=5#"
					 : "XlaModule:#hlo_module=jit_eval,program_id=7#"),
		NONE, 0);
	for (size_t i = 0; i < (steps ? 3 : 1); i++)
		run(p, MAIN, nvtx(p, instructions[i]), NONE, 0);
	leave(p, MAIN);
	p->launch = launch_of_d;
}

/* A program's runs: d and g step, e does not, and a dot is a launch outside of all. calls: of each iteration;
 * "": there are none by what XLA says, nor are those few runs held to be updates. */
static void check_runs(const char *runs, const char *calls)
{
	struct program p;
	struct timeline timeline;
	struct analysis analysis;
	const struct iteration_list *list;

	begin(&p);
	add_program(&p, 1, 3, step, STEP_COUNT);
	add_program(&p, 2, 5, step, STEP_COUNT);
	builder_operation(&p.builder, builder_function(&p.builder, "cublas COMPUTE cublasGemmEx int:m"), 0,
		(const uint64_t[]){2});
	add_program(&p, 3, 7, evaluation, sizeof(evaluation) / sizeof(*evaluation));
	for (const char *run = runs; *run; run++)
		if (*run == '.')
			launch(&p, MAIN);
		else
			run_program(&p, *run);
	builder_timeline(&p.builder, &timeline);
	analysis_init(&analysis, &timeline, 1);
	list = &analysis.workers[0].iterations;
	CHECK((list->source == ITERATION_BY_OPTIMIZER) == (*calls != 0), "%s: source %d", runs,
		(int)list->source);
	CHECK(*calls || list->source == ITERATION_BY_WINDOW, "%s: source %d", runs, (int)list->source);
	CHECK(!*calls || list->count == strlen(calls), "%s: %zu iterations, expected %zu", runs, list->count,
		strlen(calls));
	for (size_t i = 0; *calls && i < list->count; i++)
		CHECK(list->items[i].call_end - list->items[i].first_call == (size_t)(calls[i] - '0'),
			"%s: iteration %zu has %zu calls", runs, i,
			list->items[i].call_end - list->items[i].first_call);
	analysis_free(&analysis);
}

static void check_iterations(void)
{
	check_runs("dddd", "3333");
	check_runs(".d.d.d.d", "4444");    /* what is before a run is of it */
	check_runs("dgdgdgdg", "6666");    /* the first of two leads */
	check_runs("gddgddgdd", "363633"); /* the one that runs more often */
	check_runs("deedeedee", "355");    /* one that is no step does not */
	check_runs("d", "");
}

/* TensorFlow's operations, as its executor pushes them: in functions, a loop and a replica, with a layer in a
 * layer, an optimizer, and a metric that writes variables too. */
static void check_tensorflow(void)
{
#define CALLED "StatefulPartitionedCall/while/body/_12/"
	static const struct {
		const char *name;
		enum framework_place place;
		const char *module;
	} rows[] = {
		{CALLED "net/conv/Relu:_FusedConv2D", FRAMEWORK_FORWARD, "net/conv"},
		{CALLED "replica_1/net/conv/Squeeze:Squeeze", FRAMEWORK_FORWARD, "net/conv"},
		{CALLED "net/pool/MaxPool2d:MaxPool", FRAMEWORK_FORWARD, "net/pool"},
		{CALLED "net/block/dense/Tensordot/MatMul:MatMul", FRAMEWORK_FORWARD, "net/block/dense"},
		{CALLED "net/block/dense/BiasAdd:BiasAdd", FRAMEWORK_FORWARD, "net/block/dense"},
		{CALLED "net/block/Add:AddV2", FRAMEWORK_FORWARD, "net/block"},
		{CALLED "loss/Mean:Mean#from=x", FRAMEWORK_FORWARD, "loss"},
		{CALLED "gradient_tape/loss/div:DivNoNan", FRAMEWORK_BACKWARD, "loss"},
		{CALLED "gradient_tape/net/block/dense/Tensordot/MatMul/MatMul_1:MatMul", FRAMEWORK_BACKWARD,
			"net/block/dense"},
		{CALLED "gradient_tape/replica_1/net/conv/convolution/Conv2DBackpropFilter:Conv2DBackpropFilter",
			FRAMEWORK_BACKWARD, "net/conv"},
		{CALLED "adam/Sub_3:Sub", FRAMEWORK_UPDATE, NULL},
		{CALLED "adam/AssignSubVariableOp:AssignSubVariableOp", FRAMEWORK_UPDATE, NULL},
		{CALLED "adam/AssignSubVariableOp_1:AssignSubVariableOp", FRAMEWORK_UPDATE, NULL},
		{CALLED "accuracy/AssignAddVariableOp:AssignAddVariableOp", FRAMEWORK_NO_GRADIENTS, NULL},
		{CALLED "mul:Mul", FRAMEWORK_NO_GRADIENTS, NULL},
	};
#undef CALLED
	enum { ROWS = sizeof(rows) / sizeof(*rows) };
	struct program p;
	struct timeline timeline;
	struct framework *framework;
	uint32_t calls[ROWS], user;

	begin(&p);
	for (size_t i = 0; i < ROWS; i++)
		calls[i] = run(&p, MAIN, builder_nvtx(&p.builder, "TSL", rows[i].name, 0), NONE, 0);
	user = run(&p, MAIN, builder_nvtx(&p.builder, "mine", "net/conv:of mine", 0), NONE, 0);
	builder_timeline(&p.builder, &timeline);
	framework = framework_read(&timeline, &timeline.processes[0]);
	CHECK(framework != NULL, "nothing is said");
	for (size_t i = 0; i < ROWS; i++)
		check_word(framework, calls[i], rows[i].place, rows[i].module, rows[i].name);
	check_word(framework, user, FRAMEWORK_SILENT, NULL, "a range of the program's");
	CHECK(framework_word(framework, calls[1]).owns && !framework_word(framework, calls[2]).owns,
		"which modules own parameters");
	framework_free(framework);
	timeline_free(&timeline);
}

int main(void)
{
	check_step();
	check_inference();
	check_xla();
	check_iterations();
	check_tensorflow();
	check_again();
	check_broken();
	return check_end();
}
