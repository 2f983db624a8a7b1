/* Reading a run as it is now: see snapshot.h. */
#include "snapshot.h"
#include "cmd_summaries.h"
#include "live.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

enum snapshot_from snapshot_from(const struct command *command, int key, const char *argument)
{
	static const char *const words[] = {"pages", "traces", NULL};

	return command_word(command, key, argument, words) == 0 ? SNAPSHOT_PAGES : SNAPSHOT_TRACES;
}

void snapshot_source_init(
	struct snapshot_source *source, const struct cmd_options *how, char **paths, size_t path_count)
{
	source->paths = paths;
	source->path_count = path_count;
	source->how = cmd_run_options(how);
	source->is_whole_asked = how->skip_asked || how->choose || how->job || how->records_asked ||
				 how->communication || iteration_rule_any(cmd_iteration_rule());
}

/* The fleet has been looked at, and is what shall be shown. */
static bool is_by_pages(struct snapshot_source *source)
{
	struct fleet *fleet = &source->fleet;

	if (source->from == SNAPSHOT_TRACES || (source->from == SNAPSHOT_CHOSEN && source->is_whole_asked))
		return false;
	fleet_look(fleet, source->paths, source->path_count);
	if (source->from == SNAPSHOT_PAGES)
		return fleet->count > 0;
	if (fleet->count <= SNAPSHOT_RANKS || fleet->running == 0)
		return false;
	for (size_t i = 0; i < fleet->count; i++)
		if (!fleet->ranks[i]->known)
			return false;
	source->from = SNAPSHOT_PAGES; /* to its end */
	return true;
}

static void read_summaries(struct snapshot *snapshot, struct snapshot_source *source)
{
	struct summaries *job = mem_alloc(1, sizeof(*job));

	if (summaries_open(job, source->paths, source->path_count, &snapshot->error) < 0) {
		free(job);
		return;
	}
	snapshot->job = job;
	recent_of_summaries(job, &snapshot->recent);
}

static void read_traces(struct snapshot *snapshot, struct snapshot_source *source)
{
	const int64_t wall_ns = live_wall_ns();

	snapshot->error = live_room(source->paths, source->path_count, &source->how.sample);
	if (!snapshot->error && run_open_as(&snapshot->run, source->paths, source->path_count, &source->how,
					&snapshot->error) == 0)
		recent_find(&snapshot->run, wall_ns, &snapshot->recent);
}

struct snapshot *snapshot_read(struct snapshot_source *source)
{
	struct snapshot *snapshot = mem_alloc(1, sizeof(*snapshot));
	const double begin_s = live_now_s();

	if (cmd_are_summaries(source->paths, source->path_count)) {
		read_summaries(snapshot, source);
	} else if (is_by_pages(source)) {
		source->label =
			source->label ? source->label : live_label(&source->fleet.arena, source->paths[0]);
		recent_of_fleet(&source->fleet, source->label, &snapshot->recent);
	} else if (source->from == SNAPSHOT_PAGES) {
		if (asprintf(&snapshot->error, "%s: no readable pmhook trace", source->paths[0]) < 0)
			err(1, NULL);
	} else {
		read_traces(snapshot, source);
	}
	if (source->concludes && !snapshot->error)
		recent_conclude(&snapshot->recent, snapshot->job);
	snapshot->took_s = live_now_s() - begin_s;
	return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	if (!snapshot->error) {
		recent_free(&snapshot->recent);
		if (snapshot->recent.source == RECENT_TRACES)
			run_close(&snapshot->run);
		if (snapshot->job)
			summaries_close(snapshot->job);
	}
	free(snapshot->job);
	free(snapshot->error);
	free(snapshot);
}
