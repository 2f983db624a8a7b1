/* What two runs do differently, as tables: kinds of operations, then operations by difference in time. */
#include "diff.h"
#include "trace/trace.h"

#include <string.h>

static const char *const whats[] = {[DIFF_SAME] = "same",
	[DIFF_TIME] = "time",
	[DIFF_COUNT] = "count",
	[DIFF_CHANGED] = "changed",
	[DIFF_ONLY_BASE] = "only base",
	[DIFF_ONLY_OTHER] = "only other"};

/* Counts, times and bytes of all operations of a kind in an iteration; kernels are in their calls' times. */
static void fill_kinds(const struct diff *diff, struct print_table *table, const char *const sides[2])
{
	size_t kind = print_column(table, "kind", "kind", PRINT_WORD), columns[2][3];

	for (int s = 0; s < 2; s++) {
		columns[s][0] = print_column(table, s ? "other_count" : "base_count",
			arena_format(table->arena, "%s: calls", sides[s]), PRINT_REAL);
		columns[s][1] = print_column(table, s ? "other_time" : "base_time", "time", PRINT_TIME);
		columns[s][2] = print_column(table, s ? "other_bytes" : "base_bytes", "bytes", PRINT_COUNT);
	}
	for (enum pm_kind k = PM_KIND_NONE; k <= PM_KIND_PROFILE; k++) {
		double sums[2][3] = {{0}};

		for (size_t i = 0; i < diff->count; i++)
			for (int s = 0; s < 2 && diff->items[i].kind == k && !diff->items[i].kernel; s++) {
				sums[s][0] += diff->items[i].count[s];
				sums[s][1] += diff->items[i].time_ns[s];
				sums[s][2] += diff->items[i].count[s] * diff->items[i].bytes[s];
			}
		if (sums[0][0] == 0 && sums[1][0] == 0)
			continue;
		print_row(table);
		print_word(table, kind, trace_kind_name(k));
		for (int s = 0; s < 2; s++)
			for (int c = 0; c < 3; c++)
				print_number(table, columns[s][c], sums[s][c]);
	}
}

/* In text, what is the same is left out, and the values but for those that changed. */
static void fill_items(const struct diff *diff, struct print_table *table, const char *const sides[2],
	bool text, size_t limit)
{
	enum {
		WHAT,
		KERNEL,
		FUNCTION,
		LAYER,
		PHASE,
		BASE_COUNT,
		OTHER_COUNT,
		BASE_TIME,
		OTHER_TIME,
		DIFFERENCE,
		DETAIL,
		BASE_VALUES,
		OTHER_VALUES
	};

	print_column(table, "what", "what", PRINT_WORD);
	print_column(table, "is_kernel", NULL, PRINT_COUNT);
	print_column(table, "function", "operation", PRINT_WORD);
	print_column(table, "layer", "layer", PRINT_WORD);
	print_column(table, "phase", "phase", PRINT_WORD);
	print_column(table, "base_count", arena_format(table->arena, "%s: n", sides[0]), PRINT_REAL);
	print_column(table, "other_count", arena_format(table->arena, "%s: n", sides[1]), PRINT_REAL);
	print_column(table, "base_time", "time", PRINT_TIME);
	print_column(table, "other_time", "time", PRINT_TIME);
	print_column(table, "difference", "differs", PRINT_TIME);
	print_column(table, "changes", "changes", PRINT_WORD);
	print_column(table, "base_values", NULL, PRINT_WORD);
	print_column(table, "other_values", NULL, PRINT_WORD);
	for (size_t i = 0; i < diff->count; i++) {
		const struct diff_item *item = &diff->items[i];

		if (text && item->what == DIFF_SAME)
			continue;
		if (limit && table->row_count == limit)
			break;
		print_row(table);
		print_word(table, WHAT, whats[item->what]);
		print_number(table, KERNEL, item->kernel);
		print_word(table, FUNCTION,
			text && strlen(item->function) > 48
				? arena_format(table->arena, "%.46s..", item->function)
				: item->function);
		print_word(table, LAYER, item->layer);
		print_word(table, PHASE, item->phase);
		print_number(table, BASE_COUNT, item->count[0]);
		print_number(table, OTHER_COUNT, item->count[1]);
		print_number(table, BASE_TIME, item->time_ns[0]);
		print_number(table, OTHER_TIME, item->time_ns[1]);
		print_number(table, DIFFERENCE, item->time_ns[1] - item->time_ns[0]);
		if (*item->detail)
			print_word(table, DETAIL, item->detail);
		if (item->values[0])
			print_word(table, BASE_VALUES, item->values[0]);
		if (item->values[1])
			print_word(table, OTHER_VALUES, item->values[1]);
	}
}

void diff_print(struct diff *diff, const struct compare *compare, const struct compare_pair *pair,
	enum print_form form, cJSON *object, size_t limit, FILE *out)
{
	const char *sides[2] = {print_clean(&diff->arena, compare->sides[pair->base].name),
		print_clean(&diff->arena, compare->sides[pair->other].name)};
	struct print_table kinds, items;

	print_init(&kinds, &diff->arena);
	print_init(&items, &diff->arena);
	fill_items(diff, &items, sides, form == PRINT_TEXT, form == PRINT_TEXT ? limit : 0);
	if (form != PRINT_CSV) {
		fill_kinds(diff, &kinds, sides);
		print_part(&kinds, form, object, "diff_kinds", "Kinds of operations, per iteration and rank",
			true, out);
	}
	if (form != PRINT_TEXT || items.row_count > 0)
		print_part(&items, form, object, "diff",
			"Changes, per iteration and rank, by difference in time", form == PRINT_TEXT, out);
	if (form == PRINT_TEXT) {
		size_t different = diff->count - diff->same;

		fprintf(out, "\n  %zu of %zu operations and kernels are the same", diff->same, diff->count);
		if (items.row_count < different)
			fprintf(out, "; %zu more that differ are not shown (--limit 0)",
				different - items.row_count);
		fputs(".\n", out);
	}
	print_free(&kinds);
	print_free(&items);
}
