/* Options and exit status of --fail-if-slower: see gate.h. */
#include "gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

double gate_share(const struct command *command, int key, const char *text)
{
	char *end;
	double number;

	errno = 0;
	number = strtod(text, &end);
	if (end != text && *end == '%') {
		number /= 100;
		end++;
	}
	if (errno || end == text || *end || !(number >= 0 && number < 1))
		cmd_usage(command, "%s %s: expected a share, such as 1%% or 0.01",
			command_option_name(command, key), text);
	return number;
}

enum compare_gate_time gate_time(const struct command *command, const char *text)
{
	static const char *const words[] = {"auto", "device", "step"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(text, words[i]) == 0)
			return (enum compare_gate_time)i;
	cmd_usage(command, "--gate-by %s: expected auto, device or step", text);
}

int gate_status(enum slower_answer answer)
{
	return answer == SLOWER_YES ? 3 : answer == SLOWER_NO ? 0 : 4;
}
