/* What `pmanalyze whatif` prints: see whatif_show.h. */
#include "whatif_show.h"
#include "analyses/finding/finding_whatif.h"

#include <math.h>
#include <string.h>

#define LITTLE 0.0005 /* of the mean step: what figures show */

static const char *const kind_keys[] = {[WHATIF_LAYER] = "layer",
	[WHATIF_COMMUNICATION] = "communication",
	[WHATIF_OVERLAP] = "overlap",
	[WHATIF_HOST] = "host",
	[WHATIF_INPUT] = "input",
	[WHATIF_BALANCE] = "balance",
	[WHATIF_STAGES] = "stages",
	[WHATIF_RANK] = "rank"};

/* All that is asked for, in words. */
static const char *asked_words(const struct whatif_show *show, const struct replay_job *job)
{
	struct analysis *analysis = show->findings->analysis;
	const char *words = "";

	for (size_t i = 0; i < show->asked_count; i++)
		words = arena_format(&analysis->timeline.arena, "%s%s%s", words, i ? ", " : "",
			whatif_words(analysis, job, &show->asked[i]));
	return words;
}

/* `asked`: what several changes together are called, which findings are not about. */
static void result_table(struct print_table *table, const struct whatif_show *show,
	const struct replay_job *job, const char *asked, size_t rows)
{
	struct analysis *analysis = show->findings->analysis;
	const struct whatif_list *list = show->list;
	const bool several = show->asked_count > 1;
	size_t what = print_column(table, "what", "if", PRINT_WORD);
	size_t kind = print_column(table, "kind", NULL, PRINT_WORD);
	size_t layer = print_column(table, "layer", NULL, PRINT_WORD);
	size_t worker = print_column(table, "worker", NULL, PRINT_WORD);
	size_t factor = print_column(table, "factor", NULL, PRINT_REAL);
	size_t predicted = print_column(table, "predicted", "iteration", PRINT_TIME);
	size_t gain = print_column(table, "gain", "gain", PRINT_TIME);
	size_t share = print_column(table, "gain_share", "gain, %", PRINT_SHARE);
	size_t speedup = print_column(table, "speedup", "speed-up", PRINT_REAL);
	size_t numbers = print_column(table, "findings", NULL, PRINT_WORD);
	size_t found_gain = print_column(table, "found", NULL, PRINT_TIME);
	size_t why = print_column(table, "why_more", NULL, PRINT_WORD);

	for (size_t i = 0; i < list->count && i < rows; i++) {
		const struct whatif_result *item = &list->items[i];
		const char *words = several ? asked : whatif_words(analysis, job, &item->change);
		struct finding_whatif found;

		print_row(table);
		print_word(table, what, words);
		print_word(table, kind, several ? "several" : kind_keys[item->change.kind]);
		if (!several && item->change.kind == WHATIF_LAYER)
			print_word(table, layer, layer_title(job->layers[item->change.layer].layer));
		if (!several && item->change.kind == WHATIF_RANK)
			print_word(table, worker,
				analysis_worker_name(analysis, &analysis->workers[item->change.worker]));
		if (!several && item->change.factor > 0 &&
			(item->change.kind == WHATIF_LAYER || item->change.kind == WHATIF_COMMUNICATION))
			print_number(table, factor, item->change.factor);
		print_number(table, predicted, item->predicted_ns);
		print_number(table, gain, item->gain_ns);
		print_number(table, share, item->gain_ns / list->replayed_ns);
		print_number(table, speedup, item->speedup);
		if (several || !finding_whatif(show->findings, item, &found))
			continue;
		print_word(table, numbers, found.numbers);
		print_number(table, found_gain, found.gain_ns);
		if (found.why)
			print_word(table, why, found.why);
	}
}

/* Does the change gain visibly more than the findings about it say, and by so little that none is for that?
 */
static bool is_little_more(const struct finding_list *findings, const struct whatif_result *item,
	const struct finding_whatif *found)
{
	return !found->why && item->gain_ns > found->gain_ns + LITTLE * findings->step.mean_ns;
}

/* Why changes gain more than the findings about them say. */
static void print_why(const struct whatif_show *show, const struct replay_job *job, size_t rows, FILE *out)
{
	struct finding_list *findings = show->findings;
	const struct whatif_list *list = show->list;
	struct arena *arena = &findings->arena;
	struct finding_whatif found;
	bool little = false;

	for (size_t i = 0; i < list->count && i < rows && show->asked_count <= 1; i++) {
		const struct whatif_result *item = &list->items[i];

		if (!finding_whatif(findings, item, &found))
			continue;
		little |= is_little_more(findings, item, &found);
		if (!found.why)
			continue;
		print_paragraph(
			arena_format(arena, "%s: %s more than %s: %s.",
				whatif_words(findings->analysis, job, &item->change),
				print_time(arena, item->gain_ns - found.gain_ns),
				*found.numbers ? arena_format(arena, "the %s that finding%s %s say%s",
							 print_time(arena, found.gain_ns),
							 strchr(found.numbers, ',') ? "s" : "", found.numbers,
							 strchr(found.numbers, ',') ? "" : "s")
					       : "the findings say, as none is about it",
				found.why),
			2, out);
	}
	if (little)
		print_paragraph(
			"Where a change gains up to 1% of a step more than findings say, it removes what is "
			"too little for a finding.",
			2, out);
}

static void print_about(struct analysis *analysis, const struct whatif_list *list, size_t left, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;

	if (left > 0)
		print_paragraph(arena_format(arena, "%zu more with smaller gains (--top).", left), 2, out);
	print_paragraph(arena_format(arena,
				"Iteration: %s measured, %s replayed unchanged (%+.2f%%), over %zu of %zu "
				"iterations.",
				print_time(arena, list->measured_ns), print_time(arena, list->replayed_ns),
				(list->replayed_ns / list->measured_ns - 1) * 100, list->iteration_count,
				list->used_count),
		2, out);
	print_paragraph(
		arena_format(arena,
			"Replay: %zu rendezvous between ranks and %zu waits between queues%s; "
			"measured times contradict %zu dependenc%s, %zu left out.",
			list->meeting_count, list->recorded_waits + list->inferred_waits,
			list->inferred_waits ? list->recorded_waits ? " (some inferred from timing)"
								    : " (inferred from timing)"
					     : "",
			list->negative_count, list->negative_count == 1 ? "y" : "ies", list->cycle_count),
		2, out);
	if (analysis->worker_count > 1)
		print_paragraph(
			arena_format(arena, "Slowdown S = t / t_ideal: %.3f with all ranks balanced%s%s.",
				list->slowdown,
				analysis->stage_count > 1
					? arena_format(arena, ", %.3f with stages balanced too",
						  list->slowdown_stages)
					: "",
				list->slowdown < 1 ? ": balancing their times gains nothing" : ""),
			2, out);
}

static void add_facts(cJSON *object, const struct whatif_list *list)
{
	cJSON_AddNumberToObject(object, "measured_ns", list->measured_ns);
	cJSON_AddNumberToObject(object, "replayed_ns", list->replayed_ns);
	cJSON_AddNumberToObject(object, "replay_error", list->replayed_ns / list->measured_ns - 1);
	cJSON_AddNumberToObject(object, "iterations", (double)list->iteration_count);
	cJSON_AddNumberToObject(object, "used_iterations", (double)list->used_count);
	cJSON_AddNumberToObject(object, "meetings", (double)list->meeting_count);
	cJSON_AddNumberToObject(object, "recorded_waits", (double)list->recorded_waits);
	cJSON_AddNumberToObject(object, "inferred_waits", (double)list->inferred_waits);
	cJSON_AddNumberToObject(object, "contradicted", (double)list->negative_count);
	cJSON_AddNumberToObject(object, "left_out", (double)list->cycle_count);
	if (isfinite(list->slowdown)) {
		cJSON_AddNumberToObject(object, "slowdown", list->slowdown);
		cJSON_AddNumberToObject(object, "slowdown_stages", list->slowdown_stages);
	}
}

void whatif_show(const struct whatif_show *show, enum print_form form, cJSON *object, FILE *out)
{
	const struct whatif_list *list = show->list;
	struct analysis *analysis = show->findings->analysis;
	struct arena *arena = &analysis->timeline.arena;
	struct replay_job job = {.analysis = analysis};
	const size_t rows = form == PRINT_TEXT && list->count > show->top ? show->top : list->count;
	struct print_table table;
	const char *asked;

	replay_layers(&job);
	if (object)
		add_facts(object, list);
	if (list->iteration_count > 0 || form == PRINT_JSON) {
		print_init(&table, arena);
		asked = asked_words(show, &job);
		if (show->asked_count > 1 && form == PRINT_TEXT) {
			print_paragraph(arena_format(arena, "What if: %s.", asked), 2, out);
			asked = "all combined";
		}
		result_table(&table, show, &job, asked, rows);
		print_part(&table, form, object, "changes", "Mean iteration if changed, and gain",
			form == PRINT_TEXT, out);
		print_free(&table);
	}
	if (form == PRINT_TEXT && list->iteration_count > 0) {
		fputc('\n', out);
		print_why(show, &job, rows, out);
		print_about(analysis, list, list->count - rows, out);
	}
	replay_job_free(&job);
}
