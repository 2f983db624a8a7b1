/* The guide as text: see guide_print.h. */
#include "guide_print.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* " [-0.95, -0.87]", or nothing without resamples. */
static const char *between(char *text, size_t size, const struct guide_number *number, double factor)
{
	*text = 0;
	if (isfinite(number->low) && isfinite(number->high))
		snprintf(text, size, " [%.3g, %.3g]", factor * number->low, factor * number->high);
	return text;
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

static int print_scaling(const struct guide *guide, size_t column, FILE *out)
{
	const char *name = guide->model->columns[column].name;
	struct guide_number local, power = guide_power(guide, column);
	char interval[64];

	if (guide_elasticity(guide, column, &local) < 0)
		return -ENOMEM;
	fprintf(out, "  %s: the time scales as %s^%.3f here%s", name, name, local.value,
		between(interval, sizeof(interval), &local, 1));
	if (isfinite(power.value))
		fprintf(out, "; fitted power %.3f%s, C flattens it", power.value,
			between(interval, sizeof(interval), &power, 1));
	fprintf(out, "\n      %s\n", guide_meaning(guide, column));
	if (column == guide->batch && !guide->is_epoch && local.value < 0)
		fprintf(out, "      larger batches take less time: is the time that of an epoch "
			     "(--time-of epoch)?\n");
	if (column == guide->gpus && isfinite(local.value))
		fprintf(out, "      doubling them multiplies the throughput by %.2f (ideal: 2)\n",
			2 * pow(2, ideal_of(guide, column) - local.value));
	return 0;
}

static void print_point(const struct guide *guide, FILE *out)
{
	const char *gap = "At ";

	for (size_t i = 0; i < guide->model->column_count; i++) {
		const struct pm_fit_model_column *column = &guide->model->columns[i];

		if (column->role == PM_FIT_IGNORED)
			continue;
		if (column->levels && column->level_count)
			fprintf(out, "%s%s=%s", gap, column->name, column->levels[(size_t)guide->point[i]]);
		else
			fprintf(out, "%s%s=%.4g", gap, column->name, guide->point[i]);
		gap = ", ";
	}
	fputs(" (others: --at NAME=VALUE)\n", out);
}

struct cost {
	size_t column;
	struct guide_number number;
	double weight;
};

static int by_weight(const void *a, const void *b)
{
	double x = ((const struct cost *)a)->weight, y = ((const struct cost *)b)->weight;

	return (x < y) - (x > y);
}

/* Numbers by the time that doubling them costs, levels by their spread: both are factors on the time. */
static int print_costs(const struct guide *guide, FILE *out)
{
	size_t count = 0, n = guide->model->column_count;
	struct cost *costs = calloc(n + 1, sizeof(*costs));
	int status = costs ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && status == 0; i++) {
		const struct pm_fit_model_column *column = &guide->model->columns[i];

		if (column->role == PM_FIT_IGNORED || column->role == PM_FIT_OFFSET)
			continue;
		costs[count].column = i;
		status = guide_elasticity(guide, i, &costs[count].number);
		costs[count].weight = column->level_count ? log1p(costs[count].number.value)
							  : fabs(costs[count].number.value) * log(2);
		count++;
	}
	if (status == 0) {
		qsort(costs, count, sizeof(*costs), by_weight);
		fputs("\nCostliest settings here (by effect on the time when doubled or changed):\n", out);
	}
	for (size_t i = 0; i < count && status == 0; i++) {
		const struct pm_fit_model_column *column = &guide->model->columns[costs[i].column];
		char interval[64];

		if (column->level_count)
			fprintf(out, "  %-14s slowest level takes %.1f%%%s more time than the fastest\n",
				column->name, 100 * costs[i].number.value,
				between(interval, sizeof(interval), &costs[i].number, 100));
		else
			fprintf(out, "  %-14s %+.3f%%%s of time per %% more\n", column->name,
				costs[i].number.value,
				between(interval, sizeof(interval), &costs[i].number, 1));
	}
	free(costs);
	return status;
}

static void print_ends(const struct guide *guide, const struct guide_table *table, FILE *out)
{
	fputc('\n', out);
	for (size_t b = 0; b < table->batch_count; b++) {
		const struct guide_cell *row = table->cells + b * table->gpu_count;
		size_t last = table->last[b];

		if (!isnan(row[0].batch))
			fprintf(out, "Batch %g: ", row[0].batch);
		if (last + 1 < table->gpu_count)
			fprintf(out,
				"adding GPUs pays up to %g; the next %g give %.0f%% of their number "
				"(threshold %.0f%%)\n",
				row[last].gpus, row[last + 1].gpus - row[last].gpus,
				100 * row[last + 1].marginal, 100 * guide->worth);
		else
			fprintf(out, "adding GPUs pays up to the largest number evaluated, %g\n",
				row[last].gpus);
	}
}

char *guide_recommend(const struct guide *guide, const struct guide_table *table)
{
	const struct guide_cell *fast, *cheap;
	char *text = NULL, batch[2][40] = {"", ""};
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (table->fastest == GUIDE_NONE) {
		fputs("No configuration of the table is within the limits.", out);
		fclose(out);
		return text;
	}
	fast = &table->cells[table->fastest];
	cheap = &table->cells[table->cheapest];
	if (!isnan(fast->batch)) {
		snprintf(batch[0], sizeof(batch[0]), " at batch %g", fast->batch);
		snprintf(batch[1], sizeof(batch[1]), " at batch %g", cheap->batch);
	}
	fprintf(out, "Fastest is %g GPU%s%s (efficiency %.0f%%%s), cheapest %g GPU%s%s", fast->gpus,
		fast->gpus > 1 ? "s" : "", batch[0], 100 * fast->efficiency,
		fast->extrapolated ? ", extrapolated" : "", cheap->gpus, cheap->gpus > 1 ? "s" : "",
		batch[1]);
	if (cheap->extrapolated)
		fputs(" (extrapolated)", out);
	if (isfinite(fast->cost))
		fprintf(out, "; a million samples cost %.4g and %.4g", fast->cost, cheap->cost);
	if (fast->extrapolated && table->fastest_inside != GUIDE_NONE) {
		const struct guide_cell *sure = &table->cells[table->fastest_inside];

		fprintf(out, "; within the measured range the fastest is %g GPU%s", sure->gpus,
			sure->gpus > 1 ? "s" : "");
		if (!isnan(sure->batch))
			fprintf(out, " at batch %g", sure->batch);
	}
	if (cheap->gpus < fast->gpus) {
		size_t place = table->last[table->fastest / table->gpu_count];
		const struct guide_cell *row =
			table->cells + table->fastest / table->gpu_count * table->gpu_count;

		while (place > 0 && !row[place].allowed)
			place--;
		if (row[place].gpus > cheap->gpus && row[place].gpus < fast->gpus)
			fprintf(out,
				"; a reasonable compromise%s is %g GPUs, beyond which each added GPU "
				"gives less than %.0f%%",
				batch[0], row[place].gpus, 100 * guide->worth);
	}
	fputc('.', out);
	fclose(out);
	return text;
}

static int print_meaning(const struct guide *guide, FILE *out)
{
	struct guide_number share;
	char interval[64];

	fprintf(out, "\nThe time is that of an %s", guide->is_epoch ? "epoch" : "iteration");
	fprintf(out, ", the batch that of %s (--time-of, --batch-is).\n",
		guide->is_local ? "each GPU" : "all GPUs together");
	if (guide->gpus != GUIDE_NONE && print_scaling(guide, guide->gpus, out) < 0)
		return -ENOMEM;
	if (guide->batch != GUIDE_NONE && print_scaling(guide, guide->batch, out) < 0)
		return -ENOMEM;
	if (guide_constant_share(guide, &share) < 0)
		return -ENOMEM;
	if (!guide->model->expression)
		fprintf(out, "  constant C, independent of all settings: %.1f%%%s of the time here\n",
			100 * share.value, between(interval, sizeof(interval), &share, 100));
	return print_costs(guide, out);
}

int guide_print_text(
	const struct guide *guide, const struct guide_table *table, const struct print_table *rows, FILE *out)
{
	char *sentence;

	print_point(guide, out);
	if (print_meaning(guide, out) < 0)
		return -ENOMEM;
	/* a curve over GPUs for each batch would go here, above the table */
	if (table->cells && guide->gpus != GUIDE_NONE) {
		if (guide->model->time_unit)
			fprintf(out, "\nTimes in %s.", guide->model->time_unit);
		fputc('\n', out);
		print_text(rows, NULL, out);
		fputs("effic.: speedup per GPU, 100% for the first number; added: per GPU added to the row above\n",
			out);
		print_ends(guide, table, out);
		sentence = guide_recommend(guide, table);
		if (!sentence)
			return -ENOMEM;
		fprintf(out, "\n%s\n", sentence);
		free(sentence);
	}
	if (guide->model->expression)
		fputs("Intervals unavailable: a formula of 'pmfit search' has no bootstrap values.\n", out);
	else if (!guide->model->resample_count)
		fputs("Intervals unavailable: the model has no bootstrap values (pmfit fit --bootstrap "
		      "200).\n",
			out);
	else
		fprintf(out,
			"Intervals: %g%%, from %zu bootstrap values; of the fitted curve, not of single "
			"runs.\n",
			100 * guide->model->parameter.confidence, guide->model->resample_count);
	return 0;
}
