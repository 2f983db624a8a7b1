/* pmfit advise: from one captured run on one GPU to an answer: how many GPUs, which strategy, how long, what
 * limits it. */
#include "advise.h"
#include "base/memory.h"
#include "base/output.h"
#include "base/table.h"
#include "cmd.h"
#include "output/advice_print.h"

#include <err.h>
#include <float.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct asked {
	const char *cluster, *page;
	double price, samples, batch;
	bool is_strong; /* the whole batch stays the run's, or whole_batch */
	enum print_form form;
};

enum { CLUSTER = OPTION_FIRST, GPUS, WORTH, PRICE, SAMPLES, CYCLE, OPTIMIZER, BATCH, WHOLE, HTML };

static void take_counts(struct advice *a, const char *text)
{
	char *copy = strdup(text), *rest = copy, *word;

	if (!copy)
		errx(1, "out of memory");
	a->count = 0;
	while ((word = strsep(&rest, ","))) {
		size_t gpus = command_count(&cmd_advise, GPUS, word, 1, ULONG_MAX);

		if (a->count == ADVICE_MOST_COUNTS || gpus > STRATEGY_MAX_WORKERS ||
			(a->count && gpus <= a->counts[a->count - 1]))
			cmd_usage(&cmd_advise,
				"--gpus %s: expected increasing numbers up to %d, such as 1,2,4", text,
				STRATEGY_MAX_WORKERS);
		a->counts[a->count++] = gpus;
	}
	free(copy);
}

static void take_options(int argument_count, char **arguments, struct advice *a, struct asked *asked)
{
	static const char *const optimizers[] = {"sgd", "momentum", "adam", NULL};
	int option;

	take_counts(a, "1,2,4,8,16,32,64");
	while ((option = command_option(&cmd_advise, argument_count, arguments)) != -1)
		if (option == CLUSTER)
			asked->cluster = optarg;
		else if (option == GPUS)
			take_counts(a, optarg);
		else if (option == WORTH)
			a->worth = command_number(&cmd_advise, option, optarg, 0, DBL_MAX);
		else if (option == PRICE)
			asked->price = command_number(&cmd_advise, option, optarg, 0, DBL_MAX);
		else if (option == SAMPLES)
			asked->samples = command_number(&cmd_advise, option, optarg, 0, DBL_MAX);
		else if (option == CYCLE)
			a->cycle = 1e6 * command_number(&cmd_advise, option, optarg, 0, DBL_MAX);
		else if (option == OPTIMIZER)
			a->optimizer_copies = (double)command_word(&cmd_advise, option, optarg, optimizers);
		else if (option == BATCH)
			asked->batch = (double)command_count(&cmd_advise, option, optarg, 1, ULONG_MAX);
		else if (option == WHOLE) {
			asked->is_strong = true;
			a->whole_batch =
				optarg ? (double)command_count(&cmd_advise, option, optarg, 1, ULONG_MAX) : 0;
		} else if (option == HTML)
			asked->page = optarg;
		else if (option == 'j')
			asked->form = PRINT_JSON;
		else if (option == 'c')
			asked->form = PRINT_CSV;
		else
			command_unhandled(&cmd_advise, option);
	if (optind == argument_count)
		cmd_usage(&cmd_advise, "expected a run");
}

/* What was measured is shown too, whether it was asked for or not. */
static void add_checks(struct advice *a)
{
	for (size_t i = 0; i < a->check_count; i++) {
		size_t gpus = a->checks[i].gpus, at = 0;

		while (at < a->count && a->counts[at] < gpus)
			at++;
		if ((at < a->count && a->counts[at] == gpus) || a->count == ADVICE_MOST_COUNTS)
			continue;
		memmove(a->counts + at + 1, a->counts + at, (a->count - at) * sizeof(*a->counts));
		a->counts[at] = gpus;
		a->count++;
	}
}

static void write_page(const struct advice_print *print, const char *path)
{
	struct pm_output output;

	advice_print_html(print, pm_output_create(&output, path, false));
	pm_output_finish(&output, path);
}

/* One batch for all GPUs: what was measured with other batches is no check, and there is a sample for each.
 */
static void share_batch(struct advice *a)
{
	if (!(a->whole_batch > 0))
		a->whole_batch = a->run.batch;
	a->check_count = 0;
	while (a->count > 1 && (double)a->counts[a->count - 1] > a->whole_batch)
		a->count--;
	if ((double)a->counts[0] > a->whole_batch)
		errx(1, "--whole-batch: %zu GPUs for %g samples", a->counts[0], a->whole_batch);
}

/* A run on one GPU does not tell how fast links are: those of machines that are built with its GPU. */
static char *known_cluster(const struct advice *a, const char *run)
{
	const char *device = a->net.device.name;
	char *name = strategy_known_cluster(device);

	if (!name)
		errx(1, "%s: no cluster is known with %s: --cluster takes a file with its links, or one of %s",
			run, *device ? device : "its GPU, whose name it does not have",
			strategy_known_clusters());
	return name;
}

static int run_advise(int argument_count, char **arguments)
{
	struct advice a = {.cycle = 1e6, .worth = 0.5, .cluster = mem_alloc(1, sizeof(*a.cluster))};
	struct asked asked = {0};
	struct advise_exchange exchange = {0};
	struct advice_print print = {.advice = &a};
	char *known = NULL;

	take_options(argument_count, arguments, &a, &asked);
	if (asked.cluster && strategy_cluster_read(a.cluster, asked.cluster) < 0)
		errx(1, "%s", a.cluster->error);
	advise_read_runs(&a, arguments + optind, (size_t)(argument_count - optind), asked.batch, &print.run,
		&exchange);
	print.cluster = asked.cluster;
	if (!asked.cluster) {
		known = known_cluster(&a, print.run);
		if (strategy_cluster_read(a.cluster, known) < 0)
			errx(1, "%s", a.cluster->error);
		print.cluster = known;
		print.is_assumed = true;
		advise_exchange_apply(&exchange, a.cluster);
	}
	strategy_cluster_complete(a.cluster, &a.net);
	if (asked.is_strong)
		share_batch(&a);
	add_checks(&a);
	if (advice_fill(&a) < 0)
		errx(1, "out of memory");
	print.price = asked.price;
	print.samples = asked.samples;
	if (asked.page)
		write_page(&print, asked.page);
	if (asked.form == PRINT_JSON)
		advice_print_json(&print, stdout);
	else if (asked.form == PRINT_CSV)
		advice_print_csv(&print, stdout);
	else
		advice_print_text(&print, stdout);
	advice_free(&a);
	advise_free_runs(&a);
	strategy_cluster_free(a.cluster);
	free(a.cluster);
	free(known);
	advise_exchange_free(&exchange);
	return 0;
}

static const struct option_row rows[] = {
	{"cluster", CLUSTER, "FILE",
		"the links, or the name of a known cluster; its number of workers does not count. Default: the known one with "
		"the run's GPU, marked as assumed, and links among several GPUs as the run's were"},
	{"gpus", GPUS, "LIST", "numbers of GPUs; default 1,2,4,8,16,32,64"},
	{"worth", WORTH, "X", "least share of a GPU's work that added GPUs must do to pay; default 0.5"},
	{"price", PRICE, "X", "price of a GPU hour: adds the cost per million samples"},
	{"samples", SAMPLES, "N", "how long for so many samples: an epoch, or a whole training"},
	{"cycle-ms", CYCLE, "X", "period in which gradients are collected for an exchange; default 1"},
	{"optimizer", OPTIMIZER, "sgd|momentum|adam",
		"numbers it keeps for a parameter (0, 1, 2), for memory; the runs' own; default sgd"},
	{"batch", BATCH, "N",
		"samples on a GPU, where the trace does not have them, as of transformers; then what divides the "
		"batch is predicted, and tensor parallelism and pipelines of PyTorch's programs"},
	{"whole-batch", WHOLE, "[=N]",
		"strong scaling: all GPUs together have N samples, without N the run's batch, so that each has fewer with more of "
		"them; default: each has the run's batch"},
	{"html", HTML, "FILE", "writes one page too: the answer, a picture, tables; no script, no network"},
	{"csv", 'c', NULL, "CSV output, a row for each strategy on each number of GPUs, times in ns"},
	{"json", 'j', NULL, "JSON output: the rows, every strategy with its partition, the answer"},
	{0},
};

const struct command cmd_advise = {
	.name = "advise",
	.summary = "how many GPUs, which strategy, how long, from one captured run",
	.usage = "[OPTION]... RUN...",
	.about =
		"RUN is a run on one GPU, recorded by pmrun or PyTorch's profiler (record_shapes=True); or on several with "
		"data parallelism, one of which is assumed to take the same time alone, less the exposed part of the exchange. Its layers and its iteration ('pmanalyze "
		"layers', 'report' and 'export --observations', which are started) are what one GPU does; "
		"the cluster's file has the links ('pmfit strategy --help'). Predicts an iteration on 1 to 64 GPUs, each "
		"with the run's batch (the whole batch grows; --whole-batch divides one among them), for every strategy, and says what to take:\n"
		"\n"
		"  data\tas measured, plus the exchange of gradients next to the backward pass. Its "
		"range is from an exchange that is wholly hidden to one that is not hidden at all; of PyTorch's programs as DDP does it\n"
		"  pipelines\tof micro-batches of another size than the run's a part of each layer's time "
		"does not shrink: what layers of a kind have in common, or as the shortest layers tell, and reading "
		"their parameters; the range is from none to twice that\n"
		"\n"
		"Further runs on one GPU with other batches tell what micro-batches take. Runs on several "
		"GPUs with data parallelism and the first run's batch on each are shown beside the "
		"prediction; for nearby numbers of GPUs, data parallelism is assumed to deviate from the prediction as much. What stragglers and slow "
		"links cost there ('pmanalyze report') is said first, and taken out; 'delayed' is a step with them.\n"
		"\n"
		"What a GPU does outside of its layers (input, copies, launches, waiting) is taken to stay as it "
		"is; where it is a quarter of the iteration or more, pipelines are shown as untried. A strategy that exceeds a GPU's memory is left out; 1f1b, tensor parallelism and, of other than PyTorch's programs, ZeRO's stages were not validated against a run: they are shown as untried and not recommended. A strategy that is nearer to the recommended one than the error of such predictions in modelled runs is called a tie (tied in CSV and JSON). "
		"Ranges hold if the links are as the file has them.\n",
	.options = OPTION_TABLES(rows),
	.after = "Example:\n"
		 "  pmrun -o run ./train && pmfit advise run\n"
		 "  pmfit advise --cluster mine.txt --html advice.html run\n"
		 "  pmfit advise --whole-batch=1024 run\n"
		 "\n"
		 "Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_advise,
};
