/*
 * Collecting the device time of calls: of each pair of events that has completed the times become a record;
 * those that are not ready stay. Also the end of threads, contexts and the process, where pairs are lost.
 */
#include "event_time.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_functions.h"
#include "cupti_session.h"
#include "event_empty.h"
#include "event_ring.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "trace/write.h"

#define REFERENCE_NS 250000000 /* a reference older than this is replaced */
#define FINISH_NS 20000000     /* for events at the process's end, while others may have the processor */

/* A pair's start and end against the device's reference. */
static bool pair_times(const struct pmh_ring *ring, struct pmh_slot *slot, int64_t *begin_ns, int64_t *end_ns)
{
	float to_begin = 0, to_end = 0;

	if (pmh_cuda.event_elapsed(&to_begin, pmh_event_clocks[ring->device].reference, slot->begin) !=
			cudaSuccess ||
		pmh_cuda.event_elapsed(&to_end, slot->begin, slot->end) != cudaSuccess)
		return false;
	*begin_ns = pmh_event_clocks[ring->device].reference_ns + (int64_t)((double)to_begin * 1e6);
	*end_ns = *begin_ns + (int64_t)((double)to_end * 1e6);
	return true;
}

static void collect_slot(struct pmh_ring *ring, struct pmh_slot *slot, struct pmh_thread *self)
{
	int64_t begin_ns, end_ns;

	if (!pair_times(ring, slot, &begin_ns, &end_ns)) {
		pmh_lose(PM_LOSS_EVENTS, 1);
		return;
	}
	atomic_fetch_add_explicit(&pmh_event_count, 1, memory_order_relaxed);
	pmh_append_slowly(self,
		&(struct pmh_record){.begin = (uint64_t)begin_ns,
			.end = (uint64_t)end_ns,
			.op = slot->op,
			.queue = slot->queue,
			.kind = PM_RECORD_DEVICE,
			.flags = slot->flags},
		&(struct pm_more){.correlation = slot->correlation});
	if (end_ns - pmh_event_clocks[ring->device].reference_ns > REFERENCE_NS) {
		cudaEvent_t old = pmh_event_clocks[ring->device].reference;

		__atomic_store_n(&pmh_event_clocks[ring->device].reference, slot->end, __ATOMIC_RELEASE);
		pmh_event_clocks[ring->device].reference_ns = end_ns;
		slot->end = old;
	}
}

static void collect_empty(struct pmh_ring *ring, bool *unready)
{
	struct pmh_slot *empty = &ring->empty;
	float ms = 0;

	if (atomic_load_explicit(&empty->state, memory_order_acquire) != PMH_SLOT_PENDING)
		return;
	if (pmh_events_live(ring->device, empty)) {
		if (pmh_cuda.event_query(empty->end) != cudaSuccess) {
			*unready = true;
			return;
		}
		if (pmh_cuda.event_elapsed(&ms, empty->begin, empty->end) == cudaSuccess && ms >= 0 && ms < 1)
			pmh_event_empty((uint32_t)((double)ms * 1e6));
	}
	atomic_store_explicit(&empty->state, PMH_SLOT_FREE, memory_order_release);
}

/* The first reference waits in its stream, perhaps for longer than the work of others takes; later ones have
 * happened. */
static bool reference_has_happened(int device)
{
	if (!pmh_event_clocks[device].has_happened)
		pmh_event_clocks[device].has_happened =
			pmh_cuda.event_query(pmh_event_clocks[device].reference) == cudaSuccess;
	return pmh_event_clocks[device].has_happened;
}

/* Work of one queue completes in order: when one pair is not ready, the later ones of that queue are not
 * asked. */
static void collect_ring(struct pmh_ring *ring, struct pmh_thread *self, bool *unready)
{
	const unsigned generation = pmh_event_generation(ring->device);
	unsigned head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t waiting = 0;
	bool contiguous = true;

	if (head == ring->tail || atomic_load(&pmh_event_clocks[ring->device].going))
		return;
	if (!pmh_event_clocks[ring->device].reference || !reference_has_happened(ring->device)) {
		*unready = true;
		return;
	}
	collect_empty(ring, unready);
	for (unsigned i = ring->tail; i != head; i++) {
		struct pmh_slot *slot = &ring->slots[i % PMH_RING_SLOTS];
		uint8_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

		if (state == PMH_SLOT_PENDING && slot->generation != generation) {
			pmh_lose(PM_LOSS_RESET, 1);
			state = PMH_SLOT_FREE;
			atomic_store_explicit(&slot->state, PMH_SLOT_FREE, memory_order_release);
		} else if (state == PMH_SLOT_PENDING) {
			uint64_t queue_bit = 1ull << slot->queue % 64;

			if (waiting & queue_bit || pmh_cuda.event_query(slot->end) != cudaSuccess) {
				waiting |= queue_bit;
			} else {
				collect_slot(ring, slot, self);
				state = PMH_SLOT_FREE;
				atomic_store_explicit(&slot->state, PMH_SLOT_FREE, memory_order_release);
			}
		}
		contiguous = contiguous && state == PMH_SLOT_FREE;
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
		pmh_acquire(&pmh_event_collecting);
	else if (!pmh_try_acquire(&pmh_event_collecting))
		return;
	pmh_relax_begin(&mode);
	collector = self;
	collector_unready = false;
	pmh_each_thread(collect_thread);
	/* "not ready" is an error to cudaGetLastError; the host had none, so take ours away */
	if (collector_unready)
		pmh_cuda.get_last_error();
	pmh_relax_end(&mode);
	pmh_release(&pmh_event_collecting);
}

void pmh_device_collect(struct pmh_thread *self, bool all)
{
	const int saved_errno = errno;

	if (!pmh_device_timed || !pmh_cuda_ready() || pmh_cuda.peek_last_error() != cudaSuccess)
		return;
	pmh_run_on_own_stack(collect, &(struct collection){self, all});
	errno = saved_errno;
}

/* Pairs of the ring whose times are not known. */
static unsigned pending(struct pmh_ring *ring)
{
	unsigned count = 0;

	for (unsigned i = 0; i < PMH_RING_SLOTS; i++)
		count +=
			atomic_load_explicit(&ring->slots[i].state, memory_order_acquire) == PMH_SLOT_PENDING;
	return count;
}

/* The thread ends: what is not ready yet is lost, its events with it. */
void pmh_device_leave(struct pmh_thread *self)
{
	pmh_device_collect(self, true);
	pmh_acquire(&pmh_event_collecting);
	for (unsigned device = 0; device < PMH_DEVICES; device++) {
		struct pmh_ring *ring = self->rings[device];

		if (!ring)
			continue;
		pmh_lose(PM_LOSS_THREAD_END, pending(ring));
		for (unsigned i = 0; i < PMH_RING_SLOTS; i++) {
			if (!pmh_events_live((int)device, &ring->slots[i]))
				continue;
			pmh_cuda.event_destroy(ring->slots[i].begin);
			pmh_cuda.event_destroy(ring->slots[i].end);
		}
		if (pmh_events_live((int)device, &ring->empty)) {
			pmh_cuda.event_destroy(ring->empty.begin);
			pmh_cuda.event_destroy(ring->empty.end);
		}
		self->rings[device] = NULL;
		syscall(SYS_munmap, ring, sizeof *ring);
	}
	pmh_release(&pmh_event_collecting);
}

static void count_pending(struct pmh_thread *t)
{
	for (unsigned device = 0; device < PMH_DEVICES; device++) {
		struct pmh_ring *ring = __atomic_load_n(&t->rings[device], __ATOMIC_ACQUIRE);

		if (ring)
			pmh_lose(PM_LOSS_EXIT, pending(ring));
	}
}

/* The program may have waited for its last work, but the event after that may take a moment more. */
void pmh_device_finish(struct pmh_thread *self)
{
	const uint64_t start_ns = pmh_monotonic_ns();

	do
		pmh_device_collect(self, true);
	while (collector_unready && pmh_monotonic_ns() - start_ns < FINISH_NS &&
		syscall(SYS_sched_yield) == 0);
	pmh_device_timed = false;
	pmh_acquire(&pmh_event_collecting);
	pmh_each_thread(count_pending);
	pmh_release(&pmh_event_collecting);
}

void pmh_device_going(struct pmh_thread *self, int device)
{
	pmh_device_collect(self, true);
	pmh_cupti_context_going();
	if (device < 0 || device >= PMH_DEVICES)
		return;
	pmh_acquire(&pmh_event_collecting);
	atomic_fetch_add(&pmh_event_clocks[device].going, 1);
	pmh_release(&pmh_event_collecting);
}

static int device_gone;

static void forget_pairs(struct pmh_thread *t)
{
	struct pmh_ring *ring = __atomic_load_n(&t->rings[device_gone], __ATOMIC_ACQUIRE);

	for (unsigned i = 0; ring && i < PMH_RING_SLOTS; i++) {
		uint8_t state = PMH_SLOT_PENDING;

		if (atomic_compare_exchange_strong(&ring->slots[i].state, &state, PMH_SLOT_FREE))
			pmh_lose(PM_LOSS_RESET, 1);
	}
}

void pmh_device_went(int device, bool gone)
{
	if (device < 0 || device >= PMH_DEVICES)
		return;
	pmh_acquire(&pmh_event_collecting);
	if (gone) {
		device_gone = device;
		atomic_fetch_add(&pmh_event_clocks[device].generation, 1);
		__atomic_store_n(&pmh_event_clocks[device].reference, NULL, __ATOMIC_RELEASE);
		pmh_event_clocks[device].has_happened = false;
		pmh_each_thread(forget_pairs);
	}
	atomic_fetch_sub(&pmh_event_clocks[device].going, 1);
	pmh_release(&pmh_event_collecting);
}
