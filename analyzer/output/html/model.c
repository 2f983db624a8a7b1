/* The HTML report's model of synchronous SGD: what each assumption of overlap predicts for an iteration,
 * beside what it took. */
#include "page.h"
#include "analyses/ssgd/ssgd_tables.h"

#include <math.h>

static void write_row(
	struct html_page *page, const struct ssgd *ssgd, enum ssgd_model model, double longest_ns)
{
	const struct ssgd_figure *figure = &ssgd->figures[model];
	bool best = model == ssgd->best && !(figure->off > SSGD_FAR);
	double mark = 100 * ssgd->measured.mean / longest_ns;

	fprintf(page->out,
		"<tr><th class=\"l\">%s%s</th><td class=\"w\" style=\"width:45%%\"><svg height=\"14\" role=\"img\">"
		"<rect class=\"%s\" x=\"0%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s: %s, measured %s</title>"
		"</rect><line class=\"mark\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"14\"/></svg></td>"
		"<td>%s</td><td>%+.1f%%</td></tr>\n",
		ssgd_titles[model], best ? " ✓" : "", best ? "near" : "plain",
		100 * figure->full.mean / longest_ns, ssgd_texts[model], html_time(page, figure->full.mean),
		html_time(page, ssgd->measured.mean), mark, mark, html_time(page, figure->full.mean),
		100 * figure->full_error);
}

void html_model(struct html_page *page, const struct html_run *run)
{
	struct ssgd_item item = {.run = run->run};
	struct ssgd *ssgd = &item.ssgd;
	double longest_ns;

	ssgd_find(run->analysis, ssgd);
	longest_ns = ssgd->measured.mean * 1.02;
	for (int m = 0; m < SSGD_COUNT; m++)
		if (ssgd->figures[m].predicted)
			longest_ns = fmax(longest_ns, ssgd->figures[m].full.mean);
	if (ssgd->step_count && longest_ns > 0) {
		html_section(page, "Model");
		fprintf(page->out,
			"<p class=\"dim\">Iteration time predicted by the S-SGD model under each overlap assumption, from the phase times plus the rest that no equation covers; the line is the %s measured.</p>\n"
			"<p>%s</p>\n",
			html_time(page, ssgd->measured.mean), html_escape(page, ssgd_verdict(&item)));
		fputs("<table class=\"list\">\n<thead><tr><th class=\"l\">assumption</th><th></th>"
		      "<th>predicted</th><th>error</th></tr></thead>\n<tbody>\n",
			page->out);
		for (int m = 0; m < SSGD_COUNT; m++)
			if (ssgd->figures[m].predicted)
				write_row(page, ssgd, (enum ssgd_model)m, longest_ns);
		fprintf(page->out, "</tbody></table>\n<p class=\"dim\">%s%s%s</p>\n</section>\n",
			html_escape(page, ssgd_rest(&item)),
			ssgd->unpredicted && ssgd->shape.rank_count > 1 ? " " : "",
			ssgd->unpredicted && ssgd->shape.rank_count > 1 ? html_escape(page, ssgd->unpredicted)
									: "");
	}
	ssgd_free(ssgd);
}
