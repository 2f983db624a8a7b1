/* What a worker of a pipeline does next: see strategy_schedule.h. */
#include "strategy_schedule.h"

#include <errno.h>
#include <stdlib.h>

size_t strategy_stage_of(const struct strategy_plan *plan, size_t worker, size_t *replica)
{
	size_t stage = 0;

	while (worker >= plan->first[stage + 1])
		stage++;
	*replica = worker - plan->first[stage];
	return stage;
}

static size_t chunks_of(const struct strategy_plan *plan)
{
	return plan->chunks ? plan->chunks : 1;
}

size_t strategy_places(const struct strategy_plan *plan)
{
	return plan->stage_count / chunks_of(plan);
}

static size_t replicas_of(const struct strategy_plan *plan, size_t place)
{
	return plan->first[place + 1] - plan->first[place];
}

size_t strategy_worker_of(const struct strategy_plan *plan, size_t stage, size_t micro_batch)
{
	size_t place = stage % strategy_places(plan);

	return plan->first[place] + micro_batch % replicas_of(plan, place);
}

size_t strategy_updates(const struct strategy_plan *plan, size_t worker)
{
	size_t replica, stage = strategy_stage_of(plan, worker, &replica);

	return strategy_follows(plan) ? plan->micro_batches / replicas_of(plan, stage) : 1;
}

size_t strategy_warm_up(const struct strategy_plan *plan, size_t place, size_t turns)
{
	size_t chunks = chunks_of(plan), places = strategy_places(plan), later = places - 1 - place;
	size_t passes = chunks > 1 ? 2 * later + (chunks - 1) * places : later;

	return passes < turns * chunks ? passes : turns * chunks;
}

struct strategy_step strategy_pass(
	const struct strategy_plan *plan, enum strategy_work work, size_t place, size_t k)
{
	size_t chunks = chunks_of(plan), places = strategy_places(plan), within = k % (places * chunks);
	size_t chunk = within / places;

	if (work == STRATEGY_STEP_BACKWARD)
		chunk = chunks - 1 - chunk;
	return (struct strategy_step){
		work, chunk * places + place, k / (places * chunks) * places + within % places};
}

/* What a worker's order is made from. Turns: its own micro-batches. */
struct writer {
	struct strategy_schedule *schedule;
	size_t stage, replica, replicas, turns;
};

static void strategy_schedule_add(struct writer *w, enum strategy_work work, size_t turn)
{
	w->schedule->steps[w->schedule->count++] =
		(struct strategy_step){work, w->stage, turn * w->replicas + w->replica};
}

static void add_gpipe(struct writer *w, size_t batch)
{
	size_t begin = batch * w->turns;

	for (size_t i = 0; i < w->turns; i++)
		strategy_schedule_add(w, STRATEGY_STEP_FORWARD, begin + i);
	for (size_t i = w->turns; i-- > 0;)
		strategy_schedule_add(w, STRATEGY_STEP_BACKWARD, begin + i);
	strategy_schedule_add(w, STRATEGY_STEP_UPDATE, batch);
}

static void add_pipedream(struct writer *w, size_t depth, size_t all)
{
	for (size_t forwards = 0, backwards = 0; backwards < all;) {
		if (forwards < all && forwards - backwards < depth) {
			strategy_schedule_add(w, STRATEGY_STEP_FORWARD, forwards++);
			continue;
		}
		strategy_schedule_add(w, STRATEGY_STEP_BACKWARD, backwards);
		strategy_schedule_add(w, STRATEGY_STEP_UPDATE, backwards++);
	}
}

/* A pass of a batch: of strategy_pass the micro-batch is the worker's turn. */
static void add_pass(
	struct writer *w, const struct strategy_plan *plan, enum strategy_work work, size_t batch, size_t k)
{
	struct strategy_step step = strategy_pass(plan, work, w->stage, k);

	step.micro_batch = (batch * w->turns + step.micro_batch) * w->replicas + w->replica;
	w->schedule->steps[w->schedule->count++] = step;
}

static void add_flushed(struct writer *w, const struct strategy_plan *plan, size_t batch)
{
	size_t warm_up = strategy_warm_up(plan, w->stage, w->turns), all = w->turns * chunks_of(plan);

	for (size_t k = 0; k < all + warm_up; k++) {
		if (k < all)
			add_pass(w, plan, STRATEGY_STEP_FORWARD, batch, k);
		if (k >= warm_up)
			add_pass(w, plan, STRATEGY_STEP_BACKWARD, batch, k - warm_up);
	}
	strategy_schedule_add(w, STRATEGY_STEP_UPDATE, batch);
}

int strategy_schedule(
	const struct strategy_plan *plan, size_t worker, size_t batches, struct strategy_schedule *schedule)
{
	struct writer w = {.schedule = schedule};

	w.stage = strategy_stage_of(plan, worker, &w.replica);
	w.replicas = replicas_of(plan, w.stage);
	w.turns = plan->micro_batches / w.replicas;
	/* a forward pass and a backward pass of each chunk, and at most an update */
	*schedule = (struct strategy_schedule){
		.steps = malloc((2 * chunks_of(plan) + 1) * w.turns * batches * sizeof(*schedule->steps))};
	if (!schedule->steps)
		return -ENOMEM;
	if (strategy_follows(plan))
		add_pipedream(&w, strategy_depth(plan, w.stage), batches * w.turns);
	for (size_t i = 0; i < batches && !strategy_follows(plan); i++)
		if (plan->kind == STRATEGY_FLUSH)
			add_flushed(&w, plan, i);
		else
			add_gpipe(&w, i);
	return 0;
}
