/* The finding about input: reading, splitting and copying a batch while the devices have nothing to compute.
 */
#include "finding_make.h"

#include <math.h>

/* "reading 57.2 ms, copying 1.9 ms": what is not 0. */
static const char *input_words(struct arena *arena, const double ns[3])
{
	static const char *const words[3] = {"reading", "splitting", "copying"};
	const char *text = "";

	for (int i = 0; i < 3; i++)
		if (ns[i] > 0)
			text = arena_format(arena, "%s%s%s %s", text, *text ? ", " : "", words[i],
				print_time(arena, ns[i]));
	return text;
}

void finding_add_input(struct finding_list *list, const double ns[3], const struct input_file *source)
{
	double all_ns = ns[0] + ns[1] + ns[2];

	if (!isfinite(all_ns))
		return;
	finding_add_idle(list, FINDING_INPUT, finding_measured(list), NULL,
		arena_format(&list->arena, "Meanwhile they compute nothing: %s%s",
			input_words(&list->arena, ns),
			source && ns[0] > all_ns / 2
				? arena_format(&list->arena, "; %.0f%% of the reading is from %s",
					  100 * source->share, source->name)
				: ""),
		ns[2] > all_ns / 2 ? "copy the next batch on a stream of its own while this one is computed"
				   : NULL,
		all_ns);
}

void finding_input(struct finding_list *list)
{
	double least_ns[3] = {INFINITY, 0, 0};
	const struct analysis_worker *worker = NULL;
	struct input_file source;

	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		const double ns[3] = {finding_phase(list, w, PHASE_IO), finding_phase(list, w, PHASE_MD),
			finding_phase(list, w, PHASE_H2D)};

		if (ns[0] + ns[1] + ns[2] < least_ns[0] + least_ns[1] + least_ns[2]) {
			for (int i = 0; i < 3; i++)
				least_ns[i] = ns[i];
			worker = &list->analysis->workers[w];
		}
	}
	if (worker)
		finding_add_input(list, least_ns,
			input_file_find(list->analysis, worker, &list->arena, &source) ? &source : NULL);
}
