/* pmfit: the table of commands, help and version. What a command does is in cmds/cmd_COMMAND.c. */
#include "cmds/cmd.h"
#include "base/limit.h"
#include "base/suggest.h"
#include "base/terminal.h"

#include <err.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct command *const commands[] = {&cmd_sweep, &cmd_fit, &cmd_path, &cmd_search, &cmd_baselines,
	&cmd_compare, &cmd_predict, &cmd_guide, &cmd_strategy, &cmd_html, &cmd_study};

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static void print_help(FILE *out)
{
	fputs("pmfit: models of a training program's time, from measured runs\n"
	      "\n"
	      "usage: pmfit COMMAND [OPTION]... TABLE.csv\n"
	      "\n"
	      "The TABLE has a row per measured run: hyperparameters, number of GPUs, time. The\n"
	      "model is t = (sum a*I^p + categorical) * product E^q + C.\n"
	      "\n",
		out);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-9s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\n"
	      "  pmfit COMMAND --help   options and output of a command\n"
	      "  pmfit --version        the version\n"
	      "\n" PM_LIMIT_HELP "\n"
	      "Exit status: 0 success, 1 failure, 2 usage error.\n",
		out);
}

static int unknown_command(const char *typed)
{
	const char *names[COMMAND_COUNT], *near;

	for (size_t i = 0; i < COMMAND_COUNT; i++)
		names[i] = commands[i]->name;
	near = suggest(typed, names, COMMAND_COUNT);
	fprintf(stderr, "pmfit: unknown command '%s'", typed);
	if (near)
		fprintf(stderr, " (did you mean '%s'?)", near);
	fputs("\nTry 'pmfit --help'.\n", stderr);
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
		fprintf(stderr, "pmfit: %s\n", wrong);
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
		puts("pmfit " PM_PROJECT_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(arguments[1], commands[i]->name) != 0)
			continue;
		for (int j = 2; j < argument_count && strcmp(arguments[j], "--") != 0; j++)
			if (strcmp(arguments[j], "--help") == 0 || strcmp(arguments[j], "-h") == 0) {
				for (const char *const *text = commands[i]->help; *text; text++)
					fputs(*text, stdout);
				return 0;
			}
		status = commands[i]->run(argument_count - 1, arguments + 1);
		if (fflush(stdout) != 0 || ferror(stdout))
			err(1, "standard output");
		return status;
	}
	return unknown_command(arguments[1]);
}
