/* pmanalyze model: the S-SGD model, predicted against measured; speed-up, imbalance, and the regression. */
#include "cmd_common.h"
#include "model_regression.h"
#include "analyses/load_imbalance.h"
#include "analyses/ssgd/ssgd_tables.h"
#include "output/report.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct model_options {
	struct cmd_options common;
	struct ssgd_question question;
	double batch; /* of runs of which it is unknown; 0: not said */
	bool layers, residuals, across, by_program;
	bool asked; /* for the regression, by an option */
};

static struct ssgd_item *open_items(
	struct run *runs, size_t run_count, double batch, size_t *item_count)
{
	struct ssgd_item *items = mem_alloc(run_count, sizeof(*items));

	*item_count = 0;
	for (size_t i = 0; i < run_count; i++) {
		struct analysis *analysis = &runs[i].analysis;
		struct ssgd_item *item = &items[*item_count];

		if (analysis->worker_count == 0)
			continue;
		(*item_count)++;
		item->run = &runs[i];
		item->label = print_clean(&analysis->timeline.arena, runs[i].label);
		item->samples = analysis_samples(analysis);
		if (!(item->samples > 0))
			item->samples = batch;
		item->imbalance = load_imbalance_computing(analysis);
		ssgd_find(analysis, &item->ssgd);
		balance_find(analysis, &item->balance);
	}
	return items;
}

static void close_items(struct ssgd_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ssgd_free(&items[i].ssgd);
		balance_free(&items[i].balance);
	}
	free(items);
}

typedef void fill_runs(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table);

static void print_table_of(fill_runs *fill, const struct ssgd_item *items, size_t count, enum print_form form,
	cJSON *object, const char *key, const char *title, bool gap)
{
	struct print_table table;

	print_init(&table, &items[0].run->analysis.timeline.arena);
	fill(items, count, form, &table);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, key, title, gap, stdout);
	print_free(&table);
}

static void fill_side(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table)
{
	(void)form;
	ssgd_side_table(items, count, table);
}

static void fill_scaling(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table)
{
	(void)form;
	ssgd_scaling_table(items, count, table);
}

static void fill_imbalance(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table)
{
	(void)form;
	ssgd_imbalance_table(items, count, table);
}

static void fill_layers(
	const struct ssgd_item *items, size_t count, enum print_form form, struct print_table *table)
{
	(void)form;
	ssgd_layer_table(items, count, table);
}

static void print_item(const struct ssgd_item *item)
{
	struct analysis *analysis = &item->run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	const char **warnings = run_warnings(item->run);

	print_heading(arena_format(arena, "%s: %s, %zu GPU%s, %zu iteration%s", item->label,
			      *ssgd_program(item) ? print_clean(arena, ssgd_program(item))
						  : report_origin(analysis),
			      analysis->worker_count, analysis->worker_count == 1 ? "" : "s",
			      item->ssgd.step_count, item->ssgd.step_count == 1 ? "" : "s"),
		stdout);
	run_print_device(item->run, stdout);
	print_table_of(
		ssgd_phase_table, item, 1, PRINT_TEXT, NULL, "phases", "Mean time of an iteration", true);
	print_table_of(ssgd_prediction_table, item, 1, PRINT_TEXT, NULL, "predictions",
		"Predicted and measured", true);
	fputc('\n', stdout);
	print_paragraph(ssgd_verdict(item), 2, stdout);
	print_paragraph(ssgd_rest(item), 2, stdout);
	if (ssgd_left_out(item))
		print_paragraph(ssgd_left_out(item), 2, stdout);
	if (item->ssgd.unpredicted && item->ssgd.shape.rank_count > 1)
		print_paragraph(item->ssgd.unpredicted, 2, stdout);
	for (size_t i = 0; warnings[i]; i++)
		print_paragraph(
			arena_format(arena, "Warning: %s.", print_clean(arena, warnings[i])), 2, stdout);
}

/* What the JSON says of each run beside the tables. */
static void add_runs(cJSON *object, const struct ssgd_item *items, size_t count)
{
	cJSON *list = cJSON_AddArrayToObject(object, "runs");

	for (size_t i = 0; i < count; i++) {
		const struct ssgd *ssgd = &items[i].ssgd;
		struct analysis *analysis = &items[i].run->analysis;
		cJSON *run = cJSON_CreateObject();

		cJSON_AddStringToObject(run, "run", items[i].label);
		cJSON_AddStringToObject(run, "program",
			print_clean(&analysis->timeline.arena, analysis->timeline.processes[0].program));
		run_device_json(items[i].run, run);
		cJSON_AddNumberToObject(run, "gpus", (double)ssgd->shape.rank_count);
		cJSON_AddNumberToObject(run, "iterations", (double)ssgd->step_count);
		cJSON_AddNumberToObject(run, "t_iter_ns", ssgd->measured.mean);
		cJSON_AddNumberToObject(run, "t_iter_sd_ns", ssgd->measured.deviation);
		cJSON_AddNumberToObject(run, "rest_ns", ssgd->rest.mean);
		cJSON_AddNumberToObject(run, "files_hidden", ssgd->files_hidden);
		cJSON_AddNumberToObject(run, "copies_hidden", ssgd->copies_hidden);
		cJSON_AddNumberToObject(run, "communication_hidden", ssgd->communication_hidden);
		cJSON_AddItemToObject(run, "behaviour",
			ssgd->best < SSGD_COUNT && !(ssgd->figures[ssgd->best].off > SSGD_FAR)
				? cJSON_CreateString(ssgd_keys[ssgd->best])
				: cJSON_CreateNull());
		cJSON_AddItemToObject(run, "no_layer_predictions",
			ssgd->unpredicted ? cJSON_CreateString(ssgd->unpredicted) : cJSON_CreateNull());
		cJSON_AddItemToArray(list, run);
	}
}

static void print_all(const struct ssgd_item *items, size_t count, const struct model_options *how)
{
	enum print_form form = how->common.form;
	cJSON *object = form == PRINT_JSON ? cJSON_CreateObject() : NULL;
	bool several = count > 1;

	if (object)
		add_runs(object, items, count);
	for (size_t i = 0; i < count && form == PRINT_TEXT && !(how->across && several); i++) {
		if (i > 0)
			fputc('\n', stdout);
		print_item(&items[i]);
	}
	if (form != PRINT_TEXT) {
		print_table_of(ssgd_phase_table, items, count, form, object, "phases", NULL, false);
		print_table_of(ssgd_prediction_table, items, count, form, object, "predictions", NULL, true);
	}
	if (form == PRINT_TEXT && several)
		print_table_of(
			fill_side, items, count, form, object, "side", "Mean times of an iteration", true);
	if (form != PRINT_TEXT || several || items[0].ssgd.shape.rank_count > 1)
		print_table_of(fill_scaling, items, count, form, object, "scaling", "Scaling", true);
	print_table_of(fill_imbalance, items, count, form, object, "imbalance",
		"Load imbalance factor (3.8) by phase", true);
	if (form != PRINT_TEXT || how->layers)
		print_table_of(fill_layers, items, count, form, object, "layers",
			"Load imbalance factor (3.8) by layer, forward and backward", true);
	if (form != PRINT_TEXT || several || how->asked)
		model_print_regression(items, count,
			&(struct model_regression){
				&how->question, form, how->residuals, how->asked, how->by_program},
			object);
	if (object)
		print_json_end(object, stdout);
	fflush(stdout);
}

static double batch_of(const struct command *command, const char *text)
{
	char *end;
	const double batch = strtod(text, &end);

	if (end == text || *end || !(batch >= 1 && batch <= 1e12))
		cmd_usage(command, "--batch %s: expected a number of samples, 1 or more", text);
	return batch;
}

static double confidence_of(const struct command *command, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent > 0 && percent < 100))
		cmd_usage(command, "--confidence %s: expected a percentage between 0 and 100", text);
	return percent / 100;
}

enum {
	OPTION_TERMS = OPTION_FIRST,
	OPTION_ROWS,
	OPTION_CONFIDENCE,
	OPTION_MEDIAN,
	OPTION_RESIDUALS,
	OPTION_LAYERS,
	OPTION_ACROSS,
	OPTION_BY_PROGRAM,
	OPTION_BATCH
};

static struct model_options parse(int argument_count, char **arguments)
{
	static const char *const rows_of[] = {"runs", "iterations", NULL};
	struct model_options how = {.common = {.skip = ANALYSIS_SKIP},
		.question = {.terms = {SSGD_TERM_GPUS, SSGD_TERM_LIF}, .term_count = 2, .confidence = 0.95}};
	struct ssgd_question *question = &how.question;
	char sentence[200];
	int option;

	while ((option = command_option(&cmd_model, argument_count, arguments)) != -1) {
		how.asked |= option == OPTION_TERMS || option == OPTION_ROWS || option == OPTION_CONFIDENCE ||
			     option == OPTION_RESIDUALS || option == OPTION_MEDIAN ||
			     option == OPTION_BY_PROGRAM;
		switch (option) {
		case OPTION_TERMS:
			question->term_count = ssgd_terms_parse(optarg, question->terms, sentence);
			if (question->term_count == 0)
				cmd_usage(&cmd_model, "--terms %s: %s", optarg, sentence);
			break;
		case OPTION_ROWS:
			question->by_iteration = command_word(&cmd_model, option, optarg, rows_of) == 1;
			break;
		case OPTION_CONFIDENCE:
			question->confidence = confidence_of(&cmd_model, optarg);
			break;
		case OPTION_MEDIAN:
			question->median = true;
			break;
		case OPTION_RESIDUALS:
			how.residuals = true;
			break;
		case OPTION_LAYERS:
			how.layers = true;
			break;
		case OPTION_ACROSS:
			how.across = true;
			break;
		case OPTION_BATCH:
			how.batch = batch_of(&cmd_model, optarg);
			break;
		case OPTION_BY_PROGRAM:
			how.by_program = true;
			break;
		default:
			if (!cmd_common_option(&cmd_model, &how.common, option, optarg))
				command_unhandled(&cmd_model, option);
		}
	}
	return how;
}

static int run_model(int argument_count, char **arguments)
{
	struct model_options how = parse(argument_count, arguments);
	size_t run_count, item_count;
	struct ssgd_item *items;
	struct run *runs;

	if (optind >= argument_count)
		cmd_usage(&cmd_model, "no run given");
	runs = cmd_read_runs(&how.common, arguments + optind, (size_t)(argument_count - optind), &run_count);
	items = open_items(runs, run_count, how.batch, &item_count);
	if (item_count > 0)
		print_all(items, item_count, &how);
	for (size_t i = 0; i < run_count; i++)
		if (how.common.form != PRINT_TEXT || runs[i].analysis.worker_count == 0)
			cmd_print_warnings(&runs[i]);
	close_items(items, item_count);
	cmd_free_runs(runs, run_count);
	return item_count == run_count ? 0 : 1;
}

#define TERM_HELP(name, key, text) "  " key ": " text "\n"
#define TERMS_HELP SSGD_TERM_LIST(TERM_HELP)

static const struct option_row rows[] = {
	{"layers", OPTION_LAYERS, NULL,
		"in text, also the imbalance of each layer (default: only the worst layer's)"},
	{"across", OPTION_ACROSS, NULL,
		"in text, only the tables with a row for each of several runs (default: also each run "
		"by itself)"},
	{"batch", OPTION_BATCH, "N",
		"samples of an iteration, over all GPUs, in runs whose trace does not have them (default: "
		"unknown; see SPEED-UP)"},
	{"by-program", OPTION_BY_PROGRAM, NULL,
		"a regression for each program, as for each framework of a study (default: one over all runs)"},
	{"terms", OPTION_TERMS, "LIST",
		"comma-separated terms of the regression (default: gpus,lif; see REGRESSION)"},
	{"rows", OPTION_ROWS, "runs|iterations",
		"rows of the regression: runs, with their means, or each iteration of each run "
		"(default: runs)"},
	{"median", OPTION_MEDIAN, NULL,
		"use the median iteration time of a run instead of the mean: robust against "
		"outlier iterations (default: mean)"},
	{"confidence", OPTION_CONFIDENCE, "P", "confidence level of the intervals, in percent (default: 95)"},
	{"residuals", OPTION_RESIDUALS, NULL,
		"in text, also the rows of the regression with fitted values and residuals "
		"(default: off)"},
	{"json", CMD_JSON, NULL, "everything as one JSON object (see JSON); times in ns"},
	{"csv", CMD_CSV, NULL,
		"the tables phases, predictions, scaling, imbalance, layers, coefficients, rows "
		"as CSV, an empty line between them; remarks go to standard error"},
	{0},
};

const struct command cmd_model = {
	.name = "model",
	.summary = "the S-SGD model: predicted against measured; regression",
	.usage = "[OPTION]... RUN...",
	.about = "Predicts the iteration time of each run from its phase times under different "
		 "overlap assumptions and compares it with the measured time: which assumption is "
		 "closest, and what remains unexplained. Over several runs (folders): speed-up, "
		 "imbalance, and the dependence of the iteration time on the number of GPUs and on "
		 "imbalance. The equations are those of \"Performance Modelling for Scalable Deep "
		 "Learning\" (thesis, 2023), chapter 3.\n",
	.options = OPTION_TABLES(rows, cmd_run_rows),
	.after =
		"PREDICTIONS\n"
		"  Computed for each iteration from busy times (see pmanalyze report); the mean "
		"is shown with its error. Buckets are shown where there are any.\n"
		"\n"
		"  series\t(3.1), on several GPUs (3.2): t_io + t_h2d + t_f + t_b + t_c + t_u, "
		"means over ranks\n"
		"  imbalance\t(3.3): t_io + t_h2d + t_md + max(t_f + t_b + t_c) + t_u, the maximum "
		"over ranks; t_c includes waiting for others\n"
		"  input\t(3.5), with t_c and t_md: max(t_f + t_b + t_c + t_u of the slowest rank, "
		"t_io + t_h2d + t_md)\n"
		"  after\tgradients are aggregated after the backward pass, as TensorFlow does: "
		"all ranks' input and passes, then the exchanges\n"
		"  layers\tthe exchange of layer l runs during the backward pass of layer l - 1, "
		"as in MXNet: it starts when the previous exchange has ended and the last rank "
		"has the layer's gradients\n"
		"  buckets\tthe same with the actual exchanges, of several layers each: one starts "
		"when the last of its gradients is complete\n"
		"  files\tas imbalance, with t_io overlapping all of it; shown, as the next three, "
		"where file reads are seen to overlap other work\n"
		"  ..._files\tafter, layers, buckets, with t_io overlapping all of it\n"
		"  ..._input\tthe same three, with t_io, t_h2d and t_md overlapping all of it\n"
		"  bound\tmax(t_io + t_h2d + t_md, t_f + t_b + t_u, exchanges): lower bound for "
		"any overlap\n"
		"\n"
		"  From \"after\" on, the duration of an exchange is that on the last rank to "
		"arrive, which waits for no other; it starts when that rank arrives.\n"
		"\n"
		"  with rest\tthe prediction plus what no equation covers: other work and idle "
		"time of the iteration (exclusive), for a fair comparison\n"
		"  off\tmedian over iterations of |with rest - measured| / measured. The behaviour "
		"with the minimum is reported, if it is within 10%. series, imbalance and input "
		"are not candidates on several GPUs: their t_c includes waiting, which depends on "
		"the overlap. Also excluded is what contradicts the exclusive times: overlap of "
		"input or communication of which less than 5% overlaps other work; sequential "
		"reading or aggregation where more than half of it overlaps; layers where "
		"exchanges are of several\n"
		"\n"
		"  With gradients accumulated over several passes, \"layers\" has too much time to "
		"hide exchanges in: they start in the last of the passes only. The equations "
		"assume that each rank has the whole network: for a pipeline no behaviour is "
		"reported.\n"
		"\n"
		"SPEED-UP\n"
		"  Relative to the first run of the same program on one GPU, a primed time being "
		"that on N_g GPUs: measured, N_g t_iter / t'_iter; (3.6), the same from (3.1) and "
		"(3.3); (3.7), N_g max(t_io + t_h2d, t_f + t_b + t_u) / max(t'_io + t'_h2d + "
		"t'_md, t'_f + t'_b + t'_c). Where the samples of an iteration are known (batch), "
		"their ratio replaces N_g; else each GPU is taken to have the batch of the one. eff. is the measured speed-up divided by N_g.\n"
		"\n"
		"SLOWDOWN\n"
		"  LIF (3.8), N max(t) / sum(t), measures the imbalance of ranks; S (eq.) its "
		"cost by the equations: t_iter under the closest assumption, divided by the same "
		"with each rank at the mean of the ranks' times, in each iteration. 1 is "
		"balanced, for both. Overlap hides imbalance and lowers S (eq.) but not LIF; "
		"imbalance that changes from iteration to iteration, of input and of hosts is in "
		"S (eq.) but not in LIF. The slowdown of balance and whatif is that of a replay, "
		"which keeps latencies and waits.\n"
		"\n"
		"REGRESSION\n"
		"  (3.9), t_iter = b0 + b1 N_g + b2 LIF + e, by least squares: coefficients as "
		"time per unit of the term, standard error, t and two-sided p of \"it is 0\", "
		"confidence interval (Student's t), variance inflation factor (1: independent of "
		"the other terms; from 10 on the collinear term is reported). A term that is "
		"constant, or a linear combination of those before it, is left out with a remark. "
		"A run without a value for a term is left out.\n"
		"\n"
		"  gpus\tN_g, the number of GPUs\n"
		"  lif\tload imbalance factor (3.8) of the computing times\n"
		"  slowdown\tcost of imbalance, 1: none (see SLOWDOWN)\n"
		"  inverse_gpus\t1/N_g: work divided among the GPUs\n"
		"  batch\tsamples per iteration, over all GPUs\n"
		"  gpu_batch\tsamples per iteration and GPU\n"
		"  hosts\tnumber of hosts\n"
		"  parameters\tlearned parameters of the network\n"
		"\n"
		"JSON\n"
		"  runs\trun, program, gpus, iterations, t_iter_ns, t_iter_sd_ns, rest_ns, "
		"files_hidden, copies_hidden and communication_hidden (shares), behaviour (the "
		"name of a prediction, or null), no_layer_predictions (the reason, or "
		"null)\n"
		"  phases\trun, phase, busy_ns, busy_sd_ns, exclusive_ns, exclusive_sd_ns\n"
		"  predictions\trun, assumption, title, equation, predicted_ns, predicted_sd_ns, "
		"error, with_rest_ns, with_rest_sd_ns, with_rest_error, off, behaviour (1: a "
		"candidate), best (1: the closest of them)\n"
		"  scaling\trun, gpus, samples, t_iter_ns, speedup, speedup_3_6, "
		"speedup_3_6_error, speedup_3_7, speedup_3_7_error, efficiency, lif, slowdown\n"
		"  imbalance\trun, gpus, computing, io, h2d, md, forward, backward, update, other "
		"(LIF of each), layer (the worst), layer_lif\n"
		"  layers\trun, gpus, layer, mean_ns, max_ns, lif, slowest\n"
		"  regression\trow (run or iteration), median (true or false), row_count, "
		"degrees_of_freedom, r2, adjusted_r2, residual_sd_ns, f, f_p, confidence, "
		"remarks; coefficients: term, state (fitted, constant, dependent, unfitted), "
		"estimate_ns, standard_error_ns, t, p, low_ns, high_ns, vif; rows: run, "
		"iteration, a value for each term, t_iter_ns, fitted_ns, residual_ns\n"
		"  regressions\twith --by-program, instead of it: the same for each, with program\n"
		"  Errors are shares (0.02 is 2%); unknown values are null.\n"
		"\n"
		"Exit status: 0 success, 1 no trace, or a run without iterations, 2 usage error.\n",
	.run = run_model,
};
