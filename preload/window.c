/*
 * Windows: when recording is on. The whole run, between the application's profiler start and stop, from one
 * signal to the next, or a range of iterations.
 *
 * Outside a window each call is still looked at (descriptors and handles must be known when the window opens)
 * and leaves no record. Iterations are counted without any help from the program: the operations of each
 * thread, without their addresses, are kept in a ring; once the last ones repeat with some period, an
 * operation that the period has exactly once is the mark of an iteration, and as each operation has been
 * counted since the beginning, so have the iterations.
 */
#include "hook.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define RING 32768u      /* operations kept; the longest period is a third of it */
#define MARKS (1u << 12) /* distinct operations that are counted */
#define LOOK_EVERY 256u  /* operations between two looks for the period */

bool pmh_window_open = true, pmh_window_counts;

static pmh_lock lock = ATOMIC_FLAG_INIT;
static unsigned first_iteration, last_iteration; /* from 1, both recorded */

/* One thread is watched: the first that launches work. */
static const struct pmh_thread *watched;
static uint64_t ring[RING], seen;
static struct {
	uint64_t coarse;
	uint32_t count;
} marks[MARKS];
static uint64_t mark; /* the operation that stands for an iteration, 0: not found yet */

static void turn(bool open, uint32_t iteration)
{
	pmh_acquire(&lock);
	if (pmh_window_open != open) {
		pmh_window_entry(open, iteration);
		pmh_window_open = open;
	}
	pmh_release(&lock);
}

void pmh_profiler(bool on)
{
	if (strcmp(pmh_settings.window, "profiler") == 0)
		turn(on, 0);
}

/* ---- signals ---- */

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
	(void)number;
	signalled = !signalled;
	/* the entry in the trace is written at the next call: nothing here may take a lock */
}

static const struct {
	const char *name;
	int number;
} signals[] = {{"USR1", SIGUSR1}, {"USR2", SIGUSR2}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH}};

static void watch_signal(const char *name)
{
	struct sigaction old, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
		if (strcmp(signals[i].name, name) != 0)
			continue;
		/* a handler of the host's stays */
		if (sigaction(signals[i].number, NULL, &old) == 0 && old.sa_handler == SIG_DFL &&
			sigaction(signals[i].number, &action, NULL) == 0)
			return;
		break;
	}
	pmh_note("warning: the signal of PMHOOK_WINDOW is not to be had, so the window never opens");
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

static uint32_t count_of(uint64_t operation)
{
	unsigned i = (unsigned)(operation >> 20) % MARKS;

	for (unsigned tries = 0; tries < 64; tries++, i = (i + 1) % MARKS)
		if (marks[i].coarse == operation)
			return marks[i].count;
	return 0;
}

static uint64_t back(unsigned steps)
{
	return ring[(seen - 1 - steps) % RING];
}

/*
 * Whether all repeats with the period, over half of what is known at least: equal layers of a net repeat too,
 * but not across the ends of an iteration.
 */
static bool repeats(unsigned period)
{
	unsigned known = seen < RING ? (unsigned)seen : RING;
	unsigned span = known / 2 > 2 * period ? known / 2 : 2 * period;

	if (span + period > known)
		return false;
	for (unsigned i = 0; i < span; i++)
		if (back(i) != back(i + period))
			return false;
	return true;
}

/* An operation that occurs once in the period, or 0. A period within the period has none. */
static uint64_t find_mark(unsigned period)
{
	for (unsigned i = 0; i < period; i++) {
		unsigned times = 0;

		for (unsigned k = 0; k < period; k++)
			times += back(k) == back(i);
		if (times == 1)
			return back(i);
	}
	return 0;
}

static void look_for_period(void)
{
	for (unsigned period = 4; period <= RING / 3 && !mark; period++)
		if (back(0) == back(period) && repeats(period))
			mark = find_mark(period);
}

void pmh_window_count(struct pmh_thread *self, uint32_t op)
{
	const int saved_errno = errno;

	if (strncmp(pmh_settings.window, "signal", 6) == 0) {
		if ((bool)signalled != pmh_window_open)
			turn(signalled, 0);
		return;
	}
	if (!watched)
		watched = self;
	if (watched != self)
		return;
	uint64_t operation = pmh_coarse_hash(op);
	uint32_t count = counted(operation);

	ring[seen++ % RING] = operation;
	if (!mark && seen % LOOK_EVERY == 0)
		look_for_period();
	if (mark && (operation == mark || seen % LOOK_EVERY == 0)) {
		uint32_t iteration = operation == mark ? count : count_of(mark);

		if (iteration + 1 >= first_iteration && iteration <= last_iteration)
			turn(true, iteration + 1);
		if (iteration > last_iteration)
			turn(false, iteration);
	}
	errno = saved_errno;
}

/* ---- */

void pmh_window_init(void)
{
	const char *window = pmh_settings.window;
	char *end;

	pmh_release(&lock);
	watched = NULL;
	seen = 0;
	mark = 0;
	memset(marks, 0, sizeof marks);
	pmh_window_counts = false;
	pmh_window_open = strcmp(window, "all") == 0;
	if (strcmp(window, "profiler") == 0)
		return;
	if (strncmp(window, "signal:", 7) == 0) {
		pmh_window_counts = true;
		watch_signal(window + 7);
		return;
	}
	first_iteration = (unsigned)strtoul(window, &end, 10);
	last_iteration = *end == '-' ? (unsigned)strtoul(end + 1, &end, 10) : first_iteration;
	if (first_iteration && last_iteration >= first_iteration && !*end)
		pmh_window_counts = true;
	else
		pmh_window_open =
			true; /* not understood: pmrun has said so, and everything is better than nothing */
}
