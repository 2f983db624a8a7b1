/* Operators by sizes against the roof: see operator_rates.h. */
#include "operator_rates.h"
#include "base/lookup.h"
#include "operator_find.h"
#include "timeline/timeline_range.h"
#include "work_operator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct search {
	const struct analysis *analysis;
	struct operator_rates *rates;
	struct operator_finder *finder;
	struct lookup rows;
	const struct analysis_worker *worker;
	struct device_peak peak;
	double weight; /* of one of the worker's iterations in the mean */
};

static struct operator_rate *rate_of(
	struct search *search, const struct operator_found *found, enum phase phase)
{
	const struct timeline *timeline = &search->analysis->timeline;
	const char *name = timeline->range_names[found->name].name;
	const uint64_t hash = mem_hash(mem_hash(mem_hash_text(MEM_HASH_START, name), found->inputs), phase);
	struct operator_rates *rates = search->rates;
	char shape[WORK_SHAPE_BYTES];
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&search->rows, hash, &at)) != LOOKUP_NONE;)
		if (rates->items[i].inputs == found->inputs && rates->items[i].phase == phase &&
			strcmp(rates->items[i].name, name) == 0)
			return &rates->items[i];
	lookup_add(&search->rows, hash, (uint32_t)rates->count);
	work_operator_shape(timeline->strings[found->inputs], shape);
	*MEM_PUSH(rates->items, rates->count, rates->room) = (struct operator_rate){.name = name,
		.shape = arena_text(&rates->arena, shape, strlen(shape)),
		.phase = phase,
		.kind = found->work.kind,
		.inputs = found->inputs};
	return &rates->items[rates->count - 1];
}

/* What the operator is, once for all that it launches. */
static void add_work(struct search *search, struct operator_rate *rate, const struct work *work)
{
	const struct device_peak *peak = &search->peak;
	const double flops_ns = peak->source ? work->flops / peak->flops[work->type] * 1e9 : NAN;
	const double bytes_ns = peak->source ? work->bytes / peak->bandwidth * 1e9 : NAN;

	rate->type = work->type;
	rate->amount.flops += search->weight * work->flops;
	rate->amount.bytes += search->weight * work->bytes;
	rate->amount.flops_ns += search->weight * flops_ns;
	rate->amount.bytes_ns += search->weight * bytes_ns;
	rate->amount.roof_ns += search->weight * fmax(flops_ns, bytes_ns);
}

static void add_call(struct search *search, const struct timeline_call *call, enum phase phase)
{
	const struct timeline *timeline = &search->analysis->timeline;
	const struct timeline_process *process = &timeline->processes[search->worker->worker->process];
	struct operator_found found;
	struct operator_rate *rate;
	const double ns = search->weight * timeline_device_ns(timeline, call);

	search->rates->time_ns += ns;
	if (!operator_find(search->finder, process, call, &found))
		return;
	rate = rate_of(search, &found, phase);
	rate->kernels += search->weight * call->interval_count;
	if (found.first)
		rate->amount.calls += search->weight;
	rate->link |= timeline_function(timeline, call)->kind == PM_KIND_COPY;
	if (found.first && found.work.known)
		add_work(search, rate, &found.work);
	if (found.work.known) {
		rate->amount.time_ns += ns;
		search->rates->known_ns += ns;
	} else {
		rate->amount.unknown_ns += ns;
	}
}

static void add_iteration(struct search *search, size_t iteration)
{
	struct analysis_walk at = analysis_walk(search->analysis, search->worker, iteration);

	while (analysis_next(&at))
		if (at.call.interval_count > 0 && !at.is_shared && at.role->phase < PHASE_WORK_COUNT &&
			at.role->phase != PHASE_COMMUNICATION)
			add_call(search, &at.call, at.role->phase);
}

static double spent_ns(const struct operator_rate *rate)
{
	return rate->amount.time_ns + rate->amount.unknown_ns;
}

static int compare_rates(const void *left, const void *right)
{
	const struct operator_rate *a = left, *b = right;

	if (spent_ns(a) != spent_ns(b))
		return spent_ns(a) > spent_ns(b) ? -1 : 1;
	return strcmp(a->name, b->name) ? strcmp(a->name, b->name) : strcmp(a->shape, b->shape);
}

static void settle(struct operator_rates *rates)
{
	for (size_t i = 0; i < rates->count; i++) {
		struct roofline_amount *amount = &rates->items[i].amount;

		if (amount->roof_ns > 0)
			amount->bound =
				amount->flops_ns >= amount->bytes_ns ? ROOFLINE_COMPUTE : ROOFLINE_MEMORY;
	}
	if (rates->count)
		qsort(rates->items, rates->count, sizeof(*rates->items), compare_rates);
}

void operator_rates_find(
	const struct analysis *analysis, const struct roofline_options *options, struct operator_rates *rates)
{
	struct search search = {.analysis = analysis, .rates = rates};

	*rates = (struct operator_rates){0};
	search.finder = operator_finder_make(&analysis->timeline);
	for (size_t w = 0; search.finder && w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		search.worker = worker;
		search.peak = roofline_peak(&analysis->timeline, worker->worker, options);
		if (worker->used_count)
			search.weight = 1 / (double)worker->used_count / (double)analysis->worker_count;
		for (size_t i = 0; i < worker->used_count; i++)
			add_iteration(&search, worker->used[i]);
	}
	settle(rates);
	lookup_free(&search.rows);
	operator_finder_free(search.finder);
}

void operator_rates_free(struct operator_rates *rates)
{
	free(rates->items);
	arena_free(&rates->arena);
	*rates = (struct operator_rates){0};
}
