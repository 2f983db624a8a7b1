/*
 * What a profiler sees of the work: each closure that stands for a kernel, a copy or a set, timed on its
 * worker.
 *
 * The one idea: a closure that is to be seen is queued inside another that takes the time before and after
 * it. While nobody watches, nothing is wrapped, and the price is one look at sg_watcher.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* The watcher's clock is looked at again now and then, and corrected if it is off by more than that. */
#define LOOK_AGAIN_NS 1000000000u
#define LOOK_ERROR_NS 2000u

const struct sg_watcher *_Atomic sg_watcher;

struct sg_watched {
	struct sg_activity what;
	sg_work *fn;
	size_t size;
	_Alignas(16) char arg[];
};

void sg_watch(const struct sg_watcher *watcher)
{
	atomic_store(&sg_watcher, watcher);
	if (watcher != NULL)
		atomic_fetch_or(&sg_attention, SG_WATCHED);
	else
		atomic_fetch_and(&sg_attention, ~(unsigned)SG_WATCHED);
}

void sg_call_begin(const char *name)
{
	static _Atomic uint32_t last;
	const struct sg_watcher *watcher = atomic_load_explicit(&sg_watcher, memory_order_acquire);

	if (SG_LIKELY(watcher == NULL)) {
		if (sg_named)
			sg_self.call.name = name;
		return;
	}
	sg_self.call.name = name;
	sg_self.call.correlation = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	sg_self.call.begin_ns = watcher->now_ns();
	sg_self.call_told = 0;
}

void sg_activity_call(struct sg_activity *what)
{
	const struct sg_watcher *watcher = atomic_load_explicit(&sg_watcher, memory_order_acquire);

	if (watcher != NULL && !sg_self.call_told && sg_self.call.name != NULL) {
		sg_self.call.end_ns = watcher->now_ns();
		watcher->call(&sg_self.call);
		sg_self.call_told = 1;
	}
	what->call = sg_self.call.name;
	what->correlation = sg_self.call.correlation;
}

struct sg_watched *sg_watched_new(const struct sg_activity *what, struct sg_stream *stream, sg_work *fn,
	const void *arg, size_t size, size_t *watched_size)
{
	struct sg_watched *watched = malloc(sizeof(*watched) + size);

	if (watched == NULL)
		return NULL;
	memset(watched, 0, sizeof(*watched));
	watched->what = *what;
	watched->what.device = stream->device;
	watched->what.stream = stream->number;
	sg_activity_call(&watched->what);
	watched->fn = fn;
	watched->size = size;
	if (size > 0)
		memcpy(watched->arg, arg, size);
	*watched_size = sizeof(*watched) + size;
	return watched;
}

void sg_watched_work(void *arg)
{
	struct sg_watched *watched = arg;
	const struct sg_watcher *watcher = atomic_load_explicit(&sg_watcher, memory_order_acquire);

	if (watcher != NULL)
		watched->what.begin_ns = watcher->now_ns();
	watched->fn(watched->size > 0 ? watched->arg : NULL);
	if (watcher == NULL)
		return;
	watched->what.end_ns = watcher->now_ns();
	watcher->activity(&watched->what);
}

/*
 * How far the watcher's clock is ahead of ours. One look at both is off by how long it takes, so the best of
 * a few counts, and a later one only if the clocks have really moved against each other.
 */
static uint64_t watcher_ahead(const struct sg_watcher *watcher)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const struct sg_watcher *known;
	static uint64_t ahead, looked_ns;
	uint64_t now_ns = sg_now_ns(), best = UINT64_MAX, found = 0, result;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < 16 && (known != watcher || now_ns - looked_ns > LOOK_AGAIN_NS); i++) {
		uint64_t before = sg_now_ns(), there = watcher->now_ns(), after = sg_now_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		found = there - (before + best / 2);
	}
	if (best != UINT64_MAX) {
		if (known != watcher || found - ahead + LOOK_ERROR_NS > 2 * LOOK_ERROR_NS)
			ahead = found;
		known = watcher;
		looked_ns = now_ns;
	}
	result = ahead;
	pthread_mutex_unlock(&lock);
	return result;
}

void sg_activity_tell(struct sg_activity *what, uint64_t begin_ns, uint64_t end_ns)
{
	const struct sg_watcher *watcher = atomic_load_explicit(&sg_watcher, memory_order_acquire);
	uint64_t ahead;

	if (watcher == NULL)
		return;
	ahead = watcher_ahead(watcher);
	what->begin_ns = begin_ns + ahead;
	what->end_ns = end_ns + ahead;
	watcher->activity(what);
}
