/* The HTML report of a run of labelled phases: what uneven work costs, why, and on which stage and data rank
 * (slowdown.h). */
#include "page.h"
#include "analyses/slowdown/slowdown.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STAGES 32
#define MOST_LANES 64
#define MOST_TEXTS 16
#define TRUSTED 0.05 /* the replay may differ from the measurement by this share */

struct html_labelled {
	struct labelled job;
	struct labelled_graph graph;
	struct slowdown slowdown;
};

static bool is_labelled(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++)
		if (!timeline->processes[i].recorder || !strstr(timeline->processes[i].recorder, "label"))
			return false;
	return timeline->process_count > 0;
}

/* A file may hold many ranks. */
static bool is_first_of_file(const struct timeline *timeline, size_t process)
{
	for (size_t i = 0; i < process; i++)
		if (strcmp(timeline->processes[i].path, timeline->processes[process].path) == 0)
			return false;
	return true;
}

struct html_labelled *html_labelled_open(const struct timeline *timeline)
{
	struct html_labelled *labelled;
	const char *error;
	bool any = false;

	if (!is_labelled(timeline))
		return NULL;
	labelled = mem_alloc(1, sizeof(*labelled));
	for (size_t i = 0; i < timeline->process_count; i++)
		if (is_first_of_file(timeline, i))
			any |= labelled_read(&labelled->job, timeline->processes[i].path, &error) == 0;
	if (any && labelled_settle(&labelled->job, 0, 0, &error) == 0) {
		labelled_graph_make(&labelled->graph, &labelled->job);
		slowdown_find(&labelled->slowdown, &labelled->job, &labelled->graph, SLOWDOWN_LEAST);
		return labelled;
	}
	labelled_free(&labelled->job);
	free(labelled);
	return NULL;
}

void html_labelled_close(struct html_labelled *labelled)
{
	if (!labelled)
		return;
	slowdown_free(&labelled->slowdown);
	labelled_graph_free(&labelled->graph);
	labelled_free(&labelled->job);
	free(labelled);
}

static const char *const tries[SLOWDOWN_EFFECTS] = {
	[SLOWDOWN_STAGES] = "move layers from the slow stage to the others",
	[SLOWDOWN_WORKERS] = "check that worker’s machine: clocks, temperature, other processes",
	[SLOWDOWN_BATCHES] = "balance the work of micro-batches (sequence lengths), and check for pauses",
	[SLOWDOWN_COMMUNICATION] = "check the network between the workers",
	[SLOWDOWN_COLLECTION] = "run garbage collection on all workers at the same time, and rarely",
	[SLOWDOWN_UPDATE] = "check how the optimizer state is sharded",
};

/* As of slowdown_find: what each effect costs, dearest first. */
static int next_effect(const struct slowdown *slowdown, const bool *done)
{
	int best = -1;

	for (int i = 0; i < SLOWDOWN_EFFECTS; i++)
		if (!done[i] && (best < 0 || slowdown->effect_ns[i] < slowdown->effect_ns[best]))
			best = i;
	return best;
}

static const char *at_begin(struct html_page *page, const char *name)
{
	return arena_format(&page->arena, "%c%s", toupper((unsigned char)*name), name + 1);
}

void html_labelled_words(struct html_page *page, const struct html_run *run)
{
	const struct slowdown *slowdown = &run->labelled->slowdown;
	bool done[SLOWDOWN_EFFECTS] = {false};

	fprintf(page->out,
		"<p><b>%s.</b> A step takes %s, with balanced work %s (slowdown S = %.3f). %s%s</p>\n"
		"<ol>\n",
		slowdown->cause < 0 ? "Imbalance costs little" : "Bottleneck: imbalance",
		html_time(page, slowdown->replayed_ns), html_time(page, slowdown->ideal_ns),
		slowdown->slowdown, html_escape(page, slowdown->cause_words),
		slowdown->recurring ? arena_format(&page->arena, " Recurring straggler: <b>%s</b>.",
					      html_escape(page, slowdown->recurring))
				    : "");
	for (int n = 0; n < 3; n++) {
		int effect = next_effect(slowdown, done);
		double gain_ns = slowdown->replayed_ns - slowdown->effect_ns[effect];

		done[effect] = true;
		if (gain_ns < 0.01 * slowdown->replayed_ns)
			break;
		fprintf(page->out,
			"<li><b>%s</b>: balanced, a step takes %s less (%.1f%%). <span class=\"try\">Try: "
			"%s.</span></li>\n",
			at_begin(page, slowdown_effect_name(effect)), html_time(page, gain_ns),
			100 * gain_ns / slowdown->replayed_ns, tries[effect]);
	}
	if (!done[0] && !done[1] && !done[2] && !done[3] && !done[4] && !done[5])
		fputs("<li>Nothing stands out.</li>\n", page->out);
	fputs("</ol>\n", page->out);
	if (fabs(slowdown->launch_slowdown - 1) > TRUSTED)
		fprintf(page->out,
			"<p>The replayed steps take %.2f× the measured time: the figures may not be "
			"representative.</p>\n",
			1 / slowdown->launch_slowdown);
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

	if (!run->labelled)
		return;
	slowdown = &run->labelled->slowdown;
	html_section(page, "Slowdown by imbalance");
	fprintf(page->out,
		"<p class=\"dim\">%zu workers (%d data × %d pipeline × %d tensor), %zu steps. A step takes "
		"%s as measured, %s replayed, %s with balanced durations.</p>\n",
		run->labelled->job.worker_count, run->labelled->job.data_count,
		run->labelled->job.stage_count, run->labelled->job.tensor_count, slowdown->step_count,
		html_time(page, slowdown->measured_ns), html_time(page, slowdown->replayed_ns),
		html_time(page, slowdown->ideal_ns));
	write_effects(page, slowdown);
	write_map(page, slowdown);
	write_parts(page, slowdown, slowdown->stages, slowdown->stage_count, "stage");
	write_parts(page, slowdown, slowdown->data, slowdown->data_count, "data rank");
	fputs("</section>\n", page->out);
}
