/*
 * Engines: a device computes one kernel at a time (a kernel fills it) and has one copy engine per direction.
 *
 * The one idea: times are given out when work is processed, which may be long before they come. Work that is
 * ready earlier than what was given out already gets the gap there is then; where it does not fit it begins
 * where another stream's kernel ends, as the device would take turns, and all that is given out later begins
 * so much later.
 */
#include "model.h"

#include <string.h>

/* Intervals remembered, at least half of it: more than some hosts can be ahead, of whom each has the launches
 * that timed.c lets it have. What is forgotten counts as free. */
#define LIMIT 8192

struct interval {
	uint64_t begin_ns, end_ns;
};

struct engine {
	pthread_mutex_t lock;
	uint32_t count;
	uint64_t free_ns;             /* nothing given out is later, and what took turns is paid for */
	struct interval taken[LIMIT]; /* in order, never overlapping */
};

static struct engine engines[SG_DEVICE_LIMIT][SG_ENGINES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_locks(void)
{
	for (int i = 0; i < SG_DEVICE_LIMIT; i++) {
		for (int k = 0; k < SG_ENGINES; k++)
			pthread_mutex_init(&engines[i][k].lock, NULL);
	}
}

static void insert(struct engine *engine, uint32_t at, uint64_t begin_ns, uint64_t end_ns)
{
	if (engine->count == LIMIT) {
		uint32_t kept = LIMIT / 2;

		if (at < LIMIT - kept)
			return;
		memmove(engine->taken, engine->taken + LIMIT - kept, kept * sizeof(engine->taken[0]));
		engine->count = kept;
		at -= LIMIT - kept;
	}
	memmove(engine->taken + at + 1, engine->taken + at, (engine->count - at) * sizeof(engine->taken[0]));
	engine->taken[at] = (struct interval){begin_ns, end_ns};
	engine->count++;
}

static uint64_t append(struct engine *engine, uint64_t begin_ns, uint64_t duration_ns)
{
	engine->free_ns = begin_ns + duration_ns;
	insert(engine, engine->count, begin_ns, engine->free_ns);
	return begin_ns;
}

/* The first interval that ends after a time. */
static uint32_t first_after(const struct engine *engine, uint64_t time_ns)
{
	uint32_t low = 0, high = engine->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (engine->taken[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static uint64_t take(struct engine *engine, uint64_t ready_ns, uint64_t duration_ns)
{
	uint64_t begin_ns = ready_ns;
	uint32_t next;

	if (ready_ns >= engine->free_ns)
		return append(engine, ready_ns, duration_ns);
	next = first_after(engine, ready_ns);
	if (next < engine->count && engine->taken[next].begin_ns <= ready_ns)
		begin_ns = engine->taken[next++].end_ns;
	if (next == engine->count)
		return append(engine, engine->free_ns, duration_ns);
	if (begin_ns + duration_ns <= engine->taken[next].begin_ns)
		insert(engine, next, begin_ns, begin_ns + duration_ns);
	else
		engine->free_ns += duration_ns;
	return begin_ns;
}

uint64_t sg_engine_take(int device, enum sg_engine number, uint64_t ready_ns, uint64_t duration_ns)
{
	struct engine *engine = &engines[device][number];
	uint64_t begin_ns;

	pthread_once(&once, make_locks);
	pthread_mutex_lock(&engine->lock);
	begin_ns = take(engine, ready_ns, duration_ns);
	pthread_mutex_unlock(&engine->lock);
	return begin_ns;
}
