/*
 * Recurrent networks: descriptors, sizes, where the weights are, and the three passes.
 *
 * The one idea: the descriptors take all that the vendor's do; the passes compute one direction, in float,
 * without projection, skipped input or, where values are computed, dropout between the layers, and answer
 * NOT_SUPPORTED to the rest.
 */
#include "rnn.h"

#include "cost.h"

#include <stdlib.h>
#include <string.h>

#include "core/half.h"

/* ---- networks ---- */

SG_CREATE(cudnnCreateRNNDescriptor, cudnnRNNDescriptor_t)

cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t rnnDesc)
{
	SG_ENTER();
	free(rnnDesc);
	return CUDNN_STATUS_SUCCESS;
}

static bool is_in(int value, int first, int last)
{
	return value >= first && value <= last;
}

cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t algo,
	cudnnRNNMode_t cellMode, cudnnRNNBiasMode_t biasMode, cudnnDirectionMode_t dirMode,
	cudnnRNNInputMode_t inputMode, cudnnDataType_t dataType, cudnnDataType_t mathPrec,
	cudnnMathType_t mathType, int32_t inputSize, int32_t hiddenSize, int32_t projSize, int32_t numLayers,
	cudnnDropoutDescriptor_t dropoutDesc, uint32_t auxFlags)
{
	const struct cudnnRNNStruct made = {true, algo, cellMode, biasMode, dirMode, inputMode, dataType,
		mathPrec, mathType, inputSize, hiddenSize, projSize, numLayers, dropoutDesc, auxFlags};

	SG_ENTER();
	if (rnnDesc == NULL ||
		!is_in((int)algo, CUDNN_RNN_ALGO_STANDARD, CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H) ||
		!is_in((int)cellMode, CUDNN_RNN_RELU, CUDNN_GRU) ||
		!is_in((int)biasMode, CUDNN_RNN_NO_BIAS, CUDNN_RNN_SINGLE_REC_BIAS) ||
		!is_in((int)dirMode, CUDNN_UNIDIRECTIONAL, CUDNN_BIDIRECTIONAL) ||
		!is_in((int)inputMode, CUDNN_LINEAR_INPUT, CUDNN_SKIP_INPUT) || !is_in((int)mathType, 0, 3))
		return CUDNN_STATUS_BAD_PARAM;
	if (inputSize < 1 || hiddenSize < 1 || numLayers < 1 || projSize < 1 || projSize > hiddenSize ||
		(cellMode != CUDNN_LSTM && projSize != hiddenSize))
		return CUDNN_STATUS_BAD_PARAM;
	if (inputMode == CUDNN_SKIP_INPUT && inputSize != hiddenSize)
		return CUDNN_STATUS_BAD_PARAM;
	*rnnDesc = made;
	return CUDNN_STATUS_SUCCESS;
}

/* Any of the places may be NULL. */
#define GIVE(place, value) \
	do { \
		if ((place) != NULL) \
			*(place) = (value); \
	} while (0)

cudnnStatus_t cudnnGetRNNDescriptor_v8(cudnnRNNDescriptor_t rnnDesc, cudnnRNNAlgo_t *algo,
	cudnnRNNMode_t *cellMode, cudnnRNNBiasMode_t *biasMode, cudnnDirectionMode_t *dirMode,
	cudnnRNNInputMode_t *inputMode, cudnnDataType_t *dataType, cudnnDataType_t *mathPrec,
	cudnnMathType_t *mathType, int32_t *inputSize, int32_t *hiddenSize, int32_t *projSize,
	int32_t *numLayers, cudnnDropoutDescriptor_t *dropoutDesc, uint32_t *auxFlags)
{
	SG_ENTER();
	if (rnnDesc == NULL || !rnnDesc->set)
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(algo, rnnDesc->algorithm);
	GIVE(cellMode, rnnDesc->mode);
	GIVE(biasMode, rnnDesc->bias);
	GIVE(dirMode, rnnDesc->direction);
	GIVE(inputMode, rnnDesc->input);
	GIVE(dataType, rnnDesc->type);
	GIVE(mathPrec, rnnDesc->compute);
	GIVE(mathType, rnnDesc->math);
	GIVE(inputSize, rnnDesc->input_size);
	GIVE(hiddenSize, rnnDesc->hidden_size);
	GIVE(projSize, rnnDesc->projection_size);
	GIVE(numLayers, rnnDesc->layers);
	GIVE(dropoutDesc, rnnDesc->dropout);
	GIVE(auxFlags, rnnDesc->flags);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBuildRNNDynamic(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int miniBatch)
{
	SG_ENTER();
	if (handle == NULL || rnnDesc == NULL || !rnnDesc->set || miniBatch < 1)
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

/* NOT_SUPPORTED for what is not computed. */
static cudnnStatus_t check_network(const struct cudnnRNNStruct *rnn)
{
	if (rnn == NULL || !rnn->set)
		return CUDNN_STATUS_BAD_PARAM;
	if (rnn->type != CUDNN_DATA_FLOAT || rnn->compute != CUDNN_DATA_FLOAT ||
		rnn->direction != CUDNN_UNIDIRECTIONAL || rnn->input != CUDNN_LINEAR_INPUT ||
		rnn->projection_size != rnn->hidden_size)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (rnn->dropout != NULL && rnn->dropout->dropout > 0 && rnn->layers > 1 && sg_numerics())
		return CUDNN_STATUS_NOT_SUPPORTED;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
	cudnnForwardMode_t fwdMode, cudnnRNNDataDescriptor_t xDesc, size_t *workSpaceSize,
	size_t *reserveSpaceSize)
{
	size_t kept, scratch;
	cudnnStatus_t status;

	SG_ENTER();
	status = check_network(rnnDesc);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (handle == NULL || xDesc == NULL || !xDesc->set ||
		!is_in((int)fwdMode, 0, CUDNN_FWD_MODE_TRAINING))
		return CUDNN_STATUS_BAD_PARAM;
	kept = sg_rnn_kept_count(rnnDesc, xDesc->steps, xDesc->batch) * sizeof(float);
	scratch = sg_rnn_scratch_count(rnnDesc, xDesc->steps, xDesc->batch) * sizeof(float);
	GIVE(workSpaceSize, fwdMode == CUDNN_FWD_MODE_TRAINING ? scratch : scratch + kept);
	GIVE(reserveSpaceSize, fwdMode == CUDNN_FWD_MODE_TRAINING ? kept : 0);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightSpaceSize(
	cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, size_t *weightSpaceSize)
{
	cudnnStatus_t status;

	SG_ENTER();
	status = check_network(rnnDesc);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (handle == NULL || weightSpaceSize == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*weightSpaceSize = sg_rnn_weight_count(rnnDesc) * sizeof(float);
	return CUDNN_STATUS_SUCCESS;
}

/* A matrix or a column of the weights, as a tensor of three dimensions. */
static void describe_part(
	cudnnTensorDescriptor_t desc, void **address, const void *weights, int64_t at, int rows, int columns)
{
	const int dim[] = {1, rows, columns};

	if (desc == NULL) /* the caller wants only the other one */
		return;
	*address = at < 0 ? NULL : (float *)(uintptr_t)weights + at;
	if (at < 0)
		memset(&desc->shape, 0, sizeof(desc->shape));
	else
		sg_shape_pack(&desc->shape, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, dim);
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, int32_t pseudoLayer,
	size_t weightSpaceSize, const void *weightSpace, int32_t linLayerID, cudnnTensorDescriptor_t mDesc,
	void **mAddr, cudnnTensorDescriptor_t bDesc, void **bAddr)
{
	struct sg_rnn_parts parts;
	int gates, gate, hidden;
	bool is_input;
	int64_t bias;
	cudnnStatus_t status;

	SG_ENTER();
	status = check_network(rnnDesc);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	gates = sg_rnn_gates(rnnDesc->mode);
	if (handle == NULL || !is_in(pseudoLayer, 0, rnnDesc->layers - 1) ||
		!is_in(linLayerID, 0, 2 * gates - 1) ||
		weightSpaceSize < sg_rnn_weight_count(rnnDesc) * sizeof(float) ||
		(mDesc == NULL) != (mAddr == NULL) || (bDesc == NULL) != (bAddr == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	parts = sg_rnn_parts_of(rnnDesc, pseudoLayer);
	hidden = rnnDesc->hidden_size;
	is_input = linLayerID < gates;
	gate = linLayerID % gates;
	bias = is_input ? parts.w_bias : parts.r_bias;
	if (is_input)
		describe_part(mDesc, mAddr, weightSpace, parts.w + (int64_t)gate * hidden * parts.input_size,
			hidden, parts.input_size);
	else
		describe_part(
			mDesc, mAddr, weightSpace, parts.r + (int64_t)gate * hidden * hidden, hidden, hidden);
	describe_part(bDesc, bAddr, weightSpace, bias < 0 ? -1 : bias + (int64_t)gate * hidden, hidden, 1);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- sequences ---- */

SG_CREATE(cudnnCreateRNNDataDescriptor, cudnnRNNDataDescriptor_t)

cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc)
{
	SG_ENTER();
	if (rnnDataDesc != NULL)
		free(rnnDataDesc->length);
	free(rnnDataDesc);
	return CUDNN_STATUS_SUCCESS;
}

static float fill_of(cudnnDataType_t type, const void *fill)
{
	switch ((int)type) {
	case CUDNN_DATA_HALF:
		return sg_float_from_half(*(const uint16_t *)fill);
	case CUDNN_DATA_BFLOAT16:
		return sg_float_from_bfloat(*(const uint16_t *)fill);
	case CUDNN_DATA_DOUBLE:
		return (float)*(const double *)fill;
	default:
		return *(const float *)fill;
	}
}

/* Packed sequences come the longest first. */
static bool lengths_fit(cudnnRNNDataLayout_t layout, int steps, int batch, const int *length)
{
	for (int n = 0; n < batch; n++) {
		if (length[n] < 0 || length[n] > steps)
			return false;
		if (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED && n > 0 && length[n] > length[n - 1])
			return false;
	}
	return true;
}

cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc, cudnnDataType_t dataType,
	cudnnRNNDataLayout_t layout, int maxSeqLength, int batchSize, int vectorSize,
	const int seqLengthArray[], void *paddingFill)
{
	struct cudnnRNNDataStruct made = {
		true, dataType, layout, maxSeqLength, batchSize, vectorSize, NULL, 0, false};

	SG_ENTER();
	if (rnnDataDesc == NULL || seqLengthArray == NULL || maxSeqLength < 1 || batchSize < 1 ||
		vectorSize < 1 || !is_in((int)layout, 0, CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED) ||
		!lengths_fit(layout, maxSeqLength, batchSize, seqLengthArray))
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(dataType) && dataType != CUDNN_DATA_HALF && dataType != CUDNN_DATA_BFLOAT16)
		return CUDNN_STATUS_NOT_SUPPORTED;
	made.length = malloc((size_t)batchSize * sizeof(*made.length));
	if (made.length == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	memcpy(made.length, seqLengthArray, (size_t)batchSize * sizeof(*made.length));
	made.fills = paddingFill != NULL;
	made.fill = made.fills ? fill_of(dataType, paddingFill) : 0;
	free(rnnDataDesc->length);
	*rnnDataDesc = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNDataDescriptor(cudnnRNNDataDescriptor_t rnnDataDesc, cudnnDataType_t *dataType,
	cudnnRNNDataLayout_t *layout, int *maxSeqLength, int *batchSize, int *vectorSize,
	int arrayLengthRequested, int seqLengthArray[], void *paddingFill)
{
	SG_ENTER();
	if (rnnDataDesc == NULL || !rnnDataDesc->set || arrayLengthRequested < 0 ||
		(arrayLengthRequested > 0 && seqLengthArray == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(dataType, rnnDataDesc->type);
	GIVE(layout, rnnDataDesc->layout);
	GIVE(maxSeqLength, rnnDataDesc->steps);
	GIVE(batchSize, rnnDataDesc->batch);
	GIVE(vectorSize, rnnDataDesc->values);
	for (int n = 0; n < arrayLengthRequested && n < rnnDataDesc->batch; n++)
		seqLengthArray[n] = rnnDataDesc->length[n];
	if (paddingFill != NULL && rnnDataDesc->fills && rnnDataDesc->type == CUDNN_DATA_FLOAT)
		memcpy(paddingFill, &rnnDataDesc->fill, sizeof(rnnDataDesc->fill));
	return CUDNN_STATUS_SUCCESS;
}

/* ---- passes ---- */

static bool sequences_fit(const struct cudnnRNNStruct *rnn, const struct cudnnRNNDataStruct *x,
	const struct cudnnRNNDataStruct *y)
{
	return x != NULL && y != NULL && x->set && y->set && x->type == rnn->type && y->type == rnn->type &&
	       x->steps == y->steps && x->batch == y->batch && x->values == rnn->input_size &&
	       y->values == rnn->hidden_size &&
	       memcmp(x->length, y->length, (size_t)x->batch * sizeof(*x->length)) == 0;
}

/* layers x batch x hidden; needed where one of the states is given. */
static bool state_fits(
	const struct cudnnRNNStruct *rnn, int batch, cudnnTensorDescriptor_t desc, bool is_given)
{
	if (!is_given)
		return true;
	/* PyTorch's descriptors have five dimensions, the last of them of size 1. */
	for (int i = 3; desc != NULL && i < desc->shape.ndims; i++) {
		if (desc->shape.dim[i] != 1)
			return false;
	}
	return desc != NULL && desc->shape.ndims >= 3 && desc->shape.dim[0] == rnn->layers &&
	       desc->shape.dim[1] == batch && desc->shape.dim[2] == rnn->hidden_size &&
	       sg_shape_is_packed(&desc->shape);
}

/* What the passes have in common. */
struct request {
	cudnnRNNDescriptor_t rnn;
	cudnnRNNDataDescriptor_t x, y;
	cudnnTensorDescriptor_t h, c;
	bool has_h, has_c; /* some state of that kind is given */
	bool is_inference;
	size_t weight_bytes, work_bytes, reserve_bytes;
	const void *weights;
	void *work, *reserve;
};

static cudnnStatus_t check_request(cudnnHandle_t handle, const struct request *r)
{
	cudnnStatus_t status = check_network(r->rnn);
	size_t kept, scratch;

	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (handle == NULL || !sequences_fit(r->rnn, r->x, r->y) ||
		!state_fits(r->rnn, r->x->batch, r->h, r->has_h) ||
		!state_fits(r->rnn, r->x->batch, r->c, r->has_c && r->rnn->mode == CUDNN_LSTM))
		return CUDNN_STATUS_BAD_PARAM;
	kept = sg_rnn_kept_count(r->rnn, r->x->steps, r->x->batch) * sizeof(float);
	scratch = sg_rnn_scratch_count(r->rnn, r->x->steps, r->x->batch) * sizeof(float);
	if (r->weights == NULL || r->weight_bytes < sg_rnn_weight_count(r->rnn) * sizeof(float) ||
		r->work == NULL || r->work_bytes < scratch + (r->is_inference ? kept : 0) ||
		(!r->is_inference && (r->reserve == NULL || r->reserve_bytes < kept)))
		return CUDNN_STATUS_BAD_PARAM;
	return CUDNN_STATUS_SUCCESS;
}

/* Fills in what all passes have and submits. */
static cudnnStatus_t submit(cudnnHandle_t handle, const struct request *r, const struct sg_rnn_job *pass)
{
	size_t lengths_bytes = (size_t)r->x->batch * sizeof(int);
	struct sg_rnn_job *job = malloc(sizeof(*job) + lengths_bytes);
	struct sg_cost cost;
	cudnnStatus_t status;

	if (job == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	memcpy(job, pass, sizeof(*job));
	memcpy(job->length, r->x->length, lengths_bytes);
	job->rnn = *r->rnn;
	job->x_layout = r->x->layout;
	job->y_layout = r->y->layout;
	job->steps = r->x->steps;
	job->batch = r->x->batch;
	job->fills_x = r->x->fills;
	job->x_fill = r->x->fill;
	job->fills_y = r->y->fills;
	job->y_fill = r->y->fill;
	job->device = sg_stream_device(handle->stream);
	job->scratch = r->work;
	job->kept = r->is_inference ? (float *)r->work + sg_rnn_scratch_count(r->rnn, job->steps, job->batch)
				    : r->reserve;
	if (r->rnn->mode != CUDNN_LSTM)
		job->cx = job->cy = job->dcx = NULL;
	cost = sg_cost_rnn(job);
	status = sg_cudnn_submit(handle, &cost, sg_rnn_run, job, sizeof(*job) + lengths_bytes);
	free(job);
	return status;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc, cudnnForwardMode_t fwdMode,
	const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc, const void *x,
	cudnnRNNDataDescriptor_t yDesc, void *y, cudnnTensorDescriptor_t hDesc, const void *hx, void *hy,
	cudnnTensorDescriptor_t cDesc, const void *cx, void *cy, size_t weightSpaceSize,
	const void *weightSpace, size_t workSpaceSize, void *workSpace, size_t reserveSpaceSize,
	void *reserveSpace)
{
	const struct request request = {rnnDesc, xDesc, yDesc, hDesc, cDesc, hx != NULL || hy != NULL,
		cx != NULL || cy != NULL, fwdMode == CUDNN_FWD_MODE_INFERENCE, weightSpaceSize, workSpaceSize,
		reserveSpaceSize, weightSpace, workSpace, reserveSpace};
	const struct sg_rnn_job pass = {
		.x = x, .y = y, .hx = hx, .hy = hy, .cx = cx, .cy = cy, .weights = weightSpace};
	cudnnStatus_t status;

	(void)devSeqLengths; /* the lengths are the descriptors' */
	SG_ENTER();
	if (x == NULL || y == NULL || !is_in((int)fwdMode, 0, CUDNN_FWD_MODE_TRAINING))
		return CUDNN_STATUS_BAD_PARAM;
	status = check_request(handle, &request);
	return status == CUDNN_STATUS_SUCCESS ? submit(handle, &request, &pass) : status;
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
	const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t yDesc, const void *y, const void *dy,
	cudnnRNNDataDescriptor_t xDesc, void *dx, cudnnTensorDescriptor_t hDesc, const void *hx,
	const void *dhy, void *dhx, cudnnTensorDescriptor_t cDesc, const void *cx, const void *dcy, void *dcx,
	size_t weightSpaceSize, const void *weightSpace, size_t workSpaceSize, void *workSpace,
	size_t reserveSpaceSize, void *reserveSpace)
{
	const struct request request = {rnnDesc, xDesc, yDesc, hDesc, cDesc,
		hx != NULL || dhy != NULL || dhx != NULL, cx != NULL || dcy != NULL || dcx != NULL, false,
		weightSpaceSize, workSpaceSize, reserveSpaceSize, weightSpace, workSpace, reserveSpace};
	const struct sg_rnn_job pass = {.is_backward = true,
		.dy = dy,
		.dx = dx,
		.hx = hx,
		.dhy = dhy,
		.dhx = dhx,
		.cx = cx,
		.dcy = rnnDesc != NULL && rnnDesc->mode == CUDNN_LSTM ? dcy : NULL,
		.dcx = dcx,
		.weights = weightSpace};
	cudnnStatus_t status;

	(void)devSeqLengths;
	SG_ENTER();
	if (y == NULL || dy == NULL || dx == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	status = check_request(handle, &request);
	return status == CUDNN_STATUS_SUCCESS ? submit(handle, &request, &pass) : status;
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t rnnDesc,
	cudnnWgradMode_t addGrad, const int32_t devSeqLengths[], cudnnRNNDataDescriptor_t xDesc,
	const void *x, cudnnTensorDescriptor_t hDesc, const void *hx, cudnnRNNDataDescriptor_t yDesc,
	const void *y, size_t weightSpaceSize, void *dweightSpace, size_t workSpaceSize, void *workSpace,
	size_t reserveSpaceSize, void *reserveSpace)
{
	const struct request request = {rnnDesc, xDesc, yDesc, hDesc, NULL, hx != NULL, false, false,
		weightSpaceSize, workSpaceSize, reserveSpaceSize, dweightSpace, workSpace, reserveSpace};
	const struct sg_rnn_job pass = {.is_weights = true, .x = x, .hx = hx, .dweights = dweightSpace};
	cudnnStatus_t status;

	(void)devSeqLengths;
	SG_ENTER();
	if (x == NULL || y == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	/* As the vendor's documentation says of the version: gradients can only be added. */
	if (addGrad != CUDNN_WGRAD_MODE_ADD)
		return CUDNN_STATUS_NOT_SUPPORTED;
	status = check_request(handle, &request);
	return status == CUDNN_STATUS_SUCCESS ? submit(handle, &request, &pass) : status;
}
