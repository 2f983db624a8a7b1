/* Known clusters, by name and by GPU: see strategy.h. */
#include "base/installed_file.h"
#include "strategy.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_cluster(const struct dirent *entry)
{
	const size_t length = strlen(entry->d_name), end = strlen(STRATEGY_CLUSTER_END);

	return length > end && strcmp(entry->d_name + length - end, STRATEGY_CLUSTER_END) == 0;
}

/* As a word: "A10" is no part of "NVIDIA A100". */
static bool is_part(const char *part, const char *name)
{
	const size_t length = strlen(part);
	const char *at = name;

	while (length && (at = strstr(at, part))) {
		if ((at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]))
			return true;
		at++;
	}
	return false;
}

/* How long the longest name in a `device` line is that is part of this one; 0: none is. */
static size_t part_length(const char *folder, const char *file, const char *device)
{
	char *path = NULL, line[256], part[sizeof(line)];
	size_t longest = 0;
	FILE *in = NULL;

	if (asprintf(&path, "%s/%s", folder, file) >= 0)
		in = fopen(path, "re");
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "device %255[^#\n]", part) == 1 && strlen(part) > longest &&
			is_part(part, device))
			longest = strlen(part);
	if (in)
		fclose(in);
	free(path);
	return longest;
}

/* Calls `take` with each in the order of their names. */
static void each_known(void (*take)(const char *folder, const char *file, void *context), void *context)
{
	char *folder = installed_folder(STRATEGY_CLUSTERS);
	struct dirent **entries = NULL;
	int count = folder ? scandir(folder, &entries, is_cluster, alphasort) : 0;

	for (int i = 0; i < count; i++) {
		take(folder, entries[i]->d_name, context);
		free(entries[i]);
	}
	free(entries);
	free(folder);
}

struct nearest {
	const char *device;
	size_t length;
	char *name;
};

static void take_nearer(const char *folder, const char *file, void *context)
{
	struct nearest *nearest = context;
	size_t length = part_length(folder, file, nearest->device);

	if (length <= nearest->length)
		return;
	free(nearest->name);
	nearest->name = strndup(file, strlen(file) - strlen(STRATEGY_CLUSTER_END));
	nearest->length = length;
}

char *strategy_known_cluster(const char *device)
{
	struct nearest nearest = {.device = device};

	/* an instance of a part of a GPU has no links */
	if (!strstr(device, " MIG"))
		each_known(take_nearer, &nearest);
	return nearest.name;
}

static void add_name(const char *folder, const char *file, void *context)
{
	char **names = context, *longer;

	(void)folder;
	if (*names && asprintf(&longer, "%s%s%.*s", *names, **names ? ", " : "",
			      (int)(strlen(file) - strlen(STRATEGY_CLUSTER_END)), file) >= 0) {
		free(*names);
		*names = longer;
	}
}

char *strategy_known_clusters(void)
{
	char *names = strdup("");

	each_known(add_name, &names);
	return names;
}
