/* The frame of the HTML report, its style sheet, and small parts: see html_page.h. */
#include "base/plot_svg.h"
#include "page.h"
#include "output/report.h"

#include <math.h>
#include <string.h>

/* Colours beside those of phases, and those of phases that are others in the dark. */
static const char style[] =
	":root{--grey:#c3c6cd;--mark:#83868f;--c3:#6aa5d0;--c2:#c3dcec;--m:#eceef1;--plain:#8d9bb0;--blocked:#c98a9b;--call:var(--mark);--range:var(--plain);--w2:#fbd3b8;"
	"--w3:#ee8f62}\n"
	"@media (prefers-color-scheme:dark){:root{--grey:#4a4e58;--mark:#878c98;--md:#d8ca3c;"
	"--c3:#34699c;--c2:#24405c;--m:#2b2e35;--plain:#6f7d93;--blocked:#8f5a68;--w2:#5c3a28;--w3:#a1552f}}\n"
	".lead{padding-left:34px}.lead li{margin:4px 0}.lead>p{margin:0 0 6px -16px}\n"
	"table{width:100%}table.lines td.w{width:100%}\n"
	"svg{display:block;width:100%;overflow:hidden}\n"
	"svg rect{shape-rendering:crispEdges}svg line{stroke:var(--line)}svg line.edge{stroke:var(--fg);"
	"stroke-dasharray:3 2}\n"
	".legend{display:flex;flex-wrap:wrap;gap:2px 16px;font-size:13px;margin:4px 0 8px;padding:0;"
	"list-style:none}\n"
	"table.facts{width:auto;margin:6px 0 10px}.facts th{color:var(--dim);font-weight:400;vertical-align:top}"
	".facts td{white-space:normal;max-width:none;min-width:0}.tag{color:var(--dim);font-weight:400}\n"
	".h0{fill:var(--less)}.h1{fill:var(--c3)}.h2{fill:var(--c2)}.h3{fill:var(--m)}.h4{fill:var(--w2)}"
	".h5{fill:var(--w3)}.h6{fill:var(--more)}svg text.on{fill:var(--bg)}\n"
	".toc{font-size:13px;margin:4px 0 10px;padding:6px 0;border-bottom:1px solid var(--line)}"
	".toc a{margin-right:14px;white-space:nowrap}.toc p{margin:2px 0}a{color:var(--forward)}\n"
	".try{color:var(--dim);font-size:14px}table+table,details table,.scroll+table{margin-top:12px}\n"
	"details{margin:6px 0}summary{cursor:pointer;color:var(--dim);font-size:13px;padding:2px 0}"
	"summary:focus-visible,a:focus-visible{outline:2px solid var(--forward);outline-offset:2px}"
	"section,h1{scroll-margin-top:8px}"
	/* Laid out and painted when near the window; what is found, printed or jumped to is, too. */
	"section{content-visibility:auto;contain-intrinsic-size:auto 600px;overflow-clip-margin:6px}\n"
	"th .row{display:block;height:18px;line-height:18px}.gain{fill:var(--update)}"
	".plain{fill:var(--plain)}.near{fill:var(--forward)}.faded{opacity:.35}\n"
	"svg text.t{font-size:10px;fill:#111}svg text.t-forward,svg text.t-graph{fill:#fff}"
	"@media (prefers-color-scheme:dark){svg text.t{fill:#111}}\n"
	"svg line.hop{stroke:var(--dim)}svg.flame svg.box{cursor:pointer}svg.flame rect{stroke:var(--bg);stroke-width:1}\n"
	".list thead th{white-space:normal}.scroll{margin-top:10px}\n"
	"@media (min-width:1700px){body{max-width:1640px}p,.lead{max-width:1240px}}\n"
	"@media (max-width:640px){body{padding:12px 12px 32px}svg text.half{display:none}"
	".lead{padding-left:26px}}\n"
	"@media (max-width:900px){th,td{padding:2px 4px}table.list{font-size:12px}}\n"
	"@media print{.toc{display:none}section{content-visibility:visible}table{font-size:8pt}.scroll{overflow:visible}th,"
	"td{padding:1px 3px}.dim,.legend{break-after:avoid}}\n";

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
	static const char *const others[] = {"wait", "blocked", "call", "range"};

	return phase >= PHASE_COUNT ? others[phase - PHASE_COUNT] : phase_keys[phase];
}

const char *html_phase_title(int phase)
{
	static const char *const others[] = {
		"waiting for the last rank", "host blocked in a call", "other host call", "range"};

	return phase >= PHASE_COUNT ? others[phase - PHASE_COUNT] : phase_titles[phase];
}

const char *html_phase_text(enum phase phase)
{
	return phase_facts[phase].text;
}

static bool has_pattern(int phase)
{
	return phase == HTML_WAIT || phase == PHASE_IDLE_LAUNCH || phase == PHASE_IDLE_QUEUE ||
	       phase == PHASE_IDLE_SYNC;
}

void html_page_begin(struct html_page *page, const char *title)
{
	const char *phases = "", *colours = ":root{";

	for (int phase = 0; phase < PHASE_WORK_COUNT; phase++)
		colours = arena_format(&page->arena, "%s%s--%s:%s", colours, phase ? ";" : "",
			phase_keys[phase], phase_facts[phase].colour);
	for (int phase = 0; phase < HTML_KINDS; phase++) {
		const char *key = html_phase_key(phase);

		phases = arena_format(&page->arena,
			has_pattern(phase) ? "%s.%s{fill:url(#%s)}" : "%s.%s{fill:var(--%s)}", phases, key,
			phase == PHASE_IDLE_UNKNOWN ? "line" : key);
	}
	html_begin(title, (const char *const[]){plot_svg_style, colours, "}\n", style, phases, "\n", NULL},
		page->out);
	fputs(patterns, page->out);
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

size_t html_entry(struct html_page *page, const char *title, bool top)
{
	*MEM_PUSH(page->entries, page->entry_count, page->entry_room) = (struct html_entry){title, top};
	return page->entry_count - 1;
}

void html_section(struct html_page *page, const char *title)
{
	fprintf(page->out, "<section id=\"s%zu\">\n<h2>%s</h2>\n", html_entry(page, title, false), title);
}

const char *html_escape(struct html_page *page, const char *text)
{
	char *escaped = arena_alloc(&page->arena, strlen(text) * 6 + 1, 1), *to = escaped;
	const char *shown;
	size_t bytes;

	while (*text) {
		text += html_character(text, &shown, &bytes);
		to = mempcpy(to, shown, bytes);
	}
	*to = '\0';
	return escaped;
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

void html_piece(struct html_page *page, int phase, double from, double wide, const char *tip)
{
	fprintf(page->out,
		"<rect class=\"%s\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s</title></rect>",
		html_phase_key(phase), from, wide, tip);
}
