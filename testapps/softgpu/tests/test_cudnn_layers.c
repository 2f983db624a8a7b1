/*
 * Checks pooling, activations, softmax, and local response normalisation of the stand-in cuDNN
 * against direct loops in double precision, and their gradients against differences.
 */
#include "test_compute.h"

#define FLOAT CUDNN_DATA_FLOAT
#define DOUBLE CUDNN_DATA_DOUBLE

/* alpha and beta as a call wants them for the type. */
struct factors {
	float f[2];
	double d[2];
};

static struct factors factors_of(double alpha, double beta)
{
	return (struct factors){{(float)alpha, (float)beta}, {alpha, beta}};
}

static const void *factor(const struct factors *factors, cudnnDataType_t type, int i)
{
	return type == DOUBLE ? (const void *)&factors->d[i] : (const void *)&factors->f[i];
}

static double tolerance_of(cudnnDataType_t type)
{
	return type == DOUBLE ? 1e-12 : 1e-5;
}

static void blend(struct tensor *t, int64_t i, double alpha, double value, double beta)
{
	double *at = element(t, i);

	*at = alpha * value + (beta == 0 ? 0 : beta * *at);
}

/* One layer: y from x, and dx from dy. */
struct layer {
	struct tensor x, y, dy, dx;
	void (*call)(struct layer *layer, bool backward, double alpha, double beta);
	const void *spec;
};

static void run_layer(void *context)
{
	struct layer *layer = context;

	layer->call(layer, false, 1, 0);
}

static struct layer make_layer(cudnnDataType_t type, enum layout layout, int ndims, const int *x_dim,
	const int *y_dim, void (*call)(struct layer *, bool, double, double), const void *spec)
{
	struct layer layer = {.call = call, .spec = spec};

	layer.x = make_tensor(type, layout, ndims, x_dim);
	layer.y = make_tensor(type, layout, ndims, y_dim);
	layer.dy = make_tensor(type, layout, ndims, y_dim);
	layer.dx = make_tensor(type, layout, ndims, x_dim);
	return layer;
}

static void drop_layer(struct layer *layer)
{
	drop_tensor(&layer->x);
	drop_tensor(&layer->y);
	drop_tensor(&layer->dy);
	drop_tensor(&layer->dx);
}

/* With y computed from x by the library, the gradient against differences (in double precision). */
static void check_gradient(struct layer *layer)
{
	layer->call(layer, false, 1, 0);
	layer->call(layer, true, 1, 0);
	check_differences(__FILE__, __LINE__, &layer->x, &layer->y, &layer->dy, &layer->dx, run_layer, layer,
		1e-5, 1e-7);
}

/* ---- pooling ---- */

struct pool_case {
	const char *name;
	cudnnPoolingMode_t mode;
	int nspatial;
	int size[3], window[3], pad[3], stride[3];
	enum layout layout;
	double alpha, beta;
};

static const struct pool_case pool_cases[] = {
	{"max 2x2", CUDNN_POOLING_MAX, 2, {8, 8}, {2, 2}, {0, 0}, {2, 2}, PACKED, 1, 0},
	{"max overlapping", CUDNN_POOLING_MAX_DETERMINISTIC, 2, {9, 7}, {3, 3}, {1, 1}, {2, 2}, PACKED, 1, 0},
	{"max uneven", CUDNN_POOLING_MAX, 2, {7, 10}, {3, 2}, {1, 0}, {1, 3}, PACKED, 0.5, 2},
	{"max channels last", CUDNN_POOLING_MAX, 2, {6, 6}, {3, 3}, {1, 1}, {2, 2}, CHANNELS_LAST, 1, 1},
	{"average with padding", AVERAGE_WITH_PADDING, 2, {7, 7}, {3, 3}, {1, 1}, {2, 2}, PACKED, 1, 0},
	{"average without padding", AVERAGE_WITHOUT_PADDING, 2, {7, 6}, {3, 4}, {2, 1}, {2, 2}, PACKED, 1, 0},
	{"average channels last", AVERAGE_WITHOUT_PADDING, 2, {5, 5}, {2, 2}, {1, 1}, {1, 2}, CHANNELS_LAST,
		2, -1},
	{"average gaps", AVERAGE_WITH_PADDING, 2, {6, 6}, {2, 3}, {0, 1}, {2, 1}, GAPS, 1, 0.5},
	{"max 3-D", CUDNN_POOLING_MAX, 3, {5, 6, 7}, {2, 3, 2}, {0, 1, 1}, {2, 2, 1}, PACKED, 1, 0},
	{"average 3-D", AVERAGE_WITHOUT_PADDING, 3, {5, 4, 6}, {3, 2, 2}, {1, 0, 1}, {2, 2, 2}, CHANNELS_LAST,
		1, 1},
};

static void call_pooling(struct layer *layer, bool backward, double alpha, double beta)
{
	const struct pool_case *spec = layer->spec;
	cudnnPoolingDescriptor_t pooling = NULL;
	cudnnTensorDescriptor_t x = describe(&layer->x), y = describe(&layer->y);
	struct factors factors = factors_of(alpha, beta);
	const void *a = factor(&factors, layer->x.type, 0);
	const void *b = factor(&factors, layer->x.type, 1);

	OK(cudnnCreatePoolingDescriptor(&pooling));
	OK(cudnnSetPoolingNdDescriptor(pooling, spec->mode, CUDNN_NOT_PROPAGATE_NAN, spec->nspatial,
		spec->window, spec->pad, spec->stride));
	close_gate();
	if (backward)
		OK(cudnnPoolingBackward(handle, pooling, a, y, layer->y.device, y, layer->dy.device, x,
			layer->x.device, b, x, layer->dx.device));
	else
		OK(cudnnPoolingForward(handle, pooling, a, x, layer->x.device, b, y, layer->y.device));
	factors = factors_of(NAN, NAN);
	OK(cudnnDestroyPoolingDescriptor(pooling));
	spoil(x);
	spoil(y);
	open_gate();
}

/* One window: its value when dx is NULL, else what it adds to dx, an array of sums by offset. */
static double expect_window(const struct layer *layer, int64_t i, double *dx)
{
	const struct pool_case *spec = layer->spec;
	bool is_max = spec->mode == CUDNN_POOLING_MAX || spec->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
	int at[5];
	int taps = 1, inside = 0;
	int64_t rest = i;
	double sum = 0, largest = -INFINITY, dy = *element(&layer->dy, i), divisor;
	size_t first = 0;

	for (int d = layer->y.ndims - 1; d >= 0; d--) {
		at[d] = (int)(rest % layer->y.dim[d]);
		rest /= layer->y.dim[d];
	}
	for (int d = 0; d < spec->nspatial; d++)
		taps *= spec->window[d];
	for (int pass = 0; pass < 2; pass++) {
		for (int tap = 0; tap < taps; tap++) {
			size_t x = (size_t)(at[0] * layer->x.stride[0] + at[1] * layer->x.stride[1]);
			bool is_inside = true;

			rest = tap;
			for (int d = spec->nspatial - 1; d >= 0; d--) {
				int p = at[d + 2] * spec->stride[d] - spec->pad[d] +
					(int)(rest % spec->window[d]);

				rest /= spec->window[d];
				is_inside = is_inside && p >= 0 && p < spec->size[d];
				x += (size_t)(p * layer->x.stride[d + 2]);
			}
			if (!is_inside)
				continue;
			if (pass == 0) {
				inside++;
				sum += layer->x.value[x];
				if (layer->x.value[x] > largest) {
					largest = layer->x.value[x];
					first = x;
				}
			} else if (dx != NULL && !is_max) {
				dx[x] += dy / (spec->mode == AVERAGE_WITH_PADDING ? taps : inside);
			}
		}
	}
	if (dx != NULL && is_max)
		dx[first] += dy;
	divisor = spec->mode == AVERAGE_WITH_PADDING ? taps : inside;
	return is_max ? largest : sum / divisor;
}

static void test_pooling(const struct pool_case *spec, cudnnDataType_t type)
{
	int x_dim[5] = {2, 3}, y_dim[5] = {2, 3};
	int expected[5];
	struct layer layer;
	double *dx;
	cudnnPoolingDescriptor_t pooling = NULL;
	cudnnTensorDescriptor_t x;

	case_name = spec->name;
	for (int d = 0; d < spec->nspatial; d++) {
		x_dim[d + 2] = spec->size[d];
		y_dim[d + 2] = (spec->size[d] + 2 * spec->pad[d] - spec->window[d]) / spec->stride[d] + 1;
	}
	layer = make_layer(type, spec->layout, spec->nspatial + 2, x_dim, y_dim, call_pooling, spec);
	x = describe(&layer.x);
	OK(cudnnCreatePoolingDescriptor(&pooling));
	OK(cudnnSetPoolingNdDescriptor(pooling, spec->mode, CUDNN_NOT_PROPAGATE_NAN, spec->nspatial,
		spec->window, spec->pad, spec->stride));
	OK(cudnnGetPoolingNdForwardOutputDim(pooling, x, spec->nspatial + 2, expected));
	EXPECT(memcmp(expected, y_dim, (size_t)(spec->nspatial + 2) * sizeof(int)) == 0);
	OK(cudnnDestroyPoolingDescriptor(pooling));
	spoil(x);
	/* Some equal values: the first one has the gradient. */
	for (int64_t i = 0; i < count_of(&layer.x); i += 3)
		*element(&layer.x, i) = 0.75;
	upload(&layer.x);
	call_pooling(&layer, false, spec->alpha, spec->beta);
	for (int64_t i = 0; i < count_of(&layer.y); i++)
		blend(&layer.y, i, spec->alpha, expect_window(&layer, i, NULL), spec->beta);
	COMPARE(&layer.y, tolerance_of(type));
	dx = calloc(layer.x.span, sizeof(*dx));
	if (dx == NULL)
		abort();
	call_pooling(&layer, true, spec->alpha, spec->beta);
	for (int64_t i = 0; i < count_of(&layer.y); i++)
		expect_window(&layer, i, dx);
	for (int64_t i = 0; i < count_of(&layer.dx); i++)
		blend(&layer.dx, i, spec->alpha, dx[offset_in(&layer.x, &layer.x, i)], spec->beta);
	COMPARE(&layer.dx, tolerance_of(type));
	free(dx);
	if (type == DOUBLE) {
		for (int64_t i = 0; i < count_of(&layer.x); i++)
			*element(&layer.x, i) = next_random();
		upload(&layer.x);
		check_gradient(&layer);
	}
	drop_layer(&layer);
}

/* ---- activations ---- */

struct activation_case {
	cudnnActivationMode_t mode;
	double coef;
};

static const struct activation_case activation_cases[] = {
	{CUDNN_ACTIVATION_SIGMOID, 0},
	{CUDNN_ACTIVATION_RELU, 0},
	{CUDNN_ACTIVATION_TANH, 0},
	{CUDNN_ACTIVATION_CLIPPED_RELU, 0.5},
	{CUDNN_ACTIVATION_ELU, 1.5},
	{CUDNN_ACTIVATION_IDENTITY, 0},
	{CUDNN_ACTIVATION_SWISH, 1.25},
};

static void call_activation(struct layer *layer, bool backward, double alpha, double beta)
{
	const struct activation_case *spec = layer->spec;
	cudnnActivationDescriptor_t activation = NULL;
	cudnnTensorDescriptor_t x = describe(&layer->x), y = describe(&layer->y);
	struct factors factors = factors_of(alpha, beta);
	const void *a = factor(&factors, layer->x.type, 0);
	const void *b = factor(&factors, layer->x.type, 1);

	OK(cudnnCreateActivationDescriptor(&activation));
	OK(cudnnSetActivationDescriptor(activation, spec->mode, CUDNN_NOT_PROPAGATE_NAN, spec->coef));
	close_gate();
	if (backward)
		OK(cudnnActivationBackward(handle, activation, a, y, layer->y.device, y, layer->dy.device, x,
			layer->x.device, b, x, layer->dx.device));
	else
		OK(cudnnActivationForward(handle, activation, a, x, layer->x.device, b, y, layer->y.device));
	factors = factors_of(NAN, NAN);
	OK(cudnnDestroyActivationDescriptor(activation));
	spoil(x);
	spoil(y);
	open_gate();
}

static double expect_activation(const struct activation_case *spec, double x)
{
	switch (spec->mode) {
	case CUDNN_ACTIVATION_SIGMOID:
		return 1 / (1 + exp(-x));
	case CUDNN_ACTIVATION_RELU:
		return x > 0 ? x : 0;
	case CUDNN_ACTIVATION_TANH:
		return tanh(x);
	case CUDNN_ACTIVATION_CLIPPED_RELU:
		return x < 0 ? 0 : x > spec->coef ? spec->coef : x;
	case CUDNN_ACTIVATION_ELU:
		return x > 0 ? x : spec->coef * (exp(x) - 1);
	case CUDNN_ACTIVATION_SWISH:
		return x / (1 + exp(-spec->coef * x));
	default:
		return x;
	}
}

static void test_activation(
	const struct activation_case *spec, cudnnDataType_t type, enum layout layout, double beta)
{
	static const int dim[] = {3, 4, 5, 6};
	struct layer layer = make_layer(type, layout, 4, dim, dim, call_activation, spec);

	case_name = "activation";
	for (int64_t i = 0; i < count_of(&layer.x); i++)
		*element(&layer.x, i) *= i % 7 == 0 ? 30 : i % 5 == 0 ? 1e-3 : 3;
	*element(&layer.x, 3) = 200;
	*element(&layer.x, 4) = -200;
	*element(&layer.x, 5) = 100;
	*element(&layer.x, 6) = -100;
	upload(&layer.x);
	call_activation(&layer, false, 0.5, beta);
	for (int64_t i = 0; i < count_of(&layer.y); i++)
		blend(&layer.y, i, 0.5, expect_activation(spec, *element(&layer.x, i)), beta);
	COMPARE(&layer.y, tolerance_of(type));
	if (type == DOUBLE) {
		/* Not near the corners, where differences do not see the slope. */
		for (int64_t i = 0; i < count_of(&layer.x); i++)
			*element(&layer.x, i) = next_random() > 0 ? 0.1 + fabs(next_random()) / 3
								  : -0.1 - fabs(next_random());
		upload(&layer.x);
		check_gradient(&layer);
	} else {
		double *before = download(&layer.dx);
		double *gradient;

		call_activation(&layer, false, 1, 0);
		call_activation(&layer, true, 1, 0);
		gradient = download(&layer.dx);
		for (size_t i = 0; i < layer.dx.span; i++)
			layer.dx.value[i] = before[i];
		upload(&layer.dx);
		call_activation(&layer, true, -2, 0.5);
		for (int64_t i = 0; i < count_of(&layer.dx); i++)
			blend(&layer.dx, i, -2, gradient[offset_in(&layer.dx, &layer.dx, i)], 0.5);
		COMPARE(&layer.dx, 1e-5);
		free(before);
		free(gradient);
	}
	drop_layer(&layer);
}

/* Small arguments lose nothing: relative accuracy of float functions. */
static void test_small_arguments(void)
{
	static const struct activation_case modes[] = {{CUDNN_ACTIVATION_TANH, 0}, {CUDNN_ACTIVATION_ELU, 1}};

	case_name = "small arguments";
	for (int m = 0; m < 2; m++) {
		static const int dim[] = {1, 1, 1, 64};
		struct layer layer = make_layer(FLOAT, PACKED, 4, dim, dim, call_activation, &modes[m]);
		double *got;

		for (int i = 0; i < 64; i++)
			layer.x.value[i] = (double)(float)(-3 * pow(0.75, i));
		upload(&layer.x);
		call_activation(&layer, false, 1, 0);
		got = download(&layer.y);
		for (int i = 0; i < 64; i++) {
			double x = layer.x.value[i];
			double expected = m == 0 ? tanh(x) : expm1(x);

			EXPECT(fabs(got[i] - expected) <= 5e-7 * fabs(expected));
		}
		free(got);
		drop_layer(&layer);
	}
}

/* ---- softmax ---- */

struct softmax_case {
	cudnnSoftmaxAlgorithm_t algorithm;
	cudnnSoftmaxMode_t mode;
};

static void call_softmax(struct layer *layer, bool backward, double alpha, double beta)
{
	const struct softmax_case *spec = layer->spec;
	cudnnTensorDescriptor_t x = describe(&layer->x), y = describe(&layer->y);
	struct factors factors = factors_of(alpha, beta);
	const void *a = factor(&factors, layer->x.type, 0);
	const void *b = factor(&factors, layer->x.type, 1);

	close_gate();
	if (backward)
		OK(cudnnSoftmaxBackward(handle, spec->algorithm, spec->mode, a, y, layer->y.device, y,
			layer->dy.device, b, x, layer->dx.device));
	else
		OK(cudnnSoftmaxForward(
			handle, spec->algorithm, spec->mode, a, x, layer->x.device, b, y, layer->y.device));
	factors = factors_of(NAN, NAN);
	spoil(x);
	spoil(y);
	open_gate();
}

static void test_softmax(cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode, cudnnDataType_t type,
	enum layout layout, double beta)
{
	static const int dim[] = {3, 4, 2, 5};
	const struct softmax_case spec = {algorithm, mode};
	struct layer layer = make_layer(type, layout, 4, dim, dim, call_softmax, &spec);
	int64_t inner = mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 10 : 1;
	int64_t length = mode == CUDNN_SOFTMAX_MODE_CHANNEL ? 4 : 40;

	case_name = "softmax";
	for (int64_t i = 0; i < count_of(&layer.x); i++)
		*element(&layer.x, i) *= 20;
	upload(&layer.x);
	call_softmax(&layer, false, 2, beta);
	for (int64_t i = 0; i < count_of(&layer.x); i++) {
		int64_t first = i / (inner * length) * (inner * length) + i % inner;
		double largest = -INFINITY, sum = 0, x = *element(&layer.x, i);

		for (int64_t k = 0; k < length; k++)
			largest = fmax(largest, *element(&layer.x, first + k * inner));
		for (int64_t k = 0; k < length; k++)
			sum += exp(*element(&layer.x, first + k * inner) - largest);
		blend(&layer.y, i, 2,
			algorithm == CUDNN_SOFTMAX_LOG ? x - largest - log(sum) : exp(x - largest) / sum,
			beta);
	}
	COMPARE(&layer.y, tolerance_of(type));
	if (type == DOUBLE) {
		for (int64_t i = 0; i < count_of(&layer.x); i++)
			*element(&layer.x, i) /= 10;
		upload(&layer.x);
		check_gradient(&layer);
	}
	drop_layer(&layer);
}

/* ---- local response normalisation ---- */

static void call_lrn(struct layer *layer, bool backward, double alpha, double beta)
{
	cudnnLRNDescriptor_t lrn = NULL;
	cudnnTensorDescriptor_t x = describe(&layer->x), y = describe(&layer->y);
	struct factors factors = factors_of(alpha, beta);
	const void *a = factor(&factors, layer->x.type, 0);
	const void *b = factor(&factors, layer->x.type, 1);

	OK(cudnnCreateLRNDescriptor(&lrn));
	OK(cudnnSetLRNDescriptor(lrn, *(const unsigned *)layer->spec, 0.5, 0.75, 2));
	close_gate();
	if (backward)
		OK(cudnnLRNCrossChannelBackward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, a, y,
			layer->y.device, y, layer->dy.device, x, layer->x.device, b, x, layer->dx.device));
	else
		OK(cudnnLRNCrossChannelForward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, a, x,
			layer->x.device, b, y, layer->y.device));
	factors = factors_of(NAN, NAN);
	OK(cudnnDestroyLRNDescriptor(lrn));
	spoil(x);
	spoil(y);
	open_gate();
}

static void test_lrn(unsigned n, cudnnDataType_t type, enum layout layout, double beta)
{
	static const int dim[] = {2, 7, 3, 4};
	struct layer layer = make_layer(type, layout, 4, dim, dim, call_lrn, &n);

	case_name = "local response normalisation";
	call_lrn(&layer, false, 1.5, beta);
	for (int64_t i = 0; i < count_of(&layer.x); i++) {
		int c = (int)(i / 12 % 7);
		double sum = 0;

		for (int k = c - (int)(n - 1) / 2; k < c - (int)(n - 1) / 2 + (int)n; k++) {
			double x = k < 0 || k > 6 ? 0 : *element(&layer.x, i + (k - c) * 12);

			sum += x * x;
		}
		blend(&layer.y, i, 1.5, *element(&layer.x, i) * pow(2 + 0.5 / n * sum, -0.75), beta);
	}
	COMPARE(&layer.y, tolerance_of(type));
	if (type == DOUBLE)
		check_gradient(&layer);
	drop_layer(&layer);
}

/* ---- errors ---- */

static void test_errors(void)
{
	cudnnPoolingDescriptor_t pooling = NULL;
	cudnnActivationDescriptor_t activation = NULL;
	cudnnLRNDescriptor_t lrn = NULL;
	struct tensor x = make_4d(FLOAT, PACKED, 2, 3, 8, 8), y = make_4d(FLOAT, PACKED, 2, 3, 4, 5);
	cudnnTensorDescriptor_t x_desc = describe(&x), y_desc = describe(&y);
	const float one = 1, zero = 0;

	case_name = "errors";
	OK(cudnnCreatePoolingDescriptor(&pooling));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnPoolingForward(handle, pooling, &one, x_desc, x.device, &zero, y_desc, y.device));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_MAX,
						      CUDNN_NOT_PROPAGATE_NAN, 0, 2, 0, 0, 2, 2));
	OK(cudnnSetPooling2dDescriptor(
		pooling, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, 2, 2, 0, 0, 2, 2));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnPoolingForward(handle, pooling, &one, x_desc, x.device, &zero, y_desc, y.device));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnPoolingForward(NULL, pooling, &one, x_desc, x.device, &zero, x_desc, x.device));
	OK(cudnnDestroyPoolingDescriptor(pooling));
	OK(cudnnCreateActivationDescriptor(&activation));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnActivationForward(handle, activation, &one, x_desc, x.device, &zero, x_desc, x.device));
	OK(cudnnSetActivationDescriptor(activation, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnActivationForward(handle, activation, &one, x_desc, x.device, &zero, y_desc, y.device));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnActivationForward(handle, activation, &one, x_desc, NULL, &zero, x_desc, x.device));
	OK(cudnnDestroyActivationDescriptor(activation));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x_desc,
			x.device, &zero, y_desc, y.device));
	OK(cudnnSetTensor4dDescriptor(x_desc, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 4, 4));
	EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED,
		cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x_desc,
			x.device, &zero, x_desc, x.device));
	OK(cudnnCreateLRNDescriptor(&lrn));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnSetLRNDescriptor(lrn, 17, 1e-4, 0.75, 2));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnSetLRNDescriptor(lrn, 5, 1e-4, 0.75, 0));
	OK(cudnnDestroyLRNDescriptor(lrn));
	spoil(x_desc);
	spoil(y_desc);
	drop_tensor(&x);
	drop_tensor(&y);
}

int main(void)
{
	begin_tests();
	for (size_t i = 0; i < sizeof(pool_cases) / sizeof(pool_cases[0]); i++) {
		test_pooling(&pool_cases[i], FLOAT);
		test_pooling(&pool_cases[i], DOUBLE);
	}
	for (size_t i = 0; i < sizeof(activation_cases) / sizeof(activation_cases[0]); i++) {
		test_activation(&activation_cases[i], FLOAT, PACKED, 0);
		test_activation(&activation_cases[i], FLOAT, GAPS, 2);
		test_activation(&activation_cases[i], DOUBLE, CHANNELS_LAST, 0.5);
	}
	test_small_arguments();
	for (int algorithm = CUDNN_SOFTMAX_FAST; algorithm <= CUDNN_SOFTMAX_LOG; algorithm++) {
		for (int mode = CUDNN_SOFTMAX_MODE_INSTANCE; mode <= CUDNN_SOFTMAX_MODE_CHANNEL; mode++) {
			cudnnSoftmaxAlgorithm_t a = (cudnnSoftmaxAlgorithm_t)algorithm;
			cudnnSoftmaxMode_t m = (cudnnSoftmaxMode_t)mode;

			test_softmax(a, m, FLOAT, PACKED, 0);
			test_softmax(a, m, FLOAT, GAPS, 1);
			test_softmax(a, m, DOUBLE, CHANNELS_LAST, -0.5);
		}
	}
	test_lrn(5, FLOAT, PACKED, 0);
	test_lrn(4, FLOAT, CHANNELS_LAST, 1);
	test_lrn(4, DOUBLE, PACKED, 0.5);
	test_lrn(5, DOUBLE, CHANNELS_LAST, 0);
	test_errors();
	return end_tests();
}
