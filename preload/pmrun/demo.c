/*
 * pmrun demo: what pmhook shows, in seconds, without a GPU, data or a program of one's own. It types three
 * commands for the user and prints each before it runs: four ranks of a small network on modelled GPUs, one
 * of them slow in one layer.
 */
#include "pmrun.h"
#include "base/help.h"

#include <err.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLOWED "rank=2 layer=conv2 slow=3"

/* Runs a program of the installation to its end; its output goes where ours goes. */
static void run(char *const arguments[])
{
	char path[PATH_MAX];
	int status;
	pid_t pid;

	pmrun_find_program(arguments[0], path);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execv(path, arguments);
		err(126, "cannot run '%s'", path);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		err(125, "cannot run '%s'", path);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		errx(125, "%s %s failed", arguments[0], arguments[1]);
}

void pmrun_demo_prepare(struct pmrun_options *o)
{
	static char trainer[PATH_MAX];
	static char *command[] = {
		trainer, "--synthetic", "--batch", "1024", "--iterations", "24", "--print", "0", NULL};

	if (o->ranks || o->softgpu) {
		warnx("demo: ranks and GPUs are fixed; the only option before it is --output");
		exit(2);
	}
	pmrun_find_program("train_cnn", trainer);
	o->ranks = 4;
	o->softgpu = true;
	o->demo = true;
	o->quiet = true;
	o->command = command;
	setenv("SOFTGPU_PROFILE", "v100", 1);
	setenv("SOFTGPU_DISTURB", SLOWED, 1);
	/* a pace at which the host's own work, on any machine, is small beside the modelled GPUs' */
	setenv("SOFTGPU_TIME_SCALE", "50", 1);
}

/* Prose, filled as help is. */
static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		errx(125, "out of memory");
	va_end(list);
	help_text(text, pmrun_help_width(), stdout);
	free(text);
}

void pmrun_demo_begin(const struct pmrun_options *o)
{
	char folder[PMRUN_QUOTED];

	pmrun_quote(o->output, folder);
	say("LeNet-5, data parallel on 4 modelled V100s, each 50 times slower than a V100. Rank 2 is made slow in "
	    "one layer, conv2, by 3x; the profiler is not told. Modelled GPUs compute nothing: the loss stays 0.\n\n");
	printf("$ SOFTGPU_TIME_SCALE=50 SOFTGPU_DISTURB=\"" SLOWED "\" \\\n"
	       "    pmrun -n 4 -o %s --softgpu=v100 -- \\\n"
	       "    train_cnn --synthetic --batch 1024 --iterations 24 --print 0\n",
		folder);
	fflush(stdout);
}

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* With what the desktop has for it. false: there is no desktop, or it has nothing. */
static bool open_in_browser(char *page)
{
	int status;
	pid_t pid;

	if (!is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY"))
		return false;
	pid = fork();
	if (pid == 0) {
		unsetenv("LD_PRELOAD");
		unsetenv("LD_LIBRARY_PATH");
		execlp("xdg-open", "xdg-open", page, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void say_where(const char *page)
{
	char host[HOST_NAME_MAX + 1] = "HOST", *full = realpath(page, NULL);

	gethostname(host, HOST_NAME_MAX);
	say("The page is one file: file://%s\n"
	    "Open it in a browser; if this machine has none, copy it to one that has:\n"
	    "  scp %s:%s .\n",
		full ? full : page, host, full ? full : page);
	free(full);
}

void pmrun_demo_end(const struct pmrun_options *o)
{
	char folder[PMRUN_QUOTED], quoted[PMRUN_QUOTED], *page;

	if (asprintf(&page, "%s/report.html", o->output) < 0)
		errx(125, "out of memory");
	pmrun_quote(o->output, folder);
	pmrun_quote(page, quoted);
	printf("\n$ pmanalyze balance %s\n", folder);
	run((char *[]){"pmanalyze", "balance", o->output, NULL});
	printf("\n$ pmanalyze html -o %s %s\n", quoted, folder);
	run((char *[]){"pmanalyze", "html", "-o", page, o->output, NULL});
	say("\nWhat it means: in a synchronous step the other ranks wait for the slowest, so a layer that is slow on "
	    "one rank costs all of them its time. The first finding names rank and layer, and bounds what its cure can gain.\n"
	    "\n"
	    "What to try next:\n"
	    "  pmanalyze report %s\twhere each step's time goes\n"
	    "  pmanalyze whatif %s\twhat a faster layer, link or rank would bring\n"
	    "  pmrun python train.py\tyour own program, on your GPUs\n\n",
		folder, folder);
	if (!o->demo_html || !open_in_browser(page))
		say_where(page);
	free(page);
}
