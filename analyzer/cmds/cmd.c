/* What the commands do with their arguments: see cmd.h. */
#include "cmd.h"

#include <errno.h>
#include <stdlib.h>

long cmd_number(const struct command *command, const char *option, const char *text, long least)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number < least)
		cmd_usage(command, "%s %s: expected an integer of %ld or more", option, text, least);
	return number;
}
