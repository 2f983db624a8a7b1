/* Where the program was while a device was idle: see host_place.h. One sweep over each thread's frames, which
 * lie one in another, and its parts of idle time, both in order of time. */
#include "host_place.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

static void credit(struct host_places *places, uint32_t item, const char *name, size_t length, double idle_ns)
{
	uint64_t hash = mem_hash(MEM_HASH_START, item);
	size_t at = 0;
	uint32_t i;

	for (size_t c = 0; c < length; c++)
		hash = mem_hash(hash, (unsigned char)name[c]);
	while ((i = lookup_next(&places->lookup, hash, &at)) != LOOKUP_NONE)
		if (places->items[i].item == item && places->items[i].length == length &&
			memcmp(places->items[i].name, name, length) == 0)
			break;
	if (i == LOOKUP_NONE) {
		i = (uint32_t)places->count;
		*MEM_PUSH(places->items, places->count, places->room) =
			(struct host_place){.item = item, .name = name, .length = length};
		lookup_add(&places->lookup, hash, i);
	}
	places->items[i].idle_ns += idle_ns;
}

/* The place of all calls of the operation; NULL: they may have several. */
static const char *place_of(const struct timeline *timeline, uint32_t number, size_t *length)
{
	const struct timeline_operation *operation = &timeline->operations[number];
	const char *end;

	operation = operation->base ? &timeline->operations[operation->base] : operation;
	if (operation->python == TRACE_PYTHON_OWN && operation->innermost) {
		*length = strlen(operation->innermost);
		return operation->innermost;
	}
	if (timeline->functions[operation->function].kind != PM_KIND_SYNC || !operation->site ||
		!*operation->site || strstr(operation->site, ".py:"))
		return NULL;
	end = strstr(operation->site, " < ");
	*length = end ? (size_t)(end - operation->site) : strlen(operation->site);
	return operation->site;
}

void host_places_add(struct host_places *places, const struct timeline *timeline,
	const struct timeline_process *process, const struct host_part *part, uint32_t operation)
{
	size_t length;
	const char *name;

	if (process->frame_count) {
		*MEM_PUSH(places->parts, places->part_count, places->part_room) = *part;
		return;
	}
	name = operation ? place_of(timeline, operation, &length) : NULL;
	if (name)
		credit(places, part->item, name, length, (double)(part->end_ns - part->begin_ns));
}

/* ---- By frames ---- */

struct sweep {
	struct host_places *places;
	const struct timeline *timeline;
	const struct timeline_frame **frames; /* by thread, then time */
	size_t frame_count, next;
	const struct timeline_frame **open;
	size_t open_count, open_room;
};

static int compare_frames(const void *left, const void *right)
{
	const struct timeline_frame *const *a = left, *const *b = right;

	if ((*a)->thread != (*b)->thread)
		return (*a)->thread < (*b)->thread ? -1 : 1;
	if ((*a)->begin_ns != (*b)->begin_ns)
		return (*a)->begin_ns < (*b)->begin_ns ? -1 : 1;
	if ((*a)->end_ns != (*b)->end_ns) /* the outer one first */
		return (*a)->end_ns > (*b)->end_ns ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

static int compare_parts(const void *left, const void *right)
{
	const struct host_part *a = left, *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

/* Opens the thread's frames that begin by `at_ns`, and closes those that ended; answers when the next begins.
 */
static int64_t move_to(struct sweep *sweep, uint16_t thread, int64_t at_ns)
{
	while (sweep->next < sweep->frame_count && sweep->frames[sweep->next]->thread < thread)
		sweep->next++;
	while (sweep->open_count && sweep->open[0]->thread != thread)
		sweep->open_count = 0;
	for (; sweep->next < sweep->frame_count && sweep->frames[sweep->next]->thread == thread &&
		sweep->frames[sweep->next]->begin_ns <= at_ns;
		sweep->next++) {
		while (sweep->open_count &&
			sweep->open[sweep->open_count - 1]->end_ns <= sweep->frames[sweep->next]->begin_ns)
			sweep->open_count--;
		*MEM_PUSH(sweep->open, sweep->open_count, sweep->open_room) = sweep->frames[sweep->next];
	}
	while (sweep->open_count && sweep->open[sweep->open_count - 1]->end_ns <= at_ns)
		sweep->open_count--;
	return sweep->next < sweep->frame_count && sweep->frames[sweep->next]->thread == thread
		       ? sweep->frames[sweep->next]->begin_ns
		       : INT64_MAX;
}

static void take_part(struct sweep *sweep, const struct host_part *part)
{
	for (int64_t at_ns = part->begin_ns, until_ns; at_ns < part->end_ns; at_ns = until_ns) {
		int64_t next_ns = move_to(sweep, part->thread, at_ns);
		const struct timeline_frame *inner =
			sweep->open_count ? sweep->open[sweep->open_count - 1] : NULL;
		const char *name = inner ? sweep->timeline->strings[inner->name] : NULL;

		until_ns = part->end_ns < next_ns ? part->end_ns : next_ns;
		if (inner && inner->end_ns < until_ns)
			until_ns = inner->end_ns;
		if (name)
			credit(sweep->places, part->item, name, strlen(name), (double)(until_ns - at_ns));
	}
}

void host_places_settle(
	struct host_places *places, const struct timeline *timeline, const struct timeline_process *process)
{
	struct sweep sweep = {.places = places, .timeline = timeline, .frame_count = process->frame_count};

	if (places->part_count == 0)
		return;
	sweep.frames = mem_alloc(sweep.frame_count, sizeof(*sweep.frames));
	for (size_t i = 0; i < sweep.frame_count; i++)
		sweep.frames[i] = &timeline->frames[process->first_frame + i];
	qsort(sweep.frames, sweep.frame_count, sizeof(*sweep.frames), compare_frames);
	qsort(places->parts, places->part_count, sizeof(*places->parts), compare_parts);
	for (size_t i = 0; i < places->part_count; i++)
		take_part(&sweep, &places->parts[i]);
	free(sweep.frames);
	free(sweep.open);
}

const struct host_place *host_places_most(const struct host_places *places, uint32_t item)
{
	const struct host_place *most = NULL;

	for (size_t i = 0; i < places->count; i++)
		if (places->items[i].item == item && (!most || places->items[i].idle_ns > most->idle_ns))
			most = &places->items[i];
	return most;
}

void host_places_free(struct host_places *places)
{
	free(places->parts);
	free(places->items);
	lookup_free(&places->lookup);
	memset(places, 0, sizeof(*places));
}
