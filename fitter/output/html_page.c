/* The frame of the HTML report, its style sheet, figures and tables: see html_page.h. */
#include "html_page.h"
#include "base/plot_svg.h"

/* Of a series in a picture. */
#define MOST_POINTS 1500
#define MOST_SMALL 600

static const char style[] =
	".lead sup{font-size:12px;line-height:0}\n"
	"table{margin:6px 0}tbody tr:nth-child(even){background:var(--panel)}.l{white-space:normal;"
	"overflow-wrap:anywhere;max-width:26em}.best{font-weight:700}\n"
	".figures{display:grid;gap:12px 24px;grid-template-columns:repeat(auto-fill,minmax(min(100%,"
	"440px),1fr))}.small{grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr))}\n"
	"figure{margin:0;min-width:0}figure h3{font-size:14px;margin:8px 0 2px;overflow-wrap:anywhere}\n";

void html_page_begin(const char *title, const char *own, FILE *out)
{
	html_begin(title, (const char *const[]){plot_svg_style, style, own, NULL}, out);
}

/* What a picture does not show is said below it. */
static void print_missing(const struct plot *plot, FILE *out)
{
	size_t drawn = 0, all = 0;

	for (size_t s = 0; s < plot->series_count; s++)
		if (plot->series[s]->kind == PLOT_POINTS) {
			drawn += plot->series[s]->count;
			all += plot->series[s]->all;
		}
	if (drawn < all)
		fprintf(out, " %zu markers represent %zu points: nearly coincident points are drawn once.",
			drawn, all);
	if (plot->left_out)
		fprintf(out, " %zu point%s no place on these axes.", plot->left_out,
			plot->left_out == 1 ? " has" : "s have");
}

void html_figure(struct plot *plot, const char *caption, enum html_size size, FILE *out)
{
	plot_thin(plot, size == HTML_SMALL ? MOST_SMALL : MOST_POINTS);
	figure_check(plot);
	fputs("<figure>", out);
	plot_svg(plot, size == HTML_SMALL ? PLOT_SVG_SMALL : PLOT_SVG_WIDTH, out);
	fputs("<figcaption>", out);
	html_text(caption ? caption : "", out);
	print_missing(plot, out);
	fputs("</figcaption></figure>\n", out);
	plot_free(plot);
}

void html_table(struct print_table *table, FILE *out)
{
	print_html(table, out);
	print_free(table);
}
