/*
 * The records of threads, and the list of those that have made a hooked call.
 *
 * A record belongs to a thread from its first call to its end, which the C library reports by a key's
 * destructor. It runs destructors in four rounds, and a call in the last one, after ours, is reported by
 * nobody; nor is the end of a thread whose key found no memory. Their records stay, in the list too, until
 * another thread that comes for a record finds that the kernel does not know theirs any more.
 */
#include "thread.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"
#include "sigbus.h"
#include "state.h"
#include "unchecked.h"

#define SPARE_RECORDS 64u
#define LOOKED_AT 2u /* records, by each thread that comes: more than it can leave behind */

_Thread_local struct pmh_local pmh_local __attribute__((tls_model("initial-exec")));

/* ---- records ---- */

static struct pmh_thread first_record, exit_record;
static struct pmh_thread *_Atomic records; /* all, the youngest first */
static struct pmh_thread *_Atomic next_to_look_at;
/* Records that are nobody's; what finds no place here is found by looking. */
static struct pmh_thread *_Atomic spare_records[SPARE_RECORDS];

static void nothing(void *record)
{
	(void)record;
}

static void (*thread_leave)(void *record) = nothing;

static int own_tid(void)
{
	return (int)syscall(SYS_gettid);
}

static bool thread_take(struct pmh_thread *record, int owner)
{
	int nobody = 0;

	return record && atomic_compare_exchange_strong(&record->tid, &nobody, owner);
}

static void give(struct pmh_thread *record)
{
	atomic_store(&record->tid, 0);
	for (unsigned i = 0; i < SPARE_RECORDS; i++) {
		struct pmh_thread *none = NULL;

		if (atomic_compare_exchange_strong(&spare_records[i], &none, record))
			return;
	}
}

/* Whether the record's thread has gone; then it belongs to the caller. */
static bool is_left(struct pmh_thread *record, int self)
{
	int tid = atomic_load(&record->tid);

	if (tid <= 0 || record == pmh_local.thread || pmh_is_confined() ||
		(tid != self && (syscall(SYS_tgkill, getpid(), tid, 0) == 0 || errno != ESRCH)))
		return false;
	return atomic_compare_exchange_strong(&record->tid, &tid, PMH_BURIED);
}

/* The next of all records. NULL: none was made so far. */
static struct pmh_thread *look_at_next(void)
{
	struct pmh_thread *record = atomic_load(&next_to_look_at);

	if (!record)
		record = atomic_load(&records);
	if (record)
		atomic_store(&next_to_look_at, record->older);
	return record;
}

/* Of any thread's record: whether the thread has begun. */
static bool has_begun(const struct pmh_thread *record)
{
	return __atomic_load_n(&record->number, __ATOMIC_RELAXED) != 0;
}

/* Looks at a few records of all, at others each time. Those that were never begun need no more than to be
 * given back. */
static void look_for_left(bool may_leave)
{
	const int self = own_tid();

	for (unsigned i = 0; i < LOOKED_AT; i++) {
		struct pmh_thread *record = look_at_next();

		if (record && (may_leave || !has_begun(record)) && is_left(record, self)) {
			if (has_begun(record))
				thread_leave(record);
			give(record);
		}
	}
}

static struct pmh_thread *find_spare(int owner)
{
	for (unsigned i = 0; i < SPARE_RECORDS; i++)
		if (atomic_load_explicit(&spare_records[i], memory_order_relaxed)) {
			struct pmh_thread *record = atomic_exchange(&spare_records[i], NULL);

			if (thread_take(record, owner))
				return record;
		}
	for (unsigned i = 0; i < LOOKED_AT; i++) {
		struct pmh_thread *record = look_at_next();

		if (thread_take(record, owner))
			return record;
	}
	return NULL;
}

static void make_known(struct pmh_thread *record)
{
	record->older = atomic_load(&records);
	while (!atomic_compare_exchange_weak(&records, &record->older, record))
		;
}

static struct pmh_thread *map_record(int owner)
{
	long p = syscall(SYS_mmap, NULL, sizeof(struct pmh_thread), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, (off_t)0);
	struct pmh_thread *record = (struct pmh_thread *)p;

	if (p == -1)
		return NULL;
	PMH_UNCHECKED(record, sizeof *record);
	atomic_store(&record->tid, owner);
	make_known(record);
	return record;
}

static void clear(struct pmh_thread *record)
{
	const size_t kept = offsetof(struct pmh_thread, depth), number = offsetof(struct pmh_thread, number);
	const size_t rest = number + sizeof record->number;

	memset((char *)record + kept, 0, number - kept);
	__atomic_store_n(&record->number, 0, __ATOMIC_RELAXED); /* has_begun */
	memset((char *)record + rest, 0, sizeof *record - rest);
}

static struct pmh_thread *take_record(int owner)
{
	static atomic_bool first_taken;
	struct pmh_thread *record;

	if (!atomic_load_explicit(&first_taken, memory_order_relaxed) &&
		!atomic_exchange(&first_taken, true)) {
		atomic_store(&first_record.tid, owner);
		make_known(&first_record);
		return &first_record;
	}
	look_for_left(false);
	record = find_spare(owner);
	if (!record)
		return map_record(owner);
	clear(record);
	return record;
}

/* ---- whose they are ---- */

static pthread_key_t key;
static int key_error;

static void thread_ends(void *record)
{
	thread_leave(record);
	pmh_self_drop();
}

static void make_key(void)
{
	key_error = pthread_key_create(&key, thread_ends);
}

/* By whoever comes first: the library's constructor, or that of another library, which makes a call. */
static void have_key(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make_key);
}

int pmh_threads_follow(void (*leave)(void *record))
{
	thread_leave = leave;
	have_key();
	return key_error;
}

static void own(struct pmh_thread *record)
{
	record->device = pmh_local.device;
	record->depth = 1; /* the C library may take memory, from a host that reads a file for it */
	pmh_local.thread = record;
	have_key();
	/* in vain for a thread that is in its last round of destructors, or that has no memory */
	if (key_error == 0)
		pthread_setspecific(key, record);
	record->depth = 0;
}

static void make(void *unused)
{
	struct pmh_thread *record = pmh_local.thread ? NULL : take_record(own_tid());

	(void)unused;
	if (record)
		own(record);
}

bool pmh_self_make(void)
{
	const int saved_errno = errno;

	if (!pmh_local.thread)
		pmh_run_on_own_stack(make, NULL);
	errno = saved_errno;
	return pmh_local.thread != NULL;
}

void pmh_self_make_at_exit(void)
{
	if (!pmh_self_make())
		pmh_local.thread = &exit_record;
}

struct pmh_thread *pmh_record_take(void)
{
	/* not a number of the kernel's yet, so nobody looks whether it is gone */
	return take_record(PMH_BURIED);
}

void pmh_record_give(struct pmh_thread *record)
{
	give(record);
}

void pmh_self_adopt(struct pmh_thread *record)
{
	atomic_store(&record->tid, own_tid());
	pmh_block_signals();
	own(record);
	pmh_unblock_signals();
}

void pmh_self_drop(void)
{
	struct pmh_thread *record = pmh_local.thread;

	if (!record)
		return;
	pmh_local.device = record->device;
	pmh_local.thread = NULL;
	give(record);
}

/* ---- the list ---- */

static pmh_lock listing = ATOMIC_FLAG_INIT;
static struct pmh_thread *threads;
static _Atomic uint32_t thread_count;

static void begin_thread(void *data)
{
	struct pmh_thread *self = data;

	pmh_acquire(&listing);
	__atomic_store_n(&self->number, ++thread_count, __ATOMIC_RELAXED);
	self->following = threads;
	threads = self;
	pmh_release(&listing);
	look_for_left(true);
}

void pmh_thread_begin(void)
{
	const int saved_errno = errno;

	pmh_run_on_own_stack(begin_thread, &pmh_self);
	if (atomic_load(&pmh_state) == PMH_RECORDING)
		pmh_sigbus_unblock();
	errno = saved_errno;
}

void pmh_thread_unlist(struct pmh_thread *thread, void (*f)(struct pmh_thread *))
{
	pmh_acquire(&listing);
	for (struct pmh_thread **link = &threads; *link; link = &(*link)->following)
		if (*link == thread) {
			*link = thread->following;
			f(thread);
			break;
		}
	pmh_release(&listing);
}

void pmh_each_thread(void (*f)(struct pmh_thread *))
{
	pmh_acquire(&listing);
	for (struct pmh_thread *t = threads; t; t = t->following)
		f(t);
	pmh_release(&listing);
}

uint32_t pmh_thread_count(void)
{
	return thread_count;
}

void pmh_threads_forget(bool were_quiet)
{
	struct pmh_thread *self = pmh_local.thread;

	threads = NULL;
	thread_count = 0;
	pmh_lock_forget(&listing);
	/* else nobody here takes another */
	for (struct pmh_thread *t = were_quiet ? records : NULL; t; t = t->older)
		if (t != self && atomic_load(&t->tid) != 0) {
			t->number = 0;
			give(t);
		}
	if (!self)
		return;
	atomic_store(&self->tid, own_tid());
	self->number = 0;
	self->is_ready = false;
	self->following = NULL;
}
