/* The layers of a run as a table: see layer_table.h. */
#include "layer_table.h"
#include "analyses/roofline/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct columns {
	bool again;   /* some layers go forward again */
	bool waiting; /* ranks wait for each other in exchanges, as far as is known */
	const struct roofline *roofline;
	size_t flops, recompute, wait, holders, rank, device, layer, kind, sizes, input, activation, site,
		parameters, times[4], deviations[4], share;
};

static bool any_module(const struct analysis *analysis)
{
	for (size_t w = 0; w < analysis->worker_count; w++)
		for (size_t i = 0; i < analysis->workers[w].layers.count; i++)
			if (analysis->workers[w].layers.items[i].module[0])
				return true;
	return false;
}

static bool any_again(const struct analysis *analysis)
{
	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct layer_list *layers = &analysis->workers[w].layers;

		if (layers->given_again)
			return true;
		for (size_t i = 0; i < layers->core_count; i++)
			if (layers->core_roles[i].again)
				return true;
	}
	return false;
}

/* Has an exchange been matched over several ranks, and all of them? Of absent ranks it is not known who
 * waits. */
static bool knows_waiting(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->timeline.process_count; i++)
		if (analysis->timeline.processes[i].world > (int32_t)analysis->worker_count)
			return false;
	return analysis->worker_count > 1 &&
	       analysis_phase(analysis->workers, analysis->worker_count, PHASE_COMMUNICATION, ANALYSIS_BUSY)
			       .mean > 0;
}

static void print_wait(struct print_table *table, const struct columns *columns,
	const struct analysis_worker *workers, size_t count, const struct layer *layer)
{
	if (columns->waiting)
		print_number(table, columns->wait,
			analysis_layer(workers, count, layer->name, PHASE_LAYER_WAIT).mean);
}

static void add_columns(
	struct print_table *table, struct columns *columns, bool ranks, bool modules, bool stages)
{
	if (stages)
		columns->holders = print_column(table, "ranks", "ranks", PRINT_WORD);
	columns->rank = print_column(table, "rank", ranks ? "rank" : NULL, PRINT_COUNT);
	columns->device = print_column(table, "device", ranks ? "gpu" : NULL, PRINT_COUNT);
	columns->layer = print_column(table, "layer", "layer", PRINT_WORD);
	columns->kind = print_column(table, "kind", modules ? "kind" : NULL, PRINT_WORD);
	columns->sizes = print_column(table, "sizes", "sizes", PRINT_WORD);
	columns->input = print_column(table, "input", NULL, PRINT_WORD);
	columns->activation = print_column(table, "activation", "act", PRINT_WORD);
	columns->parameters = print_column(table, "parameters", "params", PRINT_COUNT);
	for (int i = 0; i < 4; i++) {
		columns->times[i] = print_column(
			table, phase_keys[phase_of_column[i]], phase_symbols[phase_of_column[i]], PRINT_TIME);
		table->columns[columns->times[i]].swatch = phase_keys[phase_of_column[i]];
	}
	if (columns->again)
		columns->recompute = print_column(table, "recompute", "t_r", PRINT_TIME);
	columns->wait = print_column(table, "wait", columns->waiting ? "wait" : NULL, PRINT_TIME);
	columns->share = print_column(table, "share", "share", PRINT_SHARE);
	table->columns[columns->share].bar = "";
	for (int i = 0; i < 4; i++)
		columns->deviations[i] = print_column(table,
			arena_format(table->arena, "%s_sd", phase_keys[phase_of_column[i]]), NULL,
			PRINT_TIME);
	columns->flops = print_column(table, "flops", NULL, PRINT_COUNT);
	columns->site = print_column(table, "site", NULL, PRINT_WORD);
}

double layer_time(const struct analysis_worker *workers, size_t count, const char *name)
{
	double sum_ns = 0;

	for (int i = 0; i < 4; i++)
		sum_ns += analysis_layer(workers, count, name, (enum phase_layer_column)i).mean;
	return sum_ns;
}

/* Is all of the layer's time in this column inside that of a graph, or divided by sizes that are not known?
 */
static bool is_unknown(const struct analysis_worker *workers, size_t count, const struct layer *layer,
	int column, double mean_ns)
{
	if ((column == PHASE_LAYER_COMMUNICATION || column == PHASE_LAYER_UPDATE) &&
		!layer_list_is_sized(&workers->layers))
		return true;
	for (size_t w = 0; w < count && !(mean_ns > 0); w++) {
		const struct layer_list *layers = &workers[w].layers;

		for (size_t i = 0; i < layers->count; i++)
			if (strcmp(layers->items[i].name, layer->name) == 0)
				return workers[w].phases.unknown[i * PHASE_LAYER_COLUMNS + (size_t)column];
	}
	return false;
}

/* Of the bar of a layer's times. */
static void add_piece(struct print_table *table, size_t column, int i, double from_ns, double ns)
{
	print_piece(table, column,
		(struct print_piece){
			.start = from_ns,
			.end = from_ns + ns,
			.kind = phase_keys[phase_of_column[i]],
			.tip = arena_format(table->arena, "%s: %s", phase_symbols[phase_of_column[i]],
				print_time(table->arena, ns)),
		});
}

static void add_layer(struct print_table *table, const struct columns *columns,
	const struct analysis *analysis, const struct analysis_worker *workers, size_t count,
	const struct layer *layer, double total_ns, bool ranks)
{
	double from_ns = 0, flops = roofline_layer_flops(columns->roofline, layer->name);

	print_row(table);
	if (flops >= 0)
		print_number(table, columns->flops, flops);
	if (ranks) {
		print_number(
			table, columns->rank, analysis->timeline.processes[workers->worker->process].rank);
		print_number(table, columns->device, workers->worker->device);
	}
	print_word(table, columns->layer, layer_title(layer));
	print_word(table, columns->kind, layer->name);
	print_word(table, columns->sizes, layer->text);
	print_word(table, columns->input, layer->input);
	print_word(table, columns->activation, layer->activation);
	print_word(table, columns->site, layer->site);
	if (!layer->partly_sized)
		print_number(table, columns->parameters, (double)layer->parameter_count);
	for (int i = 0; i < 4; i++) {
		struct analysis_statistics statistics =
			analysis_layer(workers, count, layer->name, (enum phase_layer_column)i);

		if (is_unknown(workers, count, layer, i, statistics.mean))
			continue;
		print_number(table, columns->times[i], statistics.mean);
		print_number(table, columns->deviations[i], statistics.deviation);
		add_piece(table, columns->share, i, from_ns, statistics.mean);
		from_ns += statistics.mean;
	}
	if (columns->again)
		print_number(table, columns->recompute,
			analysis_layer(workers, count, layer->name, PHASE_LAYER_RECOMPUTE).mean);
	print_wait(table, columns, workers, count, layer);
	if (total_ns > 0)
		print_number(table, columns->share, layer_time(workers, count, layer->name) / total_ns);
}

static double add_total(struct print_table *table, const struct columns *columns,
	const struct analysis_worker *workers, size_t count, const struct layer_list *layers, bool print)
{
	double total_ns = 0, parameters = 0, wait_ns = 0, sums_ns[4] = {0};

	for (size_t l = 0; l < layers->count; l++) {
		parameters += layers->items[l].partly_sized ? NAN : (double)layers->items[l].parameter_count;
		wait_ns += analysis_layer(workers, count, layers->items[l].name, PHASE_LAYER_WAIT).mean;
		for (int i = 0; i < 4; i++)
			sums_ns[i] += analysis_layer(
				workers, count, layers->items[l].name, (enum phase_layer_column)i)
					      .mean;
	}
	for (int i = 0; i < 4; i++)
		total_ns += sums_ns[i];
	if (print) {
		table->rule = true;
		print_row(table);
		print_word(table, columns->layer, "all");
		if (parameters > 0)
			print_number(table, columns->parameters, parameters);
		for (int i = 0; i < 4; i++)
			print_number(table, columns->times[i], sums_ns[i]);
		if (columns->waiting)
			print_number(table, columns->wait, wait_ns);
		if (total_ns > 0)
			print_number(table, columns->share, 1);
	}
	return total_ns;
}

/* Of a pipeline: each layer once, with the ranks that have it; then the sum over all. */
static void fill_stages(
	struct print_table *table, const struct columns *columns, const struct analysis *analysis, bool total)
{
	struct layer_list all = {0};
	double total_ns;

	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < layers->count; l++)
			*MEM_PUSH(all.items, all.count, all.room) = layers->items[l];
	}
	total_ns = add_total(table, columns, analysis->workers, analysis->worker_count, &all, false);
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct analysis_worker *first = stage_first(analysis, s);
		const char *holders = "";

		for (size_t w = 0; w < analysis->worker_count; w++)
			if (analysis->workers[w].stage == s)
				holders = arena_format(table->arena, "%s%s%d", holders, holders[0] ? " " : "",
					analysis->timeline.processes[analysis->workers[w].worker->process]
						.rank);
		table->rule = s > 0;
		for (size_t l = 0; l < first->layers.count; l++) {
			add_layer(table, columns, analysis, analysis->workers, analysis->worker_count,
				&first->layers.items[l], total_ns, false);
			print_word(table, columns->holders, holders);
		}
	}
	if (total && all.count > 0)
		add_total(table, columns, analysis->workers, analysis->worker_count, &all, true);
	free(all.items);
}

/* Of the first worker with the times of all, or of each. */
static void fill_workers(struct print_table *table, const struct columns *columns,
	const struct analysis *analysis, bool ranks, bool total)
{
	for (size_t w = 0; w < (ranks || analysis->worker_count == 0 ? analysis->worker_count : 1); w++) {
		const struct analysis_worker *workers = &analysis->workers[w];
		size_t count = ranks ? 1 : analysis->worker_count;
		const struct layer_list *layers = &workers->layers;
		double total_ns = add_total(table, columns, workers, count, layers, false);

		table->rule = w > 0;
		for (size_t l = 0; l < layers->count; l++)
			add_layer(
				table, columns, analysis, workers, count, &layers->items[l], total_ns, ranks);
		if (total && layers->count > 0)
			add_total(table, columns, workers, count, layers, true);
	}
}

void layer_table(struct print_table *table, const struct analysis *analysis, bool ranks, enum print_form form)
{
	const bool total = form == PRINT_TEXT;
	struct roofline roofline;
	struct columns columns = {
		.again = any_again(analysis), .waiting = knows_waiting(analysis), .roofline = &roofline};

	roofline_find(analysis, &(struct roofline_options){0}, &roofline);
	add_columns(table, &columns, ranks, any_module(analysis), analysis->stage_count > 1 && !ranks);
	if (analysis->stage_count > 1 && !ranks)
		fill_stages(table, &columns, analysis, total);
	else
		fill_workers(table, &columns, analysis, ranks, total);
	roofline_free(&roofline);
}
