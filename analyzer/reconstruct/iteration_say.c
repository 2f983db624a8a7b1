/* The user's say: see iteration_say.h. */
#include "iteration_say.h"
#include "sequence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool set_pattern(
	char **text, regex_t *pattern, const char *what, const char *value, char error[ITERATION_SAY_ERROR])
{
	char reason[128];
	int status;

	if (*text)
		regfree(pattern);
	free(*text);
	*text = NULL;
	status = *value ? regcomp(pattern, value, REG_EXTENDED | REG_NOSUB) : REG_BADPAT;
	if (status == 0) {
		*text = strdup(value);
		return true;
	}
	regerror(status, pattern, reason, sizeof(reason));
	snprintf(error, ITERATION_SAY_ERROR, "%s %s: %s", what, value,
		*value ? reason : "the pattern is empty");
	return false;
}

bool iteration_say_set(
	struct iteration_say *say, const char *what, const char *value, char error[ITERATION_SAY_ERROR])
{
	char *end;
	long number;

	if (strcmp(what, "at") == 0)
		return set_pattern(&say->at, &say->at_pattern, what, value, error);
	if (strcmp(what, "end") == 0)
		return set_pattern(&say->end, &say->end_pattern, what, value, error);
	if (strcmp(what, "every") != 0) {
		snprintf(error, ITERATION_SAY_ERROR, "%s: not one of at, end, every", what);
		return false;
	}
	errno = 0;
	number = strtol(value, &end, 10);
	if (errno || *end || end == value || number < 1 || number > 1000000000) {
		snprintf(error, ITERATION_SAY_ERROR, "every %s: not a number from 1 to 1000000000", value);
		return false;
	}
	say->every = (size_t)number;
	return true;
}

void iteration_say_free(struct iteration_say *say)
{
	if (say->at)
		regfree(&say->at_pattern);
	if (say->end)
		regfree(&say->end_pattern);
	free(say->at);
	free(say->end);
	memset(say, 0, sizeof(*say));
}

/* The file's path, which the caller frees. */
static char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	char *file = NULL;
	int length;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		length = asprintf(&file, "%s/%s", path, ITERATION_SAY_FILE);
	else
		length = asprintf(
			&file, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, ITERATION_SAY_FILE);
	return length < 0 ? NULL : file;
}

/* Takes off a line's end and comment; false: nothing is left. */
static bool trim_line(char *line)
{
	size_t length = strlen(line);

	while (length > 0 && strchr(" \t\r\n", line[length - 1]))
		line[--length] = 0;
	return length > 0 && line[0] != '#';
}

int iteration_say_read(struct iteration_say *say, const char *path, char error[ITERATION_SAY_ERROR])
{
	char *name = file_of(path), line[1024], reason[ITERATION_SAY_ERROR];
	FILE *file = name ? fopen(name, "re") : NULL;
	int number = 0, status = 1;

	while (file && status > 0 && fgets(line, sizeof(line), file)) {
		char *value;

		number++;
		if (!trim_line(line))
			continue;
		value = strpbrk(line, " \t");
		if (value)
			*value++ = 0;
		if (!iteration_say_set(say, line, value ? value : "", reason)) {
			snprintf(error, ITERATION_SAY_ERROR, "%.150s line %d: %.300s", name, number, reason);
			status = -1;
		}
	}
	if (!file)
		status = 0;
	else
		fclose(file);
	free(name);
	return status;
}

bool iteration_say_write(const struct iteration_say *say, const char *path, char error[ITERATION_SAY_ERROR])
{
	char *name = file_of(path);
	FILE *file = name ? fopen(name, "we") : NULL;
	bool written = file;

	if (file) {
		fputs("# where iterations are, as pmanalyze --iteration-keep wrote it\n", file);
		if (say->at)
			fprintf(file, "at %s\n", say->at);
		if (say->end)
			fprintf(file, "end %s\n", say->end);
		if (say->every)
			fprintf(file, "every %zu\n", say->every);
		written = !ferror(file);
		written = fclose(file) == 0 && written;
	}
	if (!written)
		snprintf(error, ITERATION_SAY_ERROR, "%s: %s", name ? name : path, strerror(errno));
	free(name);
	return written;
}

bool iteration_say_matches(
	const regex_t *pattern, const struct timeline *timeline, const struct timeline_operation *operation)
{
	const char *texts[] = {timeline->functions[operation->function].name,
		sequence_kernel(timeline, operation), operation->site, operation->module};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i] && regexec(pattern, texts[i], 0, NULL, 0) == 0)
			return true;
	return false;
}
