/* The report of a job from its summaries: what was seen, the tables, and what follows from them. */
#include "report_summary.h"
#include "report.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- What follows ---- */

static double pooled(const struct summaries *job, size_t offset)
{
	return summaries_pool(job->workers, job->worker_count, offset).mean;
}

static double mean_wait_ns(const struct summaries *job)
{
	double sum = 0, iterations = 0;

	for (size_t w = 0; w < job->worker_count; w++)
		if (isfinite(job->workers[w].wait_ns)) {
			sum += job->workers[w].wait_ns * (double)job->workers[w].figures->used;
			iterations += (double)job->workers[w].figures->used;
		}
	return iterations > 0 ? sum / iterations : NAN;
}

static void print_conclusions(struct summaries *job, FILE *out)
{
	struct arena *arena = &job->names.arena;
	double iteration_ns = pooled(job, offsetof(struct summary_worker, iteration));
	double equation_ns = summaries_equation(job);
	double busy_ns = pooled(job, SUMMARIES_BUSY(PHASE_COMMUNICATION)), wait_ns = mean_wait_ns(job);
	double exposed_ns = pooled(job, SUMMARIES_EXCLUSIVE(PHASE_COMMUNICATION));

	fputc('\n', out);
	print_paragraph(
		arena_format(arena,
			"Equation (3.3): t_io + t_h2d + t_md + max(t_f + t_b + t_c) + t_u = %s; measured "
			"t_iter = %s (%s).",
			print_time(arena, equation_ns), print_time(arena, iteration_ns),
			report_equation_rest(arena, equation_ns, iteration_ns, false)),
		2, out);
	if (busy_ns > 0)
		print_paragraph(
			arena_format(arena, "Communication: %s busy, %s exposed%s.",
				print_time(arena, busy_ns), report_exposed_text(arena, exposed_ns, busy_ns),
				isfinite(wait_ns)
					? arena_format(arena, "; %s waits for the last rank (sampled)",
						  print_time(arena, wait_ns))
					: ""),
			2, out);
	if (job->worker_count > 1) {
		size_t slowest;
		double imbalance =
			summaries_imbalance(job, offsetof(struct summary_worker, compute), &slowest);

		if (isfinite(imbalance))
			print_paragraph(
				arena_format(arena,
					"Balance: LIF %.3f (3.8); %s computes longest, %s (mean %+.1f%%).",
					imbalance, summaries_name(job, &job->workers[slowest]),
					print_time(arena, job->workers[slowest].figures->compute.mean),
					(imbalance - 1) * 100),
				2, out);
	}
}

/* What limits the findings about ranks. */
static void print_limits(struct summaries *job, const struct finding_list *findings, FILE *out)
{
	struct arena *arena = &job->names.arena;

	if (job->meeting_count == 0)
		print_paragraph(
			arena_format(arena,
				"The summaries have no collective in common: stragglers cannot be "
				"determined, only which ranks take longer%s.",
				findings->causes.count ? ""
						       : ", and none does compared with another rank of the "
							 "same layers"),
			2, out);
	if (job->stage_count > 1)
		print_paragraph(
			arena_format(arena,
				"The ranks have %u different sets of layers (pipeline stages?): ranks are "
				"compared within the same set; stages are not compared with each other.",
				job->stage_count),
			2, out);
}

/* ---- The forms ---- */

static void print_tables(struct summaries *job, bool ranks, FILE *out)
{
	struct arena *arena = &job->names.arena;
	bool cut = job->worker_count > REPORT_MOST_RANKS && !ranks;
	const char *const titles[] = {"Mean time of an iteration", "Layers, mean time of an iteration",
		"Ranks by mean computing time of an iteration",
		cut ? arena_format(arena, "Ranks, mean of an iteration; %d of %zu, most wait caused first",
			      REPORT_TELLING, job->worker_count)
		    : "Ranks, mean of an iteration"};

	for (int i = 0; i < 4; i++) {
		struct print_table table;

		print_init(&table, arena);
		if (i == 0)
			report_summary_phases(job, &table, true);
		else if (i == 1)
			report_summary_layers(job, &table);
		else if (i == 2 && job->worker_count > REPORT_MOST_RANKS)
			report_summary_distribution(job, &table);
		else if (i == 3 && job->worker_count > 1)
			report_summary_ranks(job, cut ? REPORT_TELLING : SIZE_MAX, &table);
		if (table.row_count) {
			fputc('\n', out);
			print_text(&table, titles[i], out);
		}
		print_free(&table);
	}
}

void report_summaries(struct summaries *job, bool ranks, FILE *out)
{
	struct report_summary_head head = report_summary_head(job);
	const char **warnings = summaries_warnings(job);
	struct finding_list findings;

	report_summary_print_head(job, &head, out);
	summaries_findings(job, &findings);
	if (job->worker_count > 0) {
		fputc('\n', out);
		findings_print(&findings, FINDING_HEADLINE, out);
		print_tables(job, ranks, out);
		print_conclusions(job, out);
	}
	if (job->worker_count > 1) {
		fputc('\n', out);
		print_limits(job, &findings, out);
		report_summary_print_sample(job, &head, out);
	}
	findings_free(&findings);
	if (job->worker_count > 0)
		print_paragraph(
			"Not in summaries: which calls block the host, what outliers have that others have not, slow links, "
			"stages and links of a pipeline: pmanalyze report of the traces themselves has them.",
			2, out);
	if (warnings[0])
		fputc('\n', out);
	for (size_t i = 0; warnings[i]; i++)
		print_paragraph(arena_format(&job->names.arena, "Warning: %s.",
					print_clean(&job->names.arena, warnings[i])),
			2, out);
}

static void add_tables(struct summaries *job, bool ranks, cJSON *object)
{
	static const char *const keys[] = {
		"phases", "layers", "ranks", "causes", "distribution", "hosts", "workers"};
	struct finding_list findings;

	summaries_findings(job, &findings);
	findings_json(&findings, object);
	for (int i = 0; i < 7; i++) {
		struct print_table table;

		if (i == 6 && job->worker_count > REPORT_MOST_WORKERS && !ranks)
			continue;
		print_init(&table, &job->names.arena);
		if (i == 0)
			report_summary_phases(job, &table, false);
		else if (i == 1)
			report_summary_layers(job, &table);
		else if (i == 2)
			report_summary_ranks(job, SIZE_MAX, &table);
		else if (i == 3)
			report_summary_causes(job, &findings.causes, &table);
		else if (i == 4)
			report_summary_distribution(job, &table);
		else if (i == 5)
			report_summary_hosts(job, &table);
		else
			report_summary_workers(job, &table);
		cJSON_AddItemToObject(object, keys[i], print_json(&table));
		print_free(&table);
	}
	findings_free(&findings);
}

cJSON *report_summaries_json(struct summaries *job, bool ranks)
{
	struct arena *arena = &job->names.arena;
	struct report_summary_head head = report_summary_head(job);
	const char **warnings = summaries_warnings(job);
	cJSON *object = cJSON_CreateObject(), *list;
	double imbalance;
	size_t slowest;

	cJSON_AddStringToObject(object, "run", print_clean(arena, job->label));
	cJSON_AddStringToObject(object, "program", print_clean(arena, head.program));
	cJSON_AddNumberToObject(object, "processes", (double)job->list.count);
	cJSON_AddNumberToObject(object, "gpus", (double)job->worker_count);
	cJSON_AddStringToObject(object, "device_times", report_summary_source(job, &head));
	list = cJSON_AddArrayToObject(object, "warnings");
	for (size_t i = 0; warnings[i]; i++)
		cJSON_AddItemToArray(list, cJSON_CreateString(print_clean(arena, warnings[i])));
	if (job->worker_count == 0)
		return object;
	cJSON_AddNumberToObject(object, "iterations_used_min", (double)head.least_used);
	cJSON_AddNumberToObject(object, "iterations_used_max", (double)head.most_used);
	cJSON_AddNumberToObject(object, "confidence", head.confidence);
	cJSON_AddNumberToObject(object, "t_iter_ns", pooled(job, offsetof(struct summary_worker, iteration)));
	cJSON_AddNumberToObject(object, "equation_ns", summaries_equation(job));
	cJSON_AddNumberToObject(
		object, "communication_busy_ns", pooled(job, SUMMARIES_BUSY(PHASE_COMMUNICATION)));
	cJSON_AddNumberToObject(
		object, "communication_exposed_ns", pooled(job, SUMMARIES_EXCLUSIVE(PHASE_COMMUNICATION)));
	cJSON_AddNumberToObject(object, "communication_wait_ns", mean_wait_ns(job));
	imbalance = summaries_imbalance(job, offsetof(struct summary_worker, compute), &slowest);
	if (job->worker_count > 1 && isfinite(imbalance)) {
		cJSON_AddNumberToObject(object, "lif", imbalance);
		cJSON_AddStringToObject(object, "slowest", summaries_name(job, &job->workers[slowest]));
	}
	cJSON_AddNumberToObject(object, "collectives_sampled", (double)job->meeting_count);
	cJSON_AddNumberToObject(object, "collectives_partial", (double)job->partial_count);
	cJSON_AddNumberToObject(object, "clock_residual_ns", (double)job->residual_ns);
	add_tables(job, ranks, object);
	return object;
}

void report_summaries_csv(struct summaries *job, FILE *out)
{
	struct print_table table;

	print_init(&table, &job->names.arena);
	report_summary_workers(job, &table);
	print_csv(&table, out);
	print_free(&table);
}
