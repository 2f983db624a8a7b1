/*
 * The HTML report's picture of a long run, not all of which was read: how long its steps took, from the first to
 * the last. A bar is the median of many steps, the line above it the longest of them; what was read is marked at
 * the foot.
 */
#include "base/statistics.h"
#include "page.h"

#include <math.h>
#include <stdlib.h>

#define MOST_RANKS 8
#define BARS 150
#define HEIGHT 40.0
#define FOOT 3.0
#define CUT 2.5 /* times the median of all: what is longer ends there */

/* Steps [first, end) of a rank, by number from the first that is known. */
struct piece {
	size_t first, end, longest;
	double median_ns, longest_ns;
	bool read; /* some of it, in detail */
	const char *how;
};

static double step_ns(const struct pace *pace, size_t step)
{
	return (double)(pace->begin_ns[step + 1] - pace->begin_ns[step]);
}

/* Does a window of the process lie in these steps, or of a process that was read as a whole a part with device times? */
static bool is_read(const struct timeline *timeline, const struct timeline_process *process,
	const struct pace *pace, size_t first, size_t end)
{
	if (process->trace)
		return timeline_recorded(timeline, process, pace->begin_ns[first], pace->begin_ns[end]) > 0;
	for (size_t i = 0; i < process->timed_count; i++)
		if (process->timed[i].begin_ns < pace->begin_ns[end] &&
			process->timed[i].end_ns > pace->begin_ns[first])
			return true;
	return process->timed_count == 0;
}

static struct piece piece_of(const struct timeline *timeline, const struct timeline_process *process,
	const struct pace *pace, size_t first, size_t end)
{
	struct piece piece = {.first = first, .end = end};
	double *values = mem_alloc(end - first, sizeof(*values));

	for (size_t i = first; i < end; i++) {
		values[i - first] = step_ns(pace, i);
		if (values[i - first] <= piece.longest_ns)
			continue;
		piece.longest_ns = values[i - first];
		piece.longest = i;
	}
	piece.median_ns = statistics_median(values, end - first);
	piece.how = process->trace ? "; read in detail" : "; with device times";
	piece.read = is_read(timeline, process, pace, first, end);
	free(values);
	return piece;
}

static void write_piece(struct html_page *page, const struct pace *pace, const struct piece *piece, double x,
	double wide, double most_ns)
{
	const double tall = HEIGHT * fmin(piece->median_ns / most_ns, 1);
	const double longest = HEIGHT * fmin(piece->longest_ns / most_ns, 1);

	fprintf(page->out,
		"<g><title>steps %zu to %zu: median %s; the longest is step %zu, %s%s</title>"
		"<rect class=\"plain\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>"
		"<line class=\"mark\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%.1f\" y2=\"%.1f\"/>",
		pace->before + piece->first, pace->before + piece->end - 1, html_time(page, piece->median_ns),
		pace->before + piece->longest, html_time(page, piece->longest_ns),
		piece->read ? piece->how : "", x, HEIGHT - tall, 0.85 * wide, tall, x, x + 0.85 * wide,
		HEIGHT - longest + 1, HEIGHT - longest + 1);
	if (piece->read)
		fprintf(page->out,
			"<rect class=\"near\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>", x,
			HEIGHT + 2, wide, FOOT);
	fputs("</g>", page->out);
}

static void write_rank(struct html_page *page, const struct html_run *run, size_t w)
{
	const struct analysis_worker *worker = &run->analysis->workers[w];
	const struct timeline *timeline = &run->analysis->timeline;
	const struct timeline_process *process = &timeline->processes[worker->worker->process];
	const size_t count = worker->pace.count - 1, bars = count < BARS ? count : BARS;
	struct pace_steps steps;

	if (!pace_steps(&worker->pace, process, &steps))
		return;
	fprintf(page->out, "<tr class=\"rule\"><th>%s</th><td class=\"w\"><svg height=\"%g\" role=\"img\">",
		run->names[w], HEIGHT + 2 + FOOT);
	for (size_t i = 0; i < bars; i++) {
		const struct piece piece = piece_of(
			timeline, process, &worker->pace, count * i / bars, count * (i + 1) / bars);

		write_piece(page, &worker->pace, &piece, 100.0 * (double)i / (double)bars,
			100.0 / (double)bars, CUT * steps.median_ns);
	}
	fprintf(page->out, "</svg></td><td>%s<br/><span class=\"tag\">%zu steps</span></td></tr>\n",
		html_time(page, steps.median_ns), worker->pace.before + worker->pace.count);
}

void html_whole_run(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	size_t shown;
	bool *chosen, sampled;

	if (analysis->worker_count == 0 || analysis->workers[0].pace.count < 2)
		return;
	sampled = analysis->timeline.processes[analysis->workers[0].worker->process].trace != NULL;
	shown = html_choose(run, MOST_RANKS, &chosen);
	html_section(page, "The whole run");
	fprintf(page->out,
		"<p class=\"dim\">%s, only when each step began. A bar is the median of several steps on the host, each up to the beginning of the next; the line is the longest of them, at most %g× the median of all. Marked at the foot: what %s, on which the rest of this page "
		"rests%s. ",
		sampled ? "Not all of this long run was read in detail"
			: "Not all of this run has device times",
		CUT, sampled ? "was read" : "has them", sampled ? "; --steps reads other steps" : "");
	if (shown < analysis->worker_count)
		fprintf(page->out, "%zu of %zu ranks are shown.", shown, analysis->worker_count);
	fputs("</p>\n<table class=\"lines\">\n", page->out);
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (chosen[w] && analysis->workers[w].pace.count > 1)
			write_rank(page, run, w);
	fputs("</table>\n</section>\n", page->out);
	free(chosen);
}
