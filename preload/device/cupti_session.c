/*
 * Device time from CUPTI: each kernel, copy and set of the process by itself, joined to the hooked call that
 * launched it.
 *
 * Around a call it is said which one it is (cupti_join.c); CUPTI writes activities into buffers of ours. One
 * thread of our own does all the rest: it asks CUPTI for what is complete, reads it and writes the trace. So
 * the host's threads wait for CUPTI only for as long as its callback takes, and never for the device; where
 * CUPTI does not come back, they give up on our thread after a while.
 *
 * CUPTI serves one tool at a time. We begin with the process's first work for a device, if nobody has it
 * then; when another tool comes, we give it up before its call goes on, and go over to pairs of events for
 * good.
 */
#include "cupti_session.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capture.h"
#include "cuda_functions.h"
#include "cupti_activity.h"
#include "cupti_join.h"
#include "cupti_thread.h"
#include "event_time.h"
#include "guest/clock.h"
#include "guest/guest.h"
#include "guest/resolve.h"
#include "guest/settings_hook.h"
#include "stretch.h"
#include "trace/intern.h"
#include "trace/write.h"

#define CLOCK_ERROR_NS 1000000u /* a clock known less well than this is of no use */
#define FINISH_NS 2000000000L
#define LEAVE_NS 3000000000L
#define COLLECTING_ROUNDS 20

extern char **environ;

struct pmh_cupti pmh_cupti;
CUpti_SubscriberHandle pmh_cupti_subscriber;
_Atomic int pmh_cupti_state = PMH_CUPTI_UNTRIED;
static _Atomic(const char *) taker; /* the call by which another tool came */

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
#define NEEDED_KINDS 1 /* the first ones */

void pmh_cupti_disable(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		pmh_cupti.cuptiActivityDisable(kinds[i]);
	pmh_join_stop();
}

/* ---- beginning ---- */

static void note_events(const char *reason)
{
	char text[256];

	snprintf(text, sizeof text, "device: pairs of events around each call: %s", reason);
	pmh_note(text);
}

/* Beside the CUDA runtime in use, where toolkits and Python packages put CUPTI; `digits` is the major
 * version. */
static void *open_beside(const char *runtime, const char *digits)
{
	static const char *const folders[] = {"", "../extras/CUPTI/lib64/", "../../cuda_cupti/lib/"};
	const char *slash = strrchr(runtime, '/');
	char path[4096];

	for (size_t i = 0; slash && i < sizeof folders / sizeof folders[0]; i++) {
		void *handle;
		int n = snprintf(path, sizeof path, "%.*s/%slibcupti.so.%.2s", (int)(slash - runtime),
			runtime, folders[i], digits);

		if (n > 0 && (size_t)n < sizeof path && (handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL)))
			return handle;
	}
	return NULL;
}

static void *open_library(void)
{
	static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
	const char *digits = NULL;
	void *handle = NULL;
	Dl_info runtime;

	for (int i = 0; i < 2 && !handle; i++)
		handle = dlopen(sonames[i], RTLD_LAZY | RTLD_NOLOAD);
	if (!handle && dladdr(pmh_real(PM_CALL_cudaEventRecord), &runtime) && runtime.dli_fname) {
		digits = strstr(runtime.dli_fname, "libcudart.so.");
		digits = digits ? digits + strlen("libcudart.so.") : NULL;
		handle = digits ? open_beside(runtime.dli_fname, digits) : NULL;
	}
	for (int i = 0; i < 2 && !handle; i++)
		if (!digits || strncmp(sonames[i] + strlen("libcupti.so."), digits, 2) == 0)
			handle = dlopen(sonames[i], RTLD_LAZY | RTLD_LOCAL);
	return handle;
}

static bool find_functions(void *handle)
{
	bool all = true;

#define FIND(name, optional) \
	*(void **)&pmh_cupti.name = dlsym(handle, #name); \
	all = all && (pmh_cupti.name || (optional));
	PMH_CUPTI_FUNCTIONS(FIND)
#undef FIND
	return all;
}

/* What the vendor's tools leave in the environment of the programs they start. */
static bool under_another_tool(void)
{
	static const char *const beginnings[] = {
		"CUDA_INJECTION64_PATH=", "NSYS_", "NV_COMPUTE_PROFILER_", "NV_SANITIZER_", "NV_NSIGHT_"};

	for (char **e = environ; e && *e; e++)
		for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
			if (strncmp(*e, beginnings[i], strlen(beginnings[i])) == 0)
				return true;
	return false;
}

static bool enable_kinds(void)
{
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (pmh_cupti.cuptiActivityEnable(kinds[i]) != CUPTI_SUCCESS && i < NEEDED_KINDS)
			return false;
	return pmh_join_start();
}

static bool register_buffers(void)
{
	return pmh_cupti.cuptiActivityRegisterCallbacks(pmh_cupti_requested, pmh_cupti_completed) ==
	       CUPTI_SUCCESS;
}

/* NULL, or why CUPTI is not used. */
static const char *start(uint32_t *version, uint64_t *clock_error_ns)
{
	void *handle;
	CUptiResult result;

	if (atomic_load(&taker))
		return "another tool uses CUPTI";
	if (under_another_tool())
		return "another tool launched the program";
	handle = open_library();
	if (!handle)
		return "CUPTI not found";
	if (!find_functions(handle) || pmh_cupti.cuptiGetVersion(version) != CUPTI_SUCCESS)
		return "CUPTI functions missing";
	if (*version < PM_CUPTI_OLDEST || *version > PM_CUPTI_NEWEST)
		return "unknown record format of this CUPTI version";
	result = pmh_cupti.cuptiSubscribe(&pmh_cupti_subscriber, pmh_join_called, NULL);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
		return "another tool has subscribed to CUPTI";
	if (result != CUPTI_SUCCESS)
		return "cannot subscribe to CUPTI";
	*clock_error_ns = pmh_cupti_read_clock();
	if (pmh_join_init() && pmh_activity_init() && *clock_error_ns < CLOCK_ERROR_NS &&
		register_buffers() && enable_kinds() && pmh_cupti_start_thread())
		return NULL;
	pmh_cupti_disable();
	pmh_cupti.cuptiUnsubscribe(pmh_cupti_subscriber);
	return "CUPTI delivers no activity records";
}

static void leave_to(const char *call);

static void begin_use(void *unused)
{
	int untried = PMH_CUPTI_UNTRIED;
	uint64_t clock_error_ns = 0;
	uint32_t version = 0;
	const char *reason;
	char text[256];

	(void)unused;
	if (!atomic_compare_exchange_strong(&pmh_cupti_state, &untried, PMH_CUPTI_STARTING))
		return;
	reason = start(&version, &clock_error_ns);
	if (reason) {
		atomic_store(&pmh_cupti_state, PMH_CUPTI_OFF);
		note_events(reason);
		return;
	}
	pmh_trace_device_source(PM_DEVICE_CUPTI);
	snprintf(text, sizeof text, "device: CUPTI version %u, clock offset known within %llu ns", version,
		(unsigned long long)clock_error_ns);
	pmh_note(text);
	atomic_store(&pmh_cupti_state, PMH_CUPTI_ON);
	/* it may have come while we began */
	if (atomic_load(&taker))
		leave_to(atomic_load(&taker));
}

void pmh_cupti_init(void)
{
	int untried = PMH_CUPTI_UNTRIED;
	bool wanted = pmh_device_timed && strcmp(pmh_settings.device, "events") != 0;

	if (!wanted)
		atomic_compare_exchange_strong(&pmh_cupti_state, &untried, PMH_CUPTI_OFF);
	if (pmh_device_timed && atomic_load(&pmh_cupti_state) == PMH_CUPTI_OFF)
		note_events(wanted ? "the parent used CUPTI" : "disabled by setting");
}

/* ---- around calls ---- */

/* Grows when a handle may mean a new stream. */
static _Atomic uint32_t stream_epoch = 1;
static _Atomic uint32_t queue_epochs[UINT16_MAX + 1];

void pmh_cupti_stream_created(void)
{
	atomic_fetch_add_explicit(&stream_epoch, 1, memory_order_relaxed);
}

void pmh_cupti_context_going(void)
{
	if (atomic_load(&pmh_cupti_state) == PMH_CUPTI_ON)
		pmh_cupti.cuptiActivityFlushAll(0);
}

static void name_stream(struct pmh_place place)
{
	uint32_t epoch = atomic_load_explicit(&stream_epoch, memory_order_relaxed), id = 0;

	atomic_store_explicit(&queue_epochs[place.queue], epoch, memory_order_relaxed);
	/* CUPTI could be asked about the default streams only with a context */
	if (!pmh_cupti.cuptiGetStreamIdEx || (uintptr_t)place.stream <= 2)
		return;
	if (pmh_cupti.cuptiGetStreamIdEx(NULL, (CUstream)place.stream, 0, &id) == CUPTI_SUCCESS)
		pmh_activity_stream(place.device, id, place.queue);
}

bool pmh_cupti_begin_slowly(struct pmh_place place, uint32_t correlation, uint8_t flags)
{
	const int saved_errno = errno;
	bool is_pushed = false;

	/* beside a runtime that is not loaded yet there is no CUPTI to be found */
	if (atomic_load(&pmh_cupti_state) == PMH_CUPTI_UNTRIED && !pmh_capture_under_way() && pmh_cuda_seek())
		pmh_run_on_own_stack(begin_use, NULL);
	if (atomic_load(&pmh_cupti_state) == PMH_CUPTI_ON) {
		if (atomic_load_explicit(&queue_epochs[place.queue], memory_order_relaxed) !=
			atomic_load_explicit(&stream_epoch, memory_order_relaxed))
			name_stream(place);
		is_pushed = pmh_join_begin(pmh_external_id(correlation, place.queue, flags, place.device));
		if (is_pushed)
			pmh_cupti_pushed();
	}
	errno = saved_errno;
	return is_pushed;
}

bool pmh_cupti_group_begin(const struct pmh_grouped *calls, unsigned call_count)
{
	if (call_count == 0)
		return false;
	if (atomic_load_explicit(&pmh_cupti_state, memory_order_relaxed) <= PMH_CUPTI_ON)
		pmh_activity_group(calls, call_count);
	return pmh_cupti_begin(
		(struct pmh_place){.stream = calls->stream, .device = calls->device, .queue = calls->queue},
		calls->correlation, PM_FLAG_GROUP);
}

void pmh_cupti_end(void)
{
	const int saved_errno = errno;

	pmh_join_end();
	errno = saved_errno;
}

/* ---- resting ---- */

static _Atomic bool rest_wanted, rests;

void pmh_cupti_rest(bool rest)
{
	atomic_store(&rest_wanted, rest);
	pmh_cupti_wake();
}

bool pmh_cupti_rests(bool rest)
{
	return atomic_load(&pmh_cupti_state) != PMH_CUPTI_ON || atomic_load(&rests) == rest;
}

/* After the end of a stretch: until no more comes of what was in flight, or for so many rounds. */
static bool is_collected(void)
{
	static uint64_t joined_before;
	static unsigned rounds;
	const uint64_t joined_now = pmh_activity_joined();
	bool over;

	if (!atomic_load(&pmh_stretch_is_off)) {
		joined_before = UINT64_MAX;
		rounds = 0;
		return false;
	}
	over = joined_now == joined_before || ++rounds > COLLECTING_ROUNDS;
	joined_before = joined_now;
	return over;
}

long pmh_cupti_turn(void)
{
	long left_ns;
	const bool wanted = pmh_stretch_wanted(&left_ns);
	bool rest;

	if (!wanted)
		pmh_stretch_turn(false);
	rest = atomic_load(&rest_wanted) || (is_collected() && !wanted);
	if (rest != atomic_load(&rests)) {
		if (rest)
			pmh_cupti_disable();
		else if (!enable_kinds())
			pmh_note("device: CUPTI records no more kernels after a rest");
		atomic_store(&rests, rest);
	}
	if (wanted)
		pmh_stretch_turn(true);
	return left_ns;
}

/* ---- ending ---- */

void pmh_cupti_finish(void)
{
	int on = PMH_CUPTI_ON;

	if (!atomic_compare_exchange_strong(&pmh_cupti_state, &on, PMH_CUPTI_OFF) ||
		pmh_cupti_ask(PMH_REQUEST_FINISH, FINISH_NS))
		return;
	pmh_cupti_give_up();
	pmh_note("device: no response from CUPTI at exit, its last activity records are lost");
}

/* Gives CUPTI up, so that `call` finds it as if nobody had used it. The caller holds no lock. */
static void leave_to(const char *call)
{
	const uint64_t begin_ns = pmh_monotonic_ns();
	int on = PMH_CUPTI_ON;
	char text[256];

	while (atomic_load(&pmh_cupti_state) == PMH_CUPTI_STARTING &&
		pmh_monotonic_ns() - begin_ns < FINISH_NS)
		syscall(SYS_sched_yield);
	if (!atomic_compare_exchange_strong(&pmh_cupti_state, &on, PMH_CUPTI_ENDING))
		return;
	if (!pmh_cupti_ask(PMH_REQUEST_LEAVE, LEAVE_NS))
		pmh_cupti_give_up();
	snprintf(
		text, sizeof text, "device: pairs of events from now on: another tool uses CUPTI (%s)", call);
	pmh_note(text);
	if (pmh_cupti_keeps_buffer())
		pmh_note("device: CUPTI did not return a buffer");
	atomic_store(&pmh_cupti_state, PMH_CUPTI_OFF);
}

static void make_way(const char *call)
{
	const int saved_errno = errno;

	atomic_store(&taker, call);
	if (pmh_self_make())
		pmh_frame_begin(NULL);
	leave_to(call);
	if (pmh_local.thread)
		pmh_self.depth = 0;
	errno = saved_errno;
}

uint64_t pmh_cupti_times(void)
{
	return pmh_activity_times();
}

/* In a child after fork there is no thread of ours, and no device for what the parent's CUPTI knows. */
void pmh_cupti_forget(void)
{
	if (atomic_load(&pmh_cupti_state) != PMH_CUPTI_UNTRIED)
		atomic_store(&pmh_cupti_state, PMH_CUPTI_OFF);
	atomic_store(&rest_wanted, false);
	atomic_store(&rests, false);
	pmh_cupti_forget_thread();
	pmh_activity_forget();
}

/* ---- the calls by which another tool comes ---- */

#define WRAP_libc(...)
#define WRAP_cudart(...)
#define WRAP_cuda(...)
#define WRAP_cudnn(...)
#define WRAP_cublaslt(...)
#define WRAP_cupti(result, name, pairs) \
	PMH_EXPORT result name PM_PARAMETERS pairs; \
	PMH_EXPORT result name PM_PARAMETERS pairs \
	{ \
		result(*pm_real) PM_PARAMETERS pairs; \
\
		*(void **)&pm_real = pmh_real(PM_CALL_##name); \
		if (!pm_real) \
			return CUPTI_ERROR_NOT_INITIALIZED; \
		if (!pmh_local.thread || pmh_self.depth == 0) \
			make_way(#name); \
		return pm_real PM_ARGUMENTS pairs; \
	}
#define PM_HOOK(...)
#define PM_HANDWRITTEN(library, kind, result, name, pairs, values, ...) WRAP_##library(result, name, pairs)
#include "pm_hooks.def"
