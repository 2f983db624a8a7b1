/* What cuDNN's work costs: see cost.h. */
#include "cost.h"

#include "backend.h"
#include "normalization.h"
#include "rnn.h"

/* 2 for a multiplication and an addition. */
#define FLOPS_OF_PRODUCT 2.0

enum sg_cost_type sg_cost_matrix_type(cudnnDataType_t tensor, cudnnDataType_t compute, cudnnMathType_t math)
{
	if (tensor == CUDNN_DATA_DOUBLE || compute == CUDNN_DATA_DOUBLE)
		return SG_COST_F64;
	if (math == CUDNN_FMA_MATH)
		return SG_COST_F32;
	return tensor == CUDNN_DATA_FLOAT ? SG_COST_TF32 : SG_COST_F16;
}

double sg_cost_bytes(const struct sg_shape *shape)
{
	double bytes = (double)sg_type_bytes(shape->type);

	for (int d = 0; d < shape->ndims; d++)
		bytes *= shape->stride[d] != 0 ? shape->dim[d] : 1;
	return bytes;
}

struct sg_cost sg_cost_vector(
	cudnnDataType_t type, double flops, int count, const struct sg_shape *const *operands)
{
	struct sg_cost cost = SG_COST(
		SG_COST_VECTOR, type == CUDNN_DATA_DOUBLE ? SG_COST_F64 : SG_COST_F32, flops, 0);

	for (int i = 0; i < count; i++)
		cost.bytes += operands[i] != NULL ? sg_cost_bytes(operands[i]) : 0;
	return cost;
}

struct sg_cost sg_cost_elements(
	double per_element, bool adds, int count, const struct sg_shape *const *operands)
{
	const struct sg_shape *written = operands[count - 1];
	struct sg_cost cost =
		sg_cost_vector(written->type, per_element * (double)sg_shape_count(written), count, operands);

	cost.bytes += adds ? sg_cost_bytes(written) : 0;
	return cost;
}

/* Of one image, or of one filter. */
static double count_places(const struct sg_shape *shape)
{
	double count = 1;

	for (int d = 2; d < shape->ndims; d++)
		count *= shape->dim[d];
	return count;
}

static struct sg_geometry geometry_of(const struct sg_convolution_key *key, cudnnDataType_t stored)
{
	static const enum sg_work_kind works[] = {
		[SG_CONVOLUTION_FORWARD] = SG_FORWARD,
		[SG_CONVOLUTION_BACKWARD_DATA] = SG_BACKWARD_DATA,
		[SG_CONVOLUTION_BACKWARD_FILTER] = SG_BACKWARD_FILTER,
	};
	const struct sg_shape *x = &key->shape[SG_CONVOLUTION_X], *w = &key->shape[SG_CONVOLUTION_W];
	const struct sg_shape *y = &key->shape[SG_CONVOLUTION_Y];
	struct sg_geometry geometry = {
		.is_known = 1,
		.work = works[key->kind],
		.element_bytes = (int)sg_type_bytes(stored),
		.count = key->groups,
		.images = x->dim[0],
		.channels = w->dim[1],
		.pixels = count_places(x),
		.filters = (double)w->dim[0] / key->groups,
		.out_pixels = count_places(y),
		.taps = count_places(w),
		.stride = 1,
		.is_channels_last = x->dim[1] > 1 && x->stride[1] == 1,
	};

	for (int d = 0; d < x->ndims - 2; d++)
		geometry.stride *= key->stride[d];
	geometry.alignment = sg_alignment(geometry.element_bytes, geometry.channels, geometry.filters);
	return geometry;
}

struct sg_cost sg_cost_convolution(
	const struct sg_convolution_key *key, enum sg_cost_type type, cudnnDataType_t stored, bool adds)
{
	static const enum sg_convolution_tensor written[] = {
		[SG_CONVOLUTION_FORWARD] = SG_CONVOLUTION_Y,
		[SG_CONVOLUTION_BACKWARD_DATA] = SG_CONVOLUTION_X,
		[SG_CONVOLUTION_BACKWARD_FILTER] = SG_CONVOLUTION_W,
	};
	/* Depthwise, against the forward direction: channels last in 16 bits on an H200. */
	static const struct sg_pace paces[] = {
		[SG_CONVOLUTION_FORWARD] = {.flops = 1, .memory = 1},
		[SG_CONVOLUTION_BACKWARD_DATA] = {.flops = 0.52, .memory = 1},
		[SG_CONVOLUTION_BACKWARD_FILTER] = {.flops = 1.36, .memory = 0.72},
	};
	const struct sg_shape *w = &key->shape[SG_CONVOLUTION_W];
	bool is_depthwise = key->groups > 1 && key->groups == key->shape[SG_CONVOLUTION_X].dim[1];
	struct sg_cost cost = SG_COST(is_depthwise ? SG_COST_DEPTHWISE : SG_COST_CONVOLUTION, type, 0, 0);

	/* Of the filter a group has k / groups times c / groups planes: its second dimension is c / groups.
	 */
	cost.flops = FLOPS_OF_PRODUCT * (double)sg_shape_count(&key->shape[SG_CONVOLUTION_Y]) *
		     (double)sg_shape_count(w) / w->dim[0];
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++)
		cost.bytes += sg_cost_bytes(&key->shape[t]);
	if (!is_depthwise) {
		cost.geometry = geometry_of(key, stored);
	} else {
		/* No matrix unit works on one channel. */
		cost.type = type == SG_COST_F64 ? SG_COST_F64 : SG_COST_F32;
		cost.pace = &paces[key->kind];
	}
	cost.bytes += adds ? sg_cost_bytes(&key->shape[written[key->kind]]) : 0;
	return cost;
}

double sg_cost_pooling_flops(const struct cudnnPoolingStruct *pooling, const struct sg_shape *y)
{
	double window = 1;

	for (int d = 0; d < pooling->nspatial; d++)
		window *= pooling->window[d];
	return window * (double)sg_shape_count(y);
}

struct sg_cost sg_cost_matmul(const struct sg_shape *a, const struct sg_shape *c, cudnnDataType_t compute)
{
	return (struct sg_cost)SG_COST(SG_COST_PRODUCT,
		sg_cost_matrix_type(a->type, compute, CUDNN_DEFAULT_MATH),
		FLOPS_OF_PRODUCT * (double)sg_shape_count(c) * a->dim[a->ndims - 1], 0);
}

struct sg_cost sg_cost_attention(
	const struct sg_shape *q, const struct sg_shape *k, const struct sg_shape *v, bool is_backward)
{
	double scores = (double)q->dim[0] * q->dim[1] * q->dim[2] * k->dim[2];
	/* Backward: the scores again, ds k and ds' q; do v' and p' do. */
	double widths = is_backward ? 3.0 * q->dim[3] + 2.0 * v->dim[3] : (double)q->dim[3] + v->dim[3];

	struct sg_cost cost = SG_COST(SG_COST_PRODUCT,
		sg_cost_matrix_type(q->type, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH),
		FLOPS_OF_PRODUCT * scores * widths, 0);

	cost.geometry = (struct sg_geometry){
		.is_known = 1,
		.work = is_backward ? SG_ATTENTION_BACKWARD : SG_ATTENTION,
		.element_bytes = (int)sg_type_bytes(q->type),
		.alignment = 16,
		.count = (double)q->dim[0] * q->dim[1],
		.m = q->dim[2],
		.n = k->dim[2],
		.k = q->dim[3],
	};
	return cost;
}

/* Parameters that a normalisation reads or writes, NULL ones not being there; those of both count twice. */
static int count_norm_params(const struct sg_norm_job *job)
{
	const void *const once[] = {
		job->scale, job->bias, job->saved_mean, job->saved_variance, job->dscale, job->dbias};
	const void *const running[] = {job->mean, job->variance};
	int count = 0;

	for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		count += once[i] != NULL;
	for (size_t i = 0; i < sizeof(running) / sizeof(running[0]); i++)
		count += running[i] == NULL ? 0 : job->kind == SG_NORM_TRAINING ? 2 : 1;
	return count;
}

#define NORM_THREADS 512

/*
 * With the channels before the pixels a block has a channel, so that few channels do not fill a device; it
 * reads the channel twice. From ResNets on an H200, cuDNN 9.19.
 */
static void set_norm_pace(const struct sg_norm_job *job, struct sg_cost *cost)
{
	static const struct sg_pace forward = {0.5, 0.48, 0.47, 2.5, 64},
				    backward = {0.5, 0.44, 0.26, 1.5, 64}, channels_last = {1, 0.57, 1, 0, 0};
	const struct sg_shape *x = &job->x_shape;

	if (job->kind == SG_NORM_INFERENCE || sg_shape_count(&job->params) != x->dim[1])
		return;
	if (x->stride[1] == 1 && x->dim[1] > 1) {
		cost->pace = &channels_last;
		return;
	}
	cost->pace = job->kind == SG_NORM_BACKWARD ? &backward : &forward;
	cost->blocks = (double)x->dim[1];
	cost->block_threads = NORM_THREADS;
}

struct sg_cost sg_cost_norm(const struct sg_norm_job *job)
{
	static const int per_element[] = {
		[SG_NORM_TRAINING] = SG_FLOPS_NORM_FORWARD,
		[SG_NORM_INFERENCE] = SG_FLOPS_NORM_APPLY,
		[SG_NORM_BACKWARD] = SG_FLOPS_NORM_BACKWARD,
	};
	bool is_backward = job->kind == SG_NORM_BACKWARD;
	const struct sg_shape *const operands[] = {&job->x_shape, job->adds ? &job->z_shape : NULL,
		is_backward ? &job->y_shape : NULL, is_backward ? &job->dx_shape : &job->y_shape};
	struct sg_cost cost = sg_cost_elements(per_element[job->kind], job->beta != 0, 4, operands);

	cost.bytes += count_norm_params(job) * sg_cost_bytes(&job->params);
	cost.bytes += job->mask != NULL ? (double)sg_shape_count(&job->x_shape) : 0;
	set_norm_pace(job, &cost);
	return cost;
}

struct sg_cost sg_cost_rnn(const struct sg_rnn_job *job)
{
	const struct cudnnRNNStruct *rnn = &job->rnn;
	const void *const states[] = {
		job->hx, job->cx, job->hy, job->cy, job->dhy, job->dcy, job->dhx, job->dcx};
	struct sg_cost cost = SG_COST(
		SG_COST_PRODUCT, sg_cost_matrix_type(rnn->type, rnn->compute, rnn->math), 0, 0);
	double element = (double)sg_type_bytes(rnn->type);
	double gates = (double)sg_rnn_gates(rnn->mode) * rnn->hidden_size;
	double rows = 0;

	/* What is after the end of a sequence need not be computed. */
	for (int n = 0; n < job->batch; n++)
		rows += job->length[n];
	for (int number = 0; number < rnn->layers; number++)
		cost.flops += FLOPS_OF_PRODUCT * rows * gates *
			      (sg_rnn_parts_of(rnn, number).input_size + rnn->hidden_size);
	cost.bytes = rows * (rnn->input_size + rnn->hidden_size) * element;
	/* A gradient of the weights is added to; one of the data reads y beside its gradient. */
	cost.bytes += (job->is_weights ? 2 : 1) * (double)sg_rnn_weight_count(rnn) * element;
	cost.bytes += job->is_backward ? rows * rnn->hidden_size * element : 0;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		cost.bytes +=
			states[i] == NULL ? 0 : (double)rnn->layers * job->batch * rnn->hidden_size * element;
	return cost;
}

static bool is_matrix_like(const struct sg_cost *cost)
{
	return cost->kind == SG_COST_CONVOLUTION || cost->kind == SG_COST_DEPTHWISE ||
	       cost->kind == SG_COST_PRODUCT;
}

struct sg_cost sg_cost_program(const struct sg_program *program)
{
	struct sg_cost cost = SG_COST(SG_COST_VECTOR, SG_COST_F32, 0, 0);
	double most = -1;
	int matrix_steps = 0;

	for (int s = 0; s < program->step_count; s++) {
		const struct sg_cost *step = &program->step[s].cost;

		if (is_matrix_like(step) && !is_matrix_like(&cost))
			cost = (struct sg_cost)SG_COST(step->kind, step->type, 0, 0), most = -1;
		if (is_matrix_like(step) != is_matrix_like(&cost))
			continue;
		/* One product with what is done to its operands and its result; more have no curve. */
		if (is_matrix_like(step) && ++matrix_steps == 1)
			cost.geometry = step->geometry;
		else
			cost.geometry.is_known = 0;
		cost.flops += step->flops;
		if (step->flops > most) {
			most = step->flops;
			cost.kind = step->kind;
			cost.type = step->type;
			cost.pace = is_matrix_like(step) ? step->pace : cost.pace;
		}
	}
	for (int t = 0; t < program->tensor_count; t++) {
		const struct sg_graph_tensor *tensor = &program->tensor[t];
		int times = tensor->is_written ? 1 + tensor->is_added_to : tensor->is_read;

		if (!tensor->is_virtual && !tensor->is_by_value)
			cost.bytes += times * sg_cost_bytes(&tensor->shape);
	}
	return cost;
}
