/* Samples of launches: see sample.h. */
#include "sample.h"

#include <string.h>

#include "guest/settings_hook.h"

#define FIRST (1 << 18) /* launches: five iterations of 50,000 */
#define LATER (1 << 16)
#define GROWN_BYTES (32ull << 20) /* of the trace: about where the first sample ends */

_Atomic bool pmh_sample_on;

static _Atomic int64_t left; /* launches, of the sample under way */
static bool again;           /* there is to be another one */
static uint64_t next_bytes;  /* of the trace */

void pmh_sample_begin(void)
{
	again = strcmp(pmh_settings.flow, "sample") == 0;
	next_bytes = GROWN_BYTES;
	atomic_store(&left, again ? FIRST : INT64_MAX);
	atomic_store(&pmh_sample_on, strcmp(pmh_settings.flow, "off") != 0);
}

bool pmh_sample_take(void)
{
	if (atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed) > 0)
		return true;
	atomic_store_explicit(&pmh_sample_on, false, memory_order_relaxed);
	return false;
}

void pmh_sample_end(void)
{
	again = false;
	atomic_store_explicit(&pmh_sample_on, false, memory_order_relaxed);
}

void pmh_sample_grown(uint64_t byte_count)
{
	if (byte_count < next_bytes)
		return;
	next_bytes = 2 * byte_count;
	if (!again || atomic_load_explicit(&pmh_sample_on, memory_order_relaxed))
		return;
	atomic_store_explicit(&left, LATER, memory_order_relaxed);
	atomic_store_explicit(&pmh_sample_on, true, memory_order_relaxed);
}
