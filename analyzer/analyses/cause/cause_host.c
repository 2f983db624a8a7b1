/*
 * What the host of a worker does while its device has nothing to do, where its peer's host does not: calls
 * that block it, reading or preparing the batch, a pause, or launches that come late.
 *
 * Idle time before the first computation of an iteration (its lead) and after it (late) are counted apart,
 * as they are measured; what a call takes of either is no longer input's or launches'.
 */
#include "cause_find.h"
#include "analyses/host_habit.h"
#include "analyses/input_file.h"
#include "analyses/step.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <string.h>

#define NAMED 3               /* calls of a kind that a title names */

/* What the host does more than the peer's in an iteration. */
struct excess {
	double lead_ns, late_ns;
};

static const char *time_text(struct cause_search *search, double ns)
{
	return print_time(&search->list->arena, ns);
}

static const char *each_text(const struct cause_search *search)
{
	return step_each(search->analysis->is_whole);
}

static struct excess excess_of(double lead_ns, double typical_ns, double peer_lead_ns, double peer_typical_ns)
{
	return (struct excess){fmax(0, lead_ns - peer_lead_ns),
		fmax(0, (typical_ns - lead_ns) - (peer_typical_ns - peer_lead_ns))};
}

/* Does the excess recur, in the part of the iteration where most of it is? */
static bool excess_counts(const struct cause_search *search, struct excess excess)
{
	const struct cause_measure *own = search->own, *peer = search->peer;

	return excess.lead_ns > excess.late_ns
		       ? cause_figure_counts(search, &own->lead, &peer->lead, excess.lead_ns)
		       : cause_figure_counts(search, &own->host, &peer->host, excess.late_ns);
}

/* ---- Calls ---- */

static const struct host_call *call_named(const struct host_calls *calls, const char *name)
{
	for (size_t i = 0; i < calls->count; i++)
		if (strcmp(calls->items[i].name, name) == 0)
			return &calls->items[i];
	return NULL;
}

/* Calls of one kind that block: allocations all together, others each. */
struct blocking {
	const char *names; /* "cudaFree and cudaMalloc" */
	size_t count;
	struct excess excess;
	double own_ns, peer_ns, own_calls, peer_calls;
	const struct host_call *first;
};

static void add_blocking(struct cause_search *search, struct blocking *blocking, const struct host_call *call)
{
	static const struct host_call none;
	const struct host_call *other = call_named(search->peer_calls, call->name);
	struct excess excess;

	other = other ? other : &none;
	excess = excess_of(call->lead_ns, call->typical_ns, other->lead_ns, other->typical_ns);
	if (!(excess.lead_ns + excess.late_ns > 0))
		return;
	if (blocking->count < NAMED)
		blocking->names = blocking->count == 0
					  ? print_clean(&search->list->arena, call->name)
					  : arena_format(&search->list->arena, "%s and %s", blocking->names,
						    print_clean(&search->list->arena, call->name));
	if (blocking->count++ == 0)
		blocking->first = call;
	blocking->excess.lead_ns += excess.lead_ns;
	blocking->excess.late_ns += excess.late_ns;
	blocking->own_ns += call->typical_ns;
	blocking->peer_ns += other->typical_ns;
	blocking->own_calls += call->count;
	blocking->peer_calls += other->count;
}

/* ", 83% of it in aten::item"; "": unknown. Where a call was made for the first time is not where it blocks.
 */
static const char *place_text(struct cause_search *search, const struct host_call *call)
{
	if (search->own_calls->by_sites || !call->place || call->place_share < MOSTLY)
		return "";
	return arena_format(&search->list->arena, ", %.0f%% of it in %s", 100 * call->place_share,
		print_clean(&search->list->arena, call->place));
}

static void settle_blocking(struct cause_search *search, const struct blocking *blocking)
{
	struct excess *claimed = &(struct excess){fmin(blocking->excess.lead_ns, search->lead_ns),
		fmin(blocking->excess.late_ns, search->late_ns)};
	double cost_ns = claimed->lead_ns + claimed->late_ns;
	struct arena *arena = &search->list->arena;

	if (blocking->count == 0 || !cause_matters(search, cost_ns) || !excess_counts(search, *claimed))
		return;
	search->lead_ns -= claimed->lead_ns;
	search->late_ns -= claimed->late_ns;
	cause_add(search,
		(struct cause){.kind = CAUSE_CALL,
			.text = arena_format(arena, "%s %s", cause_text(CAUSE_CALL), blocking->names),
			.advice = host_call_advice(blocking->first->name),
			.cost_ns = cost_ns,
			.is_mean = true,
			.factor = NAN,
			.evidence = arena_format(arena,
				"its device has no work for %s %s meanwhile, other devices %s (%s calls %s vs "
				"%s)%s",
				time_text(search, blocking->own_ns), each_text(search),
				time_text(search, blocking->peer_ns), print_figure(arena, blocking->own_calls, 4),
				each_text(search), print_figure(arena, blocking->peer_calls, 4),
				place_text(search, blocking->first))});
}

/* Enqueuing work or an event that takes long is launching, not being blocked. */
static bool is_blocking(const struct host_call *call)
{
	switch (call->kind) {
	case PM_KIND_FORWARD:
	case PM_KIND_BACKWARD:
	case PM_KIND_COMPUTE:
	case PM_KIND_LAUNCH:
	case PM_KIND_COMM:
	case PM_KIND_GRAPH:
	case PM_KIND_EVENT:
		return false;
	default:
		return host_call_blocks(call);
	}
}

void cause_find_call(struct cause_search *search)
{
	const struct host_calls *calls = search->own_calls;
	struct blocking memory = {0};

	for (size_t i = 0; search->peer && calls && i < calls->count; i++) {
		struct blocking one = {0};
		bool is_memory = calls->items[i].kind == PM_KIND_ALLOC;

		if (!is_blocking(&calls->items[i]))
			continue;
		add_blocking(search, is_memory ? &memory : &one, &calls->items[i]);
		if (!is_memory)
			settle_blocking(search, &one);
	}
	if (search->peer)
		settle_blocking(search, &memory);
}

/* ---- Between calls ---- */

/* Where the host is for most of its device's idle time in no call; NULL: unknown. */
static const char *outside_place(const struct cause_search *search)
{
	const struct host_calls *calls = search->own_calls;

	return calls && !calls->by_sites && calls->outside_share >= MOSTLY ? calls->outside_place : NULL;
}

static struct excess outside_excess(const struct cause_search *search)
{
	const struct host_calls *own = search->own_calls, *peer = search->peer_calls;

	if (!own)
		return (struct excess){0};
	return excess_of(own->outside.lead_ns, own->outside.typical_ns, peer->outside.lead_ns,
		peer->outside.typical_ns);
}

/* ": mostly in dataset.py(31): __getitem__" */
static const char *mostly_text(struct cause_search *search, const char *place)
{
	return place ? arena_format(&search->list->arena, ", mostly in %s",
			       print_clean(&search->list->arena, place))
		     : "";
}

/* A pause with a name: garbage collection, a checkpoint. */
void cause_find_pause(struct cause_search *search)
{
	const char *place = outside_place(search);
	const struct host_habit *habit = host_habit_of(place);
	struct excess excess = outside_excess(search);
	struct arena *arena = &search->list->arena;

	if (!search->peer || !habit || habit->is_input)
		return;
	excess.lead_ns = fmin(excess.lead_ns * search->own_calls->outside_share, search->lead_ns);
	excess.late_ns = fmin(excess.late_ns * search->own_calls->outside_share, search->late_ns);
	if (!excess_counts(search, excess))
		return;
	search->lead_ns -= excess.lead_ns;
	search->late_ns -= excess.late_ns;
	cause_add(search,
		(struct cause){.kind = CAUSE_PAUSE,
			.text = arena_format(arena, "%s: %s", cause_text(CAUSE_PAUSE), habit->title),
			.advice = habit->advice,
			.cost_ns = excess.lead_ns + excess.late_ns,
			.is_mean = true,
			.factor = NAN,
			.evidence = arena_format(arena,
				"its device has no work and its host is in no call for %s %s, other hosts %s; "
				"%.0f%% of it in %s",
				time_text(search, search->own_calls->outside.typical_ns), each_text(search),
				time_text(search, search->peer_calls->outside.typical_ns),
				100 * search->own_calls->outside_share, print_clean(arena, place))});
}

/* ---- Input ---- */

static double input_ns(const struct cause_measure *measure)
{
	return measure->io.median + measure->md.median + measure->h2d.median;
}

/* Of what starts late, what no reading, dividing or copying is seen in. */
static bool is_unseen(const struct cause_search *search, double cost_ns)
{
	return input_ns(search->own) - input_ns(search->peer) < MOSTLY * cost_ns;
}

/* ", 20.1 ms of it in no call, mostly in dataset.py(31): __getitem__" or "; 80% of the reading is from FILE".
 */
static const char *source_text(struct cause_search *search, double cost_ns)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	struct arena *arena = &search->list->arena;
	struct input_file source;
	struct input_loader loader;

	if (own->io.median - peer->io.median > cost_ns / 2) {
		if (input_file_find(search->analysis, own->worker, arena, &source))
			return input_file_text(arena, &source);
		if (input_loader_find(search->analysis, own->worker, &loader))
			return input_loader_text(arena, &loader);
	}
	if (!search->own_calls || !is_unseen(search, cost_ns))
		return "";
	return arena_format(arena, "; the trace shows no reading in most of it: for %s of it the host is in no call%s",
		time_text(search, search->own_calls->outside.lead_ns),
		mostly_text(search, outside_place(search)));
}

/* The device waits for the batch after the last work of a step: the host has none to copy. */
static void find_late_copy(struct cause_search *search)
{
	const struct host_idle *own = &search->own_calls->outside, *peer = &search->peer_calls->outside;
	double cost_ns = fmin(own->copy_ns - peer->copy_ns, search->late_ns);
	const char *place = outside_place(search);
	const struct host_habit *habit = host_habit_of(place);

	if (!cause_figure_counts(search, &search->own->host, &search->peer->host, cost_ns))
		return;
	search->late_ns -= cost_ns;
	cause_add(search,
		(struct cause){.kind = CAUSE_INPUT,
			.advice = habit ? habit->advice : NULL,
			.inferred = !habit,
			.cost_ns = cost_ns,
			.is_mean = true,
			.factor = NAN,
			.evidence = arena_format(&search->list->arena,
				"its device has no work for %s %s before the next batch is copied, other "
				"devices %s, and the host is in no call%s%s",
				time_text(search, own->copy_ns), each_text(search), time_text(search, peer->copy_ns),
				mostly_text(search, place),
				place ? ""
				      : " (reading or preparing the batch, or other work between steps: the "
					"trace does not tell which; frames, with_stack=True, do)")});
}

void cause_find_input(struct cause_search *search)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	const struct host_habit *habit = host_habit_of(outside_place(search));
	double cost_ns = search->lead_ns;

	if (!peer)
		return;
	if (search->own_calls)
		find_late_copy(search);
	/* A stage's first work may wait for other stages in many ways: only what is seen counts. */
	if (cause_is_stage(search) && input_ns(own) - input_ns(peer) < cost_ns)
		cost_ns = input_ns(own) - input_ns(peer);
	if (!cause_figure_counts(search, &own->lead, &peer->lead, cost_ns))
		return;
	search->lead_ns -= cost_ns;
	cause_add(search,
		(struct cause){.kind = CAUSE_INPUT,
			.advice = habit ? habit->advice : NULL,
			.inferred = search->own_calls && !habit && is_unseen(search, cost_ns),
			.cost_ns = cost_ns,
			.factor = peer->lead.median > 0 ? own->lead.median / peer->lead.median : NAN,
			.evidence = arena_format(&search->list->arena,
				"its first computation starts %s after the start of the iteration, on "
				"other ranks %s (reading %s vs %s, preparing %s vs %s, copying %s vs %s)%s",
				time_text(search, own->lead.median), time_text(search, peer->lead.median),
				time_text(search, own->io.median), time_text(search, peer->io.median),
				time_text(search, own->md.median), time_text(search, peer->md.median),
				time_text(search, own->h2d.median), time_text(search, peer->h2d.median),
				source_text(search, cost_ns))});
}

/* ---- Launches ---- */

/* The call that makes the host wait for its device more often than the peer's: what is enqueued runs out. */
static const struct host_call *more_waits(const struct cause_search *search, double *other)
{
	const struct host_calls *calls = search->own_calls;
	const struct host_call *most = NULL;
	double most_more = FINDING_RARE;

	for (size_t i = 0; calls && i < calls->count; i++) {
		const struct host_call *call = &calls->items[i];
		const struct host_call *there = call_named(search->peer_calls, call->name);
		double more = call->count - (there ? there->count : 0);

		if ((call->kind != PM_KIND_SYNC && call->kind != PM_KIND_COPY) || !is_blocking(call) ||
			more <= most_more)
			continue;
		most_more = more;
		*other = there ? there->count : 0;
		most = call;
	}
	return most;
}

static double gaps(const struct cause_measure *measure)
{
	return (double)measure->late_count / (double)measure->sample_count;
}

/* Few gaps, each longer than launching takes, and most of them in no call: the host does something else. */
static bool is_pause(const struct cause_search *search, double cost_ns)
{
	double count = gaps(search->own) - gaps(search->peer);

	return count < CAUSE_FEW_GAPS && cost_ns > HOST_LAUNCHING_NS * fmax(count, 1) &&
	       outside_excess(search).late_ns >= MOSTLY * cost_ns;
}

/* After a call that waits for the device there is nothing enqueued, and what the host does next shows. */
static void add_waits(struct cause_search *search, double cost_ns, const struct host_call *call, double other)
{
	struct arena *arena = &search->list->arena;
	const char *name = print_clean(arena, call->name);

	cause_add(search,
		(struct cause){.kind = CAUSE_CALL,
			.text = arena_format(arena, "the host waits for its device more often, in %s", name),
			.advice = host_call_advice(call->name),
			.inferred = true,
			.cost_ns = cost_ns,
			.factor = NAN,
			.evidence = arena_format(arena,
				"%s calls of %s %s, other ranks %s%s; after them nothing is enqueued, and its "
				"device waits %s %s for launches, other devices %s",
				print_figure(arena, call->count, 4), name, each_text(search),
				print_figure(arena, other, 4), place_text(search, call),
				time_text(search, search->own->host.median), each_text(search),
				time_text(search, search->peer->host.median))});
}

/* ", and its first computation 1.8 ms more after the batch is copied" */
static const char *first_launch_text(struct cause_search *search)
{
	return search->first_launch_ns > 0
		       ? arena_format(&search->list->arena,
				 ", and its first computation comes %s later after the batch is copied",
				 time_text(search, search->first_launch_ns))
		       : "";
}

static void add_late(struct cause_search *search, double cost_ns)
{
	const struct cause_measure *own = search->own, *peer = search->peer;
	bool pause = is_pause(search, cost_ns);

	cause_add(search,
		(struct cause){.kind = pause ? CAUSE_PAUSE : CAUSE_HOST,
			.cost_ns = cost_ns,
			.factor = peer->host.median > 0 ? own->host.median / peer->host.median : NAN,
			.evidence = arena_format(&search->list->arena,
				"its device waits %s %s for launches, other devices %s (%.0f late launches vs "
				"%.0f)%s%s",
				time_text(search, own->host.median), each_text(search),
				time_text(search, peer->host.median), gaps(own), gaps(peer),
				first_launch_text(search),
				pause ? arena_format(&search->list->arena,
						"; meanwhile the host is in no call%s",
						mostly_text(search, outside_place(search)))
				      : "")});
}

void cause_find_host(struct cause_search *search)
{
	double cost_ns = search->late_ns, other = 0;
	const struct host_call *call;

	if (!search->peer || !cause_figure_counts(search, &search->own->host, &search->peer->host, cost_ns))
		return;
	call = more_waits(search, &other);
	if (call)
		add_waits(search, cost_ns, call, other);
	else
		add_late(search, cost_ns);
}
