/* The HTML report's answer to "what would help": the changes of whatif.h as bars, the greatest gain first,
 * and the slowdown beside the load imbalance factor. */
#include "page.h"
#include "analyses/load_imbalance.h"

#include <math.h>

#define MOST_SHOWN 10
#define MOST_ROWS 60      /* with those that are folded */
#define LEAST_GAIN 0.0005 /* of an iteration: below it a change is only counted */

/* The colour of what the change is about. */
static const char *kind_class(const struct whatif_change *change)
{
	switch (change->kind) {
	case WHATIF_COMMUNICATION:
	case WHATIF_OVERLAP:
		return html_phase_key(PHASE_COMMUNICATION);
	case WHATIF_INPUT:
		return html_phase_key(PHASE_IO);
	case WHATIF_HOST:
		return html_phase_key(PHASE_IDLE_LAUNCH);
	case WHATIF_LAYER:
		return html_phase_key(PHASE_FORWARD);
	default:
		return "gain";
	}
}

static void write_about(struct html_page *page, const struct html_run *run)
{
	const struct whatif_list *list = &run->changes;
	double lif = load_imbalance_computing(run->analysis);

	fprintf(page->out,
		"<p class=\"dim\">Replay of the run with one change at a time: the iteration of %s with "
		"dependencies and latencies kept. Over %zu of %zu iterations; the unchanged replay is off "
		"by %.2f%%.</p>\n",
		html_time(page, list->replayed_ns), list->iteration_count, list->used_count,
		100 * fabs(list->replayed_ns / list->measured_ns - 1));
	if (run->analysis->worker_count < 2 || !isfinite(list->slowdown))
		return;
	fprintf(page->out,
		"<p><b>Slowdown S = %.3f</b>: iteration time relative to a replay with all ranks "
		"balanced%s.",
		list->slowdown,
		run->analysis->stage_count > 1
			? arena_format(
				  &page->arena, " (%.3f with stages balanced too)", list->slowdown_stages)
			: "");
	if (isfinite(lif))
		fprintf(page->out, " Load imbalance of computing: <b>LIF = %.3f</b> (3.8).", lif);
	fprintf(page->out, "%s</p>\n",
		list->slowdown < 1 ? " Below 1: balancing the ranks’ times gains nothing." : "");
}

/* The first `count` changes. */
static void write_changes(struct html_page *page, const struct html_run *run, size_t count)
{
	enum { NAME, GAIN, SHARE, ITERATION, SPEEDUP, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("what", "if", PRINT_WORD),
		PRINT_COLUMN("gain", "saves", PRINT_TIME, .bar = "gain"),
		PRINT_COLUMN("gain_share", "of an iteration", PRINT_SHARE),
		PRINT_COLUMN("predicted", "iteration", PRINT_TIME),
		PRINT_COLUMN("speedup", "speed-up", PRINT_REAL),
	};
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (size_t i = 0; i < count; i++) {
		const struct whatif_result *item = &run->changes.items[i];

		print_row(&table);
		print_word(&table, NAME,
			item->change.kind == WHATIF_OVERLAP
				? "communication hidden behind computation"
				: whatif_words(run->analysis, &run->job, &item->change));
		print_number(&table, GAIN, item->gain_ns);
		print_colour(&table, GAIN, kind_class(&item->change));
		print_number(&table, SHARE, item->gain_ns / run->changes.replayed_ns);
		print_number(&table, ITERATION, item->predicted_ns);
		print_number(&table, SPEEDUP, item->speedup);
	}
	if (count)
		print_html_folded(&table, MOST_SHOWN, "with smaller savings", page->out);
	print_free(&table);
}

void html_help(struct html_page *page, const struct html_run *run)
{
	const struct whatif_list *list = &run->changes;
	size_t count = 0, written;

	if (list->count == 0)
		return;
	while (count < list->count && list->items[count].gain_ns > LEAST_GAIN * list->replayed_ns)
		count++;
	written = count < MOST_ROWS ? count : MOST_ROWS;
	html_section(page, "Optimization candidates");
	write_about(page, run);
	write_changes(page, run, written);
	if (list->count > written)
		fprintf(page->out, "<p class=\"dim\">%zu %schange%s would save %s.</p>\n",
			list->count - written, written ? "other " : "", list->count - written == 1 ? "" : "s",
			written == MOST_ROWS && count > written ? "even less" : "less than 0.05%");
	fputs("</section>\n", page->out);
}
