/*
 * Checks operations and bytes of single calls against closed forms worked out by hand, and devices: their
 * entry in a trace, their peaks by name, by units and clocks, and as options say.
 */
#include "check.h"
#include "analyses/roofline/device_peak.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"
#include "analyses/roofline/work.h"

#include <math.h>
#include <string.h>

enum { MOST = 80 };

/* A call and what its work is. */
struct expected {
	uint32_t operation;
	const char *text;
	enum work_kind kind;
	enum work_type type;
	enum work_gradient gradient;
	bool known;
	double flops, bytes;
};

static struct builder builder;
static struct expected all[MOST];
static int count;

static uint32_t tensor(enum pm_type type, int64_t n, int64_t c, int64_t h, int64_t w)
{
	return builder_descriptor(&builder, PM_DESCRIPTOR_TENSOR, 10, (int64_t)type, (int64_t)4, n, c, h, w,
		c * h * w, h * w, w, (int64_t)1);
}

#define F(n, c, h, w) tensor(PM_TYPE_F32, n, c, h, w)
#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})
#define P 0x1000 /* an address */
#define ANY WORK_GRADIENT_UNKNOWN

static void call(const char *text, const uint64_t *values, enum work_kind kind, enum work_type type,
	enum work_gradient gradient, double flops, double bytes)
{
	all[count++] = (struct expected){
		builder_operation(&builder, builder_function(&builder, text), 0, values), text, kind, type,
		gradient, flops >= 0, flops >= 0 ? flops : 0, flops >= 0 ? bytes : 0};
}

static void convolutions(void)
{
	uint32_t x = F(8, 6, 14, 14), y = F(8, 16, 10, 10), x16 = tensor(PM_TYPE_F16, 8, 6, 14, 14),
		 y16 = tensor(PM_TYPE_F16, 8, 16, 10, 10);
	uint32_t w = builder_descriptor(&builder, PM_DESCRIPTOR_FILTER, 7, (int64_t)PM_TYPE_F32, (int64_t)0,
		(int64_t)4, (int64_t)16, (int64_t)6, (int64_t)5, (int64_t)5);
	uint32_t w16 = builder_descriptor(&builder, PM_DESCRIPTOR_FILTER, 7, (int64_t)PM_TYPE_F16, (int64_t)0,
		(int64_t)4, (int64_t)16, (int64_t)6, (int64_t)5, (int64_t)5);
	uint32_t each = builder_descriptor(&builder, PM_DESCRIPTOR_FILTER, 7, (int64_t)PM_TYPE_F32,
		(int64_t)0, (int64_t)4, (int64_t)6, (int64_t)1, (int64_t)3, (int64_t)3);
	/* n pads strides dilations mode type groups math; the second forbids the matrix unit */
	uint32_t conv = builder_descriptor(&builder, PM_DESCRIPTOR_CONVOLUTION, 11, (int64_t)2, (int64_t)0,
		(int64_t)0, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)PM_TYPE_F32,
		(int64_t)1, (int64_t)0);
	uint32_t fma = builder_descriptor(&builder, PM_DESCRIPTOR_CONVOLUTION, 11, (int64_t)2, (int64_t)1,
		(int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)PM_TYPE_F32,
		(int64_t)6, (int64_t)3);
	const double flops = 2.0 * 8 * 16 * 10 * 10 * 6 * 5 * 5;
	const double in = 8 * 6 * 14 * 14, out = 8 * 16 * 10 * 10, filter = 16 * 6 * 5 * 5;
	static const char forward[] =
		"cudnn FORWARD cudnnConvolutionForward descriptor:x reads:x_ptr descriptor:w "
		"weight:w_ptr descriptor:conv int:algo scale:beta descriptor:y writes:y_ptr";

	call(forward, VALUES(x, P, w, P, conv, 0, 0, y, P), WORK_CONVOLUTION, WORK_TF32, WORK_GRADIENT_DATA,
		flops, 4 * (in + out + filter));
	call(forward, VALUES(x, P, w, P, conv, 0, 1, y, P), WORK_CONVOLUTION, WORK_TF32, WORK_GRADIENT_DATA,
		flops, 4 * (in + 2 * out + filter));
	call(forward, VALUES(x16, P, w16, P, conv, 0, 0, y16, P), WORK_CONVOLUTION, WORK_F16,
		WORK_GRADIENT_DATA, flops, 2 * (in + out + filter));
	/* a plane for each channel */
	call(forward, VALUES(x, P, each, P, fma, 0, 0, x, P), WORK_CONVOLUTION, WORK_F32, WORK_GRADIENT_DATA,
		2 * in * 9, 4 * (2 * in + 6 * 9));
	call("cudnn BACKWARD cudnnConvolutionBackwardData descriptor:w weight:w_ptr descriptor:dy reads:dy_ptr "
	     "descriptor:conv int:algo scale:beta descriptor:dx writes:dx_ptr",
		VALUES(w, P, y, P, conv, 0, 0, x, P), WORK_CONVOLUTION, WORK_TF32, WORK_GRADIENT_DATA, flops,
		4 * (in + out + filter));
	call("cudnn BACKWARD cudnnConvolutionBackwardFilter descriptor:x reads:x_ptr descriptor:dy reads:dy_ptr "
	     "descriptor:conv int:algo scale:beta descriptor:dw grad:dw_ptr",
		VALUES(x, P, y, P, conv, 0, 1, w, P), WORK_CONVOLUTION, WORK_TF32, WORK_GRADIENT_WEIGHT,
		flops, 4 * (in + out + 2 * filter));
	call("cudnn BACKWARD cudnnConvolutionBackwardBias descriptor:dy reads:dy_ptr scale:beta descriptor:db "
	     "grad:db_ptr",
		VALUES(y, P, 0, F(1, 16, 1, 1), P), WORK_REDUCTION, WORK_F32, WORK_GRADIENT_WEIGHT, out,
		4 * (out + 16));
	/* what has no filter is not known */
	call(forward, VALUES(x, P, 0, P, conv, 0, 0, y, P), WORK_CONVOLUTION, WORK_F32, WORK_GRADIENT_DATA,
		-1, 0);
	call("cudnn FORWARD cudnnBackendExecute_ConvolutionForward descriptor:x reads:x_ptr descriptor:w "
	     "weight:w_ptr descriptor:conv reads:bias_ptr reads:z_ptr descriptor:y writes:y_ptr string:graph",
		VALUES(x, P, w, P, conv, 0, P, y, P, 0), WORK_CONVOLUTION, WORK_TF32, WORK_GRADIENT_DATA,
		flops, 4 * (in + 2 * out + filter));
}

static void products(void)
{
	static const char gemm[] =
		"cublas COMPUTE cublasSgemm_v2 int:transa int:transb int:m int:n int:k type:type "
		"reads:a_ptr reads:b_ptr scale:beta writes:c_ptr";
	static const char light[] =
		"cublaslt COMPUTE cublasLtMatmul int:transa int:transb int:m int:n int:k int:batch int:epilogue "
		"type:type reads:a_ptr reads:b_ptr scale:beta reads:c_ptr writes:d_ptr reads:bias_ptr grad:dbias_ptr "
		"reads:aux_ptr";

	call(gemm, VALUES(0, 0, 100, 30, 7, PM_TYPE_F32, P, P, 0, P), WORK_PRODUCT, WORK_F32, ANY,
		2.0 * 100 * 30 * 7, 4 * (100 * 7 + 7 * 30 + 100 * 30));
	call(gemm, VALUES(1, 1, 100, 30, 7, PM_TYPE_F32, P, P, 1, P), WORK_PRODUCT, WORK_F32, ANY,
		2.0 * 100 * 30 * 7, 4 * (100 * 7 + 7 * 30 + 2 * 100 * 30));
	call("cublas COMPUTE cublasGemmStridedBatchedEx int:transa int:transb int:m int:n int:k int:batch type:type "
	     "reads:a_ptr reads:b_ptr scale:beta writes:c_ptr",
		VALUES(0, 0, 64, 64, 128, 12, PM_TYPE_BF16, P, P, 0, P), WORK_PRODUCT, WORK_BF16, ANY,
		12 * 2.0 * 64 * 64 * 128, 12 * 2 * (2 * 64 * 128 + 64 * 64));
	call("cublas COMPUTE cublasDgemmBatched int:transa int:transb int:m int:n int:k int:batch type:type "
	     "address:a_array address:b_array address:c_array",
		VALUES(0, 0, 5, 6, 7, 3, PM_TYPE_F64, P, P, P), WORK_PRODUCT, WORK_F64, ANY,
		3 * 2.0 * 5 * 6 * 7, 3 * 8 * (5 * 7 + 7 * 6 + 5 * 6));
	call(light, VALUES(0, 0, 256, 64, 512, 1, 0, PM_TYPE_F16, P, P, 0, P, P, 0, 0, 0), WORK_PRODUCT,
		WORK_F16, ANY, 2.0 * 256 * 64 * 512, 2 * (256 * 512 + 512 * 64 + 256 * 64));
	call("cublas COMPUTE cublasSgemmGroupedBatched int:groups type:type address:a_array",
		VALUES(3, PM_TYPE_F32, P), WORK_PRODUCT, WORK_F32, ANY, -1, 0);
	call("cublas COMPUTE cublasSgemv_v2 int:trans int:m int:n type:type reads:a_ptr reads:x_ptr scale:beta "
	     "writes:y_ptr",
		VALUES(0, 96, 10, PM_TYPE_F32, P, P, 0, P), WORK_PRODUCT, WORK_F32, ANY, 1920,
		4 * (96 * 10 + 96 + 10));
	call("cublas COMPUTE cublasSger_v2 int:m int:n type:type writes:a_ptr reads:x_ptr reads:y_ptr",
		VALUES(9, 5, PM_TYPE_F32, P, P, P), WORK_PRODUCT, WORK_F32, ANY, 90, 4 * (2 * 45 + 14));
	call("cublas COMPUTE cublasSaxpy_v2 int:n type:type reads:x_ptr writes:y_ptr",
		VALUES(1000, PM_TYPE_F32, P, P), WORK_ELEMENTWISE, WORK_F32, ANY, 2000, 12000);
	call("cublas COMPUTE cublasDscal_v2 int:n type:type writes:x_ptr", VALUES(1000, PM_TYPE_F64, P),
		WORK_ELEMENTWISE, WORK_F64, ANY, 1000, 16000);
	call("cublas COMPUTE cublasDotEx int:n type:type reads:x_ptr reads:y_ptr",
		VALUES(1000, PM_TYPE_F32, P, P), WORK_REDUCTION, WORK_F32, ANY, 2000, 8000);
	call("cublas COMPUTE cublasIsamax_v2 int:n type:type reads:x_ptr", VALUES(1000, PM_TYPE_F32, P),
		WORK_REDUCTION, WORK_F32, ANY, 1000, 4000);
	call("cudnn COMPUTE cudnnBackendExecute_Matmul descriptor:a reads:a_ptr descriptor:b reads:b_ptr "
	     "reads:bias_ptr descriptor:c writes:c_ptr string:graph",
		VALUES(F(1, 2, 3, 4), P, F(1, 2, 4, 5), P, 0, F(1, 2, 3, 5), P, 0), WORK_PRODUCT, WORK_TF32,
		ANY, 2.0 * 2 * 3 * 5 * 4, 4 * (24 + 40 + 30));
}

static void sequences(void)
{
	/* cell bias direction input_mode type math input hidden projection layers */
	uint32_t lstm = builder_descriptor(&builder, PM_DESCRIPTOR_RNN, 10, (int64_t)2, (int64_t)0,
		(int64_t)1, (int64_t)0, (int64_t)PM_TYPE_F32, (int64_t)0, (int64_t)20, (int64_t)32,
		(int64_t)32, (int64_t)2);
	uint32_t x = builder_descriptor(&builder, PM_DESCRIPTOR_TENSOR, 5, (int64_t)PM_TYPE_F32, (int64_t)3,
		(int64_t)10, (int64_t)4, (int64_t)20);
	uint32_t y = builder_descriptor(&builder, PM_DESCRIPTOR_TENSOR, 5, (int64_t)PM_TYPE_F32, (int64_t)3,
		(int64_t)10, (int64_t)4, (int64_t)64);
	/* 40 steps, two directions, four gates of 32, inputs 20 and 64, state 32 each */
	const double rnn_flops = 40 * 2 * (2.0 * 4 * 32 * (20 + 32) + 2.0 * 4 * 32 * (64 + 32));
	uint32_t q = F(2, 8, 100, 64), k = F(2, 8, 50, 64), v = F(2, 8, 50, 32), o = F(2, 8, 100, 32);
	const double attention_flops = 2.0 * 2 * 8 * 100 * 50 * (64 + 32);
	const double q_size = 2 * 8 * 100 * 64, k_size = 2 * 8 * 50 * 64, v_size = 2 * 8 * 50 * 32,
		     o_size = 2 * 8 * 100 * 32;
	uint32_t heads = builder_descriptor(&builder, PM_DESCRIPTOR_ATTENTION, 12, (int64_t)4, (int64_t)16,
		(int64_t)16, (int64_t)16, (int64_t)4, (int64_t)4, (int64_t)4, (int64_t)16, (int64_t)9,
		(int64_t)7, (int64_t)3, (int64_t)1);
	/* queries and results 9 long, keys and values 7, heads of 4 out of 16 */
	const double head_flops = 2.0 * 3 * 4 * (9 * (16 * 4 + 4 * 16) + 7 * 2 * 16 * 4 + 9 * 7 * 8);

	call("cudnn FORWARD cudnnRNNForward int:mode descriptor:rnn descriptor:x reads:x_ptr descriptor:y writes:y_ptr "
	     "descriptor:h bytes:w_bytes weight:w_ptr",
		VALUES(1, lstm, x, P, y, P, 0, 5000, P), WORK_RECURRENT, WORK_TF32, WORK_GRADIENT_DATA,
		rnn_flops, 4 * (800 + 2560) + 5000);
	call("cudnn BACKWARD cudnnRNNBackwardWeights_v8 int:mode descriptor:rnn descriptor:x reads:x_ptr descriptor:y "
	     "reads:y_ptr descriptor:h bytes:w_bytes grad:dw_ptr",
		VALUES(0, lstm, x, P, y, P, 0, 5000, P), WORK_RECURRENT, WORK_TF32, WORK_GRADIENT_WEIGHT,
		rnn_flops, 4 * (800 + 2560) + 10000);
	call("cudnn FORWARD cudnnBackendExecute_AttentionForward descriptor:q reads:q_ptr descriptor:k reads:k_ptr "
	     "descriptor:v reads:v_ptr descriptor:y writes:y_ptr string:graph",
		VALUES(q, P, k, P, v, P, o, P, 0), WORK_ATTENTION, WORK_TF32, WORK_GRADIENT_DATA,
		attention_flops, 4 * (q_size + k_size + v_size + o_size));
	call("cudnn BACKWARD cudnnBackendExecute_AttentionBackward descriptor:q reads:q_ptr descriptor:k reads:k_ptr "
	     "descriptor:v reads:v_ptr descriptor:dy reads:dy_ptr writes:dq_ptr writes:dk_ptr writes:dv_ptr "
	     "string:graph",
		VALUES(q, P, k, P, v, P, o, P, P, P, P, 0), WORK_ATTENTION, WORK_TF32, WORK_GRADIENT_DATA,
		2 * attention_flops, 4 * (2 * (q_size + k_size + v_size) + o_size));
	call("cudnn FORWARD cudnnMultiHeadAttnForward int:mode descriptor:attention descriptor:q reads:q_ptr "
	     "descriptor:k reads:k_ptr descriptor:v reads:v_ptr descriptor:y writes:y_ptr bytes:w_bytes "
	     "weight:w_ptr",
		VALUES(0, heads, F(1, 3, 9, 16), P, F(1, 3, 7, 16), P, F(1, 3, 7, 16), P, F(1, 3, 9, 16), P,
			4096, P),
		WORK_ATTENTION, WORK_TF32, WORK_GRADIENT_DATA, head_flops, 4 * (2 * 432 + 2 * 336) + 4096);
}

static void others(void)
{
	uint32_t x = F(8, 16, 10, 10), y = F(8, 16, 5, 5), params = F(1, 16, 1, 1);
	uint32_t pool = builder_descriptor(&builder, PM_DESCRIPTOR_POOLING, 8, (int64_t)0, (int64_t)2,
		(int64_t)2, (int64_t)3, (int64_t)0, (int64_t)0, (int64_t)2, (int64_t)2);
	const double in = 8 * 16 * 100, out = 8 * 16 * 25;

	call("cudnn FORWARD cudnnPoolingForward descriptor:pool descriptor:x reads:x_ptr scale:beta descriptor:y "
	     "writes:y_ptr",
		VALUES(pool, x, P, 0, y, P), WORK_POOLING, WORK_F32, WORK_GRADIENT_DATA, out * 6,
		4 * (in + out));
	call("cudnn BACKWARD cudnnActivationBackward descriptor:act descriptor:y reads:y_ptr descriptor:dy "
	     "reads:dy_ptr descriptor:x reads:x_ptr scale:beta descriptor:dx writes:dx_ptr",
		VALUES(0, x, P, x, P, x, P, 0, x, P), WORK_ACTIVATION, WORK_F32, WORK_GRADIENT_DATA, in,
		16 * in);
	call("cudnn FORWARD cudnnSoftmaxForward int:algo int:mode descriptor:x reads:x_ptr scale:beta descriptor:y "
	     "writes:y_ptr",
		VALUES(0, 0, x, P, 0, x, P), WORK_SOFTMAX, WORK_F32, WORK_GRADIENT_DATA, 5 * in, 8 * in);
	/* scale, bias, mean and deviation kept; running mean and variance read and written */
	call("cudnn FORWARD cudnnBatchNormalizationForwardTraining int:mode scale:beta descriptor:x reads:x_ptr "
	     "descriptor:y writes:y_ptr descriptor:params weight:scale_ptr weight:bias_ptr",
		VALUES(1, 0, x, P, x, P, params, P, P), WORK_NORMALIZATION, WORK_F32, WORK_GRADIENT_DATA,
		5 * in, 4 * (2 * in + 8 * 16));
	call("cudnn BACKWARD cudnnBatchNormalizationBackward int:mode scale:beta descriptor:x reads:x_ptr "
	     "descriptor:dy reads:dy_ptr descriptor:dx writes:dx_ptr descriptor:params weight:scale_ptr "
	     "grad:dscale_ptr grad:dbias_ptr",
		VALUES(1, 0, x, P, x, P, x, P, 0, P, P, P), WORK_NORMALIZATION, WORK_F32, WORK_GRADIENT_DATA,
		7 * in, 4 * (3 * in + 5 * 16));
	call("cudnn FORWARD cudnnDropoutForward descriptor:dropout descriptor:x reads:x_ptr descriptor:y writes:y_ptr",
		VALUES(0, x, P, x, P), WORK_DROPOUT, WORK_F32, WORK_GRADIENT_DATA, in, 9 * in);
	call("cudnn COMPUTE cudnnAddTensor descriptor:a reads:a_ptr scale:beta descriptor:c writes:c_ptr",
		VALUES(params, P, 1, x, P), WORK_ELEMENTWISE, WORK_F32, WORK_GRADIENT_DATA, in,
		4 * (16 + 2 * in));
	call("cudnn COMPUTE cudnnAddTensor descriptor:a reads:a_ptr scale:beta descriptor:c writes:c_ptr",
		VALUES(params, P, 0, x, P), WORK_ELEMENTWISE, WORK_F32, WORK_GRADIENT_DATA, 0, 4 * (16 + in));
	call("cudnn COMPUTE cudnnBackendExecute_Graph reads:x_ptr writes:y_ptr string:graph", VALUES(P, P, 0),
		WORK_KERNEL, WORK_F32, ANY, -1, 0);
	call("cudart COPY cudaMemcpyAsync writes:dst reads:src bytes:bytes direction:dir",
		VALUES(P, P, 640, 1), WORK_COPY, WORK_F32, ANY, 0, 640);
	call("cudart COPY cudaMemcpyAsync writes:dst reads:src bytes:bytes direction:dir",
		VALUES(P, P, 640, 3), WORK_COPY, WORK_F32, ANY, 0, 1280);
	call("cudart SET cudaMemsetAsync writes:dst bytes:bytes", VALUES(P, 640), WORK_COPY, WORK_F32, ANY, 0,
		640);
	call("cudart LAUNCH cudaLaunchKernel address:func int:grid_x", VALUES(P, 9), WORK_KERNEL, WORK_F32,
		ANY, -1, 0);
	call("nccl COMM ncclAllReduce reads:send writes:recv int:count type:type bytes:bytes",
		VALUES(P, P, 25, PM_TYPE_F32, 100), WORK_COLLECTIVE, WORK_F32, ANY, 0, 100);
	/* sizes that nobody has */
	call("cudnn FORWARD cudnnPoolingForward descriptor:pool descriptor:x reads:x_ptr scale:beta descriptor:y "
	     "writes:y_ptr",
		VALUES(4000000, x, P, 0, y, P), WORK_POOLING, WORK_F32, WORK_GRADIENT_DATA, -1, 0);
	call("cublas COMPUTE cublasSaxpy_v2 int:n type:type reads:x_ptr writes:y_ptr",
		VALUES((uint64_t)-5, 77, P, P), WORK_ELEMENTWISE, WORK_F32, ANY, 0, 0);
}

static void check_works(const struct timeline *timeline)
{
	for (int i = 0; i < count; i++) {
		const struct expected *want = &all[i];
		struct work work =
			work_of(timeline, timeline->processes[0].first_operation + want->operation);

		CHECK(work.kind == want->kind && work.known == want->known && work.gradient == want->gradient,
			"%d %.70s: kind %d known %d gradient %d", i, want->text, work.kind, work.known,
			work.gradient);
		CHECK(!work.known || !(want->flops > 0) || work.type == want->type, "%d %.70s: type %s", i,
			want->text, work_type_names[work.type]);
		CHECK(work.flops == want->flops, "%d %.70s: %.0f operations, expected %.0f", i, want->text,
			work.flops, want->flops);
		CHECK(work.bytes == want->bytes, "%d %.70s: %.0f bytes, expected %.0f", i, want->text,
			work.bytes, want->bytes);
	}
}

static const struct pm_entry_device v100 = {.device = 1,
	.capability_major = 7,
	.multiprocessors = 80,
	.clock_khz = 1530000,
	.memory_clock_khz = 877000,
	.memory_bus_bits = 4096,
	.memory_bytes = (uint64_t)16 << 30};

static void check_devices(struct timeline *timeline)
{
	struct timeline_process *process = &timeline->processes[0];
	const struct timeline_device *device = timeline_device(process, 1);
	struct device_peak peak = device_peak(device);

	CHECK(device && strcmp(device->name, "Tesla V100-SXM2-16GB") == 0 && device->multiprocessors == 80 &&
			device->memory_bytes == (int64_t)16 << 30,
		"device 1 of the trace");
	CHECK(!timeline_device(process, 0), "device 0 is not there");
	CHECK(peak.flops[WORK_F32] == 15.7e12 && peak.flops[WORK_F16] == 125e12 && peak.bandwidth == 900e9,
		"V100 by its name");
	CHECK(peak.flops[WORK_TF32] == 15.7e12 && peak.flops[WORK_BF16] == 15.7e12, "no unit: as floats");
	/* the same device under a name that nobody knows: by its units, 2 * 64 * 80 * 1.53 GHz */
	timeline_set_device(timeline, process,
		&(struct timeline_device){.device = 1,
			.name = "Unheard-of 9",
			.capability_major = 7,
			.multiprocessors = 80,
			.clock_khz = 1530000,
			.memory_clock_khz = 877000,
			.memory_bus_bits = 4096});
	peak = device_peak(timeline_device(process, 1));
	CHECK(process->device_count == 1, "%u devices", process->device_count);
	CHECK(fabs(peak.flops[WORK_F32] - 15.6672e12) < 1e6 && fabs(peak.bandwidth - 898.048e9) < 1e6,
		"%g FLOP/s, %g B/s by its units", peak.flops[WORK_F32], peak.bandwidth);
	timeline_set_device(
		timeline, process, &(struct timeline_device){.device = 2, .name = "Unheard-of 9"});
	CHECK(!device_peak(timeline_device(process, 2)).source && !device_peak(NULL).source,
		"nothing is known");
}

static void check_names(void)
{
	static const struct {
		const char *name;
		double f16_tera; /* 0: not in the table */
	} names[] = {
		{"NVIDIA A100-SXM4-80GB", 312},
		{"NVIDIA A10", 125},
		{"NVIDIA A10G", 0},
		{"NVIDIA H100 80GB HBM3", 989.5},
		{"NVIDIA H100 PCIe", 756},
		{"NVIDIA H200", 989.5},
		{"NVIDIA GH200 480GB", 0},
		{"NVIDIA GeForce RTX 2080", 40.3},
		{"NVIDIA GeForce RTX 2080 Ti", 53.8},
		{"NVIDIA GeForce RTX 2080 SUPER", 0},
		{"NVIDIA GeForce RTX 4090", 165.2},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", 0},
		{"NVIDIA L4", 121},
		{"NVIDIA L40S", 362},
		{"Tesla T4", 65},
		/* without a unit for halves: as floats */
		{"Tesla K80", 4.37},
		{"Tesla K40m", 4.29},
		{"Tesla M60", 4.83},
		{"NVIDIA GeForce GTX 1080 Ti", 11.34},
		{"Tesla M6", 0},
		{"", 0},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct device_peak peak = device_peak_named(names[i].name);

		CHECK(!peak.source == !(names[i].f16_tera > 0) &&
				peak.flops[WORK_F16] == names[i].f16_tera * 1e12,
			"%s: %g", names[i].name, peak.flops[WORK_F16]);
	}
}

static void check_rates(void)
{
	static const struct {
		const char *text;
		double rate;
	} rates[] = {{"125T", 125e12}, {"900G", 900e9}, {"2.0TB/s", 2e12}, {"15.7 TFLOP/s", 15.7e12},
		{"5", 5}, {"1P", 1e15}, {"", -1}, {"x", -1}, {"-3G", -1}, {"0", -1}, {"3GG", -1}, {"nan", -1},
		{"inf", -1}, {"3Q", -1}, {"1e40", -1}};
	struct device_peak peak = device_peak_named("Tesla V100-SXM2-16GB");

	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		double rate = device_peak_rate(rates[i].text);

		CHECK(rates[i].rate < 0 ? rate < 0 : fabs(rate / rates[i].rate - 1) < 1e-12, "'%s': %g",
			rates[i].text, rate);
	}
	device_peak_override(&peak, 0, 1e12);
	CHECK(peak.bandwidth == 1e12 && peak.flops[WORK_F16] == 125e12, "only the bandwidth");
	device_peak_override(&peak, 2e12, 0);
	CHECK(peak.flops[WORK_F16] == 2e12 && peak.flops[WORK_F64] == 2e12, "all types");
	peak = (struct device_peak){0};
	device_peak_override(&peak, 2e12, 0);
	CHECK(!peak.source, "half a roof is none");
	device_peak_override(&peak, 2e12, 1e12);
	CHECK(peak.source, "a roof by options alone");
}

int main(void)
{
	struct timeline timeline;
	struct trace trace;

	builder_init(&builder);
	convolutions();
	products();
	sequences();
	others();
	builder_device(&builder, &v100, "Tesla V100-SXM2-16GB");
	builder_finish(&builder);
	CHECK(trace_parse(&trace, "made", builder.file.data, builder.file.size) == 0, "%s", trace.error);
	CHECK(!trace.trouble, "%s", trace.trouble);
	timeline_init(&timeline);
	timeline_add(&timeline, &trace);
	trace_close(&trace);
	check_works(&timeline);
	check_devices(&timeline);
	check_names();
	check_rates();
	timeline_free(&timeline);
	builder_free(&builder);
	return check_end();
}
