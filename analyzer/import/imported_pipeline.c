/* Primus' pipeline data (pipeline_log.h) as labelled phases: a worker for each stage. */
#include "kineto.h"
#include "pipeline_log.h"

#include <stdio.h>
#include <string.h>

/* The thread of a stage, with the name by which the labels' reader places it. */
static uint32_t thread_of(struct imported *imported, int32_t stage)
{
	uint32_t thread = imported_find_thread(imported, stage, 0);
	struct imported_thread *found = &imported->threads[thread];
	char name[32];
	int length = snprintf(name, sizeof(name), "PP rank %d", stage);

	if (!found->thread_name)
		found->thread_name = intern_text(&imported->strings, name, (size_t)length);
	return thread;
}

int imported_read_pipeline(struct imported *imported, unsigned wanted)
{
	struct pipeline_log log;
	const char *error;
	int rc = pipeline_log_read(&log, imported->path, &error);

	(void)wanted; /* there is nothing but labels */
	imported->format = IMPORTED_CHROME;
	for (size_t i = 0; i < log.count && rc == 0; i++) {
		const struct pipeline_log_item *item = &log.items[i];
		const char *name = pipeline_log_name(item->kind);

		kineto_add_span(imported, item->begin_ns, item->end_ns,
			intern_text(&imported->strings, name, strlen(name)), thread_of(imported, item->stage),
			item->iteration, IMPORTED_PHASE);
	}
	if (rc < 0) {
		imported_trouble(imported, "%s", error);
	} else {
		imported_trouble(imported,
			"%s: Primus records times from each rank's own start of an iteration, of data rank 0: ranks are "
			"taken to start together%s%s",
			imported->path, log.missing ? "; " : "", log.missing ? log.missing : "");
		rc = kineto_label_workers(imported);
	}
	pipeline_log_free(&log);
	return rc;
}
