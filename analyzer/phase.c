/* Phases in time: see phase.h. Work becomes spans with a level; a sweep over all spans gives each instant to
 * a level. */
#include "phase.h"

/* The sum of the phases is checked in every build: it is what the figures are trusted for. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The order in which work claims an instant, and which phase each level is. */
enum level {
	LEVEL_FORWARD,
	LEVEL_BACKWARD,
	LEVEL_UPDATE,
	LEVEL_COMMUNICATION,
	LEVEL_MD_DEVICE,
	LEVEL_H2D,
	LEVEL_OTHER,
	LEVEL_IO,
	LEVEL_MD_HOST,
	LEVEL_QUEUED, /* work has been given to the device and has not begun */
	LEVEL_SYNC,   /* the host waits */
	LEVEL_HOST,   /* the process makes calls, now and later */
	LEVEL_COUNT,
};

static const enum phase level_phases[] = {
	[LEVEL_FORWARD] = PHASE_FORWARD,
	[LEVEL_BACKWARD] = PHASE_BACKWARD,
	[LEVEL_UPDATE] = PHASE_UPDATE,
	[LEVEL_COMMUNICATION] = PHASE_COMMUNICATION,
	[LEVEL_MD_DEVICE] = PHASE_MD,
	[LEVEL_H2D] = PHASE_H2D,
	[LEVEL_OTHER] = PHASE_OTHER,
	[LEVEL_IO] = PHASE_IO,
	[LEVEL_MD_HOST] = PHASE_MD,
	[LEVEL_QUEUED] = PHASE_IDLE_QUEUE,
	[LEVEL_SYNC] = PHASE_IDLE_SYNC,
	[LEVEL_HOST] = PHASE_IDLE_LAUNCH,
};

_Static_assert(LEVEL_COUNT <= PHASE_LEVELS, "the sweep has room for all levels");

static const uint32_t phase_levels[] = {
	[PHASE_IO] = LEVEL_IO,
	[PHASE_H2D] = LEVEL_H2D,
	[PHASE_MD] = LEVEL_MD_DEVICE,
	[PHASE_FORWARD] = LEVEL_FORWARD,
	[PHASE_BACKWARD] = LEVEL_BACKWARD,
	[PHASE_COMMUNICATION] = LEVEL_COMMUNICATION,
	[PHASE_UPDATE] = LEVEL_UPDATE,
	[PHASE_OTHER] = LEVEL_OTHER,
};

struct spans {
	struct phase_span *items;
	size_t count, room;
};

static void add_span(struct spans *spans, int64_t begin_ns, int64_t end_ns, uint32_t level)
{
	if (end_ns > begin_ns)
		*MEM_PUSH(spans->items, spans->count, spans->room) =
			(struct phase_span){begin_ns, end_ns, level};
}

static int64_t span_key(const struct phase_span *span, bool by_end)
{
	return by_end ? span->end_ns : span->begin_ns;
}

static void merge_spans(const struct phase_span *from, size_t first, size_t middle, size_t end, bool by_end,
	struct phase_span *to)
{
	size_t left = first, right = middle;

	for (size_t i = first; i < end; i++) {
		bool take_left = right == end || (left < middle && span_key(&from[left], by_end) <=
									   span_key(&from[right], by_end));

		to[i] = from[take_left ? left++ : right++];
	}
}

/*
 * Spans come as a few ordered stretches, one for each kind of work, so what is in order already is merged,
 * not sorted again: nearly a pass for each doubling of the stretches.
 */
static void sort_spans(struct phase_span *spans, size_t count, bool by_end)
{
	size_t *ends = NULL, run_count = 0, room = 0;
	struct phase_span *other;

	for (size_t i = 1; i <= count; i++)
		if (i == count || span_key(&spans[i], by_end) < span_key(&spans[i - 1], by_end))
			*MEM_PUSH(ends, run_count, room) = i;
	other = run_count > 1 ? mem_alloc(count, sizeof(*other)) : NULL;
	while (run_count > 1) {
		size_t merged = 0, first = 0;

		for (size_t i = 0; i < run_count; i += 2) {
			size_t end = ends[i + 1 < run_count ? i + 1 : i];

			merge_spans(spans, first, ends[i], end, by_end, other);
			ends[merged++] = end;
			first = end;
		}
		memcpy(spans, other, count * sizeof(*spans));
		run_count = merged;
	}
	free(other);
	free(ends);
}

int64_t phase_union(struct phase_span *spans, size_t count)
{
	int64_t sum_ns = 0, until_ns = INT64_MIN;

	sort_spans(spans, count, false);
	for (size_t i = 0; i < count; i++) {
		int64_t from_ns = spans[i].begin_ns > until_ns ? spans[i].begin_ns : until_ns;

		if (spans[i].end_ns > from_ns) {
			sum_ns += spans[i].end_ns - from_ns;
			until_ns = spans[i].end_ns;
		}
	}
	return sum_ns;
}

void phase_sweep(struct phase_span *spans, size_t span_count, const struct phase_span *windows,
	size_t window_count, int64_t *result)
{
	struct phase_span *ends = mem_alloc(span_count, sizeof(*ends));
	size_t counts[PHASE_LEVELS] = {0}, begun = 0, ended = 0;

	sort_spans(spans, span_count, false);
	if (span_count)
		memcpy(ends, spans, span_count * sizeof(*ends));
	sort_spans(ends, span_count, true);
	memset(result, 0, window_count * (PHASE_LEVELS + 1) * sizeof(*result));
	for (size_t w = 0; w < window_count; w++) {
		int64_t now_ns = windows[w].begin_ns;

		while (now_ns < windows[w].end_ns) {
			int64_t next_ns = windows[w].end_ns;
			uint32_t level = 0;

			for (; begun < span_count && spans[begun].begin_ns <= now_ns; begun++)
				counts[spans[begun].level]++;
			for (; ended < span_count && ends[ended].end_ns <= now_ns; ended++)
				counts[ends[ended].level]--;
			if (begun < span_count && spans[begun].begin_ns < next_ns)
				next_ns = spans[begun].begin_ns;
			if (ended < span_count && ends[ended].end_ns < next_ns)
				next_ns = ends[ended].end_ns;
			while (level < PHASE_LEVELS && counts[level] == 0)
				level++;
			result[w * (PHASE_LEVELS + 1) + level] += next_ns - now_ns;
			now_ns = next_ns;
		}
	}
	free(ends);
}

int64_t *phase_waits(const struct timeline *timeline, const struct collective_list *collectives)
{
	int64_t *waits = mem_alloc(timeline->call_count, sizeof(*waits));

	for (size_t i = 0; i < collectives->count; i += collectives->items[i].member_count) {
		const struct collective *members = &collectives->items[i];
		int64_t last_ns = INT64_MIN;

		for (uint32_t j = 0; j < members->member_count; j++)
			if (members[j].begin_ns > last_ns)
				last_ns = members[j].begin_ns;
		for (uint32_t j = 0; j < members->member_count; j++) {
			int64_t until_ns = last_ns < members[j].end_ns ? last_ns : members[j].end_ns;

			waits[members[j].call] =
				until_ns > members[j].begin_ns ? until_ns - members[j].begin_ns : 0;
		}
	}
	return waits;
}

const struct layer_role *phase_role(const struct worker_model *model, const struct worker *worker,
	const struct layer_list *layers, bool usual, size_t core, uint32_t operation)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];

	if (usual && (model->roles[operation].flags & WORKER_CORE) && core < layers->core_count)
		return &layers->core_roles[core];
	return &layers->operation_roles[operation - process->first_operation];
}

struct work {
	const struct timeline *timeline;
	const struct worker_model *model;
	const struct worker *worker;
	const struct layer_list *layers;
	const struct layer_role **roles; /* by position in the worker's calls */
	uint64_t *group_bytes; /* by interval of the process: bytes of the exchanges that share it */
};

static uint64_t exchange_bytes(const struct work *work, uint32_t operation)
{
	uint64_t bytes = 0;

	timeline_value(work->timeline, &work->timeline->operations[operation], "bytes", &bytes);
	return bytes > 0 && bytes < (uint64_t)1 << 46 ? bytes : 1;
}

static void find_roles(struct work *work, const struct iteration_list *iterations)
{
	const struct worker *worker = work->worker;
	const struct timeline_process *process = &work->timeline->processes[worker->process];
	size_t next = 0, core = 0;

	for (size_t i = 0; i < worker->call_count; i++) {
		const struct timeline_call *call = &work->timeline->calls[worker->calls[i]];
		const struct iteration *item;

		while (next < iterations->count && i >= iterations->items[next].call_end) {
			next++;
			core = 0;
		}
		item = next < iterations->count && i >= iterations->items[next].first_call
			       ? &iterations->items[next]
			       : NULL;
		work->roles[i] = phase_role(
			work->model, worker, work->layers, item && item->usual, core, call->operation);
		if (item && (work->model->roles[call->operation].flags & WORKER_CORE))
			core++;
		if (work->model->flows[call->operation].kind == PM_KIND_COMM && call->interval_count)
			work->group_bytes[call->interval - process->first_interval] +=
				exchange_bytes(work, call->operation);
	}
}

static void add_call(
	const struct work *work, struct spans *spans, const struct timeline_call *call, uint32_t level)
{
	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval *interval = &work->timeline->intervals[call->interval + i];

		add_span(spans, interval->begin_ns, interval->end_ns, level);
	}
	if (call->interval_count == 0)
		add_span(spans, call->begin_ns, call->end_ns, level);
}

/* From the end of the input's last read to the first copy of the process: the host prepares and divides the
 * batch. */
static void add_division(
	const struct work *work, struct spans *spans, const struct iteration *item, uint32_t level)
{
	const struct timeline *timeline = work->timeline;
	const struct worker *worker = work->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];
	int64_t copy_ns = 0, read_ns = 0;
	bool copied = false;

	for (size_t i = item->first_call; i < item->call_end && !copied; i++) {
		copied = work->roles[i]->phase == PHASE_H2D || work->roles[i]->phase == PHASE_MD;
		copy_ns = timeline->calls[worker->calls[i]].begin_ns;
	}
	if (!copied)
		return;
	for (size_t i = item->first_read; i < item->read_end; i++) {
		const struct timeline_call *read = &timeline->calls[worker->reads[i]];

		if (read->end_ns <= copy_ns && read->end_ns > read_ns)
			read_ns = read->end_ns;
	}
	if (read_ns == 0)
		return;
	for (size_t i = timeline_find(timeline, process, read_ns); i < process->call_count; i++) {
		const struct timeline_call *call = &timeline->calls[process->first_call + i];

		if (call->begin_ns >= copy_ns)
			break;
		if (timeline_function(timeline, call)->kind == PM_KIND_COPY) {
			copy_ns = call->begin_ns;
			break;
		}
	}
	add_span(spans, read_ns, copy_ns, level);
}

/* All that happened around the worker, as spans with levels. */
static void collect_spans(
	const struct work *work, const struct iteration_list *iterations, struct spans *spans)
{
	const struct timeline *timeline = work->timeline;
	const struct worker *worker = work->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];
	int64_t first_ns = INT64_MAX, last_ns = 0;

	for (size_t i = 0; i < worker->call_count; i++) {
		const struct timeline_call *call = &timeline->calls[worker->calls[i]];

		add_call(work, spans, call, phase_levels[work->roles[i]->phase]);
	}
	for (size_t i = 0; i < worker->call_count; i++) {
		const struct timeline_call *call = &timeline->calls[worker->calls[i]];

		if (call->interval_count)
			add_span(spans, call->end_ns, timeline->intervals[call->interval].begin_ns,
				LEVEL_QUEUED);
	}
	for (size_t i = 0; i < worker->read_count; i++)
		add_call(work, spans, &timeline->calls[worker->reads[i]], LEVEL_IO);
	for (size_t i = 0; i < iterations->count; i++)
		add_division(work, spans, &iterations->items[i], LEVEL_MD_HOST);
	for (size_t i = 0; i < process->call_count; i++) {
		const struct timeline_call *call = &timeline->calls[process->first_call + i];

		if (timeline_function(timeline, call)->kind == PM_KIND_SYNC)
			add_span(spans, call->begin_ns, call->end_ns, LEVEL_SYNC);
		if (call->begin_ns < first_ns)
			first_ns = call->begin_ns;
		if (call->end_ns > last_ns)
			last_ns = call->end_ns;
	}
	add_span(spans, first_ns, last_ns, LEVEL_HOST);
}

static void find_exclusive(
	const struct work *work, const struct iteration_list *iterations, struct phase_list *list)
{
	size_t count = iterations->count;
	struct phase_span *windows = mem_alloc(count, sizeof(*windows));
	int64_t *levels = mem_alloc(count * (PHASE_LEVELS + 1), sizeof(*levels));
	struct spans spans = {0};

	collect_spans(work, iterations, &spans);
	for (size_t i = 0; i < count; i++)
		windows[i] =
			(struct phase_span){iterations->items[i].begin_ns, iterations->items[i].end_ns, 0};
	phase_sweep(spans.items, spans.count, windows, count, levels);
	for (size_t i = 0; i < count; i++) {
		struct phase_times *times = &list->times[i];
		int64_t sum_ns = 0;

		times->iteration_ns = windows[i].end_ns - windows[i].begin_ns;
		for (uint32_t level = 0; level <= PHASE_LEVELS; level++)
			times->exclusive_ns[level < LEVEL_COUNT ? level_phases[level] : PHASE_IDLE_UNKNOWN] +=
				levels[i * (PHASE_LEVELS + 1) + level];
		for (int phase = 0; phase < PHASE_COUNT; phase++)
			sum_ns += times->exclusive_ns[phase];
		assert(sum_ns == times->iteration_ns);
	}
	free(windows);
	free(levels);
	free(spans.items);
}

static void add_layer_times(const struct work *work, const struct layer_role *role,
	const struct timeline_call *call, double *layers_ns)
{
	const struct timeline_process *process = &work->timeline->processes[work->worker->process];
	enum phase_layer_column column;
	double spent_ns = 0;

	switch (role->phase) {
	case PHASE_FORWARD:
		column = PHASE_LAYER_FORWARD;
		break;
	case PHASE_BACKWARD:
		column = PHASE_LAYER_BACKWARD;
		break;
	case PHASE_COMMUNICATION:
		column = PHASE_LAYER_COMMUNICATION;
		break;
	case PHASE_UPDATE:
		column = PHASE_LAYER_UPDATE;
		break;
	default:
		return;
	}
	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval *interval = &work->timeline->intervals[call->interval + i];

		spent_ns += (double)(interval->end_ns - interval->begin_ns);
	}
	if (call->interval_count == 0)
		spent_ns = (double)(call->end_ns - call->begin_ns);
	else if (column == PHASE_LAYER_COMMUNICATION &&
		 work->model->flows[call->operation].kind == PM_KIND_COMM)
		spent_ns *= (double)exchange_bytes(work, call->operation) /
			    (double)work->group_bytes[call->interval - process->first_interval];
	for (uint32_t i = 0; i < role->part_count; i++) {
		const struct layer_part *part = &work->layers->parts[role->first_part + i];

		layers_ns[part->layer * PHASE_LAYER_COLUMNS + column] += spent_ns * part->share;
	}
}

static void find_busy(const struct work *work, const struct iteration *item, const int64_t *wait_ns,
	struct spans by_phase[PHASE_COUNT], struct phase_times *times, double *layers_ns)
{
	const struct timeline *timeline = work->timeline;
	struct spans compute = {0};
	uint32_t last_interval = UINT32_MAX;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		by_phase[phase].count = 0;
	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call = &timeline->calls[work->worker->calls[i]];
		const struct layer_role *role = work->roles[i];

		add_call(work, &by_phase[role->phase], call, 0);
		if (role->phase == PHASE_FORWARD || role->phase == PHASE_BACKWARD ||
			role->phase == PHASE_UPDATE)
			add_call(work, &compute, call, 0);
		/* Calls of a group wait once. */
		if (wait_ns && role->phase == PHASE_COMMUNICATION &&
			!(call->interval_count && call->interval == last_interval))
			times->wait_ns += wait_ns[work->worker->calls[i]];
		if (call->interval_count)
			last_interval = call->interval;
		add_layer_times(work, role, call, layers_ns);
	}
	for (size_t i = item->first_read; i < item->read_end; i++)
		add_call(work, &by_phase[PHASE_IO], &timeline->calls[work->worker->reads[i]], 0);
	add_division(work, &by_phase[PHASE_MD], item, 0);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		times->busy_ns[phase] = phase < PHASE_WORK_COUNT
						? phase_union(by_phase[phase].items, by_phase[phase].count)
						: times->exclusive_ns[phase];
	times->compute_ns = phase_union(compute.items, compute.count);
	free(compute.items);
}

void phase_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers, const int64_t *wait_ns,
	struct phase_list *list)
{
	const struct timeline_process *process = &model->timeline->processes[worker->process];
	struct work work = {.timeline = model->timeline, .model = model, .worker = worker, .layers = layers};
	struct spans by_phase[PHASE_COUNT] = {0};

	list->layer_count = layers->count;
	list->times = mem_alloc(iterations->count, sizeof(*list->times));
	list->layers_ns =
		mem_alloc(iterations->count * layers->count * PHASE_LAYER_COLUMNS, sizeof(*list->layers_ns));
	work.roles = mem_alloc(worker->call_count, sizeof(*work.roles));
	work.group_bytes = mem_alloc(process->interval_count, sizeof(*work.group_bytes));
	find_roles(&work, iterations);
	find_exclusive(&work, iterations, list);
	for (size_t i = 0; i < iterations->count; i++)
		find_busy(&work, &iterations->items[i], wait_ns, by_phase, &list->times[i],
			list->layers_ns + i * layers->count * PHASE_LAYER_COLUMNS);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		free(by_phase[phase].items);
	free(work.roles);
	free(work.group_bytes);
}

void phase_free(struct phase_list *list)
{
	free(list->times);
	free(list->layers_ns);
	memset(list, 0, sizeof(*list));
}
