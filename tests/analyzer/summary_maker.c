/* Made-up summaries: see summary_maker.h. */
#include "summary_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_NS 1000000.0 /* forward and backward of a layer */
#define LEAD_NS 500000.0
#define TRANSFER_NS 200000
#define START_NS 1000000000000
#define WALL_NS 1790000000000000000
#define USED 40

const struct maker_options maker_usual = {.ranks = 8,
	.per_host = 4,
	.straggler = 5,
	.cause = MAKER_LAYER,
	.extra = 0.2,
	.clock_ns = 3000000,
	.jitter_ns = 20000,
	.layers = 16,
	.exchanges = 8,
	.sampled = 16};

static uint64_t draw(uint64_t a, uint64_t b, uint64_t c)
{
	return mem_hash(mem_hash(mem_hash(MEM_HASH_START, a + 1), b + 1), c + 1);
}

static double iteration_ns(const struct maker_options *options)
{
	return options->layers * LAYER_NS + LEAD_NS + options->exchanges * (double)TRANSFER_NS;
}

static double cost_of(const struct maker_options *options)
{
	return options->cause == MAKER_NONE ? 0 : options->extra * iteration_ns(options);
}

int64_t maker_error_ns(const struct maker_options *options, int32_t rank)
{
	uint64_t host = (uint64_t)(rank / options->per_host);

	if (host == 0 || options->clock_ns == 0)
		return 0;
	return (int64_t)(draw(host, 77, 0) % (uint64_t)(2 * options->clock_ns + 1)) - options->clock_ns;
}

/* How long after the last exchange a rank comes to this one. */
static int64_t arrival_ns(
	const struct maker_options *options, int32_t rank, unsigned sample, unsigned exchange)
{
	int64_t ns = (int64_t)(options->layers * LAYER_NS / options->exchanges);
	int32_t late = options->coming_and_going ? (int32_t)(draw(sample, 5, 5) % (uint64_t)options->ranks)
						 : options->straggler;

	if (options->jitter_ns > 0)
		ns += (int64_t)(draw((uint64_t)rank, sample, exchange) % (uint64_t)options->jitter_ns);
	if (rank == late)
		ns += (int64_t)(cost_of(options) / options->exchanges);
	return ns;
}

/* When the last rank comes to an exchange, after the one before. */
static int64_t last_ns(const struct maker_options *options, unsigned sample, unsigned exchange, int32_t *last)
{
	int64_t greatest = 0;

	for (int32_t rank = 0; rank < options->ranks; rank++) {
		int64_t ns = arrival_ns(options, rank, sample, exchange);

		if (ns <= greatest)
			continue;
		greatest = ns;
		*last = rank;
	}
	return greatest;
}

struct maker_truth maker_truth(const struct maker_options *options)
{
	struct maker_truth truth = {.cost_ns = cost_of(options)};

	for (unsigned s = 0; s < options->sampled; s++)
		for (unsigned e = 0; e < options->exchanges; e++) {
			int32_t last = 0;
			int64_t until_ns = last_ns(options, s, e, &last);
			double sum = 0;

			for (int32_t rank = 0; rank < options->ranks; rank++)
				sum += (double)(until_ns - arrival_ns(options, rank, s, e));
			truth.wait_ns += sum / options->ranks / options->sampled;
			if (last == options->straggler)
				truth.wait_caused_ns += sum / options->sampled;
		}
	return truth;
}

static struct summary_spread spread(double ns)
{
	static const double places[SUMMARY_QUANTILES] = {0.98, 0.985, 0.995, 1, 1.005, 1.015, 1.02};
	struct summary_spread item = {.mean = ns, .deviation = ns * 0.008};

	for (int i = 0; i < SUMMARY_QUANTILES; i++)
		item.quantiles[i] = (float)(ns * places[i]);
	return item;
}

static void make_layers(const struct maker_options *options, bool late, double more_ns,
	struct summary_names *names, struct summary_worker *worker)
{
	struct summary_model model = {.count = options->layers};
	double compute_ns = 0;

	model.names = mem_alloc(options->layers, sizeof(*model.names));
	worker->layers = mem_alloc(options->layers, sizeof(*worker->layers));
	for (unsigned l = 0; l < options->layers; l++) {
		char text[64];
		double ns = LAYER_NS;

		if (late && options->cause == MAKER_LAYER && l == 3)
			ns += more_ns;
		if (late && (options->cause == MAKER_SLOWER || options->cause == MAKER_WORK))
			ns += more_ns / options->layers;
		model.names[l] = (struct summary_name){.module = "",
			.activation = "",
			.parameter_count = 1000 + l,
			.parameter_bytes = 4000 + 4 * l};
		snprintf(text, sizeof(text), "conv%u", l + 1);
		model.names[l].name = summary_intern(names, text, strlen(text));
		snprintf(text, sizeof(text), "3x3x%u->%u s1 p1", 16 + l, 17 + l);
		model.names[l].text = summary_intern(names, text, strlen(text));
		snprintf(text, sizeof(text), "%dx%ux32x32", late && options->cause == MAKER_WORK ? 96 : 64,
			16 + l);
		model.names[l].input = summary_intern(names, text, strlen(text));
		model.names[l].module = model.names[l].activation = summary_intern(names, "", 0);
		for (int c = 0; c < 2; c++) {
			worker->layers[l].mean[c] = ns * (c ? 0.6 : 0.4);
			worker->layers[l].deviation[c] = (float)(ns * 0.005);
			worker->layers[l].median[c] = (float)(ns * (c ? 0.6 : 0.4));
			worker->layers[l].quarter[c] = (float)(ns * (c ? 0.598 : 0.398));
		}
		compute_ns += ns;
	}
	worker->model = summary_intern_model(names, &model);
	worker->compute = spread(compute_ns);
	worker->samples = late && options->cause == MAKER_WORK ? 96 : 64;
	free(model.names);
}

static void make_parts(const struct maker_options *options, int32_t rank, struct summary_worker *worker)
{
	/* The last arrival is the same for all ranks: worked out once a job. */
	static int64_t *last;
	static const struct maker_options *of;
	int64_t boot_ns = (int64_t)(draw((uint64_t)(rank / options->per_host), 3, 3) % START_NS);
	size_t count = (size_t)options->sampled * options->exchanges;

	if (of != options || rank == 0) {
		free(last);
		last = mem_alloc(count, sizeof(*last));
		of = options;
		for (size_t i = 0; i < count; i++) {
			int32_t who = 0;

			last[i] = last_ns(options, (unsigned)(i / options->exchanges),
				(unsigned)(i % options->exchanges), &who);
		}
	}
	/* In a chain the second one is for every other exchange. */
	worker->line_count = options->chain ? 2 : 1;
	worker->lines = mem_alloc(2, sizeof(*worker->lines));
	for (int i = 0; i < 2; i++)
		worker->lines[i] = (struct summary_line){
			.hash = 0x123456789abcdef0, .key = 4711, .size = options->ranks};
	if (options->chain) {
		worker->lines[0].hash = draw((uint64_t)(rank / options->per_host / 2), 1, 1);
		worker->lines[1].hash = draw((uint64_t)((rank / options->per_host + 1) / 2), 2, 2);
	}
	worker->thin = options->thin;
	worker->parts = mem_alloc(count, sizeof(*worker->parts));
	worker->sampled = options->sampled;
	for (unsigned s = 0; s < options->sampled; s++) {
		int64_t at_ns = 2 * START_NS + (int64_t)(iteration_ns(options) * 3) * s - boot_ns;

		for (unsigned e = 0; e < options->exchanges; e++) {
			size_t i = (size_t)s * options->exchanges + e;
			int64_t end_ns = at_ns + last[i] + TRANSFER_NS;

			if (!options->thin || draw(s, e, 123) % 2)
				worker->parts[worker->part_count++] = (struct summary_part){
					.begin_ns = at_ns + arrival_ns(options, rank, s, e),
					/* ends differ, too, but by little */
					.end_ns = end_ns + (int64_t)(draw((uint64_t)rank, i, 9) % 2000),
					.sequence = 100 * s + e + 1,
					.line = (uint16_t)(options->chain ? e % 2 : 0),
					.sample = (uint16_t)s,
				};
			at_ns = end_ns;
		}
	}
	if (rank == options->ranks - 1) {
		free(last);
		last = NULL;
		of = NULL;
	}
}

void maker_make(const struct maker_options *options, int32_t rank, struct summary_names *names,
	struct summary *summary)
{
	bool late = rank == options->straggler && options->cause != MAKER_NONE && !options->coming_and_going;
	double more_ns = cost_of(options);
	int64_t boot_ns = (int64_t)(draw((uint64_t)(rank / options->per_host), 3, 3) % START_NS);
	struct summary_worker *worker = mem_alloc(1, sizeof(*worker));
	char text[64];

	*summary = (struct summary){.path = "",
		.rank = rank,
		.world = options->ranks,
		.pid = 1000 + (uint64_t)rank,
		.device_source = PM_DEVICE_CUPTI,
		.ended = true,
		.real_offset_ns = WALL_NS + boot_ns + maker_error_ns(options, rank),
		.run_ns = 60000000000,
		.workers = worker,
		.worker_count = 1};
	snprintf(text, sizeof(text), "train.%d.pmtrace", rank);
	summary->source = summary_intern(names, text, strlen(text));
	snprintf(text, sizeof(text), "node%04d", rank / options->per_host);
	summary->host = summary_intern(names, text, strlen(text));
	summary->program = summary_intern(names, "train", 5);
	summary->trouble = summary_intern(names, "", 0);
	worker->confidence = 1;
	worker->found = USED + 1;
	worker->used = USED;
	worker->kinds[ITERATION_USED] = USED;
	worker->kinds[ITERATION_WARMUP] = 1;
	worker->iteration = spread(iteration_ns(options) + more_ns);
	worker->lead = spread(LEAD_NS + (late && options->cause == MAKER_INPUT ? more_ns : 0));
	worker->host = spread(late && options->cause == MAKER_HOST ? more_ns : 1000);
	make_layers(options, late, more_ns, names, worker);
	worker->busy[PHASE_IO] = worker->exclusive[PHASE_IO] = worker->lead;
	worker->busy[PHASE_FORWARD] = spread(worker->compute.mean * 0.4);
	worker->busy[PHASE_BACKWARD] = spread(worker->compute.mean * 0.6);
	worker->exclusive[PHASE_FORWARD] = worker->busy[PHASE_FORWARD];
	worker->exclusive[PHASE_BACKWARD] = worker->busy[PHASE_BACKWARD];
	worker->busy[PHASE_COMMUNICATION] = worker->exclusive[PHASE_COMMUNICATION] =
		spread(worker->iteration.mean - worker->compute.mean - worker->lead.mean);
	make_parts(options, rank, worker);
}
