/* Ranges that the program and its libraries name, as slices by thread: see range.h. */
#include "range.h"
#include "analyses/ranges.h"
#include "timeline/timeline_range.h"

#include <inttypes.h>

static void put_args(struct export_out *out, const struct timeline_range_name *name)
{
	export_format(out, ",\"args\":{\"by\":\"%s\"", name->scope == PM_RANGE_NVTX ? "NVTX" : "PyTorch");
	if (name->domain) {
		export_format(out, ",\"domain\":");
		export_string(out, name->domain);
	}
	if (name->line) {
		export_format(out, ",\"line\":");
		export_string(out, name->line);
	}
	if (name->color)
		export_format(out, ",\"color\":\"#%06" PRIx32 "\"", name->color & 0xffffff);
	export_format(out, "}}");
}

/* One that the data break off in ends where the last of the process that has an end does. */
static int64_t last_end(const struct timeline *timeline, const struct timeline_process *process)
{
	const struct timeline_range *ranges = timeline_ranges(timeline, process);
	int64_t last_ns = INT64_MIN;

	for (uint32_t i = 0; i < process->range_count; i++) {
		const int64_t end_ns = ranges[i].end_ns == INT64_MAX ? ranges[i].begin_ns : ranges[i].end_ns;

		last_ns = end_ns > last_ns ? end_ns : last_ns;
	}
	return last_ns;
}

void export_ranges(struct export_tracks *tracks, const struct timeline *timeline,
	const struct timeline_process *process, uint32_t first_order, struct arena *names)
{
	const struct timeline_range *ranges = timeline_ranges(timeline, process);
	const int64_t last_ns = last_end(timeline, process);
	struct export_track track = {0};

	for (uint32_t i = 0; i < process->range_count; i++) {
		const struct timeline_range *range = &ranges[i];

		if (!ranges_is_named(timeline, range->name))
			continue;
		if (!track.name || track.order != first_order + range->thread) {
			export_track_free(&track);
			track = (struct export_track){
				.name = arena_format(names, "host thread %u ranges", range->thread),
				.order = first_order + range->thread};
		}
		export_slice(tracks, &track, range->begin_ns,
			range->end_ns == INT64_MAX ? last_ns : range->end_ns, "range",
			timeline->range_names[range->name].name);
		put_args(tracks->out, &timeline->range_names[range->name]);
	}
	export_track_free(&track);
}
