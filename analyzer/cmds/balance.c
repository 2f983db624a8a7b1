/* pmanalyze balance: load imbalance by phase, layer and rank, and who makes whom wait. */
#include "analyses/balance_table.h"
#include "analyses/finding/finding.h"
#include "analyses/load_imbalance.h"
#include "analyses/replay/whatif.h"
#include "cmd_common.h"
#include "cmd_summaries.h"

#include <math.h>

static void item_table(struct print_table *table, struct analysis *analysis, const char *what,
	const struct balance_item *items, size_t count)
{
	size_t name = print_column(table, what, what, PRINT_WORD);
	size_t mean = print_column(table, "mean", "mean", PRINT_TIME);
	size_t greatest = print_column(table, "max", "slowest", PRINT_TIME);
	size_t imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	size_t slowest = print_column(table, "slowest", "rank", PRINT_WORD);

	for (size_t i = 0; i < count; i++) {
		print_row(table);
		print_term(table, name, items[i].name, items[i].title ? items[i].title : items[i].name);
		print_number(table, mean, items[i].mean_ns);
		print_number(table, greatest, items[i].greatest_ns);
		print_number(table, imbalance, items[i].imbalance);
		if (isfinite(items[i].imbalance))
			print_word(table, slowest,
				analysis_worker_name(analysis, &analysis->workers[items[i].slowest]));
	}
}

/* For programs; text has sentences. */
static void cause_table(struct print_table *table, struct analysis *analysis, const struct cause_list *causes)
{
	size_t worker = print_column(table, "worker", "rank", PRINT_WORD);
	size_t caused = print_column(table, "wait_caused", "wait caused", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t kind = print_column(table, "cause", "cause", PRINT_WORD);
	size_t layer = print_column(table, "layer", "layer", PRINT_WORD);
	size_t other = print_column(table, "other", "other", PRINT_WORD);
	size_t cost = print_column(table, "cost", "cost", PRINT_TIME);
	size_t factor = print_column(table, "factor", "factor", PRINT_REAL);
	size_t evidence = print_column(table, "evidence", "evidence", PRINT_WORD);

	for (size_t i = 0; i < causes->count; i++) {
		const struct cause *cause = &causes->items[i];

		print_row(table);
		print_word(table, worker, analysis_worker_name(analysis, &analysis->workers[cause->worker]));
		print_number(table, caused, cause->wait_caused_ns);
		print_number(table, share, cause->share);
		print_word(table, kind, cause_key(cause->kind));
		if (cause->layer[0])
			print_word(table, layer, cause->layer);
		if (cause->other != cause->worker)
			print_word(table, other,
				analysis_worker_name(analysis, &analysis->workers[cause->other]));
		if (isfinite(cause->cost_ns))
			print_number(table, cost, cause->cost_ns);
		if (isfinite(cause->factor))
			print_number(table, factor, cause->factor);
		print_word(table, evidence, cause->evidence);
	}
}

/* `object` NULL: as text or CSV. Of the causes text has sentences instead. */
static void print_tables(struct analysis *analysis, const struct balance *balance,
	const struct cause_list *causes, enum print_form form, cJSON *object, FILE *out)
{
	static const char *const keys[] = {"phases", "layers", "ranks", "causes"};
	const bool whole = analysis->is_whole;
	const char *const titles[] = {
		whole ? "Phases, mean time of the recording" : "Phases, mean time of an iteration",
		"Layers, forward and backward",
		whole ? "Ranks, mean of the recording" : "Ranks, mean of an iteration", NULL};

	for (int i = 0; i < (form == PRINT_TEXT ? 3 : 4); i++) {
		struct print_table table;

		print_init(&table, &analysis->timeline.arena);
		if (i == 0)
			item_table(&table, analysis, "phase", balance->phases, balance->phase_count);
		else if (i == 1)
			item_table(&table, analysis, "layer", balance->layers, balance->layer_count);
		else if (i == 2)
			balance_rank_table(&table, analysis, balance, form);
		else
			cause_table(&table, analysis, causes);
		if (form != PRINT_TEXT || table.row_count > 0)
			print_part(
				&table, form, object, keys[i], titles[i], i > 0 || form == PRINT_TEXT, out);
		if (form == PRINT_TEXT && i == 2 && table.row_count > 0)
			print_paragraph(
				"Last to arrive: share of the collectives that have waited at least 1% of their time "
				"for that rank.",
				2, out);
		print_free(&table);
	}
}

/* Beside the factor of computing times: what the imbalance costs. */
static const char *slowdown_words(struct analysis *analysis, double slowdown, double stages)
{
	struct arena *arena = &analysis->timeline.arena;

	if (!isfinite(slowdown) || analysis->worker_count < 2)
		return "";
	if (analysis->stage_count == 1)
		return slowdown < 1 ? ", slowdown none" : arena_format(arena, ", slowdown %.3f", slowdown);
	return arena_format(arena, ", slowdown %.3f by ranks, %.3f by ranks and stages", slowdown, stages);
}

static void print_run(struct run *run, const struct cmd_options *options, cJSON *list, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	cJSON *object = list ? cJSON_CreateObject() : NULL;
	struct finding_list findings;
	double stages, slowdown = whatif_slowdown(analysis, &stages);
	double imbalance = load_imbalance_computing(analysis);

	findings_find(analysis, &findings);
	if (options->form == PRINT_TEXT) {
		print_heading(arena_format(arena, "%s: %zu GPU%s, LIF %s%s", print_clean(arena, run->label),
				      analysis->worker_count, analysis->worker_count == 1 ? "" : "s",
				      isfinite(imbalance) ? arena_format(arena, "%.3f", imbalance) : "-",
				      slowdown_words(analysis, slowdown, stages)),
			out);
		run_print_device(run, out);
		findings_print_first(&findings, out);
	}
	if (object) {
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
		run_device_json(run, object);
	}
	if (analysis->worker_count > 0)
		print_tables(analysis, &findings.balance, &findings.causes, options->form, object, out);
	if (object) {
		cJSON_AddNumberToObject(object, "collectives", (double)findings.balance.collective_count);
		if (isfinite(slowdown)) {
			cJSON_AddNumberToObject(object, "slowdown", slowdown);
			cJSON_AddNumberToObject(object, "slowdown_stages", stages);
		}
		findings_json(&findings, object);
		cJSON_AddItemToArray(list, object);
	}
	if (options->form == PRINT_TEXT && analysis->worker_count > 1)
		findings_print_stragglers(&findings, out);
	if (options->form == PRINT_TEXT && findings.job) {
		fputc('\n', out);
		print_paragraph(
			"Waiting and wait caused cover collectives only. Waiting between pipeline stages "
			"is not in the labels of a rank: pmanalyze slowdown computes it.",
			0, out);
	}
	findings_free(&findings);
}

static int run_balance(int argument_count, char **arguments)
{
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option, status = 0;

	while ((option = command_option(&cmd_balance, argument_count, arguments)) != -1)
		if (!cmd_common_option(&cmd_balance, &how, option, optarg))
			command_unhandled(&cmd_balance, option);
	if (optind >= argument_count)
		cmd_usage(&cmd_balance, "no run given");
	if (cmd_are_summaries(arguments + optind, (size_t)(argument_count - optind)))
		return cmd_summaries_balance(arguments + optind, (size_t)(argument_count - optind), how.form);
	runs = cmd_read_runs(&how, arguments + optind, (size_t)(argument_count - optind), &run_count);
	if (how.form == PRINT_JSON) {
		object = cJSON_CreateObject();
		list = cJSON_AddArrayToObject(object, "runs");
	}
	for (size_t i = 0; i < run_count; i++) {
		if (i > 0 && how.form != PRINT_JSON)
			fputc('\n', stdout);
		print_run(&runs[i], &how, list, stdout);
		if (runs[i].analysis.worker_count == 0)
			status = 1;
	}
	cmd_end_runs(object, runs, run_count);
	return status;
}

static const struct option_row rows[] = {
	{"json", CMD_JSON, NULL, "the same as JSON; times in ns"},
	{"csv", CMD_CSV, NULL, "the four tables as CSV, an empty line between them"},
	{0},
};

const struct command cmd_balance = {
	.name = "balance",
	.summary = "load imbalance by phase, layer and rank; stragglers and causes",
	.usage = "[OPTION]... RUN...",
	.about =
		"Prints for each run the load imbalance factor (3.8), LIF = N max(t) / sum(t), 1 "
		"when balanced: of the computing time (forward, backward, update; without "
		"waiting), of each phase and of each layer, with the slowest rank. Also the "
		"slowdown t / t_ideal: the iteration relative to a replay in which all ranks take "
		"the mean of their times (pmanalyze whatif). LIF compares times of work, the "
		"slowdown is their effect on the iteration. Summaries of pmanalyze reduce (*.pmsum) are "
		"read, too, without phases and slowdown.\n"
		"\n"
		"Then the waiting. Collectives are matched over ranks: none can move data before "
		"its last rank has started, so the others wait for it. Per rank:\n"
		"\n"
		"  computing\tits computing time\n"
		"  waiting\ttime it waits for other ranks\n"
		"  wait caused\ttime the other ranks, summed, wait for it\n"
		"  last to arrive\tshare of the collectives in which the others spend at least 1% "
		"of the time waiting for it\n"
		"\n"
		"Last, the stragglers and their causes, in order of what they can gain, as in "
		"pmanalyze report: each rank for which the others wait at least 2% of an "
		"iteration is compared with a faster rank with the same layers:\n"
		"\n"
		"  slower\tthe same operations take longer in all layers, and copies of input\n"
		"  layer\tthey take longer in one layer\n"
		"  layers\tin several layers, none of them a large part of it\n"
		"  work\tlarger or more operations: a larger share of the batch\n"
		"  input\treading, preparing or copying its input takes longer\n"
		"  call\tits device is idle while the host is blocked in a call, or after it waited\n"
		"  pause\tits device is idle while the host is in no call: garbage collection, a checkpoint\n"
		"  host\tlaunch-bound: its device is idle because the host enqueues late\n"
		"  stage\tits pipeline stage has more work than the others\n"
		"  link\tits messages to a rank take longer than others of that size\n"
		"  unknown\tit arrives late, but none of these causes is found\n"
		"\n"
		"A cause is reported if it costs at least 1% of an iteration (medians) and occurs "
		"in three of four iterations. In a collective all ranks see the same transfer, so "
		"a slow link is visible only in sends between ranks.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after = "Exit status: 0 success, 1 no trace or no iterations, 2 usage error.\n",
	.run = run_balance,
};
