/*
 * The period of a sequence of calls. The period is the shortest shift at which most of the sequence meets
 * itself; where in the period an iteration begins is decided by what precedes a call: the end of a backward
 * pass or of kernels, file input, a copy to the device, a pause of the host.
 */
#include "iteration_period.h"
#include "timeline/phase_name.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SHIFTS 64 /* tried */

struct core {
	size_t position; /* in the worker's calls */
	uint64_t key;
	uint64_t context; /* key and the one before it */
	double score;     /* how much it looks like a begin */
	int64_t gap_ns;   /* host time since the call before it */
};

struct shift {
	size_t length, count;
};

static int compare_sizes(const void *left, const void *right)
{
	const size_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static int compare_shifts(const void *left, const void *right)
{
	const struct shift *a = left, *b = right;

	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->length < b->length ? -1 : a->length > b->length;
}

struct placed {
	uint64_t context;
	size_t place;
};

static int compare_placed(const void *left, const void *right)
{
	const struct placed *a = left, *b = right;

	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

/* Distances from each call to the same call before it, the most frequent first. */
static struct shift *list_shifts(const struct placed *placed, size_t count, size_t *shift_count)
{
	size_t *lengths = mem_alloc(count, sizeof(*lengths)), length_count = 0;
	struct shift *shifts = mem_alloc(count, sizeof(*shifts));

	for (size_t i = 1; i < count; i++)
		if (placed[i].context == placed[i - 1].context)
			lengths[length_count++] = placed[i].place - placed[i - 1].place;
	qsort(lengths, length_count, sizeof(*lengths), compare_sizes);
	*shift_count = 0;
	for (size_t i = 0; i < length_count; i++) {
		if (i == 0 || lengths[i] != lengths[i - 1])
			shifts[(*shift_count)++] = (struct shift){lengths[i], 0};
		shifts[*shift_count - 1].count++;
	}
	free(lengths);
	if (*shift_count)
		qsort(shifts, *shift_count, sizeof(*shifts), compare_shifts);
	return shifts;
}

static size_t find_period(
	const struct core *cores, size_t count, const struct shift *shifts, size_t shift_count)
{
	double shares[MOST_SHIFTS] = {0}, best = 0;
	size_t period = 0;

	if (shift_count > MOST_SHIFTS)
		shift_count = MOST_SHIFTS;
	for (size_t s = 0; s < shift_count; s++) {
		size_t met = 0, length = shifts[s].length;

		for (size_t i = 0; i + length < count; i++)
			met += cores[i].key == cores[i + length].key;
		shares[s] = (double)met / (double)(count - length);
		if (shares[s] > best)
			best = shares[s];
	}
	for (size_t s = 0; s < shift_count; s++)
		if (shares[s] > 0.5 && shares[s] >= 0.9 * best && (period == 0 || shifts[s].length < period))
			period = shifts[s].length;
	return period;
}

static void score(
	const struct worker_model *model, const struct worker *worker, struct core *cores, size_t count)
{
	const struct timeline *timeline = model->timeline;

	for (size_t i = 1; i < count; i++) {
		const struct timeline_call *call = &timeline->calls[worker->calls[cores[i].position]];
		const struct timeline_call *before = &timeline->calls[worker->calls[cores[i - 1].position]];
		enum pm_kind kind = timeline_function(timeline, call)->kind;
		enum pm_kind kind_before = timeline_function(timeline, before)->kind;
		size_t read = worker_find(timeline, worker->reads, worker->read_count, before->end_ns);
		bool forward =
			kind == PM_KIND_FORWARD || (model->roles[call->operation].flags & WORKER_READS);

		if (forward && (kind_before == PM_KIND_LAUNCH || kind_before == PM_KIND_BACKWARD))
			cores[i].score += 4;
		if (timeline->operations[call->operation].given_phase == PHASE_FORWARD + 1 &&
			timeline->operations[before->operation].given_phase == PHASE_UPDATE + 1)
			cores[i].score += 4;
		for (size_t j = cores[i - 1].position + 1; j < cores[i].position; j++) {
			const struct timeline_call *other = &timeline->calls[worker->calls[j]];
			const struct timeline_operation *operation = &timeline->operations[other->operation];
			uint64_t direction;

			if (timeline_value(timeline, operation, "dir", &direction) && direction == 1) {
				cores[i].score += 2;
				break;
			}
		}
		if (read < worker->read_count &&
			timeline->calls[worker->reads[read]].begin_ns < call->begin_ns)
			cores[i].score += 2;
		cores[i].gap_ns = call->begin_ns - before->end_ns;
	}
}

/* The context that occurs about once a period and looks most like a begin; how much, in `score`. */
static uint64_t find_begin(const struct core *cores, const struct placed *placed, size_t count, size_t period,
	double *best_score)
{
	double best = -1, best_gap = 0;
	uint64_t begin = 0;

	for (size_t i = 0, end; i < count; i = end) {
		double sum = 0, gap = 0, times;

		for (end = i; end < count && placed[end].context == placed[i].context; end++) {
			sum += cores[placed[end].place].score;
			gap += (double)cores[placed[end].place].gap_ns;
		}
		times = (double)(end - i);
		if (times < 0.5 * (double)count / (double)period ||
			times > 1.5 * (double)count / (double)period)
			continue;
		if (sum / times > best || (sum / times == best && gap / times > best_gap)) {
			best = sum / times;
			best_gap = gap / times;
			begin = placed[i].context;
		}
	}
	*best_score = best;
	return best >= 0 ? begin : 0;
}

/* Of calls that come again and again the begin is known only by many that follow. */
#define FOLLOWING 32

static void look_ahead(struct core *cores, struct placed *placed, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t context = MEM_HASH_START;

		for (size_t j = i; j < i + FOLLOWING && j < count; j++)
			context = mem_hash(context, cores[j].key);
		cores[i].context = context;
		placed[i] = (struct placed){context, i};
	}
	qsort(placed, count, sizeof(*placed), compare_placed);
}

/* Is the count a multiple of the period, but for a hundredth of it? */
static bool is_whole(size_t count, size_t period)
{
	size_t rest = count % period;

	return 100 * rest <= period || 100 * (period - rest) <= period;
}

static int compare_keys(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

static uint64_t *sorted_keys(const struct core *cores, size_t count)
{
	uint64_t *keys = mem_alloc(count, sizeof(*keys));

	for (size_t i = 0; i < count; i++)
		keys[i] = cores[i].key;
	qsort(keys, count, sizeof(*keys), compare_keys);
	return keys;
}

/*
 * Are the calls before `next`, as many as a period has or a few less, nearly those of the period from there
 * on? In whatever order, since a first iteration makes some calls that later ones do not.
 */
static bool repeats(const struct core *cores, size_t count, size_t next, size_t period)
{
	size_t length = next < period ? next : period, met = 0;
	uint64_t *before, *behind;

	if (next + period > count || 20 * length < 19 * period)
		return false;
	before = sorted_keys(cores + next - length, length);
	behind = sorted_keys(cores + next, period);
	for (size_t i = 0, j = 0; i < length && j < period;)
		if (before[i] == behind[j]) {
			met++;
			i++;
			j++;
		} else if (before[i] < behind[j]) {
			i++;
		} else {
			j++;
		}
	free(before);
	free(behind);
	return 5 * met >= 4 * length;
}

size_t *iteration_period_cuts(
	const struct worker_model *model, const struct worker *worker, const uint64_t *keys, size_t *count)
{
	struct core *cores = mem_alloc(worker->call_count, sizeof(*cores));
	struct placed *placed = mem_alloc(worker->call_count, sizeof(*placed));
	size_t *cuts = mem_alloc(worker->call_count + 2, sizeof(*cuts));
	size_t core_count = 0, shift_count, period;
	struct shift *shifts;
	double best_score;
	uint64_t begin;

	*count = 0;
	for (size_t i = 0; i < worker->call_count; i++) {
		const struct timeline_call *call = &model->timeline->calls[worker->calls[i]];

		if (!(model->roles[call->operation].flags & WORKER_CORE))
			continue;
		cores[core_count] = (struct core){.position = i, .key = keys[i]};
		cores[core_count].context = mem_hash(keys[i], core_count ? cores[core_count - 1].key : 0);
		placed[core_count] = (struct placed){cores[core_count].context, core_count};
		core_count++;
	}
	qsort(placed, core_count, sizeof(*placed), compare_placed);
	shifts = list_shifts(placed, core_count, &shift_count);
	period = find_period(cores, core_count, shifts, shift_count);
	if (period) {
		score(model, worker, cores, core_count);
		begin = find_begin(cores, placed, core_count, period, &best_score);
		if (best_score <= 0) {
			look_ahead(cores, placed, core_count);
			begin = find_begin(cores, placed, core_count, period, &best_score);
			/* Nothing looks like a begin: if it is whole periods that were recorded, the first
			 * call is one. */
			if (best_score <= 0 && is_whole(core_count, period))
				begin = cores[0].context;
		}
		*count = 0;
		for (size_t i = 0; i < core_count; i++) {
			if (cores[i].context != begin)
				continue;
			/* The very first iteration has another call before it, or none, and perhaps some
			 * calls of its own. */
			if (*count == 0 && i > 0 && repeats(cores, core_count, i, period))
				cuts[(*count)++] = cores[i > period ? i - period : 0].position;
			cuts[(*count)++] = cores[i].position;
		}
		/* What follows the last begin is an iteration if it is as long as one. */
		if (*count > 0 && core_count > period) {
			size_t last = 0;

			while (cores[last].position < cuts[*count - 1])
				last++;
			if (core_count - last >= period)
				cuts[(*count)++] = cores[last + period - 1].position + 1;
		}
	}
	free(cores);
	free(placed);
	free(shifts);
	return cuts;
}
