/* Memory of a worker under each strategy: see strategy.h. */
#include "strategy_schedule.h"
#include "strategy_torch.h"

#include <math.h>

/* A program that takes more than so many times what its network explains reserves memory. */
#define RESERVES 2

/* Of a sample, what layers begin ... end-1 leave in forward. */
static double kept_bytes(const struct strategy_net *net, size_t begin, size_t end)
{
	double sum = 0;

	for (size_t i = begin; i < end; i++)
		sum += net->layers[i].kept_bytes;
	return sum;
}

/*
 * Of a sample, the gradients that are there at once in the backward pass of layers begin ... end-1: those of
 * the input and the output of one layer, and of a branch that waits meanwhile. A stage's own ends are there
 * all the time, since they are sent and received. Nobody wants the network's input's.
 */
static double gradient_bytes(const struct strategy_net *net, size_t begin, size_t end)
{
	double pair = 0, branch = 0, ends = 0;

	for (size_t i = begin; i < end; i++) {
		const struct strategy_layer *layer = &net->layers[i];
		double in = i > begin ? layer->input_bytes : 0;
		double out = i + 1 < end ? layer->output_bytes : 0;

		pair = fmax(pair, in + out);
		branch = fmax(branch, layer->is_sum ? layer->input_bytes : 0);
	}
	if (begin > 0)
		ends += net->layers[begin].input_bytes;
	if (end < net->layer_count)
		ends += net->layers[end - 1].output_bytes;
	return pair + branch + ends;
}

static double state_bytes(const struct strategy_net *net, const struct strategy_how *how, size_t begin,
	size_t end, double versions)
{
	return (versions + 1 + how->optimizer_copies) * strategy_parameter_bytes(net, begin, end);
}

/*
 * The largest bucket of several layers, as they are filled from the last layer on. Which gradients are ready
 * together changes from one iteration to the next, so only the threshold limits it.
 */
static double bucket_bytes(const struct strategy_net *net, const struct strategy_how *how)
{
	double most = 0, bytes = 0, layers = 0;

	for (size_t i = net->layer_count; i-- > 0;) {
		double more = net->layers[i].parameter_bytes;

		if (more <= 0)
			continue;
		if (bytes + more > how->threshold)
			bytes = layers = 0;
		bytes += more;
		layers++;
		most = layers > 1 ? fmax(most, bytes) : most;
	}
	return how->aggregate == STRATEGY_FUSED ? most : 0;
}

static double largest_layer(const struct strategy_net *net, size_t begin, size_t end)
{
	double most = 0;

	for (size_t i = begin; i < end; i++)
		most = fmax(most, net->layers[i].parameter_bytes);
	return most;
}

/* Of a sample in a run on one worker: A of strategy.h. */
static double sample_bytes(const struct strategy_net *net)
{
	return net->layers[0].input_bytes + kept_bytes(net, 0, net->layer_count) +
	       gradient_bytes(net, 0, net->layer_count);
}

/* The line R + f A b through what the runs took beyond the state. */
static struct strategy_memory_basis line_of(const struct strategy_net *net, double state, double sample)
{
	struct strategy_memory_basis line = {STRATEGY_MEASURED, 1, 0};
	double n = 0, x = 0, y = 0, xx = 0, xy = 0, spread;

	for (size_t i = 0; i < net->batch_count; i++) {
		double at = sample * net->batches[i], bytes = net->device_bytes[i] - state;

		if (isnan(bytes))
			continue;
		n++;
		x += at;
		y += bytes;
		xx += at * at;
		xy += at * bytes;
	}
	spread = n * xx - x * x;
	if (n > 1 && spread > 0)
		line.factor = (n * xy - x * y) / spread;
	line.rest = n > 0 ? (y - line.factor * x) / n : 0;
	if (line.rest < 0 || line.factor <= 0)
		line = (struct strategy_memory_basis){STRATEGY_MEASURED, xx > 0 ? xy / xx : 1, 0};
	return line;
}

const char *const strategy_basis_sentences[] = {
	"Memory is a lower bound (≥), computed from the layers alone, as their files do not have what the runs took: workspaces come on top.",
	"Memory is scaled from what the measured runs took on their GPU.",
	"Memory is a lower bound (≥), computed: the runs took less than parameters, gradients and the optimizer's state. Were they with another optimizer?",
	"Memory is what was measured, or a lower bound (≥): the runs took more than twice what their layers need; the program reserves memory.",
	"Memory of one worker, data parallelism, ZeRO and a transformer's tensor parallelism is what the measured run took, and by how much a replay of PyTorch's allocator has more or less; of others it is scaled.",
};

/* What the runs say but for PyTorch's allocator. */
static struct strategy_memory_basis plain_basis(
	const struct strategy_net *net, const struct strategy_how *how)
{
	const struct strategy_memory_basis computed = {STRATEGY_COMPUTED, 1, 0};
	double state = state_bytes(net, how, 0, net->layer_count, 1), sample = sample_bytes(net);
	struct strategy_memory_basis measured = computed;
	bool any = false;

	for (size_t i = 0; net->device_bytes && i < net->batch_count; i++) {
		double bytes = net->device_bytes[i];

		any |= !isnan(bytes);
		if (bytes < state)
			measured.basis = STRATEGY_LESS_THAN_STATE;
		else if (bytes > RESERVES * (state + sample * net->batches[i]))
			measured.basis = STRATEGY_RESERVED;
	}
	return !any || measured.basis != STRATEGY_COMPUTED ? measured : line_of(net, state, sample);
}

struct strategy_memory_basis strategy_memory_basis(
	const struct strategy_net *net, const struct strategy_how *how)
{
	struct strategy_memory_basis basis = plain_basis(net, how);

	if (net->is_torch && basis.basis != STRATEGY_COMPUTED && basis.basis != STRATEGY_LESS_THAN_STATE)
		basis.basis = STRATEGY_REPLAYED;
	return basis;
}

/* The measured run whose batch is the nearest by its ratio; batch_count: none. */
static size_t nearest(const struct strategy_net *net, double batch)
{
	size_t best = net->batch_count;

	for (size_t i = 0; net->device_bytes && i < net->batch_count; i++)
		if (!isnan(net->device_bytes[i]) &&
			(best == net->batch_count ||
				fabs(log(batch / net->batches[i])) < fabs(log(batch / net->batches[best]))))
			best = i;
	return best;
}

static void set_total(struct strategy_memory *memory, double bytes, bool at_least)
{
	memory->rest += bytes - memory->total;
	memory->total = bytes;
	memory->at_least = at_least;
}

void strategy_memory_replay(const struct strategy_net *net, const struct strategy_how *how, double batch,
	size_t workers, enum strategy_torch way, struct strategy_memory *memory)
{
	const size_t run = nearest(net, batch);
	double bytes;

	if (strategy_memory_basis(net, how).basis != STRATEGY_REPLAYED)
		return;
	bytes = net->device_bytes[run] + strategy_torch_bytes(net, how, batch, workers, way) -
		strategy_torch_bytes(net, how, net->batches[run], 1, way < TORCH_TENSOR ? TORCH_ALONE : way);
	if (!isnan(bytes))
		set_total(memory, bytes, false);
}

/* A worker with a batch that was measured takes that much, also where the program reserves memory; several
 * have buckets besides. */
static void take_measured(const struct strategy_net *net, double batch, bool is_alone,
	enum strategy_basis basis, struct strategy_memory *memory)
{
	const size_t run = nearest(net, batch);

	if (run < net->batch_count && net->batches[run] == batch && (is_alone || basis == STRATEGY_RESERVED))
		set_total(memory, net->device_bytes[run] + memory->bucket, !is_alone);
}

/* Of what is computed, with the share of the rest of a worker whose largest layer has so many bytes. */
static struct strategy_memory sum(const struct strategy_net *net, const struct strategy_how *how,
	double own_largest, struct strategy_memory memory)
{
	struct strategy_memory_basis basis = strategy_memory_basis(net, how);
	double largest = largest_layer(net, 0, net->layer_count);

	memory.kept *= basis.factor;
	memory.gradients *= basis.factor;
	memory.rest = largest > 0 ? basis.rest * own_largest / largest : basis.rest;
	memory.at_least = plain_basis(net, how).basis != STRATEGY_MEASURED;
	memory.total = memory.state + memory.kept + memory.gradients + memory.bucket + memory.rest;
	return memory;
}

struct strategy_memory strategy_memory_line(
	const struct strategy_net *net, const struct strategy_how *how, double batch, size_t workers)
{
	size_t end = net->layer_count;
	struct strategy_memory memory = {.state = state_bytes(net, how, 0, end, 1),
		.kept = batch * (net->layers[0].input_bytes + kept_bytes(net, 0, end)),
		.gradients = batch * gradient_bytes(net, 0, end),
		.bucket = workers > 1 ? bucket_bytes(net, how) : 0};

	return sum(net, how, largest_layer(net, 0, end), memory);
}

struct strategy_memory strategy_memory_whole(
	const struct strategy_net *net, const struct strategy_how *how, double batch, size_t workers)
{
	struct strategy_memory memory = strategy_memory_line(net, how, batch, workers);

	take_measured(net, batch, workers == 1, plain_basis(net, how).basis, &memory);
	strategy_memory_replay(net, how, batch, workers, workers > 1 ? TORCH_DDP : TORCH_ALONE, &memory);
	return memory;
}

struct strategy_memory strategy_memory_stage(const struct strategy_net *net, const struct strategy_how *how,
	const struct strategy_plan *plan, size_t stage)
{
	size_t begin = plan->cut[stage], end = plan->cut[stage + 1];
	double micro = how->batch / (double)plan->micro_batches, depth = (double)strategy_depth(plan, stage);
	bool follows = strategy_follows(plan), again = how->recompute && plan->kind == STRATEGY_GPIPE;
	double inputs = depth + (follows ? 1 : 0);
	struct strategy_memory memory = {.state = state_bytes(net, how, begin, end, follows ? depth : 1),
		.kept = micro * (inputs * net->layers[begin].input_bytes +
					(again ? 1 : depth) * kept_bytes(net, begin, end)),
		.gradients = micro * gradient_bytes(net, begin, end)};

	return sum(net, how, largest_layer(net, begin, end), memory);
}

/* What forward leaves of a micro-batch on a stage, with its input. */
static double pass_bytes(const struct strategy_net *net, const struct strategy_how *how,
	const struct strategy_plan *plan, size_t s)
{
	return how->batch / (double)plan->micro_batches *
	       (net->layers[plan->cut[s]].input_bytes + kept_bytes(net, plan->cut[s], plan->cut[s + 1]));
}

/* The most that the passes of a worker have left at once. */
static double most_kept(const struct strategy_net *net, const struct strategy_how *how,
	const struct strategy_plan *plan, size_t place)
{
	size_t turns = plan->micro_batches / (plan->first[place + 1] - plan->first[place]);
	size_t warm_up = strategy_warm_up(plan, place, turns);
	size_t all = turns * plan->stage_count / strategy_places(plan);
	double kept = 0, most = 0;

	for (size_t k = 0; k < all; k++) {
		kept += pass_bytes(
			net, how, plan, strategy_pass(plan, STRATEGY_STEP_FORWARD, place, k).stage);
		most = fmax(most, kept);
		if (k >= warm_up)
			kept -= pass_bytes(net, how, plan,
				strategy_pass(plan, STRATEGY_STEP_BACKWARD, place, k - warm_up).stage);
	}
	return most;
}

/* Of a worker with all its chunks. */
static struct strategy_memory flushed(const struct strategy_net *net, const struct strategy_how *how,
	const struct strategy_plan *plan, size_t place)
{
	double micro = how->batch / (double)plan->micro_batches, largest = 0;
	struct strategy_memory memory = {.kept = most_kept(net, how, plan, place)};

	for (size_t s = place; s < plan->stage_count; s += strategy_places(plan)) {
		size_t begin = plan->cut[s], end = plan->cut[s + 1];

		memory.state += state_bytes(net, how, begin, end, 1);
		memory.gradients = fmax(memory.gradients, micro * gradient_bytes(net, begin, end));
		largest = fmax(largest, largest_layer(net, begin, end));
	}
	return sum(net, how, largest, memory);
}

struct strategy_memory strategy_memory_plan(
	const struct strategy_net *net, const struct strategy_how *how, const struct strategy_plan *plan)
{
	struct strategy_memory most = {0};

	for (size_t place = 0; place < strategy_places(plan); place++) {
		struct strategy_memory memory = plan->kind == STRATEGY_FLUSH
							? flushed(net, how, plan, place)
							: strategy_memory_stage(net, how, plan, place);

		if (memory.total > most.total)
			most = memory;
	}
	return most;
}
