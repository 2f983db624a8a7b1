/* The user's rule: see iteration_rule.h. */
#include "iteration_rule.h"
#include "base/regular_file.h"
#include "sequence.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool set_pattern(
	char **text, regex_t *pattern, const char *what, const char *value, char error[ITERATION_RULE_ERROR])
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
	snprintf(error, ITERATION_RULE_ERROR, "%s %s: %s", what, value,
		*value ? reason : "the pattern is empty");
	return false;
}

bool iteration_rule_set(
	struct iteration_rule *rule, const char *what, const char *value, char error[ITERATION_RULE_ERROR])
{
	char *end;
	long number;

	if (strcmp(what, "at") == 0)
		return set_pattern(&rule->at, &rule->at_pattern, what, value, error);
	if (strcmp(what, "end") == 0)
		return set_pattern(&rule->end, &rule->end_pattern, what, value, error);
	if (strcmp(what, "every") != 0) {
		snprintf(error, ITERATION_RULE_ERROR, "%s: not one of at, end, every", what);
		return false;
	}
	errno = 0;
	number = strtol(value, &end, 10);
	if (errno || *end || end == value || number < 1 || number > 1000000000) {
		snprintf(error, ITERATION_RULE_ERROR, "every %s: not a number from 1 to 1000000000", value);
		return false;
	}
	rule->every = (size_t)number;
	return true;
}

void iteration_rule_free(struct iteration_rule *rule)
{
	if (rule->at)
		regfree(&rule->at_pattern);
	if (rule->end)
		regfree(&rule->end_pattern);
	free(rule->at);
	free(rule->end);
	memset(rule, 0, sizeof(*rule));
}

/* The file's path, which the caller frees. */
static char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct stat status;
	char *file = NULL;
	int length;

	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
		length = asprintf(&file, "%s/%s", path, ITERATION_RULE_FILE);
	else
		length = asprintf(
			&file, "%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, ITERATION_RULE_FILE);
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

int iteration_rule_read(struct iteration_rule *rule, const char *path, char error[ITERATION_RULE_ERROR])
{
	char *name = file_of(path), line[1024], reason[ITERATION_RULE_ERROR];
	int descriptor = name ? regular_file_open(name) : -1, number = 0, status = 1;
	FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "r");

	while (file && status > 0 && fgets(line, sizeof(line), file)) {
		char *value;

		number++;
		if (!trim_line(line))
			continue;
		value = strpbrk(line, " \t");
		if (value)
			*value++ = 0;
		if (!iteration_rule_set(rule, line, value ? value : "", reason)) {
			snprintf(error, ITERATION_RULE_ERROR, "%.150s line %d: %.300s", name, number, reason);
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

bool iteration_rule_write(
	const struct iteration_rule *rule, const char *path, char error[ITERATION_RULE_ERROR])
{
	char *name = file_of(path);
	FILE *file = name ? fopen(name, "we") : NULL;
	bool written = file;

	if (file) {
		fputs("# where iterations are, as pmanalyze --iteration-keep wrote it\n", file);
		if (rule->at)
			fprintf(file, "at %s\n", rule->at);
		if (rule->end)
			fprintf(file, "end %s\n", rule->end);
		if (rule->every)
			fprintf(file, "every %zu\n", rule->every);
		written = !ferror(file);
		written = fclose(file) == 0 && written;
	}
	if (!written)
		snprintf(error, ITERATION_RULE_ERROR, "%s: %s", name ? name : path, strerror(errno));
	free(name);
	return written;
}

bool iteration_rule_matches(
	const regex_t *pattern, const struct timeline *timeline, const struct timeline_operation *operation)
{
	const char *texts[] = {timeline->functions[operation->function].name,
		sequence_kernel(timeline, operation), operation->site, operation->module};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (texts[i] && regexec(pattern, texts[i], 0, NULL, 0) == 0)
			return true;
	return false;
}
