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
 * Never done: recording into a stream that is being captured, synchronising, changing the current device
 * without setting it back, leaving an error of ours for the host to find.
 */
#include "hook.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RING_SLOTS 1024u
#define REFERENCE_NS 250000000 /* a reference older than this is replaced */

enum slot_state {
	SLOT_FREE,    /* the owner may take it */
	SLOT_TAKEN,   /* between begin and end */
	SLOT_PENDING, /* recorded; belongs to the collector */
};

struct slot {
	cudaEvent_t begin, end; /* made once, used again */
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
} device_clocks[PMH_DEVICES];

static pmh_lock collecting = ATOMIC_FLAG_INIT;
static _Atomic uint64_t lost_times, times;
bool pmh_device_timed;

static struct cuda {
	cudaError_t (*event_create)(cudaEvent_t *, unsigned);
	cudaError_t (*event_record)(cudaEvent_t, cudaStream_t);
	cudaError_t (*event_query)(cudaEvent_t);
	cudaError_t (*event_destroy)(cudaEvent_t);
	cudaError_t (*event_elapsed)(float *, cudaEvent_t, cudaEvent_t);
	cudaError_t (*set_device)(int);
	cudaError_t (*get_device)(int *);
	cudaError_t (*is_capturing)(cudaStream_t, enum cudaStreamCaptureStatus *);
	cudaError_t (*exchange_mode)(enum cudaStreamCaptureMode *);
	cudaError_t (*get_last_error)(void);
	cudaError_t (*peek_last_error)(void);
} cuda;

static bool cuda_sought, cuda_found;

static cudaError_t no_error(void)
{
	return cudaSuccess;
}

/* A context belongs to one device, and the host has made its own current. */
static cudaError_t stay(int device)
{
	(void)device;
	return cudaSuccess;
}

/*
 * The runtime's functions where a runtime is loaded; else the driver's, which do the same under other names:
 * then the runtime is linked statically into the program, or there is none. The driver keeps no last error.
 */
void pmh_device_prepare(void)
{
	struct cuda f = {0};
	bool all;

	*(void **)&f.event_create = pmh_real(PM_CALL_cudaEventCreateWithFlags);
	if (f.event_create) {
		*(void **)&f.event_record = pmh_real(PM_CALL_cudaEventRecord);
		*(void **)&f.event_destroy = pmh_real(PM_CALL_cudaEventDestroy);
		*(void **)&f.event_query = pmh_real(PM_CALL_cudaEventQuery);
		*(void **)&f.event_elapsed = pmh_real(PM_CALL_cudaEventElapsedTime);
		*(void **)&f.set_device = pmh_real(PM_CALL_cudaSetDevice);
		*(void **)&f.get_device = pmh_real_cudart("cudaGetDevice");
		*(void **)&f.is_capturing = pmh_real_cudart("cudaStreamIsCapturing");
		*(void **)&f.exchange_mode = pmh_real_cudart("cudaThreadExchangeStreamCaptureMode");
		*(void **)&f.get_last_error = pmh_real_cudart("cudaGetLastError");
		*(void **)&f.peek_last_error = pmh_real_cudart("cudaPeekAtLastError");
	} else {
		*(void **)&f.event_create = pmh_real(PM_CALL_cuEventCreate);
		*(void **)&f.event_record = pmh_real(PM_CALL_cuEventRecord);
		*(void **)&f.event_destroy = pmh_real(PM_CALL_cuEventDestroy_v2);
		*(void **)&f.event_query = pmh_real(PM_CALL_cuEventQuery);
		*(void **)&f.event_elapsed = pmh_real(PM_CALL_cuEventElapsedTime);
		*(void **)&f.get_device = pmh_real_driver("cuCtxGetDevice");
		*(void **)&f.is_capturing = pmh_real_driver("cuStreamIsCapturing");
		*(void **)&f.exchange_mode = pmh_real_driver("cuThreadExchangeStreamCaptureMode");
		f.set_device = stay;
		f.get_last_error = no_error;
		f.peek_last_error = no_error;
	}
	all = f.event_create && f.event_record && f.event_destroy && f.event_query && f.event_elapsed &&
	      f.set_device && f.get_device && f.is_capturing && f.exchange_mode && f.get_last_error &&
	      f.peek_last_error;
	pmh_acquire(&collecting);
	if (!cuda_sought) {
		cuda = f;
		cuda_found = all;
	}
	cuda_sought = true;
	pmh_release(&collecting);
}

void pmh_device_init(void)
{
	pmh_device_timed = strcmp(pmh_settings.device, "none") != 0 && cuda_found;
	pmh_trace_device_source(pmh_device_timed ? PM_DEVICE_EVENTS : PM_DEVICE_NONE);
	pmh_cupti_init();
}

/* In a child after fork the parent's events mean nothing, and CUDA itself does not work if the parent used
 * it. */
void pmh_device_forget(void)
{
	memset(device_clocks, 0, sizeof device_clocks);
	memset(pmh_self.rings, 0, sizeof pmh_self.rings);
	atomic_store(&lost_times, 0);
	atomic_store(&times, 0);
	pmh_lock_forget(&collecting);
}

uint64_t pmh_lost_device_times(void)
{
	return atomic_load_explicit(&lost_times, memory_order_relaxed) + pmh_cupti_lost();
}

uint64_t pmh_device_times(void)
{
	return atomic_load_explicit(&times, memory_order_relaxed) + pmh_cupti_times();
}

/* ---- capture ---- */

void pmh_device_clear_error(void)
{
	if (cuda_found)
		cuda.get_last_error();
}

bool pmh_capturing(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;

	if (__builtin_expect(!pmh_capture_under_way(), 1) || !cuda_found)
		return false;
	/* asking about the legacy stream during a capture may break the capture; so may an event in it */
	if ((uintptr_t)stream <= 1)
		return true;
	return cuda.is_capturing(stream, &status) != cudaSuccess || status != cudaStreamCaptureStatusNone;
}

/* Calls that a global-mode capture of another stream forbids are allowed between these two. */
static void relax_begin(enum cudaStreamCaptureMode *mode)
{
	*mode = cudaStreamCaptureModeRelaxed;
	if (pmh_capture_under_way())
		cuda.exchange_mode(mode);
}

static void relax_end(enum cudaStreamCaptureMode *mode)
{
	if (*mode != cudaStreamCaptureModeRelaxed)
		cuda.exchange_mode(mode);
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
	if (cuda.get_device(&device) == cudaSuccess)
		self->device = device;
	device = ring->device;
	__atomic_store_n(&self->rings[device], ring, __ATOMIC_RELEASE);
	return ring;
}

/* An event failed: a stream that is none, a device that is lost. The host must find its own errors and none
 * of ours. */
static void no_event(void)
{
	cuda.get_last_error();
	atomic_fetch_add_explicit(&lost_times, 1, memory_order_relaxed);
}

static bool make_events(struct slot *slot)
{
	enum cudaStreamCaptureMode mode;
	bool made;

	relax_begin(&mode);
	made = cuda.event_create(&slot->begin, 0) == cudaSuccess &&
	       cuda.event_create(&slot->end, 0) == cudaSuccess;
	relax_end(&mode);
	return made;
}

/* The device's first reference, recorded now: it cannot happen before the host's time of now. */
static bool make_reference(int device, cudaStream_t stream)
{
	enum cudaStreamCaptureMode mode;
	cudaEvent_t event = NULL;
	bool made;

	if (__atomic_load_n(&device_clocks[device].reference, __ATOMIC_ACQUIRE))
		return true;
	relax_begin(&mode);
	made = cuda.event_create(&event, 0) == cudaSuccess;
	relax_end(&mode);
	pmh_acquire(&collecting);
	if (made && !device_clocks[device].reference) {
		device_clocks[device].reference_ns = (int64_t)pmh_monotonic_ns();
		made = cuda.event_record(event, stream) == cudaSuccess;
		__atomic_store_n(&device_clocks[device].reference, event, __ATOMIC_RELEASE);
	}
	pmh_release(&collecting);
	return made;
}

static struct pmh_interval interval_begin(struct pmh_thread *self, int device, cudaStream_t stream)
{
	struct pmh_interval none = {0};
	struct pmh_ring *ring;
	struct slot *slot;
	unsigned head;
	bool ok = true;

	if (!pmh_device_timed || device < 0 || device >= PMH_DEVICES || cuda.peek_last_error() != cudaSuccess)
		return none;
	ring = ring_of(self, device);
	if (!ring)
		return none;
	head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	slot = &ring->slots[head % RING_SLOTS];
	if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_FREE) {
		pmh_device_collect(self, false);
		if (atomic_load_explicit(&slot->state, memory_order_acquire) != SLOT_FREE) {
			atomic_fetch_add_explicit(&lost_times, 1, memory_order_relaxed);
			return none;
		}
	}
	if (device != self->device)
		ok = cuda.set_device(device) == cudaSuccess;
	ok = ok && make_reference(device, stream) && (slot->end || make_events(slot)) &&
	     cuda.event_record(slot->begin, stream) == cudaSuccess;
	if (!ok)
		no_event();
	if (device != self->device)
		cuda.set_device(self->device);
	if (!ok)
		return none;
	atomic_store_explicit(&slot->state, SLOT_TAKEN, memory_order_relaxed);
	atomic_store_explicit(&ring->head, head + 1, memory_order_release);
	return (struct pmh_interval){.ring = ring, .slot = head % RING_SLOTS};
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

	/* the call failed, or the host has an error pending: leave it to be found */
	if (pmh_device_timed && cuda.peek_last_error() == cudaSuccess && !pmh_capturing(stream)) {
		if (device != self->device)
			cuda.set_device(device);
		if (cuda.event_record(slot->end, stream) == cudaSuccess)
			state = SLOT_PENDING;
		else
			no_event();
		if (device != self->device)
			cuda.set_device(self->device);
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
	atomic_fetch_add_explicit(&lost_times, 1, memory_order_relaxed);
	atomic_store_explicit(&interval.ring->slots[interval.slot].state, SLOT_FREE, memory_order_release);
}

/* ---- collecting ---- */

/* A pair's begin and end against the device's reference. */
static bool pair_times(const struct pmh_ring *ring, struct slot *slot, int64_t *begin_ns, int64_t *end_ns)
{
	float to_begin = 0, to_end = 0;

	if (cuda.event_elapsed(&to_begin, device_clocks[ring->device].reference, slot->begin) !=
			cudaSuccess ||
		cuda.event_elapsed(&to_end, slot->begin, slot->end) != cudaSuccess)
		return false;
	*begin_ns = device_clocks[ring->device].reference_ns + (int64_t)((double)to_begin * 1e6);
	*end_ns = *begin_ns + (int64_t)((double)to_end * 1e6);
	return true;
}

static void collect_slot(struct pmh_ring *ring, struct slot *slot, struct pmh_thread *self)
{
	int64_t begin_ns, end_ns;

	if (!pair_times(ring, slot, &begin_ns, &end_ns)) {
		atomic_fetch_add_explicit(&lost_times, 1, memory_order_relaxed);
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
			cuda.event_query(device_clocks[device].reference) == cudaSuccess;
	return device_clocks[device].has_happened;
}

/* Work of one queue completes in order: when one pair is not ready, the later ones of that queue are not
 * asked. */
static void collect_ring(struct pmh_ring *ring, struct pmh_thread *self, bool *unready)
{
	unsigned head = atomic_load_explicit(&ring->head, memory_order_acquire);
	uint64_t waiting = 0;
	bool contiguous = true;

	if (head == ring->tail)
		return;
	if (!reference_has_happened(ring->device)) {
		*unready = true;
		return;
	}
	for (unsigned i = ring->tail; i != head; i++) {
		struct slot *slot = &ring->slots[i % RING_SLOTS];
		uint8_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

		if (state == SLOT_PENDING) {
			uint64_t queue_bit = 1ull << slot->queue % 64;

			if (waiting & queue_bit || cuda.event_query(slot->end) != cudaSuccess) {
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
	relax_begin(&mode);
	collector = self;
	collector_unready = false;
	pmh_each_thread(collect_thread);
	/* "not ready" is an error to cudaGetLastError; the host had none, so take ours away */
	if (collector_unready)
		cuda.get_last_error();
	relax_end(&mode);
	pmh_release(&collecting);
}

void pmh_device_collect(struct pmh_thread *self, bool all)
{
	const int saved_errno = errno;

	if (!pmh_device_timed || cuda.peek_last_error() != cudaSuccess)
		return;
	pmh_rarely(collect, &(struct collection){self, all});
	errno = saved_errno;
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
		for (unsigned i = 0; i < RING_SLOTS && ring->slots[i].end; i++) {
			if (atomic_load_explicit(&ring->slots[i].state, memory_order_relaxed) == SLOT_PENDING)
				atomic_fetch_add_explicit(&lost_times, 1, memory_order_relaxed);
			cuda.event_destroy(ring->slots[i].begin);
			cuda.event_destroy(ring->slots[i].end);
		}
		self->rings[device] = NULL;
		syscall(SYS_munmap, ring, sizeof *ring);
	}
	pmh_release(&collecting);
}
