/* The critical path of a run, iteration by iteration: see critical.h. */
#include "critical.h"
#include "whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct walk {
	struct replay_job *job;
	struct critical *critical;
	const int64_t *begin_ns, *end_ns;
	double *sums, *counts; /* [worker][layer, or one more for none][phase], over all iterations */
	struct critical_path *path;
};

static void add_segment(struct walk *walk, uint32_t worker, uint32_t layer, enum phase phase, double ns)
{
	size_t layers = walk->job->layer_count;
	size_t place =
		(worker * (layers + 1) + (layer == REPLAY_NONE ? layers : layer)) * PHASE_COUNT + phase;

	walk->sums[place] += ns;
	walk->counts[place]++;
}

/* Where the path is on its way back. */
struct place {
	uint32_t worker;
	size_t iteration; /* counted from 1; 0: before the first */
	int64_t now_ns;
};

/* The path from `from_ns` to the place; task REPLAY_NONE: a lag, which is no layer's. */
static void add_stretch(
	struct walk *walk, const struct place *place, enum phase phase, uint32_t task, int64_t from_ns)
{
	const struct replay_job *job = walk->job;
	struct critical *critical = walk->critical;
	struct critical_path *path = walk->path;
	bool known = task != REPLAY_NONE && job->works[task].part != REPLAY_NONE;
	uint32_t worker = place->worker;
	double ns = (double)(place->now_ns - from_ns);

	*MEM_PUSH(critical->stretches, critical->stretch_count, critical->stretch_room) =
		(struct critical_stretch){
			from_ns, place->now_ns, (uint32_t)place->iteration - 1, worker, task, phase};
	path->length_ns += ns;
	path->phases_ns[phase] += ns;
	path->workers_ns[worker] += ns;
	if (!known) {
		add_segment(walk, worker, REPLAY_NONE, phase, ns);
		return;
	}
	for (uint32_t p = job->works[task].part; p != REPLAY_NONE; p = job->parts[p].next) {
		const struct replay_part *part = &job->parts[p];

		add_segment(walk, worker, part->layer, phase, ns * part->share);
		if (phase == PHASE_COMMUNICATION)
			path->messages_ns[part->layer] += ns * part->share;
		else
			path->layers_ns[part->layer] += ns * part->share;
	}
}

/* Why a task begins later than what it waited for has ended. */
static enum phase lag_phase(const struct replay_job *job, uint32_t task)
{
	switch (job->works[task].kind) {
	case REPLAY_RESUME:
		return PHASE_IDLE_SYNC;
	case REPLAY_DEVICE:
	case REPLAY_ARRIVAL:
		return PHASE_IDLE_QUEUE;
	case REPLAY_MEETING:
	case REPLAY_TRANSFER:
		return PHASE_COMMUNICATION;
	default:
		return PHASE_IDLE_LAUNCH;
	}
}

static int64_t mark_ns(const struct walk *walk, const struct place *place, bool end)
{
	return walk->end_ns[replay_boundary(walk->job, place->worker, place->iteration - 1, end)];
}

static void enter(struct walk *walk, struct place *place, size_t iteration)
{
	place->iteration = iteration;
	if (iteration == 0)
		return;
	walk->path = &walk->critical->iterations[iteration - 1];
	walk->path->last = place->worker;
}

/* What lies between two iterations is none's: an evaluation, or iterations that are not used. */
static bool is_gap(const struct walk *walk, const struct place *place)
{
	return place->iteration < walk->job->iteration_count && place->now_ns > mark_ns(walk, place, true) &&
	       replay_boundary(walk->job, place->worker, place->iteration - 1, true) !=
		       replay_boundary(walk->job, place->worker, place->iteration, false);
}

/* The time since then is given to a phase, in each of the iterations that it lies in. */
static void spend(struct walk *walk, struct place *place, enum phase phase, uint32_t task, int64_t since_ns)
{
	while (place->iteration > 0 && place->now_ns > since_ns) {
		int64_t bound_ns = mark_ns(walk, place, is_gap(walk, place));
		int64_t from_ns = since_ns > bound_ns ? since_ns : bound_ns;

		if (from_ns < place->now_ns) {
			if (!is_gap(walk, place))
				add_stretch(walk, place, phase, task, from_ns);
			place->now_ns = from_ns;
		}
		while (place->iteration > 0 && place->now_ns <= mark_ns(walk, place, false))
			enter(walk, place, place->iteration - 1);
	}
}

/* Back from the task through what let it begin; each instant is given to the later of what overlaps. */
static void walk_back(struct walk *walk, uint32_t task, struct place *place)
{
	const struct replay_job *job = walk->job;

	while (place->iteration > 0) {
		const struct replay_work *work = &job->works[task];
		const struct replay_edge *edge =
			replay_binding(&job->replay, task, walk->begin_ns, walk->end_ns);
		size_t iteration;
		uint32_t mark;

		if (work->worker != REPLAY_NONE && work->worker != place->worker) {
			place->worker = work->worker;
			walk->path->crossings++;
		}
		spend(walk, place, work->phase, task, walk->begin_ns[task]);
		if (edge) {
			spend(walk, place, lag_phase(job, task), REPLAY_NONE, walk->end_ns[edge->task]);
			task = edge->task;
			continue;
		}
		if (place->iteration == 0)
			return;
		/* Nothing tells what it waited for: the path goes on at the iteration's start. */
		iteration = place->iteration;
		mark = replay_boundary(job, place->worker, iteration - 1, false);
		spend(walk, place, PHASE_IDLE_UNKNOWN, REPLAY_NONE, walk->end_ns[mark]);
		if (place->iteration == iteration)
			enter(walk, place, iteration - 1);
		task = mark;
	}
}

static void find_paths(struct walk *walk)
{
	const struct replay_job *job = walk->job;
	size_t count = job->iteration_count, workers = job->analysis->worker_count;
	struct place place = {0};

	for (uint32_t w = 1; w < workers; w++)
		if (walk->end_ns[replay_boundary(job, w, count - 1, true)] >
			walk->end_ns[replay_boundary(job, place.worker, count - 1, true)])
			place.worker = w;
	enter(walk, &place, count);
	place.now_ns = mark_ns(walk, &place, true);
	walk_back(walk, replay_boundary(job, place.worker, count - 1, true), &place);
}

/* Communication of the iteration, as it was measured. */
static void find_overlap(const struct replay_job *job, size_t iteration, struct critical_path *path)
{
	double count = (double)job->analysis->worker_count;

	for (size_t w = 0; w < job->analysis->worker_count; w++) {
		const struct analysis_worker *worker = &job->analysis->workers[w];
		const struct phase_times *times =
			&worker->phases.times[worker->used[job->first_used + iteration]];

		path->busy_ns += (double)times->busy_ns[PHASE_COMMUNICATION] / count;
		path->exposed_ns += (double)times->exclusive_ns[PHASE_COMMUNICATION] / count;
	}
}

static void begin_path(struct critical *critical, const struct replay_job *job, struct critical_path *path)
{
	path->layers_ns = arena_alloc(&critical->arena, job->layer_count, sizeof(double));
	path->messages_ns = arena_alloc(&critical->arena, job->layer_count, sizeof(double));
	path->workers_ns = arena_alloc(&critical->arena, job->analysis->worker_count, sizeof(double));
}

static void add_to_mean(
	struct critical *critical, const struct replay_job *job, const struct critical_path *path)
{
	struct critical_path *mean = &critical->mean;
	double n = (double)critical->iteration_count;

	mean->length_ns += path->length_ns / n;
	mean->busy_ns += path->busy_ns / n;
	mean->exposed_ns += path->exposed_ns / n;
	for (int p = 0; p < PHASE_COUNT; p++)
		mean->phases_ns[p] += path->phases_ns[p] / n;
	for (size_t l = 0; l < job->layer_count; l++) {
		mean->layers_ns[l] += path->layers_ns[l] / n;
		mean->messages_ns[l] += path->messages_ns[l] / n;
	}
	for (size_t w = 0; w < job->analysis->worker_count; w++)
		mean->workers_ns[w] += path->workers_ns[w] / n;
}

static int compare_segments(const void *left, const void *right)
{
	const struct critical_segment *a = left, *b = right;

	return a->ns < b->ns ? 1 : a->ns > b->ns ? -1 : 0;
}

static void list_segments(const struct walk *walk)
{
	struct critical *critical = walk->critical;
	size_t layers = walk->job->layer_count, workers = walk->job->analysis->worker_count, count = 0;
	double n = (double)critical->iteration_count;

	for (size_t i = 0; i < workers * (layers + 1) * PHASE_COUNT; i++)
		count += walk->sums[i] > 0;
	critical->segments = arena_alloc(&critical->arena, count, sizeof(*critical->segments));
	for (size_t i = 0; i < workers * (layers + 1) * PHASE_COUNT; i++) {
		size_t layer = i / PHASE_COUNT % (layers + 1);

		if (walk->sums[i] > 0)
			critical->segments[critical->segment_count++] = (struct critical_segment){
				.worker = (uint32_t)(i / PHASE_COUNT / (layers + 1)),
				.layer = layer == layers ? REPLAY_NONE : (uint32_t)layer,
				.phase = (enum phase)(i % PHASE_COUNT),
				.ns = walk->sums[i] / n,
				.count = walk->counts[i] / n};
	}
	qsort(critical->segments, count, sizeof(*critical->segments), compare_segments);
}

/* The layer's own time in an iteration, mean over workers that have it; its tasks made `factor` as long. */
static double slow_down(struct replay_job *job, uint32_t layer, bool messages, double factor)
{
	double sum_ns = 0, most_ns = 0;
	size_t workers = job->analysis->worker_count;
	double *spent_ns = mem_alloc(workers, sizeof(*spent_ns));

	for (uint32_t i = 0; i < job->replay.task_count; i++) {
		const struct replay_work *work = &job->works[i];
		struct replay_task *task = &job->replay.tasks[i];
		double share;

		if (work->part == REPLAY_NONE || (work->phase == PHASE_COMMUNICATION) != messages ||
			work->worker == REPLAY_NONE)
			continue;
		share = replay_share(job, i, layer) * (double)task->duration_ns;
		spent_ns[work->worker] += share / (double)job->iteration_count;
		task->duration_ns += (int64_t)llround(share * (factor - 1));
	}
	for (size_t w = 0; w < workers; w++) {
		sum_ns += spent_ns[w];
		if (spent_ns[w] > most_ns)
			most_ns = spent_ns[w];
	}
	free(spent_ns);
	return sum_ns > 0 ? most_ns : 0;
}

static bool is_harmless(struct whatif *whatif, uint32_t layer, bool messages, double factor, double limit_ns)
{
	bool harmless;

	slow_down(whatif->job, layer, messages, factor);
	harmless = whatif_run(whatif) <= limit_ns;
	whatif_reset(whatif);
	return harmless;
}

static double find_slack(
	struct whatif *whatif, const struct critical *critical, uint32_t layer, bool messages)
{
	double on_path_ns = messages ? critical->mean.messages_ns[layer] : critical->mean.layers_ns[layer];
	double limit_ns = critical->replayed_ns * (1 + CRITICAL_TOLERANCE), own_ns;
	double low = 1, high = CRITICAL_SLOWEST;

	own_ns = slow_down(whatif->job, layer, messages, 1);
	whatif_reset(whatif);
	if (!(own_ns > 0))
		return NAN;
	if (on_path_ns > CRITICAL_TOLERANCE * critical->replayed_ns)
		return 0;
	if (is_harmless(whatif, layer, messages, high, limit_ns))
		return INFINITY;
	for (int i = 0; i < 12; i++) {
		double middle = sqrt(low * high);

		if (is_harmless(whatif, layer, messages, middle, limit_ns))
			low = middle;
		else
			high = middle;
	}
	return own_ns * (low - 1);
}

static void find_slacks(struct whatif *whatif, struct critical *critical)
{
	for (uint32_t l = 0; l < critical->layer_count; l++) {
		critical->layers[l].compute_slack_ns = find_slack(whatif, critical, l, false);
		critical->layers[l].message_slack_ns = find_slack(whatif, critical, l, true);
	}
}

static double measured_mean(const struct replay_job *job)
{
	int64_t *ends_ns = mem_alloc(job->replay.task_count, sizeof(*ends_ns));
	double mean_ns;

	for (size_t i = 0; i < job->replay.task_count; i++)
		ends_ns[i] = job->replay.tasks[i].end_ns;
	mean_ns = replay_mean(job, ends_ns, false);
	free(ends_ns);
	return mean_ns;
}

void critical_find(struct replay_job *job, bool slack, struct critical *critical)
{
	size_t places = job->analysis->worker_count * (job->layer_count + 1) * PHASE_COUNT;
	struct whatif whatif;
	struct walk walk = {.job = job, .critical = critical};

	memset(critical, 0, sizeof(*critical));
	critical->iteration_count = job->iteration_count;
	critical->layer_count = job->layer_count;
	if (job->iteration_count == 0)
		return;
	critical->iterations =
		arena_alloc(&critical->arena, job->iteration_count, sizeof(*critical->iterations));
	critical->layers = arena_alloc(&critical->arena, job->layer_count, sizeof(*critical->layers));
	critical->measured_ns = measured_mean(job);
	whatif_init(&whatif, job);
	whatif_run(&whatif);
	critical->replayed_ns = replay_mean(job, whatif.end_ns, false);
	walk.begin_ns = whatif.begin_ns;
	walk.end_ns = whatif.end_ns;
	walk.sums = mem_alloc(places, sizeof(*walk.sums));
	walk.counts = mem_alloc(places, sizeof(*walk.counts));
	begin_path(critical, job, &critical->mean);
	for (size_t i = 0; i < job->iteration_count; i++) {
		begin_path(critical, job, &critical->iterations[i]);
		find_overlap(job, i, &critical->iterations[i]);
	}
	find_paths(&walk);
	for (size_t i = 0; i < job->iteration_count; i++)
		add_to_mean(critical, job, &critical->iterations[i]);
	list_segments(&walk);
	if (slack)
		find_slacks(&whatif, critical);
	free(walk.sums);
	free(walk.counts);
	whatif_free(&whatif);
}

void critical_free(struct critical *critical)
{
	free(critical->stretches);
	arena_free(&critical->arena);
	memset(critical, 0, sizeof(*critical));
}
