/* Which files, of which format, on which thread, and which rank each is: see imported.h. */
#include "importer.h"
#include "pipeline_log.h"
#include "base/json.h"
#include "base/limit.h"
#include "base/parallel.h"
#include "base/regular_file.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Reads with the row that knows the file. */
static int read_known(struct imported *imported, const struct importer_head *head, unsigned wanted)
{
	const struct importer *importer = importer_find(head);

	if (!importer)
		return importer_refuse(imported, head);
	if (!importer->read)
		return imported_trouble(
			imported, "%s: %s: %s", imported->path, importer->name, importer->instead);
	return importer->read(imported, wanted);
}

/* The first bytes stay in the window while the row is found. */
static int look_and_read(struct imported *imported, unsigned wanted)
{
	struct json json;
	int status = json_open(&json, imported->path);

	if (status < 0)
		return imported_trouble(imported, "%s: %s", imported->path, regular_file_trouble(status));
	if (json.break_off && json.next == json.end)
		status = imported_trouble(imported, "%s: byte 0: %s", imported->path, json.break_off);
	else
		status = read_known(imported,
			&(struct importer_head){
				imported->path, json.next, (size_t)(json.end - json.next)},
			wanted);
	json_close(&json);
	return status;
}

int imported_read(struct imported *imported, const char *path, unsigned wanted)
{
	struct stat file;
	int status;

	memset(imported, 0, sizeof(*imported));
	imported->path = path;
	imported->rank = imported->world = -1;
	intern_text(&imported->strings, "", 0);
	pm_limit_begin(path, stat(path, &file) == 0 ? (uint64_t)file.st_size : 0, "byte");
	status = look_and_read(imported, wanted);
	if (status == 0)
		imported_finish(imported, wanted);
	pm_limit_end();
	return status;
}

struct pool {
	const char *const *paths;
	unsigned wanted;
	void (*done)(void *context, size_t index, struct imported *imported, int status);
	void *context;
};

static void read_one(void *context, size_t index)
{
	struct pool *pool = context;
	struct imported imported;
	int status = imported_read(&imported, pool->paths[index], pool->wanted);

	pool->done(pool->context, index, &imported, status);
	imported_free(&imported);
}

void imported_read_all(const char *const *paths, size_t path_count, unsigned wanted, unsigned threads,
	void (*done)(void *context, size_t index, struct imported *imported, int status), void *context)
{
	struct pool pool = {paths, wanted, done, context};

	parallel_each(path_count, threads, read_one, &pool);
}

static bool is_trace_name(const char *name)
{
	return name[0] != '.' && importer_suffix(name);
}

#define DEEPEST 3 /* levels of folders below the one that is named */

static bool is_folder(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool looks(const char *path, int depth)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool found = false;

	if (!folder)
		return depth == 0 && (is_trace_name(path) || importer_of_file(path));
	while (!found && (entry = readdir(folder))) {
		char below[4096];

		found = is_trace_name(entry->d_name);
		if (found || entry->d_name[0] == '.' || depth == DEEPEST ||
			snprintf(below, sizeof(below), "%s%s%s", path, pm_text_slash(path), entry->d_name) >=
				(int)sizeof(below))
			continue;
		found = is_folder(below) && looks(below, depth + 1);
	}
	closedir(folder);
	return found;
}

bool imported_looks(const char *path)
{
	return looks(path, 0);
}

struct list {
	const char **items;
	size_t count, room;
};

/* A folder of Primus' pipeline data is one trace, that of its config.json: stages' files are read with it. */
static void drop_parts(struct list *list, size_t first)
{
	size_t kept = first;

	for (size_t i = first; i < list->count; i++)
		if (!pipeline_log_is_part(list->items[i]))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

static bool is_listed(const struct list *list, size_t first, const char *path)
{
	for (size_t i = first; i < list->count; i++)
		if (strcmp(list->items[i], path) == 0)
			return true;
	return false;
}

/* JAX writes a profile twice, HOST.xplane.pb and from it HOST.trace.json.gz, which ends after a million events;
 * and where it was asked to, perfetto_trace.json.gz once more. */
static void drop_twins(struct arena *arena, struct list *list, size_t first)
{
	static const char json[] = ".trace.json.gz", third[] = "/perfetto_trace.json.gz";
	size_t kept = first;

	for (size_t i = first; i < list->count; i++) {
		const char *path = list->items[i], *suffix = importer_suffix(path);
		size_t length = strlen(path);
		const char *twin =
			arena_format(arena, "%.*s.xplane.pb", (int)(length - strlen(suffix)), path);
		bool copy = length >= sizeof(third) && list->count - first > 1 &&
			    strcmp(path + length - sizeof(third) + 1, third) == 0;

		if (!copy && (strcmp(suffix, json) != 0 || !is_listed(list, first, twin)))
			list->items[kept++] = path;
	}
	list->count = kept;
}

#define LONGEST_HEAD ((uint64_t)16 << 20) /* bytes of JSON before the events of a trace */

/* Does an object, whose brace is the next byte, have members before it ends, and none that a trace has? */
static bool is_other_object(struct json *json)
{
	struct json_text key;

	while (json_offset(json, json->next) < LONGEST_HEAD) {
		const char *value;

		while (!(value = json_member(json->next, &key)))
			if (*json_blank(json->next) == '}' || !json_more(json))
				return *json_blank(json->next) == '}';
		if (JSON_IS(key, "traceEvents"))
			return false;
		json->next = value;
		if (!json_pass(json))
			return false;
	}
	return false;
}

/* Is a file, whose name may be one of a trace, whole and surely something else: results, settings, a list of
 * numbers? */
static bool is_other(const char *path)
{
	struct json json;
	bool other = false;

	if (pipeline_log_is(path) || json_open(&json, path) < 0)
		return false;
	json.next = json_blank(json.next);
	if (*json.next == '{')
		other = is_other_object(&json);
	else if (*json.next == '[')
		other = !strchr("{]", *json_blank(json.next + 1));
	json_close(&json);
	return other;
}

static int compare_names(const void *a, const void *b)
{
	return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static bool add_folder(
	struct arena *arena, struct list *list, const char *path, int depth, const char **error)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	size_t first = list->count;
	struct list below = {0};
	bool found = false;

	/* Of what may not be read below, others' files and the kernel's, nothing is expected. */
	if (!folder) {
		if (depth == 0)
			*error = arena_format(arena, "%s: %s", path, strerror(errno));
		return false;
	}
	while ((entry = readdir(folder)))
		if (is_trace_name(entry->d_name))
			*MEM_PUSH(list->items, list->count, list->room) =
				arena_format(arena, "%s%s%s", path, pm_text_slash(path), entry->d_name);
		else if (depth < DEEPEST && entry->d_name[0] != '.')
			*MEM_PUSH(below.items, below.count, below.room) =
				arena_format(arena, "%s%s%s", path, pm_text_slash(path), entry->d_name);
	closedir(folder);
	/* What is none is read nevertheless, and named in a warning. */
	for (size_t i = first; i < list->count && !found; i++)
		found = !is_other(list->items[i]);
	for (size_t i = 0; i < below.count && !found; i++)
		if (is_folder(below.items[i]))
			add_folder(arena, list, below.items[i], depth + 1, error);
	free(below.items);
	if (list->count == first) {
		if (depth == 0)
			*error = arena_format(arena,
				"%s: no file ending in one of %s (pmhook's own traces: pmanalyze report, comm)",
				path, importer_suffixes(arena));
		return false;
	}
	qsort(list->items + first, list->count - first, sizeof(*list->items), compare_names);
	drop_twins(arena, list, first);
	drop_parts(list, first);
	return true;
}

bool imported_files(struct arena *arena, char **paths, size_t path_count, const char ***files,
	size_t *file_count, const char **error)
{
	struct list list = {0};

	*error = NULL;
	for (size_t i = 0; i < path_count && !*error; i++) {
		struct stat status;

		if (stat(paths[i], &status) != 0)
			*error = arena_format(arena, "%s: %s", paths[i], strerror(errno));
		else if (S_ISDIR(status.st_mode))
			add_folder(arena, &list, paths[i], 0, error);
		else
			*MEM_PUSH(list.items, list.count, list.room) = paths[i];
	}
	*file_count = list.count;
	*files = arena_alloc(arena, list.count, sizeof(**files));
	if (list.count)
		memcpy(*files, list.items, list.count * sizeof(**files));
	free(list.items);
	return !*error;
}

/* The number at the place, at most a million; -1: none. */
static int32_t number_at(const char *place)
{
	long number;
	char *end;

	if (!isdigit((unsigned char)*place))
		return -1;
	number = strtol(place, &end, 10);
	return end - place <= 6 ? (int32_t)number : -1;
}

/* The number after a word for a rank, as in worker3, rank_3 and rank-3. */
static int32_t rank_by_word(const char *name)
{
	static const char *const words[] = {"rank", "worker", "gpu"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (const char *place = name; (place = strcasestr(place, words[i]));) {
			int32_t rank;

			place += strlen(words[i]);
			rank = number_at(*place && strchr("-_=[.", *place) ? place + 1 : place);
			if (rank >= 0)
				return rank;
		}
	return -1;
}

int32_t imported_name_rank(const char *path, bool *sure)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path, *behind = NULL;
	int32_t rank = rank_by_word(name);

	*sure = rank >= 0;
	if (rank >= 0)
		return rank;
	/* trace_0.json, 0.json */
	if ((behind = importer_suffix(name)))
		behind = name + strlen(name) - strlen(behind);
	if (!behind)
		return -1;
	while (behind > name && isdigit((unsigned char)behind[-1]))
		behind--;
	return behind == name || strchr("-_.", behind[-1]) ? number_at(behind) : -1;
}

static int compare_ranks(const void *a, const void *b)
{
	int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;

	return one < other ? -1 : one > other;
}

static bool all_different(const int32_t *ranks, size_t count)
{
	int32_t *copy = mem_alloc(count, sizeof(*copy));
	bool different = true;

	if (count)
		memcpy(copy, ranks, count * sizeof(*copy));
	qsort(copy, count, sizeof(*copy), compare_ranks);
	for (size_t i = 0; i < count && different; i++)
		different = copy[i] >= 0 && (i == 0 || copy[i] != copy[i - 1]);
	free(copy);
	return different;
}

bool imported_number(const int32_t *given, const char *const *paths, size_t count, int32_t *ranks)
{
	bool sure, one_given = false;

	for (size_t i = 0; i < count; i++) {
		one_given = one_given || given[i] >= 0;
		ranks[i] = given[i] >= 0 ? given[i] : imported_name_rank(paths[i], &sure);
	}
	if (all_different(ranks, count))
		return true;
	for (size_t i = 0; i < count; i++)
		ranks[i] = imported_name_rank(paths[i], &sure);
	if (!all_different(ranks, count))
		for (size_t i = 0; i < count; i++)
			ranks[i] = (int32_t)i;
	return !one_given;
}
