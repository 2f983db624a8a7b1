/* The report of one run, and the comparison of several: what cmd_report prints. */
#ifndef OUTPUT_REPORT_H
#define OUTPUT_REPORT_H

#include "base/table.h"
#include "reconstruct/run.h"

void report_run(struct run *run, bool ranks, FILE *out); /* text */
cJSON *report_run_json(struct run *run);
void report_run_csv(struct run *run, FILE *out);
/* The calls of the host and the idle time of the GPU in each, as text or CSV. */
void report_calls(struct run *run, enum print_form form, FILE *out);
/* The ranges that the program and its libraries name, likewise; and as "ranges" of the object, where there are any. */
void report_ranges(struct run *run, enum print_form form, FILE *out);
void report_ranges_json(struct run *run, cJSON *object);
void report_iterations_csv(struct run *runs, size_t run_count, FILE *out);

void report_runs(struct run *runs, size_t run_count, FILE *out); /* text */
cJSON *report_runs_json(struct run *runs, size_t run_count);
void report_runs_csv(struct run *runs, size_t run_count, FILE *out);
void report_runs_html(struct run *runs, size_t run_count, FILE *out); /* phases and scaling */

/* Does any of the runs spend time on the phase? */
bool report_has_phase(const struct run *runs, size_t run_count, enum phase phase);

extern const char *const report_iteration_kinds[ITERATION_KINDS];

/* A phase as JSON and CSV of the report have it: work by its key, the rest as "idle: host". */
const char *report_phase(int phase);

/* (3.3) from busy times, in ns: t_io + t_h2d + t_md + max(t_f + t_b + t_c) + t_u, means over iterations; a
 * graph of several phases counts with the maximum. */
double report_equation(const struct analysis *analysis);

/* "the equation explains 95.7%; ...", or that it explains nothing of the iteration. `unknown`: some phases are, so
 * that they are in what it leaves. */
const char *report_equation_rest(
	struct arena *arena, double equation_ns, double iteration_ns, bool unknown);

/* How much of the aggregation is exposed: "1.023 ms (70.8%) of it", or "all". */
const char *report_exposed_text(struct arena *arena, double exposed_ns, double busy_ns);

/* Busy and exposed time of the aggregation and waiting in it, means in ns over ranks and iterations. */
struct report_communication {
	double busy_ns, exposed_ns, wait_ns;
};
struct report_communication report_communication(const struct analysis *analysis);

/* Is there no trace of some of the job's ranks? */
bool report_ranks_absent(const struct analysis *analysis);

/* What follows from the phases, as text below their tables (report_conclusions.c). */
void report_conclusions(struct run *run, FILE *out);

/* Whether labelled phases are all that is known, and one of those in the equations has no label. */
bool report_phases_unlabelled(const struct analysis *analysis);

/* Tables of one run (report_tables.c). Text does without the rows of phases without time: "No time: update. Not
 * known: input.", or "", in the timeline's arena, names those. */
const char *report_absent_text(struct analysis *analysis);
void report_phase_table(struct analysis *analysis, struct print_table *table, bool text);
void report_rank_table(
	struct analysis *analysis, struct print_table *table, enum analysis_accounting accounting);
void report_worker_table(struct run *run, struct print_table *table); /* a row for each worker and phase */

/* Which part of the run was recorded; nothing where all was (report_recording.c). */
void report_windows(struct analysis *analysis, FILE *out);

/* That traces have no end; nothing where all have. */
void report_end(struct analysis *analysis, FILE *out);

/* What is missing in the traces, and why: one line, before all that it may make wrong. Nothing where nothing
 * is. */
void report_losses(struct analysis *analysis, FILE *out);

/* Of a long run, not all of which was read: how long its steps took. */
void report_pace(struct analysis *analysis, FILE *out);
void report_pace_json(const struct analysis *analysis, cJSON *object);

/* How much of the device time rests on assumptions of a modelled device; nothing where it is little. */
void report_assumed(struct analysis *analysis, FILE *out);

/* What recording cost, and file input of worker processes without a trace; nothing where neither is known. */
void report_recording(struct analysis *analysis, FILE *out);
void report_recording_json(const struct analysis *analysis, cJSON *object); /* all four */

/* "Iterations: 29 of 30 used on each rank, found by the model's updates, confidence 100%." (report_found.c).
 * Without iterations: why, and that the recording is shown as one. */
/* "Phases and layers: as PyTorch says them, for 99.8% of the computing time.", of the rank of which it says the least; "":
 * it says nothing. */
const char *report_told_text(const struct analysis *analysis, struct arena *arena);
const char *report_iterations_text(const struct analysis *analysis, struct arena *arena);
/* A sentence where all work goes forward, or all is communication; else "". */
const char *report_direction_text(const struct analysis *analysis);
/* How iterations were found: in words, and as a key. */
const char *report_source_text(enum iteration_source source);
const char *report_source_key(enum iteration_source source);

/* Agreement of the iterations found from the calls alone with the step markers; nothing without markers. */
void report_markers(struct analysis *analysis, FILE *out);
/* Of a run that does nothing but communicate: says so, and the calls by size. False: it is no such run. */
bool report_exchanges(struct analysis *analysis, FILE *out);
void report_candidates_json(const struct analysis *analysis, cJSON *object);
void report_found_json(const struct analysis *analysis, cJSON *object);

/* Where the device times come from: what another's recorder has, else `own`. */
const char *report_device_times(struct analysis *analysis, const char *own);

/* The recorder as a key for programs (kineto, nsight_systems, labels), or `own`. */
const char *report_device_times_key(const struct analysis *analysis, const char *own);

/* What ran where: "train_cnn on vm", or who recorded it where that is all that is known. */
const char *report_origin(struct analysis *analysis);

#endif
