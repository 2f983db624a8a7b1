/*
 * Where to run, by a model of steps whose truth is known: which placement is faster, where more GPUs are
 * slower, what adding them is worth, limits, and batches of all GPUs together.
 */
#include "../analyzer/check.h"
#include "advise/place.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static char said[2000];

/* Milliseconds: 10 and 1 a sample; a node's eighth GPU makes its bus the bottleneck; nodes are far apart. */
static double truth(const struct form_point *p)
{
	double exchange = p->gpus <= 1 ? 0 : p->nodes <= 1 ? (p->gpus > 4 ? 200 : 5) : 30;

	return 10 + p->batch + exchange;
}

static void fit(struct committee *committee)
{
	struct committee_row rows[200];
	size_t count = 0;

	for (double m = 8; m <= 64; m *= 2)
		for (double n = 1; n <= 4; n *= 2)
			for (double k = n; k <= 8 * n && k <= 16; k *= 2) {
				struct form_point point = {m, k, n};

				rows[count++] = (struct committee_row){point, truth(&point), NAN};
			}
	CHECK(!committee_fit(committee, rows, count), "no committee");
}

static void keep(void *context, const char *sentence)
{
	(void)context;
	snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s\n", sentence);
}

static const struct place_cell *find(const struct place_table *table, double gpus, double nodes, double batch)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct form_point *p = &table->cells[i].point;

		if (p->gpus == gpus && p->nodes == nodes && p->batch == batch)
			return &table->cells[i];
	}
	return NULL;
}

/* 8 GPUs of one node are slower than 4; 2 nodes of 4 are faster than one of 8, and than spread by a little or
 * nothing. */
static void test_table(const struct step_level *level)
{
	static const double gpus[] = {1, 4, 8}, batches[] = {16, 32};
	struct place_question q = {.level = level,
		.unit_s = 1e-3,
		.confidence = 0.95,
		.gpus = gpus,
		.gpu_count = 3,
		.batches = batches,
		.batch_count = 2,
		.gpus_per_node = 8,
		.most_nodes = 2,
		.worth = 0.5,
		.price = 2};
	struct place_table table;
	const struct place_cell *cell;

	place_fill(&q, &table);
	CHECK(table.count == 10, "%zu cells: 1 dense, 4 and 8 dense and spread, twice", table.count);
	cell = find(&table, 4, 1, 16);
	CHECK(cell && fabs(cell->answer.time / 31 - 1) < 0.06, "4 GPUs: %g ms",
		cell ? cell->answer.time : NAN);
	CHECK(cell && fabs(cell->rate - 64 / (cell->answer.time * 1e-3)) < 1e-6, "rate %g",
		cell ? cell->rate : NAN);
	CHECK(cell && fabs(cell->efficiency - 26 / 31.0) < 0.06, "efficiency %g",
		cell ? cell->efficiency : NAN);
	CHECK(cell && fabs(cell->cost - 2 * 4 / 3600.0 / cell->rate * 1e6) < 1e-6, "cost %g",
		cell ? cell->cost : NAN);
	CHECK(table.fastest != PLACE_NONE && table.cells[table.fastest].point.nodes == 2 &&
			table.cells[table.fastest].point.gpus == 8 &&
			table.cells[table.fastest].point.batch == 32,
		"fastest is another than 8 GPUs on 2 nodes");
	CHECK(table.cheapest != PLACE_NONE && table.cells[table.cheapest].point.gpus == 1,
		"one GPU is not the cheapest");
	*said = '\0';
	place_findings(&q, &table, keep, NULL);
	CHECK(strstr(said, "8 GPUs on 1 node do fewer samples a second than 4 GPUs on 1 node with 16"), "%s",
		said);
	CHECK(strstr(said, "adding GPUs pays up to 4 GPUs on 1 node"), "%s", said);
	CHECK(!strstr(said, "Efficiency above"), "%s", said);
	place_free(&table);
}

/* Limits are kept; 12 samples are not divided among 8; what one node may not hold is left out. */
static void test_limits(const struct step_level *level)
{
	static const double gpus[] = {1, 4, 8, 16}, batches[] = {12, 128};
	struct place_question q = {.level = level,
		.unit_s = NAN,
		.confidence = 0.95,
		.gpus = gpus,
		.gpu_count = 4,
		.batches = batches,
		.batch_count = 2,
		.is_global = true,
		.gpus_per_node = 4,
		.most_nodes = 2,
		.most_gpus = 4,
		.most_gpu_batch = 40};
	struct place_table table;

	place_fill(&q, &table);
	CHECK(!find(&table, 8, 2, 1.5) && find(&table, 4, 1, 3), "12 samples among 8 GPUs");
	CHECK(!find(&table, 16, 4, 8), "16 GPUs on more than 2 nodes");
	CHECK(table.fastest != PLACE_NONE && table.cells[table.fastest].point.gpus == 4 &&
			table.cells[table.fastest].point.batch == 32,
		"at most 4 GPUs with 40 samples on each");
	place_free(&table);
}

/* What adding GPUs is worth is asked of the numbers and the batches that the limits allow. */
static void test_worth_within_limits(const struct step_level *level)
{
	static const double gpus[] = {1, 2, 4, 8}, batches[] = {16, 64};
	struct place_question q = {.level = level,
		.unit_s = 1e-3,
		.confidence = 0.95,
		.gpus = gpus,
		.gpu_count = 4,
		.batches = batches,
		.batch_count = 2,
		.gpus_per_node = 8,
		.most_nodes = 1,
		.most_gpus = 4,
		.most_gpu_batch = 32,
		.worth = 0.5};
	struct place_table table;

	place_fill(&q, &table);
	*said = '\0';
	place_findings(&q, &table, keep, NULL);
	CHECK(strstr(said,
		      "With 16 samples on each, adding GPUs pays up to 4 GPUs on 1 node, the most allowed."),
		"%s", said);
	CHECK(!strstr(said, "8 GPUs") && !strstr(said, "64 on each"), "beyond the limits: %s", said);
	place_free(&table);
}

/* 8 GPUs of one node are slow: those of two nodes do more, which needs a word. */
static void test_excess(const struct step_level *level)
{
	static const double gpus[] = {8}, batches[] = {16};
	struct place_question q = {.level = level,
		.unit_s = 1e-3,
		.confidence = 0.95,
		.gpus = gpus,
		.gpu_count = 1,
		.batches = batches,
		.batch_count = 1,
		.gpus_per_node = 8,
		.most_nodes = 2,
		.worth = 0.5};
	struct place_table table;

	place_fill(&q, &table);
	CHECK(table.count == 2 && table.cells[1].efficiency > 1.5, "efficiency %g",
		table.count == 2 ? table.cells[1].efficiency : NAN);
	*said = '\0';
	place_findings(&q, &table, keep, NULL);
	CHECK(strstr(said,
		      "Efficiency above 100%: relative to 8 GPUs on 1 node, each of 8 GPUs on 2 nodes does "),
		"%s", said);
	place_free(&table);
}

int main(void)
{
	struct step_level level = {.name = (char *)""};

	fit(&level.committee);
	test_table(&level);
	test_limits(&level);
	test_worth_within_limits(&level);
	test_excess(&level);
	committee_free(&level.committee);
	return check_end();
}
