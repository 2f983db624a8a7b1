/* cuDNN's legacy and graph API as far as this project calls it. */
#ifndef SOFTGPU_CUDNN_H
#define SOFTGPU_CUDNN_H

#include <stdint.h>
#include "softgpu_api.h"

#define CUDNN_MAJOR 9
#define CUDNN_MINOR 0
#define CUDNN_PATCHLEVEL 0
#define CUDNN_VERSION (CUDNN_MAJOR * 10000 + CUDNN_MINOR * 100 + CUDNN_PATCHLEVEL)
#define CUDNN_DIM_MAX 8
#define CUDNN_BN_MIN_EPSILON 0.0
#define CUDNN_LRN_MIN_N 1
#define CUDNN_LRN_MAX_N 16
#define CUDNN_LRN_MIN_K 1e-5
#define CUDNN_LRN_MIN_BETA 0.01

typedef enum libraryPropertyType_t { MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL } libraryPropertyType;
cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested,
	cudnnDataType_t *dataType, cudnnTensorFormat_t *format, int *nbDims, int filterDimA[]);
cudnnStatus_t cudnnGetProperty(libraryPropertyType type, int *value);

/* What an attribute of CUDNN_TYPE_FRACTION has. */
typedef struct cudnnFractionStruct {
	int64_t numerator;
	int64_t denominator;
} cudnnFraction_t;

/* These two always answer NOT_SUPPORTED here, so the hook has nothing to see in them. */
cudnnStatus_t cudnnBackendPopulateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
	cudnnBackendDescriptor_t variantPack, cudaGraph_t graph);
cudnnStatus_t cudnnBackendUpdateCudaGraph(cudnnHandle_t handle, cudnnBackendDescriptor_t executionPlan,
	cudnnBackendDescriptor_t variantPack, cudaGraph_t graph);

#endif
