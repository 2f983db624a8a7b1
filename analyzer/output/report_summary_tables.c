/* The tables of a job's summaries: see report_summary.h. */
#include "report_summary.h"
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BINS 12
#define BAR 40 /* characters of the longest */

static double pooled(const struct summaries *job, size_t offset)
{
	return summaries_pool(job->workers, job->worker_count, offset).mean;
}

/* The standard deviation of the ranks' means. */
static double between_ranks(const struct summaries *job, size_t offset)
{
	double *means = mem_alloc(job->worker_count, sizeof(*means)), result;

	for (size_t i = 0; i < job->worker_count; i++)
		means[i] = summaries_spread(&job->workers[i], offset)->mean;
	result = analysis_statistics(means, job->worker_count).deviation;
	free(means);
	return result;
}

struct phase_columns {
	size_t phase, symbol, busy, busy_deviation, busy_median, busy_ranks, exclusive, exclusive_deviation,
		exclusive_median, share, imbalance, slowest;
};

static void phase_row(struct summaries *job, struct print_table *table, const struct phase_columns *columns,
	int phase, double whole_ns)
{
	bool idle = phase >= PHASE_WORK_COUNT;
	struct analysis_statistics statistics =
		summaries_pool(job->workers, job->worker_count, SUMMARIES_EXCLUSIVE(phase));

	print_row(table);
	print_term(table, columns->phase, report_phase(phase), phase_titles[phase]);
	print_word(table, columns->symbol, phase_symbols[phase]);
	print_number(table, columns->exclusive, statistics.mean);
	print_number(table, columns->exclusive_deviation, statistics.deviation);
	print_number(table, columns->exclusive_median, statistics.median);
	print_number(table, columns->share, whole_ns > 0 ? statistics.mean / whole_ns : NAN);
	if (idle)
		return;
	statistics = summaries_pool(job->workers, job->worker_count, SUMMARIES_BUSY(phase));
	print_number(table, columns->busy, statistics.mean);
	print_number(table, columns->busy_deviation, statistics.deviation);
	print_number(table, columns->busy_median, statistics.median);
	if (job->worker_count > 1) {
		size_t slowest;
		double imbalance = summaries_imbalance(job, SUMMARIES_BUSY(phase), &slowest);

		print_number(table, columns->busy_ranks, between_ranks(job, SUMMARIES_BUSY(phase)));
		print_number(table, columns->imbalance, imbalance);
		if (isfinite(imbalance))
			print_word(table, columns->slowest, summaries_name(job, &job->workers[slowest]));
	}
}

void report_summary_phases(struct summaries *job, struct print_table *table, bool text)
{
	struct phase_columns columns;
	struct analysis_statistics all =
		summaries_pool(job->workers, job->worker_count, offsetof(struct summary_worker, iteration));

	columns.phase = print_column(table, "phase", "phase", PRINT_WORD);
	columns.symbol = print_column(table, "symbol", NULL, PRINT_WORD);
	columns.busy = print_column(table, "busy", "busy", PRINT_TIME);
	columns.busy_deviation = print_column(table, "busy_sd", "sd", PRINT_TIME);
	columns.busy_median = print_column(table, "busy_median", NULL, PRINT_TIME);
	columns.busy_ranks = print_column(table, "busy_ranks_sd", "ranks", PRINT_TIME);
	columns.exclusive = print_column(table, "exclusive", "exclusive", PRINT_TIME);
	columns.exclusive_deviation = print_column(table, "exclusive_sd", "sd", PRINT_TIME);
	columns.exclusive_median = print_column(table, "exclusive_median", NULL, PRINT_TIME);
	columns.share = print_column(table, "share", "share", PRINT_SHARE);
	columns.imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	columns.slowest = print_column(table, "slowest", "slowest", PRINT_WORD);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		if (phase != PHASE_GRAPH || !text || pooled(job, SUMMARIES_BUSY(PHASE_GRAPH)) > 0)
			phase_row(job, table, &columns, phase, all.mean);
	table->rule = true;
	print_row(table);
	print_word(table, columns.phase, "iteration");
	print_word(table, columns.symbol, "t_iter");
	print_number(table, columns.exclusive, all.mean);
	print_number(table, columns.exclusive_deviation, all.deviation);
	print_number(table, columns.exclusive_median, all.median);
	print_number(table, columns.share, all.mean > 0 ? 1 : NAN);
}

/* ---- Layers ---- */

/* A layer over the workers of its stage that have it. */
struct layer_sum {
	double mean[4], deviation[4]; /* pooled as analysis_layer does */
	double greatest_ns, sum_ns;   /* forward and backward, of workers */
	size_t count, slowest;
	unsigned unknown;
};

static struct layer_sum sum_layer(const struct summaries *job, uint32_t stage, const char *name, size_t hint)
{
	struct layer_sum sum = {.unknown = 31};
	double iterations = 0;

	for (size_t w = 0; w < job->worker_count; w++) {
		const struct summaries_worker *worker = &job->workers[w];
		double used = (double)worker->figures->used, both_ns;
		const struct summary_layer *layer;
		size_t at;

		if (worker->stage != stage)
			continue;
		at = summaries_layer(worker->figures->model, name, hint);
		if (at == SIZE_MAX)
			continue;
		layer = &worker->figures->layers[at];
		for (int c = 0; c < 4; c++) {
			sum.mean[c] += layer->mean[c] * used;
			sum.deviation[c] += (double)layer->deviation[c] * (double)layer->deviation[c];
		}
		both_ns = layer->mean[PHASE_LAYER_FORWARD] + layer->mean[PHASE_LAYER_BACKWARD];
		sum.sum_ns += both_ns;
		if (both_ns > sum.greatest_ns) {
			sum.greatest_ns = both_ns;
			sum.slowest = w;
		}
		sum.unknown &= layer->unknown;
		sum.count++;
		iterations += used;
	}
	for (int c = 0; c < 4 && sum.count; c++) {
		sum.mean[c] /= iterations;
		sum.deviation[c] = sqrt(sum.deviation[c] / (double)sum.count);
	}
	return sum;
}

struct layer_columns {
	size_t stage, layer, kind, sizes, input, activation, parameters, times[4], deviations[4], share,
		imbalance, slowest;
};

static void layer_row(struct summaries *job, struct print_table *table, const struct layer_columns *columns,
	uint32_t stage, const struct summary_name *name, const struct layer_sum *sum, double total_ns)
{
	double own_ns = 0;

	print_row(table);
	print_number(table, columns->stage, stage);
	print_word(table, columns->layer, summaries_title(job, stage, name));
	print_word(table, columns->kind, name->name);
	print_word(table, columns->sizes, name->text);
	print_word(table, columns->input, name->input);
	print_word(table, columns->activation, name->activation);
	print_number(table, columns->parameters, (double)name->parameter_count);
	for (int c = 0; c < 4; c++) {
		own_ns += sum->mean[c];
		if ((sum->unknown >> c & 1) && !(sum->mean[c] > 0))
			continue;
		print_number(table, columns->times[c], sum->mean[c]);
		print_number(table, columns->deviations[c], sum->deviation[c]);
	}
	if (total_ns > 0)
		print_number(table, columns->share, own_ns / total_ns);
	if (sum->count > 1 && sum->sum_ns > 0) {
		print_number(table, columns->imbalance, (double)sum->count * sum->greatest_ns / sum->sum_ns);
		print_word(table, columns->slowest, summaries_name(job, &job->workers[sum->slowest]));
	}
}

/* The layers of a stage; the caller frees them. Their times are added to the total. */
static struct layer_sum *stage_sums(const struct summaries *job, uint32_t stage, double *total_ns)
{
	const struct summary_model *model = job->stages[stage];
	struct layer_sum *sums = mem_alloc(model->count, sizeof(*sums));

	for (size_t l = 0; l < model->count; l++) {
		sums[l] = sum_layer(job, stage, model->names[l].name, l);
		for (int c = 0; c < 4; c++)
			*total_ns += sums[l].mean[c];
	}
	return sums;
}

void report_summary_layers(struct summaries *job, struct print_table *table)
{
	struct layer_columns columns;
	struct layer_sum **sums;
	double total_ns = 0;
	bool modules = false;

	for (uint32_t s = 0; s < job->stage_count; s++)
		for (size_t l = 0; l < job->stages[s]->count; l++)
			modules |= job->stages[s]->names[l].module[0] != 0;
	columns.stage = print_column(table, "stage", job->stage_count > 1 ? "stage" : NULL, PRINT_COUNT);
	columns.layer = print_column(table, "layer", "layer", PRINT_WORD);
	columns.kind = print_column(table, "kind", modules ? "kind" : NULL, PRINT_WORD);
	columns.sizes = print_column(table, "sizes", "sizes", PRINT_WORD);
	columns.input = print_column(table, "input", NULL, PRINT_WORD);
	columns.activation = print_column(table, "activation", NULL, PRINT_WORD);
	columns.parameters = print_column(table, "parameters", NULL, PRINT_COUNT);
	for (int c = 0; c < 4; c++)
		columns.times[c] = print_column(
			table, phase_keys[phase_of_column[c]], phase_symbols[phase_of_column[c]], PRINT_TIME);
	columns.share = print_column(table, "share", "share", PRINT_SHARE);
	columns.imbalance = print_column(table, "lif", "LIF", PRINT_REAL);
	columns.slowest = print_column(table, "slowest", "slowest", PRINT_WORD);
	for (int c = 0; c < 4; c++)
		columns.deviations[c] = print_column(table,
			arena_format(table->arena, "%s_sd", phase_keys[phase_of_column[c]]), NULL,
			PRINT_TIME);
	sums = mem_alloc(job->stage_count, sizeof(*sums));
	for (uint32_t s = 0; s < job->stage_count; s++)
		sums[s] = stage_sums(job, s, &total_ns);
	for (uint32_t s = 0; s < job->stage_count; s++) {
		table->rule = s > 0;
		for (size_t l = 0; l < job->stages[s]->count; l++)
			layer_row(job, table, &columns, s, &job->stages[s]->names[l], &sums[s][l], total_ns);
		free(sums[s]);
	}
	free(sums);
}

/* ---- Ranks ---- */

void report_summary_workers(struct summaries *job, struct print_table *table)
{
	static const char *const keys[2][3] = {
		{"busy_mean", "busy_sd", "busy_median"},
		{"exclusive_mean", "exclusive_sd", "exclusive_median"},
	};
	size_t rank = print_column(table, "rank", "rank", PRINT_COUNT);
	size_t device = print_column(table, "device", "gpu", PRINT_COUNT);
	size_t phase_column = print_column(table, "phase", "phase", PRINT_WORD);
	size_t iterations = print_column(table, "iterations", "iterations", PRINT_COUNT);
	size_t columns[2][3];

	for (int i = 0; i < 6; i++)
		columns[i / 3][i % 3] =
			print_column(table, keys[i / 3][i % 3], keys[i / 3][i % 3], PRINT_TIME);
	for (size_t w = 0; w < job->worker_count; w++)
		for (int phase = 0; phase <= PHASE_COUNT; phase++) {
			const struct summary_worker *figures = job->workers[w].figures;
			const struct summary_spread *exclusive =
				phase < PHASE_COUNT ? &figures->exclusive[phase] : &figures->iteration;
			/* Idle phases and the whole iteration are busy as long as they last. */
			const struct summary_spread *spreads[2] = {
				phase < PHASE_WORK_COUNT ? &figures->busy[phase] : exclusive, exclusive};

			print_row(table);
			print_number(table, rank, job->workers[w].summary->rank);
			print_number(table, device, figures->device);
			print_word(
				table, phase_column, phase < PHASE_COUNT ? phase_keys[phase] : "iteration");
			print_number(table, iterations, (double)figures->used);
			for (int i = 0; i < 2; i++) {
				print_number(table, columns[i][0], spreads[i]->mean);
				print_number(table, columns[i][1], spreads[i]->deviation);
				print_number(
					table, columns[i][2], (double)spreads[i]->quantiles[SUMMARY_MEDIAN]);
			}
		}
}

static int by_relevance(const void *left, const void *right)
{
	const struct summaries_worker *a = *(const struct summaries_worker *const *)left;
	const struct summaries_worker *b = *(const struct summaries_worker *const *)right;
	double a_ns = isfinite(a->wait_caused_ns) ? a->wait_caused_ns : 0;
	double b_ns = isfinite(b->wait_caused_ns) ? b->wait_caused_ns : 0;

	if (a_ns != b_ns)
		return a_ns > b_ns ? -1 : 1;
	if (a->figures->compute.mean != b->figures->compute.mean)
		return a->figures->compute.mean > b->figures->compute.mean ? -1 : 1;
	return a < b ? -1 : a > b;
}

void report_summary_ranks(struct summaries *job, size_t most, struct print_table *table)
{
	size_t name = print_column(table, "worker", "rank", PRINT_WORD);
	size_t host = print_column(table, "host", job->host_count > 1 ? "host" : NULL, PRINT_WORD);
	size_t iteration = print_column(table, "iteration", "t_iter", PRINT_TIME);
	size_t compute = print_column(table, "computing", "computing", PRINT_TIME);
	size_t exposed = print_column(table, "communication_exposed", "exposed", PRINT_TIME);
	size_t wait = print_column(table, "waiting", "waiting", PRINT_TIME);
	/* Of many ranks the sum is of another order than all else: then what each of them waits is shown. */
	bool many = job->worker_count > REPORT_MOST_RANKS;
	size_t caused = print_column(table, "wait_caused", many ? NULL : "wait caused", PRINT_TIME);
	size_t each = print_column(table, "wait_caused_each", many ? "each waits" : NULL, PRINT_TIME);
	size_t last = print_column(table, "last", "last to arrive", PRINT_SHARE);
	const struct summaries_worker **order = mem_alloc(job->worker_count, sizeof(*order));

	for (size_t w = 0; w < job->worker_count; w++)
		order[w] = &job->workers[w];
	if (most < job->worker_count)
		qsort(order, job->worker_count, sizeof(*order), by_relevance);
	for (size_t i = 0; i < job->worker_count && i < most; i++) {
		const struct summaries_worker *worker = order[i];

		print_row(table);
		print_word(table, name, summaries_name(job, worker));
		print_word(table, host, worker->summary->host);
		print_number(table, iteration, worker->figures->iteration.mean);
		print_number(table, compute, worker->figures->compute.mean);
		print_number(table, exposed, worker->figures->exclusive[PHASE_COMMUNICATION].mean);
		print_number(table, wait, worker->wait_ns);
		print_number(table, caused, worker->wait_caused_ns);
		print_number(table, each, worker->wait_caused_ns / ((double)job->worker_count - 1));
		if (job->meeting_count)
			print_number(table, last, (double)worker->last_count / (double)job->meeting_count);
	}
	free(order);
}

void report_summary_distribution(struct summaries *job, struct print_table *table)
{
	size_t from = print_column(table, "from", "from", PRINT_TIME);
	size_t to = print_column(table, "to", "to", PRINT_TIME);
	size_t ranks = print_column(table, "ranks", "ranks", PRINT_COUNT);
	size_t bar = print_column(table, "bar", "", PRINT_WORD);
	size_t counts[BINS] = {0}, greatest = 0;
	double low = INFINITY, high = 0, width;
	char line[BAR + 1];

	for (size_t w = 0; w < job->worker_count; w++) {
		low = fmin(low, job->workers[w].figures->compute.mean);
		high = fmax(high, job->workers[w].figures->compute.mean);
	}
	width = (high - low) / BINS;
	if (!(width > 0))
		return;
	for (size_t w = 0; w < job->worker_count; w++) {
		size_t bin = (size_t)((job->workers[w].figures->compute.mean - low) / width);

		counts[bin < BINS ? bin : BINS - 1]++;
	}
	for (int i = 0; i < BINS; i++)
		if (counts[i] > greatest)
			greatest = counts[i];
	for (int i = 0; i < BINS; i++) {
		/* One rank is to be seen, too. */
		size_t length = (counts[i] * BAR + greatest - 1) / greatest;

		memset(line, '#', length);
		line[length] = 0;
		print_row(table);
		print_number(table, from, low + width * i);
		print_number(table, to, low + width * (i + 1));
		print_number(table, ranks, (double)counts[i]);
		print_word(table, bar, line);
	}
}

void report_summary_causes(struct summaries *job, const struct cause_list *causes, struct print_table *table)
{
	size_t worker = print_column(table, "worker", "rank", PRINT_WORD);
	size_t caused = print_column(table, "wait_caused", "wait caused", PRINT_TIME);
	size_t share = print_column(table, "share", "share", PRINT_SHARE);
	size_t kind = print_column(table, "cause", "cause", PRINT_WORD);
	size_t layer = print_column(table, "layer", "layer", PRINT_WORD);
	size_t cost = print_column(table, "cost", "cost", PRINT_TIME);
	size_t factor = print_column(table, "factor", "factor", PRINT_REAL);
	size_t evidence = print_column(table, "evidence", "evidence", PRINT_WORD);

	for (size_t i = 0; i < causes->count; i++) {
		const struct cause *cause = &causes->items[i];

		print_row(table);
		print_word(table, worker, summaries_name(job, &job->workers[cause->worker]));
		print_number(table, caused, cause->wait_caused_ns);
		print_number(table, share, cause->share);
		print_word(table, kind, cause_key(cause->kind));
		if (cause->layer[0])
			print_word(table, layer, cause->layer);
		print_number(table, cost, cause->cost_ns);
		print_number(table, factor, cause->factor);
		print_word(table, evidence, cause->evidence);
	}
}

void report_summary_hosts(struct summaries *job, struct print_table *table)
{
	size_t name = print_column(table, "host", "host", PRINT_WORD);
	size_t settled = print_column(table, "settled", "clock shift", PRINT_TIME);
	size_t unsure = print_column(table, "unsure", "uncertainty", PRINT_TIME);

	for (size_t h = 0; h < job->host_count; h++) {
		print_row(table);
		print_word(table, name, job->hosts[h].name);
		print_number(table, settled, (double)job->hosts[h].settled_ns);
		print_number(table, unsure, job->hosts[h].unsure_ns);
	}
}
