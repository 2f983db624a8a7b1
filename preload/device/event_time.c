/*
 * Device time from pairs of CUDA events: one recorded before a call's work, one after it, in the same
 * stream.
 *
 * A thread keeps its pairs in a ring, one ring a device, because events belong to devices. The thread fills
 * the ring at its head; whoever holds the collecting lock takes from it what has completed. Nothing waits:
 * pairs that are not ready stay (event_collect.c). A pair's time is measured from a reference event of the
 * device, which moves along: the time between two events is a float of milliseconds, exact to a few
 * nanoseconds only while it is short.
 *
 * Events die with their device's context. Then its generation grows, and events that were made in another one
 * are never touched again: to a driver they are handles that it has given to somebody else, perhaps.
 *
 * Never done: recording into a stream that is being captured, synchronising, changing the current device
 * without setting it back, leaving an error of ours for the host to find.
 */
#include "event_time.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_functions.h"
#include "cupti_session.h"
#include "event_ring.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "guest/unchecked.h"
#include "stretch.h"
#include "trace/write.h"

#define EMPTY_EVERY 64u /* pairs of a ring */

bool pmh_device_timed;
struct pmh_event_clock pmh_event_clocks[PMH_DEVICES];
pmh_lock pmh_event_collecting = ATOMIC_FLAG_INIT;
_Atomic uint64_t pmh_event_count;

void pmh_device_init(void)
{
	pmh_device_timed = strcmp(pmh_settings.device, "none") != 0;
	pmh_trace_device_source(PM_DEVICE_NONE);
	pmh_stretch_init();
	pmh_device_found();
	pmh_cupti_init();
}

void pmh_device_found(void)
{
	if (pmh_device_timed && pmh_cuda_ready() && atomic_load(&pmh_cupti_state) != PMH_CUPTI_ON)
		pmh_trace_device_source(PM_DEVICE_EVENTS);
}

/* In a child after fork the parent's events mean nothing, and CUDA itself does not work if the parent used
 * it. */
void pmh_device_forget(void)
{
	memset(pmh_event_clocks, 0, sizeof pmh_event_clocks);
	if (pmh_local.thread)
		memset(pmh_self.rings, 0, sizeof pmh_self.rings);
	atomic_store(&pmh_event_count, 0);
	pmh_cuda_forget();
	pmh_lock_forget(&pmh_event_collecting);
}

uint64_t pmh_device_times(void)
{
	return atomic_load_explicit(&pmh_event_count, memory_order_relaxed) + pmh_cupti_times();
}

/* ---- recording ---- */

static struct pmh_ring *ring_of(struct pmh_thread *self, int device)
{
	struct pmh_ring *ring = self->rings[device];
	long p;

	if (ring)
		return ring;
	p = syscall(SYS_mmap, NULL, sizeof *ring, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		(off_t)0);
	if (p == -1)
		return NULL;
	PMH_UNCHECKED((void *)p, sizeof *ring);
	ring = (struct pmh_ring *)p;
	ring->device = device;
	/* another library may have changed the device behind the host's back */
	if (pmh_cuda.get_device(&device) == cudaSuccess)
		self->device = device;
	device = ring->device;
	__atomic_store_n(&self->rings[device], ring, __ATOMIC_RELEASE);
	return ring;
}

/* Recording an event failed: invalid stream or lost device. The host must find its own errors and none of
 * ours. */
static void no_event(void)
{
	pmh_cuda.get_last_error();
	pmh_lose(PM_LOSS_EVENTS, 1);
}

unsigned pmh_event_generation(int device)
{
	return atomic_load_explicit(&pmh_event_clocks[device].generation, memory_order_acquire);
}

bool pmh_events_live(int device, const struct pmh_slot *slot)
{
	return slot->end && slot->generation == pmh_event_generation(device) &&
	       atomic_load_explicit(&pmh_event_clocks[device].going, memory_order_acquire) == 0;
}

static bool make_events(int device, struct pmh_slot *slot)
{
	enum cudaStreamCaptureMode mode;
	cudaEvent_t begin = NULL, end = NULL;

	slot->generation = pmh_event_generation(device);
	slot->end = NULL;
	pmh_relax_begin(&mode);
	if (pmh_cuda.event_create(&begin, 0) == cudaSuccess &&
		pmh_cuda.event_create(&end, 0) == cudaSuccess) {
		slot->begin = begin;
		slot->end = end;
	} else if (begin) {
		pmh_cuda.event_destroy(begin);
	}
	pmh_relax_end(&mode);
	return slot->end != NULL;
}

/* The device's first reference, recorded now: it cannot happen before the host's time of now. */
static bool make_reference(int device, cudaStream_t stream)
{
	enum cudaStreamCaptureMode mode;
	cudaEvent_t event = NULL;
	bool made;

	if (__atomic_load_n(&pmh_event_clocks[device].reference, __ATOMIC_ACQUIRE))
		return true;
	pmh_relax_begin(&mode);
	made = pmh_cuda.event_create(&event, 0) == cudaSuccess;
	pmh_relax_end(&mode);
	pmh_acquire(&pmh_event_collecting);
	if (made && !pmh_event_clocks[device].reference) {
		pmh_event_clocks[device].reference_ns = (int64_t)pmh_monotonic_ns();
		made = pmh_cuda.event_record(event, stream) == cudaSuccess;
		__atomic_store_n(&pmh_event_clocks[device].reference, event, __ATOMIC_RELEASE);
	}
	pmh_release(&pmh_event_collecting);
	return made;
}

/* Whether the device can be timed now; what cannot is counted. */
static bool can_time(int device)
{
	enum pm_loss cause = PM_LOSS_COUNT;

	if (!pmh_cuda_seek())
		cause = PM_LOSS_NO_SOURCE;
	else if (device < 0 || device >= PMH_DEVICES)
		cause = PM_LOSS_DEVICES;
	else if (atomic_load_explicit(&pmh_event_clocks[device].going, memory_order_acquire))
		cause = PM_LOSS_RESET;
	else if (pmh_cuda.peek_last_error() != cudaSuccess)
		cause = PM_LOSS_PENDING_ERROR;
	if (cause != PM_LOSS_COUNT)
		pmh_lose(cause, 1);
	return cause == PM_LOSS_COUNT;
}

/* The ring's next slot; NULL: there is none, which is counted. */
static struct pmh_slot *free_slot(struct pmh_thread *self, int device)
{
	struct pmh_ring *ring = ring_of(self, device);
	struct pmh_slot *slot;

	if (!ring) {
		pmh_lose(PM_LOSS_MEMORY, 1);
		return NULL;
	}
	slot = &ring->slots[atomic_load_explicit(&ring->head, memory_order_relaxed) % PMH_RING_SLOTS];
	if (atomic_load_explicit(&slot->state, memory_order_acquire) != PMH_SLOT_FREE) {
		pmh_device_collect(self, false);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) != PMH_SLOT_FREE) {
			pmh_lose(PM_LOSS_IN_FLIGHT, 1);
			return NULL;
		}
	}
	return slot;
}

static struct pmh_interval interval_begin(struct pmh_thread *self, int device, cudaStream_t stream)
{
	struct pmh_interval none = {0};
	struct pmh_ring *ring;
	struct pmh_slot *slot;
	bool ok = true;

	if (!pmh_device_timed || !can_time(device) || !(slot = free_slot(self, device)))
		return none;
	ring = self->rings[device];
	if (device != self->device)
		ok = pmh_cuda.set_device(device) == cudaSuccess;
	ok = ok && make_reference(device, stream) &&
	     ((slot->end && slot->generation == pmh_event_generation(device)) || make_events(device, slot)) &&
	     pmh_cuda.event_record(slot->begin, stream) == cudaSuccess;
	if (!ok)
		no_event();
	if (device != self->device)
		pmh_cuda.set_device(self->device);
	if (!ok)
		return none;
	atomic_store_explicit(&slot->state, PMH_SLOT_TAKEN, memory_order_relaxed);
	atomic_fetch_add_explicit(&ring->head, 1, memory_order_release);
	return (struct pmh_interval){.ring = ring, .slot = (unsigned)(slot - ring->slots)};
}

/* Two events after a pair, with nothing between them. What fails here is nobody's loss. */
static void record_empty(struct pmh_ring *ring, cudaStream_t stream)
{
	struct pmh_slot *empty = &ring->empty;

	if (ring->pair_count++ % EMPTY_EVERY != 0 ||
		atomic_load_explicit(&empty->state, memory_order_acquire) != PMH_SLOT_FREE)
		return;
	if (((empty->end && empty->generation == pmh_event_generation(ring->device)) ||
		    make_events(ring->device, empty)) &&
		pmh_cuda.event_record(empty->begin, stream) == cudaSuccess &&
		pmh_cuda.event_record(empty->end, stream) == cudaSuccess)
		atomic_store_explicit(&empty->state, PMH_SLOT_PENDING, memory_order_release);
	else
		pmh_cuda.get_last_error();
}

struct pmh_interval pmh_device_begin(struct pmh_thread *self, int device, cudaStream_t stream)
{
	const int saved_errno = errno;
	const struct pmh_cancellation held = pmh_hold_cancellation();
	struct pmh_interval interval = interval_begin(self, device, stream);

	errno = saved_errno;
	pmh_release_cancellation(held);
	return interval;
}

void pmh_device_end(struct pmh_interval interval, cudaStream_t stream, uint32_t op, uint32_t correlation,
	uint16_t queue, uint8_t flags)
{
	const int saved_errno = errno;
	struct pmh_slot *slot = &interval.ring->slots[interval.slot];
	const struct pmh_cancellation held = pmh_hold_cancellation();
	struct pmh_thread *self = &pmh_self;
	int device = interval.ring->device;

	uint8_t state = PMH_SLOT_FREE;

	/* the call failed, and has left an error to be found: then there was no work */
	if (!pmh_events_live(device, slot)) {
		pmh_lose(PM_LOSS_RESET, 1);
	} else if (pmh_device_timed && pmh_cuda.peek_last_error() == cudaSuccess &&
		   pmh_capturing(stream) == PMH_NOT_CAPTURED) {
		if (device != self->device)
			pmh_cuda.set_device(device);
		if (pmh_cuda.event_record(slot->end, stream) == cudaSuccess) {
			state = PMH_SLOT_PENDING;
			record_empty(interval.ring, stream);
		} else {
			no_event();
		}
		if (device != self->device)
			pmh_cuda.set_device(self->device);
	}
	slot->op = op;
	slot->correlation = correlation;
	slot->queue = queue;
	slot->flags = flags;
	atomic_store_explicit(&slot->state, state, memory_order_release);
	errno = saved_errno;
	pmh_release_cancellation(held);
}

/* Its end was never recorded. */
void pmh_device_left(struct pmh_interval interval)
{
	pmh_lose(PM_LOSS_LEFT, 1);
	atomic_store_explicit(
		&interval.ring->slots[interval.slot].state, PMH_SLOT_FREE, memory_order_release);
}
