/* The HTML report's waits: what each rank makes the others wait, and why. */
#include "page.h"
#include "analyses/balance_table.h"

#include <stdlib.h>

size_t html_choose(const struct html_run *run, size_t most, bool **chosen)
{
	size_t count = run->analysis->worker_count, left = count < most ? count : most, taken = left;

	*chosen = mem_alloc(count, sizeof(**chosen));
	for (size_t i = 0; i < run->findings.causes.count && left; i++)
		if (!(*chosen)[run->findings.causes.items[i].worker]) {
			(*chosen)[run->findings.causes.items[i].worker] = true;
			left--;
		}
	if (left && !(*chosen)[analysis_slowest(run->analysis)]) {
		(*chosen)[analysis_slowest(run->analysis)] = true;
		left--;
	}
	for (size_t w = 0; w < count && left; w++)
		if (!(*chosen)[w]) {
			(*chosen)[w] = true;
			left--;
		}
	return taken;
}

static void write_causes(struct html_page *page, const struct html_run *run)
{
	bool any = false;

	for (size_t i = 0; i < run->findings.count; i++) {
		const struct finding *finding = &run->findings.items[i];

		if (finding->kind != FINDING_STRAGGLER && finding->kind != FINDING_WAITING)
			continue;
		fprintf(page->out, "%s<li>%s. %s.</li>\n", any ? "" : "<p>What ranks wait for:</p>\n<ul>\n",
			html_finding_title(page, run, finding), html_escape(page, finding->text));
		any = true;
	}
	if (any)
		fputs("</ul>\n", page->out);
}

void html_waits(struct html_page *page, const struct html_run *run)
{
	struct print_table table;
	size_t shown;
	bool *chosen;

	if (run->analysis->worker_count < 2)
		return;
	html_section(page, "Waiting and stragglers");
	fputs("<p class=\"dim\">Means per iteration. Wait caused: how long the other ranks, summed, wait "
	      "in collectives for this rank.</p>\n",
		page->out);
	shown = html_choose(run, HTML_MOST_RANKS, &chosen);
	print_init(&table, &page->arena);
	balance_rank_table(&table, run->analysis, &run->findings.balance, PRINT_HTML);
	print_first(&table, chosen);
	print_html_folded(&table, shown, "ranks", page->out);
	print_free(&table);
	write_causes(page, run);
	fputs("</section>\n", page->out);
	free(chosen);
}
