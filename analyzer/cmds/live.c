/* Reading a live run again and again: see live.h. */
#include "live.h"
#include "analyses/summary/reduce.h"

#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#define SHARE_OF_READING 5   /* reading takes at most a fifth of the time */
#define POLITE 10            /* nice value */
#define MEMORY_OF_A_BYTE 2.5 /* of a trace: 2.0 where all records are calls with device times */
#define MEMORY_OF_A_RECORD 64
#define SHARE_OF_MEMORY 0.5  /* of what is free */

double live_now_s(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int64_t live_wall_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void live_be_polite(void)
{
	(void)setpriority(PRIO_PROCESS, 0, POLITE);
}

double live_interval(double took_s, double every_s)
{
	return SHARE_OF_READING * took_s > every_s ? SHARE_OF_READING * took_s : every_s;
}

const char *live_label(struct arena *arena, const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/';)
		start--;
	return arena_text(arena, path + start, end - start);
}

/* In bytes, as the kernel estimates it; 0: it does not. */
static double free_memory(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	unsigned long long kilobytes = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemAvailable: %llu kB", &kilobytes) == 1)
			break;
	if (file)
		fclose(file);
	return (double)kilobytes * 1024;
}

static double bytes_of(char **paths, size_t path_count, size_t *file_count)
{
	struct reduce_files files = {0};
	const char *error;
	double bytes = 0;
	struct stat s;

	for (size_t i = 0; i < path_count; i++)
		(void)reduce_add(&files, paths[i], -1, &error); /* whoever reads it says what is wrong */
	for (size_t i = 0; i < files.count; i++)
		bytes += stat(files.items[i], &s) == 0 ? (double)s.st_size : 0;
	*file_count = files.count;
	reduce_free(&files);
	return bytes;
}

/* Of a long run a part is read. */
static double needed_memory(double bytes, size_t file_count, const struct timeline_sample *sample)
{
	const double whole = MEMORY_OF_A_BYTE * bytes;
	const double part =
		MEMORY_OF_A_RECORD * TIMELINE_SAMPLE_FROM * timeline_sample_records(sample, file_count);

	return part > 0 && part < whole ? part : whole;
}

char *live_room(char **paths, size_t path_count, const struct timeline_sample *sample)
{
	size_t file_count;
	const double bytes = bytes_of(paths, path_count, &file_count), memory = free_memory();
	const double needed = needed_memory(bytes, file_count, sample);
	char *error;

	if (memory <= 0 || needed <= SHARE_OF_MEMORY * memory)
		return NULL;
	if (asprintf(&error,
		    "%s: reading its traces of %.1f GB would take some %.1f GB of memory, and %.1f GB are free here, of which "
		    "half is left to the job: read fewer --records, record with PMHOOK_MODE=ring, or look from another host",
		    paths[0], bytes / 1e9, needed / 1e9, memory / 1e9) < 0)
		err(1, NULL);
	return error;
}
