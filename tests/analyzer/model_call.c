/* The calls that a made-up training program makes, and the time that passes: see model_make.h. */
#include "model_make.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {
	"libc READ read string:file",
	"cudart COPY cudaMemcpyAsync writes:dst reads:src bytes:bytes direction:dir",
	"cudart COPY cudaMemcpyPeerAsync writes:dst reads:src bytes:bytes direction:dir int:dst_device int:src_device",
	"cudart SYNC cudaStreamSynchronize",
	"cudart EVENT cudaEventRecord address:event",
	"cudart EVENT cudaStreamWaitEvent address:event",
	"cudart LAUNCH cudaLaunchKernel address:func int:grid_x int:block_x bytes:shared",
	"cudnn SEARCH cudnnFindConvolutionForwardAlgorithmEx descriptor:x reads:x_ptr descriptor:w weight:w_ptr descriptor:conv "
	"descriptor:y writes:y_ptr",
	"cudnn FORWARD cudnnConvolutionForward descriptor:x reads:x_ptr descriptor:w weight:w_ptr descriptor:conv int:algo "
	"scale:beta descriptor:y writes:y_ptr",
	"cudnn BACKWARD cudnnConvolutionBackwardData descriptor:w weight:w_ptr descriptor:dy reads:dy_ptr descriptor:conv "
	"int:algo scale:beta descriptor:dx writes:dx_ptr",
	"cudnn BACKWARD cudnnConvolutionBackwardFilter descriptor:x reads:x_ptr descriptor:dy reads:dy_ptr descriptor:conv "
	"int:algo scale:beta descriptor:dw grad:dw_ptr",
	"cudnn BACKWARD cudnnConvolutionBackwardBias descriptor:dy reads:dy_ptr scale:beta descriptor:db grad:db_ptr",
	"cudnn FORWARD cudnnPoolingForward descriptor:pool descriptor:x reads:x_ptr scale:beta descriptor:y writes:y_ptr",
	"cudnn BACKWARD cudnnPoolingBackward descriptor:pool descriptor:y reads:y_ptr descriptor:dy reads:dy_ptr descriptor:x "
	"reads:x_ptr scale:beta descriptor:dx writes:dx_ptr",
	"cudnn FORWARD cudnnActivationForward descriptor:act descriptor:x reads:x_ptr scale:beta descriptor:y writes:y_ptr",
	"cudnn BACKWARD cudnnActivationBackward descriptor:act descriptor:y reads:y_ptr descriptor:dy reads:dy_ptr "
	"descriptor:x reads:x_ptr scale:beta descriptor:dx writes:dx_ptr",
	"cudnn FORWARD cudnnSoftmaxForward int:algo int:mode descriptor:x reads:x_ptr scale:beta descriptor:y writes:y_ptr",
	"cudnn BACKWARD cudnnSoftmaxBackward int:algo int:mode descriptor:y reads:y_ptr descriptor:dy reads:dy_ptr scale:beta "
	"descriptor:dx writes:dx_ptr",
	"cudnn FORWARD cudnnDropoutForward descriptor:dropout descriptor:x reads:x_ptr descriptor:y writes:y_ptr",
	"cudnn BACKWARD cudnnDropoutBackward descriptor:dropout descriptor:dy reads:dy_ptr descriptor:dx writes:dx_ptr",
	"cudnn FORWARD cudnnBatchNormalizationForwardTraining int:mode scale:beta descriptor:x reads:x_ptr descriptor:y "
	"writes:y_ptr descriptor:params weight:scale_ptr weight:bias_ptr",
	"cudnn BACKWARD cudnnBatchNormalizationBackward int:mode scale:beta descriptor:x reads:x_ptr descriptor:dy reads:dy_ptr "
	"descriptor:dx writes:dx_ptr descriptor:params weight:scale_ptr grad:dscale_ptr grad:dbias_ptr",
	"cudnn COMPUTE cudnnBatchNormalizationForwardInference int:mode scale:beta descriptor:x reads:x_ptr descriptor:y "
	"writes:y_ptr descriptor:params weight:scale_ptr weight:bias_ptr",
	"cudnn COMPUTE cudnnAddTensor descriptor:a reads:a_ptr scale:beta descriptor:c writes:c_ptr",
	"cudnn COMPUTE cudnnOpTensor descriptor:op descriptor:a reads:a_ptr descriptor:b reads:b_ptr scale:beta descriptor:c "
	"writes:c_ptr",
	"cudnn COMPUTE cudnnTransformTensor descriptor:x reads:x_ptr scale:beta descriptor:y writes:y_ptr",
	"cublas COMPUTE cublasSgemm_v2 int:transa int:transb int:m int:n int:k type:type reads:a_ptr reads:b_ptr scale:beta "
	"writes:c_ptr",
	"cublas COMPUTE cublasSgemmStridedBatched int:transa int:transb int:m int:n int:k int:batch type:type reads:a_ptr "
	"reads:b_ptr scale:beta writes:c_ptr",
	"cublas COMPUTE cublasSgemv_v2 int:trans int:m int:n type:type reads:a_ptr reads:x_ptr scale:beta writes:y_ptr",
	"cublas COMPUTE cublasSaxpy_v2 int:n type:type reads:x_ptr writes:y_ptr",
	"cublas COMPUTE cublasSscal_v2 int:n type:type writes:x_ptr",
	"cublas COMPUTE cublasScopy_v2 int:n type:type reads:x_ptr writes:y_ptr",
	"cudnn FORWARD cudnnRNNForward int:mode descriptor:rnn descriptor:x reads:x_ptr descriptor:y writes:y_ptr descriptor:h "
	"bytes:w_bytes weight:w_ptr",
	"cudnn BACKWARD cudnnRNNBackwardData_v8 descriptor:rnn descriptor:y reads:y_ptr reads:dy_ptr descriptor:x writes:dx_ptr "
	"descriptor:h bytes:w_bytes weight:w_ptr",
	"cudnn BACKWARD cudnnRNNBackwardWeights_v8 int:mode descriptor:rnn descriptor:x reads:x_ptr descriptor:y reads:y_ptr "
	"descriptor:h bytes:w_bytes grad:dw_ptr",
	"cudnn FORWARD cudnnMultiHeadAttnForward int:mode descriptor:attention descriptor:q reads:q_ptr descriptor:k reads:k_ptr "
	"descriptor:v reads:v_ptr descriptor:y writes:y_ptr bytes:w_bytes weight:w_ptr",
	"cudnn BACKWARD cudnnMultiHeadAttnBackwardData descriptor:attention descriptor:dy reads:dy_ptr descriptor:dq "
	"writes:dq_ptr reads:q_ptr writes:dk_ptr reads:k_ptr writes:dv_ptr reads:v_ptr bytes:w_bytes weight:w_ptr",
	"cudnn BACKWARD cudnnMultiHeadAttnBackwardWeights int:mode descriptor:attention descriptor:q reads:q_ptr reads:k_ptr "
	"reads:v_ptr descriptor:dy reads:dy_ptr bytes:w_bytes weight:w_ptr grad:dw_ptr",
	"cudnn FORWARD cudnnBackendExecute_ConvolutionForward descriptor:x reads:x_ptr descriptor:w weight:w_ptr "
	"descriptor:conv reads:bias_ptr reads:z_ptr descriptor:y writes:y_ptr string:graph",
	"cudnn BACKWARD cudnnBackendExecute_ConvolutionBackwardData descriptor:w weight:w_ptr descriptor:dy reads:dy_ptr "
	"descriptor:conv descriptor:dx writes:dx_ptr string:graph",
	"cudnn BACKWARD cudnnBackendExecute_ConvolutionBackwardFilter descriptor:x reads:x_ptr descriptor:dy reads:dy_ptr "
	"descriptor:conv descriptor:dw grad:dw_ptr string:graph",
	"cudnn COMPUTE cudnnBackendExecute_Matmul descriptor:a reads:a_ptr descriptor:b reads:b_ptr reads:bias_ptr "
	"descriptor:c writes:c_ptr string:graph",
	"cudnn FORWARD cudnnBackendExecute_NormForward descriptor:norm descriptor:x reads:x_ptr weight:scale_ptr "
	"weight:bias_ptr descriptor:y writes:y_ptr string:graph",
	"cudnn BACKWARD cudnnBackendExecute_NormBackward descriptor:norm descriptor:x reads:x_ptr descriptor:dy reads:dy_ptr "
	"weight:scale_ptr descriptor:dx writes:dx_ptr grad:dscale_ptr grad:dbias_ptr string:graph",
	"cudnn FORWARD cudnnBackendExecute_PoolingForward descriptor:pool descriptor:x reads:x_ptr descriptor:y writes:y_ptr "
	"string:graph",
	"cudnn BACKWARD cudnnBackendExecute_PoolingBackward descriptor:pool descriptor:x reads:x_ptr descriptor:dy "
	"reads:dy_ptr descriptor:dx writes:dx_ptr string:graph",
	"cudnn FORWARD cudnnBackendExecute_PointwiseForward descriptor:pointwise descriptor:x reads:x_ptr descriptor:y "
	"writes:y_ptr string:graph",
	"cudnn BACKWARD cudnnBackendExecute_PointwiseBackward descriptor:pointwise reads:x_ptr descriptor:dy reads:dy_ptr "
	"descriptor:dx writes:dx_ptr string:graph",
	"cudnn COMPUTE cudnnBackendExecute_Reduction descriptor:reduce descriptor:x reads:x_ptr descriptor:y writes:y_ptr "
	"string:graph",
	"cublaslt COMPUTE cublasLtMatmul int:transa int:transb int:m int:n int:k int:batch int:epilogue type:type reads:a_ptr "
	"reads:b_ptr scale:beta reads:c_ptr writes:d_ptr reads:bias_ptr grad:dbias_ptr reads:aux_ptr",
	"nccl COMM ncclAllReduce reads:send writes:recv int:count type:type bytes:bytes int:op communicator:comm",
	"nccl GROUP ncclGroupStart",
	"nccl GROUP ncclGroupEnd",
	"cudart ALLOC cudaMalloc bytes:bytes",
	"cudart GRAPH cudaStreamBeginCapture",
	"cudart GRAPH cudaGraphInstantiate",
	"cudart GRAPH cudaGraphLaunch graph:graph",
	"cupti LAUNCH kernel string:name",
	"cupti COPY memcpy bytes:bytes direction:direction",
};

static uint32_t function(struct host *host, const char *name)
{
	for (int i = 0; i < host->function_count; i++)
		if (strcmp(host->names[i], name) == 0)
			return host->functions[i];
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		const char *third = strchr(strchr(texts[i], ' ') + 1, ' ') + 1;
		size_t length = strlen(name);

		if (strncmp(third, name, length) == 0 && (third[length] == ' ' || third[length] == 0)) {
			host->names[host->function_count] = name;
			host->functions[host->function_count] = builder_function(host->builder, texts[i]);
			return host->functions[host->function_count++];
		}
	}
	errx(1, "no function %s", name);
}

uint32_t model_intern(struct host *host, const char *name, const uint64_t *values)
{
	uint32_t number = function(host, name), count = host->builder->function_values[number];
	struct cached *item;

	for (size_t i = 0; i < host->cache_count; i++) {
		item = &host->cache[i];
		if (item->function == number &&
			(count == 0 || memcmp(item->values, values, count * sizeof(*values)) == 0))
			return item->operation;
	}
	host->cache = realloc(host->cache, (host->cache_count + 1) * sizeof(*host->cache));
	item = &host->cache[host->cache_count++];
	item->function = number;
	item->count = count;
	item->named = false;
	if (count)
		memcpy(item->values, values, count * sizeof(*values));
	item->operation = builder_operation(host->builder, number, 0, values);
	return item->operation;
}

void model_note(struct maker *maker, struct host *host, uint64_t begin_ns, struct about about)
{
	struct model_process *process = host->process;

	if (host->builder->closed)
		return;
	if (process->call_count == process->call_room) {
		process->call_room = process->call_room ? process->call_room * 2 : 256;
		process->calls = realloc(process->calls, process->call_room * sizeof(*process->calls));
	}
	process->calls[process->call_count++] =
		(struct model_call){begin_ns, about.phase, about.layer, maker->iteration};
}

uint64_t model_jitter(struct maker *maker, uint64_t ns)
{
	if (!maker->options->seed)
		return ns;
	maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
	return ns + ns * (maker->random >> 33) / 10 / 0x7fffffffu;
}

bool model_is_slow(const struct maker *maker, const struct worker *worker)
{
	int every = maker->options->slow_every;

	return worker->number == maker->options->slow_worker && (!every || maker->iteration % every == 0);
}

static uint64_t scaled(struct maker *maker, const struct worker *worker, uint64_t ns, struct about about)
{
	const struct model_options *options = maker->options;
	const char *layer = options->slow_layer;

	if (options->slow > 0 && model_is_slow(maker, worker) &&
		(!layer || (about.layer && strstr(layer, about.layer))))
		ns = (uint64_t)((double)ns * options->slow);
	if (options->second_slow > 0 && worker->number == options->second_worker)
		ns = (uint64_t)((double)ns * options->second_slow);
	if (maker->batch > options->batch && (about.phase == PHASE_FORWARD || about.phase == PHASE_BACKWARD))
		ns = ns * (uint64_t)maker->batch / (uint64_t)options->batch;
	return model_jitter(maker, ns);
}

/* The device intervals of work: one of the call, or one for each activity. Answers how many there are. */
static uint32_t intervals(struct maker *maker, struct worker *worker, const struct builder_record *call,
	bool copy, uint64_t start_ns, uint64_t ns, uint64_t gap_ns, uint32_t node)
{
	struct builder_record record = *call;
	uint32_t count = maker->options->activities && !copy ? 2 : 1;

	record.kind = PM_RECORD_DEVICE;
	record.flags = 0;
	record.result = 0;
	for (uint32_t i = 0; i < count; i++) {
		record.begin = start_ns + ns * i / count + gap_ns * i;
		record.end = start_ns + ns * (i + 1) / count + gap_ns * i;
		record.sequence = node ? node + i : 0;
		if (maker->options->activities) {
			record.flags = PM_FLAG_ACTIVITY;
			record.op = copy ? model_intern(worker->host, "memcpy", VALUES(64, 1))
					 : model_intern(worker->host, "kernel", VALUES(1));
		}
		builder_record(worker->host->builder, 1, &record);
	}
	return count;
}

static uint64_t start_of(struct worker *worker, int queue, uint64_t ns)
{
	uint64_t start_ns = worker->host->now_ns + 2000;

	if (worker->free_ns[queue] > start_ns)
		start_ns = worker->free_ns[queue];
	worker->free_ns[queue] = start_ns + ns;
	return start_ns;
}

/* As the frames of a Python program tell: nothing of the backward pass, which has none. */
static void name_module(struct host *host, uint32_t operation, const char *name, struct about about)
{
	struct cached *item = host->cache;
	char text[64];

	while (item->operation != operation)
		item++;
	if (item->named || about.phase != PHASE_FORWARD || !about.layer)
		return;
	item->named = true;
	snprintf(text, sizeof(text), "net.%s", strstr(name, "Activation") ? "act" : about.layer);
	builder_module(host->builder, operation, text);
}

void model_work(struct maker *maker, struct worker *worker, int queue, const char *name, uint64_t ns,
	struct about about, const uint64_t *values)
{
	struct host *host = worker->host;
	struct builder_record call = {.begin = host->now_ns,
		.end = host->now_ns + 1000,
		.op = model_intern(host, name, values),
		.queue = (uint16_t)worker->queues[queue],
		.kind = PM_RECORD_CALL};
	bool copy = strncmp(name, "cudaMemcpy", 10) == 0;
	uint64_t gap_ns = maker->options->activities && !copy ? maker->options->gap_ns : 0;

	ns = scaled(maker, worker, ns, about);
	if (maker->options->modules)
		name_module(host, call.op, name, about);
	if (maker->capturing) {
		if (worker->capture.launch)
			return;
		call.flags = PM_FLAG_CAPTURED;
		worker->capture.items[worker->capture.count++] =
			(struct captured){call.op, ns, copy, about.phase, about.layer};
	} else if (maker->options->no_device) {
		call.end = call.begin + ns;
	} else {
		call.correlation = ++host->builder->correlation;
	}
	builder_record(host->builder, 1, &call);
	/* A captured call is none of the iteration's: nothing runs. */
	if (!maker->capturing) {
		uint64_t start_ns = start_of(worker, queue, ns + gap_ns);

		if (call.correlation)
			intervals(maker, worker, &call, copy, start_ns, ns, gap_ns, 0);
		model_note(maker, host, call.begin, about);
	}
	host->now_ns = call.end + 100;
	if (model_is_slow(maker, worker))
		host->now_ns += maker->options->slow_host_ns;
}

void model_capture(struct maker *maker)
{
	for (int i = 0; i < maker->worker_count; i++)
		if (!maker->workers[i].capture.launch)
			model_plain(maker->workers[i].host, "cudaStreamBeginCapture", 0, 0, NULL);
	maker->capturing = true;
}

static void instantiate(struct maker *maker, struct worker *worker)
{
	struct pm_graph_node nodes[128];
	uint64_t graph;

	for (int i = 0; i < worker->capture.count; i++)
		nodes[i] = (struct pm_graph_node){worker->capture.items[i].operation,
			maker->options->activities && !worker->capture.items[i].copy ? 2 : 1};
	graph = builder_graph(worker->host->builder, nodes, (uint32_t)worker->capture.count);
	model_plain(worker->host, "cudaGraphInstantiate", 0, 0, NULL);
	worker->capture.launch = model_intern(worker->host, "cudaGraphLaunch", &graph);
}

static void launch(struct maker *maker, struct worker *worker)
{
	struct host *host = worker->host;
	struct capture *capture = &worker->capture;
	struct builder_record call = {.begin = host->now_ns,
		.end = host->now_ns + 1000,
		.op = capture->launch,
		.queue = (uint16_t)worker->queues[COMPUTE],
		.kind = PM_RECORD_CALL,
		.correlation = ++host->builder->correlation};
	uint64_t all_ns = 0, at_ns;
	uint32_t node = 1;

	model_note(maker, host, call.begin,
		(struct about){maker->options->activities ? PHASE_COUNT : PHASE_GRAPH, NULL});
	for (int i = 0; i < capture->count; i++) {
		model_note(maker, host, call.begin,
			(struct about){capture->items[i].phase, capture->items[i].layer});
		all_ns += capture->items[i].ns;
	}
	builder_record(host->builder, 1, &call);
	at_ns = start_of(worker, COMPUTE, all_ns);
	if (!maker->options->activities)
		intervals(maker, worker, &call, false, at_ns, all_ns, 0, 0);
	for (int i = 0; i < capture->count && maker->options->activities; i++) {
		node += intervals(
			maker, worker, &call, capture->items[i].copy, at_ns, capture->items[i].ns, 0, node);
		at_ns += capture->items[i].ns;
	}
	host->now_ns += 1100;
}

void model_launch(struct maker *maker)
{
	maker->capturing = false;
	for (int i = 0; i < maker->worker_count; i++) {
		if (!maker->workers[i].capture.launch)
			instantiate(maker, &maker->workers[i]);
		launch(maker, &maker->workers[i]);
	}
}

void model_plain(
	struct host *host, const char *name, uint32_t queue, uint64_t until_ns, const uint64_t *values)
{
	uint64_t begin_ns = host->now_ns, end_ns = until_ns > begin_ns + 500 ? until_ns : begin_ns + 500;

	builder_call(host->builder, 1, begin_ns, end_ns, model_intern(host, name, values), queue, 0, 0, 0);
	host->now_ns = end_ns + 100;
}

void model_synchronize(struct worker *worker, int queue)
{
	model_plain(worker->host, "cudaStreamSynchronize", worker->queues[queue],
		worker->free_ns[queue] + 1500, NULL);
}

void model_wait_event(struct worker *worker, int from, int to)
{
	uint64_t event[] = {0xe0};

	model_plain(worker->host, "cudaEventRecord", worker->queues[from], 0, event);
	model_plain(worker->host, "cudaStreamWaitEvent", worker->queues[to], 0, event);
	if (worker->free_ns[from] > worker->free_ns[to])
		worker->free_ns[to] = worker->free_ns[from];
}

uint64_t model_tensor(struct worker *worker, int64_t n, const int size[3])
{
	struct host *host = worker->host;
	struct known_tensor *item;
	int64_t c = size[0], h = size[1], w = size[2];

	for (int i = 0; i < host->tensor_count; i++) {
		item = &host->tensors[i];
		if (item->n == n && memcmp(item->size, size, sizeof(item->size)) == 0)
			return item->number;
	}
	if (host->tensor_count == 128)
		errx(1, "too many tensors");
	item = &host->tensors[host->tensor_count++];
	item->n = n;
	memcpy(item->size, size, sizeof(item->size));
	item->number = builder_descriptor(host->builder, PM_DESCRIPTOR_TENSOR, 10, (int64_t)PM_TYPE_F32,
		(int64_t)4, n, c, h, w, c * h * w, h * w, w, (int64_t)1);
	return item->number;
}

uint64_t model_volume(const int size[3])
{
	return (uint64_t)size[0] * (uint64_t)size[1] * (uint64_t)size[2];
}

/* The end of a group launches what was called in it: a kernel on each GPU. */
static void end_group(struct maker *maker, struct host *host)
{
	struct builder_record call = {.begin = host->now_ns,
		.end = host->now_ns + 500,
		.op = model_intern(host, "ncclGroupEnd", NULL),
		.kind = PM_RECORD_CALL,
		.correlation = ++host->builder->correlation};

	builder_record(host->builder, 1, &call);
	for (int i = 0; i < maker->worker_count; i++) {
		struct worker *worker = &maker->workers[i];

		if (worker->host != host)
			continue;
		call.queue = (uint16_t)worker->queues[EXCHANGE];
		intervals(maker, worker, &call, false, worker->group.begin,
			worker->group.end - worker->group.begin, 0, 0);
	}
	host->now_ns = call.end + 100;
}

void model_group(struct maker *maker, bool begin)
{
	maker->in_group = begin;
	if (begin) {
		maker->group_calls = 0;
		maker->group_bytes = 0;
	}
	for (int i = 0; i < maker->worker_count; i++) {
		struct host *host = maker->workers[i].host;

		if (i > 0 && maker->workers[i - 1].host == host)
			continue;
		if (begin || !maker->options->activities)
			model_plain(host, begin ? "ncclGroupStart" : "ncclGroupEnd", 0, 0, NULL);
		else
			end_group(maker, host);
	}
}

void model_group_run(struct maker *maker)
{
	uint64_t last_ns = 0, end_ns;

	for (int i = 0; i < maker->worker_count; i++) {
		if (maker->workers[i].free_ns[EXCHANGE] > maker->group_start_ns[i])
			maker->group_start_ns[i] = maker->workers[i].free_ns[EXCHANGE];
		if (maker->group_start_ns[i] > last_ns)
			last_ns = maker->group_start_ns[i];
	}
	end_ns = last_ns + model_jitter(maker, 5000 + maker->group_bytes / 2);
	for (int i = 0; i < maker->worker_count; i++) {
		struct worker *worker = &maker->workers[i];

		worker->free_ns[EXCHANGE] = end_ns;
		worker->group.kind = PM_RECORD_DEVICE;
		worker->group.begin = maker->group_start_ns[i];
		worker->group.end = end_ns;
		if (!maker->options->no_device && !maker->options->activities)
			builder_record(worker->host->builder, 1, &worker->group);
	}
}

void model_exchange(struct maker *maker, const uint64_t *addresses, uint64_t elements, struct about about)
{
	bool alone = !maker->in_group;

	if (alone)
		model_group(maker, true);
	for (int i = 0; i < maker->worker_count; i++) {
		struct worker *worker = &maker->workers[i];
		struct host *host = worker->host;
		struct builder_record record = {.begin = host->now_ns,
			.end = host->now_ns + 1000,
			.op = model_intern(host, "ncclAllReduce",
				VALUES(addresses[i], addresses[i], elements, PM_TYPE_F32, elements * 4, 0,
					worker->communicator)),
			.queue = (uint16_t)worker->queues[EXCHANGE],
			.kind = PM_RECORD_CALL,
			.flags = PM_FLAG_GROUP,
			.correlation = maker->options->activities ? 0 : ++host->builder->correlation};

		builder_record(host->builder, 1, &record);
		model_note(maker, host, host->now_ns, about);
		/* The first call of a group carries its interval. */
		if (maker->group_calls == 0) {
			maker->group_start_ns[i] = host->now_ns + 2000;
			worker->group = record;
		}
		host->now_ns += 1100;
	}
	maker->group_calls++;
	maker->group_bytes += elements;
	if (!alone)
		return;
	model_group_run(maker);
	model_group(maker, false);
}
