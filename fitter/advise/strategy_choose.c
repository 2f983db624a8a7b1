/* The best of all strategies: see strategy_choose.h. */
#include "strategy_choose.h"

#include <errno.h>
#include <math.h>

const char *const strategy_names[] = {"one worker", "data", "model", "gpipe", "pipedream"};

static void set_memory(
	struct strategy_choice *choice, const struct strategy_cluster *cluster, struct strategy_memory needs)
{
	choice->needs = needs;
	choice->memory = needs.total;
	choice->fits = cluster->memory <= 0 || needs.total <= cluster->memory;
}

static void single(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice)
{
	*choice = (struct strategy_choice){
		.possible = true, .published = NAN, .warm_up = NAN, .bound = NAN, .time = how->other};
	set_memory(choice, cluster, strategy_memory_whole(net, how, how->batch, 1));
	for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
		choice->time +=
			strategy_time_of(net, 0, net->layer_count, (enum strategy_time)which, how->batch);
}

/* One pipeline with that many micro-batches; kept if it is quicker than what is there. */
static int try_pipe(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_kind kind, size_t micro_batches,
	struct strategy_choice *choice)
{
	struct strategy_choice now = {.possible = true, .published = NAN};
	int status;

	now.plan.kind = kind;
	now.plan.micro_batches = micro_batches;
	status = strategy_cut(net, cluster, how, kind == STRATEGY_PIPEDREAM ? 0 : 1, &now.plan);
	if (status == -ERANGE)
		return 0;
	if (status < 0)
		return status;
	set_memory(&now, cluster, strategy_memory_plan(net, how, &now.plan));
	if (!now.fits && choice->possible && choice->fits)
		return 0;
	now.time = strategy_pipe(net, cluster, how, &now.plan, &now.warm_up);
	if (now.time < 0)
		return -ENOMEM;
	now.bound = (double)micro_batches * strategy_bound(net, cluster, how, &now.plan);
	if (kind == STRATEGY_GPIPE)
		now.published = strategy_published_gpipe(net, cluster, how, &now.plan, NULL, NULL);
	if (!choice->possible || now.fits > choice->fits || now.time < choice->time)
		*choice = now;
	return 0;
}

static int pipe_of(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, enum strategy_kind kind, const struct strategy_tries *tries,
	struct strategy_choice *choice)
{
	int status = 0;
	bool divides = false;

	*choice = (struct strategy_choice){.published = NAN, .warm_up = NAN, .bound = NAN};
	if (cluster->workers < 2) {
		choice->why = "a single worker has nothing to divide";
		return 0;
	}
	if (kind == STRATEGY_MODEL) {
		status = try_pipe(net, cluster, how, kind, 1, choice);
		divides = true;
	}
	for (size_t i = 0; i < tries->count && kind != STRATEGY_MODEL && status == 0; i++) {
		if (fmod(how->batch, (double)tries->micro_batches[i]) > 0)
			continue;
		divides = true;
		status = try_pipe(net, cluster, how, kind, tries->micro_batches[i], choice);
	}
	if (!choice->possible)
		choice->why = divides ? "the network has too few cut points"
				      : "the batch is not divisible by any of these numbers of "
					"micro-batches";
	return status;
}

int strategy_choose(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const struct strategy_tries *tries, struct strategy_choice *choices)
{
	struct strategy_choice *data = &choices[STRATEGY_NAME_DATA];
	int status;

	single(net, cluster, how, &choices[STRATEGY_NAME_SINGLE]);
	*data = (struct strategy_choice){.possible = true, .warm_up = NAN, .bound = NAN};
	strategy_data(net, cluster, how, &data->parts);
	data->time = data->parts.total;
	set_memory(data, cluster,
		strategy_memory_whole(
			net, how, ceil(how->batch / (double)cluster->workers), cluster->workers));
	data->published = strategy_published_data(net, cluster, how);
	status = pipe_of(net, cluster, how, STRATEGY_MODEL, tries, &choices[STRATEGY_NAME_MODEL]);
	if (status == 0)
		status = pipe_of(net, cluster, how, STRATEGY_GPIPE, tries, &choices[STRATEGY_NAME_GPIPE]);
	if (status == 0)
		status = pipe_of(
			net, cluster, how, STRATEGY_PIPEDREAM, tries, &choices[STRATEGY_NAME_PIPEDREAM]);
	return status;
}

void strategy_choose_zero(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choices)
{
	double batch = ceil(how->batch / (double)cluster->workers);

	for (int i = 0; i < STRATEGY_ZERO_COUNT; i++) {
		struct strategy_choice *choice = &choices[i];

		*choice = (struct strategy_choice){.published = NAN, .warm_up = NAN, .bound = NAN};
		choice->possible = cluster->workers > 1;
		choice->why = choice->possible ? NULL : "a single worker has nothing to divide";
		strategy_zero(net, cluster, how, i + 1, &choice->parts);
		choice->time = choice->parts.total;
		set_memory(choice, cluster, strategy_memory_zero(net, how, batch, cluster->workers, i + 1));
	}
}

enum strategy_name strategy_best(const struct strategy_choice *choices, bool synchronous)
{
	enum strategy_name best = STRATEGY_NAME_COUNT;

	for (int i = STRATEGY_NAME_DATA; i < STRATEGY_NAME_COUNT; i++)
		if (choices[i].possible && choices[i].fits &&
			!(synchronous && i == STRATEGY_NAME_PIPEDREAM) &&
			(best == STRATEGY_NAME_COUNT || choices[i].time < choices[best].time))
			best = (enum strategy_name)i;
	return best;
}

enum strategy_name strategy_best_published(const struct strategy_choice *choices)
{
	const struct strategy_choice *gpipe = &choices[STRATEGY_NAME_GPIPE];

	return gpipe->possible && gpipe->published < choices[STRATEGY_NAME_DATA].published
		       ? STRATEGY_NAME_GPIPE
		       : STRATEGY_NAME_DATA;
}
