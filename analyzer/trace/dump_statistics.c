/* The table of a dump that tells how often each operation was called over the whole run, and how long that
 * took. */
#include "dump_tables.h"
#include "tally.h"

struct columns {
	size_t op, kind, count, total, mean, deviation, least, median, p99, greatest, name;
};

static void add_row(struct dump *dump, struct print_table *table, const struct columns *columns,
	const struct tally *run, size_t op, bool is_device)
{
	const struct tally_item *of = is_device ? &run->devices[op] : &run->calls[op];
	const struct trace_operation *operation = &dump->trace->operations[op];
	const double ns = tally_ns(run, is_device);

	if (!of->count || !operation->function ||
		(dump->how->limit >= 0 && table->row_count >= (size_t)dump->how->limit))
		return;
	print_row(table);
	print_number(table, columns->op, (double)op);
	print_word(table, columns->kind, is_device ? "device" : "call");
	print_number(table, columns->count, (double)of->count);
	if (of->count > of->untimed) {
		print_number(table, columns->total, (double)of->sum * ns);
		print_number(table, columns->mean, tally_mean(of) * ns);
		print_number(table, columns->deviation, tally_deviation(of) * ns);
		print_number(table, columns->least, (double)of->least * ns);
		print_number(table, columns->median, tally_quantile(run, of, 0.5) * ns);
		print_number(table, columns->p99, tally_quantile(run, of, 0.99) * ns);
		print_number(table, columns->greatest, (double)of->greatest * ns);
	}
	print_word(table, columns->name,
		print_clean(&dump->arena, dump->trace->functions[operation->function].name));
}

void dump_statistics(struct dump *dump, struct print_table *table)
{
	const struct columns columns = {
		.op = print_column(table, "op", "op", PRINT_COUNT),
		.kind = print_column(table, "kind", "kind", PRINT_WORD),
		.count = print_column(table, "count", "count", PRINT_COUNT),
		.total = print_column(table, "total_ns", "total, ns", PRINT_FIGURE),
		.mean = print_column(table, "mean_ns", "mean, ns", PRINT_FIGURE),
		.deviation = print_column(table, "deviation_ns", "deviation, ns", PRINT_FIGURE),
		.least = print_column(table, "least_ns", "least, ns", PRINT_FIGURE),
		.median = print_column(table, "median_ns", "median, ns", PRINT_FIGURE),
		.p99 = print_column(table, "p99_ns", "p99, ns", PRINT_FIGURE),
		.greatest = print_column(table, "greatest_ns", "greatest, ns", PRINT_FIGURE),
		.name = print_column(table, "function", "function", PRINT_WORD),
	};
	struct tally run;

	tally_read(dump->trace, &run);
	for (size_t op = 1; op < run.operation_count; op++) {
		add_row(dump, table, &columns, &run, op, false);
		add_row(dump, table, &columns, &run, op, true);
	}
	tally_free(&run);
}
