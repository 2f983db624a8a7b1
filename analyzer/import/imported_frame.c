/* What the program was in, of one worker of an imported trace: operators of the framework, Python functions
 * and annotations, as the timeline's frames, and of these without Python's functions its ranges. See
 * imported_build.h. */
#include "imported_build.h"

#include <stdlib.h>
#include <string.h>

/* What a built-in function is called from says more: its own name has no line, and an address of the object.
 * But garbage is collected by one. */
static bool is_frame(const struct imported *imported, size_t span)
{
	const char *name = imported->strings.items[imported->spans.name[span]];

	switch (imported->spans.kind[span]) {
	case IMPORTED_ANNOTATION:
		return !imported_is_step(name);
	case IMPORTED_OPERATOR:
		return true;
	case IMPORTED_PYTHON:
	case IMPORTED_MODULE:
		return *name != '<' || strstr(name, "function collect>");
	default:
		return false;
	}
}

void imported_frames_add(struct imported_build *build)
{
	struct timeline *timeline = build->timeline;
	const struct imported_spans *spans = &build->imported->spans;

	build->process->first_frame = timeline->frame_count;
	for (size_t i = 0; i < spans->count; i++) {
		uint16_t thread = build->join->ordinals[spans->thread[i]];

		if (thread && is_frame(build->imported, i))
			*MEM_PUSH(timeline->frames, timeline->frame_count, timeline->frame_room) =
				(struct timeline_frame){spans->begin_ns[i], spans->end_ns[i],
					imported_string(&build->dictionary, spans->name[i]), thread};
	}
	build->process->frame_count = timeline->frame_count - build->process->first_frame;
}

/* ---- ranges ---- */

static const char *text_of(struct imported_build *build, uint32_t string)
{
	return string ? build->timeline->strings[imported_string(&build->dictionary, string)] : NULL;
}

static void add_names(struct imported_build *build, const struct imported_ranges *ranges)
{
	struct timeline *timeline = build->timeline;

	for (size_t i = 0; i < ranges->timeline.range_name_count; i++)
		*MEM_PUSH(timeline->range_names, timeline->range_name_count, timeline->range_name_room) =
			(struct timeline_range_name){.scope = ranges->names[i].scope,
				.name = text_of(build, ranges->names[i].name),
				.module = text_of(build, ranges->names[i].module)};
}

/* By ordinal, the thread of the file, + 1; the caller frees it. */
static uint32_t *order_threads(const struct imported_build *build)
{
	uint32_t *threads = mem_alloc(build->process->thread_count, sizeof(*threads));

	for (uint32_t i = 0; i < build->imported->thread_count; i++)
		if (build->join->ordinals[i] && build->join->ordinals[i] < build->process->thread_count)
			threads[build->join->ordinals[i]] = i + 1;
	return threads;
}

/* A thread's, which lie together in the file too. */
static void add_thread(struct imported_build *build, const struct imported_ranges *ranges, uint32_t thread,
	size_t first_name)
{
	struct timeline *timeline = build->timeline;
	const size_t first = build->process->first_range;
	uint32_t from, end;

	timeline_ranges_of(&ranges->timeline, &ranges->process, (uint16_t)thread, &from, &end);
	for (uint32_t i = from; i < end; i++) {
		struct timeline_range range = ranges->timeline.ranges[i];

		range.name += (uint32_t)first_name;
		range.thread = build->join->ordinals[thread];
		range.inputs = range.inputs ? imported_string(&build->dictionary, range.inputs) : 0;
		if (range.parent != TIMELINE_NO_RANGE)
			range.parent += (uint32_t)(timeline->range_count - first) - i;
		*MEM_PUSH(timeline->ranges, timeline->range_count, timeline->range_room) = range;
	}
}

void imported_ranges_add(struct imported_build *build)
{
	const struct imported_ranges *ranges = &build->join->attribution->ranges;
	const size_t first_name = build->timeline->range_name_count;
	uint32_t *threads;

	build->process->first_range = build->timeline->range_count;
	if (ranges->process.range_count == 0)
		return;
	add_names(build, ranges);
	threads = order_threads(build);
	for (uint32_t i = 0; i < build->process->thread_count; i++)
		if (threads[i])
			add_thread(build, ranges, threads[i] - 1, first_name);
	build->process->range_count = (uint32_t)(build->timeline->range_count - build->process->first_range);
	free(threads);
}
