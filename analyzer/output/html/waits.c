/* The HTML report's waits: what each rank makes the others wait, and why. */
#include "page.h"

#include <math.h>
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

static void write_rank(struct html_page *page, const struct html_run *run, size_t w, double greatest_ns)
{
	const struct balance_rank *rank = &run->findings.balance.ranks[w];
	size_t count = run->analysis->worker_count;
	double others_ns = (double)(count - 1) * analysis_iteration(run->analysis->workers, count).mean;

	fprintf(page->out,
		"<tr><th class=\"l\">%s</th><td>%s</td><td>%s</td><td>%s</td><td class=\"w\" "
		"style=\"width:45%%\"><svg height=\"14\" role=\"img\">",
		run->names[w], html_time(page, rank->compute_ns), html_time(page, rank->wait_ns),
		html_time(page, rank->wait_caused_ns));
	if (rank->wait_caused_ns > 0)
		html_piece(page, PHASE_COMMUNICATION, 0, 100 * rank->wait_caused_ns / greatest_ns,
			arena_format(&page->arena, "%s of waiting caused by %s",
				html_time(page, rank->wait_caused_ns), run->names[w]));
	fprintf(page->out, "</svg></td><td>%.1f%%</td></tr>\n",
		others_ns > 0 ? 100 * rank->wait_caused_ns / others_ns : 0);
}

static void write_table(struct html_page *page, const struct html_run *run, const bool *chosen, bool which,
	double greatest_ns)
{
	fputs("<table class=\"list\">\n"
	      "<thead><tr><th class=\"l\">rank</th><th>computing</th><th>waiting</th><th>wait caused</th><th></th><th>of their time</th></tr></thead>\n"
	      "<tbody>\n",
		page->out);
	for (size_t w = 0; w < run->analysis->worker_count; w++)
		if (chosen[w] == which)
			write_rank(page, run, w, greatest_ns);
	fputs("</tbody></table>\n", page->out);
}

void html_waits(struct html_page *page, const struct html_run *run)
{
	size_t count = run->analysis->worker_count, shown;
	double greatest_ns = 0;
	bool *chosen;

	if (count < 2)
		return;
	for (size_t w = 0; w < count; w++)
		greatest_ns = fmax(greatest_ns, run->findings.balance.ranks[w].wait_caused_ns);
	html_section(page, "Waiting and stragglers");
	fputs("<p class=\"dim\">Means per iteration. Wait caused: how long the other ranks, summed, wait "
	      "in collectives for this rank.</p>\n",
		page->out);
	shown = html_choose(run, HTML_MOST_RANKS, &chosen);
	write_table(page, run, chosen, true, greatest_ns);
	if (shown < count) {
		fprintf(page->out, "<details><summary>%zu more ranks</summary>\n", count - shown);
		write_table(page, run, chosen, false, greatest_ns);
		fputs("</details>\n", page->out);
	}
	write_causes(page, run);
	fputs("</section>\n", page->out);
	free(chosen);
}
