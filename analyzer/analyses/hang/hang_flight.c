/* Flight Recorder's dumps of a job that does not go on: see hang_flight.h. */
#include "hang_flight.h"
#include "base/limit.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

struct paths {
	const char **items;
	size_t count, room;
};

static int compare_paths(const void *left, const void *right)
{
	return strverscmp(*(const char *const *)left, *(const char *const *)right);
}

/* A file itself, of a folder the dumps in it. */
static void list_path(struct arena *arena, struct paths *list, const char *path)
{
	DIR *folder = opendir(path);
	size_t first = list->count;
	struct dirent *entry;

	if (!folder) {
		*MEM_PUSH(list->items, list->count, list->room) = path;
		return;
	}
	while ((entry = readdir(folder))) {
		const char *inner = arena_format(arena, "%s/%s", path, entry->d_name);

		if (entry->d_name[0] != '.' && flight_is(inner))
			*MEM_PUSH(list->items, list->count, list->room) = inner;
	}
	closedir(folder);
	if (list->count > first)
		qsort(list->items + first, list->count - first, sizeof(*list->items), compare_paths);
}

bool hang_flight_is(char **paths, size_t path_count)
{
	struct arena arena = {0};
	struct paths list = {0};
	bool all = true;

	for (size_t i = 0; i < path_count && all; i++) {
		size_t first = list.count;

		list_path(&arena, &list, paths[i]);
		all = list.count > first && flight_is(list.items[first]);
	}
	free(list.items);
	arena_free(&arena);
	return all;
}

static void read_dumps(struct hang_flight *hang, const struct paths *list)
{
	hang->dumps = mem_alloc(list->count, sizeof(*hang->dumps));
	for (size_t i = 0; i < list->count; i++) {
		struct flight_dump *dump = &hang->dumps[hang->dump_count];
		const char *wrong;

		pm_limit_begin(list->items[i], 0, "byte");
		wrong = flight_read(dump, list->items[i]);
		pm_limit_end();
		if (wrong) {
			*MEM_PUSH(hang->unread, hang->unread_count, hang->unread_room) =
				arena_text(&hang->arena, wrong, strlen(wrong));
			flight_free(dump);
			continue;
		}
		if (dump->rank < 0)
			dump->rank = (int32_t)i;
		hang->dump_count++;
	}
}

static struct hang_flight_row *row_of(
	struct hang_flight *hang, int32_t rank, const struct flight_entry *entry)
{
	struct hang_flight_row *row;

	for (size_t i = 0; i < hang->row_count; i++)
		if (hang->rows[i].rank == rank && strcmp(hang->rows[i].group, entry->group) == 0)
			return &hang->rows[i];
	row = MEM_PUSH(hang->rows, hang->row_count, hang->row_room);
	*row = (struct hang_flight_row){entry->group, entry->description, rank, -1, -1, NULL};
	return row;
}

/* Ranks that a dump lists as a group's and that have entered nothing in it have a row too. */
static void add_members(struct hang_flight *hang)
{
	for (size_t d = 0; d < hang->dump_count; d++)
		for (size_t g = 0; g < hang->dumps[d].group_count; g++) {
			const struct flight_group *group = &hang->dumps[d].groups[g];

			for (size_t k = 0; k < group->rank_count && *group->name; k++)
				row_of(hang, group->ranks[k],
					&(struct flight_entry){
						.group = group->name, .description = group->description});
		}
}

static void add_entries(struct hang_flight *hang)
{
	for (size_t d = 0; d < hang->dump_count; d++)
		for (size_t i = 0; i < hang->dumps[d].entry_count; i++) {
			const struct flight_entry *entry = &hang->dumps[d].entries[i];
			struct hang_flight_row *row;

			if (entry->pairwise)
				continue;
			row = row_of(hang, hang->dumps[d].rank, entry);
			if (entry->sequence > row->entered) {
				row->entered = entry->sequence;
				row->last = entry;
			}
			if (entry->state == FLIGHT_COMPLETED && entry->sequence > row->completed)
				row->completed = entry->sequence;
		}
}

static int compare_rows(const void *left, const void *right)
{
	const struct hang_flight_row *a = left, *b = right;
	int by_group = strverscmp(a->group, b->group);

	return by_group ? by_group : a->rank < b->rank ? -1 : a->rank > b->rank;
}

static bool has_dump(const struct hang_flight *hang, int32_t rank)
{
	for (size_t d = 0; d < hang->dump_count; d++)
		if (hang->dumps[d].rank == rank)
			return true;
	return false;
}

static void say(struct hang_flight *hang, const char *sentence)
{
	*MEM_PUSH(hang->sentences, hang->sentence_count, hang->sentence_room) = sentence;
}

/* "ranks 0, 1, 3": those of the group's rows that the test keeps. */
static const char *ranks_text(struct hang_flight *hang, const struct hang_flight_row *rows, size_t count,
	int64_t entered, bool at_least)
{
	const char *list = "";
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		if ((rows[i].entered >= entered) == at_least) {
			list = arena_format(&hang->arena, "%s%s%d", list, found ? ", " : "", rows[i].rank);
			if (++found == 16) {
				list = arena_format(&hang->arena, "%s, ...", list);
				break;
			}
		}
	return arena_format(&hang->arena, "rank%s %s", found == 1 ? "" : "s", list);
}

static const char *group_text(struct hang_flight *hang, const struct hang_flight_row *row)
{
	return arena_format(&hang->arena, "group %s%s%s%s", row->group, *row->description ? " (" : "",
		row->description, *row->description ? ")" : "");
}

static const char *entry_text(struct hang_flight *hang, const struct flight_entry *entry)
{
	return arena_format(&hang->arena, "%s %lld (%s of %s%s%s)", entry->name, (long long)entry->sequence,
		entry->sizes, entry->types, *entry->place ? ", " : "", entry->place);
}

/* The rank's entry in that place; NULL: not in its dump any more. */
static const struct flight_entry *entry_at(
	const struct hang_flight *hang, int32_t rank, const char *group, int64_t sequence)
{
	for (size_t d = 0; d < hang->dump_count; d++)
		for (size_t i = 0; hang->dumps[d].rank == rank && i < hang->dumps[d].entry_count; i++) {
			const struct flight_entry *entry = &hang->dumps[d].entries[i];

			if (!entry->pairwise && entry->sequence == sequence &&
				strcmp(entry->group, group) == 0)
				return entry;
		}
	return NULL;
}

/* Ops that give each rank its own size differ in sizes by nature. */
static bool differ(const struct flight_entry *one, const struct flight_entry *other)
{
	return strcmp(one->name, other->name) != 0 ||
	       ((strstr(one->name, "all_reduce") || strstr(one->name, "broadcast")) &&
		       (strcmp(one->sizes, other->sizes) != 0 || strcmp(one->types, other->types) != 0));
}

/* The first place in which two ranks of the group have entered different collectives. */
static bool find_different(struct hang_flight *hang, const struct hang_flight_row *rows, size_t count)
{
	for (size_t i = 0; i < hang->dumps[0].entry_count; i++) {
		const struct flight_entry *one = &hang->dumps[0].entries[i];

		for (size_t k = 0; k < count && !one->pairwise && strcmp(one->group, rows->group) == 0; k++) {
			const struct flight_entry *other =
				entry_at(hang, rows[k].rank, rows->group, one->sequence);

			if (!other || !differ(one, other))
				continue;
			say(hang,
				arena_format(&hang->arena,
					"Different collectives in the same place of %s: rank %d has entered %s, "
					"rank %d %s. Certain: the dumps of both have it.",
					group_text(hang, rows), hang->dumps[0].rank, entry_text(hang, one),
					rows[k].rank, entry_text(hang, other)));
			hang->found = true;
			return true;
		}
	}
	return false;
}

static bool is_waiting(const struct hang_flight_row *row)
{
	return row->last && row->last->state != FLIGHT_COMPLETED;
}

static void find_behind(struct hang_flight *hang, const struct hang_flight_row *rows, size_t count)
{
	const struct hang_flight_row *first = &rows[0], *behind = &rows[0];

	for (size_t i = 1; i < count; i++) {
		if (rows[i].entered > first->entered ||
			(rows[i].entered == first->entered && is_waiting(&rows[i])))
			first = &rows[i];
		behind = rows[i].entered < behind->entered ? &rows[i] : behind;
	}
	if (behind->entered == first->entered || !is_waiting(first))
		return;
	hang->found = true;
	say(hang, arena_format(&hang->arena, "In %s %s wait in %s for %s%s. %s", group_text(hang, first),
			  ranks_text(hang, rows, count, first->entered, true), entry_text(hang, first->last),
			  ranks_text(hang, rows, count, first->entered, false),
			  !has_dump(hang, behind->rank)
				  ? arena_format(&hang->arena, ": rank %d has left no dump", behind->rank)
			  : behind->last ? arena_format(&hang->arena, ": rank %d has last entered %s",
						   behind->rank, entry_text(hang, behind->last))
					 : arena_format(&hang->arena, ": rank %d has entered nothing there",
						   behind->rank),
			  has_dump(hang, behind->rank) ? "Certain: by the numbers in the dumps."
						       : "Likely: it may have ended, or could not write."));
}

static void find_stuck(struct hang_flight *hang, const struct hang_flight_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].entered != rows[0].entered || !is_waiting(&rows[i]))
			return;
	hang->found = true;
	say(hang,
		arena_format(&hang->arena,
			"In %s all %zu ranks are in %s, and it does not end. Open: the network, a GPU, or work before "
			"it on the stream; the dumps do not tell which.",
			group_text(hang, rows), count, entry_text(hang, rows[0].last)));
}

static void find_group(struct hang_flight *hang, const struct hang_flight_row *rows, size_t count)
{
	size_t before = hang->sentence_count;

	if (count < 2 || find_different(hang, rows, count))
		return;
	find_behind(hang, rows, count);
	if (hang->sentence_count == before)
		find_stuck(hang, rows, count);
}

void hang_flight_find(struct hang_flight *hang, char **paths, size_t path_count)
{
	struct paths list = {0};

	*hang = (struct hang_flight){0};
	for (size_t i = 0; i < path_count; i++)
		list_path(&hang->arena, &list, paths[i]);
	read_dumps(hang, &list);
	free(list.items);
	add_members(hang);
	add_entries(hang);
	if (hang->row_count)
		qsort(hang->rows, hang->row_count, sizeof(*hang->rows), compare_rows);
	for (size_t i = 0, end; i < hang->row_count; i = end) {
		for (end = i;
			end < hang->row_count && strcmp(hang->rows[end].group, hang->rows[i].group) == 0;)
			end++;
		find_group(hang, hang->rows + i, end - i);
	}
}

void hang_flight_free(struct hang_flight *hang)
{
	for (size_t i = 0; i < hang->dump_count; i++)
		flight_free(&hang->dumps[i]);
	free(hang->dumps);
	free(hang->rows);
	free(hang->sentences);
	free(hang->unread);
	arena_free(&hang->arena);
	*hang = (struct hang_flight){0};
}
