/* Findings about ranks that others wait for: persistent stragglers with their causes, and waiting that no
 * persistent straggler explains. */
#include "finding_make.h"

#include <math.h>

static const char *const advice[CAUSE_COUNT] = {
	[CAUSE_SLOWER] = "compare that GPU's clocks, power limit, temperature and other load",
	[CAUSE_LAYER] = "compare the kernels and algorithms chosen for that layer there with the others'",
	[CAUSE_LAYERS] = "compare the kernels and algorithms chosen there with the others'",
	[CAUSE_WORK] = "divide the batch evenly, or pad less",
	[CAUSE_INPUT] = "check that rank's storage and number of readers; prefetch",
	[CAUSE_CALL] = "find out why the call takes so long there",
	[CAUSE_PAUSE] = "record frames (with_stack=True), and see what that rank's program does there",
	[CAUSE_HOST] = "check that rank's host: CPU affinity, other processes; use CUDA graphs",
	[CAUSE_STAGE] = "move layers from that stage to the others",
	[CAUSE_LINK] = "check that link: type, width, errors, and rank placement",
	[CAUSE_UNKNOWN] = "record that rank's host calls and compare them with another rank",
};

/* What the others wait for in an iteration, each on average, as far as they compute nothing meanwhile: no
 * more than the time that they idle or are in communication alone. */
static double waiting_of_others(const struct finding_list *list, const struct cause *cause)
{
	const struct analysis *analysis = list->analysis;
	double others = (double)(analysis->worker_count - 1), sum_ns = 0, waits_ns = INFINITY;

	if (cause->wait_caused_ns > 0 && cause->kind != CAUSE_STAGE)
		waits_ns = step_typical(&list->step, list->balance.ranks[cause->worker].each_ns) / others;
	for (size_t w = 0; w < analysis->worker_count; w++) {
		if (w == cause->worker)
			continue;
		for (int phase = PHASE_IDLE_LAUNCH; phase < PHASE_COUNT; phase++)
			sum_ns += finding_phase(list, w, (enum phase)phase);
		sum_ns += finding_phase(list, w, PHASE_COMMUNICATION);
	}
	return fmin(waits_ns, sum_ns / others);
}

static const char *cause_words(struct finding_list *list, const struct cause *cause, const char *peer)
{
	const char *text = cause->text ? cause->text : cause_text(cause->kind);

	if (cause->layer[0])
		text = arena_format(&list->arena, "%s %s", text, print_clean(&list->arena, cause->layer));
	return peer ? arena_format(&list->arena, "%s to %s", text, peer) : text;
}

/* What the rank's causes that are listed already gain: the others wait once for all of them. */
static double gained_before(const struct finding_list *list, size_t worker)
{
	double ns = 0;

	for (size_t i = 0; i < list->count; i++)
		ns += list->items[i].worker == worker ? list->items[i].gain_ns : 0;
	return ns;
}

/* "The other ranks wait 3.210 ms for it (1.605 ms each, 22.0% of their time). ", or nothing. */
static const char *waiting_text(struct finding_list *list, const struct cause *cause, double others)
{
	struct arena *arena = &list->arena;

	if (!(cause->wait_caused_ns > 0))
		return "";
	if (others == 1)
		return arena_format(arena, "The other rank waits %s for it (%.1f%% of its time). ",
			print_time(arena, cause->wait_caused_ns), 100 * cause->share);
	return arena_format(arena, "The other ranks wait %s for it (%s each, %.1f%% of their time). ",
		print_time(arena, cause->wait_caused_ns), print_time(arena, cause->wait_caused_ns / others),
		100 * cause->share);
}

static enum finding_strength strength_of(const struct cause *cause, enum finding_strength measured)
{
	if (cause->kind == CAUSE_UNKNOWN)
		return FINDING_WEAK;
	return cause->inferred && measured == FINDING_STRONG ? FINDING_LIKELY : measured;
}

void finding_add_cause(struct finding_list *list, const struct cause *cause, const char *name,
	const char *peer, double others, double lost_ns, enum finding_strength strength, const char *basis)
{
	struct arena *arena = &list->arena;
	double left_ns = fmax(0, lost_ns - gained_before(list, cause->worker));
	double gain_ns = isfinite(cause->cost_ns) ? fmin(cause->cost_ns, left_ns) : left_ns;
	const char *words = cause_words(list, cause, peer);
	const char *waiting = waiting_text(list, cause, others);

	finding_add(list,
		(struct finding){.kind = FINDING_STRAGGLER,
			.strength = strength_of(cause, strength),
			.basis = basis,
			.cause = cause_key(cause->kind),
			.subject = cause->layer[0] ? arena_format(arena, "%s, %s", name,
							     print_clean(arena, cause->layer))
						   : name,
			.title = arena_format(arena, "Straggler %s: %s", name, words),
			.text = arena_format(arena, "%s%s: %s", waiting,
				isfinite(cause->cost_ns)
					? arena_format(arena, "%s cost %s", cause->is_mean ? "Mean" : "Median",
						  print_time(arena, cause->cost_ns))
					: "No cause is found",
				print_clean(arena, cause->evidence)),
			.advice = cause->advice ? cause->advice : advice[cause->kind],
			.worker = cause->worker,
			.layer = cause->layer,
			.gain_ns = gain_ns,
			.lost_ns = lost_ns});
}

static void add_cause(struct finding_list *list, const struct cause *cause)
{
	struct analysis *analysis = list->analysis;

	finding_add_cause(list, cause, analysis_worker_name(analysis, &analysis->workers[cause->worker]),
		cause->other != cause->worker
			? analysis_worker_name(analysis, &analysis->workers[cause->other])
			: NULL,
		(double)(analysis->worker_count - 1), waiting_of_others(list, cause), finding_measured(list),
		NULL);
}

/* A rank of a slow communicator is late in the next one. */
static bool is_in_slow_link(const struct finding_list *list, size_t worker)
{
	return list->links.lost_ns && list->links.lost_ns[worker] > 0;
}

/* Waiting that is not for a rank with a persistent cause: the rank that causes most of it is named, as such.
 */
static void add_waiting(struct finding_list *list)
{
	const struct analysis *analysis = list->analysis;
	struct arena *arena = &list->arena;
	double others = (double)(analysis->worker_count - 1), all_ns = 0, most_ns = 0;
	struct finding_late late;
	size_t most = 0;
	const char *name;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct balance_rank *rank = &list->balance.ranks[w];
		bool explained = is_in_slow_link(list, w);

		for (size_t i = 0; i < list->causes.count; i++)
			explained |= list->causes.items[i].worker == w;
		if (explained || analysis->workers[w].used_count == 0)
			continue;
		all_ns += step_typical(&list->step, rank->each_ns) / others;
		if (rank->wait_caused_ns > most_ns) {
			most_ns = rank->wait_caused_ns;
			most = w;
		}
	}
	if (!(all_ns > 0))
		return;
	name = analysis_worker_name(list->analysis, &list->analysis->workers[most]);
	late = finding_late(list, most, false, most_ns / others);
	if (!late.text)
		late = finding_late_in_turn(list);
	else
		late.text = arena_format(arena, "not in most iterations, but on average %s", late.text);
	finding_add(list,
		(struct finding){.kind = FINDING_WAITING,
			.strength = list->step.whole || list->step.ranks < list->step.world ? FINDING_WEAK
											    : FINDING_LIKELY,
			.subject = "changing stragglers",
			.text = arena_format(arena,
				"Most of it for %s: it causes %s of waiting, summed over the others, and is "
				"last in %.1f%% of the collectives; %s",
				name, print_time(arena, most_ns),
				100 * (double)list->balance.ranks[most].last_count /
					(double)list->balance.collective_count,
				late.text ? late.text
				: list->step.whole
					? "its layers, input and launches do not take longer than elsewhere"
					: "its layers, input and launches do not take longer than elsewhere in "
					  "most iterations"),
			.advice = late.advice ? late.advice
					      : "check for batches of different work, host pauses and other "
						"jobs on the machines",
			.worker = SIZE_MAX,
			.gain_ns = all_ns,
			.lost_ns = all_ns});
}

void finding_stragglers(struct finding_list *list)
{
	if (list->analysis->worker_count < 2)
		return;
	for (size_t i = 0; i < list->causes.count; i++)
		if (list->causes.items[i].kind != CAUSE_UNKNOWN || !is_in_slow_link(list, list->causes.items[i].worker))
			add_cause(list, &list->causes.items[i]);
	if (list->balance.collective_count)
		add_waiting(list);
}
