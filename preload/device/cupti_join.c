/*
 * Which hooked call the device's work belongs to, by CUPTI's number of the call that launched it.
 *
 * CUPTI gives each call of the driver a number, and the records of the call's work carry it. By default it
 * calls us in the launching thread when one of the driver's calls that give a device work is entered: then
 * the number is linked to the hooked call that the thread is in. So no record is made of any call, the first
 * launch is joined like all others, and so are the launches of libraries that have a runtime of their own
 * inside, as all of them go through the driver.
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

static _Atomic bool by_callbacks;
static bool all_calls; /* have records */

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

/* ---- around calls ---- */

void pmh_join_called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void *call)
{
	const CUpti_CallbackData *c = call;

	(void)data, (void)number;
	if (pmh_self.announced && domain == CUPTI_CB_DOMAIN_DRIVER_API && c->callbackSite == CUPTI_API_ENTER)
		pmh_join_link(c->correlationId, pmh_self.announced);
}

bool pmh_join_begin(uint64_t id)
{
	if (atomic_load_explicit(&by_callbacks, memory_order_relaxed)) {
		pmh_self.announced = id;
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

/* The driver's calls that give a device work, by CUPTI's numbers. */
static void find_launches(bool is_launch[PM_CUPTI_CALLS])
{
#define NUMBER(n) n,
	static const uint16_t others[] = {PM_CUPTI_OTHER_DRIVER_LAUNCHES(NUMBER)};
#undef NUMBER

	memset(is_launch, 0, PM_CUPTI_CALLS * sizeof *is_launch);
	for (unsigned call = 1; call < PM_CALL_COUNT; call++) {
		const struct pmh_row *row = &pmh_rows[call];

		if (strcmp(row->library, "cuda") != 0)
			continue;
		for (const uint16_t *number = row->callbacks; number && *number; number++)
			is_launch[*number] = true;
	}
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		is_launch[others[i]] = true;
}

/* Older versions of CUPTI do not know all numbers; without kernels' launches callbacks are of no use. */
static bool enable_callbacks(bool enable)
{
	const CUpti_CallbackId kernels = pmh_rows[PM_CALL_cuLaunchKernel].callbacks[0];
	bool is_launch[PM_CUPTI_CALLS], kernels_enabled = false;

	if (!pmh_cupti.cuptiEnableCallback)
		return false;
	find_launches(is_launch);
	for (CUpti_CallbackId n = 1; n < PM_CUPTI_CALLS; n++)
		if (is_launch[n] && pmh_cupti.cuptiEnableCallback(enable, pmh_cupti_subscriber,
					    CUPTI_CB_DOMAIN_DRIVER_API, n) == CUPTI_SUCCESS)
			kernels_enabled |= n == kernels;
	return kernels_enabled;
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
	find_launches(is_launch);
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
	const bool wanted = strcmp(pmh_settings.cupti_join, "callback") == 0;

	if (wanted && enable_callbacks(true)) {
		atomic_store(&by_callbacks, true);
		return true;
	}
	if (!enable_external())
		return false;
	if (wanted)
		pmh_note("device: CUPTI has no callbacks of launches: recording them");
	enable_launches();
	return true;
}

bool pmh_join_more(void)
{
	if (all_calls)
		return false;
	if (atomic_load(&by_callbacks)) {
		enable_callbacks(false);
		if (!enable_external())
			return false;
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
		enable_callbacks(false);
		return;
	}
	pmh_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	pmh_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
	pmh_cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}
