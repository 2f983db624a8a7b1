/* From traces to summaries: see reduce.h. */
#include "reduce.h"
#include "base/regular_file.h"
#include "import/imported.h"
#include "summary.h"
#include "trace/trace.h"
#include "trace/trace_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Which traces ---- */

int32_t reduce_rank(const char **name)
{
	static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
		"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *text = getenv(names[i]);
		char *end;
		long rank;

		if (!text || !*text)
			continue;
		rank = strtol(text, &end, 10);
		if (*end || rank < 0 || rank > INT32_MAX)
			continue;
		if (name)
			*name = names[i];
		return (int32_t)rank;
	}
	return -1;
}

/* The number that ends at `*end` after a dot; `*end` moves to the dot. -1: there is none. */
static int64_t number_before(const char *name, size_t *end)
{
	size_t at = *end;
	int64_t number;

	while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == *end || *end - at > 9 || at == 0 || name[at - 1] != '.')
		return -1;
	number = strtoll(name + at, NULL, 10);
	*end = at - 1;
	return number;
}

static int32_t rank_in_header(const char *path)
{
	struct pm_header header = {.rank = -1};
	int file = regular_file_open(path);
	ssize_t got = file < 0 ? 0 : pread(file, &header, sizeof(header), 0);

	if (file >= 0)
		close(file);
	return got > (ssize_t)offsetof(struct pm_header, world) ? header.rank : -1;
}

/* Names are NAME.RANK.pmtrace, and NAME.RANK.2.pmtrace where the first was taken. Thousands of ranks look
 * through the folder: only a name that can be read in two ways is worth opening the file. */
static bool is_of_rank(const char *folder, const char *name, int32_t rank, struct arena *arena)
{
	size_t end = trace_name_stem(name);
	int64_t last = number_before(name, &end), before = number_before(name, &end);
	bool as_last = last == rank, as_before = before == rank && last > 1;

	if (!as_last && !as_before)
		return false;
	if (before < 0 || last < 2)
		return as_last;
	return rank_in_header(arena_format(arena, "%s/%s", folder, name)) == rank;
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The traces of another profiler in a folder without our own. */
static int add_imported(struct reduce_files *files, const char *path, const char **error)
{
	char *folder = (char *)(uintptr_t)path;
	const char **found;
	size_t count;

	if (!imported_files(&files->arena, &folder, 1, &found, &count, error))
		return -1;
	for (size_t i = 0; i < count; i++)
		*MEM_PUSH(files->items, files->count, files->room) = (char *)(uintptr_t)found[i];
	return 0;
}

static int add_folder(struct reduce_files *files, const char *path, int32_t rank, const char **error)
{
	DIR *folder = opendir(path);
	size_t before = files->count;

	if (!folder) {
		*error = arena_format(&files->arena, "%s: %s", path, strerror(errno));
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder));)
		if (trace_name_stem(entry->d_name) &&
			(rank < 0 || is_of_rank(path, entry->d_name, rank, &files->arena)))
			*MEM_PUSH(files->items, files->count, files->room) =
				arena_format(&files->arena, "%s/%s", path, entry->d_name);
	closedir(folder);
	if (files->count > before) {
		qsort(files->items + before, files->count - before, sizeof(*files->items), compare_texts);
		return 0;
	}
	if (rank < 0 && run_is_imported(path))
		return add_imported(files, path, error);
	*error = rank < 0 ? arena_format(&files->arena, "%s: no *.pmtrace file in this folder", path)
			  : arena_format(&files->arena, "%s: no trace of rank %d in this folder", path, rank);
	return -1;
}

int reduce_add(struct reduce_files *files, const char *path, int32_t rank, const char **error)
{
	const char *mark = strstr(path, "%r");
	struct stat status;

	if (mark && stat(path, &status) < 0) {
		if (rank < 0) {
			*error = arena_format(&files->arena,
				"%s: %%r stands for the rank, but no launcher variable (RANK, ...) gives it",
				path);
			return -1;
		}
		path = arena_format(&files->arena, "%.*s%d%s", (int)(mark - path), path, rank, mark + 2);
		rank = -1; /* the name says it */
	}
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		return add_folder(files, path, rank, error);
	if (rank < 0 || rank_in_header(path) == rank)
		*MEM_PUSH(files->items, files->count, files->room) =
			arena_text(&files->arena, path, strlen(path));
	return 0;
}

void reduce_free(struct reduce_files *files)
{
	free(files->items);
	arena_free(&files->arena);
	memset(files, 0, sizeof(*files));
}

char *reduce_name(const char *trace, const char *folder)
{
	const char *slash = strrchr(trace, '/'), *base = slash ? slash + 1 : trace;
	const size_t stem = trace_name_stem(base), length = stem ? stem : strlen(base);
	const size_t bytes = strlen(trace) + (folder ? strlen(folder) : 0) + 16;
	char *name = mem_alloc(bytes, 1);

	if (folder)
		snprintf(name, bytes, "%s/%.*s.pmsum", folder, (int)length, base);
	else
		snprintf(name, bytes, "%.*s%.*s.pmsum", (int)(base - trace), trace, (int)length, base);
	return name;
}

/* ---- One trace, and many ---- */

void reduce_trace(const char *path, const struct run_options *options, struct reduce_result *result)
{
	char *paths[] = {(char *)(uintptr_t)path};
	struct summary_names names = {0};
	struct summary summary;
	struct stat status;
	struct run run;

	memset(result, 0, sizeof(*result));
	result->rank = -1;
	if (stat(path, &status) == 0)
		result->trace_bytes = (uint64_t)status.st_size;
	if (run_open_as(&run, paths, 1, options, &result->error) < 0)
		return;
	summary_make(&run.analysis, &names, &summary);
	run_close(&run);
	result->rank = summary.rank;
	result->worker_count = summary.worker_count;
	if (summary.worker_count) {
		result->used_count = summary.workers[0].used;
		result->sampled = summary.workers[0].sampled;
		result->part_count = summary.workers[0].part_count;
	}
	result->data = summary_bytes(&summary, &result->bytes);
	summary_free(&summary);
	summary_names_free(&names);
}

struct crew {
	const struct reduce_files *files;
	const struct run_options *options;
	size_t next;
	pthread_mutex_t lock; /* of next, and of done */
	void (*done)(void *context, size_t number, struct reduce_result *result);
	void *context;
};

static void *work(void *context)
{
	struct crew *crew = context;

	pthread_mutex_lock(&crew->lock);
	while (crew->next < crew->files->count) {
		size_t number = crew->next++;
		struct reduce_result result;

		pthread_mutex_unlock(&crew->lock);
		reduce_trace(crew->files->items[number], crew->options, &result);
		pthread_mutex_lock(&crew->lock);
		crew->done(crew->context, number, &result);
	}
	pthread_mutex_unlock(&crew->lock);
	return NULL;
}

void reduce_all(const struct reduce_files *files, const struct run_options *options, size_t jobs,
	void (*done)(void *context, size_t number, struct reduce_result *result), void *context)
{
	struct crew crew = {.files = files,
		.options = options,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.done = done,
		.context = context};
	pthread_t *threads = mem_alloc(jobs, sizeof(*threads));
	size_t started = 0;

	/* This thread is one of them; where no more can be had it does all. */
	while (started + 1 < jobs && started + 1 < files->count &&
		pthread_create(&threads[started], NULL, work, &crew) == 0)
		started++;
	work(&crew);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_destroy(&crew.lock);
	free(threads);
}
