/*
 * A small network's training as PyTorch's profiler writes it, for the tests of phases and layers: each launch
 * notes in `expected` which phase and layer it is for.
 */
#ifndef SPANS_MAKE_H
#define SPANS_MAKE_H

#include "imported_make.h"
#include "reconstruct/phase.h"

enum { MAIN = 1, ENGINE = 2, MOST_EVENTS = 2000, MOST_OPEN = 32 };

/* What a trace has, of what traces may have. */
struct style {
	bool labels;    /* "## forward ##" and so on */
	bool framework; /* "Optimizer.step#SGD.step", "ProfilerStep#1" */
	bool grouped;   /* the optimizer's operators are its own */
	bool old;       /* as in 2021: other categories, no evaluate_function around what belongs to it */
	bool no_calls;  /* launches are not in the file, but kernels name their operators */
	bool modules;
	bool again;     /* a block of the net is checkpointed */
	bool eval;      /* a pass without gradients before each third iteration */
	int accumulate; /* passes for an update */
};

static struct style style;
static char text[1 << 22];
static size_t length;
static int64_t now_us, device_us;
static unsigned correlation, external;
static struct {
	char name[96], more[160];
	int64_t begin_us;
	unsigned external;
} open_spans[3][MOST_OPEN];
static int depth[3];
static struct {
	int phase, part; /* as attributions have them */
	char layer[64];
} expected[MOST_EVENTS];

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void put(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	length += (size_t)vsnprintf(text + length, sizeof(text) - length, format, list);
	va_end(list);
}

static void begin(int thread, const char *name, int64_t sequence, const char *shapes)
{
	char *more = open_spans[thread][depth[thread]].more;

	snprintf(open_spans[thread][depth[thread]].name, 96, "%s", name);
	open_spans[thread][depth[thread]].begin_us = now_us++;
	open_spans[thread][depth[thread]].external = ++external;
	more[0] = 0;
	if (sequence >= 0)
		snprintf(more, 160, ", \"Sequence number\": %lld", (long long)sequence);
	if (shapes && style.old)
		snprintf(more + strlen(more), 160 - strlen(more), ", \"Input Dims\": %s", shapes);
	depth[thread]++;
}

static void end_as(int thread, const char *category)
{
	int at = --depth[thread];

	put(",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 9, \"tid\": %d, \"ts\": %lld, "
	    "\"dur\": %lld, \"args\": {\"External id\": %u%s}}",
		category, open_spans[thread][at].name, thread, (long long)open_spans[thread][at].begin_us,
		(long long)(now_us - open_spans[thread][at].begin_us), open_spans[thread][at].external,
		open_spans[thread][at].more);
	now_us++;
}

static void end(int thread)
{
	end_as(thread, style.old ? "Operator" : "cpu_op");
}

static void label(const char *name)
{
	begin(MAIN, name, -1, NULL);
}

/* Its stretch on the device's time is written when it ends; that says nothing of the host. */
static void end_label(void)
{
	put(",\n{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7, \"ts\": "
	    "%lld, \"dur\": 30, \"args\": {}}",
		open_spans[MAIN][depth[MAIN] - 1].name, (long long)now_us + 25);
	end_as(MAIN, style.old ? "Operator" : "user_annotation");
}

static void module_begin(const char *name)
{
	if (style.modules)
		begin(MAIN, name, -1, NULL);
}

static void module_end(void)
{
	if (style.modules)
		end_as(MAIN, "python_function");
}

/* Work launched now, which belongs there. */
static void launch(int thread, const char *name, int phase, const char *layer)
{
	bool copies = strncmp(name, "Memcpy", 6) == 0;

	correlation++;
	if (!style.no_calls)
		put(",\n{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 9, \"tid\": "
		    "%d, \"ts\": %lld, \"dur\": 2, \"args\": {\"correlation\": %u}}",
			thread, (long long)now_us, correlation);
	now_us += 3;
	device_us = device_us < now_us ? now_us : device_us;
	put(",\n{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7, \"ts\": %lld, \"dur\": 7, "
	    "\"args\": {\"device\": 0, \"stream\": 7, \"External id\": %u, \"correlation\": %u}}",
		copies ? "gpu_memcpy" : "kernel", name, (long long)device_us,
		depth[thread] ? open_spans[thread][depth[thread] - 1].external : 0, correlation);
	device_us += 8;
	expected[correlation].phase = phase;
	expected[correlation].part = 0;
	snprintf(expected[correlation].layer, 64, "%s", layer);
}

/* An operator that launches one kernel. */
static void work(
	int thread, const char *name, int64_t sequence, const char *shapes, int phase, const char *layer)
{
	begin(thread, name, sequence, shapes);
	launch(thread, "kernel", phase, layer);
	end(thread);
}

#define F (PHASE_FORWARD + 1)
#define B (PHASE_BACKWARD + 1)
#define U (PHASE_UPDATE + 1)

static void convolution(int64_t sequence, const char *module, const char *shapes, const char *layer)
{
	module_begin(module);
	begin(MAIN, "aten::conv2d", sequence, shapes);
	begin(MAIN, "aten::convolution", sequence, shapes);
	work(MAIN, "aten::cudnn_convolution", -1, shapes, F, layer);
	end(MAIN);
	end(MAIN);
	module_end();
}

static void normalization(int64_t sequence, const char *module, const char *before, const char *layer)
{
	module_begin(module);
	/* It counts its batches: no layer, and no number of its own. */
	work(MAIN, "aten::add_", sequence, "[[], []]", F, before);
	begin(MAIN, "aten::batch_norm", sequence, "[[2, 8, 6, 6], [8]]");
	work(MAIN, "aten::cudnn_batch_norm", sequence, "[[2, 8, 6, 6], [8]]", F, layer);
	end(MAIN);
	module_end();
}

/* The numbers go up with each operator that has a gradient; `grads` false: none has. */
static void forward(int64_t s, bool grads)
{
#define S(n) (grads ? s + (n) : -1)
	module_begin("nn.Module: Net_0");
	convolution(S(0), "nn.Module: Conv2d_0", "[[2, 3, 6, 6], [8, 3, 5, 5], [8]]", "conv1");
	normalization(S(1), "nn.Module: BatchNorm2d_0", "conv1", "norm1");
	work(MAIN, "aten::relu_", S(2), "[[2, 8, 6, 6]]", F, "norm1");
	if (style.again)
		begin(MAIN, "CheckpointFunction", S(3), NULL);
	convolution(
		style.again ? -1 : S(3), "nn.Module: Conv2d_1", "[[2, 8, 6, 6], [8, 8, 3, 3], []]", "conv2");
	normalization(style.again ? -1 : S(4), "nn.Module: BatchNorm2d_1", "conv2", "norm2");
	if (style.again)
		end(MAIN);
	work(MAIN, "aten::add_", S(5), "[[2, 8, 6, 6], [2, 8, 6, 6], []]", F, grads ? "add1" : "norm2");
	work(MAIN, "aten::relu_", S(6), "[[2, 8, 6, 6]]", F, grads ? "add1" : "norm2");
	work(MAIN, "aten::max_pool2d", S(7), "[[2, 8, 6, 6], [], []]", F, "pool1");
	/* A number is added: no branch, no layer. Only shapes tell that. */
	if (style.old)
		work(MAIN, "aten::add", S(15), "[[2, 8, 6, 6], [], []]", F, "pool1");
	module_begin("nn.Module: Linear_0");
	begin(MAIN, "aten::linear", S(8), "[[2, 72], [10, 72], [10]]");
	begin(MAIN, "aten::t", S(8), NULL);
	end(MAIN);
	work(MAIN, "aten::addmm", S(9), "[[10], [2, 72], [72, 10], [], []]", F, "fc1");
	end(MAIN);
	module_end();
	module_end();
	begin(MAIN, "aten::cross_entropy_loss", S(10), "[[2, 10], [2]]");
	work(MAIN, "aten::log_softmax", S(10), NULL, F, "loss");
	work(MAIN, "aten::nll_loss_nd", S(11), NULL, F, "loss");
	end(MAIN);
#undef S
}

/* What makes gradients with the number of the forward operator. */
static void gradient(const char *name, int64_t sequence, const char *layer)
{
	char around[128];

	snprintf(around, sizeof(around), "autograd::engine::evaluate_function: %s", name);
	if (!style.old)
		begin(ENGINE, around, sequence, NULL);
	begin(ENGINE, name, sequence, NULL);
	work(ENGINE, "aten::mm", -1, NULL, B, layer);
	end(ENGINE);
	if (style.old)
		work(ENGINE, "aten::sum", -1, NULL, B, layer);
	else
		end(ENGINE);
}

static void accumulate(const char *layer)
{
	begin(ENGINE,
		style.old ? "torch::autograd::AccumulateGrad"
			  : "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
		-1, NULL);
	work(ENGINE, "aten::mul", -1, NULL, B, layer);
	end(ENGINE);
}

/* The block is done again before its gradients; its operators get numbers of the engine's thread, which
 * may be those of others on the main one. */
static void checkpointed(int64_t s)
{
	begin(ENGINE, "autograd::engine::evaluate_function: CheckpointFunctionBackward", s + 3, NULL);
	begin(ENGINE, "CheckpointFunctionBackward", s + 3, NULL);
	begin(ENGINE, "aten::conv2d", s, NULL);
	work(ENGINE, "aten::cudnn_convolution", -1, NULL, B, "conv2");
	expected[correlation].part = PHASE_LAYER_RECOMPUTE + 1;
	end(ENGINE);
	work(ENGINE, "aten::batch_norm", s + 1, NULL, B, "norm2");
	expected[correlation].part = PHASE_LAYER_RECOMPUTE + 1;
	gradient("CudnnBatchNormBackward0", s + 1, "norm2");
	gradient("ConvolutionBackward0", s, "conv2");
	accumulate("conv2");
	end(ENGINE);
	end(ENGINE);
}

static void backward(int64_t s)
{
	gradient("NllLossBackward0", s + 11, "loss");
	gradient("LogSoftmaxBackward0", s + 10, "loss");
	gradient("AddmmBackward0", s + 9, "fc1");
	accumulate("fc1");
	begin(ENGINE, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", -1, NULL);
	begin(ENGINE, "c10d::allreduce_", -1, NULL);
	launch(ENGINE, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)", PHASE_COMMUNICATION + 1, "");
	end(ENGINE);
	end(ENGINE);
	if (style.old)
		gradient("AddBackward0", s + 15, "pool1");
	gradient("MaxPool2DWithIndicesBackward0", s + 7, "pool1");
	gradient("ReluBackward0", s + 6, "add1");
	gradient("AddBackward0", s + 5, "add1");
	if (style.again) {
		checkpointed(s);
	} else {
		gradient("CudnnBatchNormBackward0", s + 4, "norm2");
		accumulate("norm2");
		gradient("ConvolutionBackward0", s + 3, "conv2");
		accumulate("conv2");
	}
	gradient("ReluBackward0", s + 2, "norm1");
	gradient("CudnnBatchNormBackward0", s + 1, "norm1");
	gradient("ConvolutionBackward0", s, "conv1");
	accumulate("conv1");
}

static void update(void)
{
	if (style.labels)
		label("## optimizer ##");
	if (style.framework)
		label("Optimizer.step#SGD.step");
	if (style.grouped) {
		work(MAIN, "aten::_foreach_mul_", -1, NULL, U, "");
		work(MAIN, "aten::_foreach_add_", -1, NULL, U, "");
	} else {
		for (int i = 0; i < 6; i++)
			work(MAIN, i % 2 ? "aten::add_" : "aten::mul_", -1, NULL, U, "");
	}
	if (style.framework)
		end_label();
	if (style.labels)
		end_label();
}

static void input(void)
{
	begin(MAIN, "aten::to", 5, NULL);
	begin(MAIN, "aten::copy_", 5, NULL);
	launch(MAIN, "Memcpy HtoD (Pageable -> Device)", PHASE_H2D + 1, "");
	end(MAIN);
	end(MAIN);
	/* Of what nothing says anything, between the input and the first layer: it leads there. */
	work(MAIN, "aten::permute_copy", -1, NULL, F, "");
	work(MAIN, "aten::div_", -1, NULL, F, "");
}

static void pass(int64_t s, bool with_backward)
{
	if (style.labels)
		label("## forward ##");
	/* Functions are called anything. */
	module_begin("loop.py(3): backward");
	forward(s, with_backward);
	module_end();
	if (style.labels)
		end_label();
	if (!with_backward)
		return;
	if (style.labels)
		label("## backward ##");
	backward(s);
	if (style.labels)
		end_label();
}

static void iteration(int number)
{
	char step[32];

	snprintf(step, sizeof(step), "ProfilerStep#%d", number);
	if (style.framework)
		label(step);
	if (style.eval && number % 3 == 2) {
		begin(MAIN, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", -1, NULL);
		end_label();
		pass(0, false);
	}
	for (int i = 0; i < style.accumulate + !style.accumulate; i++) {
		int64_t s = 5 + number * 100 + i * 20;

		begin(MAIN, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", -1, NULL);
		end_label();
		input();
		pass(s, true);
	}
	update();
	if (style.framework) {
		label("Optimizer.zero_grad#SGD.zero_grad");
		work(MAIN, "aten::zero_", -1, NULL, PHASE_OTHER + 1, "");
		end_label();
		end_label();
	} else {
		work(MAIN, "aten::zero_", -1, NULL, PHASE_OTHER + 1, "");
	}
}

static void make(const struct style *wanted, int iterations)
{
	style = *wanted;
	length = 0;
	now_us = 1000;
	device_us = 0;
	correlation = 0;
	external = 100000; /* not the correlations */
	put("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 9}");
	for (int i = 0; i < iterations; i++)
		iteration(i);
	put("\n]}\n");
}

#endif
