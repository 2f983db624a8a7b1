/* The roofline as text: see roofline.h. The letters are those of the table of layers. */
#include "roofline.h"

#include <math.h>
#include <string.h>

#define COLUMNS 64
#define ROWS 20

char roofline_letter(size_t item)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return item < sizeof(letters) - 1 ? letters[item] : '*';
}

bool roofline_axes(const struct roofline *roofline, struct roofline_axes *axes)
{
	const struct device_peak *peak = &roofline->peak;
	double least[2] = {INFINITY, INFINITY}, most[2] = {0, 0};

	for (size_t i = 0; i < roofline->item_count; i++) {
		const struct roofline_amount *amount = &roofline->items[i].amount;
		double values[] = {roofline_intensity(amount), roofline_flops_rate(amount)};

		for (int a = 0; a < 2 && values[0] > 0 && values[1] > 0; a++) {
			least[a] = fmin(least[a], values[a]);
			most[a] = fmax(most[a], values[a]);
		}
	}
	if (!(most[0] > 0) || !(most[1] > 0))
		return false;
	/* the roof's corners too */
	for (int type = 0; type < WORK_TYPE_COUNT && peak->source; type++)
		if (roofline_has_type(roofline, (enum work_type)type)) {
			most[0] = fmax(most[0], peak->flops[type] / peak->bandwidth);
			most[1] = fmax(most[1], peak->flops[type]);
		}
	axes->least_intensity = pow(10, floor(log10(least[0])));
	axes->greatest_intensity = pow(10, ceil(log10(most[0]) + 1e-9));
	axes->least_rate = pow(10, floor(log10(least[1])));
	axes->greatest_rate = pow(10, ceil(log10(most[1]) + 1e-9));
	return true;
}

static int place(double value, double least, double greatest, int count)
{
	int at = (int)lround(log10(value / least) / log10(greatest / least) * (count - 1));

	return at < 0 ? 0 : at >= count ? count - 1 : at;
}

static void draw_roof(
	const struct roofline *roofline, const struct roofline_axes *axes, char cells[ROWS][COLUMNS + 1])
{
	for (int type = 0; type < WORK_TYPE_COUNT; type++) {
		if (!roofline_has_type(roofline, (enum work_type)type))
			continue;
		for (int x = 0; x < COLUMNS; x++) {
			double intensity =
				axes->least_intensity * pow(axes->greatest_intensity / axes->least_intensity,
								(double)x / (COLUMNS - 1));
			double roof = roofline_roof(&roofline->peak, (enum work_type)type, intensity);

			if (roof < axes->least_rate)
				continue;
			cells[place(roof, axes->least_rate, axes->greatest_rate, ROWS)][x] =
				roof < roofline->peak.flops[type] ? '/' : '-';
		}
	}
}

void roofline_plot(const struct roofline *roofline, FILE *out)
{
	char cells[ROWS][COLUMNS + 1];
	struct roofline_axes axes;
	struct arena arena = {0};

	if (!roofline_axes(roofline, &axes)) {
		fputs("Nothing to plot: no layer has both an operation count and device times.\n", out);
		return;
	}
	for (int y = 0; y < ROWS; y++) {
		memset(cells[y], ' ', COLUMNS);
		cells[y][COLUMNS] = 0;
	}
	if (roofline->peak.source)
		draw_roof(roofline, &axes, cells);
	for (size_t i = roofline->item_count; i-- > 0;) {
		const struct roofline_amount *amount = &roofline->items[i].amount;
		double intensity = roofline_intensity(amount), rate = roofline_flops_rate(amount);

		if (intensity > 0 && rate > 0)
			cells[place(rate, axes.least_rate, axes.greatest_rate, ROWS)][place(intensity,
				axes.least_intensity, axes.greatest_intensity, COLUMNS)] = roofline_letter(i);
	}
	fprintf(out, "  %8sFLOP/s\n", roofline_rate_text(&arena, axes.greatest_rate));
	for (int y = ROWS - 1; y >= 0; y--) {
		for (int end = COLUMNS - 1; end >= 0 && cells[y][end] == ' '; end--)
			cells[y][end] = 0;
		fprintf(out, "           |%s\n", cells[y]);
	}
	fprintf(out, "  %8s +", roofline_rate_text(&arena, axes.least_rate));
	for (int x = 0; x < COLUMNS; x++)
		fputc('-', out);
	fprintf(out, "\n           %-10g%*g FLOP/byte\n", axes.least_intensity, COLUMNS - 18,
		axes.greatest_intensity);
	arena_free(&arena);
}
