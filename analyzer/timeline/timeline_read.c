/* Reading trace files: folders, several files at once, and which part of them. */
#include "timeline_read.h"
#include "base/parallel.h"
#include "base/text.h"
#include "timeline_join.h"
#include "trace/trace_live.h"
#include "trace/trace_name.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

struct list {
	const char **items;
	size_t count, room;
};

#define DEEPEST 3 /* levels of folders below the one that is named */

static bool is_folder(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int list_folder(
	struct timeline *timeline, const char *path, int depth, struct list *files, const char **error)
{
	DIR *folder = opendir(path);
	size_t before = files->count;
	struct list below = {0};
	bool found;

	if (!folder) {
		*error = arena_format(&timeline->arena, "%s: %s", path, strerror(errno));
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (trace_name_stem(entry->d_name))
			*MEM_PUSH(files->items, files->count, files->room) = arena_format(
				&timeline->arena, "%s%s%s", path, pm_text_slash(path), entry->d_name);
		else if (depth < DEEPEST && entry->d_name[0] != '.')
			*MEM_PUSH(below.items, below.count, below.room) = arena_format(
				&timeline->arena, "%s%s%s", path, pm_text_slash(path), entry->d_name);
	}
	closedir(folder);
	/* Below traces there may be anything, as those of other runs. */
	found = files->count > before;
	for (size_t i = 0; i < below.count && !found; i++)
		if (is_folder(below.items[i]))
			list_folder(timeline, below.items[i], depth + 1, files, error);
	free(below.items);
	if (depth > 0)
		return 0;
	if (files->count == before) {
		*error = arena_format(&timeline->arena,
			"%s: no *.pmtrace file and no trace of another profiler in this folder", path);
		return -1;
	}
	qsort(files->items + before, files->count - before, sizeof(*files->items), compare_texts);
	return 0;
}

/* What is read of the files. */
struct part {
	double share;                        /* of their records; 0: all */
	struct timeline_stretches stretches; /* of the wall clock; those of no file's: each chooses its own */
};

/* Files that are read at once: as many as there are processors, so memory does not grow with the ranks. */
struct batch {
	struct timeline *timeline;
	const struct part *part;
	const struct trace *open; /* that of the path open_path is open already; NULL: none is */
	const char *open_path;
	const char *const *paths;
	struct trace *traces; /* by path */
	bool *opened;
	struct timeline_process *processes; /* those of the files that could be opened */
	struct timeline_join *joins;        /* likewise */
	size_t count;
};

static void open_file(void *context, size_t index)
{
	struct batch *batch = context;
	struct trace *trace = &batch->traces[index];

	if (batch->paths[index] == batch->open_path) {
		*trace = *batch->open;
		batch->opened[index] = true;
		return;
	}
	batch->opened[index] = trace_open(trace, batch->paths[index]) == 0;
}

/* The stretches on the trace's clock; its own where those of the run are not when it has its records, as of a
 * job that ran at another time. */
static struct timeline_stretches stretches_of(const struct part *part, const struct trace *trace)
{
	struct timeline_stretches stretches = part->stretches;
	bool *read;
	uint64_t slots = 0, all = 0;

	if (stretches.count == 0)
		return stretches;
	timeline_stretches_move(&stretches, -timeline_wall_offset(trace));
	if (part->share <= 0)
		return stretches;
	read = mem_alloc(trace->chunk_count, sizeof(*read));
	slots = timeline_sample_mark(trace, &stretches, read);
	for (size_t c = 0; c < trace->chunk_count; c++)
		all += trace->chunks[c].slot_count;
	free(read);
	if ((double)slots < part->share * (double)all / 2)
		timeline_sample_choose(trace, part->share, &stretches);
	return stretches;
}

static void begin_file(void *context, size_t index)
{
	struct batch *batch = context;
	const struct timeline_stretches stretches = stretches_of(batch->part, batch->joins[index].trace);

	timeline_join_begin(&batch->joins[index], batch->joins[index].trace, &stretches);
}

static void fill_file(void *context, size_t index)
{
	struct batch *batch = context;

	timeline_join_fill(batch->timeline, &batch->joins[index]);
}

/* The trace, which is not among the batch's any more. */
static struct trace *keep_open(struct batch *batch, const struct trace *trace)
{
	struct trace *kept = mem_alloc(1, sizeof(*kept));

	*kept = *trace;
	batch->traces[trace - batch->traces] = (struct trace){0};
	return kept;
}

static void read_batch(struct batch *batch, size_t path_count, struct list *notes)
{
	struct timeline *timeline = batch->timeline;

	parallel_each(path_count, 0, open_file, batch);
	batch->count = 0;
	for (size_t i = 0; i < path_count; i++)
		if (batch->opened[i])
			batch->joins[batch->count++] = (struct timeline_join){.trace = &batch->traces[i]};
		else
			*MEM_PUSH(notes->items, notes->count, notes->room) = arena_text(
				&timeline->arena, batch->traces[i].error, strlen(batch->traces[i].error));
	parallel_each(batch->count, 0, begin_file, batch);
	for (size_t i = 0; i < batch->count; i++) {
		struct timeline_join *join = &batch->joins[i];

		join->process = &batch->processes[i];
		timeline_join_describe(timeline, join, (uint32_t)(timeline->process_count + i));
	}
	timeline_join_reserve(timeline, batch->joins, batch->count);
	parallel_each(batch->count, 0, fill_file, batch);
	for (size_t i = 0; i < batch->count; i++) {
		if (batch->joins[i].read)
			batch->processes[i].trace = keep_open(batch, batch->joins[i].trace);
		timeline_join_end(timeline, &batch->joins[i]);
		*MEM_PUSH(timeline->processes, timeline->process_count, timeline->process_room) =
			batch->processes[i];
	}
	for (size_t i = 0; i < path_count; i++)
		trace_close(&batch->traces[i]);
}

/* The largest file, and the sum of all; SIZE_MAX: there is none. */
static size_t find_largest(const struct list *files, double *bytes)
{
	size_t largest = SIZE_MAX;
	off_t most = 0;

	*bytes = 0;
	for (size_t i = 0; i < files->count; i++) {
		struct stat status;

		if (stat(files->items[i], &status) < 0 || !S_ISREG(status.st_mode))
			continue;
		*bytes += (double)status.st_size;
		if (status.st_size > most) {
			most = status.st_size;
			largest = i;
		}
	}
	return largest;
}

/* Calls and device intervals, also those that launches of graphs stand for. */
static double count_records(const struct trace *trace)
{
	struct timeline_replay_list replays;
	double records = (double)(trace->call_count + trace->device_count);

	timeline_replay_init(&replays, trace, NULL);
	records += (double)replays.call_count;
	timeline_replay_free(&replays);
	return records;
}

#define MANY_FILES 64 /* of more, some steps of each are enough: half as many records */

/* How many records are asked for of so many files like the one that is open; `records`: it has so many. */
static double count_asked(
	const struct timeline_sample *sample, size_t file_count, const struct trace *open, double records)
{
	struct timeline_sample least = *sample;
	struct trace_live live;

	if (sample->steps_each && trace_live_read(open->path, &live) && live.figures.steps) {
		const double each = (double)sample->steps_each * records / (double)live.figures.steps;

		if (each < (double)least.records_each)
			least.records_each = (uint64_t)each;
		if (file_count > MANY_FILES)
			least.records /= 2;
	}
	return timeline_sample_records(&least, file_count);
}

/* By the largest file, as if the others were like it. That one stays open, and *open_path is its path. */
static struct part choose_part(const struct list *files, const struct timeline_sample *sample,
	struct trace *open, const char **open_path)
{
	struct part part = {0};
	double bytes, records, asked;
	size_t largest;

	if (sample->stretches) {
		part.stretches = *sample->stretches;
		return part;
	}
	largest = find_largest(files, &bytes);
	if (!sample->records || largest == SIZE_MAX ||
		bytes < TIMELINE_SAMPLE_FROM * (double)sample->records * sizeof(struct pm_record))
		return part;
	if (trace_open(open, files->items[largest]) < 0) {
		trace_close(open);
		return part;
	}
	*open_path = files->items[largest];
	records = count_records(open);
	asked = count_asked(sample, files->count, open, records);
	part.share = asked / (records * bytes / (double)open->size_bytes);
	if (!open->ring && part.share * TIMELINE_SAMPLE_FROM < 1) {
		timeline_sample_choose(open, part.share, &part.stretches);
		timeline_stretches_move(&part.stretches, timeline_wall_offset(open));
	}
	return part;
}

static void read_files(struct timeline *timeline, const struct list *files,
	const struct timeline_sample *sample, struct list *notes)
{
	const size_t most = parallel_processors();
	struct trace open;
	const char *open_path = NULL;
	const struct part part = choose_part(files, sample, &open, &open_path);
	struct batch batch = {.timeline = timeline,
		.part = &part,
		.open = &open,
		.open_path = open_path,
		.traces = mem_alloc(most, sizeof(*batch.traces)),
		.opened = mem_alloc(most, sizeof(*batch.opened)),
		.processes = mem_alloc(most, sizeof(*batch.processes)),
		.joins = mem_alloc(most, sizeof(*batch.joins))};

	for (size_t first = 0; first < files->count; first += most) {
		batch.paths = files->items + first;
		read_batch(&batch, files->count - first < most ? files->count - first : most, notes);
	}
	free(batch.traces);
	free(batch.opened);
	free(batch.processes);
	free(batch.joins);
}

int timeline_read(struct timeline *timeline, const char *const *paths, size_t path_count,
	const struct timeline_sample *sample, const char **error, const char ***warnings)
{
	struct list files = {0}, notes = {0};
	const char **kept;
	int rc = -1;

	*error = NULL;
	for (size_t i = 0; i < path_count; i++) {
		struct stat status;

		if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode)) {
			if (list_folder(timeline, paths[i], 0, &files, error) < 0)
				goto out;
		} else {
			*MEM_PUSH(files.items, files.count, files.room) = paths[i];
		}
	}
	read_files(timeline, &files, sample, &notes);
	if (timeline->process_count == 0) {
		*error = notes.count ? notes.items[0] : "no trace given";
		goto out;
	}
	rc = 0;
out:
	kept = arena_alloc(&timeline->arena, notes.count + 1, sizeof(*kept));
	if (notes.count)
		memcpy(kept, notes.items, notes.count * sizeof(*kept));
	*warnings = kept;
	free(files.items);
	free(notes.items);
	return rc;
}
