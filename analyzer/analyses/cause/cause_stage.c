/* Causes that lie between workers: stages of a pipeline with unequal work, and links. */
#include "cause_find.h"
#include "import/imported_timeline.h"
#include "timeline/thresholds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Stages ---- */

static double busy(const struct cause_measure *measure)
{
	return measure->iteration.median > 0 ? measure->compute.median / measure->iteration.median : 0;
}

void cause_measure_stages(struct cause_search *search)
{
	search->stages = mem_alloc(search->analysis->stage_count + 1, sizeof(*search->stages));
	for (size_t i = 0; i < search->analysis->worker_count; i++) {
		struct cause_stage *stage = &search->stages[search->measures[i].worker->stage];

		if (stage->count == 0 || busy(&search->measures[i]) > busy(&search->measures[stage->busiest]))
			stage->busiest = i;
		stage->count++;
		stage->busy += busy(&search->measures[i]);
	}
	for (size_t s = 0, first = 0; s < search->analysis->stage_count; s++) {
		search->stages[s].first = first;
		first += search->stages[s].count;
		if (search->stages[s].count)
			search->stages[s].busy /= (double)search->stages[s].count;
		search->stages_busy += search->stages[s].busy;
		search->busiest_stage = fmax(search->busiest_stage, search->stages[s].busy);
	}
}

/* Calls that other layers or workers make just so: how many times as long they take here; 0: too few. */
static double factor_elsewhere(const struct cause_search *search)
{
	const struct cause_measure *own = search->own;
	double own_ns = 0, there_ns = 0;

	for (size_t i = 0; i < own->cell_count; i++) {
		double sum_ns = 0, count = 0;

		for (size_t w = 0; w < search->analysis->worker_count; w++)
			for (size_t j = 0; j < search->measures[w].cell_count && w != search->worker; j++)
				if (search->measures[w].cells[j].key == own->cells[i].key) {
					sum_ns += search->measures[w].cells[j].time_ns;
					count += search->measures[w].cells[j].count;
				}
		if (count > 0 && own->cells[i].count > 0) {
			own_ns += own->cells[i].time_ns;
			there_ns += sum_ns / count * own->cells[i].count;
		}
	}
	return own_ns > own->compute.median / 20 && there_ns > 0 ? own_ns / there_ns : 0;
}

static const char *costliest_layer(const struct cause_search *search, double *share)
{
	const struct layer_list *layers = &search->own->worker->layers;
	double *ns = mem_alloc(layers->count + 1, sizeof(*ns)), all_ns = 0;
	size_t best = 0;

	for (size_t i = 0; i < search->own->cell_count; i++) {
		const struct cause_cell *cell = &search->own->cells[i];

		all_ns += cell->time_ns;
		if (cell->layer == LAYER_NONE)
			continue;
		ns[cell->layer] += cell->time_ns;
		if (ns[cell->layer] > ns[best])
			best = cell->layer;
	}
	*share = all_ns > 0 ? ns[best] / all_ns : 0;
	free(ns);
	return layers->count ? layer_title(&layers->items[best]) : "";
}

/* Only the busiest stage holds a pipeline up; its busiest replica stands for it. */
static bool stands_for_busiest(const struct cause_search *search)
{
	const struct cause_stage *stage = &search->stages[search->own->worker->stage];

	return stage->busiest == search->worker && search->busiest_stage <= stage->busy;
}

static bool is_size_unknown(const struct cause_search *search)
{
	return imported_timeline_is_labels(&search->analysis->timeline) || cause_is_without_sizes(search);
}

/* What a slower device explains of `cost_ns`: answers that part. */
static double add_slower(struct cause_search *search, double cost_ns)
{
	double factor, slow_ns;

	/* Compared with a replica, it has been found to be slower already. */
	if (search->peer && search->comparison.slower)
		return search->explained_ns;
	/* A label or a kernel's name says what sort of work it is, not how much. */
	if (is_size_unknown(search))
		return 0;
	factor = factor_elsewhere(search);
	if (factor <= CAUSE_STAGE_COUNTS)
		return 0;
	slow_ns = fmin(search->own->compute.median * (1 - 1 / factor), cost_ns);
	cause_add(
		search, (struct cause){.kind = CAUSE_SLOWER,
				.cost_ns = slow_ns,
				.factor = factor,
				.evidence = arena_format(&search->list->arena,
					"the same operations take %.2f× the time of other stages", factor)});
	return slow_ns;
}

void cause_find_stage(struct cause_search *search)
{
	struct arena *arena = &search->list->arena;
	double own, others, cost_ns, share;
	const char *layer;
	bool either; /* may it be that its device is slower? */

	if (!cause_is_stage(search) || !stands_for_busiest(search))
		return;
	own = search->stages[search->own->worker->stage].busy;
	others = (search->stages_busy - own) / (double)(search->analysis->stage_count - 1);
	cost_ns = (own - others) * search->own->iteration.median;
	if (own < CAUSE_STAGE_COUNTS * others || cost_ns < CAUSE_WAITING * search->iteration_ns)
		return;
	cost_ns -= add_slower(search, cost_ns);
	either = !search->peer && is_size_unknown(search) && factor_elsewhere(search) > CAUSE_STAGE_COUNTS;
	layer = costliest_layer(search, &share);
	cause_add(search,
		(struct cause){.kind = CAUSE_STAGE,
			.text = either ? "pipeline stage with more work, or a slower GPU" : NULL,
			.advice =
				either ? "move layers from that stage to the others; if it has no more than they have, "
					 "compare that GPU's clocks, power limit and temperature"
				       : NULL,
			.inferred = either,
			.cost_ns = cost_ns,
			.factor = own / others,
			.evidence = arena_format(arena,
				"its stage%s computes %.0f%% of its steps, the other stages %.0f%% of "
				"theirs on average%s",
				search->own->worker->layers.count
					? arena_format(arena, " (%zu layer%s)",
						  search->own->worker->layers.count,
						  search->own->worker->layers.count == 1 ? "" : "s")
					: "",
				100 * own, 100 * others,
				share > 0 ? arena_format(arena, "; mostly in layer %s (%.0f%% of it)", layer,
						    100 * share)
					  : "")});
}

/* ---- Links ---- */

/* Messages one way between two workers, of one size. */
struct line {
	size_t from, to;
	double bytes, median_ns, per_iteration;
};

struct lines {
	struct line *items;
	size_t count, room;
};

static void list_lines(const struct cause_search *search, struct lines *lines)
{
	const struct exchange_list *list = &search->exchanges;
	double *values = mem_alloc(list->count + 1, sizeof(*values));
	bool *done = mem_alloc(list->count + 1, sizeof(*done));

	for (size_t i = 0; i < list->count; i++) {
		const struct exchange *item = &list->items[i];
		size_t count = 0;

		for (size_t j = i; j < list->count && list->items[j].from == item->from; j++)
			if (!done[j] && list->items[j].to == item->to &&
				list->items[j].bytes == item->bytes) {
				values[count++] = (double)(list->items[j].end_ns - list->items[j].begin_ns);
				done[j] = true;
			}
		if (count)
			*MEM_PUSH(lines->items, lines->count, lines->room) = (struct line){.from = item->from,
				.to = item->to,
				.bytes = item->bytes,
				.median_ns = analysis_statistics(values, count).median,
				.per_iteration = (double)count /
						 (double)search->analysis->workers[item->from].used_count};
	}
	free(done);
	free(values);
}

/* How long the bytes would take elsewhere: at the median rate of lines between other workers, those of like
 * size if there are any. */
static double usual_ns(const struct lines *lines, const struct line *line)
{
	double *values = mem_alloc(lines->count, sizeof(*values)), result = NAN;

	for (int near = 1; near >= 0 && isnan(result); near--) {
		size_t count = 0;

		for (size_t i = 0; i < lines->count; i++) {
			const struct line *other = &lines->items[i];
			bool same = (other->from == line->from && other->to == line->to) ||
				    (other->from == line->to && other->to == line->from);
			double ratio = line->bytes / other->bytes;

			if (!same && other->bytes > 0 && (!near || (ratio > 0.5 && ratio < 2)))
				values[count++] = other->median_ns * ratio;
		}
		if (count)
			result = analysis_statistics(values, count).median;
	}
	free(values);
	return result;
}

void cause_find_link(struct cause_search *search)
{
	struct lines lines = {0};

	if (search->exchanges.count == 0)
		return;
	list_lines(search, &lines);
	for (size_t i = 0; i < lines.count; i++) {
		const struct line *line = &lines.items[i];
		double usual = usual_ns(&lines, line);

		if (line->from != search->worker || !(line->median_ns > SLOW_LINK_TIMES * usual))
			continue;
		cause_add(search,
			(struct cause){.kind = CAUSE_LINK,
				.other = line->to,
				.cost_ns = (line->median_ns - usual) * line->per_iteration,
				.factor = line->median_ns / usual,
				.evidence = arena_format(&search->list->arena,
					"%s MB take %s in transfer, %s between other ranks (%s such "
					"messages per iteration)",
					print_figure(&search->list->arena, line->bytes / 1e6, 3),
					print_time(&search->list->arena, line->median_ns),
					print_time(&search->list->arena, usual),
					print_figure(&search->list->arena, line->per_iteration, 3))});
	}
	free(lines.items);
}
