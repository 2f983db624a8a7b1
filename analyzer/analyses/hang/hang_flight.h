/*
 * Why a job does not go on, by the dumps of PyTorch's Flight Recorder alone: of each process group how far
 * each rank has come, which rank has not entered what the others are in, and where ranks have entered
 * different collectives in the same place.
 */
#ifndef ANALYSES_HANG_HANG_FLIGHT_H
#define ANALYSES_HANG_HANG_FLIGHT_H

#include "import/flight_recorder.h"

/* How far a rank has come in a group. */
struct hang_flight_row {
	const char *group, *description;
	int32_t rank;
	int64_t entered, completed; /* sequence numbers; -1: none in the dump */
	const struct flight_entry *last;
};

struct hang_flight {
	struct flight_dump *dumps;
	size_t dump_count;
	struct hang_flight_row *rows; /* by group, then rank */
	size_t row_count, row_room;
	const char **sentences; /* what follows, the strongest first */
	size_t sentence_count, sentence_room;
	bool found; /* a rank is behind, or ranks differ */
	const char **unread;
	size_t unread_count, unread_room;
	struct arena arena;
};

/* Are all of them dumps, or folders of such? */
bool hang_flight_is(char **paths, size_t path_count);

void hang_flight_find(struct hang_flight *hang, char **paths, size_t path_count);
void hang_flight_free(struct hang_flight *hang);

#endif
