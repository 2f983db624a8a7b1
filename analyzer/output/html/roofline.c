/* The roofline in the HTML report: its picture, and a table of those that are furthest from the roof. */
#include "base/plot_svg.h"
#include "page.h"

#include <math.h>
#include <stdlib.h>

#define MOST_ROWS 30
#define WIDTH 900 /* of the picture, in pixels */

static int by_gain(const void *left, const void *right)
{
	const struct roofline_item *a = *(const struct roofline_item *const *)left;
	const struct roofline_item *b = *(const struct roofline_item *const *)right;
	double gain_a = roofline_gain_ns(a), gain_b = roofline_gain_ns(b);

	return gain_a != gain_b ? (gain_a < gain_b) - (gain_a > gain_b) : (a > b) - (a < b);
}

static void write_picture(struct html_page *page, const struct roofline *roofline)
{
	struct plot plot;

	if (roofline_plot(roofline, &plot))
		plot_svg(&plot, WIDTH, page->out);
	plot_free(&plot);
}

static void write_table(struct html_page *page, const struct roofline *roofline)
{
	const struct roofline_item **items = mem_alloc(roofline->item_count, sizeof(*items));
	struct roofline shown = *roofline;
	struct print_table table;

	for (size_t i = 0; i < roofline->item_count; i++)
		items[i] = &roofline->items[i];
	qsort(items, roofline->item_count, sizeof(*items), by_gain);
	if (shown.item_count > MOST_ROWS)
		shown.item_count = MOST_ROWS;
	shown.items = arena_alloc(&page->arena, shown.item_count, sizeof(*shown.items));
	for (size_t i = 0; i < shown.item_count; i++)
		shown.items[i] = *items[i];
	print_init(&table, &page->arena);
	roofline_layer_table(&shown, &table, ROOFLINE_PAGE);
	fprintf(page->out, "<p class=\"dim\">%s of %zu layers and passes, longest first%s.</p>\n",
		shown.item_count < roofline->item_count ? arena_format(&page->arena, "%d", MOST_ROWS) : "All",
		roofline->item_count, roofline->peak.source ? " beyond the roof" : "");
	print_html(&table, page->out);
	print_free(&table);
	free(items);
}

bool html_work_known(const struct roofline *roofline)
{
	for (size_t i = 0; i < roofline->item_count; i++)
		if (roofline->items[i].amount.flops > 0 || roofline->items[i].amount.bytes > 0)
			return true;
	return false;
}

static void write_words(struct html_page *page, const struct roofline *roofline)
{
	const char *device = roofline->device ? html_escape(page, roofline->device) : "an unknown GPU";

	fprintf(page->out, "<p class=\"dim\">On %s", device);
	if (roofline->peak.source)
		fprintf(page->out, ", peaks from %s. ", roofline->peak.source);
	else if (roofline->time_scale != 1)
		fprintf(page->out, ", whose rates are no roof for times × %g. ", roofline->time_scale);
	else
		fputs(", peak rates unknown, so there is no roof. ", page->out);
	fprintf(page->out,
		"An iteration is %sFLOP forward and backward per GPU; %sFLOP/s over the whole "
		"iteration",
		roofline_rate_text(&page->arena, roofline->model_flops),
		roofline_rate_text(&page->arena, roofline->flops_rate));
	if (isfinite(roofline->utilization))
		fprintf(page->out,
			", a model FLOPs utilization of <b>%.1f%%</b>. At the roof the work takes %s",
			100 * roofline->utilization, html_time(page, roofline->roof_ns));
	else if (roofline->time_scale != 1)
		fprintf(page->out, "; model FLOPs utilization: - (times × %g)", roofline->time_scale);
	fputs(". Operations are the mathematical ones, bytes count each operand once. The area of a point "
	      "grows with its time.</p>\n",
		page->out);
}

void html_roofline(struct html_page *page, const struct html_run *run)
{
	const struct roofline *roofline = &run->roofline;

	if (!html_work_known(roofline))
		return;
	html_section(page, "Roofline");
	write_words(page, roofline);
	write_picture(page, roofline);
	write_table(page, roofline);
	fputs("</section>\n", page->out);
}
