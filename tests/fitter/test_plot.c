/* Pictures as data and as text: ticks, places on axes, thinning out, what is left out; a small picture to the
 * letter. */
#include "../analyzer/check.h"
#include "base/plot.h"
#include "base/plot_svg.h"
#include "base/plot_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_ticks(const char *name, double least, double greatest, bool log, const char *expected)
{
	struct plot plot;
	char ticks[400] = "";

	plot_init(&plot, name, "x", "y");
	plot.x.log = log;
	plot_fix(&plot.x, least, greatest);
	plot_scale(&plot);
	for (size_t i = 0; i < plot_tick_count(&plot.x); i++)
		snprintf(ticks + strlen(ticks), sizeof(ticks) - strlen(ticks), "%s%s", i ? " " : "",
			plot_tick_text(&plot.x, i));
	CHECK(strcmp(ticks, expected) == 0, "%s: '%s', not '%s'", name, ticks, expected);
	plot_free(&plot);
}

/* A value's place is its share of the way, of logarithms on a logarithmic axis. */
static void check_places(void)
{
	struct plot plot;

	plot_init(&plot, "", "", "");
	plot_fix(&plot.x, 10, 30);
	plot.y.log = true;
	plot_fix(&plot.y, 0.1, 1000);
	plot_scale(&plot);
	CHECK(fabs(plot_place(&plot.x, 15) - 0.25) < 1e-12, "%g", plot_place(&plot.x, 15));
	CHECK(fabs(plot_place(&plot.y, 1) - 0.25) < 1e-12, "%g", plot_place(&plot.y, 1));
	CHECK(fabs(plot_place(&plot.y, 100) - 0.75) < 1e-12, "%g", plot_place(&plot.y, 100));
	plot_free(&plot);
}

/* Nothing, one point, equal points, no numbers: axes all the same. */
static void check_little(void)
{
	static const double cases[][2] = {
		{0, 0}, {3, 3}, {-2, -2}, {1e-300, 1e-300}, {1e300, 1e300}, {NAN, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (int log = 0; log < 2; log++) {
			struct plot plot;
			struct plot_series *series;
			bool shown = isfinite(cases[i][0]) && (!log || cases[i][0] > 0);

			plot_init(&plot, "", "", "");
			plot.x.log = plot.y.log = log;
			series = plot_add(&plot, PLOT_POINTS, "points");
			plot_point(&plot, series, cases[i][0], cases[i][1], NULL);
			plot_scale(&plot);
			CHECK(plot.x.least < plot.x.greatest && isfinite(plot.x.least + plot.x.greatest),
				"%zu: %g to %g", i, plot.x.least, plot.x.greatest);
			CHECK(series->count == (size_t)shown && plot.left_out == (size_t)!shown,
				"%zu, log %d: %zu shown, %zu left out", i, log, series->count, plot.left_out);
			plot_free(&plot);
		}
}

/* Ten thousand points in a heap and one apart: few are left, which stand for all, the one among them. */
static void check_thin(void)
{
	struct plot plot;
	struct plot_series *series;
	size_t stands_for = 0;
	bool apart = false;

	plot_init(&plot, "", "", "");
	series = plot_add(&plot, PLOT_POINTS, "many");
	for (int i = 0; i < 10000; i++)
		plot_point(&plot, series, i % 100, (double)i / 100, "a point");
	plot_point(&plot, series, 500, 500, NULL);
	plot_scale(&plot);
	plot_thin(&plot, 400);
	for (size_t i = 0; i < series->count; i++) {
		stands_for += series->points[i].stands_for;
		apart = apart || series->points[i].x == 500;
	}
	CHECK(series->count <= 400 && series->count > 100, "%zu points", series->count);
	CHECK(stands_for == 10001 && series->all == 10001, "%zu points", stands_for);
	CHECK(apart, "the point that lies apart is lost");
	plot_free(&plot);
}

static char *text_of(const struct plot *plot, const struct plot_text *how)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (how)
		plot_text_print(plot, how, out);
	else
		plot_svg(plot, PLOT_SVG_WIDTH, out);
	fclose(out);
	return text;
}

/* A corner each, and the middle: 21 columns and 5 rows from 0 to 20 and 0 to 4. */
static void check_text(void)
{
	static const char plain[] = "corners\n"
				    "    y\n"
				    " 4 +o                   x\n"
				    " 3 +\n"
				    " 2 +          x\n"
				    " 1 +\n"
				    " 0 +x                   o\n"
				    "   ++----+----+----+----+\n"
				    "    0    5   10   15   20\n"
				    "              x\n"
				    "    o first\n"
				    "    x second?[2J?2J\n";
	const struct plot_text how = {.width = 26, .height = 5, .plain = true},
			       braille = {.width = 26, .height = 5}, colours = {26, 5, false, true};
	struct plot plot;
	struct plot_series *series;
	char *text;

	plot_init(&plot, "corners", "x", "y");
	plot.y.whole = true;
	plot_fix(&plot.x, 0, 20);
	plot_fix(&plot.y, 0, 4);
	series = plot_add(&plot, PLOT_POINTS, "first");
	plot_point(&plot, series, 0, 4, NULL);
	plot_point(&plot, series, 20, 0, NULL);
	series = plot_add(&plot, PLOT_POINTS,
		"second\033[2J\xc2\x9b"
		"2J");
	plot_point(&plot, series, 0, 0, NULL);
	plot_point(&plot, series, 20, 4, NULL);
	plot_point(&plot, series, 10, 2, NULL);
	plot_scale(&plot);
	text = text_of(&plot, &how);
	CHECK(strcmp(text, plain) == 0, "not as it should be:\n%s", text);
	free(text);
	text = text_of(&plot, &braille);
	CHECK(strstr(text, "⠁") && strstr(text, "⢀"), "braille: %s", text);
	CHECK(!strchr(text, '\033'), "colours without being asked");
	free(text);
	text = text_of(&plot, &colours);
	CHECK(strstr(text, "\033[3"), "no colours");
	free(text);
	plot_free(&plot);
}

int main(void)
{
	check_ticks("linear", 0, 10, false, "0 2 4 6 8 10");
	check_ticks("through zero", -1, 1, false, "-1 -0.5 0 0.5 1");
	check_ticks("small", 0.00012, 0.00034, false, "0.00015 0.0002 0.00025 0.0003");
	check_ticks("decades", 0.001, 1000, true, "0.001 0.01 0.1 1 10 100 1000");
	check_ticks("a decade", 2, 30, true, "2 5 10 20");
	check_ticks("many decades", 1e-12, 1e12, true, "1e-12 1e-09 1e-06 0.001 1 1000 1e+06 1e+09 1e+12");
	check_ticks("part of a decade", 1, 3, true, "1 1.5 2 2.5 3");
	check_places();
	check_little();
	check_thin();
	check_text();
	return check_end();
}
