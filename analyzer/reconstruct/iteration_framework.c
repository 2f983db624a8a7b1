/*
 * Iterations by the steps of optimizers, as PyTorch says them: "Optimizer.step#AdamW.step", and the line of
 * the program that calls it. One line is one step of the loop, whichever optimizer it calls, as that of two
 * heads in turns. Of several lines, as a GAN's, the one that is called most leads: an iteration ends with the
 * last step before the next of its. Steps that are made within the backward pass, parameter by parameter, are
 * none. A step to which nothing has gone back since the one before it, as where a loop goes over optimizers
 * that have a part of the model each, belongs to that.
 */
#include "framework/framework.h"
#include "iteration_find.h"
#include "timeline/timeline_range.h"
#include "timeline/constants.h"

#include <stdlib.h>
#include <string.h>

struct step {
	uint32_t range;
	uint32_t line; /* in `lines` */
	bool joins;    /* it belongs to the step before it */
};

struct line {
	const char *text;
	size_t count;
	bool within_pass;
	bool followed;  /* what follows its steps is known */
	uint64_t *tail; /* keys of the computations that follow a step of it */
	size_t tail_count, tail_room;
};

struct steps {
	const struct iteration_finder *finder;
	const struct timeline_process *process;
	struct step *items;
	size_t count, room;
	struct line *lines;
	size_t line_count, line_room;
};

static bool is_step(const struct timeline_range_name *name)
{
	return framework_place_of(name) == FRAMEWORK_UPDATE;
}

/* Is it a step within another, or (*within_pass) within what autograd runs? */
static bool is_inner(
	const struct steps *steps, const struct timeline_range *ranges, uint32_t range, bool *within_pass)
{
	const struct timeline *timeline = steps->finder->timeline;
	bool inner = false;

	for (uint32_t r = ranges[range].parent; r != TIMELINE_NO_RANGE; r = ranges[r].parent) {
		const struct timeline_range_name *name = &timeline->range_names[ranges[r].name];

		inner |= is_step(name);
		*within_pass |= framework_goes_back(name);
	}
	return inner;
}

static uint32_t line_of(struct steps *steps, const char *text)
{
	for (uint32_t i = 0; i < steps->line_count; i++)
		if (strcmp(steps->lines[i].text, text) == 0)
			return i;
	*MEM_PUSH(steps->lines, steps->line_count, steps->line_room) = (struct line){.text = text};
	return (uint32_t)steps->line_count - 1;
}

/* False: of a step it is not known where it is called. */
static bool list_steps(struct steps *steps)
{
	const struct timeline *timeline = steps->finder->timeline;
	const struct timeline_range *ranges = timeline_ranges(timeline, steps->process);

	for (uint32_t i = 0; i < steps->process->range_count; i++) {
		const struct timeline_range_name *name = &timeline->range_names[ranges[i].name];
		bool within_pass = false;
		uint32_t line;

		if (!is_step(name) || ranges[i].end_ns == INT64_MAX ||
			is_inner(steps, ranges, i, &within_pass))
			continue;
		if (!name->line)
			return false;
		line = line_of(steps, name->line);
		steps->lines[line].within_pass |= within_pass;
		steps->lines[line].count++;
		*MEM_PUSH(steps->items, steps->count, steps->room) = (struct step){.range = i, .line = line};
	}
	return true;
}

/* The position after the last call that begins in the step. */
static size_t step_end(const struct steps *steps, const struct step *step)
{
	const struct worker *worker = steps->finder->worker;
	const struct timeline_range *ranges = timeline_ranges(steps->finder->timeline, steps->process);

	return worker_find(
		steps->finder->timeline, worker->calls, worker->call_count, ranges[step->range].end_ns);
}

/* ---- steps of several optimizers by one pass ---- */

static int64_t begin_of(const struct steps *steps, size_t step)
{
	return timeline_ranges(steps->finder->timeline, steps->process)[steps->items[step].range].begin_ns;
}

/* The first step that begins at or after a moment. */
static size_t step_after(const struct steps *steps, int64_t ns)
{
	size_t low = 0, high = steps->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (begin_of(steps, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* By step: autograd has gone back since the one before it. The caller frees it. */
static bool *find_passes(const struct steps *steps)
{
	const struct timeline *timeline = steps->finder->timeline;
	const struct timeline_range *ranges = timeline_ranges(timeline, steps->process);
	bool *found = mem_alloc(steps->count + 1, sizeof(*found));

	for (uint32_t i = 0; i < steps->process->range_count; i++)
		if (framework_goes_back(&timeline->range_names[ranges[i].name]))
			found[step_after(steps, ranges[i].begin_ns)] = true;
	return found;
}

static bool are_in_order(const struct steps *steps)
{
	for (size_t i = 1; i < steps->count; i++)
		if (begin_of(steps, i) < begin_of(steps, i - 1))
			return false;
	return true;
}

/* Calls between a step and the one before it. */
static size_t calls_before(const struct steps *steps, size_t step)
{
	const struct worker *worker = steps->finder->worker;
	const size_t begin = step_end(steps, &steps->items[step - 1]);
	const size_t end = worker_find(
		steps->finder->timeline, worker->calls, worker->call_count, begin_of(steps, step));

	return end > begin ? end - begin : 0;
}

/*
 * Where the framework was asked it is known whether a pass is between two steps; elsewhere by the number of
 * calls between them, if all with a pass have more than all without. Without any pass that autograd tells of,
 * nothing is known.
 */
static void join_steps(struct steps *steps, const struct framework *framework)
{
	const struct timeline_range *ranges = timeline_ranges(steps->finder->timeline, steps->process);
	size_t most_without = 0, least_with = SIZE_MAX;
	size_t *calls = mem_alloc(steps->count + 1, sizeof(*calls)); /* by step: before it */
	bool *passes = find_passes(steps), any = false;

	for (size_t i = 1; i < steps->count; i++) {
		calls[i] = calls_before(steps, i);
		if (!framework_was_asked(
			    framework, ranges[steps->items[i - 1].range].end_ns, begin_of(steps, i)))
			continue;
		if (passes[i])
			least_with = calls[i] < least_with ? calls[i] : least_with;
		else
			most_without = calls[i] > most_without ? calls[i] : most_without;
		any |= !passes[i];
	}
	if (any && least_with != SIZE_MAX && most_without < least_with)
		for (size_t i = 1; i < steps->count; i++) {
			steps->items[i].joins = calls[i] <= most_without;
			steps->lines[steps->items[i].line].count -= steps->items[i].joins;
		}
	free(calls);
	free(passes);
}

/* Of the lines that are called as often the first. */
static uint32_t leading_line(const struct steps *steps)
{
	uint32_t leading = UINT32_MAX;

	for (uint32_t i = 0; i < steps->line_count; i++)
		if (!steps->lines[i].within_pass &&
			(leading == UINT32_MAX || steps->lines[i].count > steps->lines[leading].count))
			leading = i;
	return leading;
}

/* ---- what follows a step ---- */

/* Does the call follow a step, as an average of the weights does: without gradients, and without working with
 * weights as a pass does? Or is it the gradient scaler's? */
static bool follows(struct framework *framework, uint32_t call)
{
	const struct framework_word word = framework_word(framework, call);

	if (word.says && strncmp(word.says, "aten::_amp_", 11) == 0)
		return true;
	return word.place == FRAMEWORK_NO_GRADIENTS && !word.weighs && !word.creates && !word.compiled;
}

/* When the next step of the loop begins at the latest, by ranges of PyTorch's own that are before the pass or
 * in it. */
static int64_t next_begin(const struct steps *steps, uint32_t step)
{
	const struct timeline *timeline = steps->finder->timeline;
	const struct timeline_range *ranges = timeline_ranges(timeline, steps->process);

	for (uint32_t i = step + 1;
		i < steps->process->range_count && ranges[i].thread == ranges[step].thread; i++) {
		const struct timeline_range_name *name = &timeline->range_names[ranges[i].name];
		const enum framework_place place = framework_place_of(name);

		if (ranges[i].begin_ns >= ranges[step].end_ns &&
			(place == FRAMEWORK_ZEROES || place == FRAMEWORK_LOADS ||
				framework_begins_pass(name)))
			return ranges[i].begin_ns;
	}
	return INT64_MAX;
}

/* Figures at the start of the next pass, in the module that it begins with: those are no part of the step
 * before. An average of the weights that a module's own function makes changes them in place. */
static void cut_figures(struct line *line, struct framework *framework, const uint32_t *calls, uint32_t next)
{
	const struct framework_word pass = framework_word(framework, next);

	while (line->tail_count) {
		const struct framework_word word = framework_word(framework, calls[line->tail_count - 1]);

		if (word.in_place || word.moves || !framework_is_within(pass.module, word.module))
			return;
		line->tail_count--;
	}
}

/* The computations after a step up to what belongs to the next one. */
static void take_tail(struct steps *steps, struct framework *framework, const struct step *step)
{
	const struct iteration_finder *finder = steps->finder;
	const int64_t limit_ns = next_begin(steps, step->range);
	struct line *line = &steps->lines[step->line];
	uint32_t *calls = NULL; /* of the tail */
	size_t count = 0, room = 0;

	for (size_t position = step_end(steps, step); position < finder->worker->call_count; position++) {
		if (iteration_call_at(finder, position).begin_ns >= limit_ns)
			break;
		if (!iteration_is_core(finder, position))
			continue;
		if (!follows(framework, finder->worker->calls[position])) {
			cut_figures(line, framework, calls, finder->worker->calls[position]);
			break;
		}
		*MEM_PUSH(line->tail, line->tail_count, line->tail_room) =
			iteration_operation_at(finder, position)->key;
		*MEM_PUSH(calls, count, room) = finder->worker->calls[position];
	}
	free(calls);
}

/* Is it the last one before the next iteration, and was the framework asked up to there? */
static bool is_asked_end(
	const struct steps *steps, const struct framework *framework, size_t step, uint32_t leading)
{
	const struct timeline_range *ranges = timeline_ranges(steps->finder->timeline, steps->process);
	const struct step *own = &steps->items[step], *next = own + 1;

	return step + 1 < steps->count && !steps->lines[own->line].within_pass && next->line == leading &&
	       !next->joins &&
	       framework_was_asked(framework, ranges[own->range].begin_ns, ranges[next->range].begin_ns);
}

/* The same after every step of a line: that of the last one of which the framework was asked is taken. What
 * follows one optimizer's step (targets that follow an actor) need not follow another's. */
static void find_tails(struct steps *steps, struct framework *framework, uint32_t leading)
{
	for (size_t i = steps->count; framework && i-- > 0;) {
		struct line *line = &steps->lines[steps->items[i].line];

		if (line->followed || !is_asked_end(steps, framework, i, leading))
			continue;
		line->followed = true;
		take_tail(steps, framework, &steps->items[i]);
	}
}

/* The position after the step and what follows it, as far as that is what follows others. */
static size_t end_of(const struct steps *steps, const struct step *step)
{
	const struct iteration_finder *finder = steps->finder;
	const struct line *line = &steps->lines[step->line];
	size_t position = step_end(steps, step), end = position;

	for (size_t i = 0; i < line->tail_count; position++) {
		if (position == finder->worker->call_count)
			return end;
		if (!iteration_is_core(finder, position))
			continue;
		if (iteration_operation_at(finder, position)->key != line->tail[i++])
			return end;
		end = position + 1;
	}
	return end;
}

static void cut(struct iteration_finder *finder, const struct steps *steps, uint32_t leading)
{
	struct iteration_mark *marks = mem_alloc(steps->count, sizeof(*marks));
	size_t count = 0;

	for (size_t i = 0; i < steps->count; i++) {
		const struct step *step = &steps->items[i];

		if (!steps->lines[step->line].within_pass)
			marks[count++] = (struct iteration_mark){
				end_of(steps, step), step->line == leading && !step->joins};
	}
	iteration_cut_at_marks(finder, marks, count);
	free(marks);
}

/* Is a captured graph launched after the last step? Then steps are in the graph, and nobody says when. */
static bool goes_on_in_graphs(const struct steps *steps)
{
	const struct iteration_finder *finder = steps->finder;

	for (size_t i = step_end(steps, &steps->items[steps->count - 1]); i < finder->worker->call_count; i++)
		if (timeline_is_launch(timeline_function(
			    finder->timeline, TIMELINE_CALL(finder->timeline, finder->worker->calls[i]))))
			return true;
	return false;
}

bool iteration_cut_framework(struct iteration_finder *finder)
{
	struct steps steps = {
		.finder = finder, .process = &finder->timeline->processes[finder->worker->process]};
	const bool any = list_steps(&steps) && steps.count > 0;
	struct framework *framework = any ? iteration_framework(finder) : NULL;
	uint32_t leading;

	if (framework && are_in_order(&steps))
		join_steps(&steps, framework);
	if (any && (leading = leading_line(&steps)) != UINT32_MAX &&
		steps.lines[leading].count >= LEAST_STEPS && !goes_on_in_graphs(&steps)) {
		find_tails(&steps, framework, leading);
		cut(finder, &steps, leading);
	}
	free(steps.items);
	for (size_t i = 0; i < steps.line_count; i++)
		free(steps.lines[i].tail);
	free(steps.lines);
	if (finder->piece_count >= LEAST_STEPS)
		return true;
	finder->piece_count = 0;
	return false;
}
