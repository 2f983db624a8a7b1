/*
 * Device time from pairs of CUDA events: one recorded before a call's work, one behind it, in the same
 * stream.
 *
 * A thread keeps its pairs in a ring, one ring a device, because events belong to devices. The thread fills
 * the ring at its head; whoever holds the collecting lock takes from it what has completed. Nothing waits:
 * pairs that are not ready stay. A pair's time is told against a reference event of the device, which moves
 * along: the time between two events is a float of milliseconds, exact to a few nanoseconds only while it is
 * short.
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
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/settings_hook.h"
#include "trace/write.h"

#define RING_SLOTS 1024u
#define REFERENCE_NS 250000000 /* a reference older than this is replaced */
#define FINISH_NS 2000000      /* for events at the process's end */

enum slot_state {
	SLOT_FREE,    /* the owner may take it */
	SLOT_TAKEN,   /* between begin and end */
	SLOT_PENDING, /* recorded; belongs to the collector */
};

struct slot {
	cudaEvent_t begin, end; /* made once, used again */
	unsigned generation;    /* of the device, when they were made */
	uint32_t op, correlation;
	uint16_t queue;
	uint8_t flags;
	_Atomic uint8_t state;
};

struct pmh_ring {
	int device;
	_Atomic unsigned head; /* next slot to take; the owner's */
	unsigned tail;         /* oldest slot not free; the collector's */
	struct slot slots[RING_SLOTS];
};

/* A device's clock: the time of a reference event, in ns near CLOCK_MONOTONIC. Under the collecting lock. */
static struct {
	cudaEvent_t reference;
	int64_t reference_ns;
	bool has_happened;
	_Atomic unsigned generation;
	_Atomic int going; /* calls under way that may take its context away */
} device_clocks[PMH_DEVICES];

static pmh_lock collecting = ATOMIC_FLAG_INIT;
static _Atomic uint64_t times;
bool pmh_device_timed;

void pmh_device_init(void)
{
	pmh_device_timed = strcmp(pmh_settings.device, "none") != 0;
	pmh_trace_device_source(PM_DEVICE_NONE);
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
	memset(device_clocks, 0, sizeof device_clocks);
	memset(pmh_self.rings, 0, sizeof pmh_self.rings);
	atomic_store(&times, 0);
	pmh_cuda_forget();
	pmh_lock_forget(&collecting);
}

uint64_t pmh_device_times(void)
{
	return atomic_load_explicit(&times, memory_order_relaxed) + pmh_cupti_times();
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
	ring = (struct pmh_ring *)p;
	ring->device = device;
	/* another library may have changed the device behind the host's back */
	if (pmh_cuda.get_device(&device) == cudaSuccess)
		self->device = device;
	device = ring->device;
	__atomic_store_n(&self->rings[device], ring, __ATOMIC_RELEASE);
	return ring;
}

/* An event failed: a stream that is none, a device that is lost. The host must find its own errors and none
 * of ours. */
static void no_event(void)
{
	pmh_cuda.get_last_error();
	pmh_lose(PM_LOSS_EVENTS, 1);
}

static unsigned generation_of(int device)
{
	return atomic_load_explicit(&device_clocks[device].generation, memory_order_acquire);
}

/* Whether the slot's events may be touched: their context is there, and nobody is about to take it away. */
static bool events_live(int device, const struct slot *slot)
{
	return slot->end && slot->generation == generation_of(device) &&
	       atomic_load_explicit(&device_clocks[device].going, memory_order_acquire) == 0;
}

static bool make_events(int device, struct slot *slot)
{
	enum cudaStreamCaptureMode mode;
	cudaEvent_t begin = NULL, end = NULL;

	slot->generation = generation_of(device);
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

	if (__atomic_load_n(&device_clocks[device].reference, __ATOMIC_ACQUIRE))
		return true;
	pmh_relax_begin(&mode);
	made = pmh_cuda.event_create(&event, 0) == cudaSuccess;
	pmh_relax_end(&mode);
	pmh_acquire(&collecting);
	if (made && !device_clocks[device].reference) {
		device_clocks[device].reference_ns = (int64_t)pmh_monotonic_ns();
		made = pmh_cuda.event_record(event, stream) == cudaSuccess;
		__atomic_store_n(&device_clocks[device].reference, event, __ATOMIC_RELEASE);
	}
	pmh_release(&collecting);
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
	else if (atomic_load_explicit(&device_clocks[device].going, memory_order_acquire))
		cause = PM_LOSS_RESET;
	else if (pmh_cuda.peek_last_error() != cudaSuccess)
		cause = PM_LOSS_PENDING_ERROR;
	if (cause != PM_LOSS_COUNT)
		pmh_lose(cause, 1);
	return cause == PM_LOSS_COUNT;
}

/* The ring's next slot; NULL: there is none, which is counted. */
static struct slot *free_slot(struct pmh_thread *self, int device)
{
	struct pmh_ring *ring = ring_of(self, device);
	struct slot *slot;

	if (!ring) {
		pmh_lose(PM_LOSS_MEMORY, 1);
		return NULL;
	}
	slot = &ring->slots[atomic_load_explicit(&ring->head, memory_order_relaxed) % RING_SLOTS];
	if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_FREE) {
		pmh_device_collect(self, false);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_FREE) {
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
	struct slot *slot;
	bool ok = true;

	if (!pmh_device_timed || self->unlisted || !can_time(device) || !(slot = free_slot(self, device)))
		return none;
	ring = self->rings[device];
	if (device != self->device)
		ok = pmh_cuda.set_device(device) == cudaSuccess;
	ok = ok && make_reference(device, stream) &&
	     ((slot->end && slot->generation == generation_of(device)) || make_events(device, slot)) &&
	     pmh_cuda.event_record(slot->begin, stream) == cudaSuccess;
	if (!ok)
		no_event();
	if (device != self->device)
		pmh_cuda.set_device(self->device);
	if (!ok)
		return none;
	atomic_store_explicit(&slot->state, SLOT_TAKEN, memory_order_relaxed);
	atomic_fetch_add_explicit(&ring->head, 1, memory_order_release);
	return (struct pmh_interval){.ring = ring, .slot = (unsigned)(slot - ring->slots)};
}

struct pmh_interval pmh_device_begin(struct pmh_thread *self, int device, cudaStream_t stream)
{
	const int saved_errno = errno;
	struct pmh_interval interval = interval_begin(self, device, stream);

	errno = saved_errno;
	return interval;
}

void pmh_device_end(struct pmh_interval interval, cudaStream_t stream, uint32_t op, uint32_t correlation,
	uint16_t queue, uint8_t flags)
{
	const int saved_errno = errno;
	struct slot *slot = &interval.ring->slots[interval.slot];
	struct pmh_thread *self = &pmh_self;
	int device = interval.ring->device;

	uint8_t state = SLOT_FREE;

	/* the call failed, and has left an error to be found: then there was no work */
	if (!events_live(device, slot)) {
		pmh_lose(PM_LOSS_RESET, 1);
	} else if (pmh_device_timed && pmh_cuda.peek_last_error() == cudaSuccess &&
		   pmh_capturing(stream) == PMH_NOT_CAPTURED) {
		if (device != self->device)
			pmh_cuda.set_device(device);
		if (pmh_cuda.event_record(slot->end, stream) == cudaSuccess)
			state = SLOT_PENDING;
		else
			no_event();
		if (device != self->device)
			pmh_cuda.set_device(self->device);
	}
	slot->op = op;
	slot->correlation = correlation;
	slot->queue = queue;
	slot->flags = flags;
	atomic_store_explicit(&slot->state, state, memory_order_release);
	errno = saved_errno;
}

/* Its end was never recorded. */
void pmh_device_left(struct pmh_interval interval)
{
	pmh_lose(PM_LOSS_LEFT, 1);
	atomic_store_explicit(&interval.ring->slots[interval.slot].state, SLOT_FREE, memory_order_release);
}

/* ---- collecting ---- */

/* A pair's begin and end against the device's reference. */
static bool pair_times(const struct pmh_ring *ring, struct slot *slot, int64_t *begin_ns, int64_t *end_ns)
{
	float to_begin = 0, to_end = 0;

	if (pmh_cuda.event_elapsed(&to_begin, device_clocks[ring->device].reference, slot->begin) !=
			cudaSuccess ||
		pmh_cuda.event_elapsed(&to_end, slot->begin, slot->end) != cudaSuccess)
		return false;
	*begin_ns = device_clocks[ring->device].reference_ns + (int64_t)((double)to_begin * 1e6);
	*end_ns = *begin_ns + (int64_t)((double)to_end * 1e6);
	return true;
}

static void collect_slot(struct pmh_ring *ring, struct slot *slot, struct pmh_thread *self)
{
	int64_t begin_ns, end_ns;

	if (!pair_times(ring, slot, &begin_ns, &end_ns)) {
		pmh_lose(PM_LOSS_EVENTS, 1);
		return;
	}
	atomic_fetch_add_explicit(&times, 1, memory_order_relaxed);
	pmh_append_slowly(self,
		&(struct pmh_record){.begin = (uint64_t)begin_ns,
			.end = (uint64_t)end_ns,
			.op = slot->op,
			.queue = slot->queue,
			.kind = PM_RECORD_DEVICE,
			.flags = slot->flags},
		&(struct pm_more){.correlation = slot->correlation});
	if (end_ns - device_clocks[ring->device].reference_ns > REFERENCE_NS) {
		cudaEvent_t old = device_clocks[ring->device].reference;

		__atomic_store_n(&device_clocks[ring->device].reference, slot->end, __ATOMIC_RELEASE);
		device_clocks[ring->device].reference_ns = end_ns;
		slot->end = old;
	}
}

/* The first reference waits in its stream, perhaps for longer than the work of others takes; later ones have
 * happened. */
static bool reference_has_happened(int device)
{
	if (!device_clocks[device].has_happened)
		device_clocks[device].has_happened =
			pmh_cuda.event_query(device_clocks[device].reference) == cudaSuccess;
	return device_clocks[device].has_happened;
}

/* Work of one queue completes in order: when one pair is not ready, the later ones of that queue are not
 * asked. */
static void collect_ring(struct pmh_ring *ring, struct pmh_thread *self, bool *unready)
{
	const unsigned generation = generation_of(ring->device);
	unsigned head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t waiting = 0;
	bool contiguous = true;

	if (head == ring->tail || atomic_load(&device_clocks[ring->device].going))
		return;
	if (!device_clocks[ring->device].reference || !reference_has_happened(ring->device)) {
		*unready = true;
		return;
	}
	for (unsigned i = ring->tail; i != head; i++) {
		struct slot *slot = &ring->slots[i % RING_SLOTS];
		uint8_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

		if (state == SLOT_PENDING && slot->generation != generation) {
			pmh_lose(PM_LOSS_RESET, 1);
			state = SLOT_FREE;
			atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
		} else if (state == SLOT_PENDING) {
			uint64_t queue_bit = 1ull << slot->queue % 64;

			if (waiting & queue_bit || pmh_cuda.event_query(slot->end) != cudaSuccess) {
				waiting |= queue_bit;
			} else {
				collect_slot(ring, slot, self);
				state = SLOT_FREE;
				atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
			}
		}
		contiguous = contiguous && state == SLOT_FREE;
		if (contiguous)
			ring->tail = i + 1;
	}
	*unready |= waiting != 0;
}

static struct pmh_thread *collector;
static bool collector_unready;

static void collect_thread(struct pmh_thread *t)
{
	for (unsigned device = 0; device < PMH_DEVICES; device++) {
		struct pmh_ring *ring = __atomic_load_n(&t->rings[device], __ATOMIC_ACQUIRE);

		if (ring)
			collect_ring(ring, collector, &collector_unready);
	}
}

struct collection {
	struct pmh_thread *self;
	bool all;
};

static void collect(void *data)
{
	struct pmh_thread *self = ((struct collection *)data)->self;
	enum cudaStreamCaptureMode mode;

	if (((struct collection *)data)->all)
		pmh_acquire(&collecting);
	else if (!pmh_try_acquire(&collecting))
		return;
	pmh_relax_begin(&mode);
	collector = self;
	collector_unready = false;
	pmh_each_thread(collect_thread);
	/* "not ready" is an error to cudaGetLastError; the host had none, so take ours away */
	if (collector_unready)
		pmh_cuda.get_last_error();
	pmh_relax_end(&mode);
	pmh_release(&collecting);
}

void pmh_device_collect(struct pmh_thread *self, bool all)
{
	const int saved_errno = errno;

	if (!pmh_device_timed || !pmh_cuda_ready() || pmh_cuda.peek_last_error() != cudaSuccess)
		return;
	pmh_rarely(collect, &(struct collection){self, all});
	errno = saved_errno;
}

/* Pairs of the ring whose times are not known. */
static unsigned pending(struct pmh_ring *ring)
{
	unsigned count = 0;

	for (unsigned i = 0; i < RING_SLOTS; i++)
		count += atomic_load_explicit(&ring->slots[i].state, memory_order_acquire) == SLOT_PENDING;
	return count;
}

/* The thread ends: what is not ready yet is lost, its events with it. */
void pmh_device_leave(struct pmh_thread *self)
{
	pmh_device_collect(self, true);
	pmh_acquire(&collecting);
	for (unsigned device = 0; device < PMH_DEVICES; device++) {
		struct pmh_ring *ring = self->rings[device];

		if (!ring)
			continue;
		pmh_lose(PM_LOSS_THREAD_END, pending(ring));
		for (unsigned i = 0; i < RING_SLOTS; i++) {
			if (!events_live((int)device, &ring->slots[i]))
				continue;
			pmh_cuda.event_destroy(ring->slots[i].begin);
			pmh_cuda.event_destroy(ring->slots[i].end);
		}
		self->rings[device] = NULL;
		syscall(SYS_munmap, ring, sizeof *ring);
	}
	pmh_release(&collecting);
}

/* ---- ending ---- */

static void count_pending(struct pmh_thread *t)
{
	for (unsigned device = 0; device < PMH_DEVICES; device++) {
		struct pmh_ring *ring = __atomic_load_n(&t->rings[device], __ATOMIC_ACQUIRE);

		if (ring)
			pmh_lose(PM_LOSS_EXIT, pending(ring));
	}
}

/* The program may have waited for its last work, but the event behind that may take a moment more. */
void pmh_device_finish(struct pmh_thread *self)
{
	const uint64_t start_ns = pmh_monotonic_ns();

	do
		pmh_device_collect(self, true);
	while (collector_unready && pmh_monotonic_ns() - start_ns < FINISH_NS &&
		syscall(SYS_sched_yield) == 0);
	pmh_device_timed = false;
	pmh_acquire(&collecting);
	pmh_each_thread(count_pending);
	pmh_release(&collecting);
}

void pmh_device_going(struct pmh_thread *self, int device)
{
	pmh_device_collect(self, true);
	pmh_cupti_context_going();
	if (device < 0 || device >= PMH_DEVICES)
		return;
	pmh_acquire(&collecting);
	atomic_fetch_add(&device_clocks[device].going, 1);
	pmh_release(&collecting);
}

static int device_gone;

static void forget_pairs(struct pmh_thread *t)
{
	struct pmh_ring *ring = __atomic_load_n(&t->rings[device_gone], __ATOMIC_ACQUIRE);

	for (unsigned i = 0; ring && i < RING_SLOTS; i++) {
		uint8_t state = SLOT_PENDING;

		if (atomic_compare_exchange_strong(&ring->slots[i].state, &state, SLOT_FREE))
			pmh_lose(PM_LOSS_RESET, 1);
	}
}

void pmh_device_went(int device, bool gone)
{
	if (device < 0 || device >= PMH_DEVICES)
		return;
	pmh_acquire(&collecting);
	if (gone) {
		device_gone = device;
		atomic_fetch_add(&device_clocks[device].generation, 1);
		__atomic_store_n(&device_clocks[device].reference, NULL, __ATOMIC_RELEASE);
		device_clocks[device].has_happened = false;
		pmh_each_thread(forget_pairs);
	}
	atomic_fetch_sub(&device_clocks[device].going, 1);
	pmh_release(&collecting);
}
