/* The frame of the HTML report, its style sheet, figures and tables of errors: see html_page.h. */
#include "html_page.h"
#include "plot_svg.h"

#include <math.h>

/* Of a series in a picture. */
#define MOST_POINTS 1500
#define MOST_SMALL 600

/* Light and dark. Series have the colours of Okabe and Ito, which differ for colour-blind eyes too ("Color
 * Universal Design", 2008), in dark made lighter where need be. */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c1d21;--dim:#5a5d66;--line:#dfe1e6;--panel:#f5f6f8;"
	"--warn:#fff3d6;--mark:#e69f00;--k0:#0072b2;--k1:#d55e00;--k2:#009e73;--k3:#cc79a7;--k4:#e69f00;"
	"--k5:#56b4e9;--k6:#7a5c2e;--k7:#7d818b;--more:#b2182b;--less:#2166ac}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#17181c;--fg:#e6e7ea;--dim:#a3a7b0;--line:#31343b;"
	"--panel:#202227;--warn:#3d3318;--mark:#e8ab2c;--k0:#3d9bd6;--k1:#e8743a;--k2:#23b88c;--k3:#d892b8;"
	"--k4:#e8ab2c;--k5:#83c8f2;--k6:#a98652;--k7:#8b909b;--more:#f0745c;--less:#5aa0e0}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:1240px;padding:16px 24px 48px;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	"h1{font-size:24px;margin:8px 0 2px;overflow-wrap:anywhere}h2{font-size:18px;margin:32px 0 6px;"
	"overflow-wrap:anywhere}p{margin:4px 0 10px;overflow-wrap:anywhere}section+h1{margin-top:56px}\n"
	".dim,figcaption{color:var(--dim);font-size:13px}\n"
	".warn{background:var(--warn);border-left:4px solid var(--mark);padding:6px 12px;margin:6px 0}\n"
	".formula{background:var(--panel);border-left:4px solid var(--k0);padding:10px 18px;margin:14px 0;"
	"font-size:16px;overflow-wrap:anywhere}.formula sup{font-size:12px;line-height:0}\n"
	"table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;margin:6px 0}\n"
	"th,td{padding:2px 10px;text-align:right;white-space:nowrap}th{font-weight:600}"
	"thead th{color:var(--dim);border-bottom:1px solid var(--line)}\n"
	".l{text-align:left;white-space:normal;overflow-wrap:anywhere;max-width:26em}"
	"tbody tr:nth-child(even){background:var(--panel)}.best{font-weight:700}\n"
	".scroll{overflow-x:auto}.figures{display:grid;gap:12px 24px;"
	"grid-template-columns:repeat(auto-fill,minmax(min(100%,440px),1fr))}\n"
	".small{grid-template-columns:repeat(auto-fill,minmax(min(100%,340px),1fr))}\n"
	"figure{margin:0;min-width:0}figure h3{font-size:14px;margin:8px 0 2px;overflow-wrap:anywhere}\n"
	"svg.plot{display:block;width:100%;max-width:680px;overflow:hidden}\n"
	"svg text{font-size:11px;fill:var(--fg)}svg .axis{fill:var(--dim)}\n"
	".grid{stroke:var(--line);fill:none}.frame{fill:none;stroke:var(--dim);stroke-width:.6}"
	".shade{fill:var(--dim);fill-opacity:.13}\n"
	".s0{--c:var(--k0)}.s1{--c:var(--k1)}.s2{--c:var(--k2)}.s3{--c:var(--k3)}.s4{--c:var(--k4)}"
	".s5{--c:var(--k5)}.s6{--c:var(--k6)}.s7{--c:var(--k7)}.guide{--c:var(--dim)}\n"
	".point{fill:var(--c);stroke:var(--bg);stroke-width:.5}.many{fill-opacity:.6;stroke:none}"
	".dots{fill:none;stroke:var(--c);stroke-width:4.5;stroke-linecap:round;stroke-opacity:.6}.few{stroke-width:6;stroke-opacity:1}.hollow{fill:none;stroke:var(--c);stroke-width:1;stroke-opacity:.7}.faint{opacity:.4}\n"
	".line{fill:none;stroke:var(--c);stroke-width:1.7}.guide.line{stroke-width:1}"
	".dashed{stroke-dasharray:5 4}.bar{fill:none;stroke:var(--c);stroke-width:1.4}\n"
	".band{fill:var(--c);fill-opacity:.16}.band.key{stroke:var(--c);stroke-width:9;stroke-opacity:.25}\n"
	".tile{stroke:var(--bg)}.more{fill:var(--more)}.less{fill:var(--less)}\n"
	"@media print{body{max-width:none;padding:0;font-size:11pt}figure,table,.warn,.formula{break-inside:"
	"avoid}h2,h3{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

void html_page_begin(const char *title, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
		out);
	plot_svg_text(title, out);
	fprintf(out, "</title>\n<style>\n%s</style>\n</head>\n<body>\n", style);
}

void html_page_end(FILE *out)
{
	fputs("</body>\n</html>\n", out);
}

/* What a picture does not show is said below it. */
static void say_missing(const struct plot *plot, FILE *out)
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
	plot_svg_text(caption ? caption : "", out);
	say_missing(plot, out);
	fputs("</figcaption></figure>\n", out);
	plot_free(plot);
}

static void put_number(double number, const char *unit, FILE *out)
{
	if (isfinite(number))
		fprintf(out, "<td>%.4g%s</td>", number, unit);
	else
		fputs("<td>–</td>", out);
}

void html_error_head(const char *first, FILE *out)
{
	fprintf(out,
		"<div class=\"scroll\"><table><thead><tr><th class=\"l\">%s</th><th>samples</th><th>MAPE</th>"
		"<th>MAE</th><th>RMSE</th><th>R2</th></tr></thead><tbody>\n",
		first);
}

void html_error_row(const char *name, const struct pm_fit_error *error, FILE *out)
{
	fputs("<tr><th class=\"l\">", out);
	plot_svg_text(name, out);
	fprintf(out, "</th><td>%zu</td>", error->sample_count);
	put_number(error->mape, "%", out);
	put_number(error->mae, "", out);
	put_number(error->rmse, "", out);
	put_number(error->r2, "", out);
	fputs("</tr>\n", out);
}
