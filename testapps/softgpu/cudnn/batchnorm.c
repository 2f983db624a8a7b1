/*
 * The batch normalisation calls, with and without fused addition and ReLU.
 *
 * The one idea: each call only names its pointers in one job struct; normalization.c checks and
 * computes.
 */
#include "normalization.h"

static void *unconst(const void *data)
{
	return (void *)(uintptr_t)data;
}

static bool mode_is_known(cudnnBatchNormMode_t mode)
{
	return mode == CUDNN_BATCHNORM_PER_ACTIVATION || mode == CUDNN_BATCHNORM_SPATIAL ||
	       mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT;
}

static bool is_spatial(cudnnBatchNormMode_t mode)
{
	return mode != CUDNN_BATCHNORM_PER_ACTIVATION;
}

/* What fused operations ask of the job. Only ReLU may follow. */
static cudnnStatus_t fill_fusion(struct sg_norm_job *job, cudnnBatchNormOps_t ops,
	cudnnActivationDescriptor_t activation, const struct sg_shape *x, void *reserve, size_t reserve_bytes)
{
	if ((int)ops < CUDNN_BATCHNORM_OPS_BN || ops > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION)
		return CUDNN_STATUS_BAD_PARAM;
	if (ops == CUDNN_BATCHNORM_OPS_BN)
		return CUDNN_STATUS_SUCCESS;
	if (activation == NULL || !activation->set)
		return CUDNN_STATUS_BAD_PARAM;
	if (activation->mode != CUDNN_ACTIVATION_RELU)
		return CUDNN_STATUS_NOT_SUPPORTED;
	if (reserve == NULL || reserve_bytes < (size_t)sg_shape_count(x))
		return CUDNN_STATUS_BAD_PARAM;
	job->adds = ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION;
	job->clips = true;
	job->mask = reserve;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(
	cudnnTensorDescriptor_t derivedBnDesc, const cudnnTensorDescriptor_t xDesc, cudnnBatchNormMode_t mode)
{
	SG_ENTER();
	if (derivedBnDesc == NULL || xDesc == NULL || xDesc->shape.ndims < 4 || xDesc->shape.ndims > 5 ||
		!mode_is_known(mode))
		return CUDNN_STATUS_BAD_PARAM;
	sg_norm_params_shape(&xDesc->shape, is_spatial(mode), &derivedBnDesc->shape);
	/* Parameters of half precision data are kept in single precision. */
	if (derivedBnDesc->shape.type == CUDNN_DATA_HALF || derivedBnDesc->shape.type == CUDNN_DATA_BFLOAT16)
		derivedBnDesc->shape.type = CUDNN_DATA_FLOAT;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
	const void *bnScale, const void *bnBias, double exponentialAverageFactor, void *resultRunningMean,
	void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance)
{
	SG_ENTER();
	if (alpha == NULL || beta == NULL || xDesc == NULL || yDesc == NULL ||
		bnScaleBiasMeanVarDesc == NULL || !mode_is_known(mode))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_TRAINING,
		.alpha = sg_factor(xDesc->shape.type, alpha),
		.beta = sg_factor(xDesc->shape.type, beta),
		.epsilon = epsilon,
		.average_factor = exponentialAverageFactor,
		.params = bnScaleBiasMeanVarDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = yDesc->shape,
		.x = x,
		.y = y,
		.scale = bnScale,
		.bias = bnBias,
		.mean = resultRunningMean,
		.variance = resultRunningVariance,
		.saved_mean = resultSaveMean,
		.saved_variance = resultSaveInvVariance,
	};

	return sg_norm_submit(handle, &job, is_spatial(mode));
}

cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
	const void *bnScale, const void *bnBias, const void *estimatedMean, const void *estimatedVariance,
	double epsilon)
{
	SG_ENTER();
	if (alpha == NULL || beta == NULL || xDesc == NULL || yDesc == NULL ||
		bnScaleBiasMeanVarDesc == NULL || !mode_is_known(mode))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_INFERENCE,
		.alpha = sg_factor(xDesc->shape.type, alpha),
		.beta = sg_factor(xDesc->shape.type, beta),
		.epsilon = epsilon,
		.params = bnScaleBiasMeanVarDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = yDesc->shape,
		.x = x,
		.y = y,
		.scale = bnScale,
		.bias = bnBias,
		.mean = unconst(estimatedMean),
		.variance = unconst(estimatedVariance),
	};

	return sg_norm_submit(handle, &job, is_spatial(mode));
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff,
	const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t dxDesc, void *dx,
	const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void *bnScale, void *dBnScaleResult,
	void *dBnBiasResult, double epsilon, const void *savedMean, const void *savedInvVariance)
{
	SG_ENTER();
	if (alphaDataDiff == NULL || betaDataDiff == NULL || alphaParamDiff == NULL ||
		betaParamDiff == NULL || xDesc == NULL || dyDesc == NULL || dxDesc == NULL ||
		dBnScaleBiasDesc == NULL || !mode_is_known(mode))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_BACKWARD,
		.alpha = sg_factor(xDesc->shape.type, alphaDataDiff),
		.beta = sg_factor(xDesc->shape.type, betaDataDiff),
		.alpha_params = sg_factor(xDesc->shape.type, alphaParamDiff),
		.beta_params = sg_factor(xDesc->shape.type, betaParamDiff),
		.epsilon = epsilon,
		.params = dBnScaleBiasDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = dyDesc->shape,
		.dx_shape = dxDesc->shape,
		.x = x,
		.y = unconst(dy),
		.dx = dx,
		.scale = bnScale,
		.dscale = dBnScaleResult,
		.dbias = dBnBiasResult,
		.saved_mean = unconst(savedMean),
		.saved_variance = unconst(savedInvVariance),
	};

	return sg_norm_submit(handle, &job, is_spatial(mode));
}

cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	cudnnBatchNormOps_t bnOps, const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc,
	const void *xData, const cudnnTensorDescriptor_t zDesc, const void *zData,
	const cudnnTensorDescriptor_t yDesc, void *yData,
	const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc, const void *bnScale, const void *bnBias,
	double exponentialAverageFactor, void *resultRunningMean, void *resultRunningVariance, double epsilon,
	void *resultSaveMean, void *resultSaveInvVariance, cudnnActivationDescriptor_t activationDesc,
	void *workspace, size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
	cudnnStatus_t status;

	(void)workspace;
	(void)workSpaceSizeInBytes;
	SG_ENTER();
	if (alpha == NULL || beta == NULL || xDesc == NULL || yDesc == NULL ||
		bnScaleBiasMeanVarDesc == NULL || !mode_is_known(mode) ||
		(bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && zDesc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_TRAINING,
		.alpha = sg_factor(xDesc->shape.type, alpha),
		.beta = sg_factor(xDesc->shape.type, beta),
		.epsilon = epsilon,
		.average_factor = exponentialAverageFactor,
		.params = bnScaleBiasMeanVarDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = yDesc->shape,
		.z_shape = zDesc != NULL ? zDesc->shape : xDesc->shape,
		.x = xData,
		.y = yData,
		.z = unconst(zData),
		.scale = bnScale,
		.bias = bnBias,
		.mean = resultRunningMean,
		.variance = resultRunningVariance,
		.saved_mean = resultSaveMean,
		.saved_variance = resultSaveInvVariance,
	};

	status = fill_fusion(
		&job, bnOps, activationDesc, &xDesc->shape, reserveSpace, reserveSpaceSizeInBytes);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, is_spatial(mode)) : status;
}

cudnnStatus_t cudnnBatchNormalizationBackwardEx(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	cudnnBatchNormOps_t bnOps, const void *alphaDataDiff, const void *betaDataDiff,
	const void *alphaParamDiff, const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc,
	const void *xData, const cudnnTensorDescriptor_t yDesc, const void *yData,
	const cudnnTensorDescriptor_t dyDesc, const void *dyData, const cudnnTensorDescriptor_t dzDesc,
	void *dzData, const cudnnTensorDescriptor_t dxDesc, void *dxData,
	const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void *bnScaleData, const void *bnBiasData,
	void *dBnScaleData, void *dBnBiasData, double epsilon, const void *savedMean,
	const void *savedInvVariance, cudnnActivationDescriptor_t activationDesc, void *workSpace,
	size_t workSpaceSizeInBytes, void *reserveSpace, size_t reserveSpaceSizeInBytes)
{
	cudnnStatus_t status;

	(void)yDesc;
	(void)yData;
	(void)bnBiasData;
	(void)workSpace;
	(void)workSpaceSizeInBytes;
	SG_ENTER();
	if (alphaDataDiff == NULL || betaDataDiff == NULL || alphaParamDiff == NULL ||
		betaParamDiff == NULL || xDesc == NULL || dyDesc == NULL || dxDesc == NULL ||
		dBnScaleBiasDesc == NULL || !mode_is_known(mode) ||
		(bnOps == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && dzDesc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_BACKWARD,
		.alpha = sg_factor(xDesc->shape.type, alphaDataDiff),
		.beta = sg_factor(xDesc->shape.type, betaDataDiff),
		.alpha_params = sg_factor(xDesc->shape.type, alphaParamDiff),
		.beta_params = sg_factor(xDesc->shape.type, betaParamDiff),
		.epsilon = epsilon,
		.params = dBnScaleBiasDesc->shape,
		.x_shape = xDesc->shape,
		.y_shape = dyDesc->shape,
		.z_shape = dzDesc != NULL ? dzDesc->shape : xDesc->shape,
		.dx_shape = dxDesc->shape,
		.x = xData,
		.y = unconst(dyData),
		.z = dzData,
		.dx = dxData,
		.scale = bnScaleData,
		.dscale = dBnScaleData,
		.dbias = dBnBiasData,
		.saved_mean = unconst(savedMean),
		.saved_variance = unconst(savedInvVariance),
	};

	status = fill_fusion(
		&job, bnOps, activationDesc, &xDesc->shape, reserveSpace, reserveSpaceSizeInBytes);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, is_spatial(mode)) : status;
}

/* Statistics are computed in the workers' own memory: no call needs a workspace. */
static cudnnStatus_t no_workspace(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
	const struct cudnnTensorStruct *x, const struct cudnnTensorStruct *params, size_t *bytes)
{
	if (handle == NULL || x == NULL || params == NULL || bytes == NULL || !mode_is_known(mode) ||
		(int)ops < CUDNN_BATCHNORM_OPS_BN || ops > CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION)
		return CUDNN_STATUS_BAD_PARAM;
	*bytes = 0;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(cudnnHandle_t handle,
	cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
	const cudnnTensorDescriptor_t zDesc, const cudnnTensorDescriptor_t yDesc,
	const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
	const cudnnActivationDescriptor_t activationDesc, size_t *sizeInBytes)
{
	(void)zDesc;
	(void)yDesc;
	(void)activationDesc;
	SG_ENTER();
	return no_workspace(handle, mode, bnOps, xDesc, bnScaleBiasMeanVarDesc, sizeInBytes);
}

cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnnHandle_t handle,
	cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps, const cudnnTensorDescriptor_t xDesc,
	const cudnnTensorDescriptor_t yDesc, const cudnnTensorDescriptor_t dyDesc,
	const cudnnTensorDescriptor_t dzDesc, const cudnnTensorDescriptor_t dxDesc,
	const cudnnTensorDescriptor_t dBnScaleBiasDesc, const cudnnActivationDescriptor_t activationDesc,
	size_t *sizeInBytes)
{
	(void)yDesc;
	(void)dyDesc;
	(void)dzDesc;
	(void)dxDesc;
	(void)activationDesc;
	SG_ENTER();
	return no_workspace(handle, mode, bnOps, xDesc, dBnScaleBiasDesc, sizeInBytes);
}

cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t handle,
	cudnnBatchNormMode_t mode, cudnnBatchNormOps_t bnOps,
	const cudnnActivationDescriptor_t activationDesc, const cudnnTensorDescriptor_t xDesc,
	size_t *sizeInBytes)
{
	cudnnStatus_t status;

	(void)activationDesc;
	SG_ENTER();
	status = no_workspace(handle, mode, bnOps, xDesc, xDesc, sizeInBytes);
	if (status == CUDNN_STATUS_SUCCESS && bnOps != CUDNN_BATCHNORM_OPS_BN)
		*sizeInBytes = (size_t)sg_shape_count(&xDesc->shape);
	return status;
}
