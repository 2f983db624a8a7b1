/* The HTML report's phases: the table of a run, bars by rank, and several runs side by side. */
#include "html_page.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double exclusive_ns(const struct analysis_worker *workers, size_t count, int phase)
{
	return analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE).mean;
}

bool html_phase_present(const struct run *runs, size_t run_count, int phase)
{
	for (size_t r = 0; r < run_count; r++)
		if (analysis_phase(runs[r].analysis.workers, runs[r].analysis.worker_count, (enum phase)phase,
			    ANALYSIS_BUSY)
				.mean > 0)
			return true;
	return false;
}

void html_phase_bar(
	struct html_page *page, const struct analysis_worker *workers, size_t count, double whole_ns)
{
	double from = 0;

	fputs("<svg height=\"20\" role=\"img\">", page->out);
	for (int phase = 0; phase < PHASE_COUNT && whole_ns > 0; phase++) {
		double ns = exclusive_ns(workers, count, phase), wide = 100 * ns / whole_ns;

		if (!(ns > 0))
			continue;
		html_piece(page, phase, from, wide,
			arena_format(&page->arena, "%s: %s", html_phase_title(phase), html_time(page, ns)));
		from += wide;
	}
	fputs("</svg>", page->out);
}

/* Its swatches are the legend of the bars. */
static void write_table(struct html_page *page, const struct html_run *run)
{
	const struct analysis_worker *workers = run->analysis->workers;
	size_t count = run->analysis->worker_count;
	double whole_ns = analysis_iteration(workers, count).mean;

	fputs("<table class=\"list\">\n<thead><tr><th class=\"l\">phase</th><th class=\"l\">symbol</th>"
	      "<th>busy</th><th>exclusive</th><th>± sd</th><th>share</th></tr></thead>\n<tbody>\n",
		page->out);
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		struct analysis_statistics own =
			analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE);

		if (!html_phase_present(run->run, 1, phase))
			continue;
		fputs("<tr><td class=\"l long\">", page->out);
		html_swatch(page, phase);
		fprintf(page->out,
			"%s</td><td class=\"l\">%s</td><td>%s</td><td>%s</td><td>%s</td><td>%.1f%%</td></tr>\n",
			html_phase_title(phase), report_phase_symbols[phase],
			phase < PHASE_WORK_COUNT ? html_time(page, analysis_phase(workers, count,
									   (enum phase)phase, ANALYSIS_BUSY)
									   .mean)
						 : "",
			html_time(page, own.mean), html_time(page, own.deviation),
			whole_ns > 0 ? 100 * own.mean / whole_ns : 0);
	}
	fprintf(page->out,
		"<tr class=\"rule\"><th class=\"l\">iteration</th><th class=\"l\">t_iter</th><td></td>"
		"<th>%s</th><td>%s</td><td></td></tr>\n</tbody></table>\n",
		html_time(page, whole_ns), html_time(page, analysis_iteration(workers, count).deviation));
}

void html_phases(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	double longest_ns = 0;

	fputs("<section>\n<h2>Phases of an iteration</h2>\n<p class=\"dim\">Means over iterations and ranks. "
	      "Busy: while some work of the phase was done. Exclusive: each instant belongs to one phase, so "
	      "they add up to the iteration; that of communication is what nothing hides.</p>\n",
		page->out);
	write_table(page, run);
	for (size_t w = 0; w < analysis->worker_count; w++)
		longest_ns = fmax(longest_ns, analysis_iteration(&analysis->workers[w], 1).mean);
	fputs("<h2>Phases by rank</h2>\n<table class=\"lines\">\n", page->out);
	for (size_t w = 0; w < analysis->worker_count; w++) {
		fprintf(page->out, "<tr><th>%s</th><td class=\"w\">", run->names[w]);
		html_phase_bar(page, &analysis->workers[w], 1, longest_ns);
		fprintf(page->out, "</td><td>%s</td></tr>\n",
			html_time(page, analysis_iteration(&analysis->workers[w], 1).mean));
	}
	fputs("</table>\n</section>\n", page->out);
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
			fprintf(page->out, "<td>%s</td>", html_time(page, ns));
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

	fprintf(page->out,
		"<section>\n<h1>%zu runs side by side</h1>\n<p class=\"dim\">Mean exclusive times of an "
		"iteration.</p>\n",
		run_count);
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
	fputs("</tbody></table></div>\n<p class=\"dim\">First’s t_iter: how many times as long the first "
	      "run’s iteration takes. Speed-up and efficiency: against the run of the same program on one "
	      "GPU, where there is one, by samples in the same time.</p>\n</section>\n",
		page->out);
	cJSON_Delete(figures);
}
