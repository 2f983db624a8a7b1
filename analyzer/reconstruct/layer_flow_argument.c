/*
 * Which addresses among a launch's words are arguments.
 *
 * A launch has words that no argument fills: there lies what an earlier call left, which is an address now
 * and then, and in iteration after iteration the same. Another iteration launches the same operations, though
 * not always between the same calls (the first one above all): a word is taken for an argument where it is an
 * address in all of them.
 */
#include "layer_flow.h"

#include <stdlib.h>

#define SAMPLES 8 /* iterations that are compared, from the first on */

/* The calls of an iteration by operation; those of one in order. */
struct sample {
	uint32_t *first; /* by operation, and the end */
	uint32_t *calls;
};

struct flow_samples {
	const struct layer_assign *assign;
	struct sample items[SAMPLES], own; /* own: of the iteration whose calls are asked for */
	size_t count;
	struct timeline_touch *kept;
	size_t room;
};

static struct sample new_sample(const struct layer_assign *assign, const struct iteration *iteration)
{
	const struct timeline *timeline = assign->timeline;
	struct sample sample = {
		mem_alloc(timeline->operation_count + 2, sizeof(*sample.first)),
		mem_alloc(iteration->call_end - iteration->first_call, sizeof(*sample.calls)),
	};
	uint32_t *at = sample.first + 1; /* where the next call of an operation goes; then where they end */

	for (size_t i = iteration->first_call; i < iteration->call_end; i++)
		at[timeline_call(timeline, assign->worker->calls[i]).operation + 1]++;
	for (uint32_t i = 0; i < timeline->operation_count; i++)
		at[i + 1] += at[i];
	for (size_t i = iteration->first_call; i < iteration->call_end; i++) {
		const uint32_t call = assign->worker->calls[i];

		sample.calls[at[timeline_call(timeline, call).operation]++] = call;
	}
	return sample;
}

static void free_sample(struct sample *sample)
{
	free(sample->first);
	free(sample->calls);
}

bool flow_is_known(const struct layer_assign *assign, const struct iteration *iteration)
{
	const struct timeline *timeline = assign->timeline;
	size_t launches = 0, known = 0;

	for (size_t i = iteration->first_call; i < iteration->call_end; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, assign->worker->calls[i]);

		if (assign->model->flows[call->operation].kind != PM_KIND_LAUNCH)
			continue;
		launches++;
		known += (call->flags & PM_FLAG_TOUCHES) != 0;
	}
	return launches > 0 && known * 20 >= launches * 19;
}

struct flow_samples *flow_samples(
	const struct layer_assign *assign, const struct iteration_list *iterations, size_t own)
{
	struct flow_samples *samples = mem_alloc(1, sizeof(*samples));

	samples->assign = assign;
	samples->own = new_sample(assign, &iterations->items[own]);
	for (size_t i = 0; i < iterations->count && samples->count < SAMPLES; i++)
		if (i != own && flow_is_known(assign, &iterations->items[i]))
			samples->items[samples->count++] = new_sample(assign, &iterations->items[i]);
	return samples;
}

void flow_samples_free(struct flow_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		free_sample(&samples->items[i]);
	free_sample(&samples->own);
	free(samples->kept);
	free(samples);
}

/* How many calls of the operation come before this one. */
static uint32_t rank_of(const struct sample *sample, uint32_t operation, uint32_t call)
{
	uint32_t low = sample->first[operation], high = sample->first[operation + 1];

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (sample->calls[middle] < call)
			low = middle + 1;
		else
			high = middle;
	}
	return low - sample->first[operation];
}

/* Leaves those whose word is an address of the other launch too; both are in order of words. */
static size_t keep_common(
	struct timeline_touch *kept, size_t count, const struct timeline_touch *others, size_t other_count)
{
	size_t common = 0;

	for (size_t i = 0, j = 0; i < count; i++) {
		while (j < other_count && others[j].word < kept[i].word)
			j++;
		if (j < other_count && others[j].word == kept[i].word)
			kept[common++] = kept[i];
	}
	return common;
}

const struct timeline_touch *flow_arguments(struct flow_samples *samples, uint32_t call, size_t *count)
{
	const struct timeline *timeline = samples->assign->timeline;
	const uint32_t operation = timeline_call(timeline, call).operation;
	const uint32_t rank = rank_of(&samples->own, operation, call);
	const uint32_t calls = samples->own.first[operation + 1] - samples->own.first[operation];
	const struct timeline_touch *touches = timeline_touches(timeline, call, count);

	while (samples->room < *count)
		samples->kept =
			mem_grow(samples->kept, samples->room, &samples->room, sizeof(*samples->kept));
	for (size_t i = 0; i < *count; i++)
		samples->kept[i] = touches[i];
	for (size_t i = 0; i < samples->count && *count; i++) {
		const struct sample *sample = &samples->items[i];
		const uint32_t *others = sample->calls + sample->first[operation] + rank;
		size_t other_count;

		if (sample->first[operation + 1] - sample->first[operation] != calls ||
			!(timeline_call(timeline, *others).flags & PM_FLAG_TOUCHES))
			continue;
		touches = timeline_touches(timeline, *others, &other_count);
		*count = keep_common(samples->kept, *count, touches, other_count);
	}
	return samples->kept;
}
