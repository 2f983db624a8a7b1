/* Samples of calls: see sample.h. */
#include "sample.h"

#include <string.h>

#include "guest/settings_hook.h"

#define FIRST (1 << 18) /* calls: five iterations of 50,000 */
#define LATER (1 << 16)
#define SETTLED (1 << 13)         /* calls, and twice those before: the loop has run several times */
#define GROWN_BYTES (32ull << 20) /* of the trace: about where the first sample ends */

#define SAMPLE 1u /* bits of pmh_sample_on: a sample is under way, a capture is */
#define CAPTURE 2u

_Atomic unsigned pmh_sample_on;
_Atomic bool pmh_sample_kernels;

static _Atomic int64_t taken, most;   /* calls, of the sample under way */
static _Atomic int64_t captured_left; /* during captures between samples, of the run */
static bool again;                    /* there is to be another one */
static _Atomic bool is_paused;        /* nothing is recorded for now */
static uint64_t next_bytes;           /* of the trace */

static void start(int64_t calls)
{
	if (atomic_load(&is_paused))
		return;
	atomic_store(&taken, 0);
	atomic_store(&most, calls);
	atomic_fetch_or(&pmh_sample_on, SAMPLE);
}

void pmh_sample_begin(void)
{
	const bool all = strcmp(pmh_settings.flow, "all") == 0;

	again = !all;
	next_bytes = GROWN_BYTES;
	atomic_store(&pmh_sample_kernels, strcmp(pmh_settings.flow, "off") != 0);
	atomic_store(&captured_left, all ? 0 : FIRST);
	atomic_store(&pmh_sample_on, 0);
	atomic_store(&is_paused, strcmp(pmh_settings.window, "all") != 0);
	start(all ? INT64_MAX : SETTLED);
}

void pmh_sample_window(bool open)
{
	atomic_store(&is_paused, !open);
	if (open)
		start(again ? LATER : INT64_MAX);
	else
		atomic_fetch_and(&pmh_sample_on, ~SAMPLE);
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
		if (atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed) <
			atomic_load_explicit(&most, memory_order_relaxed))
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

void pmh_sample_new(void)
{
	int64_t wanted = 3 * atomic_load(&taken) + SETTLED;

	if (!again)
		return;
	if (!(atomic_load(&pmh_sample_on) & SAMPLE)) {
		start(SETTLED);
		return;
	}
	if (wanted > FIRST)
		wanted = FIRST;
	if (wanted > atomic_load(&most))
		atomic_store(&most, wanted);
}

void pmh_sample_end_kernels(void)
{
	atomic_store(&pmh_sample_kernels, false);
}

void pmh_sample_grown(uint64_t byte_count)
{
	if (byte_count < next_bytes)
		return;
	next_bytes = 2 * byte_count;
	if (again && !(atomic_load_explicit(&pmh_sample_on, memory_order_relaxed) & SAMPLE))
		start(LATER);
}
