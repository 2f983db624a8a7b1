/* Samples of launches: see sample.h. */
#include "sample.h"

#include <string.h>

#include "guest/settings_hook.h"

#define FIRST (1 << 18) /* launches: five iterations of 50,000 */
#define LATER (1 << 16)
#define GROWN_BYTES (32ull << 20) /* of the trace: about where the first sample ends */

#define SAMPLE 1u /* bits of pmh_sample_on: a sample is under way, a capture is */
#define CAPTURE 2u

_Atomic unsigned pmh_sample_on;

static _Atomic int64_t left;          /* launches, of the sample under way */
static _Atomic int64_t captured_left; /* during captures between samples, of the run */
static bool again;                    /* there is to be another one */
static uint64_t next_bytes;           /* of the trace */

void pmh_sample_begin(void)
{
	again = strcmp(pmh_settings.flow, "sample") == 0;
	next_bytes = GROWN_BYTES;
	atomic_store(&left, again ? FIRST : INT64_MAX);
	atomic_store(&captured_left, again ? FIRST : 0);
	atomic_store(&pmh_sample_on, strcmp(pmh_settings.flow, "off") != 0 ? SAMPLE : 0);
}

void pmh_sample_captures(bool under_way)
{
	if (under_way && atomic_load_explicit(&captured_left, memory_order_relaxed) > 0)
		atomic_fetch_or(&pmh_sample_on, CAPTURE);
	else
		atomic_fetch_and(&pmh_sample_on, ~CAPTURE);
}

bool pmh_sample_take(void)
{
	const unsigned on = atomic_load_explicit(&pmh_sample_on, memory_order_relaxed);

	if (on & SAMPLE) {
		if (atomic_fetch_sub_explicit(&left, 1, memory_order_relaxed) > 0)
			return true;
		atomic_fetch_and_explicit(&pmh_sample_on, ~SAMPLE, memory_order_relaxed);
	}
	if (!(on & CAPTURE))
		return false;
	if (atomic_fetch_sub_explicit(&captured_left, 1, memory_order_relaxed) > 0)
		return true;
	atomic_fetch_and_explicit(&pmh_sample_on, ~CAPTURE, memory_order_relaxed);
	return false;
}

void pmh_sample_end(void)
{
	again = false;
	atomic_store_explicit(&captured_left, 0, memory_order_relaxed);
	atomic_store_explicit(&pmh_sample_on, 0, memory_order_relaxed);
}

void pmh_sample_grown(uint64_t byte_count)
{
	if (byte_count < next_bytes)
		return;
	next_bytes = 2 * byte_count;
	if (!again || (atomic_load_explicit(&pmh_sample_on, memory_order_relaxed) & SAMPLE))
		return;
	atomic_store_explicit(&left, LATER, memory_order_relaxed);
	atomic_fetch_or_explicit(&pmh_sample_on, SAMPLE, memory_order_relaxed);
}
