/* The roofline's tables: see roofline.h. */
#include "base/table.h"
#include "base/text.h"
#include "operator_rates.h"

#include <math.h>

/* Of numbers with a prefix, which are words to the table. */
#define WIDE 6

enum amount { FLOPS, BYTES, FLOPS_RATE, BYTES_RATE, AMOUNTS };

static const struct {
	const char *key, *text, *unit; /* its titles: in text, and after a prefix on a page */
} amount_titles[AMOUNTS] = {
	[FLOPS] = {"flops", "  FLOP", "FLOP"},
	[BYTES] = {"bytes", " bytes", "B"},
	[FLOPS_RATE] = {"flops_per_second", "FLOP/s", "FLOP/s"},
	[BYTES_RATE] = {"bytes_per_second", "   B/s", "B/s"},
};

/* Programs get plain operations and bytes; people get them with a prefix, and do without some columns. On a
 * page, where columns are sorted, all of a column have the prefix of the greatest. */
struct columns {
	enum roofline_reader reader;
	bool counted; /* how often is for people, too */
	size_t letter, layer, direction, kind, type, calls, amounts[AMOUNTS], intensity, time, share, roof,
		gain, bound, unknown, device;
	double units[AMOUNTS]; /* what numbers are divided by on a page */
};

const char *roofline_rate_text(struct arena *arena, double rate)
{
	const char *prefix;

	if (!isfinite(rate))
		return "-";
	prefix = pm_text_prefix(&rate, 3);
	return arena_format(arena,
		rate < 9.995   ? "%.2f %s"
		: rate < 99.95 ? "%.1f %s"
			       : "%.0f %s",
		rate, prefix);
}

static void put(struct print_table *table, size_t column, double number)
{
	if (isfinite(number))
		print_number(table, column, number);
}

/* A number with a prefix in text: to the right, as numbers stand. */
static void put_amount(
	struct print_table *table, const struct columns *columns, enum amount amount, double number)
{
	const size_t column = columns->amounts[amount];

	if (columns->reader == ROOFLINE_PROGRAM)
		put(table, column, number);
	else if (columns->reader == ROOFLINE_PAGE)
		put(table, column, number / columns->units[amount]);
	else
		print_word(table, column,
			arena_format(table->arena, "%*s", WIDE, roofline_rate_text(table->arena, number)));
}

static double amount_of(const struct roofline_amount *work, enum amount amount)
{
	switch (amount) {
	case FLOPS:
		return work->flops;
	case BYTES:
		return work->bytes;
	case FLOPS_RATE:
		return roofline_flops_rate(work);
	default:
		return roofline_bytes_rate(work);
	}
}

/* The greatest numbers of a table's rows. */
struct greatest {
	double of[AMOUNTS];
};

static void see_amount(struct greatest *greatest, const struct roofline_amount *work)
{
	for (int amount = 0; amount < AMOUNTS; amount++)
		greatest->of[amount] = fmax(greatest->of[amount], amount_of(work, (enum amount)amount));
}

static struct greatest greatest_of(const struct roofline *roofline)
{
	struct greatest greatest = {0};

	for (size_t i = 0; i < roofline->item_count; i++)
		see_amount(&greatest, &roofline->items[i].amount);
	return greatest;
}

static void add_amount_column(
	struct print_table *table, struct columns *columns, double greatest, enum amount amount)
{
	const char *key = amount_titles[amount].key, *title = amount_titles[amount].text, *prefix;
	enum print_type type = columns->reader == ROOFLINE_PROGRAM ? PRINT_COUNT : PRINT_WORD;
	double scaled = greatest;

	if (columns->reader == ROOFLINE_PAGE) {
		prefix = pm_text_prefix(&scaled, 3);
		title = arena_format(table->arena, "%s%s", prefix, amount_titles[amount].unit);
		type = PRINT_REAL;
	}
	columns->units[amount] = scaled > 0 ? greatest / scaled : 1;
	columns->amounts[amount] = print_column(table, key, title, type);
}

/* What tables of layers and of kinds have in common. */
static void add_amount_columns(
	struct print_table *table, struct columns *columns, const struct greatest *greatest)
{
	columns->calls = print_column(table, "calls", columns->counted ? "calls" : NULL, PRINT_REAL);
	add_amount_column(table, columns, greatest->of[FLOPS], FLOPS);
	add_amount_column(table, columns, greatest->of[BYTES], BYTES);
	columns->intensity = print_column(table, "flops_per_byte", "FLOP/B", PRINT_REAL);
	columns->time = print_column(table, "time", "time", PRINT_TIME);
	add_amount_column(table, columns, greatest->of[FLOPS_RATE], FLOPS_RATE);
	add_amount_column(table, columns, greatest->of[BYTES_RATE], BYTES_RATE);
	columns->roof = print_column(table, "roof", "at roof", PRINT_TIME);
	columns->share = print_column(table, "roof_share", "share", PRINT_SHARE);
	columns->bound = print_column(table, "bound", "bound", PRINT_WORD);
	columns->unknown = print_column(table, "uncounted", NULL, PRINT_TIME);
}

static void add_amount(struct print_table *table, const struct columns *columns,
	const struct roofline_amount *amount, bool links)
{
	bool counted = amount->bytes > 0 || amount->flops > 0;

	put(table, columns->calls, amount->calls);
	put(table, columns->unknown, amount->unknown_ns);
	if (!counted) {
		put(table, columns->time, amount->unknown_ns > 0 ? amount->unknown_ns : NAN);
		return;
	}
	if (amount->flops > 0 || columns->reader == ROOFLINE_PROGRAM)
		put_amount(table, columns, FLOPS, amount->flops);
	put_amount(table, columns, BYTES, amount->bytes);
	put(table, columns->time, amount->time_ns);
	put_amount(table, columns, BYTES_RATE, roofline_bytes_rate(amount));
	if (amount->flops > 0) {
		put(table, columns->intensity, roofline_intensity(amount));
		put_amount(table, columns, FLOPS_RATE, roofline_flops_rate(amount));
	}
	if (links)
		return;
	put(table, columns->roof, amount->roof_ns);
	put(table, columns->share, roofline_share(amount));
	if (amount->bound != ROOFLINE_UNKNOWN)
		print_word(table, columns->bound, roofline_bound_keys[amount->bound]);
}

/* Programs get the GPU in each row, so that tables of several can be put together; of unlike GPUs a row is of
 * none of them. */
static void add_device_column(struct print_table *table, struct columns *columns)
{
	if (columns->reader == ROOFLINE_PROGRAM)
		columns->device = print_column(table, "device", NULL, PRINT_WORD);
}

static void add_device(
	struct print_table *table, const struct columns *columns, const struct roofline *roofline)
{
	if (columns->reader == ROOFLINE_PROGRAM && roofline->device && !roofline->mixed)
		print_word(table, columns->device, roofline->device);
}

/* Is there more than one type of arithmetic? */
static bool is_mixed(const struct roofline *roofline)
{
	int count = 0;

	for (int type = 0; type < WORK_TYPE_COUNT; type++)
		count += roofline_has_type(roofline, (enum work_type)type);
	return count > 1;
}

double roofline_gain_ns(const struct roofline_item *item)
{
	const struct roofline_amount *amount = &item->amount;
	double roof_ns = isfinite(amount->roof_ns) ? amount->roof_ns : 0;

	return amount->time_ns > roof_ns ? amount->time_ns - roof_ns : 0;
}

void roofline_layer_table(
	const struct roofline *roofline, struct print_table *table, enum roofline_reader reader)
{
	const struct greatest greatest = greatest_of(roofline);
	struct columns columns = {.reader = reader};

	if (reader == ROOFLINE_PLOT)
		columns.letter = print_column(table, "letter", "", PRINT_WORD);
	columns.layer = print_column(table, "layer", "layer", PRINT_WORD);
	columns.direction = print_column(table, "direction", "pass", PRINT_WORD);
	columns.kind = print_column(table, "kind", NULL, PRINT_WORD);
	columns.type = print_column(table, "arithmetic", is_mixed(roofline) ? "type" : NULL, PRINT_WORD);
	add_amount_columns(table, &columns, &greatest);
	add_device_column(table, &columns);
	if (reader == ROOFLINE_PAGE)
		columns.gain = print_column(table, "gain", "possible gain", PRINT_TIME);
	for (size_t i = 0; i < roofline->item_count; i++) {
		const struct roofline_item *item = &roofline->items[i];
		char letter[2] = {roofline_letter(i), 0};

		print_row(table);
		if (reader == ROOFLINE_PLOT)
			print_word(table, columns.letter, arena_text(table->arena, letter, 1));
		print_word(table, columns.layer, item->layer);
		if (reader == ROOFLINE_PAGE)
			print_term(table, columns.direction, roofline_direction_keys[item->direction],
				roofline_direction_titles[item->direction]);
		else
			print_word(table, columns.direction, roofline_direction_keys[item->direction]);
		print_word(table, columns.kind, work_kind_keys[item->kind]);
		print_word(table, columns.type, item->amount.flops > 0 ? work_type_names[item->type] : "");
		add_amount(table, &columns, &item->amount, false);
		add_device(table, &columns, roofline);
		if (reader == ROOFLINE_PAGE && isfinite(item->amount.roof_ns))
			print_number(table, columns.gain, roofline_gain_ns(item));
	}
}

void roofline_kind_table(
	const struct roofline *roofline, struct print_table *table, enum roofline_reader reader)
{
	const struct greatest greatest = greatest_of(roofline);
	struct columns columns = {.reader = reader};

	columns.kind = print_column(table, "kind", "kind", PRINT_WORD);
	add_amount_columns(table, &columns, &greatest);
	add_device_column(table, &columns);
	for (int kind = 0; kind < WORK_KIND_COUNT; kind++) {
		if (!(roofline->kinds[kind].calls > 0))
			continue;
		print_row(table);
		print_term(table, columns.kind, work_kind_keys[kind], work_kind_titles[kind]);
		add_amount(table, &columns, &roofline->kinds[kind], roofline->kind_links[kind]);
		add_device(table, &columns, roofline);
	}
}

void operator_rates_table(const struct operator_rates *rates, struct print_table *table,
	enum roofline_reader reader, size_t most)
{
	struct columns columns = {.reader = reader, .counted = true};
	struct greatest greatest = {0};
	size_t shape, phase, kernels;

	for (size_t i = 0; i < rates->count && i < most; i++)
		see_amount(&greatest, &rates->items[i].amount);
	columns.layer = print_column(table, "operator", "operator", PRINT_WORD);
	shape = print_column(table, "inputs", "inputs", PRINT_WORD);
	phase = print_column(table, "phase", NULL, PRINT_WORD);
	columns.kind = print_column(table, "kind", NULL, PRINT_WORD);
	columns.type = print_column(table, "arithmetic", NULL, PRINT_WORD);
	kernels = print_column(table, "kernels", NULL, PRINT_REAL);
	add_amount_columns(table, &columns, &greatest);
	for (size_t i = 0; i < rates->count && i < most; i++) {
		const struct operator_rate *rate = &rates->items[i];

		print_row(table);
		print_word(table, columns.layer, rate->name);
		print_word(table, shape, rate->shape);
		print_word(table, phase, phase_keys[rate->phase]);
		print_word(table, columns.kind, work_kind_keys[rate->kind]);
		print_word(table, columns.type, rate->amount.flops > 0 ? work_type_names[rate->type] : "");
		print_number(table, kernels, rate->kernels);
		add_amount(table, &columns, &rate->amount, rate->link);
	}
}
