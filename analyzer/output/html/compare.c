/* The HTML report's comparison: several runs side by side; then each against the first (pair.c). */
#include "page.h"
#include "output/report.h"
#include "pair.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double exclusive_ns(const struct analysis_worker *workers, size_t count, int phase)
{
	return analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE).mean;
}

static const struct {
	enum phase phase;
	const char *title;
} shown[] = {{PHASE_IO, "t_io"}, {PHASE_H2D, "t_h2d"}, {PHASE_MD, "t_md"}, {PHASE_FORWARD, "t_f"},
	{PHASE_BACKWARD, "t_b"}, {PHASE_COMMUNICATION, "t_c"}, {PHASE_UPDATE, "t_u"}};
enum { SHOWN = sizeof(shown) / sizeof(*shown) };

/* A number of a row of the report's JSON; NaN where it has none. */
static double number_of(const cJSON *scaling, size_t row, const char *key)
{
	const cJSON *item = cJSON_GetObjectItem(cJSON_GetArrayItem(scaling, (int)row), key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static const char *real(struct html_page *page, double value, double factor, const char *unit)
{
	return isfinite(value) ? arena_format(&page->arena, "%.2f%s", factor * value, unit) : "–";
}

/* `present`: which of the phases shown have a column. */
static void write_compared(struct html_page *page, const struct run *run, const cJSON *scaling, size_t row,
	double first_ns, const bool *present)
{
	const struct analysis_worker *workers = run->analysis.workers;
	size_t count = run->analysis.worker_count;
	double whole_ns = analysis_iteration(workers, count).mean, rest_ns = whole_ns;

	fprintf(page->out, "<tr><th class=\"%s\">%s</th><td>%zu</td>", html_class(run->label),
		html_escape(page, run->label), count);
	for (int i = 0; i < SHOWN; i++) {
		double ns = exclusive_ns(workers, count, (int)shown[i].phase);

		rest_ns -= ns;
		if (present[i])
			fprintf(page->out, "<td>%s</td>",
				html_time(page,
					analysis_phase_known(&run->analysis, shown[i].phase) ? ns : NAN));
	}
	fprintf(page->out, "<td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
		html_time(page, rest_ns), html_time(page, whole_ns),
		real(page, whole_ns > 0 ? first_ns / whole_ns : NAN, 1, "×"),
		real(page, number_of(scaling, row, "speedup"), 1, "×"),
		real(page, number_of(scaling, row, "efficiency"), 100, "%"),
		real(page, number_of(scaling, row, "lif"), 1, ""));
}

static void write_legend(struct html_page *page, const struct run *runs, size_t run_count)
{
	fputs("<ul class=\"legend\">", page->out);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (html_phase_present(runs, run_count, phase)) {
			fputs("<li>", page->out);
			html_swatch(page, phase);
			fprintf(page->out, "%s</li>", html_phase_title(phase));
		}
	fputs("</ul>\n", page->out);
}

void html_compare(struct html_page *page, struct run *runs, size_t run_count)
{
	double first_ns = analysis_iteration(runs[0].analysis.workers, runs[0].analysis.worker_count).mean;
	double longest_ns = 0;
	bool present[SHOWN];
	cJSON *figures = report_runs_json(runs, run_count);
	const cJSON *scaling = cJSON_GetObjectItem(figures, "scaling");
	const char *title = arena_format(&page->arena, "%zu runs side by side", run_count);

	fprintf(page->out,
		"<section id=\"s%zu\">\n"
		"<h1>%s</h1>\n"
		"<p class=\"dim\">Mean exclusive times per iteration.</p>\n",
		html_entry(page, title, true), title);
	write_legend(page, runs, run_count);
	for (size_t r = 0; r < run_count; r++)
		longest_ns = fmax(longest_ns,
			analysis_iteration(runs[r].analysis.workers, runs[r].analysis.worker_count).mean);
	fputs("<table class=\"lines\">\n", page->out);
	for (size_t r = 0; r < run_count; r++) {
		fprintf(page->out, "<tr><th class=\"%s\">%s</th><td class=\"w\">", html_class(runs[r].label),
			html_escape(page, runs[r].label));
		html_phase_bar(page, runs[r].analysis.workers, runs[r].analysis.worker_count, longest_ns);
		fprintf(page->out, "</td><td>%s</td></tr>\n",
			html_time(page,
				analysis_iteration(runs[r].analysis.workers, runs[r].analysis.worker_count)
					.mean));
	}
	fputs("</table>\n<div class=\"scroll\"><table class=\"list\">\n<thead><tr><th class=\"l\">run</th>"
	      "<th>GPUs</th>",
		page->out);
	for (int i = 0; i < SHOWN; i++)
		if ((present[i] = html_phase_present(runs, run_count, (int)shown[i].phase)))
			fprintf(page->out, "<th>%s</th>", shown[i].title);
	fputs("<th>other, idle</th><th>t_iter</th><th>first’s t_iter</th><th>speed-up</th>"
	      "<th>efficiency</th><th>LIF</th></tr></thead>\n<tbody>\n",
		page->out);
	for (size_t r = 0; r < run_count; r++)
		write_compared(page, &runs[r], scaling, r, first_ns, present);
	fputs("</tbody></table></div>\n"
	      "<p class=\"dim\">First’s t_iter: the first run’s iteration time divided by this run’s. Speed-up and efficiency: against the run of the same program on one GPU, where there is one, in samples per second.</p>\n"
	      "</section>\n",
		page->out);
	cJSON_Delete(figures);
	html_pairs(page, runs, run_count);
}
