/*
 * Choosing a convolution algorithm: those that accept a case, with the time that each takes.
 *
 * The one idea: the three kinds of convolution have enumerations and result structs of their own but the same
 * logic, so the logic works on a list of numbers, which is copied into structs that are alike. Durations are
 * measured, or computed by the model clock.
 */
#include "convolution.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHMS_MAX 8

struct found {
	int number;
	cudnnStatus_t status;
	float ms; /* -1 when not measured */
	size_t workspace_bytes;
};

/* One case an algorithm is sought for. The tensors are NULL where nothing is to be run. */
struct search {
	enum sg_convolution_kind kind;
	cudnnConvolutionDescriptor_t conv;
	cudnnTensorDescriptor_t x;
	cudnnFilterDescriptor_t w;
	cudnnTensorDescriptor_t y;
	void *tensor[SG_CONVOLUTION_TENSORS];
	size_t workspace_bytes;
	struct sg_convolution_plan *plan;
};

/* Lists all algorithms of the kind, those that accept the case first; returns their number. */
static int list_algorithms(const struct search *search, struct found *found)
{
	int count = 0, number;

	for (int accepted = 1; accepted >= 0; accepted--) {
		for (int place = 0; (number = sg_convolution_algorithm_at(search->kind, place)) >= 0;
			place++) {
			struct found entry = {.number = number, .ms = -1};

			entry.workspace_bytes =
				sg_convolution_workspace_bytes(search->kind, number, search->plan);
			entry.status = sg_convolution_algorithm_status(
				search->kind, number, search->conv, &search->x->shape, &search->w->shape);
			if (entry.status != CUDNN_STATUS_SUCCESS) {
				entry.workspace_bytes = 0;
			} else if (entry.workspace_bytes > search->workspace_bytes) {
				entry.status = CUDNN_STATUS_ALLOC_FAILED;
			}
			if ((entry.status == CUDNN_STATUS_SUCCESS) == (accepted == 1))
				found[count++] = entry;
		}
	}
	return count;
}

static cudnnStatus_t check_search(
	cudnnHandle_t handle, struct search *search, int requested, const int *returned, const void *results)
{
	if (handle == NULL || requested < 1 || returned == NULL || results == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	return sg_convolution_prepare(
		search->kind, search->conv, search->x, search->w, search->y, &search->plan);
}

struct timed_job {
	struct sg_convolution_job job;
	uint64_t *duration_ns;
};

static void run_timed_job(void *arg)
{
	const struct timed_job *timed = arg;
	uint64_t begin_ns = sg_now_ns();

	sg_convolution_run(&timed->job);
	*timed->duration_ns = sg_now_ns() - begin_ns;
}

static int by_duration(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Runs each accepted algorithm on the stream and waits. The list stays in its order of preference and the
 * durations are sorted into it, so that the choice does not change from run to run.
 */
static cudnnStatus_t measure(
	cudnnHandle_t handle, const struct search *search, struct found *found, int count)
{
	uint64_t duration_ns[ALGORITHMS_MAX + 1] = {0};
	struct timed_job timed = {.job = {.plan = search->plan, .alpha = 1, .beta = 0}};
	const struct sg_cost cost = sg_convolution_cost(search->conv, search->plan, false);
	int runs = 0;
	cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

	memcpy(timed.job.tensor, search->tensor, sizeof(timed.job.tensor));
	timed.job.device = sg_stream_device(handle->stream);
	while (runs < count && found[runs].status == CUDNN_STATUS_SUCCESS)
		runs++;
	/* One run more, the first, whose duration is compiling and cold caches. */
	for (int i = 0; i <= runs && status == CUDNN_STATUS_SUCCESS; i++) {
		timed.duration_ns = &duration_ns[i];
		status = sg_cudnn_submit(handle, &cost, run_timed_job, &timed, sizeof(timed));
	}
	if (cudaStreamSynchronize(handle->stream) != cudaSuccess)
		status = CUDNN_STATUS_EXECUTION_FAILED;
	qsort(&duration_ns[1], (size_t)runs, sizeof(duration_ns[0]), by_duration);
	for (int i = 0; i < runs; i++)
		found[i].ms = (float)duration_ns[i + 1] * 1e-6f;
	return status;
}

/* Find without Ex: tensors of our own, holding zeros. */
static cudnnStatus_t measure_on_own_tensors(
	cudnnHandle_t handle, struct search *search, struct found *found, int count)
{
	cudnnStatus_t status = CUDNN_STATUS_ALLOC_FAILED;
	size_t bytes[SG_CONVOLUTION_TENSORS] = {0};
	const struct sg_shape *shape[] = {&search->x->shape, &search->w->shape, &search->y->shape};

	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++) {
		for (int d = 0; d < shape[t]->ndims; d++)
			bytes[t] += (size_t)((shape[t]->dim[d] - 1) * shape[t]->stride[d]) * sizeof(float);
		search->tensor[t] = calloc(1, bytes[t] + sizeof(float));
	}
	if (search->tensor[0] != NULL && search->tensor[1] != NULL && search->tensor[2] != NULL)
		status = measure(handle, search, found, count);
	for (int t = 0; t < SG_CONVOLUTION_TENSORS; t++)
		free(search->tensor[t]);
	return status;
}

/* Under the model clock: what the device would take, of which nothing is run. */
static void look_up_durations(
	cudnnHandle_t handle, const struct search *search, struct found *found, int count)
{
	const struct sg_cost cost = sg_convolution_cost(search->conv, search->plan, false);
	float ms = (float)sg_cost_ns(sg_stream_device(handle->stream), &cost) * 1e-6f;

	for (int i = 0; i < count && found[i].status == CUDNN_STATUS_SUCCESS; i++)
		found[i].ms = ms;
}

enum effort { GUESS, RUN_ON_OWN, RUN_ON_GIVEN };

/* The three result structs differ in the type of `algo` alone, an enumeration. */
typedef cudnnConvolutionFwdAlgoPerf_t perf;
static_assert(sizeof(cudnnConvolutionBwdDataAlgoPerf_t) == sizeof(perf) &&
		      sizeof(cudnnConvolutionBwdFilterAlgoPerf_t) == sizeof(perf),
	"one struct for the three kinds");

static void copy_found(void *results, const struct found *found, int count)
{
	for (int i = 0; i < count; i++) {
		const perf result = {.algo = (cudnnConvolutionFwdAlgo_t)found[i].number,
			.status = found[i].status,
			.time = found[i].ms,
			.memory = found[i].workspace_bytes,
			.determinism = CUDNN_DETERMINISTIC,
			.mathType = CUDNN_DEFAULT_MATH};

		memcpy((perf *)results + i, &result, sizeof(result));
	}
}

/* results: of the kind's struct, `requested` of them. */
static cudnnStatus_t search_algorithms(cudnnHandle_t handle, struct search *search, enum effort effort,
	int requested, int *returned, void *results)
{
	struct found found[ALGORITHMS_MAX];
	cudnnStatus_t status = check_search(handle, search, requested, returned, results);
	int count;

	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	count = list_algorithms(search, found);
	if (effort == RUN_ON_GIVEN &&
		(search->tensor[0] == NULL || search->tensor[1] == NULL || search->tensor[2] == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	if (effort != GUESS && sg_capturing(handle->stream))
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (sg_modelled()) {
		look_up_durations(handle, search, found, count);
	} else if (effort == RUN_ON_GIVEN) {
		status = measure(handle, search, found, count);
	} else if (effort == RUN_ON_OWN) {
		status = measure_on_own_tensors(handle, search, found, count);
	}
	if (status == CUDNN_STATUS_SUCCESS) {
		*returned = requested < count ? requested : count;
		copy_found(results, found, *returned);
	}
	return status;
}

static cudnnStatus_t workspace_size(cudnnHandle_t handle, struct search *search, int algorithm, size_t *bytes)
{
	cudnnStatus_t status;

	if (handle == NULL || bytes == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = sg_convolution_prepare(
		search->kind, search->conv, search->x, search->w, search->y, &search->plan);
	if (status == CUDNN_STATUS_SUCCESS)
		status = sg_convolution_algorithm_status(
			search->kind, algorithm, search->conv, &search->x->shape, &search->w->shape);
	if (status == CUDNN_STATUS_SUCCESS)
		*bytes = sg_convolution_workspace_bytes(search->kind, algorithm, search->plan);
	return status;
}

static cudnnStatus_t max_count(cudnnHandle_t handle, enum sg_convolution_kind kind, int *count)
{
	if (handle == NULL || count == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*count = 0;
	while (sg_convolution_algorithm_at(kind, *count) >= 0)
		++*count;
	return CUDNN_STATUS_SUCCESS;
}

#define MAX_COUNT(name, kind) \
	cudnnStatus_t name(cudnnHandle_t handle, int *count) \
	{ \
		SG_ENTER(); \
		return max_count(handle, kind, count); \
	}
MAX_COUNT(cudnnGetConvolutionForwardAlgorithmMaxCount, SG_CONVOLUTION_FORWARD)
MAX_COUNT(cudnnGetConvolutionBackwardDataAlgorithmMaxCount, SG_CONVOLUTION_BACKWARD_DATA)
MAX_COUNT(cudnnGetConvolutionBackwardFilterAlgorithmMaxCount, SG_CONVOLUTION_BACKWARD_FILTER)

cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t xDesc, const cudnnFilterDescriptor_t wDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc,
	cudnnConvolutionFwdAlgo_t algo, size_t *sizeInBytes)
{
	struct search search = {
		SG_CONVOLUTION_FORWARD, convDesc, xDesc, wDesc, yDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return workspace_size(handle, &search, (int)algo, sizeInBytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(cudnnHandle_t handle,
	const cudnnFilterDescriptor_t wDesc, const cudnnTensorDescriptor_t dyDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc,
	cudnnConvolutionBwdDataAlgo_t algo, size_t *sizeInBytes)
{
	struct search search = {
		SG_CONVOLUTION_BACKWARD_DATA, convDesc, dxDesc, wDesc, dyDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return workspace_size(handle, &search, (int)algo, sizeInBytes);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t dyDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t gradDesc,
	cudnnConvolutionBwdFilterAlgo_t algo, size_t *sizeInBytes)
{
	struct search search = {
		SG_CONVOLUTION_BACKWARD_FILTER, convDesc, xDesc, gradDesc, dyDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return workspace_size(handle, &search, (int)algo, sizeInBytes);
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t srcDesc, const cudnnFilterDescriptor_t filterDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t destDesc,
	const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionFwdAlgoPerf_t *perfResults)
{
	struct search search = {
		SG_CONVOLUTION_FORWARD, convDesc, srcDesc, filterDesc, destDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return search_algorithms(handle, &search, GUESS, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithm(cudnnHandle_t handle, const cudnnTensorDescriptor_t xDesc,
	const cudnnFilterDescriptor_t wDesc, const cudnnConvolutionDescriptor_t convDesc,
	const cudnnTensorDescriptor_t yDesc, const int requestedAlgoCount, int *returnedAlgoCount,
	cudnnConvolutionFwdAlgoPerf_t *perfResults)
{
	struct search search = {
		SG_CONVOLUTION_FORWARD, convDesc, xDesc, wDesc, yDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return search_algorithms(
		handle, &search, RUN_ON_OWN, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionForwardAlgorithmEx(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnFilterDescriptor_t wDesc,
	const void *w, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t yDesc,
	void *y, const int requestedAlgoCount, int *returnedAlgoCount,
	cudnnConvolutionFwdAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)
{
	struct search search = {SG_CONVOLUTION_FORWARD, convDesc, xDesc, wDesc, yDesc,
		{sg_unconst(x), sg_unconst(w), y}, workSpace == NULL ? 0 : workSpaceSizeInBytes, NULL};

	SG_ENTER();
	return search_algorithms(
		handle, &search, RUN_ON_GIVEN, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(cudnnHandle_t handle,
	const cudnnFilterDescriptor_t filterDesc, const cudnnTensorDescriptor_t diffDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t gradDesc,
	const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t *perfResults)
{
	struct search search = {SG_CONVOLUTION_BACKWARD_DATA, convDesc, gradDesc, filterDesc, diffDesc,
		{NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return search_algorithms(handle, &search, GUESS, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithm(cudnnHandle_t handle,
	const cudnnFilterDescriptor_t wDesc, const cudnnTensorDescriptor_t dyDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc,
	const int requestedAlgoCount, int *returnedAlgoCount, cudnnConvolutionBwdDataAlgoPerf_t *perfResults)
{
	struct search search = {
		SG_CONVOLUTION_BACKWARD_DATA, convDesc, dxDesc, wDesc, dyDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return search_algorithms(
		handle, &search, RUN_ON_OWN, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionBackwardDataAlgorithmEx(cudnnHandle_t handle,
	const cudnnFilterDescriptor_t wDesc, const void *w, const cudnnTensorDescriptor_t dyDesc,
	const void *dy, const cudnnConvolutionDescriptor_t convDesc, const cudnnTensorDescriptor_t dxDesc,
	void *dx, const int requestedAlgoCount, int *returnedAlgoCount,
	cudnnConvolutionBwdDataAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)
{
	struct search search = {SG_CONVOLUTION_BACKWARD_DATA, convDesc, dxDesc, wDesc, dyDesc,
		{dx, sg_unconst(w), sg_unconst(dy)}, workSpace == NULL ? 0 : workSpaceSizeInBytes, NULL};

	SG_ENTER();
	return search_algorithms(
		handle, &search, RUN_ON_GIVEN, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t srcDesc, const cudnnTensorDescriptor_t diffDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t gradDesc,
	const int requestedAlgoCount, int *returnedAlgoCount,
	cudnnConvolutionBwdFilterAlgoPerf_t *perfResults)
{
	struct search search = {SG_CONVOLUTION_BACKWARD_FILTER, convDesc, srcDesc, gradDesc, diffDesc, {NULL},
		SIZE_MAX, NULL};

	SG_ENTER();
	return search_algorithms(handle, &search, GUESS, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithm(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t xDesc, const cudnnTensorDescriptor_t dyDesc,
	const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t dwDesc,
	const int requestedAlgoCount, int *returnedAlgoCount,
	cudnnConvolutionBwdFilterAlgoPerf_t *perfResults)
{
	struct search search = {
		SG_CONVOLUTION_BACKWARD_FILTER, convDesc, xDesc, dwDesc, dyDesc, {NULL}, SIZE_MAX, NULL};

	SG_ENTER();
	return search_algorithms(
		handle, &search, RUN_ON_OWN, requestedAlgoCount, returnedAlgoCount, perfResults);
}

cudnnStatus_t cudnnFindConvolutionBackwardFilterAlgorithmEx(cudnnHandle_t handle,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t dyDesc,
	const void *y, const cudnnConvolutionDescriptor_t convDesc, const cudnnFilterDescriptor_t dwDesc,
	void *dw, const int requestedAlgoCount, int *returnedAlgoCount,
	cudnnConvolutionBwdFilterAlgoPerf_t *perfResults, void *workSpace, size_t workSpaceSizeInBytes)
{
	struct search search = {SG_CONVOLUTION_BACKWARD_FILTER, convDesc, xDesc, dwDesc, dyDesc,
		{sg_unconst(x), dw, sg_unconst(y)}, workSpace == NULL ? 0 : workSpaceSizeInBytes, NULL};

	SG_ENTER();
	return search_algorithms(
		handle, &search, RUN_ON_GIVEN, requestedAlgoCount, returnedAlgoCount, perfResults);
}
