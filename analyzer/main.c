/* pmanalyze: the table of commands, help and version. What a command does is in cmds/COMMAND.c. */
#include "cmds/cmd.h"
#include "base/limit.h"
#include "base/option.h"
#include "base/suggest.h"
#include "base/terminal.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {&cmd_report, &cmd_layers, &cmd_balance, &cmd_comm, &cmd_path,
	&cmd_whatif, &cmd_slowdown, &cmd_model, &cmd_roofline, &cmd_compare, &cmd_html, &cmd_window,
	&cmd_arrivals, &cmd_reduce, &cmd_dump, &cmd_export};

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static void print_help(FILE *out)
{
	fputs("pmanalyze: where the time of distributed training goes\n"
	      "\n"
	      "usage: pmanalyze COMMAND [OPTION]... RUN...\n"
	      "\n"
	      "A RUN is a folder with the *.pmtrace files that libpmhook.so wrote, one per\n"
	      "process, or the files themselves. Traces of other profilers are read too:\n"
	      "Kineto (PyTorch) and other Chrome-trace JSON, and Nsight Systems' SQLite\n"
	      "exports.\n"
	      "\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "  pmanalyze COMMAND --help   options and output of a command\n"
	      "  pmanalyze --version        the version\n"
	      "\n" PM_LIMIT_HELP "\n"
	      "Exit status: 0 success, 1 failure, 2 usage error.\n",
		out);
}

void cmd_usage(const struct command *command, const char *format, ...)
{
	va_list list;

	fprintf(stderr, "pmanalyze %s: ", command->name);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fprintf(stderr, "\nTry 'pmanalyze %s --help'.\n", command->name);
	exit(2);
}

void cmd_wrong_option(const struct command *command, const struct option *options, char **arguments)
{
	char text[OPTION_TROUBLE];

	option_trouble(options, arguments, text);
	cmd_usage(command, "%s", text);
}

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

static int unknown_command(const char *typed)
{
	const char *names[COMMAND_COUNT], *near;

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i]->name;
	near = suggest(typed, names, COMMAND_COUNT);
	fprintf(stderr, "pmanalyze: unknown command '%s'", typed);
	if (near)
		fprintf(stderr, " (did you mean '%s'?)", near);
	fputs("\nTry 'pmanalyze --help'.\n", stderr);
	return 2;
}

int main(int argument_count, char **arguments)
{
	const char *wrong;
	int status;

	/* A reader that has seen enough (head, less) ends this program without a word. */
	signal(SIGPIPE, SIG_DFL);
	pm_terminal_begin();
	opterr = 0; /* cmd_wrong_option prints the errors of options */
	wrong = pm_limit_check();
	if (wrong) {
		fprintf(stderr, "pmanalyze: %s\n", wrong);
		return 2;
	}
	if (argument_count < 2) {
		print_help(stderr);
		return 2;
	}
	if (strcmp(arguments[1], "--help") == 0 || strcmp(arguments[1], "-h") == 0 ||
		strcmp(arguments[1], "help") == 0) {
		print_help(stdout);
		return 0;
	}
	if (strcmp(arguments[1], "--version") == 0 || strcmp(arguments[1], "-V") == 0) {
		puts("pmanalyze " PM_PROJECT_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(arguments[1], commands[i]->name) != 0)
			continue;
		for (int j = 2; j < argument_count && strcmp(arguments[j], "--") != 0; j++)
			if (strcmp(arguments[j], "--help") == 0 || strcmp(arguments[j], "-h") == 0) {
				fputs(commands[i]->help, stdout);
				return 0;
			}
		status = commands[i]->run(argument_count - 1, arguments + 1);
		if (fflush(stdout) != 0 || ferror(stdout))
			err(1, "standard output");
		return status;
	}
	return unknown_command(arguments[1]);
}
