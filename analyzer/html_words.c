/* What to work on, in three sentences: where the time goes, what communication costs, who holds the others
 * up. */
#include "html_page.h"

#include <math.h>

/* Of all the layers, the one with most time in the column; its share of that column is returned. */
static double dearest_layer(
	const struct analysis *analysis, enum phase_layer_column column, const char **name)
{
	double greatest_ns = 0, sum_ns = 0;

	*name = "";
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++) {
			double ns = analysis_layer(
				analysis->workers, analysis->worker_count, layers->items[l].name, column)
					    .mean;

			if (!isfinite(ns))
				continue;
			sum_ns += ns;
			if (ns > greatest_ns) {
				greatest_ns = ns;
				*name = layer_title(&layers->items[l]);
			}
		}
	}
	return sum_ns > 0 ? greatest_ns / sum_ns : 0;
}

static void write_largest(struct html_page *page, const struct analysis *analysis)
{
	double whole_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean;
	double greatest_ns = -1;
	int greatest = 0;

	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		double ns = analysis_phase(
			analysis->workers, analysis->worker_count, (enum phase)phase, ANALYSIS_EXCLUSIVE)
				    .mean;

		if (ns > greatest_ns) {
			greatest_ns = ns;
			greatest = phase;
		}
	}
	fprintf(page->out, "<li>Most of an iteration’s %s is %s<b>%s</b>: %s (%.0f%%)",
		html_time(page, whole_ns), greatest >= PHASE_WORK_COUNT ? "idle: " : "",
		html_phase_title(greatest), html_time(page, greatest_ns),
		whole_ns > 0 ? 100 * greatest_ns / whole_ns : 0);
	if (greatest == PHASE_FORWARD || greatest == PHASE_BACKWARD) {
		const char *name;
		double share = dearest_layer(analysis,
			greatest == PHASE_FORWARD ? PHASE_LAYER_FORWARD : PHASE_LAYER_BACKWARD, &name);

		if (share > 0)
			fprintf(page->out, ", %.0f%% of it for layer <b>%s</b>", 100 * share,
				html_escape(page, name));
	}
	fputs(".</li>\n", page->out);
}

static void write_communication(struct html_page *page, const struct analysis *analysis)
{
	const struct analysis_worker *workers = analysis->workers;
	size_t count = analysis->worker_count;
	double whole_ns = analysis_iteration(workers, count).mean;
	double busy_ns = analysis_phase(workers, count, PHASE_COMMUNICATION, ANALYSIS_BUSY).mean;
	double exposed_ns = analysis_phase(workers, count, PHASE_COMMUNICATION, ANALYSIS_EXCLUSIVE).mean;

	if (!(busy_ns > 0)) {
		fputs("<li>There is no communication between GPUs.</li>\n", page->out);
		return;
	}
	fprintf(page->out,
		"<li>Communication takes %s, of which <b>%s (%.0f%% of the iteration) is exposed</b>: nothing "
		"else runs meanwhile; %s is waiting for the last rank to come.</li>\n",
		html_time(page, busy_ns), html_time(page, exposed_ns),
		whole_ns > 0 ? 100 * exposed_ns / whole_ns : 0,
		html_time(page, analysis_wait(workers, count).mean));
}

const char *html_cause_words(struct html_page *page, const struct html_run *run, const struct cause *cause)
{
	const char *text = cause_text(cause->kind);

	if (cause->layer[0])
		text = arena_format(&page->arena, "%s: %s", text, html_escape(page, cause->layer));
	if (cause->other != cause->worker)
		text = arena_format(&page->arena, "%s to %s", text, run->names[cause->other]);
	return arena_format(&page->arena, "%s%s%s: %s", text, isfinite(cause->cost_ns) ? ", costs " : "",
		isfinite(cause->cost_ns) ? html_time(page, cause->cost_ns) : "",
		html_escape(page, cause->evidence));
}

static bool any_waiting(const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	double iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).median;
	double others = (double)(analysis->worker_count - 1);

	for (size_t w = 0; w < analysis->worker_count; w++)
		if (run->balance.ranks[w].inflicted_ns >= CAUSE_WAITING * others * iteration_ns)
			return true;
	return false;
}

static void write_straggler(struct html_page *page, const struct html_run *run)
{
	const struct cause *first = NULL;

	if (run->analysis->worker_count < 2) {
		fputs("<li>There is one GPU, so nobody waits for another.</li>\n", page->out);
		return;
	}
	for (size_t i = 0; i < run->causes.count; i++)
		if (!first || run->causes.items[i].inflicted_ns > first->inflicted_ns)
			first = &run->causes.items[i];
	if (!first) {
		fprintf(page->out, "<li>%s</li>\n",
			any_waiting(run) ? "No rank holds the others up for long: the waiting comes and goes."
					 : "No rank holds the others up.");
		return;
	}
	fprintf(page->out, "<li><b>%s holds the others up</b>", run->names[first->worker]);
	if (first->inflicted_ns > 0)
		fprintf(page->out, ": they wait %s for it in an iteration (sum; %.1f%% of their time)",
			html_time(page, first->inflicted_ns), 100 * first->share);
	fprintf(page->out, "; why: %s.</li>\n", html_cause_words(page, run, first));
}

void html_words(struct html_page *page, const struct html_run *run)
{
	fputs("<ol class=\"work\" aria-label=\"What to work on\">\n", page->out);
	write_largest(page, run->analysis);
	write_communication(page, run->analysis);
	write_straggler(page, run);
	fputs("</ol>\n", page->out);
}
