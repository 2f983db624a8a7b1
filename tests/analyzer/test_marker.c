/*
 * Iterations by ranges that a program in C names by NVTX, whose kernels say nothing: one around each request, of which no
 * two are the same; with one around half of each, or one around all; and of an epoch of several steps that are plain.
 */
#include "check.h"
#include "reconstruct/analysis.h"
#include "timeline/timeline_read.h"
#include "trace_builder.h"

#include <string.h>

#define KERNELS 3

struct program {
	struct builder builder;
	uint32_t kernels[KERNELS], queue, thread;
	uint64_t now;
};

static void begin(struct program *p)
{
	memset(p, 0, sizeof(*p));
	builder_init(&p->builder);
	p->builder.header.version = PM_VERSION_WHOLE;
	p->now = 100000;
	p->thread = 1;
	for (uint32_t i = 0; i < KERNELS; i++)
		p->kernels[i] = builder_operation(&p->builder,
			builder_function(&p->builder, "cudart LAUNCH cudaLaunchKernel int:x"), 0, (const uint64_t[]){i});
	p->queue = builder_queue(&p->builder, 0, 0);
}

static uint32_t range(struct program *p, const char *name)
{
	return builder_range(&p->builder, PM_RANGE_NVTX, name, NULL, NULL);
}

static void in(struct program *p, uint32_t number)
{
	builder_in_range(&p->builder, p->thread, p->now += 10, number, PM_RANGE_NO_SEQUENCE, 0);
}

static void launch(struct program *p, uint32_t kernel)
{
	p->now += 10;
	builder_call(&p->builder, p->thread, p->now, p->now + 5, p->kernels[kernel], p->queue, 0, p->now + 20,
		p->now + 30);
	p->now += 40;
}

static void find(struct program *p, struct analysis *analysis)
{
	struct timeline timeline;

	builder_timeline(&p->builder, &timeline);
	analysis_init(analysis, &timeline, 1);
}

/* As many passes as nobody would guess. */
static void request(struct program *p, uint32_t number, uint32_t inner)
{
	for (uint32_t pass = 0; pass < 2 + number * number % 5; pass++) {
		if (inner)
			in(p, inner);
		launch(p, 0);
		launch(p, 1 + (number * 7 + pass) % 2);
		if (inner)
			in(p, 0);
	}
}

/* wanted: the range, or NULL; inner: of each pass; outer: of all; threads: that serve requests in turns. */
static void check_requests(const char *wanted, bool with_inner, bool with_outer, bool apart, uint32_t threads)
{
	struct program p;
	struct analysis analysis;
	static const struct iteration_list nothing;
	const struct iteration_list *list;
	uint32_t own, inner, outer;

	begin(&p);
	own = range(&p, "request");
	inner = with_inner ? range(&p, "pass") : 0;
	outer = with_outer ? range(&p, "all") : 0;
	if (outer)
		in(&p, outer);
	for (uint32_t i = 0; i < 16; i++) {
		p.thread = 1 + i % threads;
		in(&p, own);
		request(&p, i, inner);
		in(&p, 0);
		if (apart) /* as much again that is in none */
			request(&p, i, 0);
	}
	if (outer)
		in(&p, 0);
	find(&p, &analysis);
	list = analysis.worker_count ? &analysis.workers[0].iterations : &nothing;
	CHECK(wanted ? list->range && strcmp(list->range, wanted) == 0 : !list->range, "the range is %s, expected %s",
		list->range ? list->range : "none", wanted ? wanted : "none");
	if (wanted)
		CHECK(list->source == ITERATION_BY_RANGES && list->count == 16 && !list->range_agrees &&
				list->confidence >= 0.5 && list->confidence <= 0.9,
			"%zu iterations by %d, confidence %g", list->count, (int)list->source, list->confidence);
	analysis_free(&analysis);
}

/* Steps that are plain to see, with a range for each four. */
static void check_epochs(bool with_steps)
{
	struct program p;
	struct analysis analysis;
	static const struct iteration_list nothing;
	const struct iteration_list *list;
	uint32_t epoch, step;

	begin(&p);
	epoch = range(&p, "epoch");
	step = range(&p, "step");
	for (uint32_t i = 0; i < 4; i++) {
		in(&p, epoch);
		for (uint32_t j = 0; j < 8; j++) {
			if (with_steps)
				in(&p, step);
			for (uint32_t kernel = 0; kernel < KERNELS; kernel++)
				launch(&p, kernel);
			if (with_steps)
				in(&p, 0);
		}
		in(&p, 0);
	}
	find(&p, &analysis);
	list = analysis.worker_count ? &analysis.workers[0].iterations : &nothing;
	if (with_steps)
		CHECK(list->count == 32 && list->range && strcmp(list->range, "step") == 0 && list->range_agrees,
			"%zu steps by %s", list->count, list->range ? list->range : "none");
	else /* whatever the calls alone tell, it is not contradicted by what is called an epoch with more certainty */
		CHECK(!list->range || list->confidence <= 0.9, "epochs are steps for sure: %g", list->confidence);
	analysis_free(&analysis);
}

/* So many turns of the same kernels, of which the last of each is an optimizer's where that is said. */
static void repeat(struct program *p, uint32_t count, const char *optimizer)
{
	const uint32_t step =
		optimizer ? builder_range(&p->builder, PM_RANGE_USER, optimizer, NULL, "train (train.py:9)")
			  : 0;

	for (uint32_t i = 0; i < count; i++)
		for (uint32_t kernel = 0; kernel < KERNELS; kernel++) {
			const bool steps = optimizer && kernel + 1 == KERNELS;

			if (steps)
				in(p, step);
			launch(p, kernel);
			if (steps)
				in(p, 0);
		}
}

/* Kernels without names that repeat may be of any loop. */
static void check_repetition(void)
{
	struct program p;
	struct analysis analysis;

	begin(&p);
	repeat(&p, 16, NULL);
	find(&p, &analysis);
	CHECK(analysis.is_whole && analysis.rejected.count > 0 && analysis.rejected.confidence > 0.4,
		"what repeats is an iteration: of %zu with confidence %g", analysis.rejected.count,
		analysis.rejected.confidence);
	analysis_free(&analysis);
}

static void check_optimizer(uint32_t steps, bool tells)
{
	struct program p;
	struct analysis analysis;
	const struct iteration_list *list;

	begin(&p);
	repeat(&p, steps, "Optimizer.step#SGD.step");
	find(&p, &analysis);
	list = &analysis.workers[0].iterations;
	CHECK((analysis.worker_count == 1 && list->source == ITERATION_BY_OPTIMIZER) == tells &&
			(!tells || list->count == steps),
		"of %u steps of an optimizer %zu iterations by %d", steps, list->count, (int)list->source);
	analysis_free(&analysis);
}

/* The program's own markers, each around two turns of its kernels. */
static void check_given(void)
{
	struct program p;
	struct timeline timeline;
	struct analysis analysis;
	const struct iteration_list *list;
	struct timeline_step given = {.begin_ns = 0};

	begin(&p);
	repeat(&p, 8, NULL);
	builder_timeline(&p.builder, &timeline);
	for (uint32_t i = 0; i < 4; i++) {
		const size_t first = (size_t)i * 2 * KERNELS;

		given.begin_ns = timeline_call(&timeline, (uint32_t)first).begin_ns;
		given.end_ns = timeline_call(&timeline, (uint32_t)first + 2 * KERNELS - 1).end_ns;
		given.number = i;
		*MEM_PUSH(timeline.steps, timeline.step_count, timeline.step_room) = given;
	}
	timeline.processes[0].step_count = 4;
	analysis_init(&analysis, &timeline, 1);
	list = &analysis.workers[0].iterations;
	CHECK(analysis.worker_count == 1 && list->source == ITERATION_BY_STEPS && list->count == 4,
		"four markers: %zu iterations by %d", list->count, (int)list->source);
	analysis_free(&analysis);
}

int main(void)
{
	check_repetition();
	check_optimizer(1, false); /* may be the last one of a set-up */
	check_optimizer(3, true);
	check_given();
	check_requests("request", false, false, false, 1);
	check_requests("request", false, true, false, 1); /* one is no iteration */
	check_requests(NULL, true, false, false, 1);      /* which of the two? */
	check_requests(NULL, false, false, true, 1);
	check_requests("request", false, false, false, 2);
	check_epochs(true);
	check_epochs(false);
	return check_end();
}
