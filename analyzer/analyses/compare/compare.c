/* Runs side by side: see compare.h. A quantity of a run becomes a series of values, the series of two sides a
 * row. */
#include "compare.h"
#include "analyses/load_imbalance.h"
#include "compare_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN(name) (1u << PHASE_LAYER_##name)

const char *compare_check(
	const struct compare_side *sides, size_t side_count, const struct compare_options *how)
{
	if (side_count < 2)
		return "at least two runs are needed";
	if (how->base >= side_count)
		return "no such base";
	if (!(how->margin >= 0) || how->margin >= 1)
		return "the margin must be at least 0% and below 100%";
	for (size_t s = 0; s < side_count; s++)
		for (size_t r = 0; r < sides[s].run_count; r++)
			if (sides[s].runs[r]->analysis.worker_count == 0)
				return "a run has no iterations";
			else if (how->per_sample && !(analysis_samples(&sides[s].runs[r]->analysis) > 0))
				return "per-sample times: the batch size of a run is unknown";
	return NULL;
}

/* Fills the row's figures. A row of zeros is dropped: answers NULL. */
static struct compare_row *add_row(const struct compare *compare, struct compare_pair *pair,
	struct compare_measure base, struct compare_measure other, struct compare_row row)
{
	struct compare_series a = compare_series(compare, pair->base, base),
			      b = compare_series(compare, pair->other, other);
	struct compare_row *to = NULL;
	uint64_t seed = mem_hash(compare->how.seed, pair->row_count);

	if (a.mean > 0 || b.mean > 0) {
		row.base = a.mean;
		row.other = b.mean;
		row.base_median = a.median;
		row.other_median = b.median;
		effect_compare(&a.side, &b.side, seed, &row.effect);
		row.p = row.effect.p;
		to = MEM_PUSH(pair->rows, pair->row_count, pair->row_room);
		*to = row;
	}
	compare_series_free(&a);
	compare_series_free(&b);
	return to;
}

static struct compare_measure time_measure(size_t offset, enum phase phase)
{
	return (struct compare_measure){.what = MEASURE_TIME, .offset = offset, .phase = phase};
}

static void add_whole(const struct compare *compare, struct compare_pair *pair)
{
	static const struct {
		const char *key, *title;
		size_t offset;
		enum phase phase;
	} times[] = {
		{"t_iter", "iteration", offsetof(struct phase_times, iteration_ns), PHASE_COUNT},
		{"computing", "computing", offsetof(struct phase_times, compute_ns), PHASE_COUNT},
		{"communication_exposed", "exposed comm.",
			offsetof(struct phase_times, exclusive_ns) + PHASE_COMMUNICATION * sizeof(int64_t),
			PHASE_COMMUNICATION},
		{"wait", "waiting", offsetof(struct phase_times, wait_ns), PHASE_COMMUNICATION},
	};
	struct compare_measure lif = time_measure(offsetof(struct phase_times, compute_ns), PHASE_COUNT);
	struct compare_measure rate = time_measure(offsetof(struct phase_times, iteration_ns), PHASE_COUNT);
	const struct compare_facts *base = &compare->facts[pair->base];
	const struct compare_facts *other = &compare->facts[pair->other];

	lif.what = MEASURE_LIF;
	rate.what = MEASURE_RATE;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		struct compare_measure measure = time_measure(times[i].offset, times[i].phase);

		add_row(compare, pair, measure, measure,
			(struct compare_row){.kind = COMPARE_WHOLE,
				.key = times[i].key,
				.title = times[i].title,
				.type = PRINT_TIME});
	}
	if (base->samples > 0 && other->samples > 0)
		add_row(compare, pair, rate, rate,
			(struct compare_row){.kind = COMPARE_WHOLE,
				.key = "samples_per_second",
				.title = "samples/s",
				.type = PRINT_REAL,
				.more_is_better = true});
	if (base->gpus > 1 && other->gpus > 1)
		add_row(compare, pair, lif, lif,
			(struct compare_row){.kind = COMPARE_WHOLE,
				.key = "lif",
				.title = "LIF (3.8)",
				.type = PRINT_REAL});
}

static void add_phases(const struct compare *compare, struct compare_pair *pair, enum compare_kind kind)
{
	size_t offset = kind == COMPARE_BUSY ? offsetof(struct phase_times, busy_ns)
					     : offsetof(struct phase_times, exclusive_ns);

	for (size_t phase = 0; phase < (kind == COMPARE_BUSY ? PHASE_WORK_COUNT : PHASE_COUNT); phase++) {
		struct compare_measure measure =
			time_measure(offset + phase * sizeof(int64_t), (enum phase)phase);

		add_row(compare, pair, measure, measure,
			(struct compare_row){.kind = kind,
				.key = phase_keys[phase],
				.title = phase_titles[phase],
				.phase = (int)phase,
				.type = PRINT_TIME});
	}
}

static void add_layers(const struct compare *compare, struct compare_pair *pair)
{
	static const struct {
		const char *key;
		enum compare_kind kind;
		unsigned columns;
	} columns[] = {
		{"computing", COMPARE_LAYER, COLUMN(FORWARD) | COLUMN(BACKWARD) | COLUMN(UPDATE)},
		{"forward", COMPARE_LAYER_PART, COLUMN(FORWARD)},
		{"backward", COMPARE_LAYER_PART, COLUMN(BACKWARD)},
		{"communication", COMPARE_LAYER_PART, COLUMN(COMMUNICATION)},
		{"update", COMPARE_LAYER_PART, COLUMN(UPDATE)},
	};

	for (size_t m = 0; m < pair->match_count; m++) {
		const struct compare_match *match = &pair->matches[m];

		for (size_t c = 0; c < sizeof(columns) / sizeof(*columns); c++) {
			struct compare_measure base = {.what = MEASURE_LAYER,
				.layer = match->base ? match->base->name : NULL,
				.columns = columns[c].columns};
			struct compare_measure other = base;

			other.layer = match->other ? match->other->name : NULL;
			add_row(compare, pair, base, other,
				(struct compare_row){.kind = columns[c].kind,
					.key = columns[c].key,
					.title = layer_title(match->base ? match->base : match->other),
					.match = m,
					.type = PRINT_TIME});
		}
	}
}

/* What the row comes to. Times that are nothing beside the iteration are the same too. */
static enum compare_word judge(
	const struct compare *compare, const struct compare_row *row, double iteration_ns)
{
	double margin = compare->how.margin * fabs(row->base);
	bool more = row->effect.difference > 0;

	if ((isnan(row->base) || isnan(row->other)) && row->kind < COMPARE_LAYER)
		return COMPARE_UNKNOWN;
	if (isnan(row->base) || isnan(row->other))
		return isnan(row->base) ? COMPARE_ONLY_OTHER : COMPARE_ONLY_BASE;
	if (isnan(row->effect.low))
		return COMPARE_NONE;
	if (!row->effect.enough)
		return COMPARE_UNDECIDED;
	if (row->type == PRINT_TIME)
		margin = fmax(margin, compare->how.margin / 10 * iteration_ns);
	if (row->effect.low >= -margin && row->effect.high <= margin)
		return COMPARE_SAME;
	if (fabs(row->effect.difference) > margin && row->p <= COMPARE_LEVEL &&
		(row->effect.low > 0 || row->effect.high < 0))
		return more == row->more_is_better ? COMPARE_FASTER : COMPARE_SLOWER;
	return COMPARE_UNDECIDED;
}

/*
 * What a row is tested with: the iteration is the question, and is asked once; the whole and its phases are a
 * family, and layers are another, so that hundreds of layers do not hide what the iteration is made of.
 */
static int family(const struct compare_row *row)
{
	if (row->kind == COMPARE_WHOLE && strcmp(row->key, "t_iter") == 0)
		return 0;
	return row->kind == COMPARE_LAYER || row->kind == COMPARE_LAYER_PART ? 2 : 1;
}

static void judge_all(const struct compare *compare, struct compare_pair *pair)
{
	double *p = mem_alloc(pair->row_count, sizeof(*p));
	double iteration_ns = pair->row_count ? pair->rows[0].base : 0;

	for (int which = 0; which < 3; which++) {
		for (size_t i = 0; i < pair->row_count; i++)
			p[i] = family(&pair->rows[i]) == which ? pair->rows[i].p : NAN;
		effect_adjust(p, pair->row_count);
		for (size_t i = 0; i < pair->row_count; i++)
			if (family(&pair->rows[i]) == which)
				pair->rows[i].p = p[i];
	}
	for (size_t i = 0; i < pair->row_count; i++)
		pair->rows[i].word = judge(compare, &pair->rows[i], iteration_ns);
	free(p);
}

static void compare_two(const struct compare *compare, struct compare_pair *pair)
{
	compare_match(&compare->sides[pair->base].runs[0]->analysis,
		&compare->sides[pair->other].runs[0]->analysis, pair);
	add_whole(compare, pair);
	add_phases(compare, pair, COMPARE_EXCLUSIVE);
	add_phases(compare, pair, COMPARE_BUSY);
	add_layers(compare, pair);
	judge_all(compare, pair);
}

static struct compare_facts facts_of(const struct compare_side *side)
{
	const struct analysis *analysis = &side->runs[0]->analysis;
	struct compare_facts facts = {
		.program = analysis->timeline.processes[0].program,
		.processes = analysis->timeline.process_count,
		.gpus = analysis->worker_count,
		.samples = analysis_samples(analysis),
		.compute_lif = analysis->worker_count > 1 ? load_imbalance_computing(analysis) : NAN,
	};

	for (size_t r = 0; r < side->run_count; r++) {
		const struct analysis *each = &side->runs[r]->analysis;

		facts.iterations += each->workers[0].used_count;
		facts.iteration_ns +=
			analysis_iteration(each->workers, each->worker_count).mean / (double)side->run_count;
	}
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		facts.layers += layers->count;
		for (size_t l = 0; l < layers->count; l++)
			facts.parameters += (double)layers->items[l].parameter_count;
	}
	return facts;
}

void compare_init(struct compare *compare, struct compare_side *sides, size_t side_count,
	const struct compare_options *how)
{
	memset(compare, 0, sizeof(*compare));
	compare->sides = sides;
	compare->side_count = side_count;
	compare->how = *how;
	compare->facts = mem_alloc(side_count, sizeof(*compare->facts));
	for (size_t s = 0; s < side_count; s++)
		compare->facts[s] = facts_of(&sides[s]);
	compare->pairs = mem_alloc(side_count, sizeof(*compare->pairs));
	for (size_t s = 0; s < side_count; s++) {
		if (s == how->base)
			continue;
		compare->pairs[compare->pair_count] = (struct compare_pair){.base = how->base, .other = s};
		compare_two(compare, &compare->pairs[compare->pair_count++]);
	}
}

void compare_free(struct compare *compare)
{
	for (size_t i = 0; i < compare->pair_count; i++) {
		free(compare->pairs[i].rows);
		free(compare->pairs[i].matches);
	}
	free(compare->pairs);
	free(compare->facts);
	arena_free(&compare->arena);
	memset(compare, 0, sizeof(*compare));
}

const struct compare_row *compare_find(
	const struct compare_pair *pair, enum compare_kind kind, const char *key)
{
	for (size_t i = 0; i < pair->row_count; i++)
		if (pair->rows[i].kind == kind && strcmp(pair->rows[i].key, key) == 0)
			return &pair->rows[i];
	return NULL;
}

const char *compare_word_text(const struct compare_row *row)
{
	bool ratio = row->type != PRINT_TIME && !row->more_is_better;

	switch (row->word) {
	case COMPARE_NONE:
		return "no significance";
	case COMPARE_UNDECIDED:
		return row->effect.enough ? "not decided" : "too few iterations";
	case COMPARE_SAME:
		return "same";
	case COMPARE_FASTER:
		return ratio ? "better" : "faster";
	case COMPARE_SLOWER:
		return ratio ? "worse" : "slower";
	case COMPARE_ONLY_BASE:
		return "only base";
	case COMPARE_ONLY_OTHER:
		return "only other";
	case COMPARE_UNKNOWN:
		return isnan(row->base) ? "unknown in base" : "unknown in other";
	}
	return "";
}

double compare_change(const struct compare_row *row)
{
	return row->base != 0 ? row->other / row->base - 1 : NAN;
}
