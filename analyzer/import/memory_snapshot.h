/*
 * PyTorch's memory snapshots (torch.cuda.memory._dump_snapshot): what its allocator holds, and the history of
 * allocations if it was recorded (_record_memory_history). The history is gone through twice: to the moment
 * with the most allocated, and for what was allocated then.
 */
#ifndef IMPORT_MEMORY_SNAPSHOT_H
#define IMPORT_MEMORY_SNAPSHOT_H

#include "importer.h"

/* What is allocated at the peak from one place. */
struct memory_place {
	const char *line;   /* of the program: "train.py:31 in step"; "": not recorded */
	const char *module; /* the innermost of torch.nn: "linear.py:125 in forward"; "": none */
	double bytes;
	size_t blocks;
};

/* Of one device. */
struct memory_peak {
	int64_t device;
	bool has_history;            /* else the peak is what the snapshot holds */
	double bytes;                /* allocated at the peak */
	double reserved;             /* then, from the driver; below 0: not known */
	double before, end;          /* allocated before the history begins, and when it ends */
	int64_t at_us, span_us;      /* the peak after the first event, and the last one; -1: no times */
	size_t events, failures;     /* of the history; times that memory ran out */
	double failed_bytes;         /* that the last failure asked for */
	struct memory_place *places; /* the most bytes first */
	size_t place_count, place_room;
};

struct memory_snapshot {
	struct memory_peak *devices;
	size_t device_count, device_room;
	struct arena arena;
};

bool memory_snapshot_sniff(const struct importer_head *head);

/* NULL, or what is wrong, one sentence that is valid until the thread's next. Freed in any case. */
const char *memory_snapshot_read(struct memory_snapshot *snapshot, const char *path);
void memory_snapshot_free(struct memory_snapshot *snapshot);

#endif
