/* A library under which CLOCK_MONOTONIC goes a thousand times as fast, or $FAST_CLOCK times: what happens
 * after some seconds happens at once. */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FASTER 1000

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	static _Atomic long first_ns, faster;
	const int result = (int)syscall(SYS_clock_gettime, clock, t);
	long ns, begin_ns = 0;

	if (clock != CLOCK_MONOTONIC)
		return result;
	ns = t->tv_sec * 1000000000L + t->tv_nsec;
	if (__atomic_compare_exchange_n(
		    (long *)&first_ns, &begin_ns, ns, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		begin_ns = ns;
	if (!faster)
		faster = getenv("FAST_CLOCK") ? atol(getenv("FAST_CLOCK")) : FASTER;
	ns = begin_ns + (ns - begin_ns) * faster;
	t->tv_sec = ns / 1000000000L;
	t->tv_nsec = ns % 1000000000L;
	return result;
}
