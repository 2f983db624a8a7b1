/* Several runs side by side: phases, balance and scaling, and what a run changes against another of its kind.
 */
#include "report.h"
#include "analyses/load_imbalance.h"
#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct figures {
	double gpus;
	double iteration_ns;
	double samples;
	double imbalance;
	struct report_communication communication;
	const char *program;
};

static struct figures figures_of(struct run *run)
{
	const struct analysis *analysis = &run->analysis;

	return (struct figures){
		.gpus = (double)analysis->worker_count,
		.iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean,
		.samples = analysis_samples(analysis),
		.imbalance = analysis->worker_count > 1 ? load_imbalance_computing(analysis) : NAN,
		.communication = report_communication(analysis),
		.program = analysis->timeline.processes[0].program,
	};
}

bool report_has_phase(const struct run *runs, size_t run_count, enum phase phase)
{
	for (size_t r = 0; r < run_count; r++)
		if (analysis_phase(
			    runs[r].analysis.workers, runs[r].analysis.worker_count, phase, ANALYSIS_BUSY)
				.mean > 0)
			return true;
	return false;
}

/* A row a run, as Table 3.2: exclusive times, so that a row adds up to t_iter. A page has only the phases
 * that some run has. */
static void phases_table(struct run *runs, size_t run_count, struct print_table *table, enum print_form form)
{
	enum { SHOWN = PHASE_UPDATE + 1 };
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t program = print_column(table, "program", NULL, PRINT_WORD);
	size_t gpus = print_column(table, "gpus", form == PRINT_HTML ? "GPUs" : "N_g", PRINT_COUNT);
	size_t columns[SHOWN], deviations[SHOWN], busy[SHOWN], other, iteration, iteration_deviation;

	for (int i = 0; i < SHOWN; i++) {
		const bool page = form == PRINT_HTML;
		const char *title = phase_symbols[i] + (page ? 0 : strlen("t_"));

		if (page && !report_has_phase(runs, run_count, (enum phase)i))
			title = NULL;
		columns[i] = print_column(table, phase_symbols[i], title, PRINT_TIME);
		table->columns[columns[i]].swatch = phase_keys[i];
		deviations[i] = print_column(
			table, arena_format(table->arena, "%s_sd", phase_symbols[i]), NULL, PRINT_TIME);
		busy[i] = print_column(
			table, arena_format(table->arena, "%s_busy", phase_symbols[i]), NULL, PRINT_TIME);
	}
	other = print_column(table, "other", form == PRINT_HTML ? "other, idle" : "other", PRINT_TIME);
	iteration = print_column(table, "t_iter", "t_iter", PRINT_TIME);
	iteration_deviation = print_column(table, "t_iter_sd", NULL, PRINT_TIME);
	for (size_t r = 0; r < run_count; r++) {
		const struct analysis *analysis = &runs[r].analysis;
		const struct analysis_worker *workers = analysis->workers;
		size_t count = analysis->worker_count;
		struct analysis_statistics all = analysis_iteration(workers, count);
		double rest = all.mean;

		print_row(table);
		print_word(table, label, runs[r].label);
		print_word(table, program, analysis->timeline.processes[0].program);
		print_number(table, gpus, (double)count);
		for (int i = 0; i < SHOWN; i++) {
			struct analysis_statistics statistics =
				analysis_phase(workers, count, (enum phase)i, ANALYSIS_EXCLUSIVE);

			rest -= statistics.mean;
			if (!analysis_phase_known(analysis, (enum phase)i))
				continue;
			print_number(table, columns[i], statistics.mean);
			print_number(table, deviations[i], statistics.deviation);
			print_number(table, busy[i],
				analysis_phase(workers, count, (enum phase)i, ANALYSIS_BUSY).mean);
		}
		print_number(table, other, rest);
		print_number(table, iteration, all.mean);
		print_number(table, iteration_deviation, all.deviation);
	}
}

/* The first run of the same program on one GPU. */
static size_t find_single(const struct figures *figures, size_t count, size_t run)
{
	for (size_t i = 0; i < count; i++)
		if (figures[i].gpus == 1 && strcmp(figures[i].program, figures[run].program) == 0)
			return i;
	return count;
}

/* (3.6), with the samples of an iteration in place of N_g times those of one GPU: the same where they are
 * equal. */
static double speedup(const struct figures *single, const struct figures *figures)
{
	double work = single->samples > 0 && figures->samples > 0 ? figures->samples / single->samples
								  : figures->gpus;

	return figures->iteration_ns > 0 ? work * single->iteration_ns / figures->iteration_ns : NAN;
}

/* A page, which has no table of differences, compares with the first run too. */
static void scaling_table(struct run *runs, const struct figures *figures, size_t run_count,
	struct print_table *table, enum print_form form)
{
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t gpus = print_column(table, "gpus", form == PRINT_HTML ? "GPUs" : "N_g", PRINT_COUNT);
	size_t samples = print_column(table, "samples", "samples", PRINT_COUNT);
	size_t first = print_column(table, NULL, form == PRINT_HTML ? "× first run" : NULL, PRINT_REAL);
	size_t speed = print_column(table, "speedup", "speed-up", PRINT_REAL);
	size_t efficiency = print_column(table, "efficiency", "eff.", PRINT_SHARE);
	size_t imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	size_t busy = print_column(table, "communication_busy", "t_c", PRINT_TIME);
	size_t exposed = print_column(table, "communication_exposed", "exposed", PRINT_TIME);
	size_t wait = print_column(table, "communication_wait", "waiting", PRINT_TIME);

	table->columns[first].csv_key = "";
	for (size_t r = 0; r < run_count; r++) {
		size_t single = find_single(figures, run_count, r);

		print_row(table);
		print_word(table, label, runs[r].label);
		print_number(table, gpus, figures[r].gpus);
		if (figures[r].samples > 0)
			print_number(table, samples, figures[r].samples);
		if (figures[r].iteration_ns > 0)
			print_number(table, first, figures[0].iteration_ns / figures[r].iteration_ns);
		if (single < run_count) {
			double times = speedup(&figures[single], &figures[r]);

			print_number(table, speed, times);
			print_number(table, efficiency, times / figures[r].gpus);
		}
		print_number(table, imbalance, figures[r].imbalance);
		print_number(table, busy, figures[r].communication.busy_ns);
		print_number(table, exposed, figures[r].communication.exposed_ns);
		print_number(table, wait, figures[r].communication.wait_ns);
	}
}

/* Programs by numbers of GPUs, as Table 3.4. The first run of each kind counts. */
static void imbalance_table(const struct figures *figures, size_t run_count, struct print_table *table)
{
	double *sizes = mem_alloc(run_count, sizeof(*sizes));
	size_t *columns = mem_alloc(run_count, sizeof(*columns)), size_count = 0;
	size_t program = print_column(table, "program", "program", PRINT_WORD);

	for (size_t r = 0; r < run_count; r++) {
		bool known = figures[r].gpus < 2;

		for (size_t i = 0; i < size_count && !known; i++)
			known = sizes[i] == figures[r].gpus;
		if (!known)
			sizes[size_count++] = figures[r].gpus;
	}
	statistics_sort(sizes, size_count);
	for (size_t i = 0; i < size_count; i++)
		columns[i] = print_column(table, arena_format(table->arena, "gpus_%.0f", sizes[i]),
			arena_format(table->arena, "%.0f GPUs", sizes[i]), PRINT_REAL);
	for (size_t r = 0; r < run_count; r++) {
		bool first = size_count > 0;

		for (size_t i = 0; i < r && first; i++)
			first = strcmp(figures[i].program, figures[r].program) != 0;
		if (!first)
			continue;
		print_row(table);
		print_word(table, program, figures[r].program);
		for (size_t i = 0; i < size_count; i++)
			for (size_t other = run_count; other-- > r;)
				if (figures[other].gpus == sizes[i] &&
					strcmp(figures[other].program, figures[r].program) == 0)
					print_number(table, columns[i], figures[other].imbalance);
	}
	free(sizes);
	free(columns);
}

static double change(double before, double after)
{
	return before > 0 ? after / before - 1 : NAN;
}

/* Runs of the same program and size, against the first of them. */
static void difference_table(
	struct run *runs, const struct figures *figures, size_t run_count, struct print_table *table)
{
	size_t label = print_column(table, "run", "run", PRINT_WORD);
	size_t against = print_column(table, "against", "against", PRINT_WORD);
	size_t iteration = print_column(table, "t_iter", "t_iter", PRINT_SHARE);
	size_t busy = print_column(table, "t_c_busy", "t_c busy", PRINT_SHARE);
	size_t exposed = print_column(table, "t_c_exposed", "t_c exposed", PRINT_SHARE);

	for (size_t r = 0; r < run_count; r++)
		for (size_t i = 0; i < r; i++) {
			if (figures[i].gpus != figures[r].gpus || figures[i].gpus == 0 ||
				strcmp(figures[i].program, figures[r].program) != 0)
				continue;
			print_row(table);
			print_word(table, label, runs[r].label);
			print_word(table, against, runs[i].label);
			print_number(
				table, iteration, change(figures[i].iteration_ns, figures[r].iteration_ns));
			print_number(table, busy,
				change(figures[i].communication.busy_ns, figures[r].communication.busy_ns));
			print_number(table, exposed,
				change(figures[i].communication.exposed_ns,
					figures[r].communication.exposed_ns));
			break;
		}
}

struct tables {
	struct arena arena;
	struct print_table phases, scaling, imbalance, difference;
};

static void fill(struct tables *tables, struct run *runs, size_t run_count, enum print_form form)
{
	struct figures *figures = mem_alloc(run_count, sizeof(*figures));

	memset(tables, 0, sizeof(*tables));
	for (size_t r = 0; r < run_count; r++)
		figures[r] = figures_of(&runs[r]);
	print_init(&tables->phases, &tables->arena);
	phases_table(runs, run_count, &tables->phases, form);
	print_init(&tables->scaling, &tables->arena);
	scaling_table(runs, figures, run_count, &tables->scaling, form);
	print_init(&tables->imbalance, &tables->arena);
	imbalance_table(figures, run_count, &tables->imbalance);
	print_init(&tables->difference, &tables->arena);
	difference_table(runs, figures, run_count, &tables->difference);
	free(figures);
}

static void release(struct tables *tables)
{
	print_free(&tables->phases);
	print_free(&tables->scaling);
	print_free(&tables->imbalance);
	print_free(&tables->difference);
	arena_free(&tables->arena);
}

void report_runs(struct run *runs, size_t run_count, FILE *out)
{
	struct tables tables;
	bool warned = false;

	fill(&tables, runs, run_count, PRINT_TEXT);
	run_print_devices(runs, run_count, out);
	print_text(&tables.phases, "Phases, mean exclusive time of an iteration", out);
	fputc('\n', out);
	print_text(&tables.scaling, "Scaling, balance and communication", out);
	if (tables.imbalance.row_count > 0) {
		fputc('\n', out);
		print_text(&tables.imbalance, "Load imbalance factor (3.8) of computing time", out);
	}
	if (tables.difference.row_count > 0) {
		fputc('\n', out);
		print_text(
			&tables.difference, "Change against the first run of the same program and size", out);
	}
	for (size_t r = 0; r < run_count; r++) {
		const char **warnings = run_warnings(&runs[r]);

		for (size_t i = 0; warnings[i]; i++) {
			if (!warned)
				fputc('\n', out);
			warned = true;
			print_paragraph(arena_format(&tables.arena, "Warning: %s.",
						print_clean(&tables.arena, warnings[i])),
				2, out);
		}
	}
	release(&tables);
}

cJSON *report_runs_json(struct run *runs, size_t run_count)
{
	cJSON *object = cJSON_CreateObject();
	struct tables tables;
	cJSON *list = cJSON_AddArrayToObject(object, "runs");

	for (size_t r = 0; r < run_count; r++) {
		cJSON *item = cJSON_CreateObject();

		cJSON_AddStringToObject(item, "run", runs[r].label);
		run_device_json(&runs[r], item);
		cJSON_AddItemToArray(list, item);
	}
	fill(&tables, runs, run_count, PRINT_JSON);
	cJSON_AddItemToObject(object, "phases", print_json(&tables.phases));
	cJSON_AddItemToObject(object, "scaling", print_json(&tables.scaling));
	cJSON_AddItemToObject(object, "imbalance", print_json(&tables.imbalance));
	cJSON_AddItemToObject(object, "difference", print_json(&tables.difference));
	release(&tables);
	return object;
}

void report_runs_csv(struct run *runs, size_t run_count, FILE *out)
{
	struct tables tables;

	fill(&tables, runs, run_count, PRINT_CSV);
	print_csv(&tables.phases, out);
	release(&tables);
}

void report_runs_html(struct run *runs, size_t run_count, FILE *out)
{
	struct tables tables;

	fill(&tables, runs, run_count, PRINT_HTML);
	print_html(&tables.phases, out);
	print_html(&tables.scaling, out);
	release(&tables);
}
