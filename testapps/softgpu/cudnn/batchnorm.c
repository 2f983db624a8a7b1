/*
 * The batch normalisation calls, with and without fused addition and ReLU.
 *
 * The one idea: each call only names its pointers in one job struct; normalization.c checks and
 * computes. The older calls are those with fused operations and nothing fused.
 */
#include "normalization.h"

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

/* With what is fused; z_desc may be NULL where nothing is added. */
static cudnnStatus_t train(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
	const void *alpha, const void *beta, const struct cudnnTensorStruct *x_desc, const void *x,
	const struct cudnnTensorStruct *z_desc, const void *z, const struct cudnnTensorStruct *y_desc,
	void *y, const struct cudnnTensorStruct *params, const void *scale, const void *bias,
	double average_factor, void *mean, void *variance, double epsilon, void *saved_mean,
	void *saved_variance, cudnnActivationDescriptor_t activation, void *reserve, size_t reserve_bytes)
{
	cudnnStatus_t status;

	if (alpha == NULL || beta == NULL || x_desc == NULL || y_desc == NULL || params == NULL ||
		!mode_is_known(mode) || (ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && z_desc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_TRAINING,
		.alpha = sg_factor(x_desc->shape.type, alpha),
		.beta = sg_factor(x_desc->shape.type, beta),
		.epsilon = epsilon,
		.average_factor = average_factor,
		.params = params->shape,
		.x_shape = x_desc->shape,
		.y_shape = y_desc->shape,
		.z_shape = z_desc != NULL ? z_desc->shape : x_desc->shape,
		.x = x,
		.y = y,
		.z = sg_unconst(z),
		.scale = scale,
		.bias = bias,
		.mean = mean,
		.variance = variance,
		.saved_mean = saved_mean,
		.saved_variance = saved_variance,
	};

	status = fill_fusion(&job, ops, activation, &x_desc->shape, reserve, reserve_bytes);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, is_spatial(mode)) : status;
}

cudnnStatus_t cudnnBatchNormalizationForwardTraining(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	const void *alpha, const void *beta, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t yDesc, void *y, const cudnnTensorDescriptor_t bnScaleBiasMeanVarDesc,
	const void *bnScale, const void *bnBias, double exponentialAverageFactor, void *resultRunningMean,
	void *resultRunningVariance, double epsilon, void *resultSaveMean, void *resultSaveInvVariance)
{
	SG_ENTER();
	return train(handle, mode, CUDNN_BATCHNORM_OPS_BN, alpha, beta, xDesc, x, NULL, NULL, yDesc, y,
		bnScaleBiasMeanVarDesc, bnScale, bnBias, exponentialAverageFactor, resultRunningMean,
		resultRunningVariance, epsilon, resultSaveMean, resultSaveInvVariance, NULL, NULL, 0);
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
		.mean = sg_unconst(estimatedMean),
		.variance = sg_unconst(estimatedVariance),
	};

	return sg_norm_submit(handle, &job, is_spatial(mode));
}

/* With what is fused; dz_desc may be NULL where nothing is added. */
static cudnnStatus_t go_back(cudnnHandle_t handle, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t ops,
	const void *alpha, const void *beta, const void *alpha_params, const void *beta_params,
	const struct cudnnTensorStruct *x_desc, const void *x, const struct cudnnTensorStruct *dy_desc,
	const void *dy, const struct cudnnTensorStruct *dz_desc, void *dz,
	const struct cudnnTensorStruct *dx_desc, void *dx, const struct cudnnTensorStruct *params,
	const void *scale, void *dscale, void *dbias, double epsilon, const void *saved_mean,
	const void *saved_variance, cudnnActivationDescriptor_t activation, void *reserve,
	size_t reserve_bytes)
{
	cudnnStatus_t status;

	if (alpha == NULL || beta == NULL || alpha_params == NULL || beta_params == NULL || x_desc == NULL ||
		dy_desc == NULL || dx_desc == NULL || params == NULL || !mode_is_known(mode) ||
		(ops == CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION && dz_desc == NULL))
		return CUDNN_STATUS_BAD_PARAM;

	struct sg_norm_job job = {
		.kind = SG_NORM_BACKWARD,
		.alpha = sg_factor(x_desc->shape.type, alpha),
		.beta = sg_factor(x_desc->shape.type, beta),
		.alpha_params = sg_factor(x_desc->shape.type, alpha_params),
		.beta_params = sg_factor(x_desc->shape.type, beta_params),
		.epsilon = epsilon,
		.params = params->shape,
		.x_shape = x_desc->shape,
		.y_shape = dy_desc->shape,
		.z_shape = dz_desc != NULL ? dz_desc->shape : x_desc->shape,
		.dx_shape = dx_desc->shape,
		.x = x,
		.y = sg_unconst(dy),
		.z = dz,
		.dx = dx,
		.scale = scale,
		.dscale = dscale,
		.dbias = dbias,
		.saved_mean = sg_unconst(saved_mean),
		.saved_variance = sg_unconst(saved_variance),
	};

	status = fill_fusion(&job, ops, activation, &x_desc->shape, reserve, reserve_bytes);
	return status == CUDNN_STATUS_SUCCESS ? sg_norm_submit(handle, &job, is_spatial(mode)) : status;
}

cudnnStatus_t cudnnBatchNormalizationBackward(cudnnHandle_t handle, cudnnBatchNormMode_t mode,
	const void *alphaDataDiff, const void *betaDataDiff, const void *alphaParamDiff,
	const void *betaParamDiff, const cudnnTensorDescriptor_t xDesc, const void *x,
	const cudnnTensorDescriptor_t dyDesc, const void *dy, const cudnnTensorDescriptor_t dxDesc, void *dx,
	const cudnnTensorDescriptor_t dBnScaleBiasDesc, const void *bnScale, void *dBnScaleResult,
	void *dBnBiasResult, double epsilon, const void *savedMean, const void *savedInvVariance)
{
	SG_ENTER();
	return go_back(handle, mode, CUDNN_BATCHNORM_OPS_BN, alphaDataDiff, betaDataDiff, alphaParamDiff,
		betaParamDiff, xDesc, x, dyDesc, dy, NULL, NULL, dxDesc, dx, dBnScaleBiasDesc, bnScale,
		dBnScaleResult, dBnBiasResult, epsilon, savedMean, savedInvVariance, NULL, NULL, 0);
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
	(void)workspace;
	(void)workSpaceSizeInBytes;
	SG_ENTER();
	return train(handle, mode, bnOps, alpha, beta, xDesc, xData, zDesc, zData, yDesc, yData,
		bnScaleBiasMeanVarDesc, bnScale, bnBias, exponentialAverageFactor, resultRunningMean,
		resultRunningVariance, epsilon, resultSaveMean, resultSaveInvVariance, activationDesc,
		reserveSpace, reserveSpaceSizeInBytes);
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
	(void)yDesc;
	(void)yData;
	(void)bnBiasData;
	(void)workSpace;
	(void)workSpaceSizeInBytes;
	SG_ENTER();
	return go_back(handle, mode, bnOps, alphaDataDiff, betaDataDiff, alphaParamDiff, betaParamDiff, xDesc,
		xData, dyDesc, dyData, dzDesc, dzData, dxDesc, dxData, dBnScaleBiasDesc, bnScaleData,
		dBnScaleData, dBnBiasData, epsilon, savedMean, savedInvVariance, activationDesc, reserveSpace,
		reserveSpaceSizeInBytes);
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
