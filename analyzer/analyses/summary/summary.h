/*
 * A summary: what is kept of the trace of one process when a job is too large to bring its traces together.
 * It is made where the trace lies, without a word from the other ranks, and a few kilobytes long; `report`
 * reads thousands of them as one job.
 *
 * THE FILE is one summary or several after each other (cat joins them). A summary:
 *
 *	magic         8 bytes, SUMMARY_MAGIC
 *	byte order    4 bytes, SUMMARY_BYTE_ORDER: all fixed numbers are little-endian
 *	version       4 bytes, SUMMARY_VERSION
 *	stored bytes  4 bytes: how many follow this head
 *	packed bytes  4 bytes: how many they are when inflated, at most SUMMARY_MOST_BYTES
 *	check         4 bytes: CRC-32 (zlib's) of the stored bytes
 *	zero          4 bytes
 *	the fields, packed and then deflated (zlib)
 *
 * The packed fields are those of `struct summary` in the order in which summary_code.c lists them: whole
 * numbers in groups of 7 bits, the least first (signed ones folded: 0, -1, 1, -2), times in 1/256 ns, texts
 * as their length and bytes. A field is only ever added with a new version.
 *
 *	version  what changed
 *	1        the first
 *
 * WHAT IS SAMPLED: everything is counted over all used iterations, but of collectives only those of some
 * iterations are kept. Which ones must be the same on all ranks: each takes the iterations whose first
 * exchange of gradients has the smallest hashes of its sequence number, which all ranks count alike. Where
 * ranks do not agree on some iteration, they still do on the others. Of iterations with very many exchanges
 * one in 2^thin is kept, chosen likewise.
 */
#ifndef ANALYSES_SUMMARY_SUMMARY_H
#define ANALYSES_SUMMARY_SUMMARY_H

#include "base/intern.h"
#include "reconstruct/phase.h"

#define SUMMARY_MAGIC "PMSUM\r\n\032"
#define SUMMARY_BYTE_ORDER 0x01020304u
#define SUMMARY_VERSION 1u
#define SUMMARY_HEAD_BYTES 32u
#define SUMMARY_MOST_BYTES (16u << 20)

#define SUMMARY_PARTS 256      /* about so many collectives are kept */
#define SUMMARY_ITERATIONS 4   /* but those of so many iterations at least, where there are so many */
#define SUMMARY_EXCHANGES 128u /* of an iteration; beyond twice as many they are thinned out */

/* The distribution of a time over the used iterations, ns. */
enum summary_quantile {
	SUMMARY_LEAST,
	SUMMARY_5,
	SUMMARY_25,
	SUMMARY_MEDIAN,
	SUMMARY_75,
	SUMMARY_95,
	SUMMARY_GREATEST,
	SUMMARY_QUANTILES,
};

struct summary_spread {
	double mean, deviation; /* the deviation of a sample (n - 1) */
	float quantiles[SUMMARY_QUANTILES];
};

/* What a layer is. Texts are as those of struct layer. */
struct summary_name {
	const char *name, *module, *text, *input, *activation;
	uint64_t parameter_count, parameter_bytes;
};

/* A worker's layers by name. Workers with the same ones share it (summary_names). */
struct summary_model {
	size_t count;
	uint64_t hash;  /* of all of it */
	uint64_t stage; /* of what same_layers of stage.c looks at: replicas of a stage have the same */
	struct summary_name *names;
	struct summary_model *next;
};

#define SUMMARY_COLUMNS (PHASE_LAYER_RECOMPUTE + 1)

/* A layer's times in an iteration, by enum phase_layer_column; of recomputation only the mean is kept, of
 * waiting nothing. */
struct summary_layer {
	double mean[SUMMARY_COLUMNS];
	float deviation[4], quarter[4], median[4]; /* quarter: one iteration in four takes less */
	uint8_t unknown;                           /* bit: the column's time lies in that of a graph */
};

/* A function on a communicator: its calls are distinguished by their sequence. */
struct summary_line {
	uint64_t hash; /* of the communicator */
	uint32_t key;  /* of the function: collective.h */
	int32_t size;  /* ranks of the communicator */
};

struct summary_part {
	int64_t begin_ns, end_ns; /* of the process's monotonic clock */
	uint32_t sequence;
	uint16_t line;
	uint16_t sample; /* which of the sampled iterations, from 0 */
};

#define SUMMARY_SPREADS(X) \
	X(iteration) \
	X(compute) \
	X(lead) /* from the start to the first computation, without communication: cause_measure.h */ \
	X(host) /* the device was idle because the next call came late; both of up to 50 iterations */

struct summary_worker {
	int32_t device;
	bool by_period;
	double confidence;
	uint64_t found, used;           /* iterations; without used ones what follows is empty */
	uint64_t kinds[4];              /* by enum iteration_kind */
	uint64_t gaps[4], gap_calls[4]; /* by enum iteration_gap_kind */
	double gap_ns[4];
	double samples; /* of the batch in an iteration; 0: not known */
#define SUMMARY_SPREAD_FIELD(name) struct summary_spread name;
	SUMMARY_SPREADS(SUMMARY_SPREAD_FIELD)
#undef SUMMARY_SPREAD_FIELD
	struct summary_spread busy[PHASE_WORK_COUNT], exclusive[PHASE_COUNT];
	struct summary_model *model;
	struct summary_layer *layers; /* model->count */
	struct summary_line *lines;
	size_t line_count;
	struct summary_part *parts; /* by sample, then by start */
	size_t part_count;
	uint64_t sampled; /* iterations */
	uint64_t thin;    /* one exchange in 2^thin is there */
};

struct summary {
	const char *path;   /* of the file it was read from; not in the file */
	const char *source; /* name of the trace, without its folder */
	const char *host, *program;
	const char *trouble; /* "" or what is wrong with the trace */
	int32_t rank, world; /* -1: not known */
	uint64_t pid;
	uint64_t device_source; /* enum pm_device_source */
	bool ended, graphs_left;
	uint64_t lost_records, lost_device_times, lost_operations, refused_records, unjoined_intervals,
		unseen_calls;
	int64_t real_offset_ns;  /* wall clock minus monotonic clock */
	uint64_t own_ns, run_ns; /* cost of recording, length of the run; 0: not known */
	struct summary_worker *workers;
	size_t worker_count;
};

/* Texts and models that summaries have in common, kept once. */
struct summary_names {
	struct arena arena;
	struct intern texts;
	struct summary_model *models;
};

void summary_names_free(struct summary_names *names);
const char *summary_intern(struct summary_names *names, const char *text, size_t length);

/* The names' own model that is equal to this one, whose texts are interned; a copy if there was none. */
struct summary_model *summary_intern_model(struct summary_names *names, const struct summary_model *model);

/*
 * Turns the bytes of a file into summaries, which are appended to an array that grows by MEM_PUSH; what they
 * point to is in `names`, but the arrays of workers, which summary_free frees. 0, or -1 with one sentence in
 * `error` (in the arena of the names): what was appended before stays.
 */
struct summary_list {
	struct summary *items;
	size_t count, room;
};
int summary_read(struct summary_list *list, struct summary_names *names, const char *path, const void *data,
	size_t bytes, const char **error);
int summary_load(
	struct summary_list *list, struct summary_names *names, const char *path, const char **error);
void summary_list_free(struct summary_list *list);
void summary_free(struct summary *summary); /* the arrays of its workers */

/* The bytes of a summary's file; the caller frees them. The summary's times are rounded to what the file
 * holds. */
unsigned char *summary_bytes(struct summary *summary, size_t *bytes);

/* Does the file begin like a summary; has the folder files *.pmsum, and no traces? */
bool summary_looks(const char *path);

struct analysis;

/*
 * The summary of the only process of an analysis (summary_make.c). Texts and models are in `names`; the rest
 * is freed by summary_free.
 */
void summary_make(const struct analysis *analysis, struct summary_names *names, struct summary *summary);

#endif
