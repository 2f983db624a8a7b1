/*
 * Where spans and launches lie: one sweep over the spans in order of begin, with the innermost open one of
 * each thread. What a span inherits from what encloses it is known when it is reached.
 */
#include "imported_place.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_PATH 4000

/* Closes what of a thread does not reach around the stretch. Times of some traces are whole microseconds:
 * what is in a span may begin when it ends, and end a little after it. */
static uint32_t innermost(
	const struct imported_places *places, uint32_t open, int64_t begin_ns, int64_t end_ns)
{
	const struct imported_spans *spans = &places->imported->spans;

	while (open != IMPORTED_NONE && spans->end_ns[open] <= begin_ns && spans->end_ns[open] < end_ns)
		open = places->places[open].parent;
	return open;
}

/* "ResNet_0.Sequential_1.Conv2d_3" of a module's span; 0: of none. Outer ones are known when inner ones come.
 */
static uint32_t path_of(struct imported_places *places, uint32_t span)
{
	struct imported *imported = places->imported;
	const struct imported_place *place = &places->places[span];
	const uint32_t outer =
		place->parent == IMPORTED_NONE ? IMPORTED_NONE : places->places[place->parent].module;
	const uint32_t prefix = outer == IMPORTED_NONE ? 0 : places->paths[outer];
	const char *name = imported->strings.items[imported->spans.name[span]];

	if (strncmp(name, "nn.Module:", 10) == 0)
		name += 10 + strspn(name + 10, " ");
	/* However deep they are nested. */
	if (prefix && strlen(imported->strings.items[prefix]) < LONGEST_PATH)
		name = arena_format(&imported->strings.arena, "%s.%s", imported->strings.items[prefix], name);
	return intern_text(&imported->strings, name, strlen(name));
}

/* What a span inherits from the one around it. */
static void place_span(struct imported_places *places, uint32_t span, uint32_t parent)
{
	static const struct imported_place outside = {.top = IMPORTED_NONE,
		.anchor = IMPORTED_NONE,
		.back = IMPORTED_NONE,
		.module = IMPORTED_NONE,
		.label = IMPORTED_NONE};
	struct imported_place *place = &places->places[span];

	*place = parent == IMPORTED_NONE ? outside : places->places[parent];
	place->parent = parent;
	place->flags = 0;
	if (places->imported->spans.kind[span] != IMPORTED_MODULE)
		return;
	places->paths[span] = path_of(places, span);
	place->module = span;
}

static uint8_t flags_of(const struct imported_places *places, uint32_t span)
{
	switch (framework_word_in(places->framework, places->ranges.of_span[span]).place) {
	case FRAMEWORK_BACKWARD:
		return IMPORTED_PLACE_BACKWARD;
	case FRAMEWORK_AGAIN:
		return IMPORTED_PLACE_BACKWARD | IMPORTED_PLACE_AGAIN;
	default:
		return 0;
	}
}

static void place_operator(struct imported_places *places, uint32_t span)
{
	const struct imported_keyword *word = imported_place_word(places, span);
	struct imported_place *place = &places->places[span];

	if (place->top == IMPORTED_NONE)
		place->top = span;
	if (word->flags & IMPORTED_KEYWORD_BACKWARD) {
		place->flags = IMPORTED_PLACE_BACKWARD;
		place->anchor = IMPORTED_NONE;
		if (places->imported->spans.sequence[span] >= 0)
			place->back = span;
		else if (word->flags & IMPORTED_KEYWORD_ADDS_UP)
			place->back = IMPORTED_NONE;
	} else if (word->kind && place->anchor == IMPORTED_NONE &&
		   (!(place->flags & IMPORTED_PLACE_BACKWARD) || (place->flags & IMPORTED_PLACE_AGAIN))) {
		place->anchor = span;
	}
}

/* What a span is by its own name and by what the framework says of it. */
static void understand_span(struct imported_places *places, uint32_t span)
{
	struct imported_place *place = &places->places[span];
	const struct imported_place *outer =
		place->parent == IMPORTED_NONE ? NULL : &places->places[place->parent];

	if (outer) {
		place->top = outer->top;
		place->anchor = outer->anchor;
		place->back = outer->back;
		place->label = outer->label;
		place->flags |= outer->flags & (IMPORTED_PLACE_BACKWARD | IMPORTED_PLACE_AGAIN);
	}
	if (!imported_place_speaks(places, span))
		return;
	if (imported_place_word(places, span)->label) {
		place->label = span;
	} else if (imported_place_operates(places, span)) {
		place->flags |= places->framework ? flags_of(places, span) : 0;
		place_operator(places, span);
	}
}

uint32_t imported_place_origin(const struct imported_places *places, uint32_t span)
{
	const uint32_t range = places->ranges.of_span[span];
	const struct framework_word word = framework_word_in(places->framework, range);

	return word.place == FRAMEWORK_BACKWARD && word.origin != TIMELINE_NO_RANGE
		       ? places->ranges.spans[word.origin]
		       : IMPORTED_NONE;
}

static void find_ranges(struct imported_places *places)
{
	const size_t count = places->imported->spans.count;
	uint32_t *parents = mem_alloc(count, sizeof(*parents)), *modules = mem_alloc(count, sizeof(*modules));

	for (size_t i = 0; i < count; i++) {
		parents[i] = places->places[i].parent;
		modules[i] = places->places[i].module == IMPORTED_NONE
				     ? 0
				     : places->paths[places->places[i].module];
	}
	imported_ranges_find(&places->ranges, places->imported, parents, modules);
	places->framework = framework_read(&places->ranges.timeline, &places->ranges.process);
	free(parents);
	free(modules);
}

static int compare_launches(const void *a, const void *b)
{
	const struct imported_launch *one = a, *other = b;

	if (one->begin_ns != other->begin_ns)
		return one->begin_ns < other->begin_ns ? -1 : 1;
	return one->event < other->event ? -1 : one->event > other->event;
}

/*
 * The spans of operators by their own numbers: one that several have is nobody's.
 */
struct externals {
	struct lookup lookup;
	bool *shared; /* by span */
};

static uint32_t span_of(
	const struct imported_spans *spans, const struct externals *externals, uint64_t external, size_t *at)
{
	uint32_t span;

	do
		span = lookup_next(&externals->lookup, mem_hash(0, external), at);
	while (span != LOOKUP_NONE && spans->external[span] != external);
	return span;
}

static void find_externals(const struct imported_spans *spans, struct externals *externals)
{
	externals->shared = mem_alloc(spans->count, sizeof(*externals->shared));
	for (uint32_t i = 0; i < spans->count; i++) {
		uint32_t other;

		if (!spans->external[i])
			continue;
		other = span_of(spans, externals, spans->external[i], &(size_t){0});
		if (other == LOOKUP_NONE)
			lookup_add(&externals->lookup, mem_hash(0, spans->external[i]), i);
		else
			externals->shared[other] = true;
	}
}

static uint32_t external_span(
	const struct imported_spans *spans, const struct externals *externals, uint64_t external)
{
	uint32_t span = external ? span_of(spans, externals, external, &(size_t){0}) : LOOKUP_NONE;

	return span == LOOKUP_NONE || externals->shared[span] ? IMPORTED_NONE : span;
}

/* By the call; where that is not in the file by the operator that the event names, begun when that did. */
static void find_launches(struct imported_places *places)
{
	const struct imported_events *events = &places->imported->events;
	const struct imported_calls *calls = &places->imported->calls;
	const struct imported_spans *spans = &places->imported->spans;
	struct externals externals = {0};

	find_externals(spans, &externals);
	places->launches = mem_alloc(events->count, sizeof(*places->launches));
	for (uint32_t i = 0; i < events->count; i++) {
		struct imported_launch *launch = &places->launches[places->launch_count];

		if (places->imported->queues[events->queue[i]].worker != places->worker)
			continue;
		places->launch_count++;
		*launch = (struct imported_launch){
			i, IMPORTED_NONE, IMPORTED_NONE, events->begin_ns[i], events->begin_ns[i]};
		if (events->call[i] != IMPORTED_NONE) {
			launch->thread = calls->thread[events->call[i]];
			launch->begin_ns = calls->begin_ns[events->call[i]];
			launch->end_ns = calls->end_ns[events->call[i]];
		} else if (events->external[i] != events->correlation[i]) {
			/* Some versions write the correlation into both. */
			launch->span = external_span(spans, &externals, events->external[i]);
		}
		if (launch->span != IMPORTED_NONE) {
			launch->thread = spans->thread[launch->span];
			launch->begin_ns = launch->end_ns = spans->begin_ns[launch->span];
		}
	}
	lookup_free(&externals.lookup);
	free(externals.shared);
	qsort(places->launches, places->launch_count, sizeof(*places->launches), compare_launches);
}

static void mark_busy(struct imported_places *places, uint32_t span)
{
	while (span != IMPORTED_NONE && !(places->places[span].flags & IMPORTED_PLACE_BUSY)) {
		places->places[span].flags |= IMPORTED_PLACE_BUSY;
		span = places->places[span].parent;
	}
}

/* Spans and launches in one order of time. */
static void sweep(struct imported_places *places)
{
	const struct imported *imported = places->imported;
	const struct imported_spans *spans = &imported->spans;
	uint32_t *open = mem_alloc(imported->thread_count, sizeof(*open));
	size_t next = 0;

	for (size_t i = 0; i < imported->thread_count; i++)
		open[i] = IMPORTED_NONE;
	for (uint32_t i = 0; i <= spans->count; i++) {
		uint32_t thread;

		for (; next < places->launch_count; next++) {
			struct imported_launch *launch = &places->launches[next];

			if (i < spans->count && launch->begin_ns >= spans->begin_ns[i])
				break;
			if (launch->thread == IMPORTED_NONE)
				continue;
			if (launch->span == IMPORTED_NONE)
				launch->span = open[launch->thread] = innermost(
					places, open[launch->thread], launch->begin_ns, launch->end_ns);
			mark_busy(places, launch->span);
		}
		if (i == spans->count)
			break;
		thread = spans->thread[i];
		place_span(places, i, innermost(places, open[thread], spans->begin_ns[i], spans->end_ns[i]));
		open[thread] = i;
	}
	free(open);
}

/* Threads whose outermost operators are of the backward pass, and none a layer: all they do is of it. */
static void find_engines(struct imported_places *places)
{
	const struct imported_spans *spans = &places->imported->spans;
	bool *layers = mem_alloc(places->imported->thread_count, sizeof(*layers));

	for (uint32_t i = 0; i < spans->count; i++) {
		if (places->places[i].top != i)
			continue;
		if (places->places[i].flags & IMPORTED_PLACE_BACKWARD)
			places->engine[spans->thread[i]] = true;
		else if (places->places[i].anchor == i)
			layers[spans->thread[i]] = true;
	}
	for (size_t i = 0; i < places->imported->thread_count; i++)
		places->engine[i] &= !layers[i];
	for (uint32_t i = 0; i < spans->count; i++)
		if (places->engine[spans->thread[i]])
			places->places[i].flags |= IMPORTED_PLACE_BACKWARD;
	free(layers);
}

void imported_places_init(struct imported_places *places, struct imported *imported, uint32_t worker)
{
	*places = (struct imported_places){.imported = imported, .worker = worker};
	places->words = mem_alloc(imported->strings.count, sizeof(*places->words));
	places->places = mem_alloc(imported->spans.count, sizeof(*places->places));
	places->engine = mem_alloc(imported->thread_count, sizeof(*places->engine));
	places->layers = mem_alloc(imported->spans.count, sizeof(*places->layers));
	places->paths = mem_alloc(imported->spans.count, sizeof(*places->paths));
	for (size_t i = 0; i < imported->spans.count; i++) {
		struct imported_keyword *word = &places->words[imported->spans.name[i]];

		/* A name that says nothing is asked again; those are short. */
		if (!word->flags && !word->label)
			*word = imported_keyword_of(imported->strings.items[imported->spans.name[i]]);
	}
	find_launches(places);
	sweep(places);
	find_ranges(places);
	for (uint32_t i = 0; i < imported->spans.count; i++)
		understand_span(places, i);
	find_engines(places);
}

void imported_places_free(struct imported_places *places)
{
	free(places->words);
	free(places->places);
	free(places->launches);
	free(places->engine);
	free(places->layers);
	free(places->paths);
	framework_free(places->framework);
	imported_ranges_free(&places->ranges);
	memset(places, 0, sizeof(*places));
}
