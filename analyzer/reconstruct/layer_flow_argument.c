/*
 * Which addresses among a launch's words are arguments.
 *
 * A launch has words that no argument fills: there lies what an earlier call left, which is an address now
 * and then, and in iteration after iteration the same. Another iteration launches the same operations, though
 * not always between the same calls (the first one above all): a word is taken for an argument where it is an
 * address in all of them. Kernels over tensors of whatever shape have much room after strides of few
 * dimensions; their operands are in the same words in each launch of an iteration, and in a known order.
 */
#include "layer_flow.h"

#include <stdlib.h>
#include <string.h>

#define SAMPLES 8 /* iterations that are compared, from the first on */

/* The calls of an iteration by operation; those of one in order. */
struct sample {
	uint32_t *first; /* by operation, and the end */
	uint32_t *calls;
};

/* Of a kernel of a known form the words that are addresses in all launches of an iteration. */
struct operands {
	uint64_t kernel; /* name, among the timeline's strings */
	struct timeline_touch *words;
	size_t count;
	const struct form *form;
};

struct flow_samples {
	const struct layer_assign *assign;
	struct sample items[SAMPLES], own; /* own: of the iteration whose calls are asked for */
	size_t count;
	struct operands *operands;
	size_t operands_count, operands_room;
	uint32_t *operands_of; /* by operation: their number, or OPERANDS_* */
	struct timeline_touch *kept;
	size_t room;
};

#define OPERANDS_NONE (UINT32_MAX - 1) /* of another kind of kernel */
#define OPERANDS_NEW UINT32_MAX        /* not looked for yet */

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
		const uint32_t call = assign->worker->calls[i];

		if (assign->model->flows[timeline_call(timeline, call).operation].kind != PM_KIND_LAUNCH)
			continue;
		launches++;
		known += layer_knows_touches(assign, call);
	}
	return launches > 0 && known * 20 >= launches * 19;
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

/* PyTorch's kernels over whatever tensors, by what their mangled names begin with after the namespaces. */
static const struct form {
	const char *name;
	enum flow_order order;
	bool run;      /* operands lie without room between */
	uint32_t most; /* operands; 0: any number */
} forms[] = {
	{"native18elementwise_kernelI", FLOW_RESULT_FIRST, false, 0},
	{"native29vectorized_elementwise_kernelI", FLOW_RESULT_FIRST, false, 0},
	{"native27unrolled_elementwise_kernelI", FLOW_RESULT_FIRST, false, 0},
	{"native24index_elementwise_kernelI", FLOW_ANY_ORDER, false, 0},
	{"native13reduce_kernelI", FLOW_SOURCE_FIRST, false, 2}, /* after: room to work in */
	{"CatArrayBatchedCopy", FLOW_RESULT_FIRST, true, 0},
};

static const struct form *form_of(const char *kernel)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		if (strstr(kernel, forms[i].name))
			return &forms[i];
	return NULL;
}

/* The operands of an operation's kernel; those of a new one are the words of the call. NULL: it has none. */
static struct operands *operands_of(struct flow_samples *samples, uint32_t operation, uint32_t call)
{
	const struct timeline *timeline = samples->assign->timeline;
	uint32_t *number = &samples->operands_of[operation];
	const struct timeline_touch *touches;
	struct operands operands = {0};

	if (*number == OPERANDS_NEW) {
		*number = OPERANDS_NONE;
		timeline_value(timeline, &timeline->operations[operation], "kernel", &operands.kernel);
		operands.form = form_of(timeline->strings[operands.kernel]);
		if (operands.form)
			for (*number = 0; *number < samples->operands_count; ++*number)
				if (samples->operands[*number].kernel == operands.kernel)
					break;
		if (*number == samples->operands_count) {
			touches = layer_touches(samples->assign, call, &operands.count);
			operands.words = mem_alloc(operands.count, sizeof(*operands.words));
			if (operands.count)
				memcpy(operands.words, touches, operands.count * sizeof(*touches));
			*MEM_PUSH(samples->operands, samples->operands_count, samples->operands_room) =
				operands;
		}
	}
	return *number == OPERANDS_NONE ? NULL : &samples->operands[*number];
}

static void find_operands(struct flow_samples *samples, const struct iteration *iteration)
{
	const struct timeline *timeline = samples->assign->timeline;

	samples->operands_of = mem_alloc(timeline->operation_count, sizeof(*samples->operands_of));
	memset(samples->operands_of, 0xff, timeline->operation_count * sizeof(*samples->operands_of));
	for (size_t i = iteration->first_call; i < iteration->call_end; i++) {
		const uint32_t call = samples->assign->worker->calls[i];
		const uint32_t operation = timeline_call(timeline, call).operation;
		const struct timeline_touch *touches;
		struct operands *operands;
		size_t count;

		if (samples->assign->model->flows[operation].kind != PM_KIND_LAUNCH ||
			!layer_knows_touches(samples->assign, call))
			continue;
		touches = layer_touches(samples->assign, call, &count);
		operands = operands_of(samples, operation, call);
		if (operands)
			operands->count = keep_common(operands->words, operands->count, touches, count);
	}
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
	find_operands(samples, &iterations->items[own]);
	return samples;
}

void flow_samples_free(struct flow_samples *samples)
{
	for (size_t i = 0; i < samples->count; i++)
		free_sample(&samples->items[i]);
	free_sample(&samples->own);
	for (size_t i = 0; i < samples->operands_count; i++)
		free(samples->operands[i].words);
	free(samples->operands);
	free(samples->operands_of);
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

static const struct operands *known_operands(const struct flow_samples *samples, uint32_t operation)
{
	const uint32_t number = samples->operands_of[operation];

	return number < OPERANDS_NONE ? &samples->operands[number] : NULL;
}

enum flow_order flow_order(const struct flow_samples *samples, uint32_t operation)
{
	const struct operands *operands = known_operands(samples, operation);

	return operands ? operands->form->order : FLOW_ANY_ORDER;
}

/* Leaves the operands among a launch's addresses. */
static size_t keep_operands(struct timeline_touch *kept, size_t count, const struct operands *operands)
{
	const struct form *form = operands->form;
	size_t run = 1;

	if (form->run) {
		while (run < count && kept[run].word == kept[run - 1].word + 1)
			run++;
		return count < run ? count : run;
	}
	count = keep_common(kept, count, operands->words, operands->count);
	return form->most && count > form->most ? form->most : count;
}

const struct timeline_touch *flow_arguments(struct flow_samples *samples, uint32_t call, size_t *count)
{
	const struct timeline *timeline = samples->assign->timeline;
	const uint32_t operation = timeline_call(timeline, call).operation;
	const uint32_t rank = rank_of(&samples->own, operation, call);
	const uint32_t calls = samples->own.first[operation + 1] - samples->own.first[operation];
	const struct operands *operands = known_operands(samples, operation);
	const struct timeline_touch *touches = layer_touches(samples->assign, call, count);

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
			!layer_knows_touches(samples->assign, *others))
			continue;
		touches = layer_touches(samples->assign, *others, &other_count);
		*count = keep_common(samples->kept, *count, touches, other_count);
	}
	if (operands)
		*count = keep_operands(samples->kept, *count, operands);
	return samples->kept;
}
