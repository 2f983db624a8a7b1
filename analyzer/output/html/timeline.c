/*
 * The HTML report's timeline: one iteration over ranks, the host's lanes above the device's.
 *
 * The width is divided into bins. A span at least a bin wide becomes a rectangle; shorter ones are collected
 * bin by bin, and neighbouring bins with the same phase are drawn as one. So a picture has at most a few
 * thousand rectangles, whatever the iteration has.
 */
#include "analyses/ranges.h"
#include "output/report.h"
#include "page.h"
#include "spans.h"
#include "timeline/timeline_range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 32
#define MOST_BINS 1000
#define MOST_PIECES 10000 /* bins of all lanes */
#define LANE_HEIGHT 12
#define LEAST_NAMED 9 /* percent of the width: a piece so wide has its name in it */

struct bin {
	double ns[HTML_KINDS];
	uint32_t count;
};

struct picture {
	struct html_page *page;
	const struct html_run *run;
	int64_t begin_ns, end_ns;
	size_t bin_count;
	struct bin *bins; /* [lane][bin]; of one rank */
	bool shown[HTML_LANES];
	int tops[HTML_LANES], height; /* of those, in pixels */
};

static double place(const struct picture *picture, int64_t ns)
{
	return 100 * (double)(ns - picture->begin_ns) / (double)(picture->end_ns - picture->begin_ns);
}

static void write_rectangle(
	struct picture *picture, enum html_lane lane, int kind, double from, double wide, const char *tip)
{
	fprintf(picture->page->out,
		"<rect class=\"%s\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"><title>%s</title></rect>",
		html_phase_key(kind), from, picture->tops[lane], wide, LANE_HEIGHT - 1, tip);
}

/* The name in a piece that is wide enough; what does not fit is cut off. */
static void write_name(struct picture *picture, const struct html_span *span, double from, double wide)
{
	const char *name = span->layer ? layer_title(span->layer) : span->call;

	if (wide < LEAST_NAMED)
		return;
	fprintf(picture->page->out,
		"<svg x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"><text class=\"t t-%s\" x=\"3\" y=\"9\">"
		"%s</text></svg>",
		from, picture->tops[span->lane], wide, LANE_HEIGHT - 1, html_phase_key(span->kind),
		html_escape(picture->page, name));
}

static void add_span(void *context, const struct html_span *span)
{
	struct picture *picture = context;
	int64_t from = span->begin_ns > picture->begin_ns ? span->begin_ns : picture->begin_ns;
	int64_t to = span->end_ns < picture->end_ns ? span->end_ns : picture->end_ns;
	double bin_ns = (double)(picture->end_ns - picture->begin_ns) / (double)picture->bin_count;
	struct html_page *page = picture->page;
	const char *layer = span->layer ? layer_title(span->layer) : "";

	if (to <= from)
		return;
	if ((double)(to - from) < bin_ns) {
		size_t number = (size_t)((double)(from - picture->begin_ns) / bin_ns);
		struct bin *bin;

		if (number >= picture->bin_count)
			number = picture->bin_count - 1;
		bin = &picture->bins[(size_t)span->lane * picture->bin_count + number];
		bin->ns[span->kind] += (double)(to - from);
		bin->count++;
		return;
	}
	write_rectangle(picture, span->lane, span->kind, place(picture, from),
		place(picture, to) - place(picture, from),
		arena_format(&page->arena, "%s%s%s, %s: %s", html_escape(page, layer), layer[0] ? ", " : "",
			html_phase_title(span->kind), html_escape(page, span->call),
			html_time(page, (double)(span->end_ns - span->begin_ns))));
	write_name(picture, span, place(picture, from), place(picture, to) - place(picture, from));
}

static int greatest_kind(const struct bin *bin)
{
	int kind = 0;

	for (int i = 1; i < HTML_KINDS; i++)
		if (bin->ns[i] > bin->ns[kind])
			kind = i;
	return kind;
}

/* What was too short, once all spans of a rank are there. */
static void write_bins(struct picture *picture)
{
	for (int lane = 0; lane < HTML_LANES; lane++) {
		const struct bin *bins = &picture->bins[(size_t)lane * picture->bin_count];

		for (size_t i = 0; i < picture->bin_count;) {
			size_t end = i, calls = 0;
			int kind = greatest_kind(&bins[i]);
			double ns = 0, wide = 100 / (double)picture->bin_count;

			for (; end < picture->bin_count && bins[end].count &&
				greatest_kind(&bins[end]) == kind;
				end++) {
				calls += bins[end].count;
				for (int other = 0; other < HTML_KINDS; other++)
					ns += bins[end].ns[other];
			}
			if (end > i)
				write_rectangle(picture, (enum html_lane)lane, kind, wide * (double)i,
					wide * (double)(end - i),
					arena_format(&picture->page->arena,
						"%zu short, mostly %s: %s "
						"together",
						calls, html_phase_title(kind), html_time(picture->page, ns)));
			i = end > i ? end : i + 1;
		}
	}
	memset(picture->bins, 0, HTML_LANES * picture->bin_count * sizeof(*picture->bins));
}

static void write_edge(struct picture *picture, int64_t ns, int height)
{
	if (ns > picture->begin_ns && ns < picture->end_ns)
		fprintf(picture->page->out,
			"<line class=\"edge\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>",
			place(picture, ns), place(picture, ns), height);
}

/* 1, 2 or 5 times a power of ten, so that there are 4 to 10 in the window. */
static double step_ns(double whole_ns)
{
	double step = pow(10, floor(log10(whole_ns / 5)));

	return whole_ns / step > 20 ? 5 * step : whole_ns / step > 10 ? 2 * step : step;
}

static void write_grid(struct picture *picture, int height)
{
	double whole_ns = (double)(picture->end_ns - picture->begin_ns), step = step_ns(whole_ns);

	for (double ns = step; ns < whole_ns; ns += step)
		fprintf(picture->page->out, "<line x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>",
			100 * ns / whole_ns, 100 * ns / whole_ns, height);
}

static void write_rank(struct picture *picture, size_t w)
{
	const struct analysis_worker *worker = &picture->run->analysis->workers[w];
	size_t middle = html_iteration_at(worker, picture->begin_ns, picture->end_ns);
	const int height = picture->height;

	fprintf(picture->page->out,
		"<tr class=\"rule\"><th>%s</th><td class=\"w\"><svg height=\"%d\" role=\"img\">",
		picture->run->names[w], height);
	write_grid(picture, height);
	for (size_t i = middle ? middle - 1 : 0; i < worker->iterations.count && i <= middle + 1; i++)
		html_spans(picture->run->analysis, worker, i, add_span, picture);
	write_bins(picture);
	if (middle < worker->iterations.count) {
		write_edge(picture, worker->iterations.items[middle].begin_ns, height);
		write_edge(picture, worker->iterations.items[middle].end_ns, height);
	}
	fputs("</svg></td></tr>\n", picture->page->out);
}

void html_axis(struct html_page *page, double whole_ns)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	double step = step_ns(whole_ns);
	int unit = 0;

	while (unit < 3 && whole_ns < units[unit].ns)
		unit++;
	fputs("<tr><th></th><td class=\"w\"><svg height=\"16\" role=\"img\">", page->out);
	fprintf(page->out, "<text class=\"axis\" x=\"0\" y=\"12\">0 %s</text>", units[unit].name);
	/* Every second label is left out where the page is narrow (page.c). */
	for (double ns = step; ns < 0.97 * whole_ns; ns += step)
		fprintf(page->out,
			"<text class=\"axis%s\" x=\"%.2f%%\" y=\"12\" text-anchor=\"middle\">%g</text>",
			lround(ns / step) % 2 ? " half" : "", 100 * ns / whole_ns,
			round(ns / units[unit].ns * 1e6) / 1e6);
	fputs("</svg></td></tr>\n", page->out);
}

static bool is_in_legend(const struct picture *picture, int kind)
{
	if (kind >= PHASE_WORK_COUNT && kind < PHASE_COUNT)
		return false;
	if (kind == HTML_RANGE)
		return picture->shown[HTML_LANE_RANGE_1];
	if (kind > HTML_WAIT)
		return picture->shown[HTML_LANE_HOST];
	return report_has_phase(
		picture->run->run, 1, kind == HTML_WAIT ? PHASE_COMMUNICATION : (enum phase)kind);
}

static void write_legend(struct picture *picture)
{
	fputs("<ul class=\"legend\">", picture->page->out);
	for (int kind = 0; kind < HTML_KINDS; kind++) {
		if (!is_in_legend(picture, kind))
			continue;
		fputs("<li>", picture->page->out);
		html_swatch(picture->page, kind);
		fprintf(picture->page->out, "%s</li>", html_phase_title(kind));
	}
	fputs("</ul>\n", picture->page->out);
}

static void mark_lane(void *context, const struct html_span *span)
{
	struct picture *picture = context;

	picture->shown[span->lane] |= span->begin_ns < picture->end_ns && span->end_ns > picture->begin_ns;
}

/* Lanes without anything in the window are left out, of all ranks. */
static void place_lanes(struct picture *picture, const bool *chosen)
{
	const struct analysis *analysis = picture->run->analysis;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		const size_t middle = html_iteration_at(worker, picture->begin_ns, picture->end_ns);

		if (chosen[w] && middle < worker->iterations.count)
			html_spans(analysis, worker, middle, mark_lane, picture);
	}
	picture->height = 1;
	for (int lane = 0; lane < HTML_LANES; lane++) {
		picture->tops[lane] = picture->height;
		picture->height += picture->shown[lane] ? LANE_HEIGHT + 1 : 0;
	}
}

static size_t lane_count(const struct picture *picture)
{
	size_t count = 0;

	for (int lane = 0; lane < HTML_LANES; lane++)
		count += picture->shown[lane];
	return count ? count : 1;
}

/* "ranges, layer, host calls, compute" */
static const char *lanes_text(const struct picture *picture)
{
	const char *text = "";

	for (int lane = 0; lane < HTML_LANES; lane++)
		if (picture->shown[lane] && *html_lane_titles[lane])
			text = arena_format(&picture->page->arena, "%s%s%s", text, *text ? ", " : "",
				html_lane_titles[lane]);
	return text;
}

static bool has_colours(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->timeline.range_name_count; i++)
		if (analysis->timeline.range_names[i].color &&
			ranges_is_named(&analysis->timeline, (uint32_t)i))
			return true;
	return false;
}

static void write_words(struct picture *picture, size_t shown, size_t count)
{
	FILE *out = picture->page->out;

	fprintf(out,
		"<p class=\"dim\">%s: the iteration of the first rank most like its median one. Lanes of each rank, "
		"from above: %s. Dashed lines: start and end of the rank’s iteration.",
		html_time(picture->page, (double)(picture->end_ns - picture->begin_ns)), lanes_text(picture));
	if (picture->shown[HTML_LANE_HOST])
		fputs(" A host call has the colour of the work that it launches.", out);
	if (has_colours(picture->run->analysis))
		fputs(" A range has the colour that the program gave it, if it gave one (with script).", out);
	if (shown < count)
		fprintf(out, " %zu of %zu ranks are shown.", shown, count);
	fputs("</p>\n", out);
}

void html_timeline(struct html_page *page, const struct html_run *run)
{
	struct picture picture = {.page = page, .run = run};
	size_t count = run->analysis->worker_count, shown;
	bool *chosen;

	html_window(run->analysis, &picture.begin_ns, &picture.end_ns);
	shown = html_choose(run, MOST_RANKS, &chosen);
	place_lanes(&picture, chosen);
	picture.bin_count = MOST_PIECES / (lane_count(&picture) * shown);
	if (picture.bin_count > MOST_BINS)
		picture.bin_count = MOST_BINS;
	picture.bins = mem_alloc(HTML_LANES * picture.bin_count, sizeof(*picture.bins));
	html_section(page, "One iteration over ranks");
	html_events(page, run);
	write_words(&picture, shown, count);
	write_legend(&picture);
	/* A browser with script does not parse it before the reader asks for it. */
	fprintf(page->out, "%s<table class=\"lines\">\n", page->event_most ? "<noscript>" : "");
	for (size_t w = 0; w < count; w++)
		if (chosen[w])
			write_rank(&picture, w);
	html_axis(page, (double)(picture.end_ns - picture.begin_ns));
	fprintf(page->out, "</table>%s\n</section>\n", page->event_most ? "</noscript>" : "");
	free(picture.bins);
	free(chosen);
}
