/* Where input comes from: see input_file.h. */
#include "input_file.h"
#include "base/table.h"

#include <stdlib.h>
#include <string.h>

struct file {
	const char *path;
	size_t folder_length;
	double ns;
};

struct files {
	struct file *items;
	size_t count, room;
	double all_ns; /* also of reads of unknown files */
};

static size_t folder_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (size_t)(slash - path) : 0;
}

/* The worker's files by string, with the time that reading each takes in its used iterations. */
static struct files list_files(const struct analysis *analysis, const struct analysis_worker *worker)
{
	const struct timeline *timeline = &analysis->timeline;
	double *sums_ns = mem_alloc(timeline->string_count, sizeof(*sums_ns));
	struct files files = {0};

	for (size_t i = 0; i < worker->used_count; i++) {
		const struct iteration *item = &worker->iterations.items[worker->used[i]];

		int64_t until_ns = INT64_MIN; /* what a loader reads is part of its own time */

		for (size_t r = item->first_read; r < item->read_end; r++) {
			const struct timeline_call call = timeline_call(timeline, worker->worker->reads[r]);
			double ns = (double)(call.end_ns - call.begin_ns);
			uint64_t file = 0;

			if (timeline_value(timeline, &timeline->operations[call.operation], "file", &file) &&
				file < timeline->string_count)
				sums_ns[file] += ns;
			if (call.end_ns > until_ns)
				files.all_ns += ns;
			if (timeline_function(timeline, &call)->is_range)
				until_ns = call.end_ns;
		}
	}
	for (size_t i = 1; i < timeline->string_count; i++)
		if (sums_ns[i] > 0)
			*MEM_PUSH(files.items, files.count, files.room) = (struct file){
				timeline->strings[i], folder_length(timeline->strings[i]), sums_ns[i]};
	free(sums_ns);
	return files;
}

static int compare_folders(const void *left, const void *right)
{
	const struct file *a = left, *b = right;
	size_t shorter = a->folder_length < b->folder_length ? a->folder_length : b->folder_length;
	int order = memcmp(a->path, b->path, shorter);

	return order ? order : a->folder_length < b->folder_length ? -1 : a->folder_length > b->folder_length;
}

/* Of each folder one item is left, with the time of all its files. */
static void join_folders(struct files *files)
{
	size_t kept = 0;

	qsort(files->items, files->count, sizeof(*files->items), compare_folders);
	for (size_t i = 0; i < files->count; i++)
		if (kept && compare_folders(&files->items[kept - 1], &files->items[i]) == 0)
			files->items[kept - 1].ns += files->items[i].ns;
		else
			files->items[kept++] = files->items[i];
	files->count = kept;
}

static const struct file *most_of(const struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->items[i].ns > files->all_ns / 2)
			return &files->items[i];
	return NULL;
}

bool input_file_find(const struct analysis *analysis, const struct analysis_worker *worker,
	struct arena *arena, struct input_file *found)
{
	struct files files = list_files(analysis, worker);
	const struct file *most = most_of(&files);
	const char *name = NULL;

	if (most) {
		name = print_clean(arena, most->path);
	} else if (files.count) {
		join_folders(&files);
		most = most_of(&files);
		if (most)
			name = arena_format(arena, "files in %s",
				most->folder_length ? print_clean(arena, arena_text(arena, most->path,
										 most->folder_length))
						    : "/");
	}
	if (most)
		*found = (struct input_file){name, most->ns / files.all_ns};
	free(files.items);
	return most;
}

const char *input_file_text(struct arena *arena, const struct input_file *source)
{
	return arena_format(arena, "; %.0f%% of the reading is from %s", 100 * source->share, source->name);
}

/* ---- Loaders ---- */

/* What the frameworks' loaders are called by, and what makes each of them faster. */
static const struct {
	const char *word, *works, *advice;
} known_loaders[] = {
	{"_SingleProcessDataLoaderIter", ", which works in the training process",
		"load in worker processes (num_workers, persistent_workers=True), pin_memory=True"},
	{"_MultiProcessingDataLoaderIter", ", which waits for worker processes",
		"more worker processes (num_workers) and a larger prefetch_factor, persistent_workers=True; do less in "
		"__getitem__, or do it once and store the result"},
	{"IteratorGetNext", ", which waits for the tf.data pipeline",
		"prefetch(tf.data.AUTOTUNE) at the end of the pipeline, num_parallel_calls=tf.data.AUTOTUNE in map and "
		"interleave, cache() of what is the same in each epoch; more processors for the pipeline"},
};

static void know_loader(const char *name, struct input_loader *found)
{
	*found = (struct input_loader){.name = name, .works = ""};
	for (size_t i = 0; i < sizeof(known_loaders) / sizeof(*known_loaders); i++)
		if (strstr(name, known_loaders[i].word)) {
			found->works = known_loaders[i].works;
			found->advice = known_loaders[i].advice;
		}
}

bool input_loader_find(
	const struct analysis *analysis, const struct analysis_worker *worker, struct input_loader *found)
{
	const struct timeline *timeline = &analysis->timeline;
	double *sums_ns = mem_alloc(timeline->function_count, sizeof(*sums_ns)), all_ns = 0;
	uint32_t most = 0;

	for (size_t i = 0; i < worker->used_count; i++) {
		const struct iteration *item = &worker->iterations.items[worker->used[i]];

		for (size_t r = item->first_read; r < item->read_end; r++) {
			const struct timeline_call call = timeline_call(timeline, worker->worker->reads[r]);
			const uint32_t function = timeline->operations[call.operation].function;

			if (timeline->functions[function].is_range)
				sums_ns[function] += (double)(call.end_ns - call.begin_ns);
			if (sums_ns[function] > sums_ns[most])
				most = function;
		}
		all_ns += (double)worker->phases.times[worker->used[i]].busy_ns[PHASE_IO];
	}
	if (all_ns > 0 && sums_ns[most] > all_ns / 2) {
		know_loader(timeline->functions[most].name, found);
		found->share = sums_ns[most] < all_ns ? sums_ns[most] / all_ns : 1;
	} else {
		most = UINT32_MAX;
	}
	free(sums_ns);
	return most != UINT32_MAX;
}

const char *input_loader_text(struct arena *arena, const struct input_loader *loader)
{
	return arena_format(arena, "; %.0f%% of the reading is in %s", 100 * loader->share,
		print_clean(arena, loader->name));
}
