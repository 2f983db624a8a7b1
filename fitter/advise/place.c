/* Where to run: see place.h. */
#include "place.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ROUNDING 5e-4   /* an efficiency above 1 by less is shown as 100.0% */
#define LEAST_GAIN 0.01 /* for which GPUs are spread over more nodes */

static double rate_of(const struct place_question *q, const struct form_point *point, double time)
{
	return point->batch * point->gpus / (time * (isfinite(q->unit_s) ? q->unit_s : 1));
}

static void ask(const struct place_question *q, struct place_cell *cell)
{
	struct committee_answer *answer = &cell->answer;

	committee_predict(&q->level->committee, &cell->point, q->confidence, answer);
	cell->rate = rate_of(q, &cell->point, answer->time);
	cell->rate_low = rate_of(q, &cell->point, answer->high);
	cell->rate_high = rate_of(q, &cell->point, answer->low);
	cell->efficiency = cell->marginal = NAN;
	cell->cost = q->price > 0 && isfinite(q->unit_s)
			     ? q->price * cell->point.gpus / 3600 / cell->rate * 1e6
			     : NAN;
	cell->is_allowed = isfinite(answer->time) &&
			   (q->most_gpus <= 0 || cell->point.gpus <= q->most_gpus) &&
			   (q->most_gpu_batch <= 0 || cell->point.batch <= q->most_gpu_batch);
}

/* The dense placement, and the spread one where it is another. */
static void add_cells(const struct place_question *q, struct place_table *table, double batch, double gpus)
{
	double dense = ceil(gpus / q->gpus_per_node);
	double spread = q->most_nodes > 0 ? fmin(gpus, q->most_nodes) : gpus;
	struct form_point point = {q->is_global ? batch / gpus : batch, gpus, dense};

	if (q->is_global && fmod(batch, gpus) != 0)
		return;
	if (q->most_nodes > 0 && dense > q->most_nodes)
		return;
	table->cells[table->count++] = (struct place_cell){.point = point, .is_dense = true};
	point.nodes = spread;
	if (spread > dense)
		table->cells[table->count++] = (struct place_cell){.point = point};
}

/* Efficiencies of a batch's cells, the first of which is the base. */
static void compare_row(struct place_cell *row, size_t count)
{
	const struct place_cell *before = NULL;

	for (size_t i = 0; i < count; i++) {
		double base = row[0].rate / row[0].point.gpus;

		row[i].efficiency = row[i].rate / row[i].point.gpus / base;
		if (!row[i].is_dense)
			continue;
		if (before)
			row[i].marginal = (row[i].rate - before->rate) /
					  (row[i].point.gpus - before->point.gpus) / base;
		before = &row[i];
	}
}

/* Better by more than rounding; more nodes for the same GPUs by more than may be believed. */
static bool is_better(const struct place_cell *cell, double value, double best)
{
	return value > best * (cell->is_dense ? 1 + 1e-9 : 1 + LEAST_GAIN);
}

static void choose(const struct place_table *table, bool inside, size_t *fastest, size_t *cheapest)
{
	const struct place_cell *cells = table->cells;

	*fastest = *cheapest = PLACE_NONE;
	for (size_t i = 0; i < table->count; i++) {
		double each = cells[i].rate / cells[i].point.gpus;

		if (!cells[i].is_allowed || (inside && cells[i].answer.outside))
			continue;
		if (*fastest == PLACE_NONE || is_better(&cells[i], cells[i].rate, cells[*fastest].rate))
			*fastest = i;
		if (*cheapest == PLACE_NONE ||
			is_better(&cells[i], each, cells[*cheapest].rate / cells[*cheapest].point.gpus))
			*cheapest = i;
	}
}

void place_fill(const struct place_question *question, struct place_table *table)
{
	*table = (struct place_table){0};
	table->cells = mem_alloc(2 * question->gpu_count * question->batch_count + 1, sizeof(*table->cells));
	for (size_t b = 0; b < question->batch_count; b++) {
		size_t first = table->count;

		for (size_t g = 0; g < question->gpu_count; g++)
			add_cells(question, table, question->batches[b], question->gpus[g]);
		for (size_t i = first; i < table->count; i++)
			ask(question, &table->cells[i]);
		if (!question->is_global)
			compare_row(table->cells + first, table->count - first);
	}
	choose(table, false, &table->fastest, &table->cheapest);
	choose(table, true, &table->fastest_inside, &table->cheapest_inside);
}

void place_free(struct place_table *table)
{
	free(table->cells);
	*table = (struct place_table){0};
}

struct findings {
	const struct place_question *question;
	const struct place_table *table;
	void (*add)(void *context, const char *sentence);
	void *context;
};

static const char *strength(const struct place_cell *faster, const struct place_cell *slower)
{
	return faster->rate_low > slower->rate_high ? "" : " (their intervals overlap)";
}

/* The place as people write it: "8 GPUs on 2 nodes". */
static const char *name_of(const struct form_point *point, char text[64])
{
	snprintf(text, 64, "%g GPU%s on %g node%s", point->gpus, pm_text_plural((size_t)point->gpus),
		point->nodes, pm_text_plural((size_t)point->nodes));
	return text;
}

/* More GPUs, all dense, and fewer samples a second: said once for each pair of places, of the smallest batch.
 */
static void find_falls(const struct findings *f)
{
	const char *unit = isfinite(f->question->unit_s) ? "second" : "unit of time";
	char sentence[320], one[64], other[64];
	const struct place_cell *before = NULL;
	size_t told = 0;

	for (size_t i = 0; i < f->table->count && told < 3; i++) {
		const struct place_cell *cell = &f->table->cells[i];

		if (!cell->is_dense || !cell->is_allowed)
			continue;
		if (before && before->point.batch == cell->point.batch &&
			cell->point.gpus > before->point.gpus && cell->rate < before->rate) {
			snprintf(sentence, sizeof(sentence),
				"%s do fewer samples a %s than %s with %g on each: %.4g, not %.4g%s.",
				name_of(&cell->point, one), unit, name_of(&before->point, other),
				cell->point.batch, cell->rate, before->rate, strength(before, cell));
			f->add(f->context, sentence);
			told++;
		}
		before = cell;
	}
}

/* What a spread placement costs: the worst and the mildest case inside the data. */
static void find_spread(const struct findings *f)
{
	const struct place_cell *worst = NULL, *dense_of_worst = NULL;
	char sentence[320], one[64], other[64];
	double most = 0, least = HUGE_VAL;

	for (size_t i = 1; i < f->table->count; i++) {
		const struct place_cell *spread = &f->table->cells[i], *dense = spread - 1;
		double times = spread->answer.time / dense->answer.time;

		if (spread->is_dense || !dense->is_dense || !spread->is_allowed || !dense->is_allowed ||
			spread->answer.outside || dense->answer.outside)
			continue;
		least = fmin(least, times);
		if (times > most) {
			most = times;
			worst = spread;
			dense_of_worst = dense;
		}
	}
	if (!worst)
		return;
	snprintf(sentence, sizeof(sentence),
		"The same GPUs on more nodes take %.2f× to %.2f× the time; most for %s in place of %s with %g samples "
		"on each.",
		least, most, name_of(&worst->point, one), name_of(&dense_of_worst->point, other),
		worst->point.batch);
	f->add(f->context, sentence);
}

/* The largest batch that the limits allow; NAN: none. */
static double largest_batch(const struct place_table *table)
{
	for (size_t i = table->count; i-- > 0;)
		if (table->cells[i].is_dense && table->cells[i].is_allowed)
			return table->cells[i].point.batch;
	return NAN;
}

/* Up to where added GPUs pay, for the largest batch, within the limits. */
static void find_worth(const struct findings *f)
{
	const double batch = largest_batch(f->table);
	const struct place_cell *last = NULL, *next = NULL;
	char sentence[320], one[64], other[64];
	bool is_limited = false;

	for (size_t i = 0; i < f->table->count && !next; i++) {
		const struct place_cell *cell = &f->table->cells[i];

		if (!cell->is_dense || cell->point.batch != batch || !isfinite(cell->rate))
			continue;
		if (!cell->is_allowed)
			is_limited = true;
		else if (last && cell->marginal < f->question->worth)
			next = cell;
		else
			last = cell;
	}
	if (next)
		snprintf(sentence, sizeof(sentence),
			"With %g samples on each, adding GPUs pays up to %s: those added for %s do %.0f%% of the work of the first.",
			batch, name_of(&last->point, one), name_of(&next->point, other),
			100 * next->marginal);
	else if (last && is_limited && isfinite(last->marginal))
		snprintf(sentence, sizeof(sentence),
			"With %g samples on each, adding GPUs pays up to %s, the most allowed.", batch,
			name_of(&last->point, one));
	else
		return;
	f->add(f->context, sentence);
}

/* More samples a second from each GPU than with the fewest: the greatest such efficiency, and what it is
 * relative to. */
static void find_excess(const struct findings *f)
{
	const struct place_cell *most = NULL, *base = NULL, *base_of_most = NULL;
	char sentence[320], one[64], other[64];

	for (size_t i = 0; i < f->table->count; i++) {
		const struct place_cell *cell = &f->table->cells[i];

		if (!base || base->point.batch != cell->point.batch)
			base = cell;
		if (cell->is_allowed && cell->efficiency > (most ? most->efficiency : 1 + ROUNDING)) {
			most = cell;
			base_of_most = base;
		}
	}
	if (!most)
		return;
	snprintf(sentence, sizeof(sentence),
		"Efficiency above 100%%: relative to %s, each of %s does %.1f%% of the work with %g samples on each%s.",
		name_of(&base_of_most->point, one), name_of(&most->point, other), 100 * most->efficiency,
		most->point.batch,
		most->rate_low / most->point.gpus > base_of_most->rate_high / base_of_most->point.gpus
			? ""
			: " (their intervals overlap)");
	f->add(f->context, sentence);
}

void place_findings(const struct place_question *question, const struct place_table *table,
	void (*add)(void *context, const char *sentence), void *context)
{
	const struct findings findings = {question, table, add, context};

	find_falls(&findings);
	find_spread(&findings);
	find_excess(&findings);
	if (!question->is_global)
		find_worth(&findings);
}
