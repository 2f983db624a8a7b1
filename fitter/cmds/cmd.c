/* What the commands do with their arguments: see cmd.h. */
#include "cmd.h"
#include "base/csv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

unsigned long cmd_count(
	const struct command *command, const char *option, const char *text, unsigned long least)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || strchr(text, '-') || number < least)
		cmd_usage(command, "%s %s: expected an integer of at least %lu", option, text, least);
	return number;
}

double cmd_number(const struct command *command, const char *option, const char *text, double least)
{
	double number;

	if (csv_number(text, &number) < 0 || number < least)
		cmd_usage(command, "%s %s: expected a number of at least %g", option, text, least);
	return number;
}
