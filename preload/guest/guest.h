/*
 * How what is rare is done in somebody else's process: describing a new operation, opening a chunk, finding a
 * function.
 *
 * Three things of the host are never relied on. Its stack: a thread may have 16 KiB, a signal handler 2, so
 * the hook works on a stack of its own. Its signals: a handler may leave by siglongjmp, or make calls of its
 * own, so signals wait until no lock is held. Its descriptors: a host may close and reopen any number at any
 * moment, so a file is opened in a task that shares the memory and has a descriptor table of its own.
 *
 * And fork waits: a child made by it finds no lock of ours held, nor one that another library took for us.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Between these two the thread's signals are held back (but those that an instruction raises), and a fork in
 * another thread waits. Nests. Async-signal-safe; errno stays.
 */
void pmh_block_signals(void);
void pmh_unblock_signals(void);

/* The registers with which unwinding begins: those that a callee keeps, the stack and the instruction
 * pointer. */
struct pmh_context {
#if defined(__x86_64__)
	uint64_t rbx, rbp, r12, r13, r14, r15, rsp, rip;
#elif defined(__aarch64__)
	uint64_t x19_to_x30[12], sp, pc;
#endif
};

/*
 * Calls f, quiet, on a stack of the hook's own (512 KiB). Where there is no memory for one, and on processors
 * other than x86-64 and aarch64, on the caller's. Takes at most some 300 bytes of the caller's stack. Inside
 * of another it is a plain call. f must return.
 */
void pmh_run_on_own_stack(void (*f)(void *argument), void *argument);

/*
 * Between these two the thread is not cancelled, not at any instruction either: around the hook's own calls
 * of libraries that take locks. pmh_run_on_own_stack has them around f. The second may not return.
 */
struct pmh_cancellation {
	int state, type;
};
struct pmh_cancellation pmh_hold_cancellation(void);
void pmh_release_cancellation(struct pmh_cancellation held);

/* Where the calling thread came from, inside pmh_run_on_own_stack; NULL outside, and on other processors. */
const struct pmh_context *pmh_came_from(void);

/*
 * Calls f in a task that shares the process's memory and has a copy of its descriptor table, which goes with
 * it: what f opens is seen by nobody, and what it maps stays. The calling thread waits. f makes system calls
 * by syscall() and must not ask for the process's number, which is the task's. Inside pmh_run_on_own_stack
 * only.
 *
 * False, and f was not called: no such task can be made. There is a limit on processes, the program has
 * confined itself, or a tool such as valgrind makes a process of its own of it.
 */
bool pmh_run_in_clone_task(long (*f)(void *argument), void *argument, long *result);

/* Whether the program has installed a filter of system calls (seccomp): what it does not make itself may end
 * it. Async-signal-safe; errno stays. */
bool pmh_is_confined(void);

/* The same; where no such task can be made f is called here, and its descriptor is the process's for some
 * microseconds. Returns what f returns. */
long pmh_run_in_clone_task_or_here(long (*f)(void *argument), void *argument);

/* ---- locks ---- */

/*
 * A lock for the rare paths. It spins, then yields: what it guards is short, a few system calls at most, and
 * never the host's code. Its holder is quiet, so that no signal handler finds it held by its own thread, and
 * no child held by a thread that is not there.
 */
typedef atomic_flag pmh_lock;
void pmh_wait_for(pmh_lock *lock);
static inline void pmh_acquire(pmh_lock *lock)
{
	pmh_block_signals();
	if (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		pmh_wait_for(lock);
}
static inline bool pmh_try_acquire(pmh_lock *lock)
{
	pmh_block_signals();
	if (!atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
		return true;
	pmh_unblock_signals();
	return false;
}
static inline void pmh_release(pmh_lock *lock)
{
	atomic_flag_clear_explicit(lock, memory_order_release);
	pmh_unblock_signals();
}

/* ---- fork ---- */

/*
 * For pthread_atfork. Before: waits until no other thread is quiet, for 50 ms at most: one may be waiting
 * for the loader's lock, which the forking thread holds. In the child: whether all were, so that the
 * child may use what it finds.
 */
void pmh_fork_prepare(void);
void pmh_fork_parent(void);
bool pmh_fork_child(void);

/* In the child, of a lock that no thread holds: for those that were not quiet in time. */
static inline void pmh_lock_forget(pmh_lock *lock)
{
	atomic_flag_clear_explicit(lock, memory_order_relaxed);
}

/* Zeros in a child, however it was made, from the kernel (Linux 4.14): pages of private memory. False: not
 * here. */
bool pmh_wipe_on_fork(void *pages, size_t byte_count);

#endif
