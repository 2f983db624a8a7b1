/* What layers take beyond their roofline: see efficiency.h. */
#include "efficiency.h"
#include "base/statistics.h"
#include "baselines/boost.h"
#include "baselines/forest.h"

#include <err.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EXTRA 9 /* features beside the descriptors; the last three are the device's, for the forest alone */
#define DEVICE_EXTRA 3

static const struct boost_parameter boosting = {.tree_count = 300, .depth = 5, .rate = 0.1, .share = 0.5};

#define MOST_CONSTANT \
	5e4 /* ns: launches by the slower frameworks; what a table of large layers says nothing of */

/* What a layer takes that has hardly any work, ns. */
static double constant_of(const struct transfer_table *table, const size_t *rows, size_t row_count)
{
	double least = INFINITY;

	for (size_t i = 0; i < row_count; i++)
		least = fmin(least, table->layers[rows[i]].time);
	return fmin(least / 2, MOST_CONSTANT);
}

static double log_roofline(const struct transfer_table *table, const struct transfer_layer *layer,
	size_t device, double constant)
{
	return log(
		transfer_flops_ns(table, layer, device) + transfer_bytes_ns(table, layer, device) + constant);
}

/* width numbers: of the descriptors, and as many of EXTRA as there is room for. */
static void fill(const struct transfer_table *table, const struct transfer_layer *layer, size_t device,
	double constant, double *row, size_t width)
{
	const struct transfer_device *d = &table->devices[device];
	const double least = constant / 1000; /* of the roofline's times: no logarithm of 0 */
	const double flops_ns = log(transfer_flops_ns(table, layer, device) + least);
	const double bytes_ns = log(transfer_bytes_ns(table, layer, device) + least);
	const double flops = log(layer->flops + 1), bytes = log(layer->bytes + 1);
	const double extra[EXTRA] = {flops, bytes, flops - bytes, flops_ns, bytes_ns, flops_ns - bytes_ns,
		log(d->flops), log(d->bandwidth), log(d->flops / d->bandwidth)};

	memcpy(row, layer->descriptors, table->descriptor_count * sizeof(*row));
	memcpy(row + table->descriptor_count, extra, (width - table->descriptor_count) * sizeof(*row));
}

static void features_init(struct feature_matrix *features, size_t rows, size_t columns)
{
	*features = (struct feature_matrix){.row_count = rows,
		.column_count = columns,
		.values = mem_alloc(rows * columns + 1, sizeof(double)),
		.target = mem_alloc(rows + 1, sizeof(double)),
		.offset = mem_alloc(rows + 1, sizeof(double))};
}

/* Both matrices; device: that of the asked layers. */
static void features_of(const struct transfer_table *table, const size_t *rows, const size_t *asked,
	size_t device, double constant, struct feature_matrix *train, struct feature_matrix *test)
{
	const size_t width = train->column_count;

	for (size_t i = 0; i < train->row_count; i++) {
		const struct transfer_layer *layer = &table->layers[rows[i]];

		fill(table, layer, layer->device, constant, train->values + i * width, width);
		train->target[i] = log(layer->time) - log_roofline(table, layer, layer->device, constant);
	}
	for (size_t i = 0; i < test->row_count; i++)
		fill(table, &table->layers[asked[i]], device, constant, test->values + i * width, width);
}

void efficiency_learn(const struct transfer_table *table, const size_t *rows, size_t row_count,
	const size_t *asked, size_t asked_count, size_t device, const struct efficiency_how *how,
	double *log_time)
{
	const double constant = constant_of(table, rows, row_count);
	double *boosted = mem_alloc(asked_count + 1, sizeof(*boosted));
	struct feature_matrix train, test;
	struct forest *forest;

	features_init(&train, row_count, table->descriptor_count + EXTRA);
	features_init(&test, asked_count, train.column_count);
	features_of(table, rows, asked, device, constant, &train, &test);
	if (forest_grow(&forest, &train, FOREST_TREES, 1, how->seed, how->threads) < 0)
		errx(1, "out of memory");
	for (size_t i = 0; i < asked_count; i++)
		log_time[i] = forest_predict(forest, test.values + i * test.column_count);
	forest_free(forest);
	train.column_count = test.column_count -= DEVICE_EXTRA;
	features_of(table, rows, asked, device, constant, &train, &test);
	if (boost_run(&train, &test, &boosting, how->seed, boosting.tree_count, NULL, boosted) < 0)
		errx(1, "out of memory");
	for (size_t i = 0; i < asked_count; i++)
		log_time[i] = (log_time[i] + boosted[i]) / 2 +
			      log_roofline(table, &table->layers[asked[i]], device, constant);
	feature_matrix_free(&train);
	feature_matrix_free(&test);
	free(boosted);
}

void efficiency_plain(const struct transfer_table *table, const size_t *rows, size_t row_count,
	const size_t *asked, size_t asked_count, size_t device, double *log_time)
{
	const double constant = constant_of(table, rows, row_count);
	double *ratios = mem_alloc(row_count, sizeof(*ratios)), ratio;

	for (size_t i = 0; i < row_count; i++) {
		const struct transfer_layer *layer = &table->layers[rows[i]];

		ratios[i] = log(layer->time) - log_roofline(table, layer, layer->device, constant);
	}
	ratio = statistics_median(ratios, row_count);
	for (size_t i = 0; i < asked_count; i++)
		log_time[i] = ratio + log_roofline(table, &table->layers[asked[i]], device, constant);
	free(ratios);
}

static uint64_t hash_of(const struct transfer_table *table, const struct transfer_layer *layer)
{
	uint64_t hash = mem_hash_bytes(MEM_HASH_START, &layer->flops, sizeof(layer->flops));

	hash = mem_hash_bytes(hash, &layer->bytes, sizeof(layer->bytes));
	return mem_hash_bytes(hash, layer->descriptors, table->descriptor_count * sizeof(double));
}

/* A measured layer, in order of hash, then of device. */
struct measured {
	uint64_t hash;
	const struct transfer_layer *layer;
};

static int by_hash(const void *a, const void *b)
{
	const struct measured *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (x->layer->device != y->layer->device)
		return x->layer->device < y->layer->device ? -1 : 1;
	return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static size_t first_of(const struct measured *list, size_t count, uint64_t hash)
{
	size_t low = 0;

	while (count > 0) {
		size_t half = count / 2;

		if (list[low + half].hash < hash) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

/* The mean over devices of the mean over a device's rows. */
static double mean_ratio(const struct transfer_table *table, const struct measured *list, size_t count,
	double constant, size_t *devices)
{
	double sum = 0;

	*devices = 0;
	for (size_t i = 0; i < count;) {
		const size_t device = list[i].layer->device;
		double of_device = 0, rows = 0;

		for (; i < count && list[i].layer->device == device; i++, rows++)
			of_device += log(list[i].layer->time) -
				     log_roofline(table, list[i].layer, device, constant);
		sum += of_device / rows;
		++*devices;
	}
	return *devices ? sum / (double)*devices : NAN;
}

void efficiency_same(const struct transfer_table *table, const size_t *rows, size_t row_count,
	const size_t *asked, size_t asked_count, size_t device, double *log_time, size_t *devices)
{
	const double constant = constant_of(table, rows, row_count);
	struct measured *list = mem_alloc(row_count, sizeof(*list));

	for (size_t i = 0; i < row_count; i++)
		list[i] = (struct measured){hash_of(table, &table->layers[rows[i]]), &table->layers[rows[i]]};
	qsort(list, row_count, sizeof(*list), by_hash);
	for (size_t i = 0; i < asked_count; i++) {
		const struct transfer_layer *layer = &table->layers[asked[i]];
		const uint64_t hash = hash_of(table, layer);
		const size_t first = first_of(list, row_count, hash);
		size_t end = first;

		while (end < row_count && list[end].hash == hash)
			end++;
		log_time[i] = mean_ratio(table, list + first, end - first, constant, &devices[i]) +
			      log_roofline(table, layer, device, constant);
	}
	free(list);
}
