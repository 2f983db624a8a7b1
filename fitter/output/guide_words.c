/* A guide in words: see guide_words.h. */
#include "guide_words.h"

#include <math.h>

#define ROUNDING 5e-4 /* an efficiency above 1 by less is shown as 100.0% */

const char *guide_words_interval(struct arena *arena, const struct guide_number *number, double factor)
{
	if (!isfinite(number->low) || !isfinite(number->high))
		return "";
	return arena_format(arena, " [%.3g, %.3g]", factor * number->low, factor * number->high);
}

static void say_point(struct guide_answer *a)
{
	const struct guide *guide = a->guide;
	const char *text = "At";

	for (size_t i = 0; i < a->effect_count; i++) {
		const size_t at = a->effects[i].column;
		const struct pm_fit_model_column *column = &guide->model->columns[at];

		text = arena_format(&a->arena, "%s%s %s=%s", text, i ? "," : "", column->name,
			column->level_count ? column->levels[(size_t)guide->point[at]]
					    : arena_format(&a->arena, "%.4g", guide->point[at]));
	}
	sentences_add(&a->parts[GUIDE_POINT], "%s (others: --at NAME=VALUE)", text);
}

static double ideal_of(const struct guide *guide, size_t column)
{
	/* more work per iteration or not; an epoch is the same work whatever the settings */
	if (guide->is_epoch)
		return -1;
	if (column == guide->batch)
		return 1;
	return guide->is_local ? 0 : -1;
}

/* How far a ratio of two of the model's times may be off: twice its mean relative error. */
static double ratio_error(const struct pm_fit_model *model)
{
	return isfinite(model->train.mape) ? 2 * model->train.mape / 100 : 0;
}

static void say_scaling(struct guide_answer *a, const struct guide_effect *effect, struct sentences *said)
{
	const struct guide *guide = a->guide;
	const char *name = guide->model->columns[effect->column].name, *fitted = "";
	double exponent = effect->change.value;

	if (isfinite(effect->power.value))
		fitted = arena_format(&a->arena, "; fitted power %.3f%s, C flattens it", effect->power.value,
			guide_words_interval(&a->arena, &effect->power, 1));
	sentences_add(said, "%s: the time scales as %s^%.3f here%s%s", name, name, exponent,
		guide_words_interval(&a->arena, &effect->change, 1), fitted);
	sentences_add(said, "%s", guide_meaning(guide, effect->column));
	if (effect->column == guide->batch && !guide->is_epoch && exponent < 0)
		sentences_add(said,
			"larger batches take less time: is the time that of an epoch (--time-of epoch)?");
	if (effect->column == guide->gpus && isfinite(exponent)) {
		const double gain = pow(2, ideal_of(guide, effect->column) - exponent);

		sentences_add(said, "doubling them multiplies the throughput by %.2f (ideal: 2%s)", 2 * gain,
			gain > 1 + ROUNDING + ratio_error(guide->model) ? "; doubtful" : "");
	}
}

static void say_end(struct guide_answer *a, size_t batch)
{
	const struct guide_table *table = a->table;
	const struct guide_cell *row = table->cells + batch * table->gpu_count;
	const size_t last = table->last[batch];
	const char *name = isnan(row[0].batch) ? "" : arena_format(&a->arena, "Batch %g: ", row[0].batch);

	if (last == GUIDE_NONE)
		return;
	if (last + 1 < table->within)
		sentences_add(&a->parts[GUIDE_ENDS],
			"%sadding GPUs pays up to %g; the next %g give %.0f%% of their number (threshold %.0f%%)",
			name, row[last].gpus, row[last + 1].gpus - row[last].gpus,
			100 * row[last + 1].marginal, 100 * a->guide->worth);
	else
		sentences_add(&a->parts[GUIDE_ENDS], "%sadding GPUs pays up to the largest number %s, %g",
			name, table->within < table->gpu_count ? "allowed" : "evaluated", row[last].gpus);
}

/* "4 GPUs at batch 64" */
static const char *place(struct arena *arena, const struct guide_cell *cell)
{
	const char *gpus = arena_format(arena, "%g GPU%s", cell->gpus, cell->gpus > 1 ? "s" : "");

	return isnan(cell->batch) ? gpus : arena_format(arena, "%s at batch %g", gpus, cell->batch);
}

/*
 * The work of the same GPU in less time, because there are others. With the same batch on each GPU that
 * contradicts what time and batch are taken for; else it is at least unusual.
 */
static void say_doubt(struct guide_answer *a)
{
	const struct guide *guide = a->guide;
	const struct guide_table *table = a->table;
	const struct guide_cell *most = table->cells;
	const char *where;

	for (size_t i = 1; i < table->gpu_count * table->batch_count; i++)
		if (isnan(most->efficiency) || table->cells[i].efficiency > most->efficiency)
			most = &table->cells[i];
	if (!(most->efficiency > 1 + ROUNDING))
		return;
	where = arena_format(&a->arena, "Efficiency above 100%% (up to %.1f%%, %s%s)", 100 * most->efficiency,
		place(&a->arena, most), most->extrapolated ? ", extrapolated" : "");
	if (most->efficiency <= 1 + ratio_error(guide->model))
		sentences_add(&a->parts[GUIDE_DOUBT], "%s: within twice the model's error (MAPE %.3g%%).",
			where, guide->model->train.mape);
	else if (guide->is_local && !guide->is_epoch)
		sentences_add(&a->parts[GUIDE_DOUBT],
			"%s: with the same batch on each GPU an iteration would take less time on more GPUs. More likely the "
			"batch is that of all GPUs (--batch-is global), the time that of an epoch (--time-of epoch), or "
			"another setting changed with the GPUs. Efficiencies, rates and the recommendation rest on this "
			"reading.",
			where);
	else
		sentences_add(&a->parts[GUIDE_DOUBT],
			"%s: the time falls faster than the number of GPUs grows, which caches rarely explain. Did another "
			"setting change with the GPUs? Measure %g and %g GPUs with all others equal.",
			where, table->cells[0].gpus, most->gpus);
}

/* Between the cheapest and the fastest: the last number of GPUs that pays at the batch of the fastest; or
 * NULL. */
static const struct guide_cell *compromise(const struct guide_table *table)
{
	const size_t batch = table->fastest / table->gpu_count;
	const struct guide_cell *row = table->cells + batch * table->gpu_count;
	size_t last = table->last[batch];

	while (last > 0 && !row[last].allowed)
		last--;
	return row[last].gpus > table->cells[table->cheapest].gpus &&
			       row[last].gpus < table->cells[table->fastest].gpus
		       ? &row[last]
		       : NULL;
}

static const char *recommendation(
	struct arena *arena, const struct guide *guide, const struct guide_table *table)
{
	const struct guide_cell *fast, *cheap, *between;
	const char *text;

	if (table->fastest == GUIDE_NONE)
		return "No configuration of the table is within the limits.";
	fast = &table->cells[table->fastest];
	cheap = &table->cells[table->cheapest];
	text = arena_format(arena, "Fastest is %s (efficiency %.0f%%%s), cheapest %s%s", place(arena, fast),
		100 * fast->efficiency, fast->extrapolated ? ", extrapolated" : "", place(arena, cheap),
		cheap->extrapolated ? " (extrapolated)" : "");
	if (isfinite(fast->cost))
		text = arena_format(
			arena, "%s; a million samples cost %.4g and %.4g", text, fast->cost, cheap->cost);
	if (fast->extrapolated && table->fastest_inside != GUIDE_NONE)
		text = arena_format(arena, "%s; within the measured range the fastest is %s", text,
			place(arena, &table->cells[table->fastest_inside]));
	between = compromise(table);
	if (between)
		text = arena_format(arena,
			"%s; a reasonable compromise%s is %g GPUs, beyond which each added GPU gives less than "
			"%.0f%%",
			text, isnan(fast->batch) ? "" : arena_format(arena, " at batch %g", fast->batch),
			between->gpus, 100 * guide->worth);
	return arena_format(arena, "%s.", text);
}

static void say_intervals(struct guide_answer *a)
{
	const struct pm_fit_model *model = a->guide->model;
	struct sentences *said = &a->parts[GUIDE_INTERVALS];

	if (model->expression)
		sentences_add(
			said, "Intervals unavailable: a formula of 'pmfit search' has no bootstrap values.");
	else if (!model->resample_count)
		sentences_add(said,
			"Intervals unavailable: the model has no bootstrap values (pmfit fit --bootstrap 200).");
	else
		sentences_add(said,
			"Intervals: %g%%, from %zu bootstrap values; of the fitted curve, not of single runs.",
			100 * model->parameter.confidence, model->resample_count);
}

void guide_words(struct guide_answer *a)
{
	const struct guide *guide = a->guide;

	for (size_t i = 0; i < GUIDE_PARTS; i++)
		a->parts[i] = (struct sentences){.arena = &a->arena};
	say_point(a);
	sentences_add(&a->parts[GUIDE_MEANING],
		"The time is that of an %s, the batch that of %s (--time-of, --batch-is).",
		guide->is_epoch ? "epoch" : "iteration", guide->is_local ? "each GPU" : "all GPUs together");
	for (size_t i = 0; i < a->effect_count; i++)
		if (a->effects[i].column == guide->gpus)
			say_scaling(a, &a->effects[i], &a->parts[GUIDE_SCALING]);
		else if (a->effects[i].column == guide->batch)
			say_scaling(a, &a->effects[i], &a->parts[GUIDE_BATCHES]);
	if (!guide->model->expression)
		sentences_add(&a->parts[GUIDE_CONSTANT],
			"constant C, independent of all settings: %.1f%%%s of the time here",
			100 * a->constant_share.value,
			guide_words_interval(&a->arena, &a->constant_share, 100));
	if (a->table->cells)
		say_doubt(a);
	for (size_t b = 0; a->table->cells && b < a->table->batch_count; b++)
		say_end(a, b);
	if (a->table->cells)
		sentences_add(&a->parts[GUIDE_RECOMMENDED], "%s", recommendation(&a->arena, guide, a->table));
	say_intervals(a);
}
