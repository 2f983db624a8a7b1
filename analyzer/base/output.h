/*
 * A file that is there whole or not at all. It is written beside its place, under a temporary name in the
 * same folder, and takes the place when it is complete: an interrupt, a crash or a full disk leaves the file
 * that was there before. Signals that end the program, and exit, remove the temporary file.
 *
 * A symbolic link stays, and what it leads to is replaced. What is no regular file (a terminal, a pipe,
 * /dev/stdout) is written directly; "-" is standard output.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

struct pm_output {
	int file;        /* to be written; -1: not open */
	FILE *stream;    /* of the same, after pm_output_stream */
	char *path;      /* where it goes, links followed */
	char *temporary; /* NULL: written directly */
	bool fresh;
};

/* 0 or -errno. `fresh`: a file that is there already is an error (-EEXIST), then or at the end. */
int pm_output_open(struct pm_output *output, const char *path, bool fresh);

/* The stream, which pm_output_close closes; NULL with errno: none. */
FILE *pm_output_stream(struct pm_output *output);

/*
 * The end, with all that was allocated: where `error` is 0 and all could be written the file takes its place,
 * else it is removed. 0 or -errno: `error` itself, as a positive number, or what went wrong here.
 */
int pm_output_close(struct pm_output *output, int error);

/* For commands: opens the file and its stream. Where that cannot be it ends the program with a sentence, of a
 * `fresh` file that is there already with what overwrites it. */
FILE *pm_output_create(struct pm_output *output, const char *path, bool fresh);
/* Closes it; where not all could be written it ends the program with a sentence. */
void pm_output_finish(struct pm_output *output, const char *path);

/* All at once: 0 or -errno. */
int pm_output_write(const char *path, const void *bytes, size_t count);

#endif
