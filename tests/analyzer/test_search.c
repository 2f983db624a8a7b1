/*
 * Iterations of made-up programs (program.h), whole and cut out at random: how many are found exactly, by the
 * confidence that was given. Of answers at 0.9 and above at least 99% must be right; the table of all is
 * printed. With --list each answer that is wrong.
 */
#include "check.h"
#include "program.h"
#include "reconstruct/analysis.h"
#include "timeline/timeline_read.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAMS 600 /* with seeds from 1, unless asked otherwise */
#define BINS 4

static const double bins[BINS] = {0.9, 0.7, 0.5, 0};

struct tally {
	size_t all, right;
};

static bool lists;
static uint64_t first_seed = 1, program_count = PROGRAMS;

static void open_program(const struct program *program, double from, double to,
	const struct iteration_rule *rule, struct program_truth *truth, struct analysis *analysis)
{
	struct timeline timeline;
	struct builder builder;
	struct trace trace;

	program_make(program, from, to, &builder, truth);
	timeline_init(&timeline);
	if (trace_parse(&trace, "program", builder.file.data, builder.file.size) < 0)
		errx(1, "%s", trace.error);
	timeline_add(&timeline, &trace);
	trace_close(&trace);
	builder_free(&builder);
	timeline_settle(&timeline);
	analysis_init_as(analysis, &timeline, &(struct iteration_options){.skip = 1, .rule = rule});
}

/* The begins of the first and last kernel of an iteration. */
static struct program_span span_of(const struct analysis *analysis, const struct iteration *item)
{
	const struct worker *worker = &analysis->model.workers[0];
	struct program_span span = {0};

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call = TIMELINE_CALL(&analysis->timeline, worker->calls[i]);

		if (!(analysis->model.roles[call->operation].flags & WORKER_CORE))
			continue;
		span.first_ns = span.first_ns ? span.first_ns : call->begin_ns;
		span.last_ns = call->begin_ns;
	}
	return span;
}

/*
 * Is each whole iteration found exactly, and each that is used one of them? Of the very first the search for
 * algorithms may be left out, as long as it is not used: without input nothing tells whose that is.
 */
static bool is_right(
	const struct analysis *analysis, const struct iteration_list *list, const struct program_truth *truth)
{
	size_t found = 0, whole = 0;

	for (size_t i = 0; i < truth->count; i++)
		whole += truth->spans[i].whole;
	if (list->count && list->items[0].kind != ITERATION_USED && truth->spans[0].whole)
		found += span_of(analysis, &list->items[0]).last_ns == truth->spans[0].last_ns &&
			 span_of(analysis, &list->items[0]).first_ns != truth->spans[0].first_ns;
	for (size_t i = 0; i < list->count; i++) {
		struct program_span span = span_of(analysis, &list->items[i]);
		bool exact = false;

		for (size_t j = 0; j < truth->count && !exact; j++)
			exact = truth->spans[j].whole && truth->spans[j].first_ns == span.first_ns &&
				truth->spans[j].last_ns == span.last_ns;
		found += exact;
		if (!exact && list->items[i].kind == ITERATION_USED)
			return false;
	}
	return found == whole;
}

static void print_program(const struct program *p, uint64_t seed, const struct iteration_list *list)
{
	printf("  seed %llu: names %d, %d iterations of %d layers, updates %d, accumulate %d, optimizers %d, steps %d%s, "
	       "evaluate %d of %d, log %d, small %d, tail %d%s%s%s: %zu found by %d, confidence %.2f\n",
		(unsigned long long)seed, p->names, p->iterations, p->layers, p->updates, p->accumulate,
		p->optimizers, p->steps, p->varies ? " varying" : "", p->evaluate_every, p->evaluate_count,
		p->log_every, p->small_every, p->tail, p->resident ? ", resident" : "",
		p->tunes ? ", tunes" : "", p->prepares ? ", prepares" : "", list->count, list->source,
		list->confidence);
}

static void try_program(uint64_t seed, bool cut, struct tally tallies[BINS])
{
	uint64_t random = seed * 0x9e3779b97f4a7c15ull;
	double from = cut ? (double)(random >> 40) / (double)(1 << 24) * 0.5 : 0;
	double to = cut ? 0.5 + (double)(random >> 16 & 0xffffff) / (double)(1 << 24) * 0.5 : 1;
	const struct iteration_list *list;
	struct program_truth truth;
	struct analysis analysis;
	struct program program;
	bool right;

	program_random(&program, seed);
	open_program(&program, from, to, NULL, &truth, &analysis);
	list = &analysis.workers[0].iterations;
	right = is_right(&analysis, list, &truth);
	for (int i = 0; i < BINS; i++)
		if (list->confidence >= bins[i]) {
			tallies[i].all++;
			tallies[i].right += right;
			break;
		}
	if (!right && lists)
		print_program(&program, seed, list);
	analysis_free(&analysis);
	free(truth.spans);
}

static void check_calibration(bool cut)
{
	struct tally tallies[BINS] = {{0, 0}};

	for (uint64_t i = 0; i < program_count; i++)
		try_program(first_seed + i, cut, tallies);
	printf("%s\n  confidence  programs  right\n", cut ? "cut out at random" : "whole runs");
	for (int i = 0; i < BINS; i++)
		printf("  from %.1f    %8zu  %5.1f%%\n", bins[i], tallies[i].all,
			tallies[i].all ? 100 * (double)tallies[i].right / (double)tallies[i].all : 0);
	CHECK(tallies[0].all > program_count / 5, "only %zu answers are sure", tallies[0].all);
	CHECK(100 * tallies[0].right >= 99 * tallies[0].all, "%zu of %zu sure answers are right",
		tallies[0].right, tallies[0].all);
}

/* A copy between the passes begins no iteration, though each has it at the same place, and the batch's copy
 * has none. */
static void check_host_loss(void)
{
	for (int layers = 3; layers < 10; layers++) {
		const struct program program = {.names = PROGRAM_PASSES,
			.iterations = 20,
			.layers = layers,
			.updates = 3,
			.accumulate = 1,
			.optimizers = 1,
			.steps = 1,
			.host_loss = true};
		struct program_truth truth;
		struct analysis analysis;

		open_program(&program, 0, 1, NULL, &truth, &analysis);
		CHECK(is_right(&analysis, &analysis.workers[0].iterations, &truth),
			"%d layers: %zu iterations", layers, analysis.workers[0].iterations.count);
		analysis_free(&analysis);
		free(truth.spans);
	}
}

/* What the user says is done, whatever else is known. */
static void check_say(void)
{
	struct program program = {.names = PROGRAM_SITES,
		.iterations = 12,
		.layers = 4,
		.updates = 1,
		.accumulate = 2,
		.optimizers = 1,
		.steps = 1,
		.evaluate_every = 5,
		.evaluate_count = 2};
	static const struct {
		const char *what, *value;
		size_t count;
	} cases[] = {{"at", "net_forward", 24 + 4}, {"end", "net_update", 12}, {"every", "3", 4},
		{"at", "no such function", 12}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct iteration_rule rule = {0};
		char error[ITERATION_RULE_ERROR];
		const struct iteration_list *list;
		struct program_truth truth;
		struct analysis analysis;

		CHECK(iteration_rule_set(&rule, cases[i].what, cases[i].value, error), "%s", error);
		open_program(&program, 0, 1, &rule, &truth, &analysis);
		list = &analysis.workers[0].iterations;
		CHECK(list->count == cases[i].count, "%s %s: %zu iterations", cases[i].what, cases[i].value,
			list->count);
		analysis_free(&analysis);
		free(truth.spans);
		iteration_rule_free(&rule);
	}
}

static void check_say_errors(void)
{
	static const char *const wrong[][2] = {
		{"at", "("}, {"end", ""}, {"every", "0"}, {"every", "2x"}, {"where", "x"}};
	struct iteration_rule rule = {0};
	char error[ITERATION_RULE_ERROR];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		CHECK(!iteration_rule_set(&rule, wrong[i][0], wrong[i][1], error) && *error, "%s %s is taken",
			wrong[i][0], wrong[i][1]);
	CHECK(!iteration_rule_any(&rule), "there is a rule");
}

int main(int argument_count, char **arguments)
{
	lists = argument_count > 1 && strcmp(arguments[1], "--list") == 0;
	if (argument_count > 1 + lists)
		program_count = strtoull(arguments[1 + lists], NULL, 10);
	if (argument_count > 2 + lists)
		first_seed = strtoull(arguments[2 + lists], NULL, 10);
	check_say();
	check_say_errors();
	check_host_loss();
	check_calibration(false);
	check_calibration(true);
	return check_end();
}
