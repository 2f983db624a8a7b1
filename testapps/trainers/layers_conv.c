/* Convolutions of two and three dimensions, by cuDNN's first calls or its graphs: see layers.h. */
#include "layers_kind.h"

#include "check.h"
#include "graph.h"

/* Of the library's proposals, best first, the first that gives the same result every time. */
static void choose_forward(struct nn *nn, struct nn_layer *l)
{
	cudnnConvolutionFwdAlgoPerf_t found[16];
	int count = 0;
	size_t size = 0;

	CHECK(cudnnGetConvolutionForwardAlgorithm_v7(
		nn->cudnn, l->in_desc, l->weight_desc, l->conv, l->out_desc, 16, &count, found));
	for (int i = 0; i < count; i++) {
		if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC ||
			cudnnGetConvolutionForwardWorkspaceSize(nn->cudnn, l->in_desc, l->weight_desc,
				l->conv, l->out_desc, found[i].algo, &size) != CUDNN_STATUS_SUCCESS)
			continue;
		l->forward_algo = found[i].algo;
		layers_need_workspace(nn, size);
		return;
	}
	errx(1, "%s: cuDNN has no deterministic forward algorithm", l->name);
}

static void choose_backward_data(struct nn *nn, struct nn_layer *l)
{
	cudnnConvolutionBwdDataAlgoPerf_t found[16];
	int count = 0;
	size_t size = 0;

	CHECK(cudnnGetConvolutionBackwardDataAlgorithm_v7(
		nn->cudnn, l->weight_desc, l->out_desc, l->conv, l->in_desc, 16, &count, found));
	for (int i = 0; i < count; i++) {
		if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC ||
			cudnnGetConvolutionBackwardDataWorkspaceSize(nn->cudnn, l->weight_desc, l->out_desc,
				l->conv, l->in_desc, found[i].algo, &size) != CUDNN_STATUS_SUCCESS)
			continue;
		l->backward_data_algo = found[i].algo;
		layers_need_workspace(nn, size);
		return;
	}
	errx(1, "%s: cuDNN has no deterministic backward data algorithm", l->name);
}

static void choose_backward_filter(struct nn *nn, struct nn_layer *l)
{
	cudnnConvolutionBwdFilterAlgoPerf_t found[16];
	int count = 0;
	size_t size = 0;

	CHECK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
		nn->cudnn, l->in_desc, l->out_desc, l->conv, l->weight_desc, 16, &count, found));
	for (int i = 0; i < count; i++) {
		if (found[i].status != CUDNN_STATUS_SUCCESS || found[i].determinism != CUDNN_DETERMINISTIC ||
			cudnnGetConvolutionBackwardFilterWorkspaceSize(nn->cudnn, l->in_desc, l->out_desc,
				l->conv, l->weight_desc, found[i].algo, &size) != CUDNN_STATUS_SUCCESS)
			continue;
		l->backward_filter_algo = found[i].algo;
		layers_need_workspace(nn, size);
		return;
	}
	errx(1, "%s: cuDNN has no deterministic backward filter algorithm", l->name);
}

/* With as much of the bias and relu in one plan as the library can do. Answers 0 where it cannot do the layer
 * at all: it is called in the other way then. */
static int create_plans(struct nn *nn, struct nn_layer *l)
{
	size_t *size = &nn->workspace_size;

	if (l->activation == NN_RELU && l->bias_count)
		l->forward_plan = graph_plan_create(nn->cudnn, GRAPH_FORWARD_BIAS_RELU, l, size);
	l->does_bias = l->does_relu = l->forward_plan != NULL;
	if (!l->forward_plan && l->bias_count) {
		l->forward_plan = graph_plan_create(nn->cudnn, GRAPH_FORWARD_BIAS, l, size);
		l->does_bias = l->forward_plan != NULL;
	}
	if (!l->forward_plan)
		l->forward_plan = graph_plan_create(nn->cudnn, GRAPH_FORWARD, l, size);
	l->backward_data_plan = graph_plan_create(nn->cudnn, GRAPH_BACKWARD_DATA, l, size);
	l->backward_filter_plan = graph_plan_create(nn->cudnn, GRAPH_BACKWARD_FILTER, l, size);
	if (l->forward_plan && l->backward_data_plan && l->backward_filter_plan)
		return 1;
	graph_plan_destroy(l->forward_plan);
	graph_plan_destroy(l->backward_data_plan);
	graph_plan_destroy(l->backward_filter_plan);
	l->forward_plan = l->backward_data_plan = l->backward_filter_plan = NULL;
	l->does_bias = l->does_relu = 0;
	return 0;
}

static void describe(struct nn_layer *l)
{
	const int k = l->kernel, weights[] = {l->out.c, l->in.c / l->groups, k, k, k};
	const int pad[] = {l->pad, l->pad, l->pad}, stride[] = {l->stride, l->stride, l->stride},
		  dilation[] = {1, 1, 1};

	CHECK(cudnnCreateFilterDescriptor(&l->weight_desc));
	CHECK(cudnnCreateConvolutionDescriptor(&l->conv));
	if (l->dims == 3) {
		CHECK(cudnnSetFilterNdDescriptor(
			l->weight_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 5, weights));
		CHECK(cudnnSetConvolutionNdDescriptor(
			l->conv, 3, pad, stride, dilation, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
	} else {
		CHECK(cudnnSetFilter4dDescriptor(
			l->weight_desc, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, weights[0], weights[1], k, k));
		CHECK(cudnnSetConvolution2dDescriptor(l->conv, l->pad, l->pad, l->stride, l->stride, 1, 1,
			CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
	}
	if (l->groups > 1)
		CHECK(cudnnSetConvolutionGroupCount(l->conv, l->groups));
	CHECK(cudnnSetConvolutionMathType(l->conv, CUDNN_FMA_MATH));
}

void conv_create(struct nn *nn, struct nn_layer *l)
{
	if (nn->api == NN_GRAPH && create_plans(nn, l)) {
		if (l->adds[0])
			layers_need_scratch(nn, nn_numel(l->in));
		if (nn->input_slots > 1)
			layers_need_scratch(nn, l->weight_count);
		return;
	}
	describe(l);
	choose_forward(nn, l);
	choose_backward_data(nn, l);
	choose_backward_filter(nn, l);
}

void conv_forward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	if (l->forward_plan)
		graph_plan_run(nn->cudnn, l->forward_plan,
			&(struct graph_memory){run->x[0], l->param, run->z, l->param + l->bias_at},
			nn->workspace);
	else
		CHECK(cudnnConvolutionForward(nn->cudnn, &layers_one, l->in_desc, run->x[0], l->weight_desc,
			l->param, l->conv, l->forward_algo, nn->workspace, nn->workspace_size, &layers_zero,
			l->out_desc, run->z));
}

/* A plan sets what it computes; to add, it computes into the scratch memory first. */
static void backward_by_plans(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	float *to = nn->accumulate ? nn->scratch : l->grad;

	graph_plan_run(nn->cudnn, l->backward_filter_plan, &(struct graph_memory){run->x[0], to, l->dy, NULL},
		nn->workspace);
	if (nn->accumulate)
		layers_add_scratch(nn, l->grad, 0, l->weight_count);
	if (!run->dx[0])
		return;
	to = l->adds[0] ? nn->scratch : run->dx[0];
	graph_plan_run(nn->cudnn, l->backward_data_plan, &(struct graph_memory){to, l->param, l->dy, NULL},
		nn->workspace);
	if (l->adds[0])
		layers_add_scratch(nn, run->dx[0], 0, nn_numel(l->in));
}

void conv_backward(struct nn *nn, struct nn_layer *l, const struct layer_run *run)
{
	const float *accumulate = layers_beta(nn->accumulate);

	if (l->bias_count)
		CHECK(cudnnConvolutionBackwardBias(nn->cudnn, &layers_one, l->out_desc, l->dy, accumulate,
			l->bias_desc, l->grad + l->bias_at));
	if (l->backward_filter_plan) {
		backward_by_plans(nn, l, run);
		return;
	}
	CHECK(cudnnConvolutionBackwardFilter(nn->cudnn, &layers_one, l->in_desc, run->x[0], l->out_desc,
		l->dy, l->conv, l->backward_filter_algo, nn->workspace, nn->workspace_size, accumulate,
		l->weight_desc, l->grad));
	if (run->dx[0])
		CHECK(cudnnConvolutionBackwardData(nn->cudnn, &layers_one, l->weight_desc, l->param,
			l->out_desc, l->dy, l->conv, l->backward_data_algo, nn->workspace, nn->workspace_size,
			layers_beta(l->adds[0]), l->in_desc, run->dx[0]));
}
