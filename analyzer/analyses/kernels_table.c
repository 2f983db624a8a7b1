/* The table of kernels: see kernels.h. */
#include "kernels.h"

#include <string.h>

#define TITLE_BYTES 36 /* longer names are cut in text */

static const char *shortened(struct arena *arena, const char *title)
{
	if (strlen(title) <= TITLE_BYTES)
		return title;
	return arena_format(arena, "%.*s..", TITLE_BYTES - 2, title);
}

/* For people an update is said to be no layer's, as `layers` says how much of it is so. */
static const char *layer_words(const struct kernel_row *row, bool people)
{
	if (people && !*row->layer && row->phase == PHASE_UPDATE)
		return "no layer";
	return row->layer_count > 1 ? "several" : row->layer;
}

void kernels_table(struct print_table *table, struct analysis *analysis, const struct kernels *kernels,
	size_t most, enum print_form form)
{
	const bool several = analysis->worker_count > 1, page = form == PRINT_HTML;
	enum { KERNEL, NAME, PHASE, LAYER, COUNT, TIME, MEAN, SHARE, GRAPH, LEAST, GREATEST, RANK, COLUMNS };
	const struct print_column columns[COLUMNS] = {
		PRINT_COLUMN("kernel", "kernel", PRINT_WORD),
		PRINT_COLUMN("name", NULL, PRINT_WORD),
		PRINT_COLUMN("phase", "phase", PRINT_WORD),
		PRINT_COLUMN("layer", "layer", PRINT_WORD),
		PRINT_COLUMN("count", page ? "count/step" : "count", PRINT_FIGURE),
		PRINT_COLUMN("time", "time", PRINT_TIME, .bar = "other"),
		PRINT_COLUMN("mean", NULL, PRINT_TIME),
		PRINT_COLUMN("share", "share", PRINT_SHARE),
		PRINT_COLUMN("graph_share", NULL, PRINT_SHARE),
		PRINT_COLUMN("min", page && several ? "fastest" : NULL, PRINT_TIME),
		PRINT_COLUMN("max", several ? "slowest" : NULL, PRINT_TIME),
		PRINT_COLUMN("slowest", several ? "rank" : NULL, PRINT_WORD),
	};

	print_columns(table, columns, COLUMNS);
	for (size_t i = 0; i < kernels->row_count && i < most; i++) {
		const struct kernel_row *row = &kernels->rows[i];
		const char *words;

		print_row(table);
		print_word(
			table, KERNEL, form == PRINT_TEXT ? shortened(table->arena, row->title) : row->title);
		print_tip(table, KERNEL, row->name);
		print_word(table, NAME, row->name);
		print_term(table, PHASE, phase_keys[row->phase], phase_titles[row->phase]);
		words = layer_words(row, form == PRINT_TEXT || page);
		if (*words)
			print_word(table, LAYER, words);
		print_number(table, COUNT, row->count);
		print_number(table, TIME, row->time_ns);
		print_colour(table, TIME, phase_keys[row->phase]);
		print_number(table, MEAN, row->time_ns / row->count);
		print_number(table, SHARE, row->share);
		print_number(table, GRAPH, row->graph_share);
		print_number(table, LEAST, row->least_ns);
		print_number(table, GREATEST, row->greatest_ns);
		print_word(table, RANK, analysis_worker_name(analysis, &analysis->workers[row->greatest]));
	}
}
