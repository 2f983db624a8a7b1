/* pmanalyze baseline: runs over commits in a file, and a new run against them. */
#include "analyses/compare/baseline.h"
#include "base/output.h"
#include "cmd_common.h"
#include "gate.h"

#include <err.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OPTION_NAME = OPTION_FIRST, OPTION_LAST, OPTION_FAIL_IF_SLOWER, OPTION_GATE_BY };

struct request {
	struct cmd_options how;
	const char *name;
	size_t last;
	bool gated;
	double allowed;
	enum compare_gate_time time;
};

static void parse(struct request *request, int argument_count, char **arguments)
{
	for (int key; (key = command_option(&cmd_baseline, argument_count, arguments)) != -1;)
		switch (key) {
		case OPTION_NAME:
			request->name = optarg;
			break;
		case OPTION_LAST:
			request->last = command_count(&cmd_baseline, key, optarg, 1, 10000);
			break;
		case OPTION_FAIL_IF_SLOWER:
			request->allowed = gate_share(&cmd_baseline, key, optarg);
			request->gated = true;
			break;
		case OPTION_GATE_BY:
			request->time = gate_time(&cmd_baseline, optarg);
			break;
		default:
			if (!cmd_common_option(&cmd_baseline, &request->how, key, optarg))
				command_unhandled(&cmd_baseline, key);
		}
}

static void read_baseline(struct baseline *baseline, const char *path, bool may_be_absent)
{
	const char *wrong;

	if (may_be_absent && access(path, F_OK) != 0 && errno == ENOENT)
		return;
	wrong = baseline_read(baseline, path);
	if (wrong)
		errx(1, "%s", wrong);
}

static struct run *read_runs(const struct request *request, char **paths, size_t count, size_t *run_count)
{
	struct run *runs = cmd_read_runs(&request->how, paths, count, run_count);

	for (size_t r = 0; r < *run_count; r++)
		if (runs[r].analysis.worker_count == 0)
			errx(1, "%s: no iterations were found: `pmanalyze report` says why", runs[r].path);
	return runs;
}

static int cmd_baseline_add(const struct request *request, const char *path, char **paths, size_t count)
{
	struct baseline baseline = {0};
	size_t run_count;
	struct run *runs;
	const time_t now = time(NULL);
	char date[32] = "", *text;
	struct tm utc;
	cJSON *json;

	if (count == 0)
		cmd_usage(&cmd_baseline, "add: no run given");
	read_baseline(&baseline, path, true);
	runs = read_runs(request, paths, count, &run_count);
	if (gmtime_r(&now, &utc))
		strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", &utc);
	for (size_t r = 0; r < run_count; r++) {
		struct baseline_run run = baseline_run_of(&runs[r]);

		run.name = request->name ? request->name : runs[r].label;
		run.date = date;
		baseline_add(&baseline, &run);
		cmd_print_warnings(&runs[r]);
	}
	json = baseline_json(&baseline);
	text = cJSON_Print(json);
	errno = -pm_output_write(path, text, strlen(text));
	if (errno)
		err(1, "%s", path);
	printf("%s: %zu run%s\n", path, baseline.count, baseline.count == 1 ? "" : "s");
	free(text);
	cJSON_Delete(json);
	cmd_free_runs(runs, run_count);
	baseline_free(&baseline);
	return 0;
}

static int show(const struct request *request, const char *path, size_t more)
{
	static const struct print_column columns[] = {PRINT_COLUMN("name", "name", PRINT_WORD),
		PRINT_COLUMN("date", "added", PRINT_WORD), PRINT_COLUMN("program", "program", PRINT_WORD),
		PRINT_COLUMN("device", "device", PRINT_WORD), PRINT_COLUMN("host", "host", PRINT_WORD),
		PRINT_COLUMN("gpus", "GPUs", PRINT_COUNT),
		PRINT_COLUMN("iterations", "iterations", PRINT_COUNT),
		PRINT_COLUMN("step", "step", PRINT_TIME), PRINT_COLUMN("device_time", "device", PRINT_TIME),
		PRINT_COLUMN("processor_wait", "CPU wait", PRINT_SHARE)};
	struct baseline baseline = {0};
	struct arena arena = {0};
	struct print_table table;
	cJSON *object = request->how.form == PRINT_JSON ? cJSON_CreateObject() : NULL;

	if (more)
		cmd_usage(&cmd_baseline, "show: one file, and no run");
	read_baseline(&baseline, path, false);
	print_init(&table, &arena);
	print_columns(&table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < baseline.count; i++) {
		const struct baseline_run *run = &baseline.runs[i];
		const char *words[] = {run->name, run->date, run->program, run->device, run->host};
		const double numbers[] = {
			run->gpus, run->iterations, run->step_ns, run->device_ns, run->processor_wait};

		print_row(&table);
		for (size_t c = 0; c < 5; c++) {
			print_word(&table, c, words[c]);
			print_number(&table, 5 + c, numbers[c]);
		}
	}
	print_part(&table, request->how.form, object, "runs", "Baseline", false, stdout);
	if (object)
		print_json_end(object, stdout);
	print_free(&table);
	arena_free(&arena);
	baseline_free(&baseline);
	return 0;
}

static const char *base_text(struct arena *arena, const struct baseline_against *against, const char *path)
{
	return arena_format(arena, "%s (%zu run%s, %s%s%s)", path, against->used,
		against->used == 1 ? "" : "s", against->first,
		strcmp(against->first, against->last) ? " to " : "",
		strcmp(against->first, against->last) ? against->last : "");
}

static const char *spread_text(struct arena *arena, const struct baseline_against *against)
{
	return arena_format(arena, "Spread between runs here, of %zu %s: step time %.2g%%, device time %s.",
		against->runs, against->by_name ? "runs, those of one name" : "runs, one to the next",
		100 * against->step_spread,
		isnan(against->device_spread) ? "unknown"
					      : arena_format(arena, "%.2g%%", 100 * against->device_spread));
}

static int check(const struct request *request, const char *path, char **paths, size_t count)
{
	struct baseline baseline = {0};
	struct baseline_against against;
	struct compare_gate gate;
	size_t run_count;
	struct run *runs;
	struct baseline_run *new_runs;
	const char *base;

	if (count == 0)
		cmd_usage(&cmd_baseline, "check: no run given");
	if (!request->gated)
		cmd_usage(&cmd_baseline, "check: no margin given: add --fail-if-slower 5%%");
	read_baseline(&baseline, path, false);
	runs = read_runs(request, paths, count, &run_count);
	new_runs = mem_alloc(run_count, sizeof(*new_runs));
	for (size_t r = 0; r < run_count; r++) {
		new_runs[r] = baseline_run_of(&runs[r]);
		cmd_print_warnings(&runs[r]);
		if (!baseline_matches(&new_runs[r], &new_runs[0]))
			errx(1, "%s and %s are not of one program and kind of GPUs: check them one by one",
				runs[0].label, runs[r].label);
	}
	baseline_judge(&baseline, new_runs, run_count, request->last, request->allowed, request->time, &gate,
		&against);
	base = against.first ? base_text(&baseline.arena, &against, path) : path;
	if (request->how.form == PRINT_JSON)
		print_json_end(compare_gate_json(base, runs[0].label, &gate), stdout);
	if (isnan(against.step_spread))
		warnx("%s is undecided: %s has %zu comparable runs (%s, %s, %.0f GPUs), and 3 are needed: pmanalyze baseline add",
			runs[0].label, path, against.runs, new_runs[0].program,
			*new_runs[0].device ? new_runs[0].device : "unknown device", new_runs[0].gpus);
	else
		warnx("%s %s", compare_gate_verdict(&baseline.arena, base, runs[0].label, &gate),
			spread_text(&baseline.arena, &against));
	free(new_runs);
	cmd_free_runs(runs, run_count);
	baseline_free(&baseline);
	return gate_status(gate.answer);
}

static int run_baseline(int argument_count, char **arguments)
{
	struct request request = {.how = {.skip = ANALYSIS_SKIP}, .last = BASELINE_LAST};
	const char *verb, *path;
	char **paths;
	size_t count;

	parse(&request, argument_count, arguments);
	if (argument_count - optind < 2)
		cmd_usage(&cmd_baseline, "expected add, check or show, and the baseline's file");
	verb = arguments[optind];
	path = arguments[optind + 1];
	paths = arguments + optind + 2;
	count = (size_t)(argument_count - optind - 2);
	if (strcmp(verb, "add") == 0)
		return cmd_baseline_add(&request, path, paths, count);
	if (strcmp(verb, "check") == 0)
		return check(&request, path, paths, count);
	if (strcmp(verb, "show") == 0)
		return show(&request, path, count);
	cmd_usage(&cmd_baseline, "'%s': expected add, check or show", verb);
}

static const struct option_row rows[] = {
	{"name", OPTION_NAME, "NAME", "add: what the runs are of, a commit (default: each run's folder)"},
	{"fail-if-slower", OPTION_FAIL_IF_SLOWER, "SHARE",
		"check: exit with status 3 where the runs are shown to be slower by more than SHARE, as 5% or 0.05, "
		"with 0 where that is excluded, and with 4 where neither is shown"},
	{"gate-by", OPTION_GATE_BY, "TIME",
		"check: what is judged, as for compare: step, device or auto (default: auto)"},
	{"last", OPTION_LAST, "N", "check: the last N comparable runs are the base (default: 5)"},
	{"json", CMD_JSON, NULL, "show: the runs; check: the verdict; times in ns"},
	{"csv", CMD_CSV, NULL, "show: a row per run"},
	{0},
};

const struct command cmd_baseline = {
	.name = "baseline",
	.summary = "runs over commits in a file, and a new run against them",
	.usage = "add [OPTION]... FILE RUN...\n"
		 "check --fail-if-slower SHARE [OPTION]... FILE RUN...\n"
		 "show [OPTION]... FILE",
	.about =
		"add appends the runs' mean step and device times to FILE, which is made where there is none. check "
		"judges new runs of one commit against the last ones in FILE that are comparable: of the same program on "
		"as many GPUs of the same kind. How much runs differ by chance is known from FILE: from runs with the "
		"same name where some names have several, else from runs one after the other. 3 comparable runs are "
		"needed, 8 are better. show prints FILE.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after =
		"Example:\n"
		"  pmanalyze baseline add --name $(git rev-parse --short HEAD) speed.json run\n"
		"  pmanalyze baseline check --fail-if-slower 5% speed.json run\n"
		"\n"
		"JSON\n"
		"  check\tas an item of `gates` of `pmanalyze compare --json`\n"
		"  show\truns: name, date, program, device, host, gpus, iterations, step_ns, device_time_ns, "
		"processor_wait (share of the time)\n"
		"\n"
		"Exit status: 0 success, not slower; 1 a run or FILE is unreadable, 2 usage error; of check: 3 slower, "
		"4 undecided.\n",
	.run = run_baseline,
};
