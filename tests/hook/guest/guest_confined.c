/*
 * Hosts that may do less: one must not make clone, as whoever does is killed; others take their trace out of
 * their own reach. All make calls that have to be described.
 */
#include "guest_host.h"

#include <err.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof code / sizeof code[0], code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(77, "no filters of system calls here");
}

static void call(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		new_call();
}

/* What takes the trace out of the process's reach. */
static void give_up(const char *what)
{
	const struct rlimit files = {200000, 200000}, memory = {1, RLIM_INFINITY};
	int failed = 0;

	if (strcmp(what, "size") == 0)
		failed = setrlimit(RLIMIT_FSIZE, &files);
	else if (strcmp(what, "memory") == 0)
		failed = setrlimit(RLIMIT_AS, &memory);
	else if (strcmp(what, "user") == 0)
		failed = setgid(65534) || setuid(65534);
	else if (strcmp(what, "root") == 0)
		failed = mkdir("jail", 0755) || chroot("jail") || chdir("/");
	if (failed)
		err(77, "%s", what);
}

int run_limited(char **arguments)
{
	call(1000);
	give_up(arguments[0]);
	call(20000);
	puts("done");
	return 3;
}

int run_confined(char **arguments)
{
	if (strcmp(arguments[0], "inherited") == 0) {
		confine();
		execl("/proc/self/exe", "guest_host", "confined", "not", (char *)NULL);
		err(1, "/proc/self/exe");
	}
	if (strcmp(arguments[0], "first") == 0)
		confine();
	call(1000);
	if (strcmp(arguments[0], "later") == 0)
		confine();
	call(2000);
	puts("done");
	return 3;
}
