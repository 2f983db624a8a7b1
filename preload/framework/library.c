/* See library.h. */
#include "library.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

struct search {
	const char *name;
	char path[PATH_MAX];
};

static int match(struct dl_phdr_info *info, size_t info_bytes, void *data)
{
	const char *base = strrchr(info->dlpi_name, '/');
	struct search *s = data;

	(void)info_bytes;
	base = base ? base + 1 : info->dlpi_name;
	if (strcmp(base, s->name) != 0 || strlen(info->dlpi_name) >= sizeof s->path)
		return 0;
	strcpy(s->path, info->dlpi_name);
	return 1;
}

/* By the path that it was loaded by: of a name alone the loader would look into folders. */
void *pmh_library_loaded(const char *name)
{
	struct search s = {.name = name};

	return dl_iterate_phdr(match, &s) ? dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) : NULL;
}
