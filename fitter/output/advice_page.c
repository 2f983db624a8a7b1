/* An advice as one HTML page: the answer, a picture, tables, what it rests on. See advice_print.h. */
#include "advice_table.h"
#include "html_page.h"

#include <math.h>
#include <stdlib.h>

/* Names and answers in two columns, which a narrow page puts below each other; the picture as wide as it is
 * good to read. */
static const char style[] =
	".lead dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 18px;margin:0}"
	".lead dt{font-weight:700}.lead dd{margin:0}\n"
	"@media (max-width:560px){.lead dl{display:block}.lead dd{margin:0 0 8px}body{padding:8px 12px 32px}}\n"
	"figure{max-width:760px;margin:16px 0}svg.plot{max-width:760px}ul{padding-left:20px}.scroll .l{white-space:nowrap}\n";

static void put_answers(const struct advice_print *p, struct arena *arena, FILE *out)
{
	struct advice_answer answers[ADVICE_QUESTIONS];

	advice_answers(p, arena, answers);
	fputs("<div class=\"lead\"><dl>\n", out);
	if (advice_first(p, arena)) {
		fputs("<dt>What first?</dt><dd>", out);
		html_text(advice_first(p, arena), out);
		fputs("</dd>\n", out);
	}
	for (size_t i = 0; i < ADVICE_QUESTIONS; i++) {
		fprintf(out, "<dt>%s?</dt><dd>", answers[i].question);
		html_text(answers[i].answer, out);
		fputs("</dd>\n", out);
	}
	fputs("</dl></div>\n", out);
}

/* A strategy's throughput with its range, over the numbers of GPUs as names. What was not validated against a
 * run is faint and has no band. */
static void add_strategy(struct plot *plot, const struct advice *a, enum strategy_name name, int colour)
{
	const bool is_untried = !strategy_is_validated(name, &a->net);
	struct plot_series *band = plot_add(plot, PLOT_BAND, NULL), *line;
	char *title = figure_text("%s%s", strategy_names[name], is_untried ? ", untried" : "");

	line = plot_add(plot, PLOT_LINE, title);
	free(title);
	band->colour = line->colour = colour;
	line->dashed = is_untried || !strategy_is_synchronous(name);
	line->faint = is_untried;
	for (size_t i = 0; i < a->count; i++) {
		const struct advice_way *way = &a->rows[i].ways[name];
		double samples = advice_batch(a, a->rows[i].gpus) * 1e9;
		char *tip;

		if (isnan(way->time))
			continue;
		tip = figure_text("%s, %zu GPUs: %.4g samples/s (%.4g to %.4g), %s", strategy_names[name],
			a->rows[i].gpus, way->rate, samples / way->high, samples / way->low,
			advice_strengths[way->strength]);
		if (!is_untried)
			plot_range(plot, band, (double)i, way->rate, samples / way->high, samples / way->low,
				NULL);
		plot_point(plot, line, (double)i, way->rate, tip);
		free(tip);
	}
}

static void add_ideal(struct plot *plot, const struct advice *a)
{
	struct plot_series *ideal = plot_add(plot, PLOT_LINE, "ideal");

	ideal->colour = PLOT_PLAIN;
	ideal->dashed = true;
	for (size_t i = 0; i < a->count; i++)
		plot_point(plot, ideal, (double)i, a->one * (double)a->rows[i].gpus, NULL);
}

static void add_measured(struct plot *plot, const struct advice *a)
{
	struct plot_series *measured = plot_add(plot, PLOT_POINTS, "measured");

	measured->colour = 1;
	for (size_t i = 0; i < a->count; i++) {
		const struct advice_row *row = &a->rows[i];
		double rate = advice_batch(a, row->gpus) / row->measured * 1e9;
		char *tip = figure_text("%zu GPUs, measured: %.4g samples/s", row->gpus, rate);

		if (isfinite(rate))
			plot_point(plot, measured, (double)i, rate, tip);
		free(tip);
	}
}

/* Up to the greatest number of GPUs that was measured; beyond it is shaded. */
static void set_span(struct plot *plot, const struct advice *a)
{
	size_t last = 0;

	for (size_t i = 0; i < a->count; i++)
		if (isfinite(a->rows[i].measured))
			last = i;
	plot->x.span_from = -0.5;
	plot->x.span_to = (double)last + 0.5;
}

static void put_picture(const struct advice_print *p, FILE *out)
{
	/* measured points have the second colour; untried lines, which are faint, have others' again */
	static const int colours[STRATEGY_NAME_COUNT] = {[STRATEGY_NAME_DATA] = 0,
		[STRATEGY_NAME_MODEL] = 6,
		[STRATEGY_NAME_GPIPE] = 2,
		[STRATEGY_NAME_PIPEDREAM] = 3,
		[STRATEGY_NAME_FLUSH] = 4,
		[STRATEGY_NAME_HYBRID] = 5,
		[STRATEGY_NAME_LAYERWISE] = 7,
		[STRATEGY_NAME_TENSOR] = 6,
		[STRATEGY_NAME_ZERO_1] = 0,
		[STRATEGY_NAME_ZERO_2] = 2,
		[STRATEGY_NAME_ZERO_3] = 3,
		[STRATEGY_NAME_FEWER] = 1,
		[STRATEGY_NAME_UNEVEN] = 4};
	const struct advice *a = p->advice;
	const char *names[ADVICE_MOST_COUNTS];
	char texts[ADVICE_MOST_COUNTS][16];
	struct plot plot;

	plot_init(&plot, "Throughput over GPUs", "GPUs", "samples/s");
	for (size_t i = 0; i < a->count; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%zu", a->rows[i].gpus);
		names[i] = texts[i];
	}
	plot_names(&plot, &plot.x, names, a->count);
	plot.y.log = true;
	set_span(&plot, a);
	add_ideal(&plot, a);
	for (int name = STRATEGY_NAME_DATA; name < STRATEGY_NAME_COUNT; name++)
		add_strategy(&plot, a, (enum strategy_name)name, colours[name]);
	add_measured(&plot, a);
	plot_scale(&plot);
	html_figure(&plot,
		"Bands are ranges. Shaded: more GPUs than were measured. Ideal: as many times one GPU. PipeDream "
		"and layerwise compute gradients from older weights and are not recommended. Faint: strategies not "
		"validated against a run; their ranges are in the table.",
		HTML_LARGE, out);
}

static void put_table(const char *title, const char *below,
	void (*fill)(const struct advice_print *, struct print_table *), const struct advice_print *p,
	struct arena *arena, FILE *out)
{
	struct print_table table;

	fprintf(out, "<section>\n<h2>%s</h2>\n<p class=\"dim\">%s</p>\n", title, below);
	print_init(&table, arena);
	fill(p, &table);
	print_html(&table, out);
	print_free(&table);
	fputs("</section>\n", out);
}

static void put_assumptions(const struct advice_print *p, struct arena *arena, FILE *out)
{
	const char *sentences[ADVICE_ASSUMPTIONS];

	advice_assumptions(p, arena, sentences);
	fputs("<section>\n<h2>Basis and assumptions</h2>\n<ul>\n", out);
	for (size_t i = 0; sentences[i]; i++) {
		fputs("<li>", out);
		html_text(sentences[i], out);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n</section>\n", out);
}

void advice_print_html(const struct advice_print *p, FILE *out)
{
	struct arena arena = {0};

	html_page_begin(p->run, style, out);
	fputs("<h1>", out);
	html_text(p->run, out);
	fputs("</h1>\n", out);
	fprintf(out, "<p class=\"dim\">%s</p>\n", advice_base(p, &arena));
	put_answers(p, &arena, out);
	put_picture(p, out);
	put_table("The best strategy on each number of GPUs",
		"Times of an iteration of the whole batch; low and high: the range in which it is expected.",
		advice_table_rows, p, &arena, out);
	put_table("Every strategy", "Memory: of the GPU that needs most.", advice_table_ways, p, &arena, out);
	put_assumptions(p, &arena, out);
	html_end(out);
	arena_free(&arena);
}
