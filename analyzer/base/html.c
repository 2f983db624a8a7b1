/* The frame of a page, its style sheet and its text: see html.h. */
#include "html.h"
#include "text.h"

#include <string.h>

#define LONGEST_LINE 30 /* bytes of a text in a table that is never broken */

/* Light and dark. Series have the colours of Okabe and Ito, which differ for colour-blind eyes too ("Color
 * Universal Design", 2008), in dark made lighter where need be. */
static const char common[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c1d21;--dim:#5a5d66;--line:#d4d6dc;"
	"--panel:#f5f6f8;--warn:#fff3d6;--k0:#0072b2;--k1:#d55e00;--k2:#009e73;--k3:#cc79a7;--k4:#e69f00;"
	"--k5:#56b4e9;--k6:#7a5c2e;--k7:#7d818b;--more:#b2182b;--less:#2166ac}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#17181c;--fg:#e6e7ea;--dim:#a3a7b0;--line:#3a3d45;"
	"--panel:#202227;--warn:#3d3318;--k0:#3d9bd6;--k1:#e8743a;--k2:#23b88c;--k3:#d892b8;--k4:#e8ab2c;"
	"--k5:#83c8f2;--k6:#a98652;--k7:#8b909b;--more:#f0745c;--less:#5aa0e0}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:1240px;padding:16px 24px 48px;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	"h1{font-size:24px;margin:8px 0 2px;overflow-wrap:anywhere}h2{font-size:18px;margin:32px 0 6px;"
	"overflow-wrap:anywhere}p{margin:4px 0 10px;overflow-wrap:anywhere}section+h1{margin-top:48px}\n"
	".dim,caption,figcaption{color:var(--dim);font-size:13px}\n"
	".warn{background:var(--warn);border-left:4px solid var(--k4);padding:6px 12px;margin:6px 0;"
	"overflow-wrap:anywhere}\n"
	".lead{background:var(--panel);border-left:4px solid var(--k0);padding:10px 18px;margin:14px 0;"
	"font-size:16px;overflow-wrap:anywhere}\n"
	"table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:2px 8px;text-align:right;vertical-align:middle;white-space:nowrap}"
	"th{font-weight:600}thead th{color:var(--dim);border-bottom:1px solid var(--line)}\n"
	".l{text-align:left}.long{white-space:normal;overflow-wrap:anywhere;min-width:14em;max-width:26em}"
	".list tbody tr:nth-child(even){background:var(--panel)}"
	".scroll{overflow-x:auto}tbody tr.rule>*{border-top:1px solid var(--line)}\n"
	"td.w{width:60%;padding:2px 4px}td.w svg{display:block;width:100%;overflow:hidden}"
	"td.w line{stroke:var(--line)}td.w line.mark{stroke:var(--fg);stroke-width:1.5}"
	"svg.key{display:inline-block;width:12px;height:12px;margin-right:5px;vertical-align:-1px}\n"
	"svg text{font-size:11px;fill:var(--fg)}svg .axis{fill:var(--dim)}\n"
	"@media print{body{max-width:none;padding:0;font-size:11pt}tr,svg,figure,.lead,"
	".warn{break-inside:avoid}h2,h3{break-after:avoid}*{print-color-adjust:exact;"
	"-webkit-print-color-adjust:exact}}\n";

void html_begin(const char *title, const char *const *styles, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
		out);
	html_text(title, out);
	fprintf(out, "</title>\n<style>\n%s", common);
	for (; *styles; styles++)
		fputs(*styles, out);
	fputs("</style>\n</head>\n<body>\n", out);
}

void html_end(FILE *out)
{
	fputs("</body>\n</html>\n", out);
}

const char *html_class(const char *text)
{
	return strlen(text) > LONGEST_LINE ? "l long" : "l";
}

/* Besides what is no UTF-8 and what controls a terminal: two that XML has not, and lines and tabs, which no
 * text in a page needs. */
static bool is_shown(const char *text, size_t count)
{
	return count > 0 && *text != '\n' && *text != '\t' && !pm_text_controls(text, count) &&
	       !(count == 3 &&
		       (memcmp(text, "\xef\xbf\xbe", 3) == 0 || memcmp(text, "\xef\xbf\xbf", 3) == 0));
}

size_t html_character(const char *text, const char **shown, size_t *bytes)
{
	static const char special[] = "&<>\"'";
	static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;"};
	size_t count = pm_text_character(text, strnlen(text, 4));
	const char *found = strchr(special, *text);

	*shown = found ? entities[found - special] : is_shown(text, count) ? text : "?";
	*bytes = *shown == text ? count : strlen(*shown);
	return count ? count : 1;
}

void html_text(const char *text, FILE *out)
{
	const char *shown;
	size_t bytes;

	while (*text) {
		text += html_character(text, &shown, &bytes);
		fwrite(shown, 1, bytes, out);
	}
}
