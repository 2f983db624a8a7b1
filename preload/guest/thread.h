/*
 * What is kept of a thread: the call that it is in, its chunk of the trace, what it has counted; and the list
 * of all.
 *
 * It lies in memory of the hook's own. A program starts with some hundred bytes of static thread-local
 * storage to spare, which all its preloaded libraries and auditors share, so the hook has a pointer there and
 * little more. And a record outlives its thread: what a C library runs last of a thread may make calls whose
 * end nobody reports.
 *
 * Nobody but the thread writes to its record; others read it only through the list, under the list's lock.
 */
#ifndef THREAD_H
#define THREAD_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "attribute.h"
#include "map.h"
#include "own_cost.h"
#include "pm_abi.h"
#include "pm_format.h"
#include "pm_hooks.h"

#define PMH_DEVICES 64    /* devices a process may have */
#define PMH_INTERRUPTED 4 /* handlers that interrupt each other's calls */
#define PMH_GROUP 64      /* calls of one NCCL group that get device times */

struct pmh_ring; /* device/event_time.c: a thread's pending device times on one device */

/* Where work goes. queue 0: nowhere. */
struct pmh_place {
	cudaStream_t stream;
	int device;
	uint16_t queue;
	bool device_pointers; /* of a cuBLAS handle: its scalars lie on the device */
};

/* An interval of device time that was begun; ring NULL: none. */
struct pmh_interval {
	struct pmh_ring *ring;
	unsigned slot;
};

/* A call of an open NCCL group: its work begins when the group ends. */
struct pmh_grouped {
	cudaStream_t stream;
	int device;
	uint32_t op, correlation;
	uint16_t queue;
	struct pmh_interval interval;
};

/*
 * The outermost hooked call of a thread. It lies in the thread's record, not on its stack, so that what is
 * known of a call that never returns is not lost with it.
 */
struct pmh_frame {
	/* a word on the stack of the wrapper, which holds PMH_MARK while the wrapper is there */
	const uint64_t *mark;
	uint64_t entry;      /* not 0: what the hook takes of this call is measured */
	uint64_t new_before; /* then, the thread's new_cost.ticks */
	uint64_t begin, end;
	uint32_t op, correlation;
	uint32_t path; /* of file input, in place of op */
	uint16_t call; /* enum pm_call while the real function has it, else 0 */
	uint8_t flags;
	bool pushed; /* its correlation, to CUPTI, whose records carry it */
	struct pmh_place place;
	struct pmh_interval interval;
};
#define PMH_MARK 0x6b72616d20686d70u /* nobody's address */

/* A call whose real function a signal's handler has interrupted, while the handler makes calls. */
struct pmh_interrupted {
	struct pmh_frame frame;
	uint32_t communicator;
};

/* What goes before the record of the call under way, in slots of its own (struct pm_touch). */
struct pmh_packed {
	uint32_t used;
	uint8_t bytes[8192];
};

/*
 * The ranges that a thread is in (framework/range.h), the innermost last. `of` tells each from others that are open: the
 * address of what stands for it in the framework.
 */
#define PMH_RANGES 96
#define PMH_NVTX_RANGES 64 /* of them, those of NVTX, which programs may forget to pop */
struct pmh_ranges {
	unsigned open_count;
	unsigned owed;      /* ends that could not be written yet */
	unsigned pending;   /* those of NVTX whose start is still to be written */
	unsigned nvtx_count, nvtx_beyond; /* open ones of NVTX; and those for which there was no room */
	uint16_t thread;    /* low 16 bits of PyTorch's number of the thread; 0: not asked for yet */
	bool has_no_room;   /* the last one found none */
	struct pmh_open_range {
		const void *of;
		uint64_t ticks; /* of NVTX: when it was pushed, and its name (framework/nvtx_name.h) */
		uint16_t nvtx_name;
		bool is_nvtx, is_pending;
		bool is_over; /* of NVTX: one around it has ended; it waits for its pop */
		bool is_written;
		bool is_in_operator, is_in_node;
	} open[PMH_RANGES];
};

struct pmh_thread {
	_Alignas(64) struct pmh_thread *older; /* of all records, whoever has them */
	_Atomic int tid;                       /* whose it is; 0: nobody's, PMH_BURIED: its thread is gone */
	/* What follows is 0 when the thread gets it, but for the device. First what all calls touch. */
	int depth; /* of hooked calls; inside one, calls are let through */
	struct pmh_frame frame;
	unsigned interrupted_count;   /* calls, by a signal's handler that makes calls itself */
	struct pm_record *next, *end; /* room in the chunk */
	uint64_t base[2]; /* of ticks and of device nanoseconds in the chunk, as pm_base counts them */
	_Atomic uint64_t record_count; /* written by the thread alone */
	uint32_t number;               /* ordinal in the process, from 1; 0: not seen yet */
	bool is_ready; /* it has a number, and no range's start is pending that may be written */
	int group_depth;
	const void *last_asked; /* stream or handle that last_place is the place of, while last_epoch holds */
	struct pmh_place last_place;
	unsigned last_epoch;
	unsigned sample_count, timed_count, stretch_count;
	bool reads_python;           /* the lines that it is in are read (python/python_line.h) */
	bool ours;                   /* a thread of the hook's own: its stack says nothing of the program */
	int device;                  /* current, as cudaSetDevice said */
	_Atomic uint64_t call_count; /* without a record: in mode `count`, and repeated questions */
	struct pm_record *polled;    /* the last record, if it was a question answered "not ready" */
	struct {
		const uint64_t *outer, *mark;
		const void *caller;
		bool is_lost;            /* a call of a handler, which interrupted the hook */
		unsigned sample_count;   /* then */
	} trusted;                       /* the last call inside of another of which it was looked for */
	bool never_reads_python;         /* it is not the thread of which that is safe */
	uint64_t stack_start, stack_end; /* the mapping of the stack that it was last unwound on */
	struct pmh_map chunk;
	struct pm_chunk
		*chunk_head; /* in the map; at its start, or after a chunk of a thread that has ended */
	uint32_t ring_chunk; /* its number in the ring (trace/ring.c), from 1; 0: none */
	uint64_t chunk_count;
	uint64_t chunk_first; /* record_count when the chunk was opened */
	uint64_t lost_count;
	enum pm_loss why_lost; /* why the last chunk could not be made */
	struct pmh_ring *rings[PMH_DEVICES];
	uint64_t announced; /* the call under way, as CUPTI's callbacks find it (device/cupti_join.c), or 0 */
	uint32_t inside_runtime; /* CUPTI's number of the runtime's launch that the thread is in, until the
				    driver has it; or 0 */
	uint32_t communicator;     /* of the communication call under way */
	struct pmh_packed *packed; /* for calls with PM_FLAG_TOUCHES; NULL: none was made */
	struct pmh_cost own;       /* what the hook itself takes */
	struct pmh_new_cost new_cost; /* beside that, describing new operations */
	unsigned group_count;         /* ended so far */
	cudaStream_t group_captured;  /* a stream of the group under way that is being captured, or NULL */
	unsigned grouped_count;
	struct pmh_grouped grouped[PMH_GROUP];
	struct pmh_interrupted interrupted[PMH_INTERRUPTED];
	struct pmh_ranges ranges;
	struct pmh_thread *following; /* in the list of threads */
};

#define PMH_BURIED (-1)

/* All that a thread has in static thread-local storage: what guest.c needs of threads that have no record. */
struct pmh_local {
	struct pmh_thread *thread; /* NULL: none so far, or none any more */
	unsigned quiet;            /* guest.h: pmh_block_signals, nested */
	unsigned seeking;          /* a function, while it had no record */
	uint64_t signals;          /* held back before it became quiet */
	const struct pmh_context *came_from;
	int device; /* of the record that it had */
	bool forks; /* between the handlers of a fork */
};
static_assert(sizeof(struct pmh_local) <= 256, "static thread-local storage is scarce");

/* initial-exec: the general model may allocate on first use, in a host we know nothing about */
extern _Thread_local struct pmh_local pmh_local __attribute__((tls_model("initial-exec")));

/* The calling thread's record, if it has one. In a wrapper that records it has. */
#define pmh_self (*pmh_local.thread)

/* Gives the calling thread a record, if it has none. False: there is no memory. Async-signal-safe; takes no
 * lock, so that a child made by clone cannot find it held; errno stays. */
bool pmh_self_make(void);

/* The same for whoever ends the process, who always gets one. */
void pmh_self_make_at_exit(void);

/* A record for a thread that is to be started, which makes it its own, or which could not be started; NULL:
 * there is no memory. */
struct pmh_thread *pmh_record_take(void);
void pmh_record_give(struct pmh_thread *record);
void pmh_self_adopt(struct pmh_thread *record);

/* Takes the record away from the calling thread, whose end has been run. */
void pmh_self_drop(void);

/*
 * Has `leave` called with each record whose thread is at its end, by that thread; and with those whose thread
 * has gone without a word, by another, to which they belong then. 0, or an errno. Once a process; `leave` may
 * change until the first thread begins.
 */
int pmh_threads_follow(void (*leave)(void *record));

/* Makes the calling thread known (number, list). Once a record; errno stays. */
void pmh_thread_begin(void);

/* Takes a thread out of the list, if it is there, and calls f for it then, under the list's lock. */
void pmh_thread_unlist(struct pmh_thread *thread, void (*f)(struct pmh_thread *));

/* Calls f for each known thread, under the list's lock. */
void pmh_each_thread(void (*f)(struct pmh_thread *));

/* Threads that were begun so far. */
uint32_t pmh_thread_count(void);

/* In a child after fork, whose only thread is the calling one: it is not begun yet. */
void pmh_threads_forget(bool were_quiet);

/* The call is over: the thread is in none, or in the one that was interrupted for it (call/left.c). */
void pmh_frame_resume(struct pmh_thread *self);
PMH_INLINE void pmh_frame_end(struct pmh_thread *self)
{
	if (__builtin_expect(self->interrupted_count != 0, 0))
		pmh_frame_resume(self);
	else
		self->depth = 0;
}

/* Whether the wrapper that the mark belongs to still has the thread's frame; false: it was taken for left. */
PMH_INLINE bool pmh_has_frame_of(const struct pmh_thread *self, const uint64_t *mark)
{
	return __builtin_expect(self->frame.mark == mark, 1);
}
PMH_INLINE bool pmh_has_frame(const uint64_t *mark)
{
	return pmh_has_frame_of(&pmh_self, mark);
}

/* The thread, which has a record, comes into a wrapper. Until the frame has a call, nothing is known of it.
 */
PMH_INLINE struct pmh_thread *pmh_frame_begin(const uint64_t *mark)
{
	struct pmh_thread *self = &pmh_self;

	self->depth = 1;
	self->frame.mark = mark;
	self->frame.call = PM_CALL_NONE;
	return self;
}

#endif
