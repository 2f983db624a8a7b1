/*
 * Which parts of a long run are read. So that time and memory do not grow with its length, about so many
 * records are, in stretches of time that are the same on all ranks: the beginning, where the program sets up
 * and the hook follows every address, and the rest spread evenly, the end among it. What lies between is
 * counted by operation (timeline_gap).
 *
 * Times are ns; whose clock, the user of a struct says.
 */
#ifndef TIMELINE_SAMPLE_H
#define TIMELINE_SAMPLE_H

#include "trace/trace.h"

/* Calls that begin in [begin, end). */
struct timeline_stretch {
	int64_t begin_ns, end_ns;
};

#define TIMELINE_STRETCHES 20 /* at most */

/* In order, and apart. Without any, everything is read. */
struct timeline_stretches {
	struct timeline_stretch items[TIMELINE_STRETCHES];
	size_t count;
};

#define TIMELINE_SAMPLE_FROM 3 /* times as many records as are asked for: of fewer all are read */

/* What is asked for. */
struct timeline_sample {
	uint64_t records;      /* of all files together, about; 0: all */
	uint64_t records_each; /* but so many of each file */
	uint64_t steps_each;   /* or those of so many steps, where its page of figures counts them and they have fewer; 0: no */
	const struct timeline_stretches *stretches; /* of the wall clock; NULL: to be chosen from the records */
};

/* How many records are asked for of so many files; 0: all. */
static inline double timeline_sample_records(const struct timeline_sample *sample, size_t file_count)
{
	const double all = (double)sample->records, each = (double)sample->records_each * (double)file_count;

	return all > 0 && each > all ? each : all;
}

/* Chooses stretches, of the trace's monotonic clock, that have about this share of its records; 0 < share. */
void timeline_sample_choose(const struct trace *trace, double share, struct timeline_stretches *stretches);

/*
 * Marks the trace's chunks that may hold calls of the stretches, which are of its monotonic clock, and returns
 * how many slots they have. read: by chunk.
 */
uint64_t timeline_sample_mark(
	const struct trace *trace, const struct timeline_stretches *stretches, bool *read);

/* From one clock to another. Ends that are open stay so. */
void timeline_stretches_move(struct timeline_stretches *stretches, int64_t move_ns);

/*
 * Whether a call that begins then is read. Asked for times that rise, *at is 0 at first. With calls out of
 * order, as in a damaged file, those that come late are left out.
 */
static inline bool timeline_stretches_have(
	const struct timeline_stretches *stretches, int64_t begin_ns, size_t *at)
{
	while (*at < stretches->count && begin_ns >= stretches->items[*at].end_ns)
		++*at;
	return *at < stretches->count && begin_ns >= stretches->items[*at].begin_ns;
}

/* Whether any call of those that begin in [begin, end) is read. */
static inline bool timeline_stretches_meet(
	const struct timeline_stretches *stretches, int64_t begin_ns, int64_t end_ns)
{
	for (size_t i = 0; i < stretches->count; i++)
		if (begin_ns < stretches->items[i].end_ns && stretches->items[i].begin_ns < end_ns)
			return true;
	return false;
}

#endif
