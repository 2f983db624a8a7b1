/* Workers and their links: see strategy.h. */
#include "strategy.h"
#include "base/csv.h"
#include "base/installed_file.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)
/* Of the memory bandwidth in a data sheet, what copies reach. */
#define REACHED 0.8

__attribute__((format(printf, 3, 4))) static int fail(
	struct strategy_cluster *cluster, const char *path, const char *format, ...)
{
	int used = snprintf(cluster->error, sizeof(cluster->error), "%.200s: ", path);
	va_list list;

	va_start(list, format);
	vsnprintf(cluster->error + used, sizeof(cluster->error) - (size_t)used, format, list);
	va_end(list);
	return -EINVAL;
}

static int add_exception(struct strategy_cluster *cluster, const char *ends, double latency, double bandwidth)
{
	/* more than there are pairs say nothing, and each costs a look at every message */
	struct strategy_exception *more =
		cluster->exception_count >= STRATEGY_MAX_WORKERS * STRATEGY_MAX_WORKERS
			? NULL
			: realloc(cluster->exceptions,
				  (cluster->exception_count + 1) * sizeof(*cluster->exceptions));
	struct strategy_exception *e;

	if (!more)
		return -ENOMEM;
	cluster->exceptions = more;
	e = &more[cluster->exception_count];
	if (sscanf(ends, "%zu-%zu", &e->from, &e->to) != 2 || e->from >= STRATEGY_MAX_WORKERS ||
		e->to >= STRATEGY_MAX_WORKERS || latency < 0 || bandwidth <= 0)
		return -EINVAL;
	e->link = (struct strategy_link){latency * 1e3, bandwidth};
	cluster->exception_count++;
	return 0;
}

/* "3 1.5" or "0-7 1.5": the number of each of these workers. */
static int set_workers(double *numbers, const char *workers, const char *text, double factor)
{
	unsigned first, last;
	int length = 0;
	double number;

	if (sscanf(workers, "%u%n-%u%n", &first, &length, &last, &length) < 2)
		last = first;
	if (!length || workers[length] || first > last || last >= STRATEGY_MAX_WORKERS ||
		csv_number(text, &number) < 0 || !(number > 0))
		return -EINVAL;
	for (size_t i = first; i <= last; i++)
		numbers[i] = number * factor;
	return 0;
}

/* A name and its numbers; 0, or -EINVAL if the line says nothing. */
static int strategy_cluster_take(struct strategy_cluster *cluster, char **words, size_t count)
{
	struct {
		const char *name;
		double *number, factor, least;
	} numbers[] = {
		{"link_latency_us", &cluster->inside.latency, 1e3, 0},
		{"link_gb_s", &cluster->inside.bandwidth, 1, 1e-9},
		{"network_latency_us", &cluster->between.latency, 1e3, 0},
		{"network_gb_s", &cluster->between.bandwidth, 1, 1e-9},
		{"network_links", &cluster->network_links, 1, 1},
		{"memory_gb_s", &cluster->memory_bandwidth, 1, 0},
		{"copy_latency_us", &cluster->copy_latency, 1e3, 0},
		{"memory_gib", &cluster->memory, GIB, 1e-9},
	};
	double number, second;

	if (count > 1 && strcmp(words[0], "device") == 0)
		return 0; /* for which GPUs it is taken unasked: strategy_known_cluster */
	if (count == 4 && strcmp(words[0], "link") == 0 && csv_number(words[2], &number) == 0 &&
		csv_number(words[3], &second) == 0)
		return add_exception(cluster, words[1], number, second);
	if (count == 3 && strcmp(words[0], "slow") == 0)
		return set_workers(cluster->slow, words[1], words[2], 1);
	if (count == 3 && strcmp(words[0], "memory_gib") == 0)
		return set_workers(cluster->own_memory, words[1], words[2], GIB);
	if (count != 2 || csv_number(words[1], &number) < 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (strcmp(words[0], numbers[i].name) == 0 && number >= numbers[i].least) {
			*numbers[i].number = number * numbers[i].factor;
			return 0;
		}
	if (number < 1 || number > STRATEGY_MAX_WORKERS)
		return -EINVAL;
	if (strcmp(words[0], "workers") == 0)
		cluster->workers = (size_t)number;
	else if (strcmp(words[0], "workers_per_node") == 0)
		cluster->workers_per_node = (size_t)number;
	else
		return -EINVAL;
	return 0;
}

int strategy_cluster_read(struct strategy_cluster *cluster, const char *path)
{
	char line[512], *words[5], *save;
	char *found = installed_file(path, STRATEGY_CLUSTERS, STRATEGY_CLUSTER_END);
	FILE *in = strcmp(path, "-") == 0 ? stdin : found ? fopen(found, "re") : NULL;
	int status = 0;

	memset(cluster, 0, sizeof(*cluster));
	cluster->network_links = 1;
	for (size_t i = 0; i < STRATEGY_MAX_WORKERS; i++)
		cluster->slow[i] = 1;
	if (!in) {
		status = fail(cluster, path, "%s, and no known cluster", strerror(errno));
		free(found);
		return status;
	}
	for (size_t row = 1; status == 0 && fgets(line, sizeof(line), in); row++) {
		size_t count = 0;

		line[strcspn(line, "#\n")] = 0;
		save = NULL;
		for (char *w = strtok_r(line, " \t\r", &save); w && count < 5;
			w = strtok_r(NULL, " \t\r", &save))
			words[count++] = w;
		if (count && strategy_cluster_take(cluster, words, count) < 0)
			status = fail(cluster, path,
				"line %zu: unknown setting '%.60s' with %zu values (see pmfit strategy "
				"--help)",
				row, words[0], count - 1);
	}
	if (in != stdin)
		fclose(in);
	free(found);
	if (status == 0 && cluster->inside.bandwidth <= 0)
		status = fail(cluster, path, "link_gb_s is missing");
	if (cluster->between.bandwidth <= 0)
		cluster->between = cluster->inside;
	if (!cluster->workers_per_node)
		cluster->workers_per_node = STRATEGY_MAX_WORKERS;
	return status;
}

void strategy_cluster_complete(struct strategy_cluster *cluster, const struct strategy_net *net)
{
	if (cluster->memory <= 0 && net->device.memory > 0) {
		cluster->memory = net->device.memory;
		cluster->memory_is_devices = true;
	}
	if (cluster->memory_bandwidth <= 0)
		cluster->memory_bandwidth = REACHED * net->device.bandwidth;
}

void strategy_cluster_free(struct strategy_cluster *cluster)
{
	free(cluster->exceptions);
	cluster->exceptions = NULL;
	cluster->exception_count = 0;
}

double strategy_quickest(const struct strategy_cluster *cluster, size_t *worker)
{
	size_t best = 0;

	for (size_t i = 1; i < cluster->workers; i++)
		if (cluster->slow[i] < cluster->slow[best])
			best = i;
	if (worker)
		*worker = best;
	return cluster->slow[best];
}

double strategy_room(const struct strategy_cluster *cluster, size_t worker)
{
	double own = cluster->own_memory[worker];

	if (own > 0)
		return own;
	return cluster->memory > 0 ? cluster->memory : HUGE_VAL;
}

double strategy_least_room(const struct strategy_cluster *cluster)
{
	double least = HUGE_VAL;

	for (size_t i = 0; i < cluster->workers; i++)
		least = fmin(least, strategy_room(cluster, i));
	return least;
}

/* The link between the two that the file has a line of; NULL: none. */
static const struct strategy_exception *exception_of(
	const struct strategy_cluster *cluster, size_t from, size_t to)
{
	for (size_t i = 0; i < cluster->exception_count; i++) {
		const struct strategy_exception *e = &cluster->exceptions[i];

		if ((e->from == from && e->to == to) || (e->from == to && e->to == from))
			return e;
	}
	return NULL;
}

static bool are_on_one_node(const struct strategy_cluster *cluster, size_t a, size_t b)
{
	return a / cluster->workers_per_node == b / cluster->workers_per_node;
}

struct strategy_link strategy_link_of(const struct strategy_cluster *cluster, size_t from, size_t to)
{
	const struct strategy_exception *exception;

	if (cluster->order) {
		from = cluster->order[from];
		to = cluster->order[to];
	}
	exception = exception_of(cluster, from, to);
	if (exception)
		return exception->link;
	return are_on_one_node(cluster, from, to) ? cluster->inside : cluster->between;
}

double strategy_message(const struct strategy_cluster *cluster, size_t from, size_t to, double bytes)
{
	struct strategy_link link = strategy_link_of(cluster, from, to);

	return link.latency + bytes / link.bandwidth;
}

/* Numbers of a node's workers among first ... first+count-1, of the node with fewest. */
static size_t fewest_on_node(const struct strategy_cluster *cluster, size_t first, size_t count)
{
	size_t fewest = count;

	for (size_t i = first, end; i < first + count; i = end) {
		end = (i / cluster->workers_per_node + 1) * cluster->workers_per_node;
		end = end < first + count ? end : first + count;
		fewest = end - i < fewest ? end - i : fewest;
	}
	return fewest;
}

struct strategy_link strategy_ring_link(
	const struct strategy_cluster *cluster, size_t first, size_t count, size_t from, size_t to)
{
	struct strategy_link link = strategy_link_of(cluster, from, to);

	/* workers in another order, and links with a line of their own, have theirs */
	if (cluster->network_links > 1 && !cluster->order && !are_on_one_node(cluster, from, to) &&
		!exception_of(cluster, from, to))
		link.bandwidth *= fmin(cluster->network_links, (double)fewest_on_node(cluster, first, count));
	return link;
}

/* A step of the ring: each worker sends the next its part. */
static double ring_step(const struct strategy_cluster *cluster, size_t first, size_t count, double bytes)
{
	double step = 0;

	for (size_t i = 0; i < count; i++) {
		struct strategy_link link =
			strategy_ring_link(cluster, first, count, first + i, first + (i + 1) % count);

		step = fmax(step, link.latency + bytes / (double)count / link.bandwidth);
	}
	return step;
}

static double tree(const struct strategy_cluster *cluster, size_t first, size_t count, double bytes)
{
	double longest = 0, bandwidth = 0;

	/* a heap: worker i hangs below (i - 1) / 2 */
	for (size_t i = 1; i < count; i++) {
		double way = 0;

		for (size_t at = i; at > 0; at = (at - 1) / 2) {
			struct strategy_link link =
				strategy_ring_link(cluster, first, count, first + at, first + (at - 1) / 2);

			way += 2 * link.latency;
			if (bandwidth <= 0 || link.bandwidth < bandwidth)
				bandwidth = link.bandwidth;
		}
		longest = way > longest ? way : longest;
	}
	return longest + 2 * bytes / bandwidth;
}

double strategy_all_reduce(const struct strategy_cluster *cluster, size_t first, size_t count, double bytes)
{
	if (count < 2 || bytes <= 0)
		return 0;
	return fmin(2 * (double)(count - 1) * ring_step(cluster, first, count, bytes),
		tree(cluster, first, count, bytes));
}

double strategy_ring_half(const struct strategy_cluster *cluster, double bytes)
{
	const size_t n = cluster->workers;

	return n > 1 && bytes > 0 ? (double)(n - 1) * ring_step(cluster, 0, n, bytes) : 0;
}

double strategy_new_version(const struct strategy_cluster *cluster, double bytes)
{
	if (bytes <= 0 || cluster->memory_bandwidth <= 0)
		return 0;
	return cluster->copy_latency + 2 * bytes / cluster->memory_bandwidth;
}
