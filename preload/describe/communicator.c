/*
 * Communicators: who is in them, and a hash that is the same on all their ranks.
 */
#include "communicator.h"

#include "guest/clock.h"
#include "guest/resolve.h"
#include "guest/thread.h"
#include "object.h"
#include "trace/intern.h"
#include "trace/write.h"

uint32_t pmh_comm(ncclComm_t comm)
{
	struct object *o = object_of(comm, false);
	uint32_t number;

	if (!o) {
		pmh_lose(PM_LOSS_COMMUNICATORS, 1);
		return 0;
	}
	number = atomic_load_explicit(&o->number, memory_order_acquire);
	if (!number && o->size > 0) {
		number = pmh_communicator_number(o->rank, o->size, o->device, o->hash);
		atomic_store_explicit(&o->number, number, memory_order_release);
	}
	if (!number)
		pmh_lose(PM_LOSS_COMMUNICATORS, 1);
	return number;
}

static void communicator_made(ncclComm_t comm, int rank, int size, int device, uint64_t hash)
{
	/* the largest communicator says which rank we are; several in one process are several GPUs of one
	 * rank */
	static _Atomic int largest;
	struct object *o = object_of(comm, true);

	if (!o)
		return;
	o->rank = rank;
	o->size = size;
	o->device = device;
	o->hash = hash;
	o->splits = 0;
	atomic_store_explicit(&o->number, 0, memory_order_release);
	if (size > atomic_load_explicit(&largest, memory_order_relaxed)) {
		atomic_store_explicit(&largest, size, memory_order_relaxed);
		pmh_trace_rank(rank, size);
	}
}

void pmh_comm_init(ncclComm_t *comm, int size, const ncclUniqueId *ids, int id_count, int rank)
{
	if (comm && *comm && ids && id_count > 0)
		communicator_made(*comm, rank, size, pmh_self.device,
			pmh_hash((uint64_t)size, ids, (size_t)(id_count > 64 ? 64 : id_count) * sizeof *ids));
}

void pmh_comm_init_all(ncclComm_t *comms, int count, const int *devices)
{
	static _Atomic uint64_t inits;
	/* no other process takes part, so any number that no other process has will do */
	const uint64_t key[] = {pmh_monotonic_ns(), atomic_fetch_add(&inits, 1)};
	uint64_t hash = pmh_hash(1, key, sizeof key);

	for (int i = 0; comms && i < count; i++)
		communicator_made(comms[i], i, count, devices ? devices[i] : i, hash);
}

/*
 * A part of a communicator: the hash follows from the parent's, so that all its ranks find the same one
 * without talking. The new rank and size are the library's to say (it sorts by key).
 */
static void derived(ncclComm_t parent, uint64_t word, ncclComm_t *comm)
{
	ncclResult_t (*count)(ncclComm_t, int *), (*user_rank)(ncclComm_t, int *);
	struct object *o = object_of(parent, false);
	int size = 0, rank = 0;

	if (!o || !comm || !*comm || pmh_self.group_depth > 0)
		return;
	*(void **)&count = pmh_real_nccl("ncclCommCount");
	*(void **)&user_rank = pmh_real_nccl("ncclCommUserRank");
	if (count && user_rank && count(*comm, &size) == ncclSuccess &&
		user_rank(*comm, &rank) == ncclSuccess) {
		const uint64_t key[] = {o->hash, o->splits, word};

		communicator_made(*comm, rank, size, o->device, pmh_hash(2, key, sizeof key));
	}
}

void pmh_comm_split(ncclComm_t parent, int colour, ncclComm_t *comm)
{
	struct object *o = object_of(parent, false);

	derived(parent, (uint64_t)colour, comm);
	if (o)
		o->splits++;
}

void pmh_comm_shrink(ncclComm_t parent, const int *excluded, int excluded_count, ncclComm_t *comm)
{
	struct object *o = object_of(parent, false);

	if (excluded && excluded_count >= 0 && excluded_count < 4096)
		derived(parent, pmh_hash(3, excluded, (size_t)excluded_count * sizeof *excluded), comm);
	if (o)
		o->splits++;
}

/* ---- sequences ---- */

#define SEQUENCES (1u << 12)
static struct {
	_Atomic uint64_t key; /* communicator and function */
	_Atomic uint32_t count;
} sequences[SEQUENCES];

uint32_t pmh_comm_sequence(uint32_t communicator, enum pm_call call)
{
	const uint64_t key = (uint64_t)communicator << 16 | call;
	unsigned i = (unsigned)(pmh_mix(key, 0x9e3779b97f4a7c15u) % SEQUENCES);

	for (unsigned tries = 0; communicator && tries < 64; tries++, i = (i + 1) % SEQUENCES) {
		uint64_t there = 0;

		if (atomic_load_explicit(&sequences[i].key, memory_order_acquire) == key ||
			atomic_compare_exchange_strong(&sequences[i].key, &there, key) || there == key)
			return atomic_fetch_add_explicit(&sequences[i].count, 1, memory_order_relaxed) + 1;
	}
	if (communicator)
		pmh_lose(PM_LOSS_COMMUNICATORS, 1);
	return 0;
}

void pmh_comm_forget(void)
{
	for (unsigned i = 0; i < SEQUENCES; i++) {
		atomic_store_explicit(&sequences[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&sequences[i].count, 0, memory_order_relaxed);
	}
}
