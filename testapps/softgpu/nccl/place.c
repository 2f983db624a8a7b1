/*
 * Which rank of the job a communicator's rank is, for the links between them (sg_link_between).
 *
 * The one idea: a job's rank is a device of a process, and each rank says which when it joins. In the first
 * communicator that a device is in it gets its number and keeps it, in splits and in communicators of part of
 * the job too:
 *
 *	number = the process's rank * GPUs + place
 *
 * GPUs is the most devices that any process has in that communicator, and place the device's among those of
 * its process, by device number. So with one process per GPU the number is the process's rank, whichever
 * device it uses and whoever else is in the communicator, and with several GPUs in a process the communicator
 * of all of them should come first. Where this gives two ranks the same number (processes that nobody gave a
 * rank), the communicator's own ranks are the numbers.
 */
#include <stdlib.h>

#include "nccl_private.h"
#include "core/rules.h"

#define DEVICES 64

/* Number + 1 of this process's devices; 0: none yet. */
static _Atomic int kept[DEVICES];

struct nccl_place nccl_place_here(int device)
{
	struct nccl_place place = {sg_rules_rank(), device, -1};

	if (device >= 0 && device < DEVICES)
		place.job_rank = atomic_load(&kept[device]) - 1;
	return place;
}

/* Devices of the rank's process in the communicator: all, and those before the rank's own. */
static int count_devices(const struct nccl_segment *segment, int rank, int *before)
{
	const struct nccl_place *self = &segment->ranks[rank].place;
	int count = 0;

	*before = 0;
	for (int i = 0; i < segment->rank_count; i++) {
		const struct nccl_place *other = &segment->ranks[i].place;

		if (other->process_rank != self->process_rank)
			continue;
		count++;
		*before += other->device < self->device;
	}
	return count;
}

static int compare(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static int all_different(const int *numbers, int count)
{
	int *sorted = malloc((size_t)count * sizeof(*sorted)), different = sorted != NULL;

	for (int i = 0; i < count && sorted != NULL; i++)
		sorted[i] = numbers[i];
	if (sorted != NULL)
		qsort(sorted, (size_t)count, sizeof(*sorted), compare);
	for (int i = 1; i < count && different; i++)
		different = sorted[i] != sorted[i - 1];
	free(sorted);
	return different;
}

void nccl_place_all(const struct nccl_segment *segment, int *job_ranks)
{
	int n = segment->rank_count, most = 0, before;

	for (int i = 0; i < n; i++) {
		int count = count_devices(segment, i, &before);

		most = count > most ? count : most;
	}
	for (int i = 0; i < n; i++) {
		const struct nccl_place *place = &segment->ranks[i].place;

		count_devices(segment, i, &before);
		job_ranks[i] = place->job_rank >= 0 ? place->job_rank : place->process_rank * most + before;
	}
	if (all_different(job_ranks, n))
		return;
	for (int i = 0; i < n; i++)
		job_ranks[i] = i;
}

void nccl_place_keep(const struct nccl_segment *segment, int rank)
{
	int device = segment->ranks[rank].place.device, none = 0, *job_ranks;

	if (!sg_modelled() || device < 0 || device >= DEVICES || atomic_load(&kept[device]) != 0)
		return;
	job_ranks = malloc((size_t)segment->rank_count * sizeof(*job_ranks));
	if (job_ranks == NULL)
		return;
	nccl_place_all(segment, job_ranks);
	atomic_compare_exchange_strong(&kept[device], &none, job_ranks[rank] + 1);
	free(job_ranks);
}
