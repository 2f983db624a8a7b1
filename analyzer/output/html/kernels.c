/* The HTML report's tables of what ran on the devices, and of what the host did while they were idle. */
#include "analyses/kernels.h"
#include "page.h"

#include <math.h>
#include <string.h>

#define MOST_KERNELS 60
#define MOST_SHOWN 15
#define LEAST_IDLE 0.005 /* of the idle time */

static void write_kernel(struct html_page *page, const struct html_run *run, const struct kernels *kernels,
	const struct kernel_row *row)
{
	const char *title = html_escape(page, row->title);

	fprintf(page->out,
		"<tr><th class=\"l\" title=\"%s\">%s</th><td class=\"l\">%s</td><td class=\"l\">%s</td>"
		"<td class=\"w\" style=\"width:25%%\">",
		html_escape(page, row->name), title, html_phase_title((int)row->phase),
		row->layer_count > 1 ? "several" : html_escape(page, row->layer));
	html_bar(page, html_phase_key((int)row->phase),
		kernels->rows[0].time_ns > 0 ? 100 * row->time_ns / kernels->rows[0].time_ns : 0,
		html_time(page, row->time_ns));
	fprintf(page->out, "</td><td>%.4g</td><td>%s</td><td>%.1f%%</td>", row->count,
		html_time(page, row->time_ns), 100 * row->share);
	if (run->analysis->worker_count > 1)
		fprintf(page->out, "<td>%s to %s (%s)</td>", html_time(page, row->least_ns),
			html_time(page, row->greatest_ns), run->names[row->greatest]);
	fputs("</tr>\n", page->out);
}

static void write_rows(struct html_page *page, const struct html_run *run, const struct kernels *kernels,
	size_t from, size_t to)
{
	fprintf(page->out,
		"<div class=\"scroll\"><table class=\"list\">\n<thead><tr><th class=\"l\">kernel</th><th class=\"l\">phase</th>"
		"<th class=\"l\">layer</th><th></th><th>count</th><th>time</th><th>share</th>%s</tr></thead>\n"
		"<tbody>\n",
		run->analysis->worker_count > 1 ? "<th>over ranks</th>" : "");
	html_times(page, kernels->rows[0].time_ns);
	for (size_t i = from; i < to; i++)
		write_kernel(page, run, kernels, &kernels->rows[i]);
	html_times(page, 0);
	fputs("</tbody></table></div>\n", page->out);
}

void html_kernels(struct html_page *page, const struct html_run *run)
{
	struct kernels kernels;
	size_t shown, folded;

	kernels_find(run->analysis, &kernels);
	shown = kernels.row_count < MOST_SHOWN ? kernels.row_count : MOST_SHOWN;
	folded = kernels.row_count < MOST_KERNELS ? kernels.row_count : MOST_KERNELS;
	if (kernels.row_count && !run->findings.job) {
		html_section(page, "Kernels");
		fputs("<p class=\"dim\">What runs on the devices in a step, mean of the ranks (pmanalyze "
		      "kernels).</p>\n",
			page->out);
		write_rows(page, run, &kernels, 0, shown);
		if (folded > shown) {
			fprintf(page->out, "<details><summary>%zu more</summary>\n", folded - shown);
			write_rows(page, run, &kernels, shown, folded);
			fputs("</details>\n", page->out);
		}
		fputs("</section>\n", page->out);
	}
	kernels_free(&kernels);
}

enum { CALL_NAME, CALL_COUNT, CALL_TIME, CALL_LONGEST, CALL_IDLE, CALL_QUEUED, CALL_PLACE, CALL_COLUMNS };

/* Where the host was for most of the idle time, and for which share of it. */
static void add_place(struct print_table *table, const char *place, double share)
{
	print_word(table, CALL_PLACE,
		place ? arena_format(table->arena, "%s, %.0f%%", place, 100 * share) : "-");
}

static void write_calls(struct html_page *page, const struct host_calls *calls)
{
	const struct print_column columns[CALL_COLUMNS] = {
		PRINT_COLUMN("call", "call", PRINT_WORD),
		PRINT_COLUMN("count", "calls", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("time", "time", PRINT_TIME),
		PRINT_COLUMN("longest", "longest", PRINT_TIME),
		PRINT_COLUMN("idle", "GPU idle", PRINT_TIME, .bar = html_phase_key(PHASE_IDLE_LAUNCH)),
		PRINT_COLUMN("queued", "of it queued", PRINT_TIME),
		PRINT_COLUMN("place", calls->by_sites ? "first called from" : "most in", PRINT_WORD),
	};
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, CALL_COLUMNS);
	for (size_t i = 0; i < calls->count; i++) {
		const struct host_call *call = &calls->items[i];

		if (call->idle_ns < LEAST_IDLE * calls->idle_ns)
			continue;
		print_row(&table);
		print_word(&table, CALL_NAME, call->name);
		print_number(&table, CALL_COUNT, call->count);
		print_number(&table, CALL_TIME, call->time_ns);
		print_number(&table, CALL_LONGEST, call->longest_ns);
		print_number(&table, CALL_IDLE, call->idle_ns);
		print_number(&table, CALL_QUEUED, call->phases_ns[PHASE_IDLE_QUEUE - PHASE_WORK_COUNT]);
		add_place(&table, call->place, call->place_share);
	}
	print_row(&table);
	print_word(&table, CALL_NAME, "in no call");
	print_number(&table, CALL_IDLE, calls->outside_ns);
	add_place(&table, calls->outside_place, calls->outside_share);
	print_html(&table, page->out);
	print_free(&table);
}

/* Of the rank that is idle for longest: which calls it was in. */
void html_calls(struct html_page *page, const struct html_run *run)
{
	const struct host_calls *calls = run->findings.calls;
	size_t most = 0;

	if (run->findings.job)
		return;
	for (size_t w = 1; w < run->analysis->worker_count; w++)
		most = calls[w].idle_ns > calls[most].idle_ns ? w : most;
	if (calls[most].count == 0 || !(calls[most].idle_ns > 0))
		return;
	html_section(page, "Idle time by host call");
	fprintf(page->out,
		"<p class=\"dim\">Of %s, whose GPU is idle for %s of a step, the most of all (pmanalyze report "
		"--calls). What is idle with work queued is not the call’s doing.</p>\n",
		run->names[most], html_time(page, calls[most].idle_ns));
	write_calls(page, &calls[most]);
	fputs("</section>\n", page->out);
}
