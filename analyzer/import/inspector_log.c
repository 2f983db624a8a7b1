/* Logs of NCCL Inspector: see inspector_log.h. */
#include "inspector_log.h"
#include "base/error_message.h"
#include "base/text_file.h"
#include "dump_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 10000000

bool inspector_sniff(const struct importer_head *head)
{
	return *importer_text(head) == '{' && importer_has(head, "\"coll_perf\"") &&
	       importer_has(head, "\"header\"");
}

static bool is_log(const char *path)
{
	const struct importer *importer = importer_of_file(path);

	return importer && importer->sniff == inspector_sniff;
}

/* Gives each log of the folder to `take`, until it answers something; false: it is no folder. */
static bool each_log(const char *path, const char *(*take)(void *context, const char *path), void *context,
	const char **answer)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	*answer = NULL;
	if (!folder)
		return false;
	while (!*answer && (entry = readdir(folder))) {
		char inner[PATH_MAX];

		if (entry->d_name[0] != '.' &&
			snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name) < (int)sizeof(inner) &&
			is_log(inner))
			*answer = take(context, inner);
	}
	closedir(folder);
	return true;
}

static const char *found(void *context, const char *path)
{
	(void)context;
	(void)path;
	return "found";
}

bool inspector_is(const char *path)
{
	const char *answer;

	return each_log(path, found, NULL, &answer) ? answer != NULL : is_log(path);
}

static const char *keep(struct inspector_log *log, const char *text)
{
	return log->texts.items[intern_text(&log->texts, text, strlen(text))];
}

static double size_of(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && item->valuedouble > 0 && item->valuedouble < 9e18 ? item->valuedouble
											 : -1;
}

static bool take_call(struct inspector_log *log, const cJSON *line)
{
	const cJSON *header = cJSON_GetObjectItemCaseSensitive(line, "header");
	const cJSON *about = cJSON_GetObjectItemCaseSensitive(line, "metadata");
	const cJSON *perf = cJSON_GetObjectItemCaseSensitive(line, "coll_perf");
	const int64_t rank = dump_number(header, "rank", -1), size = dump_number(header, "n_ranks", -1);
	const double us = size_of(perf, "coll_exec_time_us"), bytes = size_of(perf, "coll_msg_size_bytes");

	if (rank < 0 || size <= rank || size > MOST_RANKS || us < 0 || bytes < 0 ||
		!*text_file_word(perf, "coll"))
		return false;
	*MEM_PUSH(log->calls, log->count, log->room) = (struct inspector_call){
		.communicator = keep(log, text_file_word(header, "id")),
		.name = keep(log, text_file_word(perf, "coll")),
		.rank = (int32_t)rank,
		.size = (int32_t)size,
		.sequence = dump_number(perf, "coll_sn", -1),
		.dumped_us = dump_number(about, "dump_timestamp_us", 0),
		.bytes = bytes,
		.time_ns = 1e3 * us,
		.parts = size_of(perf, "coll_algobw_gbs") * 1e3 * us > 0.5 * bytes * (double)size && size > 1
				 ? (int32_t)size
				 : 1};
	return true;
}

/* The last line may break off where the job was killed. */
static const char *take_line(void *context, char *text)
{
	struct inspector_log *log = context;
	cJSON *line;

	if (!text[strspn(text, " \t\r\n")])
		return NULL;
	line = cJSON_Parse(text);
	log->odd += !line || !take_call(log, line);
	cJSON_Delete(line);
	return NULL;
}

static const char *read_file(void *context, const char *path)
{
	return text_file_lines(path, take_line, context);
}

const char *inspector_read(struct inspector_log *log, const char *path)
{
	const char *wrong;

	if (log->texts.count == 0)
		intern_text(&log->texts, "", 0);
	if (!each_log(path, read_file, log, &wrong))
		wrong = read_file(log, path);
	return wrong;
}

void inspector_free(struct inspector_log *log)
{
	free(log->calls);
	intern_free(&log->texts);
	*log = (struct inspector_log){0};
}
