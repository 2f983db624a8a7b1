/* From traces to summaries, as a launcher's rank does it: finding traces, and turning one into a summary. */
#ifndef ANALYSES_SUMMARY_REDUCE_H
#define ANALYSES_SUMMARY_REDUCE_H

#include "reconstruct/run.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * This process's rank, as its launcher says in the environment: torchrun, Open MPI, MPICH and PMI, Slurm, in
 * this order: inside an allocation of Slurm another launcher may number the processes. -1: none says. `name`
 * (may be NULL) becomes the variable's.
 */
int32_t reduce_rank(const char **name);

struct reduce_files {
	char **items; /* in the arena */
	size_t count, room;
	struct arena arena;
};

/*
 * Adds a trace, or the traces of a folder; of rank `rank` only, if it is not -1: those whose names say so, as
 * libpmhook.so names them. "%r" in the path stands for the rank. 0, or -1 with a sentence in `error`, in the
 * arena.
 */
int reduce_add(struct reduce_files *files, const char *path, int32_t rank, const char **error);
void reduce_free(struct reduce_files *files);

/* What became of a trace. */
struct reduce_result {
	unsigned char *data; /* the summary's file; NULL: see error */
	size_t bytes;
	char *error; /* one sentence; both are for the caller to free */
	int32_t rank;
	size_t worker_count, used_count; /* of the first worker */
	size_t sampled, part_count;      /* likewise */
	uint64_t trace_bytes;
};

/* Analyzes a trace by itself; its memory is free again afterwards. Several threads may do so at once. */
void reduce_trace(const char *path, const struct run_options *options, struct reduce_result *result);

/*
 * The same for many, `jobs` at once. `done` is called for each, in no order, by one thread at a time; it owns
 * the result.
 */
void reduce_all(const struct reduce_files *files, const struct run_options *options, size_t jobs,
	void (*done)(void *context, size_t number, struct reduce_result *result), void *context);

/* "FOLDER/train.3.pmsum" for "run/train.3.pmtrace"; folder NULL: beside the trace. The caller frees it. */
char *reduce_name(const char *trace, const char *folder);

#endif
