/*
 * The process: whether anything is recorded, its threads, fork, and its end.
 *
 * Nothing is done at load. The first call of a hooked library decides: a process that makes none (a shell, a
 * compiler, a data loader) leaves no trace and pays one look at a variable per file read. A child after fork
 * is such a process again.
 */
#include "process.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "call/left.h"
#include "call/steps.h"
#include "call/turns.h"
#include "call/window.h"
#include "describe/backend.h"
#include "describe/call_site.h"
#include "describe/communicator.h"
#include "describe/device.h"
#include "describe/kernel.h"
#include "describe/object.h"
#include "describe/touch.h"
#include "device/capture.h"
#include "device/cuda_functions.h"
#include "device/cupti_session.h"
#include "device/event_time.h"
#include "device/place.h"
#include "files/input.h"
#include "files/worker.h"
#include "framework/nvtx.h"
#include "framework/pjrt.h"
#include "framework/record_function.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/own_cost.h"
#include "guest/settings_hook.h"
#include "guest/state.h"
#include "guest/thread.h"
#include "host_wait.h"
#include "lookup.h"
#include "python/python_here.h"
#include "python/python_line.h"
#include "python/python_process.h"
#include "trace/intern.h"
#include "trace/sample.h"
#include "trace/write.h"

static int decided; /* the state that was decided on, in the process `owner` */
static _Atomic pid_t owner;

static pmh_lock deciding = ATOMIC_FLAG_INIT, counting = ATOMIC_FLAG_INIT;
/* What threads have counted: of those that have ended (under `counting`), and at the end of all. */
struct counts {
	uint64_t calls, records, unwritten, new_ticks, new_processor_ns;
	struct pmh_cost own;
};
static struct counts ended, total;
static bool has_ended; /* `total` has `ended` */
static _Atomic bool finished, exit_registered;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void finish(void);

static bool is_on(const char *setting)
{
	return strcmp(setting, "on") == 0;
}

/* ---- threads ---- */

static void add_counts(struct counts *c, struct pmh_thread *t)
{
	c->calls += atomic_load_explicit(&t->call_count, memory_order_relaxed);
	c->unwritten += pmh_trace_unwritten(t);
	c->records += atomic_load_explicit(&t->record_count, memory_order_relaxed);
	c->new_ticks += atomic_load_explicit(&t->new_cost.ticks, memory_order_relaxed);
	c->new_processor_ns += atomic_load_explicit(&t->new_cost.processor_ns, memory_order_relaxed);
	pmh_cost_add(&c->own, &t->own);
}

static void add_to_ended(struct pmh_thread *t)
{
	pmh_acquire(&counting);
	add_counts(&ended, t);
	pmh_release(&counting);
}

static void end_thread(void *record)
{
	struct pmh_thread *t = record;

	if (t->number == 0)
		return;
	if (atomic_load(&pmh_state) == PMH_RECORDING)
		pmh_device_leave(t);
	pmh_capture_thread_gone(t);
	pmh_window_leave(t);
	pmh_steps_leave(t);
	pmh_touch_leave(t);
	pmh_thread_unlist(t, add_to_ended);
	pmh_trace_leave(t);
}

/* At the thread's end, by pthread_exit or cancellation perhaps out of a hooked call; or after it, by another.
 */
static void thread_leave(void *record)
{
	struct pmh_thread *t = record;

	if (t != pmh_local.thread)
		t->frame.pushed = false; /* which means something in that thread alone */
	pmh_frame_left(t);
	t->depth = 1;
	pmh_run_on_own_stack(end_thread, t);
}

/* ---- fork ---- */

static void forget_counts(struct pmh_thread *self)
{
	self->chunk_count = self->lost_count = 0;
	atomic_store(&self->record_count, 0);
	atomic_store(&self->call_count, 0);
	memset(&self->own, 0, sizeof self->own);
	atomic_store(&self->new_cost.ticks, 0);
	atomic_store(&self->new_cost.processor_ns, 0);
	self->group_depth = 0;
	self->grouped_count = 0;
}

/* PyTorch's lock is waited for before others wait for the fork. */
static void forks(void)
{
	pmh_framework_fork_prepare();
	pmh_fork_prepare();
}

static void forked_in_parent(void)
{
	pmh_fork_parent();
	pmh_framework_fork_parent();
}

static void forked_in_child(void)
{
	struct pmh_thread *self = pmh_local.thread;
	const bool were_quiet = pmh_fork_child();

	/* what we read counts for the parent */
	pmh_worker_forked(pmh_trace_forget());
	if (self)
		pmh_trace_leave(self);
	pmh_intern_forget();
	pmh_objects_forget();
	pmh_place_forget();
	pmh_kernel_forget();
	pmh_touch_forget();
	pmh_backend_forget();
	pmh_comm_forget();
	pmh_graph_forget();
	pmh_look_up_forget();
	pmh_device_forget();
	pmh_device_describe_forget();
	pmh_cupti_forget();
	pmh_files_forget();
	pmh_framework_forget(self);
	pmh_nvtx_forget();
	pmh_call_site_forget();
	pmh_left_forget();
	pmh_python_forget();
	pmh_pjrt_forget();
	pmh_python_forget_lines();
	pmh_python_here_forget();
	pmh_threads_forget(were_quiet);
	memset(&ended, 0, sizeof ended);
	pmh_lock_forget(&counting);
	pmh_lock_forget(&deciding);
	if (self)
		forget_counts(self);
	atomic_store(&finished, false);
	owner = 0;
	/* a thread that was not quiet may have had a lock that is not ours: libunwind's, or the loader's */
	atomic_store(&pmh_state, decided == PMH_OFF || !were_quiet ? PMH_OFF : PMH_UNDECIDED);
}

static int key_error, fork_error;

/* At load, when the key still is among the first: the C library takes no memory for the values of those. But
 * a constructor of another library may make a call before. */
__attribute__((constructor)) static void make_key_early(void)
{
	key_error = pmh_threads_follow(thread_leave);
}

static void set_up_once(void)
{
	make_key_early();
	fork_error = pthread_atfork(forks, forked_in_parent, forked_in_child);
	pmh_state_wipe_on_fork();
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

/*
 * Mistakes in the settings are kept in the trace of every process that records, and reported on standard
 * error once a job where that can be known: not by ranks above 0, not by a child of a process that records.
 */
static void report_settings(void)
{
	static char text[512];
	static bool is_reported;
	const char *c = pmh_settings_complaint(NULL);
	const bool silent = !c || is_reported || pmh_trace_launched_rank() > 0 || pmh_is_worker();

	for (; c; c = pmh_settings_complaint(c)) {
		/* of a variable that is no setting there is no default */
		const char *end = strncmp(c, "unknown setting", 15) == 0 ? "" : "; using the default";
		int n;

		snprintf(text, sizeof text, "warning: %.400s%s", c, end);
		pmh_note(text);
		n = snprintf(text, sizeof text, "pmhook: %.400s%s\n", c, end);
		if (!silent && n > 0)
			syscall(SYS_write, STDERR_FILENO, text, (size_t)n);
	}
	is_reported = true;
}

static int decide(void)
{
	int error;

	pmh_settings_begin();
	if (strcmp(pmh_settings.mode, "off") == 0)
		return PMH_OFF;
	pthread_once(&once, set_up_once);
	if (key_error || fork_error) {
		complain("thread exits cannot be tracked", key_error ? key_error : fork_error);
		return PMH_OFF;
	}
	if (strcmp(pmh_settings.mode, "count") == 0) {
		report_settings();
		return PMH_COUNTING;
	}
	pmh_clock_init();
	error = pmh_trace_open();
	report_settings();
	if (error < 0) {
		complain(pmh_settings.out, -error);
		return PMH_OFF;
	}
	pmh_nvtx_note();
	pmh_window_init();
	pmh_device_init();
	pmh_python_begin();
	pmh_sample_begin();
	pmh_turns_init();
	pmh_steps_begin();
	pmh_framework_begin();
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
	pmh_python_begin_lines();
}

void pmh_activate(void)
{
	const int saved_errno = errno;
	const pid_t decided_by = atomic_load(&owner);

	/* a child in which fork's handlers did not run: what it has of its parent is of no use, nor safe */
	if (decided_by && decided_by != getpid())
		atomic_store(&pmh_state, PMH_OFF);
	else
		pmh_run_on_own_stack(activate, NULL);
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
	pmh_block_signals(); /* it takes a lock of the C library */
	atexit(finish);
	pmh_unblock_signals();
	errno = saved_errno;
}

static void take_ended(void)
{
	if (has_ended)
		return;
	pmh_acquire(&counting);
	total = ended;
	pmh_release(&counting);
	has_ended = true;
}

/* The first that is listed brings the ended ones, too: at the process's end threads end as well, and one that
 * leaves the list before or after has to be in either. */
static void add_to_total(struct pmh_thread *t)
{
	take_ended();
	add_counts(&total, t);
}

static void add_up(void)
{
	has_ended = false;
	pmh_each_thread(add_to_total);
	take_ended();
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
	f->new_processor_ns = total.new_processor_ns < f->new_ns ? total.new_processor_ns : f->new_ns;
}

static void report_counts(const struct pm_footer *f)
{
	uint64_t begin_ticks, begin_ns;
	char text[768], cost[128] = "", unseen[128] = "";
	int n;

	if (f->calls && pmh_trace_begin(&begin_ticks, &begin_ns)) {
		double run_ns = (double)(pmh_monotonic_ns() - begin_ns);

		snprintf(cost, sizeof cost,
			", hook time %.0f ns per call and %.1f ms for new operations (%.2f%% of %.1f s)",
			(double)f->own_ns / (double)f->calls, (double)f->new_processor_ns / 1e6,
			100 * (double)(f->own_ns + f->new_processor_ns) / run_ns, run_ns / 1e9);
	}
	if (f->unseen_calls)
		snprintf(unseen, sizeof unseen,
			", calls of another copy of a library missing (%llu functions)",
			(unsigned long long)f->unseen_calls);
	n = snprintf(text, sizeof text,
		"pmhook: process %d: %llu calls%s, %llu records (%llu lost), %llu device times lost%s%s%s\n",
		(int)getpid(), (unsigned long long)f->calls, cost, (unsigned long long)f->records,
		(unsigned long long)f->lost_records, (unsigned long long)f->lost_device_times, unseen,
		*pmh_trace_path() ? ": " : "", pmh_trace_path());
	if (n > 0)
		syscall(SYS_write, STDERR_FILENO, text,
			(size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void write_end(void *data)
{
	const int state = *(const int *)data;
	struct pm_footer footer = {0};
	uint64_t times, recorded;

	if (state == PMH_RECORDING) {
		pmh_device_finish(&pmh_self);
		pmh_window_finish();
		pmh_turns_finish();
		pmh_host_wait_note();
	}
	footer.threads = pmh_thread_count();
	/* threads that go on may record more of them meanwhile, and these would be no calls */
	times = pmh_device_times();
	add_up();
	pmh_lose(PM_LOSS_OTHER_COPIES, pmh_unseen_calls());
	pmh_lose(PM_LOSS_NO_ROOM, total.unwritten);
	footer.records = total.records - total.unwritten;
	footer.lost_records = pmh_lost_of(PM_LOSS_OF_RECORDS);
	recorded = footer.records + footer.lost_records;
	footer.calls = total.calls + (recorded > times ? recorded - times : 0);
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
	pmh_self_make_at_exit();
	pmh_frame_left(&pmh_self); /* it may be in a call, whose callback ends the process */
	pmh_frame_begin(NULL);
	if (state == PMH_RECORDING) {
		pmh_framework_finish();
		pmh_cupti_finish();
	}
	pmh_run_on_own_stack(write_end, &state);
	pmh_self.depth = 0;
}
