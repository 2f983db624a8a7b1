/*
 * Intervals of an iteration, and the CSV file of all of them: see clock.h. Intervals wait in a list, as there
 * may be many of a layer in an iteration, until their events have happened; rows are put in order and summed
 * when they are written.
 */
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
	"recompute",
	"communication",
	"update",
	"iteration",
};

enum { NO_LAYER = -1, TOTAL = NN_MAX_LAYERS, NO_ITERATION = -1 };

struct row {
	int iteration, gpu, layer; /* layer: NO_LAYER, TOTAL */
	enum clock_phase phase;
	const char *name;
	double time_us;
};

struct interval {
	cudaEvent_t begin, end; /* made when the place in the list is first used */
	int is_open;
	struct row row; /* iteration: NO_ITERATION until clock_collect */
};

struct list {
	struct interval *interval;
	size_t used, made;
};

struct clock {
	char path[1024];
	FILE *file;
	int rank, gpus;
	struct nn *nets;
	double host_us[CLOCK_PHASES]; /* negative: not measured in this iteration */
	struct list *device;          /* one per GPU: an event belongs to one */
	const char *names[NN_MAX_LAYERS];
	struct row *rows;
	size_t row_count, row_limit;
};

/* Room for one more of `size` bytes in a list that has `used` and room for `*limit`. */
static void *grown(void *list, size_t used, size_t *limit, size_t size)
{
	if (used < *limit)
		return list;
	*limit = *limit ? 2 * *limit : 1024;
	list = realloc(list, *limit * size);
	if (!list)
		err(1, "%zu x %zu bytes of memory", *limit, size);
	return list;
}

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
	clock->file = fopen(clock->path, "we");
	if (!clock->file)
		err(1, "%s", clock->path);
	clock->rank = rank;
	clock->nets = nets;
	clock->gpus = gpus;
	clock->device = xcalloc((size_t)gpus, sizeof(*clock->device));
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
	if (!clock)
		return;
	if (clock->host_us[phase] < 0)
		clock->host_us[phase] = 0;
	clock->host_us[phase] += clock_now_us() - begin_us;
}

void clock_name(struct clock *clock, int layer, const char *name)
{
	if (clock)
		clock->names[layer] = name;
}

static const char *name_of(const struct clock *clock, enum clock_phase phase, int gpu, int layer)
{
	if (layer == NO_LAYER)
		return "-";
	if (phase == CLOCK_COMMUNICATION && clock->names[layer])
		return clock->names[layer];
	return clock->nets[gpu].layer[layer].name;
}

void clock_begin(struct clock *clock, enum clock_phase phase, int gpu, int layer, cudaStream_t stream)
{
	struct list *list = NULL;
	struct interval *i = NULL;
	size_t made = 0;

	if (!clock)
		return;
	list = &clock->device[gpu];
	made = list->made;
	list->interval = grown(list->interval, list->used, &list->made, sizeof(*list->interval));
	memset(list->interval + made, 0, (list->made - made) * sizeof(*list->interval));
	i = &list->interval[list->used++];
	if (!i->begin) {
		CHECK(cudaEventCreate(&i->begin));
		CHECK(cudaEventCreate(&i->end));
	}
	i->is_open = 1;
	i->row = (struct row){NO_ITERATION, gpu, layer, phase, name_of(clock, phase, gpu, layer), 0};
	CHECK(cudaEventRecord(i->begin, stream));
}

void clock_end(struct clock *clock, enum clock_phase phase, int gpu, int layer, cudaStream_t stream)
{
	struct list *list = clock ? &clock->device[gpu] : NULL;

	for (size_t i = list ? list->used : 0; i-- > 0;) {
		struct interval *interval = &list->interval[i];

		if (!interval->is_open || interval->row.phase != phase || interval->row.layer != layer)
			continue;
		CHECK(cudaEventRecord(interval->end, stream));
		interval->is_open = 0;
		return;
	}
}

static void add_row(struct clock *clock, struct row row)
{
	clock->rows = grown(clock->rows, clock->row_count, &clock->row_limit, sizeof(*clock->rows));
	clock->rows[clock->row_count++] = row;
}

/* 0: the GPU has not done it yet. */
static int measure(struct clock *clock, struct interval *i)
{
	float time_ms = 0;
	cudaError_t result = cudaEventElapsedTime(&time_ms, i->begin, i->end);

	if (result == cudaErrorNotReady) {
		cudaGetLastError();
		return 0;
	}
	CHECK(result);
	i->row.time_us = 1e3 * (double)time_ms;
	add_row(clock, i->row);
	if (i->row.phase == CLOCK_COMMUNICATION) {
		i->row.layer = TOTAL;
		i->row.name = "total";
		add_row(clock, i->row);
	}
	return 1;
}

static void collect_device(struct clock *clock, int iteration, struct list *list)
{
	size_t kept = 0;

	for (size_t n = 0; n < list->used; n++) {
		struct interval i = list->interval[n];

		if (i.row.iteration == NO_ITERATION)
			i.row.iteration = iteration;
		if (measure(clock, &i))
			continue;
		/* Its place goes to the one that it takes the place of: events are made once. */
		list->interval[n] = list->interval[kept];
		list->interval[kept++] = i;
	}
	list->used = kept;
}

void clock_collect(struct clock *clock, int iteration)
{
	if (!clock)
		return;
	for (int p = 0; p < CLOCK_PHASES; p++) {
		if (clock->host_us[p] >= 0)
			add_row(clock, (struct row){iteration, -1, NO_LAYER, (enum clock_phase)p, "-",
					       clock->host_us[p]});
		clock->host_us[p] = -1;
	}
	for (int gpu = 0; gpu < clock->gpus; gpu++)
		collect_device(clock, iteration, &clock->device[gpu]);
}

/* By iteration, phase, GPU and place in the network. */
static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->iteration != y->iteration)
		return x->iteration < y->iteration ? -1 : 1;
	if (x->phase != y->phase)
		return x->phase < y->phase ? -1 : 1;
	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	return x->layer < y->layer ? -1 : x->layer > y->layer;
}

static void sum_rows(struct clock *clock)
{
	size_t kept = 0;

	if (clock->row_count)
		qsort(clock->rows, clock->row_count, sizeof(*clock->rows), compare);
	for (size_t i = 0; i < clock->row_count; i++) {
		if (kept && !compare(&clock->rows[kept - 1], &clock->rows[i]))
			clock->rows[kept - 1].time_us += clock->rows[i].time_us;
		else
			clock->rows[kept++] = clock->rows[i];
	}
	clock->row_count = kept;
}

static void write_rows(struct clock *clock)
{
	FILE *file = clock->file;
	int failed = 0;

	fprintf(file, "iteration,rank,gpu,phase,layer,index,time_us\n");
	for (size_t i = 0; i < clock->row_count; i++) {
		const struct row *row = &clock->rows[i];

		fprintf(file, "%d,%d,%d,%s,%s,%d,%.3f\n", row->iteration, clock->rank, row->gpu,
			phase_names[row->phase], row->name, row->layer == TOTAL ? NO_LAYER : row->layer,
			row->time_us);
	}
	failed = ferror(file);
	if (fclose(file) || failed)
		err(1, "%s", clock->path);
}

static void free_list(struct list *list)
{
	for (size_t i = 0; i < list->made; i++)
		if (list->interval[i].begin) {
			CHECK(cudaEventDestroy(list->interval[i].begin));
			CHECK(cudaEventDestroy(list->interval[i].end));
		}
	free(list->interval);
}

void clock_close(struct clock *clock)
{
	if (!clock)
		return;
	for (int gpu = 0; gpu < clock->gpus; gpu++)
		collect_device(clock, NO_ITERATION, &clock->device[gpu]);
	sum_rows(clock);
	write_rows(clock);
	for (int gpu = 0; gpu < clock->gpus; gpu++)
		free_list(&clock->device[gpu]);
	free(clock->device);
	free(clock->rows);
	free(clock);
}
