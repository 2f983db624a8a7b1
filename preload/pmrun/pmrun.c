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
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "pm_hooks.h"
#include "base/option.h"
#include "core/lookup.h"
#include "guest/settings.h"

/* Prints words in lines of up to 100 columns that begin at an indent, where the first is already. */
static void print_wrapped(const char *text, int indent)
{
	int column = indent;

	for (const char *word = text; *word;) {
		int n = (int)strcspn(word, " ");

		if (column > indent && column + 1 + n > 100) {
			printf("\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			putchar(' ');
			column++;
		}
		printf("%.*s", n, word);
		column += n;
		word += n;
		word += strspn(word, " ");
	}
	putchar('\n');
}

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

static void print_help(void)
{
	fputs("Usage: pmrun [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	      "       pmrun [-o DIR] demo\n"
	      "Run COMMAND under the pmhook profiler and write its traces to a folder.\n"
	      "demo: a small network on modelled GPUs, one of them slow, and what pmanalyze finds; no GPU and\n"
	      "no data are needed, and it takes some seconds. A program named demo: pmrun -- demo.\n"
	      "\n"
	      "  -n, --ranks N        start N copies of COMMAND, as ranks 0 to N-1 of one training job, "
	      "with\n"
	      "                       RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and\n"
	      "                       MASTER_PORT set as by torchrun. Default: one copy with these\n"
	      "                       variables unchanged, so that pmrun works under another launcher\n"
	      "  -o, --output DIR     folder for the traces, created if missing. Default: run.COMMAND, or\n"
	      "                       run.COMMAND.2, .3, ... if that exists; under a launcher run.COMMAND.JOB,\n"
	      "                       one folder for all ranks\n"
	      "      --softgpu[=GPU]  run without a GPU, on CPU stand-ins of the CUDA libraries; with GPU "
	      "(rtx2080,\n"
	      "                       v100, a100, h200, or a profile file) nothing is computed and "
	      "operations\n"
	      "                       take the modelled time of that GPU (SOFTGPU_PROFILE=GPU)\n"
	      "  -g, --grace SECONDS  when a rank fails, time until the others are sent SIGTERM, and "
	      "after\n"
	      "                       the same time again SIGKILL. Default: 5\n"
	      "  -p, --prefix         begin each line that the ranks print with [RANK], and show below them on a\n"
	      "                       terminal how far the run is. The ranks then write into pipes: Python\n"
	      "                       prints at once with PYTHONUNBUFFERED=1\n"
	      "      --hang-after SECONDS\n"
	      "                       watch the job: when ranks wait for another one that has not gone on for\n"
	      "                       so long, print which and what it is at (pmanalyze hang). Default: off;\n"
	      "                       10 is a good value\n"
	      "      --hang-end       then end the job, as when a rank fails\n"
	      "  -q, --quiet          print errors only\n"
	      "      --library        print the path of libpmhook.so and exit; to record without pmrun:\n"
	      "                       LD_PRELOAD=$(pmrun --library) COMMAND\n"
	      "      --hooks          list the intercepted functions and exit\n"
	      "  -h, --help           print this help\n"
	      "  -V, --version        print the versions of pmrun and libpmhook.so and exit\n"
	      "\n"
	      "Environment variables configure the hook; pmrun passes them on:\n"
	      "\n",
		stdout);
#define PRINT_SETTING(field, name, kind, initial, argument, help) \
	printf("  %-18s ", name); \
	print_wrapped(help, 21); \
	printf("%21s(%s; default: %s)\n", "", argument, initial);
	PMH_SETTINGS(PRINT_SETTING)
#undef PRINT_SETTING
	fputs("\n"
	      "PMHOOK_OUT is set by --output.\n"
	      "\n"
	      "Exit status: that of COMMAND; if a signal ends COMMAND, pmrun ends with the same signal. "
	      "With several\n"
	      "ranks, that of the first to fail. 124 ended by --hang-end, 2 usage error, 125 failure of pmrun itself, 126 COMMAND "
	      "cannot be\n"
	      "executed, 127 COMMAND not found. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded "
	      "to the ranks.\n"
	      "\n"
	      "Examples:\n"
	      "  pmrun ./train                         one process; then: pmanalyze report run.train\n"
	      "  pmrun -n 3 --softgpu -- ./train_cnn   three ranks, without a GPU\n"
	      "  pmrun -n 64 --softgpu=a100 -- ./train_cnn   64 ranks in modelled time\n"
	      "  srun pmrun -o traces ./train          ranks started by a launcher\n",
		stdout);
}

static void print_hooks(void)
{
#define PRINT_ROW(library, kind, name) printf("%-7s %-9s %s\n", #library, #kind, #name);
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) PRINT_ROW(library, kind, name)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) PRINT_ROW(libc, kind, name)
#define PM_HAND(library, kind, result, name, pairs, values, ...) PRINT_ROW(library, kind, name)
#define PM_WATCH(library, result, name, pairs, after, ...) PRINT_ROW(library, -, name)
#include "pm_hooks.def"
#undef PRINT_ROW
}

/* A number from lowest to highest, or exit with usage status. */
static int parse_number(const char *option, const char *text, int lowest, int highest)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end == text || *end || errno || n < lowest || n > highest) {
		warnx("%s: expected an integer from %d to %d, found '%s'", option, lowest, highest, text);
		exit(2);
	}
	return (int)n;
}

/* The first of the given paths, relative to this program's folder, that exists; exits where there is none. */
static void find_beside(const char *what, const char *const *candidates, char found[PATH_MAX])
{
	char self[PATH_MAX], path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

	if (n < 0)
		err(125, "/proc/self/exe");
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (const char *const *c = candidates; *c; c++)
		if (snprintf(path, sizeof path, "%s/%s", self, *c) < (int)sizeof path &&
			realpath(path, found)) {
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

static void find_hook(char found[PATH_MAX])
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
				"the launcher gives the job no name that its ranks have in common: name their folder with -o");
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

/* The library is read, not loaded: in a process that loads it, it begins to record. */
__attribute__((noreturn)) static void print_versions(void)
{
	char path[PATH_MAX];
	struct stat status;
	const char *bytes, *text;
	int fd;

	puts("pmrun " PM_PROJECT_VERSION);
	find_hook(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) != 0)
		err(125, "%s", path);
	bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		err(125, "%s", path);
	text = memmem(bytes, (size_t)status.st_size, PMH_VERSION_TEXT, strlen(PMH_VERSION_TEXT));
	if (!text)
		errx(125, "%s has no version: it is not of this release", path);
	printf("libpmhook %s, %s\n" PM_BUILD "\n", text + strlen(PMH_VERSION_TEXT), path);
	exit(0);
}

__attribute__((noreturn)) static void usage(const char *sentence)
{
	warnx("%s", sentence);
	exit(2);
}

static void parse_options(int argc, char **argv, struct pmrun_options *o)
{
	static const struct option longs[] = {{"ranks", required_argument, NULL, 'n'},
		{"output", required_argument, NULL, 'o'}, {"softgpu", optional_argument, NULL, 'S'},
		{"grace", required_argument, NULL, 'g'}, {"hang-after", required_argument, NULL, 'A'},
		{"hang-end", no_argument, NULL, 'E'}, {"prefix", no_argument, NULL, 'p'},
		{"quiet", no_argument, NULL, 'q'}, {"library", no_argument, NULL, 'L'},
		{"hooks", no_argument, NULL, 'H'}, {"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'}, {NULL, 0, NULL, 0}};
	char path[PATH_MAX], trouble[OPTION_TROUBLE];
	int c;

	opterr = 0;
	/* '+': options behind the command are the command's */
	while ((c = getopt_long(argc, argv, "+n:o:g:pqhV", longs, NULL)) != -1) {
		switch (c) {
		case 'n':
			o->ranks = parse_number("--ranks", optarg, 1, PMRUN_RANKS);
			break;
		case 'o':
			if (!*optarg)
				usage("--output: the folder's name is empty");
			o->output = optarg;
			break;
		case 'S':
			o->softgpu = true;
			if (optarg)
				setenv("SOFTGPU_PROFILE", optarg, 1);
			break;
		case 'g':
			o->grace_seconds = parse_number("--grace", optarg, 0, 86400);
			break;
		case 'p':
			o->prefix = true;
			break;
		case 'A':
			o->hang_after = parse_number("--hang-after", optarg, 1, 86400);
			break;
		case 'E':
			o->hang_end = true;
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'L':
			find_hook(path);
			puts(path);
			exit(0);
		case 'H':
			print_hooks();
			exit(0);
		case 'h':
			print_help();
			exit(0);
		case 'V':
			print_versions();
		default:
			option_trouble(longs, argv, trouble);
			warnx("%s\nTry 'pmrun --help'.", trouble);
			exit(2);
		}
	}
	if (o->hang_end && !o->hang_after) {
		warnx("--hang-end: when is the job to be ended? Add --hang-after SECONDS");
		exit(2);
	}
	if (optind == argc) {
		warnx("no command given\nUsage: pmrun [OPTION]... [--] COMMAND [ARGUMENT]...; see 'pmrun --help'");
		exit(2);
	}
	if (strcmp(argv[optind], "demo") == 0 && optind + 1 == argc && strcmp(argv[optind - 1], "--") != 0)
		pmrun_demo_prepare(o);
	else
		o->command = argv + optind;
}

/* Before the program's own libraries are looked for: those with a run path to the vendor's would find these.
 */
static void preload_stand_ins(const char *folder)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/libsoftgpu_preload.so", folder) < (int)sizeof(path))
		prepend("LD_PRELOAD", path);
}

int main(int argc, char **argv)
{
	static const char *const stand_ins[] = {"../softgpu", "../" PM_LIBDIR "/pmhook/softgpu", NULL};
	struct pmrun_options options = {.grace_seconds = 5};
	char path[PATH_MAX];
	int status;

	parse_options(argc, argv, &options);
	options.launched = options.ranks == 0 && pmrun_launched(&options.rank);
	check_settings();
	if (options.softgpu) {
		find_beside("softgpu's libraries", stand_ins, path);
		prepend("LD_LIBRARY_PATH", path);
		preload_stand_ins(path);
	}
	find_hook(path);
	prepend("LD_PRELOAD", path);
	make_output(&options);
	if (options.demo)
		pmrun_demo_begin(&options);
	status = pmrun_ranks(&options);
	if (options.demo && status == 0)
		pmrun_demo_end(&options);
	return status;
}
