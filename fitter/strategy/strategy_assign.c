/* All orders of unlike workers, and which search to take: see strategy_assign.h. */
#include "strategy_assign.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_COMPARED = 64 };

#define MOST_COST 1e8 /* of all orders: some tenths of a second */

bool strategy_is_mixed(const struct strategy_cluster *cluster)
{
	for (size_t i = 1; i < cluster->workers; i++)
		if (cluster->slow[i] != cluster->slow[0] ||
			strategy_room(cluster, i) != strategy_room(cluster, 0))
			return true;
	for (size_t i = 0; i < cluster->exception_count; i++)
		if (cluster->exceptions[i].from < cluster->workers &&
			cluster->exceptions[i].to < cluster->workers)
			return true;
	return false;
}

static bool is_same_link(struct strategy_link a, struct strategy_link b)
{
	return a.latency == b.latency && a.bandwidth == b.bandwidth;
}

/* Would nothing change if the two changed places? */
static bool are_alike(const struct strategy_cluster *cluster, size_t a, size_t b)
{
	if (cluster->slow[a] != cluster->slow[b] || strategy_room(cluster, a) != strategy_room(cluster, b))
		return false;
	for (size_t i = 0; i < cluster->workers; i++)
		if (i != a && i != b &&
			!is_same_link(strategy_link_of(cluster, a, i), strategy_link_of(cluster, b, i)))
			return false;
	return true;
}

void strategy_cluster_ordered(const struct strategy_cluster *cluster, const size_t *worker, size_t workers,
	struct strategy_cluster *ordered)
{
	*ordered = *cluster;
	ordered->workers = workers;
	ordered->order = worker;
	for (size_t i = 0; i < workers; i++) {
		ordered->slow[i] = cluster->slow[worker[i]];
		ordered->own_memory[i] = cluster->own_memory[worker[i]];
	}
}

double strategy_lacks(const struct strategy_net *net, const struct strategy_cluster *ordered,
	const struct strategy_how *how, const struct strategy_plan *plan)
{
	double lacks = -HUGE_VAL;

	if (isinf(strategy_least_room(ordered)))
		return lacks;
	for (size_t s = 0; s < plan->stage_count; s++) {
		double needs = strategy_memory_stage(net, how, plan, s).total;

		for (size_t i = plan->first[s]; i < plan->first[s + 1]; i++)
			lacks = fmax(lacks, needs - strategy_room(ordered, i));
	}
	return lacks;
}

/* ---- all orders ---- */

struct walk {
	const struct strategy_cluster *cluster;
	size_t alike[MOST_COMPARED]; /* the first worker that is like this one */
	size_t order[STRATEGY_MAX_WORKERS], length;
	bool is_taken[MOST_COMPARED];
	size_t visited, most;
	/* what is done with each order of two and more; NULL: they are counted */
	int (*visit)(struct walk *walk);
	const struct strategy_net *net;
	const struct strategy_how *how;
	bool replicate;
	struct strategy_plan plan; /* kind and micro-batches */
	struct strategy_assignment *best;
	struct strategy_cluster ordered;
};

/* Of workers that are alike the first that is free comes first. */
static bool may_follow(const struct walk *walk, size_t worker)
{
	if (walk->is_taken[worker])
		return false;
	for (size_t i = walk->alike[worker]; i < worker; i++)
		if (walk->alike[i] == walk->alike[worker] && !walk->is_taken[i])
			return false;
	return true;
}

static int walk_on(struct walk *walk)
{
	int status = 0;

	if (walk->length > 1) {
		walk->visited++;
		if (walk->visit)
			status = walk->visit(walk);
	}
	for (size_t i = 0; i < walk->cluster->workers && status == 0 && walk->visited < walk->most; i++) {
		if (!may_follow(walk, i))
			continue;
		walk->is_taken[i] = true;
		walk->order[walk->length++] = i;
		status = walk_on(walk);
		walk->length--;
		walk->is_taken[i] = false;
	}
	return status;
}

static void walk_init(struct walk *walk, const struct strategy_cluster *cluster, size_t most)
{
	walk->cluster = cluster;
	walk->most = most;
	for (size_t i = 0; i < cluster->workers; i++) {
		size_t like = 0;

		while (like < i && !are_alike(cluster, like, i))
			like++;
		walk->alike[i] = like;
	}
}

size_t strategy_orders(const struct strategy_cluster *cluster, size_t most)
{
	struct walk *walk;
	size_t count = most;

	if (cluster->workers > MOST_COMPARED || !(walk = calloc(1, sizeof(*walk))))
		return most;
	walk_init(walk, cluster, most);
	walk_on(walk);
	count = walk->visited;
	free(walk);
	return count;
}

/* The partition of this order; kept if it fits better, or as well and is quicker. */
static int visit_order(struct walk *walk)
{
	struct strategy_assignment *best = walk->best;
	struct strategy_plan plan = walk->plan;
	double bound, lacks;
	int status;

	strategy_cluster_ordered(walk->cluster, walk->order, walk->length, &walk->ordered);
	status = strategy_cut(walk->net, &walk->ordered, walk->how, walk->replicate ? 0 : 1, &plan);
	if (status == -ERANGE)
		return 0;
	if (status < 0)
		return status;
	bound = strategy_bound(walk->net, &walk->ordered, walk->how, &plan);
	lacks = fmax(strategy_lacks(walk->net, &walk->ordered, walk->how, &plan), 0);
	if (best->tried && (lacks > best->lacks || (lacks >= best->lacks && bound >= best->bound)))
		return 0;
	best->plan = plan;
	best->bound = bound;
	best->lacks = lacks;
	best->tried = walk->visited;
	for (size_t i = 0, at = walk->length; i < walk->cluster->workers; i++)
		if (!walk->is_taken[i])
			best->worker[at++] = i;
	for (size_t i = 0; i < walk->length; i++)
		best->worker[i] = walk->order[i];
	return 0;
}

int strategy_assign_exact(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, bool replicate, struct strategy_assignment *assignment)
{
	struct walk *walk = cluster->workers > MOST_COMPARED ? NULL : calloc(1, sizeof(*walk));
	int status;

	if (!walk)
		return -ENOMEM;
	walk_init(walk, cluster, SIZE_MAX);
	walk->visit = visit_order;
	walk->net = net;
	walk->how = how;
	walk->replicate = replicate;
	walk->plan = assignment->plan;
	walk->best = assignment;
	assignment->search = STRATEGY_EXACT;
	assignment->tried = 0;
	status = walk_on(walk);
	if (status == 0 && !assignment->tried)
		status = -ERANGE;
	assignment->tried = walk->visited;
	free(walk);
	return status;
}

/* ---- which search ---- */

double strategy_cut_cost(
	const struct strategy_net *net, const struct strategy_cluster *cluster, bool replicate)
{
	double workers = (double)cluster->workers, places = 1;

	for (size_t i = 1; i < net->layer_count; i++)
		places += net->layers[i].may_cut;
	return places * places * workers * (replicate ? workers * workers : 1);
}

int strategy_assign_numbered(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t replicas, struct strategy_assignment *assignment)
{
	int status = strategy_cut(net, cluster, how, replicas, &assignment->plan);

	if (status < 0)
		return status;
	for (size_t i = 0; i < cluster->workers; i++)
		assignment->worker[i] = i;
	assignment->search = STRATEGY_AS_NUMBERED;
	assignment->bound = strategy_bound(net, cluster, how, &assignment->plan);
	assignment->lacks = strategy_lacks(net, cluster, how, &assignment->plan);
	assignment->tried = 1;
	return 0;
}

int strategy_assign(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, size_t replicas, struct strategy_assignment *assignment)
{
	const struct strategy_plan plan = assignment->plan;
	const bool replicate = replicas == 0;
	size_t most = (size_t)(MOST_COST / strategy_cut_cost(net, cluster, replicate)) + 2;
	int status;

	if (!strategy_is_mixed(cluster) || replicas > 1 || plan.chunks > 1)
		return strategy_assign_numbered(net, cluster, how, replicas, assignment);
	if (strategy_orders(cluster, most) < most) {
		status = strategy_assign_exact(net, cluster, how, replicate, assignment);
		if (status < 0 || assignment->lacks <= 0)
			return status;
		assignment->plan = plan;
	}
	return strategy_assign_genetic(net, cluster, how, replicate, &strategy_heredity, assignment);
}
