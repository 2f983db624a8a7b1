/*
 * Tracks of a trace: rows of slices that do not overlap. A track begins as one lane and gets a further one
 * when a slice comes that would overlap what all its lanes have.
 */
#ifndef OUTPUT_EXPORT_TRACK_H
#define OUTPUT_EXPORT_TRACK_H

#include "stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct export_track_lane {
	int64_t until_ns;
	uint32_t number; /* different for each lane of the trace */
};

struct export_track {
	const char *name; /* lives as long as the track */
	uint32_t order;   /* among the tracks of its process, from above */
	struct export_track_lane *lanes;
	size_t lane_count, lane_room;
};

struct export_tracks {
	struct export_out *out;
	int64_t origin_ns; /* what is 0 in the trace */
	uint32_t process;  /* number of the one being written */
	uint32_t last_number;
	bool any; /* an event has been written */
};

/* Begins an event: a comma where one is needed, then up to where its own members go. */
void export_event(struct export_tracks *tracks, const char *kind, uint32_t lane);

/* Something of a process or lane that has a name: "process_name", "thread_name". */
void export_name(struct export_tracks *tracks, uint32_t lane, const char *what, const char *name);
void export_order(struct export_tracks *tracks, uint32_t lane, const char *what, uint32_t order);

/* `,"key":` with the time in us. */
void export_time(struct export_tracks *tracks, const char *key, int64_t ns);

/*
 * Begins a slice, up to and with its name; the caller adds members and the closing brace. Slices of a track
 * come in order of begin. Answers the number of its lane.
 */
uint32_t export_slice(struct export_tracks *tracks, struct export_track *track, int64_t begin_ns,
	int64_t end_ns, const char *category, const char *name);

void export_track_free(struct export_track *track);

#endif
