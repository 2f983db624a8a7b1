/* What the program was in, of one worker of an imported trace: operators of the framework, Python functions
 * and annotations, as the timeline's frames. See imported_build.h. */
#include "imported_build.h"

#include <string.h>

/* What a built-in function is called from says more: its own name has no line, and an address of the object.
 */
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
		return *name != '<';
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
