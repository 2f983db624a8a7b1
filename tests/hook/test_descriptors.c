/*
 * What cuDNN's and cublasLt's objects are told, and what the trace then must say of a call that uses them, as
 * literal text: descriptors, matrix products, graphs of cuDNN's backend API.
 *
 * Run with libpmhook.so preloaded, PMHOOK_DEVICE=none and PMHOOK_OUT set to an empty folder.
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pm_abi.h"
#include "pm_hooks.h"
#include "promise.h"
#include "strict_library.h"

#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) \
	result name PM_PARAMETERS pairs;
#define PM_WATCH(library, result, name, pairs, after, ...) result name PM_PARAMETERS pairs;
#include "pm_hooks.def"
/* hooked by hand */
__attribute__((weak)) cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t matmul,
	const void *alpha, const void *a, cublasLtMatrixLayout_t a_layout, const void *b,
	cublasLtMatrixLayout_t b_layout, const void *beta, const void *c, cublasLtMatrixLayout_t c_layout,
	void *d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t *algo, void *workspace,
	size_t workspace_bytes, cudaStream_t stream);
__attribute__((weak)) cudnnStatus_t cudnnBackendExecute(
	cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack);

static cublasHandle_t blas;

/* Any descriptor will do for a tensor's: the library does not look. */
#define DESCRIPTOR_IS(d, text) \
	cudnnSetTensor((cudnnHandle_t)blas, (cudnnTensorDescriptor_t)(d), AT(text), NULL)

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
	cublasLtMatmul(NULL, m, NULL, NULL, a, NULL, a, &one, NULL, c, AT("queue=0:object"), c, NULL, NULL, 0,
		new_object());
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

/* ---- cuDNN's graph API: an execution is recorded as what its plan's operations are ---- */

typedef cudnnBackendDescriptor_t part;

static part make(cudnnBackendDescriptorType_t type)
{
	part p = new_object();

	cudnnBackendCreateDescriptor(type, &p);
	return p;
}

static void set_numbers(part p, cudnnBackendAttributeName_t name, int64_t count, const int64_t *numbers)
{
	cudnnBackendSetAttribute(p, name, CUDNN_TYPE_INT64, count, numbers);
}

static void set_word(part p, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int word)
{
	cudnnBackendSetAttribute(p, name, type, 1, &word);
}

static void set_part(part p, cudnnBackendAttributeName_t name, part other)
{
	cudnnBackendSetAttribute(p, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &other);
}

/* A tensor of floats, 2 by `channels` by 5 by 7; its unique id is also where its data lie, but for the one
 * that is AT something. */
static part tensor(int64_t uid, int64_t channels, bool is_virtual)
{
	part t = make(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	set_word(t, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
	set_numbers(t, CUDNN_ATTR_TENSOR_DIMENSIONS, 4, (int64_t[]){2, channels, 5, 7});
	set_numbers(t, CUDNN_ATTR_TENSOR_STRIDES, 4, (int64_t[]){35 * channels, 35, 7, 1});
	set_numbers(t, CUDNN_ATTR_TENSOR_UNIQUE_ID, 1, &uid);
	cudnnBackendSetAttribute(t, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
	cudnnBackendFinalize(t);
	return t;
}

/* An operation of up to six attributes, each a part. */
#define OPERATION(type, ...) \
	operation(CUDNN_BACKEND_OPERATION_##type##_DESCRIPTOR, \
		(const struct attribute[]){__VA_ARGS__, {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, NULL}})
struct attribute {
	cudnnBackendAttributeName_t name;
	part value;
};
static part operation(cudnnBackendDescriptorType_t type, const struct attribute *attributes)
{
	part p = make(type);

	for (; attributes->value; attributes++)
		set_part(p, attributes->name, attributes->value);
	cudnnBackendFinalize(p);
	return p;
}

/* From operations to the execution; the data of tensor 99, which all graphs have, lie at `at`. */
static void execute(part first, part second, void *at)
{
	part graph = make(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR),
	     engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR),
	     config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
	     plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR),
	     pack = make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR), operations[] = {first, second};
	static unsigned turn;
	const bool third_by_text = turn++ % 3 == 2;
	char text[] = {'{', (char)turn, (char)(turn >> 8), '}'};
	int64_t uids[20];
	void *addresses[20];

	for (int i = 0; i < 19; i++) {
		uids[i] = i + 1;
		addresses[i] = (void *)(uintptr_t)(i + 1);
	}
	uids[19] = 99;
	addresses[19] = at;
	cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
		second ? 2 : 1, operations);
	if (second) {
		/* the library chooses the configuration */
		part heuristics = make(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);

		set_part(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
		cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
			CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &(int64_t){1}, &config);
	} else {
		set_part(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
		set_part(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
	}
	set_part(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
	set_numbers(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 20, uids);
	cudnnBackendSetAttribute(
		pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 20, addresses);
	if (!cudnnBackendExecute)
		errx(1, "the hook is not preloaded");
	if (third_by_text) {
		/* written down, and read by another one */
		cudnnBackendGetAttribute(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
			4, &(int64_t){4}, text);
		cudnnBackendDestroyDescriptor(plan);
		plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
		cudnnBackendSetAttribute(
			plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 4, text);
	}
	cudnnBackendExecute((cudnnHandle_t)blas, plan, pack);
	cudnnBackendDestroyDescriptor(plan);
}

/* A framework keeps what it made for each shape, device and thread: thousands that none of the others is to
 * suffer from. */
static void keep_many(void)
{
	static char objects[12000][16];

	for (size_t i = 0; i < sizeof objects / sizeof objects[0]; i++)
		cudnnBackendCreateDescriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR,
			&(cudnnBackendDescriptor_t){(cudnnBackendDescriptor_t)objects[i]});
}

/* Tensors with 3 channels are printed so. */
#define T "{TENSOR 1 4 2 3 5 7 105 35 7 1}"

static void graph_convolutions(void)
{
	part x = tensor(1, 3, false), w = tensor(2, 3, false), y = tensor(99, 3, false),
	     dy = tensor(3, 3, false);
	part conv = make(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

	set_word(
		conv, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
	set_word(conv, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_DOUBLE);
	set_numbers(conv, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 2, (int64_t[]){1, 2});
	set_numbers(conv, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 2, (int64_t[]){3, 4});
	set_numbers(conv, CUDNN_ATTR_CONVOLUTION_DILATIONS, 2, (int64_t[]){5, 6});
#define FORWARD(name) CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_##name
#define DATA(name) CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_##name
#define WEIGHTS(name) CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_##name
	execute(OPERATION(CONVOLUTION_FORWARD, {FORWARD(X), x}, {FORWARD(W), w}, {FORWARD(Y), y},
			{FORWARD(CONV_DESC), conv}),
		NULL,
		AT("_ConvolutionForward queue=0:0 result=0 flags=0 group=0 x=" T
		   " x_ptr=1 w={FILTER 1 0 4 2 3 5 7} w_ptr=2 "
		   "conv={CONVOLUTION 2 1 2 3 4 5 6 1 2 1 0} bias_ptr=0 z_ptr=0 y=" T));
	execute(OPERATION(CONVOLUTION_BACKWARD_DATA, {DATA(DX), y}, {DATA(W), w}, {DATA(DY), dy},
			{DATA(CONV_DESC), conv}),
		NULL,
		AT("_ConvolutionBackwardData queue=0:0 result=0 flags=0 group=0 w={FILTER 1 0 4 2 3 5 7} w_ptr=2 dy=" T
		   " dy_ptr=3 conv={CONVOLUTION 2 1 2 3 4 5 6 1 2 1 0} dx=" T));
	execute(OPERATION(CONVOLUTION_BACKWARD_FILTER, {WEIGHTS(X), x}, {WEIGHTS(DW), y}, {WEIGHTS(DY), dy},
			{WEIGHTS(CONV_DESC), conv}),
		NULL,
		AT("_ConvolutionBackwardFilter queue=0:0 result=0 flags=0 group=0 x=" T " x_ptr=1 dy=" T
		   " dy_ptr=3 conv={CONVOLUTION 2 1 2 3 4 5 6 1 2 1 0} dw={FILTER 1 0 4 2 3 5 7}"));
	/* a filter that takes one of three channels: three groups */
	execute(OPERATION(CONVOLUTION_FORWARD, {FORWARD(X), x}, {FORWARD(W), tensor(2, 1, false)},
			{FORWARD(Y), y}, {FORWARD(CONV_DESC), conv}),
		NULL, AT("conv={CONVOLUTION 2 1 2 3 4 5 6 1 2 3 0}"));
}

static part pointwise(cudnnPointwiseMode_t mode)
{
	part p = make(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);

	set_word(p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, (int)mode);
	set_word(p, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_HALF);
	set_numbers(p, CUDNN_ATTR_POINTWISE_AXIS, 1, (int64_t[]){6});
	return p;
}

#define PW(name) CUDNN_ATTR_OPERATION_POINTWISE_##name
static void graph_functions(void)
{
	part x = tensor(1, 3, false), b = tensor(2, 3, false), y = tensor(99, 3, false),
	     between = tensor(4, 3, true);
	part reduction = make(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);

	execute(OPERATION(POINTWISE, {PW(PW_DESCRIPTOR), pointwise(CUDNN_POINTWISE_TANH_FWD)}, {PW(XDESC), x},
			{PW(YDESC), y}),
		NULL,
		AT("_PointwiseForward queue=0:0 result=0 flags=0 group=0 pointwise={POINTWISE 101 3 6} x=" T
		   " x_ptr=1 y=" T));
	execute(OPERATION(POINTWISE, {PW(PW_DESCRIPTOR), pointwise(CUDNN_POINTWISE_RELU_BWD)}, {PW(XDESC), x},
			{PW(DYDESC), b}, {PW(DXDESC), y}),
		NULL,
		AT("_PointwiseBackward queue=0:0 result=0 flags=0 group=0 pointwise={POINTWISE 200 3 6} x_ptr=1 dy=" T
		   " dy_ptr=2 dx=" T));
	execute(OPERATION(POINTWISE, {PW(PW_DESCRIPTOR), pointwise(CUDNN_POINTWISE_MUL)}, {PW(XDESC), x},
			{PW(BDESC), b}, {PW(YDESC), y}),
		NULL,
		AT("_Pointwise queue=0:0 result=0 flags=0 group=0 pointwise={POINTWISE 1 3 6} x=" T
		   " x_ptr=1 b_ptr=2 y=" T));
	set_word(reduction, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
		CUDNN_REDUCE_TENSOR_AVG);
	set_word(reduction, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_DOUBLE);
	execute(OPERATION(REDUCTION, {CUDNN_ATTR_OPERATION_REDUCTION_DESC, reduction},
			{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}),
		NULL,
		AT("_Reduction queue=0:0 result=0 flags=0 group=0 reduce={REDUCE 5 2 0} x=" T
		   " x_ptr=1 y=" T));
	/* a product, and an addition after it: the product's own result is inside the graph */
	execute(OPERATION(MATMUL, {CUDNN_ATTR_OPERATION_MATMUL_ADESC, x},
			{CUDNN_ATTR_OPERATION_MATMUL_BDESC, b}, {CUDNN_ATTR_OPERATION_MATMUL_CDESC, between}),
		OPERATION(POINTWISE, {PW(PW_DESCRIPTOR), pointwise(CUDNN_POINTWISE_RELU_FWD)},
			{PW(XDESC), between}, {PW(YDESC), y}),
		AT("_Matmul queue=0:0 result=0 flags=0 group=0 a=" T " a_ptr=1 b=" T
		   " b_ptr=2 bias_ptr=0 c=" T "... graph=matmul + relu_fwd "));
	execute(OPERATION(RESHAPE, {CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x},
			{CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y}),
		NULL, AT("_Graph queue=0:0 result=0 flags=0 group=0 x_ptr=1 y_ptr="));
}

static void graph_layers(void)
{
	part x = tensor(1, 3, false), dy = tensor(2, 3, false), y = tensor(99, 3, false),
	     scale = tensor(5, 3, false), bias = tensor(6, 3, false), dscale = tensor(7, 3, false),
	     dbias = tensor(8, 3, false);
	part pool = make(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR),
	     norm = make(CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);

	set_word(pool, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE,
		CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING);
	set_numbers(pool, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, 2, (int64_t[]){2, 3});
	set_numbers(pool, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, 2, (int64_t[]){4, 5});
	set_numbers(pool, CUDNN_ATTR_RESAMPLE_STRIDES, 2, (int64_t[]){6, 7});
#define RESAMPLE(name) CUDNN_ATTR_OPERATION_RESAMPLE_##name
	execute(OPERATION(RESAMPLE_FWD, {RESAMPLE(FWD_XDESC), x}, {RESAMPLE(FWD_YDESC), y},
			{RESAMPLE(FWD_DESC), pool}),
		NULL,
		AT("_PoolingForward queue=0:0 result=0 flags=0 group=0 pool={POOLING 2 2 2 3 4 5 6 7} x=" T
		   " x_ptr=1 y=" T));
	execute(OPERATION(RESAMPLE_BWD, {RESAMPLE(BWD_XDESC), x}, {RESAMPLE(BWD_DYDESC), dy},
			{RESAMPLE(BWD_DXDESC), y}, {RESAMPLE(BWD_DESC), pool}),
		NULL,
		AT("_PoolingBackward queue=0:0 result=0 flags=0 group=0 pool={POOLING 2 2 2 3 4 5 6 7} x=" T
		   " x_ptr=1 dy=" T " dy_ptr=2 dx=" T));
#define NORM(name) CUDNN_ATTR_OPERATION_NORM_##name
	set_word(norm, NORM(FWD_MODE), CUDNN_TYPE_NORM_MODE, CUDNN_GROUP_NORM);
	set_word(norm, NORM(FWD_PHASE), CUDNN_TYPE_NORM_FWD_PHASE, CUDNN_NORM_FWD_TRAINING);
	set_part(norm, NORM(FWD_XDESC), x);
	set_part(norm, NORM(FWD_SCALE_DESC), scale);
	set_part(norm, NORM(FWD_BIAS_DESC), bias);
	set_part(norm, NORM(FWD_YDESC), y);
	cudnnBackendFinalize(norm);
	execute(norm, NULL,
		AT("_NormForward queue=0:0 result=0 flags=0 group=0 norm={NORMALIZATION 3 1 0} x=" T
		   " x_ptr=1 scale_ptr=5 bias_ptr=6 y=" T));
	execute(OPERATION(NORM_BACKWARD, {NORM(BWD_XDESC), x}, {NORM(BWD_DYDESC), dy},
			{NORM(BWD_SCALE_DESC), scale}, {NORM(BWD_DXDESC), y}, {NORM(BWD_DSCALE_DESC), dscale},
			{NORM(BWD_DBIAS_DESC), dbias}),
		NULL,
		AT("_NormBackward queue=0:0 result=0 flags=0 group=0 norm={NORMALIZATION 0 0 0} x=" T
		   " x_ptr=1 dy=" T " dy_ptr=2 scale_ptr=5 dx=" T
		   "... dscale_ptr=7 dbias_ptr=8 graph=norm_bwd "));
}

static void graph_attention(void)
{
	part q = tensor(1, 3, false), k = tensor(2, 3, false), v = tensor(3, 3, false),
	     y = tensor(99, 3, false), dy = tensor(4, 3, false), dk = tensor(5, 3, false),
	     dv = tensor(6, 3, false);

#define SDPA(name) CUDNN_ATTR_OPERATION_SDPA_##name
	execute(OPERATION(SDPA_FWD, {SDPA(FWD_QDESC), q}, {SDPA(FWD_KDESC), k}, {SDPA(FWD_VDESC), v},
			{SDPA(FWD_ODESC), y}),
		NULL,
		AT("_AttentionForward queue=0:0 result=0 flags=0 group=0 q=" T " q_ptr=1 k=" T " k_ptr=2 v=" T
		   " v_ptr=3 y=" T));
	execute(OPERATION(SDPA_BWD, {SDPA(BWD_QDESC), q}, {SDPA(BWD_KDESC), k}, {SDPA(BWD_VDESC), v},
			{SDPA(BWD_DODDESC), dy}, {SDPA(BWD_DQDESC), y}, {SDPA(BWD_DKDESC), dk},
			{SDPA(BWD_DVDESC), dv}),
		NULL,
		AT("_AttentionBackward queue=0:0 result=0 flags=0 group=0 q=" T " q_ptr=1 k=" T
		   " k_ptr=2 v=" T " v_ptr=3 dy=" T
		   " dy_ptr=4 dq_ptr=... dk_ptr=5 dv_ptr=6 graph=sdpa_bwd "));
}

static unsigned graphs_seen;

static void count_graphs(const struct peek *trace, const struct pm_entry_operation *op, const char *function)
{
	(void)trace, (void)op;
	graphs_seen += strcmp(function, "cudnnBackendExecute_Graph") == 0;
}

/* A plan that was read from text has no graph that anybody has seen; before there is one that it could be
 * taken for. */
static void plan_from_text(void)
{
	part plan = make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

	cudnnBackendSetAttribute(
		plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 2, "{}");
	cudnnBackendExecute((cudnnHandle_t)blas, plan, make(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR));
}

int main(void)
{
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
	matmuls();
	keep_many();
	plan_from_text();
	graph_convolutions();
	graph_functions();
	graph_layers();
	graph_attention();
	/* the reshape's, and the one of text */
	return promises_broken(count_graphs) != 0 || graphs_seen != 2 || strict_refused != 0;
}
