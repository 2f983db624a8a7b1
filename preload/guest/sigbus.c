/*
 * SIGBUS: a store into a trace that somebody has truncated. The program must not end by it, and must not
 * notice.
 *
 * A trace is written through mappings, so that what was recorded survives any end of the process; a store
 * beyond the file's end is then a signal to the thread that records. A handler stands in front of the
 * program's own. For an address in one of our mappings it puts ordinary memory there and goes on. Everything
 * else is the program's: its disposition is put back and the instruction faults again, or a signal that was
 * sent is sent again, so that what follows, the end of the program included, is exactly what it is without
 * us.
 *
 * The program may set and ask for its disposition as it likes. The few functions of libc for that are
 * wrapped, for SIGBUS alone: we step aside, the real function does what it does without us, and we step in
 * front again. What we know of the program's wish is always what the kernel had, so nothing that a function
 * does need be imitated.
 *
 * Alternatives: without a handler, records would have to be copied to the file by system calls, some hundred
 * nanoseconds each or lost with the process; a handler that is only installed once is lost to the first
 * program that sets its own, as Java and Python's faulthandler do.
 *
 * The kernel ends a program without asking anybody where SIGBUS is ignored or blocked. A thread that records
 * has it unblocked, as many libraries' threads block everything without meaning this one: when it begins, and
 * with each chunk.
 *
 * Limits: a program that ignores SIGBUS, or blocks it between a thread's chunks, is not protected. A program
 * that sets its handler by the system call itself, or by libc's functions looked up past us, has it in front:
 * ours comes back with the next chunk, and hands on to it.
 */
#include "sigbus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "map.h"
#include "resolve.h"
#include "thread.h"

#define WISHES 32 /* so many changes may be under way while one is read */

static struct sigaction wishes[WISHES]; /* what the program wants of SIGBUS; the last is at `wish` */
static _Atomic unsigned wish, wish_count;
_Atomic bool pmh_sigbus_aside;
static _Atomic int owner; /* the process that all this is about; 0: nothing is in front yet */

typedef void handler(int);

static int real_sigaction(const struct sigaction *action, struct sigaction *old)
{
	__typeof__(&sigaction) real = (__typeof__(&sigaction))pmh_real(PM_CALL_sigaction);

	return real ? real(SIGBUS, action, old) : -1;
}

static void on_sigbus(int number, siginfo_t *info, void *context);

static bool is_ours(const struct sigaction *action)
{
	return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_sigbus;
}

static const struct sigaction *wished(void)
{
	return &wishes[atomic_load_explicit(&wish, memory_order_acquire) % WISHES];
}

/* What the kernel has becomes the program's wish, and our handler comes before it. */
static void step_in(void)
{
	struct sigaction now, ours = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	unsigned n;

	if (real_sigaction(NULL, &now) != 0 || is_ours(&now) ||
		(!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN))
		return;
	n = atomic_fetch_add(&wish_count, 1);
	wishes[n % WISHES] = now;
	atomic_store_explicit(&wish, n, memory_order_release);
	/* a system call that a signal interrupts is restarted, or not, as the program wants */
	ours.sa_flags |= now.sa_flags & SA_RESTART;
	real_sigaction(&ours, NULL);
}

static void step_aside(void)
{
	struct sigaction now;

	if (real_sigaction(NULL, &now) == 0 && is_ours(&now))
		real_sigaction(wished(), NULL);
}

static void on_sigbus(int number, siginfo_t *info, void *context)
{
	const int saved_errno = errno;
	/* those of the kernel that belong to no instruction are as if sent */
	const bool was_sent = info->si_code <= 0 || info->si_code == BUS_MCEERR_AO;

	(void)context;
	if (was_sent || !pmh_map_replace(info->si_addr)) {
		step_aside();
		atomic_store_explicit(&pmh_sigbus_aside, true, memory_order_relaxed);
		if (was_sent)
			syscall(SYS_rt_tgsigqueueinfo, syscall(SYS_getpid), syscall(SYS_gettid), number,
				info);
	}
	errno = saved_errno;
}

void pmh_sigbus_unblock(void)
{
	const uint64_t mask = (uint64_t)1 << (SIGBUS - 1);

	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mask, NULL, sizeof mask);
	pmh_local.signals &= ~mask; /* for when it is quiet no more */
}

static void forked(void)
{
	atomic_store(&owner, (int)getpid());
}

void pmh_sigbus_begin(void)
{
	static _Atomic bool registered;

	if (!atomic_load(&registered) && !atomic_exchange(&registered, true))
		pthread_atfork(NULL, NULL, forked);
	atomic_store(&owner, (int)getpid());
	pmh_sigbus_unblock();
	atomic_store_explicit(&pmh_sigbus_aside, false, memory_order_relaxed);
	step_in();
}

/* ---- the program's own changes ---- */

static bool is_watched(int number)
{
	return number == SIGBUS && atomic_load_explicit(&owner, memory_order_relaxed) != 0;
}

static void step_back(void)
{
	const int saved_errno = errno;

	/* a child of vfork has dispositions of its own, but our memory is its parent's */
	if (atomic_load_explicit(&owner, memory_order_relaxed) == (int)syscall(SYS_getpid))
		step_in();
	errno = saved_errno;
}

static int change_action(enum pm_call call, int number, const struct sigaction *action, struct sigaction *old)
{
	__typeof__(&sigaction) real = (__typeof__(&sigaction))pmh_real(call);
	int result;

	if (!is_watched(number))
		return real(number, action, old);
	if (!action) {
		result = real(number, NULL, old);
		if (result == 0 && old && is_ours(old))
			*old = *wished();
		return result;
	}
	step_aside();
	result = real(number, action, old);
	step_back();
	return result;
}

PMH_EXPORT int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old)
{
	return change_action(PM_CALL_sigaction, number, action, old);
}

PMH_EXPORT int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
PMH_EXPORT int __sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
	return change_action(PM_CALL___sigaction, number, action, old);
}

static handler *change_handler(enum pm_call call, int number, handler *h)
{
	handler *(*real)(int, handler *) = (handler * (*)(int, handler *)) pmh_real(call);

	if (!is_watched(number))
		return real(number, h);
	step_aside();
	h = real(number, h);
	step_back();
	return h;
}

#define CHANGES_HANDLER(name) \
	PMH_EXPORT handler *name(int number, handler *h); \
	PMH_EXPORT handler *name(int number, handler *h) \
	{ \
		return change_handler(PM_CALL_##name, number, h); \
	}
CHANGES_HANDLER(signal)
CHANGES_HANDLER(bsd_signal)
CHANGES_HANDLER(ssignal)
CHANGES_HANDLER(sysv_signal)
CHANGES_HANDLER(__sysv_signal)
CHANGES_HANDLER(sigset)

PMH_EXPORT int sigignore(int number)
{
	int (*real)(int) = (int (*)(int))pmh_real(PM_CALL_sigignore), result;

	if (!is_watched(number))
		return real(number);
	step_aside();
	result = real(number);
	step_back();
	return result;
}

PMH_EXPORT int siginterrupt(int number, int interrupts)
{
	int (*real)(int, int) = (int (*)(int, int))pmh_real(PM_CALL_siginterrupt), result;

	if (!is_watched(number))
		return real(number, interrupts);
	step_aside();
	result = real(number, interrupts);
	step_back();
	return result;
}
