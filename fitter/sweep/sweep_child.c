/* Processes of trials: see sweep_child.h. */
#include "sweep_child.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The folder of this program after those of PATH, for pmrun and pmanalyze that are not installed. */
static void extend_path(void)
{
	const char *path = getenv("PATH");
	char self[PATH_MAX], *longer;
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length < 0)
		return;
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	if (asprintf(&longer, "%s%s%s", path ? path : "", path ? ":" : "", self) >= 0)
		setenv("PATH", longer, 1);
}

static int open_output(const char *path, int flags)
{
	return open(path, O_WRONLY | O_CREAT | O_APPEND | flags, 0666);
}

static __attribute__((noreturn)) void become(char *const *words, const char *output, const char *errors,
	const sigset_t *mask, pid_t parent, int failure)
{
	/* not O_CLOEXEC: where it is number 0 already it stays */
	int in = open("/dev/null", O_RDONLY), out, bad; /* NOLINT(android-cloexec-open) */

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(127);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	out = open_output(output, O_TRUNC);
	bad = open_output(errors, 0);
	if (in >= 0 && out >= 0 && bad >= 0) {
		dup2(in, STDIN_FILENO);
		dup2(out, STDOUT_FILENO);
		dup2(bad, STDERR_FILENO);
		for (int file = STDERR_FILENO + 1; file <= bad; file++)
			if (file != failure)
				close(file);
		extend_path();
		execvp(words[0], words);
	}
	if (write(failure, &errno, sizeof(errno)) < 0)
		_exit(126);
	_exit(127);
}

pid_t sweep_child_start(char *const *words, const char *output, const char *errors, const sigset_t *mask)
{
	pid_t pid, self = getpid();
	int failure[2], why = 0;
	ssize_t got;

	if (pipe2(failure, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		become(words, output, errors, mask, self, failure[1]);
	why = pid < 0 ? errno : 0;
	close(failure[1]);
	/* nothing comes if it has become the program */
	do {
		got = pid < 0 ? 0 : read(failure[0], &why, sizeof(why));
	} while (got < 0 && errno == EINTR);
	close(failure[0]);
	if (pid > 0 && why)
		waitpid(pid, NULL, 0);
	return why ? -why : pid;
}

void sweep_child_kill(pid_t pid, int number)
{
	if (kill(-pid, number) < 0)
		kill(pid, number);
}

bool sweep_child_ended(pid_t pid, int *status)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return false;
	/* its number cannot be another's before it has been waited for */
	kill(-pid, SIGKILL);
	return waitpid(pid, status, 0) == pid;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
	(void)status;
	(void)kind;
	(void)place;
	remove(path);
	return 0;
}

void sweep_child_remove(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void sweep_child_tail(const char *path, char *text, size_t size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = file >= 0 ? lseek(file, 0, SEEK_END) : 0, begin = end - (off_t)size + 1;
	ssize_t got = file >= 0 ? pread(file, text, size - 1, begin > 0 ? begin : 0) : 0;

	text[got > 0 ? got : 0] = '\0';
	for (ssize_t i = 0; i < got; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	if (file >= 0)
		close(file);
}

char *sweep_child_last_line(char *text)
{
	size_t length = strlen(text);
	char *line;

	while (length && strchr(" \t\r\n", text[length - 1]))
		text[--length] = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}
