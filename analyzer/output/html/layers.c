/* The HTML report's layers: their times, how they differ over ranks; and who waits for whom. */
#include "page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HEAT_RANKS 128
#define MOST_HEAT_CELLS 4000
#define MOST_LAYERS 40     /* rows that are not folded */
#define MOST_HEAT_TEXTS 16 /* with more ranks a cell has no room for its number */

static const struct {
	enum phase_layer_column column;
	int phase;
	const char *title;
} shown[] = {{PHASE_LAYER_FORWARD, PHASE_FORWARD, "t_f"}, {PHASE_LAYER_BACKWARD, PHASE_BACKWARD, "t_b"},
	{PHASE_LAYER_COMMUNICATION, PHASE_COMMUNICATION, "t_c"}, {PHASE_LAYER_UPDATE, PHASE_UPDATE, "t_u"}};
enum { SHOWN = sizeof(shown) / sizeof(*shown) };

/* Means over the ranks that have the layer; not a number where the time lies in that of a graph, or is
 * divided by sizes that are not known. */
struct layer_times {
	double ns[SHOWN], sum_ns;
};

static bool is_unknown(const struct analysis_worker *worker, size_t layer, int column)
{
	if ((column == PHASE_LAYER_COMMUNICATION || column == PHASE_LAYER_UPDATE) &&
		!layer_list_is_sized(&worker->layers))
		return true;
	return worker->phases.unknown[layer * PHASE_LAYER_COLUMNS + (size_t)column];
}

static struct layer_times times_of(
	const struct analysis *analysis, const struct analysis_worker *first, size_t layer)
{
	struct layer_times times = {0};

	for (int i = 0; i < SHOWN; i++) {
		times.ns[i] = analysis_layer(analysis->workers, analysis->worker_count,
			first->layers.items[layer].name, shown[i].column)
				      .mean;
		if (is_unknown(first, layer, (int)shown[i].column) &&
			(!(times.ns[i] > 0) || !layer_list_is_sized(&first->layers)))
			times.ns[i] = NAN;
		else
			times.sum_ns += times.ns[i];
	}
	return times;
}

/* What all layers' rows share. */
struct layer_table {
	const struct html_run *run;
	double *times_ns; /* of all layers, in order */
	size_t count;
	double greatest_ns, all_ns;
	bool parameters; /* how many a layer has is known */
};

static void write_layer(struct html_page *page, const struct layer_table *table, const struct layer *layer,
	const struct layer_times *times)
{
	double from = 0, greatest_ns = table->greatest_ns;

	fprintf(page->out, "<td class=\"%s\">%s", html_class(layer_title(layer)),
		html_escape(page, layer_title(layer)));
	if (layer->module[0])
		fprintf(page->out, " <span class=\"tag\">%s</span>", html_escape(page, layer->name));
	fprintf(page->out, "</td><td class=\"%s\">%s%s%s</td><td>%s</td>", html_class(layer->text),
		html_escape(page, layer->text), layer->activation[0] ? " " : "",
		html_escape(page, layer->activation),
		table->parameters && !layer->partly_sized
			? arena_format(&page->arena, "%llu", (unsigned long long)layer->parameter_count)
			: "–");
	for (int i = 0; i < SHOWN; i++)
		fprintf(page->out, "<td>%s</td>", html_time(page, times->ns[i]));
	fputs("<td class=\"w\" style=\"width:25%;min-width:90px\"><svg height=\"14\" role=\"img\">",
		page->out);
	for (int i = 0; i < SHOWN && greatest_ns > 0; i++) {
		double wide = 100 * times->ns[i] / greatest_ns;

		if (!(wide > 0))
			continue;
		html_piece(page, shown[i].phase, from, wide,
			arena_format(&page->arena, "%s: %s", shown[i].title, html_time(page, times->ns[i])));
		from += wide;
	}
	fprintf(page->out, "</svg></td><td>%.1f%%</td></tr>\n",
		table->all_ns > 0 ? 100 * times->sum_ns / table->all_ns : 0);
}

/* "0 4" */
static const char *holders(struct html_page *page, const struct html_run *run, uint32_t stage)
{
	const char *text = "";

	for (size_t w = 0; w < run->analysis->worker_count; w++)
		if (run->analysis->workers[w].stage == stage)
			text = arena_format(&page->arena, "%s%s%s", text, text[0] ? ", " : "", run->names[w]);
	return text;
}

static void find_times(struct layer_table *table)
{
	const struct analysis *analysis = table->run->analysis;
	size_t room = 0;

	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct analysis_worker *first = stage_first(analysis, s);

		for (size_t l = 0; l < first->layers.count; l++) {
			double ns = times_of(analysis, first, l).sum_ns;

			*MEM_PUSH(table->times_ns, table->count, room) = ns;
			table->greatest_ns = fmax(table->greatest_ns, ns);
			table->all_ns += ns;
			table->parameters |= first->layers.items[l].parameter_count > 0;
		}
	}
}

static int compare_times(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* The time from which on a layer is among the `most` costliest; of several alike that are, all or none. */
static double costliest(const struct layer_table *table, size_t most)
{
	double *times_ns, from_ns;

	if (table->count <= most)
		return 0;
	times_ns = mem_alloc(table->count, sizeof(*times_ns));
	memcpy(times_ns, table->times_ns, table->count * sizeof(*times_ns));
	qsort(times_ns, table->count, sizeof(*times_ns), compare_times);
	from_ns = nextafter(times_ns[most], INFINITY);
	if (from_ns > times_ns[0])
		from_ns = times_ns[0];
	free(times_ns);
	return from_ns;
}

static void write_layer_head(struct html_page *page, bool stages)
{
	fprintf(page->out,
		"<div class=\"scroll\"><table class=\"list\">\n<thead><tr>%s<th class=\"l\">layer</th>"
		"<th class=\"l\">sizes</th><th>parameters</th>",
		stages ? "<th class=\"l\">ranks</th>" : "");
	for (int i = 0; i < SHOWN; i++) {
		fputs("<th>", page->out);
		html_swatch(page, shown[i].phase);
		fprintf(page->out, "%s</th>", shown[i].title);
	}
	fputs("<th></th><th>share</th></tr></thead>\n<tbody>\n", page->out);
}

/* Those that take `from_ns` or longer, or the others. */
static void write_layers(struct html_page *page, const struct layer_table *table, double from_ns, bool costly)
{
	const struct analysis *analysis = table->run->analysis;
	size_t number = 0;

	write_layer_head(page, analysis->stage_count > 1);
	html_times(page, table->greatest_ns);
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct analysis_worker *first = stage_first(analysis, s);
		const char *ranks = holders(page, table->run, s);
		bool any = false;

		for (size_t l = 0; l < first->layers.count; l++, number++) {
			struct layer_times times;

			if ((table->times_ns[number] >= from_ns) != costly)
				continue;
			times = times_of(analysis, first, l);
			fprintf(page->out, "<tr%s data-run=\"%zu\" data-layer=\"%s\">",
				s && !any ? " class=\"rule\"" : "", page->run,
				html_escape(page, layer_title(&first->layers.items[l])));
			if (analysis->stage_count > 1)
				fprintf(page->out, "<td class=\"%s\">%s</td>", html_class(any ? "" : ranks),
					any ? "" : ranks);
			write_layer(page, table, &first->layers.items[l], &times);
			any = true;
		}
	}
	html_times(page, 0);
	fputs("</tbody></table></div>\n", page->out);
}

void html_layers(struct html_page *page, const struct html_run *run)
{
	struct layer_table table = {.run = run};
	size_t costly = 0;
	double from_ns;

	find_times(&table);
	from_ns = costliest(&table, MOST_LAYERS);
	for (size_t i = 0; i < table.count; i++)
		costly += table.times_ns[i] >= from_ns;
	if (table.count) {
		html_section(page, "Layers");
		fprintf(page->out,
			"<p class=\"dim\">Mean GPU time per iteration, over the ranks that have the "
			"layer%s. – is unknown, as in a captured graph.</p>\n",
			costly < table.count ? "; in network order, the costliest only" : "");
		write_layers(page, &table, from_ns, true);
		if (costly < table.count) {
			fprintf(page->out, "<details><summary>%zu more with less time</summary>\n",
				table.count - costly);
			write_layers(page, &table, from_ns, false);
			fputs("</details>\n", page->out);
		}
		fputs("</section>\n", page->out);
	}
	free(table.times_ns);
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
	struct layer_table table = {.run = run};
	size_t chosen_count, number = 0, hidden = 0;
	double from_ns;
	bool *chosen;

	/* Stages that nobody else has cannot be compared. */
	if (analysis->stage_count == analysis->worker_count)
		return;
	find_times(&table);
	if (!(table.greatest_ns > 0)) {
		free(table.times_ns);
		return;
	}
	chosen_count = html_choose(run, MOST_HEAT_RANKS, &chosen);
	from_ns =
		costliest(&table, MOST_HEAT_CELLS / chosen_count < 60 ? MOST_HEAT_CELLS / chosen_count : 60);
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
			if (table.times_ns[number++] >= from_ns)
				write_heat_row(page, run, &layers->items[l], chosen, chosen_count);
			else
				hidden++;
	}
	fputs("</table>\n", page->out);
	if (hidden)
		fprintf(page->out, "<p class=\"dim\">%zu layers with less time are not shown.</p>\n", hidden);
	fputs("</section>\n", page->out);
	free(table.times_ns);
	free(chosen);
}
