/* The roofline as a picture: see roofline.h. The letters are those of the table of layers. */
#include "base/memory.h"
#include "base/plot.h"
#include "base/table.h"
#include "roofline.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_RADIUS 3.0 /* of a point, in pixels */
#define RADIUS 8.0       /* and so much more for the longest time */
#define HEIGHT 340.0

/* The phases' colours in a page's style. */
static const int colours[ROOFLINE_DIRECTION_COUNT] = {0, 4, 1, 7, 2};

char roofline_letter(size_t item)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	return item < sizeof(letters) - 1 ? letters[item] : '*';
}

static double time_or_0(const struct roofline_item *item)
{
	return item->amount.time_ns > 0 ? item->amount.time_ns : 0;
}

static bool has_place(const struct roofline_item *item)
{
	return roofline_intensity(&item->amount) > 0 && roofline_flops_rate(&item->amount) > 0;
}

/* Both axes between powers of ten, with the roof's corners. */
static bool fix_axes(const struct roofline *roofline, struct plot *plot)
{
	const struct device_peak *peak = &roofline->peak;
	double least[2] = {INFINITY, INFINITY}, most[2] = {0, 0};
	struct plot_axis *const axes[2] = {&plot->x, &plot->y};

	for (size_t i = 0; i < roofline->item_count; i++) {
		const struct roofline_amount *amount = &roofline->items[i].amount;
		double values[2] = {roofline_intensity(amount), roofline_flops_rate(amount)};

		for (int a = 0; a < 2 && has_place(&roofline->items[i]); a++) {
			least[a] = fmin(least[a], values[a]);
			most[a] = fmax(most[a], values[a]);
		}
	}
	if (!(most[0] > 0))
		return false;
	for (int type = 0; type < WORK_TYPE_COUNT && peak->source; type++)
		if (roofline_has_type(roofline, (enum work_type)type)) {
			most[0] = fmax(most[0], peak->flops[type] / peak->bandwidth);
			most[1] = fmax(most[1], peak->flops[type]);
		}
	for (int a = 0; a < 2; a++) {
		axes[a]->log = true;
		plot_fix(axes[a], pow(10, floor(log10(least[a]))), pow(10, ceil(log10(most[a]) + 1e-9)));
	}
	plot->y.prefixed = true;
	return true;
}

/* From where the bandwidth's line comes into the picture to the peak, then level. */
static void add_roof(const struct roofline *roofline, enum work_type type, struct plot *plot)
{
	const struct device_peak *peak = &roofline->peak;
	const double corner = peak->flops[type] / peak->bandwidth;
	const double from = fmax(plot->x.least, plot->y.least / peak->bandwidth);
	struct arena arena = {0};
	struct plot_series *roof = plot_add(plot, PLOT_LINE,
		arena_format(&arena, "%s: %sFLOP/s, %sB/s", work_type_names[type],
			roofline_rate_text(&arena, peak->flops[type]),
			roofline_rate_text(&arena, peak->bandwidth)));

	roof->colour = PLOT_PLAIN;
	roof->dashed = true;
	if (from < corner)
		plot_point(plot, roof, from, roofline_roof(peak, type, from), NULL);
	plot_point(plot, roof, fmax(corner, plot->x.least), peak->flops[type], NULL);
	plot_point(plot, roof, plot->x.greatest, peak->flops[type], NULL);
	arena_free(&arena);
}

static const char *tip_of(struct arena *arena, const struct roofline_item *item)
{
	const struct roofline_amount *amount = &item->amount;
	const double share = roofline_share(amount);

	return arena_format(arena, "%s, %s: %s, %.2f FLOP/byte, %sFLOP/s, %sB/s%s%s%s", item->layer,
		roofline_direction_titles[item->direction], print_time(arena, amount->time_ns),
		roofline_intensity(amount), roofline_rate_text(arena, roofline_flops_rate(amount)),
		roofline_rate_text(arena, roofline_bytes_rate(amount)),
		isfinite(share) ? arena_format(arena, ", %.1f%% of the roof", 100 * share) : "",
		amount->bound == ROOFLINE_UNKNOWN ? "" : ", bound by ", roofline_bound_keys[amount->bound]);
}

static int by_time(const void *left, const void *right)
{
	double a = time_or_0(*(const struct roofline_item *const *)left);
	double b = time_or_0(*(const struct roofline_item *const *)right);

	return (a < b) - (a > b);
}

/* The great ones first, so that the small ones lie on top. */
static void add_points(const struct roofline *roofline, struct plot *plot)
{
	const struct roofline_item **items = mem_alloc(roofline->item_count, sizeof(*items));
	struct arena arena = {0};

	for (size_t i = 0; i < roofline->item_count; i++)
		items[i] = &roofline->items[i];
	qsort(items, roofline->item_count, sizeof(*items), by_time);
	for (int direction = 0; direction < ROOFLINE_DIRECTION_COUNT; direction++) {
		struct plot_series *series =
			plot_add(plot, PLOT_POINTS, roofline_direction_titles[direction]);

		series->colour = colours[direction];
		for (size_t i = 0; i < roofline->item_count; i++) {
			struct plot_point *point;

			if ((int)items[i]->direction != direction || !has_place(items[i]))
				continue;
			point = plot_point(plot, series, roofline_intensity(&items[i]->amount),
				roofline_flops_rate(&items[i]->amount), tip_of(&arena, items[i]));
			point->radius = LEAST_RADIUS +
					RADIUS * sqrt(time_or_0(items[i]) / fmax(time_or_0(items[0]), 1));
			point->letter = roofline_letter((size_t)(items[i] - roofline->items));
		}
	}
	arena_free(&arena);
	free(items);
}

bool roofline_plot(const struct roofline *roofline, struct plot *plot)
{
	plot_init(plot, "Roofline", "arithmetic intensity, FLOP/byte", "FLOP/s");
	plot->height = HEIGHT;
	if (!fix_axes(roofline, plot))
		return false;
	for (int type = 0; type < WORK_TYPE_COUNT && roofline->peak.source; type++)
		if (roofline_has_type(roofline, (enum work_type)type))
			add_roof(roofline, (enum work_type)type, plot);
	add_points(roofline, plot);
	plot_scale(plot);
	return true;
}
