/* The tables of a slowdown analysis: see slowdown_table.h. */
#include "slowdown_table.h"

#include <math.h>

static void number_if(struct print_table *table, size_t column, double number)
{
	if (isfinite(number))
		print_number(table, column, number);
}

static void part_table(struct print_table *table, const char *key, const char *title,
	const struct slowdown_part *parts, size_t count, size_t steps, bool compute)
{
	size_t name = print_column(table, key, title, PRINT_WORD);
	size_t slowdown = print_column(table, "slowdown", "S", PRINT_REAL);
	size_t explained = print_column(table, "explained", "explains", PRINT_SHARE);
	size_t without = print_column(table, "without", "T without", PRINT_TIME);
	size_t computing = compute ? print_column(table, "computing", "computing", PRINT_TIME) : 0;
	size_t ratio = compute ? print_column(table, "ratio", "to mean", PRINT_REAL) : 0;
	size_t slowest = compute ? print_column(table, "slowest_share", "slowest", PRINT_SHARE) : 0;

	table->columns[computing].bar = compute ? "forward" : NULL;
	for (size_t i = 0; i < count; i++) {
		print_row(table);
		print_word(table, name, parts[i].name);
		number_if(table, slowdown, parts[i].slowdown);
		number_if(table, explained, parts[i].explained);
		number_if(table, without, parts[i].without_ns);
		if (!compute)
			continue;
		number_if(table, computing, parts[i].compute_ns);
		number_if(table, ratio, parts[i].ratio);
		print_number(table, slowest, (double)parts[i].slowest / (double)steps);
	}
}

static void effect_table(struct print_table *table, const struct slowdown *slowdown, enum print_form form)
{
	size_t name = print_column(table, "effect", "without", PRINT_WORD);
	size_t explained = print_column(table, "explained", "explains", PRINT_SHARE);
	size_t time = print_column(table, "without", "T", PRINT_TIME);
	size_t gain = print_column(table, "speedup", "speed-up", PRINT_REAL);

	for (int i = 0; i < SLOWDOWN_EFFECTS; i++) {
		print_row(table);
		print_word(
			table, name, form == PRINT_TEXT ? slowdown_effect_name(i) : slowdown_effect_key(i));
		number_if(table, explained, slowdown->effect[i]);
		print_number(table, time, slowdown->effect_ns[i]);
		number_if(table, gain, slowdown->replayed_ns / slowdown->effect_ns[i]);
	}
}

static void step_table(struct print_table *table, const struct slowdown *slowdown)
{
	size_t number = print_column(table, "step", "step", PRINT_COUNT);
	size_t measured = print_column(table, "measured", "measured", PRINT_TIME);
	size_t replayed = print_column(table, "replayed", "T", PRINT_TIME);
	size_t ideal = print_column(table, "ideal", "T ideal", PRINT_TIME);
	size_t ratio = print_column(table, "slowdown", "S", PRINT_REAL);

	for (size_t i = 0; i < slowdown->step_count; i++) {
		const struct slowdown_step *step = &slowdown->steps[i];

		print_row(table);
		print_number(table, number, step->number);
		print_number(table, measured, step->measured_ns);
		print_number(table, replayed, step->replayed_ns);
		print_number(table, ideal, step->ideal_ns);
		number_if(table, ratio, step->replayed_ns / step->ideal_ns);
	}
}

void slowdown_table(
	struct print_table *table, const struct slowdown *slowdown, unsigned which, enum print_form form)
{
	size_t steps = slowdown->step_count;

	if (which == SLOWDOWN_TABLE_CAUSES)
		effect_table(table, slowdown, form);
	else if (which == SLOWDOWN_TABLE_OPERATIONS)
		part_table(
			table, "operation", "operation", slowdown->types, slowdown->type_count, steps, false);
	else if (which == SLOWDOWN_TABLE_STAGES)
		part_table(table, "stage", "stage", slowdown->stages, slowdown->stage_count, steps, true);
	else if (which == SLOWDOWN_TABLE_DATA)
		part_table(
			table, "data_rank", "data rank", slowdown->data, slowdown->data_count, steps, true);
	else if (which == SLOWDOWN_TABLE_WORKERS)
		part_table(table, "worker", "worker", slowdown->workers, slowdown->worker_count, steps, true);
	else
		step_table(table, slowdown);
}

const char *slowdown_table_key(unsigned which)
{
	static const char *const keys[] = {
		"causes", "operations", "stages", "data_ranks", "workers", "steps"};

	return keys[which];
}

const char *slowdown_table_title(unsigned which)
{
	static const char *const titles[] = {"Effect of balancing, mean of a step", "Operations", "Stages",
		"Data ranks", "Workers", "Steps"};

	return titles[which];
}
