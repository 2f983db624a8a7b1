/* What the host did while a device was idle: see host_calls.h. One sweep over calls and idle stretches, both
 * in order of time. Of the work only what may end the next idle stretch is kept. */
#include "host_calls.h"
#include "host_place.h"
#include "kernels.h"
#include "timeline/thresholds.h"

#include <stdlib.h>
#include <string.h>

#define OUTSIDE UINT32_MAX /* in host_places: no call */

/* When work began on the device, and the call that gave it. */
struct start {
	int64_t begin_ns;
	uint32_t call;
};

struct search {
	const struct analysis *analysis;
	const struct step *step;
	const struct analysis_worker *worker;
	const struct timeline_process *process;
	struct host_calls *list;
	struct lookup names;
	struct host_places places;
	uint32_t *item_of;    /* by operation of the process: place in the list + 1 */
	struct start *starts; /* of work that may end the next idle stretch: a heap, the earliest first */
	size_t start_count, start_room;
	size_t given;   /* calls of the worker whose work is or was among them */
	uint32_t *open; /* calls that may reach into what comes */
	size_t open_count, open_room;
	size_t next;     /* call of the process */
	size_t used;     /* place among the used iterations */
	size_t computed; /* the last of them that has computed, + 1 */
	int thread;      /* of the last stretch at the end of an iteration; -1: there was none */
	bool copied;     /* did a copy of input end the last stretch at the end of an iteration? */
	struct phase_spans left,
		outside; /* of one stretch: what no call of its thread covers, and none at all */
};

static struct host_call *item_of(struct search *search, const struct timeline_call *call)
{
	const struct timeline_function *function = timeline_function(&search->analysis->timeline, call);
	uint32_t *known = &search->item_of[call->operation - search->process->first_operation];
	struct host_calls *list = search->list;
	uint64_t hash;
	size_t at = 0;
	uint32_t i;

	if (*known)
		return &list->items[*known - 1];
	hash = mem_hash_text(MEM_HASH_START, function->name);
	while ((i = lookup_next(&search->names, hash, &at)) != LOOKUP_NONE)
		if (strcmp(list->items[i].name, function->name) == 0)
			break;
	if (i == LOOKUP_NONE) {
		i = (uint32_t)list->count;
		*MEM_PUSH(list->items, list->count, list->room) =
			(struct host_call){.name = function->name, .kind = function->kind};
		lookup_add(&search->names, hash, i);
	}
	*known = i + 1;
	return &list->items[i];
}

static bool is_before(const struct start *a, const struct start *b)
{
	return a->begin_ns < b->begin_ns || (a->begin_ns == b->begin_ns && a->call < b->call);
}

static void add_start(struct search *search, struct start start)
{
	size_t place = search->start_count;

	MEM_PUSH(search->starts, search->start_count, search->start_room);
	for (; place > 0 && is_before(&start, &search->starts[(place - 1) / 2]); place = (place - 1) / 2)
		search->starts[place] = search->starts[(place - 1) / 2];
	search->starts[place] = start;
}

static void drop_start(struct search *search)
{
	struct start start = search->starts[--search->start_count];
	size_t place = 0;

	for (size_t child; (child = 2 * place + 1) < search->start_count; place = child) {
		if (child + 1 < search->start_count &&
			is_before(&search->starts[child + 1], &search->starts[child]))
			child++;
		if (!is_before(&search->starts[child], &start))
			break;
		search->starts[place] = search->starts[child];
	}
	search->starts[place] = start;
}

/* Of the worker's next call, those at or after `from_ns`. */
static void add_starts(struct search *search, int64_t from_ns)
{
	const struct timeline *timeline = &search->analysis->timeline;
	uint32_t number = search->worker->worker->calls[search->given++];
	const struct timeline_call *call = TIMELINE_CALL(timeline, number);

	for (uint32_t i = 0; i < call->interval_count; i++)
		if (timeline_interval(timeline, call->interval + i).begin_ns >= from_ns)
			add_start(search,
				(struct start){
					timeline_interval(timeline, call->interval + i).begin_ns, number});
	if (call->interval_count == 0 && call->end_ns >= from_ns)
		add_start(search, (struct start){call->end_ns, number});
}

/* The thread that gave the work which ends an idle stretch; at the end of the recording, of the last at an
 * iteration's end; -1: there is none. Work never begins before its call: of calls after the earliest start
 * none can be it. */
static int thread_behind(struct search *search, int64_t end_ns)
{
	const struct timeline *timeline = &search->analysis->timeline;
	const struct worker *worker = search->worker->worker;

	while (search->start_count && search->starts[0].begin_ns < end_ns)
		drop_start(search);
	while (search->given < worker->call_count &&
		(search->start_count == 0 || timeline_call(timeline, worker->calls[search->given]).begin_ns <=
						     search->starts[0].begin_ns))
		add_starts(search, end_ns);
	return search->start_count ? timeline_call(timeline, search->starts[0].call).thread : search->thread;
}

static struct timeline_call process_call(const struct search *search, size_t number)
{
	return timeline_call(&search->analysis->timeline, search->process->first_call + number);
}

/* Calls that begin before `end_ns`, without those that ended by `begin_ns`. */
static void open_calls(struct search *search, int64_t begin_ns, int64_t end_ns)
{
	size_t kept = 0;

	for (; search->next < search->process->call_count &&
		process_call(search, search->next).begin_ns < end_ns;
		search->next++)
		if (!(process_call(search, search->next).flags & TIMELINE_FLAG_REPLAYED))
			*MEM_PUSH(search->open, search->open_count, search->open_room) =
				(uint32_t)search->next;
	for (size_t i = 0; i < search->open_count; i++)
		if (process_call(search, search->open[i]).end_ns > begin_ns)
			search->open[kept++] = search->open[i];
	search->open_count = kept;
}

/* Of iterations that all ranks have, as the typical one is. */
static bool is_typical(const struct search *search, size_t used)
{
	return used < search->step->used && !search->step->outlier[used];
}

static void add_idle(struct search *search, struct host_call *item, double part_ns)
{
	if (is_typical(search, search->used)) {
		item->typical_ns += part_ns;
		item->lead_ns += search->computed <= search->used ? part_ns : 0;
	} else if (search->used < search->step->used) {
		item->outlier_ns += part_ns;
	}
}

/* Gives the stretch, whose level is the idle phase, to calls of the thread (`own`), or of others; what is
 * left is added to `rest`. Calls in each other count once, as the outer one. */
static void give(struct search *search, const struct phase_span *stretch, int thread, bool own,
	struct phase_spans *rest)
{
	int64_t done_ns = stretch->begin_ns;

	for (size_t i = 0; i < search->open_count && done_ns < stretch->end_ns; i++) {
		const struct timeline_call call = process_call(search, search->open[i]);
		int64_t end_ns = call.end_ns < stretch->end_ns ? call.end_ns : stretch->end_ns;
		struct host_call *item;
		double part_ns;

		if ((call.thread == thread) != own || call.begin_ns >= stretch->end_ns || end_ns <= done_ns)
			continue;
		if (call.begin_ns > done_ns)
			phase_add_span(rest, done_ns, call.begin_ns, stretch->level);
		part_ns = (double)(end_ns - (call.begin_ns > done_ns ? call.begin_ns : done_ns));
		item = item_of(search, &call);
		if (stretch->level != PHASE_IDLE_QUEUE - PHASE_WORK_COUNT)
			add_idle(search, item, part_ns);
		item->phases_ns[stretch->level] += part_ns;
		host_places_add(&search->places, &search->analysis->timeline, search->process,
			&(struct host_part){end_ns - (int64_t)part_ns, end_ns,
				(uint32_t)(item - search->list->items), call.thread},
			call.operation);
		done_ns = end_ns;
	}
	phase_add_span(rest, done_ns, stretch->end_ns, stretch->level);
}

/* Is the call at the head of the starts a copy of input? At the end of the recording: as at the last end. */
static bool starts_copy(const struct search *search)
{
	const struct analysis_worker *worker = search->worker;
	uint32_t operation;

	if (search->start_count == 0)
		return search->copied;
	operation = timeline_call(&search->analysis->timeline, search->starts[0].call).operation;

	return phase_role(&search->analysis->model, worker->worker, &worker->layers, PHASE_NO_ITERATION, NULL,
		       operation)
		       ->phase == PHASE_H2D;
}

static void add_typical_outside(struct search *search, double ns, bool copy)
{
	struct host_idle *outside = &search->list->outside;

	if (!is_typical(search, search->used)) {
		outside->outlier_ns += search->used < search->step->used ? ns : 0;
		return;
	}
	outside->typical_ns += ns;
	if (search->computed <= search->used) {
		outside->lead_ns += ns;
		outside->lead_launch_ns += copy ? 0 : ns;
	} else if (copy) {
		outside->copy_ns += ns;
	}
}

/* Idle time in no call, of the thread whose call ends it; -1: there is none. */
static void add_outside(struct search *search, const struct phase_span *span, int thread)
{
	const struct timeline *timeline = &search->analysis->timeline;
	uint32_t operation = 0;

	search->list->outside_each_ns[search->used] += (double)(span->end_ns - span->begin_ns);
	if (span->level != PHASE_IDLE_QUEUE - PHASE_WORK_COUNT)
		add_typical_outside(search, (double)(span->end_ns - span->begin_ns), starts_copy(search));
	if (thread < 0)
		return;
	if (search->start_count)
		operation = timeline_call(timeline, search->starts[0].call).operation;
	host_places_add(&search->places, timeline, search->process,
		&(struct host_part){span->begin_ns, span->end_ns, OUTSIDE, (uint16_t)thread}, operation);
}

static void take_stretch(void *context, enum phase phase, int64_t begin_ns, int64_t end_ns)
{
	struct search *search = context;
	const struct analysis_worker *worker = search->worker;
	const struct iteration *items = worker->iterations.items;
	int thread;

	while (search->used < worker->used_count && items[worker->used[search->used]].end_ns <= begin_ns)
		search->used++;
	if (search->used == worker->used_count || items[worker->used[search->used]].begin_ns > begin_ns)
		return;
	if (phase_facts[phase].does == PHASE_DOES_COMPUTING)
		search->computed = search->used + 1;
	if (phase < PHASE_WORK_COUNT)
		return;
	thread = thread_behind(search, end_ns);
	if (items[worker->used[search->used]].end_ns == end_ns) {
		search->thread = thread;
		search->copied = starts_copy(search);
	}
	open_calls(search, begin_ns, end_ns);
	search->left.count = search->outside.count = 0;
	give(search, &(struct phase_span){begin_ns, end_ns, (uint32_t)phase - PHASE_WORK_COUNT}, thread, true,
		&search->left);
	for (size_t i = 0; i < search->left.count; i++)
		give(search, &search->left.items[i], thread, false, &search->outside);
	for (size_t i = 0; i < search->outside.count; i++)
		add_outside(search, &search->outside.items[i], thread);
}

static void count_call(struct search *search, const struct timeline_call *call, size_t used)
{
	const struct iteration *item = &search->worker->iterations.items[search->worker->used[used]];
	int64_t begin_ns = call->begin_ns > item->begin_ns ? call->begin_ns : item->begin_ns;
	int64_t end_ns = call->end_ns < item->end_ns ? call->end_ns : item->end_ns;
	double whole_ns = (double)(call->end_ns - call->begin_ns);
	struct host_call *host_call;

	if (end_ns < begin_ns || (call->flags & TIMELINE_FLAG_REPLAYED))
		return;
	host_call = item_of(search, call);
	host_call->count += begin_ns == call->begin_ns;
	if (is_typical(search, used))
		host_call->time_ns += (double)(end_ns - begin_ns);
	if (whole_ns > host_call->longest_ns)
		host_call->longest_ns = whole_ns;
}

/* Number of the calls that begin in used iterations, and the time of calls that lies in them. */
static void count_calls(struct search *search)
{
	const struct analysis_worker *worker = search->worker;
	const struct iteration *items = worker->iterations.items;
	size_t first = 0;

	for (size_t i = 0; i < search->process->call_count; i++) {
		const struct timeline_call *call =
			TIMELINE_CALL(&search->analysis->timeline, search->process->first_call + i);

		while (first < worker->used_count && items[worker->used[first]].end_ns <= call->begin_ns)
			first++;
		for (size_t u = first;
			u < worker->used_count && items[worker->used[u]].begin_ns <= call->end_ns; u++)
			count_call(search, call, u);
	}
}

static int compare_items(const void *left, const void *right)
{
	const struct host_call *a = left, *b = right;

	if (a->idle_ns != b->idle_ns)
		return a->idle_ns > b->idle_ns ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Names the place of a row with that idle time in all, functions of C++ as kernels are; NULL: none is known.
 */
static const char *name_place(struct search *search, uint32_t item, double idle_ns, double *share)
{
	const struct host_place *most = host_places_most(&search->places, item);
	const char *name;

	if (!most || !(idle_ns > 0))
		return NULL;
	*share = most->idle_ns / idle_ns;
	name = arena_text(&search->list->arena, most->name, most->length);
	return strncmp(name, "_Z", 2) == 0 ? kernel_title(&search->list->arena, name) : name;
}

void host_calls_find(
	const struct analysis *analysis, const struct step *step, size_t number, struct host_calls *list)
{
	const struct analysis_worker *worker = &analysis->workers[number];
	struct search search = {.analysis = analysis,
		.step = step,
		.worker = worker,
		.process = &analysis->timeline.processes[worker->worker->process],
		.list = list,
		.thread = -1};
	size_t count = worker->used_count;
	double typical = (double)(step->used - step->outlier_count);

	memset(list, 0, sizeof(*list));
	if (count == 0 || search.process->hostless)
		return;
	search.item_of = mem_alloc(search.process->operation_count, sizeof(*search.item_of));
	list->outside_each_ns = mem_alloc(count, sizeof(*list->outside_each_ns));
	phase_stretches(&analysis->model, worker->worker, &worker->iterations, &worker->layers, take_stretch,
		&search);
	count_calls(&search);
	list->by_sites = search.process->frame_count == 0;
	host_places_settle(&search.places, &analysis->timeline, search.process);
	for (size_t i = 0; i < list->count; i++) {
		struct host_call *call = &list->items[i];

		call->count /= (double)count;
		call->time_ns /= typical;
		call->typical_ns /= typical;
		call->lead_ns /= typical;
		if (step->outlier_count)
			call->outlier_ns /= (double)step->outlier_count;
		for (int phase = 0; phase < HOST_CALLS_IDLE; phase++) {
			call->phases_ns[phase] /= (double)count;
			call->idle_ns += call->phases_ns[phase];
		}
		call->place =
			name_place(&search, (uint32_t)i, call->idle_ns * (double)count, &call->place_share);
		list->idle_ns += call->idle_ns;
	}
	for (size_t i = 0; i < count; i++)
		list->outside_ns += list->outside_each_ns[i] / (double)count;
	list->outside.typical_ns /= typical;
	list->outside.lead_ns /= typical;
	list->outside.lead_launch_ns /= typical;
	list->outside.copy_ns /= typical;
	if (step->outlier_count)
		list->outside.outlier_ns /= (double)step->outlier_count;
	list->outside_place =
		name_place(&search, OUTSIDE, list->outside_ns * (double)count, &list->outside_share);
	list->idle_ns += list->outside_ns;
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_items);
	lookup_free(&search.names);
	host_places_free(&search.places);
	free(search.item_of);
	free(search.starts);
	free(search.open);
	free(search.left.items);
	free(search.outside.items);
}

void host_calls_free(struct host_calls *list)
{
	free(list->items);
	free(list->outside_each_ns);
	arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}

bool host_call_waits(enum pm_kind kind, double ns)
{
	return kind == PM_KIND_ALLOC || kind == PM_KIND_SYNC || ns >= HOST_LAUNCHING_NS;
}

bool host_call_blocks(const struct host_call *call)
{
	return host_call_waits(call->kind, call->count > 0 ? call->time_ns / call->count : 0);
}
