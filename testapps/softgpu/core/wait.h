/*
 * Waiting for a number in memory to change: a short spin, then a futex. Used inside one process (streams) and
 * across processes (NCCL's shared memory).
 *
 * The one idea: whoever changes the condition increments a 32-bit word and wakes it; whoever waits reads the
 * word first, then the condition, then sleeps only if the word is still the same. No wake-up can fall in
 * between.
 */
#ifndef SG_WAIT_H
#define SG_WAIT_H

#include <limits.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sg.h"

/* How long a wait spins before it sleeps. Several processes share few cores: longer would take their time. */
#define SG_SPIN_NS 12000

static inline void sg_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Sleeps while *word == value; returns early for a wake-up, a signal, or after timeout (NULL: none). */
static inline void sg_futex_wait(
	_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout, int shared)
{
	const int saved_errno = errno; /* "the value has changed" is no failure of the caller's call */

	syscall(SYS_futex, word, FUTEX_WAIT | (shared ? 0 : FUTEX_PRIVATE_FLAG), value, timeout, NULL, 0);
	errno = saved_errno;
}

static inline void sg_futex_wake(_Atomic uint32_t *word, int shared)
{
	syscall(SYS_futex, word, FUTEX_WAKE | (shared ? 0 : FUTEX_PRIVATE_FLAG), INT_MAX, NULL, NULL, 0);
}

/* 1 once a spin begun at begin_ns (CLOCK_MONOTONIC) has lasted long enough; pauses, and reads the clock
 * rarely. At once under the model clock, where many more threads than cores wait. */
static inline int sg_spin_over(uint64_t begin_ns, unsigned *turn)
{
	struct timespec now;

	if (sg_modelled())
		return 1;
	sg_pause();
	if (++*turn % 32 != 0)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - begin_ns > SG_SPIN_NS;
}

#endif
