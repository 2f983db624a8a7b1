/*
 * A host that may not make clone: whoever does is killed. It makes 3000 calls that have to be described.
 */
#include "guest_host.h"

#include <err.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
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
