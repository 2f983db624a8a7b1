/*
 * The process: whether anything is recorded, its threads, fork, and its end.
 *
 * Nothing is done at load. The first call of a hooked library decides: a process that makes none (a shell, a
 * compiler, a data loader) leaves no trace and pays one look at a variable per file read. A child after fork
 * is such a process again.
 */
#include "hook.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The state has a page of its own, which is zero in a child: so one that was made without fork's handlers, by
 * clone or _Fork, does not write into its parent's trace.
 */
#ifdef __x86_64__
#define PAGE_BYTES 4096
#else
#define PAGE_BYTES 65536
#endif
static union {
	_Atomic int state;
	char page[PAGE_BYTES];
} wiped __attribute__((aligned(PAGE_BYTES), used));
extern _Atomic int pmh_state __attribute__((alias("wiped")));
static_assert(PMH_UNDECIDED == 0, "what a child begins with");
static int decided; /* the state that was decided on, in the process `owner` */
static _Atomic pid_t owner;

_Thread_local struct pmh_thread pmh_self __attribute__((tls_model("initial-exec")));

static pmh_lock deciding = ATOMIC_FLAG_INIT, listing = ATOMIC_FLAG_INIT;
static struct pmh_thread *threads;
static _Atomic uint32_t thread_count;
/* What threads have counted: of those that have ended (under `listing`), and at the end of all. */
struct counts {
	uint64_t calls, records, unwritten, new_ticks;
	struct pmh_cost own;
};
static struct counts ended, total;
static _Atomic bool finished, exit_registered;
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void finish(void);

static bool is_on(const char *setting)
{
	return strcmp(setting, "on") == 0;
}

void pmh_trouble(void)
{
	if (pmh_settings.strict && is_on(pmh_settings.strict))
		abort();
}

/* ---- threads ---- */

static void add_counts(struct counts *c, struct pmh_thread *t)
{
	c->calls += atomic_load_explicit(&t->call_count, memory_order_relaxed);
	c->unwritten += pmh_trace_unwritten(t);
	c->records += atomic_load_explicit(&t->record_count, memory_order_relaxed);
	c->new_ticks += atomic_load_explicit(&t->new_ticks, memory_order_relaxed);
	pmh_cost_add(&c->own, &t->own);
}

static void end_thread(void *self)
{
	struct pmh_thread *t = self;

	if (atomic_load(&pmh_state) == PMH_RECORDING)
		pmh_device_leave(t);
	pmh_capture_thread_gone();
	pmh_window_leave(t);
	pmh_acquire(&listing);
	for (struct pmh_thread **link = &threads; *link; link = &(*link)->following)
		if (*link == t) {
			*link = t->following;
			add_counts(&ended, t);
			break;
		}
	pmh_release(&listing);
	pmh_trace_leave(t);
	/* should a later destructor of the host make a call, the thread is begun once more */
	t->number = 0;
	atomic_store_explicit(&t->call_count, 0, memory_order_relaxed);
	atomic_store_explicit(&t->record_count, 0, memory_order_relaxed);
	memset(&t->own, 0, sizeof t->own);
	atomic_store_explicit(&t->new_ticks, 0, memory_order_relaxed);
	t->chunk_count = 0;
}

/* At the thread's end, by pthread_exit or cancellation perhaps out of a hooked call. */
static void thread_end(void *self)
{
	struct pmh_thread *t = self;

	pmh_frame_left(t);
	pmh_frame_begin(NULL);
	pmh_rarely(end_thread, t);
	t->depth = 0;
}

static void begin_thread(void *data)
{
	struct pmh_thread *self = data;

	/* before others can see it: its storage ends with the thread */
	self->unlisted = pthread_setspecific(thread_key, self) != 0;
	pmh_acquire(&listing);
	self->number = ++thread_count;
	if (!self->unlisted) {
		self->following = threads;
		threads = self;
	}
	pmh_release(&listing);
}

void pmh_thread_begin(void)
{
	const int saved_errno = errno;

	pmh_rarely(begin_thread, &pmh_self);
	if (atomic_load(&pmh_state) == PMH_RECORDING)
		pmh_sigbus_unblock();
	errno = saved_errno;
}

void pmh_each_thread(void (*f)(struct pmh_thread *))
{
	pmh_acquire(&listing);
	for (struct pmh_thread *t = threads; t; t = t->following)
		f(t);
	pmh_release(&listing);
}

/* ---- fork ---- */

static void forked_in_child(void)
{
	struct pmh_thread *self = &pmh_self;
	const bool were_quiet = pmh_fork_child();

	pmh_trace_forget();
	pmh_trace_leave(self);
	pmh_intern_forget();
	pmh_describe_forget();
	pmh_kernel_forget();
	pmh_backend_forget();
	pmh_comm_forget();
	pmh_graph_forget();
	pmh_look_up_forget();
	pmh_device_forget();
	pmh_device_describe_forget();
	pmh_cupti_forget();
	pmh_files_forget();
	pmh_call_site_forget();
	pmh_left_forget();
	pmh_python_forget();
	threads = NULL;
	thread_count = 0;
	memset(&ended, 0, sizeof ended);
	pmh_lock_forget(&listing);
	pmh_lock_forget(&deciding);
	self->number = 0;
	self->following = NULL;
	self->chunk_count = self->lost_count = 0;
	atomic_store(&self->record_count, 0);
	atomic_store(&self->call_count, 0);
	memset(&self->own, 0, sizeof self->own);
	atomic_store(&self->new_ticks, 0);
	self->group_depth = 0;
	self->grouped_count = 0;
	atomic_store(&finished, false);
	owner = 0;
	/* a thread that was not quiet may have had a lock that is not ours: libunwind's, or the loader's */
	atomic_store(&pmh_state, decided == PMH_OFF || !were_quiet ? PMH_OFF : PMH_UNDECIDED);
}

static int key_error, fork_error;

static void make_key(void)
{
	key_error = pthread_key_create(&thread_key, thread_end);
}

/* At load, when the key still is among the first: the C library takes no memory for the values of those. But a
 * constructor of another library may make a call before. */
__attribute__((constructor)) static void make_key_early(void)
{
	static pthread_once_t key_once = PTHREAD_ONCE_INIT;

	pthread_once(&key_once, make_key);
}

static void set_up_once(void)
{
	make_key_early();
	fork_error = pthread_atfork(pmh_fork_prepare, pmh_fork_parent, forked_in_child);
	pmh_wipe_on_fork(&wiped, sizeof wiped);
}

/* ---- begin ---- */

static void complain(const char *what, int error)
{
	char text[256];
	int n = snprintf(text, sizeof text, "pmhook: %s%s%s: nothing is recorded in process %d\n", what,
		error ? ": " : "", error ? strerror(error) : "", (int)getpid());

	if (n > 0)
		syscall(SYS_write, STDERR_FILENO, text, (size_t)n);
}

static int decide(void)
{
	int error;

	pmh_settings_begin();
	if (strcmp(pmh_settings.mode, "off") == 0)
		return PMH_OFF;
	pthread_once(&once, set_up_once);
	if (key_error || fork_error) {
		complain("threads cannot be followed", key_error ? key_error : fork_error);
		return PMH_OFF;
	}
	if (strcmp(pmh_settings.mode, "count") == 0) {
		pmh_settings_tell();
		return PMH_COUNTING;
	}
	pmh_clock_init();
	error = pmh_trace_open();
	pmh_settings_tell();
	if (error < 0) {
		complain(pmh_settings.out, -error);
		return PMH_OFF;
	}
	pmh_window_init();
	pmh_device_init();
	pmh_python_begin();
	return PMH_RECORDING;
}

static void activate(void *unused)
{
	(void)unused;
	/*
	 * A thread that holds the loader's lock, in a library's constructor, may be waiting for ours; so what
	 * needs the loader's is done before ours is taken, by each thread that comes here.
	 */
	pmh_device_prepare();
	pmh_graph_prepare();
	pmh_call_site_init();
	pmh_python_init();
	pmh_acquire(&deciding);
	if (atomic_load(&pmh_state) == PMH_UNDECIDED) {
		decided = decide();
		owner = getpid();
		atomic_store_explicit(&pmh_state, decided, memory_order_release);
	}
	pmh_release(&deciding);
}

void pmh_activate(void)
{
	const int saved_errno = errno;
	const pid_t decided_by = atomic_load(&owner);

	/* a child in which fork's handlers did not run: what it has of its parent is of no use, nor safe */
	if (decided_by && decided_by != getpid())
		atomic_store(&pmh_state, PMH_OFF);
	else
		pmh_rarely(activate, NULL);
	errno = saved_errno;
}

/* ---- end ---- */

/*
 * Handlers run in the reverse order of registration, and CUDA registers its own when it is first used: ours
 * must come after, to be called while events can still be asked for.
 */
void pmh_finish_at_exit(void)
{
	const int saved_errno = errno;

	if (atomic_load_explicit(&exit_registered, memory_order_relaxed) ||
		atomic_exchange(&exit_registered, true))
		return;
	pmh_quiet_begin(); /* it takes a lock of the C library */
	atexit(finish);
	pmh_quiet_end();
	errno = saved_errno;
}

static void add_to_total(struct pmh_thread *t)
{
	add_counts(&total, t);
}

/* Ticks as nanoseconds, by what both clocks have counted since the trace began. */
static uint64_t as_ns(double ticks)
{
	uint64_t begin_ticks, begin_ns, run_ticks;

	if (!pmh_trace_begin(&begin_ticks, &begin_ns) || (run_ticks = pmh_ticks() - begin_ticks) == 0)
		return 0;
	return (uint64_t)(ticks * (double)(pmh_monotonic_ns() - begin_ns) / (double)run_ticks);
}

/* Neither is more than the run: threads that wait for a processor while they describe an operation may add up
 * to it. */
static void count_cost(struct pm_footer *f)
{
	uint64_t begin_ticks, begin_ns, run_ns;

	if (!pmh_trace_begin(&begin_ticks, &begin_ns))
		return;
	run_ns = pmh_monotonic_ns() - begin_ns;
	f->own_ns = as_ns(pmh_cost_ticks(&total.own));
	f->own_ns = f->own_ns < run_ns ? f->own_ns : run_ns;
	f->new_ns = as_ns((double)total.new_ticks);
	f->new_ns = f->new_ns < run_ns - f->own_ns ? f->new_ns : run_ns - f->own_ns;
}

static void report_counts(const struct pm_footer *f)
{
	uint64_t begin_ticks, begin_ns;
	char text[768], cost[128] = "";
	int n;

	if (f->calls && pmh_trace_begin(&begin_ticks, &begin_ns)) {
		double run_ns = (double)(pmh_monotonic_ns() - begin_ns);

		snprintf(cost, sizeof cost,
			", about %.0f ns each in the hook and %.1f ms to describe what was new (%.2f%% of %.1f s)",
			(double)f->own_ns / (double)f->calls, (double)f->new_ns / 1e6,
			100 * (double)(f->own_ns + f->new_ns) / run_ns, run_ns / 1e9);
	}
	n = snprintf(text, sizeof text,
		"pmhook: process %d: %llu calls%s, %llu records (%llu lost), %llu device times lost%s%s\n",
		(int)getpid(), (unsigned long long)f->calls, cost, (unsigned long long)f->records,
		(unsigned long long)f->lost_records, (unsigned long long)f->lost_device_times,
		*pmh_trace_path() ? ": " : "", pmh_trace_path());
	if (n > 0)
		syscall(SYS_write, STDERR_FILENO, text,
			(size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void write_end(void *data)
{
	const int state = *(const int *)data;
	struct pm_footer footer = {0};

	if (state == PMH_RECORDING) {
		pmh_device_finish(&pmh_self);
		pmh_window_finish();
	}
	pmh_acquire(&listing);
	total = ended;
	footer.threads = thread_count;
	pmh_release(&listing);
	pmh_each_thread(add_to_total);
	pmh_lose(PM_LOSS_OTHER_COPIES, pmh_unseen_calls());
	pmh_lose(PM_LOSS_NO_ROOM, total.unwritten);
	footer.records = total.records - total.unwritten;
	footer.lost_records = pmh_lost_of(PM_LOSS_OF_RECORDS);
	footer.calls = total.calls + footer.records + footer.lost_records - pmh_device_times();
	count_cost(&footer);
	footer.unseen_calls = pmh_lost_of(PM_LOSS_OF_FUNCTIONS);
	footer.lost_device_times = pmh_lost_of(PM_LOSS_OF_TIMES);
	footer.lost_operations = pmh_lost_of(PM_LOSS_OF_DETAILS);
	if (state == PMH_RECORDING)
		pmh_trace_close(&footer);
	if (is_on(pmh_settings.verbose))
		report_counts(&footer);
}

__attribute__((destructor)) static void finish(void)
{
	int state = atomic_load(&pmh_state);

	if ((state != PMH_RECORDING && state != PMH_COUNTING) || atomic_exchange(&finished, true))
		return;
	pmh_frame_left(&pmh_self); /* it may be in a call, whose callback ends the process */
	pmh_frame_begin(NULL);
	if (state == PMH_RECORDING)
		pmh_cupti_finish();
	pmh_rarely(write_end, &state);
	pmh_self.depth = 0;
}
