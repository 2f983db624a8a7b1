/* A program that is a table of commands: see command.h. */
#include "command.h"
#include "csv.h"
#include "help.h"
#include "limit.h"
#include "suggest.h"
#include "terminal.h"

#include <cjson/cJSON.h>
#include <err.h>
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDEST 80 /* of a help's lines */
#define INDENT 2

static const char *program_name;

/* Help is for people: its signs are those of their locale, its lines as long as their terminal's, WIDEST at
 * most. */
static int begin_help(FILE *out)
{
	const int width = pm_terminal_width(out);

	pm_terminal_spell_signs();
	return width < WIDEST ? width : WIDEST;
}

static void print_help(const struct program *program, FILE *out)
{
	const int width = begin_help(out);
	char forms[256];
	int column = INDENT;

	for (size_t i = 0; i < program->command_count; i++)
		column = help_column(column, INDENT, (int)strlen(program->commands[i]->name));
	help_text(program->about, width, out);
	for (size_t i = 0; i < program->command_count; i++)
		help_item(program->commands[i]->name, program->commands[i]->summary, INDENT, column, width,
			out);
	snprintf(forms, sizeof(forms),
		"\n"
		"  %s COMMAND --help\toptions and output of a command\n"
		"  %s --version\tthe version\n\n",
		program->name, program->name);
	help_text(forms, width, out);
	help_text(PM_LIMIT_HELP "\n"
				"Exit status: 0 success, 1 failure, 2 usage error.\n",
		width, out);
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

const char *command_option_name(const struct command *command, int key)
{
	static char name[64];
	const struct option_row *row = option_find(command->options, key);

	snprintf(name, sizeof(name), "--%s", row ? row->name : "?");
	return name;
}

/* The usage of a text whose lines each are a form. */
static void print_usage(const struct command *command, int width)
{
	const char *before = "usage:";
	char line[256];

	for (const char *form = command->usage; *form; form += *form == '\n') {
		const int length = (int)strcspn(form, "\n");

		snprintf(line, sizeof(line), "%-6s %s %s %.*s\n", before, program_name, command->name, length,
			form);
		help_text(line, width, stdout);
		before = "";
		form += length;
	}
}

static void print_command_help(const struct command *command)
{
	const int width = begin_help(stdout);
	char title[256];

	snprintf(title, sizeof(title), "%s %s - %s\n\n", program_name, command->name, command->summary);
	help_text(title, width, stdout);
	print_usage(command, width);
	putchar('\n');
	if (command->about) {
		help_text(command->about, width, stdout);
		putchar('\n');
	}
	option_help(command->options, width, stdout);
	putchar('\n');
	help_text(command->after, width, stdout);
}

static int end_output(int status)
{
	if (fflush(stdout) != 0 || ferror(stdout))
		err(1, "standard output");
	return status;
}

int command_option(const struct command *command, int argument_count, char **arguments)
{
	char wrong[OPTION_TROUBLE];
	const int key = option_next(command->options, argument_count, arguments, wrong);

	if (key == OPTION_WRONG)
		cmd_usage(command, "%s", wrong);
	if (key == OPTION_HELP) {
		print_command_help(command);
		exit(end_output(0));
	}
	return key;
}

void command_unhandled(const struct command *command, int key)
{
	errx(1, "defect: %s does not handle option '%s'", command->name, command_option_name(command, key));
}

unsigned long command_count(
	const struct command *command, int key, const char *text, unsigned long least, unsigned long most)
{
	const char *name = command_option_name(command, key);
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (!errno && end != text && !*end && !strchr(text, '-') && number >= least && number <= most)
		return number;
	if (most >= LONG_MAX)
		cmd_usage(command, "%s %s: expected an integer of at least %lu", name, text, least);
	cmd_usage(command, "%s %s: expected an integer from %lu to %lu", name, text, least, most);
}

double command_number(const struct command *command, int key, const char *text, double least, double most)
{
	const char *name = command_option_name(command, key);
	double number;

	if (csv_number(text, &number) == 0 && number >= least && number <= most)
		return number;
	if (most >= DBL_MAX)
		cmd_usage(command, "%s %s: expected a number of at least %g", name, text, least);
	cmd_usage(command, "%s %s: expected a number from %g to %g", name, text, least, most);
}

size_t command_word(const struct command *command, int key, const char *text, const char *const *words)
{
	const char *near;
	char known[200] = "";
	size_t count = 0;

	for (; words[count]; count++) {
		const size_t used = strlen(known);

		if (strcmp(words[count], text) == 0)
			return count;
		snprintf(known + used, sizeof(known) - used, "%s%s", count ? ", " : "", words[count]);
	}
	near = suggest(text, words, count);
	if (near)
		cmd_usage(command, "%s %s: expected one of %s (did you mean '%s'?)",
			command_option_name(command, key), text, known, near);
	cmd_usage(command, "%s %s: expected one of %s", command_option_name(command, key), text, known);
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
	else if (access(typed, F_OK) == 0)
		fprintf(stderr, ": the command comes before the files, as in %s %s", program->name,
			program->commands[0]->name);
	fprintf(stderr, "\nTry '%s --help'.\n", program->name);
	free(names);
	return 2;
}

/* What stands where the command is expected and looks like an option: one of the program's, or of a command
 * that is missing. */
static int option_before_command(const struct program *program, const char *typed)
{
	static const char *const own[] = {"--help", "--version"};
	const char *near = suggest(typed, own, 2);

	if (near)
		fprintf(stderr, "%s: unknown option '%s' (did you mean '%s'?)", program->name, typed, near);
	else
		fprintf(stderr, "%s: %s: the command comes before its options, as in %s %s %s", program->name,
			typed, program->name, program->commands[0]->name, typed);
	fprintf(stderr, "\nTry '%s --help'.\n", program->name);
	return 2;
}

static const struct command *find(const struct program *program, const char *name)
{
	for (size_t i = 0; i < program->command_count; i++)
		if (strcmp(name, program->commands[i]->name) == 0)
			return program->commands[i];
	return NULL;
}

static bool is_help(const char *argument)
{
	return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

static bool is_version(const char *argument)
{
	return strcmp(argument, "--version") == 0 || strcmp(argument, "-V") == 0;
}

static int print_version(const struct program *program)
{
	printf("%s %s\n%s\n", program->name, program->version, program->build);
	return end_output(0);
}

/* "--ranks 99": the number would be taken for a file. */
static void refuse_number_after_flag(const struct command *command, const char *before, const char *argument)
{
	const struct option_row *flag = option_flag(command->options, before);
	double number;

	if (flag && csv_number(argument, &number) == 0 && access(argument, F_OK) != 0)
		cmd_usage(command, "option '--%s' takes no argument, and there is no file '%s'", flag->name,
			argument);
}

static int run(
	const struct program *program, const struct command *command, int argument_count, char **arguments)
{
	bool json = false, csv = false;

	for (int i = 1; i < argument_count && strcmp(arguments[i], "--") != 0; i++) {
		if (is_help(arguments[i])) {
			print_command_help(command);
			return end_output(0);
		}
		if (strcmp(arguments[i], "--version") == 0)
			return print_version(program);
		json |= option_is(command->options, arguments[i], "json");
		csv |= option_is(command->options, arguments[i], "csv");
		if (i > 1)
			refuse_number_after_flag(command, arguments[i - 1], arguments[i]);
	}
	if (json && csv)
		cmd_usage(command, "--json and --csv: one of them, the output has one form");
	if (!json && !csv && !command->data)
		pm_terminal_spell_signs();
	return end_output(command->run(argument_count, arguments));
}

/* Of an object that cannot be added to another cJSON says nothing: half a result would look like a whole
 * one. */
static void *allocate(size_t bytes)
{
	void *memory = malloc(bytes);

	if (!memory)
		errx(1, "out of memory: %zu bytes", bytes);
	return memory;
}

int command_main(const struct program *program, int argument_count, char **arguments)
{
	cJSON_Hooks hooks = {.malloc_fn = allocate, .free_fn = free};
	const struct command *command;
	const char *wrong;
	bool is_word;

	program_name = program->name;
	/* A reader that has seen enough (head, less) ends this program without a word. */
	signal(SIGPIPE, SIG_DFL);
	cJSON_InitHooks(&hooks);
	pm_terminal_begin();
	wrong = pm_limit_check();
	if (wrong) {
		fprintf(stderr, "%s: %s\n", program->name, wrong);
		return 2;
	}
	if (argument_count < 2) {
		print_help(program, stderr);
		return 2;
	}
	is_word = strcmp(arguments[1], "help") == 0;
	if (is_word && argument_count > 2) {
		command = find(program, arguments[2]);
		if (!command)
			return unknown_command(program, arguments[2]);
		print_command_help(command);
		return end_output(0);
	}
	if (is_help(arguments[1]) || is_word) {
		print_help(program, stdout);
		return end_output(0);
	}
	if (is_version(arguments[1]))
		return print_version(program);
	command = find(program, arguments[1]);
	if (command)
		return run(program, command, argument_count - 1, arguments + 1);
	return arguments[1][0] == '-' ? option_before_command(program, arguments[1])
				      : unknown_command(program, arguments[1]);
}
