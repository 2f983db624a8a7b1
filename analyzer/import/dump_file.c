/* PyTorch's dumps as one value: see dump_file.h. */
#include "dump_file.h"
#include "base/error_message.h"
#include "base/json.h"
#include "base/limit.h"
#include "base/regular_file.h"
#include "base/text_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NUMBER_MOST 9e18

bool dump_is_pickle(const struct importer_head *head)
{
	return head->length > 2 && (unsigned char)head->bytes[0] == 0x80 && head->bytes[1] >= 2 &&
	       head->bytes[1] <= 5;
}

static const char *read_image(struct pickle *dump, const char *path, struct json *file)
{
	const bool pickled =
		dump_is_pickle(&(struct importer_head){path, file->next, (size_t)(file->end - file->next)});
	const char *wrong;
	size_t bytes;
	char *image = json_all(file, &bytes), *ended;

	if (file->limit || file->break_off) {
		wrong = file->limit ? error_message("%s", file->limit)
				    : error_message("%s: %s", path, file->break_off);
	} else if (pickled) {
		wrong = pickle_read(dump, path, image, bytes);
	} else {
		ended = mem_alloc(bytes + 1, 1);
		if (bytes)
			memcpy(ended, image, bytes);
		wrong = text_file_parse(path, ended, &dump->root);
		free(ended);
	}
	free(image);
	return wrong;
}

const char *dump_read(struct pickle *dump, const char *path)
{
	const char *wrong;
	struct stat about;
	struct json file;
	int status;

	*dump = (struct pickle){0};
	status = json_open(&file, path);
	if (status < 0)
		return error_message("%s: %s", path, regular_file_trouble(status));
	pm_limit_begin(path, stat(path, &about) == 0 ? (uint64_t)about.st_size : 0, "byte");
	wrong = read_image(dump, path, &file);
	pm_limit_end();
	json_close(&file);
	return wrong;
}

int64_t dump_number(const cJSON *object, const char *key, int64_t otherwise)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= NUMBER_MOST
		       ? (int64_t)item->valuedouble
		       : otherwise;
}

const char *dump_place(struct arena *arena, const cJSON *frames)
{
	static const char *const others[] = {
		"/torch/", "/lib/python", "<frozen", "/dist-packages/", ".cpp", NULL};
	const cJSON *frame;

	cJSON_ArrayForEach (frame, frames) {
		const char *file = text_file_word(frame, "filename");
		bool other = *file == 0 || strcmp(file, "??") == 0;

		for (const char *const *word = others; *word; word++)
			other = other || strstr(file, *word);
		if (!other)
			return arena_format(arena, "%.200s:%lld in %.80s", file,
				(long long)dump_number(frame, "line", 0), text_file_word(frame, "name"));
	}
	return "";
}
