/* Stretches with device times: see stretch.h. */
#include "stretch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cupti_session.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "trace/intern.h"

/*
 * Each fourteen short periods' time is four short ones and one of ten times the length; at the end of each is
 * its stretch. The long ones are for programs of which the short ones hold no whole step.
 */
#define FIRST_NS 60000000000u
#define SHORT_NS 5000000000u
#define SHORTS 4u
#define LONGER 10u
#define COLLECTING_NS 300000000u /* at the end of each: what is in flight is still waited for */

bool pmh_stretches;
_Atomic bool pmh_stretch_is_off;

static pmh_lock lock = ATOMIC_FLAG_INIT;
static uint64_t share;   /* percent */
static uint64_t wall_ns; /* wall clock minus monotonic clock */
static _Atomic uint64_t first_ns;
static _Atomic bool held;

static uint64_t real_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void pmh_stretch_init(void)
{
	pmh_lock_forget(&lock);
	share = strtoull(pmh_settings.device_share, NULL, 10);
	/* who sets a window has chosen a part of the run already */
	pmh_stretches = share < 100 && strcmp(pmh_settings.device, "auto") == 0 &&
			strcmp(pmh_settings.window, "all") == 0;
	wall_ns = real_ns() - pmh_monotonic_ns();
	atomic_store(&first_ns, 0);
	atomic_store(&held, false);
	atomic_store(&pmh_stretch_is_off, false);
}

/* In a period with a stretch at its end: as pmh_stretch_wanted. */
static bool is_in_stretch(uint64_t at_ns, uint64_t period_ns, uint64_t stretch_ns, long *left_ns)
{
	const uint64_t begin_ns = period_ns - stretch_ns, end_ns = period_ns - COLLECTING_NS;
	const bool is_in = at_ns >= begin_ns && at_ns < end_ns;

	*left_ns = (long)(at_ns < begin_ns ? begin_ns - at_ns : is_in ? end_ns - at_ns : period_ns - at_ns);
	return is_in;
}

bool pmh_stretch_wanted(long *left_ns)
{
	const uint64_t now_ns = pmh_monotonic_ns();
	uint64_t begin_ns = 0, period_ns, at_ns;

	*left_ns = -1;
	if (!pmh_stretches)
		return true;
	if (!atomic_load_explicit(&first_ns, memory_order_relaxed))
		atomic_compare_exchange_strong(&first_ns, &begin_ns, now_ns);
	begin_ns = atomic_load_explicit(&first_ns, memory_order_relaxed);
	if (now_ns < begin_ns + FIRST_NS) {
		*left_ns = (long)(begin_ns + FIRST_NS - now_ns);
		return true;
	}
	if (atomic_load_explicit(&held, memory_order_relaxed))
		return true;
	if (share == 0)
		return false;
	period_ns = SHORT_NS / share * 100;
	at_ns = (now_ns + wall_ns) % ((SHORTS + LONGER) * period_ns);
	if (at_ns < SHORTS * period_ns)
		return is_in_stretch(at_ns % period_ns, period_ns, SHORT_NS, left_ns);
	return is_in_stretch(at_ns - SHORTS * period_ns, LONGER * period_ns, LONGER * SHORT_NS, left_ns);
}

static void turn_now(void *data)
{
	const bool taken = *(const bool *)data;

	pmh_acquire(&lock);
	if (taken == atomic_load(&pmh_stretch_is_off)) {
		/* all calls that begin in a stretch have device times */
		const uint64_t before = pmh_ticks();

		atomic_store(&pmh_stretch_is_off, !taken);
		pmh_device_window_entry(taken, (uint32_t)share, taken ? pmh_ticks() : before);
	}
	pmh_release(&lock);
}

void pmh_stretch_turn(bool taken)
{
	const int saved_errno = errno;

	if (taken == atomic_load(&pmh_stretch_is_off))
		pmh_run_on_own_stack(turn_now, &taken);
	errno = saved_errno;
}

void pmh_stretch_hold(bool hold)
{
	atomic_store(&held, hold);
}

void pmh_stretch_look(void)
{
	const int state = atomic_load_explicit(&pmh_cupti_state, memory_order_relaxed);
	long left_ns;

	/* CUPTI's thread sees to it */
	if (state == PMH_CUPTI_OFF)
		pmh_stretch_turn(pmh_stretch_wanted(&left_ns));
}
