/* Spans of the devices' work: see spans.h. */
#include "spans.h"
#include "spans_host.h"

#include <math.h>

const char *const html_lane_titles[HTML_LANES] = {
	"ranges", "", "", "layer", "host calls", "compute", "communication", "copies"};

/* How far an iteration's phases are from the medians of the worker's. */
static double distance_ns(const struct phase_times *times, const double *medians_ns)
{
	double far = 0;

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (isfinite(medians_ns[phase]))
			far += fabs((double)times->exclusive_ns[phase] - medians_ns[phase]);
	return far;
}

size_t html_typical_iteration(const struct analysis_worker *worker)
{
	double medians_ns[PHASE_COUNT], least = INFINITY;
	size_t best = worker->used[0];

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		medians_ns[phase] = analysis_phase(worker, 1, (enum phase)phase, ANALYSIS_EXCLUSIVE).median;
	for (size_t i = 0; i < worker->used_count; i++) {
		double far = distance_ns(&worker->phases.times[worker->used[i]], medians_ns);

		if (far < least) {
			least = far;
			best = worker->used[i];
		}
	}
	return best;
}

static int64_t overlap_ns(const struct iteration *item, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = item->begin_ns > begin_ns ? item->begin_ns : begin_ns;
	int64_t to = item->end_ns < end_ns ? item->end_ns : end_ns;

	return to > from ? to - from : 0;
}

size_t html_iteration_at(const struct analysis_worker *worker, int64_t begin_ns, int64_t end_ns)
{
	size_t best = worker->iterations.count;
	int64_t most_ns = 0;

	for (size_t i = 0; i < worker->iterations.count; i++) {
		int64_t ns = overlap_ns(&worker->iterations.items[i], begin_ns, end_ns);

		if (ns > most_ns) {
			most_ns = ns;
			best = i;
		}
	}
	return best;
}

void html_window(const struct analysis *analysis, int64_t *begin_ns, int64_t *end_ns)
{
	const struct iteration *own =
		&analysis->workers[0].iterations.items[html_typical_iteration(&analysis->workers[0])];
	int64_t slack_ns = (own->end_ns - own->begin_ns) / 4;

	*begin_ns = own->begin_ns;
	*end_ns = own->end_ns;
	for (size_t w = 1; w < analysis->worker_count; w++) {
		const struct iteration_list *list = &analysis->workers[w].iterations;
		size_t i = html_iteration_at(&analysis->workers[w], own->begin_ns, own->end_ns);

		if (i == list->count)
			continue;
		if (list->items[i].begin_ns < *begin_ns &&
			list->items[i].begin_ns >= own->begin_ns - slack_ns)
			*begin_ns = list->items[i].begin_ns;
		if (list->items[i].end_ns > *end_ns && list->items[i].end_ns <= own->end_ns + slack_ns)
			*end_ns = list->items[i].end_ns;
	}
}

struct taker {
	const struct analysis *analysis;
	const struct analysis_worker *worker;
	html_span_taker *take;
	void *context;
	struct html_host host;
};

static enum html_lane lane_of(const struct layer_role *role, const struct timeline_function *function)
{
	if (role->phase == PHASE_COMMUNICATION)
		return HTML_LANE_COMMUNICATION;
	if (role->phase == PHASE_H2D || role->phase == PHASE_MD || role->phase == PHASE_IO ||
		(role->phase == PHASE_OTHER && function->kind != PM_KIND_COMPUTE))
		return HTML_LANE_COPIES;
	return HTML_LANE_COMPUTE;
}

/* The call's work; the start of a collective is waiting for the last rank. */
static void add_call(struct taker *taker, uint32_t number, const struct layer_role *role)
{
	const struct timeline *timeline = &taker->analysis->timeline;
	const struct layer_list *layers = &taker->worker->layers;
	const struct timeline_call *call = TIMELINE_CALL(timeline, number);
	const struct timeline_function *function = timeline_function(timeline, call);
	struct html_span span = {.begin_ns = call->begin_ns,
		.end_ns = call->end_ns,
		.call = function->name,
		.kind = (int)role->phase,
		.lane = lane_of(role, function),
		.operation = call->operation,
		.layer = role->part_count ? &layers->items[layers->parts[role->first_part].layer] : NULL};
	int64_t wait_ns = taker->analysis->wait_ns[number];

	if (role->phase != PHASE_IO)
		html_host_call(&taker->host, call, &span);
	for (uint32_t i = 0; i < call->interval_count || i == 0; i++) {
		if (call->interval_count) {
			span.begin_ns = timeline_interval(timeline, call->interval + i).begin_ns;
			span.end_ns = timeline_interval(timeline, call->interval + i).end_ns;
			span.operation = timeline_interval(timeline, call->interval + i).operation;
		} else if (call->flags & TIMELINE_FLAGS_NOT_HOST) {
			return; /* its device time is not known, and the host's is not its own */
		}
		if (i == 0 && wait_ns > 0 && role->phase == PHASE_COMMUNICATION) {
			struct html_span wait = span;

			if (wait_ns > span.end_ns - span.begin_ns)
				wait_ns = span.end_ns - span.begin_ns;
			wait.end_ns = span.begin_ns += wait_ns;
			wait.kind = HTML_WAIT;
			taker->take(taker->context, &wait);
		}
		taker->take(taker->context, &span);
	}
}

/* As in phase_find, a call's role may depend on its place among the computations. */
void html_spans(const struct analysis *analysis, const struct analysis_worker *worker, size_t iteration,
	html_span_taker *take, void *context)
{
	struct taker taker = {.analysis = analysis, .worker = worker, .take = take, .context = context};
	const struct iteration *item = &worker->iterations.items[iteration];
	static const struct layer_role read = {.phase = PHASE_IO};
	struct analysis_walk at = analysis_walk(analysis, worker, iteration);

	html_host_begin(&taker.host, analysis, worker, take, context);
	while (analysis_next(&at))
		if (!at.is_shared)
			add_call(&taker, at.number, at.role);
	for (size_t i = item->first_read; i < item->read_end; i++)
		add_call(&taker, worker->worker->reads[i], &read);
	html_host_end(&taker.host, iteration);
}
