/* Stretches with recording and without: see turns.h. */
#include "turns.h"

#include <errno.h>
#include <string.h>

#include "device/cupti_session.h"
#include "device/stretch.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/own_cost.h"
#include "guest/settings_hook.h"
#include "trace/intern.h"
#include "trace/sample.h"
#include "window.h"

#define START_NS 3000000000u    /* of the run, before the first look */
#define STEADY_NS 1000000000u   /* without any new operation */
#define PATIENCE_NS 60000000000 /* then there are new operations all the time */
#define STRETCH_NS 250000000u
#define STRETCHES 40u
#define SILENCE_NS 10000000000u /* the thread whose calls are counted makes none */

_Atomic bool pmh_resting;
bool pmh_turns_wanted;

static enum { WAITING, TURNING, STRETCH, OVER } state; /* under the lock, like what follows */
static pmh_lock lock = ATOMIC_FLAG_INIT;
static _Atomic uint64_t next_ns;         /* nothing is to be done before */
static const struct pmh_thread *counted; /* the thread whose calls are counted: the first that looks */
static uint64_t first_ns, begin_ns;
static uint32_t operations_before;
static unsigned calls_before, stretches;

void pmh_turns_init(void)
{
	pmh_lock_forget(&lock);
	pmh_turns_wanted =
		strcmp(pmh_settings.cost, "measure") == 0 && strcmp(pmh_settings.window, "all") == 0;
	atomic_store(&pmh_resting, false);
	/* what is measured is recording with device times */
	pmh_stretch_hold(pmh_turns_wanted);
	state = WAITING;
	stretches = 0;
	counted = NULL;
	first_ns = pmh_monotonic_ns();
	atomic_store(&next_ns, first_ns + START_NS);
}

/* With recording or without it, from when CUPTI follows. */
static void turn(bool rest, uint64_t now_ns)
{
	begin_ns = now_ns;
	atomic_store(&pmh_resting, rest);
	pmh_window_rest(rest);
	pmh_cupti_rest(rest);
	state = TURNING;
}

static void begin_stretch(uint64_t now_ns)
{
	state = STRETCH;
	begin_ns = now_ns;
	calls_before = counted->sample_count;
	atomic_store(&next_ns, now_ns + STRETCH_NS);
}

static void end(uint64_t now_ns)
{
	if (atomic_load(&pmh_resting))
		turn(false, now_ns);
	state = OVER;
	atomic_store(&next_ns, UINT64_MAX);
	pmh_stretch_hold(false);
}

static void end_stretch(uint64_t now_ns)
{
	const bool rested = atomic_load(&pmh_resting);
	const bool is_other = counted->sample_count < calls_before; /* its record is another thread's now */

	if (!is_other)
		pmh_turn_entry(!rested, now_ns - begin_ns, counted->sample_count - calls_before);
	if (!is_other && ++stretches < STRETCHES)
		turn(!rested, now_ns);
	else
		end(now_ns);
}

static void wait_for_loop(const struct pmh_thread *self, uint64_t now_ns)
{
	const uint32_t operations = pmh_operation_count();
	const bool is_steady = operations == operations_before &&
			       !atomic_load_explicit(&pmh_sample_on, memory_order_relaxed);

	operations_before = operations;
	atomic_store(&next_ns, now_ns + STEADY_NS);
	if (!is_steady && now_ns - first_ns < PATIENCE_NS)
		return;
	counted = self;
	begin_stretch(now_ns);
}

/* Nothing more is lost because a thread has ended, or sleeps, or CUPTI does not follow. */
static bool is_stuck(uint64_t now_ns)
{
	return (state == STRETCH || state == TURNING) && now_ns > begin_ns + STRETCH_NS + SILENCE_NS;
}

void pmh_turns_look(struct pmh_thread *self)
{
	const int saved_errno = errno;
	const uint64_t now_ns = pmh_monotonic_ns();

	if (now_ns < atomic_load_explicit(&next_ns, memory_order_relaxed) || !pmh_try_acquire(&lock)) {
		errno = saved_errno;
		return;
	}
	if (state == WAITING)
		wait_for_loop(self, now_ns);
	else if (state == STRETCH && self == counted)
		end_stretch(now_ns);
	else if (is_stuck(now_ns))
		end(now_ns);
	else if (state == TURNING && self == counted && pmh_cupti_rests(atomic_load(&pmh_resting)))
		begin_stretch(now_ns);
	pmh_release(&lock);
	errno = saved_errno;
}

void pmh_turns_finish(void)
{
	if (pmh_turns_wanted && stretches < 2)
		pmh_note(
			"warning: PMHOOK_COST=measure: the program ended before its loop was steady for long enough");
}

/* ---- calls that are let through ---- */

struct pmh_thread *pmh_rest_begin(const uint64_t *mark)
{
	struct pmh_thread *self = pmh_frame_begin(mark);

	if (self->number == 0)
		pmh_thread_begin();
	if (++self->sample_count % PMH_COST_EVERY == 0)
		pmh_turns_check(self);
	return self;
}

void pmh_rest_end(struct pmh_thread *self, const uint64_t *mark)
{
	if (pmh_has_frame_of(self, mark))
		self->depth = 0;
}
