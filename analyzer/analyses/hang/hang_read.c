/* The ranks of a job and their communicators, from files and folders. */
#include "base/parallel.h"
#include "hang_private.h"
#include "trace/trace_name.h"

#include <dirent.h>
#include <err.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

/* What is read side by side: a file's rank, or why it is none. */
struct source {
	const char *path;
	struct hang_rank *rank;
	bool opened;
};

struct sources {
	struct source *items;
	size_t count, room;
};

static void read_source(void *context, size_t index)
{
	struct source *source = &((struct sources *)context)->items[index];
	struct hang_rank *rank = mem_alloc(1, sizeof(*rank));

	source->rank = rank;
	source->opened = trace_open(&rank->trace, source->path) == 0;
	if (!source->opened)
		return;
	/* Before the walk: what is recorded after it was seen to run is not missed. */
	rank->process = hang_process_of(&rank->trace);
	if (rank->process == HANG_GONE) {
		/* It may have ended in order since the file was opened. */
		trace_close(&rank->trace);
		source->opened = trace_open(&rank->trace, source->path) == 0;
		if (!source->opened)
			return;
		rank->process = hang_process_of(&rank->trace);
	}
	standing_find(&rank->trace, &rank->standing);
	rank->thread = standing_principal(&rank->standing);
	rank->attempt = trace_attempt(&rank->trace);
}

static void add_rank(struct hang *hang, const struct source *source)
{
	struct hang_rank *rank = source->rank;

	if (!source->opened) {
		warnx("%s", rank->trace.error);
		trace_close(&rank->trace);
		free(rank);
		hang->unread++;
		return;
	}
	if (rank->trace.trouble)
		warnx("%s", rank->trace.trouble);
	rank->name = rank->trace.header.rank >= 0
			     ? arena_format(&hang->arena, "%d", rank->trace.header.rank)
			     : arena_format(&hang->arena, "pid %u", rank->trace.header.pid);
	*MEM_PUSH(hang->ranks, hang->rank_count, hang->rank_room) = rank;
}

static int is_trace(const struct dirent *entry)
{
	return trace_name_stem(entry->d_name) > 0;
}

static void add_path(struct sources *sources, const char *path)
{
	*MEM_PUSH(sources->items, sources->count, sources->room) = (struct source){.path = path};
}

static void hang_read_add(struct hang *hang, struct sources *sources, const char *path)
{
	struct dirent **entries;
	struct stat status;
	int count;

	if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
		add_path(sources, path);
		return;
	}
	count = scandir(path, &entries, is_trace, versionsort);
	if (count <= 0) {
		warnx("%s: no *.pmtrace file in this folder", path);
		hang->unread++;
		if (count == 0)
			free(entries);
		return;
	}
	for (int i = 0; i < count; i++) {
		add_path(sources, arena_format(&hang->arena, "%s/%s", path, entries[i]->d_name));
		free(entries[i]);
	}
	free(entries);
}

static int by_rank(const void *left, const void *right)
{
	const struct pm_header *a = &(*(struct hang_rank *const *)left)->trace.header,
			       *b = &(*(struct hang_rank *const *)right)->trace.header;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int by_place(const void *left, const void *right)
{
	const struct hang_member *a = left, *b = right;

	return a->place < b->place ? -1 : a->place > b->place;
}

static struct hang_group *group_of(struct hang *hang, const struct trace_communicator *communicator)
{
	struct hang_group *group;

	for (size_t g = 0; g < hang->group_count; g++)
		if (hang->groups[g].hash == communicator->hash)
			return &hang->groups[g];
	group = MEM_PUSH(hang->groups, hang->group_count, hang->group_room);
	*group = (struct hang_group){.hash = communicator->hash, .size = communicator->size};
	return group;
}

static void find_groups(struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];

		for (uint32_t i = 1; i < rank->trace.communicator_count; i++) {
			const struct trace_communicator *c = &rank->trace.communicators[i];
			struct hang_member member = {.rank = r, .place = c->rank, .number = i};
			struct hang_group *group;

			if (!c->known)
				continue;
			for (size_t k = 0; k < rank->standing.comm_count; k++)
				if (rank->standing.comms[k].number == i)
					member.comm = &rank->standing.comms[k];
			member.count = member.comm ? member.comm->count : 0;
			group = group_of(hang, c);
			*MEM_PUSH(group->members, group->member_count, group->member_room) = member;
		}
	}
	for (size_t g = 0; g < hang->group_count; g++)
		qsort(hang->groups[g].members, hang->groups[g].member_count, sizeof(struct hang_member),
			by_place);
}

int64_t hang_real_ns(const struct hang_rank *rank, int64_t monotonic_ns)
{
	/* Numbers of a damaged header may be any: they wrap. */
	return (int64_t)(rank->trace.header.real_ns +
			 ((uint64_t)monotonic_ns - rank->trace.header.monotonic_ns));
}

/* Of a job that is over, the last thing that is known of it. */
static void find_now(struct hang *hang)
{
	struct timespec now;

	hang->over = true;
	for (size_t r = 0; r < hang->rank_count; r++) {
		const struct hang_rank *rank = hang->ranks[r];
		const int64_t last_ns = hang_real_ns(rank, rank->standing.last_ns);

		if (rank->process == HANG_RUNS || rank->process == HANG_STOPPED || rank->process == HANG_HELD)
			hang->over = false;
		if (last_ns > hang->now_ns)
			hang->now_ns = last_ns;
	}
	if (!hang->over && clock_gettime(CLOCK_REALTIME, &now) == 0)
		hang->now_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void hang_read(struct hang *hang, char **paths, size_t path_count)
{
	struct sources sources = {0};
	struct timespec begin = {0};

	memset(hang, 0, sizeof(*hang));
	clock_gettime(CLOCK_REALTIME, &begin);
	hang->read_ns = (int64_t)begin.tv_sec * 1000000000 + begin.tv_nsec;
	for (size_t i = 0; i < path_count; i++)
		hang_read_add(hang, &sources, paths[i]);
	parallel_each(sources.count, 0, read_source, &sources);
	for (size_t i = 0; i < sources.count; i++)
		add_rank(hang, &sources.items[i]);
	free(sources.items);
	if (hang->rank_count == 0)
		return;
	qsort(hang->ranks, hang->rank_count, sizeof(struct hang_rank *), by_rank);
	hang_attempts(hang);
	find_groups(hang);
	hang_find_absent(hang);
	find_now(hang);
}

void hang_free_rank(struct hang_rank *rank)
{
	standing_free(&rank->standing);
	free(rank->stacks);
	trace_close(&rank->trace);
	free(rank);
}

void hang_free(struct hang *hang)
{
	for (size_t r = 0; r < hang->rank_count; r++)
		hang_free_rank(hang->ranks[r]);
	for (size_t g = 0; g < hang->group_count; g++)
		free(hang->groups[g].members);
	free(hang->ranks);
	free(hang->groups);
	free(hang->culprits);
	free(hang->pairs);
	free(hang->absent);
	arena_free(&hang->arena);
}
