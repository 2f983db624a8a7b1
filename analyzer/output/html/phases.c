/* The HTML report's phases: the table of a run, and bars by rank. */
#include "page.h"
#include "output/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double exclusive_ns(const struct analysis_worker *workers, size_t count, int phase)
{
	return analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE).mean;
}

void html_stack_phases(
	struct print_table *table, size_t column, const struct analysis_worker *workers, size_t count)
{
	double at = 0;

	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		const double ns = exclusive_ns(workers, count, phase);

		if (!(ns > 0))
			continue;
		print_piece(table, column,
			(struct print_piece){
				.start = at,
				.end = at + ns,
				.kind = html_phase_key(phase),
				.tip = arena_format(table->arena, "%s: %s", html_phase_title(phase),
					print_time(table->arena, ns)),
			});
		at += ns;
	}
}

/* Its squares are the legend of the bars. */
static void write_table(struct html_page *page, const struct html_run *run)
{
	enum { NAME, SYMBOL, BUSY, EXCLUSIVE, DEVIATION, SHARE, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("phase", "phase", PRINT_WORD),
		PRINT_COLUMN("symbol", "symbol", PRINT_WORD),
		PRINT_COLUMN("busy", "busy", PRINT_TIME),
		PRINT_COLUMN("exclusive", "exclusive", PRINT_TIME),
		PRINT_COLUMN("exclusive_sd", "± sd", PRINT_TIME),
		PRINT_COLUMN("share", "share", PRINT_SHARE),
	};
	const struct analysis_worker *workers = run->analysis->workers;
	const size_t count = run->analysis->worker_count;
	const struct analysis_statistics whole = analysis_iteration(workers, count);
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		const struct analysis_statistics own =
			analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE);

		if (!report_has_phase(run->run, 1, (enum phase)phase))
			continue;
		print_row(&table);
		print_word(&table, NAME, html_phase_title(phase));
		print_colour(&table, NAME, html_phase_key(phase));
		print_tip(&table, NAME, html_phase_text((enum phase)phase));
		print_word(&table, SYMBOL, phase_symbols[phase]);
		if (phase < PHASE_WORK_COUNT)
			print_number(&table, BUSY,
				analysis_phase(workers, count, (enum phase)phase, ANALYSIS_BUSY).mean);
		print_number(&table, EXCLUSIVE, own.mean);
		print_number(&table, DEVIATION, own.deviation);
		print_number(&table, SHARE, own.mean / whole.mean);
	}
	table.rule = true;
	print_row(&table);
	print_word(&table, NAME, "iteration");
	print_word(&table, SYMBOL, "t_iter");
	print_number(&table, EXCLUSIVE, whole.mean);
	print_number(&table, DEVIATION, whole.deviation);
	print_number(&table, SHARE, whole.mean > 0 ? 1 : NAN);
	print_html(&table, page->out);
	print_free(&table);
}

static void write_ranks(struct html_page *page, const struct html_run *run)
{
	enum { RANK, TIME, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("rank", "rank", PRINT_WORD),
		PRINT_COLUMN("t_iter", "t_iter", PRINT_TIME, .bar = ""),
	};
	struct analysis *analysis = run->analysis;
	struct print_table table;
	size_t shown;
	bool *chosen;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (size_t w = 0; w < analysis->worker_count; w++) {
		print_row(&table);
		print_word(&table, RANK, analysis_worker_name(analysis, &analysis->workers[w]));
		print_number(&table, TIME, analysis_iteration(&analysis->workers[w], 1).mean);
		html_stack_phases(&table, TIME, &analysis->workers[w], 1);
	}
	shown = html_choose(run, HTML_MOST_RANKS, &chosen);
	print_first(&table, chosen);
	print_html_folded(&table, shown, "ranks", page->out);
	print_free(&table);
	free(chosen);
}

void html_phases(struct html_page *page, const struct html_run *run)
{
	html_section(page, run->analysis->is_whole ? "Phases of the recording" : "Phases of an iteration");
	fputs("<p class=\"dim\">Means over iterations and ranks. Busy: some work of the phase is running. "
	      "Exclusive: each instant belongs to one phase, so phases add up to the iteration; for "
	      "communication this is the exposed time.</p>\n",
		page->out);
	write_table(page, run);
	fputs("<h2>Phases by rank</h2>\n", page->out);
	write_ranks(page, run);
	fputs("</section>\n", page->out);
}
