/*
 * Our one thread for CUPTI: buffers, rounds, and what is asked of it.
 *
 * Each round it has CUPTI hand over the buffers that are complete, reads them, and lets cupti_activity.c
 * write what can be written. It sleeps while nothing is submitted, and goes on until something is asked of
 * it.
 */
#include "cupti_thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cupti_activity.h"
#include "cupti_join.h"
#include "cupti_session.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/thread.h"
#include "trace/intern.h"
#include "trace/write.h"

#define BUFFER_BYTES ((size_t)1 << 20)
#define BUFFERS 32 /* 32 MiB in all; beyond that CUPTI drops records, and counts them */
#define ROUND_NS 100000000L
#define LONGEST_NS 1000000000L /* of sleep, where it may be time to turn */
#define IDLE_ROUNDS 20         /* more than an activity may wait */
#define CLOCK_NS 1000000000u   /* between readings of CUPTI's clock */

static _Atomic uint32_t asked; /* enum pmh_request */
static _Atomic uint32_t answered;
static _Atomic uint32_t sleeping;
static _Atomic bool given_up;
static _Atomic uint64_t pushed;

/* ---- waiting for each other ---- */

static int futex(_Atomic uint32_t *word, int operation, uint32_t value, const struct timespec *limit)
{
	return (int)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
}

/* Until the word is no longer `value`, but not for ever; limit_ns < 0: for ever. */
static void wait_while(_Atomic uint32_t *word, uint32_t value, long limit_ns)
{
	const struct timespec limit = {limit_ns / 1000000000, limit_ns % 1000000000};

	futex(word, FUTEX_WAIT, value, limit_ns < 0 ? NULL : &limit);
}

static void set_word(_Atomic uint32_t *word, uint32_t value)
{
	atomic_store(word, value);
	futex(word, FUTEX_WAKE, INT32_MAX, NULL);
}

/* Wakes our thread if it sleeps for long. */
static void wake(void)
{
	if (atomic_load(&sleeping))
		set_word(&sleeping, 0);
}

/* ---- buffers ---- */

/* Lists under one lock, held for a few instructions, because CUPTI's threads come here. */
static struct buffer {
	struct buffer *next;
	uint8_t *bytes;
	size_t used_bytes;
} buffers[BUFFERS], *free_buffers, *full_buffers, **full_end = &full_buffers;
static unsigned buffers_made, buffers_out; /* with CUPTI */
static pmh_lock buffers_lock = ATOMIC_FLAG_INIT;

static struct buffer *make_buffer(void)
{
	long p;

	if (buffers_made == BUFFERS)
		return NULL;
	p = syscall(SYS_mmap, NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		(off_t)0);
	if (p == -1)
		return NULL;
	buffers[buffers_made].bytes = (uint8_t *)p;
	return &buffers[buffers_made++];
}

void pmh_cupti_requested(uint8_t **bytes, size_t *size, size_t *record_count)
{
	const int saved_errno = errno;
	struct buffer *b;

	pmh_acquire(&buffers_lock);
	b = free_buffers;
	if (b)
		free_buffers = b->next;
	else
		b = make_buffer();
	buffers_out += b != NULL;
	pmh_release(&buffers_lock);
	*bytes = b ? b->bytes : NULL;
	*size = b ? BUFFER_BYTES : 0;
	*record_count = 0;
	errno = saved_errno;
}

void pmh_cupti_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t used_bytes)
{
	(void)context, (void)stream, (void)size;
	pmh_acquire(&buffers_lock);
	for (unsigned i = 0; i < buffers_made; i++) {
		struct buffer *b = &buffers[i];

		if (b->bytes != bytes)
			continue;
		b->used_bytes = used_bytes;
		b->next = NULL;
		*full_end = b;
		full_end = &b->next;
		buffers_out--;
	}
	pmh_release(&buffers_lock);
	wake();
}

static struct buffer *next_full(void)
{
	struct buffer *b;

	pmh_acquire(&buffers_lock);
	b = full_buffers;
	if (b)
		full_buffers = b->next;
	if (!full_buffers)
		full_end = &full_buffers;
	pmh_release(&buffers_lock);
	return b;
}

/* ---- our thread ---- */

/* The reading with the shortest bracket of several. */
uint64_t pmh_cupti_read_clock(void)
{
	uint64_t cupti_ns, best_cupti_ns = 0, best_ns = 0, shortest_ns = UINT64_MAX;

	for (int i = 0; i < 9; i++) {
		uint64_t before_ns = pmh_monotonic_ns(), after_ns;

		if (pmh_cupti.cuptiGetTimestamp(&cupti_ns) != CUPTI_SUCCESS)
			continue;
		after_ns = pmh_monotonic_ns();
		if (after_ns - before_ns >= shortest_ns)
			continue;
		shortest_ns = after_ns - before_ns;
		best_cupti_ns = cupti_ns;
		best_ns = before_ns + shortest_ns / 2;
	}
	if (shortest_ns != UINT64_MAX)
		pmh_activity_clock(best_cupti_ns, best_ns);
	return shortest_ns / 2;
}

/* Hands each of the buffer's records on. */
static void read_buffer(const struct buffer *b, void (*take)(const CUpti_Activity *))
{
	CUpti_Activity *record = NULL;

	while (!atomic_load(&given_up) &&
		pmh_cupti.cuptiActivityGetNextRecord(b->bytes, b->used_bytes, &record) == CUPTI_SUCCESS)
		take(record);
}

/*
 * Reads what CUPTI has completed; true if there was anything. External correlations come in buffers of their
 * own, later than the kernels that they belong to: of all buffers they are read first, or in a burst more
 * activities would wait for them than there is room for.
 */
static bool read_buffers(void)
{
	struct buffer *taken = NULL, **end = &taken;
	bool any = false;

	for (struct buffer *b; (b = next_full()); end = &b->next) {
		*end = b;
		b->next = NULL;
		any = any || b->used_bytes > 0;
		read_buffer(b, pmh_activity_link);
	}
	for (struct buffer *b = taken, *next; b; b = next) {
		next = b->next;
		read_buffer(b, pmh_activity_record);
		pmh_acquire(&buffers_lock);
		b->next = free_buffers;
		free_buffers = b;
		pmh_release(&buffers_lock);
	}
	return any;
}

static void count_dropped(void)
{
	size_t count = 0;

	if (pmh_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &count) == CUPTI_SUCCESS)
		pmh_lose(PM_LOSS_CUPTI_DROPPED, count);
}

static bool flush(uint32_t flags)
{
	bool any;

	pmh_cupti.cuptiActivityFlushAll(flags);
	any = read_buffers();
	pmh_activity_settle(false);
	count_dropped();
	return any;
}

/* Everything that can be had now. What is not done yet is lost. */
static void flush_all(void)
{
	flush(0);
	pmh_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	read_buffers();
	if (!atomic_load(&given_up))
		pmh_activity_settle(true);
	count_dropped();
}

static void answer(uint32_t request)
{
	pmh_cupti_read_clock();
	if (request == PMH_REQUEST_LEAVE)
		pmh_cupti_disable();
	flush_all();
	if (request == PMH_REQUEST_LEAVE)
		pmh_cupti.cuptiUnsubscribe(pmh_cupti_subscriber);
	set_word(&answered, request);
}

/* Should the way in which calls and activities are joined not do on this CUPTI, there are others. */
static void check_joining(void)
{
	static bool checked;

	if (!checked && atomic_load(&pushed) >= 32 && pmh_activity_unjoined())
		checked = pmh_join_more();
}

/* Until the next round; after some in which nothing was submitted, until something is, or it is time to turn
 * (limit_ns, -1: it never is). */
static void sleep_a_while(unsigned idle_rounds, uint64_t pushed_before, long limit_ns)
{
	if (idle_rounds < IDLE_ROUNDS) {
		wait_while(&asked, PMH_REQUEST_NONE, ROUND_NS);
		return;
	}
	atomic_store(&sleeping, 1);
	if (atomic_load(&pushed) == pushed_before && atomic_load(&asked) == PMH_REQUEST_NONE)
		wait_while(&sleeping, 1, limit_ns < LONGEST_NS ? limit_ns : LONGEST_NS);
	atomic_store(&sleeping, 0);
}

static void *serve(void *record)
{
	uint64_t clock_ns = pmh_monotonic_ns(), pushed_before = 0;
	unsigned idle_rounds = 0;
	uint32_t request;
	long limit_ns;

	pmh_self_adopt(record);
	pmh_self.depth = 1;
	pmh_self.ours = true;
	pmh_thread_begin();
	while ((request = atomic_load(&asked)) == PMH_REQUEST_NONE) {
		uint64_t pushed_now = atomic_load(&pushed);

		if (pmh_monotonic_ns() - clock_ns > CLOCK_NS) {
			clock_ns = pmh_monotonic_ns();
			pmh_cupti_read_clock();
		}
		idle_rounds = flush(0) || pushed_now != pushed_before ? 0 : idle_rounds + 1;
		pushed_before = pushed_now;
		limit_ns = pmh_cupti_turn();
		check_joining();
		pmh_join_round();
		sleep_a_while(idle_rounds, pushed_before, limit_ns);
	}
	answer(request);
	/* at the end of the process a thread that ends is only in the way */
	while (request == PMH_REQUEST_FINISH)
		wait_while(&asked, PMH_REQUEST_FINISH, -1);
	return NULL;
}

/* Its signals are the host's threads'. */
bool pmh_cupti_start_thread(void)
{
	struct pmh_thread *record = pmh_record_take();
	pthread_t thread;
	sigset_t all, before;
	bool started;

	if (!record)
		return false;
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* of our own files (guest/sigbus.c) */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&thread, NULL, serve, record) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started) {
		pmh_record_give(record);
		return false;
	}
	pthread_setname_np(thread, "pmhook");
	pthread_detach(thread);
	return true;
}

/* Asks our thread, and waits for its answer; false: it did not come in time. */
bool pmh_cupti_ask(enum pmh_request request, long limit_ns)
{
	const uint64_t begin_ns = pmh_monotonic_ns();

	set_word(&asked, request);
	set_word(&sleeping, 0);
	while (atomic_load(&answered) == PMH_REQUEST_NONE) {
		long left_ns = limit_ns - (long)(pmh_monotonic_ns() - begin_ns);

		if (left_ns <= 0)
			return false;
		wait_while(&answered, PMH_REQUEST_NONE, left_ns);
	}
	return true;
}

void pmh_cupti_give_up(void)
{
	uint64_t calls = atomic_load(&pushed), joined = pmh_activity_joined();

	atomic_store(&given_up, true);
	pmh_lose(PM_LOSS_CUPTI_SILENT, calls > joined ? calls - joined : 0);
}

/* ---- what the others ask ---- */

void pmh_cupti_wake(void)
{
	wake();
}

void pmh_cupti_pushed(void)
{
	atomic_fetch_add(&pushed, 1);
	wake();
}

bool pmh_cupti_keeps_buffer(void)
{
	bool keeps;

	pmh_acquire(&buffers_lock);
	keeps = buffers_out != 0;
	pmh_release(&buffers_lock);
	return keeps;
}

void pmh_cupti_forget_thread(void)
{
	pmh_lock_forget(&buffers_lock);
	atomic_store(&pushed, 0);
}
