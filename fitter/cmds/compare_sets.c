/* The sets of pmfit compare, from its arguments: see compare.h. */
#include "compare.h"
#include "model/space.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A comparison that takes longer is announced. */
#define LONG_SECONDS 10

static char *copy(const char *text)
{
	char *made = strdup(text);

	if (!made)
		errx(1, "out of memory");
	return made;
}

/* "NAME=FILE,DESCRIPTION": either may be left out; a file that is there by the whole name is taken as it is.
 */
static void take_apart(char *argument, struct comparison_set *set, const char **description)
{
	char *equals = strchr(argument, '='), *comma;
	const char *slash, *dot;

	*description = NULL;
	set->path = argument;
	if (access(argument, F_OK) != 0 && strcmp(argument, "-") != 0) {
		if (equals) {
			*equals = '\0';
			set->name = copy(argument);
			set->path = argument = equals + 1;
		}
		comma = strrchr(argument, ',');
		if (comma && access(argument, F_OK) != 0) {
			*comma = '\0';
			*description = comma + 1;
		}
	}
	if (set->name)
		return;
	slash = strrchr(set->path, '/');
	slash = slash ? slash + 1 : set->path;
	dot = strrchr(slash, '.');
	set->name = dot && dot > slash ? strndup(slash, (size_t)(dot - slash)) : strdup(slash);
	if (!set->name)
		errx(1, "out of memory");
}

/* The options' description, to which a set adds its own. */
static void copy_description(struct description *made, const struct description *from)
{
	*made = *from;
	made->roles = NULL;
	made->role_count = 0;
	made->time = from->time ? copy(from->time) : NULL;
	made->unit = from->unit ? copy(from->unit) : NULL;
	made->split = from->split ? copy(from->split) : NULL;
	made->train = from->train ? copy(from->train) : NULL;
	for (size_t i = 0; i < from->role_count; i++)
		if (description_role(made, from->roles[i].column, from->roles[i].role) < 0)
			errx(1, "out of memory");
}

static void read_table(struct comparison_set *set, const struct options *options, const char *description)
{
	struct options own = *options;
	const char *bad;

	copy_description(&own.description, &options->description);
	bad = description ? description_read(&own.description, description) : NULL;
	if (bad)
		errx(1, "%s", bad);
	if (own.description.split && own.description.share < 1)
		errx(1, "%s: the description has both a split and a share: expected one of them", set->path);
	options_read_table(&own, set->path, &set->observations);
	set->typical =
		space_geometric_mean(set->observations.train.time, set->observations.train.sample_count);
	description_free(&own.description);
}

static void load(struct comparison_set *set)
{
	const char *bad = pm_fit_load(set->path, &set->shown);

	if (bad)
		errx(1, "%s", bad);
	if (set->shown->expression)
		errx(1, "%s: a formula of 'pmfit search' has no parameters to compare; 'pmfit html' draws several models side by side",
			set->path);
	/* scaled times were divided by their geometric mean */
	set->typical = set->shown->parameter.scale == PM_FIT_SCALE_ALL ? set->shown->time_scale : NAN;
}

static bool is_model_file(const char *path)
{
	size_t length = strlen(path);

	return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

static void announce(const struct comparison *c, const struct options *options)
{
	double seconds = 0;

	for (size_t i = 0; i < c->count; i++)
		if (!c->sets[i].shown)
			seconds += 2 * pm_fit_estimate(&c->sets[i].observations.train, &options->parameter);
	if (seconds > LONG_SECONDS && !options->quiet)
		warnx("estimated time for the fits alone: about %.0f s; fewer --seeds or --evaluations "
		      "shorten it",
			seconds);
}

void cmd_compare_sets(struct comparison *c, const struct options *options, char **arguments, size_t count)
{
	c->sets = calloc(count + 1, sizeof(*c->sets));
	if (!c->sets)
		errx(1, "out of memory");
	for (size_t i = 0; i < count; i++) {
		struct comparison_set *set = &c->sets[c->count++];
		const char *description;

		take_apart(arguments[i], set, &description);
		for (size_t j = 0; j < i; j++)
			if (strcmp(c->sets[j].name, set->name) == 0)
				errx(1, "two sets are named %s: use NAME=FILE for one of them", set->name);
		if (is_model_file(set->path))
			load(set);
		else
			read_table(set, options, description);
	}
	announce(c, options);
}
