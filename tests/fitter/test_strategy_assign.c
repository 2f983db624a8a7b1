/* Assignments of unlike workers: all orders against trying all plans, heredity against all orders. */
#include "../analyzer/check.h"
#include "strategy/strategy_assign.h"
#include "base/random.h"
#include "chain.h"

#include <math.h>
#include <string.h>

/* What is tried: a plan under way on the first of `order`. */
struct trial {
	const struct chain *chain;
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	int replicate;
	struct strategy_plan plan;
	size_t order[STRATEGY_MAX_WORKERS];
	double best, best_fitting;
};

static void take(struct trial *t, size_t used)
{
	static struct strategy_cluster ordered;
	double bound;

	if (t->plan.stage_count < 2 || (!t->replicate && t->plan.stage_count < used))
		return;
	strategy_cluster_ordered(t->cluster, t->order, used, &ordered);
	bound = strategy_bound(&t->chain->net, &ordered, t->how, &t->plan);
	t->best = fmin(t->best, bound);
	if (strategy_lacks(&t->chain->net, &ordered, t->how, &t->plan) <= 0)
		t->best_fitting = fmin(t->best_fitting, bound);
}

/* All ways to cut and replicate on the workers of one order, as many as it has. */
static void try_plans(struct trial *t, size_t used)
{
	size_t s = t->plan.stage_count, left = used - t->plan.first[s];

	if (t->plan.cut[s] == t->chain->net.layer_count && !left)
		take(t, used);
	for (size_t end = t->plan.cut[s] + 1; end <= t->chain->net.layer_count; end++)
		for (size_t r = 1; r <= (t->replicate ? left : left > 0); r++) {
			if (t->plan.micro_batches % r ||
				(end < t->chain->net.layer_count && !t->chain->layers[end].may_cut))
				continue;
			t->plan.cut[s + 1] = end;
			t->plan.first[s + 1] = t->plan.first[s] + r;
			t->plan.stage_count = s + 1;
			try_plans(t, used);
			t->plan.stage_count = s;
		}
}

/* All orders of some of the workers, also those that differ in nothing. */
static void try_orders(struct trial *t, size_t used)
{
	if (used > 1)
		try_plans(t, used);
	for (size_t i = 0; i < t->cluster->workers; i++) {
		bool is_taken = false;

		for (size_t k = 0; k < used; k++)
			is_taken |= t->order[k] == i;
		if (is_taken)
			continue;
		t->order[used] = i;
		try_orders(t, used + 1);
	}
}

static void make(struct random *random, struct chain *chain, struct strategy_cluster *cluster,
	struct strategy_exception *link, int round)
{
	chain_init(chain, 3 + (size_t)(round % 4));
	cluster_init(cluster, 2 + (size_t)(round / 2 % 3), 1, 4);
	for (size_t i = 0; i < chain->net.layer_count; i++) {
		for (int k = 0; k < 3; k++)
			chain->times[3 * i + (size_t)k] = 10 * random_unit(random);
		chain->layers[i].input_bytes = 40 * random_unit(random);
		chain->layers[i].parameter_bytes = 60 * random_unit(random);
		chain->layers[i].may_cut = i > 0 && random_unit(random) < 0.8;
	}
	/* some alike, some not */
	for (size_t i = 0; i < cluster->workers; i++)
		cluster->slow[i] = 1 + (double)random_below(random, 3);
	cluster->workers_per_node = round % 3 ? 2 : STRATEGY_MAX_WORKERS;
	cluster->between.bandwidth = 1;
	*link = (struct strategy_exception){0, 1, {2, 0.5}};
	cluster->exceptions = link;
	cluster->exception_count = round % 5 == 0;
}

static bool is_order(const struct strategy_assignment *assignment, size_t workers)
{
	bool is_seen[STRATEGY_MAX_WORKERS] = {false};

	for (size_t i = 0; i < workers; i++) {
		if (assignment->worker[i] >= workers || is_seen[assignment->worker[i]])
			return false;
		is_seen[assignment->worker[i]] = true;
	}
	return true;
}

/* The plan is one, and its bound is what it says. */
static void check_plan(const struct trial *t, const struct strategy_assignment *a, int round)
{
	static struct strategy_cluster ordered;
	const struct strategy_plan *plan = &a->plan;

	CHECK(is_order(a, t->cluster->workers), "round %d: no order", round);
	CHECK(plan->cut[0] == 0 && plan->first[0] == 0 && plan->stage_count > 1 &&
			plan->cut[plan->stage_count] == t->chain->net.layer_count &&
			plan->first[plan->stage_count] <= t->cluster->workers,
		"round %d: ends", round);
	for (size_t s = 0; s < plan->stage_count; s++) {
		size_t replicas = plan->first[s + 1] - plan->first[s];

		CHECK(plan->cut[s] < plan->cut[s + 1] && plan->first[s] < plan->first[s + 1] &&
				plan->micro_batches % replicas == 0 && (t->replicate || replicas == 1) &&
				(!s || t->chain->layers[plan->cut[s]].may_cut),
			"round %d: stage %zu", round, s);
	}
	strategy_cluster_ordered(t->cluster, a->worker, plan->first[plan->stage_count], &ordered);
	CHECK(near(strategy_bound(&t->chain->net, &ordered, t->how, plan), a->bound), "round %d: bound",
		round);
}

static const struct strategy_heredity alone = {48, 400, 80, 0, 7, false};

static void check_searches(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_assignment exact, genetic;
	struct strategy_how how = {.batch = 12};
	struct strategy_exception link;
	struct random random;
	struct chain chain;
	int possible = 0, unused = 0, found = 0;

	random_init(&random, 11, 0);
	for (int round = 0; round < 60; round++) {
		static struct trial t;

		make(&random, &chain, &cluster, &link, round);
		t = (struct trial){.chain = &chain,
			.cluster = &cluster,
			.how = &how,
			.replicate = round % 2,
			.plan = {.kind = round % 2 ? STRATEGY_PIPEDREAM : STRATEGY_GPIPE,
				.micro_batches = round % 3 ? 12 : 4},
			.best = HUGE_VAL,
			.best_fitting = HUGE_VAL};
		exact.plan = genetic.plan = t.plan;
		try_orders(&t, 0);
		if (!isfinite(t.best)) {
			CHECK(strategy_assign_exact(&chain.net, &cluster, &how, t.replicate, &exact) < 0,
				"round %d: cannot be cut", round);
			continue;
		}
		possible++;
		CHECK(strategy_assign_exact(&chain.net, &cluster, &how, t.replicate, &exact) == 0, "exact");
		CHECK(near(exact.bound, t.best), "round %d: %g, not %g", round, exact.bound, t.best);
		check_plan(&t, &exact, round);
		unused += exact.plan.first[exact.plan.stage_count] < cluster.workers;
		CHECK(strategy_assign_genetic(&chain.net, &cluster, &how, t.replicate, &alone, &genetic) == 0,
			"genetic");
		check_plan(&t, &genetic, round);
		CHECK(genetic.bound >= t.best * (1 - 1e-9), "round %d: less than the least", round);
		found += near(genetic.bound, t.best);
	}
	CHECK(possible > 40 && unused > 5, "%d possible, %d with unused workers", possible, unused);
	CHECK(found >= possible - 2, "heredity found %d of %d", found, possible);
}

/* Plans that fit are taken before quicker ones that do not. */
static void check_memory(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_assignment genetic;
	struct strategy_how how = {.batch = 4};
	struct strategy_exception link;
	struct random random;
	struct chain chain;
	int fitting = 0, costly = 0;

	random_init(&random, 5, 0);
	for (int round = 0; round < 60; round++) {
		static struct trial t;

		make(&random, &chain, &cluster, &link, round);
		for (size_t i = 0; i < cluster.workers; i++)
			cluster.own_memory[i] = 150 + 250 * random_unit(&random);
		t = (struct trial){.chain = &chain,
			.cluster = &cluster,
			.how = &how,
			.replicate = round % 2,
			.plan = {.kind = round % 2 ? STRATEGY_PIPEDREAM : STRATEGY_GPIPE, .micro_batches = 4},
			.best = HUGE_VAL,
			.best_fitting = HUGE_VAL};
		genetic.plan = t.plan;
		try_orders(&t, 0);
		if (!isfinite(t.best))
			continue;
		CHECK(strategy_assign_genetic(&chain.net, &cluster, &how, t.replicate, &alone, &genetic) == 0,
			"genetic");
		CHECK((genetic.lacks <= 0) == (isfinite(t.best_fitting) != 0), "round %d: lacks %g, least %g",
			round, genetic.lacks, t.best_fitting);
		if (!isfinite(t.best_fitting))
			continue;
		fitting++;
		costly += t.best_fitting > 1.01 * t.best;
		CHECK(genetic.bound <= 1.05 * t.best_fitting, "round %d: %g, least %g", round, genetic.bound,
			t.best_fitting);
	}
	CHECK(fitting > 10 && costly > 3, "%d fit, %d of them slower for it", fitting, costly);
}

/* Three classes of two, one and one: orders of 2, 3 and 4 of them. */
static void check_orders(void)
{
	static struct strategy_cluster cluster;
	static struct strategy_assignment assignment;
	struct strategy_how how = {.batch = 4};
	struct chain chain;

	cluster_init(&cluster, 4, 1, 1);
	CHECK(!strategy_is_mixed(&cluster), "alike");
	CHECK(strategy_orders(&cluster, 100) == 3, "alike: %zu", strategy_orders(&cluster, 100));
	cluster.slow[1] = 2;
	cluster.slow[3] = 3;
	CHECK(strategy_is_mixed(&cluster), "mixed");
	/* two: aa ab ac ba bc ca cb; three: each of these and one more, aab aac aba abc aca acb baa bac bca
	 * caa cab cba; four: 4!/2! */
	CHECK(strategy_orders(&cluster, 100) == 7 + 12 + 12, "%zu", strategy_orders(&cluster, 100));
	CHECK(strategy_orders(&cluster, 20) == 20, "at most");
	/* the best: the heavy layer goes to the quick worker, which is the last */
	chain_init(&chain, 2);
	*chain.layers[0].forward = 10;
	*chain.layers[1].forward = 30;
	cluster_init(&cluster, 2, 0, 1e9);
	cluster.slow[0] = 1;
	cluster.slow[1] = 3;
	assignment.plan = (struct strategy_plan){.kind = STRATEGY_GPIPE, .micro_batches = 4};
	CHECK(strategy_assign(&chain.net, &cluster, &how, 1, &assignment) == 0, "two");
	CHECK(assignment.search == STRATEGY_EXACT && assignment.worker[0] == 1 && assignment.worker[1] == 0,
		"two: %zu %zu", assignment.worker[0], assignment.worker[1]);
	CHECK(near(assignment.bound, 30), "two: %g", assignment.bound);
}

int main(void)
{
	check_orders();
	check_searches();
	check_memory();
	return check_end();
}
