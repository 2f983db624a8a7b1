/* Spans as ranges: see imported_range.h. */
#include "imported_range.h"
#include "imported_keyword.h"

#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 65535u /* further ones have no ranges */

/* How often a thread's operators have numbers of nodes that name the same forward thread. */
struct vote {
	int64_t forward;
	uint32_t thread, count;
};

struct filler {
	struct imported_ranges *ranges;
	struct imported *imported;
	const uint32_t *parents, *modules;
	uint8_t *scopes; /* by span; 0: it is no range */
	bool *numbered;  /* by span: it is an operator or a node with a number */
	bool *nested;    /* by span: it is an operator in a node, or a node in one */
	uint32_t *next;  /* by thread: number of its next range */
	struct lookup names;
	size_t name_count, name_room;
	struct vote *votes;
	size_t vote_count, vote_room;
};

static bool is_engine(const char *name)
{
	return strncmp(name, "autograd::engine::", 18) == 0;
}

static bool is_node(const char *name)
{
	return !is_engine(name) && strncmp(name, "aten::", 6) != 0 &&
	       (imported_keyword_of(name).flags & IMPORTED_KEYWORD_BACKWARD);
}

/* What it is, and whether its number is of use: that of the engine's own range is its node's. */
#define NUMBERED 128
static uint8_t operator_scope(const char *name)
{
	return is_node(name)     ? PM_RANGE_NODE | NUMBERED
	       : is_engine(name) ? PM_RANGE_OPERATOR
				 : PM_RANGE_OPERATOR | NUMBERED;
}

/* Names repeat: each operator's is looked at once. */
static void find_scopes(struct filler *filler)
{
	const struct imported *imported = filler->imported;
	uint8_t *known = mem_alloc(imported->strings.count, sizeof(*known));

	filler->scopes = mem_alloc(imported->spans.count, sizeof(*filler->scopes));
	filler->numbered = mem_alloc(imported->spans.count, sizeof(*filler->numbered));
	filler->nested = mem_alloc(imported->spans.count, sizeof(*filler->nested));
	for (uint32_t i = 0; i < imported->spans.count; i++) {
		uint8_t *scope = &known[imported->spans.name[i]];

		if (imported->spans.thread[i] >= MOST_THREADS)
			continue;
		if (imported->spans.kind[i] == IMPORTED_ANNOTATION)
			filler->scopes[i] = imported->format == IMPORTED_NSYS ? PM_RANGE_NVTX : PM_RANGE_USER;
		if (imported->spans.kind[i] != IMPORTED_OPERATOR)
			continue;
		if (!*scope)
			*scope = operator_scope(imported->strings.items[imported->spans.name[i]]);
		filler->scopes[i] = *scope & (uint8_t)~NUMBERED;
		filler->numbered[i] = (*scope & NUMBERED) && imported->spans.sequence[i] >= 0 &&
				      imported->spans.sequence[i] < PM_RANGE_NO_SEQUENCE;
		filler->nested[i] = filler->parents[i] != IMPORTED_NONE &&
				    (filler->nested[filler->parents[i]] ||
					    filler->scopes[filler->parents[i]] == PM_RANGE_NODE);
	}
	free(known);
}

/* ---- which thread a node's forward thread is ---- */

/* Where the profiler does not say which: what is in another node has been done again, by a thread of its own.
 */
#define NESTED (-1)
static int64_t forward_of(const struct filler *filler, uint32_t span)
{
	const int64_t forward = filler->imported->spans.forward[span];

	return forward ? forward : filler->nested[span] ? NESTED : 0;
}

static void add_vote(struct filler *filler, int64_t forward, uint32_t thread)
{
	struct vote *vote = filler->votes;

	while (vote < filler->votes + filler->vote_count &&
		(vote->forward != forward || vote->thread != thread))
		vote++;
	if (vote == filler->votes + filler->vote_count) {
		vote = MEM_PUSH(filler->votes, filler->vote_count, filler->vote_room);
		*vote = (struct vote){.forward = forward, .thread = thread};
	}
	vote->count++;
}

/* The framework numbers threads in its own way: a node's is the one whose operators have had such numbers. */
static void find_votes(struct filler *filler)
{
	const struct imported_spans *spans = &filler->imported->spans;
	struct lookup last = {0}; /* by number: the last operator that had it */

	for (uint32_t i = 0; i < spans->count; i++) {
		const uint64_t hash = mem_hash(MEM_HASH_START, (uint64_t)spans->sequence[i]);
		size_t at = 0;
		uint32_t other;

		if (!filler->numbered[i])
			continue;
		do
			other = lookup_next(&last, hash, &at);
		while (other != LOOKUP_NONE && spans->sequence[other] != spans->sequence[i]);
		if (filler->scopes[i] == PM_RANGE_NODE) {
			if (other != LOOKUP_NONE)
				add_vote(filler, forward_of(filler, i), spans->thread[other]);
		} else if (other == LOOKUP_NONE) {
			lookup_add(&last, hash, i);
		} else {
			lookup_replace(&last, at, i);
		}
	}
	lookup_free(&last);
}

static uint16_t forward_thread(const struct filler *filler, uint32_t span)
{
	const struct vote *best = NULL;

	for (const struct vote *vote = filler->votes; vote < filler->votes + filler->vote_count; vote++)
		if (vote->forward == forward_of(filler, span) && (!best || vote->count > best->count))
			best = vote;
	return (uint16_t)(best ? best->thread : MOST_THREADS);
}

/* ---- the ranges ---- */

/* A counter at the end of a label is cut off, as the hook does it: "ProfilerStep#12" is "ProfilerStep#". */
static uint32_t plain_name(struct filler *filler, uint32_t span)
{
	const uint32_t name = filler->imported->spans.name[span];
	const char *text = filler->imported->strings.items[name];
	size_t length = strlen(text);

	while (length > 0 && text[length - 1] >= '0' && text[length - 1] <= '9')
		length--;
	if (filler->imported->spans.kind[span] != IMPORTED_ANNOTATION || !text[length] || length == 0 ||
		!strchr("# =", text[length - 1]))
		return name;
	text = arena_format(&filler->imported->strings.arena, "%.*s%s", (int)length, text,
		text[length - 1] == '#' ? "" : "#");
	return intern_text(&filler->imported->strings, text, strlen(text));
}

static uint32_t name_of(struct filler *filler, uint32_t span)
{
	struct timeline *timeline = &filler->ranges->timeline;
	const struct imported *imported = filler->imported;
	const struct imported_range_name wanted = {
		plain_name(filler, span), filler->modules[span], (enum pm_range_scope)filler->scopes[span]};
	const uint64_t hash =
		mem_hash(mem_hash(MEM_HASH_START, (uint64_t)wanted.name << 32 | wanted.module), wanted.scope);
	uint32_t i;

	for (size_t at = 0; (i = lookup_next(&filler->names, hash, &at)) != LOOKUP_NONE;)
		if (memcmp(&filler->ranges->names[i], &wanted, sizeof(wanted)) == 0)
			return i;
	i = (uint32_t)timeline->range_name_count;
	*MEM_PUSH(timeline->range_names, timeline->range_name_count, timeline->range_name_room) =
		(struct timeline_range_name){.scope = wanted.scope,
			.name = imported->strings.items[wanted.name],
			.module = wanted.module ? imported->strings.items[wanted.module] : NULL};
	*MEM_PUSH(filler->ranges->names, filler->name_count, filler->name_room) = wanted;
	lookup_add(&filler->names, hash, i);
	return i;
}

static void add_range(struct filler *filler, uint32_t span, uint32_t parent)
{
	struct imported_ranges *ranges = filler->ranges;
	const struct imported_spans *spans = &filler->imported->spans;
	const uint32_t number = filler->next[spans->thread[span]]++;

	ranges->of_span[span] = number;
	ranges->spans[number] = span;
	ranges->timeline.ranges[number] = (struct timeline_range){.begin_ns = spans->begin_ns[span],
		.end_ns = spans->end_ns[span],
		.name = name_of(filler, span),
		.parent = parent,
		.inputs = spans->inputs[span],
		.sequence = filler->numbered[span] ? (uint32_t)spans->sequence[span] : PM_RANGE_NO_SEQUENCE,
		.framework_thread = filler->scopes[span] == PM_RANGE_NODE ? forward_thread(filler, span)
									  : (uint16_t)spans->thread[span],
		.thread = (uint16_t)spans->thread[span]};
}

/* They lie by thread: where each thread's begin. */
static uint32_t count_ranges(struct filler *filler)
{
	const struct imported *imported = filler->imported;
	uint32_t sum = 0;

	filler->next = mem_alloc(imported->thread_count, sizeof(*filler->next));
	for (uint32_t i = 0; i < imported->spans.count; i++)
		filler->next[imported->spans.thread[i]] += filler->scopes[i] != 0;
	for (size_t i = 0; i < imported->thread_count; i++) {
		const uint32_t count = filler->next[i];

		filler->next[i] = sum;
		sum += count;
	}
	return sum;
}

void imported_ranges_find(struct imported_ranges *ranges, struct imported *imported, const uint32_t *parents,
	const uint32_t *modules)
{
	struct filler filler = {
		.ranges = ranges, .imported = imported, .parents = parents, .modules = modules};

	memset(ranges, 0, sizeof(*ranges));
	find_scopes(&filler);
	find_votes(&filler);
	ranges->process.range_count = count_ranges(&filler);
	ranges->timeline.range_count = ranges->process.range_count;
	ranges->timeline.ranges = mem_alloc(ranges->process.range_count, sizeof(*ranges->timeline.ranges));
	ranges->of_span = mem_alloc(imported->spans.count, sizeof(*ranges->of_span));
	ranges->spans = mem_alloc(ranges->process.range_count, sizeof(*ranges->spans));
	for (uint32_t i = 0; i < imported->spans.count; i++) {
		const uint32_t parent =
			parents[i] == IMPORTED_NONE ? TIMELINE_NO_RANGE : ranges->of_span[parents[i]];

		if (filler.scopes[i])
			add_range(&filler, i, parent);
		else
			ranges->of_span[i] = parent;
	}
	free(filler.scopes);
	free(filler.numbered);
	free(filler.nested);
	free(filler.next);
	free(filler.votes);
	lookup_free(&filler.names);
}

void imported_ranges_free(struct imported_ranges *ranges)
{
	free(ranges->timeline.ranges);
	free(ranges->timeline.range_names);
	free(ranges->names);
	free(ranges->of_span);
	free(ranges->spans);
	memset(ranges, 0, sizeof(*ranges));
}
