/* A training program that does not exist: see model.h. */
#include "model.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 16, MOST_WORKERS = 8, COMPUTE = 0, EXCHANGE = 1 };

enum kind { CONV, NORM, POOL, DENSE, DROPOUT, SOFTMAX, MSE };

struct layer {
	const char *name;
	enum kind kind;
	int in[3], out[3]; /* channels, height, width */
	int kernel;
	bool linear; /* no activation */
};

struct tensors {
	uint64_t z, y, dy, w, b, dw, db, first_w, first_b, second_w, second_b;
	uint64_t weights, biases; /* elements */
};

struct cached {
	uint32_t function, operation;
	uint64_t values[20];
	uint32_t count;
};

struct descriptors {
	uint64_t filter, convolution, pool, dropout, act, op;
};

struct known_tensor {
	int64_t n;
	int size[3];
	uint64_t number;
};

struct host {
	struct model_process *process;
	struct builder *builder;
	uint64_t now_ns, reader_ns;
	struct cached *cache;
	size_t cache_count;
	const char *names[64];
	uint32_t functions[64];
	int function_count;
	struct known_tensor tensors[128];
	int tensor_count;
	struct descriptors descriptors[MOST_LAYERS]; /* by layer */
};

struct worker {
	struct host *host;
	int device, number;
	uint32_t queues[2];
	uint64_t free_ns[2];
	uint32_t communicator;
	uint64_t next_address;
	uint64_t input, target, whole, ones, constants, flat_w, flat_dw, sums;
	uint64_t flat_count;
	struct tensors tensors[MOST_LAYERS];
};

struct maker {
	const struct model_options *options;
	struct model *model;
	struct host hosts[8];
	struct worker workers[MOST_WORKERS];
	int worker_count;
	struct layer layers[MOST_LAYERS];
	int layer_count;
	int iteration, batch;
	bool training;
	uint64_t random;
};

/* What the next calls are. */
struct about {
	enum phase phase;
	const char *layer;
};

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
	"cublas COMPUTE cublasSgemv_v2 int:trans int:m int:n type:type reads:a_ptr reads:x_ptr scale:beta writes:y_ptr",
	"cublas COMPUTE cublasSaxpy_v2 int:n type:type reads:x_ptr writes:y_ptr",
	"cublas COMPUTE cublasSscal_v2 int:n type:type writes:x_ptr",
	"cublas COMPUTE cublasScopy_v2 int:n type:type reads:x_ptr writes:y_ptr",
	"nccl COMM ncclAllReduce reads:send writes:recv int:count type:type bytes:bytes int:op communicator:comm",
	"nccl GROUP ncclGroupStart",
	"nccl GROUP ncclGroupEnd",
	"cudart ALLOC cudaMalloc bytes:bytes",
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

static uint32_t intern(struct host *host, const char *name, const uint64_t *values)
{
	uint32_t number = function(host, name), count = host->builder->function_values[number];
	struct cached *item;

	for (size_t i = 0; i < host->cache_count; i++) {
		item = &host->cache[i];
		if (item->function == number && (count == 0 || memcmp(item->values, values, count * sizeof(*values)) == 0))
			return item->operation;
	}
	host->cache = realloc(host->cache, (host->cache_count + 1) * sizeof(*host->cache));
	item = &host->cache[host->cache_count++];
	item->function = number;
	item->count = count;
	if (count)
		memcpy(item->values, values, count * sizeof(*values));
	item->operation = builder_operation(host->builder, number, 0, values);
	return item->operation;
}

static void note(struct maker *maker, struct host *host, uint64_t begin_ns, struct about about)
{
	struct model_process *process = host->process;

	if (process->call_count == process->call_room) {
		process->call_room = process->call_room ? process->call_room * 2 : 256;
		process->calls = realloc(process->calls, process->call_room * sizeof(*process->calls));
	}
	process->calls[process->call_count++] =
		(struct model_call){begin_ns, about.phase, about.layer, maker->iteration};
}

/* A duration with up to a tenth more, by chance. */
static uint64_t jitter(struct maker *maker, uint64_t ns)
{
	if (!maker->options->seed)
		return ns;
	maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
	return ns + ns * (maker->random >> 33) / 10 / 0x7fffffffu;
}

static uint64_t scaled(struct maker *maker, const struct worker *worker, uint64_t ns)
{
	if (maker->options->slow > 0 && worker->number == maker->options->slow_worker)
		ns = (uint64_t)((double)ns * maker->options->slow);
	return jitter(maker, ns);
}

/* Work on a queue: 1 us of the host, `ns` of the device. */
static void work(struct maker *maker, struct worker *worker, int queue, const char *name, uint64_t ns,
	struct about about, const uint64_t *values)
{
	struct host *host = worker->host;
	uint32_t operation = intern(host, name, values);
	uint64_t begin_ns = host->now_ns, start_ns = begin_ns + 2000;

	ns = scaled(maker, worker, ns);
	if (worker->free_ns[queue] > start_ns)
		start_ns = worker->free_ns[queue];
	worker->free_ns[queue] = start_ns + ns;
	if (maker->options->no_device) {
		builder_call(host->builder, 1, begin_ns, begin_ns + ns, operation, worker->queues[queue], 0, 0, 0);
		host->now_ns += ns + 100;
	} else {
		builder_call(host->builder, 1, begin_ns, begin_ns + 1000, operation, worker->queues[queue], 0, start_ns,
			start_ns + ns);
		host->now_ns += 1100;
	}
	note(maker, host, begin_ns, about);
}

/* A call that is no work. */
static void plain(struct host *host, const char *name, uint32_t queue, uint64_t until_ns, const uint64_t *values)
{
	uint64_t begin_ns = host->now_ns, end_ns = until_ns > begin_ns + 500 ? until_ns : begin_ns + 500;

	builder_call(host->builder, 1, begin_ns, end_ns, intern(host, name, values), queue, 0, 0, 0);
	host->now_ns = end_ns + 100;
}

static void synchronize(struct worker *worker, int queue)
{
	plain(worker->host, "cudaStreamSynchronize", worker->queues[queue], worker->free_ns[queue] + 1500, NULL);
}

/* `to` waits for what `from` has been given. */
static void wait_event(struct worker *worker, int from, int to)
{
	uint64_t event[] = {0xe0};

	plain(worker->host, "cudaEventRecord", worker->queues[from], 0, event);
	plain(worker->host, "cudaStreamWaitEvent", worker->queues[to], 0, event);
	if (worker->free_ns[from] > worker->free_ns[to])
		worker->free_ns[to] = worker->free_ns[from];
}

static uint64_t allocate(struct worker *worker, uint64_t elements)
{
	uint64_t address = worker->next_address;

	worker->next_address += (elements * 4 + 511) & ~(uint64_t)255;
	return address;
}

static uint64_t tensor(struct worker *worker, int64_t n, const int size[3])
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
	item->number = builder_descriptor(host->builder, PM_DESCRIPTOR_TENSOR, 10, (int64_t)PM_TYPE_F32, (int64_t)4, n, c,
		h, w, c * h * w, h * w, w, (int64_t)1);
	return item->number;
}

static uint64_t volume(const int size[3])
{
	return (uint64_t)size[0] * (uint64_t)size[1] * (uint64_t)size[2];
}

/* ---- The networks ---- */

static struct layer *add(struct maker *maker, const char *name, enum kind kind, int outputs, int kernel, bool linear)
{
	struct layer *layer = &maker->layers[maker->layer_count], *before = layer - 1;

	*layer = (struct layer){.name = name, .kind = kind, .kernel = kernel, .linear = linear};
	if (maker->layer_count)
		memcpy(layer->in, before->out, sizeof(layer->in));
	else
		memcpy(layer->in, (int[]){1, 28, 28}, sizeof(layer->in));
	memcpy(layer->out, layer->in, sizeof(layer->out));
	if (kind == CONV) {
		layer->out[0] = outputs;
		layer->out[1] = layer->out[2] = layer->in[1] - kernel + 1;
	} else if (kind == POOL) {
		layer->out[1] = layer->out[2] = layer->in[1] / kernel;
	} else if (kind == DENSE) {
		memcpy(layer->out, (int[]){outputs, 1, 1}, sizeof(layer->out));
	}
	maker->model->layers[maker->layer_count++] = name;
	maker->model->layer_count = maker->layer_count;
	return layer;
}

static void build(struct maker *maker)
{
	switch (maker->options->net) {
	case MODEL_LENET:
		add(maker, "conv1", CONV, 6, 5, false);
		add(maker, "pool1", POOL, 0, 2, true);
		add(maker, "conv2", CONV, 16, 5, false);
		add(maker, "pool2", POOL, 0, 2, true);
		add(maker, "fc1", DENSE, 120, 0, false);
		add(maker, "dropout1", DROPOUT, 0, 0, true);
		add(maker, "fc2", DENSE, 84, 0, false);
		add(maker, "fc3", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	case MODEL_MLP:
		add(maker, "fc1", DENSE, 300, 0, false);
		add(maker, "fc2", DENSE, 100, 0, false);
		add(maker, "fc3", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	case MODEL_AUTOENCODER:
		add(maker, "fc1", DENSE, 128, 0, false);
		add(maker, "fc2", DENSE, 32, 0, false);
		add(maker, "fc3", DENSE, 128, 0, false);
		add(maker, "fc4", DENSE, 784, 0, false);
		add(maker, "loss", MSE, 0, 0, true);
		break;
	case MODEL_NORM:
		add(maker, "conv1", CONV, 8, 3, true);
		add(maker, "norm1", NORM, 0, 0, false);
		add(maker, "pool1", POOL, 0, 2, true);
		add(maker, "fc1", DENSE, 10, 0, true);
		add(maker, "softmax", SOFTMAX, 0, 0, true);
		break;
	}
}

static bool has_parameters(const struct layer *layer)
{
	return layer->kind == CONV || layer->kind == DENSE || layer->kind == NORM;
}

static void place_parameters(struct maker *maker, struct worker *worker)
{
	bool together = maker->options->fused || maker->options->flat;
	uint64_t all = 0, at = 0;

	for (int i = 0; i < maker->layer_count; i++) {
		const struct layer *layer = &maker->layers[i];
		struct tensors *t = &worker->tensors[i];

		if (!has_parameters(layer))
			continue;
		t->biases = (uint64_t)layer->out[0];
		t->weights = layer->kind == CONV ? (uint64_t)(layer->kernel * layer->kernel * layer->in[0] * layer->out[0])
			     : layer->kind == NORM ? t->biases
						   : volume(layer->in) * volume(layer->out);
		all += t->weights + t->biases;
	}
	worker->flat_count = all;
	if (together) {
		worker->flat_w = allocate(worker, all);
		worker->flat_dw = allocate(worker, all);
	}
	for (int i = 0; i < maker->layer_count; i++) {
		struct tensors *t = &worker->tensors[i];
		uint64_t count = t->weights + t->biases;
		bool apart = maker->options->separate && !together;

		if (!t->weights)
			continue;
		t->w = together ? worker->flat_w + at * 4 : allocate(worker, apart ? t->weights : count);
		t->dw = together ? worker->flat_dw + at * 4 : allocate(worker, apart ? t->weights : count);
		t->b = apart ? allocate(worker, t->biases) : t->w + t->weights * 4;
		t->db = apart ? allocate(worker, t->biases) : t->dw + t->weights * 4;
		t->first_w = allocate(worker, count);
		t->second_w = allocate(worker, count);
		t->first_b = t->first_w + t->weights * 4;
		t->second_b = t->second_w + t->weights * 4;
		at += count;
	}
}

static void place(struct maker *maker, struct worker *worker)
{
	static const int image[3] = {1, 28, 28};
	uint64_t most = 256;

	worker->input = allocate(worker, most * volume(image));
	worker->target = maker->options->net == MODEL_AUTOENCODER ? worker->input : allocate(worker, most * 10);
	worker->whole = allocate(worker, most * MOST_WORKERS * volume(image));
	worker->ones = allocate(worker, most);
	worker->constants = allocate(worker, 1000000);
	worker->sums = allocate(worker, 4);
	for (int i = 0; i < maker->layer_count; i++) {
		const struct layer *layer = &maker->layers[i];
		struct tensors *t = &worker->tensors[i];

		t->y = allocate(worker, most * volume(layer->out));
		t->z = layer->linear ? t->y : allocate(worker, most * volume(layer->out));
		t->dy = allocate(worker, most * volume(layer->out));
	}
	place_parameters(maker, worker);
}

/* ---- Passes ---- */

#define VALUES(...) ((const uint64_t[]){__VA_ARGS__})

static struct descriptors *descriptors(struct maker *maker, struct worker *worker, const struct layer *layer)
{
	struct builder *builder = worker->host->builder;
	struct descriptors *d = &worker->host->descriptors[layer - maker->layers];

	if (d->filter)
		return d;
	d->filter = builder_descriptor(builder, PM_DESCRIPTOR_FILTER, 7, (int64_t)PM_TYPE_F32, (int64_t)0, (int64_t)4,
		(int64_t)layer->out[0], (int64_t)layer->in[0], (int64_t)layer->kernel, (int64_t)layer->kernel);
	d->convolution = builder_descriptor(builder, PM_DESCRIPTOR_CONVOLUTION, 11, (int64_t)2, (int64_t)0, (int64_t)0,
		(int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)1, (int64_t)PM_TYPE_F32, (int64_t)1, (int64_t)0);
	d->pool = builder_descriptor(builder, PM_DESCRIPTOR_POOLING, 8, (int64_t)0, (int64_t)2, (int64_t)layer->kernel,
		(int64_t)layer->kernel, (int64_t)0, (int64_t)0, (int64_t)layer->kernel, (int64_t)layer->kernel);
	d->dropout = builder_descriptor(builder, PM_DESCRIPTOR_DROPOUT, 2, (int64_t)500000, (int64_t)7);
	d->act = builder_descriptor(builder, PM_DESCRIPTOR_ACTIVATION, 2, (int64_t)1, (int64_t)0);
	d->op = builder_descriptor(builder, PM_DESCRIPTOR_OP_TENSOR, 2, (int64_t)0, (int64_t)PM_TYPE_F32);
	return d;
}

static void activation(struct maker *maker, struct worker *worker, const struct layer *layer, struct tensors *t)
{
	static const int channels_only[3] = {0, 1, 1};
	struct about forward = {PHASE_FORWARD, layer->name};
	uint64_t y = tensor(worker, maker->batch, layer->out);
	int bias[3];

	memcpy(bias, channels_only, sizeof(bias));
	bias[0] = layer->out[0];
	if (layer->kind != NORM)
		work(maker, worker, COMPUTE, "cudnnAddTensor", 3000, forward,
			VALUES(tensor(worker, 1, bias), t->b, 1, y, t->z));
	if (!layer->linear) {
		uint64_t act = descriptors(maker, worker, layer)->act;

		work(maker, worker, COMPUTE, "cudnnActivationForward", 4000, forward, VALUES(act, y, t->z, 0, y, t->y));
	}
}

static void forward_layer(struct maker *maker, struct worker *worker, int i)
{
	const struct layer *layer = &maker->layers[i];
	struct tensors *t = &worker->tensors[i];
	struct about about = {PHASE_FORWARD, layer->name};
	const struct descriptors *d = descriptors(maker, worker, layer);
	uint64_t x = tensor(worker, maker->batch, layer->in), y = tensor(worker, maker->batch, layer->out);
	uint64_t from = i ? worker->tensors[i - 1].y : worker->input;
	uint64_t in = volume(layer->in), out = volume(layer->out), n = (uint64_t)maker->batch;
	int channels[3] = {layer->out[0], 1, 1};

	switch (layer->kind) {
	case CONV:
		if (maker->options->search && maker->iteration == 0)
			work(maker, worker, COMPUTE, "cudnnFindConvolutionForwardAlgorithmEx", 50000,
				(struct about){PHASE_OTHER, NULL}, VALUES(x, from, d->filter, t->w, d->convolution, y, t->z));
		work(maker, worker, COMPUTE, "cudnnConvolutionForward", 20000, about,
			VALUES(x, from, d->filter, t->w, d->convolution, 1, 0, y, t->z));
		activation(maker, worker, layer, t);
		break;
	case NORM:
		work(maker, worker, COMPUTE, "cudnnBatchNormalizationForwardTraining", 8000, about,
			VALUES(1, 0, x, from, y, t->z, tensor(worker, 1, channels), t->w, t->b));
		activation(maker, worker, layer, t);
		break;
	case DENSE:
		work(maker, worker, COMPUTE, "cublasSgemm_v2", 12000, about,
			VALUES(1, 0, out, n, in, PM_TYPE_F32, t->w, from, 0, t->z));
		activation(maker, worker, layer, t);
		break;
	case POOL:
		work(maker, worker, COMPUTE, "cudnnPoolingForward", 5000, about, VALUES(d->pool, x, from, 0, y, t->y));
		break;
	case DROPOUT:
		if (maker->training)
			work(maker, worker, COMPUTE, "cudnnDropoutForward", 3000, about, VALUES(d->dropout, x, from, y, t->y));
		else
			work(maker, worker, COMPUTE, "cudaMemcpyAsync", 2000, about, VALUES(t->y, from, n * out * 4, 3));
		break;
	case SOFTMAX:
		work(maker, worker, COMPUTE, "cudnnSoftmaxForward", 3000, about, VALUES(2, 1, x, from, 0, y, t->y));
		break;
	case MSE:
		work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about,
			VALUES(d->op, x, from, x, worker->target, 0, y, t->y));
		break;
	}
}

static void backward_layer(struct maker *maker, struct worker *worker, int i, bool keep)
{
	const struct layer *layer = &maker->layers[i];
	struct tensors *t = &worker->tensors[i];
	struct about about = {PHASE_BACKWARD, layer->name};
	const struct descriptors *d = descriptors(maker, worker, layer);
	uint64_t x = tensor(worker, maker->batch, layer->in), y = tensor(worker, maker->batch, layer->out);
	uint64_t from = i ? worker->tensors[i - 1].y : worker->input, dx = i ? worker->tensors[i - 1].dy : 0;
	uint64_t in = volume(layer->in), out = volume(layer->out), n = (uint64_t)maker->batch;
	int channels[3] = {layer->out[0], 1, 1};
	uint64_t bias = tensor(worker, 1, channels);

	if (has_parameters(layer) && !layer->linear)
		work(maker, worker, COMPUTE, "cudnnActivationBackward", 4000, about,
			VALUES(d->act, y, t->y, y, t->dy, y, t->z, 0, y, t->dy));
	switch (layer->kind) {
	case CONV:
		work(maker, worker, COMPUTE, "cudnnConvolutionBackwardBias", 4000, about, VALUES(y, t->dy, keep, bias, t->db));
		work(maker, worker, COMPUTE, "cudnnConvolutionBackwardFilter", 25000, about,
			VALUES(x, from, y, t->dy, d->convolution, 1, keep, d->filter, t->dw));
		if (dx)
			work(maker, worker, COMPUTE, "cudnnConvolutionBackwardData", 22000, about,
				VALUES(d->filter, t->w, y, t->dy, d->convolution, 1, 0, x, dx));
		break;
	case NORM:
		work(maker, worker, COMPUTE, "cudnnBatchNormalizationBackward", 9000, about,
			VALUES(1, 0, x, from, y, t->dy, x, dx, bias, t->w, t->dw, t->db));
		break;
	case DENSE:
		work(maker, worker, COMPUTE, "cublasSgemv_v2", 3000, about,
			VALUES(0, out, n, PM_TYPE_F32, t->dy, worker->ones, keep, t->db));
		work(maker, worker, COMPUTE, "cublasSgemm_v2", 12000, about,
			VALUES(0, 1, in, out, n, PM_TYPE_F32, from, t->dy, keep, t->dw));
		if (dx)
			work(maker, worker, COMPUTE, "cublasSgemm_v2", 12000, about,
				VALUES(0, 0, in, n, out, PM_TYPE_F32, t->w, t->dy, 0, dx));
		break;
	case POOL:
		work(maker, worker, COMPUTE, "cudnnPoolingBackward", 6000, about,
			VALUES(d->pool, y, t->y, y, t->dy, x, from, 0, x, dx));
		break;
	case DROPOUT:
		work(maker, worker, COMPUTE, "cudnnDropoutBackward", 3000, about, VALUES(d->dropout, y, t->dy, x, dx));
		break;
	case SOFTMAX:
		if (maker->options->axpy_loss) {
			work(maker, worker, COMPUTE, "cublasScopy_v2", 1000, about, VALUES(n * out, PM_TYPE_F32, t->y, dx));
			work(maker, worker, COMPUTE, "cublasSaxpy_v2", 1000, about,
				VALUES(n * out, PM_TYPE_F32, worker->target, dx));
		} else {
			work(maker, worker, COMPUTE, "cudnnSoftmaxBackward", 3000, about,
				VALUES(2, 1, y, t->y, y, worker->target, 0, x, dx));
		}
		break;
	case MSE:
		work(maker, worker, COMPUTE, "cudnnTransformTensor", 3000, about, VALUES(y, t->y, 0, x, dx));
		break;
	}
}

/* One call for all workers of a collective: it ends when the last has come. */
static void exchange(struct maker *maker, const uint64_t *addresses, uint64_t elements, struct about about)
{
	uint64_t begin_ns[MOST_WORKERS], start_ns[MOST_WORKERS], last_ns = 0, end_ns;
	uint32_t operations[MOST_WORKERS];
	struct pm_record record;

	for (int i = 0; i < maker->worker_count; i++) {
		struct worker *worker = &maker->workers[i];
		struct host *host = worker->host;

		if (i == 0 || maker->workers[i - 1].host != host)
			plain(host, "ncclGroupStart", 0, 0, NULL);
		operations[i] = intern(host, "ncclAllReduce",
			VALUES(addresses[i], addresses[i], elements, PM_TYPE_F32, elements * 4, 0, worker->communicator));
		begin_ns[i] = host->now_ns;
		host->now_ns += 1100;
		start_ns[i] = begin_ns[i] + 2000;
		if (worker->free_ns[EXCHANGE] > start_ns[i])
			start_ns[i] = worker->free_ns[EXCHANGE];
		if (start_ns[i] > last_ns)
			last_ns = start_ns[i];
		note(maker, host, begin_ns[i], about);
	}
	end_ns = last_ns + jitter(maker, 5000 + elements / 2);
	for (int i = 0; i < maker->worker_count; i++) {
		struct worker *worker = &maker->workers[i];

		worker->free_ns[EXCHANGE] = end_ns;
		record = (struct pm_record){.begin = begin_ns[i],
			.end = begin_ns[i] + 1000,
			.op = operations[i],
			.queue = (uint16_t)worker->queues[EXCHANGE],
			.kind = PM_RECORD_CALL,
			.flags = PM_FLAG_GROUP,
			.correlation = ++worker->host->builder->correlation};
		builder_record(worker->host->builder, 1, &record);
		record.kind = PM_RECORD_DEVICE;
		record.begin = start_ns[i];
		record.end = end_ns;
		if (!maker->options->no_device)
			builder_record(worker->host->builder, 1, &record);
		if (i + 1 == maker->worker_count || maker->workers[i + 1].host != worker->host)
			plain(worker->host, "ncclGroupEnd", 0, 0, NULL);
	}
}

static void aggregate(struct maker *maker, int layer)
{
	uint64_t addresses[MOST_WORKERS];

	if (maker->worker_count == 1 || (layer >= 0 && !maker->workers[0].tensors[layer].weights))
		return;
	for (int i = 0; i < maker->worker_count; i++) {
		wait_event(&maker->workers[i], COMPUTE, EXCHANGE);
		addresses[i] = layer < 0 ? maker->workers[i].flat_dw : maker->workers[i].tensors[layer].dw;
	}
	if (layer < 0) {
		exchange(maker, addresses, maker->workers[0].flat_count, (struct about){PHASE_COMMUNICATION, NULL});
		return;
	}
	exchange(maker, addresses, maker->workers[0].tensors[layer].weights +
					   (maker->options->separate ? 0 : maker->workers[0].tensors[layer].biases),
		(struct about){PHASE_COMMUNICATION, maker->layers[layer].name});
	if (maker->options->separate) {
		for (int i = 0; i < maker->worker_count; i++)
			addresses[i] = maker->workers[i].tensors[layer].db;
		exchange(maker, addresses, maker->workers[0].tensors[layer].biases,
			(struct about){PHASE_COMMUNICATION, maker->layers[layer].name});
	}
}

static void update_one(struct maker *maker, struct worker *worker, struct about about, uint64_t w, uint64_t dw,
	uint64_t first, uint64_t second, uint64_t count)
{
	int size[3] = {(int)count, 1, 1};
	uint64_t d = tensor(worker, 1, size);

	switch (maker->options->optimizer) {
	case MODEL_MOMENTUM:
		work(maker, worker, COMPUTE, "cublasSscal_v2", 2000, about, VALUES(count, PM_TYPE_F32, first));
		work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about, VALUES(count, PM_TYPE_F32, dw, first));
		work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about, VALUES(count, PM_TYPE_F32, first, w));
		break;
	case MODEL_ADAM:
		work(maker, worker, COMPUTE, "cudnnAddTensor", 3000, about, VALUES(d, dw, 2, d, first));
		work(maker, worker, COMPUTE, "cudnnOpTensor", 3000, about, VALUES(descriptors(maker, worker, maker->layers)->op, d, dw, d, dw, 2, d, second));
		work(maker, worker, COMPUTE, "cudnnBatchNormalizationForwardInference", 4000, about,
			VALUES(0, 1, d, first, d, w, d, worker->constants, worker->constants + 8));
		break;
	case MODEL_OPAQUE:
		about.layer = NULL;
		work(maker, worker, COMPUTE, "cudaLaunchKernel", 3000, about, VALUES(0x4000, count / 256 + 1, 256, 0));
		break;
	default:
		work(maker, worker, COMPUTE, "cublasSaxpy_v2", 2000, about, VALUES(count, PM_TYPE_F32, dw, w));
	}
}

static void update(struct maker *maker, struct worker *worker)
{
	if (maker->options->flat) {
		update_one(maker, worker, (struct about){PHASE_UPDATE, NULL}, worker->flat_w, worker->flat_dw, 0, 0,
			worker->flat_count);
		return;
	}
	for (int i = 0; i < maker->layer_count; i++) {
		struct tensors *t = &worker->tensors[i];
		struct about about = {PHASE_UPDATE, maker->layers[i].name};

		if (!t->weights)
			continue;
		if (!maker->options->separate) {
			update_one(maker, worker, about, t->w, t->dw, t->first_w, t->second_w, t->weights + t->biases);
			continue;
		}
		update_one(maker, worker, about, t->w, t->dw, t->first_w, t->second_w, t->weights);
		update_one(maker, worker, about, t->b, t->db, t->first_b, t->second_b, t->biases);
	}
}

/* ---- Input ---- */

static void read_input(struct maker *maker, struct host *host)
{
	uint64_t file[] = {1};
	uint64_t *now_ns = maker->options->prefetch ? &host->reader_ns : &host->now_ns;
	uint32_t thread = maker->options->prefetch ? 2 : 1;

	for (int i = 0; i < 2; i++) {
		uint64_t took_ns = jitter(maker, 6000);

		note(maker, host, *now_ns, (struct about){maker->options->prefetch ? PHASE_COUNT : PHASE_IO, NULL});
		builder_call(host->builder, thread, *now_ns, *now_ns + took_ns, intern(host, "read", file), 0, 784 * maker->batch,
			0, 0);
		*now_ns += took_ns + 300;
	}
	if (maker->options->prefetch)
		host->reader_ns += 20000;
	host->now_ns += 8000; /* prepares the batch */
}

static void copy_input(struct maker *maker, struct worker *first, struct worker *worker)
{
	static const int image[3] = {1, 28, 28};
	uint64_t bytes = (uint64_t)maker->batch * volume(image) * 4;
	bool divide = maker->options->divide_device;

	if (divide && worker == first) {
		uint64_t all = bytes * (uint64_t)maker->options->gpus;

		work(maker, worker, COMPUTE, "cudaMemcpyAsync", 30000, (struct about){PHASE_H2D, NULL},
			VALUES(worker->whole, 0x1000, all, 1));
		work(maker, worker, COMPUTE, "cudaMemcpyAsync", 5000, (struct about){PHASE_MD, NULL},
			VALUES(worker->input, worker->whole, bytes, 3));
		return;
	}
	if (divide) {
		work(maker, first, COMPUTE, "cudaMemcpyPeerAsync", 8000, (struct about){PHASE_MD, NULL},
			VALUES(worker->input, first->whole + bytes * (uint64_t)worker->device, bytes, 3, (uint64_t)worker->device,
				0));
		if (first->free_ns[COMPUTE] > worker->free_ns[COMPUTE])
			worker->free_ns[COMPUTE] = first->free_ns[COMPUTE];
		return;
	}
	work(maker, worker, COMPUTE, "cudaMemcpyAsync", 15000, (struct about){PHASE_H2D, NULL},
		VALUES(worker->input, 0x1000, bytes, 1));
	if (worker->target != worker->input)
		work(maker, worker, COMPUTE, "cudaMemcpyAsync", 3000, (struct about){PHASE_H2D, NULL},
			VALUES(worker->target, 0x2000, (uint64_t)maker->batch * 40, 1));
}

static void load(struct maker *maker)
{
	for (int i = 0; i < maker->worker_count && !maker->options->resident; i++) {
		struct worker *worker = &maker->workers[i];
		bool first = i == 0 || maker->workers[i - 1].host != worker->host;
		int begin = i - i % maker->options->gpus;

		if (first)
			read_input(maker, worker->host);
		copy_input(maker, &maker->workers[begin], worker);
	}
}

static void forward(struct maker *maker)
{
	for (int l = 0; l < maker->layer_count; l++)
		for (int i = 0; i < maker->worker_count; i++)
			forward_layer(maker, &maker->workers[i], l);
	for (int i = 0; i < maker->worker_count; i++) {
		struct worker *worker = &maker->workers[i];
		const struct layer *last = &maker->layers[maker->layer_count - 1];

		work(maker, worker, COMPUTE, "cudaMemcpyAsync", 2000, (struct about){PHASE_OTHER, NULL},
			VALUES(0x3000, worker->tensors[maker->layer_count - 1].y, (uint64_t)maker->batch * volume(last->out) * 4,
				2));
	}
}

static void backward(struct maker *maker, int part, int parts)
{
	for (int l = maker->layer_count - 1; l >= 0; l--) {
		for (int i = 0; i < maker->worker_count; i++)
			backward_layer(maker, &maker->workers[i], l, part > 0);
		if (maker->options->overlap && !maker->options->fused && part + 1 == parts)
			aggregate(maker, l);
	}
	if (part + 1 < parts)
		return;
	if (maker->options->fused)
		aggregate(maker, -1);
	for (int l = maker->layer_count - 1; l >= 0 && !maker->options->fused && !maker->options->overlap; l--)
		aggregate(maker, l);
}

/* Small copies and a collective that have nothing to do with the gradients. */
static void log_loss(struct maker *maker)
{
	uint64_t addresses[MOST_WORKERS];
	struct about other = {PHASE_OTHER, NULL};

	for (int i = 0; i < maker->worker_count; i++) {
		addresses[i] = maker->workers[i].sums;
		work(maker, &maker->workers[i], EXCHANGE, "cudaMemcpyAsync", 1000, other,
			VALUES(maker->workers[i].sums, 0x5000, 8, 1));
	}
	if (maker->worker_count > 1)
		exchange(maker, addresses, 2, other);
	for (int i = 0; i < maker->worker_count; i++) {
		work(maker, &maker->workers[i], EXCHANGE, "cudaMemcpyAsync", 1000, other,
			VALUES(0x5000, maker->workers[i].sums, 8, 2));
		synchronize(&maker->workers[i], EXCHANGE);
	}
}

static void synchronize_all(struct maker *maker)
{
	for (int i = 0; i < maker->worker_count; i++)
		synchronize(&maker->workers[i], COMPUTE);
}

static void iterate(struct maker *maker)
{
	int parts = maker->options->accumulate > 1 ? maker->options->accumulate : 1;
	int every = maker->options->uneven_every;

	maker->batch = every && (maker->iteration + 1) % every == 0 ? maker->options->batch / 2 : maker->options->batch;
	for (int part = 0; part < parts; part++) {
		load(maker);
		forward(maker);
		backward(maker, part, parts);
	}
	for (int i = 0; i < maker->worker_count; i++) {
		if (maker->worker_count > 1)
			wait_event(&maker->workers[i], EXCHANGE, COMPUTE);
		update(maker, &maker->workers[i]);
	}
	synchronize_all(maker);
	for (int i = 0; i < maker->worker_count; i++)
		maker->workers[i].host->now_ns += 3000; /* sums up the loss */
	if (maker->options->log_every && maker->iteration % maker->options->log_every == 0)
		log_loss(maker);
}

static void evaluate(struct maker *maker)
{
	int iteration = maker->iteration;

	maker->iteration = -1;
	maker->training = false;
	maker->batch = maker->options->batch;
	for (int i = 0; i < maker->options->evaluate_count; i++) {
		load(maker);
		forward(maker);
		synchronize_all(maker);
	}
	maker->training = true;
	maker->iteration = iteration;
}

static void set_up(struct maker *maker)
{
	const struct model_options *options = maker->options;

	for (int p = 0; p < options->processes; p++) {
		struct host *host = &maker->hosts[p];

		host->process = &maker->model->processes[p];
		host->builder = &host->process->builder;
		builder_init(host->builder);
		host->builder->header.rank = p;
		host->builder->header.world = options->processes;
		host->builder->header.local_rank = p;
		host->builder->header.pid = (uint32_t)(4242 + p);
		host->builder->header.device_source = options->no_device ? PM_DEVICE_NONE : PM_DEVICE_EVENTS;
		host->builder->killed = options->killed;
		host->now_ns = host->reader_ns = 1000000;
		builder_string(host->builder, "data/images");
		for (int g = 0; g < options->gpus; g++) {
			struct worker *worker = &maker->workers[maker->worker_count];

			worker->host = host;
			worker->number = maker->worker_count++;
			worker->device = g;
			worker->next_address = 0x700000000000u + ((uint64_t)g << 36);
			worker->queues[COMPUTE] = builder_queue(host->builder, g, 0x10);
			worker->queues[EXCHANGE] = builder_queue(host->builder, g, 0x20);
			if (options->processes * options->gpus > 1)
				worker->communicator = builder_communicator(
					host->builder, worker->number, options->processes * options->gpus, g, 0xc0ffee);
			place(maker, worker);
		}
	}
	maker->iteration = -1;
	for (int i = 0; i < maker->worker_count; i++)
		for (int l = 0; l < maker->layer_count; l++) {
			struct tensors *t = &maker->workers[i].tensors[l];

			plain(maker->workers[i].host, "cudaMalloc", 0, 0, VALUES(4096));
			if (t->weights)
				work(maker, &maker->workers[i], COMPUTE, "cudaMemcpyAsync", 5000,
					(struct about){PHASE_COUNT, NULL}, VALUES(t->w, 0x6000, t->weights * 4, 1));
		}
	synchronize_all(maker);
}

void model_make(struct model *model, const struct model_options *options)
{
	struct maker maker = {.options = options, .model = model, .training = true, .random = options->seed};

	memset(model, 0, sizeof(*model));
	model->process_count = options->processes;
	build(&maker);
	set_up(&maker);
	for (int i = 0; i < options->iterations; i++) {
		maker.iteration = i;
		iterate(&maker);
		if (options->evaluate_every && (i + 1) % options->evaluate_every == 0)
			evaluate(&maker);
	}
	for (int p = 0; p < options->processes; p++) {
		builder_finish(&model->processes[p].builder);
		free(maker.hosts[p].cache);
	}
}

void model_free(struct model *model)
{
	for (int p = 0; p < model->process_count; p++) {
		builder_free(&model->processes[p].builder);
		free(model->processes[p].calls);
	}
}
