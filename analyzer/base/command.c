/* A program that is a table of commands: see command.h. */
#include "command.h"
#include "limit.h"
#include "option.h"
#include "suggest.h"
#include "terminal.h"

#include <err.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program_name;

static void print_help(const struct program *program, FILE *out)
{
	int width = 0;

	for (size_t i = 0; i < program->command_count; i++) {
		const int length = (int)strlen(program->commands[i]->name);

		width = length > width ? length : width;
	}
	fputs(program->about, out);
	for (size_t i = 0; i < program->command_count; i++)
		fprintf(out, "  %-*s %s\n", width, program->commands[i]->name, program->commands[i]->summary);
	fprintf(out,
		"\n"
		"  %s COMMAND --help   options and output of a command\n"
		"  %s --version        the version\n",
		program->name, program->name);
	fputs("\n" PM_LIMIT_HELP "\n"
	      "Exit status: 0 success, 1 failure, 2 usage error.\n",
		out);
}

void cmd_usage(const struct command *command, const char *format, ...)
{
	va_list list;

	fprintf(stderr, "%s %s: ", program_name, command->name);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fprintf(stderr, "\nTry '%s %s --help'.\n", program_name, command->name);
	exit(2);
}

void cmd_wrong_option(const struct command *command, const struct option *options, char **arguments)
{
	char text[OPTION_TROUBLE];

	option_trouble(options, arguments, text);
	cmd_usage(command, "%s", text);
}

static int unknown_command(const struct program *program, const char *typed)
{
	const char **names = calloc(program->command_count, sizeof(*names)), *near;

	for (size_t i = 0; names && i < program->command_count; i++)
		names[i] = program->commands[i]->name;
	near = names ? suggest(typed, names, program->command_count) : NULL;
	fprintf(stderr, "%s: unknown command '%s'", program->name, typed);
	if (near)
		fprintf(stderr, " (did you mean '%s'?)", near);
	fprintf(stderr, "\nTry '%s --help'.\n", program->name);
	free(names);
	return 2;
}

static bool is_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static int run(const struct command *command, int argument_count, char **arguments)
{
	int status;

	for (int i = 1; i < argument_count && strcmp(arguments[i], "--") != 0; i++)
		if (is_help(arguments[i])) {
			for (const char *const *text = command->help; *text; text++)
				fputs(*text, stdout);
			return 0;
		}
	status = command->run(argument_count, arguments);
	if (fflush(stdout) != 0 || ferror(stdout))
		err(1, "standard output");
	return status;
}

int command_main(const struct program *program, int argument_count, char **arguments)
{
	const char *wrong;

	program_name = program->name;
	/* A reader that has seen enough (head, less) ends this program without a word. */
	signal(SIGPIPE, SIG_DFL);
	pm_terminal_begin();
	opterr = 0; /* cmd_wrong_option prints the errors of options */
	wrong = pm_limit_check();
	if (wrong) {
		fprintf(stderr, "%s: %s\n", program->name, wrong);
		return 2;
	}
	if (argument_count < 2) {
		print_help(program, stderr);
		return 2;
	}
	if (is_help(arguments[1]) || strcmp(arguments[1], "help") == 0) {
		print_help(program, stdout);
		return 0;
	}
	if (strcmp(arguments[1], "--version") == 0 || strcmp(arguments[1], "-V") == 0) {
		printf("%s %s\n%s\n", program->name, program->version, program->build);
		return 0;
	}
	for (size_t i = 0; i < program->command_count; i++)
		if (strcmp(arguments[1], program->commands[i]->name) == 0)
			return run(program->commands[i], argument_count - 1, arguments + 1);
	return unknown_command(program, arguments[1]);
}
