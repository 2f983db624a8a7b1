/* Runs a fuzz target on the files that are named, or all files of a folder: a regression test without
 * libFuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>

static size_t count;

static void run_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	size_t size = 0, room = 0, got;
	uint8_t *data = NULL;

	if (!file)
		err(1, "%s", path);
	do {
		if (size == room) {
			room = 2 * room + 4096;
			data = realloc(data, room);
			if (!data)
				errx(1, "out of memory");
		}
		got = fread(data + size, 1, room - size, file);
		size += got;
	} while (got);
	if (ferror(file))
		err(1, "%s", path);
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	count++;
}

int main(int argument_count, char **arguments)
{
	for (int i = 1; i < argument_count; i++) {
		DIR *folder = opendir(arguments[i]);

		if (!folder) {
			run_file(arguments[i]);
			continue;
		}
		for (struct dirent *entry; (entry = readdir(folder));) {
			char path[4096];

			if (entry->d_name[0] == '.')
				continue;
			snprintf(path, sizeof(path), "%s/%s", arguments[i], entry->d_name);
			run_file(path);
		}
		closedir(folder);
	}
	printf("%zu inputs\n", count);
	return count ? 0 : 1;
}
