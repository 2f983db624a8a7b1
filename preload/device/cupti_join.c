/*
 * Which hooked call the device's work belongs to, by CUPTI's number of the call that launched it.
 *
 * CUPTI gives each call of the driver a number, and the records of the call's work carry it. By default it
 * calls us in the launching thread when one of the driver's calls that give a device work is entered: then
 * the number is linked to the hooked call that the thread is in. So no record is made of any call, the first
 * launch is joined like all others, and so are those of libraries that have a runtime of their own inside, as
 * all of them go through the driver. That calls of the runtime are seen as they enter the driver, under their
 * own number, is not promised: so they have callbacks too, each until it was seen to.
 *
 * The other way (PMHOOK_CUPTI_JOIN=external, and where the first one fails): the call is pushed as an
 * external id, and CUPTI makes records of calls with the id before them.
 */
#include "cupti_join.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_activity.h"
#include "cupti_session.h"
#include "guest/resolve.h"
#include "guest/settings_hook.h"
#include "guest/thread.h"
#include "trace/intern.h"

/* Of all calls that CUPTI counts only some launch: a program that makes fifteen others for each has 70,000
 * launches in so many numbers, more than can be under way before their records are read. */
#define LINKS (1u << 20)

static struct link {
	_Atomic uint64_t id, check;
} * links; /* by number */

static _Atomic bool by_callbacks, any_link;
static bool all_calls;    /* have records */
static bool no_callbacks; /* CUPTI has or makes none: found out */

/* Of the runtime's calls, by CUPTI's numbers: how often they were seen to enter the driver under their own
 * correlation, and whether they once were not. Nearly, as threads come at the same time. */
#define COVERED_ENOUGH 8
static _Atomic uint8_t covered[PM_CUPTI_CALLS];
static _Atomic bool uncovered[PM_CUPTI_CALLS];
static bool runtime_enabled[PM_CUPTI_CALLS]; /* our thread's, once it runs */

/* ---- links ---- */

bool pmh_join_init(void)
{
	long p;

	if (links)
		return true;
	p = syscall(SYS_mmap, NULL, LINKS * sizeof *links, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, (off_t)0);
	if (p == -1)
		return false;
	links = (struct link *)p;
	return true;
}

/* A link of which another thread has written one half only, or that is another number's, does not fit its
 * check. */
static uint64_t check_of(uint32_t cupti_correlation, uint64_t id)
{
	return id ^ pmh_mix(cupti_correlation, 0x9e3779b97f4a7c15u);
}

void pmh_join_link(uint32_t cupti_correlation, uint64_t id)
{
	struct link *l = &links[cupti_correlation % LINKS];

	if (!atomic_load_explicit(&any_link, memory_order_relaxed))
		atomic_store_explicit(&any_link, true, memory_order_relaxed);
	atomic_store_explicit(&l->id, id, memory_order_relaxed);
	atomic_store_explicit(&l->check, check_of(cupti_correlation, id), memory_order_relaxed);
}

uint64_t pmh_join_id(uint32_t cupti_correlation)
{
	struct link *l = &links[cupti_correlation % LINKS];
	uint64_t id = atomic_load_explicit(&l->id, memory_order_relaxed);

	return atomic_load_explicit(&l->check, memory_order_relaxed) == check_of(cupti_correlation, id) ? id
													: 0;
}

bool pmh_join_any(void)
{
	return atomic_load_explicit(&any_link, memory_order_relaxed);
}

/* ---- around calls ---- */

static void runtime_called(CUpti_CallbackId number, const CUpti_CallbackData *c)
{
	if (c->callbackSite == CUPTI_API_ENTER) {
		pmh_join_link(c->correlationId, pmh_self.announced);
		pmh_self.inside_runtime = c->correlationId;
		return;
	}
	if (pmh_self.inside_runtime)
		atomic_store_explicit(&uncovered[number], true, memory_order_relaxed);
	else if (atomic_load_explicit(&covered[number], memory_order_relaxed) < COVERED_ENOUGH)
		atomic_fetch_add_explicit(&covered[number], 1, memory_order_relaxed);
	pmh_self.inside_runtime = 0;
}

void pmh_join_called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void *call)
{
	const CUpti_CallbackData *c = call;

	(void)data;
	/* a thread may launch without any call that is hooked */
	if (!pmh_local.thread || !pmh_self.announced)
		return;
	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && c->callbackSite == CUPTI_API_ENTER) {
		pmh_join_link(c->correlationId, pmh_self.announced);
		if (pmh_self.inside_runtime == c->correlationId)
			pmh_self.inside_runtime = 0;
	} else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && number < PM_CUPTI_CALLS) {
		runtime_called(number, c);
	}
}

bool pmh_join_begin(uint64_t id)
{
	if (atomic_load_explicit(&by_callbacks, memory_order_relaxed)) {
		pmh_self.announced = id;
		pmh_self.inside_runtime = 0;
		return true;
	}
	return pmh_cupti.cuptiActivityPushExternalCorrelationId(PMH_EXTERNAL_KIND, id) == CUPTI_SUCCESS;
}

void pmh_join_end(void)
{
	uint64_t id;

	/* begun before the callbacks were given up, maybe */
	if (pmh_self.announced)
		pmh_self.announced = 0;
	else
		pmh_cupti.cuptiActivityPopExternalCorrelationId(PMH_EXTERNAL_KIND, &id);
}

/* ---- what CUPTI is asked for ---- */

#define NUMBER(n) n,
static const uint16_t other_driver[] = {PM_CUPTI_OTHER_DRIVER_LAUNCHES(NUMBER) 0};
static const uint16_t other_runtime[] = {PM_CUPTI_OTHER_RUNTIME_LAUNCHES(NUMBER) 0};
#undef NUMBER

/* A library's calls that give a device work, by CUPTI's numbers. */
static void find_launches(const char *library, const uint16_t *others, bool is_launch[PM_CUPTI_CALLS])
{
	memset(is_launch, 0, PM_CUPTI_CALLS * sizeof *is_launch);
	for (unsigned call = 1; call < PM_CALL_COUNT; call++) {
		const struct pmh_row *row = &pmh_rows[call];

		if (strcmp(row->library, library) != 0)
			continue;
		for (const uint16_t *number = row->callbacks; *number; number++)
			is_launch[*number] = true;
	}
	for (; *others; others++)
		is_launch[*others] = true;
}

static bool enable_callback(bool enable, CUpti_CallbackDomain domain, CUpti_CallbackId number)
{
	return pmh_cupti.cuptiEnableCallback(enable, pmh_cupti_subscriber, domain, number) == CUPTI_SUCCESS;
}

/* Older versions of CUPTI do not know all numbers; without kernels' launches callbacks are of no use. */
static bool enable_callbacks(void)
{
	const CUpti_CallbackId kernels = pmh_rows[PM_CALL_cuLaunchKernel].callbacks[0];
	bool is_launch[PM_CUPTI_CALLS], kernels_enabled = false;

	if (!pmh_cupti.cuptiEnableCallback)
		return false;
	find_launches("cuda", other_driver, is_launch);
	for (CUpti_CallbackId n = 1; n < PM_CUPTI_CALLS; n++)
		if (is_launch[n] && enable_callback(true, CUPTI_CB_DOMAIN_DRIVER_API, n))
			kernels_enabled |= n == kernels;
	find_launches("cudart", other_runtime, is_launch);
	for (CUpti_CallbackId n = 1; n < PM_CUPTI_CALLS && kernels_enabled; n++)
		runtime_enabled[n] = is_launch[n] && enable_callback(true, CUPTI_CB_DOMAIN_RUNTIME_API, n);
	return kernels_enabled;
}

static void disable_callbacks(void)
{
	bool is_launch[PM_CUPTI_CALLS];

	find_launches("cuda", other_driver, is_launch);
	for (CUpti_CallbackId n = 1; n < PM_CUPTI_CALLS; n++) {
		if (is_launch[n])
			enable_callback(false, CUPTI_CB_DOMAIN_DRIVER_API, n);
		if (runtime_enabled[n])
			enable_callback(false, CUPTI_CB_DOMAIN_RUNTIME_API, n);
		runtime_enabled[n] = false;
	}
}

void pmh_join_round(void)
{
	for (CUpti_CallbackId n = 1; n < PM_CUPTI_CALLS; n++) {
		if (!runtime_enabled[n] || atomic_load_explicit(&uncovered[n], memory_order_relaxed) ||
			atomic_load_explicit(&covered[n], memory_order_relaxed) < COVERED_ENOUGH)
			continue;
		enable_callback(false, CUPTI_CB_DOMAIN_RUNTIME_API, n);
		runtime_enabled[n] = false;
	}
}

static void enable_all_calls(void)
{
	pmh_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
	pmh_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
	all_calls = true;
}

/* External correlations come only while one of these kinds is enabled, so single calls are taken out of it.
 */
static void enable_launches(void)
{
	bool is_launch[PM_CUPTI_CALLS];

	if (!pmh_cupti.cuptiActivityEnableDriverApi) {
		enable_all_calls();
		return;
	}
	find_launches("cuda", other_driver, is_launch);
	pmh_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
	for (CUpti_CallbackId n = 1; n < PM_CUPTI_CALLS; n++)
		if (!is_launch[n])
			pmh_cupti.cuptiActivityEnableDriverApi(n, 0);
}

static bool enable_external(void)
{
	atomic_store(&by_callbacks, false);
	return pmh_cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) == CUPTI_SUCCESS;
}

bool pmh_join_start(void)
{
	const bool wanted = strcmp(pmh_settings.cupti_join, "callback") == 0 && !no_callbacks;

	if (wanted && enable_callbacks()) {
		atomic_store(&by_callbacks, true);
		return true;
	}
	if (!enable_external())
		return false;
	if (wanted)
		pmh_note("device: CUPTI has no callbacks of launches: recording them");
	no_callbacks |= wanted;
	if (all_calls)
		enable_all_calls();
	else
		enable_launches();
	return true;
}

bool pmh_join_more(void)
{
	if (all_calls)
		return false;
	if (atomic_load(&by_callbacks)) {
		disable_callbacks();
		if (!enable_external())
			return false;
		no_callbacks = true;
		pmh_note("device: CUPTI makes no callbacks of launches: recording all calls");
	} else {
		pmh_note(
			"device: CUPTI reports no calls when only launches are enabled: recording all calls");
	}
	enable_all_calls();
	return true;
}

void pmh_join_stop(void)
{
	if (atomic_load(&by_callbacks)) {
		disable_callbacks();
		return;
	}
	pmh_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	pmh_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
	pmh_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}
