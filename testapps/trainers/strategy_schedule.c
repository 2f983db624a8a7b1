/* What a process of a pipeline does next: see strategy_schedule.h. */
#include "strategy_schedule.h"

void strategy_begin(struct strategy_schedule *schedule, const struct strategy *plan, int rank, int iterations)
{
	*schedule = (struct strategy_schedule){.plan = plan, .after = STRATEGY_DONE};
	schedule->stage = strategy_stage(plan, rank, &schedule->replica);
	schedule->turns = iterations * strategy_turns(plan, schedule->stage);
}

static struct strategy_step step(const struct strategy_schedule *s, enum strategy_work work, int turn)
{
	return (struct strategy_step){work, turn, turn * s->plan->replicas[s->stage] + s->replica, 1, 1};
}

/* Up to `depth` micro-batches are under way, with GPipe only of one batch. */
static int may_forward(const struct strategy_schedule *s)
{
	int turns = strategy_turns(s->plan, s->stage), limit = s->turns;

	if (!strategy_follows(s->plan))
		limit = (s->backwards / turns + 1) * turns;
	return s->forwards < s->turns && s->forwards < limit &&
	       s->forwards - s->backwards < strategy_depth(s->plan, s->stage);
}

static struct strategy_step backward(struct strategy_schedule *s)
{
	int turns = strategy_turns(s->plan, s->stage), done = s->backwards % turns;
	struct strategy_step next = step(s, STRATEGY_BACKWARD, s->backwards);

	/* GPipe takes the latest first: its activations are the freshest. */
	if (!strategy_follows(s->plan)) {
		next = step(s, STRATEGY_BACKWARD, s->backwards - done + turns - 1 - done);
		next.is_first = done == 0;
		next.is_last = done == turns - 1;
	}
	s->backwards++;
	if (next.is_last)
		s->after = STRATEGY_UPDATE;
	return next;
}

struct strategy_step strategy_next(struct strategy_schedule *s)
{
	int turns = strategy_turns(s->plan, s->stage);

	if (s->after == STRATEGY_UPDATE) {
		s->after = s->backwards % turns ? STRATEGY_DONE : STRATEGY_ITERATION;
		return step(s, STRATEGY_UPDATE, s->backwards);
	}
	if (s->after == STRATEGY_ITERATION) {
		s->after = STRATEGY_DONE;
		return step(s, STRATEGY_ITERATION, s->backwards);
	}
	if (may_forward(s))
		return step(s, STRATEGY_FORWARD, s->forwards++);
	if (s->backwards < s->turns)
		return backward(s);
	return step(s, STRATEGY_DONE, s->turns);
}
