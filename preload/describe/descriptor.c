/*
 * What cuDNN's descriptors say, as their set functions said it.
 */
#include "descriptor.h"

#include "object.h"
#include "trace/intern.h"
#include "value.h"

#define DIMENSIONS 8 /* as cuDNN's CUDNN_DIM_MAX */

uint32_t pmh_descriptor(const void *descriptor)
{
	struct object *o = object_of(descriptor, false);
	uint32_t number;

	if (!o || !o->value_count)
		return 0;
	number = atomic_load_explicit(&o->number, memory_order_acquire);
	if (!number) {
		number = pmh_descriptor_number(o->kind, o->values, o->value_count);
		atomic_store_explicit(&o->number, number, memory_order_release);
	}
	return number;
}

/* A descriptor's new content, value by value. o may be NULL: then nothing is kept. */
struct content {
	struct object *o;
	unsigned count;
};

static struct content content_begin(const void *descriptor, enum pm_descriptor_kind kind)
{
	struct content c = {.o = object_of(descriptor, true)};

	if (c.o) {
		atomic_store_explicit(&c.o->number, 0, memory_order_relaxed);
		c.o->kind = (uint16_t)kind;
		c.o->value_count = 0;
	}
	return c;
}

static void content_add(struct content *c, int64_t value)
{
	if (c->o && c->count < DESCRIPTOR_VALUES)
		c->o->values[c->count++] = value;
}

static void content_add_list(struct content *c, const int *list, int n)
{
	for (int i = 0; i < n; i++)
		content_add(c, list ? list[i] : 0);
}

static void content_end(struct content *c)
{
	if (c->o)
		c->o->value_count = (uint16_t)c->count;
}

static int clamp(int n)
{
	return n < 0 ? 0 : n > DIMENSIONS ? DIMENSIONS : n;
}

void pmh_set_tensor_nd(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, int n, const int *dims, const int *strides)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_TENSOR);

	n = clamp(n);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, n);
	content_add_list(&c, dims, n);
	content_add_list(&c, strides, n);
	content_end(&c);
}

void pmh_set_tensor_4d_strided(
	cudnnTensorDescriptor_t d, cudnnDataType_t type, const int *dims, const int *strides)
{
	pmh_set_tensor_nd(d, type, 4, dims, strides);
}

void pmh_set_tensor_packed(
	cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n, const int *dims)
{
	int strides[DIMENSIONS] = {0}, stride = 1;

	n = clamp(n);
	if (format == CUDNN_TENSOR_NHWC && n > 2) {
		/* channels, the second dimension, lie closest */
		strides[1] = 1;
		stride = dims[1];
		for (int i = n - 1; i > 1; stride *= dims[i--])
			strides[i] = stride;
		strides[0] = stride;
	} else {
		for (int i = n - 1; i >= 0; stride *= dims[i--])
			strides[i] = stride;
	}
	pmh_set_tensor_nd(d, type, n, dims, strides);
}

void pmh_set_tensor_4d(cudnnTensorDescriptor_t d, cudnnTensorFormat_t format, cudnnDataType_t type, int n,
	int c, int h, int w)
{
	pmh_set_tensor_packed(d, format, type, 4, (int[]){n, c, h, w});
}

void pmh_set_filter(
	cudnnFilterDescriptor_t d, cudnnDataType_t type, cudnnTensorFormat_t format, int n, const int *dims)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_FILTER);

	n = clamp(n);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, format);
	content_add(&c, n);
	content_add_list(&c, dims, n);
	content_end(&c);
}

void pmh_set_convolution(cudnnConvolutionDescriptor_t d, int n, const int *pads, const int *strides,
	const int *dilations, cudnnConvolutionMode_t mode, cudnnDataType_t type)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_CONVOLUTION);

	n = clamp(n);
	content_add(&c, n);
	content_add_list(&c, pads, n);
	content_add_list(&c, strides, n);
	content_add_list(&c, dilations, n);
	content_add(&c, mode);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, 1); /* groups */
	content_add(&c, CUDNN_DEFAULT_MATH);
	content_end(&c);
}

/* Changes one of the last values of a convolution: 2 from the end the groups, 1 the math type. */
static void change_convolution(const void *d, unsigned from_end, int64_t value)
{
	struct object *o = object_of(d, false);

	if (!o || o->kind != PM_DESCRIPTOR_CONVOLUTION || o->value_count < from_end)
		return;
	o->values[o->value_count - from_end] = value;
	atomic_store_explicit(&o->number, 0, memory_order_release);
}

void pmh_set_convolution_groups(cudnnConvolutionDescriptor_t d, int groups)
{
	change_convolution(d, 2, groups);
}

void pmh_set_convolution_math(cudnnConvolutionDescriptor_t d, cudnnMathType_t math)
{
	change_convolution(d, 1, math);
}

void pmh_set_pooling(cudnnPoolingDescriptor_t d, cudnnPoolingMode_t mode, int n, const int *windows,
	const int *pads, const int *strides)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_POOLING);

	n = clamp(n);
	content_add(&c, mode);
	content_add(&c, n);
	content_add_list(&c, windows, n);
	content_add_list(&c, pads, n);
	content_add_list(&c, strides, n);
	content_end(&c);
}

/* Coefficients go into the trace in millionths; what does not fit, as the largest number. */
static int64_t millionths(double x)
{
	return x > -9e12 && x < 9e12 ? (int64_t)(x * 1e6 + (x < 0 ? -0.5 : 0.5)) : INT64_MAX;
}

void pmh_set_activation(cudnnActivationDescriptor_t d, cudnnActivationMode_t mode, double coefficient)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_ACTIVATION);

	content_add(&c, mode);
	content_add(&c, millionths(coefficient));
	content_end(&c);
}

void pmh_set_dropout(cudnnDropoutDescriptor_t d, float probability, unsigned long long seed)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_DROPOUT);

	content_add(&c, millionths((double)probability));
	content_add(&c, (int64_t)seed);
	content_end(&c);
}

void pmh_set_op_tensor(cudnnOpTensorDescriptor_t d, cudnnOpTensorOp_t op, cudnnDataType_t type)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_OP_TENSOR);

	content_add(&c, op);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_end(&c);
}

void pmh_set_reduce(cudnnReduceTensorDescriptor_t d, cudnnReduceTensorOp_t op, cudnnDataType_t type,
	cudnnReduceTensorIndices_t indices)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_REDUCE);

	content_add(&c, op);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, indices);
	content_end(&c);
}

void pmh_set_lrn(cudnnLRNDescriptor_t d, unsigned n, double alpha, double beta, double k)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_LRN);

	content_add(&c, n);
	content_add(&c, millionths(alpha));
	content_add(&c, millionths(beta));
	content_add(&c, millionths(k));
	content_end(&c);
}

void pmh_set_rnn(cudnnRNNDescriptor_t d, cudnnRNNMode_t cell, cudnnRNNBiasMode_t bias,
	cudnnDirectionMode_t direction, cudnnRNNInputMode_t input, cudnnDataType_t type, cudnnMathType_t math,
	int input_size, int hidden_size, int projection_size, int layers)
{
	struct content c = content_begin(d, PM_DESCRIPTOR_RNN);

	content_add(&c, cell);
	content_add(&c, bias);
	content_add(&c, direction);
	content_add(&c, input);
	content_add(&c, (int64_t)pmh_type_of_cudnn(type));
	content_add(&c, math);
	content_add_list(&c, (int[]){input_size, hidden_size, projection_size, layers}, 4);
	content_end(&c);
}

/* A batch of padded sequences is a tensor of three dimensions. */
void pmh_set_rnn_data(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, int length, int batch, int vector)
{
	pmh_set_tensor_packed(
		(cudnnTensorDescriptor_t)d, CUDNN_TENSOR_NCHW, type, 3, (int[]){length, batch, vector});
}

void pmh_set_attention(cudnnAttnDescriptor_t d, const int sizes[12])
{
	struct content c = content_begin(d, PM_DESCRIPTOR_ATTENTION);

	content_add_list(&c, sizes, 12);
	content_end(&c);
}

void pmh_set_sequence(cudnnSeqDataDescriptor_t d, cudnnDataType_t type, int n, const int *dims)
{
	pmh_set_tensor_packed((cudnnTensorDescriptor_t)d, CUDNN_TENSOR_NCHW, type, n, dims);
}
