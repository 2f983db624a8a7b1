/* The table of calls of communication: see comm_table.h. */
#include "comm_table.h"

#include <inttypes.h>

void comm_call_table(struct print_table *table, const struct comm *comm)
{
	struct arena *arena = table->arena;
	size_t number = print_column(table, "comm", "comm", PRINT_COUNT);
	size_t hash = print_column(table, "hash", NULL, PRINT_WORD);
	size_t size = print_column(table, "ranks", "n", PRINT_COUNT);
	size_t name = print_column(table, "call", "call", PRINT_WORD);
	size_t count = print_column(table, "count", "count", PRINT_COUNT);
	size_t bytes = print_column(table, "bytes", "bytes", PRINT_COUNT);
	size_t time = print_column(table, "time", "time", PRINT_TIME);
	size_t wait = print_column(table, "waiting", "wait", PRINT_TIME);
	size_t transfer = print_column(table, "transfer", "move", PRINT_TIME);
	size_t algorithm = print_column(table, "algbw_gbps", "algbw", PRINT_REAL);
	size_t bus = print_column(table, "busbw_gbps", "busbw", PRINT_REAL);
	size_t last = print_column(table, "last", "last", PRINT_WORD);
	size_t last_rank = print_column(table, "last_rank", NULL, PRINT_COUNT);
	size_t last_count = print_column(table, "last_count", NULL, PRINT_COUNT);

	for (size_t i = 0; i < comm->row_count; i++) {
		const struct comm_row *row = &comm->rows[i];

		table->rule = i > 0 && row->number != row[-1].number;
		print_row(table);
		print_number(table, number, row->number);
		print_word(table, hash, arena_format(arena, "%016" PRIx64, row->hash));
		print_number(table, size, row->size);
		print_word(table, name, row->name);
		print_number(table, count, (double)row->count);
		print_number(table, bytes, row->bytes);
		print_number(table, time, row->time_ns);
		print_number(table, wait, row->wait_ns);
		print_number(table, transfer, row->transfer_ns);
		print_number(table, algorithm, row->algorithm_rate);
		print_number(table, bus, row->bus_rate);
		if (row->last_rank < 0)
			continue;
		print_word(table, last,
			arena_format(arena, "%d %.0f%%", row->last_rank,
				(double)row->last_count / (double)row->count * 100));
		print_number(table, last_rank, row->last_rank);
		print_number(table, last_count, (double)row->last_count);
	}
}
