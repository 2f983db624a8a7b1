/* The HTML report's comparison: several runs side by side; then each against the first. */
#include "analyses/compare/compare.h"
#include "output/report.h"
#include "page.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 60 /* rows that are not folded */

static void write_legend(struct html_page *page, const struct run *runs, size_t run_count)
{
	fputs("<ul class=\"legend\">", page->out);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (report_has_phase(runs, run_count, (enum phase)phase)) {
			fputs("<li>", page->out);
			html_swatch(page, phase);
			fprintf(page->out, "%s</li>", html_phase_title(phase));
		}
	fputs("</ul>\n", page->out);
}

static void write_bars(struct html_page *page, const struct run *runs, size_t run_count)
{
	enum { RUN, TIME, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("run", "run", PRINT_WORD),
		PRINT_COLUMN("t_iter", "t_iter", PRINT_TIME, .bar = ""),
	};
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (size_t r = 0; r < run_count; r++) {
		const struct analysis *analysis = &runs[r].analysis;

		print_row(&table);
		print_word(&table, RUN, runs[r].label);
		print_number(
			&table, TIME, analysis_iteration(analysis->workers, analysis->worker_count).mean);
		html_stack_phases(&table, TIME, analysis->workers, analysis->worker_count);
	}
	print_html(&table, page->out);
	print_free(&table);
}

/* Where each run loses time: its first finding, which its own part says more of. */
static void write_findings(struct html_page *page, const struct run *runs, size_t run_count)
{
	enum { RUN, FINDING, GAIN, SHARE, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("run", "run", PRINT_WORD),
		PRINT_COLUMN("finding", "loses most to", PRINT_WORD),
		PRINT_COLUMN("gain", "at most", PRINT_TIME),
		PRINT_COLUMN("share", "of t_iter", PRINT_SHARE),
	};
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (size_t r = 0; r < run_count; r++) {
		const struct finding_list *list = &page->findings[r];

		print_row(&table);
		print_word(&table, RUN, runs[r].label);
		if (list->count == 0)
			continue;
		print_word(&table, FINDING, list->items[0].title);
		print_number(&table, GAIN, list->items[0].gain_ns);
		print_number(&table, SHARE, finding_share(list, &list->items[0]));
	}
	print_html(&table, page->out);
	print_free(&table);
}

static void write_rows(struct html_page *page, struct compare *compare, const struct compare_pair *pair,
	enum compare_rows which)
{
	struct print_table table;

	print_init(&table, &compare->arena);
	compare_row_table(compare, pair, which, PRINT_HTML, &table);
	if (table.row_count > 0)
		print_html_folded(&table, which == COMPARE_ROWS_LAYERS ? MOST_LAYERS : SIZE_MAX,
			"layers with smaller differences", page->out);
	print_free(&table);
}

static void write_pair(struct html_page *page, struct compare *compare, const struct compare_pair *pair)
{
	const char *base = html_escape(page, compare->sides[pair->base].name);
	const char *other = html_escape(page, compare->sides[pair->other].name);
	const char **words = compare_words(compare, pair);

	html_section(page, arena_format(&page->arena, "%s against %s", other, base));
	fputs("<ul class=\"lead\">\n", page->out);
	for (size_t i = 0; words[i]; i++)
		fprintf(page->out, "<li>%s.</li>\n", html_escape(page, words[i]));
	fputs("</ul>\n", page->out);
	write_rows(page, compare, pair, COMPARE_ROWS_EXCLUSIVE);
	write_rows(page, compare, pair, COMPARE_ROWS_LAYERS);
	fprintf(page->out,
		"<p class=\"dim\">Means over iterations and ranks; phases exclusive, %s faded above %s; layers: forward, backward and update. Red takes longer, blue less, grey is inconclusive; the line is the 95%% confidence interval of the difference. Same: within %.3g%%, or within %.3g%% of the iteration, at that confidence. Seeded block bootstrap; p-values of faster and slower are corrected over all rows.</p>\n"
		"</section>\n",
		base, other, 100 * compare->how.margin, 10 * compare->how.margin);
}

static void write_pairs(struct html_page *page, struct run *runs, size_t run_count)
{
	struct compare_side *sides = mem_alloc(run_count, sizeof(*sides));
	struct run **places = mem_alloc(run_count, sizeof(*places));
	const struct compare_options how = {.margin = COMPARE_MARGIN, .seed = COMPARE_SEED};
	struct compare compare;
	size_t count = 0;

	for (size_t r = 0; r < run_count; r++) {
		if (runs[r].analysis.worker_count == 0)
			continue;
		places[count] = &runs[r];
		sides[count] = (struct compare_side){runs[r].label, &places[count], 1};
		count++;
	}
	if (!compare_check(sides, count, &how)) {
		compare_init(&compare, sides, count, &how);
		for (size_t i = 0; i < compare.pair_count; i++)
			write_pair(page, &compare, &compare.pairs[i]);
		compare_free(&compare);
	}
	free(sides);
	free(places);
}

void html_compare(struct html_page *page, struct run *runs, size_t run_count)
{
	const char *title = arena_format(&page->arena, "%zu runs side by side", run_count);

	fprintf(page->out,
		"<section id=\"s%zu\">\n"
		"<h1>%s</h1>\n"
		"<p class=\"dim\">Mean exclusive times per iteration.</p>\n",
		html_entry(page, title, true), title);
	write_legend(page, runs, run_count);
	write_bars(page, runs, run_count);
	write_findings(page, runs, run_count);
	report_runs_html(runs, run_count, page->out);
	fputs("<p class=\"dim\">Loses most to: the run’s first finding, with its maximum gain; all findings are listed below. × first run: speed relative to the first run, by t_iter. Speed-up and efficiency: against the run of the same program on one GPU, where there is one, in samples per second. t_c: communication, busy; exposed: no other work runs; waiting: for the last rank.</p>\n"
	      "</section>\n",
		page->out);
	write_pairs(page, runs, run_count);
}
