/*
 * The parameters that cuDNN's backend descriptors hold: convolutions, poolings, element-wise functions and
 * reductions, read from attributes, and described in the trace as the legacy API's descriptors are.
 */
#include "backend.h"

#include <string.h>

#include "trace/intern.h"
#include "value.h"

int64_t backend_integer(cudnnBackendAttributeType_t type, const void *elements)
{
	int64_t wide;
	int32_t narrow;

	switch (type) {
	case CUDNN_TYPE_INT64:
	case CUDNN_TYPE_FRACTION: /* two numbers; the second is 1 in all that cuDNN takes today */
		memcpy(&wide, elements, sizeof wide);
		return wide;
	case CUDNN_TYPE_BOOLEAN:
	case CUDNN_TYPE_CHAR:
		return *(const unsigned char *)elements;
	default: /* enumerations and 32-bit numbers */
		memcpy(&narrow, elements, sizeof narrow);
		return narrow;
	}
}

unsigned backend_list(int64_t *list, cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	const size_t step = type == CUDNN_TYPE_FRACTION ? 16 : 8;
	unsigned n = count < 0 ? 0 : count > BACKEND_DIMENSIONS ? BACKEND_DIMENSIONS : (unsigned)count;

	for (unsigned i = 0; i < n; i++)
		list[i] = backend_integer(type, (const char *)elements + i * step);
	return n;
}

void backend_set_parameters(struct backend_parameters *p, cudnnBackendAttributeName_t name,
	cudnnBackendAttributeType_t type, int64_t count, const void *elements)
{
	switch ((int)name) {
	case CUDNN_ATTR_CONVOLUTION_CONV_MODE:
	case CUDNN_ATTR_POINTWISE_MODE:
	case CUDNN_ATTR_REDUCTION_OPERATOR:
	case CUDNN_ATTR_RESAMPLE_MODE:
		p->mode = backend_integer(type, elements);
		break;
	case CUDNN_ATTR_CONVOLUTION_COMP_TYPE:
	case CUDNN_ATTR_POINTWISE_MATH_PREC:
	case CUDNN_ATTR_REDUCTION_COMP_TYPE:
	case CUDNN_ATTR_RESAMPLE_COMP_TYPE:
	case CUDNN_ATTR_MATMUL_COMP_TYPE:
		p->type = (int64_t)pmh_type_of_cudnn((cudnnDataType_t)backend_integer(type, elements));
		break;
	case CUDNN_ATTR_POINTWISE_AXIS:
		p->axis = backend_integer(type, elements);
		break;
	case CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS:
	case CUDNN_ATTR_RESAMPLE_PRE_PADDINGS:
		p->n = backend_list(p->pads, type, count, elements);
		break;
	case CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES:
	case CUDNN_ATTR_RESAMPLE_STRIDES:
		p->n = backend_list(p->strides, type, count, elements);
		break;
	case CUDNN_ATTR_CONVOLUTION_DILATIONS:
		p->n = backend_list(p->dilations, type, count, elements);
		break;
	case CUDNN_ATTR_RESAMPLE_WINDOW_DIMS:
		p->n = backend_list(p->windows, type, count, elements);
		break;
	}
}

/* The legacy API's mode of pooling. */
static int64_t pooling_mode(int64_t mode)
{
	switch (mode) {
	case CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING: /* AVGPOOL of before is the same */
		return CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
	case CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING:
		return CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING;
	default:
		return CUDNN_POOLING_MAX;
	}
}

struct values {
	int64_t list[4 * BACKEND_DIMENSIONS];
	unsigned count;
};

static void backend_parameter_add(struct values *v, int64_t value)
{
	v->list[v->count++] = value;
}

static void add_list(struct values *v, const int64_t *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		backend_parameter_add(v, list[i]);
}

uint32_t backend_parameter_number(const struct backend_parameters *p, int64_t groups)
{
	enum pm_descriptor_kind kind;
	struct values v = {.count = 0};

	switch (p->of) {
	case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR:
		kind = PM_DESCRIPTOR_CONVOLUTION;
		backend_parameter_add(&v, p->n);
		add_list(&v, p->pads, p->n);
		add_list(&v, p->strides, p->n);
		add_list(&v, p->dilations, p->n);
		backend_parameter_add(&v, p->mode);
		backend_parameter_add(&v, p->type);
		backend_parameter_add(&v, groups);
		backend_parameter_add(&v, CUDNN_DEFAULT_MATH);
		break;
	case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR:
		kind = PM_DESCRIPTOR_POOLING;
		backend_parameter_add(&v, pooling_mode(p->mode));
		backend_parameter_add(&v, p->n);
		add_list(&v, p->windows, p->n);
		add_list(&v, p->pads, p->n);
		add_list(&v, p->strides, p->n);
		break;
	case CUDNN_BACKEND_POINTWISE_DESCRIPTOR:
		kind = PM_DESCRIPTOR_POINTWISE;
		backend_parameter_add(&v, p->mode);
		backend_parameter_add(&v, p->type);
		backend_parameter_add(&v, p->axis);
		break;
	case CUDNN_BACKEND_REDUCTION_DESCRIPTOR:
		kind = PM_DESCRIPTOR_REDUCE;
		backend_parameter_add(&v, p->mode);
		backend_parameter_add(&v, p->type);
		backend_parameter_add(&v, 0);
		break;
	default:
		return 0;
	}
	return pmh_descriptor_number(kind, v.list, v.count);
}
