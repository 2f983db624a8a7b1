/* The list of findings: what is common to their sources, and their order. See finding.h. */
#include "finding_make.h"
#include "base/parallel.h"
#include "base/text.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *key, *command;
} kinds[] = {
#define FINDING_ITEM(name, key, command) {key, command},
	FINDING_LIST(FINDING_ITEM)
#undef FINDING_ITEM
};

const char *finding_key(enum finding_kind kind)
{
	return kinds[kind].key;
}

const char *finding_command(enum finding_kind kind)
{
	return kinds[kind].command;
}

const char *finding_strength_text(enum finding_strength strength)
{
	static const char *const texts[] = {
		[FINDING_STRONG] = "strong", [FINDING_LIKELY] = "likely", [FINDING_WEAK] = "weak"};

	return texts[strength];
}

enum finding_strength finding_measured(const struct finding_list *list)
{
	if (list->step.whole || list->step.confidence < RUN_SURE || list->step.used < 3)
		return FINDING_WEAK;
	return list->step.used >= FINDING_SAMPLED_WELL && list->step.ranks >= list->step.world
		       ? FINDING_STRONG
		       : FINDING_LIKELY;
}

const char *finding_ranks(struct finding_list *list)
{
	const struct step *step = &list->step;

	if (step->world == 0)
		return arena_format(&list->arena, "%zu rank%s", step->ranks, pm_text_plural(step->ranks));
	return arena_format(
		&list->arena, "%zu of %zu rank%s", step->ranks, step->world, pm_text_plural(step->world));
}

/* What a figure over the used iterations of all workers rests on. */
static const char *basis_of(struct finding_list *list)
{
	const struct step *step = &list->step;
	const char *sure = step->confidence < RUN_SURE ? arena_format(&list->arena, " (confidence %.0f%%)",
								 100 * step->confidence)
						       : "";
	const char *text = step->whole ? arena_format(&list->arena, "the recording as one, %s", finding_ranks(list))
				       : arena_format(&list->arena, "%zu of %zu iterations%s, %s", step->used,
						 step->count, sure, finding_ranks(list));

	if (list->cut)
		text = arena_format(&list->arena, "%s, of a truncated file", text);
	return text;
}

void finding_add(struct finding_list *list, struct finding finding)
{
	if (isfinite(finding.gain_ns) && !(finding.gain_ns >= FINDING_LEAST * list->step.mean_ns))
		return;
	if (!finding.cause)
		finding.cause = "";
	if (!finding.layer)
		finding.layer = "";
	if (!finding.basis)
		finding.basis = basis_of(list);
	if (list->cut)
		finding.strength = FINDING_WEAK;
	*MEM_PUSH(list->items, list->count, list->room) = finding;
}

double finding_phase(const struct finding_list *list, size_t worker, enum phase phase)
{
	return step_phase(&list->step, &list->analysis->workers[worker], phase);
}

/* ---- The list ---- */

static int compare_findings(const void *left, const void *right)
{
	const struct finding *a = left, *b = right;

	if (isfinite(a->gain_ns) != isfinite(b->gain_ns))
		return isfinite(a->gain_ns) ? -1 : 1;
	if (isfinite(a->gain_ns) && a->gain_ns != b->gain_ns)
		return a->gain_ns > b->gain_ns ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->subject, b->subject);
}

/* "Other" only where the reader has read of one above. A straggler that follows, or costs too little to be
 * listed, is a persistent one all the same. */
static const char *waiting_title(const struct finding_list *list, size_t at)
{
	if (list->step.whole)
		return "Ranks wait for each other";
	for (size_t i = 0; i < at; i++)
		if (list->items[i].kind == FINDING_STRAGGLER)
			return "Jitter: no other persistent straggler";
	return list->causes.count ? "Jitter: changing stragglers" : "Jitter: no persistent straggler";
}

void finding_order(struct finding_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_findings);
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == FINDING_WAITING)
			list->items[i].title = waiting_title(list, i);
}

static void find_calls(void *context, size_t worker)
{
	struct finding_list *list = context;

	host_calls_find(list->analysis, &list->step, worker, &list->calls[worker]);
}

void findings_find(struct analysis *analysis, struct finding_list *list)
{
	memset(list, 0, sizeof(*list));
	list->analysis = analysis;
	balance_find(analysis, &list->balance);
	if (analysis->worker_count == 0)
		return;
	step_find(analysis, &list->step);
	list->cut = analysis->timeline.cut;
	list->job = slowdown_job_open(&analysis->timeline);
	list->calls = mem_alloc(analysis->worker_count, sizeof(*list->calls));
	if (list->job) {
		finding_job(list);
	} else {
		parallel_each(analysis->worker_count, 0, find_calls, list);
		cause_find(analysis, &list->balance, list->calls, &list->causes);
		finding_link(list);
		finding_stragglers(list);
		finding_input(list);
		finding_idle(list);
	}
	if (!list->step.whole) {
		finding_outliers(list);
		finding_evaluation(list);
	}
	finding_order(list);
}

void findings_free(struct finding_list *list)
{
	for (size_t w = 0; list->calls && w < list->analysis->worker_count; w++)
		host_calls_free(&list->calls[w]);
	free(list->calls);
	free(list->items);
	slowdown_job_close(list->job);
	cause_free(&list->causes);
	slow_links_free(&list->links);
	balance_free(&list->balance);
	step_free(&list->step);
	arena_free(&list->arena);
	memset(list, 0, sizeof(*list));
}
