/* The HTML report's answer to "what would help": the changes of whatif.h as bars, the greatest gain first,
 * and the slowdown beside the load imbalance factor. */
#include "page.h"

#include <math.h>

#define MOST_SHOWN 10
#define MOST_ROWS 60      /* with those that are folded */
#define LEAST_GAIN 0.0005 /* of an iteration: below it a change is only counted */

const char *html_change_words(
	struct html_page *page, const struct html_run *run, const struct whatif_change *change)
{
	switch (change->kind) {
	case WHATIF_LAYER:
		return arena_format(&page->arena, "%s 2× as fast",
			html_escape(page, layer_title(run->job.layers[change->layer].layer)));
	case WHATIF_COMMUNICATION:
		return "communication 2× as fast";
	case WHATIF_OVERLAP:
		return "communication hidden behind computation";
	case WHATIF_HOST:
		return "zero launch time";
	case WHATIF_INPUT:
		return "zero input time";
	case WHATIF_BALANCE:
		return "all ranks balanced";
	case WHATIF_STAGES:
		return "all stages and ranks balanced";
	default:
		return arena_format(&page->arena, "%s like other ranks", run->names[change->worker]);
	}
}

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
	double lif = analysis_compute_imbalance(run->analysis);

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

static void write_row(
	struct html_page *page, const struct html_run *run, const struct whatif_result *item, double greatest)
{
	const struct whatif_list *list = &run->changes;
	const char *words = html_change_words(page, run, &item->change);

	fprintf(page->out, "<tr><th class=\"%s\">%s</th><td class=\"w\" style=\"width:45%%\">",
		html_class(words), words);
	html_bar(page, kind_class(&item->change), 100 * item->gain_ns / greatest,
		arena_format(&page->arena, "%s saves %s of %s", words, html_time(page, item->gain_ns),
			html_time(page, list->replayed_ns)));
	fprintf(page->out, "</td><td>%s</td><td>%.1f%%</td><td>%s</td><td>%.3f×</td></tr>\n",
		html_time(page, item->gain_ns), 100 * item->gain_ns / list->replayed_ns,
		html_time(page, item->predicted_ns), item->speedup);
}

static void write_table(struct html_page *page, const struct html_run *run, size_t from, size_t to)
{
	fputs("<table class=\"list\">\n<thead><tr><th class=\"l\">if</th><th></th><th>saves</th><th></th>"
	      "<th>iteration</th><th>speed-up</th></tr></thead>\n<tbody>\n",
		page->out);
	html_times(page, run->changes.replayed_ns);
	for (size_t i = from; i < to; i++)
		write_row(page, run, &run->changes.items[i], run->changes.items[0].gain_ns);
	html_times(page, 0);
	fputs("</tbody></table>\n", page->out);
}

void html_help(struct html_page *page, const struct html_run *run)
{
	const struct whatif_list *list = &run->changes;
	size_t count = 0, shown, folded;

	if (list->count == 0)
		return;
	while (count < list->count && list->items[count].gain_ns > LEAST_GAIN * list->replayed_ns)
		count++;
	shown = count < MOST_SHOWN ? count : MOST_SHOWN;
	folded = count < MOST_ROWS ? count : MOST_ROWS;
	html_section(page, "Optimization candidates");
	write_about(page, run);
	if (shown)
		write_table(page, run, 0, shown);
	if (folded > shown) {
		fprintf(page->out, "<details><summary>%zu more with smaller savings</summary>\n",
			folded - shown);
		write_table(page, run, shown, folded);
		fputs("</details>\n", page->out);
	}
	if (list->count > folded)
		fprintf(page->out, "<p class=\"dim\">%zu %schange%s would save %s.</p>\n",
			list->count - folded, folded ? "other " : "", list->count - folded == 1 ? "" : "s",
			folded == MOST_ROWS && count > folded ? "even less" : "less than 0.05%");
	fputs("</section>\n", page->out);
}
