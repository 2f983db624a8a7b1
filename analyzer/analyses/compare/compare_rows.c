/*
 * The rows of a comparison as tables for people: figures of two sides next to each other, with the interval
 * of their difference, effect and p; on a page with pictures in place of the last two.
 */
#include "compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_TITLE = 16 };

enum { NAME, PART, SIZES, BASE, OTHER, DIFFERENCE, CHANGE, LOW, HIGH, CLIFF, P, VERDICT, COLUMNS };

/* Where the sides' names begin to differ: after a character that parts them. */
static size_t difference(const struct compare *compare)
{
	const char *name = compare->sides[0].name;
	size_t start = 0;

	for (size_t i = 0; name[i]; i++) {
		for (size_t s = 1; s < compare->side_count; s++)
			if (compare->sides[s].name[i] != name[i])
				return start;
		if (strchr("/-_. ", name[i]))
			start = i + 1;
	}
	return start;
}

const char *compare_side_title(struct compare *compare, size_t side)
{
	const char *name = compare->sides[side].name;

	name = print_clean(&compare->arena, strlen(name) > LONGEST_TITLE ? name + difference(compare) : name);
	return strlen(name) <= LONGEST_TITLE
		       ? name
		       : arena_format(&compare->arena, "%.*s..", LONGEST_TITLE - 2, name);
}

bool compare_row_in(const struct compare_row *row, enum compare_rows which)
{
	static const enum compare_kind kinds[] = {
		[COMPARE_ROWS_ITERATION] = COMPARE_WHOLE,
		[COMPARE_ROWS_RATIOS] = COMPARE_WHOLE,
		[COMPARE_ROWS_EXCLUSIVE] = COMPARE_EXCLUSIVE,
		[COMPARE_ROWS_BUSY] = COMPARE_BUSY,
		[COMPARE_ROWS_LAYERS] = COMPARE_LAYER,
		[COMPARE_ROWS_PARTS] = COMPARE_LAYER_PART,
	};

	if (row->kind != kinds[which])
		return false;
	if (row->kind == COMPARE_WHOLE)
		return (row->type == PRINT_TIME) == (which == COMPARE_ROWS_ITERATION);
	return which != COMPARE_ROWS_PARTS || row->word == COMPARE_FASTER || row->word == COMPARE_SLOWER;
}

static void add_columns(struct print_table *table, struct compare *compare, const struct compare_pair *pair,
	enum compare_rows which, bool page)
{
	static const char *const names[] = {
		[COMPARE_ROWS_ITERATION] = "",
		[COMPARE_ROWS_RATIOS] = "",
		[COMPARE_ROWS_EXCLUSIVE] = "phase",
		[COMPARE_ROWS_BUSY] = "phase",
		[COMPARE_ROWS_LAYERS] = "layer",
		[COMPARE_ROWS_PARTS] = "layer",
	};
	const bool layers = which == COMPARE_ROWS_LAYERS;
	const enum print_type type = which == COMPARE_ROWS_RATIOS ? PRINT_REAL : PRINT_TIME;
	const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("", names[which], PRINT_WORD),
		PRINT_COLUMN("", which == COMPARE_ROWS_PARTS ? "part" : NULL, PRINT_WORD),
		PRINT_COLUMN("", page && layers ? "sizes" : NULL, PRINT_WORD),
		PRINT_COLUMN("", compare_side_title(compare, pair->base), type,
			.bar = page && !layers ? "" : NULL),
		PRINT_COLUMN("", compare_side_title(compare, pair->other), type),
		PRINT_COLUMN("", "differs", type, .bar = page ? "" : NULL, .sign = page),
		PRINT_COLUMN("", "by", PRINT_SHARE, .sign = page),
		PRINT_COLUMN("", "95% from", type, .sign = page),
		PRINT_COLUMN("", "to", type, .sign = page),
		PRINT_COLUMN("", page ? NULL : "delta", PRINT_REAL),
		PRINT_COLUMN("", page ? NULL : "p", PRINT_WORD),
		PRINT_COLUMN("", "", PRINT_WORD),
	};

	print_columns(table, columns, COLUMNS);
}

static const char *p_text(struct compare *compare, double p)
{
	return isnan(p) ? "-" : p < 0.001 ? "<0.001" : arena_format(&compare->arena, "%.3f", p);
}

/* A layer with its name on the other side, where that is another, and, on a page, with its sizes. */
static void add_layer(struct print_table *table, const struct compare_row *row,
	const struct compare_match *match, bool page)
{
	const char *title = row->title, *sizes = (match->base ? match->base : match->other)->text;

	if (match->base && match->other && strcmp(layer_title(match->base), layer_title(match->other)) != 0)
		title = arena_format(table->arena, "%s = %s", title, layer_title(match->other));
	if (match->base && match->other && match->sizes_differ) {
		title = page ? title : arena_format(table->arena, "%s *", title);
		sizes = arena_format(table->arena, "%s, not %s", match->other->text, sizes);
	}
	print_word(table, NAME, title);
	print_word(table, SIZES, sizes);
}

static void add_row(struct print_table *table, struct compare *compare, const struct compare_pair *pair,
	const struct compare_row *row, bool page)
{
	print_row(table);
	if (row->kind >= COMPARE_LAYER)
		add_layer(table, row, &pair->matches[row->match], page);
	else
		print_word(table, NAME, row->title);
	print_word(table, PART, row->key);
	print_number(table, BASE, row->base);
	print_number(table, OTHER, row->other);
	print_number(table, DIFFERENCE, row->effect.difference);
	print_number(table, CHANGE, compare_change(row));
	print_number(table, LOW, row->effect.low);
	print_number(table, HIGH, row->effect.high);
	print_number(table, CLIFF, row->effect.cliff);
	print_word(table, P, p_text(compare, row->p));
	print_word(table, VERDICT, compare_word_text(row));
}

static const char *signed_time(struct arena *arena, double ns)
{
	return isnan(ns) ? "-" : arena_format(arena, "%s%s", ns > 0 ? "+" : "", print_time(arena, ns));
}

/* From `start` on: red where time is lost, blue where it is saved; with its interval about the end. */
static void draw_change(struct print_table *table, const struct compare_row *row, double start)
{
	const struct effect *effect = &row->effect;
	const bool sure = row->word == COMPARE_FASTER || row->word == COMPARE_SLOWER;
	struct arena *arena = table->arena;

	if (!isfinite(effect->difference))
		return;
	print_piece(table, DIFFERENCE,
		(struct print_piece){
			.start = start,
			.end = start + effect->difference,
			.kind = !sure                    ? "h3"
				: effect->difference > 0 ? "h5"
							 : "h1",
			.tip = arena_format(arena, "%s vs %s: %s, 95%% CI %s to %s, %s",
				print_time(arena, row->other), print_time(arena, row->base),
				signed_time(arena, effect->difference), signed_time(arena, effect->low),
				signed_time(arena, effect->high), compare_word_text(row)),
		});
	print_piece(table, DIFFERENCE,
		(struct print_piece){
			PRINT_INTERVAL, .start = start + effect->low, .end = start + effect->high});
}

/* The base's bar, faded, above the other's. */
static void draw_sides(struct print_table *table, const struct compare_row *row)
{
	const char *kind = phase_keys[row->phase];
	struct arena *arena = table->arena;

	print_colour(table, NAME, kind);
	print_piece(table, BASE,
		(struct print_piece){
			.end = row->base,
			.kind = arena_format(arena, "%s faded", kind),
			.tip = print_time(arena, row->base),
		});
	print_piece(table, BASE,
		(struct print_piece){
			.end = row->other, .kind = kind, .tip = print_time(arena, row->other), .lane = 1});
}

/* What only one side has comes last, the rest by size of the difference. */
static int by_difference(const void *left, const void *right)
{
	const struct compare_row *const *a = left, *const *b = right;
	double x = isfinite((*a)->effect.difference) ? fabs((*a)->effect.difference) : -1;
	double y = isfinite((*b)->effect.difference) ? fabs((*b)->effect.difference) : -1;

	if (x != y)
		return x > y ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

/* Phases one after the other, from one iteration to the other, and both below them. */
static void add_phases(struct print_table *table, struct compare *compare, const struct compare_pair *pair,
	const struct compare_row *const *rows, size_t count)
{
	const struct compare_row *iteration = compare_find(pair, COMPARE_WHOLE, "t_iter");
	double at = 0;

	for (size_t i = 0; i < count; i++) {
		add_row(table, compare, pair, rows[i], true);
		draw_sides(table, rows[i]);
		draw_change(table, rows[i], at);
		if (isfinite(rows[i]->effect.difference))
			at += rows[i]->effect.difference;
	}
	table->rule = true;
	add_row(table, compare, pair, iteration, true);
	draw_change(table, iteration, 0);
}

void compare_row_table(struct compare *compare, const struct compare_pair *pair, enum compare_rows which,
	enum print_form form, struct print_table *table)
{
	const struct compare_row **rows = mem_alloc(pair->row_count, sizeof(*rows));
	const bool page = form == PRINT_HTML;
	size_t count = 0;

	for (size_t i = 0; i < pair->row_count; i++)
		if (compare_row_in(&pair->rows[i], which))
			rows[count++] = &pair->rows[i];
	add_columns(table, compare, pair, which, page);
	if (page && which == COMPARE_ROWS_EXCLUSIVE) {
		add_phases(table, compare, pair, rows, count);
		count = 0;
	} else if (page) {
		qsort(rows, count, sizeof(*rows), by_difference);
	}
	for (size_t i = 0; i < count; i++) {
		add_row(table, compare, pair, rows[i], page);
		if (page)
			draw_change(table, rows[i], 0);
	}
	free(rows);
}
