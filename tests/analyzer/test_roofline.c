/*
 * Checks the roofline of a made-up LeNet-5 whose work and times are known: sums by layer and pass, medians,
 * the roof, what bounds, and the whole iteration; with and without a known device, and without device times.
 */
#include "base/plot.h"
#include "check.h"
#include "model_read.h"
#include "analyses/roofline/roofline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 };

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static const struct roofline_item *find(
	const struct roofline *roofline, const char *layer, enum roofline_direction direction)
{
	for (size_t i = 0; i < roofline->item_count; i++)
		if (strcmp(roofline->items[i].name, layer) == 0 && roofline->items[i].direction == direction)
			return &roofline->items[i];
	CHECK(false, "no %s %s", layer, roofline_direction_keys[direction]);
	return NULL;
}

static void open_run(struct analysis *analysis, const struct model_options *options)
{
	struct model model;

	model_make(&model, options);
	model_read(&model, 1, analysis);
	model_free(&model);
}

/* Of the matrix-like work of a sample: multiply-adds by layer, from LeNet-5's sizes. */
static const struct {
	const char *layer;
	double products;
	bool first;
} layers[] = {
	{"conv1", 24.0 * 24 * 6 * 25, true},
	{"conv2", 8.0 * 8 * 16 * 6 * 25, false},
	{"fc1", 256 * 120, false},
	{"fc2", 120 * 84, false},
	{"fc3", 84 * 10, false},
};

/* Biases, activations and the like come on top: less than 2 operations for each element of a result. */
static void check_flops(const struct roofline *roofline)
{
	for (size_t i = 0; i < sizeof(layers) / sizeof(*layers); i++) {
		double products = 2 * BATCH * layers[i].products, all = 0;
		int passes = 0;

		for (int direction = ROOFLINE_FORWARD; direction <= ROOFLINE_WEIGHT; direction++) {
			const struct roofline_item *item;
			double flops;

			if (layers[i].first && direction == ROOFLINE_DATA)
				continue;
			item = find(roofline, layers[i].layer, (enum roofline_direction)direction);
			flops = item ? item->amount.flops : 0;
			CHECK(flops >= products && flops < products * 1.1 + 4 * BATCH * 120,
				"%s %s: %.0f, products %.0f", layers[i].layer,
				roofline_direction_keys[direction], flops, products);
			all += flops;
			passes++;
		}
		CHECK(roofline_layer_flops(roofline, layers[i].layer) >= all, "%s: all its operations",
			layers[i].layer);
		CHECK(passes == (layers[i].first ? 2 : 3), "%s: %d passes", layers[i].layer, passes);
	}
	CHECK(isnan(roofline_layer_flops(roofline, "no such layer")), "a layer that is not there");
}

/* The roofline's times of a layer are those of the layer's columns. */
static void check_times(const struct analysis *analysis, const struct roofline *roofline)
{
	static const char *const names[] = {"conv1", "pool1", "conv2", "fc1", "fc3", "softmax"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		double sums_ns[ROOFLINE_DIRECTION_COUNT] = {0};

		for (size_t j = 0; j < roofline->item_count; j++)
			if (strcmp(roofline->items[j].name, names[i]) == 0)
				sums_ns[roofline->items[j].direction] += roofline->items[j].amount.time_ns;
		CHECK(near(sums_ns[ROOFLINE_FORWARD],
			      analysis_layer(analysis->workers, 1, names[i], PHASE_LAYER_FORWARD).median),
			"%s forward: %f ns", names[i], sums_ns[ROOFLINE_FORWARD]);
		CHECK(near(sums_ns[ROOFLINE_DATA] + sums_ns[ROOFLINE_WEIGHT],
			      analysis_layer(analysis->workers, 1, names[i], PHASE_LAYER_BACKWARD).median),
			"%s backward: %f ns", names[i], sums_ns[ROOFLINE_DATA] + sums_ns[ROOFLINE_WEIGHT]);
	}
}

static void check_roof(const struct analysis *analysis)
{
	struct roofline roofline;
	const struct roofline_item *item;
	double model_flops = 0, iteration_ns;

	roofline_find(analysis, &(struct roofline_options){.flops = 1e12, .bandwidth = 100e9}, &roofline);
	iteration_ns = analysis_iteration(analysis->workers, analysis->worker_count).mean;
	for (size_t i = 0; i < roofline.item_count; i++) {
		const struct roofline_amount *amount = &roofline.items[i].amount;

		if (roofline.items[i].direction != ROOFLINE_UPDATE)
			model_flops += amount->flops;
		CHECK(near(amount->flops_ns, amount->flops / 1e3) &&
				near(amount->bytes_ns, amount->bytes / 100),
			"item %zu: at peak", i);
		CHECK(amount->roof_ns >= fmax(amount->flops_ns, amount->bytes_ns) * (1 - 1e-9) &&
				amount->roof_ns <= (amount->flops_ns + amount->bytes_ns) * (1 + 1e-9),
			"item %zu: at the roof", i);
		CHECK(near(roofline_share(amount), amount->roof_ns / amount->time_ns), "item %zu: share", i);
	}
	CHECK(near(roofline.model_flops, model_flops), "%f operations in all", roofline.model_flops);
	CHECK(near(roofline.utilization, model_flops / 1e3 / iteration_ns), "MFU %f", roofline.utilization);
	CHECK(near(roofline.flops_rate, roofline.performed_flops / iteration_ns * 1e9) &&
			roofline.performed_flops > roofline.model_flops,
		"%f operations a second", roofline.flops_rate);
	/* one call each: data's gradient of conv2 and of a pooling */
	item = find(&roofline, "pool1", ROOFLINE_FORWARD);
	CHECK(item && item->amount.bound != ROOFLINE_COMPUTE && item->kind == WORK_POOLING,
		"pool1 is bound by %d", item ? (int)item->amount.bound : -1);
	roofline_free(&roofline);
	/* with little arithmetic and much bandwidth it is the arithmetic; nothing is short where the roof is
	 * low */
	roofline_find(analysis, &(struct roofline_options){.flops = 1e9, .bandwidth = 1e15}, &roofline);
	for (size_t i = 0; i < roofline.item_count; i++)
		CHECK(!(roofline.items[i].amount.flops > 1e6) ||
				roofline.items[i].amount.bound == ROOFLINE_COMPUTE,
			"item %zu is bound by %d", i, roofline.items[i].amount.bound);
	roofline_free(&roofline);
	/* and the other way round, what is far from the roof is short where its kernels are */
	roofline_find(analysis, &(struct roofline_options){.flops = 1e18, .bandwidth = 1e18}, &roofline);
	for (size_t i = 0; i < roofline.item_count; i++) {
		const struct roofline_amount *amount = &roofline.items[i].amount;
		bool is_short = amount->calls == 1 && roofline.shortest_ns <= 10000 &&
				amount->time_ns <= 2 * roofline.shortest_ns;

		CHECK(amount->calls != 1 || (amount->bound == ROOFLINE_LATENCY) == is_short,
			"item %zu of %f ns is bound by %d, the shortest is %f ns", i, amount->time_ns,
			amount->bound, roofline.shortest_ns);
	}
	roofline_free(&roofline);
}

/* The trace tells the device: its peaks, of each GPU its own. */
static void check_device(struct analysis *analysis)
{
	struct timeline *timeline = &analysis->timeline;
	struct roofline before, known, mixed;
	double roof_ns;

	roofline_find(analysis, &(struct roofline_options){0}, &before);
	CHECK(!before.device && !before.peak.source && isnan(before.utilization) && isnan(before.roof_ns),
		"a device that nobody named");
	CHECK(before.item_count > 0 && roofline_flops_rate(&before.items[0].amount) > 0 &&
			isnan(roofline_share(&before.items[0].amount)) &&
			before.items[0].amount.bound == ROOFLINE_UNKNOWN,
		"rates without a roof");
	roofline_free(&before);
	for (size_t p = 0; p < timeline->process_count; p++)
		timeline_set_device(timeline, &timeline->processes[p],
			&(struct timeline_device){.device = 0, .name = "Tesla V100-SXM2-16GB"});
	roofline_find(analysis, &(struct roofline_options){0}, &known);
	roof_ns = known.items[0].amount.roof_ns;
	CHECK(known.device && !known.mixed && known.peak.bandwidth == 900e9 && roof_ns > 0, "V100");
	roofline_free(&known);
	/* the second GPU reads twice as fast: the mean of both is three quarters, where bytes bound */
	timeline_set_device(timeline, &timeline->processes[1],
		&(struct timeline_device){.device = 0,
			.name = "Unheard-of",
			.capability_major = 7,
			.multiprocessors = 1000000,
			.clock_khz = 1000000,
			.memory_clock_khz = 900000000,
			.memory_bus_bits = 8});
	roofline_find(analysis, &(struct roofline_options){0}, &mixed);
	CHECK(mixed.mixed, "two sorts of GPUs");
	for (size_t i = 0; i < mixed.item_count; i++)
		if (mixed.items[i].kind == WORK_POOLING)
			CHECK(near(mixed.items[i].amount.bytes_ns, 0.75 * mixed.items[i].amount.bytes / 900),
				"item %zu: each GPU's own roof", i);
	roofline_free(&mixed);
}

/* Kernels that take about as long as the shortest, which is as short as a launch, and are far from the roof.
 */
static void check_short(void)
{
	static const struct {
		double share, kernel_us, shortest_us;
		bool is_short;
	} cases[] = {
		{0.1, 5, 3, true},
		{0.1, 9, 3, false},
		{0.35, 5, 3, true},
		{0.7, 5, 3, false},
		{0.1, 9, 7, true},
		{0.1, 16, 14, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(roofline_is_short(cases[i].share, cases[i].kernel_us * 1e3,
			      cases[i].shortest_us * 1e3) == cases[i].is_short,
			"%g of the roof, %g us, the shortest %g us", cases[i].share, cases[i].kernel_us,
			cases[i].shortest_us);
}

static void check_made(void)
{
	struct analysis analysis;
	struct roofline roofline;

	open_run(&analysis, &(struct model_options){.net = MODEL_LENET,
				    .batch = BATCH,
				    .iterations = 8,
				    .processes = 2,
				    .gpus = 1,
				    .slow = 1});
	roofline_find(&analysis, &(struct roofline_options){0}, &roofline);
	check_flops(&roofline);
	check_times(&analysis, &roofline);
	CHECK(roofline.kinds[WORK_COLLECTIVE].calls > 0 && roofline.kind_links[WORK_COLLECTIVE],
		"communication");
	CHECK(roofline.kinds[WORK_CONVOLUTION].calls == 5, "%f convolutions",
		roofline.kinds[WORK_CONVOLUTION].calls);
	roofline_free(&roofline);
	check_roof(&analysis);
	check_device(&analysis);
	analysis_free(&analysis);
}

/* No device times: work, and no rates. A graph whose operations are distinguished has both; one without,
 * neither. */
static void check_untimed(void)
{
	struct analysis analysis;
	struct roofline roofline;
	struct plot plot;

	open_run(&analysis, &(struct model_options){.net = MODEL_MLP,
				    .batch = BATCH,
				    .iterations = 8,
				    .processes = 1,
				    .gpus = 1,
				    .no_device = true});
	roofline_find(&analysis, &(struct roofline_options){.flops = 1e12, .bandwidth = 1e11}, &roofline);
	CHECK(roofline.item_count > 0, "items without times");
	for (size_t i = 0; i < roofline.item_count; i++)
		CHECK(isnan(roofline.items[i].amount.time_ns) &&
				roofline.items[i].amount.bound == ROOFLINE_UNKNOWN &&
				roofline.items[i].amount.flops > 0,
			"item %zu has a time", i);
	/* the data of the first layer have no gradient: only its activation's is left */
	CHECK(find(&roofline, "fc1", ROOFLINE_DATA)->amount.flops <
			0.01 * find(&roofline, "fc1", ROOFLINE_WEIGHT)->amount.flops,
		"fc1: products for the gradient of the data");
	CHECK(!roofline_plot(&roofline, &plot), "a picture without a point");
	plot_free(&plot);
	roofline_free(&roofline);
	analysis_free(&analysis);
}

int main(void)
{
	check_made();
	check_short();
	check_untimed();
	return check_end();
}
