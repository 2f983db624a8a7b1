/*
 * Waiting for input as calls: a data loader's ranges, or those in which the program says that it gets a
 * batch, become calls of kind READ among the others, as the importers make them of other profilers' spans. So
 * who analyses reads of input need not know how they came to be known.
 */
#include "timeline_join.h"

#include <stdlib.h>
#include <string.h>

bool timeline_is_input_name(const char *name)
{
	static const char *const words[] = {"dataloader", "data_loader", "data-loader", "data loading",
		"load_batch", "load batch", "get_batch", "data_load", "data-load", "fetch_batch",
		"next_batch", "dataiter"};

	/* Only the waiting for a batch, not what is done in the loader's name. */
	if (strcasestr(name, "dataloader"))
		return strstr(name, "__next__") || !strchr(name, '#');
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcasestr(name, words[i]))
			return true;
	return false;
}

static bool is_input(const struct trace *trace, uint32_t number)
{
	const struct trace_range_name *name = &trace->range_names[number];
	const char *text = name->known ? trace_string(trace, name->name) : NULL;

	return text && (name->scope == PM_RANGE_USER || name->scope == PM_RANGE_NVTX) &&
	       (timeline_is_input_name(text) || timeline_next_is(text, trace_string(trace, name->domain)));
}

/* By range name of the trace: is it input? NULL: none is; the caller frees it. */
static bool *list_names(const struct trace *trace)
{
	bool *input = NULL;

	for (uint32_t i = 0; i < trace->range_name_count; i++)
		if (is_input(trace, i)) {
			if (!input)
				input = mem_alloc(trace->range_name_count, sizeof(*input));
			input[i] = true;
		}
	return input;
}

uint64_t timeline_load_most(const struct trace *trace, const bool *read)
{
	bool *input = list_names(trace);
	uint64_t count = 0;

	for (size_t c = 0; input && c < trace->chunk_count; c++) {
		struct trace_cursor cursor;
		struct trace_range range;
		bool is_end;

		if (read && !read[c])
			continue;
		trace_walk(&cursor, trace, &trace->chunks[c]);
		while (trace_next_range(&cursor, &range, &is_end))
			count += !is_end && input[range.range];
		trace_release(trace, &trace->chunks[c]);
	}
	free(input);
	return count;
}

void timeline_load_describe(struct timeline *timeline, struct timeline_join *join, uint32_t process)
{
	const struct trace *trace = join->trace;
	bool *input = list_names(trace);
	uint32_t *operations =
		input ? arena_alloc(&timeline->arena, trace->range_name_count, sizeof(*operations)) : NULL;

	for (uint32_t i = 0; input && i < trace->range_name_count; i++) {
		const struct timeline_range_name *name = &timeline->range_names[join->bases.range_names + i];

		if (!input[i])
			continue;
		*MEM_PUSH(timeline->functions, timeline->function_count, timeline->function_room) =
			(struct timeline_function){.library = name->domain ? name->domain : "",
				.name = name->name,
				.kind = PM_KIND_READ,
				.is_range = true,
				.is_awaited = timeline_next_is(name->name, name->domain)};
		operations[i] = (uint32_t)timeline->operation_count;
		*MEM_PUSH(timeline->operations, timeline->operation_count, timeline->operation_room) =
			(struct timeline_operation){.process = process,
				.function = (uint32_t)timeline->function_count - 1,
				.base = operations[i]};
	}
	join->load_operations = operations;
	timeline_next_describe(timeline, join);
	free(input);
}

static int compare_calls(const void *left, const void *right)
{
	const struct timeline_call *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* What lies in another such range is part of it, and of one without an end is not known how long it took. */
struct timeline_call *timeline_load_calls(
	const struct timeline *timeline, const struct timeline_join *join, size_t *count)
{
	struct timeline_call *calls = NULL;
	int64_t until_ns = INT64_MIN;
	size_t room = 0;
	uint16_t thread = 0;

	*count = 0;
	for (size_t i = 0; join->load_operations && i < join->range_count; i++) {
		const struct timeline_range *range = &join->ranges[i];
		const uint32_t operation = join->load_operations[range->name - join->bases.range_names];

		if (range->thread != thread)
			until_ns = INT64_MIN;
		thread = range->thread;
		if (!operation || range->end_ns == INT64_MAX || range->end_ns <= until_ns ||
			(join->stretches.count &&
				!timeline_stretches_have(&join->stretches, range->begin_ns, &(size_t){0})))
			continue;
		until_ns = range->end_ns;
		*MEM_PUSH(calls, *count, room) = (struct timeline_call){.begin_ns = range->begin_ns,
			.end_ns = range->end_ns,
			.operation = operation,
			.thread = range->thread};
	}
	*count = timeline_next_end(timeline, join, calls, *count);
	if (*count)
		qsort(calls, *count, sizeof(*calls), compare_calls);
	return calls;
}
