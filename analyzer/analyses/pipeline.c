/* A pipeline's bubble: see pipeline.h. */
#include "pipeline.h"
#include "reconstruct/exchange.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Messages from one worker to another, in all used iterations. */
struct line {
	size_t from, to, count;
};

struct lines {
	struct line *items;
	size_t count, room;
};

static void count_message(struct lines *lines, size_t from, size_t to)
{
	for (size_t i = 0; i < lines->count; i++)
		if (lines->items[i].from == from && lines->items[i].to == to) {
			lines->items[i].count++;
			return;
		}
	*MEM_PUSH(lines->items, lines->count, lines->room) = (struct line){from, to, 1};
}

/* The line to another worker than the one that it was come from; NULL: none, or several. */
static const struct line *line_on(const struct lines *lines, size_t from, size_t before)
{
	const struct line *found = NULL;

	for (size_t i = 0; i < lines->count; i++)
		if (lines->items[i].from == from && lines->items[i].to != before) {
			if (found)
				return NULL;
			found = &lines->items[i];
		}
	return found;
}

static size_t neighbours(const struct lines *lines, size_t worker)
{
	size_t count = 0;

	for (size_t i = 0; i < lines->count; i++)
		count += lines->items[i].from == worker;
	return count;
}

/* Of each worker what its compute and moving data leave of a step. */
static double bubble_of(const struct analysis *analysis)
{
	double sum = 0;

	for (size_t w = 0; w < analysis->worker_count; w++) {
		const struct analysis_worker *worker = &analysis->workers[w];
		double step_ns = analysis_iteration(worker, 1).mean;
		double moving_ns = analysis_phase(worker, 1, PHASE_COMMUNICATION, ANALYSIS_EXCLUSIVE).mean -
				   analysis_wait(worker, 1).mean;

		sum += 1 - (analysis_compute(worker, 1).mean + fmax(0, moving_ns)) / step_ns;
	}
	return sum / (double)analysis->worker_count;
}

void pipeline_find(const struct analysis *analysis, struct pipeline *pipeline)
{
	struct exchange_list messages;
	struct lines lines = {0};
	const struct line *line;
	size_t first = 0, before = SIZE_MAX;

	*pipeline = (struct pipeline){.bubble = NAN, .formula = NAN};
	exchange_match(analysis, &messages);
	for (size_t i = 0; i < messages.count; i++)
		count_message(&lines, messages.items[i].from, messages.items[i].to);
	exchange_free(&messages);
	while (first < analysis->worker_count && neighbours(&lines, first) != 1)
		first++;
	line = first < analysis->worker_count ? line_on(&lines, first, before) : NULL;
	if (line && analysis->workers[first].used_count) {
		pipeline->stages = 1;
		/* a message may be in the iteration of one of its ends alone */
		pipeline->batches = (line->count + analysis->workers[first].used_count / 2) /
				    analysis->workers[first].used_count;
	}
	while (line && pipeline->stages < analysis->worker_count) {
		pipeline->stages++;
		before = line->from;
		line = line_on(&lines, line->to, before);
	}
	free(lines.items);
	if (pipeline->stages < 2)
		return;
	pipeline->bubble = bubble_of(analysis);
	pipeline->formula =
		(double)(pipeline->stages - 1) / (double)(pipeline->batches + pipeline->stages - 1);
}

const char *pipeline_text(const struct pipeline *pipeline, struct arena *arena)
{
	if (pipeline->stages < 2)
		return "";
	return arena_format(arena,
		"Pipeline: %zu stages, %zu micro-batches, by the messages between them: a stage neither computes nor "
		"moves data for %.1f%% of a step; (p-1)/(m+p-1) is %.1f%%, with equal stages and free messages.",
		pipeline->stages, pipeline->batches, 100 * pipeline->bubble, 100 * pipeline->formula);
}
