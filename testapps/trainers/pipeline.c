/* One stage's forward and backward passes, updates and losses: see pipeline.h. */
#include "pipeline.h"

#include "check.h"
#include "label.h"
#include "loss.h"
#include "strategy_schedule.h"

/* Of an epoch's or a test's samples, on the last stage. */
struct progress {
	int epoch, iterations; /* of an epoch; done in this one */
	double begin_us;       /* of the iteration */
	struct loss sum;
};

static int is_last_stage(const struct pipeline *p)
{
	return nn_has_loss(p->nn);
}

/* A stage's replicas other than the first get its parameters. */
static void create_network(struct pipeline *p)
{
	struct nn *nn = p->nn;
	int depth = strategy_depth(p->plan, p->stage), is_flushed = !strategy_follows(p->plan);

	/* Where batches follow each other, one more input may arrive before the oldest one is done with. */
	nn_set_stage(nn, p->plan->cut[p->stage], p->plan->cut[p->stage + 1]);
	nn_set_slots(nn, is_flushed ? depth : depth + 1, p->plan->recompute ? 1 : depth);
	nn_set_versions(nn, is_flushed ? 1 : depth);
	nn->weights = p->replica ? NN_ZERO : NN_RANDOM;
	nn_create(nn, p->dist->device[0], (uint64_t)p->options->seed, p->replica);
	if (p->dist->sharers > 1 && nn->param_count)
		dist_first_floats(p->dist, &nn->params, nn->param_count);
	p->version = xcalloc((size_t)depth, sizeof(*p->version));
	for (int i = nn->first; i < nn->end; i++) {
		const struct nn_layer *l = &nn->layer[i];

		if (l->input == nn->first - 1 || l->other == nn->first - 1 || l->third == nn->first - 1)
			p->input_reader = i;
	}
}

static int host_places(const struct pipeline *p)
{
	int turns = strategy_turns(p->plan, p->stage);

	return turns > p->nn->input_slots ? turns : p->nn->input_slots;
}

void pipeline_create(struct pipeline *p, const struct train_options *options, const struct strategy *plan,
	struct dist *dist, struct nn *nn, struct data *data, struct data *test)
{
	void *output = NULL;

	*p = (struct pipeline){
		.options = options, .plan = plan, .dist = dist, .nn = nn, .data = data, .test = test};
	p->stage = strategy_stage(plan, dist->rank, &p->replica);
	dist_group(dist, p->stage, p->replica, plan->replicas[p->stage]);
	create_network(p);
	optim_init(&p->optim, nn, (enum optim_kind)options->optimizer, options->rate, options->momentum);
	p->clock = clock_open(options->clock, dist->rank, dist->world, nn, 1);
	dist_sum_open(&p->sum, (enum dist_style)options->aggregate, dist, nn, p->clock,
		(size_t)options->fusion_threshold, 1e3 * options->cycle_ms);
	pipeline_links_open(&p->links, dist, plan, p->stage, nn->slots);
	pipeline_input_open(&p->input, nn, data, host_places(p));
	p->is_read = xcalloc((size_t)nn->input_slots, sizeof(*p->is_read));
	for (int i = 0; i < nn->input_slots; i++)
		CHECK(cudaEventCreateWithFlags(&p->is_read[i], cudaEventDisableTiming));
	CHECK(cudaEventCreateWithFlags(&p->is_used, cudaEventDisableTiming));
	if (is_last_stage(p))
		CHECK(cudaMallocHost(
			&output, nn_numel(nn_last(nn)->out) * (size_t)p->input.places * sizeof(float)));
	p->output = output;
}

void pipeline_destroy(struct pipeline *p)
{
	CHECK(cudaStreamSynchronize(p->nn->stream));
	pipeline_links_wait(&p->links);
	clock_close(p->clock);
	dist_sum_close(&p->sum);
	pipeline_links_close(&p->links);
	pipeline_input_close(&p->input);
	for (int i = 0; i < p->nn->input_slots; i++)
		CHECK(cudaEventDestroy(p->is_read[i]));
	CHECK(cudaEventDestroy(p->is_used));
	CHECK(cudaFreeHost(p->output));
	optim_free(&p->optim, p->nn);
	nn_destroy(p->nn);
	dist_close(p->dist);
	free(p->is_read);
	free(p->version);
}

static float *output_of(struct pipeline *p, int turn)
{
	return p->output + (size_t)(turn % p->input.places) * nn_numel(nn_last(p->nn)->out);
}

/* Between this stage and a neighbour goes the output of the layer before the cut, or its gradient. */
static void transfer_begin(struct pipeline *p, int layer, cudaStream_t stream)
{
	label_set("communication", p->nn->layer[layer].name);
	clock_begin(p->clock, CLOCK_COMMUNICATION, 0, layer, stream);
}

static void transfer_end(struct pipeline *p, int layer, cudaStream_t stream)
{
	clock_end(p->clock, CLOCK_COMMUNICATION, 0, layer, stream);
	label_set("other", NULL);
}

static void post_input(struct pipeline *p, int turn, int micro_batch)
{
	struct nn *nn = p->nn;

	pipeline_receive(&p->links.forward_in, strategy_rank(p->plan, p->stage - 1, micro_batch),
		nn_input(nn, turn), nn_numel(nn_input_shape(nn)), p->is_read[turn % nn->input_slots]);
}

static void post_gradient(struct pipeline *p, int micro_batch)
{
	struct nn *nn = p->nn;

	pipeline_receive(&p->links.backward_in, strategy_rank(p->plan, p->stage + 1, micro_batch),
		nn_output_gradient(nn), nn_numel(nn->layer[nn->end - 1].out), p->is_used);
}

/*
 * The next input and gradient may come while the process waits for its own passes: where batches follow each
 * other and a process has one micro-batch of each, nothing else would hide messages. The clock sees those
 * from when they are waited for.
 */
static void post_early(struct pipeline *p, const struct strategy_schedule *schedule)
{
	const int replicas = p->plan->replicas[p->stage];

	if (!strategy_follows(p->plan))
		return;
	p->is_input_posted = p->stage > 0 && schedule->forwards < schedule->turns;
	if (p->is_input_posted)
		post_input(p, schedule->forwards, schedule->forwards * replicas + p->replica);
	p->is_gradient_posted = !is_last_stage(p) && schedule->backwards < schedule->turns;
	if (p->is_gradient_posted)
		post_gradient(p, schedule->backwards * replicas + p->replica);
}

static void receive_input(struct pipeline *p, const struct strategy_step *step)
{
	struct pipeline_link *link = &p->links.forward_in;

	transfer_begin(p, p->nn->first - 1, link->stream);
	if (!p->is_input_posted)
		post_input(p, step->turn, step->micro_batch);
	p->is_input_posted = 0;
	pipeline_wait_received(link, p->nn->stream);
	transfer_end(p, p->nn->first - 1, link->stream);
}

static void send_output(struct pipeline *p, const struct strategy_step *step)
{
	struct nn *nn = p->nn;
	struct pipeline_link *link = &p->links.forward_out;

	transfer_begin(p, nn->end - 1, link->stream);
	pipeline_send(link, strategy_rank(p->plan, p->stage + 1, step->micro_batch),
		nn_output(nn, nn->end - 1, step->turn), nn_numel(nn->layer[nn->end - 1].out), step->turn,
		nn->stream);
	transfer_end(p, nn->end - 1, link->stream);
}

static void receive_gradient(struct pipeline *p, const struct strategy_step *step)
{
	struct pipeline_link *link = &p->links.backward_in;

	transfer_begin(p, p->nn->end - 1, link->stream);
	if (!p->is_gradient_posted)
		post_gradient(p, step->micro_batch);
	p->is_gradient_posted = 0;
	pipeline_wait_received(link, p->nn->stream);
	transfer_end(p, p->nn->end - 1, link->stream);
}

static void send_gradient(struct pipeline *p, const struct strategy_step *step)
{
	struct nn *nn = p->nn;
	struct pipeline_link *link = &p->links.backward_out;

	transfer_begin(p, nn->first - 1, link->stream);
	pipeline_send(link, strategy_rank(p->plan, p->stage - 1, step->micro_batch), nn_input_gradient(nn),
		nn_numel(nn_input_shape(nn)), 0, nn->stream);
	transfer_end(p, nn->first - 1, link->stream);
}

static void run_layers(struct pipeline *p, int slot, enum clock_phase phase, const char *name)
{
	struct nn *nn = p->nn;

	if (!is_last_stage(p))
		pipeline_wait_sent(&p->links.forward_out, slot, nn->stream);
	for (int i = nn->first; i < nn->end; i++) {
		label_set(name, nn->layer[i].name);
		clock_begin(p->clock, phase, 0, i, nn->stream);
		nn_forward(nn, i, slot);
		clock_end(p->clock, phase, 0, i, nn->stream);
	}
	label_set("other", NULL);
}

static void forward(
	struct pipeline *p, const struct strategy_step *step, struct data *data, int first, int count)
{
	struct nn *nn = p->nn;
	size_t size = nn_numel(nn_last(nn)->out) * sizeof(float);

	pipeline_load(&p->input, data, first, count, step->turn, p->clock);
	if (p->stage > 0)
		receive_input(p, step);
	p->version[step->turn % strategy_depth(p->plan, p->stage)] = nn->newest;
	nn_use(nn, nn->newest);
	run_layers(p, step->turn, CLOCK_FORWARD, "forward");
	if (!is_last_stage(p))
		send_output(p, step);
	else
		CHECK(cudaMemcpyAsync(output_of(p, step->turn), nn_output(nn, nn->end - 1, step->turn), size,
			cudaMemcpyDeviceToHost, nn->stream));
}

static void recompute(struct pipeline *p, int slot)
{
	p->nn->training = NN_RECOMPUTE;
	run_layers(p, slot, CLOCK_RECOMPUTE, "recompute");
	p->nn->training = NN_TRAIN;
}

static void backward(struct pipeline *p, const struct strategy_step *step)
{
	struct nn *nn = p->nn;

	nn_use(nn, p->version[step->turn % strategy_depth(p->plan, p->stage)]);
	if (p->plan->recompute)
		recompute(p, step->turn);
	if (!is_last_stage(p))
		receive_gradient(p, step);
	nn->accumulate = !step->is_first;
	if (step->is_last)
		dist_sum_begin(&p->sum);
	for (int i = nn->end - 1; i >= nn->first; i--) {
		if (p->stage > 0 && i == p->input_reader)
			pipeline_wait_sent(&p->links.backward_out, 0, nn->stream);
		label_set("backward", nn->layer[i].name);
		clock_begin(p->clock, CLOCK_BACKWARD, 0, i, nn->stream);
		nn_backward(nn, i, step->turn);
		clock_end(p->clock, CLOCK_BACKWARD, 0, i, nn->stream);
		if (i == nn->end - 1)
			CHECK(cudaEventRecord(p->is_used, nn->stream));
		if (step->is_last)
			dist_sum_layer(&p->sum, i);
	}
	label_set("other", NULL);
	if (step->is_last)
		dist_sum_end(&p->sum);
	CHECK(cudaEventRecord(p->is_read[step->turn % nn->input_slots], nn->stream));
	if (p->stage > 0)
		send_gradient(p, step);
}

static void update(struct pipeline *p)
{
	struct nn *nn = p->nn;

	label_set("update", NULL);
	if (p->dist->sharers > 1)
		dist_wait_for_sums(p->dist, 0, nn->stream);
	clock_begin(p->clock, CLOCK_UPDATE, 0, -1, nn->stream);
	if (strategy_follows(p->plan))
		nn_advance(nn);
	optim_update(&p->optim, nn);
	clock_end(p->clock, CLOCK_UPDATE, 0, -1, nn->stream);
	label_set("other", NULL);
}

/* Of micro-batches whose output has been copied to the host. */
static struct loss loss_of_turns(struct pipeline *p, int first, int end, int count)
{
	struct loss sum = {0, 0};

	for (int turn = first; turn < end; turn++) {
		struct loss loss =
			loss_of(nn_last(p->nn), output_of(p, turn), pipeline_labels(&p->input, turn), count);

		sum.sum += loss.sum;
		sum.correct += loss.correct;
	}
	return sum;
}

/* Over the stage's replicas. */
static struct loss sum_of_replicas(struct pipeline *p, struct loss loss)
{
	double values[2] = {loss.sum, loss.correct};

	dist_sum_values(p->dist, values);
	return (struct loss){values[0], values[1]};
}

static void end_iteration(struct pipeline *p, struct progress *progress, int turn)
{
	int iterations = train_iterations(p->options, p->data);
	int iteration = progress->epoch * iterations + progress->iterations++;
	int turns = strategy_turns(p->plan, p->stage);
	struct loss loss;

	CHECK(cudaStreamSynchronize(p->nn->stream));
	clock_host(p->clock, CLOCK_ITERATION, progress->begin_us);
	progress->begin_us = clock_now_us();
	clock_collect(p->clock, iteration);
	dist_sum_settle(&p->sum);
	label_iteration(iteration + 1);
	if (!is_last_stage(p))
		return;
	loss = loss_of_turns(p, turn - turns, turn, p->nn->in.n);
	progress->sum.sum += loss.sum;
	if (!p->options->print || iteration % p->options->print)
		return;
	loss = sum_of_replicas(p, loss);
	if (p->replica == 0)
		train_print_loss(progress->epoch, iteration, loss.sum / p->options->batch);
}

static void do_step(struct pipeline *p, const struct strategy_step *step, struct progress *progress)
{
	int samples = p->nn->in.n;

	switch (step->work) {
	case STRATEGY_FORWARD:
		forward(p, step, p->data, step->micro_batch * samples, samples);
		break;
	case STRATEGY_BACKWARD:
		backward(p, step);
		break;
	case STRATEGY_UPDATE:
		update(p);
		break;
	case STRATEGY_ITERATION:
		end_iteration(p, progress, step->turn);
		break;
	case STRATEGY_DONE:
		break;
	}
}

static void train_epoch(struct pipeline *p, int epoch)
{
	int iterations = train_iterations(p->options, p->data);
	struct progress progress = {.epoch = epoch, .begin_us = clock_now_us()};
	struct strategy_schedule schedule;
	struct strategy_step step = {.work = STRATEGY_FORWARD};

	label_iteration(epoch * iterations);
	strategy_begin(&schedule, p->plan, p->dist->rank, iterations);
	while (step.work != STRATEGY_DONE) {
		step = strategy_next(&schedule);
		if (step.work == STRATEGY_ITERATION)
			post_early(p, &schedule);
		do_step(p, &step, &progress);
	}
	pipeline_links_wait(&p->links);
	if (!is_last_stage(p))
		return;
	progress.sum = sum_of_replicas(p, progress.sum);
	if (p->replica == 0)
		train_print_epoch(epoch, progress.sum.sum / p->options->batch / iterations);
}

/* Forward passes alone; the stage's replicas take turns. */
static void evaluate(struct pipeline *p, int epoch)
{
	int samples = p->nn->in.n, replicas = p->plan->replicas[p->stage];
	struct clock *clock = p->clock;
	struct loss sum = {0, 0};

	p->clock = NULL;
	p->nn->training = NN_EVALUATE;
	for (int turn = 0; (turn * replicas + p->replica) * samples < p->test->count; turn++) {
		struct strategy_step step = {STRATEGY_FORWARD, turn, turn * replicas + p->replica, 1, 1};
		int first = step.micro_batch * samples, left = p->test->count - first;
		struct loss loss;

		left = left < samples ? left : samples;
		forward(p, &step, p->test, first, left);
		CHECK(cudaEventRecord(p->is_read[turn % p->nn->input_slots], p->nn->stream));
		if (!is_last_stage(p))
			continue;
		CHECK(cudaStreamSynchronize(p->nn->stream));
		loss = loss_of_turns(p, turn, turn + 1, left);
		sum.sum += loss.sum;
		sum.correct += loss.correct;
	}
	p->nn->training = NN_TRAIN;
	p->clock = clock;
	CHECK(cudaStreamSynchronize(p->nn->stream));
	pipeline_links_wait(&p->links);
	if (!is_last_stage(p))
		return;
	sum = sum_of_replicas(p, sum);
	if (p->replica == 0)
		train_print_test(epoch, nn_last(p->nn), sum, p->test->count);
}

void pipeline_epochs(struct pipeline *p)
{
	for (int epoch = 0; epoch < p->options->epochs; epoch++) {
		train_epoch(p, epoch);
		if (p->options->eval)
			evaluate(p, epoch);
	}
}

void pipeline_fetch(void *pipeline, int layer, float *param)
{
	struct pipeline *p = pipeline;
	const struct nn_layer *l = &p->nn->layer[layer];
	int is_mine = layer >= p->nn->first && layer < p->nn->end && p->replica == 0, from = 0;
	void *received = NULL;

	if (!l->param_count)
		return;
	if (is_mine && p->dist->rank == 0) {
		nn_use(p->nn, p->nn->newest);
		CHECK(cudaMemcpy(param, l->param, l->param_count * sizeof(float), cudaMemcpyDeviceToHost));
	} else if (is_mine) {
		nn_use(p->nn, p->nn->newest);
		CHECK(ncclSend(
			l->param, l->param_count, ncclFloat32, 0, p->dist->comm[0], p->dist->stream[0]));
		CHECK(cudaStreamSynchronize(p->dist->stream[0])); /* before the network goes */
	} else if (p->dist->rank == 0) {
		while (layer >= p->plan->cut[from + 1])
			from++;
		CHECK(cudaMalloc(&received, l->param_count * sizeof(float)));
		CHECK(ncclRecv(received, l->param_count, ncclFloat32, p->plan->first_rank[from],
			p->dist->comm[0], p->dist->stream[0]));
		CHECK(cudaMemcpyAsync(param, received, l->param_count * sizeof(float), cudaMemcpyDeviceToHost,
			p->dist->stream[0]));
		CHECK(cudaStreamSynchronize(p->dist->stream[0]));
		CHECK(cudaFree(received));
	}
}
