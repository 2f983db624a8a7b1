/* pmfit advise: from one captured run on one GPU to an answer: how many GPUs, which strategy, how long, what
 * limits it. */
#include "advise/strategy_choose.h"
#include "base/csv.h"
#include "base/memory.h"
#include "base/table.h"
#include "base/text.h"
#include "cmd.h"
#include "sweep/sweep_child.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_COUNTS 32
#define LIMITS 0.25 /* share of the iteration from which something is called its limit */

struct advice_row {
	size_t gpus;
	enum strategy_name best; /* STRATEGY_NAME_COUNT: nothing fits */
	double time, low, high;  /* ns; low and high NAN: no range */
	double rate;             /* samples a second */
	double efficiency, marginal;
	double exposed; /* data: ns of the exchange that are not hidden */
	const char *limit;
};

struct advice {
	const char *cluster_path, *run;
	struct strategy_cluster *cluster;
	struct strategy_net net;
	double batch, iteration, other; /* samples; ns; ns outside of layers */
	size_t counts[MOST_COUNTS], count;
	double worth, price;
	struct advice_row rows[MOST_COUNTS];
	bool json;
};

/* Runs pmanalyze with its output in a file, or ends the program with what it complained about. */
static void analyze(const char *const *words, const char *output, const char *errors)
{
	char text[1024];
	sigset_t none;
	int status = 0;
	pid_t pid;

	sigemptyset(&none);
	pid = sweep_child_start((char *const *)(uintptr_t)words, output, errors, &none);
	if (pid < 0)
		errx(1, "pmanalyze: %s", strerror((int)-pid));
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		sweep_child_tail(errors, text, sizeof(text));
		errx(1, "%s", *text ? sweep_child_last_line(text) : "pmanalyze failed");
	}
}

static double observed(const struct csv *csv, const char *column)
{
	ptrdiff_t at = csv_find(csv, column);
	double number;

	return at >= 0 && csv_number(csv->cells[at], &number) == 0 ? number : NAN;
}

/* The run as one GPU's work. */
static void read_observation(struct advice *a, const char *path)
{
	struct csv csv;
	double gpus;

	if (csv_read(&csv, path) < 0)
		errx(1, "%s", csv.error);
	gpus = observed(&csv, "gpus");
	a->batch = observed(&csv, "batch");
	a->iteration = 1e6 * observed(&csv, "iteration_ms");
	if (!(gpus <= 1))
		errx(1, "%s: a run on %g GPUs: expected one on one GPU, whose layers have no exchange in them",
			a->run, gpus);
	if (!(a->batch > 0) || !(a->iteration > 0))
		errx(1, "%s: its batch or iteration is unknown (pmanalyze report says why)", a->run);
	csv_free(&csv);
}

static void read_run(struct advice *a)
{
	char folder[] = "/tmp/pmfit-advise-XXXXXX", layers[64], table[64], errors[64];
	const char *const list[] = {"pmanalyze", "layers", "--json", a->run, NULL};
	const char *const row[] = {"pmanalyze", "export", "--observations", a->run, NULL};
	const char *const paths[] = {layers};

	if (!mkdtemp(folder))
		err(1, "%s", folder);
	snprintf(layers, sizeof(layers), "%s/layers.json", folder);
	snprintf(table, sizeof(table), "%s/run.csv", folder);
	snprintf(errors, sizeof(errors), "%s/errors", folder);
	analyze(row, table, errors);
	read_observation(a, table);
	analyze(list, layers, errors);
	if (strategy_net_read(&a->net, paths, 1) < 0)
		errx(1, "%s: %s", a->run,
			strrchr(a->net.error, ':') ? strrchr(a->net.error, ':') + 2 : a->net.error);
	sweep_child_remove(folder);
	a->other = a->iteration;
	for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
		a->other -=
			strategy_time_of(&a->net, 0, a->net.layer_count, (enum strategy_time)which, a->batch);
	a->other = fmax(a->other, 0);
}

static const char *limit_of(const struct advice *a, const struct advice_row *row)
{
	if (row->best == STRATEGY_NAME_DATA && row->exposed > LIMITS * row->time)
		return "links";
	if (a->other > LIMITS * row->time)
		return "input, copies or launches";
	return row->best >= STRATEGY_NAME_MODEL ? "compute, and stages that wait" : "compute";
}

/* Data parallelism with nothing of the exchange hidden, and with all of it. */
static void set_range(const struct advice *a, const struct strategy_how *how, struct advice_row *row)
{
	struct strategy_how after = *how;
	struct strategy_data_parts parts;

	after.aggregate = STRATEGY_AFTER;
	strategy_data(&a->net, a->cluster, &after, &parts);
	row->high = fmax(parts.total, row->time);
	row->low = fmin(fmax(parts.total - parts.exposed, parts.exchange), row->time);
}

static void fill_row(struct advice *a, size_t i)
{
	static const size_t tries[] = {1, 2, 4, 8, 16, 32, 64, 128};
	struct advice_row *row = &a->rows[i];
	double gpus = (double)row->gpus;
	/* each of the workers reads as much as the one that was measured */
	struct strategy_how how = {.batch = a->batch * gpus,
		.other = a->other * gpus,
		.aggregate = STRATEGY_FUSED,
		.threshold = 64 << 20,
		.cycle = 1e6,
		.recompute = true};
	struct strategy_choice choices[STRATEGY_NAME_COUNT];

	a->cluster->workers = row->gpus;
	if (strategy_choose(&a->net, a->cluster, &how, &(struct strategy_tries){tries, 8}, choices) < 0)
		errx(1, "out of memory");
	row->best = row->gpus == 1 ? STRATEGY_NAME_SINGLE : strategy_best(choices, true);
	if (row->gpus == 1 && !choices[STRATEGY_NAME_SINGLE].fits)
		row->best = STRATEGY_NAME_COUNT;
	row->time = row->low = row->high = row->rate = NAN;
	row->limit = "memory";
	if (row->best == STRATEGY_NAME_COUNT)
		return;
	row->time = row->best == STRATEGY_NAME_SINGLE ? a->iteration : choices[row->best].time;
	row->exposed = row->best == STRATEGY_NAME_DATA ? choices[row->best].parts.exposed : 0;
	if (row->best == STRATEGY_NAME_DATA)
		set_range(a, &how, row);
	row->rate = how.batch / row->time * 1e9;
	row->limit = limit_of(a, row);
}

static void fill(struct advice *a)
{
	for (size_t i = 0; i < a->count; i++) {
		struct advice_row *row = &a->rows[i];
		double one = a->batch / a->iteration * 1e9;

		row->gpus = a->counts[i];
		fill_row(a, i);
		row->efficiency = row->rate / (double)row->gpus / one;
		row->marginal = i ? (row->rate - a->rows[i - 1].rate) /
						(double)(row->gpus - a->rows[i - 1].gpus) / one
				  : NAN;
	}
}

/* The last row up to which each addition pays. */
static const struct advice_row *last_that_pays(const struct advice *a)
{
	size_t last = 0;

	while (last + 1 < a->count && a->rows[last + 1].marginal >= a->worth)
		last++;
	return &a->rows[last];
}

static const struct advice_row *quickest(const struct advice *a)
{
	const struct advice_row *best = &a->rows[0];

	for (size_t i = 1; i < a->count; i++)
		if (a->rows[i].rate > best->rate || isnan(best->rate))
			best = &a->rows[i];
	return best;
}

static double cost_of(const struct advice *a, const struct advice_row *row)
{
	return a->price > 0 ? a->price * (double)row->gpus / 3600 / row->rate * 1e6 : NAN;
}

enum { STRATEGY = 2, TIME };

static const struct print_column columns[] = {
	PRINT_COLUMN("gpus", "GPUs", PRINT_COUNT),
	PRINT_COLUMN("batch", "batch", PRINT_FIGURE, .digits = 6),
	PRINT_COLUMN("strategy", "strategy", PRINT_WORD),
	PRINT_COLUMN("time", "time", PRINT_TIME),
	PRINT_COLUMN("hidden", "hidden", PRINT_TIME),
	PRINT_COLUMN("exposed", "exposed", PRINT_TIME),
	PRINT_COLUMN("samples_per_s", "samples/s", PRINT_FIGURE, .digits = 4),
	PRINT_COLUMN("efficiency", "effic.", PRINT_SHARE),
	PRINT_COLUMN("marginal", NULL, PRINT_SHARE),
	PRINT_COLUMN("cost", "cost/1M", PRINT_FIGURE, .digits = 3),
	PRINT_COLUMN("limit", "limit", PRINT_WORD),
	PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
};

#define LAST (sizeof(columns) / sizeof(*columns) - 1)

static void fill_table(const struct advice *a, struct print_table *table)
{
	print_columns(table, columns, LAST + 1);
	if (!(a->price > 0))
		table->columns[LAST - 2].title = NULL;
	for (size_t i = 0; i < a->count; i++) {
		const struct advice_row *row = &a->rows[i];

		print_row(table);
		print_numbers(table, 0, (double[]){(double)row->gpus, a->batch * (double)row->gpus}, 2);
		if (row->best == STRATEGY_NAME_COUNT)
			print_word(table, LAST, "nothing fits into a GPU's memory");
		else
			print_word(table, STRATEGY, strategy_names[row->best]);
		print_numbers(table, TIME,
			(double[]){row->time, row->low, row->high, row->rate, row->efficiency, row->marginal,
				cost_of(a, row)},
			7);
		print_word(table, LAST - 1, row->limit);
	}
}

static void show_text(const struct advice *a, const struct print_table *table)
{
	const struct advice_row *pays = last_that_pays(a), *best = quickest(a);
	struct arena arena = {0};

	printf("%s: %g samples in %.4g ms on one GPU, %.4g ms of it outside of the layers\n\n", a->run,
		a->batch, a->iteration / 1e6, a->other / 1e6);
	print_text(table, "An iteration", stdout);
	putchar('\n');
	if (isfinite(pays->rate))
		print_paragraph(
			arena_format(&arena,
				"Adding GPUs pays up to %zu (%s): %.4g samples/s at an efficiency of %.0f%%.",
				pays->gpus, strategy_names[pays->best], pays->rate, 100 * pays->efficiency),
			2, stdout);
	if (isfinite(best->rate) && best != pays)
		print_paragraph(
			arena_format(&arena, "Quickest: %zu GPUs (%s): %.4g samples/s, limited by %s.",
				best->gpus, strategy_names[best->best], best->rate, best->limit),
			2, stdout);
	print_paragraph(
		"How sure: the layers were measured with this batch, on one GPU. 'hidden' and 'exposed' bound what the "
		"overlap can change; that the links reach what the file says is not checked, nor is noise among GPUs. "
		"Measure one run on 2 or more GPUs, add it to a table, and 'pmfit step' has intervals.",
		2, stdout);
	arena_free(&arena);
}

static void show_json(const struct advice *a, const struct print_table *table)
{
	cJSON *root = cJSON_CreateObject();

	cJSON_AddStringToObject(root, "run", a->run);
	cJSON_AddNumberToObject(root, "gpu_batch", a->batch);
	cJSON_AddNumberToObject(root, "iteration_ns", a->iteration);
	cJSON_AddNumberToObject(root, "other_ns", a->other);
	cJSON_AddItemToObject(root, "rows", print_json(table));
	cJSON_AddNumberToObject(root, "pays_up_to", (double)last_that_pays(a)->gpus);
	print_json_end(root, stdout);
}

static void show(const struct advice *a)
{
	struct arena arena = {0};
	struct print_table table;

	print_init(&table, &arena);
	fill_table(a, &table);
	if (a->json)
		show_json(a, &table);
	else
		show_text(a, &table);
	print_free(&table);
	arena_free(&arena);
}

enum { CLUSTER = OPTION_FIRST, GPUS, WORTH, PRICE };

static void take_counts(struct advice *a, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;

	if (!copy)
		errx(1, "out of memory");
	a->count = 0;
	while ((word = strsep(&rest, ","))) {
		size_t gpus = command_count(&cmd_advise, GPUS, word, 1, ULONG_MAX);

		if (a->count == MOST_COUNTS || gpus > STRATEGY_MAX_WORKERS ||
			(a->count && gpus <= a->counts[a->count - 1]))
			cmd_usage(&cmd_advise,
				"--gpus %s: expected increasing numbers up to %d, such as 1,2,4", text,
				STRATEGY_MAX_WORKERS);
		a->counts[a->count++] = gpus;
	}
	free(copy);
}

static int run(int argument_count, char **arguments)
{
	struct advice a = {.worth = 0.5, .cluster = mem_alloc(1, sizeof(*a.cluster))};
	int option;

	take_counts(&a, "1,2,4,8,16,32,64");
	while ((option = command_option(&cmd_advise, argument_count, arguments)) != -1)
		if (option == CLUSTER)
			a.cluster_path = optarg;
		else if (option == GPUS)
			take_counts(&a, optarg);
		else if (option == WORTH)
			a.worth = command_number(&cmd_advise, option, optarg, 0, DBL_MAX);
		else if (option == PRICE)
			a.price = command_number(&cmd_advise, option, optarg, 0, DBL_MAX);
		else if (option == 'j')
			a.json = true;
		else
			command_unhandled(&cmd_advise, option);
	if (optind + 1 != argument_count)
		cmd_usage(&cmd_advise, "expected a run");
	if (!a.cluster_path)
		cmd_usage(&cmd_advise,
			"--cluster is required: a run on one GPU does not tell how fast links are");
	a.run = arguments[optind];
	if (strategy_cluster_read(a.cluster, a.cluster_path) < 0)
		errx(1, "%s", a.cluster->error);
	read_run(&a);
	fill(&a);
	show(&a);
	strategy_net_free(&a.net);
	strategy_cluster_free(a.cluster);
	free(a.cluster);
	return 0;
}

static const struct option_row rows[] = {
	{"cluster", CLUSTER, "FILE", "required; its number of workers does not count"},
	{"gpus", GPUS, "LIST", "numbers of GPUs; default 1,2,4,8,16,32,64"},
	{"worth", WORTH, "X", "least share of a GPU's work that added GPUs must do to pay; default 0.5"},
	{"price", PRICE, "X", "price of a GPU hour: adds the cost per million samples"},
	{"json", 'j', NULL, "JSON output"},
	{0},
};

const struct command cmd_advise = {
	.name = "advise",
	.summary = "how many GPUs, which strategy, how long, from one captured run",
	.usage = "--cluster FILE [OPTION]... RUN",
	.about = "RUN is a run on one GPU, recorded by pmrun. Its layers and its iteration ('pmanalyze "
		 "layers' and 'export --observations', which are started) are what one GPU does; FILE has "
		 "the links ('pmfit strategy --help'). Predicts an iteration on 1 to 64 GPUs, each with "
		 "the run's batch (the whole batch grows), for every strategy:\n"
		 "\n"
		 "  data\tas measured, plus the exchange of gradients next to the backward pass. Its "
		 "range is from an exchange that is wholly hidden to one that is not hidden at all: the "
		 "truth lies between, if the links are as FILE has them\n"
		 "  pipelines\tmicro-batches of another size than the run's: the layers' times are scaled "
		 "in proportion, which is optimistic: no range\n"
		 "\n"
		 "What a GPU does outside of its layers (input, copies, launches) is taken to stay as it "
		 "is. A strategy that exceeds memory_gib of FILE is left out.\n",
	.options = OPTION_TABLES(rows),
	.after = "Example:\n"
		 "  pmrun -o run ./train && pmfit advise --cluster dgx.txt run\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run,
};
