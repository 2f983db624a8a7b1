/* Space files: see space_file.h. Each line has a word that says what follows; one function reads each kind.
 */
#include "space_file.h"
#include "base/csv.h"
#include "base/error_message.h"
#include "base/installed_file.h"
#include "base/limit.h"
#include "base/text_file.h"
#include "space_rule.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEPARATORS " \t\r\n,"
/* Names of columns and lets that a rule sees. */
#define NAMES_MOST 256

static const char *no_memory(void)
{
	return error_message("out of memory");
}

static struct space_file_column *find_column(struct space_file *space, const char *name)
{
	for (size_t i = 0; i < space->column_count; i++)
		if (strcmp(space->columns[i].name, name) == 0)
			return &space->columns[i];
	return NULL;
}

static const char *add_column(struct space_file *space, const char *name, struct space_file_column **column)
{
	struct space_file_column *more;

	if (!name)
		return error_message("expected a column name");
	if (find_column(space, name))
		return error_message("column %s: levels are already defined", name);
	if (space->column_count == NAMES_MOST / 2)
		return error_message("too many columns");
	more = realloc(space->columns, (space->column_count + 1) * sizeof(*more));
	if (!more)
		return no_memory();
	space->columns = more;
	*column = &more[space->column_count++];
	**column = (struct space_file_column){.name = strdup(name)};
	return (*column)->name ? NULL : no_memory();
}

static const char *read_levels(struct space_file *space, char *rest)
{
	struct space_file_column *column;
	const char *bad = add_column(space, strtok_r(rest, SEPARATORS, &rest), &column);
	char *word;

	while (!bad && (word = strtok_r(NULL, SEPARATORS, &rest))) {
		char **more = realloc(column->levels, (column->level_count + 2) * sizeof(*more));

		if (!more)
			return no_memory();
		column->levels = more;
		bad = pm_limit_time();
		for (size_t i = 0; i < column->level_count; i++)
			if (strcmp(more[i], word) == 0)
				bad = error_message("column %s has level %s twice", column->name, word);
		if (strpbrk(word, "\"{}"))
			bad = error_message("level %s: quotes and braces are not allowed", word);
		more[column->level_count] = strdup(word);
		if (!more[column->level_count++])
			return no_memory();
		more[column->level_count] = NULL;
	}
	if (!bad && column->level_count == 0)
		bad = error_message("column %s: expected levels", column->name);
	return bad;
}

static const char *read_range(struct space_file *space, char *rest)
{
	struct space_file_column *column;
	const char *bad = add_column(space, strtok_r(rest, SEPARATORS, &rest), &column), *least, *greatest;
	char *word;

	if (bad)
		return bad;
	least = strtok_r(NULL, SEPARATORS, &rest);
	greatest = strtok_r(NULL, SEPARATORS, &rest);
	if (!least || !greatest || csv_number(least, &column->least) < 0 ||
		csv_number(greatest, &column->greatest) < 0 || !(column->least < column->greatest))
		return error_message("range %s: expected two numbers, the lower first", column->name);
	while ((word = strtok_r(NULL, SEPARATORS, &rest)))
		if (strcmp(word, "log") == 0)
			column->logarithmic = true;
		else if (strcmp(word, "integer") == 0)
			column->integer = true;
		else
			return error_message("range %s: %s: expected log or integer", column->name, word);
	if (column->logarithmic && !(column->least > 0))
		return error_message("range %s: log requires numbers above 0", column->name);
	if (column->integer && floor(column->greatest) < ceil(column->least))
		return error_message("range %s: contains no integer", column->name);
	return NULL;
}

static const char *read_words(struct space_file *space, char *rest)
{
	char *name = strtok_r(rest, SEPARATORS, &rest), *pair;
	struct space_file_column *column = name ? find_column(space, name) : NULL;

	if (!column || !column->levels)
		return error_message(
			"words %s: expected a column with levels defined above", name ? name : "");
	if (!column->words)
		column->words = calloc(column->level_count, sizeof(*column->words));
	if (!column->words)
		return no_memory();
	while ((pair = strtok_r(NULL, " \t\r\n", &rest))) {
		char *equals = strchr(pair, '=');
		size_t i = 0;

		if (pm_limit_time())
			return pm_limit_time();
		if (equals)
			*equals = '\0';
		while (i < column->level_count && strcmp(column->levels[i], pair) != 0)
			i++;
		if (!equals || i == column->level_count)
			return error_message("words %s: %s: expected LEVEL=WORD", column->name, pair);
		free(column->words[i]);
		column->words[i] = strdup(equals + 1);
		if (!column->words[i])
			return no_memory();
	}
	return NULL;
}

static char *trimmed(const char *text)
{
	size_t length;

	text += strspn(text, " \t");
	length = strlen(text);
	while (length && isspace((unsigned char)text[length - 1]))
		length--;
	return strndup(text, length);
}

static const char *add_rule(struct space_file *space, char *name, const char *text)
{
	struct space_file_rule *more = realloc(space->rules, (space->rule_count + 1) * sizeof(*more));

	if (!more)
		return no_memory();
	space->rules = more;
	more[space->rule_count] = (struct space_file_rule){name ? trimmed(name) : NULL, trimmed(text)};
	if (!more[space->rule_count].text || (name && !more[space->rule_count].name))
		return no_memory();
	space->rule_count++;
	return NULL;
}

static const char *read_let(struct space_file *space, char *rest)
{
	char *equals = strchr(rest, '=');

	if (!equals || space->rule_count == NAMES_MOST / 2)
		return error_message("let: expected NAME = EXPRESSION");
	*equals = '\0';
	return add_rule(space, rest, equals + 1);
}

static const char *read_require(struct space_file *space, char *rest)
{
	return add_rule(space, NULL, rest);
}

static const char *read_refusal(struct space_file *space, char *rest)
{
	struct space_file_refusal *more =
		realloc(space->refusals, (space->refusal_count + 1) * sizeof(*more));
	long status;
	char *end;

	if (!more)
		return no_memory();
	space->refusals = more;
	status = strtol(rest, &end, 10);
	if (end == rest || status < 1 || status > 255)
		return error_message("refusal: expected an exit status, 1 to 255");
	more[space->refusal_count] = (struct space_file_refusal){.status = (int)status};
	end += strspn(end, " \t");
	if (*end && !(more[space->refusal_count].word = trimmed(end)))
		return no_memory();
	space->refusal_count++;
	return NULL;
}

/* A long command goes on in further lines of this kind. */
static const char *read_command(struct space_file *space, char *rest)
{
	char *text = trimmed(rest), *all = NULL;

	if (!text || asprintf(&all, "%s%s%s", space->command ? space->command : "", space->command ? " " : "",
			     text) < 0)
		all = NULL;
	free(text);
	free(space->command);
	space->command = all;
	return all ? NULL : no_memory();
}

static const char *read_time_from(struct space_file *space, char *rest)
{
	free(space->time_from);
	space->time_from = trimmed(rest);
	return space->time_from ? NULL : no_memory();
}

static const struct kind {
	const char *word;
	const char *(*read)(struct space_file *space, char *rest);
} kinds[] = {{"levels", read_levels}, {"range", read_range}, {"words", read_words}, {"let", read_let},
	{"require", read_require}, {"refusal", read_refusal}, {"command", read_command},
	{"time-from", read_time_from}};

static const struct kind *find_kind(const char *line)
{
	size_t length = strcspn(line, SEPARATORS);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (strlen(kinds[i].word) == length && strncmp(kinds[i].word, line, length) == 0)
			return &kinds[i];
	return NULL;
}

bool space_file_word(const char *word)
{
	return find_kind(word) != NULL;
}

static const char *read_line(struct space_file *space, char *line)
{
	const struct kind *kind;
	char *begin = line + strspn(line, " \t"), *comment = begin;

	/* # begins a comment at a line's or a word's start only: a pattern may have it */
	while ((comment = strchr(comment, '#')) && comment > begin && !isspace((unsigned char)comment[-1]))
		comment++;
	if (comment)
		*comment = '\0';
	kind = find_kind(begin);
	if (!kind)
		return description_line(&space->description, begin);
	begin += strlen(kind->word);
	return kind->read(space, begin + strspn(begin, " \t,"));
}

char *space_file_find(const char *name)
{
	return installed_file(name, "spaces", ".space");
}

/* Roles come from the description; what is a number is checked here, and so are the rules, on one trial. */
static const char *check(struct space_file *space)
{
	char *values[NAMES_MOST / 2], number[32];
	const char *bad;
	bool allowed;

	if (space->column_count == 0)
		return error_message("no column has levels or a range");
	for (size_t r = 0; r < space->description.role_count; r++) {
		const struct description_role *role = &space->description.roles[r];
		struct space_file_column *column = find_column(space, role->column);

		if (column)
			column->role = role->role;
		else if (role->role != PM_FIT_IGNORED && role->role != PM_FIT_OFFSET)
			return error_message("column %s has neither levels nor a range", role->column);
	}
	snprintf(number, sizeof(number), "1");
	for (size_t i = 0; i < space->column_count; i++) {
		const struct space_file_column *column = &space->columns[i];
		bool numeric = column->role == PM_FIT_INTRINSIC || column->role == PM_FIT_EXTRINSIC;
		double ignored;

		for (size_t l = 0; l < column->level_count && numeric; l++)
			if (csv_number(column->levels[l], &ignored) < 0)
				return error_message("column %s: level %s is not a number", column->name,
					column->levels[l]);
		values[i] = column->levels ? column->levels[0] : number;
	}
	bad = space_file_allows(space, values, &allowed);
	if (bad)
		return bad;
	return space->description.time
		       ? NULL
		       : error_message("expected a line 'time COLUMN UNIT' for the measured time");
}

static const char *take_line(void *context, char *line)
{
	return read_line(context, line);
}

const char *space_file_read(struct space_file *space, const char *path)
{
	char cause[400];
	const char *bad;

	*space = (struct space_file){0};
	description_init(&space->description);
	space->path = space_file_find(path);
	if (!space->path)
		return no_memory();
	if (!strchr(path, '/') && access(space->path, F_OK) < 0 && strcmp(path, "-") != 0)
		return error_message("%s: %s, and no space installed with pmfit (pmfit sweep --help)", path,
			strerror(errno));
	bad = text_file_lines(space->path, take_line, space);
	if (!bad && (bad = check(space))) {
		snprintf(cause, sizeof(cause), "%s", bad);
		bad = error_message("%s: %s", space->path, cause);
	}
	return bad;
}

void space_file_free(struct space_file *space)
{
	for (size_t i = 0; i < space->column_count; i++) {
		struct space_file_column *column = &space->columns[i];

		for (size_t l = 0; l < column->level_count; l++) {
			free(column->levels[l]);
			if (column->words)
				free(column->words[l]);
		}
		free(column->levels);
		free(column->words);
		free(column->name);
	}
	for (size_t i = 0; i < space->rule_count; i++) {
		free(space->rules[i].name);
		free(space->rules[i].text);
	}
	for (size_t i = 0; i < space->refusal_count; i++)
		free(space->refusals[i].word);
	free(space->columns);
	free(space->rules);
	free(space->refusals);
	free(space->command);
	free(space->time_from);
	free(space->path);
	description_free(&space->description);
	*space = (struct space_file){0};
}

const char *space_file_allows(const struct space_file *space, char *const *values, bool *allowed)
{
	struct space_rule_name names[NAMES_MOST];
	size_t count = 0;

	*allowed = true;
	for (size_t i = 0; i < space->column_count; i++) {
		struct space_rule_name *name = &names[count++];

		*name = (struct space_rule_name){.name = space->columns[i].name, .word = values[i]};
		name->is_word = csv_number(values[i], &name->number) < 0 ||
				space->columns[i].role == PM_FIT_CATEGORICAL ||
				space->columns[i].role == PM_FIT_FACTOR;
		name->levels = (const char *const *)space->columns[i].levels;
	}
	for (size_t i = 0; i < space->rule_count; i++) {
		double value;
		const char *bad = space_rule_value(space->rules[i].text, names, count, &value);

		if (bad)
			return bad;
		if (space->rules[i].name)
			names[count++] =
				(struct space_rule_name){.name = space->rules[i].name, .number = value};
		else if (!(value != 0))
			*allowed = false;
	}
	return NULL;
}

size_t space_file_combinations(const struct space_file *space)
{
	double count = 1;

	for (size_t i = 0; i < space->column_count; i++)
		count *= (double)space->columns[i].level_count;
	return count < 0x1p53 ? (size_t)count : 0;
}
