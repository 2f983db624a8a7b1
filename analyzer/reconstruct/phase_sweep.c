/* Stretches of time: sorted, united, and swept over. See phase_sweep.h. */
#include "phase_sweep.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void phase_add_span(struct phase_spans *spans, int64_t begin_ns, int64_t end_ns, uint32_t level)
{
	if (end_ns > begin_ns)
		*MEM_PUSH(spans->items, spans->count, spans->room) =
			(struct phase_span){begin_ns, end_ns, level};
}

void phase_drop_spans(struct phase_spans *spans, int64_t ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < spans->count; i++)
		if (spans->items[i].end_ns > ns)
			spans->items[kept++] = spans->items[i];
	spans->count = kept;
}

static int64_t span_key(const struct phase_span *span, bool by_end)
{
	return by_end ? span->end_ns : span->begin_ns;
}

static void merge_spans(const struct phase_span *from, size_t first, size_t middle, size_t end, bool by_end,
	struct phase_span *to)
{
	size_t left = first, right = middle;

	for (size_t i = first; i < end; i++) {
		bool take_left = right == end || (left < middle && span_key(&from[left], by_end) <=
									   span_key(&from[right], by_end));

		to[i] = from[take_left ? left++ : right++];
	}
}

/*
 * Spans come as a few ordered stretches, one for each kind of work, so what is in order already is merged,
 * not sorted again: nearly a pass for each doubling of the stretches.
 */
static void sort_spans(struct phase_span *spans, size_t count, bool by_end)
{
	size_t *ends = NULL, run_count = 0, room = 0, i = 1;
	struct phase_span *other;

	while (i < count && span_key(&spans[i], by_end) >= span_key(&spans[i - 1], by_end))
		i++;
	if (i >= count)
		return;
	for (; i <= count; i++)
		if (i == count || span_key(&spans[i], by_end) < span_key(&spans[i - 1], by_end))
			*MEM_PUSH(ends, run_count, room) = i;
	other = mem_alloc(count, sizeof(*other));
	while (run_count > 1) {
		size_t merged = 0, first = 0;

		for (size_t run = 0; run < run_count; run += 2) {
			size_t end = ends[run + 1 < run_count ? run + 1 : run];

			merge_spans(spans, first, ends[run], end, by_end, other);
			ends[merged++] = end;
			first = end;
		}
		memcpy(spans, other, count * sizeof(*spans));
		run_count = merged;
	}
	free(other);
	free(ends);
}

int64_t phase_union(struct phase_span *spans, size_t count)
{
	int64_t sum_ns = 0, until_ns = INT64_MIN;

	sort_spans(spans, count, false);
	for (size_t i = 0; i < count; i++) {
		int64_t from_ns = spans[i].begin_ns > until_ns ? spans[i].begin_ns : until_ns;

		if (spans[i].end_ns > from_ns) {
			sum_ns += spans[i].end_ns - from_ns;
			until_ns = spans[i].end_ns;
		}
	}
	return sum_ns;
}

/* The next stretch of a window; what the last one goes on with is joined to it. */
static void add_stretch(struct phase_spans *stretches, int64_t begin_ns, int64_t end_ns, uint32_t level)
{
	struct phase_span *last = stretches->count ? &stretches->items[stretches->count - 1] : NULL;

	if (last && last->level == level)
		last->end_ns = end_ns;
	else
		phase_add_span(stretches, begin_ns, end_ns, level);
}

static void sweep(struct phase_span *spans, size_t span_count, const struct phase_span *windows,
	size_t window_count, int64_t *result, struct phase_spans *stretches)
{
	struct phase_span *ends = mem_alloc(span_count, sizeof(*ends));
	size_t counts[PHASE_LEVELS] = {0}, begun = 0, ended = 0;
	uint32_t present = 1u << PHASE_LEVELS; /* a bit for each level, the last for none */

	/* Sorted apart, since as they come both are nearly in order. */
	if (span_count)
		memcpy(ends, spans, span_count * sizeof(*ends));
	sort_spans(spans, span_count, false);
	sort_spans(ends, span_count, true);
	memset(result, 0, window_count * (PHASE_LEVELS + 1) * sizeof(*result));
	for (size_t w = 0; w < window_count; w++) {
		int64_t now_ns = windows[w].begin_ns;

		while (now_ns < windows[w].end_ns) {
			int64_t next_ns = windows[w].end_ns;
			uint32_t level;

			for (; begun < span_count && spans[begun].begin_ns <= now_ns; begun++) {
				counts[spans[begun].level]++;
				present |= 1u << spans[begun].level;
			}
			for (; ended < span_count && ends[ended].end_ns <= now_ns; ended++)
				if (--counts[ends[ended].level] == 0)
					present &= ~(1u << ends[ended].level);
			if (begun < span_count && spans[begun].begin_ns < next_ns)
				next_ns = spans[begun].begin_ns;
			if (ended < span_count && ends[ended].end_ns < next_ns)
				next_ns = ends[ended].end_ns;
			level = (uint32_t)__builtin_ctz(present);
			result[w * (PHASE_LEVELS + 1) + level] += next_ns - now_ns;
			if (stretches)
				add_stretch(stretches, now_ns, next_ns, level);
			now_ns = next_ns;
		}
	}
	free(ends);
}

void phase_sweep(struct phase_span *spans, size_t span_count, const struct phase_span *windows,
	size_t window_count, int64_t *result)
{
	sweep(spans, span_count, windows, window_count, result, NULL);
}

void phase_cut(struct phase_span *spans, size_t span_count, const struct phase_span *window,
	struct phase_spans *stretches)
{
	int64_t levels[PHASE_LEVELS + 1];

	stretches->count = 0;
	sweep(spans, span_count, window, 1, levels, stretches);
}
