/*
 * Forward and backward by the threads that call, in programs of Python: work that says nothing itself is
 * backward where the thread of the backward pass calls it, and not elsewhere; without what the trace says of
 * Python nothing is told by threads.
 */
#include "check.h"
#include "reconstruct/analysis.h"
#include "timeline/timeline_read.h"
#include "trace/trace.h"
#include "trace_builder.h"

#include <string.h>

#define ITERATIONS 6

/* Work of one iteration, in order. thread 1 is in Python, 2 is the backward pass's. */
static const struct {
	const char *name;
	char kind; /* Forward, Backward, Update, Launch, Copy */
	uint32_t thread;
	uint64_t values[3];
	enum phase phase;
	enum phase blind; /* as it is found without the entries on Python */
} works[] = {
	{"input", 'C', 1, {0x1000, 0x100, 1}, PHASE_H2D, PHASE_H2D},
	{"conv1", 'F', 1, {0x1000, 0x9000, 0x2000}, PHASE_FORWARD, PHASE_FORWARD},
	{"elementwise_relu", 'L', 1, {1, 0, 0}, PHASE_FORWARD, PHASE_FORWARD},
	{"conv2", 'F', 1, {0x2000, 0xa000, 0x3000}, PHASE_FORWARD, PHASE_FORWARD},
	{"elementwise_loss", 'L', 1, {2, 0, 0}, PHASE_FORWARD, PHASE_BACKWARD},
	{"elementwise_seed_backward", 'L', 2, {3, 0, 0}, PHASE_BACKWARD, PHASE_BACKWARD},
	{"filter2", 'B', 2, {0x2000, 0x4000, 0xb000}, PHASE_BACKWARD, PHASE_BACKWARD},
	/* a convolution that is transposed */
	{"transposed", 'F', 2, {0x4000, 0xa000, 0x5000}, PHASE_BACKWARD, PHASE_FORWARD},
	{"filter1", 'B', 2, {0x1000, 0x5000, 0xc000}, PHASE_BACKWARD, PHASE_BACKWARD},
	{"elementwise_sum", 'L', 2, {4, 0, 0}, PHASE_BACKWARD, PHASE_UPDATE},
	{"update2", 'U', 1, {1, 0xb000, 0xa000}, PHASE_UPDATE, PHASE_UPDATE},
	{"update1", 'U', 1, {1, 0xc000, 0x9000}, PHASE_UPDATE, PHASE_UPDATE},
};
#define WORKS (sizeof(works) / sizeof(*works))

static void build(struct builder *builder, bool python, uint32_t *operations)
{
	uint32_t functions[256] = {0}, queue;
	uint64_t now_ns = 10000;

	builder_init(builder);
	queue = builder_queue(builder, 0, 1);
	functions['F'] = builder_function(
		builder, "cudnn FORWARD cudnnConvolutionForward reads:x_ptr weight:w_ptr writes:y_ptr");
	functions['B'] = builder_function(builder,
		"cudnn BACKWARD cudnnConvolutionBackwardFilter reads:x_ptr reads:dy_ptr grad:dw_ptr");
	functions['U'] =
		builder_function(builder, "cublas COMPUTE cublasSaxpy_v2 int:n reads:x_ptr writes:y_ptr");
	functions['L'] =
		builder_function(builder, "cudart LAUNCH cudaLaunchKernel int:grid_x string:kernel int:z");
	functions['C'] =
		builder_function(builder, "cudart COPY cudaMemcpyAsync writes:dst reads:src direction:dir");
	for (size_t i = 0; i < WORKS; i++) {
		uint64_t values[3];

		memcpy(values, works[i].values, sizeof(values));
		if (works[i].kind == 'L')
			values[1] = builder_string(builder, works[i].name);
		operations[i] =
			builder_operation(builder, functions[(unsigned char)works[i].kind], 0, values);
		if (works[i].thread == 1 && works[i].kind != 'U' && works[i].kind != 'C')
			builder_module(builder, operations[i], works[i].name);
		if (python && works[i].thread == 1)
			builder_python(builder, operations[i], works[i].kind == 'L' ? PM_PYTHON_OWN : 0,
				"forward (net.py:1)", "<module> (train.py:9)");
		else if (python)
			builder_python(builder, operations[i], PM_PYTHON_NONE, NULL, NULL);
	}
	for (size_t n = 0; n < ITERATIONS * WORKS; n++, now_ns += 100)
		builder_call(builder, works[n % WORKS].thread, now_ns, now_ns + 10, operations[n % WORKS],
			queue, 0, now_ns + 20, now_ns + 60);
	builder_finish(builder);
}

static void check(bool python)
{
	uint32_t operations[WORKS];
	struct builder builder;
	struct timeline timeline;
	struct analysis analysis;
	struct trace trace;

	build(&builder, python, operations);
	CHECK(trace_parse(&trace, "t", builder.file.data, builder.file.size) == 0, "%s", trace.error);
	timeline_init(&timeline);
	timeline_add(&timeline, &trace);
	trace_close(&trace);
	timeline_settle(&timeline);
	analysis_init(&analysis, &timeline, 1);
	CHECK(analysis.worker_count == 1, "%zu workers", analysis.worker_count);
	for (size_t i = 0; analysis.worker_count == 1 && i < WORKS; i++) {
		const struct layer_role *role = &analysis.workers[0].layers.operation_roles[operations[i]];
		const enum phase expected = python ? works[i].phase : works[i].blind;

		CHECK(role->phase == expected, "%s Python: %s is %d instead of %d",
			python ? "with" : "without", works[i].name, role->phase, expected);
	}
	analysis_free(&analysis);
	builder_free(&builder);
}

int main(void)
{
	check(true);
	check(false);
	return check_end();
}
