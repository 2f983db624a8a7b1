/* A node's ranks as a file, and the files of many nodes as one job: see fleet.h. */
#include "base/text_file.h"
#include "base/table.h"
#include "fleet.h"

#include <dirent.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FORMAT_KEY "pmhook_node"
#define FORMAT_VERSION 1
#define FILE_END ".pmnode"

/* The figures of a rank, by key. */
#define FIGURES(X) \
	X(start_s) \
	X(seen_s) X(moved_s) X(steps) X(calls) X(communications) X(lost) X(step_s) X(compute_s) \
		X(timed_steps)

static const char *const device_keys[] = {"kernel_s", "communication_s", "copy_s"};

cJSON *fleet_node(const struct fleet *fleet)
{
	cJSON *root = cJSON_CreateObject(), *list;

	cJSON_AddNumberToObject(root, FORMAT_KEY, FORMAT_VERSION);
	cJSON_AddNumberToObject(root, "now_s", fleet->now_s);
	list = cJSON_AddArrayToObject(root, "ranks");
	for (size_t i = 0; i < fleet->count; i++) {
		const struct fleet_rank *rank = fleet->ranks[i];
		cJSON *item = cJSON_CreateObject();

		cJSON_AddNumberToObject(item, "rank", rank->rank);
		cJSON_AddNumberToObject(item, "world", rank->world);
		cJSON_AddStringToObject(item, "host", rank->host);
		cJSON_AddNumberToObject(item, "pid", rank->pid);
		cJSON_AddNumberToObject(item, "attempt", rank->attempt);
		cJSON_AddNumberToObject(item, "state", rank->state);
		cJSON_AddBoolToObject(item, "known", rank->known);
#define FIGURE(key) print_json_number(item, #key, rank->key);
		FIGURES(FIGURE)
#undef FIGURE
		for (size_t d = 0; d < 3; d++)
			print_json_number(item, device_keys[d], rank->device_s[d]);
		cJSON_AddItemToArray(list, item);
	}
	return root;
}

static double number_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* A whole number from `least` to `most`, else `least`. */
static int whole_of(const cJSON *object, const char *key, int least, int most)
{
	const double number = number_of(object, key);

	return number >= least && number <= most ? (int)number : least;
}

static void read_rank(struct fleet *fleet, const cJSON *item)
{
	struct fleet_rank *rank = fleet_add(fleet, NULL);
	const char *host = text_file_word(item, "host");

	rank->rank = whole_of(item, "rank", -1, INT32_MAX);
	rank->world = whole_of(item, "world", -1, INT32_MAX);
	rank->host = arena_text(&fleet->arena, host, strlen(host));
	rank->pid = (uint32_t)whole_of(item, "pid", 0, INT32_MAX);
	rank->attempt = (unsigned)whole_of(item, "attempt", 0, INT32_MAX);
	rank->state = (enum fleet_state)whole_of(item, "state", FLEET_RUNS, FLEET_GONE);
	rank->known = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "known"));
#define FIGURE(key) rank->key = number_of(item, #key);
	FIGURES(FIGURE)
#undef FIGURE
	for (size_t d = 0; d < 3; d++)
		rank->device_s[d] = number_of(item, device_keys[d]);
}

/* Whether it is one, and could be read. */
static bool read_file(struct fleet *fleet, const char *path)
{
	const cJSON *list, *item;
	cJSON *root;

	if (text_file_json(path, &root))
		return false;
	list = cJSON_GetObjectItemCaseSensitive(root, "ranks");
	if (number_of(root, FORMAT_KEY) != FORMAT_VERSION || !cJSON_IsArray(list)) {
		cJSON_Delete(root);
		return false;
	}
	cJSON_ArrayForEach (item, list)
		read_rank(fleet, item);
	cJSON_Delete(root);
	return true;
}

static size_t read_folder(struct fleet *fleet, const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	size_t bad = folder == NULL;

	while (folder && (entry = readdir(folder))) {
		const size_t length = strlen(entry->d_name), end = strlen(FILE_END);

		if (length > end && strcmp(entry->d_name + length - end, FILE_END) == 0)
			bad += !read_file(fleet, arena_format(&fleet->arena, "%s/%s", path, entry->d_name));
	}
	if (folder)
		closedir(folder);
	return bad;
}

size_t fleet_merge(struct fleet *fleet, char **paths, size_t path_count)
{
	struct timespec now;
	struct stat status;
	size_t bad = 0;

	arena_free(&fleet->arena);
	memset(&fleet->arena, 0, sizeof(fleet->arena));
	fleet->all_count = 0;
	clock_gettime(CLOCK_REALTIME, &now);
	fleet->now_s = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
	for (size_t i = 0; i < path_count; i++)
		if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode))
			bad += read_folder(fleet, paths[i]);
		else
			bad += !read_file(fleet, paths[i]);
	fleet_settle(fleet);
	return bad;
}
