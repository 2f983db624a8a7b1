/* What the commands on traces of other profilers share: their common options, and reading with the warnings
 * that belong to it. */
#ifndef CMDS_CMD_IMPORTED_H
#define CMDS_CMD_IMPORTED_H

#include "base/table.h"
#include "cmd_common.h"
#include "import/imported.h"

#include <regex.h>

/* A file as it was read. Its arena belongs to the thread that reads it, until all is read. */
struct cmd_imported_file {
	const char *path;
	bool failed;
	const char *warnings[6];
	size_t warning_count;
	void *rows; /* of its workers, until all are gathered */
	size_t row_count;
	struct arena arena;
};

struct cmd_imported {
	const struct command *command;
	enum print_form form;
	unsigned threads;             /* 0: one for each processor */
	const regex_t *communication; /* NULL, or further communication kernels */
	struct progress progress;
	struct cmd_imported_file *files;
	size_t file_count;
	const char **warnings; /* of the whole */
	size_t warning_count, warning_room;
	struct arena arena;
	/*
	 * What the command makes of a worker: so many bytes, in which an int32_t each says the rank that it
	 * gets and the one that its data say, -1: none. `take` fills a row that is zero, in the file's
	 * thread.
	 */
	size_t row_bytes, rank_at, given_rank_at;
	void (*take)(struct cmd_imported *how, const struct imported *imported, uint32_t worker, void *row);
	void *rows; /* of all files, by rank; freed with `how`, but not what they point to */
	size_t row_count;
	void *context;
};

enum { CMD_OPTION_THREADS = CMD_OPTION_PATTERN + 1 };

/* What says how these traces are read. */
extern const struct option_row cmd_imported_rows[];

/* True if the option was --json, --csv or one of cmd_imported_rows. */
bool cmd_imported_option(struct cmd_imported *how, int option, const char *argument);

/* Reads the files that the command line names, gives each worker to `take`, and numbers the ranks. Ends the
 * program if no file can be read. */
void cmd_imported_read(struct cmd_imported *how, char **paths, size_t path_count, unsigned wanted);

/* Adds a warning, which must live as long as `how`. */
void cmd_imported_warn(struct cmd_imported *how, const char *text);

/* The warnings, as an array; the caller deletes it. And on stderr. */
cJSON *cmd_imported_json_warnings(const struct cmd_imported *how);
void cmd_imported_print_warnings(const struct cmd_imported *how);

void cmd_imported_free(struct cmd_imported *how);

#endif
