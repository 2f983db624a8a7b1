/* pmfit strategy: data, model and pipeline parallelism predicted from one GPU. */
#include "strategy/strategy_choose.h"
#include "strategy/strategy_torch.h"
#include "base/table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cmd.h"
#include "output/sentences.h"
#include "output/strategy_table.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choices {
	const char *cluster;
	size_t workers, micro_batches[64], micro_count;
	bool goes_on; /* with more micro-batches, where memory decides */
	struct strategy_how how;
	enum print_form form;
};

enum {
	CLUSTER = OPTION_FIRST,
	WORKERS,
	BATCH,
	AGGREGATE,
	THRESHOLD,
	CYCLE,
	MICRO,
	RECOMPUTE,
	OTHER,
	OPTIMIZER
};

static void take_micro_batches(struct choices *c, const char *text)
{
	char *copy = strdup(text), *save = NULL;

	if (!copy)
		errx(1, "out of memory");
	c->micro_count = 0;
	c->goes_on = false;
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		if (c->micro_count == sizeof(c->micro_batches) / sizeof(*c->micro_batches))
			cmd_usage(&cmd_strategy, "--micro-batches: more than %zu numbers", c->micro_count);
		c->micro_batches[c->micro_count++] = command_count(&cmd_strategy, MICRO, item, 1, ULONG_MAX);
	}
	if (!c->micro_count)
		cmd_usage(&cmd_strategy, "--micro-batches: expected numbers, such as 1,2,4");
	free(copy);
}

static void take_options(int argument_count, char **arguments, struct choices *c)
{
	static const char *const optimizers[] = {"sgd", "momentum", "adam", NULL};
	static const char *const aggregates[] = {"after", "overlap", "fused", NULL};
	static const char *const switches[] = {"off", "on", NULL};
	int option;

	while ((option = command_option(&cmd_strategy, argument_count, arguments)) != -1)
		if (option == CLUSTER)
			c->cluster = optarg;
		else if (option == WORKERS)
			c->workers = command_count(&cmd_strategy, option, optarg, 1, ULONG_MAX);
		else if (option == BATCH)
			c->how.batch = (double)command_count(&cmd_strategy, option, optarg, 1, ULONG_MAX);
		else if (option == AGGREGATE)
			c->how.aggregate = (enum strategy_aggregate)command_word(
				&cmd_strategy, option, optarg, aggregates);
		else if (option == THRESHOLD)
			c->how.threshold = command_number(&cmd_strategy, option, optarg, 0, DBL_MAX);
		else if (option == CYCLE)
			c->how.cycle = 1e6 * command_number(&cmd_strategy, option, optarg, 0, DBL_MAX);
		else if (option == MICRO)
			take_micro_batches(c, optarg);
		else if (option == RECOMPUTE)
			c->how.recompute = command_word(&cmd_strategy, option, optarg, switches) != 0;
		else if (option == OTHER)
			c->how.other = 1e3 * command_number(&cmd_strategy, option, optarg, 0, DBL_MAX);
		else if (option == OPTIMIZER)
			c->how.optimizer_copies =
				(int)command_word(&cmd_strategy, option, optarg, optimizers);
		else if (option == 'c')
			c->form = PRINT_CSV;
		else if (option == 'j')
			c->form = PRINT_JSON;
		else
			command_unhandled(&cmd_strategy, option);
	if (optind == argument_count)
		cmd_usage(&cmd_strategy, "expected layer files");
	if (!c->cluster)
		cmd_usage(&cmd_strategy, "--cluster is required: a file, or one of %s",
			strategy_known_clusters());
	if (c->workers > STRATEGY_MAX_WORKERS)
		cmd_usage(&cmd_strategy, "--workers: at most %d", STRATEGY_MAX_WORKERS);
}

/* What the memory rests on, by enum strategy_basis. */
static const char *const memory_names[] = {"computed", "measured", "computed", "computed", "measured"};

/* The strategy's name, or null: none fits. */
static void add_best(cJSON *root, const char *key, enum strategy_name best)
{
	if (best == STRATEGY_NAME_COUNT)
		cJSON_AddNullToObject(root, key);
	else
		cJSON_AddStringToObject(root, key, strategy_names[best]);
}

/* The names of what may be as quick as `best`. */
static void add_ties(cJSON *root, const char *key, const struct strategy_choice *strategies,
	enum strategy_name best, bool synchronous)
{
	cJSON *list = cJSON_AddArrayToObject(root, key);

	for (int i = STRATEGY_NAME_DATA; i < STRATEGY_NAME_COUNT && best != STRATEGY_NAME_COUNT; i++)
		if (strategy_is_tie(strategies, best, (enum strategy_name)i, synchronous))
			cJSON_AddItemToArray(list, cJSON_CreateString(strategy_names[i]));
}

/* What was found, for all forms. */
struct answer {
	const struct choices *choices;
	const struct strategy_net *net;
	const struct strategy_cluster *cluster;
	struct strategy_choice strategies[STRATEGY_NAME_COUNT];
	enum strategy_name best, any; /* any: also with gradients of older weights */
	struct arena arena;
	struct print_table table;
	struct sentences said;
};

/* Which may be as quick as `best`, and how far the farthest of them is off it. */
static void say_tie(struct answer *a, enum strategy_name best, bool synchronous)
{
	const char *names = "";
	double time, farthest = 0, miss = 0;
	size_t count = 0;

	if (best == STRATEGY_NAME_COUNT)
		return;
	time = a->strategies[best].time;
	for (int i = STRATEGY_NAME_DATA; i < STRATEGY_NAME_COUNT; i++) {
		const enum strategy_name other = (enum strategy_name)i;
		const double its = a->strategies[i].time;

		if (!strategy_is_tie(a->strategies, best, other, synchronous))
			continue;
		names = arena_format(&a->arena, "%s or %s%s", names, strategy_names[i],
			strategy_is_synchronous(best) && !strategy_is_synchronous(other)
				? " (with gradients of older weights)"
				: "");
		farthest = fmax(farthest, its / time - 1);
		miss = fmax(miss, strategy_miss_between(best, time, other, its) / time);
		count++;
	}
	if (count)
		sentences_add(&a->said,
			"A tie: %s%s, predicted within %.1f%% of each other: by what such predictions missed modelled "
			"runs, which is the quicker is known beyond %.1f%%.",
			strategy_names[best], names, 100 * farthest, 100 * miss);
}

/* What was tried, as other settings might fit. */
static void say_none(struct answer *a)
{
	size_t most = 0;

	for (int i = STRATEGY_NAME_DATA; i < STRATEGY_NAME_COUNT; i++)
		most = a->strategies[i].tried > most ? a->strategies[i].tried : most;
	sentences_add(&a->said,
		"Recommended: none: no synchronous strategy that was tried fits into what workers have. Tried: these strategies on "
		"%zu worker%s, pipelines with up to %zu micro-batch%s%s%s.",
		a->cluster->workers, pm_text_plural(a->cluster->workers), most, most == 1 ? "" : "es",
		a->choices->how.recompute ? " and recomputation"
					  : " without recomputation (--recompute on takes less)",
		a->choices->goes_on ? "" : "; without --micro-batches the search goes on with more");
}

static void say_best(struct answer *a)
{
	const struct strategy_choice *strategies = a->strategies;
	const struct strategy_choice *single = &strategies[STRATEGY_NAME_SINGLE];

	if (a->best == STRATEGY_NAME_COUNT)
		say_none(a);
	else if (strategies[a->best].time >= single->time && single->fits)
		sentences_add(&a->said, "Recommended: one worker; the next best, %s, takes %.1f%% longer.",
			strategy_names[a->best], 100 * (strategies[a->best].time / single->time - 1));
	else
		sentences_add(&a->said, "Recommended: %s, %.2f× as fast as one worker%s.",
			strategy_names[a->best], single->time / strategies[a->best].time,
			single->fits ? "" : " would be, if it fitted");
	say_tie(a, a->best, a->any != a->best);
	if (a->any == a->best)
		return;
	if (a->best == STRATEGY_NAME_COUNT)
		sentences_add(&a->said, "%s fits, with gradients of older weights.", strategy_names[a->any]);
	else
		sentences_add(&a->said, "%s is %.2f× as fast as that, with gradients of older weights.",
			strategy_names[a->any], strategies[a->best].time / strategies[a->any].time);
	say_tie(a, a->any, false);
}

/* What the times and the memory rest on. */
static void say_basis(struct answer *a)
{
	const struct strategy_net *net = a->net;
	const double share = a->choices->how.batch / (double)a->cluster->workers;
	const char *text = arena_format(
		&a->arena, "From %zu layers measured on one GPU with batches of", net->layer_count);

	for (size_t i = 0; i < net->batch_count; i++)
		text = arena_format(&a->arena, "%s %g", text, net->batches[i]);
	sentences_add(
		&a->said, "%s%s.", text, net->batch_count == 1 ? "; other batches scaled in proportion" : "");
	sentences_add(
		&a->said, "%s", strategy_basis_sentences[strategy_memory_basis(net, &a->choices->how).basis]);
	if (net->is_torch)
		sentences_add(&a->said, "%s", strategy_torch_sentence);
	if (share < net->batches[0])
		sentences_add(&a->said,
			"The %g samples per worker are below the smallest measured batch: extrapolated.",
			share);
}

static void say_search(enum strategy_name name, size_t micro_batches)
{
	pm_terminal_progress("%s, %zu micro-batches", strategy_names[name], micro_batches);
}

static void answer_init(struct answer *a, const struct choices *c, const struct strategy_net *net,
	const struct strategy_cluster *cluster)
{
	const struct strategy_tries tries = {c->micro_batches, c->micro_count, say_search, c->goes_on};

	*a = (struct answer){.choices = c, .net = net, .cluster = cluster};
	a->said.arena = &a->arena;
	if (strategy_choose(net, cluster, &c->how, &tries, a->strategies) < 0)
		errx(1, "out of memory");
	pm_terminal_clear();
	a->best = strategy_best(a->strategies, true);
	a->any = strategy_best(a->strategies, false);
	print_init(&a->table, &a->arena);
	strategy_table_begin(&a->table);
	for (int i = 0; i < STRATEGY_NAME_COUNT; i++)
		if (!a->strategies[i].is_idle)
			strategy_table_row(&a->table, a->strategies, (enum strategy_name)i, cluster, net);
	say_best(a);
	say_basis(a);
}

static void answer_json(const struct answer *a)
{
	const struct strategy_how *how = &a->choices->how;
	cJSON *root = cJSON_CreateObject();

	cJSON_AddNumberToObject(root, "workers", (double)a->cluster->workers);
	cJSON_AddNumberToObject(root, "batch", how->batch);
	cJSON_AddStringToObject(root, "memory_is", memory_names[strategy_memory_basis(a->net, how).basis]);
	cJSON_AddItemToObject(root, "strategies", print_json(&a->table));
	add_best(root, "recommended", a->best);
	add_best(root, "recommended_any", a->any);
	add_ties(root, "tied", a->strategies, a->best, true);
	add_ties(root, "tied_any", a->strategies, a->any, false);
	cJSON_AddStringToObject(
		root, "recommended_published", strategy_names[strategy_best_published(a->strategies)]);
	sentences_json(&a->said, root, "sentences");
	print_json_end(root, stdout);
}

static void answer_text(struct answer *a)
{
	print_text(&a->table,
		arena_format(&a->arena, "An iteration of %g samples on %zu worker%s", a->choices->how.batch,
			a->cluster->workers, pm_text_plural(a->cluster->workers)),
		stdout);
	sentences_text(&a->said, 0, 2, stdout);
}

static void answer_print(struct answer *a)
{
	if (a->choices->form == PRINT_CSV)
		print_csv(&a->table, stdout);
	else if (a->choices->form == PRINT_JSON)
		answer_json(a);
	else
		answer_text(a);
}

static void answer_free(struct answer *a)
{
	print_free(&a->table);
	arena_free(&a->arena);
}

static int run_strategy(int argument_count, char **arguments)
{
	struct choices c = {
		.how = {.aggregate = STRATEGY_FUSED, .threshold = 64 << 20, .cycle = 1e6, .recompute = true},
		.micro_batches = {1, 2, 4, 8, 16, 32},
		.micro_count = 6,
		.goes_on = true};
	struct strategy_cluster *cluster = calloc(1, sizeof(*cluster));
	struct strategy_net net;
	struct answer answer;

	if (!cluster)
		errx(1, "out of memory");
	take_options(argument_count, arguments, &c);
	if (strategy_cluster_read(cluster, c.cluster) < 0)
		errx(1, "%s", cluster->error);
	if (strategy_net_read(
		    &net, (const char *const *)arguments + optind, (size_t)(argument_count - optind)) < 0)
		errx(1, "%s", net.error);
	if (net.communicates)
		errx(1, "%s: its layers communicate: expected a run on a single GPU", arguments[optind]);
	if (net.is_batch_unknown)
		errx(1, "%s: the run's batch is not known: 'pmfit advise --batch N RUN' is told",
			arguments[optind]);
	strategy_cluster_complete(cluster, &net);
	if (c.workers)
		cluster->workers = c.workers;
	if (!cluster->workers)
		errx(1, "%s: number of workers missing, and no --workers", c.cluster);
	if (c.how.batch <= 0)
		c.how.batch = net.batches[net.batch_count - 1];
	if (c.how.batch < (double)cluster->workers)
		errx(1, "--batch %g: fewer samples than the %zu workers", c.how.batch, cluster->workers);
	answer_init(&answer, &c, &net, cluster);
	answer_print(&answer);
	answer_free(&answer);
	strategy_net_free(&net);
	strategy_cluster_free(cluster);
	free(cluster);
	return 0;
}

static const struct option_row rows[] = {
	{"cluster", CLUSTER, "FILE", "required: a file, or the name of a known cluster"},
	{"workers", WORKERS, "N", "default: the file's"},
	{"batch", BATCH, "N", "batch size over all workers; default: the largest measured"},
	{"aggregate", AGGREGATE, "after|overlap|fused", "schedule of the gradient exchange; default fused"},
	{"fusion-threshold", THRESHOLD, "BYTES",
		"size of a bucket; default 67108864; PyTorch's programs have DDP's"},
	{"cycle-ms", CYCLE, "X", "period in which gradients are collected; default 1"},
	{"micro-batches", MICRO, "LIST",
		"numbers to evaluate, no others; default 1,2,4,8,16,32, and more of them where a pipeline does not fit with these"},
	{"recompute", RECOMPUTE, "on|off", "GPipe stages keep their inputs only; default on"},
	{"optimizer", OPTIMIZER, "sgd|momentum|adam",
		"numbers it keeps for a parameter (0, 1, 2), for memory; the runs' own; default sgd"},
	{"other-us", OTHER, "X",
		"time per iteration outside the layers, such as input, on one worker; default 0"},
	{"csv", 'c', NULL, "CSV output, one row per strategy, times in ns"},
	{"json", 'j', NULL, "JSON output, complete, with the sentences of the text, times in ns"},
	{0},
};

const struct command cmd_strategy = {
	.name = "strategy",
	.summary = "data, model and pipeline parallelism from one-GPU measurements",
	.usage = "[OPTION]... --cluster FILE LAYERS.json...",
	.about =
		"LAYERS is the output of 'pmanalyze layers --json' for a run on one GPU. Pass runs with "
		"several batch sizes: layers take more time per sample with small batches, and the share "
		"of a worker is small. Times are interpolated linearly between measured batches; with a "
		"single file they are scaled in proportion, which is optimistic for many workers.\n"
		"\n"
		"Predicts an iteration of the whole batch: data parallel (Horovod's ring all-reduce, "
		"replayed bucket by bucket next to the backward pass), model parallel, GPipe, "
		"PipeDream (1F1B, replicated stages), 1f1b (the same with one update a batch, stages in "
		"up to 8 chunks as Megatron-LM interleaves them), and hybrid (GPipe with replicated stages), "
		"each with the partition that minimises its slowest "
		"stage, and the best number of micro-batches. The row layerwise is PipeDream's with whole batches, "
		"partitions merged where more gain nothing, and a forward and a backward pass in each round "
		"(Akintoye et al.). The published formulas are shown next to "
		"them: (5.1) for data, (6.1) and (6.2) for GPipe. The row tensor divides each layer among the workers, by "
		"columns or rows as Megatron-LM does, in the cheapest sequence. The rows zero-1 to zero-3 are data "
		"parallel with the optimizer's numbers, also the gradients, also the parameters (FSDP) "
		"divided among the workers; of PyTorch's programs (by their call sites) as DDP, ZeroRedundancyOptimizer "
		"and fully_shard do it, which were validated against modelled runs. The rows zero-1 to zero-3 of "
		"others, tensor and 1f1b were not, so they are not recommended.\n"
		"\n"
		"FILE describes the cluster, or is the name of a known one: dgx-1, dgx-a100, dgx-h100 (also H200), dgx-b200, "
		"mi300x, pcie3, pcie4, pcie5, by data sheets. # starts a comment:\n"
		"  workers 16\tGPUs\n"
		"  workers_per_node 8\tdefault: all on one node\n"
		"  link_latency_us 4\tbetween GPUs of a node\n"
		"  link_gb_s 130\trequired\n"
		"  network_latency_us 8\tbetween nodes; default: as between GPUs of a node\n"
		"  network_gb_s 11\tlikewise\n"
		"  network_links 4\tof a node, that a collective uses side by side, each with network_gb_s; default 1\n"
		"  memory_gb_s 720\tmemory bandwidth of a GPU that copies reach, for copies into buckets; default: "
		"80% of the measured GPU's, or, where that is not known, copies take no time\n"
		"  memory_gib 16\tmemory of a GPU; default: the measured GPU's, or, where that is not known, it is not checked\n"
		"  memory_gib 4-7 8\tof these workers\n"
		"  copy_latency_us 2\tlatency of such a copy; default 0\n"
		"  link 0-1 10 5\tone link: workers, latency in us, GB/s\n"
		"  slow 2 1.5\tcomputation of this worker takes 1.5× the time of the measured GPU; 2-5: of these. One worker, to which "
		"others are compared, is the quickest\n"
		"  device A100-SXM4\tpart of a GPU's name, for which 'pmfit advise' takes a known cluster without --cluster\n"
		"\n"
		"Where workers or links differ, stages of pipelines go to the workers that suit them, and workers may "
		"be left out: by all orders where there are few, which is exact, else by a genetic algorithm, with "
		"the exact partition of each order. Two more rows are data parallel: data-fewer without the slowest workers (or "
		"those with least memory), and data-uneven, which gives each worker as many samples as it computes in the time "
		"of the others; whoever does that must weight gradients by them, and it was not validated against a run. The row names the workers, stage by stage. With chunks, and "
		"where all stages are given as many replicas, workers stay as they are numbered.\n",
	.options = OPTION_TABLES(rows),
	.after =
		"A partition lists the first layers of the stages, counted from 0; replicas are those of "
		"each stage: the trainers' --partition and --stages. Networks with branches are cut "
		"after additions only. With chunks a worker has every so many-th stage. PipeDream and layerwise compute gradients from older weights and "
		"are recommended separately.\n"
		"\n"
		"miss is the error that 19 of 20 predictions of a strategy stayed within, against modelled runs. Strategies whose times differ by less are a tie: the text names them, JSON has them as "
		"tied and tied_any (the latter also with gradients of older weights), and may_be_quickest is "
		"1 for what may be the quickest of all.\n"
		"\n"
		"Memory of a worker is that of parameters (PipeDream: in several versions), gradients "
		"and the optimizer's numbers, of what forward leaves for backward, of the widest "
		"gradients of activations and of a bucket, scaled to what the measured runs took on "
		"their GPU where LAYERS has it (their optimizer must be --optimizer). What the layers "
		"do not explain, such as workspaces, goes with the largest layer. With memory_gib, "
		"strategies that exceed it are left out.\n"
		"\n"
		"Example:\n"
		"  pmrun -o one -- ./train --batch 64; pmanalyze layers --json one >b64.json\n"
		"  pmfit strategy --cluster dgx.txt --workers 8 --batch 256 b32.json b256.json\n"
		"\n"
		"Exit status: 0 success, 1 failure, 2 usage error.\n",
	.run = run_strategy,
};
