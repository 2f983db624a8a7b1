/* Reading, dividing and copying batches: see batch.h. */
#include "batch.h"

#include <string.h>

#include "check.h"
#include "label.h"

/* is_lazy: what is not written is never looked at, and takes no memory where the system gives it at first
 * use. */
static float *pinned(size_t count, int is_lazy)
{
	void *p = NULL;

	CHECK(cudaMallocHost(&p, (count ? count : 1) * sizeof(float)));
	if (!is_lazy)
		memset(p, 0, count * sizeof(float));
	return p;
}

/* Lets the first GPU write into the others directly, where the machine can. */
static void enable_peers(struct dist *dist)
{
	CHECK(cudaSetDevice(dist->device[0]));
	for (int g = 1; g < dist->gpus; g++) {
		int is_possible = 0;
		cudaError_t result = cudaSuccess;

		CHECK(cudaDeviceCanAccessPeer(&is_possible, dist->device[0], dist->device[g]));
		if (is_possible)
			result = cudaDeviceEnablePeerAccess(dist->device[g], 0);
		if (result == cudaErrorPeerAccessAlreadyEnabled)
			cudaGetLastError();
		else
			CHECK(result);
	}
}

void batch_init(struct batch *b, struct dist *dist, struct nn *nets, const struct data *data, int size,
	enum batch_divide divide)
{
	size_t samples = (size_t)size, classes = (size_t)data->classes;
	int lazy = data->is_synthetic;

	memset(b, 0, sizeof(*b));
	b->dist = dist;
	b->nets = nets;
	b->size = size;
	b->divide = divide;
	b->width = nn_sample(nets[0].in);
	b->classes = nets[0].target == nets[0].input ? 0 : classes;
	b->raw = xcalloc(data_raw_size(data, size), 1);
	CHECK(cudaSetDevice(dist->device[0]));
	b->pixels = pinned(samples * b->width, lazy);
	b->labels = pinned(samples * classes, lazy);
	for (int g = 0; g < dist->gpus; g++) {
		dist_share(dist, size, dist->rank * dist->gpus + g, &b->part[g].first, &b->part[g].count);
		if (dist->replicas == 1 || divide != BATCH_DIVIDE_HOST)
			continue;
		CHECK(cudaSetDevice(dist->device[g]));
		b->part[g].pixels = pinned((size_t)b->part[g].count * b->width, lazy);
		b->part[g].labels = pinned((size_t)b->part[g].count * classes, lazy);
	}
	if (dist->replicas == 1 || divide != BATCH_DIVIDE_DEVICE)
		return;
	enable_peers(dist);
	b->whole_pixels = nn_floats(samples * b->width);
	b->whole_labels = nn_floats(samples * classes);
	CHECK(cudaEventCreateWithFlags(&b->divided, cudaEventDisableTiming));
}

void batch_free(struct batch *b)
{
	free(b->raw);
	CHECK(cudaFreeHost(b->pixels));
	CHECK(cudaFreeHost(b->labels));
	for (int g = 0; g < b->dist->gpus; g++) {
		if (!b->part[g].pixels)
			continue;
		CHECK(cudaFreeHost(b->part[g].pixels));
		CHECK(cudaFreeHost(b->part[g].labels));
	}
	if (b->divided) {
		CHECK(cudaSetDevice(b->dist->device[0]));
		CHECK(cudaFree(b->whole_pixels));
		CHECK(cudaFree(b->whole_labels));
		CHECK(cudaEventDestroy(b->divided));
	}
}

static void to_device(float *to, const float *from, size_t count, cudaStream_t stream)
{
	if (count)
		CHECK(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyHostToDevice, stream));
}

/* Pixels and labels, from pinned memory to GPU g. */
static void copy_to(struct batch *b, int g, float *pixels, float *labels, const float *from_pixels,
	const float *from_labels, int count, struct clock *clock)
{
	cudaStream_t stream = b->nets[g].stream;

	CHECK(cudaSetDevice(b->nets[g].device));
	label_set("h2d", NULL);
	clock_begin(clock, CLOCK_H2D, g, -1, stream);
	to_device(pixels, from_pixels, (size_t)count * b->width, stream);
	to_device(labels, from_labels, (size_t)count * b->classes, stream);
	clock_end(clock, CLOCK_H2D, g, -1, stream);
}

static void divide_on_host(struct batch *b, struct clock *clock)
{
	double begin_us = clock_now_us();

	label_set("md", NULL);
	for (int g = 0; g < b->dist->gpus; g++) {
		size_t first = (size_t)b->part[g].first, count = (size_t)b->part[g].count;

		memcpy(b->part[g].pixels, b->pixels + first * b->width, count * b->width * sizeof(float));
		memcpy(b->part[g].labels, b->labels + first * b->classes, count * b->classes * sizeof(float));
	}
	clock_host(clock, CLOCK_MD, begin_us);
	for (int g = 0; g < b->dist->gpus; g++)
		copy_to(b, g, b->nets[g].input, b->nets[g].target, b->part[g].pixels, b->part[g].labels,
			b->part[g].count, clock);
}

/* From the first GPU's memory to GPU g's, on the first GPU's stream. */
static void hand_out(struct batch *b, int g, float *to, const float *from, size_t count)
{
	struct nn *nets = b->nets;
	size_t size = count * sizeof(float);

	if (size && g == 0)
		CHECK(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, nets[0].stream));
	else if (size)
		CHECK(cudaMemcpyPeerAsync(to, nets[g].device, from, nets[0].device, size, nets[0].stream));
}

static void divide_on_device(struct batch *b, struct clock *clock)
{
	struct nn *nets = b->nets;

	copy_to(b, 0, b->whole_pixels, b->whole_labels, b->pixels, b->labels, b->size, clock);
	label_set("md", NULL);
	clock_begin(clock, CLOCK_MD, 0, -1, nets[0].stream);
	for (int g = 0; g < b->dist->gpus; g++) {
		size_t first = (size_t)b->part[g].first, count = (size_t)b->part[g].count;

		hand_out(b, g, nets[g].input, b->whole_pixels + first * b->width, count * b->width);
		hand_out(b, g, nets[g].target, b->whole_labels + first * b->classes, count * b->classes);
	}
	clock_end(clock, CLOCK_MD, 0, -1, nets[0].stream);
	CHECK(cudaEventRecord(b->divided, nets[0].stream));
	for (int g = 1; g < b->dist->gpus; g++) {
		CHECK(cudaSetDevice(nets[g].device));
		CHECK(cudaStreamWaitEvent(nets[g].stream, b->divided, 0));
	}
}

/* The synthetic samples of this process's GPUs. */
static void make(struct batch *b, struct data *data)
{
	const int last = b->dist->gpus - 1, first = b->part[0].first;
	const int count = b->part[last].first + b->part[last].count - first;

	if (data_read(data, first, count, b->raw) ||
		data_decode(data, first, count, b->raw, b->pixels + (size_t)first * b->width,
			b->labels + (size_t)first * (size_t)data->classes))
		errx(1, "%s", data->error);
	b->is_made = 1;
}

static void read_files(struct batch *b, struct data *data, int first, int count, struct clock *clock)
{
	double begin_us = clock_now_us();

	label_set("io", NULL);
	if (data_read(data, first, count, b->raw))
		errx(1, "%s", data->error);
	clock_host(clock, CLOCK_IO, begin_us);
	begin_us = clock_now_us();
	label_set("decode", NULL);
	if (data_decode(data, first, count, b->raw, b->pixels, b->labels))
		errx(1, "%s", data->error);
	clock_host(clock, CLOCK_DECODE, begin_us);
}

void batch_load(struct batch *b, struct data *data, int first, int count, struct clock *clock)
{
	if (!data->is_synthetic)
		read_files(b, data, first, count, clock);
	else if (!b->is_made)
		make(b, data);
	if (b->dist->replicas == 1)
		copy_to(b, 0, b->nets[0].input, b->nets[0].target, b->pixels, b->labels, b->size, clock);
	else if (b->divide == BATCH_DIVIDE_HOST)
		divide_on_host(b, clock);
	else
		divide_on_device(b, clock);
}
