/*
 * Windows: when recording is on. The whole run, between the application's profiler start and stop, from one
 * signal to the next, or a range of iterations.
 *
 * Outside a window each call is still looked at (descriptors and handles must be known when the window opens)
 * and leaves no record. Iterations are counted without any help from the program: the operations of a thread,
 * without their addresses, are kept in a ring; once the last ones repeat with some period, that is an
 * iteration. It begins with the copies that bring a batch from the host. An operation that the period has
 * exactly once, near its end, is the mark of an iteration, and as each operation has been counted since the
 * beginning, so have the iterations.
 */
#include "window.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "describe/operation.h"
#include "guest/guest.h"
#include "guest/settings.h"
#include "guest/settings_hook.h"
#include "period.h"
#include "trace/intern.h"
#include "trace/sample.h"

#define RING 32768u      /* operations kept; the longest period is a third of it */
#define LONG_HELD 64u    /* iterations after which a mark is beyond doubt */
#define MARKS (1u << 12) /* distinct operations that are counted */

_Atomic bool pmh_window_open = true;
bool pmh_window_counts;

static pmh_lock lock = ATOMIC_FLAG_INIT;
static unsigned first_iteration, last_iteration; /* from 1, both recorded */

/* One thread is watched: the first that launches work. What follows is its alone. */
static const struct pmh_thread *_Atomic watched;
static uint64_t ring[RING], next_look;
static struct pmh_period operations = {ring, RING, 0};
static struct {
	uint64_t coarse;
	uint32_t count;
} marks[MARKS];
static uint64_t mark;             /* the operation that stands for an iteration, 0: not found yet */
static unsigned behind_mark;      /* operations of the iteration that follow it */
static unsigned until_end;        /* of these, still to come, and one; 0: the mark is to come */
static uint32_t iterations_begun; /* by the mark, once there is one */
static bool held;
static bool is_over; /* the window has closed, or can no longer open */

/* A window of the settings has samples of its own; after a rest (turns.h) those of the run go on. */
static void turn(bool open, uint32_t iteration, bool is_rest)
{
	const int saved_errno = errno;

	pmh_acquire(&lock);
	if (pmh_window_open != open) {
		pmh_window_entry(open, iteration);
		pmh_window_open = open;
		if (!is_rest)
			pmh_sample_window(open);
	}
	pmh_release(&lock);
	errno = saved_errno;
}

void pmh_window_rest(bool rest)
{
	turn(!rest, 0, true);
}

void pmh_profiler(bool on)
{
	if (strcmp(pmh_settings.window, "profiler") == 0)
		turn(on, 0, false);
}

/* ---- signals ---- */

static _Atomic bool signalled;

static void on_signal(int number)
{
	(void)number;
	atomic_store(&signalled, !atomic_load(&signalled));
	/* the entry in the trace is written at the next call: nothing here may take a lock */
}

static void watch_signal(int number)
{
	struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	/* a handler of the host's stays; ours is there already in a child after fork */
	if (sigaction(number, NULL, &old) == 0 &&
		(old.sa_handler == SIG_DFL || old.sa_handler == on_signal) &&
		sigaction(number, &action, NULL) == 0)
		return;
	pmh_note("warning: the signal of PMHOOK_WINDOW is unavailable: the window never opens");
}

/* ---- iterations ---- */

static uint32_t counted(uint64_t operation)
{
	unsigned i = (unsigned)(operation >> 20) % MARKS;

	for (unsigned tries = 0; tries < 64; tries++, i = (i + 1) % MARKS)
		if (marks[i].coarse == operation || !marks[i].coarse) {
			marks[i].coarse = operation;
			return ++marks[i].count;
		}
	return 0;
}

static uint64_t back(unsigned steps)
{
	return pmh_period_back(&operations, steps);
}

/* How many steps back an iteration began: with the copy from the host that comes after the longest time
 * without one. 0: there is none. */
static unsigned begin_of(unsigned period)
{
	unsigned longest = 0, begin = 0;

	for (unsigned i = 0; i < period; i++) {
		unsigned gap = 1;

		if (!pmh_coarse_is_input(back(i)))
			continue;
		while (gap < period && !pmh_coarse_is_input(back(i + gap)))
			gap++;
		if (gap > longest) {
			longest = gap;
			begin = i + 1;
		}
	}
	return begin;
}

/*
 * Layers that are alike repeat too, and many of them fill half of what is known; but they bring no data. Of a
 * program without any copy from the host a ring full of operations must repeat.
 */
static bool take_period(unsigned period)
{
	unsigned begin = begin_of(period);

	if (!begin && operations.seen < RING)
		return false;
	for (unsigned i = 0; i < period; i++)
		if (pmh_period_has_once(&operations, back(begin + i), period)) {
			mark = back(begin + i);
			behind_mark = i;
			until_end = 0;
			return true;
		}
	return false;
}

static bool look_for_period(void)
{
	unsigned work = UINT32_MAX; /* of a window that was asked for all is done to find it */

	for (unsigned period = 2; period <= RING / 3 && 3 * period <= operations.seen; period++)
		if (back(0) == back(period) && pmh_period_repeats(&operations, period, &work) &&
			take_period(period))
			return true;
	return false;
}

/*
 * Of batches that make one step together the first ones look like iterations, until the step comes; so the
 * mark must have held when last looked at, or for long before, when a test of the net between two epochs is
 * what interrupts.
 */
static void look(void)
{
	if (look_for_period())
		held = true;
	else if (iterations_begun < LONG_HELD)
		held = false;
	next_look = operations.seen + operations.seen / 8 + 16;
}

void pmh_window_finish(void)
{
	if (first_iteration && pmh_window_counts && !is_over && !pmh_window_open)
		pmh_note(mark ? "warning: the program ended before the window of PMHOOK_WINDOW"
			      : "warning: no iterations detected: the window of PMHOOK_WINDOW never opened");
}

/* So many iterations are complete. */
static void iteration_ends(uint32_t iterations)
{
	char text[128];

	if (iterations >= last_iteration) {
		is_over = true;
		if (!pmh_window_open) {
			snprintf(text, sizeof text,
				"warning: the window of PMHOOK_WINDOW had passed when the first "
				"iteration was detected, number %u",
				iterations);
			pmh_note(text);
		}
		turn(false, iterations, false);
	} else if (iterations + 1 >= first_iteration) {
		turn(true, iterations + 1, false);
	}
}

void pmh_window_count(struct pmh_thread *self, uint32_t op)
{
	const struct pmh_thread *nobody = NULL;
	const int saved_errno = errno;
	uint64_t operation;
	uint32_t count;

	if (strncmp(pmh_settings.window, "signal", 6) == 0) {
		if (atomic_load(&signalled) != pmh_window_open)
			turn(atomic_load(&signalled), 0, false);
		return;
	}
	if (is_over ||
		(atomic_load(&watched) != self && !atomic_compare_exchange_strong(&watched, &nobody, self)))
		return;
	operation = pmh_coarse_hash(op);
	count = counted(operation);
	pmh_period_add(&operations, operation);
	if (operations.seen >= next_look && !pmh_window_open)
		look();
	if (mark && operation == mark) {
		iterations_begun = count;
		until_end = behind_mark + 1;
	}
	if (until_end && --until_end == 0 && held)
		iteration_ends(iterations_begun);
	errno = saved_errno;
}

void pmh_window_leave(const struct pmh_thread *self)
{
	if (atomic_load(&watched) != self)
		return;
	operations.seen = next_look = 0;
	until_end = 0;
	atomic_store(&watched, NULL);
}

/* ---- */

void pmh_window_init(void)
{
	const char *window = pmh_settings.window;

	pmh_lock_forget(&lock);
	atomic_store(&watched, NULL);
	operations.seen = next_look = 0;
	mark = 0;
	until_end = 0;
	iterations_begun = 0;
	held = is_over = false;
	first_iteration = 0;
	memset(marks, 0, sizeof marks);
	atomic_store(&signalled, false);
	pmh_window_counts = pmh_coarse_kept = false;
	pmh_window_open = strcmp(window, "all") == 0;
	if (strcmp(window, "profiler") == 0 || strcmp(window, "all") == 0)
		return;
	pmh_window_counts = pmh_coarse_kept = true;
	if (!pmh_window_iterations(window, &first_iteration, &last_iteration))
		watch_signal(pmh_window_signal(window));
}
