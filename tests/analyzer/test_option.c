/* Checks that one table of rows gives the parsing of options and their help, at every width from 60 to 80. */
#include "base/help.h"
#include "base/option.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define LONG \
	"one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"

enum { TOP = OPTION_FIRST, COLOUR, SKIP, OWN_SKIP, PATTERN };

static const struct option_row own[] = {
	{"top", TOP, "N", LONG},
	{"skip", OWN_SKIP, "N", "the command's own text"},
	{"output", 'o', "FILE", LONG " " LONG},
	{NULL, 0, NULL,
		"Further options, which are many, and whose heading is longer than a line of 80 has room for:"},
	{"colour", COLOUR, "[=WHEN]", "first\nsecond"},
	{0},
};
static const struct option_row shared[] = {
	{"skip", SKIP, "N", "the shared text"},
	{"a-name-that-has-no-column", PATTERN, "REGEX", LONG},
	{0},
};
static const struct option_row *const *const tables = OPTION_TABLES(own, shared);

/* The keys of a command line, and the first's argument. */
static void check_line(const char *line, int first, int second, const char *argument, const char *sentence)
{
	char copy[200], *arguments[10] = {"command"}, text[OPTION_TROUBLE] = "";
	int count = 1, key;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
		arguments[count++] = word;
	optind = 0;
	key = option_next(tables, count, arguments, text);
	CHECK(key == first, "%s: %d", line, key);
	CHECK(strcmp(text, sentence) == 0, "%s: %s", line, text);
	if (key < 0 || key == OPTION_WRONG)
		return;
	CHECK(argument ? optarg && strcmp(optarg, argument) == 0 : !optarg, "%s: %s", line,
		optarg ? optarg : "-");
	key = option_next(tables, count, arguments, text);
	CHECK(key == second, "%s: then %d", line, key);
}

static void check_lines(void)
{
	check_line("run", -1, 0, NULL, "");
	check_line("run --top 3", TOP, -1, "3", "");
	check_line("--top=3 run -o f", TOP, 'o', "3", "");
	check_line("-of --colour", 'o', COLOUR, "f", "");
	check_line("--output f --colour=never", 'o', COLOUR, "f", "");
	check_line("--colour --to 1", COLOUR, TOP, NULL, "");
	check_line("--colour=never", COLOUR, -1, "never", "");
	check_line("--skip 2", OWN_SKIP, -1, "2", "");
	check_line("--a-name 2", PATTERN, -1, "2", "");
	check_line("--hel", OPTION_HELP, -1, NULL, "");
	check_line("-- --top", -1, 0, NULL, "");
	check_line("--tpo 3", OPTION_WRONG, 0, NULL, "unknown option '--tpo' (did you mean '--top'?)");
	check_line("--top", OPTION_WRONG, 0, NULL, "option '--top' requires an argument");
	check_line("--help=1", OPTION_WRONG, 0, NULL, "option '--help' takes no argument");
	check_line("-o", OPTION_WRONG, 0, NULL, "option '-o' requires an argument");
	check_line("-x", OPTION_WRONG, 0, NULL, "unknown option '-x'");
}

/* Options after a command of their own are left to it. */
static void check_leading(void)
{
	char *arguments[] = {"program", "--top", "3", "command", "--top", "4"}, text[OPTION_TROUBLE];
	const int count = sizeof(arguments) / sizeof(arguments[0]);

	optind = 0;
	CHECK(option_next_leading(tables, count, arguments, text) == TOP, "before the command");
	CHECK(option_next_leading(tables, count, arguments, text) == -1 && optind == 3, "behind it: %d",
		optind);
}

static char *help_at(int width)
{
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	option_help(tables, width, out);
	fclose(out);
	return text;
}

/* Without what the layout adds: blanks in a row, and ends of lines. */
static char *words_of(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		const char byte = *from == '\n' ? ' ' : *from;

		if (byte != ' ' || (to > text && to[-1] != ' '))
			*to++ = byte;
	}
	*to = '\0';
	return text;
}

static void check_widths(void)
{
	char *whole = words_of(help_at(1000));

	for (int width = 60; width <= 80; width++) {
		char *text = help_at(width);

		for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n')
			CHECK((int)strcspn(line, "\n") <= width, "%d: %.*s", width, (int)strcspn(line, "\n"),
				line);
		words_of(text);
		CHECK(strcmp(text, whole) == 0, "%d: %s", width, text);
		free(text);
	}
	CHECK(strstr(whole, "--skip N the command's own text"), "%s", whole);
	CHECK(!strstr(whole, "the shared text"), "%s", whole);
	free(whole);
}

static void check_layout(void)
{
	static const char text[] = "a b c d e f g h i j k l m n o p\n"
				   "\n"
				   "  term\tits text is longer than this\n"
				   "  a longer\tone\n"
				   "  as   it   is\n";
	static const char expected[] = "a b c d e f g h i j\n"
				       "k l m n o p\n"
				       "\n"
				       "  term    its text\n"
				       "          is longer\n"
				       "          than this\n"
				       "  a longer\n"
				       "          one\n"
				       "  as   it   is\n";
	char *made;
	size_t size;
	FILE *out = open_memstream(&made, &size);

	help_text(text, 20, out);
	fclose(out);
	CHECK(strcmp(made, expected) == 0, "%s", made);
	free(made);
	made = help_at(80);
	CHECK(strncmp(made, "      --top N          one two", 30) == 0, "%s", made);
	CHECK(strstr(made, "\n  -o, --output FILE    one"), "%s", made);
	CHECK(strstr(made, "\n      --colour[=WHEN]  first\n                       second\n"), "%s", made);
	CHECK(strstr(made, "\n      --a-name-that-has-no-column REGEX\n                       one"), "%s",
		made);
	free(made);
}

int main(void)
{
	check_lines();
	check_leading();
	check_widths();
	check_layout();
	return check_end();
}
