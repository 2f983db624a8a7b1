/* Reading a run: see run.h. Its warnings are in run_warning.c. */
#include "run.h"
#include "base/regular_file.h"
#include "import/imported_timeline.h"
#include "import/labelled.h"
#include "run_job.h"
#include "trace/trace_name.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The last parts of a path, one or two, where the last is not empty or a dot. */
static const char *label_of(struct arena *arena, const char *path, int parts)
{
	size_t end = strlen(path), begin;

	while (end > 1 && (path[end - 1] == '/' || (path[end - 1] == '.' && path[end - 2] == '/')))
		end--;
	for (begin = end; begin > 0 && (path[begin - 1] != '/' || (--parts > 0 && begin > 1));)
		begin--;
	return arena_text(arena, path + begin, end - begin);
}

/* Steps of labelled phases that are warm-up, as pmanalyze slowdown leaves them out. */
static size_t warmup_of(const struct timeline *timeline)
{
	const struct timeline_process *first = &timeline->processes[0];
	const struct timeline_step *steps = timeline->steps + first->first_step;
	double *step_ns;
	size_t count;

	if (timeline->process_count == 0 || first->step_count == 0)
		return ANALYSIS_SKIP;
	step_ns = mem_alloc(first->step_count, sizeof(*step_ns));
	for (uint32_t i = 0; i < first->step_count; i++)
		step_ns[i] = (double)(steps[i].end_ns - steps[i].begin_ns);
	count = labelled_warmup(step_ns, first->step_count);
	free(step_ns);
	return count;
}

static void analyze(struct run *run, struct timeline *timeline, const char *label,
	const struct iteration_options *options)
{
	static const char *const nothing[] = {NULL};
	struct iteration_options how = *options;

	run->label = label_of(&timeline->arena, label, 1);
	run->path = arena_text(&timeline->arena, label, strlen(label));
	run->unread = (const char **)(uintptr_t)nothing;
	run->rule_from_file = false;
	timeline_settle(timeline);
	if (how.skip == ANALYSIS_SKIP && imported_timeline_is_labels(timeline))
		how.skip = warmup_of(timeline);
	analysis_init_as(&run->analysis, timeline, &how);
}

void run_analyze(struct run *run, struct timeline *timeline, const char *label, size_t skip)
{
	analyze(run, timeline, label, &(struct iteration_options){.skip = skip});
}

static bool has_own_trace(DIR *folder)
{
	bool found = false;

	for (struct dirent *entry; !found && (entry = readdir(folder));)
		found = trace_name_stem(entry->d_name) > 0;
	return found;
}

bool run_is_imported(const char *path)
{
	DIR *folder = opendir(path);
	char magic[sizeof(PM_MAGIC)] = "";
	ssize_t got = -1;
	int file;

	if (folder) {
		bool own = has_own_trace(folder);

		closedir(folder);
		return !own && imported_looks(path);
	}
	file = regular_file_open(path);
	if (file >= 0) {
		got = read(file, magic, sizeof(magic));
		close(file);
	}
	/* What is neither is refused by those who know all formats. */
	return got >= 0 && memcmp(magic, PM_MAGIC, sizeof(PM_MAGIC)) != 0 && !trace_name_stem(path);
}

int run_open(struct run *run, char **paths, size_t path_count, size_t skip, char **error)
{
	return run_open_as(run, paths, path_count, &(struct run_options){.skip = skip}, error);
}

/* Kernels of collectives are not their own calls. */
static bool computes(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->timeline.call_count; i++)
		if (analysis->model.roles[timeline_call(&analysis->timeline, i).operation].flags &
			WORKER_CORE)
			return true;
	return false;
}

static bool has_untimed(const struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->worker_count + analysis->idle_count; i++)
		if (analysis->workers[i].iterations.counts[ITERATION_UNTIMED])
			return true;
	return false;
}

const char *run_why_none(const struct analysis *analysis)
{
	if (has_untimed(analysis) && analysis->timeline.processes[0].recorder)
		return "in each of those that there are, launches have no kernel with a time in the file";
	if (has_untimed(analysis))
		return "those that there are lie outside of the parts of the run with device times "
		       "(PMHOOK_DEVICE=cupti takes them always)";
	if (computes(analysis))
		return "the call sequence does not repeat";
	return "no computation was recorded, and communication and copies alone do not make them";
}

/* Does the user's rule have a place, and nothing matches on any rank? */
static bool is_nowhere(const struct run *run, const struct iteration_rule *rule)
{
	const struct analysis *analysis = &run->analysis;

	for (size_t i = 0; i < analysis->worker_count + analysis->idle_count; i++)
		if (analysis->workers[i].iterations.source == ITERATION_BY_USER)
			return false;
	return rule && (rule->at || rule->end);
}

static char *why_nowhere(const struct run *run, const char *path, const struct iteration_rule *rule)
{
	char *error;
	int length;

	if (computes(&run->analysis))
		length = asprintf(&error,
			"%s: no call matches %s %s: pmanalyze dump --ops lists functions, kernels and call sites",
			path, rule->at ? "--iteration-at" : "--iteration-end",
			rule->at ? rule->at : rule->end);
	else
		length = asprintf(&error, "%s: no iterations: %s", path, run_why_none(&run->analysis));
	return length < 0 ? NULL : error;
}

/* With the user's rule for iterations, of the options or of the file beside the traces. */
static int analyze_by_rule(struct run *run, struct timeline *timeline, const char *path, const char **unread,
	const struct run_options *options, char **error)
{
	struct iteration_rule kept = {0};
	struct iteration_options how = {
		.skip = options->choose ? 0 : options->skip, .rule = options->rule};
	char sentence[ITERATION_RULE_ERROR];
	int status = 0;

	if (!iteration_rule_any(options->rule)) {
		status = iteration_rule_read(&kept, path, sentence);
		how.rule = &kept;
	}
	if (status < 0) {
		*error = strdup(sentence);
		iteration_rule_free(&kept);
		timeline_free(timeline);
		return -1;
	}
	analyze(run, timeline, path, &how);
	run->unread = unread;
	run->rule_from_file = status > 0 && iteration_rule_any(&kept);
	if (is_nowhere(run, how.rule)) {
		*error = why_nowhere(run, path, how.rule);
		run_close(run);
		status = -1;
	}
	iteration_rule_free(&kept);
	return status < 0 ? -1 : 0;
}

static int open_once(
	struct run *run, char **paths, size_t path_count, const struct run_options *options, char **error)
{
	struct timeline timeline;
	const char **unread;

	if (run_read(&timeline, paths, path_count, options, &unread, error) < 0) {
		timeline_free(&timeline);
		return -1;
	}
	return analyze_by_rule(run, &timeline, paths[0], unread, options, error);
}

int run_open_as(
	struct run *run, char **paths, size_t path_count, const struct run_options *options, char **error)
{
	struct run_options again = *options;
	struct timeline_stretches stretches;
	const char *sentence;

	if (open_once(run, paths, path_count, options, error) < 0)
		return -1;
	if (!options->choose)
		return 0;
	/* Of a long run the steps are where the first reading has found them. */
	if (run_is_sampled(run) && !run_ends_before(run, options->first_step)) {
		again.sample = (struct timeline_sample){0};
		if (run_stretches(run, options->first_step, options->last_step, &stretches))
			again.sample.stretches = &stretches;
		run_close(run);
		if (open_once(run, paths, path_count, &again, error) < 0)
			return -1;
	}
	if (analysis_choose(&run->analysis, options->first_step, options->last_step, &sentence))
		return 0;
	*error = strdup(sentence);
	run_close(run);
	return -1;
}

void run_disambiguate(struct run *runs, size_t run_count)
{
	bool *alike = mem_alloc(run_count, sizeof(*alike));

	for (size_t i = 0; i < run_count; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(runs[i].label, runs[j].label) == 0 &&
				strcmp(runs[i].path, runs[j].path) != 0)
				alike[i] = alike[j] = true;
	for (size_t i = 0; i < run_count; i++)
		if (alike[i])
			runs[i].label = label_of(&runs[i].analysis.timeline.arena, runs[i].path, 2);
	free(alike);
}

void run_close(struct run *run)
{
	analysis_free(&run->analysis);
}
