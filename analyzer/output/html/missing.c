/* What the data of a run do not tell, so that nobody takes silence for an answer. */
#include "page.h"

#include <math.h>
#include <stdlib.h>

#define MUCH 0.1 /* of an iteration, or of the dependencies */

static double share(const struct analysis *analysis, enum phase phase)
{
	return analysis_phase(analysis->workers, analysis->worker_count, phase, ANALYSIS_EXCLUSIVE).mean /
	       analysis_iteration(analysis->workers, analysis->worker_count).mean;
}

struct missing {
	FILE *out;
	size_t count;
};

static void add_sentence(struct missing *missing, const char *text)
{
	fprintf(missing->out, "%s<li>%s.</li>\n",
		missing->count++ ? ""
				 : "<details open=\"open\"><summary>Unavailable from these data</summary>\n"
				   "<ul class=\"dim\">\n",
		text);
}

static bool any_hostless(const struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->process_count; i++)
		if (timeline->processes[i].hostless)
			return true;
	return false;
}

static void add_layers(struct missing *missing, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	size_t layers = 0, sized = 0;

	for (uint32_t s = 0; s < analysis->stage_count; s++) {
		const struct layer_list *list = &stage_first(analysis, s)->layers;

		for (size_t l = 0; l < list->count; l++) {
			layers++;
			sized += list->items[l].text[0] != '\0';
		}
	}
	if (layers == 0)
		add_sentence(missing, "Layers: the trace does not attribute work to layers");
	else if (!html_work_known(&run->roofline))
		add_sentence(
			missing, sized ? "Operations and bytes of layers, and therefore their rates and the "
					 "roofline"
				       : "Sizes of layers, and therefore their operations, bytes and rates");
}

void html_missing(struct html_page *page, const struct html_run *run)
{
	const struct analysis *analysis = run->analysis;
	struct missing missing = {.out = page->out};
	struct arena *arena = &page->arena;
	size_t least = SIZE_MAX;

	for (size_t w = 0; w < analysis->worker_count; w++)
		if (analysis->workers[w].used_count < least)
			least = analysis->workers[w].used_count;
	if (least < 3)
		add_sentence(
			&missing, arena_format(arena, "Variation: only %s usable, so means have no spread",
					  least == 1 ? "one iteration is" : "two iterations are"));
	if (run->findings.job)
		add_sentence(&missing, "Device activity and idle causes: the trace has phase labels only");
	else if (any_hostless(&analysis->timeline))
		add_sentence(&missing, "Host activity: calls are not recorded, so idle time has no cause");
	add_layers(&missing, run);
	if (share(analysis, PHASE_OTHER) > MUCH)
		add_sentence(&missing,
			arena_format(arena, "The phase of %.0f%% of an iteration: work of no known phase",
				100 * share(analysis, PHASE_OTHER)));
	if (share(analysis, PHASE_IDLE_UNKNOWN) > MUCH && !run->findings.job)
		add_sentence(&missing, arena_format(arena,
					       "The cause of %.0f%% of an iteration in which devices are "
					       "idle",
					       100 * share(analysis, PHASE_IDLE_UNKNOWN)));
	if (analysis->timeline.processes[0].world > (int32_t)analysis->timeline.process_count &&
		analysis->timeline.processes[0].world > (int32_t)analysis->worker_count)
		add_sentence(&missing, arena_format(arena, "Stragglers: of %d ranks only %zu %s present",
					       analysis->timeline.processes[0].world, analysis->worker_count,
					       analysis->worker_count == 1 ? "is" : "are"));
	if (!run->findings.job && run->changes.count == 0)
		add_sentence(&missing, "Gains of changes: no iteration could be replayed");
	else if ((double)run->job.negative_count > MUCH * (double)run->job.replay.edge_count)
		add_sentence(&missing,
			arena_format(arena,
				"Exact dependencies: measured times contradict %zu of %zu of them, so "
				"predicted gains are estimates",
				run->job.negative_count, run->job.replay.edge_count));
	if (missing.count)
		fputs("</ul></details>\n", page->out);
}
