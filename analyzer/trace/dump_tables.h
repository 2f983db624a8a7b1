/*
 * Between a dump and its tables.
 */
#ifndef DUMP_TABLES_H
#define DUMP_TABLES_H

#include "base/table.h"
#include "dump.h"

struct dump {
	const struct trace *trace;
	const struct dump_options *how;
	struct arena arena;
	uint64_t *call_counts; /* by operation */
	uint64_t *device_counts;
	uint64_t refused; /* records of an operation or queue that no entry describes */
};

/* Each fills a table that was initialised with the dump's arena; operations, records and statistics heed the
 * limit. */
void dump_functions(struct dump *dump, struct print_table *table);
void dump_operations(struct dump *dump, struct print_table *table);
void dump_records(struct dump *dump, struct print_table *table);
void dump_queues(struct dump *dump, struct print_table *table);
void dump_communicators(struct dump *dump, struct print_table *table);
void dump_entered(struct dump *dump, struct print_table *table);
void dump_devices(struct dump *dump, struct print_table *table);
void dump_statistics(struct dump *dump, struct print_table *table);
void dump_graphs(struct dump *dump, struct print_table *table);
void dump_turns(struct dump *dump, struct print_table *table);
void dump_windows(struct dump *dump, struct print_table *table);
void dump_ranges(struct dump *dump, struct print_table *table);
void dump_range_windows(struct dump *dump, struct print_table *table);
void dump_device_windows(struct dump *dump, struct print_table *table);

#endif
