/* A trial's time: see sweep_time.h. */
#include "sweep_time.h"
#include "base/csv.h"
#include "base/error_message.h"
#include "base/statistics.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is read of a program's output or of a JSON file. */
#define TEXT_MOST ((size_t)64 << 20)

struct numbers {
	double *items;
	size_t count, room;
};

static const char *sweep_time_add(struct numbers *numbers, const char *text)
{
	double number;

	if (csv_number(text, &number) < 0)
		return error_message("'%.60s' is not a number", text);
	if (numbers->count == numbers->room) {
		double *more =
			realloc(numbers->items, (numbers->room = 2 * numbers->room + 64) * sizeof(*more));

		if (!more)
			return error_message("out of memory");
		numbers->items = more;
	}
	numbers->items[numbers->count++] = number;
	return NULL;
}

static const char *median(struct numbers *numbers, double *time)
{
	if (numbers->count == 0)
		return error_message("no time found");
	statistics_sort(numbers->items, numbers->count);
	*time = statistics_median_sorted(numbers->items, numbers->count);
	return NULL;
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t size = 0, room = file && fseek(file, 0, SEEK_END) == 0 ? (size_t)ftell(file) : TEXT_MOST;
	char *text = NULL;

	if (!file)
		return NULL;
	rewind(file);
	room = room < TEXT_MOST ? room : TEXT_MOST;
	text = malloc(room + 1);
	if (text) {
		size = fread(text, 1, room, file);
		for (size_t i = 0; i < size; i++) /* a pattern does not look after a zero */
			text[i] = text[i] ? text[i] : ' ';
		text[size] = '\0';
	}
	fclose(file);
	return text;
}

static const char *read_regex(const struct sweep_time *from, const char *path, struct numbers *numbers)
{
	char *text = read_text(path);
	const char *bad = NULL, *at = text;
	regmatch_t matches[2];

	if (!text)
		return error_message("%s: cannot read", path);
	while (!bad && regexec(&from->pattern, at, 2, matches, at == text ? 0 : REG_NOTBOL) == 0) {
		const regmatch_t *match = &matches[from->pattern.re_nsub > 0];
		char *word = match->rm_so < 0
				     ? NULL
				     : strndup(at + match->rm_so, (size_t)(match->rm_eo - match->rm_so));

		if (word)
			bad = sweep_time_add(numbers, word);
		free(word);
		if (matches[0].rm_eo == 0)
			break;
		at += matches[0].rm_eo;
	}
	free(text);
	if (!bad && numbers->count == 0)
		return error_message("nothing in the output matches the pattern of --time-from");
	return bad;
}

static const char *read_csv(const struct sweep_time *from, const char *path, struct numbers *numbers)
{
	const char *name = from->key ? from->key : from->column, *bad = NULL;
	ptrdiff_t column, iterations;
	char hint[CSV_HINT];
	struct csv csv;

	if (csv_read(&csv, path) < 0) {
		bad = error_message("%s", csv.error);
		goto out;
	}
	column = csv_find(&csv, name);
	iterations = from->kind == SWEEP_TIME_CAPTURE ? csv_find(&csv, "iterations") : -1;
	if (column < 0)
		bad = error_message("%s: column %s not found%s", path, name, csv_hint(&csv, name, hint));
	for (size_t row = 0; row < csv.row_count && !bad; row++) {
		char **cells = csv.cells + row * csv.column_count;
		double count;

		if (iterations >= 0 &&
			(csv_number(cells[iterations], &count) < 0 || count < SWEEP_TIME_ITERATIONS))
			bad = error_message("%s iterations measured: expected at least %d", cells[iterations],
				SWEEP_TIME_ITERATIONS);
		else
			bad = sweep_time_add(numbers, cells[column]);
	}
out:
	csv_free(&csv);
	return bad;
}

static const char *read_json(const struct sweep_time *from, const char *path, struct numbers *numbers)
{
	char *text = read_text(path), *keys = strdup(from->key), *rest = keys, *key;
	cJSON *root = text ? cJSON_Parse(text) : NULL, *item = root;
	const char *bad = NULL;
	char number[40];

	if (!root)
		bad = error_message(text ? "%s: not valid JSON" : "%s: cannot read", path);
	while (!bad && (key = strtok_r(rest, ".", &rest))) {
		char *end;
		long place = strtol(key, &end, 10);

		item = cJSON_IsArray(item) && !*end ? cJSON_GetArrayItem(item, (int)place)
						    : cJSON_GetObjectItemCaseSensitive(item, key);
		if (!item)
			bad = error_message("%s: no %s of %s", path, key, from->key);
	}
	for (cJSON *one = cJSON_IsArray(item) ? item->child : item; one && !bad; one = one->next) {
		snprintf(number, sizeof(number), "%.17g", cJSON_IsNumber(one) ? one->valuedouble : NAN);
		bad = sweep_time_add(numbers, cJSON_IsNumber(one) ? number : "value of the key");
		if (!cJSON_IsArray(item))
			break;
	}
	cJSON_Delete(root);
	free(keys);
	free(text);
	return bad;
}

const char *sweep_time_read(const struct sweep_time *from, const char *path, double *time)
{
	struct numbers numbers = {0};
	const char *bad;

	if (from->kind == SWEEP_TIME_REGEX)
		bad = read_regex(from, path, &numbers);
	else if (from->kind == SWEEP_TIME_JSON)
		bad = read_json(from, path, &numbers);
	else
		bad = read_csv(from, path, &numbers);
	if (!bad)
		bad = median(&numbers, time);
	if (!bad && !(*time > 0 && isfinite(*time)))
		bad = error_message("the time is %g: expected a positive number", *time);
	free(numbers.items);
	return bad;
}

bool sweep_time_differs(
	const char *path, const struct space_file *space, char *const *values, char *note, size_t size)
{
	bool differs = false;
	struct csv csv;

	if (csv_read(&csv, path) == 0)
		for (size_t c = 0; c < space->column_count && !differs; c++) {
			ptrdiff_t column = csv_find(&csv, space->columns[c].name);
			double asked, seen;

			if (column < 0 || csv_number(values[c], &asked) < 0 ||
				csv_number(csv.cells[column], &seen) < 0 ||
				fabs(asked - seen) <= 1e-6 * fabs(asked))
				continue;
			snprintf(note, size, "the trace has %s %s", csv.names[column], csv.cells[column]);
			differs = true;
		}
	csv_free(&csv);
	return differs;
}

static const char *init_pattern(struct sweep_time *from, const char *pattern)
{
	char cause[200];
	int status = regcomp(&from->pattern, pattern, REG_EXTENDED | REG_NEWLINE);

	if (status == 0) {
		from->kind = SWEEP_TIME_REGEX;
		return NULL;
	}
	regerror(status, &from->pattern, cause, sizeof(cause));
	return error_message("--time-from regex:%s: %s", pattern, cause);
}

static const char *init_file(struct sweep_time *from, enum sweep_time_kind kind, const char *text)
{
	const char *colon = strrchr(text, ':');

	if (kind == SWEEP_TIME_JSON && !colon)
		return error_message("--time-from json:%s: expected json:FILE:KEY", text);
	from->file = colon ? strndup(text, (size_t)(colon - text)) : strdup(text);
	from->key = colon ? strdup(colon + 1) : NULL;
	if (!from->file || (colon && !from->key))
		return error_message("out of memory");
	if (!*from->file || (colon && !*from->key))
		return error_message("--time-from: expected a file, and a word after each colon");
	from->kind = kind;
	return NULL;
}

const char *sweep_time_init(struct sweep_time *from, const char *text, const char *column)
{
	*from = (struct sweep_time){.column = strdup(column), .skip = strdup("1")};
	if (!from->column || !from->skip)
		return error_message("out of memory");
	if (strcmp(text, "wall") == 0)
		from->kind = SWEEP_TIME_WALL;
	else if (strncmp(text, "regex:", 6) == 0)
		return init_pattern(from, text + 6);
	else if (strncmp(text, "csv:", 4) == 0)
		return init_file(from, SWEEP_TIME_CSV, text + 4);
	else if (strncmp(text, "json:", 5) == 0)
		return init_file(from, SWEEP_TIME_JSON, text + 5);
	else if (strncmp(text, "capture:", 8) == 0 && text[8] &&
		 strspn(text + 8, "0123456789") == strlen(text + 8)) {
		free(from->skip);
		from->skip = strdup(text + 8);
	} else if (strcmp(text, "capture") != 0)
		return error_message(
			"--time-from %s: expected capture, regex:PATTERN, csv:FILE, json:FILE:KEY or wall",
			text);
	return from->skip ? NULL : error_message("out of memory");
}

void sweep_time_free(struct sweep_time *from)
{
	if (from->kind == SWEEP_TIME_REGEX)
		regfree(&from->pattern);
	free(from->skip);
	free(from->file);
	free(from->key);
	free(from->column);
	*from = (struct sweep_time){0};
}
