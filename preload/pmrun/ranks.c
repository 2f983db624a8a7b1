/*
 * Starting ranks, handing signals on, and the summary at the end.
 *
 * The terminal sends Ctrl-C to every process in the foreground, so the ranks have it already; a signal that
 * another process sent to pmrun alone is passed on. All signals are taken by one sigtimedwait, so nothing
 * here runs in a handler.
 */
#include "pmrun.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "output.h"
#include "pm_format.h"
#include "progress.h"
#include "trace/trace_name.h"

static const int passed_on[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
#define HANG_STATUS 124 /* of pmrun when it has ended the job; as of timeout(1) */
#define PASSED_ON (sizeof passed_on / sizeof passed_on[0])

static struct {
	pid_t pids[PMRUN_RANKS];
	int count, running;
	int failed_rank;   /* the first to fail, -1 none */
	int failed_status; /* as wait gave it */
	double failed_at;
	int ended_with; /* the signal last sent to end the others */
	bool signalled; /* somebody else has ended the job, by pmrun */
} ranks = {.failed_rank = -1};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the traces ---- */

/* Steps over the chunks: a footer is the last. */
static bool has_footer(int fd, const struct pm_header *header, off_t size)
{
	struct pm_chunk chunk;

	for (off_t at = header->header_bytes; at + (off_t)sizeof chunk <= size; at += chunk.chunk_bytes) {
		if (pread(fd, &chunk, sizeof chunk, at) != sizeof chunk || chunk.magic != PM_CHUNK_MAGIC ||
			chunk.chunk_bytes < sizeof chunk)
			return false;
		if (chunk.kind == PM_CHUNK_FOOTER)
			return true;
	}
	return false;
}

static void add_trace(struct pmrun_traces *t, int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	struct pm_header header;
	struct stat s;

	t->files++;
	if (fd < 0 || fstat(fd, &s) != 0 || pread(fd, &header, sizeof header, 0) != sizeof header ||
		memcmp(header.magic, PM_MAGIC, sizeof header.magic) != 0) {
		t->unreadable++;
	} else {
		t->size_bytes += (uint64_t)s.st_size;
		t->lost_records += header.lost_records;
		t->unfinished += !has_footer(fd, &header, s.st_size);
	}
	if (fd >= 0)
		close(fd);
}

struct pmrun_traces pmrun_traces(const char *path)
{
	struct pmrun_traces t = {0};
	DIR *folder = opendir(path);
	struct dirent *e;

	while (folder && (e = readdir(folder)))
		if (trace_name_stem(e->d_name) > 0)
			add_trace(&t, dirfd(folder), e->d_name);
	if (folder)
		closedir(folder);
	return t;
}

/* ---- starting ---- */

/* A TCP port that nobody listens on at this moment, for the ranks to meet. */
static int free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof address;
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0 || bind(s, (struct sockaddr *)&address, n) != 0 ||
		getsockname(s, (struct sockaddr *)&address, &n) != 0)
		err(125, "no free port on the loopback interface");
	close(s);
	return ntohs(address.sin_port);
}

static void set_number(const char *name, int number)
{
	char text[16];

	snprintf(text, sizeof text, "%d", number);
	setenv(name, text, 1);
}

static void become_rank(const struct pmrun_options *o, int rank, const sigset_t *mask, int error_pipe)
{
	int error;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, mask, NULL);
	if (o->prefix)
		pmrun_output_become();
	if (o->ranks > 0) {
		set_number("RANK", rank);
		set_number("LOCAL_RANK", rank);
	}
	execvp(o->command[0], o->command);
	error = errno;
	if (write(error_pipe, &error, sizeof error) < 0)
		_exit(125);
	_exit(error == ENOENT ? 127 : 126);
}

/* What was most often meant by a command that cannot be run. */
static const char *advice(const struct pmrun_options *o, int error)
{
	const char *name = o->command[0];
	const size_t n = strlen(name);
	char beside[PATH_MAX], *text;
	struct stat status;

	if (stat(name, &status) != 0 && strcmp(name, "demo") == 0)
		return " (the demo takes no option but --html, and no argument)";
	if (error == ENOENT && !strchr(name, '/') && pmrun_has_program(name, beside) &&
		asprintf(&text, " (it is %s: name it so, or add its folder to PATH)", beside) > 0)
		return text;
	if (stat(name, &status) != 0)
		return error == ENOENT && o->softgpu && !getenv("SOFTGPU_PROFILE") && o->command[1]
			       ? " (a GPU stands behind '=', as in --softgpu=a100)"
			       : "";
	if (S_ISDIR(status.st_mode))
		return " (it is a folder)";
	if (n > 3 && strcmp(name + n - 3, ".py") == 0)
		return " (a script: put its interpreter in front, pmrun python ...)";
	return error == EACCES     ? " (it is not executable)"
	       : strchr(name, '/') ? ""
				   : " (put ./ in front of a file that is here)";
}

static void start(const struct pmrun_options *o, const sigset_t *mask)
{
	int error_pipe[2], error;

	if (o->ranks > 0) {
		set_number("WORLD_SIZE", o->ranks);
		set_number("LOCAL_WORLD_SIZE", o->ranks);
		set_number("MASTER_PORT", free_port());
		setenv("MASTER_ADDR", "127.0.0.1", 1);
	}
	if (pipe2(error_pipe, O_CLOEXEC) != 0)
		err(125, "pipe");
	fflush(NULL);
	for (int rank = 0; rank < (o->ranks > 0 ? o->ranks : 1); rank++) {
		pid_t pid;

		if (o->prefix)
			pmrun_output_prepare(o->launched ? o->rank : rank);
		pid = fork();
		if (pid == 0)
			become_rank(o, rank, mask, error_pipe[1]);
		if (pid < 0) {
			warn("cannot start rank %d", rank);
			for (int i = 0; i < ranks.count; i++)
				kill(ranks.pids[i], SIGKILL);
			exit(125);
		}
		if (o->prefix)
			pmrun_output_started();
		ranks.pids[ranks.count++] = pid;
	}
	ranks.running = ranks.count;
	/* every rank has the pipe's end until it runs the command: end of file means that all do */
	close(error_pipe[1]);
	if (read(error_pipe[0], &error, sizeof error) == sizeof error) {
		if (o->made_output)
			rmdir(o->output);
		warnx("cannot run '%s': %s%s", o->command[0], strerror(error), advice(o, error));
		exit(error == ENOENT ? 127 : 126);
	}
	close(error_pipe[0]);
	if (o->prefix)
		pmrun_output_start();
}

/* ---- watching ---- */

static void describe_end(const struct pmrun_options *o, int rank, int status)
{
	char who[PATH_MAX];

	pmrun_status("");
	if (ranks.count > 1)
		snprintf(who, sizeof who, "rank %d", rank);
	else
		snprintf(who, sizeof who, "'%s'", o->command[0]);
	if (WIFSIGNALED(status))
		warnx("%s was killed by signal %d (%s)", who, WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		warnx("%s exited with status %d", who, WEXITSTATUS(status));
}

static void reap(const struct pmrun_options *o)
{
	pid_t pid;
	int status;

	/* one by one: children that are no ranks are waited for elsewhere */
	for (int rank = 0; rank < ranks.count; rank++) {
		pid = ranks.pids[rank];
		if (!pid || waitpid(pid, &status, WNOHANG) != pid)
			continue;
		ranks.pids[rank] = 0;
		ranks.running--;
		if (status == 0 || ranks.failed_rank >= 0)
			continue;
		ranks.failed_rank = rank;
		ranks.failed_status = status;
		ranks.failed_at = now();
		/* below a launcher it is the launcher that says so */
		if (!o->quiet && !o->launched)
			describe_end(o, rank, status);
	}
}

static void signal_all(int number)
{
	for (int i = 0; i < ranks.count; i++)
		if (ranks.pids[i])
			kill(ranks.pids[i], number);
}

/* What they have started ends with them: it is found as long as they are there. */
static void end_with(int number)
{
	pmrun_list_below(ranks.pids, ranks.count);
	ranks.ended_with = number;
	signal_all(number);
}

/* After a failure the others would often wait for the lost rank for ever. */
static void end_others(const struct pmrun_options *o)
{
	double since = now() - ranks.failed_at;

	if (ranks.failed_rank < 0 || ranks.running == 0)
		return;
	if (ranks.ended_with == 0 && since >= o->grace_seconds) {
		pmrun_hang_report(o);
		end_with(SIGTERM);
	} else if (ranks.ended_with == SIGTERM && since >= 2 * o->grace_seconds) {
		end_with(SIGKILL);
	}
}

/* As if it had failed: with the grace of --grace between the signals. */
static void end_job(void)
{
	warnx("the job hangs: ending it");
	ranks.failed_rank = 0;
	ranks.failed_status = HANG_STATUS << 8;
	ranks.failed_at = now();
	end_with(SIGTERM);
}

static void print_size(char *text, size_t text_bytes, uint64_t size_bytes)
{
	if (size_bytes < 1u << 20)
		snprintf(text, text_bytes, "%.0f KB", (double)size_bytes / (1 << 10));
	else
		snprintf(text, text_bytes, "%.1f MB", (double)size_bytes / (1 << 20));
}

/* Below the ranks' lines, which without --prefix are not pmrun's to keep apart from its own. */
static void show_progress(const struct pmrun_options *o, double seconds, int iterations)
{
	char line[160], size[32], done[40] = "";
	print_size(size, sizeof size, pmrun_traces(o->output).size_bytes);
	if (iterations > 1)
		snprintf(done, sizeof done, ", %d iterations", iterations);
	snprintf(line, sizeof line, "pmrun: %d of %d %s running, %d:%02d%s, %s of trace", ranks.running,
		ranks.count, ranks.count == 1 ? "process" : "ranks", (int)seconds / 60, (int)seconds % 60,
		done, size);
	pmrun_status(line);
}

static void watch(const struct pmrun_options *o, const sigset_t *signals, double began)
{
	const bool progress = o->prefix && !o->quiet && isatty(STDERR_FILENO);
	const struct timespec step = {.tv_nsec = 250000000};
	double shown = began;
	int iterations = -1;

	reap(o);
	while (ranks.running > 0) {
		siginfo_t info;
		int number = sigtimedwait(signals, &info, &step);

		if (number == SIGTERM) /* a limit of time, most often */
			pmrun_hang_report(o);
		ranks.signalled |= number > 0 && number != SIGCHLD;
		if (number > 0 && number != SIGCHLD && (info.si_code <= 0 || number == SIGHUP))
			signal_all(number);
		reap(o);
		end_others(o);
		pmrun_keep_stacks(o, ranks.pids, ranks.count, now());
		if (ranks.ended_with == 0 && pmrun_hang_watch(o, now()))
			end_job();
		if (progress)
			iterations = pmrun_iterations(o, now());
		if (progress && now() - shown >= 1) {
			shown = now();
			show_progress(o, shown - began, iterations);
		}
	}
	if (ranks.ended_with)
		pmrun_kill_below();
	pmrun_hang_end(o);
	pmrun_keep_end(o);
	pmrun_status("");
	pmrun_progress_end();
	pmrun_output_finish();
}

/* ---- the end ---- */

/* Whether a driver's device is there: of a graphics card, of a Jetson, of Windows below. */
static bool has_gpu(void)
{
	static const char *const devices[] = {"/dev/nvidiactl", "/dev/nvhost-gpu", "/dev/nvgpu", "/dev/dxg"};

	for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++)
		if (access(devices[i], F_OK) == 0)
			return true;
	return false;
}

static void explain_no_trace(const struct pmrun_options *o)
{
	if (o->made_output)
		rmdir(o->output);
	if (o->quiet)
		return;
	if (ranks.failed_rank >= 0)
		warnx("no trace: '%s' failed before it called a hooked function%s", o->command[0],
			o->softgpu || has_gpu()
				? ""
				: "; no NVIDIA GPU is visible here: pmrun --softgpu runs it without one");
	else
		warnx("no trace: '%s' called no hooked function (statically linked programs cannot be hooked; "
		      "'pmrun --hooks' lists the functions)",
			o->command[0]);
}

static void summarise(const struct pmrun_options *o, double seconds)
{
	struct pmrun_traces t = pmrun_traces(o->output);
	char folder[PMRUN_QUOTED], size[32];

	pmrun_quote(o->output, folder);
	/* one rank of a job speaks for all; of the others' traces, which may still be growing, it says
	 * nothing */
	if (o->launched && o->rank != 0)
		return;
	if (o->launched && t.files > 0) {
		if (!o->quiet)
			fprintf(stderr,
				"pmrun: traces in %s; when all ranks have ended: pmanalyze report %s\n",
				folder, folder);
		return;
	}
	if (t.files == 0) {
		explain_no_trace(o);
		return;
	}
	if (t.lost_records > 0)
		warnx("%llu records were lost: disk full or PMHOOK_MAX_MB reached",
			(unsigned long long)t.lost_records);
	if (o->quiet)
		return;
	if (t.unfinished > 0)
		warnx("%d of %d traces end early (process killed); they are valid up to that point",
			t.unfinished, t.files);
	/* a launcher has ended its ranks, and seldom says which of them was the first */
	if (t.unfinished > 1 && ranks.count == 1 && ranks.failed_rank >= 0 && !ranks.signalled)
		pmrun_hang_report(o);
	print_size(size, sizeof size, t.size_bytes);
	fprintf(stderr, "pmrun: %d trace%s, %s, after %.1f s, in %s\n", t.files, t.files == 1 ? "" : "s",
		size, seconds, folder);
	fprintf(stderr, "pmrun: now run: pmanalyze report %s\n", folder);
}

/* Ends as the command ended, so that whoever started pmrun sees what they would have seen without it. */
static int hand_on(int status)
{
	const struct rlimit no_core = {0};
	sigset_t one;

	if (!WIFSIGNALED(status))
		return WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, WTERMSIG(status));
	raise(WTERMSIG(status));
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	return 128 + WTERMSIG(status);
}

int pmrun_ranks(const struct pmrun_options *o)
{
	const double began = now();
	sigset_t signals, before;

	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	for (size_t i = 0; i < PASSED_ON; i++)
		sigaddset(&signals, passed_on[i]);
	sigprocmask(SIG_BLOCK, &signals, &before);
	start(o, &before);
	watch(o, &signals, began);
	summarise(o, now() - began);
	return ranks.failed_rank >= 0 ? hand_on(ranks.failed_status) : 0;
}
