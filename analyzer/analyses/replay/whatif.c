/* A run's tasks with other durations: see whatif.h. */
#include "whatif.h"
#include "whatif_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void whatif_init(struct whatif *whatif, struct replay_job *job)
{
	*whatif = (struct whatif){.job = job,
		.begin_ns = mem_alloc(job->replay.task_count, sizeof(int64_t)),
		.end_ns = mem_alloc(job->replay.task_count, sizeof(int64_t))};
}

void whatif_free(struct whatif *whatif)
{
	free(whatif->begin_ns);
	free(whatif->end_ns);
	cells_free(whatif->cells);
	memset(whatif, 0, sizeof(*whatif));
}

void whatif_reset(struct whatif *whatif)
{
	replay_reset(&whatif->job->replay);
}

double whatif_run(struct whatif *whatif)
{
	replay_run(&whatif->job->replay, whatif->begin_ns, whatif->end_ns);
	return replay_mean(whatif->job, whatif->end_ns, true);
}

/* What a change leaves of a task's time. */
static double left_of(const struct whatif *whatif, const struct whatif_change *change, uint32_t task)
{
	const struct replay_work *work = &whatif->job->works[task];

	switch (change->kind) {
	case WHATIF_LAYER:
		if (work->kind != REPLAY_DEVICE || work->phase == PHASE_COMMUNICATION)
			return 1;
		return 1 + replay_share(whatif->job, task, change->layer) * (1 / change->factor - 1);
	case WHATIF_COMMUNICATION:
		return work->kind == REPLAY_TRANSFER ||
				       (work->kind == REPLAY_DEVICE && work->phase == PHASE_COMMUNICATION)
			       ? 1 / change->factor
			       : 1;
	case WHATIF_HOST:
		return work->kind == REPLAY_HOST && work->phase == PHASE_IDLE_LAUNCH ? 0 : 1;
	case WHATIF_INPUT:
		return work->kind != REPLAY_TRANSFER &&
				       (work->phase == PHASE_IO || work->phase == PHASE_H2D ||
					       work->phase == PHASE_MD)
			       ? 0
			       : 1;
	default:
		return cells_left(whatif->cells, change, task);
	}
}

void whatif_apply(struct whatif *whatif, const struct whatif_change *change)
{
	struct replay *replay = &whatif->job->replay;

	if (change->kind == WHATIF_BALANCE || change->kind == WHATIF_STAGES || change->kind == WHATIF_RANK) {
		if (!whatif->cells)
			whatif->cells = cells_make(whatif->job);
		cells_aim(whatif->cells, change);
	}
	for (uint32_t i = 0; i < replay->task_count; i++) {
		double left = left_of(whatif, change, i);

		if (left != 1)
			replay->tasks[i].duration_ns =
				(int64_t)llround((double)replay->tasks[i].duration_ns * left);
	}
}
