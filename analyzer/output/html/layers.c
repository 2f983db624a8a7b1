/* The HTML report's layers: their times, how they differ over ranks; and who waits for whom. */
#include "output/layer_table.h"
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HEAT_RANKS 128
#define MOST_HEAT_CELLS 4000
#define MOST_LAYERS 40     /* rows that are not folded */
#define MOST_HEAT_TEXTS 16 /* with more ranks a cell has no room for its number */

/* Of all layers, in network order. */
struct layer_times {
	double *ns;
	size_t count;
	double greatest_ns;
};

static struct layer_times find_times(const struct analysis *analysis)
{
	struct layer_times times = {0};
	size_t room = 0;

	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++) {
			double ns =
				layer_time(analysis->workers, analysis->worker_count, layers->items[l].name);

			*MEM_PUSH(times.ns, times.count, room) = ns;
			times.greatest_ns = fmax(times.greatest_ns, ns);
		}
	}
	return times;
}

static int compare_times(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* The time from which on a layer is among the `most` costliest; of several alike that are, all or none. */
static double costliest(const struct layer_times *times, size_t most)
{
	double *times_ns, from_ns;

	if (times->count <= most)
		return 0;
	times_ns = mem_alloc(times->count, sizeof(*times_ns));
	memcpy(times_ns, times->ns, times->count * sizeof(*times_ns));
	qsort(times_ns, times->count, sizeof(*times_ns), compare_times);
	from_ns = nextafter(times_ns[most], INFINITY);
	if (from_ns > times_ns[0])
		from_ns = times_ns[0];
	free(times_ns);
	return from_ns;
}

/* Writes them: the costliest, and the others folded. `first` says which are which. */
static void write_layers(
	struct html_page *page, const struct analysis *analysis, const bool *first, size_t costly)
{
	const char *number = arena_format(&page->arena, "%zu", page->run);
	struct print_table table;
	size_t row = 0;

	print_init(&table, &page->arena);
	layer_table(&table, analysis, false, PRINT_HTML);
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++, row++) {
			print_data(&table, row, "layer", layer_title(&layers->items[l]));
			print_data(&table, row, "run", number);
		}
	}
	print_first(&table, first);
	print_html_folded(&table, costly, "with less time", page->out);
	print_free(&table);
}

void html_layers(struct html_page *page, const struct html_run *run)
{
	const struct layer_times times = find_times(run->analysis);
	const double from_ns = costliest(&times, MOST_LAYERS);
	bool *first = arena_alloc(&page->arena, times.count, sizeof(*first));
	size_t costly = 0;

	for (size_t i = 0; i < times.count; i++)
		costly += first[i] = times.ns[i] >= from_ns;
	if (times.count) {
		html_section(page, "Layers");
		fprintf(page->out,
			"<p class=\"dim\">Mean GPU time per iteration, over the ranks that have the "
			"layer%s. - is unknown, as in a captured graph.</p>\n",
			costly < times.count ? "; in network order, the costliest only" : "");
		write_layers(page, run->analysis, first, costly);
		fputs("</section>\n", page->out);
	}
	free(times.ns);
}

/* Forward and backward of a layer on a worker; NaN where it has no such layer, or no time. */
static double heat_ns(const struct analysis_worker *worker, const char *name)
{
	double ns = analysis_layer(worker, 1, name, PHASE_LAYER_FORWARD).mean +
		    analysis_layer(worker, 1, name, PHASE_LAYER_BACKWARD).mean;

	return ns > 0 ? ns : NAN;
}

/* Class of a ratio to the mean. */
static int heat_class(double ratio)
{
	static const double ends[] = {0.7, 0.9, 0.97, 1.03, 1.1, 1.5};
	int class = 0;

	while (class < 6 && ratio >= ends[class])
		class ++;
	return class;
}

static void write_cell(
	struct html_page *page, double from, double wide, double ratio, const char *tip, bool text)
{
	int class = heat_class(ratio);

	fprintf(page->out,
		"<rect class=\"h%d\" x=\"%.3f%%\" width=\"%.3f%%\" height=\"100%%\"><title>%s</title></rect>",
		class, from, wide, tip);
	if (text)
		fprintf(page->out,
			"<text x=\"%.3f%%\" y=\"13\" text-anchor=\"middle\"%s pointer-events=\"none\">"
			"%.2f</text>",
			from + wide / 2, class == 0 || class == 6 ? " class=\"on\"" : "", ratio);
}

static void write_heat_row(struct html_page *page, const struct html_run *run, const struct layer *layer,
	const bool *chosen, size_t chosen_count)
{
	size_t count = run->analysis->worker_count, held = 0, place = 0;
	double *times_ns = mem_alloc(count, sizeof(*times_ns)), sum_ns = 0, greatest_ns = 0;
	double wide = 100 / (double)chosen_count;

	for (size_t w = 0; w < count; w++) {
		times_ns[w] = heat_ns(&run->analysis->workers[w], layer->name);
		if (!isfinite(times_ns[w]))
			continue;
		held++;
		sum_ns += times_ns[w];
		greatest_ns = fmax(greatest_ns, times_ns[w]);
	}
	if (held) {
		const char *name = html_escape(page, layer_title(layer));

		fprintf(page->out,
			"<tr><th class=\"%s\">%s</th><td class=\"w\"><svg height=\"18\" role=\"img\">",
			html_class(layer_title(layer)), name);
		for (size_t w = 0; w < count; w++) {
			if (!chosen[w])
				continue;
			if (isfinite(times_ns[w]))
				write_cell(page, wide * (double)place, wide,
					times_ns[w] * (double)held / sum_ns,
					arena_format(&page->arena, "%s, %s: %s", name, run->names[w],
						html_time(page, times_ns[w])),
					chosen_count <= MOST_HEAT_TEXTS);
			place++;
		}
		fprintf(page->out, "</svg></td><td>%s</td></tr>\n",
			held > 1 ? arena_format(&page->arena, "%.3f", greatest_ns * (double)held / sum_ns)
				 : "–");
	}
	free(times_ns);
}

static void write_heat_head(
	struct html_page *page, const struct html_run *run, const bool *chosen, size_t chosen_count)
{
	double wide = 100 / (double)chosen_count;
	size_t place = 0, every = 1 + (chosen_count - 1) / 12;

	fputs("<tr><th class=\"l\"></th><td class=\"w\"><svg height=\"16\" role=\"img\">", page->out);
	for (size_t w = 0; w < run->analysis->worker_count; w++) {
		if (!chosen[w])
			continue;
		if (place % every == 0)
			fprintf(page->out,
				"<text class=\"axis\" x=\"%.3f%%\" y=\"12\" text-anchor=\"middle\">%s</text>",
				wide * ((double)place + 0.5), run->names[w]);
		place++;
	}
	fputs("</svg></td><th>LIF</th></tr>\n", page->out);
}

static void write_heat_legend(struct html_page *page)
{
	static const char *const texts[] = {"under 0.70", "to 0.90", "to 0.97", "near the mean", "from 1.03",
		"from 1.10", "1.50 and above"};

	fputs("<ul class=\"legend\">", page->out);
	for (int class = 0; class < 7; class ++)
		fprintf(page->out,
			"<li><svg class=\"key\"><rect class=\"h%d\" width=\"12\" height=\"12\"/></svg>%s</li>",
			class, texts[class]);
	fputs("</ul>\n", page->out);
}

void html_heat(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	struct layer_times times;
	size_t chosen_count, number = 0, hidden = 0;
	double from_ns;
	bool *chosen;

	/* Stages that nobody else has cannot be compared. */
	if (analysis->stage_count == analysis->worker_count)
		return;
	times = find_times(analysis);
	if (!(times.greatest_ns > 0)) {
		free(times.ns);
		return;
	}
	chosen_count = html_choose(run, MOST_HEAT_RANKS, &chosen);
	from_ns =
		costliest(&times, MOST_HEAT_CELLS / chosen_count < 60 ? MOST_HEAT_CELLS / chosen_count : 60);
	html_section(page, "Load imbalance by layer and rank");
	fputs("<p class=\"dim\">Forward and backward time of a layer on a rank, relative to the mean of "
	      "the ranks that have it. LIF: the slowest relative to the mean, 1 is balanced.",
		page->out);
	if (chosen_count < analysis->worker_count)
		fprintf(page->out, " %zu of %zu ranks are shown; LIF is of all.", chosen_count,
			analysis->worker_count);
	fputs("</p>\n", page->out);
	write_heat_legend(page);
	fputs("<table class=\"lines\">\n", page->out);
	write_heat_head(page, run, chosen, chosen_count);
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++)
			if (times.ns[number++] >= from_ns)
				write_heat_row(page, run, &layers->items[l], chosen, chosen_count);
			else
				hidden++;
	}
	fputs("</table>\n", page->out);
	if (hidden)
		fprintf(page->out, "<p class=\"dim\">%zu layers with less time are not shown.</p>\n", hidden);
	fputs("</section>\n", page->out);
	free(times.ns);
	free(chosen);
}
