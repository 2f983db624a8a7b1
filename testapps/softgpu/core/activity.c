/*
 * What a profiler sees of the work: each closure that stands for a kernel, a copy or a set, timed on its
 * worker.
 *
 * The one idea: a closure that is to be seen is queued inside another that takes the time before and after
 * it. While nobody watches, nothing is wrapped, and the price is one look at sg_watcher.
 */
#include "model.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The watcher's clock is looked at again now and then, and corrected if it is off by more than that. */
#define LOOK_AGAIN_NS 1000000000u
#define LOOK_ERROR_NS 2000
/* A clock whose rate is that near to ours counts nanoseconds. */
#define LOOK_RATE_ERROR 0.001
#define LOOK_FIRST_NS 5000000u

const struct sg_watcher *_Atomic sg_watcher;
static _Atomic int clock_is_new;

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

void sg_watch_clock(void)
{
	atomic_store(&clock_is_new, 1);
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
	if (!sg_self.call_told && sg_self.call_watcher == watcher && watcher->idle != NULL) {
		sg_self.call.end_ns = sg_self.call.begin_ns;
		watcher->idle(&sg_self.call);
	}
	sg_self.call_watcher = watcher;
	sg_self.call.name = name;
	sg_self.call.correlation = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
	sg_self.call.begin_ns = watcher->now_ns();
	sg_self.call_told = 0;
	if (watcher->enter != NULL)
		watcher->enter(&sg_self.call);
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

/* A moment on both clocks: ours in nanoseconds, the watcher's in whatever it counts. */
struct moment {
	uint64_t here, there;
};

/* One look at both is off by how long it takes, so the best of a few counts. */
static struct moment look_at_both(const struct sg_watcher *watcher)
{
	struct moment found = {0, 0};
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t before = sg_now_ns(), there = watcher->now_ns(), after = sg_now_ns();

		if (after - before >= best)
			continue;
		best = after - before;
		found = (struct moment){before + best / 2, there};
	}
	return found;
}

/* The watcher's clock as a straight line over ours. */
struct line {
	struct moment at;
	double rate; /* of its units in a nanosecond of ours; exactly 1 where it counts nanoseconds too */
};

static uint64_t follow(const struct line *line, uint64_t here)
{
	const int64_t ns = (int64_t)(here - line->at.here);

	if (line->rate == 1.0)
		return line->at.there + (uint64_t)ns;
	return line->at.there + (uint64_t)(int64_t)((double)ns * line->rate);
}

static double rate_between(const struct moment *a, const struct moment *b)
{
	const double rate = (double)(int64_t)(b->there - a->there) / (double)(int64_t)(b->here - a->here);

	return fabs(rate - 1.0) < LOOK_RATE_ERROR ? 1.0 : rate;
}

/* The first line needs two moments; a little later they lie far enough apart for the rate. */
static struct line first_line(const struct sg_watcher *watcher, struct moment *first)
{
	struct moment second;

	*first = look_at_both(watcher);
	do
		second = look_at_both(watcher);
	while (second.here - first->here < LOOK_FIRST_NS);
	return (struct line){second, rate_between(first, &second)};
}

/*
 * A time of ours on the watcher's clock. The line is looked at again now and then, and drawn anew only if the
 * clocks have really moved against each other.
 */
static uint64_t watcher_time(const struct sg_watcher *watcher, uint64_t here)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const struct sg_watcher *known;
	static struct moment first;
	static struct line line;
	static uint64_t looked_ns;
	const uint64_t now_ns = sg_now_ns();
	uint64_t there;

	pthread_mutex_lock(&lock);
	if (atomic_exchange(&clock_is_new, 0) || known != watcher) {
		line = first_line(watcher, &first);
		known = watcher;
		looked_ns = now_ns;
	} else if (now_ns - looked_ns > LOOK_AGAIN_NS) {
		struct moment moment = look_at_both(watcher);
		double error = (double)(int64_t)(follow(&line, moment.here) - moment.there) / line.rate;

		if (fabs(error) > LOOK_ERROR_NS)
			line = (struct line){moment, rate_between(&first, &moment)};
		looked_ns = now_ns;
	}
	there = follow(&line, here);
	pthread_mutex_unlock(&lock);
	return there;
}

void sg_activity_report(struct sg_activity *what, uint64_t begin_ns, uint64_t end_ns)
{
	const struct sg_watcher *watcher = atomic_load_explicit(&sg_watcher, memory_order_acquire);

	if (watcher == NULL)
		return;
	what->begin_ns = watcher_time(watcher, begin_ns);
	what->end_ns = watcher_time(watcher, end_ns);
	watcher->activity(what);
}
