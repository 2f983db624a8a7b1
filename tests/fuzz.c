/* What fuzz targets share: see fuzz.h. */
#include "fuzz.h"

#include <err.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

const char *fuzz_file(const uint8_t *data, size_t size)
{
	static char path[64];
	static int file = -1;

	if (file < 0) {
		file = memfd_create("input", MFD_CLOEXEC);
		if (file < 0)
			err(1, "memory file");
		snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
	}
	if (ftruncate(file, 0) < 0 || pwrite(file, data, size, 0) != (ssize_t)size)
		err(1, "memory file");
	return path;
}
