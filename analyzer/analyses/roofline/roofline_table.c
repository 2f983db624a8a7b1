/* The roofline's tables: see roofline.h. */
#include "base/table.h"
#include "roofline.h"

#include <math.h>

/* Of numbers with a prefix, which are words to the table. */
#define WIDE 6

/* Programs get plain operations and bytes; people get them with a prefix, and do without some columns. */
struct columns {
	bool text;
	size_t letter, layer, direction, kind, type, calls, flops, bytes, intensity, time, flops_rate,
		bytes_rate, share, roof, bound, unknown;
};

const char *roofline_rate_text(struct arena *arena, double rate)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
	size_t prefix = 0;

	if (!isfinite(rate))
		return "-";
	while (fabs(rate) >= 999.5 && prefix + 1 < sizeof(prefixes) / sizeof(*prefixes)) {
		rate /= 1000;
		prefix++;
	}
	return arena_format(arena,
		rate < 9.995   ? "%.2f %s"
		: rate < 99.95 ? "%.1f %s"
			       : "%.0f %s",
		rate, prefixes[prefix]);
}

static void put(struct print_table *table, size_t column, double number)
{
	if (isfinite(number))
		print_number(table, column, number);
}

/* A number with a prefix in text: to the right, as numbers stand. */
static void put_amount(
	struct print_table *table, const struct columns *columns, size_t column, double number, int width)
{
	if (!columns->text)
		put(table, column, number);
	else
		print_word(table, column,
			arena_format(table->arena, "%*s", width, roofline_rate_text(table->arena, number)));
}

/* What tables of layers and of kinds have in common. */
static void add_amount_columns(struct print_table *table, struct columns *columns)
{
	enum print_type type = columns->text ? PRINT_WORD : PRINT_COUNT;

	columns->calls = print_column(table, "calls", NULL, PRINT_REAL);
	columns->flops = print_column(table, "flops", "  FLOP", type);
	columns->bytes = print_column(table, "bytes", " bytes", type);
	columns->intensity = print_column(table, "flops_per_byte", "FLOP/B", PRINT_REAL);
	columns->time = print_column(table, "time", "time", PRINT_TIME);
	columns->flops_rate = print_column(table, "flops_per_second", "FLOP/s", type);
	columns->bytes_rate = print_column(table, "bytes_per_second", "   B/s", type);
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
	if (amount->flops > 0 || !columns->text)
		put_amount(table, columns, columns->flops, amount->flops, WIDE);
	put_amount(table, columns, columns->bytes, amount->bytes, WIDE);
	put(table, columns->time, amount->time_ns);
	put_amount(table, columns, columns->bytes_rate, roofline_bytes_rate(amount), WIDE);
	if (amount->flops > 0) {
		put(table, columns->intensity, roofline_intensity(amount));
		put_amount(table, columns, columns->flops_rate, roofline_flops_rate(amount), WIDE);
	}
	if (links)
		return;
	put(table, columns->roof, amount->roof_ns);
	put(table, columns->share, roofline_share(amount));
	if (amount->bound != ROOFLINE_UNKNOWN)
		print_word(table, columns->bound, roofline_bound_keys[amount->bound]);
}

/* Is there more than one type of arithmetic? */
static bool is_mixed(const struct roofline *roofline)
{
	int count = 0;

	for (int type = 0; type < WORK_TYPE_COUNT; type++)
		count += roofline_has_type(roofline, (enum work_type)type);
	return count > 1;
}

void roofline_layer_table(const struct roofline *roofline, struct print_table *table, bool text, bool letters)
{
	struct columns columns = {.text = text};

	if (letters)
		columns.letter = print_column(table, "letter", "", PRINT_WORD);
	columns.layer = print_column(table, "layer", "layer", PRINT_WORD);
	columns.direction = print_column(table, "direction", "pass", PRINT_WORD);
	columns.kind = print_column(table, "kind", NULL, PRINT_WORD);
	columns.type = print_column(table, "arithmetic", is_mixed(roofline) ? "type" : NULL, PRINT_WORD);
	add_amount_columns(table, &columns);
	for (size_t i = 0; i < roofline->item_count; i++) {
		const struct roofline_item *item = &roofline->items[i];
		char letter[2] = {roofline_letter(i), 0};

		print_row(table);
		if (letters)
			print_word(table, columns.letter, arena_text(table->arena, letter, 1));
		print_word(table, columns.layer, item->layer);
		print_word(table, columns.direction, roofline_direction_keys[item->direction]);
		print_word(table, columns.kind, work_kind_keys[item->kind]);
		print_word(table, columns.type, item->amount.flops > 0 ? work_type_names[item->type] : "");
		add_amount(table, &columns, &item->amount, false);
	}
}

void roofline_kind_table(const struct roofline *roofline, struct print_table *table, bool text)
{
	struct columns columns = {.text = text};

	columns.kind = print_column(table, "kind", "kind", PRINT_WORD);
	add_amount_columns(table, &columns);
	for (int kind = 0; kind < WORK_KIND_COUNT; kind++) {
		if (!(roofline->kinds[kind].calls > 0))
			continue;
		print_row(table);
		print_word(table, columns.kind, text ? work_kind_titles[kind] : work_kind_keys[kind]);
		add_amount(table, &columns, &roofline->kinds[kind], roofline->kind_links[kind]);
	}
}
