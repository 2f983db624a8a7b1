/*
 * Process exit while workers run: the libraries below are torn down under them unless they stop in time.
 *
 * The one idea: let queued work finish, for a bounded time; what then still has work is frozen between two
 * closures, and the calls say so. A worker that only waits (for another process, or in the application's own
 * code) needs no freezing.
 */
#include "core.h"

#include <stdlib.h>

/* How long process exit lets queued work finish, and then what is in the middle of computing. */
#define EXIT_DRAIN_NS 500000000u
#define EXIT_FINISH_NS 2000000000u

static _Atomic int exiting;
static _Atomic uint32_t executed;

/*
 * Libraries below create static objects at their first use, and these are destroyed before handlers that were
 * registered earlier have run. So sg_streams_stop is registered again after the first, second, fourth ...
 * closure.
 */
void sg_exit_renew(void)
{
	uint32_t count = atomic_load_explicit(&executed, memory_order_relaxed);

	if (SG_LIKELY(count >= 1024))
		return;
	count = atomic_fetch_add_explicit(&executed, 1, memory_order_relaxed) + 1;
	if (count <= 1024 && (count & (count - 1)) == 0)
		atexit(sg_streams_stop);
}

/* How many streams have work left; *moving: how many of them are not just waiting for something else. */
static int count_unfinished(int *moving)
{
	uint32_t used = atomic_load(&sg_streams.used);
	int unfinished = 0;

	*moving = 0;
	for (uint32_t i = 0; i < used; i++) {
		struct sg_stream *stream = sg_pool_at(&sg_streams, i);

		if (sg_stream_done(stream, sg_stream_submitted(stream)))
			continue;
		unfinished++;
		*moving += stream != sg_self.worker && atomic_load(&stream->busy) != SG_WAITING;
	}
	return unfinished;
}

void sg_streams_stop(void)
{
	uint64_t begin_ns = sg_now_ns();
	uint32_t used = atomic_load(&sg_streams.used);
	int moving;

	if (atomic_load(&sg_attention) & (SG_FORKED | SG_EXITING))
		return;
	while (count_unfinished(&moving) != 0 && moving != 0 && sg_now_ns() - begin_ns < EXIT_DRAIN_NS)
		usleep(100);
	/* With nothing left, the application's own exit handlers may go on using the devices. */
	if (count_unfinished(&moving) == 0)
		return;
	atomic_store(&exiting, 1);
	atomic_fetch_or(&sg_attention, SG_EXITING);
	begin_ns = sg_now_ns();
	for (uint32_t i = 0; i < used; i++) {
		struct sg_stream *stream = sg_pool_at(&sg_streams, i);

		while (stream != sg_self.worker && atomic_load(&stream->busy) == SG_COMPUTING &&
			sg_now_ns() - begin_ns < EXIT_FINISH_NS)
			usleep(100);
	}
}

int sg_stopped(void)
{
	return atomic_load(&exiting);
}
