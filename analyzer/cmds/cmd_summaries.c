/* Commands on traces, where they are given summaries: see cmd_summaries.h. */
#include "cmd_summaries.h"
#include "base/text.h"
#include "output/report_summary.h"

#include <err.h>
#include <math.h>

#define NAMED 8 /* ranks in a sentence */

bool cmd_are_summaries(char **paths, size_t path_count)
{
	size_t count = 0;
	const char *first = NULL, *other = NULL;

	for (size_t i = 0; i < path_count; i++)
		if (summary_looks(paths[i])) {
			first = count++ ? first : paths[i];
		} else {
			other = paths[i];
		}
	if (count > 0 && count < path_count)
		errx(2, "%s is or contains summaries, %s does not: they cannot be combined in one report",
			first, other);
	return count > 0;
}

static void open_job(struct summaries *job, char **paths, size_t path_count)
{
	char *error;

	if (summaries_open(job, paths, path_count, &error) < 0)
		errx(1, "%s", error);
}

/* ---- balance ---- */

static void balance_tables(struct summaries *job, const struct cause_list *causes, enum print_form form,
	cJSON *object, FILE *out)
{
	static const char *const keys[] = {"layers", "ranks", "causes"};
	static const char *const titles[] = {
		"Layers, mean of the ranks", "Ranks, mean of an iteration", NULL};

	for (int i = 0; i < (form == PRINT_TEXT ? 2 : 3); i++) {
		struct print_table table;

		print_init(&table, &job->names.arena);
		if (i == 0)
			report_summary_layers(job, &table);
		else if (i == 1)
			report_summary_ranks(job,
				form == PRINT_TEXT && job->worker_count > REPORT_MOST_RANKS ? REPORT_TELLING
											    : SIZE_MAX,
				&table);
		else
			report_summary_causes(job, causes, &table);
		if (form != PRINT_TEXT || table.row_count > 0)
			print_part(
				&table, form, object, keys[i], titles[i], i > 0 || form == PRINT_TEXT, out);
		print_free(&table);
	}
}

int cmd_summaries_balance(char **paths, size_t path_count, enum print_form form)
{
	cJSON *root = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	cJSON *object = root ? cJSON_CreateObject() : NULL;
	struct finding_list findings;
	struct summaries job;
	double imbalance;
	int status;

	open_job(&job, paths, path_count);
	imbalance = summaries_imbalance(&job, offsetof(struct summary_worker, compute), NULL);
	summaries_findings(&job, &findings);
	if (form == PRINT_TEXT) {
		print_heading(arena_format(&job.names.arena, "%s: %zu GPU%s, LIF %s; from summaries",
				      print_clean(&job.names.arena, job.label), job.worker_count,
				      pm_text_plural(job.worker_count),
				      isfinite(imbalance) ? arena_format(&job.names.arena, "%.3f", imbalance)
							  : "-"),
			stdout);
		findings_print_first(&findings, stdout);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(&job.names.arena, job.label));
		print_json_number(object, "lif", imbalance);
	}
	if (job.worker_count > 0)
		balance_tables(&job, &findings.causes, form, object, stdout);
	if (form == PRINT_TEXT && job.worker_count > 1)
		findings_print_stragglers(&findings, stdout);
	if (object) {
		findings_json(&findings, object);
		cJSON_AddItemToArray(cJSON_AddArrayToObject(root, "runs"), object);
		print_json_end(root, stdout);
	}
	status = job.worker_count == 0;
	findings_free(&findings);
	summaries_close(&job);
	return status;
}

/* ---- hang ---- */

/* The ranks whose traces had no end when they were reduced; "" where all had. */
static const char *without_end(struct summaries *job, size_t *count)
{
	const char *text = "";

	*count = 0;
	for (size_t i = 0; i < job->list.count; i++) {
		const struct summary *summary = &job->list.items[i];

		if (summary->ended || ++*count > NAMED)
			continue;
		text = arena_format(&job->names.arena, "%s%s%s", text, *text ? ", " : "",
			summary->rank >= 0
				? arena_format(&job->names.arena, "rank %d on %s", summary->rank,
					  print_clean(&job->names.arena, summary->host))
				: arena_format(&job->names.arena, "process %u on %s", (unsigned)summary->pid,
					  print_clean(&job->names.arena, summary->host)));
	}
	return *count > NAMED ? arena_format(&job->names.arena, "%s and %zu more", text, *count - NAMED)
			      : text;
}

int cmd_summaries_hang(char **paths, size_t path_count, enum print_form form)
{
	static const char basis[] =
		"Summaries have figures of iterations, not the call that a rank is in: for that run pmanalyze hang on the traces.";
	struct summaries job;
	const char *names, *headline;
	size_t count;
	cJSON *object;

	open_job(&job, paths, path_count);
	names = without_end(&job, &count);
	headline =
		count == 0
			? arena_format(&job.names.arena, "All %zu processes ended in order", job.list.count)
			: arena_format(&job.names.arena,
				  "%zu of %zu processes had no end when they were reduced: killed, or still running",
				  count, job.list.count);
	if (form == PRINT_JSON) {
		object = cJSON_CreateObject();
		cJSON_AddStringToObject(object, "class", count ? "unknown" : "none");
		cJSON_AddStringToObject(object, "strength", "open");
		cJSON_AddStringToObject(object, "headline", headline);
		cJSON_AddStringToObject(object, "basis", basis);
		cJSON_AddNumberToObject(object, "without_end", (double)count);
		print_json_end(object, stdout);
	} else {
		print_heading(headline, stdout);
		if (count)
			print_paragraph(arena_format(&job.names.arena, "Not ended: %s.", names), 2, stdout);
		print_paragraph(basis, 2, stdout);
	}
	summaries_close(&job);
	return 0;
}
