/*
 * The newer normalisation calls, with separate descriptors for scale and bias and for mean and variance.
 *
 * The one idea: they name the same job as the batch normalisation calls do; normalization.c checks and
 * computes.
 */
#include "normalization.h"

static void *unconst(const void *data)
{
	return (void *)(uintptr_t)data;
}

static cudnnStatus_t check_enums(cudnnNormMode_t mode, cudnnNormOps_t ops, cudnnNormAlgo_t algo, int groups)
{
	if ((mode != CUDNN_NORM_PER_ACTIVATION && mode != CUDNN_NORM_PER_CHANNEL) ||
		(int)ops < CUDNN_NORM_OPS_NORM || ops > CUDNN_NORM_OPS_NORM_ADD_ACTIVATION ||
		(algo != CUDNN_NORM_ALGO_STANDARD && algo != CUDNN_NORM_ALGO_PERSIST))
		return CUDNN_STATUS_BAD_PARAM;
	return groups == 1 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}

static cudnnStatus_t fill_fusion(struct sg_norm_job *job, cudnnNormOps_t ops,
	cudnnActivationDescriptor_t activation, void *reserve, size_t reserve_bytes)
{
	if (ops == CUDNN_NORM_OPS_NORM)
		return CUDNN_STATUS_SUCCESS;
	if (activation == NULL || !activation->set)
		return CUDNN_STATUS_BAD_PARAM;
	if (activation->mode != CUDNN_ACTIVATION_RELU)
		return CUDNN_STATUS_NOT_SUPPORTED;
	job->adds = ops == CUDNN_NORM_OPS_NORM_ADD_ACTIVATION;
	job->clips = true;
	if (job->kind == SG_NORM_INFERENCE)
		return CUDNN_STATUS_SUCCESS;
	if (reserve == NULL || reserve_bytes < (size_t)sg_shape_count(&job->x_shape))
		return CUDNN_STATUS_BAD_PARAM;
	job->mask = reserve;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnNormalizationForwardTraining(cudnnHandle_t handle, cudnnNormMode_t mode,
	cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t xDesc, const void *xData,
	const cudnnTensorDescriptor_t normScaleBiasDesc, const void *normScale, const void *normBias,
	double exponentialAverageFactor, const cudnnTensorDescriptor_t normMeanVarDesc,
	void *resultRunningMean, void *resultRunningVariance, double epsilon, void *resultSaveMean,
	void *resultSaveInvVariance, cudnnActivationDescriptor_t activationDesc,
	const cudnnTensorDescriptor_t zDesc, const void *zData, const cudnnTensorDescriptor_t yDesc,
	void *yData, void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace,
	size_t reserveSpaceSizeInBytes, int groupCnt)
{
	cudnnStatus_t status;

	(void)workspace;
	(void)workSpaceSizeInBytes;
	SG_ENTER();
	status = check_enums(mode, normOps, algo, groupCnt);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (alpha == NULL || beta == NULL || xDesc == NULL || yDesc == NULL || normScaleBiasDesc == NULL ||
		normMeanVarDesc == NULL ||
		!sg_shape_same_dims(&normScaleBiasDesc->shape, &normMeanVarDesc->shape) ||
		(normOps == CUDNN_NORM_OPS_NORM_ADD_ACTIVATION && zDesc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_TRAINING,
		.alpha = sg_factor(xDesc->shape.type, alpha),
		.beta = sg_factor(xDesc->shape.type, beta),
		.epsilon = epsilon,
		.average_factor = exponentialAverageFactor,
		.params = normScaleBiasDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = yDesc->shape,
		.z_shape = zDesc != NULL ? zDesc->shape : xDesc->shape,
		.x = xData,
		.y = yData,
		.z = unconst(zData),
		.scale = normScale,
		.bias = normBias,
		.mean = resultRunningMean,
		.variance = resultRunningVariance,
		.saved_mean = resultSaveMean,
		.saved_variance = resultSaveInvVariance,
	};

	status = fill_fusion(&job, normOps, activationDesc, reserveSpace, reserveSpaceSizeInBytes);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, mode == CUDNN_NORM_PER_CHANNEL)
					      : status;
}

cudnnStatus_t cudnnNormalizationForwardInference(cudnnHandle_t handle, cudnnNormMode_t mode,
	cudnnNormOps_t normOps, cudnnNormAlgo_t algo, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t xDesc, const void *x, const cudnnTensorDescriptor_t normScaleBiasDesc,
	const void *normScale, const void *normBias, const cudnnTensorDescriptor_t normMeanVarDesc,
	const void *estimatedMean, const void *estimatedVariance, const cudnnTensorDescriptor_t zDesc,
	const void *z, cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t yDesc,
	void *y, double epsilon, int groupCnt)
{
	cudnnStatus_t status;

	SG_ENTER();
	status = check_enums(mode, normOps, algo, groupCnt);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (alpha == NULL || beta == NULL || xDesc == NULL || yDesc == NULL || normScaleBiasDesc == NULL ||
		normMeanVarDesc == NULL ||
		!sg_shape_same_dims(&normScaleBiasDesc->shape, &normMeanVarDesc->shape) ||
		(normOps == CUDNN_NORM_OPS_NORM_ADD_ACTIVATION && zDesc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_INFERENCE,
		.alpha = sg_factor(xDesc->shape.type, alpha),
		.beta = sg_factor(xDesc->shape.type, beta),
		.epsilon = epsilon,
		.params = normScaleBiasDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = yDesc->shape,
		.z_shape = zDesc != NULL ? zDesc->shape : xDesc->shape,
		.x = x,
		.y = y,
		.z = unconst(z),
		.scale = normScale,
		.bias = normBias,
		.mean = unconst(estimatedMean),
		.variance = unconst(estimatedVariance),
	};

	status = fill_fusion(&job, normOps, activationDesc, NULL, 0);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, mode == CUDNN_NORM_PER_CHANNEL)
					      : status;
}

cudnnStatus_t cudnnNormalizationBackward(cudnnHandle_t handle, cudnnNormMode_t mode, cudnnNormOps_t normOps,
	cudnnNormAlgo_t algo, const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff,
	const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *xData,
	const cudnnTensorDescriptor_t yDesc, const void *yData, const cudnnTensorDescriptor_t dyDesc,
	const void *dyData, const cudnnTensorDescriptor_t dzDesc, void *dzData,
	const cudnnTensorDescriptor_t dxDesc, void *dxData, const cudnnTensorDescriptor_t dNormScaleBiasDesc,
	const void *normScaleData, const void *normBiasData, void *dNormScaleData, void *dNormBiasData,
	double epsilon, const cudnnTensorDescriptor_t normMeanVarDesc, const void *savedMean,
	const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc, void *workSpace,
	size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes, int groupCnt)
{
	cudnnStatus_t status;

	(void)yDesc;
	(void)yData;
	(void)normBiasData;
	(void)workSpace;
	(void)workSpaceSizeInBytes;
	SG_ENTER();
	status = check_enums(mode, normOps, algo, groupCnt);
	if (status != CUDNN_STATUS_SUCCESS)
		return status;
	if (alphaDataDiff == NULL || betaDataDiff == NULL || alphaParamDiff == NULL ||
		betaParamDiff == NULL || xDesc == NULL || dyDesc == NULL || dxDesc == NULL ||
		dNormScaleBiasDesc == NULL || normMeanVarDesc == NULL ||
		!sg_shape_same_dims(&dNormScaleBiasDesc->shape, &normMeanVarDesc->shape) ||
		(normOps == CUDNN_NORM_OPS_NORM_ADD_ACTIVATION && dzDesc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_BACKWARD,
		.alpha = sg_factor(xDesc->shape.type, alphaDataDiff),
		.beta = sg_factor(xDesc->shape.type, betaDataDiff),
		.alpha_params = sg_factor(xDesc->shape.type, alphaParamDiff),
		.beta_params = sg_factor(xDesc->shape.type, betaParamDiff),
		.epsilon = epsilon,
		.params = dNormScaleBiasDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = dyDesc->shape,
		.z_shape = dzDesc != NULL ? dzDesc->shape : xDesc->shape,
		.dx_shape = dxDesc->shape,
		.x = xData,
		.y = unconst(dyData),
		.z = dzData,
		.dx = dxData,
		.scale = normScaleData,
		.dscale = dNormScaleData,
		.dbias = dNormBiasData,
		.saved_mean = unconst(savedMean),
		.saved_variance = unconst(savedInvVariance),
	};

	status = fill_fusion(&job, normOps, activationDesc, reserveSpace, reserveSpaceSizeInBytes);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, mode == CUDNN_NORM_PER_CHANNEL)
					      : status;
}
