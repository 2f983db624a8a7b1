/* The tables of one run: phases, phases by rank, and all of it for programs. */
#include "report.h"
#include "analyses/ranges.h"
#include "analyses/load_imbalance.h"

#include <math.h>
#include <stdlib.h>

const char *const report_iteration_kinds[ITERATION_KINDS] = {
	"used", "warmup", "uneven", "different", "cut", "untimed"};

const char *report_phase(int phase)
{
	return phase >= PHASE_OTHER ? phase_symbols[phase] : phase_keys[phase];
}

static bool has_time(const struct analysis *analysis, enum phase phase)
{
	return analysis_phase(analysis->workers, analysis->worker_count, phase, ANALYSIS_BUSY).mean > 0 ||
	       analysis_phase(analysis->workers, analysis->worker_count, phase, ANALYSIS_EXCLUSIVE).mean > 0;
}

/* Text does without the rows of what takes no time, or is not known. */
static bool is_shown(const struct analysis *analysis, int phase, bool text)
{
	return !text || (analysis_phase_known(analysis, (enum phase)phase) &&
				has_time(analysis, (enum phase)phase));
}

/* "backward, update" */
static const char *list_phases(struct analysis *analysis, bool known)
{
	struct arena *arena = &analysis->timeline.arena;
	const char *text = "";

	/* what few programs have is not missed */
	for (int phase = 0; phase < PHASE_WORK_COUNT; phase++)
		if (phase != PHASE_GRAPH && phase != PHASE_OTHER &&
			analysis_phase_known(analysis, (enum phase)phase) == known &&
			!has_time(analysis, (enum phase)phase))
			text = arena_format(arena, "%s%s%s", text, *text ? ", " : "", phase_titles[phase]);
	return text;
}

const char *report_absent_text(struct analysis *analysis)
{
	struct arena *arena = &analysis->timeline.arena;
	const char *none = list_phases(analysis, true), *unknown = list_phases(analysis, false);

	return arena_format(arena, "%s%s%s%s%s%s", *none ? "No time: " : "", none, *none ? "." : "",
		*none && *unknown ? " " : "", *unknown ? "Not known: " : "",
		*unknown ? arena_format(arena, "%s.", unknown) : "");
}

bool report_phases_unlabelled(const struct analysis *analysis)
{
	for (int phase = 0; phase <= PHASE_UPDATE; phase++)
		if (!analysis_phase_known(analysis, (enum phase)phase))
			return true;
	return false;
}

/* Per phase: means over all ranks and iterations, share of the iteration, imbalance. */
void report_phase_table(struct analysis *analysis, struct print_table *table, bool text)
{
	const struct analysis_worker *workers = analysis->workers;
	size_t count = analysis->worker_count;
	size_t phase_column = print_column(table, "phase", "phase", PRINT_WORD);
	size_t symbol = print_column(table, "symbol", NULL, PRINT_WORD);
	size_t busy = print_column(table, "busy", "busy", PRINT_TIME);
	size_t busy_deviation = print_column(table, "busy_sd", "sd", PRINT_TIME);
	size_t busy_median = print_column(table, "busy_median", NULL, PRINT_TIME);
	size_t exclusive = print_column(table, "exclusive", "exclusive", PRINT_TIME);
	size_t exclusive_deviation = print_column(table, "exclusive_sd", "sd", PRINT_TIME);
	size_t exclusive_median = print_column(table, "exclusive_median", NULL, PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	struct analysis_statistics all = analysis_iteration(workers, count);
	double *means = mem_alloc(count, sizeof(*means));

	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		struct analysis_statistics statistics =
			analysis_phase(workers, count, (enum phase)phase, ANALYSIS_BUSY);
		bool idle = phase >= PHASE_WORK_COUNT;

		if (!is_shown(analysis, phase, text))
			continue;
		print_row(table);
		print_term(table, phase_column, report_phase(phase), phase_titles[phase]);
		print_word(table, symbol, phase_symbols[phase]);
		if (!analysis_phase_known(analysis, (enum phase)phase))
			continue;
		if (!idle) {
			print_number(table, busy, statistics.mean);
			print_number(table, busy_deviation, statistics.deviation);
			print_number(table, busy_median, statistics.median);
			for (size_t i = 0; i < count; i++)
				means[i] =
					analysis_phase(&workers[i], 1, (enum phase)phase, ANALYSIS_BUSY).mean;
			if (count > 1)
				print_number(table, imbalance, load_imbalance(means, count));
		}
		statistics = analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE);
		print_number(table, exclusive, statistics.mean);
		print_number(table, exclusive_deviation, statistics.deviation);
		print_number(table, exclusive_median, statistics.median);
		print_number(table, share, all.mean > 0 ? statistics.mean / all.mean : NAN);
	}
	table->rule = true;
	print_row(table);
	print_term(table, phase_column, "iteration", analysis->is_whole ? "recording" : "iteration");
	print_word(table, symbol, "t_iter");
	print_number(table, exclusive, all.mean);
	print_number(table, exclusive_deviation, all.deviation);
	print_number(table, exclusive_median, all.median);
	print_number(table, share, all.mean > 0 ? 1 : NAN);
	free(means);
}

/* Phases by rank, in one accounting: those that take time on some rank. */
void report_rank_table(
	struct analysis *analysis, struct print_table *table, enum analysis_accounting accounting)
{
	size_t count = analysis->worker_count;
	size_t *columns = mem_alloc(count, sizeof(*columns));
	size_t phase_column = print_column(table, "phase", "phase", PRINT_WORD);

	for (size_t i = 0; i < count; i++) {
		const char *name = analysis_worker_name(analysis, &analysis->workers[i]);

		columns[i] = print_column(table, name, name, PRINT_TIME);
	}
	for (int phase = 0; phase < PHASE_COUNT; phase++) {
		if ((accounting == ANALYSIS_BUSY && phase >= PHASE_WORK_COUNT) ||
			!(analysis_phase(analysis->workers, count, (enum phase)phase, accounting).mean > 0))
			continue;
		print_row(table);
		print_term(table, phase_column, report_phase(phase), phase_titles[phase]);
		for (size_t i = 0; i < count; i++)
			print_number(table, columns[i],
				analysis_phase(&analysis->workers[i], 1, (enum phase)phase, accounting).mean);
	}
	if (accounting == ANALYSIS_EXCLUSIVE) {
		table->rule = true;
		print_row(table);
		print_word(table, phase_column, "iteration");
		for (size_t i = 0; i < count; i++)
			print_number(table, columns[i], analysis_iteration(&analysis->workers[i], 1).mean);
	}
	free(columns);
}

/* One row for each worker and phase. */
void report_worker_table(struct run *run, struct print_table *table)
{
	struct analysis *analysis = &run->analysis;
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t device = print_column(table, "device", "gpu", PRINT_COUNT);
	size_t phase_column = print_column(table, "phase", "phase", PRINT_WORD);
	size_t iterations = print_column(table, "iterations", "iterations", PRINT_COUNT);
	size_t columns[2][3];
	bool known[PHASE_COUNT + 1] = {[PHASE_COUNT] = true}; /* the last: the iteration */

	for (int phase = 0; phase < PHASE_COUNT; phase++)
		known[phase] = analysis_phase_known(analysis, (enum phase)phase);
	for (int accounting = 0; accounting < 2; accounting++) {
		static const char *const keys[2][3] = {
			{"busy_mean", "busy_sd", "busy_median"},
			{"exclusive_mean", "exclusive_sd", "exclusive_median"},
		};

		for (int i = 0; i < 3; i++)
			columns[accounting][i] =
				print_column(table, keys[accounting][i], keys[accounting][i], PRINT_TIME);
	}
	for (size_t i = 0; i < analysis->worker_count; i++)
		for (int phase = 0; phase <= PHASE_COUNT; phase++) {
			const struct analysis_worker *worker = &analysis->workers[i];

			print_row(table);
			print_number(table, rank, analysis->timeline.processes[worker->worker->process].rank);
			print_number(table, device, worker->worker->device);
			print_word(
				table, phase_column, phase < PHASE_COUNT ? phase_keys[phase] : "iteration");
			print_number(table, iterations, (double)worker->used_count);
			if (!known[phase])
				continue;
			for (int accounting = 0; accounting < 2; accounting++) {
				struct analysis_statistics statistics =
					phase < PHASE_COUNT ? analysis_phase(worker, 1, (enum phase)phase,
								      (enum analysis_accounting)accounting)
							    : analysis_iteration(worker, 1);

				print_number(table, columns[accounting][0], statistics.mean);
				print_number(table, columns[accounting][1], statistics.deviation);
				print_number(table, columns[accounting][2], statistics.median);
			}
		}
}

/* ---- ranges ---- */

void report_ranges(struct run *run, enum print_form form, FILE *out)
{
	struct range_table ranges;
	struct print_table table;

	ranges_find(&run->analysis, &ranges);
	print_init(&table, &run->analysis.timeline.arena);
	ranges_table(&table, &ranges);
	if (form == PRINT_TEXT && table.row_count == 0)
		print_paragraph("The trace has no ranges of NVTX or record_function.", 0, out);
	else
		print_part(&table, form, NULL, "ranges", "Ranges of the program and of libraries, all ranks",
			form == PRINT_TEXT, out);
	print_free(&table);
	ranges_free(&ranges);
}

void report_ranges_json(struct run *run, cJSON *object)
{
	struct range_table ranges;
	struct print_table table;

	ranges_find(&run->analysis, &ranges);
	print_init(&table, &run->analysis.timeline.arena);
	ranges_table(&table, &ranges);
	if (table.row_count)
		cJSON_AddItemToObject(object, "ranges", print_json(&table));
	print_free(&table);
	ranges_free(&ranges);
}
