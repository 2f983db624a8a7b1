/* Data parallelism of unlike workers: see strategy_unlike.h. */
#include "strategy_unlike.h"
#include "strategy_torch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { STEPS = 4096 }; /* in which a batch is dealt out at most */

bool strategy_is_unlike(const struct strategy_cluster *cluster)
{
	for (size_t i = 1; i < cluster->workers; i++)
		if (cluster->slow[i] != cluster->slow[0] ||
			strategy_room(cluster, i) != strategy_room(cluster, 0))
			return true;
	return false;
}

struct strategy_how strategy_whole_shares(const struct strategy_how *how, size_t workers)
{
	struct strategy_how whole = *how;

	whole.batch = (double)workers * ceil(how->batch / (double)workers);
	whole.other *= whole.batch / how->batch;
	return whole;
}

void strategy_data_of(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_data_parts *parts)
{
	const struct strategy_how whole = strategy_whole_shares(how, cluster->workers);

	how = &whole;
	if (net->is_torch && cluster->workers > 1 && how->aggregate == STRATEGY_FUSED)
		strategy_torch_time(net, cluster, how, TORCH_DDP, parts);
	else
		strategy_data(net, cluster, how, parts);
}

static struct strategy_choice none(const char *why)
{
	return (struct strategy_choice){.why = why, .published = NAN, .warm_up = NAN, .bound = NAN};
}

/* ---- fewer ---- */

/* While numbers of workers are tried: the best so far, and the one that is tried. */
struct fewer {
	struct strategy_choice *choice, now;
	struct strategy_cluster ordered;
	size_t chosen[STRATEGY_MAX_WORKERS];
};

/* Quick ones first, of these the ones with more memory, then as they are numbered. */
static void sort_workers(const struct strategy_cluster *cluster, size_t *worker)
{
	for (size_t i = 0; i < cluster->workers; i++) {
		size_t at = i;

		for (; at > 0; at--) {
			size_t before = worker[at - 1];

			if (cluster->slow[before] < cluster->slow[i] ||
				(cluster->slow[before] == cluster->slow[i] &&
					strategy_room(cluster, before) >= strategy_room(cluster, i)))
				break;
			worker[at] = before;
		}
		worker[at] = i;
	}
}

/* The quickest `count` of those that can hold a share of so many bytes come first in `chosen`. False: so many
 * cannot. `next`: the quickest of the others that can, or the count of workers. */
static bool take_quickest(const struct strategy_cluster *cluster, const size_t *sorted, double needs,
	size_t count, size_t *chosen, size_t *next)
{
	size_t taken = 0;

	*next = cluster->workers;
	for (size_t i = 0; i < cluster->workers; i++) {
		if (strategy_room(cluster, sorted[i]) < needs)
			continue;
		if (taken == count) {
			*next = sorted[i];
			return true;
		}
		chosen[taken++] = sorted[i];
	}
	return taken == count;
}

/* With so many workers; kept if it is better than what is there. */
static void try_fewer(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, const size_t *sorted, size_t count, struct fewer *f)
{
	double share = ceil(how->batch / (double)count);
	struct strategy_memory needs = strategy_memory_whole(net, how, share, count);
	size_t next;
	bool fits = take_quickest(cluster, sorted, needs.total, count, f->chosen, &next);

	/* one that is as quick would not be left out */
	if ((fits && next < cluster->workers && cluster->slow[next] == cluster->slow[f->chosen[count - 1]]) ||
		(!fits && f->choice->possible))
		return;
	if (!fits)
		for (size_t i = 0; i < count; i++)
			f->chosen[i] = sorted[i];
	strategy_cluster_ordered(cluster, f->chosen, count, &f->ordered);
	f->now = none(NULL);
	f->now.possible = true;
	f->now.used = count;
	strategy_data_of(net, &f->ordered, how, &f->now.parts);
	f->now.time = f->now.parts.total;
	f->now.needs = needs;
	f->now.memory = needs.total;
	f->now.lacks = needs.total - strategy_least_room(&f->ordered);
	f->now.fits = !(f->now.lacks > 0);
	for (size_t i = 0; i < count; i++)
		f->now.worker[i] = f->chosen[i];
	if (!f->choice->possible || f->now.fits > f->choice->fits ||
		(f->now.fits == f->choice->fits && f->now.time < f->choice->time))
		*f->choice = f->now;
}

int strategy_choose_fewer(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice)
{
	struct fewer *f = calloc(1, sizeof(*f));
	size_t *sorted = calloc(STRATEGY_MAX_WORKERS, sizeof(*sorted));
	int status = f && sorted ? 0 : -ENOMEM;

	*choice = none("with two workers none can be left out");
	if (status == 0) {
		f->choice = choice;
		sort_workers(cluster, sorted);
		for (size_t count = cluster->workers - 1; count >= 2; count--)
			try_fewer(net, cluster, how, sorted, count, f);
	}
	if (status == 0 && !choice->possible && cluster->workers > 2)
		choice->why = "no two or more are faster than the others and have room for their share";
	free(f);
	free(sorted);
	return status;
}

/* ---- uneven ---- */

struct deal {
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	const struct strategy_how *how;
	double unit; /* samples of a step */
	/* On a worker as it was measured: forward and backward passes of so many steps; the update. */
	double *time, update;
	size_t *steps, *most; /* of each worker; the most that it can hold */
};

static double needs_of(const struct deal *deal, size_t steps)
{
	return strategy_memory_whole(deal->net, deal->how, deal->unit * (double)steps, deal->cluster->workers)
		.total;
}

/* The most steps that fit; memory grows with them. */
static size_t most_steps(const struct deal *deal, double room, size_t all)
{
	size_t low = 0, high = all;

	if (isinf(room))
		return all;
	while (low < high) {
		size_t middle = (low + high + 1) / 2;

		if (needs_of(deal, middle) <= room)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Each step goes to the worker that is done earliest with it; what nobody can hold to those who are. */
static void deal_out(struct deal *deal, size_t all)
{
	for (size_t dealt = 0; dealt < all; dealt++) {
		size_t best = SIZE_MAX;
		double earliest = HUGE_VAL;

		for (int held = 1; held >= 0 && best == SIZE_MAX; held--)
			for (size_t i = 0; i < deal->cluster->workers; i++) {
				double done = deal->cluster->slow[i] *
					      (deal->time[deal->steps[i] + 1] + deal->update);

				if ((!held || deal->steps[i] < deal->most[i]) && done < earliest) {
					earliest = done;
					best = i;
				}
			}
		deal->steps[best]++;
	}
}

/* The exchange of those that take part, beside the passes of the one that is last. */
static void replay(const struct deal *deal, struct strategy_cluster *ordered, size_t *worker,
	struct strategy_choice *choice)
{
	const struct strategy_cluster *cluster = deal->cluster;
	struct strategy_how how = *deal->how;
	double slowest = 0, update = 0;
	size_t count = 0, last = 0;

	for (size_t i = 0; i < cluster->workers; i++) {
		if (!deal->steps[i])
			continue;
		worker[count++] = i;
		slowest = fmax(slowest, cluster->slow[i]);
		if (!deal->steps[last] || cluster->slow[i] * deal->time[deal->steps[i]] >
						  cluster->slow[last] * deal->time[deal->steps[last]])
			last = i;
	}
	strategy_cluster_ordered(cluster, worker, count, ordered);
	for (size_t i = 0; i < count; i++)
		ordered->slow[i] = cluster->slow[last];
	how.batch = deal->unit * (double)deal->steps[last] * (double)count;
	strategy_data_of(deal->net, ordered, &how, &choice->parts);
	/* the update does not become shorter with a smaller share */
	update = choice->parts.update * (slowest / cluster->slow[last] - 1);
	choice->parts.update += update;
	choice->parts.total += update;
	choice->time = choice->parts.total;
	choice->used = count;
}

static void set_memory(const struct deal *deal, struct strategy_choice *choice)
{
	size_t most = 0;

	choice->lacks = -HUGE_VAL;
	for (size_t i = 0; i < deal->cluster->workers; i++) {
		double room = strategy_room(deal->cluster, i);

		choice->share[i] = deal->unit * (double)deal->steps[i];
		most = deal->steps[i] > most ? deal->steps[i] : most;
		if (deal->steps[i] && isfinite(room))
			choice->lacks = fmax(choice->lacks,
				deal->steps[i] <= deal->most[i] ? 0 : needs_of(deal, deal->steps[i]) - room);
	}
	choice->needs = strategy_memory_whole(
		deal->net, deal->how, deal->unit * (double)most, deal->cluster->workers);
	choice->memory = choice->needs.total;
	choice->fits = !(choice->lacks > 0);
}

static int prepare(struct deal *deal, size_t all)
{
	const struct strategy_cluster *cluster = deal->cluster;

	deal->time = calloc(all + 2, sizeof(*deal->time));
	deal->steps = calloc(cluster->workers, sizeof(*deal->steps));
	deal->most = calloc(cluster->workers, sizeof(*deal->most));
	if (!deal->time || !deal->steps || !deal->most)
		return -ENOMEM;
	for (size_t s = 1; s <= all + 1; s++)
		for (int which = STRATEGY_FORWARD; which <= STRATEGY_BACKWARD; which++)
			deal->time[s] += strategy_time_of(deal->net, 0, deal->net->layer_count,
				(enum strategy_time)which, deal->unit * (double)s);
	deal->update = strategy_time_of(deal->net, 0, deal->net->layer_count, STRATEGY_UPDATE, deal->unit);
	for (size_t i = 0; i < cluster->workers; i++)
		deal->most[i] = i && strategy_room(cluster, i) == strategy_room(cluster, i - 1)
					? deal->most[i - 1]
					: most_steps(deal, strategy_room(cluster, i), all);
	return 0;
}

int strategy_choose_uneven(const struct strategy_net *net, const struct strategy_cluster *cluster,
	const struct strategy_how *how, struct strategy_choice *choice)
{
	struct deal deal = {.net = net, .cluster = cluster, .how = how};
	struct strategy_cluster *ordered = malloc(sizeof(*ordered));
	size_t *worker = calloc(STRATEGY_MAX_WORKERS, sizeof(*worker)), all;
	int status = ordered && worker ? 0 : -ENOMEM;

	*choice = none(NULL);
	deal.unit = ceil(how->batch / STEPS);
	all = (size_t)(how->batch / deal.unit);
	if (status == 0)
		status = prepare(&deal, all);
	if (status == 0) {
		choice->possible = true;
		deal_out(&deal, all);
		replay(&deal, ordered, worker, choice);
		set_memory(&deal, choice);
	}
	free(deal.time);
	free(deal.steps);
	free(deal.most);
	free(ordered);
	free(worker);
	return status;
}
