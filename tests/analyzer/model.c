/* A training program that does not exist: see model.h. Here is its loop; layers and calls are in model_net.c
 * and model_call.c. */
#include "model_make.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void exchange_layer(struct maker *maker, int layer)
{
	const struct tensors *first = &maker->workers[0].tensors[layer];
	struct about about = {PHASE_COMMUNICATION, maker->layers[layer].name};
	uint64_t addresses[MOST_WORKERS];

	for (int i = 0; i < maker->worker_count; i++)
		addresses[i] = maker->workers[i].tensors[layer].dw;
	model_exchange(
		maker, addresses, first->weights + (maker->options->separate ? 0 : first->biases), about);
	if (!maker->options->separate || !first->biases)
		return;
	for (int i = 0; i < maker->worker_count; i++)
		addresses[i] = maker->workers[i].tensors[layer].db;
	model_exchange(maker, addresses, first->biases, about);
}

/* One layer's gradients; -1: all of them, in one buffer. */
static void aggregate(struct maker *maker, int layer)
{
	uint64_t addresses[MOST_WORKERS];

	if (maker->worker_count == 1 || (layer >= 0 && !maker->workers[0].tensors[layer].weights))
		return;
	for (int i = 0; i < maker->worker_count && !maker->in_group; i++)
		model_wait_event(&maker->workers[i], COMPUTE, EXCHANGE);
	if (layer >= 0) {
		exchange_layer(maker, layer);
		for (int i = 0; i < maker->worker_count; i++)
			maker->workers[i].tensors[layer].exchanged_ns = maker->workers[i].free_ns[EXCHANGE];
		return;
	}
	for (int i = 0; i < maker->worker_count; i++)
		addresses[i] = maker->workers[i].flat_dw;
	model_exchange(
		maker, addresses, maker->workers[0].flat_count, (struct about){PHASE_COMMUNICATION, NULL});
}

static uint64_t bucket_of(const struct maker *maker, const struct worker *worker)
{
	return worker->bucket + (maker->iteration < maker->options->bucket_moves ? BUCKET_BYTES : 0);
}

/* The gradients of a layer into the buffer, or back from it; answers their elements. */
static uint64_t copy_gradients(struct maker *maker, int layer, uint64_t at, bool back)
{
	struct about about = {PHASE_COMMUNICATION, maker->layers[layer].name};
	uint64_t count = maker->workers[0].tensors[layer].weights + maker->workers[0].tensors[layer].biases;

	for (int i = 0; i < maker->worker_count && count; i++) {
		struct worker *worker = &maker->workers[i];
		uint64_t inside = bucket_of(maker, worker) + at * 4, own = worker->tensors[layer].dw;

		model_work(maker, worker, EXCHANGE, "cudaMemcpyAsync", 1000, about,
			VALUES(back ? own : inside, back ? inside : own, count * 4, 3));
	}
	return count;
}

/* All through one buffer, one bucket after the other. */
static void aggregate_buckets(struct maker *maker)
{
	uint64_t addresses[MOST_WORKERS];

	for (int i = 0; i < maker->worker_count; i++) {
		model_wait_event(&maker->workers[i], COMPUTE, EXCHANGE);
		addresses[i] = bucket_of(maker, &maker->workers[i]);
	}
	for (int first = maker->layer_count - 1; first >= 0;) {
		int last = first, filled = 0;
		uint64_t all = 0, back = 0;

		for (; last >= 0 && filled < maker->options->bucket; last--) {
			uint64_t count = copy_gradients(maker, last, all, false);

			all += count;
			filled += count > 0;
		}
		if (all)
			model_exchange(maker, addresses, all, (struct about){PHASE_COMMUNICATION, NULL});
		for (; first > last; first--)
			back += copy_gradients(maker, first, back, true);
	}
}

static void aggregate_group(struct maker *maker)
{
	for (int i = 0; i < maker->worker_count; i++)
		model_wait_event(&maker->workers[i], COMPUTE, EXCHANGE);
	model_group(maker, true);
	for (int l = maker->layer_count - 1; l >= 0; l--)
		aggregate(maker, l);
	model_group_run(maker);
	model_group(maker, false);
}

static void read_input(struct maker *maker, struct host *host)
{
	uint64_t file[] = {1};
	uint64_t *now_ns = maker->options->prefetch ? &host->reader_ns : &host->now_ns;
	uint32_t thread = maker->options->prefetch ? 2 : 1;

	for (int i = 0; i < 2; i++) {
		uint64_t took_ns = model_jitter(maker, 6000);

		for (int w = 0; w < maker->worker_count; w++)
			if (maker->workers[w].host == host && model_is_slow(maker, &maker->workers[w]))
				took_ns += maker->options->slow_input_ns;

		model_note(maker, host, *now_ns,
			(struct about){maker->options->prefetch ? PHASE_COUNT : PHASE_IO, NULL});
		builder_call(host->builder, thread, *now_ns, *now_ns + took_ns,
			model_intern(host, "read", file), 0, 784 * maker->batch, 0, 0);
		*now_ns += took_ns + 300;
	}
	if (maker->options->prefetch)
		host->reader_ns += 20000;
	host->now_ns += 8000; /* prepares the batch */
}

static void copy_input(struct maker *maker, struct worker *first, struct worker *worker)
{
	static const int image[3] = {1, 28, 28};
	uint64_t bytes = (uint64_t)maker->batch * model_volume(image) * 4;
	bool divide = maker->options->divide_device;

	if (divide && worker == first) {
		uint64_t all = bytes * (uint64_t)maker->options->gpus;

		model_work(maker, worker, COMPUTE, "cudaMemcpyAsync", 30000, (struct about){PHASE_H2D, NULL},
			VALUES(worker->whole, 0x1000, all, 1));
		model_work(maker, worker, COMPUTE, "cudaMemcpyAsync", 5000, (struct about){PHASE_MD, NULL},
			VALUES(worker->input, worker->whole, bytes, 3));
		return;
	}
	if (divide) {
		model_work(maker, first, COMPUTE, "cudaMemcpyPeerAsync", 8000, (struct about){PHASE_MD, NULL},
			VALUES(worker->input, first->whole + bytes * (uint64_t)worker->device, bytes, 3,
				(uint64_t)worker->device, 0));
		if (first->free_ns[COMPUTE] > worker->free_ns[COMPUTE])
			worker->free_ns[COMPUTE] = first->free_ns[COMPUTE];
		return;
	}
	model_work(maker, worker, COMPUTE, "cudaMemcpyAsync",
		maker->options->copy_ns ? maker->options->copy_ns : 15000, (struct about){PHASE_H2D, NULL},
		VALUES(model_tensors(maker, worker, -1).y, 0x1000, bytes, 1));
	if (worker->target != worker->input)
		model_work(maker, worker, COMPUTE, "cudaMemcpyAsync", 3000, (struct about){PHASE_H2D, NULL},
			VALUES(worker->target, 0x2000, (uint64_t)maker->batch * 40, 1));
	if (maker->options->kernels) /* labels, which no library reads */
		model_work(maker, worker, COMPUTE, "cudaMemcpyAsync", 2000, (struct about){PHASE_H2D, NULL},
			VALUES(worker->sums, 0x2400, (uint64_t)maker->batch * 4, 1));
}

/* The batch of a worker, from here on. */
static void choose_batch(struct maker *maker, const struct worker *worker)
{
	if (maker->options->slow_batch)
		maker->batch = worker->number == maker->options->slow_worker ? maker->options->slow_batch
									     : maker->options->batch;
}

static void load(struct maker *maker)
{
	for (int i = 0; i < maker->worker_count && !maker->options->resident; i++) {
		struct worker *worker = &maker->workers[i];
		bool first = i == 0 || maker->workers[i - 1].host != worker->host;
		int begin = i - i % maker->options->gpus;

		choose_batch(maker, worker);
		if (first)
			read_input(maker, worker->host);
		copy_input(maker, &maker->workers[begin], worker);
	}
}

/* Nothing tells them apart but their place, so that there are none where a pass ends. In some iterations
 * there are more of them, and others. */
static void own_kernels(struct maker *maker, struct worker *worker, int layer, enum phase phase)
{
	const int every = maker->options->extra_every;
	const bool extra = every && maker->iteration % every == every - 1 && layer % 2 == 0;
	const struct about about = {phase, phase == PHASE_FORWARD ? maker->layers[layer].name : NULL};

	const bool ends = layer == (phase == PHASE_FORWARD ? maker->layer_count - 1 : 0);

	for (int i = 0; i < 1 + 2 * extra && maker->options->kernels && !ends; i++)
		model_work(maker, worker, COMPUTE, "cudaLaunchKernel", 2000, about,
			VALUES(i == 1 ? 0x4200 : 0x4100, 8, 256, 0));
}

static void forward(struct maker *maker)
{
	const char *extra = maker->options->extra_layer;

	for (int l = 0; l < maker->layer_count; l++)
		for (int i = 0; i < maker->worker_count; i++) {
			bool twice = extra && strcmp(extra, maker->layers[l].name) == 0 &&
				     model_is_slow(maker, &maker->workers[i]);

			choose_batch(maker, &maker->workers[i]);
			model_forward_layer(maker, &maker->workers[i], l);
			if (twice)
				model_forward_layer(maker, &maker->workers[i], l);
			own_kernels(
				maker, &maker->workers[i], l, maker->again ? PHASE_BACKWARD : PHASE_FORWARD);
		}
	for (int i = 0; i < maker->worker_count && !maker->again; i++) {
		struct worker *worker = &maker->workers[i];
		const struct layer *last = &maker->layers[maker->layer_count - 1];

		model_work(maker, worker, COMPUTE, "cudaMemcpyAsync",
			2000 + (model_is_slow(maker, worker) ? maker->options->slow_other_ns : 0),
			(struct about){PHASE_OTHER, NULL},
			VALUES(0x3000, model_tensors(maker, worker, maker->layer_count - 1).y,
				(uint64_t)maker->batch * model_volume(last->out) * 4, 2));
	}
}

static void backward(struct maker *maker, int part, int parts)
{
	for (int l = maker->layer_count - 1; l >= 0; l--) {
		for (int i = 0; i < maker->worker_count; i++) {
			choose_batch(maker, &maker->workers[i]);
			model_backward_layer(maker, &maker->workers[i], l, part > 0);
			own_kernels(maker, &maker->workers[i], l, PHASE_BACKWARD);
		}
		if (maker->options->overlap && !maker->options->fused && part + 1 == parts)
			aggregate(maker, l);
	}
}

/* What is not exchanged beside the backward pass. */
static void aggregate_all(struct maker *maker)
{
	if (maker->options->fused)
		aggregate(maker, -1);
	if (maker->options->grouped) {
		aggregate_group(maker);
		return;
	}
	if (maker->options->bucket) {
		aggregate_buckets(maker);
		return;
	}
	for (int l = maker->layer_count - 1; l >= 0 && !maker->options->fused && !maker->options->overlap;
		l--)
		aggregate(maker, l);
}

/* Small copies and a collective that have nothing to do with the gradients. */
static void exchange_value(struct maker *maker)
{
	uint64_t addresses[MOST_WORKERS];
	struct about other = {PHASE_OTHER, NULL};

	for (int i = 0; i < maker->worker_count; i++) {
		addresses[i] = maker->workers[i].sums;
		model_work(maker, &maker->workers[i], EXCHANGE, "cudaMemcpyAsync", 1000, other,
			VALUES(maker->workers[i].sums, 0x5000, 8, 1));
	}
	if (maker->worker_count > 1)
		model_exchange(maker, addresses, 2, other);
	for (int i = 0; i < maker->worker_count; i++) {
		model_work(maker, &maker->workers[i], EXCHANGE, "cudaMemcpyAsync", 1000, other,
			VALUES(0x5000, maker->workers[i].sums, 8, 2));
		model_synchronize(&maker->workers[i], EXCHANGE);
	}
}

static void synchronize_all(struct maker *maker)
{
	for (int i = 0; i < maker->worker_count; i++)
		model_synchronize(&maker->workers[i], COMPUTE);
}

static void update(struct maker *maker, struct worker *worker)
{
	if (!maker->options->early) {
		if (maker->worker_count > 1)
			model_wait_event(worker, EXCHANGE, COMPUTE);
		model_update(maker, worker, -1);
		return;
	}
	/* Each layer when its own exchange is done, beside those of the layers before it. */
	for (int l = maker->layer_count - 1; l >= 0; l--) {
		if (worker->tensors[l].exchanged_ns > worker->free_ns[COMPUTE])
			worker->free_ns[COMPUTE] = worker->tensors[l].exchanged_ns;
		model_update(maker, worker, l);
	}
}

/* Opens and closes windows at the start of an iteration, or within. */
static void turn_windows(struct maker *maker, bool begin)
{
	const int *windows = maker->options->windows;

	for (int i = 0; i < 4 && windows[1]; i++) {
		bool open = i % 2 == 0, late = maker->options->late_window && (i == 1 || i == 2);

		if (windows[i] != maker->iteration || late == begin || (windows[i] == 0 && i > 0))
			continue;
		for (int h = 0; h < maker->options->processes; h++) {
			builder_window(maker->hosts[h].builder, open,
				(uint32_t)maker->iteration + (open ? 1 : 0), maker->hosts[h].now_ns);
			maker->hosts[h].builder->closed = !open;
		}
	}
}

static void turn_times(struct maker *maker)
{
	const int *untimed = maker->options->untimed;

	for (int h = 0; h < maker->options->processes && untimed[1]; h++)
		for (int i = 0; i < 2; i++)
			if (maker->iteration == untimed[i] + h)
				builder_device_window(
					maker->hosts[h].builder, i == 1, 5, maker->hosts[h].now_ns);
}

/* Each host's thread enters a range, or leaves the innermost (0), where the program has ranges. */
static void turn_ranges(struct maker *maker, uint32_t range)
{
	for (int h = 0; h < maker->options->processes && maker->options->ranges; h++)
		builder_in_range(
			maker->hosts[h].builder, 1, maker->hosts[h].now_ns, range, PM_RANGE_NO_SEQUENCE, 0);
}

/* The micro-batches of an iteration, in an order in which several are at work at once. */
static void interleave(struct maker *maker, int parts)
{
	int ahead = maker->options->schedule == MODEL_ALL_FORWARD ? parts : 2;

	for (int turn = 0; turn < parts + ahead; turn++) {
		if (turn < parts) {
			maker->pass = turn;
			load(maker);
			forward(maker);
		}
		/* The first backward pass follows the last forward pass that goes ahead of it. */
		for (int part = turn - ahead + 1; part >= 0 && part < parts && part <= turn - ahead + 1;
			part++) {
			maker->pass = part;
			maker->again = maker->options->recompute;
			if (maker->again)
				forward(maker);
			maker->again = false;
			backward(maker, part, parts);
		}
	}
	maker->pass = 0;
}

static void iterate(struct maker *maker)
{
	int parts = maker->options->accumulate > 1 ? maker->options->accumulate : 1;
	int every = maker->options->uneven_every;

	maker->batch = every && (maker->iteration + 1) % every == 0 ? maker->options->batch / 2
								    : maker->options->batch;
	turn_windows(maker, true);
	turn_ranges(maker, 1);
	turn_ranges(maker, 2);
	if (maker->options->schedule != MODEL_TURNS) {
		interleave(maker, parts);
		aggregate_all(maker);
	}
	for (int part = 0; part < parts && maker->options->schedule == MODEL_TURNS; part++) {
		load(maker);
		if (maker->options->agree_in && maker->iteration == maker->options->agree_in)
			exchange_value(maker);
		if (maker->options->graph)
			model_capture(maker);
		forward(maker);
		if (maker->options->graph == 3)
			model_launch(maker);
		turn_windows(maker, false);
		turn_times(maker);
		backward(maker, part, parts);
		if (maker->options->graph == 2)
			model_launch(maker);
		if (part + 1 == parts)
			aggregate_all(maker);
	}
	turn_ranges(maker, 0);
	for (int i = 0; i < maker->worker_count && maker->options->versions; i++)
		model_new_version(maker, &maker->workers[i]);
	maker->version++;
	for (int i = 0; i < maker->worker_count; i++)
		update(maker, &maker->workers[i]);
	if (maker->options->graph == 1)
		model_launch(maker);
	every = maker->options->synchronize_every;
	for (int i = 0; i < maker->worker_count && every; i++)
		maker->workers[i].free_ns[COMPUTE] = maker->workers[i].host->now_ns + 50000;
	if (!maker->options->run_ahead && (!every || (maker->iteration + 1) % every == 0))
		synchronize_all(maker);
	for (int i = 0; i < maker->worker_count; i++)
		maker->workers[i].host->now_ns += 3000; /* sums up the loss */
	if (maker->options->log_every && maker->iteration % maker->options->log_every == 0)
		exchange_value(maker);
	turn_ranges(maker, 0);
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
		host->builder->header.device_source = options->no_device    ? PM_DEVICE_NONE
						      : options->activities ? PM_DEVICE_CUPTI
									    : PM_DEVICE_EVENTS;
		host->builder->killed = options->killed;
		host->builder->closed = options->windows[0] > 0;
		if (options->version_1)
			host->builder->header.version = 1;
		if (options->ranges) {
			host->builder->header.version = PM_VERSION_WHOLE;
			builder_nvtx(host->builder, "train", "step", 0xff4b0082);
			builder_nvtx(host->builder, "train", "passes", 0);
		}
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
				worker->communicator = builder_communicator(host->builder, worker->number,
					options->processes * options->gpus, g, 0xc0ffee);
			model_place(maker, worker);
		}
	}
	maker->iteration = -1;
	for (int i = 0; i < maker->worker_count; i++)
		for (int l = 0; l < maker->layer_count; l++) {
			struct tensors *t = &maker->workers[i].tensors[l];

			model_plain(maker->workers[i].host, "cudaMalloc", 0, 0, VALUES(4096));
			/* From an address of the host that device memory may have as well. */
			if (t->weights)
				model_work(maker, &maker->workers[i], COMPUTE, "cudaMemcpyAsync", 5000,
					(struct about){PHASE_COUNT, NULL},
					VALUES(t->w, t->first_w, t->weights * 4, 1));
		}
	synchronize_all(maker);
}

static void tell_cost(struct host *host)
{
	struct pm_header *header = &host->builder->header;
	struct pm_footer *footer = &host->builder->footer;

	header->worker_count = 4;
	header->worker_reads = 64;
	header->worker_bytes = 3211264;
	header->worker_ns = 960000;
	footer->own_ns = 24000;
	footer->new_ns = 6500;
	footer->new_processor_ns = 6000;
	footer->calls = 480;
	footer->ticks = footer->monotonic_ns = header->monotonic_ns + 4000000;
}

void model_make(struct model *model, const struct model_options *options)
{
	struct maker maker = {.options = options, .model = model, .training = true, .random = options->seed};

	memset(model, 0, sizeof(*model));
	model->process_count = options->processes;
	model_build(&maker);
	set_up(&maker);
	for (int i = 0; i < options->iterations; i++) {
		maker.iteration = i;
		iterate(&maker);
		if (options->evaluate_every && (i + 1) % options->evaluate_every == 0)
			evaluate(&maker);
	}
	for (int p = 0; p < options->processes; p++) {
		if (options->cost)
			tell_cost(&maker.hosts[p]);
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
