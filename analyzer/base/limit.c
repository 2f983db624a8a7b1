/* What a reader may take: see limit.h. */
#include "limit.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* A limit is `least`, or `base` and `each` for every MiB of input where that is more. */
static const struct {
	const char *variable, *sentence;
	double least, base, each;
} limits[PM_LIMIT_KINDS] = {
	[PM_LIMIT_SECONDS] = {"PM_READ_SECONDS", "reading takes more than %.3g s", 8, 0, 0.8},
	[PM_LIMIT_MEGABYTES] = {"PM_READ_MEGABYTES", "reading needs more than %.0f MiB of memory", 448, 448,
		48},
	[PM_LIMIT_RATIO] = {"PM_READ_RATIO", "the data decompress to more than %.3g× their size", 100, 0, 0},
	[PM_LIMIT_DEPTH] = {"PM_READ_DEPTH", "values are nested deeper than %.0f", 200, 0, 0},
	[PM_LIMIT_COLUMNS] = {"PM_READ_COLUMNS", "the table has more than %.0f columns", 4096, 0, 0},
	[PM_LIMIT_RANKS] = {"PM_READ_RANKS", "the job has more than %.0f ranks", 1000000, 0, 0},
};

#define MIB 1048576.0
/* What may be taken between two looks at the process's memory. */
#define UNSEEN_BYTES ((size_t)4 << 20)

static _Thread_local struct {
	const char *path, *unit;
	uint64_t bytes, place;
	struct timespec began;
	char sentence[512];
} reading;

static _Atomic uint64_t input_bytes, unseen_bytes;

/* The variable's number; -1: it is not set. */
static double setting(enum pm_limit_kind kind)
{
	const char *text = getenv(limits[kind].variable);
	char *end;
	double number;

	if (!text || !*text)
		return -1;
	number = strtod(text, &end);
	return *end || !(number >= 0) ? (double)NAN : number;
}

const char *pm_limit_check(void)
{
	for (int kind = 0; kind < PM_LIMIT_KINDS; kind++)
		if (isnan(setting((enum pm_limit_kind)kind))) {
			snprintf(reading.sentence, sizeof(reading.sentence),
				"%s: expected a number, 0 for no limit", limits[kind].variable);
			return reading.sentence;
		}
	return NULL;
}

void pm_limit_begin(const char *path, uint64_t bytes, const char *unit)
{
	reading.path = path;
	reading.unit = unit;
	reading.bytes = bytes;
	reading.place = 0;
	input_bytes += bytes;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &reading.began);
}

void pm_limit_end(void)
{
	reading.path = NULL;
}

double pm_limit_value(enum pm_limit_kind kind)
{
	double set = setting(kind), grown;
	uint64_t bytes = kind == PM_LIMIT_MEGABYTES ? input_bytes : reading.bytes;

	if (set >= 0)
		return set > 0 ? set : (double)INFINITY;
	grown = limits[kind].base + limits[kind].each * ((double)bytes / MIB);
	return fmax(limits[kind].least, grown);
}

const char *pm_limit_met(enum pm_limit_kind kind)
{
	char what[128];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(what, sizeof(what), limits[kind].sentence, pm_limit_value(kind));
#pragma GCC diagnostic pop
	if (reading.path)
		snprintf(reading.sentence, sizeof(reading.sentence),
			"%.300s: %s %llu: %s: limit exceeded; raise it with %s (0: no limit)", reading.path,
			reading.unit, (unsigned long long)reading.place, what, limits[kind].variable);
	else
		snprintf(reading.sentence, sizeof(reading.sentence),
			"input: %s: limit exceeded; raise it with %s (0: no limit)", what,
			limits[kind].variable);
	return reading.sentence;
}

const char *pm_limit_time(void)
{
	struct timespec now;
	double seconds;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	seconds = (double)(now.tv_sec - reading.began.tv_sec) +
		  1e-9 * (double)(now.tv_nsec - reading.began.tv_nsec);
	return seconds > pm_limit_value(PM_LIMIT_SECONDS) ? pm_limit_met(PM_LIMIT_SECONDS) : NULL;
}

const char *pm_limit_at(uint64_t place)
{
	reading.place = place;
	return pm_limit_time();
}

/* Resident bytes; 0 where that says nothing: a sanitizer's own memory is not the input's. */
static double held_bytes(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return 0;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
	return 0;
#endif
#endif
	unsigned long long all, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

const char *pm_limit_memory(size_t more_bytes)
{
	double limit;

	if (atomic_fetch_add(&unseen_bytes, more_bytes) + more_bytes < UNSEEN_BYTES)
		return NULL;
	unseen_bytes = 0;
	limit = pm_limit_value(PM_LIMIT_MEGABYTES) * MIB;
	return isfinite(limit) && held_bytes() + (double)more_bytes > limit ? pm_limit_met(PM_LIMIT_MEGABYTES)
									    : NULL;
}
