/* --comm-pattern: a regular expression, or a file with one on each line. */
#include "base/text_file.h"
#include "cmd_common.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct pattern_list {
	char *text; /* "(one)|(other)" */
	char error[256];
};

static const char *try_pattern(struct pattern_list *list, const char *pattern)
{
	regex_t one;
	int status = regcomp(&one, pattern, REG_EXTENDED | REG_NOSUB);

	if (status)
		regerror(status, &one, list->error, sizeof(list->error));
	else
		regfree(&one);
	return status ? list->error : NULL;
}

/* Of a file's lines those that are neither empty nor comments. */
static const char *take_line(void *context, char *line)
{
	struct pattern_list *list = context;
	const char *bad;
	char *longer;

	line[strcspn(line, "\r\n")] = 0;
	if (line[0] == 0 || line[0] == '#')
		return NULL;
	bad = try_pattern(list, line);
	if (bad)
		return bad;
	if (asprintf(&longer, "%s%s(%s)", list->text ? list->text : "", list->text ? "|" : "", line) < 0)
		return "out of memory";
	free(list->text);
	list->text = longer;
	return NULL;
}

const regex_t *cmd_pattern(const struct command *command, const char *argument)
{
	static regex_t pattern;
	static bool made;
	struct pattern_list list = {0};
	const char *bad = *argument == '@' ? text_file_lines(argument + 1, take_line, &list)
					   : try_pattern(&list, argument);

	if (!bad && *argument == '@' && !list.text)
		bad = "no pattern in the file: expected an extended regular expression on each line";
	if (bad)
		cmd_usage(command, "--comm-pattern %s: %s", argument, bad);
	if (made)
		regfree(&pattern);
	made = regcomp(&pattern, list.text ? list.text : argument, REG_EXTENDED | REG_NOSUB) == 0;
	free(list.text);
	if (!made)
		cmd_usage(command, "--comm-pattern %s: the patterns together are too large", argument);
	return &pattern;
}
