/*
 * The program's own marks of its steps: PyTorch's ProfilerStep, ranges whose name says step or iteration, or
 * labelled phases that carry the number of their step.
 */
#include "imported_timeline.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct mark {
	int64_t begin_ns, end_ns, number; /* number: of the step, -1: unknown */
	uint64_t class;                   /* equal for names that differ in digits alone */
};

struct marks {
	struct mark *items;
	size_t count, room;
};

bool imported_is_step(const char *name)
{
	static const char *const prefixes[] = {"profiler", "training", "train", "global", NULL};
	static const char *const words[] = {"iteration", "iter", "step", NULL};
	static const char separators[] = " _-#:=[.(";

	for (const char *const *prefix = prefixes; *prefix; prefix++) {
		size_t length = strlen(*prefix);

		if (strncasecmp(name, *prefix, length) == 0) {
			name += length;
			name += strspn(name, separators);
			break;
		}
	}
	for (const char *const *word = words; *word; word++)
		if (strncasecmp(name, *word, strlen(*word)) == 0) {
			name += strlen(*word);
			name += strspn(name, separators);
			name += strspn(name, "0123456789");
			name += strspn(name, ")]");
			return *name == 0;
		}
	return false;
}

static int64_t number_in(const char *name)
{
	size_t digits;

	name += strcspn(name, "0123456789");
	digits = strspn(name, "0123456789");
	return digits > 0 && digits < 16 ? strtoll(name, NULL, 10) : -1;
}

static uint64_t class_of(const char *name)
{
	uint64_t hash = MEM_HASH_START;

	for (; *name; name++)
		if (!isdigit((unsigned char)*name))
			hash = mem_hash(hash, (unsigned char)*name);
	return hash;
}

static int compare_classes(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	if (a->class != b->class)
		return a->class < b->class ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

static int compare_numbers(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static int compare_begins(const void *left, const void *right)
{
	const struct mark *a = left, *b = right;

	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return a->end_ns > b->end_ns ? -1 : a->end_ns < b->end_ns;
}

/* Ranges that are named as steps: of several sorts the one with most of them, the profiler's own first. */
static void list_named(const struct imported_join *join, uint32_t worker, struct marks *marks)
{
	const struct imported *imported = join->imported;
	const struct imported_spans *spans = &imported->spans;
	char *steps = mem_alloc(imported->strings.count, 1); /* 0: not asked yet, 1: no, 2: yes */
	size_t best = 0, best_count = 0;
	bool best_own = false;

	for (size_t i = 0; i < spans->count; i++) {
		const char *name = imported->strings.items[spans->name[i]];
		char *answer = &steps[spans->name[i]];

		if (spans->kind[i] != IMPORTED_ANNOTATION && spans->kind[i] != IMPORTED_PHASE)
			continue;
		if (!*answer)
			*answer = imported_is_step(name) ? 2 : 1;
		if (*answer == 2 && imported_join_has_thread(join, worker, spans->thread[i]))
			*MEM_PUSH(marks->items, marks->count, marks->room) = (struct mark){
				spans->begin_ns[i], spans->end_ns[i], number_in(name), class_of(name)};
	}
	free(steps);
	if (marks->count == 0)
		return;
	qsort(marks->items, marks->count, sizeof(*marks->items), compare_classes);
	for (size_t i = 0, end; i < marks->count; i = end) {
		bool own = marks->items[i].class == class_of("ProfilerStep#");

		for (end = i; end < marks->count && marks->items[end].class == marks->items[i].class;)
			end++;
		if ((own && !best_own) || (own == best_own && end - i > best_count)) {
			best = i;
			best_count = end - i;
			best_own = own;
		}
	}
	memmove(marks->items, marks->items + best, best_count * sizeof(*marks->items));
	marks->count = best_count;
}

/* Phases that say which step they are of: from the first of a step to the last. */
static void list_numbered(const struct imported_join *join, uint32_t worker, struct marks *marks)
{
	const struct imported_spans *spans = &join->imported->spans;
	size_t kept = 0;

	for (size_t i = 0; i < spans->count; i++)
		if (spans->kind[i] == IMPORTED_PHASE && spans->step[i] >= 0 &&
			imported_join_has_thread(join, worker, spans->thread[i]))
			*MEM_PUSH(marks->items, marks->count, marks->room) =
				(struct mark){spans->begin_ns[i], spans->end_ns[i], spans->step[i], 0};
	if (marks->count == 0)
		return;
	qsort(marks->items, marks->count, sizeof(*marks->items), compare_numbers);
	for (size_t i = 1; i < marks->count; i++) {
		struct mark *last = &marks->items[kept];

		if (marks->items[i].number != last->number)
			marks->items[++kept] = marks->items[i];
		else if (marks->items[i].end_ns > last->end_ns)
			last->end_ns = marks->items[i].end_ns;
	}
	marks->count = kept + 1;
}

/* In order of time; of marks in each other the outer one, of marks that overlap the first is cut. */
static void separate(struct marks *marks)
{
	size_t kept = 0;

	qsort(marks->items, marks->count, sizeof(*marks->items), compare_begins);
	for (size_t i = 1; i < marks->count; i++) {
		struct mark *last = &marks->items[kept];

		if (marks->items[i].end_ns <= last->end_ns)
			continue;
		if (marks->items[i].begin_ns < last->end_ns)
			last->end_ns = marks->items[i].begin_ns;
		marks->items[++kept] = marks->items[i];
	}
	marks->count = kept + 1;
}

void imported_steps_add(const struct imported_join *join, uint32_t worker, struct timeline *timeline,
	struct timeline_process *process)
{
	struct marks marks = {0};

	process->first_step = (uint32_t)timeline->step_count;
	list_named(join, worker, &marks);
	if (marks.count == 0)
		list_numbered(join, worker, &marks);
	if (marks.count == 0)
		return;
	separate(&marks);
	for (size_t i = 0; i < marks.count; i++)
		*MEM_PUSH(timeline->steps, timeline->step_count, timeline->step_room) =
			(struct timeline_step){
				marks.items[i].begin_ns, marks.items[i].end_ns, marks.items[i].number};
	process->step_count = (uint32_t)marks.count;
	free(marks.items);
}

/* ---- Steps of a job ---- */

struct place {
	int64_t number;
	struct timeline_step *step;
	int64_t least_ns, most_ns; /* where its neighbours leave room */
};

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	return a->number < b->number ? -1 : a->number > b->number;
}

static struct place *list_places(struct timeline *timeline, size_t first_process, size_t *count)
{
	struct place *places = mem_alloc(timeline->step_count, sizeof(*places));

	*count = 0;
	for (size_t i = first_process; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];
		struct timeline_step *steps = timeline->steps + process->first_step;

		for (uint32_t j = 0; j < process->step_count; j++)
			places[(*count)++] = (struct place){steps[j].number, &steps[j],
				j ? steps[j - 1].end_ns : INT64_MIN,
				j + 1 < process->step_count ? steps[j + 1].begin_ns : INT64_MAX};
	}
	if (*count)
		qsort(places, *count, sizeof(*places), compare_places);
	return places;
}

/* Where numbers are left out, the steps between were not recorded. */
static void add_windows(struct timeline *timeline, struct timeline_process *process)
{
	const struct timeline_step *steps = timeline->steps + process->first_step;
	struct timeline_window whole;

	if (process->window_count != 1 || process->step_count == 0)
		return;
	whole = timeline->windows[process->first_window];
	if (steps[0].begin_ns < whole.begin_ns)
		whole.begin_ns = steps[0].begin_ns;
	process->first_window = (uint32_t)timeline->window_count;
	*MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room) = whole;
	for (uint32_t i = 1; i < process->step_count; i++) {
		if (steps[i].number == steps[i - 1].number + 1)
			continue;
		timeline->windows[timeline->window_count - 1].end_ns = steps[i - 1].end_ns;
		*MEM_PUSH(timeline->windows, timeline->window_count, timeline->window_room) =
			(struct timeline_window){.begin_ns = steps[i].begin_ns, .end_ns = whole.end_ns};
	}
	process->window_count = (uint32_t)timeline->window_count - process->first_window;
}

void imported_steps_of_job(struct timeline *timeline, size_t first_process)
{
	size_t count, end;
	struct place *places = list_places(timeline, first_process, &count);

	for (size_t i = 0; i < count; i = end) {
		int64_t begin_ns = INT64_MAX, end_ns = INT64_MIN;

		for (end = i; end < count && places[end].number == places[i].number; end++) {
			begin_ns =
				places[end].step->begin_ns < begin_ns ? places[end].step->begin_ns : begin_ns;
			end_ns = places[end].step->end_ns > end_ns ? places[end].step->end_ns : end_ns;
		}
		for (size_t j = i; j < end && places[i].number >= 0; j++) {
			places[j].step->begin_ns =
				begin_ns > places[j].least_ns ? begin_ns : places[j].least_ns;
			places[j].step->end_ns = end_ns < places[j].most_ns ? end_ns : places[j].most_ns;
		}
	}
	free(places);
	/* What a step waits for its neighbours lies in it; two never share an instant. */
	for (size_t i = first_process; i < timeline->process_count; i++) {
		struct timeline_step *steps = timeline->steps + timeline->processes[i].first_step;

		for (uint32_t j = 1; j < timeline->processes[i].step_count; j++)
			if (steps[j].begin_ns < steps[j - 1].end_ns)
				steps[j - 1].end_ns = steps[j].begin_ns;
		add_windows(timeline, &timeline->processes[i]);
	}
}
