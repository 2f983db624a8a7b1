/* pmanalyze balance: load imbalance by phase, layer and rank, and who makes whom wait. */
#include "balance.h"
#include "cmd_common.h"

#include <math.h>
#include <string.h>

static void item_table(struct print_table *table, struct analysis *analysis, const char *what,
	const struct balance_item *items, size_t count)
{
	size_t name = print_column(table, what, what, PRINT_WORD);
	size_t mean = print_column(table, "mean", "mean", PRINT_TIME);
	size_t greatest = print_column(table, "greatest", "slowest", PRINT_TIME);
	size_t imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	size_t slowest = print_column(table, "slowest", "rank", PRINT_WORD);

	for (size_t i = 0; i < count; i++) {
		print_row(table);
		print_word(table, name, items[i].name);
		print_number(table, mean, items[i].mean_ns);
		print_number(table, greatest, items[i].greatest_ns);
		print_number(table, imbalance, items[i].imbalance);
		if (isfinite(items[i].imbalance))
			print_word(table, slowest,
				analysis_worker_name(analysis, &analysis->workers[items[i].slowest]));
	}
}

static void rank_table(struct print_table *table, struct analysis *analysis, const struct balance *balance)
{
	size_t name = print_column(table, "worker", "rank", PRINT_WORD);
	size_t compute = print_column(table, "computing", "computing", PRINT_TIME);
	size_t wait = print_column(table, "waiting", "waiting", PRINT_TIME);
	size_t inflicted = print_column(table, "inflicted", "inflicted", PRINT_TIME);
	size_t last = print_column(table, "last", "came last", PRINT_SHARE);

	for (size_t i = 0; i < analysis->worker_count; i++) {
		print_row(table);
		print_word(table, name, analysis_worker_name(analysis, &analysis->workers[i]));
		print_number(table, compute, balance->ranks[i].compute_ns);
		print_number(table, wait, balance->ranks[i].wait_ns);
		print_number(table, inflicted, balance->ranks[i].inflicted_ns);
		if (balance->collective_count)
			print_number(table, last,
				(double)balance->ranks[i].last_count / (double)balance->collective_count);
	}
}

/* Of the items that the worker is slowest in, the one that costs most over the mean. */
static const struct balance_item *worst(const struct balance_item *items, size_t count, size_t worker)
{
	const struct balance_item *found = NULL;

	for (size_t i = 0; i < count; i++)
		if (items[i].slowest == worker && isfinite(items[i].imbalance) &&
			(!found || items[i].greatest_ns - items[i].mean_ns >
					   found->greatest_ns - found->mean_ns))
			found = &items[i];
	return found;
}

static void conclude(struct analysis *analysis, const struct balance *balance, FILE *out)
{
	struct arena *arena = &analysis->timeline.arena;
	const struct balance_item *phase, *layer;
	size_t culprit = 0;
	const char *text;

	for (size_t i = 1; i < analysis->worker_count; i++)
		if (balance->ranks[i].inflicted_ns > balance->ranks[culprit].inflicted_ns)
			culprit = i;
	if (!(balance->ranks[culprit].inflicted_ns > 0))
		return;
	/* Not the whole, which says nothing of where. */
	phase = worst(balance->phases + 1, balance->phase_count - 1, culprit);
	layer = worst(balance->layers, balance->layer_count, culprit);
	text = arena_format(arena, "%s makes the others wait %s in an iteration (sum over them)",
		analysis_worker_name(analysis, &analysis->workers[culprit]),
		print_time(arena, balance->ranks[culprit].inflicted_ns));
	if (phase)
		text = arena_format(arena, "%s; it is %s above the mean in %s", text,
			print_time(arena, phase->greatest_ns - phase->mean_ns), phase->name);
	if (layer && phase && (strcmp(phase->name, "forward") == 0 || strcmp(phase->name, "backward") == 0))
		text = arena_format(arena, "%s, most in layer %s (%s above)", text, layer->name,
			print_time(arena, layer->greatest_ns - layer->mean_ns));
	fputc('\n', out);
	print_paragraph(arena_format(arena, "%s.", text), 2, out);
}

static void print_run(struct run *run, const struct cmd_options *options, cJSON *list, FILE *out)
{
	struct analysis *analysis = &run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	cJSON *object = list ? cJSON_CreateObject() : NULL;
	struct balance balance;
	static const char *const keys[] = {"phases", "layers", "ranks"};
	static const char *const titles[] = {"Phases, mean time of an iteration",
		"Layers, forward and backward", "Ranks, mean of an iteration"};

	balance_find(analysis, &balance);
	if (options->form == PRINT_TEXT)
		print_heading(arena_format(arena, "%s: %zu GPU%s, LIF %.3f", print_clean(arena, run->label),
				      analysis->worker_count, analysis->worker_count == 1 ? "" : "s",
				      analysis_compute_imbalance(analysis)),
			out);
	if (object)
		cJSON_AddStringToObject(object, "run", print_clean(arena, run->label));
	for (int i = 0; i < 3 && analysis->worker_count > 0; i++) {
		struct print_table table;

		print_init(&table, arena);
		if (i == 0)
			item_table(&table, analysis, "phase", balance.phases, balance.phase_count);
		else if (i == 1)
			item_table(&table, analysis, "layer", balance.layers, balance.layer_count);
		else
			rank_table(&table, analysis, &balance);
		if (object) {
			cJSON_AddItemToObject(object, keys[i], print_json(&table));
		} else if (options->form == PRINT_CSV) {
			fputs(i ? "\n" : "", out);
			print_csv(&table, out);
		} else {
			fputc('\n', out);
			print_text(&table, titles[i], out);
		}
		print_free(&table);
	}
	if (object) {
		cJSON_AddNumberToObject(object, "collectives", (double)balance.collective_count);
		cJSON_AddItemToArray(list, object);
	}
	if (options->form == PRINT_TEXT && analysis->worker_count > 1)
		conclude(analysis, &balance, out);
	balance_free(&balance);
}

static int run(int argument_count, char **arguments)
{
	static const struct option options[] = {CMD_OPTIONS, {0}};
	struct cmd_options how = {.skip = ANALYSIS_SKIP};
	struct run *runs;
	cJSON *object = NULL, *list = NULL;
	size_t run_count;
	int option, status = 0;

	while ((option = getopt_long(argument_count, arguments, "", options, NULL)) != -1)
		if (!cmd_common_option(&cmd_balance, &how, option, optarg))
			cmd_usage(&cmd_balance, "the command line is wrong");
	if (optind >= argument_count)
		cmd_usage(&cmd_balance, "no run named");
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
	if (object)
		print_json_end(object, stdout);
	fflush(stdout);
	for (size_t i = 0; i < run_count; i++)
		cmd_print_warnings(&runs[i]);
	cmd_free_runs(runs, run_count);
	return status;
}

const struct command cmd_balance = {
	.name = "balance",
	.summary = "load imbalance by phase, layer and rank; who makes whom wait",
	.run = run,
	.help = "pmanalyze balance - load imbalance\n"
		"\n"
		"usage: pmanalyze balance [OPTION]... RUN...\n"
		"\n"
		"Prints for each run the load imbalance factor (3.8), LIF = N max(t) / sum(t),\n"
		"1 when balanced: of the computing time (forward, backward, update; without\n"
		"waiting), of each phase and of each layer, with the rank that is slowest.\n"
		"\n"
		"Then what it costs. Collectives are matched over ranks: none can move data\n"
		"before its last rank has begun, so the others wait for that one. Per rank:\n"
		"\n"
		"  computing  its computing time\n"
		"  waiting    how long it waited for others\n"
		"  inflicted  how long the others, summed, waited for it\n"
		"  came last  share of the collectives in which the others waited for it\n"
		"\n"
		"  --skip N   usual iterations at the begin that are left out (default: 1)\n"
		"  --json     the same as JSON; times in ns\n"
		"  --csv      the three tables as CSV, an empty line between them\n"
		"\n"
		"Exit status: 0 done, 1 no trace or no iterations, 2 wrong usage.\n",
};
