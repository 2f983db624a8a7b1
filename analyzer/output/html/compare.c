/* The HTML report's comparison: several runs side by side; then each against the first (pair.c). */
#include "page.h"
#include "output/report.h"
#include "pair.h"

#include <math.h>

static void write_legend(struct html_page *page, const struct run *runs, size_t run_count)
{
	fputs("<ul class=\"legend\">", page->out);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (report_has_phase(runs, run_count, (enum phase)phase)) {
			fputs("<li>", page->out);
			html_swatch(page, phase);
			fprintf(page->out, "%s</li>", html_phase_title(phase));
		}
	fputs("</ul>\n", page->out);
}

void html_compare(struct html_page *page, struct run *runs, size_t run_count)
{
	double longest_ns = 0;
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
	fputs("</table>\n", page->out);
	report_runs_html(runs, run_count, page->out);
	fputs("<p class=\"dim\">First’s t_iter: the first run’s iteration time divided by this run’s. Speed-up and efficiency: against the run of the same program on one GPU, where there is one, in samples per second. t_c: communication, busy; exposed: no other work runs; waiting: for the last rank.</p>\n"
	      "</section>\n",
		page->out);
	html_pairs(page, runs, run_count);
}
