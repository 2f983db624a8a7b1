/*
 * The assignment of a pipeline's stages to unlike workers, by heredity and by all orders: for GPipe and for
 * PipeDream a line with
 *
 *     numbered  by how much the best partition on the workers as they are numbered is above the least bound
 *     orders, exact ms  all orders, the best partition of each by dynamic programming: the least bound
 *     alone     heredity alone, mean and greatest excess of ten seeds in percent, and time of one
 *     helped    the same as `pmfit strategy` does it, with the dynamic program before and after
 *
 *     bench_assign NAME BATCH MICRO_BATCHES CLUSTER LAYERS.json...      called by assign.sh
 */
#include "strategy/strategy_assign.h"
#include "base/memory.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SEEDS = 10 };

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

struct bench {
	struct strategy_net net;
	struct strategy_cluster cluster;
	struct strategy_how how;
	struct strategy_plan plan; /* kind and micro-batches */
	bool replicate;
};

struct excess {
	double mean, greatest, ms; /* ms: of one */
};

static struct excess excess_of(const struct bench *b, bool is_helped, double least)
{
	struct strategy_heredity heredity = strategy_heredity;
	struct strategy_assignment *found = mem_alloc(1, sizeof(*found));
	struct excess excess = {0};
	double begin = now_ms();

	heredity.is_helped = is_helped;
	for (heredity.seed = 1; heredity.seed <= SEEDS; heredity.seed++) {
		found->plan = b->plan;
		if (strategy_assign_genetic(&b->net, &b->cluster, &b->how, b->replicate, &heredity, found) <
			0)
			errx(1, "heredity failed");
		excess.mean += 100 * (found->bound / least - 1) / SEEDS;
		excess.greatest = fmax(excess.greatest, 100 * (found->bound / least - 1));
	}
	excess.ms = (now_ms() - begin) / SEEDS;
	free(found);
	return excess;
}

static void line(const struct bench *b, const char *name)
{
	struct strategy_assignment *exact = mem_alloc(1, sizeof(*exact));
	struct strategy_plan numbered = b->plan;
	double begin = now_ms(), ms, excess = NAN;
	struct excess alone, helped;
	int status;

	exact->plan = b->plan;
	status = strategy_assign_exact(&b->net, &b->cluster, &b->how, b->replicate, exact);
	ms = now_ms() - begin;
	if (status < 0)
		errx(1, "%s: no exact plan: %d", name, status);
	if (strategy_cut(&b->net, &b->cluster, &b->how, b->replicate ? 0 : 1, &numbered) == 0)
		excess = 100 * (strategy_bound(&b->net, &b->cluster, &b->how, &numbered) / exact->bound - 1);
	alone = excess_of(b, false, exact->bound);
	helped = excess_of(b, true, exact->bound);
	printf("%-28s %-9s %8.1f%% %7zu %9.1f %7.2f%% %7.2f%% %8.1f %7.2f%% %7.2f%% %8.1f\n", name,
		b->plan.kind == STRATEGY_GPIPE ? "gpipe" : "pipedream", excess, exact->tried, ms, alone.mean,
		alone.greatest, alone.ms, helped.mean, helped.greatest, helped.ms);
	free(exact);
}

int main(int argument_count, char **arguments)
{
	struct bench *b = mem_alloc(1, sizeof(*b));

	if (argument_count < 6)
		errx(2, "usage: bench_assign NAME BATCH MICRO_BATCHES CLUSTER LAYERS.json...");
	b->how.batch = strtod(arguments[2], NULL);
	b->how.recompute = true;
	b->plan.micro_batches = strtoul(arguments[3], NULL, 10);
	if (strategy_cluster_read(&b->cluster, arguments[4]) < 0)
		errx(1, "%s", b->cluster.error);
	if (strategy_net_read(&b->net, (const char *const *)arguments + 5, (size_t)argument_count - 5) < 0)
		errx(1, "%s", b->net.error);
	b->plan.kind = STRATEGY_GPIPE;
	line(b, arguments[1]);
	b->plan.kind = STRATEGY_PIPEDREAM;
	b->replicate = true;
	line(b, arguments[1]);
	strategy_net_free(&b->net);
	strategy_cluster_free(&b->cluster);
	free(b);
	return 0;
}
