/* pmfit guide: what the model says: scaling, efficiency, what to buy, how to divide. */
#include "guide.h"
#include "auto.h"
#include "base/csv.h"
#include "output/guide_print.h"
#include "step_options.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Numbers with commas between them, ascending; positive. */
struct list {
	double *numbers;
	size_t count;
};

struct choices {
	const char *gpu_column, *batch_column, *unit;
	struct list gpus, batches;
	const char **at;
	size_t at_count;
	struct guide guide; /* what options say of it; the rest is guide_init's */
	struct cmd_guide_divide divide;
	struct cmd_guide_step step;
	enum print_form form;
	bool is_global; /* --batch-is global was given */
};

static void cmd_guide_add(struct list *list, double number)
{
	list->numbers = realloc(list->numbers, (list->count + 1) * sizeof(*list->numbers));
	if (!list->numbers)
		errx(1, "out of memory");
	list->numbers[list->count++] = number;
}

static void take_list(const char *option, const char *text, struct list *list)
{
	char *copy = strdup(text), *save = NULL;
	double number;

	if (!copy)
		errx(1, "out of memory");
	list->count = 0;
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		if (csv_number(item, &number) < 0 || number <= 0 ||
			(list->count && number <= list->numbers[list->count - 1]))
			cmd_usage(&cmd_guide, "%s %s: expected increasing positive numbers, such as 1,2,4",
				option, text);
		cmd_guide_add(list, number);
	}
	if (!list->count)
		cmd_usage(&cmd_guide, "%s: expected numbers, such as 1,2,4", option);
	free(copy);
}

static bool take_word(const char *option, const char *text, const char *no, const char *yes)
{
	if (strcmp(text, no) != 0 && strcmp(text, yes) != 0)
		cmd_usage(&cmd_guide, "%s %s: expected %s or %s", option, text, no, yes);
	return strcmp(text, yes) == 0;
}

enum {
	TIME_OF = OPTION_FIRST,
	BATCH_IS,
	UNIT,
	SAMPLES,
	GPU_COLUMN,
	BATCH_COLUMN,
	GPUS,
	BATCH,
	AT,
	WORTH,
	PRICE,
	MOST_GPUS,
	MOST_BATCH,
	PER_NODE,
	MOST_NODES,
	LEVEL,
	DIVIDE,
	SPEEDS,
	TIMES,
	RANK_COLUMN,
	TIME_COLUMNS,
	DEVICES,
};

/* Options that say how to divide; false if this is none. */
static bool take_divide(struct cmd_guide_divide *divide, int option, const char *argument)
{
	switch (option) {
	case DIVIDE:
		divide->batch = command_count(&cmd_guide, option, argument, 1, ULONG_MAX);
		return true;
	case SPEEDS:
		divide->speeds = argument;
		return true;
	case TIMES:
		divide->table = argument;
		return true;
	case RANK_COLUMN:
		divide->rank_column = argument;
		return true;
	case TIME_COLUMNS:
		divide->time_columns = argument;
		return true;
	case DEVICES:
		divide->levels = argument;
		return true;
	default:
		return false;
	}
}

static void take_at(struct choices *c, const char *text)
{
	if (!strchr(text, '='))
		cmd_usage(&cmd_guide, "--at %s: expected NAME=VALUE", text);
	c->at = realloc(c->at, (c->at_count + 1) * sizeof(*c->at));
	if (!c->at)
		errx(1, "out of memory");
	c->at[c->at_count++] = text;
}

/* Options that only models of steps know; false if this is none. */
static bool take_step(struct cmd_guide_step *step, int option, const char *argument)
{
	if (option == PER_NODE)
		step->gpus_per_node = (double)command_count(&cmd_guide, option, argument, 1, ULONG_MAX);
	else if (option == MOST_NODES)
		step->most_nodes = (double)command_count(&cmd_guide, option, argument, 1, ULONG_MAX);
	else if (option == LEVEL)
		step->level = argument;
	else
		return false;
	return true;
}

static void take_option(struct choices *c, int option, const char *argument)
{
	if (take_divide(&c->divide, option, argument) || take_step(&c->step, option, argument))
		return;
	if (option == TIME_OF)
		c->guide.is_epoch = take_word("--time-of", argument, "iteration", "epoch");
	else if (option == BATCH_IS)
		c->is_global = !(c->guide.is_local = take_word("--batch-is", argument, "global", "local"));
	else if (option == UNIT)
		c->unit = argument;
	else if (option == SAMPLES)
		c->guide.samples = (double)command_count(&cmd_guide, option, argument, 1, ULONG_MAX);
	else if (option == GPU_COLUMN)
		c->gpu_column = argument;
	else if (option == BATCH_COLUMN)
		c->batch_column = argument;
	else if (option == GPUS)
		take_list("--gpus", argument, &c->gpus);
	else if (option == BATCH)
		take_list("--batch", argument, &c->batches);
	else if (option == AT)
		take_at(c, argument);
	else if (option == WORTH)
		c->guide.worth = command_number(&cmd_guide, option, argument, 0, DBL_MAX);
	else if (option == PRICE)
		c->guide.price = command_number(&cmd_guide, option, argument, 0, DBL_MAX);
	else if (option == MOST_GPUS)
		c->guide.most_gpus = (double)command_count(&cmd_guide, option, argument, 1, ULONG_MAX);
	else if (option == MOST_BATCH)
		c->guide.most_local_batch = (double)command_count(&cmd_guide, option, argument, 1, ULONG_MAX);
	else if (option == 'c')
		c->form = PRINT_CSV;
	else if (option == 'j')
		c->form = PRINT_JSON;
}

/* Seconds in a unit, or NAN. */
static double unit_of(const char *name)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};

	for (size_t i = 0; name && i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i].name, name) == 0)
			return units[i].seconds;
	return NAN;
}

static void init_guide(struct choices *c, const struct pm_fit_model *model, struct guide *guide)
{
	const char *bad = guide_init(guide, model, c->gpu_column, c->batch_column);

	guide->is_epoch = c->guide.is_epoch;
	guide->is_local = c->guide.is_local;
	guide->samples = c->guide.samples;
	guide->price = c->guide.price;
	guide->worth = c->guide.worth;
	guide->most_gpus = c->guide.most_gpus;
	guide->most_local_batch = c->guide.most_local_batch;
	guide->unit_s = unit_of(c->unit ? c->unit : model->time_unit);
	for (size_t i = 0; i < c->at_count && !bad; i++) {
		char *copy = strdup(c->at[i]), *equals = copy ? strchr(copy, '=') : NULL;

		if (!equals)
			errx(1, "out of memory");
		*equals = 0;
		bad = guide_set(guide, copy, equals + 1);
		free(copy);
	}
	if (bad)
		errx(1, "%s", bad);
}

/* Defaults of what the table is over. */
static void complete(struct choices *c, const struct guide *guide)
{
	const struct pm_fit_model_column *batch =
		guide->batch == GUIDE_NONE ? NULL : &guide->model->columns[guide->batch];

	if (!batch && c->batches.count)
		errx(1, "the model has no column batch: set its name with --batch-column");
	if (guide->gpus == GUIDE_NONE && c->gpus.count)
		errx(1, "the model has no column gpus: set its name with --gpu-column");
	if (!c->gpus.count)
		take_list("--gpus", "1,2,4,8", &c->gpus);
	for (double b = 1; batch && !c->batches.count && b <= batch->greatest; b *= 2)
		if (b >= batch->least) {
			for (; b <= batch->greatest; b *= 2)
				cmd_guide_add(&c->batches, b);
		}
	if (!c->batches.count)
		cmd_guide_add(&c->batches, batch ? guide->point[guide->batch] : NAN);
}

static void show(struct choices *c, const struct guide *guide)
{
	struct guide_table table = {0};
	struct guide_answer answer = {0};
	int status = 0;

	complete(c, guide);
	if (guide->gpus != GUIDE_NONE)
		status = guide_table_fill(
			guide, c->gpus.numbers, c->gpus.count, c->batches.numbers, c->batches.count, &table);
	else
		warnx("the model has no column gpus (--gpu-column): no table");
	if (status == 0 && guide->price > 0 && table.cells && isnan(table.cells[0].cost))
		warnx("costs unavailable: set the unit of time (--unit) or the samples per epoch "
		      "(--samples)");
	if (status == 0)
		status = guide_answer_init(&answer, guide, &table);
	if (status < 0)
		errx(1, "out of memory");
	guide_print(&answer, c->form, stdout);
	guide_answer_free(&answer);
	guide_table_free(&table);
}

static void check(const struct choices *c, int operands)
{
	int ways = (c->divide.speeds != NULL) + (c->divide.table != NULL) + (c->divide.levels != NULL);

	if (c->divide.batch && ways != 1)
		cmd_usage(&cmd_guide, "--divide requires one of --speeds, --times and --devices");
	if (!c->divide.batch && ways)
		cmd_usage(&cmd_guide, "--speeds, --times and --devices require --divide");
	if (operands != (c->divide.speeds || c->divide.table ? 0 : 1))
		cmd_usage(&cmd_guide, "expected %s",
			c->divide.speeds || c->divide.table ? "no model: the speeds are already given"
							    : "a model");
	if (c->unit && isnan(unit_of(c->unit)))
		cmd_usage(&cmd_guide, "--unit %s: expected s, ms, us or ns", c->unit);
}

/* Answers by a model of steps. */
static int run_step(struct choices *c, const struct step_model *model)
{
	c->step.unit = c->unit;
	c->step.gpus = c->gpus.numbers;
	c->step.gpu_count = c->gpus.count;
	c->step.batches = c->batches.numbers;
	c->step.batch_count = c->batches.count;
	c->step.is_global = c->is_global;
	c->step.most_gpus = c->guide.most_gpus;
	c->step.most_gpu_batch = c->guide.most_local_batch;
	c->step.price = c->guide.price;
	c->step.worth = c->guide.worth;
	if (c->at_count || c->guide.is_epoch)
		errx(1, "--at and --time-of epoch: not for a model of steps, which has no other columns");
	for (size_t i = 0; i < c->gpus.count; i++)
		if (c->gpus.numbers[i] != floor(c->gpus.numbers[i]))
			errx(1, "--gpus %g: expected whole numbers", c->gpus.numbers[i]);
	return cmd_guide_step(model, &c->step, c->form);
}

/* A table in place of the model. */
static int run_table(struct choices *c, const char *path)
{
	struct auto_model model;
	struct guide guide = {0};
	int status = 0;

	auto_fit(&model, path, NULL, false);
	warnx("%s is a table: a model of %s is fitted ('pmfit auto' says what to believe)", path,
		model.is_step ? "the training step" : "its settings");
	if (model.is_step) {
		status = run_step(c, &model.step);
	} else {
		init_guide(c, model.formula, &guide);
		show(c, &guide);
		guide_free(&guide);
	}
	auto_free(&model);
	return status;
}

/* By a model of `pmfit fit`, or by none: batch shares of measured devices need no model. */
static int run_model(struct choices *c, const char *path)
{
	struct pm_fit_model *model = NULL;
	struct guide guide = {0};
	const char *bad;
	int status = 0;

	if (path) {
		bad = pm_fit_load(path, &model);
		if (bad)
			errx(1, "%s", bad);
		init_guide(c, model, &guide);
	}
	if (c->divide.batch)
		status = cmd_guide_divide(&c->divide, &guide, c->form);
	else
		show(c, &guide);
	guide_free(&guide);
	pm_fit_free(model);
	return status;
}

static int run_guide(int argument_count, char **arguments)
{
	struct choices c = {.guide = {.worth = 0.5},
		.divide = {.rank_column = "rank", .time_columns = "forward_ns,backward_ns"}};
	struct step_model steps;
	const char *path;
	int option, status;

	while ((option = command_option(&cmd_guide, argument_count, arguments)) != -1) {
		take_option(&c, option, optarg);
	}
	check(&c, argument_count - optind);
	path = optind < argument_count ? arguments[optind] : NULL;
	if (path && !c.divide.batch && step_options_load(path, &steps)) {
		status = run_step(&c, &steps);
		step_model_free(&steps);
	} else if (path && !c.divide.batch && auto_is_table(path)) {
		status = run_table(&c, path);
	} else {
		status = run_model(&c, path);
	}
	free(c.gpus.numbers);
	free(c.batches.numbers);
	free(c.at);
	return status;
}

static const struct option_row rows[] = {
	{NULL, 0, NULL, "Meaning of the model's time:"},
	{"time-of", TIME_OF, "iteration|epoch", "measured quantity; default iteration"},
	{"batch-is", BATCH_IS, "global|local",
		"whether the batch column is the total over all GPUs or per GPU; default global. "
		"Iterations with a local batch: weak scaling"},
	{"unit", UNIT, "s|ms|us|ns", "unit of the time; default: the model's, if one of these"},
	{"samples", SAMPLES, "N", "samples per epoch, for rates with --time-of epoch"},
	{"gpu-column", GPU_COLUMN, "NAME", "column with the number of GPUs, default gpus"},
	{"batch-column", BATCH_COLUMN, "NAME", "column with the batch size, default batch"},
	{NULL, 0, NULL, "Evaluated at:"},
	{"gpus", GPUS, "LIST", "numbers of GPUs; default 1,2,4,8"},
	{"batch", BATCH, "LIST", "batch sizes; default: powers of two in the fitted range"},
	{"at", AT, "NAME=VALUE",
		"value or level of another column; repeatable. Default: the geometric middle of the "
		"fitted range, the first level"},
	{NULL, 0, NULL, "With a model of 'pmfit step' (there --batch is per GPU unless --batch-is global):"},
	{"gpus-per-node", PER_NODE, "N", "default: the most that was measured"},
	{"at-most-nodes", MOST_NODES, "N", "use at most this number of nodes"},
	{"level", LEVEL, "NAME", "cluster or GPU model; default: the first"},
	{NULL, 0, NULL, "Recommendation:"},
	{"worth", WORTH, "X", "minimum speedup per added GPU that pays; default 0.5"},
	{"price", PRICE, "X", "price of a GPU hour: adds the cost per million samples"},
	{"at-most-gpus", MOST_GPUS, "N", "use at most this number of GPUs"},
	{"at-most-local-batch", MOST_BATCH, "N", "largest batch per GPU (limited by its memory)"},
	{NULL, 0, NULL, "Heterogeneous devices:"},
	{"divide", DIVIDE, "BATCH",
		"divide a batch in proportion to speed, in whole samples, and print the time saved"},
	{"speeds", SPEEDS, "LIST", "samples per unit of time, optionally named: v100:312,k80:90"},
	{"times", TIMES, "TABLE.csv",
		"or the times with equal shares, summed per rank, as printed by 'pmanalyze layers "
		"--ranks --csv'"},
	{"rank-column", RANK_COLUMN, "NAME", "column with the rank, default rank"},
	{"time-columns", TIME_COLUMNS, "LIST", "columns to sum, default forward_ns,backward_ns"},
	{"devices", DEVICES, "COLUMN=LEVELS", "or the levels of a column of MODEL, one per device"},
	{NULL, 0, NULL, "Output:"},
	{"csv", 'c', NULL, "CSV output, the table only; interval limits are empty without bootstrap values"},
	{"json", 'j', NULL, "JSON output, complete, with the sentences of the text"},
	{0},
};

const struct command cmd_guide = {
	.name = "guide",
	.summary = "scaling, efficiency, cost and batch shares according to a model",
	.usage = "[OPTION]... MODEL.json\n"
		 "[OPTION]... STEP-MODEL.json\n"
		 "--divide BATCH --speeds LIST | --times TABLE.csv\n"
		 "--divide BATCH --devices COLUMN=LEVELS MODEL.json",
	.about = "MODEL is a file written by 'pmfit fit -o' or 'pmfit search -o', or a table of runs, to "
		 "which 'pmfit auto' fits a model first. Prints how the time scales with GPUs and batch, "
		 "the share of the constant C, the costliest settings, a table of time, speedup, "
		 "efficiency and rate over batch and GPUs, the number of GPUs up to which adding GPUs "
		 "pays, and a recommendation. Rows outside the fitted range are marked 'extrapolated'. "
		 "Intervals are those of the fitted curve, from the model's bootstrap values (pmfit fit "
		 "--bootstrap 200).\n"
		 "\n"
		 "With a model of 'pmfit step' the table is over GPUs, nodes and batch: each number of "
		 "GPUs on as few nodes as possible and spread over as many; where more GPUs are slower, "
		 "what spreading costs, the fastest configuration and the one with the least GPU time a "
		 "sample, within the data and beyond.\n",
	.options = OPTION_TABLES(rows),
	.after = "Examples:\n"
		 "  pmfit guide --gpus 1,2,4,8 --batch 32,64,128 --price 2.5 lenet.json\n"
		 "  pmanalyze layers --ranks --csv run | pmfit guide --divide 256 --times -\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_guide,
};
