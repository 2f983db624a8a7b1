/* What workers spend on each kind of work: see whatif_cells.h. */
#include "whatif_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 3 }; /* of a layer: forward, backward, update */

struct whatif_cells {
	const struct replay_job *job;
	size_t kind_count; /* PHASE_COUNT, then COLUMNS for each layer */
	double *spent_ns;  /* [iteration][worker][kind] */
	double *left;      /* likewise: what the change leaves of it */
};

static size_t column_of(enum phase phase)
{
	switch (phase) {
	case PHASE_FORWARD:
		return 0;
	case PHASE_BACKWARD:
		return 1;
	case PHASE_UPDATE:
		return 2;
	default:
		return COLUMNS;
	}
}

/* Communication of which only the host's time is known: there is waiting in it. */
static bool is_exchange(const struct whatif_cells *cells, const struct replay_work *work)
{
	const struct analysis *analysis = cells->job->analysis;

	return work->call != REPLAY_NONE &&
	       analysis->model.flows[timeline_call(&analysis->timeline, work->call).operation].kind ==
		       PM_KIND_COMM;
}

/* The row of the task's iteration and worker; SIZE_MAX: its time is not compared. */
static size_t row_of(const struct whatif_cells *cells, uint32_t task)
{
	const struct replay_work *work = &cells->job->works[task];

	if (work->worker == REPLAY_NONE || work->iteration == REPLAY_NONE ||
		(work->kind != REPLAY_HOST && work->kind != REPLAY_READ && work->kind != REPLAY_DEVICE) ||
		(work->kind == REPLAY_DEVICE && is_exchange(cells, work)))
		return SIZE_MAX;
	return (work->iteration * cells->job->analysis->worker_count + work->worker) * cells->kind_count;
}

struct whatif_cells *cells_make(const struct replay_job *job)
{
	struct whatif_cells *cells = mem_alloc(1, sizeof(*cells));
	size_t count;

	cells->job = job;
	cells->kind_count = PHASE_COUNT + COLUMNS * job->layer_count;
	count = job->iteration_count * job->analysis->worker_count * cells->kind_count;
	cells->spent_ns = mem_alloc(count, sizeof(*cells->spent_ns));
	cells->left = mem_alloc(count, sizeof(*cells->left));
	for (uint32_t i = 0; i < job->replay.task_count; i++) {
		const struct replay_work *work = &job->works[i];
		const struct replay_task *task = &job->replay.tasks[i];
		size_t row = row_of(cells, i), column = column_of(work->phase);
		double ns = (double)(task->end_ns - task->begin_ns);

		if (row == SIZE_MAX || ns <= 0)
			continue;
		if (column == COLUMNS || work->part == REPLAY_NONE)
			cells->spent_ns[row + work->phase] += ns;
		else
			for (uint32_t p = work->part; p != REPLAY_NONE; p = job->parts[p].next)
				cells->spent_ns[row + PHASE_COUNT + job->parts[p].layer * COLUMNS + column] +=
					ns * job->parts[p].share;
	}
	return cells;
}

void cells_free(struct whatif_cells *cells)
{
	if (!cells)
		return;
	free(cells->spent_ns);
	free(cells->left);
	free(cells);
}

static double *at(const struct whatif_cells *cells, double *table, size_t iteration, size_t worker)
{
	return table + (iteration * cells->job->analysis->worker_count + worker) * cells->kind_count;
}

static uint32_t stage_of(const struct whatif_cells *cells, size_t worker)
{
	return cells->job->analysis->workers[worker].stage;
}

/* All workers of a stage take the mean of their times. */
static void aim_at_mean(struct whatif_cells *cells, size_t iteration, uint32_t stage)
{
	size_t workers = cells->job->analysis->worker_count;

	for (size_t k = 0; k < cells->kind_count; k++) {
		double sum_ns = 0, count = 0;

		for (size_t w = 0; w < workers; w++)
			if (stage_of(cells, w) == stage) {
				sum_ns += at(cells, cells->spent_ns, iteration, w)[k];
				count++;
			}
		for (size_t w = 0; w < workers; w++) {
			double spent_ns = at(cells, cells->spent_ns, iteration, w)[k];

			if (stage_of(cells, w) == stage && spent_ns > 0)
				at(cells, cells->left, iteration, w)[k] = sum_ns / count / spent_ns;
		}
	}
}

/* All workers, of whatever stage, take the mean of their times in forward, backward and update. */
static void aim_at_stages(struct whatif_cells *cells, size_t iteration)
{
	size_t workers = cells->job->analysis->worker_count;
	double *spent_ns = mem_alloc(workers, sizeof(*spent_ns));

	for (size_t column = 0; column < COLUMNS; column++) {
		double sum_ns = 0;

		for (size_t w = 0; w < workers; w++) {
			const double *row = at(cells, cells->spent_ns, iteration, w);

			spent_ns[w] = 0;
			for (size_t l = 0; l < cells->job->layer_count; l++)
				spent_ns[w] += row[PHASE_COUNT + l * COLUMNS + column];
			sum_ns += spent_ns[w];
		}
		for (size_t w = 0; w < workers; w++)
			for (size_t l = 0; l < cells->job->layer_count && spent_ns[w] > 0; l++)
				at(cells, cells->left, iteration, w)[PHASE_COUNT + l * COLUMNS + column] =
					sum_ns / (double)workers / spent_ns[w];
	}
	free(spent_ns);
}

/* The worker takes the median of the others of its stage. */
static void aim_at_others(struct whatif_cells *cells, size_t iteration, size_t worker)
{
	size_t workers = cells->job->analysis->worker_count;
	double *others = mem_alloc(workers, sizeof(*others));

	for (size_t k = 0; k < cells->kind_count; k++) {
		double spent_ns = at(cells, cells->spent_ns, iteration, worker)[k];
		size_t count = 0;

		for (size_t w = 0; w < workers && spent_ns > 0; w++)
			if (w != worker && stage_of(cells, w) == stage_of(cells, worker))
				others[count++] = at(cells, cells->spent_ns, iteration, w)[k];
		if (count > 0)
			at(cells, cells->left, iteration, worker)[k] =
				analysis_statistics(others, count).median / spent_ns;
	}
	free(others);
}

void cells_aim(struct whatif_cells *cells, const struct whatif_change *change)
{
	const struct analysis *analysis = cells->job->analysis;
	size_t count = cells->job->iteration_count * analysis->worker_count * cells->kind_count;

	for (size_t i = 0; i < count; i++)
		cells->left[i] = 1;
	for (size_t i = 0; i < cells->job->iteration_count; i++) {
		if (change->kind == WHATIF_RANK)
			aim_at_others(cells, i, change->worker);
		for (uint32_t s = 0; s < analysis->stage_count && change->kind != WHATIF_RANK; s++)
			aim_at_mean(cells, i, s);
		if (change->kind == WHATIF_STAGES)
			aim_at_stages(cells, i);
	}
}

double cells_left(const struct whatif_cells *cells, const struct whatif_change *change, uint32_t task)
{
	const struct replay_work *work = &cells->job->works[task];
	size_t row, column = column_of(work->phase);
	double left = 0;

	if (change->kind == WHATIF_RANK && work->worker != change->worker)
		return 1;
	row = row_of(cells, task);
	if (row == SIZE_MAX)
		return 1;
	if (column == COLUMNS || work->part == REPLAY_NONE)
		return cells->left[row + work->phase];
	for (uint32_t p = work->part; p != REPLAY_NONE; p = cells->job->parts[p].next)
		left += cells->job->parts[p].share *
			cells->left[row + PHASE_COUNT + cells->job->parts[p].layer * COLUMNS + column];
	return left;
}
