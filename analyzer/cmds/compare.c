/* pmanalyze compare: runs side by side: what differs, and whether it is chance. */
#include "cmd_common.h"
#include "analyses/compare/compare.h"
#include "analyses/compare/compare_gate.h"
#include "analyses/compare/diff.h"
#include "gate.h"

#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A side of the command line: its runs' paths, and the runs. */
struct side_words {
	const char *name;
	char **paths;
	size_t path_count;
};

struct request {
	struct cmd_options how;
	struct compare_options compare;
	const char *base; /* as it was named; NULL: the first */
	bool diff, gated;
	double allowed; /* of --fail-if-slower, when gated */
	enum compare_gate_time gate_time;
	struct compare_gate *gates; /* by pair, when gated */
	size_t limit;   /* of operations of a diff in text; 0: all */
	struct side_words *groups;
	size_t group_count, group_room;
};

/* NAME=RUN,RUN...; takes the text apart in place. */
static void add_group(struct request *request, char *text)
{
	struct side_words *group = MEM_PUSH(request->groups, request->group_count, request->group_room);
	char *list = strchr(text, '='), *rest = NULL;
	size_t room = 0;

	*group = (struct side_words){.name = text};
	if (!list || list == text || !list[1])
		cmd_usage(&cmd_compare, "--group %s: expected NAME=RUN,RUN,...", text);
	*list++ = '\0';
	for (char *path = strtok_r(list, ",", &rest); path; path = strtok_r(NULL, ",", &rest))
		*MEM_PUSH(group->paths, group->path_count, room) = path;
	if (group->path_count == 0)
		cmd_usage(&cmd_compare, "--group %s: no run given", text);
}

enum {
	OPTION_BASE = OPTION_FIRST,
	OPTION_GROUP,
	OPTION_MARGIN,
	OPTION_PER_SAMPLE,
	OPTION_SEED,
	OPTION_DIFF,
	OPTION_FAIL_IF_SLOWER,
	OPTION_GATE_BY,
	OPTION_LIMIT
};

static void parse(struct request *request, int argument_count, char **arguments)
{
	int option;

	while ((option = command_option(&cmd_compare, argument_count, arguments)) != -1) {
		if (option == OPTION_BASE)
			request->base = optarg;
		else if (option == OPTION_GROUP)
			add_group(request, optarg);
		else if (option == OPTION_MARGIN)
			request->compare.margin = gate_share(&cmd_compare, option, optarg);
		else if (option == OPTION_PER_SAMPLE)
			request->compare.per_sample = true;
		else if (option == OPTION_SEED)
			request->compare.seed = command_count(&cmd_compare, option, optarg, 0, UINT64_MAX);
		else if (option == OPTION_DIFF)
			request->diff = true;
		else if (option == OPTION_FAIL_IF_SLOWER) {
			request->gated = true;
			request->allowed = gate_share(&cmd_compare, option, optarg);
		} else if (option == OPTION_GATE_BY)
			request->gate_time = gate_time(&cmd_compare, optarg);
		else if (option == OPTION_LIMIT)
			request->limit = command_count(&cmd_compare, option, optarg, 0, SIZE_MAX);
		else if (!cmd_common_option(&cmd_compare, &request->how, option, optarg))
			command_unhandled(&cmd_compare, option);
	}
}

/* All sides, with the runs that they point to. */
struct sides {
	struct compare_side *items;
	size_t count;
	struct run *runs; /* of the command line, outside groups */
	size_t run_count;
	struct run *grouped;
	size_t grouped_count;
};

static bool any_folder(char **paths, size_t count)
{
	struct stat status;

	for (size_t i = 0; i < count; i++)
		if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode))
			return true;
	return false;
}

static void read_one(struct run *run, const struct request *request, char *path)
{
	cmd_read_run(run, &request->how, &path, 1);
}

static void add_side(struct sides *sides, const char *name, struct run *runs, size_t count)
{
	struct compare_side *side = &sides->items[sides->count++];

	*side = (struct compare_side){name, mem_alloc(count, sizeof(struct run *)), count};
	for (size_t i = 0; i < count; i++)
		side->runs[i] = &runs[i];
}

/* Files side by side are one run, as for other commands; where nothing else is there to compare them with,
 * each is one. */
static void read_plain(struct sides *sides, const struct request *request, char **paths, size_t count)
{
	if (count == 0)
		return;
	if (any_folder(paths, count) || request->group_count > 0) {
		sides->runs = cmd_read_runs(&request->how, paths, count, &sides->run_count);
	} else {
		sides->runs = mem_alloc(count, sizeof(*sides->runs));
		cmd_note_repeated(paths, count);
		for (size_t i = 0; i < count; i++)
			read_one(&sides->runs[sides->run_count++], request, paths[i]);
		run_disambiguate(sides->runs, sides->run_count);
	}
}

static void read_groups(struct sides *sides, const struct request *request)
{
	size_t count = 0;

	for (size_t g = 0; g < request->group_count; g++)
		count += request->groups[g].path_count;
	sides->grouped = mem_alloc(count, sizeof(*sides->grouped));
	for (size_t g = 0; g < request->group_count; g++)
		for (size_t i = 0; i < request->groups[g].path_count; i++)
			read_one(&sides->grouped[sides->grouped_count++], request,
				request->groups[g].paths[i]);
}

/* Folders with the same last name are distinguished by numbers. */
static void disambiguate(struct sides *sides, struct arena *arena)
{
	for (size_t i = 0; i < sides->count; i++) {
		const char *name = sides->items[i].name;
		size_t number = 1;

		for (size_t j = i + 1; j < sides->count; j++)
			if (strcmp(sides->items[j].name, name) == 0)
				sides->items[j].name = arena_format(arena, "%s (%zu)", name, ++number);
	}
}

static void read_sides(
	struct sides *sides, const struct request *request, char **paths, size_t count, struct arena *arena)
{
	size_t first = 0;

	read_plain(sides, request, paths, count);
	read_groups(sides, request);
	sides->items = mem_alloc(sides->run_count + request->group_count, sizeof(*sides->items));
	for (size_t r = 0; r < sides->run_count; r++)
		add_side(sides, sides->runs[r].label, &sides->runs[r], 1);
	for (size_t g = 0; g < request->group_count; g++) {
		add_side(sides, request->groups[g].name, &sides->grouped[first],
			request->groups[g].path_count);
		first += request->groups[g].path_count;
	}
	disambiguate(sides, arena);
}

/* By number, from 1, or by name. */
static size_t find_base(const char *text, const struct compare_side *sides, size_t count)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	for (size_t s = 0; s < count; s++)
		if (strcmp(sides[s].name, text) == 0)
			return s;
	if (end == text || *end || number < 1 || number > count)
		cmd_usage(&cmd_compare, "--base %s: expected a side's name, or its number from 1 to %zu",
			text, count);
	return number - 1;
}

static void print_diff(const struct request *request, struct compare *compare, cJSON *object)
{
	const struct compare_pair *pair = &compare->pairs[0];
	struct diff diff;

	diff_find(&diff, compare, pair);
	diff_print(&diff, compare, pair, request->how.form, object, request->limit, stdout);
	diff_free(&diff);
}

static void add_gates(const struct request *request, struct compare *compare, cJSON *object)
{
	cJSON *list = cJSON_AddArrayToObject(object, "gates");

	for (size_t i = 0; i < compare->pair_count; i++)
		cJSON_AddItemToArray(list,
			compare_gate_json(compare->sides[compare->pairs[i].base].name,
				compare->sides[compare->pairs[i].other].name, &request->gates[i]));
}

static void print_all(const struct request *request, struct compare *compare)
{
	cJSON *object = request->how.form == PRINT_JSON ? cJSON_CreateObject() : NULL;

	if (!request->diff || request->how.form != PRINT_CSV)
		compare_print(compare, request->how.form, request->diff, object, stdout);
	if (request->diff)
		print_diff(request, compare, object);
	if (object && request->gated)
		add_gates(request, compare, object);
	if (object)
		print_json_end(object, stdout);
	fflush(stdout);
}

static void free_sides(struct sides *sides)
{
	for (size_t s = 0; s < sides->count; s++)
		free(sides->items[s].runs);
	free(sides->items);
	cmd_free_runs(sides->runs, sides->run_count);
	cmd_free_runs(sides->grouped, sides->grouped_count);
}

static void free_request(struct request *request)
{
	for (size_t g = 0; g < request->group_count; g++)
		free(request->groups[g].paths);
	free(request->groups);
	free(request->gates);
}

static void find_gates(struct request *request, struct compare *compare)
{
	request->gates = mem_alloc(compare->pair_count, sizeof(*request->gates));
	for (size_t i = 0; i < compare->pair_count; i++)
		compare_gate(compare, &compare->pairs[i], request->allowed, request->gate_time,
			&request->gates[i]);
}

/* Says of each side whether it passes. The exit status. */
static int judge(const struct request *request, struct compare *compare)
{
	enum slower_answer worst = SLOWER_NO;

	for (size_t i = 0; i < compare->pair_count; i++) {
		const struct compare_gate *gate = &request->gates[i];

		warnx("%s", compare_gate_text(compare, &compare->pairs[i], gate));
		if (worst != SLOWER_YES && gate->answer != SLOWER_NO)
			worst = gate->answer;
	}
	return gate_status(worst);
}

/* The exit status. */
static int compare_all(struct request *request, struct sides *sides)
{
	const char *wrong = compare_check(sides->items, sides->count, &request->compare);
	struct compare compare;
	int status = wrong != NULL;

	if (!wrong) {
		compare_init(&compare, sides->items, sides->count, &request->compare);
		if (request->gated)
			find_gates(request, &compare);
		print_all(request, &compare);
		if (request->gated)
			status = judge(request, &compare);
		compare_free(&compare);
	}
	for (size_t s = 0; s < sides->count; s++)
		for (size_t r = 0; r < sides->items[s].run_count; r++)
			cmd_print_warnings(sides->items[s].runs[r]);
	if (wrong)
		warnx("%s", wrong);
	return status;
}

static int run_compare(int argument_count, char **arguments)
{
	struct request request = {.how = {.skip = ANALYSIS_SKIP},
		.limit = 40,
		.compare = {.margin = COMPARE_MARGIN, .seed = COMPARE_SEED}};
	struct sides sides = {0};
	struct arena arena = {0};
	size_t path_count;
	int status;

	parse(&request, argument_count, arguments);
	path_count = (size_t)(argument_count - optind);
	if (path_count + request.group_count < 2)
		cmd_usage(&cmd_compare, "at least two runs are needed");
	read_sides(&sides, &request, arguments + optind, path_count, &arena);
	if (sides.count < 2)
		cmd_usage(&cmd_compare, "adjacent files are one run: a second run is needed");
	if (request.diff && sides.count > 2)
		cmd_usage(&cmd_compare, "--diff needs exactly two sides");
	if (request.base)
		request.compare.base = find_base(request.base, sides.items, sides.count);
	status = compare_all(&request, &sides);
	free_request(&request);
	free_sides(&sides);
	arena_free(&arena);
	return status;
}

static const struct option_row rows[] = {
	{"base", OPTION_BASE, "N|NAME",
		"the side the others are compared with: its number from 1, or its name (default: "
		"1)"},
	{"group", OPTION_GROUP, "NAME=RUN,RUN...",
		"a side of several runs; the variation between runs is taken into account. Groups "
		"come after single runs."},
	{"margin", OPTION_MARGIN, "SHARE", "margin of equality, as 1% or 0.01 (default: 1%)"},
	{"per-sample", OPTION_PER_SAMPLE, NULL,
		"times per sample instead of per iteration; the batch size must be known on all "
		"sides"},
	{"diff", OPTION_DIFF, NULL,
		"how two sides differ: operations that only one has, counts and times per "
		"iteration, algorithms, layouts and sizes for the same layer, copies and "
		"synchronizations; of a group the first run"},
	{"fail-if-slower", OPTION_FAIL_IF_SLOWER, "SHARE",
		"exit with status 3 where a side is shown to be slower than the base by more than SHARE, as 5% or "
		"0.05, with 0 where that is excluded, and with 4 where neither is shown, with how many runs would "
		"decide; each with 95%; the reasons are written to the error output"},
	{"gate-by", OPTION_GATE_BY, "TIME",
		"what --fail-if-slower judges: step, an iteration's time; device, what the GPUs compute in it, and "
		"communicate beside that without waiting; auto, device where hosts are shared (threads waited for "
		"processors in 2% of their time or more), else both, of which either may be slower (default: auto)"},
	{"limit", OPTION_LIMIT, "N", "operations that --diff lists in text; 0: all (default: 40)"},
	{"seed", OPTION_SEED, "N", "random seed; the same seed gives the same result (default: 1)"},
	{"json", CMD_JSON, NULL, "everything, times in ns"},
	{"csv", CMD_CSV, NULL, "a row per quantity and pair; with --diff a row per operation"},
	{0},
};

const struct command cmd_compare = {
	.name = "compare",
	.summary = "runs side by side: differences and their significance",
	.usage = "[OPTION]... RUN RUN...\n"
		 "[OPTION]... --group NAME=RUN,RUN... [RUN]...",
	.about = "Each RUN (a folder, or files side by side) is a side; so is each group of "
		 "repetitions of one configuration, and each of several files where nothing else "
		 "is given. The first is the base, and every other side is compared with it: the "
		 "iteration, its phases in both accountings, throughput, load imbalance factor, "
		 "waiting, and each layer; a summary comes first.\n"
		 "\n"
		 "Layers are matched by module, name, sizes, number of parameters and order, so "
		 "that conv2 5x5x6->16 of one framework matches conv2d_1 of another; unmatched "
		 "layers are listed. Two sides: tables of means. More: medians with a marker, < "
		 "faster, > slower, = same, ? not decided.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after =
		"COLUMNS\n"
		"  differs, by\tdifference of the means, other - base, and its share of the base\n"
		"  95% from, to\tconfidence interval of the difference. Consecutive iterations are "
		"not independent, so blocks of them are resampled, with a length set by the "
		"autocorrelation (circular block bootstrap, expanded percentiles). With groups, "
		"Student's t of the runs' means where that is wider.\n"
		"  delta\tCliff's delta: share of pairs of iterations in which the other's is "
		"longer, minus the share in which it is shorter. Below 0.147 negligible, 0.33 "
		"small, 0.474 medium, above large.\n"
		"  p\tprobability of such a difference by chance: blocks permuted between the "
		"sides (Welch's t), or Student's t with groups; corrected (Benjamini-Hochberg) "
		"over the phases and other figures of the whole, and over layers and their parts; "
		"the iteration is tested once, by itself\n"
		"  verdict\tfaster, slower (better, worse): over the margin, p at most 0.05 and 0 "
		"outside the interval. same: the interval lies within the margin, or within a "
		"tenth of the margin of the iteration. not decided: neither. too few iterations: "
		"fewer than 4 blocks. no significance: one iteration. only base, only other: a "
		"layer missing on the other side. unknown in base, in other: that side's traces "
		"cannot tell (labelled phases without such a label).\n"
		"\n"
		"JSON\n"
		"  sides\tside, runs, program, gpus, samples (batch), layers, parameters, "
		"iterations, t_iter_ns, lif\n"
		"  margin, per_sample, seed\tthe options\n"
		"  pairs\tone for each side but the base: base, other, sentences, "
		"rows: base_side, other_side, kind (whole, exclusive, "
		"busy, layer, layer_part), key, layer, other_layer, unit (ns, ns/sample, 1/s, 1), "
		"base, other, difference, change, low, high, base_median, other_median, "
		"cliffs_delta, effect_size, p, block (iterations), verdict; layers: layer, "
		"other_layer, sizes, other_sizes, matched_by (module, name, sizes, position), "
		"sizes_differ\n"
		"  diff_kinds\twith --diff: kind, base_count, base_time_ns, base_bytes and the "
		"same of the other\n"
		"  diff\twith --diff: what (same, time, count, changed, only base, only other), "
		"is_kernel, function, layer, phase, counts and times in an iteration of a rank, "
		"difference_ns, changes, base_values, other_values\n"
		"  gates\twith --fail-if-slower: base, other, answer (slower, not slower, undecided), decided_by (step, "
		"device), allowed, processor_wait (the greatest share of a process's time), and of step and device: "
		"answer, change, low, high (95% to each side), runs_to_decide\n"
		"The CSV has the columns of rows, or of diff.\n"
		"\n"
		"Exit status: 0 success, 1 a run is unreadable or has no iterations, 2 usage error; of "
		"--fail-if-slower: 3 slower, 4 undecided.\n",
	.run = run_compare,
};
