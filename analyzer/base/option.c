/* Options that getopt_long refuses: see option.h. */
#include "option.h"
#include "suggest.h"

#include <stdbool.h>
#include <stdio.h>
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
static void unknown(const struct option *options, const char *typed, char text[OPTION_TROUBLE])
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
		snprintf(text, OPTION_TROUBLE, "option '--%s' is ambiguous", name);
	else if (near)
		snprintf(text, OPTION_TROUBLE, "unknown option '--%s' (did you mean '--%s'?)", name, near);
	else
		snprintf(text, OPTION_TROUBLE, "unknown option '--%s'", name);
}

void option_trouble(const struct option *options, char **arguments, char text[OPTION_TROUBLE])
{
	const char *typed = arguments[optind - 1];
	const struct option *option = option_of(options, optopt);
	const bool is_long = strncmp(typed, "--", 2) == 0;

	if (is_long && optopt == 0)
		unknown(options, typed + 2, text);
	else if (is_long && option && option->has_arg == no_argument && strchr(typed, '='))
		snprintf(text, OPTION_TROUBLE, "option '--%s' takes no argument", option->name);
	else if (is_long && option && option->has_arg == required_argument && !strchr(typed, '='))
		snprintf(text, OPTION_TROUBLE, "option '--%s' requires an argument", option->name);
	else if (option && option->has_arg == required_argument && typed[0] == '-' && typed[1] == optopt &&
		 !typed[2])
		snprintf(text, OPTION_TROUBLE, "option '-%c' requires an argument", optopt);
	else
		snprintf(text, OPTION_TROUBLE, "unknown option '-%c'", optopt);
}
