/*
 * Calls that change what later ones mean (descriptors, streams, handles, devices, contexts, communicators,
 * groups, kernels, graphs, cublasLt's and cuDNN's own objects) with given numbers, and what the trace then
 * must say of a call that uses them, as literal text.
 *
 * Run with libpmhook.so preloaded, PMHOOK_DEVICE=none and PMHOOK_OUT set to an empty folder.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peek.h"
#include "pm_abi.h"
#include "pm_hooks.h"
#include "strict_library.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after) result name PM_PARAMETERS pairs;
#define PM_WATCH(library, result, name, pairs, after) result name PM_PARAMETERS pairs;
#include "pm_hooks.def"
__attribute__((weak)) void __cudaRegisterFunction(void **module, const char *host_function,
	char *device_function, const char *device_name, int thread_limit, void *thread_id, void *block_id,
	void *block_size, void *grid_size, int *warp_size);
__attribute__((weak)) cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
	const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
	cublasLtMatrixLayout_t b_layout, const void *beta, const void *c, cublasLtMatrixLayout_t c_layout,
	void *d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream);

/* ---- promises: what is said of the call whose address or size is a number that no other has ---- */

#define PROMISES 1024
static struct {
	const char *text;
	int line;
	bool kept;
} promises[PROMISES];
static unsigned promise_count;
#define FIRST 0x40000000u

static uintptr_t promise(const char *text, int line)
{
	if (promise_count == PROMISES)
		errx(1, "too many promises");
	promises[promise_count].text = text;
	promises[promise_count].line = line;
	return FIRST + 16 * promise_count++;
}
#define PROMISE(text) promise(text, __LINE__)
#define AT(text) ((void *)PROMISE(text))

/* Objects that calls refer to: addresses of their own. */
static _Alignas(64) unsigned char objects[256][1024];
static unsigned object_count;

static void *new_object(void)
{
	if (object_count == sizeof objects / sizeof objects[0])
		errx(1, "too many objects");
	return objects[object_count++];
}

static cublasHandle_t blas;

/* Uses. Any descriptor will do for a tensor's: the library does not look. */
#define DESCRIPTOR_IS(d, text) \
	cudnnSetTensor((cudnnHandle_t)blas, (cudnnTensorDescriptor_t)(d), AT(text), NULL)
#define STREAM_IS(s, text) cudaMemsetAsync(AT(text), 0, 1, s)
#define DEVICE_IS(text) cudaMemset(AT(text), 0, 1)
#define HANDLE_IS(h, text) cublasSscal_v2(h, 1, &(float){1}, AT(text), 1)
#define COMM_IS(c, text) ncclAllReduce(AT(text), NULL, 1, ncclFloat32, ncclSum, c, NULL)
#define KERNEL_IS(f, text) cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, (unsigned)PROMISE(text), NULL, NULL, NULL)

/* ---- cuDNN's descriptors: PM_FORMAT_DESCRIPTORS, where types are 1 F32, 2 F64, 3 F16, 4 BF16, 5 I8, 6 U8, 7
 * I32, 9 I64, 11 other ---- */

static void tensors(void)
{
	static const struct {
		cudnnDataType_t type;
		const char *text;
	} types[] = {{CUDNN_DATA_FLOAT, "y={TENSOR 1 1 9 1}"}, {CUDNN_DATA_DOUBLE, "y={TENSOR 2 1 9 1}"},
		{CUDNN_DATA_HALF, "y={TENSOR 3 1 9 1}"}, {CUDNN_DATA_BFLOAT16, "y={TENSOR 4 1 9 1}"},
		{CUDNN_DATA_INT8, "y={TENSOR 5 1 9 1}"}, {CUDNN_DATA_UINT8, "y={TENSOR 6 1 9 1}"},
		{CUDNN_DATA_INT32, "y={TENSOR 7 1 9 1}"}, {CUDNN_DATA_INT64, "y={TENSOR 9 1 9 1}"},
		{CUDNN_DATA_BOOLEAN, "y={TENSOR 11 1 9 1}"}};
	const int dims[] = {2, 3, 5, 7, 11}, strides[] = {90, 1, 30, 10, 4};
	cudnnTensorDescriptor_t t = new_object();

	DESCRIPTOR_IS(t, "y=none");
	cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_HALF, 2, 3, 5, 7);
	DESCRIPTOR_IS(t, "y={TENSOR 3 4 2 3 5 7 105 35 7 1}");
	cudnnSetTensor4dDescriptor(t, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF, 2, 3, 5, 7);
	DESCRIPTOR_IS(t, "y={TENSOR 3 4 2 3 5 7 105 1 21 3}");
	cudnnSetTensor4dDescriptorEx(t, CUDNN_DATA_FLOAT, 2, 3, 5, 7, 400, 100, 20, 2);
	DESCRIPTOR_IS(t, "y={TENSOR 1 4 2 3 5 7 400 100 20 2}");
	cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, 5, dims, strides);
	DESCRIPTOR_IS(t, "y={TENSOR 1 5 2 3 5 7 11 90 1 30 10 4}");
	cudnnSetTensorNdDescriptorEx(t, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 5, dims);
	DESCRIPTOR_IS(t, "y={TENSOR 1 5 2 3 5 7 11 1155 385 77 11 1}");
	cudnnSetTensorNdDescriptorEx(t, CUDNN_TENSOR_NHWC, CUDNN_DATA_FLOAT, 5, dims);
	DESCRIPTOR_IS(t, "y={TENSOR 1 5 2 3 5 7 11 1155 1 231 33 3}");
	for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
		cudnnSetTensorNdDescriptor(t, types[i].type, 1, (int[]){9}, (int[]){1});
		DESCRIPTOR_IS(t, types[i].text);
	}
	cudnnDestroyTensorDescriptor(t);
	DESCRIPTOR_IS(t, "y=none");
}

static void convolutions(void)
{
	cudnnFilterDescriptor_t w = new_object();
	cudnnConvolutionDescriptor_t c = new_object();
	cudnnPoolingDescriptor_t p = new_object();

	cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 8, 4, 3, 2);
	DESCRIPTOR_IS(w, "y={FILTER 3 1 4 8 4 3 2}");
	cudnnSetFilterNdDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 3, (int[]){8, 4, 3});
	DESCRIPTOR_IS(w, "y={FILTER 1 0 3 8 4 3}");
	/* n pads strides dilations mode type groups math */
	cudnnSetConvolution2dDescriptor(c, 1, 2, 3, 4, 5, 6, CUDNN_CROSS_CORRELATION, CUDNN_DATA_DOUBLE);
	DESCRIPTOR_IS(c, "y={CONVOLUTION 2 1 2 3 4 5 6 1 2 1 0}");
	cudnnSetConvolutionGroupCount(c, 8);
	DESCRIPTOR_IS(c, "y={CONVOLUTION 2 1 2 3 4 5 6 1 2 8 0}");
	cudnnSetConvolutionMathType(c, CUDNN_FMA_MATH);
	DESCRIPTOR_IS(c, "y={CONVOLUTION 2 1 2 3 4 5 6 1 2 8 3}");
	cudnnSetConvolutionNdDescriptor(c, 3, (int[]){1, 2, 3}, (int[]){4, 5, 6}, (int[]){7, 8, 9},
		CUDNN_CONVOLUTION, CUDNN_DATA_FLOAT);
	DESCRIPTOR_IS(c, "y={CONVOLUTION 3 1 2 3 4 5 6 7 8 9 0 1 1 0}");
	/* mode n windows pads strides */
	cudnnSetPooling2dDescriptor(
		p, CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING, CUDNN_PROPAGATE_NAN, 2, 3, 4, 5, 6, 7);
	DESCRIPTOR_IS(p, "y={POOLING 1 2 2 3 4 5 6 7}");
	cudnnSetPoolingNdDescriptor(p, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 3, (int[]){2, 3, 4},
		(int[]){5, 6, 7}, (int[]){8, 9, 10});
	DESCRIPTOR_IS(p, "y={POOLING 0 3 2 3 4 5 6 7 8 9 10}");
	cudnnDestroyFilterDescriptor(w);
	cudnnDestroyConvolutionDescriptor(c);
	cudnnDestroyPoolingDescriptor(p);
	DESCRIPTOR_IS(w, "y=none");
	DESCRIPTOR_IS(c, "y=none");
	DESCRIPTOR_IS(p, "y=none");
}

static void other_layers(void)
{
	cudnnActivationDescriptor_t a = new_object();
	cudnnDropoutDescriptor_t d = new_object();
	cudnnOpTensorDescriptor_t o = new_object();
	cudnnReduceTensorDescriptor_t r = new_object();
	cudnnLRNDescriptor_t l = new_object();

	cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_CLIPPED_RELU, CUDNN_PROPAGATE_NAN, 6.5);
	DESCRIPTOR_IS(a, "y={ACTIVATION 3 6500000}");
	cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_ELU, CUDNN_PROPAGATE_NAN, -0.25);
	DESCRIPTOR_IS(a, "y={ACTIVATION 4 -250000}");
	cudnnSetActivationDescriptor(a, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, 1e300);
	DESCRIPTOR_IS(a, "y={ACTIVATION 1 9223372036854775807}");
	cudnnSetDropoutDescriptor(d, NULL, 0.25f, NULL, 0, 77);
	DESCRIPTOR_IS(d, "y={DROPOUT 250000 77}");
	cudnnRestoreDropoutDescriptor(d, NULL, 0.5f, NULL, 0, 78);
	DESCRIPTOR_IS(d, "y={DROPOUT 500000 78}");
	cudnnSetOpTensorDescriptor(o, CUDNN_OP_TENSOR_SQRT, CUDNN_DATA_DOUBLE, CUDNN_PROPAGATE_NAN);
	DESCRIPTOR_IS(o, "y={OP_TENSOR 4 2}");
	cudnnSetReduceTensorDescriptor(r, CUDNN_REDUCE_TENSOR_AVG, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
		CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, CUDNN_8BIT_INDICES);
	DESCRIPTOR_IS(r, "y={REDUCE 5 1 1}");
	cudnnSetLRNDescriptor(l, 5, 0.0001, 0.75, 2);
	DESCRIPTOR_IS(l, "y={LRN 5 100 750000 2000000}");
	cudnnDestroyActivationDescriptor(a);
	cudnnDestroyDropoutDescriptor(d);
	cudnnDestroyOpTensorDescriptor(o);
	cudnnDestroyReduceTensorDescriptor(r);
	cudnnDestroyLRNDescriptor(l);
	DESCRIPTOR_IS(a, "y=none");
	DESCRIPTOR_IS(d, "y=none");
	DESCRIPTOR_IS(o, "y=none");
	DESCRIPTOR_IS(r, "y=none");
	DESCRIPTOR_IS(l, "y=none");
}

static void sequences(void)
{
	cudnnRNNDescriptor_t r = new_object();
	cudnnRNNDataDescriptor_t data = new_object();
	cudnnAttnDescriptor_t a = new_object();
	cudnnSeqDataDescriptor_t s = new_object();

	/* cell bias direction input_mode type math input_size hidden_size projection_size layers */
	cudnnSetRNNDescriptor_v8(r, CUDNN_RNN_ALGO_PERSIST_STATIC, CUDNN_GRU, CUDNN_RNN_DOUBLE_BIAS,
		CUDNN_BIDIRECTIONAL, CUDNN_SKIP_INPUT, CUDNN_DATA_HALF, CUDNN_DATA_FLOAT, CUDNN_FMA_MATH, 10,
		20, 30, 40, NULL, 50);
	DESCRIPTOR_IS(r, "y={RNN 3 2 1 1 3 3 10 20 30 40}");
	cudnnSetRNNDataDescriptor(
		data, CUDNN_DATA_FLOAT, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, 10, 20, 30, NULL, NULL);
	DESCRIPTOR_IS(data, "y={TENSOR 1 3 10 20 30 600 30 1}");
	/* heads, sizes of q k v, their projections and o's, lengths of qo and kv, batch, beam */
	cudnnSetAttnDescriptor(a, 1, 2, 0.5, CUDNN_DATA_FLOAT, CUDNN_DATA_FLOAT, CUDNN_DEFAULT_MATH, NULL,
		NULL, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
	DESCRIPTOR_IS(a, "y={ATTENTION 2 3 4 5 6 7 8 9 10 11 12 13}");
	cudnnSetSeqDataDescriptor(s, CUDNN_DATA_FLOAT, 4, (int[]){2, 3, 4, 5}, NULL, 0, NULL, NULL);
	DESCRIPTOR_IS(s, "y={TENSOR 1 4 2 3 4 5 60 20 5 1}");
	cudnnDestroyRNNDescriptor(r);
	cudnnDestroyRNNDataDescriptor(data);
	cudnnDestroyAttnDescriptor(a);
	cudnnDestroySeqDataDescriptor(s);
	DESCRIPTOR_IS(r, "y=none");
	DESCRIPTOR_IS(data, "y=none");
	DESCRIPTOR_IS(a, "y=none");
	DESCRIPTOR_IS(s, "y=none");
}

/* ---- devices, streams, handles, contexts: queue=DEVICE:STREAM, streams by the order in which they are made
 * ---- */

static void streams(void)
{
	cudaStream_t s[5];

	for (int i = 0; i < 5; i++)
		s[i] = new_object();
	cudaSetDevice(4);
	cudaStreamCreate(&s[0]);
	cudaSetDevice(5);
	cudaStreamCreateWithFlags(&s[1], 1);
	cudaSetDevice(6);
	cudaStreamCreateWithPriority(&s[2], 1, -1);
	cudaSetDevice(7);
	cuStreamCreate(&s[3], 1);
	cudaSetDevice(8);
	cuStreamCreateWithPriority(&s[4], 1, -1);
	cudaSetDevice(9);
	STREAM_IS(s[0], "queue=4:object");
	STREAM_IS(s[1], "queue=5:object");
	STREAM_IS(s[2], "queue=6:object");
	STREAM_IS(s[3], "queue=7:object");
	STREAM_IS(s[4], "queue=8:object");
	STREAM_IS(NULL, "queue=9:0");
	STREAM_IS((cudaStream_t)1, "queue=9:1");
	STREAM_IS((cudaStream_t)2, "queue=9:2");
	cudaSetDevice(8);
	STREAM_IS((cudaStream_t)2, "queue=8:2");
	STREAM_IS((cudaStream_t)1, "queue=8:1");
	cudaSetDevice(9);
	STREAM_IS((cudaStream_t)1, "queue=9:1");
	DEVICE_IS("queue=9:0");
	/* a stream whose making was not seen is the current device's */
	STREAM_IS(new_object(), "queue=9:object");
	/* and one that comes again at an address is made again */
	cudaStreamDestroy(s[0]);
	cudaStreamCreate(&s[0]);
	STREAM_IS(s[0], "queue=9:object");
	cudaSetDevice(0);
}

static void handles(void)
{
	cudnnHandle_t dnn = new_object();
	cublasHandle_t other = new_object();
	cudaStream_t s = new_object();

	cudaSetDevice(3);
	cudaStreamCreate(&s);
	cudaSetDevice(2);
	cublasCreate_v2(&other);
	cudnnCreate(&dnn);
	cudaSetDevice(1);
	HANDLE_IS(other, "queue=2:0");
	HANDLE_IS((cublasHandle_t)dnn, "queue=2:0");
	cublasSetStream_v2(other, s);
	HANDLE_IS(other, "queue=3:object");
	HANDLE_IS((cublasHandle_t)dnn, "queue=2:0");
	cudnnSetStream(dnn, s);
	HANDLE_IS((cublasHandle_t)dnn, "queue=3:object");
	cublasSetStream_v2(other, NULL);
	HANDLE_IS(other, "queue=3:0");
	cublasCreate_v2(&other);
	HANDLE_IS(other, "queue=1:0");
	HANDLE_IS(new_object(), "queue=1:0");
	cublasSetPointerMode_v2(other, CUBLAS_POINTER_MODE_DEVICE);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, &(float){0}, AT("beta=3"), 1);
	cublasSetPointerMode_v2(other, CUBLAS_POINTER_MODE_HOST);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, &(float){0}, AT("beta=0"), 1);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, NULL, AT("beta=3"), 1);
	cublasSetPointerMode_v2(other, CUBLAS_POINTER_MODE_DEVICE);
	cublasCreate_v2(&other);
	cublasSgemv_v2(other, CUBLAS_OP_N, 1, 1, NULL, NULL, 1, NULL, 1, &(float){0}, AT("beta=0"), 1);
	cudaSetDevice(0);
}

static void contexts(void)
{
	CUcontext c[4] = {new_object(), new_object(), new_object(), new_object()}, popped = NULL;

	cuDevicePrimaryCtxRetain(&c[0], 4);
	DEVICE_IS("queue=0:0");
	cuCtxSetCurrent(c[0]);
	DEVICE_IS("queue=4:0");
	cuCtxCreate_v2(&c[1], 0, 5);
	DEVICE_IS("queue=5:0");
	cuCtxCreate_v3(&c[2], NULL, 0, 0, 6);
	DEVICE_IS("queue=6:0");
	cuCtxCreate_v4(&c[3], NULL, 0, 7);
	DEVICE_IS("queue=7:0");
	cuCtxPushCurrent_v2(c[1]);
	DEVICE_IS("queue=5:0");
	strict_device = 7;
	cuCtxPopCurrent_v2(&popped);
	DEVICE_IS("queue=7:0");
	cudaSetDevice(0);
	DEVICE_IS("queue=0:0");
}

/* ---- NCCL: comm=RANK/SIZE on DEVICE, #n for the n-th hash that is seen ---- */

static void communicators(void)
{
	ncclComm_t a = new_object(), b = new_object(), c = new_object(),
		   all[3] = {new_object(), new_object(), new_object()};
	ncclComm_t part = new_object(), other_part = new_object(), rest = new_object();
	ncclUniqueId first = {.internal = "first"}, ids[2] = {{.internal = "second"}, {.internal = "third"}};

	COMM_IS(new_object(), "comm=none seq=0");
	cudaSetDevice(2);
	ncclCommInitRank(&a, 8, first, 5);
	cudaSetDevice(0);
	COMM_IS(a, "comm=5/8 on 2 #1 seq=1");
	COMM_IS(a, "comm=5/8 on 2 #1 seq=2");
	ncclCommInitRankConfig(&b, 8, first, 6, NULL); /* another rank of the same one: a count of its own */
	COMM_IS(b, "comm=6/8 on 0 #1 seq=1");
	ncclSend(AT("comm=6/8 on 0 #1 seq=1"), 1, ncclInt8, 0, b, NULL);
	COMM_IS(b, "comm=6/8 on 0 #1 seq=2");
	ncclCommInitRankScalable(&c, 9, 4, 2, ids, NULL);
	COMM_IS(c, "comm=4/9 on 0 #2 seq=1");
	ncclCommInitRankScalable(&c, 9, 4, 1, ids, NULL);
	COMM_IS(c, "comm=4/9 on 0 #3 seq=1");
	ncclCommInitAll(all, 3, (int[]){4, 6, 5});
	COMM_IS(all[0], "comm=0/3 on 4 #4 seq=1");
	COMM_IS(all[1], "comm=1/3 on 6 #4 seq=1");
	COMM_IS(all[2], "comm=2/3 on 5 #4 seq=1");
	ncclCommInitAll(all, 3, NULL);
	COMM_IS(all[2], "comm=2/3 on 2 #5 seq=1");
	strict_comm_size = 4;
	strict_comm_rank = 3;
	ncclCommSplit(a, 1, 0, &part, NULL);
	COMM_IS(part, "comm=3/4 on 2 #6 seq=1");
	ncclCommSplit(b, 1, 0, &other_part, NULL); /* the other rank finds the same */
	COMM_IS(other_part, "comm=3/4 on 0 #6 seq=1");
	ncclCommSplit(a, 2, 0, &part, NULL);
	COMM_IS(part, "comm=3/4 on 2 #7 seq=1");
	ncclCommSplit(a, 2, 0, &part, NULL); /* the same colour again is another one */
	COMM_IS(part, "comm=3/4 on 2 #8 seq=1");
	strict_comm_size = 7;
	ncclCommShrink(a, (int[]){1}, 1, &rest, NULL, 0);
	COMM_IS(rest, "comm=3/7 on 2 #9 seq=1");
	ncclCommShrink(a, (int[]){2}, 1, &rest, NULL, 0);
	COMM_IS(rest, "comm=3/7 on 2 #10 seq=1");
}

/* Which parts of communicators are the same one: those of the same parent, with the same colour, at the same
 * time. */
static void parts(void)
{
	ncclComm_t a = new_object(), b = new_object(), c = new_object(), part = new_object();
	ncclUniqueId same = {.internal = "parts"}, other = {.internal = "others"};

	for (int again = 0; again < 2; again++) {
		same.internal[100] = other.internal[100] = (char)again;
		ncclCommInitRank(&a, 2, same, 0);
		ncclCommInitRank(&b, 2, same, 1);
		ncclCommInitRank(&c, 2, other, 0);
		strict_comm_size = 2;
		ncclCommSplit(a, 1, 0, &part, NULL);
		COMM_IS(part, again ? "#17 seq=1" : "#11 seq=1");
		ncclCommSplit(b, 2, 0, &part, NULL);
		COMM_IS(part, again ? "#18 seq=1" : "#12 seq=1");
		ncclCommSplit(c, 1, 0, &part, NULL);
		COMM_IS(part, again ? "#19 seq=1" : "#13 seq=1");
		ncclCommShrink(a, (int[]){1, 2}, 2, &part, NULL, 0);
		COMM_IS(part, again ? "#20 seq=1" : "#14 seq=1");
		ncclCommShrink(b, (int[]){1, 3}, 2, &part, NULL, 0);
		COMM_IS(part, again ? "#21 seq=1" : "#15 seq=1");
		ncclCommShrink(c, (int[]){1, 2}, 2, &part, NULL, 0);
		COMM_IS(part, again ? "#22 seq=1" : "#16 seq=1");
		if (!again) /* at the same address, from here on with fewer splits */
			ncclCommSplit(a, 1, 0, &part, NULL);
	}
	same.internal[100] = 3;
	ncclCommInitRank(&a, 2, same, 0);
	ncclCommInitRank(&part, 2, same, 1);
	ncclCommSplit(a, 5, 0, &c, NULL);
	COMM_IS(c, "#23 seq=1");
	ncclCommSplit(part, 5, 0, &c, NULL);
	COMM_IS(c, "#23 seq=2");
}

static void groups(void)
{
	ncclComm_t a = new_object();
	ncclUniqueId id = {.internal = "groups"};

	ncclCommInitRank(&a, 2, id, 0);
	COMM_IS(a, "group=0");
	ncclGroupStart();
	COMM_IS(a, "group=1");
	ncclGroupStart();
	COMM_IS(a, "group=1");
	ncclGroupEnd();
	COMM_IS(a, "group=1");
	ncclGroupEnd();
	COMM_IS(a, "group=0");
	for (int i = 2; i <= 254; i++) {
		ncclGroupStart();
		ncclGroupEnd();
	}
	ncclGroupStart();
	COMM_IS(a, "group=255");
	ncclGroupEnd();
	ncclGroupStart();
	COMM_IS(a, "group=1 ");
	ncclGroupEnd();
}

/* ---- kernels and graphs ---- */

static void kernels(void)
{
	void *f = new_object(), *g = new_object(), *h = new_object(), *unknown = new_object();
	char passing[16] = "passing";

	KERNEL_IS(unknown, "kernel= ");
	cuModuleGetFunction((CUfunction *)&f, NULL, passing);
	snprintf(passing, sizeof passing, "another");
	KERNEL_IS(f, "kernel=passing ");
	cuLibraryGetKernel((CUkernel *)&g, NULL, passing);
	KERNEL_IS(g, "kernel=another ");
	cuKernelGetFunction((CUfunction *)&h, g);
	KERNEL_IS(h, "kernel=another ");
	f = new_object();
	cudaLibraryGetKernel((cudaKernel_t *)&f, NULL, "third");
	KERNEL_IS(f, "kernel=third ");
	g = new_object();
	cudaGetKernel((cudaKernel_t *)&g, f);
	KERNEL_IS(g, "kernel=third ");
	g = new_object();
	__cudaGetKernel((cudaKernel_t *)&g, h);
	KERNEL_IS(g, "kernel=another ");
	/* one that was only registered has a name, and no number yet */
	f = new_object();
	g = new_object();
	__cudaRegisterFunction(NULL, f, NULL, "registered", 0, NULL, NULL, NULL, NULL, NULL);
	cudaGetKernel((cudaKernel_t *)&g, f);
	KERNEL_IS(g, "kernel=registered ");
}

static cudaGraph_t capture(unsigned sets, unsigned nodes_each, cudaStream_t s)
{
	cudaGraph_t graph = new_object();

	strict_captured = s;
	strict_capture++;
	strict_graph = graph;
	strict_nodes = 0;
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	for (unsigned i = 0; i < sets; i++) {
		strict_nodes += nodes_each;
		cudaMemsetAsync(AT("flags=2"), 0, 1, s);
	}
	cudaMemset(AT("flags=2"), 0, 1); /* the legacy stream counts as captured, and is in no graph */
	STREAM_IS(STRICT_STREAM(0, 9), "flags=0");
	strict_captured = NULL;
	cudaStreamEndCapture(s, &graph);
	STREAM_IS(s, "flags=0");
	return graph;
}

/* Communication in a group goes into the graph when the group ends. */
static cudaGraph_t capture_group(cudaStream_t s)
{
	cudaGraph_t graph = new_object();

	strict_captured = s;
	strict_capture++;
	strict_graph = graph;
	strict_nodes = 0;
	cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
	ncclGroupStart();
	for (int i = 0; i < 2; i++)
		ncclAllReduce(AT("flags=2"), NULL, 1, ncclFloat32, ncclSum, NULL, s);
	strict_nodes = 3;
	ncclGroupEnd();
	strict_captured = NULL;
	cudaStreamEndCapture(s, &graph);
	return graph;
}

static struct {
	uint64_t exec;
	const char *text;
	int line;
} launches[64];
static unsigned launch_count, launches_seen;

static void launched(cudaGraphExec_t exec, const char *text, int line)
{
	launches[launch_count].exec = (uint64_t)(uintptr_t)exec;
	launches[launch_count].text = text;
	launches[launch_count++].line = line;
	cudaGraphLaunch(exec, NULL);
}
#define LAUNCHED(exec, text) launched(exec, text, __LINE__)

static void graphs(void)
{
	cudaGraphExec_t e[7];
	cudaStream_t s = new_object();
	cudaGraph_t first, second;

	for (int i = 0; i < 7; i++)
		e[i] = new_object();
	cudaStreamCreate(&s);
	LAUNCHED(e[0], "none");
	first = capture(3, 1, s);
	second = capture(2, 4, s);
	cudaGraphInstantiate(&e[0], first, 0);
	cudaGraphInstantiateWithFlags(&e[1], second, 0);
	cudaGraphInstantiateWithParams(&e[2], first, NULL);
	cudaGraphInstantiateWithParams_ptsz(&e[3], second, NULL);
	cuGraphInstantiateWithFlags(&e[4], first, 0);
	cuGraphInstantiateWithParams(&e[5], second, NULL);
	cuGraphInstantiateWithParams_ptsz(&e[6], first, NULL);
	LAUNCHED(e[0], "1 1 1");
	LAUNCHED(e[1], "4 4");
	LAUNCHED(e[2], "1 1 1");
	LAUNCHED(e[3], "4 4");
	LAUNCHED(e[4], "1 1 1");
	LAUNCHED(e[5], "4 4");
	LAUNCHED(e[6], "1 1 1");
	cudaGraphExecUpdate(e[0], second, NULL);
	LAUNCHED(e[0], "4 4");
	cuGraphExecUpdate_v2(e[0], first, NULL);
	LAUNCHED(e[0], "1 1 1");
	first = capture_group(s);
	cudaGraphInstantiate(&e[2], first, 0);
	LAUNCHED(e[2], "0 3");
	for (unsigned i = 0; i < 20; i++) /* more than are kept */
		first = capture(1 + i % 3, 1 + i, s);
	cudaGraphInstantiate(&e[2], first, 0);
	LAUNCHED(e[2], "20 20");
	cudaGraphDestroy(first);
	cuGraphDestroy(second);
	cudaGraphInstantiate(&e[0], first, 0);
	LAUNCHED(e[0], "none");
	cudaGraphInstantiate(&e[1], second, 0);
	LAUNCHED(e[1], "none");
}

/* ---- cublasLt ---- */

static cublasLtMatrixLayout_t layout(cudaDataType_t type, uint64_t rows, uint64_t columns)
{
	cublasLtMatrixLayout_t l = new_object();

	cublasLtMatrixLayoutCreate(&l, type, rows, columns, (int64_t)rows);
	return l;
}

static void set_matmul(cublasLtMatmulDesc_t m, cublasLtMatmulDescAttributes_t name, int32_t value)
{
	cublasLtMatmulDescSetAttribute(m, name, &value, sizeof value);
}

static void matmuls(void)
{
	cublasLtMatmulDesc_t m = new_object();
	cublasLtMatrixLayout_t a = layout(CUDA_R_16F, 20, 30), c = layout(CUDA_R_32F, 20, 40),
			       changed = layout(0, 1, 1);
	void *bias = (void *)0x5550, *aux = (void *)0x5560;
	const float one = 1;

#define MATMUL(a, d, beta, text) \
	cublasLtMatmul(NULL, m, NULL, (void *)0x10, a, (void *)0x20, a, beta, (void *)0x30, d, AT(text), d, \
		NULL, NULL, 0, NULL)
	if (!cublasLtMatmul)
		errx(1, "the hook is not preloaded");
	cublasLtMatmulDescCreate(&m, CUBLAS_COMPUTE_32F, CUDA_R_32F);
	MATMUL(a, c, &one,
		"transa=0 transb=0 m=20 n=40 k=30 batch=1 epilogue=1 type=1 a_ptr=16 b_ptr=32 beta=1 c_ptr=48 d_ptr=");
	set_matmul(m, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
	set_matmul(m, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_C);
	MATMUL(a, c, &(float){0},
		"transa=1 transb=2 m=20 n=40 k=20 batch=1 epilogue=1 type=1 a_ptr=16 b_ptr=32 beta=0");
	MATMUL(a, c, &(float){2}, "beta=2");
	MATMUL(a, c, NULL, "beta=3");
	cublasLtMatmulDescSetAttribute(m, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
	cublasLtMatmulDescSetAttribute(m, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &aux, sizeof aux);
	MATMUL(a, c, &one, "epilogue=1 type=1 a_ptr=16 b_ptr=32 beta=1 c_ptr=48");
	set_matmul(m, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU_BIAS);
	MATMUL(a, c, &one, "bias_ptr=21840 dbias_ptr=0 aux_ptr=21856");
	set_matmul(m, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DRELU_BGRAD);
	MATMUL(a, c, &one, "bias_ptr=0 dbias_ptr=21840 aux_ptr=21856");
	set_matmul(m, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DGELU_BGRAD);
	MATMUL(a, c, &one, "bias_ptr=0 dbias_ptr=21840");
	set_matmul(m, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADA);
	MATMUL(a, c, &one, "bias_ptr=0 dbias_ptr=21840");
	set_matmul(m, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB);
	MATMUL(a, c, &one, "bias_ptr=0 dbias_ptr=21840");
	set_matmul(m, CUBLASLT_MATMUL_DESC_POINTER_MODE, CUBLASLT_POINTER_MODE_DEVICE);
	MATMUL(a, c, &one, "beta=3");
	cublasLtMatrixLayoutSetAttribute(changed, CUBLASLT_MATRIX_LAYOUT_TYPE, &(int32_t){CUDA_R_64F}, 4);
	cublasLtMatrixLayoutSetAttribute(changed, CUBLASLT_MATRIX_LAYOUT_ROWS, &(uint64_t){50}, 8);
	cublasLtMatrixLayoutSetAttribute(changed, CUBLASLT_MATRIX_LAYOUT_COLS, &(uint64_t){60}, 8);
	cublasLtMatrixLayoutSetAttribute(changed, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &(int32_t){70}, 4);
	cublasLtMatmulDescInit_internal(m, 64, CUBLAS_COMPUTE_64F, CUDA_R_64F);
	MATMUL(changed, changed, &(double){1},
		"transa=0 transb=0 m=50 n=60 k=60 batch=70 epilogue=1 type=2 a_ptr=16 b_ptr=32 beta=1");
	cublasLtMatrixLayoutInit_internal(changed, 64, CUDA_R_16BF, 5, 6, 5);
	MATMUL(changed, changed, &(double){0.5},
		"m=5 n=6 k=6 batch=1 epilogue=1 type=4 a_ptr=16 b_ptr=32 beta=2");
	cublasLtMatrixLayoutDestroy(changed);
	MATMUL(changed, changed, &(double){0.5}, "m=0 n=0 k=0 batch=0");
	cublasLtMatmulDescDestroy(m);
	MATMUL(a, c, &one,
		"transa=0 transb=0 m=20 n=40 k=0 batch=1 epilogue=0 type=1 a_ptr=16 b_ptr=32 beta=3");
}

/* Profiler marks close nothing where no window was asked for. */
static void marks(void)
{
	cudaProfilerStart();
	cudaProfilerStop();
	cuProfilerStart();
	cuProfilerStop();
	DEVICE_IS("result=0");
}

/* The twins of functions that begin and end a capture count as they do. */
static void other_captures(void)
{
	cudaStream_t s = new_object();
	cudaGraph_t graph = NULL;

	cudaStreamCreate(&s);
#define CAPTURED(begin, end) \
	do { \
		strict_captured = s; \
		strict_capture++; \
		begin; \
		STREAM_IS(s, "flags=2"); \
		strict_captured = NULL; \
		end; \
		DEVICE_IS("flags=0"); \
	} while (0)
	CAPTURED(cudaStreamBeginCapture_ptsz(s, cudaStreamCaptureModeRelaxed),
		cudaStreamEndCapture_ptsz(s, &graph));
	CAPTURED(cudaStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, cudaStreamCaptureModeRelaxed),
		cuStreamEndCapture(s, &graph));
	CAPTURED(cudaStreamBeginCaptureToGraph_ptsz(s, NULL, NULL, NULL, 0, cudaStreamCaptureModeRelaxed),
		cuStreamEndCapture_ptsz(s, &graph));
	CAPTURED(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_RELAXED), cudaStreamEndCapture(s, &graph));
	CAPTURED(cuStreamBeginCapture_v2_ptsz(s, CU_STREAM_CAPTURE_MODE_RELAXED),
		cudaStreamEndCapture(s, &graph));
	CAPTURED(cuStreamBeginCaptureToGraph(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
		cudaStreamEndCapture(s, &graph));
	CAPTURED(cuStreamBeginCaptureToGraph_ptsz(s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED),
		cudaStreamEndCapture(s, &graph));
}

/* ---- what the trace says ---- */

static struct peek trace;
static uint64_t hashes[64];
static unsigned hash_count, bad;

static unsigned ordinal_of(uint64_t hash)
{
	unsigned i = 0;

	while (i < hash_count && hashes[i] != hash)
		i++;
	if (i == hash_count && hash_count < sizeof hashes / sizeof hashes[0])
		hashes[hash_count++] = hash;
	return i + 1;
}

static void print_descriptor(FILE *to, uint64_t number)
{
	static const char *const kinds[] = {"?",
#define PM_FIELD(name, text) #name,
		PM_FORMAT_DESCRIPTORS(PM_FIELD)
#undef PM_FIELD
	};
	const struct pm_entry_descriptor *d = peek_numbered(&trace, PM_ENTRY_DESCRIPTOR, (uint32_t)number);

	if (!d) {
		fputs("none", to);
		return;
	}
	fprintf(to, "{%s", kinds[d->kind]);
	for (unsigned i = 0; i < d->value_count; i++)
		fprintf(to, " %lld", (long long)d->values[i]);
	fputs("}", to);
}

static void print_value(FILE *to, const char *type, uint64_t value, const struct peek_record *r)
{
	const struct pm_entry_communicator *c = NULL;

	if (strncmp(type, "descriptor:", 11) == 0) {
		print_descriptor(to, value);
	} else if (strncmp(type, "communicator:", 13) == 0) {
		c = peek_numbered(&trace, PM_ENTRY_COMMUNICATOR, (uint32_t)value);
		if (c)
			fprintf(to, "%d/%d on %d #%u seq=%u", c->rank, c->size, c->device,
				ordinal_of(c->hash), r->sequence);
		else
			fprintf(to, "none seq=%u", r->sequence);
	} else if (strncmp(type, "string:", 7) == 0) {
		fputs(peek_string(&trace, (uint32_t)value), to);
	} else {
		fprintf(to, "%lld", (long long)value);
	}
}

static void see_launch(const struct pm_entry_operation *op)
{
	const struct pm_entry_graph *g = peek_numbered(&trace, PM_ENTRY_GRAPH, (uint32_t)op->values[1]);
	char found[256] = "none";
	size_t n = 0;

	for (unsigned i = 0; g && i < g->node_count && n < sizeof found - 32; i++) {
		const struct pm_entry_operation *made_of = peek_operation(&trace, g->nodes[i].op);
		const char *function = made_of ? peek_function(&trace, made_of->function) : "";

		n += (size_t)sprintf(found + n, "%s%u%s", i ? " " : "", g->nodes[i].nodes,
			strstr(function, " cudaMemsetAsync ") || strstr(function, " ncclAllReduce ") ? ""
												     : "?");
	}
	if (launches_seen == launch_count || launches[launches_seen].exec != op->values[0])
		errx(1, "launch %u is another one in the trace", launches_seen);
	if (strcmp(found, launches[launches_seen].text) != 0) {
		printf("line %d: graph %s, expected %s\n", launches[launches_seen].line, found,
			launches[launches_seen].text);
		bad++;
	}
	launches_seen++;
}

static void see(const struct peek_record *r, uint32_t thread, void *data)
{
	const struct pm_entry_operation *op = peek_operation(&trace, r->op);
	const struct pm_entry_queue *q = peek_numbered(&trace, PM_ENTRY_QUEUE, r->queue);
	char function[2048], *word, *rest = NULL, *text = NULL;
	size_t size = 0;
	uint64_t id = 0;
	FILE *to;

	(void)thread, (void)data;
	snprintf(function, sizeof function, "%s", op ? peek_function(&trace, op->function) : "");
	strtok_r(function, " ", &rest);
	strtok_r(NULL, " ", &rest);
	word = strtok_r(NULL, " ", &rest);
	if (word && strcmp(word, "cudaGraphLaunch") == 0)
		see_launch(op);
	to = open_memstream(&text, &size);
	if (!word || !to)
		return;
	fprintf(to, "%s ", word);
	if (q && q->stream > 2)
		fprintf(to, "queue=%d:object ", q->device);
	else if (q)
		fprintf(to, "queue=%d:%d ", q->device, (int)q->stream);
	fprintf(to, "result=%d flags=%d group=%d ", r->result, r->flags, r->group);
	for (unsigned i = 0; (word = strtok_r(NULL, " ", &rest)) && i < op->value_count; i++) {
		fprintf(to, "%s=", strchr(word, ':') + 1);
		print_value(to, word, op->values[i], r);
		fputc(' ', to);
		if (op->values[i] >= FIRST && op->values[i] < FIRST + 16 * promise_count &&
			op->values[i] % 16 == 0)
			id = 1 + (op->values[i] - FIRST) / 16;
	}
	fclose(to);
	if (id && !strstr(text, promises[id - 1].text)) {
		printf("line %d: expected %s: %s\n", promises[id - 1].line, promises[id - 1].text, text);
		bad++;
	}
	if (id)
		promises[id - 1].kept = true;
	free(text);
}

int main(void)
{
	const char *path;

	if (!getenv("PMHOOK_OUT")) {
		puts("PMHOOK_OUT is not set");
		return 77;
	}
	blas = new_object();
	cublasCreate_v2(&blas);
	tensors();
	convolutions();
	other_layers();
	sequences();
	streams();
	handles();
	contexts();
	communicators();
	parts();
	groups();
	kernels();
	graphs();
	other_captures();
	matmuls();
	marks();
	path = peek_only(getenv("PMHOOK_OUT"));
	if (!path[0])
		errx(1, "the hook left no trace");
	trace = peek_open(path);
	peek_records(&trace, see, NULL);
	for (unsigned i = 0; i < promise_count; i++)
		if (!promises[i].kept) {
			printf("line %d: the call is not in the trace\n", promises[i].line);
			bad++;
		}
	if (launches_seen != launch_count || strict_refused) {
		printf("%u of %u launches, %u calls that CUDA would refuse\n", launches_seen, launch_count,
			strict_refused);
		bad++;
	}
	peek_close(&trace);
	printf("%u promises, %u wrong\n", promise_count, bad);
	return bad != 0;
}
