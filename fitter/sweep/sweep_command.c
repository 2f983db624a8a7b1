/* The command of a trial: the template's words with {column}, {out} and {trial} filled in. See sweep_run.h.
 */
#include "sweep_run.h"
#include "base/error_message.h"
#include "sweep_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The placeholder that begins at a brace: its name's length, 0 if the brace is only a brace. */
static size_t placeholder(const char *brace)
{
	size_t length = strcspn(brace + 1, "{} \t\n\"':,");

	return brace[1 + length] == '}' ? length : 0;
}

static ptrdiff_t column_of(const struct space_file *space, const char *name, size_t length)
{
	for (size_t c = 0; c < space->column_count; c++)
		if (strlen(space->columns[c].name) == length &&
			strncmp(space->columns[c].name, name, length) == 0)
			return (ptrdiff_t)c;
	return -1;
}

static bool is(const char *name, size_t length, const char *word)
{
	return strlen(word) == length && strncmp(name, word, length) == 0;
}

static const char *argument_for(const struct space_file_column *column, const char *value)
{
	for (size_t l = 0; column->words && l < column->level_count; l++)
		if (column->words[l] && strcmp(column->levels[l], value) == 0)
			return column->words[l];
	return value;
}

char *sweep_command_folder(const struct sweep_run *run, size_t trial)
{
	char *folder;

	return asprintf(&folder, "%s/trial-%zu", run->folder, trial + 1) < 0 ? NULL : folder;
}

char *sweep_command_fill(const struct sweep_run *run, size_t trial, char *const *values, const char *word)
{
	const struct space_file *space = run->plan->space;
	char *text = NULL, *folder;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	while (*word) {
		size_t length = *word == '{' ? placeholder(word) : 0;
		ptrdiff_t column = length ? column_of(space, word + 1, length) : -1;

		if (column >= 0) {
			fputs(argument_for(&space->columns[column], values[column]), out);
		} else if (length && is(word + 1, length, "trial")) {
			fprintf(out, "%zu", trial + 1);
		} else if (length && is(word + 1, length, "out")) {
			folder = sweep_command_folder(run, trial);
			fputs(folder ? folder : "", out);
			free(folder);
		} else {
			fputc(*word++, out);
			continue;
		}
		word += length + 2;
	}
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

char **sweep_run_arguments(const struct sweep_run *run, size_t trial, char *const *values)
{
	size_t count = 0, used = 0;
	char **words;

	while (run->command[count])
		count++;
	words = calloc(count + 1, sizeof(*words));
	for (size_t i = 0; words && i < count; i++) {
		words[used] = sweep_command_fill(run, trial, values, run->command[i]);
		if (!words[used]) {
			sweep_run_free_arguments(words);
			return NULL;
		}
		/* a placeholder that stands for no word at all */
		if (*words[used] || !*run->command[i])
			used++;
		else
			free(words[used]);
	}
	if (words)
		words[used] = NULL;
	return words;
}

void sweep_run_free_arguments(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

char **sweep_command_split(const char *text)
{
	char **words = calloc(strlen(text) + 2, sizeof(*words)), *word = strdup(text), *out = word;
	size_t count = 0;
	char quote = 0;

	for (const char *at = text; words && word; at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"') {
			quote = quote ? 0 : *at;
			continue;
		}
		if (*at && (quote || !strchr(" \t\n", *at))) {
			*out++ = *at;
			continue;
		}
		if (out > word) {
			words[count++] = strndup(word, (size_t)(out - word));
			out = word;
		}
		if (!*at)
			break;
	}
	free(word);
	return words;
}

/* Marks the columns that a word has; answers the first placeholder that nothing stands for. */
static const char *scan(const struct space_file *space, const char *word, bool *used, bool *has_out)
{
	for (; (word = strchr(word, '{')); word++) {
		size_t length = placeholder(word);
		ptrdiff_t column = column_of(space, word + 1, length);

		if (length == 0)
			continue;
		if (column >= 0)
			used[column] = true;
		else if (is(word + 1, length, "out"))
			*has_out = true;
		else if (!is(word + 1, length, "trial"))
			return word;
	}
	return NULL;
}

const char *sweep_run_check(const struct sweep_run *run)
{
	const struct space_file *space = run->plan->space;
	bool used[space->column_count], has_out = false;
	const char *bad = NULL;

	memset(used, 0, sizeof(used));
	for (size_t i = 0; run->command[i] && !bad; i++)
		bad = scan(space, run->command[i], used, &has_out);
	if (bad)
		return error_message("%.*s in the command is not a column of %s", (int)strcspn(bad, "}") + 1,
			bad, space->path);
	for (size_t c = 0; c < space->column_count; c++)
		if (!used[c])
			return error_message(
				"the command has no {%s}: all trials would run with the same value",
				space->columns[c].name);
	if (run->time->kind == SWEEP_TIME_CAPTURE && !has_out)
		return error_message(
			"the command has no {out}, the folder of its traces; add it or set another "
			"--time-from");
	return NULL;
}
