/* The best of all strategies: see strategy_choose.h. */
#include "strategy_choose.h"
#include "strategy_pairs.h"
#include "strategy_torch.h"
#include "strategy_unlike.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const strategy_names[] = {"one worker", "data", "model", "gpipe", "pipedream", "1f1b", "hybrid",
	"layerwise", "tensor", "zero-1", "zero-2", "zero-3", "data-fewer", "data-uneven"};
static_assert(sizeof(strategy_names) / sizeof(*strategy_names) == STRATEGY_NAME_COUNT, "a name for each");

/* How a pipeline is looked for: with one worker a stage, or with replicas, which PipeDream's planner chooses;
 * then as many for each stage are tried too, as what the planner makes least is not what the replay says. */
struct pipe_kind {
	enum strategy_kind kind;
	bool replicates;
	size_t fewest_even; /* replicas of each stage that are tried, from so many on; 0: none */
	size_t most_chunks; /* of powers of two */
};

/* What was tried of a pipeline. */
struct strategy_tried {
	struct strategy_choice *choice; /* the best of it */
	size_t most;
	bool divides; /* the batch, some number of micro-batches */
};

/* One way to set it up. Replicas: of each stage; 0: chosen. */
struct setting {
	size_t micro_batches, chunks, replicas;
};

static const struct pipe_kind pipe_kinds[] = {
	[STRATEGY_NAME_MODEL] = {STRATEGY_MODEL, false, 0, 1},
	[STRATEGY_NAME_GPIPE] = {STRATEGY_GPIPE, false, 0, 1},
	[STRATEGY_NAME_PIPEDREAM] = {STRATEGY_PIPEDREAM, true, 1, 1},
	[STRATEGY_NAME_FLUSH] = {STRATEGY_FLUSH, false, 0, 8},
	[STRATEGY_NAME_HYBRID] = {STRATEGY_GPIPE, true, 2, 1},
	[STRATEGY_NAME_LAYERWISE] = {STRATEGY_LAYERWISE, false, 0, 1},
};

bool strategy_is_pipe(enum strategy_name name)
{
	return name >= STRATEGY_NAME_MODEL && name <= STRATEGY_NAME_LAYERWISE;
}

bool strategy_has_parts(enum strategy_name name)
{
	return name == STRATEGY_NAME_DATA || (name > STRATEGY_NAME_LAYERWISE && name < STRATEGY_NAME_COUNT);
}

/* A transformer whose pairs are known, or an MLP: only those were run. */
static bool is_tensor_validated(const struct strategy_net *net)
{
	for (size_t i = 0; i < net->layer_count && !net->has_pairs; i++)
		if (net->is_opaque || (net->layers[i].parameter_bytes > 0 && !net->layers[i].is_rows))
			return false;
	return net->is_torch;
}

bool strategy_is_validated(enum strategy_name name, const struct strategy_net *net)
{
	if (name == STRATEGY_NAME_TENSOR)
		return is_tensor_validated(net);
	if (name == STRATEGY_NAME_FLUSH)
		return net->has_pairs;
	if (name == STRATEGY_NAME_UNEVEN)
		return false;
	return name <= STRATEGY_NAME_LAYERWISE || name == STRATEGY_NAME_FEWER || net->is_torch;
}

bool strategy_is_synchronous(enum strategy_name name)
{
	return name != STRATEGY_NAME_PIPEDREAM && name != STRATEGY_NAME_LAYERWISE;
}

bool strategy_is_elaborate(enum strategy_name name)
{
	return name == STRATEGY_NAME_TENSOR || (name >= STRATEGY_NAME_ZERO_1 && name <= STRATEGY_NAME_ZERO_3);
}

static void set_memory(struct strategy_choice *choice, struct strategy_memory needs, double lacks)
{
	choice->needs = needs;
	choice->memory = needs.total;
	choice->lacks = lacks;
	choice->fits = !(lacks > 0);
}

/* The same on all workers. */
static void set_memory_of_all(
	struct strategy_choice *choice, const struct strategy_cluster *cluster, struct strategy_memory needs)
{
	set_memory(choice, needs, needs.total - strategy_least_room(cluster));
}

static void single(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice)
{
	double slow;
	size_t worker;

	*choice = (struct strategy_choice){
		.possible = true, .published = NAN, .warm_up = NAN, .bound = NAN, .time = how->other};
	choice->needs = strategy_memory_whole(net, how, how->batch, 1);
	slow = strategy_quickest(cluster, &worker);
	set_memory(choice, choice->needs, choice->needs.total - strategy_room(cluster, worker));
	for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
		choice->time += slow * strategy_time_of(net, 0, net->layer_count, (enum strategy_time)which,
					       how->batch);
}

/* Replays a pipeline on the cluster as its places are; kept if it is quicker than what is there. */
static int replay_pipe(const struct strategy_net *net, const struct strategy_cluster *ordered,
	const struct strategy_how *how, const struct pipe_kind *kind, const struct strategy_assignment *found,
	struct strategy_choice *choice)
{
	const struct strategy_plan *plan = &found->plan;
	struct strategy_choice now = {.possible = true, .published = NAN, .plan = *plan};

	set_memory(&now, strategy_memory_plan(net, how, plan), found->lacks);
	if (!now.fits && choice->possible && choice->fits)
		return 0;
	now.time = strategy_pipe(net, ordered, how, plan, &now.warm_up);
	if (now.time < 0)
		return -ENOMEM;
	now.bound = (double)plan->micro_batches * found->bound;
	now.search = found->search;
	memcpy(now.worker, found->worker, sizeof(now.worker));
	if (kind->kind == STRATEGY_LAYERWISE)
		now.at_once = strategy_layerwise_least(net, ordered, how, plan);
	if (kind->kind == STRATEGY_GPIPE && !kind->replicates)
		now.published = strategy_published_gpipe(net, ordered, how, plan, NULL, NULL);
	if (!choice->possible || now.fits > choice->fits || now.time < choice->time)
		*choice = now;
	return 0;
}

static int try_pipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct pipe_kind *kind, struct setting setting,
	struct strategy_choice *choice)
{
	struct strategy_assignment *found = calloc(1, sizeof(*found));
	struct strategy_cluster *ordered = calloc(1, sizeof(*ordered));
	int status = found && ordered ? 0 : -ENOMEM;

	/* the order with the least bound may be slower when replayed than the workers as they are numbered */
	for (int search = 0; search < 2 && status == 0; search++) {
		found->plan = (struct strategy_plan){
			.kind = kind->kind, .micro_batches = setting.micro_batches, .chunks = setting.chunks};
		status = (search ? strategy_assign : strategy_assign_numbered)(
			net, cluster, how, setting.replicas, found);
		/* one for each stage is no hybrid */
		if (status < 0 || (kind->fewest_even > 1 && found->plan.stage_count == cluster->workers))
			break;
		strategy_cluster_ordered(
			cluster, found->worker, found->plan.first[strategy_places(&found->plan)], ordered);
		status = replay_pipe(net, ordered, how, kind, found, choice);
		if (!strategy_is_mixed(cluster))
			break;
	}
	free(found);
	free(ordered);
	return status == -ERANGE ? 0 : status;
}

/* Several chunks need micro-batches that the workers divide. */
static int try_settings(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct pipe_kind *kind, size_t micro_batches,
	struct strategy_choice *choice)
{
	struct setting setting = {micro_batches, 1, kind->replicates ? 0 : 1};
	int status = try_pipe(net, cluster, how, kind, setting, choice);

	for (setting.chunks = 2; setting.chunks <= (net->has_pairs ? 1 : kind->most_chunks) && status == 0;
		setting.chunks *= 2)
		if (micro_batches % cluster->workers == 0)
			status = try_pipe(net, cluster, how, kind, setting, choice);
	setting.chunks = 1;
	for (size_t r = kind->fewest_even; r && 2 * r <= cluster->workers && status == 0; r++)
		if (cluster->workers % r == 0) {
			setting.replicas = r;
			status = try_pipe(net, cluster, how, kind, setting, choice);
		}
	return status;
}

/* Fewer partitions have fewer batches under way: as many as fit. */
static int try_fewer(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct pipe_kind *kind, struct strategy_choice *choice)
{
	struct strategy_cluster *fewer = malloc(sizeof(*fewer));
	int status = fewer ? 0 : -ENOMEM;

	if (fewer)
		*fewer = *cluster;
	while (status == 0 && choice->possible && !choice->fits && --fewer->workers > 1)
		status = try_settings(net, fewer, how, kind, 1, choice);
	free(fewer);
	return status;
}

static const char opaque[] = "the trace does not have what goes from layer to layer";

/* torch.distributed.pipelining's schedules that were run. */
static bool is_of_torch(enum strategy_name name)
{
	return name == STRATEGY_NAME_GPIPE || name == STRATEGY_NAME_FLUSH;
}

/* One number of micro-batches, if it divides the batch. */
static int try_number(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_name name, const struct strategy_tries *tries,
	size_t micro_batches, struct strategy_tried *tried)
{
	if (tries->progress)
		tries->progress(name, micro_batches);
	if (fmod(how->batch, (double)micro_batches) > 0)
		return 0;
	tried->divides = true;
	tried->most = micro_batches > tried->most ? micro_batches : tried->most;
	return try_settings(net, cluster, how, &pipe_kinds[name], micro_batches, tried->choice);
}

/* More of them, where memory decides, until one fits; and one more, which may be quicker. */
static int go_on(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_name name, const struct strategy_tries *tries,
	struct strategy_tried *tried)
{
	int status = 0;
	bool fitted = false;

	for (double m = 2 * (double)tried->most;
		m <= how->batch && status == 0 && tried->choice->possible && !fitted; m *= 2) {
		fitted = tried->choice->fits;
		while (m < how->batch && fmod(how->batch, m) > 0)
			m++;
		status = try_number(net, cluster, how, name, tries, (size_t)m, tried);
	}
	return status;
}

static int pipe_of(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_name name, const struct strategy_tries *tries,
	struct strategy_choice *choice)
{
	static const size_t one = 1;
	const struct strategy_tries whole = {&one, 1, tries->progress, false};
	struct strategy_tried tried = {.choice = choice};
	int status = 0;

	*choice = (struct strategy_choice){.published = NAN, .warm_up = NAN, .bound = NAN};
	if (cluster->workers < 2) {
		choice->why = "a single worker has nothing to divide";
		return 0;
	}
	if (net->is_opaque && !(net->has_pairs && is_of_torch(name))) {
		choice->why = net->has_pairs ? "of PyTorch only gpipe and 1f1b" : opaque;
		return 0;
	}
	if (name == STRATEGY_NAME_MODEL || name == STRATEGY_NAME_LAYERWISE)
		tries = &whole;
	for (size_t i = 0; i < tries->count && status == 0; i++)
		status = try_number(net, cluster, how, name, tries, tries->micro_batches[i], &tried);
	if (status == 0 && tries->goes_on && choice->possible && !choice->fits)
		status = go_on(net, cluster, how, name, tries, &tried);
	choice->tried = tried.most;
	if (name == STRATEGY_NAME_LAYERWISE && status == 0)
		status = try_fewer(net, cluster, how, &pipe_kinds[name], choice);
	/* PyTorch's schedules keep other tensors: what is computed is taken for whether it fits, and not said
	 */
	if (net->has_pairs && choice->possible) {
		choice->needs = (struct strategy_memory){.total = NAN};
		choice->memory = NAN;
	}
	if (!choice->possible)
		choice->why = tried.divides ? name == STRATEGY_NAME_HYBRID && cluster->workers < 3
						      ? "two workers are two stages or two replicas"
						      : "the network has too few cut points"
					    : "the batch is not divisible by any of these numbers of "
					      "micro-batches";
	return status;
}

/* Of a transformer of PyTorch: with the last product whole or divided, whichever is quicker and fits. */
static void torch_tensor(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice)
{
	const bool gathers = net->layers[net->layer_count - 1].divide == STRATEGY_GATHERED;

	for (int way = TORCH_TENSOR; way <= (gathers ? TORCH_TENSOR_GATHERED : TORCH_TENSOR); way++) {
		struct strategy_choice now = *choice;

		strategy_torch_tensor(net, cluster, how, (enum strategy_torch)way, &now.parts);
		now.time = now.parts.total;
		now.divides_last = way == TORCH_TENSOR_GATHERED;
		set_memory_of_all(&now, cluster,
			strategy_memory_torch_tensor(net, how, cluster->workers, (enum strategy_torch)way));
		if (way == TORCH_TENSOR || now.fits > choice->fits ||
			(now.fits == choice->fits && now.time < choice->time))
			*choice = now;
	}
}

static int tensor(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice)
{
	struct strategy_memory needs;
	int status = 0;

	*choice = (struct strategy_choice){.published = NAN, .warm_up = NAN, .bound = NAN};
	choice->possible = cluster->workers > 1 && (!net->is_opaque || net->has_pairs);
	choice->why = choice->possible       ? NULL
		      : cluster->workers < 2 ? "a single worker has nothing to divide"
		      : net->no_pairs        ? net->no_pairs
					     : opaque;
	if (choice->possible && net->has_pairs && !strategy_pairs_divide(net, cluster->workers)) {
		choice->possible = false;
		choice->why = "the workers do not divide the width between two products of a block";
	}
	if (!choice->possible)
		return 0;
	if (net->has_pairs) {
		torch_tensor(net, cluster, how, choice);
		return 0;
	}
	status = strategy_tensor(net, cluster, how, &choice->parts, &needs);
	choice->time = choice->parts.total;
	set_memory_of_all(choice, cluster, needs);
	return status;
}

/* Data parallelism for workers that are not alike. */
static int unlike(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choices)
{
	const struct strategy_choice idle = {.why = "all workers are alike",
		.is_idle = true,
		.published = NAN,
		.warm_up = NAN,
		.bound = NAN};
	int status;

	choices[STRATEGY_NAME_FEWER] = choices[STRATEGY_NAME_UNEVEN] = idle;
	if (!strategy_is_unlike(cluster))
		return 0;
	status = strategy_choose_fewer(net, cluster, how, &choices[STRATEGY_NAME_FEWER]);
	return status < 0 ? status
			  : strategy_choose_uneven(net, cluster, how, &choices[STRATEGY_NAME_UNEVEN]);
}

int strategy_choose(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_tries *tries, struct strategy_choice *choices)
{
	struct strategy_choice *data = &choices[STRATEGY_NAME_DATA];
	int status = 0;

	single(net, cluster, how, &choices[STRATEGY_NAME_SINGLE]);
	*data = (struct strategy_choice){.possible = true, .warm_up = NAN, .bound = NAN};
	strategy_data_of(net, cluster, how, &data->parts);
	data->time = data->parts.total;
	set_memory_of_all(data, cluster,
		strategy_memory_whole(
			net, how, ceil(how->batch / (double)cluster->workers), cluster->workers));
	data->published = strategy_published_data(net, cluster, how);
	for (int i = STRATEGY_NAME_MODEL; i <= STRATEGY_NAME_LAYERWISE && status == 0; i++)
		status = pipe_of(net, cluster, how, (enum strategy_name)i, tries, &choices[i]);
	if (status == 0)
		status = tensor(net, cluster, how, &choices[STRATEGY_NAME_TENSOR]);
	strategy_choose_zero(net, cluster, how, &choices[STRATEGY_NAME_ZERO_1]);
	if (status == 0)
		status = unlike(net, cluster, how, choices);
	for (int i = 0; i < STRATEGY_NAME_COUNT; i++)
		choices[i].is_validated = strategy_is_validated((enum strategy_name)i, net);
	return status;
}

void strategy_choose_zero(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choices)
{
	double batch = ceil(how->batch / (double)cluster->workers);
	const struct strategy_how whole = strategy_whole_shares(how, cluster->workers);

	for (int i = 0; i < STRATEGY_ZERO_COUNT; i++) {
		struct strategy_choice *choice = &choices[i];

		*choice = (struct strategy_choice){.published = NAN, .warm_up = NAN, .bound = NAN};
		choice->possible = cluster->workers > 1;
		choice->why = choice->possible ? NULL : "a single worker has nothing to divide";
		if (net->is_torch && cluster->workers > 1)
			strategy_torch_time(net, cluster, &whole, (enum strategy_torch)(TORCH_ZERO_1 + i),
				&choice->parts);
		else
			strategy_zero(net, cluster, &whole, i + 1, &choice->parts);
		choice->time = choice->parts.total;
		set_memory_of_all(
			choice, cluster, strategy_memory_zero(net, how, batch, cluster->workers, i + 1));
	}
}

/* Could it be recommended? */
static bool is_candidate(const struct strategy_choice *choices, enum strategy_name name, bool synchronous)
{
	return choices[name].possible && choices[name].fits && choices[name].is_validated &&
	       (!synchronous || strategy_is_synchronous(name));
}

enum strategy_name strategy_best(const struct strategy_choice *choices, bool synchronous)
{
	enum strategy_name best = STRATEGY_NAME_COUNT;

	for (int i = STRATEGY_NAME_DATA; i < STRATEGY_NAME_COUNT; i++)
		if (is_candidate(choices, (enum strategy_name)i, synchronous) &&
			(best == STRATEGY_NAME_COUNT || choices[i].time < choices[best].time))
			best = (enum strategy_name)i;
	if (best < STRATEGY_NAME_COUNT && strategy_is_elaborate(best) &&
		strategy_is_tie(choices, best, STRATEGY_NAME_DATA, synchronous))
		best = STRATEGY_NAME_DATA;
	return best;
}

double strategy_miss(enum strategy_name name)
{
	static const double misses[STRATEGY_NAME_COUNT] = {[STRATEGY_NAME_DATA] = 0.03,
		[STRATEGY_NAME_FEWER] = 0.03,
		[STRATEGY_NAME_MODEL] = 0.02,
		[STRATEGY_NAME_GPIPE] = 0.03,
		[STRATEGY_NAME_PIPEDREAM] = 0.03,
		[STRATEGY_NAME_FLUSH] = 0.04,
		[STRATEGY_NAME_HYBRID] = 0.02,
		[STRATEGY_NAME_LAYERWISE] = 0.04,
		[STRATEGY_NAME_TENSOR] = 0.04,
		[STRATEGY_NAME_ZERO_1] = 0.03,
		[STRATEGY_NAME_ZERO_2] = 0.03,
		[STRATEGY_NAME_ZERO_3] = 0.03};

	return misses[name] > 0 ? misses[name] : NAN;
}

double strategy_miss_between(enum strategy_name a, double time_a, enum strategy_name b, double time_b)
{
	return hypot(strategy_miss(a) * time_a, strategy_miss(b) * time_b);
}

bool strategy_is_tie(const struct strategy_choice *choices, enum strategy_name best, enum strategy_name other,
	bool synchronous)
{
	const double time = choices[best].time, its = choices[other].time;

	return other != best && is_candidate(choices, other, synchronous) &&
	       its - time <= strategy_miss_between(best, time, other, its);
}

enum strategy_name strategy_best_published(const struct strategy_choice *choices)
{
	const struct strategy_choice *gpipe = &choices[STRATEGY_NAME_GPIPE];

	return gpipe->possible && gpipe->published < choices[STRATEGY_NAME_DATA].published
		       ? STRATEGY_NAME_GPIPE
		       : STRATEGY_NAME_DATA;
}
