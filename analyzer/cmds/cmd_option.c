/* Options that getopt_long refuses: which one it is, what is wrong with it, and which one may be meant. */
#include "base/suggest.h"
#include "cmd.h"

#include <string.h>

/* The option with this letter, else NULL. */
static const struct option *option_of(const struct option *options, int letter)
{
	for (; options->name; options++)
		if (options->val == letter)
			return options;
	return NULL;
}

/* "--sta": it is the beginning of several options, or of none. */
__attribute__((noreturn)) static void unknown(
	const struct command *command, const struct option *options, const char *typed)
{
	const char *names[64], *near;
	char name[64];
	size_t count = 0, alike = 0;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(typed, "="), typed);
	for (; options->name && count < sizeof(names) / sizeof(*names); options++) {
		names[count++] = options->name;
		alike += strncmp(options->name, name, strlen(name)) == 0;
	}
	near = suggest(name, names, count);
	if (alike > 1)
		cmd_usage(command, "option '--%s' is ambiguous", name);
	if (near)
		cmd_usage(command, "unknown option '--%s' (did you mean '--%s'?)", name, near);
	cmd_usage(command, "unknown option '--%s'", name);
}

void cmd_wrong_option(const struct command *command, const struct option *options, char **arguments)
{
	const char *typed = arguments[optind - 1];
	const struct option *option = option_of(options, optopt);

	if (strncmp(typed, "--", 2) == 0) {
		if (optopt == 0)
			unknown(command, options, typed + 2);
		if (option && option->has_arg == no_argument && strchr(typed, '='))
			cmd_usage(command, "option '--%s' takes no argument", option->name);
		if (option && option->has_arg == required_argument && !strchr(typed, '='))
			cmd_usage(command, "option '--%s' requires an argument", option->name);
	}
	if (option && option->has_arg == required_argument && typed[0] == '-' && typed[1] == optopt &&
		!typed[2])
		cmd_usage(command, "option '-%c' requires an argument", optopt);
	cmd_usage(command, "unknown option '-%c'", optopt);
}
