/* An advice as tables: see advice_table.h. */
#include "advice_table.h"
#include "strategy_table.h"

#include <math.h>

enum { ROW_STRATEGY = 2, ROW_TIME, ROW_MEASURED = 6, ROW_DELAYED, ROW_SURE = 12, ROW_LIMIT };

static const struct print_column row_columns[] = {
	PRINT_COLUMN("gpus", "GPUs", PRINT_COUNT),
	PRINT_COLUMN("batch", "batch", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("strategy", "strategy", PRINT_WORD),
	PRINT_COLUMN("time", "time", PRINT_TIME),
	PRINT_COLUMN("low", "low", PRINT_TIME),
	PRINT_COLUMN("high", "high", PRINT_TIME),
	PRINT_COLUMN("measured", "measured", PRINT_TIME),
	PRINT_COLUMN("delayed", "delayed", PRINT_TIME), /* with the runs' stragglers */
	PRINT_COLUMN("samples_per_s", "samples/s", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("efficiency", "effic.", PRINT_SHARE),
	PRINT_COLUMN("marginal", NULL, PRINT_SHARE),
	PRINT_COLUMN("cost", "cost/1M", PRINT_FIGURE, .digits = 3),
	PRINT_COLUMN("sure", "sure", PRINT_WORD),
	PRINT_COLUMN("limit", "limit", PRINT_WORD),
	PRINT_COLUMN("limit_share", NULL, PRINT_SHARE),
};

/* "links 34%" for people. */
static void print_limit(struct print_table *table, size_t column, const struct advice_way *way)
{
	const char *word = advice_limits[way->limit];

	print_term(table, column, word,
		isfinite(way->share) ? arena_format(table->arena, "%s %.0f%%", word, 100 * way->share)
				     : word);
	print_number(table, column + 1, way->share);
}

static double cost_of(const struct advice_print *p, const struct advice_row *row)
{
	return p->price > 0 ? p->price * (double)row->gpus / 3600 / row->best->rate * 1e6 : NAN;
}

void advice_table_rows(const struct advice_print *p, struct print_table *table)
{
	const struct advice *a = p->advice;

	print_columns(table, row_columns, sizeof(row_columns) / sizeof(*row_columns));
	if (!(p->price > 0))
		table->columns[ROW_SURE - 1].title = NULL;
	if (!a->check_count)
		table->columns[ROW_MEASURED].title = NULL;
	if (!a->delayed)
		table->columns[ROW_DELAYED].title = NULL;
	for (size_t i = 0; i < a->count; i++) {
		const struct advice_row *row = &a->rows[i];
		const struct advice_way *way = row->best;

		print_row(table);
		print_numbers(table, 0, (double[]){(double)row->gpus, advice_batch(a, row->gpus)}, 2);
		if (!way) {
			print_term(table, ROW_LIMIT, advice_limits[ADVICE_MEMORY],
				"no strategy that may be recommended fits");
			continue;
		}
		print_word(table, ROW_STRATEGY, strategy_names[way->name]);
		print_numbers(table, ROW_TIME,
			(double[]){way->time, way->low, way->high, row->measured, row->delayed, way->rate,
				row->efficiency, row->marginal, cost_of(p, row)},
			9);
		print_word(table, ROW_SURE, advice_strengths[way->strength]);
		print_limit(table, ROW_LIMIT, way);
	}
}

enum {
	WAY_TIME = 2,
	WAY_MEMORY = 6,
	WAY_MICRO = 8,
	WAY_STAGES,
	WAY_PARTITION,
	WAY_SURE,
	WAY_LIMIT,
	WAY_CHUNKS = WAY_LIMIT + 2,
	WAY_RECOMMENDED,
	WAY_TIED,
	WAY_AT_LEAST
};

static const struct print_column way_columns[] = {
	PRINT_COLUMN("gpus", "GPUs", PRINT_COUNT), PRINT_COLUMN("strategy", "strategy", PRINT_WORD),
	PRINT_COLUMN("time", "time", PRINT_TIME), PRINT_COLUMN("low", "low", PRINT_TIME),
	PRINT_COLUMN("high", "high", PRINT_TIME),
	PRINT_COLUMN("samples_per_s", "samples/s", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("memory_bytes", NULL, PRINT_COUNT),
	PRINT_COLUMN(NULL, "GiB", PRINT_FIGURE, .digits = 3, .csv_key = ""),
	PRINT_COLUMN("micro_batches", "micro-batches", PRINT_COUNT), PRINT_COLUMN("stages", NULL, PRINT_WORD),
	PRINT_COLUMN("partition", NULL, PRINT_WORD), PRINT_COLUMN("sure", "sure", PRINT_WORD),
	PRINT_COLUMN("limit", "limit", PRINT_WORD), PRINT_COLUMN("limit_share", NULL, PRINT_SHARE),
	PRINT_COLUMN("chunks", NULL, PRINT_COUNT),
	PRINT_COLUMN("recommended", NULL, PRINT_FLAG),     /* on so many GPUs */
	PRINT_COLUMN("tied", NULL, PRINT_FLAG),            /* with that */
	PRINT_COLUMN("memory_at_least", NULL, PRINT_FLAG), /* memory_bytes is a lower bound */
};

/* As the trainers' --stages and --partition have them: "2-1-1", "12,17"; and where workers do not stand as
 * they are numbered, which they are: "2-1-1 on 0-2-3-1". */
static void print_plan(struct print_table *table, const struct strategy_choice *choice)
{
	const struct strategy_plan *plan = &choice->plan;
	const size_t workers =
		choice->search == STRATEGY_AS_NUMBERED ? 0 : plan->first[strategy_places(plan)];
	const char *replicas = "", *cuts = "";

	for (size_t s = 0; s < strategy_places(plan); s++)
		replicas = arena_format(
			table->arena, "%s%s%zu", replicas, s ? "-" : "", plan->first[s + 1] - plan->first[s]);
	for (size_t i = 0; i < workers; i++)
		replicas =
			arena_format(table->arena, "%s%s%zu", replicas, i ? "-" : " on ", choice->worker[i]);
	for (size_t s = 1; s < plan->stage_count; s++)
		cuts = arena_format(table->arena, "%s%s%zu", cuts, s > 1 ? "," : "", plan->cut[s]);
	if (plan->kind == STRATEGY_FLUSH)
		print_number(table, WAY_CHUNKS, (double)plan->chunks);
	print_number(table, WAY_MICRO, (double)plan->micro_batches);
	print_word(table, WAY_STAGES, replicas);
	print_word(table, WAY_PARTITION, cuts);
}

void advice_table_ways(const struct advice_print *p, struct print_table *table)
{
	const struct advice *a = p->advice;

	print_columns(table, way_columns, sizeof(way_columns) / sizeof(*way_columns));
	for (size_t i = 0; i < a->count * STRATEGY_NAME_COUNT; i++) {
		const struct advice_row *row = &a->rows[i / STRATEGY_NAME_COUNT];
		const struct advice_way *way = &row->ways[i % STRATEGY_NAME_COUNT];
		bool is_single = way->name == STRATEGY_NAME_SINGLE;

		if (is_single != (row->gpus == 1) || way->choice.is_idle)
			continue;
		print_row(table);
		print_number(table, 0, (double)row->gpus);
		print_number(table, WAY_RECOMMENDED, way == row->best);
		print_number(table, WAY_TIED, advice_tie(row, way) > 0);
		print_word(table, 1, strategy_names[way->name]);
		if (!way->choice.possible) {
			print_word(table, WAY_LIMIT, way->choice.why);
			continue;
		}
		print_numbers(table, WAY_TIME,
			(double[]){way->time, way->low, way->high, way->rate, way->choice.memory}, 5);
		strategy_table_memory(table, WAY_MEMORY + 1, &way->choice.needs);
		print_number(table, WAY_AT_LEAST, way->choice.needs.at_least);
		if (way->name == STRATEGY_NAME_TENSOR && a->net.has_pairs)
			print_word(table, WAY_PARTITION, way->choice.divides_last ? "blocks+last" : "blocks");
		if (strategy_is_pipe(way->name))
			print_plan(table, &way->choice);
		if (way->choice.fits)
			print_word(table, WAY_SURE, advice_strengths[way->strength]);
		print_limit(table, WAY_LIMIT, way);
	}
}
