/* What a run does now, for a terminal that is drawn again each second, or once as text: the run, its phases,
 * a table of ranks; or one rank, its phases and layers. */
#ifndef OUTPUT_TOP_TEXT_H
#define OUTPUT_TOP_TEXT_H

#include "analyses/fleet/recent.h"
#include "base/table.h"

#include <stdio.h>

/* What the table of ranks is sorted by: ranks upwards, else the greatest first. */
#define TOP_ORDERS(X) \
	X(RANK, "rank") \
	X(ITERATION, "iteration") \
	X(COMPUTE, "compute") \
	X(WAIT, "wait") \
	X(EXPOSED, "exposed") \
	X(LOST, "lost")

enum top_order {
#define TOP_ITEM(name, word) TOP_BY_##name,
	TOP_ORDERS(TOP_ITEM)
#undef TOP_ITEM
		TOP_ORDER_COUNT,
};

extern const char *const top_orders[TOP_ORDER_COUNT + 1]; /* their words, NULL at the end */

/* An iteration that the user has marked, to be compared with. */
struct top_mark {
	bool is_set;
	double count;        /* of iterations that were complete */
	double iteration_ns; /* their time then, as in struct recent */
};

/* Of now; not set where iterations or their times are not known. */
struct top_mark top_mark(const struct recent *recent);

/* How much a line may have, and what is to be on it. */
struct top_paper {
	int width;
	bool plain;                  /* ASCII only */
	const struct top_mark *mark; /* NULL: none */
};

/* Of the run: iterations and their trend, the slowest rank and layer, what is not as it should be, phases. */
void top_print_run(const struct recent *recent, const struct top_paper *paper, FILE *out);

/* The workers in this order: `order` has room for all. */
void top_sort(const struct recent *recent, enum top_order by, size_t *order);

/* A row for each worker in this order. */
void top_ranks(const struct recent *recent, const size_t *order, struct print_table *table);

/* Of one worker what top_print_run says of all; and a row for each layer. */
void top_print_rank(const struct recent *recent, const struct recent_worker *worker,
	const struct top_paper *paper, FILE *out);
void top_layers(const struct recent_worker *worker, struct print_table *table);

/* All of the run: what has no table. */
void top_json(const struct recent *recent, cJSON *object);

#endif
