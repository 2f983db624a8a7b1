/*
 * Measured times (SOFTGPU_TIMES): the durations of a run on a real GPU in the place of those that the profile
 * gives.
 *
 * The one idea: the file, which `pmanalyze export --times` writes, has a line for each operation by what does
 * not depend on the device, tab-separated:
 *
 *     kernel      name      grid and block, six numbers     count   median ns
 *     call        function  operations and bytes            count   median ns
 *     call        -         operations and 0                count   median ns      of any function
 *     copy        H2D, ...  bytes                           count   median ns
 *     set         -         bytes                           count   median ns
 *     collective  function  bytes and ranks                 count   median ns
 *
 * A kernel's name may be the mangled one or, as torch.profiler has it, that for people. What is in it takes
 * that time, everything else that of its rule. A collective that is not, but another of its function with at
 * most twice or at least half of its bytes, is scaled from that by the ring formula.
 */
#include "model.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD "# times of pmhook 1"
#define SHAPE_BYTES 128
#define CALL_SHARE 0.01 /* by which the bytes of a call may differ */

int sg_times_on;

struct entry {
	struct entry *next;
	const char *kind, *name, *shape;
	double time_ns;
	double work;  /* of a call: operations */
	double bytes; /* of a call, a collective */
	double ranks; /* of a collective */
};

static struct {
	struct entry **slots;
	struct entry *collectives, *calls; /* copies, in a list */
	size_t slot_count;
} times;

static uint64_t hash_of(const char *kind, const char *name, const char *shape)
{
	const char *const parts[] = {kind, name, shape};
	uint64_t hash = 14695981039346656037u;

	for (size_t i = 0; i < 3; i++) {
		for (const char *at = parts[i]; *at != '\0'; at++)
			hash = (hash ^ (unsigned char)*at) * 1099511628211u;
		hash = (hash ^ '\t') * 1099511628211u;
	}
	return hash;
}

static const struct entry *find(const char *kind, const char *name, const char *shape)
{
	const struct entry *entry = times.slots[hash_of(kind, name, shape) % times.slot_count];

	while (entry != NULL && (strcmp(entry->name, name) != 0 || strcmp(entry->shape, shape) != 0 ||
					strcmp(entry->kind, kind) != 0))
		entry = entry->next;
	return entry;
}

/* ---- reading ---- */

/* Takes the line apart in place; the entry keeps it. 0: it is not as expected. */
static int read_entry(struct entry *entry, char *line)
{
	char *count, *duration, *end;

	entry->kind = strsep(&line, "\t");
	entry->name = strsep(&line, "\t");
	entry->shape = strsep(&line, "\t");
	count = strsep(&line, "\t");
	duration = line;
	if (duration == NULL || *count == '\0' || *duration == '\0')
		return 0;
	entry->time_ns = sg_text_number(duration, &end);
	if (*end != '\0' || !(entry->time_ns >= 0) || entry->time_ns > 1e15)
		return 0;
	end = (char *)(uintptr_t)entry->shape;
	if (strcmp(entry->kind, "call") == 0) {
		entry->work = sg_text_number(end, &end);
		entry->bytes = sg_text_number(end, &end);
		return *end == '\0' && entry->work >= 0 && entry->bytes >= 0;
	}
	if (strcmp(entry->kind, "collective") == 0) {
		entry->bytes = sg_text_number(end, &end);
		entry->ranks = sg_text_number(end, &end);
		return *end == '\0' && entry->bytes >= 0 && entry->ranks >= 1;
	}
	return 1;
}

static void add_to(struct entry **list, const struct entry *entry)
{
	struct entry *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return;
	*copy = *entry;
	copy->next = *list;
	*list = copy;
}

static void add(struct entry *entry)
{
	struct entry **slot =
		&times.slots[hash_of(entry->kind, entry->name, entry->shape) % times.slot_count];

	if (strcmp(entry->kind, "collective") == 0)
		add_to(&times.collectives, entry);
	if (strcmp(entry->kind, "call") == 0)
		add_to(&times.calls, entry);
	entry->next = *slot;
	*slot = entry;
}

/* Answers how many entries there are, or -1 with a sentence. They stay for as long as the process lives. */
static long read_entries(FILE *file, const char *path, char *error, size_t error_bytes)
{
	char *line = NULL;
	size_t room = 0, number = 0;
	ssize_t length;
	long count = 0;

	while (count >= 0 && (length = getline(&line, &room, file)) >= 0) {
		struct entry *entry;
		char *copy;

		number++;
		if (length > 0 && line[length - 1] == '\n')
			line[length - 1] = '\0';
		if (number == 1 && strncmp(line, HEAD, strlen(HEAD)) != 0)
			break;
		if (*line == '#' || *line == '\0')
			continue;
		entry = calloc(1, sizeof(*entry));
		copy = strdup(line);
		if (entry != NULL && copy != NULL && read_entry(entry, copy)) {
			add(entry);
			count++;
			continue;
		}
		free(entry);
		free(copy);
		snprintf(error, error_bytes,
			"%s: line %zu: expected kind, name, shape, count and nanoseconds with tabs between "
			"them",
			path, number);
		count = -1;
	}
	free(line);
	if (count == 0)
		snprintf(error, error_bytes,
			"%s: no times in it; expected what 'pmanalyze export --times RUN' writes", path);
	return count;
}

int sg_times_start(char *error, size_t error_bytes)
{
	const char *path = getenv("SOFTGPU_TIMES");
	struct stat status;
	FILE *file;
	long count;

	if (path == NULL || *path == '\0')
		return 0;
	if (!sg_modelled()) {
		snprintf(error, error_bytes,
			"it needs a profile for what was not measured: pmrun --softgpu=GPU, or "
			"SOFTGPU_PROFILE");
		return -1;
	}
	if (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
		snprintf(error, error_bytes,
			"%s: found a folder, expected a run's times: pmanalyze export --times -o times.tsv "
			"%s",
			path, path);
		return -1;
	}
	file = fopen(path, "re");
	times.slot_count = 4096;
	times.slots = calloc(times.slot_count, sizeof(struct entry *));
	if (file == NULL || times.slots == NULL) {
		snprintf(error, error_bytes, "%s: %s; expected a run's times", path, strerror(errno));
		if (file != NULL)
			fclose(file);
		return -1;
	}
	count = read_entries(file, path, error, error_bytes);
	fclose(file);
	if (count <= 0)
		return -1;
	sg_times_on = 1;
	return 0;
}

/* ---- answering ---- */

static int is_call(const struct entry *entry, const struct sg_activity *what)
{
	if (fabs(entry->work - what->cost.flops) > 0.5)
		return 0;
	if (strcmp(entry->name, "-") == 0)
		return what->cost.kind == SG_COST_PRODUCT || what->cost.kind == SG_COST_CONVOLUTION ||
		       what->cost.kind == SG_COST_DEPTHWISE;
	return strcmp(entry->name, what->name) == 0 &&
	       fabs(entry->bytes - what->cost.bytes) <= CALL_SHARE * entry->bytes;
}

/* A call of the same operations and nearly the same bytes: whether a bias is counted is a matter of taste. */
static const struct entry *find_call(const struct sg_activity *what)
{
	const struct entry *entry = times.calls;

	while (entry != NULL && !is_call(entry, what))
		entry = entry->next;
	return entry;
}

double sg_times_find(const struct sg_activity *what)
{
	const char *kind = "kernel", *name = what->name;
	const struct entry *entry;
	char shape[SHAPE_BYTES];

	if ((what->kind == SG_ACTIVITY_COPY || what->kind == SG_ACTIVITY_SET) && what->share <= 0) {
		kind = what->kind == SG_ACTIVITY_SET ? "set" : "copy";
		name = what->kind == SG_ACTIVITY_SET ? "-"
		       : !what->copy_from_device     ? "H2D"
		       : what->copy_to_device        ? "D2D"
						     : "D2H";
		snprintf(shape, sizeof(shape), "%llu", (unsigned long long)what->bytes);
	} else if (what->of_library) {
		kind = "call";
		snprintf(shape, sizeof(shape), "%.0f %.0f", what->cost.flops, what->cost.bytes);
	} else {
		snprintf(shape, sizeof(shape), "%u %u %u %u %u %u", what->grid[0], what->grid[1],
			what->grid[2], what->block[0], what->block[1], what->block[2]);
	}
	if (name == NULL)
		return -1;
	entry = find(kind, name, shape);
	if (entry == NULL && what->of_library)
		entry = find_call(what);
	else if (entry == NULL && what->kind == SG_ACTIVITY_KERNEL && sg_readable_name(name) != name)
		entry = find(kind, sg_readable_name(name), shape);
	return entry != NULL ? entry->time_ns * sg_time_scale : -1;
}

/* How the time of a ring grows with its ranks at the same bytes; 0: it is none (see nccl/model.c). */
static double ring_share(const char *name, double ranks)
{
	if (strcmp(name, "ncclAllReduce") == 0)
		return 2 * (ranks - 1) / ranks;
	if (strcmp(name, "ncclAllGather") == 0 || strcmp(name, "ncclReduceScatter") == 0)
		return ranks - 1;
	return strcmp(name, "ncclBroadcast") == 0 || strcmp(name, "ncclReduce") == 0;
}

/* How far an entry is from what is asked for, as a factor. */
static double distance(const struct entry *entry, double bytes, double ranks)
{
	return fabs(log(entry->bytes / bytes)) + 0.1 * fabs(log(entry->ranks / ranks));
}

double sg_times_collective(const char *name, double bytes, int ranks, enum sg_basis *basis)
{
	const struct entry *best = NULL;

	*basis = SG_BY_RULE;
	if (!sg_times_on || !(bytes > 0))
		return -1;
	for (const struct entry *entry = times.collectives; entry != NULL; entry = entry->next) {
		if (strcmp(entry->name, name) != 0 || entry->bytes < bytes / 2 || entry->bytes > bytes * 2)
			continue;
		if (best == NULL || distance(entry, bytes, ranks) < distance(best, bytes, ranks))
			best = entry;
	}
	if (best == NULL)
		return -1;
	if (fabs(best->bytes - bytes) < 0.5 && fabs(best->ranks - ranks) < 0.5) {
		*basis = SG_MEASURED;
		return best->time_ns * sg_time_scale;
	}
	if (ranks < 2 || best->ranks < 2 || ring_share(name, ranks) <= 0)
		return -1;
	*basis = SG_SCALED;
	return best->time_ns * sg_time_scale * bytes * ring_share(name, ranks) /
	       (best->bytes * ring_share(name, best->ranks));
}
