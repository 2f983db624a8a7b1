/*
 * pmrun: runs a training program with libpmhook.so preloaded, once or as several ranks, and says where the
 * traces are.
 *
 * The one idea: pmrun only sets the environment, starts the ranks and waits. What it does can be done by hand
 * with LD_PRELOAD; the program sees its own terminal, its own signals, and its exit status is handed on.
 */
#include "pmrun.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/lookup.h"
#include "guest/settings.h"

static void complain(const char *sentence, void *bad)
{
	warnx("%s", sentence);
	*(bool *)bad = true;
}

/* The hook would go on with the defaults; whoever types a command can correct it. */
static void check_settings(void)
{
	static char room[PMH_SETTINGS_BYTES];
	struct pmh_settings settings;
	bool bad = false;

	pmh_settings_read(&settings, room, complain, &bad);
	if (bad)
		exit(2);
}

/* The first of the given paths, relative to this program's folder, that exists. */
static bool is_beside(const char *const *candidates, char self[PATH_MAX], char found[PATH_MAX])
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, PATH_MAX - 1);

	if (n < 0)
		err(125, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (const char *const *c = candidates; *c; c++)
		if (snprintf(path, sizeof path, "%s/%s", self, *c) < (int)sizeof path &&
			realpath(path, found))
			return true;
	return false;
}

/* The same; exits where there is none. */
static void find_beside(const char *what, const char *const *candidates, char found[PATH_MAX])
{
	char self[PATH_MAX];

	if (is_beside(candidates, self, found)) {
		/* what the loader takes for the end of a name in its lists */
		if (found[strcspn(found, " :;")])
			errx(125,
				"%s: the dynamic linker does not accept paths with blanks or "
				"colons; install pmhook elsewhere",
				found);
		return;
	}
	warnx("%s not found; searched", what);
	for (const char *const *c = candidates; *c; c++)
		warnx("  %s/%s", self, *c);
	errx(125, "build it (cmake --build) or install it (cmake --install) together with pmrun");
}

void pmrun_find_hook(char *found)
{
	static const char *const hooks[] = {
		"../lib/libpmhook.so", "../" PM_LIBDIR "/libpmhook.so", "libpmhook.so", NULL};

	find_beside("libpmhook.so", hooks, found);
}

bool pmrun_has_program(const char *name, char *found)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		err(125, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	return snprintf(found, PATH_MAX, "%s/%s", self, name) < PATH_MAX && access(found, X_OK) == 0;
}

void pmrun_find_program(const char *name, char *found)
{
	if (!pmrun_has_program(name, found))
		errx(125, "%s not found: install softgpu and the trainers too (the package pmhook-softgpu)",
			found);
}

void pmrun_quote(const char *path, char *quoted)
{
	const char *plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
	char *end = quoted;

	if (*path && !path[strspn(path, plain)]) {
		strcpy(quoted, path);
		return;
	}
	*end++ = '\'';
	for (; *path && end < quoted + PMRUN_QUOTED - 6; path++) {
		if (*path == '\'')
			end = stpcpy(end, "'\\'");
		*end++ = *path;
	}
	strcpy(end, "'");
}

/* Puts a path in front of a colon-separated variable. */
static void prepend(const char *name, const char *path)
{
	const char *old = getenv(name);
	char *joined;

	if (asprintf(&joined, old && *old ? "%s:%s" : "%s", path, old) < 0)
		errx(125, "out of memory");
	if (setenv(name, joined, 1) != 0)
		err(125, "setenv %s", name);
	free(joined);
}

/* Makes the folder that was asked for, and those above it. One that holds traces of another run is refused: a
 * report would mix the two. The ranks of a launcher's job share theirs. */
static void make_named(struct pmrun_options *o)
{
	struct stat status;

	for (char *c = o->output + 1; (c = strchr(c, '/')); c++) {
		*c = 0;
		if (mkdir(o->output, 0777) != 0 && errno != EEXIST)
			err(125, "cannot create folder '%s'", o->output);
		*c = '/';
	}
	if (mkdir(o->output, 0777) == 0)
		o->made_output = true;
	else if (errno != EEXIST)
		err(125, "cannot create folder '%s'", o->output);
	else if (stat(o->output, &status) == 0 && !S_ISDIR(status.st_mode))
		errx(125, "'%s' is not a folder: name another with -o", o->output);
	else if (!o->launched && pmrun_traces(o->output).files > 0)
		errx(125, "'%s' contains the traces of another run: use another folder with -o, or remove it",
			o->output);
}

/* run.COMMAND, or with a number that makes it new; for a launcher's job with the name of the job, the same
 * for all ranks. */
static void make_default(struct pmrun_options *o)
{
	const char *slash = strrchr(o->command[0], '/');
	const char *base = o->demo ? "demo" : slash ? slash + 1 : o->command[0];
	char job[128];

	if (o->launched) {
		if (!pmrun_launched_job(job, sizeof job))
			errx(125,
				"the launcher gives the ranks no common job name: name their folder with -o");
		if (asprintf(&o->output, "run.%s.%s", base, job) < 0)
			errx(125, "out of memory");
		make_named(o);
		return;
	}
	for (int i = 1;; i++) {
		if ((i == 1 ? asprintf(&o->output, "run.%s", base)
			    : asprintf(&o->output, "run.%s.%d", base, i)) < 0)
			errx(125, "out of memory");
		if (mkdir(o->output, 0777) == 0)
			break;
		if (errno != EEXIST)
			err(125, "cannot create folder '%s'", o->output);
		free(o->output);
	}
	o->made_output = true;
}

static void make_output(struct pmrun_options *o)
{
	char absolute[PATH_MAX];

	if (o->output)
		make_named(o);
	else
		make_default(o);
	if (!realpath(o->output, absolute))
		err(125, "%s", o->output);
	if (access(absolute, W_OK | X_OK) != 0)
		err(125, "cannot write to '%s'", o->output);
	setenv("PMHOOK_OUT", absolute, 1);
}

/* The text after `marker` in a library, which is read, not loaded: in a process that loads the hook, it
 * begins to record. */
static const char *version_in(const char *path, const char *marker)
{
	struct stat status;
	const char *bytes, *text;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &status) != 0)
		err(125, "%s", path);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (bytes == MAP_FAILED)
		err(125, "%s", path);
	text = memmem(bytes, (size_t)status.st_size, marker, strlen(marker));
	if (!text)
		errx(125, "%s has no version: it is not of this release", path);
	return text + strlen(marker);
}

static const char *const stand_ins[] = {"../softgpu", "../" PM_LIBDIR "/pmhook/softgpu", NULL};

static void print_stand_in(void)
{
	char self[PATH_MAX], folder[PATH_MAX], path[PATH_MAX];

	if (!is_beside(stand_ins, self, folder) ||
		snprintf(path, sizeof(path), "%s/libsoftgpu.so.1", folder) >= (int)sizeof(path) ||
		access(path, R_OK) != 0)
		puts("GPU stand-in: none (the package pmhook-softgpu)");
	else
		printf("GPU stand-in: softgpu %s, %s\n", version_in(path, "softgpu version "), folder);
}

void pmrun_print_versions(void)
{
	char path[PATH_MAX];

	puts("pmrun " PM_PROJECT_VERSION);
	pmrun_find_hook(path);
	printf("libpmhook %s, %s\n" PM_BUILD "\n", version_in(path, PMH_VERSION_TEXT), path);
	print_stand_in();
}

/* Before the program's own libraries are looked for: those with a run path to the vendor's would find these.
 */
static void preload_stand_ins(const char *folder)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/libsoftgpu_preload.so", folder) < (int)sizeof(path))
		prepend("LD_PRELOAD", path);
}

/* softgpu would say so, too, but only where the program loads it. */
static void check_modelled(const char *gpu, const char *folder)
{
	char path[2 * PATH_MAX];
	struct stat status;

	if (!gpu || !*gpu)
		return;
	if (strchr(gpu, '/'))
		snprintf(path, sizeof(path), "%s", gpu);
	else
		snprintf(path, sizeof(path), "%s/profiles/%s.profile", folder, gpu);
	if (stat(path, &status) == 0 && !S_ISDIR(status.st_mode))
		return;
	errx(2,
		"--softgpu=%s: no GPU of that name, and no profile file: pmrun --help has the names, a file has a "
		"'/' in its path",
		gpu);
}

int main(int argc, char **argv)
{
	struct pmrun_options options = {.grace_seconds = 5};
	char path[PATH_MAX];
	int status;

	pmrun_parse(argc, argv, &options);
	options.launched = options.ranks == 0 && pmrun_launched(&options.rank);
	check_settings();
	if (options.softgpu) {
		find_beside("softgpu's libraries", stand_ins, path);
		check_modelled(getenv("SOFTGPU_PROFILE"), path);
		prepend("LD_LIBRARY_PATH", path);
		preload_stand_ins(path);
	}
	pmrun_find_hook(path);
	prepend("LD_PRELOAD", path);
	make_output(&options);
	if (options.demo)
		pmrun_demo_begin(&options);
	status = pmrun_ranks(&options);
	if (options.demo && status == 0)
		pmrun_demo_end(&options);
	return status;
}
