/*
 * Calls that do not return to their wrapper: left by a C++ exception, by longjmp out of a callback or a
 * signal handler, or with their thread.
 *
 * Nothing tells the hook so, and libc alone offers no landing. The next hooked call finds the thread inside
 * of a call and asks whether it still is. Mostly the vendor's code or ours is calling, and it is. Otherwise,
 * which is a host's callback or a host after a non-local exit, the stack decides: the wrapper's frame is on
 * it or is not.
 */
#include "left.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "describe/communicator.h"
#include "describe/operation.h"
#include "describe/unwind.h"
#include "device/cupti_session.h"
#include "device/event_time.h"
#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/state.h"
#include "trace/write.h"
#include "window.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(address, byte_count) 0
#endif

/* This library, from the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

static bool is_in_us(uint64_t address)
{
	return address - (uintptr_t)__ehdr_start < (uintptr_t)_end - (uintptr_t)__ehdr_start;
}

/* ---- who calls ---- */

/* The vendor's libraries that have made calls inside of calls, as ranges of addresses; filled once each. */
#define RANGES 32
static struct range {
	_Atomic uint64_t start; /* 0: free, or being filled */
	uint64_t end;
} ranges[RANGES];
static unsigned range_count;
static pmh_lock lock = ATOMIC_FLAG_INIT;

static bool is_known_vendors(uint64_t address)
{
	for (unsigned i = 0; i < RANGES; i++) {
		uint64_t start = atomic_load_explicit(&ranges[i].start, memory_order_acquire);

		if (!start)
			return false;
		if (address - start < ranges[i].end - start)
			return true;
	}
	return false;
}

static void keep_range(uint64_t start, uint64_t end)
{
	pmh_acquire(&lock);
	if (range_count < RANGES && !is_known_vendors(start)) {
		ranges[range_count].end = end;
		atomic_store_explicit(&ranges[range_count++].start, start, memory_order_release);
	}
	pmh_release(&lock);
}

static bool is_name_of_vendors(const char *file)
{
	const char *base = strrchr(file, '/');

	return pmh_is_vendors(base ? base + 1 : file);
}

/* Inside pmh_run_on_own_stack. */
static bool is_vendors(uint64_t address)
{
	struct pmh_mapped mapped;
	Dl_info info;

	if (pmh_mapped_at(address, &mapped)) {
		if (!is_name_of_vendors(((const struct link_map *)mapped.map)->l_name))
			return false;
		keep_range(mapped.start, mapped.end);
		return true;
	}
	return dladdr((void *)(uintptr_t)address, &info) && info.dli_fname &&
	       is_name_of_vendors(info.dli_fname);
}

/* In a child after fork. */
void pmh_left_forget(void)
{
	pmh_lock_forget(&lock);
}

/* ---- whether the wrapper is on the stack ---- */

struct search {
	uint64_t mark;       /* a word in the frame of the wrapper that is looked for */
	uint64_t last_stack; /* where the last frame begins */
	bool is_last_ours, was_outside, found;
	unsigned behind_signal; /* frames since the last that a signal interrupted, and it; 0: none did */
	bool in_our_code;       /* of those, one of this library but the wrapper */
};

/*
 * Innermost come frames of this library that belong to the call under way. The mark may lie in one of those
 * too, if the old wrapper was left and this one has its place. After the first foreign frame, one of ours
 * that has the mark is the wrapper.
 */
static bool look_for_mark(uint64_t address, uint64_t stack, void *data)
{
	struct search *s = data;

	if (s->is_last_ours && s->was_outside && s->last_stack <= s->mark && s->mark < stack) {
		s->found = true;
		return false;
	}
	s->in_our_code |= s->behind_signal && s->is_last_ours;
	s->is_last_ours = is_in_us(address);
	s->was_outside |= !s->is_last_ours;
	s->last_stack = stack;
	if (s->behind_signal)
		s->behind_signal++;
	if (!s->is_last_ours && pmh_is_signal_return(address)) {
		s->behind_signal = 1;
		s->in_our_code = false;
	}
	return stack <= s->mark;
}

/* The word at a mark, which may be long gone: checkers of memory must know that this is meant. */
__attribute__((no_sanitize("address", "thread"))) static bool is_marked(const uint64_t *mark)
{
	uint64_t word = *(const volatile uint64_t *)mark;

	(void)VALGRIND_MAKE_MEM_DEFINED(&word, sizeof word);
	return word == PMH_MARK;
}

/* On the alternate stack of a signal handler addresses say nothing of who called whom. */
static bool is_on_signal_stack(const uint64_t *mark)
{
	stack_t stack;

	return syscall(SYS_sigaltstack, NULL, &stack) == 0 && !(stack.ss_flags & SS_DISABLE) &&
	       (uintptr_t)mark - (uintptr_t)stack.ss_sp < stack.ss_size;
}

/* ---- calls that a signal interrupts ---- */

/*
 * The handler's calls are recorded while the interrupted call waits, if that is in its real function: then
 * the wrapper has written all that it writes before it, and its frame is put aside. In the wrapper's own code
 * the thread's record may be half written. The buffer of its touches is one.
 */
static bool set_aside(struct pmh_thread *self, const struct search *s)
{
	const struct pmh_frame *f = &self->frame;

	/* the frame that was interrupted may be the wrapper itself */
	if (s->in_our_code || s->behind_signal < 3 || f->call == PM_CALL_NONE || f->flags & PM_FLAG_TOUCHES ||
		self->interrupted_count == PMH_INTERRUPTED)
		return false;
	self->interrupted[self->interrupted_count].frame = *f;
	self->interrupted[self->interrupted_count].communicator = self->communicator;
	self->interrupted_count++;
	self->frame.call = PM_CALL_NONE;
	self->frame.mark = NULL;
	self->depth = 0;
	return true;
}

static void take_up(struct pmh_thread *self)
{
	self->interrupted_count--;
	self->frame = self->interrupted[self->interrupted_count].frame;
	self->communicator = self->interrupted[self->interrupted_count].communicator;
}

void pmh_frame_resume(struct pmh_thread *self)
{
	const struct pmh_frame *f = &self->frame;

	pmh_block_signals();
	take_up(self);
	self->depth = 1;
	if (pmh_window_open && !f->path)
		pmh_entered(self, f->begin, f->op, f->place.queue, f->flags);
	pmh_unblock_signals();
}

struct question {
	const uint64_t *mark;
	uint64_t caller;
	bool is_inside;
	bool is_set_aside, is_lost; /* a signal has interrupted the call, for this one */
};

static void ask(void *data)
{
	struct question *q = data;
	struct pmh_thread *self = &pmh_self;
	const struct pmh_frame *frame = &self->frame;
	struct search s = {.mark = (uintptr_t)frame->mark};

	if (is_vendors(q->caller)) {
		q->is_inside = true;
	} else if (is_on_signal_stack(q->mark)) {
		q->is_inside = true;
		q->is_lost = !is_on_signal_stack(frame->mark);
	} else if ((uintptr_t)q->mark >= (uintptr_t)frame->mark || !is_marked(frame->mark)) {
		q->is_inside = false; /* it lies further out than the wrapper, or over it */
	} else {
		q->is_inside = !pmh_unwind(pmh_came_from(), look_for_mark, &s) || s.found;
		q->is_lost = s.found && s.behind_signal && !set_aside(self, &s);
		q->is_set_aside = s.found && s.behind_signal && !q->is_lost;
	}
}

/* The same has been asked: of a handler, within one call only, as it may interrupt the next at a better
 * moment. */
static bool is_trusted(const struct pmh_thread *self, const uint64_t *mark, const void *caller)
{
	return self->trusted.outer == self->frame.mark && self->trusted.mark == mark &&
	       self->trusted.caller == caller &&
	       (!self->trusted.is_lost || self->trusted.sample_count == self->sample_count);
}

bool pmh_is_inside(const uint64_t *mark, const void *caller)
{
	struct pmh_thread *self = &pmh_self;
	struct question q = {.mark = mark, .caller = (uintptr_t)caller};

	if (pmh_local.quiet || !self->frame.mark || is_in_us(q.caller) || is_known_vendors(q.caller))
		return true;
	/* a callback that makes a call again and again */
	if (!is_trusted(self, mark, caller)) {
		pmh_run_on_own_stack(ask, &q);
		if (q.is_set_aside)
			return false;
		if (!q.is_inside) {
			pmh_frame_left(self);
			return false;
		}
		self->trusted.outer = self->frame.mark;
		self->trusted.mark = mark;
		self->trusted.caller = caller;
		self->trusted.is_lost = q.is_lost;
		self->trusted.sample_count = self->sample_count;
	}
	if (self->trusted.is_lost)
		pmh_lose(PM_LOSS_HANDLERS, 1);
	return true;
}

/* ---- what is left of it ---- */

static void record_left(void *data)
{
	struct pmh_thread *self = data;
	struct pmh_frame *f = &self->frame;
	const enum pm_call call = (enum pm_call)f->call;
	const bool ends_group = pmh_rows[call].role == PM_ROLE_ENDS_GROUP;
	struct pm_more more = {.result = PM_RESULT_LEFT};

	f->call = PM_CALL_NONE;
	if (f->pushed)
		pmh_cupti_end();
	if (f->interval.ring)
		pmh_device_left(f->interval);
	for (unsigned i = 0; ends_group && i < self->grouped_count; i++)
		if (self->grouped[i].interval.ring)
			pmh_device_left(self->grouped[i].interval);
	if (ends_group)
		self->group_depth = 0, self->grouped_count = 0;
	if (f->path) {
		const uint64_t words[] = {call, f->path, 0};

		f->op = pmh_operation(words, 3);
	}
	if (pmh_rows[call].kind == PM_KIND_COMM)
		more.sequence = pmh_comm_sequence(self->communicator, call);
	if (pmh_window_open)
		pmh_append_slowly(self,
			&(struct pmh_record){.begin = f->begin,
				.end = f->begin,
				.op = f->op,
				.queue = f->place.queue,
				.kind = PM_RECORD_CALL,
				.flags = f->flags | PM_FLAG_LEFT},
			&more);
	else
		pmh_not_entered(self);
}

void pmh_frame_left(struct pmh_thread *self)
{
	for (bool more = true; more;) {
		if (self->frame.call != PM_CALL_NONE && atomic_load(&pmh_state) == PMH_RECORDING)
			pmh_run_on_own_stack(record_left, self);
		more = self->interrupted_count > 0;
		if (more)
			take_up(self);
	}
	self->frame.mark = NULL;
	self->frame.call = PM_CALL_NONE;
	self->depth = 0;
}
