/*
 * Checks that layers and phases are taken from the data where they tell them: what is said of the operations
 * of a made-up program, which is not what would be worked out, and the times that follow from it.
 */
#include "check.h"
#include "model_read.h"
#include "trace/trace.h"

#include <string.h>

static uint32_t add_string(struct timeline *timeline, const char *text)
{
	*MEM_PUSH(timeline->strings, timeline->string_count, timeline->string_room) = text;
	return (uint32_t)timeline->string_count - 1;
}

/* Forward functions are layer a's; backward ones are layer a's done again, and one of another text; what is
 * communicated is layer b's; copies are the update of b, counted as if they were communication. */
static void say(struct timeline *timeline)
{
	uint32_t a = add_string(timeline, "a\t3x3\t4x8\tnet.a"),
		 again = add_string(timeline, "a\t5x5\t2x8\tnet.a"), b = add_string(timeline, "b");

	for (size_t i = 1; i < timeline->operation_count; i++) {
		struct timeline_operation *operation = &timeline->operations[i];

		switch (timeline->functions[operation->function].kind) {
		case PM_KIND_FORWARD:
			operation->given_phase = PHASE_FORWARD + 1;
			operation->given_layer = a;
			break;
		case PM_KIND_BACKWARD:
			operation->given_phase = PHASE_BACKWARD + 1;
			operation->given_part = PHASE_LAYER_RECOMPUTE + 1;
			operation->given_layer = again;
			break;
		case PM_KIND_COMM:
			operation->given_phase = PHASE_COMMUNICATION + 1;
			operation->given_layer = b;
			break;
		case PM_KIND_COPY:
			operation->given_phase = PHASE_UPDATE + 1;
			operation->given_part = PHASE_LAYER_COMMUNICATION + 1;
			operation->given_layer = b;
			break;
		default:
			break;
		}
	}
}

/* Device time of calls of the kind in an iteration, added up here. */
static double kind_ns(const struct timeline *timeline, const struct worker *worker,
	const struct iteration *item, enum pm_kind kind)
{
	double ns = 0;

	for (size_t i = item->first_call; i < item->call_end; i++) {
		const struct timeline_call *call = TIMELINE_CALL(timeline, worker->calls[i]);

		for (uint32_t j = 0;
			timeline_function(timeline, call)->kind == kind && j < call->interval_count; j++)
			ns += (double)(timeline_interval(timeline, call->interval + j).end_ns -
				       timeline_interval(timeline, call->interval + j).begin_ns);
	}
	return ns;
}

static void check_times(const struct analysis *analysis, const struct layer_list *layers)
{
	const struct analysis_worker *worker = &analysis->workers[0];
	const struct timeline *timeline = &analysis->timeline;
	struct phase_list phases;

	phase_find(&analysis->model, worker->worker, &worker->iterations, layers, NULL, &phases);
	for (size_t i = 0; i < worker->iterations.count; i++) {
		const struct iteration *item = &worker->iterations.items[i];
		const double *times = phases.layers_ns + i * layers->count * PHASE_LAYER_COLUMNS;
		double expected[2][PHASE_LAYER_COLUMNS] = {0};

		expected[0][PHASE_LAYER_FORWARD] = kind_ns(timeline, worker->worker, item, PM_KIND_FORWARD);
		expected[0][PHASE_LAYER_BACKWARD] = expected[0][PHASE_LAYER_RECOMPUTE] =
			kind_ns(timeline, worker->worker, item, PM_KIND_BACKWARD);
		expected[1][PHASE_LAYER_COMMUNICATION] =
			kind_ns(timeline, worker->worker, item, PM_KIND_COMM) +
			kind_ns(timeline, worker->worker, item, PM_KIND_COPY);
		for (int layer = 0; layer < 2; layer++)
			for (int column = 0; column < PHASE_LAYER_COLUMNS; column++)
				CHECK(times[layer * PHASE_LAYER_COLUMNS + column] == expected[layer][column],
					"iteration %zu layer %d column %d: %g, expected %g", i, layer, column,
					times[layer * PHASE_LAYER_COLUMNS + column], expected[layer][column]);
		CHECK(expected[0][PHASE_LAYER_FORWARD] > 0 && expected[1][PHASE_LAYER_COMMUNICATION] > 0,
			"iteration %zu has nothing to check", i);
		CHECK(phases.times[i].busy_ns[PHASE_H2D] == 0 && phases.times[i].busy_ns[PHASE_UPDATE] > 0,
			"iteration %zu: copies are the update here", i);
	}
	phase_free(&phases);
}

int main(void)
{
	static const struct model_options options = {
		.net = MODEL_LENET, .iterations = 6, .batch = 8, .processes = 2, .gpus = 1};
	struct analysis analysis;
	struct layer_list layers;
	struct iteration_list none = {0};
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	CHECK(analysis.workers[0].layers.count > 2, "%zu layers worked out",
		analysis.workers[0].layers.count);
	say(&analysis.timeline);
	layer_find(&analysis.model, analysis.workers[0].worker, &analysis.workers[0].iterations, &layers);
	CHECK(layers.count == 2 && layers.given_again, "%zu layers", layers.count);
	if (layers.count == 2) {
		CHECK(strcmp(layers.items[0].name, "a") == 0 && strcmp(layers.items[1].name, "b") == 0,
			"%s %s", layers.items[0].name, layers.items[1].name);
		CHECK(strcmp(layers.items[0].text, "3x3") == 0 && strcmp(layers.items[0].input, "4x8") == 0 &&
				strcmp(layers.items[0].module, "net.a") == 0 && !*layers.items[1].text &&
				!*layers.items[1].module,
			"'%s' '%s' '%s'", layers.items[0].text, layers.items[0].input,
			layers.items[0].module);
		check_times(&analysis, &layers);
	}
	layer_free(&layers);
	layer_find(&analysis.model, analysis.workers[0].worker, &none, &layers);
	CHECK(layers.count == 0 && layers.part_count == 0, "%zu layers without iterations", layers.count);
	layer_free(&layers);
	analysis_free(&analysis);
	model_free(&model);
	return check_end();
}
