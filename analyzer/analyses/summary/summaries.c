/* The summaries of a job: see summaries.h. */
#include "summaries.h"
#include "base/statistics.h"
#include "base/table.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void trouble(struct summaries *job, const char *sentence)
{
	*MEM_PUSH(job->troubles, job->trouble_count, job->trouble_room) = sentence;
}

/* ---- Reading ---- */

static void load(struct summaries *job, const char *path)
{
	const char *error;

	if (summary_load(&job->list, &job->names, path, &error) < 0)
		trouble(job, error);
}

static int compare_texts(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

static void load_folder(struct summaries *job, const char *path)
{
	DIR *folder = opendir(path);
	char **files = NULL;
	size_t count = 0, room = 0;

	if (!folder) {
		trouble(job, arena_format(&job->names.arena, "%s: %s", path, strerror(errno)));
		return;
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		size_t length = strlen(entry->d_name);

		if (length > 6 && strcmp(entry->d_name + length - 6, ".pmsum") == 0)
			*MEM_PUSH(files, count, room) =
				arena_format(&job->names.arena, "%s/%s", path, entry->d_name);
	}
	closedir(folder);
	if (count == 0)
		trouble(job, arena_format(&job->names.arena, "%s: no *.pmsum file in this folder", path));
	else
		qsort(files, count, sizeof(*files), compare_texts);
	for (size_t i = 0; i < count; i++)
		load(job, files[i]);
	free(files);
}

static int compare_summaries(const void *left, const void *right)
{
	const struct summary *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->rank < 0 && a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->run_ns != b->run_ns) /* of two, the longer run is the better guess */
		return a->run_ns > b->run_ns ? -1 : 1;
	return strcmp(a->source, b->source);
}

/* One summary a rank, the first; what else there is is said. */
static void drop_doubles(struct summaries *job)
{
	size_t kept = 0, doubles = 0;
	const struct summary *first = NULL, *second = NULL;

	for (size_t i = 0; i < job->list.count; i++) {
		struct summary *item = &job->list.items[i],
			       *before = kept ? &job->list.items[kept - 1] : NULL;

		if (before && item->rank >= 0 && item->rank == before->rank &&
			strcmp(item->program, before->program) == 0) {
			if (doubles++ == 0) {
				first = before;
				second = item;
				trouble(job, arena_format(&job->names.arena,
						     "rank %d occurs more than once, in %s and %s: using the "
						     "first",
						     first->rank, first->path, second->path));
			}
			summary_free(item);
			continue;
		}
		job->list.items[kept++] = *item;
	}
	if (doubles > 1)
		trouble(job,
			arena_format(&job->names.arena,
				"and so do %zu other ranks: are these summaries of two runs?", doubles - 1));
	job->list.count = kept;
}

/* ---- Workers, hosts, stages ---- */

static uint32_t host_of(struct summaries *job, const char *name, size_t *room)
{
	/* Ranks of a host mostly follow one another. */
	for (size_t i = job->host_count; i-- > 0;)
		if (job->hosts[i].name == name)
			return (uint32_t)i;
	*MEM_PUSH(job->hosts, job->host_count, *room) = (struct summaries_host){.name = name};
	return (uint32_t)(job->host_count - 1);
}

static void list_workers(struct summaries *job)
{
	size_t count = 0, host_room = 0;

	for (size_t i = 0; i < job->list.count; i++)
		count += job->list.items[i].worker_count;
	job->workers = mem_alloc(count, sizeof(*job->workers));
	for (int idle = 0; idle < 2; idle++)
		for (size_t i = 0; i < job->list.count; i++) {
			const struct summary *summary = &job->list.items[i];

			for (size_t w = 0; w < summary->worker_count; w++)
				if ((summary->workers[w].used == 0) == idle)
					job->workers[job->worker_count + job->idle_count++] =
						(struct summaries_worker){.summary = summary,
							.figures = &summary->workers[w],
							.host = host_of(job, summary->host, &host_room)};
			if (idle == 0) {
				job->worker_count += job->idle_count;
				job->idle_count = 0;
			}
		}
	for (size_t i = job->worker_count; i-- > 0;)
		job->hosts[job->workers[i].host].first_worker = (uint32_t)i;
}

static void find_stages(struct summaries *job)
{
	const struct summary_model **stages = mem_alloc(job->worker_count, sizeof(*stages));

	for (size_t w = 0; w < job->worker_count; w++) {
		const struct summary_model *model = job->workers[w].figures->model;
		uint32_t stage = w > 0 ? job->workers[w - 1].stage : 0;

		if (stage >= job->stage_count || stages[stage]->stage != model->stage)
			for (stage = 0; stage < job->stage_count && stages[stage]->stage != model->stage;)
				stage++;
		if (stage == job->stage_count)
			stages[job->stage_count++] = model;
		job->workers[w].stage = stage;
	}
	job->stages = stages;
}

static void count_ranks(struct summaries *job)
{
	job->world = -1;
	for (size_t i = 0; i < job->list.count; i++) {
		const struct summary *item = &job->list.items[i];

		if (item->world > job->world)
			job->world = item->world;
		job->rank_count += i == 0 || item->rank < 0 || item->rank != job->list.items[i - 1].rank;
	}
}

static const char *label_of(struct arena *arena, const char *path)
{
	size_t end = strlen(path), begin;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/';)
		begin--;
	return arena_text(arena, path + begin, end - begin);
}

int summaries_open(struct summaries *job, char **paths, size_t path_count, char **error)
{
	memset(job, 0, sizeof(*job));
	for (size_t i = 0; i < path_count; i++) {
		struct stat status;

		if (stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode))
			load_folder(job, paths[i]);
		else
			load(job, paths[i]);
	}
	if (job->list.count == 0) {
		*error = strdup(job->trouble_count ? job->troubles[0] : "no summary given");
		summaries_close(job);
		return -1;
	}
	job->label = label_of(&job->names.arena, paths[0]);
	qsort(job->list.items, job->list.count, sizeof(*job->list.items), compare_summaries);
	drop_doubles(job);
	count_ranks(job);
	list_workers(job);
	find_stages(job);
	summaries_wait(job);
	return 0;
}

void summaries_close(struct summaries *job)
{
	summary_list_free(&job->list);
	summary_names_free(&job->names);
	free(job->workers);
	free(job->hosts);
	free(job->stages);
	free(job->troubles);
	memset(job, 0, sizeof(*job));
}

/* ---- Figures ---- */

struct analysis_statistics summaries_pool(const struct summaries_worker *workers, size_t count, size_t offset)
{
	struct analysis_statistics result = {NAN, NAN, NAN, NAN, NAN, 0};
	double *medians = mem_alloc(count, sizeof(*medians)), sum = 0, variances = 0;

	for (size_t i = 0; i < count; i++) {
		const struct summary_spread *spread = summaries_spread(&workers[i], offset);
		double least = (double)spread->quantiles[SUMMARY_LEAST];
		double greatest = (double)spread->quantiles[SUMMARY_GREATEST];

		sum += spread->mean * (double)workers[i].figures->used;
		result.count += workers[i].figures->used;
		variances += spread->deviation * spread->deviation;
		medians[i] = (double)spread->quantiles[SUMMARY_MEDIAN];
		result.least = i == 0 || least < result.least ? least : result.least;
		result.greatest = i == 0 || greatest > result.greatest ? greatest : result.greatest;
	}
	if (count > 0) {
		statistics_sort(medians, count);
		result.mean = sum / (double)result.count;
		result.deviation = sqrt(variances / (double)count);
		result.median =
			count % 2 ? medians[count / 2] : (medians[count / 2 - 1] + medians[count / 2]) / 2;
	}
	free(medians);
	return result;
}

double summaries_imbalance(const struct summaries *job, size_t offset, size_t *slowest)
{
	double sum = 0, greatest = 0;

	if (slowest)
		*slowest = 0;
	for (size_t i = 0; i < job->worker_count; i++) {
		double mean = summaries_spread(&job->workers[i], offset)->mean;

		sum += mean;
		if (mean > greatest) {
			greatest = mean;
			if (slowest)
				*slowest = i;
		}
	}
	return sum > 0 ? (double)job->worker_count * greatest / sum : NAN;
}

size_t summaries_layer(const struct summary_model *model, const char *name, size_t hint)
{
	/* Names are interned: equal texts are one. */
	if (hint < model->count && model->names[hint].name == name)
		return hint;
	for (size_t i = 0; i < model->count; i++)
		if (model->names[i].name == name)
			return i;
	return SIZE_MAX;
}

/* "conv" of "conv12". */
static size_t kind_length(const char *name)
{
	size_t length = strlen(name);

	while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9')
		length--;
	return length;
}

const char *summaries_title(struct summaries *job, uint32_t stage, const struct summary_name *name)
{
	size_t length = kind_length(name->name), before = 0;

	if (name->module[0])
		return name->module;
	for (uint32_t s = 0; s < stage; s++)
		for (size_t l = 0; l < job->stages[s]->count; l++) {
			const char *other = job->stages[s]->names[l].name;

			before += kind_length(other) == length && strncmp(other, name->name, length) == 0;
		}
	if (before == 0)
		return name->name;
	return arena_format(&job->names.arena, "%.*s%zu", (int)length, name->name,
		before + (name->name[length] ? strtoul(name->name + length, NULL, 10) : 1));
}

double summaries_equation(const struct summaries *job)
{
	double longest = 0;

	for (size_t i = 0; i < job->worker_count; i++) {
		double sum = 0;

		for (int p = 0; p < PHASE_WORK_COUNT; p++)
			if (phase_facts[p].term == PHASE_TERM_LONGEST)
				sum += job->workers[i].figures->busy[p].mean;
		if (sum > longest)
			longest = sum;
	}
	for (int p = 0; p < PHASE_WORK_COUNT; p++)
		if (phase_facts[p].term == PHASE_TERM_SUM)
			longest += summaries_pool(job->workers, job->worker_count, SUMMARIES_BUSY(p)).mean;
	return longest;
}

const char *summaries_name(struct summaries *job, const struct summaries_worker *worker)
{
	const struct summary *summary = worker->summary;
	const char *name = summary->rank >= 0    ? arena_format(&job->names.arena, "rank %d", summary->rank)
			   : job->list.count > 1 ? arena_format(&job->names.arena, "process %llu",
							   (unsigned long long)summary->pid)
						 : "rank 0";
	size_t devices = 0;

	for (size_t w = 0; w < summary->worker_count; w++)
		devices += summary->workers[w].used > 0;
	return devices > 1 ? arena_format(&job->names.arena, "%s gpu %d", name, worker->figures->device)
			   : name;
}
