/*
 * The roofline in the HTML report: a picture with a point for each layer and pass, its area the time, and a
 * table of those that are furthest from the roof. Places are percentages of the picture's width, so that text
 * keeps its size; upwards they are units of its height.
 */
#include "page.h"

#include <math.h>
#include <stdlib.h>

#define HEIGHT 380.0
#define LEFT 7.0    /* percent: the labels of rates */
#define BOTTOM 40.0 /* the labels of intensities */
#define MOST_ROWS 30
#define LEAST_RADIUS 3.0
#define RADIUS 8.0 /* and so much more for the longest time */

/* Class of a point: the colours of the phases. */
static const char *const classes[ROOFLINE_DIRECTION_COUNT] = {
	"forward", "backward", "communication", "other", "update"};

struct picture {
	struct html_page *page;
	const struct roofline *roofline;
	struct roofline_axes axes;
};

static double across(const struct picture *picture, double intensity)
{
	const struct roofline_axes *axes = &picture->axes;

	return LEFT + (100 - LEFT - 1) * log10(intensity / axes->least_intensity) /
			      log10(axes->greatest_intensity / axes->least_intensity);
}

static double upwards(const struct picture *picture, double rate)
{
	const struct roofline_axes *axes = &picture->axes;

	return (HEIGHT - BOTTOM) *
	       (1 - log10(rate / axes->least_rate) / log10(axes->greatest_rate / axes->least_rate));
}

static void write_axes(const struct picture *picture)
{
	struct html_page *page = picture->page;
	const struct roofline_axes *axes = &picture->axes;

	for (double x = axes->least_intensity; x < axes->greatest_intensity * 1.5; x *= 10)
		fprintf(page->out,
			"<line x1=\"%.3f%%\" y1=\"0\" x2=\"%.3f%%\" y2=\"%.0f\"/><text class=\"axis\" "
			"x=\"%.3f%%\" y=\"%.0f\" text-anchor=\"%s\">%g</text>\n",
			across(picture, x), across(picture, x), HEIGHT - BOTTOM, across(picture, x),
			HEIGHT - BOTTOM + 14, x * 1.5 > axes->greatest_intensity ? "end" : "middle", x);
	for (double y = axes->least_rate; y < axes->greatest_rate * 1.5; y *= 10)
		fprintf(page->out,
			"<line x1=\"%.3f%%\" y1=\"%.1f\" x2=\"99%%\" y2=\"%.1f\"/><text class=\"axis\" "
			"x=\"%.3f%%\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			LEFT, upwards(picture, y), upwards(picture, y), LEFT - 0.5,
			fmax(upwards(picture, y) + 4, 10), roofline_rate_text(&page->arena, y));
	fprintf(page->out,
		"<text class=\"axis\" x=\"53%%\" y=\"%.0f\" text-anchor=\"middle\">arithmetic intensity, "
		"FLOP/byte</text><text class=\"axis\" x=\"%.3f%%\" y=\"12\">FLOP/s</text>\n",
		HEIGHT - 6, LEFT + 0.4);
}

/* From where the bandwidth's line comes into the picture to the peak, then level; each type of arithmetic has
 * its own level, and they share the slope. */
static void write_roofs(const struct picture *picture)
{
	struct html_page *page = picture->page;
	const struct device_peak *peak = &picture->roofline->peak;
	double highest = 0;

	for (int type = 0; type < WORK_TYPE_COUNT; type++) {
		double corner = peak->flops[type] / peak->bandwidth;

		if (!roofline_has_type(picture->roofline, (enum work_type)type))
			continue;
		corner = fmax(corner, picture->axes.least_intensity);
		highest = fmax(highest, peak->flops[type]);
		fprintf(page->out,
			"<line class=\"edge\" x1=\"%.3f%%\" y1=\"%.1f\" x2=\"99%%\" y2=\"%.1f\"/>"
			"<text x=\"98.5%%\" y=\"%.1f\" text-anchor=\"end\">%sFLOP/s %s</text>\n",
			across(picture, corner), upwards(picture, peak->flops[type]),
			upwards(picture, peak->flops[type]), upwards(picture, peak->flops[type]) - 4,
			roofline_rate_text(&page->arena, peak->flops[type]), work_type_names[type]);
	}
	if (highest > 0) {
		double from = fmax(picture->axes.least_intensity, picture->axes.least_rate / peak->bandwidth);
		double to = fmax(highest / peak->bandwidth, from);

		fprintf(page->out,
			"<line class=\"edge\" x1=\"%.3f%%\" y1=\"%.1f\" x2=\"%.3f%%\" y2=\"%.1f\"/>"
			"<text x=\"%.3f%%\" y=\"%.1f\">%sB/s</text>\n",
			across(picture, from), upwards(picture, peak->bandwidth * from), across(picture, to),
			upwards(picture, peak->bandwidth * to), across(picture, from) + 1,
			fmax(upwards(picture, peak->bandwidth * from) - 26, 12),
			roofline_rate_text(&page->arena, peak->bandwidth));
	}
}

static const char *share_text(struct html_page *page, double share)
{
	return isfinite(share) ? arena_format(&page->arena, "%.1f%%", 100 * share) : "–";
}

static double time_or_0(const struct roofline_item *item)
{
	return item->amount.time_ns > 0 ? item->amount.time_ns : 0;
}

static int by_time(const void *left, const void *right)
{
	double a = time_or_0(*(const struct roofline_item *const *)left);
	double b = time_or_0(*(const struct roofline_item *const *)right);

	return (a < b) - (a > b);
}

static int by_gain(const void *left, const void *right)
{
	const struct roofline_item *a = *(const struct roofline_item *const *)left;
	const struct roofline_item *b = *(const struct roofline_item *const *)right;
	double gain_a = roofline_gain_ns(a), gain_b = roofline_gain_ns(b);

	return gain_a != gain_b ? (gain_a < gain_b) - (gain_a > gain_b) : (a > b) - (a < b);
}

/* The caller frees it. */
static const struct roofline_item **in_order(
	const struct roofline *roofline, int (*compare)(const void *left, const void *right))
{
	const struct roofline_item **items = mem_alloc(roofline->item_count, sizeof(*items));

	for (size_t i = 0; i < roofline->item_count; i++)
		items[i] = &roofline->items[i];
	qsort(items, roofline->item_count, sizeof(*items), compare);
	return items;
}

/* The great ones first, so that the small ones lie on top. */
static void write_points(const struct picture *picture)
{
	struct html_page *page = picture->page;
	const struct roofline_item **items = in_order(picture->roofline, by_time);
	double longest_ns = time_or_0(items[0]);

	for (size_t i = 0; i < picture->roofline->item_count; i++) {
		const struct roofline_item *item = items[i];
		const struct roofline_amount *amount = &item->amount;
		double intensity = roofline_intensity(amount), rate = roofline_flops_rate(amount);

		if (!(intensity > 0) || !(rate > 0))
			continue;
		fprintf(page->out,
			"<circle class=\"%s\" cx=\"%.3f%%\" cy=\"%.1f\" r=\"%.1f\" fill-opacity=\"0.6\" "
			"stroke=\"currentColor\" stroke-width=\"0.5\"><title>%s, %s: %s, %.2f "
			"FLOP/byte, %sFLOP/s, %sB/s, %s of the roof%s%s</title></circle>\n",
			classes[item->direction], across(picture, intensity), upwards(picture, rate),
			LEAST_RADIUS + RADIUS * sqrt(time_or_0(item) / longest_ns),
			html_escape(page, item->layer), roofline_direction_titles[item->direction],
			html_time(page, amount->time_ns), intensity, roofline_rate_text(&page->arena, rate),
			roofline_rate_text(&page->arena, roofline_bytes_rate(amount)),
			share_text(page, roofline_share(amount)),
			amount->bound == ROOFLINE_UNKNOWN ? "" : ", bound by ",
			roofline_bound_keys[amount->bound]);
	}
	free(items);
}

static void write_legend(const struct picture *picture)
{
	struct html_page *page = picture->page;

	fputs("<ul class=\"legend\">", page->out);
	for (int direction = 0; direction < ROOFLINE_DIRECTION_COUNT; direction++) {
		bool present = false;

		for (size_t i = 0; i < picture->roofline->item_count; i++)
			present |= (int)picture->roofline->items[i].direction == direction &&
				   roofline_flops_rate(&picture->roofline->items[i].amount) > 0;
		if (present)
			fprintf(page->out,
				"<li><svg class=\"key\" viewBox=\"0 0 12 12\"><circle class=\"%s\" cx=\"6\" "
				"cy=\"6\" r=\"4.5\"/></svg>%s</li>",
				classes[direction], roofline_direction_titles[direction]);
	}
	fputs("</ul>\n", page->out);
}

static void write_picture(struct html_page *page, const struct roofline *roofline)
{
	struct picture picture = {.page = page, .roofline = roofline};

	if (!roofline_axes(roofline, &picture.axes))
		return;
	write_legend(&picture);
	fprintf(page->out, "<svg height=\"%.0f\" role=\"img\" aria-label=\"Roofline\">\n", HEIGHT);
	write_axes(&picture);
	if (roofline->peak.source)
		write_roofs(&picture);
	write_points(&picture);
	fputs("</svg>\n", page->out);
}

static void write_table(struct html_page *page, const struct roofline *roofline)
{
	const struct roofline_item **items = in_order(roofline, by_gain);
	struct roofline shown = *roofline;
	struct print_table table;

	if (shown.item_count > MOST_ROWS)
		shown.item_count = MOST_ROWS;
	shown.items = arena_alloc(&page->arena, shown.item_count, sizeof(*shown.items));
	for (size_t i = 0; i < shown.item_count; i++)
		shown.items[i] = *items[i];
	print_init(&table, &page->arena);
	roofline_layer_table(&shown, &table, ROOFLINE_PAGE);
	fprintf(page->out, "<p class=\"dim\">%s of %zu layers and passes, longest first%s.</p>\n",
		shown.item_count < roofline->item_count ? arena_format(&page->arena, "%d", MOST_ROWS) : "All",
		roofline->item_count, roofline->peak.source ? " beyond the roof" : "");
	print_html(&table, page->out);
	print_free(&table);
	free(items);
}

bool html_work_known(const struct roofline *roofline)
{
	for (size_t i = 0; i < roofline->item_count; i++)
		if (roofline->items[i].amount.flops > 0 || roofline->items[i].amount.bytes > 0)
			return true;
	return false;
}

static void write_words(struct html_page *page, const struct roofline *roofline)
{
	const char *device = roofline->device ? html_escape(page, roofline->device) : "an unknown GPU";

	fprintf(page->out, "<p class=\"dim\">On %s", device);
	if (roofline->peak.source)
		fprintf(page->out, ", peaks from %s. ", roofline->peak.source);
	else
		fputs(", peak rates unknown, so there is no roof. ", page->out);
	fprintf(page->out,
		"An iteration is %sFLOP forward and backward per GPU; %sFLOP/s over the whole "
		"iteration",
		roofline_rate_text(&page->arena, roofline->model_flops),
		roofline_rate_text(&page->arena, roofline->flops_rate));
	if (isfinite(roofline->utilization))
		fprintf(page->out,
			", a model FLOPs utilization of <b>%.1f%%</b>. At the roof the work takes %s",
			100 * roofline->utilization, html_time(page, roofline->roof_ns));
	fputs(". Operations are the mathematical ones, bytes count each operand once. The area of a point "
	      "grows with its time.</p>\n",
		page->out);
}

void html_roofline(struct html_page *page, const struct html_run *run)
{
	const struct roofline *roofline = &run->roofline;

	if (!html_work_known(roofline))
		return;
	html_section(page, "Roofline");
	write_words(page, roofline);
	write_picture(page, roofline);
	write_table(page, roofline);
	fputs("</section>\n", page->out);
}
