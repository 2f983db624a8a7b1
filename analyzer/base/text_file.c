/* Text files: see text_file.h. */
#include "text_file.h"
#include "limit.h"
#include "error_message.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BLOCK 65536

static const char *read_file(const char *path, FILE *file, char **text, size_t *size)
{
	size_t room = 0, got;
	const char *met;

	*size = 0;
	do {
		if (*size + BLOCK + 1 > room) {
			char *more;

			room = 2 * room + BLOCK + 1;
			met = pm_limit_memory(room);
			if (met)
				return error_message("%s", met);
			more = realloc(*text, room);
			if (!more)
				return error_message("%s: out of memory", path);
			*text = more;
		}
		got = fread(*text + *size, 1, BLOCK, file);
		*size += got;
		met = pm_limit_at(*size);
	} while (got > 0 && !met);
	(*text)[*size] = '\0';
	if (met)
		return error_message("%s", met);
	if (ferror(file) && errno == EISDIR)
		return error_message("%s: a folder, expected a file", path);
	return ferror(file) ? error_message("%s: cannot read: %s", path, strerror(errno)) : NULL;
}

/* The file is what this thread reads from now on. */
static const char *begin(const char **path, FILE **file)
{
	bool input = strcmp(*path, "-") == 0;
	struct stat status;

	*file = input ? stdin : fopen(*path, "re");
	*path = input ? "standard input" : *path;
	if (!*file)
		return error_message("%s: %s", *path, strerror(errno));
	pm_limit_begin(*path,
		fstat(fileno(*file), &status) == 0 && S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0,
		"byte");
	return NULL;
}

static void end(FILE *file)
{
	if (file != stdin)
		fclose(file);
	pm_limit_end();
}

const char *text_file_read(const char *path, char **text, size_t *size)
{
	const char *bad;
	FILE *file;

	*text = NULL;
	*size = 0;
	bad = begin(&path, &file);
	if (bad)
		return bad;
	bad = read_file(path, file, text, size);
	end(file);
	if (bad) {
		free(*text);
		*text = NULL;
	}
	return bad;
}

/* The parser has a limit of its own, and says only that something is wrong. */
static const char *check_depth(const char *text)
{
	double depth = 0, most = pm_limit_value(PM_LIMIT_DEPTH);
	bool string = false;

	most = most < CJSON_NESTING_LIMIT ? most : CJSON_NESTING_LIMIT;
	for (const char *at = text; *at; at++) {
		if (string) {
			at += *at == '\\' && at[1];
			string = *at != '"';
		} else if (*at == '"') {
			string = true;
		} else if (*at == '[' || *at == '{') {
			pm_limit_at((uint64_t)(at - text));
			if (++depth > most)
				return error_message("%s", pm_limit_met(PM_LIMIT_DEPTH));
		} else if (*at == ']' || *at == '}') {
			depth--;
		}
	}
	return NULL;
}

const char *text_file_parse(const char *path, const char *text, cJSON **root)
{
	const char *wrong = NULL, *bad = check_depth(text);

	*root = NULL;
	if (bad)
		return bad;
	*root = cJSON_ParseWithOpts(text, &wrong, 0);
	if (!*root)
		return error_message("%s: byte %td: invalid JSON%s", path, wrong ? wrong - text : 0,
			*text ? "" : ": an empty file");
	return NULL;
}

const char *text_file_json(const char *path, cJSON **root)
{
	const char *bad;
	char *text = NULL;
	size_t size;
	FILE *file;

	*root = NULL;
	bad = begin(&path, &file);
	if (bad)
		return bad;
	bad = read_file(path, file, &text, &size);
	if (!bad)
		bad = text_file_parse(path, text, root);
	end(file);
	free(text);
	return bad;
}

const char *text_file_lines(const char *path, const char *(*take)(void *context, char *line), void *context)
{
	const char *bad;
	char *line = NULL, cause[400];
	size_t room = 0, number = 0;
	uint64_t place = 0;
	ssize_t length;
	FILE *file;

	bad = begin(&path, &file);
	if (bad)
		return bad;
	while (!bad && (length = getline(&line, &room, file)) >= 0) {
		number++;
		bad = pm_limit_at(place);
		if (!bad)
			bad = pm_limit_memory(room);
		if (bad) {
			bad = error_message("%s", bad);
			break;
		}
		place += (uint64_t)length;
		bad = take(context, line);
		if (bad) {
			snprintf(cause, sizeof(cause), "%s", bad);
			bad = pm_limit_time() ? error_message("%s", pm_limit_time())
					      : error_message("%s: line %zu: %s", path, number, cause);
		}
	}
	if (!bad && ferror(file))
		bad = errno == EISDIR ? error_message("%s: a folder, expected a file", path)
				      : error_message("%s: cannot read: %s", path, strerror(errno));
	free(line);
	end(file);
	return bad;
}

const char *text_file_word(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text ? text : "";
}
