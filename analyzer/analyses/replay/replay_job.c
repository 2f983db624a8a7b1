/* A run as tasks, once it is made: its layers, shares, and times. See replay_build.h. */
#include "replay_build.h"
#include "replay_make.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void replay_layers(struct replay_job *job)
{
	size_t count = 0;

	for (uint32_t s = 0; s < job->analysis->stage_count; s++)
		count += stage_first(job->analysis, s)->layers.count;
	job->layers = mem_alloc(count, sizeof(*job->layers));
	for (uint32_t s = 0; s < job->analysis->stage_count; s++) {
		const struct layer_list *layers = &stage_first(job->analysis, s)->layers;

		for (size_t i = 0; i < layers->count; i++)
			job->layers[job->layer_count++] = (struct replay_layer){&layers->items[i], s};
	}
}

uint32_t *replay_layers_of(const struct replay_job *job, const struct analysis_worker *worker)
{
	uint32_t *numbers = mem_alloc(worker->layers.count, sizeof(*numbers));
	uint32_t first = 0, count = 0, next = 0;

	while (first < job->layer_count && job->layers[first].stage != worker->stage)
		first++;
	while (first + count < job->layer_count && job->layers[first + count].stage == worker->stage)
		count++;
	for (size_t i = 0; i < worker->layers.count; i++) {
		numbers[i] = REPLAY_NONE;
		/* They come in the same order, as a rule. */
		for (uint32_t j = 0; j < count && numbers[i] == REPLAY_NONE; j++) {
			uint32_t number = first + (next + j) % count;

			if (strcmp(job->layers[number].layer->name, worker->layers.items[i].name) == 0) {
				numbers[i] = number;
				next = number - first + 1;
			}
		}
	}
	return numbers;
}

size_t replay_put_in_order(struct replay_job *job, const struct replay_link *links, size_t link_count)
{
	size_t count = job->replay.task_count, cycles;
	uint32_t *place = mem_alloc(count, sizeof(*place));
	struct replay_work *works = mem_alloc(count, sizeof(*works));

	cycles = replay_order(&job->replay, links, link_count, place);
	for (size_t i = 0; i < count; i++)
		works[place[i]] = job->works[i];
	free(job->works);
	job->works = works;
	job->work_room = count;
	for (size_t i = 0; i < job->analysis->worker_count * job->iteration_count * 2; i++)
		job->marks[i] = place[job->marks[i]];
	free(place);
	return cycles;
}

void replay_end_parts(struct replay_job *job)
{
	for (size_t i = 0; i < job->replay.task_count; i++) {
		double sum = 0;

		for (uint32_t p = job->works[i].part; p != REPLAY_NONE; p = job->parts[p].next)
			sum += job->parts[p].share;
		for (uint32_t p = job->works[i].part; p != REPLAY_NONE; p = job->parts[p].next)
			job->parts[p].share = sum > 0 ? job->parts[p].share / sum : 0;
	}
}

void replay_job_free(struct replay_job *job)
{
	replay_free(&job->replay);
	free(job->works);
	free(job->parts);
	free(job->layers);
	free(job->marks);
	memset(job, 0, sizeof(*job));
}

static void *copy_of(const void *array, size_t count, size_t item_bytes)
{
	void *copy = mem_alloc(count, item_bytes);

	if (count)
		memcpy(copy, array, count * item_bytes);
	return copy;
}

#define COPY(array, count) ((array) = copy_of((array), (count), sizeof(*(array))))

void replay_job_copy(const struct replay_job *job, struct replay_job *copy)
{
	*copy = *job;
	COPY(copy->replay.tasks, job->replay.task_count);
	COPY(copy->replay.edges, job->replay.edge_count);
	COPY(copy->works, job->replay.task_count);
	COPY(copy->parts, job->part_count);
	COPY(copy->layers, job->layer_count);
	COPY(copy->marks, job->analysis->worker_count * job->iteration_count * 2);
	copy->replay.task_room = copy->work_room = job->replay.task_count;
	copy->replay.edge_room = job->replay.edge_count;
	copy->part_room = job->part_count;
}

size_t replay_iterations(const struct analysis *analysis)
{
	size_t least = SIZE_MAX;

	for (size_t w = 0; w < analysis->worker_count; w++)
		if (analysis->workers[w].used_count < least)
			least = analysis->workers[w].used_count;
	return analysis->worker_count ? least : 0;
}

uint32_t replay_find_layer(const struct replay_job *job, const char *name)
{
	for (uint32_t i = 0; i < job->layer_count; i++)
		if (strcmp(job->layers[i].layer->name, name) == 0)
			return i;
	for (uint32_t i = 0; i < job->layer_count; i++)
		if (strcmp(job->layers[i].layer->module, name) == 0)
			return i;
	return REPLAY_NONE;
}

double replay_share(const struct replay_job *job, uint32_t task, uint32_t layer)
{
	double share = 0;

	for (uint32_t p = job->works[task].part; p != REPLAY_NONE; p = job->parts[p].next)
		if (job->parts[p].layer == layer)
			share += job->parts[p].share;
	return share;
}

double replay_mean(const struct replay_job *job, const int64_t *end_ns, bool settled)
{
	size_t first = settled && job->iteration_count >= 4, count = 0;
	double sum_ns = 0;

	for (size_t w = 0; w < job->analysis->worker_count; w++)
		for (size_t i = first; i < job->iteration_count; i++) {
			sum_ns += (double)(end_ns[replay_boundary(job, w, i, true)] -
					   end_ns[replay_boundary(job, w, i, false)]);
			count++;
		}
	return count ? sum_ns / (double)count : NAN;
}
