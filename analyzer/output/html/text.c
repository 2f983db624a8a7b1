/* What the run loses time to, at the head of its part of the page: the list of findings (finding.h) as it is.
 */
#include "page.h"

#include <math.h>
#include <string.h>

#define MOST_FINDINGS 6

static const char *strength(const struct finding *finding)
{
	return finding->strength == FINDING_STRONG   ? "Strong"
	       : finding->strength == FINDING_LIKELY ? "Likely"
						     : "Weak";
}

const char *html_finding_title(
	struct html_page *page, const struct html_run *run, const struct finding *finding)
{
	const char *title = html_escape(page, finding->title);

	if (!isfinite(finding->gain_ns))
		return arena_format(&page->arena, "<b>%s</b>", title);
	return arena_format(&page->arena, "<b>%s</b>: at most %s %s (%.1f%%)", title,
		html_time(page, finding->gain_ns), step_each(run->findings.step.whole), 100 * finding_share(&run->findings, finding));
}

static void write_finding(struct html_page *page, const struct html_run *run, const struct finding *finding)
{
	size_t length = strlen(finding->text);

	fprintf(page->out, "<li data-run=\"%zu\"", page->run);
	if (finding->worker != SIZE_MAX)
		fprintf(page->out, " data-rank=\"%s\"", run->names[finding->worker]);
	if (finding->layer && finding->layer[0])
		fprintf(page->out, " data-layer=\"%s\"",
			html_escape(page, print_clean(&page->arena, finding->layer)));
	fprintf(page->out,
		">%s. %s%s <span class=\"dim\">%s: %s.</span> <span class=\"try\">Try: %s.</span></li>\n",
		html_finding_title(page, run, finding), html_escape(page, finding->text),
		length && finding->text[length - 1] == '.' ? "" : ".", strength(finding),
		html_escape(page, finding->basis), html_escape(page, finding->advice));
}

void html_words(struct html_page *page, struct html_run *run)
{
	const struct finding_list *list = &run->findings;

	fprintf(page->out,
		"<div class=\"lead\">\n<p>%s Percentages of findings are of %s.</p>\n<ol "
		"aria-label=\"Findings\">\n",
		html_escape(page, finding_step_text(&run->findings)),
		list->step.whole ? "the recording" : "the mean step");
	if (list->count == 0)
		fprintf(page->out,
			"<li><b>Nothing stands out</b>: neither stragglers, input, launches nor communication cost 1%% "
			"of %s.</li>\n",
			step_unit(list->step.whole));
	for (size_t i = 0; i < list->count && i < MOST_FINDINGS; i++)
		write_finding(page, run, &list->items[i]);
	fputs("</ol>\n</div>\n", page->out);
}
