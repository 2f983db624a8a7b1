/*
 * The HTML report's comparison of two runs: sentences, phases as pairs of bars with a waterfall from one
 * iteration to the other, layers with the intervals of their differences.
 */
#include "pair.h"
#include "output/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LAYERS = 60 };

/* Places on an axis from `low` to `high`, in percent. */
struct axis {
	double low, high;
};

static double place(const struct axis *axis, double value)
{
	double share = axis->high > axis->low ? 100 * (value - axis->low) / (axis->high - axis->low) : 0;

	return share < 0 ? 0 : share > 100 ? 100 : share;
}

static void stretch(struct axis *axis, double value)
{
	if (!isfinite(value))
		return;
	axis->low = fmin(axis->low, value);
	axis->high = fmax(axis->high, value);
}

static const char *signed_time(struct html_page *page, double ns)
{
	return isfinite(ns) ? arena_format(&page->arena, "%s%s", ns > 0 ? "+" : "", html_time(page, ns))
			    : "–";
}

static const char *tip(struct html_page *page, const struct compare_row *row)
{
	return arena_format(&page->arena, "%s vs %s: %s, 95%% CI %s to %s, %s", html_time(page, row->other),
		html_time(page, row->base), signed_time(page, row->effect.difference),
		signed_time(page, row->effect.low), signed_time(page, row->effect.high),
		compare_word_text(row));
}

/* A bar from `from` to `to`: blue where time is saved, red where it is lost; with its interval about `to`. */
static void write_change(struct html_page *page, const struct axis *axis, const struct compare_row *row,
	double from, double to)
{
	double left = place(axis, fmin(from, to)), right = place(axis, fmax(from, to)), zero = place(axis, 0);
	bool sure = row->word == COMPARE_FASTER || row->word == COMPARE_SLOWER;

	fprintf(page->out,
		"<svg height=\"16\" role=\"img\"><line x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"0\" y2=\"16\"/>"
		"<rect class=\"%s\" x=\"%.3f%%\" y=\"2\" width=\"%.3f%%\" height=\"12\"><title>%s</title></rect>",
		zero, zero,
		!sure       ? "h3"
		: to > from ? "h5"
			    : "h1",
		left, fmax(right - left, 0.2 > 100 - left ? 0 : 0.2), tip(page, row));
	if (isfinite(row->effect.low))
		fprintf(page->out,
			"<line style=\"stroke:var(--fg)\" x1=\"%.3f%%\" x2=\"%.3f%%\" y1=\"8\" y2=\"8\"/>",
			place(axis, from + row->effect.low), place(axis, from + row->effect.high));
	fputs("</svg>", page->out);
}

/* The base's bar above the other's. */
static void write_pair_of_bars(struct html_page *page, const struct compare_row *row, double longest_ns)
{
	double values[2] = {row->base, row->other};

	fputs("<svg height=\"22\" role=\"img\">", page->out);
	for (int i = 0; i < 2 && longest_ns > 0; i++)
		if (values[i] > 0)
			fprintf(page->out,
				"<rect class=\"%s\"%s x=\"0%%\" y=\"%d\" width=\"%.3f%%\" height=\"10\">"
				"<title>%s</title></rect>",
				html_phase_key(row->phase), i == 0 ? " style=\"opacity:.5\"" : "", 12 * i,
				100 * values[i] / longest_ns, html_time(page, values[i]));
	fputs("</svg>", page->out);
}

static void write_figures(struct html_page *page, const struct compare_row *row)
{
	double change = compare_change(row);

	fprintf(page->out, "<td>%s</td><td>%s</td>", signed_time(page, row->effect.difference),
		isfinite(change) ? arena_format(&page->arena, "%+.1f%%", 100 * change) : "–");
	if (isfinite(row->effect.low))
		fprintf(page->out, "<td>%s … %s</td>", signed_time(page, row->effect.low),
			signed_time(page, row->effect.high));
	else
		fputs("<td>–</td>", page->out);
	fprintf(page->out, "<td class=\"l\">%s</td></tr>\n", compare_word_text(row));
}

static void write_phases(
	struct html_page *page, const struct compare_pair *pair, const char *base, const char *other)
{
	const struct compare_row *iteration = compare_find(pair, COMPARE_WHOLE, "t_iter");
	struct axis axis = {0, 0};
	double longest_ns = 0, at = 0;

	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];

		if (row->kind != COMPARE_EXCLUSIVE)
			continue;
		longest_ns = fmax(longest_ns, fmax(row->base, row->other));
		stretch(&axis, at + fmin(row->effect.low, 0));
		stretch(&axis, at + fmax(row->effect.high, 0));
		if (isfinite(row->effect.difference))
			at += row->effect.difference;
		stretch(&axis, at);
	}
	stretch(&axis, iteration->effect.low);
	stretch(&axis, iteration->effect.high);
	fprintf(page->out,
		"<div class=\"scroll\"><table class=\"list\">\n"
		"<thead><tr><th class=\"l\">phase, exclusive</th><th class=\"l\">%s above %s</th><th>%s</th><th>%s</th><th class=\"l\">change</th><th>difference</th><th></th><th>95%%</th><th></th></tr></thead>\n"
		"<tbody>\n",
		base, other, base, other);
	at = 0;
	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];

		if (row->kind != COMPARE_EXCLUSIVE)
			continue;
		fputs("<tr><td class=\"l\" style=\"white-space:normal;min-width:12em\">", page->out);
		html_swatch(page, row->phase);
		fprintf(page->out, "%s</td><td class=\"w\" style=\"width:22%%;min-width:90px\">",
			row->phase < PHASE_WORK_COUNT ? html_phase_title(row->phase)
						      : phase_titles[row->phase]);
		write_pair_of_bars(page, row, longest_ns);
		fprintf(page->out,
			"</td><td>%s</td><td>%s</td><td class=\"w\" style=\"width:26%%;min-width:110px\">",
			html_time(page, row->base), html_time(page, row->other));
		if (isfinite(row->effect.difference)) {
			write_change(page, &axis, row, at, at + row->effect.difference);
			at += row->effect.difference;
		}
		fputs("</td>", page->out);
		write_figures(page, row);
	}
	fprintf(page->out,
		"<tr class=\"rule\"><th class=\"l\">iteration</th><td></td><th>%s</th><th>%s</th>"
		"<td class=\"w\">",
		html_time(page, iteration->base), html_time(page, iteration->other));
	write_change(page, &axis, iteration, 0, iteration->effect.difference);
	fputs("</td>", page->out);
	write_figures(page, iteration);
	fputs("</tbody></table></div>\n", page->out);
}

/* What only one side has comes last, the rest by size of the difference. */
static int compare_rows(const void *left, const void *right)
{
	const struct compare_row *const *a = left, *const *b = right;
	double x = isfinite((*a)->effect.difference) ? fabs((*a)->effect.difference) : -1;
	double y = isfinite((*b)->effect.difference) ? fabs((*b)->effect.difference) : -1;

	if (x != y)
		return x > y ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static void write_layer(struct html_page *page, const struct compare_pair *pair,
	const struct compare_row *row, const struct axis *axis)
{
	const struct compare_match *match = &pair->matches[row->match];
	const char *name = html_escape(page, row->title), *sizes;

	if (match->base && match->other && strcmp(layer_title(match->base), layer_title(match->other)) != 0)
		name = arena_format(
			&page->arena, "%s = %s", name, html_escape(page, layer_title(match->other)));
	sizes = html_escape(page, (match->base ? match->base : match->other)->text);
	if (match->sizes_differ)
		sizes = arena_format(
			&page->arena, "%s, not %s", html_escape(page, match->other->text), sizes);
	fprintf(page->out,
		"<tr><td class=\"%s\">%s</td><td class=\"l\">%s</td><td>%s</td><td>%s</td>"
		"<td class=\"w\" style=\"width:30%%;min-width:110px\">",
		html_class(name), name, sizes, html_time(page, row->base), html_time(page, row->other));
	if (isfinite(row->effect.difference))
		write_change(page, axis, row, 0, row->effect.difference);
	fputs("</td>", page->out);
	write_figures(page, row);
}

static void write_layers(
	struct html_page *page, const struct compare_pair *pair, const char *base, const char *other)
{
	const struct compare_row **rows = mem_alloc(pair->row_count, sizeof(*rows));
	struct axis axis = {0, 0};
	size_t count = 0;

	for (size_t i = 0; i < pair->row_count; i++) {
		const struct compare_row *row = &pair->rows[i];

		if (row->kind != COMPARE_LAYER)
			continue;
		rows[count++] = row;
		stretch(&axis, row->effect.difference);
		stretch(&axis, row->effect.low);
		stretch(&axis, row->effect.high);
	}
	if (count) {
		qsort(rows, count, sizeof(*rows), compare_rows);
		fprintf(page->out,
			"<div class=\"scroll\"><table class=\"list\">\n<thead><tr><th class=\"l\">layer, computing"
			"</th><th class=\"l\">sizes</th><th>%s</th><th>%s</th><th class=\"l\">difference</th>"
			"<th></th><th></th><th>95%%</th><th></th></tr></thead>\n<tbody>\n",
			base, other);
		for (size_t i = 0; i < count && i < MOST_LAYERS; i++)
			write_layer(page, pair, rows[i], &axis);
		fputs("</tbody></table></div>\n", page->out);
		if (count > MOST_LAYERS)
			fprintf(page->out, "<p class=\"dim\">%zu more layers with smaller differences.</p>\n",
				count - MOST_LAYERS);
	}
	free(rows);
}

static void write_pair(struct html_page *page, struct compare *compare, const struct compare_pair *pair)
{
	const char *base = html_escape(page, compare->sides[pair->base].name);
	const char *other = html_escape(page, compare->sides[pair->other].name);
	const char **words = compare_words(compare, pair);

	html_section(page, arena_format(&page->arena, "%s against %s", other, base));
	fputs("<ul class=\"lead\">\n", page->out);
	for (size_t i = 0; words[i]; i++)
		fprintf(page->out, "<li>%s.</li>\n", html_escape(page, words[i]));
	fputs("</ul>\n", page->out);
	write_phases(page, pair, base, other);
	write_layers(page, pair, base, other);
	fprintf(page->out,
		"<p class=\"dim\">Means over iterations and ranks. Red takes longer, blue less, grey is inconclusive; the line is the 95%% confidence interval of the difference. Same: within %.3g%%, or within %.3g%% of the iteration, at that confidence. Seeded block bootstrap; p-values of faster and slower are corrected over all rows.</p>\n"
		"</section>\n",
		100 * compare->how.margin, 10 * compare->how.margin);
}

void html_pairs(struct html_page *page, struct run *runs, size_t run_count)
{
	struct compare_side *sides = mem_alloc(run_count, sizeof(*sides));
	struct run **places = mem_alloc(run_count, sizeof(*places));
	const struct compare_options how = {.margin = COMPARE_MARGIN, .seed = COMPARE_SEED};
	struct compare compare;
	size_t count = 0;

	for (size_t r = 0; r < run_count; r++) {
		if (runs[r].analysis.worker_count == 0)
			continue;
		places[count] = &runs[r];
		sides[count] = (struct compare_side){runs[r].label, &places[count], 1};
		count++;
	}
	if (!compare_check(sides, count, &how)) {
		compare_init(&compare, sides, count, &how);
		for (size_t i = 0; i < compare.pair_count; i++)
			write_pair(page, &compare, &compare.pairs[i]);
		compare_free(&compare);
	}
	free(sides);
	free(places);
}
