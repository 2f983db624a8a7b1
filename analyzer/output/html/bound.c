/* What bounds the run, in one sentence: the group of phases with most of the critical path, and where. */
#include "page.h"

#include <stdlib.h>

/* What an iteration's path is made of, in groups. */
static const struct group {
	const char *bound, *name;
	bool asked; /* by the changes of whatif.h */
	enum phase phases[4];
	int count;
} groups[] = {
	{"Bottleneck: computation", "computing", true,
		{PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_GRAPH}, 4},
	{"Bottleneck: communication", "communication", true, {PHASE_COMMUNICATION}, 1},
	{"Bottleneck: input", "input", true, {PHASE_IO, PHASE_H2D, PHASE_MD}, 3},
	{"Launch-bound: the hosts enqueue work too late", "kernel launches", true, {PHASE_IDLE_LAUNCH}, 1},
	{"Bottleneck: latency", "latency and synchronization", false, {PHASE_IDLE_QUEUE, PHASE_IDLE_SYNC}, 2},
	{"Bottleneck: unattributed work", "other work", false, {PHASE_OTHER}, 1},
	{"Bottleneck unknown", "unknown", false, {PHASE_IDLE_UNKNOWN}, 1},
};
enum { GROUPS = sizeof(groups) / sizeof(*groups) };

static bool has_phase(const struct group *group, enum phase phase)
{
	for (int i = 0; i < group->count; i++)
		if (group->phases[i] == phase)
			return true;
	return false;
}

/* "on rank 2, most of all conv2": the rank with more than half of the group, and the layer with most. */
static const char *where(
	struct html_page *page, const struct html_run *run, const struct group *group, double ns)
{
	const struct critical *path = &run->path;
	size_t workers = run->analysis->worker_count;
	double *ranks_ns = mem_alloc(workers, sizeof(*ranks_ns)),
	       *layers_ns = mem_alloc(path->layer_count, sizeof(*layers_ns));
	size_t rank = 0, layer = 0;
	const char *text = "";

	for (size_t i = 0; i < path->segment_count; i++) {
		const struct critical_segment *segment = &path->segments[i];

		if (!has_phase(group, segment->phase))
			continue;
		ranks_ns[segment->worker] += segment->ns;
		if (segment->layer != REPLAY_NONE)
			layers_ns[segment->layer] += segment->ns;
	}
	for (size_t w = 0; w < workers; w++)
		rank = ranks_ns[w] > ranks_ns[rank] ? w : rank;
	for (size_t l = 0; l < path->layer_count; l++)
		layer = layers_ns[l] > layers_ns[layer] ? l : layer;
	if (workers > 1 && ranks_ns[rank] > ns / 2)
		text = arena_format(&page->arena, ", %.0f%% of it on <b>%s</b>", 100 * ranks_ns[rank] / ns,
			run->names[rank]);
	if (path->layer_count && layers_ns[layer] > 0)
		text = arena_format(&page->arena, "%s, mostly for <b>%s</b> (%s)", text,
			html_escape(page, layer_title(run->job.layers[layer].layer)),
			html_time(page, layers_ns[layer]));
	free(ranks_ns);
	free(layers_ns);
	return text;
}

static double group_ns(const struct html_run *run, const struct group *group)
{
	double ns = 0;

	for (int i = 0; i < group->count; i++)
		ns += run->path.iteration_count
			      ? run->path.mean.phases_ns[group->phases[i]]
			      : analysis_phase(run->analysis->workers, run->analysis->worker_count,
					group->phases[i], ANALYSIS_EXCLUSIVE)
					.mean;
	return ns;
}

bool html_bound(struct html_page *page, const struct html_run *run)
{
	double whole_ns = 0, ns[GROUPS];
	int first = 0, shown = 0;

	for (int i = 0; i < GROUPS; i++) {
		ns[i] = group_ns(run, &groups[i]);
		whole_ns += ns[i];
		first = ns[i] > ns[first] ? i : first;
	}
	fprintf(page->out, "<p><b>%s.</b> %.0f%% of an iteration%s (%s of %s) is %s%s.", groups[first].bound,
		whole_ns > 0 ? 100 * ns[first] / whole_ns : 0,
		run->path.iteration_count ? "’s critical path" : "", html_time(page, ns[first]),
		html_time(page, whole_ns), groups[first].name,
		run->path.iteration_count ? where(page, run, &groups[first], ns[first]) : "");
	for (int i = 0; i < GROUPS; i++)
		if (i != first && ns[i] >= 0.01 * whole_ns)
			fprintf(page->out, "%s %s %.0f%%", shown++ ? "," : " The rest:", groups[i].name,
				100 * ns[i] / whole_ns);
	fprintf(page->out, "%s</p>\n", shown ? "." : "");
	return groups[first].asked;
}
