/* pmfit strategy: data, model and pipeline parallelism predicted from one GPU. */
#include "advise/strategy_choose.h"
#include "base/table.h"
#include "base/terminal.h"
#include "cmd.h"
#include "output/sentences.h"

#include <float.h>
#include <limits.h>
#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

struct choices {
	const char *cluster;
	size_t workers, micro_batches[64], micro_count;
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
		cmd_usage(&cmd_strategy, "--cluster is required");
	if (c->workers > STRATEGY_MAX_WORKERS)
		cmd_usage(&cmd_strategy, "--workers: at most %d", STRATEGY_MAX_WORKERS);
}

/* "12,17" where stages begin, or the replicas "2-1-1"; the caller frees it. */
static char *stages_text(const struct strategy_plan *plan, bool replicas)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		errx(1, "out of memory");
	for (size_t s = replicas ? 0 : 1; s < (replicas ? strategy_places(plan) : plan->stage_count); s++)
		fprintf(out, "%s%zu", s == (replicas ? 0u : 1u) ? "" : (replicas ? "-" : ","),
			replicas ? plan->first[s + 1] - plan->first[s] : plan->cut[s]);
	fclose(out);
	return text;
}

enum {
	TIME = 1,
	PUBLISHED = 4,
	WARM_UP,
	STAGES = 8,
	MEMORY = 10,
	PARTS = 18,
	CHUNKS = 23,
	IMPOSSIBLE,
	VALIDATED,
	ASSIGNED, /* the workers, and how they were found */
	NOTE = ASSIGNED + 2
};

static const struct print_column columns[] = {
	PRINT_COLUMN("strategy", "strategy", PRINT_WORD),
	PRINT_COLUMN("time", NULL, PRINT_TIME),
	PRINT_COLUMN(NULL, "time", PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN(NULL, "speedup", PRINT_REAL, .digits = 2, .csv_key = ""),
	PRINT_COLUMN("published", "published", PRINT_TIME),
	PRINT_COLUMN("warm_up", NULL, PRINT_TIME),
	PRINT_COLUMN("bound", NULL, PRINT_TIME),
	PRINT_COLUMN("micro_batches", NULL, PRINT_COUNT),
	PRINT_COLUMN("stages", NULL, PRINT_WORD),
	PRINT_COLUMN("partition", NULL, PRINT_WORD),
	PRINT_COLUMN(NULL, "GiB", PRINT_FIGURE, .digits = 3, .csv_key = ""),
	PRINT_COLUMN("memory_bytes", NULL, PRINT_COUNT, .old_key = "memory_at_least_bytes"),
	PRINT_COLUMN("fits", NULL, PRINT_FLAG, .csv_key = ""),
	PRINT_COLUMN("state_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("kept_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("gradient_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("bucket_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("rest_bytes", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("compute", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("exchange", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("exposed", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("update", NULL, PRINT_TIME, .csv_key = ""),
	PRINT_COLUMN("buckets", NULL, PRINT_COUNT, .csv_key = ""),
	PRINT_COLUMN("chunks", NULL, PRINT_COUNT),
	PRINT_COLUMN("impossible", NULL, PRINT_WORD, .csv_key = ""),
	PRINT_COLUMN("validated", NULL, PRINT_FLAG, .csv_key = ""),
	PRINT_COLUMN("workers", NULL, PRINT_WORD),
	PRINT_COLUMN("assignment", NULL, PRINT_WORD),
	PRINT_COLUMN(NULL, "", PRINT_WORD, .csv_key = ""),
};

/* By enum strategy_search. */
static const char *const searches[] = {"as numbered", "exact", "genetic"};

/* The workers of a plan's places, and how they were found. Answers the former where they are not as numbered.
 */
static const char *fill_workers(struct print_table *table, const struct strategy_choice *choice)
{
	const size_t count = choice->plan.first[strategy_places(&choice->plan)];
	const char *workers = "";

	for (size_t i = 0; i < count; i++)
		workers = arena_format(table->arena, "%s%s%zu", workers, i ? "-" : "", choice->worker[i]);
	print_word(table, ASSIGNED, workers);
	print_word(table, ASSIGNED + 1, searches[choice->search]);
	return choice->search == STRATEGY_AS_NUMBERED ? NULL : workers;
}

/* What a pipeline is made of, and what is said of it. */
static const char *fill_pipe(
	struct print_table *table, const struct strategy_choice *choice, const struct strategy_net *net)
{
	char *stages = stages_text(&choice->plan, true), *cuts = stages_text(&choice->plan, false);
	const char *workers, *note = arena_format(table->arena, "%zu micro-batches, stages %s from",
				     choice->plan.micro_batches, stages);

	if (choice->plan.chunks > 1)
		note = arena_format(table->arena, "%zu micro-batches, %zu chunks, stages %s from",
			choice->plan.micro_batches, choice->plan.chunks, stages);
	for (size_t s = 1; s < choice->plan.stage_count; s++)
		note = arena_format(table->arena, "%s %s", note, net->layers[choice->plan.cut[s]].name);
	workers = fill_workers(table, choice);
	if (workers)
		note = arena_format(
			table->arena, "%s, workers %s (%s)", note, workers, searches[choice->search]);
	print_numbers(table, WARM_UP,
		(double[]){choice->warm_up, choice->bound, (double)choice->plan.micro_batches}, 3);
	if (choice->plan.kind == STRATEGY_FLUSH)
		print_number(table, CHUNKS, (double)choice->plan.chunks);
	print_word(table, STAGES, stages);
	print_word(table, STAGES + 1, cuts);
	free(stages);
	free(cuts);
	return note;
}

static void fill_memory(struct print_table *table, const struct strategy_choice *choice)
{
	const struct strategy_memory *needs = &choice->needs;

	print_numbers(table, MEMORY,
		(double[]){needs->total / GIB, needs->total, choice->fits, needs->state, needs->kept,
			needs->gradients, needs->bucket, needs->rest},
		8);
}

/* What a worker has. */
static const char *room_text(struct arena *arena, const struct strategy_cluster *cluster)
{
	for (size_t i = 0; i < cluster->workers; i++)
		if (strategy_room(cluster, i) != cluster->memory)
			return "one of its workers has";
	return arena_format(arena, "the %.4g of a worker", cluster->memory / GIB);
}

static void fill_row(struct print_table *table, const struct strategy_choice *choice, enum strategy_name name,
	const struct strategy_cluster *cluster, double single, const struct strategy_net *net)
{
	const char *note = "";

	print_row(table);
	print_word(table, 0, strategy_names[name]);
	print_number(table, VALIDATED, strategy_is_validated(name));
	if (!choice->possible) {
		print_word(table, IMPOSSIBLE, choice->why);
		print_word(table, NOTE, choice->why);
		return;
	}
	print_number(table, TIME, choice->time);
	print_number(table, PUBLISHED, choice->published);
	fill_memory(table, choice);
	if (strategy_is_pipe(name)) {
		note = fill_pipe(table, choice, net);
	} else if (strategy_has_parts(name)) {
		const struct strategy_data_parts *parts = &choice->parts;

		print_numbers(table, PARTS,
			(double[]){parts->compute, parts->exchange, parts->exposed, parts->update,
				(double)parts->buckets},
			5);
		note = arena_format(table->arena, "%zu exchanges, %.3f ms, %.3f ms of it exposed",
			parts->buckets, parts->exchange / 1e6, parts->exposed / 1e6);
	}
	if (!strategy_is_validated(name))
		note = arena_format(table->arena, "%s; no run was held against it", note);
	if (choice->fits) {
		print_numbers(table, TIME + 1, (double[]){choice->time, single / choice->time}, 2);
	} else {
		note = arena_format(table->arena, "does not fit: %.3g GiB more than %s", choice->lacks / GIB,
			room_text(table->arena, cluster));
	}
	print_word(table, NOTE, note);
}

/* What the memory rests on, by enum strategy_basis. */
static const char *const memory_names[] = {"computed", "measured", "computed", "computed"};

/* The strategy's name, or null: none fits. */
static void add_best(cJSON *root, const char *key, enum strategy_name best)
{
	if (best == STRATEGY_NAME_COUNT)
		cJSON_AddNullToObject(root, key);
	else
		cJSON_AddStringToObject(root, key, strategy_names[best]);
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

static void say_best(struct answer *a)
{
	const struct strategy_choice *strategies = a->strategies;
	const struct strategy_choice *single = &strategies[STRATEGY_NAME_SINGLE];

	if (a->best == STRATEGY_NAME_COUNT)
		sentences_add(
			&a->said, "Recommended: none: no synchronous strategy fits into what workers have.");
	else if (strategies[a->best].time >= single->time && single->fits)
		sentences_add(&a->said, "Recommended: one worker; the next best, %s, takes %.1f%% longer.",
			strategy_names[a->best], 100 * (strategies[a->best].time / single->time - 1));
	else
		sentences_add(&a->said, "Recommended: %s, %.2f× as fast as one worker%s.",
			strategy_names[a->best], single->time / strategies[a->best].time,
			single->fits ? "" : " would be, if it fitted");
	if (a->any == a->best)
		return;
	if (a->best == STRATEGY_NAME_COUNT)
		sentences_add(&a->said, "%s fits, with gradients of older weights.", strategy_names[a->any]);
	else
		sentences_add(&a->said, "%s is %.2f× as fast as that, with gradients of older weights.",
			strategy_names[a->any], strategies[a->best].time / strategies[a->any].time);
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
	const struct strategy_tries tries = {c->micro_batches, c->micro_count, say_search};

	*a = (struct answer){.choices = c, .net = net, .cluster = cluster};
	a->said.arena = &a->arena;
	if (strategy_choose(net, cluster, &c->how, &tries, a->strategies) < 0)
		errx(1, "out of memory");
	pm_terminal_clear();
	a->best = strategy_best(a->strategies, true);
	a->any = strategy_best(a->strategies, false);
	print_init(&a->table, &a->arena);
	print_columns(&a->table, columns, sizeof(columns) / sizeof(*columns));
	for (int i = 0; i < STRATEGY_NAME_COUNT; i++)
		fill_row(&a->table, &a->strategies[i], (enum strategy_name)i, cluster,
			a->strategies[STRATEGY_NAME_SINGLE].time, net);
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
	cJSON_AddStringToObject(
		root, "recommended_published", strategy_names[strategy_best_published(a->strategies)]);
	sentences_json(&a->said, root, "sentences");
	print_json_end(root, stdout);
}

static void answer_text(struct answer *a)
{
	print_text(&a->table,
		arena_format(&a->arena, "An iteration of %g samples on %zu workers", a->choices->how.batch,
			a->cluster->workers),
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

static int run(int argument_count, char **arguments)
{
	struct choices c = {
		.how = {.aggregate = STRATEGY_FUSED, .threshold = 64 << 20, .cycle = 1e6, .recompute = true},
		.micro_batches = {1, 2, 4, 8, 16, 32},
		.micro_count = 6};
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
	{"cluster", CLUSTER, "FILE", "required"},
	{"workers", WORKERS, "N", "default: the file's"},
	{"batch", BATCH, "N", "batch size over all workers; default: the largest measured"},
	{"aggregate", AGGREGATE, "after|overlap|fused", "schedule of the gradient exchange; default fused"},
	{"fusion-threshold", THRESHOLD, "BYTES", "size of a bucket; default 67108864"},
	{"cycle-ms", CYCLE, "X", "period in which gradients are collected; default 1"},
	{"micro-batches", MICRO, "LIST", "numbers to evaluate; default 1,2,4,8,16,32"},
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
	.summary = "predict data, model and pipeline parallelism from one-GPU measurements",
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
		"stage, and the best number of micro-batches. The published formulas are shown next to "
		"them: (5.1) for data, (6.1) and (6.2) for GPipe. The row tensor divides each layer among the workers, by "
		"columns or rows as Megatron-LM does, in the cheapest sequence. The rows zero-1 to zero-3 are data "
		"parallel with the optimizer's numbers, also the gradients, also the parameters (FSDP) "
		"divided among the workers. No run was held against these, nor against 1f1b, so they are not "
		"recommended.\n"
		"\n"
		"FILE describes the cluster; # starts a comment:\n"
		"  workers 16\tGPUs\n"
		"  workers_per_node 8\tdefault: all on one node\n"
		"  link_latency_us 4\tbetween GPUs of a node\n"
		"  link_gb_s 130\trequired\n"
		"  network_latency_us 8\tbetween nodes; default: as between GPUs of a node\n"
		"  network_gb_s 11\tlikewise\n"
		"  memory_gb_s 900\tmemory bandwidth of a GPU, for copies into buckets; default: copies "
		"take no time\n"
		"  memory_gib 16\tmemory of a GPU; default: not checked\n"
		"  memory_gib 4-7 8\tof these workers\n"
		"  copy_latency_us 2\tlatency of such a copy; default 0\n"
		"  link 0-1 10 5\tone link: workers, latency in us, GB/s\n"
		"  slow 2 1.5\tcomputation of this worker takes 1.5× the time; 2-5: of these\n"
		"\n"
		"Where workers or links differ, stages of pipelines go to the workers that suit them, and workers may "
		"be left out: by all orders where there are few, which is exact, else by a genetic algorithm, with "
		"the exact partition of each order. The row names the workers, stage by stage. With chunks, and "
		"where all stages are given as many replicas, workers stay as they are numbered.\n",
	.options = OPTION_TABLES(rows),
	.after =
		"A partition lists the first layers of the stages, counted from 0; replicas are those of "
		"each stage: the trainers' --partition and --stages. Networks with branches are cut "
		"after additions only. With chunks a worker has every so many-th stage. PipeDream computes gradients from older weights and is "
		"recommended separately.\n"
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
	.run = run,
};
