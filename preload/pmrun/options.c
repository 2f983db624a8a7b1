/* The command line of pmrun: one table of options, from which parsing, help, completions and the manual page
 * come. */
#include "pmrun.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/help.h"
#include "base/option.h"
#include "guest/settings.h"
#include "pm_hooks.h"

#define WIDEST 80 /* of the help's lines */
#define INDENT 2

enum { SOFTGPU = OPTION_FIRST, HANG_AFTER, HANG_END, HANG_END_AFTER, LIBRARY, HOOKS, STACKS };

static const struct option_row rows[] = {
	{"ranks", 'n', "N",
		"start N copies of COMMAND, as ranks 0 to N-1 of one training job, with RANK, WORLD_SIZE, LOCAL_RANK, "
		"LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT set as by torchrun (default: one copy with these variables "
		"unchanged, so that pmrun works under another launcher)"},
	{"output", 'o', "DIR",
		"folder for the traces, created if missing (default: run.COMMAND, or run.COMMAND.2, .3, ... if that "
		"exists; under a launcher run.COMMAND.JOB, one folder for all ranks)"},
	{"softgpu", SOFTGPU, "[=GPU]",
		"run without a GPU, on CPU stand-ins of the CUDA libraries; with GPU (a100, h100, h200, b200, v100, l40s, "
		"rtx4090, rtx2080, mi300x, or a profile file) nothing is computed and operations take the modelled time of that GPU (SOFTGPU_PROFILE=GPU)"},
	{"grace", 'g', "SECONDS",
		"when a rank fails, time until the others are sent SIGTERM, and after the same time again SIGKILL "
		"(default: 5)"},
	{"prefix", 'p', NULL,
		"begin each line that the ranks print with [RANK], and show below them on a terminal how far the run is. "
		"The ranks then write into pipes: Python prints at once with PYTHONUNBUFFERED=1"},
	{"hang-after", HANG_AFTER, "SECONDS",
		"watch the job: when ranks wait for one that has made no progress for this long, print the blocking rank and "
		"its current call (pmanalyze hang); 10 is a good start. Where ranks that make no call are in Python is kept "
		"beside their traces, NAME.stacks (default: off)"},
	{"hang-end", HANG_END, NULL,
		"then end the job, as when a rank fails, if two looks in a row say that it cannot go on: a rank that is "
		"waited for has ended, is gone or stopped, or ranks stand in calls that cannot meet. A rank that makes "
		"no call may yet come back"},
	{"hang-end-after", HANG_END_AFTER, "MINUTES",
		"end it, too, when a hang has been likely for so long; longer than the longest checkpoint and evaluation "
		"(default: never)"},
	{"quiet", 'q', NULL, "print errors only"},
	{"library", LIBRARY, NULL,
		"print the path of libpmhook.so and exit; to record without pmrun: LD_PRELOAD=$(pmrun --library) COMMAND"},
	{"hooks", HOOKS, NULL, "list the intercepted functions and exit"},
	{"stacks", STACKS, "PID",
		"print where each thread of a Python program is, innermost function first, and exit; the program goes on. It is "
		"the same user's, and the system lets its memory be read (kernel.yama.ptrace_scope, CAP_SYS_PTRACE)"},
	{"help", 'h', NULL, "print this help"},
	{"version", 'V', NULL,
		"print the versions of pmrun, libpmhook.so and the GPU stand-in, with their paths, and exit"},
	{0},
};

#define SETTING(field, name, kind, initial, argument, help) \
	{name, help "\n(" argument "; default: " initial ")"},
static const struct {
	const char *name, *text;
} settings[] = {PMH_SETTINGS(SETTING)};
#undef SETTING
#define SETTING_COUNT (sizeof settings / sizeof settings[0])

static const char about[] =
	"pmrun - runs a training program under the pmhook profiler\n"
	"\n"
	"usage: pmrun [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	"       pmrun [-o DIR] demo [--html]\n"
	"\n"
	"Runs COMMAND, once or as several ranks, and writes its traces to a folder, which pmanalyze reads.\n"
	"\n"
	"demo: a small network on modelled GPUs, one of them slow, and what pmanalyze finds; no GPU and no data are needed, "
	"and it takes some seconds. --html opens the page with pictures in a browser. A program named demo: pmrun -- demo.\n"
	"\n";

static const char after[] =
	"\n"
	"PMHOOK_OUT is set by --output.\n"
	"\n"
	"Exit status: that of COMMAND; if a signal ends COMMAND, pmrun ends with the same signal. With several ranks, that of "
	"the first to fail. 124 ended by --hang-end or --hang-end-after, 2 usage error, 125 failure of pmrun itself, 126 COMMAND cannot be "
	"executed, 127 COMMAND not found. SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are forwarded to the ranks.\n"
	"\n"
	"Examples:\n"
	"  pmrun ./train                           then: pmanalyze report run.train\n"
	"  pmrun -n 3 --softgpu -- ./train         three ranks, without a GPU\n"
	"  pmrun -n 64 --softgpu=a100 -- ./train   64 ranks in modelled time\n"
	"  srun pmrun -o traces ./train            ranks started by a launcher\n";

int pmrun_help_width(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_col < WIDEST
		       ? size.ws_col
		       : WIDEST;
}

static void print_help(void)
{
	const int width = pmrun_help_width();
	int column = INDENT;

	help_text(about, width, stdout);
	option_help(OPTION_TABLES(rows), width, stdout);
	help_text("\nEnvironment variables configure the hook; pmrun passes them on:\n\n", width, stdout);
	for (size_t i = 0; i < SETTING_COUNT; i++)
		column = help_column(column, INDENT, (int)strlen(settings[i].name));
	for (size_t i = 0; i < SETTING_COUNT; i++)
		help_item(settings[i].name, settings[i].text, INDENT, column, width, stdout);
	help_text(after, width, stdout);
}

static void print_hooks(void)
{
#define PRINT_ROW(library, kind, name) printf("%-7s %-9s %s\n", #library, #kind, #name);
#define PM_HOOK(library, kind, result, name, pairs, queue, values, after, ...) PRINT_ROW(library, kind, name)
#define PM_READ(kind, result, name, pairs, fd, bytes, ...) PRINT_ROW(libc, kind, name)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) PRINT_ROW(library, kind, name)
#define PM_WATCH(library, result, name, pairs, after, ...) PRINT_ROW(library, -, name)
#include "pm_hooks.def"
#undef PRINT_ROW
}

__attribute__((noreturn, format(printf, 1, 2))) static void usage(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	vwarnx(format, values);
	va_end(values);
	fputs("Try 'pmrun --help'.\n", stderr);
	exit(2);
}

static int number(const char *option, int least, int most)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(optarg, &end, 10);
	if (end == optarg || *end || errno || n < least || n > most)
		usage("%s: expected an integer from %d to %d, found '%s'", option, least, most, optarg);
	return (int)n;
}

static double positive(const char *option, double most)
{
	char *end;
	double value = strtod(optarg, &end);

	if (end == optarg || *end || !(value > 0 && value <= most))
		usage("%s: expected a number above 0 and up to %g, found '%s'", option, most, optarg);
	return value;
}

static void print_stacks(int pid)
{
	const char *amiss = pmrun_write_stacks(pid, stdout);

	if (amiss)
		errx(125, "process %d: its Python stack cannot be read: %s", pid, amiss);
}

/* --help and the like: prints, and ends the program. */
__attribute__((noreturn)) static void print(int key)
{
	char path[PATH_MAX];

	if (key == LIBRARY) {
		pmrun_find_hook(path);
		puts(path);
	} else if (key == HOOKS) {
		print_hooks();
	} else if (key == STACKS) {
		print_stacks(number("--stacks", 1, INT_MAX));
	} else if (key == 'V') {
		pmrun_print_versions();
	} else {
		print_help();
	}
	if (fflush(stdout) != 0)
		err(125, "standard output");
	exit(0);
}

static void take(int key, struct pmrun_options *options)
{
	switch (key) {
	case 'n':
		options->ranks = number("--ranks", 1, PMRUN_RANKS);
		break;
	case 'o':
		if (!*optarg)
			usage("--output: the folder's name is empty");
		options->output = optarg;
		break;
	case SOFTGPU:
		options->softgpu = true;
		if (optarg)
			setenv("SOFTGPU_PROFILE", optarg, 1);
		break;
	case 'g':
		options->grace_seconds = number("--grace", 0, 86400);
		break;
	case 'p':
		options->prefix = true;
		break;
	case HANG_AFTER:
		options->hang_after = number("--hang-after", 1, 86400);
		break;
	case HANG_END:
		options->hang_end = true;
		break;
	case HANG_END_AFTER:
		options->hang_end_minutes = positive("--hang-end-after", 14400);
		break;
	case 'q':
		options->quiet = true;
		break;
	default:
		print(key);
	}
}

void pmrun_parse(int argument_count, char **arguments, struct pmrun_options *options)
{
	char wrong[OPTION_TROUBLE];
	int key;

	while ((key = option_next_leading(OPTION_TABLES(rows), argument_count, arguments, wrong)) != -1) {
		if (key == OPTION_WRONG)
			usage("%s", wrong);
		take(key, options);
	}
	if ((options->hang_end || options->hang_end_minutes > 0) && !options->hang_after)
		usage("%s: the job is not watched. Add --hang-after SECONDS",
			options->hang_end ? "--hang-end" : "--hang-end-after");
	if (optind == argument_count)
		usage("no command given: pmrun [OPTION]... [--] COMMAND [ARGUMENT]...");
	if (!*arguments[optind])
		usage("the command's name is empty");
	options->demo_html = optind + 2 == argument_count && strcmp(arguments[optind + 1], "--html") == 0;
	if (strcmp(arguments[optind], "demo") == 0 && optind + 1 + options->demo_html == argument_count &&
		strcmp(arguments[optind - 1], "--") != 0)
		pmrun_demo_prepare(options);
	else
		options->command = arguments + optind;
}
