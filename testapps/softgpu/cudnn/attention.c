/*
 * Multi-head attention of cuDNN's older API: descriptors, sizes and where the weights are.
 *
 * The one idea: what can be asked of the descriptors is answered as the vendor's library does, and the three
 * passes check their arguments and answer NOT_SUPPORTED: they are deprecated in cuDNN 9, whose attention is
 * an operation of the backend API (backend_sdpa.c).
 */
#include "cudnn_private.h"

#include <stdlib.h>
#include <string.h>

#define SEQUENCE_DIMS 4
#define BIASES 2u /* in attnMode */
#define MODES (BIASES | 1u)

struct cudnnAttnStruct {
	bool set;
	unsigned mode;
	int heads;
	double scale;
	cudnnDataType_t type, compute;
	cudnnMathType_t math;
	cudnnDropoutDescriptor_t attention_dropout, output_dropout;
	int size[3], projected[3]; /* of queries, keys, values; projected 0: as they come */
	int output_size;           /* 0: the heads' results one behind the other */
	int queries, keys, batch, beam;
};

struct cudnnSeqDataStruct {
	bool set;
	cudnnDataType_t type;
	int dim[SEQUENCE_DIMS];
	cudnnSeqDataAxis_t axes[SEQUENCE_DIMS];
	size_t length_count;
	int *length; /* owned */
};

/* Any of the places may be NULL. */
#define GIVE(place, value) \
	do { \
		if ((place) != NULL) \
			*(place) = (value); \
	} while (0)

/* ---- sequences ---- */

cudnnStatus_t cudnnCreateSeqDataDescriptor(cudnnSeqDataDescriptor_t *seqDataDesc)
{
	SG_ENTER();
	if (seqDataDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*seqDataDesc = calloc(1, sizeof(**seqDataDesc));
	return *seqDataDesc == NULL ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroySeqDataDescriptor(cudnnSeqDataDescriptor_t seqDataDesc)
{
	SG_ENTER();
	if (seqDataDesc != NULL)
		free(seqDataDesc->length);
	free(seqDataDesc);
	return CUDNN_STATUS_SUCCESS;
}

/* Each axis once, the vector's last. */
static bool axes_fit(const cudnnSeqDataAxis_t *axes)
{
	unsigned seen = 0;

	for (int d = 0; d < SEQUENCE_DIMS; d++) {
		if ((int)axes[d] < 0 || (int)axes[d] >= SEQUENCE_DIMS)
			return false;
		seen |= 1u << axes[d];
	}
	return seen == 15 && axes[SEQUENCE_DIMS - 1] == CUDNN_SEQDATA_VECT_DIM;
}

static bool lengths_fit(const int *dim, size_t count, const int *length)
{
	if (length == NULL ||
		count != (size_t)dim[CUDNN_SEQDATA_BATCH_DIM] * (size_t)dim[CUDNN_SEQDATA_BEAM_DIM])
		return false;
	for (size_t i = 0; i < count; i++) {
		if (length[i] < 0 || length[i] > dim[CUDNN_SEQDATA_TIME_DIM])
			return false;
	}
	return true;
}

cudnnStatus_t cudnnSetSeqDataDescriptor(cudnnSeqDataDescriptor_t seqDataDesc, cudnnDataType_t dataType,
	int nbDims, const int dimA[], const cudnnSeqDataAxis_t axes[], size_t seqLengthArraySize,
	const int seqLengthArray[], void *paddingFill)
{
	struct cudnnSeqDataStruct made = {.set = true, .type = dataType, .length_count = seqLengthArraySize};

	(void)paddingFill;
	SG_ENTER();
	if (seqDataDesc == NULL || nbDims != SEQUENCE_DIMS || dimA == NULL || axes == NULL || !axes_fit(axes))
		return CUDNN_STATUS_BAD_PARAM;
	for (int d = 0; d < SEQUENCE_DIMS; d++) {
		if (dimA[d] < 1)
			return CUDNN_STATUS_BAD_PARAM;
	}
	if (!lengths_fit(dimA, seqLengthArraySize, seqLengthArray))
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(dataType) && dataType != CUDNN_DATA_HALF)
		return CUDNN_STATUS_NOT_SUPPORTED;
	memcpy(made.dim, dimA, sizeof(made.dim));
	memcpy(made.axes, axes, sizeof(made.axes));
	made.length = malloc(seqLengthArraySize * sizeof(*made.length));
	if (made.length == NULL)
		return CUDNN_STATUS_ALLOC_FAILED;
	memcpy(made.length, seqLengthArray, seqLengthArraySize * sizeof(*made.length));
	free(seqDataDesc->length);
	*seqDataDesc = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetSeqDataDescriptor(const cudnnSeqDataDescriptor_t seqDataDesc, cudnnDataType_t *dataType,
	int *nbDims, int nbDimsRequested, int dimA[], cudnnSeqDataAxis_t axes[], size_t *seqLengthArraySize,
	size_t seqLengthSizeRequested, int seqLengthArray[], void *paddingFill)
{
	(void)paddingFill;
	SG_ENTER();
	if (seqDataDesc == NULL || !seqDataDesc->set || nbDimsRequested < 0 ||
		(seqLengthSizeRequested > 0 && seqLengthArray == NULL))
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(dataType, seqDataDesc->type);
	GIVE(nbDims, SEQUENCE_DIMS);
	GIVE(seqLengthArraySize, seqDataDesc->length_count);
	for (int d = 0; d < SEQUENCE_DIMS && d < nbDimsRequested; d++) {
		if (dimA != NULL)
			dimA[d] = seqDataDesc->dim[d];
		if (axes != NULL)
			axes[d] = seqDataDesc->axes[d];
	}
	for (size_t i = 0; i < seqLengthSizeRequested && i < seqDataDesc->length_count; i++)
		seqLengthArray[i] = seqDataDesc->length[i];
	return CUDNN_STATUS_SUCCESS;
}

/* ---- attention ---- */

cudnnStatus_t cudnnCreateAttnDescriptor(cudnnAttnDescriptor_t *attnDesc)
{
	SG_ENTER();
	if (attnDesc == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	*attnDesc = calloc(1, sizeof(**attnDesc));
	return *attnDesc == NULL ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroyAttnDescriptor(cudnnAttnDescriptor_t attnDesc)
{
	SG_ENTER();
	free(attnDesc);
	return CUDNN_STATUS_SUCCESS;
}

static int width_of(const struct cudnnAttnStruct *attention, int which)
{
	return attention->projected[which] > 0 ? attention->projected[which] : attention->size[which];
}

cudnnStatus_t cudnnSetAttnDescriptor(cudnnAttnDescriptor_t attnDesc, unsigned attnMode, int nHeads,
	double smScaler, cudnnDataType_t dataType, cudnnDataType_t computePrec, cudnnMathType_t mathType,
	cudnnDropoutDescriptor_t attnDropoutDesc, cudnnDropoutDescriptor_t postDropoutDesc, int qSize,
	int kSize, int vSize, int qProjSize, int kProjSize, int vProjSize, int oProjSize, int qoMaxSeqLength,
	int kvMaxSeqLength, int maxBatchSize, int maxBeamSize)
{
	const struct cudnnAttnStruct made = {true, attnMode, nHeads, smScaler, dataType, computePrec,
		mathType, attnDropoutDesc, postDropoutDesc, {qSize, kSize, vSize},
		{qProjSize, kProjSize, vProjSize}, oProjSize, qoMaxSeqLength, kvMaxSeqLength, maxBatchSize,
		maxBeamSize};

	SG_ENTER();
	if (attnDesc == NULL || (attnMode & ~MODES) != 0 || nHeads < 1 || !(smScaler >= 0) || qSize < 1 ||
		kSize < 1 || vSize < 1 || qProjSize < 0 || kProjSize < 0 || vProjSize < 0 || oProjSize < 0 ||
		qoMaxSeqLength < 1 || kvMaxSeqLength < 1 || maxBatchSize < 1 || maxBeamSize < 1)
		return CUDNN_STATUS_BAD_PARAM;
	/* A product of queries and keys needs one width. */
	if (width_of(&made, 0) != width_of(&made, 1))
		return CUDNN_STATUS_BAD_PARAM;
	if (!sg_type_is_real(dataType) && dataType != CUDNN_DATA_HALF)
		return CUDNN_STATUS_NOT_SUPPORTED;
	*attnDesc = made;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetAttnDescriptor(cudnnAttnDescriptor_t attnDesc, unsigned *attnMode, int *nHeads,
	double *smScaler, cudnnDataType_t *dataType, cudnnDataType_t *computePrec, cudnnMathType_t *mathType,
	cudnnDropoutDescriptor_t *attnDropoutDesc, cudnnDropoutDescriptor_t *postDropoutDesc, int *qSize,
	int *kSize, int *vSize, int *qProjSize, int *kProjSize, int *vProjSize, int *oProjSize,
	int *qoMaxSeqLength, int *kvMaxSeqLength, int *maxBatchSize, int *maxBeamSize)
{
	SG_ENTER();
	if (attnDesc == NULL || !attnDesc->set)
		return CUDNN_STATUS_BAD_PARAM;
	GIVE(attnMode, attnDesc->mode);
	GIVE(nHeads, attnDesc->heads);
	GIVE(smScaler, attnDesc->scale);
	GIVE(dataType, attnDesc->type);
	GIVE(computePrec, attnDesc->compute);
	GIVE(mathType, attnDesc->math);
	GIVE(attnDropoutDesc, attnDesc->attention_dropout);
	GIVE(postDropoutDesc, attnDesc->output_dropout);
	GIVE(qSize, attnDesc->size[0]);
	GIVE(kSize, attnDesc->size[1]);
	GIVE(vSize, attnDesc->size[2]);
	GIVE(qProjSize, attnDesc->projected[0]);
	GIVE(kProjSize, attnDesc->projected[1]);
	GIVE(vProjSize, attnDesc->projected[2]);
	GIVE(oProjSize, attnDesc->output_size);
	GIVE(qoMaxSeqLength, attnDesc->queries);
	GIVE(kvMaxSeqLength, attnDesc->keys);
	GIVE(maxBatchSize, attnDesc->batch);
	GIVE(maxBeamSize, attnDesc->beam);
	return CUDNN_STATUS_SUCCESS;
}

/* Dims of one of the eight kinds of weights: heads, rows, columns; false where there is none of that kind. */
static bool weight_dims(const struct cudnnAttnStruct *attention, int kind, int *dim)
{
	bool is_bias = kind >= CUDNN_MH_ATTN_Q_BIASES;
	int which = is_bias ? kind - CUDNN_MH_ATTN_Q_BIASES : kind;

	dim[0] = attention->heads;
	if (which == CUDNN_MH_ATTN_O_WEIGHTS) {
		dim[0] = is_bias ? 1 : attention->heads;
		dim[1] = attention->output_size;
		dim[2] = is_bias ? 1 : width_of(attention, CUDNN_MH_ATTN_V_WEIGHTS);
	} else {
		dim[1] = attention->projected[which];
		dim[2] = is_bias ? 1 : attention->size[which];
	}
	return dim[1] > 0 && (!is_bias || (attention->mode & BIASES) != 0);
}

/* Elements of all weights before a kind; of all of them for the number behind the last kind. */
static size_t weights_before(const struct cudnnAttnStruct *attention, int kind)
{
	size_t count = 0;
	int dim[3];

	for (int k = 0; k < kind; k++) {
		if (weight_dims(attention, k, dim))
			count += (size_t)dim[0] * (size_t)dim[1] * (size_t)dim[2];
	}
	return count;
}

cudnnStatus_t cudnnGetMultiHeadAttnBuffers(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc,
	size_t *weightSizeInBytes, size_t *workSpaceSizeInBytes, size_t *reserveSpaceSizeInBytes)
{
	size_t rows, values;

	SG_ENTER();
	if (handle == NULL || attnDesc == NULL || !attnDesc->set || weightSizeInBytes == NULL ||
		workSpaceSizeInBytes == NULL)
		return CUDNN_STATUS_BAD_PARAM;
	/* The projected inputs and the scores. */
	rows = (size_t)attnDesc->batch * (size_t)attnDesc->beam * (size_t)attnDesc->heads;
	values = (size_t)attnDesc->queries * (size_t)(width_of(attnDesc, 0) + attnDesc->keys) +
		 (size_t)attnDesc->keys * (size_t)(width_of(attnDesc, 1) + width_of(attnDesc, 2));
	*weightSizeInBytes =
		weights_before(attnDesc, CUDNN_MH_ATTN_O_BIASES + 1) * sg_type_bytes(attnDesc->type);
	*workSpaceSizeInBytes = rows * values * sg_type_bytes(attnDesc->type);
	GIVE(reserveSpaceSizeInBytes, rows * values * sg_type_bytes(attnDesc->type));
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetMultiHeadAttnWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc,
	cudnnMultiHeadAttnWeightKind_t wKind, size_t weightSizeInBytes, const void *weights,
	cudnnTensorDescriptor_t wDesc, void **wAddr)
{
	int kind = (int)wKind;
	int dim[3];

	SG_ENTER();
	if (handle == NULL || attnDesc == NULL || !attnDesc->set || kind < 0 ||
		kind > CUDNN_MH_ATTN_O_BIASES || wDesc == NULL || wAddr == NULL ||
		weightSizeInBytes <
			weights_before(attnDesc, CUDNN_MH_ATTN_O_BIASES + 1) * sg_type_bytes(attnDesc->type))
		return CUDNN_STATUS_BAD_PARAM;
	memset(&wDesc->shape, 0, sizeof(wDesc->shape));
	*wAddr = NULL;
	if (!weight_dims(attnDesc, kind, dim))
		return CUDNN_STATUS_SUCCESS;
	sg_shape_pack(&wDesc->shape, attnDesc->type, CUDNN_TENSOR_NCHW, 3, dim);
	*wAddr = (char *)(uintptr_t)weights + weights_before(attnDesc, kind) * sg_type_bytes(attnDesc->type);
	return CUDNN_STATUS_SUCCESS;
}

/* ---- passes ---- */

static cudnnStatus_t refuse(cudnnHandle_t handle, cudnnAttnDescriptor_t attention,
	const cudnnSeqDataDescriptor_t *sequence, int count)
{
	if (handle == NULL || attention == NULL || !attention->set)
		return CUDNN_STATUS_BAD_PARAM;
	for (int i = 0; i < count; i++) {
		if (sequence[i] == NULL || !sequence[i]->set)
			return CUDNN_STATUS_BAD_PARAM;
	}
	return CUDNN_STATUS_NOT_SUPPORTED;
}

cudnnStatus_t cudnnMultiHeadAttnForward(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc,
	int currIdx, const int loWinIdx[], const int hiWinIdx[], const int devSeqLengthsQO[],
	const int devSeqLengthsKV[], const cudnnSeqDataDescriptor_t qDesc, const void *queries,
	const void *residuals, const cudnnSeqDataDescriptor_t kDesc, const void *keys,
	const cudnnSeqDataDescriptor_t vDesc, const void *values, const cudnnSeqDataDescriptor_t oDesc,
	void *out, size_t weightSizeInBytes, const void *weights, size_t workSpaceSizeInBytes,
	void *workSpace, size_t reserveSpaceSizeInBytes, void *reserveSpace)
{
	const cudnnSeqDataDescriptor_t sequence[] = {qDesc, kDesc, vDesc, oDesc};

	(void)currIdx, (void)loWinIdx, (void)hiWinIdx, (void)devSeqLengthsQO, (void)devSeqLengthsKV;
	(void)queries, (void)residuals, (void)keys, (void)values, (void)out, (void)weightSizeInBytes,
		(void)weights;
	(void)workSpaceSizeInBytes, (void)workSpace, (void)reserveSpaceSizeInBytes, (void)reserveSpace;
	SG_ENTER();
	return refuse(handle, attnDesc, sequence, 4);
}

cudnnStatus_t cudnnMultiHeadAttnBackwardData(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc,
	const int loWinIdx[], const int hiWinIdx[], const int devSeqLengthsDQDO[],
	const int devSeqLengthsDKDV[], const cudnnSeqDataDescriptor_t doDesc, const void *dout,
	const cudnnSeqDataDescriptor_t dqDesc, void *dqueries, const void *queries,
	const cudnnSeqDataDescriptor_t dkDesc, void *dkeys, const void *keys,
	const cudnnSeqDataDescriptor_t dvDesc, void *dvalues, const void *values, size_t weightSizeInBytes,
	const void *weights, size_t workSpaceSizeInBytes, void *workSpace, size_t reserveSpaceSizeInBytes,
	void *reserveSpace)
{
	const cudnnSeqDataDescriptor_t sequence[] = {doDesc, dqDesc, dkDesc, dvDesc};

	(void)loWinIdx, (void)hiWinIdx, (void)devSeqLengthsDQDO, (void)devSeqLengthsDKDV, (void)dout;
	(void)dqueries, (void)queries, (void)dkeys, (void)keys, (void)dvalues, (void)values;
	(void)weightSizeInBytes, (void)weights, (void)workSpaceSizeInBytes, (void)workSpace;
	(void)reserveSpaceSizeInBytes, (void)reserveSpace;
	SG_ENTER();
	return refuse(handle, attnDesc, sequence, 4);
}

cudnnStatus_t cudnnMultiHeadAttnBackwardWeights(cudnnHandle_t handle, const cudnnAttnDescriptor_t attnDesc,
	cudnnWgradMode_t addGrad, const cudnnSeqDataDescriptor_t qDesc, const void *queries,
	const cudnnSeqDataDescriptor_t kDesc, const void *keys, const cudnnSeqDataDescriptor_t vDesc,
	const void *values, const cudnnSeqDataDescriptor_t doDesc, const void *dout, size_t weightSizeInBytes,
	const void *weights, void *dweights, size_t workSpaceSizeInBytes, void *workSpace,
	size_t reserveSpaceSizeInBytes, void *reserveSpace)
{
	const cudnnSeqDataDescriptor_t sequence[] = {qDesc, kDesc, vDesc, doDesc};

	(void)addGrad, (void)queries, (void)keys, (void)values, (void)dout, (void)weightSizeInBytes,
		(void)weights;
	(void)dweights, (void)workSpaceSizeInBytes, (void)workSpace, (void)reserveSpaceSizeInBytes,
		(void)reserveSpace;
	SG_ENTER();
	return refuse(handle, attnDesc, sequence, 4);
}
