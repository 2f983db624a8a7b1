/* The HTML report's model of synchronous SGD: what each assumption of overlap predicts for an iteration,
 * beside what it took. */
#include "page.h"
#include "analyses/ssgd/ssgd_tables.h"

void html_model(struct html_page *page, const struct html_run *run)
{
	struct ssgd_item item = {.run = run->run, .label = run->run->label};
	struct ssgd *ssgd = &item.ssgd;
	struct print_table table;

	ssgd_find(run->analysis, ssgd);
	if (ssgd->step_count && ssgd->measured.mean > 0) {
		const char *left_out = ssgd_left_out(&item);

		html_section(page, "Model");
		fprintf(page->out,
			"<p class=\"dim\">Iteration time predicted by the S-SGD model under each overlap assumption, from the phase times plus the rest that no equation covers; the line is the %s measured.</p>\n"
			"<p>%s</p>\n",
			html_time(page, ssgd->measured.mean), html_escape(page, ssgd_verdict(&item)));
		print_init(&table, &page->arena);
		ssgd_prediction_table(&item, 1, PRINT_HTML, &table);
		print_html(&table, page->out);
		print_free(&table);
		fprintf(page->out, "<p class=\"dim\">%s%s%s%s%s</p>\n</section>\n",
			html_escape(page, ssgd_rest(&item)), left_out ? " " : "",
			left_out ? html_escape(page, left_out) : "",
			ssgd->unpredicted && ssgd->shape.rank_count > 1 ? " " : "",
			ssgd->unpredicted && ssgd->shape.rank_count > 1 ? html_escape(page, ssgd->unpredicted)
									: "");
	}
	ssgd_free(ssgd);
}
