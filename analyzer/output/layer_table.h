/* The table of pmanalyze layers, which the HTML report has too. */
#ifndef OUTPUT_LAYER_TABLE_H
#define OUTPUT_LAYER_TABLE_H

#include "base/table.h"
#include "reconstruct/analysis.h"

/*
 * A row a layer, in network order: mean times of an iteration, forward, backward, communication and update,
 * over the ranks that have the layer; `ranks`: for each rank by itself. Text ends with the sum of all; on a
 * page the times are stacked as bars too.
 */
void layer_table(
	struct print_table *table, const struct analysis *analysis, bool ranks, enum print_form form);

/* Those times of a layer, summed. */
double layer_time(const struct analysis_worker *workers, size_t count, const char *name);

#endif
