/*
 * A description says what the columns mean, one thing a line, # begins a comment:
 *
 *     time time ms             the column of measured times, and its unit (any word; may be left out)
 *     rate steps_per_s s       instead: a column of which the time is one over
 *     intrinsic kernel filters
 *     extrinsic batch gpus
 *     categorical padding activation
 *     factor gpu_type
 *     offset io_time
 *     ignored comment
 *     split split train        rows whose column `split` says `train` are fitted, others are the test
 *     share 0.667 7            instead: that share of the rows, drawn with seed 7
 *     skip-bad                 leave out rows with missing values or without a positive time
 *
 * Lines that only a space file has (space_file.h) are passed over. Columns that are not named are ignored.
 */
#ifndef DESCRIPTION_H
#define DESCRIPTION_H

#include "pm_fit.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct description_role {
	char *column;
	enum pm_fit_role role;
};

struct description {
	struct description_role *roles;
	size_t role_count;
	char *time, *unit;
	bool is_rate;
	char *split, *train; /* column and word; NULL: no such column */
	double share;        /* of the samples, to fit; 1: all */
	uint64_t seed;
	bool refuse_zero; /* a zero cannot be raised to the powers that are allowed; no line of a file */
	bool skip_bad;    /* leave out samples with missing values or times that are not positive */
};

void description_init(struct description *description);
void description_free(struct description *description);
/* One line of a description. NULL, or what is wrong with it; valid until the thread's next call. */
const char *description_line(struct description *description, const char *line);
/* A file of such lines. */
const char *description_read(struct description *description, const char *path);
/* A column gets a role; a later one replaces an earlier. 0 or -ENOMEM. */
int description_role(struct description *description, const char *column, enum pm_fit_role role);

#endif
