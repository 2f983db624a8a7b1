/*
 * A run as an observation: see export.h. The columns are one list, so that the header and every row have the
 * same; a run leaves empty what it does not have. Sizes of layers come from their texts, which layer_name.c
 * makes from the descriptors.
 */
#include "export.h"
#include "base/csv.h"
#include "base/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Kinds of layers that are counted, a column each, as their names begin. */
#define KIND_LIST(X) \
	X(conv) \
	X(pool) \
	X(fc) \
	X(norm) \
	X(lrn) \
	X(dropout) \
	X(attention) \
	X(rnn) \
	X(lstm) \
	X(gru) \
	X(add)

/* What was trained: numbers; NaN stands for "has none". */
#define SIZE_LIST(X) \
	X(gpus)  /* extrinsic, these three */ \
	X(batch) /* samples of an iteration, all GPUs together */ \
	X(gpu_batch) \
	X(hosts) \
	X(stages) \
	X(channels) \
	X(height) \
	X(width) \
	X(inputs) /* numbers that a sample has */ \
	X(kernel) \
	X(filters) \
	X(stride) \
	X(padding) \
	X(pool) \
	X(pool_stride) \
	X(units) /* of the first fully connected layer */ \
	X(dropout) \
	X(parameters) \
	X(layers) /* with parameters */

struct observation {
#define SIZE_ITEM(name) double name;
	SIZE_LIST(SIZE_ITEM)
#undef SIZE_ITEM
	const char *pooling, *activation;
#define KIND_ITEM(name) unsigned count_##name;
	KIND_LIST(KIND_ITEM)
#undef KIND_ITEM
};

const char *export_observation_names(void)
{
	return "run,"
#define SIZE_ITEM(name) #name ","
		SIZE_LIST(SIZE_ITEM)
#undef SIZE_ITEM
			"pooling,activation,"
#define KIND_ITEM(name) #name "_layers,"
		KIND_LIST(KIND_ITEM)
#undef KIND_ITEM
			"iterations,iteration_ms"
#define PHASE_ITEM(name, key, symbol, title, text, does, term, colour) "," key "_ms"
		PHASE_LIST(PHASE_ITEM)
#undef PHASE_ITEM
			",communication_exposed_ms,communication_wait_ms,device_ms";
}

/* The layer's name is the kind and a number: "conv2". */
static bool is_kind(const struct layer *layer, const char *kind)
{
	size_t length = strlen(kind);

	return strncmp(layer->name, kind, length) == 0 &&
	       layer->name[length + strspn(layer->name + length, "0123456789")] == 0;
}

/* The numbers of "5x5x6"; answers how many, and where they end. */
static size_t numbers(const char *text, double *values, size_t room, const char **end)
{
	size_t count = 0;

	for (char *after;; text = after + 1) {
		double value = strtod(text, &after);

		*end = after;
		if (after == text)
			return count;
		if (count < room)
			values[count++] = value;
		if (*after != 'x')
			return count;
	}
}

/* What follows a letter in "5x5x6->16 s1 p0"; of sides that differ, the greatest. */
static double lettered(const char *text, char letter)
{
	double sides[8], greatest = NAN;

	for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' ')) {
		const char *end;
		size_t count = at[1] == letter ? numbers(at + 2, sides, 8, &end) : 0;

		for (size_t i = 0; i < count; i++)
			greatest = fmax(greatest, sides[i]);
	}
	return greatest;
}

static double product(const double *values, size_t count)
{
	double result = 1;

	for (size_t i = 0; i < count; i++)
		result *= values[i];
	return result;
}

static void take_convolution(struct observation *observation, const struct layer *layer)
{
	double sizes[8];
	const char *arrow;
	size_t count = numbers(layer->text, sizes, 8, &arrow);

	if (!isnan(observation->kernel) || count < 2 || strncmp(arrow, "->", 2) != 0)
		return;
	observation->kernel = sizes[0];
	for (size_t i = 1; i + 1 < count; i++)
		observation->kernel = fmax(observation->kernel, sizes[i]);
	observation->filters = strtod(arrow + 2, NULL);
	observation->stride = lettered(layer->text, 's');
	observation->padding = lettered(layer->text, 'p');
}

static void take_pooling(struct observation *observation, const struct layer *layer)
{
	double sizes[8];
	const char *end, *blank = strchr(layer->text, ' ');
	size_t count = blank ? numbers(blank + 1, sizes, 8, &end) : 0;

	if (!isnan(observation->pool) || count == 0)
		return;
	observation->pool = sizes[0];
	for (size_t i = 1; i < count; i++)
		observation->pool = fmax(observation->pool, sizes[i]);
	observation->pool_stride = lettered(layer->text, 's');
	observation->pooling = strncmp(layer->text, "avg", 3) == 0 ? "avg" : "max";
}

static void take_layer(struct observation *observation, const struct layer *layer)
{
	const char *arrow = strstr(layer->text, "->");

	observation->parameters += (double)layer->parameter_count;
	observation->layers += layer->parameter_count > 0;
	if (!observation->activation[0])
		observation->activation = layer->activation;
	if (is_kind(layer, "conv"))
		take_convolution(observation, layer);
	else if (is_kind(layer, "pool"))
		take_pooling(observation, layer);
	else if (is_kind(layer, "fc") && isnan(observation->units) && arrow)
		observation->units = strtod(arrow + 2, NULL);
	else if (is_kind(layer, "dropout") && observation->count_dropout == 0 && layer->text[0])
		observation->dropout = strtod(layer->text, NULL);
#define KIND_ITEM(name) observation->count_##name += is_kind(layer, #name);
	KIND_LIST(KIND_ITEM)
#undef KIND_ITEM
}

/* The first layer's input: samples, channels, sides; or samples and numbers. */
static void take_input(struct observation *observation, const char *input)
{
	double sizes[8];
	const char *end;
	size_t count = numbers(input, sizes, 8, &end);

	if (count > 1)
		observation->inputs = product(sizes + 1, count - 1);
	if (count < 3)
		return;
	observation->channels = sizes[1];
	observation->height = sizes[count - 2];
	observation->width = sizes[count - 1];
	if (count == 3) /* one side */
		observation->height = NAN;
}

static void take_run(struct observation *observation, const struct analysis *analysis)
{
	double samples = analysis_samples(analysis);
	const struct layer_list *first = &analysis->workers[0].layers;

	*observation = (struct observation){.pooling = "", .activation = ""};
#define SIZE_ITEM(name) observation->name = NAN;
	SIZE_LIST(SIZE_ITEM)
#undef SIZE_ITEM
	observation->gpus = (double)analysis->worker_count;
	observation->hosts = analysis->timeline.host_count;
	observation->stages = analysis->stage_count;
	if (samples > 0) {
		observation->batch = samples;
		observation->gpu_batch = samples / observation->gpus;
	}
	observation->parameters = observation->layers = 0;
	observation->dropout = 0;
	if (first->count)
		take_input(observation, first->items[0].input);
	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(analysis, s)->layers;

		for (size_t i = 0; i < layers->count; i++)
			take_layer(observation, &layers->items[i]);
	}
}

static void put_size(struct csv_line *line, double number)
{
	if (isnan(number))
		csv_put(line, NULL);
	else
		csv_format(line, "%.15g", number);
}

static void put_ms(struct csv_line *line, double ns)
{
	if (isnan(ns))
		csv_put(line, NULL);
	else
		csv_format(line, "%.6f", ns / 1e6);
}

/* What the devices do in an iteration, each instant once: no waiting for the last rank, and no reading and
 * splitting of batches, which are the host's. */
static double device_ns(const struct analysis_worker *workers, size_t count)
{
	double sum = -analysis_wait(workers, count).median;

	for (int phase = 0; phase < PHASE_WORK_COUNT; phase++)
		if (phase != PHASE_IO && phase != PHASE_MD)
			sum += analysis_phase(workers, count, (enum phase)phase, ANALYSIS_EXCLUSIVE).median;
	return fmax(sum, 0);
}

void export_observation(struct run *run, FILE *out)
{
	const struct analysis *analysis = &run->analysis;
	const struct analysis_worker *workers = analysis->workers;
	size_t count = analysis->worker_count;
	struct observation observation;
	struct analysis_statistics iteration = analysis_iteration(workers, count);
	struct csv_line line = {.out = out};

	take_run(&observation, analysis);
	csv_put(&line, print_clean(&run->analysis.timeline.arena, run->label));
#define SIZE_ITEM(name) put_size(&line, observation.name);
	SIZE_LIST(SIZE_ITEM)
#undef SIZE_ITEM
	csv_put(&line, observation.pooling);
	csv_put(&line, observation.activation);
#define KIND_ITEM(name) csv_put_number(&line, observation.count_##name);
	KIND_LIST(KIND_ITEM)
#undef KIND_ITEM
	csv_put_number(&line, (double)workers[0].used_count);
	put_ms(&line, iteration.median);
	for (int phase = 0; phase < PHASE_COUNT; phase++)
		put_ms(&line, analysis_phase(workers, count, (enum phase)phase, ANALYSIS_BUSY).median);
	put_ms(&line, analysis_phase(workers, count, PHASE_COMMUNICATION, ANALYSIS_EXCLUSIVE).median);
	put_ms(&line, analysis_wait(workers, count).median);
	put_ms(&line, device_ns(workers, count));
	csv_end(&line);
}
