/* The HTML report of a run of labelled phases: what uneven work costs, why, and on which stage and data rank
 * (slowdown.h). */
#include "page.h"

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

/* No "-0.0". */
static double none_below(double percent)
{
	return fabs(percent) < 0.05 ? 0 : percent;
}

static void write_effects(struct html_page *page, const struct slowdown *slowdown)
{
	bool done[SLOWDOWN_EFFECTS] = {false};
	double greatest_ns = 0;

	for (int i = 0; i < SLOWDOWN_EFFECTS; i++)
		greatest_ns = fmax(greatest_ns, slowdown->replayed_ns - slowdown->effect_ns[i]);
	fputs("<table class=\"list\">\n"
	      "<thead><tr><th class=\"l\">balanced part</th><th></th><th>saves</th><th></th><th>step</th><th>explains</th></tr></thead>\n"
	      "<tbody>\n",
		page->out);
	html_times(page, slowdown->replayed_ns);
	for (int n = 0; n < SLOWDOWN_EFFECTS; n++) {
		int i = next_effect(slowdown, done);
		double gain_ns = slowdown->replayed_ns - slowdown->effect_ns[i];

		done[i] = true;
		fprintf(page->out, "<tr><th class=\"l\">%s</th><td class=\"w\" style=\"width:45%%\">",
			slowdown_effect_name(i));
		html_bar(page, "gain", greatest_ns > 0 ? 100 * fmax(gain_ns, 0) / greatest_ns : 0,
			html_time(page, gain_ns));
		fprintf(page->out, "</td><td>%s</td><td>%.1f%%</td><td>%s</td><td>%s</td></tr>\n",
			html_time(page, gain_ns), none_below(100 * gain_ns / slowdown->replayed_ns),
			html_time(page, slowdown->effect_ns[i]),
			isfinite(slowdown->effect[i])
				? arena_format(&page->arena, "%.1f%%", 100 * slowdown->effect[i])
				: "–");
	}
	html_times(page, 0);
	fputs("</tbody></table>\n", page->out);
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

static void write_parts(struct html_page *page, const struct slowdown *slowdown,
	const struct slowdown_part *parts, size_t count, const char *title)
{
	double greatest = 0;

	if (count < 2)
		return;
	for (size_t i = 0; i < count && i < MOST_LANES; i++)
		greatest = fmax(greatest, parts[i].compute_ns);
	fprintf(page->out,
		"<table class=\"list\">\n<thead><tr><th class=\"l\">%s</th><th></th><th>computing</th><th>of the "
		"mean</th><th>slowest in</th><th>S</th><th>explains</th></tr></thead>\n<tbody>\n",
		title);
	for (size_t i = 0; i < count && i < MOST_LANES; i++) {
		fprintf(page->out, "<tr><th class=\"l\">%s</th><td class=\"w\" style=\"width:40%%\">",
			html_escape(page, parts[i].name));
		html_bar(page, html_phase_key(PHASE_FORWARD),
			greatest > 0 ? 100 * parts[i].compute_ns / greatest : 0,
			html_time(page, parts[i].compute_ns));
		fprintf(page->out,
			"</td><td>%s</td><td>%.3f×</td><td>%.0f%%</td><td>%.3f</td><td>%s</td></tr>\n",
			html_time(page, parts[i].compute_ns), parts[i].ratio,
			100 * (double)parts[i].slowest / (double)slowdown->step_count, parts[i].slowdown,
			isfinite(parts[i].explained)
				? arena_format(&page->arena, "%.1f%%", 100 * parts[i].explained)
				: "–");
	}
	fputs("</tbody></table>\n", page->out);
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
	write_parts(page, slowdown, slowdown->stages, slowdown->stage_count, "stage");
	write_parts(page, slowdown, slowdown->data, slowdown->data_count, "data rank");
	fputs("</section>\n", page->out);
}
