/* Checks that each injected cause of imbalance is found with the right rank and layer, and none where none
 * is. */
#include "analyses/cause/cause.h"
#include "check.h"
#include "model_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_FOUND 4

struct expected {
	enum cause_kind kind;
	size_t worker;
	const char *layer;
	double factor; /* 0: any */
};

static const struct {
	const char *name;
	struct model_options options;
	struct expected expected[MOST_FOUND + 1]; /* in any order */
} cases[] = {
	{"none", {.net = MODEL_LENET, .slow_worker = 1}, {{CAUSE_COUNT, 0, "", 0}}},
	{"jitter only", {.net = MODEL_LENET, .seed = 5}, {{CAUSE_COUNT, 0, "", 0}}},
	{"slower, 2 times", {.net = MODEL_LENET, .slow_worker = 2, .slow = 2},
		{{CAUSE_SLOWER, 2, "", 2}, {CAUSE_COUNT, 0, "", 0}}},
	{"slower, a tenth", {.net = MODEL_MLP, .slow_worker = 0, .slow = 1.1, .overlap = true},
		{{CAUSE_SLOWER, 0, "", 1.1}, {CAUSE_COUNT, 0, "", 0}}},
	{"slower, with jitter", {.net = MODEL_LENET, .slow_worker = 1, .slow = 1.5, .seed = 3},
		{{CAUSE_SLOWER, 1, "", 1.5}, {CAUSE_COUNT, 0, "", 0}}},
	{"two are slower",
		{.net = MODEL_LENET,
			.slow_worker = 1,
			.slow = 1.5,
			.second_worker = 2,
			.second_slow = 1.5,
			.seed = 9},
		{{CAUSE_SLOWER, 1, "", 1.5}, {CAUSE_SLOWER, 2, "", 1.5}, {CAUSE_COUNT, 0, "", 0}}},
	{"one layer", {.net = MODEL_LENET, .slow_worker = 1, .slow = 3, .slow_layer = "conv2"},
		{{CAUSE_LAYER, 1, "conv2", 3}, {CAUSE_COUNT, 0, "", 0}}},
	{"one layer, with jitter",
		{.net = MODEL_AUTOENCODER, .slow_worker = 0, .slow = 3, .slow_layer = "fc3", .seed = 4},
		{{CAUSE_LAYER, 0, "fc3", 3}, {CAUSE_COUNT, 0, "", 0}}},
	{"a larger share of the batch", {.net = MODEL_LENET, .slow_worker = 1, .slow_batch = 32},
		{{CAUSE_WORK, 1, "", 2}, {CAUSE_COUNT, 0, "", 0}}},
	{"more operations in a layer", {.net = MODEL_LENET, .slow_worker = 2, .extra_layer = "conv1"},
		{{CAUSE_WORK, 2, "conv1", 0}, {CAUSE_COUNT, 0, "", 0}}},
	{"input", {.net = MODEL_LENET, .slow_worker = 0, .slow_input_ns = 50000},
		{{CAUSE_INPUT, 0, "", 0}, {CAUSE_COUNT, 0, "", 0}}},
	{"input, with jitter", {.net = MODEL_MLP, .slow_worker = 2, .slow_input_ns = 50000, .seed = 8},
		{{CAUSE_INPUT, 2, "", 0}, {CAUSE_COUNT, 0, "", 0}}},
	{"host", {.net = MODEL_LENET, .slow_worker = 1, .slow_host_ns = 20000},
		{{CAUSE_HOST, 1, "", 0}, {CAUSE_COUNT, 0, "", 0}}},
	{"slower, and its input", {.net = MODEL_LENET, .slow_worker = 1, .slow = 2, .slow_input_ns = 60000},
		{{CAUSE_SLOWER, 1, "", 2}, {CAUSE_INPUT, 1, "", 0}, {CAUSE_COUNT, 0, "", 0}}},
	{"slower, and copies as slowly",
		{.net = MODEL_LENET, .slow_worker = 1, .slow = 1.5, .copy_ns = 300000},
		{{CAUSE_SLOWER, 1, "", 1.5}, {CAUSE_COUNT, 0, "", 0}}},
	{"a layer here hides what is slower there",
		{.net = MODEL_LENET,
			.slow_worker = 1,
			.slow = 4,
			.slow_layer = "fc1",
			.second_worker = 2,
			.second_slow = 1.3,
			.seed = 2},
		{{CAUSE_LAYER, 1, "fc1", 4}, {CAUSE_COUNT, 0, "", 0}}},
	{"now and then", {.net = MODEL_LENET, .slow_worker = 1, .slow = 4, .slow_every = 4},
		{{CAUSE_COUNT, 0, "", 0}}},
	{"somebody else, now and then",
		{.net = MODEL_LENET,
			.slow_worker = 0,
			.slow = 4,
			.slow_every = 4,
			.second_worker = 2,
			.second_slow = 1.3},
		{{CAUSE_SLOWER, 2, "", 1.3}, {CAUSE_COUNT, 0, "", 0}}},
	{"half of the layers",
		{.net = MODEL_LENET,
			.slow_worker = 1,
			.slow = 2,
			.slow_layer = "conv1 pool1 conv2 pool2 dropout1"},
		{{CAUSE_LAYER, 1, "conv1", 2}, {CAUSE_LAYER, 1, "conv2", 2}, {CAUSE_LAYERS, 1, "", 2},
			{CAUSE_COUNT, 0, "", 0}}},
	{"something else", {.net = MODEL_LENET, .slow_worker = 1, .slow_other_ns = 90000},
		{{CAUSE_UNKNOWN, 1, "", 0}, {CAUSE_COUNT, 0, "", 0}}},
	{"all exchanges in one group",
		{.net = MODEL_LENET, .slow_worker = 2, .slow = 2, .slow_layer = "conv1", .grouped = true},
		{{CAUSE_LAYER, 2, "conv1", 2}, {CAUSE_COUNT, 0, "", 0}}},
};

static bool fits(const struct cause *cause, const struct expected *expected)
{
	return cause->kind == expected->kind && cause->worker == expected->worker &&
	       strcmp(cause->layer, expected->layer) == 0 &&
	       (expected->factor == 0 || fabs(cause->factor - expected->factor) < 0.05 * expected->factor);
}

static void check_case(size_t number)
{
	struct model_options options = cases[number].options;
	struct analysis analysis;
	struct balance balance;
	struct cause_list list;
	struct model model;
	size_t count = 0;

	options.iterations = 14;
	options.batch = 16;
	options.processes = 3;
	options.gpus = 1;
	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	balance_find(&analysis, &balance);
	cause_find(&analysis, &balance, NULL, &list);
	while (cases[number].expected[count].kind != CAUSE_COUNT) {
		const struct expected *expected = &cases[number].expected[count++];
		bool found = false;

		for (size_t i = 0; i < list.count; i++)
			found |= fits(&list.items[i], expected);
		CHECK(found, "%s: no cause %s of rank %zu %s", cases[number].name, cause_key(expected->kind),
			expected->worker, expected->layer);
	}
	CHECK(list.count == count, "%s: %zu causes, expected %zu", cases[number].name, list.count, count);
	for (size_t i = 0; i < list.count && list.count != count; i++)
		printf("  rank %zu: %s %s, %.0f ns, factor %.3f: %s\n", list.items[i].worker,
			cause_key(list.items[i].kind), list.items[i].layer, list.items[i].cost_ns,
			list.items[i].factor, list.items[i].evidence);
	cause_free(&list);
	balance_free(&balance);
	analysis_free(&analysis);
	model_free(&model);
}

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_case(i);
	return check_end();
}
