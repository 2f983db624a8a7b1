/*
 * The trace file, and a thread's records in it. A record costs no lock; any thread, for itself. Nothing
 * fails: what finds no room is lost, and counted.
 */
#ifndef WRITE_H
#define WRITE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "guest/attribute.h"
#include "guest/thread.h"
#include "pm_format.h"

/* Creates the trace. 0, or -errno; then nothing is recorded. */
int pmh_trace_open(void);

/* Writes the footer and cuts the file's unused end. Later records are lost, and counted. */
void pmh_trace_close(const struct pm_footer *footer);

/* Forgets the parent's trace, in a child after fork. Returns its header, which stays mapped; NULL: there was
 * none. */
struct pm_header *pmh_trace_forget(void);

/* A record to be written: times absolute, in ticks or device nanoseconds. */
struct pmh_record {
	uint64_t begin, end;
	uint32_t op;
	uint16_t queue;
	uint8_t kind, flags;
};

/*
 * Appends a record with what is rare: a new chunk, a new base, a long duration, and `more` (NULL: none; its
 * duration_high and kind are filled in). A record that finds no room is lost, and counted.
 */
void pmh_append_slowly(struct pmh_thread *self, const struct pmh_record *r, const struct pm_more *more);

/* A range begins, or one ends, as the slot says (struct pm_range, whose ticks and kind are filled in); false:
 * there was no room. For a thread that is in no call. */
bool pmh_append_range_slowly(struct pmh_thread *self, uint64_t ticks, struct pm_range slot);

/* Room for the slot of a call that is entered, where the chunk is full or there was none yet; tried once in
 * vain. */
void pmh_entered_slowly(struct pmh_thread *self);

/* Gives up the thread's chunk, when the thread ends. */
void pmh_trace_leave(struct pmh_thread *self);

/* Appends an entry with the given body parts to the dictionary. Under the lock of intern.c. */
void pmh_trace_entry(
	enum pm_entry_type type, const void *fixed, size_t fixed_bytes, const void *tail, size_t tail_bytes);

/* The rank that the launcher's variables say, -1: none. */
int pmh_trace_launched_rank(void);

/* Says who we are: written to the header at once. world < 0 keeps what is there. */
void pmh_trace_rank(int rank, int world);
void pmh_trace_device_source(enum pm_device_source source);

/* The header's clock pair; false: there is no trace. */
bool pmh_trace_begin(uint64_t *ticks, uint64_t *monotonic_ns);

/* Counts what is not recorded, where it is seen at once, under its cause. Nothing without a trace. From any
 * thread. */
void pmh_lose(enum pm_loss cause, uint64_t count);

/* What is lost so far, of a class and under a cause. */
uint64_t pmh_lost_of(enum pm_loss_class loss_class);
uint64_t pmh_lost(enum pm_loss cause);

/* Of a thread, counted records that are not in the file, because its chunk was taken away. */
uint64_t pmh_trace_unwritten(const struct pmh_thread *t);

/* The trace's path, "" if there is none. */
const char *pmh_trace_path(void);

/* Appends a call's record, of the common kind: it succeeded and nothing more is to be said. */
PMH_INLINE void pmh_append_call(
	struct pmh_thread *self, uint64_t begin, uint64_t end, uint32_t op, uint16_t queue, uint8_t flags)
{
	uint64_t since = begin - self->base[0], duration = end - begin;
	uint64_t *slot;

	if (__builtin_expect(self->next == self->end || (since | duration) >> 32, 0)) {
		pmh_append_slowly(self,
			&(struct pmh_record){.begin = begin,
				.end = end,
				.op = op,
				.queue = queue,
				.kind = PM_RECORD_CALL,
				.flags = flags},
			NULL);
		return;
	}
	slot = (uint64_t *)(void *)self->next++;
	__atomic_store_n(slot, since | duration << 32, __ATOMIC_RELAXED);
	/* the word as it lies in memory, built in a register: `kind` must come with it, and last */
	__atomic_store_n(slot + 1,
		op | (uint64_t)queue << 32 | (uint64_t)PM_RECORD_CALL << 48 | (uint64_t)flags << 56,
		__ATOMIC_RELEASE);
	atomic_store_explicit(&self->record_count,
		atomic_load_explicit(&self->record_count, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* The same at once, where there is room. */
PMH_INLINE bool pmh_append_range(struct pmh_thread *self, uint64_t ticks, uint32_t range, uint32_t sequence,
	uint16_t thread, uint8_t flags)
{
	const uint64_t since = ticks - self->base[0];
	uint64_t *slot;

	if (__builtin_expect(self->next == self->end || since >> 32, 0))
		return pmh_append_range_slowly(self, ticks,
			(struct pm_range){
				.range = range, .sequence = sequence, .thread = thread, .flags = flags});
	slot = (uint64_t *)(void *)self->next++;
	__atomic_store_n(slot, since | (uint64_t)range << 32, __ATOMIC_RELAXED);
	__atomic_store_n(slot + 1,
		sequence | (uint64_t)thread << 32 | (uint64_t)PM_RECORD_RANGE << 48 | (uint64_t)flags << 56,
		__ATOMIC_RELEASE);
	return true;
}

/* Says which call the thread is in, where the call's record will overwrite it (struct pm_entered). */
PMH_INLINE void pmh_entered(
	struct pmh_thread *self, uint64_t begin, uint32_t op, uint16_t queue, uint8_t flags)
{
	uint64_t *slot = (uint64_t *)(void *)self->next;

	if (__builtin_expect(self->next == self->end, 0))
		return;
	__atomic_store_n(slot, begin, __ATOMIC_RELAXED);
	__atomic_store_n(slot + 1, op | (uint64_t)queue << 32 | (uint64_t)(flags | PM_FLAG_ENTERED) << 56,
		__ATOMIC_RELEASE);
}

/* For a call that leaves no record. */
PMH_INLINE void pmh_not_entered(struct pmh_thread *self)
{
	if (self->next != self->end)
		__atomic_store_n((uint64_t *)(void *)self->next + 1, 0, __ATOMIC_RELEASE);
}

#endif
