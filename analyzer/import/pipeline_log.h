/*
 * What AMD's Primus writes of a pipeline's schedule (`dump_pp_data`, drawn by its
 * tools/visualization/pp_vis): config.json with "pp_size", "vp_size" and "num_mbs", and beside it a
 * pp_rank_N.json for each stage, of data rank 0 alone. That has an object for each iteration with arrays of
 * when forward, backward and, where a schedule has them apart, weight gradients' computing start and end
 * ("fwd_start", "fwd_end", "bwd_...", "wgrad_..."), and of newer versions the micro-batch and the part of the
 * model.
 *
 * Times are milliseconds from the rank's own start of the iteration: neither the ranks' clocks nor the time
 * between iterations are recorded. As in Primus' picture ranks are taken to start together; an iteration
 * follows upon the longest of its ranks ("total") before.
 */
#ifndef IMPORT_PIPELINE_LOG_H
#define IMPORT_PIPELINE_LOG_H

#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pipeline_log_kind { PIPELINE_LOG_FORWARD, PIPELINE_LOG_BACKWARD, PIPELINE_LOG_WEIGHT };

struct pipeline_log_item {
	int64_t begin_ns, end_ns; /* on one axis, from 1 ms */
	int32_t stage;
	int32_t iteration;    /* as Primus counts, from 1 */
	int32_t batch, chunk; /* -1: not said */
	uint8_t kind;
};

struct pipeline_log {
	struct pipeline_log_item *items;
	size_t count, room;
	int32_t stage_count;
	size_t weight_count; /* items of weight gradients alone */
	size_t together;     /* forward and backward recorded as one: each is given half of the time */
	const char *missing; /* a sentence: the files of some stages cannot be read, or NULL */
	struct arena arena;
};

/* Is it the config.json of such a folder; and is it a file beside one? By content and by name. */
#define PIPELINE_LOG_PART \
	"%s: one stage of Primus' pipeline data: name its folder, or the config.json beside it"
bool pipeline_log_is(const char *path);
bool pipeline_log_is_part(const char *path);

/*
 * Reads the stages beside `path`, a config.json. 0, or -1 with a sentence in *error, which lives as long as
 * `log`. The caller frees in any case.
 */
int pipeline_log_read(struct pipeline_log *log, const char *path, const char **error);
void pipeline_log_free(struct pipeline_log *log);

/* "forward-compute", as labelled traces call it. */
const char *pipeline_log_name(unsigned kind);

#endif
