/*
 * The HTML report's timeline: one iteration over ranks.
 *
 * The width is divided into bins. A span at least a bin wide becomes a rectangle; shorter ones are collected
 * bin by bin, and neighbouring bins with the same phase are drawn as one. So a picture has at most a few
 * thousand rectangles, whatever the iteration has.
 */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 32
#define MOST_BINS 1000
#define MOST_PIECES 6000 /* bins of all lanes */
#define LANES 3
#define LANE_HEIGHT 12
#define KINDS (PHASE_COUNT + 1) /* phases and waiting */

enum lane { LANE_COMPUTE, LANE_COMMUNICATION, LANE_COPIES };

struct bin {
	double ns[KINDS];
	uint32_t count;
};

struct picture {
	struct html_page *page;
	const struct html_run *run;
	int64_t begin_ns, end_ns;
	size_t bin_count;
	struct bin *bins; /* [lane][bin]; of one rank */
};

static double place(const struct picture *picture, int64_t ns)
{
	return 100 * (double)(ns - picture->begin_ns) / (double)(picture->end_ns - picture->begin_ns);
}

/* Position in the worker's list of the used iteration nearest its median. */
static size_t median_iteration(const struct analysis_worker *worker)
{
	double median_ns = analysis_iteration(worker, 1).median, least = INFINITY;
	size_t best = worker->used[0];

	for (size_t i = 0; i < worker->used_count; i++) {
		double far = fabs((double)worker->phases.times[worker->used[i]].iteration_ns - median_ns);

		if (far < least) {
			least = far;
			best = worker->used[i];
		}
	}
	return best;
}

static int64_t overlap_ns(const struct iteration *item, int64_t begin_ns, int64_t end_ns)
{
	int64_t from = item->begin_ns > begin_ns ? item->begin_ns : begin_ns;
	int64_t to = item->end_ns < end_ns ? item->end_ns : end_ns;

	return to > from ? to - from : 0;
}

/* The iteration of a worker that has most in common with a stretch of time; its count if none has. */
static size_t iteration_at(const struct analysis_worker *worker, int64_t begin_ns, int64_t end_ns)
{
	size_t best = worker->iterations.count;
	int64_t most_ns = 0;

	for (size_t i = 0; i < worker->iterations.count; i++) {
		int64_t ns = overlap_ns(&worker->iterations.items[i], begin_ns, end_ns);

		if (ns > most_ns) {
			most_ns = ns;
			best = i;
		}
	}
	return best;
}

/* From the first rank's median iteration, and what others' iterations of that time have more, within a
 * quarter. */
static void choose_window(struct picture *picture)
{
	const struct analysis *analysis = picture->run->analysis;
	const struct iteration *own =
		&analysis->workers[0].iterations.items[median_iteration(&analysis->workers[0])];
	int64_t slack_ns = (own->end_ns - own->begin_ns) / 4;

	picture->begin_ns = own->begin_ns;
	picture->end_ns = own->end_ns;
	for (size_t w = 1; w < analysis->worker_count; w++) {
		const struct iteration_list *list = &analysis->workers[w].iterations;
		size_t i = iteration_at(&analysis->workers[w], own->begin_ns, own->end_ns);

		if (i == list->count)
			continue;
		if (list->items[i].begin_ns < picture->begin_ns &&
			list->items[i].begin_ns >= own->begin_ns - slack_ns)
			picture->begin_ns = list->items[i].begin_ns;
		if (list->items[i].end_ns > picture->end_ns &&
			list->items[i].end_ns <= own->end_ns + slack_ns)
			picture->end_ns = list->items[i].end_ns;
	}
}

static void write_rectangle(
	struct picture *picture, enum lane lane, int kind, double from, double wide, const char *tip)
{
	fprintf(picture->page->out,
		"<rect class=\"%s\" x=\"%.2f%%\" y=\"%d\" width=\"%.2f%%\" height=\"%d\"><title>%s</title></rect>",
		html_phase_key(kind), from, (int)lane * (LANE_HEIGHT + 1) + 1, wide, LANE_HEIGHT - 1, tip);
}

struct span {
	int64_t begin_ns, end_ns;
	const char *layer; /* or "" */
	const char *call;
	int kind;
	enum lane lane;
};

static void add_span(struct picture *picture, const struct span *span)
{
	int64_t from = span->begin_ns > picture->begin_ns ? span->begin_ns : picture->begin_ns;
	int64_t to = span->end_ns < picture->end_ns ? span->end_ns : picture->end_ns;
	double bin_ns = (double)(picture->end_ns - picture->begin_ns) / (double)picture->bin_count;
	struct html_page *page = picture->page;

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
		arena_format(&page->arena, "%s%s%s, %s: %s",
			span->layer[0] ? html_escape(page, span->layer) : "", span->layer[0] ? ", " : "",
			html_phase_title(span->kind), html_escape(page, span->call),
			html_time(page, (double)(span->end_ns - span->begin_ns))));
}

static int greatest_kind(const struct bin *bin)
{
	int kind = 0;

	for (int i = 1; i < KINDS; i++)
		if (bin->ns[i] > bin->ns[kind])
			kind = i;
	return kind;
}

/* What was too short, once all spans of a rank are there. */
static void write_bins(struct picture *picture)
{
	for (int lane = 0; lane < LANES; lane++) {
		const struct bin *bins = &picture->bins[(size_t)lane * picture->bin_count];

		for (size_t i = 0; i < picture->bin_count;) {
			size_t end = i, calls = 0;
			int kind = greatest_kind(&bins[i]);
			double ns = 0, wide = 100 / (double)picture->bin_count;

			for (; end < picture->bin_count && bins[end].count &&
				greatest_kind(&bins[end]) == kind;
				end++) {
				calls += bins[end].count;
				for (int other = 0; other < KINDS; other++)
					ns += bins[end].ns[other];
			}
			if (end > i)
				write_rectangle(picture, (enum lane)lane, kind, wide * (double)i,
					wide * (double)(end - i),
					arena_format(&picture->page->arena,
						"%zu short, mostly %s: %s "
						"together",
						calls, html_phase_title(kind), html_time(picture->page, ns)));
			i = end > i ? end : i + 1;
		}
	}
	memset(picture->bins, 0, LANES * picture->bin_count * sizeof(*picture->bins));
}

static enum lane lane_of(const struct layer_role *role, const struct timeline_function *function)
{
	if (role->phase == PHASE_COMMUNICATION)
		return LANE_COMMUNICATION;
	if (role->phase == PHASE_H2D || role->phase == PHASE_MD || role->phase == PHASE_IO ||
		(role->phase == PHASE_OTHER && function->kind != PM_KIND_COMPUTE))
		return LANE_COPIES;
	return LANE_COMPUTE;
}

/* The call's work; the begin of a collective is waiting for the last rank. */
static void add_call(struct picture *picture, const struct analysis_worker *worker, uint32_t number,
	const struct layer_role *role)
{
	const struct timeline *timeline = &picture->run->analysis->timeline;
	const struct timeline_call *call = &timeline->calls[number];
	const struct timeline_function *function = timeline_function(timeline, call);
	struct span span = {.begin_ns = call->begin_ns,
		.end_ns = call->end_ns,
		.call = function->name,
		.kind = (int)role->phase,
		.lane = lane_of(role, function),
		.layer =
			role->part_count
				? layer_title(
					  &worker->layers.items[worker->layers.parts[role->first_part].layer])
				: ""};
	int64_t wait_ns = picture->run->analysis->wait_ns[number];

	for (uint32_t i = 0; i < call->interval_count || i == 0; i++) {
		if (call->interval_count) {
			span.begin_ns = timeline->intervals[call->interval + i].begin_ns;
			span.end_ns = timeline->intervals[call->interval + i].end_ns;
		} else if (call->flags & (TIMELINE_FLAG_REPLAYED | TIMELINE_FLAG_DIVIDED)) {
			return; /* its device time is not known, and the host's is not its own */
		}
		if (i == 0 && wait_ns > 0 && role->phase == PHASE_COMMUNICATION) {
			struct span wait = span;

			if (wait_ns > span.end_ns - span.begin_ns)
				wait_ns = span.end_ns - span.begin_ns;
			wait.end_ns = span.begin_ns += wait_ns;
			wait.kind = HTML_WAIT;
			add_span(picture, &wait);
		}
		add_span(picture, &span);
	}
}

/* One iteration's calls. As in phase_find, a call's role may depend on its place among the computations. */
static void add_iteration(struct picture *picture, const struct analysis_worker *worker, size_t number)
{
	const struct analysis *analysis = picture->run->analysis;
	const struct iteration *item = &worker->iterations.items[number];
	static const struct layer_role read = {.phase = PHASE_IO};
	uint32_t last_interval = UINT32_MAX;
	size_t core = 0;

	for (size_t i = item->first_call; i < item->call_end; i++) {
		uint32_t call = worker->worker->calls[i];
		const struct timeline_call *its = &analysis->timeline.calls[call];
		const struct layer_role *role = phase_role(
			&analysis->model, worker->worker, &worker->layers, item->usual, core, its->operation);

		if (analysis->model.roles[its->operation].flags & WORKER_CORE)
			core++;
		/* Calls of a group have one time. */
		if (!(its->interval_count && its->interval == last_interval))
			add_call(picture, worker, call, role);
		if (its->interval_count)
			last_interval = its->interval;
	}
	for (size_t i = item->first_read; i < item->read_end; i++)
		add_call(picture, worker, worker->worker->reads[i], &read);
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
	size_t middle = iteration_at(worker, picture->begin_ns, picture->end_ns);
	int height = LANES * (LANE_HEIGHT + 1) + 1;

	fprintf(picture->page->out,
		"<tr class=\"rule\"><th>%s</th><td class=\"w\"><svg height=\"%d\" role=\"img\">",
		picture->run->names[w], height);
	write_grid(picture, height);
	for (size_t i = middle ? middle - 1 : 0; i < worker->iterations.count && i <= middle + 1; i++)
		add_iteration(picture, worker, i);
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
	for (double ns = step; ns < 0.97 * whole_ns; ns += step)
		fprintf(page->out,
			"<text class=\"axis\" x=\"%.2f%%\" y=\"12\" text-anchor=\"middle\">%g</text>",
			100 * ns / whole_ns, round(ns / units[unit].ns * 1e6) / 1e6);
	fputs("</svg></td></tr>\n", page->out);
}

static void write_legend(struct picture *picture)
{
	fputs("<ul class=\"legend\">", picture->page->out);
	for (int kind = 0; kind <= HTML_WAIT; kind++) {
		if (kind >= PHASE_WORK_COUNT && kind != HTML_WAIT)
			continue;
		if (!html_phase_present(picture->run->run, 1, kind == HTML_WAIT ? PHASE_COMMUNICATION : kind))
			continue;
		fputs("<li>", picture->page->out);
		html_swatch(picture->page, kind);
		fprintf(picture->page->out, "%s</li>", html_phase_title(kind));
	}
	fputs("</ul>\n", picture->page->out);
}

void html_timeline(struct html_page *page, const struct html_run *run)
{
	struct picture picture = {.page = page, .run = run};
	size_t count = run->analysis->worker_count, shown;
	bool *chosen;

	choose_window(&picture);
	shown = html_choose(run, MOST_RANKS, &chosen);
	picture.bin_count = MOST_PIECES / (LANES * shown);
	if (picture.bin_count > MOST_BINS)
		picture.bin_count = MOST_BINS;
	picture.bins = mem_alloc(LANES * picture.bin_count, sizeof(*picture.bins));
	html_section(page, "One iteration over ranks");
	fprintf(page->out,
		"<p class=\"dim\">%s, nearest the first rank’s median. Lanes of each rank: computation, "
		"communication, input and copies. Dashed: start and end of its iteration.",
		html_time(page, (double)(picture.end_ns - picture.begin_ns)));
	if (shown < count)
		fprintf(page->out, " %zu of %zu ranks are shown.", shown, count);
	fputs("</p>\n", page->out);
	write_legend(&picture);
	fputs("<table class=\"lines\">\n", page->out);
	for (size_t w = 0; w < count; w++)
		if (chosen[w])
			write_rank(&picture, w);
	html_axis(page, (double)(picture.end_ns - picture.begin_ns));
	fputs("</table>\n</section>\n", page->out);
	free(picture.bins);
	free(chosen);
}
