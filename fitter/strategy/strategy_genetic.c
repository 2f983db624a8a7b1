/*
 * An assignment by heredity: see strategy_assign.h.
 *
 * An individual is an order of all workers and a plan for the first of them. Two parents give a child the
 * order of one, completed as the other has it, and the first stages of one with the last of the other; it may
 * then mutate. The two best live on.
 */
#include "strategy_assign.h"
#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELITE = 2, TOURNAMENT = 3 };

#define CUT_COST 2e5
#define STRANGER 0.05   /* of a generation are born of chance */
#define ALONE 0.3       /* children of one parent */
#define ONE_MORE 0.5    /* probability of each further mutation */
#define ALL_WORKERS 0.5 /* of the first individuals take all that the network can use */

const struct strategy_heredity strategy_heredity = {64, 2000, 80, 4, 1, true};

struct individual {
	struct strategy_plan plan;
	size_t worker[STRATEGY_MAX_WORKERS];
	double bound, lacks;
};

struct evolution {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	const struct strategy_heredity *heredity;
	bool replicate;
	struct strategy_plan begin;  /* kind and micro-batches */
	size_t place_count, *places; /* where the network may be cut, without its ends */
	size_t most;                 /* stages */
	struct strategy_cluster ordered;
	struct random random;
	struct individual *now, *next;
	size_t tried;
};

static size_t below(struct evolution *e, size_t bound)
{
	return bound ? random_below(&e->random, bound) : 0;
}

static bool is_better(const struct individual *a, const struct individual *b)
{
	if (a->lacks < b->lacks)
		return true;
	return a->lacks <= b->lacks && a->bound < b->bound;
}

static void evaluate(struct evolution *e, struct individual *one)
{
	strategy_cluster_ordered(
		e->cluster, one->worker, one->plan.first[one->plan.stage_count], &e->ordered);
	one->bound = strategy_bound(e->net, &e->ordered, e->how, &one->plan);
	one->lacks = fmax(strategy_lacks(e->net, &e->ordered, e->how, &one->plan), 0);
	e->tried++;
}

/* ---- plans ---- */

/* At most so many replicas as divide the micro-batches. */
static size_t replicas_within(const struct evolution *e, size_t most)
{
	if (!e->replicate)
		return 1;
	while (e->begin.micro_batches % most)
		most--;
	return most;
}

/* Replicas that do not divide the micro-batches become fewer, and the stages after move up. */
static void repair(const struct evolution *e, struct strategy_plan *plan)
{
	size_t before = plan->first[0];

	plan->first[0] = 0;
	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t replicas = plan->first[s + 1] - before;

		before = plan->first[s + 1];
		plan->first[s + 1] = plan->first[s] + replicas_within(e, replicas);
	}
}

static int compare_places(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return (x > y) - (x < y);
}

/* `count` different items of `from`, ascending; `from` is shuffled by it. */
static void choose(struct evolution *e, size_t *from, size_t total, size_t count, size_t *chosen)
{
	for (size_t i = 0; i < count; i++) {
		size_t j = i + below(e, total - i), item = from[j];

		from[j] = from[i];
		from[i] = chosen[i] = item;
	}
	qsort(chosen, count, sizeof(*chosen), compare_places);
}

static void random_plan(struct evolution *e, struct strategy_plan *plan)
{
	size_t workers = e->cluster->workers, between[STRATEGY_MAX_WORKERS];
	size_t stages =
		random_unit(&e->random) < ALL_WORKERS && !e->replicate ? e->most : 2 + below(e, e->most - 1);

	*plan = e->begin;
	plan->stage_count = stages;
	choose(e, e->places, e->place_count, stages - 1, plan->cut + 1);
	plan->cut[stages] = e->net->layer_count;
	for (size_t i = 0; i < workers; i++)
		between[i] = i + 1;
	choose(e, between, workers - 1, stages - 1, plan->first + 1);
	plan->first[stages] = workers;
	repair(e, plan);
}

/* The first stages of one parent, and those of the other that begin after them. */
static void cross_plans(struct evolution *e, const struct strategy_plan *a, const struct strategy_plan *b,
	struct strategy_plan *child)
{
	size_t keep = 1 + below(e, a->stage_count), count = keep, used = b->first[b->stage_count];

	*child = *a;
	for (size_t s = 1; s < b->stage_count && count < e->most; s++)
		if (b->cut[s] > child->cut[count - 1] &&
			(!e->replicate || b->first[s] > child->first[count - 1])) {
			child->cut[count] = b->cut[s];
			child->first[count] = e->replicate ? b->first[s] : count;
			count++;
		}
	if (count < 2) {
		*child = *a;
		return;
	}
	child->stage_count = count;
	child->cut[count] = e->net->layer_count;
	child->first[count] = !e->replicate                    ? count
			      : used > child->first[count - 1] ? used
							       : child->first[count - 1] + 1;
	repair(e, child);
}

/* A cut goes to another place between its neighbours. */
static void move_cut(struct evolution *e, struct strategy_plan *plan)
{
	size_t s = 1 + below(e, plan->stage_count - 1), count = 0, chosen = plan->cut[s];

	for (size_t i = 0; i < e->place_count; i++)
		if (e->places[i] > plan->cut[s - 1] && e->places[i] < plan->cut[s + 1] && !below(e, ++count))
			chosen = e->places[i];
	plan->cut[s] = chosen;
}

/* Two stages divide their workers in another way. */
static void move_worker(struct evolution *e, struct strategy_plan *plan)
{
	size_t s = 1 + below(e, plan->stage_count - 1), before = plan->first[s - 1];

	if (!e->replicate)
		return;
	plan->first[s] = before + 1 + below(e, plan->first[s + 1] - before - 1);
	repair(e, plan);
}

/* A stage gets another number of workers, and those after it move. */
static void resize_stage(struct evolution *e, struct strategy_plan *plan)
{
	size_t s = below(e, plan->stage_count), end = plan->first[s + 1];
	size_t unused = e->cluster->workers - plan->first[plan->stage_count], replicas;

	if (!e->replicate)
		return;
	replicas = replicas_within(e, 1 + below(e, end - plan->first[s] + unused));
	for (size_t i = s + 1; i <= plan->stage_count; i++)
		plan->first[i] = plan->first[i] + plan->first[s] + replicas - end;
}

static void split_stage(struct evolution *e, struct strategy_plan *plan)
{
	size_t s = below(e, plan->stage_count), count = 0, cut = 0,
	       replicas = plan->first[s + 1] - plan->first[s];

	for (size_t i = 0; i < e->place_count; i++)
		if (e->places[i] > plan->cut[s] && e->places[i] < plan->cut[s + 1] && !below(e, ++count))
			cut = e->places[i];
	if (!cut || plan->stage_count >= e->most || (e->replicate && replicas < 2))
		return;
	memmove(plan->cut + s + 2, plan->cut + s + 1, (plan->stage_count - s) * sizeof(*plan->cut));
	memmove(plan->first + s + 2, plan->first + s + 1, (plan->stage_count - s) * sizeof(*plan->first));
	plan->stage_count++;
	plan->cut[s + 1] = cut;
	plan->first[s + 1] = plan->first[s] + (e->replicate ? 1 + below(e, replicas - 1) : 1);
	for (size_t i = s + 2; i <= plan->stage_count && !e->replicate; i++)
		plan->first[i] = i;
	repair(e, plan);
}

static void merge_stages(struct evolution *e, struct strategy_plan *plan)
{
	size_t s = 1 + below(e, plan->stage_count - 1);

	if (plan->stage_count < 3)
		return;
	memmove(plan->cut + s, plan->cut + s + 1, (plan->stage_count - s) * sizeof(*plan->cut));
	memmove(plan->first + s, plan->first + s + 1, (plan->stage_count - s) * sizeof(*plan->first));
	plan->stage_count--;
	for (size_t i = s; i <= plan->stage_count && !e->replicate; i++)
		plan->first[i] = i;
	repair(e, plan);
}

/* ---- orders ---- */

/* A slice of one parent stays where it is; the others come as the other parent has them. */
static void cross_orders(struct evolution *e, const size_t *a, const size_t *b, size_t *child)
{
	size_t workers = e->cluster->workers, from = below(e, workers),
	       to = from + below(e, workers - from) + 1;
	bool is_taken[STRATEGY_MAX_WORKERS] = {false};
	size_t at = 0;

	for (size_t i = from; i < to; i++)
		is_taken[child[i] = a[i]] = true;
	for (size_t i = 0; i < workers; i++) {
		if (is_taken[b[i]])
			continue;
		at = at == from ? to : at;
		child[at++] = b[i];
	}
}

static void swap_workers(struct evolution *e, size_t *worker)
{
	size_t i = below(e, e->cluster->workers), j = below(e, e->cluster->workers), old = worker[i];

	worker[i] = worker[j];
	worker[j] = old;
}

/* ---- generations ---- */

static void mutate(struct evolution *e, struct individual *one)
{
	do {
		switch (below(e, 7)) {
		case 0:
		case 1:
			swap_workers(e, one->worker);
			break;
		case 2:
			move_cut(e, &one->plan);
			break;
		case 3:
			move_worker(e, &one->plan);
			break;
		case 4:
			resize_stage(e, &one->plan);
			break;
		case 5:
			split_stage(e, &one->plan);
			break;
		default:
			merge_stages(e, &one->plan);
		}
	} while (random_unit(&e->random) < ONE_MORE);
}

static const struct individual *parent(struct evolution *e)
{
	const struct individual *best = &e->now[below(e, e->heredity->population)];

	for (int i = 1; i < TOURNAMENT; i++) {
		const struct individual *other = &e->now[below(e, e->heredity->population)];

		best = is_better(other, best) ? other : best;
	}
	return best;
}

static void make_random(struct evolution *e, struct individual *one)
{
	for (size_t i = 0; i < e->cluster->workers; i++)
		one->worker[i] = i;
	random_shuffle(&e->random, one->worker, e->cluster->workers);
	random_plan(e, &one->plan);
	evaluate(e, one);
}

static void bear(struct evolution *e, struct individual *child)
{
	const struct individual *a = parent(e), *b = parent(e);
	double kind = random_unit(&e->random);

	if (kind < STRANGER) {
		make_random(e, child);
		return;
	}
	if (kind < STRANGER + ALONE) {
		*child = *a;
	} else {
		cross_orders(e, a->worker, b->worker, child->worker);
		cross_plans(e, &a->plan, &b->plan, &child->plan);
	}
	mutate(e, child);
	evaluate(e, child);
}

static int compare_individuals(const void *a, const void *b)
{
	return is_better(b, a) - is_better(a, b);
}

static void sort(struct evolution *e)
{
	qsort(e->now, e->heredity->population, sizeof(*e->now), compare_individuals);
}

/* The next generation, the best first; whether its best is better than the best before. */
static bool advance(struct evolution *e)
{
	size_t population = e->heredity->population;
	struct individual *old = e->now;

	memcpy(e->next, e->now, ELITE * sizeof(*e->next));
	for (size_t i = ELITE; i < population; i++)
		bear(e, &e->next[i]);
	e->now = e->next;
	e->next = old;
	sort(e);
	return is_better(&e->now[0], &e->next[0]);
}

/* The exact partition of the order's first workers; taken if it is better. */
static int cut_exactly(struct evolution *e, struct individual *one, size_t workers)
{
	struct individual other = *one;
	int status;

	other.plan = e->begin;
	strategy_cluster_ordered(e->cluster, one->worker, workers, &e->ordered);
	status = strategy_cut(e->net, &e->ordered, e->how, e->replicate ? 0 : 1, &other.plan);
	if (status < 0)
		return status == -ERANGE ? 0 : status;
	evaluate(e, &other);
	if (is_better(&other, one))
		*one = other;
	return 0;
}

static int begin(struct evolution *e)
{
	int status = 0;

	for (size_t i = 0; i < e->heredity->population; i++)
		make_random(e, &e->now[i]);
	if (e->heredity->is_helped) {
		for (size_t i = 0; i < e->cluster->workers; i++)
			e->now[0].worker[i] = i;
		evaluate(e, &e->now[0]);
		status = cut_exactly(e, &e->now[0], e->cluster->workers);
	}
	sort(e);
	return status;
}

/* Until `patience` brings nothing better; then all but the best are born anew, some times. */
static int evolve(struct evolution *e)
{
	/* an individual is cut exactly so often that both take about as long */
	size_t period = 1 + (size_t)(strategy_cut_cost(e->net, e->cluster, e->replicate) / CUT_COST);
	size_t idle = 0, starts = 0;
	int status = begin(e);

	for (size_t i = 1; status == 0 && i <= e->heredity->generations; i++) {
		bool is_better_now = advance(e);

		if (e->heredity->is_helped && i % period == 0) {
			struct individual *one = &e->now[below(e, e->heredity->population)];

			status = cut_exactly(e, one, one->plan.first[one->plan.stage_count]);
			is_better_now |= is_better(one, &e->now[0]);
			sort(e);
		}
		idle = is_better_now ? 0 : idle + 1;
		if (idle < e->heredity->patience)
			continue;
		if (starts++ == e->heredity->restarts)
			break;
		for (size_t k = 1; k < e->heredity->population; k++)
			make_random(e, &e->now[k]);
		sort(e);
		idle = 0;
	}
	if (status == 0 && e->heredity->is_helped)
		status = cut_exactly(e, &e->now[0], e->now[0].plan.first[e->now[0].plan.stage_count]);
	return status;
}

static int init(struct evolution *e)
{
	size_t most = e->cluster->workers;

	e->places = calloc(e->net->layer_count + 1, sizeof(*e->places));
	e->now = calloc(2 * e->heredity->population, sizeof(*e->now));
	if (!e->places || !e->now)
		return -ENOMEM;
	e->next = e->now + e->heredity->population;
	for (size_t i = 1; i < e->net->layer_count; i++)
		if (e->net->layers[i].may_cut)
			e->places[e->place_count++] = i;
	most = most > e->place_count + 1 ? e->place_count + 1 : most;
	e->most = most > STRATEGY_MAX_STAGES ? STRATEGY_MAX_STAGES : most;
	random_init(&e->random, e->heredity->seed, 0);
	return e->most < 2 ? -ERANGE : 0;
}

int strategy_assign_genetic(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, bool replicate, const struct strategy_heredity *heredity,
	struct strategy_assignment *assignment)
{
	struct evolution *e = calloc(1, sizeof(*e));
	struct individual *block = NULL;
	int status;

	if (!e)
		return -ENOMEM;
	e->net = net;
	e->cluster = cluster;
	e->how = how;
	e->heredity = heredity;
	e->replicate = replicate;
	e->begin = assignment->plan;
	status = init(e);
	block = e->now;
	if (status == 0)
		status = evolve(e);
	if (status == 0) {
		*assignment = (struct strategy_assignment){.search = STRATEGY_GENETIC,
			.plan = e->now[0].plan,
			.bound = e->now[0].bound,
			.lacks = e->now[0].lacks,
			.tried = e->tried};
		memcpy(assignment->worker, e->now[0].worker, sizeof(assignment->worker));
	}
	free(block);
	free(e->places);
	free(e);
	return status;
}
