/* Checks which copies are no batch of input: by what comes back, by when they are made, and by how large they
 * are. */
#include "analyses/offload.h"
#include "check.h"

enum { UP, DOWN, KERNEL, OPERATIONS, STEPS = 2, MOST_CALLS = 64 };

#define STEP_NS 1000000

/* Of each step, which takes a millisecond. Copies to the device before and after its computation, how long
 * one takes and how many bytes all have, which the second step has by that factor more of; and how long the
 * copy back takes. */
struct copies {
	uint64_t before, after, each_us, back_us;
	double bytes, second;
};

struct run {
	struct timeline_function functions[2];
	struct timeline_operation operations[STEPS * OPERATIONS];
	uint64_t values[STEPS][2][2];
	struct timeline_call calls[MOST_CALLS];
	struct timeline_interval intervals[MOST_CALLS];
	uint32_t numbers[MOST_CALLS], used[STEPS];
	struct worker_role roles[STEPS * OPERATIONS];
	struct iteration iterations[STEPS];
	struct phase_times times[STEPS];
	struct worker worker;
	struct analysis_worker of;
	struct analysis analysis;
};

static void add_call(struct run *run, uint32_t operation, uint64_t us)
{
	const size_t number = run->analysis.timeline.call_count++;

	run->numbers[number] = (uint32_t)number;
	run->intervals[number] = (struct timeline_interval){.begin_ns = 0, .end_ns = (int64_t)us * 1000};
	run->calls[number] = (struct timeline_call){
		.operation = operation, .interval = (uint32_t)number, .interval_count = 1};
}

static void add_step(struct run *run, uint32_t step, const struct copies *copies)
{
	const double bytes = copies->bytes * (step ? copies->second : 1);
	const uint32_t first = step * OPERATIONS;

	run->values[step][UP][0] = (uint64_t)(bytes / (double)(copies->before + copies->after));
	run->values[step][UP][1] = PM_DIRECTION_H2D;
	run->values[step][DOWN][1] = PM_DIRECTION_D2H;
	for (uint32_t i = UP; i <= DOWN; i++)
		run->operations[first + i] =
			(struct timeline_operation){.value_count = 2, .values = run->values[step][i]};
	run->operations[first + KERNEL].function = 1;
	run->roles[first + KERNEL].flags = WORKER_CORE;
	run->iterations[step].first_call = run->analysis.timeline.call_count;
	for (uint64_t i = 0; i < copies->before; i++)
		add_call(run, first + UP, copies->each_us);
	add_call(run, first + KERNEL, 100);
	for (uint64_t i = 0; i < copies->after; i++)
		add_call(run, first + UP, copies->each_us);
	if (copies->back_us)
		add_call(run, first + DOWN, copies->back_us);
	run->iterations[step].call_end = run->analysis.timeline.call_count;
	run->times[step].iteration_ns = STEP_NS;
	run->used[step] = step;
}

static bool is_offload(struct copies copies)
{
	static const struct timeline_label labels[] = {
		{PM_VALUE_BYTES, "bytes"}, {PM_VALUE_DIRECTION, "dir"}};
	struct run run = {.functions = {{.kind = PM_KIND_COPY, .label_count = 2, .labels = labels},
				  {.kind = PM_KIND_LAUNCH}}};
	struct offload offload;

	run.worker = (struct worker){.calls = run.numbers};
	run.of = (struct analysis_worker){.worker = &run.worker,
		.iterations = {.items = run.iterations, .count = STEPS},
		.phases = {.times = run.times},
		.used = run.used,
		.used_count = STEPS};
	run.analysis.timeline = (struct timeline){.functions = run.functions,
		.operations = run.operations,
		.calls = run.calls,
		.intervals = run.intervals};
	run.analysis.model.roles = run.roles;
	for (uint32_t step = 0; step < STEPS; step++)
		add_step(&run, step, &copies);
	return offload_find(&run.analysis, &run.of, &offload);
}

int main(void)
{
	static const struct {
		const char *what;
		struct copies copies;
		bool is_offload;
	} cases[] = {
		{"a batch", {.before = 2, .each_us = 100}, false},
		{"copies while it computes, for 0.8% of a step", {.after = 8, .each_us = 1}, false},
		{"for 1.6% of a step", {.after = 8, .each_us = 2}, true},
		{"results that take a fifth of the time", {.before = 2, .each_us = 100, .back_us = 40},
			false},
		{"what comes back takes two fifths", {.before = 2, .each_us = 100, .back_us = 80}, true},
		{"three tenths are copied while it computes", {.before = 14, .after = 6, .each_us = 10},
			false},
		{"seven tenths", {.before = 6, .after = 14, .each_us = 10}, true},
		{"in three copies", {.after = 3, .each_us = 100}, false},
		{"in six copies", {.after = 6, .each_us = 100}, true},
		{"a batch of 0.7 GB", {.before = 8, .each_us = 50, .bytes = 0.7e9, .second = 1}, false},
		{"weights of 1.5 GB", {.before = 8, .each_us = 50, .bytes = 1.5e9, .second = 1}, true},
		{"with a batch beside them, 0.7% more",
			{.before = 8, .each_us = 50, .bytes = 3e9, .second = 1.007}, true},
		{"1.5% more: all of it is a batch",
			{.before = 8, .each_us = 50, .bytes = 3e9, .second = 1.015}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(is_offload(cases[i].copies) == cases[i].is_offload, "%s", cases[i].what);
	return check_end();
}
