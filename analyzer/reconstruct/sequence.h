/*
 * A worker's work as the search for iterations sees it: one member for each computation and each exchange, in
 * order of begin, with a class that is the same for the same work of another iteration. A class knows the
 * function, the kernel, the direction of a copy, and how a product reads its operands; never addresses,
 * algorithms or call sites, which differ from iteration to iteration; and sizes, which may, only if asked to.
 */
#ifndef RECONSTRUCT_SEQUENCE_H
#define RECONSTRUCT_SEQUENCE_H

#include "worker.h"

/* What a member surely is, by its function, its kernel's name or the names at its call site. */
#define SEQUENCE_UPDATE 1u
#define SEQUENCE_FORWARD 2u
#define SEQUENCE_BACKWARD 4u
#define SEQUENCE_INSIDE 8u /* forward work that an update calls: a closure that is evaluated again */

/* Of members [begin, end). */
struct sequence_range {
	size_t begin, end;
};

/* Labels are counted up to each member, so that one subtraction tells how many are in a range. */
struct sequence_sums {
	uint32_t forward, backward, update;
	uint32_t inputs, results; /* copies from and to the host in front of the member */
	uint32_t pauses;          /* times in front of it that were not recorded */
};

struct sequence {
	const struct worker_model *model;
	const struct worker *worker;
	size_t count;
	uint32_t *positions;        /* in the worker's calls */
	uint32_t *classes;          /* from 0 */
	uint8_t *marks;             /* SEQUENCE_* */
	struct sequence_sums *sums; /* count + 1 */
	uint32_t class_count;
	uint32_t *totals; /* members of each class */
	bool closures;    /* there are members INSIDE */
	bool given;       /* the data themselves tell the phase of most */
};

/* sized: members of other sizes are of another class. */
void sequence_init(
	struct sequence *sequence, const struct worker_model *model, const struct worker *worker, bool sized);
void sequence_free(struct sequence *sequence);

/* What makes an operation's calls one class: equal for the same function, kernel, and manner of operands. */
uint64_t sequence_key(const struct timeline *timeline, const struct timeline_operation *operation);

/* The operation's sizes, without addresses, algorithm and call site; equal for the same function and sizes.
 */
uint64_t sequence_shape(const struct timeline *timeline, uint32_t number);

/* The labels of an operation, as SEQUENCE_*; from names alone. */
uint8_t sequence_label(const struct timeline *timeline, const struct timeline_operation *operation);

/* Is the innermost function of Python's at the call site `other` one of those at `site`? Either may be NULL.
 */
bool sequence_is_called_in(const char *site, const char *other);

/* How much work the operation is, in some unit of its own function; 0: not known. */
uint64_t sequence_work(const struct timeline *timeline, const struct timeline_operation *operation);

/* The name of the kernel that an operation launches, or NULL. */
const char *sequence_kernel(const struct timeline *timeline, const struct timeline_operation *operation);

/* A piece's members counted by class, in order of class. */
struct sequence_histogram {
	struct sequence_bin {
		uint32_t class, count;
	} * bins;
	size_t bin_count, total;
};

/* One for each range; the bins of all lie together, and go with sequence_free_histograms. */
struct sequence_histogram *sequence_histograms(
	const struct sequence *sequence, const struct sequence_range *ranges, size_t count);
void sequence_free_histograms(struct sequence_histogram *histograms);

/* Dice: twice what is common over the sum of both, 1 for two empty ones. */
double sequence_similarity(const struct sequence_histogram *a, const struct sequence_histogram *b);

/* The same of the sets of classes, however often they come. */
double sequence_common_classes(const struct sequence_histogram *a, const struct sequence_histogram *b);

uint32_t sequence_bin_count(const struct sequence_histogram *histogram, uint32_t class);

#define SEQUENCE_SUM(sequence, field, from, to) ((sequence)->sums[to].field - (sequence)->sums[from].field)

/* Is there a copy from the host right in front of the member, after the one before it? */
static inline bool sequence_is_input(const struct sequence *sequence, size_t member)
{
	return SEQUENCE_SUM(sequence, inputs, member, member + 1) > 0;
}

/* Was the time between the member and the one before it not all recorded? */
static inline bool sequence_is_paused(const struct sequence *sequence, size_t member)
{
	return SEQUENCE_SUM(sequence, pauses, member, member + 1) > 0;
}

#endif
