/* Descriptions of what the columns mean: see description.h. */
#include "description.h"
#include "base/csv.h"
#include "base/error_message.h"
#include "base/text_file.h"
#include "model/enum_names.h"
#include "space_file.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void description_init(struct description *description)
{
	*description = (struct description){.share = 1, .seed = 1};
}

void description_free(struct description *description)
{
	for (size_t i = 0; i < description->role_count; i++)
		free(description->roles[i].column);
	free(description->roles);
	free(description->time);
	free(description->unit);
	free(description->split);
	free(description->train);
	*description = (struct description){0};
}

int description_role(struct description *description, const char *column, enum pm_fit_role role)
{
	struct description_role *more;
	char *name;

	for (size_t i = 0; i < description->role_count; i++)
		if (strcmp(description->roles[i].column, column) == 0) {
			description->roles[i].role = role;
			return 0;
		}
	more = realloc(description->roles, (description->role_count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	description->roles = more;
	name = strdup(column);
	if (!name)
		return -ENOMEM;
	more[description->role_count++] = (struct description_role){name, role};
	return 0;
}

static void replace(char **text, const char *by)
{
	free(*text);
	*text = by ? strdup(by) : NULL;
}

static const char *set_share(struct description *description, const char *share, const char *seed)
{
	char *end;

	if (!share || csv_number(share, &description->share) < 0 || !(description->share > 0) ||
		description->share > 1)
		return error_message("share %s: expected a number above 0, up to 1", share ? share : "");
	if (!seed)
		return NULL;
	errno = 0;
	description->seed = strtoull(seed, &end, 10);
	if (errno || *end || *seed == '-')
		return error_message("share: seed %s: expected a whole number", seed);
	return NULL;
}

const char *description_line(struct description *description, const char *line)
{
	char *copy = strndup(line, strcspn(line, "#\n")), *rest = copy, *words[3] = {0}, *word;
	const char *bad = NULL;
	size_t count = 0;
	int role;

	if (!copy)
		return error_message("out of memory");
	word = strtok_r(copy, " \t\r,", &rest);
	if (word && strcmp(word, "skip-bad") == 0)
		description->skip_bad = true;
	/* a space file is a description as well: its lines about trials say nothing about a table */
	if (word && (strcmp(word, "skip-bad") == 0 || space_file_word(word)))
		goto out;
	role = enum_names_find(enum_names_roles, word);
	while (word && role >= 0 && !bad && (words[0] = strtok_r(NULL, " \t\r,", &rest)))
		if (description_role(description, words[0], (enum pm_fit_role)role) < 0)
			bad = error_message("out of memory");
	if (!word || role >= 0)
		goto out;
	while (count < 3 && (words[count] = strtok_r(NULL, " \t\r,", &rest)))
		count++;
	if (count == 3)
		bad = error_message("%s: unexpected word %s", word, words[2]);
	else if (count == 0)
		bad = error_message("%s: expected a value", word);
	else if (strcmp(word, "time") == 0 || strcmp(word, "rate") == 0) {
		description->is_rate = *word == 'r';
		replace(&description->time, words[0]);
		replace(&description->unit, words[1]);
	} else if (strcmp(word, "split") == 0) {
		replace(&description->split, words[0]);
		replace(&description->train, words[1] ? words[1] : "train");
	} else if (strcmp(word, "share") == 0) {
		bad = set_share(description, words[0], words[1]);
	} else {
		bad = error_message(
			"unknown keyword '%s': expected time, rate, intrinsic, extrinsic, categorical, "
			"factor, offset, ignored, split or share",
			word);
	}
out:
	free(copy);
	return bad;
}

static const char *take_line(void *context, char *line)
{
	return description_line(context, line);
}

const char *description_read(struct description *description, const char *path)
{
	char *found = space_file_find(path);
	const char *bad =
		found ? text_file_lines(found, take_line, description) : error_message("out of memory");

	free(found);
	return bad;
}
