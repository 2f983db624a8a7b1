/*
 * Checks what is made of a job's summaries: with traces of made-up programs it must be what an analysis of
 * all traces together finds; with made-up summaries, whose maker knows them, the clocks of hosts, the waiting
 * and the straggler.
 */
#include "check.h"
#include "analyses/load_imbalance.h"
#include "model.h"
#include "base/output.h"
#include "analyses/summary/reduce.h"
#include "reconstruct/run.h"
#include "analyses/summary/summaries.h"
#include "summary_maker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/test_summaries.XXXXXX";

static bool near(double a, double b, double part)
{
	return fabs(a - b) <= part * (fabs(a) + fabs(b)) + 0.01;
}

static void name(char path[64], int rank, const char *ending)
{
	snprintf(path, 64, "%s/train.%d.%s", folder, rank, ending);
}

/* ---- Against an analysis of all traces ---- */

static void compare_worker(const struct summaries_worker *own, const struct analysis_worker *full,
	const struct balance_rank *rank, double part)
{
	const struct summary_worker *figures = own->figures;
	const struct layer_list *layers = &full->layers;

	CHECK(figures->used == full->used_count, "%zu iterations", full->used_count);
	CHECK(memcmp(figures->kinds,
		      (uint64_t[]){full->iterations.counts[0], full->iterations.counts[1],
			      full->iterations.counts[2], full->iterations.counts[3]},
		      sizeof(figures->kinds)) == 0 &&
			figures->found == full->iterations.count &&
			near(figures->confidence, full->iterations.confidence, 1e-6) &&
			figures->gaps[0] + figures->gaps[1] + figures->gaps[2] + figures->gaps[3] ==
				full->iterations.gap_count,
		"what was left out");
	CHECK(near(figures->iteration.mean, analysis_iteration(full, 1).mean, 1e-9), "iteration");
	CHECK(near(figures->compute.mean, rank->compute_ns, 1e-9), "computing");
	for (int p = 0; p < PHASE_COUNT; p++) {
		struct analysis_statistics busy = analysis_phase(full, 1, (enum phase)p, ANALYSIS_BUSY);
		struct analysis_statistics exclusive =
			analysis_phase(full, 1, (enum phase)p, ANALYSIS_EXCLUSIVE);

		CHECK(near(figures->exclusive[p].mean, exclusive.mean, 1e-9) &&
				near(figures->exclusive[p].deviation, exclusive.deviation, 1e-6) &&
				near((double)figures->exclusive[p].quantiles[SUMMARY_MEDIAN],
					exclusive.median, 1e-6),
			"exclusive, phase %d", p);
		CHECK(p >= PHASE_WORK_COUNT ||
				(near(figures->busy[p].mean, busy.mean, 1e-9) &&
					near(figures->busy[p].deviation, busy.deviation, 1e-6)),
			"busy, phase %d", p);
	}
	CHECK(figures->model->count == layers->count, "%zu layers", figures->model->count);
	for (size_t l = 0; l < layers->count && l < figures->model->count; l++)
		for (int c = 0; c < SUMMARY_COLUMNS; c++) {
			struct analysis_statistics all =
				analysis_layer(full, 1, layers->items[l].name, (enum phase_layer_column)c);

			/* Made of one rank's trace alone, a summary cannot tell waiting for others from exchanging. */
			double wait_ns =
				c == PHASE_LAYER_COMMUNICATION
					? analysis_layer(full, 1, layers->items[l].name, PHASE_LAYER_WAIT)
						  .mean
					: 0;

			CHECK(near(figures->layers[l].mean[c], all.mean, 1e-9) ||
					near(figures->layers[l].mean[c], all.mean + wait_ns, 1e-9), "%s: %f, not %f",
				layers->items[l].name, figures->layers[l].mean[c], all.mean);
			CHECK(c >= 4 || wait_ns > 0 ||
					near((double)figures->layers[l].deviation[c], all.deviation, 1e-6),
				"%s: sd", layers->items[l].name);
		}
	CHECK(near(own->wait_ns, rank->wait_ns, part), "waits %f, not %f", own->wait_ns, rank->wait_ns);
	CHECK(near(own->wait_caused_ns, rank->wait_caused_ns, part), "causes %f, not %f", own->wait_caused_ns,
		rank->wait_caused_ns);
}

/* The causes by rank, kind and layer must be the same. */
static void compare_causes(
	const char *what, struct summaries *job, struct run *run, const struct balance *balance)
{
	struct cause_list own, full;

	summaries_causes(job, &own);
	cause_find(&run->analysis, balance, NULL, &full);
	CHECK(own.count == full.count, "%s: %zu causes, not %zu", what, own.count, full.count);
	for (size_t i = 0; i < own.count && i < full.count; i++)
		CHECK(own.items[i].worker == full.items[i].worker &&
				own.items[i].kind == full.items[i].kind &&
				strcmp(own.items[i].layer, full.items[i].layer) == 0 &&
				near(own.items[i].cost_ns, full.items[i].cost_ns, 0.1),
			"%s: cause %zu is %s %s of worker %zu and costs %f, not %s %s of %zu and %f", what, i,
			cause_key(own.items[i].kind), own.items[i].layer, own.items[i].worker,
			own.items[i].cost_ns, cause_key(full.items[i].kind), full.items[i].layer,
			full.items[i].worker, full.items[i].cost_ns);
	cause_free(&own);
	cause_free(&full);
}

/* `part`: how far waiting may be off, which is sampled. `causes`: those that summaries can tell. */
static void agree(const char *what, struct model_options options, double part, bool causes)
{
	char *paths[8], trace[8][64], summary[64], *folders[1] = {folder}, *error = NULL;
	struct summaries job;
	struct balance balance;
	struct model model;
	struct run run;

	if (options.batch == 0)
		options.batch = 64;
	model_make(&model, &options);
	for (int p = 0; p < model.process_count; p++) {
		struct reduce_result result;

		name(trace[p], p, "pmtrace");
		paths[p] = trace[p];
		builder_save(&model.processes[p].builder, trace[p]);
		reduce_trace(trace[p], &(struct run_options){.skip = 1}, &result);
		CHECK(result.data != NULL, "%s: %s", what, result.error ? result.error : "");
		CHECK(result.bytes < 8192, "%s: %zu bytes", what, result.bytes);
		name(summary, p, "pmsum");
		CHECK(result.data && pm_output_write(summary, result.data, result.bytes) == 0, "%s", summary);
		free(result.data);
		free(result.error);
	}
	CHECK(run_open(&run, paths, (size_t)model.process_count, 1, &error) == 0, "%s: %s", what,
		error ? error : "");
	CHECK(summaries_open(&job, folders, 1, &error) == 0, "%s: %s", what, error ? error : "");
	balance_find(&run.analysis, &balance);
	CHECK(job.worker_count == run.analysis.worker_count, "%s: %zu workers", what, job.worker_count);
	CHECK(job.partial_count == 0, "%s: %zu collectives were not sampled by all", what, job.partial_count);
	for (size_t w = 0; w < job.worker_count && w < run.analysis.worker_count; w++)
		compare_worker(&job.workers[w], &run.analysis.workers[w], &balance.ranks[w], part);
	CHECK(near(summaries_imbalance(&job, offsetof(struct summary_worker, compute), NULL),
		      load_imbalance_computing(&run.analysis), 1e-6),
		"%s: LIF", what);
	CHECK(job.stage_count == run.analysis.stage_count, "%s: %u stages", what, job.stage_count);
	if (causes)
		compare_causes(what, &job, &run, &balance);
	balance_free(&balance);
	run_close(&run);
	summaries_close(&job);
	for (int p = 0; p < model.process_count; p++) {
		name(summary, p, "pmsum");
		unlink(trace[p]);
		unlink(summary);
	}
	model_free(&model);
}

static void agree_all(void)
{
	struct model_options usual = {.net = MODEL_LENET, .processes = 3, .gpus = 1, .iterations = 12}, other;

	agree("even", usual, 1e-6, true);
	other = usual;
	other.slow_worker = 1;
	other.slow = 1.5;
	other.log_every = 3;
	agree("slower", other, 1e-6, true);
	other.overlap = true;
	agree("overlap", other, 1e-6, true);
	other.overlap = false;
	other.fused = true;
	agree("fused", other, 1e-6, true);
	other.fused = false;
	other.grouped = true;
	agree("grouped", other, 1e-6, true);
	other.grouped = false;
	other.slow_layer = "conv2";
	other.slow = 4;
	agree("layer", other, 1e-6, true);
	other = usual;
	other.slow_worker = 2;
	other.slow_input_ns = 90000;
	agree("input", other, 1e-6, true);
	other = usual;
	other.slow_worker = 2;
	other.slow_host_ns = 20000;
	agree("host", other, 1e-6, true);
	other = usual;
	other.slow_worker = 1;
	other.slow_batch = 96;
	agree("work", other, 1e-6, true);
	other = usual;
	other.slow_worker = 1;
	other.slow = 4;
	other.slow_every = 4;
	agree("now and then", other, 1e-6, true);
	other = usual;
	other.processes = 4;
	other.slow_worker = 1;
	other.slow = 2;
	other.second_worker = 3;
	other.second_slow = 1.6;
	agree("two slower", other, 1e-6, true);
	other = usual;
	other.processes = 2;
	other.gpus = 2;
	agree("two GPUs a process", other, 1e-6, true);
	/* more iterations than are sampled: 5 exchanges each, 64 of 400 iterations */
	other = usual;
	other.iterations = 400;
	other.slow_worker = 1;
	other.slow = 1.5;
	other.seed = 7;
	agree("long", other, 0.02, true);
	other.uneven_every = 7;
	other.evaluate_every = 50;
	other.evaluate_count = 2;
	agree("long and uneven", other, 0.02, true);
}

/* ---- Made-up summaries ---- */

/* The job of all ranks but `missing`, in one file. */
static void open_job(const struct maker_options *options, int32_t missing, struct summaries *job)
{
	struct summary_names names = {0};
	unsigned char *all = NULL;
	size_t count = 0, room = 0;
	char path[64], *paths[1] = {path}, *error;

	snprintf(path, sizeof(path), "%s/all.pmsum", folder);
	for (int32_t rank = 0; rank < options->ranks; rank++) {
		struct summary summary;
		unsigned char *data;
		size_t bytes;

		maker_make(options, rank, &names, &summary);
		data = summary_bytes(&summary, &bytes);
		mem_reserve((void **)&all, count, &room, 1, bytes);
		memcpy(all + count, data, bytes);
		count += rank == missing ? 0 : bytes;
		free(data);
		summary_free(&summary);
	}
	CHECK(pm_output_write(path, all, count) == 0, "%s", path);
	CHECK(summaries_open(job, paths, 1, &error) == 0, "%s", path);
	free(all);
	summary_names_free(&names);
	unlink(path);
}

/* Clocks that are wrong by more than anything else takes are found again from the collectives. */
static void clocks(void)
{
	struct maker_options options = maker_usual;
	struct maker_truth truth;
	struct summaries job;

	options.ranks = 32;
	options.straggler = 17;
	options.clock_ns = 500000000;
	truth = maker_truth(&options);
	open_job(&options, -1, &job);
	CHECK(job.host_count == 8, "%zu hosts", job.host_count);
	for (size_t h = 0; h < job.host_count; h++) {
		int64_t error_ns = maker_error_ns(&options, (int32_t)job.hosts[h].first_worker);

		/* ends differ by up to 2 us from rank to rank, on average by less */
		CHECK(llabs(job.hosts[h].settled_ns + error_ns) < 1000, "%s: settled by %lld, wrong by %lld",
			job.hosts[h].name, (long long)job.hosts[h].settled_ns, (long long)error_ns);
	}
	CHECK(job.residual_ns == 0 && job.partial_count == 0, "residual %lld", (long long)job.residual_ns);
	CHECK(job.meeting_count == 128, "%zu collectives", job.meeting_count);
	CHECK(near(job.workers[17].wait_caused_ns, truth.wait_caused_ns, 0.003), "causes %f, not %f",
		job.workers[17].wait_caused_ns, truth.wait_caused_ns);
	summaries_close(&job);
}

/* No host has an exchange with all others: each is settled against one that was settled before. */
static void chain(void)
{
	struct maker_options options = maker_usual;
	struct summaries job;

	options.ranks = 40;
	options.straggler = 17;
	options.clock_ns = 500000000;
	options.chain = true;
	open_job(&options, -1, &job);
	for (size_t h = 0; h < job.host_count; h++) {
		int64_t error_ns = maker_error_ns(&options, (int32_t)job.hosts[h].first_worker);

		CHECK(llabs(job.hosts[h].settled_ns + error_ns) < 1000 * (int64_t)(h + 1),
			"%s: settled by %lld, wrong by %lld", job.hosts[h].name,
			(long long)job.hosts[h].settled_ns, (long long)error_ns);
	}
	CHECK(job.partial_count == 0 && job.residual_ns == 0, "residual %lld", (long long)job.residual_ns);
	summaries_close(&job);
}

/* What was thinned out is made up for. */
static void thinned(void)
{
	struct maker_options options = maker_usual;
	struct summaries job;

	options.ranks = 16;
	options.thin = true;
	options.exchanges = 64;
	open_job(&options, -1, &job);
	CHECK(job.meeting_count > 400 && job.meeting_count < 600, "%zu collectives", job.meeting_count);
	CHECK(near(job.workers[5].wait_caused_ns, maker_truth(&options).wait_caused_ns, 0.05),
		"causes %f, not %f", job.workers[5].wait_caused_ns, maker_truth(&options).wait_caused_ns);
	summaries_close(&job);
}

static void find(enum maker_cause cause, bool changing, int expected, const char *layer)
{
	struct maker_options options = maker_usual;
	struct maker_truth truth;
	struct cause_list causes;
	struct summaries job;

	options.ranks = 64;
	options.straggler = 40;
	options.cause = cause;
	options.coming_and_going = changing;
	truth = maker_truth(&options);
	open_job(&options, -1, &job);
	summaries_causes(&job, &causes);
	if (expected < 0) {
		CHECK(causes.count == 0, "%zu causes of %d", causes.count, (int)cause);
	} else if (causes.count == 1) {
		const struct cause *found = &causes.items[0];

		CHECK((int)found->kind == expected && found->worker == 40 && strcmp(found->layer, layer) == 0,
			"%s %s of worker %zu", cause_key(found->kind), found->layer, found->worker);
		CHECK(expected == CAUSE_UNKNOWN || near(found->cost_ns, truth.cost_ns, 0.02),
			"costs %f, not %f", found->cost_ns, truth.cost_ns);
		CHECK(near(found->wait_caused_ns, truth.wait_caused_ns, 0.01), "causes %f, not %f",
			found->wait_caused_ns, truth.wait_caused_ns);
	} else {
		CHECK(false, "%zu causes of %d", causes.count, (int)cause);
	}
	cause_free(&causes);
	summaries_close(&job);
}

static bool warned(struct summaries *job, const char *words)
{
	const char **warnings = summaries_warnings(job);

	for (size_t i = 0; warnings[i]; i++)
		if (strstr(warnings[i], words))
			return true;
	return false;
}

static void missing(int32_t rank)
{
	struct maker_options options = maker_usual;
	char words[64];
	struct summaries job;

	options.ranks = 32;
	options.straggler = 9;
	open_job(&options, rank, &job);
	snprintf(words, sizeof(words), "summaries of 31 of 32 ranks: %d is missing", rank);
	CHECK(job.worker_count == 31 && warned(&job, words), "rank %d", rank);
	CHECK(job.partial_count == 0 && job.meeting_count == 128, "who is left meets");
	summaries_close(&job);
	open_job(&options, -1, &job);
	CHECK(!warned(&job, "missing"), "all are there");
	summaries_close(&job);
}

/* One rank's iterations are others than those of the rest: what it was not at is left out. */
static void partial(void)
{
	struct maker_options options = maker_usual;
	struct summary_names names = {0};
	struct summaries job = {0};
	struct summary *list;

	options.ranks = 8;
	options.straggler = 3;
	list = mem_alloc(8, sizeof(*list));
	for (int32_t rank = 0; rank < 8; rank++)
		maker_make(&options, rank, &names, &list[rank]);
	for (size_t i = 0; i < list[6].workers[0].part_count; i++)
		if (list[6].workers[0].parts[i].sample < 4)
			list[6].workers[0].parts[i].sequence += 5000;
	job.list.items = list;
	job.list.count = job.list.room = 8;
	job.workers = mem_alloc(8, sizeof(*job.workers));
	job.hosts = mem_alloc(2, sizeof(*job.hosts));
	job.worker_count = 8;
	job.host_count = 2;
	for (uint32_t w = 0; w < 8; w++)
		job.workers[w] = (struct summaries_worker){
			.summary = &list[w], .figures = list[w].workers, .host = w / 4};
	job.hosts[1].first_worker = 4;
	summaries_wait(&job);
	/* 7 of 8 is less than nine in ten */
	CHECK(job.meeting_count == 12 * 8 && job.partial_count == 2 * 4 * 8, "%zu collectives, %zu others",
		job.meeting_count, job.partial_count);
	CHECK(near(job.workers[3].wait_caused_ns, maker_truth(&options).wait_caused_ns, 0.02), "causes %f",
		job.workers[3].wait_caused_ns);
	summaries_close(&job);
	summary_names_free(&names);
}

int main(void)
{
	static const struct {
		enum maker_cause cause;
		int expected;
		const char *layer;
	} causes[] = {
		{MAKER_NONE, -1, ""},
		{MAKER_SLOWER, CAUSE_SLOWER, ""},
		{MAKER_LAYER, CAUSE_LAYER, "conv4"},
		{MAKER_WORK, CAUSE_WORK, ""},
		{MAKER_INPUT, CAUSE_INPUT, ""},
		{MAKER_HOST, CAUSE_HOST, ""},
		{MAKER_UNKNOWN, CAUSE_UNKNOWN, ""},
	};

	if (!mkdtemp(folder))
		return 1;
	agree_all();
	clocks();
	chain();
	thinned();
	for (size_t i = 0; i < sizeof(causes) / sizeof(*causes); i++)
		find(causes[i].cause, false, causes[i].expected, causes[i].layer);
	find(MAKER_UNKNOWN, true, -1, "");
	missing(0);
	missing(20);
	missing(21);
	missing(31);
	partial();
	CHECK(rmdir(folder) == 0, "something was left in %s", folder);
	return check_end();
}
