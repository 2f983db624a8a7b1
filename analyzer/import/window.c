/* The window of a rank: see window.h. */
#include "window.h"
#include "imported_kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* When the last of the steps begins and ends; what the count of steps is. */
struct steps {
	size_t count;
	int64_t last_begin_ns, last_end_ns;
};

static struct steps find_steps(const struct imported *imported)
{
	struct steps steps = {0, INT64_MIN, INT64_MIN};
	const struct imported_spans *spans = &imported->spans;
	bool *seen = mem_alloc(imported->strings.count, sizeof(*seen));

	for (size_t i = 0; i < spans->count; i++) {
		/* A copy of the steps on the device's side says nothing of when they were launched. */
		if (spans->kind[i] != IMPORTED_ANNOTATION ||
			strncmp(imported->strings.items[spans->name[i]], "ProfilerStep", 12) != 0)
			continue;
		steps.count += !seen[spans->name[i]];
		seen[spans->name[i]] = true;
		if (spans->begin_ns[i] > steps.last_begin_ns)
			steps.last_begin_ns = spans->begin_ns[i];
		if (spans->end_ns[i] > steps.last_end_ns)
			steps.last_end_ns = spans->end_ns[i];
	}
	free(seen);
	return steps;
}

/* The numbers of the events that count, in order of begin. */
static uint32_t *choose(const struct imported *imported, uint32_t worker,
	const struct window_options *options, struct window *window)
{
	const struct imported_events *events = &imported->events;
	struct steps steps = find_steps(imported);
	uint32_t *chosen = mem_alloc(events->count, sizeof(*chosen));

	window->step_count = steps.count;
	for (uint32_t i = 0; i < events->count; i++) {
		if (imported->queues[events->queue[i]].worker != worker)
			continue;
		window->event_count++;
		if (steps.count > 1) {
			int64_t launch_ns;

			if (events->call[i] == IMPORTED_NONE)
				continue;
			launch_ns = imported->calls.begin_ns[events->call[i]];
			if (options->last_step ? launch_ns > steps.last_end_ns
					       : launch_ns >= steps.last_begin_ns)
				continue;
		}
		chosen[window->used_count++] = i;
	}
	return chosen;
}

/* Begin, end, begin, end ... of the time in which events of a kind run. */
struct busy {
	int64_t *bounds_ns;
	size_t count, room;
	size_t next;
};

static void extend(struct busy *busy, int64_t begin_ns, int64_t end_ns)
{
	if (busy->count && begin_ns <= busy->bounds_ns[busy->count - 1]) {
		if (end_ns > busy->bounds_ns[busy->count - 1])
			busy->bounds_ns[busy->count - 1] = end_ns;
		return;
	}
	*MEM_PUSH(busy->bounds_ns, busy->count, busy->room) = begin_ns;
	*MEM_PUSH(busy->bounds_ns, busy->count, busy->room) = end_ns;
}

/* The kind whose bounds change next, or IMPORTED_KINDS. */
static int next_kind(const struct busy *busy)
{
	int found = IMPORTED_KINDS;

	for (int i = 0; i < IMPORTED_KINDS; i++)
		if (busy[i].next < busy[i].count &&
			(found == IMPORTED_KINDS ||
				busy[i].bounds_ns[busy[i].next] < busy[found].bounds_ns[busy[found].next]))
			found = i;
	return found;
}

static void sum_up(struct busy *busy, struct window *window)
{
	int64_t before_ns = window->begin_ns;
	unsigned set = 0;
	int kind;

	while ((kind = next_kind(busy)) < IMPORTED_KINDS) {
		int64_t now_ns = busy[kind].bounds_ns[busy[kind].next++];

		window->together_ns[set] += now_ns - before_ns;
		before_ns = now_ns;
		set ^= 1u << kind;
	}
	window->idle_ns = window->together_ns[0];
	for (set = 1; set < WINDOW_SETS; set++) {
		int64_t ns = window->together_ns[set];
		bool compute = set >> IMPORTED_COMPUTE & 1, communication = set >> IMPORTED_COMMUNICATION & 1;

		*(compute ? &window->compute_ns : &window->non_compute_ns) += ns;
		window->communication_ns += communication ? ns : 0;
		window->memory_ns += set >> IMPORTED_MEMORY & 1 ? ns : 0;
		window->overlap_ns += compute && communication ? ns : 0;
	}
}

static struct window_stream *stream_of(struct window *window, const struct imported_queue *queue, bool *first)
{
	struct window_stream *stream;

	for (size_t i = 0; i < window->stream_count; i++) {
		stream = &window->streams[i];
		if (stream->stream == queue->stream && stream->device == queue->device) {
			*first = false;
			return stream;
		}
	}
	stream = MEM_PUSH(window->streams, window->stream_count, window->stream_room);
	*stream = (struct window_stream){.device = queue->device, .stream = queue->stream};
	*first = true;
	return stream;
}

/* Why nothing ran on the stream before the event. */
static enum window_idle idle_cause(const struct imported *imported, uint32_t event, int64_t before_ns,
	const struct window_options *options)
{
	uint32_t call = imported->events.call[event];
	int64_t launch_ns = options->hta_launches ? imported->first_ns : INT64_MIN;

	if (call != IMPORTED_NONE)
		launch_ns = imported->calls.begin_ns[call];
	if (launch_ns > before_ns)
		return WINDOW_HOST_WAIT;
	return imported->events.begin_ns[event] - before_ns < options->delay_ns ? WINDOW_KERNEL_WAIT
										: WINDOW_OTHER;
}

static int compare_streams(const void *a, const void *b)
{
	const struct window_stream *one = a, *other = b;

	if (one->device != other->device)
		return one->device < other->device ? -1 : 1;
	return one->stream < other->stream ? -1 : one->stream > other->stream;
}

static void find_gaps(const struct imported *imported, const uint32_t *chosen,
	const struct window_options *options, struct window *window)
{
	int64_t *before_ns = mem_alloc(imported->queue_count, sizeof(*before_ns));

	for (size_t i = 0; i < window->used_count; i++) {
		uint32_t queue = imported->events.queue[chosen[i]];
		bool first;
		struct window_stream *stream = stream_of(window, &imported->queues[queue], &first);

		if (!first) {
			enum window_idle cause = idle_cause(imported, chosen[i], before_ns[queue], options);

			stream->idle_ns[cause] += imported->events.begin_ns[chosen[i]] - before_ns[queue];
			stream->gaps[cause]++;
		}
		before_ns[queue] = imported->events.end_ns[chosen[i]];
	}
	free(before_ns);
	if (window->stream_count)
		qsort(window->streams, window->stream_count, sizeof(*window->streams), compare_streams);
}

static int compare_kernels(const void *a, const void *b)
{
	const struct window_kernel *one = a, *other = b;

	if (one->sum_ns != other->sum_ns)
		return one->sum_ns > other->sum_ns ? -1 : 1;
	return strcmp(one->name, other->name);
}

static void find_kernels(const struct imported *imported, const uint32_t *chosen, struct window *window)
{
	const struct imported_events *events = &imported->events;
	uint32_t *numbers = mem_alloc(imported->strings.count, sizeof(*numbers)); /* of kernels, from 1 */
	size_t room = 0;

	for (size_t i = 0; i < window->used_count; i++) {
		uint32_t event = chosen[i], name = events->name[event];
		int64_t ns = events->end_ns[event] - events->begin_ns[event];
		struct window_kernel *kernel;

		if (!numbers[name]) {
			const char *text = imported->strings.items[name];

			kernel = MEM_PUSH(window->kernels, window->kernel_count, room);
			numbers[name] = (uint32_t)window->kernel_count;
			*kernel = (struct window_kernel){arena_text(&window->arena, text, strlen(text)),
				events->kind[event], 0, 0, ns, ns};
		}
		kernel = &window->kernels[numbers[name] - 1];
		kernel->count++;
		kernel->sum_ns += ns;
		if (ns < kernel->least_ns)
			kernel->least_ns = ns;
		if (ns > kernel->greatest_ns)
			kernel->greatest_ns = ns;
	}
	free(numbers);
	if (window->kernel_count)
		qsort(window->kernels, window->kernel_count, sizeof(*window->kernels), compare_kernels);
}

void window_find(const struct imported *imported, uint32_t worker, const struct window_options *options,
	struct window *window)
{
	const char *label = imported->workers[worker].label;
	const struct imported_events *events = &imported->events;
	struct busy busy[IMPORTED_KINDS] = {0};
	uint32_t *chosen;

	memset(window, 0, sizeof(*window));
	window->rank = window->given_rank = imported->workers[worker].rank;
	window->path = imported->path;
	window->label = label ? arena_text(&window->arena, label, strlen(label)) : NULL;
	window->labelled = imported->format == IMPORTED_CHROME;
	chosen = choose(imported, worker, options, window);
	for (size_t i = 0; i < window->used_count; i++) {
		int64_t begin_ns = events->begin_ns[chosen[i]], end_ns = events->end_ns[chosen[i]];

		if (i == 0)
			window->begin_ns = begin_ns;
		if (i == 0 || end_ns > window->end_ns)
			window->end_ns = end_ns;
		extend(&busy[events->kind[chosen[i]]], begin_ns, end_ns);
	}
	sum_up(busy, window);
	find_gaps(imported, chosen, options, window);
	find_kernels(imported, chosen, window);
	for (int i = 0; i < IMPORTED_KINDS; i++)
		free(busy[i].bounds_ns);
	free(chosen);
}

void window_free(struct window *window)
{
	free(window->streams);
	free(window->kernels);
	arena_free(&window->arena);
	memset(window, 0, sizeof(*window));
}

static int compare_names(const void *a, const void *b)
{
	return strcmp((*(const struct window_kernel *const *)a)->name,
		(*(const struct window_kernel *const *)b)->name);
}

static void merge_kernel(struct window_kernel *kernel, const struct window_kernel *more)
{
	kernel->count += more->count;
	kernel->sum_ns += more->sum_ns;
	if (more->least_ns < kernel->least_ns)
		kernel->least_ns = more->least_ns;
	if (more->greatest_ns > kernel->greatest_ns)
		kernel->greatest_ns = more->greatest_ns;
}

struct window_kernel *window_all_kernels(const struct window *windows, size_t window_count, size_t *count)
{
	const struct window_kernel **list;
	struct window_kernel *kernels;
	size_t found = 0;

	*count = 0;
	for (size_t i = 0; i < window_count; i++)
		found += windows[i].kernel_count;
	list = mem_alloc(found, sizeof(*list));
	kernels = mem_alloc(found, sizeof(*kernels));
	found = 0;
	for (size_t i = 0; i < window_count; i++)
		for (size_t j = 0; j < windows[i].kernel_count; j++)
			list[found++] = &windows[i].kernels[j];
	qsort(list, found, sizeof(*list), compare_names);
	for (size_t i = 0; i < found; i++) {
		if (*count && strcmp(kernels[*count - 1].name, list[i]->name) == 0)
			merge_kernel(&kernels[*count - 1], list[i]);
		else
			kernels[(*count)++] = *list[i];
	}
	free(list);
	qsort(kernels, *count, sizeof(*kernels), compare_kernels);
	return kernels;
}

double window_overlap(const struct window *window)
{
	if (window->communication_ns == 0)
		return NAN;
	return (double)window->overlap_ns / (double)window->communication_ns;
}

const char *window_idle_name(enum window_idle idle)
{
	static const char *const names[] = {"host_wait", "kernel_wait", "other"};

	return names[idle];
}

const char *window_set_name(struct arena *arena, unsigned set)
{
	const char *name = NULL;

	for (unsigned i = 0; i < IMPORTED_OTHER; i++)
		if (set >> i & 1)
			name = name ? arena_format(arena, "%s overlapping %s", name, imported_kind_name(i))
				    : imported_kind_name(i);
	return name;
}
