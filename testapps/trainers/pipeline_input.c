/* Reading micro-batches and copying them to the GPU: see pipeline_input.h. */
#include "pipeline_input.h"

#include "check.h"
#include "label.h"

static float *pinned(size_t count)
{
	void *p = NULL;

	CHECK(cudaMallocHost(&p, (count ? count : 1) * sizeof(float)));
	return p;
}

void pipeline_input_open(struct pipeline_input *in, struct nn *nn, const struct data *data, int places)
{
	*in = (struct pipeline_input){.nn = nn};
	if (nn->first > 0 && !nn_has_loss(nn))
		return;
	in->places = places;
	in->pixel_count = nn_numel(nn->in);
	in->label_count = (size_t)nn->in.n * (size_t)data->classes;
	in->raw = xcalloc(data_raw_size(data, nn->in.n), 1);
	in->pixels = pinned((size_t)places * in->pixel_count);
	in->labels = pinned((size_t)places * in->label_count);
	in->is_made = xcalloc((size_t)places, 1);
	in->copied = xcalloc((size_t)places, sizeof(*in->copied));
	for (int i = 0; i < places; i++)
		CHECK(cudaEventCreateWithFlags(&in->copied[i], cudaEventDisableTiming));
}

void pipeline_input_close(struct pipeline_input *in)
{
	for (int i = 0; i < in->places; i++)
		CHECK(cudaEventDestroy(in->copied[i]));
	CHECK(cudaFreeHost(in->pixels));
	CHECK(cudaFreeHost(in->labels));
	free(in->raw);
	free(in->is_made);
	free(in->copied);
}

static void read_samples(
	struct pipeline_input *in, struct data *data, int first, int count, int place, struct clock *clock)
{
	float *pixels = in->pixels + (size_t)place * in->pixel_count;
	float *labels = in->labels + (size_t)place * in->label_count;
	double begin_us = clock_now_us();

	if (data->is_synthetic && in->is_made[place])
		return;
	in->is_made[place] = 1;
	label_set("io", NULL);
	if (data_read(data, first, count, in->raw))
		errx(1, "%s", data->error);
	clock_host(clock, CLOCK_IO, begin_us);
	begin_us = clock_now_us();
	label_set("decode", NULL);
	if (data_decode(data, first, count, in->raw, pixels, labels))
		errx(1, "%s", data->error);
	clock_host(clock, CLOCK_DECODE, begin_us);
}

static void to_device(float *to, const float *from, size_t count, cudaStream_t stream)
{
	CHECK(cudaMemcpyAsync(to, from, count * sizeof(float), cudaMemcpyHostToDevice, stream));
}

void pipeline_load(
	struct pipeline_input *in, struct data *data, int first, int count, int slot, struct clock *clock)
{
	struct nn *nn = in->nn;
	int place = in->places ? slot % in->places : 0;
	const float *pixels = in->pixels + (size_t)place * in->pixel_count;

	if (!in->places)
		return;
	label_set("other", NULL);
	CHECK(cudaEventSynchronize(in->copied[place]));
	read_samples(in, data, first, count, place, clock);
	label_set("h2d", NULL);
	clock_begin(clock, CLOCK_H2D, 0, -1, nn->stream);
	if (nn->first == 0)
		to_device(nn_input(nn, slot), pixels, in->pixel_count, nn->stream);
	if (nn_has_loss(nn) && nn_last(nn)->kind == NN_SOFTMAX)
		to_device(nn_target(nn, slot), pipeline_labels(in, slot), in->label_count, nn->stream);
	else if (nn_has_loss(nn) && nn->target != nn->input)
		to_device(nn_target(nn, slot), pixels, in->pixel_count, nn->stream);
	clock_end(clock, CLOCK_H2D, 0, -1, nn->stream);
	CHECK(cudaEventRecord(in->copied[place], nn->stream));
}

const float *pipeline_labels(const struct pipeline_input *in, int slot)
{
	return in->labels + (size_t)(slot % in->places) * in->label_count;
}
