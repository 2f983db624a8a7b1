/* What a run does now, as text: see top_text.h. */
#include "top_text.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define STEADY 0.01        /* a trend below this is none */
#define ALIKE 0.01         /* the slowest rank above the mean: less is none */
#define SHOWN 0.0005       /* of the iteration: shorter phases have no bar */
#define QUIET_NS 10e9      /* without a record, at least, until it is said */
#define QUIET_ITERATIONS 5 /* and so many times the usual iteration */
#define BAR_LEAST 10       /* characters */
#define BAR_BESIDE 38      /* of a phase's line, before the bar */

const char *const top_orders[TOP_ORDER_COUNT + 1] = {
#define TOP_ITEM(name, word) word,
	TOP_ORDERS(TOP_ITEM)
#undef TOP_ITEM
};

/* Of a worker, what idle phases take together. */
static double idle_ns(const struct recent_worker *worker)
{
	double sum_ns = 0;

	for (unsigned p = PHASE_WORK_COUNT; p < PHASE_COUNT; p++)
		sum_ns += worker->phase_ns[p];
	return sum_ns;
}

static double trend(double iteration_ns, double before_ns)
{
	return before_ns > 0 ? iteration_ns / before_ns - 1 : NAN;
}

static const char *trend_text(struct arena *arena, double iteration_ns, double before_ns)
{
	const double change = trend(iteration_ns, before_ns);

	if (isnan(change))
		return "";
	if (fabs(change) < STEADY)
		return ", as the 20 before";
	return arena_format(arena, ", %.1f%% %s than the 20 before", 100 * fabs(change),
		change > 0 ? "longer" : "shorter");
}

/* A character for each value, by its height between 0 and the greatest. */
static void print_heights(const double *values, size_t count, bool plain, FILE *out)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	double greatest = 0;

	for (size_t i = 0; i < count; i++)
		greatest = fmax(greatest, values[i]);
	for (size_t i = 0; i < count && greatest > 0; i++)
		fputs((plain ? letters : blocks)[(int)(7 * values[i] / greatest)], out);
}

/* The last iterations' times, means over the workers, as many as all have. */
static void print_each(const struct recent *recent, const struct recent_worker *only,
	const struct top_paper *paper, FILE *out)
{
	const struct recent_worker *first = only ? only : recent->workers;
	const size_t worker_count = only ? 1 : recent->worker_count;
	double values[RECENT_EACH] = {0};
	size_t count = RECENT_EACH;

	for (size_t w = 0; w < worker_count; w++)
		if (first[w].each_count < count)
			count = first[w].each_count;
	for (size_t w = 0; w < worker_count; w++)
		for (size_t i = 0; i < count; i++)
			values[i] += first[w].each_ns[first[w].each_count - count + i];
	if (count < 2)
		return;
	fputs("Last iterations  ", out);
	print_heights(values, count, paper->plain, out);
	putc('\n', out);
}

static void print_phases(const double *phase_ns, double iteration_ns, struct arena *arena,
	const struct top_paper *paper, FILE *out)
{
	const int room = paper->width - BAR_BESIDE > BAR_LEAST ? paper->width - BAR_BESIDE : BAR_LEAST;

	for (unsigned p = 0; p < PHASE_COUNT; p++) {
		const double share = phase_ns[p] / iteration_ns;
		const int bar = share >= SHOWN ? (int)(share * room + 0.5) : 0;

		if (!(share >= SHOWN))
			continue;
		fprintf(out, "  %-15s%12s%6.1f%%%s", phase_titles[p],
			print_time_like(arena, phase_ns[p], iteration_ns), 100 * share, bar ? "  " : "");
		for (int i = 0; i < bar; i++)
			fputs(paper->plain ? "#" : "█", out);
		putc('\n', out);
	}
}

/* NaN: not known of any worker. */
static double greatest_count(const struct recent *recent)
{
	double count = recent->worker_count ? NAN : 0;

	for (size_t i = 0; i < recent->worker_count; i++)
		if (!isnan(recent->workers[i].count) && !(recent->workers[i].count <= count))
			count = recent->workers[i].count;
	return count;
}

/* False: its times are not known. */
static bool print_iteration(struct arena *arena, double count, double per_second, double iteration_ns,
	double before_ns, FILE *out)
{
	if (isnan(count))
		fputs("Iteration -", out);
	else
		fprintf(out, "Iteration %.0f", count);
	if (isnan(iteration_ns)) {
		fputs("; their boundaries are uncertain, so there are no times (pmanalyze report)\n", out);
		return false;
	}
	fprintf(out, ", %s a second; each %s%s\n", print_figure(arena, per_second, 4),
		print_time(arena, iteration_ns), trend_text(arena, iteration_ns, before_ns));
	return true;
}

static uint64_t lost_records(const struct recent *recent)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < recent->process_count; i++)
		sum += recent->processes[i].lost_records;
	return sum;
}

/* What is not there, as the source does not have it. */
static void print_source(const struct recent *recent, FILE *out)
{
	if (recent->source == RECENT_PAGES)
		print_paragraph(
			"By the hook's own figures, one page of each trace: steps are what repeats in the calls of one "
			"thread, compute is time in kernels; no phases, layers and findings (--from traces reads "
			"all records).",
			2, out);
	if (recent->source == RECENT_SUMMARIES)
		print_paragraph(
			"By summaries: medians of all iterations that were read, not of the last.", 2, out);
}

/* Its processes, and whether they have ended. */
static void print_state(const struct recent *recent, FILE *out)
{
	size_t ended = 0;

	for (size_t i = 0; i < recent->process_count; i++)
		ended += recent->processes[i].ended;
	fprintf(out, "%s: %zu process%s, %zu worker%s", recent->label, recent->process_count,
		recent->process_count == 1 ? "" : "es", recent->worker_count,
		recent->worker_count == 1 ? "" : "s");
	if (recent->ended)
		fputs(", ended", out);
	else if (ended)
		fprintf(out, ", %zu ended", ended);
	if (!isnan(recent->quiet_ns))
		fprintf(out, ", last record %.0f s ago", recent->quiet_ns / 1e9);
	putc('\n', out);
	if (recent->quiet_ns > QUIET_NS && !(recent->quiet_ns < QUIET_ITERATIONS * recent->iteration_ns))
		fprintf(out, "It has stopped or was killed: see pmanalyze hang.\n");
}

/* By kernels' time, or of one worker the layer that takes longest: what no conclusion is needed for. */
static void print_slowest(const struct recent *recent, FILE *out)
{
	const struct recent_worker *slowest = &recent->workers[recent->slowest];
	const struct layer *layer;
	double above_ns;

	if (recent->worker_count == 1) {
		layer = recent_slowest_layer(recent, &above_ns);
		if (layer)
			fprintf(out, "Longest layer  %s, %s\n", layer_title(layer),
				print_time(recent->arena, above_ns));
	} else if (isnan(recent->imbalance)) {
		return;
	} else if (recent->imbalance - 1 < ALIKE) {
		fputs("Slowest  none: all compute equally long\n", out);
	} else if (recent->source == RECENT_PAGES) {
		fprintf(out, "Slowest  %s, kernels take %.3f times the mean\n", slowest->name,
			recent->imbalance);
	} else if (recent_straggler(recent) == SIZE_MAX) {
		fprintf(out, "Slowest  none for long: last %s, computes %.3f times the mean\n", slowest->name,
			recent->imbalance);
	}
}

/* What `report` says first, and the straggler. */
static void print_findings(const struct recent *recent, FILE *out)
{
	struct finding_list *list = recent->findings;
	bool is_straggler_said = false;

	for (size_t i = 0; list && i < list->count; i++) {
		const struct finding *finding = &list->items[i];

		if (i > 0 && (finding->kind != FINDING_STRAGGLER || is_straggler_said))
			continue;
		is_straggler_said |= finding->kind == FINDING_STRAGGLER;
		print_paragraph(
			arena_format(&list->arena, "Finding: %s, %s.", finding_title_text(list, finding),
				finding_strength_text(finding->strength)),
			2, out);
	}
	print_slowest(recent, out);
}

static void print_costs(const struct recent *recent, struct arena *arena, FILE *out)
{
	if (!isnan(recent->device_bytes))
		fprintf(out, "Memory  %s MB allocated on the device that has most\n",
			print_figure(arena, recent->device_bytes / 1e6, 4));
	if (!isnan(recent->hook_share))
		fprintf(out, "Hook  about %.2g%% of the time of the processes that have ended\n",
			100 * recent->hook_share);
}

/* What has changed since a mark. */
static void print_mark(const struct recent *recent, const struct top_mark *mark, FILE *out)
{
	const double change = trend(recent->iteration_ns, mark->iteration_ns),
		     later = greatest_count(recent) - mark->count;

	fprintf(out, "Marked  iteration %.0f, each %s", mark->count,
		print_time(recent->arena, mark->iteration_ns));
	if (!isnan(change) && later >= 0)
		fprintf(out, "; %.0f later %.1f%% %s", later, 100 * fabs(change),
			change < 0 ? "shorter" : "longer");
	putc('\n', out);
}

struct top_mark top_mark(const struct recent *recent)
{
	return (struct top_mark){
		.is_set = !isnan(greatest_count(recent)) && !isnan(recent->iteration_ns),
		.count = greatest_count(recent),
		.iteration_ns = recent->iteration_ns,
	};
}

void top_print_run(const struct recent *recent, const struct top_paper *paper, FILE *out)
{
	struct arena *arena = recent->arena;

	print_state(recent, out);
	print_source(recent, out);
	if (recent->worker_count == 0) {
		fputs("No iterations so far.\n", out);
		return;
	}
	if (!print_iteration(arena, greatest_count(recent), recent->per_second, recent->iteration_ns,
		    recent->before_ns, out))
		return;
	if (paper->mark && paper->mark->is_set)
		print_mark(recent, paper->mark, out);
	print_each(recent, NULL, paper, out);
	if (!isnan(recent->samples))
		fprintf(out, "Samples  %.0f an iteration, %s a second\n", recent->samples,
			print_figure(arena, recent->samples * recent->per_second, 4));
	print_findings(recent, out);
	print_costs(recent, arena, out);
	if (lost_records(recent))
		fprintf(out, "Lost  %" PRIu64 " records are missing in the traces\n", lost_records(recent));
	print_phases(recent->phase_ns, recent->iteration_ns, arena, paper, out);
}

void top_print_rank(const struct recent *recent, const struct recent_worker *worker,
	const struct top_paper *paper, FILE *out)
{
	struct arena *arena = recent->arena;

	fprintf(out, "%s: %s, process %u on %s%s\n", recent->label, worker->name, worker->process->pid,
		worker->process->host, worker->process->ended ? ", ended" : "");
	if (!print_iteration(
		    arena, worker->count, worker->per_second, worker->iteration_ns, worker->before_ns, out))
		return;
	print_each(recent, worker, paper, out);
	print_phases(worker->phase_ns, worker->iteration_ns, arena, paper, out);
}

struct sorted {
	double key;
	size_t worker;
};

/* The greatest first, what is not known last, workers in their order. */
static int compare(const void *left, const void *right)
{
	const struct sorted *a = left, *b = right;

	if (a->key != b->key)
		return a->key > b->key ? -1 : 1;
	return (a->worker > b->worker) - (a->worker < b->worker);
}

static double key_of(const struct recent_worker *worker, enum top_order by)
{
	const double times[TOP_ORDER_COUNT] = {[TOP_BY_ITERATION] = worker->iteration_ns,
		[TOP_BY_COMPUTE] = worker->compute_ns,
		[TOP_BY_WAIT] = worker->wait_ns,
		[TOP_BY_EXPOSED] = worker->phase_ns[PHASE_COMMUNICATION],
		[TOP_BY_LOST] = (double)worker->process->lost_records};

	return isnan(times[by]) ? -1 : times[by];
}

void top_sort(const struct recent *recent, enum top_order by, size_t *order)
{
	struct sorted *list = mem_alloc(recent->worker_count, sizeof(*list));

	for (size_t i = 0; i < recent->worker_count; i++)
		list[i] = (struct sorted){key_of(&recent->workers[i], by), i};
	if (recent->worker_count > 0)
		qsort(list, recent->worker_count, sizeof(*list), compare);
	for (size_t i = 0; i < recent->worker_count; i++)
		order[i] = list[i].worker;
	free(list);
}

void top_ranks(const struct recent *recent, const size_t *order, struct print_table *table)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("rank", NULL, PRINT_COUNT),
		PRINT_COLUMN("device", NULL, PRINT_COUNT),
		PRINT_COLUMN(NULL, "rank", PRINT_WORD, .csv_key = ""),
		PRINT_COLUMN("iterations", "done", PRINT_COUNT),
		PRINT_COLUMN("confidence", NULL, PRINT_REAL),
		PRINT_COLUMN("per_second", NULL, PRINT_REAL),
		PRINT_COLUMN("iteration", "iteration", PRINT_TIME),
		PRINT_COLUMN("trend", "trend", PRINT_SHARE),
		PRINT_COLUMN("compute", "compute", PRINT_TIME),
		PRINT_COLUMN("exposed", "exposed", PRINT_TIME),
		PRINT_COLUMN("wait", "wait", PRINT_TIME),
		PRINT_COLUMN("input", "input", PRINT_TIME),
		PRINT_COLUMN("idle", "idle", PRINT_TIME),
		PRINT_COLUMN("lost", "lost", PRINT_COUNT),
	};

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < recent->worker_count; i++) {
		const struct recent_worker *worker = &recent->workers[order[i]];

		print_row(table);
		if (worker->process->rank >= 0)
			print_number(table, 0, worker->process->rank);
		if (worker->device >= 0)
			print_number(table, 1, (double)worker->device);
		print_word(table, 2, worker->name);
		print_number(table, 3, worker->count);
		print_numbers(table, 4,
			(double[]){worker->confidence, worker->per_second, worker->iteration_ns,
				trend(worker->iteration_ns, worker->before_ns), worker->compute_ns,
				worker->phase_ns[PHASE_COMMUNICATION], worker->wait_ns,
				worker->phase_ns[PHASE_IO], idle_ns(worker),
				(double)worker->process->lost_records},
			10);
	}
}

void top_layers(const struct recent_worker *worker, struct print_table *table)
{
	static const struct print_column columns[] = {
		PRINT_COLUMN("layer", "layer", PRINT_WORD),
		PRINT_COLUMN("forward", "forward", PRINT_TIME),
		PRINT_COLUMN("backward", "backward", PRINT_TIME),
		PRINT_COLUMN("communication", "communication", PRINT_TIME),
		PRINT_COLUMN("update", "update", PRINT_TIME),
	};
	static const enum phase_layer_column times[] = {
		PHASE_LAYER_FORWARD, PHASE_LAYER_BACKWARD, PHASE_LAYER_COMMUNICATION, PHASE_LAYER_UPDATE};
	const struct layer_list *layers = &worker->worker->layers;

	print_columns(table, columns, sizeof(columns) / sizeof(*columns));
	for (size_t i = 0; i < layers->count; i++) {
		print_row(table);
		print_word(table, 0, layer_title(&layers->items[i]));
		for (size_t column = 0; column < sizeof(times) / sizeof(*times); column++)
			print_number(table, column + 1, recent_layer(worker, i, times[column]));
	}
}

void top_json(const struct recent *recent, cJSON *object)
{
	double above_ns;
	const struct layer *layer = recent_slowest_layer(recent, &above_ns);
	cJSON *phases;

	static const char *const sources[] = {"traces", "pages", "summaries"};

	cJSON_AddStringToObject(object, "run", recent->label);
	cJSON_AddStringToObject(object, "source", sources[recent->source]);
	cJSON_AddBoolToObject(object, "ended", recent->ended);
	print_json_number(object, "quiet_ns", recent->quiet_ns);
	print_json_number(object, "iterations", greatest_count(recent));
	print_json_number(object, "per_second", recent->per_second);
	print_json_number(object, "iteration_ns", recent->iteration_ns);
	print_json_number(object, "before_ns", recent->before_ns);
	print_json_number(object, "samples", recent->samples);
	print_json_number(object, "compute_imbalance", recent->imbalance);
	if (recent_straggler(recent) != SIZE_MAX)
		cJSON_AddStringToObject(object, "slowest", recent->workers[recent_straggler(recent)].name);
	if (layer) {
		cJSON_AddStringToObject(object, "slowest_layer", layer_title(layer));
		print_json_number(object, "slowest_layer_above_ns", above_ns);
	}
	if (recent->findings)
		findings_json(recent->findings, object);
	cJSON_AddNumberToObject(object, "lost", (double)lost_records(recent));
	print_json_number(object, "device_bytes", recent->device_bytes);
	print_json_number(object, "hook_share", recent->hook_share);
	phases = cJSON_AddObjectToObject(object, "phases_ns");
	for (unsigned p = 0; p < PHASE_COUNT; p++)
		print_json_number(phases, phase_keys[p], recent->phase_ns[p]);
}
