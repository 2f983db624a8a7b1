/* All strategies as a table: see strategy_table.h. */
#include "strategy_table.h"
#include "base/text.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define GIB (1024.0 * 1024 * 1024)

/* "12,17" where stages begin, or the replicas "2-1-1"; the caller frees it. */
static char *stages_text(const struct strategy_plan *plan, bool replicas)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		errx(1, "out of memory");
	for (size_t s = replicas ? 0 : 1; s < (replicas ? strategy_places(plan) : plan->stage_count); s++)
		fprintf(out, "%s%zu", s == (replicas ? 0u : 1u) ? "" : (replicas ? "-" : ","),
			replicas ? plan->first[s + 1] - plan->first[s] : plan->cut[s]);
	fclose(out);
	return text;
}

enum {
	TIME = 1,
	PUBLISHED = 4,
	WARM_UP,
	STAGES = 8,
	MEMORY = 10,
	PARTS = 18,
	CHUNKS = 23,
	IMPOSSIBLE,
	VALIDATED,
	ASSIGNED, /* the workers, and how they were found */
	MISS = ASSIGNED + 2,
	MAY_BE_QUICKEST,
	AT_LEAST,
	TRIED,
	NOTE
};

static const struct print_column columns[] = {
	PRINT_COLUMN("strategy", "strategy", PRINT_WORD),
	PRINT_COLUMN("time", NULL, PRINT_TIME),
	PRINT_COLUMN(NULL, "time", PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN(NULL, "speedup", PRINT_REAL, .digits = 2, .csv_key = ""),
	PRINT_COLUMN("published", "published", PRINT_TIME),
	PRINT_COLUMN("warm_up", NULL, PRINT_TIME),
	PRINT_COLUMN("bound", NULL, PRINT_TIME),
	PRINT_COLUMN("micro_batches", NULL, PRINT_COUNT),
	PRINT_COLUMN("stages", NULL, PRINT_WORD),
	PRINT_COLUMN("partition", NULL, PRINT_WORD),
	PRINT_COLUMN(NULL, "GiB", PRINT_FIGURE, .digits = 3, .csv_key = ""),
	PRINT_COLUMN("memory_bytes", NULL, PRINT_COUNT),
	PRINT_COLUMN("fits", NULL, PRINT_FLAG, .csv_key = ""),
	PRINT_COLUMN("state_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("kept_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("gradient_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("bucket_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("rest_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("compute", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("exchange", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("exposed", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("update", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("buckets", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("chunks", NULL, PRINT_COUNT),
	PRINT_COLUMN("impossible", NULL, PRINT_WORD, .csv_key = ""),
	PRINT_COLUMN("validated", NULL, PRINT_FLAG, .csv_key = ""),
	PRINT_COLUMN("workers", NULL, PRINT_WORD),
	PRINT_COLUMN("assignment", NULL, PRINT_WORD),
	PRINT_COLUMN("miss", NULL, PRINT_SHARE),
	PRINT_COLUMN("may_be_quickest", NULL, PRINT_FLAG),
	PRINT_COLUMN("memory_at_least", NULL, PRINT_FLAG),      /* memory_bytes is a lower bound */
	PRINT_COLUMN("micro_batches_tried", NULL, PRINT_COUNT), /* up to so many */
	PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
};

/* By enum strategy_search. */
static const char *const searches[] = {"as numbered", "exact", "genetic"};

/* "0-2-1" */
static const char *list_workers(struct print_table *table, const struct strategy_choice *choice, size_t count)
{
	const char *workers = "";

	for (size_t i = 0; i < count; i++)
		workers = arena_format(table->arena, "%s%s%zu", workers, i ? "-" : "", choice->worker[i]);
	return workers;
}

/* The workers of a plan's places, and how they were found. Answers the former where they are not as numbered.
 */
static const char *fill_workers(struct print_table *table, const struct strategy_choice *choice)
{
	const char *workers = list_workers(table, choice, choice->plan.first[strategy_places(&choice->plan)]);

	print_word(table, ASSIGNED, workers);
	print_word(table, ASSIGNED + 1, searches[choice->search]);
	return choice->search == STRATEGY_AS_NUMBERED ? NULL : workers;
}

/* What a pipeline is made of, and what is said of it. */
static const char *fill_pipe(
	struct print_table *table, const struct strategy_choice *choice, const struct strategy_net *net)
{
	char *stages = stages_text(&choice->plan, true), *cuts = stages_text(&choice->plan, false);
	const size_t micro_batches = choice->plan.micro_batches;
	const char *chunks = choice->plan.chunks > 1
				     ? arena_format(table->arena, ", %zu chunks", choice->plan.chunks)
				     : "";
	const char *workers, *note = arena_format(table->arena, "%zu micro-batch%s%s, stages %s from",
				     micro_batches, micro_batches == 1 ? "" : "es", chunks, stages);

	for (size_t s = 1; s < choice->plan.stage_count; s++)
		note = arena_format(table->arena, "%s %s", note, net->layers[choice->plan.cut[s]].name);
	workers = fill_workers(table, choice);
	if (workers)
		note = arena_format(
			table->arena, "%s, workers %s (%s)", note, workers, searches[choice->search]);
	print_numbers(table, WARM_UP,
		(double[]){choice->warm_up, choice->bound, (double)choice->plan.micro_batches}, 3);
	if (choice->plan.kind == STRATEGY_FLUSH)
		print_number(table, CHUNKS, (double)choice->plan.chunks);
	print_word(table, STAGES, stages);
	print_word(table, STAGES + 1, cuts);
	free(stages);
	free(cuts);
	return note;
}

void strategy_table_memory(struct print_table *table, size_t column, const struct strategy_memory *needs)
{
	print_number(table, column, needs->total / GIB);
	if (needs->at_least)
		print_number_as(table, column, needs->total / GIB,
			arena_format(table->arena, "≥ %.3g", needs->total / GIB));
}

static void fill_memory(struct print_table *table, const struct strategy_choice *choice)
{
	const struct strategy_memory *needs = &choice->needs;

	strategy_table_memory(table, MEMORY, needs);
	print_number(table, AT_LEAST, needs->at_least);
	print_numbers(table, MEMORY + 1,
		(double[]){needs->total, choice->fits, needs->state, needs->kept, needs->gradients,
			needs->bucket, needs->rest},
		7);
}

/* What a worker has. */
static const char *room_text(struct arena *arena, const struct strategy_cluster *cluster)
{
	for (size_t i = 0; i < cluster->workers; i++)
		if (strategy_room(cluster, i) != cluster->memory)
			return "one of its workers has";
	return arena_format(arena, "the %.4g of a worker", cluster->memory / GIB);
}

/* "0-6,9": ascending numbers. */
static const char *numbers_text(struct arena *arena, const bool *has, size_t count)
{
	const char *text = "";

	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && has[end]; end++)
			;
		if (end == i) {
			end++;
			continue;
		}
		text = arena_format(arena, "%s%s%zu", text, *text ? "," : "", i);
		if (end - i > 1)
			text = arena_format(arena, "%s-%zu", text, end - 1);
	}
	return text;
}

const char *strategy_table_workers(struct arena *arena, enum strategy_name name,
	const struct strategy_choice *choice, const struct strategy_cluster *cluster)
{
	bool has[STRATEGY_MAX_WORKERS] = {false};
	size_t count = cluster->workers;
	double samples = 0;
	const char *text = "";

	if (!choice->possible || (name != STRATEGY_NAME_FEWER && name != STRATEGY_NAME_UNEVEN))
		return "";
	for (size_t i = 0; name == STRATEGY_NAME_FEWER && i < choice->used; i++)
		has[choice->worker[i]] = true;
	if (name == STRATEGY_NAME_FEWER)
		return arena_format(arena, "workers %s", numbers_text(arena, has, cluster->workers));
	/* neighbours with as many; those after them have none */
	while (count > 0 && !(choice->share[count - 1] > 0))
		count--;
	for (size_t i = 0, end; i < count; i = end) {
		samples = choice->share[i];
		for (end = i; end < count && choice->share[end] == samples; end++)
			;
		text = arena_format(arena, "%s%s%g", text, i ? ", " : "samples ", samples);
		if (end - i > 1)
			text = arena_format(arena, "%s of each of %zu-%zu", text, i, end - 1);
		else
			text = arena_format(arena, "%s of %zu", text, i);
	}
	return text;
}

void strategy_table_begin(struct print_table *table)
{
	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
}

/* Also with gradients of older weights: the quickest, or what may be as quick. */
static bool may_be_quickest(const struct strategy_choice *choices, enum strategy_name name)
{
	const enum strategy_name best = strategy_best(choices, false);

	return best != STRATEGY_NAME_COUNT && (name == best || strategy_is_tie(choices, best, name, false));
}

void strategy_table_row(struct print_table *table, const struct strategy_choice *choices,
	enum strategy_name name, const struct strategy_cluster *cluster, const struct strategy_net *net)
{
	const struct strategy_choice *choice = &choices[name];
	const double single = choices[STRATEGY_NAME_SINGLE].time;
	const char *note = "";

	print_row(table);
	print_word(table, 0, strategy_names[name]);
	print_number(table, VALIDATED, choice->is_validated);
	print_number(table, MISS, choice->is_validated ? strategy_miss(name) : NAN);
	print_number(table, MAY_BE_QUICKEST, may_be_quickest(choices, name));
	if (!choice->possible) {
		print_word(table, IMPOSSIBLE, choice->why);
		print_word(table, NOTE, choice->why);
		return;
	}
	print_number(table, TIME, choice->time);
	print_number(table, PUBLISHED, choice->published);
	fill_memory(table, choice);
	if (choice->tried > 0)
		print_number(table, TRIED, (double)choice->tried);
	if (strategy_is_pipe(name)) {
		note = fill_pipe(table, choice, net);
		if (name == STRATEGY_NAME_LAYERWISE)
			note = arena_format(table->arena,
				"%s; %.3f ms if a worker's two passes cost each other nothing", note,
				choice->at_once / 1e6);
	} else if (strategy_has_parts(name)) {
		const struct strategy_data_parts *parts = &choice->parts;

		print_numbers(table, PARTS,
			(double[]){parts->compute, parts->exchange, parts->exposed, parts->update,
				(double)parts->buckets},
			5);
		note = arena_format(table->arena, "%zu exchange%s, %.3f ms, %.3f ms of it exposed",
			parts->buckets, pm_text_plural(parts->buckets), parts->exchange / 1e6,
			parts->exposed / 1e6);
		if (*strategy_table_workers(table->arena, name, choice, cluster)) {
			const char *workers = strategy_table_workers(table->arena, name, choice, cluster);

			print_word(table, ASSIGNED,
				name == STRATEGY_NAME_FEWER ? list_workers(table, choice, choice->used)
							    : workers);
			note = arena_format(table->arena, "%s, %s", workers, note);
		}
	}
	if (!choice->is_validated)
		note = arena_format(table->arena, "%s; not validated against a run", note);
	if (choice->fits) {
		print_numbers(table, TIME + 1, (double[]){choice->time, single / choice->time}, 2);
	} else {
		note = arena_format(table->arena, "does not fit: %.3g GiB more than %s", choice->lacks / GIB,
			room_text(table->arena, cluster));
		if (choice->tried > 1)
			note = arena_format(
				table->arena, "%s, with up to %zu micro-batches", note, choice->tried);
	}
	print_word(table, NOTE, note);
}
