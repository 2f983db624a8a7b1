/*
 * The HTML report's critical path: what iterations are made of that nothing else hides, and one of them drawn
 * over the ranks that it is on. Neighbouring pieces too short to be seen are drawn as one, so the picture has
 * at most a thousand.
 */
#include "page.h"
#include "spans.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define MOST_RANKS 24
#define ROW 18         /* height of a rank's row, in pixels */
#define LEAST_WIDE 0.1 /* percent */
#define MOST_SEGMENTS 10
#define LEAST_SHARE 0.0005 /* of the path: what has less is not shown */

/* A piece of the picture: neighbours of one worker. */
struct piece {
	double begin_ns, end_ns; /* from the window's start */
	double phases_ns[PHASE_COUNT];
	uint32_t worker, layer; /* of the longest, or REPLAY_NONE */
	double longest_ns;
	size_t count;
};

struct lane {
	struct html_page *page;
	const struct html_run *run;
	double whole_ns;
	size_t *rows; /* by worker; SIZE_MAX: has none */
	size_t row_count;
	double last_end; /* of the piece drawn before, percent */
	size_t last_row;
};

static const char *layer_name(const struct html_run *run, uint32_t layer)
{
	return layer == REPLAY_NONE ? "" : layer_title(run->job.layers[layer].layer);
}

static const char *worker_name(const struct html_run *run, size_t worker)
{
	return analysis_worker_name(run->analysis, &run->analysis->workers[worker]);
}

/* The layer with most of the task, or REPLAY_NONE. */
static uint32_t task_layer(const struct replay_job *job, uint32_t task)
{
	uint32_t layer = REPLAY_NONE;
	double most = 0;

	if (task == REPLAY_NONE)
		return layer;
	for (uint32_t p = job->works[task].part; p != REPLAY_NONE; p = job->parts[p].next)
		if (job->parts[p].share > most) {
			most = job->parts[p].share;
			layer = job->parts[p].layer;
		}
	return layer;
}

static int greatest_phase(const double *phases_ns)
{
	int phase = 0;

	for (int p = 1; p < PHASE_COUNT; p++)
		if (phases_ns[p] > phases_ns[phase])
			phase = p;
	return phase;
}

static void draw(struct lane *lane, const struct piece *piece)
{
	struct html_page *page = lane->page;
	size_t row = lane->rows[piece->worker];
	double from = 100 * piece->begin_ns / lane->whole_ns, to = 100 * piece->end_ns / lane->whole_ns;
	int phase = greatest_phase(piece->phases_ns);
	const char *layer = html_escape(page, layer_name(lane->run, piece->layer));

	if (row == SIZE_MAX || !piece->count)
		return;
	if (lane->last_row != SIZE_MAX && lane->last_row != row && fabs(lane->last_end - from) < 0.01)
		fprintf(page->out, "<line class=\"hop\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%zu\" y2=\"%zu\"/>",
			from, from, (lane->last_row < row ? lane->last_row : row) * ROW + ROW / 2,
			(lane->last_row < row ? row : lane->last_row) * ROW + ROW / 2);
	fprintf(page->out,
		"<rect class=\"%s\" x=\"%.2f%%\" y=\"%zu\" width=\"%.2f%%\" height=\"%d\"><title>%s%s%s, %s%s: "
		"%s</title></rect>",
		html_phase_key(phase), from, row * ROW + 3, to - from, ROW - 6,
		lane->run->names[piece->worker], *layer ? ", " : "", layer, piece->count > 1 ? "most " : "",
		html_phase_title(phase), html_time(page, piece->end_ns - piece->begin_ns));
	lane->last_end = to;
	lane->last_row = row;
}

static void add_stretch(struct piece *piece, const struct critical_stretch *stretch, uint32_t layer,
	double begin_ns, double end_ns)
{
	if (!piece->count) {
		*piece = (struct piece){
			.begin_ns = begin_ns, .worker = stretch->worker, .layer = layer, .longest_ns = 0};
	}
	if (end_ns - begin_ns > piece->longest_ns) {
		piece->longest_ns = end_ns - begin_ns;
		piece->layer = layer;
	}
	piece->phases_ns[stretch->phase] += end_ns - begin_ns;
	piece->end_ns = end_ns;
	piece->count++;
}

/* Stretches in order of time: from `last` down to `first`. */
static void draw_all(struct lane *lane, size_t first, size_t last, int64_t begin_ns)
{
	const struct critical *path = &lane->run->path;
	struct piece piece = {0};

	for (size_t i = last + 1; i-- > first;) {
		const struct critical_stretch *stretch = &path->stretches[i];
		double from = (double)(stretch->begin_ns - begin_ns),
		       to = (double)(stretch->end_ns - begin_ns);
		uint32_t layer = task_layer(&lane->run->job, stretch->task);
		bool wide = 100 * (piece.end_ns - piece.begin_ns) / lane->whole_ns >= LEAST_WIDE;
		bool same = piece.count && piece.phases_ns[stretch->phase] > 0 && piece.layer == layer &&
			    greatest_phase(piece.phases_ns) == (int)stretch->phase;

		if (piece.count &&
			(piece.worker != stretch->worker || from > piece.end_ns + 0.5 ||
				(!same && (wide || 100 * (to - from) / lane->whole_ns >= LEAST_WIDE)))) {
			draw(lane, &piece);
			piece.count = 0;
		}
		add_stretch(&piece, stretch, layer, from, to);
	}
	draw(lane, &piece);
}

/* That whose path's length is nearest the median's. */
static size_t middle_iteration(const struct critical *path)
{
	double *lengths_ns = mem_alloc(path->iteration_count, sizeof(*lengths_ns));
	double median_ns, least = INFINITY;
	size_t best = 0;

	for (size_t i = 0; i < path->iteration_count; i++)
		lengths_ns[i] = path->iterations[i].length_ns;
	median_ns = analysis_statistics(lengths_ns, path->iteration_count).median;
	free(lengths_ns);
	for (size_t i = 0; i < path->iteration_count; i++)
		if (fabs(path->iterations[i].length_ns - median_ns) < least) {
			least = fabs(path->iterations[i].length_ns - median_ns);
			best = i;
		}
	return best;
}

/* The iteration of the timeline; where the path does not have it, that whose path's length is nearest the
 * median's. */
static size_t typical_iteration(const struct html_run *run)
{
	const struct critical *path = &run->path;
	const struct analysis_worker *worker = &run->analysis->workers[0];
	const size_t typical = html_typical_iteration(worker);

	for (size_t i = 0; i < path->iteration_count; i++)
		if (worker->used[run->job.first_used + i] == typical)
			return i;
	return middle_iteration(path);
}

/* A row for each worker on the path, the first MOST_RANKS of them. */
static void choose_rows(struct lane *lane, const struct critical_path *iteration)
{
	size_t count = lane->run->analysis->worker_count;

	lane->rows = mem_alloc(count, sizeof(*lane->rows));
	for (size_t w = 0; w < count; w++)
		lane->rows[w] = iteration->workers_ns[w] > 0 && lane->row_count < MOST_RANKS
					? lane->row_count++
					: SIZE_MAX;
}

static void write_picture(struct html_page *page, const struct html_run *run)
{
	const struct critical *path = &run->path;
	size_t middle = typical_iteration(run), first = SIZE_MAX, last = 0;
	struct lane lane = {.page = page, .run = run, .last_row = SIZE_MAX};
	int64_t begin_ns;

	for (size_t i = 0; i < path->stretch_count; i++)
		if (path->stretches[i].iteration == middle) {
			first = first == SIZE_MAX ? i : first;
			last = i;
		}
	if (first == SIZE_MAX)
		return;
	begin_ns = path->stretches[last].begin_ns;
	lane.whole_ns = (double)(path->stretches[first].end_ns - begin_ns);
	choose_rows(&lane, &path->iterations[middle]);
	fprintf(page->out,
		"<p class=\"dim\">Iteration %" PRId64 " of the run, path length %s%s%s:</p>\n"
		"<table class=\"lines\">\n"
		"<tr><th>",
		analysis_number(run->analysis, &run->analysis->workers[0],
			run->analysis->workers[0].used[run->job.first_used + middle]),
		html_time(page, path->iterations[middle].length_ns),
		path->iterations[middle].crossings ? arena_format(&page->arena, ", changing rank %zu time%s",
							  path->iterations[middle].crossings,
							  path->iterations[middle].crossings == 1 ? "" : "s")
						: "",
		lane.row_count == MOST_RANKS ? "; only the first ranks on it" : "");
	for (size_t w = 0; w < run->analysis->worker_count; w++)
		if (lane.rows[w] != SIZE_MAX)
			fprintf(page->out, "<span class=\"row\">%s</span>", run->names[w]);
	fprintf(page->out, "</th><td class=\"w\"><svg height=\"%zu\" role=\"img\">", lane.row_count * ROW);
	for (size_t row = 1; row < lane.row_count; row++)
		fprintf(page->out, "<line x1=\"0\" x2=\"100%%\" y1=\"%zu\" y2=\"%zu\"/>", row * ROW,
			row * ROW);
	draw_all(&lane, first, last, begin_ns);
	fputs("</svg></td></tr>\n", page->out);
	html_axis(page, lane.whole_ns);
	fputs("</table>\n", page->out);
	free(lane.rows);
}

static void write_phases(struct html_page *page, const struct html_run *run)
{
	const struct critical_path *mean = &run->path.mean;
	double from = 0;

	fputs("<ul class=\"legend\">", page->out);
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		if (!(mean->phases_ns[phase] >= 0.0005 * mean->length_ns))
			continue;
		fputs("<li>", page->out);
		html_swatch(page, phase);
		fprintf(page->out, "%s <b>%.1f%%</b></li>", html_phase_title(phase),
			100 * mean->phases_ns[phase] / mean->length_ns);
	}
	fprintf(page->out, "</ul>\n<table class=\"lines path\"><tr><th>all</th><td class=\"w\">"
			   "<svg height=\"20\" role=\"img\">");
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		double wide = 100 * mean->phases_ns[phase] / mean->length_ns;

		if (wide > 0)
			html_piece(page, phase, from, wide,
				arena_format(&page->arena, "%s: %s", html_phase_title(phase),
					html_time(page, mean->phases_ns[phase])));
		from += wide;
	}
	fprintf(page->out, "</svg></td><td>%s</td></tr></table>\n", html_time(page, mean->length_ns));
}

static void write_segments(struct html_page *page, const struct html_run *run)
{
	enum { RANK, LAYER, PHASE, TIME, SHARE, COLUMNS };
	static const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("worker", "rank", PRINT_WORD),
		PRINT_COLUMN("layer", "layer", PRINT_WORD),
		PRINT_COLUMN("phase", "phase", PRINT_WORD),
		PRINT_COLUMN("path", "on the path", PRINT_TIME, .bar = "plain"),
		PRINT_COLUMN("share", "share", PRINT_SHARE),
	};
	const struct critical *path = &run->path;
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, COLUMNS);
	for (size_t i = 0; i < path->segment_count && i < MOST_SEGMENTS; i++) {
		const struct critical_segment *segment = &path->segments[i];
		const char *kind = html_phase_key((int)segment->phase);

		if (segment->ns < LEAST_SHARE * path->mean.length_ns)
			break;
		print_row(&table);
		print_word(&table, RANK, worker_name(run, segment->worker));
		print_word(&table, LAYER, layer_name(run, segment->layer));
		print_word(&table, PHASE, html_phase_title((int)segment->phase));
		print_colour(&table, PHASE, kind);
		print_number(&table, TIME, segment->ns);
		print_colour(&table, TIME, kind);
		print_number(&table, SHARE, segment->ns / path->mean.length_ns);
	}
	print_html(&table, page->out);
	print_free(&table);
}

enum { SHARE_NAME, SHARE_TIME, SHARE_SHARE, SHARE_COLUMNS };

static void add_share(
	struct print_table *table, const char *name, const char *kind, double ns, double whole_ns)
{
	if (!(ns > LEAST_SHARE * whole_ns))
		return;
	print_row(table);
	print_word(table, SHARE_NAME, name);
	print_number(table, SHARE_TIME, ns);
	print_colour(table, SHARE_TIME, kind);
	print_number(table, SHARE_SHARE, ns / whole_ns);
}

/* By rank, and by layer: whatever has a share. */
static void write_shares(struct html_page *page, const struct html_run *run)
{
	static const struct print_column columns[SHARE_COLUMNS] = {
		PRINT_COLUMN("name", "rank or layer", PRINT_WORD),
		PRINT_COLUMN("path", "on the path", PRINT_TIME, .bar = "plain"),
		PRINT_COLUMN("share", "share", PRINT_SHARE),
	};
	const struct critical_path *mean = &run->path.mean;
	struct print_table table;

	print_init(&table, &page->arena);
	print_columns(&table, columns, SHARE_COLUMNS);
	for (size_t w = 0; w < run->analysis->worker_count; w++)
		add_share(&table, worker_name(run, w), "plain", mean->workers_ns[w], mean->length_ns);
	table.rule = true;
	for (size_t l = 0; l < run->path.layer_count; l++)
		add_share(&table, layer_name(run, (uint32_t)l), html_phase_key(PHASE_FORWARD),
			mean->layers_ns[l] + mean->messages_ns[l], mean->length_ns);
	fputs("<details><summary>By rank and by layer</summary>\n", page->out);
	print_html(&table, page->out);
	fputs("</details>\n", page->out);
	print_free(&table);
}

void html_path(struct html_page *page, const struct html_run *run)
{
	if (run->path.iteration_count == 0 || !(run->path.mean.length_ns > 0))
		return;
	html_section(page, "Critical path");
	fprintf(page->out,
		"<p class=\"dim\">The chain of work that determines the iteration time, from its end back "
		"to its start%s: only shortening it shortens the iteration. Means over iterations.</p>\n",
		run->analysis->worker_count > 1 ? ", over all ranks" : "");
	write_phases(page, run);
	write_picture(page, run);
	write_segments(page, run);
	write_shares(page, run);
	fputs("</section>\n", page->out);
}
