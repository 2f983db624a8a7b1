/*
 * Checks pipelines: stages are distinguished from replicas, layers listed once with names of their own,
 * messages matched and given to the layer at the cut, the end of the pipeline is no iteration; and what holds
 * a pipeline up: a stage with more work, a slower device, a slow link.
 */
#include "analyses/cause/cause.h"
#include "check.h"
#include "reconstruct/exchange.h"
#include "timeline/timeline_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "trace_builder.h"

enum { STAGES = 3, BATCHES = 4, ITERATIONS = 8, SLOT_NS = 100000, SUM_NS = 1500 };

/* What a stage is made to do. */
struct plan {
	uint64_t work_ns[STAGES]; /* of a convolution */
	uint64_t link_ns[STAGES]; /* of a message between stage i and i + 1 */
	int same;                 /* all stages have the same layers */
	int ahead;                /* PipeDream: a forward pass ahead, and an update for each micro-batch */
	int channels[STAGES];     /* of all layers; 0: 8 << stage */
	int sums;                 /* a stage ends with the sum of both layers' results */
};

struct stage {
	struct builder builder;
	uint32_t forward, backward_data, backward_filter, update, send, receive, copy, sum, add;
	uint32_t queue, link[2], communicator;
	uint32_t tensor, filter, convolution, op;
	uint64_t now_ns; /* the host's */
};

static void begin_stage(struct stage *stage, int number, const struct plan *plan)
{
	struct builder *b = &stage->builder;
	int64_t channels = plan->channels[number] ? plan->channels[number] : plan->same ? 8 : 8 << number;

	builder_init(b);
	b->header.rank = number;
	b->header.world = STAGES;
	b->header.pid = (uint32_t)(100 + number);
	b->header.device_source = PM_DEVICE_EVENTS;
	stage->queue = builder_queue(b, 0, 0x10);
	stage->link[0] = builder_queue(b, 0, 0x20);
	stage->link[1] = builder_queue(b, 0, 0x30);
	stage->communicator = builder_communicator(b, number, STAGES, 0, 0xabc);
	stage->tensor =
		builder_descriptor(b, PM_DESCRIPTOR_TENSOR, 10, (int64_t)PM_TYPE_F32, (int64_t)4, (int64_t)4,
			channels, (int64_t)8, (int64_t)8, channels * 64, (int64_t)64, (int64_t)8, (int64_t)1);
	stage->filter = builder_descriptor(b, PM_DESCRIPTOR_FILTER, 7, (int64_t)PM_TYPE_F32, (int64_t)0,
		(int64_t)4, channels, channels, (int64_t)1, (int64_t)1);
	stage->convolution = builder_descriptor(b, PM_DESCRIPTOR_CONVOLUTION, 11, (int64_t)2, (int64_t)0,
		(int64_t)0, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)PM_TYPE_F32,
		(int64_t)1, (int64_t)0);
	stage->op = builder_descriptor(b, PM_DESCRIPTOR_OP_TENSOR, 2, (int64_t)0, (int64_t)PM_TYPE_F32);
	stage->sum = builder_function(b,
		"cudnn COMPUTE cudnnOpTensor descriptor:op descriptor:a reads:a_ptr descriptor:b reads:b_ptr "
		"scale:beta descriptor:c writes:c_ptr");
	stage->add = builder_function(b,
		"cudnn COMPUTE cudnnAddTensor descriptor:a reads:a_ptr scale:beta descriptor:c writes:c_ptr");
	stage->forward = builder_function(b,
		"cudnn FORWARD cudnnConvolutionForward descriptor:x reads:x_ptr descriptor:w weight:w_ptr "
		"descriptor:conv descriptor:y writes:y_ptr");
	stage->backward_data = builder_function(b,
		"cudnn BACKWARD cudnnConvolutionBackwardData descriptor:w weight:w_ptr descriptor:dy reads:dy_ptr "
		"descriptor:conv scale:beta descriptor:dx writes:dx_ptr");
	stage->backward_filter = builder_function(b,
		"cudnn BACKWARD cudnnConvolutionBackwardFilter descriptor:x reads:x_ptr descriptor:dy reads:dy_ptr "
		"descriptor:conv scale:beta descriptor:dw grad:dw_ptr");
	stage->update =
		builder_function(b, "cublas COMPUTE cublasSaxpy_v2 int:n type:type reads:x_ptr writes:y_ptr");
	stage->send = builder_function(b,
		"nccl COMM ncclSend reads:send int:count type:type bytes:bytes int:peer communicator:comm");
	stage->receive = builder_function(b,
		"nccl COMM ncclRecv writes:recv int:count type:type bytes:bytes int:peer communicator:comm");
	stage->copy = builder_function(
		b, "cudart COPY cudaMemcpyAsync writes:dst reads:src bytes:bytes direction:dir");
}

#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})

/* A call whose work is done from `begin_ns` to `end_ns`. */
static void call(struct stage *stage, uint32_t function, uint32_t queue, uint64_t begin_ns, uint64_t end_ns,
	const uint64_t *values)
{
	uint32_t operation = builder_operation(&stage->builder, function, 0, values);

	builder_call(&stage->builder, 1, stage->now_ns, stage->now_ns + 100, operation, queue, 0, begin_ns,
		end_ns);
	stage->now_ns += 200;
}

/* Addresses: activations of a micro-batch, two layers' weights and gradients, gradients of activations. */
enum { X = 0x1000000, W = 0x9000000, DW = 0xa000000, DY = 0xb000000, BYTES = 0x10000 };

static uint64_t activation(int batch, int place)
{
	return X + (uint64_t)(batch % BATCHES) * 0x100000 + (uint64_t)place * BYTES;
}

static uint64_t message_bytes(const struct plan *plan, int number)
{
	(void)plan;
	(void)number;
	return 8192;
}

static void go_forward(struct stage *stage, int number, const struct plan *plan, int batch, uint64_t at_ns)
{
	uint64_t work_ns = plan->work_ns[number], bytes = message_bytes(plan, number);

	stage->now_ns = at_ns - 40000;
	if (number > 0)
		call(stage, stage->receive, stage->link[0], at_ns - plan->link_ns[number - 1] - 50, at_ns,
			VALUES(activation(batch, 0), bytes / 4, PM_TYPE_F32, bytes, (uint64_t)number - 1,
				stage->communicator));
	else
		call(stage, stage->copy, stage->queue, at_ns - 1000, at_ns,
			VALUES(activation(batch, 0), 0x77, bytes, 1));
	for (uint64_t i = 0; i < 2; i++)
		call(stage, stage->forward, stage->queue, at_ns + i * work_ns, at_ns + (i + 1) * work_ns,
			VALUES(stage->tensor, activation(batch, (int)i), stage->filter, W + i * BYTES,
				stage->convolution, stage->tensor, activation(batch, (int)i + 1)));
	if (plan->sums)
		call(stage, stage->sum, stage->queue, at_ns + 2 * work_ns, at_ns + 2 * work_ns + SUM_NS,
			VALUES(stage->op, stage->tensor, activation(batch, 1), stage->tensor,
				activation(batch, 2), 0, stage->tensor, activation(batch, 3)));
	if (number < STAGES - 1)
		call(stage, stage->send, stage->link[1], at_ns + SLOT_NS - plan->link_ns[number],
			at_ns + SLOT_NS,
			VALUES(activation(batch, plan->sums ? 3 : 2), bytes / 4, PM_TYPE_F32, bytes,
				(uint64_t)number + 1, stage->communicator));
}

static void go_backward(
	struct stage *stage, int number, const struct plan *plan, int batch, uint64_t at_ns, bool adds)
{
	uint64_t work_ns = plan->work_ns[number], bytes = message_bytes(plan, number);
	uint64_t result = DY + (plan->sums ? 3 : 2) * BYTES; /* its gradient */

	stage->now_ns = at_ns - 40000;
	if (number < STAGES - 1)
		call(stage, stage->receive, stage->link[1], at_ns - plan->link_ns[number] - 50, at_ns,
			VALUES(result, bytes / 4, PM_TYPE_F32, bytes, (uint64_t)number + 1,
				stage->communicator));
	for (uint64_t i = 2; i-- > 0 && plan->sums;) {
		call(stage, stage->add, stage->queue, at_ns, at_ns + SUM_NS,
			VALUES(stage->tensor, result, 0, stage->tensor, DY + (i + 1) * BYTES));
		at_ns += SUM_NS;
	}
	for (uint64_t i = 2; i-- > 0;) {
		uint64_t from_ns = at_ns + (1 - i) * 2 * work_ns;

		call(stage, stage->backward_filter, stage->queue, from_ns, from_ns + work_ns,
			VALUES(stage->tensor, activation(batch, (int)i), stage->tensor, DY + (i + 1) * BYTES,
				stage->convolution, adds, stage->filter, DW + i * BYTES));
		call(stage, stage->backward_data, stage->queue, from_ns + work_ns, from_ns + 2 * work_ns,
			VALUES(stage->filter, W + i * BYTES, stage->tensor, DY + (i + 1) * BYTES,
				stage->convolution, plan->sums && i == 1, stage->tensor, DY + i * BYTES));
	}
	if (number > 0)
		call(stage, stage->send, stage->link[0], at_ns + SLOT_NS - plan->link_ns[number - 1],
			at_ns + SLOT_NS,
			VALUES(DY, bytes / 4, PM_TYPE_F32, bytes, (uint64_t)number - 1, stage->communicator));
}

static void update(struct stage *stage, uint64_t at_ns)
{
	stage->now_ns = at_ns - 1000;
	for (uint64_t i = 0; i < 2; i++)
		call(stage, stage->update, stage->queue, at_ns + i * 500, at_ns + (i + 1) * 500,
			VALUES(64, PM_TYPE_F32, DW + i * BYTES, W + i * BYTES));
}

/* All forward passes, all backward passes, an update. */
static void write_flushed(struct stage *stages, const struct plan *plan)
{
	uint64_t slots = 2 * (BATCHES + STAGES);

	for (uint64_t it = 0; it < ITERATIONS; it++)
		for (int s = 0; s < STAGES; s++) {
			uint64_t begin_ns = 1000000 + it * slots * SLOT_NS;

			for (int m = 0; m < BATCHES; m++)
				go_forward(&stages[s], s, plan, m, begin_ns + (uint64_t)(m + s) * SLOT_NS);
			for (int m = 0; m < BATCHES; m++)
				go_backward(&stages[s], s, plan, m,
					begin_ns +
						(uint64_t)(BATCHES + STAGES + m + STAGES - 1 - s) * SLOT_NS,
					m > 0);
			update(&stages[s],
				begin_ns + (uint64_t)(2 * BATCHES + 2 * STAGES - s) * SLOT_NS - SLOT_NS / 2);
		}
}

/* A stage goes forward as often as it is away from the last one, then both ways by turns, then backward. */
static void write_ahead(struct stage *stages, const struct plan *plan)
{
	const int batches = ITERATIONS;

	for (int s = 0; s < STAGES; s++) {
		int ahead = STAGES - s, done = 0;
		uint64_t turn = (uint64_t)s;

		for (int m = 0; m < batches + ahead - 1; m++) {
			if (m < batches)
				go_forward(&stages[s], s, plan, m, 1000000 + turn++ * 2 * SLOT_NS);
			if (m < ahead - 1)
				continue;
			go_backward(&stages[s], s, plan, done++, 1000000 + turn * 2 * SLOT_NS, false);
			update(&stages[s], 1000000 + turn++ * 2 * SLOT_NS + SLOT_NS + SLOT_NS / 2);
		}
	}
}

static void analyze(const struct plan *plan, struct analysis *analysis)
{
	static struct stage stages[STAGES];
	struct timeline timeline;

	memset(stages, 0, sizeof(stages));
	timeline_init(&timeline);
	for (int s = 0; s < STAGES; s++)
		begin_stage(&stages[s], s, plan);
	if (plan->ahead)
		write_ahead(stages, plan);
	else
		write_flushed(stages, plan);
	for (int s = 0; s < STAGES; s++) {
		struct trace trace;

		builder_finish(&stages[s].builder);
		CHECK(trace_parse(
			      &trace, "stage", stages[s].builder.file.data, stages[s].builder.file.size) == 0,
			"%s", trace.error);
		timeline_add(&timeline, &trace);
		trace_close(&trace);
		builder_free(&stages[s].builder);
	}
	timeline_settle(&timeline);
	analysis_init(analysis, &timeline, 1);
}

static const char *layer_of(
	const struct analysis *analysis, size_t worker, const char *function, uint64_t peer)
{
	const struct analysis_worker *item = &analysis->workers[worker];

	for (size_t i = 0; i < item->worker->call_count; i++) {
		const struct timeline_call *one = TIMELINE_CALL(&analysis->timeline, item->worker->calls[i]);
		const struct layer_role *role;
		uint64_t to = UINT64_MAX;

		timeline_value(
			&analysis->timeline, &analysis->timeline.operations[one->operation], "peer", &to);
		if (to != peer || strcmp(timeline_function(&analysis->timeline, one)->name, function) != 0)
			continue;
		role = phase_role(
			&analysis->model, item->worker, &item->layers, PHASE_NO_ITERATION, NULL, one->operation);
		return role->phase == PHASE_COMMUNICATION && role->part_count == 1
			       ? item->layers.items[item->layers.parts[role->first_part].layer].name
			       : "none";
	}
	return "nowhere";
}

/* Three stages of two layers: conv1 to conv6, wherever they lie. */
static void check_layers(const char *name, const struct plan *plan)
{
	struct analysis analysis;
	struct exchange_list list;

	analyze(plan, &analysis);
	CHECK(analysis.worker_count == STAGES && analysis.stage_count == STAGES, "%s: %zu workers, %u stages",
		name, analysis.worker_count, analysis.stage_count);
	for (size_t w = 0; w < analysis.worker_count; w++) {
		const struct layer_list *layers = &analysis.workers[w].layers;

		CHECK(layers->count == 2, "%s: stage %zu has %zu layers", name, w, layers->count);
		for (size_t l = 0; l < layers->count && l < 2; l++) {
			char expected[16];

			snprintf(expected, sizeof(expected), "conv%zu", 2 * w + l + 1);
			CHECK(strcmp(layers->items[l].name, expected) == 0,
				"%s: layer %zu of stage %zu is %s", name, l, w, layers->items[l].name);
		}
	}
	CHECK(strcmp(layer_of(&analysis, 1, "ncclRecv", 0), "conv3") == 0 &&
			strcmp(layer_of(&analysis, 1, "ncclSend", 2), "conv4") == 0 &&
			strcmp(layer_of(&analysis, 1, "ncclRecv", 2), "conv4") == 0 &&
			strcmp(layer_of(&analysis, 1, "ncclSend", 0), "conv3") == 0,
		"%s: messages belong to %s %s %s %s", name, layer_of(&analysis, 1, "ncclRecv", 0),
		layer_of(&analysis, 1, "ncclSend", 2), layer_of(&analysis, 1, "ncclRecv", 2),
		layer_of(&analysis, 1, "ncclSend", 0));
	exchange_match(&analysis, &list);
	/* The other schedule's stages do not meet in time. */
	for (size_t i = 0; i < list.count && !plan->ahead; i++)
		CHECK(list.items[i].end_ns - list.items[i].begin_ns ==
					(int64_t)plan->link_ns[list.items[i].from < list.items[i].to
								       ? list.items[i].from
								       : list.items[i].to] &&
				list.items[i].receive_wait_ns == 50 && list.items[i].send_wait_ns == 0,
			"%s: message %zu takes %lld, waits %lld", name, i,
			(long long)(list.items[i].end_ns - list.items[i].begin_ns),
			(long long)list.items[i].receive_wait_ns);
	if (!plan->ahead)
		CHECK(list.count == (ITERATIONS - 1) * BATCHES * 2 * (STAGES - 1), "%s: %zu messages", name,
			list.count);
	exchange_free(&list);
	analysis_free(&analysis);
}

/* Every pass of an iteration is in it: 4 forward, 4 backward passes, each of the 6 layers' times. */
static void check_times(void)
{
	const struct plan plan = {.work_ns = {5000, 6000, 7000}, .link_ns = {2000, 2000, 2000}};
	struct analysis analysis;

	analyze(&plan, &analysis);
	for (size_t w = 0; w < analysis.worker_count; w++) {
		const struct analysis_worker *worker = &analysis.workers[w];

		CHECK(worker->iterations.count == ITERATIONS && worker->used_count == ITERATIONS - 1,
			"stage %zu: %zu iterations, %zu used", w, worker->iterations.count,
			worker->used_count);
		for (size_t l = 0; l < worker->layers.count; l++) {
			const char *name = worker->layers.items[l].name;
			double forward = analysis_layer(worker, 1, name, PHASE_LAYER_FORWARD).mean,
			       backward = analysis_layer(worker, 1, name, PHASE_LAYER_BACKWARD).mean;

			CHECK(forward == (double)(BATCHES * plan.work_ns[w]) && backward == 2 * forward,
				"%s: forward %f, backward %f", name, forward, backward);
		}
	}
	analysis_free(&analysis);
}

/* What is received is the gradient of what was sent: of a sum, which nothing else tells. */
static void check_sums(void)
{
	const struct plan plan = {.work_ns = {5000, 6000, 7000}, .link_ns = {2000, 2000, 2000}, .sums = 1};
	struct analysis analysis;

	analyze(&plan, &analysis);
	for (size_t w = 0; w + 1 < analysis.worker_count; w++) {
		const struct analysis_worker *worker = &analysis.workers[w];

		if (worker->layers.count != 3) {
			CHECK(false, "stage %zu has %zu layers", w, worker->layers.count);
			continue;
		}
		for (size_t l = 0; l < 3; l++) {
			const struct layer *layer = &worker->layers.items[l];
			double expected = 2 * BATCHES * (double)(l == 2 ? SUM_NS : plan.work_ns[w]);
			double backward = analysis_layer(worker, 1, layer->name, PHASE_LAYER_BACKWARD).mean;

			CHECK(backward == expected, "stage %zu, %s: backward %f, expected %f", w, layer->name,
				backward, expected);
		}
	}
	analysis_free(&analysis);
}

/* One update for each micro-batch; the last ones of a stage only go backward, and are no usual iterations. */
static void check_ahead(void)
{
	const struct plan plan = {.work_ns = {5000, 5000, 5000}, .link_ns = {2000, 2000, 2000}, .ahead = 1};
	struct analysis analysis;

	analyze(&plan, &analysis);
	for (size_t w = 0; w < analysis.worker_count; w++) {
		const struct analysis_worker *worker = &analysis.workers[w];
		size_t ahead = STAGES - 1 - w;

		CHECK(worker->iterations.count == ITERATIONS, "stage %zu: %zu iterations", w,
			worker->iterations.count);
		CHECK(worker->iterations.counts[ITERATION_DIFFERENT] == ahead,
			"stage %zu: %zu iterations differ", w,
			worker->iterations.counts[ITERATION_DIFFERENT]);
		for (size_t l = 0; l < worker->layers.count; l++)
			CHECK(analysis_layer(worker, 1, worker->layers.items[l].name, PHASE_LAYER_FORWARD)
						.mean == 5000,
				"stage %zu: layer %zu", w, l);
	}
	analysis_free(&analysis);
}

static const struct {
	const char *name;
	struct plan plan;
	int count;
	struct {
		enum cause_kind kind;
		size_t worker, other;
		double factor;
	} expected[2];
} cases[] = {
	{"balanced", {.work_ns = {8000, 8000, 8000}, .link_ns = {2000, 2000, 2000}}, 0, {{0, 0, 0, 0}}},
	{"one stage has more", {.work_ns = {8000, 16000, 8000}, .link_ns = {2000, 2000, 2000}}, 1,
		{{CAUSE_STAGE, 1, 1, 2}}},
	{"one is slower", {.work_ns = {8000, 8000, 16000}, .link_ns = {2000, 2000, 2000}, .same = 1}, 1,
		{{CAUSE_SLOWER, 2, 2, 2}}},
	{"links that differ a little", {.work_ns = {8000, 8000, 8000}, .link_ns = {30000, 35000, 30000}}, 0,
		{{0, 0, 0, 0}}},
	{"a slow link", {.work_ns = {8000, 8000, 8000}, .link_ns = {2000, 20000, 2000}}, 2,
		{{CAUSE_LINK, 1, 2, 10}, {CAUSE_LINK, 2, 1, 10}}},
};

static void check_cause(size_t number)
{
	struct analysis analysis;
	struct balance balance;
	struct cause_list list;

	analyze(&cases[number].plan, &analysis);
	balance_find(&analysis, &balance);
	CHECK(balance.layer_count == 2 * STAGES, "%zu layers", balance.layer_count);
	for (size_t i = 0; i < balance.layer_count; i++)
		CHECK(balance.layers[i].slowest == i / 2 && fabs(balance.layers[i].imbalance - 1) < 1e-9,
			"layer %zu: rank %zu, LIF %f", i, balance.layers[i].slowest,
			balance.layers[i].imbalance);
	cause_find(&analysis, &balance, NULL, &list);
	CHECK((int)list.count == cases[number].count, "%s: %zu causes", cases[number].name, list.count);
	for (int e = 0; e < cases[number].count; e++) {
		bool found = false;

		for (size_t i = 0; i < list.count; i++)
			found |= list.items[i].kind == cases[number].expected[e].kind &&
				 list.items[i].worker == cases[number].expected[e].worker &&
				 list.items[i].other == cases[number].expected[e].other &&
				 fabs(list.items[i].factor - cases[number].expected[e].factor) <
					 0.02 * cases[number].expected[e].factor;
		CHECK(found, "%s: cause %d not found", cases[number].name, e);
	}
	for (size_t i = 0; i < list.count && (int)list.count != cases[number].count; i++)
		printf("  rank %zu: %s, %.0f ns, factor %.3f: %s\n", list.items[i].worker,
			cause_key(list.items[i].kind), list.items[i].cost_ns, list.items[i].factor,
			list.items[i].evidence);
	cause_free(&list);
	balance_free(&balance);
	analysis_free(&analysis);
}

/* What an iteration's samples are, by the shapes of what goes into layers. */
static void check_samples(void)
{
	static const struct {
		const char *inputs[3];
		double samples;
	} inputs[] = {
		{{"64x3x32x32", "64x512", "64x10"}, 64}, /* pictures */
		{{"64x784", "", "64x100"}, 64},          /* rows of a perceptron */
		{{"64x100", "64x256x7x7", ""}, 64},      /* a generator */
		{{"784x27", "196x1152", "49x10"}, 0},    /* positions in pictures that convolutions unfold */
		{{"2048x64", "2048x64", "8x10"}, 0},     /* tokens, and one of each sequence */
		{{"32x3x8x8", "6272x576", "32x10"}, 32}, /* unfolded after the first */
		{{"", "64x100", ""}, 0},                 /* an embedding */
	};

	for (size_t i = 0; i < sizeof(inputs) / sizeof(*inputs); i++) {
		struct layer layers[3] = {0};
		struct analysis_worker worker = {.layers = {.items = layers, .count = 3}};
		struct analysis analysis = {.workers = &worker, .worker_count = 1, .stage_count = 1};
		double samples;

		for (size_t l = 0; l < 3; l++)
			layers[l].input = inputs[i].inputs[l];
		samples = analysis_samples(&analysis);
		CHECK(fabs(samples - inputs[i].samples) < 0.5, "%s: %g samples", *inputs[i].inputs, samples);
	}
}

int main(void)
{
	const struct plan flushed = {.work_ns = {5000, 6000, 7000}, .link_ns = {2000, 3000, 2000}},
			  same = {.work_ns = {5000, 5000, 5000}, .link_ns = {2000, 3000, 2000}, .same = 1},
			  ahead = {.work_ns = {5000, 6000, 7000}, .link_ns = {2000, 3000, 2000}, .ahead = 1};

	check_layers("flushed", &flushed);
	check_layers("the same layers", &same);
	check_layers("ahead", &ahead);
	check_samples();
	check_times();
	check_sums();
	check_ahead();
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_cause(i);
	return check_end();
}
