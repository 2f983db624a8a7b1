/* Who waits for whom, as a table: see balance_table.h. */
#include "balance_table.h"
#include "import/imported_timeline.h"

enum { NAME, COMPUTING, WAITING, CAUSED, SHARE, LAST, COLUMNS };

static void add_row(
	struct print_table *table, struct analysis *analysis, const struct balance *balance, size_t w)
{
	const struct balance_rank *rank = &balance->ranks[w];
	const size_t count = analysis->worker_count;
	const double others_ns = (double)(count - 1) * analysis_iteration(analysis->workers, count).mean;
	/* Labels tell of waiting only where they are a collective's. */
	const bool known = balance->collective_count > 0 || !imported_timeline_is_labels(&analysis->timeline);

	print_row(table);
	print_word(table, NAME, analysis_worker_name(analysis, &analysis->workers[w]));
	print_number(table, COMPUTING, rank->compute_ns);
	if (known) {
		print_number(table, WAITING, rank->wait_ns);
		print_number(table, CAUSED, rank->wait_caused_ns);
		if (others_ns > 0)
			print_number(table, SHARE, rank->wait_caused_ns / others_ns);
	}
	if (balance->collective_count)
		print_number(table, LAST, (double)rank->last_count / (double)balance->collective_count);
}

void balance_rank_table(struct print_table *table, struct analysis *analysis, const struct balance *balance,
	enum print_form form)
{
	const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("worker", "rank", PRINT_WORD),
		PRINT_COLUMN("computing", "computing", PRINT_TIME),
		PRINT_COLUMN("waiting", "waiting", PRINT_TIME),
		PRINT_COLUMN("wait_caused", "wait caused", PRINT_TIME,
			.bar = "communication"),
		PRINT_COLUMN(NULL, form == PRINT_HTML ? "of their time" : NULL, PRINT_SHARE, .csv_key = ""),
		PRINT_COLUMN("last", "last to arrive", PRINT_SHARE),
	};

	print_columns(table, columns, COLUMNS);
	for (size_t w = 0; w < analysis->worker_count; w++)
		add_row(table, analysis, balance, w);
}
