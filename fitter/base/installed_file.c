/* Files that come with the program: see installed_file.h. */
#include "installed_file.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *installed_folder(const char *folder)
{
	char self[PATH_MAX], *shared, *plain;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return NULL;
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	if (asprintf(&shared, "%s/../share/pmhook/%s", self, folder) < 0)
		return NULL;
	plain = realpath(shared, NULL);
	free(shared);
	return plain;
}

char *installed_file(const char *name, const char *folder, const char *suffix)
{
	const size_t length = strlen(name), end = strlen(suffix);
	const bool has_suffix = length > end && strcmp(name + length - end, suffix) == 0;
	char *shared, *path;

	if (strchr(name, '/') || access(name, F_OK) == 0)
		return strdup(name);
	shared = installed_folder(folder);
	if (!shared)
		return strdup(name);
	if (asprintf(&path, "%s/%s%s", shared, name, has_suffix ? "" : suffix) < 0)
		path = NULL;
	free(shared);
	if (path && access(path, F_OK) < 0) {
		free(path);
		path = strdup(name);
	}
	return path;
}
