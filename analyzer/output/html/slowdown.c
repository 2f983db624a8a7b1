/* The HTML report of a run of labelled phases: what uneven work costs, why, and on which stage and data rank
 * (slowdown.h). */
#include "page.h"
#include "analyses/slowdown/slowdown_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STAGES 32
#define MOST_LANES 64
#define MOST_TEXTS 16

/* As of slowdown_find: what each effect costs, costliest first. */
static int next_effect(const struct slowdown *slowdown, const bool *done)
{
	int best = -1;

	for (int i = 0; i < SLOWDOWN_EFFECTS; i++)
		if (!done[i] && (best < 0 || slowdown->effect_ns[i] < slowdown->effect_ns[best]))
			best = i;
	return best;
}

/* No "-0.0%". */
static double none_below(double share)
{
	return fabs(share) < 0.0005 ? 0 : share;
}

static void write_effects(struct html_page *page, const struct slowdown *slowdown)
{
	enum { NAME, GAIN, SHARE, STEP, EXPLAINED, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("effect", "balanced part", PRINT_WORD),
		PRINT_COLUMN("gain", "saves", PRINT_TIME, .bar = "gain"),
		PRINT_COLUMN("gain_share", "of a step", PRINT_SHARE),
		PRINT_COLUMN("without", "step", PRINT_TIME),
		PRINT_COLUMN("explained", "explains", PRINT_SHARE),
	};
	bool done[SLOWDOWN_EFFECTS] = {false};
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (int n = 0; n < SLOWDOWN_EFFECTS; n++) {
		int i = next_effect(slowdown, done);
		double gain_ns = slowdown->replayed_ns - slowdown->effect_ns[i];

		done[i] = true;
		print_row(&table);
		print_word(&table, NAME, slowdown_effect_name(i));
		print_number(&table, GAIN, gain_ns);
		print_number(&table, SHARE, none_below(gain_ns / slowdown->replayed_ns));
		print_number(&table, STEP, slowdown->effect_ns[i]);
		print_number(&table, EXPLAINED, slowdown->effect[i]);
	}
	print_html(&table, page->out);
	print_free(&table);
}

/* Class of a worker's S: none is faster than even. */
static int heat_class(double slowdown)
{
	return slowdown < 1.01 ? 3 : slowdown < 1.1 ? 4 : slowdown < 1.3 ? 5 : 6;
}

static void write_worker(
	struct html_page *page, const struct slowdown *slowdown, size_t w, double wide, bool text)
{
	const struct labelled_worker *worker = &slowdown->job->workers[w];
	double value = slowdown->workers[w].slowdown, x = wide * worker->stage;

	if (!isfinite(value))
		return;
	fprintf(page->out,
		"<rect class=\"h%d\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s: S = %.3f, "
		"computing %s, %.3f of the mean</title></rect>",
		heat_class(value), x, wide, html_escape(page, worker->name), value,
		html_time(page, slowdown->workers[w].compute_ns), slowdown->workers[w].ratio);
	if (text)
		fprintf(page->out,
			"<text x=\"%.3f%%\" y=\"13\" text-anchor=\"middle\"%s pointer-events=\"none\">%.3f</text>",
			x + wide / 2, heat_class(value) == 6 ? " class=\"on\"" : "", value);
}

static void write_map(struct html_page *page, const struct slowdown *slowdown)
{
	static const struct {
		int class;
		const char *text;
	} legend[] = {{3, "under 1.01"}, {4, "to 1.10"}, {5, "to 1.30"}, {6, "over"}};
	const struct labelled *job = slowdown->job;
	int32_t stages = job->stage_count,
		lanes = job->lane_count < MOST_LANES ? job->lane_count : MOST_LANES;
	double wide = 100 / (double)stages;

	if (job->worker_count < 2 || stages > MOST_STAGES)
		return;
	fputs("<p class=\"dim\">S of each worker, with its durations as measured and all others balanced: stages to the right, data ranks below.</p>\n"
	      "<ul class=\"legend\">",
		page->out);
	for (size_t i = 0; i < sizeof(legend) / sizeof(*legend); i++)
		fprintf(page->out,
			"<li><svg class=\"key\"><rect class=\"h%d\" width=\"12\" height=\"12\"/></svg>%s</li>",
			legend[i].class, legend[i].text);
	fputs("</ul>\n<table class=\"lines map\">\n<tr><th></th><td class=\"w\"><svg height=\"16\" role=\"img\">",
		page->out);
	for (int32_t stage = 0; stage < stages; stage++)
		fprintf(page->out,
			"<text class=\"axis\" x=\"%.3f%%\" y=\"12\" text-anchor=\"middle\">stage %d</text>",
			wide * (stage + 0.5), stage);
	fputs("</svg></td></tr>\n", page->out);
	for (int32_t lane = 0; lane < lanes; lane++) {
		fprintf(page->out, "<tr><th>data %d</th><td class=\"w\"><svg height=\"18\" role=\"img\">",
			lane / job->tensor_count);
		for (size_t w = 0; w < job->worker_count; w++)
			if (job->workers[w].lane == lane)
				write_worker(page, slowdown, w, wide, stages <= MOST_TEXTS);
		fputs("</svg></td></tr>\n", page->out);
	}
	fputs("</table>\n", page->out);
	if (lanes < job->lane_count)
		fprintf(page->out, "<p class=\"dim\">%d of %d rows are shown.</p>\n", lanes, job->lane_count);
}

static void write_parts(struct html_page *page, const struct slowdown *slowdown, enum slowdown_tables which)
{
	struct print_table table;

	print_init(&table, &page->arena);
	slowdown_table(&table, slowdown, which, PRINT_TEXT);
	if (table.row_count > 1)
		print_html_folded(&table, MOST_LANES, "rows", page->out);
	print_free(&table);
}

void html_slowdown(struct html_page *page, const struct html_run *run)
{
	const struct slowdown *slowdown;

	if (!run->findings.job)
		return;
	slowdown = &run->findings.job->slowdown;
	html_section(page, "Slowdown by imbalance");
	fprintf(page->out,
		"<p class=\"dim\">%zu workers (%d data × %d pipeline × %d tensor), %zu steps. A step takes "
		"%s as measured, %s replayed, %s with balanced durations.</p>\n",
		run->findings.job->job.worker_count, run->findings.job->job.data_count,
		run->findings.job->job.stage_count, run->findings.job->job.tensor_count, slowdown->step_count,
		html_time(page, slowdown->measured_ns), html_time(page, slowdown->replayed_ns),
		html_time(page, slowdown->ideal_ns));
	write_effects(page, slowdown);
	write_map(page, slowdown);
	write_parts(page, slowdown, SLOWDOWN_TABLE_STAGES);
	write_parts(page, slowdown, SLOWDOWN_TABLE_DATA);
	fputs("</section>\n", page->out);
}
