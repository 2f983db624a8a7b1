/*
 * The HTML report's iterations, one after another: a small picture for each rank with a bar for each
 * iteration, its part of exposed communication at the foot. Where there are more iterations than bars, a bar
 * is the mean of several; those that are not used, as warming up, are faded.
 */
#include "page.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MOST_RANKS 8
#define MOST_BARS 150
#define HEIGHT 40.0
#define CUT 2.5 /* times the median: longer bars are cut off there, with a mark */

struct bar {
	double whole_ns, exposed_ns, hidden_ns; /* means; communication that other work hides */
	size_t used, count;
};

static struct bar bar_of(const struct analysis_worker *worker, size_t from, size_t to)
{
	struct bar bar = {.count = to - from};

	for (size_t i = from; i < to; i++) {
		const struct phase_times *times = &worker->phases.times[i];
		double exposed_ns = (double)times->exclusive_ns[PHASE_COMMUNICATION];

		bar.whole_ns += (double)times->iteration_ns / (double)bar.count;
		bar.exposed_ns += exposed_ns / (double)bar.count;
		bar.hidden_ns +=
			((double)times->busy_ns[PHASE_COMMUNICATION] - exposed_ns) / (double)bar.count;
		bar.used += worker->iterations.items[i].kind == ITERATION_USED;
	}
	return bar;
}

/* numbers: of the first iteration and the last */
static void write_bar(struct html_page *page, const struct bar *bar, const int64_t numbers[2],
	size_t bar_number, double wide, double most_ns)
{
	double tall = HEIGHT * fmin(bar->whole_ns / most_ns, 1), foot = HEIGHT * bar->exposed_ns / most_ns;
	const char *faded = bar->used * 2 < bar->count ? " faded" : "";
	double x = wide * (double)bar_number;

	foot = fmin(foot, tall);
	fprintf(page->out,
		"<g><title>iteration %" PRId64 "%s: %s%s%s%s</title><rect class=\"plain%s\" x=\"%.2f%%\" y=\"%.1f\" "
		"width=\"%.2f%%\" height=\"%.1f\"/>",
		numbers[0],
		bar->count > 1 ? arena_format(&page->arena, " to %" PRId64 ", mean", numbers[1]) : "",
		html_time(page, bar->whole_ns),
		bar->exposed_ns > 0 ? arena_format(&page->arena, ", %s of it exposed communication",
					      html_time(page, bar->exposed_ns))
				    : "",
		bar->hidden_ns > 0
			? arena_format(&page->arena, ", %s hidden", html_time(page, bar->hidden_ns))
			: "",
		*faded ? "; not used" : "", faded, x, HEIGHT - tall, 0.85 * wide, tall - foot);
	if (foot > 0.05)
		fprintf(page->out,
			"<rect class=\"communication%s\" x=\"%.2f%%\" y=\"%.1f\" width=\"%.2f%%\" height=\"%.1f\"/>",
			faded, x, HEIGHT - foot, 0.85 * wide, foot);
	if (bar->whole_ns > most_ns)
		fprintf(page->out, "<line class=\"mark\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"1\" y2=\"1\"/>", x,
			x + 0.85 * wide);
	fputs("</g>", page->out);
}

static void write_rank(
	struct html_page *page, const struct html_run *run, size_t w, size_t most, double most_ns)
{
	const struct analysis_worker *worker = &run->analysis->workers[w];
	struct analysis_statistics all = analysis_iteration(worker, 1);
	size_t each = 1 + (most - 1) / MOST_BARS, count = worker->iterations.count;
	double wide = 100 / (double)((most + each - 1) / each);

	fprintf(page->out, "<tr class=\"rule\"><th>%s</th><td class=\"w\"><svg height=\"%g\" role=\"img\">",
		run->names[w], HEIGHT);
	for (size_t i = 0; i < count; i += each) {
		const size_t end = i + each < count ? i + each : count;
		const int64_t numbers[2] = {analysis_number(run->analysis, worker, i),
			analysis_number(run->analysis, worker, end - 1)};
		struct bar bar = bar_of(worker, i, end);

		write_bar(page, &bar, numbers, i / each, fmin(wide, 8), most_ns);
	}
	fprintf(page->out, "</svg></td><td>%s<br/><span class=\"tag\">± %s</span></td></tr>\n",
		html_time(page, all.mean), html_time(page, all.deviation));
}

void html_iterations(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	double median_ns = analysis_iteration(analysis->workers, analysis->worker_count).median,
	       greatest_ns = 0;
	size_t most = 0, shown;
	bool *chosen;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];

		most = worker->iterations.count > most ? worker->iterations.count : most;
		for (size_t i = 0; i < worker->iterations.count; i++)
			greatest_ns = fmax(greatest_ns, (double)worker->phases.times[i].iteration_ns);
	}
	if (most < 2)
		return;
	shown = html_choose(run, MOST_RANKS, &chosen);
	html_section(page, "Iterations in sequence");
	fprintf(page->out,
		"<p class=\"dim\">A bar is %s; mean and standard deviation at the right. Faded: not used "
		"(such as warm-up). ",
		most > MOST_BARS ? "the mean of several" : "an iteration");
	if (greatest_ns > CUT * median_ns)
		fprintf(page->out, "Cut off with a line on top: longer than %g× the median. ", CUT);
	if (shown < analysis->worker_count)
		fprintf(page->out, "%zu of %zu ranks are shown.", shown, analysis->worker_count);
	fputs("</p>\n<ul class=\"legend\"><li>", page->out);
	html_swatch(page, PHASE_COMMUNICATION);
	fputs("exposed communication</li><li>", page->out);
	html_swatch(page, HTML_RANGE); /* the colour of what is of no phase */
	fputs("everything else</li></ul>\n"
	      "<table class=\"lines\">\n",
		page->out);
	for (size_t w = 0; w < analysis->worker_count; w++)
		if (chosen[w])
			write_rank(page, run, w, most, fmin(greatest_ns, CUT * median_ns));
	fputs("</table>\n</section>\n", page->out);
	free(chosen);
}
