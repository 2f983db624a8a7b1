/* Findings about a device's time on its own rank: calls that block the host, late launches, latencies,
 * exposed communication; and computing, which is none of them. Input is in finding_input.c. */
#include "finding_make.h"
#include "analyses/host_habit.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void finding_add_idle(struct finding_list *list, enum finding_kind kind, enum finding_strength strength,
	const char *title, const char *text, const char *advice, double gain_ns)
{
	static const struct {
		const char *subject, *title, *advice;
	} known[FINDING_COUNT] = {
		[FINDING_INPUT] = {"input", "Input: the GPUs wait for the batch",
			"prefetch in worker processes or threads, pin host memory"},
		[FINDING_LAUNCH] = {"launches", "Launch-bound: the host enqueues work too late",
			"larger batches, CUDA graphs, fused kernels, fewer synchronizations"},
		[FINDING_LATENCY] = {"latency", "The GPUs have work enqueued but do not start it",
			"larger or fused kernels, CUDA graphs, fewer waits between streams"},
		[FINDING_COMMUNICATION] = {"communication", "Communication is not hidden by computing",
			"overlap it with computing; fewer and larger messages, smaller data types"},
	};

	finding_add(list, (struct finding){.kind = kind,
				  .strength = strength,
				  .subject = known[kind].subject,
				  .title = title ? title : known[kind].title,
				  .text = text,
				  .advice = advice ? advice : known[kind].advice,
				  .worker = SIZE_MAX,
				  .gain_ns = gain_ns,
				  .lost_ns = gain_ns});
}

/* ---- Calls ---- */

static const struct host_call *find_call(const struct host_calls *calls, const char *name)
{
	for (size_t i = 0; i < calls->count; i++)
		if (strcmp(calls->items[i].name, name) == 0)
			return &calls->items[i];
	return NULL;
}

/* ", 83% of it in aten::item"; "": nowhere for most of the time, or unknown. `by`: what sites say. */
static const char *place_words(struct finding_list *list, const char *place, double share, const char *by)
{
	if (!place || share < MOSTLY)
		return "";
	return arena_format(&list->arena, ", %.0f%% of it in %s%s", 100 * share,
		list->calls[0].by_sites ? by : "", print_clean(&list->arena, place));
}

/* "4.079 calls a step take 455.763 us", "1 call in 29 steps takes 2.364 ms". */
static const char *count_text(struct finding_list *list, const struct host_call *call)
{
	const double all = call->count * (double)list->step.used;
	const bool rare = call->count < FINDING_RARE;
	const char *plural = (rare ? round(all) : call->count) == 1 ? "" : "s";
	const char *verb = *plural ? "take" : "takes";

	if (rare)
		return arena_format(&list->arena, "%.0f call%s in %zu steps %s %s", all, plural,
			list->step.used, verb,
			print_time(&list->arena, call->time_ns * (double)list->step.used));
	return arena_format(&list->arena, "%s call%s %s %s %s", print_figure(&list->arena, call->count, 4),
		plural, step_each(list->step.whole), verb, print_time(&list->arena, call->time_ns));
}

static void add_call(struct finding_list *list, const struct host_call *call, double least_ns)
{
	struct arena *arena = &list->arena;
	const bool rare = call->count < FINDING_RARE;

	finding_add(list,
		(struct finding){.kind = FINDING_CALL,
			.strength = rare && call->count * (double)list->step.used < FINDING_FEW_CALLS
					    ? FINDING_WEAK
					    : finding_measured(list),
			.subject = print_clean(arena, call->name),
			.title = arena_format(
				arena, "The host is blocked in %s", print_clean(arena, call->name)),
			.text = arena_format(arena, "The GPUs have no work meanwhile%s; %s, the longest %s",
				place_words(list, call->place, call->place_share, "calls made from "),
				count_text(list, call), print_time(arena, call->longest_ns)),
			.advice =
				rare ? "check what the program does in the steps that make this call, and how often it must"
				     : host_call_advice(call->name),
			.worker = SIZE_MAX,
			.gain_ns = least_ns,
			.lost_ns = least_ns});
}

/* Of the first worker's calls those that all workers are blocked in. */
static void add_calls(struct finding_list *list)
{
	for (size_t i = 0; i < list->calls[0].count; i++) {
		const struct host_call *call = &list->calls[0].items[i];
		double least_ns = call->typical_ns;

		for (size_t w = 1; w < list->analysis->worker_count; w++) {
			const struct host_call *other = find_call(&list->calls[w], call->name);

			least_ns = other ? fmin(least_ns, other->typical_ns) : 0;
		}
		if (host_call_blocks(call))
			add_call(list, call, least_ns);
	}
}

/* The worker's typical time without enqueued work, without what blocking calls cause of it. */
static double unblocked_ns(const struct finding_list *list, size_t worker)
{
	const struct host_calls *calls = &list->calls[worker];
	double mean_ns =
		analysis_phase(&list->analysis->workers[worker], 1, PHASE_IDLE_LAUNCH, ANALYSIS_EXCLUSIVE)
			.mean;
	const enum phase launch = PHASE_IDLE_LAUNCH;
	const size_t idle = launch - PHASE_WORK_COUNT; /* among the idle phases */
	double blocked_ns = 0;

	for (size_t i = 0; i < calls->count; i++)
		if (host_call_blocks(&calls->items[i]))
			blocked_ns += calls->items[i].phases_ns[idle];
	return mean_ns > 0
		       ? finding_phase(list, worker, PHASE_IDLE_LAUNCH) * fmax(0, 1 - blocked_ns / mean_ns)
		       : 0;
}

/* What the host does for most of the idle time that is in no call; NULL: nothing that has a name. */
static const struct host_habit *habit_of(const struct host_calls *calls)
{
	return !calls->by_sites && calls->outside_ns > MOSTLY * calls->idle_ns &&
			       calls->outside_share >= MOSTLY
		       ? host_habit_of(calls->outside_place)
		       : NULL;
}

static void add_launches(struct finding_list *list)
{
	struct arena *arena = &list->arena;
	double outside_ns = list->calls[0].outside_ns, idle_ns = list->calls[0].idle_ns;
	const struct host_habit *habit = habit_of(&list->calls[0]);
	double launch_ns = INFINITY;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		launch_ns = fmin(launch_ns, unblocked_ns(list, w));
	finding_add_idle(list, FINDING_LAUNCH, finding_measured(list),
		habit ? arena_format(arena, "The hosts pause: %s", habit->title) : NULL,
		arena_format(arena, "The GPUs have no work, and no call blocks the host%s",
			idle_ns > 0 && outside_ns > idle_ns / 2
				? arena_format(arena,
					  ": mostly between calls, in the program, framework or interpreter%s",
					  place_words(list, list->calls[0].outside_place,
						  list->calls[0].outside_share, "front of calls made from "))
				: ""),
		habit ? habit->advice : NULL, launch_ns);
}

/* The call in which the host is for most of the time that the device has enqueued work and does not begin it.
 */
static const struct host_call *call_meanwhile(const struct host_calls *calls)
{
	const struct host_call *best = NULL;

	for (size_t i = 0; i < calls->count; i++)
		if (host_call_blocks(&calls->items[i]) &&
			(!best || calls->items[i].phases_ns[PHASE_IDLE_QUEUE - PHASE_WORK_COUNT] >
					  best->phases_ns[PHASE_IDLE_QUEUE - PHASE_WORK_COUNT]))
			best = &calls->items[i];
	return best;
}

static void add_latency(struct finding_list *list)
{
	struct arena *arena = &list->arena;
	double queue_ns = INFINITY, mean_ns;
	const struct host_call *call;
	const char *meanwhile = "";
	size_t least = 0;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		if (finding_phase(list, w, PHASE_IDLE_QUEUE) < queue_ns) {
			queue_ns = finding_phase(list, w, PHASE_IDLE_QUEUE);
			least = w;
		}
	mean_ns =
		analysis_phase(&list->analysis->workers[least], 1, PHASE_IDLE_QUEUE, ANALYSIS_EXCLUSIVE).mean;
	call = call_meanwhile(&list->calls[least]);
	if (call && call->phases_ns[PHASE_IDLE_QUEUE - PHASE_WORK_COUNT] > mean_ns / 3)
		meanwhile = arena_format(arena,
			"; for %.0f%% of it the host is blocked in %s (%s %s); the trace cannot tell "
			"whether this call waits for the GPU or stalls it",
			100 * call->phases_ns[PHASE_IDLE_QUEUE - PHASE_WORK_COUNT] / mean_ns,
			print_clean(arena, call->name), print_time(arena, call->time_ns),
			step_each(list->step.whole));
	finding_add_idle(list, FINDING_LATENCY, *meanwhile ? FINDING_WEAK : finding_measured(list), NULL,
		arena_format(arena, "Latency between kernels, or a stream waits for another%s", meanwhile),
		NULL, queue_ns);
}

/* ---- Communication, computing ---- */

/* Waiting may be where it is hidden or where it is not: what moves is no more than what is exposed, and no
 * more than all that moves. */
struct finding_communication finding_communication(const struct finding_list *list, size_t worker)
{
	const struct analysis_worker *from = &list->analysis->workers[worker];
	const double share = 1 / (double)(list->step.used - list->step.outlier_count);
	struct finding_communication sum = {0};

	for (size_t i = 0; i < list->step.used; i++) {
		const struct phase_times *times = &from->phases.times[from->used[i]];
		const double busy_ns = (double)times->busy_ns[PHASE_COMMUNICATION] * share;
		const double exposed_ns = (double)times->exclusive_ns[PHASE_COMMUNICATION] * share;
		const double wait_ns = (double)times->wait_ns * share;

		if (list->step.outlier[i])
			continue;
		sum.busy_ns += busy_ns;
		sum.wait_ns += wait_ns;
		sum.exposed_ns += exposed_ns;
		sum.moving_ns += fmax(0, fmin(exposed_ns, busy_ns - wait_ns));
	}
	return sum;
}

enum exchange { EXCHANGE_OTHER, EXCHANGE_REDUCES, EXCHANGE_GATHERS, EXCHANGE_SENDS, EXCHANGE_COUNT };

static enum exchange exchange_of(enum pm_role role)
{
	static const enum exchange exchanges[PM_ROLE_COUNT] = {[PM_ROLE_ALL_GATHER] = EXCHANGE_GATHERS,
		[PM_ROLE_ALL_REDUCE] = EXCHANGE_REDUCES,
		[PM_ROLE_REDUCE] = EXCHANGE_REDUCES,
		[PM_ROLE_REDUCE_SCATTER] = EXCHANGE_REDUCES,
		[PM_ROLE_SEND] = EXCHANGE_SENDS,
		[PM_ROLE_RECEIVE] = EXCHANGE_SENDS,
		[PM_ROLE_SEND_RECEIVE] = EXCHANGE_SENDS};

	return exchanges[role];
}

/* The device time of a call that communicates; 0: it does not, or has none. */
static double exchange_ns(const struct timeline *timeline, const struct timeline_call *call)
{
	if (timeline_function(timeline, call)->kind != PM_KIND_COMM || call->interval_count == 0)
		return 0;
	return (double)(timeline_call_end(timeline, call) -
			timeline_interval(timeline, call->interval).begin_ns);
}

/* What most of the time of communication goes to in the used iterations. */
static enum exchange usual_exchange(const struct analysis *analysis)
{
	const struct timeline *timeline = &analysis->timeline;
	double sums_ns[EXCHANGE_COUNT] = {0}, all_ns = 0;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		for (size_t i = 0; i < worker->used_count; i++) {
			const struct iteration *item = &worker->iterations.items[worker->used[i]];

			for (size_t c = item->first_call; c < item->call_end; c++) {
				const struct timeline_call *call =
					TIMELINE_CALL(timeline, worker->worker->calls[c]);
				const double ns = exchange_ns(timeline, call);

				sums_ns[exchange_of(timeline_function(timeline, call)->facts.role)] += ns;
				all_ns += ns;
			}
		}
	}
	for (int i = 0; i < EXCHANGE_COUNT; i++)
		if (sums_ns[i] > MOSTLY * all_ns)
			return (enum exchange)i;
	return EXCHANGE_OTHER;
}

/* Of most of it: are they messages of which neither the partner is known nor when it was there? */
static bool are_partners_unknown(const struct analysis *analysis)
{
	const struct timeline *timeline = &analysis->timeline;
	bool *met = mem_alloc(timeline->call_count, sizeof(*met));
	double unknown_ns = 0, all_ns = 0;
	uint64_t peer;

	for (size_t i = 0; i < analysis->collectives.count; i++)
		met[analysis->collectives.items[i].call] = true;
	for (size_t i = 0; i < timeline->call_count; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, i);
		const double ns = exchange_ns(timeline, call);

		all_ns += ns;
		if (exchange_of(timeline_function(timeline, call)->facts.role) == EXCHANGE_SENDS && !met[i] &&
			!timeline_value(timeline, &timeline->operations[call->operation], "peer", &peer))
			unknown_ns += ns;
	}
	free(met);
	return unknown_ns > MOSTLY * all_ns;
}

/* NULL: what holds for any communication. Gradients are exchanged only where there is a backward pass. */
static const char *exchange_advice(const struct analysis *analysis)
{
	static const char *const advice[EXCHANGE_COUNT] = {
		[EXCHANGE_REDUCES] = "overlap gradient aggregation with the backward pass; fewer and larger "
				     "messages, smaller data types",
		[EXCHANGE_GATHERS] =
			"gather parameters while the layers before are computed; fewer and larger "
			"messages, smaller data types",
		[EXCHANGE_SENDS] = "send while the next micro-batch is computed; fewer and larger messages, "
				   "smaller data types",
	};
	bool backward =
		analysis_phase(analysis->workers, analysis->worker_count, PHASE_BACKWARD, ANALYSIS_BUSY)
			.mean > 0;

	return backward ? advice[usual_exchange(analysis)] : NULL;
}

/*
 * What a step loses at most. Of collectives what no rank can do without: the least of what they expose. A
 * message that comes late makes the next stage late, whose waiting is then of that message: each rank's
 * waiting and moving together is a bound there, and so is the moving of all.
 */
static double lost_ns(const struct finding_list *list, bool sends)
{
	double least_ns = INFINITY, moving_ns = 0;

	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		struct finding_communication own = finding_communication(list, w);

		least_ns = fmin(least_ns, sends ? own.exposed_ns : own.moving_ns);
		moving_ns += fmax(0, own.busy_ns - own.wait_ns);
	}
	return sends ? fmin(least_ns, moving_ns) : least_ns;
}

static void add_communication(struct finding_list *list)
{
	const struct analysis *analysis = list->analysis;
	const double ranks = (double)analysis->worker_count;
	struct arena *arena = &list->arena;
	const bool unknown = are_partners_unknown(analysis);
	bool absent = list->step.ranks < list->step.world, sends = usual_exchange(analysis) == EXCHANGE_SENDS;
	double busy_ns = 0, wait_ns = 0;
	const char *waits;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		struct finding_communication own = finding_communication(list, w);

		busy_ns += own.busy_ns / ranks;
		wait_ns += own.wait_ns / ranks;
	}
	waits = unknown ? "; the trace lacks the peers of its sends and receives (batched P2P), so an unknown part of it waits for "
			  "the partner, as in a pipeline's bubble"
		: absent ? "; how much of it waits for ranks without a trace is unknown"
		: sends && wait_ns > 0
			? arena_format(arena, "; %s of that waits for the partner, in the pipeline's bubble",
				  print_time(arena, wait_ns))
		: wait_ns > 0
			? arena_format(arena, ", of which %s waits for the last rank and is not counted here",
				  print_time(arena, wait_ns))
			: "";
	finding_add_idle(list, FINDING_COMMUNICATION,
		absent || unknown ? FINDING_WEAK : finding_measured(list), NULL,
		arena_format(arena, "%s %s of communication%s",
			list->step.whole ? "The recording has" : "A step has", print_time(arena, busy_ns),
			waits),
		exchange_advice(analysis), lost_ns(list, sends && wait_ns > 0));
}

static const struct layer *costliest(
	const struct finding_list *list, const struct analysis_worker *worker, double *most_ns)
{
	const struct layer *best = NULL;

	*most_ns = 0;
	for (size_t l = 0; l < worker->layers.count; l++) {
		const char *name = worker->layers.items[l].name;
		double ns = 0;

		for (int column = PHASE_LAYER_FORWARD; column <= PHASE_LAYER_UPDATE; column++) {
			double part_ns = column == PHASE_LAYER_COMMUNICATION
						 ? 0
						 : analysis_layer(list->analysis->workers,
							   list->analysis->worker_count, name,
							   (enum phase_layer_column)column)
							   .mean;

			ns += part_ns > 0 ? part_ns : 0;
		}
		if (ns > *most_ns) {
			*most_ns = ns;
			best = &worker->layers.items[l];
		}
	}
	return best;
}

/* Not an idle time, so without a gain: what a step is made of where nothing else is much of it. */
static void add_computing(struct finding_list *list)
{
	const struct analysis *analysis = list->analysis;
	struct arena *arena = &list->arena;
	double ns = analysis_compute(analysis->workers, analysis->worker_count).mean, layer_ns;
	const struct layer *layer = costliest(list, &analysis->workers[0], &layer_ns);

	if (!(ns >= MOSTLY * list->step.mean_ns))
		return;
	finding_add(list,
		(struct finding){.kind = FINDING_COMPUTING,
			.strength = finding_measured(list),
			.subject = "computing",
			.title = arena_format(arena, "The GPUs compute for %.0f%% of %s",
				100 * fmin(1, ns / list->step.mean_ns), step_unit(list->step.whole)),
			.text = layer ? arena_format(arena, "That is %s; the costliest layer is %s with %s",
						print_time(arena, ns), print_clean(arena, layer_title(layer)),
						print_time(arena, layer_ns))
				      : arena_format(arena, "That is %s", print_time(arena, ns)),
			.advice = "faster kernels: smaller data types, other algorithms; pmanalyze roofline",
			.worker = SIZE_MAX,
			.layer = layer ? layer_title(layer) : "",
			.gain_ns = NAN,
			.lost_ns = NAN});
}

void finding_idle(struct finding_list *list)
{
	add_calls(list);
	add_launches(list);
	add_latency(list);
	add_communication(list);
	add_computing(list);
}
