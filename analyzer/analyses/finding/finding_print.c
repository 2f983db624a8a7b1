/* The one printer of findings: as text and as JSON. */
#include "base/text.h"
#include "finding.h"

#include <math.h>
#include <string.h>

const char *finding_step_text(struct finding_list *list)
{
	const struct step *step = &list->step;
	struct arena *arena = &list->arena;
	const char *spread = "", *outliers = "";

	if (step->whole)
		return arena_format(arena, "Recording: %s%s; no iterations are known, so it counts as one; %s.",
			step->used > 1 ? "mean of its parts " : "", print_time(arena, step->mean_ns),
			finding_ranks(list));
	if (step->used > 2)
		spread = arena_format(arena, " (quartiles %s and %s)", print_time(arena, step->low_ns),
			print_time(arena, step->high_ns));
	if (step->outlier_count)
		outliers = arena_format(arena, " (%s without %zu outlier%s)",
			print_time(arena, step->typical_ns), step->outlier_count,
			pm_text_plural(step->outlier_count));
	return arena_format(arena, "Step: median %s%s, mean %s%s; %zu of %zu iterations, %s.",
		print_time(arena, step->median_ns), spread, print_time(arena, step->mean_ns), outliers,
		step->used, step->count, finding_ranks(list));
}

static const char *with_stop(struct arena *arena, const char *text)
{
	size_t length = strlen(text);

	return length && text[length - 1] == '.' ? text : arena_format(arena, "%s.", text);
}

double finding_share(const struct finding_list *list, const struct finding *finding)
{
	return finding->gain_ns / list->step.mean_ns;
}

const char *finding_title_text(struct finding_list *list, const struct finding *finding)
{
	if (!isfinite(finding->gain_ns))
		return finding->title;
	return arena_format(&list->arena, "%s: at most %s %s (%.1f%%)", finding->title,
		print_time(&list->arena, finding->gain_ns), step_each(list->step.whole),
		100 * finding_share(list, finding));
}

/* `mark`: what it begins with, as "1." */
static void print_finding(
	struct finding_list *list, const struct finding *finding, const char *mark, FILE *out)
{
	static const char *const strengths[] = {"Strong", "Likely", "Weak"};
	struct arena *arena = &list->arena;

	print_paragraph(arena_format(arena, "%s %s. %s %s: %s. Try: %s. More: %s%s.", mark,
				finding_title_text(list, finding), with_stop(arena, finding->text),
				strengths[finding->strength], finding->basis, finding->advice,
				finding_command(finding->kind), list->analysis ? "" : ", of the traces"),
		(int)strlen(mark) + 1, out);
}

void findings_print(struct finding_list *list, size_t most, FILE *out)
{
	if (list->step.ranks == 0)
		return;
	print_heading(list->step.whole ? "Findings, % of the recording" : "Findings, % of the mean step", out);
	print_paragraph(finding_step_text(list), 2, out);
	for (size_t i = 0; i < list->count && i < most; i++)
		print_finding(list, &list->items[i], arena_format(&list->arena, "%zu.", i + 1), out);
	if (list->count == 0)
		print_paragraph(arena_format(&list->arena,
					"Nothing stands out: neither stragglers, input, launches nor communication "
					"cost 1%% of %s.",
					step_unit(list->step.whole)),
			2, out);
	if (list->count > most)
		print_paragraph(arena_format(&list->arena, "%zu more with smaller gains (--json has all).",
					list->count - most),
			2, out);
	if (list->step.whole)
		print_paragraph(arena_format(&list->arena,
					"Unknown without iterations: %s; whether what is above recurs in each step.",
					FINDING_NEED_ITERATIONS),
			2, out);
}

void findings_print_first(struct finding_list *list, FILE *out)
{
	if (list->step.ranks == 0)
		return;
	print_paragraph(finding_step_text(list), 2, out);
	if (list->count)
		print_paragraph(arena_format(&list->arena, "First finding: %s.",
					finding_title_text(list, &list->items[0])),
			2, out);
	else
		print_paragraph(
			arena_format(&list->arena, "No finding costs 1%% of %s.", step_unit(list->step.whole)), 2, out);
}

size_t findings_print_kind(struct finding_list *list, enum finding_kind kind, FILE *out)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == kind) {
			print_finding(list, &list->items[i], "-", out);
			count++;
		}
	return count;
}

void findings_print_stragglers(struct finding_list *list, FILE *out)
{
	size_t count = 0;

	fputs("\nStragglers\n", out);
	for (int kind = FINDING_STRAGGLER; kind <= FINDING_IMBALANCE; kind++)
		count += findings_print_kind(list, (enum finding_kind)kind, out);
	if (count == 0)
		print_paragraph("No straggler: no rank's lateness costs 1% of a step.", 2, out);
}

static void add_number(cJSON *object, const char *key, double number)
{
	if (isfinite(number))
		cJSON_AddNumberToObject(object, key, number);
	else
		cJSON_AddNullToObject(object, key);
}

void findings_json(struct finding_list *list, cJSON *object)
{
	const struct step *step = &list->step;
	cJSON *step_object = cJSON_AddObjectToObject(object, "step");
	cJSON *array = cJSON_AddArrayToObject(object, "findings");

	if (list->step.ranks == 0)
		return;
	add_number(step_object, "median_ns", step->median_ns);
	add_number(step_object, "quartile_low_ns", step->low_ns);
	add_number(step_object, "quartile_high_ns", step->high_ns);
	add_number(step_object, "mean_ns", step->mean_ns);
	add_number(step_object, "typical_ns", step->typical_ns);
	add_number(step_object, "outliers", list->analysis ? (double)step->outlier_count : NAN);
	add_number(step_object, "iterations", (double)step->used);
	add_number(step_object, "ranks", (double)step->ranks);
	add_number(step_object, "world", (double)step->world);
	if (step->whole)
		cJSON_AddStringToObject(step_object, "unknown", FINDING_NEED_ITERATIONS);
	for (size_t i = 0; i < list->count; i++) {
		const struct finding *finding = &list->items[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "kind", finding_key(finding->kind));
		cJSON_AddStringToObject(item, "cause", finding->cause);
		cJSON_AddStringToObject(item, "subject", finding->subject);
		cJSON_AddStringToObject(item, "layer", finding->layer);
		add_number(item, "gain_ns", finding->gain_ns);
		add_number(item, "lost_ns", finding->lost_ns);
		add_number(item, "gain_share", finding_share(list, finding));
		cJSON_AddStringToObject(item, "strength", finding_strength_text(finding->strength));
		cJSON_AddStringToObject(item, "title", finding->title);
		cJSON_AddStringToObject(item, "text", finding->text);
		cJSON_AddStringToObject(item, "basis", finding->basis);
		cJSON_AddStringToObject(item, "advice", finding->advice);
		cJSON_AddStringToObject(item, "command", finding_command(finding->kind));
		cJSON_AddItemToArray(array, item);
	}
}

#define SHOWN_IDLE 0.005 /* of the idle time, or of the step's: calls below both are not shown to people */
#define SHOWN_TIME 0.05

static bool is_shown(
	const struct finding_list *list, const struct host_calls *calls, const struct host_call *call)
{
	return call->idle_ns >= SHOWN_IDLE * calls->idle_ns ||
	       call->time_ns >= SHOWN_TIME * list->step.typical_ns;
}

/* `call` NULL: the idle time in no call. */
static void print_call(
	struct print_table *table, const struct host_calls *calls, const struct host_call *call)
{
	enum { NAME = 1, COUNT, TIME, LONGEST, IDLE, QUEUED, SHARE, PLACE, PLACE_SHARE };
	double idle_ns = call ? call->idle_ns : calls->outside_ns;
	const char *place = call ? call->place : calls->outside_place;

	print_word(table, NAME, call ? print_clean(table->arena, call->name) : "(in no call)");
	if (call) {
		print_number(table, COUNT, call->count);
		print_number(table, TIME, call->time_ns);
		print_number(table, LONGEST, call->longest_ns);
		print_number(table, QUEUED, call->phases_ns[PHASE_IDLE_QUEUE - PHASE_WORK_COUNT]);
	}
	print_number(table, IDLE, idle_ns);
	if (calls->idle_ns > 0)
		print_number(table, SHARE, idle_ns / calls->idle_ns);
	if (place) {
		print_word(table, PLACE, print_clean(table->arena, place));
		print_number(table, PLACE_SHARE, call ? call->place_share : calls->outside_share);
	}
}

static bool knows_places(const struct host_calls *calls)
{
	bool known = calls->outside_place != NULL;

	for (size_t i = 0; i < calls->count; i++)
		known |= calls->items[i].place != NULL;
	return known;
}

void findings_calls(struct finding_list *list, bool all, struct print_table *table)
{
	bool known = false;
	size_t rank;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		known |= knows_places(&list->calls[w]);
	rank = print_column(
		table, "worker", all || list->analysis->worker_count > 1 ? "rank" : NULL, PRINT_WORD);

	print_column(table, "call", "call", PRINT_WORD);
	print_column(table, "count", "calls", PRINT_REAL);
	print_column(table, "time", "time", PRINT_TIME);
	print_column(table, "longest", "longest", PRINT_TIME);
	print_column(table, "idle", "GPU idle", PRINT_TIME);
	print_column(table, "queued", "queued", PRINT_TIME);
	print_column(table, "idle_share", "share", PRINT_SHARE);
	print_column(table, "place", known ? list->calls[0].by_sites ? "called from" : "most in" : NULL,
		PRINT_WORD);
	print_column(table, "place_share", known ? "of it" : NULL, PRINT_SHARE);
	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		const struct host_calls *calls = &list->calls[w];

		for (size_t i = 0; i <= calls->count && calls->count; i++) {
			const struct host_call *call = i < calls->count ? &calls->items[i] : NULL;

			if (call && !all && !is_shown(list, calls, call))
				continue;
			print_row(table);
			print_word(table, rank,
				analysis_worker_name(list->analysis, &list->analysis->workers[w]));
			print_call(table, calls, call);
		}
	}
}
