/* Intervals of an iteration, and the CSV file of all of them: see clock.h. */
#include "clock.h"

#include <string.h>
#include <time.h>

#include "check.h"

static const char *const phase_names[CLOCK_PHASES] = {
	"io",
	"decode",
	"md",
	"h2d",
	"forward",
	"backward",
	"communication",
	"update",
	"iteration",
};

struct interval {
	cudaEvent_t begin, end; /* NULL until used once */
	int is_used;            /* in this iteration */
};

struct row {
	int iteration, gpu, layer; /* layer: -1 none, -2 the total */
	enum clock_phase phase;
	double time_us;
};

enum { NO_LAYER = -1, TOTAL = -2, SLOTS = NN_MAX_LAYERS + 1 };

struct clock {
	char path[1024];
	int rank, gpus;
	struct nn *nets;
	double host_us[CLOCK_PHASES]; /* negative: not measured in this iteration */
	struct interval *device;      /* [gpu][phase][layer + 1] */
	struct row *rows;
	size_t row_count, row_limit;
};

struct clock *clock_open(const char *file, int rank, int world, struct nn *nets, int gpus)
{
	struct clock *clock = NULL;
	const char *mark = file ? strstr(file, "%r") : NULL;

	if (!file)
		return NULL;
	clock = xcalloc(1, sizeof(*clock));
	if (mark)
		snprintf(clock->path, sizeof(clock->path), "%.*s%d%s", (int)(mark - file), file, rank,
			mark + 2);
	else if (world > 1)
		snprintf(clock->path, sizeof(clock->path), "%s.%d", file, rank);
	else
		snprintf(clock->path, sizeof(clock->path), "%s", file);
	clock->rank = rank;
	clock->nets = nets;
	clock->gpus = gpus;
	clock->device = xcalloc((size_t)gpus * CLOCK_PHASES * SLOTS, sizeof(*clock->device));
	for (int i = 0; i < CLOCK_PHASES; i++)
		clock->host_us[i] = -1;
	return clock;
}

double clock_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

void clock_host(struct clock *clock, enum clock_phase phase, double begin_us)
{
	if (clock)
		clock->host_us[phase] = clock_now_us() - begin_us;
}

static struct interval *interval(struct clock *clock, enum clock_phase phase, int gpu, int layer)
{
	return &clock->device[(gpu * CLOCK_PHASES + (int)phase) * SLOTS + layer + 1];
}

void clock_begin(struct clock *clock, enum clock_phase phase, int gpu, int layer, cudaStream_t stream)
{
	struct interval *i = NULL;

	if (!clock)
		return;
	i = interval(clock, phase, gpu, layer);
	if (!i->begin) {
		CHECK(cudaEventCreate(&i->begin));
		CHECK(cudaEventCreate(&i->end));
	}
	CHECK(cudaEventRecord(i->begin, stream));
}

void clock_end(struct clock *clock, enum clock_phase phase, int gpu, int layer, cudaStream_t stream)
{
	struct interval *i = NULL;

	if (!clock)
		return;
	i = interval(clock, phase, gpu, layer);
	CHECK(cudaEventRecord(i->end, stream));
	i->is_used = 1;
}

static void add_row(struct clock *clock, struct row row)
{
	if (clock->row_count == clock->row_limit) {
		clock->row_limit = clock->row_limit ? 2 * clock->row_limit : 4096;
		clock->rows = realloc(clock->rows, clock->row_limit * sizeof(*clock->rows));
		if (!clock->rows)
			err(1, "%zu rows of %s", clock->row_limit, clock->path);
	}
	clock->rows[clock->row_count++] = row;
}

static void collect_device(struct clock *clock, int iteration, enum clock_phase phase, int gpu)
{
	double total_us = 0;
	int is_used = 0;

	for (int layer = NO_LAYER; layer < clock->nets[gpu].layer_count; layer++) {
		struct interval *i = interval(clock, phase, gpu, layer);
		float time_ms = 0;

		if (!i->is_used)
			continue;
		CHECK(cudaEventElapsedTime(&time_ms, i->begin, i->end));
		i->is_used = 0;
		is_used = 1;
		total_us += 1e3 * (double)time_ms;
		add_row(clock, (struct row){iteration, gpu, layer, phase, 1e3 * (double)time_ms});
	}
	if (is_used && phase == CLOCK_COMMUNICATION)
		add_row(clock, (struct row){iteration, gpu, TOTAL, phase, total_us});
}

void clock_collect(struct clock *clock, int iteration)
{
	if (!clock)
		return;
	for (int p = 0; p < CLOCK_PHASES; p++) {
		enum clock_phase phase = (enum clock_phase)p;

		if (clock->host_us[p] >= 0)
			add_row(clock, (struct row){iteration, -1, NO_LAYER, phase, clock->host_us[p]});
		clock->host_us[p] = -1;
		for (int gpu = 0; gpu < clock->gpus; gpu++)
			collect_device(clock, iteration, phase, gpu);
	}
}

static void write_rows(struct clock *clock)
{
	FILE *file = fopen(clock->path, "w");
	int failed = 0;

	if (!file)
		err(1, "%s", clock->path);
	fprintf(file, "iteration,rank,gpu,phase,layer,index,time_us\n");
	for (size_t i = 0; i < clock->row_count; i++) {
		const struct row *row = &clock->rows[i];
		const char *layer = row->layer >= 0       ? clock->nets[row->gpu].layer[row->layer].name
				    : row->layer == TOTAL ? "total"
							  : "-";

		fprintf(file, "%d,%d,%d,%s,%s,%d,%.3f\n", row->iteration, clock->rank, row->gpu,
			phase_names[row->phase], layer, row->layer >= 0 ? row->layer : -1, row->time_us);
	}
	failed = ferror(file);
	if (fclose(file) || failed)
		err(1, "%s", clock->path);
}

void clock_close(struct clock *clock)
{
	if (!clock)
		return;
	write_rows(clock);
	for (int i = 0; i < clock->gpus * CLOCK_PHASES * SLOTS; i++)
		if (clock->device[i].begin) {
			CHECK(cudaEventDestroy(clock->device[i].begin));
			CHECK(cudaEventDestroy(clock->device[i].end));
		}
	free(clock->device);
	free(clock->rows);
	free(clock);
}
