/* The runs that an advice is made from: see advise.h. */
#include "advise.h"
#include "strategy/strategy_pairs.h"
#include "advise_exchange.h"
#include "advise_straggler.h"
#include "base/csv.h"
#include "base/memory.h"
#include "base/text_file.h"
#include "sweep/sweep_child.h"

#include <err.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* Of a normal distribution, the middle half's width in standard deviations. */
#define MIDDLE_HALF 1.349
#define NAME_ROOM 64

struct reader {
	struct advice *advice;
	char folder[sizeof("/tmp/pmfit-advise-XXXXXX")], errors[NAME_ROOM];
	char **layers; /* files of the runs on one GPU */
	size_t layer_count;
	const char *name;                 /* the first of them */
	double batch;                     /* that was given, on a GPU; 0: none */
	bool is_given;                    /* it was needed */
	struct advise_exchange *exchange; /* of the run with most GPUs */
	struct csv several;               /* the row of the first run on several GPUs, if there is one */
	struct advise_stragglers stragglers; /* of that run */
};

/* Runs pmanalyze with its output in a file, or ends the program with what it complained about. */
static void analyze(struct reader *r, const char *const *words, const char *output)
{
	char text[1024];
	sigset_t none;
	int status = 0;
	pid_t pid;

	sigemptyset(&none);
	pid = sweep_child_start((char *const *)(uintptr_t)words, output, r->errors, &none);
	if (pid < 0)
		err(1, "pmanalyze: %s", strerror((int)-pid));
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status)) {
		sweep_child_tail(r->errors, text, sizeof(text));
		sweep_child_remove(r->folder);
		errx(1, "%s", *text ? sweep_child_last_line(text) : "pmanalyze failed");
	}
}

__attribute__((noreturn, format(printf, 3, 4))) static void refuse(
	struct reader *r, const char *run, const char *format, ...)
{
	char text[512];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	sweep_child_remove(r->folder);
	errx(1, "%s: %s", run, text);
}

/* Of the only row; `fallback` where there is no such number. */
static double observed(const struct csv *csv, const char *column, double fallback)
{
	ptrdiff_t at = csv_find(csv, column);
	double number;

	return at >= 0 && csv_number(csv->cells[at], &number) == 0 ? number : fallback;
}

static void read_report(struct reader *r, const char *run, char path[NAME_ROOM])
{
	const char *const words[] = {"pmanalyze", "report", "--json", run, NULL};

	snprintf(path, NAME_ROOM, "%s/report.json", r->folder);
	analyze(r, words, path);
}

/* The median's neighbours, which the row of observations has not. */
static void read_spread(struct reader *r, const char *run, struct advice_run *to)
{
	char path[NAME_ROOM];
	const cJSON *step;
	cJSON *root = NULL;

	read_report(r, run, path);
	if (text_file_json(path, &root))
		refuse(r, run, "'pmanalyze report --json' printed no JSON");
	step = cJSON_GetObjectItemCaseSensitive(root, "step");
	for (int q = 0; q < 2; q++) {
		const cJSON *item =
			cJSON_GetObjectItemCaseSensitive(step, q ? "quartile_high_ns" : "quartile_low_ns");

		to->quartiles[q] = cJSON_IsNumber(item) ? item->valuedouble : to->iteration;
	}
	cJSON_Delete(root);
	to->sd = fmax(to->quartiles[1] - to->quartiles[0], 0) / MIDDLE_HALF;
}

/* The run's row of observations; csv_free. */
static void read_row(struct reader *r, const char *run, struct csv *csv)
{
	const char *const words[] = {"pmanalyze", "export", "--observations", run, NULL};
	char path[NAME_ROOM];

	snprintf(path, sizeof(path), "%s/run.csv", r->folder);
	analyze(r, words, path);
	if (csv_read(csv, path) < 0)
		refuse(r, run, "%s", csv->error);
}

/* The mean of the ranks; with stragglers those of a rank that is none. */
static void read_layers(struct reader *r, const char *run)
{
	const bool delayed = r->stragglers.delay > 0;
	const char *const words[] = {"pmanalyze", "layers", "--json", delayed ? "--ranks" : run, delayed ? run : NULL, NULL};
	char *path = mem_alloc(NAME_ROOM, 1);
	const char *bad;

	snprintf(path, NAME_ROOM, "%s/layers.%zu.json", r->folder, r->layer_count);
	analyze(r, words, path);
	bad = delayed ? advise_stragglers_leave(&r->stragglers, path) : NULL;
	if (bad)
		refuse(r, run, "its layers: %s", bad);
	r->layers[r->layer_count++] = path;
}

/* exchange: of an iteration, ns, that one GPU has not. */
static void take_base(struct reader *r, const char *run, const struct csv *csv, size_t gpus, double exchange)
{
	struct advice_run *to = &r->advice->run;

	r->name = run;
	to->gpus = gpus;
	to->batch = r->batch > 0 ? r->batch : observed(csv, "batch", NAN) / observed(csv, "gpus", 1);
	to->iteration = 1e6 * observed(csv, "iteration_ms", NAN) - exchange;
	to->input =
		1e6 * (observed(csv, "io_ms", 0) + observed(csv, "h2d_ms", 0) + observed(csv, "md_ms", 0));
	to->update = 1e6 * observed(csv, "update_ms", 0);
	to->launch = 1e6 * observed(csv, "idle_launch_ms", 0);
	if (gpus == 1)
		to->launch += 1e6 * observed(csv, "idle_queue_ms", 0);
	read_spread(r, run, to);
	to->quartiles[0] -= exchange;
	if (gpus > 1) /* the host may have waited for the others */
		to->quartiles[0] -= 1e6 * observed(csv, "idle_sync_ms", 0);
}

/* A run on several GPUs where there is none on one: what is exposed of its exchange, and the queues that wait
 * for it, are taken away. */
static void take_several(struct reader *r)
{
	const struct advice_check *check = &r->advice->checks[0];
	const double delay = check->delay / 1e6, all = observed(&r->several, "communication_exposed_ms", NAN);
	const double moves = all - observed(&r->several, "communication_wait_ms", 0);
	const double queue = observed(&r->several, "idle_queue_ms", 0);
	/* of two ranks one of which is late, the median has half of the delay */
	const double exposed = delay > 0 ? fmax(all, delay + fmax(moves, 0)) : all;

	if (!advise_exchange_is_data(r->exchange))
		refuse(r, check->run,
			"its GPUs exchange more than gradients: expected data parallelism, or a run on one GPU");
	if (isnan(all))
		refuse(r, check->run, "how much of its exchange is hidden is not known");
	read_layers(r, check->run);
	take_base(r, check->run, &r->several, check->gpus, 1e6 * (exposed + queue));
}

/* What the run loses to stragglers. */
static struct advice_check check_of(struct reader *r, const char *run, double gpus, double batch, double iteration)
{
	struct advice_check check = {
		.run = run, .gpus = (size_t)gpus, .batch = batch, .iteration = iteration, .predicted = NAN};
	struct advise_stragglers stragglers;
	char path[NAME_ROOM];
	const char *bad;

	read_report(r, run, path);
	bad = advise_stragglers_read(&stragglers, path);
	if (bad)
		refuse(r, run, "%s", bad);
	check.delay = fmin(stragglers.delay, iteration);
	check.straggler = stragglers.text;
	stragglers.text = NULL;
	if (r->advice->check_count == 0)
		r->stragglers = stragglers;
	else
		advise_stragglers_free(&stragglers);
	return check;
}

/* Answers how many GPUs took part in the run, also those without a trace. */
static double read_exchange(struct reader *r, const char *run, const struct csv *csv)
{
	const char *const words[] = {"pmanalyze", "comm", "--json", run, NULL};
	const double workers = observed(csv, "gpus", 1);
	struct advise_exchange exchange, less;
	char path[NAME_ROOM];
	const char *bad;
	double gpus;

	if (!(observed(csv, "communication_ms", 0) > 0))
		return workers;
	snprintf(path, sizeof(path), "%s/comm.json", r->folder);
	analyze(r, words, path);
	bad = advise_exchange_read(&exchange, path, (size_t)workers);
	if (bad)
		refuse(r, run, "%s", bad);
	exchange.hosts = (size_t)observed(csv, "hosts", 1);
	gpus = fmax(workers, (double)exchange.gpus);
	less = exchange.gpus > r->exchange->gpus ? *r->exchange : exchange;
	if (exchange.gpus > r->exchange->gpus)
		*r->exchange = exchange;
	advise_exchange_free(&less);
	return gpus;
}

static void read_one(struct reader *r, const char *run)
{
	double workers, gpus, batch, iteration;
	struct csv csv;

	read_row(r, run, &csv);
	workers = observed(&csv, "gpus", 1);
	gpus = read_exchange(r, run, &csv);
	batch = observed(&csv, "batch", NAN) * gpus / workers;
	iteration = 1e6 * observed(&csv, "iteration_ms", NAN);
	if (batch > 0 && r->batch > 0 && fabs(batch - gpus * r->batch) > 1e-6 * batch)
		refuse(r, run, "--batch %g, but its trace has %g samples on each GPU", r->batch,
			batch / gpus);
	if (!(batch > 0) && r->batch > 0) {
		batch = gpus * r->batch;
		r->is_given = true;
	}
	if (!(batch > 0))
		refuse(r, run, "its trace does not tell the batch: --batch N does, the samples on a GPU");
	if (!(iteration > 0))
		refuse(r, run, "its iteration is unknown (pmanalyze report says why)");
	if (gpus > 1 && observed(&csv, "stages", 1) > 1)
		refuse(r, run, "a pipeline: expected a run on one GPU, or data parallelism on several");
	if (gpus > 1) {
		r->advice->checks[r->advice->check_count] = check_of(r, run, gpus, batch, iteration);
		if (r->advice->check_count++ == 0)
			r->several = csv;
		else
			csv_free(&csv);
		return;
	}
	read_layers(r, run);
	if (!r->name)
		take_base(r, run, &csv, 1, 0);
	csv_free(&csv);
}

static void compare_batches(struct reader *r)
{
	double one = r->advice->run.batch;

	for (size_t i = 0; i < r->advice->check_count; i++) {
		const struct advice_check *check = &r->advice->checks[i];
		double each = check->batch / (double)check->gpus;

		if (fabs(each - one) > 1e-6 * one)
			refuse(r, check->run,
				"%g samples on each of %zu GPUs, but %s has %g on each: times of another batch are "
				"no check",
				each, check->gpus, r->name, one);
	}
}

/* Which products of a transformer stand in pairs is told by its calls. */
static int read_pairs(struct reader *r)
{
	const char *const words[] = {"pmanalyze", "layers", "--why", "--json", r->name, NULL};
	char path[NAME_ROOM];

	snprintf(path, sizeof(path), "%s/calls.json", r->folder);
	analyze(r, words, path);
	return strategy_pairs_read(&r->advice->net, path);
}

/* What is left of the iteration without its layers. */
static void set_other(struct advice *a)
{
	struct advice_run *run = &a->run;
	double layers = 0;

	strategy_net_spread_update(&a->net, run->update);
	for (int which = STRATEGY_FORWARD; which <= STRATEGY_UPDATE; which++)
		layers += strategy_time_of(
			&a->net, 0, a->net.layer_count, (enum strategy_time)which, run->batch);
	run->other = fmax(run->iteration - layers, 0);
	run->input = fmin(run->input, run->other);
	run->launch = fmin(run->launch, run->other - run->input);
}

void advise_read_runs(struct advice *a, char *const *runs, size_t count, double batch, const char **name,
	struct advise_exchange *exchange)
{
	struct reader r = {
		.advice = a, .folder = "/tmp/pmfit-advise-XXXXXX", .batch = batch, .exchange = exchange};
	int status;

	if (!mkdtemp(r.folder))
		err(1, "%s", r.folder);
	snprintf(r.errors, sizeof(r.errors), "%s/errors", r.folder);
	r.layers = mem_alloc(count, sizeof(*r.layers));
	a->checks = mem_alloc(count, sizeof(*a->checks));
	for (size_t i = 0; i < count; i++)
		read_one(&r, runs[i]);
	if (!r.name)
		take_several(&r);
	if (a->check_count)
		csv_free(&r.several);
	advise_stragglers_free(&r.stragglers);
	if (r.is_given && r.layer_count > 1)
		refuse(&r, r.name, "--batch is of one run on one GPU, not of %zu", r.layer_count);
	compare_batches(&r);
	status = strategy_net_read(&a->net, (const char *const *)r.layers, r.layer_count);
	if (status == 0 && (r.is_given || a->net.is_opaque) && a->net.is_torch && r.layer_count == 1)
		status = read_pairs(&r);
	sweep_child_remove(r.folder);
	if (status < 0) /* the error begins with the file's name and ": " */
		errx(1, "%s: %s", r.name,
			strncmp(a->net.error, r.folder, strlen(r.folder)) == 0 ? strchr(a->net.error, ':') + 2
									       : a->net.error);
	if (a->run.gpus == 1 && a->net.communicates)
		errx(1, "%s: its layers communicate: expected a run on one GPU", r.name);
	if (a->run.gpus > 1) /* with gradients in buckets, and what else an exchange takes */
		a->net.device_bytes[0] = NAN;
	if (r.is_given)
		strategy_net_rows(&a->net, batch);
	strategy_pairs_cut(&a->net);
	set_other(a);
	for (size_t i = 0; i < r.layer_count; i++)
		free(r.layers[i]);
	free(r.layers);
	*name = r.name;
}

void advise_free_runs(struct advice *a)
{
	strategy_net_free(&a->net);
	for (size_t i = 0; i < a->check_count; i++)
		free(a->checks[i].straggler);
	free(a->checks);
	a->checks = NULL;
	a->check_count = 0;
}
