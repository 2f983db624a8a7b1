/* Checks which addresses the calls beyond the samples are given: those of the same call in a sample. */
#include "check.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <err.h>
#include <string.h>

#define LAYERS 12
#define ITERATIONS 40u

/* Layers that cannot be distinguished: one operation, and one with addresses for each of them. */
struct net {
	struct builder builder;
	uint32_t loss, layer, placed[LAYERS], expected[2 * ITERATIONS * (LAYERS + 1)], count;
	uint32_t thread;
	uint64_t now_ns;
};

static void begin(struct net *net)
{
	uint32_t function;

	*net = (struct net){.now_ns = 1000, .thread = 1};
	builder_init(&net->builder);
	function = builder_function(
		&net->builder, "cublas COMPUTE cublasSgemm_v2 int:m reads:a_ptr reads:b_ptr writes:c_ptr");
	net->layer = builder_operation(&net->builder, function, 0, (const uint64_t[]){64, 0, 0, 0});
	for (uint64_t i = 0; i < LAYERS; i++) {
		net->placed[i] = builder_operation(&net->builder, function, 0,
			(const uint64_t[]){64, 0x1000 + i * 0x100, 0x9000 + i * 0x100, 0xa000});
		builder_placed(&net->builder, net->placed[i], net->layer);
	}
	net->loss = builder_operation(&net->builder,
		builder_function(&net->builder, "cudnn FORWARD cudnnSoftmaxForward int:mode"), 0,
		(const uint64_t[]){0});
}

/* A call as it is recorded, and the operation that it should be seen as. */
static void call(struct net *net, uint32_t recorded, uint32_t expected)
{
	builder_call(&net->builder, net->thread, net->now_ns, net->now_ns + 10, recorded, 0, 0, 0, 0);
	net->now_ns += 100;
	if (net->count < sizeof(net->expected) / sizeof(*net->expected))
		net->expected[net->count++] = expected;
}

/* The first `layers` of an iteration; of these those from `sampled` on beyond the sample. */
static void iterate(struct net *net, unsigned layers, unsigned sampled)
{
	for (unsigned i = 0; i < layers; i++)
		call(net, i < sampled ? net->placed[i] : net->layer, net->placed[i]);
	call(net, net->loss, net->loss);
}

static void finish(struct net *net, const char *what)
{
	struct timeline timeline;
	struct trace trace;

	builder_finish(&net->builder);
	if (trace_parse(&trace, "t", net->builder.file.data, net->builder.file.size) < 0)
		errx(1, "%s", trace.error);
	timeline_init(&timeline);
	timeline_add(&timeline, &trace);
	CHECK(timeline.call_count == net->count, "%s: %zu calls of %u", what, timeline.call_count,
		net->count);
	for (uint32_t i = 0; i < net->count && i < timeline.call_count; i++) {
		const struct timeline_process *process = &timeline.processes[0];
		const uint32_t seen = timeline_call(&timeline, i).operation - process->first_operation;

		CHECK(seen == net->expected[i], "%s: call %u is operation %u, expected %u", what, i, seen,
			net->expected[i]);
	}
	trace_close(&trace);
	timeline_free(&timeline);
	builder_free(&net->builder);
}

/* The sample ends anywhere in an iteration, and the loop goes on. */
static void check_loop(void)
{
	for (unsigned end = 0; end <= LAYERS; end++) {
		struct net net;

		begin(&net);
		for (unsigned i = 0; i < ITERATIONS; i++)
			iterate(&net, LAYERS, i < 3 ? LAYERS : i == 3 ? end : 0);
		finish(&net, "loop");
	}
}

/* An evaluation of fewer layers, sampled once, comes back. */
static void check_evaluation(void)
{
	struct net net;

	begin(&net);
	for (unsigned i = 0; i < ITERATIONS; i++) {
		iterate(&net, LAYERS, i < 8 ? LAYERS : 0);
		if (i % 7 == 6) {
			call(&net, net.loss, net.loss);
			iterate(&net, LAYERS / 2, i < 8 ? LAYERS : 0);
			call(&net, net.loss, net.loss);
		}
	}
	finish(&net, "evaluation");
}

/* A thread that is made for each iteration does what the first one did. */
static void check_threads(void)
{
	struct net net;

	begin(&net);
	for (unsigned i = 0; i < 6; i++) {
		net.thread = 1 + i;
		iterate(&net, LAYERS, i < 2 ? LAYERS : 0);
	}
	finish(&net, "threads");
}

/* What follows no calls that were sampled stays as it is. */
static void check_unknown(void)
{
	struct net net;

	begin(&net);
	for (unsigned i = 0; i < 3; i++)
		call(&net, net.layer, net.layer);
	for (unsigned i = 0; i < LAYERS; i++)
		call(&net, net.placed[i], net.placed[i]);
	for (unsigned i = 0; i < 8; i++)
		call(&net, net.loss, net.loss);
	call(&net, net.layer, net.layer);
	finish(&net, "unknown");
}

/* Bases that cannot be: of another function, of none, in a cycle. Nothing is given for them. */
static void check_damage(void)
{
	struct net net;
	uint32_t other, first, second;

	begin(&net);
	other = builder_function(&net.builder, "cublas COMPUTE cublasDgemm_v2 int:m reads:a_ptr");
	first = builder_operation(&net.builder, other, 0, (const uint64_t[]){1, 2});
	second = builder_operation(&net.builder, other, 0, (const uint64_t[]){1, 3});
	builder_placed(&net.builder, first, net.layer);
	builder_placed(&net.builder, second, 12345678);
	builder_placed(&net.builder, net.loss, net.loss);
	for (unsigned i = 0; i < 9; i++) {
		call(&net, first, first);
		call(&net, second, second);
		call(&net, net.loss, net.loss);
	}
	call(&net, net.layer, net.layer);
	finish(&net, "damage");
	begin(&net);
	first = builder_operation(&net.builder, builder_function(&net.builder, "cudnn FORWARD a int:m"), 0,
		(const uint64_t[]){1});
	second = builder_operation(&net.builder, 3, 0, (const uint64_t[]){2});
	builder_placed(&net.builder, first, second);
	builder_placed(&net.builder, second, first);
	call(&net, first, first);
	call(&net, second, second);
	finish(&net, "cycle");
}

int main(void)
{
	check_loop();
	check_evaluation();
	check_threads();
	check_unknown();
	check_damage();
	return check_end();
}
