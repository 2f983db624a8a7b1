/*
 * What a reader may take: time, memory and the like, relative to the size of its input, so that no file of
 * 10 MB costs more than some 10 s and 1 GB. One table has all limits, their environment variables and the
 * sentence that names one when it is met; a reader asks here and has no numbers of its own.
 *
 * A thread reads one input at a time (pm_limit_begin); time is what the thread computes while it does. Memory
 * is what the process holds, against all inputs that it was given.
 */
#ifndef BASE_LIMIT_H
#define BASE_LIMIT_H

#include <stddef.h>
#include <stdint.h>

enum pm_limit_kind {
	PM_LIMIT_SECONDS,   /* of computing while one input is read */
	PM_LIMIT_MEGABYTES, /* of memory */
	PM_LIMIT_RATIO,     /* unpacked to packed bytes */
	PM_LIMIT_DEPTH,     /* of nested values or parentheses */
	PM_LIMIT_COLUMNS,   /* of a table */
	PM_LIMIT_RANKS,     /* of a job */
	PM_LIMIT_KINDS,
};

/* For the help of the programs, as help.h has it. */
#define PM_LIMIT_HELP \
	"LIMITS\n" \
	"  Reading input is limited; where a limit is exceeded, the message names the " \
	"limit and the place. Environment variables change the limits (0: no limit):\n" \
	"  PM_READ_SECONDS\tof CPU time per file (8, or 0.8 per MiB of it)\n" \
	"  PM_READ_MEGABYTES\tof memory (448, and 48 per MiB of input)\n" \
	"  PM_READ_RATIO\tof a gzip file's decompressed to its compressed size (100)\n" \
	"  PM_READ_DEPTH\tnesting of JSON values (200; JSON models at most 1000)\n" \
	"  PM_READ_COLUMNS\tcolumns of a table (4096)\n" \
	"  PM_READ_RANKS\tranks of a job (1000000)\n"

/* NULL, or a sentence about a variable whose value is no number of 0 or more. */
const char *pm_limit_check(void);

/* This thread reads `path` from now on, which has so many bytes; places in it are counted in `unit`
 * ("byte"). Both texts live until pm_limit_end. */
void pm_limit_begin(const char *path, uint64_t bytes, const char *unit);
void pm_limit_end(void);

/* The thread is at that place. NULL, or a sentence: its time is over. */
const char *pm_limit_at(uint64_t place);

/* The same where the thread has not moved. */
const char *pm_limit_time(void);

/* The limit for the input of this thread; infinite: none. */
double pm_limit_value(enum pm_limit_kind kind);

/* NULL, or a sentence: with `more_bytes` the process would hold too much. Of many small ones few are looked
 * at. */
const char *pm_limit_memory(size_t more_bytes);

/* The sentence: the limit has been met at the place of the thread. It lives until the thread's next one. */
const char *pm_limit_met(enum pm_limit_kind kind);

#endif
