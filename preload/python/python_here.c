/*
 * The module and the line of the program that a thread is in, at each operator.
 *
 * A look takes microseconds, so answers are kept for a while in one table for all threads: of the innermost
 * object whose method runs, by its address and class, the path that a look at the whole stack found; of a
 * class that is no module's, that; of a line, by its code and instruction, its text. An object that is gone
 * may leave its address to another, which is mostly of another class, and modules may be put elsewhere in
 * their tree: hence a while.
 *
 * The thread whose memory may be loaded (python_line.c) goes through its frames by loads, as far as the first
 * module: mostly one to four. For other threads each question is a look; but what they find is the same
 * table, and of an object that is in it they take the path at any age. So work that a backward pass does
 * again, from within PyTorch, has the module of the forward pass, which its own stack does not tell.
 */
#include "python_here.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/thread.h"
#include "python_line.h"
#include "python_loads.h"
#include "python_process.h"
#include "trace/intern.h"
#include "trace/write.h"

#define KNOWN_LOG 12
#define KNOWN (1u << KNOWN_LOG)
#define TRIES 8
#define FRAMES_MAX 64
#define HOLDS_NS 1000000000.0 /* as of the looks' own answers (python_module.c) */
#define HOLDS_NOTHING \
	16u /* that the path is not known is believed for so much shorter: a module is being made */
#define TIME_SHIFT 20
/* Of a number: the path begins with a class's name, for want of a variable's, which may come: a model is moved to the device
 * before it has one (net = Net().cuda()). */
#define CLASS_NAMED (1u << 31)
#define HOLDS_CLASS 64u

enum { MODULE = 1, NO_MODULE, OTHER_WORD, LINE, PYTORCHS }; /* of questions */

/* key 0: none, or being written; value: a number, and above it when it was found. */
static struct known {
	_Atomic uint64_t key, value;
} known[KNOWN];
static pmh_lock lock = ATOMIC_FLAG_INIT; /* for writing */
static _Atomic uint32_t holds;           /* in ticks >> TIME_SHIFT */
static _Atomic uint64_t known_self;      /* the word "self" */

static uint64_t key_of(uint64_t question, uint64_t a, uint64_t b)
{
	return pmh_mix(a + question * 0x9417034723148989u, b ^ 0xdd555950609dfe03u) | 1;
}

static uint32_t moment_of(uint64_t ticks)
{
	return (uint32_t)(ticks >> TIME_SHIFT);
}

static bool find(uint64_t key, uint32_t moment, uint32_t *number, uint32_t *age)
{
	unsigned i = (unsigned)(key >> (64 - KNOWN_LOG));

	for (unsigned tries = 0; tries < TRIES; tries++, i = (i + 1) % KNOWN) {
		uint64_t value;

		if (atomic_load_explicit(&known[i].key, memory_order_acquire) != key)
			continue;
		value = atomic_load_explicit(&known[i].value, memory_order_acquire);
		if (atomic_load_explicit(&known[i].key, memory_order_relaxed) != key)
			return false;
		*number = (uint32_t)value;
		*age = moment - (uint32_t)(value >> 32);
		if (*age >> 31)
			*age = 0; /* another thread has found it since */
		return true;
	}
	return false;
}

static bool find_fresh(uint64_t key, uint32_t moment, uint32_t *number)
{
	uint32_t hold = atomic_load_explicit(&holds, memory_order_relaxed), age;

	if (!find(key, moment, number, &age))
		return false;
	if (*number & CLASS_NAMED)
		hold /= HOLDS_CLASS;
	else if (!*number)
		hold /= HOLDS_NOTHING;
	*number &= ~CLASS_NAMED;
	return age < hold;
}

/* In the place of the same, of nothing, or of what is oldest there. */
static void keep(uint64_t key, uint32_t number)
{
	unsigned i = (unsigned)(key >> (64 - KNOWN_LOG));
	struct known *to = &known[i];
	const uint32_t moment = moment_of(pmh_ticks());

	pmh_acquire(&lock);
	for (unsigned tries = 0; tries < TRIES; tries++, i = (i + 1) % KNOWN) {
		const uint64_t there = atomic_load_explicit(&known[i].key, memory_order_relaxed);

		if (there == key || !there) {
			to = &known[i];
			break;
		}
		if (moment - (uint32_t)(atomic_load(&known[i].value) >> 32) >
			moment - (uint32_t)(atomic_load(&to->value) >> 32))
			to = &known[i];
	}
	atomic_store(&to->key, 0);
	atomic_store(&to->value, number | (uint64_t)moment << 32);
	atomic_store(&to->key, key);
	pmh_release(&lock);
}

/* How long answers hold, by what both clocks have counted since the trace began. */
static void measure_clock(void)
{
	uint64_t ticks, ns, passed_ns;
	double rate = 1;

	if (atomic_load_explicit(&holds, memory_order_relaxed) || !pmh_trace_begin(&ticks, &ns))
		return;
	passed_ns = pmh_monotonic_ns() - ns;
	if (pmh_clock == PM_CLOCK_TSC)
		rate = passed_ns ? (double)(pmh_ticks() - ticks) / (double)passed_ns : 1;
	atomic_store(&holds, (uint32_t)(HOLDS_NS * rate / (1u << TIME_SHIFT)));
}

/* ---- the module ---- */

struct module_question {
	uint32_t number;
	bool is_settled; /* without a look at the whole stack */
};

static bool is_known(const struct pmh_python_self *self, void *data)
{
	struct module_question *q = data;
	uint32_t age;

	/* what the first thread is to look for has been looked for in the table */
	q->is_settled = !pmh_self.reads_python &&
			find(key_of(MODULE, self->object, self->class), 0, &q->number, &age) && q->number;
	q->number &= ~CLASS_NAMED;
	return q->is_settled;
}

static void look_for_module(void *data)
{
	struct module_question *q = data;
	struct pmh_python_here here;
	uint32_t kept;
	bool found;

	pmh_python_begin_lines();
	found = pmh_python_look_self(&here, is_known, q);
	measure_clock();
	if (here.known_self)
		atomic_store(&known_self, here.known_self);
	for (unsigned i = 0; i < here.self.word_count && !here.known_self; i++)
		keep(key_of(OTHER_WORD, 0, here.self.words[i]), 1);
	for (unsigned i = 0; i < here.self.passed_count; i++)
		keep(key_of(NO_MODULE, 0, here.self.passed[i]), 1);
	if (!found || q->is_settled)
		return;
	q->number = here.module[0] ? pmh_string(here.module) : 0;
	kept = here.is_class_named ? q->number | CLASS_NAMED : q->number;
	keep(key_of(MODULE, here.self.object, here.self.class), kept);
	if (here.self.is_in_cell)
		keep(key_of(MODULE, here.self.object, pmh_python_loads.cell_type), kept);
}

/* What a frame says by loads: whether it is known, and then whether its module is (else it has none). */
static bool read_self(uint64_t frame, uint64_t code, uint32_t moment, bool *is_module, uint32_t *number)
{
	const struct pmh_python_offsets *at = pmh_python_loads.at;
	const uint64_t word = atomic_load_explicit(&known_self, memory_order_relaxed);
	uint64_t object, class, name;

	*is_module = false;
	if (!pmh_load_half(code + at->code_local_count))
		return true;
	name = pmh_load(pmh_load(code + at->code_names) + at->tuple_items);
	if (name != word)
		return word || find_fresh(key_of(OTHER_WORD, 0, name), moment, number);
	object = pmh_load(frame + at->frame_locals) & ~(uint64_t)at->frame_tags;
	if (!object)
		return false;
	class = pmh_load(object + 8);
	if (class == pmh_python_loads.cell_type)
		object = pmh_load(object + at->cell_content);
	*is_module = find_fresh(key_of(MODULE, object, class), moment, number);
	return *is_module || find_fresh(key_of(NO_MODULE, 0, class), moment, number);
}

/* False: a look is needed. */
static bool read_module(uint32_t moment, uint32_t *number)
{
	unsigned left = FRAMES_MAX;
	uint64_t code, frame = pmh_innermost_frame();
	bool is_module;

	*number = 0;
	while ((frame = pmh_next_code(pmh_python_loads.at, frame, &left, &code)) != 0) {
		if (!read_self(frame, code, moment, &is_module, number))
			return false;
		if (is_module)
			return true;
		frame = pmh_load(frame + pmh_python_loads.at->frame_previous);
	}
	*number = 0;
	return true;
}

static __attribute__((noinline)) uint32_t look(void (*f)(void *), void *question, const uint32_t *number)
{
	const struct pmh_moment begin = pmh_moment();
	const int saved_errno = errno;

	pmh_run_on_own_stack(f, question);
	pmh_new_cost_since(&pmh_self.new_cost, begin);
	errno = saved_errno;
	return *number;
}

uint32_t pmh_python_here_module(uint64_t ticks)
{
	struct module_question q = {0, false};

	if (pmh_self.reads_python) {
		if (read_module(moment_of(ticks), &q.number))
			return q.number;
	} else if (!pmh_python_is_running()) {
		return 0;
	}
	q.number = 0;
	return look(look_for_module, &q, &q.number);
}

/* ---- the line ---- */

static void look_for_line(void *data)
{
	struct pmh_python_program program;
	uint32_t *number = data;
	bool found;

	pmh_python_begin_lines();
	found = pmh_python_look_program(&program);
	measure_clock();
	for (unsigned i = 0; i < program.passed_count; i++)
		keep(key_of(PYTORCHS, 0, program.passed[i]), 1);
	if (!found)
		return;
	*number = pmh_string(program.line.text);
	keep(key_of(LINE, program.line.code, program.line.instruction), *number);
}

/* False: a look is needed. */
static bool read_line(uint32_t moment, uint32_t *number)
{
	const struct pmh_python_offsets *at = pmh_python_loads.at;
	unsigned left = FRAMES_MAX;
	uint64_t code, frame = pmh_innermost_frame();

	while ((frame = pmh_next_code(at, frame, &left, &code)) != 0) {
		const uint64_t instruction = at->code_instructions
						     ? pmh_load(frame + at->frame_instruction)
						     : pmh_load_half(frame + at->frame_instruction);

		if (find_fresh(key_of(LINE, code, instruction), moment, number))
			return true;
		if (!find_fresh(key_of(PYTORCHS, 0, code), moment, number))
			return false;
		frame = pmh_load(frame + at->frame_previous);
	}
	*number = 0;
	return true;
}

uint32_t pmh_python_here_line(uint64_t ticks)
{
	uint32_t number = 0;

	if (pmh_self.reads_python) {
		if (read_line(moment_of(ticks), &number))
			return number;
	} else if (!pmh_python_is_running()) {
		return 0;
	}
	number = 0;
	return look(look_for_line, &number, &number);
}

/* ---- the process ---- */

void pmh_python_here_forget(void)
{
	pmh_lock_forget(&lock);
	if (atomic_load(&holds))
		memset((void *)known, 0, sizeof known);
	atomic_store(&holds, 0);
}
