/*
 * Where the threads of a rank are in Python, as `pmrun --stacks` reads it from the process: a program of its
 * own, since how an interpreter lies in memory is the hook's knowledge. Where it cannot be read, of another
 * host, or ended, what the rank's own pmrun has read and kept beside the trace since its last call. Else there
 * are none.
 */
#include "base/table.h"
#include "hang_private.h"
#include "trace/trace_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* pmrun in the folder of this program. False: it is not there. */
static bool find_pmrun(char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("pmrun"));
	char *slash;

	if (n < 0)
		return false;
	path[n] = 0;
	slash = strrchr(path, '/');
	memcpy(slash ? slash + 1 : path, "pmrun", sizeof("pmrun"));
	return access(path, X_OK) == 0;
}

/* Its output goes into the pipe. 0: it cannot be started. */
static pid_t start(char *program, uint32_t process, const int pipe_ends[2])
{
	posix_spawn_file_actions_t actions;
	char number[16], option[] = "--stacks";
	char *const arguments[] = {program, option, number, NULL};
	char *const environment[] = {NULL};
	pid_t pid = 0;

	snprintf(number, sizeof(number), "%u", process);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, program, &actions, NULL, arguments, environment) != 0)
		pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

/* "TID: innermost < caller" */
static void add_line(struct hang *hang, struct hang_rank *rank, char *line)
{
	char *end;
	const unsigned long tid = strtoul(line, &end, 10);

	line[strcspn(line, "\n")] = 0;
	if (end == line || strncmp(end, ": ", 2) != 0)
		return;
	*MEM_PUSH(rank->stacks, rank->stack_count, rank->stack_room) =
		(struct hang_stack){(uint32_t)tid, print_clean(&hang->arena, end + 2)};
}

static void read_stacks(struct hang *hang, struct hang_rank *rank, int fd)
{
	FILE *lines = fdopen(fd, "r");
	char *line = NULL;
	size_t room = 0;

	if (!lines) {
		close(fd);
		return;
	}
	while (getline(&line, &room, lines) > 0)
		add_line(hang, rank, line);
	free(line);
	(void)fclose(lines);
}

static void read_now(struct hang *hang, struct hang_rank *rank)
{
	char program[PATH_MAX];
	int ends[2];
	pid_t pid;

	if (!find_pmrun(program) || pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = start(program, rank->trace.header.pid, ends);
	close(ends[1]);
	read_stacks(hang, rank, ends[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* "process PID at NS": of this process, and read since the last call of its trace? */
static bool is_of_now(const struct hang_rank *rank, const char *line, int64_t *at_ns)
{
	unsigned pid;

	return sscanf(line, "process %u at %" SCNd64, &pid, at_ns) == 2 && pid == rank->trace.header.pid &&
	       *at_ns > hang_real_ns(rank, rank->standing.last_ns);
}

static void read_kept(struct hang *hang, struct hang_rank *rank)
{
	const size_t stem = trace_name_stem(rank->trace.path);
	char path[PATH_MAX], *line = NULL;
	size_t room = 0;
	int64_t at_ns;
	FILE *file;

	if (!stem ||
		snprintf(path, sizeof(path), "%.*s.stacks", (int)stem, rank->trace.path) >= (int)sizeof(path))
		return;
	file = fopen(path, "re");
	if (file && getline(&line, &room, file) > 0 && is_of_now(rank, line, &at_ns)) {
		rank->stacks_ns = at_ns;
		while (getline(&line, &room, file) > 0)
			add_line(hang, rank, line);
	}
	free(line);
	if (file)
		(void)fclose(file);
}

void hang_read_stacks(struct hang *hang, struct hang_rank *rank)
{
	if (rank->looked_inside)
		return;
	rank->looked_inside = true;
	if (!hang->over && rank->process == HANG_RUNS)
		read_now(hang, rank);
	if (rank->stack_count == 0)
		read_kept(hang, rank);
}

const char *hang_python(const struct hang_rank *rank, uint32_t tid)
{
	for (size_t i = 0; i < rank->stack_count; i++)
		if (rank->stacks[i].tid == tid)
			return rank->stacks[i].text;
	return NULL;
}
