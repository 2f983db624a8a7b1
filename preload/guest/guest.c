/*
 * What guest.h says: a stack of our own, signals that wait, files opened apart, and forks between two uses of
 * them.
 */
#include "guest.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "clock.h"
#include "thread.h"
#include "unchecked.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(start, end) 0
#define RUNNING_ON_VALGRIND 0
#endif

#define STACK_BYTES (512u << 10)
#define GUARD_BYTES (64u << 10) /* the largest page there is */
#define TASK_STACK_BYTES (128u << 10)
#define SPARE_STACKS 64u
#define DATA_BYTES 512u /* at most, that is not 0 at first */
#define CLONE3_SINCE 34 /* glibc 2.34 starts threads by it, and by clone where there is none */

#define FORK_WAITS_NS 50000000u /* for threads that are quiet */
#define QUIET_WAITS_NS \
	100000000u /* for a fork: its other handlers may wait for a lock that this thread holds */

/* ---- quiet ---- */

static _Atomic unsigned quiet_threads, forks;

/* All signals but those that an instruction raises, which would end the process if they were held back. */
static uint64_t signals_that_wait(void)
{
	static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
	uint64_t mask = UINT64_MAX;

	for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++)
		mask &= ~(1ull << (raised[i] - 1));
	return mask;
}

static void yield_until(_Atomic unsigned *count, unsigned at_most, uint64_t wait_ns)
{
	const uint64_t start_ns = pmh_monotonic_ns();

	while (atomic_load(count) > at_most && pmh_monotonic_ns() - start_ns < wait_ns)
		syscall(SYS_sched_yield);
}

void pmh_block_signals(void)
{
	struct pmh_local *self = &pmh_local;
	const uint64_t waiting = signals_that_wait();
	uint64_t before = 0;
	int saved_errno;

	if (self->quiet > 0) {
		self->quiet++;
		return;
	}
	saved_errno = errno;
	/* the system call, as libc's function leaves out the signals that it uses itself, for cancellation; a
	 * thread of our own has none to hold back */
	if (!self->thread || !self->thread->ours)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &waiting, &before, sizeof before);
	self->signals = before;
	self->quiet = 1;
	atomic_fetch_add(&quiet_threads, 1);
	if (__builtin_expect(atomic_load(&forks) > 0, 0) && !self->forks) {
		atomic_fetch_sub(&quiet_threads, 1);
		yield_until(&forks, 0, QUIET_WAITS_NS);
		atomic_fetch_add(&quiet_threads, 1);
	}
	errno = saved_errno;
}

void pmh_unblock_signals(void)
{
	struct pmh_local *self = &pmh_local;
	uint64_t before = self->signals;
	int saved_errno;

	if (--self->quiet > 0)
		return;
	saved_errno = errno;
	atomic_fetch_sub(&quiet_threads, 1);
	if (!self->thread || !self->thread->ours)
		syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof before);
	errno = saved_errno;
}

/* The holder may be waiting for this processor. */
void pmh_wait_for(pmh_lock *lock)
{
	for (unsigned tries = 1; atomic_flag_test_and_set_explicit(lock, memory_order_acquire); tries++)
		if (tries % 64 == 0)
			syscall(SYS_sched_yield);
}

/* ---- fork ---- */

static unsigned quiet_myself(void)
{
	return pmh_local.quiet > 0;
}

void pmh_fork_prepare(void)
{
	const int saved_errno = errno;

	pmh_local.forks = true;
	atomic_fetch_add(&forks, 1);
	yield_until(&quiet_threads, quiet_myself(), FORK_WAITS_NS);
	errno = saved_errno;
}

void pmh_fork_parent(void)
{
	atomic_fetch_sub(&forks, 1);
	pmh_local.forks = false;
}

bool pmh_fork_child(void)
{
	const bool were_quiet = atomic_load(&quiet_threads) <= quiet_myself();

	atomic_store(&forks, 0);
	atomic_store(&quiet_threads, quiet_myself());
	pmh_local.forks = false;
	return were_quiet;
}

bool pmh_wipe_on_fork(void *pages, size_t byte_count)
{
#ifdef MADV_WIPEONFORK
	const int saved_errno = errno;
	const bool done = syscall(SYS_madvise, pages, byte_count, MADV_WIPEONFORK) == 0;

	errno = saved_errno;
	return done;
#else
	(void)pages;
	(void)byte_count;
	return false;
#endif
}

/* ---- a stack of our own ---- */

/* Stacks that nobody uses at the moment, by their lowest address. */
static char *_Atomic spare_stacks[SPARE_STACKS];

static char *stack_take(void)
{
	long p;

	for (unsigned i = 0; i < SPARE_STACKS; i++) {
		char *stack = atomic_exchange(&spare_stacks[i], NULL);

		if (stack)
			return stack;
	}
	p = syscall(SYS_mmap, NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, (off_t)0);
	if (p == -1)
		return NULL;
	syscall(SYS_mprotect, p, GUARD_BYTES, PROT_NONE);
	PMH_UNCHECKED((char *)p, STACK_BYTES);
	(void)VALGRIND_STACK_REGISTER((char *)p + GUARD_BYTES, (char *)p + STACK_BYTES);
	return (char *)p;
}

static void stack_give(char *stack)
{
	for (unsigned i = 0; i < SPARE_STACKS; i++) {
		char *none = NULL;

		if (atomic_compare_exchange_strong(&spare_stacks[i], &none, stack))
			return;
	}
	syscall(SYS_munmap, stack, STACK_BYTES);
}

/* Calls f on another stack, which ends at `end`, and comes back. The frame pointer tells unwinders where
 * from. */
void pmh_call_on_stack(void *argument, void (*f)(void *), void *end);

/* The system call, with f to be called in the task, on the stack that ends at `end`. Not libc's function of
 * that name: a sanitizer takes it for a fork. The task's number, or -errno. */
long pmh_clone(unsigned long flags, void *end, int (*f)(void *), void *argument);

/* The same by the call that newer C libraries make. The numbers of the first members are the kernel's. */
struct clone_arguments {
	uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_bytes, tls;
};
long pmh_clone3(struct clone_arguments *arguments, size_t byte_count, int (*f)(void *), void *argument);

#if defined(__x86_64__)
#define HAS_OWN_STACK 1
__asm__(".pushsection .text\n"
	".globl pmh_call_on_stack\n"
	".hidden pmh_call_on_stack\n"
	".type pmh_call_on_stack, @function\n"
	"pmh_call_on_stack:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rbp\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset %rbp, -16\n"
	"	movq %rsp, %rbp\n"
	"	.cfi_def_cfa_register %rbp\n"
	"	movq %rdx, %rsp\n"
	"	callq *%rsi\n"
	"	leave\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	retq\n"
	"	.cfi_endproc\n"
	".size pmh_call_on_stack, . - pmh_call_on_stack\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	".globl pmh_clone\n"
	".hidden pmh_clone\n"
	".type pmh_clone, @function\n"
	"pmh_clone:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	subq $16, %rsi\n"
	"	movq %rcx, (%rsi)\n"
	"	movq %rdx, 8(%rsi)\n"
	"	xorl %edx, %edx\n"
	"	xorl %r10d, %r10d\n"
	"	xorl %r8d, %r8d\n"
	"	movl $56, %eax\n" /* clone */
	"	syscall\n"
	"	testq %rax, %rax\n"
	"	jnz 1f\n"
	"	.cfi_undefined %rip\n"
	"	xorl %ebp, %ebp\n"
	"	popq %rdi\n"
	"	popq %rax\n"
	"	callq *%rax\n"
	"	movl %eax, %edi\n"
	"	movl $60, %eax\n" /* exit */
	"	syscall\n"
	"	hlt\n"
	"1:	retq\n"
	"	.cfi_endproc\n"
	".size pmh_clone, . - pmh_clone\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	".globl pmh_clone3\n"
	".hidden pmh_clone3\n"
	".type pmh_clone3, @function\n"
	"pmh_clone3:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	movq %rcx, %r8\n"
	"	movl $435, %eax\n" /* clone3 */
	"	syscall\n"
	"	testq %rax, %rax\n"
	"	jnz 1f\n"
	"	.cfi_undefined %rip\n"
	"	xorl %ebp, %ebp\n"
	"	movq %r8, %rdi\n"
	"	callq *%rdx\n"
	"	movl %eax, %edi\n"
	"	movl $60, %eax\n" /* exit */
	"	syscall\n"
	"	hlt\n"
	"1:	retq\n"
	"	.cfi_endproc\n"
	".size pmh_clone3, . - pmh_clone3\n"
	".popsection\n");

#define CONTEXT_TAKE(context) \
	__asm__ volatile( \
		"movq %%rbx, %c[rbx](%[to])\n\t" \
		"movq %%rbp, %c[rbp](%[to])\n\t" \
		"movq %%r12, %c[r12](%[to])\n\t" \
		"movq %%r13, %c[r13](%[to])\n\t" \
		"movq %%r14, %c[r14](%[to])\n\t" \
		"movq %%r15, %c[r15](%[to])\n\t" \
		"movq %%rsp, %c[rsp](%[to])\n\t" \
		"leaq 0f(%%rip), %%rax\n\t" \
		"movq %%rax, %c[rip](%[to])\n" \
		"0:" \
		: \
		: [to] "r"(&(context)), [rbx] "i"(offsetof(struct pmh_context, rbx)), \
		[rbp] "i"(offsetof(struct pmh_context, rbp)), [r12] "i"(offsetof(struct pmh_context, r12)), \
		[r13] "i"(offsetof(struct pmh_context, r13)), [r14] "i"(offsetof(struct pmh_context, r14)), \
		[r15] "i"(offsetof(struct pmh_context, r15)), [rsp] "i"(offsetof(struct pmh_context, rsp)), \
		[rip] "i"(offsetof(struct pmh_context, rip)) \
		: "rax", "memory")
#elif defined(__aarch64__)
#define HAS_OWN_STACK 1
__asm__(".pushsection .text\n"
	".globl pmh_call_on_stack\n"
	".hidden pmh_call_on_stack\n"
	".type pmh_call_on_stack, %function\n"
	"pmh_call_on_stack:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	mov x29, sp\n"
	"	.cfi_def_cfa_register 29\n"
	"	mov sp, x2\n"
	"	blr x1\n"
	"	mov sp, x29\n"
	"	.cfi_def_cfa_register 31\n"
	"	ldp x29, x30, [sp], #16\n"
	"	.cfi_restore 30\n"
	"	.cfi_restore 29\n"
	"	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size pmh_call_on_stack, . - pmh_call_on_stack\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	".globl pmh_clone\n"
	".hidden pmh_clone\n"
	".type pmh_clone, %function\n"
	"pmh_clone:\n"
	"	.cfi_startproc\n"
	"	stp x2, x3, [x1, #-16]!\n"
	"	mov x2, xzr\n"
	"	mov x3, xzr\n"
	"	mov x4, xzr\n"
	"	mov x8, #220\n" /* clone */
	"	svc #0\n"
	"	cbnz x0, 1f\n"
	"	.cfi_undefined 30\n"
	"	mov x29, xzr\n"
	"	ldp x1, x0, [sp], #16\n"
	"	blr x1\n"
	"	mov x8, #93\n" /* exit */
	"	svc #0\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size pmh_clone, . - pmh_clone\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	".globl pmh_clone3\n"
	".hidden pmh_clone3\n"
	".type pmh_clone3, %function\n"
	"pmh_clone3:\n"
	"	.cfi_startproc\n"
	"	mov x8, #435\n" /* clone3 */
	"	svc #0\n"
	"	cbnz x0, 1f\n"
	"	.cfi_undefined 30\n"
	"	mov x29, xzr\n"
	"	mov x0, x3\n"
	"	blr x2\n"
	"	mov x8, #93\n" /* exit */
	"	svc #0\n"
	"1:	ret\n"
	"	.cfi_endproc\n"
	".size pmh_clone3, . - pmh_clone3\n"
	".popsection\n");

#define CONTEXT_TAKE(context) \
	__asm__ volatile("stp x19, x20, [%[to]]\n\t" \
			 "stp x21, x22, [%[to], #16]\n\t" \
			 "stp x23, x24, [%[to], #32]\n\t" \
			 "stp x25, x26, [%[to], #48]\n\t" \
			 "stp x27, x28, [%[to], #64]\n\t" \
			 "stp x29, x30, [%[to], #80]\n\t" \
			 "mov x9, sp\n\t" \
			 "adr x10, 0f\n\t" \
			 "stp x9, x10, [%[to], #96]\n" \
			 "0:" \
			 : \
			 : [to] "r"(&(context)) \
			 : "x9", "x10", "memory")
#else
#define HAS_OWN_STACK 0
#endif

/*
 * A thread may be cancelled at any instruction. Its signal is held back too, but libraries that f calls
 * (libunwind around each step) block "all" signals by libc's function, which lets just that one through. So
 * the thread is not to be cancelled meanwhile, and what came is acted on at the end, by libc, where no lock
 * is held. The type, as glibc's handler does not look at the state; the state, as f may call what is a point
 * of cancellation.
 */
struct pmh_cancellation pmh_hold_cancellation(void)
{
	struct pmh_cancellation held = {PTHREAD_CANCEL_DISABLE, PTHREAD_CANCEL_DEFERRED};

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &held.state);
	pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &held.type);
	return held;
}

void pmh_release_cancellation(struct pmh_cancellation held)
{
	if (held.state != PTHREAD_CANCEL_DISABLE)
		pthread_setcancelstate(held.state, NULL);
	if (held.type != PTHREAD_CANCEL_DEFERRED)
		pthread_setcanceltype(held.type, NULL);
}

#if HAS_OWN_STACK
void pmh_run_on_own_stack(void (*f)(void *), void *argument)
{
	struct pmh_local *self = &pmh_local;
	struct pmh_context context;
	char *stack;
	struct pmh_cancellation cancellation;
	int saved_errno;

	if (self->came_from) {
		f(argument);
		return;
	}
	saved_errno = errno;
	pmh_block_signals();
	cancellation = pmh_hold_cancellation();
	stack = stack_take();
	errno = saved_errno;
	if (stack) {
		CONTEXT_TAKE(context);
		self->came_from = &context;
		pmh_call_on_stack(argument, f, stack + STACK_BYTES);
		self->came_from = NULL;
		saved_errno = errno;
		stack_give(stack);
		errno = saved_errno;
	} else {
		f(argument);
	}
	pmh_unblock_signals();
	pmh_release_cancellation(cancellation);
}
#else
void pmh_run_on_own_stack(void (*f)(void *), void *argument)
{
	struct pmh_cancellation cancellation;

	pmh_block_signals();
	cancellation = pmh_hold_cancellation();
	f(argument);
	pmh_unblock_signals();
	pmh_release_cancellation(cancellation);
}
#endif

const struct pmh_context *pmh_came_from(void)
{
	return pmh_local.came_from;
}

/* ---- filters of system calls ---- */

static bool has_filter(void)
{
	return syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) > 0;
}

static bool had_filter;

/* Where what the library has in static storage ends, from the linker: what is not 0 at first, and all. */
extern const char _edata[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

__attribute__((constructor(101))) static void look_around(void)
{
	had_filter = has_filter();
	if (PMH_HAS_CHECKER) {
		const uintptr_t start = (uintptr_t)_edata - DATA_BYTES;

		PMH_UNCHECKED(start, (uintptr_t)_end - start);
	}
}

bool pmh_is_confined(void)
{
	const int saved_errno = errno;
	const bool confined = !had_filter && has_filter();

	errno = saved_errno;
	return confined;
}

/* ---- a descriptor table of our own ---- */

#if HAS_OWN_STACK
struct task {
	long (*f)(void *);
	void *argument;
	long result;
	bool done;
};

static int task_run(void *data)
{
	struct task *task = data;

	task->result = task->f(task->argument);
	task->done = true;
	return 0;
}

/*
 * A filter that was there before the program is a container's, which knows what C libraries do to start
 * threads: a call that they do not make may end the process.
 */
static long start_task(char *stack, struct task *task)
{
#ifdef __GLIBC__
	struct clone_arguments arguments = {
		.flags = CLONE_VM | CLONE_VFORK, .stack = (uintptr_t)stack, .stack_bytes = TASK_STACK_BYTES};
	long id = -ENOSYS;

	if (had_filter && strtoul(gnu_get_libc_version() + strlen("2."), NULL, 10) >= CLONE3_SINCE)
		id = pmh_clone3(&arguments, sizeof arguments, task_run, task);
	if (id != -ENOSYS)
		return id;
#endif
	/* no CLONE_FILES; and no signal when it ends, so that no host waits for it by mistake */
	return pmh_clone(CLONE_VM | CLONE_VFORK, stack + TASK_STACK_BYTES, task_run, task);
}

/* 1, or 0: it did not share the memory, or -1: there is none. */
static int run_task(long (*f)(void *), void *argument, long *result)
{
	char stack[TASK_STACK_BYTES] __attribute__((aligned(16)));
	struct task task = {.f = f, .argument = argument};
	struct task *volatile shared = &task; /* the other task writes to it */
	const int saved_errno = errno;
	const long id = start_task(stack, &task);

	if (id > 0)
		syscall(SYS_wait4, id, NULL, __WCLONE, NULL);
	errno = saved_errno;
	*result = shared->result;
	return id < 0 ? -1 : shared->done;
}

static long do_nothing(void *unused)
{
	(void)unused;
	return 0;
}

/*
 * Whether a task shares the memory here. An emulator of processes makes a process of its own of it, which
 * must not do the work: nobody would see what it maps, but its files would be there. valgrind's would even
 * write out the host's buffers when it ends, so it is not tried.
 */
static bool tasks_share_memory(void)
{
	static _Atomic int known = -1; /* not, or for want of processes not yet */
	long result;

	if (atomic_load(&known) < 0)
		atomic_store(&known, RUNNING_ON_VALGRIND ? 0 : run_task(do_nothing, NULL, &result));
	return atomic_load(&known) > 0;
}

bool pmh_run_in_clone_task(long (*f)(void *), void *argument, long *result)
{
	return pmh_local.came_from && !pmh_is_confined() && tasks_share_memory() &&
	       run_task(f, argument, result) > 0;
}
#else
bool pmh_run_in_clone_task(long (*f)(void *), void *argument, long *result)
{
	(void)f;
	(void)argument;
	(void)result;
	return false;
}
#endif

long pmh_run_in_clone_task_or_here(long (*f)(void *), void *argument)
{
	long result;

	return pmh_run_in_clone_task(f, argument, &result) ? result : f(argument);
}
