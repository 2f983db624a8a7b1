/*
 * Why a labelled job is slower than it need be. The durations of forward and backward computing are taken
 * apart as in an analysis of variance: mean of the type, times what its stage differs, times what the worker
 * differs from its stage, times what the operation differs from its worker. Each factor is taken away alone,
 * and so is the unevenness of communication, garbage collection and optimizer; the one that explains most is
 * the cause.
 */
#include "slowdown.h"
#include "base/statistics.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *slowdown_effect_name(int effect)
{
	static const char *const names[SLOWDOWN_EFFECTS] = {"stage imbalance", "slow worker",
		"operations vary", "communication", "garbage collection", "optimizer"};

	return effect < 0 ? "none" : names[effect];
}

const char *slowdown_effect_key(int effect)
{
	static const char *const keys[SLOWDOWN_EFFECTS] = {
		"stages", "workers", "batches", "communication", "collection", "update"};

	return effect < 0 ? "none" : keys[effect];
}

/* Durations of forward [0] and backward [1] computing: means by worker, of a stage the median of its workers'
 * (of two the mean), so that one slow worker makes no slow stage; of all the mean of the stages'. */
struct means {
	double all[2], *stage[2], *worker[2];
	size_t *stage_count[2], *worker_count[2];
};

/* The workers by stage: of each stage from first[stage] to first[stage + 1]. The caller frees both. */
struct by_stage {
	size_t *first, *workers;
};

static struct by_stage sort_by_stage(const struct labelled *job)
{
	struct by_stage by = {mem_alloc((size_t)job->stage_count + 2, sizeof(*by.first)),
		mem_alloc(job->worker_count, sizeof(*by.workers))};

	for (size_t i = 0; i < job->worker_count; i++)
		by.first[job->workers[i].stage + 2]++;
	for (int32_t s = 2; s <= job->stage_count; s++)
		by.first[s] += by.first[s - 1];
	for (size_t i = 0; i < job->worker_count; i++)
		by.workers[by.first[job->workers[i].stage + 1]++] = i;
	return by;
}

/* values: room for as many as the stage has workers. */
static double median_of_stage(
	const struct means *means, const struct by_stage *by, int type, int32_t stage, double *values)
{
	size_t count = 0;

	for (size_t i = by->first[stage]; i < by->first[stage + 1]; i++)
		if (means->worker_count[type][by->workers[i]])
			values[count++] = means->worker[type][by->workers[i]];
	statistics_sort(values, count);
	return count ? statistics_median_sorted(values, count) : 0;
}

static void means_make(struct means *means, const struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	struct by_stage by = sort_by_stage(job);
	double *values = mem_alloc(job->worker_count, sizeof(*values));

	for (int type = 0; type < 2; type++) {
		size_t count = 0;
		double sum = 0;

		means->stage[type] = mem_alloc((size_t)job->stage_count, sizeof(double));
		means->worker[type] = mem_alloc(job->worker_count, sizeof(double));
		means->stage_count[type] = mem_alloc((size_t)job->stage_count, sizeof(size_t));
		means->worker_count[type] = mem_alloc(job->worker_count, sizeof(size_t));
		for (size_t i = 0; i < job->operation_count; i++) {
			const struct labelled_operation *operation = &job->operations[i];
			int32_t stage = job->workers[operation->worker].stage;
			double work_ns = (double)slowdown->graph->work_ns[i];

			if (operation->type != (type ? LABELLED_BACKWARD : LABELLED_FORWARD))
				continue;
			means->stage_count[type][stage]++;
			means->worker[type][operation->worker] += work_ns;
			means->worker_count[type][operation->worker]++;
		}
		for (size_t i = 0; i < job->worker_count; i++)
			if (means->worker_count[type][i])
				means->worker[type][i] /= (double)means->worker_count[type][i];
		for (int32_t i = 0; i < job->stage_count; i++) {
			means->stage[type][i] = median_of_stage(means, &by, type, i, values);
			sum += means->stage[type][i] * (double)means->stage_count[type][i];
			count += means->stage_count[type][i];
		}
		means->all[type] = count ? sum / (double)count : 0;
	}
	free(by.first);
	free(by.workers);
	free(values);
}

static void means_free(struct means *means)
{
	for (int type = 0; type < 2; type++) {
		free(means->stage[type]);
		free(means->worker[type]);
		free(means->stage_count[type]);
		free(means->worker_count[type]);
	}
}

/* The operation's time without the effect. */
static double without(
	const struct slowdown *slowdown, const struct means *means, size_t index, enum slowdown_effect effect)
{
	const struct labelled *job = slowdown->job;
	const struct labelled_operation *operation = &job->operations[index];
	double work_ns = (double)slowdown->graph->work_ns[index];
	int type = operation->type == LABELLED_BACKWARD;
	double stage_ns, worker_ns;

	if (labelled_is_compute(operation->type)) {
		stage_ns = means->stage[type][job->workers[operation->worker].stage];
		worker_ns = means->worker[type][operation->worker];
		if (effect == SLOWDOWN_STAGES && stage_ns > 0)
			return work_ns * means->all[type] / stage_ns;
		if (effect == SLOWDOWN_WORKERS && worker_ns > 0)
			return work_ns * stage_ns / worker_ns;
		return effect == SLOWDOWN_BATCHES ? worker_ns : work_ns;
	}
	if ((effect == SLOWDOWN_COMMUNICATION && labelled_is_communication(operation->type)) ||
		(effect == SLOWDOWN_COLLECTION && operation->type == LABELLED_COLLECTION) ||
		(effect == SLOWDOWN_UPDATE && operation->type == LABELLED_UPDATE))
		return (double)slowdown->ideal_work_ns[index];
	return work_ns;
}

static void run_effects(struct slowdown *slowdown, const struct means *means)
{
	double total = slowdown->replayed_ns - slowdown->ideal_ns;
	int64_t *work_ns = mem_alloc(slowdown->job->operation_count + 1, sizeof(*work_ns));

	for (unsigned effect = 0; effect < SLOWDOWN_EFFECTS; effect++) {
		for (size_t i = 0; i < slowdown->job->operation_count; i++)
			work_ns[i] = llround(without(slowdown, means, i, effect));
		slowdown->effect_ns[effect] = slowdown_run(slowdown, work_ns);
		slowdown->effect[effect] =
			total > 0 ? (slowdown->replayed_ns - slowdown->effect_ns[effect]) / total
				  : (double)NAN;
	}
	free(work_ns);
}

/* The stage, or worker, that is slowest in most steps; -1: none. */
static long recurring_of(const struct slowdown_part *parts, size_t count, size_t steps)
{
	for (size_t i = 0; i < count; i++)
		if (count > 1 && (double)parts[i].slowest >= CAUSE_RECURS * (double)steps &&
			parts[i].ratio >= SLOWDOWN_RECURRING)
			return (long)i;
	return -1;
}

static size_t slowest_of(const struct slowdown_part *parts, size_t count)
{
	size_t slowest = 0;

	for (size_t i = 1; i < count; i++)
		if (parts[i].compute_ns > parts[slowest].compute_ns)
			slowest = i;
	return slowest;
}

/* By how much it computes longer than the mean; below 0: there is no such part. */
static double excess_of(const struct slowdown_part *parts, long part)
{
	return part < 0 ? -1 : parts[part].ratio - 1;
}

/* A stage or data rank is the answer where all its workers are about as slow as the slowest worker. */
static const char *recurring_words(const struct slowdown *slowdown)
{
	size_t steps = slowdown->step_count, worst = slowest_of(slowdown->workers, slowdown->worker_count);
	long stage = recurring_of(slowdown->stages, slowdown->stage_count, steps);
	long data = recurring_of(slowdown->data, slowdown->data_count, steps);
	long worker = recurring_of(slowdown->workers, slowdown->worker_count, steps);
	double enough = SLOWDOWN_WHOLE * excess_of(slowdown->workers, (long)worst);

	if (stage >= 0 && slowdown->worker_count > slowdown->stage_count &&
		excess_of(slowdown->stages, stage) >= enough)
		return slowdown->stages[stage].name;
	if (data >= 0 && slowdown->worker_count > slowdown->data_count &&
		excess_of(slowdown->data, data) >= enough)
		return slowdown->data[data].name;
	return worker >= 0 ? slowdown->workers[worker].name : NULL;
}

static const char *stage_words(struct slowdown *slowdown, const struct means *means)
{
	const struct labelled *job = slowdown->job;
	size_t slowest = slowest_of(slowdown->stages, slowdown->stage_count);
	double factor[2] = {0, 0}, sum = 0, others = (double)(slowdown->stage_count - 1);
	const char *text;

	for (int type = 0; type < 2; type++) {
		double rest =
			(means->all[type] * (double)slowdown->stage_count - means->stage[type][slowest]) /
			others;

		factor[type] = rest > 0 ? means->stage[type][slowest] / rest : NAN;
	}
	for (size_t i = 0; i < slowdown->stage_count; i++)
		sum += i == slowest ? 0 : slowdown->stages[i].compute_ns;
	text = arena_format(&slowdown->arena,
		"Stage imbalance: stage %zu%s takes %.2f× the computing time of the others (forward %.2f×, "
		"backward %.2f×).",
		slowest, slowest + 1 == slowdown->stage_count ? ", the last," : "",
		slowdown->stages[slowest].compute_ns * others / sum, factor[0], factor[1]);
	if (slowest + 1 == slowdown->stage_count && factor[0] > factor[1])
		text = arena_format(&slowdown->arena,
			"%s The last stage also computes the output layer and the loss: give it fewer layers.",
			text);
	if (job->lane_count == 1)
		text = arena_format(&slowdown->arena,
			"%s With one data rank this is indistinguishable from a slow worker.", text);
	return text;
}

/* Of the stages: computing of all workers, and how many they are. The caller frees both. */
struct stage_sums {
	double *ns;
	size_t *count;
};

static struct stage_sums stage_sums(const struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	struct stage_sums sums = {mem_alloc((size_t)job->stage_count, sizeof(*sums.ns)),
		mem_alloc((size_t)job->stage_count, sizeof(*sums.count))};

	for (size_t i = 0; i < job->worker_count; i++) {
		sums.ns[job->workers[i].stage] += slowdown->workers[i].compute_ns;
		sums.count[job->workers[i].stage]++;
	}
	return sums;
}

/* How many times as long the worker computes as the others of its stage, mean; 1: it has none. */
static double to_others(const struct slowdown *slowdown, const struct stage_sums *sums, size_t worker)
{
	const int32_t stage = slowdown->job->workers[worker].stage;
	const double own_ns = slowdown->workers[worker].compute_ns, others_ns = sums->ns[stage] - own_ns;

	return sums->count[stage] > 1 && others_ns > 0 ? own_ns * (double)(sums->count[stage] - 1) / others_ns
						       : 1;
}

static const char *worker_words(struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	size_t slowest = 0, more = 0, same = 0;
	struct stage_sums sums = stage_sums(slowdown);
	double greatest = 0;

	for (size_t i = 0; i < job->worker_count; i++) {
		double ratio = to_others(slowdown, &sums, i);

		if (ratio > greatest) {
			greatest = ratio;
			slowest = i;
		}
		more += ratio >= SLOWDOWN_RECURRING;
	}
	free(sums.ns);
	free(sums.count);
	for (size_t i = 0; i < job->worker_count; i++) {
		const struct slowdown_part *stage = &slowdown->stages[job->workers[i].stage];

		same += job->workers[i].data == job->workers[slowest].data &&
			slowdown->workers[i].compute_ns >= SLOWDOWN_RECURRING * stage->compute_ns;
	}
	return arena_format(&slowdown->arena,
		"Slow worker: %s takes %.2f× the mean computing time of the other workers of its stage%s.",
		slowdown->workers[slowest].name, greatest,
		more > 1 ? arena_format(&slowdown->arena,
				   "; %zu workers are slower by 5%% or more, %zu of them of its data rank",
				   more, same)
			 : "");
}

/* How forward and backward times of micro-batches go together (Pearson), over all workers; NAN: not known. */
static double correlation(const struct slowdown *slowdown, const struct means *means)
{
	const struct labelled *job = slowdown->job;
	double xx = 0, yy = 0, xy = 0;

	for (size_t i = 0, end; i < job->operation_count; i = end) {
		const struct labelled_operation *first = &job->operations[i];
		size_t back = i;

		for (end = i; end < job->operation_count && job->operations[end].worker == first->worker &&
			      job->operations[end].step == first->step;)
			end++;
		/* The k-th forward and the k-th backward are of one micro-batch. */
		for (size_t j = i; j < end; j++) {
			double x, y;

			if (job->operations[j].type != LABELLED_FORWARD)
				continue;
			while (back < end && job->operations[back].type != LABELLED_BACKWARD)
				back++;
			if (back == end)
				break;
			x = (double)slowdown->graph->work_ns[j] - means->worker[0][first->worker];
			y = (double)slowdown->graph->work_ns[back] - means->worker[1][first->worker];
			xx += x * x;
			yy += y * y;
			xy += x * y;
			back++;
		}
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

static const char *batch_words(struct slowdown *slowdown, const struct means *means)
{
	const struct labelled *job = slowdown->job;
	double together = correlation(slowdown, means), excess = 0, paused = 0;
	size_t count = 0, pauses = 0;

	for (size_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];
		double mean_ns, more;

		if (!labelled_is_compute(operation->type))
			continue;
		mean_ns = means->worker[operation->type == LABELLED_BACKWARD][operation->worker];
		more = (double)slowdown->graph->work_ns[i] - mean_ns;
		count++;
		excess += more > 0 ? more : 0;
		if (more > (SLOWDOWN_PAUSE - 1) * mean_ns) {
			paused += more;
			pauses++;
		}
	}
	if (together >= SLOWDOWN_SAME_WORK)
		return arena_format(&slowdown->arena,
			"Micro-batches differ in work: their forward and backward times correlate (%.2f), "
			"as with sequences of different length.",
			together);
	if (pauses > 0 && paused >= excess / 2 && pauses * 10 < count)
		return arena_format(&slowdown->arena,
			"Pauses: %zu of %zu computing operations take more than %.1f× the mean of their "
			"worker, and different ones forward and backward, as with garbage collection on "
			"the host.",
			pauses, count, SLOWDOWN_PAUSE);
	return "Operation times vary within a worker, uncorrelated between forward and backward: "
	       "interference on devices or hosts.";
}

/* The pair of workers whose messages take longest, against the type's median; false: no messages. */
static bool slowest_link(const struct slowdown *slowdown, uint32_t *message, double *factor, double *cost_ns)
{
	const struct labelled *job = slowdown->job;
	size_t cells = job->worker_count * LABELLED_TYPES;
	double *extra_ns = mem_alloc(cells, sizeof(*extra_ns)), *sum_ns = mem_alloc(cells, sizeof(*sum_ns));
	uint32_t *example = mem_alloc(cells, sizeof(*example));
	size_t worst = 0;
	bool found;

	for (uint32_t i = 0; i < job->operation_count; i++) {
		const struct labelled_operation *operation = &job->operations[i];
		size_t cell = operation->worker * LABELLED_TYPES + operation->type;

		if (slowdown->graph->peer[i] == LABELLED_NONE)
			continue;
		extra_ns[cell] += (double)(slowdown->graph->work_ns[i] - slowdown->ideal_work_ns[i]);
		sum_ns[cell] += (double)slowdown->ideal_work_ns[i];
		example[cell] = i;
		worst = extra_ns[cell] > extra_ns[worst] ? cell : worst;
	}
	found = extra_ns[worst] > 0;
	*message = example[worst];
	*factor = found && sum_ns[worst] > 0 ? 1 + extra_ns[worst] / sum_ns[worst] : (double)NAN;
	*cost_ns = extra_ns[worst] / (double)job->step_count;
	free(extra_ns);
	free(sum_ns);
	free(example);
	return found;
}

static const char *communication_words(struct slowdown *slowdown)
{
	const struct labelled *job = slowdown->job;
	const struct slowdown_part *worst = NULL;
	double factor, cost_ns;
	uint32_t message;

	for (size_t i = 0; i < slowdown->type_count; i++) {
		const struct slowdown_part *part = &slowdown->types[i];
		bool computing = false;

		for (unsigned type = 0; type < LABELLED_TYPES; type++)
			computing = computing || (!labelled_is_communication(type) &&
							 part->name == labelled_type_name(type));
		if (!computing && (!worst || part->explained > worst->explained))
			worst = part;
	}
	if (worst && strstr(worst->name, "pp-comm") && slowest_link(slowdown, &message, &factor, &cost_ns)) {
		const struct labelled_operation *operation = &job->operations[message];
		const struct labelled_operation *other = &job->operations[slowdown->graph->peer[message]];

		return arena_format(&slowdown->arena,
			"Communication: slow link, messages (%s) between %s and %s take %.1f× the usual "
			"time.",
			labelled_type_name(operation->type), job->workers[operation->worker].name,
			job->workers[other->worker].name, factor);
	}
	return arena_format(&slowdown->arena, "Communication: %s takes longer than usual at times.",
		worst ? worst->name : "it");
}

static const char *words_of(struct slowdown *slowdown, const struct means *means, int cause)
{
	switch (cause) {
	case SLOWDOWN_STAGES:
		return stage_words(slowdown, means);
	case SLOWDOWN_WORKERS:
		return worker_words(slowdown);
	case SLOWDOWN_BATCHES:
		return batch_words(slowdown, means);
	case SLOWDOWN_COMMUNICATION:
		return communication_words(slowdown);
	case SLOWDOWN_COLLECTION:
		return "Garbage collection takes longer on some workers, or in some steps, than on others.";
	case SLOWDOWN_UPDATE:
		return "The optimizer takes longer on some workers than on others.";
	default:
		return slowdown->slowdown < slowdown->least
			       ? "None: the work is balanced."
			       : "Mixed: no single effect explains a large part of the slowdown.";
	}
}

void slowdown_find_cause(struct slowdown *slowdown)
{
	struct means means;

	means_make(&means, slowdown);
	run_effects(slowdown, &means);
	slowdown->cause = -1;
	for (int effect = 0; effect < SLOWDOWN_EFFECTS; effect++)
		if (slowdown->slowdown >= slowdown->least && slowdown->effect[effect] >= EXPLAINED_LEAST &&
			(slowdown->cause < 0 || slowdown->effect[effect] > slowdown->effect[slowdown->cause]))
			slowdown->cause = effect;
	slowdown->cause_words = words_of(slowdown, &means, slowdown->cause);
	if (slowdown->slowdown >= slowdown->least)
		slowdown->recurring = recurring_words(slowdown);
	means_free(&means);
}
