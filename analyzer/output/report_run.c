/* The report of one run: what was seen and what was left out, the phases, and what follows from them. */
#include "report.h"
#include "analyses/step.h"
#include "analyses/finding/finding.h"
#include "analyses/load_imbalance.h"
#include "base/csv.h"
#include "base/text.h"
#include "import/imported_timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANK_COLUMNS 6 /* more do not fit a line */

struct left_out {
	size_t counts[ITERATION_KINDS]; /* iterations, by kind */
	size_t turns[ITERATION_KINDS];  /* one in every so many is of the kind; 0: not regularly */
	size_t gaps[4];                 /* by kind */
	double gaps_ns[4];
	size_t gap_calls[4];
};

#define LEAST_TURNS 3

static size_t turns_of(const struct iteration_list *list, enum iteration_kind kind)
{
	size_t turns = 0, count = 0, last = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].kind != kind)
			continue;
		if (count > 1 && i - last != turns)
			return 0;
		turns = count++ ? i - last : 0;
		last = i;
	}
	return count >= LEAST_TURNS && turns > 1 ? turns : 0;
}

/* Of the first worker: what was not used. The others' differ only where their traces do. */
static struct left_out count_left_out(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	struct left_out left = {0};

	memcpy(left.counts, worker->iterations.counts, sizeof(left.counts));
	for (int kind = 0; kind < ITERATION_KINDS; kind++)
		left.turns[kind] = turns_of(&worker->iterations, (enum iteration_kind)kind);
	for (size_t i = 0; i < worker->iterations.gap_count; i++) {
		const struct iteration_gap *gap = &worker->iterations.gaps[i];

		left.gaps[gap->kind]++;
		left.gap_calls[gap->kind] += gap->call_count;
		left.gaps_ns[gap->kind] +=
			(double)timeline_recorded(&analysis->timeline, process, gap->begin_ns, gap->end_ns);
	}
	return left;
}

/* Networks or heads that train by turns. */
static const char *turn_text(struct arena *arena, size_t turns)
{
	const char *which = "every other one";

	if (turns == 0)
		return "";
	if (turns != 2)
		which = arena_format(arena, "one in every %zu", turns);
	return arena_format(arena, " (%s; --iteration-every %zu takes %zu as one)", which, turns, turns);
}

static const char *append(struct arena *arena, const char *list, const char *item)
{
	return *list ? arena_format(arena, "%s, %s", list, item) : item;
}

static const char *left_out_text(struct arena *arena, const struct left_out *left)
{
	const char *text = "";

	if (left->gaps[ITERATION_SETUP])
		text = append(arena, text,
			arena_format(arena, "set-up (%s, %zu device call%s)",
				print_time(arena, left->gaps_ns[ITERATION_SETUP]),
				left->gap_calls[ITERATION_SETUP],
				pm_text_plural(left->gap_calls[ITERATION_SETUP])));
	if (left->counts[ITERATION_WARMUP])
		text = append(arena, text,
			arena_format(arena, "%zu warm-up iteration%s", left->counts[ITERATION_WARMUP],
				pm_text_plural(left->counts[ITERATION_WARMUP])));
	if (left->counts[ITERATION_UNEVEN])
		text = append(arena, text,
			arena_format(arena, "%zu iteration%s with different sizes%s",
				left->counts[ITERATION_UNEVEN],
				pm_text_plural(left->counts[ITERATION_UNEVEN]),
				turn_text(arena, left->turns[ITERATION_UNEVEN])));
	if (left->counts[ITERATION_DIFFERENT])
		text = append(arena, text,
			arena_format(arena, "%zu iteration%s with different calls%s",
				left->counts[ITERATION_DIFFERENT],
				pm_text_plural(left->counts[ITERATION_DIFFERENT]),
				turn_text(arena, left->turns[ITERATION_DIFFERENT])));
	if (left->counts[ITERATION_CUT])
		text = append(arena, text,
			arena_format(arena, "%zu iteration%s at the edges of what was read",
				left->counts[ITERATION_CUT], pm_text_plural(left->counts[ITERATION_CUT])));
	if (left->counts[ITERATION_UNTIMED])
		text = append(arena, text,
			arena_format(arena, "%zu iteration%s without device times",
				left->counts[ITERATION_UNTIMED],
				pm_text_plural(left->counts[ITERATION_UNTIMED])));
	if (left->gaps[ITERATION_EVALUATION])
		text = append(arena, text,
			arena_format(arena, "%zu stretch%s of forward work without an update (%s)",
				left->gaps[ITERATION_EVALUATION],
				left->gaps[ITERATION_EVALUATION] == 1 ? "" : "es",
				print_time(arena, left->gaps_ns[ITERATION_EVALUATION])));
	if (left->gaps[ITERATION_PARTIAL])
		text = append(arena, text,
			arena_format(arena, "%zu incomplete iteration%s", left->gaps[ITERATION_PARTIAL],
				pm_text_plural(left->gaps[ITERATION_PARTIAL])));
	if (left->gaps[ITERATION_REST])
		text = append(arena, text,
			arena_format(arena, "%zu other stretch%s (%s)", left->gaps[ITERATION_REST],
				left->gaps[ITERATION_REST] == 1 ? "" : "es",
				print_time(arena, left->gaps_ns[ITERATION_REST])));
	return *text ? text : "nothing";
}

/* Where the device times of the run come from: a name of `names`, or the last of them if not all agree. */
static const char *source_of(const struct analysis *analysis, const char *const names[4])
{
	const struct timeline *timeline = &analysis->timeline;

	for (size_t i = 1; i < timeline->process_count; i++)
		if (timeline->processes[i].device_source != timeline->processes[0].device_source)
			return names[3];
	return names[timeline->processes[0].device_source];
}

static const char *const source_texts[] = {"none", "from pairs of events around each call",
	"of each kernel, copy and set (CUPTI)", "from different sources in the processes"};
static const char *const source_keys[] = {"none", "events", "cupti", "mixed"};

/* What was subtracted from the first worker's pairs of events, whose times hold more than the work; "": nothing. */
static const char *pairs_text(struct analysis *analysis)
{
	const struct analysis_worker *worker = &analysis->workers[0];
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];

	if (process->device_source != PM_DEVICE_EVENTS || process->pair_ns == 0)
		return "";
	return arena_format(&analysis->timeline.arena, ", %" PRId64 " ns of each pair subtracted", process->pair_ns);
}

/* In how many of the first worker's iterations device times were taken; "": in all of the run. */
static const char *stretches_text(struct analysis *analysis)
{
	const struct analysis_worker *worker = &analysis->workers[0];
	const struct timeline_process *process = &analysis->timeline.processes[worker->worker->process];
	const struct iteration_list *list = &worker->iterations;
	struct arena *arena = &analysis->timeline.arena;

	if (process->timed_count == 0)
		return "";
	if (process->recorder)
		return arena_format(arena, ", complete in %zu of %zu iterations",
			list->count - list->counts[ITERATION_UNTIMED], list->count);
	return arena_format(arena,
		", in %zu of %zu iterations (the first minute of device work, then %" PRIu32
		"%% of the time; PMHOOK_DEVICE=%s has all)",
		list->count - list->counts[ITERATION_UNTIMED], list->count, process->timed_share,
		process->device_source == PM_DEVICE_EVENTS ? "events" : "cupti");
}

static void print_head(struct run *run, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	size_t processes = analysis->timeline.process_count;
	const char *gpus, *direction;
	struct left_out left;

	gpus = analysis->worker_count == 0 ? "" /* without iterations it is not known */
					   : arena_format(arena, ", %zu GPU%s", analysis->worker_count,
						     pm_text_plural(analysis->worker_count));
	print_heading(arena_format(arena, "%s: %s, %zu process%s%s", print_clean(arena, run->label),
			      report_origin(analysis), processes, processes == 1 ? "" : "es", gpus),
		out);
	run_print_device(run, out);
	report_end(analysis, out);
	report_losses(analysis, out);
	report_windows(analysis, out);
	if (report_exchanges(analysis, out) || analysis->worker_count == 0)
		return;
	left = count_left_out(analysis, &analysis->workers[0]);
	print_paragraph(report_iterations_text(analysis, arena), 2, out);
	if (*report_told_text(analysis, arena))
		print_paragraph(report_told_text(analysis, arena), 2, out);
	report_pace(analysis, out);
	report_markers(analysis, out);
	direction = report_direction_text(analysis);
	if (*direction)
		print_paragraph(direction, 2, out);
	if (analysis->timeline.cut)
		print_paragraph(
			"A file is truncated: work may be missing from any iteration, and times may be too short.",
			2, out);
	print_paragraph(arena_format(arena, "Left out: %s.", left_out_text(arena, &left)), 2, out);
	print_paragraph(arena_format(arena, "Device times: %s%s%s.",
				report_device_times(analysis, source_of(analysis, source_texts)),
				pairs_text(analysis), stretches_text(analysis)),
		2, out);
	report_assumed(analysis, out);
}

/* Micro-batches of a step: forward operations of a worker for each part of the model that it has. */
static double micro_batches(const struct labelled *job)
{
	size_t forward = 0;

	for (size_t i = 0; i < job->operation_count; i++)
		forward += job->operations[i].type == LABELLED_FORWARD;
	return (double)forward / (double)(job->worker_count * job->step_count * (size_t)job->chunk_count);
}

/* Of labelled phases alone: what the figures above cannot say, and who can. */
static void print_labels(const struct finding_list *findings, FILE *out)
{
	struct analysis *analysis = findings->analysis;
	const struct labelled *job = findings->job ? &findings->job->job : NULL;
	double idle_ns = analysis_phase(
		analysis->workers, analysis->worker_count, PHASE_IDLE_UNKNOWN, ANALYSIS_EXCLUSIVE)
				 .mean;
	double whole_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean, batches, stages;

	if (!imported_timeline_is_labels(&analysis->timeline))
		return;
	if (!job || job->stage_count < 2 || !(micro_batches(job) >= 1)) {
		print_paragraph(
			"Idle: time that no label covers. pmanalyze slowdown replays the labelled phases and "
			"computes the cost of imbalance and slow workers.",
			2, out);
		return;
	}
	batches = micro_batches(job) * (double)job->chunk_count;
	stages = (double)job->stage_count;
	print_paragraph(
		arena_format(&analysis->timeline.arena,
			"Bubbles: no label covers %.1f%% of a step (idle: unknown), mean of the ranks; in a pipeline this "
			"is mostly waiting for another stage. With balanced stages and no other delay, one forward, one "
			"backward leaves (p - 1) / (m + p - 1) = %.1f%%: %d stages, %.4g micro-batches%s. pmanalyze "
			"slowdown computes what imbalance costs.",
			100 * idle_ns / whole_ns, 100 * (stages - 1) / (batches + stages - 1),
			job->stage_count, micro_batches(job),
			job->chunk_count > 1 ? arena_format(&analysis->timeline.arena, " in each of %d parts",
						       job->chunk_count)
					     : ""),
		2, out);
}

static void print_warnings(struct run *run, FILE *out)
{
	const char **warnings = run_warnings(run);

	if (!warnings[0])
		return;
	fputc('\n', out);
	for (size_t i = 0; warnings[i]; i++)
		print_paragraph(arena_format(&run->analysis.timeline.arena, "Warning: %s.",
					print_clean(&run->analysis.timeline.arena, warnings[i])),
			2, out);
}

void report_calls(struct run *run, enum print_form form, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct finding_list findings;
	struct print_table table;

	if (analysis->worker_count == 0)
		return;
	findings_find(analysis, &findings);
	print_init(&table, &analysis->timeline.arena);
	findings_calls(&findings, form != PRINT_TEXT, &table);
	if (form == PRINT_TEXT && table.row_count == 0)
		print_paragraph("The trace has no calls of the host.", 0, out);
	else
		print_part(&table, form, NULL, "host_calls",
			arena_format(table.arena, "Calls of the host in %s, and the GPU's idle time in them",
				step_unit(analysis->is_whole)),
			form == PRINT_TEXT, out);
	print_free(&table);
	findings_free(&findings);
}

void report_run(struct run *run, bool ranks, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct finding_list findings;
	struct print_table table;
	const char *absent;

	print_head(run, out);
	if (analysis->worker_count > 0 && !analysis_is_communication(analysis)) {
		findings_find(analysis, &findings);
		fputc('\n', out);
		findings_print(&findings, FINDING_HEADLINE, out);
		fputc('\n', out);
		print_init(&table, &analysis->timeline.arena);
		report_phase_table(analysis, &table, true);
		print_text(&table, analysis->is_whole ? "Time of the recording" : "Mean time of an iteration", out);
		print_free(&table);
		absent = report_absent_text(analysis);
		if (*absent)
			print_paragraph(absent, 2, out);
		for (int accounting = 0; accounting < 2; accounting++) {
			if (analysis->worker_count < 2 ||
				(!ranks && (accounting == 0 || analysis->worker_count > MOST_RANK_COLUMNS)))
				continue;
			fputc('\n', out);
			print_init(&table, &analysis->timeline.arena);
			report_rank_table(
				analysis, &table, accounting == 0 ? ANALYSIS_BUSY : ANALYSIS_EXCLUSIVE);
			print_text(&table, accounting == 0 ? "Busy, by rank" : "Exclusive, by rank", out);
			print_free(&table);
		}
		report_conclusions(run, out);
		print_labels(&findings, out);
		findings_free(&findings);
		report_recording(analysis, out);
	}
	print_warnings(run, out);
}

void report_run_csv(struct run *run, FILE *out)
{
	struct print_table table;

	print_init(&table, &run->analysis.timeline.arena);
	report_worker_table(run, &table);
	print_csv(&table, out);
	print_free(&table);
}

void report_iterations_csv(struct run *runs, size_t run_count, FILE *out)
{
	struct csv_line line = {.out = out};

	fputs("run,rank,device,iteration,kind,start_ns,end_ns,phase,busy_ns,exclusive_ns\n", out);
	for (size_t r = 0; r < run_count; r++) {
		const struct analysis *analysis = &runs[r].analysis;

		for (size_t w = 0; w < analysis->worker_count; w++) {
			const struct analysis_worker *worker = &analysis->workers[w];
			int32_t rank = analysis->timeline.processes[worker->worker->process].rank;

			for (size_t i = 0; i < worker->iterations.count; i++) {
				const struct iteration *item = &worker->iterations.items[i];
				const struct phase_times *times = &worker->phases.times[i];

				for (int phase = 0; phase <= PHASE_COUNT; phase++) {
					bool whole = phase == PHASE_COUNT;

					csv_put(&line, runs[r].label);
					fprintf(out,
						",%d,%d,%" PRId64 ",%s,%" PRId64 ",%" PRId64 ",%s,%" PRId64
						",%" PRId64,
						rank, worker->worker->device,
						worker->pace.count ? analysis_number(analysis, worker, i)
								   : (int64_t)i,
						report_iteration_kinds[item->kind], item->begin_ns,
						item->end_ns, whole ? "iteration" : phase_keys[phase],
						whole ? times->iteration_ns : times->busy_ns[phase],
						whole ? times->iteration_ns : times->exclusive_ns[phase]);
					csv_end(&line);
				}
			}
		}
	}
}

static void add_left_out(cJSON *object, const struct left_out *left)
{
	cJSON *out = cJSON_AddObjectToObject(object, "left_out");

	cJSON_AddNumberToObject(out, "setup_ns", left->gaps_ns[ITERATION_SETUP]);
	cJSON_AddNumberToObject(out, "setup_calls", (double)left->gap_calls[ITERATION_SETUP]);
	cJSON_AddNumberToObject(out, "warmup", (double)left->counts[ITERATION_WARMUP]);
	cJSON_AddNumberToObject(out, "uneven", (double)left->counts[ITERATION_UNEVEN]);
	cJSON_AddNumberToObject(out, "different", (double)left->counts[ITERATION_DIFFERENT]);
	for (int kind = ITERATION_UNEVEN; kind <= ITERATION_DIFFERENT; kind++)
		if (left->turns[kind])
			cJSON_AddNumberToObject(out, kind == ITERATION_UNEVEN ? "uneven_every" : "different_every",
				(double)left->turns[kind]);
	if (left->counts[ITERATION_CUT])
		cJSON_AddNumberToObject(out, "cut", (double)left->counts[ITERATION_CUT]);
	if (left->counts[ITERATION_UNTIMED])
		cJSON_AddNumberToObject(out, "untimed", (double)left->counts[ITERATION_UNTIMED]);
	cJSON_AddNumberToObject(out, "evaluations", (double)left->gaps[ITERATION_EVALUATION]);
	cJSON_AddNumberToObject(out, "evaluations_ns", left->gaps_ns[ITERATION_EVALUATION]);
	cJSON_AddNumberToObject(out, "incomplete", (double)left->gaps[ITERATION_PARTIAL]);
	cJSON_AddNumberToObject(out, "rest_ns", left->gaps_ns[ITERATION_REST]);
}

cJSON *report_run_json(struct run *run)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	const double samples = analysis_samples(analysis);
	const char **warnings = run_warnings(run);
	cJSON *object = cJSON_CreateObject(), *list;
	struct report_communication communication;
	struct finding_list findings;
	struct print_table table;
	struct left_out left;

	cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
	cJSON_AddStringToObject(
		object, "program", print_clean(arena, analysis->timeline.processes[0].program));
	cJSON_AddNumberToObject(object, "processes", (double)analysis->timeline.process_count);
	cJSON_AddNumberToObject(object, "gpus", (double)analysis->worker_count);
	run_device_json(run, object);
	cJSON_AddStringToObject(
		object, "device_times", report_device_times_key(analysis, source_of(analysis, source_keys)));
	report_recording_json(analysis, object);
	list = cJSON_AddArrayToObject(object, "warnings");
	for (size_t i = 0; warnings[i]; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(print_clean(arena, warnings[i])));
	if (analysis->worker_count == 0)
		return object;
	left = count_left_out(analysis, &analysis->workers[0]);
	cJSON_AddNumberToObject(object, "iterations_found", (double)analysis->workers[0].iterations.count);
	cJSON_AddNumberToObject(object, "iterations_used", (double)analysis->workers[0].used_count);
	report_found_json(analysis, object);
	cJSON_AddBoolToObject(object, "forward_only", analysis_is_forward_only(analysis));
	cJSON_AddBoolToObject(object, "communication_only", analysis_is_communication(analysis));
	report_candidates_json(analysis, object);
	add_left_out(object, &left);
	print_init(&table, arena);
	report_phase_table(analysis, &table, false);
	cJSON_AddItemToObject(object, "phases", print_json(&table));
	print_free(&table);
	print_init(&table, arena);
	report_worker_table(run, &table);
	cJSON_AddItemToObject(object, "workers", print_json(&table));
	print_free(&table);
	communication = report_communication(analysis);
	cJSON_AddNumberToObject(
		object, "t_iter_ns", analysis_iteration(analysis->workers, analysis->worker_count).mean);
	cJSON_AddNumberToObject(object, "equation_ns", report_equation(analysis));
	cJSON_AddNumberToObject(object, "communication_busy_ns", communication.busy_ns);
	cJSON_AddNumberToObject(object, "communication_exposed_ns", communication.exposed_ns);
	if (report_ranks_absent(analysis))
		cJSON_AddNullToObject(object, "communication_wait_ns");
	else
		cJSON_AddNumberToObject(object, "communication_wait_ns", communication.wait_ns);
	print_json_number(object, "samples", samples > 0 ? samples : NAN);
	if (analysis->worker_count > 1) {
		cJSON_AddNumberToObject(object, "lif", load_imbalance_computing(analysis));
		cJSON_AddStringToObject(object, "slowest",
			analysis_worker_name(analysis, &analysis->workers[analysis_slowest(analysis)]));
	}
	findings_find(analysis, &findings);
	findings_json(&findings, object);
	print_init(&table, arena);
	findings_calls(&findings, true, &table);
	cJSON_AddItemToObject(object, "host_calls", print_json(&table));
	print_free(&table);
	findings_free(&findings);
	report_ranges_json(run, object);
	return object;
}
