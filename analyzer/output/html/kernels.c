/* The HTML report's tables of what ran on the devices, and of what the host did while they were idle. */
#include "analyses/kernels.h"
#include "page.h"

#include <math.h>
#include <string.h>

#define MOST_KERNELS 60
#define MOST_SHOWN 15
#define LEAST_IDLE 0.005 /* of the idle time */

void html_kernels(struct html_page *page, const struct html_run *run)
{
	struct print_table table;
	struct kernels kernels;

	kernels_find(run->analysis, &kernels);
	if (kernels.row_count && !run->findings.job) {
		html_section(page, "Kernels");
		fputs("<p class=\"dim\">What runs on the devices in a step, mean of the ranks (pmanalyze "
		      "kernels).</p>\n",
			page->out);
		print_init(&table, &page->arena);
		kernels_table(&table, run->analysis, &kernels, MOST_KERNELS, PRINT_HTML);
		print_html_folded(&table, MOST_SHOWN, "kernels", page->out);
		print_free(&table);
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
		PRINT_COLUMN("count", "calls/step", PRINT_FIGURE, .digits = 4),
		PRINT_COLUMN("time", "time", PRINT_TIME),
		PRINT_COLUMN("longest", "longest", PRINT_TIME),
		PRINT_COLUMN("idle", "GPU idle", PRINT_TIME, .bar = html_phase_key(PHASE_IDLE_LAUNCH)),
		PRINT_COLUMN("queued", "of it queued", PRINT_TIME),
		PRINT_COLUMN("place", calls->by_sites ? "called from" : "most in", PRINT_WORD),
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
