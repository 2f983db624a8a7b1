/*
 * The version of PyTorch, and its layout.
 *
 * The version stands in a file beside the library: `version.py` of the Python package, `build-version` of the
 * C++ distribution. Read by system calls in a task with a descriptor table of its own (guest.h).
 */
#include "torch_layout.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/guest.h"

/* From the version on that is named, with the offsets that its own headers have. */
static const struct pmh_torch_layout layouts[] = {
	{2, 0, true, 200, 96, 88, 248},
	{2, 4, true, 200, 96, 88, 304},
};
#define NEWEST 15 /* 2.15: later ones may have changed */

/*
 * Those are of libraries built with C++11's std::string. The wheels before 2.7 have the older one, of 8 bytes
 * for 32, before the words but the scope and the thread; then the library has this function.
 */
static const char older_string[] = "_ZN2at14RecordFunction6beforeESsl";
#define LESS 24

struct version_file {
	char path[PATH_MAX];
	char text[2048];
};

static long read_file(void *data)
{
	struct version_file *file = data;
	const long fd = syscall(SYS_openat, AT_FDCWD, file->path, O_RDONLY | O_CLOEXEC, 0);
	long n;

	file->text[0] = 0;
	if (fd < 0)
		return -1;
	n = syscall(SYS_read, fd, file->text, sizeof file->text - 1);
	file->text[n > 0 ? n : 0] = 0;
	syscall(SYS_close, fd);
	return n > 0 ? 0 : -1;
}

/* The number in the text of either file; false: there is none. */
static bool read_version(const char *text, unsigned *major, unsigned *minor)
{
	static const char word[] = "__version__ = '";
	const char *at = strstr(text, word);

	at = at ? at + sizeof word - 1 : text;
	return sscanf(at, "%u.%u.", major, minor) == 2;
}

/* In the folder above that of the library. */
static bool find_version(const char *library, unsigned *major, unsigned *minor)
{
	static const char *const names[] = {"version.py", "build-version"};
	const char *base = strrchr(library, '/');
	static struct version_file file; /* under the lock of the caller */

	for (unsigned i = 0; base && i < sizeof names / sizeof names[0]; i++) {
		const int n = snprintf(
			file.path, sizeof file.path, "%.*s/../%s", (int)(base - library), library, names[i]);

		if (n > 0 && (size_t)n < sizeof file.path &&
			pmh_run_in_clone_task_or_here(read_file, &file) == 0 &&
			read_version(file.text, major, minor))
			return true;
	}
	return false;
}

void pmh_torch_layout(void *library, struct pmh_torch_layout *layout)
{
	const struct link_map *map = NULL;
	unsigned major = 0, minor = 0, i = sizeof layouts / sizeof layouts[0] - 1;
	const bool found = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name &&
			   find_version(map->l_name, &major, &minor);

	while (found && i > 0 &&
		(major < layouts[i].major || (major == layouts[i].major && minor < layouts[i].minor)))
		i--;
	*layout = layouts[i];
	layout->major = found ? major : 0;
	layout->minor = found ? minor : 0;
	layout->is_known = found && major == 2 && minor <= NEWEST;
	if (!found)
		layout->forward_thread = 0;
	if (dlsym(library, older_string)) {
		layout->sequence -= LESS;
		layout->forward_thread -= layout->forward_thread ? LESS : 0;
	}
}
