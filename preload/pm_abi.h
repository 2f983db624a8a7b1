/*
 * The vendor's types that the hook table names, said in our own words: the facts of the ABI of CUDA 13, cuDNN 9, cuBLAS 13
 * and NCCL 2, no more of them than the project uses.
 *
 * The hook is always built with these, so that one binary serves whether or not the vendor's toolkit is
 * installed. softgpu's minimal headers are made of them too. tests/abi_check.c compares every constant, size
 * and prototype with the vendor's own headers where they are at hand; with PM_HAVE_CUDA this file is those headers.
 */
#ifndef PM_ABI_H
#define PM_ABI_H

#include <stddef.h>

/*
 * Enumerators by type: X(name, value). The large ones hold the values in use only.
 */
#define PM_ABI_cudaError(X) \
	X(cudaSuccess, 0) X(cudaErrorInvalidValue, 1) X(cudaErrorMemoryAllocation, 2) \
	X(cudaErrorInitializationError, 3) X(cudaErrorCudartUnloading, 4) X(cudaErrorProfilerDisabled, 5) \
	X(cudaErrorInvalidConfiguration, 9) X(cudaErrorInvalidPitchValue, 12) \
	X(cudaErrorInvalidSymbol, 13) X(cudaErrorInvalidHostPointer, 16) \
	X(cudaErrorInvalidDevicePointer, 17) X(cudaErrorInvalidChannelDescriptor, 20) \
	X(cudaErrorInvalidMemcpyDirection, 21) X(cudaErrorInsufficientDriver, 35) \
	X(cudaErrorDevicesUnavailable, 46) X(cudaErrorMissingConfiguration, 52) \
	X(cudaErrorInvalidDeviceFunction, 98) X(cudaErrorNoDevice, 100) X(cudaErrorInvalidDevice, 101) \
	X(cudaErrorInvalidKernelImage, 200) X(cudaErrorDeviceUninitialized, 201) \
	X(cudaErrorNoKernelImageForDevice, 209) X(cudaErrorECCUncorrectable, 214) \
	X(cudaErrorPeerAccessUnsupported, 217) X(cudaErrorInvalidSource, 300) \
	X(cudaErrorFileNotFound, 301) X(cudaErrorSharedObjectSymbolNotFound, 302) \
	X(cudaErrorOperatingSystem, 304) X(cudaErrorInvalidResourceHandle, 400) \
	X(cudaErrorIllegalState, 401) X(cudaErrorSymbolNotFound, 500) X(cudaErrorNotReady, 600) \
	X(cudaErrorIllegalAddress, 700) X(cudaErrorLaunchOutOfResources, 701) \
	X(cudaErrorLaunchTimeout, 702) X(cudaErrorPeerAccessAlreadyEnabled, 704) \
	X(cudaErrorPeerAccessNotEnabled, 705) X(cudaErrorSetOnActiveProcess, 708) \
	X(cudaErrorContextIsDestroyed, 709) X(cudaErrorAssert, 710) X(cudaErrorTooManyPeers, 711) \
	X(cudaErrorHostMemoryAlreadyRegistered, 712) X(cudaErrorHostMemoryNotRegistered, 713) \
	X(cudaErrorHardwareStackError, 714) X(cudaErrorIllegalInstruction, 715) \
	X(cudaErrorMisalignedAddress, 716) X(cudaErrorLaunchFailure, 719) \
	X(cudaErrorCooperativeLaunchTooLarge, 720) X(cudaErrorNotPermitted, 800) \
	X(cudaErrorNotSupported, 801) X(cudaErrorSystemNotReady, 802) \
	X(cudaErrorStreamCaptureUnsupported, 900) X(cudaErrorStreamCaptureInvalidated, 901) \
	X(cudaErrorStreamCaptureMerge, 902) X(cudaErrorStreamCaptureUnmatched, 903) \
	X(cudaErrorStreamCaptureUnjoined, 904) X(cudaErrorStreamCaptureIsolation, 905) \
	X(cudaErrorStreamCaptureImplicit, 906) X(cudaErrorCapturedEvent, 907) \
	X(cudaErrorStreamCaptureWrongThread, 908) X(cudaErrorTimeout, 909) \
	X(cudaErrorGraphExecUpdateFailure, 910) X(cudaErrorUnknown, 999)

#define PM_ABI_cudaMemcpyKind(X) \
	X(cudaMemcpyHostToHost, 0) X(cudaMemcpyHostToDevice, 1) X(cudaMemcpyDeviceToHost, 2) \
	X(cudaMemcpyDeviceToDevice, 3) X(cudaMemcpyDefault, 4)

#define PM_ABI_cudaStreamCaptureStatus(X) \
	X(cudaStreamCaptureStatusNone, 0) X(cudaStreamCaptureStatusActive, 1) \
	X(cudaStreamCaptureStatusInvalidated, 2)

#define PM_ABI_cudaStreamCaptureMode(X) \
	X(cudaStreamCaptureModeGlobal, 0) X(cudaStreamCaptureModeThreadLocal, 1) \
	X(cudaStreamCaptureModeRelaxed, 2)

#define PM_ABI_cudaFuncAttribute(X) \
	X(cudaFuncAttributeMaxDynamicSharedMemorySize, 8)

#define PM_ABI_cudaDeviceAttr(X) \
	X(cudaDevAttrMaxThreadsPerBlock, 1) X(cudaDevAttrWarpSize, 10) \
	X(cudaDevAttrMultiProcessorCount, 16) X(cudaDevAttrComputeCapabilityMajor, 75) \
	X(cudaDevAttrComputeCapabilityMinor, 76)

#define PM_ABI_cudaMemoryType(X) \
	X(cudaMemoryTypeUnregistered, 0) X(cudaMemoryTypeHost, 1) X(cudaMemoryTypeDevice, 2) \
	X(cudaMemoryTypeManaged, 3)

#define PM_ABI_cudaMemLocationType(X) \
	X(cudaMemLocationTypeDevice, 1) X(cudaMemLocationTypeHost, 2)

#define PM_ABI_cudaChannelFormatKind(X) \
	X(cudaChannelFormatKindUnsigned, 1)

#define PM_ABI_cudaDataType_t(X) \
	X(CUDA_R_16F, 2) X(CUDA_R_16BF, 14) X(CUDA_R_32F, 0) X(CUDA_R_64F, 1) X(CUDA_R_8I, 3) \
	X(CUDA_R_8U, 8) X(CUDA_R_32I, 10) X(CUDA_R_32U, 12) X(CUDA_R_64I, 24) X(CUDA_R_64U, 26)

#define PM_ABI_cudnnStatus_t(X) \
	X(CUDNN_STATUS_SUCCESS, 0) X(CUDNN_STATUS_NOT_INITIALIZED, 1001) \
	X(CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, 1002) \
	X(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH, 1003) X(CUDNN_STATUS_DEPRECATED, 1004) \
	X(CUDNN_STATUS_LICENSE_ERROR, 1005) X(CUDNN_STATUS_RUNTIME_IN_PROGRESS, 1006) \
	X(CUDNN_STATUS_RUNTIME_FP_OVERFLOW, 1007) X(CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED, 1008) \
	X(CUDNN_STATUS_BAD_PARAM, 2000) X(CUDNN_STATUS_NOT_SUPPORTED, 3000) \
	X(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH, 3007) \
	X(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING, 3008) \
	X(CUDNN_STATUS_INTERNAL_ERROR, 4000) X(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, 4003) \
	X(CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED, 4004) \
	X(CUDNN_STATUS_INTERNAL_ERROR_TEXTURE_CREATION_FAILED, 4006) \
	X(CUDNN_STATUS_EXECUTION_FAILED, 5000) X(CUDNN_STATUS_ALLOC_FAILED, 4003) \
	X(CUDNN_STATUS_INVALID_VALUE, 2001)

#define PM_ABI_cudnnDataType_t(X) \
	X(CUDNN_DATA_FLOAT, 0) X(CUDNN_DATA_DOUBLE, 1) X(CUDNN_DATA_HALF, 2) X(CUDNN_DATA_INT8, 3) \
	X(CUDNN_DATA_INT32, 4) X(CUDNN_DATA_UINT8, 6) X(CUDNN_DATA_BFLOAT16, 9) X(CUDNN_DATA_INT64, 10) \
	X(CUDNN_DATA_BOOLEAN, 11)

#define PM_ABI_cudnnTensorFormat_t(X) \
	X(CUDNN_TENSOR_NCHW, 0) X(CUDNN_TENSOR_NHWC, 1) X(CUDNN_TENSOR_NCHW_VECT_C, 2)

#define PM_ABI_cudnnNanPropagation_t(X) \
	X(CUDNN_NOT_PROPAGATE_NAN, 0) X(CUDNN_PROPAGATE_NAN, 1)

#define PM_ABI_cudnnMathType_t(X) \
	X(CUDNN_DEFAULT_MATH, 0) X(CUDNN_TENSOR_OP_MATH, 1) X(CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION, 2) \
	X(CUDNN_FMA_MATH, 3)

#define PM_ABI_cudnnReorderType_t(X) \
	X(CUDNN_DEFAULT_REORDER, 0) X(CUDNN_NO_REORDER, 1)

#define PM_ABI_cudnnConvolutionMode_t(X) \
	X(CUDNN_CONVOLUTION, 0) X(CUDNN_CROSS_CORRELATION, 1)

#define PM_ABI_cudnnConvolutionFwdAlgo_t(X) \
	X(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, 0) \
	X(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, 1) X(CUDNN_CONVOLUTION_FWD_ALGO_GEMM, 2) \
	X(CUDNN_CONVOLUTION_FWD_ALGO_DIRECT, 3) X(CUDNN_CONVOLUTION_FWD_ALGO_FFT, 4) \
	X(CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING, 5) X(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD, 6) \
	X(CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED, 7)

#define PM_ABI_cudnnConvolutionBwdDataAlgo_t(X) \
	X(CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, 0) X(CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, 1) \
	X(CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT, 2) X(CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING, 3) \
	X(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, 4) \
	X(CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED, 5)

#define PM_ABI_cudnnConvolutionBwdFilterAlgo_t(X) \
	X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, 0) X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, 1) \
	X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT, 2) X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3, 3) \
	X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD, 4) \
	X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, 5) \
	X(CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING, 6)

#define PM_ABI_cudnnDeterminism_t(X) \
	X(CUDNN_NON_DETERMINISTIC, 0) X(CUDNN_DETERMINISTIC, 1)

#define PM_ABI_cudnnPoolingMode_t(X) \
	X(CUDNN_POOLING_MAX, 0) X(CUDNN_POOLING_MAX_DETERMINISTIC, 3)

#define PM_ABI_cudnnActivationMode_t(X) \
	X(CUDNN_ACTIVATION_SIGMOID, 0) X(CUDNN_ACTIVATION_RELU, 1) X(CUDNN_ACTIVATION_TANH, 2) \
	X(CUDNN_ACTIVATION_CLIPPED_RELU, 3) X(CUDNN_ACTIVATION_ELU, 4) X(CUDNN_ACTIVATION_IDENTITY, 5) \
	X(CUDNN_ACTIVATION_SWISH, 6)

#define PM_ABI_cudnnSoftmaxAlgorithm_t(X) \
	X(CUDNN_SOFTMAX_FAST, 0) X(CUDNN_SOFTMAX_ACCURATE, 1) X(CUDNN_SOFTMAX_LOG, 2)

#define PM_ABI_cudnnSoftmaxMode_t(X) \
	X(CUDNN_SOFTMAX_MODE_INSTANCE, 0) X(CUDNN_SOFTMAX_MODE_CHANNEL, 1)

#define PM_ABI_cudnnBatchNormMode_t(X) \
	X(CUDNN_BATCHNORM_PER_ACTIVATION, 0) X(CUDNN_BATCHNORM_SPATIAL, 1) \
	X(CUDNN_BATCHNORM_SPATIAL_PERSISTENT, 2)

#define PM_ABI_cudnnBatchNormOps_t(X) \
	X(CUDNN_BATCHNORM_OPS_BN, 0) X(CUDNN_BATCHNORM_OPS_BN_ACTIVATION, 1) \
	X(CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION, 2)

#define PM_ABI_cudnnNormMode_t(X) \
	X(CUDNN_NORM_PER_ACTIVATION, 0) X(CUDNN_NORM_PER_CHANNEL, 1)

#define PM_ABI_cudnnNormOps_t(X) \
	X(CUDNN_NORM_OPS_NORM, 0) X(CUDNN_NORM_OPS_NORM_ACTIVATION, 1) \
	X(CUDNN_NORM_OPS_NORM_ADD_ACTIVATION, 2)

#define PM_ABI_cudnnNormAlgo_t(X) \
	X(CUDNN_NORM_ALGO_STANDARD, 0) X(CUDNN_NORM_ALGO_PERSIST, 1)

#define PM_ABI_cudnnLRNMode_t(X) \
	X(CUDNN_LRN_CROSS_CHANNEL_DIM1, 0)

#define PM_ABI_cudnnOpTensorOp_t(X) \
	X(CUDNN_OP_TENSOR_ADD, 0) X(CUDNN_OP_TENSOR_MUL, 1) X(CUDNN_OP_TENSOR_MIN, 2) \
	X(CUDNN_OP_TENSOR_MAX, 3) X(CUDNN_OP_TENSOR_SQRT, 4) X(CUDNN_OP_TENSOR_NOT, 5)

#define PM_ABI_cudnnReduceTensorOp_t(X) \
	X(CUDNN_REDUCE_TENSOR_ADD, 0) X(CUDNN_REDUCE_TENSOR_MUL, 1) X(CUDNN_REDUCE_TENSOR_MIN, 2) \
	X(CUDNN_REDUCE_TENSOR_MAX, 3) X(CUDNN_REDUCE_TENSOR_AMAX, 4) X(CUDNN_REDUCE_TENSOR_AVG, 5) \
	X(CUDNN_REDUCE_TENSOR_NORM1, 6) X(CUDNN_REDUCE_TENSOR_NORM2, 7) \
	X(CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS, 8)

#define PM_ABI_cudnnReduceTensorIndices_t(X) \
	X(CUDNN_REDUCE_TENSOR_NO_INDICES, 0) X(CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, 1)

#define PM_ABI_cudnnIndicesType_t(X) \
	X(CUDNN_32BIT_INDICES, 0) X(CUDNN_64BIT_INDICES, 1) X(CUDNN_16BIT_INDICES, 2) \
	X(CUDNN_8BIT_INDICES, 3)

#define PM_ABI_cublasStatus_t(X) \
	X(CUBLAS_STATUS_SUCCESS, 0) X(CUBLAS_STATUS_NOT_INITIALIZED, 1) X(CUBLAS_STATUS_ALLOC_FAILED, 3) \
	X(CUBLAS_STATUS_INVALID_VALUE, 7) X(CUBLAS_STATUS_ARCH_MISMATCH, 8) \
	X(CUBLAS_STATUS_MAPPING_ERROR, 11) X(CUBLAS_STATUS_EXECUTION_FAILED, 13) \
	X(CUBLAS_STATUS_INTERNAL_ERROR, 14) X(CUBLAS_STATUS_NOT_SUPPORTED, 15) \
	X(CUBLAS_STATUS_LICENSE_ERROR, 16)

#define PM_ABI_cublasOperation_t(X) \
	X(CUBLAS_OP_N, 0) X(CUBLAS_OP_T, 1) X(CUBLAS_OP_C, 2) X(CUBLAS_OP_CONJG, 3)

#define PM_ABI_cublasPointerMode_t(X) \
	X(CUBLAS_POINTER_MODE_HOST, 0) X(CUBLAS_POINTER_MODE_DEVICE, 1)

#define PM_ABI_cublasMath_t(X) \
	X(CUBLAS_DEFAULT_MATH, 0) X(CUBLAS_PEDANTIC_MATH, 2) X(CUBLAS_TF32_TENSOR_OP_MATH, 3)

#define PM_ABI_cublasAtomicsMode_t(X) \
	X(CUBLAS_ATOMICS_NOT_ALLOWED, 0) X(CUBLAS_ATOMICS_ALLOWED, 1)

#define PM_ABI_cublasSideMode_t(X) \
	X(CUBLAS_SIDE_LEFT, 0) X(CUBLAS_SIDE_RIGHT, 1)

#define PM_ABI_cublasComputeType_t(X) \
	X(CUBLAS_COMPUTE_16F, 64) X(CUBLAS_COMPUTE_16F_PEDANTIC, 65) X(CUBLAS_COMPUTE_32F, 68) \
	X(CUBLAS_COMPUTE_32F_PEDANTIC, 69) X(CUBLAS_COMPUTE_32F_FAST_16F, 74) \
	X(CUBLAS_COMPUTE_32F_FAST_16BF, 75) X(CUBLAS_COMPUTE_32F_FAST_TF32, 77) X(CUBLAS_COMPUTE_64F, 70) \
	X(CUBLAS_COMPUTE_64F_PEDANTIC, 71) X(CUBLAS_COMPUTE_32I, 72) X(CUBLAS_COMPUTE_32I_PEDANTIC, 73)

#define PM_ABI_cublasGemmAlgo_t(X) \
	X(CUBLAS_GEMM_DEFAULT, -1) X(CUBLAS_GEMM_DEFAULT_TENSOR_OP, 99)

#define PM_ABI_ncclResult_t(X) \
	X(ncclSuccess, 0) X(ncclUnhandledCudaError, 1) X(ncclSystemError, 2) X(ncclInternalError, 3) \
	X(ncclInvalidArgument, 4) X(ncclInvalidUsage, 5) X(ncclRemoteError, 6) X(ncclInProgress, 7) \
	X(ncclNumResults, 8)

#define PM_ABI_ncclDataType_t(X) \
	X(ncclInt8, 0) X(ncclUint8, 1) X(ncclInt32, 2) X(ncclUint32, 3) X(ncclInt64, 4) X(ncclUint64, 5) \
	X(ncclFloat16, 6) X(ncclFloat32, 7) X(ncclFloat64, 8) X(ncclBfloat16, 9) X(ncclFloat8e4m3, 10) \
	X(ncclFloat8e5m2, 11) X(ncclNumTypes, 12)

#define PM_ABI_ncclRedOp_t(X) \
	X(ncclSum, 0) X(ncclProd, 1) X(ncclMax, 2) X(ncclMin, 3) X(ncclAvg, 4) \
	X(ncclMaxRedOp, 0x7fffffff)

#define PM_ABI_ncclScalarResidence_t(X) \
	X(ncclScalarDevice, 0) X(ncclScalarHostImmediate, 1)

/* Every list above. */
#define PM_ABI_ENUMS(E) \
	E(cudaError) E(cudaMemcpyKind) E(cudaStreamCaptureStatus) E(cudaStreamCaptureMode) \
	E(cudaFuncAttribute) E(cudaDeviceAttr) E(cudaMemoryType) E(cudaMemLocationType) \
	E(cudaChannelFormatKind) E(cudaDataType_t) E(cudnnStatus_t) E(cudnnDataType_t) \
	E(cudnnTensorFormat_t) E(cudnnNanPropagation_t) E(cudnnMathType_t) E(cudnnReorderType_t) \
	E(cudnnConvolutionMode_t) E(cudnnConvolutionFwdAlgo_t) E(cudnnConvolutionBwdDataAlgo_t) \
	E(cudnnConvolutionBwdFilterAlgo_t) E(cudnnDeterminism_t) E(cudnnPoolingMode_t) \
	E(cudnnActivationMode_t) E(cudnnSoftmaxAlgorithm_t) E(cudnnSoftmaxMode_t) E(cudnnBatchNormMode_t) \
	E(cudnnBatchNormOps_t) E(cudnnNormMode_t) E(cudnnNormOps_t) E(cudnnNormAlgo_t) E(cudnnLRNMode_t) \
	E(cudnnOpTensorOp_t) E(cudnnReduceTensorOp_t) E(cudnnReduceTensorIndices_t) E(cudnnIndicesType_t) \
	E(cublasStatus_t) E(cublasOperation_t) E(cublasPointerMode_t) E(cublasMath_t) \
	E(cublasAtomicsMode_t) E(cublasSideMode_t) E(cublasComputeType_t) E(cublasGemmAlgo_t) \
	E(ncclResult_t) E(ncclDataType_t) E(ncclRedOp_t) E(ncclScalarResidence_t)

#ifdef PM_HAVE_CUDA
#include <cuda_runtime_api.h>
#include <cuda_profiler_api.h>
#include <cudnn.h>
#include <cublas_v2.h>
#include <nccl.h>
#else

#define PM_ENUMERATOR(name, value) name = value,
#define PM_ENUM(type) typedef enum type { PM_ABI_##type(PM_ENUMERATOR) } type;
PM_ABI_ENUMS(PM_ENUM)
#undef PM_ENUM
#undef PM_ENUMERATOR
typedef enum cudaError cudaError_t;
typedef enum cudaDataType_t cudaDataType;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;
typedef struct cudaArray *cudaArray_t;
typedef struct CUkern_st *cudaKernel_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnPoolingStruct *cudnnPoolingDescriptor_t;
typedef struct cudnnActivationStruct *cudnnActivationDescriptor_t;
typedef struct cudnnLRNStruct *cudnnLRNDescriptor_t;
typedef struct cudnnDropoutStruct *cudnnDropoutDescriptor_t;
typedef struct cudnnOpTensorStruct *cudnnOpTensorDescriptor_t;
typedef struct cudnnReduceTensorStruct *cudnnReduceTensorDescriptor_t;
typedef struct cublasContext *cublasHandle_t;
typedef struct ncclComm *ncclComm_t;

typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);
typedef void (*cudaHostFn_t)(void *data);

typedef struct dim3 {
	unsigned int x, y, z;
} dim3;

typedef struct uint3 {
	unsigned int x, y, z;
} uint3;

struct cudaPos {
	size_t x, y, z;
};

struct cudaExtent {
	size_t width, height, depth;
};

struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;
};

struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	struct cudaExtent extent;
	enum cudaMemcpyKind kind;
};

struct cudaMemcpy3DPeerParms {
	cudaArray_t srcArray;
	struct cudaPos srcPos;
	struct cudaPitchedPtr srcPtr;
	int srcDevice;
	cudaArray_t dstArray;
	struct cudaPos dstPos;
	struct cudaPitchedPtr dstPtr;
	int dstDevice;
	struct cudaExtent extent;
};

struct cudaMemLocation {
	enum cudaMemLocationType type;
	int id;
};

struct cudaPointerAttributes {
	enum cudaMemoryType type;
	int device;
	void *devicePointer;
	void *hostPointer;
	long reserved[8];
};

typedef struct cudaLaunchConfig_st {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	struct cudaLaunchAttribute_st *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

/* Only the fields in use have their names. */
struct cudaDeviceProp {
	char name[256];
	char unnamed0[32];
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int unnamed1;
	int warpSize;
	size_t unnamed2;
	int maxThreadsPerBlock;
	int unnamed3[9];
	int major;
	int minor;
	int unnamed4[4];
	int multiProcessorCount;
	int unnamed5[155];
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, ptxVersion, binaryVersion;
	long unnamed[13];
};

struct cudaChannelFormatDesc {
	int x, y, z, w;
	enum cudaChannelFormatKind f;
};

struct cudaMemcpyAttributes;
typedef struct cudaGraphEdgeData_st cudaGraphEdgeData;

typedef struct cudnnConvolutionFwdAlgoPerfStruct {
	cudnnConvolutionFwdAlgo_t algo;
	cudnnStatus_t status;
	float time; /* milliseconds */
	size_t memory;
	cudnnDeterminism_t determinism;
	cudnnMathType_t mathType;
	int reserved[3];
} cudnnConvolutionFwdAlgoPerf_t;

typedef struct cudnnConvolutionBwdDataAlgoPerfStruct {
	cudnnConvolutionBwdDataAlgo_t algo;
	cudnnStatus_t status;
	float time; /* milliseconds */
	size_t memory;
	cudnnDeterminism_t determinism;
	cudnnMathType_t mathType;
	int reserved[3];
} cudnnConvolutionBwdDataAlgoPerf_t;

typedef struct cudnnConvolutionBwdFilterAlgoPerfStruct {
	cudnnConvolutionBwdFilterAlgo_t algo;
	cudnnStatus_t status;
	float time; /* milliseconds */
	size_t memory;
	cudnnDeterminism_t determinism;
	cudnnMathType_t mathType;
	int reserved[3];
} cudnnConvolutionBwdFilterAlgoPerf_t;

typedef struct ncclUniqueId {
	char internal[128];
} ncclUniqueId;

typedef struct ncclConfig ncclConfig_t;
typedef struct ncclSimInfo ncclSimInfo_t;

#endif
#endif
