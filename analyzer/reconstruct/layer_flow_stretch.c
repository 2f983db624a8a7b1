/*
 * Forward and backward stretches of an iteration that goes through the model, or through its parts, in turns,
 * as the schedules of pipelines do: forward, forward, backward, forward, backward. Parameters have places in
 * the order in which they are touched first; going up is forward, going down backward.
 */
#include "layer_flow.h"
#include "timeline/constants.h"

#include <stdlib.h>

/* By step of `few`, the least place of its parameters, from 1. The caller frees it. */
static uint32_t *places_of(const struct flow_work *work, const uint32_t *few, uint32_t few_count)
{
	uint32_t *first = mem_alloc(work->place_count, sizeof(*first)), count = 0;
	uint32_t *places = mem_alloc(few_count, sizeof(*places));

	for (uint32_t x = 0; x < few_count; x++) {
		bool is_new = false;

		for (uint32_t t = 0; t < work->steps[few[x]].count; t++) {
			const uint32_t p = flow_touch_of(work, few[x], t)->place;

			if (!work->places[p].parameter)
				continue;
			if (!first[p]) {
				count += !is_new;
				is_new = true;
				first[p] = count;
			}
			if (!places[x] || first[p] < places[x])
				places[x] = first[p];
		}
	}
	free(first);
	return places;
}

/*
 * Where the stretch that begins with step x of `few` ends, and which way it goes: up, down, or 0 where it
 * stays at one place. A place where the way
 * turns: its first step belongs to this stretch, the others to the next; but a single one at the bottom to
 * the next, for the forward pass begins there, and the backward pass may end before.
 */
static uint32_t stretch_end(const uint32_t *places, uint32_t few_count, uint32_t x, int *way)
{
	uint32_t end = x + 1, turned = x + 1;
	int now = 0;

	for (; end < few_count; end++) {
		const int64_t step = (int64_t)places[end] - places[end - 1];

		if (step >= STRETCH_JUMP || step <= -(int64_t)STRETCH_JUMP)
			break;
		if (step == 0)
			continue;
		if (now && (step > 0) != (now > 0)) {
			end = now < 0 && end == turned && turned > x + 1 ? turned - 1 : turned;
			break;
		}
		now = step > 0 ? 1 : -1;
		turned = end + 1;
	}
	*way = now;
	return end;
}

/* Do parameters go forward as often as backward, and most of them more than once? Else work is done again for
 * the backward pass, or the order says nothing. */
static bool are_paired(const uint32_t *places, const bool *backward, uint32_t few_count)
{
	uint32_t *forwards = mem_alloc(few_count + 1, sizeof(*forwards)), odd = 0, steps = 0, again = 0;
	uint32_t *backwards = mem_alloc(few_count + 1, sizeof(*backwards));

	for (uint32_t x = 0; x < few_count; x++)
		(backward[x] ? backwards : forwards)[places[x]]++;
	for (uint32_t p = 1; p <= few_count; p++) {
		if (!backwards[p])
			continue;
		odd += forwards[p] > backwards[p] ? forwards[p] - backwards[p] : backwards[p] - forwards[p];
		steps += forwards[p];
		again += forwards[p] > 1 ? forwards[p] : 0;
	}
	free(forwards);
	free(backwards);
	return 2 * again > steps && (double)odd <= PASS_MOST_APART * (double)steps;
}

uint32_t flow_stretches(
	const struct flow_work *work, const uint32_t *few, uint32_t few_count, struct flow_turns *turns)
{
	uint32_t *places = places_of(work, few, few_count), count = 0;
	bool *backward = mem_alloc(few_count, sizeof(*backward));
	bool *begins = mem_alloc(few_count, sizeof(*begins)), is_backward = false;
	int way;

	for (uint32_t x = 0, end; x < few_count; x = end) {
		end = stretch_end(places, few_count, x, &way);
		is_backward = way ? way < 0 : is_backward;
		begins[x] = way != 0;
		for (uint32_t i = x; i < end; i++)
			backward[i] = is_backward;
	}
	if (!backward[0] && is_backward && are_paired(places, backward, few_count))
		for (uint32_t x = 0; x < few_count; x++) {
			const bool was_backward = x > 0 && backward[x - 1];

			if (backward[x] && x > 0 && !was_backward) {
				turns[count - 1].low = few[x - 1];
				turns[count - 1].high = few[x];
			} else if (x == 0 || (was_backward && begins[x])) {
				turns[count++] = (struct flow_turns){
					.first = x, .low = FLOW_NOWHERE, .high = FLOW_NOWHERE};
			}
			turns[count - 1].end = x + 1;
		}
	free(places);
	free(backward);
	free(begins);
	return count;
}
