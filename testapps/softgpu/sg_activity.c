/*
 * What a profiler sees of the work: each closure that stands for a kernel, a copy or a set, timed on its
 * worker.
 *
 * The one idea: a closure that is to be seen is queued inside another that takes the time before and after
 * it. While nobody watches, nothing is wrapped, and the price is one look at sg_watcher.
 */
#include "sg_rt.h"

#include <stdlib.h>
#include <string.h>

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

	if (SG_LIKELY(watcher == NULL))
		return;
	sg_self.call.name = name;
	sg_self.call.correlation = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	sg_self.call.begin_ns = watcher->now_ns();
	sg_self.call_told = 0;
}

struct sg_watched *sg_watched_new(const struct sg_activity *what, struct sg_stream *stream, sg_work *fn,
	const void *arg, size_t size, size_t *watched_size)
{
	const struct sg_watcher *watcher = atomic_load_explicit(&sg_watcher, memory_order_acquire);
	struct sg_watched *watched = malloc(sizeof(*watched) + size);

	if (watched == NULL)
		return NULL;
	memset(watched, 0, sizeof(*watched));
	if (watcher != NULL && !sg_self.call_told && sg_self.call.name != NULL) {
		sg_self.call.end_ns = watcher->now_ns();
		watcher->call(&sg_self.call);
		sg_self.call_told = 1;
	}
	watched->what = *what;
	watched->what.device = stream->device;
	watched->what.stream = stream->number;
	watched->what.call = sg_self.call.name;
	watched->what.correlation = sg_self.call.correlation;
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
