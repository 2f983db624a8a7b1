/* The frame of the HTML report, its style sheet, and small parts: see html_page.h. */
#include "page.h"
#include "output/report.h"

#include <math.h>
#include <string.h>

#define LONGEST_LINE 30 /* bytes of a text in a table that is never broken */

/* Light and dark. Phases have the colours of Okabe and Ito, which differ for colour-blind eyes too ("Color
 * Universal Design", 2008), in dark made lighter where need be; idle causes are grey with a pattern. */
static const char style[] =
	":root{color-scheme:light dark;--bg:#fff;--fg:#1c1d21;--dim:#5a5d66;--line:#d4d6dc;--panel:#f5f6f8;"
	"--grey:#c3c6cd;--mark:#83868f;--forward:#0072b2;--backward:#e69f00;--communication:#d55e00;"
	"--update:#009e73;--h2d:#56b4e9;--io:#cc79a7;--md:#b8a800;--graph:#7a5c2e;--other:#7d818b;--warn:#fff3d6;"
	"--c4:#2166ac;--c3:#6aa5d0;--c2:#c3dcec;--m:#eceef1;--w2:#fbd3b8;--w3:#ee8f62;--w4:#b2182b;--low:#fff}\n"
	"@media (prefers-color-scheme:dark){:root{--bg:#17181c;--fg:#e6e7ea;--dim:#a3a7b0;--line:#3a3d45;"
	"--panel:#202227;--grey:#4a4e58;--mark:#878c98;--forward:#3d9bd6;--backward:#e8ab2c;"
	"--communication:#e8743a;--update:#23b88c;--h2d:#83c8f2;--io:#d892b8;--md:#d8ca3c;--graph:#a98652;"
	"--other:#8b909b;--warn:#3d3318;--c4:#5aa0e0;--c3:#34699c;--c2:#24405c;--m:#2b2e35;--w2:#5c3a28;"
	"--w3:#a1552f;--w4:#f0745c;--low:#17181c}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:1240px;padding:16px 24px 48px;background:var(--bg);color:var(--fg);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\n"
	"h1{font-size:24px;margin:8px 0 2px;overflow-wrap:anywhere}h2{font-size:18px;margin:32px 0 6px;"
	"overflow-wrap:anywhere}h1+p,p{margin:4px 0 10px}\n"
	".dim,caption,figcaption{color:var(--dim);font-size:13px}\n"
	".warn{background:var(--warn);border-left:4px solid var(--backward);padding:6px 12px;margin:6px 0;"
	"overflow-wrap:anywhere}\n"
	".work{background:var(--panel);border-left:4px solid var(--forward);padding:10px 18px 10px 34px;"
	"margin:14px 0;font-size:16px;overflow-wrap:anywhere}.work li{margin:4px 0}\n"
	"table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}\n"
	"th,td{padding:2px 8px;text-align:right;vertical-align:middle;white-space:nowrap}\n"
	"th{font-weight:600}thead th{color:var(--dim);border-bottom:1px solid var(--line)}\n"
	"tbody tr.rule>*{border-top:1px solid var(--line)}\n"
	".l{text-align:left}.long{white-space:normal;overflow-wrap:anywhere;min-width:14em;max-width:26em}\n"
	"td.w{width:60%;padding:2px 4px}table.lines td.w{width:100%}table.list tbody tr:nth-child(even){"
	"background:var(--panel)}\n"
	".scroll{overflow-x:auto}\n"
	"svg{display:block;width:100%;overflow:hidden}svg.key{display:inline-block;width:12px;height:12px;"
	"margin-right:5px;vertical-align:-1px}\n"
	"svg rect{shape-rendering:crispEdges}svg text{font-size:11px;fill:var(--fg)}svg .axis{fill:var(--dim)}svg line{stroke:var(--line)}"
	"svg line.edge{stroke:var(--fg);stroke-dasharray:3 2}\n"
	".legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px;margin:4px 0 8px;padding:0;"
	"list-style:none}\n"
	".tag{color:var(--dim);font-weight:400}\n"
	".h0{fill:var(--c4)}.h1{fill:var(--c3)}.h2{fill:var(--c2)}.h3{fill:var(--m)}.h4{fill:var(--w2)}"
	".h5{fill:var(--w3)}.h6{fill:var(--w4)}svg text.on{fill:var(--low)}\n"
	".toc{font-size:13px;margin:4px 0 10px;padding:6px 0;border-bottom:1px solid var(--line)}"
	".toc a{margin-right:14px;white-space:nowrap}.toc p{margin:2px 0}a{color:var(--forward)}"
	".try{color:var(--dim);font-size:14px}table+table,details table,.scroll+table{margin-top:12px}.work>p{margin:0 0 6px -16px}\n"
	"details{margin:6px 0}summary{cursor:pointer;color:var(--dim);font-size:13px;padding:2px 0}"
	"summary:focus-visible,a:focus-visible{outline:2px solid var(--forward);outline-offset:2px}"
	"section,h1{scroll-margin-top:8px}\n"
	"th .row{display:block;height:18px;line-height:18px}.gain{fill:var(--update)}.plain{fill:var(--h2d)}.near{fill:var(--forward)}.faded{opacity:.35}"
	"svg line.mark{stroke:var(--fg);stroke-width:1.5}svg line.hop{stroke:var(--dim)}\n"
	"section+h1{margin-top:48px}.list thead th{white-space:normal}.scroll{margin-top:10px}\n"
	"@media (max-width:900px){th,td{padding:2px 4px}table.list{font-size:12px}}\n"
	"@media print{.toc{display:none}table{font-size:8pt}.scroll{overflow:visible}th,td{padding:1px 3px}body{max-width:none;padding:0;font-size:11pt}tr,svg,.work,.warn{break-inside:avoid}"
	"h2,.dim,.legend{break-after:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

/* Patterns of idle causes; and of waiting, in the colour of communication. */
static const char patterns[] =
	"<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
	"<pattern id=\"idle_launch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
	"<rect width=\"6\" height=\"6\" style=\"fill:var(--grey)\"/>"
	"<path d=\"M-1 7L7 -1M-1 1L1 -1M5 7L7 5\" style=\"stroke:var(--mark);stroke-width:1.5\"/></pattern>"
	"<pattern id=\"idle_queue\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
	"<rect width=\"6\" height=\"6\" style=\"fill:var(--grey)\"/>"
	"<circle cx=\"3\" cy=\"3\" r=\"1.3\" style=\"fill:var(--mark)\"/></pattern>"
	"<pattern id=\"idle_sync\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">"
	"<rect width=\"5\" height=\"5\" style=\"fill:var(--grey)\"/>"
	"<path d=\"M0 2.5H5\" style=\"stroke:var(--mark);stroke-width:1.5\"/></pattern>"
	"<pattern id=\"wait\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
	"<rect width=\"6\" height=\"6\" style=\"fill:var(--bg)\"/>"
	"<path d=\"M-1 7L7 -1M-1 1L1 -1M5 7L7 5\" style=\"stroke:var(--communication);stroke-width:1.5\"/>"
	"</pattern></defs></svg>\n";

const char *html_phase_key(int phase)
{
	return phase == HTML_WAIT ? "wait" : phase_keys[phase];
}

const char *html_phase_title(int phase)
{
	static const char *const titles[] = {
#define ITEM(name, key, symbol, text) text,
		PHASE_LIST(ITEM)
#undef ITEM
			"waiting for the last rank",
	};

	return titles[phase];
}

static bool has_pattern(int phase)
{
	return phase == HTML_WAIT || phase == PHASE_IDLE_LAUNCH || phase == PHASE_IDLE_QUEUE ||
	       phase == PHASE_IDLE_SYNC;
}

void html_page_begin(struct html_page *page, const char *title)
{
	fprintf(page->out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
		"<title>%s</title>\n<style>\n%s",
		title, style);
	for (int phase = 0; phase <= HTML_WAIT; phase++) {
		const char *key = html_phase_key(phase);

		if (has_pattern(phase))
			fprintf(page->out, ".%s{fill:url(#%s)}", key, key);
		else
			fprintf(page->out, ".%s{fill:var(--%s)}", key,
				phase == PHASE_IDLE_UNKNOWN ? "line" : key);
	}
	fprintf(page->out, "\n</style>\n</head>\n<body>\n%s", patterns);
}

/* A line for each run; what comes before any, a line too. */
void html_page_contents(struct html_page *page)
{
	fputs("<nav class=\"toc\" aria-label=\"Contents\">\n<p>", page->out);
	for (size_t i = 0; i < page->entry_count; i++)
		fprintf(page->out, "%s%s<a href=\"#s%zu\">%s</a>%s\n",
			i && page->entries[i].top ? "</p>\n<p>" : "", page->entries[i].top ? "<b>" : "", i,
			page->entries[i].title, page->entries[i].top ? "</b>" : "");
	fputs("</p></nav>\n", page->out);
}

void html_page_end(struct html_page *page)
{
	fputs("</body>\n</html>\n", page->out);
}

size_t html_entry(struct html_page *page, const char *title, bool top)
{
	*MEM_PUSH(page->entries, page->entry_count, page->entry_room) = (struct html_entry){title, top};
	return page->entry_count - 1;
}

void html_section(struct html_page *page, const char *title)
{
	fprintf(page->out, "<section id=\"s%zu\">\n<h2>%s</h2>\n", html_entry(page, title, false), title);
}

/* Length of the character at `text`: 0 if it is none that XML may have. */
static size_t character_length(const unsigned char *text)
{
	size_t length = text[0] < 0x80 ? 1 : text[0] >> 5 == 6 ? 2 : text[0] >> 4 == 14 ? 3 : 4;
	uint32_t value = text[0];

	if (length == 1)
		return value >= 0x20 && value != 0x7f;
	if (length == 4 && text[0] >> 3 != 30)
		return 0;
	value &= 0xffu >> (length + 1);
	for (size_t i = 1; i < length; i++) {
		if (text[i] >> 6 != 2)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	/* Too long a form, control characters, surrogates, and what no character has. */
	if (value < (length == 2          ? 0xa0u
			    : length == 3 ? 0x800u
					  : 0x10000u) ||
		value > 0x10ffff || (value >= 0xd800 && value < 0xe000) || value == 0xfffe || value == 0xffff)
		return 0;
	return length;
}

static const char *entity(unsigned char byte)
{
	switch (byte) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

const char *html_escape(struct html_page *page, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	char *escaped = arena_alloc(&page->arena, strlen(text) * 6 + 1, 1), *to = escaped;

	while (*from) {
		size_t length = character_length(from);
		const char *name = entity(*from);

		if (name) {
			to = stpcpy(to, name);
		} else if (length == 0) {
			*to++ = '?';
		} else {
			memcpy(to, from, length);
			to += length;
		}
		from += length ? length : 1;
	}
	*to = '\0';
	return escaped;
}

const char *html_class(const char *text)
{
	return strlen(text) > LONGEST_LINE ? "l long" : "l";
}

const char *html_time(struct html_page *page, double ns)
{
	if (!isfinite(ns))
		return "–";
	return ns != 0 ? print_time(&page->arena, ns) : "0";
}

void html_swatch(struct html_page *page, int phase)
{
	fprintf(page->out,
		"<svg class=\"key\"><rect class=\"%s\" width=\"12\" height=\"12\" rx=\"2\"/></svg>",
		html_phase_key(phase));
}

void html_bar(struct html_page *page, const char *kind, double percent, const char *tip)
{
	fprintf(page->out,
		"<svg height=\"14\" role=\"img\"><rect class=\"%s\" x=\"0%%\" width=\"%.3f%%\" "
		"height=\"100%%\"><title>%s</title></rect></svg>",
		kind, percent, tip);
}

void html_piece(struct html_page *page, int phase, double from, double wide, const char *tip)
{
	fprintf(page->out,
		"<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s</title></rect>",
		html_phase_key(phase), from, wide, tip);
}
