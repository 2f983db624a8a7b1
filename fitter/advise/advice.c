/* Numbers of GPUs and strategies, each with a range: see advice.h. */
#include "advice_private.h"
#include "strategy/strategy_fixed.h"
#include "strategy/strategy_unlike.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* From this share of the iteration on something is called its limit. */
#define LIMITS 0.25
/* At a range's end layers keep twice the time with no samples that is found, or so much of their time. */
#define FIXED_TIMES 2
#define FIXED_SHARE 0.1
/* Replayed pipelines missed modelled runs by so much (docs/prediction.md). */
#define PIPE_MISS 0.1
/* Replayed PyTorch programs missed modelled runs by less (docs/prediction.md). */
#define TORCH_MISS 0.05

const char *const advice_limits[] = {
	"compute", "links", "stages that wait", "input", "the host", "work outside of layers", "memory"};
const char *const advice_strengths[] = {"measured", "moderate", "weak", "untried"};

/* The network that predicts; where one batch was measured, the one whose layers keep most of their time with
 * fewer samples, else NULL. */
struct nets {
	const struct strategy_net *likely, *slowest;
};

double advice_batch(const struct advice *a, size_t gpus)
{
	return a->whole_batch > 0 ? a->whole_batch : a->run.batch * (double)gpus;
}

double advice_times_run(const struct advice *a, double samples)
{
	return samples / a->run.batch;
}

/* Besides layers, of a worker that reads so many samples: its input grows with them, its launches and what
 * else do not. */
static double other_of(const struct advice *a, double samples)
{
	return a->run.other + (advice_times_run(a, samples) - 1) * a->run.input;
}

/* An iteration on the quickest of the workers, of which the layers' part takes as much longer. */
static double iteration_of_one(const struct advice *a, double measured)
{
	return measured + (strategy_quickest(a->cluster, NULL) - 1) * (a->run.iteration - a->run.other);
}

/* Each worker reads as much as the one that was measured. */
static struct strategy_how how_of(const struct advice *a, size_t gpus)
{
	double batch = advice_batch(a, gpus);

	return (struct strategy_how){.batch = batch,
		.other = other_of(a, batch / (double)gpus) * (double)gpus,
		.aggregate = STRATEGY_FUSED,
		.threshold = 64 << 20,
		.cycle = a->cycle,
		.optimizer_copies = a->optimizer_copies,
		.recompute = !a->net.is_torch};
}

bool advice_is_outside(const struct advice *a)
{
	return a->run.other - a->run.input >= LIMITS * a->run.iteration;
}

/* About the greatest of n normal deviations, in standard deviations. */
static double greatest_of(double n)
{
	return sqrt(2 * log(fmax(n, 1)));
}

/* Hidden wholly, or not at all and after a cycle of waiting for the last gradients to be gathered. */
static void range_data(const struct advice *a, const struct strategy_how *how, struct advice_way *way)
{
	const struct strategy_data_parts *fused = &way->choice.parts;
	double alone = fused->total - fused->exposed;
	struct strategy_how after = *how;
	struct strategy_data_parts parts;

	after.aggregate = STRATEGY_AFTER;
	strategy_data(&a->net, a->cluster, &after, &parts);
	way->high = fmax(parts.total, alone + fused->exchange);
	if (fused->exchange > 0)
		way->high += how->cycle;
	way->low = fmin(fmax(alone, parts.exchange), way->time);
}

/* Of PyTorch's programs, and what was not validated against a run: exchanges wholly hidden, or not at all and
 * a miss on top; of tensor parallelism a miss on either side. */
static void range_parts(
	const struct advice *a, const struct strategy_how *how, size_t gpus, struct advice_way *way)
{
	const struct strategy_data_parts *parts = &way->choice.parts;
	const double miss = way->choice.is_validated ? TORCH_MISS : PIPE_MISS;
	double alone;

	if (way->name == STRATEGY_NAME_TENSOR) {
		/* each worker has the whole batch, and nothing can be hidden */
		way->time += other_of(a, advice_batch(a, gpus)) - how->other;
		way->low = way->time * (1 - miss);
		way->high = way->time * (1 + miss);
		return;
	}
	alone = way->time - parts->exposed;
	way->low = fmin(fmax(alone, parts->exchange), way->time);
	way->high = fmax(alone + parts->exchange, way->time) * (1 + miss);
}

/* With one measured batch, between layers that scale in proportion and such that do so least. */
static int range_pipe(const struct advice *a, const struct nets *nets, const struct strategy_how *how,
	size_t gpus, struct advice_way *way)
{
	const struct strategy_plan *plan = &way->choice.plan;
	struct strategy_how pipe = *how;
	double best, worst;
	struct strategy_cluster ordered;

	pipe.other = other_of(a, advice_batch(a, gpus));
	strategy_cluster_ordered(
		a->cluster, way->choice.worker, plan->first[strategy_places(plan)], &ordered);
	way->time = strategy_pipe(nets->likely, &ordered, &pipe, plan, NULL);
	if (way->time < 0)
		return -ENOMEM;
	best = worst = way->time;
	if (nets->slowest) {
		best = strategy_pipe(&a->net, &ordered, &pipe, plan, NULL);
		worst = strategy_pipe(nets->slowest, &ordered, &pipe, plan, NULL);
		if (best < 0 || worst < 0)
			return -ENOMEM;
	}
	way->low = fmin(fmin(best, worst), way->time) * (1 - PIPE_MISS);
	way->high = fmax(fmax(best, worst), way->time) * (1 + PIPE_MISS);
	return 0;
}

static void consider(struct advice_way *way, enum advice_limit limit, double time)
{
	double share = fmin(time / way->time, 1);

	if (share >= LIMITS && share > way->share) {
		way->limit = limit;
		way->share = share;
	}
}

void advice_set_limit(const struct advice *a, double gpus, struct advice_way *way)
{
	bool pipe = strategy_is_pipe(way->name), whole = pipe || way->name == STRATEGY_NAME_TENSOR;
	double batch = advice_batch(a, (size_t)gpus), reads = batch / gpus;
	double compute = strategy_quickest(a->cluster, NULL) * advice_times_run(a, reads) *
			 (a->run.iteration - a->run.other);

	/* the first stage reads for all, each of its replicas a part */
	if (whole)
		reads = batch;
	if (pipe)
		reads /= (double)(way->choice.plan.first[1] - way->choice.plan.first[0]);
	way->limit = ADVICE_COMPUTE;
	way->share = 0;
	if (strategy_has_parts(way->name))
		consider(way, ADVICE_LINKS, way->choice.parts.exposed);
	if (pipe)
		consider(way, ADVICE_STAGES, way->time - compute - other_of(a, reads));
	consider(way, ADVICE_INPUT, advice_times_run(a, reads) * a->run.input);
	consider(way, ADVICE_LAUNCH, a->run.launch);
	consider(way, ADVICE_OTHER, a->run.other - a->run.input - a->run.launch);
	if (way->limit == ADVICE_COMPUTE)
		way->share = fmin(compute / way->time, 1);
}

/* Is each GPU's share another number of samples than was measured? */
static bool is_share_other(const struct advice *a, size_t gpus)
{
	return fabs(advice_batch(a, gpus) / (double)gpus - a->run.batch) > 1e-6 * a->run.batch;
}

/* One worker with the whole batch: what was measured, or from the layers. */
static double time_of_one(const struct advice *a, const struct strategy_net *net)
{
	double time = 0;

	if (!is_share_other(a, 1))
		return iteration_of_one(a, a->run.iteration);
	for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
		time += strategy_time_of(
			net, 0, net->layer_count, (enum strategy_time)which, advice_batch(a, 1));
	return strategy_quickest(a->cluster, NULL) * time + other_of(a, advice_batch(a, 1));
}

static void range_of_one(const struct advice *a, const struct nets *nets, struct advice_way *way)
{
	bool is_other = is_share_other(a, 1);
	double low, high;

	way->time = time_of_one(a, nets->likely);
	low = is_other ? time_of_one(a, &a->net) : iteration_of_one(a, a->run.quartiles[0]);
	high = is_other && nets->slowest ? time_of_one(a, nets->slowest)
					 : iteration_of_one(a, a->run.quartiles[1]);
	if (is_other && !nets->slowest)
		high = way->time;
	way->low = fmin(fmin(low, is_other ? high : low), way->time);
	way->high = fmax(fmax(high, is_other ? low : high), way->time);
	way->strength = a->run.gpus == 1 && way->time == a->run.iteration ? ADVICE_MEASURED
			: way->high <= ADVICE_NARROW * way->low           ? ADVICE_MODERATE
									  : ADVICE_WEAK;
}

/* Shares that were not measured: as layers may scale. */
static void widen_shares(const struct advice *a, const struct nets *nets, const struct strategy_how *how,
	struct advice_way *way)
{
	const struct strategy_net *ends[] = {&a->net, nets->slowest ? nets->slowest : &a->net};
	struct strategy_data_parts likely, parts;

	strategy_data_of(nets->likely, a->cluster, how, &likely);
	for (int i = 0; i < 2; i++) {
		strategy_data_of(ends[i], a->cluster, how, &parts);
		way->low = fmin(way->low, way->low * parts.total / likely.total);
		way->high = fmax(way->high, way->high * parts.total / likely.total);
	}
}

static int fill_way(const struct advice *a, const struct nets *nets, const struct strategy_how *how,
	size_t gpus, struct advice_way *way)
{
	const struct strategy_choice *choice = &way->choice;
	int status = 0;

	way->time = way->low = way->high = way->rate = way->share = NAN;
	way->limit = ADVICE_MEMORY;
	way->strength = ADVICE_WEAK;
	if (strategy_is_pipe(way->name) && advice_is_outside(a))
		way->choice.is_validated = false;
	if (!choice->possible || !choice->fits)
		return 0;
	way->time = choice->time;
	if (way->name == STRATEGY_NAME_SINGLE) {
		range_of_one(a, nets, way);
	} else {
		if (way->name == STRATEGY_NAME_DATA && !a->net.is_torch)
			range_data(a, how, way);
		else if (!strategy_is_pipe(way->name))
			range_parts(a, how, gpus, way);
		else
			status = range_pipe(a, nets, how, gpus, way);
		if (!strategy_is_pipe(way->name) && is_share_other(a, gpus))
			widen_shares(a, nets, how, way);
		way->low -= fmax(a->run.iteration - a->run.quartiles[0], 0);
		way->high += a->run.sd * greatest_of((double)gpus);
		if (!choice->is_validated)
			way->strength = ADVICE_UNTRIED;
		else if (way->high <= ADVICE_NARROW * way->low)
			way->strength = ADVICE_MODERATE;
	}
	way->rate = advice_batch(a, gpus) / way->time * 1e9;
	advice_set_limit(a, (double)gpus, way);
	return status;
}

/* Gradients of older weights are no one's first choice, nor is what was not validated against a run. */
static bool is_candidate(const struct advice_row *row, size_t i)
{
	return !isnan(row->ways[i].time) && strategy_is_synchronous((enum strategy_name)i) &&
	       row->ways[i].choice.is_validated && (i == STRATEGY_NAME_SINGLE) == (row->gpus == 1);
}

static const struct advice_way *quickest_but(const struct advice_row *row, const struct advice_way *but)
{
	const struct advice_way *quickest = NULL;

	for (size_t i = 0; i < STRATEGY_NAME_COUNT; i++)
		if (is_candidate(row, i) && &row->ways[i] != but &&
			(!quickest || row->ways[i].time < quickest->time))
			quickest = &row->ways[i];
	return quickest;
}

/* Of those that are about as quick as the quickest, the one that is least slow at the worst. */
static void choose(struct advice_row *row)
{
	const struct advice_way *quickest = quickest_but(row, NULL);

	row->best = quickest;
	for (size_t i = 0; i < STRATEGY_NAME_COUNT; i++)
		if (is_candidate(row, i) && row->ways[i].time <= (1 + PIPE_MISS) * quickest->time &&
			row->ways[i].high < row->best->high)
			row->best = &row->ways[i];
	if (row->best && strategy_is_elaborate(row->best->name) &&
		advice_tie(row, &row->ways[STRATEGY_NAME_DATA]) > 0)
		row->best = &row->ways[STRATEGY_NAME_DATA];
	row->second = quickest_but(row, row->best);
}

static int fill_row(struct advice *a, const struct nets *nets, struct advice_row *row)
{
	static const size_t tries[] = {1, 2, 4, 8, 16, 32, 64, 128};
	struct strategy_choice choices[STRATEGY_NAME_COUNT];
	struct strategy_how how = how_of(a, row->gpus);
	int status;

	a->cluster->workers = row->gpus;
	status = strategy_choose(nets->likely, a->cluster, &how,
		&(struct strategy_tries){.micro_batches = tries, .count = 8, .goes_on = true}, choices);
	for (size_t i = 0; i < STRATEGY_NAME_COUNT && status == 0; i++) {
		struct advice_way *way = &row->ways[i];

		way->name = (enum strategy_name)i;
		way->choice = choices[i];
		/* one worker with the batches of several, and several with that of one, are nobody's question
		 */
		if ((i == STRATEGY_NAME_SINGLE) != (row->gpus == 1))
			way->choice.possible = false;
		status = fill_way(a, nets, &how, row->gpus, way);
	}
	return status;
}

static void judge(struct advice *a)
{
	double before = NAN;
	size_t gpus_before = 0;
	bool pays = true;

	for (size_t i = 0; i < a->count; i++) {
		struct advice_row *row = &a->rows[i];

		row->efficiency = row->marginal = NAN;
		if (!row->best)
			continue;
		row->efficiency = row->best->rate / (double)row->gpus / a->one;
		row->marginal = (row->best->rate - before) / (double)(row->gpus - gpus_before) / a->one;
		pays = pays && !(row->marginal < a->worth);
		if (pays)
			a->pays = row;
		if (!a->quickest || row->best->rate > a->quickest->best->rate)
			a->quickest = row;
		if (!a->cheapest || row->efficiency > a->cheapest->efficiency)
			a->cheapest = row;
		before = row->best->rate;
		gpus_before = row->gpus;
	}
}

int advice_fill(struct advice *a)
{
	struct strategy_net fixed = {0}, slowest = {0};
	struct nets nets = {.likely = &a->net};
	int status = 0;

	a->pays = a->quickest = a->cheapest = NULL;
	a->delayed = NULL;
	a->rows = calloc(a->count, sizeof(*a->rows));
	if (!a->rows)
		return -ENOMEM;
	if (a->net.batch_count == 1) {
		status = strategy_fixed_make(&a->net, a->optimizer_copies, 1, 0, &fixed);
		if (status == 0)
			status = strategy_fixed_make(
				&a->net, a->optimizer_copies, FIXED_TIMES, FIXED_SHARE, &slowest);
		nets = (struct nets){&fixed, &slowest};
	}
	if (status == 0) {
		const struct strategy_how how = how_of(a, 1);

		a->memory = strategy_memory_basis(nets.likely, &how).basis;
	}
	for (size_t i = 0; i < a->count && status == 0; i++) {
		a->rows[i].gpus = a->counts[i];
		a->rows[i].measured = a->counts[i] == 1 && a->run.gpus == 1 && a->cluster->slow[0] == 1 &&
						      !is_share_other(a, 1)
					      ? a->run.iteration
					      : NAN;
		status = fill_row(a, &nets, &a->rows[i]);
	}
	/* of all that there are, the quickest one */
	a->cluster->workers = a->counts[a->count - 1];
	a->one = status == 0 ? advice_batch(a, 1) / time_of_one(a, nets.likely) * 1e9 : NAN;
	strategy_fixed_free(&fixed);
	strategy_fixed_free(&slowest);
	if (status < 0)
		return status;
	advice_compare_checks(a);
	for (size_t i = 0; i < a->count; i++)
		choose(&a->rows[i]);
	advice_find_delayed(a);
	judge(a);
	return 0;
}

void advice_free(struct advice *a)
{
	free(a->rows);
	a->rows = NULL;
}

bool advice_is_close(const struct advice_row *row)
{
	return row->best && row->second && row->second->low <= row->best->high;
}

double advice_tie(const struct advice_row *row, const struct advice_way *way)
{
	const struct advice_way *best = row->best;
	double missed;

	if (!best || way == best || !is_candidate(row, way->name) || !is_candidate(row, best->name))
		return 0;
	/* what was measured is not off */
	missed = strategy_miss_between(best->name, best->strength == ADVICE_MEASURED ? 0 : best->time,
		way->name, way->strength == ADVICE_MEASURED ? 0 : way->time);
	return fabs(way->time - best->time) <= missed ? missed / best->time : 0;
}
