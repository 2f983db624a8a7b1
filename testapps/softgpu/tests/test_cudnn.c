/*
 * Checks convolutions of the stand-in cuDNN against direct loops in double precision: shapes, strides,
 * padding, dilation, groups, layouts, 3-D, scaling, algorithms, gradients by differences; and what the calls
 * answer to wrong arguments.
 */
#include "test_compute.h"

#include <pthread.h>

struct conv_case {
	const char *name;
	int nspatial;
	int n, c, k, groups;
	int size[3], filter[3], pad[3], stride[3], dilation[3];
	enum layout x_layout, y_layout;
	cudnnTensorFormat_t w_format;
	cudnnConvolutionMode_t mode;
	double alpha, beta;
};

#define CROSS CUDNN_CROSS_CORRELATION
#define NCHW CUDNN_TENSOR_NCHW
#define NHWC CUDNN_TENSOR_NHWC

/* Arrays of one value per dimension: height, width or depth, height, width. */
static const struct conv_case conv_cases[] = {
	{"lenet conv1", 2, 4, 1, 6, 1, {28, 28}, {5, 5}, {2, 2}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS,
		1, 0},
	{"lenet conv2", 2, 4, 6, 16, 1, {14, 14}, {5, 5}, {0, 0}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS,
		1, 0},
	{"scaled", 2, 2, 3, 5, 1, {9, 7}, {3, 2}, {1, 0}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 0.5,
		0},
	{"added", 2, 2, 3, 5, 1, {9, 7}, {3, 2}, {1, 1}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 1, 1},
	{"blended", 2, 3, 4, 4, 1, {8, 8}, {3, 3}, {1, 1}, {2, 2}, {1, 1}, PACKED, PACKED, NCHW, CROSS, -1.5,
		0.25},
	{"strides", 2, 2, 3, 8, 1, {11, 13}, {3, 5}, {1, 2}, {2, 3}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 1,
		0},
	{"dilated", 2, 2, 3, 4, 1, {12, 10}, {3, 3}, {2, 0}, {1, 1}, {2, 3}, PACKED, PACKED, NCHW, CROSS, 1,
		0},
	{"dilated strides", 2, 1, 5, 7, 1, {15, 15}, {3, 3}, {1, 2}, {2, 2}, {2, 2}, PACKED, PACKED, NCHW,
		CROSS, 1, 0.5},
	{"groups", 2, 2, 6, 9, 3, {7, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 1, 0},
	{"depthwise", 2, 2, 8, 8, 8, {9, 9}, {3, 3}, {1, 1}, {2, 2}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 2,
		1},
	{"flipped", 2, 2, 3, 4, 1, {8, 9}, {3, 4}, {1, 1}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW,
		CUDNN_CONVOLUTION, 1, 0},
	{"flipped groups", 2, 2, 4, 4, 2, {8, 9}, {2, 3}, {0, 1}, {1, 2}, {1, 1}, PACKED, PACKED, NCHW,
		CUDNN_CONVOLUTION, 0.5, 2},
	{"channels last", 2, 2, 5, 6, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, CHANNELS_LAST, CHANNELS_LAST,
		NHWC, CROSS, 1, 0},
	{"channels last blended", 2, 2, 5, 6, 1, {9, 8}, {3, 3}, {1, 1}, {2, 1}, {1, 1}, CHANNELS_LAST,
		CHANNELS_LAST, NHWC, CROSS, 2, -1},
	{"mixed layouts", 2, 2, 5, 6, 1, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, CHANNELS_LAST, PACKED, NCHW,
		CROSS, 1, 0},
	{"gaps", 2, 2, 3, 4, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, GAPS, GAPS, NCHW, CROSS, 1, 0},
	{"gaps blended flipped", 2, 2, 3, 4, 1, {6, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, GAPS, PACKED, NHWC,
		CUDNN_CONVOLUTION, 1, 1},
	{"one by one", 2, 2, 7, 9, 1, {6, 5}, {1, 1}, {0, 0}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 1,
		0},
	{"whole image", 2, 3, 4, 10, 1, {5, 5}, {5, 5}, {0, 0}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS,
		1, 0},
	{"wide", 2, 2, 32, 48, 1, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, PACKED, PACKED, NCHW, CROSS, 1, 0},
	{"3-D", 3, 2, 3, 4, 1, {6, 7, 8}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, PACKED, PACKED, NCHW,
		CROSS, 1, 0},
	{"3-D strides", 3, 1, 2, 5, 1, {7, 9, 8}, {3, 2, 3}, {1, 0, 2}, {2, 1, 2}, {1, 1, 1}, PACKED, PACKED,
		NCHW, CROSS, 1.5, 0.5},
	{"3-D dilated groups flipped", 3, 1, 4, 6, 2, {7, 6, 8}, {2, 3, 2}, {1, 1, 0}, {1, 1, 1}, {2, 1, 3},
		PACKED, PACKED, NCHW, CUDNN_CONVOLUTION, 1, 0},
	{"3-D channels last", 3, 2, 3, 4, 1, {5, 6, 5}, {3, 3, 3}, {1, 1, 1}, {1, 2, 1}, {1, 1, 1},
		CHANNELS_LAST, CHANNELS_LAST, NHWC, CROSS, 1, 0},
};

struct conv {
	const struct conv_case *spec;
	struct tensor x, w, y;
	int y_size[3];
};

static int output_size(const struct conv_case *spec, int d)
{
	int reach = (spec->filter[d] - 1) * spec->dilation[d] + 1;

	return (spec->size[d] + 2 * spec->pad[d] - reach) / spec->stride[d] + 1;
}

static struct conv make_conv(const struct conv_case *spec)
{
	struct conv conv = {.spec = spec};
	int x_dim[5] = {spec->n, spec->c};
	int w_dim[5] = {spec->k, spec->c / spec->groups};
	int y_dim[5] = {spec->n, spec->k};

	for (int d = 0; d < spec->nspatial; d++) {
		x_dim[d + 2] = spec->size[d];
		w_dim[d + 2] = spec->filter[d];
		y_dim[d + 2] = output_size(spec, d);
	}
	conv.x = make_tensor(CUDNN_DATA_FLOAT, spec->x_layout, spec->nspatial + 2, x_dim);
	conv.w = make_tensor(
		CUDNN_DATA_FLOAT, spec->w_format == NHWC ? CHANNELS_LAST : PACKED, spec->nspatial + 2, w_dim);
	conv.y = make_tensor(CUDNN_DATA_FLOAT, spec->y_layout, spec->nspatial + 2, y_dim);
	return conv;
}

static void drop_conv(struct conv *conv)
{
	drop_tensor(&conv->x);
	drop_tensor(&conv->w);
	drop_tensor(&conv->y);
}

static cudnnConvolutionDescriptor_t describe_conv(const struct conv_case *spec)
{
	cudnnConvolutionDescriptor_t descriptor = NULL;

	OK(cudnnCreateConvolutionDescriptor(&descriptor));
	OK(cudnnSetConvolutionNdDescriptor(descriptor, spec->nspatial, spec->pad, spec->stride,
		spec->dilation, spec->mode, CUDNN_DATA_FLOAT));
	OK(cudnnSetConvolutionGroupCount(descriptor, spec->groups));
	return descriptor;
}

static cudnnFilterDescriptor_t describe_filter(const struct conv *conv)
{
	cudnnFilterDescriptor_t descriptor = NULL;

	OK(cudnnCreateFilterDescriptor(&descriptor));
	OK(cudnnSetFilterNdDescriptor(
		descriptor, CUDNN_DATA_FLOAT, conv->spec->w_format, conv->w.ndims, conv->w.dim));
	return descriptor;
}

/* The kinds of call, and the tensor each one writes. */
enum kind { FORWARD, DATA, FILTER };

/*
 * Calls visit(x, w, y) for every product that the convolution adds: y += x * w. All three kinds are sums over
 * these.
 */
static void for_each_product(
	const struct conv *conv, void (*visit)(size_t x, size_t w, size_t y, void *context), void *context)
{
	const struct conv_case *s = conv->spec;
	int c_per_group = s->c / s->groups;
	int k_per_group = s->k / s->groups;
	int64_t w_plane = 1;

	for (int d = 0; d < s->nspatial; d++)
		w_plane *= s->filter[d];
	for (int64_t i = 0; i < count_of(&conv->y); i++) {
		int at[5];
		int64_t rest = i;

		for (int d = conv->y.ndims - 1; d >= 0; d--) {
			at[d] = (int)(rest % conv->y.dim[d]);
			rest /= conv->y.dim[d];
		}
		for (int c = 0; c < c_per_group; c++) {
			for (int64_t tap = 0; tap < w_plane; tap++) {
				size_t x = (size_t)(at[0] * conv->x.stride[0]);
				size_t w = (size_t)(at[1] * conv->w.stride[0] + c * conv->w.stride[1]);
				bool inside = true;

				x += (size_t)((at[1] / k_per_group * c_per_group + c) * conv->x.stride[1]);
				rest = tap;
				for (int d = s->nspatial - 1; d >= 0; d--) {
					int f = (int)(rest % s->filter[d]);
					int p = at[d + 2] * s->stride[d] - s->pad[d] + f * s->dilation[d];

					rest /= s->filter[d];
					if (s->mode == CUDNN_CONVOLUTION)
						f = s->filter[d] - 1 - f;
					inside = inside && p >= 0 && p < s->size[d];
					x += (size_t)(p * conv->x.stride[d + 2]);
					w += (size_t)(f * conv->w.stride[d + 2]);
				}
				if (inside)
					visit(x, w, offset_in(&conv->y, &conv->y, i), context);
			}
		}
	}
}

struct sums {
	const struct conv *conv;
	enum kind kind;
	double *sum;
};

static void add_product(size_t x, size_t w, size_t y, void *context)
{
	const struct sums *sums = context;

	if (sums->kind == FORWARD)
		sums->sum[y] += sums->conv->x.value[x] * sums->conv->w.value[w];
	else if (sums->kind == DATA)
		sums->sum[x] += sums->conv->w.value[w] * sums->conv->y.value[y];
	else
		sums->sum[w] += sums->conv->x.value[x] * sums->conv->y.value[y];
}

static struct tensor *written_by(struct conv *conv, enum kind kind)
{
	return kind == FORWARD ? &conv->y : kind == DATA ? &conv->x : &conv->w;
}

/* Replaces the host's values of what the kind writes by what should be there after the call. */
static void expect_conv(struct conv *conv, enum kind kind, double alpha, double beta)
{
	struct tensor *out = written_by(conv, kind);
	struct sums sums = {conv, kind, calloc(out->span, sizeof(double))};

	if (sums.sum == NULL)
		abort();
	for_each_product(conv, add_product, &sums);
	for (int64_t i = 0; i < count_of(out); i++) {
		size_t at = offset_in(out, out, i);

		out->value[at] = alpha * sums.sum[at] + beta * out->value[at];
	}
	free(sums.sum);
}

/* The call, with descriptors that are gone before the work runs. algo -1: the first one. */
static void call_conv(struct conv *conv, enum kind kind, int algo, float alpha, float beta)
{
	cudnnTensorDescriptor_t x = describe(&conv->x);
	cudnnTensorDescriptor_t y = describe(&conv->y);
	cudnnFilterDescriptor_t w = describe_filter(conv);
	cudnnConvolutionDescriptor_t descriptor = describe_conv(conv->spec);
	size_t bytes = 0;
	void *workspace = NULL;

	algo = algo < 0 ? 0 : algo;
	if (kind == FORWARD)
		OK(cudnnGetConvolutionForwardWorkspaceSize(
			handle, x, w, descriptor, y, (cudnnConvolutionFwdAlgo_t)algo, &bytes));
	else if (kind == DATA)
		OK(cudnnGetConvolutionBackwardDataWorkspaceSize(
			handle, w, y, descriptor, x, (cudnnConvolutionBwdDataAlgo_t)algo, &bytes));
	else
		OK(cudnnGetConvolutionBackwardFilterWorkspaceSize(
			handle, x, y, descriptor, w, (cudnnConvolutionBwdFilterAlgo_t)algo, &bytes));
	if (bytes > 0)
		CUDA(cudaMalloc(&workspace, bytes));
	close_gate();
	if (kind == FORWARD)
		OK(cudnnConvolutionForward(handle, &alpha, x, conv->x.device, w, conv->w.device, descriptor,
			(cudnnConvolutionFwdAlgo_t)algo, workspace, bytes, &beta, y, conv->y.device));
	else if (kind == DATA)
		OK(cudnnConvolutionBackwardData(handle, &alpha, w, conv->w.device, y, conv->y.device,
			descriptor, (cudnnConvolutionBwdDataAlgo_t)algo, workspace, bytes, &beta, x,
			conv->x.device));
	else
		OK(cudnnConvolutionBackwardFilter(handle, &alpha, x, conv->x.device, y, conv->y.device,
			descriptor, (cudnnConvolutionBwdFilterAlgo_t)algo, workspace, bytes, &beta, w,
			conv->w.device));
	alpha = beta = NAN;
	spoil(x);
	spoil(y);
	OK(cudnnDestroyFilterDescriptor(w));
	OK(cudnnSetConvolution2dDescriptor(descriptor, 0, 0, 1, 1, 1, 1, CROSS, CUDNN_DATA_FLOAT));
	OK(cudnnDestroyConvolutionDescriptor(descriptor));
	open_gate();
	if (workspace != NULL)
		CUDA(cudaFree(workspace));
}

static void test_conv_case(const struct conv_case *spec)
{
	static const enum kind kinds[] = {FORWARD, DATA, FILTER};

	for (size_t i = 0; i < 3; i++) {
		struct conv conv = make_conv(spec);
		struct tensor *out = written_by(&conv, kinds[i]);

		case_name = spec->name;
		/* What is there must not matter when beta is 0. */
		for (int64_t k = 0; spec->beta == 0 && k < count_of(out); k++)
			*element(out, k) = NAN;
		upload(out);
		for (int64_t k = 0; spec->beta == 0 && k < count_of(out); k++)
			*element(out, k) = 0;
		call_conv(&conv, kinds[i], -1, (float)spec->alpha, (float)spec->beta);
		expect_conv(&conv, kinds[i], spec->alpha, spec->beta);
		COMPARE(out, 2e-5);
		drop_conv(&conv);
	}
}

/* All algorithms that are accepted give the same bits; those that are not answer NOT_SUPPORTED. */
static void test_algorithms(void)
{
	static const int counts[] = {8, 6, 7};

	case_name = "algorithms";
	for (int kind = FORWARD; kind <= FILTER; kind++) {
		struct conv conv = make_conv(&conv_cases[1]);
		struct tensor *out = written_by(&conv, (enum kind)kind);
		double *first = NULL;
		int accepted = 0;

		for (int algo = 0; algo < counts[kind]; algo++) {
			cudnnTensorDescriptor_t x = describe(&conv.x), y = describe(&conv.y);
			cudnnFilterDescriptor_t w = describe_filter(&conv);
			cudnnConvolutionDescriptor_t descriptor = describe_conv(conv.spec);
			size_t bytes = 0;
			cudnnStatus_t status;
			double *got;

			if (kind == FORWARD)
				status = cudnnGetConvolutionForwardWorkspaceSize(
					handle, x, w, descriptor, y, (cudnnConvolutionFwdAlgo_t)algo, &bytes);
			else if (kind == DATA)
				status = cudnnGetConvolutionBackwardDataWorkspaceSize(handle, w, y,
					descriptor, x, (cudnnConvolutionBwdDataAlgo_t)algo, &bytes);
			else
				status = cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, x, y,
					descriptor, w, (cudnnConvolutionBwdFilterAlgo_t)algo, &bytes);
			spoil(x);
			spoil(y);
			OK(cudnnDestroyFilterDescriptor(w));
			OK(cudnnDestroyConvolutionDescriptor(descriptor));
			if (status != CUDNN_STATUS_SUCCESS) {
				EXPECT(status == CUDNN_STATUS_NOT_SUPPORTED);
				continue;
			}
			accepted++;
			call_conv(&conv, (enum kind)kind, algo, 1, 0);
			got = download(out);
			if (first == NULL)
				first = got;
			else
				EXPECT(memcmp(first, got, out->span * sizeof(*got)) == 0);
			if (got != first)
				free(got);
		}
		EXPECT(accepted >= 4);
		free(first);
		drop_conv(&conv);
	}
}

static void run_forward(void *context)
{
	call_conv(context, FORWARD, -1, 1, 0);
}

/* Gradients by differences; the map is linear, so the step can be large and the comparison tight. */
static void test_differences(const struct conv_case *spec)
{
	struct conv conv = make_conv(spec);
	struct tensor dy = make_tensor(CUDNN_DATA_FLOAT, spec->y_layout, conv.y.ndims, conv.y.dim);
	struct tensor dx = make_tensor(CUDNN_DATA_FLOAT, spec->x_layout, conv.x.ndims, conv.x.dim);
	struct tensor dw = make_tensor(
		CUDNN_DATA_FLOAT, spec->w_format == NHWC ? CHANNELS_LAST : PACKED, conv.w.ndims, conv.w.dim);
	struct conv data = {spec, dx, conv.w, dy, {0}};
	struct conv filter = {spec, conv.x, dw, dy, {0}};

	case_name = spec->name;
	call_conv(&data, DATA, -1, 1, 0);
	call_conv(&filter, FILTER, -1, 1, 0);
	check_differences(__FILE__, __LINE__, &conv.x, &conv.y, &dy, &dx, run_forward, &conv, 1, 1e-4);
	check_differences(__FILE__, __LINE__, &conv.w, &conv.y, &dy, &dw, run_forward, &conv, 1, 1e-4);
	drop_tensor(&dy);
	drop_tensor(&dx);
	drop_tensor(&dw);
	drop_conv(&conv);
}

static void test_bias_gradient(enum layout layout)
{
	struct tensor dy = make_4d(CUDNN_DATA_FLOAT, layout, 3, 5, 4, 6);
	struct tensor db = make_4d(CUDNN_DATA_FLOAT, PACKED, 1, 5, 1, 1);
	cudnnTensorDescriptor_t dy_desc = describe(&dy);
	cudnnTensorDescriptor_t db_desc = describe(&db);
	float alpha = 0.5f, beta = 2;
	double sum[5] = {0};

	case_name = "bias gradient";
	close_gate();
	OK(cudnnConvolutionBackwardBias(handle, &alpha, dy_desc, dy.device, &beta, db_desc, db.device));
	spoil(dy_desc);
	spoil(db_desc);
	open_gate();
	for (int64_t i = 0; i < count_of(&dy); i++)
		sum[i / 24 % 5] += *element(&dy, i);
	for (int c = 0; c < 5; c++)
		db.value[c] = 0.5 * sum[c] + 2 * db.value[c];
	COMPARE(&db, 1e-5);
	drop_tensor(&dy);
	drop_tensor(&db);
}

static void test_fused(const struct conv_case *spec, cudnnActivationMode_t mode, bool adds)
{
	struct conv conv = make_conv(spec);
	struct tensor z = make_tensor(CUDNN_DATA_FLOAT, spec->y_layout, conv.y.ndims, conv.y.dim);
	struct tensor bias =
		make_tensor(CUDNN_DATA_FLOAT, PACKED, conv.y.ndims, (const int[]){1, spec->k, 1, 1, 1});
	cudnnTensorDescriptor_t x = describe(&conv.x), y = describe(&conv.y), z_desc = describe(&z);
	cudnnTensorDescriptor_t bias_desc = describe(&bias);
	cudnnFilterDescriptor_t w = describe_filter(&conv);
	cudnnConvolutionDescriptor_t descriptor = describe_conv(spec);
	cudnnActivationDescriptor_t activation = NULL;
	const cudnnConvolutionFwdAlgo_t algo = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
	float alpha1 = 1.5f, alpha2 = adds ? 0.5f : 0;
	size_t bytes = 0;
	void *workspace = NULL;

	case_name = "convolution, bias, activation";
	OK(cudnnCreateActivationDescriptor(&activation));
	OK(cudnnSetActivationDescriptor(activation, mode, CUDNN_NOT_PROPAGATE_NAN, 0));
	OK(cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, descriptor, y, algo, &bytes));
	CUDA(cudaMalloc(&workspace, bytes));
	close_gate();
	OK(cudnnConvolutionBiasActivationForward(handle, &alpha1, x, conv.x.device, w, conv.w.device,
		descriptor, algo, workspace, bytes, &alpha2, z_desc, z.device, bias_desc, bias.device,
		activation, y, conv.y.device));
	spoil(x);
	spoil(y);
	spoil(z_desc);
	spoil(bias_desc);
	OK(cudnnDestroyFilterDescriptor(w));
	OK(cudnnDestroyConvolutionDescriptor(descriptor));
	OK(cudnnDestroyActivationDescriptor(activation));
	open_gate();
	expect_conv(&conv, FORWARD, 1.5, 0);
	for (int64_t i = 0; i < count_of(&conv.y); i++) {
		double *value = element(&conv.y, i);

		*value += (adds ? 0.5 : 0) * *element(&z, i) + bias.value[offset_in(&bias, &conv.y, i)];
		if (mode == CUDNN_ACTIVATION_RELU && *value < 0)
			*value = 0;
	}
	COMPARE(&conv.y, 2e-5);
	CUDA(cudaFree(workspace));
	drop_tensor(&z);
	drop_tensor(&bias);
	drop_conv(&conv);
}

static void test_search(void)
{
	struct conv conv = make_conv(&conv_cases[0]);
	cudnnTensorDescriptor_t x = describe(&conv.x), y = describe(&conv.y);
	cudnnFilterDescriptor_t w = describe_filter(&conv);
	cudnnConvolutionDescriptor_t descriptor = describe_conv(conv.spec);
	cudnnConvolutionFwdAlgoPerf_t found[16];
	cudnnConvolutionBwdDataAlgoPerf_t found_data[16];
	cudnnConvolutionBwdFilterAlgoPerf_t found_filter[16];
	int count = 0, max = 0;

	case_name = "algorithm search";
	OK(cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &max));
	EXPECT(max >= 8);
	OK(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, descriptor, y, 16, &count, found));
	EXPECT(count == max && found[0].status == CUDNN_STATUS_SUCCESS);
	OK(cudnnFindConvolutionForwardAlgorithm(handle, x, w, descriptor, y, 3, &count, found));
	EXPECT(count == 3 && found[0].time > 0 && found[0].time <= found[1].time &&
		found[1].time <= found[2].time);
	EXPECT(found[0].determinism == CUDNN_DETERMINISTIC);
	OK(cudnnFindConvolutionForwardAlgorithmEx(handle, x, conv.x.device, w, conv.w.device, descriptor, y,
		conv.y.device, 16, &count, found, NULL, 0));
	EXPECT(count == max && found[0].status == CUDNN_STATUS_SUCCESS && found[0].memory == 0);
	EXPECT(found[1].status != CUDNN_STATUS_SUCCESS);
	expect_conv(&conv, FORWARD, 1, 0);
	COMPARE(&conv.y, 2e-5);
	OK(cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, w, y, descriptor, x, 1, &count, found_data));
	EXPECT(count == 1 && found_data[0].status == CUDNN_STATUS_SUCCESS);
	OK(cudnnFindConvolutionBackwardDataAlgorithm(handle, w, y, descriptor, x, 2, &count, found_data));
	EXPECT(count == 2 && found_data[0].time > 0);
	OK(cudnnGetConvolutionBackwardFilterAlgorithm_v7(
		handle, x, y, descriptor, w, 1, &count, found_filter));
	EXPECT(count == 1 && found_filter[0].status == CUDNN_STATUS_SUCCESS);
	OK(cudnnFindConvolutionBackwardFilterAlgorithm(handle, x, y, descriptor, w, 2, &count, found_filter));
	EXPECT(count == 2 && found_filter[0].time > 0);
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, descriptor, y, 0, &count, found));
	spoil(x);
	spoil(y);
	OK(cudnnDestroyFilterDescriptor(w));
	OK(cudnnDestroyConvolutionDescriptor(descriptor));
	drop_conv(&conv);
}

static void test_errors(void)
{
	int major = 0, minor = 0, patch = 0;
	struct conv conv = make_conv(&conv_cases[1]);
	cudnnTensorDescriptor_t x = describe(&conv.x), y = describe(&conv.y);
	cudnnFilterDescriptor_t w = describe_filter(&conv);
	cudnnConvolutionDescriptor_t descriptor = describe_conv(conv.spec);
	const cudnnConvolutionFwdAlgo_t plain = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM;
	const cudnnConvolutionFwdAlgo_t precomputed = CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM;
	const float one = 1, zero = 0;
	int n, c, h, width;
	size_t bytes = 0;

	case_name = "errors";
#define FORWARD_STATUS(status, ...) EXPECT_STATUS(status, cudnnConvolutionForward(__VA_ARGS__))
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, NULL, &one, x, conv.x.device, w, conv.w.device, descriptor,
		plain, NULL, 0, &zero, y, conv.y.device);
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, NULL, x, conv.x.device, w, conv.w.device, descriptor,
		plain, NULL, 0, &zero, y, conv.y.device);
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, &one, x, NULL, w, conv.w.device, descriptor, plain,
		NULL, 0, &zero, y, conv.y.device);
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, &one, x, conv.x.device, w, conv.w.device, NULL, plain,
		NULL, 0, &zero, y, conv.y.device);
	FORWARD_STATUS(CUDNN_STATUS_NOT_SUPPORTED, handle, &one, x, conv.x.device, w, conv.w.device,
		descriptor, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, NULL, 0, &zero, y, conv.y.device);
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, &one, x, conv.x.device, w, conv.w.device, descriptor,
		(cudnnConvolutionFwdAlgo_t)77, NULL, 0, &zero, y, conv.y.device);
	OK(cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, descriptor, y, precomputed, &bytes));
	EXPECT(bytes > 0);
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, &one, x, conv.x.device, w, conv.w.device, descriptor,
		precomputed, conv.y.device, bytes - 1, &zero, y, conv.y.device);
	OK(cudnnGetConvolution2dForwardOutputDim(descriptor, x, w, &n, &c, &h, &width));
	EXPECT(n == 4 && c == 16 && h == 10 && width == 10);
	OK(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 4, 16, 10, 11));
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, &one, x, conv.x.device, w, conv.w.device, descriptor,
		plain, NULL, 0, &zero, y, conv.y.device);
	OK(cudnnSetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE, 4, 16, 10, 10));
	FORWARD_STATUS(CUDNN_STATUS_BAD_PARAM, handle, &one, x, conv.x.device, w, conv.w.device, descriptor,
		plain, NULL, 0, &zero, y, conv.y.device);
	OK(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 16, 5, 5, 5));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnGetConvolution2dForwardOutputDim(descriptor, x, w, &n, &c, &h, &width));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnSetConvolution2dDescriptor(descriptor, -1, 0, 1, 1, 1, 1, CROSS, CUDNN_DATA_FLOAT));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnSetConvolution2dDescriptor(descriptor, 0, 0, 0, 1, 1, 1, CROSS, CUDNN_DATA_FLOAT));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnSetConvolutionGroupCount(descriptor, 0));
	/* Six channels in three groups, but sixteen filters. */
	OK(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 16, 2, 5, 5));
	OK(cudnnSetConvolutionGroupCount(descriptor, 3));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnGetConvolution2dForwardOutputDim(descriptor, x, w, &n, &c, &h, &width));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM,
		cudnnSetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 1, 0, 1, 1));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnCreate(NULL));
	EXPECT_STATUS(CUDNN_STATUS_BAD_PARAM, cudnnSetStream(NULL, stream));
	/* one version, by whichever way it is asked for */
	EXPECT(cudnnGetProperty(MAJOR_VERSION, &major) == CUDNN_STATUS_SUCCESS && major == 9);
	EXPECT(cudnnGetProperty(MINOR_VERSION, &minor) == CUDNN_STATUS_SUCCESS);
	EXPECT(cudnnGetProperty(PATCH_LEVEL, &patch) == CUDNN_STATUS_SUCCESS);
	EXPECT(cudnnGetProperty(MAJOR_VERSION, NULL) == CUDNN_STATUS_BAD_PARAM);
	EXPECT(cudnnGetVersion() == (size_t)(major * 10000 + minor * 100 + patch));
	EXPECT(strcmp(cudnnGetErrorString(CUDNN_STATUS_BAD_PARAM), "CUDNN_STATUS_BAD_PARAM") == 0);
	spoil(x);
	spoil(y);
	OK(cudnnDestroyFilterDescriptor(w));
	OK(cudnnDestroyConvolutionDescriptor(descriptor));
	drop_conv(&conv);
}

static void test_descriptors(void)
{
	cudnnTensorDescriptor_t tensor = NULL;
	cudnnFilterDescriptor_t filter = NULL;
	cudnnDataType_t type;
	cudnnTensorFormat_t format;
	int v[8], dim[8], stride[8], ndims = 0;
	size_t bytes = 0;

	case_name = "descriptors";
	OK(cudnnCreateTensorDescriptor(&tensor));
	OK(cudnnSetTensor4dDescriptor(tensor, NHWC, CUDNN_DATA_FLOAT, 2, 3, 4, 5));
	OK(cudnnGetTensor4dDescriptor(tensor, &type, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]));
	EXPECT(type == CUDNN_DATA_FLOAT && v[0] == 2 && v[1] == 3 && v[2] == 4 && v[3] == 5);
	EXPECT(v[4] == 60 && v[5] == 1 && v[6] == 15 && v[7] == 3);
	OK(cudnnSetTensor4dDescriptorEx(tensor, CUDNN_DATA_DOUBLE, 2, 3, 4, 5, 100, 30, 7, 1));
	OK(cudnnGetTensorSizeInBytes(tensor, &bytes));
	EXPECT(bytes == (100 + 60 + 21 + 4 + 1) * sizeof(double));
	OK(cudnnSetTensorNdDescriptorEx(tensor, NCHW, CUDNN_DATA_FLOAT, 5, (const int[]){2, 3, 4, 5, 6}));
	OK(cudnnGetTensorNdDescriptor(tensor, 8, &type, &ndims, dim, stride));
	EXPECT(ndims == 5 && dim[4] == 6 && stride[0] == 360 && stride[4] == 1);
	EXPECT_STATUS(CUDNN_STATUS_NOT_SUPPORTED,
		cudnnSetTensorNdDescriptorEx(tensor, NCHW, CUDNN_DATA_FLOAT, 9, dim));
	OK(cudnnDestroyTensorDescriptor(tensor));
	OK(cudnnCreateFilterDescriptor(&filter));
	OK(cudnnSetFilter4dDescriptor(filter, CUDNN_DATA_FLOAT, NHWC, 8, 3, 5, 7));
	OK(cudnnGetFilter4dDescriptor(filter, &type, &format, &v[0], &v[1], &v[2], &v[3]));
	EXPECT(format == NHWC && v[0] == 8 && v[1] == 3 && v[2] == 5 && v[3] == 7);
	OK(cudnnGetFilterSizeInBytes(filter, &bytes));
	EXPECT(bytes == 8 * 3 * 5 * 7 * sizeof(float));
	OK(cudnnDestroyFilterDescriptor(filter));
}

/* Two threads with handles and streams of their own run one plan at the same time, each into its own y. */
static void *run_in_thread(void *own_conv)
{
	const struct conv *conv = own_conv;
	cudnnHandle_t own = NULL;
	cudaStream_t own_stream = NULL;
	cudnnTensorDescriptor_t x = describe(&conv->x), y = describe(&conv->y);
	cudnnFilterDescriptor_t w = describe_filter(conv);
	cudnnConvolutionDescriptor_t descriptor = describe_conv(conv->spec);
	const float one = 1, zero = 0;

	CUDA(cudaStreamCreate(&own_stream));
	OK(cudnnCreate(&own));
	OK(cudnnSetStream(own, own_stream));
	for (int i = 0; i < 20; i++)
		OK(cudnnConvolutionForward(own, &one, x, conv->x.device, w, conv->w.device, descriptor,
			CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, NULL, 0, &zero, y, conv->y.device));
	CUDA(cudaStreamSynchronize(own_stream));
	COMPARE(&conv->y, 2e-5);
	OK(cudnnDestroy(own));
	CUDA(cudaStreamDestroy(own_stream));
	spoil(x);
	spoil(y);
	OK(cudnnDestroyFilterDescriptor(w));
	OK(cudnnDestroyConvolutionDescriptor(descriptor));
	return NULL;
}

static void test_threads(void)
{
	struct conv conv[2];
	pthread_t thread[2];

	case_name = "two threads";
	for (int i = 0; i < 2; i++) {
		conv[i] = make_conv(&conv_cases[0]);
		expect_conv(&conv[i], FORWARD, 1, 0);
	}
	for (int i = 0; i < 2; i++)
		EXPECT(pthread_create(&thread[i], NULL, run_in_thread, &conv[i]) == 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(thread[i], NULL);
		drop_conv(&conv[i]);
	}
}

int main(void)
{
	begin_tests();
	test_descriptors();
	for (size_t i = 0; i < sizeof(conv_cases) / sizeof(conv_cases[0]); i++) {
		test_conv_case(&conv_cases[i]);
		if (i % 3 == 1)
			test_differences(&conv_cases[i]);
	}
	test_algorithms();
	test_bias_gradient(PACKED);
	test_bias_gradient(CHANNELS_LAST);
	test_fused(&conv_cases[1], CUDNN_ACTIVATION_RELU, true);
	test_fused(&conv_cases[1], CUDNN_ACTIVATION_IDENTITY, false);
	test_fused(&conv_cases[12], CUDNN_ACTIVATION_RELU, false);
	test_fused(&conv_cases[20], CUDNN_ACTIVATION_RELU, true);
	test_search();
	test_errors();
	test_threads();
	return end_tests();
}
