/* pmanalyze model: the S-SGD model, predicted against measured; speed-up, imbalance, and the regression. */
#include "cmd_common.h"
#include "analyses/ssgd/ssgd_regression.h"
#include "analyses/ssgd/ssgd_tables.h"
#include "output/report.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct model_options {
	struct cmd_options common;
	struct ssgd_question question;
	bool layers, residuals;
	bool asked; /* for the regression, by an option */
};

static struct ssgd_item *open_items(struct run *runs, size_t run_count, size_t *item_count)
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
		item->imbalance = analysis_compute_imbalance(analysis);
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

static void print_summary(const struct ssgd_regression *regression, struct arena *arena)
{
	const struct regression *fit = &regression->fit;

	if (fit->trouble || isnan(fit->r2))
		return;
	print_paragraph(
		arena_format(arena, "R2 %.4f%s%s.", fit->r2,
			isfinite(fit->adjusted_r2) ? arena_format(arena, ", adjusted %.4f", fit->adjusted_r2)
						   : "",
			isfinite(fit->deviation)
				? arena_format(arena,
					  ", residuals' standard deviation %s (%zu degree%s of freedom)",
					  print_time(arena, fit->deviation), fit->degrees,
					  fit->degrees == 1 ? "" : "s")
				: ""),
		2, stdout);
}

/* In JSON they are in the object. With CSV they go elsewhere, and not where nobody meant a regression. */
static void print_remarks(const struct ssgd_regression *regression, enum print_form form, bool meant)
{
	for (size_t i = 0; i < regression->remark_count && meant; i++)
		if (form == PRINT_TEXT)
			print_paragraph(regression->remarks[i], 2, stdout);
		else if (form == PRINT_CSV)
			warnx("%s", regression->remarks[i]);
}

static void print_regression(
	const struct ssgd_item *items, size_t item_count, const struct model_options *how, cJSON *object)
{
	enum print_form form = how->common.form;
	struct print_table coefficients, residuals;
	struct ssgd_regression regression;
	cJSON *part = object ? cJSON_AddObjectToObject(object, "regression") : NULL;
	struct arena *arena = &items[0].run->analysis.timeline.arena;

	ssgd_regress(items, item_count, &how->question, &regression);
	print_init(&coefficients, arena);
	ssgd_coefficient_table(&regression.fit, &coefficients);
	print_init(&residuals, arena);
	ssgd_residual_table(&regression, items, &how->question, &residuals);
	if (part)
		ssgd_regression_json(&regression, &how->question, part);
	if (form == PRINT_TEXT && regression.fit.trouble)
		print_heading("\nRegression (3.9)", stdout);
	else
		print_part(&coefficients, form, part, "coefficients",
			arena_format(arena, "Regression (3.9) over %zu %s%s%s, %g%% intervals",
				regression.row_count, how->question.by_iteration ? "iteration" : "run",
				regression.row_count == 1 ? "" : "s",
				how->question.median && !how->question.by_iteration ? " by medians" : "",
				how->question.confidence * 100),
			true, stdout);
	if (form == PRINT_TEXT)
		print_summary(&regression, arena);
	print_remarks(&regression, form, how->asked || item_count > 1);
	if (form != PRINT_TEXT || (how->residuals && !regression.fit.trouble))
		print_part(&residuals, form, part, "rows", "Rows of the regression", true, stdout);
	print_free(&coefficients);
	print_free(&residuals);
	ssgd_regression_free(&regression);
}

typedef void fill_runs(const struct ssgd_item *items, size_t count, bool text, struct print_table *table);

static void print_table_of(fill_runs *fill, const struct ssgd_item *items, size_t count, enum print_form form,
	cJSON *object, const char *key, const char *title, bool gap)
{
	struct print_table table;

	print_init(&table, &items[0].run->analysis.timeline.arena);
	fill(items, count, form == PRINT_TEXT, &table);
	if (form != PRINT_TEXT || table.row_count > 0)
		print_part(&table, form, object, key, title, gap, stdout);
	print_free(&table);
}

static void fill_scaling(const struct ssgd_item *items, size_t count, bool text, struct print_table *table)
{
	(void)text;
	ssgd_scaling_table(items, count, table);
}

static void fill_imbalance(const struct ssgd_item *items, size_t count, bool text, struct print_table *table)
{
	(void)text;
	ssgd_imbalance_table(items, count, table);
}

static void fill_layers(const struct ssgd_item *items, size_t count, bool text, struct print_table *table)
{
	(void)text;
	ssgd_layer_table(items, count, table);
}

static void print_item(const struct ssgd_item *item)
{
	struct analysis *analysis = &item->run->analysis;
	struct arena *arena = &analysis->timeline.arena;
	const char **warnings = run_warnings(item->run);

	print_heading(arena_format(arena, "%s: %s, %zu GPU%s, %zu iteration%s", item->label,
			      *analysis->timeline.processes[0].program
				      ? print_clean(arena, analysis->timeline.processes[0].program)
				      : report_origin(analysis),
			      analysis->worker_count, analysis->worker_count == 1 ? "" : "s",
			      item->ssgd.step_count, item->ssgd.step_count == 1 ? "" : "s"),
		stdout);
	print_table_of(
		ssgd_phase_table, item, 1, PRINT_TEXT, NULL, "phases", "Mean time of an iteration", true);
	print_table_of(ssgd_prediction_table, item, 1, PRINT_TEXT, NULL, "predictions",
		"Predicted and measured", true);
	fputc('\n', stdout);
	print_paragraph(ssgd_verdict(item), 2, stdout);
	print_paragraph(ssgd_rest(item), 2, stdout);
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
		/* the old key */
		cJSON_AddItemToObject(run, "untold",
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
	for (size_t i = 0; i < count && form == PRINT_TEXT; i++) {
		if (i > 0)
			fputc('\n', stdout);
		print_item(&items[i]);
	}
	if (form != PRINT_TEXT) {
		print_table_of(ssgd_phase_table, items, count, form, object, "phases", NULL, false);
		print_table_of(ssgd_prediction_table, items, count, form, object, "predictions", NULL, true);
	}
	if (form != PRINT_TEXT || several || items[0].ssgd.shape.rank_count > 1)
		print_table_of(fill_scaling, items, count, form, object, "scaling", "Scaling", true);
	print_table_of(fill_imbalance, items, count, form, object, "imbalance",
		"Load imbalance factor (3.8) by phase", true);
	if (form != PRINT_TEXT || how->layers)
		print_table_of(fill_layers, items, count, form, object, "layers",
			"Load imbalance factor (3.8) by layer, forward and backward", true);
	if (form != PRINT_TEXT || several || how->asked)
		print_regression(items, count, how, object);
	if (object)
		print_json_end(object, stdout);
	fflush(stdout);
}

static double confidence_of(const struct command *command, const char *text)
{
	char *end;
	double percent = strtod(text, &end);

	if (end == text || *end || !(percent > 0 && percent < 100))
		cmd_usage(command, "--confidence %s: expected a percentage between 0 and 100", text);
	return percent / 100;
}

static struct model_options parse(int argument_count, char **arguments)
{
	static const struct option options[] = {
		CMD_OPTIONS,
		{"terms", required_argument, NULL, 't'},
		{"rows", required_argument, NULL, 'r'},
		{"confidence", required_argument, NULL, 'C'},
		{"median", no_argument, NULL, 'm'},
		{"residuals", no_argument, NULL, 'R'},
		{"layers", no_argument, NULL, 'l'},
		{0},
	};
	struct model_options how = {.common = {.skip = ANALYSIS_SKIP},
		.question = {.terms = {SSGD_TERM_GPUS, SSGD_TERM_LIF}, .term_count = 2, .confidence = 0.95}};
	struct ssgd_question *question = &how.question;
	char sentence[200];
	int option;

	while ((option = getopt_long(argument_count, arguments, "", options, NULL)) != -1) {
		how.asked |=
			option == 't' || option == 'r' || option == 'C' || option == 'R' || option == 'm';
		if (option == 't' &&
			(question->term_count = ssgd_terms_parse(optarg, question->terms, sentence)) == 0)
			cmd_usage(&cmd_model, "--terms %s: %s", optarg, sentence);
		if (option == 'r' && strcmp(optarg, "runs") != 0 && strcmp(optarg, "iterations") != 0)
			cmd_usage(&cmd_model, "--rows %s: expected runs or iterations", optarg);
		if (option == 'r')
			question->by_iteration = strcmp(optarg, "iterations") == 0;
		else if (option == 'C')
			question->confidence = confidence_of(&cmd_model, optarg);
		else if (option == 'm')
			question->median = true;
		else if (option == 'R')
			how.residuals = true;
		else if (option == 'l')
			how.layers = true;
		else if (option != 't' && !cmd_common_option(&cmd_model, &how.common, option, optarg))
			cmd_wrong_option(&cmd_model, options, arguments);
	}
	return how;
}

static int run(int argument_count, char **arguments)
{
	struct model_options how = parse(argument_count, arguments);
	size_t run_count, item_count;
	struct ssgd_item *items;
	struct run *runs;

	if (optind >= argument_count)
		cmd_usage(&cmd_model, "no run given");
	runs = cmd_read_runs(&how.common, arguments + optind, (size_t)(argument_count - optind), &run_count);
	items = open_items(runs, run_count, &item_count);
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

const struct command cmd_model = {
	.name = "model",
	.summary = "the S-SGD model: predicted against measured; regression",
	.run = run,
	.help = COMMAND_HELP(
		"pmanalyze model - the model of synchronous SGD, predicted against measured\n"
		"\n"
		"usage: pmanalyze model [OPTION]... RUN...\n"
		"\n"
		"Predicts the iteration time of each run from its phase times under different\n"
		"overlap assumptions and compares it with the measured time: which assumption\n"
		"is closest, and what remains unexplained. Over several runs (folders):\n"
		"speed-up, imbalance, and the dependence of the iteration time on the number of\n"
		"GPUs and on imbalance. The equations are those of \"Performance Modelling for\n"
		"Scalable Deep Learning\" (thesis, 2023), chapter 3.\n"
		"\n"
		"  --skip N        leave out the first N usual iterations (default: 1)\n"
		"  --steps A-B     only the steps with these numbers: the program's, or places\n"
		"                  in the run from 0\n" CMD_ITERATION_HELP "  --comm-pattern REGEX\n"
		"                  other profilers' traces: kernels whose names match the\n"
		"                  extended regular expression also count as communication\n"
		"                  (default: NCCL's names)\n"
		"  --layers        in text, also the imbalance of each layer (default: only the\n"
		"                  worst layer's)\n"
		"  --terms LIST    comma-separated terms of the regression (default: gpus,lif;\n"
		"                  see REGRESSION)\n"
		"  --rows runs|iterations\n"
		"                  rows of the regression: runs, with their means, or each\n"
		"                  iteration of each run (default: runs)\n"
		"  --median        use the median iteration time of a run instead of the mean:\n"
		"                  robust against outlier iterations (default: mean)\n"
		"  --confidence P  confidence level of the intervals, in percent (default: 95)\n"
		"  --residuals     in text, also the rows of the regression with fitted values\n"
		"                  and residuals (default: off)\n"
		"  --json          everything as one JSON object (see JSON); times in ns\n"
		"  --csv           the tables phases, predictions, scaling, imbalance, layers,\n"
		"                  coefficients, rows as CSV, an empty line between them;\n"
		"                  remarks go to standard error\n"
		"\n"
		"PREDICTIONS\n"
		"  Computed for each iteration from busy times (see pmanalyze report); the mean\n"
		"  is shown with its error. Buckets are shown where there are any.\n"
		"\n"
		"  series         (3.1), on several GPUs (3.2): t_io + t_h2d + t_f + t_b + t_c +\n"
		"                 t_u, means over ranks\n"
		"  imbalance      (3.3): t_io + t_h2d + t_md + max(t_f + t_b + t_c) + t_u, the\n"
		"                 maximum over ranks; t_c includes waiting for others\n"
		"  input          (3.5), with t_c and t_md: max(t_f + t_b + t_c + t_u of the\n"
		"                 slowest rank, t_io + t_h2d + t_md)\n"
		"  after          gradients are aggregated after the backward pass, as TensorFlow\n"
		"                 does: all ranks' input and passes, then the exchanges\n"
		"  layers         the exchange of layer l runs during the backward pass of layer\n"
		"                 l - 1, as in MXNet: it starts when the previous exchange has\n"
		"                 ended and the last rank has the layer's gradients\n"
		"  buckets        the same with the actual exchanges, of several layers each:\n"
		"                 one starts when the last of its gradients is complete\n"
		"  files          as imbalance, with t_io overlapping all of it; shown, as the\n"
		"                 next three, where file reads are seen to overlap other work\n"
		"  ..._files      after, layers, buckets, with t_io overlapping all of it\n"
		"  ..._input      the same three, with t_io, t_h2d and t_md overlapping all of it\n"
		"  bound          max(t_io + t_h2d + t_md, t_f + t_b + t_u, exchanges): lower\n"
		"                 bound for any overlap\n"
		"\n"
		"  From \"after\" on, the duration of an exchange is that on the last rank to\n"
		"  arrive, which waits for no other; it starts when that rank arrives.\n"
		"\n"
		"  with rest  the prediction plus what no equation covers: other work and idle\n"
		"             time of the iteration (exclusive), for a fair comparison\n"
		"  off        median over iterations of |with rest - measured| / measured. The\n"
		"             behaviour with the minimum is reported, if it is within 10%.\n"
		"             series, imbalance and input are not candidates on several GPUs:\n"
		"             their t_c includes waiting, which depends on the overlap. Also\n"
		"             excluded is what contradicts the exclusive times: overlap of input\n"
		"             or communication of which less than 5% overlaps other work;\n"
		"             sequential reading or aggregation where more than half of it\n"
		"             overlaps; layers where exchanges are of several\n"
		"\n"
		"  With gradients accumulated over several passes, \"layers\" has too much time to\n"
		"  hide exchanges in: they start in the last of the passes only. The equations\n"
		"  assume that each rank has the whole network: for a pipeline no behaviour is\n"
		"  reported.\n"
		"\n"
		"SPEED-UP\n"
		"  Relative to the first run of the same program on one GPU, a primed time being\n"
		"  that on N_g GPUs: measured, N_g t_iter / t'_iter; (3.6), the same from (3.1)\n"
		"  and (3.3); (3.7), N_g max(t_io + t_h2d, t_f + t_b + t_u) / max(t'_io + t'_h2d\n"
		"  + t'_md, t'_f + t'_b + t'_c). Where the samples of an iteration are known,\n"
		"  their ratio replaces N_g. eff. is the measured speed-up divided by N_g.\n"
		"\n"
		"SLOWDOWN\n"
		"  LIF (3.8), N max(t) / sum(t), measures the imbalance of ranks; S its cost:\n"
		"  t_iter under the closest assumption, divided by the same with each rank at\n"
		"  the mean of the ranks' times, in each iteration. 1 is balanced, for both.\n"
		"  Overlap hides imbalance and lowers S but not LIF; imbalance that changes from\n"
		"  iteration to iteration, of input and of hosts is in S but not in LIF.\n"
		"\n"
		"REGRESSION\n"
		"  (3.9), t_iter = b0 + b1 N_g + b2 LIF + e, by least squares: coefficients as\n"
		"  time per unit of the term, standard error, t and two-sided p of \"it is 0\",\n"
		"  confidence interval (Student's t), variance inflation factor (1: independent\n"
		"  of the other terms; from 10 on the collinear term is reported). A term that\n"
		"  is constant, or a linear combination of those before it, is left out with a\n"
		"  remark. A run without a value for a term is left out.\n"
		"\n" TERMS_HELP "\n"
		"JSON\n"
		"  runs         run, program, gpus, iterations, t_iter_ns, t_iter_sd_ns, rest_ns,\n"
		"               files_hidden, copies_hidden and communication_hidden (shares),\n"
		"               behaviour (the name of a prediction, or null),\n"
		"               no_layer_predictions (the reason, or null; also as untold,\n"
		"               until the next version)\n"
		"  phases       run, phase, busy_ns, busy_sd_ns, exclusive_ns, exclusive_sd_ns\n"
		"  predictions  run, assumption, title, equation, predicted_ns, predicted_sd_ns,\n"
		"               error, with_rest_ns, with_rest_sd_ns, with_rest_error, off,\n"
		"               behaviour (1: a candidate), best (1: the closest of them)\n"
		"  scaling      run, gpus, samples, t_iter_ns, speedup, speedup_3_6,\n"
		"               speedup_3_6_error, speedup_3_7, speedup_3_7_error, efficiency,\n"
		"               lif, slowdown\n"
		"  imbalance    run, gpus, computing, io, h2d, md, forward, backward, update,\n"
		"               other (LIF of each), layer (the worst), layer_lif\n"
		"  layers       run, gpus, layer, mean_ns, max_ns, lif, slowest\n"
		"  regression   row (run or iteration), median (true or\n"
		"               false), row_count, degrees_of_freedom, r2,\n"
		"               adjusted_r2, residual_sd_ns, f, f_p, confidence, remarks;\n"
		"               coefficients: term, state (fitted, constant, dependent,\n"
		"               unfitted), estimate_ns, standard_error_ns, t, p, low_ns, high_ns,\n"
		"               vif; rows: run, iteration, a value for each term, t_iter_ns,\n"
		"               fitted_ns, residual_ns\n"
		"  Errors are shares (0.02 is 2%); unknown values are null.\n"
		"\n"
		"JSON and CSV have max_ns of layers also under its old name, greatest_ns, until\n"
		"the next version.\n"
		"\n"
		"Exit status: 0 success, 1 no trace, or a run without iterations, 2 usage error.\n"),
};
