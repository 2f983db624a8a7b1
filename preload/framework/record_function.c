/*
 * PyTorch's callbacks. Every operator, node of autograd's graph and range of record_function is a
 * RecordFunction on PyTorch's side, which calls all registered callbacks where it begins and ends, on the
 * thread that runs it. They are registered once, by functions that each version exports, one callback for
 * each scope: so the scope is known without being read.
 *
 * Those of ranges (scope USER) stay on: there are few in an iteration. Those of operators and nodes are on
 * during samples alone (trace/sample.h); PyTorch passes disabled callbacks over before it makes anything for
 * them. Turning them on takes a lock of PyTorch's, under which it does nothing but change its list. It is
 * done after a hooked call, where no lock of ours is held but that of this file; PyTorch may hold others
 * there (its allocator's), which nobody waits for with that lock held.
 *
 * Of a RecordFunction three words are read, at places that go by the version (layouts), and each is checked:
 * the sequence number of an operator is -1 or the very number that the next node of the thread gets
 * (at::sequence_number::peek); the thread of an operator is what PyTorch says of the calling thread; the
 * thread of a node is one on which operators with numbers were seen. Where an operator says otherwise the
 * layout is another one, and operators and nodes are left alone for good.
 *
 * A callback allocates nothing, calls nothing of Python's, throws nothing; what `start` returns is a
 * unique_ptr by a hidden pointer, which is null.
 */
#include "record_function.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call/window.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "guest/state.h"
#include "python/python_here.h"
#include "library.h"
#include "range.h"
#include "torch_layout.h"
#include "trace/intern.h"

struct callback {
	void *(*start)(void **result, const void *function);
	void (*end)(const void *function, void *context);
	double probability;
	bool scopes[10];
	bool inputs, outputs, ids;
};
static_assert(sizeof(struct callback) == 40, "as at::RecordFunctionCallback");

enum { OPERATORS, NODES, USERS, CALLBACKS };
static const unsigned scope_numbers[CALLBACKS] = {0, 1, 7}; /* at::RecordScope */

static struct {
	uint64_t (*add)(struct callback);
	void (*enable)(uint64_t handle), (*disable)(uint64_t handle);
	const char *(*name)(const void *function);
	uint64_t (*thread)(void);
	uint64_t (*next_sequence)(void);
} torch;

static pmh_lock lock = ATOMIC_FLAG_INIT; /* for what follows */
static uint64_t handles[CALLBACKS];
static _Atomic enum { SEEKING, FOUND, UNUSABLE } state;
static bool is_on, is_forking;
static bool is_said; /* in this trace, what came of it */
static bool is_over;

_Atomic unsigned pmh_framework_sample;
static _Atomic bool writes;  /* callbacks do something */
static _Atomic bool refused; /* those of operators and nodes do not: their layout is unknown */

/* ---- what is read of a RecordFunction ---- */

static struct pmh_torch_layout at;

static int64_t sequence_of(const void *function)
{
	return *(const int64_t *)(const void *)((const char *)function + at.sequence);
}

static uint64_t word_of(const void *function, unsigned offset)
{
	return *(const uint64_t *)(const void *)((const char *)function + offset);
}

#define CHECKED 64u /* operators with numbers that were found to be right */
#define THREADS 4096u

static _Atomic unsigned checked;
/* Threads, by PyTorch's numbers, on which operators with sequence numbers ran. */
static _Atomic uint8_t makes_nodes[THREADS];

static uint16_t own_thread(struct pmh_thread *self)
{
	if (!self->ranges.thread)
		self->ranges.thread = (uint16_t)torch.thread();
	return self->ranges.thread;
}

static const char unlike[] = "operators are not recorded: the values read are not as expected";

static void say(const char *what)
{
	char version[32] = "of unknown version", text[192];

	if (at.major)
		snprintf(version, sizeof version, "%u.%u", at.major, at.minor);
	snprintf(text, sizeof text, "%s, %s", version, what);
	pmh_note_of("pytorch", text);
}

static void refuse(void *unused)
{
	(void)unused;
	if (!atomic_exchange(&refused, true))
		say(unlike);
}

static bool is_right(const void *function, int64_t sequence)
{
	return word_of(function, at.thread) == torch.thread() &&
	       *((const uint8_t *)function + at.scope) == scope_numbers[OPERATORS] &&
	       (sequence == -1 || sequence == (int64_t)torch.next_sequence());
}

/* Whether what the operator says is as it should be. Of a layout that is not known, once one with a number
 * was. */
static bool is_believed(struct pmh_thread *self, const void *function)
{
	const int64_t sequence = sequence_of(function);
	const uint16_t thread = own_thread(self);
	const unsigned count = atomic_load_explicit(&checked, memory_order_relaxed);

	if (__builtin_expect(count < CHECKED, 0)) {
		if (!is_right(function, sequence)) {
			pmh_run_on_own_stack(refuse, NULL);
			return false;
		}
		if (sequence >= 0)
			atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed);
	}
	if (sequence >= 0 && thread < THREADS)
		atomic_store_explicit(&makes_nodes[thread], 1, memory_order_relaxed);
	return at.is_known || count || sequence >= 0;
}

/* The thread on which the node's operator ran, 0: not known. */
static uint16_t forward_thread_of(const void *function)
{
	const uint64_t thread = at.forward_thread ? word_of(function, at.forward_thread) : 0;

	return thread && thread < THREADS && atomic_load_explicit(&makes_nodes[thread], memory_order_relaxed)
		       ? (uint16_t)thread
		       : 0;
}

static uint32_t short_sequence(int64_t sequence)
{
	return sequence < 0 ? PM_RANGE_NO_SEQUENCE : (uint32_t)sequence;
}

/* ---- callbacks ---- */

/* `start` returns an object, so who calls it says where that is to be: on x86-64 by the first argument, which
 * is returned, on aarch64 by a register of its own. */
#define START_OF(what) \
	void *pmh_begin_##what(void **result, const void *function) __attribute__((visibility("hidden")))
START_OF(operator);
START_OF(node);
START_OF(user);
#ifdef __aarch64__
#define START(what) pmh_start_##what
#define START_BY_REGISTER(what) \
	void *pmh_start_##what(void **, const void *) __attribute__((visibility("hidden"))); \
	__asm__(".text\n\t.p2align 2\n\t.type pmh_start_" #what ", %function\npmh_start_" #what \
		":\n\thint #34\n\t" \
		"mov x1, x0\n\tmov x0, x8\n\tb pmh_begin_" #what "\n\t.size pmh_start_" #what \
		", . - pmh_start_" #what "\n")
START_BY_REGISTER(operator);
START_BY_REGISTER(node);
START_BY_REGISTER(user);
#else
#define START(what) pmh_begin_##what
#endif

/* The calling thread's record, NULL: nothing is to be written. */
static struct pmh_thread *self_that_writes(void)
{
	if (!atomic_load_explicit(&writes, memory_order_relaxed) || pmh_local.quiet || pmh_local.seeking ||
		(!pmh_local.thread && !pmh_self_make()))
		return NULL;
	return pmh_local.thread;
}

/* It evaluates a node, and who called the backward pass says nothing of that. */
static bool is_of_engine(const char *name)
{
	static const char engine[] = "autograd::engine::";

	return name && strncmp(name, engine, sizeof engine - 1) == 0;
}

static __attribute__((noinline)) void operator_begins(struct pmh_thread *self, const void *function)
{
	const int64_t sequence = sequence_of(function);
	uint64_t mark = PMH_MARK;
	struct pmh_range range = {.scope = PM_RANGE_OPERATOR};
	uint64_t ticks;

	if (!is_believed(self, function) || (sequence < 0 && pmh_range_innermost(self)->is_in_node) ||
		!pmh_range_enter(self, &mark))
		return;
	ticks = pmh_ticks();
	range.name = torch.name(function);
	if (!is_of_engine(range.name))
		range.module = pmh_python_here_module(ticks);
	pmh_range_open(self, function, range.scope, pmh_range_number(&range), short_sequence(sequence),
		own_thread(self), ticks);
	pmh_range_leave(self);
}

void *pmh_begin_operator(void **result, const void *function)
{
	struct pmh_thread *self = self_that_writes();

	*result = NULL;
	if (self && !pmh_range_innermost(self)->is_in_operator &&
		!atomic_load_explicit(&refused, memory_order_relaxed))
		operator_begins(self, function);
	return result;
}

void *pmh_begin_node(void **result, const void *function)
{
	struct pmh_thread *self = self_that_writes();
	struct pmh_range range = {.scope = PM_RANGE_NODE};
	uint64_t mark = PMH_MARK;

	*result = NULL;
	if (!self || atomic_load_explicit(&refused, memory_order_relaxed) ||
		(!at.is_known && !atomic_load_explicit(&checked, memory_order_relaxed)) ||
		!pmh_range_enter(self, &mark))
		return result;
	range.name = torch.name(function);
	pmh_range_open(self, function, range.scope, pmh_range_number(&range),
		short_sequence(sequence_of(function)), forward_thread_of(function), pmh_ticks());
	pmh_range_leave(self);
	return result;
}

void *pmh_begin_user(void **result, const void *function)
{
	struct pmh_thread *self = self_that_writes();
	struct pmh_range range = {.scope = PM_RANGE_USER};
	uint64_t mark = PMH_MARK, ticks;

	*result = NULL;
	if (!self || !pmh_range_enter(self, &mark))
		return result;
	range.name = torch.name(function);
	ticks = pmh_ticks();
	range.line = pmh_python_here_line(ticks);
	pmh_range_open(self, function, range.scope, pmh_range_number(&range), PM_RANGE_NO_SEQUENCE,
		own_thread(self), ticks);
	pmh_range_leave(self);
	return result;
}

static void end(const void *function, void *context)
{
	struct pmh_thread *self = pmh_local.thread;

	(void)context;
	if (self)
		pmh_range_close(self, function);
}

/* ---- registration ---- */

static bool find_functions(void *library)
{
	*(void **)&torch.add = dlsym(library, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE");
	*(void **)&torch.enable = dlsym(library, "_ZN2at16reenableCallbackEm");
	*(void **)&torch.disable = dlsym(library, "_ZN2at15disableCallbackEm");
	*(void **)&torch.name = dlsym(library, "_ZNK2at14RecordFunction4nameEv");
	*(void **)&torch.thread = dlsym(library, "_ZN2at14RecordFunction15currentThreadIdEv");
	*(void **)&torch.next_sequence = dlsym(library, "_ZN2at15sequence_number4peekEv");
	return torch.add && torch.enable && torch.disable && torch.name && torch.thread &&
	       torch.next_sequence;
}

static void register_callbacks(void)
{
	static void *(*const starts[CALLBACKS])(void **, const void *) = {
		START(operator), START(node), START(user)};

	for (unsigned i = 0; i < CALLBACKS; i++) {
		struct callback callback = {.start = starts[i], .end = end, .probability = 1};

		callback.scopes[scope_numbers[i]] = true;
		handles[i] = torch.add(callback);
		if (i != USERS)
			torch.disable(handles[i]);
	}
}

/* PyTorch takes its list away at exit: from here on it is not changed. */
static void stop_following(void)
{
	pmh_acquire(&lock);
	is_over = true;
	pmh_release(&lock);
}

static void begin_with(void *library)
{
	pmh_torch_layout(library, &at);
	state = find_functions(library) ? FOUND : UNUSABLE;
	if (state != FOUND)
		return;
	register_callbacks();
	/* after the first use of the list, so that it is called before the list goes */
	atexit(stop_following);
}

/* Once in a trace: a child after fork finds the callbacks registered. */
static void say_state(void)
{
	if (is_said || state == SEEKING)
		return;
	is_said = true;
	if (state == UNUSABLE)
		say("operators are not recorded: the library has no callbacks");
	else if (atomic_load(&refused))
		say(unlike);
	else
		say(at.is_known ? "operators are recorded"
				: "operators are recorded if they have the layout of other versions");
}

/* Operators and nodes. Under the lock. */
static void turn(bool on)
{
	if (state != FOUND || is_on == on || is_forking || is_over)
		return;
	if (on)
		pmh_range_window_entry(true);
	for (unsigned i = 0; i < USERS; i++)
		(on ? torch.enable : torch.disable)(handles[i]);
	if (!on)
		pmh_range_window_entry(false);
	is_on = on;
}

static void follow(void *data)
{
	/* before the lock is taken; it stays loaded, as it has addresses of ours */
	void *library = state == SEEKING ? pmh_library_loaded("libtorch_cpu.so") : NULL;

	(void)data;
	pmh_acquire(&lock);
	if (atomic_load(&writes)) {
		const unsigned sample = atomic_load(&pmh_sample_on);

		if (state == SEEKING && library)
			begin_with(library);
		say_state();
		turn(sample != 0 && !atomic_load(&refused));
		atomic_store(&pmh_framework_sample, sample);
	}
	pmh_release(&lock);
}

void pmh_framework_follow(void)
{
	const int saved_errno = errno;

	if (atomic_load_explicit(&writes, memory_order_relaxed))
		pmh_run_on_own_stack(follow, NULL);
	else
		atomic_store(&pmh_framework_sample, atomic_load(&pmh_sample_on));
	errno = saved_errno;
}

/* After 64, 128, 256, ... calls. */
void pmh_framework_seek(unsigned calls)
{
	if ((calls & (calls - 1)) == 0 && state == SEEKING)
		pmh_framework_follow();
}

/* ---- the process ---- */

void pmh_framework_begin(void)
{
	atomic_store(&writes, strcmp(pmh_settings.framework, "off") != 0);
	atomic_store(&pmh_framework_sample, ~0u);
}

void pmh_framework_finish(void)
{
	pmh_acquire(&lock);
	atomic_store(&writes, false);
	pmh_release(&lock);
}

void pmh_framework_fork_prepare(void)
{
	pmh_acquire(&lock);
	for (unsigned i = 0; i < USERS && is_on && !is_over; i++)
		torch.disable(handles[i]);
	is_forking = true;
	pmh_release(&lock);
}

void pmh_framework_fork_parent(void)
{
	pmh_acquire(&lock);
	is_forking = false;
	for (unsigned i = 0; i < USERS && is_on && !is_over; i++)
		torch.enable(handles[i]);
	atomic_store(&pmh_framework_sample, ~0u);
	pmh_release(&lock);
}

void pmh_framework_forget(struct pmh_thread *self)
{
	pmh_lock_forget(&lock);
	atomic_store(&writes, false);
	is_on = is_forking = is_said = false;
	pmh_range_forget(self);
}
