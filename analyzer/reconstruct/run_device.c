/* Whether a run's device times are a GPU's own or calculated: see run.h. */
#include "run.h"

#include <string.h>

static const char *text_of(struct arena *arena, const struct timeline_process *process)
{
	if (!process->modelled)
		return "not modelled";
	if (process->time_scale == 1)
		return arena_format(arena, "modelled %s", print_clean(arena, process->modelled));
	return arena_format(
		arena, "modelled %s, times x %g", print_clean(arena, process->modelled), process->time_scale);
}

const char *run_device(struct timeline *timeline)
{
	struct arena *arena = &timeline->arena;
	const char *text = NULL;
	bool modelled = false;

	for (size_t i = 0; i < timeline->process_count; i++) {
		const char *own = text_of(arena, &timeline->processes[i]);

		modelled |= timeline->processes[i].modelled != NULL;
		if (!text)
			text = own;
		else if (!strstr(text, own))
			text = arena_format(arena, "%s; %s", text, own);
	}
	return modelled ? text : NULL;
}

double run_time_scale(const struct timeline *timeline)
{
	double scale = 1;

	for (size_t i = 0; i < timeline->process_count; i++) {
		const struct timeline_process *process = &timeline->processes[i];

		if (process->modelled && process->time_scale != 1 &&
			(scale == 1 || process->time_scale > scale))
			scale = process->time_scale;
	}
	return scale;
}

static void print_line(struct run *run, const char *label, FILE *out)
{
	struct timeline *timeline = &run->analysis.timeline;
	const char *text = run_device(timeline);

	if (!text)
		return;
	print_paragraph(arena_format(&timeline->arena, "%sDevice: %s%s.", label, text,
				run_time_scale(timeline) == 1 ? "" : "; host times unscaled"),
		2, out);
}

void run_print_device(struct run *run, FILE *out)
{
	print_line(run, "", out);
}

void run_print_devices(struct run *runs, size_t run_count, FILE *out)
{
	for (size_t i = 0; i < run_count; i++) {
		struct arena *arena = &runs[i].analysis.timeline.arena;

		print_line(&runs[i], arena_format(arena, "%s: ", print_clean(arena, runs[i].label)), out);
	}
}

void run_device_json(struct run *run, cJSON *object)
{
	struct timeline *timeline = &run->analysis.timeline;
	const char *text = run_device(timeline);

	if (!text)
		return;
	cJSON_AddStringToObject(object, cJSON_HasObjectItem(object, "device") ? "modelled" : "device", text);
	cJSON_AddNumberToObject(object, "time_scale", run_time_scale(timeline));
}
