/*
 * Dumps of PyTorch's Flight Recorder: the last collectives that each rank entered, as it writes them when a
 * collective times out (TORCH_NCCL_DUMP_ON_TIMEOUT, nccl_trace_rank_N) or is asked to, as a pickle or as
 * JSON.
 */
#ifndef IMPORT_FLIGHT_RECORDER_H
#define IMPORT_FLIGHT_RECORDER_H

#include "importer.h"

enum flight_state { FLIGHT_SCHEDULED, FLIGHT_STARTED, FLIGHT_COMPLETED };

/* Texts are "" where the dump does not say. */
struct flight_entry {
	const char *group;       /* its number, a text: "0" */
	const char *description; /* "default_pg" */
	const char *name;        /* "nccl:all_reduce" */
	const char *sizes;       /* "[[4, 3]]", of what goes in */
	const char *types;       /* "[Float]" */
	const char *place;       /* "train.py:31 in step": the innermost frame that is the program's */
	int64_t sequence;        /* in the group, of collectives, or of sends and receives */
	int64_t created_ns;      /* wall clock; 0: not known */
	bool pairwise;
	uint8_t state; /* enum flight_state */
};

/* A process group, as far as the dump lists them. */
struct flight_group {
	const char *name, *description;
	int32_t *ranks;
	size_t rank_count, rank_room;
};

struct flight_dump {
	const char *path;
	int32_t rank;                 /* by the file's name; -1: it does not say */
	struct flight_entry *entries; /* in the order in which they were entered */
	size_t entry_count, entry_room;
	struct flight_group *groups;
	size_t group_count, group_room;
	struct arena arena;
};

bool flight_sniff(const struct importer_head *head);

/* NULL, or what is wrong, one sentence that is valid until the thread's next. Freed in any case. */
const char *flight_read(struct flight_dump *dump, const char *path);
void flight_free(struct flight_dump *dump);

/* Is the file one, by its bytes? */
bool flight_is(const char *path);

#endif
