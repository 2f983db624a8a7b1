/* Phases in time: see phase.h. Work becomes spans with a level; a sweep over an iteration gives each instant
 * to a level. */
#include "phase.h"

/* The sum of the phases is checked in every build: it is what the figures are trusted for. */
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The order in which work claims an instant, and which phase each level is. */
enum level {
	LEVEL_FORWARD,
	LEVEL_BACKWARD,
	LEVEL_UPDATE,
	LEVEL_GRAPH,
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
	[LEVEL_GRAPH] = PHASE_GRAPH,
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
	[PHASE_GRAPH] = LEVEL_GRAPH,
	[PHASE_OTHER] = LEVEL_OTHER,
};

_Static_assert(PHASE_WORK_COUNT == 9, "each phase of work has its level: what has none would be forward");

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

struct work {
	const struct timeline *timeline;
	const struct worker_model *model;
	const struct worker *worker;
	const struct layer_list *layers;
	const struct layer_role **roles; /* by position in the worker's calls */
	uint64_t *group_bytes; /* by interval of the process: bytes of the exchanges that share it */
	uint64_t *bytes;       /* by operation of the process: that it exchanges; of others 0 */
	struct phase_spans by_phase[PHASE_COUNT], compute; /* of one iteration */
	struct phase_spans transfers; /* and of its communication what is not waiting */
};

static uint64_t bytes_of(const struct timeline *timeline, uint32_t operation)
{
	uint64_t bytes = 0;

	timeline_value(timeline, &timeline->operations[operation], "bytes", &bytes);
	return bytes > 0 && bytes < (uint64_t)1 << 46 ? bytes : 1;
}

static uint64_t exchange_bytes(const struct work *work, uint32_t operation)
{
	return work->bytes[operation - work->timeline->processes[work->worker->process].first_operation];
}

static void find_roles(struct work *work, const struct iteration_list *iterations)
{
	const struct worker *worker = work->worker;
	const struct timeline_process *process = &work->timeline->processes[worker->process];
	struct layer_gap gap = {0};
	size_t next = 0;

	for (size_t i = 0; i < worker->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(work->timeline, worker->calls[i]);
		const struct iteration *item;

		while (next < iterations->count && i >= iterations->items[next].call_end) {
			next++;
			gap = (struct layer_gap){0};
		}
		item = next < iterations->count && i >= iterations->items[next].first_call
			       ? &iterations->items[next]
			       : NULL;
		work->roles[i] = phase_role(work->model, worker, work->layers,
			item ? next : PHASE_NO_ITERATION, &gap, call->operation);
		if (work->model->flows[call->operation].kind == PM_KIND_COMM && call->interval_count)
			work->group_bytes[call->interval - process->first_interval] +=
				exchange_bytes(work, call->operation);
	}
}

static void begin_work(struct work *work, const struct iteration_list *iterations)
{
	const struct timeline_process *process = &work->timeline->processes[work->worker->process];

	work->roles = mem_alloc(work->worker->call_count, sizeof(*work->roles));
	work->group_bytes = mem_alloc(process->interval_count, sizeof(*work->group_bytes));
	work->bytes = mem_alloc(process->operation_count, sizeof(*work->bytes));
	for (uint32_t i = 0; i < process->operation_count; i++)
		if (work->model->flows[process->first_operation + i].kind == PM_KIND_COMM)
			work->bytes[i] = bytes_of(work->timeline, process->first_operation + i);
	find_roles(work, iterations);
}

static void end_work(struct work *work)
{
	free(work->roles);
	free(work->group_bytes);
	free(work->bytes);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		free(work->by_phase[phase].items);
	free(work->compute.items);
	free(work->transfers.items);
}

/* Does the host's time stand in for the device's, which is not known? Other calls have that of a graph. */
static bool is_host_timed(const struct timeline_call *call)
{
	return call->interval_count == 0 && !(call->flags & TIMELINE_FLAGS_NOT_HOST);
}

static void add_call(
	const struct work *work, struct phase_spans *spans, const struct timeline_call *call, uint32_t level)
{
	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval *interval =
			TIMELINE_INTERVAL(work->timeline, call->interval + i);

		phase_add_span(spans, interval->begin_ns, interval->end_ns, level);
	}
	if (is_host_timed(call))
		phase_add_span(spans, call->begin_ns, call->end_ns, level);
}

/* From the end of the input's last read to the first copy of the process: the host prepares and divides the
 * batch. What a data loader hands out is prepared. */
static void add_division(
	const struct work *work, struct phase_spans *spans, const struct iteration *item, uint32_t level)
{
	const struct timeline *timeline = work->timeline;
	const struct worker *worker = work->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];
	int64_t copy_ns = 0, read_ns = 0;
	bool copied = false;

	for (size_t i = item->first_call; i < item->call_end && !copied; i++) {
		copied = work->roles[i]->phase == PHASE_H2D || work->roles[i]->phase == PHASE_MD;
		copy_ns = timeline_call(timeline, worker->calls[i]).begin_ns;
	}
	if (!copied)
		return;
	for (size_t i = item->first_read; i < item->read_end; i++) {
		const struct timeline_call *read = TIMELINE_CALL(timeline, worker->reads[i]);

		if (timeline_function(timeline, read)->is_range)
			return;
		if (read->end_ns <= copy_ns && read->end_ns > read_ns)
			read_ns = read->end_ns;
	}
	if (read_ns == 0)
		return;
	for (size_t i = timeline_find(timeline, process, read_ns); i < process->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, process->first_call + i);

		if (call->begin_ns >= copy_ns)
			break;
		if (timeline_function(timeline, call)->kind == PM_KIND_COPY) {
			copy_ns = call->begin_ns;
			break;
		}
	}
	phase_add_span(spans, read_ns, copy_ns, level);
}

/*
 * What happened around the worker, as spans with levels, handed out in order of time: everything that begins
 * before some instant. Work never begins before its call, so the calls are gone through but once, and only
 * spans that have not ended yet are kept.
 */
struct feed {
	const struct work *work;
	struct phase_spans spans, divisions;
	size_t call, read, division;
	size_t host_call;          /* of the process */
	int64_t first_ns, last_ns; /* of the process's calls */
};

static void begin_feed(struct feed *feed, const struct work *work, const struct iteration_list *iterations)
{
	const struct timeline *timeline = work->timeline;
	const struct timeline_process *process = &timeline->processes[work->worker->process];

	*feed = (struct feed){.work = work, .first_ns = INT64_MAX};
	for (size_t i = 0; i < iterations->count; i++)
		add_division(work, &feed->divisions, &iterations->items[i], LEVEL_MD_HOST);
	phase_union(feed->divisions.items, feed->divisions.count); /* for the order */
	if (process->call_count && !process->hostless)
		feed->first_ns = timeline_call(timeline, process->first_call).begin_ns;
	for (size_t i = 0; i < process->call_count; i++)
		if (timeline_call(timeline, process->first_call + i).end_ns > feed->last_ns)
			feed->last_ns = timeline_call(timeline, process->first_call + i).end_ns;
}

static void feed_calls(struct feed *feed, int64_t until_ns)
{
	const struct timeline *timeline = feed->work->timeline;
	const struct worker *worker = feed->work->worker;

	size_t first = feed->call;

	for (; feed->call < worker->call_count; feed->call++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, worker->calls[feed->call]);

		if (call->begin_ns >= until_ns)
			break;
		add_call(feed->work, &feed->spans, call, phase_levels[feed->work->roles[feed->call]->phase]);
	}
	/* Apart, so that each kind comes nearly in order. Up to the last of several intervals: between them
	 * the call waits in the queue. */
	for (size_t i = first; i < feed->call; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, worker->calls[i]);

		if (call->interval_count)
			phase_add_span(&feed->spans, call->end_ns,
				timeline_interval(timeline, call->interval + call->interval_count - 1)
					.begin_ns,
				LEVEL_QUEUED);
	}
}

static void feed_until(struct feed *feed, int64_t until_ns)
{
	const struct timeline *timeline = feed->work->timeline;
	const struct worker *worker = feed->work->worker;
	const struct timeline_process *process = &timeline->processes[worker->process];

	feed_calls(feed, until_ns);
	for (; feed->read < worker->read_count; feed->read++) {
		const struct timeline_call *read = TIMELINE_CALL(timeline, worker->reads[feed->read]);

		if (read->begin_ns >= until_ns)
			break;
		add_call(feed->work, &feed->spans, read, LEVEL_IO);
	}
	for (; feed->division < feed->divisions.count; feed->division++) {
		const struct phase_span *division = &feed->divisions.items[feed->division];

		if (division->begin_ns >= until_ns)
			break;
		phase_add_span(&feed->spans, division->begin_ns, division->end_ns, division->level);
	}
	for (; feed->host_call < process->call_count; feed->host_call++) {
		const struct timeline_call *call =
			TIMELINE_CALL(timeline, process->first_call + feed->host_call);

		if (call->begin_ns >= until_ns)
			break;
		if (timeline_function(timeline, call)->kind == PM_KIND_SYNC)
			phase_add_span(&feed->spans, call->begin_ns, call->end_ns, LEVEL_SYNC);
	}
	if (feed->first_ns < until_ns) {
		phase_add_span(&feed->spans, feed->first_ns, feed->last_ns, LEVEL_HOST);
		feed->first_ns = INT64_MAX;
	}
}

static void find_exclusive(
	const struct work *work, const struct iteration_list *iterations, struct phase_list *list)
{
	struct feed feed;

	begin_feed(&feed, work, iterations);
	for (size_t i = 0; i < iterations->count; i++) {
		const struct phase_span window = {
			iterations->items[i].begin_ns, iterations->items[i].end_ns, 0};
		struct phase_times *times = &list->times[i];
		int64_t levels[PHASE_LEVELS + 1], sum_ns = 0;

		feed_until(&feed, window.end_ns);
		phase_drop_spans(&feed.spans, window.begin_ns);
		phase_sweep(feed.spans.items, feed.spans.count, &window, 1, levels);
		times->iteration_ns = window.end_ns - window.begin_ns;
		for (uint32_t level = 0; level <= PHASE_LEVELS; level++)
			times->exclusive_ns[level < LEVEL_COUNT ? level_phases[level] : PHASE_IDLE_UNKNOWN] +=
				levels[level];
		for (int phase = 0; phase < PHASE_COUNT; phase++)
			sum_ns += times->exclusive_ns[phase];
		assert(sum_ns == times->iteration_ns);
	}
	free(feed.spans.items);
	free(feed.divisions.items);
}

/* Which of a layer's times the role is; none: PHASE_LAYER_COLUMNS. */
static enum phase_layer_column column_of(const struct layer_role *role)
{
	if (role->column && !role->again)
		return (enum phase_layer_column)(role->column - 1);
	switch (role->phase) {
	case PHASE_FORWARD:
		return PHASE_LAYER_FORWARD;
	case PHASE_BACKWARD:
		return PHASE_LAYER_BACKWARD;
	case PHASE_COMMUNICATION:
		return PHASE_LAYER_COMMUNICATION;
	case PHASE_UPDATE:
		return PHASE_LAYER_UPDATE;
	default:
		return PHASE_LAYER_COLUMNS;
	}
}

/* Where the times of an iteration's calls go, by enum phase_layer_column. */
struct sink {
	double *layers_ns, *outside_ns;
	bool *unknown;
};

/* wait_ns: part of the call's time, for the last rank. */
static void add_layer_times(const struct work *work, const struct layer_role *role,
	const struct timeline_call *call, double wait_ns, const struct sink *sink)
{
	const struct timeline_process *process = &work->timeline->processes[work->worker->process];
	enum phase_layer_column column = column_of(role);
	double spent_ns, scale = 1;

	if (column == PHASE_LAYER_COLUMNS)
		return;
	spent_ns = timeline_device_ns(work->timeline, call);
	if (is_host_timed(call))
		spent_ns = (double)(call->end_ns - call->begin_ns);
	else if (call->interval_count && column == PHASE_LAYER_COMMUNICATION &&
		 work->model->flows[call->operation].kind == PM_KIND_COMM)
		scale = (double)exchange_bytes(work, call->operation) /
			(double)work->group_bytes[call->interval - process->first_interval];
	wait_ns = column == PHASE_LAYER_COMMUNICATION ? scale * fmin(wait_ns, spent_ns) : 0;
	spent_ns = scale * spent_ns - wait_ns;
	if (role->part_count == 0) {
		sink->outside_ns[column] += spent_ns;
		sink->outside_ns[PHASE_LAYER_WAIT] += wait_ns;
	}
	for (uint32_t i = 0; i < role->part_count; i++) {
		const struct layer_part *part = &work->layers->parts[role->first_part + i];
		double *layer_ns = sink->layers_ns + part->layer * PHASE_LAYER_COLUMNS;

		layer_ns[column] += spent_ns * part->share;
		layer_ns[PHASE_LAYER_WAIT] += wait_ns * part->share;
		if (role->again)
			layer_ns[PHASE_LAYER_RECOMPUTE] += spent_ns * part->share;
		sink->unknown[part->layer * PHASE_LAYER_COLUMNS + column] |=
			call->interval_count == 0 && (call->flags & TIMELINE_FLAG_REPLAYED);
	}
}

/* What the call does on the device once all have arrived. */
static void add_transfer(struct work *work, const struct timeline_call *call, int64_t wait_ns)
{
	int64_t from_ns = call->interval_count ? timeline_interval(work->timeline, call->interval).begin_ns
					       : call->begin_ns;

	from_ns += wait_ns;
	for (uint32_t i = 0; i < call->interval_count; i++) {
		const struct timeline_interval interval = timeline_interval(work->timeline, call->interval + i);

		phase_add_span(&work->transfers, interval.begin_ns > from_ns ? interval.begin_ns : from_ns,
			interval.end_ns, 0);
	}
	if (is_host_timed(call))
		phase_add_span(&work->transfers, from_ns, call->end_ns, 0);
}

static void find_busy(struct work *work, const struct iteration *item, const int64_t *wait_ns,
	struct phase_times *times, const struct sink *sink)
{
	const struct timeline *timeline = work->timeline;
	struct phase_spans *by_phase = work->by_phase, *compute = &work->compute;
	uint32_t last_interval = UINT32_MAX;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		by_phase[phase].count = 0;
	compute->count = work->transfers.count = 0;
	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, work->worker->calls[i]);
		const struct layer_role *role = work->roles[i];

		add_call(work, &by_phase[role->phase], call, 0);
		if (phase_facts[role->phase].does == PHASE_DOES_COMPUTING &&
			!(role->phase == PHASE_GRAPH && role->exchanges))
			add_call(work, compute, call, 0);
		/* Calls of a group wait once. */
		if (wait_ns && role->phase == PHASE_COMMUNICATION &&
			!(call->interval_count && call->interval == last_interval))
			add_transfer(work, call, wait_ns[work->worker->calls[i]]);
		if (call->interval_count)
			last_interval = call->interval;
		add_layer_times(
			work, role, call, wait_ns ? (double)wait_ns[work->worker->calls[i]] : 0, sink);
	}
	for (size_t i = item->first_read; i < item->read_end; i++)
		add_call(work, &by_phase[PHASE_IO], TIMELINE_CALL(timeline, work->worker->reads[i]), 0);
	add_division(work, &by_phase[PHASE_MD], item, 0);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		times->busy_ns[phase] = phase < PHASE_WORK_COUNT
						? phase_union(by_phase[phase].items, by_phase[phase].count)
						: times->exclusive_ns[phase];
	times->compute_ns = phase_union(compute->items, compute->count);
	/* While one exchange waits another may move data: that is no waiting. */
	if (wait_ns)
		times->wait_ns = times->busy_ns[PHASE_COMMUNICATION] -
				 phase_union(work->transfers.items, work->transfers.count);
}

void phase_find(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers, const int64_t *wait_ns,
	struct phase_list *list)
{
	struct work work = {.timeline = model->timeline, .model = model, .worker = worker, .layers = layers};

	list->layer_count = layers->count;
	list->times = mem_alloc(iterations->count, sizeof(*list->times));
	list->layers_ns =
		mem_alloc(iterations->count * layers->count * PHASE_LAYER_COLUMNS, sizeof(*list->layers_ns));
	list->outside_ns = mem_alloc(iterations->count * PHASE_LAYER_COLUMNS, sizeof(*list->outside_ns));
	list->unknown = mem_alloc(layers->count * PHASE_LAYER_COLUMNS, sizeof(*list->unknown));
	begin_work(&work, iterations);
	find_exclusive(&work, iterations, list);
	for (size_t i = 0; i < iterations->count; i++)
		find_busy(&work, &iterations->items[i], wait_ns, &list->times[i],
			&(struct sink){list->layers_ns + i * layers->count * PHASE_LAYER_COLUMNS,
				list->outside_ns + i * PHASE_LAYER_COLUMNS, list->unknown});
	end_work(&work);
}

void phase_stretches(const struct worker_model *model, const struct worker *worker,
	const struct iteration_list *iterations, const struct layer_list *layers,
	void (*take)(void *context, enum phase phase, int64_t begin_ns, int64_t end_ns), void *context)
{
	struct work work = {.timeline = model->timeline, .model = model, .worker = worker, .layers = layers};
	struct phase_spans stretches = {0};
	struct feed feed;

	begin_work(&work, iterations);
	begin_feed(&feed, &work, iterations);
	for (size_t i = 0; i < iterations->count; i++) {
		const struct iteration *item = &iterations->items[i];

		feed_until(&feed, item->end_ns);
		phase_drop_spans(&feed.spans, item->begin_ns);
		phase_cut(feed.spans.items, feed.spans.count,
			&(struct phase_span){item->begin_ns, item->end_ns, 0}, &stretches);
		for (struct phase_span *at = stretches.items; at < stretches.items + stretches.count; at++)
			take(context, at->level < LEVEL_COUNT ? level_phases[at->level] : PHASE_IDLE_UNKNOWN,
				at->begin_ns, at->end_ns);
	}
	free(stretches.items);
	free(feed.spans.items);
	free(feed.divisions.items);
	end_work(&work);
}

void phase_free(struct phase_list *list)
{
	free(list->times);
	free(list->layers_ns);
	free(list->outside_ns);
	free(list->unknown);
	memset(list, 0, sizeof(*list));
}
