/* From a timeline to the slowdown of its labelled phases: see slowdown_job.h. */
#include "slowdown_job.h"
#include "import/imported_timeline.h"

#include <stdlib.h>
#include <string.h>

/* A file may hold many ranks. */
static bool is_first_of_file(const struct timeline *timeline, size_t process)
{
	for (size_t i = 0; i < process; i++)
		if (strcmp(timeline->processes[i].path, timeline->processes[process].path) == 0)
			return false;
	return true;
}

struct slowdown_job *slowdown_job_open(const struct timeline *timeline)
{
	struct slowdown_job *job;
	const char *error;
	bool any = false;

	if (!imported_timeline_is_labels(timeline))
		return NULL;
	job = mem_alloc(1, sizeof(*job));
	for (size_t i = 0; i < timeline->process_count; i++)
		if (is_first_of_file(timeline, i))
			any |= labelled_read(&job->job, timeline->processes[i].path, &error) == 0;
	if (any && labelled_settle(&job->job, 0, 0, &error) == 0) {
		labelled_graph_make(&job->graph, &job->job);
		slowdown_find(&job->slowdown, &job->job, &job->graph, SLOWDOWN_LEAST);
		return job;
	}
	labelled_free(&job->job);
	free(job);
	return NULL;
}

void slowdown_job_close(struct slowdown_job *job)
{
	if (!job)
		return;
	slowdown_free(&job->slowdown);
	labelled_graph_free(&job->graph);
	labelled_free(&job->job);
	free(job);
}
