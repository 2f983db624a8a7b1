/* Checks the load imbalance factor and the statistics by hand-computed values, and who is found to make whom
 * wait. */
#include "analyses/balance.h"
#include "analyses/load_imbalance.h"
#include "check.h"
#include "model_read.h"

#include <math.h>
#include <string.h>

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-12;
}

static void check_formula(void)
{
	static const struct {
		double values[4];
		size_t count;
		double imbalance;
	} cases[] = {
		{{1, 1, 1}, 3, 1},
		{{1, 1, 2}, 3, 1.5},
		{{5}, 1, 1},
		{{3, 0}, 2, 2},
		/* 3 x 1.23 / (1.23 + 0.885 + 0.885): the published 1.23 for TensorFlow's CNN on 3 GPUs */
		{{1.23, 0.885, 0.885}, 3, 1.23},
		/* 1034 1246 1068 1240 1126 1041 1051 1059 us of computing on 8 V100s, published LIF 1.124;
		   four of them */
		{{1034, 1246, 1068, 1240}, 4, 4.0 * 1246 / 4588},
	};
	static const double dlrm[] = {1034, 1246, 1068, 1240, 1126, 1041, 1051, 1059};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		CHECK(near(load_imbalance(cases[i].values, cases[i].count), cases[i].imbalance),
			"case %zu: %f, expected %f", i, load_imbalance(cases[i].values, cases[i].count),
			cases[i].imbalance);
	CHECK(fabs(load_imbalance(dlrm, 8) - 1.124) < 0.0005, "8 ranks: %f", load_imbalance(dlrm, 8));
	CHECK(isnan(load_imbalance((const double[]){0, 0}, 2)), "nothing takes time");
	CHECK(isnan(load_imbalance(NULL, 0)), "nobody is there");
}

static void check_statistics(void)
{
	double values[] = {4, 2, 9, 1};
	struct analysis_statistics result = analysis_statistics(values, 4);

	CHECK(result.mean == 4 && result.median == 3 && result.least == 1 && result.greatest == 9,
		"of 1 2 4 9");
	CHECK(near(result.deviation, sqrt((9 + 4 + 0 + 25) / 3.0)), "deviation %f", result.deviation);
	result = analysis_statistics(values, 1);
	CHECK(result.mean == 1 && result.deviation == 0 && result.median == 1, "of one value");
	result = analysis_statistics(values, 0);
	CHECK(isnan(result.mean) && isnan(result.deviation), "of none");
}

/* Rank 2 of 3 computes twice as long as the others: LIF = 3 x 2 / 4, everywhere it computes. */
static void check_ranks(bool gpus)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 8,
		.batch = 16,
		.processes = gpus ? 1 : 3,
		.gpus = gpus ? 3 : 1,
		.slow_worker = 2,
		.slow = 2};
	struct analysis analysis;
	struct balance balance;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	balance_find(&analysis, &balance);
	CHECK(near(load_imbalance_computing(&analysis), 1.5), "LIF %f", load_imbalance_computing(&analysis));
	CHECK(analysis_slowest(&analysis) == 2, "slowest is %zu", analysis_slowest(&analysis));
	for (size_t i = 0; i < balance.layer_count; i++)
		CHECK(near(balance.layers[i].imbalance, 1.5) && balance.layers[i].slowest == 2,
			"layer %s: LIF %f, rank %zu", balance.layers[i].name, balance.layers[i].imbalance,
			balance.layers[i].slowest);
	CHECK(balance.layer_count == 9, "%zu layers", balance.layer_count);
	for (size_t i = 0; i < balance.phase_count; i++) {
		const struct balance_item *phase = &balance.phases[i];

		if (strcmp(phase->name, "forward") == 0 || strcmp(phase->name, "backward") == 0 ||
			strcmp(phase->name, "update") == 0)
			CHECK(near(phase->imbalance, 1.5) && phase->slowest == 2, "%s: LIF %f", phase->name,
				phase->imbalance);
		if (strcmp(phase->name, "io") == 0)
			CHECK(near(phase->imbalance, 1), "io: LIF %f", phase->imbalance);
	}
	CHECK(balance.collective_count == 7 * 5, "%zu exchanges in 7 iterations of 5 layers",
		balance.collective_count);
	CHECK(balance.ranks[2].wait_ns == 0 && balance.ranks[0].wait_caused_ns == 0 &&
			balance.ranks[1].wait_caused_ns == 0,
		"rank 2 waits %f, the others cause %f and %f", balance.ranks[2].wait_ns,
		balance.ranks[0].wait_caused_ns, balance.ranks[1].wait_caused_ns);
	CHECK(near(balance.ranks[2].wait_caused_ns, balance.ranks[0].wait_ns + balance.ranks[1].wait_ns) &&
			balance.ranks[2].wait_caused_ns > 0,
		"caused %f, waited %f and %f", balance.ranks[2].wait_caused_ns, balance.ranks[0].wait_ns,
		balance.ranks[1].wait_ns);
	CHECK(balance.ranks[2].last_count == 7, "rank 2 was waited for %zu times",
		balance.ranks[2].last_count);
	balance_free(&balance);
	analysis_free(&analysis);
	model_free(&model);
}

/* Somebody is always last, but who is so by little is not waited for: rank 2, so many times slower, for so
 * many of seven first exchanges. */
static void check_last(double slow, size_t waited)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 8,
		.batch = 16,
		.processes = 3,
		.gpus = 1,
		.slow_worker = 2,
		.slow = slow};
	struct analysis analysis;
	struct balance balance;
	struct model model;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	balance_find(&analysis, &balance);
	for (size_t i = 0; i < 3; i++)
		CHECK(balance.ranks[i].last_count == (i == 2 ? waited : 0),
			"rank %zu was waited for %zu times", i, balance.ranks[i].last_count);
	CHECK(balance.ranks[2].wait_caused_ns > 0, "rank 2 is not last");
	balance_free(&balance);
	analysis_free(&analysis);
	model_free(&model);
}

/* All exchanges of an iteration in one group: waited for once, and shared out over the layers by their bytes.
 */
static void check_group(void)
{
	struct model_options options = {.net = MODEL_LENET,
		.iterations = 8,
		.batch = 16,
		.processes = 3,
		.gpus = 1,
		.slow_worker = 2,
		.slow = 2,
		.grouped = true};
	struct analysis analysis;
	struct balance balance;
	struct model model;
	double sum = 0, parameters = 0;

	model_make(&model, &options);
	model_read(&model, 1, &analysis);
	balance_find(&analysis, &balance);
	CHECK(balance.collective_count == 7, "%zu exchanges in 7 iterations", balance.collective_count);
	CHECK(near(balance.ranks[2].wait_caused_ns, balance.ranks[0].wait_ns + balance.ranks[1].wait_ns),
		"caused %f", balance.ranks[2].wait_caused_ns);
	for (size_t i = 0; i < analysis.workers[2].layers.count; i++) {
		const struct layer *layer = &analysis.workers[2].layers.items[i];
		double layer_ns =
			analysis_layer(&analysis.workers[2], 1, layer->name, PHASE_LAYER_COMMUNICATION).mean;
		double all_ns =
			analysis_phase(&analysis.workers[2], 1, PHASE_COMMUNICATION, ANALYSIS_BUSY).mean;

		sum += layer_ns;
		parameters += (double)layer->parameter_count;
		CHECK(near(layer_ns, all_ns * (double)layer->parameter_count / 44426), "%s: %f of %f",
			layer->name, layer_ns, all_ns);
	}
	CHECK(parameters == 44426, "%f parameters", parameters);
	CHECK(near(sum, analysis_phase(&analysis.workers[2], 1, PHASE_COMMUNICATION, ANALYSIS_BUSY).mean),
		"layers: %f", sum);
	balance_free(&balance);
	analysis_free(&analysis);
	model_free(&model);
}

int main(void)
{
	check_formula();
	check_statistics();
	check_ranks(false);
	check_ranks(true);
	check_last(1.0002, 0); /* the others wait 0.9% of the exchange */
	check_last(1.0003, 7); /* 1.7% */
	check_group();
	return check_end();
}
