/* Where a worker's input comes from: the file, or the folder, that most of its time for reading goes to, and
 * the data loader that it waits for. */
#ifndef ANALYSES_INPUT_FILE_H
#define ANALYSES_INPUT_FILE_H

#include "reconstruct/analysis.h"

struct input_file {
	const char *name; /* "/data/train.bin", "files in /data": for people */
	double share;     /* of the time for reading, (0.5, 1] */
};

/*
 * Over the worker's used iterations; the name is in `arena`. False: no file or folder has more than half of
 * the time, or the trace does not tell which files are read.
 */
bool input_file_find(const struct analysis *analysis, const struct analysis_worker *worker,
	struct arena *arena, struct input_file *found);

/* "; 83% of the reading is from /data/train.bin" */
const char *input_file_text(struct arena *arena, const struct input_file *source);

/* A data loader of the framework's, or a range in which the program says that it gets a batch. */
struct input_loader {
	const char *name, *works; /* the second: ", which works in the training process", or "" */
	const char *advice;       /* NULL: none of its own */
	double share;             /* of the time for reading, (0.5, 1] */
};

/* The same for it; false: no loader is known, or none has more than half of the time. */
bool input_loader_find(
	const struct analysis *analysis, const struct analysis_worker *worker, struct input_loader *found);

/* "; 100% of the reading is in enumerate(DataLoader)#..." */
const char *input_loader_text(struct arena *arena, const struct input_loader *loader);

#endif
