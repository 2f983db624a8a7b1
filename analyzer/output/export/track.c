/* Events, and slices placed on lanes: see track.h. */
#include "track.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void export_event(struct export_tracks *tracks, const char *kind, uint32_t lane)
{
	export_format(tracks->out, "%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32,
		tracks->any ? ",\n" : "\n", kind, tracks->process, lane);
	tracks->any = true;
}

void export_name(struct export_tracks *tracks, uint32_t lane, const char *what, const char *name)
{
	export_event(tracks, "M", lane);
	export_format(tracks->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	export_string(tracks->out, name);
	export_format(tracks->out, "}}");
}

void export_order(struct export_tracks *tracks, uint32_t lane, const char *what, uint32_t order)
{
	export_event(tracks, "M", lane);
	export_format(tracks->out, ",\"name\":\"%s\",\"args\":{\"sort_index\":%" PRIu32 "}}", what, order);
}

static void export_us(struct export_out *out, const char *key, int64_t ns)
{
	export_format(out, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
}

void export_time(struct export_tracks *tracks, const char *key, int64_t ns)
{
	export_us(tracks->out, key, ns - tracks->origin_ns);
}

static struct export_track_lane *add_lane(struct export_tracks *tracks, struct export_track *track)
{
	struct export_track_lane *lane = MEM_PUSH(track->lanes, track->lane_count, track->lane_room);
	char number[24] = "";
	size_t name_bytes;
	char *name;

	lane->number = ++tracks->last_number;
	if (track->lane_count > 1)
		snprintf(number, sizeof(number), " (%zu)", track->lane_count);
	name_bytes = (size_t)snprintf(NULL, 0, "%s%s", track->name, number) + 1;
	name = mem_alloc(name_bytes, 1);
	snprintf(name, name_bytes, "%s%s", track->name, number);
	export_name(tracks, lane->number, "thread_name", name);
	export_order(tracks, lane->number, "thread_sort_index", track->order);
	free(name);
	return lane;
}

uint32_t export_slice(struct export_tracks *tracks, struct export_track *track, int64_t begin_ns,
	int64_t end_ns, const char *category, const char *name)
{
	struct export_track_lane *lane = NULL;

	for (size_t i = 0; i < track->lane_count && !lane; i++)
		if (track->lanes[i].until_ns <= begin_ns)
			lane = &track->lanes[i];
	if (!lane)
		lane = add_lane(tracks, track);
	lane->until_ns = end_ns > begin_ns ? end_ns : begin_ns;
	export_event(tracks, "X", lane->number);
	export_time(tracks, "ts", begin_ns);
	export_us(tracks->out, "dur", lane->until_ns - begin_ns);
	export_format(tracks->out, ",\"cat\":\"%s\",\"name\":", category);
	export_string(tracks->out, name);
	return lane->number;
}

void export_track_free(struct export_track *track)
{
	free(track->lanes);
	*track = (struct export_track){0};
}
