/* The instructions of programs that XLA compiled, and what they are for, as a table. */
#ifndef OUTPUT_HLO_TABLE_H
#define OUTPUT_HLO_TABLE_H

#include "base/table.h"
#include "framework/hlo_program.h"

/* Fills a table that was initialised, whose arena lives as long: a row for each instruction, at most `limit`
 * of them (-1: all). */
void hlo_table(const struct hlo *hlo, long limit, struct print_table *table);

#endif
