/*
 * The convolution algorithms: which cases each accepts, and what workspace it needs, as the vendor's do.
 */
#include "convolution.h"

/* An algorithm, and which cases it may be used for. */
struct algorithm {
	int number;
	bool (*accepts)(const struct cudnnConvolutionStruct *conv, const struct sg_shape *x,
		const struct sg_shape *w);
	bool needs_workspace;
};

static bool accepts_all(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	(void)conv;
	(void)x;
	(void)w;
	return true;
}

static bool accepts_none(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	(void)conv;
	(void)x;
	(void)w;
	return false;
}

static bool is_dense(const struct cudnnConvolutionStruct *conv)
{
	for (int d = 0; d < conv->nspatial; d++) {
		if (conv->dilation[d] != 1)
			return false;
	}
	return true;
}

static bool has_unit_stride(const struct cudnnConvolutionStruct *conv)
{
	for (int d = 0; d < conv->nspatial; d++) {
		if (conv->stride[d] != 1)
			return false;
	}
	return true;
}

static bool accepts_gemm(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	(void)x;
	(void)w;
	return conv->nspatial == 2 && is_dense(conv);
}

static bool has_square_filter(const struct sg_shape *w, int size)
{
	return w->ndims == 4 && w->dim[2] == size && w->dim[3] == size;
}

static bool accepts_winograd(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	(void)x;
	return is_dense(conv) && has_unit_stride(conv) && has_square_filter(w, 3);
}

static bool accepts_winograd_nonfused(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	(void)x;
	return is_dense(conv) && has_unit_stride(conv) &&
	       (has_square_filter(w, 3) || has_square_filter(w, 5));
}

static bool accepts_fft_tiling(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	int filter_max = conv->nspatial == 2 ? 32 : 16;

	(void)x;
	for (int d = 0; d < conv->nspatial; d++) {
		if (w->dim[d + 2] > filter_max || w->dim[d + 2] <= conv->pad[d])
			return false;
	}
	return is_dense(conv) && has_unit_stride(conv);
}

static bool accepts_fft(
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	for (int d = 0; d < conv->nspatial; d++) {
		if (x->dim[d + 2] + 2 * conv->pad[d] > 256)
			return false;
	}
	return conv->nspatial == 2 && accepts_fft_tiling(conv, x, w);
}

/* The kinds' algorithms, best first. */
static const struct algorithm forward[] = {
	{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, accepts_all, true},
	{CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, accepts_all, false},
	{CUDNN_CONVOLUTION_FWD_ALGO_GEMM, accepts_gemm, true},
	{CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, accepts_winograd, true},
	{CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, accepts_winograd_nonfused, true},
	{CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, accepts_fft_tiling, true},
	{CUDNN_CONVOLUTION_FWD_ALGO_FFT, accepts_fft, true},
	{CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, accepts_none, false},
	{-1, NULL, false},
};

static const struct algorithm backward_data[] = {
	{CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, accepts_all, true},
	{CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, accepts_all, false},
	{CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, accepts_winograd, true},
	{CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, accepts_winograd_nonfused, true},
	{CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, accepts_fft_tiling, true},
	{CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, accepts_fft, true},
	{-1, NULL, false},
};

static const struct algorithm backward_filter[] = {
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, accepts_all, true},
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, accepts_all, false},
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, accepts_gemm, true},
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, accepts_winograd_nonfused, true},
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, accepts_fft_tiling, true},
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, accepts_fft, true},
	{CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, accepts_none, false},
	{-1, NULL, false},
};

static const struct algorithm *const algorithms[] = {
	[SG_CONVOLUTION_FORWARD] = forward,
	[SG_CONVOLUTION_BACKWARD_DATA] = backward_data,
	[SG_CONVOLUTION_BACKWARD_FILTER] = backward_filter,
};

static const struct algorithm *find_algorithm(enum sg_convolution_kind kind, int number)
{
	for (const struct algorithm *algorithm = algorithms[kind]; algorithm->accepts != NULL; algorithm++) {
		if (algorithm->number == number)
			return algorithm;
	}
	return NULL;
}

cudnnStatus_t sg_convolution_algorithm_status(enum sg_convolution_kind kind, int algorithm,
	const struct cudnnConvolutionStruct *conv, const struct sg_shape *x, const struct sg_shape *w)
{
	const struct algorithm *known = find_algorithm(kind, algorithm);

	if (known == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return known->accepts(conv, x, w) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

size_t sg_convolution_workspace_bytes(
	enum sg_convolution_kind kind, int algorithm, const struct sg_convolution_plan *plan)
{
	const struct algorithm *known = find_algorithm(kind, algorithm);

	/* The caller's memory need not begin at a multiple of 64. */
	return known != NULL && known->needs_workspace ? sg_convolution_plan_scratch_bytes(plan) + 64 : 0;
}

int sg_convolution_algorithm_at(enum sg_convolution_kind kind, int place)
{
	return algorithms[kind][place].number;
}
