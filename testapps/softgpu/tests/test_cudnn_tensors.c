/*
 * Checks element-wise operations, reductions and batch normalisation of the stand-in cuDNN against direct
 * loops in double precision, for all layouts and ways of broadcasting, and the gradients of normalisation
 * against differences.
 */
#include "test_compute.h"

#define FLOAT CUDNN_DATA_FLOAT
#define DOUBLE CUDNN_DATA_DOUBLE

static double tolerance_of(cudnnDataType_t type)
{
	return type == DOUBLE ? 1e-12 : 1e-5;
}

/* A factor as a call wants it for the type; good until the next but four. */
static const void *factor(cudnnDataType_t type, double value)
{
	static double doubles[4];
	static float floats[4];
	static int next;

	next = (next + 1) % 4;
	doubles[next] = value;
	floats[next] = (float)value;
	return type == DOUBLE ? (const void *)&doubles[next] : (const void *)&floats[next];
}

static double blend(double alpha, double value, double beta, double before)
{
	return alpha * value + (beta == 0 ? 0 : beta * before);
}

/* ---- element-wise ---- */

static const int full[] = {3, 4, 5, 6};

static const int broadcasts[][4] = {
	{3, 4, 5, 6},
	{1, 1, 1, 1},
	{1, 4, 1, 1},
	{3, 1, 1, 1},
	{1, 4, 5, 6},
	{3, 1, 5, 1},
	{1, 1, 1, 6},
};
#define BROADCASTS ((int)(sizeof(broadcasts) / sizeof(broadcasts[0])))

static double combine(cudnnOpTensorOp_t op, double a, double b)
{
	switch (op) {
	case CUDNN_OP_TENSOR_ADD:
		return a + b;
	case CUDNN_OP_TENSOR_MUL:
		return a * b;
	case CUDNN_OP_TENSOR_MIN:
		return fmin(a, b);
	case CUDNN_OP_TENSOR_MAX:
		return fmax(a, b);
	case CUDNN_OP_TENSOR_SQRT:
		return sqrt(a);
	default:
		return 1 - a;
	}
}

static void test_op(cudnnOpTensorOp_t op, cudnnDataType_t type, enum layout a_layout, enum layout c_layout,
	int which, double beta)
{
	struct tensor a = make_tensor(type, a_layout, 4, full);
	struct tensor b = make_tensor(type, PACKED, 4, broadcasts[which]);
	struct tensor c = make_tensor(type, c_layout, 4, full);
	cudnnTensorDescriptor_t a_desc = describe(&a), b_desc = describe(&b), c_desc = describe(&c);
	cudnnOpTensorDescriptor_t descriptor = NULL;

	case_name = "OpTensor";
	for (size_t i = 0; i < a.span; i++)
		a.value[i] = fabs(a.value[i]);
	upload(&a);
	OK(cudnnCreateOpTensorDescriptor(&descriptor));
	OK(cudnnSetOpTensorDescriptor(descriptor, op, type, CUDNN_NOT_PROPAGATE_NAN));
	close_gate();
	OK(cudnnOpTensor(handle, descriptor, factor(type, 1.5), a_desc, a.device, factor(type, -0.5), b_desc,
		b.device, factor(type, beta), c_desc, c.device));
	OK(cudnnDestroyOpTensorDescriptor(descriptor));
	spoil(a_desc);
	spoil(b_desc);
	spoil(c_desc);
	open_gate();
	for (int64_t i = 0; i < count_of(&c); i++) {
		double value = combine(op, 1.5 * *element(&a, i), -0.5 * b.value[offset_in(&b, &c, i)]);

		*element(&c, i) = blend(1, value, beta, *element(&c, i));
	}
	COMPARE(&c, tolerance_of(type));
	drop_tensor(&a);
	drop_tensor(&b);
	drop_tensor(&c);
}

static void test_add(cudnnDataType_t type, enum layout layout, int which, double beta)
{
	struct tensor a = make_tensor(type, PACKED, 4, broadcasts[which]);
	struct tensor c = make_tensor(type, layout, 4, full);
	cudnnTensorDescriptor_t a_desc = describe(&a), c_desc = describe(&c);

	case_name = "AddTensor";
	close_gate();
	OK(cudnnAddTensor(handle, factor(type, 0.5), a_desc, a.device, factor(type, beta), c_desc, c.device));
	spoil(a_desc);
	spoil(c_desc);
	open_gate();
	for (int64_t i = 0; i < count_of(&c); i++)
		*element(&c, i) = blend(0.5, a.value[offset_in(&a, &c, i)], beta, *element(&c, i));
	COMPARE(&c, tolerance_of(type));
	drop_tensor(&a);
	drop_tensor(&c);
}

static void test_transform(cudnnDataType_t type, enum layout from, enum layout to, double beta)
{
	struct tensor x = make_tensor(type, from, 4, full);
	struct tensor y = make_tensor(type, to, 4, full);
	cudnnTensorDescriptor_t x_desc = describe(&x), y_desc = describe(&y);

	case_name = "TransformTensor";
	close_gate();
	OK(cudnnTransformTensor(
		handle, factor(type, 2), x_desc, x.device, factor(type, beta), y_desc, y.device));
	spoil(x_desc);
	spoil(y_desc);
	open_gate();
	for (int64_t i = 0; i < count_of(&y); i++)
		*element(&y, i) = blend(2, *element(&x, i), beta, *element(&y, i));
	COMPARE(&y, tolerance_of(type));
	drop_tensor(&x);
	drop_tensor(&y);
}

/* As many dimensions as a tensor may have, with one that is broadcast. */
static void test_many_dims(void)
{
	static const int many[] = {2, 3, 1, 2, 3, 2, 1, 4};
	static const int few[] = {2, 1, 1, 2, 3, 1, 1, 4};
	struct tensor a = make_tensor(FLOAT, GAPS, 8, few);
	struct tensor c = make_tensor(FLOAT, CHANNELS_LAST, 8, many);
	cudnnTensorDescriptor_t a_desc = describe(&a), c_desc = describe(&c);

	case_name = "eight dimensions";
	close_gate();
	OK(cudnnAddTensor(handle, factor(FLOAT, -2), a_desc, a.device, factor(FLOAT, 0.5), c_desc, c.device));
	spoil(a_desc);
	spoil(c_desc);
	open_gate();
	for (int64_t i = 0; i < count_of(&c); i++)
		*element(&c, i) = blend(-2, a.value[offset_in(&a, &c, i)], 0.5, *element(&c, i));
	COMPARE(&c, 1e-6);
	drop_tensor(&a);
	drop_tensor(&c);
}

static void test_set_and_scale(cudnnDataType_t type, enum layout layout)
{
	struct tensor y = make_tensor(type, layout, 4, full);
	cudnnTensorDescriptor_t y_desc = describe(&y);

	case_name = "SetTensor and ScaleTensor";
	close_gate();
	OK(cudnnScaleTensor(handle, y_desc, y.device, factor(type, -3)));
	open_gate();
	for (int64_t i = 0; i < count_of(&y); i++)
		*element(&y, i) *= -3;
	COMPARE(&y, tolerance_of(type));
	close_gate();
	OK(cudnnSetTensor(handle, y_desc, y.device, factor(type, 0.75)));
	spoil(y_desc);
	open_gate();
	for (int64_t i = 0; i < count_of(&y); i++)
		*element(&y, i) = 0.75;
	COMPARE(&y, 0);
	drop_tensor(&y);
}

/* ---- reductions ---- */

struct result {
	double value;
	int64_t best;
};

static struct result expect_reduction(
	cudnnReduceTensorOp_t op, const struct tensor *a, const struct tensor *c, int64_t at)
{
	struct result result = {op == CUDNN_REDUCE_TENSOR_MUL || op == CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS, 0};
	int64_t seen = 0;
	size_t wanted = offset_in(c, c, at);

	for (int64_t i = 0; i < count_of(a); i++) {
		double value = *element(a, i);
		bool better;

		if (offset_in(c, a, i) != wanted)
			continue;
		if (op == CUDNN_REDUCE_TENSOR_AMAX || op == CUDNN_REDUCE_TENSOR_NORM1)
			value = fabs(value);
		better = seen == 0 ||
			 (op == CUDNN_REDUCE_TENSOR_MIN ? value < result.value : value > result.value);
		switch (op) {
		case CUDNN_REDUCE_TENSOR_MIN:
		case CUDNN_REDUCE_TENSOR_MAX:
		case CUDNN_REDUCE_TENSOR_AMAX:
			result = better ? (struct result){value, seen} : result;
			break;
		case CUDNN_REDUCE_TENSOR_MUL:
			result.value *= value;
			break;
		case CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS:
			result.value *= value == 0 ? 1 : value;
			break;
		case CUDNN_REDUCE_TENSOR_NORM2:
			result.value += value * value;
			break;
		default:
			result.value += value;
			break;
		}
		seen++;
	}
	if (op == CUDNN_REDUCE_TENSOR_AVG)
		result.value /= (double)seen;
	if (op == CUDNN_REDUCE_TENSOR_NORM2)
		result.value = sqrt(result.value);
	return result;
}

static void test_reduction(
	cudnnReduceTensorOp_t op, cudnnDataType_t type, enum layout layout, int which, double beta)
{
	bool has_indices = op == CUDNN_REDUCE_TENSOR_MIN || op == CUDNN_REDUCE_TENSOR_MAX ||
			   op == CUDNN_REDUCE_TENSOR_AMAX;
	struct tensor a = make_tensor(type, layout, 4, full);
	struct tensor c = make_tensor(type, PACKED, 4, broadcasts[which]);
	cudnnTensorDescriptor_t a_desc = describe(&a), c_desc = describe(&c);
	cudnnReduceTensorDescriptor_t descriptor = NULL;
	size_t indices_bytes = 0, workspace_bytes = 1;
	void *indices = NULL;
	uint32_t *got = NULL;

	case_name = "ReduceTensor";
	*element(&a, 17) = 0;
	upload(&a);
	OK(cudnnCreateReduceTensorDescriptor(&descriptor));
	OK(cudnnSetReduceTensorDescriptor(descriptor, op, type, CUDNN_NOT_PROPAGATE_NAN,
		has_indices ? CUDNN_REDUCE_TENSOR_FLATTENED_INDICES : CUDNN_REDUCE_TENSOR_NO_INDICES,
		CUDNN_32BIT_INDICES));
	OK(cudnnGetReductionIndicesSize(handle, descriptor, a_desc, c_desc, &indices_bytes));
	OK(cudnnGetReductionWorkspaceSize(handle, descriptor, a_desc, c_desc, &workspace_bytes));
	EXPECT(indices_bytes == (has_indices ? c.span * sizeof(uint32_t) : 0));
	if (has_indices) {
		CUDA(cudaMalloc(&indices, indices_bytes));
		got = malloc(indices_bytes);
	}
	close_gate();
	OK(cudnnReduceTensor(handle, descriptor, indices, indices_bytes, NULL, 0, factor(type, 0.5), a_desc,
		a.device, factor(type, beta), c_desc, c.device));
	OK(cudnnDestroyReduceTensorDescriptor(descriptor));
	spoil(a_desc);
	spoil(c_desc);
	open_gate();
	if (got != NULL)
		CUDA(cudaMemcpy(got, indices, indices_bytes, cudaMemcpyDeviceToHost));
	for (int64_t i = 0; i < count_of(&c); i++) {
		struct result expected = expect_reduction(op, &a, &c, i);

		*element(&c, i) = blend(0.5, expected.value, beta, *element(&c, i));
		if (got != NULL)
			EXPECT(got[offset_in(&c, &c, i)] == (uint32_t)expected.best);
	}
	COMPARE(&c, tolerance_of(type));
	if (indices != NULL)
		CUDA(cudaFree(indices));
	free(got);
	drop_tensor(&a);
	drop_tensor(&c);
}

/* ---- normalisation ---- */

#define EPSILON 0.01

/* Which of the two families of calls is used. */
enum family { PLAIN, EXTENDED };

struct norm {
	enum family family;
	cudnnBatchNormMode_t mode;
	bool adds, clips;
	bool saves; /* the statistics, for the way back */
	double average_factor;
	struct tensor x, y, z, dy, dx, dz;
	struct tensor scale, bias, mean, variance, saved_mean, saved_variance, dscale, dbias;
	void *reserve;
	size_t reserve_bytes;
};

static struct norm make_norm(cudnnDataType_t type, enum layout layout, cudnnBatchNormMode_t mode,
	enum family family, bool adds, bool clips, int ndims)
{
	static const int dims[] = {4, 3, 2, 5, 2};
	struct norm norm = {.family = family, .mode = mode, .adds = adds, .clips = clips, .saves = true};
	bool spatial = mode != CUDNN_BATCHNORM_PER_ACTIVATION;
	int params[5] = {1, 3, spatial ? 1 : 2, spatial ? 1 : 5, spatial ? 1 : 2};
	struct tensor *data[] = {&norm.x, &norm.y, &norm.z, &norm.dy, &norm.dx, &norm.dz};
	struct tensor *parameters[] = {&norm.scale, &norm.bias, &norm.mean, &norm.variance, &norm.saved_mean,
		&norm.saved_variance, &norm.dscale, &norm.dbias};

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		*data[i] = make_tensor(type, layout, ndims, dims);
	for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
		*parameters[i] = make_tensor(type, PACKED, ndims, params);
	for (size_t i = 0; i < norm.variance.span; i++)
		norm.variance.value[i] = 0.5 + fabs(norm.variance.value[i]);
	upload(&norm.variance);
	norm.average_factor = 0.25;
	norm.reserve_bytes = clips ? (size_t)count_of(&norm.x) : 0;
	if (clips)
		CUDA(cudaMalloc(&norm.reserve, norm.reserve_bytes));
	return norm;
}

static void drop_norm(struct norm *norm)
{
	struct tensor *all[] = {&norm->x, &norm->y, &norm->z, &norm->dy, &norm->dx, &norm->dz, &norm->scale,
		&norm->bias, &norm->mean, &norm->variance, &norm->saved_mean, &norm->saved_variance,
		&norm->dscale, &norm->dbias};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		drop_tensor(all[i]);
	if (norm->reserve != NULL)
		CUDA(cudaFree(norm->reserve));
}

enum direction { TRAINING, INFERENCE, BACKWARD };

static void call_norm(struct norm *n, enum direction direction, double alpha, double beta)
{
	cudnnDataType_t type = n->x.type;
	cudnnTensorDescriptor_t data = describe(&n->x), params = describe(&n->scale), derived = NULL;
	cudnnActivationDescriptor_t relu = NULL;
	cudnnBatchNormOps_t ops = n->adds    ? CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION
				  : n->clips ? CUDNN_BATCHNORM_OPS_BN_ACTIVATION
					     : CUDNN_BATCHNORM_OPS_BN;
	void *mean = n->saves ? n->saved_mean.device : NULL;
	void *variance = n->saves ? n->saved_variance.device : NULL;
	const void *a = factor(type, alpha), *b = factor(type, beta);
	const void *pa = factor(type, alpha), *pb = factor(type, beta);
	size_t bytes = 1;

	OK(cudnnCreateTensorDescriptor(&derived));
	OK(cudnnDeriveBNTensorDescriptor(derived, data, n->mode));
	OK(cudnnGetTensorSizeInBytes(derived, &bytes));
	EXPECT(bytes == n->scale.span * type_bytes(&n->scale));
	OK(cudnnCreateActivationDescriptor(&relu));
	OK(cudnnSetActivationDescriptor(relu, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
	OK(cudnnGetBatchNormalizationTrainingExReserveSpaceSize(handle, n->mode, ops, relu, data, &bytes));
	EXPECT(bytes == n->reserve_bytes);
	close_gate();
	if (direction == TRAINING && n->family == PLAIN)
		OK(cudnnBatchNormalizationForwardTraining(handle, n->mode, a, b, data, n->x.device, data,
			n->y.device, params, n->scale.device, n->bias.device, n->average_factor,
			n->mean.device, n->variance.device, EPSILON, mean, variance));
	else if (direction == TRAINING)
		OK(cudnnBatchNormalizationForwardTrainingEx(handle, n->mode, ops, a, b, data, n->x.device,
			data, n->z.device, data, n->y.device, params, n->scale.device, n->bias.device,
			n->average_factor, n->mean.device, n->variance.device, EPSILON, mean, variance, relu,
			NULL, 0, n->reserve, n->reserve_bytes));
	else if (direction == INFERENCE)
		OK(cudnnBatchNormalizationForwardInference(handle, n->mode, a, b, data, n->x.device, data,
			n->y.device, params, n->scale.device, n->bias.device, n->mean.device,
			n->variance.device, EPSILON));
	else if (n->family == PLAIN)
		OK(cudnnBatchNormalizationBackward(handle, n->mode, a, b, pa, pb, data, n->x.device, data,
			n->dy.device, data, n->dx.device, params, n->scale.device, n->dscale.device,
			n->dbias.device, EPSILON, mean, variance));
	else
		OK(cudnnBatchNormalizationBackwardEx(handle, n->mode, ops, a, b, pa, pb, data, n->x.device,
			data, n->y.device, data, n->dy.device, data, n->dz.device, data, n->dx.device, params,
			n->scale.device, n->bias.device, n->dscale.device, n->dbias.device, EPSILON, mean,
			variance, relu, NULL, 0, n->reserve, n->reserve_bytes));
	OK(cudnnDestroyActivationDescriptor(relu));
	spoil(data);
	spoil(params);
	spoil(derived);
	open_gate();
}

/* Mean and biased variance of what goes with parameter p; returns the number of samples. */
static double statistics(const struct norm *n, int64_t p, double *mean, double *variance)
{
	double count = 0;

	*mean = *variance = 0;
	for (int pass = 0; pass < 2; pass++) {
		count = 0;
		for (int64_t i = 0; i < count_of(&n->x); i++) {
			if (offset_in(&n->scale, &n->x, i) != (size_t)p)
				continue;
			if (pass == 0)
				*mean += *element(&n->x, i);
			else
				*variance += pow(*element(&n->x, i) - *mean, 2);
			count++;
		}
		if (pass == 0)
			*mean /= count;
	}
	*variance /= count;
	return count;
}

static void expect_forward(
	struct norm *n, const double *mean, const double *variance, double alpha, double beta)
{
	for (int64_t i = 0; i < count_of(&n->x); i++) {
		size_t p = offset_in(&n->scale, &n->x, i);
		double value =
			n->scale.value[p] * (*element(&n->x, i) - mean[p]) / sqrt(variance[p] + EPSILON) +
			n->bias.value[p];

		value += n->adds ? *element(&n->z, i) : 0;
		value = n->clips && value < 0 ? 0 : value;
		*element(&n->y, i) = blend(alpha, value, beta, *element(&n->y, i));
	}
}

static void test_training(struct norm *n, double alpha, double beta)
{
	double mean[64], variance[64];

	case_name = "normalisation, training";
	call_norm(n, TRAINING, alpha, beta);
	for (int64_t p = 0; p < count_of(&n->scale); p++) {
		double count = statistics(n, p, &mean[p], &variance[p]);

		n->mean.value[p] = 0.75 * n->mean.value[p] + 0.25 * mean[p];
		n->variance.value[p] = 0.75 * n->variance.value[p] + 0.25 * variance[p] * count / (count - 1);
		n->saved_mean.value[p] = mean[p];
		n->saved_variance.value[p] = 1 / sqrt(variance[p] + EPSILON);
	}
	expect_forward(n, mean, variance, alpha, beta);
	COMPARE(&n->y, tolerance_of(n->x.type));
	COMPARE(&n->mean, tolerance_of(n->x.type));
	COMPARE(&n->variance, tolerance_of(n->x.type));
	COMPARE(&n->saved_mean, tolerance_of(n->x.type));
	COMPARE(&n->saved_variance, tolerance_of(n->x.type));
}

static void test_inference(struct norm *n, double alpha, double beta)
{
	case_name = "normalisation, inference";
	call_norm(n, INFERENCE, alpha, beta);
	expect_forward(n, n->mean.value, n->variance.value, alpha, beta);
	COMPARE(&n->y, tolerance_of(n->x.type));
}

static void run_training(void *context)
{
	call_norm(context, TRAINING, 1, 0);
}

/* All gradients of training by differences, then scaling and adding of the same. */
static void test_backward(struct norm *n)
{
	struct tensor *outputs[] = {&n->dx, &n->dscale, &n->dbias};

	case_name = "normalisation, backward";
	call_norm(n, TRAINING, 1, 0);
	call_norm(n, BACKWARD, 1, 0);
	check_differences(__FILE__, __LINE__, &n->x, &n->y, &n->dy, &n->dx, run_training, n, 1e-5, 1e-6);
	check_differences(
		__FILE__, __LINE__, &n->scale, &n->y, &n->dy, &n->dscale, run_training, n, 1e-5, 1e-6);
	check_differences(
		__FILE__, __LINE__, &n->bias, &n->y, &n->dy, &n->dbias, run_training, n, 1e-5, 1e-6);
	if (n->adds)
		check_differences(
			__FILE__, __LINE__, &n->z, &n->y, &n->dy, &n->dz, run_training, n, 1e-5, 1e-6);
	call_norm(n, TRAINING, 1, 0);
	for (size_t k = 0; k < sizeof(outputs) / sizeof(outputs[0]); k++) {
		double *got = download(outputs[k]);

		for (int64_t i = 0; i < count_of(outputs[k]); i++)
			*element(outputs[k], i) = 1.5 * got[offset_in(outputs[k], outputs[k], i)];
		free(got);
	}
	n->saves = false;
	call_norm(n, BACKWARD, 0.5, 1);
	n->saves = true;
	for (size_t k = 0; k < sizeof(outputs) / sizeof(outputs[0]); k++)
		COMPARE(outputs[k], 1e-9);
}

static void test_norm(cudnnDataType_t type, enum layout layout, cudnnBatchNormMode_t mode, enum family family,
	bool adds, bool clips, int ndims, double beta)
{
	struct norm norm = make_norm(type, layout, mode, family, adds, clips, ndims);

	test_training(&norm, 1.5, beta);
	if (!clips)
		test_inference(&norm, 1.5, beta);
	if (type == DOUBLE)
		test_backward(&norm);
	drop_norm(&norm);
}

/* The element-wise update of a long vector: y = scale * x / sqrt(variance) + y, with epsilon 0. */
static void test_update(void)
{
	const int count = 1 << 20;
	struct tensor x = make_4d(FLOAT, PACKED, 1, count, 1, 1), y = make_4d(FLOAT, PACKED, 1, count, 1, 1);
	struct tensor p = make_4d(FLOAT, PACKED, 1, count, 1, 1),
		      zero = make_4d(FLOAT, PACKED, 1, count, 1, 1);
	cudnnTensorDescriptor_t descriptor = describe(&x);

	case_name = "update of a long vector";
	for (int i = 0; i < count; i++) {
		zero.value[i] = 0;
		p.value[i] = (double)(float)(0.25 + fabs(p.value[i]));
	}
	upload(&zero);
	upload(&p);
	OK(cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_PER_ACTIVATION,
		factor(FLOAT, -0.5), factor(FLOAT, 1), descriptor, x.device, descriptor, y.device, descriptor,
		p.device, zero.device, zero.device, p.device, 0));
	spoil(descriptor);
	CUDA(cudaStreamSynchronize(stream));
	for (int i = 0; i < count; i++)
		y.value[i] += -0.5 * p.value[i] * x.value[i] / sqrt(p.value[i]);
	COMPARE(&y, 1e-6);
	drop_tensor(&x);
	drop_tensor(&y);
	drop_tensor(&p);
	drop_tensor(&zero);
}

static void test_errors(void)
{
	struct norm n = make_norm(FLOAT, PACKED, CUDNN_BATCHNORM_SPATIAL, PLAIN, false, false, 4);
	cudnnTensorDescriptor_t data = describe(&n.x), params = describe(&n.scale);
	cudnnOpTensorDescriptor_t op = NULL;
	cudnnReduceTensorDescriptor_t reduce = NULL;
	const float one = 1;

	case_name = "errors";
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &one, &one, data,
			n.x.device, data, n.y.device, params, n.scale.device, n.bias.device, n.mean.device,
			n.variance.device, -1));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_PER_ACTIVATION, &one, &one,
			data, n.x.device, data, n.y.device, params, n.scale.device, n.bias.device,
			n.mean.device, n.variance.device, 1));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnBatchNormalizationForwardTraining(handle, CUDNN_BATCHNORM_SPATIAL, &one, &one, data,
			n.x.device, data, n.y.device, params, n.scale.device, n.bias.device, 1, n.mean.device,
			NULL, 1, NULL, NULL));
	/* The data cannot be added to one channel's sum the other way round. */
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnAddTensor(handle, &one, data, n.x.device, &one, params, n.scale.device));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnTransformTensor(handle, &one, data, n.x.device, &one, params, n.scale.device));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnSetTensor(handle, data, NULL, &one));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnScaleTensor(NULL, data, n.x.device, &one));
	OK(cudnnCreateOpTensorDescriptor(&op));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnOpTensor(handle, op, &one, data, n.x.device, &one, data,
						      n.y.device, &one, data, n.y.device));
	OK(cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_ADD, FLOAT, CUDNN_NOT_PROPAGATE_NAN));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnOpTensor(handle, op, &one, params, n.scale.device, &one,
						      data, n.y.device, &one, data, n.y.device));
	OK(cudnnSetTensor4dDescriptor(params, CUDNN_TENSOR_NCHW, FLOAT, 1, 2, 1, 1));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnOpTensor(handle, op, &one, data, n.x.device, &one, params,
						      n.scale.device, &one, data, n.y.device));
	OK(cudnnSetTensor4dDescriptor(params, CUDNN_TENSOR_NCHW, FLOAT, 1, 3, 1, 1));
	OK(cudnnDestroyOpTensorDescriptor(op));
	OK(cudnnCreateReduceTensorDescriptor(&reduce));
	OK(cudnnSetReduceTensorDescriptor(reduce, CUDNN_REDUCE_TENSOR_ADD, FLOAT, CUDNN_NOT_PROPAGATE_NAN,
		CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnReduceTensor(handle, reduce, NULL, 0, NULL, 0, &one,
						      params, n.scale.device, &one, data, n.x.device));
	OK(cudnnDestroyReduceTensorDescriptor(reduce));
	spoil(data);
	spoil(params);
	drop_norm(&n);
}

int main(void)
{
	begin_tests();
	for (int op = CUDNN_OP_TENSOR_ADD; op <= CUDNN_OP_TENSOR_NOT; op++) {
		for (int which = 0; which < BROADCASTS; which++) {
			test_op((cudnnOpTensorOp_t)op, FLOAT, PACKED, PACKED, which, 0);
			test_op((cudnnOpTensorOp_t)op, FLOAT, GAPS, CHANNELS_LAST, which, 2);
			test_op((cudnnOpTensorOp_t)op, DOUBLE, CHANNELS_LAST, PACKED, which, -1);
		}
	}
	for (int which = 0; which < BROADCASTS; which++) {
		test_add(FLOAT, PACKED, which, 1);
		test_add(FLOAT, CHANNELS_LAST, which, 0);
		test_add(DOUBLE, GAPS, which, 0.5);
	}
	test_many_dims();
	for (int from = PACKED; from <= GAPS; from++) {
		for (int to = PACKED; to <= GAPS; to++) {
			test_transform(FLOAT, (enum layout)from, (enum layout)to, 0);
			test_transform(DOUBLE, (enum layout)from, (enum layout)to, 1);
		}
		test_set_and_scale(FLOAT, (enum layout)from);
		test_set_and_scale(DOUBLE, (enum layout)from);
	}
	for (int op = CUDNN_REDUCE_TENSOR_ADD; op <= CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS; op++) {
		for (int which = 0; which < BROADCASTS; which++) {
			test_reduction((cudnnReduceTensorOp_t)op, FLOAT, PACKED, which, 0);
			test_reduction((cudnnReduceTensorOp_t)op, FLOAT, CHANNELS_LAST, which, 1);
			test_reduction((cudnnReduceTensorOp_t)op, DOUBLE, GAPS, which, -0.5);
		}
	}
	for (int mode = CUDNN_BATCHNORM_PER_ACTIVATION; mode <= CUDNN_BATCHNORM_SPATIAL_PERSISTENT; mode++) {
		cudnnBatchNormMode_t m = (cudnnBatchNormMode_t)mode;

		for (int family = PLAIN; family <= EXTENDED; family++) {
			test_norm(FLOAT, PACKED, m, (enum family)family, false, false, 4, 0);
			test_norm(FLOAT, CHANNELS_LAST, m, (enum family)family, false, false, 5, 0.5);
			test_norm(DOUBLE, GAPS, m, (enum family)family, false, false, 4, 1);
			test_norm(DOUBLE, CHANNELS_LAST, m, (enum family)family, false, false, 4, 0);
			test_norm(DOUBLE, PACKED, m, (enum family)family, false, false, 5, 0);
		}
		test_norm(FLOAT, PACKED, m, EXTENDED, false, true, 4, 0);
		test_norm(DOUBLE, CHANNELS_LAST, m, EXTENDED, false, true, 4, 0);
		test_norm(DOUBLE, PACKED, m, EXTENDED, true, true, 4, 0);
		test_norm(FLOAT, GAPS, m, EXTENDED, true, true, 5, 1);
	}
	test_update();
	test_errors();
	return end_tests();
}
