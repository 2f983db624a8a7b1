/* The host's spans of an iteration: its calls, the layers that they are for, and the ranges around them. See
 * spans.h. */
#include "spans_host.h"
#include "analyses/host_calls.h"
#include "analyses/ranges.h"
#include "timeline/timeline_range.h"

#include <stdlib.h>

static const struct timeline_process *process_of(const struct html_host *host)
{
	return &host->analysis->timeline.processes[host->worker->worker->process];
}

void html_host_begin(struct html_host *host, const struct analysis *analysis,
	const struct analysis_worker *worker, html_span_taker *take, void *context)
{
	*host = (struct html_host){.analysis = analysis, .worker = worker, .take = take, .context = context};
	host->stay_count = process_of(host)->thread_count + (size_t)1;
	host->stays = mem_alloc(host->stay_count, sizeof(*host->stays));
}

static void leave_layer(struct html_host *host, struct html_stay *stay)
{
	if (stay->span.layer)
		host->take(host->context, &stay->span);
	stay->span.layer = NULL;
}

/* Calls of a layer after one another are one stay in it, with what the thread does between them. */
static void stay_in_layer(struct html_host *host, struct html_stay *stay, const struct timeline_call *call,
	const struct html_span *work)
{
	if (stay->span.layer && (stay->span.layer != work->layer || stay->span.kind != work->kind))
		leave_layer(host, stay);
	if (!work->layer)
		return;
	if (!stay->span.layer) {
		stay->span = *work;
		stay->span.call = "";
		stay->span.operation = 0;
		stay->span.lane = HTML_LANE_MODULE;
		stay->span.begin_ns = call->begin_ns;
	}
	stay->span.end_ns = call->end_ns;
}

void html_host_call(struct html_host *host, const struct timeline_call *call, const struct html_span *work)
{
	struct html_span span = *work;

	if (process_of(host)->hostless || (call->flags & TIMELINE_FLAG_REPLAYED) ||
		call->thread >= host->stay_count)
		return;
	host->stays[call->thread].launches = true;
	stay_in_layer(host, &host->stays[call->thread], call, work);
	span.begin_ns = call->begin_ns;
	span.end_ns = call->end_ns;
	span.operation = call->operation;
	span.lane = HTML_LANE_HOST;
	if (host_call_waits(timeline_function(&host->analysis->timeline, call)->kind,
		    (double)(call->end_ns - call->begin_ns)))
		span.kind = HTML_BLOCKED;
	host->take(host->context, &span);
}

/* A call that gives the device no work. */
static void put_other(struct html_host *host, const struct timeline_call *call)
{
	const struct timeline_function *function = timeline_function(&host->analysis->timeline, call);
	const bool waits = host_call_waits(function->kind, (double)(call->end_ns - call->begin_ns));

	/* ranges have lanes of their own */
	if (function->is_range || timeline_is_device_kind(function->kind) ||
		call->thread >= host->stay_count || !host->stays[call->thread].launches ||
		(call->flags & TIMELINE_FLAG_REPLAYED))
		return;
	host->take(host->context, &(struct html_span){.begin_ns = call->begin_ns,
					  .end_ns = call->end_ns,
					  .call = function->name,
					  .operation = call->operation,
					  .kind = waits ? HTML_BLOCKED : HTML_CALL,
					  .lane = HTML_LANE_HOST});
}

/* The calls of the process that are not the worker's, from the iteration's first to the worker's next one
 * after it; after the last there may be anything. */
static void put_others(struct html_host *host, const struct iteration *item)
{
	const struct worker *worker = host->worker->worker;
	const struct timeline_process *process = process_of(host);
	size_t own = item->first_call, end = process->first_call + process->call_count;

	if (item->call_end < worker->call_count)
		end = worker->calls[item->call_end];
	for (size_t number = worker->calls[item->first_call]; number < end; number++) {
		const struct timeline_call *call = TIMELINE_CALL(&host->analysis->timeline, number);

		if (own < item->call_end && worker->calls[own] == number)
			own++;
		else if (item->call_end < worker->call_count || call->begin_ns < item->end_ns)
			put_other(host, call);
	}
}

/* How many ranges that the program names are around one. */
static unsigned depth_of(const struct timeline *timeline, const struct timeline_range *ranges,
	const struct timeline_range *range)
{
	unsigned depth = 0;

	for (uint32_t i = range->parent; i != TIMELINE_NO_RANGE; i = ranges[i].parent)
		depth += ranges_is_named(timeline, ranges[i].name);
	return depth;
}

/* One whose middle is between two times: so each is in one iteration. */
static void put_range(
	struct html_host *host, const struct timeline_range *range, int64_t begin_ns, int64_t end_ns)
{
	const struct timeline *timeline = &host->analysis->timeline;
	const struct timeline_range *ranges = timeline_ranges(timeline, process_of(host));
	const int64_t middle_ns = range->begin_ns + (range->end_ns - range->begin_ns) / 2;
	unsigned depth;

	if (range->end_ns == INT64_MAX || middle_ns < begin_ns || middle_ns >= end_ns ||
		!ranges_is_named(timeline, range->name))
		return;
	depth = depth_of(timeline, ranges, range);
	if (depth > HTML_LANE_RANGE_3)
		return;
	host->take(host->context, &(struct html_span){.begin_ns = range->begin_ns,
					  .end_ns = range->end_ns,
					  .call = timeline->range_names[range->name].name,
					  .range = &timeline->range_names[range->name],
					  .kind = HTML_RANGE,
					  .lane = (enum html_lane)depth});
}

static void put_ranges(struct html_host *host, uint16_t thread, int64_t begin_ns, int64_t end_ns)
{
	const struct timeline_process *process = process_of(host);
	const struct timeline_range *ranges = timeline_ranges(&host->analysis->timeline, process);
	uint32_t low, end, high;

	timeline_ranges_of(&host->analysis->timeline, process, thread, &low, &end);
	for (high = end; low < high;) {
		const uint32_t middle = low + (high - low) / 2;

		if (ranges[middle].begin_ns <= begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (uint32_t i = timeline_range_at(&host->analysis->timeline, process, thread, begin_ns);
		i != TIMELINE_NO_RANGE; i = ranges[i].parent)
		put_range(host, &ranges[i], begin_ns, end_ns);
	for (uint32_t i = low; i < end && ranges[i].begin_ns < end_ns; i++)
		put_range(host, &ranges[i], begin_ns, end_ns);
}

void html_host_end(struct html_host *host, size_t iteration)
{
	const struct worker *worker = host->worker->worker;
	const struct iteration *item = &host->worker->iterations.items[iteration];
	const struct timeline *timeline = &host->analysis->timeline;

	for (size_t thread = 0; thread < host->stay_count; thread++)
		leave_layer(host, &host->stays[thread]);
	if (item->first_call < item->call_end && !process_of(host)->hostless) {
		const int64_t begin_ns = timeline_call(timeline, worker->calls[item->first_call]).begin_ns;
		const int64_t end_ns =
			item->call_end < worker->call_count
				? timeline_call(timeline, worker->calls[item->call_end]).begin_ns
				: item->end_ns;

		put_others(host, item);
		for (size_t thread = 0; thread < host->stay_count && process_of(host)->range_count; thread++)
			if (host->stays[thread].launches)
				put_ranges(host, (uint16_t)thread, begin_ns, end_ns);
	}
	free(host->stays);
}
