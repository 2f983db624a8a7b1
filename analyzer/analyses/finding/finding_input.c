/* The finding about input: reading, splitting and copying a batch while the devices have nothing to compute.
 */
#include "finding_make.h"
#include "analyses/offload.h"

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

/* "; 83% of the reading is from /data/train.bin; 99% of the reading is in enumerate(DataLoader)..." */
static const char *source_words(
	struct arena *arena, const struct input_file *source, const struct input_loader *loader)
{
	return arena_format(arena, "%s%s%s", source ? input_file_text(arena, source) : "",
		loader ? input_loader_text(arena, loader) : "", loader ? loader->works : "");
}

void finding_add_input(struct finding_list *list, const double ns[3], const struct input_file *source,
	const struct input_loader *loader)
{
	double all_ns = ns[0] + ns[1] + ns[2];
	const bool reads = ns[0] > all_ns / 2;

	if (!isfinite(all_ns))
		return;
	finding_add_idle(list, FINDING_INPUT, finding_measured(list), NULL,
		arena_format(&list->arena, "The GPUs compute nothing meanwhile: %s%s",
			input_words(&list->arena, ns),
			reads ? source_words(&list->arena, source, loader) : ""),
		ns[2] > all_ns / 2 ? "copy the next batch on a stream of its own while this one is computed"
		: reads && loader  ? loader->advice
				   : NULL,
		all_ns);
}

/* What a batch is not: copied while the step computes, or gigabytes in many copies. */
static const char *copied_text(struct arena *arena, const struct offload *offload)
{
	if (offload->large && !offload->returns && !offload->spread)
		return arena_format(arena, "they are %s GB in %.0f copies, the same in each step",
			print_figure(arena, offload->bytes / 1e9, 3), offload->count);
	return arena_format(arena, "%.0f%% of the first, in %.0f copies, are after the step began to compute",
		100 * offload->late_ns / offload->to_ns, offload->late_count);
}

/* What is copied to the devices that is no input, while they compute nothing: of the rank with the least. */
static void add_offload(struct finding_list *list, const struct analysis_worker *worker, double ns)
{
	struct arena *arena = &list->arena;
	struct offload offload;

	offload_find(list->analysis, worker, &offload);
	finding_add(list,
		(struct finding){.kind = FINDING_OFFLOAD,
			.strength = offload.returns ? finding_measured(list) : FINDING_LIKELY,
			.subject = "offload",
			.title = "The GPUs wait for weights or optimizer state that the host keeps (offload)",
			.text = arena_format(arena,
				"Copies to each GPU take %s a step and copies back %s; %s: no batch of input is copied so",
				print_time(arena, offload.to_ns), print_time(arena, offload.from_ns),
				copied_text(arena, &offload)),
			.advice =
				"keep on the GPU what fits there; pin the host's memory, and copy the next layer's on "
				"a stream of its own while this one is computed",
			.worker = SIZE_MAX,
			.gain_ns = ns,
			.lost_ns = ns});
}

/* Of one step: what is copied only once, as a model at the start, is not told from what each step copies. */
static void add_copies(struct finding_list *list, const struct analysis_worker *worker, double ns)
{
	struct offload offload;

	offload_find(list->analysis, worker, &offload);
	finding_add_idle(list, FINDING_INPUT, FINDING_WEAK, "The GPUs wait for copies from the host",
		arena_format(&list->arena,
			"Copies to each GPU take %s; whether they are input, or weights that are copied once or in "
			"each step, one step does not tell",
			print_time(&list->arena, offload.to_ns)),
		"record some more steps", ns);
}

static bool is_offload(const struct finding_list *list)
{
	struct offload offload;

	for (size_t w = 0; w < list->analysis->worker_count; w++)
		if (!offload_find(list->analysis, &list->analysis->workers[w], &offload))
			return false;
	return true;
}

void finding_input(struct finding_list *list)
{
	double least_ns[3] = {INFINITY, 0, 0};
	const struct analysis_worker *worker = NULL;
	struct input_file source;
	struct input_loader loader;

	for (size_t w = 0; w < list->analysis->worker_count; w++) {
		const double ns[3] = {finding_phase(list, w, PHASE_IO), finding_phase(list, w, PHASE_MD),
			finding_phase(list, w, PHASE_H2D)};

		if (ns[0] + ns[1] + ns[2] < least_ns[0] + least_ns[1] + least_ns[2]) {
			for (int i = 0; i < 3; i++)
				least_ns[i] = ns[i];
			worker = &list->analysis->workers[w];
		}
	}
	if (worker && is_offload(list)) {
		if (list->step.used < 2)
			add_copies(list, worker, least_ns[2]);
		else
			add_offload(list, worker, least_ns[2]);
		least_ns[2] = 0;
	}
	if (worker)
		finding_add_input(list, least_ns,
			input_file_find(list->analysis, worker, &list->arena, &source) ? &source : NULL,
			input_loader_find(list->analysis, worker, &loader) ? &loader : NULL);
}
